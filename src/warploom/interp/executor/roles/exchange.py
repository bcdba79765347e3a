"""Exchanges run literally: CTAs that meet in global memory, as few or as many as one likes.

A thread knows what it wrote, what threads it met know, and what was known to those whose counts it
awaited, as far as both reached. A read or a sum of what its thread does not know is a fault: other
timing would show another value. Parts run in two launches, since counts are left for the next one.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from warploom.interp.executor.roles.memory import Fault, MBarrier
from warploom.ir.dataflow import Across, Counted, Does, Exchange, ExchangeStep, Reach, Rows, Who
from warploom.ir.mbarrier_dialect import RolesDocument

MOST_PARTS, TILES, MOST_TURNS, WARPS, LAUNCHES = 4, 3, 7, 2, 2
_SPREAD = 10.0


@dataclass(slots=True, eq=False)
class _Thread:
    """One thread (or warp) of a CTA: its steps in order, each with the tile and part or turn."""

    cta: int
    number: int
    who: Who
    todo: list[tuple[ExchangeStep, int, int]]
    at: int = 0
    knows: set[Hashable] = field(default_factory=set)
    waits: bool = False  # at a barrier

    @property
    def done(self) -> bool:
        return self.at == len(self.todo)


def run_exchanges(document: RolesDocument, seed: int, told: list[str] | None = None) -> None:
    """One random run of each; ``Fault`` where one goes wrong, with its last steps ``told``."""
    found = {(x.role, x.op, x.across) for x in document.exchanges}
    for op in document.flow.ops if document.flow else ():
        if op.across and (op.role, op.name, op.across) not in found:
            parts = op.across is not Across.TURNS
            raise Fault("every part ends its tile alone" if parts else "sums come in any order")
    for exchange in document.exchanges:
        run_exchange(exchange, seed, None if told is None else told.append)
        if told is not None:
            told.clear()


def run_exchange(exchange: Exchange, seed: int, tell: Callable[[str], None] | None = None) -> None:
    """One random run; ``tell`` hears of every step."""
    rng = random.Random(f"exchange {seed}")
    if exchange.across is Across.PARTS:
        counts: dict[tuple[int, str], int] = defaultdict(int)
        ctas = rng.randint(1, min(exchange.parts, MOST_PARTS) + 1)
        for _ in range(LAUNCHES):
            _Parts(exchange, ctas, counts).run(rng, tell)
    elif exchange.across is Across.NEAR:
        _Near(exchange).run(rng, tell)
    else:
        _Turns(exchange, rng.randint(1, TILES), rng.randint(1, MOST_TURNS)).run(rng, tell)


class _Run:
    """Threads that step in random order until all are done."""

    threads: list[_Thread]

    def run(self, rng: random.Random, tell: Callable[[str], None] | None) -> None:
        speed = {id(t): 2.0 ** rng.uniform(-_SPREAD, _SPREAD) for t in self.threads}
        while left := [t for t in self.threads if not t.done]:
            ready = [t for t in left if self.ready(t, *t.todo[t.at])]
            if not ready:
                raise Fault("deadlock")
            thread = rng.choices(ready, [speed[id(t)] for t in ready])[0]
            if tell is not None:
                step, tile, which = thread.todo[thread.at]
                who = f"CTA {thread.cta}, {thread.who} {thread.number}"
                tell(f"{who}: {step.does} {step.flag} (tile {tile}, {which})")
            self.take(thread, *thread.todo[thread.at])
        self.end()

    def ready(self, thread: _Thread, step: ExchangeStep, tile: int, which: int) -> bool:
        raise NotImplementedError

    def take(self, thread: _Thread, step: ExchangeStep, tile: int, which: int) -> None:
        raise NotImplementedError

    def end(self) -> None:
        raise NotImplementedError


class _Parts(_Run):
    """Parts of two tiles; of an instance two threads, the first of which counts."""

    def __init__(self, exchange: Exchange, ctas: int, counts: dict[tuple[int, str], int]) -> None:
        self.exchange, self.counts = exchange, counts
        self.parts = min(exchange.parts, MOST_PARTS)
        units = [(tile, part) for tile in range(2) for part in range(self.parts)]
        self.threads = [
            _Thread(c, n, Who.ALL, [(s, *u) for u in units[c::ctas] for s in exchange.steps])
            for c in range(ctas)
            for n in range(2)
        ]
        self.told: dict[tuple[int, str], set[Hashable]] = defaultdict(set)
        self.last: dict[tuple[int, int], bool] = {}
        self.drawn: dict[tuple[int, int], bool] = {}
        self.memory: dict[tuple[int, int, int], int] = {}  # tile, part, thread -> whose sums
        self.read: set[tuple[int, int, int]] = set()
        for thread in self.threads:
            self._skip(thread)

    def _skip(self, thread: _Thread) -> None:
        """Past what the thread has no part in."""
        while not thread.done:
            step, tile, part = thread.todo[thread.at]
            alone = step.does in (Does.PUBLISH, Does.AWAIT, Does.CLEAR) and thread.number
            last = self.last.get((tile, part), False)
            if not alone and (step.by is Who.ALL or (step.by is Who.LAST) is last):
                return
            thread.at += 1

    def _both(self, thread: _Thread) -> list[_Thread]:
        return [t for t in self.threads if t.cta == thread.cta]

    def ready(self, thread: _Thread, step: ExchangeStep, tile: int, which: int) -> bool:
        if thread.waits:
            return all(t.waits for t in self._both(thread))
        if step.does is Does.AWAIT:
            return self.counts[tile, step.flag] == self.parts - 1 - step.less
        return True

    def take(self, thread: _Thread, step: ExchangeStep, tile: int, which: int) -> None:
        if step.does in (Does.DRAW, Does.SYNC):
            self._meet(thread, step, tile, which)
            return
        key, wide = (tile, step.flag), step.reach is Reach.GPU
        match step.does:
            case Does.WRITE:
                place = (tile, (which + step.at) % self.parts, thread.number)
                self.memory[place] = which
                thread.knows.add((place, which))
            case Does.PUBLISH:
                self.counts[key] += 1
                self.told[key] |= thread.knows if wide else set()
            case Does.AWAIT:
                thread.knows |= self.told[key] if wide else set()
            case Does.CLEAR:
                for flag in ("", Counted.LEFT):
                    self.counts[tile, flag] = 0
            case Does.READ:
                self._read(thread, step, tile, which)
            case _:
                raise AssertionError(step)
        thread.at += 1
        self._skip(thread)

    def _meet(self, thread: _Thread, step: ExchangeStep, tile: int, part: int) -> None:
        """Come to a barrier, one thread after its draw; both go on when both are there."""
        if not thread.waits:
            if step.does is Does.DRAW and thread.number == 0:
                key, wide = (tile, ""), step.reach is Reach.GPU
                self.counts[key] += 1
                self.drawn[tile, part] = self.counts[key] == self.parts
                thread.knows |= self.told[key] if wide else set()
                self.told[key] |= thread.knows if wide else set()
            thread.waits = True
            return
        self.last[tile, part] = self.drawn.get((tile, part), False)  # all threads hear of it
        both = self._both(thread)
        known: set[Hashable] = set().union(*(t.knows for t in both))
        for t in both:
            t.knows, t.waits = set(known), False
            t.at += 1
            self._skip(t)

    def _read(self, thread: _Thread, step: ExchangeStep, tile: int, own: int) -> None:
        for part in range(self.parts - max(step.less, 0)):
            if part == own and self.exchange.kept:
                continue
            place = (tile, (part + step.at) % self.parts, thread.number)
            if self.memory.get(place) != part:
                raise Fault("a part is read that was not left")
            if (place, part) not in thread.knows:
                raise Fault("a part is read that its reader may not see yet")
        if step.less:
            raise Fault("a part is never summed, or one that is none")
        if self.last.get((tile, own)):
            if (tile, own, thread.number) in self.read:
                raise Fault("parts are summed twice")
            self.read.add((tile, own, thread.number))

    def end(self) -> None:
        ended = sorted(tile for (tile, _), last in self.last.items() if last)
        if ended != [0, 1] or len(self.read) != 4:
            raise Fault("a tile is not ended once with the sums of all its parts")


class _Near(_Run):
    """A cluster at a few tiles: the first CTA owns the sums, the others send theirs to it."""

    def __init__(self, exchange: Exchange) -> None:
        self.senders = range(1, min(exchange.parts, MOST_PARTS))
        self.threads = [
            _Thread(cta, n, who, [(s, t, cta) for t in range(TILES) for s in own])
            for cta in range(len(self.senders) + 1)
            for who in (Who.SENDER if cta else Who.OWNER,)
            for own in ([s for s in exchange.steps if s.by is who],)
            for n in range(WARPS)
        ]
        self.full = MBarrier(len(self.senders) * WARPS, len(self.senders) * WARPS)
        self.free = {s: MBarrier(WARPS, WARPS) for s in self.senders}
        self.told: dict[tuple[Counted, int], set[Hashable]] = defaultdict(set)
        self.inbox: dict[tuple[int, int], int] = {}  # sender, thread -> tile
        self.read: set[tuple[int, int]] = set()

    def ready(self, thread: _Thread, step: ExchangeStep, tile: int, which: int) -> bool:
        if step.does is not Does.AWAIT:
            return True
        if step.flag is Counted.FULL:  # a barrier of the owner's memory
            return which == 0 and self.full.passes(tile % 2)
        return which == 0 or self.free[which].passes((tile + 1) % 2)

    def take(self, thread: _Thread, step: ExchangeStep, tile: int, which: int) -> None:
        thread.at += 1
        wide = step.reach is not Reach.CTA
        if step.at or step.less:
            raise Fault("sums of another part")
        match step.does:
            case Does.AWAIT:
                before = step.flag is Counted.FREE
                thread.knows |= self.told[step.flag, tile - before] if wide else set()
            case Does.PUBLISH:
                self.told[step.flag, tile] |= thread.knows if wide else set()
                every = [self.full] if step.flag is Counted.FULL else self.free.values()
                for barrier in every:
                    barrier.arrive()
            case Does.WRITE:
                place = (which, thread.number)
                if place in self.inbox and (place, self.inbox[place], "read") not in thread.knows:
                    raise Fault("the inbox may be written before it was read")
                self.inbox[place] = tile
                thread.knows.add((place, tile))
            case _:
                self._sum(thread, tile)

    def _sum(self, thread: _Thread, tile: int) -> None:
        for sender in self.senders:
            place = (sender, thread.number)
            if self.inbox.get(place) != tile or (place, tile) not in thread.knows:
                raise Fault("sums are read that have not come for certain")
            thread.knows.add((place, tile, "read"))
        if (tile, thread.number) in self.read:
            raise Fault("parts are summed twice")
        if thread.cta == 0:
            self.read.add((tile, thread.number))

    def end(self) -> None:
        if len(self.read) != TILES * WARPS:
            raise Fault("a tile ends without the sums of its parts")


class _Turns(_Run):
    """Tiles of one unit; of a CTA an acquire warp, a release warp and two warps of its consumer."""

    def __init__(self, exchange: Exchange, ctas: int, turns: int) -> None:
        self.exchange, self.turns = exchange, range(turns)
        rows = list(range(TILES))
        visits = rows if exchange.visits is Rows.UP else rows[::-1]
        order = rows if exchange.turns is Rows.UP else rows[::-1]
        self.place = {row: n for n, row in enumerate(order)}
        crew = [
            (Who.ACQUIRE_WARP, 0),
            (Who.RELEASE_WARP, 0),
            *((Who.CONSUMER, w) for w in range(WARPS)),
        ]
        self.threads = []
        for c in range(ctas):
            for who, n in crew:
                own = [s for s in exchange.steps if s.by is who]
                each = [(row, k) for row in visits[c::ctas] for k in self.turns]
                self.threads.append(_Thread(c, n, who, [(s, *t) for t in each for s in own]))
        self.first = {c: visits[c::ctas] for c in range(ctas)}
        self.turn = [0] * turns
        self.barriers: dict[tuple[int, Counted, int], MBarrier] = {}
        self.told: dict[Hashable, set[Hashable]] = defaultdict(set)
        self.sums: dict[tuple[int, int], list[int]] = defaultdict(list)  # turn, warp -> rows

    def _number(self, thread: _Thread, tile: int, turn: int) -> int:
        """Turns of the CTA before this one."""
        return self.first[thread.cta].index(tile) * len(self.turns) + turn

    def _barrier(self, thread: _Thread, flag: Counted, number: int) -> MBarrier:
        """The barrier of a turn's slot."""
        count = WARPS if flag is Counted.DONE else 1
        key = thread.cta, flag, number % self.exchange.slots
        return self.barriers.setdefault(key, MBarrier(count, count))

    def ready(self, thread: _Thread, step: ExchangeStep, tile: int, which: int) -> bool:
        if step.does is not Does.AWAIT:
            return True
        if step.flag is Counted.TURN:
            turn = which + step.at
            return turn not in self.turns or self.turn[turn] >= self.place[tile] - step.less
        number = self._number(thread, tile, which)
        parity = (number // self.exchange.slots + (step.flag is Counted.GIVEN)) % 2
        return self._barrier(thread, step.flag, number).passes(parity)

    def take(self, thread: _Thread, step: ExchangeStep, tile: int, which: int) -> None:
        thread.at += 1
        turn, wide = which + step.at, step.reach is Reach.GPU
        number = self._number(thread, tile, which)
        before = self.exchange.slots * (step.flag is Counted.GIVEN and step.does is Does.AWAIT)
        near = thread.cta, step.flag, number - before
        match step.does, step.flag:
            case Does.ADD, _:
                self._add(thread, tile, which)
            case Does.AWAIT, Counted.TURN:
                thread.knows |= self.told[turn] if wide else set()
            case Does.AWAIT, _:
                thread.knows |= self.told[near]
            case Does.PUBLISH, Counted.TURN:
                if turn in self.turns:
                    self.turn[turn] += 1
                    self.told[turn] |= thread.knows if wide else set()
            case _:
                self.told[near] |= thread.knows
                self._barrier(thread, step.flag, number).arrive()

    def _add(self, thread: _Thread, tile: int, turn: int) -> None:
        place = (turn, thread.number)
        before = self.sums[place]
        if len(before) != self.place[tile]:
            raise Fault("sums are added in another order")
        if any((place, row) not in thread.knows for row in before):
            raise Fault("sums may be added in another order")
        before.append(tile)
        thread.knows.add((place, tile))

    def end(self) -> None:
        places = [(k, w) for k in self.turns for w in range(WARPS)]
        if any(len(self.sums[p]) != TILES for p in places):
            raise Fault("a turn passes without its sums")
