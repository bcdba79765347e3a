"""What the waves move: shared memory, fragment and staging registers, accumulators.

``Names`` keeps, for every share of every slot and register, which K-tile it holds: enough to decide
whether a product is right, small enough to hash. ``Numbers`` moves real integer matrices beside the
names. Cells that nothing has written hold garbage, so that using them shows in the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warploom.run.program import Program, Register, Slot, Step

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
        self.staging: list[dict[int, int]] = [{} for _ in range(waves)]
        self.blank = [NEVER_WRITTEN] * waves

    def land(self, wave: int, slots: tuple[Slot, ...], tile: int) -> None:
        """``wave`` writes its share of ``slots`` with ``tile``."""
        name = self.name(tile)
        for slot in slots:
            self.lds[slot][wave] = name

    def fetch(self, wave: int, channel: int, tile: int) -> None:
        """The staging registers of ``channel`` receive ``tile``."""
        self.staging[wave][channel] = self.name(tile)

    def staged(self, wave: int, channel: int) -> int:
        """The tile a store issued now would write."""
        return self.staging[wave].get(channel, NEVER_WRITTEN)

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
