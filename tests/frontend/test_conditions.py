"""Tiles that end early, stores under a condition, extents and units of the grid, groups of rows."""

import itertools

import numpy as np
import pytest

import warploom as wl
from tests.frontend.memory_bound import executed, of_type
from tests.host_cuda import NEEDS_COMPILER

pytestmark = NEEDS_COMPILER


@wl.kernel
def ragged(x: wl.In["b", "t", "n"], length: wl.In["b", wl.i32], out: wl.Out["b", "t", "n"]):
    b, t, n = wl.tile(out, rows=16)
    if wl.index(t).min() >= length[b]:
        return
    out[b, t, n] = wl.where(wl.index(t) < length[b], x[b, t, n] * 2.0, 0.0)


@wl.kernel
def ragged_sums(x: wl.In["b", "n"], length: wl.In["b", wl.i32], out: wl.Out["b", wl.f32]):
    b = wl.tile(out, unit="b")
    acc = wl.zeros()
    if length[b] < 0:
        return
    for n in wl.steps(x.n, until=length[b]):
        acc += x[b, n].sum()
    out[b] = acc


@wl.kernel
def either(x: wl.In["b", "n"], flag: wl.In["b", wl.i32], low: wl.Out["b", "n"],
           high: wl.Out["b", "n"]):  # fmt: skip
    b, n = wl.tile(low, unit="b")
    v = x[b, n] * 1.0
    if flag[b] > 0:
        low[b, n] = v
    else:
        high[b, n] = -v


