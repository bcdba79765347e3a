# ruff: noqa: E501 (headers of kernels, as they are read)
"""Random kernels as authors write them, over the parts of the language that ``random_kernels`` leaves
out: lists of steps, lengths, groups, parts, shifted and constant indices, whole numbers, stores at
computed places, kernels without a loop and with several.

A kernel is drawn from its seed alone, with plain ``random``: a range of seeds can be run anywhere.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import warploom as wl
from tests.frontend.sources import run_source
from warploom.frontend.pointwise import rounded
from warploom.ir.tile import DType

SIZES = (1, 1, 2, 7, 8, 15, 33, 63, 64, 65, 100, 127, 128, 129, 150, 200)


@dataclass
class Written:
    """A kernel, the types and sizes it is called with, and its inputs by name."""

    form: str
    text: str
    types: dict[str, str]
    sizes: dict[str, int]
    arrays: dict[str, Any]
    scalars: dict[str, float] = field(default_factory=dict)
    exact: bool = False  # whole numbers only: no tolerance

    def kernel(self) -> Any:
        return run_source(self.text, wl=wl)["kernel"]

    def reference(self, kernel: Any) -> tuple[Any, ...]:
        known = {a.name for t in kernel.signature.inputs for a in t.axes}
        more = {a: n for a, n in self.sizes.items() if a not in known}
        made = kernel.reference(**self.arrays, types=self.types, sizes=more, **self.scalars)
        return made if isinstance(made, tuple) else (made,)


class Draw(random.Random):
    """Sizes, arrays and expressions."""

    def __init__(self, seed: int) -> None:
        super().__init__(f"texts {seed}")
        self.numbers = np.random.default_rng([seed, 77])
        self.kind = self.choice(("bf16", "f16"))

    def size(self, most: int = 200) -> int:
        return self.choice([n for n in SIZES if n <= most])

    def array(self, *shape: int, kind: str | None = None) -> Any:
        kind = kind or self.kind
        if kind == "i32":
            return self.whole(*shape)
        return rounded(self.numbers.normal(scale=0.5, size=shape), DType(kind))

    def whole(self, *shape: int, wide: bool = True) -> Any:
        """Whole numbers; ``wide``: some so large that sums and products wrap."""
        found = self.numbers.integers(-9, 10, shape)
        if wide:
            large = self.numbers.integers(-(2**31), 2**31, shape)
            found = np.where(self.numbers.random(shape) < 0.3, large, found)
        return found.astype(np.int32)

    def starts(self, groups: int, total: int) -> Any:
        cuts = sorted(self.randint(0, total) for _ in range(groups - 1))
        return np.array([0, *cuts, total], np.int32)

    def unary(self, x: str) -> str:
        made = self.choice(
            ("wl.tanh({})", "wl.sigmoid({})", "(-{})", "wl.relu({})", "wl.abs({})", "({} * alpha)",
             "wl.exp(-wl.abs({}))", "wl.sqrt(wl.abs({}) + 0.5)", "wl.minimum({}, 0.25)")
        )  # fmt: skip
        return made.format(x)

    def mixed(self, leaves: list[str], depth: int = 2) -> str:
        """An expression of some floats."""
        if depth == 0 or self.random() < 0.2:
            return self.choice(leaves)
        one = self.mixed(leaves, depth - 1)
        if self.random() < 0.4:
            return self.unary(one)
        other = self.mixed(leaves, depth - 1)
        made = self.choice(
            ("({} + {})", "({} - {})", "({} * {})", "wl.maximum({}, {})",
             "wl.where(wl.index(m) % 3 != 1, {}, {})")
        )  # fmt: skip
        return made.format(one, other)

    def integers(self, leaves: list[str], depth: int = 2) -> str:
        """An expression of some whole numbers."""
        if depth == 0 or self.random() < 0.2:
            return self.choice(leaves)
        one, other = self.integers(leaves, depth - 1), self.integers(leaves, depth - 1)
        made = self.choice(
            ("({} + {})", "({} - {})", "({} * {})", "wl.maximum({}, {})", "wl.minimum({}, {})",
             "({} ^ {})", "({} & {})", "({} // 7 + {} % 5)", "(({} >> 3) + ({} << 2))",
             "wl.where(wl.index(m) % 3 != 1, {}, {})", "wl.mulhi({}, {})")
        )  # fmt: skip
        return made.format(one, other)


def source(head: str, *body: str) -> str:
    return f"@wl.kernel\ndef kernel({head}):\n" + "".join(f"    {line}\n" for line in body)


def row_kernel(d: Draw) -> Written:
    """Rows of any length without a loop, with vectors along them and units in front."""
    m, n, b = d.size(70), d.size(), d.randint(1, 3)
    at = d.choice(("b", "b", "b - 1", "b + 1", "0", "1", "5"))
    total = d.choice(
        ("v.sum(axis=1) / x.n", "v.max(axis=1)", "v.min(axis=1)", "(v * v).sum(axis=1)")
    )
    leaves = [
        "v",
        "v",
        "w[:].to(wl.f32)",
        "s",
        "side[b, m]",
        "alpha",
        f"gain[{at}]",
        f"w2[{at}, :]",
    ]
    text = source(
        'x: wl.In["b", "m", "n"], w: wl.In["n"], w2: wl.In["b", "n", wl.f32], gain: wl.In["b", wl.f32],'
        ' side: wl.In["b", "m", wl.f32], out: wl.Out["b", "m", "n"], top: wl.Out["b", "m", wl.f32],'
        " *, alpha: float",
        'b, m = wl.tile(out, whole="n")',
        f"v = x[{at}, m].to(wl.f32)",
        f"s = {total}",
        f"out[b, m] = v * 0.5 + {d.mixed(leaves, 3)}",
        f"top[{d.choice(('b', 'b', 'b - 1', 'b + 1'))}, m] = s + gain[{at}]",
    )
    arrays = {"x": d.array(b, m, n), "w": d.array(n), "w2": d.array(b, n, kind="f32")}
    arrays |= {"gain": d.array(b, kind="f32"), "side": d.array(b, m, kind="f32")}
    types = {"x": d.kind, "w": d.kind, "out": d.choice((d.kind, "f32"))}
    return Written("row_kernel", text, types, {"b": b, "m": m, "n": n}, arrays, {"alpha": 0.5})


def tile_kernel(d: Draw) -> Written:
    """Tiles without a loop: neighbours, transposes, gathered rows, several outputs."""
    m, n, r = d.size(), d.size(), d.size(70)
    leaves = ["x[m, n].to(wl.f32)", "t[n, m].T.to(wl.f32)", "bias[n]", "side[m]", "alpha"]
    leaves += ["x[wl.index(m) - 1, n].to(wl.f32)", "x[m, wl.index(n) + 2].to(wl.f32)"]
    leaves += ["x[rows[m], n].to(wl.f32)", "bias[wl.index(n) - 1]", "side[wl.index(m) + 1]"]
    leaves += ["wl.index(n) * 0.01", "(wl.index(m) % 5) * 0.25", "side[3]", "bias[0]"]
    store = d.choice(("out[m, n, 0]", "out[m, n, 1]", "out[m, n, 2]"))
    text = source(
        'x: wl.In["m", "n"], t: wl.In["n", "m"], rows: wl.In["m", wl.i32], bias: wl.In["n", wl.f32],'
        ' side: wl.In["m", wl.f32], out: wl.Out["m", "n", "u"], far: wl.Out["r", "n"],'
        " *, alpha: float",
        'm, n = wl.tile("m", "n")',
        f"y = {d.mixed(leaves, 3)} + x[m, n].to(wl.f32)",
        f"{store} = y",
        f"far[{d.choice(('rows[m]', 'wl.index(m) * 2 - 1', 'wl.index(m) + 3'))}, n] = {d.mixed(['y'], 1)}",
    )
    rows = d.numbers.permutation(max(m, r) + 4)[:m] - 2
    arrays = {"x": d.array(m, n), "t": d.array(n, m), "rows": rows.astype(np.int32)}
    arrays |= {"bias": d.array(n, kind="f32"), "side": d.array(m, kind="f32")}
    types = {"x": d.kind, "t": d.kind, "out": d.choice((d.kind, "f32")), "far": d.kind}
    return Written(
        "tile_kernel", text, types, {"m": m, "n": n, "u": 2, "r": r}, arrays, {"alpha": 0.5}
    )


def integers(d: Draw) -> Written:
    """Whole numbers that wrap, reduced and stored, without a loop."""
    m, n = d.size(100), d.size()
    leaves = ["x[m]", "x[m]", "w[:]", "side[m]", "wl.index(m)", "3", "top"]
    body = [
        'm = wl.tile(out, whole="n")',
        f"top = x[m].{d.choice(('sum', 'max', 'min', 'argmax', 'argmin'))}(axis=1)",
        f"y = x[m] + {d.integers(leaves, 3)}",
        "out[m] = y",
        f"sums[m] = y.{d.choice(('sum', 'max', 'min', 'argmax', 'argmin'))}(axis=1) + top",
    ]
    text = source(
        'x: wl.In["m", "n", wl.i32], w: wl.In["n", wl.i32], side: wl.In["m", wl.i32],'
        ' out: wl.Out["m", "n", wl.i32], sums: wl.Out["m", wl.i32]',
        *body,
    )
    arrays = {"x": d.whole(m, n), "w": d.whole(n), "side": d.whole(m)}
    return Written("integers", text, {}, {"m": m, "n": n}, arrays, exact=True)


def integer_steps(d: Draw) -> Written:
    """Whole numbers carried through loops, nested or one after the other."""
    m, k, c = d.size(100), d.size(), d.size(70)
    body = ["m = wl.tile(out)", "a = wl.zeros(m, dtype=wl.i32)", "t = wl.full(m, 7, dtype=wl.i32)"]
    body += [
        "for k in wl.steps(x.k):",
        f"    v = {d.integers(['x[m, k]', 'x[m, k]', 'w[k]', 'side[m]'], 2)}",
    ]
    body += ["    a = a + v.sum(axis=1)"]
    one, other = d.choice((("maximum", "max"), ("minimum", "min")))
    body += [f"    t = wl.{one}(t, x[m, k].{other}(axis=1))"]
    if d.random() < 0.6:
        body += ["for c in wl.steps(y.c):", "    a = a + y[m, c].sum(axis=1)"]
    body += ["out[m] = a", "top[m] = t - a"]
    text = source(
        'x: wl.In["m", "k", wl.i32], y: wl.In["m", "c", wl.i32], w: wl.In["k", wl.i32],'
        ' side: wl.In["m", wl.i32], out: wl.Out["m", wl.i32], top: wl.Out["m", wl.i32]',
        *body,
    )
    arrays = {"x": d.whole(m, k), "y": d.whole(m, c), "w": d.whole(k), "side": d.whole(m)}
    return Written("integer_steps", text, {}, {"m": m, "k": k, "c": c}, arrays, exact=True)


def listed(d: Draw) -> Written:
    """Steps that lists name; rows that are no multiple of a tile; empty lists."""
    m, n, k, b = d.size(), d.size(), d.choice((64, 100, 128, 250, 256, 300)), d.randint(1, 2)
    blocks, tiles = -(-k // 64), -(-m // 128)
    c = d.randint(1, blocks)
    cols = np.stack([d.numbers.permutation(blocks)[:c] for _ in range(b * tiles)]).astype(np.int32)
    counts = d.numbers.integers(0, c + 1, b * tiles).astype(np.int32)
    cols, counts = cols.reshape(b, tiles, c), counts.reshape(b, tiles)
    text = source(
        'x: wl.In["b", "m", "k"], w: wl.In["n", "k"], cols: wl.In["b", "m/128", "c", wl.i32],'
        ' counts: wl.In["b", "m/128", wl.i32], bias: wl.In["n", wl.f32], out: wl.Out["b", "m", "n"],'
        " *, alpha: float",
        "b, m, n = wl.tile(out, rows=128)",
        "acc = wl.zeros(m, n)",
        "for k in wl.steps(x.k, 64, some=(cols, counts)):",
        f"    acc += {d.choice(('x[b, m, k] @ w[n, k].T', '(x[b, m, k] @ w[n, k].T) * alpha'))}",
        f"out[b, m, n] = acc * 0.25 + {d.mixed(['bias[n]', 'acc', 'alpha'], 1)}",
    )
    arrays = {"x": d.array(b, m, k), "w": d.array(n, k), "cols": cols, "counts": counts}
    arrays |= {"bias": d.array(n, kind="f32")}
    types = {"x": d.kind, "w": d.kind, "out": d.choice((d.kind, "f32"))}
    return Written(
        "listed", text, types, {"b": b, "m": m, "n": n, "k": k, "c": c}, arrays, {"alpha": 0.5}
    )


def bounded(d: Draw) -> Written:
    """Loops from and to numbers in memory, outside of the axis too; NaN beyond them."""
    m, k, b = d.size(130), d.size(), d.randint(1, 3)
    ends = np.array([d.choice((0, 1, k // 2, k, k + 5)) for _ in range(b)], np.int32)
    begins = np.array([d.choice((0, 0, 1, k // 3, k)) for _ in range(b)], np.int32)
    start, products = d.random() < 0.4, d.random() < 0.7
    bounds = f"{'start=begins[b], ' if start else ''}until=ends[b]"
    if products:
        body = ['b, m = wl.tile(out, whole="d")', "acc = wl.zeros(m, y.d)"]
        body += [
            f"for k in wl.steps(x.k, {bounds}):",
            f"    p = {d.unary('(q[b, m] @ x[b, k].T)')}",
        ]
        body += ["    acc += p.to(x.dtype) @ y[b, k]", "out[b, m] = acc * 0.1"]
    else:
        body = [
            'b, m = wl.tile(out, whole="d")',
            "l = wl.zeros(m)",
            f"for k in wl.steps(x.k, {bounds}):",
        ]
        body += ["    l += t[b, m, k].to(wl.f32).sum(axis=1)", "out[b, m, 0] = l"]
    text = source(
        'q: wl.In["b", "m", "d"], x: wl.In["b", "k", "d"], y: wl.In["b", "k", "d"],'
        ' t: wl.In["b", "m", "k"], ends: wl.In["b", wl.i32], begins: wl.In["b", wl.i32],'
        ' out: wl.Out["b", "m", "d"], *, alpha: float',
        *body,
    )
    width = 64 if products else 1
    x, y, t = d.array(b, k, width), d.array(b, k, width), d.array(b, m, k)
    for i in range(b):
        for outside in (slice(max(0, ends[i]), None), slice(0, begins[i] if start else 0)):
            x[i, outside] = y[i, outside] = np.nan
            t[i, :, outside] = np.nan
    arrays = {"q": d.array(b, m, width), "x": x, "y": y, "t": t, "ends": ends, "begins": begins}
    types = {**dict.fromkeys("qxyt", d.kind), "out": d.choice((d.kind, "f32"))}
    sizes = {"b": b, "m": m, "k": k, "d": width}
    return Written("bounded", text, types, sizes, arrays, {"alpha": 0.5})


def placed(d: Draw) -> Written:
    """Products of shifted units and rows, stored at computed places."""
    m, n, k, b = d.size(130), d.size(130), d.size(130), d.randint(1, 3)
    unit = d.choice(("b", "b - 1", "b + 1", "b // 2", "0", "2"))
    load = d.choice((f"x[{unit}, m, k]", "x[b, wl.index(m) - 1, k]", "x[b, wl.index(m) + 2, k]"))
    leaves = ["acc", "acc", f"near[{unit}, m, n].to(wl.f32)", f"bias[{unit}, n]", f"gain[{unit}]"]
    leaves += [
        "side[m]",
        "near[b, m, wl.index(n) - 1].to(wl.f32)",
        "bias[b, wl.index(n) + 1]",
        "alpha",
    ]
    store = d.choice(
        ("out[b, m, n, 0]", "out[b, m, n, 1]", "out[b + 1, m, n, 0]", "out[b - 1, m, n, 1]")
    )
    rows = d.choice(("", "wl.index(m) * 2 + 1", "wl.index(m) - 1"))
    body = ['b, m, n = wl.tile("b", "m", "n")', "acc = wl.zeros(m, n)", "for k in wl.steps(x.k):"]
    body += [f"    acc += {load} @ w[n, k].T", f"{store} = acc * 0.25 + {d.mixed(leaves, 2)}"]
    if rows:
        body += [f"far[b, {rows}, n] = {d.mixed(['acc', 'side[m]'], 1)}"]
    text = source(
        'x: wl.In["b", "m", "k"], w: wl.In["n", "k"], near: wl.In["b", "m", "n"],'
        ' bias: wl.In["b", "n", wl.f32], gain: wl.In["b", wl.f32], side: wl.In["m", wl.f32],'
        ' out: wl.Out["b", "m", "n", "u"]' + (', far: wl.Out["b", "r", "n"]' if rows else "")
        + ", *, alpha: float",
        *body,
    )  # fmt: skip
    arrays = {"x": d.array(b, m, k), "w": d.array(n, k), "near": d.array(b, m, n)}
    arrays |= {"bias": d.array(b, n, kind="f32"), "gain": d.array(b, kind="f32")}
    arrays |= {"side": d.array(m, kind="f32")}
    types = {"x": d.kind, "w": d.kind, "near": d.kind, "out": d.choice((d.kind, "f32"))}
    sizes = {"b": b, "m": m, "n": n, "k": k, "u": 2}
    if rows:
        types["far"], sizes["r"] = d.kind, d.size(200)
    return Written("placed", text, types, sizes, arrays, {"alpha": 0.5})


def several(d: Draw) -> Written:
    """Two to four loops in a tile: statistics of rows, then products that use them."""
    m, n, k, c = d.size(130), d.size(130), d.size(), d.size()
    body = ["m, n = wl.tile(out)", "s, t = wl.zeros(m), wl.full(m, -4.0)", "acc = wl.zeros(m, n)"]
    loops = d.choice(
        (("s", "p"), ("s", "t", "p"), ("p", "q"), ("s", "q", "p"), ("p", "s"), ("s", "p", "t", "q"))
    )
    for one in loops:
        if one == "s":
            body += [
                "for k in wl.steps(x.k):",
                "    v = x[m, k].to(wl.f32)",
                "    s += (v * v).sum(axis=1)",
            ]
        if one == "t":
            body += [
                "for k in wl.steps(x.k):",
                "    t = wl.maximum(t, x[m, k].to(wl.f32).max(axis=1))",
            ]
        if one == "p":
            body += ["for k in wl.steps(x.k):", "    acc += x[m, k] @ w[n, k].T"]
        if one == "q":
            body += ["for c in wl.steps(y.c):", "    acc += y[m, c] @ u[n, c].T"]
    body += [
        f"out[m, n] = acc * wl.rsqrt(s + 1.0) + {d.mixed(['t', 'bias[n]', 'acc * 0.1', 'wl.tanh(s)'], 2)}"
    ]
    text = source(
        'x: wl.In["m", "k"], w: wl.In["n", "k"], y: wl.In["m", "c"], u: wl.In["n", "c"],'
        ' bias: wl.In["n", wl.f32], out: wl.Out["m", "n"], *, alpha: float',
        *body,
    )
    arrays = {"x": d.array(m, k), "w": d.array(n, k), "y": d.array(m, c), "u": d.array(n, c)}
    arrays |= {"bias": d.array(n, kind="f32")}
    types = {**dict.fromkeys("xwyu", d.kind), "out": d.choice((d.kind, "f32"))}
    return Written("several", text, types, {"m": m, "n": n, "k": k, "c": c}, arrays, {"alpha": 0.5})


def grouped(d: Draw) -> Written:
    """Rows of groups; weights, vectors and numbers of each; sums of columns."""
    m, n, k, e = d.size(), d.size(130), d.size(130), d.randint(1, 4)
    leaves = [
        "acc",
        "bias[e, n]",
        "gain[e]",
        "0.125 * (wl.index(m) - starts[e])",
        "side[m]",
        "0.5 * e",
    ]
    body = [
        "e, m, n = wl.tile(out, groups=starts)",
        "acc = wl.zeros(m, n)",
        "for k in wl.steps(x.k):",
    ]
    body += [
        "    acc += x[m, k] @ w[e, n, k].T",
        f"z = acc * 0.25 + {d.mixed(leaves, 2)}",
        "out[m, n] = z",
    ]
    if d.random() < 0.4:
        body += ["rows[m] += z.sum(axis=1)"]
    text = source(
        'x: wl.In["m", "k"], w: wl.In["e", "n", "k"], bias: wl.In["e", "n", wl.f32],'
        ' gain: wl.In["e", wl.f32], side: wl.In["m", wl.f32], starts: wl.Starts["e"],'
        ' out: wl.Out["m", "n"]' + (', rows: wl.Out["m", wl.f32]' if "rows" in body[-1] else "")
        + ", *, alpha: float",
        *body,
    )  # fmt: skip
    arrays = {"x": d.array(m, k), "w": d.array(e, n, k), "bias": d.array(e, n, kind="f32")}
    arrays |= {"gain": d.array(e, kind="f32"), "side": d.array(m, kind="f32")}
    arrays |= {"starts": d.starts(e, m)}
    types = {"x": d.kind, "w": d.kind, "out": d.choice((d.kind, "f32"))}
    return Written("grouped", text, types, {"m": m, "n": n, "k": k, "e": e}, arrays, {"alpha": 0.5})


def parted(d: Draw) -> Written:
    """Parts of a reduction as tiles of their own; more parts than steps too."""
    m, n, c, p = d.size(100), d.size(100), d.choice((1, 2, 3, 5, 8)), d.choice((1, 2, 3, 4, 6))
    text = source(
        'x: wl.In["c", "m", "f"], w: wl.In["c", "n", "f"], gate: wl.In["c", wl.f32],'
        ' out: wl.Out["p", "m", "n"], *, alpha: float',
        "p, m, n = wl.tile(out)",
        "acc = wl.zeros(m, n)",
        "for c in wl.steps(x.c, 1, part=p):",
        f"    acc = {d.choice(('acc', 'acc * 0.5', 'acc * gate[c]'))} + x[c, m] @ w[c, n].T",
        f"out[p, m, n] = {d.mixed(['acc', 'alpha'], 2)} + acc * 0.1",
    )
    arrays = {"x": d.array(c, m, 64), "w": d.array(c, n, 64), "gate": d.array(c, kind="f32")}
    types = {"x": d.kind, "w": d.kind, "out": d.choice((d.kind, "f32"))}
    sizes = {"c": c, "m": m, "n": n, "p": p, "f": 64}
    return Written("parted", text, types, sizes, arrays, {"alpha": 0.5})


def added(d: Draw) -> Written:
    """Sums in memory: columns, rows, everything, and whole tiles."""
    m, n, k = d.size(), d.size(), d.size(130)
    looped = d.random() < 0.6
    leaves = ["acc", "bias[n]", "side[m]", "x[m, n].to(wl.f32)"]
    body = ['m, n = wl.tile("m", "n")']
    if looped:
        body += [
            "acc = wl.zeros(m, n)",
            "for k in wl.steps(y.k):",
            "    acc += y[m, k] @ w[n, k].T",
        ]
    else:
        body += ["acc = x[m, n].to(wl.f32)"]
    body += [
        f"z = {d.mixed(leaves, 2)} + acc * 0.1",
        "cols[n] += z.sum(axis=0)",
        "rows[m] += z.sum(axis=1)",
    ]
    text = source(
        'x: wl.In["m", "n"], y: wl.In["m", "k"], w: wl.In["n", "k"], bias: wl.In["n", wl.f32],'
        ' side: wl.In["m", wl.f32], cols: wl.Out["n", wl.f32], rows: wl.Out["m", wl.f32], *, alpha: float',
        *body,
    )
    arrays = {"x": d.array(m, n), "y": d.array(m, k), "w": d.array(n, k)}
    arrays |= {"bias": d.array(n, kind="f32"), "side": d.array(m, kind="f32")}
    types = dict.fromkeys("xyw", d.kind)
    return Written("added", text, types, {"m": m, "n": n, "k": k}, arrays, {"alpha": 0.5})


def nested(d: Draw) -> Written:
    """A loop inside a loop beside products: a program of a whole CTA, which is not pipelined."""
    m, f, k, e = d.size(70), d.size(130), d.size(130), d.choice((16, 32, 64))
    act = d.choice(("wl.relu(u)", "wl.silu(u)", "u * 0.5", "wl.tanh(u) * alpha"))
    text = source(
        'x: wl.In["m", "k"], up: wl.In["f", "k"], down: wl.In["e", "f"], bias: wl.In["e", wl.f32],'
        ' out: wl.Out["m", "e"], *, alpha: float',
        'm = wl.tile(out, whole="e")',
        "acc = wl.zeros(m, down.e)",
        "for f in wl.steps(up.f, 64):",
        "    u = wl.zeros(m, f)",
        "    for k in wl.steps(x.k):",
        "        u += x[m, k] @ up[f, k].T",
        f"    acc += ({act}).to(x.dtype) @ down[:, f].T",
        f"out[m] = acc * alpha + {d.mixed(['bias[:]', 'acc * 0.1'], 2)}",
    )
    arrays = {"x": d.array(m, k), "up": d.array(f, k), "down": d.array(e, f)}
    arrays |= {"bias": d.array(e, kind="f32")}
    types = {**dict.fromkeys(("x", "up", "down"), d.kind), "out": d.choice((d.kind, "f32"))}
    return Written("nested", text, types, {"m": m, "f": f, "k": k, "e": e}, arrays, {"alpha": 0.5})


FORMS = (row_kernel, tile_kernel, integers, integer_steps, listed, bounded, placed, several,
         grouped, parted, added, nested)  # fmt: skip


def random_source(seed: int) -> Written:
    """The kernel of a seed."""
    d = Draw(seed)
    return d.choice(FORMS)(d)
