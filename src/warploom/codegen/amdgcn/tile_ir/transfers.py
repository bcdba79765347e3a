"""Tiles between memory and LDS: where lanes load from, where they read, and what must hold.

A DMA writes 64 lanes one after the other, so rows have no room between them; their chunks are
exchanged by XOR with the row instead, so that lanes that read neighbouring rows find different
banks. Rows past the end of a tile are its last row again, and columns its last chunk: nothing that
is computed from them is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warploom.codegen.amdgcn.tile_ir.layout import LANES, MFMA, AxisMap, Layout
from warploom.codegen.amdgcn.tile_ir.loop_body import CHUNK, Transfer, reads_of
from warploom.codegen.amdgcn.tile_ir.numbers import memory_type
from warploom.ir import tile as ir

if TYPE_CHECKING:
    from warploom.codegen.amdgcn.tile_ir.lowering import Lowering

BUFFER_FLAGS = 0x27000  # raw buffer of untyped 32-bit data, swizzling off
MOST_BYTES = 2**31 - 1  # offsets of a buffer access


@dataclass(frozen=True, slots=True)
class Read:
    """One read of LDS: a lane's byte, a further constant, its type and size, its elements."""

    lane: str
    offset: int
    kind: str
    size: int
    elements: int
    turned: bool = False


def reads(low: Lowering, transfer: Transfer, layout: Layout) -> Iterator[Read]:
    """The reads that bring a tile's elements into a layout."""
    if not layout:
        form = memory_type(low.plan.values[transfer.value.name].dtype)
        yield Read("0", 0, form, 4, 1)
        return
    if not transfer.wide:
        along = layout[0][1]
        base = _entry(low, f"mul i32 {low.state.base(along)}, 4")
        form = memory_type(low.plan.values[transfer.value.name].dtype)
        for start, run in reads_of(transfer, layout):
            kind = form if run == 1 else f"<{run} x {form}>"
            yield Read(base, 4 * along.offsets[start], kind, 4 * run, run)
        return
    (_, rows), (var, along) = layout
    size = low.plan.values[transfer.value.name].dtype.bits // 8
    for start, run in reads_of(transfer, layout):
        r, i = divmod(start, along.count)
        if var == transfer.column:
            lane = _along_row(low, transfer, rows, along, along.offsets[i], size)
            count = run * size // transfer.per
            kind = "i32" if count == 4 else f"<{count // 4} x i32>"
            yield Read(lane, rows.offsets[r] * transfer.row_bytes, kind, count, run)
        else:
            inner = along.offsets[i] % 8
            lane = _turned(low, transfer, rows, along, rows.offsets[r], inner)
            below = (along.offsets[i] - inner) * transfer.row_bytes
            yield Read(lane, below, "<2 x i32>", 8, run, turned=True)


def written_at(
    low: Lowering, transfer: Transfer, layout: Layout, row: int, column: int
) -> tuple[str, int]:
    """Where a lane writes a run of a computed tile: its byte, and a further constant.

    Both are offsets of the layout's axes; rows lie whole matrix instructions apart, so that the
    exchange of chunks is the same for all of them.
    """
    (_, rows), (_, columns) = layout
    assert row % MFMA == 0
    lane = _along_row(low, transfer, rows, columns, column, 2)
    return lane, row * transfer.row_bytes


def _entry(low: Lowering, instruction: str) -> str:
    return low.state.at_entry(("transfer", instruction), instruction)


def _swizzled(low: Lowering, transfer: Transfer, row: str, byte: str) -> str:
    """The place in a tile of a byte of a row, its chunk exchanged."""
    shift, mask = transfer.swizzle
    moved = _entry(low, f"lshr i32 {row}, {shift}")
    moved = _entry(low, f"and i32 {moved}, {mask}")
    moved = _entry(low, f"shl i32 {moved}, 4")
    inside = _entry(low, f"xor i32 {byte}, {moved}")
    start = _entry(low, f"mul i32 {row}, {transfer.row_bytes}")
    return _entry(low, f"add i32 {start}, {inside}")


