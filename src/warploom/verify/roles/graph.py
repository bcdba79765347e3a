"""How the event graph of a run is made, of the entries of all roles.

A wait is ordered after the completion of the lap it *means*; that it can mean no other lap is
checked apart (see ``barriers`` and ``named``).
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import field
from itertools import permutations

from warploom.dataclass import dataclass
from warploom.ir import mbarrier_dialect as roles
from warploom.ir.mbarrier_dialect import RoleEntry, RolesDocument
from warploom.ir.rings import Scope, Side, SlotRead
from warploom.verify.agents import ALL, NOBODY, WARP, Agent, Event, Uses, agents, reach_of, run
from warploom.verify.roles.order import CLUSTER, WARP_THREADS, BarrierPhaseKey, Lanes, Order

_LOCAL = (roles.MmaFence, roles.BulkStore, roles.BulkCommit, roles.BulkWait, roles.Commit)


def build_order(document: RolesDocument, tiles: Sequence[int]) -> Order:
    """The event graph of the document run over ``tiles`` (iterations of each)."""
    order = events_of(document, tiles)
    for agent, events in order.programs.items():
        _add_agent(order, agent, events)
    _join(order)
    order.close()
    return order


def events_of(document: RolesDocument, tiles: Sequence[int]) -> Order:
    """The events of a run, each agent's by itself: nothing orders those of several."""
    programs = {a: run(document, a, tiles) for a in agents(document) if a.cta == 0}
    return Order(document, tuple(tiles), Uses(document, tiles), programs)


@dataclass(slots=True)
class _Adding:
    """How far an agent's events are added."""

    group: list[int] = field(default_factory=list)  # products since the last commit
    groups: list[list[int]] = field(default_factory=list)  # in flight
    met: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))


def _add_agent(order: Order, agent: Agent, events: list[Event]) -> None:
    adding, node = _Adding(), -1
    nodes = order.nodes[agent] = []
    listed = [e for _, row in order.document.program(agent.role).phases() for e in row]
    ordinary = agent.threads > 1 and any(map(_is_ordinary, listed))
    steps = {id(e): (not _alone(e, agent, ordinary), _ADD.get(type(e))) for e in listed}
    for event in events:
        apart, add = steps[id(event.entry)]
        if apart or node < 0:
            node = order.new_node(node)
            order.event[node] = event
        nodes.append(node)
        if add:
            add(order, node, event, adding)
    elected = {id(e) for e in listed if _elected(e)} if agent.threads > WARP_THREADS else ()
    if elected and any(id(e.entry) in elected for e in events):
        _add_late(order, agent, events)
    if ordinary:
        _add_lanes(order, agent, events)


def _is_ordinary(entry: RoleEntry) -> bool:
    """Whether every thread accesses slots by itself."""
    return isinstance(entry, roles.Compute) and bool(entry.slots or entry.fills_slots)


def _alone(entry: RoleEntry, agent: Agent, ordinary: bool) -> bool:
    """Whether an entry concerns its own warp alone: it needs no node but that of the one before.

    Where threads access slots by themselves (``ordinary``), it matters where a warp meets.
    """
    if isinstance(entry, roles.Compute):
        return not _is_ordinary(entry)
    if isinstance(entry, roles.ScopeSync):
        return reach_of(entry, agent) != ALL and not ordinary
    return isinstance(entry, _LOCAL)


@dataclass(slots=True)
class _Unmet:
    """Threads that are not known to have done something: those of the warp that arrives for the
    others (``own``), and those of other warps, which have met in their warp (``met``) or not.
    """

    own: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    met: list[int] = field(default_factory=list)

    def meet(self, order: Order, node: int, reach: int) -> None:
        """Threads of a warp, or all of the instance, have met at a node."""
        if reach != NOBODY:
            order.edges[node] += self.own
            self.met += self.others
            self.own, self.others = [], []
        if reach == ALL:
            order.edges[node] += self.met
            self.met = []

    def join(self, order: Order) -> None:
        """Each of the three as one node, so that a list of arrivals costs what is new in each."""
        self.own, self.others, self.met = (
            _joined(order, nodes) for nodes in (self.own, self.others, self.met)
        )


def _joined(order: Order, nodes: list[int]) -> list[int]:
    """One node that is over when all these are."""
    if len(nodes) < 2:
        return nodes
    over = order.new_node()
    order.edges[over] += nodes
    return [over]


