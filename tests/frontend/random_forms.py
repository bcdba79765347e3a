"""The forms random kernels take: a text of each, with its sizes and inputs."""

from hypothesis import strategies as st


class Writer:
    """Draws expressions; ``leaves`` holds texts by their shape."""

    def __init__(self, draw, rows, columns, step):
        self.draw = draw
        self.rows, self.columns, self.step = rows, columns, step
        self.leaves = {(): ["0.5", "1.25", "alpha"]}

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def chance(self):
        return self.draw(st.booleans())

    def leaf(self, *shape):
        return self.pick(*self.leaves[shape])

    def add(self, text, *shape):
        self.leaves.setdefault(shape, []).append(text)

    def smaller(self, shape):
        """Shapes that broadcast to a shape."""
        return [s for s in self.leaves if set(s) <= set(shape) and (len(s) < 2 or s == shape)]

    def expr(self, shape, depth=2):
        """An expression of exactly that shape."""
        if depth == 0:
            return self.leaf(*shape)
        one = self.expr(shape, depth - 1)
        match self.pick("leaf", "unary", "unary", "binary", "binary", "where"):
            case "leaf":
                return one
            case "unary":
                return self.unary(one)
            case "binary":
                other = self.expr(self.pick(*self.smaller(shape)), self.pick(0, depth - 1))
                return self.binary(one, other)
        other = self.leaf(*self.pick(*self.smaller(shape)))
        return f"wl.where({self.condition(shape)}, {one}, {other})" if shape else one

    def unary(self, x):
        return self.pick(
            f"wl.tanh({x})",
            f"wl.sigmoid({x})",
            f"wl.relu({x})",
            f"wl.silu(wl.tanh({x}))",
            f"wl.gelu(wl.tanh({x}))",
            f"(-{x})",
            f"wl.exp(-wl.abs({x}))",
            f"wl.exp(wl.minimum({x}, 1.0) * alpha)",
            f"wl.exp2(wl.minimum({x}, 2.0))",
            f"wl.exp(wl.tanh({x}) / alpha - 1.0)",
            f"wl.exp(1.0 / (wl.abs({x}) + 1.0))",
            f"(0.25 * ({x} - alpha) * (alpha - {x}))",
            f"wl.log(wl.abs({x}) + 1.0)",
            f"wl.sqrt(wl.abs({x}) + 0.5)",
            f"wl.rsqrt(wl.abs({x}) + 1.0)",
        )

    def binary(self, one, other):
        return self.pick(
            f"({one} + {other})",
            f"({one} - {other})",
            f"({one} * wl.tanh({other}))",
            f"wl.maximum({one}, {other})",
            f"wl.minimum({one}, {other})",
            f"({one} / (wl.abs({other}) + 1.0))",
        )

    def condition(self, shape):
        """A condition on indices."""
        i = f"wl.index({shape[0]})"
        j = f"wl.index({shape[-1]})"
        c = self.draw(st.integers(-5, 40))
        one = self.pick(f"{i} >= {j} + {c}", f"{i} + {c} > {j}", f"{i} % 3 != 1", f"{j} < {c}")
        if self.chance():
            return f"({one})"
        other = self.pick(f"{j} > {c // 2}", f"({i} + {j}) // 4 != 2")
        return self.pick(f"(({one}) & ({other}))", f"(({one}) | ({other}))", f"~({one})")


