"""The reservation table of one II: which units are free when, as bit sets, one per server."""

from math import gcd

from warploom.modulo.bounds.system import System


def rotate(bits: int, by: int, ii: int) -> int:
    """Move every bit ``by`` places up, around the circle of II bits."""
    by %= ii
    return bits if not by else ((bits << by) | (bits >> (ii - by))) & ((1 << ii) - 1)


def span(start: int, cycles: int, ii: int) -> int:
    """The cycles ``start .. start + cycles - 1`` modulo II."""
    return rotate((1 << cycles) - 1, start, ii)


def free_starts(free: int, cycles: int, ii: int) -> int:
    """Bit p set iff ``cycles`` (fewer than II) cycles from p on are all free: log2(cycles) ands of
    the circle, laid out twice.
    """
    runs, have = free | free << ii, 1
    while have < cycles:
        step = min(have, cycles - have)
        runs &= runs >> step
        have += step
    return runs & ((1 << ii) - 1)


def every(step: int, ii: int) -> int:
    """Multiples of ``step`` (which divides II)."""
    bits, have = 1, step
    while have < ii:
        bits |= bits << have
        have *= 2
    return bits & ((1 << ii) - 1)


def first_in(bits: int, low: int, high: int, ii: int, *, late: bool) -> int | None:
    """The first (last, when ``late``) time in ``low .. high`` whose cycle has its bit set."""
    if high < low:
        return None
    window = rotate(bits, -low, ii) & ((1 << min(high - low + 1, ii)) - 1)
    if not window:
        return None
    return low + (window.bit_length() - 1 if late else (window & -window).bit_length() - 1)


FULL_PERCENT = 90


class ReservationTable:
    """Reservations modulo II for one system.

    An op that holds a unit longer than II takes whole servers for good and reserves the rest. A
    unit that is nearly full takes only starts on multiples of its occupancies' common divisor:
    otherwise the last gaps are too small for anything. Partitions may be confined to their arcs.
    """

    def __init__(self, system: System, ii: int) -> None:
        self.ii = ii
        self.everywhere = (1 << ii) - 1
        self.feasible = True
        self._claims: list[list[tuple[int, int]]] = [[] for _ in range(system.n)]
        self._mask = [self.everywhere] * system.n
        self._free: list[list[int]] = []
        self._users: list[list[tuple[int, int]]] = []
        self._served: list[dict[int, int]] = [{} for _ in range(system.n)]
        for index, unit in enumerate(system.units):
            whole = sum(c // ii for _, c in unit.ops)
            servers = unit.capacity - whole
            rest = [(v, c % ii) for v, c in unit.ops if c % ii]
            self.feasible &= servers >= (1 if rest else 0)
            self._free.append([self.everywhere] * max(servers, 0))
            self._align(rest, servers)
            self._users.append(rest)
            for v, cycles in rest:
                self._claims[v].append((index, cycles))
        if system.problem.isolate:
            self._confine(system)
        self._empty = [list(f) for f in self._free]

    def reset(self) -> None:
        """Forget all reservations."""
        self._free = [list(f) for f in self._empty]
        for served in self._served:
            served.clear()

    def allowed(self, op: int) -> int:
        """The cycles an op may take at all, whatever is reserved."""
        return self._mask[op]

    def starts(self, op: int) -> int:
        """The cycles at which all units of an op are free long enough."""
        out = self._mask[op]
        for unit, cycles in self._claims[op]:
            some = 0
            for free in self._free[unit]:
                some |= free_starts(free, cycles, self.ii)
            out &= some
        return out

    def reserve(self, op: int, time: int) -> None:
        """Take the units of an op from ``time`` on; they must be free."""
        for unit, cycles in self._claims[op]:
            need = span(time, cycles, self.ii)
            server = next(s for s, free in enumerate(self._free[unit]) if free & need == need)
            self._free[unit][server] &= ~need
            self._served[op][unit] = server

    def release(self, op: int, time: int) -> None:
        """Undo ``reserve``."""
        for unit, cycles in self._claims[op]:
            server = self._served[op].pop(unit)
            self._free[unit][server] |= span(time, cycles, self.ii)

    def blockers(self, op: int, time: int, times: list[int | None]) -> set[int]:
        """Placed ops to be ejected so that ``op`` fits at ``time``: the fewest per unit."""
        out: set[int] = set()
        for unit, cycles in self._claims[op]:
            need = span(time, cycles, self.ii)
            servers = range(len(self._free[unit]))
            conflicts = [self._conflicts(unit, s, need, times) for s in servers]
            out |= min(conflicts, key=len)
        return out

    def _conflicts(self, unit: int, server: int, need: int, times: list[int | None]) -> set[int]:
        if self._free[unit][server] & need == need:
            return set()
        out = set()
        for v, cycles in self._users[unit]:
            start = times[v]
            here = start is not None and self._served[v].get(unit) == server
            if here and span(start or 0, cycles, self.ii) & need:
                out.add(v)
        return out

    def _align(self, ops: list[tuple[int, int]], servers: int) -> None:
        step = gcd(*(c for _, c in ops)) if ops else 1
        load = sum(c for _, c in ops)
        nearly_full = load * 100 >= FULL_PERCENT * self.ii * max(servers, 1)
        if step > 1 and self.ii % step == 0 and nearly_full:
            mask = every(step, self.ii)
            for v, _ in ops:
                self._mask[v] &= mask

    def _confine(self, system: System) -> None:
        """Equal arcs, one per partition, in order."""
        names = sorted({op.partition for op in system.problem.ops if op.partition is not None})
        bounds = [self.ii * i // len(names) for i in range(len(names) + 1)]
        for v, op in enumerate(system.problem.ops):
            if op.partition is not None:
                arc = names.index(op.partition)
                width = max(bounds[arc + 1] - bounds[arc], 1)
                self._mask[v] &= span(bounds[arc] % self.ii, min(width, self.ii), self.ii)
