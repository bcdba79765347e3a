"""``gemm_tile_kernel``: a tile kernel that is a product with a pointwise tail, as this back end
takes it.

The loop of such a kernel is ``acc += a[m, k] @ b[n, k].T``; what stands after it is applied to
each accumulator element on its way to memory. Anything else is refused at the author's line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from warploom.codegen.amdgcn.tile import ElementType
from warploom.errors import BackendError
from warploom.frontend.simplify import simplify
from warploom.ir import tile as ir
from warploom.ir.tile import DType, Fn, Kernel, Line, Op, Walk, operands, results

ELEMENTS = {DType.BF16: ElementType.BF16, DType.F16: ElementType.FP16, DType.E4M3: ElementType.FP8}
STORED = (DType.F32, DType.BF16, DType.F16, DType.E4M3)
NOT_LOWERED = frozenset({Fn.FLOORDIV, Fn.MOD, Fn.INLINE})


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmTileKernel:
    """A product and its tail. ``row`` and ``column`` are the variables of the output's tile."""

    kernel: Kernel
    element: ElementType
    a: str
    b: str
    row: str
    column: str
    accumulator: str
    tail: tuple[Op, ...]

    def dimension(self, axis: str) -> str:
        """``dim_m``, ``dim_n`` or ``dim_k``: the argument that holds an axis' size."""
        names = {self.kernel.var(v).axis: d for v, d in self._dimensions()}
        return names[axis]

    def _dimensions(self) -> tuple[tuple[str, str], ...]:
        loop = self.kernel.loops[0]
        return ((loop.var, "dim_k"), (self.column, "dim_n"), (self.row, "dim_m"))

    @property
    def stores(self) -> tuple[ir.Store, ...]:
        """The outputs, in the order they are written."""
        return tuple(op for op in self.tail if isinstance(op, ir.Store))

    @property
    def read(self) -> tuple[ir.Tensor, ...]:
        """The tensors the tail reads, each once."""
        names = dict.fromkeys(op.tensor for op in self.tail if isinstance(op, ir.Load))
        return tuple(self.kernel.tensor(name) for name in names)

    @property
    def scalars(self) -> tuple[str, ...]:
        """The parameters the tail uses, each once."""
        return tuple(dict.fromkeys(op.parameter for op in self.tail if isinstance(op, ir.Scalar)))


def products(kernel: Kernel) -> int:
    """Products in the loops of a kernel: two make it one around vector work, as attention is."""
    return sum(isinstance(op, ir.Dot) for loop in kernel.loops for op in loop.body)


def gemm_tile_kernel(kernel: Kernel) -> GemmTileKernel:
    """The kernel as a product with a tail. Raises ``BackendError`` for any other kernel."""
    kernel = simplify(kernel)
    if kernel.grid.kind != "tiles" or any(v.walk is Walk.UNIT for v in kernel.vars):
        _refuse(kernel.line, "a grid of groups, batches or sequences", "one matrix a call")
    loop = _only_loop(kernel)
    row, column = kernel.grid.vars
    a, b, dot = _product(kernel, loop, (row, column))
    at = kernel.ops.index(loop)
    _check_head(kernel.ops[:at])
    accumulator = next(c for c in loop.carried if c.last == dot.result.name)
    first = {v.name: op for op in kernel.ops[:at] for v in results(op)}
    if not _is_zero(first, accumulator.first):
        _refuse(loop.line, "an accumulator that does not start at zero", "start it with zeros")
    # Numbers of the head that the tail needs are numbers of the tail.
    kept = ir.Const | ir.Scalar | ir.Size | ir.Broadcast
    needed = _needed(kernel.ops[at + 1 :], first)
    head = (op for op in kernel.ops[:at] if isinstance(op, kept) and op.result.name in needed)
    tail = (*head, *kernel.ops[at + 1 :])
    text = GemmTileKernel(
        kernel=kernel,
        element=ELEMENTS[kernel.tensor(a).dtype],
        a=a,
        b=b,
        row=row,
        column=column,
        accumulator=accumulator.result.name,
        tail=tail,
    )
    for op in tail:
        _check_tail(text, op)
    return text


def _only_loop(kernel: Kernel) -> ir.Loop:
    if len(kernel.loops) != 1 or len(kernel.grid.vars) != 2:
        _refuse(
            kernel.line,
            f"{len(kernel.loops)} loop(s) over a grid of {len(kernel.grid.vars)} variable(s)",
            "one loop over k and a grid of two",
        )
    loop = kernel.loops[0]
    if loop.lists:
        _refuse(loop.line, "a loop over a list of tiles (some=)", "a loop over all of k")
    if loop.start or loop.until or loop.stop or len(loop.carried) != 1:
        _refuse(loop.line, "a loop with bounds or several carried values", "one sum over all of k")
    return loop


