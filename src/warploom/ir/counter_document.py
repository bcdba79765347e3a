"""The schedule document of a module for the verifier of synchronisation (counter dialect).

``assemble`` puts the scheduled operations of the three phases into the program of a wave, with the
barriers and waits that the protocol adds; ``schedule_document`` takes a program apart again and
refuses one that the protocol would not make, so what is verified is the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warploom.errors import DocumentError
from warploom.ir import operations as ops
from warploom.ir.counter_dialect import ScheduleDocument
from warploom.ir.expr import IntExpr, const
from warploom.ir.module import Dialect, KernelModule, WaveFacts
from warploom.ir.operations import Operation, Statement, StepLoop
from warploom.ir.schedule_ops import OpDesc, OpTag, Phase, ScheduleEntry, ScheduleOps
from warploom.ir.tile_schedule import let

TRIPS = let("trips")
_TAGS = {int(t): t for t in ScheduleOps}


def assemble(
    facts: WaveFacts,
    prologue: Sequence[Operation],
    kernel: Sequence[Operation],
    epilogue: Sequence[Operation],
) -> tuple[Statement, ...]:
    """The program of a wave: the phases, and what the protocol adds to them."""
    protocol = facts.protocol
    start = list(prologue)
    if protocol.stagger_index is not None:
        extra = [
            ops.WorkgroupBarrier(groups=tuple(range(n, protocol.groups)))
            for n in range(1, protocol.groups)
        ]
        start[protocol.stagger_index : protocol.stagger_index] = extra
    if protocol.barrier_after_prologue:
        start.append(ops.WorkgroupBarrier())
    end: list[Operation] = []
    if protocol.epilogue_drain:
        end += [ops.WaitCount(vm=0, lgkm=0), ops.WorkgroupBarrier()]
    end += list(epilogue)
    for n in range(1, max(protocol.tail_barriers) + 1):
        groups = tuple(g for g, count in enumerate(protocol.tail_barriers) if count >= n)
        end.append(ops.WorkgroupBarrier(groups=groups))
    zero: IntExpr = const(0)
    return (*start, StepLoop(start=zero, stop=TRIPS, body=tuple(kernel)), *end)


def schedule_document(module: KernelModule) -> ScheduleDocument:
    """The document the verifier of synchronisation reads."""
    facts = module.waves
    if module.dialect is not Dialect.COUNTER or facts is None:
        raise DocumentError(
            f"a module of the {module.dialect} dialect has no counter document",
            path="$.module.dialect",
            fix="its roles document: warploom.ir.roles_document",
        )
    body = tuple(s for s in module.roles[0].tiles.body if not isinstance(s, ops.Vector))
    at = next((i for i, s in enumerate(body) if isinstance(s, StepLoop)), None)
    if at is None:
        raise DocumentError("no step loop", path="$.module.roles[0].tiles.body")
    loop = body[at]
    assert isinstance(loop, StepLoop)
    parts = [
        tuple(o for o in row if _scheduled(o)) for row in (body[:at], loop.body, body[at + 1 :])
    ]
    if assemble(facts, *parts) != body:  # type: ignore[arg-type]
        raise DocumentError(
            "barriers or waits beside the schedule that its protocol does not have",
            path="$.module.roles[0].tiles.body",
            fix="those of warploom.ir.counter_document.assemble",
        )
    prologue, kernel, epilogue = (
        tuple(_entry(o, phase) for o in row) for phase, row in zip(Phase, parts, strict=True)
    )
    return ScheduleDocument(
        name=module.name,
        target=module.target,
        strategy=module.strategy,
        shape=facts.shape,
        protocol=facts.protocol,
        counters=facts.counters,
        prologue=prologue,
        kernel=kernel,
        epilogue=epilogue,
        warp_stagger_index=facts.stagger_index,
        flow=module.flow,
    )


def _scheduled(op: Statement) -> bool:
    return getattr(op, "scheduled", None) is not None


def _entry(op: Any, phase: Phase) -> ScheduleEntry:  # noqa: ANN401 (an operation that is scheduled)
    said: ops.Scheduled = op.scheduled
    stage, subtile = getattr(op, "stage", 0), getattr(op, "subtile", 0)
    wait = 0
    match op:
        case ops.WaveMma():
            stage, subtile = op.a, op.b
        case ops.WaitCount():
            wait = op.vm if op.vm is not None else op.lgkm or 0
        case ops.Hint():
            wait = op.value
    desc = OpDesc(
        tag=_TAGS.get(said.tag) or OpTag(said.tag, said.name),
        stage=stage,
        subtile=subtile,
        k_offset=said.k_offset,
        vm_cost=said.vm_cost,
        lgkm_cost=said.lgkm_cost,
        wait_value=wait,
        resource=said.resource,
        latency=said.latency,
        role=said.role,
        channel=said.channel,
        vgpr_def=said.vgpr_def,
        vgpr_kill=said.vgpr_kill,
    )
    return ScheduleEntry(
        op=desc,
        time_slot=said.time_slot,
        phase=phase,
        is_prefetch=said.is_prefetch,
        reason=said.reason,
    )
