"""On a Hopper GPU: the tiles that measuring chose for fused products, right and the same bits.

Sizes are the least at which they are chosen, and odd, so that sanitizers see every edge:
``compute-sanitizer --tool TOOL python -m pytest -m gpu tests/runtime/test_measured_gpu.py``.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

import warploom
from tests.runtime.gpu import NEEDS_HOPPER, TORCH_WARNINGS
from warploom.kernels.grouped import grouped_gathered as in_one_kernel
from warploom.kernels.registry import measured

pytestmark = [*NEEDS_HOPPER, *TORCH_WARNINGS]
torch = pytest.importorskip("torch")
functional = torch.nn.functional
LIMIT, REPEATS = 6e-3, 5
SIZES = (1500, 0, 70, 2200, 1, 400)  # of groups
T, N, K, S = sum(SIZES), 1032, 264, 2100


def randn(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def fp8(*shape):
    return randn(*shape).to(torch.float8_e4m3fn)


def rand(*shape):
    return torch.rand(*shape, device="cuda") + 0.5


def starts():
    return torch.tensor([0, *SIZES], device="cuda").cumsum(0).int()


def by_group(rows, w):
    """Rows of a group times its weights, in float32 (its errors are far below the limit)."""
    parts = [slice(a, b) for a, b in pairwise(starts().tolist())]
    return torch.cat([rows[r].float() @ w[e].float().mT for e, r in enumerate(parts)])


def gated(g, u):
    return torch.nn.functional.silu(g) * u


def wide(scale, rows=1):
    return scale.repeat_interleave(128, -1).repeat_interleave(rows, -2)


def swiglu(k=136):
    x, w = randn(4100, k), randn(2 * 8200, k)
    wanted = gated(x.float() @ w[0::2].float().T, x.float() @ w[1::2].float().T)
    return {"m": 4100, "n": 8200, "k": k}, lambda: warploom.swiglu(x, w), wanted


def grouped():
    x, w, at = randn(T, K), randn(len(SIZES), N, K), starts()
    return {"t": T, "n": N}, lambda: warploom.grouped_gemm(x, w, at), by_group(x, w)


def grouped_input():
    x, w, at = randn(T, K), randn(len(SIZES), K, N), starts()
    call = lambda: warploom.grouped_gemm(x, w, at, transposed=True)  # noqa: E731
    return {}, call, by_group(x, w.mT)


def grouped_weights():
    y, x, at = randn(T, N), randn(T, K), starts()
    parts = [slice(a, b) for a, b in pairwise(at.tolist())]
    wanted = torch.stack([y[r].float().T @ x[r].float() for r in parts])
    return {}, lambda: warploom.grouped_gemm_weights(y, x, at), wanted


def grouped_swiglu():
    x, at = randn(T, K), starts()
    w, up = (randn(len(SIZES), N, K) for _ in "wu")
    wanted = gated(by_group(x, w), by_group(x, up))
    return {}, lambda: warploom.grouped_gemm(x, w, at, up=up), wanted


def picked(k=K):
    x, tokens = randn(S, k), torch.randint(-3, S + 3, (T,), device="cuda").int()
    exists = (tokens >= 0) & (tokens < S)
    return x, tokens, x[tokens.clamp(0, S - 1).long()] * exists[:, None]


def grouped_gathered(k=K):
    """In one kernel, or copied first where rows are multiples of 64."""
    (x, tokens, rows), w, at = picked(k), randn(len(SIZES), N, k), starts()
    call = lambda: warploom.grouped_gemm(x, w, at, tokens=tokens)  # noqa: E731
    return {"t": T, "n": N}, call, by_group(rows, w)


def whole_rows():
    """Rows that all exist, in whole lines: copies that say no size."""
    x, w, at = randn(S, 320), randn(len(SIZES), N, 320), starts()
    tokens = torch.randint(0, S, (T,), device="cuda").int()
    wanted = by_group(x[tokens.long()], w)
    return {"t": T, "n": N}, lambda: in_one_kernel(x, w, at, tokens), wanted


def gathered_swiglu():
    (x, tokens, rows), at = picked(), starts()
    w, up = (randn(len(SIZES), N, K) for _ in "wu")
    call = lambda: warploom.grouped_gemm(x, w, at, tokens=tokens, up=up)  # noqa: E731
    return {}, call, gated(by_group(rows, w), by_group(rows, up))


def grouped_scattered():
    x, w, at = randn(T, K), randn(len(SIZES), N, K), starts()
    rows = torch.randperm(T, device="cuda").int() // 2  # two of a row: any order is one sum
    weight, out = rand(T), torch.empty(T, N, device="cuda")
    wanted = torch.zeros_like(out).index_add_(0, rows.long(), by_group(x, w) * weight[:, None])

    def call():
        done = warploom.grouped_gemm(x, w, at, rows=rows, weight=weight, out=out.zero_())
        return done.clone()

    return {}, call, wanted


def grouped_scaled():
    n, k, at = 1152, 640, starts()
    a, b, sa, sb = fp8(T, k), fp8(len(SIZES), n, k), rand(T, 5), rand(len(SIZES), 9, 5)
    wanted = by_group(a.float() * wide(sa), b.float() * wide(sb, 128))
    call = lambda: warploom.gemm_block_scaled(a, sa, b, sb, starts=at)  # noqa: E731
    return {"t": T, "n": n}, call, wanted


def block_scaled(m, n, k):
    a, b, sa, sb = fp8(m, k), fp8(n, k), rand(m, k // 128), rand(n // 128, k // 128)
    wanted = (a.float() * wide(sa)) @ (b.float() * wide(sb, 128)).T
    sizes = {"m": m, "n": n, "k": k}
    return sizes, lambda: warploom.gemm_block_scaled(a, sa, b, sb), wanted


def int4_gemm(m, n=4160, k=1152):
    w = torch.randint(0, 256, (n, k // 2), device="cuda", dtype=torch.uint8)
    x, scale = randn(m, k), rand(n, k // 128)
    numbers = torch.stack([w & 15, w >> 4], -1).flatten(1).float() - 8
    wanted = x.float() @ (numbers * wide(scale)).T
    return {"m": m, "n": n}, lambda: warploom.gemm_quantised(x, w, scale), wanted


def fp8_gemm(m, n=4160, k=1152):
    x, w, scale = randn(m, k), fp8(n, k), rand(n, k // 128)
    wanted = x.float() @ (w.float() * wide(scale)).T
    return {"m": m, "n": n}, lambda: warploom.gemm_quantised(x, w, scale), wanted


def many_heads(dim, causal, queries=530, keys=700):
    """Short sequences: fewer queries than keys, neither a multiple of a tile."""
    q, k, v = randn(34, 16, queries, dim), randn(34, 8, keys, dim), randn(34, 8, keys, dim)
    wide = [t.float().repeat_interleave(2, 1) for t in (k, v)]
    wanted = functional.scaled_dot_product_attention(q.float(), *wide, is_causal=causal)
    sizes = {"b": 34, "h": 16, "s": queries, "t": keys, "d": dim}
    return sizes, lambda: warploom.attention(q, k, v, causal), wanted


def capped(x, b, h, i, j):
    return 20.0 * torch.tanh(x / 20.0)


def falling(x, b, h, i, j):
    return x + (j - i) * torch.exp2(-0.5 * (h + 1))


def near(b, h, i, j):
    return (i >= j) & (i - j <= 300)


def with_functions(dim, score, visible):
    """Long sequences, more keys than queries, neither a multiple of a tile."""
    q, k, v = randn(2, 4, 1100, dim), randn(2, 2, 1300, dim), randn(2, 2, 1300, dim)
    wide = [t.float().repeat_interleave(2, 1) for t in (k, v)]
    h, i, j = (torch.arange(n, device="cuda") for n in (4, 1100, 1300))
    places = 0, h[:, None, None], i[:, None], j
    x = q.float() @ wide[0].mT * dim**-0.5
    x = score(x, *places) if score else x
    x = x.masked_fill(~visible(*places), float("-inf")) if visible else x
    sizes = {"s": 1100, "t": 1300, "d": dim, "choices": {"score": score, "visible": visible}}
    call = lambda: warploom.attention(q, k, v, score=score, visible=visible)  # noqa: E731
    return sizes, call, x.softmax(-1) @ wide[1]


FUNCTIONS = {
    "capped": (capped, None),
    "falling in a window": (falling, near),
    "in a window": (None, near),
}
CASES = {
    f.__name__: f
    for f in (
        *(swiglu, grouped, grouped_input, grouped_weights, grouped_swiglu),
        *(grouped_gathered, gathered_swiglu, grouped_scattered, grouped_scaled),
    )
}
CASES |= {f"block_scaled {m}": lambda m=m: block_scaled(m, m - m % 128, 640) for m in (1100, 8200)}
CASES |= {"swiglu of many steps": lambda: swiglu(8192)}
CASES |= {"block_scaled of many steps": lambda: block_scaled(1100, 1024, 4224)}
CASES |= {f"block_scaled walked {k}": lambda k=k: block_scaled(2060, 4096, k) for k in (640, 4224)}
CASES |= {
    f"block_scaled in halves {k}": lambda k=k: block_scaled(4100, 4096, k) for k in (640, 2176)
}
CASES |= {f"int4_gemm {m}": lambda m=m: int4_gemm(m) for m in (1, 16, 40, 100, 200)}
CASES |= {f"fp8_gemm {m}": lambda m=m: fp8_gemm(m) for m in (16, 100)}
CASES |= {"grouped_gathered copied": lambda: grouped_gathered(320)}
CASES |= {"grouped_gathered whole": whole_rows}
CASES |= {
    f"attention {dim} {mask}": lambda dim=dim, mask=mask: many_heads(dim, mask == "causal")
    for dim in (64, 128)
    for mask in ("full", "causal")
}
CASES |= {
    f"attention {dim} {name}": lambda dim=dim, given=given: with_functions(dim, *given)
    for dim in (64, 128, 256)
    for name, given in FUNCTIONS.items()
}


@pytest.mark.parametrize("what", CASES)
def test_measured_tiles(what):
    sizes, call, wanted = CASES[what]()
    choices = sizes.pop("choices", {})
    assert not sizes or measured(what.partition(" ")[0], choices, sizes)
    first = call()
    error = (first.float() - wanted).norm() / wanted.norm()
    assert torch.isfinite(first).all()
    assert error < LIMIT, error.item()
    assert all(torch.equal(first, call()) for _ in range(REPEATS))
