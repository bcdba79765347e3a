"""Random runs: who is quick and who is slow is drawn anew for every run."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from warploom.document.roles import RolesDocument
from warploom.errors import ConfigError
from warploom.run.roles.exchange import run_exchanges
from warploom.run.roles.machine import Action, Machine
from warploom.run.roles.meaning import Outputs, meaning
from warploom.run.roles.memory import Copy, Fault, Values
from warploom.run.roles.program import Plan

_SPREAD = 20.0  # speeds differ by up to 2 ** 20: whoever is slow waits for all others
_CHANGES = (0.0, 0.01, 0.05)  # chance of new speeds at a step, one of these a run
_SOFT = ("settle", "see")


@dataclass(slots=True)
class Pace:
    """How likely each thing is to happen next: a speed for each agent, ring and kind of action,
    drawn anew now and then.
    """

    rng: random.Random
    changes: float
    speeds: dict[tuple[str, object], float]

    @classmethod
    def drawn(cls, seed: int) -> Pace:
        """The pace of one run."""
        rng = random.Random(seed)
        return cls(rng, rng.choice(_CHANGES), {})

    def choose(self, actions: list[Action]) -> Action:
        """The next action."""
        if self.rng.random() < self.changes:
            self.speeds.clear()
        if len(actions) == 1:
            return actions[0]
        return self.rng.choices(actions, [self._speed(a) for a in actions])[0]

    def _speed(self, action: Action) -> float:
        kind, agent, item = action
        key = (kind, item.key[1] if isinstance(item, Copy) else agent)
        if key not in self.speeds:
            self.speeds[key] = 2.0 ** self.rng.uniform(-_SPREAD / 2, _SPREAD / 2)
        return self.speeds[key]


def run_once(
    plan: Plan,
    seed: int,
    *,
    expected: Outputs,
    values: Values,
    watch: Callable[[Machine, Action], None] | None = None,
) -> None:
    """One random run; ``Fault`` when it goes wrong or stores other values than ``expected``.

    ``watch`` sees every action before it happens.
    """
    machine, pace = Machine(plan, values), Pace.drawn(seed)
    while not all(a.done for a in machine.agents):
        actions = machine.actions()
        if all(kind in _SOFT for kind, _, _ in actions):
            raise Fault("deadlock")
        action = pace.choose(actions)
        if watch is not None:
            watch(machine, action)
        machine.perform(action)
    if machine.outputs != expected:
        raise Fault("wrong values are stored")


def first_fault(
    document: RolesDocument,
    tiles: Sequence[int],
    seeds: Iterable[int],
    *,
    intended: RolesDocument | None = None,
) -> str | None:
    """The first fault in random runs, or None. Outputs must be those ``intended`` means."""
    _check(document, tiles)
    values = Values()
    expected = meaning(intended or document, tiles, values)
    plan = Plan.of(document, tiles)
    for seed in seeds:
        try:
            run_exchanges(document, seed)
            run_once(plan, seed, expected=expected, values=values)
        except Fault as fault:
            return str(fault)
    return None


def _check(document: RolesDocument, tiles: Sequence[int]) -> None:
    least = max(document.minimum_trips, 1)
    if not tiles or min(tiles) < least:
        raise ConfigError(
            f"tiles {tuple(tiles)} of {document.name!r}",
            where="first_fault",
            why=f"a tile has at least {least} iteration(s)",
            fix="longer tiles",
        )
