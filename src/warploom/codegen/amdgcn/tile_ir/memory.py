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

from warploom.codegen.amdgcn.tile_ir.errors import refuse
from warploom.codegen.amdgcn.tile_ir.layout import Layout, places, run_of
from warploom.codegen.amdgcn.tile_ir.machine import HALVES
from warploom.codegen.amdgcn.tile_ir.numbers import memory_type, narrow, narrow_vector
from warploom.codegen.amdgcn.tile_ir.plan import WIDE
from warploom.codegen.amdgcn.tile_ir.state import Fragment, packed, scalars
from warploom.ir import tile as ir
from warploom.ir.tile import DType, Fn, Line, Tensor

if TYPE_CHECKING:
    from warploom.codegen.amdgcn.tile_ir.lowering import Lowering


@dataclass(slots=True)
class Axis:
    """One axis of an access: the offset in elements of a register, and whether it exists.

    ``register``: the place of the axis in the layout, None where one index serves all elements.
    """

    offset: Callable[[tuple[int, ...]], str]
    inside: Callable[[tuple[int, ...]], str | None]
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

        def chosen(at: tuple[int, ...]) -> str:
            return low.element(values, numbers[tuple(at[w] for w in where)])

        def inside(at: tuple[int, ...]) -> str | None:
            return low.below(chosen(at), size)

        def offset_of(at: tuple[int, ...]) -> str:
            return low.scaled(chosen(at), stride)

        return Axis(offset_of, inside)

    def _walked(self, i: int, var: str, stride: str) -> Axis:
        low, axis = self.low, self.tensor.axes[i]
        where = self.variables.index(var)
        along = self.layout[where][1]
        same = low.plan.kernel.var(var).axis == axis.name
        span = low.spans[var]
        size = None if same else low.axis_size(self.tensor, i)

        def inside(at: tuple[int, ...]) -> str | None:
            test = low.in_span(var, along, at[where])
            if size is None:
                return test
            index = low.floor_div(low.index(var, along, at[where]), axis.per)
            return low.both(test, low.below(index, size))

        def offset(at: tuple[int, ...]) -> str:
            if axis.per > 1:
                index = low.floor_div(low.index(var, along, at[where]), axis.per)
                return low.scaled(index, stride)
            first = low.scaled(span.position, stride)
            lanes = low.entry_scaled(low.base(along), stride)
            more = low.entry_scaled(str(along.offsets[at[where]]), stride)
            return low.sum64(low.sum64(first, more), lanes)

        return Axis(offset, inside)

    def offset(self, at: tuple[int, ...]) -> str:
        """Elements from the tensor's first."""
        total = "0"
        for axis in self.axes:
            total = self.low.sum64(total, axis.offset(at))
        return total

    def inside(self, at: tuple[int, ...]) -> str | None:
        """Whether the element exists; None where it always does."""
        test: str | None = None
        for axis in self.axes:
            test = self.low.both(test, axis.inside(at))
        return test

    def counts(self, at: tuple[int, ...]) -> str | None:
        """Whether the element exists and its variables have it: rows past the end of a tile have
        no index of their own.
        """
        test = self.inside(at)
        for (var, along), register in zip(self.layout, at, strict=True):
            test = self.low.both(test, self.low.in_span(var, along, register))
        return test

    def pointer(self, offset: str) -> str:
        """The address of an element."""
        text, base = self.low.text, self.low.pointer(self.tensor.name)
        bits = (self.size - 1).bit_length()
        scaled = offset if not bits else text.value(f"shl i64 {offset}, {bits}")
        return text.value(f"getelementptr i8, ptr addrspace(1) {base}, i64 {scaled}")

    def wide(self) -> str:
        """Whether runs are whole and aligned (a truth for the whole workgroup)."""
        low = self.low
        assert self.last is not None
        span, piece = low.spans[self.last], self.piece
        aligned = low.aligned(self.tensor, piece * self.size)
        odd = low.text.value(f"or i32 {span.limit}, {span.position}")
        odd = low.text.value(f"and i32 {odd}, {piece - 1}")
        whole = low.text.value(f"icmp eq i32 {odd}, 0")
        return low.text.value(f"and i1 {aligned}, {whole}")


