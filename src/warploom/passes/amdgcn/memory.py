"""Loads and stores of tiles: addresses, masks, wide accesses where neighbours are whole.

An address is the sum of index times stride over the axes. Elements outside of the tile's span or of
the tensor read as 0 and are not stored: a lane without an element reads the tensor's first one and
drops it, and does not take part in a store.

Neighbours along the last axis are one access of up to 16 bytes where the span ends at a whole run
and the address is aligned; that is decided once for a tile, at run time. Otherwise the same
elements are read or written one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from warploom.ir import tile as ir
from warploom.ir.tile import DType, Fn, Line, Tensor
from warploom.ir.waves import IsNumber, Kind, Merge, Merging, Operand, Round, Store, Word
from warploom.passes.amdgcn.errors import refuse
from warploom.passes.amdgcn.layout import Layout, places, run_of
from warploom.passes.amdgcn.numbers import memory_word
from warploom.passes.amdgcn.plan import WIDE
from warploom.passes.amdgcn.state import Fragment, packed, scalars
from warploom.targets.amdgcn import HALVES

if TYPE_CHECKING:
    from warploom.passes.amdgcn.lowering import Lowering


@dataclass(slots=True)
class Axis:
    """One axis of an access: the offset in elements of a register, and whether it exists.

    ``register``: the place of the axis in the layout, None where one index serves all elements.
    """

    offset: Callable[[tuple[int, ...]], Operand]
    inside: Callable[[tuple[int, ...]], Operand]
    keys: Callable[[tuple[int, ...]], tuple[int, ...]] = field(default=lambda at: at)


class Access:
    """All elements of a tile of a tensor."""

    def __init__(
        self,
        low: Lowering,
        tensor: Tensor,
        at: tuple[ir.At, ...],
        layout: Layout,
        line: Line | None,
    ) -> None:
        self.low, self.tensor, self.layout = low, tensor, layout
        self.variables = [v for v, _ in layout]
        self.size = tensor.dtype.bits // 8
        # A tensor in blocks is one between kernels of one target: here such a tensor lies in rows.
        if tensor.dtype is DType.I4:
            refuse(
                line,
                f"tensor '{tensor.name}' of {tensor.dtype.value}",
                why="elements of memory are bytes at least",
                fix='two numbers a byte: wl.In["n", "k/2", wl.i8]',
            )
        self.axes = [self._axis(i, a) for i, a in enumerate(at)]
        self.last = at[-1].var if at[-1].var in self.variables else None
        run = run_of(layout)
        contiguous = bool(layout) and self.last == layout[-1][0] and tensor.axes[-1].per == 1
        self.piece = min(run, WIDE // tensor.dtype.bits) if contiguous else 1

    def _axis(self, i: int, at: ir.At) -> Axis:
        low, axis = self.low, self.tensor.axes[i]
        stride = low.stride(self.tensor.name, i)
        if at.var is not None and at.var in self.variables:
            return self._walked(i, at.var, stride)
        if at.var is not None:
            place = low.spans[at.var].position
            index = low.floor_div(place, axis.per)
            same = low.plan.kernel.var(at.var).axis == axis.name
            test = None if same else low.below(index, low.axis_size(self.tensor, i))
            offset = low.scaled(index, stride)
            return Axis(lambda _: offset, lambda _: test)
        assert at.value is not None
        own = low.plan.values[at.value].vars
        part = tuple((v, m) for v, m in self.layout if v in own)
        values = low.get(at.value, part)
        size = low.axis_size(self.tensor, i)
        where = [self.variables.index(v) for v, _ in part]
        numbers = {p: n for n, p in enumerate(places(part))}

        def chosen(at: tuple[int, ...]) -> Operand:
            return low.element(values, numbers[tuple(at[w] for w in where)])

        def inside(at: tuple[int, ...]) -> Operand:
            return low.below(chosen(at), size)

        def offset_of(at: tuple[int, ...]) -> Operand:
            return low.scaled(chosen(at), stride)

        return Axis(offset_of, inside)

    def _walked(self, i: int, var: str, stride: Operand) -> Axis:
        low, axis = self.low, self.tensor.axes[i]
        where = self.variables.index(var)
        along = self.layout[where][1]
        same = low.plan.kernel.var(var).axis == axis.name
        span = low.spans[var]
        size = None if same else low.axis_size(self.tensor, i)

        def inside(at: tuple[int, ...]) -> Operand:
            test = low.in_span(var, along, at[where])
            if size is None:
                return test
            index = low.floor_div(low.index(var, along, at[where]), axis.per)
            return low.both(test, low.below(index, size))

        def offset(at: tuple[int, ...]) -> Operand:
            if axis.per > 1:
                index = low.floor_div(low.index(var, along, at[where]), axis.per)
                return low.scaled(index, stride)
            first = low.scaled(span.position, stride)
            lanes = low.entry_scaled(low.base(along), stride)
            more = low.entry_scaled(along.offsets[at[where]], stride)
            return low.sum64(low.sum64(first, more), lanes)

        return Axis(offset, inside)

    def offset(self, at: tuple[int, ...]) -> Operand:
        """Elements from the tensor's first."""
        total: Operand = 0
        for axis in self.axes:
            total = self.low.sum64(total, axis.offset(at))
        return total

    def inside(self, at: tuple[int, ...]) -> Operand:
        """Whether the element exists; None where it always does."""
        test: Operand = None
        for axis in self.axes:
            test = self.low.both(test, axis.inside(at))
        return test

    def counts(self, at: tuple[int, ...]) -> Operand:
        """Whether the element exists and its variables have it: rows past the end of a tile have
        no index of their own.
        """
        test = self.inside(at)
        for (var, along), register in zip(self.layout, at, strict=True):
            test = self.low.both(test, self.low.in_span(var, along, register))
        return test

    def pointer(self, offset: Operand) -> str:
        """The address of an element."""
        return self.low.text.address(self.tensor.name, offset, (self.size - 1).bit_length())

    def wide(self) -> Operand:
        """Whether runs are whole and aligned (a truth for the whole workgroup)."""
        low = self.low
        assert self.last is not None
        span, piece = low.spans[self.last], self.piece
        aligned = low.aligned(self.tensor, piece * self.size)
        odd = low.text.integer("or", span.limit, span.position)
        odd = low.text.integer("and", odd, piece - 1)
        whole = low.text.compare("eq", odd, 0)
        return low.text.truth("and", aligned, whole)


