"""The steps at which CTAs meet: what one left is seen by who goes on, and nobody waits for ever.

A chain of steps leads from every write (or sum) to the read (or next sum) that needs it: steps of
one thread in their order, syncs of an instance, and a publish to the await of its flag as far as
both reach. That an await means the publishes it should is checked apart: a flag is counted once a
part or turn, and nobody counts for a turn before its own is open. Two members stand for all, since
they differ in their number alone: any part and the last one, or a tile and the next in turn.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise, product

from warploom.ir.dataflow import Across, Counted, Does, Exchange, Reach, Who

_ALONE = (Does.DRAW, Does.PUBLISH, Does.AWAIT, Does.CLEAR)  # done by one thread of an instance
_Found = tuple[int | None, str, str]
_Node = tuple[str, int, int]  # member, thread (0 is the one that counts), step
_LOCAL = (Counted.OPEN, Counted.DONE, Counted.GIVEN)
FIRST, SECOND = "first", "second"
LATER = "a lap later"  # the first tile, in the turn that takes the same slot


def judge_exchange(exchange: Exchange) -> tuple[_Found, ...]:
    """What is wrong with the steps of an exchange: which step, why, and what to do."""
    judges = {Across.PARTS: _Parts, Across.NEAR: _Near, Across.TURNS: _Turns}
    return tuple(judges[exchange.across](exchange).findings())


class _Judge:
    """Chains between two members of an exchange."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.steps = exchange.steps
        self.after: dict[_Node, set[_Node]] = {}
        self.never: set[int] = set()  # steps that nobody does

    def edge(self, a: _Node, b: _Node) -> None:
        self.after.setdefault(a, set()).add(b)

    def chain(self, a: _Node, b: _Node) -> bool:
        """Whether one step is over, and seen, before another in every run."""
        seen: set[_Node] = set()
        todo = [a]
        while todo:
            more = self.after.get(todo.pop(), set()) - seen
            seen |= more
            todo += more
        return b in seen

    def those(self, does: Does, flag: Counted = Counted.NOTHING) -> list[int]:
        every = enumerate(self.steps)
        return [i for i, s in every if s.does is does and s.flag is flag and i not in self.never]

    def in_order(self, member: str, thread: int, steps: Iterable[int]) -> None:
        """A thread's steps one after the other."""
        for a, b in pairwise([(member, thread, i) for i in steps]):
            self.edge(a, b)

    def misnamed(self) -> Iterator[_Found]:
        """Steps that speak of another part or turn, or of fewer (or more) than there are."""
        for i, s in enumerate(self.steps):
            if s.less and s.flag is not Counted.LEFT:
                effect = "a tile is not waited for" if s.less > 0 else "it waits for ever"
                effect = "other parts than there are" if s.does is Does.READ else effect
                yield i, f"less = {s.less}: {effect}", "less = 0"
            if s.at:
                yield i, f"at = {s.at}: it means another part or turn than its own", "at = 0"

    def findings(self) -> Iterator[_Found]:
        """What is wrong."""
        raise NotImplementedError

    def counted(self, flags: Iterable[Counted]) -> Iterator[_Found]:
        """A flag that is awaited is counted once by every member."""
        for flag in flags:
            publishes, awaits = self.those(Does.PUBLISH, flag), self.those(Does.AWAIT, flag)
            if awaits and len(publishes) != 1:
                effect = "it waits for ever" if not publishes else "it may pass too early"
                yield awaits[0], f"{flag} is counted {len(publishes)} times: {effect}", "count once"


