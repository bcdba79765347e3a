"""Running sums and extremes, and extremes in memory: emitted CUDA on the host against NumPy."""

import numpy as np
import pytest

import warploom as wl
from tests.frontend.memory_bound import executed, of_type
from tests.host_cuda import NEEDS_COMPILER

pytestmark = NEEDS_COMPILER


@wl.kernel
def along_rows(x: wl.In["m", "n"], out: wl.Out["m", "n"], *, fn=wl.cumsum, reverse=False):
    m = wl.tile(out, whole="n")
    out[m] = fn(x[m] * 1, axis=1, reverse=reverse)


@wl.kernel
def along_columns(x: wl.In["m", "n"], out: wl.Out["m", "n"], *, fn=wl.cumsum, reverse=False):
    n = wl.tile("n")
    out[:, n] = fn(x[:, n], axis=0, reverse=reverse)


@wl.kernel
def both(x: wl.In["m", "n"], out: wl.Out["n", wl.f32], last: wl.Out["m", wl.f32]):
    """A running sum is summed again along the other axis, and reduced along its own."""
    m = wl.tile("m")
    v = x[m, :].cumsum(axis=1)
    last[m] = v.max(axis=1)
    out[:] += v.sum(axis=0)


@wl.kernel
def from_step_to_step(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m = wl.tile("m")
    before = wl.zeros(m)
    for n in wl.steps(x.n, 96):
        out[m, n] = before + wl.cumsum(x[m, n], axis=1)
        before += x[m, n].sum(axis=1)


@wl.kernel
def rows_by_steps(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    n = wl.tile("n")
    before = wl.zeros(n)
    for m in wl.steps(x.m, 48):
        out[m, n] = before + wl.cumsum(x[m, n], axis=0)
        before += x[m, n].sum(axis=0)


@wl.kernel
def extremes(
    x: wl.In["m", "n"],
    most: wl.Out["one", wl.f32],
    least: wl.Out["n", wl.f32],
    place: wl.Out["m", wl.i32],
):
    m, n = wl.tile("m", "n")
    v = x[m, n]
    wl.atomic_max(most[0], v.max())
    wl.atomic_min(least[n], v.min(axis=0))
    wl.atomic_max(place[m], wl.where(v > 0, wl.index(n), -1).max(axis=1))


def random(shape, seed=0):
    return of_type(np.random.default_rng(seed).normal(size=shape), "f32")


def scanned(fn, x, axis, *, reverse=False):
    ufunc = {"cumsum": np.add, "cummax": np.fmax, "cummin": np.fmin}[fn.name]
    x = np.flip(x, axis) if reverse else x
    made = ufunc.accumulate(x, axis=axis)
    return np.flip(made, axis) if reverse else made


def near(found, wanted):
    size = max(1e-6, np.abs(wanted).max(initial=0.0))
    assert found.shape == np.shape(wanted)
    assert np.abs(found - wanted).max(initial=0.0) <= 1e-5 * size


@pytest.mark.parametrize(
    ("m", "n", "reverse"),
    [(3, 1, True), (5, 40, False), (7, 333, True), (2, 4097, False), (1, 9001, True)],
)
def test_running_sums_along_columns(m, n, reverse):
    x = random((m, n))
    how = {"constants": {"reverse": reverse}}
    near(
        executed(along_rows, "f32", {"m": m, "n": n}, {"x": x}, **how),
        scanned(wl.cumsum, x, 1, reverse=reverse),
    )


def test_a_running_sum_over_an_axis_that_does_not_fit():
    x = random((2, 70001))
    near(executed(along_rows, "f32", {"m": 2, "n": 70001}, {"x": x}), np.cumsum(x, axis=1))
    with pytest.raises(wl.KernelError, match="from the end of all 70001"):
        executed(along_rows, "f32", {"m": 2, "n": 70001}, {"x": x}, constants={"reverse": True})


@pytest.mark.parametrize(("m", "n", "reverse"), [(1, 3, True), (64, 5, False), (100, 77, True)])
def test_running_sums_along_rows(m, n, reverse):
    x = random((m, n))
    how = {"constants": {"reverse": reverse}}
    near(
        executed(along_columns, "f32", {"m": m, "n": n}, {"x": x}, **how),
        scanned(wl.cumsum, x, 0, reverse=reverse),
    )


@pytest.mark.parametrize("fn", [wl.cummax, wl.cummin])
def test_running_extremes_pass_over_nan(fn):
    x = random((5, 333))
    x[:, 100:103] = np.nan
    for kernel, axis in ((along_rows, 1), (along_columns, 0)):
        found = executed(kernel, "f32", {"m": 5, "n": 333}, {"x": x}, constants={"fn": fn})
        wanted = scanned(fn, x, axis)
        seen = ~np.isnan(wanted)  # nothing but NaN so far: no number is promised
        assert (found[seen] == wanted[seen]).all()


def test_whole_numbers_are_summed_exactly():
    x = np.random.default_rng(0).integers(-(2**31), 2**31, (3, 333))
    found = executed(along_rows, "i32", {"m": 3, "n": 333}, {"x": x})
    wrapped = (np.cumsum(x, axis=1) + 2**31) % 2**32 - 2**31
    assert (found == wrapped).all()


def test_a_running_sum_is_a_value_like_others():
    x = np.abs(random((37, 200)))
    sums, last = executed(both, {"x": "f32"}, {"m": 37, "n": 200}, {"x": x}, initial={"out": 0.0})
    near(last, x.sum(1))
    near(sums, np.cumsum(x, axis=1).sum(0))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (7, 1003), (100, 96), (145, 97)])
