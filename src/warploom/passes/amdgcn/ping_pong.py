"""Ping-pong: the two waves of a SIMD take turns with its matrix unit and its vector unit.

Waves that meet at every barrier do the same thing at the same time: both want the matrix unit, then
both the vector unit. Here an iteration is cut into sections, matrix work in the even ones, vector
work in the odd ones, with a barrier between neighbours. The second half of the waves runs one
section behind the first (one barrier more before the loop, one less after it), so that one wave of
a SIMD multiplies while the other does vector work.

What a wave writes to LDS others read a section later than they would in step: a wait stands in
front of the barrier that ends a section, and the group behind passes that barrier a section later.
So data is requested early, and tiles have more copies.

The order inside a section is found by moving ops while the simulated interval falls; in how many
iterations an op comes later follows from the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from warploom.ir.counter_dialect import Protocol
from warploom.ir.schedule_ops import OpDesc, OpRole, Phase, ScheduleEntry
from warploom.modulo import ModuloResult, model
from warploom.modulo.result import Limit, LimitKind
from warploom.pipeline.modulo.bridge import BodyProblem
from warploom.pipeline.modulo.entries import ModuloPhases

GROUPS = 2
MATRIX, VECTOR = 0, 1  # parity of sections
MOST_LAGS = 64  # iterations that an op may come later


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Cycles of an op of one wave: how long it holds its unit, its issue, until it is done."""

    occupancy: int
    issue: int
    late: int


@dataclass(frozen=True, slots=True)
class Turns:
    """Ops of an iteration in order, section by section."""

    order: tuple[int, ...]
    section: tuple[int, ...]  # by op
    count: int  # of sections
    reads: frozenset[int]

    def moved(self) -> Iterator[Turns]:
        """The same with one read elsewhere in its section."""
        for at, op in enumerate(self.order):
            if op not in self.reads:
                continue
            mine = [i for i, o in enumerate(self.order) if self.section[o] == self.section[op]]
            for to in mine:
                if to != at:
                    rest = [*self.order[:at], *self.order[at + 1 :]]
                    rest.insert(to, op)
                    yield replace(self, order=tuple(rest))


