"""Random small schedules that are just synchronised enough.

A random grid, number of stages and order of the data ops; full synchronisation between all of
them; then waits and barriers are taken away, in random order, as long as the executor still gives
A @ B under every adversary. No scheduler, no wait derivation and no verifier takes part.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.mutation.truth import decide
from warploom.ir.counter_dialect import Counters, Protocol, ScheduleDocument
from warploom.ir.schedule_ops import (
    KOffsetKind,
    OpDesc,
    OpRole,
    OpTag,
    Phase,
    ScheduleEntry,
    ScheduleOps,
)

_LOADS = (OpTag(0, "LOAD_A"), OpTag(1, "LOAD_B"))
_READS = (OpTag(3, "MMA_LOAD_A"), OpTag(4, "MMA_LOAD_B"))
_MMA = OpTag(5, "MMA")
_OFFSETS = (KOffsetKind.K0, KOffsetKind.K1)
_TRIPS = (2, 0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    rows: int
    cols: int
    stages: int
    groups: int

    @property
    def subtiles(self) -> tuple[int, int]:
        return self.rows, self.cols

    def slots(self) -> list[tuple[int, int, int]]:
        """Every slot: (channel, stage, subtile)."""
        return [
            (ch, stage, sub)
            for stage in range(self.stages)
            for ch in (0, 1)
            for sub in range(self.subtiles[ch])
        ]


def random_schedule(seed: int) -> ScheduleDocument:
    """A correct schedule with little synchronisation to spare; same seed, same schedule."""
    rng = random.Random(seed)
    return _pruned(rng, serialised_schedule(rng))


def serialised_schedule(rng: random.Random) -> ScheduleDocument:
    """A random order of data ops with everything drained and joined between any two of them."""
    shape = _Shape(
        rows=rng.choice((1, 1, 1, 2)),
        cols=rng.choice((1, 2)),
        stages=rng.choice((1, 2)),
        groups=rng.choice((1, 1, 2)),
    )
    loads = [_load(slot) for slot in shape.slots()]
    rng.shuffle(loads)
    kernel = _shuffled(rng, shape, with_loads=True)
    epilogue = _shuffled(rng, shape, with_loads=False)
    return ScheduleDocument(
        name="random body",
        target="random",
        strategy="random",
        protocol=_protocol(rng, shape, len(loads)),
        counters=Counters(
            vm_per_load=(rng.randint(1, 4), rng.randint(1, 4)),
            lgkm_per_load=(rng.randint(1, 4), rng.randint(1, 4)),
        ),
        prologue=_synchronised(loads, Phase.PROLOGUE, shape.groups),
        kernel=_synchronised(kernel, Phase.KERNEL, shape.groups),
        epilogue=_synchronised(epilogue, Phase.EPILOGUE, shape.groups),
    )


def _protocol(rng: random.Random, shape: _Shape, loads: int) -> Protocol:
    staggered = shape.groups > 1
    return Protocol(
        groups=shape.groups,
        waves_per_group=2 if shape.groups == 1 else rng.choice((1, 2)),
        stagger_index=rng.randint(0, loads) if staggered else None,
        barrier_after_prologue=staggered,
        tail_barriers=(1, 0) if staggered else (0,),
        k_tiles_per_iteration=shape.stages,
        kernel_k_base=shape.stages,
    )


def _load(slot: tuple[int, int, int]) -> OpDesc:
    ch, stage, sub = slot
    role, k = OpRole.GLOBAL_LOAD, _OFFSETS[stage]
    return OpDesc(tag=_LOADS[ch], role=role, channel=ch, stage=stage, subtile=sub, k_offset=k)


def _read(slot: tuple[int, int, int]) -> OpDesc:
    ch, stage, sub = slot
    return OpDesc(tag=_READS[ch], role=OpRole.FRAGMENT_LOAD, channel=ch, stage=stage, subtile=sub)


def _shuffled(rng: random.Random, shape: _Shape, *, with_loads: bool) -> list[OpDesc]:
    """A random order in which every MMA finds its fragments and no load comes before a read."""
    out: list[OpDesc] = []
    pending_loads: list[OpDesc] = []
    for stage in range(shape.stages):
        slots = [s for s in shape.slots() if s[1] == stage]
        rng.shuffle(slots)
        todo = [(r, c) for r in range(shape.rows) for c in range(shape.cols)]
        have: set[tuple[int, int]] = set()
        while slots or todo or (pending_loads and rng.random() < 0.5):
            ready = [(r, c) for r, c in todo if (0, r) in have and (1, c) in have]
            choices = ["read"] * bool(slots) + ["mma"] * bool(ready)
            match rng.choice(choices + ["load"] * bool(pending_loads)):
                case "read":
                    ch, _, sub = slot = slots.pop()
                    have.add((ch, sub))
                    out.append(_read(slot))
                    pending_loads += [_load(slot)] * with_loads
                case "mma":
                    r, c = rng.choice(ready)
                    todo.remove((r, c))
                    out.append(OpDesc(tag=_MMA, role=OpRole.COMPUTE, stage=r, subtile=c))
                case _:
                    out.append(pending_loads.pop(rng.randrange(len(pending_loads))))
    return out + pending_loads


def _synchronised(ops: list[OpDesc], phase: Phase, groups: int) -> tuple[ScheduleEntry, ...]:
    """The ops with everything drained and all waves joined between any two."""
    between = [OpDesc.wait_vm(0), OpDesc.wait_lgkm(0), *[OpDesc.barrier()] * groups]
    row = [op for data in ops for op in (data, *between)]
    return tuple(ScheduleEntry(op=op, time_slot=i, phase=phase) for i, op in enumerate(row))


def _pruned(rng: random.Random, document: ScheduleDocument) -> ScheduleDocument:
    """Take synchronisation away, first in runs between two data ops, then one by one; weaken."""
    phases = (Phase.KERNEL, Phase.EPILOGUE, Phase.PROLOGUE)
    for whole_runs in (True, False):
        for phase in phases:
            document = _prune_phase(rng, document, phase, whole_runs)
    for phase in phases:
        document = _weaken_phase(document, phase)
    return document


def _weaken_phase(document: ScheduleDocument, phase: Phase) -> ScheduleDocument:
    """Give every wait the largest of a few counts that is still enough."""
    for i, entry in enumerate(document.phase(phase)):
        if entry.op.tag not in (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM):
            continue
        for count in (8, 4, 2, 1):
            entries = list(document.phase(phase))
            entries[i] = replace(entry, op=replace(entry.op, wait_value=count))
            trial = _with_phase(document, phase, tuple(entries))
            if not decide(trial, trips=_TRIPS, seeds=0).defective:
                document = trial
                break
    return document


def _prune_phase(
    rng: random.Random, document: ScheduleDocument, phase: Phase, whole_runs: bool
) -> ScheduleDocument:
    groups = list(_sync_runs(document.phase(phase)))
    if not whole_runs:
        groups = [[i] for run in groups for i in run]
    rng.shuffle(groups)
    gone: set[int] = set()
    entries = document.phase(phase)
    for group in groups:
        attempt = gone | set(group)
        left = tuple(e for i, e in enumerate(entries) if i not in attempt)
        trial = _with_phase(document, phase, left)
        if not decide(trial, trips=_TRIPS, seeds=0).defective:
            gone = attempt
    return _with_phase(document, phase, tuple(e for i, e in enumerate(entries) if i not in gone))


def _sync_runs(entries: tuple[ScheduleEntry, ...]) -> Iterator[list[int]]:
    run: list[int] = []
    for i, entry in enumerate(entries):
        if entry.op.tag >= ScheduleOps.BARRIER:
            run.append(i)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _with_phase(
    document: ScheduleDocument, phase: Phase, entries: tuple[ScheduleEntry, ...]
) -> ScheduleDocument:
    numbered = tuple(replace(e, time_slot=i) for i, e in enumerate(entries))
    match phase:
        case Phase.PROLOGUE:
            return replace(document, prologue=numbered)
        case Phase.KERNEL:
            return replace(document, kernel=numbered)
        case Phase.EPILOGUE:
            return replace(document, epilogue=numbered)
