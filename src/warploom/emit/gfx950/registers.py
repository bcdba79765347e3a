"""Register truth: the compiler's real counts against what the schedule's cost model says.

The cost model gives each op the registers it defines and kills; their running sum is what the
scheduler believed the fragments take. ``register_truth`` sets it beside the registers the fragments
take in the emitted code, and ``require_registers`` refuses a schedule that does not fit, with what
to change.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.document.ops import OpRole
from warploom.emit.gfx950.isa import Resources
from warploom.emit.gfx950.lower.zeroing import ADDRESSES
from warploom.emit.gfx950.plan import KernelPlan, Slot
from warploom.emit.gfx950.tile import waves_per_simd
from warploom.errors import BackendError
from warploom.target.mi355x import mi355x


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterTruth:
    """Modelled and real registers of one wave.

    ``fragment_loads`` lists each kind of fragment load with the registers its ``vgpr_def`` claims
    and those it really fills.
    """

    modelled_peak: int
    fragments: int
    accumulators: int
    real: int
    agprs: int
    budget: int
    fragment_loads: tuple[tuple[str, int, int], ...]

    @property
    def overhead(self) -> int:
        """Registers of the real kernel that hold neither accumulators nor fragments."""
        return self.real - self.accumulators - self.fragments

    @property
    def model_agrees(self) -> bool:
        """Whether the cost model's fragment registers are those of the tile."""
        return self.modelled_peak == self.fragments

    def text(self) -> str:
        """One line for reports."""
        verdict = "agrees with" if self.model_agrees else "differs from"
        wrong = [
            f"{name} defines {claimed} in the model and {real} in the code"
            for name, claimed, real in self.fragment_loads
            if claimed != real
        ]
        return "; ".join(
            [
                f"{self.real} of {self.budget} registers ({self.agprs} AGPR): {self.accumulators} "
                f"accumulators, {self.fragments} fragments at the peak, {self.overhead} others",
                f"the cost model's peak of {self.modelled_peak} {verdict} the fragments",
                *wrong,
            ]
        )


def register_truth(plan: KernelPlan, resources: Resources) -> RegisterTruth:
    """Set the model's numbers beside the compiler's."""
    rows, columns = plan.grid
    return RegisterTruth(
        modelled_peak=_modelled_peak(plan),
        fragments=_fragment_peak(plan),
        accumulators=rows * columns * plan.tile.mfma.accumulator_registers,
        real=resources.vgprs,
        agprs=resources.agprs,
        budget=mi355x().registers // waves_per_simd(plan.tile),
        fragment_loads=_fragment_loads(plan),
    )


def _fragment_loads(plan: KernelPlan) -> tuple[tuple[str, int, int], ...]:
    size = _fragment_sizes(plan)
    return tuple(
        dict.fromkeys(
            (e.op.name, e.op.vgpr_def, sum(size[c] for c in plan.channels(e.op)))
            for e in plan.document.kernel
            if e.op.role is OpRole.FRAGMENT_LOAD
        )
    )


def _fragment_sizes(plan: KernelPlan) -> dict[int, int]:
    return {c: 4 * plan.fragment_reads(c) for c in (0, 1)}


def require_registers(plan: KernelPlan, resources: Resources) -> None:
    """Refuse a kernel that spills, saying what would make it fit."""
    if resources.spills == 0 and resources.scratch_bytes == 0:
        return
    truth = register_truth(plan, resources)
    need = truth.accumulators + truth.fragments + ADDRESSES
    options = ["a smaller block (half of BM or BN halves the accumulators)"]
    if plan.tile.waves < 8:
        options.append("more waves (8 instead of 4 halves each wave's accumulators)")
    if plan.tile.mfma.m == 16:
        options.append("the 32x32 matrix instruction, whose accumulators need no copies")
    raise BackendError(
        f"the kernel spills {resources.vgpr_spills} vector and {resources.sgpr_spills} scalar "
        f"registers ({resources.scratch_bytes} bytes of scratch)",
        where=plan.tile.label(),
        why=f"a wave has {truth.budget} registers; this schedule wants about {need}: "
        f"{truth.accumulators} accumulators, {truth.fragments} fragments, addresses",
        fix="; or ".join(options),
    )


def _modelled_peak(plan: KernelPlan) -> int:
    """Peak of the running sum of ``vgpr_def - vgpr_kill`` over one iteration of the loop."""
    live = peak = 0
    for entry in plan.document.kernel:
        live += entry.op.vgpr_def
        peak = max(peak, live)
        live -= entry.op.vgpr_kill
    return peak


def _fragment_peak(plan: KernelPlan) -> int:
    """Most fragment registers that hold a value still to be used, over a steady iteration."""
    size = _fragment_sizes(plan)
    ops = [e.op for _ in range(3) for e in plan.document.kernel]
    accesses = [
        (slot, writes)
        for op in ops
        for writes, slots in ((True, plan.defines(op)), (False, plan.uses(op)))
        for slot in slots
        if slot[0] == "fragment"
    ]
    last_use = _last_uses(accesses)
    live: dict[Slot, int] = {}
    peak = 0
    for at, (slot, writes) in enumerate(accesses):
        if writes:
            live[slot] = at
            peak = max(peak, sum(size[channel] for _, channel, _ in live))
        elif slot in live and last_use.get((slot, live[slot])) == at:
            del live[slot]
    return peak


def _last_uses(accesses: list[tuple[Slot, bool]]) -> dict[tuple[Slot, int], int]:
    """For each write ``(slot, position)`` the position of the last read before the next write."""
    current: dict[Slot, int] = {}
    last: dict[tuple[Slot, int], int] = {}
    for at, (slot, writes) in enumerate(accesses):
        if writes:
            current[slot] = at
        elif slot in current:
            last[slot, current[slot]] = at
    return last
