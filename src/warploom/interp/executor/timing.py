"""Timings: who runs when, and when data in flight lands; or all exactly as a witness says.

A wave stands at a wait for an operation that is held until the witness lets that take effect, as
on the machine. A witness that is not admissible (it lands an operation that was not issued) is
refused: it would show nothing.

A timing is a small value; ``drive`` turns it into a run. All of them are fair to the machine: an
operation lands between its issue and the wait that completes it, a wave passes a barrier when all
have arrived, and nothing else is promised.

``adversaries`` lists the deterministic timings that decide a schedule. For an ordered pair of waves
``Drift`` keeps the leader as far ahead of the laggard as barriers allow, lets the leader's data
move at once and the laggard's as late as its waits permit. If an access of one wave can overtake
an unfinished access of another in any run, it does so here: the laggard stands at the earliest
point that barriers permit for the leader's position, with everything unfinished that may be.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from warploom.errors import ConfigError, DocumentError
from warploom.interp.executor.machine import Flight, Machine
from warploom.interp.executor.program import Kind, Place, Program, Step as ProgramStep
from warploom.ir.schedule_ops import Phase
from warploom.ir.witness import Point, Step, StepKind, Witness

_Key = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Scripted:
    """Follow a witness step by step."""

    witness: Witness


def groups_of(witness: Witness, groups: int) -> tuple[int, ...]:
    """The group of every wave the witness runs."""
    for i, wave in enumerate(witness.waves):
        if not 0 <= wave.group < groups:
            raise DocumentError(
                f"{wave} is in a group the schedule does not have", path=f"$.waves[{i}]"
            )
    if not witness.waves:
        raise DocumentError("a witness without waves", path="$.waves")
    return tuple(w.group for w in witness.waves)


def follow(machine: Machine, witness: Witness) -> bool:
    """Run the witness on the machine. Returns False on deadlock."""
    return _Player(machine, witness).play()


class _Player:
    def __init__(self, machine: Machine, witness: Witness) -> None:
        self.machine = machine
        self.witness = witness
        self.number = {wave: i for i, wave in enumerate(witness.waves)}
        self.limits = [0] * len(witness.waves)
        self.held: dict[tuple[int, _Key], Flight | None] = {}
        for i, step in enumerate(witness.steps):
            if step.kind is not StepKind.ADVANCE:
                self.held[self._wave(i, step), _point_key(self._point(i, step))] = None

    def play(self) -> bool:
        for i, step in enumerate(self.witness.steps):
            if step.kind is StepKind.ADVANCE:
                self._advance(self._wave(i, step), step.point)
            else:
                self._take_effect(i, step)
        self.limits = [len(steps) for steps in self.machine.steps]
        self._run()
        return self.machine.finished()

    def _advance(self, wave: int, point: Point | None) -> None:
        steps = self.machine.steps[wave]
        to = len(steps) if point is None else position(steps, point)
        self.limits[wave] = max(self.limits[wave], to)
        self._run()

    def _take_effect(self, i: int, step: Step) -> None:
        key = (self._wave(i, step), _point_key(self._point(i, step)))
        flight = self.held[key]
        wanted = (Kind.READ,) if step.kind is StepKind.READ else (Kind.LOAD, Kind.FETCH, Kind.STORE)
        if flight is None or flight.step.kind not in wanted:
            reason = "nothing is in flight from there" if flight is None else "it is another op"
            raise DocumentError(
                f"{step}, but {reason}", path=f"$.steps[{i}]", why="the witness is not admissible"
            )
        self.held[key] = None
        self.machine.land(flight)
        self._run()

    def _run(self) -> None:
        moved = True
        while moved:
            moved = False
            for wave in range(len(self.limits)):
                while self._may_step(wave):
                    self._step(wave)
                    moved = True

    def _may_step(self, wave: int) -> bool:
        machine = self.machine
        ready = machine.at[wave] < self.limits[wave] and machine.can_step(wave)
        return ready and not machine.due(wave)

    def _step(self, wave: int) -> None:
        machine = self.machine
        flight = machine.step(wave)
        if flight is None:
            return
        key = (wave, _place_key(flight.step.place))
        if key in self.held:
            self.held[key] = flight
        else:
            machine.land(flight)

    def _wave(self, i: int, step: Step) -> int:
        if step.wave not in self.number:
            raise DocumentError(f"{step.wave} is not among the waves", path=f"$.steps[{i}].wave")
        return self.number[step.wave]

    def _point(self, i: int, step: Step) -> Point:
        if step.point is None:
            raise DocumentError("the step names no operation", path=f"$.steps[{i}].point")
        return step.point


def position(steps: tuple[ProgramStep, ...], point: Point) -> int:
    """The number of steps in front of a point; what the protocol adds there is among them."""
    key = _point_key(point)
    return sum(1 for step in steps if _is_before(step.place, key))


def _is_before(place: Place, key: _Key) -> bool:
    return place.gap <= key if place.phase is None else _place_key(place) < key


_PHASES = {Phase.PROLOGUE: 0, Phase.KERNEL: 1, Phase.EPILOGUE: 2}


def _point_key(point: Point) -> _Key:
    return (_PHASES[point.phase], point.iteration, point.index)


def _place_key(place: Place) -> _Key:
    return (-1 if place.phase is None else _PHASES[place.phase], place.iteration, place.index)


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
