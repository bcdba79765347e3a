"""Edits that may mend a role program: each puts in or corrects one thing that synchronises."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple, Protocol

from warploom.ir import mbarrier_dialect as roles
from warploom.ir.dataflow import Across, Counted, Does, Exchange, ExchangeStep, Reach, Who
from warploom.ir.mbarrier_dialect import RoleEntry, RoleProgram, RolesDocument
from warploom.ir.rings import Scope, Side

_STEPS = {
    Across.PARTS: [
        ExchangeStep(does=Does.SYNC, by=Who.ALL),
        ExchangeStep(does=Does.SYNC, by=Who.OTHERS),
        ExchangeStep(does=Does.SYNC, by=Who.LAST),
        ExchangeStep(does=Does.PUBLISH, by=Who.OTHERS, flag=Counted.LEFT, reach=Reach.GPU),
        ExchangeStep(does=Does.AWAIT, by=Who.LAST, flag=Counted.LEFT, reach=Reach.GPU),
        ExchangeStep(does=Does.CLEAR, by=Who.LAST),
        ExchangeStep(does=Does.DRAW, by=Who.ALL, reach=Reach.GPU),
    ],
    Across.NEAR: [
        ExchangeStep(does=does, by=by, flag=flag, reach=Reach.CLUSTER)
        for does, by, flag in (
            (Does.AWAIT, Who.SENDER, Counted.FREE),
            (Does.PUBLISH, Who.SENDER, Counted.FULL),
            (Does.AWAIT, Who.OWNER, Counted.FULL),
            (Does.PUBLISH, Who.OWNER, Counted.FREE),
        )
    ],
    Across.TURNS: [
        ExchangeStep(does=does, by=by, flag=flag, reach=Reach.GPU)
        for does, by, flag in (
            (Does.AWAIT, Who.ACQUIRE_WARP, Counted.TURN),
            (Does.AWAIT, Who.ACQUIRE_WARP, Counted.GIVEN),
            (Does.PUBLISH, Who.ACQUIRE_WARP, Counted.OPEN),
            (Does.AWAIT, Who.CONSUMER, Counted.OPEN),
            (Does.PUBLISH, Who.CONSUMER, Counted.DONE),
            (Does.AWAIT, Who.RELEASE_WARP, Counted.DONE),
            (Does.PUBLISH, Who.RELEASE_WARP, Counted.TURN),
            (Does.PUBLISH, Who.RELEASE_WARP, Counted.GIVEN),
        )
    ],
}


def exchange_edits(document: RolesDocument) -> Iterator[tuple[str, RolesDocument]]:
    """In words, and the document with it."""
    for n, exchange in enumerate(document.exchanges):
        for words, new in _edits(exchange):
            every = (*document.exchanges[:n], new, *document.exchanges[n + 1 :])
            yield f"{words} where CTAs meet at {exchange.op}", replace(document, exchanges=every)


def _edits(exchange: Exchange) -> Iterator[tuple[str, Exchange]]:
    yield "turns as tiles are visited", replace(exchange, turns=exchange.visits)
    for i, step in enumerate(exchange.steps):
        far = Reach.CLUSTER if exchange.across is Across.NEAR else Reach.GPU
        row = [(f"reach {far}", replace(step, reach=far))]
        row += [("less = at = 0", replace(step, less=0, at=0))]
        row += [(f"by {who}", replace(step, by=who)) for who in Who]
        for words, new in row:
            steps = (*exchange.steps[:i], new, *exchange.steps[i + 1 :])
            yield f"{step.does} {words}", replace(exchange, steps=steps)
    for step in _STEPS[exchange.across]:
        for i in range(len(exchange.steps) + 1):
            steps = (*exchange.steps[:i], step, *exchange.steps[i:])
            yield f"{step.does} {step.flag} by {step.by}", replace(exchange, steps=steps)


LISTS = ("prologue", "kernel", "epilogue")
WHY = "put in by repair"


class Place(Protocol):
    """Where a finding is."""

    role: str
    phase: str
    index: int


class Found(Protocol):
    """What a verifier says is wrong."""

    @property
    def code(self) -> Any:  # noqa: ANN401
        """Its kind."""

    @property
    def where(self) -> Sequence[Any]:
        """The entries it is about."""

    @property
    def tiles(self) -> tuple[int, ...]:
        """The run that shows it."""


Edit = tuple[str, RolesDocument]


def _first(found: Found) -> bool:
    """A wait that is missing makes others seem wrong: what reads too early is repaired first."""
    return str(found.code) not in ("RAW-SLOT", "RAW-REG", "FENCE", "PROXY")


def edits(document: RolesDocument, found: Sequence[Found]) -> Iterator[Edit]:
    """What may answer the findings, the likeliest first; (in words, the document with it)."""
    for finding in sorted((f for f in found if str(f.code) != "EXCHANGE"), key=_first)[:12]:
        for place in reversed(finding.where):
            yield from _at_place(_At(document, place.role, place.phase), str(finding.code), place)
    codes = {str(f.code) for f in found}
    if "EXCHANGE" in codes:
        yield from exchange_edits(document)
    if document.cluster > 1 and codes & {"DRAIN", "BARRIER", "DEADLOCK"}:
        yield "ClusterSync ends every role", _met(document)
    if codes & {"DRAIN", "WAR-SLOT", "RAW-REG", "WAR-REG"}:
        yield from _commits(document)
    if codes & {"DRAIN", "WAR-SLOT", "COVERAGE", "STAGING"}:
        yield from _endings(document)
    if codes & {"DEADLOCK", "PHASE", "ARRIVALS", "WAR-SLOT", "LAPPED", "BYTES", "TOKEN"}:
        yield from _counts(document)
        yield from _fillings(document)
        yield from _announced(document)
        yield from _releases(document)
    if "PROXY" in codes:
        yield from _fenced(document)
    if codes & {"BARRIER", "DEADLOCK"}:
        yield from _turns(document)


class _At(NamedTuple):
    """One list of a program, and the document with something else in it."""

    document: RolesDocument
    role: str
    phase: str

    @property
    def entries(self) -> tuple[RoleEntry, ...]:
        """What the list holds."""
        result: tuple[RoleEntry, ...] = getattr(self.document.program(self.role), self.phase)
        return result

    def put(self, at: int, *new: RoleEntry, less: int = 0) -> RolesDocument:
        """New entries in front of one, or in place of ``less`` of them."""
        phases: dict[str, Any] = {
            self.phase: (*self.entries[:at], *new, *self.entries[at + less :])
        }
        return _with(self.document, replace(self.document.program(self.role), **phases))

    def before(self, at: int, *new: RoleEntry, words: str = "") -> Edit:
        """New entries in front of one, and in words."""
        words = words or ", ".join(type(e).__name__ for e in new)
        return f"{words} before {self.place(at)}", self.put(at, *new)

    def after(self, at: int, new: RoleEntry) -> Edit:
        """A new entry after one, and in words."""
        return f"{type(new).__name__} after {self.place(at)}", self.put(at + 1, new)

    def place(self, at: int) -> str:
        """An entry, as it is named."""
        return f"{self.role}.{self.phase}[{at}]"


def _lists(document: RolesDocument, program: RoleProgram) -> list[_At]:
    return [_At(document, program.name, phase) for phase in LISTS]


def _every(document: RolesDocument) -> Iterator[tuple[_At, int, RoleEntry]]:
    """Every entry of every list."""
    for program in document.programs:
        for listed in _lists(document, program):
            yield from ((listed, i, e) for i, e in enumerate(listed.entries))


def _with(document: RolesDocument, program: RoleProgram) -> RolesDocument:
    programs = tuple(program if p.name == program.name else p for p in document.programs)
    return replace(document, programs=programs)


def _at_place(at: _At, code: str, place: Place) -> Iterator[Edit]:
    entry = at.entries[place.index]

    def put(*new: RoleEntry) -> Edit:
        return at.before(place.index, *new)

    if code == "FENCE":
        yield put(roles.MmaFence(reason=WHY))
    elif code in ("RAW-REG", "WAR-REG"):
        for pending in (2, 1, 0):
            yield put(roles.WaitGroup(pending=pending, reason=WHY))
    elif code in ("RAW-SLOT", "LAPPED", "TOKEN", "WAR-SLOT"):
        yield from map(put, _slot_waits(entry))
    elif code in ("PROXY", "STAGING"):
        yield from (put(*new) for new in _stagings(entry))
    elif code == "PHASE" and isinstance(entry, roles.WaitFull | roles.WaitEmpty):
        right = replace(entry, parity=1 if isinstance(entry, roles.WaitEmpty) else 0)
        yield f"parity of {at.place(place.index)}", at.put(place.index, right, less=1)
    if code == "PHASE":
        program = replace(at.document.program(at.role), carries_phase=True)
        yield f"{at.role} carries its positions", _with(at.document, program)
    if code == "SCOPE" and isinstance(entry, roles.Arrive):
        yield put(roles.ScopeSync(scope=Scope.WARPGROUP, reason=WHY))


def _slot_waits(entry: RoleEntry) -> Iterator[RoleEntry]:
    if isinstance(entry, roles.Mma | roles.Compute):
        for ring in dict.fromkeys(s.ring for s in entry.slots):
            yield roles.WaitFull(ring=ring, k=entry.k, reason=WHY)
    if isinstance(entry, roles.Load | roles.Expect):
        yield roles.WaitEmpty(ring=entry.ring, k=entry.k, reason=WHY)
    if isinstance(entry, roles.Compute):
        for ring in dict.fromkeys(s.ring for s in entry.fills_slots):
            yield roles.WaitEmpty(ring=ring, k=entry.k, reason=WHY)


def _stagings(entry: RoleEntry) -> Iterator[tuple[RoleEntry, ...]]:
    fence = roles.ProxyFence(reason=WHY)
    scopes = (entry.scope,) if isinstance(entry, roles.BulkStore) else (Scope.WARP, Scope.WARPGROUP)
    for scope in scopes:
        sync = roles.ScopeSync(scope=scope, reason=WHY)
        yield (sync,)
        if isinstance(entry, roles.BulkStore):
            yield fence, sync
        else:
            yield from ((roles.BulkWait(pending=pending, reason=WHY), sync) for pending in (1, 0))
    if isinstance(entry, roles.Compute):
        yield (fence,)


def _commits(document: RolesDocument) -> Iterator[Edit]:
    """Groups of products that nothing closes."""
    for at, i, e in _every(document):
        if isinstance(e, roles.Mma) and not any(
            isinstance(n, roles.Commit | roles.Mma) for n in at.entries[i + 1 : i + 2]
        ):
            yield at.after(i, roles.Commit(reason=WHY))


def _endings(document: RolesDocument) -> Iterator[Edit]:
    """What a program leaves open: stores, and products that releases do not wait for."""
    for p in document.programs:
        for at in _lists(document, p):
            for i, e in enumerate(at.entries):
                if isinstance(e, roles.BulkStore):
                    yield at.after(i, roles.BulkCommit(reason=WHY))
                for pending in (1, 0) if isinstance(e, roles.Arrive) else ():
                    wait = roles.WaitGroup(pending=pending, reason=WHY)
                    yield at.before(i, wait, words=f"WaitGroup {pending}")
        last, stores = _At(document, p.name, "epilogue"), _At(document, p.name, "finish")
        wait = roles.WaitGroup(pending=0, reason=WHY)
        yield f"WaitGroup 0 ends {p.name}", last.put(len(p.epilogue), wait)
        out = roles.BulkWait(pending=0, source_read=False, reason=WHY)
        yield f"BulkWait 0 ends {p.name}", stores.put(0, out)


def _met(document: RolesDocument) -> RolesDocument:
    """CTAs of a cluster leave together."""
    for p in document.programs:
        if not any(isinstance(e, roles.ClusterSync) for e in p.finish):
            document = _At(document, p.name, "finish").put(
                len(p.finish), roles.ClusterSync(reason=WHY)
            )
    return document


def _counts(document: RolesDocument) -> Iterator[Edit]:
    """Arrival counts of rings as the arrivals of their readers make them."""
    for i, ring in enumerate(document.rings):
        total = 0
        for p in document.programs:
            entries = [e for at in _lists(document, p) for e in at.entries]
            mine = [e for e in entries if isinstance(e, roles.Arrive) and e.ring == ring.name]
            mine = [e for e in mine if e.side is Side.EMPTY]
            if mine:
                per = {Scope.THREAD: p.threads, Scope.WARP: 32, Scope.WARPGROUP: 128}[mine[0].scope]
                shared = 1 if p.alternates else p.instances
                total += shared * -(-p.threads // per) * mine[0].ctas
        for words, new in (
            ("full", replace(ring, full_arrivals=1)),
            *([("empty", replace(ring, empty_arrivals=total))] if total else []),
        ):
            rings = (*document.rings[:i], new, *document.rings[i + 1 :])
            yield f"arrivals on {words} of {ring.name}", replace(document, rings=rings)


def _fillings(document: RolesDocument) -> Iterator[Edit]:
    """Bytes that are announced, for every slot that copies fill."""
    sizes = {r.name: sum(p.bytes for p in r.parts) for r in document.rings}
    for at, i, e in _every(document):
        if isinstance(e, roles.Load):
            yield at.before(i, roles.Expect(ring=e.ring, k=e.k, bytes=sizes[e.ring], reason=WHY))
        if isinstance(e, roles.Expect) and e.bytes != sizes[e.ring]:
            right = replace(e, bytes=sizes[e.ring])
            yield f"bytes of {at.place(i)}", at.put(i, right, less=1)


def _fenced(document: RolesDocument) -> Iterator[Edit]:
    for at, i, e in _every(document):
        if isinstance(e, roles.Compute) and e.fills_slots:
            yield at.after(i, roles.ProxyFence(reason=WHY))


def _announced(document: RolesDocument) -> Iterator[Edit]:
    """An arrival on ``full`` after what roles write to slots themselves."""
    for at, i, e in _every(document):
        if not isinstance(e, roles.Compute):
            continue
        syncs = (
            j + 1 for j in range(i, len(at.entries)) if isinstance(at.entries[j], roles.ScopeSync)
        )
        to = next(syncs, i + 1)
        for ring in dict.fromkeys(s.ring for s in e.fills_slots):
            told = roles.Arrive(ring=ring, k=e.k, side=Side.FULL, reason=WHY)
            yield f"Arrive full {ring} at {at.place(to)}", at.put(to, told)


def _releases(document: RolesDocument) -> Iterator[Edit]:
    """A release after every wait for groups and at the end of lists, of every ring read there."""
    for p in document.programs:
        lists = _lists(document, p)
        entries = [e for at in lists for e in at.entries]
        users = [e for e in entries if isinstance(e, roles.Mma | roles.Compute)]
        ctas = max((e.ctas for e in entries if isinstance(e, roles.Arrive)), default=1)
        for ring, at in product(dict.fromkeys(s.ring for e in users for s in e.slots), lists):
            after = (
                i + 1
                for i, e in enumerate(at.entries)
                if isinstance(e, roles.WaitGroup | roles.Compute)
            )
            for i, k in product(dict.fromkeys([*after, len(at.entries)]), (0, -1)):
                free = roles.Arrive(ring=ring, k=k, ctas=ctas, reason=WHY)
                yield f"Arrive {ring} k{k:+d} at {at.place(i)}", at.put(i, free)


def _turns(document: RolesDocument) -> Iterator[Edit]:
    """Turns on a named barrier: taken before the products, given after them."""
    for b, p in product(document.barriers, document.programs):
        entries = [e for _, listed in p.phases() for e in listed]
        if not any(isinstance(e, roles.NamedSync | roles.NamedArrive) for e in entries):
            continue
        take = roles.NamedSync(barrier=b.name, reason=WHY)
        give = roles.NamedArrive(barrier=b.name, turn=1 if b.count > 1 else 0, reason=WHY)
        for at in _lists(document, p):
            takes = [i for i, e in enumerate(at.entries) if isinstance(e, roles.MmaFence)]
            gives = [i + 1 for i, e in enumerate(at.entries) if isinstance(e, roles.Commit)]
            spots: list[tuple[RoleEntry, int]] = [(take, i) for i in (*takes, 0)]
            spots += [(give, i) for i in (*gives, 0, len(at.entries))]
            for new, i in spots:
                yield at.before(i, new, words=f"{type(new).__name__} {b.name}")
        setup, finish = _At(document, p.name, "setup"), _At(document, p.name, "finish")
        for i in range(p.instances):
            yield f"first turn by instance {i}", setup.put(0, replace(give, instance=i))
            yield f"last turn to instance {i}", finish.put(0, replace(take, instance=i))
