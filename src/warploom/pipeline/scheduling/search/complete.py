"""Can this prefix be completed within a makespan and a register budget?

``Completer`` answers for one fixed pair of limits by depth-first search. A state that could not be
completed is remembered; a later state with the same ops placed that is no better in any respect
(unit release, ready times, loads since the last compute) fails without a search. Completing a
prefix never costs more than the distinct, undominated states below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from operator import le
from typing import NamedTuple

from warploom.dataclass import dataclass
from warploom.pipeline.scheduling.search.bound import UnitBound
from warploom.pipeline.scheduling.search.problem import NO_UNIT, UNITS, OrderProblem


class WorkLimitReached(Exception):  # noqa: N818 - a signal between the parts of the search
    """The search has placed as many ops as it may."""


@dataclass(slots=True)
class WorkMeter:
    """Counts placed ops against a limit, so that a search ends the same way on every machine."""

    limit: int
    used: int = 0
    parent: WorkMeter | None = None

    def spend(self) -> None:
        """Count one placed op, here and in every meter this one is a share of."""
        if self.used >= self.limit:
            raise WorkLimitReached
        self.used += 1
        if self.parent is not None:
            self.parent.spend()

    def share(self, parts: int) -> WorkMeter:
        """A meter for one part of what is left."""
        return WorkMeter((self.limit - self.used) // parts, parent=self)


class State(NamedTuple):
    """A prefix, reduced to what its completions depend on."""

    placed: int  # bit mask
    free: tuple[int, ...]  # when each unit is free; the last slot is for ops without one
    ready: tuple[int, ...]  # per op: its head, or the latest finish of its placed predecessors
    live: int
    loads: int  # global loads since the last compute of the partition


class _Members(NamedTuple):
    """Bit masks of one partition."""

    ops: int
    computes: int
    loads: int


def start_state(problem: OrderProblem) -> State:
    """Nothing placed."""
    live = problem.lifetimes.at_start if problem.lifetimes is not None else 0
    return State(0, (0,) * (UNITS + 1), problem.head, live, 0)


class Completer:
    """Completes prefixes of ``problem`` within ``makespan`` and ``budget`` registers."""

    def __init__(self, problem: OrderProblem, makespan: int, budget: int, meter: WorkMeter) -> None:
        self.problem = problem
        self.makespan = makespan
        self.budget = budget
        self.meter = meter
        self._everything = (1 << problem.n) - 1
        at_start = problem.lifetimes.at_start if problem.lifetimes is not None else 0
        self._registers_bind = budget < at_start + sum(max(d, 0) for d in problem.vgpr_def)
        self._time_binds = makespan < problem.horizon()
        self._failed: dict[int, list[tuple[int, ...]]] = {}
        self._frontiers: dict[int, tuple[tuple[int, int], ...]] = {}
        self._bound = UnitBound(problem, makespan)
        self._members = tuple(_members(problem, lo, hi) for lo, hi in pairwise(problem.bounds))
        self._possible = budget >= problem.least_registers and (
            problem.max_loads == 0
            or all(self._loads_fit(part, 0, 0) for part in range(len(self._members)))
        )

    def complete(self, state: State) -> tuple[int, ...] | None:
        """The ops that finish ``state`` within the limits, or None when there is no way."""
        if state.placed == self._everything:
            return ()
        if not self._possible or not self._open(state):
            return None
        path: list[int] = []
        stack: list[tuple[State, Iterator[int]]] = [(state, iter(self._guided(state)))]
        while stack:
            here, choices = stack[-1]
            for op in choices:
                child = self.place(here, op)
                if child is None:
                    continue
                if child.placed == self._everything:
                    return (*path, op)
                if self._open(child):
                    path.append(op)
                    stack.append((child, iter(self._guided(child))))
                    break
            else:
                stack.pop()
                mine = self._vector(here)
                known = self._failed.setdefault(here.placed, [])
                known[:] = [v for v in known if not all(map(le, mine, v))]
                known.append(mine)
                if stack:
                    path.pop()
        return None

    def place(self, state: State, op: int) -> State | None:
        """The state after ``op``, or None when it breaks a limit at once."""
        p = self.problem
        self.meter.spend()
        unit = p.unit[op]
        start = max(state.ready[op], state.free[unit])
        if start + p.tail[op] > self.makespan:
            return None
        if state.live + self._need(op, state.placed) > self.budget:
            return None
        free = state.free
        if unit != NO_UNIT:
            free = (*free[:unit], start + p.hold[op], *free[unit + 1 :])
        return State(
            state.placed | 1 << op,
            free,
            _released(state.ready, p.succs[op], start + p.latency[op]),
            state.live + self._change(op, state.placed),
            self._loads_after(state, op),
        )

    def candidates(self, state: State) -> list[int]:
        """Ops that may come next, ascending; of interchangeable ones only the lowest."""
        p = self.problem
        part = self._partition_of(state)
        full = p.max_loads > 0 and state.loads >= p.max_loads
        free = self.budget - state.live
        placed = state.placed
        return [
            i
            for i in range(p.bounds[part], p.bounds[part + 1])
            if not placed >> i & 1
            and not p.preds[i] & ~placed
            and self._need(i, placed) <= free
            and not (full and p.is_load[i])
            and (p.twin[i] < 0 or placed >> p.twin[i] & 1)
            and not (p.closed and self._strands(placed, i))
        ]

    def _need(self, op: int, placed: int) -> int:
        """Registers that must be free to run ``op``."""
        p = self.problem
        return p.vgpr_def[op] if p.lifetimes is None else p.lifetimes.need(op, placed)

    def _change(self, op: int, placed: int) -> int:
        """By how much the live registers grow once ``op`` has run."""
        p = self.problem
        if p.lifetimes is None:
            return p.vgpr_def[op] - p.vgpr_kill[op]
        return p.lifetimes.change(op, placed)

    def _strands(self, placed: int, op: int) -> bool:
        """Whether ``op`` is the last compute of its partition while other ops are left."""
        members = self._members[self.problem.partition[op]]
        left = members.ops & ~placed & ~(1 << op)
        return self.problem.is_compute[op] and left != 0 and not left & members.computes

    def _partition_of(self, state: State) -> int:
        first_open = (~state.placed & (state.placed + 1)).bit_length() - 1
        return self.problem.partition[first_open]

    def _loads_after(self, state: State, op: int) -> int:
        p = self.problem
        if p.max_loads == 0 or p.is_compute[op]:
            return 0
        below_end = (1 << p.bounds[p.partition[op] + 1]) - 1
        if (state.placed | 1 << op) & below_end == below_end:
            return 0  # the next partition starts its own count
        return state.loads + p.is_load[op]

    def _guided(self, state: State) -> list[int]:
        """Candidates worth trying: soon started and urgent ones first.

        A single one when placing it now can do no harm.
        """
        p = self.problem
        found = self.candidates(state)
        for i in found:
            if self._is_harmless(i, state.placed):
                return [i]
        start = {i: max(state.ready[i], state.free[p.unit[i]]) for i in found}
        kept = [
            i for i in found if not any(b in start and start[b] <= start[i] for b in p.betters[i])
        ]
        return sorted(kept, key=lambda i: (start[i] + p.hold[i] - p.tail[i], i))

    def _is_harmless(self, op: int, placed: int) -> bool:
        """Placing the candidate now delays nothing, takes no load slot and frees registers.

        What ends with it now would end with it later too, so no later prefix that holds it has
        more registers live than the same prefix without it.
        """
        p = self.problem
        if self._time_binds and p.unit[op] != NO_UNIT:
            return False
        if p.is_compute[op] and (p.closed or p.max_loads > 0):
            return False
        if p.is_load[op] and p.max_loads > 0:
            return False
        return not self._registers_bind or self._change(op, placed) <= 0

    def _open(self, state: State) -> bool:
        """Whether bound and memory leave any hope for ``state``."""
        placed, free, ready, _, loads = state
        part = self._partition_of(state)
        if self.problem.max_loads and not self._loads_fit(part, placed, loads):
            return False
        in_time = not self._time_binds or self._bound.holds(placed, free, ready, loads, part)
        return in_time and not self._failed_before(state)

    def _loads_fit(self, part: int, placed: int, loads: int) -> bool:
        """Whether the blocks left in the partition have slots for the loads left."""
        p = self.problem
        members = self._members[part]
        computes = (members.computes & ~placed).bit_count()
        tail_block = not p.closed or not members.computes  # loads after the last compute
        free = p.max_loads * (computes + tail_block) - loads
        return (members.loads & ~placed).bit_count() <= free

    def _failed_before(self, state: State) -> bool:
        known = self._failed.get(state.placed)
        if not known:
            return False
        mine = self._vector(state)
        return any(all(map(le, theirs, mine)) for theirs in known)

    def _vector(self, state: State) -> tuple[int, ...]:
        """What matters of the past, smaller being better in every component."""
        if not self._time_binds:
            return (state.loads,)
        free, ready = state.free, state.ready
        waiting = [max(ready[i], free[unit]) for i, unit in self._frontier(state.placed)]
        return (state.loads, *free, *waiting)

    def _frontier(self, placed: int) -> tuple[tuple[int, int], ...]:
        """Unplaced ops with a placed predecessor, and their units."""
        known = self._frontiers.get(placed)
        if known is None:
            p = self.problem
            known = tuple(
                (i, p.unit[i]) for i in range(p.n) if not placed >> i & 1 and p.preds[i] & placed
            )
            self._frontiers[placed] = known
        return known


def _released(ready: tuple[int, ...], succs: tuple[int, ...], finish: int) -> tuple[int, ...]:
    if not succs:
        return ready
    later = list(ready)
    for k in succs:
        later[k] = max(later[k], finish)
    return tuple(later)


def _members(problem: OrderProblem, lo: int, hi: int) -> _Members:
    span = range(lo, hi)
    return _Members(
        sum(1 << i for i in span),
        sum(1 << i for i in span if problem.is_compute[i]),
        sum(1 << i for i in span if problem.is_load[i]),
    )
