"""Tiles of the tail that lie in a batch: the batch's axis needs no condition of its own."""

import pytest

import warploom as wl
from tests.host_cuda import NEEDS_COMPILER
from tests.kernels.written import close, drawn, executed

pytestmark = NEEDS_COMPILER


@wl.kernel
def beside(
    x: wl.In["b", "m", "k"],
    w: wl.In["n", "k"],
    near: wl.In["b", "m", "n"],
    out: wl.Out["b", "m", "n"],
    copy: wl.Out["b", "m", "n", wl.f32],
):
    b, m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[b, m, k] @ w[n, k].T
    out[b, m, n] = acc
    copy[b, m, n] = near[b, m, n]


@pytest.mark.parametrize("sizes", [(1, 1, 1, 8), (3, 65, 130, 72)])
def test_a_tile_of_a_batch_is_read_after_the_loop(sizes):
    b, m, n, k = sizes
    arrays = {"x": drawn(b, m, k, seed=1), "w": drawn(n, k, seed=2), "near": drawn(b, m, n, seed=3)}
    types = dict.fromkeys(("x", "w", "near", "out"), "bf16")
    outs, _ = executed(beside, types, dict(zip("bmnk", sizes, strict=True)), arrays)
    close(outs[0], arrays["x"] @ arrays["w"].T)
    close(outs[1], arrays["near"])
