"""Edits that may mend a role program: each puts in or corrects one thing that synchronises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from warploom.document.rings import Scope, Side
from warploom.document.roles import (
    Arrive,
    BulkCommit,
    BulkStore,
    BulkWait,
    ClusterSync,
    Commit,
    Compute,
    Expect,
    Load,
    Mma,
    MmaFence,
    NamedArrive,
    NamedSync,
    ProxyFence,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    ScopeSync,
    WaitEmpty,
    WaitFull,
    WaitGroup,
)
from warploom.guard.mbarrier.meetings import exchange_edits

LISTS = ("prologue", "kernel", "epilogue")


class Place(Protocol):
    """Where a finding is."""

    role: str
    phase: str
    index: int


class Found(Protocol):
    """What a judge says is wrong."""

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
    """A wait that is missing makes others seem wrong: what reads too early is mended first."""
    return str(found.code) not in ("RAW-SLOT", "RAW-REG", "FENCE", "PROXY")


def edits(document: RolesDocument, found: Sequence[Found]) -> Iterator[Edit]:
    """What may answer the findings, the likeliest first; (in words, the document with it)."""
    for finding in sorted((f for f in found if str(f.code) != "EXCHANGE"), key=_first)[:12]:
        for place in reversed(finding.where):
            yield from _at_place(document, str(finding.code), place)
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


def _put(document: RolesDocument, role: str, phase: str, at: int, *new: RoleEntry) -> RolesDocument:
    program = document.program(role)
    entries = getattr(program, phase)
    phases: dict[str, Any] = {phase: (*entries[:at], *new, *entries[at:])}
    return _with(document, replace(program, **phases))


def _with(document: RolesDocument, program: RoleProgram) -> RolesDocument:
    programs = tuple(program if p.name == program.name else p for p in document.programs)
    return replace(document, programs=programs)


def _at_place(document: RolesDocument, code: str, place: Place) -> Iterator[Edit]:
    entry = getattr(document.program(place.role), place.phase)[place.index]
    where = f"{place.role}.{place.phase}[{place.index}]"

    def put(*new: RoleEntry) -> Edit:
        names = ", ".join(type(e).__name__ for e in new)
        return f"{names} before {where}", _put(document, place.role, place.phase, place.index, *new)

    reason = "put in by repair"
    if code == "FENCE":
        yield put(MmaFence(reason=reason))
    elif code in ("RAW-REG", "WAR-REG"):
        for pending in (2, 1, 0):
            yield put(WaitGroup(pending=pending, reason=reason))
    elif code in ("RAW-SLOT", "LAPPED", "TOKEN", "WAR-SLOT"):
        yield from _slot_waits(entry, put)
    elif code in ("PROXY", "STAGING"):
        yield from _stagings(entry, put)
    elif code == "PHASE" and isinstance(entry, WaitFull | WaitEmpty):
        right = replace(entry, parity=1 if isinstance(entry, WaitEmpty) else 0)
        yield f"parity of {where}", _swap(document, place, right)
    if code == "PHASE":
        program = replace(document.program(place.role), carries_phase=True)
        yield f"{place.role} carries its positions", _with(document, program)
    if code == "SCOPE" and isinstance(entry, Arrive):
        yield put(ScopeSync(scope=Scope.WARPGROUP, reason=reason))


def _swap(document: RolesDocument, place: Place, new: RoleEntry) -> RolesDocument:
    program = document.program(place.role)
    entries = getattr(program, place.phase)
    phases: dict[str, Any] = {
        place.phase: (*entries[: place.index], new, *entries[place.index + 1 :])
    }
    return _with(document, replace(program, **phases))


def _slot_waits(entry: RoleEntry, put: Callable[..., Edit]) -> Iterator[Edit]:
    reason = "put in by repair"
    if isinstance(entry, Mma | Compute):
        for ring in dict.fromkeys(s.ring for s in entry.slots):
            yield put(WaitFull(ring=ring, k=entry.k, reason=reason))
    if isinstance(entry, Load | Expect):
        yield put(WaitEmpty(ring=entry.ring, k=entry.k, reason=reason))
    if isinstance(entry, Compute):
        for ring in dict.fromkeys(s.ring for s in entry.fills_slots):
            yield put(WaitEmpty(ring=ring, k=entry.k, reason=reason))


def _stagings(entry: RoleEntry, put: Callable[..., Edit]) -> Iterator[Edit]:
    reason = "put in by repair"
    scopes = (entry.scope,) if isinstance(entry, BulkStore) else (Scope.WARP, Scope.WARPGROUP)
    for scope in scopes:
        sync = ScopeSync(scope=scope, reason=reason)
        if isinstance(entry, BulkStore):
            yield put(sync)
            yield put(ProxyFence(reason=reason), sync)
        else:
            yield put(sync)
            for pending in (1, 0):
                yield put(BulkWait(pending=pending, reason=reason), sync)
    if isinstance(entry, Compute):
        yield put(ProxyFence(reason=reason))


def _commits(document: RolesDocument) -> Iterator[Edit]:
    """Groups of products that nothing closes."""
    for p in document.programs:
        for phase in LISTS:
            entries = getattr(p, phase)
            for i, e in enumerate(entries):
                closed = i + 1 < len(entries) and isinstance(entries[i + 1], Commit | Mma)
                if isinstance(e, Mma) and not closed:
                    commit = Commit(reason="put in by repair")
                    words = f"Commit after {p.name}.{phase}[{i}]"
                    yield words, _put(document, p.name, phase, i + 1, commit)


def _endings(document: RolesDocument) -> Iterator[Edit]:
    """What a program leaves open: stores, and products that releases do not wait for."""
    reason = "put in by repair"
    for p in document.programs:
        for phase in LISTS:
            for i, e in enumerate(getattr(p, phase)):
                if isinstance(e, BulkStore):
                    commit = BulkCommit(reason=reason)
                    words = f"BulkCommit after {p.name}.{phase}[{i}]"
                    yield words, _put(document, p.name, phase, i + 1, commit)
                if isinstance(e, Arrive):
                    for pending in (1, 0):
                        wait = WaitGroup(pending=pending, reason=reason)
                        words = f"WaitGroup {pending} before {p.name}.{phase}[{i}]"
                        yield words, _put(document, p.name, phase, i, wait)
        end = len(p.epilogue)
        last = WaitGroup(pending=0, reason=reason)
        yield f"WaitGroup 0 ends {p.name}", _put(document, p.name, "epilogue", end, last)
        stores = BulkWait(pending=0, source_read=False, reason=reason)
        yield f"BulkWait 0 ends {p.name}", _put(document, p.name, "finish", 0, stores)


def _met(document: RolesDocument) -> RolesDocument:
    """CTAs of a cluster leave together."""
    last = ClusterSync(reason="put in by repair")
    return replace(
        document,
        programs=tuple(
            p
            if any(isinstance(e, ClusterSync) for e in p.finish)
            else replace(p, finish=(*p.finish, last))
            for p in document.programs
        ),
    )


def _counts(document: RolesDocument) -> Iterator[Edit]:
    """Arrival counts of rings as the arrivals of their readers make them."""
    for i, ring in enumerate(document.rings):
        total = 0
        for p in document.programs:
            entries = [e for phase in LISTS for e in getattr(p, phase)]
            mine = [e for e in entries if isinstance(e, Arrive) and e.ring == ring.name]
            mine = [e for e in mine if e.side.value == "empty"]
            if mine:
                per = {Scope.THREAD: p.threads, Scope.WARP: 32, Scope.WARPGROUP: 128}[mine[0].scope]
                total += p.instances * max(1, p.threads // per) * mine[0].ctas
        for words, count in (("full", {"full_arrivals": 1}), ("empty", {"empty_arrivals": total})):
            if words == "full" or total:
                rings = list(document.rings)
                rings[i] = replace(ring, **count)  # type: ignore[arg-type]
                yield f"arrivals on {words} of {ring.name}", replace(document, rings=tuple(rings))


def _fillings(document: RolesDocument) -> Iterator[Edit]:
    """Bytes that are announced, for every slot that copies fill."""
    sizes = {r.name: sum(p.bytes for p in r.parts) for r in document.rings}
    reason = "put in by repair"
    for p in document.programs:
        for phase in LISTS:
            entries = getattr(p, phase)
            for i, e in enumerate(entries):
                if isinstance(e, Load):
                    told = Expect(ring=e.ring, k=e.k, bytes=sizes[e.ring], reason=reason)
                    words = f"Expect before {p.name}.{phase}[{i}]"
                    yield words, _put(document, p.name, phase, i, told)
                if isinstance(e, Expect) and e.bytes != sizes[e.ring]:
                    phases: dict[str, Any] = {
                        phase: (
                            *entries[:i],
                            replace(e, bytes=sizes[e.ring]),
                            *entries[i + 1 :],
                        )
                    }
                    words = f"bytes of {p.name}.{phase}[{i}]"
                    yield words, _with(document, replace(p, **phases))


def _fills(document: RolesDocument) -> Iterator[tuple[RoleProgram, str, int, Compute]]:
    """Every op that writes to slots itself."""
    for p in document.programs:
        for phase in LISTS:
            for i, e in enumerate(getattr(p, phase)):
                if isinstance(e, Compute) and e.fills_slots:
                    yield p, phase, i, e


def _fenced(document: RolesDocument) -> Iterator[Edit]:
    for p, phase, i, _ in _fills(document):
        fence = ProxyFence(reason="put in by repair")
        yield f"ProxyFence after {p.name}.{phase}[{i}]", _put(document, p.name, phase, i + 1, fence)


def _announced(document: RolesDocument) -> Iterator[Edit]:
    """An arrival on ``full`` after what roles write to slots themselves."""
    for p, phase, i, e in _fills(document):
        listed = getattr(p, phase)
        after = [j for j in range(i, len(listed)) if isinstance(listed[j], ScopeSync)]
        at = after[0] + 1 if after else i + 1
        for ring in dict.fromkeys(s.ring for s in e.fills_slots):
            told = Arrive(ring=ring, k=e.k, side=Side.FULL, reason="put in by repair")
            words = f"Arrive full {ring} at {p.name}.{phase}[{at}]"
            yield words, _put(document, p.name, phase, at, told)


def _releases(document: RolesDocument) -> Iterator[Edit]:
    """A release after every wait for groups and at the end of lists, of every ring read there."""
    reason = "put in by repair"
    for p in document.programs:
        entries = [e for phase in LISTS for e in getattr(p, phase)]
        rings = dict.fromkeys(
            s.ring for e in entries if isinstance(e, Mma | Compute) for s in e.slots
        )
        ctas = max((e.ctas for e in entries if isinstance(e, Arrive)), default=1)
        for ring in rings:
            for phase in LISTS:
                listed = getattr(p, phase)
                spots = [i + 1 for i, e in enumerate(listed) if isinstance(e, WaitGroup | Compute)]
                for at in dict.fromkeys([*spots, len(listed)]):
                    for k in (0, -1):
                        free = Arrive(ring=ring, k=k, ctas=ctas, reason=reason)
                        words = f"Arrive {ring} k{k:+d} at {p.name}.{phase}[{at}]"
                        yield words, _put(document, p.name, phase, at, free)


def _turns(document: RolesDocument) -> Iterator[Edit]:
    """Turns on a named barrier: taken before the products, given after them."""
    reason = "put in by repair"
    for b in document.barriers:
        for p in document.programs:
            entries = [e for _, listed in p.phases() for e in listed]
            if not any(isinstance(e, NamedSync | NamedArrive) for e in entries):
                continue
            turn = 1 if b.count > 1 else 0
            for phase in LISTS:
                listed = getattr(p, phase)
                after = [i + 1 for i, e in enumerate(listed) if isinstance(e, Commit)]
                fences = [i for i, e in enumerate(listed) if isinstance(e, MmaFence)]
                spots = [("take", i) for i in (*fences, 0)]
                for act, i in (*spots, *(("give", i) for i in (*after, 0, len(listed)))):
                    new: RoleEntry = NamedSync(barrier=b.name, reason=reason)
                    if act == "give":
                        new = NamedArrive(barrier=b.name, turn=turn, reason=reason)
                    words = f"{type(new).__name__} {b.name} before {p.name}.{phase}[{i}]"
                    yield words, _put(document, p.name, phase, i, new)
            for i in range(p.instances):
                first = NamedArrive(barrier=b.name, turn=turn, instance=i, reason=reason)
                yield f"first turn by instance {i}", _put(document, p.name, "setup", 0, first)
                last = NamedSync(barrier=b.name, instance=i, reason=reason)
                yield f"last turn to instance {i}", _put(document, p.name, "finish", 0, last)
