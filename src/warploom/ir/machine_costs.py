"""``MachineCosts``: a machine as plain numbers: prices of ops, counters, storage, clock.

Prices are per *instruction*: a load of 4 counter units is 4 instructions, so it holds its stream
for ``4 * issue`` and its unit for ``4 * occupancy`` cycles, and its last datum comes ``latency``
after the last instruction reached the unit. ``RoleCosts`` are the same for roles, by op. A document
may carry the prices it was compiled with, so that whoever reads it reports the same cycles.
"""

from __future__ import annotations

from dataclasses import fields, replace

from warploom.dataclass import dataclass
from warploom.errors import ConfigError, CostModelError, GeometryError
from warploom.ir.schedule_ops import OpDesc, OpRole, ResourceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class OpTiming:
    """Cycles of one instruction: stream held, unit held, and until the result may be used."""

    issue: int
    occupancy: int
    latency: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitSpec:
    """A hardware unit: how many ops it serves at once, and whether all waves share it.

    A unit that is not ``shared`` exists once in each SIMD. ``blocking``: a wave whose op finds
    the unit busy stands still; otherwise the op joins the unit's queue and the wave goes on.
    """

    capacity: int = 1
    shared: bool = False
    blocking: bool = False


_PRIVATE_UNITS = (
    (ResourceKind.GLOBAL_MEM, UnitSpec()),
    (ResourceKind.LDS, UnitSpec()),
    (ResourceKind.MMA_UNIT, UnitSpec(blocking=True)),
    (ResourceKind.VALU, UnitSpec(blocking=True)),
    (ResourceKind.SCALAR, UnitSpec()),
)

