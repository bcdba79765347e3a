"""What each wait of a schedule completes and what it leaves in flight, for comments in the source.

Counted over the program with two loop iterations, so that the loop's notes are those of its steady
state; where the schedule's own reasons are known, they are better and take precedence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from warploom.document.kinds import OpRole, Phase, ScheduleOps
from warploom.document.ops import OpDesc
from warploom.emit.gfx950.plan import KernelPlan, Movement

Place = tuple[Phase, int]


def wait_notes(
    plan: KernelPlan, reasons: Iterable[tuple[Phase, int, str]] = ()
) -> Mapping[Place, str]:
    """A comment for every wait, and for every barrier that has a reason."""
    notes = dict(_counted(plan)) if plan.movement is Movement.DMA else {}
    notes.update({(phase, index): _without_place(text) for phase, index, text in reasons})
    return notes


def _without_place(text: str) -> str:
    """``K[3] vm(6): why`` without its place, which the source shows already."""
    head, _, tail = text.partition(": ")
    return tail if head.endswith(("]", ")")) or "[" in head else text


def _counted(plan: KernelPlan) -> Iterable[tuple[Place, str]]:
    queues: dict[int, list[str]] = {ScheduleOps.WAIT_VM: [], ScheduleOps.WAIT_LGKM: []}
    found: dict[Place, str] = {}
    for phase in (Phase.PROLOGUE, Phase.KERNEL, Phase.KERNEL, Phase.EPILOGUE):
        for index, entry in enumerate(plan.document.phase(phase)):
            op = entry.op
            if op.tag in queues:
                queue = queues[int(op.tag)]
                cut = max(0, len(queue) - op.wait_value)
                found[phase, index] = _sentence(queue[:cut], queue[cut:])
                del queue[:cut]
            else:
                queues[ScheduleOps.WAIT_VM] += [op.label()] * _units(plan, op, OpRole.GLOBAL_LOAD)
                queues[ScheduleOps.WAIT_LGKM] += [op.label()] * _units(
                    plan, op, OpRole.FRAGMENT_LOAD
                )
    return found.items()


def _units(plan: KernelPlan, op: OpDesc, role: OpRole) -> int:
    if op.role is not role:
        return 0
    counters = plan.document.counters
    units = counters.vm_per_load if role is OpRole.GLOBAL_LOAD else counters.lgkm_per_load
    return units[plan.channel(op)]


def _sentence(done: list[str], left: list[str]) -> str:
    names = ", ".join(dict.fromkeys(done)) or "nothing new"
    flying = ", ".join(dict.fromkeys(left)) or "nothing"
    return f"completes {names}; {len(left)} units may stay in flight ({flying})"
