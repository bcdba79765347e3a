"""Where accesses of thread programs lie: coordinates, conditions, vectors, transposed tiles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.ir import threads as ir
from warploom.ir.expr import const
from warploom.ir.threads import (
    ArgumentKind,
    Declare,
    For,
    Number,
    Reg,
    Term,
    Within,
)
from warploom.ir.tile import (
    Access,
    At,
    DType,
    Loop,
    Position,
    Tensor,
    Walk,
    walk,
)
from warploom.passes.simt_layout import (
    VECTOR_BYTES,
    ThreadAxis,
)
from warploom.passes.simt_terms import (
    LEAST_SHIFTED,
    PAD,
    THREAD,
    Body,
    all_of,
    number,
    pos,
)
from warploom.passes.simt_values import Values


@dataclass
class Accesses(Values):
    """Places of a kernel's tensors as terms of a thread."""

    def number_at(self, tensor: Tensor, n: int, index: At) -> Term:
        """An index of an access as a term of ``u`` and ``e``."""
        if index.value is not None:
            return self.at(index.value)
        per = tensor.axes[n].per
        place = self.index(index.var or "")
        return place // per if per > 1 else place

    def inside(self, tensor: Tensor, at: tuple[At, ...]) -> list[Term]:
        """Conditions that computed indices lie on their axes."""
        result: list[Term] = []
        for n, (index, axis) in enumerate(zip(at, tensor.axes, strict=True)):
            if index.value is None:
                continue
            made = self.made.get(index.value)
            own = isinstance(made, Position) and self.kernel.var(made.var).axis == axis.name
            if not own or axis.per > 1:
                size = self.blocks(axis.name, axis.per)
                if tensor.access is Access.STARTS:  # one entry more than groups
                    size = size + 1
                result.append(Within(self.number_at(tensor, n, index), size))
        return result

    def row_there(self, names: Iterable[str]) -> list[Term]:
        """Threads without a row of the tile need nothing that all its rows share. The first row,
        whose threads store such a value for all of them, is always there.
        """
        axis = self.only_rows
        if axis is None or axis.var in names:
            return []
        return [Reg(f"own_{axis.var}") < Reg(f"end_{axis.var}")]

    def vars_of(self, at: tuple[At, ...]) -> tuple[str, ...]:
        """The variables that an access extends over."""
        found: list[str] = []
        for index in at:
            names = self.values[index.value].vars if index.value is not None else (index.var or "",)
            found += [n for n in names if n in self.layout.axes and n not in found]
        return tuple(found)

    def coordinates(
        self, tensor: Tensor, at: tuple[At, ...], last: Term | None = None
    ) -> tuple[Term, ...]:
        """The element of a tensor that an access names; ``last``: along its last axis."""
        self.add(ArgumentKind.POINTER, tensor.name)
        self.strides(tensor, len(at))
        found = [self.number_at(tensor, n, index) for n, index in enumerate(at)]
        return tuple(found if last is None else [*found[:-1], last])

    def vector_of(self, tensor: Tensor, at: tuple[At, ...]) -> ThreadAxis | None:
        """The columns along which an access is contiguous, if a thread has neighbours of it."""
        last = at[-1].var
        axis = self.layout.axes.get(last or "")
        if axis is None or not axis.columns or tensor.axes[-1].per > 1:
            return None
        elsewhere = any(
            last in (self.values[i.value].vars if i.value is not None else (i.var,))
            for i in at[:-1]
        )
        return None if elsewhere or axis.vector == 1 else axis

    def is_transposed(self, tensor: Tensor, at: tuple[At, ...]) -> bool:
        """Whether an access is contiguous along rows and extends over columns too."""
        names = self.vars_of(at)
        last = at[-1].var
        axis = self.layout.axes.get(last or "")
        if axis is None or axis.columns or tensor.axes[-1].per > 1 or len(names) < 2:
            return False
        if any(index.value is not None and self.values[index.value].dims for index in at):
            return False
        return sum(index.var == last for index in at) == 1

    def aligned(self, tensor: Tensor, rank: int, axis: ThreadAxis) -> Term:
        """Whether vectors of a tensor along its last axis begin at multiples of their bytes."""
        size = max(1, tensor.dtype.bits // 8)
        self.strides(tensor, rank - 1)
        self.add(ArgumentKind.POINTER, tensor.name)
        self.strides(tensor, rank)
        result: Term = ir.Aligned(tensor.name, min(VECTOR_BYTES, axis.vector * size))
        if not self.starts_at_vectors(axis):
            result = result & (pos(axis.var) % axis.vector).eq(0)
        return result

    def starts_at_vectors(self, axis: ThreadAxis) -> bool:
        """Whether tiles and steps surely begin at multiples of the vector."""
        var = self.kernel.var(axis.var)
        if axis.extent % axis.vector or var.name == self.grouped:
            return False
        loops = [op for op in walk(self.kernel.ops) if isinstance(op, Loop) and op.var == var.name]
        return all(op.start is None for op in loops)

    def rows_are_shifted(self, tensor: Tensor, axis: ThreadAxis) -> bool:
        """Whether rows one after another begin at other places than multiples of 16 bytes, for the
        sizes that are known; vectors are whole 16 bytes.
        """
        size = max(1, tensor.dtype.bits // 8)
        var = self.kernel.var(axis.var)
        row = var.extent if var.walk is Walk.WHOLE else self.sizes.get(var.axis)
        several = len(tensor.axes) > 1 and row is not None and row >= LEAST_SHIFTED
        odd = (row or 0) * size % VECTOR_BYTES != 0
        return several and odd and axis.vector * size % VECTOR_BYTES == 0

    def transposed_tile(
        self, tensor: Tensor, at: tuple[At, ...]
    ) -> tuple[ThreadAxis, ThreadAxis, tuple[Term, ...], list[Term]]:
        """Rows, columns, the coordinates and the condition of element ``r, c`` of a tile."""
        names = self.vars_of(at)
        row, column = self.row_axis(names), self.column_axis(names)
        assert row is not None
        assert column is not None
        terms: list[Term] = []
        for n, index in enumerate(at):
            per = tensor.axes[n].per
            if index.var == row.var:
                term = pos(row.var) + Reg("r")
            elif index.var == column.var:
                term = pos(column.var) + Reg("c")
            else:
                term = self.number_at(tensor, n, index)
                per = 1
            terms.append(term // per if per > 1 else term)
        self.strides(tensor, len(at))
        there = [
            pos(row.var) + Reg("r") < Reg(f"end_{row.var}"),
            pos(column.var) + Reg("c") < Reg(f"end_{column.var}"),
            *self.inside(tensor, at),
        ]
        self.add(ArgumentKind.POINTER, tensor.name)
        return row, column, tuple(terms), there

    def tile_place(self, row: ThreadAxis, column: ThreadAxis) -> Term:
        """Where a thread's element lies in a tile whose lines go along rows."""
        own_row = self.index(row.var) - pos(row.var)
        own_column = self.index(column.var) - pos(column.var)
        return own_column * (row.extent + PAD) + own_row

    def in_extent(self, row: ThreadAxis, column: ThreadAxis) -> Term:
        """Elements of threads past the extent of a tile have no place in it."""
        inside_row = self.index(row.var) < pos(row.var) + row.extent
        return inside_row & (self.index(column.var) < pos(column.var) + column.extent)

    def pieces(
        self, tensor: Tensor, row: ThreadAxis, column: ThreadAxis, vector: int, body: Body
    ) -> For:
        """All threads in turn over the vectors of a transposed tile: of each its first row
        ``first``, its column ``c`` and registers ``raw``.
        """
        count, i = row.extent // vector, Reg("i")
        return For(
            counter="i",
            first=THREAD,
            end=const(count * column.extent),
            step=const(self.layout.threads),
            body=(
                number("first", i % count * vector),
                number("c", i // count),
                Declare(name="raw", dtype=tensor.dtype, count=vector, raw=True),
                *body,
            ),
        )

    def whole_piece(self, row: ThreadAxis, vector: int, there: list[Term]) -> Body:
        """``whole``: whether all of a vector exists and may be moved at once."""
        first = Reg("first")
        end = pos(row.var) + first + vector <= Reg(f"end_{row.var}")
        condition = all_of([Reg("wide"), end, *there])
        return [number("r", first), Declare(name="whole", dtype=DType.BOOL, value=condition)]

    def across(self, tensor: Tensor, rank: int, row: ThreadAxis) -> tuple[int, Term]:
        """Neighbours along a tile's rows that one access moves, and where a tensor lies so."""
        vector = VECTOR_BYTES * 8 // max(8, tensor.dtype.bits)
        while row.extent % vector:
            vector //= 2
        if vector == 1:
            return 1, Number(False, DType.BOOL)
        return vector, self.aligned(tensor, rank, replace(row, vector=vector))
