"""Kernels without matrix products, executed as emitted, against float64 NumPy at odd sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.frontend import memory_bound as kernels
from tests.frontend.memory_bound import emitted, executed, of_type
from tests.host_cuda import NEEDS_COMPILER

pytestmark = NEEDS_COMPILER
WIDE = "load_bytes<16>"


def random(shape, dtype="bf16", seed=0):
    return of_type(np.random.default_rng(seed).normal(size=shape), dtype)


def near(found, wanted, tolerance=1e-2):
    wanted = np.asarray(wanted)
    assert found.shape == wanted.shape
    size = max(1e-6, np.abs(wanted).max(initial=0.0))
    assert np.isfinite(found).all()
    assert np.abs(found - wanted).max(initial=0.0) <= tolerance * size


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@pytest.mark.parametrize(
    ("m", "n", "dtype"),
    [
        (5, 40, "bf16"),
        (3, 1, "f32"),
        (2, 7, "bf16"),
        (7, 333, "f16"),
        (9, 1000, "f32"),
        (2, 4097, "bf16"),
        (3, 50257, "bf16"),
        (1, 70001, "f32"),
    ],
)
def test_softmax_of_rows_of_any_length(m, n, dtype):
    x = random((m, n), dtype)
    near(executed(kernels.softmax, dtype, {"m": m, "n": n}, {"x": x}), softmax(x))


@pytest.mark.parametrize(
    ("m", "n", "dtype"), [(5, 72, "bf16"), (3, 5001, "f32"), (2, 33000, "bf16")]
)
def test_layer_norm_with_weight_and_bias(m, n, dtype):
    x, w, b = random((m, n), dtype), random(n, dtype, 1), random(n, dtype, 2)
    types = dict.fromkeys(("x", "weight", "bias", "out"), dtype)
    arrays = {"x": x, "weight": w, "bias": b}
    out, mean, rstd = executed(
        kernels.layer_norm, types, {"m": m, "n": n}, arrays, scalars={"eps": 1e-5}
    )
    mu = x.mean(1)
    r = 1 / np.sqrt(x.var(1) + 1e-5)
    near(mean, mu)
    near(rstd, r)
    near(out, (x - mu[:, None]) * r[:, None] * w + b)


@pytest.mark.parametrize(("m", "n"), [(37, 72), (19, 1031), (3, 9000)])
def test_layer_norm_backward_with_sums_over_all_rows(m, n):
    dy, x, w = random((m, n)), random((m, n), seed=1), random(n, seed=2)
    mu, r = of_type(x.mean(1), "f32"), of_type(1 / np.sqrt(x.var(1) + 1e-5), "f32")
    types = dict.fromkeys(("dy", "x", "weight", "dx"), "bf16")
    arrays = {"dy": dy, "x": x, "weight": w, "mean": mu, "rstd": r}
    begin = {"dw": 0.5, "db": 0.0}
    dx, dw, db = executed(kernels.layer_norm_grad, types, {"m": m, "n": n}, arrays, initial=begin)
    g, h = dy * w, (x - mu[:, None]) * r[:, None]
    wanted = g - h * (g * h).mean(1, keepdims=True) - g.mean(1, keepdims=True)
    near(dx, wanted * r[:, None], 2e-2)
    near(dw, (dy * h).sum(0) + 0.5)
    near(db, dy.sum(0))


@pytest.mark.parametrize("n", [8, 96, 3000])
def test_rms_norm_with_weight(n):
    x, w = random((11, n)), random(n, seed=1)
    types = dict.fromkeys(("x", "weight", "out"), "bf16")
    arrays = {"x": x, "weight": w}
    out = executed(kernels.rms_norm, types, {"m": 11, "n": n}, arrays, scalars={"eps": 1e-6})
    near(out, x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * w)


@pytest.mark.parametrize("shape", [(2, 3, 5, 77), (1, 1, 1, 1), (2, 1, 65, 264)])
@pytest.mark.parametrize("steer", [True, False])
def test_elementwise_of_four_axes(shape, steer):
    x, y = random(shape), random(shape, seed=1)
    sizes = dict(zip("bhmn", shape, strict=True))
    gelu = np.vectorize(lambda v: v * 0.5 * (1 + math.erf(v / math.sqrt(2))))
    out = executed(kernels.add, "bf16", sizes, {"x": x, "y": y}, steer=steer)
    near(out, x * 2 + gelu(y))


@pytest.mark.parametrize("n", [1, 1000, 5003])
def test_elementwise_of_one_axis(n):
    x = random(n, "f16")
    near(executed(kernels.scale, "f16", {"n": n}, {"x": x}, scalars={"alpha": 3.0}), 3 * x)


@pytest.mark.parametrize(("m", "n", "dtype"), [(70, 133, "bf16"), (1, 1, "f32"), (128, 65, "i8")])
def test_transpose(m, n, dtype):
    x = random((n, m), dtype) if dtype != "i8" else np.arange(n * m).reshape(n, m) % 251 - 125
    assert (executed(kernels.transpose, dtype, {"m": m, "n": n}, {"x": x}) == x.T).all()
    x = random((m, n), "f32")
    both = executed(kernels.both_ways, "f32", {"m": m, "n": n}, {"x": x})
    assert (both[0] == 2 * x).all()
    assert (both[1] == 2 * x.T).all()


@pytest.mark.parametrize(("m", "n"), [(1, 1), (333, 77), (1000, 300)])
def test_reductions_over_rows_and_over_everything(m, n):
    x = random((m, n))
    sizes = {"m": m, "n": n, "one": 1}
    types = {"x": "bf16"}
    near(executed(kernels.column_sums, types, sizes, {"x": x}), x.sum(0), 1e-5)
    found = executed(kernels.total, types, sizes, {"x": x}, initial={"out": 3.0})
    near(found, [3 + (x * x).sum()], 1e-5)
    sums, least = executed(kernels.row_statistics, types, sizes, {"x": x})
    near(sums, x.sum(1), 1e-5)
    near(least, x.min(1), 1e-6)
    lse, most = executed(kernels.online_softmax, types, sizes, {"x": x})
    near(lse, np.log(np.exp(x).sum(1)), 1e-5)
    near(most, x.max(1), 1e-6)


@pytest.mark.parametrize("d", [2, 40, 72, 512])
def test_rotary_embedding_of_halves_and_of_pairs(d):
    x, angle = random((2, 7, 3, d)), np.random.default_rng(1).uniform(0, 6, (7, d))
    cos, sin = of_type(np.cos(angle), "bf16"), of_type(np.sin(angle), "bf16")
    sizes = {"b": 2, "s": 7, "h": 3, "d": d}
    low, high = x[..., : d // 2], x[..., d // 2 :]
    turned = np.concatenate([-high, low], -1)
    wanted = x * cos[None, :, None] + turned * sin[None, :, None]
    arrays = {"x": x, "cos": cos, "sin": sin}
    near(executed(kernels.rope_halves, "bf16", sizes, arrays), wanted)
    pairs = np.stack([-x[0, ..., 1::2], x[0, ..., ::2]], -1).reshape(7, 3, d)
    wanted = x[0] * cos[:, None] + pairs * sin[:, None]
    arrays["x"] = x[0]
    near(executed(kernels.rope_pairs, "bf16", sizes, arrays), wanted)


@pytest.mark.parametrize(("q", "most"), [("e4m3", 448.0), ("e5m2", 57344.0), ("i8", 127.0)])
@pytest.mark.parametrize("n", [41, 2000])
def test_quantisation_with_the_largest_of_each_row(q, most, n):
    x = random((6, n))
    types = {"x": "bf16", "q": q}
    found, s = executed(kernels.quantise, types, {"m": 6, "n": n}, {"x": x}, scalars={"most": most})
    top = np.abs(x).max(1) / most
    near(s, top, 1e-6)
    back = found * s[:, None]
    steps = 1.01 * top if q == "i8" else np.abs(x).max(1) * (0.07 if q == "e4m3" else 0.14)
    assert (np.abs(back - x) <= steps[:, None]).all()


@pytest.mark.parametrize("d", [9, 128])
def test_gather_and_scatter_of_rows(d):
    """Also by numbers outside, which read as 0 and are not written."""
    ids = np.array([3, 0, 50, -1, 3, 12, 49, 0, 3])
    table, dy = random((50, d)), random((9, d), seed=1)
    sizes = {"t": 9, "v": 50, "d": d}
    good = (ids >= 0) & (ids < 50)
    wanted = np.where(good[:, None], table[np.clip(ids, 0, 49)], 0)
    types = {"table": "bf16", "out": "bf16"}
    assert (executed(kernels.embedding, types, sizes, {"ids": ids, "table": table}) == wanted).all()
    grad = np.zeros((50, d))
    np.add.at(grad, ids[good], dy[good])
    found = executed(
        kernels.embedding_grad, {"dy": "bf16"}, sizes, {"ids": ids, "dy": dy}, initial={"dtable": 0}
    )
    near(found, grad, 1e-6)


@pytest.mark.parametrize("v", [65, 12001])
def test_cross_entropy_picks_an_element_of_each_row(v):
    x, target = random((5, v)), np.random.default_rng(3).integers(0, v, 5)
    types = {"x": "bf16", "grad": "f32"}
    loss, grad = executed(
        kernels.cross_entropy, types, {"m": 5, "v": v}, {"x": x, "target": target}
    )
    near(loss, np.log(np.exp(x).sum(1)) - x[np.arange(5), target], 1e-5)
    wanted = softmax(x)
    wanted[np.arange(5), target] -= 1
    near(grad, wanted, 1e-5)


def test_groups_of_rows_and_scales_of_blocks():
    x, w = random((100, 37)), random((4, 37), seed=1)
    starts = np.array([0, 13, 13, 77, 100])
    which = np.repeat(np.arange(4), np.diff(starts))
    arrays = {"x": x, "w": w, "starts": starts}
    types = dict.fromkeys(("x", "w", "out"), "bf16")
    out = executed(kernels.group_scale, types, {"t": 100, "d": 37, "e": 4}, arrays)
    near(out, x * w[which] + which[:, None])
    s = random((100, 2), "f32", 5)
    types = dict.fromkeys(("x", "out"), "bf16")
    out = executed(kernels.block_scaled, types, {"m": 100, "n": 37}, {"x": x, "s": s})
    near(out, x * np.repeat(s, 32, 1)[:, :37])


@pytest.mark.parametrize("extent", [{"m": 3, "n": 24}, {"m": 40, "n": 100}])
def test_pinned_extents_cut_tiles_where_the_author_says(extent):
    x = random((70, 133))
    sizes = {"m": 70, "n": 133, "one": 1}
    found = executed(kernels.total, {"x": "bf16"}, sizes, {"x": x}, pins=extent, initial={"out": 0})
    near(found, [(x * x).sum()], 1e-5)
    assert (executed(kernels.transpose, "bf16", sizes, {"x": x.T}, pins=extent) == x).all()


def test_rows_move_16_bytes_at_once():
    """One access of 16 bytes for eight elements of bf16, for loads and stores alike."""
    for text, loads in ((kernels.softmax, 1), (kernels.layer_norm, 3), (kernels.add, 2)):
        sizes = {"m": 64, "n": 1024, "b": 1, "h": 1}
        axes = {a.name for t in text.signature.tensors for a in t.axes}
        types = text.spell("bf16")
        _, source, _ = emitted(text, types, {a: n for a, n in sizes.items() if a in axes})
        assert source.text.count(WIDE) == loads
        assert source.text.count("store_bytes<16>(") == 1


@pytest.mark.parametrize(("b", "m", "n"), [(1, 1, 1), (70, 5, 333), (9, 2, 64)])
def test_loops_inside_loops(b, m, n):
    x, w = random((b, m, n), "f32"), random(m, "f32", 1)
    sizes = {"b": b, "m": m, "n": n}
    found = executed(kernels.nested, {"x": "f32"}, sizes, {"x": x, "w": w})
    wanted = np.zeros(b)
    for i in range(m):
        wanted = wanted * 0.5 + x[:, i].sum(1) * w[i]
    near(found, wanted, 1e-5)
    assert np.allclose(kernels.nested.reference(x, w), wanted)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (13, 300)])
def test_taps_of_a_convolution_are_a_loop_inside_a_loop(m, n):
    x, taps = random((m, n)), random(3, "f32", 1)
    types = {"x": "bf16", "out": "f32"}
    found = executed(kernels.windows, types, {"m": m, "n": n, "k": 3}, {"x": x, "taps": taps})
    wide = np.pad(x, ((0, 0), (1, 1)))
    near(found, sum(wide[:, i : i + n] * taps[i] for i in range(3)), 1e-5)


def test_a_histogram_adds_whole_numbers_and_drops_those_outside():
    x = np.random.default_rng(0).integers(-2, 12, 3001)
    found = executed(
        kernels.histogram, {}, {"n": 3001, "bins": 10}, {"x": x}, initial={"counts": 0}
    )
    assert (found == np.bincount(x[(x >= 0) & (x < 10)], minlength=10)).all()
    assert (kernels.histogram.reference(x, sizes={"bins": 10}) == found).all()


def test_exponentials_in_an_inner_loop():
    x = random((70, 3, 333), "f32")
    sizes, scalars = {"b": 70, "m": 3, "n": 333}, {"scale": 0.5}
    types = {"x": "f32"}
    found = executed(kernels.nested_exponentials, types, sizes, {"x": x}, scalars=scalars)
    near(found, np.log(np.exp(0.5 * x).sum(2)).sum(1), 1e-5)


@pytest.mark.parametrize("n", [1, 37, 160])
def test_masks_lie_in_memory_as_bytes(n):
    x, mask = random((19, n)), np.random.default_rng(1).integers(0, 2, (19, n))
    types = {"x": "bf16", "out": "bf16"}
    arrays = {"x": x, "mask": mask * 3}  # any byte that is not 0
    out, positive = executed(kernels.masked, types, {"m": 19, "n": n}, arrays)
    assert (out == np.where(mask, x, -1)).all()
    assert (positive == ((mask == 1) & (x > 0))).all()
    assert (kernels.masked.reference(x, mask > 0)[1] == positive).all()


def test_accesses_across_the_tile_are_16_bytes_wide():
    """Counted on the machine code, whose bytes are the least there are."""
    sizes = {"m": 72, "n": 64}
    report = kernels.transpose.compile("bf16", sizes=sizes).check(sizes)
    assert report.clean
    assert set(report.figures["access_widths"]) == {"ld 16", "st 16"}
    moved = report.figures["bytes"]
    assert moved["global_read"] == moved["global_written"] == 72 * 64 * 2
