"""Reading a text: what names, loops, choices, functions and indices become."""

import math
from pathlib import Path

import numpy as np
import pytest

import warploom as wl
from tests.frontend.sources import run_source
from warploom.ir.tile import (
    DType,
    Grid,
    Load,
    Loop,
    Pointwise,
    Reduce,
    Scalar,
    Store,
    Transpose,
    Var,
    Walk,
    walk,
)
from warploom.kernels.attention import attention
from warploom.kernels.swiglu import swiglu

FACTOR = 3
OFFSETS = (1, 2)


def bf16(*names):
    return dict.fromkeys(names, "bf16")


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-10)


def test_the_value_of_a_product():
    kernel = swiglu.specialise(bf16("x", "gate", "up", "out"))
    assert kernel.name == "swiglu"
    assert [t.name for t in kernel.tensors] == ["x", "gate", "up", "out"]
    assert kernel.grid == Grid(tensor="out", vars=("m", "n"))
    assert kernel.var("k") == Var(name="k", axis="k", walk=Walk.STEP)
    (loop,) = kernel.loops
    assert [c.inside.name for c in loop.carried] == ["g_in", "u_in"]
    assert [c.last for c in loop.carried] == ["g_1", "u_1"]
    assert kernel == swiglu.specialise(bf16("x", "gate", "up", "out"))
    assert hash(kernel)


def test_every_op_knows_its_line():
    kernel = attention.specialise(bf16("q", "k", "v", "out"), sizes={"d": 64})
    text = Path(kernel.line.file).read_text().splitlines()
    for op in walk(kernel.ops):
        line = op.line if isinstance(op, Store | Loop) else op.result.line
        assert line.text == text[line.number - 1].strip()
    exps = [o for o in walk(kernel.ops) if isinstance(o, Pointwise) and o.fn == "exp"]
    assert {o.result.line.text for o in exps} == {"return wl.exp(top - new), wl.exp(x - new)"}


def test_units_rows_columns_and_whole_axes():
    kernel = attention.specialise(
        bf16("q", "k", "v", "out"), sizes={"d": 64}, without={"lengths", "lse"}
    )
    walks = {v.name: (v.walk, v.extent) for v in kernel.vars}
    assert walks == {
        "b": (Walk.UNIT, 1),
        "h": (Walk.UNIT, 1),
        "s": (Walk.TILE, None),
        "d": (Walk.WHOLE, 64),
        "t": (Walk.STEP, None),
    }
    assert [t.name for t in kernel.tensors] == ["q", "k", "v", "out"]
    assert kernel.tensor("q").axis("d").size == 64


@wl.kernel
def pointed(x: wl.In["m", "n"], out: wl.Out["m", "n"], *, power: int = 1, fns=()):
    m, n = wl.tile(out)
    y = x[m, n] * FACTOR + math.sqrt(4)
    for offset in OFFSETS:
        y += offset
    for f in fns:
        y = f(y)
    y = y**2 if FACTOR > 2 else y
    out[m, n] = max(y, -y) * power


def test_captured_numbers_and_written_out_loops():
    def half(v, *, by=2.0):
        if by == 2.0:
            return v / by
        return v

    x = normal(4, 5)
    wanted = x * 3 + 5
    close(pointed.reference(x), wanted**2)
    close(pointed.reference(x, constants={"fns": (half, half)}), (wanted / 4) ** 2)
    close(pointed.reference(x, power=3), wanted**2 * 3)
    close(pointed.reference(x, constants={"power": 3}), wanted**2 * 3)


def test_a_built_in_scalar_is_no_parameter():
    types = {"x": "f32", "out": "f32"}
    assert pointed.specialise(types).parameters
    built_in = pointed.specialise(types, constants={"power": 2})
    assert not built_in.parameters
    assert not any(isinstance(op, Scalar) for op in built_in.ops)


