"""What CTAs that meet in global memory do, step by step: parts of a loop, and tiles in turn.

Parts that only sum leave what they have, except the last one to come: it waits for parts that are
writing, so any number of CTAs may run at a time. Sums that depend on a maximum are left by all
parts, and drawing says at once that they are there. Turns are opened and given on by spare warps,
so that nobody who computes waits for an answer of the L2 or for a fence.
"""

from __future__ import annotations

from warploom.document.exchange import Counted, Does, ExchangeStep, Reach, Who

_GPU = Reach.GPU


def _step(
    does: Does, by: Who, flag: Counted = Counted.NOTHING, reach: Reach = Reach.CTA
) -> ExchangeStep:
    return ExchangeStep(does=does, by=by, flag=flag, reach=reach)


SUMS = (
    _step(Does.DRAW, Who.ALL),
    _step(Does.WRITE, Who.OTHERS),
    _step(Does.SYNC, Who.OTHERS),
    _step(Does.PUBLISH, Who.OTHERS, Counted.LEFT, _GPU),
    _step(Does.AWAIT, Who.LAST, Counted.LEFT, _GPU),
    _step(Does.CLEAR, Who.LAST),
    _step(Does.SYNC, Who.LAST),
    _step(Does.READ, Who.LAST),
)
STATES = (
    _step(Does.WRITE, Who.ALL),
    _step(Does.SYNC, Who.ALL),
    _step(Does.DRAW, Who.ALL, reach=_GPU),
    _step(Does.CLEAR, Who.LAST),
    _step(Does.READ, Who.LAST),
)
TURNS = (
    _step(Does.AWAIT, Who.USHER, Counted.TURN, _GPU),
    _step(Does.AWAIT, Who.USHER, Counted.GIVEN),
    _step(Does.PUBLISH, Who.USHER, Counted.OPEN),
    _step(Does.AWAIT, Who.CONSUMER, Counted.OPEN),
    _step(Does.ADD, Who.CONSUMER),
    _step(Does.PUBLISH, Who.CONSUMER, Counted.DONE),
    _step(Does.AWAIT, Who.CLERK, Counted.DONE),
    _step(Does.PUBLISH, Who.CLERK, Counted.TURN, _GPU),
    _step(Does.PUBLISH, Who.CLERK, Counted.GIVEN),
)
