"""Every interleaving of CTAs that meet in global memory: an oracle that shares nothing with others.

Memory is weak and has values. What a thread writes waits in its own list until something makes it
land: a publish or draw at reach gpu of a thread that has the list (threads that meet share theirs,
and so do those of a CTA by its flags). What a thread reads is its own copy until it looks again: an
await or draw at reach gpu. Each exchange is explored with writes that land as late as they may,
with writes that land at once, and with awaits of reach cta passed by what follows them.
"""

from __future__ import annotations

import random

from tests.modelcheck.worlds import (
    AHEAD,
    AT_ONCE,
    LATE,
    LIMIT,
    PARTS,
    TURNS,
    UNDECIDED,
    Near,
    Parts,
    Turns,
    World,
    Wrong,
)
from tests.mutation.exchange_mutants import edited
from warploom.interp.executor.roles import Fault
from warploom.interp.executor.roles.exchange import run_exchange
from warploom.ir.dataflow import Across, Exchange
from warploom.passes.cross_cta import NEAR, STATES, SUMS, TURNS as TURN_STEPS
from warploom.verify.roles.meetings import judge_exchange


def check_exchange(exchange: Exchange, limit: int = LIMIT) -> str | None:
    """What goes wrong in some interleaving; None where nothing does."""
    verdict = None
    for mode in (LATE, AT_ONCE, AHEAD):
        if exchange.across is Across.PARTS:
            worlds: list[World] = [Parts(exchange, mode, *n) for n in PARTS]
        elif exchange.across is Across.NEAR:
            worlds = [Near(exchange, mode, *n) for n in ((1, 3), (2, 3))]
        else:
            worlds = [Turns(exchange, mode, *n) for n in TURNS]
        for world in worlds:
            try:
                verdict = world.explore(limit) or verdict
            except Wrong as wrong:
                return str(wrong)
    return verdict


MEET = {"role": "consumer", "op": "meet", "parts": 4, "across": Across.PARTS}
SHIPPED = (
    Exchange(steps=SUMS, kept=True, **MEET),
    Exchange(steps=STATES, **MEET),
    Exchange(steps=NEAR, kept=True, **MEET | {"across": Across.NEAR}),
    Exchange(role="consumer", op="store_dq", across=Across.TURNS, steps=TURN_STEPS, slots=4),
)


def random_exchange(seed: int) -> Exchange:
    """A shipped exchange after one to four edits."""
    rng = random.Random(f"exchange {seed}")
    found = rng.choice(SHIPPED)
    for _ in range(rng.choice((1, 2, 2, 3, 4))):
        found = edited(found, rng)
    return found


def compare(seed: int, limit: int = LIMIT) -> tuple[str, str]:
    """The truth about a random exchange (or who is wrong about it), and the verdict."""
    exchange = random_exchange(seed)
    clean = not judge_exchange(exchange)
    truth = check_exchange(exchange, limit)
    verdict = "clean" if clean else "race"
    if truth == UNDECIDED:
        return UNDECIDED, verdict
    ran = any(_fault(exchange, n) for n in range(12 if truth is None else 200))
    if clean and (truth or ran):
        return "missed", verdict
    if truth is None and not clean:
        ran = any(_fault(exchange, n) for n in range(200))
        return ("wrong" if ran else "false"), verdict
    return ("right" if truth is None else "wrong"), verdict


def _fault(exchange: Exchange, seed: int) -> bool:
    try:
        run_exchange(exchange, seed)
    except Fault:
        return True
    return False