@wl.kernel
def moved(x: wl.In["m", "n"], rows: wl.In["m", wl.i32], out: wl.Out["m", "n"], sums: wl.Out["m", "n", wl.f32]):  # fmt: skip  # noqa: E501
    m, n = wl.tile(out)
    gathered = x[rows[m], n]
    below = x[wl.index(m) + 1, n]
    out[m, n] = gathered + below
    sums[rows[m], n] += gathered


def test_gather_scatter_and_neighbours():
    x = normal(6, 5)
    rows = np.array([2, 2, 0, 5, 9, -1])
    out, sums = moved.reference(x, rows, extents={"m": 4})
    taken = np.where(((rows >= 0) & (rows < 6))[:, None], x[np.clip(rows, 0, 5)], 0)
    close(out, taken + np.vstack([x[1:], np.zeros((1, 5))]))
    wanted = np.zeros((6, 5))
    for at, row in zip(rows, taken, strict=True):
        if 0 <= at < 6:
            wanted[at] += row
    close(sums, wanted)


@wl.kernel
def scan(
    q: wl.In["h", "t", "d"],
    k: wl.In["h", "t", "d"],
    v: wl.In["h", "t", "e"],
    state: wl.Out["h", "d", "e", wl.f32],
    out: wl.Out["h", "t", "e"],
    *,
    keep: float,
):
    h = wl.tile(state, whole=("d", "e"))
    s = wl.zeros(q.d, v.e)
    for t in wl.steps(q.t, 4):
        out[h, t] = q[h, t] @ s.to(q.dtype)
        s = s * keep + k[h, t].T @ v[h, t]
    state[h] = s


def test_a_carried_matrix():
    q, k, v = normal(2, 8, 3), normal(2, 8, 3, seed=1), normal(2, 8, 5, seed=2)
    state, out = scan.reference(q, k, v, keep=0.5)
    for h in range(2):
        one = k[h, :4].T @ v[h, :4]
        close(out[h, :4], 0)
        close(out[h, 4:], q[h, 4:] @ one)
        close(state[h], one * 0.5 + k[h, 4:].T @ v[h, 4:])


@wl.kernel
def dequantised(
    x: wl.In["m", "k"], w: wl.In["n", "k", wl.i4], s: wl.In["n", "k/32"], out: wl.Out["m", "n"]
):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        wide = (w[n, k] * s[n, k]).to(x.dtype)
        acc += x[m, k] @ wide.T
    out[m, n] = acc


