"""A proof that holds for every sequence of tiles, whatever their lengths and the depth of rings.

The order of events (``graph``) is a graph whose minimal chains visit each agent at most once: who
comes back to an agent could have stayed there, since its events are in program order. So a chain
is a walk over laps of barriers, each step of which is *one* agent that waits for a lap and then
comes to another. In a *regular* document every entry about use u runs in the tile that has use u.
Then what an agent does about one use lies in one tile, and whether its wait for use u stands in
front of its arrival for use u + d is seen in that tile alone; in a later tile it stands behind
anyway. The three lists of a program repeat, so a few lengths of a single tile show every case: one
more than those at which prologue and epilogue may speak of the same use, and one iteration of the
kernel list more than it looks back.

From these facts of single agents (``_Facts``) follow weighted steps from lap to lap: 0 uses
through ``full``, the depth of the ring through ``empty``, and any more where both ends are in
program order. Each condition of the other checks asks for a walk of exactly so many uses: from the
end of a read to the copy ``depth`` uses later, from a wait to the next lap of its barrier, from a
lap to the arrivals of the next one. If every walk exists, the conditions hold for all sequences, at
any depth. Nothing in this argument looks at where tiles end, tiles of no iterations included.

Deadlock. In a regular document no edge leads to an earlier tile, and the edge through ``empty`` of
a ring used once a tile leads to a later one. So a circle of waits lies in one tile. Its way through
``empty`` goes ``depth`` uses forward, and what goes backward is program order, at most the lag of
each agent once. So a circle spans at most the sum of the lags, and single tiles of lengths up to
that (``deadlock_span``) show it.

Ordered sequences. Instances of a role may hand over to one another by a group of named barriers
(``_Sequence``): each waits at its own barrier and later arrives at the next instance's, and the
last instance arrives once in ``setup``. Where every tile has these in strict alternation, the
waits and arrivals of all instances form one chain: wait 0, arrive 0, wait 1, arrive 1, and so on
around. So no arrival comes before the generation in front of it was waited for, and every edge
leads to the same tile or a later one, which is all that the argument about deadlock needs. Rings
are proven without these edges where every instance runs every tile. Where instances alternate,
with one wait at the start of a tile and one arrival towards its end, what lies before the arrival
is over before whatever follows the wait of the next tile: there the instances count as one agent
(``_Facts.handed_over``).

Where instances share tiles and hand over to one another, a circle may lead from the end of one
instance's tile back to the start of the next one's, and forward again through ``empty`` of each
ring once at most, as each agent is visited once. So it spans at most the sum of the depths more,
and one tile of that length (``long``) shows it.

Named barriers that several agents meet at, equally often in each iteration (or each tile), are laps
like others: of one use all come, and all go on when all have come. So hazards may be ordered
through them, and through the barriers of any ring.

``NotProven`` says why the argument does not apply. The caller then tries every pattern of tile ends
where these are few, or says that it cannot decide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from itertools import product
from typing import Any

from warploom.dataclass import dataclass
from warploom.ir import mbarrier_dialect as roles
from warploom.ir.mbarrier_dialect import RoleEntry, RoleProgram, RolesDocument
from warploom.ir.rings import Per
from warploom.verify.agents import Event, alike, work_of
from warploom.verify.roles.graph import build_order, shared
from warploom.verify.roles.order import Order

MOST_LENGTHS = 80
"""Lengths of single tiles that are looked at; more are for the caller to refuse."""
MOST_TRIPS, MOST_EVENTS, MOST_PAIRS = 128, 60_000, 600_000
"""Iterations and events of the single tiles that facts are taken from; pairs of them."""
_MET = ("meets", "joins")
_RINGED = (roles.WaitFull, roles.WaitEmpty, roles.Expect, roles.Load, roles.Arrive)
_Lap = tuple[str, str, int]  # ring, side, cta of two that stand for all
_Step = tuple[_Lap, int, bool]  # to a lap, so many uses later; or more, where it is free
_Meeting = tuple[Per, int]  # a named barrier is met so often in each iteration, or each tile


class NotProven(Exception):  # noqa: N818 (no error: the argument does not apply)
    """Why the argument does not apply."""


@dataclass(frozen=True, slots=True)
class Induction:
    """What was proven: which lengths of tiles show everything else; ``long``: one more."""

    lengths: tuple[int, ...]
    long: int = 0


def prove(document: RolesDocument) -> Induction:
    """The lengths of single tiles that decide all that one tile shows; ``NotProven`` otherwise."""
    for program in document.programs:
        check_regular(document, program)
    sequences = _sequences(document)
    _check_meetings(document, sequences)
    meetings = _meetings(document, sequences)
    most = max(_lengths(document, p)[-1] for p in document.programs)
    least = document.minimum_trips
    if most - least > MOST_LENGTHS:
        raise NotProven(f"tiles of {least} to {most} iterations are too many lengths")
    lengths = range(least, most + 1)
    if most > MOST_TRIPS or _alone_events(document, lengths) > MOST_EVENTS:
        raise NotProven(f"tiles of {least} to {most} iterations are too long")
    facts = [
        _facts(document, p, lengths, sequences.get(p[0].name), meetings)
        for p in _instances(document)
    ]
    for per in Per:
        rings = {r.name: r.depth for r in document.rings if r.per is per}
        if rings:
            joins = {m for m, (when, _) in meetings.items() if when is per}
            _Walks(document, facts, rings, joins).check_all()
    _check_exit(document, facts)
    _check_credits(facts)
    end = most + sum(f.lag * f.count for f in facts) + 1 + _span_of_meetings(document)
    if end - least > MOST_LENGTHS:
        raise NotProven(f"circles of waits may span {end} iterations")
    long = 0
    if any(not document.program(role).alternates for role in sequences):
        long = end + sum(r.depth for r in document.rings if r.per is Per.ITERATION) + 2
    return Induction(tuple(range(least, end + 1)), long)


# Regular documents


def _slots(entry: RoleEntry) -> list[str]:
    """The rings an entry speaks of."""
    if isinstance(entry, _RINGED):
        return [entry.ring]
    touched = [*entry.slots] if isinstance(entry, roles.Mma | roles.Compute) else []
    touched += entry.fills_slots if isinstance(entry, roles.Compute) else ()
    return [s.ring for s in touched]


def check_regular(document: RolesDocument, program: RoleProgram) -> None:
    """Every entry about a use runs in the tile that has it."""
    least = document.minimum_trips
    tiled = {r.name for r in document.rings if r.per is Per.TILE}
    spans = {
        "prologue": range(least),
        "kernel": range(-program.peel, 1),
        "epilogue": range(-least, 0),
    }
    for phase, row in program.phases():
        for entry in row:
            rings = _slots(entry)
            if rings and not program.carries_phase:
                raise NotProven(f"positions of {program.name} start anew with every tile")
            if rings and phase == "setup":
                if not _takes_credit(document, entry):
                    raise NotProven(f"{program.name} speaks of slots in setup")
                continue
            if rings and phase == "finish":
                drains = isinstance(entry, roles.WaitEmpty) and entry.k >= 0
                if not drains:
                    raise NotProven(f"{program.name} uses slots in finish")
                continue
            k = getattr(entry, "k", 0)
            if any(r not in tiled for r in rings) and k not in spans[phase]:
                raise NotProven(
                    f"{type(entry).__name__} in the {phase} of {program.name} speaks of another "
                    "tile's iterations"
                )


def _takes_credit(document: RolesDocument, entry: RoleEntry) -> bool:
    """Whether a wait before the first tile passes on a fresh barrier, as the ring's credit."""
    if not isinstance(entry, roles.WaitEmpty) or entry.parity != 1:
        return False
    ring = document.ring(entry.ring)
    use = 0 if ring.per is Per.TILE else entry.k
    return use < ring.depth and use // ring.depth % 2 == 0


