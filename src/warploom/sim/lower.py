"""From a schedule document to programs: one per wave, following the consumption protocol.

Ops without a price (the bootstrap fragments of a rotated loop carry none) take it from the op of
the same tag elsewhere in the document, as do ops without a channel. Hints for the instruction
scheduler emit no instruction and become no step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.errors import ConfigError, DocumentError
from warploom.ir.counter_dialect import BarrierKind, RegisterWaits, ScheduleDocument
from warploom.ir.dataflow import Flow, Key, touches
from warploom.ir.machine_costs import MachineCosts
from warploom.ir.schedule_ops import (
    KOffsetKind,
    OpDesc,
    OpRole,
    Phase,
    ResourceKind,
    ScheduleEntry,
    ScheduleOps,
)
from warploom.sim.events import Place, Row
from warploom.sim.program import (
    BarrierSpec,
    Issue,
    Meet,
    Priority,
    Program,
    Slot,
    Step,
    Unit,
    WaitQueue,
    Workload,
    check_length,
)

VM, LGKM = "vm", "lgkm"
BARRIER = "workgroup"
_QUEUES = {
    OpRole.GLOBAL_LOAD: VM,
    OpRole.FRAGMENT_LOAD: LGKM,
    OpRole.SHARED_STORE: LGKM,
}
_HINTS = (ScheduleOps.SCHEDULE_BARRIER, ScheduleOps.SCHED_GROUP_BARRIER, ScheduleOps.NONE)


def _letters(channel: int) -> str:
    """``A`` to ``Z``, then ``A1``: a channel has a name of its own, however many there are."""
    turn, letter = divmod(channel, 26)
    return chr(ord("A") + letter) + (str(turn) if turn else "")


_NOWHERE = Place(phase="", index=0, iteration=None, label="")


def lower(
    document: ScheduleDocument, costs: MachineCosts, trips: int, waves: int | None = None
) -> Workload:
    """The workload of ``trips`` loop iterations on the waves of the workgroup.

    With ``waves`` only that many of each group are run, evenly chosen: as many of a SIMD as of the
    others. Each then stands for several alike, and holds the units that all share accordingly
    longer.
    """
    protocol = document.protocol
    waves = protocol.waves_per_group if waves is None else waves
    if trips < 0:
        raise ConfigError(f"cannot run {trips} loop iterations", where="trips")
    if waves < 1 or protocol.waves_per_group % waves:
        raise ConfigError(
            f"cannot run {waves} waves of each group",
            where="waves",
            why=f"a group has {protocol.waves_per_group} waves; each one run stands for as many",
            fix="pass a divisor of the group's number of waves",
        )
    entries = len(document.prologue) + trips * len(document.kernel) + len(document.epilogue)
    check_length(entries * protocol.groups * waves, document.name)
    writer = _Writer(document, costs, trips, protocol.waves_per_group // waves)
    limits = tuple(
        (queue, limit)
        for queue, limit in ((VM, costs.vm_limit), (LGKM, costs.lgkm_limit))
        if limit is not None
    )
    programs = tuple(
        Program(
            row=Row(
                name=f"group {group} wave {wave}" if protocol.groups > 1 else f"wave {wave}",
                group=group,
                wave=wave,
            ),
            steps=writer.program(group, (group * protocol.waves_per_group + wave) % costs.simds),
            limits=limits,
        )
        for group in range(protocol.groups)
        for wave in range(0, protocol.waves_per_group, protocol.waves_per_group // waves)
    )
    return Workload(
        name=document.name,
        programs=programs,
        units=_units(programs, writer.lanes, costs),
        barriers=(BarrierSpec(name=BARRIER, rows=len(programs), cost=costs.barrier),),
    )


def _units(
    programs: Iterable[Program], lanes: Mapping[str, ResourceKind], costs: MachineCosts
) -> tuple[Unit, ...]:
    names = sorted({s.unit for p in programs for s in p.steps if isinstance(s, Issue)})
    units = []
    for name in names:
        kind = lanes[name]
        spec = costs.unit(kind)
        units.append(
            Unit(name=name, lane=kind.name, capacity=spec.capacity, blocking=spec.blocking)
        )
    return tuple(units)


@dataclass(frozen=True, slots=True)
class _Run:
    """One pass over a phase: which one, which iteration, and its first K-tile."""

    phase: Phase
    iteration: int | None
    k_base: int


class _Writer:
    """Writes the steps of a wave."""

    def __init__(
        self, document: ScheduleDocument, costs: MachineCosts, trips: int, stands_for: int
    ) -> None:
        self.document = document
        self.costs = costs
        self.trips = trips
        self.stands_for = stands_for
        self.steps: dict[tuple[OpDesc, int], Issue] = {}
        self.lanes: dict[str, ResourceKind] = {}  # what kind a unit is
        self.alike: dict[int, tuple[tuple[Step, ...], ...]] = {}
        self.places: dict[tuple[str, int, int | None], Place] = {}
        entries = (*document.kernel, *document.epilogue, *document.prologue)
        known = (*document.body, *(entry.op for entry in entries))
        self.priced = {op.tag: op for op in reversed(known) if op.resource is not ResourceKind.NONE}
        self.channels = document.channels()
        # Channels whose loads fill registers; elsewhere a load, or computed work, fills LDS.
        self.stored = {self.channel(op) for op in known if op.role is OpRole.SHARED_STORE}
        self.fetched = {self.channel(op) for op in known if op.role is OpRole.GLOBAL_LOAD}
        channels = {self.channel(op) for op in known if op.role is OpRole.FRAGMENT_LOAD}
        # A kernel that stages through registers and reads one kind of fragment slices along k.
        self.one_operand = bool(self.stored) and len(channels) == 1
        self.flow = {} if document.flow is None else _computed(document.flow)
        self.touches = None if document.flow is None else touches(document.flow)

    def channel(self, op: OpDesc) -> int:
        """The channel of an op: its own, or what its tag stands for."""
        return op.channel if op.channel >= 0 else self.channels.get(int(op.tag), 0)

    def letter(self, op: OpDesc) -> str:
        """The channel of an op as shown."""
        return _letters(self.channel(op))

    def program(self, group: int, simd: int) -> tuple[Step, ...]:
        """Everything a wave of ``group`` executes."""
        protocol = self.document.protocol
        if simd not in self.alike:
            self.alike[simd] = self._parts(simd)
        first, second, loop, epilogue = self.alike[simd]
        staggered = group if protocol.stagger_index is not None else 0
        tail = protocol.tail_barriers[group] if group < len(protocol.tail_barriers) else 0
        return (
            *first,
            *self._extra(staggered, "stagger", group),
            *second,
            *self._extra(int(protocol.barrier_after_prologue), "after prologue", group),
            *loop,
            *(self._drain() if protocol.epilogue_drain else ()),
            *epilogue,
            *self._extra(tail, "tail", group),
        )

    def _parts(self, simd: int) -> tuple[tuple[Step, ...], ...]:
        """What all waves of a SIMD execute: the prologue's two parts, the loop, the epilogue."""
        protocol, document = self.document.protocol, self.document
        tiles = _TileCounter()
        base, per = protocol.kernel_k_base, protocol.k_tiles_per_iteration
        prologue = _Run(Phase.PROLOGUE, None, 0)
        split = len(document.prologue) if protocol.stagger_index is None else protocol.stagger_index
        runs = [_Run(Phase.KERNEL, i, base + per * i) for i in range(self.trips)]
        epilogue = _Run(Phase.EPILOGUE, None, base + per * self.trips)
        return (
            tuple(self._phase(document.prologue[:split], prologue, simd, tiles)),
            tuple(self._phase(document.prologue[split:], prologue, simd, tiles, split)),
            tuple(s for run in runs for s in self._phase(document.kernel, run, simd, tiles)),
            tuple(self._phase(document.epilogue, epilogue, simd, tiles)),
        )

    def _extra(self, count: int, what: str, group: int) -> Iterator[Step]:
        """Barriers the protocol adds, which are no schedule entries."""
        for i in range(count):
            place = Place(
                phase="protocol", index=i, iteration=None, label=f"BARRIER ({what}, group {group})"
            )
            yield self._barrier(place)

    def _drain(self) -> Iterator[Step]:
        for i, queue in enumerate((VM, LGKM)):
            label = f"WAIT_{queue.upper()}(0)"
            place = Place(phase="protocol", index=i, iteration=None, label=label)
            yield WaitQueue(place=place, queue=queue, leave=0, cost=self.costs.sync_issue)
        yield from self._extra(1, "epilogue drain", 0)

    def _barrier(self, place: Place) -> Meet:
        fencing = self.document.protocol.barrier is BarrierKind.FENCING
        return Meet(place=place, barrier=BARRIER, drain=(VM, LGKM) if fencing else ())

    def _phase(
        self,
        entries: tuple[ScheduleEntry, ...],
        run: _Run,
        simd: int,
        tiles: _TileCounter,
        first: int = 0,
    ) -> Iterator[Step]:
        phase = run.phase.name.lower()
        for index, entry in enumerate(entries, first):
            if entry.op.tag in _HINTS:
                continue
            place = self._place(entry.op, phase, index, run.iteration)
            if entry.op.tag > 127:
                yield self._sync(entry.op, place)
            else:
                step = self._data(entry.op, simd)
                tile = tiles.of(entry.op, run.k_base)
                if tile is None:
                    yield replace(step, place=place)
                else:
                    content = f"tile {tile}"
                    detail = (*step.detail, ("content", content))
                    yield replace(step, place=place, content=content, detail=detail)

    def _place(self, op: OpDesc, phase: str, index: int, iteration: int | None) -> Place:
        """Where a step stands; every wave has the same places."""
        known = self.places.get((phase, index, iteration))
        if known is None:
            known = Place(phase=phase, index=index, iteration=iteration, label=op.label())
            self.places[phase, index, iteration] = known
        return known

    def _sync(self, op: OpDesc, place: Place) -> Step:
        cost = self.costs.sync_issue
        if op.tag == ScheduleOps.BARRIER:
            return self._barrier(place)
        if op.tag == ScheduleOps.SET_PRIO:
            return Priority(place=place, value=op.wait_value, cost=cost)
        if op.tag in (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM) and op.wait_value >= 0:
            queue = VM if op.tag == ScheduleOps.WAIT_VM else LGKM
            return WaitQueue(place=place, queue=queue, leave=op.wait_value, cost=cost)
        raise DocumentError(
            f"cannot simulate {op.label()}",
            path=f"$.{place.phase}[{place.index}]",
            why="a wait count must not be negative, and the tag must be a known one",
        )

    def _data(self, op: OpDesc, simd: int) -> Issue:
        """The step of a data op, but for its place and content, which change with the run."""
        known = self.steps.get((op, simd))
        if known is None:
            known = self.steps[op, simd] = self._new_data(op, simd)
        return known

    def _new_data(self, op: OpDesc, simd: int) -> Issue:
        priced = self._priced(op)
        kind = self.costs.unit_kind(priced)
        timing = self.costs.timing(priced)
        if self.costs.unit(kind).shared:
            unit = kind.name
            timing = replace(timing, occupancy=timing.occupancy * self.stands_for)
        else:
            unit = f"{kind.name}/simd{simd}"
        self.lanes[unit] = kind
        queue = _QUEUES.get(op.role, "")
        count = self._count(op, queue)
        needs, gives = self._registers(op)
        writes, reads = self._storage(op)
        return Issue(
            place=_NOWHERE,
            kind=op.role.name if op.role is not OpRole.NONE else op.name,
            unit=unit,
            timing=timing,
            instructions=max(1, count),
            queue=queue,
            count=count,
            needs=needs,
            gives=gives,
            writes=writes,
            reads=reads,
            detail=self._detail(op),
        )

    def _priced(self, op: OpDesc) -> OpDesc:
        if op.resource is not ResourceKind.NONE:
            return op
        model = self.priced.get(op.tag, op)
        return replace(op, resource=model.resource, latency=model.latency)

    def _count(self, op: OpDesc, queue: str) -> int:
        channel = self.channel(op)
        if channel > 1:  # the table has A and B; further channels carry their own counts
            return {VM: op.vm_cost, LGKM: op.lgkm_cost}.get(queue, 0)
        if queue == VM:
            return self.document.counters.vm_per_load[channel]
        if queue == LGKM and op.role is OpRole.SHARED_STORE:
            return op.lgkm_cost or self.document.counters.lgkm_per_load[channel]
        return self.document.counters.lgkm_per_load[channel] if queue == LGKM else 0

    def _registers(self, op: OpDesc) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Registers the hardware or the code generator waits for, and those delivered.

        Accumulators chain in hardware. Fragments are waited for only where the protocol leaves
        that to the code generator; elsewhere the schedule's own waits must do it.
        """
        by_compiler = self.document.protocol.register_waits is RegisterWaits.COMPILER
        if self.flow and op.role in (OpRole.COMPUTE, OpRole.VALU_COMPUTE):
            needs, gives = self.flow.get(op.key, ((), ()))
            return ((*self.operands(op), *needs) if by_compiler else needs), gives
        if op.role is OpRole.COMPUTE:
            accumulator = "acc" if self.one_operand else f"acc[{op.stage},{op.subtile}]"
            needs = (*self.operands(op), accumulator) if by_compiler else (accumulator,)
            return needs, (accumulator,)
        if op.role is OpRole.FRAGMENT_LOAD:
            return (), (self.fragment(op),)
        if op.role is OpRole.GLOBAL_LOAD and self.channel(op) in self.stored:
            return (), (self._staging(op),)
        return self._written(op, by_compiler) if op.role is OpRole.SHARED_STORE else (), ()

    def _written(self, op: OpDesc, by_compiler: bool) -> tuple[str, ...]:
        """Registers that a store to LDS takes: what a load left there, or what was computed."""
        if self.channel(op) not in self.fetched:
            return self.flow.get(op.key, ((), ()))[0]
        return (self._staging(op),) if by_compiler else ()

    def _staging(self, op: OpDesc) -> str:
        touch = self.touches.get(op.key) if self.touches else None
        return f"staging {self.letter(op)}" + (f"[{touch.part}]" if touch else "")

    def fragment(self, op: OpDesc) -> str:
        """The register a fragment load fills."""
        return f"frag {self.letter(op)}[{op.subtile}]"

    def operands(self, op: OpDesc) -> tuple[str, ...]:
        """The fragments an MMA reads: row of A and column of B, or its own k-slice."""
        if self.touches is not None:
            taken = self.touches.get(op.key)
            return tuple(f"frag {_letters(c)}[{i}]" for c, i in (taken.takes if taken else ()))
        if self.one_operand:
            return (f"frag A[{op.subtile}]",)
        return (f"frag A[{op.stage}]", f"frag B[{op.subtile}]")

    def _storage(self, op: OpDesc) -> tuple[Slot | None, tuple[Slot, ...]]:
        """The storage slot an op writes, and those it reads; LDS slots are shared by all rows."""
        channel = self.letter(op)
        touch = self.touches.get(op.key) if self.touches else None
        staged = self.channel(op) in self.stored
        whole = staged and touch is None  # a staging buffer, stored whole, is read in slices
        part = "" if whole else f",{touch.part if touch else op.subtile}"
        lds = Slot(f"LDS {channel}[{op.stage}{part}]", shared=True)
        staging = Slot(self._staging(op)) if staged else None
        match op.role:
            case OpRole.GLOBAL_LOAD:
                return (staging or lds), ()
            case OpRole.SHARED_STORE:
                return lds, (staging,) if staging and self.channel(op) in self.fetched else ()
            case OpRole.FRAGMENT_LOAD:
                return Slot(self.fragment(op)), (lds,)
            case OpRole.COMPUTE:
                return None, tuple(Slot(name) for name in self.operands(op))
            case _:
                return None, ()

    def _detail(self, op: OpDesc) -> tuple[tuple[str, str], ...]:
        facts = [("role", op.role.name)]
        if op.role is OpRole.COMPUTE:
            facts += [("accumulator", f"[{op.stage},{op.subtile}]")]
        elif op.role in _QUEUES:
            facts += [("channel", self.letter(op))]
            facts += [("stage", str(op.stage)), ("subtile", str(op.subtile))]
        return tuple(facts)


def _computed(flow: Flow) -> dict[Key, tuple[tuple[str, ...], tuple[str, ...]]]:
    """By op: the homes of computed values it takes, which hardware waits for, and of its own."""
    home = {h.value: h.place for h in flow.homes if h.place.isidentifier()}
    return {
        op.key: (
            tuple(home[o.value] for o in op.operands if o.value in home),
            tuple(home[r] for r in op.results if r in home),
        )
        for op in flow.ops
    }


class _TileCounter:
    """Which K-tile a global load fetches; without a k-offset, the next one of its sub-tile."""

    def __init__(self) -> None:
        self.following: dict[tuple[int, int], int] = {}

    def of(self, op: OpDesc, k_base: int) -> int | None:
        """The tile of ``op``, or None when it is no global load."""
        if op.role is not OpRole.GLOBAL_LOAD:
            return None
        if op.k_offset is not KOffsetKind.NONE:
            return k_base + op.k_offset.signed_bk_multiple()
        loader = (int(op.tag), op.subtile)
        tile = self.following.get(loader, 0)
        self.following[loader] = tile + 1
        return tile
