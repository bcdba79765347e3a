"""Running sums, bits, extremes in memory and stores under a condition: machine code for MI355X."""

import numpy as np
import pytest

import warploom as wl
from tests.frontend.test_conditions import either
from tests.frontend.test_scans import (
    along_columns,
    along_rows,
    extremes,
    from_step_to_step,
    random,
    rows_by_steps,
    scanned,
)

pytest.importorskip("llvmlite")


def run(kernel, *arrays, **how):
    return kernel.interpret(*arrays, target="mi355x", types="f32", **how)


def near(found, wanted):
    assert found.shape == np.shape(wanted)
    assert np.abs(found - wanted).max(initial=0.0) <= 1e-4 * max(1.0, np.abs(wanted).max())


@pytest.mark.parametrize(
    ("m", "n", "reverse"), [(3, 1, True), (5, 40, False), (7, 333, True), (2, 1029, False)]
)
def test_running_sums_along_either_axis(m, n, reverse):
    x = random((m, n))
    made = run(along_rows, x, reverse=reverse)
    near(made, scanned(wl.cumsum, x, 1, reverse=reverse))
    y = random((n if n < 200 else 100, m))
    near(
        run(along_columns, y, reverse=reverse),
        scanned(wl.cumsum, y, 0, reverse=reverse),
    )


@pytest.mark.parametrize("fn", [wl.cummax, wl.cummin])
def test_running_extremes(fn):
    x = random((9, 77))
    assert (run(along_rows, x, fn=fn) == scanned(fn, x, 1)).all()


def test_sums_from_step_to_step():
    x = random((50, 200))
    near(run(from_step_to_step, x), np.cumsum(x, axis=1))
    near(run(rows_by_steps, x), np.cumsum(x, axis=0))


@pytest.mark.parametrize("shift", [0.0, -5.0])
def test_extremes_in_memory(shift):
    x = (random((33, 40)) + shift).astype(np.float32)
    begin = {
        "most": np.full(1, -4.0),
        "least": np.full(40, 3.0),
        "place": np.full(33, -1, np.int32),
    }
    most, least, place = extremes.interpret(
        x, target="mi355x", types={"x": "f32"}, sizes={"one": 1}, initial=begin
    )
    assert most[0] == max(x.max(), -4.0)
    assert (least == np.minimum(x.min(0), 3.0)).all()
    assert (place == np.where(x > 0, np.arange(40), -1).max(1)).all()


def test_stores_under_a_condition():
    x, flag = random((5, 40)), np.array([1, 0, -1, 7, 0], np.int32)
    low, high = run(either, x, flag)
    for b, f in enumerate(flag):
        assert (low[b] == x[b]).all() if f > 0 else np.isnan(low[b]).all()
        assert np.isnan(high[b]).all() if f > 0 else (high[b] == -x[b]).all()


@wl.kernel
def bits(a: wl.In["n", wl.i32], b: wl.In["n", wl.i32], out: wl.Out["k", "n", wl.i32]):
    n = wl.tile("n")
    x, y = a[n], b[n]
    for i, v in enumerate((x ^ y, x | y, x & y, x << y, x >> y, wl.mulhi(x, y), x << 5, x >> 40)):
        out[i, n] = v


def test_bits_are_those_of_the_reference():
    rng = np.random.default_rng(0)
    a = rng.integers(-(2**31), 2**31, 100).astype(np.int32)
    b = np.concatenate([rng.integers(-(2**31), 2**31, 60), np.arange(-4, 36)]).astype(np.int32)
    found = bits.interpret(a, b, target="mi355x", sizes={"k": 8})
    assert (found == bits.reference(a, b, sizes={"k": 8})).all()
