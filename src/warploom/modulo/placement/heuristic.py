"""Iterative modulo scheduling with windows and ejection, bounded by placements (work, not time).

Ideas of Rau (1994) and Huff (1993). Windows come from the all-pairs distances, free starts from bit
sets. Three ways to choose the next op are alternated, since none wins everywhere:

- PACK: the busiest unit first, as a list schedule in program order; then by slack. A body bound by
  one unit is packed in one pass, whatever its size.
- HEIGHT: longest path to the end first, always as early as possible.
- SLACK: the narrowest window first, late when only successors are placed.
"""

import random
from collections.abc import Callable, Sequence
from enum import Enum

import numpy as np
import numpy.typing as npt

from warploom.modulo.bounds.paths import IntMatrix, distances, nothing
from warploom.modulo.bounds.system import System
from warploom.modulo.placement.table import ReservationTable, first_in

PLACEMENTS_PER_OP = 12
PLACEMENTS_PER_OP_LARGE = 5
LARGE = 128


class Mode(Enum):
    """How the next op is chosen."""

    PACK = "pack"
    HEIGHT = "height"
    SLACK = "slack"


def find_schedule(
    system: System,
    ii: int,
    depths: Sequence[int],
    *,
    tries: int,
    seed: int = 0,
    check: Callable[[], None] = nothing,
) -> tuple[int, ...] | None:
    """Times of a schedule at ``ii`` and these depths, or None when the placements run out.

    ``check`` is called at every placement: what it raises ends the search.
    """
    d = distances(system.n, system.all_arcs(depths), ii, check)
    if d is None:
        return None
    table = ReservationTable(system, ii)
    if not table.feasible:
        return None
    for attempt in range(tries):
        for mode in Mode:
            run = _Run(system, ii, d, table, mode=mode, seed=seed * 1000 + attempt)
            times = run.schedule(check)
            if times is not None:
                return times
    return None


