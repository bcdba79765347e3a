"""Lowering: a schedule document and a trip count become one straight list of steps per wave.

In goes a ``ScheduleDocument``, out comes a ``Program``: what every wave group executes, with slots,
registers, tile indices, queue units and wait counts resolved, and nothing else left to look up.
The lowering reads the entry lists and the protocol only; it knows no scheduler and no verifier.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from warploom.errors import ConfigError, DocumentError
from warploom.ir.counter_dialect import (
    BarrierKind,
    Protocol,
    Queue,
    RegisterWaits,
    ScheduleDocument,
)
from warploom.ir.dataflow import touches
from warploom.ir.schedule_ops import (
    MAX_KERNEL_TAG,
    KOffsetKind,
    OpDesc,
    OpRole,
    Phase,
    ScheduleEntry,
    ScheduleOps,
)

MAX_STEPS = 2_000_000

Slot = tuple[int, int, int]
"""``(channel, stage, subtile)`` of shared memory."""
Register = tuple[int, int]
"""``(channel, subtile)`` of a wave's fragment registers."""


class Kind(Enum):
    """What a step does."""

    LOAD = "load"  # global memory to an LDS slot
    FETCH = "fetch"  # global memory to staging registers
    STORE = "store"  # staging registers to the slots of a stage
    READ = "read"  # LDS slot to a fragment register
    MMA = "mma"
    WAIT = "wait"
    BARRIER = "barrier"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a step stands: ``kernel[7] of iteration 2``.

    Steps of the protocol have no phase, index -1 and their name in place of an op; ``gap`` says
    which point ``(phase, iteration, index)`` they stand in front of.
    """

    phase: Phase | None
    index: int
    iteration: int
    op: OpDesc | str
    gap: tuple[int, int, int] = (0, 0, 0)

    def __str__(self) -> str:
        if self.phase is None or isinstance(self.op, str):
            return str(self.op)
        loop = f" of iteration {self.iteration}" if self.phase is Phase.KERNEL else ""
        return f"{self.op.label()} at {self.phase.name.lower()}[{self.index}]{loop}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One instruction of a wave. Fields beside ``kind`` and ``place`` matter for some kinds."""

    kind: Kind
    place: Place
    slots: tuple[Slot, ...] = ()
    tile: int = -1
    staging: Register = (-1, 0)
    units: int = 0
    register: Register = (-1, -1)
    operands: tuple[Register, ...] = ()
    accumulator: tuple[int, int] = (0, 0)
    vm: int | None = None
    lgkm: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A lowered schedule: ``steps[g]`` is what every wave of group ``g`` executes.

    The grid of accumulators is every row with every column that the document's MMAs name.
    ``joined`` says that one channel feeds both operands (single buffer): then a subtile is a slice
    of the K-tile and the grid has one accumulator.
    """

    name: str
    steps: tuple[tuple[Step, ...], ...]
    group_of: tuple[int, ...]
    slots: tuple[Slot, ...]
    rows: tuple[int, ...]
    cols: tuple[int, ...]
    slices: tuple[int, ...]
    trips: int
    tiles: int
    joined: bool
    fencing: bool
    compiler_waits: bool

    @property
    def waves(self) -> int:
        """How many waves are run."""
        return len(self.group_of)


def lower(
    document: ScheduleDocument, trips: int, *, group_of: tuple[int, ...] | None = None
) -> Program:
    """Unroll ``document`` for ``trips`` loop iterations.

    ``group_of`` names the group of every wave to run; unless given, two waves stand for a group of
    more: every condition between waves is about a pair of them, and the waves of a group are
    interchangeable.
    """
    if trips < 0:
        raise ConfigError("a negative trip count", where=f"trips={trips}", fix="0 or more")
    length = len(document.prologue) + len(document.kernel) * trips + len(document.epilogue)
    if length * document.protocol.groups > MAX_STEPS:
        raise ConfigError(
            f"{length} steps per wave are too many to execute",
            where=f"trips={trips}",
            fix=f"at most {MAX_STEPS} steps over all groups",
        )
    return _Lowering(document, trips).program(group_of or waves_of(document.protocol, most=2))


def waves_of(protocol: Protocol, *, most: int | None = None) -> tuple[int, ...]:
    """The group of every wave, with at most ``most`` waves a group."""
    count = protocol.waves_per_group if most is None else min(most, protocol.waves_per_group)
    return tuple(g for g in range(protocol.groups) for _ in range(count))


class _Lowering:
    """Facts of one document that every step needs."""

    def __init__(self, document: ScheduleDocument, trips: int) -> None:
        self.document = document
        self.trips = trips
        self.protocol = document.protocol
        ops = [e.op for e in (*document.prologue, *document.kernel, *document.epilogue)]
        self.channels = document.channels()
        data = [op for op in ops if op.role in _DATA_ROLES]
        self.staged = {self.channel(op) for op in data if op.role is OpRole.SHARED_STORE}
        reads = [op for op in data if op.role is OpRole.FRAGMENT_LOAD]
        read = {self.channel(op) for op in reads}
        self.joined = len(read) == 1 and read <= self.staged
        self.joint = min(read, default=0)
        self.mmas = [op for op in ops if op.role is OpRole.COMPUTE]
        # The slots of LDS. A store writes a whole stage, whose parts the fragment loads name
        self.slots = tuple(sorted({(self.channel(op), op.stage, op.subtile) for op in data}))
        self.next_tile: dict[tuple[int, int], int] = {}
        self.touches = None if document.flow is None else touches(document.flow)
        if self.touches is not None:
            self._check_product(ops)
        # The part of a stage each slot belongs to, where several stores fill it
        self.part_of = {(self.channel(op), op.stage, op.subtile): self._part(op) for op in reads}

    def _check_product(self, ops: list[OpDesc]) -> None:
        """A flow must be that of a matrix product: this executor computes nothing else."""
        assert self.touches is not None
        for op in ops:
            touch = self.touches.get(op.key)
            grid = ((self.joint, op.subtile),) if self.joined else _operands(op)
            other = op.role is OpRole.COMPUTE and (touch is None or touch.takes != grid)
            if other or op.role is OpRole.VALU_COMPUTE:
                raise DocumentError(
                    f"{op.label()} is no part of a matrix product of two operands",
                    path="$.flow",
                    why="this executor runs A @ B; what else a document computes is in its flow",
                    fix="verify, simulate and timeline take it; emitted kernels: warploom emulate",
                )

    def _part(self, op: OpDesc) -> int:
        touch = None if self.touches is None else self.touches.get(op.key)
        return 0 if touch is None else touch.part

    def program(self, group_of: tuple[int, ...]) -> Program:
        p = self.protocol
        rows = tuple(sorted({op.stage for op in self.mmas} or {0}))
        cols = tuple(sorted({op.subtile for op in self.mmas} or {0}))
        if self.joined and len(rows) > 1:
            raise DocumentError(
                f"MMAs of stages {', '.join(map(str, rows))} of a single buffer",
                why="its fragments hold whole rows and columns, so it has one accumulator",
                fix="give all its MMAs the same stage",
            )
        return Program(
            name=self.document.name,
            steps=tuple(self._groups()),
            group_of=group_of,
            slots=self.slots,
            rows=(0,) if self.joined else rows,
            cols=(0,) if self.joined else cols,
            slices=cols if self.joined else (0,),
            trips=self.trips,
            tiles=p.kernel_k_base + p.k_tiles_per_iteration * self.trips,
            joined=self.joined,
            fencing=p.barrier is BarrierKind.FENCING,
            compiler_waits=p.register_waits is RegisterWaits.COMPILER,
        )

    def channel(self, op: OpDesc) -> int:
        """The op's channel: its own, or what its tag stands for."""
        result = op.channel if op.channel >= 0 else self.channels.get(int(op.tag))
        if result not in _AB:
            raise DocumentError(
                f"{op.label()} names no operand this executor can place (channel {result})",
                why="a matrix product has operand A (channel 0) and operand B (channel 1)",
                fix="give the op channel 0 or 1",
            )
        return result

    def _groups(self) -> Iterator[tuple[Step, ...]]:
        """What each group executes: the same steps around its own extra barriers."""
        p, entries = self.protocol, self.document.prologue
        stagger = None if p.stagger_index is None else min(p.stagger_index, len(entries))
        head = tuple(self._entries(entries[:stagger], 0))
        rest = tuple(self._behind_stagger(len(entries) if stagger is None else stagger))
        for group in range(p.groups):
            extra = 0 if stagger is None else group
            apart = _barriers(extra, "stagger barrier", (0, 0, stagger or 0))
            yield (*head, *apart, *rest, *_barriers(_tail(p, group), "tail barrier", (3, 0, 0)))

    def _behind_stagger(self, head: int) -> Iterator[Step]:
        p, doc = self.protocol, self.document
        yield from self._entries(doc.prologue[head:], 0, start=head)
        yield from _barriers(int(p.barrier_after_prologue), "barrier after the prologue", (1, 0, 0))
        for i in range(self.trips):
            base = p.kernel_k_base + p.k_tiles_per_iteration * i
            yield from self._entries(doc.kernel, base, iteration=i)
        if p.epilogue_drain:
            yield _protocol_step(Kind.WAIT, "drain before the epilogue", (2, 0, 0), vm=0, lgkm=0)
            yield from _barriers(1, "barrier before the epilogue", (2, 0, 0))
        end = p.kernel_k_base + p.k_tiles_per_iteration * self.trips
        yield from self._entries(doc.epilogue, end)

    def _entries(
        self, entries: Iterable[ScheduleEntry], base: int, *, iteration: int = 0, start: int = 0
    ) -> Iterator[Step]:
        for index, entry in enumerate(entries, start):
            place = Place(phase=entry.phase, index=index, iteration=iteration, op=entry.op)
            step = self._step(entry.op, place, base)
            if step is not None:
                yield step

    def _step(self, op: OpDesc, place: Place, base: int) -> Step | None:
        """The step an entry stands for; None for hints, priorities and waits for nothing."""
        if op.tag > MAX_KERNEL_TAG:
            return _sync_step(op, place)
        if op.role is OpRole.COMPUTE:
            return self._mma(op, place)
        if op.role not in _DATA_ROLES:
            return None
        ch = self.channel(op)
        if op.role is OpRole.GLOBAL_LOAD:
            return self._load(op, ch, place, base)
        if op.role is OpRole.SHARED_STORE:
            part = self._part(op)
            stage = [s for s in self.slots if s[:2] == (ch, op.stage)]
            slots = tuple(s for s in stage if self.part_of.get(s, part) == part)
            units = op.lgkm_cost or self.document.counters.lgkm_per_load[ch]
            return Step(kind=Kind.STORE, place=place, slots=slots, staging=(ch, part), units=units)
        return Step(
            kind=Kind.READ,
            place=place,
            slots=((ch, op.stage, op.subtile),),
            register=(ch, op.subtile),
            units=self.document.counters.lgkm_per_load[ch],
        )

    def _mma(self, op: OpDesc, place: Place) -> Step:
        if self.joined:
            return Step(kind=Kind.MMA, place=place, operands=((self.joint, op.subtile),))
        return Step(
            kind=Kind.MMA,
            place=place,
            operands=_operands(op),
            accumulator=(op.stage, op.subtile),
        )

    def _load(self, op: OpDesc, ch: int, place: Place, base: int) -> Step:
        staged, part = ch in self.staged, self._part(op)
        if op.k_offset is KOffsetKind.NONE:
            loader = (ch, -1 - part if staged else op.subtile)
            tile = self.next_tile.get(loader, 0)
            self.next_tile[loader] = tile + 1
        else:
            tile = base + op.k_offset.signed_bk_multiple()
        return Step(
            kind=Kind.FETCH if staged else Kind.LOAD,
            place=place,
            slots=() if staged else ((ch, op.stage, op.subtile),),
            tile=tile,
            staging=(ch, part),
            units=self.document.counters.vm_per_load[ch],
        )