def _along_row(
    low: Lowering, transfer: Transfer, rows: AxisMap, along: AxisMap, offset: int, size: int
) -> str:
    """A lane's byte of its row, from an offset along it on."""
    first = _entry(low, f"add i32 {low.state.base(along)}, {offset}")
    byte = _entry(low, f"mul i32 {first}, {size}")
    if transfer.per > 1:
        byte = _entry(low, f"udiv i32 {byte}, {transfer.per}")
    row = _entry(low, f"add i32 {low.state.base(rows)}, 0")
    return _swizzled(low, transfer, row, byte)


def _turned(
    low: Lowering, transfer: Transfer, rows: AxisMap, along: AxisMap, column: int, offset: int
) -> str:
    """Where a lane reads four columns of one row, to get four rows of one column.

    Sixteen lanes read four rows of sixteen columns, four lanes a row.
    """
    lane = _entry(low, f"and i32 {low.state.lane}, {MFMA - 1}")
    down = _entry(low, f"lshr i32 {lane}, 2")
    row = _entry(low, f"add i32 {low.state.base(along)}, {down}")
    row = _entry(low, f"add i32 {row}, {offset}")
    part = _entry(low, f"and i32 {lane}, 3")
    part = _entry(low, f"shl i32 {part}, 2")
    wave = low.state.base(AxisMap(offsets=(0,), wave=rows.wave))
    at = _entry(low, f"add i32 {part}, {wave}")
    at = _entry(low, f"add i32 {at}, {column}")
    byte = _entry(low, f"shl i32 {at}, 1")
    return _swizzled(low, transfer, row, byte)


