"""Calls of ``bench/h200_fused.py``: shapes, and layouts for compiling without a GPU."""

from __future__ import annotations

import time

from warploom.compiler.layout import Layout
from warploom.errors import WarploomError
from warploom.ir.tile import DType
from warploom.kernels.grouped import (
    grouped,
    grouped_gathered,
    grouped_scattered,
    grouped_weights,
    picked_rows,
)
from warploom.kernels.int4_gemm import fp8_gemm, int4_gemm
from warploom.kernels.swiglu import swiglu
from warploom.runtime import fused
from warploom.runtime.kernel_calls import Calls
from warploom.runtime.tensors import row_major

BF16, E4M3, F32, I32, I8 = DType.BF16, DType.E4M3, DType.F32, DType.I32, DType.I8
SWIGLU = ((4096, 14336, 4096), (8192, 28672, 8192), (2048, 11008, 4096))
GROUPED = (
    (8, 16384, 4096, 4096),
    (64, 16384, 4096, 2048),
    (128, 32768, 1536, 4096),
    (8, 4096, 14336, 4096),
)
SCALED = (
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (4096, 7168, 2048),
    (2048, 4096, 7168),
    (128, 4096, 7168),
)
INT4 = tuple((m, 8192, 8192) for m in (16, 64, 128, 256))
# batch, heads, heads of q and k, steps of the sequence, d, e
SCAN = (
    (2, 64, 64, 8192, 128, 64),
    (4, 80, 80, 4096, 128, 64),
    (4, 80, 1, 4096, 128, 64),  # a state-space model: all heads share q and k
    (8, 32, 32, 4096, 128, 128),
    (8, 16, 16, 8192, 128, 128),
    (4, 16, 16, 4096, 64, 64),
    (1, 16, 16, 16384, 128, 128),  # few heads: parts of the sequence are scanned side by side
    (2, 8, 8, 8192, 128, 64),
    (1, 8, 8, 32768, 64, 64),
)
CHUNK, SMS = 64, 132  # steps of a chunk of the libraries


def chunk_of_ours(b, h, d, e):
    """Steps of a chunk, as `warploom.scan` says: long ones where each SM has about one head."""
    return 128 if d == 128 and SMS // 2 < b * h * -(-e // 64) <= SMS else 64


def layout(shape, dtype=BF16):
    return Layout(tuple(shape), row_major(tuple(shape)), dtype)


def options(text):
    made = frozenset(t.name for t in text.signature.outputs)
    return ((), tuple(text.signature.choices.items()), frozenset(), made, ())


def swiglu_calls():
    for m, n, k in SWIGLU:
        w = layout((n, k))
        yield (m, n, k), swiglu, (layout((m, k)), w, w, None)


def grouped_calls():
    for e, t, n, k in GROUPED:
        args = (layout((t, k)), layout((e, n, k)), layout((e + 1,), I32), None)
        yield (e, t, n, k), grouped, args


def gathered_calls():
    for e, t, n, k in GROUPED:
        lists = (layout((e + 1,), I32), layout((t,), I32))
        args = (layout((t // 2, k)), layout((e, n, k)), *lists, None)
        yield (e, t, n, k), grouped_gathered, args
        yield (e, t, n, k), grouped, (layout((t, k)), args[1], lists[0], None)
        rows = (layout((t // 2, k // 256, 256)), lists[1], None)
        yield (e, t, n, k), picked_rows, rows


def weights_calls():
    for e, t, n, k in GROUPED:
        args = (layout((t, n)), layout((t, k)), layout((e + 1,), I32), None)
        yield (e, t, n, k), grouped_weights, args


def scattered_calls():
    for e, t, n, k in GROUPED:
        lists = (layout((e + 1,), I32), layout((t,), I32), layout((t // 2, n), F32))
        args = (layout((t, k)), layout((e, n, k)), *lists, layout((t,), F32))
        yield (e, t, n, k), grouped_scattered, args


def scaled_calls():
    for m, n, k in SCALED:
        a, sa = layout((m, k), E4M3), Layout((m, k // 128), (1, m), F32)
        b, sb = layout((n, k), E4M3), layout((n // 128, k // 128), F32)
        yield (m, n, k), fused.SCALED, (a, sa, b, sb, None), fused.PLAIN


def int4_calls():
    for m, n, k in INT4:
        args = (layout((m, k)), layout((n, k // 2), I8), layout((k // 128, n), F32), None)
        yield (m, n, k), int4_gemm, args


def fp8_calls():
    for m, n, k in INT4:
        args = (layout((m, k)), layout((n, k), E4M3), layout((k // 128, n), F32), None)
        yield (m, n, k), fp8_gemm, args


def scan_calls():
    for b, h, g, n, d, e in SCAN:
        t = chunk_of_ours(b, h, d, e)
        c = n // t
        p = fused.scan_parts_of(b * h, c, t, d, e)
        rows, gates = layout((b, g, c, t, d)), layout((b, h, c, t), F32)
        ends = Layout((b, h, c), (h * n, n, t), F32)
        wide = layout((b, h, p, e), F32)
        each = Layout((b, h, p, d, e), (h * d * e, d * e, b * h * d * e, e, 1), F32)
        v, name = layout((b, h, c, t, e)), (b, h, g, n, d, e, t, p)
        cut = (each, wide) if p > 1 else (None, None)
        given = (rows, rows, v, gates, gates, ends, None, each, *cut)
        yield name, fused.SCAN, given, fused.SCANNED
        if p > 1:
            yield name, fused.SCAN_PARTS, (rows, v, gates, ends, *cut), fused.PARTED


CALLS_OF = {
    "swiglu": swiglu_calls,
    "grouped": grouped_calls,
    "gathered": gathered_calls,
    "weights": weights_calls,
    "scattered": scattered_calls,
    "scaled": scaled_calls,
    "int4": int4_calls,
    "fp8": fp8_calls,
    "scan": scan_calls,
}


def warm(parts):
    """Compile every kernel of a run; how many fail."""
    bad = 0
    for part, (name, text, layouts, *given) in ((p, c) for p in parts for c in CALLS_OF[p]()):
        calls, how = (text, given[0]) if given else (Calls(text), options(text))
        start = time.perf_counter()
        try:
            made = calls.compiled_for(layouts, how)
            report = made.built.cubin.report
            said = f"{made.config.name}, {report.registers} registers, {report.spill_bytes} spilled"
        except WarploomError as error:
            bad, said = bad + 1, f"FAILED: {error}"
        took = time.perf_counter() - start
        print(f"{part} {calls.tile_kernel.name} {name}: {said}, {took:.1f} s", flush=True)
    return bad
