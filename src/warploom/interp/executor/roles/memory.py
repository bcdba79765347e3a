"""Every agent's steps for a sequence of tiles, and what agents share: barriers, slots.

An agent is one instance of a role in one CTA. Agents that fill staging copies have a second
*strand*: the threads that do not issue the stores. It takes part in fills, proxy fences and
barriers only, and meets the first strand where the hardware makes threads meet.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from warploom.ir import mbarrier_dialect as roles
from warploom.ir.mbarrier_dialect import RoleEntry, RoleProgram, RolesDocument
from warploom.ir.rings import Per, RoleRing, Scope

_MEET_ALL = (roles.NamedSync, roles.ClusterSync)
_MEET_WARP = (
    *_MEET_ALL,
    roles.NamedArrive,
    roles.Mma,
    roles.MmaFence,
    roles.Commit,
    roles.WaitGroup,
)


@dataclass(frozen=True, slots=True)
class Step:
    """One execution of an entry: its tile, the iteration it speaks of, iterations before."""

    entry: RoleEntry
    tile: int
    index: int
    base: int

    def position(self, ring: RoleRing, carries: bool) -> int:
        """The use number the role's own counter has."""
        if ring.per is Per.TILE:
            return self.tile if carries else 0
        return self.base + self.index if carries else self.index

    def content(self, ring: RoleRing) -> int:
        """Which tile's or iteration's data a load of this step fetches."""
        return self.tile if ring.per is Per.TILE else self.base + self.index


def steps_of(program: RoleProgram, instance: int, tiles: Sequence[int]) -> tuple[Step, ...]:
    """The steps of one instance, in program order: of every tile, or of those of its turn."""
    turns = program.instances if program.alternates else 1
    steps = [Step(e, 0, getattr(e, "k", 0), 0) for e in program.setup]
    base = 0
    for tile, trips in enumerate(tiles):
        if tile % turns == instance % turns:
            steps += [Step(e, tile, k, base) for e, k in _tile(program, trips)]
        base += trips
    steps += [Step(e, len(tiles), getattr(e, "k", 0), base) for e in program.finish]
    return tuple(s for s in steps if getattr(s.entry, "instance", None) in (None, instance))


def _tile(program: RoleProgram, trips: int) -> Iterator[tuple[RoleEntry, int]]:
    for e in program.prologue:
        yield e, getattr(e, "k", 0)
    for i in range(program.peel, trips):
        for e in program.kernel:
            yield e, i + getattr(e, "k", 0)
    for e in program.epilogue:
        yield e, trips + getattr(e, "k", 0)


def meetings(program: RoleProgram) -> dict[int, bool]:
    """By identity of the entry: whether the two strands of an agent execute it together.

    Stores of a warp concern its own lanes, which matrix products and barriers keep together.
    Stores of a warpgroup concern other warps, which only wider barriers do.
    """
    entries = [e for _, es in program.phases() for e in es]
    wide = any(isinstance(e, roles.BulkStore) and e.scope is Scope.WARPGROUP for e in entries)
    return {id(e): _meets(e, wide) for e in entries}


def _meets(entry: RoleEntry, wide: bool) -> bool:
    if isinstance(entry, roles.ScopeSync):
        return entry.scope is Scope.WARPGROUP or (entry.scope is Scope.WARP and not wide)
    return isinstance(entry, _MEET_ALL if wide else _MEET_WARP)


