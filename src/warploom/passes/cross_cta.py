"""How CTAs meet in global memory: what a split loop and tiles in turn declare.

Parts that only sum leave what they have, except the last one to come: it waits for parts that are
writing, so any number of CTAs may run at a time. Sums that depend on a maximum are left by all
parts, and drawing says at once that they are there. Turns are opened and given on by spare warps,
so that nobody who computes waits for an answer of the L2 or for a fence.
"""

from __future__ import annotations

from warploom.ir.dataflow import Across, Counted, Does, Exchange, ExchangeStep, Reach, Who
from warploom.ir.tile import Store
from warploom.passes.layout import Layout
from warploom.passes.loop_ops import CONSUMER
from warploom.passes.split_k import MEET, meeting_of
from warploom.passes.tile_order import takes_turns
from warploom.passes.warp_specialize import store_name

_GPU = Reach.GPU
TURN_SLOTS = 4  # turns the acquire warp may be ahead of the release warp


def exchanges_of(layout: Layout) -> tuple[Exchange, ...]:
    """The exchanges of a loop."""
    found = []
    if layout.config.split_k > 1:
        sums, near = meeting_of(layout.body).top is None, layout.config.split_k_in_cluster
        found.append(
            Exchange(
                role=CONSUMER,
                op=MEET,
                across=Across.NEAR if near else Across.PARTS,
                steps=NEAR if near else SUMS if sums else STATES,
                parts=layout.config.split_k,
                kept=sums,
            )
        )
    if takes_turns(layout.body.kernel):
        adds = next(op for op in layout.body.loop.body if isinstance(op, Store))
        found.append(
            Exchange(
                role=CONSUMER,
                op=store_name(layout, adds),
                across=Across.TURNS,
                steps=TURNS,
                slots=TURN_SLOTS,
            )
        )
    return tuple(found)


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
NEAR = (
    _step(Does.AWAIT, Who.SENDER, Counted.FREE, Reach.CLUSTER),
    _step(Does.WRITE, Who.SENDER),
    _step(Does.PUBLISH, Who.SENDER, Counted.FULL, Reach.CLUSTER),
    _step(Does.AWAIT, Who.OWNER, Counted.FULL, Reach.CLUSTER),
    _step(Does.READ, Who.OWNER),
    _step(Does.PUBLISH, Who.OWNER, Counted.FREE, Reach.CLUSTER),
)
TURNS = (
    _step(Does.AWAIT, Who.ACQUIRE_WARP, Counted.TURN, _GPU),
    _step(Does.AWAIT, Who.ACQUIRE_WARP, Counted.GIVEN),
    _step(Does.PUBLISH, Who.ACQUIRE_WARP, Counted.OPEN),
    _step(Does.AWAIT, Who.CONSUMER, Counted.OPEN),
    _step(Does.ADD, Who.CONSUMER),
    _step(Does.PUBLISH, Who.CONSUMER, Counted.DONE),
    _step(Does.AWAIT, Who.RELEASE_WARP, Counted.DONE),
    _step(Does.PUBLISH, Who.RELEASE_WARP, Counted.TURN, _GPU),
    _step(Does.PUBLISH, Who.RELEASE_WARP, Counted.GIVEN),
)
