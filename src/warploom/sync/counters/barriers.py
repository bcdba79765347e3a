"""The kernel's barriers: which places, proven fewest, and how to look for the cheapest.

Barriers of a loop (each window needs ``demand`` of them) and wait positions of a loop (each
requirement needs one) are the same problem. Let ``B(t)`` count the points before place ``t`` on
the unrolled circle, ``B(t + size) = B(t) + n``. An arc asks ``B(end) - B(start) >= demand``, so for
a fixed number ``n`` of points the problem is a system of difference constraints: solvable iff it
has no positive cycle. Trying ``n = 0, 1, ...`` therefore *proves* the smallest number, in
polynomial time; enumerating which sets reach it is a bounded search.

A window between waves is an arc on the circle of the kernel's data operations; a place is the gap
in front of one of them (of its ``set_prio(1)``, if it has one). Few barriers serve many windows
each, which forces their waits to places that suit none of them; one more barrier often costs less
than the stall it spares. So the cheapest set is looked for among sets of any size.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from warploom.dataclass import dataclass
from warploom.ir.schedule_ops import Phase
from warploom.sync.counters.cost import StallModel
from warploom.sync.counters.reasons import Act, Text
from warploom.sync.counters.waits import Duty, Windows


@dataclass(frozen=True, slots=True)
class Arc:
    """Places ``start .. start + length - 1``, taken round the circle, hold ``demand`` points."""

    start: int
    length: int
    demand: int

    def hits(self, place: int, size: int) -> int:
        """How often one point at ``place`` counts (an arc may go round more than once)."""
        full, rest = divmod(self.length, size)
        return full + ((place - self.start) % size < rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stabbing:
    """``sets``: distinct smallest multisets of places; ``complete``: no other one exists."""

    count: int
    sets: tuple[tuple[int, ...], ...]
    complete: bool


def stab(arcs: Sequence[Arc], size: int, *, extra: int = 0, limit: int = 64) -> Stabbing | None:
    """All smallest stabbings (at most ``limit``), or all with ``extra`` points more.

    ``None`` when some arc covers no place at all.
    """
    if any(a.demand > 0 and a.length == 0 for a in arcs):
        return None
    live = _tightest([a for a in arcs if a.demand > 0], size)
    count, first = _smallest(live, size)
    search = _Search(live, size, count + extra, limit)
    search.grow(())
    sets = search.found or {tuple(sorted((*first, *(0,) * extra)))}
    return Stabbing(
        count=count + extra, sets=tuple(sorted(sets)), complete=not search.cut and extra == 0
    )


def _tightest(arcs: list[Arc], size: int) -> list[Arc]:
    """Without arcs that others imply: those inside them, with at least their demand."""
    kept: list[Arc] = []
    for arc in sorted(set(arcs), key=lambda a: (a.length, -a.demand, a.start)):
        inside = (
            k.demand >= arc.demand
            and (
                (k.start - arc.start) % size + k.length <= arc.length
                or k.length <= size <= arc.length
            )
            for k in kept
        )
        if not any(inside):
            kept.append(arc)
    return [a for a in dict.fromkeys(arcs) if a in kept]


def _smallest(arcs: list[Arc], size: int) -> tuple[int, tuple[int, ...]]:
    most = sum(a.demand for a in arcs)
    least = max((-(-a.demand // -(-a.length // size)) for a in arcs), default=0)
    for n in range(least, most + 1):
        solution = _solve(arcs, size, n, Counter())
        if solution is not None:
            return n, solution
    raise AssertionError("one point per unit of demand always suffices")


def _solve(arcs: list[Arc], size: int, n: int, fixed: Counter[int]) -> tuple[int, ...] | None:
    """A multiset of ``n`` places that contains ``fixed`` and stabs all arcs, by longest paths."""
    if size == 0:
        return () if n == 0 else None
    edges = [(t, t + 1, fixed[t]) for t in range(size - 1)]
    edges.append((size - 1, 0, fixed[size - 1] - n))
    for a in arcs:
        laps, end = divmod(a.start + a.length, size)
        edges.append((a.start, end, a.demand - laps * n))
    edges.sort()  # so that one round goes all the way round the circle
    before = [0] * size
    for _ in range(size + 1):
        changed = False
        for u, v, weight in edges:
            if before[u] + weight > before[v]:
                before[v] = before[u] + weight
                if before[v] > n:  # no two counts of one lap differ by more: a positive cycle
                    return None
                changed = True
        if not changed:
            points = [before[t + 1] - before[t] for t in range(size - 1)]
            points.append(before[0] + n - before[size - 1])
            return tuple(t for t, k in enumerate(points) for _ in range(k))
    return None


class _Search:
    """Branch on the unsatisfied arc with fewest places; prune what cannot be completed."""

    def __init__(self, arcs: list[Arc], size: int, count: int, limit: int) -> None:
        self.arcs, self.size, self.count, self.limit = arcs, size, count, limit
        self.places = [
            sorted({(a.start + k) % size for k in range(min(a.length, size))}) for a in arcs
        ]
        self.found: set[tuple[int, ...]] = set()
        self.seen: set[tuple[int, ...]] = set()
        self.cut = False
        self.budget = 60 * limit

    def grow(self, chosen: tuple[int, ...]) -> None:
        if chosen in self.seen or self.cut:
            return
        self.seen.add(chosen)
        if len(self.found) >= self.limit or len(self.seen) > self.budget:
            self.cut = True
            return
        left = self.count - len(chosen)
        branch: list[int] | None = None
        for arc, places in zip(self.arcs, self.places, strict=True):
            missing = arc.demand - sum(arc.hits(c, self.size) for c in chosen)
            if missing > 0 and (branch is None or len(places) < len(branch)):
                branch = places
        if left == 0:
            if branch is None:
                self.found.add(chosen)
            return
        if _solve(self.arcs, self.size, self.count, Counter(chosen)) is None:
            return
        for place in branch if branch is not None else range(self.size):
            self.grow(tuple(sorted((*chosen, place))))


Chosen = tuple[int, ...]


class Ranked(Protocol):
    """Anything with a rank; the smallest wins."""

    @property
    def key(self) -> tuple[float, ...]:
        """The rank."""


R = TypeVar("R", bound=Ranked)


@dataclass(frozen=True, slots=True)
class KernelBarriers:
    """The barriers a kernel lacks. ``places`` are item indices; ``stabbing`` counts into them.

    ``timely``: the fewest barriers none of whose waits comes before its data is due to be there.
    """

    text: Text
    places: tuple[int, ...]
    arcs: tuple[Arc, ...]
    stabbing: Stabbing
    timely: tuple[Chosen, ...] = ()

    def applied(self, chosen: Chosen) -> Text:
        """The text with one set of barriers."""
        fronts = [self.text.front(Phase.KERNEL, self.places[c]) for c in chosen]
        return self.text.with_barriers(Phase.KERNEL, fronts)

    def neighbours(self, chosen: Chosen) -> Iterator[Chosen]:
        """Sets of equal size with one barrier moved to the next place before or after."""
        size = len(self.places)
        for i in range(len(chosen)):
            for step in (-1, 1):
                moved = sorted((*chosen[:i], (chosen[i] + step) % size, *chosen[i + 1 :]))
                if self.serves(moved):
                    yield tuple(moved)

    def serves(self, chosen: Sequence[int]) -> bool:
        """True when every window holds enough of the barriers."""
        size = len(self.places)
        return all(sum(a.hits(c, size) for c in chosen) >= a.demand for a in self.arcs)

    def latest(self) -> Chosen:
        """The weakest start: the barriers of every window at its end, each wait as late as can be.

        Windows that end at the same place share them.
        """
        size, most = len(self.places), dict[int, int]()
        for a in self.arcs:
            if a.demand > 0:
                last = (a.start + a.length - 1) % size
                most[last] = max(most.get(last, 0), a.demand)
        return tuple(sorted(p for p, count in most.items() for _ in range(count)))

    def steps(self, chosen: Chosen) -> Iterator[Chosen]:
        """Sets one barrier away: one left out, moved to a place beside it, or added."""
        for i in range(len(chosen)):
            fewer = (*chosen[:i], *chosen[i + 1 :])
            if self.serves(fewer):
                yield fewer
        yield from self.neighbours(chosen)
        for place in range(len(self.places)):
            yield tuple(sorted((*chosen, place)))

    def cheapest(self, build: Callable[[Text], R], limit: int) -> tuple[R, int]:
        """The best-ranked of about ``limit`` sets of any size, and how many were built.

        Starts from the timely, the latest and the fewest barriers, and goes downhill from each; a
        limit of 1 takes the first as they are. A text whose own barriers suffice keeps them: they
        are its author's choice.
        """
        if self.stabbing.count == 0:
            return build(self.text), 1
        if limit == 1:
            return build(self.applied((*self.timely, self.latest())[0])), 1
        few = 4 if limit > 16 else 1
        starts = [*self.timely[:few], self.latest(), *self.stabbing.sets[:few]]
        built: dict[Chosen, R] = {}

        def rank(chosen: Chosen) -> tuple[float, ...]:
            if chosen not in built:
                built[chosen] = build(self.applied(chosen))
            return built[chosen].key

        for at in sorted(dict.fromkeys(starts), key=rank):
            self._descend(at, rank, built, limit)
        return built[self._spared(min(built, key=rank), rank)], len(built)

    def _spared(self, at: Chosen, rank: Callable[[Chosen], tuple[float, ...]]) -> Chosen:
        """Without the barriers that do not pay, whatever the limit said: round by round."""
        kept = turned_down = 0
        while turned_down < len(at):
            kept %= len(at)
            fewer = at[:kept] + at[kept + 1 :]
            if self.serves(fewer) and rank(fewer) < rank(at):
                at, turned_down = fewer, 0
            else:
                kept, turned_down = kept + 1, turned_down + 1
        return at

    def _descend(
        self,
        at: Chosen,
        rank: Callable[[Chosen], tuple[float, ...]],
        built: Mapping[Chosen, object],
        limit: int,
    ) -> None:
        """First better step, again and again, until none is better or the limit is reached."""
        while True:
            for step in self.steps(at):
                if step not in built and len(built) >= limit:
                    return
                if rank(step) < rank(at):
                    at = step
                    break
            else:
                return

    def best(self, build: Callable[[Text], R], limit: int) -> tuple[R, int]:
        """The best-ranked of at most ``limit`` sets, and how many were built.

        All, if they are so few; else a sample, and from its best one step by step downhill.
        """
        sets = self.stabbing.sets
        if not self.stabbing.complete:
            sets = sets[:: max(1, 2 * len(sets) // limit)]
        built = {chosen: build(self.applied(chosen)) for chosen in sets[:limit]}
        at = min(built, key=lambda c: built[c].key)
        while not self.stabbing.complete:
            before = at
            for chosen in self.neighbours(at):
                if chosen not in built and len(built) < limit:
                    built[chosen] = build(self.applied(chosen))
                if chosen in built and built[chosen].key < built[at].key:
                    at = chosen
            if at == before:
                break
        return built[at], len(built)


def kernel_barriers(
    windows: Windows, extra: int = 0, limit: int = 64, prices: StallModel | None = None
) -> KernelBarriers:
    """The fewest barriers the kernel lacks (or ``extra`` more); sets are listed up to ``limit``.

    With ``prices`` the timely sets too: windows are cut to where their data has come by then.
    """
    kernel = windows.text.kernel
    places = [
        i
        for i, x in enumerate(kernel)
        if (x.queue is not None and x.act is not Act.WAIT) or x.act is Act.MMA
    ]
    arcs, cut = [], []
    for i in windows.kernel:
        if i.need.cross:
            program, need = i.program, i.need
            have = program.barriers[need.consumer] - program.barriers[need.producer]
            arc = arc_up_to(i, need.consumer, places, program.demand(need.consumer) - have)
            arcs.append(arc)
            if prices is not None and arc.demand > 0:
                cut.append(_from_due(i, arc, places, prices))
    found = stab(arcs, len(places), extra=extra, limit=limit)
    assert found is not None, "a window ends in front of a data operation, which is a place"
    timely = stab(cut, len(places), limit=4) if cut else None
    sets = () if timely is None else timely.sets
    return KernelBarriers(windows.text, tuple(places), tuple(arcs), found, sets)


def _from_due(duty: Duty, arc: Arc, places: list[int], prices: StallModel) -> Arc:
    """A window without the places at which its data would still be on the way."""
    program, need = duty.program, duty.need
    ordinal = set(places)
    left, early = prices.latency(need.queue), 0
    for t in range(need.producer + 1, need.consumer + 1):
        left -= prices.span(program.elements[t - 1].item)
        early += left > 0 and program.elements[t].index in ordinal
    early = min(early, arc.length - 1)
    return Arc((arc.start + early) % len(places), arc.length - early, arc.demand)


def arc_up_to(duty: Duty, last: int, places: list[int], demand: int) -> Arc:
    """The places between a producer and gap ``last``, on the circle of the kernel."""
    program = duty.program
    ordinal = {index: k for k, index in enumerate(places)}
    inside = [
        ordinal[e.index]
        for e in program.elements[duty.need.producer + 1 : last + 1]
        if e.index in ordinal
    ]
    return Arc(inside[0] if inside else 0, len(inside), demand)
