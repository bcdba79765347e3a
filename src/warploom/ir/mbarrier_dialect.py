"""``RolesDocument``: a warp-specialised schedule, one program per role instead of three lists.

A CTA runs a persistent loop over output tiles. For every tile each role (of one that
``alternates`` an instance) runs its ``prologue``, its ``kernel`` once per iteration that is left,
and its ``epilogue``; ``setup`` runs once before the first tile, ``finish`` once after the last.
Roles meet through *rings*: ``depth`` slots of shared memory, each with a ``full`` and an ``empty``
mbarrier. Use number ``m`` of a ring (counted over all tiles) takes slot ``m % depth`` in
lap ``m // depth``.

The index ``k`` of an entry is the iteration of the tile it speaks of: absolute in the prologue
(0, 1, ..), relative to the running iteration in the kernel (0, -1, ..), relative to the tile's
end in the epilogue (-1 is the last); in ``setup`` as in the first prologue, in ``finish`` relative
to the end of all tiles. The kernel's first iteration is number ``peel``, so a tile of
``n`` iterations runs the kernel ``n - peel`` times. Rings with ``per = "tile"`` are used once a
tile and take no ``k``.
"""

from warploom.dataclass import dataclass
from warploom.ir.dataflow import Exchange, Flow
from warploom.ir.machine_costs import RoleCosts
from warploom.ir.rings import (
    BufferCopy,
    NamedBarrier,
    RoleRing,
    Scope,
    Side,
    SlotRead,
    StagingBuffer,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFull:
    """Wait until ``full`` of the slot has completed its lap.

    The parity waited for is ``(m // depth + parity) % 2``: 0 is right here.
    """

    ring: str
    k: int = 0
    parity: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitEmpty:
    """Wait until ``empty`` of the slot has completed the previous phase: parity 1 is right here.

    On a fresh barrier parity 1 passes at once, which is the ring's initial credit.
    """

    ring: str
    k: int = 0
    parity: int = 1
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """Arrive once on ``full`` of the slot and announce ``bytes`` of copies that complete on it."""

    ring: str
    k: int = 0
    bytes: int
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A bulk tensor copy into one part of a slot; completes ``bytes`` on ``full``.

    With ``multicast`` = c the same bytes land in c CTAs of the cluster and each of those CTAs
    issues its own share, so that c * bytes land in every one of them. ``by_threads``: the copy
    engine cannot do it, every thread of the instance copies its share.
    """

    op: str
    ring: str
    part: str
    k: int = 0
    bytes: int
    multicast: int = 1
    by_threads: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrive:
    """One arrival per ``scope`` on a barrier of the slot, on each of ``ctas`` CTAs.

    On ``empty`` it releases the slot to whoever fills it; on ``full`` it says that the arriving
    threads have filled their share of it (scope ``thread``: one elected thread of the instance).
    """

    ring: str
    k: int = 0
    scope: Scope = Scope.WARP
    ctas: int = 1
    side: Side = Side.EMPTY
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MmaFence:
    """``wgmma.fence``: register accesses before it are ordered before the wgmma after it."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mma:
    """Asynchronous matrix products of one op, reading slots (and ``registers``) into
    ``accumulator``; ``accumulate`` false discards its old value.
    """

    op: str
    k: int = 0
    slots: tuple[SlotRead, ...]
    registers: tuple[str, ...] = ()
    accumulator: str
    accumulate: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Close the group of the products issued since the last commit."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitGroup:
    """Wait until at most ``pending`` of the newest groups are unfinished."""

    pending: int
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """Ordinary instructions: registers read and written, slots and staging copies touched.

    ``fills`` are staging copies written, ``fills_slots`` parts of ring slots: every instance of the
    role writes its share, and together they write the part whole.
    """

    op: str
    k: int = 0
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    slots: tuple[SlotRead, ...] = ()
    fills: tuple[BufferCopy, ...] = ()
    fills_slots: tuple[SlotRead, ...] = ()
    args: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyFence:
    """``fence.proxy.async``: ordinary shared-memory writes become visible to copies and wgmma."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeSync:
    """A barrier among the threads of a warp or of the warpgroup of one instance."""

    scope: Scope = Scope.WARP
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSync:
    """Arrive on a named barrier and wait for it.

    Of several it is number ``(instance + turn) % count``. Only ``instance`` executes the entry,
    where one is given.
    """

    barrier: str
    turn: int = 0
    instance: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedArrive:
    """Arrive on a named barrier without waiting; fields as of ``NamedSync``."""

    barrier: str
    turn: int = 0
    instance: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkStore:
    """A bulk tensor copy from a staging copy to global memory, issued by one thread a scope.

    ``reduce``: it adds to what is there. ``k`` is the iteration it belongs to, as of other entries.
    """

    op: str
    source: BufferCopy
    scope: Scope = Scope.WARP
    args: tuple[int, ...] = ()
    k: int = 0
    reduce: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkCommit:
    """Close the group of bulk stores."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkWait:
    """Wait until at most ``pending`` store groups are unfinished (``source_read``: unread)."""

    pending: int
    source_read: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSync:
    """All threads of all CTAs of the cluster meet."""

    reason: str = ""


RoleEntry = (
    WaitFull | WaitEmpty | Expect | Load | Arrive | MmaFence | Mma | Commit | WaitGroup | Compute
    | ProxyFence | ScopeSync | NamedSync | NamedArrive | BulkStore | BulkCommit | BulkWait
    | ClusterSync
)  # fmt: skip
LISTS = ("setup", "prologue", "kernel", "epilogue", "finish")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleProgram:
    """What every instance of one role executes.

    ``threads`` of an instance run the program (1: an elected thread). ``carries_phase``: ring
    positions run on from tile to tile; without it every tile starts at slot 0, lap 0.
    ``alternates``: of n instances number i runs tiles i, i + n, .., each a whole one; its ring
    positions go past the tiles of the others. Without it all instances share every tile.
    ``registers`` names the register arrays the entries speak of and their size a thread.
    ``most_registers`` is what a thread may hold (``setmaxnreg``; 0: what it has at entry).
    """

    name: str
    instances: int
    threads: int
    peel: int
    prologue: tuple[RoleEntry, ...]
    kernel: tuple[RoleEntry, ...]
    epilogue: tuple[RoleEntry, ...]
    setup: tuple[RoleEntry, ...] = ()
    finish: tuple[RoleEntry, ...] = ()
    registers: tuple[tuple[str, int], ...] = ()
    carries_phase: bool = True
    most_registers: int = 0
    alternates: bool = False

    def phases(self) -> tuple[tuple[str, tuple[RoleEntry, ...]], ...]:
        """The five lists with their names."""
        return tuple((name, getattr(self, name)) for name in LISTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofRecord:
    """How the schedule was found: interval, its proven bound, and what limits it."""

    ii: int
    lower_bound: int
    proven: bool
    limit: str
    least_depths: tuple[tuple[str, int], ...] = ()
    solver: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RolesDocument:
    """A warp-specialised schedule. ``cluster`` CTAs share multicast copies.

    ``flow`` is what its ops were declared to compute, ``exchanges`` how CTAs meet in global memory
    at ops that are declared so, ``tile`` and ``dtype`` what a tile of the
    output is: facts of the kernel that the entries do not carry. ``costs`` are the prices of its
    ops on the target, ``machine`` the figures in which the target differs from the shipped part
    that its first pair names (``("is", "h200")``). ``least_trips`` is the fewest iterations that
    the code runs for any tile, besides what the programs peel: the code generator enforces it.
    ``unroll``: steps of the loop in an iteration.
    """

    name: str
    target: str
    strategy: str
    rings: tuple[RoleRing, ...]
    programs: tuple[RoleProgram, ...]
    buffers: tuple[StagingBuffer, ...] = ()
    barriers: tuple[NamedBarrier, ...] = ()
    cluster: int = 1
    proof: ProofRecord | None = None
    tile: tuple[int, ...] = ()
    dtype: str = ""
    flow: Flow | None = None
    exchanges: tuple[Exchange, ...] = ()
    costs: RoleCosts | None = None
    machine: tuple[tuple[str, str], ...] = ()
    least_trips: int = 0
    unroll: int = 1

    def __repr__(self) -> str:
        sizes = ", ".join(f"{p.name} {len(p.kernel)}" for p in self.programs)
        return f"<RolesDocument {self.name} on {self.target}: entries of the loop {sizes}>"

    def ring(self, name: str) -> RoleRing:
        """The ring of that name."""
        return next(r for r in self.rings if r.name == name)

    def program(self, name: str) -> RoleProgram:
        """The program of that role."""
        return next(p for p in self.programs if p.name == name)

    @property
    def tiles_per_iteration(self) -> int:
        """Steps of the loop that one iteration covers."""
        return self.unroll

    @property
    def minimum_trips(self) -> int:
        """The fewest iterations a tile may have: what is stated, or what some program peels."""
        return max([self.least_trips, *(p.peel for p in self.programs)])
