"""Schedule, prove and compile what the GPU benchmarks and tests call, on a machine without a GPU.

    WARPLOOM_CACHE=build/cache WARPLOOM_COMPILER=nvcc python bench/warm.py [PART ...]

A machine with a GPU that is given the folder (and the same nvcc) then compiles nothing. Parts:
host, gemm, fp8, attention, decode, backward, tests (what tests/runtime calls); all without a name.
Prints what every call runs.
"""

from __future__ import annotations

import sys
import time

from lib.shapes import BACKWARD_LENGTHS, BACKWARD_TWELVE, BACKWARD_WIDE, GROUPS

from warploom.compiler.layout import Layout
from warploom.errors import WarploomError
from warploom.ir.tile import DType
from warploom.runtime.attention import (
    CALLS as ATTENTION,
    PACKED,
    PAGED,
    _options as attention_options,
)
from warploom.runtime.attention_checks import BACKWARD_DIMS, causal_choice
from warploom.runtime.attention_grad import kernels_of
from warploom.runtime.gemm import CALLS as GEMM, _options as gemm_options
from warploom.runtime.tensors import row_major

HEADS = (
    *((4, 32, 4096, d) for d in (64, 128)),
    (2, 16, 8192, 256),
    (2, 32, 8192, 128),
    (1, 32, 16384, 128),
    *(
        (b, h, s, d)
        for b, h, s in ((1, 8, 512), (1, 8, 3000), (4, 16, 512), (2, 32, 2048), (32, 16, 512))
        for d in (64, 128, 256)
    ),
)


def gemm(m, n, k, dtype=DType.BF16, bias=False, activation="none", residual=False):
    whole = Layout((m, n), (n, 1), DType.BF16) if residual else None
    layouts = (
        Layout((m, k), (k, 1), dtype),
        Layout((k, n), (1, k), dtype),
        whole,
        Layout((n,), (1,), DType.BF16) if bias else None,
        whole,
    )
    return GEMM.compiled_for(layouts, gemm_options(activation, None, True, None))


def attention(b, h, s, d, causal, lse=False, kv=None, keys=None):
    q = Layout((b, h, s, d), row_major((b, h, s, d)), DType.BF16)
    shape = (b, kv or h, keys or s, d)
    k = Layout(shape, row_major(shape), DType.BF16)
    return ATTENTION.compiled_for((q, k, k, None, None, None), attention_options(causal, lse, None))


def packed(rows, keys, heads, kv, sequences, d, causal):
    """Packed sequences in fp16, with log-sum-exp."""
    q, k = (
        Layout((n, h, d), row_major((n, h, d)), DType.F16) for n, h in ((rows, heads), (keys, kv))
    )
    starts = Layout((sequences + 1,), (1,), DType.I32)
    layouts = (q, k, k, starts, starts, None, None)
    return PACKED.compiled_for(layouts, attention_options(causal, True, None))


def paged(b, h, kv, queries, most, page, d, causal, lse=True):
    """Keys in pages, as servers store them: [pages, page, kv heads, d]."""
    q = Layout((b, h, queries, d), row_major((b, h, queries, d)), DType.BF16)
    k = Layout((b * most + 3, kv, page, d), (page * kv * d, d, kv * d, 1), DType.BF16)
    table, ends = (Layout(s, row_major(s), DType.I32) for s in ((b, most), (b,)))
    options = attention_options(causal, lse, None)
    return PAGED.compiled_for((q, k, k, table, ends, None, None), options)


def products(shapes, **more):
    return [(f"gemm {s} {more or ''}", lambda s=s: gemm(*s, **more)) for s in shapes]


def attentions(cases, **more):
    return [(f"attention {c} {more or ''}", lambda c=c: attention(*c, **more)) for c in cases]


def decodings():
    cases = ((1, 32, 8, 131072), (4, 32, 8, 32768), (16, 32, 8, 8192), (64, 64, 8, 8192))
    return [
        found
        for b, h, kv, keys in cases
        for d in (64, 128)
        for found in attentions([(b, h, 1, d, False)], kv=kv, keys=keys)
    ]


