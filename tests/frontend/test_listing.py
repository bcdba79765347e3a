"""A kernel in words: the listing, the edges of its loop, and annotations."""

from pathlib import Path

import warploom as wl
from tests.frontend.sources import run_source
from tests.frontend.test_read import bf16
from warploom.ir.tile import Loop, Store, operands, results, walk
from warploom.ir.tile_listing import listing, show
from warploom.kernels.swiglu import swiglu

LISTING = """\
kernel small
  in     x[m, k] f16
  in     w[n, k/32] f32
  out    out[m] f32
  scalar alpha f32
  vars   m tile, k step 32
  grid   tiles of out: m
  # 3: s = wl.zeros(m)
  v0: f32 = 0.0
  s: f32[m] = broadcast(v0)
  # 4: for k in wl.steps(x.k, 32):
  for k:
    s_in: f32[m] = s first, then s_1
    # 5: s += (x[m, k] * w[0, k] * alpha).sum(axis=1)
    v2: f16[m, k] = x[m, k]
    v3: i32 = 0
    v4: f32 = w[v3, k]
    v5: f32[m, k] = v2 to f32
    v6: f32[m, k] = v5 * v4
    v7: f32 = scalar alpha
    v8: f32[m, k] = v6 * v7
    v9: f32[m] = sum(v8, over k)
    s_1: f32[m] = s_in + v9
  s_out: f32[m] = s_1 of the last step, or s
  # 6: out[m] = wl.where(s > 0, s, -wl.inf)
  v11: bool[m] = s_out > v0
  v12: f32 = -inf
  v13: f32[m] = where(v11, s_out, v12)
  out[m] = v13"""


def test_the_listing():
    text = (
        '@wl.kernel\ndef small(x: wl.In["m", "k"], w: wl.In["n", "k/32"], out: wl.Out["m"], *, '
        "alpha: float):\n"
        "    m = wl.tile(out); s = wl.zeros(m)\n"
        "    for k in wl.steps(x.k, 32):\n"
        "        s += (x[m, k] * w[0, k] * alpha).sum(axis=1)\n"
        "    out[m] = wl.where(s > 0, s, -wl.inf)\n"
    )
    kernel = run_source(text, wl=wl)["small"].specialise({"x": "f16", "w": "f32", "out": "f32"})
    wanted = LISTING.replace("# 3: s =", "# 3: m = wl.tile(out); s =")
    assert str(kernel) == listing(kernel) == wanted
    assert all(show(op) for op in walk(kernel.ops))


def edges(kernel):
    """Definition to use, by the names of values; stores are ``store TENSOR``."""
    found = []
    for op in walk(kernel.ops):
        names = [v.name for v in results(op)]
        if isinstance(op, Store):
            names = [f"store {op.tensor}"]
        if isinstance(op, Loop):
            for c in op.carried:
                found += [
                    (c.first, c.inside.name),
                    (c.last, c.inside.name),
                    (c.last, c.result.name),
                ]
            continue
        found += [(o, name) for name in names for o in operands(op)]
    return tuple(dict.fromkeys(found))


def test_the_edges():
    kernel = swiglu.specialise(bf16("x", "gate", "up", "out"))
    found = set(edges(kernel))
    assert ("g_in", "g_1") in found
    assert ("g_1", "g_in") in found
    assert ("g_1", "g_out") in found
    assert any(b == "store out" for _, b in found)


def test_annotations_as_strings():
    text = (
        "from __future__ import annotations\n"
        "@wl.kernel\n"
        'def kernel(x: wl.In["m"], out: wl.Out["m"]):\n'
        "    m = wl.tile(out)\n"
        "    out[m] = x[m]\n"
    )
    assert run_source(text, wl=wl)["kernel"].specialise({"x": "f32", "out": "f32"}).tensors


def test_axes_whose_quotes_a_formatter_took_away():
    text = (
        "from __future__ import annotations\n"
        "@wl.kernel\n"
        "def kernel(x: wl.In[m, k], s: wl.In[m, k / 128, wl.f32], out: wl.Out[m]):\n"
        "    m = wl.tile(out)\n"
        "    total = wl.zeros(m)\n"
        "    for k in wl.steps(x.k, 128):\n"
        "        total += wl.sum(x[m, k] * s[m, k], over=k)\n"
        "    out[m] = total\n"
    )
    made = run_source(text, wl=wl)["kernel"]
    shapes = [[(a.name, a.per) for a in t.axes] for t in made.signature.tensors]
    assert shapes == [[("m", 1), ("k", 1)], [("m", 1), ("k", 128)], [("m", 1)]]


def test_the_page_shows_what_is_printed(capsys):
    import re

    page = Path(__file__).parents[2] / "docs/howto/write_a_kernel.md"
    text, space = page.read_text(), {}
    for block in re.finditer(r"```python\n(.*?)```", text, re.S):
        above = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(above + block.group(1), str(page), "exec"), space)
    printed = capsys.readouterr().out
    for block in re.findall(r"```text\n(.*?)```", text, re.S):
        for line in block.splitlines():
            shown = line.replace("write_a", f"{page.parent}/write_a")
            assert line.strip() == "..." or shown in printed.splitlines(), line
