"""A text unrolled for one trip count, and what each event carries when it runs in order.

Positions count the events of the unrolled program. All waves run the same positions; wave groups
differ only in the barriers at the stagger point. For events of two waves, ``e1`` happens before
``e2`` exactly when the second wave has executed at least one barrier more before ``e2`` than the
first before ``e1``: that barrier joined both.

A *token* is the K-tile a slot or register holds. In-order execution says which tile each fragment
load is meant to see and which each MMA is meant to multiply; the races are then all ways in which
asynchrony can make that untrue.

Writes of the *same* tile into a slot can not be told apart, so they are grouped into runs: only a
write of another tile can do harm.
"""

from warploom.dataclass import dataclass
from warploom.ir.counter_dialect import Queue
from warploom.ir.schedule_ops import Phase
from warploom.verify.events import Item, Kind, Register, Slot, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The events of one wave for ``trips`` iterations.

    ``barriers[t]`` counts the barriers in front of position ``t`` in group 0; ``stagger`` is the
    position of the stagger point, or -1. ``issued[queue][t]`` are the units issued in front of
    ``t``, ``waits[queue]`` the positions of its waits.
    """

    text: Text
    trips: int
    items: list[Item]
    iterations: list[int]
    barriers: list[int]
    stagger: int
    issued: dict[Queue, list[int]]
    waits: dict[Queue, list[int]]

    def barriers_before(self, position: int, group: int) -> int:
        """Barriers a wave of a group has executed in front of a position."""
        behind = 0 <= self.stagger < position
        return self.barriers[position] + (group if behind else 0)

    def units_between(self, queue: Queue, first: int, second: int) -> int:
        """Units of a queue issued after ``first`` and in front of ``second``."""
        return self.issued[queue][second] - self.issued[queue][first + 1]


def unroll(text: Text, trips: int) -> Program:
    """The program of one wave for a trip count."""
    items = list(text.prologue)
    iterations = [0] * len(items)
    if text.protocol.barrier_after_prologue:
        items.append(Item(kind=Kind.BARRIER, phase=Phase.PROLOGUE, index=text.sizes[0]))
        iterations.append(0)
    for iteration in range(trips):
        items += text.kernel
        iterations += [iteration] * len(text.kernel)
    tail = list(text.epilogue)
    if text.protocol.epilogue_drain:
        added = (Kind.DRAIN, Kind.BARRIER)
        tail[:0] = [Item(kind=kind, phase=Phase.EPILOGUE, index=0) for kind in added]
    items += tail
    iterations += [0] * len(tail)
    return _count(text, trips, items, iterations)


def _count(text: Text, trips: int, items: list[Item], iterations: list[int]) -> Program:
    barriers, stagger = [0], -1
    issued: dict[Queue, list[int]] = {Queue.VM: [0], Queue.LGKM: [0]}
    vm, lgkm = issued[Queue.VM], issued[Queue.LGKM]
    waits: dict[Queue, list[int]] = {Queue.VM: [], Queue.LGKM: []}
    for position, item in enumerate(items):
        kind, queue = item.kind, item.queue
        barriers.append(barriers[-1] + (kind is Kind.BARRIER))
        vm.append(vm[-1] + (item.units if queue is Queue.VM else 0))
        lgkm.append(lgkm[-1] + (item.units if queue is Queue.LGKM else 0))
        if kind is Kind.STAGGER:
            stagger = position
        elif kind is Kind.WAIT and queue is not None:
            waits[queue].append(position)
    return Program(
        text=text,
        trips=trips,
        items=items,
        iterations=iterations,
        barriers=barriers,
        stagger=stagger,
        issued=issued,
        waits=waits,
    )


NOTHING = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """In-order data flow; positions index the program, ``NOTHING`` marks absence.

    ``tile[t]``: the K-tile a load, store or read at ``t`` carries (``None``: never loaded).
    ``source[t]``: for a read the write it sees, for a store the load that filled the registers.
    ``operands[t]``: for an MMA the reads it takes. ``run[t]``: for a write or read, the first of
    the unbroken run of equal tiles in its slot or register. ``before[t]``: the last write or read
    of another tile in front of that run; ``after[t]``: the first such write after it.
    ``writes[slot]``, ``fills[register]`` and ``fetches[staging]``: all writes into a slot, reads
    into a register and loads into staging registers, in order. ``user[t]``: the last MMA that
    takes the value of the read at ``t``.
    """

    tile: list[int | None]
    source: list[int]
    operands: dict[int, tuple[int, ...]]
    run: list[int]
    before: list[int]
    after: list[int]
    writes: dict[Slot, list[int]]
    fills: dict[Register, list[int]]
    fetches: dict[Register, list[int]]
    user: list[int]
    unsure: frozenset[int] = frozenset()


def trace(program: Program, unsure: frozenset[int] = frozenset()) -> Flow:
    """Run the program in order and record who carries what.

    ``unsure`` are stores that may write something else than their tile (their load may still be
    in flight): they belong to no run.
    """
    size = len(program.items)
    flow = Flow(
        tile=[None] * size,
        source=[NOTHING] * size,
        operands={},
        run=list(range(size)),
        before=[NOTHING] * size,
        after=[NOTHING] * size,
        writes={},
        fills={},
        fetches={},
        user=[NOTHING] * size,
        unsure=unsure,
    )
    tracer = _Tracer(program, flow)
    for position, item in enumerate(program.items):
        action = tracer.actions.get(item.kind)
        if action is not None:
            action(position, item)
    # For every write, the next write of another tile into its slot
    for row in flow.writes.values():
        following = NOTHING
        for index in range(len(row) - 1, -1, -1):
            if index + 1 < len(row) and flow.run[row[index + 1]] == row[index + 1]:
                following = row[index + 1]
            flow.after[row[index]] = following
    return flow


class _Tracer:
    """The state of an in-order run: what slots, registers and staging registers hold."""

    def __init__(self, program: Program, flow: Flow) -> None:
        self.program = program
        self.flow = flow
        self.next_tile: dict[tuple[int, int], int] = {}
        # The K-tile that offset 0 stands for, at every position
        protocol = program.text.protocol
        first, step = protocol.kernel_k_base, protocol.k_tiles_per_iteration
        outside = {Phase.PROLOGUE: 0, Phase.EPILOGUE: first + step * program.trips}
        pairs = zip(program.items, program.iterations, strict=True)
        self.base = [outside.get(item.phase, first + step * i) for item, i in pairs]
        self.actions = {
            Kind.LOAD: self._load,
            Kind.STORE: self._store,
            Kind.READ: self._read,
            Kind.MMA: self._mma,
            Kind.VECTOR: self._vector,
        }

    def _load(self, position: int, item: Item) -> None:
        self.flow.tile[position] = self._loaded_tile(position, item)
        if item.slot is None:
            assert item.staging is not None
            row = self.flow.fetches.setdefault(item.staging, [])
            self._continue(row, position)
            row.append(position)
        else:
            self._write(position, item.slot)

    def _loaded_tile(self, position: int, item: Item) -> int:
        if item.offset is not None:
            return self.base[position] + item.offset
        tile = self.next_tile.get(item.loader, 0)
        self.next_tile[item.loader] = tile + 1
        return tile

    def _store(self, position: int, item: Item) -> None:
        row = None if item.staging is None else self.flow.fetches.get(item.staging)
        if row:
            filled = row[-1]
            self.flow.source[position] = filled
            self.flow.tile[position] = self.flow.tile[filled]
        elif self.program.text.flow is not None:
            # No load fills registers for it: what it writes was computed, anew in every iteration.
            tile = self.next_tile.get(item.loader, 0)
            self.next_tile[item.loader] = tile + 1
            self.flow.tile[position] = tile
        if item.slot is not None:
            self._write(position, item.slot)

    def _write(self, position: int, slot: Slot) -> None:
        flow = self.flow
        row = flow.writes.setdefault(slot, [])
        self._continue(row, position)
        row.append(position)

    def _continue(self, row: list[int], position: int) -> None:
        """Link an event to the run of equal tiles it continues, or to what it follows."""
        if not row:
            return
        flow, last = self.flow, row[-1]
        same = flow.tile[last] == flow.tile[position] is not None
        same = same and flow.unsure.isdisjoint((last, position))
        flow.run[position] = flow.run[last] if same else position
        flow.before[position] = flow.before[last] if same else last

    def _read(self, position: int, item: Item) -> None:
        flow, register = self.flow, item.registers[0]
        row = flow.writes.get(item.slot) if item.slot is not None else None
        if row:
            flow.source[position] = row[-1]
            flow.tile[position] = flow.tile[row[-1]]
        fills = flow.fills.setdefault(register, [])
        self._continue(fills, position)
        fills.append(position)

    def _vector(self, position: int, item: Item) -> None:
        if item.registers:
            self._mma(position, item)

    def _mma(self, position: int, item: Item) -> None:
        fills = self.flow.fills
        taken = tuple(fills[r][-1] if r in fills else NOTHING for r in item.registers)
        self.flow.operands[position] = taken
        for read in taken:
            if read != NOTHING:
                self.flow.user[read] = position