def _check_credits(facts: list[_Facts]) -> None:
    """Waits in ``setup`` are over before anybody can release a slot for the first time.

    Who waits is one of those who fill (or release) every use, after setup: no slot is full without
    it, nor released. Warps of an instance run apart, and instances that alternate fill for one
    another.
    """
    for f in facts:
        for e in f.program.setup:
            if isinstance(e, roles.WaitEmpty):
                fills = any(f.total(_Class("comes", (e.ring, s))) for s in ("full", "empty"))
                alone = f.program.threads <= 32 and f.sequential
                if not (fills and alone):
                    raise NotProven(f"{f.program.name} waits for {e.ring} in setup")


@dataclass(frozen=True, slots=True)
class _Sequence:
    """Named barriers by which instances of a role hand over to one another.

    Of the entries of a tile that remain without these: ``start`` of the prologue lie in front of
    the first wait, and ``end`` of the epilogue in front of the last arrival.
    """

    barrier: str
    start: int = 0
    end: int = 0


def _sequences(document: RolesDocument) -> dict[str, _Sequence]:
    """The ordered sequence of each role that has one; ``NotProven`` where one is irregular."""
    result: dict[str, _Sequence] = {}
    for barrier in document.barriers:
        users = [p for p in document.programs if _arrives_at(p, barrier.name)]
        if not users:
            continue
        what = f"who comes to barrier {barrier.name} does not wait and hand over in strict turn"
        own = [p for p in document.programs if _at_barrier(p, barrier.name)]
        if len(own) != 1 or own[0].name in result:
            raise NotProven(what)
        program = own[0]
        whole = barrier.count == program.instances > 1 and barrier.threads == 2 * program.threads
        outside = [
            (phase, replace(e, reason=""))
            for phase, e in _at_barrier(program, barrier.name)
            if phase in ("setup", "finish")
        ]
        if not whole or not (
            _alternate(program, barrier.name) and _begun_and_ended(program, barrier.name, outside)
        ):
            raise NotProven(what)
        result[program.name] = _Sequence(
            barrier.name,
            _first_of(program.prologue, barrier.name, roles.NamedSync),
            _first_of(program.epilogue, barrier.name, roles.NamedArrive),
        )
    return result


