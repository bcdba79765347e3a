"""When asynchronous work takes effect, and which wave runs next: the emulator's adversaries.

A DMA may write LDS at any moment between its issue and the wait that retires it; a fragment read
may sample LDS in the same window. Hardware promises no more, so correct code gives the same result
for every choice. Registers are poisoned at issue and written at retirement in every timing: reading
one in between is wrong at any speed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Moment(Enum):
    """When one kind of asynchronous work takes effect."""

    ISSUE = "issue"
    RETIRE = "retire"
    RANDOM = "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Moments for DMA writes and LDS reads.

    ``stalls``: issuing beyond a counter's capacity waits for the oldest, as the chip does; without
    it the queues are unbounded, which allows more timings than the chip has.
    """

    name: str
    dma: Moment
    read: Moment
    seed: int = 0
    stalls: bool = True


LATE = Timing(name="late", dma=Moment.RETIRE, read=Moment.RETIRE)
EARLY = Timing(name="early", dma=Moment.ISSUE, read=Moment.ISSUE)
# The two mixed cases: data as late as possible under an eager reader, and the reverse.
STARVED = Timing(name="starved", dma=Moment.RETIRE, read=Moment.ISSUE)
TRAMPLED = Timing(name="trampled", dma=Moment.ISSUE, read=Moment.RETIRE)


def random_timing(seed: int) -> Timing:
    """Every piece of work takes effect at a moment of its own."""
    return Timing(name=f"random-{seed}", dma=Moment.RANDOM, read=Moment.RANDOM, seed=seed)


def timing_named(name: str) -> Timing | None:
    """``late``, ``early``, ``starved``, ``trampled`` or ``random[-SEED]``."""
    fixed = {t.name: t for t in (LATE, EARLY, STARVED, TRAMPLED)}
    if name in fixed:
        return fixed[name]
    word, _, seed = name.partition("-")
    if word == "random" and (not seed or seed.isdigit()):
        return random_timing(int(seed or 0))
    return None


class Order(Enum):
    """How waves take turns between barriers."""

    FORWARD = "forward"  # wave 0 as far as it gets, then wave 1, ...
    REVERSE = "reverse"
    SHUFFLED = "shuffled"  # a fixed random priority
    MIXED = "mixed"  # random waves for random numbers of instructions


class Turns:
    """Chooses the next wave and for how many instructions it runs."""

    def __init__(self, order: Order, waves: int, seed: int) -> None:
        self._random = random.Random(seed)
        self._mixed = order is Order.MIXED
        self._priority = list(range(waves))
        if order is Order.REVERSE:
            self._priority.reverse()
        if order is Order.SHUFFLED:
            self._random.shuffle(self._priority)

    def next(self, runnable: Sequence[int]) -> tuple[int, int]:
        """``(wave, instructions)``; 0 instructions means until it blocks."""
        if self._mixed:
            return self._random.choice(runnable), self._random.randint(1, 60)
        ready = set(runnable)
        return next(w for w in self._priority if w in ready), 0