def load(low: Lowering, op: ir.Load, layout: Layout) -> Fragment:
    """A tile of a tensor in registers."""
    low.forbid(f"a load of '{op.tensor}'")
    tensor = low.plan.kernel.tensor(op.tensor)
    access = Access(low, tensor, op.at, layout, op.result.line)
    end = None if op.end is None else low.element(low.get(op.end, ()), 0)
    every = places(layout)

    def exists(at: tuple[int, ...]) -> Operand:
        test = access.inside(at)
        if end is None:
            return test
        rows = op.result.vars[0]
        where = access.variables.index(rows)
        index = low.index(rows, layout[where][1], at[where])
        return low.both(test, low.text.compare("slt", index, end))

    word = memory_word(tensor.dtype)

    def piece_at(at: tuple[int, ...], count: int) -> str:
        kind = Kind(word, count)
        test, offset = exists(at), access.offset(at)
        if test is not None:
            offset = low.text.select(test, Word.I64, offset, 0)
        place = access.pointer(offset)
        value = low.text.load(kind, tensor.name, place, access.size * count)
        if test is None:
            return value
        return low.text.select(test, kind, value, 0)

    piece = access.piece
    if piece == 1:
        bits = [piece_at(at, 1) for at in every]
        return scalars(layout, tensor.dtype, [low.widened(b, tensor.dtype) for b in bits])
    starts = list(range(0, len(every), piece))

    def one_by_one(start: int) -> str:
        made: Operand = None
        for i in range(piece):
            bits = piece_at(every[start + i], 1)
            made = low.text.insert(made, Kind(word, piece), bits, i)
        return str(made)

    names = low.either(
        access.wide(),
        lambda: [piece_at(every[s], piece) for s in starts],
        lambda: [one_by_one(s) for s in starts],
        Kind(word, piece),
    )
    vectors = {s: (n, piece, tensor.dtype) for s, n in zip(starts, names, strict=True)}
    return packed(layout, tensor.dtype, vectors)


def store(low: Lowering, op: ir.Store) -> None:
    """A value to memory, where its condition holds."""
    if op.when is None:
        _store(low, op)
        return
    frag = low.get_over(op.value, _layout(low, op))  # what lanes exchange, all of them do
    low.fragments[op.value] = frag
    low.when(low.element(low.get(op.when, ()), 0), lambda: _store(low, op))


def _layout(low: Lowering, op: ir.Store) -> Layout:
    value = low.plan.values[op.value]
    walked = tuple(a.var for a in op.at if a.var and not low.is_number(a.var))
    gathered = tuple(v for a in op.at if a.value for v in low.plan.values[a.value].vars)
    variables = tuple(dict.fromkeys((*walked, *gathered)))
    _check_store(low, op, variables)
    return low.plan.layout(variables, op.value if value.vars == variables else "")


def _store(low: Lowering, op: ir.Store) -> None:
    """Where several lanes hold copies, the first writes."""
    tensor, value = low.plan.kernel.tensor(op.tensor), low.plan.values[op.value]
    layout = _layout(low, op)
    frag = low.get_over(op.value, layout)
    access = Access(low, tensor, op.at, layout, op.line)
    every, owner = places(layout), low.owner(layout)
    if op.add:
        _add(low, op, access, frag, owner)
        return
    source = value.dtype

    def bits(start: int, count: int) -> Operand:
        ready = low.stored_vector(frag, start, count, tensor.dtype)
        if ready is not None:
            return ready
        values = [low.as_type(low.element(frag, start + i), source, tensor.dtype)
                  for i in range(count)]  # fmt: skip
        if count == 1:
            return low.text.encode(values[0], tensor.dtype)
        return low.text.encode_all(values, tensor.dtype)

    def write(start: int, count: int) -> None:
        kind = Kind(memory_word(tensor.dtype), count)
        made, at = bits(start, count), every[start]
        test = low.both(access.counts(at), owner)
        place = access.pointer(access.offset(at))
        put = Store(tensor.name, place, made, kind, access.size * count)
        low.when(test, lambda: low.text.add(put))

    def write_all(count: int) -> None:
        for start in range(0, len(every), count):
            write(start, count)

    piece = access.piece
    if piece == 1:
        write_all(1)
        return
    low.choose(
        access.wide(),
        lambda: write_all(piece),
        lambda: write_all(1),
    )