class _Run:
    """One attempt: a partial schedule that grows by placing and shrinks by ejecting."""

    def __init__(
        self,
        system: System,
        ii: int,
        d: IntMatrix,
        table: ReservationTable,
        *,
        mode: Mode,
        seed: int,
    ) -> None:
        self.ii, self.n, self.d, self.table, self.mode = ii, system.n, d, table, mode
        self.rng = random.Random(seed)
        self.times: list[int | None] = [None] * self.n
        self.at = np.zeros(self.n, dtype=np.int64)
        self.placed = np.zeros(self.n, dtype=bool)
        self.forced: list[int | None] = [None] * self.n
        self.ejections = np.zeros(self.n)
        self.tail = np.maximum(d.max(axis=1), 0)
        self.first = np.maximum(d.max(axis=0), 0)
        self.last: npt.NDArray[np.int64] = int(self.first.max()) + ii * (1 + seed % 3) - self.tail
        self.early, self.late = self.first.copy(), self.last.copy()
        scale = 0 if seed == 0 else 2 + (seed % 7) * 4
        self.noise = np.array([self.rng.random() for _ in range(self.n)]) * scale
        out = np.zeros(system.n)
        for unit in system.units:
            for v, cycles in unit.ops:
                out[v] = max(out[v], cycles * len(unit.ops) / ii)
        self.crowd = out
        self.critical = _critical_ops(system)
        per_op = PLACEMENTS_PER_OP if self.n <= LARGE else PLACEMENTS_PER_OP_LARGE
        self.budget = per_op * self.n
        table.reset()

    def schedule(self, check: Callable[[], None]) -> tuple[int, ...] | None:
        """Place until all ops are placed or the budget is spent."""
        if self.mode is Mode.PACK:
            self._pack()
        while not self.placed.all():
            if self.budget <= 0:
                return None
            self.budget -= 1
            check()
            self._place_next(self._choose())
        times = [t for t in self.times if t is not None]
        base = min(times) // self.ii * self.ii
        return tuple(int(t) - base for t in times)

    def _choose(self) -> int:
        free = np.nonzero(~self.placed)[0]
        if self.mode is Mode.HEIGHT:
            key = self.noise[free] - self.tail[free]
        else:
            width = (self.late[free] - self.early[free]) / (1 + 0.5 * self.crowd[free])
            key = width + self.noise[free] - 3 * np.minimum(self.ejections[free], 6)
        return int(free[int(np.argmin(key))])

    def _pack(self) -> None:
        """List-schedule the busiest unit; an op waits for those that must issue before it.

        The list starts one interval late, so that what feeds it can spread out before it.
        """
        left = list(self.critical)
        self.last = self.last + self.ii
        self.late = self.last.copy()
        cursor = int(self.first[left].min()) + self.ii if left else 0
        while left:
            ready = [v for v in left if not any(self.d[u, v] > 0 for u in left if u != v)]
            at = {v: max(int(self.early[v]), cursor) for v in ready}
            v = min(ready, key=lambda v: (at[v], self.noise[v] + v))
            self.budget -= 1
            time = first_in(self.table.starts(v), at[v], at[v] + self.ii - 1, self.ii, late=False)
            if time is None or time > int(self.late[v]):
                return
            self._put(v, time)
            cursor = time
            left.remove(v)

    def _place_next(self, v: int) -> None:
        low, high = int(self.early[v]), int(self.late[v])
        late = self.mode is not Mode.HEIGHT and self._pulled_late(v)
        if late:
            low = max(low, high - self.ii + 1)
        else:
            high = min(high, low + self.ii - 1)
        time = first_in(self.table.starts(v), low, high, self.ii, late=late)
        if time is None:
            self._force(v)
        else:
            self._put(v, time)

    def _pulled_late(self, v: int) -> bool:
        after = bool((self.placed & (self.d[v] > 0)).any())
        before = bool((self.placed & (self.d[:, v] > 0)).any())
        return after and not before

    def _force(self, v: int) -> None:
        """Put an op past its last forced place and eject whatever is in the way."""
        time = int(self.early[v])
        previous = self.forced[v]
        if previous is not None and time <= previous:
            time = previous + 1
        if time > int(self.early[v]) + 2 * self.ii:
            time = int(self.early[v]) + self.rng.randrange(self.ii)
        cycles = self.table.allowed(v)
        time = first_in(cycles, time, time + self.ii - 1, self.ii, late=False) or 0
        self.forced[v] = time
        for w in self.table.blockers(v, time, self.times):
            self._eject(w)
        gap = self.at - time
        clash = self.placed & ((gap < self.d[v]) | (-gap < self.d[:, v]))
        for x in np.nonzero(clash)[0]:
            self._eject(int(x))
        # Windows from scratch, after ejections
        done = np.nonzero(self.placed)[0]
        self.early, self.late = self.first.copy(), self.last.copy()
        if len(done):
            times = self.at[done]
            self.early = np.maximum(self.early, (self.d[done] + times[:, None]).max(axis=0))
            self.late = np.minimum(self.late, (times[None, :] - self.d[:, done]).min(axis=1))
        self._put(v, time)

    def _put(self, v: int, time: int) -> None:
        self.times[v] = time
        self.at[v] = time
        self.placed[v] = True
        self.table.reserve(v, time)
        self.early = np.maximum(self.early, self.d[v] + time)
        self.late = np.minimum(self.late, time - self.d[:, v])

    def _eject(self, v: int) -> None:
        time = self.times[v]
        assert time is not None
        self.table.release(v, time)
        self.times[v] = None
        self.placed[v] = False
        self.ejections[v] += 1


def _critical_ops(system: System) -> tuple[int, ...]:
    """The ops of the unit with the most demand per server, in program order."""
    if not system.units:
        return ()
    busiest = max(system.units, key=lambda u: u.load() / u.capacity)
    return tuple(v for v, _ in busiest.ops)
