"""When things happen: which agent runs next, and when what runs by itself completes.

Copies, MMAs and bulk stores complete by themselves. ``in_order`` completes each at once and takes
agents in turn. ``random`` completes any of them at any time. ``adversarial`` prefers what breaks a
missing wait: MMAs and stores read their operands as late as a wait allows, copies land at once or
as late as possible, and agents starve: one runs until it blocks while the others stand still.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from warploom.dataclass import dataclass
from warploom.errors import ConfigError, InterpreterError

TIMINGS = ("in_order", "random", "adversarial")
Step = Iterator["Blocked | None"]


@dataclass(frozen=True, slots=True)
class Blocked:
    """An agent waits until ``ready`` holds; ``what`` says for what."""

    ready: Callable[[], bool]
    what: str


@dataclass
class Agent:
    """Somebody who executes a program: its steps, and what it waits for."""

    name: str
    steps: Step
    waits: Blocked | None = None
    done: bool = False

    def can_run(self) -> bool:
        """Whether it may take a step now."""
        return not self.done and (self.waits is None or self.waits.ready())

    def step(self) -> None:
        """Take one step: up to the next scheduling point or wait."""
        self.waits = None
        try:
            self.waits = next(self.steps)
        except StopIteration:
            self.done = True


@dataclass
class Event:
    """Something that completes by itself; ``late`` ones go last under adversarial timing."""

    run: Callable[[], None]
    late: bool = True
    over: bool = False

    def complete(self) -> None:
        """Let it happen, once."""
        if not self.over:
            self.over = True
            self.run()


class TooLongError(InterpreterError):
    """An execution takes more operations than it may."""


@dataclass
class Scheduler:
    """Runs agents and events to their end under a timing."""

    timing: str
    seed: int
    agents: list[Agent] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    most: int | None = None  # steps of all agents together
    taken: int = 0

    def __post_init__(self) -> None:
        if self.timing not in TIMINGS:
            raise ConfigError(f"timing={self.timing!r}", fix=", ".join(TIMINGS))
        self._random = random.Random(self.seed)

    def _count(self) -> None:
        self.taken += 1
        if self.most is not None and self.taken > self.most:
            raise TooLongError(
                f"more than {self.most} operations",
                why="the sizes are too large to execute here, or a loop does not end",
                fix="smaller tiles, or fewer of them",
            )

    def add(self, run: Callable[[], None], *, may_be_early: bool = False) -> Event:
        """Something that completes by itself from now on."""
        event = Event(run)
        if self.timing == "in_order":
            event.complete()
            return event
        if self.timing == "adversarial" and may_be_early:
            event.late = self._random.random() < 0.5
            if not event.late:
                event.complete()
                return event
        self.events.append(event)
        return event

    def run(self) -> None:
        """Until every agent is done; ``InterpreterError`` for a deadlock."""
        if self.timing == "adversarial":
            self._random.shuffle(self.agents)
        elif self.timing == "in_order":
            return self._in_turn()
        while True:
            self.events = [e for e in self.events if not e.over]
            ready = [a for a in self.agents if a.can_run()]
            if not ready and not self.events:
                break
            self._count()
            self._one(ready)
        self._finish()
        return None

    def _one(self, ready: list[Agent]) -> None:
        if self.timing == "adversarial":
            if ready:
                ready[0].step()
                if self._random.random() < 0.02:  # who starves changes
                    self._random.shuffle(self.agents)
            else:
                self._random.choice(self.events).complete()
            return
        chosen: Any = self._random.choice([*ready, *self.events])
        if isinstance(chosen, Agent):
            chosen.step()
        else:
            chosen.complete()

    def _in_turn(self) -> None:
        while True:
            moved = False
            for agent in self.agents:
                if agent.can_run():
                    self._count()
                    agent.step()
                    moved = True
            if not moved:
                break
        self._finish()

    def _finish(self) -> None:
        for event in self.events:
            event.complete()
        left = [a for a in self.agents if not a.done]
        if left:
            told = "; ".join(f"{a.name} waits for {a.waits.what}" for a in left[:8] if a.waits)
            raise InterpreterError(
                "deadlock: nobody can go on",
                where=told,
                why="every agent waits for something that no other will do",
                fix="compare arrivals and waits in the module's listing",
            )
