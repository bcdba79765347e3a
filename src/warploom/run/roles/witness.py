"""An order of events in which a role program goes wrong, found by random runs and told in words.

A run follows from its tile lengths and its seed, so a witness can be run again: ``replay`` ends in
the same fault, or the document was mended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warploom.document.roles import RolesDocument
from warploom.run.roles.agent import Agent, Store
from warploom.run.roles.exchange import run_exchanges
from warploom.run.roles.machine import Action, Machine
from warploom.run.roles.meaning import meaning
from warploom.run.roles.memory import Copy, Fault, Values
from warploom.run.roles.program import Plan
from warploom.run.roles.run import run_once

SEEDS = range(150)
SHOWN = 14  # the last events of a run that are told


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
            found = _run(document, tiles, seed, intended)
            if found is not None:
                return found
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
