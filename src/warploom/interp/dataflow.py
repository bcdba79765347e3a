"""Verify dataflow: the program of a module computes the author's kernel that is embedded in it.

Both are evaluated over the real numbers (float64, nothing rounded) on random elements: the module
by the interpreter, its tile IR, as it was parsed and before any pass, by its NumPy meaning. Two
programs of sums, products and elementary functions that agree on random elements to nine digits
agree as functions; an operand of another iteration, an element that is left out or used twice, an
index, a mask or a store that is wrong changes results by far more. What passes may change is what
does not change values over the reals (``REWRITES``). Sizes are enumerated by class: one, one off a
tile, a tile, one more, several; integer tensors (offsets, lengths, lists, page tables) are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from warploom.dataclass import dataclass
from warploom.errors import VerificationError, WarploomError
from warploom.frontend.reference import reference
from warploom.interp.arithmetic import unrounded
from warploom.interp.run import run_module
from warploom.interp.timing import TooLongError
from warploom.ir.expr import IntExpr, Select, Sym, SymKind, evaluate, inlined, linear, rewrite
from warploom.ir.module import KernelModule
from warploom.ir.tile import Kernel, Load, Loop, Store, operands, results, walk
from warploom.ir.tile_schedule import TILES, expand
from warploom.ir.types import Access, Axis, DType, Walk

REWRITES = (
    "sums in another order, split over steps, threads, warps and CTAs",
    "exponentials and logarithms by base 2, with factors moved into their arguments",
    "quotients as products with a reciprocal",
    "sums scaled by another reference than the running maximum, where results do not depend on it",
    "masks left out where a whole tile fulfils them, and steps that hide every element",
    "values computed twice, or once for all elements that share them",
    "rounding to element types, which both sides leave out",
)
NEAR = 1e-9  # of the largest element
CLASSES = 6
MOST_ELEMENTS = 1 << 22  # of all tensors together
MOST_OPERATIONS = 100_000  # of all roles of all CTAs
SMS = (1, 3, 132)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataflowReport:
    """The verdict (``clean``, ``wrong``, ``not judged``), the sizes that were tried, what is wrong,
    or why nothing could be said.
    """

    module: str
    tried: tuple[tuple[tuple[str, int], ...], ...]
    findings: tuple[str, ...]
    not_judged: str = ""
    how: str = "on random elements, unrounded"

    @property
    def verdict(self) -> str:
        """``clean`` where the program computes the author's kernel."""
        return "wrong" if self.findings else "not judged" if self.not_judged else "clean"

    def __str__(self) -> str:
        lines = [f"dataflow of {self.module}: {self.verdict}"]
        if self.not_judged:
            return "\n".join([*lines, f"  {self.not_judged}"])
        at = "; ".join(", ".join(f"{a}={n}" for a, n in sizes) for sizes in self.tried)
        lines.append(f"  {len(self.tried)} size classes ({at}), {self.how}")
        lines += [f"  allowed: {x}" for x in REWRITES]
        return "\n".join([*lines, *(f"  wrong: {f}" for f in self.findings)])


def verify_dataflow(
    module: KernelModule,
    *,
    classes: int = CLASSES,
    timing: str = "in_order",
    seed: int = 0,
    sizes_tried: Sequence[Mapping[str, int]] = (),
) -> DataflowReport:
    """Whether a module computes its tile IR, for enumerated size classes, or ``sizes_tried``."""
    if module.threads is not None:
        from warploom.interp.thread_dataflow import verify_threads  # noqa: PLC0415 (it needs this)

        return verify_threads(module, classes=classes, timing=timing, sizes_tried=sizes_tried)
    if module.program is not None:
        from warploom.interp.wave_dataflow import verify_wave_program  # noqa: PLC0415 (as above)

        return verify_wave_program(
            module, classes=classes, timing=timing, seed=seed, sizes_tried=sizes_tried
        )
    tried: list[tuple[tuple[str, int], ...]] = []
    findings: list[str] = []
    for n, sizes in enumerate(sizes_tried or size_classes(module, classes, seed)):
        try:
            wrong = _difference(module, sizes, timing, seed + n)
        except NotJudgedError as error:
            why = str(error)
            return DataflowReport(
                module=module.name, tried=tuple(tried), findings=(), not_judged=why
            )
        tried.append(tuple(sorted(sizes.items())))
        if wrong:
            at = ", ".join(f"{a}={v}" for a, v in tried[-1])
            findings.append(f"{wrong} ({at})")
            break
    return DataflowReport(module=module.name, tried=tuple(tried), findings=tuple(findings))