class Source:
    """Where a transfer reads: a buffer, byte offsets of a lane for each load, bytes a step."""

    def __init__(
        self, low: Lowering, loop: ir.Loop, transfer: Transfer, first: str, step: int
    ) -> None:
        self.low, self.loop, self.transfer = low, loop, transfer
        self.first, self.step = first, step
        assert transfer.load is not None
        self.load = transfer.load
        self.tensor = low.plan.kernel.tensor(self.load.tensor)
        self.size = self.tensor.dtype.bits // 8
        self.resource = ""
        self.offsets: list[str] = []
        self.parts: list[tuple[str, str]] = []  # bytes of a load, and the most its lanes add
        self.stride = "0"  # bytes a step, 64 bits
        self.base = "0"  # elements, 64 bits
        self.rows = "0"  # bytes that rows span, 64 bits
        self.each = "0"  # bytes from one picked index to the next, 64 bits
        self.start = ""
        self.narrow = "0"
        self._tests: list[str] = []
        self._picks = ""  # how many a picked index chooses from
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
                self.each = self._bytes("1", stride)
                self._picks = low.axis_size(self.tensor, i)
            elif at.value is not None:
                index = low.uniform(at.value)
                self._tests.append(low.below(index, low.axis_size(self.tensor, i)))
                self._add(index, stride)
            elif at.var == self.loop.var:
                self._blocks(self.first, axis.per)
                self._add(low.floor_div(self.first, axis.per), stride)
                self.stride = self._bytes(str(self.step // axis.per), stride)
                if at.var == transfer.row:
                    self.rows = self._bytes(str(transfer.rows), stride)
                elif at.var == transfer.column:
                    self._aligned_at(self.first, axis.per)
            elif at.var == transfer.row and axis.per > 1:  # each lane has its own block
                size = low.axis_size(self.tensor, i)
                self.rows = self._bytes(size, stride)
            elif at.var is not None:
                place = low.spans[at.var].position
                self._add(low.floor_div(place, axis.per), stride)
                if at.var == transfer.row:
                    self.rows = self._bytes(str(transfer.rows), stride)
                elif at.var == transfer.column:
                    self._blocks(place, axis.per)
                    self._aligned_at(place, axis.per)
                    self._aligned_at(low.spans[at.var].limit, axis.per)

    def _add(self, index: str, stride: str) -> None:
        self.base = self.low.sum64(self.base, self.low.scaled(index, stride))

    def _bytes(self, count: str, stride: str) -> str:
        text = self.low.text
        wide = count if count.isdigit() else text.value(f"zext i32 {count} to i64")
        total = text.value(f"mul i64 {wide}, {stride}")
        return text.value(f"mul i64 {total}, {self.size}")

    def _blocks(self, place: str, per: int) -> None:
        """A position is the first of a block."""
        if per > 1:
            rest = self.low.text.value(f"urem i32 {place}, {per}")
            self._tests.append(self.low.text.value(f"icmp eq i32 {rest}, 0"))

    def _aligned_at(self, place: str, per: int) -> None:
        """A position along the row is that of a chunk."""
        if place.isdigit() and int(place) * self.size // per % CHUNK == 0:
            return
        text, unit = self.low.text, CHUNK * per // self.size
        rest = text.value(f"and i32 {place}, {unit - 1}")
        self._tests.append(text.value(f"icmp eq i32 {rest}, 0"))

    def _gathered(self, value: str, size: str) -> None:
        """All rows that count exist; every wave looks at all of them, so that all agree."""
        low, text, row = self.low, self.low.text, self.transfer.row
        along = AxisMap(offsets=tuple(range(0, self.transfer.rows, LANES)), lane=(1, LANES, 1))
        frag = low.get(value, ((row, along),))
        bad = "false"
        for i in range(along.count):
            inside = low.below(low.element(frag, i), size)
            outside = text.value(f"xor i1 {inside}, true")
            counts = low.in_span(row, along, i)
            if counts is not None:
                outside = text.value(f"and i1 {outside}, {counts}")
            bad = outside if bad == "false" else text.value(f"or i1 {bad}, {outside}")
        votes = text.value(f"call i64 @llvm.amdgcn.ballot.i64(i1 {bad})")
        self._tests.append(text.value(f"icmp eq i64 {votes}, 0"))

    def conditions(self, tiles: str) -> list[str]:
        """Truths of the workgroup under which the transfer may run for so many steps."""
        low, text = self.low, self.low.text
        found = [low.aligned(self.tensor, self.transfer.moved), *self._tests]
        if self._picks:
            found.append(self._all_exist(tiles))
        steps = text.value(f"zext i32 {tiles} to i64")
        walked = text.value(f"mul i64 {steps}, {self.stride}")
        total = text.value(f"add i64 {walked}, {self.rows}")
        for part in (walked, self.rows, total):
            if not part.isdigit():
                found.append(text.value(f"icmp ult i64 {part}, {MOST_BYTES - 65536}"))
        return found

    def _all_exist(self, tiles: str) -> str:
        """Whether every number that is picked in so many steps is an index of its axis."""
        low, text, state = self.low, self.low.text, self.low.state
        (op,) = (
            o for o in self.loop.body
            if isinstance(o, ir.Load) and o.result.name == self.transfer.picked
        )  # fmt: skip
        base, along = "0", "0"
        for i, index in enumerate(op.at):
            stride = low.stride(op.tensor, i)
            walked = index.var == self.loop.var
            place = self.first if walked else low.spans[str(index.var)].position
            base = low.sum64(base, low.scaled(place, stride))
            along = low.sum64(along, stride) if walked else along
        head, body, out = (state.new_label(n) for n in ("pages", "page", "picked"))
        before = text.block
        text.add(f"br label %{head}")
        text.label(head)
        at, bad = f"%{head}_at", f"%{head}_bad"
        phis = len(text.lines)
        text.add(f"br i1 {text.value(f'icmp ult i32 {at}, {tiles}')}, label %{body}, label %{out}")
        text.label(body)
        mine = text.value(f"add i32 {at}, {state.lane}")
        counts = text.value(f"icmp ult i32 {mine}, {tiles}")
        mine = text.value(f"select i1 {counts}, i32 {mine}, i32 0")
        far = text.value(f"mul i64 {text.value(f'zext i32 {mine} to i64')}, {along}")
        far = text.value(f"shl i64 {text.value(f'add i64 {far}, {base}')}, 2")
        place = text.value(
            f"getelementptr i8, ptr addrspace(1) {low.pointer(op.tensor)}, i64 {far}"
        )
        found = text.value(f"load i32, ptr addrspace(1) {place}, align 4")
        outside = text.value(f"icmp uge i32 {found}, {self._picks}")
        outside = text.value(f"and i1 {outside}, {counts}")
        more = text.value(f"or i1 {bad}, {outside}")
        following = text.value(f"add i32 {at}, {LANES}")
        latch = text.block
        text.add(f"br label %{head}")
        text.lines[phis:phis] = [
            f"  {at} = phi i32 [ 0, %{before} ], [ {following}, %{latch} ]",
            f"  {bad} = phi i1 [ false, %{before} ], [ {more}, %{latch} ]",
        ]
        text.label(out)
        votes = text.value(f"call i64 @llvm.amdgcn.ballot.i64(i1 {bad})")
        return text.value(f"icmp eq i64 {votes}, 0")

    def picked(self, index: str) -> str:
        """The buffer of the tile that a number picks."""
        text = self.low.text
        far = text.value(f"mul i64 {text.value(f'zext i32 {index} to i64')}, {self.each}")
        return self._buffer(
            text.value(f"getelementptr i8, ptr addrspace(1) {self.start}, i64 {far}")
        )

    def _buffer(self, base: str) -> str:
        return self.low.text.value(
            "call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1("
            f"ptr addrspace(1) {base}, i16 0, i64 {MOST_BYTES}, i32 {BUFFER_FLAGS})"
        )

    def prepare(self) -> None:
        """Compute buffer and offsets."""
        low, text, transfer = self.low, self.low.text, self.transfer
        start = text.value(f"mul i64 {self.base}, {self.size}")
        pointer = low.pointer(self.tensor.name)
        self.start = text.value(f"getelementptr i8, ptr addrspace(1) {pointer}, i64 {start}")
        if not transfer.picked:
            self.resource = self._buffer(self.start)
        if self._in_order():
            self._evenly()
        else:
            self.offsets = [self._offset(i) for i in range(transfer.instructions)]
            self.parts = [("0", "")] * transfer.instructions
        if self.stride != "0":
            self.narrow = text.value(f"trunc i64 {self.stride} to i32")

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
        pitch = text.value(f"mul i32 {self._narrowed(stride)}, {self.size}")
        rows = transfer.threads // transfer.chunks
        last = self._last_row()
        self.offsets = [self._offset(0, held=False)] * transfer.instructions
        most = transfer.row_bytes - CHUNK
        self.parts = []
        for i in range(transfer.instructions):
            left = text.value(f"sub i32 {last}, {i * rows}")
            some = text.value(f"icmp sge i32 {left}, 0")
            left = text.value(f"call i32 @llvm.smax.i32(i32 {left}, i32 0)")
            limit = text.value(f"mul i32 {left}, {pitch}")
            limit = text.value(f"add i32 {limit}, {most}")
            more = text.value(f"mul i32 {pitch}, {i * rows}")
            more = text.value(f"select i1 {some}, i32 {more}, i32 0")
            self.parts.append((more, limit))

    def _narrowed(self, stride: str) -> str:
        if stride == "1":
            return stride
        return self.low.state.at_entry(("narrow", stride), f"trunc i64 {stride} to i32")

    def place(self, i: int) -> tuple[str, str]:
        """Offsets of a load: of its lanes, and one that all have."""
        more, limit = self.parts[i]
        if not limit:
            return self.offsets[i], more
        text = self.low.text
        # Seen anew each time, so that one register holds what all loads begin with.
        lane = text.value(f'call i32 asm sideeffect "", "=v,0"(i32 {self.offsets[i]})')
        return text.value(f"call i32 @llvm.smin.i32(i32 {lane}, i32 {limit})"), more

    def _offset(self, i: int, *, held: bool = True) -> str:
        """The bytes from the buffer's start that a lane moves in a load."""
        low, text, transfer = self.low, self.low.text, self.transfer
        chunks, threads = transfer.chunks, transfer.threads
        tid = low.state.tid
        tid = tid if not i else _entry(low, f"add i32 {tid}, {i * threads}")
        row = tid if chunks == 1 else _entry(low, f"udiv i32 {tid}, {chunks}")
        byte = "0"
        if transfer.wide:
            shift, mask = transfer.swizzle
            chunk = _entry(low, f"urem i32 {tid}, {chunks}")
            moved = _entry(low, f"lshr i32 {row}, {shift}")
            moved = _entry(low, f"and i32 {moved}, {mask}")
            chunk = _entry(low, f"xor i32 {chunk}, {moved}")
            byte = _entry(low, f"mul i32 {chunk}, {CHUNK}")
            byte = self._inside(byte)
        at = self._row_offset(i, row, held=held)
        return at if byte == "0" else text.value(f"add i32 {at}, {byte}")

    def _inside(self, byte: str) -> str:
        """Chunks past the end of a row are its last."""
        low, text, column = self.low, self.low.text, self.transfer.column
        if column == self.loop.var or low.in_span(column, _whole(self.transfer.columns), 0) is None:
            return byte
        limit = text.value(f"mul i32 {low.spans[column].limit}, {self.size}")
        if self.transfer.per > 1:
            limit = text.value(f"udiv i32 {limit}, {self.transfer.per}")
        last = text.value(f"sub i32 {limit}, {CHUNK}")
        return text.value(f"call i32 @llvm.umin.i32(i32 {byte}, i32 {last})")

    def _last_row(self) -> str:
        """The last row of the tile that exists."""
        low, var = self.low, self.transfer.row
        if var == self.loop.var or low.in_span(var, _whole(self.transfer.rows), 0) is None:
            return str(self.transfer.rows - 1)
        return low.text.value(f"sub i32 {low.spans[var].limit}, 1")

    def _row_offset(self, i: int, row: str, *, held: bool) -> str:
        if not self.transfer.row:  # all lanes load the same number
            return "0"
        low, text, transfer = self.low, self.low.text, self.transfer
        values, var = low.plan.values, transfer.row
        local = row
        if held:
            local = text.value(f"call i32 @llvm.umin.i32(i32 {row}, i32 {self._last_row()})")
        for axis, at in enumerate(self.load.at):
            stride = low.stride(self.tensor.name, axis)
            per = self.tensor.axes[axis].per
            if at.value is not None and values[at.value].vars == (var,):
                return self._scaled(self._picked(at.value, i), stride)
            if at.var == var and (at.var != transfer.column):
                if per > 1 and var != self.loop.var:
                    place = text.value(f"add i32 {low.spans[var].position}, {local}")
                    return self._scaled(low.floor_div(place, per), stride)
                return self._scaled(low.floor_div(local, per), stride)
        raise AssertionError(self.load.tensor)

    def _picked(self, value: str, i: int) -> str:
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
        return self.low.text.value(f"select i1 {inside}, i32 {index}, i32 0")

    def _scaled(self, index: str, stride: str) -> str:
        text = self.low.text
        if stride == "1":
            return text.value(f"mul i32 {index}, {self.size}")
        step = text.value(f"mul i32 {self._narrowed(stride)}, {self.size}")
        return text.value(f"mul i32 {index}, {step}")

    def at_step(self, number: str) -> str:
        """The scalar offset of a step."""
        if self.stride == "0" or number == "0":
            return "0"
        return self.low.text.value(f"mul i32 {self.narrow}, {number}")


def _whole(count: int) -> AxisMap:
    return AxisMap(offsets=(count - 1,))
