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

``unproven`` says why the argument does not apply. The caller then tries every pattern of tile ends
where these are few, or says that it cannot decide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product

from warploom.document import roles
from warploom.document.rings import Per
from warploom.document.roles import RoleEntry, RoleProgram, RolesDocument
from warploom.verify.agents import alike
from warploom.verify.roles.graph import build_order, shared
from warploom.verify.roles.order import Order

MOST_LENGTHS = 80
"""Lengths of single tiles that are looked at; more are for the caller to refuse."""
_RINGED = (roles.WaitFull, roles.WaitEmpty, roles.Expect, roles.Load, roles.Arrive)
_Lap = tuple[str, str, int]  # ring, side, cta of two that stand for all
_Step = tuple[_Lap, int, bool]  # to a lap, so many uses later; or more, where it is free


class NotProven(Exception):  # noqa: N818 (no error: the argument does not apply)
    """Why the argument does not apply."""


@dataclass(frozen=True, slots=True)
class Induction:
    """What was proven: which lengths of tiles show everything else."""

    lengths: tuple[int, ...]


def prove(document: RolesDocument) -> Induction:
    """The lengths of single tiles that decide all that one tile shows; ``NotProven`` otherwise."""
    for program in document.programs:
        _check_regular(document, program)
    _check_meetings(document)
    most = max(_lengths(document, p)[-1] for p in document.programs)
    least = document.minimum_trips
    if most - least > MOST_LENGTHS:
        raise NotProven(f"tiles of {least} to {most} iterations are too many lengths")
    facts = [_facts(document, p, range(least, most + 1)) for p in _instances(document)]
    for per in Per:
        rings = {r.name: r.depth for r in document.rings if r.per is per}
        if rings:
            _Walks(document, facts, rings).check_all()
    _check_exit(document, facts)
    end = most + sum(f.lag * f.count for f in facts) + 1 + _span_of_meetings(document)
    if end - least > MOST_LENGTHS:
        raise NotProven(f"circles of waits may span {end} iterations")
    return Induction(tuple(range(least, end + 1)))


# Regular documents


def _slots(entry: RoleEntry) -> list[str]:
    """The rings an entry speaks of."""
    if isinstance(entry, _RINGED):
        return [entry.ring]
    touched = [*entry.slots] if isinstance(entry, roles.Mma | roles.Compute) else []
    touched += entry.fills_slots if isinstance(entry, roles.Compute) else ()
    return [s.ring for s in touched]


def _check_regular(document: RolesDocument, program: RoleProgram) -> None:
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
                raise NotProven(f"{program.name} speaks of slots in setup")
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


def _check_meetings(document: RolesDocument) -> None:
    """Named barriers: all who take part come equally often in every tile, and all wait."""
    members: dict[str, set[str]] = defaultdict(set)
    counts: dict[tuple[str, str], list[int]] = {}
    many = {p.name: p.instances for p in document.programs}
    for program in document.programs:
        for phase, row in program.phases():
            for e in row:
                if isinstance(e, roles.ClusterSync) and phase != "finish":
                    raise NotProven("CTAs of the cluster meet inside of tiles")
                if not isinstance(e, roles.NamedSync | roles.NamedArrive):
                    continue
                members[e.barrier].add(program.name)
                if isinstance(e, roles.NamedArrive) or phase in ("setup", "finish"):
                    raise NotProven(f"not all who come to barrier {e.barrier} wait, tile by tile")
                if e.instance is not None or e.turn or program.alternates:
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


def _span_of_meetings(document: RolesDocument) -> int:
    """How many iterations apart entries may be that meet at named barriers, all together."""
    joined = {
        (e.barrier, p.name)
        for p in document.programs
        for _, row in p.phases()
        for e in row
        if isinstance(e, roles.NamedSync)
    }
    return sum(1 + document.program(name).peel for _, name in joined)


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
        rows = {
            name: tuple(
                replace(e, instance=None) if getattr(e, "instance", None) is not None else e  # type: ignore[type-var]
                for e in row
                if getattr(e, "instance", None) in (None, instance)
            )
            for name, row in program.phases()
        }
        same = sum(1 for r, _ in found if r == role)
        yield replace(program, **rows), program.instances if same == 1 else 1


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
    tables: dict[str, _Table] = field(default_factory=lambda: defaultdict(dict))

    def put(self, what: str, key: tuple[str, ...], use: int, nodes: Iterable[int]) -> None:
        self.tables[what].setdefault(key, {}).setdefault(use, []).extend(nodes)

    def uses(self, ring: str) -> range:
        """The uses of a ring in this tile."""
        return range(1 if self.order.document.ring(ring).per is Per.TILE else self.trips)


