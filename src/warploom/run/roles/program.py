"""Straight-line steps of every agent of a document for a sequence of tiles.

An agent is one instance of a role in one CTA. Agents that fill staging copies have a second
*strand*: the threads that do not issue the stores. It takes part in fills, proxy fences and
barriers only, and meets the first strand where the hardware makes threads meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warploom.document.rings import Per, RoleRing, Scope
from warploom.document.roles import (
    BulkStore,
    ClusterSync,
    Commit,
    Compute,
    Mma,
    MmaFence,
    NamedArrive,
    NamedSync,
    ProxyFence,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    ScopeSync,
    WaitGroup,
)

_MEET_ALL = (NamedSync, ClusterSync)
_MEET_WARP = (*_MEET_ALL, NamedArrive, Mma, MmaFence, Commit, WaitGroup)


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
    wide = any(isinstance(e, BulkStore) and e.scope is Scope.WARPGROUP for e in entries)
    return {id(e): _meets(e, wide) for e in entries}


def _meets(entry: RoleEntry, wide: bool) -> bool:
    if isinstance(entry, ScopeSync):
        return entry.scope is Scope.WARPGROUP or (entry.scope is Scope.WARP and not wide)
    return isinstance(entry, _MEET_ALL if wide else _MEET_WARP)


def strand_steps(program: RoleProgram, steps: Sequence[Step]) -> tuple[int, ...]:
    """The steps the second strand takes part in; none when nothing is staged."""
    fills = any(isinstance(s.entry, Compute) and s.entry.fills for s in steps)
    if program.threads == 1 or not fills:
        return ()
    together = meetings(program)
    return tuple(
        i
        for i, s in enumerate(steps)
        if together[id(s.entry)]
        or isinstance(s.entry, ProxyFence)
        or (isinstance(s.entry, Compute) and s.entry.fills)
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
