"""Attention backward's emitted programs, executed on the host."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.host_cuda import NEEDS_COMPILER, run_case
from warploom.emit.cuda.tile.source import emit_kernel
from warploom.kernel.pointwise import rounded
from warploom.kernel.simplify import simplify
from warploom.kernel.values import Access, DType
from warploom.kernels.attention_grad import attention_grad, packed_grad
from warploom.kernels.measured import measured
from warploom.lower.choose import choose
from warploom.lower.column import lower
from warploom.lower.rewrite import rewrite

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
    types = {n: t for n, t in HALF.items() if n not in without}
    whole = {"d": sizes["d"]}
    kernel = text.specialise(types, sizes=whole, constants=constants, without=without)
    kernel = rewrite(simplify(kernel), positive=frozenset({"scale"}))
    pins = dict(measured(text.name, constants, sizes)) | (more or {})
    tiling = choose(kernel, sizes, pins=pins)[0].tiling
    given = [
        rounded(arrays[t.name], t.dtype) if t.dtype.is_float else arrays[t.name]
        for t in kernel.tensors
        if t.access is not Access.OUT
    ]
    case = SimpleNamespace(sizes=sizes, scalars={"scale": 0.1}, arrays=lambda: given)
    source = emit_kernel(lower(kernel, tiling))
    outs, fault = run_case(case, kernel, source, tiling, grid=1)
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