def test_sums_that_go_on_from_step_to_step(m, n):
    x = random((m, n))
    sizes = {"m": m, "n": n}
    near(executed(from_step_to_step, "f32", sizes, {"x": x}), np.cumsum(x, axis=1))
    near(executed(rows_by_steps, "f32", sizes, {"x": x}), np.cumsum(x, axis=0))


@pytest.mark.parametrize("shift", [0.0, -5.0, 5.0])
def test_extremes_in_memory_of_either_sign(shift):
    x = random((65, 77)) + shift
    x[3, 5] = np.nan  # counts for nothing
    sizes = {"m": 65, "n": 77, "one": 1}
    begin = {"most": -4.0, "least": 3.0, "place": -1}
    most, least, place = executed(extremes, {"x": "f32"}, sizes, {"x": x}, initial=begin)
    x = of_type(x, "f32")
    assert most[0] == np.fmax(np.nanmax(x), -4.0)
    assert (least == np.fmin(np.nanmin(x, axis=0), 3.0)).all()
    assert (place == np.where(x > 0, np.arange(77), -1).max(1)).all()


@wl.kernel
def beside_products(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    out[m, n] = wl.cumsum(acc, axis=1)


@wl.kernel
def most_of_products(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", wl.f32]):
    m, n = wl.tile("m", "n")
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
    wl.atomic_max(out[m], acc.max(axis=1))


@wl.kernel
def two_ways(x: wl.In["m", "n"], out: wl.Out["one", wl.f32]):
    m, n = wl.tile("m", "n")
    wl.atomic_max(out[0], x[m, n].max())
    out[0] += 1.0


@wl.kernel
def of_halves(x: wl.In["m", "n"], out: wl.Out["one", wl.bf16]):
    m, n = wl.tile("m", "n")
    wl.atomic_max(out[0], x[m, n].max())


@wl.kernel
def as_a_value(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    out[m, n] = wl.atomic_max(x[m, n], 1.0)


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        (beside_products, "a running sum along 'n', of which a tile has a part only"),
        (two_ways, "both given a maximum and added to"),
        (of_halves, "an extreme in memory of 'out' of type bf16"),
        (as_a_value, "an input and cannot|is no value|'out'"),
    ],
)
def test_what_is_refused_says_so_at_its_line(kernel, says):
    with pytest.raises(wl.KernelError, match=says) as found:
        kernel.compile("bf16").built  # noqa: B018
    assert "test_scans.py" in str(found.value)
    assert found.value.fix
