"""The torch ops with wrong tensors, on the CPU and on fake ones: refused as torch's own ops are."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
wt = pytest.importorskip("warploom.torch")
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from warploom.errors import BackendError  # noqa: E402

from .gpu import TORCH_WARNINGS  # noqa: E402

pytestmark = TORCH_WARNINGS
OPS = torch.ops.warploom
I32, F32, E4M3 = torch.int32, torch.float32, torch.float8_e4m3fn
OTHERS = (torch.int64, torch.float16, torch.float32, torch.int32, torch.bool)
STARTS = ((4,), I32)
X, W = (20, 256), (3, 128, 256)
CALLS = {
    "swiglu": {"x": X, "gate": (128, 256), "up": (128, 256)},
    "grouped_gemm": {"x": X, "w": W, "starts": STARTS},
    "grouped_gemm_gathered": {"x": X, "w": W, "starts": STARTS, "tokens": ((30,), I32)},
    "grouped_swiglu": {"x": X, "gate": W, "up": W, "starts": STARTS},
    "grouped_gemm_weights": {"y": (20, 128), "x": X, "starts": STARTS},
    "grouped_gemm_add": {"out": ((9, 128), F32), "x": X, "w": W, "starts": STARTS}
    | {"rows": ((20,), I32), "weight": ((20,), F32)},
    "gemm_block_scaled": {"a": (X, E4M3), "scale_a": ((20, 2), F32), "b": ((128, 256), E4M3)}
    | {"scale_b": ((1, 2), F32)},
    "gemm_quantised": {"x": X, "w": ((128, 128), torch.uint8), "scale": ((128, 2), F32)},
    "scan": {"q": (1, 2, 2, 64, 64), "k": (1, 2, 2, 64, 64), "v": (1, 4, 2, 64, 64)}
    | {"grown": ((1, 4, 2, 64), F32)},
}


def tensor(shape, dtype=torch.bfloat16):
    if isinstance(shape[0] if shape else 0, tuple):
        shape, dtype = shape
    if shape == (4,):  # where groups begin
        return torch.tensor([0, 5, 5, 20]).to(dtype)
    return torch.zeros(shape, dtype=F32).to(dtype)


def hostile(x):
    shape = tuple(x.shape)
    for other in ((1, *shape), shape[1:], (), (0, *shape[1:])):
        yield tensor(other, x.dtype)
    yield tensor((shape[0] + 1, *shape[1:]), x.dtype)
    yield tensor((*shape[:-1], shape[-1] + 1), x.dtype)
    for dtype in OTHERS:
        if dtype != x.dtype:
            yield tensor(shape, dtype)


def refused(name):
    """How many wrong calls are refused; whatever else they end in fails the test."""
    op, given = getattr(OPS, name), {n: tensor(s) for n, s in CALLS[name].items()}
    op(**given)
    told = []
    for argument, x in given.items():
        for other in hostile(x):
            try:
                op(**{**given, argument: other})
            except RuntimeError as error:
                told.append(str(error))
    assert all(f"warploom.{name}: " in x for x in told), told
    return told


@pytest.mark.parametrize("name", CALLS)
def test_wrong_tensors_are_refused_on_the_cpu_and_while_tracing(name):
    here = refused(name)
    assert len(here) > 6 * len(CALLS[name])
    with FakeTensorMode():
        assert len(refused(name)) == len(here)


@pytest.mark.parametrize("name", ["swiglu", "grouped_swiglu", "grouped_gemm_gathered"])
def test_unknown_activations_are_refused(name):
    given = {n: tensor(s) for n, s in CALLS[name].items()}
    with pytest.raises(RuntimeError, match=f"{name}: unknown activation 'elu'"):
        getattr(OPS, name)(**given, activation="elu")


def test_weights_in_turn_are_of_even_number():
    x = tensor(X)
    assert OPS.swiglu(x, tensor((6, 256))).shape == (20, 3)
    with pytest.raises(RuntimeError, match="without up, gate is"):
        OPS.swiglu(x, tensor((7, 256)))


def test_groups_of_heads_are_even():
    q, v, grown = (tensor(CALLS["scan"][n]) for n in ("q", "v", "grown"))
    with pytest.raises(RuntimeError, match="do not divide"):
        OPS.scan(q[:, :1].expand(-1, 3, -1, -1, -1), q[:, :1].expand(-1, 3, -1, -1, -1), v, grown)


def test_rows_that_do_not_exist_are_left_out():
    out, x, w = torch.zeros(2, 4), torch.ones(3, 8, dtype=F32), torch.ones(1, 4, 8, dtype=F32)
    starts, rows = torch.tensor([0, 3]).int(), torch.tensor([-1, 1, 2]).int()
    OPS.grouped_gemm_add(out, x, w, starts, rows)
    assert out.tolist() == [[0.0] * 4, [8.0] * 4]


def test_the_call_of_flexible_attention_is_checked():
    q, k = tensor((1, 2, 20, 64)), tensor((1, 2, 30, 64))
    for given in ((tensor((4, 4)), k, k), (q, tensor(()), k), (None, k, k), (q, k, "v")):
        with pytest.raises(BackendError, match=r"flex_attention: (query|key|value) is"):
            wt.flex_attention(*given)


@pytest.mark.parametrize("name", [n for n in CALLS if n != "grouped_gemm"])
def test_gradients_that_an_op_lacks_are_refused(name):
    given = {n: tensor(s) for n, s in CALLS[name].items()}
    for wanted in ("x", "a", "q"):
        if wanted in given:
            given[wanted].requires_grad_()
    with torch.no_grad():
        getattr(OPS, name)(**given)

    def backward():
        made = getattr(OPS, name)(**given)
        (made if isinstance(made, torch.Tensor) else made[0]).float().sum().backward()

    with pytest.raises(BackendError, match=f"a gradient of warploom.{name} is asked for"):
        backward()
