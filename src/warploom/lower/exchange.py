"""How CTAs meet in global memory: what a split loop and tiles in turn declare."""

from __future__ import annotations

from warploom.document.exchange import Exchange
from warploom.document.flow import Across
from warploom.guard.mbarrier.exchanges import STATES, SUMS, TURNS
from warploom.kernel.values import Store
from warploom.lower.layout import Layout
from warploom.lower.loop_ops import CONSUMER
from warploom.lower.meet import MEET, meeting_of
from warploom.lower.plan import store_name
from warploom.lower.visits import takes_turns

TURN_SLOTS = 4  # turns the usher may be ahead of the clerk


def exchanges_of(layout: Layout) -> tuple[Exchange, ...]:
    """The exchanges of a loop."""
    found = []
    if layout.tiling.split > 1:
        sums = meeting_of(layout.body).top is None
        found.append(
            Exchange(
                role=CONSUMER,
                op=MEET,
                across=Across.PARTS,
                steps=SUMS if sums else STATES,
                parts=layout.tiling.split,
                kept=sums,
            )
        )
    if takes_turns(layout.body.kernel):
        adds = next(op for op in layout.body.loop.body if isinstance(op, Store))
        found.append(
            Exchange(
                role=CONSUMER,
                op=store_name(adds),
                across=Across.TURNS,
                steps=TURNS,
                slots=TURN_SLOTS,
            )
        )
    return tuple(found)
