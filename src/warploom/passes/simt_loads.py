"""Loads of thread programs: vectors where tensors lie so, runs, transposed tiles."""

from __future__ import annotations

from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.ir import threads as ir
from warploom.ir.expr import conjunction, const, element_of, select
from warploom.ir.threads import (
    Assign,
    Declare,
    If,
    Put,
    Reg,
    Scope,
    Shared,
    Statement,
    Term,
)
from warploom.ir.tile import (
    DType,
    Load,
    Tensor,
    Value,
)
from warploom.passes.simt_access import Accesses
from warploom.passes.simt_layout import (
    ThreadAxis,
)
from warploom.passes.simt_runs import Run, run_of
from warploom.passes.simt_terms import (
    COVER,
    MEET,
    MOST_SHIFTED,
    PAD,
    RAW,
    Body,
    J,
    K,
    U,
    all_of,
    decoded,
    kind_of,
    number,
    raw_zero,
    unrolled,
    zero,
)


@dataclass
class Loads(Accesses):
    """Elements of tensors into registers."""

    def load(self, op: Load) -> Body:
        """A load into the registers of a value."""
        tensor, value = self.kernel.tensor(op.tensor), op.result
        if not value.dims:
            conditions = conjunction(self.inside(tensor, op.at))
            element: Term = decoded(tensor, element_of(op.tensor, self.coordinates(tensor, op.at)))
            if conditions is not None:
                element = select(conditions, element, zero(value.dtype))
            return [self.scalar(value, element)]
        array = self.array(value)
        if self.is_transposed(tensor, op.at):
            return [array, *self.load_transposed(op, tensor)]
        axis = self.vector_of(tensor, op.at)
        if axis is not None:
            return [array, *self.load_vectors(op, tensor, axis)]
        found = self.run_along(tensor, op)
        if found is not None:
            return [array, *self.load_runs(op, tensor, *found)]
        return [array, *self.over(value.vars, [self.load_element(op, tensor)])]

    def run_along(self, tensor: Tensor, op: Load) -> tuple[ThreadAxis, Run] | None:
        """The columns whose neighbours a computed index finds together, and how they lie."""
        axis, last = self.column_axis(op.result.vars), op.at[-1].value
        if axis is None or last is None or axis.vector == 1 or not self.starts_at_vectors(axis):
            return None
        if tensor.axes[-1].per > 1 or any(
            axis.var in (self.values[i.value].vars if i.value is not None else (i.var,))
            for i in op.at[:-1]
        ):
            return None
        run = run_of(last, axis.var, axis.vector, self.made, self.values)
        return None if run is None or run.window == 1 else (axis, run)

    def raw_array(self, tensor: Tensor, value: Value) -> Declare:
        """Registers for elements as they lie in memory, converted after all loads were issued."""
        return Declare(
            name=f"{RAW}_{value.name}", dtype=tensor.dtype, count=self.count(value.vars), raw=True
        )

    def decoded_array(self, tensor: Tensor, value: Value) -> Body:
        """All elements of a value out of what was loaded of it."""
        raw = self.place(value, RAW)
        return self.over(value.vars, [self.put(value, decoded(tensor, raw))])

    def load_runs(self, op: Load, tensor: Tensor, axis: ThreadAxis, run: Run) -> Body:
        """As vectors are, with a vector's elements in the order of the run."""
        value, rank = op.result, len(op.at)
        row = self.row_axis(value.vars)
        index = self.number_at(tensor, rank - 1, op.at[-1])
        label, g, near = f"{RAW}_{value.name}", Reg("g"), Reg("near")
        self.strides(tensor, rank - 1)
        length = self.blocks(tensor.axes[-1].name, 1)
        terms = [self.exists(n) for n in self.vars_of(op.at)] + self.inside(tensor, op.at)
        terms += self.row_there(value.vars)
        moved = self.coordinates(tensor, op.at, g)
        ends = [self.index(axis.var) + axis.vector <= Reg(f"end_{axis.var}"), *terms]
        ends += [g >= 0, g + run.window <= length]
        ends += [] if run.aligned else [(g % run.window).eq(0)]
        start = U * axis.elements + K * axis.vector if row else K * axis.vector
        single: Term = element_of(op.tensor, self.coordinates(tensor, op.at))
        some = conjunction(terms)
        single = single if some is None else select(some, single, raw_zero(tensor))
        vector = axis.vector
        picked: Body = [
            Assign(name=label, index=start + j, value=Reg("raw", const(o)))
            for j, o in enumerate(run.offsets)
        ]
        wide = self.aligned(tensor, rank, replace(axis, vector=run.window))
        lines: Body = [
            Declare(name="near", dtype=DType.BOOL, value=Reg(f"wide_{value.name}")),
            Declare(name="raw", dtype=tensor.dtype, count=run.window, raw=True),
            Scope(
                body=(
                    number("e", K * vector),
                    number("g", index - run.offsets[0]),
                    Assign(name="near", value=all_of([near, *ends])),
                    If(
                        condition=near,
                        body=(
                            ir.Fetch(
                                into="raw",
                                index=const(0),
                                tensor=tensor.name,
                                at=moved,
                                width=run.window,
                            ),
                        ),
                    ),
                )
            ),
            If(
                condition=near,
                body=tuple(picked),
                otherwise=(
                    unrolled(
                        "j",
                        vector,
                        [
                            number("e", K * vector + J),
                            Assign(name=label, index=start + J, value=single),
                        ],
                    ),
                ),
            ),
        ]
        lines = [unrolled("k", axis.repeat, lines)]
        if row is not None:
            lines = [unrolled("u", row.elements, lines)]
        return [
            self.raw_array(tensor, value),
            Declare(name=f"wide_{value.name}", dtype=DType.BOOL, value=wide),
            *lines,
            *self.decoded_array(tensor, value),
        ]

    def load_element(self, op: Load, tensor: Tensor) -> Statement:
        """One element of a thread, 0 where none exists."""
        terms = [self.exists(n) for n in self.vars_of(op.at)] + self.inside(tensor, op.at)
        terms += self.row_there(op.result.vars)
        element = decoded(tensor, element_of(op.tensor, self.coordinates(tensor, op.at)))
        some = conjunction(terms)
        if some is not None:
            element = select(some, element, zero(op.result.dtype))
        return self.put(op.result, element)

    def load_vectors(self, op: Load, tensor: Tensor, axis: ThreadAxis) -> Body:
        """Vectors of 16 bytes where the tensor lies so and they exist, else element by element."""
        value, rank = op.result, len(op.at)
        row = self.row_axis(value.vars)
        others = [n for n in self.vars_of(op.at) if n != axis.var]
        step = self.layout.lanes * axis.vector
        first: Term = Reg(f"own_{axis.var}")
        first = first + K * step if axis.repeat > 1 else first
        c, end, label = Reg("c"), Reg(f"end_{axis.var}"), f"{RAW}_{value.name}"
        terms = [self.exists(n) for n in others] + self.inside(tensor, op.at)
        terms += self.row_there(value.vars)
        there = [c + axis.vector <= end, *terms]
        self.strides(tensor, rank - 1)
        moved = self.coordinates(tensor, op.at, c)
        single = element_of(op.tensor, self.coordinates(tensor, op.at, c + J))
        some = all_of([c + J < end, *terms])
        wide = self.aligned(tensor, rank, axis)
        start = U * axis.elements + K * axis.vector if row else K * axis.vector
        fetch = ir.Fetch(into=label, index=start, tensor=tensor.name, at=moved, width=axis.vector)
        element = Assign(name=label, index=start + J, value=select(some, single, raw_zero(tensor)))
        elements: Body = [unrolled("j", axis.vector, [element])]
        declared: Body = []
        after: Body = []
        if self.rows_are_shifted(tensor, axis):
            covered = ir.Covered(tensor.name, moved, axis.vector, end)
            near = [ir.Not(Reg(f"wide_{value.name}")), ir.Contiguous(tensor.name), *there, covered]
            late = self.count(value.vars) <= MOST_SHIFTED
            cover = f"{COVER}_{value.name}"
            chunks = self.count(value.vars) // axis.vector if late else 1
            chunk = start // axis.vector if late else const(0)
            made = ir.Covers(name=cover, dtype=tensor.dtype, width=axis.vector, count=chunks)
            around = ir.FetchCover(into=cover, index=chunk, tensor=tensor.name, at=moved)
            taken = ir.TakeCovered(
                into=label, index=start, cover=cover, number=chunk, tensor=tensor.name, at=moved
            )
            if late:
                declared = [made]
                after = [number("c", first), If(condition=all_of(near), body=(taken,))]
            inside: Body = [around] if late else [made, around, taken]
            elements = [If(condition=all_of(near), body=tuple(inside), otherwise=tuple(elements))]

        def repeated(part: Body) -> Body:
            lines = [unrolled("k", axis.repeat, part)]
            return [unrolled("u", row.elements, lines)] if row is not None else lines

        choice = If(
            condition=all_of([Reg(f"wide_{value.name}"), *there]),
            body=(fetch,),
            otherwise=tuple(elements),
        )
        return [
            self.raw_array(tensor, value),
            *declared,
            Declare(name=f"wide_{value.name}", dtype=DType.BOOL, value=wide),
            *repeated([number("c", first), choice]),
            *(repeated(after) if after else []),
            *self.decoded_array(tensor, value),
        ]

    def load_transposed(self, op: Load, tensor: Tensor) -> Body:
        """Through shared memory: read along the tensor's rows, used along the tile's."""
        value = op.result
        row, column, at, there = self.transposed_tile(tensor, op.at)
        vector, wide = self.across(tensor, len(op.at), row)
        view = self.shared(kind_of(value.dtype), column.extent * (row.extent + PAD))
        r, c, near = Reg("r"), Reg("c"), Reg("whole")
        single = select(all_of(there), element_of(tensor.name, at), raw_zero(tensor))
        fetch = ir.Fetch(into="raw", index=const(0), tensor=tensor.name, at=at, width=vector)
        element = If(condition=ir.Not(near), body=(Assign(name="raw", index=J, value=single),))
        held = Put(
            view=MEET, index=c * (row.extent + PAD) + r, value=decoded(tensor, Reg("raw", J))
        )
        further = Assign(name="r", value=Reg("first") + J)
        moved = [
            *self.whole_piece(row, vector, there),
            If(condition=near, body=(fetch,)),
            unrolled("j", vector, [further, element, held]),
        ]
        return [
            Scope(
                body=(
                    view,
                    Declare(name="wide", dtype=DType.BOOL, value=wide),
                    ir.Barrier(),
                    self.pieces(tensor, row, column, vector, moved),
                    ir.Barrier(),
                    *self.over(
                        value.vars,
                        [
                            self.put(
                                value,
                                select(
                                    self.in_extent(row, column),
                                    Shared(MEET, self.tile_place(row, column)),
                                    zero(value.dtype),
                                ),
                            )
                        ],
                    ),
                )
            )
        ]
