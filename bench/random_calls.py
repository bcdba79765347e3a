"""Random public calls, executed on the CPU and compared with float64; resumable by seed.

    python bench/random_calls.py --first 0 --count 300 --results FILE [--way interpreter]

Every byte that does not count is NaN: past lengths, in other sequences, pages of nobody, padding
of rows, memory that a call allocates. Operands lie anywhere: padded rows, odd first elements; each
call is made twice. ``host``: the emitted CUDA is executed by the driver of ``tests/calls``.
``interpreter``: calls are made inside of ``warploom.interpreting``. Needs no torch.

Seeds that the results file holds already are left out. A line a seed: what was called, and
``right``, ``refused`` (with the reason), or what went wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import numpy as np  # noqa: E402
from tests.calls import arrays  # noqa: E402
from tests.calls.executing import executing  # noqa: E402

import warploom  # noqa: E402
from warploom.errors import WarploomError  # noqa: E402
from warploom.frontend.pointwise import rounded  # noqa: E402
from warploom.ir.tile import DType  # noqa: E402

TOLERANCE = 2e-2
SIZES = [0, 1, 1, 2, 7, 8, 15, 16, 33, 63, 64, 65, 100, 127, 128, 129, 200]
NAMES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}
PLACES = [(0, 0), (0, 0), (8, 0), (3, 0), (8, 1), (8, 3)]
SMALLER = {"host": SIZES, "interpreter": [n for n in SIZES if n <= 129]}


class Draw(random.Random):
    """Sizes, numbers, and where operands lie in memory."""

    def __init__(self, seed, way):
        super().__init__(seed)
        self.numbers, self.way = np.random.default_rng(seed), way

    def size(self):
        return self.choice(SMALLER[self.way])

    def values(self, *shape, kind="bf16"):
        return rounded(self.numbers.normal(size=shape), DType(kind)).astype(float)

    def starts(self, groups, total):
        cuts = sorted(self.randint(0, total) for _ in range(groups - 1))
        return [0, *cuts, total]

    def tensor(self, values, kind="bf16"):
        """An operand: a view of a larger tensor of NaN, with padded rows and an odd start."""
        pad, first = self.choice(PLACES)
        if self.way == "host":
            return arrays.padded(values, NAMES[kind], pad=pad, first=first)
        values = np.asarray(values)
        whole = np.full((*values.shape[:-1], values.shape[-1] + pad + first), np.nan, np.float32)
        view = whole[..., first : first + values.shape[-1]]
        view[...] = values
        return view

    def ints(self, numbers):
        numbers = np.asarray(numbers, np.int32)
        return arrays.tensor(numbers, "int32") if self.way == "host" else numbers


def numbers_of(found):
    return np.asarray(found.values() if isinstance(found, arrays.Tensor) else found, float)


def near(found, wanted, *, name="result"):
    """What is wrong with a result, or nothing."""
    found, wanted = numbers_of(found), np.asarray(wanted, float)
    if found.shape != wanted.shape:
        return f"{name} is {found.shape}, not {wanted.shape}"
    infinite = np.isinf(wanted)
    if not np.array_equal(found[infinite], wanted[infinite]):
        return f"{name}: other infinities"
    with np.errstate(invalid="ignore"):
        far = np.abs(found - wanted)[~infinite]
    if np.isnan(far).any():
        return f"{name}: {int(np.isnan(far).sum())} NaN of {far.size}"
    limit = TOLERANCE * max(np.abs(wanted[~infinite]).max(initial=0.0), 1e-3)
    worst = far.max(initial=0.0)
    return "" if worst <= limit else f"{name}: off by {worst:.3g}, {limit:.3g} allowed"


def erf(x):
    from math import erf as one

    return np.vectorize(one, otypes=[float])(x)


def silu(x):
    return x / (1 + np.exp(-x))


ACTIVATIONS = {
    "none": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * 0.5 * (1 + erf(x / 2**0.5)),
    "silu": silu,
}


def gemm(draw):
    m, n, k = (draw.size() for _ in "mnk")
    kind = draw.choice(["bf16", "f16"])
    a, w = draw.values(m, k, kind=kind), draw.values(n, k, kind=kind)
    bias = draw.values(n, kind=kind) if draw.random() < 0.3 else None
    residual = draw.values(m, n, kind=kind) if draw.random() < 0.3 else None
    alpha, name = draw.choice([1.0, 1.0, -0.5]), draw.choice(list(ACTIVATIONS))
    wanted = alpha * (a @ w.T) + (0 if bias is None else bias)
    wanted = ACTIVATIONS[name](wanted) + (0 if residual is None else residual)
    a, w, bias, residual = (
        x if x is None else draw.tensor(x, kind) for x in (a, w, bias, residual)
    )
    into = draw.choice(["", "", "own", "residual"])
    out = residual if into == "residual" else None
    if into == "own":
        out = draw.tensor(np.full((m, n), np.nan), kind)

    def call():
        found = warploom.gemm(
            a, w.T, bias=bias, residual=residual, alpha=alpha, activation=name, out=out
        )
        return near(found, wanted)

    said = f"gemm {m}x{n}x{k} {kind} {name} {alpha} bias={bias is not None} out={into}"
    return said, call, 1 if out is residual and out is not None else 2, kind


def heads(q, k, v, n, causal, scale, first=0):
    """Float64 attention of one sequence [heads, rows, d]: result, log-sum-exp, weights."""
    share = q.shape[0] // k.shape[0]
    k, v = (np.repeat(x[:, :n], share, 0) for x in (k, v))
    x = q @ k.swapaxes(1, 2) * scale
    if causal:
        ahead = n - q.shape[1] if causal == "lower_right" else first
        x = np.where(np.tril(np.ones(x.shape[-2:], bool), ahead), x, -np.inf)
    weights, lse = softmax(x)
    return weights @ v, lse, weights


def softmax(x):
    """Weights of rows, 0 where a row sees nothing, and their log-sum-exp."""
    top = x.max(-1, keepdims=True, initial=-np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        e = np.where(np.isneginf(top), 0.0, np.exp(x - np.where(np.isneginf(top), 0.0, top)))
        total = e.sum(-1, keepdims=True)
        lse = np.where(total > 0, top + np.log(total), -np.inf)[..., 0]
        return np.where(total > 0, e / np.where(total > 0, total, 1.0), 0.0), lse


def heads_grad(q, k, v, grad, n, causal, scale):
    """Gradients by q, k and v of ``heads``."""
    groups, share = k.shape[0], q.shape[0] // k.shape[0]
    out, _, p = heads(q, k, v, n, causal, scale)
    kk, vv = (np.repeat(x[:, :n], share, 0) for x in (k, v))
    dv = p.swapaxes(1, 2) @ grad
    ds = p * (grad @ vv.swapaxes(1, 2) - (grad * out).sum(-1, keepdims=True)) * scale
    dq, dk = ds @ kk, ds.swapaxes(1, 2) @ q
    made = []
    for x, like in ((dk, k), (dv, v)):
        whole = np.zeros(like.shape)
        whole[:, :n] = x.reshape(groups, share, n, q.shape[2]).sum(1)
        made.append(whole)
    return dq, *made


def head_choice(draw):
    groups = draw.choice([1, 1, 2])
    causal = draw.choice([False, False, True, "lower_right"])
    return groups * draw.choice([1, 1, 2, 7]), groups, draw.choice([64, 64, 128]), causal


def attention(draw):
    h, g, d, causal = head_choice(draw)
    b, s, t = draw.randint(1, 2), draw.choice([1, 3, 17, 64, 70, 130]), draw.size()
    q, k, v = draw.values(b, h, s, d), draw.values(b, g, t, d), draw.values(b, g, t, d)
    limited = draw.random() < 0.7
    lengths = [draw.choice([0, 1, t // 2, t, t + 9]) for _ in range(b)] if limited else [t] * b
    made = [heads(q[i], k[i], v[i], min(n, t), causal, d**-0.5) for i, n in enumerate(lengths)]
    wanted = [np.stack(x) for x in list(zip(*made, strict=True))[:2]]
    for i, n in enumerate(lengths):
        k[i, :, n:], v[i, :, n:] = np.nan, np.nan
    q, k, v = (draw.tensor(x) for x in (q, k, v))
    more = {"lengths": draw.ints(lengths)} if limited else {}

    def call():
        out, lse = warploom.attention(q, k, v, causal, return_lse=True, **more)
        return near(out, wanted[0]) or near(lse, wanted[1], name="lse")

    return f"attention {b}x{h}/{g}x{s}x{t}x{d} {causal} {lengths if limited else ''}", call, 2


def paged(draw):
    h, g, d, causal = head_choice(draw)
    b, s, u = draw.randint(1, 2), draw.choice([1, 2, 9, 70]), draw.choice([64, 128])
    most, pages = draw.randint(1, 3), 8
    q, k, v = draw.values(b, h, s, d), draw.values(pages, g, u, d), draw.values(pages, g, u, d)
    table = np.array(draw.sample(range(pages), b * most)).reshape(b, most)
    lengths = [draw.choice([0, 1, u - 1, u, u + 1, most * u]) for _ in range(b)]
    lengths = [min(n, most * u) for n in lengths]
    made = []
    for i, n in enumerate(lengths):
        own = [x[table[i]].swapaxes(0, 1).reshape(g, most * u, d) for x in (k, v)]
        made.append(heads(q[i], *own, n, causal, d**-0.5)[:2])
    wanted = [np.stack(x) for x in zip(*made, strict=True)]
    counts = np.zeros((pages, u), bool)
    for i, n in enumerate(lengths):
        for j in range(most):
            counts[table[i, j], : max(0, n - j * u)] = True
            if n <= j * u:
                table[i, j] = draw.choice([-1, pages, 1 << 30])
    for x in (k, v):
        x.swapaxes(1, 2)[~counts] = np.nan
    q, k, v = (draw.tensor(x) for x in (q, k, v))
    table, limits = draw.ints(table), draw.ints(lengths)

    def call():
        out, lse = warploom.attention(q, k, v, causal, pages=table, lengths=limits, return_lse=True)
        return near(out, wanted[0]) or near(lse, wanted[1], name="lse")

    return f"paged {b}x{h}/{g}x{s}x{d} pages of {u}, {lengths} {causal}", call, 2


def sequences(draw):
    """Sequences that lie one after the other, and which of them is spoilt."""
    h, g, d, causal = head_choice(draw)
    n = draw.randint(1, 4)
    rows, keys = draw.choice([1, 40, 140, 200]), draw.choice([1, 60, 150, 200])
    q, k, v = draw.values(rows, h, d), draw.values(keys, g, d), draw.values(keys, g, d)
    return q, k, v, draw.starts(n, rows), draw.starts(n, keys), causal, draw.randrange(n)


def one_sequence(values, starts, i):
    return values[starts[i] : starts[i + 1]].swapaxes(0, 1)


def packed(draw):
    q, k, v, qs, ks, causal, spoilt = sequences(draw)
    outs, sums = [], []
    for i, (a, b) in enumerate(pairwise(ks)):
        lie = one_sequence(q, qs, i), one_sequence(k, ks, i), one_sequence(v, ks, i)
        out, lse, _ = heads(*lie, b - a, causal, q.shape[2] ** -0.5)
        outs.append(out.swapaxes(0, 1))
        sums.append(lse)
    out, lse = np.concatenate(outs), np.concatenate(sums, 1)
    for x in (k, v):
        x[ks[spoilt] : ks[spoilt + 1]] = np.nan
    keep = np.ones(len(q), bool)
    keep[qs[spoilt] : qs[spoilt + 1]] = False
    most = [max(1, *(b - a for a, b in pairwise(x))) for x in (qs, ks)]
    said = f"packed {q.shape} {k.shape} {qs} {ks} {causal} NaN in {spoilt}"
    q, k, v = (draw.tensor(x) for x in (q, k, v))
    first, begin = draw.ints(qs), draw.ints(ks)

    def call():
        found, sums = warploom.attention_packed(
            q, k, v, first, begin, *most, causal, return_lse=True
        )
        found, sums = numbers_of(found), numbers_of(sums)
        return near(found[keep], out[keep]) or near(sums[:, keep], lse[:, keep], name="lse")

    return said, call, 2


def backward(draw):
    h, g, d, causal = head_choice(draw)
    b, s, t = 1, draw.choice([3, 64, 70]), draw.choice([1, 60, 100, 130])
    given = draw.values(b, h, s, d), draw.values(b, g, t, d), draw.values(b, g, t, d)
    grad = draw.values(b, h, s, d)
    limited = draw.random() < 0.7
    n = draw.choice([0, 1, t // 2, t]) if limited else t
    out, lse, _ = heads(*(x[0] for x in given), n, causal, d**-0.5)
    wanted = heads_grad(*(x[0] for x in given), grad[0], n, causal, d**-0.5)
    for x in given[1:]:
        x[:, :, n:] = np.nan
    more = {"lengths": draw.ints([n])} if limited else {}
    more["deterministic"] = draw.random() < 0.2 and s * t < 64 * 64
    out, lse = draw.tensor(rounded(out[None], DType.BF16)), draw.tensor(lse[None], "f32")
    given, grad = [draw.tensor(x) for x in given], draw.tensor(grad)

    def call():
        found = warploom.attention_backward(grad, *given, out, lse, causal, **more)
        for name, x, y in zip(("dq", "dk", "dv"), found, wanted, strict=True):
            if said := near(x, y[None], name=name):
                return said
        return ""

    said = f"backward {h}/{g}x{s}x{t}x{d} {causal} {n if limited else ''}"
    return said + (" deterministic" if more["deterministic"] else ""), call, 1


def packed_backward(draw):
    q, k, v, qs, ks, causal, spoilt = sequences(draw)
    scale, grad = q.shape[2] ** -0.5, draw.values(*q.shape)
    outs, sums, grads = [], [], ([], [], [])
    for i, (a, b) in enumerate(pairwise(ks)):
        lie = one_sequence(q, qs, i), one_sequence(k, ks, i), one_sequence(v, ks, i)
        out, lse, _ = heads(*lie, b - a, causal, scale)
        outs.append(out.swapaxes(0, 1))
        sums.append(lse)
        made = heads_grad(*lie, one_sequence(grad, qs, i), b - a, causal, scale)
        for one, x in zip(grads, made, strict=True):
            one.append(x.swapaxes(0, 1))
    wanted = [np.concatenate(x) for x in grads]
    out, lse = rounded(np.concatenate(outs), DType.BF16), np.concatenate(sums, 1)
    which = draw.randrange(4)
    starts = qs if which in (0, 3) else ks
    (q, k, v, grad)[which][starts[spoilt] : starts[spoilt + 1]] = np.nan
    keep = []
    for starts, size in ((qs, len(q)), (ks, len(k)), (ks, len(k))):
        mine = np.ones(size, bool)
        mine[starts[spoilt] : starts[spoilt + 1]] = False
        keep.append(mine)
    said = f"packed backward {q.shape} {k.shape} {qs} {ks} {causal} NaN in {which} of {spoilt}"
    given = [draw.tensor(x) for x in (grad, q, k, v, out)]
    lse, first, begin = draw.tensor(lse, "f32"), draw.ints(qs), draw.ints(ks)

    def call():
        found = warploom.attention_packed_backward(*given, lse, first, begin, causal)
        for name, x, y, mine in zip(("dq", "dk", "dv"), found, wanted, keep, strict=True):
            if said := near(numbers_of(x)[mine], y[mine], name=name):
                return said
        return ""

    return said, call, 1


def grouped(draw):
    e, t, n, k = draw.randint(1, 4), draw.size(), draw.size(), draw.size()
    x, w = draw.values(t, k), draw.values(e, n, k)
    starts, spoilt = draw.starts(e, t), draw.randrange(e)
    wanted = np.concatenate([x[a:b] @ w[i].T for i, (a, b) in enumerate(pairwise(starts))])
    w[spoilt] = np.nan
    keep = np.ones(t, bool)
    keep[starts[spoilt] : starts[spoilt + 1]] = False
    x, w, first = draw.tensor(x), draw.tensor(w), draw.ints(starts)

    def call():
        found = numbers_of(warploom.grouped_gemm(x, w, first))
        return near(found[keep], wanted[keep])

    return f"grouped {t}x{n}x{k} {starts} NaN in {spoilt}", call, 2


def weights(draw):
    e, t, n, k = draw.randint(1, 4), draw.size(), draw.size(), draw.size()
    y, x = draw.values(t, n), draw.values(t, k)
    starts, spoilt = draw.starts(e, t), draw.randrange(e)
    pairs = list(pairwise(starts))
    wanted = np.stack([y[a:b].T @ x[a:b] for a, b in pairs])
    a, b = pairs[spoilt]
    x[a:b] = y[a:b] = np.nan
    keep = [i for i in range(e) if i != spoilt]
    x, y, first = draw.tensor(x), draw.tensor(y), draw.ints(starts)

    def call():
        found = numbers_of(warploom.grouped_gemm_weights(y, x, first))
        return near(found[keep], wanted[keep])

    return f"weights {t}x{n}x{k} {starts} NaN in {spoilt}", call, 2


def swiglu(draw):
    m, n, k = (draw.size() for _ in "mnk")
    x, gate, up = draw.values(m, k), draw.values(n, k), draw.values(n, k)
    wanted = silu(x @ gate.T) * (x @ up.T)
    x, gate, up = (draw.tensor(a) for a in (x, gate, up))
    return f"swiglu {m}x{n}x{k}", lambda: near(warploom.swiglu(x, gate, up), wanted), 2


def tilted(x, b, h, i, j):
    return x * 0.5 + (j - i) * 0.01


def near_keys(b, h, i, j):
    return (j <= i) & (i - j < 50)


def flexible(draw):
    """Functions of the caller, sinks, and lengths."""
    h, g, d, _ = head_choice(draw)
    b, s, t = 1, draw.choice([3, 70, 130, 300]), draw.choice([60, 100, 130, 300])
    q, k, v = draw.values(b, h, s, d), draw.values(b, g, t, d), draw.values(b, g, t, d)
    score, visible = draw.choice([None, tilted]), draw.choice([None, near_keys])
    n = draw.choice([0, 1, t // 2, t, t]) if draw.random() < 0.6 else None
    sinks = draw.numbers.normal(size=h) if draw.random() < 0.3 else None
    i, j = np.arange(s)[:, None], np.arange(t)[None]
    seen = near_keys(0, 0, i, j) if visible else np.ones((s, t), bool)
    seen = seen & (j < (t if n is None else n))
    x = q @ np.repeat(k, h // g, 1).swapaxes(2, 3) * d**-0.5
    x = np.where(seen, x if score is None else tilted(x, 0, 0, i, j), -np.inf)
    more = x
    if sinks is not None:
        more = np.concatenate([x, np.broadcast_to(sinks[None, :, None, None], (b, h, s, 1))], -1)
    parts, lse = softmax(more)
    wanted = parts[..., :t] @ np.repeat(v, h // g, 1)
    if n is not None:
        k[:, :, n:], v[:, :, n:] = np.nan, np.nan
    q, k, v = (draw.tensor(x) for x in (q, k, v))
    given = {} if n is None else {"lengths": draw.ints([n])}
    given |= {} if sinks is None else {"sinks": draw.tensor(sinks, "f32")}

    def call():
        out, sums = warploom.attention(
            q, k, v, score=score, visible=visible, return_lse=True, **given
        )
        return near(out, wanted) or near(sums, lse, name="lse")

    said = f"flexible {h}/{g}x{s}x{t}x{d} {visible is not None} score={score is not None} {n}"
    return f"{said} sinks={sinks is not None}", call, 2


def gathered(draw):
    e, t, n, k = draw.randint(1, 3), draw.choice([1, 60, 130]), draw.size(), draw.choice([64, 72])
    rows = draw.choice([5, 90])
    x, w = draw.values(rows, k), draw.values(e, n, k)
    starts = draw.starts(e, t)
    tokens = np.array([draw.randrange(-2, rows + 2) for _ in range(t)])
    exists = (tokens >= 0) & (tokens < rows)
    lie = np.where(exists[:, None], x[np.clip(tokens, 0, rows - 1)], 0.0)
    wanted = np.concatenate([lie[a:b] @ w[i].T for i, (a, b) in enumerate(pairwise(starts))])
    x[[i for i in range(rows) if i not in tokens]] = np.nan
    x, w, first, picked = draw.tensor(x), draw.tensor(w), draw.ints(starts), draw.ints(tokens)

    def call():
        return near(warploom.grouped_gemm(x, w, first, tokens=picked), wanted)

    return f"gathered {t} of {rows}x{n}x{k} {starts}", call, 2


def scattered(draw):
    e, t, n, k = draw.randint(1, 3), draw.choice([1, 60, 130]), draw.choice([8, 64, 100]), 64
    rows = draw.choice([5, 90])
    x, w = draw.values(t, k), draw.values(e, n, k)
    starts = draw.starts(e, t)
    to = [draw.randrange(-2, rows + 2) for _ in range(t)]
    factor, first = draw.values(t, kind="f32"), draw.values(rows, n, kind="f32")
    made = np.concatenate([x[a:b] @ w[i].T for i, (a, b) in enumerate(pairwise(starts))])
    wanted = first.copy()
    for i, at in enumerate(to):
        if 0 <= at < rows:
            wanted[at] += made[i] * factor[i]
    x, w, begin, places = draw.tensor(x), draw.tensor(w), draw.ints(starts), draw.ints(to)
    factor = draw.tensor(factor, "f32")

    def call():
        out = draw.tensor(first, "f32")
        return near(warploom.grouped_gemm(x, w, begin, rows=places, weight=factor, out=out), wanted)

    return f"scattered {t} to {rows}x{n} {starts}", call, 2


CALLS = (
    *(gemm, gemm, attention, attention, paged, packed, packed_backward, backward, backward),
    *(flexible, flexible, grouped, weights, swiglu, gathered, scattered),
)
TIMINGS = ("adversarial", "random", "in_order")


def made(seed, way="host"):
    """A call: what it is, how it is made, how often, and its element type."""
    draw = Draw(seed, way)
    said, call, times, *kind = draw.choice(CALLS)(draw)
    return draw, said, call, times, kind[0] if kind else "bf16"


def run(seed, way="host"):
    """One call: its line of results."""
    draw, said, call, times, kind = made(seed, way)
    start, found = time.time(), "right"
    if way == "interpreter":
        timing = TIMINGS[seed % len(TIMINGS)]
        place, times = warploom.interpreting(types=kind, timing=timing, seed=seed), 1
    else:
        place = executing(sms=draw.choice([1, 2, 5]), seed=seed + 1)
    try:
        with place:
            for _ in range(times):
                if wrong := call():
                    found = f"wrong: {wrong}"
                    break
    except WarploomError as error:
        found = "refused: " + str(error).partition("\n")[0]
    except Exception as error:
        found = f"raw {type(error).__name__}: {error}"
    return {"seed": seed, "call": said, "found": found, "s": round(time.time() - start, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--way", choices=("host", "interpreter"), default="host")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so many")
    asked = parser.parse_args()
    done, began = set(), time.time()
    if asked.results.exists():
        done = {json.loads(x)["seed"] for x in asked.results.read_text().splitlines()}
    with asked.results.open("a") as file:
        for seed in range(asked.first, asked.first + asked.count):
            if seed in done or time.time() - began > asked.seconds:
                continue
            line = run(seed, asked.way)
            file.write(json.dumps(line) + "\n")
            file.flush()
            if line["found"] != "right":
                print(json.dumps(line), flush=True)
    lines = [json.loads(x) for x in asked.results.read_text().splitlines()]
    for what, count in Counter(x["found"].partition(":")[0] for x in lines).most_common():
        print(f"{count:6} {what}")


if __name__ == "__main__":
    main()
