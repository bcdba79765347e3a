"""The interpreter on kernels of every form: results of NumPy, under every timing."""

from typing import Any

import numpy as np
import pytest

from tests.interp.cases import CASES, QUICK, Case
from warploom.errors import KernelError
from warploom.frontend import builtins as wl
from warploom.frontend.tile_kernel import kernel
from warploom.interp import TIMINGS
from warploom.interp.arithmetic import round_to
from warploom.ir.types import Access, DType

SLOW = [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in CASES]


def rounded(case: Case) -> list[Any]:
    """Inputs as their types hold them, so that both sides begin with the same numbers."""
    kinds = case.text.spell(case.types)
    found = []
    for tensor, array in zip(case.text.signature.inputs, case.arrays, strict=False):
        kind = tensor.dtype or DType(kinds.get(tensor.name, DType.F32))
        found.append(round_to(array, kind) if kind.is_float else array)
    return found


@pytest.mark.parametrize("name", SLOW)
def test_against_numpy(name: str) -> None:
    case = CASES[name]()
    arrays = rounded(case)
    optional = {t.name for t in case.text.signature.outputs if t.optional} - set(case.without)
    sizes = {"sizes": case.options["sizes"]} if "sizes" in case.options else {}
    wanted = case.text.reference(
        *arrays, types=case.types, without=case.without, **case.given, **sizes
    )
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    made: dict[str, Any] = {}
    for timing in TIMINGS:
        found = case.text.interpret(
            *arrays,
            types=case.types,
            timing=timing,
            **case.given,
            **case.options,
            **dict.fromkeys(optional, True),
        )
        made[timing] = found if isinstance(found, tuple) else (found,)
        for mine, right in zip(made[timing], wanted, strict=True):
            size = max(1.0, float(np.abs(right).max(initial=0.0)))
            np.testing.assert_allclose(mine, right, rtol=0.02, atol=0.01 * size)


def test_memory_that_does_not_count_may_hold_anything() -> None:
    """Keys past the lengths, and pages of nobody, are NaN."""
    case = CASES["lengths"]()
    q, k, v = (a.copy() for a in case.arrays)
    right = case.text.interpret(q, k, v, types="bf16", **case.given)
    for b, length in enumerate(case.given["lengths"]):
        k[b, :, length:], v[b, :, length:] = np.nan, np.nan
    found = case.text.interpret(q, k, v, types="bf16", **case.given)
    np.testing.assert_array_equal(found, right)
    assert (found[2] == 0).all()  # of no keys at all


def test_elements_that_nobody_stores_are_nan() -> None:
    @kernel
    def lower(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n", "u"]):
        m, n = wl.tile("m", "n")
        acc = wl.zeros(m, n)
        for k in wl.steps(x.k):
            acc += x[m, k] @ w[n, k].T
        out[m, n, 1] = acc

    x = np.ones((5, 8), np.float32)
    found = lower.interpret(x, x, types="bf16", sizes={"u": 3})
    assert (found[:, :, 1] == 8).all()
    assert np.isnan(found[:, :, [0, 2]]).all()


def test_outputs_that_are_added_to_begin_with_what_is_given() -> None:
    case = CASES["scattered"]()
    before = np.full((120, 80), 2.0, np.float32)
    plain = case.text.interpret(*case.arrays, types="bf16", sizes={"s": 120})
    found = case.text.interpret(
        *case.arrays, types="bf16", sizes={"s": 120}, initial={"out": before}
    )
    untouched = np.setdiff1d(np.arange(120), case.arrays[3])
    assert (plain[untouched] == 0).all()
    assert (found[untouched] == 2).all()


def test_i32_is_exact_and_wraps_without_a_loop() -> None:
    @kernel
    def hashed(x: wl.In["m", "n", wl.i32], out: wl.Out["m", "n", wl.i32]):
        m = wl.tile(out, whole="n")
        out[m] = x[m] * 1103515245 + 12345

    x = np.arange(3 * 64, dtype=np.int64).reshape(3, 64) * 7919
    found = hashed.interpret(x)
    np.testing.assert_array_equal(found, (x * 1103515245 + 12345).astype(np.int32))


def test_a_kernel_without_a_module_is_refused_at_its_line() -> None:
    @kernel
    def cube(x: wl.In["a", "b", "c"], out: wl.Out["a", "b", "c"]):
        a, b, c = wl.tile(out)
        acc = wl.zeros(b, c)
        for k in wl.steps(x.c):
            acc += x[a, b, k] @ x[a, c, k].T
        out[a, b, c] = acc

    x = np.ones((2, 8, 8), np.float32)
    with pytest.raises(KernelError) as error:
        cube.interpret(x[:, :, :5], types="f32")
    assert "test_kernels.py:" in error.value.where


def test_every_case_names_its_outputs() -> None:
    for name, make in CASES.items():
        outputs = [t for t in make().text.signature.tensors if t.access is Access.OUT]
        assert outputs, name
