"""``execute``: one document, two integer matrices, one timing, one ``Execution``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warploom.document.counters import ScheduleDocument
from warploom.errors import ConfigError
from warploom.run.machine import Machine
from warploom.run.memory import Numbers
from warploom.run.outcome import Execution, WrongAccumulator, coverage, faulty_products, stuck_waves
from warploom.run.program import Program, lower, waves_of
from warploom.run.script import Scripted, groups_of
from warploom.run.timing import Early, Timing, drive

if TYPE_CHECKING:
    from warploom.run.memory import IntArray


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
