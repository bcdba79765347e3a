"""Happens-before of a roles program: what is ordered whatever the timing of the copies and groups.

Nodes are the events (their completion) and the completions of laps. An edge says 'in
every execution the first is over before the second'. What an event starts is over where that is
first known: a copy when the lap it lands in is, a product when its group was waited for.

All CTAs of a cluster run the same programs and reach one another alike. So the first is spelled
out, node for node, and ``node + size`` is the same of the next CTA. How it is made: ``graph``.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Set
from dataclasses import field, replace
from functools import reduce
from operator import or_

from warploom.dataclass import dataclass
from warploom.ir.mbarrier_dialect import Mma, RoleEntry, RolesDocument
from warploom.verify.agents import ALL, Agent, Event, Uses, reach_of
from warploom.verify.findings import Code, Finding, Severity

WARP_THREADS = 32
BarrierPhaseKey = tuple[str, str, int]  # ring, "full" | "empty", use; of the first CTA
Generation = tuple[str, int, int]  # barrier, turn, generation
CLUSTER = ""  # the barrier of all CTAs, which has no name


@dataclass(frozen=True, slots=True)
class Lanes:
    """When all threads of an instance have done what an entry says.

    The node of an event is that of the thread that arrives for the others. ``proven`` are nodes
    that are over when the others are done, too; ``assumed`` where matrix products keep the
    threads of a warpgroup together.
    """

    proven: tuple[int, ...]
    assumed: tuple[int, ...]


@dataclass(slots=True)
class BarrierPhase:
    """What happens in one lap of one mbarrier."""

    over: int  # the node of its completion
    arrivals: list[tuple[int, int]] = field(default_factory=list)  # (node, how many)
    expected: int = 0
    landed: list[tuple[int, int]] = field(default_factory=list)  # (node of the copy, bytes)


@dataclass(slots=True)
class Order:
    """The event graph of one tile sequence and its transitive closure (bit sets).

    All but ``blocked`` and ``edges`` speaks of the first CTA, and of what comes to it from others.
    ``partners`` of an arrival are what the other threads do before theirs.
    """

    document: RolesDocument
    tiles: tuple[int, ...]
    uses: Uses
    programs: dict[Agent, list[Event]]
    depth: dict[str, int] = field(init=False)  # slots of every ring
    size: int = 0  # nodes of a CTA
    nodes: dict[Agent, list[int]] = field(default_factory=dict)  # of an agent's events; some share
    event: dict[int, Event] = field(default_factory=dict)
    retired: dict[int, int] = field(default_factory=dict)  # mma -> the wait after which it is over
    laps: dict[BarrierPhaseKey, BarrierPhase] = field(default_factory=dict)
    waits: dict[BarrierPhaseKey, list[int]] = field(default_factory=lambda: defaultdict(list))
    generations: dict[Generation, list[int]] = field(default_factory=lambda: defaultdict(list))
    met: dict[Generation, int] = field(default_factory=dict)
    late: dict[int, Event] = field(default_factory=dict)  # waits as the other warps pass them
    partners: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    lanes: dict[int, Lanes] = field(default_factory=dict)  # ordinary access or fence -> its threads
    blocked: list[int] = field(default_factory=list)
    arrived: dict[int, int] = field(default_factory=dict)  # NamedArrive -> its generation is met
    edges: list[list[int]] = field(default_factory=list)  # what each node directly waits for
    _earlier: dict[int, int] = field(default_factory=dict)  # node -> node of the event in front
    _meetings: dict[tuple[Agent, bool], list[tuple[int, int]]] = field(default_factory=dict)
    _before: list[int] = field(default_factory=list)  # bit sets of ranks, its own among them
    _rank: list[int] = field(default_factory=list)  # nodes that are early have short bit sets

    def __post_init__(self) -> None:
        self.depth = {r.name: r.depth for r in self.document.rings}

    def new_node(self, earlier: int = -1) -> int:
        """A fresh node; perhaps of an event, after that of the event in front."""
        node = len(self.edges)
        self.edges.append([earlier] if earlier >= 0 else [])
        if earlier >= 0:
            self._earlier[node] = earlier
        return node

    def finding(
        self,
        code: Code,
        why: str,
        fix: str,
        *where: Event | int,
        severity: Severity = Severity.RACE,
        about: tuple[str, ...] = (),
    ) -> Finding:
        """What is wrong in this run, at some events or nodes, or ``about`` something."""
        places = tuple((self.told(e) if isinstance(e, int) else e).place() for e in where)
        return Finding(
            code=code,
            severity=severity,
            why=why,
            fix=fix,
            where=places,
            tiles=self.tiles,
            about=about,
        )

    def entry(self, node: int) -> RoleEntry:
        """The entry of a node's event."""
        return self.event[node % self.size].entry

    def told(self, node: int) -> Event:
        """The event a node belongs to."""
        cta, own = divmod(node, self.size)
        event = self.late.get(own) or self.event[own]
        return replace(event, agent=replace(event.agent, cta=cta)) if cta else event

    def lap(self, key: BarrierPhaseKey) -> BarrierPhase:
        """A lap of a barrier, that something comes to."""
        result = self.laps.get(key)
        if result is None:
            result = self.laps[key] = BarrierPhase(self.new_node())
        return result

    def completion(self, ring: str, side: str, use: int) -> int | None:
        """The node of a lap's completion, where something comes to it."""
        found = self.laps.get((ring, side, use))
        return found.over if found else None

    def before(self, a: int, b: int) -> bool:
        """True when ``a`` is over before ``b`` is, in every execution (or is ``b``)."""
        return bool(self._before[b] >> self._rank[a] & 1)

    def done_before(self, a: int, b: int) -> Severity | None:
        """None when all threads have done ``a`` before ``b`` is over, in every execution.

        ``TIMING`` where that rests on products keeping threads together, else ``RACE``.
        """
        own = a % self.size
        lanes = self.lanes.get(own)
        if lanes is None:
            return None if self.before(a, b) else Severity.RACE
        for severity, nodes in ((None, lanes.proven), (Severity.TIMING, lanes.assumed)):
            if all(self.before(n + a - own, b) for n in nodes):
                return severity
        return Severity.RACE

    def earlier(self, node: int) -> int | None:
        """The node of the event in front of a node's."""
        own = node % self.size
        return self._earlier[own] + node - own if own in self._earlier else None

    def before_start(self, a: int, node: int) -> bool:
        """True when ``a`` is over before the event of ``node`` starts."""
        earlier = self.earlier(node)
        return earlier is not None and self.before(a, earlier)

    def met_after(self, node: int, *, products: bool) -> int | None:
        """Where all threads of a node's agent have met after it; perhaps at ``products``.

        Who arrives at a named barrier waits for nobody, but the barrier for all who arrive.
        """
        own = node % self.size
        agent = self.event[own].agent
        if agent.threads <= WARP_THREADS:
            return node
        key = agent, products
        if key not in self._meetings:
            self._meetings[key] = [
                (at, self.arrived.get(at, at))
                for at, event in zip(self.nodes[agent], self.programs[agent], strict=True)
                if reach_of(event.entry, agent) == ALL
                or at in self.arrived
                or (products and isinstance(event.entry, Mma))
            ]
        found = self._meetings[key]
        at = bisect_right(found, own, key=lambda meeting: meeting[0])
        return found[at][1] + node - own if at < len(found) else None

    def of(self, agent: Agent, kinds: Set[type[RoleEntry]]) -> list[Event]:
        """An agent's events of some kinds."""
        return [e for e in self.programs[agent] if type(e.entry) in kinds]

    def outlasts(self) -> Callable[[int], bool]:
        """Whether a node may be over only when every agent of the first CTA is."""
        seen = reduce(or_, (self._before[n[-1]] for n in self.nodes.values() if n), 0)
        return lambda node: not seen >> self._rank[node] & 1

    def close(self) -> None:
        """Compute the closure; nodes on or after a cycle stay in ``blocked``."""
        waiting = list(map(len, self.edges))
        followers: list[list[int]] = [[] for _ in waiting]
        for v, edges in enumerate(self.edges):
            for u in edges:
                followers[u].append(v)
        before = self._before = [0] * len(waiting)
        rank = self._rank = before[:]
        ready = [v for v, n in enumerate(waiting) if n == 0]
        done = 0
        while ready:
            u = ready.pop()
            rank[u] = done
            mask = before[u] = before[u] | 1 << done
            done += 1
            for v in followers[u]:
                before[v] |= mask
                waiting[v] -= 1
                if waiting[v] == 0:
                    ready.append(v)
        if done < len(waiting):
            self.blocked = [v for v, n in enumerate(waiting) if n > 0]
