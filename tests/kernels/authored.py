"""Kernels as authors write them: how a kernel is written in one line and a body, and short ones."""

from __future__ import annotations

import ast
import re

import numpy as np

import warploom as wl
from tests.frontend.random_kernels import RandomKernel
from tests.frontend.sources import run_source
from warploom.ir.tile import Access

PRODUCT = """    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
"""


class Written:
    """A text, its sizes, whole axes, scalars, types that are not bf16, and what a refusal says.

    All of it stands in one line before the body: ``name | x: m k, g: k f32 -> out: m n | m=100
    n=72 k=136 | whole n | scalar eps=1e-5 | type out=e4m3 | says no room``. Lines that begin with
    ``|`` go on.
    """

    def __init__(self, head, body):
        self.name, tensors, sizes, *others = head.split(" | ")
        self.sizes = {a: int(n) for a, n in (s.split("=") for s in sizes.split())}
        self.whole, self.says, self.scalars, self.types = "", "", {}, {}
        for word, value in (other.split(" ", 1) for other in others):
            if word in ("whole", "says"):
                setattr(self, word, value)
            else:
                name, number = value.split("=")
                many = self.scalars if word == "scalar" else self.types
                many[name] = ast.literal_eval(number) if word == "scalar" else number
        parts = []
        for word, side in zip(("In", "Out"), tensors.split(" -> "), strict=True):
            for names, axes in (alike.split(": ") for alike in side.split(", ")):
                of = ", ".join(f'"{a}"' if len(a) == 1 else f"wl.{a}" for a in axes.split())
                parts += [f"{name}: wl.{word}[{of}]" for name in names.split()]
        kinds = [f"{n}: {type(v).__name__}" for n, v in self.scalars.items()]
        parts += ["*", *kinds] if kinds else []
        body = body.replace("    PRODUCT\n", PRODUCT)
        self.text = f"\n@wl.kernel\ndef kernel({', '.join(parts)}):\n{body}"


def read(texts):
    """By name; a line at the margin begins a text."""
    parts = re.split(r"\n(?=\w)", texts.replace("\n| ", " | ").strip("\n"))
    found = [Written(*part.split("\n", 1)) for part in parts]
    return {w.name: w for w in found}


class OfAuthors(RandomKernel):
    """A case whose labels are labels."""

    def arrays(self):
        found = list(super().arrays())
        names = [t.name for t in self.kernel.tensors if t.access is Access.IN]
        if "label" in names:
            at = names.index("label")
            found[at] = np.random.default_rng(1).integers(0, self.sizes["n"], found[at].shape)
        return tuple(found)


def case_of(made):
    signature = run_source(made.text, wl=wl)["kernel"].signature
    types = {t.name: "bf16" for t in signature.tensors if t.dtype is None} | made.types
    whole = {a: made.sizes[a] for a in made.whole}
    given = {"sizes": made.sizes, "whole": whole, "scalars": made.scalars}
    return OfAuthors(text=made.text, types=types, **given, seed=3)


