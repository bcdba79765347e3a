"""Functions and shapes of the tests of flexible attention on a GPU, and the kernels they need.

    WARPLOOM_CACHE=cache WARPLOOM_COMPILER=nvcc python -m tests.runtime.flex_cases

compiles them all, without a GPU and without torch.
"""

import sys
from types import SimpleNamespace

import numpy as np

from warploom.compiler.layout import Layout
from warploom.errors import WarploomError
from warploom.ir.tile import DType
from warploom.runtime.attention import BLOCKED, CALLS, PACKED, _options
from warploom.runtime.flexible import flexible
from warploom.runtime.tensors import row_major

LENGTHS = ((1024, 1024), (333, 900), (130, 128))
BATCH, HEADS, GROUPS = 2, 4, 2
PACKED_LENGTHS = (300, 1, 0, 129, 700)
RELATIVE = 400  # queries and keys of the relative bias


def stand_in(shape, dtype=DType.I32):
    """A tensor's shape and type, where there is none."""
    return SimpleNamespace(shape=shape, dtype=dtype, __dlpack__=None)


document = stand_in((BATCH, 1024))
prefix = stand_in((BATCH,))
slopes = stand_in((HEADS,), DType.F32)
bias = stand_in((HEADS, 2 * RELATIVE), DType.BF16)


def same(b, h, i, j):
    return document[b, i] == document[b, j]


def seen(b, h, i, j):
    return (j < prefix[b]) | (i >= j + 7 * h)


def everything(b, h, i, j):
    return b.new_ones(size=(), dtype=bool)


def falling(x, b, h, i, j):
    return x - 0.02 * (h + 1) * abs(i - j)


def alibi(x, b, h, i, j):
    return x + slopes[h] * (j - i)


def relative(x, b, h, i, j):
    return x + bias[h, i - j + RELATIVE]


def window(b, h, i, j):
    return (i >= j) & (i - j <= 100 + b)


def softcap(x, b, h, i, j):
    return 20.0 * np.tanh(x / 20.0)


# What a score or a mask may be, each with causal masks, shared heads, packed sequences and sinks.
COMBINED = {
    "softcap": (softcap, None),
    "alibi": (alibi, None),
    "relative": (relative, None),
    "window": (None, window),
    "prefix": (None, seen),
    "documents": (None, same),
}


def layout(*shape, dtype=DType.BF16):
    return Layout(tuple(shape), row_major(tuple(shape)), dtype)


def blocked_call(lengths, d, wide, mask, score=None, causal=False):
    """A call with a block mask."""
    s, t = lengths
    rows, tiles = -(-s // 128), -(-t // wide)
    listed = layout(BATCH, HEADS, rows, tiles, dtype=DType.I32)
    counts = layout(BATCH, HEADS, rows, dtype=DType.I32)
    order = layout(BATCH * HEADS * rows, dtype=DType.I32)
    types, choices, *rest = _options(causal, False, None)
    options = (types, (*choices, ("wide", wide)), *rest)
    calls, options, given = flexible(BLOCKED, score, mask, options)
    q, k = layout(BATCH, HEADS, s, d), layout(BATCH, GROUPS, t, d)
    captured = (layout(*x.shape, dtype=x.dtype) for x in given)
    lists = (order, listed, counts, listed, counts)
    return calls, (q, k, k, None, None, None, *lists, *captured), options


def packed_call():
    calls, options, given = flexible(PACKED, alibi, window, _options(False, False, None))
    total, starts = sum(PACKED_LENGTHS), layout(len(PACKED_LENGTHS) + 1, dtype=DType.I32)
    q, k = layout(total, HEADS, 128), layout(total, GROUPS, 128)
    captured = (layout(*x.shape, dtype=x.dtype) for x in given)
    return calls, (q, k, k, starts, starts, None, None, *captured), options


def relative_call():
    calls, options, given = flexible(CALLS, relative, None, _options(True, False, None))
    q, k = (layout(BATCH, n, RELATIVE, 128) for n in (HEADS, GROUPS))
    captured = (layout(*x.shape, dtype=x.dtype) for x in given)
    return calls, (q, k, k, None, None, None, *captured), options


def every_call():
    for lengths in LENGTHS:
        yield blocked_call(lengths, 128, 128, same)
        yield blocked_call(lengths, 128, 128, seen)
        yield blocked_call(lengths, 128, 128, seen, falling, causal=True)
        yield blocked_call(lengths, 128, 128, everything)
    yield blocked_call(LENGTHS[1], 64, 128, same)
    yield blocked_call(LENGTHS[1], 256, 64, same)
    yield packed_call()
    yield relative_call()


if __name__ == "__main__":
    for calls, layouts, options in every_call():
        try:
            made = calls.compiled_for(layouts, options).built
            report = made.cubin.report
            said = f"{made.config.name}, {report.spill_bytes} bytes spilled"
        except WarploomError as error:
            said = f"FAILED: {error}"
        sys.stdout.write(f"{calls.tile_kernel.name} {layouts[0].shape}: {said}\n")