class _Parts(_Judge):
    """Any part, and the last one to come. Before the draw nobody is last: all are ``others``."""

    def findings(self) -> Iterator[_Found]:
        drawn = next((i for i, s in enumerate(self.steps) if s.does is Does.DRAW), 0)
        self.never = {i for i, s in enumerate(self.steps[:drawn]) if s.by is Who.LAST}
        wrong = [*self.misnamed(), *self._times()]
        yield from wrong
        if wrong:
            return
        self.steps = tuple(
            replace(s, by=Who.ALL) if i <= drawn and s.by is Who.OTHERS else s
            for i, s in enumerate(self.steps)
        )
        yield from self._by_whom(drawn)
        yield from self._counted()
        yield from self._seen()
        yield from self._cleared(drawn)

    def _times(self) -> Iterator[_Found]:
        for does in (Does.DRAW, Does.READ):
            times = len(self.those(does))
            if times != 1:
                yield None, f"{does} is done {times} times at a tile", f"{does} once"
        for does in (Does.WRITE, Does.CLEAR):
            if not self.those(does):
                yield None, f"{does} is never done", f"{does} once"

    def _by_whom(self, drawn: int) -> Iterator[_Found]:
        if self.steps[drawn].by is not Who.ALL:
            yield drawn, "nobody is the last part yet, so nobody draws", "by all"
        read = self.those(Does.READ)[0]
        if self.steps[read].by is not Who.LAST:
            yield read, "parts read that are not the last: others are not there yet", "by last"
        fewest = (Who.ALL, Who.OTHERS) if self.exchange.kept else (Who.ALL,)
        for i in self.those(Does.WRITE):
            if self.steps[i].by not in fewest:
                yield i, "a part that is read is not written", f"by {fewest[-1]}"
        for i in self.those(Does.AWAIT, Counted.LEFT):
            if self.steps[i].by is not Who.LAST:
                why = "a part waits for others that may not have begun: with few CTAs they never do"
                yield i, why, "by last"

    def _counted(self) -> Iterator[_Found]:
        """All who come before are counted once when the last part goes on, and nobody else."""
        publishes = self.those(Does.PUBLISH, Counted.LEFT)
        others = [i for i in publishes if self.steps[i].by is not Who.LAST]
        own = [i for i in publishes if self.steps[i].by is not Who.OTHERS]
        for i in self.those(Does.AWAIT, Counted.LEFT):
            more = sum(j < i for j in own) + self.steps[i].less
            if len(others) != 1 or more:
                late = not others or more < 0
                effect = "waits for ever" if late else "may pass too early"
                counted = (
                    f"{len(others)} times by the others, {sum(j < i for j in own)} by the last"
                )
                why = f"left is counted {counted}, and less = {self.steps[i].less}: it {effect}"
                yield i, why, "count once by others; less = 0"
        clears = self.those(Does.CLEAR)
        for i in own:
            if clears and i > max(clears):
                yield i, "the next launch begins with this count", "clear afterwards"

    def _seen(self) -> Iterator[_Found]:
        """What every thread wrote, the same thread of the last part reads."""
        for member, others in ((FIRST, Who.OTHERS), (SECOND, Who.LAST)):
            mine = [i for i, s in enumerate(self.steps) if s.by in (Who.ALL, others)]
            self._thread_order(member, [i for i in mine if i not in self.never])
        for i, s in enumerate(self.steps):
            for j, t in enumerate(self.steps):
                links = s.does is Does.DRAW and i == j
                links |= s.does is Does.PUBLISH and t.does is Does.AWAIT and s.flag is t.flag
                if links and s.reach is t.reach is Reach.GPU:
                    self.edge((FIRST, 0, i), (SECOND, 0, j))
        read, writes = self.those(Does.READ)[0], self.those(Does.WRITE)
        ends = [((FIRST, t, i), (SECOND, t, read)) for t in (0, 1) for i in writes]
        if not all(self.chain(a, b) for a, b in ends):
            yield (
                read,
                "no chain of steps leads from what a part wrote to this read: it may read what was "
                "there before",
                "sync after the write, publish and await at reach gpu, sync before the read",
            )
        if not self.exchange.kept and not max(writes) < read:
            yield read, "the last part reads its own sums before it writes them", "write first"

    def _thread_order(self, member: str, mine: list[int]) -> None:
        """The thread that counts, the others, and where they meet: at a draw after its count."""
        ordinary = [i for i in mine if self.steps[i].does not in _ALONE]
        self.in_order(member, 0, mine)
        self.in_order(member, 1, ordinary)
        for n, i in enumerate(mine):
            if self.steps[i].does not in (Does.SYNC, Does.DRAW):
                continue
            came = [j for j in ordinary if j <= i][-1:]
            for j in mine[n + 1 : n + 2]:
                for k in came:
                    self.edge((member, 1, k), (member, 0, j))
            for j in [j for j in ordinary if j > i][:1]:
                self.edge((member, 0, i), (member, 1, j))

    def _cleared(self, drawn: int) -> Iterator[_Found]:
        awaits = self.those(Does.AWAIT, Counted.LEFT)
        publishes = self.those(Does.PUBLISH, Counted.LEFT)
        for clear in self.those(Does.CLEAR):
            if self.steps[clear].by is not Who.LAST or clear < drawn:
                yield clear, "other parts have still to count", "by last, after the draw"
            if publishes and not any(i < clear for i in awaits):
                why = "parts may count afterwards: the next launch begins with what they left"
                yield clear, why, "clear after the await"
            if any(i > clear for i in awaits):
                yield clear, "what is awaited afterwards was cleared", "clear after the await"


