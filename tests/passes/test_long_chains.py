"""Long epilogues and loops: the work grows with the ops, not with the paths between them."""

from __future__ import annotations

import sys
from itertools import pairwise
from types import SimpleNamespace

import pytest

from tests.frontend.sources import run_source
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.loop_view import LoopView
from warploom.codegen.cuda.tile.vector import Vector
from warploom.codegen.cuda.tile.work import INSTANCE, Work
from warploom.frontend.simplify import simplify
from warploom.ir import operations as ops
from warploom.ir.expr import const
from warploom.ir.module import RegisterArray
from warploom.ir.tile import Store
from warploom.passes.body import body_of
from warploom.passes.fuse import fuse
from warploom.passes.kernel_config import config_of
from warploom.passes.layout import lay_out
from warploom.passes.module_numbers import Numbers
from warploom.passes.module_vector import VectorWork
from warploom.passes.rewrites import rewrite
from warploom.passes.smem_reads import values_behind

TEXT = """
import warploom as wl

@wl.kernel
def long(x: wl.In["m", "k"], w: wl.In["n", "k"], out: wl.Out["m", "n"], *, s: float):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
{loop}
{tail}
"""
KINDS = {
    "tail": ("        acc += x[m, k] @ w[n, k].T", "    y = acc\n", "    out[m, n] = y"),
    "loop": ("        y = x[m, k].to(wl.f32)\n", "        acc += y.to(x.dtype) @ w[n, k].T", ""),
    "index": (
        "        acc += x[m, k] @ w[n, k].T",
        "    y = wl.index(n)\n",
        "    out[m, n] = acc + y",
    ),
    "scalar": ("        acc += x[m, k] @ w[n, k].T", "    y = s\n", "    out[m, n] = acc + y"),
}
OPS = {
    "tail": ["y = y * y", "y = wl.maximum(y, y + 1.0)", "y = y + y * s"],
    "loop": ["y = y * y", "y = wl.maximum(y, y + 1.0)", "y = y + y * s"],
    "scalar": ["y = y * y", "y = wl.maximum(y, y + 1.0)", "y = y + y * s"],
    "index": ["y = y + y", "y = y * 2 - y", "y = y + 1"],
}


def kernel(kind, count):
    ops = [OPS[kind][i % 3] for i in range(count)]
    if kind == "loop":
        first, last, _ = KINDS[kind]
        loop = first + "".join(f"        {op}\n" for op in ops) + last
        tail = "    out[m, n] = acc"
    else:
        loop, first, last = KINDS[kind]
        tail = first + "".join(f"    {op}\n" for op in ops) + last
    made = run_source(TEXT.format(loop=loop, tail=tail))["long"]
    return rewrite(simplify(made.specialise(dict.fromkeys(("x", "w", "out"), "bf16"))))


def visits(kind, count):
    """Calls of the lowering's and the emitter's own functions."""
    body = body_of(kernel(kind, count))
    config = config_of(body.kernel, m=64, n=64, k=64, consumer_warpgroups=1)
    found = 0

    def count_call(frame, event, _):
        nonlocal found
        name = frame.f_code.co_filename
        found += event == "call" and ("warploom/passes" in name or "warploom/codegen" in name)

    sys.setprofile(count_call)
    try:
        layout = lay_out(body, config, fuse(body))
        (store,) = (op for op in body.tail if isinstance(op, Store))
        values_behind(layout, store.value)
        printed(layout, store)
    finally:
        sys.setprofile(None)
    return found


def printed(layout, store):
    """The CUDA of what a store computes, by way of the module's operations."""
    vectors = VectorWork(Numbers(SimpleNamespace(layout=layout)), INSTANCE)
    where, body = vectors.store(store, None)
    arrays = {
        a.name: RegisterArray(
            name=a.name, blocks=a.blocks, cols=a.cols, registers=a.registers, form=a.form.value
        )
        for a in layout.arrays
    }
    tiles = SimpleNamespace(functions=(), bounds=())
    roles = (SimpleNamespace(earlier=(), tiles=tiles),)
    scalars = layout.body.kernel.parameters
    module = SimpleNamespace(name="", roles=roles, earlier=(), scalars=scalars)
    context = Context(LoopView(module, 0))
    op = ops.Vector(op=store.tensor, iteration=const(0), layout=where, body=body)
    work = Work(context.module, arrays, op)
    return Vector(context, work).value(work.store.value)


@pytest.mark.parametrize("kind", KINDS)
def test_visits_grow_with_the_ops(kind):
    """Doubling the ops doubles the visits; chains of 400 ops need no deep recursion."""
    counts = [visits(kind, n) for n in (50, 100, 200, 400)]
    for few, many in pairwise(counts):
        assert many < 2.2 * few, counts


ROWS = """
import warploom as wl

@wl.kernel
def rows(q: wl.In["s", "d"], k: wl.In["t", "d"], v: wl.In["t", "d"], out: wl.Out["s", "d"]):
    s = wl.tile(out, whole="d")
    qs, o = q[s], wl.zeros(s, q.d)
    for t in wl.steps(k.t):
        x = qs @ k[t].T
{ops}
        o += x.to(v.dtype) @ v[t]
    out[s] = o
"""


def test_what_is_stored_is_found_once_for_a_loop_of_many_steps(monkeypatch):
    from warploom.passes import fuse as module

    runs, real = [], module._stored_inline
    monkeypatch.setattr(module, "_stored_inline", lambda *a: runs.append(a) or real(*a))
    ops = "\n".join("        x = x - x.max(axis=1)" for _ in range(20))
    made = run_source(ROWS.format(ops=ops))["rows"].compile("bf16", sizes={"d": 64})
    body = body_of(made.rewritten)
    layout = lay_out(
        body, config_of(made.rewritten, consumer_warpgroups=2, s=128, t=64), fuse(body)
    )
    assert len(layout.steps) > 20
    assert len(runs) == 3  # head, loop, tail
