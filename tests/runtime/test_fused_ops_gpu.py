"""On a Hopper GPU: every torch op of the fused products at odd sizes against what it is on the CPU,
the same bits every time, and what is refused.
"""

from __future__ import annotations

import pytest

import warploom
from tests.runtime.gpu import NEEDS_HOPPER, TORCH_WARNINGS
from warploom.errors import BackendError

pytestmark = [*NEEDS_HOPPER, *TORCH_WARNINGS]
torch = pytest.importorskip("torch")
pytest.importorskip("warploom.torch")
OPS = torch.ops.warploom
LIMIT, REPEATS = 6e-3, 10
SIZES = (37, 0, 130, 1)
T, N, K, S = sum(SIZES), 200, 136, 90


def randn(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def rand(*shape):
    return torch.rand(*shape, device="cuda") + 0.5


def numbers(most, *shape):
    return torch.randint(-1, most + 1, shape, device="cuda").int()


def starts():
    return torch.tensor([0, *SIZES], device="cuda").cumsum(0).int()


def fp8(*shape):
    return randn(*shape).to(torch.float8_e4m3fn)


def weights():
    return randn(len(SIZES), N, K)


def scanned():
    q, v = randn(1, 2, 9, 64, 64) * 0.1, randn(1, 4, 9, 64, 64)
    return q, q.clone(), v, -torch.rand(1, 4, 9, 64, device="cuda").cumsum(-1) * 0.1


CASES = {
    "swiglu": lambda: (OPS.swiglu, randn(T, K), randn(2 * N, K)),
    "geglu": lambda: (OPS.swiglu, randn(T, K), randn(N, K), randn(N, K), "gelu"),
    "grouped": lambda: (OPS.grouped_gemm, randn(T, K), weights(), starts()),
    "transposed": lambda: (OPS.grouped_gemm, randn(T, N), weights(), starts(), True),
    "weights": lambda: (OPS.grouped_gemm_weights, randn(T, N), randn(T, K), starts()),
    "gated groups": lambda: (OPS.grouped_swiglu, randn(T, K), weights(), weights(), starts()),
    "picked": lambda: (
        OPS.grouped_gemm_gathered,
        *(randn(S, K), weights(), starts(), numbers(S, T)),
    ),
    "picked, gated": lambda: (
        OPS.grouped_gemm_gathered,
        *(randn(S, K), weights(), starts(), numbers(S, T), weights(), "sigmoid"),
    ),
    "scaled": lambda: (
        OPS.gemm_block_scaled,
        *(fp8(77, 384), rand(77, 3), fp8(256, 384), rand(2, 3)),
    ),
    "scaled groups": lambda: (
        OPS.gemm_block_scaled,
        *(fp8(T, 384), rand(T, 3), fp8(len(SIZES), 256, 384), rand(len(SIZES), 2, 3), starts()),
    ),
    "4 bits": lambda: (
        OPS.gemm_quantised,
        *(randn(7, 384), torch.randint(0, 256, (N, 192), device="cuda").byte(), rand(N, 3)),
    ),
    "8 bits": lambda: (OPS.gemm_quantised, randn(7, 384), fp8(N, 384), rand(N, 3)),
    "scan": lambda: (OPS.scan, *scanned()),
}


def on_the_cpu(x):
    """With more digits, where it is an operand."""
    if not isinstance(x, torch.Tensor):
        return x
    return x.cpu().double() if x.dtype == torch.bfloat16 else x.cpu()


def close(found, wanted):
    error = (found.double().cpu() - wanted.double()).norm() / wanted.double().norm()
    assert torch.isfinite(found.float()).all()
    assert error < LIMIT, error.item()


def parts(made):
    return made if isinstance(made, tuple) else (made,)


@pytest.mark.parametrize("name", CASES)
def test_an_op_is_what_it_is_on_the_cpu_and_the_same_every_time(name):
    op, *given = CASES[name]()
    found, wanted = parts(op(*given)), parts(op(*map(on_the_cpu, given)))
    for mine, right in zip(found, wanted, strict=True):
        close(mine, right)
    for _ in range(REPEATS):
        assert all(torch.equal(x, y) for x, y in zip(parts(op(*given)), found, strict=True))


def test_rows_are_added():
    x, w, rows, weight = randn(T, K), weights(), numbers(S, T), rand(T)
    out = torch.randn(S, N, device="cuda")
    wanted = out.cpu()
    OPS.grouped_gemm_add(wanted, *(y.cpu() for y in (x, w, starts(), rows, weight)))
    OPS.grouped_gemm_add(out, x, w, starts(), rows, weight)
    close(out, wanted)


def test_blocks_of_a_mask_give_the_same_bits():
    from torch.nn.attention.flex_attention import create_block_mask

    q, k, v = randn(1, 4, 333, 64), randn(1, 2, 500, 64), randn(1, 2, 500, 64)
    document = torch.randint(0, 3, (512,), device="cuda").sort().values
    blocks = create_block_mask(lambda b, h, i, j: document[i] == document[j], 1, None, 333, 500)
    first = warploom.attention(q, k, v, visible=blocks)
    again = (warploom.attention(q, k, v, visible=blocks) for _ in range(REPEATS))
    assert all(torch.equal(first, x) for x in again)


def test_a_gradient_that_is_not_there_is_refused():
    x, w = randn(T, K).requires_grad_(), randn(2 * N, K)
    with torch.no_grad():
        OPS.swiglu(x, w)
    made = OPS.swiglu(x, w).sum()
    with pytest.raises(BackendError, match="has none"):
        made.backward()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: warploom.grouped_gemm(randn(T, K), weights(), starts().long()), "int32"),
        (lambda: warploom.grouped_gemm(randn(T, K), weights(), starts()[:-1]), "starts has shape"),
        (lambda: warploom.grouped_gemm(randn(T, K), weights(), starts().cpu()), "lies on cpu"),
        (lambda: warploom.swiglu(randn(T, K), randn(7, K)), "rows in turn"),
        (lambda: warploom.swiglu(randn(T, K).half(), randn(8, K)), "all fp16"),
        (lambda: warploom.scan(*(randn(1, 3, 2, 64, 64),) * 2, *scanned()[2:]), "equally many"),
        (lambda: OPS.swiglu(randn(T), randn(8, K)), "x has shape"),
    ],
)
def test_wrong_calls_are_told(call, says):
    with pytest.raises(BackendError, match=says):
        call()
