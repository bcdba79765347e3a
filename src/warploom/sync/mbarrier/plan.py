"""What the ops of a modulo schedule do, in the words of mbarrier targets.

A ``ModuloResult`` says when an op runs and on which role; a ``Plan`` says what it is: copies into
a ring, matrix products, or ordinary work, plus what each role does once a tile. Together they are
all that ``derive_roles`` needs; waits, barriers, counts and phase bits follow.

Without more to go by it is the op that issues first. Where registers are counted, it is the op at
whose issue the fewest of them are in use by values that a later iteration of the text ends: a value
that crosses the loop's end must be in the same registers at its beginning, and the assembler copies
what it cannot place so; of a product in flight it cannot even be copied.

The scheduler counts the registers of a value until its last use is over. A product reads its
operands until it has retired, which only a wait makes known; so an op that starts a value waits for
the products whose operands' slots the scheduler took as free by then.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum

from warploom.dataclass import dataclass
from warploom.ir.mbarrier_dialect import RoleEntry
from warploom.ir.rings import NamedBarrier, Part, Per, Scope, SlotRead, StagingBuffer
from warploom.modulo import ModuloResult


class Release(StrEnum):
    """Where its reader is expected to retire, or at the end of the iteration that reads it."""

    WHEN_RETIRED = "when retired"
    SAME_ITERATION = "same iteration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Bulk copies into one part of a ring slot: ``bytes`` land in each of ``multicast`` CTAs."""

    ring: str
    part: str
    bytes: int
    multicast: int = 1
    by_threads: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A group of asynchronous products. ``fresh``: the old accumulator is always discarded;
    otherwise it is discarded on the first iteration of a tile, unless it ``keeps`` what the tile's
    head has put there.
    """

    slots: tuple[SlotRead, ...]
    accumulator: str
    registers: tuple[str, ...] = ()
    fresh: bool = False
    keeps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Ordinary instructions on registers; ``slots`` are read with ordinary loads.

    ``fills``: parts of slots that all instances of the role write together, each its share.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    slots: tuple[SlotRead, ...] = ()
    fills: tuple[SlotRead, ...] = ()
    args: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Registers to a staging copy with ordinary stores, and from there out with a bulk store."""

    fill: str
    reads: tuple[str, ...]
    buffer: str
    copy: int
    scope: Scope = Scope.WARP
    args: tuple[int, ...] = ()
    reduce: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """Several chunks at once: (staging copy, args) each, all in one group of bulk stores.

    ``reduce``: they add to what is there.
    """

    fill: str
    reads: tuple[str, ...]
    buffer: str
    chunks: tuple[tuple[int, tuple[int, ...]], ...]
    scope: Scope = Scope.WARP
    reduce: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbatim:
    """Entries the caller places: order barriers of ping-pong consumers, for example."""

    entries: tuple[RoleEntry, ...]


Action = tuple[Copy, ...] | Product | Work | Store | Stores | Verbatim


