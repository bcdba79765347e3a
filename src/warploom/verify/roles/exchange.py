"""Where CTAs meet: at the ops that are declared so, in steps that are in order (``meetings``)."""

from collections.abc import Iterator
from dataclasses import replace

from warploom.ir.dataflow import Across, Exchange, ExchangeStep, Flow
from warploom.ir.mbarrier_dialect import (
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
from warploom.verify.roles.meetings import judge_exchange

_OWN = Compute | BulkStore | BulkWait | BulkCommit | ProxyFence | ScopeSync
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
            yield _finding(document, why, fix, _places(document, *key))
    for exchange in document.exchanges:
        parts = exchange.across is not Across.TURNS
        for i, why, fix in judge_exchange(exchange):
            words = why if i is None else f"step {i}, {_words(exchange.steps[i])}: {why}"
            place = _places(document, exchange.role, exchange.op)
            yield replace(_finding(document, words, fix, place), about=(exchange.op, why))
        yield from (_after if parts else _in_order)(document, exchange)


def undeclared(document: RolesDocument) -> tuple[str, ...]:
    """Documents from before CTAs' meetings were declared: nobody can check how parts meet."""
    ops = document.flow.ops if document.flow else ()
    old = any(op.name == MEET and not op.across for op in ops) and not document.exchanges
    return ("the document does not declare how CTAs that share a tile meet",) if old else ()


def _finding(document: RolesDocument, why: str, fix: str, where: tuple[Place, ...]) -> Finding:
    """CTAs meet at the first tile as at any other."""
    tiles = (max(document.minimum_trips, 1),)
    return Finding(code=Code.EXCHANGE, why=why, fix=fix, where=where, tiles=tiles)


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
            why = f"{describe(e)} follows the meeting of parts, which the last one alone leaves: "
            place = Place(role=exchange.role, phase="epilogue", index=i, entry=describe(e))
            fix = "put it before the op at which parts meet"
            yield _finding(document, f"{why}the others never execute it", fix, (place,))
        met |= getattr(e, "op", "") == exchange.op
    yield from _counted(document, exchange)
    if not met:
        why = f"parts meet at {exchange.op}, which does not stand in the epilogue"
        yield _finding(document, why, "run it as a tile ends", ())


def _counted(document: RolesDocument, exchange: Exchange) -> Iterator[Finding]:
    """Groups of stores behind the meeting are missing in the counts of those who do not leave it,
    so none from before it may be unfinished there: later waits would leave it to be one too many.
    """
    program = document.program(exchange.role)
    row = program.epilogue
    at = next((i for i, e in enumerate(row) if getattr(e, "op", "") == exchange.op), len(row))
    if not any(isinstance(e, BulkCommit) for e in row[at:]):
        return
    for loop in ((), program.kernel):
        unfinished = False
        for e in (*program.prologue, *loop, *row[:at]):
            unfinished |= isinstance(e, BulkCommit)
            unfinished &= not (isinstance(e, BulkWait) and e.pending == 0)
        if unfinished:
            why = (
                "stores of the loop are unfinished where parts meet, and only the last one commits"
            )
            fix = "BulkWait 0 before the op at which parts meet"
            where = _places(document, exchange.role, exchange.op)
            yield _finding(document, f"{why} more: the others' waits count too few", fix, where)
            return


def _in_order(document: RolesDocument, exchange: Exchange) -> Iterator[Finding]:
    """Turns are taken in the order of the iterations: the acquire warp opens them so."""
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
