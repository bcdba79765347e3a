"""CTAs that meet in memory, thread by thread: what each may see, and every order tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from warploom.ir.dataflow import Counted, Does, Exchange, ExchangeStep, Reach, Rows, Who

UNDECIDED = "undecided"
LIMIT = 60_000
LATE, AT_ONCE, AHEAD = "late", "at once", "ahead"
Write = tuple[object, object]  # a place and what is put (or added) there
Landed = tuple[Write, ...]  # in the order in which they landed

SLOTS = 1  # of the barriers of a CTA: the fewer, the sooner they are taken again
PARTS = ((2, 1), (2, 2), (3, 2))  # parts, CTAs
# Tiles, CTAs, turns, warps.
TURNS = ((2, 2, 1, 2), (3, 1, 1, 2), (2, 2, 2, 1), (3, 2, 1, 1), (1, 1, 4, 2))


class Wrong(Exception):  # noqa: N818 (an outcome)
    """What an interleaving shows."""


@dataclass(frozen=True)
class Thread:
    """Its place in its list, what has not landed, what it knows, whether it is at a barrier."""

    at: int = 0
    pending: frozenset[Write] = frozenset()
    seen: int = 0  # of all that landed, so much has it looked at
    own: frozenset[Write] = frozenset()
    waits: bool = False


@dataclass(frozen=True)
class State:
    threads: tuple[Thread, ...]
    landed: Landed = ()
    counts: tuple[tuple[object, int], ...] = ()
    lists: tuple[tuple[object, frozenset[Write]], ...] = ()  # handed on with flags of a CTA
    last: tuple[tuple[object, bool], ...] = ()
    read: frozenset[object] = frozenset()


class World:
    """Threads with their programs, and what a step of one does to the state."""

    programs: list[list[tuple[ExchangeStep, int, int]]]

    def __init__(self, exchange: Exchange, mode: str) -> None:
        self.exchange, self.mode = exchange, mode

    def explore(self, limit: int) -> str | None:
        start = self.start()
        seen, todo = {start}, [start]
        while todo:
            state = todo.pop()
            more = list(self.steps(state))
            if not more:
                if any(t.at < len(p) for t, p in zip(state.threads, self.programs, strict=True)):
                    raise Wrong("deadlock")
                self.end(state)
            for other in more:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
            if len(seen) > limit:
                return UNDECIDED
        return None

    def start(self) -> State:
        return State(tuple(Thread() for _ in self.programs))

    def steps(self, state: State) -> Iterator[State]:
        raise NotImplementedError

    def end(self, state: State) -> None:
        raise NotImplementedError

    def put(self, state: State, i: int, write: Write, again: bool = False) -> State:
        """A write of a thread, landing now or later."""
        thread = state.threads[i]
        thread = replace(thread, pending=thread.pending | {write}, own=thread.own | {write})
        state = with_thread(state, i, thread)
        return land(state, i) if self.mode == AT_ONCE else state

    def looks(self, state: State, i: int) -> State:
        return with_thread(state, i, replace(state.threads[i], seen=len(state.landed)))

    def passes_ahead(self, step: ExchangeStep, *, globally: bool) -> bool:
        return self.mode == AHEAD and globally and step.reach is Reach.CTA


def with_thread(state: State, i: int, thread: Thread) -> State:
    return replace(state, threads=(*state.threads[:i], thread, *state.threads[i + 1 :]))


def land(state: State, i: int) -> State:
    """All that a thread has pending lands, once."""
    thread = state.threads[i]
    new = sorted((w for w in thread.pending if w not in state.landed), key=repr)
    state = replace(state, landed=(*state.landed, *new))
    return with_thread(state, i, replace(thread, pending=frozenset()))


def on(state: State, i: int) -> State:
    return with_thread(state, i, replace(state.threads[i], at=state.threads[i].at + 1))


def get(pairs, key, default=0):
    return dict(pairs).get(key, default)


def put(pairs, key, value):
    return tuple(sorted((dict(pairs) | {key: value}).items(), key=repr))


class Parts(World):
    """One tile, launched twice; two threads an instance."""

    def __init__(self, exchange: Exchange, mode: str, parts: int, ctas: int) -> None:
        super().__init__(exchange, mode)
        self.parts, self.ctas = parts, ctas
        self.programs = []
        for c in range(ctas):
            own = [(s, part, 0) for part in range(c, parts, ctas) for s in exchange.steps]
            self.programs += [own, own]

    def explore(self, limit: int) -> str | None:
        self.launch, self.left = 0, set()
        found = super().explore(limit)
        self.launch = 1
        for counts in sorted(self.left, key=repr):
            self.first = counts
            found = super().explore(limit) or found
        return found

    def start(self) -> State:
        return replace(super().start(), counts=self.first if self.launch else ())

    def end(self, state: State) -> None:
        ended = [part for part, last in state.last if last and isinstance(part, int)]
        if len(ended) != 1 or state.read != {(ended[0], 0), (ended[0], 1)}:
            raise Wrong("a tile is not ended once with all its parts")
        if not self.launch:
            self.left.add(tuple((k, n) for k, n in state.counts if n))

    def steps(self, state: State) -> Iterator[State]:
        """A step that concerns its own instance alone is taken first: others do not mind when."""
        shared = []
        for i, thread in enumerate(state.threads):
            if thread.waits:
                if i % 2 == 0 and state.threads[i + 1].waits:
                    return iter([self._met(state, i)])
            elif thread.at < len(self.programs[i]):
                step, part, _ = self.programs[i][thread.at]
                more = self._one(state, i, step, part)
                if self._concerns_itself(state, i, step, part):
                    return more
                shared.append(more)
        return chain.from_iterable(shared)

    def _concerns_itself(self, state: State, i: int, step: ExchangeStep, part: int) -> bool:
        mine = step.by is Who.ALL or (step.by is Who.LAST) is bool(get(state.last, part, None))
        if not mine or step.does is Does.SYNC:
            return True
        if i % 2 and step.does not in (Does.WRITE, Does.READ):
            return True
        return step.does is Does.WRITE and self.mode != AT_ONCE

    def _one(self, state: State, i: int, step: ExchangeStep, part: int) -> Iterator[State]:
        known = get(state.last, part, None)
        mine = step.by is Who.ALL or (step.by is Who.LAST) is bool(known)
        if step.does in (Does.DRAW, Does.SYNC):
            if not mine:
                yield on(state, i)
                return
            if step.does is Does.DRAW and i % 2 == 0:
                state = self._draw(state, i, step, part)
            yield with_thread(state, i, replace(state.threads[i], waits=True))
            return
        wide, left = step.reach is Reach.GPU, ("left", "")
        alone = step.does in (Does.PUBLISH, Does.AWAIT, Does.CLEAR)
        if not mine or (alone and i % 2):
            yield on(state, i)
            return
        match step.does:
            case Does.WRITE:
                place = (part + step.at) % self.parts, i % 2
                state = self.put(state, i, (place, (part, self.launch)))
            case Does.PUBLISH:
                state = land(state, i) if wide else state
                state = replace(state, counts=put(state.counts, left, get(state.counts, left) + 1))
            case Does.AWAIT:
                there = get(state.counts, left) == self.parts - 1 - step.less
                if not there and not self.passes_ahead(step, globally=True):
                    return
                state = self.looks(state, i) if wide else state
            case Does.CLEAR:
                state = replace(state, counts=())
            case _:
                state = self._read(state, i, step, part, last=bool(known))
        yield on(state, i)

    def _draw(self, state: State, i: int, step: ExchangeStep, part: int) -> State:
        wide = step.reach is Reach.GPU
        state = land(state, i) if wide else state
        count = get(state.counts, ("drawn", "")) + 1
        state = replace(state, counts=put(state.counts, ("drawn", ""), count))
        state = replace(state, last=put(state.last, ("of", part), count == self.parts))
        return self.looks(state, i) if wide else state

    def _met(self, state: State, i: int) -> State:
        """Both threads of an instance have come: they know the same from now on."""
        pair = state.threads[i : i + 2]
        pending = pair[0].pending | pair[1].pending
        seen, own = max(t.seen for t in pair), pair[0].own | pair[1].own
        drawn = dict(state.last)
        for j in (i, i + 1):
            thread = state.threads[j]
            part = self.programs[j][thread.at][1]
            if ("of", part) in drawn:
                drawn[part] = drawn[("of", part)]
            new = Thread(thread.at + 1, pending, seen, own)
            state = with_thread(state, j, new)
        return replace(state, last=tuple(sorted(drawn.items(), key=repr)))

    def _read(self, state: State, i: int, step: ExchangeStep, own: int, *, last: bool) -> State:
        thread = state.threads[i]
        if self.mode == AT_ONCE:
            seen = state.landed
        else:
            seen = (*state.landed[: thread.seen], *sorted(thread.own, key=repr))
        memory = dict(seen)
        for part in range(self.parts):
            if part == own and self.exchange.kept:
                continue
            place = (part + step.at) % self.parts, i % 2
            if memory.get(place) != (part, self.launch):
                raise Wrong("a part is read that is not there")
        if step.less:
            raise Wrong("a part is left out")
        if last and (own, i % 2) in state.read:
            raise Wrong("parts are summed twice")
        return replace(state, read=state.read | {(own, i % 2)}) if last else state


class Near(World):
    """One owner and its senders, over tiles that take the same inbox one after the other."""

    def __init__(self, exchange: Exchange, mode: str, senders: int, tiles: int) -> None:
        super().__init__(exchange, mode)
        self.senders, self.tiles = senders, tiles
        self.programs = [
            [(s, tile, 0) for tile in range(tiles) for s in exchange.steps if s.by is who]
            for who in (Who.OWNER, *[Who.SENDER] * senders)
        ]

    def end(self, state: State) -> None:
        if len(state.read) != self.tiles:
            raise Wrong("a tile is not read")

    def steps(self, state: State) -> Iterator[State]:
        for i, thread in enumerate(state.threads):
            if thread.at < len(self.programs[i]):
                yield from self._one(state, i, *self.programs[i][thread.at][:2])

    def _one(self, state: State, i: int, step: ExchangeStep, tile: int) -> Iterator[State]:
        wide, full = step.reach is not Reach.CTA, step.flag is Counted.FULL
        again = (i, tile) in state.threads[i].own if step.does is Does.WRITE else tile in state.read
        if step.less or step.at or (again and step.does in (Does.WRITE, Does.READ)):
            raise Wrong("other sums, or the same twice")  # what is sent counts its bytes
        if step.does is Does.WRITE:
            state = self.put(state, i, (i, tile))
        elif step.does is Does.READ:
            thread = state.threads[i]
            memory = dict(state.landed if self.mode == AT_ONCE else state.landed[: thread.seen])
            if any(memory.get(j) != tile for j in range(1, self.senders + 1)):
                raise Wrong("what was sent is not there, or no more")
            state = replace(state, read=state.read | {tile})
        elif step.does is Does.PUBLISH:
            state = land(state, i) if wide else state
            keys = ["full"] if full else [("free", j) for j in range(1, self.senders + 1)]
            for key in keys:
                state = replace(state, counts=put(state.counts, key, get(state.counts, key) + 1))
        else:
            key = "full" if full else ("free", i)
            laps = get(state.counts, key) // (self.senders if full else 1)
            narrow = [s for s in self.exchange.steps if s.flag is step.flag and not full]
            ahead = self.mode == AHEAD and any(s.reach is Reach.CTA for s in narrow)
            if laps % 2 == (tile + (not full)) % 2 and not ahead:
                return
            state = self.looks(state, i) if wide else state
        yield on(state, i)


class Turns(World):
    """Tiles of one unit, begun in the order of their visits."""

    def __init__(
        self, exchange: Exchange, mode: str, tiles: int, ctas: int, turns: int, warps: int
    ) -> None:
        super().__init__(exchange, mode)
        self.tiles, self.turns, self.warps = tiles, turns, warps
        rows = list(range(tiles))
        begun = rows[::-1] if exchange.visits is Rows.DOWN else rows
        ordered = rows[::-1] if exchange.turns is Rows.DOWN else rows
        self.rank = [ordered.index(r) for r in rows]
        self.programs, self.crew = [], []
        for c in range(ctas):
            own = [(row, k) for row in begun[c::ctas] for k in range(turns)]
            for who, n in [(Who.ACQUIRE_WARP, 0), (Who.RELEASE_WARP, 0)] + [
                (Who.CONSUMER, w) for w in range(warps)
            ]:
                mine = [s for s in exchange.steps if s.by is who]
                self.programs.append([(s, *t) for t in own for s in mine])
                self.crew.append((c, who, n, own))

    def end(self, state: State) -> None:
        for i in range(len(state.threads)):
            state = land(state, i)
        for turn in range(self.turns):
            for warp in range(self.warps):
                order = [row for place, row in state.landed if place == (turn, warp)]
                if [self.rank[r] for r in order] != list(range(self.tiles)):
                    raise Wrong("sums land in another order")

    def steps(self, state: State) -> Iterator[State]:
        for i, thread in enumerate(state.threads):
            if thread.at < len(self.programs[i]):
                yield from self._one(state, i, *self.programs[i][thread.at])

    def _one(self, state: State, i: int, step: ExchangeStep, row: int, k: int) -> Iterator[State]:
        cta, _, number, own = self.crew[i]
        turn, wide, flag = k + step.at, step.reach is Reach.GPU, step.flag
        if step.does is Does.ADD:
            thread = state.threads[i]
            if ((k, number), row) in thread.own:
                raise Wrong("sums are added twice")
            yield on(self.put(state, i, ((k, number), row)), i)
        elif step.does is Does.PUBLISH:
            if flag is Counted.TURN:
                state = land(state, i) if wide else state
                key: object = ("turn", turn)
            else:
                nth = own.index((row, k))
                key = (cta, flag.value, nth % SLOTS)
                given = get(state.lists, (*key, nth), frozenset()) | state.threads[i].pending
                state = replace(state, lists=put(state.lists, (*key, nth), given))
            yield on(replace(state, counts=put(state.counts, key, get(state.counts, key) + 1)), i)
        elif flag is Counted.TURN:
            there = turn not in range(self.turns)
            there = there or get(state.counts, ("turn", turn)) >= self.rank[row] - step.less
            if there or self.passes_ahead(step, globally=True):
                yield on(state, i)
        else:
            nth, ahead = own.index((row, k)), flag is Counted.GIVEN
            key = (cta, flag.value, nth % SLOTS)
            arrivals = self.warps if flag is Counted.DONE else 1
            laps = get(state.counts, key) // arrivals  # completed since the start
            if laps % 2 != (nth // SLOTS + ahead) % 2:
                thread = state.threads[i]
                known = get(state.lists, (*key, nth - SLOTS * ahead), frozenset())
                given = thread.pending | known
                yield on(with_thread(state, i, replace(thread, pending=given)), i)
