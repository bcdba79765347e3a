"""The shipped gfx950 kernels: gate, registers, emulation, and how fast their loops could run.

Writes bench/results/gfx950.md. Run: ``python bench/gfx950.py`` (some ten minutes on an idle core).
"""

from __future__ import annotations

import datetime
import platform
import sys
import time
from pathlib import Path

import numpy as np

import warploom
from warploom.codegen.amdgcn import ElementType, emit_kernel, estimate_loop
from warploom.codegen.amdgcn.emit import ready_kernel
from warploom.codegen.amdgcn.emulate import (
    EARLY,
    LATE,
    STARVED,
    TRAMPLED,
    Order,
    emulate_gemm,
    integer_matrix,
    random_timing,
)
from warploom.codegen.amdgcn.hip import check_hip, find_hip_compiler, hip_source
from warploom.pipeline.sync.marks import SyncPolicy
from warploom.sim import simulate

OUT = Path(__file__).parent / "results" / "gfx950.md"
BF16, FP8 = ElementType.BF16, ElementType.FP8
KERNELS = (
    ("ping-pong bf16", "pingpong", (256, 256, 64), BF16),
    ("ping-pong fp8", "pingpong", (256, 256, 128), FP8),
    ("4-wave bf16", "fourwave", (256, 256, 64), BF16),
    ("4-wave fp8", "fourwave", (256, 256, 128), FP8),
    ("single buffer bf16", "single_buffer", (128, 128, 64), BF16),
)
MATRIX = "## All geometries"
TRIPS = (0, 1, 2, 5)
TIMINGS = (LATE, EARLY, random_timing(1))
# TFLOP/s at 8192^3 that others report for an MI355X.
PUBLISHED = (
    ("HipKittens (November 2025)", "1610", "3327"),
    ("AITER / hipBLASLt, measured there", "1591", "3233"),
    ("the reference's hand-written schedule, as its authors report", "1460", "2681"),
    ("the reference's derived schedule, as its authors report", "1441", "2720"),
    ("hipBLAS, measured there", "1466", "2872"),
)


def emulate(kernel, trips, timing, order=Order.FORWARD, m=None, n=None):
    tile, protocol = kernel.plan.tile, kernel.plan.document.protocol
    k = (protocol.kernel_k_base + trips * protocol.k_tiles_per_iteration) * tile.block_k
    result = emulate_gemm(
        kernel.assembly,
        integer_matrix(m or tile.block_m, k, 1),
        integer_matrix(n or tile.block_n, k, 2),
        dtype=tile.element.value,
        block=(tile.block_m, tile.block_n),
        timing=timing,
        order=order,
    )
    return result.correct


def simulated(kernel):
    """The simulator's interval; what an op costs follows from the document's shape."""
    return simulate(kernel.plan.document, trips=16).ii


def kernel_row(name, kernel, ready, seconds):
    gate, resources = kernel.gate, kernel.gate.resources
    hip = "-"
    if find_hip_compiler() is not None:
        check = check_hip(kernel.plan, hip_source(kernel.plan, ready.reasons))
        hip = "exact" if check.gate.exact else "differs"
    return (
        f"| {name} | {ready.tile.label()} | {'exact' if gate.exact else 'differs'} | {gate.steps} "
        f"| {gate.kernel_steps} | {gate.compiler_waits} | {resources.vgprs} ({resources.agprs}) "
        f"| {resources.spills} | {resources.lds_bytes // 1024} KB | {hip} | {seconds:.1f} |"
    )


def speed_row(name, kernel):
    estimate = estimate_loop(kernel.plan.tile, kernel.assembly)
    cells = [str(getattr(estimate, u)) for u in ("matrix", "issue", "lds", "memory")]
    ii = simulated(kernel)
    return (
        f"| {name} | {' | '.join(cells)} | {estimate.efficiency:.1%} ({estimate.limited_by}) "
        f"| {estimate.tflops():.0f} | {ii:.0f} | {estimate.matrix / ii:.1%} "
        f"| {estimate.tflops(ii):.0f} |"
    )


