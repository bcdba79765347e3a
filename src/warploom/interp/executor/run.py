"""``execute``: one document, two integer matrices, one timing, and what the run gave."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warploom.errors import ConfigError
from warploom.interp.executor.machine import NEVER_WRITTEN, OUTSIDE, Machine, Numbers, Product
from warploom.interp.executor.program import Program, lower, waves_of
from warploom.interp.executor.timing import Early, Scripted, Timing, drive, groups_of
from warploom.ir.counter_dialect import ScheduleDocument

if TYPE_CHECKING:
    from warploom.interp.executor.machine import IntArray


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


def execute(
    document: ScheduleDocument,
    a: Any = None,  # noqa: ANN401  (anything NumPy takes as a matrix)
    b: Any = None,  # noqa: ANN401
    *,
    timing: Timing | None = None,
    trips: int | None = None,
    all_waves: bool = False,
    capacity_stalls: bool = False,
) -> Execution:
    """Run a schedule on ``a`` and ``b`` under one timing and compare with ``a @ b``.

    Every wave computes the whole product, so a wave that saw wrong data cannot hide. Without
    matrices, ``sample_matrices`` supplies them.

    Args:
        document: the schedule.
        a: integer matrix; rows a multiple of what ``sample_matrices`` gives, as are columns.
        b: integer matrix with as many rows as ``a`` has columns.
        timing: ``Early()`` unless given.
        trips: loop iterations; 1 unless given, or what the witness says.
        all_waves: run every wave of a group instead of two.
        capacity_stalls: let an issue past a counter's capacity wait for the oldest operations.
    """
    timing = timing if timing is not None else Early()
    program = _program(document, timing, trips, all_waves)
    if a is None and b is None:
        a, b = _samples(program, seed=0)
    return Trial(program, a, b).run(timing, capacity_stalls=capacity_stalls)


class Trial:
    """A lowered schedule and two matrices, ready to be run under many timings."""

    def __init__(self, program: Program, a: Any, b: Any) -> None:  # noqa: ANN401
        self.program = program
        self.a, self.b = _checked(program, a, b)
        self.expected: IntArray = self.a @ self.b

    @classmethod
    def of(cls, document: ScheduleDocument, trips: int) -> Trial:
        """A trial on sample matrices, with two waves for a group of more."""
        program = lower(document, trips)
        return cls(program, *_samples(program, seed=0))

    def run(self, timing: Timing, *, capacity_stalls: bool = False) -> Execution:
        """One run."""
        program = self.program
        memory = Numbers(program, self.a, self.b)
        machine = Machine(program, memory, capacity_stalls=capacity_stalls)
        done = drive(machine, timing)
        results = tuple(memory.result(w) for w in range(program.waves))
        return Execution(
            name=program.name,
            trips=program.trips,
            results=results,
            expected=self.expected,
            wrong=_compare(program, results, self.expected),
            faults=faulty_products(machine.products),
            missing=coverage(program, machine.products),
            stuck=() if done else stuck_waves(machine),
        )


def sample_matrices(
    document: ScheduleDocument, trips: int, *, seed: int = 0, all_waves: bool = False
) -> tuple[IntArray, IntArray]:
    """The smallest useful integer matrices for a document, random by seed."""
    return _samples(_program(document, Early(), trips, all_waves), seed)


def _program(
    document: ScheduleDocument, timing: Timing, trips: int | None, all_waves: bool
) -> Program:
    protocol = document.protocol
    if not isinstance(timing, Scripted):
        group_of = waves_of(protocol) if all_waves else None
        return lower(document, 1 if trips is None else trips, group_of=group_of)
    planned = timing.witness.trip_count
    if trips is not None and trips != planned:
        raise ConfigError(
            f"the witness is for {planned} iteration(s), not {trips}", fix="leave trips out"
        )
    return lower(document, planned, group_of=groups_of(timing.witness, protocol.groups))


def _samples(program: Program, seed: int) -> tuple[IntArray, IntArray]:
    import numpy as np  # noqa: PLC0415  (the core imports without NumPy)

    rng = np.random.default_rng(seed)
    m, n, k = _multiples(program)
    return rng.integers(-999, 1000, (m, 2 * k)), rng.integers(-999, 1000, (2 * k, n))


def _multiples(program: Program) -> tuple[int, int, int]:
    """What the rows of A, the columns of B and K must be multiples of."""
    p = program
    return len(p.rows) * p.waves, len(p.cols) * p.waves, p.tiles * len(p.slices)


def _checked(program: Program, a: Any, b: Any) -> tuple[IntArray, IntArray]:  # noqa: ANN401
    import numpy as np  # noqa: PLC0415

    left, right = np.asarray(a), np.asarray(b)
    m, n, k = _multiples(program)
    problem = ""
    if left.ndim != 2 or right.ndim != 2:
        problem = f"expected two matrices, found arrays of {left.ndim} and {right.ndim} dimensions"
    elif not (np.issubdtype(left.dtype, np.integer) and np.issubdtype(right.dtype, np.integer)):
        problem = f"expected integers, found {left.dtype} and {right.dtype}"
    elif left.shape[1] != right.shape[0]:
        problem = f"shapes {left.shape} and {right.shape} cannot be multiplied"
    elif left.shape[0] % m or right.shape[1] % n or left.shape[1] % (k or left.shape[1] + 1):
        problem = f"shapes {left.shape} and {right.shape} cannot be cut into tiles and shares"
    if problem:
        raise ConfigError(
            problem,
            where=f"execute({program.name!r})",
            why="integers make the comparison exact, and every wave moves an equal share",
            fix=f"A: rows a multiple of {m}; B: columns of {n}; K: of {k} (see sample_matrices)",
        )
    return left.astype(np.int64), right.astype(np.int64)


def _compare(
    program: Program, results: tuple[IntArray, ...], expected: IntArray
) -> tuple[WrongAccumulator, ...]:
    rows, cols = program.rows, program.cols
    m, n = expected.shape[0] // len(rows), expected.shape[1] // len(cols)
    out = []
    for wave, result in enumerate(results):
        bad = result != expected
        if not bad.any():
            continue
        for i, r in enumerate(rows):
            for j, c in enumerate(cols):
                part = (slice(i * m, i * m + m), slice(j * n, j * n + n))
                cells = int(bad[part].sum())
                if cells:
                    first = bad[part].ravel().argmax()
                    got, want = (int(x[part].ravel()[first]) for x in (result, expected))
                    out.append(
                        WrongAccumulator(
                            wave=wave, row=r, col=c, cells=cells, got=got, expected=want
                        )
                    )
    return tuple(out)
