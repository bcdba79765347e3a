"""Where each asynchronous operation is known to be over, and how many trip counts decide all.

Both queues retire in order of issue. A wait for ``n`` completes everything that has at least ``n``
units issued after it; a drain and a fencing barrier complete everything. Where the code generator
guards the registers, the wait it puts in front of an MMA or a store counts as well.

Every condition of the verifier is about a few events and the text between them. Let ``depth`` be
the largest number of loop back edges such a group of events spans, the epilogue counted as one
more iteration. Then the counts 0 .. depth + 1, and at least 0 .. 2, decide every count;
docs/explain/hazards.md has the argument. The depth is measured on a program long enough to show it.
"""

from collections import deque
from collections.abc import Iterator

from warploom.dataclass import dataclass
from warploom.ir import RegisterWaits
from warploom.ir.counter_dialect import Queue
from warploom.ir.schedule_ops import Phase
from warploom.verify.dataflow import NOTHING, Flow, Program, trace, unroll
from warploom.verify.events import Item, Kind, Text
from warploom.verify.findings import Assumptions

NEVER = 1 << 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """Where each asynchronous operation is first known to be complete.

    ``done[x]`` is the position of the event that completes the operation issued at ``x`` (``NEVER``
    if none does): it is complete for everything after. ``late`` is the same for groups >= 1, whose
    stagger barriers may drain too. ``literal`` takes every wait count at its word, also those the
    hardware can not express.
    """

    done: list[int]
    late: list[int]
    literal: list[int]


def complete(program: Program, flow: Flow, assumptions: Assumptions) -> Completion:
    """Find where every asynchronous operation completes."""
    text = program.text
    done = _Sweep(program, flow, assumptions).walk()
    drains_at_stagger = text.fencing and program.stagger >= 0
    unencodable = any(item.is_unencodable for item in text.items())
    return Completion(
        done=done,
        late=_Sweep(program, flow, assumptions, late=True).walk() if drains_at_stagger else done,
        literal=_Sweep(program, flow, assumptions, literal=True).walk() if unencodable else done,
    )


class _Sweep:
    """One walk over the program with both queues as lists of (position, units issued through)."""

    def __init__(
        self,
        program: Program,
        flow: Flow,
        assumptions: Assumptions,
        *,
        late: bool = False,
        literal: bool = False,
    ) -> None:
        self.items = program.items
        self.flow = flow
        self.assumptions = assumptions
        self.literal = literal
        self.done = [NEVER] * len(program.items)
        self.flights: dict[Queue, deque[tuple[int, int]]] = {q: deque() for q in Queue}
        self.issued = dict.fromkeys(Queue, 0)
        self.drains = {Kind.DRAIN}
        if program.text.fencing:
            self.drains |= {Kind.BARRIER, Kind.STAGGER} if late else {Kind.BARRIER}
        self.guarded = program.text.protocol.register_waits is RegisterWaits.COMPILER

    def walk(self) -> list[int]:
        """Where each operation completes."""
        for position, item in enumerate(self.items):
            if item.kind is Kind.WAIT:
                self._wait(position, item)
            elif item.kind in self.drains:
                self._retire(Queue.VM, 0, position)
                self._retire(Queue.LGKM, 0, position)
            else:
                if self.guarded:
                    self._guard(position, item)
                if item.queue is not None:
                    self._issue(position, item, item.queue)
        return self.done

    def _wait(self, position: int, item: Item) -> None:
        queue = item.queue
        assert queue is not None
        works = self.literal or not item.is_unencodable
        if works and (item.count == 0 or self.assumptions.in_order(queue)):
            self._retire(queue, item.count, position)

    def _issue(self, position: int, item: Item, queue: Queue) -> None:
        self.issued[queue] += item.units
        self.flights[queue].append((position, self.issued[queue]))
        if self.assumptions.issue_stalls and self.assumptions.in_order(queue):
            self._retire(queue, queue.capacity, position)

    def _guard(self, position: int, item: Item) -> None:
        """The wait the code generator puts in front of an event that takes registers."""
        if item.kind in (Kind.MMA, Kind.VECTOR):
            taken = self.flow.operands.get(position, ())
            self._retire_through(Queue.LGKM, max(taken, default=-1), position)
        elif item.kind is Kind.STORE:
            self._retire_through(Queue.VM, self.flow.source[position], position)

    def _retire(self, queue: Queue, count: int, position: int) -> None:
        flight, through = self.flights[queue], self.issued[queue] - count
        while flight and flight[0][1] <= through:
            self.done[flight.popleft()[0]] = position

    def _retire_through(self, queue: Queue, last: int, position: int) -> None:
        """Complete everything issued up to position ``last``.

        Out of order, the only wait that completes one operation completes all.
        """
        flight = self.flights[queue]
        if flight and flight[0][0] <= last and not self.assumptions.in_order(queue):
            last = position
        while flight and flight[0][0] <= last:
            self.done[flight.popleft()[0]] = position