def wide_enough(low: Lowering, op: ir.Store, place: Operand) -> list[Operand]:
    """What must hold (for the workgroup) for a whole tile to be stored in runs; ``place``: where
    it begins along the last axis.
    """
    tensor, layout = low.plan.kernel.tensor(op.tensor), _layout(low, op)
    run, last = run_of(layout), op.at[-1].var
    if last != layout[-1][0] or tensor.axes[-1].per > 1:
        return []
    piece = min(run, WIDE // tensor.dtype.bits)
    result = [low.aligned(tensor, piece * tensor.dtype.bits // 8)]
    if place != 0:
        odd = low.text.integer("and", place, piece - 1)
        result.append(low.text.compare("eq", odd, 0))
    return result


def store_piece(low: Lowering, op: ir.Store, frag: Fragment, pin: Callable[[], None]) -> None:
    """A piece of a tile that lies inside of its tensor whole, in aligned runs.

    ``pin`` is called before every store.
    """
    tensor, source = low.plan.kernel.tensor(op.tensor), low.plan.values[op.value].dtype
    layout, word = frag.layout, memory_word(tensor.dtype)
    access = Access(low, tensor, op.at, layout, op.line)
    count = 1 if op.add else access.piece
    every = places(layout)
    assert low.owner(layout) is None
    for start in range(0, len(every), count):
        assert access.counts(every[start]) is None
        values = [
            low.as_type(low.element(frag, start + i), source, tensor.dtype) for i in range(count)
        ]
        made = (
            low.text.encode(values[0], tensor.dtype)
            if count == 1
            else low.text.encode_all(values, tensor.dtype)
        )
        place = access.pointer(access.offset(every[start]))
        pin()
        if op.add:
            low.text.add(Merge(Merging.FADD, tensor.name, place, made, word))
        else:
            kind = Kind(word, count)
            low.text.add(Store(tensor.name, place, made, kind, access.size * count))


def _check_store(low: Lowering, op: ir.Store, variables: tuple[str, ...]) -> None:
    tensor, value = low.plan.kernel.tensor(op.tensor), low.plan.values[op.value]
    for i, at in enumerate(op.at):
        if at.var in variables and tensor.axes[i].per > 1:
            refuse(
                op.line,
                f"a store to blocks of '{op.tensor}'",
                why="the result would depend on the tile",
                fix="an element for each place",
            )
    if set(value.vars) - set(variables) or len(variables) > 2:
        refuse(
            op.line,
            f"a value of {', '.join(value.vars)} stored by {', '.join(variables) or 'no variable'}",
            why="every variable of the value must be an index of the tensor",
            fix="index the tensor by the value's variables, or reduce the value first",
        )


# What is done to i32 in memory; to f32 without a sign, and with one: numbers with a sign are
# ordered the other way round.
_IN_MEMORY = {Fn.ADD: Merging.ADD, Fn.MAX: Merging.MAX, Fn.MIN: Merging.MIN}
_SIGNED = {Fn.MAX: Merging.UMIN, Fn.MIN: Merging.UMAX}


def _add(low: Lowering, op: ir.Store, access: Access, frag: Fragment, owner: Operand) -> None:
    tensor = access.tensor
    halves = tensor.dtype in HALVES
    extreme = tensor.dtype is DType.F32 and op.fn is not Fn.ADD
    what = Merging.FADD if tensor.dtype is not DType.I32 and not extreme else _IN_MEMORY[op.fn]
    word = Word.I32 if extreme else memory_word(tensor.dtype)
    word = HALVES[tensor.dtype] if halves else word
    source = low.plan.values[op.value].dtype
    for i, at in enumerate(places(access.layout)):
        value = low.as_type(low.element(frag, i), source, tensor.dtype)
        if halves:
            name = low.text.name()
            low.text.add(Round(name, value, word))
            value = name
        test = low.both(access.counts(at), owner)
        place = access.pointer(access.offset(at))

        def change(how: Merging, value: Operand, place: str = place) -> None:
            low.text.add(Merge(how, tensor.name, place, value, word))

        if not extreme:
            low.when(test, partial(change, what, value))
            continue
        bits = low.text.cast(value, Kind(Word.F32), Kind(Word.I32))
        number = low.text.name()
        low.text.add(IsNumber(number, value))
        for how, sign in ((what, "sge"), (_SIGNED[op.fn], "slt")):
            own = low.text.compare(sign, bits, 0)
            low.when(low.both(test, low.both(number, own)), partial(change, how, bits))