def strand_steps(program: RoleProgram, steps: Sequence[Step]) -> tuple[int, ...]:
    """The steps the second strand takes part in; none when nothing is staged."""
    fills = any(isinstance(s.entry, roles.Compute) and s.entry.fills for s in steps)
    if program.threads == 1 or not fills:
        return ()
    together = meetings(program)
    return tuple(
        i
        for i, s in enumerate(steps)
        if together[id(s.entry)]
        or isinstance(s.entry, roles.ProxyFence)
        or (isinstance(s.entry, roles.Compute) and s.entry.fills)
    )


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """One agent: its steps, and those of them its second strand takes part in."""

    cta: int
    program: RoleProgram
    instance: int
    steps: tuple[Step, ...]
    strand: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run of a document over some tiles executes, whatever the timing."""

    document: RolesDocument
    agents: tuple[AgentPlan, ...]
    meets: dict[int, bool]

    @classmethod
    def of(cls, document: RolesDocument, tiles: Sequence[int]) -> Plan:
        """The plan of a run."""
        agents = []
        together: dict[int, bool] = {}
        for program in document.programs:
            together.update(meetings(program))
            for instance in range(program.instances):
                steps = steps_of(program, instance, tiles)
                strand = strand_steps(program, steps)
                agents += [
                    AgentPlan(cta, program, instance, steps, strand)
                    for cta in range(document.cluster)
                ]
        return cls(document, tuple(sorted(agents, key=lambda a: a.cta)), together)


GARBAGE = -1  # the value of bytes that were not there


class Fault(Exception):  # noqa: N818 (an outcome of a run, not a mistake of a caller)
    """A run went wrong; the text says how."""


@dataclass(slots=True)
class Values:
    """Names for data: equal numbers are made in the same way from the same inputs."""

    known: dict[tuple[Hashable, ...], int] = field(default_factory=dict)

    def of(self, *parts: Hashable) -> int:
        """The number of the value made from these parts."""
        return self.known.setdefault(parts, len(self.known))


@dataclass(slots=True)
class MBarrier:
    """Pending arrivals, bytes still to come, and how many laps are over."""

    count: int
    pending: int
    bytes: int = 0
    laps: int = 0

    def arrive(self, n: int = 1) -> None:
        """``n`` arrivals at once."""
        self.pending -= n
        if self.pending < 0:
            raise Fault("more arrivals than the barrier was initialised for")
        self.settle()

    def settle(self) -> None:
        """The lap is over when nothing is missing."""
        if self.pending == 0 and self.bytes == 0:
            self.laps += 1
            self.pending = self.count

    def passes(self, parity: int) -> bool:
        """Whether a wait for this parity goes through now."""
        return self.laps % 2 != parity


@dataclass(slots=True)
class NamedState:
    """Threads that came to a named barrier, and how often it opened."""

    threads: int = 0
    generation: int = 0

    def join(self, threads: int, needed: int) -> int:
        """Threads come; the last ones open it. Returns the generation they came to."""
        mine = self.generation
        self.threads += threads
        if self.threads > needed:
            raise Fault("too many threads at a named barrier")
        if self.threads == needed:
            self.threads = 0
            self.generation += 1
        return mine


@dataclass(slots=True)
class Slot:
    """One part of a slot: the value that copies bring, and how many of its bytes are there."""

    value: int
    landed: int = 0


SlotKey = tuple[int, str, int, str]  # cta, ring, slot, part


@dataclass(slots=True, eq=False)
class Copy:
    """A bulk copy on its way into one part of a slot."""

    key: SlotKey
    value: int
    bytes: int


class SharedMemory:
    """Slots and mbarriers of all CTAs, and the copies under way into them."""

    def __init__(self, document: RolesDocument) -> None:
        self.size = {(r.name, p.name): p.bytes for r in document.rings for p in r.parts}
        self.slots: dict[SlotKey, Slot] = {}
        self.copies: list[Copy] = []
        self.unseen: dict[SlotKey, set[int]] = {}
        self.barriers = {
            (cta, r.name, kind, slot): MBarrier(n, n)
            for cta in range(document.cluster)
            for r in document.rings
            for slot in range(r.depth)
            for kind, n in (("full", r.full_arrivals), ("empty", r.empty_arrivals))
        }

    def start(self, key: SlotKey, value: int, size: int, read: Container[SlotKey]) -> None:
        """A copy starts; ``read`` are the parts that products in flight read.

        Shares of one multicast copy come from several CTAs and belong together.
        """
        held = self.slots.get(key)
        if held is None or held.value != value or held.landed >= self.size[key[1], key[3]]:
            if any(c.key == key for c in self.copies):
                raise Fault("two copies are under way into one slot")
            if key in read:
                raise Fault("a copy overwrites what a product reads")
            self.slots[key] = Slot(value)
        self.copies.append(Copy(key, value, size))

    def fill(
        self, key: SlotKey, value: int, share: int, shares: int, read: Container[SlotKey]
    ) -> None:
        """One instance writes its share of a part with ordinary instructions."""
        if key in read:
            raise Fault("a slot is overwritten that a product reads")
        size = self.size[key[1], key[3]]
        held = self.slots.get(key)
        if held is None or held.value != value:
            held = self.slots[key] = Slot(value)
        held.landed += size // shares + (size % shares if share == 0 else 0)
        self.unseen.setdefault(key, set()).add(share)

    def see(self, share: int) -> None:
        """What this instance wrote before is visible to products."""
        for waiting in self.unseen.values():
            waiting.discard(share)

    def land(self, copy: Copy) -> None:
        """A copy has landed and counts on the slot's barrier."""
        self.copies.remove(copy)
        self.slots[copy.key].landed += copy.bytes
        cta, ring, slot, _ = copy.key
        barrier = self.barriers[cta, ring, "full", slot]
        barrier.bytes -= copy.bytes
        barrier.settle()

    def whole(self, key: SlotKey) -> int:
        """The value of a part all of whose bytes are there."""
        held = self.slots.get(key)
        if held is None or held.landed < self.size[key[1], key[3]]:
            raise Fault("a slot is read before its bytes landed")
        return held.value


@dataclass(slots=True)
class StagingCopy:
    """What the two strands of an agent wrote, and whose writes the copy engine may not see yet."""

    written: dict[int, int] = field(default_factory=dict)
    unseen: set[int] = field(default_factory=set)

    def fill(self, strand: int, value: int) -> None:
        """Ordinary stores of one strand."""
        self.written[strand] = value
        self.unseen.add(strand)
