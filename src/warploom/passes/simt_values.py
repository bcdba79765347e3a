"""Values of tiles in the registers of threads: arrays, places in them, terms that read them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace

from warploom.dataclass import dataclass
from warploom.ir import threads as ir
from warploom.ir.expr import const, size
from warploom.ir.threads import (
    Argument,
    ArgumentKind,
    Assign,
    Convert,
    Declare,
    Reg,
    Statement,
    Term,
    View,
)
from warploom.ir.tile import (
    Broadcast,
    DType,
    Fn,
    Indices,
    Kernel,
    Loop,
    Op,
    Pointwise,
    Reduce,
    Store,
    Tensor,
    Transpose,
    Value,
    Var,
    Walk,
    walk,
)
from warploom.passes.simt_layout import (
    ThreadAxis,
    ThreadLayout,
    count_uses,
    every_value,
)
from warploom.passes.simt_terms import (
    INTEGERS,
    MEET,
    VALUE,
    WORD,
    Body,
    E,
    U,
    pos,
    unrolled,
)


@dataclass
class Values:
    """The values of a kernel, by the layout that says which thread holds what."""

    kernel: Kernel
    layout: ThreadLayout
    sizes: dict[str, int]
    arguments: dict[Argument, None] = field(default_factory=dict)
    shared_bytes: int = 0
    inlined: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.values: dict[str, Value] = {v.name: v for v in every_value(self.kernel)}
        self.made: dict[str, Op] = {}
        self.order: dict[str, int] = {}
        for i, op in enumerate(walk(self.kernel.ops)):
            if not isinstance(op, Loop | Store):
                self.made[op.result.name] = op
                self.order[op.result.name] = i
        self.uses = count_uses(self.kernel.ops)
        self.only_rows = self.guarding_rows()

    def guarding_rows(self) -> ThreadAxis | None:
        """The rows of tiles whose absence lets threads leave out what all rows share.

        None where something is summed up of what rows share alone: loops end by such numbers, for
        all threads at once. Loops along rows have elements of their own.
        """
        rows = [a for a in self.layout.axes.values() if not a.columns]
        if len(rows) != 1 or self.kernel.var(rows[0].var).walk is not Walk.TILE:
            return None
        sums = (op for op in walk(self.kernel.ops) if isinstance(op, Reduce))
        alone = any(rows[0].var not in self.values[op.arg].vars for op in sums)
        return None if alone or self.layout.groups == 1 else rows[0]

    @property
    def grouped(self) -> str | None:
        """The variable of the rows of groups."""
        grid = self.kernel.grid
        tiled = (n for n in grid.vars if self.kernel.var(n).walk is Walk.TILE)
        return next(tiled) if grid.kind == "groups" else None

    def extent(self, var: Var) -> int:
        """Elements of a tile along a variable."""
        axis = self.layout.axes.get(var.name)
        return axis.extent if axis is not None else var.extent or 1

    def is_chunked(self, name: str) -> bool:
        """Whether a value extends over the axis that is walked part by part."""
        return self.layout.chunked in self.values[name].vars

    def scalar(self, value: Value, term: Term) -> Statement:
        """A value of no dimensions in its register."""
        return replace(self.array(value), value=term)

    def row_axis(self, names: Iterable[str]) -> ThreadAxis | None:
        """The rows among some variables."""
        axes = (self.layout.axes[n] for n in names if n in self.layout.axes)
        return next((a for a in axes if not a.columns), None)

    def column_axis(self, names: Iterable[str]) -> ThreadAxis | None:
        """The columns among some variables."""
        axes = (self.layout.axes[n] for n in names if n in self.layout.axes)
        return next((a for a in axes if a.columns), None)

    def count(self, names: Iterable[str]) -> int:
        """Elements of a thread of a value over these variables."""
        names = tuple(names)
        row, column = self.row_axis(names), self.column_axis(names)
        return (row.elements if row else 1) * (column.elements if column else 1)

    def over(self, names: Iterable[str], lines: Body) -> Body:
        """Statements for every element of a thread: ``u`` counts rows, ``e`` columns."""
        names = tuple(names)
        row, column = self.row_axis(names), self.column_axis(names)
        if column is not None:
            lines = [unrolled("e", column.elements, lines)]
        if row is not None:
            lines = [unrolled("u", row.elements, lines)]
        return lines

    def array(self, value: Value, prefix: str = VALUE) -> Declare:
        """The registers of a thread for a value."""
        count = self.count(value.vars) if value.dims else 0
        return Declare(
            name=f"{prefix}_{value.name}",
            dtype=value.dtype,
            count=count,
            holds=value.name if prefix == VALUE else "",
        )

    def each(self, value: Value, term: Term, prefix: str = VALUE) -> Body:
        """Every element of a thread takes a value."""
        if not value.dims:
            return [replace(self.array(value, prefix), value=term)]
        start = self.put(value, term, prefix)
        return [self.array(value, prefix), *self.over(value.vars, [start])]

    def put(self, value: Value, term: Term, prefix: str = VALUE) -> Statement:
        """An element of a value's array takes a value."""
        place = self.place(value, prefix)
        return Assign(name=place.name, index=place.index, value=term)

    def place(self, value: Value, prefix: str = VALUE) -> Reg:
        """An element of a value's array."""
        row, column = self.row_axis(value.vars), self.column_axis(value.vars)
        name = f"{prefix}_{value.name}"
        if not value.dims:
            return Reg(name)
        if row is None and column is None:
            return Reg(name, const(0))
        if row is None:
            return Reg(name, E)
        if column is None:
            return Reg(name, U)
        return Reg(name, U * column.elements + E)

    def at(self, name: str) -> Term:
        """The element ``u, e`` of a value as a term."""
        op = self.made.get(name)
        match op:
            case Indices():
                return self.index(op.var)
            case Broadcast() | Transpose():
                return self.at(op.arg)
            case Pointwise() if self.is_same(op):
                return self.at(op.args[0])
            case Pointwise() if name in self.inlined:
                return self.expression(op)
        return self.place(self.values[name])

    def is_same(self, op: Pointwise) -> bool:
        """Whether a conversion changes nothing: a narrower float as f32."""
        source = self.values[op.args[0]].dtype
        wider = op.result.dtype is DType.F32 and source.is_float
        wider |= op.result.dtype is DType.I32 and source in INTEGERS
        return op.fn is Fn.CAST and (wider or source is op.result.dtype) and bool(op.result.dims)

    def index(self, var: str) -> Term:
        """The number of the element ``u`` or ``e`` along a variable."""
        axis = self.layout.axes.get(var)
        if axis is None:
            return pos(var)
        own = Reg(f"own_{var}")
        if not axis.columns:
            return own + U * self.layout.groups if axis.repeat > 1 else own
        step = self.layout.lanes * axis.vector
        if axis.repeat == 1:
            return own + E if axis.vector > 1 else own
        return own + E // axis.vector * step + E % axis.vector

    def exists(self, var: str) -> Term:
        """Whether the element at hand lies before the end of a variable."""
        return self.index(var) < Reg(f"end_{var}")

    def expression(self, op: Pointwise) -> Term:
        """A function of elements."""
        args = [self.at(a) for a in op.args]
        if op.fn is Fn.CAST and op.code is None:
            return Convert(args[0], op.result.dtype)
        return ir.Function(op.fn, tuple(args), op.result.dtype, op.code)

    def flat_index(self, value: Value) -> Term:
        """The number of the element at hand among those of a thread."""
        row, column = self.row_axis(value.vars), self.column_axis(value.vars)
        if row and column:
            return U * column.elements + E
        return U if row else E if column else const(0)

    def is_full(self, axis: ThreadAxis) -> bool:
        """Whether all elements of all threads exist."""
        var = self.kernel.var(axis.var)
        share = self.layout.lanes if axis.columns else self.layout.groups
        return var.walk is Walk.WHOLE and (var.extent or 0) % (share * axis.elements) == 0

    def shared(self, dtype: DType, count: int) -> View:
        """A view of shared memory from its beginning."""
        self.shared_bytes = max(self.shared_bytes, WORD * count)
        return View(name=MEET, dtype=dtype, offset=0, count=count)

    def without(self, value: Value, var: str) -> Value:
        """A value of the same kind that does not extend over a variable."""
        return replace(value, dims=tuple(d for d in value.dims if d.var != var))

    def add(self, kind: ArgumentKind, name: str, axis: int = 0) -> None:
        """A parameter of the program."""
        self.arguments.setdefault(Argument(kind=kind, name=name, axis=axis))

    def length(self, axis: str) -> Term:
        """The size of an axis, as a parameter."""
        self.add(ArgumentKind.SIZE, axis)
        return size(axis)

    def blocks(self, axis: str, per: int) -> Term:
        """The size of an axis in blocks of so many elements."""
        size = self.length(axis)
        return size if per == 1 else (size + (per - 1)) // per

    def strides(self, tensor: Tensor, count: int) -> None:
        """The strides of its first axes are parameters."""
        for n in range(count):
            self.add(ArgumentKind.STRIDE, tensor.name, n)
