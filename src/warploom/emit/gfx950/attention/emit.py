"""The way of a text of two products through this back end: emit, compile, gate, describe."""

from __future__ import annotations

from typing import Any

from warploom.document import ScheduleDocument
from warploom.emit.gfx950.attention.lower import attention_ir
from warploom.emit.gfx950.attention.plan import AttentionPlan, attention_plan
from warploom.emit.gfx950.attention.registers import held_registers, require_registers
from warploom.emit.gfx950.attention.schedule import AttentionSchedule, attention_schedule
from warploom.emit.gfx950.attention.text import AttentionText
from warploom.emit.gfx950.emit import EmittedKernel, compiled
from warploom.emit.gfx950.isa import Resources
from warploom.emit.gfx950.sidecar import described
from warploom.emit.gfx950.tile import GemmTile
from warploom.errors import SchedulingError

BUDGETS = (None, 240, 224)  # of 256 registers for values, in the order of attempts


def emit_attention(
    document: ScheduleDocument, tile: GemmTile, text: AttentionText, *, insist: bool = True
) -> EmittedKernel[AttentionPlan]:
    """Emit, compile and check. ``insist=False`` returns a kernel that fails the gate, too."""
    plan = attention_plan(document, tile, text)
    return compiled(plan, attention_ir, _sidecar, require_registers if insist else None)


def fit_attention(
    text: AttentionText, tile: GemmTile
) -> tuple[AttentionSchedule, EmittedKernel[AttentionPlan]]:
    """Schedule and emit; where the code does not fit, again with fewer registers for values.

    How many registers addresses, copies and temporaries take only the compiler knows, so its truth
    goes back into the scheduler's budget.
    """
    fitting: list[tuple[AttentionSchedule, EmittedKernel[AttentionPlan]]] = []
    for budget in BUDGETS:
        try:
            schedule = attention_schedule(text, tile, registers=budget)
        except SchedulingError:
            continue  # too few, or too hard for the search
        made = emit_attention(schedule.document, tile, text, insist=False)
        held = held_registers(made.plan, made.gate.resources)
        if made.gate.resources.spills == 0 and made.gate.exact:
            fitting.append((schedule, made))
            if held.real <= held.budget:
                return schedule, made
    if not fitting:
        require_registers(made.plan, made.gate.resources)
        made.gate.require()
    return fitting[0]


def _sidecar(plan: AttentionPlan, resources: Resources, versions: dict[str, str]) -> dict[str, Any]:
    text, kernel, rows = plan.text, plan.text.kernel, plan.tile.block_n
    outputs = ", ".join(f"{s.tensor} {kernel.tensor(s.tensor).dtype}" for s in text.stores)
    axes = [kernel.var(v).axis for v in plan.units]
    grid = [f"ceil({kernel.var(text.row).axis} / {rows})", *axes, *["1"] * (2 - len(axes))]
    return described(plan.document, plan.tile, plan.arguments, resources, versions) | {
        "kernel": plan.name,
        "computes": f"{kernel.name} of {text.q.tensor}, {text.k.tensor}, {text.v.tensor}: "
        f"{outputs}, dense, rows of {text.width}",
        "grid": {
            "formula": f"[{', '.join(grid)}]",
            "rows_per_block": rows,
            "row_axis": kernel.var(text.row).axis,
            "unit_axes": axes,
        },
    }
