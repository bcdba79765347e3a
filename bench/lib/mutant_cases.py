"""Calls of every shipped kernel with a loop, with more tiles than SMs, with known results."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from tests.kernels.cases import KERNELS, Case

import warploom as wl
from warploom.frontend.pointwise import rounded
from warploom.ir.tile import DType
from warploom.kernels.attention import blocked, paged
from warploom.kernels.attention_grad import (
    attention_grad,
    blocked_grad,
    blocked_values,
    packed_grad,
    packed_values,
    values_grad,
)
from warploom.kernels.block_scaled import block_scaled, block_scaled_pair
from warploom.kernels.gemm import turned
from warploom.kernels.grouped import (
    gathered_swiglu,
    grouped_gathered,
    grouped_input,
    grouped_scaled,
    grouped_scattered,
    grouped_swiglu,
    grouped_weights,
)
from warploom.kernels.int4_gemm import fp8_gemm, int4_gemm
from warploom.kernels.measured import SCANS
from warploom.kernels.registry import measured
from warploom.kernels.scan import scan, scan_parts

KERNELS.update(
    {
        t.name: t
        for t in (
            *(paged, attention_grad, packed_grad, values_grad, packed_values, block_scaled, turned),
            *(blocked, blocked_grad, blocked_values, gathered_swiglu, grouped_scattered),
            *(grouped_gathered, grouped_input, grouped_scaled, grouped_swiglu, grouped_weights),
            *(fp8_gemm, int4_gemm, scan, scan_parts, block_scaled_pair),
        )
    }
)
BF16 = "bf16"
PAGES = 3  # more than sequences use


@dataclass(frozen=True)
class Ranged(Case):
    """A case whose numbers have ranges of their own: bytes, page tables, lists of tiles, gates
    that decay.
    """

    def arrays(self):
        found = super().arrays()
        rng = np.random.default_rng(self.seed + 1)
        for name, old in found.items():
            if name == "table":
                found[name] = rng.permutation(self.sizes["p"])[: old.size].reshape(old.shape)
            elif name in ("tokens", "rows"):
                found[name] = rng.integers(-1, self.sizes["s"] + 1, old.shape)
            elif name == "order":
                found[name] = rng.permutation(old.size)
            elif name == "w" and self.text == "int4_gemm":
                found[name] = rng.integers(-128, 128, old.shape)
        if "some" in found:
            found |= _lists(rng, found["some"].shape)
        if self.text == "scan_parts":
            found |= {n: -0.2 * np.abs(found[n]) for n in ("seen", "all")}
        if self.text == "scan":
            gates = rounded(-0.2 * np.abs(found["grown"]), DType.F32).cumsum(axis=3)
            gates = rounded(gates, DType.F32)
            found |= {"grown": gates, "seen": gates, "all": gates[..., -1]}
        return found


def _lists(rng, shape):
    """Tiles of each row in any order: those by the function count, those seen whole, or none."""
    kind = rng.integers(0, 3, shape)
    found = {}
    for number, name in ((1, "some"), (2, "full")):
        tiles = rng.permuted(np.broadcast_to(np.arange(shape[-1]), shape), axis=-1)
        mine = np.take_along_axis(kind, tiles, -1) == number
        first = np.argsort(~mine, -1, kind="stable")
        found[name] = np.take_along_axis(tiles, first, -1)
        found[f"{name}_count"] = mine.sum(-1)
    return found


def softcap(x, b, h, s, t):
    return wl.tanh(x * 0.05) * 20.0


def window(b, h, s, t):
    return t > s - 300


def _types(*names):
    return dict.fromkeys(names, BF16)


def _grad(name, d):
    return dict(measured(name, {"causal": False}, {"d": d}))


_FP8 = {"a": "e4m3", "b": "e4m3", "out": BF16}
_HEADS = {"b": 2, "h": 16, "g": 4, "s": 320, "t": 600}
_ATTENTION = _types("q", "k", "v", "out")
_GRADS = _types("q", "k", "v", "do", "dk", "dv")
_FEW = {"m": 16, "n": 128, "stages": 3}
_SCALE = {"scale": 0.125}
_LISTS = ("order", "some", "some_count", "full", "full_count")
_SMALL = {"m": 128, "n": 64, "stages": 3, "epilogue_stages": 1}
_ALTERNATE = {"consumer_warpgroups": 1, "pingpong": 2, **_SMALL}
_MANY = {"m": 2300, "n": 1032}  # tiles: every CTA has two, so that consumers take turns
CASES = {
    "gemm": Case(
        "gemm",
        {"m": 1500, "n": 3080, "k": 520},
        _types("a", "b", "out"),
        {"activation": "none"},
        scalars={"alpha": 0.75},
        pins={"m": 128, "n": 256},
    ),
    "attention": Case(
        "attention",
        {"b": 2, "h": 12, "g": 1, "s": 1000, "t": 700, "d": 64},
        _ATTENTION,
        {"causal": False},
        scalars=_SCALE,
        pins={"s": 128, "t": 128},
    ),
    "packed": Case(
        "packed",
        {"i": 3, "h": 16, "g": 1, "s": 1200, "t": 1000, "d": 64},
        _ATTENTION,
        {"causal": True},
        scalars=_SCALE,
        pins={"s": 128, "t": 128},
    ),
    "swiglu": Case(
        "swiglu",
        {"m": 1500, "n": 1600, "k": 392},
        _types("x", "gate", "up", "out"),
        pins={"m": 128, "n": 128},
    ),
    "rms_gemm": Case(
        "rms_gemm",
        {"m": 1500, "n": 3080, "k": 392},
        _types("x", "w", "out"),
        scalars={"eps": 1e-5},
        pins={"m": 128, "n": 256, "cluster": 1},
    ),
    "grouped": Case(
        "grouped",
        {"t": 1200, "n": 1600, "k": 192, "e": 3},
        _types("x", "w", "out"),
        pins={"t": 128, "n": 128},
    ),
    "block_scaled": Case(
        "block_scaled", {"m": 1500, "n": 1664, "k": 512}, _FP8, pins={"m": 128, "n": 128}
    ),
    "block_scaled_pair": Case(
        "block_scaled_pair",
        {"m": 1500, "half": 2, "n": 1664, "k": 512},
        _FP8,
        pins={"m": 128, "n": 128},
    ),
    "block_scaled_turns": Case(
        "block_scaled",
        {"m": 1500, "n": 1664, "k": 768},
        _FP8,
        pins={"m": 128, "n": 128, "mma_turns": True, "stages": 5},
    ),
    "attention_grad": Case(
        "attention_grad",
        {**_HEADS, "d": 64},
        _GRADS,
        {"causal": False},
        ("dq", "dv"),
        _SCALE,
        _grad("attention_grad", 64),
    ),
    "turns": Case(
        "attention_grad",
        {**_HEADS, "d": 64},
        _GRADS,
        {"causal": False},
        ("dq", "dv", "turns"),
        _SCALE,
        _grad("attention_grad", 64),
    ),
    "turned": Case(
        "turned",
        {"m": 13, "n": 18000, "k": 520},
        _types("a", "b", "out"),
        {"activation": "none"},
        scalars={"alpha": 0.75},
        pins=_FEW | {"split_k": 1},
    ),
    "split_gemm": Case(
        "gemm",
        {"m": 300, "n": 500, "k": 3000},
        _types("a", "b", "out"),
        {"activation": "none"},
        scalars={"alpha": 0.75},
        pins={"m": 128, "n": 128, "split_k": 4, "cluster": 1},
    ),
    **{
        name: Case(
            text,
            {"m": 260, "n": 136, "k": 200} | sizes,
            _types("a", "b", "out"),
            {"activation": "none"},
            scalars={"alpha": 0.75},
            pins=pins,
        )
        for name, text, sizes, pins in (  # small: sanitizers are slow on clusters
            ("clustered", "gemm", {}, {"m": 128, "n": 64, "consumer_warpgroups": 2, "cluster": 2}),
            (
                "near_gemm",
                "gemm",
                {"k": 400},
                {"m": 128, "n": 128, "split_k": 2, "split_k_in_cluster": True},
            ),
            ("alternating", "gemm", _MANY, _ALTERNATE),
            ("alternating_clustered", "gemm", _MANY, _ALTERNATE | {"cluster": 2}),
            ("few_clustered", "turned", {"m": 13, "n": 520}, _FEW | {"split_k": 1, "cluster": 2}),
        )
    },
    "decode": Case(
        "attention",
        {"b": 5, "h": 12, "g": 12, "s": 3, "t": 700, "d": 128},
        _ATTENTION,
        {"causal": False},
        scalars={"scale": 0.09},
        pins={"s": 64, "t": 128, "split_k": 3},
    ),
    "paged": Ranged(
        "paged",
        {"b": 12, "h": 16, "g": 4, "s": 3, "d": 128, "p": 12 * 5 + PAGES, "u": 64, "j": 5},
        _ATTENTION,
        {"causal": False},
        scalars={"scale": 0.09},
    ),
    "flexible": Case(
        "attention",
        {"b": 2, "h": 12, "g": 1, "s": 1000, "t": 700, "d": 64},
        _ATTENTION,
        {"causal": False, "score": softcap, "visible": window},
        scalars=_SCALE,
        pins={"s": 128, "t": 128},
    ),
    "int4_gemm": Ranged(
        "int4_gemm", {"m": 13, "n": 18048, "k": 512}, _types("x", "out"), pins=_FEW | {"split_k": 1}
    ),
    "fp8_gemm": Ranged(
        "fp8_gemm",
        {"m": 13, "n": 18048, "k": 512},
        {"x": BF16, "w": "e4m3", "out": BF16},
        pins=_FEW | {"split_k": 1},
    ),
    "scan": Ranged(
        "scan",
        {"b": 10, "h": 16, "g": 16, "c": 6, "t": 64, "j": 64, "d": 128, "e": 64, "p": 1},
        _types("q", "k", "v", "out"),
        pins=dict(SCANS[64, 128]),
    ),
    "narrow_scan": Ranged(
        "scan",
        {"b": 10, "h": 16, "g": 4, "c": 6, "t": 64, "j": 64, "d": 64, "e": 128, "p": 1},
        _types("q", "k", "v", "out"),
        pins=dict(SCANS[64, 64]),
    ),
    "wide_scan": Ranged(
        "scan",
        {"b": 5, "h": 16, "g": 1, "c": 3, "t": 128, "j": 128, "d": 128, "e": 128, "p": 1},
        _types("q", "k", "v", "out"),
        pins=dict(SCANS[128, 128]),
    ),
    "scan_parts": Ranged(
        "scan_parts",
        {"b": 2, "h": 16, "g": 4, "c": 31, "j": 64, "d": 64, "e": 128, "r": 6},
        _types("k", "v"),
        pins=dict(measured("scan_parts", {}, {})),
    ),
    "grouped_gathered": Ranged(
        "grouped_gathered",
        {"s": 700, "t": 1200, "n": 1600, "k": 192, "e": 3},
        _types("x", "w", "out"),
        pins={"t": 128, "n": 128},
    ),
    "values_grad": Case(
        "values_grad",
        {**_HEADS, "d": 256},
        _types("q", "k", "do", "dv"),
        {"causal": False},
        scalars={"scale": 0.06},
        pins=_grad("values_grad", 256),
    ),
    "packed_grad": Case(
        "packed_grad",
        {"i": 3, "h": 16, "g": 4, "s": 600, "t": 1000, "d": 64},
        _GRADS,
        {"causal": False},
        ("dq", "dv"),
        _SCALE,
        _grad("packed_grad", 64),
    ),
    "packed_values": Case(
        "packed_values",
        {"i": 3, "h": 16, "g": 4, "s": 600, "t": 1000, "d": 256},
        _types("q", "k", "do", "dv"),
        {"causal": False},
        scalars={"scale": 0.06},
        pins=_grad("packed_values", 256),
    ),
    "blocked": Ranged(
        "blocked",
        {"b": 2, "h": 12, "g": 1, "s": 1000, "t": 700, "d": 64, "c": 6, "n": 2 * 12 * 8},
        _ATTENTION,
        {"causal": False, "visible": window},
        _LISTS,
        _SCALE,
    ),
    "blocked_grad": Ranged(
        "blocked_grad",
        {**_HEADS, "d": 64, "c": 5, "n": 2 * 16 * 5},
        _GRADS,
        {"causal": False, "visible": window},
        ("dq", "dv", *_LISTS),
        _SCALE,
        _grad("blocked_grad", 64),
    ),
    "blocked_values": Ranged(
        "blocked_values",
        {**_HEADS, "d": 256, "c": 5, "n": 2 * 16 * 5},
        _types("q", "k", "do", "dv"),
        {"causal": False, "visible": window},
        _LISTS,
        {"scale": 0.06},
        _grad("blocked_values", 256),
    ),
    "grouped_weights": Case(
        "grouped_weights",
        {"t": 1200, "n": 1600, "k": 776, "e": 3},
        _types("y", "x", "out"),
        pins={"n": 128, "k": 128},
    ),
    "grouped_scattered": Ranged(
        "grouped_scattered",
        {"s": 700, "t": 1200, "n": 1600, "k": 192, "e": 3},
        {"x": BF16, "w": BF16, "out": "f32"},
        optional=("weight",),
        pins={"t": 128, "n": 128},
    ),
    "gathered_swiglu": Ranged(
        "gathered_swiglu",
        {"s": 700, "t": 1200, "n": 1600, "k": 192, "e": 3},
        _types("x", "gate", "up", "out"),
        pins={"t": 128, "n": 128},
    ),
    "grouped_input": Case(
        "grouped_input",
        {"t": 1200, "n": 1600, "k": 192, "e": 3},
        _types("x", "w", "out"),
        pins={"t": 128, "n": 128},
    ),
    "grouped_swiglu": Case(
        "grouped_swiglu",
        {"t": 1200, "n": 1600, "k": 192, "e": 3},
        _types("x", "gate", "up", "out"),
        pins={"t": 128, "n": 128},
    ),
    "grouped_scaled": Case(
        "grouped_scaled",
        {"t": 1200, "n": 1664, "k": 512, "e": 3},
        {"x": "e4m3", "w": "e4m3", "out": BF16},
        pins={"t": 128, "n": 128},
    ),
}


def sized(name):
    """A case, or one with other sizes: ``gemm@m=77,n=256``."""
    plain, _, sizes = name.partition("@")
    more = {a: int(n) for a, n in (x.split("=") for x in sizes.split(",") if x)}
    return replace(CASES[plain], sizes=CASES[plain].sizes | more)