def _product(draw, hopper):
    """One or two products, row and column statistics, a pointwise tail, one or two outputs."""
    w = Writer(draw, "m", "n", "k")
    w.add("bias[n]", "n")
    w.add("side[m]", "m")
    two, second, batch = w.chance(), w.chance(), w.chance()
    b, at, heads = ('"b", ', "b, ", "b // 2, ") if batch else ("", "", "")
    g = '"g", ' if batch else ""
    head = (
        f'def kernel(x: wl.In[{b}"m", "k"], w: wl.In[{g}"n", "k"], near: wl.In[{b}"m", "n"], '
        f'bias: wl.In["n", wl.f32], side: wl.In["m", wl.f32], out: wl.Out[{b}"m", "n"]'
        + (', other: wl.In["n", "k"] = None' if two else "")
        + (f', out_b: wl.Out[{b}"m", "n", wl.f32] = None' if second else "")
        + ", *, alpha: float = 1.0):\n"
    )
    body = [f"{at}m, n = wl.tile(out)", "acc = wl.zeros(m, n)"]
    if two:
        body.append("more = wl.zeros(m, n)")
    if w.chance():
        body.append(f"h = {w.expr(('m',))}")
        w.add("h", "m")
    known = ("rs", "rm") if hopper else ("rs", "rm", "cs")
    statistics = draw(st.lists(st.sampled_from(known), unique=True))
    starts = {"rs": "wl.zeros(m)", "rm": "wl.full(m, -8.0)", "cs": "wl.zeros(n)"}
    body += [f"{s} = {starts[s]}" for s in statistics]
    body += ["for k in wl.steps(x.k):", f"    a = x[{at}m, k]"]
    body.append(f"    c = w[{heads}n, k]")
    w.add("a", "m", "k")
    w.add("c", "n", "k")
    left = "a"
    if w.chance():
        body.append(f"    e = {w.expr(('m', 'k'))}")
        w.add("e", "m", "k")
        left = w.pick("a", "e.to(x.dtype)")
    if two and w.chance():  # a product that is read twice
        body += [f"    y = {left} @ c.T", "    acc += y", "    more += wl.tanh(y) * 0.5"]
    else:
        body.append(f"    acc += {_scaled(w, f'{left} @ c.T')}")
    if two:
        body.append(f"    more += {_scaled(w, 'a @ other[n, k].T')}")
    updates = {
        "rs": "rs += ({}).sum(axis=1)".format(w.expr(("m", "k"))),
        "rm": "rm = wl.maximum(rm, ({}).max(axis=1))".format(w.expr(("m", "k"))),
        "cs": "cs += ({}).sum(axis=1)".format(w.expr(("n", "k"))),
    }
    body += [f"    {updates[s]}" for s in statistics]
    for shape in (("m", "k"), ("n", "k")):
        del w.leaves[shape]
    w.add("acc", "m", "n")
    w.add(f"near[{at}m, n]", "m", "n")
    if two:
        w.add("more", "m", "n")
    for s in statistics:
        w.add(f"wl.tanh({s})", "n" if s == "cs" else "m")
    used = " + ".join(["acc", *(["more"] if two else []), *statistics])
    body.append(f"y = {used}")
    w.add("y", "m", "n")
    body.append(f"out[{at}m, n] = y * 0.125 + {w.expr(('m', 'n'), 3)}")
    if second:
        body.append(f"out_b[{at}m, n] = {w.expr(('m', 'n'))}")
    tensors = ["x", "w", "near", "out", *(["other"] if two else [])]
    return head, body, tensors


def _scaled(w, product):
    return w.pick(
        product,
        product,
        f"({product}) * alpha",
        f"({product}) * side[m]",
        f"wl.where({w.condition(('m', 'n'))}, {product}, 0.0)",
    )


def _softmax(draw, hopper):
    """Attention with a random score and mask."""
    w = Writer(draw, "m", "k", "k")
    head = (
        'def kernel(q: wl.In["m", "d"], keys: wl.In["k", "d"], v: wl.In["k", "d"], '
        'tilt: wl.In["k", wl.f32], out: wl.Out["m", "d"], out_b: wl.Out["m", wl.f32] = None, '
        "*, alpha: float):\n"
    )
    w.add("(qs @ keys[k].T) * alpha", "m", "k")
    w.add("tilt[k]", "k")
    score = w.expr(("m", "k"))
    hidden = f"wl.where({w.condition(('m', 'k'))}, x, -wl.inf)" if w.chance() else "x"
    body = [
        'm = wl.tile(out, whole="d")',
        "qs = q[m]",
        "o, l, top = wl.zeros(m, q.d), wl.zeros(m), wl.full(m, -1.0e30)",
        "for k in wl.steps(keys.k):",
        f"    x = {score}",
        f"    x = {hidden}",
        "    new = wl.maximum(top, x.max(axis=1))",
        "    keep, p = wl.exp(top - new), wl.exp(x - new)",
        "    l = l * keep + p.sum(axis=1)",
        "    o = o * keep + p.to(v.dtype) @ v[k]",
        "    top = new",
        "out[m] = o / wl.where(l > 0, l, 1.0)",
        f"out_b[m] = {w.pick('wl.maximum(top + wl.log(l), -1.0e4)', 'top', 'l', 'l * 0.5')}",
    ]
    return head, body, ["q", "keys", "v", "out"]


def _rows(draw, hopper):
    """Two loops: a statistic of each row, then the row again with it."""
    w = Writer(draw, "m", "k", "k")
    head = (
        'def kernel(x: wl.In["m", "k"], gain: wl.In["k", wl.f32], out: wl.Out["m", wl.f32], '
        'out_b: wl.Out["m", "k"], *, alpha: float):\n'
    )
    w.add("x[m, k]", "m", "k")
    w.add("gain[k]", "k")
    first = w.expr(("m", "k"))
    w.add("wl.tanh(s)", "m")
    w.add("t", "m")
    body = [
        "m = wl.tile(out)",
        "s, t = wl.zeros(m), wl.full(m, -4.0)",
        "for k in wl.steps(x.k):",
        f"    e = {first}",
        "    s += e.sum(axis=1)",
        "    t = wl.maximum(t, e.max(axis=1))",
        "for k in wl.steps(x.k):",
        f"    out_b[m, k] = {w.expr(('m', 'k'))}",
        "out[m] = s * 0.125 + t",
    ]
    return head, body, ["x", "out_b"]