@wl.kernel
def square_tiles(x: wl.In["m", "n"], out: wl.Out["m", "n"], sums: wl.Out["i", "j", wl.f32]):
    m, n = wl.tile(out, rows=16, cols=32)
    out[m, n] = x[m, n]
    sums[wl.index(m).min() // 16, wl.index(n).min() // 32] += x[m, n].sum()


@wl.kernel
def groups(x: wl.In["t", "n"], starts: wl.Starts["b"], out: wl.Out["t", "n", wl.f32]):
    b, n = wl.tile("b", "n", unit="b")
    total = wl.zeros(n)
    for t in wl.steps(x.t, start=starts[b], until=starts[b + 1]):
        total += x[t, n].sum(axis=0)
    for t in wl.steps(x.t, start=starts[b], until=starts[b + 1]):
        out[t, n] = x[t, n] / total


def random(shape, seed=0):
    return of_type(np.random.default_rng(seed).normal(size=shape), "f32")


@pytest.mark.parametrize("n", [1, 77])
def test_tiles_past_a_length_store_nothing(n):
    x, length = random((4, 50, n)), np.array([0, 17, 50, 16])
    sizes = {"b": 4, "t": 50, "n": n}
    found = executed(ragged, "f32", sizes, {"x": x, "length": length})
    for b, count in enumerate(length):
        whole = min(50, -(-count // 16) * 16)
        assert (found[b, :count] == 2 * x[b, :count]).all()
        assert (found[b, count:whole] == 0).all()
        assert np.isnan(found[b, whole:]).all()
    made = ragged.reference(x, length, types="f32")
    assert np.array_equal(made[0], np.zeros((50, n)))  # the reference begins with zeros


def test_either_store_by_one_condition():
    x, flag = random((5, 40)), np.array([1, 0, -1, 7, 0])
    low, high = executed(either, "f32", {"b": 5, "n": 40}, {"x": x, "flag": flag})
    for b, f in enumerate(flag):
        assert (low[b] == x[b]).all() if f > 0 else np.isnan(low[b]).all()
        assert np.isnan(high[b]).all() if f > 0 else (high[b] == -x[b]).all()


def test_the_loops_of_a_tile_that_ended_run_no_step():
    x, length = random((3, 40)), np.array([5, -1, 40])
    x[1] = np.nan
    found = executed(ragged_sums, {"x": "f32"}, {"b": 3, "n": 40}, {"x": x, "length": length})
    assert np.allclose(found[[0, 2]], [x[0, :5].sum(), x[2].sum()], atol=1e-5)
    assert np.isnan(found[1])


def test_groups_of_rows_by_their_starts():
    x, starts = np.abs(random((37, 5))) + 1, np.array([0, 9, 9, 36, 37])
    sizes = {"t": 37, "n": 5, "b": 4}
    found = executed(groups, {"x": "f32"}, sizes, {"x": x, "starts": starts})
    for a, z in itertools.pairwise(starts):
        assert np.allclose(found[a:z], x[a:z] / x[a:z].sum(0), atol=1e-6)


def test_rows_and_columns_of_a_tile_are_stated():
    x = random((37, 70))
    sizes = {"m": 37, "n": 70, "i": 3, "j": 3}
    types = {"x": "f32", "out": "f32"}
    out, sums = executed(square_tiles, types, sizes, {"x": x}, initial={"sums": 0.0})
    assert (out == x).all()
    for i in range(3):
        for j in range(3):
            tile = x[16 * i : 16 * i + 16, 32 * j : 32 * j + 32]
            assert abs(sums[i, j] - tile.sum()) < 1e-4


def source(body, head='x: wl.In["m", "n"], out: wl.Out["m", "n"]'):
    from tests.frontend.sources import run_source

    return run_source(f"\n@wl.kernel\ndef kernel({head}):\n{body}", wl=wl)["kernel"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("    m, n = wl.tile(out)\n    if x[m, n] > 0:\n        return\n    out[m, n] = 1.0\n",
         "only known on the GPU"),
        ("    m, n = wl.tile(out)\n    v = x[m, n]\n    if v.sum() > 0:\n        v = v * 2\n"
         "    out[m, n] = v\n", "over more than stores"),
        ("    m, n = wl.tile(out, cols='a')\n    out[m, n] = 1.0\n", "cols='a'"),
        ("    m, n = wl.tile(out, unit='q')\n    out[m, n] = 1.0\n", "unit='q' is no axis"),
        ("    m = wl.tile(out, whole='n', cols=8)\n    out[m] = 1.0\n", "cols=8 where no columns"),
        ("    m, n = wl.tile(out)\n    v = m + 1\n    out[m, n] = v\n", "unit='m'"),
    ],
)  # fmt: skip
def test_what_is_refused_says_so(body, says):
    with pytest.raises(wl.KernelError, match=says.replace("(", r"\(")) as found:
        source(body).specialise({"x": "f32", "out": "f32"}, sizes={"n": 64})
    assert found.value.fix


@wl.kernel
def product_rows(x: wl.In["m", "k"], y: wl.In["n", "k"], out: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    low = wl.index(n).min() <= wl.index(m).max()
    k_begins = 0
    for k in wl.steps(x.k, until=wl.where(low, x.k, k_begins)):
        acc += x[m, k] @ y[n, k].T
    out[m, n] = acc


def test_products_of_tiles_that_do_not_count_are_not_made():
    """What memory holds of them is not read: NaN there changes nothing."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 72)), rng.normal(size=(264, 72))
    y[256:] = np.nan  # columns that no tile of 64 rows reaches
    pinned = product_rows.with_config(m=64, n=64)
    found = pinned.interpret(x, y, types={"x": "bf16", "y": "bf16"})
    wanted = pinned.reference(
        x, np.nan_to_num(y), types={"x": "bf16", "y": "bf16"}, extents={"m": 64, "n": 64}
    )
    assert np.isfinite(found).all()
    assert np.allclose(found, wanted, atol=0.2)
    assert (found[:64, 128:] == 0).all()


@wl.kernel
def conditional_product(x: wl.In["m", "k"], y: wl.In["n", "k"], out: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile(out)
    if wl.index(n).min() > wl.index(m).max():
        return
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ y[n, k].T
    out[m, n] = acc


def test_products_are_stored_always():
    with pytest.raises(wl.KernelError, match="under a condition, beside matrix products") as found:
        conditional_product.compile("bf16").choices  # noqa: B018
    assert "until=wl.where" in found.value.fix