CHEAP = read(
    """
two_chained | x y: m k, w v: n k -> out: m n | m=100 n=72 k=136
    PRODUCT
        acc += y[m, k] @ v[n, k].T
    out[m, n] = acc
into_used_twice | x: m k, w: n k -> out: m n | m=100 n=72 k=136
    m, n = wl.tile(out)
    acc, old = wl.zeros(m, n), wl.zeros(m, n)
    for k in wl.steps(x.k):
        old += wl.abs(acc) * 0.25
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc + old
row_sums_out | x: m k, w: n k -> out: m n, norm: m f32 | m=100 n=72 k=136
    PRODUCT
    out[m, n] = acc
    norm[m] += (acc * acc).sum(axis=1)
cross_entropy | x: m d, w: n d, label: m i32 -> loss lse most: m f32 | m=100 n=200 d=64 | whole d
    m = wl.tile(loss)
    xs = x[m]
    l, top, hit = wl.zeros(m), wl.full(m, -1.0e30), wl.zeros(m)
    for n in wl.steps(w.n):
        z = xs @ w[n].T
        hit += wl.where(wl.index(n) == label[m], z, 0.0).sum(axis=1)
        new = wl.maximum(top, z.max(axis=1))
        l = l * wl.exp(top - new) + wl.exp(z - new).sum(axis=1)
        top = new
    lse[m] = top + wl.log(l)
    loss[m] = top + wl.log(l) - hit
    most[m] = top
low_rank | x: m k, a: r k, b: n r -> out: m n | m=100 n=72 k=136 r=64 | whole r
    m = wl.tile("m")
    low = wl.zeros(m, a.r)
    for k in wl.steps(x.k):
        low += x[m, k] @ a[:, k].T
    for n in wl.steps(b.n):
        out[m, n] = low.to(x.dtype) @ b[n].T
argmax_i32 | x: m k, w: e k -> best: m f32, which: m i32 | m=100 e=64 k=136 | whole e
    m = wl.tile(best)
    acc = wl.zeros(m, w.e)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[:, k].T
    top = acc.max(axis=1)
    best[m] = wl.sigmoid(top)
    which[m] = wl.where(acc == top, wl.index(w.e), 1048576).min(axis=1)
least | x: m k -> out: m f32 | m=100 k=2
    # with more columns zeros past the end are seldom the least
    m = wl.tile(out)
    low = wl.full(m, 100.0)
    for k in wl.steps(x.k):
        low = wl.minimum(low, wl.exp(x[m, k]).min(axis=1))
    out[m] = low
rounded_down | x: m k -> q: m i32, s: m f32 | m=100 k=136 | scalar by=-3
    m = wl.tile(q)
    i, acc = wl.index(m) - 50, wl.zeros(m)
    for k in wl.steps(x.k):
        j = wl.index(k) - 60  # quotients and remainders of negative numbers, too
        acc += wl.where(j // 8 == i // 8, x[m, k], 0.0).sum(axis=1)
        acc += ((j % 7) * x[m, k] + (j // by) * 0.01).sum(axis=1)
    q[m] = i // 7 + 3 * (i % 16) + i // by
    s[m] = acc
complex_state | x: m k, angle: m f32 -> a b c: m f32 | m=100 k=300
    m = wl.tile(a)
    cos, sin = wl.cos(angle[m]), wl.sin(angle[m])
    re, im, last, sums = wl.zeros(m), wl.zeros(m), wl.zeros(m), wl.zeros(m)
    for k in wl.steps(x.k, 64):
        s = x[m, k].to(wl.f32).sum(axis=1)
        re, im = re * cos - im * sin + s, re * sin + im * cos
        sums += last * s
        last = s
    a[m] = re
    b[m] = im
    c[m] = sums
swapped | x: m k -> out other: m f32 | m=100 k=300
    m = wl.tile(out)
    a, b, c, d = wl.zeros(m), wl.full(m, 1.0), wl.zeros(m), wl.full(m, 2.0)
    for k in wl.steps(x.k, 64):
        s = x[m, k].to(wl.f32).sum(axis=1) + 0.25 * d
        a, b = b, 0.5 * a + s
        c, d = s, s
    out[m] = a + c
    other[m] = b - d
embedded | x: n k, w: j k, label: m i32 -> out: m j | m=128 n=40 k=128 j=72
    # all rows exist, in whole lines
    m, j = wl.tile(out)
    acc = wl.zeros(m, j)
    for k in wl.steps(x.k):
        acc += x[label[m], k] @ w[j, k].T
    out[m, j] = acc
"""
)
BEGINS = """
{} | x: m k, w: n k, bias: n f32, side: m f32 -> out: m n, most: m f32 | m=100 n=71 k=136
    m, n = wl.tile(out)
    acc, s = {}, side[m] * 2.0
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
        s += x[m, k].to(wl.f32).sum(axis=1)
    out[m, n] = acc + s
    most[m] += wl.exp(acc).sum(axis=1)  # columns that are not there do not count
"""
CHEAP |= read(BEGINS.format("begins_1", "wl.zeros(m, n) + side[m]"))
