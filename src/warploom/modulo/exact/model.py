"""The CP-SAT model of one II: cycles, lags, units on a circle, rings of free depth.

Without loss of solutions:

- all times may be shifted together, so one op of the fullest unit sits at cycle 0 and that unit is
  a line instead of a circle;
- on the other units every op has two intervals, its own and its copy II earlier, so that wrapping
  needs no extra choice;
- a ring of one writer is linear in its depth; with P writers the depth is ``P * q + rem`` and one
  literal per ``rem`` picks the arcs.

A grid g > 1 keeps ops on multiples of g with costs rounded up: sound, not complete.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ortools.sat.python import cp_model

from warploom.modulo.bounds.energy import op_span
from warploom.modulo.bounds.system import System, UnitUse, build_system
from warploom.modulo.exact.request import CpRequest
from warploom.modulo.model import Goal

Expr: TypeAlias = Any  # a CP-SAT variable or linear expression, or a plain int


def ceil_div(a: int, b: int) -> int:
    """``a / b`` rounded up."""
    return -(-a // b)


class CoreModel:
    """Times, units, arcs and rings; the register and role layers add to it."""

    def __init__(self, request: CpRequest) -> None:
        self.request = request
        self.system: System = build_system(request.problem)
        self.g = request.grid
        self.period = request.ii // self.g
        self.max_lag = request.max_lag
        self.m: Any = cp_model.CpModel()
        self.infeasible = request.ii % self.g != 0
        self.linear = self._fullest()
        self.anchor = self.linear.ops[0][0] if self.linear is not None else None
        self.release: Callable[[int, int], Expr] = lambda op, writer: 0
        on_line = dict(self.linear.ops) if self.linear is not None else {}
        self.cycle: list[Any] = []
        self.lag: list[Any] = []
        for v in range(self.system.n):
            top = self.period - (self.up(on_line[v]) if v in on_line else 1)
            self.infeasible |= top < 0
            pinned = v == self.anchor
            self.cycle.append(self.m.new_int_var(0, 0 if pinned else max(top, 0), f"cycle{v}"))
            self.lag.append(self.m.new_int_var(0, self.max_lag, f"lag{v}"))
        self.time = [self.period * k + p for k, p in zip(self.lag, self.cycle, strict=True)]
        for unit in self.system.units:
            self._add_unit(unit)
        if request.problem.isolate:
            self._add_isolation()

    def up(self, cycles: int) -> int:
        """Cycles in grid steps, rounded up."""
        return ceil_div(cycles, self.g)

    def residue(self, cycles: int) -> tuple[int, int]:
        """Whole periods and rest, in grid steps, for which an op holds a unit."""
        whole, rest = divmod(cycles, self.request.ii)
        steps = self.up(rest)
        return (whole + 1, 0) if steps >= self.period else (whole, steps)

    def _fullest(self) -> UnitUse | None:
        """The unit to be laid out on a line; isolation needs the origin for itself."""
        ii = self.request.ii
        lines = [u for u in self.system.units if u.capacity == 1 and all(c < ii for _, c in u.ops)]
        if self.request.problem.isolate or not lines:
            return None
        return max(lines, key=lambda u: (u.load(), len(u.ops)))

    def _add_unit(self, unit: UnitUse) -> None:
        capacity, intervals = unit.capacity, []
        for v, cycles in unit.ops:
            whole, steps = self.residue(cycles)
            capacity -= whole
            if steps:
                intervals.append(self._interval(v, steps, 0))
                if unit is not self.linear:
                    intervals.append(self._interval(v, steps, self.period))
        if capacity < (1 if intervals else 0):
            self.infeasible = True
        elif capacity == 1 and len(intervals) > 1:
            self.m.add_no_overlap(intervals)
        elif len(intervals) > 1:
            self.m.add_cumulative(intervals, [1] * len(intervals), capacity)

    def _interval(self, v: int, steps: int, back: int) -> Expr:
        return self.m.new_fixed_size_interval_var(self.cycle[v] - back, steps, f"hold{v}")

    def _add_isolation(self) -> None:
        """Partition arcs in order from cycle 0 on; their borders are free."""
        ops = self.request.problem.ops
        names = sorted({op.partition for op in ops if op.partition is not None})
        border: Any = 0
        for name in names:
            following = self.m.new_int_var(0, self.period - 1, f"border{name}")
            self.m.add(following >= border)
            for v, op in enumerate(ops):
                if op.partition == name:
                    self.m.add(self.cycle[v] >= border)
                    self.m.add(self.cycle[v] <= following)
            border = following

    def after(self, dst: int, src: int, latency: int, distance: int, extra: Expr = 0) -> None:
        """``t[dst] + distance * ii >= t[src] + latency + extra``."""
        if src == dst:
            self.infeasible |= latency > distance * self.request.ii
            return
        need = self.up(latency) - distance * self.period
        self.m.add(self.time[dst] - self.time[src] >= need + extra)

    def add_arcs(self) -> None:
        """The body's arcs as they stand (all roles known)."""
        for a in self.system.arcs:
            self.after(a.dst, a.src, a.latency, a.distance)

    def add_rings(self) -> None:
        """Depth variables (or constants) and what each depth demands."""
        self.depth: list[Any] = []
        request = self.request
        for index, ring in enumerate(request.problem.rings):
            low = request.least_depths[index] if request.least_depths else ring.min_depth
            high = request.most_depths[index] if request.most_depths else ring.max_depth
            self.infeasible |= low > high
            if low >= high:
                self.depth.append(high)
                for a in self.system.ring_arcs(index, high):
                    self.after(a.dst, a.src, a.latency, a.distance, self.release(a.src, a.dst))
            else:
                self._add_free_ring(index, low, high)

    def _add_free_ring(self, index: int, low: int, high: int) -> None:
        ring = self.request.problem.rings[index]
        p = len(ring.writers)
        depth = self.m.new_int_var(low, high, f"depth{index}")
        self.depth.append(depth)
        whole = self.m.new_int_var(low // p, high // p, f"whole{index}")
        picks = [self.m.new_bool_var(f"rest{index}_{i}") for i in range(p)]
        self.m.add_exactly_one(picks)
        self.m.add(depth == p * whole + sum(i * x for i, x in enumerate(picks)))
        for rest, pick in enumerate(picks):
            for k in range(p):
                later, writer = divmod(k + rest, p)
                for use in self.system.reuses[index][k][writer]:
                    w = ring.writers[writer]
                    end = self.time[use.op] + use.distance * self.period + self.up(use.hold)
                    start = self.time[w] + (whole + later) * self.period
                    self.m.add(start >= end + self.release(use.op, w)).only_enforce_if(pick)

    def stored(self, kind: str) -> Expr:
        """Total size of the rings of one kind."""
        pairs = zip(self.request.problem.rings, self.depth, strict=True)
        return sum(r.size * d for r, d in pairs if r.kind == kind)

    def length(self) -> Expr:
        """Last release minus first issue, in grid steps."""
        horizon = self.period * (self.max_lag + 2) + max(
            self.up(op_span(self.system, v)) for v in range(self.system.n)
        )
        first = self.m.new_int_var(0, horizon, "first")
        last = self.m.new_int_var(0, horizon, "last")
        for v in range(self.system.n):
            self.m.add(first <= self.time[v])
            self.m.add(last >= self.time[v] + self.up(op_span(self.system, v)))
        return last - first

    def limits(self) -> dict[Goal, int]:
        """Upper bounds on goal values: frozen goals and the shared-memory budget."""
        out = dict(self.request.at_most)
        budget = self.request.problem.smem_budget
        if budget is not None:
            out[Goal.SMEM] = min(out.get(Goal.SMEM, budget), budget)
        return out

    def hinted_times(self) -> list[int] | None:
        """The incumbent's times in grid steps, rotated so that the anchor is at cycle 0."""
        if self.request.hint is None:
            return None
        times: Sequence[int] = self.request.hint.times
        shift = times[self.anchor] % self.request.ii if self.anchor is not None else 0
        moved = [t - shift for t in times]
        if min(moved) < 0:
            moved = [t + self.request.ii for t in moved]
        return None if any(t % self.g for t in moved) else [t // self.g for t in moved]

    def add_hints(self, times: Sequence[int]) -> None:
        """Hint lags, cycles and depths from a complete schedule."""
        for v, t in enumerate(times):
            k, p = divmod(t, self.period)
            self.m.add_hint(self.lag[v], min(k, self.max_lag))
            if v != self.anchor:
                self.m.add_hint(self.cycle[v], p)
        hint = self.request.hint
        for d, known in zip(self.depth, hint.depths if hint else (), strict=True):
            if not isinstance(d, int):
                self.m.add_hint(d, known)
