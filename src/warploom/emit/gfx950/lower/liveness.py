"""Which registers carry a value from one phase into the next.

A fragment (or staged load) is live into a phase when the phase uses it before it loads it again.
The answer decides the phis of the loop: a value that is not live gets none, so that no register is
kept for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.document.kinds import OpRole
from warploom.document.ops import OpDesc, ScheduleEntry
from warploom.emit.gfx950.plan import KernelPlan, Movement

Slot = tuple[str, int, int]  # ("fragment", channel, index) or ("staged", channel, 0)


@dataclass(frozen=True, slots=True)
class LiveIn:
    """Register slots live into the loop and into the epilogue."""

    kernel: frozenset[Slot]
    epilogue: frozenset[Slot]


def live_in(plan: KernelPlan) -> LiveIn:
    """Liveness over prologue -> loop -> epilogue, for every trip count including zero."""
    document = plan.document
    epilogue = _exposed(plan, document.epilogue)
    written = {slot for e in document.kernel for slot in _defines(plan, e.op)}
    through = epilogue - written
    return LiveIn(_exposed(plan, document.kernel) | through, epilogue)


def unused_reads(plan: KernelPlan) -> tuple[tuple[int, int], ...]:
    """Fragments ``(channel, index)`` the epilogue loads last and no MMA takes."""
    pending: dict[Slot, None] = {}
    for entry in plan.document.epilogue:
        for slot in _uses(plan, entry.op):
            pending.pop(slot, None)
        pending.update(dict.fromkeys(_defines(plan, entry.op)))
    return tuple((c, i) for kind, c, i in pending if kind == "fragment")


def _exposed(plan: KernelPlan, entries: tuple[ScheduleEntry, ...]) -> frozenset[Slot]:
    exposed: set[Slot] = set()
    written: set[Slot] = set()
    for entry in entries:
        exposed |= set(_uses(plan, entry.op)) - written
        written |= set(_defines(plan, entry.op))
    return frozenset(exposed)


def _uses(plan: KernelPlan, op: OpDesc) -> tuple[Slot, ...]:
    staged = plan.movement is Movement.STAGED
    if op.role is OpRole.COMPUTE:
        a = op.subtile if staged else op.stage
        return ("fragment", 0, a), ("fragment", 1, op.subtile)
    if op.role is OpRole.SHARED_STORE:
        return tuple(("staged", c, 0) for c in plan.channels(op))
    return ()


def _defines(plan: KernelPlan, op: OpDesc) -> tuple[Slot, ...]:
    if op.role is OpRole.FRAGMENT_LOAD:
        return tuple(("fragment", c, op.subtile) for c in plan.channels(op))
    if op.role is OpRole.GLOBAL_LOAD and plan.movement is Movement.STAGED:
        return tuple(("staged", c, 0) for c in plan.channels(op))
    return ()
