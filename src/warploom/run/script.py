"""Running a witness: the waves, limits and held operations it names, exactly in its order.

A wave stands at a wait for an operation that is held until the witness lets that take effect, as
on the machine. A witness that is not admissible (it lands an operation that was not issued) is
refused: it would show nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.document.kinds import Phase
from warploom.document.witness import Point, Step, StepKind, Witness
from warploom.errors import DocumentError
from warploom.run.machine import Flight, Machine
from warploom.run.program import Kind, Place, Step as ProgramStep

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