def _blocks(draw, hopper):
    """Products with scales of blocks, promoted by vector work."""
    w = Writer(draw, "m", "n", "k")
    per = w.pick(64, 128) if hopper else w.pick(16, 32, 64)
    step = w.pick(64, per) if hopper else w.pick(per, per // 2)
    head = (
        f'def kernel(x: wl.In["m", "k"], sx: wl.In["m", "k/{per}", wl.f32], w: wl.In["n", "k"], '
        f'sw: wl.In["n/{per}", "k/{per}", wl.f32], out: wl.Out["m", "n"], *, alpha: float):\n'
    )
    w.add("acc", "m", "n")
    w.add("0.25 * wl.index(m)", "m")
    scales = w.pick("sx[m, k]", "sw[n, k]", "sx[m, k] * sw[n, k]", "(sw[n, k] + alpha) * sx[m, k]")
    body = [
        "m, n = wl.tile(out)",
        "acc = wl.zeros(m, n)",
        f"for k in wl.steps(x.k, {step}):",
        f"    y = (x[m, k] @ w[n, k].T) * {scales}",
        f"    acc = {w.pick('acc', 'acc * 0.5', 'acc * alpha + wl.abs(acc) * 0.25')} + y",
        f"out[m, n] = acc + {w.expr(('m', 'n'))}",
    ]
    return head, body, ["x", "w", "out"]


def _groups(draw, hopper):
    """Rows of groups, each with weights of its own."""
    w = Writer(draw, "m", "n", "k")
    head = (
        'def kernel(x: wl.In["m", "k"], w: wl.In["e", "n", "k"], bias: wl.In["e", "n", wl.f32], '
        'starts: wl.Starts["e"], out: wl.Out["m", "n"], *, alpha: float):\n'
    )
    w.add("acc", "m", "n")
    w.add("bias[e, n]", "n")
    w.add("0.125 * (wl.index(m) - starts[e])", "m")
    w.add("0.25 * e", *())
    body = [
        "e, m, n = wl.tile(out, groups=starts)",
        "acc = wl.zeros(m, n)",
        "for k in wl.steps(x.k):",
        f"    acc += {w.pick('x[m, k] @ w[e, n, k].T', '(x[m, k] @ w[e, n, k].T) * alpha')}",
        f"out[m, n] = acc + {w.expr(('m', 'n'))}",
    ]
    return head, body, ["x", "w", "out"]


def _grad(draw, hopper):
    """Four or five products a step, one of them added to memory, as backward passes have."""
    w = Writer(draw, "m", "k", "k")
    head = (
        'def kernel(keys: wl.In["m", "d"], v: wl.In["m", "d"], q: wl.In["k", "d"], '
        'o: wl.In["k", "d"], lse: wl.In["k", wl.f32], out: wl.Out["m", "d"], '
        'out_b: wl.Out["m", "d"], sums: wl.Out["k", "d", wl.f32], *, alpha: float):\n'
    )
    w.add("wl.tanh(lse[k])", "k")
    w.add("(ks @ qs.T) * 0.125", "m", "k")
    first = w.expr(("m", "k"))
    w.add("p", "m", "k")
    w.add("(vs @ os.T) * 0.125", "m", "k")
    body = [
        'm = wl.tile(out, whole="d")',
        "ks, vs = keys[m], v[m]",
        "one, two = wl.zeros(m, q.d), wl.zeros(m, q.d)",
        "for k in wl.steps(q.k):",
        "    qs, os = q[k], o[k]",
        f"    p = {first}",
        f"    ds = ({w.expr(('m', 'k'))}).to(q.dtype)",
        "    one += p.to(q.dtype) @ os",
        "    two += ds @ qs",
        f"    sums[k] += (ds.T @ ks) * {w.pick('alpha', '0.125')}",
        "out[m] = one * alpha",
        "out_b[m] = two",
    ]
    return head, body, ["keys", "v", "q", "o", "out", "out_b"]


def _gathered(draw, hopper):
    """Rows that a list picks, times one or two tiles of weights."""
    w = Writer(draw, "m", "n", "k")
    two = w.chance()
    head = (
        'def kernel(x: wl.In["s", "k"], rows: wl.In["m", wl.i32], w: wl.In["n", "k"], '
        + ('up: wl.In["n", "k"], ' if two else "")
        + 'side: wl.In["m", wl.f32], out: wl.Out["m", "n"], *, alpha: float):\n'
    )
    w.add("acc", "m", "n")
    w.add("side[m]", "m")
    body = [
        "m, n = wl.tile(out)",
        "acc = wl.zeros(m, n)",
        *(["more = wl.zeros(m, n)"] if two else []),
        "picked = rows[m]",
        "for k in wl.steps(x.k):",
        "    a = x[picked, k]",
        "    acc += a @ w[n, k].T",
        *(["    more += a @ up[n, k].T"] if two else []),
    ]
    if two:
        w.add("more", "m", "n")
    body.append(f"out[m, n] = acc + {w.expr(('m', 'n'))}")
    return head, body, ["x", "w", "out", *(["up"] if two else [])]


def _chained(draw, hopper):
    """Several products into one sum, which other work may read, and sums of rows in memory."""
    w = Writer(draw, "m", "n", "k")
    reads, adds = w.chance(), w.chance()
    head = (
        'def kernel(x: wl.In["m", "k"], y: wl.In["m", "k"], w: wl.In["n", "k"], '
        'v: wl.In["n", "k"], out: wl.Out["m", "n"]'
        + (', sums: wl.Out["m", wl.f32]' if adds else "")
        + ", *, alpha: float):\n"
    )
    w.add("acc", "m", "n")
    more = draw(st.integers(1, 2))
    body = [
        "m, n = wl.tile(out)",
        "acc, old = wl.zeros(m, n), wl.zeros(m, n)",
        "for k in wl.steps(x.k):",
        *(["    old += wl.tanh(acc) * 0.25"] if reads and w.chance() else []),
        "    acc += x[m, k] @ w[n, k].T",
        *["    acc += y[m, k] @ v[n, k].T"] * more,
        *(["    old += wl.tanh(acc) * 0.25"] if reads and w.chance() else []),
        f"z = acc + old + {w.expr(('m', 'n'))}",
        "out[m, n] = z",
        *(["sums[m] += wl.tanh(z).sum(axis=1)"] if adds else []),
    ]
    return head, body, ["x", "y", "w", "v", "out"]


def _parts(draw, hopper):
    """Single steps of a share of an axis, with a sum that decays, or with products of products."""
    w = Writer(draw, "m", "n", "c")
    if w.chance():
        return _chained_parts(w)
    head = (
        'def kernel(x: wl.In["c", "m", "d"], w: wl.In["c", "n", "d"], gate: wl.In["c", wl.f32], '
        'out: wl.Out["p", "m", "n"], *, alpha: float):\n'
    )
    w.add("acc", "m", "n")
    keep = w.pick("acc", "acc * wl.exp(-wl.abs(gate[c]))", "acc * 0.5", "wl.maximum(acc, alpha)")
    body = [
        "p, m, n = wl.tile(out)",
        w.pick("acc = wl.zeros(m, n)", "acc = wl.zeros(m, n) + 0.5"),
        "for c in wl.steps(x.c, 1, part=p):",
        f"    acc = {keep} + x[c, m] @ w[c, n].T",
        f"out[p, m, n] = {w.expr(('m', 'n'))}",
    ]
    return head, body, ["x", "w", "out"]


def _chained_parts(w):
    """What a step makes of one product is an operand of the next, whose schedule begins early."""
    head = (
        'def kernel(x: wl.In["c", "m", "d"], w: wl.In["c", "f", "d"], gate: wl.In["c", wl.f32], '
        'out: wl.Out["p", "m", "d"], sums: wl.Out["p", "m", wl.f32], *, alpha: float):\n'
    )
    rise = w.pick("gate[c]", "e.sum(axis=1) * 0.1", "wl.abs(gate[c]) + 1.0")
    keep = w.pick("acc", "acc * 0.5", "acc * wl.exp(-wl.abs(gate[c]))")
    body = [
        "p, m = wl.tile(out, whole='d')",
        "acc, l, top = wl.zeros(m, x.d), wl.zeros(m), wl.full(m, -8.0)",
        "for c in wl.steps(x.c, 1, part=p):",
        "    y = (x[c, m] @ w[c].T) * 0.1",
        w.pick("    e = wl.exp(y)", "    e = wl.tanh(y) + 0.5", "    e = y"),
        "    top = wl.maximum(top, y.max(axis=1))",
        f"    l = l + {rise}",
        f"    acc = {keep} + e.to(x.dtype) @ w[c]",
        "out[p, m] = acc * 0.1",
        "sums[p, m] = l + top",
    ]
    return head, body, ["x", "w", "out"]


MAKE = {
    "gathered": _gathered,
    "chained": _chained,
    "parts": _parts,
    "product": _product,
    "softmax": _softmax,
    "rows": _rows,
    "blocks": _blocks,
    "groups": _groups,
    "grad": _grad,
}
