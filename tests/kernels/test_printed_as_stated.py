"""Kernels whose source once said something else than their module, executed on the host."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import warploom as wl
from tests.host_cuda import NEEDS_COMPILER, run_case
from warploom.compiler.emit_cuda import emit_kernel
from warploom.frontend.pointwise import rounded
from warploom.frontend.simplify import simplify
from warploom.interp.dataflow import verify_dataflow
from warploom.ir.tile import Access
from warploom.passes.driver import lower
from warploom.passes.heuristics import choose
from warploom.passes.rewrites import rewrite
from warploom.verify.roles import verify_roles

BF16 = {"x": "bf16", "w": "bf16"}


@wl.kernel
def lower_part(x: wl.In[m, k], w: wl.In[n, k], out: wl.Out[m, n, wl.f32]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        a = wl.where(wl.index(k) <= wl.index(m), x[m, k].to(wl.f32), 0.0)
        acc += a.to(wl.bf16) @ w[n, k].T
    out[m, n] = acc


@NEEDS_COMPILER
def test_tiles_that_walk_backwards_hide_their_first_iterations():
    """Of a loop whose last iterations hide elements: every other tile begins with those."""
    sizes = {"m": 700, "n": 300, "k": 700}
    kernel = rewrite(simplify(lower_part.specialise(lower_part.spell(BF16), sizes={})))
    pins = {"m": 128, "n": 64, "k": 64, "serpentine": True}
    config = choose(kernel, sizes, pins=pins)[0].config
    rng = np.random.default_rng(0)
    arrays = {"x": rng.normal(size=(700, 700)), "w": rng.normal(size=(300, 700))}
    given = [rounded(arrays[t.name], t.dtype) for t in kernel.tensors if t.access is not Access.OUT]
    case = SimpleNamespace(sizes=sizes, scalars={}, arrays=lambda: given)
    (found,), fault = run_case(case, kernel, emit_kernel(lower(kernel, config)), config, grid=1)
    assert fault is None
    np.testing.assert_allclose(found, np.tril(given[0]) @ given[1].T, atol=1e-3)


@wl.kernel
def tile(x: wl.In[m, k], w: wl.In[n, k], y: wl.In[m, j], out: wl.Out[m, n]):
    m, n = wl.tile(out)
    tile = y[m, :].to(wl.f32).max(axis=1)
    top, sums = wl.zeros(m), wl.zeros(m)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        part = x[m, k].to(wl.f32)
        acc += x[m, k] @ w[n, k].T
        top = wl.maximum(top, part.max(axis=1)) * 0.5 + tile
        sums += part.sum(axis=1)
    out[m, n] = acc * top + sums


@wl.kernel
def apart(x: wl.In[m, k], w: wl.In[n, k], y: wl.In[m, j], out: wl.Out[m, n]):
    m, n = wl.tile(out)
    first = y[m, :].to(wl.f32).max(axis=1)
    top, total = wl.zeros(m), wl.zeros(m)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        part = x[m, k].to(wl.f32)
        acc += x[m, k] @ w[n, k].T
        top = wl.maximum(top, part.max(axis=1)) * 0.5 + first
        total += part.sum(axis=1)
    sums = wl.exp(total) + total
    out[m, n] = acc * top + sums


@pytest.mark.parametrize("text", [tile, apart])
def test_values_are_called_like_the_work_of_every_tile(text):
    """A head's value ``tile``, a tail's value ``sums``: ops of those names begin and end tiles."""
    made = text.compile(BF16 | {"y": "bf16", "out": "bf16"}, sizes={"j": 64})
    config = made.choices[0].config
    document = made.lower(config).document
    assert len({(x.name, x.args) for x in document.flow.ops}) == len(document.flow.ops)
    assert verify_roles(document).clean
    assert verify_dataflow(made.module_of(config), classes=2).verdict == "clean"
