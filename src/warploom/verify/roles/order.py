"""Happens-before of a roles program: what is ordered whatever the timing of the copies and groups.

Nodes are the events (their completion), the asynchronous effects they start (a copy has landed, a
group has retired), and the completions of barrier phases. An edge says 'in every execution the
first is over before the second'. A wait is ordered after the completion of the phase it *means*;
that it can mean no other phase is checked apart (see ``barriers`` and ``named``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from warploom.document.rings import Scope
from warploom.document.roles import (
    Arrive,
    BulkCommit,
    BulkStore,
    BulkWait,
    ClusterSync,
    Commit,
    Compute,
    Expect,
    Load,
    Mma,
    MmaFence,
    NamedArrive,
    NamedSync,
    RoleEntry,
    RolesDocument,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.verify.agents import ALL, Agent, Event, Uses, agents, reach_of, run

WARP_THREADS = 32
_LOCAL = (MmaFence, BulkStore, BulkCommit, BulkWait)
BarrierKey = tuple[int, str, str, int]  # cta, ring, "full" | "empty", use
Generation = tuple[int, str, int, int]  # cta, barrier, turn, generation


@dataclass(slots=True)
class Phase:
    """What happens on one phase of one mbarrier."""

    arrivals: list[tuple[int, int]] = field(default_factory=list)  # (node, how many)
    expected: int = 0
    landed: list[tuple[int, int]] = field(default_factory=list)  # (node, bytes)


@dataclass(slots=True)
class Order:
    """The event graph of one tile sequence and its transitive closure (bit sets)."""

    document: RolesDocument
    tiles: tuple[int, ...]
    uses: Uses
    programs: dict[Agent, list[Event]]
    depth: dict[str, int] = field(init=False)  # slots of every ring
    nodes: dict[Agent, list[int]] = field(default_factory=dict)  # of an agent's events; some share
    event: dict[int, Event] = field(default_factory=dict)
    landed: dict[int, dict[int, int]] = field(default_factory=dict)  # load node -> cta -> node
    loader: dict[int, int] = field(default_factory=dict)  # landing -> load node
    retired: dict[int, int] = field(default_factory=dict)  # mma node -> node
    phases: dict[BarrierKey, Phase] = field(default_factory=lambda: defaultdict(Phase))
    waits: dict[BarrierKey, list[int]] = field(default_factory=lambda: defaultdict(list))
    completion: dict[BarrierKey, int] = field(default_factory=dict)
    generations: dict[Generation, list[int]] = field(default_factory=lambda: defaultdict(list))
    met: dict[Generation, int] = field(default_factory=dict)
    before_event: dict[int, int] = field(default_factory=dict)  # node -> node of the event in front
    late: dict[int, Event] = field(default_factory=dict)  # waits as the other warps pass them
    partner: dict[int, int] = field(default_factory=dict)  # arrival -> what other warps do before
    blocked: list[int] = field(default_factory=list)
    arrived: dict[int, int] = field(default_factory=dict)  # NamedArrive -> its generation is met
    _meetings: dict[tuple[Agent, bool], list[tuple[int, int]]] = field(default_factory=dict)
    _edges: list[list[int]] = field(default_factory=list)  # what each node directly waits for
    _before: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.depth = {r.name: r.depth for r in self.document.rings}

    def new_node(self) -> int:
        """A fresh node."""
        self._edges.append([])
        return len(self._edges) - 1

    def edge(self, a: int, b: int) -> None:
        """``a`` is over before ``b``."""
        self._edges[b].append(a)

    def told(self, node: int) -> Event:
        """The event a node belongs to; a landing's is its load."""
        return self.late.get(node) or self.event[self.loader.get(node, node)]

    def predecessors(self, node: int) -> tuple[int, ...]:
        """What a node directly waits for."""
        return tuple(self._edges[node])

    def before(self, a: int, b: int) -> bool:
        """True when ``a`` is over before ``b`` is, in every execution (or is ``b``)."""
        return a == b or bool(self._before[b] >> a & 1)

    def before_start(self, a: int, node: int) -> bool:
        """True when ``a`` is over before the event of ``node`` starts."""
        earlier = self.before_event.get(node)
        return earlier is not None and self.before(a, earlier)

    def met_after(self, node: int, *, products: bool) -> int | None:
        """Where all threads of a node's agent have met after it; perhaps at ``products``.

        Who arrives at a named barrier waits for nobody, but the barrier for all who arrive.
        """
        agent = self.event[node].agent
        if agent.threads <= WARP_THREADS:
            return node
        key = agent, products
        if key not in self._meetings:
            self._meetings[key] = [
                (at, self.arrived.get(at, at))
                for at, event in zip(self.nodes[agent], self.programs[agent], strict=True)
                if reach_of(event) == ALL
                or at in self.arrived
                or (products and isinstance(event.entry, Mma))
            ]
        found = self._meetings[key]
        at = bisect_right(found, node, key=lambda meeting: meeting[0])
        return found[at][1] if at < len(found) else None

    def last_nodes(self, cta: int) -> list[int]:
        """The last event of every agent of a CTA."""
        return [n[-1] for agent, n in self.nodes.items() if agent.cta == cta and n]

    def close(self) -> None:
        """Compute the closure; nodes on or after a cycle stay in ``blocked``."""
        waiting = [len(edges) for edges in self._edges]
        followers: list[list[int]] = [[] for _ in waiting]
        for v, edges in enumerate(self._edges):
            for u in edges:
                followers[u].append(v)
        self._before = [0] * len(waiting)
        ready = [v for v, n in enumerate(waiting) if n == 0]
        done = 0
        while ready:
            u = ready.pop()
            done += 1
            mask = self._before[u] | 1 << u
            for v in followers[u]:
                self._before[v] |= mask
                waiting[v] -= 1
                if waiting[v] == 0:
                    ready.append(v)
        if done < len(waiting):
            self.blocked = [v for v, n in enumerate(waiting) if n > 0]


