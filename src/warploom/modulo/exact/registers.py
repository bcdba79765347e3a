"""Register files in the CP-SAT model: most live values plus rings, per role.

A value that lives ``ii * q + r`` cycles takes q registers all the time and one more on an arc of r
cycles; arcs are cumulative intervals with a variable capacity. A value whose role is open counts
only where a literal says so.
"""

from collections.abc import Sequence

from warploom.modulo.bounds.system import RegisterFile
from warploom.modulo.exact.model import CoreModel, Expr
from warploom.modulo.model import Value


def add_file(core: CoreModel, file: RegisterFile) -> Expr:
    """Constrain one file of known contents; returns the live-register expression (no rings)."""
    values = [core.request.problem.values[i] for i in file.values]
    live = live_registers(core, file.role, [(v, 1) for v in values])
    rings = sum(core.request.problem.rings[i].size * core.depth[i] for i in file.rings)
    if file.budget is not None:
        core.m.add(live + rings + file.static <= file.budget)
    return live


def live_registers(core: CoreModel, role: str, values: Sequence[tuple[Value, Expr]]) -> Expr:
    """The most registers of these values live at once, each where its literal (or 1) holds."""
    return _Live(core, role, values).total if values else 0


class _Live:
    """The live-register count of one role as a variable, with a complete hint."""

    def __init__(self, core: CoreModel, role: str, values: Sequence[tuple[Value, Expr]]) -> None:
        self.core, self.role = core, role
        self.hint = core.hinted_times()
        m, n = core.m, core.period
        self.peak = [0] * n
        self.base_hint = 0
        self.intervals: list[Expr] = []
        self.demands: list[int] = []
        base, area, most = 0, 0, 0
        for value, here in values:
            whole, lifetime = self._add_value(value, here)
            base = base + value.size * whole
            area = area + value.size * (lifetime if isinstance(here, int) else 0)
            most += value.size * (2 + self._most_whole(value))
        capacity = m.new_int_var(0, sum(v.size for v, _ in values), f"arcs {role}")
        m.add_cumulative(self.intervals, self.demands, capacity)
        self.total = m.new_int_var(0, most, f"live {role}")
        m.add(self.total == capacity + base)
        m.add(n * self.total >= area)  # redundant: the average is at most the peak
        if self.hint is not None:
            m.add_hint(capacity, max(self.peak))
            m.add_hint(self.total, max(self.peak) + self.base_hint)

    def _most_whole(self, value: Value) -> int:
        return self.core.max_lag + 2 + max((u.distance for u in value.uses), default=0)

    def _add_value(self, value: Value, here: Expr) -> tuple[Expr, Expr]:
        core, m, n = self.core, self.core.m, self.core.period
        late = value.late // core.g
        most_whole = self._most_whole(value)
        start = core.time[value.src] + late
        end = m.new_int_var(0, n * (core.max_lag + most_whole + 2), f"end {value.name}")
        for u in value.uses:
            m.add(end >= core.time[u.op] + u.distance * n + core.up(u.hold))
        whole = m.new_int_var(0, most_whole, f"whole {value.name}")
        rest = m.new_int_var(0, n - 1, f"rest {value.name}")
        m.add(end - start == n * whole + rest)
        wrap = m.new_int_var(0, late // n + 1, f"wrap {value.name}")
        at = m.new_int_var(0, n - 1, f"arc {value.name}")
        m.add(at == core.cycle[value.src] + late - n * wrap)
        stop = m.new_int_var(0, 2 * n, f"stop {value.name}")
        stop_back = m.new_int_var(-n, n, f"stop_back {value.name}")
        for begin, finish in ((at, stop), (at - n, stop_back)):
            name = f"live {value.name}"
            self.intervals.append(
                m.new_interval_var(begin, rest, finish, name)
                if isinstance(here, int)
                else m.new_optional_interval_var(begin, rest, finish, here, name)
            )
        self.demands += [value.size, value.size]
        if self.hint is not None:
            self._hint_value(value, late, end, whole, rest, wrap, at, stop, stop_back)
        if isinstance(here, int):
            return whole, end - start
        charged = m.new_int_var(0, most_whole, f"charged {value.name}")
        m.add(charged >= whole).only_enforce_if(here)
        return charged, end - start

    def _hint_value(self, value: Value, late: int, *variables: Expr) -> None:
        assert self.hint is not None
        core, n = self.core, self.core.period
        start = self.hint[value.src] + late
        ends = [self.hint[u.op] + u.distance * n + core.up(u.hold) for u in value.uses]
        end = max([start, *ends])
        whole, rest = divmod(end - start, n)
        wrap, at = divmod(self.hint[value.src] % n + late, n)
        known = (end, whole, rest, wrap, at, at + rest, at - n + rest)
        for variable, number in zip(variables, known, strict=True):
            core.m.add_hint(variable, number)
        hint = core.request.hint
        if hint is None or (value.role or hint.roles[value.src]) != self.role:
            return
        self.base_hint += value.size * whole
        for c in range(at, at + rest):
            self.peak[c % n] += value.size
