"""Computed indices whose neighbours one wide access brings: what is said of them holds."""

import numpy as np
import pytest
from examples.gallery import CASES
from hypothesis import assume, given, settings, strategies as st

import tests.host_cuda as hc
import warploom as wl
from tests.frontend.memory_bound import emitted, executed
from tests.kernels import gallery
from warploom.ir.tile import Const, Dim, DType, Fn, Indices, Pointwise, Value
from warploom.passes.simt_runs import run_of

VECTOR = 8
NUMPY = {
    Fn.ADD: np.add,
    Fn.SUB: np.subtract,
    Fn.MOD: np.mod,
    Fn.XOR: np.bitwise_xor,
    Fn.FLOORDIV: np.floor_divide,
    Fn.SHR: np.right_shift,
    Fn.MUL: np.multiply,
    Fn.BITS: np.bitwise_and,
}


class Built:
    """Ops over one variable, and what they are in NumPy."""

    def __init__(self):
        self.made, self.values, self.arrays = {}, {}, {}
        index = self.keep(Indices, np.arange(64 * VECTOR), ("n",), var="n")
        self.names = [index]

    def keep(self, kind, array, over, dtype=DType.I32, **more):
        name = f"v{len(self.values)}"
        value = Value(name=name, dims=tuple(Dim(v) for v in over), dtype=dtype)
        self.made[name] = kind(result=value, **more)
        self.values[name], self.arrays[name] = value, array
        return name

    def number(self, n):
        return self.keep(Const, np.int64(n), (), value=n)

    def apply(self, fn, a, b):
        made = NUMPY[fn](self.arrays[a], self.arrays[b])
        over = ("n",) if made.ndim else ()
        return self.keep(Pointwise, made, over, fn=fn, args=(a, b))


numbers = st.sampled_from([0, 1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 40, 64, 100])
steps = st.lists(st.tuples(st.sampled_from(sorted(NUMPY)), numbers), min_size=1, max_size=4)


@settings(max_examples=400, deadline=None)
@given(steps, st.one_of(st.none(), st.tuples(numbers, steps)))
def test_what_is_said_of_an_index_holds(chain, other):
    built = Built()

    def chained(steps):
        at = built.names[0]
        for fn, n in steps:
            assume(n or fn not in (Fn.MOD, Fn.FLOORDIV))
            at = built.apply(fn, at, built.number(n))
        return at

    name = chained(chain)
    if other is not None:
        test = built.keep(
            Pointwise, built.arrays["v0"] < other[0], ("n",), DType.BOOL, fn=Fn.LT,
            args=("v0", built.number(other[0])),
        )  # fmt: skip
        two = chained(other[1])
        array = np.where(built.arrays[test], built.arrays[name], built.arrays[two])
        name = built.keep(Pointwise, array, ("n",), fn=Fn.WHERE, args=(test, name, two))
    run = run_of(name, "n", VECTOR, built.made, built.values)
    if run is None:
        return
    found = built.arrays[name].reshape(-1, VECTOR)
    bases = found[:, :1] - run.offsets[0]
    np.testing.assert_array_equal(found, bases + np.array(run.offsets))
    assert min(run.offsets) >= 0
    assert max(run.offsets) < run.window <= VECTOR
    if run.aligned:
        assert not (bases % run.window).any()


def test_some_are_found():
    built = Built()
    half = built.apply(Fn.MOD, built.apply(Fn.ADD, "v0", built.number(32)), built.number(64))
    pairs = built.apply(Fn.XOR, "v0", built.number(1))
    shared = built.apply(Fn.FLOORDIV, "v0", built.number(2))
    found = [run_of(n, "n", VECTOR, built.made, built.values) for n in (half, pairs, shared)]
    assert [r.offsets for r in found] == [
        (0, 1, 2, 3, 4, 5, 6, 7), (1, 0, 3, 2, 5, 4, 7, 6), (0, 0, 1, 1, 2, 2, 3, 3),
    ]  # fmt: skip
    assert [r.window for r in found] == [8, 8, 4]


