"""The table of elementwise functions: rows agree with each other and with the interpreter."""

import math

import numpy as np
import pytest

import warploom as wl
from tests.frontend.sources import run_source
from warploom.errors import KernelError
from warploom.frontend.pointwise import FUNCTIONS
from warploom.interp.arithmetic import pointwise
from warploom.ir.elementwise import BUILTINS, ELEMENTWISE, Domain, Fn
from warploom.ir.types import DType

POINTS = (0.0, 0.3, 1.0, 2.5)
HEAD = """import warploom as wl
@wl.kernel
def f(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
"""


@pytest.mark.parametrize("row", BUILTINS.values(), ids=BUILTINS)
def test_python_numpy_and_the_interpreter_agree(row):
    for x in POINTS:
        try:
            want = row.python(x)
        except (ValueError, ZeroDivisionError):
            continue
        assert float(FUNCTIONS[row.fn](np.asarray(x))) == pytest.approx(want, rel=1e-12)
        ran = pointwise(row.fn, [np.float32([x])], DType.F32)
        assert float(ran[0]) == pytest.approx(want, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("row", BUILTINS.values(), ids=BUILTINS)
def test_a_derivative_is_what_differences_say(row):
    """Evaluated with NumPy in place of a builder."""
    if row.flat:
        assert row.derivative is None
        return

    def build(fn, *args):
        return FUNCTIONS[fn](*map(np.asarray, args))

    x, step = np.asarray([0.31, 0.9, 1.7]), 1e-6
    f = FUNCTIONS[row.fn]
    made = np.asarray(row.derivative(build, x, f(x)))
    assert np.allclose(made, (f(x + step) - f(x - step)) / (2 * step), rtol=1e-6)


def test_what_passes_rely_on_holds():
    small = np.linspace(-8, 8, 33)
    for row in BUILTINS.values():
        with np.errstate(all="ignore"):
            if row.finite:
                assert np.isfinite(FUNCTIONS[row.fn](small)).all(), row.fn
            if row.of_zero is not None:
                assert FUNCTIONS[row.fn](np.float64(0)) == row.of_zero
    assert not ELEMENTWISE[Fn.DIV].finite


def test_every_row_can_be_printed_for_both_targets():
    for row in BUILTINS.values():
        assert "{}" in row.cuda
        assert row.gfx950 is not None
        assert row.domain in (Domain.FLOAT, Domain.ANY)
    assert set(ELEMENTWISE) == set(Fn)
    assert math.isclose(BUILTINS["exp"].python(1.0), math.e)
    assert all(hasattr(wl, name) for name in BUILTINS)


@pytest.mark.parametrize("call", ["log(-1.0)", "log(0)", "exp(1e9)", "rsqrt(0.0)"])
def test_a_number_outside_the_domain_is_refused_at_its_line(call):
    with pytest.raises(KernelError, match=f"wl.{call.partition('(')[0]}") as caught:
        run_source(f"{HEAD}    out[m, n] = x[m, n] * wl.{call}\n")["f"].specialise(
            {"x": "f32", "out": "f32"}
        )
    assert ":5" in str(caught.value)
