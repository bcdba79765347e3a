"""Calls of the shipped kernels: kernels, types, sizes and edge sizes, the same ones every time."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

import warploom as wl
from warploom.compiler.compiled import Compiled
from warploom.frontend.pointwise import rounded
from warploom.ir.tile import Access, DType
from warploom.kernels.attention import attention, packed
from warploom.kernels.gemm import gemm
from warploom.kernels.grouped import grouped
from warploom.kernels.rms_gemm import rms_gemm
from warploom.kernels.swiglu import swiglu

KERNELS = {t.name: t for t in (gemm, swiglu, rms_gemm, attention, packed, grouped)}
EDGES = (1, 7, 8, 16, 31, 64, 65, 100, 127, 128, 129, 192, 200, 257, 333, 384)
TOLERANCE = {"bf16": 1.6e-2, "f16": 3e-3, "f32": 2e-3, "e4m3": 1.6e-2}
ACTIVATIONS = {"none": None, "relu": wl.relu, "gelu": wl.gelu, "silu": wl.silu}


@dataclass(frozen=True)
class Case:
    """One call: a kernel, types, sizes, choices, optional tensors, scalars, pins."""

    text: str
    sizes: dict
    types: dict
    choices: dict = field(default_factory=dict)
    optional: tuple = ()
    scalars: dict = field(default_factory=dict)
    pins: dict = field(default_factory=dict)
    seed: int = 0

    def __str__(self):
        sizes = "x".join(f"{a}{n}" for a, n in self.sizes.items())
        kinds = "-".join(dict.fromkeys(self.types.values()))
        named = [str(v) for v in self.choices.values() if v] + list(self.optional)
        pinned = [f"{k}={v}" for k, v in self.pins.items()]
        return "_".join([self.text, sizes, kinds, *named, *pinned])

    @cached_property
    def kernel_text(self):
        text = KERNELS[self.text]
        return text.with_config(**self.pins) if self.pins else text

    @property
    def constants(self):
        return {n: ACTIVATIONS[v] if n == "activation" else v for n, v in self.choices.items()}

    @property
    def left_out(self):
        tensors = self.kernel_text.signature.tensors
        return {t.name for t in tensors if t.optional and t.name not in self.optional}

    @property
    def compiled(self) -> Compiled:
        """What a call of this case compiles."""
        text = self.kernel_text
        types = {n: t for n, t in self.types.items() if n not in self.left_out}
        positive = {n for n, v in self.scalars.items() if v > 0}
        return text.compile(
            types,
            sizes=self.sizes,
            constants=self.constants,
            without=self.left_out,
            positive=positive,
        )

    def arrays(self):
        """Inputs by name, as values of their types."""
        rng = np.random.default_rng(self.seed)
        found = {}
        for t in self.kernel_text.signature.inputs:
            if t.name in self.left_out:
                continue
            shape = [-(-self.sizes[a.name] // a.per) for a in t.axes]
            if t.access is Access.STARTS:
                axis = {"q_starts": "s", "k_starts": "t"}.get(t.name, "t")
                cuts = np.sort(rng.integers(0, self.sizes[axis] + 1, shape[0] - 1))
                found[t.name] = np.array([0, *cuts, self.sizes[axis]])
            elif t.name == "lengths":
                most = self.sizes["t"] if "t" in self.sizes else self.sizes["j"] * self.sizes["u"]
                found[t.name] = rng.integers(0, most + 1, shape)
            else:
                dtype = DType(self.types.get(t.name, t.dtype))
                found[t.name] = rounded(rng.normal(size=shape), dtype)
        return found

    def reference(self, arrays):
        """The NumPy results, as a tuple."""
        types = {n: t for n, t in self.types.items() if n not in self.left_out}
        given = [t for t in self.kernel_text.signature.inputs if t.name not in self.left_out]
        known = {a.name for t in given for a in t.axes}
        made = self.kernel_text.reference(
            **arrays,
            types=types,
            sizes={a: n for a, n in self.sizes.items() if a not in known},
            without=self.left_out,
            **self.constants,
            **self.scalars,
        )
        return made if isinstance(made, tuple) else (made,)


def _gemms(draw):
    kinds = [("bf16", "bf16"), ("f16", "f16"), ("bf16", "f32"), ("e4m3", "bf16"), ("f16", "f32")]
    pins = [{}, {"m": 128, "n": 256}, {"m": 256, "n": 128}, {"m": 64, "n": 64}]
    for i in range(110):
        kind, out = kinds[i % len(kinds)]
        extra = ((), ("bias",), ("residual",), ("bias", "residual"))
        optional = extra[draw.randrange(4)] if i % 3 == 0 else ()
        types = {"a": kind, "b": kind, "out": out, "bias": out, "residual": out}
        yield Case(
            "gemm",
            {"m": draw.choice(EDGES), "n": draw.choice(EDGES), "k": draw.choice(EDGES)},
            types,
            {"activation": draw.choice(list(ACTIVATIONS)) if i % 3 == 0 else "none"},
            optional,
            {"alpha": 1.0 if i % 2 else -0.75},
            pins[1 + i % 3] if i % 4 else pins[0],
            i,
        )


def _others(draw):
    for i in range(50):
        kind = "bf16" if i % 2 else "f16"
        sizes = {"m": draw.choice(EDGES), "n": draw.choice(EDGES), "k": draw.choice(EDGES)}
        types = dict.fromkeys(("x", "gate", "up", "out"), kind)
        yield Case("swiglu", sizes, types, pins={"m": 128, "n": 128} if i % 5 else {}, seed=i)
    for i in range(50):
        kind = "bf16" if i % 2 else "f16"
        sizes = {"m": draw.choice(EDGES), "n": draw.choice(EDGES), "k": draw.choice(EDGES)}
        types = dict.fromkeys(("x", "w", "out"), kind)
        pins = {"m": 128, "n": 256} if i % 5 else {}
        yield Case("rms_gemm", sizes, types, scalars={"eps": 1e-5}, pins=pins, seed=i)
    for i in range(16):
        sizes = {"t": draw.choice(EDGES[5:]), "n": draw.choice(EDGES), "k": 192, "e": 1 + i % 5}
        types = dict.fromkeys(("x", "w", "out"), "bf16")
        yield Case("grouped", sizes, types, pins={"t": 128, "n": 128}, seed=i)


def _attentions(draw):
    for i in range(110):
        d, causal = (128, 64, 256)[i % 3], (False, True, "end")[i // 3 % 3]
        kind = "bf16" if i % 4 else "f16"
        g = draw.choice((1, 2))
        sizes = {"b": draw.choice((1, 2)), "h": g * draw.choice((1, 2)), "g": g}
        sizes |= {"s": draw.choice(EDGES), "t": draw.choice((*EDGES, 500)), "d": d}
        optional = ((), ("lse",), ("lse", "lengths"))[i // 9 % 3]
        types = dict.fromkeys(("q", "k", "v", "out"), kind)
        scalars = {"scale": draw.choice((0.125, 0.7))}
        pins = {128: {"s": 128, "t": 128}, 64: {"s": 128, "t": 128}, 256: {"s": 128, "t": 80}}[d]
        yield Case("attention", sizes, types, {"causal": causal}, optional, scalars, pins, i)
    for i in range(24):
        d, causal = (128, 64)[i % 2], (False, True, "end")[i // 2 % 3]
        sizes = {"i": 1 + i % 5, "h": 4, "g": (1, 2, 4)[i % 3], "s": draw.choice(EDGES[5:])}
        sizes |= {"t": draw.choice(EDGES[5:]), "d": d}
        types = dict.fromkeys(("q", "k", "v", "out"), "bf16")
        pins = {"s": 128, "t": 128}
        yield Case("packed", sizes, types, {"causal": causal}, ("lse",), {"scale": 0.125}, pins, i)


def cases() -> list[Case]:
    """All of them."""
    draw = random.Random(7)
    return [*_gemms(draw), *_others(draw), *_attentions(draw)]


def distinct(found: list[Case]) -> dict[str, Case]:
    """One case for every kernel that has to be compiled."""
    return {kernel_key(c): c for c in found}


def kernel_key(case: Case) -> str:
    """What is compiled for a case."""
    made = case.compiled
    return f"{made.rewritten!r} {made.choices[0].config!r}"


__all__ = ["Case", "TOLERANCE", "cases", "distinct", "kernel_key"]