def backward(b, h, g, s, t, d, mask, kind):
    """All kernels of a backward pass; the main one."""

    def of(*shape, dtype=kind):
        return Layout(shape, row_major(shape), dtype)

    q, k, rows = of(b, h, s, d), of(b, g, t, d), of(b, h, s, dtype=DType.F32)
    sums = of(b, h, s, d, dtype=DType.F32)
    made = [
        call.compiled_for(tensors, options)
        for call, tensors, options in kernels_of(q, k, rows, sums, causal_choice(mask))
    ]
    return [m for m in made if m.built][1]


def backwards():
    cases = [(b, h, h, s, s, d, m) for b, h, s, d in BACKWARD_TWELVE[::3] for m in (False, True)]
    cases += [(b, h, h, s, s, d, m) for b, h, s, d in BACKWARD_WIDE[:1] for m in (False, True)]
    cases += [(*c[:5], d, c[5]) for c in BACKWARD_LENGTHS for d in BACKWARD_DIMS]
    kinds = (DType.BF16, DType.F16)
    alike = {(c[5], c[6], c[1] // c[2], k): (*c, k) for c in cases for k in kinds}
    return [(f"backward {c}", lambda c=c: backward(*c)) for c in alike.values()]


def of_tests():
    """What tests/runtime calls."""
    plain = (
        *((128, 256, 64), (200, 512, 128), (64, 128, 256), (333, 136, 72), (256, 384, 512)),
        *((64, 128, 64), (128, 128, 64), (2048, 2048, 2048), (1000, 1496, 776), (16, 8192, 8192)),
        *((128, 4096, 4096), (1024, 1024, 16384), (24, 2048, 4096), (64, 256, 4096)),
        *((256, 256, 256), (4096, 4096, 4096), (256, 512, 384), (256, 384, 512), (512, 384, 256)),
    )
    rows = products(plain)
    rows += products([(24, 2048, 4096)], bias=True, activation="gelu")
    rows += [("gemm residual", lambda: gemm(1000, 1496, 776, residual=True))]
    for activation in ("none", "relu", "gelu", "silu"):
        rows += products([(256, 512, 384)], bias=True, activation=activation)
    for mask in (False, True):
        rows += attentions([(2, 4, 777, d, mask) for d in (64, 128, 256)])
        rows += attentions([(2, 4, 200, d, mask) for d in (64, 128, 256)], lse=True, kv=2, keys=328)
    rows += attentions([(1, 4, 200, 64, True), (1, 2, 333, 128, True), (2, 4, 300, 64, False)])
    rows += attentions([(1, 4, 256, 128, False), (2, 16, 4096, 128, True)])
    for n in (128, 200, 333):
        rows += attentions([(2, 4, n, 128, True)], lse=True, kv=2, keys=n)
    for queries, d in ((1, 64), (1, 128), (3, 128)):
        rows += attentions([(2, 32, queries, d, False)], lse=True, kv=4, keys=5000)
    rows += [
        ("paged 64", lambda: paged(4, 16, 4, 1, 32, 64, 128, False)),
        ("paged 128", lambda: paged(4, 16, 4, 3, 16, 128, 128, "lower_right")),
    ]
    return [*rows, ("packed", lambda: packed(120, 100, 4, 2, 2, 64, True))]


SMALL = (256, 512, 256)
PARTS = {
    "host": [
        *products([SMALL]),
        *products([SMALL], bias=True, activation="gelu"),
        *attentions([(1, 4, 256, 64, False)]),
        *attentions([(1, 4, 256, 64, False)], lse=True),
    ],
    "gemm": [row for shapes in GROUPS.values() for row in products(shapes)],
    "fp8": [row for shapes in GROUPS.values() for row in products(shapes, dtype=DType.E4M3)],
    "attention": [row for m in (False, True) for row in attentions([(*c, m) for c in HEADS])],
    "decode": decodings(),
    "backward": backwards(),
    "tests": of_tests(),
}


def main():
    bad = 0
    for what in sys.argv[1:] or PARTS:
        for name, make in PARTS[what]:
            start = time.perf_counter()
            try:
                made = make()
                report = made.built.cubin.report
                said = f"{made.config.name}, {report.registers} registers"
            except WarploomError as error:
                bad, said = bad + 1, f"FAILED: {error.what}"
            print(f"{name}: {said}, {time.perf_counter() - start:.1f} s", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