def _add_lanes(order: Order, agent: Agent, events: list[Event]) -> None:
    """When the other threads have done their share of accesses to slots, and have fenced.

    Who arrives speaks for threads that it has met. An arrival of every warp speaks for each warp,
    an arrival at a named barrier is every thread's own.
    """
    program = order.document.program(agent.role)
    several = agent.threads > WARP_THREADS
    read = {s.ring for _, row in program.phases() for e in row for s in _read_alone(e)}
    proven, assumed = _Unmet(), _Unmet()
    for node, event in zip(order.nodes[agent], events, strict=True):
        entry = event.entry
        if isinstance(entry, roles.ProxyFence) or _is_ordinary(entry):
            made = [[order.new_node() for _ in range(1 + several)] for _ in range(2)]
            order.lanes[node] = Lanes(tuple(made[0]), tuple(made[1]))
            for unmet, (own, *other) in zip((proven, assumed), made, strict=True):
                unmet.own.append(own)
                unmet.others += other
            continue
        meets = entry.ring in read if isinstance(entry, roles.Arrive) else False
        for unmet, products in ((proven, False), (assumed, True)):
            _pass_lanes(order, agent, node, event, unmet, (meets, products))


def _pass_lanes(
    order: Order, agent: Agent, node: int, event: Event, unmet: _Unmet, also: tuple[bool, bool]
) -> None:
    """What an entry says of threads that run apart; perhaps a release by lanes that read meets
    them first, and perhaps products keep them together (``also``).
    """
    entry = event.entry
    if isinstance(entry, roles.Arrive) and entry.scope is Scope.WARP:
        if also[0] and entry.side is Side.EMPTY:
            unmet.meet(order, node, WARP)
        unmet.join(order)
        order.partners[node] += unmet.met
    elif isinstance(entry, roles.NamedArrive):
        unmet.join(order)
        order.partners[node] += [*unmet.own, *unmet.others, *unmet.met]
    elif isinstance(entry, roles.Mma) and also[1]:
        unmet.meet(order, node, ALL)
    else:
        unmet.meet(order, node, reach_of(entry, agent))


def _read_alone(entry: RoleEntry) -> tuple[SlotRead, ...]:
    return entry.slots if isinstance(entry, roles.Compute) else ()


def _elected(entry: RoleEntry) -> bool:
    """One thread does it for the instance."""
    if isinstance(entry, roles.Load):
        return not entry.by_threads
    return isinstance(entry, roles.Expect) or (
        isinstance(entry, roles.Arrive) and entry.scope is not Scope.WARP
    )


def _add_late(order: Order, agent: Agent, events: list[Event]) -> None:
    """The waits of the other warps, which run apart from the one with the elected thread.

    They meet it where all threads meet, and at matrix products. Arrivals and copies of every
    warp are over when theirs are (``partners``).
    """
    last = -1
    for node, event in zip(order.nodes[agent], events, strict=True):
        entry = event.entry
        if isinstance(entry, (roles.WaitFull, roles.WaitEmpty)):
            last = order.new_node(last)
            order.late[last] = event
            order.waits[waited(order, event)].append(last)
        elif (
            isinstance(entry, roles.NamedArrive)
            or (isinstance(entry, roles.Arrive) and entry.scope is Scope.WARP)
            or (isinstance(entry, roles.Load) and entry.by_threads)
        ):
            if last >= 0:
                order.partners[node].append(last)
        elif isinstance(entry, roles.Mma) or reach_of(entry, agent) == ALL:
            if last >= 0:
                order.edges[node].append(last)
            last = node


def _wait(order: Order, node: int, event: Event, _: _Adding) -> None:
    order.waits[waited(order, event)].append(node)


def _land(order: Order, node: int, event: Event, _: _Adding) -> None:
    load = event.entry
    assert isinstance(load, roles.Load)
    lap = order.lap((load.ring, "full", order.uses.meant(event, load.ring)))
    lap.landed.append((node, load.bytes))


def _expect(order: Order, node: int, event: Event, _: _Adding) -> None:
    expect = event.entry
    assert isinstance(expect, roles.Expect)
    lap = order.lap((expect.ring, "full", order.uses.meant(event, expect.ring)))
    lap.arrivals.append((node, 1))
    lap.expected += expect.bytes


def _arrive(order: Order, node: int, event: Event, _: _Adding) -> None:
    arrive = event.entry
    assert isinstance(arrive, roles.Arrive)
    use = order.uses.meant(event, arrive.ring)
    lap = order.lap((arrive.ring, arrive.side.value, use))
    lap.arrivals.append((node, arrivals_of(event.agent, arrive.scope)))


def _commit(_order: Order, _node: int, _event: Event, adding: _Adding) -> None:
    adding.groups.append(adding.group)
    adding.group = []


def _retire(order: Order, node: int, event: Event, adding: _Adding) -> None:
    """The oldest groups, all but those pending, are over when the wait is."""
    assert isinstance(event.entry, roles.WaitGroup)
    while len(adding.groups) > event.entry.pending:
        order.retired |= dict.fromkeys(adding.groups.pop(0), node)