def _at_barrier(
    program: RoleProgram, barrier: str
) -> list[tuple[str, roles.NamedSync | roles.NamedArrive]]:
    return [
        (phase, e)
        for phase, row in program.phases()
        for e in row
        if isinstance(e, roles.NamedSync | roles.NamedArrive) and e.barrier == barrier
    ]


def _arrives_at(program: RoleProgram, barrier: str) -> bool:
    return any(isinstance(e, roles.NamedArrive) for _, e in _at_barrier(program, barrier))


def _begun_and_ended(program: RoleProgram, barrier: str, outside: list[tuple[str, Any]]) -> bool:
    """The last instance arrives once at the start; at the end the first may wait for it again,
    where the last instance is the last one to arrive whatever the number of tiles.
    """
    start = roles.NamedArrive(barrier=barrier, turn=1, instance=program.instances - 1)
    end = roles.NamedSync(barrier=barrier, turn=0, instance=0)
    if outside == [("setup", start)]:
        return True
    return not program.alternates and outside == [("setup", start), ("finish", end)]


def _first_of(row: Iterable[RoleEntry], barrier: str, kind: type) -> int:
    """How many other entries lie in front of the first of a kind at a barrier."""
    others = 0
    for e in row:
        if isinstance(e, roles.NamedSync | roles.NamedArrive) and e.barrier == barrier:
            if isinstance(e, kind):
                return others
        else:
            others += 1
    return others


def _alternate(program: RoleProgram, barrier: str) -> bool:
    """Whether tiles of all lengths wait and arrive by turns, each by its own instance.

    Where instances alternate: once a tile, in prologue and epilogue.
    """
    rows: dict[str, list[bool]] = defaultdict(list)
    for phase, e in _at_barrier(program, barrier):
        if phase in ("setup", "finish"):
            continue
        waits = isinstance(e, roles.NamedSync)
        if e.instance is not None or e.turn != (0 if waits else 1):
            return False
        rows[phase].append(waits)
    first, each, last = rows["prologue"], rows["kernel"], rows["epilogue"]
    if program.alternates:
        return (first, each, last) == ([True], [], [False])
    tiles = [first + each * times + last for times in range(3)]
    return all(row == [i % 2 == 0 for i in range(len(row))] and len(row) % 2 == 0 for row in tiles)


def _check_meetings(document: RolesDocument, sequences: dict[str, _Sequence]) -> None:
    """Named barriers: all who take part come equally often in every tile, and all wait."""
    members: dict[str, set[str]] = defaultdict(set)
    counts: dict[tuple[str, str], list[int]] = {}
    many = {p.name: p.instances for p in document.programs}
    ordered = {s.barrier for s in sequences.values()}
    for program in document.programs:
        for phase, row in program.phases():
            for e in row:
                if isinstance(e, roles.ClusterSync) and phase != "finish":
                    raise NotProven("CTAs of the cluster meet inside of tiles")
                if not isinstance(e, roles.NamedSync | roles.NamedArrive) or e.barrier in ordered:
                    continue
                members[e.barrier].add(program.name)
                if phase in ("setup", "finish"):
                    raise NotProven(f"not all who come to barrier {e.barrier} wait, tile by tile")
                own = next(b for b in document.barriers if b.name == e.barrier)
                apart = own.count == program.instances and own.threads == program.threads
                if e.instance is not None or e.turn or (program.alternates and not apart):
                    raise NotProven(f"instances come to barrier {e.barrier} in turn")
                times = counts.setdefault((e.barrier, program.name), [0, 0, program.peel])
                times[phase == "kernel"] += 1
    for barrier, names in members.items():
        own = next(b for b in document.barriers if b.name == barrier)
        alone = len(names) == 1 and (many[min(names)] == 1 or own.count > 1)
        each = {
            (a - b * peel, b) for (n, _), (a, b, peel) in counts.items() if n == barrier
        }  # entries in a tile of no iterations, and in each of them
        if not alone and len(each) > 1:
            raise NotProven(f"roles come to barrier {barrier} more or less often")