def build_order(document: RolesDocument, tiles: Sequence[int]) -> Order:
    """The event graph of the document run over ``tiles`` (iterations of each)."""
    programs = {a: run(document, a, tiles) for a in agents(document)}
    order = Order(document, tuple(tiles), Uses(document, tiles), programs)
    for agent, events in programs.items():
        _add_agent(order, agent, events)
        if agent.threads > 32 and any(_elected(e.entry) for e in events):
            _add_late(order, agent, events)
    _join_mbarriers(order)
    _join_named(order)
    order.close()
    return order


def _add_agent(order: Order, agent: Agent, events: list[Event]) -> None:  # noqa: C901, PLR0912 (dispatch)
    groups: list[list[int]] = []
    open_group: list[int] = []
    meetings = 0
    turns: dict[tuple[str, int], int] = defaultdict(int)
    nodes = order.nodes[agent] = []
    for event in events:
        if nodes and _alone(event):
            nodes.append(nodes[-1])
            continue
        node = order.new_node()
        order.event[node] = event
        if nodes:
            order.before_event[node] = nodes[-1]
            order.edge(nodes[-1], node)
        nodes.append(node)
        entry = event.entry
        match entry:
            case WaitFull() | WaitEmpty():
                order.waits[waited(order, agent, event)].append(node)
            case Load():
                _land(order, node, event, entry)
            case Expect():
                key = (agent.cta, entry.ring, "full", order.uses.meant(event, entry.ring))
                order.phases[key].arrivals.append((node, 1))
                order.phases[key].expected += entry.bytes
            case Arrive():
                _arrive(order, node, event, entry)
            case Mma():
                open_group.append(node)
            case Commit():
                groups.append(open_group)
                open_group = []
            case WaitGroup():
                _retire(order, node, groups, entry.pending)
            case NamedSync() | NamedArrive():
                key2 = (entry.barrier, turn_of(order.document, event))
                order.generations[agent.cta, *key2, turns[key2]].append(node)
                turns[key2] += 1
            case ClusterSync():
                order.generations[-1, "cluster", 0, meetings].append(node)
                meetings += 1
            case _:
                pass


def _alone(event: Event) -> bool:
    """Whether an event concerns its own warp alone: it needs no node but that of the one before."""
    entry = event.entry
    if isinstance(entry, Compute):
        return not (entry.slots or entry.fills_slots)
    if isinstance(entry, ScopeSync):
        return reach_of(event) != ALL
    return isinstance(entry, _LOCAL)


def _elected(entry: RoleEntry) -> bool:
    """One thread does it for the instance."""
    if isinstance(entry, Load):
        return not entry.by_threads
    return isinstance(entry, Expect) or (
        isinstance(entry, Arrive) and entry.scope is not Scope.WARP
    )