def _product(kernel: Kernel, loop: ir.Loop, grid: tuple[str, str]) -> tuple[str, str, ir.Dot]:
    """Names of A and B, and the product."""
    made = {v.name: op for op in loop.body for v in results(op)}
    dots = [op for op in loop.body if isinstance(op, ir.Dot)]
    if len(dots) != 1 or dots[0].into != loop.carried[0].inside.name:
        _refuse(loop.line, f"{len(dots)} product(s) into the sum", "acc += a[m, k] @ b[n, k].T")
    dot = dots[0]
    left, turned = made.get(dot.a), made.get(dot.b)
    right = made.get(turned.arg) if isinstance(turned, ir.Transpose) else None
    if not isinstance(left, ir.Load) or not isinstance(right, ir.Load):
        _refuse(
            dot.result.line,
            "a product of something else than two tiles as they lie in memory",
            "acc += a[m, k] @ b[n, k].T with both tensors k-contiguous",
        )
    for load, var in ((left, grid[0]), (right, grid[1])):
        if tuple(at.var for at in load.at) != (var, loop.var):
            what = f"{load.tensor} read by another index than [{var}, {loop.var}]"
            _refuse(load.result.line, what, "")
    kinds = {kernel.tensor(t).dtype for t in (left.tensor, right.tensor)}
    if len(kinds) != 1 or not kinds <= set(ELEMENTS):
        names = " and ".join(sorted(k.value for k in kinds))
        _refuse(dot.result.line, f"a product of {names}", "bf16, f16 or e4m3 on both sides")
    others = [op for op in loop.body if op not in (dot, left, right, turned)]
    if others:
        line = next((v.line for op in others for v in results(op)), loop.line)
        _refuse(line, f"work on {loop.var}-tiles besides the product", "move it after the loop")
    return left.tensor, right.tensor, dot


def _check_head(head: tuple[Op, ...]) -> None:
    for op in head:
        if not isinstance(op, ir.Const | ir.Broadcast | ir.Scalar | ir.Size):
            line = next((v.line for v in results(op)), None)
            _refuse(line, "work before the loop", "move it after the loop")


def _needed(tail: tuple[Op, ...], made: Mapping[str, Op]) -> set[str]:
    """What the tail needs of what the head makes."""
    result: set[str] = set()
    left = [n for op in tail for n in operands(op)]
    while left:
        name = left.pop()
        if name in made and name not in result:
            result.add(name)
            left += operands(made[name])
    return result


def _is_zero(made: Mapping[str, Op], name: str) -> bool:
    op = made.get(name)
    if isinstance(op, ir.Broadcast):
        return _is_zero(made, op.arg)
    return isinstance(op, ir.Const) and op.value == 0


def _check_tail(text: GemmTileKernel, op: Op) -> None:
    match op:
        case ir.Const() | ir.Scalar() | ir.Broadcast():
            return
        case ir.Size() if op.axis in {text.kernel.var(v).axis for v in (text.row, text.column)}:
            return
        case ir.Indices() if op.var in (text.row, text.column):
            return
        case ir.Pointwise() if op.fn not in NOT_LOWERED:
            return
        case ir.Pointwise():
            _refuse(op.result.line, f"{op.fn.value} in the tail", "another function")
        case ir.Load():
            _check_access(text, op.tensor, tuple(a.var for a in op.at), op.result.line)
        case ir.Store():
            _check_access(text, op.tensor, tuple(a.var for a in op.at), op.line)
            if any(a.per > 1 for a in text.kernel.tensor(op.tensor).axes):
                _refuse(op.line, f"a store to blocks of '{op.tensor}'", "an element for each place")
            if op.add or text.kernel.tensor(op.tensor).dtype not in STORED:
                _refuse(op.line, "an adding store, or one of another type", "store f32, bf16, ...")
        case _:
            line = next((v.line for v in results(op)), text.kernel.line)
            _refuse(line, f"{type(op).__name__.lower()} in the tail", "pointwise work only")


def _check_access(
    text: GemmTileKernel, tensor: str, at: tuple[str | None, ...], line: Line | None
) -> None:
    if at not in ((text.row, text.column), (text.row,), (text.column,)):
        _refuse(line, f"{tensor} indexed by anything but the tile's own variables", "")
    if text.kernel.tensor(tensor).dtype not in STORED:
        _refuse(line, f"{tensor} of type {text.kernel.tensor(tensor).dtype.value}", "")


def refuse(line: Line | None, what: str, fix: str, why: str) -> NoReturn:
    """Refuse a kernel at the author's line."""
    raise BackendError(
        f"the gfx950 back end does not take {what}",
        where=f"{line}: {line.text}" if line else "",
        why=why,
        fix=fix or "see the explanation of the gfx950 back end for what it takes",
    )


def _refuse(line: Line | None, what: str, fix: str) -> NoReturn:
    refuse(line, what, fix, "this back end emits products of two matrices with a pointwise tail")