_FIRST_TRY = 4
_LONGEST_TRY = 16


def dependence_depth(text: Text) -> int | None:
    """The largest number of back edges one condition spans, or ``None`` if it keeps growing."""
    trips = _FIRST_TRY
    while trips <= _LONGEST_TRY:
        program = unroll(text, trips)
        flow = trace(program)
        depth = max(_spans(program, flow), default=0) + _starts_alike(program, flow)
        if depth + 2 <= trips:
            return depth
        trips *= 2
    return None


def loads_follow_the_loop(text: Text) -> bool:
    """Do loads that take "the next tile" advance as fast as the loop does?

    Only then is iteration ``i + 1`` iteration ``i`` shifted by the tiles of one iteration.
    """
    rates: dict[tuple[int, int], int] = {}
    for item in text.items():
        if item.kind is Kind.LOAD and item.offset is None:
            rates[item.loader] = rates.get(item.loader, 0) + (item.phase is Phase.KERNEL)
    return set(rates.values()) <= {text.protocol.k_tiles_per_iteration}


def _starts_alike(program: Program, flow: Flow) -> bool:
    """Does the loop at first repeat a tile the prologue has put in place already?

    Then the first iterations can be right by accident, and one more is needed to tell.
    """
    iteration = _iterations(program)
    return any(iteration[start] < 0 <= iteration[event] for event, start in enumerate(flow.run))


def _spans(program: Program, flow: Flow) -> Iterator[int]:
    """Back edges spanned by each group of events that one condition looks at."""
    iteration = _iterations(program)
    taken = {read for reads in flow.operands.values() for read in reads if read != NOTHING}
    seen = {flow.run[flow.source[read]] for read in taken if flow.source[read] != NOTHING}
    for mma, reads in flow.operands.items():
        for read in reads:
            chain = [iteration[e] for e in (mma, *_chain(flow, read))]
            if min(chain) < 0:
                # Rooted in the prologue: the tile is the same in every iteration. One iteration
                # after the first full chain accumulates it again.
                inside = [t for t in chain if 0 <= t < program.trips]
                yield max(inside) - min(inside) + 1 if inside else 0
            else:
                around = [iteration[e] for e in _around(flow, read, seen) if iteration[e] >= 0]
                yield max(chain + around) - min(chain + around)


def _chain(flow: Flow, read: int) -> list[int]:
    """A fragment load, the write it sees, and the load after a store."""
    chain = []
    while read != NOTHING:
        chain.append(read)
        read = flow.source[read]
    return chain


def _around(flow: Flow, read: int, seen: set[int]) -> Iterator[int]:
    """The further events that decide whether one fragment load is right."""
    if read == NOTHING or flow.source[read] == NOTHING:
        return
    write = flow.source[read]
    yield from (flow.run[read], flow.run[write])
    if flow.after[write] != NOTHING:
        yield flow.after[write]
    older = flow.before[write]
    # An older write whose own tile is read in between was complete by then, or is a finding; but
    # of several writes of that tile the last can still be in flight.
    if older != NOTHING and (flow.run[older] not in seen or flow.run[older] != older):
        yield older
    load = flow.source[write]
    if load != NOTHING:  # staged: the same for the loads into the registers
        yield flow.run[load]
        if flow.before[load] != NOTHING:
            yield flow.before[load]


def _iterations(program: Program) -> list[int]:
    """Iteration of every event; -1 in the prologue, and the epilogue counts as one more."""
    by_phase = {Phase.PROLOGUE: -1, Phase.EPILOGUE: program.trips}
    pairs = zip(program.items, program.iterations, strict=True)
    return [by_phase.get(item.phase, iteration) for item, iteration in pairs]
