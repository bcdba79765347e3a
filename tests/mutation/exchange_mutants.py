"""Mutants of how CTAs meet: every single edit of every step of an exchange.

Leave a step out, do it twice, swap it with its neighbour or move it to the front or the end, give
it to others, let it count or await another flag, reach less far, wait for fewer or more, mean
another part or turn; take turns in another order than tiles are begun; leave the exchange out.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from tests.mutation.role_mutants import RoleMutant
from warploom.errors import DocumentError
from warploom.ir.dataflow import Across, Counted, Exchange, ExchangeStep, Reach, Rows, Who
from warploom.ir.document_checks import check_document, check_exchange
from warploom.ir.mbarrier_dialect import RolesDocument


def exchange_mutants(document: RolesDocument) -> Iterator[RoleMutant]:
    """All mutants of the exchanges of a document that are documents; none equals another."""
    seen = {document}
    for i, exchange in enumerate(document.exchanges):
        for operator, at, new in _edits(exchange):
            others = (*document.exchanges[:i], *new, *document.exchanges[i + 1 :])
            mutant = replace(document, exchanges=others)
            if mutant in seen or not _readable(mutant):
                continue
            seen.add(mutant)
            yield RoleMutant(
                operator=operator, where=f"exchange at {exchange.op}{at}", document=mutant
            )


def edited(exchange: Exchange, rng: random.Random) -> Exchange:
    """One edit of a step, drawn at random; of the exchange itself where nothing else is left."""
    every = [new[0] for _, _, new in _edits(exchange) if new and new[0] != exchange]
    while True:
        new = rng.choice(every)
        try:
            check_exchange(new)
        except DocumentError:
            continue
        return new


def _readable(document: RolesDocument) -> bool:
    try:
        check_document(document)
    except DocumentError:
        return False
    return True


def _edits(exchange: Exchange) -> Iterator[tuple[str, str, tuple[Exchange, ...]]]:
    yield "drop exchange", "", ()
    if exchange.across is Across.TURNS:
        yield "turns the other way", "", (replace(exchange, turns=Rows.UP),)
        yield "visits the other way", "", (replace(exchange, visits=Rows.UP),)
    steps = exchange.steps
    for i, step in enumerate(steps):
        where = f"[{i}] {step.does} {step.flag} by {step.by}"
        rest = (*steps[:i], *steps[i + 1 :])
        rows = [("drop step", rest), ("step twice", (*steps[:i], step, *steps[i:]))]
        rows += [("step first", (step, *rest)), ("step last", (*rest, step))]
        if i + 1 < len(steps):
            rows.append(("swap steps", (*steps[:i], steps[i + 1], step, *steps[i + 2 :])))
        rows += [(name, (*steps[:i], new, *steps[i + 1 :])) for name, new in _changed(step)]
        for name, row in rows:
            yield name, where, (replace(exchange, steps=row),)


def _changed(step: ExchangeStep) -> Iterator[tuple[str, ExchangeStep]]:
    for who in Who:
        yield "step by others", replace(step, by=who)
    for flag in Counted:
        yield "another flag", replace(step, flag=flag)
    for reach in Reach:
        yield "another reach", replace(step, reach=reach)
    for n in (-1, 1):
        yield "fewer or more", replace(step, less=n)
        yield "another part or turn", replace(step, at=n)
