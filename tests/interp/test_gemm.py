"""The interpreter against NumPy: odd sizes, every timing, several tiles a CTA."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

from tests.ir.modules import KERNELS, module
from warploom.errors import ConfigError, InterpreterError, KernelCallError, KernelError
from warploom.frontend import builtins as words
from warploom.interp import TIMINGS, run_module
from warploom.kernels.gemm import gemm

SIZES = [
    (0, 5, 5), (5, 0, 7), (5, 7, 0), (1, 1, 1), (16, 64, 128), (63, 31, 127), (129, 209, 65),
    (300, 430, 200),
]  # fmt: skip


def bf16(array: Any) -> Any:
    """Nearest values of 8 bits of fraction, by another way than the interpreter's."""
    fraction, exponent = np.frexp(np.asarray(array, np.float64))
    return np.ldexp(np.rint(fraction * 256) / 256, exponent)


def inputs(name: str, m: int, n: int, k: int) -> tuple[dict[str, Any], Any]:
    """Arrays for a kernel, and what it must give, in float64."""
    random = np.random.default_rng(m + 1000 * n + k)
    a, b = bf16(random.standard_normal((m, k))), bf16(random.standard_normal((n, k)))
    given: dict[str, Any] = {"a": a, "b": b}
    out = a @ b.T
    if name == "gelu":
        given |= {
            "bias": bf16(random.standard_normal(n)),
            "residual": bf16(random.standard_normal((m, n))),
        }
        x = out + given["bias"]
        erf = np.vectorize(math.erf, otypes=[float])
        out = x * 0.5 * (1 + erf(x / math.sqrt(2))) if x.size else x
        out = out + given["residual"]
    if name == "swiglu":
        up = bf16(random.standard_normal((n, k)))
        given = {"x": a, "gate": b, "up": up}
        out = out / (1 + np.exp(-out)) * (a @ up.T)
    return given, out


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("name", KERNELS)
def test_against_numpy(name: str, timing: str) -> None:
    made = module(name)
    scalars = {s.name: 1.0 for s in made.scalars}
    for seed, (m, n, k) in enumerate(SIZES):
        given, wanted = inputs(name, m, n, k)
        sms = (132, 1, 3)[seed % 3]
        found = run_module(made, given, scalars, timing=timing, seed=seed, sms=sms)["out"]
        assert found.shape == (m, n)
        assert not np.isnan(found).any(), (m, n, k)
        size = max(1.0, np.abs(wanted).max(initial=0.0))
        np.testing.assert_allclose(found, wanted, rtol=2**-7, atol=2**-8 * size)
        np.testing.assert_array_equal(found, bf16(found))  # rounded to the type of the output


def test_a_gemm_of_256_takes_less_than_two_seconds() -> None:
    given, _ = inputs("small", 256, 256, 256)
    begin = time.process_time()
    gemm.interpret(given["a"], given["b"], types="bf16")
    assert time.process_time() - begin < 2.0


def test_the_public_call_is_that_of_the_reference() -> None:
    given, _ = inputs("gelu", 33, 50, 72)
    arrays = (given["a"], given["b"], given["bias"], given["residual"])
    options: dict[str, Any] = {"activation": words.gelu, "alpha": 0.5, "types": "bf16"}
    wanted = gemm.reference(*arrays, **options)
    for seed in range(3):
        found = gemm.interpret(*arrays, **options, seed=seed)
        np.testing.assert_allclose(found, wanted, rtol=2**-7, atol=2**-4)


def test_pinned_tiles_are_what_is_executed() -> None:
    given, wanted = inputs("small", 70, 90, 40)
    for config in ({"m": 128, "n": 64, "k": 64}, {"m": 64, "n": 96, "k": 128}):
        found = gemm.interpret(given["a"], given["b"], types="bf16", config=config)
        np.testing.assert_allclose(found, wanted, rtol=2**-7, atol=0.2)


def test_torch_in_torch_out() -> None:
    torch = pytest.importorskip("torch")
    x, w = (torch.ones(3, 8, dtype=torch.bfloat16) for _ in range(2))
    found = gemm.interpret(x, w)
    assert isinstance(found, torch.Tensor)
    assert bool((found == 8).all())


def test_nan_of_memory_propagates_and_infinity_too() -> None:
    a, b = np.ones((4, 8), np.float32), np.ones((4, 8), np.float32)
    a[1, 3], a[2, 0] = np.nan, np.inf
    found = gemm.interpret(a, b, types="bf16")
    assert np.isnan(found[1]).all()
    assert np.isposinf(found[2]).all()
    assert (found[[0, 3]] == 8).all()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"timing": "soon"}, ConfigError),
        ({"target": "cpu"}, ConfigError),
        ({"config": 7}, ConfigError),
        ({"types": "i32"}, KernelError),
        ({"gamma": 1.0}, KernelCallError),
    ],
)
def test_refusals_are_typed(given: dict[str, Any], error: type[Exception]) -> None:
    a = np.ones((4, 8), np.float32)
    with pytest.raises(error):
        gemm.interpret(a, a, **({"types": "bf16"} | given))


def test_arrays_that_do_not_fit() -> None:
    a = np.ones((4, 8), np.float32)
    with pytest.raises(KernelCallError, match="axis 'k'"):
        gemm.interpret(a, np.ones((4, 9)), types="bf16")
    with pytest.raises(KernelCallError, match="'b' is not given"):
        gemm.interpret(a, types="bf16")
    with pytest.raises(InterpreterError, match="axes"):
        run_module(module("small"), {"a": a[0], "b": a}, {"alpha": 1.0})