@dataclass(frozen=True, slots=True)
class _Class:
    """Some nodes of every use: of what an agent does, and of which ring (and part)."""

    what: str
    key: tuple[str, ...]

    @property
    def in_order(self) -> bool:
        """Whether these nodes are in program order with all that the agent does later."""
        return self.what in ("waits", "comes", "load", "product done", "done")


@dataclass(slots=True)
class _Facts:
    """What holds for an agent in every tile."""

    program: RoleProgram
    count: int
    tiles: list[_Tile]
    lag: int = 0
    _known: dict[object, int] = field(default_factory=dict)

    @property
    def sequential(self) -> bool:
        """Whether all tiles are run by the same agent."""
        return not self.program.alternates

    def classes(self, *what: str) -> list[_Class]:
        """What the agent does of some kinds."""
        found = (_Class(w, k) for tile in self.tiles for w in what for k in tile.tables[w])
        return list(dict.fromkeys(found))

    def total(self, of: _Class) -> bool:
        """Whether it is done for every use of its ring, in every tile."""
        return all(
            all(t.tables[of.what].get(of.key, {}).get(s) for s in t.uses(of.key[0]))
            for t in self.tiles
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
                    if all_of:
                        some = all if all_to else any
                        held = all(some(before(a, b) for b in targets) for a in sources)
                    else:
                        some = all if all_to else any
                        held = some(any(before(a, b) for a in sources) for b in targets)
                    if not held:
                        fails = v - s
        return fails + 1


def _facts(document: RolesDocument, instance: tuple[RoleProgram, int], lengths: range) -> _Facts:
    program, count = instance
    alone = replace(program, instances=1, alternates=False, setup=(), finish=())
    reduced = replace(document, programs=(alone,), cluster=1)
    tiles = [_tile(build_order(reduced, (n,)), n) for n in lengths]
    facts = _Facts(program, count, tiles)
    for tile in tiles:
        pairs = product(tile.tables["waits"].values(), tile.tables["comes"].values())
        for waits, comes in pairs:
            for (s, nodes), (v, ends) in product(waits.items(), comes.items()):
                if s - v > facts.lag and any(tile.order.before(a, b) for a in nodes for b in ends):
                    facts.lag = s - v
    return facts


def _tile(order: Order, trips: int) -> _Tile:
    if order.blocked:
        raise NotProven("a role waits for itself")
    tile = _Tile(order, trips)
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
    steps: dict[_Lap, list[_Step]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for f, cta in product(self.facts, self._ctas()):
            for wait in self._of(f, "waits"):
                lap = (*wait.key, cta)
                shift = self._shift(wait)
                mine = self._steps_from(f, wait, cta, every=False)  # type: ignore[arg-type]
                self.steps[lap] += [(to, shift + far, free) for to, far, free in mine]  # type: ignore[index]

    def _ctas(self) -> tuple[int, ...]:
        """One CTA, or two that stand for any two of a cluster that reach one another."""
        return (0, 1) if self.document.cluster > 1 else (0,)

    def _of(self, f: _Facts, *what: str) -> list[_Class]:
        return [c for c in f.classes(*what) if c.key[0] in self.depth]

    def _shift(self, wait: _Class) -> int:
        """How many uses after the lap's a wait speaks of."""
        return self.depth[wait.key[0]] if wait.key[1] == "empty" else 0

    def _steps_from(self, f: _Facts, source: _Class, cta: int, *, every: bool) -> list[_Step]:
        """The laps to which an agent comes after something of a use, and how many uses later."""
        out: list[_Step] = []
        if not f.total(source) and not every:
            return out
        free = source.in_order and f.sequential
        for come in self._of(f, "comes", "far comes"):
            if not f.total(come):
                continue
            far = f.ahead(source, come, every=(every, False))
            if far and not free:
                continue
            to = 1 - cta if come.what == "far comes" else cta
            if to in self._ctas():
                out.append(((come.key[0], come.key[1], to), far, free))
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
        for wait in self._of(g, "waits", "late"):
            if not g.total(wait):
                continue
            # Of one warp, all that comes later; else what is known of the same tile.
            ordered = g.sequential and (wait.what == "late") is (goal.what == "late starts")
            far = g.ahead(wait, goal, every=(False, True))
            if far and not ordered:
                continue
            shift = self._shift(wait)
            for lap, before, free in laps:
                if lap == (*wait.key, cta):
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
