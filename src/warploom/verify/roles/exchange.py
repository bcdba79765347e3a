"""Where CTAs meet in global memory: what one left is seen by who goes on, and nobody waits forever.

A chain of steps leads from every write (or sum) to the read (or next sum) that needs it: steps of
one thread in their order, syncs of an instance, and a publish to the await of its flag as far as
both reach. That an await means the publishes it should is judged apart: each flag is counted once a
part or turn, and nobody counts for a turn before its own is open. Two members stand for all, since
they differ in their number alone: any part and the last one, or a tile and the next in turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise, product

from warploom.document.exchange import Counted, Does, Exchange, ExchangeStep, Reach, Who
from warploom.document.flow import Across, Flow
from warploom.document.roles import (
    BulkCommit,
    BulkStore,
    BulkWait,
    Compute,
    ProxyFence,
    RolesDocument,
    ScopeSync,
)
from warploom.verify.agents import agents, describe, run
from warploom.verify.findings import Code, Finding, Place

_OWN = Compute | BulkStore | BulkWait | BulkCommit | ProxyFence | ScopeSync
_ALONE = (Does.DRAW, Does.PUBLISH, Does.AWAIT, Does.CLEAR)  # done by one thread of an instance
_Found = tuple[int | None, str, str]
_Node = tuple[str, int, int]  # member, thread (0 is the one that counts), step
_LOCAL = (Counted.OPEN, Counted.DONE, Counted.GIVEN)
FIRST, SECOND = "first", "second"
LATER = "a round of slots later"  # the first tile, in the turn that takes the same slot
MEET = "meet"  # the op at which parts of a tile meet, in documents that declare nothing of it


def check_exchanges(document: RolesDocument, flow: Flow | None) -> Iterator[Finding]:
    """CTAs meet at every op that is declared so, and at no other; each meeting is in order."""
    wanted = {(op.role, op.name): op.across for op in flow.ops if op.across} if flow else {}
    found = {(x.role, x.op): x for x in document.exchanges}
    for key in dict.fromkeys((*wanted, *found)):
        mine = found[key].across if key in found else Across.NOTHING
        if flow and mine is not wanted.get(key, Across.NOTHING):
            why = f"CTAs meet in {mine or 'no way'} at {key[1]}, not as it was declared"
            fix = f"an exchange in {wanted.get(key) or 'no way'}"
            yield Finding(code=Code.EXCHANGE, why=why, fix=fix, where=_places(document, *key))
    for exchange in document.exchanges:
        parts = exchange.across is not Across.TURNS
        for i, why, fix in judge_exchange(exchange):
            yield Finding(
                code=Code.EXCHANGE,
                why=why if i is None else f"step {i}, {_words(exchange.steps[i])}: {why}",
                fix=fix,
                where=_places(document, exchange.role, exchange.op),
            )
        yield from (_after if parts else _in_order)(document, exchange)


def judge_exchange(exchange: Exchange) -> tuple[_Found, ...]:
    """What is wrong with the steps of an exchange: which step, why, and what to do."""
    judges = {Across.PARTS: _Parts, Across.NEAR: _Near, Across.TURNS: _Turns}
    return tuple(judges[exchange.across](exchange).findings())


def undeclared(document: RolesDocument) -> tuple[str, ...]:
    """Documents from before CTAs' meetings were declared: nobody can judge how parts meet."""
    ops = document.flow.ops if document.flow else ()
    old = any(op.name == MEET and not op.across for op in ops) and not document.exchanges
    return ("the document does not declare how CTAs that share a tile meet",) if old else ()


def _places(document: RolesDocument, role: str, op: str) -> tuple[Place, ...]:
    rows = [(n, i, e) for n, row in document.program(role).phases() for i, e in enumerate(row)]
    return tuple(
        Place(role=role, phase=phase, index=i, entry=describe(e))
        for phase, i, e in rows
        if getattr(e, "op", "") == op
    )[:1]


def _words(step: ExchangeStep) -> str:
    return " ".join(filter(None, (step.does, step.flag, "by", step.by)))


