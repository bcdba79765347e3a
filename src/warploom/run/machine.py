"""The machine: waves, in-order queues, barriers. It says what may happen next and makes it happen.

The machine decides nothing about time. A wave can take its next step when nothing that the step
waits for is still in flight (``due``) and the barrier it stands at is complete (``at_barrier``).
Everything in flight can land, share by share, at any moment in between; the driver chooses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from warploom.run.memory import Names
from warploom.run.program import LGKM_NO_WAIT, VM_NO_WAIT, Kind, Place, Program, Register, Step


@dataclass(eq=False, slots=True)
class Flight:
    """An asynchronous operation of one wave between issue and completion.

    ``end`` is the number of units its queue had been given once it was issued; ``shares`` are those
    a fragment load has not read yet; ``payload`` is the tile a store took from its registers;
    ``order`` is the number of steps its wave had executed.
    """

    wave: int
    step: Step
    end: int
    order: int
    shares: list[int] = field(default_factory=list)
    payload: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One executed MMA: the tiles its operands held, share by share."""

    wave: int
    place: Place
    accumulator: tuple[int, int]
    operands: tuple[tuple[int, ...], ...]
    slice: int

    @property
    def tile(self) -> int | None:
        """The tile multiplied, or None when shares or operands disagree or hold no tile."""
        held = {name for operand in self.operands for name in operand}
        only = held.pop() if len(held) == 1 else -1
        return only if only >= 0 else None


