"""The machine: what waves move, in-order queues, barriers; what may happen next, and does.

``Names`` keeps, for every share of every slot and register, which K-tile it holds: enough to decide
whether a product is right, small enough to hash. ``Numbers`` moves real integer matrices beside the
names. Cells that nothing has written hold garbage, so that using them shows in the result.

The machine decides nothing about time. A wave can take its next step when nothing that the step
waits for is still in flight (``due``) and the barrier it stands at is complete (``at_barrier``).
Everything in flight can land, share by share, at any moment in between; the driver chooses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warploom.interp.executor.program import Kind, Place, Program, Register, Slot, Step
from warploom.ir.counter_dialect import Queue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]


NEVER_WRITTEN = -1
OUTSIDE = -2
"""A tile before the first or after the last one of K."""


class Names:
    """Tile names per share. A share is the part of a slot that one wave writes."""

    def __init__(self, program: Program) -> None:
        waves = program.waves
        self.tiles = program.tiles
        self.lds: dict[Slot, list[int]] = {s: [NEVER_WRITTEN] * waves for s in program.slots}
        self.registers: list[dict[Register, list[int]]] = [{} for _ in range(waves)]
        self.staging: list[dict[Register, int]] = [{} for _ in range(waves)]
        self.blank = [NEVER_WRITTEN] * waves

    def land(self, wave: int, slots: tuple[Slot, ...], tile: int) -> None:
        """``wave`` writes its share of ``slots`` with ``tile``."""
        name = self.name(tile)
        for slot in slots:
            self.lds[slot][wave] = name

    def fetch(self, wave: int, staging: Register, tile: int) -> None:
        """The staging registers of a channel (or its part) receive ``tile``."""
        self.staging[wave][staging] = self.name(tile)

    def staged(self, wave: int, staging: Register) -> int:
        """The tile a store issued now would write."""
        return self.staging[wave].get(staging, NEVER_WRITTEN)

    def read(self, wave: int, register: Register, slot: Slot, shares: list[int]) -> None:
        """Shares of a fragment register receive what those of the slot hold now."""
        held = self.registers[wave].setdefault(register, list(self.blank))
        for share in shares:
            held[share] = self.lds[slot][share]

    def operand(self, wave: int, register: Register) -> tuple[int, ...]:
        """The tiles a register holds, share by share."""
        return tuple(self.registers[wave].get(register, self.blank))

    def multiply(self, wave: int, step: Step) -> None:
        """Nothing to compute with names alone."""

    def name(self, tile: int) -> int:
        """``tile``, or ``OUTSIDE`` when the matrices have no such tile."""
        return tile if 0 <= tile < self.tiles or tile == NEVER_WRITTEN else OUTSIDE


class Numbers(Names):
    """Names and the integers after them."""

    def __init__(self, program: Program, a: IntArray, b: IntArray) -> None:
        import numpy as np  # noqa: PLC0415  (the core imports without NumPy)

        super().__init__(program)
        self.program = program
        self.sources = _Sources(program, a, b)
        self.data = {s: self.sources.garbage(s[0]) for s in program.slots}
        self.fragments: list[dict[Register, list[IntArray]]] = [{} for _ in range(program.waves)]
        m, n = a.shape[0] // len(program.rows), b.shape[1] // len(program.cols)
        grid = [(r, c) for r in program.rows for c in program.cols]
        self.accumulators = [
            {at: np.zeros((m, n), dtype=np.int64) for at in grid} for _ in range(program.waves)
        ]

    def land(self, wave: int, slots: tuple[Slot, ...], tile: int) -> None:
        """Copy the wave's share of the tile into the slots."""
        super().land(wave, slots, tile)
        for slot in slots:
            source = self.sources.tile(slot[0], slot[2], tile)
            for cell, values in zip(self.data[slot], source, strict=True):
                cell[wave] = values[wave]

    def read(self, wave: int, register: Register, slot: Slot, shares: list[int]) -> None:
        """Copy shares of the slot into the fragment register."""
        super().read(wave, register, slot, shares)
        held = self._fragment(wave, register)
        whole = len(shares) == self.program.waves
        for cell, values in zip(held, self.data[slot], strict=True):
            if whole:
                cell[:] = values
            else:
                cell[shares] = values[shares]

    def multiply(self, wave: int, step: Step) -> None:
        """Accumulate one product of the fragments as they are now."""
        parts = [p for register in step.operands for p in self._fragment(wave, register)]
        a, b = (p.reshape(-1, p.shape[2]) for p in parts)
        self.accumulators[wave][step.accumulator] += a @ b.T

    def result(self, wave: int) -> IntArray:
        """C as this wave computed it."""
        import numpy as np  # noqa: PLC0415

        acc, p = self.accumulators[wave], self.program
        return np.block([[acc[r, c] for c in p.cols] for r in p.rows])

    def _fragment(self, wave: int, register: Register) -> list[IntArray]:
        held = self.fragments[wave].get(register)
        if held is None:
            held = self.fragments[wave][register] = self.sources.garbage(register[0])
        return held


class _Sources:
    """The two matrices cut into tiles, subtiles and shares.

    A share has shape (rows or columns, depth); B is kept transposed so that both look alike.
    """

    def __init__(self, program: Program, a: IntArray, b: IntArray) -> None:
        import numpy as np  # noqa: PLC0415

        p = program
        parts = p.tiles * len(p.slices)
        depth = a.shape[1] // parts if parts else 1
        self.joined = p.joined
        self.tiles = p.tiles
        self.index = [
            {sub: i for i, sub in enumerate(subs)}
            for subs in ((p.slices,) * 2 if p.joined else (p.rows, p.cols))
        ]
        self.cut = [
            m.reshape(len(n), p.waves, len(m) // len(n) // p.waves, p.tiles, len(p.slices), depth)
            for m, n in ((a, p.rows), (b.T, p.cols))
        ]
        self.shapes = tuple((p.waves, c.shape[2], depth) for c in self.cut)
        self.noise = np.random.default_rng(0)

    def tile(self, channel: int, subtile: int, tile: int) -> list[IntArray]:
        """What a slot of ``channel`` holds of ``tile``: one array of shares per operand."""
        at = self.index[channel].get(subtile)
        if at is None or not 0 <= tile < self.tiles:
            return self.garbage(channel)
        if self.joined:
            return [c[0, :, :, tile, at] for c in self.cut]
        return [self.cut[channel][at, :, :, tile, 0]]

    def garbage(self, channel: int) -> list[IntArray]:
        """Values that no correct product contains by chance."""
        shapes = self.shapes if self.joined else (self.shapes[channel],)
        return [self.noise.integers(10**6, 10**7, size=s) for s in shapes]


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
            due = _through(vm, lambda f: f.step.staging == step.staging)
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
                flight.payload = self.memory.staged(wave, step.staging)
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
                self.memory.fetch(wave, step.staging, step.tile)
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
            return self._beyond(wave, max(Queue.VM.capacity - step.units, 0), None)
        return self._beyond(wave, None, max(Queue.LGKM.capacity - step.units, 0))


def _through(queue: list[Flight], wanted: Callable[[Flight], bool]) -> list[Flight]:
    """The queue up to its youngest wanted operation: counters retire in order."""
    last = max((i for i, flight in enumerate(queue) if wanted(flight)), default=-1)
    return queue[: last + 1]