def _after(document: RolesDocument, exchange: Exchange) -> Iterator[Finding]:
    """What follows the meeting is the last part's alone: nobody else may count on it."""
    row = document.program(exchange.role).epilogue
    met = False
    for i, e in enumerate(row):
        own = isinstance(e, _OWN) and not (isinstance(e, Compute) and (e.slots or e.fills_slots))
        if met and not own:
            yield Finding(
                code=Code.EXCHANGE,
                why=f"{describe(e)} follows the meeting of parts, which the last one alone leaves: "
                "the others never execute it",
                fix="put it before the op at which parts meet",
                where=(Place(role=exchange.role, phase="epilogue", index=i, entry=describe(e)),),
            )
        met |= getattr(e, "op", "") == exchange.op
    if not met:
        why = f"parts meet at {exchange.op}, which does not stand in the epilogue"
        yield Finding(code=Code.EXCHANGE, why=why, fix="run it as a tile ends")


def _in_order(document: RolesDocument, exchange: Exchange) -> Iterator[Finding]:
    """Turns are taken in the order of the iterations: the usher opens them so."""
    trips = max(document.minimum_trips, 1) + 3
    agent = next(a for a in agents(document) if a.role == exchange.role)
    mine = [e for e in run(document, agent, (trips,)) if getattr(e.entry, "op", "") == exchange.op]
    steps = [e.step for e in mine]
    if steps != sorted(steps):
        why = f"{exchange.op} takes its turns in the order {steps}"
        yield Finding(
            code=Code.EXCHANGE,
            why=why,
            fix="run its iterations in their order",
            where=(mine[0].place(),),
            tiles=(trips,),
        )


class _Judge:
    """Chains between two members of an exchange."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.steps = exchange.steps
        self.after: dict[_Node, set[_Node]] = {}

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
        return [i for i, s in enumerate(self.steps) if s.does is does and s.flag is flag]

    def in_order(self, member: str, thread: int, steps: Iterable[int]) -> None:
        """A thread's steps one after the other."""
        row = [(member, thread, i) for i in steps]
        for a, b in pairwise(row):
            self.edge(a, b)

    def misnamed(self) -> Iterator[_Found]:
        """Steps that speak of another part or turn, or of fewer (or more) than there are."""
        for i, s in enumerate(self.steps):
            if s.less:
                effect = "one of them is not waited for" if s.less > 0 else "it waits for ever"
                effect = "a part is left out" if s.does is Does.READ else effect
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
        wrong = [*self.misnamed(), *self.counted((Counted.LEFT,)), *self._times()]
        yield from wrong
        if wrong:
            return
        drawn = self.those(Does.DRAW)[0]
        self.steps = tuple(
            replace(s, by=Who.ALL) if i <= drawn and s.by is Who.OTHERS else s
            for i, s in enumerate(self.steps)
        )
        yield from self._by_whom(drawn)
        yield from self._seen()
        yield from self._cleared(drawn)

    def _times(self) -> Iterator[_Found]:
        times = Counter(s.does for s in self.steps)
        for does in (Does.DRAW, Does.READ):
            if times[does] != 1:
                yield None, f"{does} is done {times[does]} times at a tile", f"{does} once"
        for does in (Does.WRITE, Does.CLEAR):
            if not times[does]:
                yield None, f"{does} is never done", f"{does} once"

    def _by_whom(self, drawn: int) -> Iterator[_Found]:
        for i, s in enumerate(self.steps):
            if i <= drawn and s.by is Who.LAST:
                yield i, "nobody is the last part yet, so nobody does it", "draw first"
        read = self.those(Does.READ)[0]
        if self.steps[read].by is not Who.LAST:
            yield read, "parts read that are not the last: others are not there yet", "by last"
        fewest = (Who.ALL, Who.OTHERS) if self.exchange.kept else (Who.ALL,)
        for i in self.those(Does.WRITE):
            if self.steps[i].by not in fewest:
                yield i, "a part that is read is not written", f"by {fewest[-1]}"
        for i in self.those(Does.PUBLISH, Counted.LEFT):
            if self.steps[i].by is not Who.OTHERS:
                yield i, "the count is that of the parts before the last", "by others"
        for i in self.those(Does.AWAIT, Counted.LEFT):
            if self.steps[i].by is not Who.LAST:
                why = "a part waits for others that may not have begun: with few CTAs they never do"
                yield i, why, "by last"

    def _seen(self) -> Iterator[_Found]:
        """What every thread wrote, the same thread of the last part reads."""
        for member, others in ((FIRST, Who.OTHERS), (SECOND, Who.LAST)):
            mine = [i for i, s in enumerate(self.steps) if s.by in (Who.ALL, others)]
            self._thread_order(member, mine)
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
        for who in (Who.USHER, Who.CONSUMER, Who.CLERK):
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