@wl.kernel
def turned(x: wl.In["m", "d"], cos: wl.In["m", "r"], out: wl.Out["m", "d"], *, by: int):
    m = wl.tile(out, whole="d")
    i = wl.index(x.d)
    half = x.d // 2
    other = x[m, wl.where(i < half, i + half, i - half)]
    shifted = x[m, i + by]
    out[m] = x[m, i ^ 3] * cos[m, i // 2] + other * cos[m, i % half] + shifted


@hc.NEEDS_COMPILER
@pytest.mark.parametrize("by", [-9, -8, 0, 5, 8, 100])
@pytest.mark.parametrize(
    ("m", "d", "dtype"), [(3, 64, "bf16"), (9, 80, "f32"), (1, 40, "f16"), (70, 8, "f32")]
)
def test_executed(m, d, dtype, by):
    rng = np.random.default_rng(d)
    x, cos = rng.integers(-8, 8, (m, d)), rng.integers(-8, 8, (m, d // 2))
    sizes = {"m": m, "d": d, "r": d // 2}
    given = {"x": x, "cos": cos}
    got = executed(turned, dtype, sizes, given, scalars={"by": by})
    i = np.arange(d)
    shifted = np.where((i + by >= 0) & (i + by < d), x[:, np.clip(i + by, 0, d - 1)], 0)
    inside = np.where((i ^ 3) < d, x[:, np.clip(i ^ 3, 0, d - 1)], 0)
    wanted = inside * cos[:, i // 2] + x[:, (i + d // 2) % d] * cos[:, i % (d // 2)] + shifted
    np.testing.assert_array_equal(got, wanted)
    _, source, _ = emitted(turned, dtype, sizes)
    assert source.text.count("bool near") >= 3


@pytest.mark.parametrize("name", ["rope_halves", "rope_pairs", "dropout", "rms_norm_residual"])
def test_a_cta_touches_no_byte_that_it_need_not(name):
    """What all CTAs touch is every tensor once; accesses that hit their caches come on top."""
    case = next(c for c in CASES if c.name == name)
    report = gallery.checked(case)
    assert report.clean, report.text()
    arrays, kinds = gallery.inputs(case), gallery.types_of(case)
    sizes = gallery.sizes_of(case, arrays)
    least = sum(
        int(np.prod([-(-sizes[a.name] // a.per) for a in t.axes])) * kinds[t.name].bits // 8
        for t in case.kernel.signature.tensors
    )
    assert sum(report.figures["bytes_per_cta"].values()) == least
    assert sum(report.figures["bytes_of_memory"].values()) == least
    assert sum(report.figures["bytes"].values()) < 2 * least


def test_what_rows_share_comes_from_memory_once(monkeypatch):
    """Weights and biases are read again for every tile of rows: from caches, not from memory."""
    case = next(c for c in CASES if c.name == "layer_norm")
    rows = gallery.inputs(case)["x"].shape[0]
    for limit in (1 << 26, 100_000):  # the second holds no array for each CTA
        monkeypatch.setattr("warploom.check.ptx.loads.MOST_TOUCHED", limit)
        figures = gallery.checked(case).figures
        arrays = gallery.inputs(case)
        shared = 2 * (arrays["weight"].size + arrays["bias"].size)
        least = 2 * 2 * arrays["x"].size + shared + 2 * 4 * rows
        assert sum(figures["bytes_of_memory"].values()) == least
        assert sum(figures["bytes"].values()) > least + shared
        assert bool(figures["bytes_per_cta"]) is (limit == 1 << 26)


@wl.kernel
def until_a_shared_number(
    x: wl.In["b", "m", "n"], w: wl.In["b", "n", wl.i32], k: wl.In["m", "k"], out: wl.Out["b", "m"]
):
    b, m = wl.tile(out, unit="b")
    last = w[b, :].max()
    acc = x[b, m, :].sum(axis=1)
    for i in wl.steps(k.k, 8, until=last):
        acc += k[m, i].sum(axis=1)
    out[b, m] = acc


@hc.NEEDS_COMPILER
@pytest.mark.parametrize("m", [1, 3])
def test_threads_without_rows_agree_on_bounds(m):
    """They meet the others at barriers of the loop, whose end is made of what all rows share."""
    rng = np.random.default_rng(m)
    x, k = rng.integers(-4, 5, (4, m, 600)), rng.integers(-4, 5, (m, 50))
    w = np.array([[40], [7], [0], [33]]) - rng.integers(0, 3, (4, 600))
    sizes = {"b": 4, "m": m, "n": 600, "k": 50}
    given = {"x": x, "w": w, "k": k}
    got = executed(until_a_shared_number, "f32", sizes, given, grid=1)
    sums = [k[:, : max(0, w[b].max())].sum(1) for b in range(4)]
    np.testing.assert_array_equal(got, x.sum(2) + np.stack(sums))