@pytest.mark.parametrize("k", [64, 70])
@pytest.mark.parametrize("extents", [{}, {"k": 16}, {"k": 96}])
def test_weights_widened_in_the_kernel(k, extents):
    x, s = normal(4, k), normal(6, -(-k // 32))
    w = np.random.default_rng(0).integers(-8, 8, (6, k))
    wanted = x @ (w * np.repeat(s, 32, 1)[:, :k]).T
    close(dequantised.reference(x, w, s, extents=extents), wanted)


@wl.kernel
def bounded(x: wl.In["m", "k"], n: wl.In["m", wl.i32], out: wl.Out["m"]):
    m = wl.tile(out)
    s = wl.zeros(m)
    for k in wl.steps(x.k, until=wl.index(m).max() + 1):
        s += wl.where(wl.index(m) >= wl.index(k), x[m, k], 0.0).sum(axis=k)
    out[m] = s


@wl.kernel
def unpacked(x: wl.In["r", "d"], out: wl.Out["r", wl.f32]):
    (row,) = wl.tile(out)
    out[row] = x[row].sum(axis=1)


@wl.kernel
def plain(x: wl.In["r", "d"], out: wl.Out["r", wl.f32]):
    row = wl.tile(out)
    out[row] = x[row].sum(axis=1)


def test_the_one_axis_of_a_grid_may_be_unpacked():
    x = normal(5, 64)
    close(unpacked.reference(x), x.sum(1))
    named = unpacked.specialise(bf16("x"), sizes={"d": 64})
    assert named.grid.vars == ("row",)
    assert named.grid == plain.specialise(bf16("x"), sizes={"d": 64}).grid


@pytest.mark.parametrize("extents", [{}, {"m": 3, "k": 2}])
def test_a_bound_that_depends_on_the_tile(extents):
    x = normal(7, 9)
    close(bounded.reference(x, np.zeros(7), extents=extents), np.tril(x).sum(1))


@wl.kernel
def turned(x: wl.In["n", "m"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    seen = wl.index(n) <= wl.index(m)
    out[m, n] = wl.where(seen, x[n, m].T, 0.0)


@wl.kernel
def turned_too(x: wl.In["n", "m"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    seen = (wl.index(n) <= wl.index(m)) & (wl.index(m) != 2)
    kept = wl.where(seen, x[n, m], 0.0)
    out[m, n] = kept.T


def test_conditions_take_the_order_of_the_tile_they_meet():
    x = normal(5, 4)
    close(turned.reference(x), np.tril(x.T))
    wanted = np.tril(x.T)
    wanted[2] = 0
    close(turned_too.reference(x), wanted)
    kernel = turned_too.specialise({"x": "f32", "out": "f32"})
    assert sum(isinstance(op, Transpose) for op in kernel.ops) == 1
    where = next(o for o in kernel.ops if isinstance(o, Pointwise) and o.fn == "where")
    assert where.result.vars == ("n", "m")


def test_types():
    text = (
        "@wl.kernel\n"
        'def kernel(x: wl.In["m", "k"], out: wl.Out["m", wl.f32]):\n'
        "    m = wl.tile(out)\n"
        "    s = wl.zeros(m)\n"
        "    for k in wl.steps(x.k):\n"
        "        s += (x[m, k] * 2).sum(axis=1) + wl.index(m) // 2\n"
        "    out[m] = s\n"
    )
    kernel = run_source(text, wl=wl)["kernel"].specialise({"x": "e4m3"})
    load = next(o for o in walk(kernel.ops) if isinstance(o, Load))
    total = next(o for o in walk(kernel.ops) if isinstance(o, Reduce))
    quotient = next(o for o in walk(kernel.ops) if isinstance(o, Pointwise) and o.fn == "floordiv")
    assert load.result.dtype is DType.E4M3
    assert total.result.dtype is DType.F32
    assert quotient.result.dtype is DType.I32


def test_what_an_output_held_before():
    x = np.arange(6.0).reshape(3, 2)
    out, sums = moved.reference(x, np.arange(3), initial={"sums": np.full((3, 2), 10.0)})
    assert out.shape == (3, 2)
    close(sums, x + 10)


def test_sizes_that_no_input_has():
    text = (
        "@wl.kernel\n"
        'def kernel(x: wl.In["m"], out: wl.Out["m", "n"]):\n'
        "    m, n = wl.tile(out)\n"
        "    out[m, n] = x[m] + wl.index(n)\n"
    )
    kernel = run_source(text, wl=wl)["kernel"].specialise({"x": "f32", "out": "f32"})
    with pytest.raises(wl.KernelCallError, match="size of axis 'n'"):
        kernel.reference(np.zeros(3))
    close(kernel.reference(np.zeros(3), sizes={"n": 4})[1], np.arange(4))


@wl.kernel
def sums_of_powers(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    i = 7  # not the comprehension's
    parts = [x[m, n] * i for i in range(1, 5) if i != 3]
    total = wl.full((m, n), 1.0)
    out[m, n] = total + sum(p * j for j, p in enumerate(parts)) + i


def test_comprehensions_are_written_out():
    x = normal(3, 5)
    close(sums_of_powers.reference(x, types="f32"), 1 + 2 * x + 2 * 4 * x + 7)


@wl.kernel
def comprehension_in_a_loop(x: wl.In["m", "k"], out: wl.Out["m"]):
    m = wl.tile(out)
    scales, s = (1.0, 2.0), 3.0
    acc = wl.zeros(m)
    for k in wl.steps(x.k, 4):
        acc += sum([(x[m, k] * s).sum(axis=1) for s in scales]) + s
    out[m] = acc


def test_a_comprehension_binds_nothing_around_it():
    x = normal(3, 10)
    close(comprehension_in_a_loop.reference(x, types="f32"), 3 * x.sum(1) + 3 * 3)


@wl.kernel
def stored_by_an_inner_loop(x: wl.In["n", "c", "s"], out: wl.Out["n", "c", "s"]):
    c = wl.tile("c", unit="c")
    total = wl.zeros()
    for n in wl.steps(x.n):
        for s in wl.steps(x.s):
            total += x[n, c, s].sum()
    for n in wl.steps(x.n):
        for s in wl.steps(x.s):
            out[n, c, s] = x[n, c, s] - total


def test_a_loop_whose_inner_loop_stores_has_an_effect():
    x = normal(3, 2, 5)
    close(stored_by_an_inner_loop.reference(x, types="f32"), x - x.sum((0, 2), keepdims=True))


@wl.kernel
def counted_and_marked(
    x: wl.In["t", wl.i32], mark: wl.Out["t", wl.i32], count: wl.Out["e", wl.i32]
):
    e = wl.tile(count, unit="e")
    seen = wl.zeros(dtype=wl.i32)
    for t in wl.steps(x.t, 32):
        mine = wl.where(x[t] == e, 1, 0)
        wl.atomic_max(mark[t], mine)
        seen += mine.sum()
    count[e] = seen


@pytest.mark.parametrize("target", ["h200", "mi355x"])
def test_an_empty_output_beside_one_with_elements(target):
    none = np.zeros(0, int)
    mark, count = counted_and_marked.interpret(none, sizes={"e": 3}, target=target)
    assert mark.shape == (0,)
    np.testing.assert_array_equal(count, np.zeros(3))


def test_a_whole_axis_without_elements_is_told_as_such():
    with pytest.raises(wl.KernelCallError, match="an element at least"):
        comprehension_whole.reference(np.zeros((3, 0)), types="f32")


@wl.kernel
def comprehension_whole(x: wl.In["m", "n"], out: wl.Out["m"]):
    m = wl.tile(out)
    out[m] = x[m, :].sum(axis=1)


@wl.kernel
def products_of_signs(x: wl.In["m", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k, 64):
        sign = wl.where((wl.index(k) & wl.index(n)) % 2 == 1, -1.0, 1.0)
        acc += x[m, k] @ sign.to(x.dtype)
    out[m, n] = acc


def test_what_vectors_make_takes_the_order_a_product_needs():
    x = normal(3, 70)
    k, n = np.arange(70)[:, None], np.arange(5)
    made = products_of_signs.reference(x, types="bf16", sizes={"n": 5})
    close(made, x @ np.where((k & n) % 2, -1.0, 1.0))


@wl.kernel
def over_three_axes(x: wl.In["b", "s", "c"], out: wl.Out["b", "c"]):
    b, c = wl.tile(out)
    acc = wl.zeros(b, c)
    for s in wl.steps(x.s):
        acc += x[b, s, c].sum(axis=1)
    out[b, c] = acc


@wl.kernel
def over_two_axes(x: wl.In["b", "s", "c"], out: wl.Out["b", "c"]):
    b, c = wl.tile(out, unit="b")
    acc = wl.zeros(c)
    for s in wl.steps(x.s):
        acc += x[b, s, c].sum(axis=0)
    out[b, c] = acc


def test_a_tile_of_three_axes_is_told_what_to_walk():
    with pytest.raises(wl.KernelShapeError, match=r"over \(b, s, c\)") as found:
        over_three_axes.specialise({"x": "f32", "out": "f32"})
    assert "wl.tile(..., unit='b')" in found.value.fix
    x = normal(2, 3, 4)
    close(over_two_axes.reference(x, types="f32"), x.sum(1))