_NEAR_BY = {
    (Does.WRITE, Counted.NOTHING): Who.SENDER,
    (Does.READ, Counted.NOTHING): Who.OWNER,
    (Does.PUBLISH, Counted.FULL): Who.SENDER,
    (Does.AWAIT, Counted.FULL): Who.OWNER,
    (Does.PUBLISH, Counted.FREE): Who.OWNER,
    (Does.AWAIT, Counted.FREE): Who.SENDER,
}


class _Near(_Judge):
    """A tile of a sender and its owner, and the next one in the same inbox."""

    def findings(self) -> Iterator[_Found]:
        wrong = [*self.misnamed(), *self.counted((Counted.FULL, Counted.FREE)), *self._declared()]
        yield from wrong
        if wrong:
            return
        for who in (Who.SENDER, Who.OWNER):
            mine = [i for i, s in enumerate(self.steps) if s.by is who]
            for member in (FIRST, LATER):
                self.in_order(member, 0, mine)
            self.edge((FIRST, 0, mine[-1]), (LATER, 0, mine[0]))
        self._link()
        write, read = self.those(Does.WRITE)[0], self.those(Does.READ)[0]
        if any(self.chain(n, n) for n in self.after):
            yield read, "steps wait for one another", "count before awaiting what follows"
        elif not self.chain((FIRST, 0, write), (FIRST, 0, read)):
            why = "no chain of steps leads from what was sent to this read"
            yield read, why, "publish after the write, await before the read, at reach cluster"
        elif not self.chain((FIRST, 0, read), (LATER, 0, write)):
            why = "the inbox may be written for the next tile before it was read"
            yield write, why, "publish after the read, await before the write, at reach cluster"
        for flag, seen in ((Counted.FULL, FIRST), (Counted.FREE, LATER)):
            for i, j in product(self.those(Does.PUBLISH, flag), self.those(Does.AWAIT, flag)):
                if not self.chain((seen, 0, j), (LATER, 0, i)):
                    why = f"{flag} may be counted for the next tile before all have seen it"
                    yield j, why, "await it before what lets others go on"

    def _link(self) -> None:
        """What came is awaited at the same tile, what was read at the next one."""
        pairs = {Counted.FULL: ((FIRST, FIRST), (LATER, LATER)), Counted.FREE: ((FIRST, LATER),)}
        for flag, members in pairs.items():
            for i, j in product(self.those(Does.PUBLISH, flag), self.those(Does.AWAIT, flag)):
                if Reach.CTA not in (self.steps[i].reach, self.steps[j].reach):
                    for a, b in members:
                        self.edge((a, 0, i), (b, 0, j))

    def _declared(self) -> Iterator[_Found]:
        """Who sends and who reads, once each; who counts and who waits."""
        for does in (Does.WRITE, Does.READ):
            if (times := len(self.those(does))) != 1:
                yield None, f"{does} is done {times} times at a tile", f"{does} once"
        for i, s in enumerate(self.steps):
            wanted = _NEAR_BY.get((s.does, s.flag))
            if s.by is not wanted:
                yield i, "it is not that part's to do", f"by {wanted}" if wanted else "leave it out"


