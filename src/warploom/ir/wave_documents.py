"""The schedule documents of a wave program, for the verifier of synchronisation.

A document is read off the instructions: which stage of a ring an entry touches, how many of the
wave's counters it takes, what it waits for. What stands beside the entries of a pipelined loop must
be what its protocol adds, or there is no document: so what is verified is the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.errors import DocumentError
from warploom.ir.counter_dialect import ScheduleDocument
from warploom.ir.module import KernelModule
from warploom.ir.schedule_ops import OpDesc, OpRole, OpTag, Phase, ScheduleEntry, ScheduleOps
from warploom.ir.waves import (
    Barrier,
    Compare,
    CopyToLds,
    If,
    Instruction,
    Integer,
    IntOp,
    Pin,
    Pipeline,
    Priority,
    ReadLds,
    Step,
    Wait,
    WriteLds,
    instructions,
    pipelines,
)

_TAGS = {int(t): t for t in ScheduleOps}
_SYNCHRONISING = (OpRole.SYNC, OpRole.FENCE)
_FIX = "steps, and the barriers that the protocol of the loop adds"


def wave_documents(module: KernelModule) -> tuple[ScheduleDocument, ...]:
    """What the verifier reads: one document for every pipelined loop, in their order."""
    if module.program is None:
        return ()
    found = pipelines(module.program)
    return tuple(pipeline_document(p, module.target, f"loop {i}") for i, p in enumerate(found))


def pipeline_document(loop: Pipeline, target: str, path: str) -> ScheduleDocument:
    """The document of one pipelined loop."""
    protocol = loop.protocol
    groups = range(protocol.groups)
    behind = [{g for g in groups if g >= extra} for extra in range(1, protocol.groups)]
    tail = protocol.tail_barriers
    front = [{g for g, t in enumerate(tail) if t >= n} for n in range(1, max(tail) + 1)]
    at = protocol.stagger_index
    start = _phase(loop.prologue, Phase.PROLOGUE, f"{path}.prologue")
    turn = _phase(loop.kernel, Phase.KERNEL, f"{path}.kernel")
    end = _phase(loop.epilogue, Phase.EPILOGUE, f"{path}.epilogue")
    wanted = {at: behind} if at is not None and behind else {}
    _expect(start.between, wanted, f"{path}.prologue")
    _expect(turn.between, {}, f"{path}.kernel")
    _expect(end.between, {len(end.entries): front} if front else {}, f"{path}.epilogue")
    return ScheduleDocument(
        name=loop.name,
        target=target,
        strategy=loop.strategy,
        shape=loop.shape,
        machine=loop.machine,
        protocol=protocol,
        counters=loop.counters,
        prologue=start.entries,
        kernel=turn.entries,
        epilogue=end.entries,
        flow=loop.flow,
    )


class _Read:
    """Entries of a phase, and the barriers between them by how many stand before."""

    def __init__(self, entries: list[ScheduleEntry], between: dict[int, list[set[int]]]) -> None:
        self.entries = tuple(entries)
        self.between = between


def _phase(body: Sequence[Instruction], phase: Phase, path: str) -> _Read:
    entries: list[ScheduleEntry] = []
    between: dict[int, list[set[int]]] = {}
    masks: dict[str, int] = {}  # what tests of a wave's group choose from
    for one in body:
        match one:
            case Step():
                entries.append(_entry(one, phase, f"{path}[{len(entries)}]"))
            case Pin():
                pass
            case Integer(to=to, op=IntOp.LSHR, a=int(mask)):
                masks[to] = mask
            case Integer(to=to, op=IntOp.AND, a=str(of), b=1) if of in masks:
                masks[to] = masks[of]
            case Compare(to=to, a=str(of), b=0) if of in masks:
                masks[to] = masks[of]
            case If(condition=str(of), otherwise=None, results=()) if of in masks and _synchronises(
                one.body
            ):
                mask = masks[of]
                groups = {g for g in range(mask.bit_length()) if mask >> g & 1}
                between.setdefault(len(entries), []).append(groups)
            case _:
                name = type(one).__name__
                raise DocumentError(f"{name} between the steps of a loop", path=path, fix=_FIX)
    return _Read(entries, between)


def _synchronises(body: Sequence[Instruction]) -> bool:
    """Whether there is one barrier and nothing else that does anything."""
    kinds = [type(one) for one in body if not isinstance(one, Pin | Wait)]
    return kinds == [Barrier]


def _expect(found: dict[int, list[set[int]]], wanted: dict[int, list[set[int]]], path: str) -> None:
    if found != wanted:
        raise DocumentError(
            "barriers of groups of waves that the protocol does not have", path=path, fix=_FIX
        )


def _entry(step: Step, phase: Phase, path: str) -> ScheduleEntry:
    every = tuple(instructions(step.body))
    copies = [x for x in every if isinstance(x, CopyToLds)]
    moved = [x for x in every if isinstance(x, CopyToLds | ReadLds | WriteLds)]
    for one in moved:
        if (one.ring, one.stage) != (step.channel, step.stage):
            raise DocumentError(
                f"an access of ring {one.ring}, stage {one.stage}, in a step of ring"
                f" {step.channel}, stage {step.stage}",
                path=path,
                fix="accesses of the step's own ring and stage",
            )
    wait, tag = _waits(step, every, path)
    op = OpDesc(
        tag=tag,
        stage=step.stage,
        subtile=step.number,
        k_offset=step.k_offset,
        vm_cost=len(copies),
        lgkm_cost=len(moved) - len(copies),
        wait_value=wait,
        resource=step.resource,
        latency=step.latency,
        role=step.role,
        channel=step.channel,
        vgpr_def=step.vgpr_def,
        vgpr_kill=step.vgpr_kill,
    )
    return ScheduleEntry(
        op=op,
        time_slot=step.time_slot,
        phase=phase,
        is_prefetch=step.is_prefetch,
        reason=step.reason,
    )


def _waits(step: Step, every: Sequence[Instruction], path: str) -> tuple[int, OpTag | ScheduleOps]:
    """What a step waits for, and which op that is; data ops wait for nothing."""
    said = [x for x in every if isinstance(x, Wait | Barrier | Priority)]
    if step.role not in _SYNCHRONISING:
        if said:
            raise DocumentError(
                f"{type(said[0]).__name__.lower()} in a step of data", path=path, fix=_FIX
            )
        return step.wait, OpTag(step.tag, step.name)
    if any(not isinstance(x, Wait | Barrier | Priority | Pin) for x in every):
        raise DocumentError("work in a step that synchronises", path=path, fix=_FIX)
    match said:
        case [Wait(vm=int(count), lgkm=None)]:
            return count, ScheduleOps.WAIT_VM
        case [Wait(vm=None, lgkm=int(count))]:
            return count, ScheduleOps.WAIT_LGKM
        case [Barrier()] | [Wait(vm=0, lgkm=0), Barrier()]:
            return step.wait, ScheduleOps.BARRIER
        case [Priority(value=value)]:
            return value, ScheduleOps.SET_PRIO
        case []:
            tag = _TAGS.get(step.tag)
            if tag in (ScheduleOps.SCHEDULE_BARRIER, ScheduleOps.SCHED_GROUP_BARRIER):
                return step.wait, tag
    raise DocumentError(f"{len(said)} operations in a step that synchronises", path=path, fix=_FIX)
