"""What a tile kernel is: a frozen value of typed ops in SSA form, loop-carried values explicit.

``Kernel`` is the only declaration there is. Tensors have named axes; a *variable* walks one axis:
one element at a time (``UNIT``: batches, heads, experts), by tiles of the grid (``TILE``), by steps
of a loop (``STEP``), or it stands for a whole axis of known size (``WHOLE``). A value's shape is
the tuple of variables it extends over, so broadcasting, transposes and contractions are a matter of
names, and no tile extent stands here: extents are chosen later (``Extents``).

Ops are in order of execution. What stands before a loop is the head of a tile, what stands after
the last one its tail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import Any


class DType(StrEnum):
    """Element types; products accumulate in ``F32``."""

    F32 = "f32"
    BF16 = "bf16"
    F16 = "f16"
    E4M3 = "e4m3"
    E5M2 = "e5m2"
    I32 = "i32"
    I8 = "i8"
    I4 = "i4"
    BOOL = "bool"

    @property
    def bits(self) -> int:
        """Bits of one element in memory."""
        return {"f32": 32, "i32": 32, "bf16": 16, "f16": 16, "i4": 4}.get(self.value, 8)

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.value in {"f32", "bf16", "f16", "e4m3", "e5m2"}


class Access(StrEnum):
    """What a kernel does with a tensor. ``STARTS``: offsets of groups, one more than groups."""

    IN = "in"
    OUT = "out"
    STARTS = "starts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A place in the author's text."""

    file: str
    number: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"

    def __repr__(self) -> str:  # without the folder: what is kept for a kernel can be moved
        return f"Line({PurePath(self.file).name}:{self.number} {self.text!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A tensor axis: ``k``, or ``k/128`` with one element for 128 of k. ``size``: where known."""

    name: str
    per: int = 1
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor of the call. Strides are the caller's; the innermost is 1.

    ``blocked``: its last two axes lie in blocks of 16 rows and 8 columns, as the threads of a warp
    hold accumulators, so that a thread's four elements of a block are neighbours. Rows are rounded
    up to whole blocks.

    ``captured``: by a function given to the kernel; any index may stand for any of its axes.
    """

    name: str
    axes: tuple[Axis, ...]
    dtype: DType
    access: Access = Access.IN
    optional: bool = False
    blocked: bool = False
    captured: bool = False

    def axis(self, name: str) -> Axis:
        """The axis of that name."""
        return next(a for a in self.axes if a.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A scalar given with every call (``scale: float``)."""

    name: str
    dtype: DType


class Walk(StrEnum):
    """How a variable walks its axis."""

    UNIT = "unit"
    TILE = "tile"
    STEP = "step"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class Var:
    """A variable over the axis ``axis``. ``extent``: elements at a time, where the text says so
    (1 for units, the size of whole axes, the second argument of ``steps``).
    """

    name: str
    axis: str
    walk: Walk
    extent: int | None = None


def is_number(var: Var) -> bool:
    """Whether a variable stands for one element at a time: a unit, or a step of one."""
    return var.walk is Walk.UNIT or (var.walk is Walk.STEP and var.extent == 1)


@dataclass(frozen=True, slots=True)
class Dim:
    """One axis of a value's shape: a variable, by ``per`` elements of it each (block scales)."""

    var: str
    per: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A result: its name (unique in the kernel), shape, type, and the line that made it."""

    name: str
    dims: tuple[Dim, ...]
    dtype: DType
    line: Line | None = None

    @property
    def vars(self) -> tuple[str, ...]:
        """The variables of its shape."""
        return tuple(d.var for d in self.dims)


class Fn(StrEnum):
    """Pointwise functions. Comparisons give ``BOOL``; ``CAST`` converts to the result's type."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    NEG = "neg"
    FLOORDIV = "floordiv"
    MOD = "mod"
    SHR = "shr"
    BITS = "bits"
    ABS = "abs"
    MIN = "min"
    MAX = "max"
    EXP = "exp"
    EXP2 = "exp2"
    LOG = "log"
    LOG2 = "log2"
    SQRT = "sqrt"
    RSQRT = "rsqrt"
    TANH = "tanh"
    ERF = "erf"
    SIN = "sin"
    COS = "cos"
    FLOOR = "floor"
    CAST = "cast"
    WHERE = "where"
    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    AND = "and"
    OR = "or"
    NOT = "not"