def _meet(order: Order, node: int, event: Event, adding: _Adding) -> None:
    key, entry = (CLUSTER, 0), event.entry
    if isinstance(entry, (roles.NamedSync, roles.NamedArrive)):
        count = next(b.count for b in order.document.barriers if b.name == entry.barrier)
        key = entry.barrier, (event.agent.instance + entry.turn) % max(count, 1)
    order.generations[*key, adding.met[key]].append(node)
    adding.met[key] += 1


_ADD: dict[type[RoleEntry], Callable[[Order, int, Event, _Adding], None]] = {
    roles.WaitFull: _wait,
    roles.WaitEmpty: _wait,
    roles.Load: _land,
    roles.Expect: _expect,
    roles.Arrive: _arrive,
    roles.Mma: lambda _order, node, _event, adding: adding.group.append(node),
    roles.Commit: _commit,
    roles.WaitGroup: _retire,
    roles.NamedSync: _meet,
    roles.NamedArrive: _meet,
    roles.ClusterSync: _meet,
}


def _join(order: Order) -> None:
    """Barriers join what the events of a CTA do, and of the others of its cluster."""
    edges = order.edges
    for lap in order.laps.values():
        came = [node for node, _ in (*lap.arrivals, *lap.landed)]
        edges[lap.over] = came + [p for n in came for p in order.partners.get(n, ())]
    for use, nodes in order.waits.items():
        if use in order.laps:
            for node in nodes:
                edges[node].append(order.laps[use].over)
    for key, nodes in order.generations.items():
        if key[0] != CLUSTER:
            order.met[key] = _generation(order, nodes)
    order.size = len(edges)
    shifts = [cta * order.size for cta in range(order.document.cluster)]
    edges += [[node + by for node in row] for by in shifts[1:] for row in edges[: order.size]]
    for lap in order.laps.values() if shifts[1:] else ():
        _reach(order, lap.over, lap.arrivals)
        _reach(order, lap.over, lap.landed)
    for key, nodes in order.generations.items():
        if key[0] == CLUSTER:
            nodes[:] = [node + by for by in shifts for node in nodes]
            order.met[key] = _generation(order, nodes)


def _generation(order: Order, nodes: list[int]) -> int:
    """Who syncs goes on when all others came."""
    done = order.new_node()
    for node in nodes:
        event = order.event.get(node)  # none of another CTA, which comes to sync
        if event and isinstance(event.entry, roles.NamedArrive):
            order.edges[done] += [node, *order.partners.get(node, ())]
            order.arrived[node] = done
        else:
            order.edges[done] += order.edges[node]
            order.edges[node].append(done)
    return done


def _reach(order: Order, over: int, came: list[tuple[int, int]]) -> None:
    """What comes to a lap of one CTA comes to those of others too, as far as it reaches."""
    far = [(node, n, shared(order.event[node].entry)) for node, n in came]
    far = [each for each in far if each[2] > 1]
    for cta, other in permutations(range(order.document.cluster), 2) if far else ():
        for node, n, count in far:
            if other // count == cta // count:
                ends = {node, *order.partners.get(node, ())}
                order.edges[over + cta * order.size] += [e + other * order.size for e in ends]
                if cta == 0:
                    came.append((node + other * order.size, n))


def waited(order: Order, event: Event) -> BarrierPhaseKey:
    """The lap a wait means; the lap before the first is over on a fresh barrier.

    A barrier knows the parity of its laps, nothing else. So of the laps that never were, those of
    odd number have passed, and those of even number are the first lap: a wait for one blocks until
    that is over.
    """
    entry = event.entry
    assert isinstance(entry, roles.WaitFull | roles.WaitEmpty)
    depth = order.depth[entry.ring]
    use = order.uses.meant(event, entry.ring)
    side = "full"
    if isinstance(entry, roles.WaitEmpty):
        use, side = use - depth, "empty"
    if use < -depth:
        use = use % (2 * depth)
        use -= 2 * depth if use >= depth else 0
    return entry.ring, side, use


def arrivals_of(agent: Agent, scope: Scope) -> int:
    """How many arrivals an instance makes: a warp or warpgroup that is not whole makes one too."""
    per = {Scope.THREAD: agent.threads, Scope.WARP: 32, Scope.WARPGROUP: 128}[scope]
    return -(-agent.threads // per)


def shared(entry: RoleEntry) -> int:
    """For how many CTAs a copy or an arrival is: those that share its own's group."""
    if isinstance(entry, roles.Load):
        return entry.multicast
    return entry.ctas if isinstance(entry, roles.Arrive) else 1