def first_turns(body: BodyProblem, timed: Sequence[Timed], turns: int, reads: int) -> Turns:
    """Ops in sections: ``turns`` of matrix work and as many of vector work.

    Reads of LDS stand in sections of parity ``reads``, before the one that needs them; loads two
    sections after the last read of their tile, when all waves are done with it.
    """
    ops, edges, count = body.ops, body.problem.edges, 2 * turns
    found = [-1] * len(ops)
    for parity, role in ((MATRIX, OpRole.COMPUTE), (VECTOR, OpRole.VALU_COMPUTE)):
        mine = [i for i, op in enumerate(ops) if op.role is role]
        busy, done = sum(timed[i].occupancy for i in mine), 0
        for i in mine:
            found[i] = 2 * min(turns - 1, done * turns // max(1, busy)) + parity
            done += timed[i].occupancy
    for i, op in enumerate(ops):
        if op.role is OpRole.FRAGMENT_LOAD:
            first = min((found[e.dst] for e in edges if e.src == i), default=0)
            found[i] = first - 1 if (first - 1) % 2 == reads else first - 2
    for i, op in enumerate(ops):
        if op.role is OpRole.GLOBAL_LOAD:
            found[i] = max((found[e.dst] for e in edges if e.src == i), default=0) + GROUPS
    found = [s % count for s in found]
    order: list[int] = []
    for section in range(count):
        mine = [i for i in range(len(ops)) if found[i] == section]
        order += [i for i in mine if ops[i].role is OpRole.GLOBAL_LOAD]
        own = [i for i in mine if ops[i].role in (OpRole.COMPUTE, OpRole.VALU_COMPUTE)]
        for i in mine:  # a read follows the last op here that takes what was read before
            if ops[i].role is OpRole.FRAGMENT_LOAD:
                users = [own.index(e.dst) for e in edges if e.src == i and e.dst in own]
                own.insert(max(users) + 1 if users else 0, i)
        order += own
    moved = frozenset(i for i, op in enumerate(ops) if op.role is OpRole.FRAGMENT_LOAD)
    return Turns(tuple(order), tuple(found), count, moved)


def ahead_of(body: BodyProblem, turns: Turns, timed: Sequence[Timed]) -> tuple[int, ...]:
    """By how many sections loads may come before the first read, the least stall first.

    A boundary after the latency of a load, and one more until the other group is there; where tiles
    have no copies for that, one less.
    """
    length = [0] * turns.count
    for i, own in enumerate(timed):
        length[turns.section[i]] += max(own.issue, own.occupancy * (own.issue > 0))
    loads = [t.late for t, op in zip(timed, body.ops, strict=True) if op.role is OpRole.GLOBAL_LOAD]
    most = -(-max(loads) // max(1, *length)) + 1
    return tuple(range(most, max(GROUPS, most - 1) - 1, -1))


def arranged(
    body: BodyProblem, turns: Turns, ahead: int, lds: int, most: int
) -> ModuloResult | None:
    """The order as a schedule: how many iterations later each op runs, copies of each tile.

    ``ahead``: sections between a load and the first read of it. None where values would be
    overwritten before they are used, or tiles do not fit.
    """
    problem, ops = body.problem, body.ops
    place = {op: i for i, op in enumerate(turns.order)}
    # By edge: iterations that its end comes later than its start at least.
    waits = [_later(e, ops, turns, place, ahead) for e in problem.edges]
    lag = [0] * len(ops)
    for _ in range(MOST_LAGS):
        changed = False
        for e, later in zip(problem.edges, waits, strict=True):
            if lag[e.dst] < lag[e.src] + later:
                lag[e.dst], changed = lag[e.src] + later, True
        if not changed:
            break
    else:
        return None
    for role in (OpRole.FRAGMENT_LOAD, OpRole.GLOBAL_LOAD):  # not before they are needed
        for v, op in enumerate(ops):
            ends = [lag[e.dst] - w for e, w in zip(problem.edges, waits, strict=True) if e.src == v]
            if op.role is role and ends:
                lag[v] = min(ends)
    first = min(lag)
    lag = [each - first for each in lag]
    in_lds = [ring.kind is model.RingKind.SMEM for ring in problem.rings]
    if not all(
        _kept(r, lag, place) for r, own in zip(problem.rings, in_lds, strict=True) if not own
    ):
        return None
    # As many copies of all tiles: the kernel repeats after so many iterations.
    tiles = [r for r, own in zip(problem.rings, in_lds, strict=True) if own]
    copies = min(most, lds // sum(r.size for r in tiles))
    if copies < max(_depth(r, lag, turns) for r in tiles):
        return None
    depths = [copies if own else 1 for own in in_lds]
    ii = len(ops)
    return ModuloResult(
        problem=problem, ii=ii, lower_bound=1, proven=False,
        times=tuple(lag[v] * ii + place[v] for v in range(len(ops))),
        depths=tuple(depths), roles=(model.MAIN_ROLE,) * len(ops),
        limit=Limit(kind=LimitKind.SEARCH, text="sections of matrix and vector work"),
        res_mii=1, rec_mii=1, rec_mii_at_depths=1,
    )  # fmt: skip


def _later(
    e: model.ModuloEdge, ops: Sequence[OpDesc], turns: Turns, place: Mapping[int, int], ahead: int
) -> int:
    if ops[e.src].role is not OpRole.GLOBAL_LOAD:
        return int(place[e.dst] <= place[e.src]) - e.distance
    sections = turns.section[e.src] + ahead - turns.section[e.dst]
    return -(-sections // turns.count) - e.distance


def _depth(ring: model.Ring, lag: Sequence[int], turns: Turns) -> int:
    """Copies of a tile: it is written again two sections after its last read began, or later."""
    (writer,) = ring.writers
    wrote = lag[writer] * turns.count + turns.section[writer]
    needed = 1
    for read in ring.readers[0]:
        done = (lag[read.op] + read.distance) * turns.count + turns.section[read.op]
        needed = max(needed, -(-(done + GROUPS - wrote) // turns.count))
    return needed


def _kept(ring: model.Ring, lag: Sequence[int], place: Mapping[int, int]) -> bool:
    """Whether each value of a register home is used before the next one is written."""
    count = len(ring.writers)
    for k, reads in enumerate(ring.readers):
        after, more = ring.writers[(k + 1) % count], int(k + 1 == count)
        write = (lag[after] + more, place[after])
        for read in reads:
            used = (lag[read.op] + read.distance, place[read.op])
            if used > write or (used == write and read.op != after):
                return False
    return True


def in_turns(
    body: BodyProblem, turns: Turns, phases: ModuloPhases, waves: int
) -> tuple[Protocol, tuple[ScheduleEntry, ...]]:
    """The protocol of two groups, and the kernel with a barrier between sections."""
    section = {(int(op.tag), op.subtile): s for op, s in zip(body.ops, turns.section, strict=True)}
    entries: list[ScheduleEntry] = []
    last = section[int(phases.kernel[-1].op.tag), phases.kernel[-1].op.subtile]
    for entry in phases.kernel:
        now = section[int(entry.op.tag), entry.op.subtile]
        if now != last:
            entries.append(ScheduleEntry(op=OpDesc.barrier(), time_slot=0, phase=Phase.KERNEL))
        entries.append(entry)
        last = now
    protocol = Protocol(
        groups=GROUPS,
        waves_per_group=waves // GROUPS,
        stagger_index=len(phases.prologue),
        tail_barriers=(1, 0),
        k_tiles_per_iteration=phases.k_tiles_per_iteration,
        kernel_k_base=phases.kernel_k_base,
    )
    return protocol, tuple(replace(e, time_slot=i) for i, e in enumerate(entries))


def improved(
    turns: Turns, cost: Callable[[Turns], float], limit: int, enough: float
) -> tuple[Turns, float]:
    """The best order that moving one read at a time leads to, of ``limit`` tried; it ends where
    the cost is ``enough``.
    """
    known: dict[tuple[int, ...], float] = {}

    def rank(each: Turns) -> float:
        if each.order not in known:
            known[each.order] = cost(each) if len(known) < limit else inf
        return known[each.order]

    best = turns
    while rank(best) > enough and len(known) < limit:
        step = min(best.moved(), key=rank, default=best)
        if rank(step) >= rank(best):
            break
        best = step
    return best, rank(best)