def load(low: Lowering, op: ir.Load, layout: Layout) -> Fragment:
    """A tile of a tensor in registers."""
    low.forbid(f"a load of '{op.tensor}'")
    tensor = low.plan.kernel.tensor(op.tensor)
    access = Access(low, tensor, op.at, layout, op.result.line)
    end = None if op.end is None else low.element(low.get(op.end, ()), 0)
    every = places(layout)

    def exists(at: tuple[int, ...]) -> str | None:
        test = access.inside(at)
        if end is None:
            return test
        rows = op.result.vars[0]
        where = access.variables.index(rows)
        index = low.index(rows, layout[where][1], at[where])
        return low.both(test, low.text.value(f"icmp slt i32 {index}, {end}"))

    kind = memory_type(tensor.dtype)

    def piece_at(at: tuple[int, ...], count: int) -> str:
        form = kind if count == 1 else f"<{count} x {kind}>"
        test, offset = exists(at), access.offset(at)
        if test is not None:
            offset = low.text.value(f"select i1 {test}, i64 {offset}, i64 0")
        place = access.pointer(offset)
        value = low.text.value(
            f"load {form}, ptr addrspace(1) {place}, align {access.size * count}"
        )
        if test is None:
            return value
        none = "zeroinitializer" if count > 1 else ("0" if kind != "float" else "0.0")
        return low.text.value(f"select i1 {test}, {form} {value}, {form} {none}")

    piece = access.piece
    if piece == 1:
        bits = [piece_at(at, 1) for at in every]
        return scalars(layout, tensor.dtype, [low.widened(b, tensor.dtype) for b in bits])
    starts = list(range(0, len(every), piece))

    def one_by_one(start: int) -> str:
        made = "poison"
        for i in range(piece):
            bits = piece_at(every[start + i], 1)
            made = low.text.value(
                f"insertelement <{piece} x {kind}> {made}, {kind} {bits}, i32 {i}"
            )
        return made

    names = low.either(
        access.wide(),
        lambda: [piece_at(every[s], piece) for s in starts],
        lambda: [one_by_one(s) for s in starts],
        f"<{piece} x {kind}>",
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
    kind = memory_type(tensor.dtype)
    source = value.dtype

    def bits(start: int, count: int) -> str:
        ready = low.stored_vector(frag, start, count, tensor.dtype)
        if ready is not None:
            return ready
        values = [low.as_type(low.element(frag, start + i), source, tensor.dtype)
                  for i in range(count)]  # fmt: skip
        if count == 1:
            return narrow(low.text, values[0], tensor.dtype)
        return narrow_vector(low.text, values, tensor.dtype)

    def write(start: int, count: int) -> None:
        form = kind if count == 1 else f"<{count} x {kind}>"
        made, at = bits(start, count), every[start]
        test = low.both(access.counts(at), owner)
        place = access.pointer(access.offset(at))
        low.when(
            test,
            lambda: low.text.add(
                f"store {form} {made}, ptr addrspace(1) {place}, align {access.size * count}"
            ),
        )

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


def wide_enough(low: Lowering, op: ir.Store, place: str) -> list[str]:
    """What must hold (for the workgroup) for a whole tile to be stored in runs; ``place``: where
    it begins along the last axis.
    """
    tensor, layout = low.plan.kernel.tensor(op.tensor), _layout(low, op)
    run, last = run_of(layout), op.at[-1].var
    if last != layout[-1][0] or tensor.axes[-1].per > 1:
        return []
    piece = min(run, WIDE // tensor.dtype.bits)
    found = [low.aligned(tensor, piece * tensor.dtype.bits // 8)]
    if place != "0":
        odd = low.text.value(f"and i32 {place}, {piece - 1}")
        found.append(low.text.value(f"icmp eq i32 {odd}, 0"))
    return found


def store_piece(low: Lowering, op: ir.Store, frag: Fragment, pin: Callable[[], None]) -> None:
    """A piece of a tile that lies inside of its tensor whole, in aligned runs.

    ``pin`` is called before every store.
    """
    tensor, source = low.plan.kernel.tensor(op.tensor), low.plan.values[op.value].dtype
    layout, kind = frag.layout, memory_type(tensor.dtype)
    access = Access(low, tensor, op.at, layout, op.line)
    count = 1 if op.add else access.piece
    every = places(layout)
    form = kind if count == 1 else f"<{count} x {kind}>"
    assert low.owner(layout) is None
    for start in range(0, len(every), count):
        assert access.counts(every[start]) is None
        values = [
            low.as_type(low.element(frag, start + i), source, tensor.dtype) for i in range(count)
        ]
        made = (
            narrow(low.text, values[0], tensor.dtype)
            if count == 1
            else narrow_vector(low.text, values, tensor.dtype)
        )
        place = access.pointer(access.offset(every[start]))
        pin()
        if op.add:
            low.text.add(_added("fadd", place, kind, made))
        else:
            low.text.add(
                f"store {form} {made}, ptr addrspace(1) {place}, align {access.size * count}"
            )


def _added(how: str, place: str, kind: str, value: str) -> str:
    """An addition in memory whose old value nobody asks for."""
    return (
        f"atomicrmw {how} ptr addrspace(1) {place}, {kind} {value} "
        'syncscope("agent") monotonic, !amdgpu.no.fine.grained.memory !7'
    )


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
_IN_MEMORY = {Fn.ADD: "add", Fn.MAX: "max", Fn.MIN: "min"}
_SIGNED = {Fn.MAX: "umin", Fn.MIN: "umax"}


def _add(low: Lowering, op: ir.Store, access: Access, frag: Fragment, owner: str | None) -> None:
    tensor = access.tensor
    halves = tensor.dtype in HALVES
    extreme = tensor.dtype is DType.F32 and op.fn is not Fn.ADD
    what = "fadd" if tensor.dtype is not DType.I32 and not extreme else _IN_MEMORY[op.fn]
    kind = "i32" if extreme else memory_type(tensor.dtype)
    kind = HALVES[tensor.dtype][0] if halves else kind
    source = low.plan.values[op.value].dtype
    for i, at in enumerate(places(access.layout)):
        value = low.as_type(low.element(frag, i), source, tensor.dtype)
        if halves:
            value = low.text.value(f"fptrunc float {value} to {kind}")
        test = low.both(access.counts(at), owner)
        place = access.pointer(access.offset(at))

        def change(how: str, value: str, place: str = place) -> None:
            low.text.add(_added(how, place, kind, value))

        if not extreme:
            low.when(test, partial(change, what, value))
            continue
        bits = low.text.value(f"bitcast float {value} to i32")
        number = low.text.value(f"fcmp ord float {value}, {value}")
        for how, sign in ((what, "sge"), (_SIGNED[op.fn], "slt")):
            own = low.text.value(f"icmp {sign} i32 {bits}, 0")
            low.when(low.both(test, low.both(number, own)), partial(change, how, bits))
