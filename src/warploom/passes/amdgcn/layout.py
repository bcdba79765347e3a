"""Which elements of a tile a lane holds: an ``AxisMap`` an axis; registers are their product.

The index of register ``i`` along an axis is ``base(lane, wave) + offsets[i]``: a lane's base
is computed once and everything else is a constant. A value of two axes has the product of two maps;
a value of one axis has one of them, and lanes that differ only in the other axis hold copies.

Accumulators: the ``lane`` axis has one index for each of 16 lanes, the ``register`` axis four
neighbours in the four registers of a matrix instruction, four lane groups of them. Waves divide the
lane axis. The register axis is the one that lies contiguously in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass

LANES = 64
MFMA = 16  # rows and columns of the matrix instruction
GROUP = 4  # neighbours along the register axis that one lane holds of it

Part = tuple[int, int, int]  # (divisor, modulus, factor): x // divisor % modulus * factor
NOTHING: Part = (1, 1, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisMap:
    """Indices of one axis in the registers of a lane; ``run`` of them are neighbours."""

    offsets: tuple[int, ...]
    lane: Part = NOTHING
    wave: Part = NOTHING
    run: int = 1

    @property
    def count(self) -> int:
        """Registers along the axis."""
        return len(self.offsets)

    @property
    def extent(self) -> int:
        """One more than the largest index."""
        lane, wave = ((m - 1) * f for _, m, f in (self.lane, self.wave))
        return lane + wave + self.offsets[-1] + 1

    def index(self, lane: int, wave: int, register: int) -> int:
        """The index a lane of a wave holds in a register."""
        parts = zip((lane, wave), (self.lane, self.wave), strict=True)
        return sum(x // d % m * f for x, (d, m, f) in parts) + self.offsets[register]


Layout = tuple[tuple[str, AxisMap], ...]
"""Variables with their maps, the last one in neighbouring registers."""


def count_of(layout: Layout) -> int:
    """Registers of a lane."""
    total = 1
    for _, axis in layout:
        total *= axis.count
    return total


def places(layout: Layout) -> list[tuple[int, ...]]:
    """The register of each axis for every element of a lane, the last axis fastest."""
    result: list[tuple[int, ...]] = [()]
    for _, axis in layout:
        result = [(*at, i) for at in result for i in range(axis.count)]
    return result


def run_of(layout: Layout) -> int:
    """Elements that are neighbours along the last axis and in registers."""
    return layout[-1][1].run if layout else 1


def lane_axis(extent: int, waves: int, below: int = 1) -> AxisMap:
    """The lane axis of accumulators: waves have equal shares of whole matrix instructions.

    ``below``: neighbouring waves that have the same share and divide the other axis.
    """
    share = extent // waves
    return AxisMap(
        offsets=tuple(range(0, share, MFMA)), lane=(1, MFMA, 1), wave=(below, waves, share)
    )


def register_axis(extent: int, waves: int = 1) -> AxisMap:
    """The register axis of accumulators."""
    share = extent // waves
    offsets = tuple(t + r for t in range(0, share, MFMA) for r in range(GROUP))
    wave = (1, waves, share) if waves > 1 else NOTHING
    return AxisMap(offsets=offsets, lane=(MFMA, LANES // MFMA, GROUP), wave=wave, run=GROUP)


def linear_axis(extent: int, waves: int) -> AxisMap:
    """One element a thread."""
    threads = LANES * waves
    return AxisMap(
        offsets=tuple(range(0, max(extent, 1), threads)), lane=(1, LANES, 1), wave=(1, waves, LANES)
    )


def vector_axes(rows: int, columns: int, run: int, waves: int) -> tuple[AxisMap, AxisMap]:
    """Rows and columns of a tile that is read in runs of ``run`` columns.

    Lanes lie along the columns first. Waves take rows of their own, or columns where there are
    fewer rows than waves.
    """
    run = min(run, _power(columns))
    lanes = min(LANES, _power(-(-columns // run)))
    down = LANES // lanes
    across = waves if rows < waves and columns > run * lanes else 1
    width = run * lanes * across
    column = AxisMap(
        offsets=tuple(c + r for c in range(0, columns, width) for r in range(run)),
        lane=(1, lanes, run),
        wave=(1, across, run * lanes),
        run=run,
    )
    height = down * (waves // across)
    row = AxisMap(
        offsets=tuple(range(0, rows, height)),
        lane=(lanes, down, 1),
        wave=(1, waves // across, down) if across == 1 else NOTHING,
    )
    return row, column


def _power(number: int) -> int:
    """The least power of two that is not smaller."""
    return 1 << max(0, number - 1).bit_length()


def owners(layout: Layout, waves: int) -> tuple[tuple[str, int, int], ...]:
    """Which lanes and waves hold the first copy: ``(name, divisor, modulus)`` parts that are 0."""
    return (
        *_free("lane", LANES, [m.lane for _, m in layout]),
        *_free("wave", waves, [m.wave for _, m in layout]),
    )


def _free(name: str, size: int, parts: Sequence[Part]) -> list[tuple[str, int, int]]:
    """The parts of a number that no axis uses."""
    used = sorted((d, m) for d, m, f in parts if f and m > 1)
    result, at = [], 1
    for divisor, modulus in used:
        if divisor > at:
            result.append((name, at, divisor // at))
        at = divisor * modulus
    if at < size:
        result.append((name, at, size // at))
    return result
