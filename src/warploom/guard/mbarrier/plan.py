"""What the ops of a modulo schedule do, in the words of mbarrier targets.

A ``ModuloResult`` says when an op runs and on which role; a ``Plan`` says what it is: copies into
a ring, matrix products, or ordinary work, plus what each role does once a tile. Together they are
all that ``derive_roles`` needs; waits, barriers, counts and phases follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from warploom.document.rings import NamedBarrier, Part, Per, Scope, SlotRead, StagingBuffer
from warploom.document.roles import RoleEntry
from warploom.guard.mbarrier.release import Release


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