@dataclass(frozen=True, slots=True, kw_only=True)
class Const:
    """A number of the text (also captured constants), of no extent: it broadcasts."""

    result: Value
    value: float | int | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A parameter of the call."""

    result: Value
    parameter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The size of a tensor's axis at run time (i32, no extent)."""

    result: Value
    tensor: str
    axis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a variable stands: the index itself for units, the tile's first element else."""

    result: Value
    var: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Indices:
    """``index(var)``: the element indices a variable covers; i32, shape (var,)."""

    result: Value
    var: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A value of fewer axes made to extend over ``result.dims`` (``zeros(m, n)``)."""

    result: Value
    arg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """An index of a load or store: a variable, or a value: a scalar (i32, no extent) for one
    element of the axis, or a vector (i32, shape (var,)) that gathers or scatters rows.
    """

    var: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A tile of a tensor. Elements outside the tensor read as 0."""

    result: Value
    tensor: str
    at: tuple[At, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transpose:
    """The value with its two axes exchanged."""

    result: Value
    arg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointwise:
    """A function of values element by element; shapes broadcast by variable."""

    result: Value
    fn: Fn
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduce:
    """``MAX``, ``MIN`` or ``ADD`` along one variable of a value's shape."""

    result: Value
    fn: Fn
    arg: str
    over: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """a[m, k] @ b[k, n] (+ ``into``), accumulated in f32.

    ``into`` is put there by ``simplify`` from ``into + a @ b``.
    """

    result: Value
    a: str
    b: str
    into: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """``tensor[at] = value`` (``add``: ``+=``, a sum in memory), converted to the tensor's type.

    Elements outside the tensor are not written.
    """

    tensor: str
    at: tuple[At, ...]
    value: str
    add: bool = False
    line: Line | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A loop-carried value: ``inside`` the body it is ``first`` on the first iteration, else what
    the iteration before left as ``last``; after the loop it is ``result``.
    """

    inside: Value
    first: str
    last: str
    result: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """``for var in steps(axis)``: from ``start`` to ``until`` (values; the whole axis if None)."""

    var: str
    carried: tuple[Carried, ...]
    body: tuple[Op, ...]
    start: str | None = None
    until: str | None = None
    line: Line | None = None


Op = (
    Const
    | Scalar
    | Size
    | Position
    | Indices
    | Spread
    | Load
    | Transpose
    | Pointwise
    | Reduce
    | Dot
    | Store
    | Loop
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Which tiles there are: variables of the grid in order, and the kind of walk.

    ``kind``: ``tiles`` (all tiles of ``tensor``), ``groups`` (row tiles of groups whose offsets
    ``starts`` gives; the first variable is the group), ``packed`` (sequences by offsets).
    """

    tensor: str
    vars: tuple[str, ...]
    kind: str = "tiles"
    starts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A tile kernel for given types and whole sizes."""

    name: str
    tensors: tuple[Tensor, ...]
    parameters: tuple[Parameter, ...]
    vars: tuple[Var, ...]
    grid: Grid
    ops: tuple[Op, ...]
    line: Line | None = None

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name."""
        return next(t for t in self.tensors if t.name == name)

    def var(self, name: str) -> Var:
        """The variable of that name."""
        return next(v for v in self.vars if v.name == name)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The pipelined loops, in order."""
        return tuple(op for op in self.ops if isinstance(op, Loop))

    def reference(self, *arrays: object, **given: Any) -> Any:  # noqa: ANN401 (NumPy's own)
        """What it computes, in NumPy: see ``warploom.kernel.meaning.reference``.

        Scalars are given by name, beside ``exact``, ``extents``, ``sizes``, ``initial``.
        """
        from warploom.kernel.meaning import reference  # noqa: PLC0415 (NumPy only when asked)

        options = {k: given.pop(k) for k in ("exact", "extents", "sizes", "initial") if k in given}
        return reference(self, arrays, given, **options)

    def __str__(self) -> str:
        from warploom.kernel.listing import listing  # noqa: PLC0415 (it needs this module)

        return listing(self)


def walk(ops: tuple[Op, ...]) -> Iterator[Op]:
    """All ops, loops' bodies after their loop."""
    for op in ops:
        yield op
        if isinstance(op, Loop):
            yield from walk(op.body)


def operands(op: Op) -> tuple[str, ...]:  # noqa: PLR0911 (one line a kind of op)
    """The names of the values an op reads (a loop's: what it starts from, and its bounds)."""
    match op:
        case Pointwise():
            return op.args
        case Spread() | Transpose() | Reduce():
            return (op.arg,)
        case Dot():
            return (op.a, op.b, *([op.into] if op.into else []))
        case Load():
            return tuple(a.value for a in op.at if a.value)
        case Store():
            return (op.value, *(a.value for a in op.at if a.value))
        case Loop():
            bounds = (b for b in (op.start, op.until) if b)
            return (*(c.first for c in op.carried), *bounds)
        case _:
            return ()


def results(op: Op) -> tuple[Value, ...]:
    """The values an op defines for what follows it."""
    if isinstance(op, Loop):
        return tuple(c.result for c in op.carried)
    return () if isinstance(op, Store) else (op.result,)
