"""Attention backward's emitted programs, executed on the host."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.host_cuda import NEEDS_COMPILER, run_case
from warploom.compiler.emit_cuda import emit_kernel
from warploom.frontend.pointwise import rounded
from warploom.frontend.simplify import simplify
from warploom.ir.tile import Access, DType
from warploom.kernels.attention_grad import (
    attention_grad,
    blocked_grad,
    blocked_values,
    packed_grad,
)
from warploom.kernels.registry import measured
from warploom.passes.driver import lower
from warploom.passes.heuristics import choose
from warploom.passes.rewrites import rewrite

pytestmark = NEEDS_COMPILER
SLOW = pytest.mark.slow
HALF = dict.fromkeys(("q", "k", "v", "do", "dk", "dv"), DType.BF16)
BLOCK = (16, 8)  # rows and columns of tensors in blocks


def rows_of(x):
    """A tensor in blocks, row by row."""
    *units, rows, columns = x.shape
    held = x.reshape(*units, rows // 16, columns // 8, 8, 4, 2, 2)  # as lanes hold them
    return np.moveaxis(held, (-6, -2, -4, -5, -3, -1), range(-6, 0)).reshape(x.shape)


def executed(text, sizes, arrays, without, more=None, **constants):
    names = {t.name for t in text.signature.tensors}
    types = {n: t for n, t in HALF.items() if n in names and n not in without}
    types |= {n: DType.I32 for n in names if n.startswith("given_")}
    whole = {"d": sizes["d"]}
    kernel = text.specialise(types, sizes=whole, constants=constants, without=without)
    kernel = rewrite(simplify(kernel), positive=frozenset({"scale"}))
    pins = dict(measured(text.name, constants, sizes)) | (more or {})
    config = choose(kernel, sizes, pins=pins)[0].config
    given = [
        rounded(arrays[t.name], t.dtype) if t.dtype.is_float else arrays[t.name]
        for t in kernel.tensors
        if t.access is not Access.OUT
    ]
    case = SimpleNamespace(sizes=sizes, scalars={"scale": 0.1}, arrays=lambda: given)
    source = emit_kernel(lower(kernel, config))
    outs, fault = run_case(case, kernel, source, config, grid=1)
    assert fault is None
    out_names = [t for t in kernel.tensors if t.access is Access.OUT]
    found = {t.name: rows_of(x) if t.blocked else x for t, x in zip(out_names, outs, strict=True)}
    want = kernel.reference(*given, scale=0.1)
    return found, dict(zip((t.name for t in out_names), want, strict=True))


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def close(found, want):
    for name, x in want.items():
        assert np.linalg.norm(found[name] - x) < 0.01 * np.linalg.norm(x), name


@pytest.mark.parametrize("size", [64, pytest.param(128, marks=pytest.mark.slow)])
def test_packed_sequences_begin_anywhere(size):
    sizes = {"h": 1, "g": 1, "s": 140, "t": 150, "i": 3, "d": size}
    arrays = {n: drawn(1, 140, size, seed=i) for i, n in enumerate(("q", "do"))}
    arrays |= {n: drawn(1, 150, size, seed=i) for i, n in enumerate(("k", "v"))}
    arrays |= {"lse": np.full((1, 140), 2.0), "delta": drawn(1, 140)}
    arrays |= {"q_starts": np.array([0, 37, 70, 140]), "k_starts": np.array([0, 61, 67, 150])}
    close(*executed(packed_grad, sizes, arrays, ()))


def one_head(queries, keys, size=64):
    sizes = {"b": 1, "h": 1, "g": 1, "s": queries, "t": keys, "d": size}
    arrays = {n: drawn(1, 1, queries, size, seed=i) for i, n in enumerate(("q", "do"))}
    arrays |= {n: drawn(1, 1, keys, size, seed=i) for i, n in enumerate(("k", "v"))}
    arrays |= {"lse": np.full((1, 1, queries), 2.0), "delta": drawn(1, 1, queries)}
    return sizes, arrays | {"turns": np.zeros((1, 1, queries))}


@pytest.mark.parametrize("mask", ["end", *(pytest.param(m, marks=SLOW) for m in (False, True))])
def test_tiles_add_in_turn(mask):
    """CTAs run one after the other here, so there is one: it waits for tiles it has visited."""
    close(*executed(attention_grad, *one_head(288, 200), ("lengths",), causal=mask))


def test_a_walk_that_turns_around_masks_the_same_iterations():
    left_out, more = ("lengths", "turns"), {"serpentine": True}
    close(*executed(attention_grad, *one_head(288, 200), left_out, more, causal=True))


@pytest.mark.parametrize("size", [64, *(pytest.param(d, marks=SLOW) for d in (128, 256))])
def test_a_mask_counted_from_the_end(size):
    """Its first query need not be the first of a block of rows, in which sums lie."""
    left_out = ("lengths", "turns", *(("dv",) if size == 256 else ()))
    close(*executed(attention_grad, *one_head(128, 150, size), left_out, causal="end"))


document = np.array([0])  # stands for a tensor of any length


def same_document(b, h, i, j):
    return document[i] == document[j]


def listed(kind, seed):
    """For every block of keys its tiles of queries in any order, and how many of them count."""
    rng = np.random.default_rng(seed)
    tiles = np.argsort(rng.random(kind.shape) + ~kind, -1)
    return tiles, kind.sum(-1)


CASES = [
    (blocked_grad, 208, 300, 64, True),
    (blocked_grad, 256, 256, 64, False),
    pytest.param(blocked_grad, 256, 256, 128, True, marks=SLOW),
    pytest.param(blocked_grad, 208, 300, 256, True, marks=SLOW),
    (blocked_values, 130, 200, 256, True),
]


@pytest.mark.parametrize(("text", "queries", "keys", "size", "whole"), CASES)
def test_listed_tiles_alone_are_walked(text, queries, keys, size, whole):
    """Keys of which nothing is listed among them, whose gradients are zeros."""
    sizes, arrays = one_head(queries, keys, size)
    arrays |= {n: rounded(arrays[n], DType.BF16) for n in ("q", "k", "v", "do")}
    rng = np.random.default_rng(queries)
    kind = rng.integers(0, 3 if whole else 2, (1, 1, -(-keys // 128), -(-queries // 64)))
    kind[0, 0, 0] = 0
    arrays |= {"order": rng.permutation(kind.shape[2]), "turns": None}
    arrays["some"], arrays["some_count"] = listed(kind == 1, 1)
    arrays["full"], arrays["full_count"] = listed(kind == 2, 2)
    arrays["given_document"] = rng.integers(0, 3, max(queries, keys))
    sizes |= {"c": kind.shape[3], "n": kind.shape[2], "given_document_0": max(queries, keys)}
    left_out = ["lengths", *(() if whole else ("full", "full_count"))]
    left_out += ["dv"] if text is blocked_grad and size == 256 else []
    made, _ = text.given_functions(visible=same_document)
    found, want = executed(made, sizes, arrays, tuple(left_out))
    close(found, want)
    at = np.repeat(np.repeat(kind[0, 0], 128, 0)[:keys], 64, 1)[:, :queries]
    same = arrays["given_document"][:keys, None] == arrays["given_document"][:queries]
    seen = (at == 2) | ((at == 1) & same)
    x = arrays["k"][0, 0] @ arrays["q"][0, 0].T * 0.1
    p = np.where(seen, np.exp(x - 2.0), 0.0)
    if "dv" in found:
        close(found, {"dv": (p @ arrays["do"][0, 0])[None, None]})
    if "dk" in found:
        ds = p * (arrays["v"][0, 0] @ arrays["do"][0, 0].T - arrays["delta"][0, 0])
        close(found, {"dk": (ds @ arrays["q"][0, 0] * 0.1)[None, None]})
        close(found, {"dq": (ds.T @ arrays["k"][0, 0])[None, None]})
