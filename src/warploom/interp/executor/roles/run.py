"""Random runs, each with its own quick and slow agents, and the order that went wrong, in words.

A run follows from its tile lengths and its seed, so a witness can be run again: ``replay`` ends in
the same fault, or the document was repaired.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from warploom.errors import ConfigError
from warploom.interp.executor.roles.agent import Agent, Outputs, Store, meaning
from warploom.interp.executor.roles.exchange import run_exchanges
from warploom.interp.executor.roles.machine import Action, Machine
from warploom.interp.executor.roles.memory import Copy, Fault, Plan, Values
from warploom.ir.mbarrier_dialect import RolesDocument

_SPREAD = 20.0  # speeds differ by up to 2 ** 20: whoever is slow waits for all others
_CHANGES = (0.0, 0.01, 0.05)  # chance of new speeds at a step, one of these a run
_SOFT = ("settle", "see")


@dataclass(slots=True)
class Speeds:
    """How likely each thing is to happen next: a speed for each agent, ring and kind of action,
    drawn anew now and then.
    """

    rng: random.Random
    changes: float
    drawn_so_far: dict[tuple[str, object], float]

    @classmethod
    def drawn(cls, seed: int) -> Speeds:
        """Those of one run."""
        rng = random.Random(seed)
        return cls(rng, rng.choice(_CHANGES), {})

    def choose(self, actions: list[Action]) -> Action:
        """The next action."""
        if self.rng.random() < self.changes:
            self.drawn_so_far.clear()
        if len(actions) == 1:
            return actions[0]
        return self.rng.choices(actions, [self._speed(a) for a in actions])[0]

    def _speed(self, action: Action) -> float:
        kind, agent, item = action
        key = (kind, item.key[1] if isinstance(item, Copy) else agent)
        if key not in self.drawn_so_far:
            self.drawn_so_far[key] = 2.0 ** self.rng.uniform(-_SPREAD / 2, _SPREAD / 2)
        return self.drawn_so_far[key]


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
    machine, speeds = Machine(plan, values), Speeds.drawn(seed)
    while not all(a.done for a in machine.agents):
        actions = machine.actions()
        if all(kind in _SOFT for kind, _, _ in actions):
            raise Fault("deadlock")
        action = speeds.choose(actions)
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
    least = max(document.minimum_trips, 1)
    if not tiles or min(tiles) < least:
        raise ConfigError(
            f"tiles {tuple(tiles)} of {document.name!r}",
            where="first_fault",
            why=f"a tile has at least {least} iteration(s)",
            fix="longer tiles",
        )
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


SEEDS = range(150)
SHOWN = 14  # the last events of a run that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleWitness:
    """A run that goes wrong: tile lengths, seed, the last events in order, and what happened."""

    name: str
    tiles: tuple[int, ...]
    seed: int
    steps: tuple[str, ...]
    fault: str

    def text(self) -> str:
        """The witness as readable lines."""
        head = f"witness for {self.name!r}, tiles of {', '.join(map(str, self.tiles))} iteration(s)"
        return "\n".join([head, *(f"  {s}" for s in self.steps), f"  => {self.fault}"])


def role_witness(
    document: RolesDocument,
    sequences: Iterable[Sequence[int]],
    *,
    intended: RolesDocument | None = None,
    seeds: Iterable[int] = SEEDS,
) -> RoleWitness | None:
    """The first run over these tile lengths that goes wrong; None where none of those tried does.

    ``intended`` says what must be stored; without it the document's own order of ops does.
    """
    least = max(document.minimum_trips, 1)
    tried = list(seeds)
    for tiles in dict.fromkeys(tuple(max(n, least) for n in s) for s in sequences):
        for seed in tried:
            result = _run(document, tiles, seed, intended)
            if result is not None:
                return result
    return None


def replay(
    document: RolesDocument, witness: RoleWitness, *, intended: RolesDocument | None = None
) -> str | None:
    """The fault of the witness's run on a document, or None."""
    found = _run(document, witness.tiles, witness.seed, intended)
    return None if found is None else found.fault


def _run(
    document: RolesDocument, tiles: tuple[int, ...], seed: int, intended: RolesDocument | None
) -> RoleWitness | None:
    values = Values()
    expected = meaning(intended or document, tiles, values)
    told: list[str] = []

    def tell(machine: Machine, action: Action) -> None:
        told.append(_words(machine, action))

    try:
        run_exchanges(document, seed, told)
        run_once(Plan.of(document, tiles), seed, expected=expected, values=values, watch=tell)
    except Fault as fault:
        steps = [t for t in told if t][-SHOWN:]
        return RoleWitness(
            name=document.name, tiles=tiles, seed=seed, steps=tuple(steps), fault=str(fault)
        )
    return None


def _words(machine: Machine, action: Action) -> str:
    kind, agent, item = action
    if isinstance(item, Copy):
        _, ring, slot, part = item.key
        return f"the copy into {ring}.{part}, slot {slot}, lands"
    if not isinstance(agent, Agent):
        return ""
    who = f"{agent.program.name} {agent.plan.instance}"
    who += f" of CTA {agent.cta}" if machine.document.cluster > 1 else ""
    if kind == "first":
        step = agent.plan.steps[agent.at]
        where = f"tile {step.tile}, iteration {step.index}"
        return f"{who}: {_entry(step.entry)} ({where})"
    if kind == "product":
        return f"{who}: its oldest product {agent.products[0].mma.op} is over"
    if isinstance(item, Store):
        return f"{who}: a store reads its staging copy"
    return ""


def _entry(entry: object) -> str:
    names = [type(entry).__name__]
    names += [str(getattr(entry, n)) for n in ("op", "ring", "barrier") if hasattr(entry, n)]
    return " ".join(names)
