"""A roles document run over a sequence of tiles: straight-line event lists, one per agent.

An agent is one instance of a role in one CTA. Nothing here interprets synchronisation; an event is
an entry, the tile and iteration it speaks of, and the ring use it means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warploom.document.rings import Per, Scope
from warploom.document.roles import (
    ClusterSync,
    NamedArrive,
    NamedSync,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    ScopeSync,
)
from warploom.verify.findings import Place

NOBODY, WARP, ALL = 0, 1, 2
"""Which threads of an instance meet at an entry."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One instance of a role in one CTA."""

    cta: int
    role: str
    instance: int
    threads: int


@dataclass(frozen=True, slots=True)
class Event:
    """One execution of an entry. ``step`` is the iteration of the tile it speaks of."""

    agent: Agent
    phase: str
    index: int
    entry: RoleEntry
    tile: int
    step: int

    def place(self) -> Place:
        """The event as findings name it."""
        a = self.agent
        return Place(
            role=a.role,
            instance=a.instance,
            cta=a.cta,
            phase=self.phase,
            index=self.index,
            entry=describe(self.entry),
            tile=self.tile,
            iteration=self.step,
        )


class Uses:
    """Ring use numbers: as meant (counted over all tiles) and as a role computes them."""

    def __init__(self, document: RolesDocument, tiles: Sequence[int]) -> None:
        self._rings = {r.name: r for r in document.rings}
        self._carries = {p.name: p.carries_phase for p in document.programs}
        self._base = [sum(tiles[:t]) for t in range(len(tiles) + 1)]

    def meant(self, event: Event, ring: str) -> int:
        """The use the entry speaks of, counted from the kernel's start."""
        if self._rings[ring].per is Per.TILE:
            return event.tile
        return self._base[event.tile] + event.step

    def computed(self, event: Event, ring: str) -> int:
        """The use the role's own counter has there."""
        if self._carries[event.agent.role]:
            return self.meant(event, ring)
        return 0 if self._rings[ring].per is Per.TILE else event.step

    def total(self, ring: str) -> int:
        """How many uses the whole run has."""
        return len(self._base) - 1 if self._rings[ring].per is Per.TILE else self._base[-1]


def agents(document: RolesDocument) -> tuple[Agent, ...]:
    """All agents of one cluster."""
    return tuple(
        Agent(cta, p.name, i, p.threads)
        for cta in range(document.cluster)
        for p in document.programs
        for i in range(p.instances)
    )


def takes(document: RolesDocument, agent: Agent, tile: int) -> bool:
    """Whether an agent runs a tile: where its role alternates, every so many-th one."""
    program = document.program(agent.role)
    return not program.alternates or tile % program.instances == agent.instance


def run(document: RolesDocument, agent: Agent, tiles: Sequence[int]) -> list[Event]:
    """The events of one agent over the tiles, in program order.

    ``setup`` speaks of the first tile's iterations, as a prologue does. ``finish`` speaks from the
    end of all tiles on: -1 is the last iteration, and the tile is one past the last.
    """
    program = document.program(agent.role)
    once = {
        phase: [(i, e, getattr(e, "k", 0)) for i, e in enumerate(getattr(program, phase))]
        for phase in ("setup", "finish")
    }
    events = [Event(agent, "setup", i, e, 0, k) for i, e, k in once["setup"]]
    for tile, trips in enumerate(tiles):
        if not takes(document, agent, tile):
            continue
        events += [Event(agent, ph, i, e, tile, k) for ph, i, e, k in _tile(program, trips)]
    events += [Event(agent, "finish", i, e, len(tiles), k) for i, e, k in once["finish"]]
    return [e for e in events if _runs(e)]


def _tile(program: RoleProgram, trips: int) -> Iterator[tuple[str, int, RoleEntry, int]]:
    for i, e in enumerate(program.prologue):
        yield "prologue", i, e, getattr(e, "k", 0)
    for iteration in range(program.peel, trips):
        for i, e in enumerate(program.kernel):
            yield "kernel", i, e, iteration + getattr(e, "k", 0)
    for i, e in enumerate(program.epilogue):
        yield "epilogue", i, e, trips + getattr(e, "k", 0)


def _runs(event: Event) -> bool:
    e = event.entry
    return (
        not isinstance(e, NamedSync | NamedArrive)
        or e.instance is None
        or e.instance == event.agent.instance
    )


def reach_of(event: Event) -> int:
    """Which threads of the instance meet at an event."""
    entry = event.entry
    if isinstance(entry, NamedSync | ClusterSync):
        return ALL
    if not isinstance(entry, ScopeSync) or entry.scope is Scope.THREAD:
        return NOBODY
    return ALL if entry.scope is Scope.WARPGROUP or event.agent.threads <= 32 else WARP


def describe(entry: RoleEntry) -> str:
    """A short form of an entry for messages."""
    parts = [type(entry).__name__]
    for name in ("op", "ring", "part", "pending", "barrier"):
        value = getattr(entry, name, None)
        if value is not None:
            parts.append(str(value))
    k = getattr(entry, "k", None)
    return " ".join(parts) + (f" k{k:+d}" if k else "")