def _meetings(document: RolesDocument, sequences: dict[str, _Sequence]) -> dict[str, _Meeting]:
    """Barriers that order what several agents do: met so often in each iteration, or each tile.

    They are laps, too: of one use all come, and all go on when all have come.
    """
    ordered = {s.barrier for s in sequences.values()}
    result: dict[str, _Meeting] = {}
    for barrier in document.barriers:
        if barrier.name in ordered or barrier.count > 1:
            continue
        times = set()
        for p in document.programs:
            first, each, last = (
                sum(1 for phase, _ in _at_barrier(p, barrier.name) if phase == name)
                for name in ("prologue", "kernel", "epilogue")
            )
            if first or each or last:
                times.add((first + last - each * p.peel, each))
        if len(times) == 1:
            a_tile, a_step = min(times)
            if not (a_tile and a_step):
                result[barrier.name] = (Per.ITERATION, a_step) if a_step else (Per.TILE, a_tile)
    return result


def _span_of_meetings(document: RolesDocument) -> int:
    """How many iterations apart entries may be that meet at named barriers, all together."""
    joined = {
        (e.barrier, p.name)
        for p in document.programs
        for _, row in p.phases()
        for e in row
        if isinstance(e, roles.NamedSync)
    }
    return sum(
        (1 + document.program(name).peel) * document.program(name).instances for _, name in joined
    )


def _alone_events(document: RolesDocument, lengths: range) -> int:
    """Events of all programs in single tiles of all lengths."""
    total = 0
    for p in document.programs:
        trips = sum(max(0, n - p.peel) for n in lengths)
        total += len(lengths) * work_of((*p.prologue, *p.epilogue)) + trips * work_of(p.kernel)
    return total


def _lengths(document: RolesDocument, program: RoleProgram) -> range:
    """Lengths of one tile in which every case of two entries about near uses occurs."""
    first = [getattr(e, "k", 0) for e in program.prologue if _slots(e)]
    kernel = [getattr(e, "k", 0) for e in program.kernel if _slots(e)]
    last = [-getattr(e, "k", 0) for e in program.epilogue if _slots(e)]
    back = max((-k for k in kernel), default=0)
    most = max(first, default=0) + max(last, default=0) + back + program.peel + 3
    return range(document.minimum_trips, max(most, document.minimum_trips + 3))


def _instances(document: RolesDocument) -> Iterator[tuple[RoleProgram, int]]:
    """Programs of instances that differ, each with how many run it."""
    found = [(a.role, a.instance) for a in alike(document)]
    for role, instance in found:
        program = document.program(role)
        rows: dict[str, Any] = {
            name: tuple(
                _of_any_instance(e) for e in row if getattr(e, "instance", None) in (None, instance)
            )
            for name, row in program.phases()
        }
        same = sum(1 for r, _ in found if r == role)
        yield replace(program, **rows), program.instances if same == 1 else 1


def _of_any_instance(entry: RoleEntry) -> RoleEntry:
    if isinstance(entry, roles.NamedSync | roles.NamedArrive):
        return replace(entry, instance=None)
    return entry


# Facts of single agents


_Table = dict[tuple[str, ...], dict[int, list[int]]]


@dataclass(slots=True)
class _Tile:
    """Nodes of one tile of an agent, by what they do and the use they speak of.

    ``waits`` of the thread that arrives for others, ``late`` of other warps, ``starts`` what comes
    in front of either; ``comes`` to a lap, what other threads do before theirs included; ``issues``
    the arrivals and copies themselves; ``far`` and ``far issues`` those for other CTAs, too. By
    part: ``load``, ``fill``, ``read``, ``product``, and ``.. done`` where each is over.
    """

    order: Order
    trips: int
    meetings: dict[str, _Meeting]
    tables: dict[str, _Table] = field(default_factory=lambda: defaultdict(dict))

    def put(self, what: str, key: tuple[str, ...], use: int, nodes: Iterable[int]) -> None:
        self.tables[what].setdefault(key, {}).setdefault(use, []).extend(nodes)

    def uses(self, of: _Class) -> range:
        """The uses of a ring in this tile; of a named barrier as far as walks count them."""
        ring = of.key[0]
        if of.what in _MET:
            return range(1 if self.meetings[ring][0] is Per.TILE else self.trips)
        return range(1 if self.order.document.ring(ring).per is Per.TILE else self.trips)


