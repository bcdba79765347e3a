"""Public calls with random sizes, layouts and options, and what they should give, in float64."""

from __future__ import annotations

import random
from itertools import pairwise

import torch

import warploom

functional = torch.nn.functional
KINDS = {"bf16": torch.bfloat16, "f16": torch.float16}


class Draw:
    """Random numbers of one call, and tensors made of them.

    ``again`` keeps all but the sizes, which stay of the same kind: most such calls take a kernel
    that is there already.
    """

    def __init__(self, seed, again=0):
        self.rng = random.Random(seed)
        self.sizes = random.Random(f"{seed} {again}")
        self.said = {}
        torch.manual_seed(self.sizes.getrandbits(40))

    def pick(self, name, *options):
        self.said[name] = self.rng.choice(options)
        return self.said[name]

    def size(self, name, most, step=1):
        """Few, some, many; often beside a multiple of what tiles have."""
        how, r = self.rng.randrange(5), self.sizes
        top = min(most, (40, 300, 1200, most, most)[how])
        n = r.randint(1, top)
        if how == 4:
            n = 64 * r.randint(1, max(1, most // 64)) + r.choice((-8, 0, 0, 8, 1))
        n = max(step, min(most, n) // step * step)
        self.said[name] = n
        return n

    def tensor(self, name, *shape, kind=torch.bfloat16, scale=1.0, turn=True):
        """As it lies: whole, in a wider one, or (of matrices) by columns."""
        lies = self.pick(f"{name} lies", "whole", "whole", "wide", *(["turned"] if turn else []))
        if lies == "turned":
            shape = (*shape[:-2], shape[-1], shape[-2])
        more = 8 * self.rng.randint(1, 4) if lies == "wide" else 0
        x = torch.randn(*shape[:-1], shape[-1] + more, device="cuda") * scale
        x = x.to(kind)[..., : shape[-1]]
        return x.mT if lies == "turned" else x


def worst(found, wanted):
    """The farthest row, in units of its own length or of a usual one, whichever is longer."""
    found, wanted = (x.double().reshape(-1, x.shape[-1]) for x in (found, wanted))
    if not found.numel():
        return 0.0
    if not torch.isfinite(found).all():
        return float("inf")
    size = wanted.norm(dim=-1)
    size = torch.maximum(size, size.square().mean().sqrt()).clamp_min(1e-6)
    return ((found - wanted).norm(dim=-1) / size).max().item()


def gemm(d):
    """With its layouts, epilogues and types."""
    m, n, k = (d.size(x, 9000) for x in "mnk")
    kind = d.pick("kind", "bf16", "bf16", "f16", "e4m3")
    if kind == "e4m3":
        k = max(16, k // 16 * 16)
        a, b = (torch.randn(r, k, device="cuda").to(torch.float8_e4m3fn) for r in (m, n))
        b = b.T
    else:
        k = k if d.rng.randrange(4) == 0 else max(8, k // 8 * 8)
        a = d.tensor("a", m, k, kind=KINDS[kind])
        b = d.tensor("b", k, n, kind=KINDS[kind])
    d.said["k"] = k
    more = {}
    wanted = a.double() @ b.double()
    if d.pick("alpha", 0, 0, 1):
        more["alpha"] = -0.75
        wanted = wanted * -0.75
    if d.pick("bias", 0, 0, 1):
        more["bias"] = torch.randn(n, device="cuda").to(torch.bfloat16)
        wanted = wanted + more["bias"].double()
    if d.pick("residual", 0, 0, 0, 1):
        more["residual"] = torch.randn(m, n, device="cuda").to(torch.bfloat16)
    acts = {
        "none": lambda x: x,
        "relu": torch.relu,
        "gelu": functional.gelu,
        "silu": functional.silu,
    }
    name = d.pick("activation", "none", "none", *acts)
    wanted = acts[name](wanted)
    if "residual" in more:
        wanted = wanted + more["residual"].double()
    more["activation"] = name
    yield "fp8" if kind == "e4m3" else "gemm", lambda: warploom.gemm(a, b, **more), wanted


def swiglu(d):
    m, n, k = d.size("m", 5000), d.size("n", 9000), d.size("k", 3000, 8)
    x, act = d.tensor("x", m, k, turn=False), d.pick("activation", "silu", "gelu")
    make = {"silu": functional.silu, "gelu": functional.gelu}[act]
    if d.pick("interleaved", 0, 1):
        w = torch.randn(2 * n, k, device="cuda").bfloat16()
        gate, up, args = w[0::2], w[1::2], (x, w)
    else:
        gate, up = (d.tensor(f, n, k, turn=False) for f in ("gate", "up"))
        args = (x, gate, up)
    wanted = make(x.double() @ gate.double().T) * (x.double() @ up.double().T)
    yield "swiglu", lambda: warploom.swiglu(*args, activation=act), wanted


def starts_of(d, most):
    """Offsets of groups, some of which are empty."""
    e = d.pick("e", 1, 2, 3, 5, 8, 17, 64)
    r = d.sizes
    sizes = [r.choice((0, 1, r.randint(0, 70), r.randint(0, most))) for _ in range(e)]
    d.said["sizes"] = sizes
    if not sum(sizes):
        sizes[0] = 5
    return torch.tensor([0, *sizes], device="cuda").cumsum(0).int(), sum(sizes)


def by_group(starts, x, w):
    """Rows of a group times its weights."""
    at = starts.tolist()
    return torch.cat([x[a:b].double() @ w[e].double() for e, (a, b) in enumerate(pairwise(at))])


def groups(d):
    """All forms of a grouped product, its gradients, rows picked and added by number."""
    starts, t = starts_of(d, d.rng.choice((200, 1500, 5000)))
    e, n, k = len(starts) - 1, d.size("n", 5000, 8), d.size("k", 3000, 8)
    x, w = d.tensor("x", t, k, turn=False), torch.randn(e, n, k, device="cuda").bfloat16()
    form = d.pick("form", "plain", "plain", "gated", "picked", "added", "back", "weights")
    if form == "plain":
        yield "groups", lambda: warploom.grouped_gemm(x, w, starts), by_group(starts, x, w.mT)
    elif form == "gated":
        up = torch.randn_like(w)
        wanted = functional.silu(by_group(starts, x, w.mT)) * by_group(starts, x, up.mT)
        yield "groups", lambda: warploom.grouped_gemm(x, w, starts, up=up), wanted
    elif form == "picked":
        s = d.size("s", 3000)
        few = torch.randn(s, k, device="cuda").bfloat16()
        at = torch.randint(-1, s + 1, (t,), device="cuda").int()
        lies = few[at.clamp(0, s - 1).long()] * ((at >= 0) & (at < s))[:, None]
        call = lambda: warploom.grouped_gemm(few, w, starts, tokens=at)  # noqa: E731
        yield "groups", call, by_group(starts, lies, w.mT)
    elif form == "added":
        s = d.size("s", 3000)
        at, weight = torch.randint(-1, s, (t,), device="cuda").int(), torch.rand(t, device="cuda")
        kept, rows = at >= 0, by_group(starts, x, w.mT) * weight[:, None]
        sums = torch.randn(s, n, device="cuda")
        wanted = sums.double().index_add(0, at[kept].long(), rows[kept])
        given = {"rows": at, "weight": weight}
        yield "sums", lambda: warploom.grouped_gemm(x, w, starts, out=sums, **given), wanted
    elif form == "back":
        g = torch.randn(t, n, device="cuda").bfloat16()
        call = lambda: warploom.grouped_gemm(g, w, starts, transposed=True)  # noqa: E731
        yield "groups", call, by_group(starts, g, w)
    else:
        g = torch.randn(t, n, device="cuda").bfloat16()
        at = starts.tolist()
        wanted = torch.stack([g[a:b].double().T @ x[a:b].double() for a, b in pairwise(at)])
        yield "groups", lambda: warploom.grouped_gemm_weights(g, x, starts), wanted


def scaled(d):
    """Block scales, by groups too."""
    n, k = 128 * d.size("n/128", 40), 128 * d.size("k/128", 30)
    wide = lambda s, rows: s.repeat_interleave(rows, -2).repeat_interleave(128, -1).double()  # noqa: E731
    fp8 = lambda *shape: torch.randn(*shape, device="cuda").to(torch.float8_e4m3fn)  # noqa: E731
    some = lambda *shape: torch.rand(*shape, device="cuda") + 0.5  # noqa: E731
    if d.pick("groups", 0, 0, 1):
        starts, t = starts_of(d, d.rng.choice((200, 3000)))
        e = len(starts) - 1
        a, b, sa, sb = fp8(t, k), fp8(e, n, k), some(t, k // 128), some(e, n // 128, k // 128)
        wanted = by_group(starts, a.double() * wide(sa, 1), (b.double() * wide(sb, 128)).mT)
        yield "fp8", lambda: warploom.gemm_block_scaled(a, sa, b, sb, starts=starts), wanted
        return
    m = d.size("m", 8000)
    a, b, sa, sb = fp8(m, k), fp8(n, k), some(m, k // 128), some(n // 128, k // 128)
    sa = sa.T.contiguous().T if d.pick("by columns", 0, 1) else sa
    wanted = (a.double() * wide(sa, 1)) @ (b.double() * wide(sb, 128)).T
    yield "fp8", lambda: warploom.gemm_block_scaled(a, sa, b, sb), wanted


def quantised(d):
    m, n, k = d.size("m", 600), d.size("n", 9000, 8), 128 * d.size("k/128", 60)
    x, scale = d.tensor("x", m, k, turn=False), torch.rand(n, k // 128, device="cuda")
    if d.pick("bits", 4, 8) == 4:
        w = torch.randint(0, 256, (n, k // 2), device="cuda", dtype=torch.uint8)
        numbers = torch.stack([w & 15, w >> 4], -1).flatten(1).double() - 8
    else:
        w = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn)
        numbers = w.double()
    wanted = x.double() @ (numbers * scale.repeat_interleave(128, 1)).T
    yield "quantised", lambda: warploom.gemm_quantised(x, w, scale), wanted


slopes = prefix = document = None  # of the call that is drawn


def alibi(x, b, h, i, j):
    return x + slopes[h] * (j - i)


def softcap(x, b, h, i, j):
    return 20.0 * torch.tanh(x / 20.0)


def window(b, h, i, j):
    return (i >= j) & (i - j <= 100)


def seen(b, h, i, j):
    return (j < prefix[b]) | (i >= j)


def same(b, h, i, j):
    return document[b, i] == document[b, j]


SCORES = {"alibi": alibi, "softcap": softcap}
MASKS = {"window": window, "seen": seen, "same": same}


def plain(q, k, v, causal, score, mask, lengths):
    """In float64; rows that see nothing give 0."""
    b, h, s, dim = q.shape
    t, share = k.shape[2], h // k.shape[1]
    if not s or not t:
        return torch.zeros_like(q, dtype=torch.float64)
    k, v = (x.double().repeat_interleave(share, 1) for x in (k, v))
    at = [torch.arange(n, device="cuda") for n in (b, h, s, t)]
    at = [x.view([-1 if a == n else 1 for a in range(4)]) for n, x in enumerate(at)]
    x = q.double() @ k.mT * dim**-0.5
    x = score(x, *at) if score else x
    shown = torch.ones(b, h, s, t, dtype=torch.bool, device="cuda")
    shown = shown & mask(*at) if mask else shown
    if causal:
        end = t if lengths is None else lengths.view(-1, 1, 1, 1)
        shown = shown & (at[2] + (end - s if causal == "lower_right" else 0) >= at[3])
    if lengths is not None:
        shown = shown & (at[3] < lengths.view(-1, 1, 1, 1))
    x = x.masked_fill(~shown, float("-inf"))
    p = (x - x.amax(-1, keepdim=True).clamp_min(-1e30)).exp()
    return p @ v / p.sum(-1, keepdim=True).clamp_min(1e-300)


def attention(d):
    """Masks, functions, lengths, shared heads, strides; gradients of some."""
    global slopes, prefix, document  # functions are read with what they capture  # noqa: PLW0603
    b, g, dim = d.pick("b", 1, 2, 3), d.pick("g", 1, 2, 4), d.pick("d", 64, 128, 128, 256, 192)
    h = g * d.pick("share", 1, 1, 2, 4, 8)
    s, t = d.size("s", 2500), d.size("t", 2500)
    if d.pick("square", 0, 1):
        s = d.said["s"] = t
    kind = KINDS[d.pick("kind", "bf16", "f16")]
    q, k, v = (
        torch.randn(b, x, n, dim, device="cuda").to(kind) for x, n in ((h, s), (g, t), (g, t))
    )
    if d.pick("rows first", 0, 1):
        q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
    slopes = torch.rand(h, device="cuda") * 0.1
    prefix = torch.randint(0, t + 1, (b,), device="cuda").int()
    document = torch.randint(0, 4, (b, max(s, t)), device="cuda").sort().values.int()
    causal = d.pick("causal", False, False, True, "lower_right")
    score = SCORES.get(d.pick("score", "", "", *SCORES))
    mask = MASKS.get(d.pick("mask", "", "", *MASKS))
    lengths = None
    if not mask and not score and d.pick("lengths", 0, 0, 1):
        lengths = torch.randint(0, t + 1, (b,), device="cuda").int()
    given = {"score": score, "visible": mask, "lengths": lengths}
    wanted = plain(q, k, v, causal, score, mask, lengths)
    yield "attention", lambda: warploom.attention(q, k, v, causal, **given), wanted
    if lengths is not None or dim == 192 or causal == "lower_right" or d.rng.randrange(3):
        return
    leaves = [x.double().requires_grad_() for x in (q, k, v)]
    grad = torch.randn_like(q)
    plain(*leaves, causal, score, mask, None).backward(grad.double())
    out, lse = warploom.attention(q, k, v, causal, return_lse=True, **given)
    found = warploom.attention_backward(grad, q, k, v, out, lse, causal, score=score, visible=mask)
    for name, mine, leaf in zip("qkv", found, leaves, strict=True):
        d.said["gradient of"] = name
        yield "gradients", lambda mine=mine: mine, leaf.grad


def packed(d):
    """Sequences one after another, queries and keys of other lengths."""
    r, many = d.sizes, d.pick("b", 1, 2, 5, 9)
    lengths = [r.choice((0, 1, r.randint(1, 130), r.randint(1, 1500))) for _ in range(many)]
    lengths[0] = max(lengths[0], 1)
    alike = d.pick("alike", 0, 1, 1)
    other = lengths if alike else [r.randint(1, 900) for _ in lengths]
    d.said |= {"lengths": lengths, "keys": other}
    g, dim = d.pick("g", 1, 2, 4), d.pick("d", 64, 128, 256)
    h, causal = g * d.pick("share", 1, 2, 4), d.pick("causal", False, True, "lower_right")
    starts, kstarts = (
        torch.tensor([0, *x], device="cuda").cumsum(0).int() for x in (lengths, other)
    )
    q = torch.randn(sum(lengths), h, dim, device="cuda").bfloat16()
    k, v = (torch.randn(sum(other), g, dim, device="cuda").bfloat16() for _ in "kv")
    at, kat, rows = starts.tolist(), kstarts.tolist(), []
    for n in range(len(lengths)):
        one = [x[a[n] : a[n + 1]].transpose(0, 1)[None] for x, a in ((q, at), (k, kat), (v, kat))]
        rows.append(plain(*one, causal, None, None, None)[0].transpose(0, 1))
    call = lambda: warploom.attention_packed(  # noqa: E731
        q, k, v, starts, kstarts, max(lengths), max(other), causal
    )
    yield "attention", call, torch.cat(rows)


PARTS = {f.__name__: f for f in (gemm, groups, attention, swiglu, scaled, quantised, packed)}
