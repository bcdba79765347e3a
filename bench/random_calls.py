"""Random public calls, executed on the CPU and compared with float64; resumable by seed.

    python bench/random_calls.py --first 0 --count 300 --results /tmp/calls.jsonl

Every byte that does not count is NaN: past lengths, in other sequences, pages of nobody, padding of
rows, memory that a call allocates. Seeds that the results file holds already are left out. A line a
seed: what was called, and ``right``, ``refused`` (with the reason), or what went wrong.
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

import torch  # noqa: E402
from tests.calls.executing import NAN, executing, spoil  # noqa: E402

import warploom  # noqa: E402
from warploom.errors import WarploomError  # noqa: E402

F64 = torch.float64
TOLERANCE = 2e-2


class Draw(random.Random):
    """Sizes, tensors and their places in memory."""

    def size(self, most):
        return self.choice([0, 1, 1, 2, 7, 8, 15, 16, 33, 63, 64, 65, 100, 127, 128, 129, 200])\
            if most >= 200 else self.randint(0, most)  # fmt: skip

    def tensor(self, *shape, dtype=torch.bfloat16):
        """Random numbers in a view of a larger tensor of NaN: padded rows, an odd first element."""
        pad, first = self.choice([(0, 0), (0, 0), (8, 0), (3, 0), (8, 1), (8, 3)])
        whole = torch.empty((*shape[:-1], shape[-1] + pad + first), dtype=dtype)
        view = spoil(whole)[..., first : first + shape[-1]]
        view.copy_(torch.randn(shape, generator=self.torch).to(dtype))
        return view

    def starts(self, groups, total):
        cuts = sorted(self.randint(0, total) for _ in range(groups - 1))
        return [0, *cuts, total]


def ints(numbers):
    return torch.tensor(numbers, dtype=torch.int32)


def near(found, wanted, *, name="result"):
    """What is wrong with a result, or nothing."""
    if found.shape != wanted.shape:
        return f"{name} is {tuple(found.shape)}, not {tuple(wanted.shape)}"
    found = found.to(F64)
    infinite = wanted.isinf()
    if not torch.equal(found[infinite], wanted[infinite]):
        return f"{name}: other infinities"
    far = (found - wanted)[~infinite]
    if far.isnan().any():
        return f"{name}: {int(far.isnan().sum())} NaN of {far.numel()}"
    limit = TOLERANCE * max(wanted[~infinite].abs().max().item() if far.numel() else 0.0, 1e-3)
    worst = far.abs().max().item() if far.numel() else 0.0
    return "" if worst <= limit else f"{name}: off by {worst:.3g}, {limit:.3g} allowed"


ACTIVATIONS = {
    "none": lambda x: x,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
}


def gemm(draw):
    m, n, k = (draw.size(200) for _ in "mnk")
    dtype = draw.choice([torch.bfloat16, torch.float16])
    a, w = draw.tensor(m, k, dtype=dtype), draw.tensor(n, k, dtype=dtype)
    bias = draw.tensor(n, dtype=dtype) if draw.random() < 0.3 else None
    residual = draw.tensor(m, n, dtype=dtype) if draw.random() < 0.3 else None
    alpha, name = draw.choice([1.0, 1.0, -0.5]), draw.choice(list(ACTIVATIONS))
    out = draw.choice([None, None, spoil(torch.empty(m, n, dtype=dtype)), residual])
    wanted = alpha * (a.to(F64) @ w.to(F64).T) + (0 if bias is None else bias.to(F64))
    wanted = ACTIVATIONS[name](wanted) + (0 if residual is None else residual.to(F64))

    def call():
        found = warploom.gemm(
            a, w.T, bias=bias, residual=residual, alpha=alpha, activation=name, out=out
        )
        return near(found, wanted)

    said = f"gemm {m}x{n}x{k} {name} {alpha} bias={bias is not None} out={out is not None}"
    return said, call, 1 if out is residual and out is not None else 2


def heads(q, k, v, n, causal, scale, first=0):
    """Float64 attention of one sequence [heads, rows, d]: the result and its log-sum-exp."""
    share = q.shape[0] // k.shape[0]
    k, v = (x[:, :n].to(F64).repeat_interleave(share, 0) for x in (k, v))
    x = q.to(F64) @ k.mT * scale
    if causal:
        ahead = n - q.shape[1] if causal == "lower_right" else first
        x = x.masked_fill(~torch.ones(x.shape[-2:], dtype=torch.bool).tril(ahead), -torch.inf)
    lse = x.logsumexp(-1) if n else torch.full(x.shape[:-1], -torch.inf, dtype=F64)
    weights = (x - lse[..., None]).exp()
    weights = torch.where(lse[..., None] == -torch.inf, 0.0, weights)
    return weights @ v, lse


def head_choice(draw):
    groups = draw.choice([1, 1, 2])
    causal = draw.choice([False, False, True, "lower_right"])
    return groups * draw.choice([1, 1, 2, 7]), groups, draw.choice([64, 64, 128]), causal


def attention(draw):
    h, g, d, causal = head_choice(draw)
    b, s, t = draw.randint(1, 2), draw.choice([1, 3, 17, 64, 70, 130]), draw.size(200)
    q, k, v = draw.tensor(b, h, s, d), draw.tensor(b, g, t, d), draw.tensor(b, g, t, d)
    limited = draw.random() < 0.7
    lengths = [draw.choice([0, 1, t // 2, t, t + 9]) for _ in range(b)] if limited else [t] * b
    made = [heads(q[i], k[i], v[i], min(n, t), causal, d**-0.5) for i, n in enumerate(lengths)]
    wanted = [torch.stack(x) for x in zip(*made, strict=True)]
    for i, n in enumerate(lengths):
        k[i, :, n:], v[i, :, n:] = NAN, NAN
    more = {"lengths": ints(lengths)} if limited else {}

    def call():
        out, lse = warploom.attention(q, k, v, causal, return_lse=True, **more)
        return near(out, wanted[0]) or near(lse, wanted[1], name="lse")

    return f"attention {b}x{h}/{g}x{s}x{t}x{d} {causal} {lengths if limited else ''}", call, 2


def paged(draw):
    h, g, d, causal = head_choice(draw)
    b, s, u = draw.randint(1, 2), draw.choice([1, 2, 9, 70]), draw.choice([64, 128])
    most, pages = draw.randint(1, 3), 8
    q, k, v = draw.tensor(b, h, s, d), draw.tensor(pages, g, u, d), draw.tensor(pages, g, u, d)
    own = draw.sample(range(pages), b * most)
    table = torch.tensor(own).reshape(b, most)
    lengths = [draw.choice([0, 1, u - 1, u, u + 1, most * u]) for _ in range(b)]
    lengths = [min(n, most * u) for n in lengths]
    lie = [x[table].transpose(1, 2).reshape(b, g, most * u, d).clone() for x in (k, v)]
    made = [heads(q[i], lie[0][i], lie[1][i], n, causal, d**-0.5) for i, n in enumerate(lengths)]
    wanted = [torch.stack(x) for x in zip(*made, strict=True)]
    counts = torch.zeros(pages, u, dtype=torch.bool)
    for i, n in enumerate(lengths):
        for j in range(most):
            counts[table[i, j], : max(0, n - j * u)] = True
            if n <= j * u:
                table[i, j] = draw.choice([-1, pages, 1 << 30])
    for x in (k, v):
        x.transpose(1, 2)[~counts] = NAN

    def call():
        out, lse = warploom.attention(
            q, k, v, causal, pages=table.int(), lengths=ints(lengths), return_lse=True
        )
        return near(out, wanted[0]) or near(lse, wanted[1], name="lse")

    return f"paged {b}x{h}/{g}x{s}x{d} pages of {u}, {lengths} {causal}", call, 2


def packed(draw):
    h, g, d, causal = head_choice(draw)
    n = draw.randint(1, 4)
    rows, keys = draw.choice([1, 40, 140, 200]), draw.choice([1, 60, 150, 200])
    qs, ks = draw.starts(n, rows), draw.starts(n, keys)
    q, k, v = draw.tensor(rows, h, d), draw.tensor(keys, g, d), draw.tensor(keys, g, d)
    spoilt, outs, sums = draw.randrange(n), [], []
    for i in range(n):
        lie = [x.transpose(0, 1) for x in (q[qs[i] : qs[i + 1]],)]
        lie += [x[ks[i] : ks[i + 1]].transpose(0, 1) for x in (k, v)]
        out, lse = heads(*lie, ks[i + 1] - ks[i], causal, d**-0.5)
        outs.append(out.transpose(0, 1))
        sums.append(lse)
    out, lse = torch.cat(outs), torch.cat(sums, 1)
    for x in (k, v):
        x[ks[spoilt] : ks[spoilt + 1]] = NAN
    keep = torch.ones(rows, dtype=torch.bool)
    keep[qs[spoilt] : qs[spoilt + 1]] = False
    most = [max(1, *(b - a for a, b in pairwise(x))) for x in (qs, ks)]

    def call():
        found, sums = warploom.attention_packed(
            q, k, v, ints(qs), ints(ks), *most, causal, return_lse=True
        )
        return near(found[keep], out[keep]) or near(sums[:, keep], lse[:, keep], name="lse")

    return f"packed {h}/{g}x{d} {qs} {ks} {causal} NaN in {spoilt}", call, 2


def backward(draw):
    h, g, d, causal = head_choice(draw)
    b, s, t = 1, draw.choice([3, 64, 70]), draw.choice([1, 60, 100, 130])
    given = draw.tensor(b, h, s, d), draw.tensor(b, g, t, d), draw.tensor(b, g, t, d)
    grad = draw.tensor(b, h, s, d)
    n = draw.choice([0, 1, t // 2, t])
    limited = draw.random() < 0.7
    n = n if limited else t
    inputs = [x.to(F64).clone().requires_grad_() for x in given]
    out, lse = heads(inputs[0][0], inputs[1][0], inputs[2][0], n, causal, d**-0.5)
    wanted = torch.autograd.grad(out, inputs, grad[0].to(F64), allow_unused=True)
    wanted = [torch.zeros_like(x) if w is None else w for x, w in zip(inputs, wanted, strict=True)]
    wanted = [w.nan_to_num(0.0) for w in wanted]  # of rows that see nothing
    out, lse = out.detach()[None].bfloat16(), lse.detach()[None].float()
    for x in given[1:]:
        x[:, :, n:] = NAN
    more = {"lengths": ints([n])} if limited else {}
    more["deterministic"] = draw.random() < 0.2 and s * t < 64 * 64

    def call():
        found = warploom.attention_backward(grad, *given, out, lse, causal, **more)
        for name, x, y in zip(("dq", "dk", "dv"), found, wanted, strict=True):
            if said := near(x, y, name=name):
                return said
        return ""

    said = f"backward {h}/{g}x{s}x{t}x{d} {causal} {n if limited else ''}"
    return said + (" deterministic" if more["deterministic"] else ""), call, 1


def grouped(draw):
    e, t, n, k = draw.randint(1, 4), draw.size(200), draw.size(200), draw.size(200)
    x, w = draw.tensor(t, k), draw.tensor(e, n, k)
    starts, spoilt = draw.starts(e, t), draw.randrange(e)
    wanted = torch.cat(
        [x[a:b].to(F64) @ w[i].to(F64).T for i, (a, b) in enumerate(pairwise(starts))]
    )
    w[spoilt] = NAN
    keep = torch.ones(t, dtype=torch.bool)
    keep[starts[spoilt] : starts[spoilt + 1]] = False

    def call():
        return near(warploom.grouped_gemm(x, w, ints(starts))[keep], wanted[keep])

    return f"grouped {t}x{n}x{k} {starts} NaN in {spoilt}", call, 2


def weights(draw):
    e, t, n, k = draw.randint(1, 4), draw.size(200), draw.size(200), draw.size(200)
    y, x = draw.tensor(t, n), draw.tensor(t, k)
    starts, spoilt = draw.starts(e, t), draw.randrange(e)
    pairs = list(pairwise(starts))
    wanted = torch.stack([y[a:b].to(F64).T @ x[a:b].to(F64) for a, b in pairs])
    a, b = pairs[spoilt]
    x[a:b] = y[a:b] = NAN
    keep = [i for i in range(e) if i != spoilt]

    def call():
        return near(warploom.grouped_gemm_weights(y, x, ints(starts))[keep], wanted[keep])

    return f"weights {t}x{n}x{k} {starts} NaN in {spoilt}", call, 2


def swiglu(draw):
    m, n, k = (draw.size(200) for _ in "mnk")
    x, gate, up = draw.tensor(m, k), draw.tensor(n, k), draw.tensor(n, k)
    wanted = ACTIVATIONS["silu"](x.to(F64) @ gate.to(F64).T) * (x.to(F64) @ up.to(F64).T)
    return f"swiglu {m}x{n}x{k}", lambda: near(warploom.swiglu(x, gate, up), wanted), 2


def packed_backward(draw):
    h, g, d, causal = head_choice(draw)
    n, rows, keys = draw.randint(1, 4), draw.choice([40, 140]), draw.choice([60, 150])
    qs, ks = draw.starts(n, rows), draw.starts(n, keys)
    given = draw.tensor(rows, h, d), draw.tensor(keys, g, d), draw.tensor(keys, g, d)
    grad = draw.tensor(rows, h, d)
    inputs = [x.to(F64).clone().requires_grad_() for x in given]
    outs, sums = [], []
    for i in range(n):
        lie = [inputs[0][qs[i] : qs[i + 1]], *(x[ks[i] : ks[i + 1]] for x in inputs[1:])]
        out, lse = heads(*(x.transpose(0, 1) for x in lie), ks[i + 1] - ks[i], causal, d**-0.5)
        outs.append(out.transpose(0, 1))
        sums.append(lse)
    out = torch.cat(outs)
    wanted = torch.autograd.grad(out, inputs, grad.to(F64))
    wanted = [w.nan_to_num(0.0) for w in wanted]  # of rows that see nothing
    out, lse = out.detach().bfloat16(), torch.cat(sums, 1).detach().float()
    spoilt, which = draw.randrange(n), draw.randrange(4)
    starts = qs if which in (0, 3) else ks
    (*given, grad)[which][starts[spoilt] : starts[spoilt + 1]] = NAN
    keep = []
    for starts, size in ((qs, rows), (ks, keys), (ks, keys)):
        mine = torch.ones(size, dtype=torch.bool)
        mine[starts[spoilt] : starts[spoilt + 1]] = False
        keep.append(mine)

    def call():
        found = warploom.attention_packed_backward(
            grad, *given, out, lse, ints(qs), ints(ks), causal
        )
        for name, x, y, mine in zip(("dq", "dk", "dv"), found, wanted, keep, strict=True):
            if said := near(x[mine], y[mine], name=name):
                return said
        return ""

    return f"packed backward {h}/{g}x{d} {qs} {ks} {causal} NaN in {which} of {spoilt}", call, 1


def tilted(x, b, h, i, j):
    return x * 0.5 + (j - i) * 0.01


def near_keys(b, h, i, j):
    return (j <= i) & (i - j < 50)


def flexible(draw):
    """Functions of the caller, sinks, and lists of blocks; with lengths or without."""
    from torch.nn.attention.flex_attention import create_block_mask

    h, g, d, _ = head_choice(draw)
    b, s, t = 1, draw.choice([3, 70, 130, 300]), draw.choice([60, 100, 130, 300])
    q, k, v = draw.tensor(b, h, s, d), draw.tensor(b, g, t, d), draw.tensor(b, g, t, d)
    score = draw.choice([None, tilted])
    kind = draw.choice(["none", "function", "blocks"])
    n = draw.choice([0, 1, t // 2, t, t]) if draw.random() < 0.6 else None
    sinks = torch.randn(h, generator=draw.torch) if draw.random() < 0.3 else None
    i, j = torch.arange(s)[:, None], torch.arange(t)[None]
    seen = near_keys(0, 0, i, j) if kind != "none" else torch.ones(s, t, dtype=torch.bool)
    seen = seen & (j < (t if n is None else n))
    x = q.to(F64) @ k.to(F64).repeat_interleave(h // g, 1).mT * d**-0.5
    x = (x if score is None else tilted(x, 0, 0, i, j)).masked_fill(~seen, -torch.inf)
    total = x if sinks is None else torch.cat(
        [x, sinks.to(F64)[None, :, None, None].expand(b, h, s, 1)], -1
    )  # fmt: skip
    lse = total.logsumexp(-1)
    weights = torch.where(lse[..., None] == -torch.inf, 0.0, (x - lse[..., None]).exp())
    wanted = weights @ v.to(F64).repeat_interleave(h // g, 1)
    visible = near_keys if kind == "function" else None
    if kind == "blocks":
        visible = create_block_mask(near_keys, None, None, s, t, device="cpu")
    if n is not None:
        k[:, :, n:], v[:, :, n:] = NAN, NAN
    more = {} if n is None else {"lengths": ints([n])}

    def call():
        out, sums = warploom.attention(
            q, k, v, score=score, visible=visible, sinks=sinks, return_lse=True, **more
        )
        return near(out, wanted) or near(sums, lse, name="lse")

    said = f"flexible {h}/{g}x{s}x{t}x{d} {kind} score={score is not None} {n} {sinks is not None}"
    return said, call, 2


def gathered(draw):
    e, t, n, k = (
        draw.randint(1, 3),
        draw.choice([1, 60, 130]),
        draw.size(200),
        draw.choice([64, 72]),
    )
    rows = draw.choice([5, 90])
    x, w = draw.tensor(rows, k), draw.tensor(e, n, k)
    starts = draw.starts(e, t)
    tokens = [draw.randrange(-2, rows + 2) for _ in range(t)]
    exists = [0 <= i < rows for i in tokens]
    lie = torch.stack([x[i].to(F64) if ok else torch.zeros(k, dtype=F64)
                       for i, ok in zip(tokens, exists, strict=True)])  # fmt: skip
    wanted = torch.cat([lie[a:b] @ w[i].to(F64).T for i, (a, b) in enumerate(pairwise(starts))])
    unused = [i for i in range(rows) if i not in tokens]
    x[unused] = NAN

    def call():
        return near(warploom.grouped_gemm(x, w, ints(starts), tokens=ints(tokens)), wanted)

    return f"gathered {t} of {rows}x{n}x{k} {starts}", call, 2


def scattered(draw):
    e, t, n, k = draw.randint(1, 3), draw.choice([1, 60, 130]), draw.choice([8, 64, 100]), 64
    rows = draw.choice([5, 90])
    x, w = draw.tensor(t, k), draw.tensor(e, n, k)
    starts = draw.starts(e, t)
    to = [draw.randrange(-2, rows + 2) for _ in range(t)]
    factor = torch.randn(t, generator=draw.torch)
    made = torch.cat([x[a:b].to(F64) @ w[i].to(F64).T for i, (a, b) in enumerate(pairwise(starts))])
    first = torch.randn(rows, n, generator=draw.torch)
    wanted = first.to(F64).clone()
    for i, at in enumerate(to):
        if 0 <= at < rows:
            wanted[at] += made[i] * factor[i]

    def call():
        found = warploom.grouped_gemm(
            x, w, ints(starts), rows=ints(to), weight=factor, out=first.clone()
        )
        return near(found, wanted)

    return f"scattered {t} to {rows}x{n} {starts}", call, 2


CALLS = (
    *(gemm, gemm, attention, attention, paged, packed, packed_backward, backward, backward),
    *(flexible, flexible, grouped, weights, swiglu, gathered, scattered),
)


def run(seed):
    """One call: its line of results."""
    draw = Draw(seed)
    draw.torch = torch.Generator().manual_seed(seed)
    said, call, times = draw.choice(CALLS)(draw)
    start, found = time.time(), "right"
    try:
        # CTAs that wait for one another would have to run together
        sms = 1 if said.endswith("deterministic") else draw.choice([1, 2, 5])
        with executing(sms=sms, seed=seed + 1):
            for _ in range(times):
                if wrong := call():
                    found = wrong
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
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so many")
    asked = parser.parse_args()
    done, began = set(), time.time()
    if asked.results.exists():
        done = {json.loads(x)["seed"] for x in asked.results.read_text().splitlines()}
    with asked.results.open("a") as file:
        for seed in range(asked.first, asked.first + asked.count):
            if seed in done or time.time() - began > asked.seconds:
                continue
            line = run(seed)
            file.write(json.dumps(line) + "\n")
            file.flush()
            if line["found"] != "right":
                print(json.dumps(line), flush=True)
    lines = [json.loads(x) for x in asked.results.read_text().splitlines()]
    for what, count in Counter(x["found"].partition(":")[0] for x in lines).most_common():
        print(f"{count:6} {what}")


if __name__ == "__main__":
    main()