@dataclass(frozen=True, slots=True)
class _Class:
    """Some nodes of every use: of what an agent does, and of which ring (and part)."""

    what: str
    key: tuple[str, ...]

    @property
    def in_order(self) -> bool:
        """Whether these nodes are in program order with all that the agent does later."""
        return self.what in ("waits", "meets", "comes", "load", "product done", "done")


@dataclass(slots=True)
class _Facts:
    """What holds for an agent in every tile."""

    program: RoleProgram
    count: int
    tiles: list[_Tile]
    sequence: _Sequence | None = None
    lag: int = 0
    pairs: int = 0
    _known: dict[object, int] = field(default_factory=dict)

    @property
    def sequential(self) -> bool:
        """Whether all tiles are run by the same agent."""
        return not self.program.alternates

    def handed_over(self, source: _Class, target: _Class) -> bool:
        """Whether all instances have done the source of a tile before any does the target of the
        next: it lies in front of the arrival that hands over, and the target behind the wait.
        """
        if self.sequence is None or not self.program.alternates:
            return False
        begun = {"starts": "waits", "late starts": "late"}.get(target.what, target.what)
        return self._lie(source, self._in_front_of_arrival) and self._lie(
            _Class(begun, target.key), self._behind_wait
        )

    def _lie(self, of: _Class, where: Callable[[Event], bool]) -> bool:
        """Whether all nodes of a class lie somewhere, and are events at all."""
        for tile in self.tiles:
            for nodes in tile.tables[of.what].get(of.key, {}).values():
                events = [tile.order.event.get(n) or tile.order.late.get(n) for n in nodes]
                if not all(e is not None and where(e) for e in events):
                    return False
        return True

    def _in_front_of_arrival(self, event: Event) -> bool:
        assert self.sequence is not None
        return event.phase != "epilogue" or event.index < self.sequence.end

    def _behind_wait(self, event: Event) -> bool:
        assert self.sequence is not None
        return event.phase != "prologue" or event.index >= self.sequence.start

    def spend(self, pairs: int) -> None:
        """``NotProven`` where too many pairs of events would be compared."""
        self.pairs += pairs
        if self.pairs > MOST_PAIRS:
            raise NotProven(f"too many entries of {self.program.name} speak of the same uses")

    def classes(self, *what: str) -> list[_Class]:
        """What the agent does of some kinds."""
        found = (_Class(w, k) for tile in self.tiles for w in what for k in tile.tables[w])
        return list(dict.fromkeys(found))

    def total(self, of: _Class) -> bool:
        """Whether it is done for every use of its ring, in every tile."""
        return all(
            all(t.tables[of.what].get(of.key, {}).get(s) for s in t.uses(of)) for t in self.tiles
        )

    def ahead(self, source: _Class, target: _Class, *, every: tuple[bool, bool]) -> int:
        """The least d >= 0 so that, in one tile, the source of use u is before the target of use
        u + e for all e >= d. ``every``: whether all sources are meant, and all targets.
        """
        key = source, target, every
        if key not in self._known:
            self._known[key] = self._ahead(source, target, *every)
        return self._known[key]

    def _ahead(self, source: _Class, target: _Class, all_of: bool, all_to: bool) -> int:
        fails = -1
        for tile in self.tiles:
            before = tile.order.before
            one = tile.tables[source.what].get(source.key, {})
            other = tile.tables[target.what].get(target.key, {})
            for s, sources in one.items():
                for v, targets in other.items():
                    if v - s <= fails:
                        continue
                    self.spend(len(sources) * len(targets))
                    if all_of:
                        some = all if all_to else any
                        held = all(some(before(a, b) for b in targets) for a in sources)
                    else:
                        some = all if all_to else any
                        held = some(any(before(a, b) for a in sources) for b in targets)
                    if not held:
                        fails = v - s
        return fails + 1


