"""The constraints of a body in the one form all solvers share: units, arcs, rings, register files.

Roles are resolved here. Where the roles of both ends are known, hand-off costs sit on the arcs and
each role's instruction stream is a unit like any other. Where they are still open, the system is a
*relaxation*: hand-offs that may be avoided cost nothing, and the streams of a set of roles are one
unit of that many servers. So a bound of the system is a bound of the body.
"""

from collections.abc import Sequence
from typing import NamedTuple

from warploom.dataclass import dataclass
from warploom.modulo.model import ModuloProblem, RingKind

"""Names of units that are role streams begin like this."""


class Arc(NamedTuple):
    """``t[dst] + distance * ii >= t[src] + latency``; a ring's arcs may have distance < 0."""

    src: int
    dst: int
    latency: int
    distance: int
    why: str
    ring: str = ""  # whose slot is used anew


class UnitUse(NamedTuple):
    """A unit with the ops that hold it, as (op, cycles); ``stream``: of roles, which issue."""

    name: str
    capacity: int
    ops: tuple[tuple[int, int], ...]
    stream: bool = False

    def load(self) -> int:
        """Cycles demanded per iteration."""
        return sum(c for _, c in self.ops)


class Reuse(NamedTuple):
    """One read that must be over before a later write of its ring may issue."""

    op: int
    distance: int
    hold: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterFile:
    """The registers of one role: constants, rings by index, values by index, budget."""

    role: str
    budget: int | None
    static: int
    rings: tuple[int, ...]
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """All constraints of a problem; ``relaxed`` tells that some roles are still open."""

    problem: ModuloProblem
    n: int
    units: tuple[UnitUse, ...]
    arcs: tuple[Arc, ...]
    reuses: tuple[tuple[tuple[tuple[Reuse, ...], ...], ...], ...]
    files: tuple[RegisterFile, ...]
    relaxed: bool

    def ring_arcs(self, ring: int, depth: int) -> list[Arc]:
        """What a ring of that depth demands: read m over before write m + depth."""
        r = self.problem.rings[ring]
        writers = len(r.writers)
        out = []
        for k in range(writers):
            later, index = divmod(k + depth, writers)
            for use in self.reuses[ring][k][index]:
                out.append(
                    Arc(
                        use.op,
                        r.writers[index],
                        use.hold,
                        later - use.distance,
                        f"ring {r.name}",
                        r.name,
                    )
                )
        return out

    def all_arcs(self, depths: Sequence[int]) -> list[Arc]:
        """The arcs of the body with every ring at the depth given."""
        out = list(self.arcs)
        for ring, depth in enumerate(depths):
            out += self.ring_arcs(ring, depth)
        return out

    def max_depths(self) -> tuple[int, ...]:
        """Every ring at its largest depth: what the solver may choose at most."""
        return tuple(r.max_depth for r in self.problem.rings)

    def smem(self, depths: Sequence[int]) -> int:
        """Shared memory taken at these depths."""
        return _size(self.problem, depths, RingKind.SMEM)

    def ring_registers(self, depths: Sequence[int]) -> int:
        """Registers of all register rings at these depths."""
        return _size(self.problem, depths, RingKind.REG)

    def file_ring_registers(self, file: RegisterFile, depths: Sequence[int]) -> int:
        """Static and ring registers of one role at these depths."""
        return file.static + sum(self.problem.rings[r].size * depths[r] for r in file.rings)


def build_system(problem: ModuloProblem) -> System:
    """Lower a validated problem to its constraints."""
    fixed = problem.fixed_roles()
    return System(
        problem=problem,
        n=len(problem.ops),
        units=_units(problem),
        arcs=(*_arcs(problem), *_ring_order(problem)),
        reuses=tuple(_reuses(problem, r) for r in range(len(problem.rings))),
        files=_files(problem),
        relaxed=fixed is None,
    )


def must_cross(problem: ModuloProblem, a: int, b: int) -> bool:
    """True when two ops cannot run on the same role."""
    return not set(problem.allowed_roles(a)) & set(problem.allowed_roles(b))


