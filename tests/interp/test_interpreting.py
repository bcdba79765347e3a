"""``warploom.interpreting``: public calls and kernels on the CPU; errors outside of it."""

from __future__ import annotations

import numpy as np
import pytest

import warploom
from warploom.errors import BackendError, ConfigError, WarploomError
from warploom.kernels.gemm import gemm


def arrays(*shape: int) -> np.ndarray:
    """Small whole numbers, which every type holds."""
    return np.random.default_rng(shape).integers(-4, 5, shape).astype(np.float32)


@pytest.mark.parametrize("target", ["h200", "mi355x"])
def test_a_public_call(target: str) -> None:
    a, b = arrays(33, 72), arrays(20, 72)
    with warploom.interpreting(target=target, types="bf16"):
        found = warploom.gemm(a, b.T, out_dtype="fp32")
    np.testing.assert_array_equal(found, a @ b.T)


def test_out_is_what_was_given_and_residual_may_be_it() -> None:
    a, b, out = arrays(33, 72), arrays(20, 72), np.ones((33, 20), np.float32)
    with warploom.interpreting(types="f16"):
        made = warploom.gemm(a, b.T, out=out, residual=out, activation="relu")
    assert made is out
    np.testing.assert_array_equal(out, np.maximum(a @ b.T, 0) + 1)


def test_own_kernels_are_called_as_on_a_gpu() -> None:
    a, b = arrays(33, 72), arrays(20, 72)
    with warploom.interpreting(types="bf16", timing="random", seed=3):
        found = gemm(a, b, types={"out": "f32"})
    np.testing.assert_array_equal(found, a @ b.T)


def test_strided_and_empty_arrays() -> None:
    a, b = arrays(66, 73)[::2, 1:], arrays(20, 72)
    with warploom.interpreting(types="bf16"):
        np.testing.assert_array_equal(warploom.gemm(a, b.T, out_dtype="fp32"), a @ b.T)
        assert warploom.gemm(a[:0], b.T).shape == (0, 20)
        assert (warploom.gemm(a[:, :0], b.T[:0]) == 0).all()


def test_the_environment_does_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPLOOM_INTERPRET", "1")
    a = arrays(5, 8).astype(np.float16)
    np.testing.assert_array_equal(warploom.gemm(a, a.T), (a @ a.T))


def test_outside_the_error_names_interpret_and_reference() -> None:
    a = arrays(5, 8)
    for call in (lambda: warploom.gemm(a, a.T), lambda: gemm(a, a)):
        with pytest.raises(BackendError) as error:
            call()
        assert "interpret" in str(error.value)
        assert "reference" in str(error.value)


@pytest.mark.parametrize("given", [{"target": "cpu"}, {"timing": "soon"}, {"types": "complex"}])
def test_what_is_no_option_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(ConfigError), warploom.interpreting(**given):  # type: ignore[arg-type]
        pass


def test_a_state_ends_with_its_block_also_after_an_error() -> None:
    a = arrays(5, 8)
    with pytest.raises(WarploomError), warploom.interpreting():
        warploom.gemm(a, a.T)  # products of float32 have no instruction
    with pytest.raises(BackendError, match="host memory"):
        warploom.gemm(a, a.T)


def test_torch_calls_and_ops() -> None:
    torch = pytest.importorskip("torch")
    import warploom.torch

    a = torch.from_numpy(arrays(33, 72)).to(torch.bfloat16)
    b = torch.from_numpy(arrays(20, 72)).to(torch.bfloat16)
    right = a.float() @ b.float().T
    with warploom.interpreting():
        found = warploom.gemm(a, b.T, out_dtype="fp32")
        op = torch.ops.warploom.gemm(a, b.T)
    assert isinstance(found, torch.Tensor)
    assert torch.equal(found, right)
    assert torch.allclose(op.float(), right, rtol=2**-7)


def test_a_block_that_is_entered_by_hand_lasts_until_it_is_left():
    """Nobody holds what was entered: it must not end by itself."""
    import gc

    a = np.ones((3, 8), np.float32)
    entered = warploom.interpreting(types="bf16")
    entered.__enter__()
    try:
        warploom.interpreting(types="bf16", seed=1).__enter__()
        gc.collect()
        assert (warploom.gemm(a, a.T) == 8).all()
    finally:
        entered.__exit__(None, None, None)


def test_a_function_can_be_interpreted_as_a_whole():
    @warploom.interpreting(types="bf16")
    def product(x):
        return warploom.gemm(x, x.T)

    assert (product(np.ones((3, 8), np.float32)) == 8).all()
    with pytest.raises(BackendError):
        warploom.gemm(np.ones((3, 8), np.float32), np.ones((8, 3), np.float32))
