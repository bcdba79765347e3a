"""Edits that may mend how CTAs meet: a step that counts, waits or joins is put in or corrected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warploom.document.flow import Across, Counted, Does, Exchange, ExchangeStep, Reach, Who
from warploom.document.roles import RolesDocument

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
            (Does.AWAIT, Who.USHER, Counted.TURN),
            (Does.AWAIT, Who.USHER, Counted.GIVEN),
            (Does.PUBLISH, Who.USHER, Counted.OPEN),
            (Does.AWAIT, Who.CONSUMER, Counted.OPEN),
            (Does.PUBLISH, Who.CONSUMER, Counted.DONE),
            (Does.AWAIT, Who.CLERK, Counted.DONE),
            (Does.PUBLISH, Who.CLERK, Counted.TURN),
            (Does.PUBLISH, Who.CLERK, Counted.GIVEN),
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
