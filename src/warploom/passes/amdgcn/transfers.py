"""Tiles between memory and LDS: where lanes load from, where they read, and what must hold.

A DMA writes 64 lanes one after the other, so rows lie without gaps; their chunks are
exchanged by XOR with the row instead, so that lanes that read neighbouring rows find different
banks. Rows past the end of a tile are its last row again, and columns its last chunk: nothing that
is computed from them is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warploom.ir import tile as ir
from warploom.ir.waves import AllIndices, Buffer, Kind, Operand, Word
from warploom.passes.amdgcn.layout import LANES, MFMA, AxisMap, Layout
from warploom.passes.amdgcn.loop_body import CHUNK, Transfer, reads_of
from warploom.passes.amdgcn.numbers import memory_word

if TYPE_CHECKING:
    from warploom.passes.amdgcn.lowering import Lowering

MOST_BYTES = 2**31 - 1  # offsets of a buffer access


@dataclass(frozen=True, slots=True)
class Read:
    """One read of LDS: a lane's byte, a further constant, its type and size, its elements."""

    lane: Operand
    offset: int
    kind: Kind
    size: int
    elements: int
    turned: bool = False


def reads(low: Lowering, transfer: Transfer, layout: Layout) -> Iterator[Read]:
    """The reads that bring a tile's elements into a layout."""
    if not layout:
        word = memory_word(low.plan.values[transfer.value.name].dtype)
        yield Read(0, 0, Kind(word), 4, 1)
        return
    if not transfer.wide:
        along = layout[0][1]
        base = _entry(low, "mul", low.state.base(along), 4)
        word = memory_word(low.plan.values[transfer.value.name].dtype)
        for start, run in reads_of(transfer, layout):
            yield Read(base, 4 * along.offsets[start], Kind(word, run), 4 * run, run)
        return
    (_, rows), (var, along) = layout
    size = low.plan.values[transfer.value.name].dtype.bits // 8
    for start, run in reads_of(transfer, layout):
        r, i = divmod(start, along.count)
        if var == transfer.column:
            lane = _along_row(low, transfer, rows, along, along.offsets[i], size)
            count = run * size // transfer.per
            kind = Kind(Word.I32, count // 4)
            yield Read(lane, rows.offsets[r] * transfer.row_bytes, kind, count, run)
        else:
            inner = along.offsets[i] % 8
            lane = _turned(low, transfer, rows, along, rows.offsets[r], inner)
            below = (along.offsets[i] - inner) * transfer.row_bytes
            yield Read(lane, below, Kind(Word.I32, 2), 8, run, turned=True)


def written_at(
    low: Lowering, transfer: Transfer, layout: Layout, row: int, column: int
) -> tuple[Operand, int]:
    """Where a lane writes a run of a computed tile: its byte, and a further constant.

    Both are offsets of the layout's axes; rows lie whole matrix instructions apart, so that the
    exchange of chunks is the same for all of them.
    """
    (_, rows), (_, columns) = layout
    assert row % MFMA == 0
    lane = _along_row(low, transfer, rows, columns, column, 2)
    return lane, row * transfer.row_bytes


def _entry(low: Lowering, op: str, a: Operand, b: Operand) -> Operand:
    return low.state.at_entry(("transfer", op, a, b), op, a, b)


def _swizzled(low: Lowering, transfer: Transfer, row: Operand, byte: Operand) -> Operand:
    """The place in a tile of a byte of a row, its chunk exchanged."""
    shift, mask = transfer.swizzle
    moved = _entry(low, "lshr", row, shift)
    moved = _entry(low, "and", moved, mask)
    moved = _entry(low, "shl", moved, 4)
    inside = _entry(low, "xor", byte, moved)
    start = _entry(low, "mul", row, transfer.row_bytes)
    return _entry(low, "add", start, inside)


def _along_row(
    low: Lowering, transfer: Transfer, rows: AxisMap, along: AxisMap, offset: int, size: int
) -> Operand:
    """A lane's byte of its row, from an offset along it on."""
    first = _entry(low, "add", low.state.base(along), offset)
    byte = _entry(low, "mul", first, size)
    if transfer.per > 1:
        byte = _entry(low, "udiv", byte, transfer.per)
    row = _entry(low, "add", low.state.base(rows), 0)
    return _swizzled(low, transfer, row, byte)


def _turned(
    low: Lowering, transfer: Transfer, rows: AxisMap, along: AxisMap, column: int, offset: int
) -> Operand:
    """Where a lane reads four columns of one row, to get four rows of one column.

    Sixteen lanes read four rows of sixteen columns, four lanes a row.
    """
    lane = _entry(low, "and", low.state.lane, MFMA - 1)
    down = _entry(low, "lshr", lane, 2)
    row = _entry(low, "add", low.state.base(along), down)
    row = _entry(low, "add", row, offset)
    part = _entry(low, "and", lane, 3)
    part = _entry(low, "shl", part, 2)
    wave = low.state.base(AxisMap(offsets=(0,), wave=rows.wave))
    at = _entry(low, "add", part, wave)
    at = _entry(low, "add", at, column)
    byte = _entry(low, "shl", at, 1)
    return _swizzled(low, transfer, row, byte)


class Source:
    """Where a transfer reads: a buffer, byte offsets of a lane for each load, bytes a step."""

    def __init__(
        self, low: Lowering, loop: ir.Loop, transfer: Transfer, first: Operand, step: int
    ) -> None:
        self.low, self.loop, self.transfer = low, loop, transfer
        self.first, self.step = first, step
        assert transfer.load is not None
        self.load = transfer.load
        self.tensor = low.plan.kernel.tensor(self.load.tensor)
        self.size = self.tensor.dtype.bits // 8
        self.resource = ""
        self.offsets: list[Operand] = []
        # Bytes of a load, and the most its lanes add (None: they are not held).
        self.parts: list[tuple[Operand, Operand]] = []
        self.stride: Operand = 0  # bytes a step, 64 bits
        self.base: Operand = 0  # elements, 64 bits
        self.rows: Operand = 0  # bytes that rows span, 64 bits
        self.each: Operand = 0  # bytes from one picked index to the next, 64 bits
        self.start = ""
        self.narrow: Operand = 0
        self._tests: list[Operand] = []
        self._picks: Operand = None  # how many a picked index chooses from
        self._walk()

    def _walk(self) -> None:  # noqa: C901 (one a kind of index)
        low, transfer, values = self.low, self.transfer, self.low.plan.values
        for i, at in enumerate(self.load.at):
            axis, stride = self.tensor.axes[i], low.stride(self.tensor.name, i)
            if at.value is not None and values[at.value].vars:
                size = low.axis_size(self.tensor, i)
                self._gathered(at.value, size)
                self.rows = self._bytes(size, stride)
            elif at.value is not None and at.value == transfer.picked:
                self.each = self._bytes(1, stride)
                self._picks = low.axis_size(self.tensor, i)
            elif at.value is not None:
                index = low.uniform(at.value)
                self._tests.append(low.below(index, low.axis_size(self.tensor, i)))
                self._add(index, stride)
            elif at.var == self.loop.var:
                self._blocks(self.first, axis.per)
                self._add(low.floor_div(self.first, axis.per), stride)
                self.stride = self._bytes(self.step // axis.per, stride)
                if at.var == transfer.row:
                    self.rows = self._bytes(transfer.rows, stride)
                elif at.var == transfer.column:
                    self._aligned_at(self.first, axis.per)
            elif at.var == transfer.row and axis.per > 1:  # each lane has its own block
                size = low.axis_size(self.tensor, i)
                self.rows = self._bytes(size, stride)
            elif at.var is not None:
                place = low.spans[at.var].position
                self._add(low.floor_div(place, axis.per), stride)
                if at.var == transfer.row:
                    self.rows = self._bytes(transfer.rows, stride)
                elif at.var == transfer.column:
                    self._blocks(place, axis.per)
                    self._aligned_at(place, axis.per)
                    self._aligned_at(low.spans[at.var].limit, axis.per)

    def _add(self, index: Operand, stride: Operand) -> None:
        self.base = self.low.sum64(self.base, self.low.scaled(index, stride))

    def _bytes(self, count: Operand, stride: Operand) -> Operand:
        text = self.low.text
        wide = count if isinstance(count, int) else text.widened(count)
        return text.wide("mul", text.wide("mul", wide, stride), self.size)

    def _blocks(self, place: Operand, per: int) -> None:
        """A position is the first of a block."""
        if per > 1:
            rest = self.low.text.integer("urem", place, per)
            self._tests.append(self.low.text.compare("eq", rest, 0))

    def _aligned_at(self, place: Operand, per: int) -> None:
        """A position along the row is that of a chunk."""
        if isinstance(place, int) and place * self.size // per % CHUNK == 0:
            return
        text, unit = self.low.text, CHUNK * per // self.size
        rest = text.integer("and", place, unit - 1)
        self._tests.append(text.compare("eq", rest, 0))

    def _gathered(self, value: str, size: Operand) -> None:
        """All rows that count exist; every wave looks at all of them, so that all agree."""
        low, text, row = self.low, self.low.text, self.transfer.row
        along = AxisMap(offsets=tuple(range(0, self.transfer.rows, LANES)), lane=(1, LANES, 1))
        frag = low.get(value, ((row, along),))
        bad: Operand = False
        for i in range(along.count):
            inside = low.below(low.element(frag, i), size)
            outside = text.truth("xor", inside, True)
            counts = low.in_span(row, along, i)
            if counts is not None:
                outside = text.truth("and", outside, counts)
            bad = outside if bad is False else text.truth("or", bad, outside)
        self._tests.append(text.no_lane(bad))

    def conditions(self, tiles: Operand) -> list[Operand]:
        """Truths of the workgroup under which the transfer may run for so many steps."""
        low, text = self.low, self.low.text
        result = [low.aligned(self.tensor, self.transfer.moved), *self._tests]
        if self._picks is not None:
            result.append(self._all_exist(tiles))
        steps = text.widened(tiles)
        walked = text.wide("mul", steps, self.stride)
        total = text.wide("add", walked, self.rows)
        for part in (walked, self.rows, total):
            if not isinstance(part, int):
                result.append(text.compare("ult", part, MOST_BYTES - 65536, 64))
        return result

    def _all_exist(self, tiles: Operand) -> Operand:
        """Whether every number that is picked in so many steps is an index of its axis."""
        low, text = self.low, self.low.text
        (op,) = (
            o for o in self.loop.body
            if isinstance(o, ir.Load) and o.result.name == self.transfer.picked
        )  # fmt: skip
        base: Operand = 0
        along: Operand = 0
        for i, index in enumerate(op.at):
            stride = low.stride(op.tensor, i)
            walked = index.var == self.loop.var
            place = self.first if walked else low.spans[str(index.var)].position
            base = low.sum64(base, low.scaled(place, stride))
            along = low.sum64(along, stride) if walked else along
        name = text.name()
        assert self._picks is not None
        text.add(AllIndices(name, op.tensor, base, along, tiles, self._picks, low.state.lane))
        return name

    def picked(self, index: Operand) -> str:
        """The buffer of the tile that a number picks."""
        text = self.low.text
        far = text.wide("mul", text.widened(index), self.each)
        return self._buffer(text.address(self.tensor.name, far, start=self.start))

    def _buffer(self, base: str) -> str:
        name = self.low.text.name()
        self.low.text.add(Buffer(name, self.tensor.name, base))
        return name

    def prepare(self) -> None:
        """Compute buffer and offsets."""
        text, transfer = self.low.text, self.transfer
        start = text.wide("mul", self.base, self.size)
        self.start = text.address(self.tensor.name, start)
        if not transfer.picked:
            self.resource = self._buffer(self.start)
        if self._in_order():
            self._evenly()
        else:
            self.offsets = [self._offset(i) for i in range(transfer.instructions)]
            self.parts = [(0, None)] * transfer.instructions
        if self.stride != 0:
            self.narrow = text.shortened(self.stride)

    def _in_order(self) -> bool:
        """Whether rows lie one after the other, so many for each load."""
        transfer = self.transfer
        gathered = any(a.value and self.low.plan.values[a.value].vars for a in self.load.at)
        blocks = any(
            a.var == transfer.row and axis.per > 1
            for a, axis in zip(self.load.at, self.tensor.axes, strict=True)
        )
        even = transfer.threads % transfer.chunks == 0
        return transfer.wide and not gathered and not blocks and even and transfer.instructions > 1

    def _evenly(self) -> None:
        """One offset for all loads of a lane; a load adds its rows, and holds the offset to the
        last row there is: rows past the end are any that exist.
        """
        low, text, transfer = self.low, self.low.text, self.transfer
        axis = next(i for i, a in enumerate(self.load.at) if a.var == transfer.row)
        stride = low.stride(self.tensor.name, axis)
        pitch = text.integer("mul", self._narrowed(stride), self.size)
        rows = transfer.threads // transfer.chunks
        last = self._last_row()
        self.offsets = [self._offset(0, held=False)] * transfer.instructions
        most = transfer.row_bytes - CHUNK
        self.parts = []
        for i in range(transfer.instructions):
            left = text.integer("sub", last, i * rows)
            some = text.compare("sge", left, 0)
            left = text.integer("smax", left, 0)
            limit = text.integer("mul", left, pitch)
            limit = text.integer("add", limit, most)
            more = text.integer("mul", pitch, i * rows)
            more = text.select(some, Word.I32, more, 0)
            self.parts.append((more, limit))

    def _narrowed(self, stride: Operand) -> Operand:
        if stride == 1:
            return stride
        return self.low.state.once(("narrow", stride), lambda text: text.shortened(stride))

    def place(self, i: int) -> tuple[Operand, Operand]:
        """Offsets of a load: of its lanes, and one that all have."""
        more, limit = self.parts[i]
        if limit is None:
            return self.offsets[i], more
        text = self.low.text
        # Seen anew each time, so that one register holds what all loads begin with.
        lane = text.anew(self.offsets[i], fixed=True)
        return text.integer("smin", lane, limit), more

    def _offset(self, i: int, *, held: bool = True) -> Operand:
        """The bytes from the buffer's start that a lane moves in a load."""
        low, text, transfer = self.low, self.low.text, self.transfer
        chunks, threads = transfer.chunks, transfer.threads
        tid: Operand = low.state.tid
        tid = tid if not i else _entry(low, "add", tid, i * threads)
        row = tid if chunks == 1 else _entry(low, "udiv", tid, chunks)
        byte: Operand = 0
        if transfer.wide:
            shift, mask = transfer.swizzle
            chunk = _entry(low, "urem", tid, chunks)
            moved = _entry(low, "lshr", row, shift)
            moved = _entry(low, "and", moved, mask)
            chunk = _entry(low, "xor", chunk, moved)
            byte = _entry(low, "mul", chunk, CHUNK)
            byte = self._inside(byte)
        at = self._row_offset(i, row, held=held)
        return at if byte == 0 else text.integer("add", at, byte)

    def _inside(self, byte: Operand) -> Operand:
        """Chunks past the end of a row are its last."""
        low, text, column = self.low, self.low.text, self.transfer.column
        if column == self.loop.var or low.in_span(column, _whole(self.transfer.columns), 0) is None:
            return byte
        limit = text.integer("mul", low.spans[column].limit, self.size)
        if self.transfer.per > 1:
            limit = text.integer("udiv", limit, self.transfer.per)
        last = text.integer("sub", limit, CHUNK)
        return text.integer("umin", byte, last)

    def _last_row(self) -> Operand:
        """The last row of the tile that exists."""
        low, var = self.low, self.transfer.row
        if var == self.loop.var or low.in_span(var, _whole(self.transfer.rows), 0) is None:
            return self.transfer.rows - 1
        return low.text.integer("sub", low.spans[var].limit, 1)

    def _row_offset(self, i: int, row: Operand, *, held: bool) -> Operand:
        if not self.transfer.row:  # all lanes load the same number
            return 0
        low, text, transfer = self.low, self.low.text, self.transfer
        values, var = low.plan.values, transfer.row
        local = row
        if held:
            local = text.integer("umin", row, self._last_row())
        for axis, at in enumerate(self.load.at):
            stride = low.stride(self.tensor.name, axis)
            per = self.tensor.axes[axis].per
            if at.value is not None and values[at.value].vars == (var,):
                return self._scaled(self._picked(at.value, i), stride)
            if at.var == var and (at.var != transfer.column):
                if per > 1 and var != self.loop.var:
                    place = text.integer("add", low.spans[var].position, local)
                    return self._scaled(low.floor_div(place, per), stride)
                return self._scaled(low.floor_div(local, per), stride)
        raise AssertionError(self.load.tensor)

    def _picked(self, value: str, i: int) -> Operand:
        """The row that a lane's number of rows names."""
        transfer, waves = self.transfer, self.transfer.threads // LANES
        chunks = transfer.chunks
        step = transfer.threads // chunks
        along = AxisMap(
            offsets=tuple(n * step for n in range(transfer.instructions)),
            lane=(chunks, LANES // chunks, 1),
            wave=(1, waves, LANES // chunks),
        )
        frag = self.low.get(value, ((transfer.row, along),))
        index = self.low.element(frag, i)
        inside = self.low.in_span(transfer.row, along, i)
        if inside is None:
            return index
        return self.low.text.select(inside, Word.I32, index, 0)

    def _scaled(self, index: Operand, stride: Operand) -> Operand:
        text = self.low.text
        if stride == 1:
            return text.integer("mul", index, self.size)
        step = text.integer("mul", self._narrowed(stride), self.size)
        return text.integer("mul", index, step)

    def at_step(self, number: Operand) -> Operand:
        """The scalar offset of a step."""
        if self.stride == 0 or number == 0:
            return 0
        return self.low.text.integer("mul", self.narrow, number)


def _whole(count: int) -> AxisMap:
    return AxisMap(offsets=(count - 1,))
