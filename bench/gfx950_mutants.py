"""Which damaged gfx950 kernels the ISA gate and the emulator find.

Every wait of the assembly is weakened by one and dropped, every barrier dropped, one at a time, in
several kernels. Writes bench/results/gfx950_mutants.md. Run: ``python -m bench.gfx950_mutants``
(some ten minutes on an idle core: a mutant the emulator does not find costs every run).
"""

from __future__ import annotations

import datetime
import platform
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
from tests.codegen_amdgcn.assembly_mutants import text_mutants

import warploom
from warploom.codegen.amdgcn import ElementType, check_isa, emit_kernel
from warploom.codegen.amdgcn.emit import ready_kernel
from warploom.codegen.amdgcn.emulate import (
    LATE,
    STARVED,
    TRAMPLED,
    EmulationError,
    Order,
    emulate_gemm,
    integer_matrix,
)
from warploom.errors import WarploomError
from warploom.pipeline.sync.marks import SyncPolicy

OUT = Path(__file__).parent / "results" / "gfx950_mutants.md"
BF16, FP8 = ElementType.BF16, ElementType.FP8
# name, schedule, block, element type, matrix instruction, who synchronises
SUBJECTS = (
    ("4-wave bf16, proven", "fourwave", (64, 64, 32), BF16, (16, 16, 32), None),
    ("4-wave fp8, proven", "fourwave", (64, 64, 128), FP8, (16, 16, 128), None),
    ("single buffer bf16", "single_buffer", (64, 64, 64), BF16, None, None),
    ("ping-pong bf16", "pingpong", (128, 128, 64), BF16, None, SyncPolicy.REFERENCE),
    ("ping-pong bf16, proven", "pingpong", (128, 128, 64), BF16, None, SyncPolicy.PROVEN_WEAKEST),
)
RUNS = (
    (1, STARVED, Order.FORWARD),
    (1, TRAMPLED, Order.FORWARD),
    (0, STARVED, Order.FORWARD),
    (1, TRAMPLED, Order.REVERSE),
    (2, LATE, Order.REVERSE),
)


def gate_finds(plan, text):
    try:
        return not check_isa(plan, text).exact
    except WarploomError:
        return True


def emulator_finds(plan, text):
    """The first run that goes wrong, or None."""
    tile, protocol = plan.tile, plan.document.protocol
    for trips, timing, order in RUNS:
        tiles = protocol.kernel_k_base + trips * protocol.k_tiles_per_iteration
        k = tiles * tile.block_k
        try:
            result = emulate_gemm(
                text,
                integer_matrix(tile.block_m, k, 1),
                integer_matrix(tile.block_n, k, 2),
                dtype=tile.element.value,
                block=(tile.block_m, tile.block_n),
                timing=timing,
                order=order,
            )
        except EmulationError:
            return f"{timing.name}, {order.value}, n = {trips}: fault"
        if not result.correct:
            return f"{timing.name}, {order.value}, n = {trips}"
    return None


def measure(name, schedule, block, element, mma, sync):
    ready = ready_kernel(schedule, block, element, mma=mma, sync=sync)
    kernel = emit_kernel(ready.document, ready.tile)
    assert emulator_finds(kernel.plan, kernel.assembly) is None
    counts, missed = Counter(), []
    for mutant in text_mutants(kernel.assembly):
        kind = mutant.what.split("(")[0] + (" weakened" if "->" in mutant.what else "")
        kind = "barrier dropped" if "barrier" in kind else kind.strip()
        if "dropped" in mutant.what and "barrier" not in mutant.what:
            kind = f"{kind} dropped"
        gate, emulator = gate_finds(kernel.plan, mutant.text), None
        emulator = emulator_finds(kernel.plan, mutant.text)
        counts[kind, "all"] += 1
        counts[kind, "gate"] += gate
        counts[kind, "emulator"] += emulator is not None
        counts[kind, "either"] += gate or emulator is not None
        if not gate and emulator is None:
            missed.append(f"{name}: line {mutant.line}, {mutant.what}")
    print(name, dict(counts), missed, file=sys.stderr, flush=True)
    return name, ready.tile.label(), counts, missed


def main():
    started = time.time()
    results = []
    for subject in SUBJECTS:
        results.append(measure(*subject))
        report(results, time.time() - started)


def report(results, seconds):
    kinds = (
        "vmcnt weakened", "vmcnt dropped", "lgkmcnt weakened", "lgkmcnt dropped", "barrier dropped",
    )  # fmt: skip
    lines = [
        "# Damaged gfx950 kernels: what the gate and the emulator find",
        "",
        f"Made by `bench/gfx950_mutants.py` on {datetime.date.today()}, warploom "
        f"{warploom.__version__}, Python {platform.python_version()}, NumPy {np.__version__}; "
        f"{seconds:.0f} s.",
        "",
        "One change a mutant, in the assembly text. A cell is found by the gate / by the emulator "
        "/ by either, of all. The emulator stopped at the first of these runs that went wrong: "
        + "; ".join(f"n = {n}, {t.name}, {o.value}" for n, t, o in RUNS)
        + ". Barriers that only "
        "keep the wave groups in phase, and waits that are stronger than needed (the reference's), "
        "change no result: those only the gate can see. Waits the compiler added by itself "
        "(single buffer) the gate does not claim: those only the emulator can see.",
        "",
        "| kernel | " + " | ".join(kinds) + " | sum |",
        "|---|" + "---|" * (len(kinds) + 1),
    ]
    total = Counter()
    for name, tile, counts, _ in results:
        cells = []
        for kind in kinds:
            cells.append(_cell(counts, [kind]))
        for key, value in counts.items():
            total[key] += value
        lines.append(f"| {name} ({tile}) | " + " | ".join([*cells, _cell(counts, kinds)]) + " |")
    cells = [_cell(total, [kind]) for kind in kinds]
    lines.append("| **sum** | " + " | ".join([*cells, _cell(total, kinds)]) + " |")
    missed = [m for *_, found in results for m in found]
    lines += ["", f"Found by neither: {len(missed)}.", *(f"* {m}" for m in missed), ""]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text("\n".join(lines))


def _cell(counts, kinds):
    gate, emulator, either, everything = (
        sum(counts[kind, column] for kind in kinds)
        for column in ("gate", "emulator", "either", "all")
    )
    return f"{gate} / {emulator} / {either} of {everything}" if everything else "-"


if __name__ == "__main__":
    main()
