"""A reduction of a tile's part of an axis is combined in memory, or refused at its line."""

import numpy as np
import pytest

import warploom as wl


@wl.kernel
def softmax_of_tiles(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    v = x[m, n].to(wl.f32)
    p = wl.exp(v - v.max(axis=1))
    out[m, n] = p / p.sum(axis=1)


@wl.kernel
def maxima_added(x: wl.In["m", "n"], out: wl.Out["m", wl.f32]):
    m, n = wl.tile("m", "n")
    out[m] += x[m, n].max(axis=1)


@wl.kernel
def spread_again(x: wl.In["m", "n"], out: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile("m", "n")
    out[m, n] += x[m, n].to(wl.f32) * x[m, n].sum(axis=1)


@wl.kernel
def through_a_loop(x: wl.In["m", "n"], w: wl.In["k", "n"], out: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile("m", "n")
    total = wl.zeros(m)
    for k in wl.steps(w.k):
        total += (x[m, n].to(wl.f32) * w[k, n].sum(axis=0)).sum(axis=1)
    out[m, n] = x[m, n] + total


@wl.kernel
def product_over_a_tile(x: wl.In["m", "n"], w: wl.In["d", "n"], out: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile("m", "n")
    acc = wl.zeros(m)
    for d in wl.steps(w.d, 64):
        acc += (x[m, n] @ w[d, n].T).sum(axis=1)
    out[m, n] = x[m, n] + acc


@pytest.mark.parametrize(
    ("kernel", "line"),
    [
        (softmax_of_tiles, "v.max(axis=1)"),
        (maxima_added, ".max(axis=1)"),
        (spread_again, ".sum(axis=1)"),
        (through_a_loop, "total +="),
        (product_over_a_tile, "x[m, n] @ w[d, n].T"),
    ],
)
def test_what_would_depend_on_the_tile_is_refused_at_its_line(kernel, line):
    with pytest.raises(wl.KernelError, match="of which a tile has a part only") as found:
        kernel.compile("bf16")
    assert line in str(found.value)
    assert "test_tile_reductions.py" in str(found.value)
    assert "whole=" in found.value.fix


@wl.kernel
def summed(x: wl.In["m", "n"], out: wl.Out["m", wl.f32], top: wl.Out["m", wl.f32]):
    m, n = wl.tile("m", "n")
    out[m] += x[m, n].to(wl.f32).sum(axis=1)
    wl.atomic_max(top[m], x[m, n].to(wl.f32).max(axis=1))


@wl.kernel
def scaled(x: wl.In["m", "n"], out: wl.Out["m", "n"], top: wl.Out["m", "n/64", wl.f32]):
    m, n = wl.tile(out, cols=64)
    v = x[m, n].to(wl.f32)
    most = wl.abs(v).max(axis=1)
    top[m, n] = most
    out[m, n] = v / most


def test_parts_may_be_combined_in_memory_and_blocks_have_a_size():
    x = np.random.default_rng(0).normal(size=(37, 300)).astype(np.float32)
    begun = {"out": np.zeros(37), "top": np.full(37, -np.inf)}
    out, top = summed.interpret(x, types={"x": "f32"}, initial=begun)
    assert np.allclose(out, x.sum(1), atol=1e-3)
    assert (top == x.max(1)).all()
    out, top = scaled.interpret(x, types={"x": "f32", "out": "f32"})
    blocks = np.abs(np.pad(x, ((0, 0), (0, 20))).reshape(37, 5, 64)).max(2)
    assert (top == blocks).all()
    assert np.allclose(out, x / blocks.repeat(64, 1)[:, :300], atol=1e-6)