def _units(problem: ModuloProblem) -> tuple[UnitUse, ...]:
    uses: dict[str, list[tuple[int, int]]] = {u: [] for u in problem.units()}
    for v, op in enumerate(problem.ops):
        for hold in op.holds():
            uses[hold.unit].append((v, hold.cycles))
    units = [UnitUse(u, problem.capacity(u), tuple(ops)) for u, ops in uses.items()]
    return tuple(units + _streams(problem))


def _streams(problem: ModuloProblem) -> list[UnitUse]:
    """Role streams: for each set of roles in use, the ops confined to it share its servers."""
    issuing = [v for v in range(len(problem.ops)) if problem.stream_cycles(v) > 0]
    allowed = {v: frozenset(problem.allowed_roles(v)) for v in issuing}
    out = []
    for roles in sorted(set(allowed.values()), key=lambda s: (len(s), sorted(s))):
        ops = tuple((v, problem.stream_cycles(v)) for v in issuing if allowed[v] <= roles)
        out.append(UnitUse(f"stream {'+'.join(sorted(roles))}", len(roles), ops, stream=True))
    return out


def _arcs(problem: ModuloProblem) -> list[Arc]:
    out = []
    for e in problem.edges:
        extra = problem.handoff if e.handoff is None else e.handoff
        cross = must_cross(problem, e.src, e.dst)
        out.append(Arc(e.src, e.dst, e.latency + (extra if cross else 0), e.distance, e.why))
    return out


def _ring_order(problem: ModuloProblem) -> list[Arc]:
    """Writers issue in ring order; without this a deeper ring could be *less* feasible."""
    out = []
    for r in problem.rings:
        p = len(r.writers)
        for k in range(p if p > 1 else 0):
            wrap, nxt = divmod(k + 1, p)
            out.append(Arc(r.writers[k], r.writers[nxt], 0, wrap, f"order of ring {r.name}"))
    return out


def _reuses(problem: ModuloProblem, ring: int) -> tuple[tuple[tuple[Reuse, ...], ...], ...]:
    """``[k][j]``: the reads of writer k's copies, as seen by a reuse through writer j."""
    r = problem.rings[ring]
    return tuple(
        tuple(
            tuple(
                Reuse(
                    u.op,
                    u.distance,
                    u.hold + (problem.release if must_cross(problem, u.op, w) else 0),
                )
                for u in reads
            )
            for w in r.writers
        )
        for reads in r.readers
    )


def _files(problem: ModuloProblem) -> tuple[RegisterFile, ...]:
    """Rings and values of open roles are charged to no file here; the role layer charges them."""
    out = []
    for name in problem.role_names():
        role = problem.role(name)
        rings = tuple(
            i
            for i, r in enumerate(problem.rings)
            if r.kind is RingKind.REG and ring_role(problem, i) == name
        )
        values = tuple(i for i in range(len(problem.values)) if value_role(problem, i) == name)
        out.append(
            RegisterFile(
                role=name,
                budget=role.register_budget,
                static=role.static_registers,
                rings=rings,
                values=values,
            )
        )
    return tuple(out)


def ring_role(problem: ModuloProblem, ring: int) -> str | None:
    """The role whose registers a ring takes; None while that role is open."""
    r = problem.rings[ring]
    if r.role is not None:
        return r.role
    reader = next((u.op for reads in r.readers for u in reads), r.writers[0])
    allowed = problem.allowed_roles(reader)
    return allowed[0] if len(allowed) == 1 else None


def value_role(problem: ModuloProblem, value: int) -> str | None:
    """The role whose registers a value takes; None while that role is open."""
    v = problem.values[value]
    if v.role is not None:
        return v.role
    allowed = problem.allowed_roles(v.src)
    return allowed[0] if len(allowed) == 1 else None


def _size(problem: ModuloProblem, depths: Sequence[int], kind: RingKind) -> int:
    return sum(r.size * d for r, d in zip(problem.rings, depths, strict=True) if r.kind is kind)