class Machine:
    """The state of one run."""

    def __init__(self, program: Program, memory: Names, *, capacity_stalls: bool = False) -> None:
        waves = program.waves
        self.program = program
        self.memory = memory
        self.capacity_stalls = capacity_stalls
        self.steps = [program.steps[g] for g in program.group_of]
        self.at = [0] * waves
        self.arrived = [0] * waves
        self.vm: list[list[Flight]] = [[] for _ in range(waves)]
        self.lgkm: list[list[Flight]] = [[] for _ in range(waves)]
        self.issued = [[0, 0] for _ in range(waves)]
        self.newest: list[dict[Register, list[int]]] = [{} for _ in range(waves)]
        self.products: list[Product] = []

    def next_step(self, wave: int) -> Step | None:
        """The step the wave stands before, or None at its end."""
        at, steps = self.at[wave], self.steps[wave]
        return steps[at] if at < len(steps) else None

    def at_barrier(self, wave: int) -> bool:
        """Whether the wave has arrived at a barrier that others have not reached yet."""
        return self.arrived[wave] > min(self.arrived)

    def can_step(self, wave: int) -> bool:
        """Whether the wave is neither at its end nor held by a barrier."""
        return self.at[wave] < len(self.steps[wave]) and not self.at_barrier(wave)

    def due(self, wave: int) -> list[Flight]:
        """What must have landed before the wave's next step, oldest first."""
        step = self.steps[wave][self.at[wave]]
        vm, lgkm = self.vm[wave], self.lgkm[wave]
        due: list[Flight] = []
        if not vm and not lgkm:
            return due
        if step.kind is Kind.WAIT:
            due = self._beyond(wave, step.vm, step.lgkm)
        elif step.kind is Kind.BARRIER:
            due = [*vm, *lgkm] if self.program.fencing else []
        elif self.program.compiler_waits and step.kind is Kind.MMA:
            due = _through(lgkm, lambda f: f.step.register in step.operands)
        elif self.program.compiler_waits and step.kind is Kind.STORE:
            due = _through(vm, lambda f: f.step.channel == step.channel)
        if self.capacity_stalls and step.units:
            due += [f for f in self._stalled(wave, step) if f not in due]
        return due

    def step(self, wave: int) -> Flight | None:
        """Execute the next step; return what it set in flight."""
        step = self.steps[wave][self.at[wave]]
        self.at[wave] += 1
        match step.kind:
            case Kind.LOAD | Kind.FETCH:
                return self._issue(wave, step, self.vm[wave], 0)
            case Kind.READ:
                flight = self._issue(wave, step, self.lgkm[wave], 1)
                flight.shares = list(range(self.program.waves))
                return flight
            case Kind.STORE:
                flight = self._issue(wave, step, self.lgkm[wave], 1)
                flight.payload = self.memory.staged(wave, step.channel)
                return flight
            case Kind.MMA:
                self._multiply(wave, step)
            case Kind.BARRIER:
                self.arrived[wave] += 1
        return None

    def land(self, flight: Flight, share: int | None = None) -> None:
        """Let an operation take effect: all of it, or one share of a fragment load."""
        wave, step = flight.wave, flight.step
        match step.kind:
            case Kind.READ:
                self._read(flight, flight.shares[:] if share is None else [share])
            case Kind.LOAD:
                self.memory.land(wave, step.slots, step.tile)
                self.vm[wave].remove(flight)
            case Kind.FETCH:
                self.memory.fetch(wave, step.channel, step.tile)
                self.vm[wave].remove(flight)
            case _:
                self.memory.land(wave, step.slots, flight.payload)
                self.lgkm[wave].remove(flight)

    def in_flight(self, wave: int) -> list[Flight]:
        """Everything of the wave that has not landed."""
        return [*self.vm[wave], *self.lgkm[wave]]

    def finished(self) -> bool:
        """Whether every wave is at its end and every barrier complete."""
        ended = all(at >= len(s) for at, s in zip(self.at, self.steps, strict=True))
        return ended and len(set(self.arrived)) == 1

    def _issue(self, wave: int, step: Step, queue: list[Flight], counter: int) -> Flight:
        self.issued[wave][counter] += step.units
        flight = Flight(wave, step, self.issued[wave][counter], self.at[wave])
        queue.append(flight)
        return flight

    def _read(self, flight: Flight, shares: list[int]) -> None:
        """Sample shares. LDS returns in order, so an older load never replaces a younger one."""
        wave, step = flight.wave, flight.step
        newest = self.newest[wave].setdefault(step.register, [0] * self.program.waves)
        fresh = [s for s in shares if newest[s] < flight.order]
        for share in fresh:
            newest[share] = flight.order
        self.memory.read(wave, step.register, step.slots[0], fresh)
        flight.shares = [s for s in flight.shares if s not in shares]
        if not flight.shares:
            self.lgkm[wave].remove(flight)

    def _multiply(self, wave: int, step: Step) -> None:
        operands = tuple(self.memory.operand(wave, r) for r in step.operands)
        part = step.operands[0][1] if self.program.joined else 0
        self.products.append(
            Product(
                wave=wave,
                place=step.place,
                accumulator=step.accumulator,
                operands=operands,
                slice=part,
            )
        )
        self.memory.multiply(wave, step)

    def _beyond(self, wave: int, vm: int | None, lgkm: int | None) -> list[Flight]:
        """What a wait for at most ``vm`` and ``lgkm`` outstanding units completes."""
        out = []
        if vm is not None:
            bound = self.issued[wave][0] - vm
            out += [f for f in self.vm[wave] if f.end <= bound]
        if lgkm is not None:
            bound = self.issued[wave][1] - lgkm
            out += [f for f in self.lgkm[wave] if f.end <= bound]
        return out

    def _stalled(self, wave: int, step: Step) -> list[Flight]:
        """With ``capacity_stalls``: what an issue past the counter's capacity waits for."""
        if step.kind in (Kind.LOAD, Kind.FETCH):
            return self._beyond(wave, max(VM_NO_WAIT - step.units, 0), None)
        return self._beyond(wave, None, max(LGKM_NO_WAIT - step.units, 0))


def _through(queue: list[Flight], wanted: Callable[[Flight], bool]) -> list[Flight]:
    """The queue up to its youngest wanted operation: counters retire in order."""
    last = max((i for i, flight in enumerate(queue) if wanted(flight)), default=-1)
    return queue[: last + 1]