def _facts(
    document: RolesDocument,
    instance: tuple[RoleProgram, int],
    lengths: range,
    sequence: _Sequence | None,
    meetings: dict[str, _Meeting],
) -> _Facts:
    program, count = instance
    rows: dict[str, Any] = {name: _without(row, sequence) for name, row in program.phases()}
    rows |= {"setup": (), "finish": ()}
    alone = replace(program, **rows, instances=1, alternates=False)
    reduced = replace(document, programs=(alone,), cluster=1)
    tiles = [_tile(build_order(reduced, (n,)), n, meetings) for n in lengths]
    facts = _Facts(program, count, tiles, sequence)
    for tile in tiles:
        pairs = product(tile.tables["waits"].values(), tile.tables["comes"].values())
        for waits, comes in pairs:
            for (s, nodes), (v, ends) in product(waits.items(), comes.items()):
                if s - v <= facts.lag:
                    continue
                facts.spend(len(nodes) * len(ends))
                if any(tile.order.before(a, b) for a in nodes for b in ends):
                    facts.lag = s - v
    return facts


def _without(row: tuple[RoleEntry, ...], sequence: _Sequence | None) -> tuple[RoleEntry, ...]:
    """Entries other than those of the ordered sequence."""
    if sequence is None:
        return row
    kinds = (roles.NamedSync, roles.NamedArrive)
    return tuple(e for e in row if not (isinstance(e, kinds) and e.barrier == sequence.barrier))


def _tile(order: Order, trips: int, meetings: dict[str, _Meeting]) -> _Tile:
    if order.blocked:
        raise NotProven("a role waits for itself")
    tile = _Tile(order, trips, meetings)
    _put_meetings(tile)
    for node, event in (*order.event.items(), *order.late.items()):
        entry = event.entry
        if isinstance(entry, roles.WaitFull | roles.WaitEmpty):
            key = entry.ring, "full" if isinstance(entry, roles.WaitFull) else "empty"
            use = order.uses.meant(event, entry.ring)
            late = node in order.late
            earlier = order.earlier(node)
            tile.put("late" if late else "waits", key, use, [node])
            starts = [] if earlier is None else [earlier]
            tile.put("late starts" if late else "starts", key, use, starts)
        elif isinstance(entry, roles.Mma | roles.Compute):
            _put_accesses(tile, node, entry)
        elif isinstance(entry, roles.Load):
            use = order.uses.meant(event, entry.ring)
            tile.put("load", (entry.ring, entry.part), use, [node])
    for (ring, side, use), lap in order.laps.items():
        nodes = [n for n, _ in (*lap.arrivals, *lap.landed)]
        far = [n for n in nodes if shared(order.event[n].entry) > 1]
        for what, own in (("", nodes), ("far ", far)):
            if own:
                also = [p for n in own for p in order.partners.get(n, ())]
                tile.put(f"{what}comes", (ring, side), use, [*own, *also])
                tile.put(f"{what}issues", (ring, side), use, own)
    return tile


def _put_meetings(tile: _Tile) -> None:
    """Named barriers: the generations of a tile, by the use of which walks count them."""
    for (barrier, number, generation), nodes in tile.order.generations.items():
        if barrier in tile.meetings and number == 0:
            per, times = tile.meetings[barrier]
            use, which = (0, generation) if per is Per.TILE else divmod(generation, times)
            over = tile.order.met[barrier, number, generation]
            tile.put("meets", (barrier, str(which)), use, nodes)
            tile.put("joins", (barrier, str(which)), use, [over])


def _put_accesses(tile: _Tile, node: int, entry: roles.Mma | roles.Compute) -> None:
    """Reads and fills, and where each is over; where fills are fenced."""
    order = tile.order
    event = order.event[node]
    for slot in entry.slots:
        place, use = (slot.ring, slot.part), order.uses.meant(event, slot.ring)
        if isinstance(entry, roles.Mma):
            if node not in order.retired:
                raise NotProven(f"products of {entry.op} are over in a later tile")
            tile.put("product", place, use, [node])
            tile.put("done", (*place, "product"), use, [order.retired[node]])
        else:
            tile.put("read", place, use, [node])
            _put_done(tile, (*place, "read"), use, node)
    for slot in entry.fills_slots if isinstance(entry, roles.Compute) else ():
        place, use = (slot.ring, slot.part), order.uses.meant(event, slot.ring)
        tile.put("fill", place, use, [node])
        _put_done(tile, (*place, "fill"), use, node)
        fence = _fence_after(order, node)
        if fence is not None:
            _put_done(tile, (*place, "fence"), use, fence)


def _put_done(tile: _Tile, key: tuple[str, ...], use: int, node: int) -> None:
    """Where all threads have done it: by their own nodes, where they run apart."""
    lanes = tile.order.lanes.get(node)
    tile.put("lanes" if lanes else "done", key, use, lanes.assumed if lanes else [node])


def _fence_after(order: Order, node: int) -> int | None:
    """The first proxy fence after a node in its tile."""
    ((agent, events),) = order.programs.items()
    pairs = zip(order.nodes[agent], events, strict=True)
    fences = (n for n, e in pairs if n > node and isinstance(e.entry, roles.ProxyFence))
    return next(fences, None)