class _Turns(_Judge):
    """A tile, and the next in turn. Flags of a CTA link its own threads, turns link tiles."""

    def findings(self) -> Iterator[_Found]:
        wrong = [*self.misnamed(), *self.counted((*_LOCAL, Counted.TURN)), *self._declared()]
        yield from wrong
        if wrong:
            return
        for who in (Who.ACQUIRE_WARP, Who.CONSUMER, Who.RELEASE_WARP):
            mine = [i for i, s in enumerate(self.steps) if s.by is who]
            for member in (FIRST, SECOND, LATER):
                self.in_order(member, 0, mine)
            for i in mine[:1]:
                self.edge((FIRST, 0, mine[-1]), (LATER, 0, i))
        self._link()
        yield from self._reused()
        awaited = self.those(Does.AWAIT, Counted.TURN)
        for i in self.those(Does.PUBLISH, Counted.TURN):
            if not any(self.chain((FIRST, 0, j), (FIRST, 0, i)) for j in awaited):
                yield i, "a turn may be given on before it was open", "await the turn first"
        add = self.those(Does.ADD)[0]
        if any(self.chain(n, n) for n in self.after):
            yield add, "steps wait for one another", "count before awaiting what follows"
        elif not self.chain((FIRST, 0, add), (SECOND, 0, add)):
            yield (
                add,
                "no chain of steps leads from the sums of the turn before to these: the order of "
                "sums depends on timing",
                "count what is done, and await it, at the reach of who reads it",
            )

    def _declared(self) -> Iterator[_Found]:
        """Who adds and who counts, and the order of tiles."""
        adds = self.those(Does.ADD)
        if len(adds) != 1 or self.steps[adds[0]].by is not Who.CONSUMER:
            yield None, "in its turn the consumer adds once, and nobody else", "add once"
        for i, s in enumerate(self.steps):
            each = s.by is Who.CONSUMER  # every warp of it counts
            if s.does is Does.PUBLISH and each is not (s.flag is Counted.DONE):
                by = "every warp of the consumer" if each else s.by
                yield i, f"{by} would count {s.flag}", "done by the consumer, all others not"
        if self.exchange.turns is not self.exchange.visits:
            why = "tiles that are begun first wait for tiles that are begun later"
            yield None, f"{why}: with few CTAs these never are", "turns as visits"

    def _link(self) -> None:
        for flag in (*_LOCAL, Counted.TURN):
            for i in self.those(Does.PUBLISH, flag):
                for j in self.those(Does.AWAIT, flag):
                    if flag is Counted.GIVEN:
                        self.edge((FIRST, 0, i), (LATER, 0, j))
                    elif flag in _LOCAL:
                        for member in (FIRST, SECOND, LATER):
                            self.edge((member, 0, i), (member, 0, j))
                    elif self.steps[i].reach is self.steps[j].reach is Reach.GPU:
                        self.edge((FIRST, 0, i), (SECOND, 0, j))

    def _reused(self) -> Iterator[_Found]:
        """A barrier counts for the next turn in its slot when all have seen it for this one."""
        for flag in _LOCAL:
            seen = LATER if flag is Counted.GIVEN else FIRST
            for i in self.those(Does.PUBLISH, flag):
                for j in self.those(Does.AWAIT, flag):
                    if not self.chain((seen, 0, j), (LATER, 0, i)):
                        why = f"it may count a later turn before {flag} was seen for this one"
                        yield i, why, "await what was given before opening a turn in its slot"