_UNIT_OF_ROLE = {
    OpRole.GLOBAL_LOAD: ResourceKind.GLOBAL_MEM,
    OpRole.SHARED_STORE: ResourceKind.LDS,
    OpRole.FRAGMENT_LOAD: ResourceKind.LDS,
    OpRole.COMPUTE: ResourceKind.MMA_UNIT,
    OpRole.VALU_COMPUTE: ResourceKind.VALU,
}
_SERIAL = (ResourceKind.MMA_UNIT, ResourceKind.VALU)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCosts:
    """The machine as numbers.

    ``by_name`` (an op's tag name) wins over ``by_role``, which wins over the op's own latency.
    ``barrier`` is the time from the last arrival to the release, ``sync_issue`` what a wait or
    priority instruction costs its wave. ``vm_limit`` and ``lgkm_limit`` are the most units in
    flight per wave (None: no limit). ``storage`` is the shared memory of a workgroup in bytes: what
    is compiled or emitted for the machine must fit. ``clock_hz`` turns cycles into time.
    """

    name: str = "op latencies"
    by_role: tuple[tuple[OpRole, OpTiming], ...] = ()
    by_name: tuple[tuple[str, OpTiming], ...] = ()
    units: tuple[tuple[ResourceKind, UnitSpec], ...] = _PRIVATE_UNITS
    simds: int = 4
    barrier: int = 4
    sync_issue: int = 0
    vm_limit: int | None = None
    lgkm_limit: int | None = None
    storage: int | None = None
    clock_hz: float | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            least = 1 if item.name in ("simds", "storage", "clock_hz") else 0
            if isinstance(value, int | float) and value < least:
                raise ConfigError(
                    f"machine cost '{item.name}' is {value}", where=f"MachineCosts({self.name!r})"
                )
        for kind, unit in self.units:
            if unit.capacity < 1:
                raise ConfigError(
                    f"unit {kind.name} has capacity {unit.capacity}",
                    where=f"MachineCosts({self.name!r}).units",
                    why="an op on it could never run",
                )

    def require_storage(self, need: int, what: str) -> None:
        """``GeometryError`` where something needs more shared memory than there is."""
        if self.storage is not None and need > self.storage:
            raise GeometryError(
                f"{what} needs {need} bytes of shared memory, {self.name} has {self.storage}",
                where=f"target {self.name}",
                fix="a smaller tile, or fewer buffers",
            )

    def unit(self, kind: ResourceKind) -> UnitSpec:
        """The unit of that kind; one private, non-blocking server when none is given."""
        return dict(self.units).get(kind, UnitSpec())

    def unit_kind(self, op: OpDesc) -> ResourceKind:
        """The unit an op runs on: its own resource, else the usual one of its role."""
        if op.resource is not ResourceKind.NONE:
            return op.resource
        return _UNIT_OF_ROLE.get(op.role, ResourceKind.SCALAR)

    def timing(self, op: OpDesc) -> OpTiming:
        """The price of one instruction of ``op``."""
        named = dict(self.by_name).get(op.name)
        timing = named or dict(self.by_role).get(op.role) or self._from_op(op)
        if min(timing.issue, timing.occupancy, timing.latency) < 0:
            raise CostModelError(f"a negative cost for {op.label()}: {timing}", where=self.name)
        return timing

    def with_mfma(self, cycles: int) -> MachineCosts:
        """Matrix ops made of instructions of so many cycles: the stream is free after the last.

        An instruction takes as long to issue as one that waits (``sync_issue``).
        """

        def shadowed(timing: OpTiming) -> OpTiming:
            if not 1 <= cycles <= timing.occupancy:
                raise ConfigError(
                    f"a matrix instruction of {cycles} cycles in an op of {timing.occupancy}",
                    where=f"MachineCosts({self.name!r})",
                    fix="at least one cycle, at most those of the op",
                )
            return replace(timing, issue=timing.occupancy - cycles + min(cycles, self.sync_issue))

        table = tuple((r, shadowed(t) if r is OpRole.COMPUTE else t) for r, t in self.by_role)
        return replace(self, by_role=table)

    def with_finer_mmas(self, parts: int) -> MachineCosts:
        """The costs when each matrix op of a body is split into ``parts`` equal ones.

        What an op's last instruction computes after its issue (occupancy beyond issue) stays.
        """

        def finer(timing: OpTiming) -> OpTiming:
            occupancy = -(-timing.occupancy // parts)
            shadow = min(timing.occupancy - timing.issue, occupancy - 1)
            return OpTiming(
                issue=occupancy - max(shadow, 0),
                occupancy=occupancy,
                latency=occupancy + timing.latency - timing.occupancy,
            )

        table = tuple((r, finer(t) if r is OpRole.COMPUTE else t) for r, t in self.by_role)
        return replace(self, by_role=table)

    def _from_op(self, op: OpDesc) -> OpTiming:
        if op.role is OpRole.NONE and op.resource is ResourceKind.NONE:
            raise CostModelError(
                f"no price for {op.label()}",
                where=f"MachineCosts({self.name!r})",
                why="the op has neither role nor resource, and no timing is given for its name",
                fix=f"give by_name=(({op.name!r}, OpTiming(...)),) or price the op's tag",
            )
        if self.unit_kind(op) in _SERIAL:
            return OpTiming(issue=op.latency, occupancy=op.latency, latency=op.latency)
        return OpTiming(issue=1, occupancy=1, latency=op.latency)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleOpCost:
    """What an op of a role costs: the unit it holds and for how long.

    ``ahead``: cycles of unfinished work the unit takes; a role that issues more stands still.
    ``beside``: cycles more that it takes while other roles' products run all along.
    """

    unit: str
    timing: OpTiming
    ahead: int | None = None
    beside: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleCosts:
    """Prices of a warp-specialised schedule, by op name.

    The latency of a copy reaches until a waiting role goes on; ``handoff`` is the same for an
    arrival, ``arrive`` what an arrival or announcement costs the role that does it, ``step`` what
    any wait, fence, commit or arrival costs it. Units named in ``shared`` serve several roles at
    once, an instruction each in turn; at others ops queue. ``own``: how many times as much as
    others' a role's own products count beside its ops. ``tied``: waits for products stay after the
    exponentials in front of them. ``ask``: what a wait for a slot takes at the least, until the
    barrier answers. ``clock_hz`` turns cycles into time.
    """

    name: str
    ops: tuple[tuple[str, RoleOpCost], ...]
    handoff: int = 0
    arrive: int = 0
    barrier_handoff: int = 0
    shared: tuple[str, ...] = ()
    clock_hz: float | None = None
    step: int = 0
    own: float = 1.0
    tied: bool = False
    ask: int = 0

    def of(self, op: str) -> RoleOpCost:
        """The price of an op."""
        cost = dict(self.ops).get(op)
        if cost is None:
            known = ", ".join(sorted(name for name, _ in self.ops))
            raise CostModelError(
                f"no price for op {op!r}", where=f"RoleCosts({self.name!r})", fix=f"known: {known}"
            )
        return cost