class NotJudgedError(Exception):
    """The author's kernel has no meaning to compare with for these inputs, and why."""


def require_computed(module: KernelModule) -> DataflowReport:
    """``VerificationError`` for a module that does not compute the author's kernel; what every
    compilation runs: one size class, on random elements.
    """
    tried = [compile_sizes(module)] if module.roles else []
    return require_clean_dataflow(verify_dataflow(module, classes=1, sizes_tried=tried), module)


def require_clean_dataflow(report: DataflowReport, module: KernelModule) -> DataflowReport:
    """``VerificationError`` for a report that found something."""
    if report.findings:
        raise VerificationError(
            f"the program of {module.kernel.name} does not compute it: {report.findings[0]}",
            where=module.name,
            why="its results differ from those of the kernel as it was written, unrounded",
            fix="report it with the listing: str(compiled.module)",
            report=report,
        )
    return report


def _check_elements(kernel: Kernel, sizes: Mapping[str, int]) -> None:
    """``NotJudgedError`` before anything is made that is too large."""
    elements = sum(prod(-(-sizes[a.name] // a.per) + 1 for a in t.axes) for t in kernel.tensors)
    if elements > MOST_ELEMENTS:
        raise NotJudgedError(f"tensors of {elements:,} elements are too many to execute here")


def _wanted(
    kernel: Kernel,
    arrays: Mapping[str, Any],
    scalars: Mapping[str, Any],
    sizes: Mapping[str, int],
    initial: Mapping[str, Any],
) -> Any:  # noqa: ANN401 (an array, or several)
    """What the author's kernel computes."""
    try:
        with np.errstate(all="ignore"):
            return reference(
                kernel, tuple(arrays.values()), dict(scalars), sizes=sizes, initial=initial
            )
    except (WarploomError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise NotJudgedError(f"the kernel cannot be evaluated on drawn inputs: {error}") from error


def _difference(module: KernelModule, sizes: Mapping[str, int], timing: str, seed: int) -> str:
    """What differs for these sizes; empty where nothing does."""
    kernel = module.kernel
    _check_elements(kernel, sizes)
    arrays, scalars = drawn_inputs(kernel, sizes, np.random.default_rng(seed))
    outputs = [t.name for t in kernel.tensors if t.access is Access.OUT]
    known = {a.name for t in kernel.tensors if t.name in arrays for a in t.axes if a.per == 1}
    more = {a: n for a, n in sizes.items() if a not in known}
    added = {op.tensor for op in walk(kernel.ops) if isinstance(op, Store) and op.add}
    before = {
        t.name: np.nan for t in kernel.tensors if t.name not in added and t.dtype.is_float
    }  # elements that nobody stores
    wanted = _wanted(kernel, arrays, scalars, more, before)
    right = dict(zip(outputs, wanted if isinstance(wanted, tuple) else (wanted,), strict=True))
    theirs = {t.name: [a.name for a in t.axes] for t in module.tensors}
    own = {t.name: [a.name for a in t.axes] for t in kernel.tensors}
    given = {n: _moved(a, own[n], theirs[n]) for n, a in arrays.items() if n in theirs}
    try:
        with unrounded(), np.errstate(all="ignore"):
            found = run_module(
                module,
                given,
                scalars,
                sizes=sizes,
                timing=timing,
                seed=seed,
                sms=SMS[seed % len(SMS)],
                most=MOST_OPERATIONS,
            )
    except TooLongError as error:
        raise NotJudgedError(str(error)) from error
    except WarploomError as error:
        return f"the program cannot be executed: {error}"
    for name in outputs:
        if name not in found:
            return f"output '{name}' is not computed"
        wrong = _compared(name, _moved(found[name], theirs[name], own[name]), right[name])
        if wrong:
            return wrong
    return ""


def _compared(name: str, found: Any, right: Any) -> str:  # noqa: ANN401
    """The first element that differs; elements that the kernel does not store are none."""
    mine, theirs = np.asarray(found, np.float64), np.asarray(right, np.float64)
    stored = np.isfinite(theirs)
    size = float(np.abs(theirs[stored]).max(initial=1.0))
    same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
    with np.errstate(all="ignore"):
        near = np.abs(mine - theirs) <= NEAR * size
    wrong = ~(same | near)
    if not wrong.any():
        return ""
    at = tuple(int(x[0]) for x in np.nonzero(wrong))
    return f"element {at} of '{name}' is {mine[at]:.6g}, the author's kernel gives {theirs[at]:.6g}"


def _moved(array: Any, axes: list[str], wanted: list[str]) -> Any:  # noqa: ANN401
    return np.asarray(array).transpose([axes.index(n) for n in wanted])


# Sizes.


def size_classes(  # noqa: C901 (one line a kind of axis)
    module: KernelModule, count: int, seed: int
) -> Iterator[dict[str, int]]:
    """Sizes that differ in what happens at edges, in a fixed order."""
    kernel, tiles = module.kernel, module.roles[0].tiles
    extents = {a.axis: a.extent for a in tiles.schedule.axes if a.extent > 1}
    if tiles.schedule.rows:
        extents = {tiles.schedule.axes[-1].axis: tiles.schedule.rows}
    whole = {v.axis: v.extent for v in kernel.vars if v.walk is Walk.WHOLE and v.extent}
    steps = {kernel.var(loop.var).axis: _step(module) for loop in kernel.loops}
    pers = {a.name: a.per for t in kernel.tensors for a in t.axes if a.per > 1}
    rng = np.random.default_rng(seed)
    units, parts = (1, 2, 3), tiles.schedule.split
    for n in range(count):
        unit = units[n % len(units)]
        sizes: dict[str, int] = {}
        for axis in axes_of(kernel):
            if axis.size is not None:
                sizes[axis.name] = axis.size
            elif axis.name in whole:
                sizes[axis.name] = whole[axis.name]
            elif axis.name in extents:
                e = extents[axis.name]
                sizes[axis.name] = _nth((e + 1, 1, e - 1, e, 2 * e + 9, max(1, e // 3)), n, sizes)
            elif axis.name in steps:
                s = steps[axis.name]
                sizes[axis.name] = _nth((s + 1, 1, 2 * s * parts + 3, s, max(1, s - 1)), n, sizes)
            elif axis.name in pers:
                sizes[axis.name] = pers[axis.name] * unit
            else:
                sizes[axis.name] = unit
        for axis_name in gathered_axes(kernel):
            if axis_name not in extents and axis_name not in whole:
                sizes[axis_name] = int(rng.integers(5, 40))
        yield _ordered(module, sizes)


def compile_sizes(module: KernelModule) -> dict[str, int]:
    """The sizes that every compilation tries: rows of a tile and one more (of a batch: one less), a
    ragged tile of columns, several steps of which the last is ragged, two of each unit of the grid.
    """
    kernel, tiles = module.kernel, module.roles[0].tiles
    (sizes,) = size_classes(module, 1, 0)
    steps = {kernel.var(loop.var).axis for loop in kernel.loops}
    tiled = [a for a in tiles.schedule.axes if a.extent > 1]
    fixed = {a.name for a in axes_of(kernel) if a.size is not None}
    fixed |= {v.axis for v in kernel.vars if v.walk is Walk.WHOLE and v.extent}
    units = sizes.keys() & {a.axis for a in tiles.schedule.axes if a.extent == 1} - fixed
    for axis in units:
        sizes[axis] = 2
    if tiles.schedule.rows and (last := tiles.schedule.axes[-1].axis) not in fixed:
        sizes[last] = tiles.schedule.rows + 1  # a second CTA has one row
    for n, a in enumerate(tiled):
        if a.axis not in fixed:
            several = n == 0 and len(units) < 2  # else there are several tiles anyway
            sizes[a.axis] = a.extent + 1 if several else max(1, a.extent - 1)
    pers = {a.name: a.per for t in kernel.tensors for a in t.axes if a.per > 1}
    for axis in steps - fixed - {a.axis for a in tiled}:
        step, per = _step(module), pers.get(axis, 1)
        sizes[axis] = (
            -(-(step * (min(tiles.schedule.split, 4) + 1) + 3) // per) * per if step > 1 else 3
        )
    return _ordered(module, sizes)


def _ordered(module: KernelModule, sizes: dict[str, int]) -> dict[str, int]:
    """An order of tiles names each of them."""
    order = module.kernel.grid.order
    if order:
        values = {Sym(SymKind.SIZE, n): v for n, v in sizes.items()}
        for bound in expand(module.roles[0].tiles.schedule).counts:
            values[bound.name] = evaluate(bound.value, values)
        sizes[module.kernel.tensor(order).axes[0].name] = values[TILES]
    return sizes


def _nth(choices: tuple[int, ...], n: int, before: Mapping[str, int]) -> int:
    """Another combination for every class."""
    return choices[(n + len(before)) % len(choices)]


def axes_of(kernel: Kernel) -> list[Axis]:
    """The axes of a kernel's tensors, each once."""
    found: dict[str, Axis] = {}
    for t in kernel.tensors:
        for a in t.axes:
            if a.name not in found or a.size is not None:
                found[a.name] = a
    return list(found.values())


def _step(module: KernelModule) -> int:
    """Elements that an iteration of the loop covers."""
    tiles = module.roles[0].tiles
    for function in tiles.functions:
        value = rewrite(inlined(function.value, {function.name: function}), _forwards)
        form = linear(value)
        if form is not None and form.factor(function.parameter):
            return abs(form.factor(function.parameter))
    return 64


def _forwards(node: IntExpr) -> IntExpr | None:
    """The step of a loop that is walked from its beginning."""
    if isinstance(node, Select) and isinstance(node.condition, Sym):
        return rewrite(node.otherwise, _forwards)
    return None


def gathered_axes(kernel: Kernel) -> Iterator[str]:
    """Axes of which rows are picked by number."""
    made = {v.name: v for op in walk(kernel.ops) for v in results(op)}
    for op in walk(kernel.ops):
        if isinstance(op, Load | Store):
            axes = kernel.tensor(op.tensor).axes
            for at, axis in zip(op.at, axes, strict=True):
                if at.value is not None and at.value in made and made[at.value].dims:
                    yield axis.name


# Inputs.


def drawn_inputs(
    kernel: Kernel, sizes: Mapping[str, int], rng: np.random.Generator, *, mild: bool = False
) -> tuple[dict[str, Any], dict[str, float]]:
    """Inputs and scalars: random elements, and integers that mean something.

    ``mild``: bytes are drawn near the bias of exponents that are stored as bytes.
    """
    arrays = {
        t.name: _drawn(kernel, t.name, sizes, rng)
        for t in kernel.tensors
        if t.access is not Access.OUT
    }
    if mild:
        bytewise = [t.name for t in kernel.tensors if t.dtype is DType.I8 and t.name in arrays]
        arrays |= {n: rng.integers(120, 128, arrays[n].shape) for n in bytewise}
    scalars = {
        p.name: float(rng.uniform(0.3, 1.7)) if p.dtype is DType.F32 else int(rng.integers(1, 4))
        for p in kernel.parameters
    }
    return arrays, scalars


def _drawn(  # noqa: C901, PLR0911 (one line a kind of tensor)
    kernel: Kernel, name: str, sizes: Mapping[str, int], rng: np.random.Generator
) -> Any:  # noqa: ANN401 (a NumPy array)
    """Random elements; of integers those that mean something."""
    tensor = kernel.tensor(name)
    more = int(tensor.access is Access.STARTS)
    shape = tuple(-(-sizes[a.name] // a.per) + more for a in tensor.axes)
    if tensor.access is Access.TURNS:
        return np.zeros(shape)
    if tensor.dtype.is_float:
        return rng.standard_normal(shape)
    if tensor.access is Access.STARTS:
        most = _rows_of(kernel, name, sizes)
        cuts = np.sort(rng.integers(0, most + 1, max(0, shape[0] - 2)))
        return np.array([0, *cuts, most][: shape[0]])
    if name == kernel.grid.order:
        return rng.permutation(shape[0])
    for loop in kernel.loops:
        for tiles in loop.lists:
            most = -(-sizes[kernel.var(loop.var).axis] // 64)
            if tiles.counts == name:
                return rng.integers(0, 2, shape)
            if tiles.tensor == name:
                return rng.integers(0, max(1, most), shape)
    if tensor.dtype is not DType.I32:
        return rng.integers(-8, 8, shape)
    axis = _indexed(kernel, name)
    if axis is not None and scatters(kernel, name):
        # No element twice: of several stores to one element any may be the last.
        count = int(np.prod(shape))
        return rng.permutation(max(count, sizes[axis]))[:count].reshape(shape)
    if axis is not None:
        return rng.integers(0, max(1, sizes[axis]), shape)
    bounded = _bounded(kernel, name)
    if bounded is not None:
        return rng.integers(0, sizes[bounded] + 2, shape)
    return rng.integers(0, max(1, min(sizes.values())), shape)


def _rows_of(kernel: Kernel, name: str, sizes: Mapping[str, int]) -> int:
    """How many rows offsets of groups share out."""
    if name in kernel.grid.starts:
        rows = next(n for n in kernel.grid.vars if kernel.var(n).walk is Walk.TILE)
        return sizes[kernel.var(rows).axis]
    found = _bounded(kernel, name)
    return sizes[found] if found is not None else max(sizes.values())


def _reaches(kernel: Kernel, name: str) -> set[str]:
    """Values that are made of elements of a tensor."""
    result: set[str] = set()
    for op in walk(kernel.ops):
        loads = isinstance(op, Load) and op.tensor == name
        if loads or (not isinstance(op, Loop | Store) and set(operands(op)) & result):
            result |= {v.name for v in results(op)}
    return result


def _indexed(kernel: Kernel, name: str) -> str | None:
    """The axis whose elements a tensor of integers numbers."""
    made = _reaches(kernel, name)
    for op in walk(kernel.ops):
        if isinstance(op, Load | Store):
            for at, axis in zip(op.at, kernel.tensor(op.tensor).axes, strict=True):
                if at.value is not None and at.value in made:
                    return axis.name
    return None


def scatters(kernel: Kernel, name: str) -> list[Store]:
    """Stores that overwrite elements which a tensor of integers numbers."""
    made = _reaches(kernel, name)
    return [
        op
        for op in walk(kernel.ops)
        if isinstance(op, Store) and not op.add and any(at.value in made for at in op.at)
    ]


def _bounded(kernel: Kernel, name: str) -> str | None:
    """The axis whose loop a tensor of integers bounds."""
    made = _reaches(kernel, name)
    for loop in kernel.loops:
        if {loop.start, loop.until} & made:
            return kernel.var(loop.var).axis
    return None


__all__ = [
    "REWRITES",
    "DataflowReport",
    "compile_sizes",
    "require_clean_dataflow",
    "require_computed",
    "verify_dataflow",
]
