"""Register truth of attention kernels: what the flow's homes hold at once beside real counts."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.emit.gfx950.attention.ops import AttentionOps
from warploom.emit.gfx950.attention.plan import AttentionPlan
from warploom.emit.gfx950.isa import Resources
from warploom.emit.gfx950.tile import waves_per_simd
from warploom.errors import BackendError
from warploom.target.mi355x import mi355x

ARCH_REGISTERS = 256  # what one instruction can name; the upper half of the file is not used


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRegisters:
    """Modelled and real registers of one wave.

    ``peak``: most registers whose values are still to be used, over a steady iteration, by the
    sizes the scheduler knows; ``real``: the compiler's count.
    """

    peak: int
    real: int
    budget: int

    def text(self) -> str:
        """One line for reports."""
        return (
            f"{self.real} of {self.budget} registers: {self.peak} hold values at the peak of the "
            f"schedule, {self.real - self.peak} addresses, copies and temporaries"
        )


def held_registers(plan: AttentionPlan, resources: Resources) -> HeldRegisters:
    """Set the schedule's numbers beside the compiler's."""
    budget = min(ARCH_REGISTERS, mi355x().registers // waves_per_simd(plan.tile))
    return HeldRegisters(peak=live_peak(plan), real=resources.vgprs, budget=budget)


def live_peak(plan: AttentionPlan) -> int:
    """Most registers that hold values at once: fragments, scores, weights, sums and queries."""
    flow = plan.document.flow
    assert flow is not None
    home = {h.value: h.place for h in flow.homes}
    ops = {(op.name, op.args[0] if op.args else 0): op for op in flow.ops}
    sizes = AttentionOps(plan.text, plan.tile).sizes
    kept = 4 * plan.tile.k_steps  # the queries
    turns = [ops[e.op.name, e.op.subtile] for e in plan.document.kernel if e.op.tag < 128] * 3
    live: set[str] = set()
    peak = 0
    # Backwards: a home is live from its last use back to where it is written.
    for at, op in enumerate(reversed(turns)):
        made = {home[r] for r in op.results}
        held = live | made
        if at >= len(turns) // 3:
            peak = max(peak, sum(sizes.get(p, 0) for p in held if "." not in p))
        live = (live - made) | {home[o.value] for o in op.operands}
    return peak + kept


def require_registers(plan: AttentionPlan, resources: Resources) -> None:
    """Refuse a kernel that spills, saying what would make it fit."""
    if resources.spills == 0 and resources.scratch_bytes == 0:
        return
    held = held_registers(plan, resources)
    raise BackendError(
        f"the kernel spills {resources.vgpr_spills} vector and {resources.sgpr_spills} scalar "
        f"registers ({resources.scratch_bytes} bytes of scratch)",
        where=plan.tile.label(),
        why=f"a wave has {held.budget} registers; this schedule holds {held.peak} at its peak",
        fix="fewer keys a step, or an order of less overlap",
    )
