"""A roles document run over a sequence of tiles: straight-line event lists, one per agent.

An agent is one instance of a role in one CTA. Nothing here interprets synchronisation; an event is
an entry, the tile and iteration it speaks of, and the ring use it means.
"""

from collections.abc import Iterable, Sequence

from warploom.dataclass import dataclass
from warploom.ir import mbarrier_dialect as roles
from warploom.ir.mbarrier_dialect import RoleEntry, RolesDocument
from warploom.ir.rings import Per, Scope
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


@dataclass(slots=True, eq=False)  # not frozen: a verdict makes many, four times as quickly
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
        self._tiled = {r.name for r in document.rings if r.per is Per.TILE}
        self._carries = {p.name: p.carries_phase for p in document.programs}
        self._base = [sum(tiles[:t]) for t in range(len(tiles) + 1)]

    def meant(self, event: Event, ring: str) -> int:
        """The use the entry speaks of, counted from the kernel's start."""
        return event.tile if ring in self._tiled else self._base[event.tile] + event.step

    def computed(self, event: Event, ring: str) -> int:
        """The use the role's own counter has there."""
        if self._carries[event.agent.role]:
            return self.meant(event, ring)
        return 0 if ring in self._tiled else event.step


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
    setup, prologue, kernel, epilogue, finish = (
        [
            (i, e, getattr(e, "k", 0))
            for i, e in enumerate(row)
            if getattr(e, "instance", None) in (None, agent.instance)
        ]
        for _, row in program.phases()
    )
    events = [Event(agent, "setup", i, e, 0, k) for i, e, k in setup]
    for tile, trips in enumerate(tiles):
        if not takes(document, agent, tile):
            continue
        events += [Event(agent, "prologue", i, e, tile, k) for i, e, k in prologue]
        for n in range(program.peel, trips):
            events += [Event(agent, "kernel", i, e, tile, n + k) for i, e, k in kernel]
        events += [Event(agent, "epilogue", i, e, tile, trips + k) for i, e, k in epilogue]
    events += [Event(agent, "finish", i, e, len(tiles), k) for i, e, k in finish]
    return events


def alike(document: RolesDocument) -> tuple[Agent, ...]:
    """Agents that stand for all: of instances (and CTAs) that run the same entries the first."""
    seen: dict[object, Agent] = {}
    for a in (a for a in agents(document) if a.cta == 0):
        program = document.program(a.role)
        every = (e for _, row in program.phases() for e in row)
        own = program.alternates or any(getattr(e, "instance", None) is not None for e in every)
        seen.setdefault((a.role, a.instance if own else 0), a)
    return tuple(seen.values())


def reach_of(entry: RoleEntry, agent: Agent) -> int:
    """Which threads of the instance meet at an entry."""
    if isinstance(entry, (roles.NamedSync, roles.ClusterSync)):
        return ALL
    if not isinstance(entry, roles.ScopeSync) or entry.scope is Scope.THREAD:
        return NOBODY
    if agent.threads <= 32:
        return ALL
    return ALL if entry.scope is Scope.WARPGROUP and agent.threads <= 128 else WARP


def describe(entry: RoleEntry) -> str:
    """A short form of an entry for messages."""
    parts = [type(entry).__name__]
    for name in ("op", "ring", "part", "pending", "barrier"):
        value = getattr(entry, name, None)
        if value is not None:
            parts.append(str(value))
    k = getattr(entry, "k", None)
    return " ".join(parts) + (f" k{k:+d}" if k else "")


OPERANDS = ("slots", "registers", "reads", "writes", "fills", "fills_slots")
USUAL = 16
"""Operands of an entry that cost no more than the entry itself."""


def work_of(entries: Iterable[RoleEntry]) -> int:
    """How many events a list is worth: an entry with very many operands is like several."""
    return sum(
        max(1, sum(len(getattr(e, name, ())) for name in OPERANDS) // USUAL) for e in entries
    )
