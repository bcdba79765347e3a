"""Pipelined loops of tile kernels on MI355X: the bound of each body, then simulated cycles.

    .venv/bin/python bench/mi355x_loops.py [KERNEL...]

For every kernel at its default configuration: how long each unit of a compute unit is busy with one
step of the loop (the busiest one is the bound), simulated cycles of a step, whether the machine
code is exactly the schedule, registers and spills, and for loops that are not pipelined the reason.
All cycles are of the simulator with the costs of the MI355X target: nothing has run on the chip.
Writes ``bench/results/mi355x_loops.md``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from warploom.cli.kernels import kernel_named
from warploom.compiler.amd_tiles import compile_tile_kernel
from warploom.ir.schedule_ops import ResourceKind
from warploom.passes.amdgcn.loop_schedule import unit_cycles
from warploom.verify import verify

OUT = Path(__file__).parent / "results" / "mi355x_loops.md"
KERNELS = (
    ("gemm", "bf16"), ("turned", "bf16"), ("swiglu", "bf16"), ("rms_gemm", "bf16"),
    ("grouped", "bf16"), ("grouped_gathered", "bf16"), ("grouped_swiglu", "bf16"),
    ("grouped_weights", "bf16"), ("block_scaled", "fp8"), ("fp8_gemm", "bf16"),
    ("int4_gemm", "bf16"), ("attention", "bf16"), ("attention_grad", "bf16"),
    ("packed_grad", "bf16"), ("values_grad", "bf16"), ("paged", "bf16"), ("scan", "bf16"),
    ("scan_parts", "bf16"),
)  # fmt: skip
UNITS = (
    (ResourceKind.MMA_UNIT, "matrix"), (ResourceKind.LDS, "LDS"), (ResourceKind.VALU, "vector"),
    (ResourceKind.GLOBAL_MEM, "memory"),
)  # fmt: skip
HEAD = """\
# Loops of tile kernels on MI355X (simulated)

Written by `bench/mi355x_loops.py`. Cycles of one step of the loop on one compute unit, by the costs
of the MI355X target (`warploom costs`, each with its origin). **Nothing here was timed on the
chip.** A unit's column is how long it is busy with one step; the busiest is the bound. *share* is
bound over simulated cycles.

| kernel | tile | waves | matrix | LDS | vector | memory | simulated | share | registers | code |
|---|---|---|---|---|---|---|---|---|---|---|
"""


def rows_of(name: str, dtype: str) -> list[str]:
    """Lines of the table for one kernel."""
    kernel = kernel_named(name, None, dtype)
    if kernel is None:
        return [f"| {name} | - | no such kernel |"]
    try:
        program = compile_tile_kernel(kernel.compiled.kernel)
    except Exception as error:
        return [f"| {name} | - | refused: {str(error).splitlines()[0]} |"]
    found = program.resources
    lines = []
    for schedule in program.schedules:
        busy = unit_cycles(program.plan, schedule.body)
        pace = schedule.pace()
        assert pace is not None
        assert program.gate is not None
        bound = max(busy.values())
        shape = schedule.document.name.removeprefix(f"{program.kernel.name}_")
        clean = "proven" if verify(schedule.document).clean else "NOT PROVEN"
        code = "exact" if program.gate.exact else "DIFFERS"
        spilled = "" if not found.spills else f", {found.spills} spilled outside the loop"
        cells = [
            name, shape, str(program.plan.waves), *(str(busy.get(u, 0)) for u, _ in UNITS),
            f"{pace.per_tile:.0f}", f"{bound / pace.per_tile:.0%}", f"{found.vgprs}{spilled}",
            f"{code}, {clean}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    lines += [f"| {name} | - | not pipelined: {why} |" for why in program.not_pipelined]
    return lines or [f"| {name} | - | no loop of products |"]


def main() -> None:
    """Compile, simulate, write; lines of kernels that were not asked for stay."""
    wanted = sys.argv[1:]
    before = OUT.read_text().splitlines() if OUT.exists() else []
    lines = []
    for name, dtype in KERNELS:
        found = [x for x in before if x.startswith(f"| {name} |")]
        if not wanted or name in wanted:
            found = rows_of(name, dtype)
            print("\n".join(found), flush=True)
        lines += found
        OUT.write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
