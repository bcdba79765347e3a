"""What a run gave: the product each wave computed, and what went wrong in words and numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warploom.run.machine import Machine, Product
from warploom.run.memory import NEVER_WRITTEN, OUTSIDE
from warploom.run.program import Program

if TYPE_CHECKING:
    from warploom.run.memory import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongAccumulator:
    """An accumulator of one wave that differs from A @ B in ``cells`` cells."""

    wave: int
    row: int
    col: int
    cells: int
    got: int
    expected: int

    def __str__(self) -> str:
        return (
            f"wave {self.wave}, accumulator [{self.row},{self.col}]: {self.cells} wrong cell(s), "
            f"the first is {self.got} instead of {self.expected}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """A finished run. ``results[w]`` is C as wave w computed it; all equal ``expected`` if correct.

    ``faults`` are the products that used wrong data, in the order of execution; ``missing`` names
    tiles an accumulator did not get exactly once; ``stuck`` says where waves hang, if they do.
    """

    name: str
    trips: int
    results: tuple[IntArray, ...]
    expected: IntArray
    wrong: tuple[WrongAccumulator, ...]
    faults: tuple[Product, ...]
    missing: tuple[str, ...]
    stuck: tuple[str, ...]

    @property
    def correct(self) -> bool:
        """Whether every wave finished with exactly A @ B."""
        return not self.wrong and not self.stuck

    @property
    def result(self) -> IntArray:
        """C: that of the first wave which is wrong, else of wave 0."""
        return self.results[self.wrong[0].wave if self.wrong else 0]

    def describe(self) -> str:
        """A few lines: the verdict, the first wrong numbers, the first wrong products."""
        head = f"{self.name}, {self.trips} iteration(s): "
        if self.correct:
            return head + "C = A @ B in every wave"
        lines = [head + ("deadlock" if self.stuck else f"{len(self.wrong)} wrong accumulator(s)")]
        lines += [f"  {text}" for text in self.stuck]
        lines += [f"  {bad}" for bad in self.wrong[:4]]
        lines += [f"  wave {f.wave}: {f.place} multiplied {_operands(f)}" for f in self.faults[:4]]
        lines += [f"  {text}" for text in self.missing[:4]]
        return "\n".join(lines)


def faulty_products(products: list[Product]) -> tuple[Product, ...]:
    """Products whose operands are not one and the same tile."""
    return tuple(p for p in products if p.tile is None)


def coverage(program: Program, products: list[Product]) -> tuple[str, ...]:
    """Tiles that an accumulator of some wave received not exactly once, in words."""
    seen = Counter((p.wave, p.accumulator, p.slice, p.tile) for p in products)
    out = []
    for wave in range(program.waves):
        for at in [(r, c) for r in program.rows for c in program.cols]:
            for part in program.slices:
                for tile in range(program.tiles):
                    times = seen[wave, at, part, tile]
                    if times != 1:
                        cut = f" slice {part}" if program.joined else ""
                        out.append(
                            f"wave {wave}, accumulator [{at[0]},{at[1]}]: tile {tile}{cut} "
                            f"accumulated {times} times"
                        )
    return tuple(out)


def stuck_waves(machine: Machine) -> tuple[str, ...]:
    """Where each wave stands when none can move."""
    out = []
    for wave in range(machine.program.waves):
        step = machine.next_step(wave)
        place = "at its end" if step is None else f"before {step.place}"
        reached = machine.arrived[wave]
        waits = f", waiting at its barrier {reached}" if machine.at_barrier(wave) else ""
        out.append(f"wave {wave} has reached {reached} barrier(s) and stands {place}{waits}")
    return tuple(out)


def _operands(product: Product) -> str:
    names = ("A", "B") if len(product.operands) == 2 else ("A and B",)
    held = zip(names, product.operands, strict=True)
    return " with ".join(f"{n} {_shares(tiles)}" for n, tiles in held)


def _shares(tiles: tuple[int, ...]) -> str:
    if len(set(tiles)) == 1:
        return _tile(tiles[0])
    return "of mixed tiles (" + ", ".join(_tile(t) for t in tiles) + ")"


def _tile(name: int) -> str:
    special = {NEVER_WRITTEN: "never written", OUTSIDE: "outside the matrix"}
    return special.get(name, f"tile {name}")
