"""``execute``: one document, two integer matrices, one timing, one ``Execution``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warploom.errors import ConfigError
from warploom.execute.machine import Machine
from warploom.execute.memory import Numbers
from warploom.execute.outcome import (
    Execution,
    WrongAccumulator,
    coverage,
    faulty_products,
    stuck_waves,
)
from warploom.execute.program import Program, lower, waves_of
from warploom.execute.script import Scripted, groups_of
from warploom.execute.timing import Early, Timing, drive
from warploom.interchange.document import ScheduleDocument

if TYPE_CHECKING:
    from warploom.execute.memory import IntArray


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
    a, b = _checked(program, a, b)
    memory = Numbers(program, a, b)
    machine = Machine(program, memory, capacity_stalls=capacity_stalls)
    done = drive(machine, timing)
    results = tuple(memory.result(w) for w in range(program.waves))
    expected = a @ b
    return Execution(
        name=document.name,
        trips=program.trips,
        results=results,
        expected=expected,
        wrong=_compare(program, results, expected),
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
    return p.rows * p.waves, p.cols * p.waves, max(p.tiles * p.slices, 1)


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
    elif left.shape[0] % m or right.shape[1] % n or left.shape[1] % k:
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
    m, n = expected.shape[0] // program.rows, expected.shape[1] // program.cols
    out = []
    for wave, result in enumerate(results):
        bad = result != expected
        if not bad.any():
            continue
        for r in range(program.rows):
            for c in range(program.cols):
                part = (slice(r * m, r * m + m), slice(c * n, c * n + n))
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
