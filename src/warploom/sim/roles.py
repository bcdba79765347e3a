"""Warp-specialised schedules: from a ``RolesDocument`` to programs, one per role instance.

One CTA is run. A ``full`` barrier of a ring slot is the signal that its announcement and all its
copies have come, an ``empty`` barrier that all its readers have arrived; both are counted per use
of the ring, so slot, lap and parity follow. Products retire in groups, in order. Fences and
meetings inside one instance cost nothing, and so does meeting other CTAs of a cluster, which are
taken to run alike. A bulk wait for reading the source waits for the whole store. A wait for
products and the release after it come before exponentials that stand in front of them: the
assembler moves these below, unless waits are tied to them (to a few: the rest), or they follow a
turn's products and read nothing of it: these it draws between the products.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeGuard

from warploom.dataclass import dataclass
from warploom.errors import ConfigError, DocumentError
from warploom.ir.machine_costs import RoleCosts
from warploom.ir.mbarrier_dialect import (
    Arrive,
    BulkCommit,
    BulkStore,
    BulkWait,
    Commit,
    Compute,
    Expect,
    Load,
    Mma,
    MmaFence,
    NamedArrive,
    NamedSync,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.ir.rings import Per, Side
from warploom.sim.events import Place, Row
from warploom.sim.program import (
    Await,
    Issue,
    Program,
    Signal,
    Slot,
    Spend,
    Step,
    Turn,
    Unit,
    WaitQueue,
    Workload,
    check_length,
)

EXPONENTIALS = "mufu"
GROUPS, STORES = "wgmma", "bulk store"


def lower_roles(document: RolesDocument, costs: RoleCosts, trips: int, tiles: int = 1) -> Workload:
    """The workload of one CTA."""
    if trips < max(1, document.minimum_trips) or tiles < 1:
        raise ConfigError(
            f"cannot run {tiles} tiles of {trips} iterations",
            where=document.name,
            fix=f"a tile needs at least {max(1, document.minimum_trips)} iterations",
        )
    entries = sum(
        p.instances * sum(len(e) for _, e in p.phases()) * trips * tiles for p in document.programs
    )
    check_length(entries, document.name)
    reader = _Reader(document, costs, trips, tiles)
    programs = tuple(
        Program(row=_row(group, role, instance), steps=tuple(reader.steps(role, instance)))
        for group, role in enumerate(document.programs)
        for instance in range(role.instances)
    )
    names = sorted({s.unit for p in programs for s in p.steps if isinstance(s, Issue)})
    units = tuple(Unit(name=n, lane=n, shared=n in costs.shared) for n in names)
    return Workload(name=document.name, programs=programs, units=units)


def _row(group: int, role: RoleProgram, instance: int) -> Row:
    name = role.name if role.instances == 1 else f"{role.name} {instance}"
    return Row(name=name, group=group, wave=instance, role=name, program=role.name)


@dataclass(frozen=True, slots=True)
class _Run:
    """Where in the run an entry stands; ``first`` is the iteration its ``k`` = 0 speaks of."""

    phase: str
    tile: int
    iteration: int | None
    first: int


class _Reader:
    """Turns entries into steps. What completes a barrier is counted over all programs first."""

    def __init__(
        self,
        document: RolesDocument,
        costs: RoleCosts,
        trips: int,
        tiles: int,
    ) -> None:
        self.document, self.costs = document, costs
        self.trips, self.tiles = trips, tiles
        self.fills: Counter[tuple[str, int]] = Counter()
        self.releases: Counter[tuple[str, int]] = Counter()
        for role in document.programs:
            every = (t for i in range(role.instances) for t in self._runs(role, i))
            for run, entries in every:
                for entry in entries:
                    if isinstance(entry, Expect | Load) or _fills(entry):
                        self.fills[self._use(entry.ring, entry.k, run)] += 1
                    elif isinstance(entry, Arrive):
                        self.releases[self._use(entry.ring, entry.k, run)] += 1

    def steps(self, role: RoleProgram, instance: int) -> Iterator[Step]:
        """Everything one instance executes."""
        for run, entries in self._runs(role, instance):
            open_group = {GROUPS: False, STORES: False}
            for index, entry in self._assembled(entries):
                place = Place(
                    phase=run.phase,
                    index=index,
                    iteration=run.iteration,
                    label=entry_label(entry),
                )
                step = self._step(entry, run, place, role, instance)
                if isinstance(step, Issue) and step.queue:
                    step = _grouped(step, open_group)
                elif isinstance(entry, Commit | BulkCommit):
                    open_group[GROUPS if isinstance(entry, Commit) else STORES] = False
                if step is not None:
                    yield step

    def _assembled(self, entries: tuple[RoleEntry, ...]) -> list[tuple[int, RoleEntry]]:
        """The entries with their places, in the order the assembler leaves them in."""
        result = list(enumerate(entries))
        for at in range(1, len(result)):
            before = result[at - 1][1]
            if not isinstance(result[at][1], WaitGroup) or not isinstance(before, Compute):
                continue
            if _drawn(entries, result[at - 1][0]) or self.costs.tied:
                continue
            if self.costs.of(before.op).unit == EXPONENTIALS:
                end = at + 1
                while end < len(result) and isinstance(result[end][1], Arrive):
                    end += 1
                result[at - 1 : end] = [*result[at:end], result[at - 1]]
        return result

    def _runs(
        self, role: RoleProgram, instance: int
    ) -> Iterator[tuple[_Run, tuple[RoleEntry, ...]]]:
        """The lists an instance runs, in order, each with its place in the run."""
        first, every = (instance, role.instances) if role.alternates else (0, 1)
        yield _Run("setup", 0, None, 0), role.setup
        for tile in range(first, self.tiles, every):
            yield _Run("prologue", tile, None, 0), role.prologue
            for i in range(role.peel, self.trips):
                yield _Run("kernel", tile, tile * self.trips + i, i), role.kernel
            yield _Run("epilogue", tile, None, self.trips), role.epilogue
        yield _Run("finish", self.tiles, None, 0), role.finish

    def _use(self, ring: str, k: int, run: _Run) -> tuple[str, int]:
        """Which use of the ring an entry speaks of, counted over all tiles."""
        if self.document.ring(ring).per is Per.TILE:
            return ring, run.tile
        return ring, run.tile * self.trips + run.first + k

    def _step(
        self, entry: RoleEntry, run: _Run, place: Place, role: RoleProgram, instance: int
    ) -> Step | None:
        match entry:
            case WaitFull() | WaitEmpty():
                return self._wait(entry, run, place)
            case Expect() | Arrive():
                ring, use = self._use(entry.ring, entry.k, run)
                what = "full" if isinstance(entry, Expect) or _fills(entry) else "empty"
                return Signal(
                    place=place,
                    signal=_signal(ring, what, use),
                    cost=max(self.costs.arrive, self.costs.step),
                    handoff=self.costs.handoff,
                )
            case Load() | Mma() | Compute() | BulkStore():
                return self._issue(entry, run, place)
            case WaitGroup() | BulkWait():
                queue = GROUPS if isinstance(entry, WaitGroup) else STORES
                return WaitQueue(
                    place=place, queue=queue, leave=entry.pending, cost=self.costs.step
                )
            case NamedSync() | NamedArrive():
                return self._named(entry, place, role, instance)
            case _:  # other fences and meetings inside an instance or a cluster cost nothing
                spends = self.costs.step and isinstance(entry, MmaFence | Commit)
                return Spend(place=place, cost=self.costs.step) if spends else None

    def _wait(self, entry: WaitFull | WaitEmpty, run: _Run, place: Place) -> Await | None:
        full = isinstance(entry, WaitFull)
        if entry.parity != (0 if full else 1):
            raise DocumentError(
                f"{place.text()} waits for the other parity",
                path=f"$.{place.phase}[{place.index}]",
                why="what it waits for then depends on timing; the verifier can judge it",
            )
        ring, use = self._use(entry.ring, entry.k, run)
        if full:
            signal, count = _signal(ring, "full", use), self.fills[ring, use]
        else:
            before = use - self.document.ring(ring).depth
            if before < 0:
                return None  # a fresh slot is free
            signal, count = _signal(ring, "empty", before), self.releases[ring, before]
        # Without anyone to give it, one is awaited all the same: the run then says who is stuck.
        cost = max(self.costs.ask, self.costs.step if full else 0)
        return Await(place=place, signal=signal, count=max(1, count), cost=cost)

    def _issue(self, entry: Load | Mma | Compute | BulkStore, run: _Run, place: Place) -> Issue:
        cost = self.costs.of(entry.op)
        queue, kind = "", "VALU_COMPUTE"
        needs: tuple[str, ...] = ()
        gives: tuple[str, ...] = ()
        signals: tuple[str, ...] = ()
        reads: tuple[Slot, ...] = ()
        writes: Slot | None = None
        content = ""
        match entry:
            case Load():
                ring, use = self._use(entry.ring, entry.k, run)
                signals, kind = (_signal(ring, "full", use),), "GLOBAL_LOAD"
                writes, content = self._slot(ring, entry.part, use), f"use {use}"
            case Mma():
                queue, kind = GROUPS, "COMPUTE"
                needs = (*entry.registers, entry.accumulator)
                reads = self._slots_read(entry, run)
            case Compute():
                needs, gives = entry.reads, entry.writes
                reads = self._slots_read(entry, run)
            case BulkStore():
                queue, kind = STORES, "SHARED_STORE"
        return Issue(
            place=place,
            kind=kind,
            unit=cost.unit,
            timing=cost.timing,
            ahead=cost.ahead,
            queue=queue,
            needs=needs,
            gives=gives,
            signals=signals,
            writes=writes,
            reads=reads,
            content=content,
            detail=(("iteration of the tile", str(run.first)),) if run.phase == "kernel" else (),
        )

    def _slot(self, ring: str, part: str, use: int) -> Slot:
        name = f"smem {ring}[{use % self.document.ring(ring).depth}].{part}"
        return Slot(name, shared=True, use=use)

    def _slots_read(self, entry: Mma | Compute, run: _Run) -> tuple[Slot, ...]:
        uses = ((slot, self._use(slot.ring, entry.k, run)[1]) for slot in entry.slots)
        return tuple(self._slot(slot.ring, slot.part, use) for slot, use in uses)

    def _named(
        self, entry: NamedSync | NamedArrive, place: Place, role: RoleProgram, instance: int
    ) -> Turn | None:
        if entry.instance is not None and entry.instance != instance:
            return None
        barrier = next(b for b in self.document.barriers if b.name == entry.barrier)
        number = (instance + entry.turn) % barrier.count
        return Turn(
            place=place,
            barrier=f"{barrier.name} {number}",
            per=max(1, barrier.threads // role.threads),
            waits=isinstance(entry, NamedSync),
            handoff=self.costs.barrier_handoff,
        )


def _drawn(entries: tuple[RoleEntry, ...], at: int) -> bool:
    """Whether a step follows the products of a turn and reads nothing of theirs."""
    given = at - 1
    while given >= 0 and isinstance(entries[given], Compute):
        given -= 1
    if given < 0 or not isinstance(entries[given], NamedArrive):
        return False
    taken = max((i for i, e in enumerate(entries[:given]) if isinstance(e, NamedSync)), default=0)
    products = [e for e in entries[taken:given] if isinstance(e, Mma)]
    busy = {r for e in products for r in (e.accumulator, *e.registers)}
    steps = [e for e in entries[given + 1 : at + 1] if isinstance(e, Compute)]
    return not any(busy & {*e.reads, *e.writes} for e in steps)


def _fills(entry: RoleEntry) -> TypeGuard[Arrive]:
    """Whether an arrival says that a share of the slot is written, not that it is read."""
    return isinstance(entry, Arrive) and entry.side is Side.FULL


def _signal(ring: str, what: str, use: int) -> str:
    return f"{ring} {what}, use {use}"


def _grouped(step: Issue, open_group: dict[str, bool]) -> Issue:
    """The first op of a group stands for the group's one unit of its queue."""
    count = 0 if open_group[step.queue] else 1
    open_group[step.queue] = True
    return replace(step, count=count)


def entry_label(entry: RoleEntry) -> str:
    """An entry in a few characters, as timelines name it."""
    match entry:
        case Load() | Mma() | Compute() | BulkStore():
            return entry.op
        case WaitFull() | WaitEmpty() | Expect() | Arrive():
            return f"{type(entry).__name__}({entry.ring})"
        case WaitGroup() | BulkWait():
            return f"{type(entry).__name__}({entry.pending})"
        case NamedSync() | NamedArrive():
            return f"{type(entry).__name__}({entry.barrier})"
        case _:
            return type(entry).__name__
