"""Timings: who runs when, and when data in flight lands.

A timing is a small value; ``drive`` turns it into a run. All of them are fair to the machine: an
operation lands between its issue and the wait that completes it, a wave passes a barrier when all
have arrived, and nothing else is promised.

``adversaries`` lists the deterministic timings that decide a schedule. For an ordered pair of waves
``Drift`` keeps the leader as far ahead of the laggard as barriers allow, lets the leader's data
move at once and the laggard's as late as its waits permit. If an access of one wave can overtake
an unfinished access of another in any run, it does so here: the laggard stands at the earliest
point that barriers permit for the leader's position, with everything unfinished that may be.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from warploom.errors import ConfigError
from warploom.run.machine import Flight, Machine
from warploom.run.program import Kind, Program
from warploom.run.script import Scripted, follow


@dataclass(frozen=True, slots=True)
class Early:
    """Everything lands the moment it is issued; waves take turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """Global loads (and stores), fragment reads, or both land only when a wait insists.

    ``youngest_first`` reverses the order of what lands together.
    """

    loads: bool = True
    reads: bool = True
    youngest_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Wave ``leader`` runs as far ahead of wave ``laggard`` as barriers allow."""

    leader: int
    laggard: int


@dataclass(frozen=True, slots=True)
class Random:
    """Waves in random order, data landing at random permitted moments; same seed, same run."""

    seed: int = 0


Timing = Early | Late | Drift | Random | Scripted


def adversaries(program: Program) -> tuple[Timing, ...]:
    """The deterministic timings that between them expose every pairwise race."""
    uniform: tuple[Timing, ...] = (
        Early(),
        Late(),
        Late(youngest_first=True),
        Late(reads=False),
        Late(loads=False),
    )
    first = {g: i for i, g in reversed(list(enumerate(program.group_of)))}
    last = {g: i for i, g in enumerate(program.group_of)}
    pairs = [(first[g], last[h]) for g in sorted(first) for h in sorted(last)]
    return uniform + tuple(Drift(leader=x, laggard=y) for x, y in pairs if x != y)


def drive(machine: Machine, timing: Timing) -> bool:
    """Run to the end. Returns False when the waves can no longer move (deadlock)."""
    match timing:
        case Early():
            return _in_turns(machine, _Policy(machine.program.waves))
        case Late(loads=loads, reads=reads, youngest_first=reverse):
            waves = range(machine.program.waves)
            policy = _Policy(
                len(waves),
                late_loads=frozenset(waves) if loads else frozenset(),
                late_reads=frozenset(waves) if reads else frozenset(),
                reverse=reverse,
            )
            return _in_turns(machine, policy)
        case Drift(leader=leader, laggard=laggard):
            _check_wave(machine, leader, laggard)
            late = frozenset((laggard,))
            policy = _Policy(machine.program.waves, late_loads=late, late_reads=late, reverse=True)
            rest = [w for w in range(machine.program.waves) if w not in (leader, laggard)]
            policy.rank = [leader, *rest, laggard]
            return _ranked(machine, policy)
        case Random(seed=seed):
            return _random(machine, random.Random(seed))
        case Scripted(witness=witness):
            return follow(machine, witness)


class _Policy:
    """Who goes first, and whose data is late."""

    def __init__(
        self,
        waves: int,
        *,
        late_loads: frozenset[int] = frozenset(),
        late_reads: frozenset[int] = frozenset(),
        reverse: bool = False,
    ) -> None:
        self.rank = list(range(waves))
        self.late_loads = late_loads
        self.late_reads = late_reads
        self.reverse = reverse

    def is_late(self, flight: Flight) -> bool:
        late = self.late_reads if flight.step.kind is Kind.READ else self.late_loads
        return flight.wave in late


def _ranked(machine: Machine, policy: _Policy) -> bool:
    """Always move the wave of best rank that can move.

    Only an arrival at a barrier can set a better one free, so a wave keeps its turn until then.
    """
    while True:
        wave = next((w for w in policy.rank if machine.can_step(w)), None)
        if wave is None:
            return machine.finished()
        arrived = machine.arrived[wave]
        while machine.arrived[wave] == arrived and machine.at[wave] < len(machine.steps[wave]):
            _advance(machine, wave, policy)


def _in_turns(machine: Machine, policy: _Policy) -> bool:
    """One step a wave, round and round."""
    moved = True
    while moved:
        moved = False
        for wave in policy.rank:
            if machine.can_step(wave):
                _advance(machine, wave, policy)
                moved = True
    return machine.finished()


def _advance(machine: Machine, wave: int, policy: _Policy) -> None:
    due = machine.due(wave)
    if due:
        _land_due(machine, wave, due, policy.reverse)
    flight = machine.step(wave)
    if flight is not None and not policy.is_late(flight):
        machine.land(flight)


def _land_due(machine: Machine, wave: int, due: Sequence[Flight], reverse: bool) -> None:
    """Land what a wait insists on; reversed, younger operations overtake older ones."""
    if not reverse:
        for flight in due:
            machine.land(flight)
        return
    slots = {s for flight in due for s in flight.step.slots}
    oldest = min(flight.order for flight in due)
    overtaking = [
        f
        for f in machine.in_flight(wave)
        if f in due or (f.order > oldest and slots.intersection(f.step.slots))
    ]
    for flight in sorted(overtaking, key=lambda f: -f.order):
        machine.land(flight)


def _random(machine: Machine, rng: random.Random) -> bool:
    """Random walk. Each run draws its own habits, so that runs differ in kind."""
    waves = machine.program.waves
    weights = [rng.choice((1, 1, 4, 40)) for _ in range(waves)]
    eagerness = [rng.choice((0.0, 0.05, 0.3, 1.0)) for _ in range(waves)]
    while True:
        ready = [w for w in range(waves) if machine.can_step(w)]
        if not ready:
            return machine.finished()
        wave = rng.choices(ready, [weights[w] for w in ready])[0]
        for _ in range(rng.choice((1, 1, 3, 12))):
            _land_some(machine, rng, eagerness)
            if not machine.can_step(wave):
                break
            due = machine.due(wave)
            rng.shuffle(due)
            for flight in due:
                machine.land(flight)
            machine.step(wave)
        if rng.random() < 0.02:
            weights = [rng.choice((1, 1, 4, 40)) for _ in range(waves)]


def _land_some(machine: Machine, rng: random.Random, eagerness: Sequence[float]) -> None:
    for wave, chance in enumerate(eagerness):
        if chance == 0.0:
            continue
        for flight in machine.in_flight(wave):
            if rng.random() >= chance:
                continue
            if flight.step.kind is Kind.READ and rng.random() < 0.5:
                machine.land(flight, rng.choice(flight.shares))
            else:
                machine.land(flight)


def _check_wave(machine: Machine, *waves: int) -> None:
    for wave in waves:
        if not 0 <= wave < machine.program.waves:
            raise ConfigError(
                f"wave {wave} is not among the {machine.program.waves} waves that are run",
                fix="waves are numbered from 0, group by group",
            )
