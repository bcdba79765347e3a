"""Shared memory of thread programs between barriers: an argument over the text, for all sizes.

What was written and read since the last barrier is followed through the statements; a loop is
followed until nothing new is open at its begin. A store is in order if nothing that overlaps it is
open and if different threads store different places: these are enumerated over threads and over
loops with known ends. Products read tiles that were stored before a fence of all threads and a
barrier, and go on reading until the wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from warploom.dataclass import dataclass
from warploom.ir import threads as ir
from warploom.ir.expr import Binary, Op, Select, parts
from warploom.ir.threads import Statement, Term, ThreadProgram
from warploom.verify.coverage.report import Claim, How

CHUNK = 16  # bytes that a thread stores at once
MOST_PLACES = 1 << 20
Array = npt.NDArray[np.int64]
Numbers = Callable[[Term, Mapping[str, Array], Array], Array | None]


@dataclass(frozen=True, slots=True)
class _Part:
    """A view or a tile: from a byte to another."""

    name: str
    first: int
    end: int

    def meets(self, others: set[_Part]) -> bool:
        return any(self.first < o.end and o.first < self.end for o in others)


@dataclass
class _Open:
    """What may be under way at a place of the program."""

    wrote: set[_Part] = field(default_factory=set)  # since the last barrier
    read: set[_Part] = field(default_factory=set)
    products: set[_Part] = field(default_factory=set)  # read by products under way
    issued: set[_Part] = field(default_factory=set)  # by those that are in no group yet
    unfenced: set[_Part] = field(default_factory=set)  # stored, without a fence since
    hidden: set[_Part] = field(default_factory=set)  # stored, no barrier behind a fence since

    def copy(self) -> _Open:
        return _Open(*(set(x) for x in self.parts()))

    def parts(self) -> tuple[set[_Part], ...]:
        return (
            self.wrote, self.read, self.products, self.issued, self.unfenced, self.hidden,
        )  # fmt: skip

    def join(self, other: _Open) -> None:
        for mine, theirs in zip(self.parts(), other.parts(), strict=True):
            mine.update(theirs)


@dataclass
class _Where:
    """Numbers of threads and loops that are known at a place, and the threads that are there."""

    values: dict[str, Array]
    tid: Array
    there: Array
    alone: bool = False  # under a condition

    def copy(self) -> _Where:
        return _Where(dict(self.values), self.tid, self.there, self.alone)


def verify_shared(program: ThreadProgram, number: Numbers, executed: str) -> Iterator[Claim]:
    """What holds of shared memory; ``number``: of a term, for every thread."""
    kinds = (ir.View, ir.OperandTile)
    if not any(isinstance(s, kinds) for s in ir.statements(program.body)):
        return
    found = _Followed(number)
    tid = np.arange(program.threads, dtype=np.int64)
    found.body(program.body, _Open(), _Where({}, tid, np.ones_like(tid)))
    what = "what a thread stores to shared memory no other touches before the next barrier"
    if found.tiles:
        what += ", and products read tiles behind a fence and a barrier"
    if found.wrong:
        name, why = next(iter(found.wrong.items()))
        yield Claim(what=what, how=How.NOT, argument=f"{name} {why}: {executed}")
    else:
        yield Claim(what=what, how=How.ALL, argument="stores are enumerated over threads")


class _Followed:
    def __init__(self, number: Numbers) -> None:
        self.number = number
        self.named: dict[str, _Part] = {}
        self.tiles: dict[str, ir.OperandTile] = {}
        self.counts: dict[str, int] = {}  # elements of views
        self.wrong: dict[str, str] = {}
        self.left: list[_Open] = []  # at jumps out of loops

    def body(self, body: Sequence[Statement], now: _Open, where: _Where) -> None:
        for s in body:
            for t in ir.terms_of(s):
                self.reads(t, now, where)
            self.statement(s, now, where)

    def reads(self, t: Term, now: _Open, where: _Where) -> None:
        """What a term reads of shared memory, by the threads for which it is evaluated."""
        if isinstance(t, Select):
            self.reads(t.condition, now, where)
            self.reads(t.then, now, self.some(t.condition, where))
            self.reads(t.otherwise, now, where)
            return
        for part in parts(t):
            self.reads(part, now, where)
        if isinstance(t, ir.Shared):
            if not self.inside((t.index,), (self.counts[t.view],), where):
                self.wrong.setdefault(t.view, "is read at places that may lie outside of it")
            self.read(self.named[t.view], now)

    def statement(self, s: Statement, now: _Open, where: _Where) -> None:  # noqa: C901, PLR0912
        match s:
            case ir.View():
                size = max(1, s.dtype.bits // 8)
                self.named[s.name] = _Part(s.name, s.offset, s.offset + s.count * size)
                self.counts[s.name] = s.count
            case ir.OperandTile():
                size = s.rows * s.columns * s.dtype.bits // 8
                self.tiles[s.name] = s
                self.named[s.name] = _Part(s.name, s.offset, s.offset + size)
            case ir.Declare() if not s.count:
                self.set(s.name, s.value, where)
            case ir.Assign() if s.index is None:
                self.set(s.name, None, where)
            case ir.Put():
                self.store(s.view, (s.index,), now, where)
            case ir.PutTile():
                self.store(s.tile, (s.row, s.column), now, where)
            case ir.PutChunk():
                per = CHUNK // (self.tiles[s.tile].dtype.bits // 8)
                whole = self.number(s.column % per, where.values, where.tid)
                if whole is None or (whole != 0).any():
                    self.wrong.setdefault(s.tile, "is stored at columns that no chunk begins with")
                self.store(s.tile, (s.row, s.column), now, where)
            case ir.ClearTile():
                self.store(s.tile, None, now, where)
            case ir.ProxyFence() if not where.alone:
                now.unfenced.clear()
            case ir.Barrier():
                now.wrote.clear()
                now.read.clear()
                now.hidden = set(now.unfenced)
            case ir.Mma():
                for x in (s.a, s.b):
                    self.product(self.named[x.tile], now)
            case ir.MmaCommit():
                now.issued.clear()
            case ir.MmaWait(pending=0):
                now.read |= now.products - now.issued
                now.products &= now.issued
            case ir.Break() | ir.Continue():
                if self.left:
                    self.left[-1].join(now)
            case ir.Scope():
                self.body(s.body, now, where)
            case ir.If():
                self.branch(s, now, where)
            case ir.For():
                self.loop(s, now, where)

    def set(self, name: str, value: Term | None, where: _Where) -> None:
        found = None if value is None else self.number(value, where.values, where.tid)
        where.values.pop(name, None)
        if found is not None:
            where.values[name] = found

    def branch(self, s: ir.If, now: _Open, where: _Where) -> None:
        inside, other = self.some(s.condition, where), where.copy()
        inside.alone = other.alone = True
        before = now.copy()
        self.body(s.body, now, inside)
        self.body(s.otherwise, before, other)
        now.join(before)
        for x in ir.statements((*s.body, *s.otherwise)):
            if isinstance(x, ir.Assign):
                where.values.pop(x.name, None)

    def some(self, condition: Term, where: _Where) -> _Where:
        """The threads for which a condition holds, as far as that is known."""
        inside = where.copy()
        for c in _conjuncts(condition):
            found = self.number(c, where.values, where.tid)
            if found is not None:
                inside.there = inside.there * (found != 0)
        return inside

    def loop(self, s: ir.For, now: _Open, where: _Where) -> None:
        inside = where.copy()
        for x in ir.statements(s.body):
            if isinstance(x, ir.Assign | ir.Declare):
                inside.values.pop(x.name, None)
                where.values.pop(x.name, None)
        inside.values.pop(s.counter, None)
        self.count(s, inside)
        if not any(isinstance(x, ir.Barrier) for x in ir.statements(s.body)):
            self.left.append(_Open())
            self.body(s.body, now, inside)
            now.join(self.left.pop())
            return
        while True:
            before = now.copy()
            self.left.append(_Open())
            self.body(s.body, now, inside.copy())
            now.join(self.left.pop())
            now.join(before)
            if now == before:
                return

    def count(self, s: ir.For, inside: _Where) -> None:
        """A loop from a number or the thread on, to a known end."""
        if s.first is None or s.running is not None:
            return
        numbers = [self.number(t, inside.values, inside.tid) for t in (s.first, s.end, s.step)]
        first, end, step = numbers
        if first is None or end is None or step is None or end.size > 1 or step.size > 1:
            return
        by, last = int(step.reshape(-1)[0]), int(end.reshape(-1)[0])
        if by < 1:
            return
        most = -(-(last - int(first.min())) // by)
        if not 0 < most * inside.there.size <= MOST_PLACES:
            return
        rank = max([x.ndim for x in (*inside.values.values(), inside.there)])
        turns = np.arange(most, dtype=np.int64).reshape(most, *([1] * rank)) * by + first
        inside.values[s.counter] = turns
        inside.there = inside.there * (turns < last)

    # What is done to shared memory.

    def read(self, part: _Part, now: _Open) -> None:
        if part.meets(now.wrote):
            self.wrong.setdefault(part.name, "may be read before a barrier after its store")
        now.read.add(part)

    def product(self, part: _Part, now: _Open) -> None:
        if part.meets(now.wrote) or part.meets(now.hidden) or part.meets(now.unfenced):
            self.wrong.setdefault(part.name, "may be read by a product before a fence and barrier")
        now.products.add(part)
        now.issued.add(part)

    def store(self, name: str, at: tuple[Term, ...] | None, now: _Open, where: _Where) -> None:
        part = self.named[name]
        if part.meets(now.read) or part.meets(now.products):
            self.wrong.setdefault(name, "may be stored while it is read")
        if part.meets(now.wrote):
            self.wrong.setdefault(name, "may be stored twice between two barriers")
        if at is not None and not (
            self.inside(at, self.lengths(name), where) and self.apart(at, where)
        ):
            self.wrong.setdefault(name, "is stored at places that are not known to differ")
        now.wrote.add(part)
        if name in self.tiles:
            now.unfenced.add(part)

    def lengths(self, name: str) -> tuple[int, ...]:
        tile = self.tiles.get(name)
        return (self.counts[name],) if tile is None else (tile.rows, tile.columns)

    def inside(self, at: tuple[Term, ...], lengths: tuple[int, ...], where: _Where) -> bool:
        """Whether places lie in a view or tile, of the threads that are there."""
        for x, length in zip(at, lengths, strict=True):
            found = self.number(x, where.values, where.tid)
            if found is None or int(
                np.prod(np.broadcast_shapes(found.shape, where.there.shape))
            ) > (MOST_PLACES):
                return False
            outside = ((found < 0) | (found >= length)) & (where.there != 0)
            if outside.any():
                return False
        return True

    def apart(self, at: tuple[Term, ...], where: _Where) -> bool:
        """Whether no two threads store the same place."""
        places = [self.number(x, where.values, where.tid) for x in at]
        known = [p for p in places if p is not None]
        if len(known) < len(places):
            return False
        shape = np.broadcast_shapes(where.there.shape, *(p.shape for p in known))
        if int(np.prod(shape)) > MOST_PLACES:
            return False
        there = np.broadcast_to(where.there, shape).reshape(-1) != 0
        key = np.zeros(int(there.sum()), np.int64)
        for p in known:
            own = np.broadcast_to(p, shape).reshape(-1)[there]
            if len(own) and own.min() < 0:
                return False
            key = key * (int(own.max(initial=0)) + 1) + own
        tid = np.broadcast_to(where.tid, shape).reshape(-1)[there]
        order = np.lexsort((tid, key))
        same = key[order][1:] == key[order][:-1]
        return not bool((same & (tid[order][1:] != tid[order][:-1])).any())


def _conjuncts(term: Term) -> list[Term]:
    if isinstance(term, Binary) and term.op is Op.AND:
        return [*_conjuncts(term.a), *_conjuncts(term.b)]
    return [term]