def _operands(op: OpDesc) -> tuple[Register, ...]:
    """The fragments of A and of B that an MMA of a grid multiplies."""
    return (0, op.stage), (1, op.subtile)


_AB = (0, 1)
_DATA_ROLES = (OpRole.GLOBAL_LOAD, OpRole.SHARED_STORE, OpRole.FRAGMENT_LOAD)


def _sync_step(op: OpDesc, place: Place) -> Step | None:
    n = op.wait_value
    if op.tag == ScheduleOps.BARRIER:
        return Step(kind=Kind.BARRIER, place=place)
    if n < 0 and op.tag in (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM):
        raise DocumentError(f"{place} waits for a negative count", fix="counts are 0 or more")
    if op.tag == ScheduleOps.WAIT_VM and n < Queue.VM.capacity:
        return Step(kind=Kind.WAIT, place=place, vm=n)
    if op.tag == ScheduleOps.WAIT_LGKM and n < Queue.LGKM.capacity:
        return Step(kind=Kind.WAIT, place=place, lgkm=n)
    return None


def _protocol_step(
    kind: Kind,
    label: str,
    gap: tuple[int, int, int],
    *,
    vm: int | None = None,
    lgkm: int | None = None,
) -> Step:
    place = Place(phase=None, index=-1, iteration=0, op=label, gap=gap)
    return Step(kind=kind, place=place, vm=vm, lgkm=lgkm)


def _barriers(count: int, label: str, gap: tuple[int, int, int]) -> Iterator[Step]:
    for _ in range(count):
        yield _protocol_step(Kind.BARRIER, label, gap)


def _tail(protocol: Protocol, group: int) -> int:
    return protocol.tail_barriers[group] if group < len(protocol.tail_barriers) else 0