def emulation_row(name, kernel):
    grid = [emulate(kernel, n, t) for n in TRIPS for t in TIMINGS]
    ragged = [emulate(kernel, 1, t, m=m, n=c) for t in TIMINGS for m, c in ((130, 77), (1, 300))]
    other = [
        emulate(kernel, 1, t, o) for t in (STARVED, TRAMPLED) for o in (Order.REVERSE, Order.MIXED)
    ]
    print(name, grid, ragged, other, file=sys.stderr, flush=True)
    cells = [f"{sum(r)} of {len(r)}" for r in (grid, ragged, other)]
    return f"| {name} | {' | '.join(cells)} |"


def race_rows():
    ready = ready_kernel(
        "fourwave", (256, 256, 64), BF16, sync=SyncPolicy.REFERENCE, on_race="skip"
    )
    kernel = emit_kernel(ready.document, ready.tile, insist=False)
    for trips in (0, 1):
        cells = [
            "right" if emulate(kernel, trips, t) else "**wrong**"
            for t in (LATE, EARLY, STARVED, TRAMPLED)
        ]
        yield f"| {trips} | {' | '.join(cells)} |"


def matrix_of_geometries():
    """What the page says of the long test of all geometries: kept, since its run takes an hour."""
    before = OUT.read_text() if OUT.exists() else ""
    return [before[before.index(MATRIX) :]] if MATRIX in before else []


def main():
    started = time.time()
    kernels, speeds, runs = [], [], []
    for name, *what in KERNELS:
        ready = ready_kernel(*what)
        before = time.process_time(), time.time()
        kernel = emit_kernel(ready.document, ready.tile)
        kernels.append(kernel_row(name, kernel, ready, time.time() - before[1]))
        speeds.append(speed_row(name, kernel))
        runs.append(emulation_row(name, kernel))
    lines = [
        "# gfx950 kernels",
        "",
        f"Made by `bench/gfx950.py` on {datetime.date.today()}, warploom {warploom.__version__}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}, LLVM "
        f"{kernel.sidecar['made_with']['llvm']} (llvmlite "
        f"{kernel.sidecar['made_with']['llvmlite']}). No MI355X was at hand: "
        "nothing here was measured on the chip.",
        "",
        "## What was emitted",
        "",
        "Steps are scheduled instructions of the program with one loop iteration, and of the loop. "
        "'HIP' is the exported source through a stock clang at -O3 and the same gate.",
        "",
        "| kernel | tile | gate | steps | in the loop | compiler waits | registers (AGPR) | spills "
        "| LDS | HIP | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        *kernels,
        "",
        "## Emulated against NumPy",
        "",
        "Whole numbers, so C must be equal bit for bit. Trip counts 0, 1, 2, 5 under late, early "
        "and random timing; ragged M and N (130 x 77, 1 x 300) under the same; other timings with "
        "waves in reverse and mixed order.",
        "",
        "| kernel | trips x timings | ragged | starved, trampled x orders |",
        "|---|---|---|---|",
        *runs,
        "",
        "The reference's own 4-wave waits (bf16), emitted the same way:",
        "",
        "| trip count | late | early | starved | trampled |",
        "|---|---|---|---|---|",
        *race_rows(),
        "",
        "## How fast the loop could be",
        "",
        "Busy cycles of one iteration on one compute unit, counted from the assembly, and the "
        "TFLOP/s of the whole chip if only the busiest unit counted; then the timing simulator's "
        "interval for the same schedule, with latencies and waits.",
        "",
        "| kernel | matrix | issue | LDS | memory | of the matrix bound | TFLOP/s at best "
        "| simulated cycles | of the matrix bound | TFLOP/s simulated |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *speeds,
        "",
        "Published for the MI355X at 8192^3, as the bar to beat once a chip is at hand (TFLOP/s; "
        "whole GEMMs with caches, power limits and launch, so below any such estimate):",
        "",
        "| who | bf16 | fp8 |",
        "|---|---|---|",
        *(f"| {who} | {bf16} | {fp8} |" for who, bf16, fp8 in PUBLISHED),
        "",
        f"The run took {time.time() - started:.0f} s.",
        "",
        *matrix_of_geometries(),
    ]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