# Walks from lap to lap


@dataclass(slots=True)
class _Walks:
    """Walks over laps of rings that are counted alike: by iterations, or by tiles."""

    document: RolesDocument
    facts: list[_Facts]
    depth: dict[str, int]
    meetings: set[str]
    steps: dict[_Lap, list[_Step]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for f, cta in product(self.facts, self._ctas()):
            for wait in self._of(f, "waits", "meets"):
                lap = self._lap(wait, cta)
                shift = self._shift(wait)
                mine = self._steps_from(f, wait, cta, every=False)
                self.steps[lap] += [(to, shift + far, free) for to, far, free in mine]

    def _ctas(self) -> tuple[int, ...]:
        """One CTA, or two that stand for any two of a cluster that reach one another."""
        return (0, 1) if self.document.cluster > 1 else (0,)

    def _of(self, f: _Facts, *what: str) -> list[_Class]:
        return [
            c
            for c in f.classes(*what)
            if c.key[0] in (self.meetings if c.what in _MET else self.depth)
        ]

    def _lap(self, of: _Class, cta: int) -> _Lap:
        """The lap that a wait is for, or that something comes to."""
        name, side = of.key
        return name, f"meeting {side}" if of.what in _MET else side, cta

    def _shift(self, wait: _Class) -> int:
        """How many uses after the lap's a wait speaks of."""
        if wait.what in _MET:
            return 0
        return self.depth[wait.key[0]] if wait.key[1] == "empty" else 0

    def _steps_from(self, f: _Facts, source: _Class, cta: int, *, every: bool) -> list[_Step]:
        """The laps to which an agent comes after something of a use, and how many uses later."""
        out: list[_Step] = []
        if not f.total(source) and not every:
            return out
        for come in self._of(f, "comes", "far comes", "joins"):
            if not f.total(come):
                continue
            free = source.in_order and (f.sequential or f.handed_over(source, come))
            far = f.ahead(source, come, every=(every, False))
            if far and not free:
                continue
            to = 1 - cta if come.what == "far comes" else cta
            if to in self._ctas():
                out.append((self._lap(come, to), far, free))
        return out

    def _reached(self, starts: Iterable[_Step], most: int) -> set[_Step]:
        """All laps that a walk reaches within so many uses."""
        seen: set[_Step] = set()
        todo = [s for s in starts if s[1] <= most]
        while todo:
            here = todo.pop()
            if here in seen:
                continue
            seen.add(here)
            lap, far, free = here
            for to, more, loose in self.steps[lap]:
                if far + more <= most:
                    todo.append((to, far + more, free or loose))
        return seen

    def _arrives(self, starts: list[_Step], target: tuple[_Facts, _Class, int], uses: int) -> bool:
        """Whether a walk leads to what an agent does exactly so many uses later."""
        g, goal, cta = target
        laps = self._reached(starts, uses)
        for wait in self._of(g, "waits", "late", "meets"):
            if not g.total(wait):
                continue
            # Of one warp, all that comes later; else what is known of the same tile.
            same = (wait.what == "late") is (goal.what == "late starts")
            ordered = (g.sequential and same) or g.handed_over(wait, goal)
            far = g.ahead(wait, goal, every=(False, True))
            if far and not ordered:
                continue
            shift = self._shift(wait)
            for lap, before, free in laps:
                if lap == self._lap(wait, cta):
                    total = before + shift + far
                    if total == uses or (total < uses and (free or ordered)):
                        return True
        return False

    def _need(self, held: bool, what: str) -> None:
        if not held:
            raise NotProven(what)

    def check_all(self) -> None:
        """``NotProven`` where a condition has no walk."""
        for f in self.facts:
            self._check_waits(f)
            self._check_issues(f)
            self._check_accesses(f)

    def _check_waits(self, f: _Facts) -> None:
        """A wait is over before the next lap of its barrier, and starts after the last but one."""
        for wait in self._of(f, "waits", "late"):
            ring, side = wait.key
            what = f"waits of {f.program.name} for {side}[{ring}]"
            uses = 0 if side == "empty" else self.depth[ring]
            laps = self._reached(self._steps_from(f, wait, 0, every=True), uses)
            own = {(far, free) for lap, far, free in laps if lap == (ring, side, 0)}
            next_lap = any(far == uses or free for far, free in own)
            self._need(next_lap, f"{what} may be lapped")
        for start in self._of(f, "starts", "late starts"):
            ring, side = start.key
            uses = self.depth[ring] * (2 if side == "empty" else 1)
            held = self._arrives([((ring, side, 0), 0, False)], (f, start, 0), uses)
            self._need(held, f"waits of {f.program.name} for {side}[{ring}] may be early")

    def _check_issues(self, f: _Facts) -> None:
        """Arrivals and copies come to a lap when the one before is over."""
        waited = {w.key for g in self.facts for w in g.classes("waits")}
        for issue in self._of(f, "issues", "far issues"):
            ring, side = issue.key
            if (ring, side) not in waited:
                continue
            ctas = (1,) if issue.what == "far issues" else (0,)
            for cta in ctas:
                start: list[_Step] = [((ring, side, 0), 0, False)]
                held = self._arrives(start, (f, issue, cta), self.depth[ring])
                self._need(held, f"{f.program.name} may come early to {side}[{ring}]")

    def _check_accesses(self, f: _Facts) -> None:
        """What an agent does to a part: after what fills it, and before it is filled again."""
        for target in self._of(f, "read", "product", "load", "fill"):
            ring, part = target.key
            again = target.what in ("load", "fill")
            uses = self.depth[ring] if again else 0
            what = f"{target.what} of {ring}.{part} by {f.program.name}"
            if any(_Class("load", target.key) in g.classes("load") for g in self.facts):
                held = self._arrives([((ring, "full", 0), 0, False)], (f, target, 0), uses)
                self._need(held, f"{what} and copies")
            for g in self.facts:
                for done in self._of(g, "done", "lanes"):
                    kind = done.key[2]
                    if done.key[:2] != target.key or (kind == "fence") is not (
                        target.what == "product" and kind == "fence"
                    ):
                        continue
                    if again and kind == "fence":
                        continue
                    if not again and kind in ("read", "product"):
                        continue
                    self._check_pair(f, target, g, done, uses)
            if target.what == "product":
                self._need(self._all_fenced(target.key), f"fences of {ring}.{part}")

    def _all_fenced(self, place: tuple[str, ...]) -> bool:
        """Whether every fill of a part is fenced in its tile."""
        for g in self.facts:
            for tile in g.tiles:
                fills = tile.tables["fill"].get(place, {})
                key = (*place, "fence")
                fenced = tile.tables["lanes"].get(key) or tile.tables["done"].get(key, {})
                if any(len(fenced.get(s, ())) < len(nodes) for s, nodes in fills.items()):
                    return False
        return True

    def _check_pair(self, f: _Facts, target: _Class, g: _Facts, done: _Class, uses: int) -> None:
        if f is g and f.count == 1 and f.sequential:
            if done.key[2] == target.what == "fill":
                return  # each thread has a share of its own
            if done.in_order and f.ahead(done, target, every=(True, True)) <= uses:
                return
        multicast = target.what == "load" and any(
            isinstance(e, roles.Load) and e.multicast > 1
            for _, row in f.program.phases()
            for e in row
        )
        for cta in self._ctas() if multicast else (0,):
            starts = self._steps_from(g, done, 0, every=True)
            held = self._arrives(starts, (f, target, cta), uses)
            words = f"{done.key[2]} by {g.program.name} before {target.what} by {f.program.name}"
            self._need(held, f"{words} of {'.'.join(target.key)}")


def _check_exit(document: RolesDocument, facts: list[_Facts]) -> None:
    """Nobody leaves while something is on its way to its CTA; the last waits are like others."""
    for ring in {c.key[0] for f in facts for c in f.classes("load")}:
        full = _Class("waits", (ring, "full"))
        if not any(f.total(full) for f in facts):
            raise NotProven(f"copies to {ring} that nobody waits for")
    drained: dict[str, set[int]] = defaultdict(set)
    for f in facts:
        for e in f.program.finish:
            if isinstance(e, roles.WaitEmpty):
                if not (f.total(_Class("waits", (e.ring, "empty"))) and f.sequential):
                    raise NotProven(f"{f.program.name} waits for {e.ring} in finish alone")
                drained[e.ring].add(e.k)
    meets = all(any(isinstance(e, roles.ClusterSync) for e in p.finish) for p in document.programs)
    far = {c.key[0] for f in facts for c in f.classes("far comes") if c.key[1] == "empty"}
    for ring in () if meets else far:
        held = document.ring(ring)
        last = {0} if held.per is Per.TILE and held.depth == 1 else set(range(held.depth))
        if (held.per is Per.TILE and held.depth > 1) or not last <= drained[ring]:
            raise NotProven(f"nobody waits for the last releases of {ring}")
