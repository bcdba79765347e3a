"""Verify dataflow of machine code: executed on drawn inputs, it gives what the author wrote.

Where code is not printed from a module (threads that share tiles by themselves, programs of a whole
CTA, MI355X), nothing symbolic stands between the author's kernel and the machine code. So the code
itself is executed, by the machine of ``check``, and compared with the kernel as it was parsed and
before any pass, for sizes with ragged ends. Values are rounded as their types say; an index, a
mask, a store or an operand that is wrong changes results by far more than rounding does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from warploom.dataclass import dataclass
from warploom.errors import BackendError, CheckError, VerificationError, WarploomError
from warploom.frontend.pointwise import rounded
from warploom.frontend.reference import reference
from warploom.interp.dataflow import (
    NEAR,
    DataflowReport,
    NotJudgedError,
    axes_of,
    drawn_inputs,
    gathered_axes,
    scatters,
)
from warploom.ir.tile import (
    Const,
    Kernel,
    Load,
    Loop,
    Pointwise,
    Reduce,
    Scalar,
    Scan,
    Store,
    operands,
    results,
    walk,
)
from warploom.ir.types import Access, DType, Fn, Walk

HOW = "executed as machine code, and compared with the author's kernel"
LIMITS = {DType.F32: 1e-2, DType.F16: 1e-2, DType.BF16: 2e-2}  # of the largest element
COARSE = 0.2  # of types with fewer bits
HUGE = 2.0**100  # from here on sums may overflow on the way
COMPARED = frozenset({Fn.LT, Fn.LE, Fn.GT, Fn.GE, Fn.EQ, Fn.NE})
LARGER = 1000.0, 12.0  # than all numbers, and than most
STEPS = 3  # of one element
VECTOR = 16.0  # elements, of any type
FEW = 0.01  # of elements, where a comparison of rounded numbers decides
MOST_ELEMENTS = 1 << 19
SEEDS = (0, 1)
"""What differs for one draw only is a comparison of two numbers that rounding makes equal."""
CONTENDED = "several stores may meet in an element: its indices are computed from loaded numbers"
Run = Callable[[Mapping[str, Any], Mapping[str, float], Mapping[str, int]], Mapping[str, Any]]


@dataclass(frozen=True)
class _Draw:
    """Which inputs are drawn; ``others``: scalars that decide something decide it the other way."""

    seed: int
    others: int = 0  # which other way: 0 for none


def verify_executed(
    kernel: Kernel,
    name: str,
    run: Run,
    sizes_tried: Iterable[Mapping[str, int]],
    extents: Mapping[str, int] | None = None,
    *,
    exact: bool = False,
    how: str = HOW,
    others: Sequence[int] = (),
) -> DataflowReport:
    """Whether code computes a kernel; ``run`` executes it on inputs, scalars and sizes.

    Of the sizes the first that the code takes are tried: a tensor map refuses some rows.
    ``extents``: of tiles and steps; what an author does once in each depends on them. ``exact``:
    ``run`` rounds nothing, takes all sizes, and gives the kernel's numbers to nine digits.
    ``others``: the numbers of sizes for which scalars that are compared decide the other way.
    """
    done: list[tuple[tuple[str, int], ...]] = []
    why = "no sizes to execute"
    for number, sizes in enumerate(sizes_tried):
        tried = tuple(sorted(sizes.items()))
        try:
            wrong = ""
            for seed in SEEDS:
                draw = _Draw(seed, others.index(number) + 1 if number in others else 0)
                found = _difference(kernel, run, sizes, extents or {}, draw, exact=exact)
                wrong = found and (wrong or found)
                if not found:
                    break
        except NotJudgedError as error:
            why = str(error)
            continue
        at = ", ".join(f"{a}={n}" for a, n in tried)
        findings = (f"{wrong} ({at})",) if wrong else ()
        done.append(tried)
        if findings or not exact:
            return DataflowReport(module=name, tried=tuple(done), findings=findings, how=how)
    not_judged = "" if done else why
    return DataflowReport(
        module=name, tried=tuple(done), findings=(), not_judged=not_judged, how=how
    )


def require_executed(report: DataflowReport, kernel: Kernel) -> DataflowReport:
    """``VerificationError`` for code that does not compute its kernel."""
    if report.findings:
        raise VerificationError(
            f"the code of {kernel.name} does not compute it: {report.findings[0]}",
            where=str(kernel.line or kernel.name),
            why="executed on drawn inputs, its results differ from those of the kernel as written",
            fix="report it with the kernel and the sizes",
            report=report,
        )
    return report


def executed_sizes(
    kernel: Kernel, extents: Mapping[str, int], known: Mapping[str, int]
) -> list[dict[str, int]]:
    """Sizes to execute: a tile of rows and one more, ragged columns and steps, two of each unit;
    and the same in whole 16 elements, for what needs aligned rows.

    ``extents``: of tiles and steps by variable; ``known``: sizes of axes that are held whole.
    """
    walks = {v.axis: v for v in kernel.vars}
    pers: dict[str, int] = {}
    for a in (a for t in kernel.tensors for a in t.axes if a.per > 1):
        pers[a.name] = int(np.lcm(pers.get(a.name, 1), a.per))
    stated = {
        a.name: a.size for t in kernel.tensors for a in t.axes if a.per == 1 and a.size is not None
    }
    gathered = set(gathered_axes(kernel))
    ragged: dict[str, int] = {}
    free: set[str] = set()
    rows = 0
    for axis in axes_of(kernel):
        v = walks.get(axis.name)
        if axis.name in stated:
            ragged[axis.name] = stated[axis.name]
            continue
        if axis.size is not None:
            ragged[axis.name] = axis.size
        elif v is not None and v.walk is Walk.WHOLE:
            ragged[axis.name] = v.extent or known.get(axis.name, 24)
        elif v is not None and v.walk in (Walk.TILE, Walk.STEP):
            extent = max(1, extents.get(v.name) or v.extent or extents.get(axis.name, 16))
            steps = 2 * extent + 3 if extent > 1 else STEPS
            more = steps if v.walk is Walk.STEP else extent + 1 - 2 * min(rows, 1)
            rows += v.walk is Walk.TILE
            ragged[axis.name] = max(1, more)
            free.add(axis.name)
        elif axis.name in gathered:
            ragged[axis.name] = known.get(axis.name, 19) if axis.name in known else 19
        else:
            ragged[axis.name] = 2 if axis.name not in known else min(2, max(1, known[axis.name]))
        per = pers.get(axis.name, 1)
        ragged[axis.name] = -(-ragged[axis.name] // per) * per
    whole = {a: -(-n // 16) * 16 if a in free else n for a, n in ragged.items()}
    kept = free | gathered | set(stated)
    one = {a: n if a in kept or n != 2 else 1 for a, n in whole.items()}
    return [ragged, whole, one]


def _difference(
    kernel: Kernel,
    run: Run,
    sizes: Mapping[str, int],
    extents: Mapping[str, int],
    draw: _Draw,
    *,
    exact: bool,
) -> str:
    """What differs for these sizes; empty where nothing does."""
    rng = np.random.default_rng(draw.seed)
    arrays, scalars = _inputs(kernel, sizes, rng, mild=False, exact=exact, others=draw.others)
    if sum(int(np.prod(np.shape(a))) for a in arrays.values()) > MOST_ELEMENTS:
        raise NotJudgedError("its smallest sizes have too many elements to execute here")
    outputs = [t for t in kernel.tensors if t.access is Access.OUT]
    contended = _contended(kernel)
    wanted = _wanted(kernel, arrays, scalars, sizes, extents, exact=exact)
    if _overflows(wanted) and any(t.dtype is DType.I8 for t in kernel.tensors):
        arrays, scalars = _inputs(kernel, sizes, rng, mild=True, exact=exact, others=draw.others)
        wanted = _wanted(kernel, arrays, scalars, sizes, extents, exact=exact)
    try:
        found = run(arrays, scalars, sizes)
    except (BackendError, CheckError) as error:
        raise NotJudgedError(f"the code cannot be executed here: {error}") from error
    except WarploomError as error:
        if contended:
            raise NotJudgedError(CONTENDED) from error
        return f"the code fails: {error}"
    few, made = _compares(kernel), _stored_floats(kernel)
    for t, right in zip(outputs, wanted, strict=True):
        if t.name not in found:
            return f"output '{t.name}' is not computed"
        limit = NEAR if exact else LIMITS.get(t.dtype, COARSE) if t.dtype.is_float else 0.0
        by_one = 1.0 if t.name in made and not t.dtype.is_float else 0.0
        wrong = _compared(t.name, found[t.name], right, (limit, by_one), few=few)
        if wrong and t.name in contended:
            raise NotJudgedError(CONTENDED)
        if wrong:
            return wrong
    return ""


def deciding(kernel: Kernel, way: int = 1) -> dict[str, float]:
    """What scalars that are compared are multiplied by to decide the other way: one that is
    compared with a constant changes its sign, one that numbers are compared with becomes larger,
    as does one that a loop ends with. ``way``: the first or second of them.
    """
    larger = LARGER[(way - 1) % len(LARGER)]
    names = {op.result.name: op.parameter for op in walk(kernel.ops) if isinstance(op, Scalar)}
    constants = {op.result.name for op in walk(kernel.ops) if isinstance(op, Const)}
    found: dict[str, float] = {}
    for op in walk(kernel.ops):
        if isinstance(op, Pointwise) and op.fn in COMPARED and len(op.args) == 2:
            for one, other in (op.args, op.args[::-1]):
                if one in names:
                    found[names[one]] = -1 if other in constants else larger
    return found | _bounds(kernel, names, way)


def _bounds(kernel: Kernel, names: Mapping[str, str], way: int) -> dict[str, float]:
    """The same of whole scalars that say where loops end: of several the first says where they
    begin, the second time at a whole vector.
    """
    made = {v.name: op for op in walk(kernel.ops) for v in results(op)}
    waiting = [op.until for op in walk(kernel.ops) if isinstance(op, Loop) and op.until]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in reached and name in made:
            reached.add(name)
            waiting += operands(made[name])
    bounds = {names[n] for n in reached if n in names}
    ordered = [p.name for p in kernel.parameters if p.name in bounds and not p.dtype.is_float]
    result = dict.fromkeys(ordered, LARGER[way % len(LARGER)])
    if len(ordered) > 1:
        result[ordered[0]] = 1 if way == 1 else VECTOR
    return result


def _some_negative(array: Any, dtype: DType) -> Any:  # noqa: ANN401 (arrays)
    """Every third row of a matrix is below 0: a 0 that is read past its end is no maximum of it."""
    result = np.array(array)
    if dtype.is_float and result.ndim > 1:
        result[..., ::3, :] = -np.abs(result[..., ::3, :])
    return result


def _inputs(
    kernel: Kernel,
    sizes: Mapping[str, int],
    rng: np.random.Generator,
    *,
    mild: bool,
    exact: bool,
    others: int,
) -> tuple[dict[str, Any], dict[str, float]]:
    """Drawn inputs and scalars, of values that their types have."""
    arrays, scalars = drawn_inputs(kernel, sizes, rng, mild=mild)
    factors = deciding(kernel, others) if others else {}
    scalars = {n: type(x)(x * factors.get(n, 1)) for n, x in scalars.items()}
    types = {t.name: t.dtype for t in kernel.tensors}
    held = _some_negative if exact else rounded
    return (
        {n: held(np.asarray(a), types[n]) for n, a in arrays.items()},
        {n: float(np.float32(x)) if isinstance(x, float) else x for n, x in scalars.items()},
    )


def _wanted(
    kernel: Kernel,
    arrays: Mapping[str, Any],
    scalars: Mapping[str, float],
    sizes: Mapping[str, int],
    extents: Mapping[str, int],
    *,
    exact: bool,
) -> tuple[Any, ...]:
    """What the author's kernel gives in the declared types; what it does not store is NaN."""
    given = {a.name for t in kernel.tensors if t.name in arrays for a in t.axes if a.per == 1}
    outputs = [t for t in kernel.tensors if t.access is Access.OUT]
    added = {op.tensor for op in walk(kernel.ops) if isinstance(op, Store) and op.add}
    over = {op.over for op in walk(kernel.ops) if isinstance(op, Reduce | Scan)}
    # What is summed up over a tile may depend on where tiles end.
    steps = [
        v for v in kernel.vars if v.walk is Walk.STEP or (v.walk is Walk.TILE and v.name in over)
    ]
    try:
        with np.errstate(all="ignore"):
            wanted = reference(
                kernel,
                tuple(arrays.values()),
                dict(scalars),
                exact=exact,
                extents={v.name: extents[v.name] for v in steps if v.name in extents},
                sizes={a: n for a, n in sizes.items() if a not in given},
                initial={
                    t.name: np.nan for t in outputs if t.name not in added and t.dtype.is_float
                },
            )
    except (WarploomError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise NotJudgedError(f"the kernel cannot be evaluated on drawn inputs: {error}") from error
    return wanted if isinstance(wanted, tuple) else (wanted,)


def _overflows(wanted: tuple[Any, ...]) -> bool:
    """Whether sums may leave the range of f32 in one order, and not in another."""
    return any(np.isinf(right).any() or _beyond(right).any() for right in wanted)


def _beyond(right: Any) -> Any:  # noqa: ANN401 (arrays)
    """Elements that the order of additions decides: near the end of f32, or past it."""
    values = np.asarray(right, np.float64)
    huge = np.isfinite(values) & (np.abs(values) > HUGE)
    return huge | ~np.isfinite(values) if huge.any() else huge


def _contended(kernel: Kernel) -> set[str]:
    """Outputs that are overwritten at indices computed from loaded numbers: even where all of these
    differ, two stores may meet in an element, and either may be the last.
    """
    loaded = {op.result.name: op.tensor for op in walk(kernel.ops) if isinstance(op, Load)}
    result = set()
    for t in kernel.tensors:
        if t.access is Access.OUT or t.dtype.is_float:
            continue
        for op in scatters(kernel, t.name):
            if all(loaded.get(at.value or "") != t.name for at in op.at):
                result.add(op.tensor)
    return result


def _compares(kernel: Kernel) -> bool:
    """Whether results may jump where rounding moves a number a little."""
    floats = {v.name: v.dtype.is_float for op in walk(kernel.ops) for v in results(op)}
    return any(
        not floats.get(v.name, True) and any(floats.get(o, False) for o in operands(op))
        for op in walk(kernel.ops)
        for v in results(op)
    )


def _stored_floats(kernel: Kernel) -> set[str]:
    """Outputs whose elements are rounded when they are stored: a half may go either way."""
    floats = {v.name for op in walk(kernel.ops) for v in results(op) if v.dtype.is_float}
    return {op.tensor for op in walk(kernel.ops) if isinstance(op, Store) and op.value in floats}


def _compared(
    name: str,
    found: Any,  # noqa: ANN401 (arrays)
    right: Any,  # noqa: ANN401
    limits: tuple[float, float],
    *,
    few: bool,
) -> str:
    """The first element that differs by more than rounding; ``few`` may, where numbers jump.

    ``limits``: of the largest element, and in itself.
    """
    mine, theirs = np.asarray(found, np.float64), np.asarray(right, np.float64)
    if mine.shape != theirs.shape:
        return f"'{name}' has shape {mine.shape}, the author's kernel gives {theirs.shape}"
    beyond = _beyond(theirs)
    size = float(np.abs(theirs[np.isfinite(theirs) & ~beyond]).max(initial=1e-6))
    same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
    with np.errstate(all="ignore"):
        near = np.abs(mine - theirs) <= limits[0] * size + limits[1]
    wrong = ~(same | near | beyond)
    if not wrong.any() or (few and wrong.mean() <= FEW):
        return ""
    at = tuple(int(x[0]) for x in np.nonzero(wrong))
    return f"element {at} of '{name}' is {mine[at]:.6g}, the author's kernel gives {theirs[at]:.6g}"
