"""What a modulo scheduler is asked: ops, edges, storage and budgets of one loop body.

Time. Op ``v`` of iteration ``i`` issues at ``times[v] + i * ii``; ``times = ii * lag + cycle``.

- An op holds each of its units for a number of cycles from issue (*occupancy*).
- An edge says ``t[dst] + distance * ii >= t[src] + latency`` (*latency*: cycles until usable). When
  its ends run on different roles the hand-off cost is added to the latency.
- A ``Ring`` is storage with D copies and P writers per iteration. Write ``m = i * P + k`` goes to
  copy ``m % D``, and every read of it must be over before write ``m + D`` issues. LDS slots,
  accumulators and rotating fragment registers are all rings; D is part of the answer.
- A ``Value`` is a register result that may be renamed freely: it is live from issue to last use.

Times are whole cycles. Everything here is plain frozen data; ``validate`` says what is wrong.

>>> body = ModuloProblem(
...     name="copy",
...     ops=(ModuloOp(name="load", unit="mem", occupancy=4), ModuloOp(name="use", unit="alu")),
...     edges=(ModuloEdge(src=0, dst=1, latency=10),),
... )
>>> body.units()
('mem', 'alu')
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from enum import StrEnum

from warploom.dataclass import dataclass
from warploom.errors import GraphError


class RingKind(StrEnum):
    """Where a ring lives: shared memory (LDS) or registers."""

    SMEM = "smem"
    REG = "reg"


class Goal(StrEnum):
    """Secondary objectives, minimised after II in an order the user chooses."""

    SMEM = "smem"
    RING_REGISTERS = "ring_registers"
    REGISTERS = "registers"
    LENGTH = "length"
    CUTS = "cuts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A unit and the cycles, from issue, for which an op occupies it."""

    unit: str
    cycles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit of other capacity than 1, one with a queue, or one declared for clarity.

    ``queue``: an op is made of pieces, the unit takes at most so many unfinished ones, and whoever
    issues more stands still until the queue has space.
    """

    name: str
    capacity: int = 1
    queue: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A warp role: an instruction stream with its own registers.

    ``register_budget`` bounds static registers + register rings + live values of the role.
    """

    name: str
    register_budget: int | None = None
    static_registers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuloOp:
    """One operation of the body.

    ``unit`` is held for ``occupancy`` cycles, ``also`` names further units held from the same
    issue. ``issue`` is the time the op takes on its role's own instruction stream; on a unit with a
    queue its ``pieces`` may hold the stream longer. ``role`` fixes
    the role; ``may_run_on`` lists the roles the solver may choose from. ``partition`` is the
    K-partition (half), used when the problem asks for isolation.
    """

    name: str
    unit: str | None = None
    occupancy: int = 1
    also: tuple[Hold, ...] = ()
    role: str | None = None
    may_run_on: tuple[str, ...] = ()
    issue: int = 0
    pieces: int = 0
    partition: int | None = None

    def holds(self) -> Iterator[Hold]:
        """All units the op occupies, the primary one first; zero-cycle holds are left out."""
        if self.unit is not None and self.occupancy > 0:
            yield Hold(unit=self.unit, cycles=self.occupancy)
        yield from (h for h in self.also if h.cycles > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuloEdge:
    """``dst`` issues at least ``latency`` after ``src`` of ``distance`` iterations earlier.

    ``handoff`` overrides the problem's hand-off cost for this edge, when the ends are on
    different roles. ``tie`` keeps both ends on one role.
    """

    src: int
    dst: int
    latency: int
    distance: int = 0
    why: str = "flow"
    handoff: int | None = None
    tie: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A use of a written copy: by ``op``, ``distance`` iterations later, over after ``hold``."""

    op: int
    distance: int = 0
    hold: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """Storage with a depth to be found.

    ``writers[k]`` writes; ``readers[k]`` are the uses of that write. ``size`` is what one copy
    costs (bytes or registers). A register ring belongs to ``role``; None means the role of its
    first reader.
    """

    name: str
    kind: RingKind
    size: int
    writers: tuple[int, ...]
    readers: tuple[tuple[Read, ...], ...]
    min_depth: int = 1
    max_depth: int = 8
    role: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A freely renamed register result, live from issue of ``src`` (+ ``late``) to the last use."""

    name: str
    size: int
    src: int
    uses: tuple[Read, ...]
    late: int = 0
    role: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuloProblem:
    """A loop body to be scheduled with the least initiation interval.

    ``handoff`` is added to every edge, ``release`` to every ring reuse, that crosses roles.
    ``isolate`` demands that ops of one partition issue in one contiguous arc of the interval and
    the arcs follow one another in partition order.
    """

    name: str
    ops: tuple[ModuloOp, ...]
    edges: tuple[ModuloEdge, ...] = ()
    capacities: tuple[Unit, ...] = ()
    rings: tuple[Ring, ...] = ()
    values: tuple[Value, ...] = ()
    roles: tuple[Role, ...] = ()
    smem_budget: int | None = None
    handoff: int = 0
    release: int = 0
    isolate: bool = False

    def capacity(self, unit: str) -> int:
        """How many ops may hold the unit at once."""
        return next((u.capacity for u in self.capacities if u.name == unit), 1)

    def stream_cycles(self, op: int) -> int:
        """Cycles an op holds its role's stream: its issue, or until its last piece is queued.

        An op issues when its unit can begin it (to issue earlier would only block the stream
        earlier), so of ``pieces`` all but ``queue`` must be done before the stream is free.
        """
        v = self.ops[op]
        depth = next((u.queue for u in self.capacities if u.name == v.unit), None)
        if depth is None or v.pieces <= depth:
            return v.issue
        return max(v.issue, -(-v.occupancy * (v.pieces - depth) // v.pieces))

    def units(self) -> tuple[str, ...]:
        """The units in use, in order of first use."""
        return tuple(dict.fromkeys(h.unit for op in self.ops for h in op.holds()))

    def role_names(self) -> tuple[str, ...]:
        """The declared roles; a body without roles has the one role ``main``."""
        return tuple(r.name for r in self.roles) or (MAIN_ROLE,)

    def role(self, name: str) -> Role:
        """The role of that name."""
        return next((r for r in self.roles if r.name == name), Role(name=name))

    def allowed_roles(self, op: int) -> tuple[str, ...]:
        """The roles an op may run on: the fixed one, the listed ones, or all."""
        v = self.ops[op]
        return (v.role,) if v.role is not None else v.may_run_on or self.role_names()

    def fixed_roles(self) -> tuple[str, ...] | None:
        """The role of every op when none is left to choose, else None."""
        allowed = [self.allowed_roles(v) for v in range(len(self.ops))]
        return tuple(a[0] for a in allowed) if all(len(a) == 1 for a in allowed) else None

    def with_roles(self, roles: Sequence[str]) -> ModuloProblem:
        """The same body with every op's role fixed."""
        ops = tuple(replace(op, role=r) for op, r in zip(self.ops, roles, strict=True))
        return replace(self, ops=ops)

    def index(self, name: str) -> int:
        """The index of the op of that name."""
        for i, op in enumerate(self.ops):
            if op.name == name:
                return i
        near = get_close_matches(name, [op.name for op in self.ops], 1)
        raise GraphError(
            f"no op is called {name!r}",
            where=self.name,
            fix=f"did you mean {near[0]!r}?" if near else "",
        )


MAIN_ROLE = "main"
