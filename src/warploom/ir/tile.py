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

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

from warploom.dataclass import dataclass
from warploom.ir.types import (
    Access,
    Axis,
    Dim,
    DType,
    Fn,
    Line,
    Parameter,
    Tensor,
    Value,
    Var,
    Walk,
    is_number,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Const:
    """A number of the source (also captured constants), of no extent: it broadcasts."""

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
class Whole:
    """Whether the step at hand is one of a list of tiles that hide nothing (bool, no extent)."""

    result: Value
    var: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Broadcast:
    """A value of fewer axes made to extend over ``result.dims`` (``zeros(m, n)``)."""

    result: Value
    arg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What an earlier loop of the tile left as ``of``; only where loops are lowered one by one."""

    result: Value
    of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """An index of a load or store: a variable, or a value: a scalar (i32, no extent) for one
    element of the axis, or a vector (i32, shape (var,)) that gathers or scatters rows.
    """

    var: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A tile of a tensor. Elements outside the tensor read as 0.

    ``bounded``: those past the end of its loop too. ``end``: rows from that number on too.
    ``step``: which step of an unrolled loop it belongs to. Rewrites of the lowering put all three
    there.
    """

    result: Value
    tensor: str
    at: tuple[At, ...]
    bounded: bool = False
    step: int = 0
    end: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transpose:
    """The value with its two axes exchanged."""

    result: Value
    arg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inline:
    """A function of elements that its author wrote for the targets, and its meaning in NumPy.

    ``params``: names and types (f32, i32) of its arguments; the code has their names in braces, and
    that of the result as ``{out}``. ``c``: an expression of CUDA C++.
    """

    name: str
    params: tuple[tuple[str, DType], ...]
    result: DType
    meaning: Callable[..., Any] = field(repr=False)
    ptx: str = ""
    c: str = ""
    amdgcn: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointwise:
    """A function of values element by element; shapes broadcast by variable. ``code``: of
    ``Fn.INLINE``, what it is.
    """

    result: Value
    fn: Fn
    args: tuple[str, ...]
    code: Inline | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduce:
    """``MAX``, ``MIN`` or ``ADD`` along one variable of a value's shape."""

    result: Value
    fn: Fn
    arg: str
    over: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """``ADD``, ``MAX`` or ``MIN`` of each element and those before it (``reverse``: after it) along
    one variable, of the same shape: a prefix sum inside the tile or step.
    """

    result: Value
    fn: Fn
    arg: str
    over: str
    reverse: bool = False


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

    Elements outside the tensor are not written. With ``add``, ``fn`` may also be ``MAX`` or
    ``MIN``: an extreme in memory (``atomic_max``). ``when``: a condition (bool, no extent) under
    which it is stored at all.
    """

    tensor: str
    at: tuple[At, ...]
    value: str
    add: bool = False
    line: Line | None = None
    fn: Fn = Fn.ADD
    when: str | None = None


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
class Tiles:
    """A list of steps: numbers of tiles in ``tensor``, of which the first ``counts`` are meant.

    Axes of both but the list's last are those of the grid. ``whole``: nothing is hidden there.
    """

    tensor: str
    counts: str
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """``for var in steps(axis)``: from ``start`` to ``until`` (values; the whole axis if None), or
    the tiles of ``lists`` alone, one list after the other. ``times``: steps of an iteration, where
    a rewrite of the lowering unrolled it. ``stop``: a value of its body (bool, no extent); after a
    step in which it holds there is no other. ``share``: values that say which of how many equal
    parts of each list are walked.
    """

    var: str
    carried: tuple[Carried, ...]
    body: tuple[Op, ...]
    start: str | None = None
    until: str | None = None
    lists: tuple[Tiles, ...] = ()
    line: Line | None = None
    times: int = 1
    stop: str | None = None
    share: tuple[str, str] | None = None


Op = (
    Const | Scalar | Size | Position | Indices | Whole | Broadcast | Given | Load | Transpose
    | Pointwise | Reduce | Scan | Dot | Store | Loop
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Which tiles there are: variables of the grid in order, and the kind of walk.

    ``kind``: ``tiles`` (all tiles of ``tensor``), ``groups`` (row tiles of groups whose offsets
    ``starts`` gives; the first variable is the group), ``packed`` (sequences by offsets). The
    ``tensor`` has no name where the author named axes. ``order`` is a tensor of the numbers of all
    tiles, in the order they are begun.
    """

    tensor: str
    vars: tuple[str, ...]
    kind: str = "tiles"
    starts: tuple[str, ...] = ()
    order: str = ""


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
        """What it computes, in NumPy: see ``warploom.frontend.reference.reference``.

        Scalars are given by name, beside ``exact``, ``extents``, ``sizes``, ``initial``.
        """
        from warploom.frontend.reference import reference  # noqa: PLC0415 (NumPy only when asked)

        options = {k: given.pop(k) for k in ("exact", "extents", "sizes", "initial") if k in given}
        return reference(self, arrays, given, **options)

    def __str__(self) -> str:
        from warploom.ir.tile_listing import listing  # noqa: PLC0415 (it needs this module)

        return listing(self)


def index_vars(at: tuple[At, ...], shapes: Mapping[str, tuple[Dim, ...]]) -> tuple[str, ...]:
    """The variables that the indices of an access extend over, one after the other.

    ``shapes``: those of the values among the indices. One that comes twice is merged:
    ``x[m, target[m]]`` has one element for each m.
    """
    found: list[str] = []
    for index in at:
        if index.value is not None:
            found += [d.var for d in shapes[index.value]]
        elif index.var is not None:
            found.append(index.var)
    return tuple(found)


def merges_indices(at: tuple[At, ...], shapes: Mapping[str, tuple[Dim, ...]]) -> bool:
    """Whether each element of an access has indices of its own: several of them extend over one
    variable, ``x[m, target[m]]``, or one is a tile, ``table[bucket]``.
    """
    found = index_vars(at, shapes)
    tiles = any(index.value is not None and len(shapes[index.value]) > 1 for index in at)
    return tiles or len(set(found)) < len(found)


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
        case Broadcast() | Transpose() | Reduce() | Scan():
            return (op.arg,)
        case Dot():
            return (op.a, op.b, *([op.into] if op.into else []))
        case Load():
            return (*(a.value for a in op.at if a.value), *([op.end] if op.end else []))
        case Store():
            when = (op.when,) if op.when else ()
            return (op.value, *(a.value for a in op.at if a.value), *when)
        case Loop():
            bounds = (b for b in (op.start, op.until) if b)
            return (*(c.first for c in op.carried), *bounds, *(op.share or ()))
        case _:
            return ()


def line_of(op: Op) -> Line | None:
    """The author's line of an op."""
    return op.line if isinstance(op, Loop | Store) else op.result.line


def results(op: Op) -> tuple[Value, ...]:
    """The values an op defines for what follows it."""
    if isinstance(op, Loop):
        return tuple(c.result for c in op.carried)
    return () if isinstance(op, Store) else (op.result,)