def _add_late(order: Order, agent: Agent, events: list[Event]) -> None:
    """The waits of the other warps, which run apart from the one with the elected thread.

    They meet it where all threads meet, and at matrix products. Arrivals and copies of every
    warp are over when theirs are (``partner``).
    """
    last: int | None = None
    for node, event in zip(order.nodes[agent], events, strict=True):
        entry = event.entry
        if isinstance(entry, WaitFull | WaitEmpty):
            twin = order.new_node()
            order.late[twin] = event
            order.waits[waited(order, agent, event)].append(twin)
            if last is not None:
                order.before_event[twin] = last
                order.edge(last, twin)
            last = twin
        elif isinstance(entry, NamedArrive) or (
            isinstance(entry, Arrive) and entry.scope is Scope.WARP
        ):
            if last is not None:
                order.partner[node] = last
        elif isinstance(entry, Load) and entry.by_threads:
            if last is not None:
                order.partner |= dict.fromkeys(order.landed[node].values(), last)
        elif isinstance(entry, Mma) or reach_of(event) == ALL:
            if last is not None:
                order.edge(last, node)
            last = node


def _land(order: Order, node: int, event: Event, load: Load) -> None:
    use = order.uses.meant(event, load.ring)
    order.landed[node] = {}
    for cta in reached(order.document, event.agent.cta, load.multicast):
        landing = order.new_node()
        order.edge(node, landing)
        order.landed[node][cta] = landing
        order.loader[landing] = node
        order.phases[cta, load.ring, "full", use].landed.append((landing, load.bytes))


def _arrive(order: Order, node: int, event: Event, arrive: Arrive) -> None:
    use = order.uses.meant(event, arrive.ring)
    for cta in reached(order.document, event.agent.cta, arrive.ctas):
        key = (cta, arrive.ring, arrive.side.value, use)
        order.phases[key].arrivals.append((node, arrivals_of(event.agent, arrive.scope)))


def _retire(order: Order, node: int, groups: list[list[int]], pending: int) -> None:
    """The oldest groups, all but ``pending``, are over when the wait is."""
    while len(groups) > pending:
        for mma in groups.pop(0):
            order.retired[mma] = order.new_node()
            order.edge(mma, order.retired[mma])
            order.edge(order.retired[mma], node)


def _join_mbarriers(order: Order) -> None:
    for key, phase in list(order.phases.items()):
        done = order.new_node()
        order.completion[key] = done
        for node, _ in [*phase.arrivals, *phase.landed]:
            order.edge(node, done)
            if node in order.partner:
                order.edge(order.partner[node], done)
    for key, nodes in order.waits.items():
        if key in order.completion:
            for node in nodes:
                order.edge(order.completion[key], node)


def _join_named(order: Order) -> None:
    for key, nodes in order.generations.items():
        done = order.met[key] = order.new_node()
        for node in nodes:
            if isinstance(order.event[node].entry, NamedArrive):
                order.edge(node, done)
                order.arrived[node] = done
                if node in order.partner:
                    order.edge(order.partner[node], done)
                continue
            for earlier in order.predecessors(node):
                order.edge(earlier, done)
            order.edge(done, node)


def waited(order: Order, agent: Agent, event: Event) -> BarrierKey:
    """The phase a wait means; a use below 0 is the ring's initial credit, which has passed."""
    entry = event.entry
    assert isinstance(entry, WaitFull | WaitEmpty)
    use = order.uses.meant(event, entry.ring)
    if isinstance(entry, WaitFull):
        return agent.cta, entry.ring, "full", use
    return agent.cta, entry.ring, "empty", use - order.depth[entry.ring]


def arrivals_of(agent: Agent, scope: Scope) -> int:
    """How many arrivals an instance makes."""
    per = {Scope.THREAD: 1, Scope.WARP: 32, Scope.WARPGROUP: 128}[scope]
    return 1 if scope is Scope.THREAD else max(1, agent.threads // per)


def reached(document: RolesDocument, cta: int, count: int) -> range:
    """The CTAs a multicast or remote arrival reaches: the ``count`` that share this one's group."""
    first = cta // count * count
    return range(first, min(first + count, document.cluster)) if count > 1 else range(cta, cta + 1)


def turn_of(document: RolesDocument, event: Event) -> int:
    """Which of several named barriers an entry means."""
    entry = event.entry
    assert isinstance(entry, NamedSync | NamedArrive)
    barrier = next(b for b in document.barriers if b.name == entry.barrier)
    return (event.agent.instance + entry.turn) % barrier.count if barrier.count > 1 else 0