@dataclass(frozen=True, slots=True, kw_only=True)
class RingPlan:
    """A ring: its parts, and the role that fills it."""

    name: str
    parts: tuple[Part, ...]
    per: Per = Per.ITERATION
    depth: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePlan:
    """A role: how many instances of how many threads, and what it does once a tile.

    ``head`` and ``tail`` are (op name, action) pairs run before and after the loop of a tile,
    ``setup`` entries once before the first tile. ``of`` names the schedule's roles that the
    instances stand for, in order, when the schedule tells them apart: their programs must be equal.
    ``alternates``: instances take whole tiles in turn.
    """

    name: str
    instances: int
    threads: int
    registers: tuple[tuple[str, int], ...] = ()
    head: tuple[tuple[str, Action], ...] = ()
    tail: tuple[tuple[str, Action], ...] = ()
    setup: tuple[RoleEntry, ...] = ()
    of: tuple[str, ...] = ()
    alternates: bool = False

    @property
    def together(self) -> int:
        """Instances that share a tile."""
        return 1 if self.alternates else self.instances

    @property
    def members(self) -> tuple[str, ...]:
        """The schedule's roles this one runs."""
        return self.of or (self.name,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Instances of ``role`` use ``unit`` in turns: in the order the schedule found, or, where they
    alternate, tile by tile.

    ``barrier`` names one named barrier for each instance, for its threads and its neighbour's.
    """

    role: str
    unit: str
    barrier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The meaning of a modulo schedule's ops. ``actions`` maps op names to what they do.

    ``aliases`` gives ops of equal meaning (those of several consumers) one name.
    """

    name: str
    target: str
    actions: Mapping[str, Action]
    rings: tuple[RingPlan, ...]
    roles: tuple[RolePlan, ...]
    buffers: tuple[StagingBuffer, ...] = ()
    barriers: tuple[NamedBarrier, ...] = ()
    cluster: int = 1
    aliases: Mapping[str, str] = field(default_factory=dict)
    turns: Turns | None = None
    release: Release = Release.WHEN_RETIRED
    scope: Scope = Scope.WARP

    def ring(self, name: str) -> RingPlan:
        """The ring of that name."""
        return next(r for r in self.rings if r.name == name)

    def multicast(self, ring: str) -> int:
        """The CTAs that copies into a ring land in."""
        actions = [*self.actions.values(), *(a for r in self.roles for _, a in (*r.head, *r.tail))]
        copies = (c for a in actions if isinstance(a, tuple) for c in a if c.ring == ring)
        return max((c.multicast for c in copies), default=1)


IN_FLIGHT = 100  # accumulators of products weigh more than anything else


def origin_of(result: ModuloResult, plan: Plan, member: str) -> int:
    """The time at which the role's first iteration begins; no op of it issues before."""
    times = [result.times[v] for v in range(len(result.times)) if result.roles[v] == member]
    first = min(times, default=0)
    if not any(result.roles[v.src] == member for v in result.problem.values):
        return first
    starts = [first - (first - t) % result.ii for t in dict.fromkeys(times)]

    def cost(start: int) -> tuple[int, int, int]:
        lag = max((t - start) // result.ii for t in times)
        return _crossing(result, plan, member, start), lag, -start

    return min(starts, key=cost)


def _crossing(result: ModuloResult, plan: Plan, member: str, start: int) -> int:
    """Registers of values whose life spans the end of an iteration that begins at ``start``."""
    total = 0
    for value in result.problem.values:
        if result.roles[value.src] != member:
            continue
        name = result.problem.ops[value.src].name
        action = plan.actions.get(plan.aliases.get(name, name))
        weight = IN_FLIGHT if isinstance(action, Product) else 1
        born = (result.times[value.src] - start) // result.ii
        ends = [result.times[u.op] + u.distance * result.ii - start for u in value.uses]
        total += weight * value.size * any(end // result.ii != born for end in ends)
    return total


Over = Mapping[str, tuple[tuple[str, int], ...]]
"""For each op: products, and how many iterations before its own they must be over."""


def over_before(result: ModuloResult, aliases: Mapping[str, str], member: str) -> Over:
    """What ops of one role rely on; empty where the problem counts no values."""
    names = [aliases.get(op.name, op.name) for op in result.problem.ops]
    uses = list(_uses(result, member))
    found: dict[str, tuple[tuple[str, int], ...]] = {}
    for src in {v.src for v in result.problem.values if result.roles[v.src] == member}:
        needs: dict[str, int] = {}
        for op, hold in uses:
            if op != src:
                gap = result.times[op] + hold - result.times[src]
                back = -(-gap // result.ii)
                needs[names[op]] = max(back, needs.get(names[op], back))
        found[names[src]] = tuple(sorted(needs.items()))
    return found


def _uses(result: ModuloResult, member: str) -> Iterator[tuple[int, int]]:
    for value in result.problem.values:
        for use in value.uses:
            if result.roles[use.op] == member:
                yield use.op, use.hold - use.distance * result.ii
