"""Stores of thread programs: vectors where tensors lie so, single elements, transposed tiles."""

from __future__ import annotations

from warploom.dataclass import dataclass
from warploom.ir import threads as ir
from warploom.ir.expr import Op as Int, binary, conjunction, const
from warploom.ir.threads import (
    Assign,
    Convert,
    Declare,
    Encode,
    If,
    Put,
    Reg,
    Scope,
    Shared,
    Statement,
    Term,
    Write,
)
from warploom.ir.tile import (
    DType,
    Store,
    Tensor,
)
from warploom.passes.simt_access import Accesses
from warploom.passes.simt_layout import (
    WARP,
    ThreadAxis,
)
from warploom.passes.simt_terms import (
    GROUP,
    INTEGERS,
    LANE,
    MEET,
    PAD,
    THREAD,
    Body,
    J,
    K,
    all_of,
    number,
    unrolled,
)


@dataclass
class Stores(Accesses):
    """Elements of registers into tensors."""

    def store(self, op: Store) -> Body:
        """A store, by the threads for which its condition holds."""
        if op.when is None:
            return self.stored_lines(op)
        return [If(condition=self.at(op.when), body=tuple(self.stored_lines(op)))]

    def stored_lines(self, op: Store) -> Body:
        """A store without its condition."""
        tensor, value = self.kernel.tensor(op.tensor), self.values[op.value]
        names = self.vars_of(op.at)
        if op.add:
            return self.guarded(names, self.over(names, [self.store_element(op, tensor)]))
        if self.is_transposed(tensor, op.at):
            return self.store_transposed(op, tensor)
        axis = self.vector_of(tensor, op.at)
        if axis is None or axis.var not in value.vars:
            return self.guarded(names, self.over(names, [self.store_element(op, tensor)]))
        return self.guarded(names, self.store_vectors(op, tensor, axis))

    def guarded(self, names: tuple[str, ...], lines: Body) -> Body:
        """One of the threads that hold the same elements."""
        terms: list[Term] = []
        if self.row_axis(names) is None and self.layout.groups > 1:
            terms.append(GROUP.eq(0))
        if self.column_axis(names) is None and self.layout.lanes > 1:
            terms.append(LANE.eq(0))
        return [If(condition=all_of(terms), body=tuple(lines))] if terms else lines

    def store_element(self, op: Store, tensor: Tensor) -> Statement:
        """One element of a thread, where it exists."""
        terms = [self.exists(n) for n in self.vars_of(op.at)] + self.inside(tensor, op.at)
        at, value = self.coordinates(tensor, op.at), self.stored(op, tensor)
        line: Statement = Write(tensor=tensor.name, at=at, value=Encode(value, tensor.dtype))
        if op.add:
            line = ir.Merge(fn=op.fn, tensor=tensor.name, at=at, value=value)
        condition = conjunction(terms)
        return line if condition is None else If(condition=condition, body=(line,))

    def stored(self, op: Store, tensor: Tensor) -> Term:
        """The element that is stored, as a number of the tensor's kind."""
        given = self.values[op.value].dtype
        term = self.at(op.value)
        if not tensor.dtype.is_float and tensor.dtype is not DType.BOOL:
            return term if given is tensor.dtype else Convert(term, tensor.dtype)
        return Convert(term, DType.F32) if given in INTEGERS else term

    def store_vectors(self, op: Store, tensor: Tensor, axis: ThreadAxis) -> Body:
        """Vectors of 16 bytes where the tensor lies so and they exist, else element by element."""
        value, rank = self.values[op.value], len(op.at)
        names = self.vars_of(op.at)
        row = self.row_axis(names)
        others = [n for n in names if n != axis.var]
        step = self.layout.lanes * axis.vector
        first: Term = Reg(f"own_{axis.var}")
        first = first + K * step if axis.repeat > 1 else first
        c, end = Reg("c"), Reg(f"end_{axis.var}")
        terms = [self.exists(n) for n in others] + self.inside(tensor, op.at)
        there = [c + axis.vector <= end, *terms]
        some = all_of([c + J < end, *terms])
        self.strides(tensor, rank)
        moved = self.coordinates(tensor, op.at, c)
        label, wide = f"s_{op.tensor}", f"even_{op.tensor}_{value.name}"
        raw = Encode(self.stored(op, tensor), tensor.dtype)
        single = self.coordinates(tensor, op.at, c + J)
        even = self.aligned(tensor, rank, axis)
        lines: Body = [
            number("c", first),
            Declare(name=label, dtype=tensor.dtype, count=axis.vector, raw=True),
            unrolled(
                "j",
                axis.vector,
                [number("e", K * axis.vector + J), Assign(name=label, index=J, value=raw)],
            ),
        ]
        written = Write(tensor=tensor.name, at=single, value=Reg(label, J))
        elements = unrolled("j", axis.vector, [If(condition=some, body=(written,))])
        send = ir.Send(
            tensor=tensor.name, at=moved, source=label, index=const(0), width=axis.vector
        )
        choice = If(condition=all_of([Reg(wide), *there]), body=(send,), otherwise=(elements,))
        lanes = self.layout.lanes
        everyone = self.guarded(names, [ir.Barrier()]) == [ir.Barrier()]
        if everyone and lanes > 1 and self.rows_are_shifted(tensor, axis):
            # Lanes of a warp that hold neighbours give their last bytes to the next one.
            shifted = ir.SendShifted(
                tensor=tensor.name,
                at=moved,
                source=label,
                width=axis.vector,
                here=all_of(there),
                before=binary(Int.NE, THREAD % WARP, 0) & binary(Int.NE, LANE, 0),
                after=all_of(
                    [
                        binary(Int.NE, THREAD % WARP, WARP - 1),
                        binary(Int.NE, LANE, lanes - 1),
                        c + 2 * axis.vector <= end,
                        *terms,
                    ]
                ),
            )
            left = If(condition=ir.Not(all_of(there)), body=(elements,))
            choice = If(
                condition=ir.Not(Reg(wide)) & ir.Contiguous(tensor.name),
                body=(shifted, left),
                otherwise=(choice,),
            )
        lines.append(choice)
        lines = [unrolled("k", axis.repeat, lines)]
        if row is not None:
            lines = [unrolled("u", row.elements, lines)]
        return [Scope(body=(Declare(name=wide, dtype=DType.BOOL, value=even), *lines))]

    def store_transposed(self, op: Store, tensor: Tensor) -> Body:
        """Through shared memory, as loads are."""
        if not self.values[op.value].dims:
            return []
        row, column, at, there = self.transposed_tile(tensor, op.at)
        vector, wide = self.across(tensor, len(op.at), row)
        kind = DType.F32 if tensor.dtype.is_float else DType.I32
        view = self.shared(kind, column.extent * (row.extent + PAD))
        c, first, near = Reg("c"), Reg("first"), Reg("whole")
        held = Shared(MEET, c * (row.extent + PAD) + first + J)
        taken = Assign(name="raw", index=J, value=Encode(held, tensor.dtype))
        send = ir.Send(tensor=tensor.name, at=at, source="raw", index=const(0), width=vector)
        element = If(
            condition=all_of([ir.Not(near), *there]),
            body=(Write(tensor=tensor.name, at=at, value=Reg("raw", J)),),
        )
        moved = [
            unrolled("j", vector, [taken]),
            *self.whole_piece(row, vector, there),
            If(condition=near, body=(send,)),
            unrolled("j", vector, [Assign(name="r", value=first + J), element]),
        ]
        return [
            Scope(
                body=(
                    view,
                    Declare(name="wide", dtype=DType.BOOL, value=wide),
                    ir.Barrier(),
                    *self.over(
                        self.vars_of(op.at),
                        [
                            If(
                                condition=self.in_extent(row, column),
                                body=(
                                    Put(
                                        view=MEET,
                                        index=self.tile_place(row, column),
                                        value=self.stored(op, tensor),
                                    ),
                                ),
                            )
                        ],
                    ),
                    ir.Barrier(),
                    self.pieces(tensor, row, column, vector, moved),
                )
            )
        ]
