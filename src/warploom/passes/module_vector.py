"""Vector work of a scheduled kernel as operations on fragments: steps, moves and stores.

A thread's elements of 16 columns ``g`` of a 64-row block ``b`` are (``p``, ``i``, ``q``): row
``lane / 4 + 8 i`` of its warp's 16, column ``8 p + 2 (lane % 4) + q``. Row values have (``b``,
``i``) alone. Values of fewer axes are the same for all elements along the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from warploom.dataclass import dataclass
from warploom.ir import operations as ops
from warploom.ir.expr import (
    Expr,
    IntExpr,
    Sym,
    SymKind,
    conjunction,
    const,
    floor_div,
    least,
    lift,
    size,
)
from warploom.ir.operations import TURN_ROW, FragmentIndex, FragmentLayout
from warploom.ir.rings import BufferCopy
from warploom.ir.tile import (
    At,
    Broadcast,
    Const,
    Dim,
    Dot,
    DType,
    Fn,
    Indices,
    Load,
    Pointwise,
    Position,
    Reduce,
    Scalar,
    Size,
    Store,
    Walk,
    Whole,
)
from warploom.ir.tile_schedule import let
from warploom.ir.types import BLOCK_ROWS, Access, short
from warploom.passes.body import line_of, refusal
from warploom.passes.fuse import Step, fresh_product, is_column_sum
from warploom.passes.layout import Array, Form, part_sums
from warploom.passes.loop_bounds import moves
from warploom.passes.module_numbers import (
    T_STEP,
    TRIPS,
    WHOLE_FROM,
    WHOLE_TO,
    Numbers,
    refuse,
)
from warploom.passes.smem_layout import SlotTile
from warploom.passes.smem_ops import by_columns, early_array, early_vectors, share_of
from warploom.passes.tile_order import takes_turns, turn_rows
from warploom.passes.warp_specialize import part_name

WARP = Sym(SymKind.THREAD, "warp")
LANE = Sym(SymKind.THREAD, "lane")
INSTANCE = Sym(SymKind.THREAD, "instance")
ROW = Sym(SymKind.ELEMENT, "row")
COL = Sym(SymKind.ELEMENT, "col")
QUAD = (1, 2)  # lanes of the threads that share a row
ROWS_OF_WARP = (4, 8, 16)  # lanes of the threads that share a column
COLUMNS = ("g", "p", "q")
B, G, P, HALF, Q, J = (Sym(SymKind.FRAGMENT, n) for n in "bgpiqj")


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenRead:
    """A vector or number that a step wants read as its product is issued."""

    array: str
    load: Load
    form: str
    blocks: int

    @property
    def dtype(self) -> DType:
        """The type that registers hold."""
        return DType.I32 if self.load.result.dtype is DType.I32 else DType.F32


@dataclass
class VectorWork:
    """The vector operations of one kernel; ``hidden`` collects reads that products make."""

    numbers: Numbers
    instance: Expr
    hidden: dict[str, dict[str, HiddenRead]] = field(default_factory=dict)

    # Layouts.

    def _rows(self, block: Expr, blocks: int, instance: Expr) -> Expr:
        return 64 * (blocks * instance + block) + 16 * WARP + LANE // 4 + 8 * HALF

    def tile_layout(
        self,
        blocks: int,
        cols: int,
        *,
        apart: bool = False,
        chunk: tuple[int, int, int] | None = None,
    ) -> FragmentLayout:
        """All elements of a thread in ``blocks`` of 64 rows by ``cols`` columns of an instance, or
        those of one ``chunk``: its block, its first column, and 16 columns so many times.

        ``apart``: instances share the columns of a tile, else the rows.
        """
        here: Expr = B if chunk is None else const(chunk[0])
        first: Expr = 16 * G if chunk is None else chunk[1] + 16 * J
        row = self._rows(here, 0 if apart else self.numbers.layout.blocks, self.instance)
        col = first + 8 * P + LANE % 4 * 2 + Q
        col = col + cols * self.instance if apart else col
        leading = [
            FragmentIndex(name="b", extent=blocks),
            FragmentIndex(name="g", extent=cols // 16),
        ]
        if chunk is not None:
            leading = [FragmentIndex(name="j", extent=chunk[2])]
        return FragmentLayout(
            indices=(*leading, *(FragmentIndex(name=n, extent=2) for n in "piq")),
            register=lift(here * (cols // 2) + first // 2 + 4 * P + 2 * HALF + Q),
            row=lift(row),
            col=lift(col),
        )

    def row_layout(self, blocks: int) -> FragmentLayout:
        """Both rows of a thread in every block."""
        return FragmentLayout(
            indices=(FragmentIndex(name="b", extent=blocks), FragmentIndex(name="i", extent=2)),
            register=lift(2 * B + HALF),
            row=lift(self._rows(B, self.numbers.layout.blocks, self.instance)),
            col=const(0),
        )

    def layout_for(self, array: Array) -> FragmentLayout:
        """The layout of an array."""
        if array.form not in (Form.TILE, Form.PACKED):
            return self.row_layout(array.blocks)
        result = self.tile_layout(array.blocks, array.cols, apart=array.by_columns)
        if array.cols % 16 == 0:
            return result
        eight = Sym(SymKind.FRAGMENT, "h")  # 8 columns at a time, of an odd number of them
        col = 8 * eight + LANE % 4 * 2 + Q
        extents = (("b", array.blocks), ("h", array.cols // 8), ("i", 2), ("q", 2))
        return replace(
            result,
            indices=tuple(FragmentIndex(name=n, extent=e) for n, e in extents),
            register=lift(B * (array.cols // 2) + 4 * eight + 2 * HALF + Q),
            col=lift(col + array.cols * self.instance if array.by_columns else col),
        )

    def _blocks(self, rows: str | None) -> int:
        numbers = self.numbers
        extent = numbers.layout.extent(rows) if rows else 64
        return extent // numbers.config.consumer_warpgroups // 64

    # Ops of the plan.

    def step(self, step: Step, iteration: IntExpr, *, looping: bool) -> Iterator[ops.Vector]:
        """A step of vector work; ``looping``: in the running iteration of the loop itself."""
        numbers, body = self.numbers, self.numbers.body
        blocks = self._blocks(step.rows)
        if step.cols is None:
            layout = self.row_layout(blocks)
        else:
            layout = self.tile_layout(blocks, numbers.layout.extent(step.cols))
        in_loop = step.when == "loop"
        write = Writer(
            self,
            step.rows,
            step.cols,
            iteration=iteration if in_loop else None,
            local=frozenset(op.result.name for op in step.ops),
            step=step,
            masks=T_STEP if looping and not numbers.layout.crowded else iteration,
        )
        parts = part_sums(body)
        for op in step.ops:
            name = op.result.name
            if isinstance(op, Reduce):
                if op.over != step.cols:
                    raise refusal(
                        "a reduction over the rows of a tile",
                        op.result.line,
                        why="rows lie in different warps",
                        fix="reduce over the columns, or work on the transposed tile",
                    )
                arg = write.value(op.arg)
                write.made.append(
                    ops.VectorReduce(
                        result=name,
                        fn=op.fn,
                        arg=arg,
                        over=COLUMNS,
                        lanes=() if name in parts else QUAD,
                        dtype=op.result.dtype,
                    )
                )
                write.names[name] = name
            elif name in step.results:
                write.value(name)
        sets = [self._set(name, write.value(name)) for name in step.results]
        yield ops.Vector(
            op=step.name, iteration=iteration, layout=layout, body=(*write.made, *sets)
        )

    def _set(self, name: str, value: str) -> ops.VectorSet:
        array = self.numbers.layout.array_of(name)
        return ops.VectorSet(
            value=value, array=array.name, register=register_of(array), dtype=array.dtype
        )

    def start(self, names: tuple[str, ...], iteration: IntExpr) -> Iterator[ops.Vector]:
        """Carried values as a tile begins."""
        layout, body = self.numbers.layout, self.numbers.body
        for name in names:
            array, first = layout.array_of(name), body.inside[name].first
            dims = body.values[first].vars if body.varies(first) else ()
            rows, cols = (*dims, None, None)[:2] if dims else (None, None)
            write = Writer(self, rows, cols)
            value = write.value(first)
            yield ops.Vector(
                op="",
                iteration=iteration,
                layout=self.layout_for(array),
                body=(*write.made, self._set(name, value)),
                writes=(array.name,),
            )

    def take(
        self, pairs: list[tuple[str, Array, Array]], iteration: IntExpr
    ) -> Iterator[ops.Vector]:
        """What earlier loops of the tile left, into arrays of this one."""
        for name, source, array in pairs:
            yield ops.Vector(
                op="",
                iteration=iteration,
                layout=self.layout_for(array),
                body=(
                    ops.VectorRegister(
                        result=name, array=source.name, register=register_of(source)
                    ),
                    ops.VectorSet(
                        value=name,
                        array=array.name,
                        register=register_of(array),
                        dtype=array.dtype,
                    ),
                ),
                writes=(array.name,),
            )

    def sums(self, arrays: tuple[str, ...], iteration: IntExpr) -> Iterator[ops.Vector]:
        """Row sums over the threads of a row."""
        layout = self.numbers.layout
        made: list[ops.VectorOp] = []
        sets: list[ops.VectorOp] = []
        for name in arrays:
            array = next(a for a in layout.arrays if a.name == name)
            own, total = f"{name}_own", f"{name}_all"
            register = register_of(array)
            made.append(ops.VectorRegister(result=own, array=name, register=register))
            made.append(
                ops.VectorReduce(
                    result=total, fn=Fn.ADD, arg=own, over=(), lanes=QUAD, dtype=array.dtype
                )
            )
            sets.append(
                ops.VectorSet(value=total, array=name, register=register, dtype=array.dtype)
            )
        yield ops.Vector(
            op="",
            iteration=iteration,
            layout=self.row_layout(layout.blocks),
            body=(*made, *sets),
        )

    def fetch(self, op: Load, iteration: IntExpr) -> Iterator[ops.Vector]:
        """A loaded tile into registers, as left operand."""
        array = self.numbers.layout.array_of(op.result.name)
        write = Writer(self, *op.result.vars, iteration=iteration)
        value = write.from_slot(op)
        yield ops.Vector(
            op="",
            iteration=iteration,
            layout=self.layout_for(array),
            body=(*write.made, self._set(op.result.name, value)),
        )

    def see(self, early: tuple[tuple[str, int], ...], iteration: IntExpr) -> Iterator[ops.Vector]:
        """Vectors of a slot that are read as its copies have landed."""
        for name, elements in early:
            yield self._early(name, elements, iteration)

    def _early(self, name: str, elements: int, iteration: IntExpr) -> ops.Vector:
        op = self.numbers.body.ops[name]
        assert isinstance(op, Load)
        write = Writer(self, None, op.result.vars[0], iteration=iteration)
        value = write.from_slot(op)
        layout = FragmentLayout(
            indices=(
                FragmentIndex(name="g", extent=elements // 16),
                FragmentIndex(name="p", extent=2),
                FragmentIndex(name="q", extent=2),
            ),
            register=lift(4 * G + 2 * P + Q),
            row=const(0),
            col=lift(16 * G + 8 * P + LANE % 4 * 2 + Q),
        )
        return ops.Vector(
            op="",
            iteration=iteration,
            layout=layout,
            body=(*write.made, ops.VectorSet(value=value, array=early_array(name))),
            writes=(early_array(name),),
        )

    def before(self, op: Dot, iteration: IntExpr) -> Iterator[ops.Vector]:
        """What steps want read as a product is issued."""
        layout = self.numbers.layout
        vectors = {} if layout.config.separate_full_waits else early_vectors(layout)
        for name, (result, columns) in vectors.items():
            if result == op.result.name:
                yield self._early(name, columns, iteration)
        for read in self.hidden.get(op.result.name, {}).values():
            rows = read.load.result.vars[0] if read.form == "row" else None
            write = Writer(self, rows, None, iteration=iteration)
            slot = layout.slot_of(read.load.result.name)
            value = write.from_memory(read.load) if slot is None else write.from_slot(read.load)
            made = ops.VectorSet(
                value=value,
                array=read.array,
                register=lift(2 * B + HALF) if read.form == "row" else const(0),
                dtype=read.dtype,
            )
            row = self.row_layout(read.blocks)
            one = FragmentLayout(indices=(), register=const(0), row=const(0), col=const(0))
            yield ops.Vector(
                op="",
                iteration=iteration,
                layout=row if read.form == "row" else one,
                body=(*write.made, made),
                writes=(read.array,),
            )

    def put(self, value: str, ring: str, tile: SlotTile, iteration: IntExpr) -> ops.Vector:
        """A consumer's rows of a computed tile into a slot; rows that do not exist as 0."""
        numbers = self.numbers
        array = numbers.layout.array_of(value)
        rows = numbers.body.values[value].vars[0]
        place = numbers.position(rows, iteration) + ROW
        inside: list[IntExpr] = [lift(place < numbers.end_of(rows))]
        if rows == numbers.early:
            inside.insert(0, lift(place >= 0))
        read = ops.VectorRegister(result=value, array=array.name)
        return ops.Vector(
            op="",
            iteration=iteration,
            layout=replace(
                self.layout_for(array),
                row=lift(self._rows(B, array.blocks, self.instance)),
            ),
            body=(
                read,
                ops.VectorPut(
                    value=value,
                    ring=ring,
                    part=part_name(value),
                    iteration=iteration,
                    row=ROW,
                    col=COL,
                    predicate=conjunction(inside),
                    dtype=tile.dtype,
                ),
            ),
        )

    # Stores.

    def fill(
        self, op: Store, block: int, column: int, target: BufferCopy, iteration: IntExpr | None
    ) -> tuple[FragmentLayout, tuple[ops.VectorOp, ...]]:
        """One chunk of a tile into a staging copy."""
        numbers = self.numbers
        rows, cols = numbers.body.values[op.value].vars
        dtype = numbers.kernel.tensor(op.tensor).dtype
        apart, columns = by_columns(numbers.layout, op), share_of(numbers.layout, op)[1]
        groups = min(2 if dtype is DType.F32 else 4, columns // 16)
        layout = self.tile_layout(1, columns, apart=apart, chunk=(block, column, groups))
        write = Writer(self, rows, cols, iteration=iteration, chunk=(block, column))
        value = write.value(op.value)
        write.made.append(
            ops.VectorStage(
                value=value,
                target=target,
                row=lift(LANE // 4 + 8 * HALF),
                col=lift(16 * J + 8 * P + LANE % 4 * 2 + Q),
                dtype=dtype,
            )
        )
        return layout, tuple(write.made)

    def store(
        self, op: Store, iteration: IntExpr | None
    ) -> tuple[FragmentLayout, tuple[ops.VectorOp, ...]]:
        """A store from registers: a tile, a vector of rows, or sums over a tile's rows."""
        numbers = self.numbers
        value, made = numbers.body.values[op.value], numbers.body.ops.get(op.value)
        if isinstance(made, Reduce) and value.vars != numbers.body.values[made.arg].vars[:1]:
            if not is_column_sum(numbers.body, made):
                raise refusal(
                    "a reduction over the rows of a tile",
                    made.result.line,
                    why="rows lie in different warps",
                    fix="reduce over the columns, or work on the transposed tile",
                )
            return self._column_sums(op, made)
        if len(value.dims) != 2:
            return self._row_store(op)
        rows, cols = value.vars
        apart = by_columns(numbers.layout, op)
        blocks, columns = share_of(numbers.layout, op)
        layout = self.tile_layout(blocks, columns, apart=apart)
        write = Writer(self, rows, cols, iteration=iteration)
        result = write.value(op.value)
        at, inside = write.place(op, stores=True)
        tensor = numbers.kernel.tensor(op.tensor)
        if tensor.blocked:  # whole blocks of rows are added, of which some may not exist
            inside = [*self._whole_blocks(op, rows, iteration), *numbers.within(op, list(at))]
        write.made.append(
            ops.VectorStore(
                value=result,
                tensor=op.tensor,
                at=at,
                predicate=conjunction(inside),
                dtype=tensor.dtype,
                add=op.add,
                line=short(op.line),
                turn=self._turn(op) if op.add and takes_turns(numbers.kernel) else None,
            )
        )
        return layout, tuple(write.made)

    def _turn(self, op: Store) -> ops.Turn:
        """When an iteration's rows are added to: iterations whose rows are given on together take
        one turn, from the first of them to the last.
        """
        numbers, kernel = self.numbers, self.numbers.kernel
        cut = numbers.cut
        rows, columns = numbers.body.values[op.value].vars
        extent = numbers.layout.extent(rows)
        tile = next(n for n in kernel.grid.vars if kernel.var(n).walk is Walk.TILE)
        most_rows = numbers.layout.extent(tile) if cut is not None and cut.bounds else None
        together = turn_rows(extent, numbers.layout.extent(columns), most_rows)
        here = numbers.position(rows, T_STEP)
        first: Expr = here
        begins = ends = None
        if together > extent:
            first = here // together * together
            begins = lift(T_STEP.eq(0) | (here % together).eq(0))
            ends = lift(T_STEP.eq(TRIPS - 1) | ((here + extent) % together).eq(0))
        named = {a.name: n for n, a in enumerate(kernel.tensor(op.tensor).axes)}
        turns = next(t for t in kernel.tensors if t.access is Access.TURNS)
        places = [
            TURN_ROW
            if op.at[named[a.name]].var == rows
            else lift(numbers.index(op, named[a.name], T_STEP))
            for a in turns.axes
        ]
        n = next(n for n, a in enumerate(op.at) if a.var == rows)
        limit = numbers.limit(op.tensor, kernel.tensor(op.tensor).axes[n], rows)
        return ops.Turn(
            tensor=turns.name,
            at=tuple(places),
            rows=together,
            first=lift(first),
            exists=lift(limit > TURN_ROW),
            before=self._tiles_before(tile, TURN_ROW + together),
            begins=begins,
            ends=ends,
        )

    def _tiles_before(self, tile: str, end: Expr) -> IntExpr:
        """How many tiles add to rows that end at ``end`` before this one: those after it whose loop
        begins before.
        """
        numbers = self.numbers
        extent = numbers.layout.extent(tile)
        last: Expr = (size(numbers.kernel.var(tile).axis) - 1) // extent
        for bound in numbers.cut.below if numbers.cut is not None else ():
            if bound.rows:
                rest = end - 1 + bound.constant
                for factor, name in bound.rest:
                    rest = rest + factor * numbers.number(name, None)
                last = least(last, rest // (-bound.rows * extent))
        return lift(last - let(f"pos_{tile}") // extent)

    def _whole_blocks(self, op: Store, rows: str, iteration: IntExpr | None) -> list[IntExpr]:
        numbers = self.numbers
        n = next(n for n, a in enumerate(op.at) if a.var == rows)
        axis = numbers.kernel.tensor(op.tensor).axes[n]
        first = numbers.position(rows, iteration) + ROW // BLOCK_ROWS * BLOCK_ROWS
        return [lift(first < numbers.limit(op.tensor, axis, rows))]

    def _row_store(self, op: Store) -> tuple[FragmentLayout, tuple[ops.VectorOp, ...]]:
        numbers = self.numbers
        value = numbers.body.values[op.value]
        rows = value.vars[0] if value.dims else None
        if rows is None:
            raise refuse("a number that is stored", op.line)
        write = Writer(self, rows, None)
        result = write.value(op.value)
        at, inside = write.place(op, stores=True)
        first = lift((LANE % 4).eq(0))
        write.made.append(
            ops.VectorStore(
                value=result,
                tensor=op.tensor,
                at=at,
                predicate=conjunction([first, *inside]),
                dtype=numbers.kernel.tensor(op.tensor).dtype,
                add=op.add,
                line=short(op.line),
            )
        )
        return self.row_layout(self._blocks(rows)), tuple(write.made)

    def _column_sums(
        self, op: Store, made: Reduce
    ) -> tuple[FragmentLayout, tuple[ops.VectorOp, ...]]:
        numbers = self.numbers
        rows, cols = numbers.body.values[made.arg].vars
        write = Writer(self, rows, cols)
        arg = write.value(made.arg)
        name = made.result.name
        write.made.append(
            ops.VectorReduce(
                result=name,
                fn=Fn.ADD,
                arg=arg,
                over=("i",),
                lanes=ROWS_OF_WARP,
                dtype=made.result.dtype,
            )
        )
        at, inside = write.place(op, stores=True)
        once = [lift(LANE < 4), lift(HALF.eq(0))]
        write.made.append(
            ops.VectorStore(
                value=name,
                tensor=op.tensor,
                at=at,
                predicate=conjunction([*once, *inside]),
                dtype=numbers.kernel.tensor(op.tensor).dtype,
                add=True,
                line=short(op.line),
            )
        )
        layout = self.tile_layout(self._blocks(rows), numbers.layout.extent(cols))
        return layout, tuple(write.made)


def register_of(array: Array, block: Expr = B) -> IntExpr | None:
    """The register of a row's value; of tiles the one that the layout names."""
    return None if array.form in (Form.TILE, Form.PACKED) else lift(2 * block + HALF)


class Writer:
    """Writes the operations that compute values on a tile ``rows`` x ``cols``.

    ``local`` are values computed in this very body; everything else kept is read from its array.
    ``masks``: the iteration by which a step decides whether conditions along the loop are asked.
    ``chunk``: block and first column of a part of the tile that the layout is of.
    """

    def __init__(
        self,
        work: VectorWork,
        rows: str | None,
        cols: str | None,
        *,
        iteration: IntExpr | None = None,
        local: frozenset[str] = frozenset(),
        step: Step | None = None,
        masks: IntExpr | None = None,
        chunk: tuple[int, int] | None = None,
    ) -> None:
        self.block: Expr = B if chunk is None else const(chunk[0])
        self.group: Expr = G if chunk is None else chunk[1] // 16 + J
        self.work, self.numbers = work, work.numbers
        self.body, self.layout = self.numbers.body, self.numbers.layout
        self.rows, self.cols, self.iteration = rows, cols, iteration
        self.local, self.step, self.masks = local, step, masks
        self.product = fresh_product(self.body, step) if step is not None else None
        self.homes = dict(self.layout.homes)
        self.made: list[ops.VectorOp] = []
        self.names: dict[str, str] = {}

    def value(self, name: str) -> str:
        """The name of a value in the body, with what makes it before it."""
        if name in self.names:
            return self.names[name]
        for earlier in self._behind(name):
            if earlier not in self.names:
                self.names[earlier] = self._computed(earlier)
        inner, _ = self.body.through(name)
        if inner not in self.names:
            self.names[inner] = self._computed(inner)
        self.names[name] = self.names[inner]
        return self.names[name]

    def _behind(self, name: str) -> list[str]:
        """Pointwise values that one is made of, makers first: chains need no deep recursion."""
        order: dict[str, None] = {}
        left = [(name, False)]
        while left:
            at, done = left.pop()
            at, _ = self.body.through(at)
            if done:
                order[at] = None
                continue
            if at in self.names or at in order or (at in self.homes and at not in self.local):
                continue
            op = self.body.ops.get(at)
            if isinstance(op, Pointwise) and at not in self.body.inside:
                left.append((at, True))
                left += [(a, False) for a in reversed(op.args)]
        return list(order)

    def _computed(  # noqa: C901, PLR0911 (one line a kind of op)
        self, name: str
    ) -> str:
        if name in self.homes and name not in self.local:
            array = self.layout.array_of(name)
            register = register_of(array, self.block)
            self.made.append(ops.VectorRegister(result=name, array=array.name, register=register))
            return name
        op, value = self.body.ops[name], self.body.values[name]
        match op:
            case Const():
                self.made.append(ops.VectorConst(result=name, value=op.value, dtype=value.dtype))
            case Scalar():
                self.made.append(
                    ops.VectorScalar(result=name, parameter=op.parameter, dtype=value.dtype)
                )
            case Broadcast():
                return self.value(op.arg)
            case Size() | Position() | Whole():
                return self._index(name, self.numbers.number(name, self.iteration))
            case Reduce() if self.body.is_free(name):
                return self._index(name, self.numbers.number(name, self.iteration))
            case Indices():
                return self._index(name, self.along(op.var))
            case Load():
                return self._loaded(op)
            case Pointwise():
                args = tuple(self.value(a) for a in op.args)
                if self._hides(op):
                    args = (self._unless_whole(name, args[0]), *args[1:])
                self.made.append(
                    ops.VectorPointwise(result=name, fn=op.fn, args=args, dtype=value.dtype)
                )
            case _:
                raise refuse("this value", line_of(op))
        return name

    def _index(self, name: str, value: Expr) -> str:
        self.made.append(ops.VectorIndex(result=name, value=lift(value)))
        return name

    def along(self, var: str) -> Expr:
        """The element of a variable that the element at hand is."""
        at = self.numbers.position(var, self.iteration)
        if var == self.rows:
            return at + ROW
        if var == self.cols:
            return at + COL
        raise refuse(f"index({var}) on a tile of {self.rows} and {self.cols}", None)

    def _hides(self, op: Pointwise) -> bool:
        """Whether a condition is not asked in iterations that hide nothing."""
        if self.step is None or self.step.name not in self.numbers.masked:
            return False
        if op.fn is not Fn.WHERE or not op.result.dims or not self.body.is_free(op.args[0]):
            return False
        return moves(self.body, op.args[0]) and not self.body.is_free(op.result.name)

    def _unless_whole(self, name: str, condition: str) -> str:
        assert self.masks is not None
        whole, either = f"{name}.whole", f"{name}.seen"
        inside = (lift(self.masks) >= WHOLE_FROM) & (self.masks < WHOLE_TO)
        self._index(whole, inside)
        self.made.append(
            ops.VectorPointwise(result=either, fn=Fn.OR, args=(whole, condition), dtype=DType.BOOL)
        )
        return either

    # Loads.

    def _loaded(self, op: Load) -> str:
        found = self.layout.slot_of(op.result.name)
        if found is None:
            return self._from_memory(op)
        tile = found[1]
        name = op.result.name
        if tile.vector and tile.cols > 1 and op.result.vars != (self.rows,):
            if self.step is not None and name in early_vectors(self.layout):
                self.made.append(
                    ops.VectorRegister(
                        result=name,
                        array=early_array(name),
                        register=lift(4 * self.group + 2 * P + Q),
                    )
                )
                return name
            return self.from_slot(op)
        if tile.vector and self._lies_with_product(op) and not self.layout.crowded:
            return self._hidden(op, "thread" if tile.cols == 1 else "row")
        return self.from_slot(op)

    def _lies_with_product(self, op: Load) -> bool:
        dot = self.body.ops.get(self.product or "")
        found = self.layout.slot_of(op.result.name)
        if not isinstance(dot, Dot) or found is None:
            return False
        operands = {self.body.through(n)[0] for n in (dot.a, dot.b)}
        return bool(operands & {t.value for t in found[0].tiles})

    def _hidden(self, op: Load, form: str) -> str:
        """What the product that a step works on has read as it was issued."""
        assert self.step is not None
        assert self.product is not None
        name = op.result.name
        array = f"read_{self.step.name}_{part_name(name)}"
        self.work.hidden.setdefault(self.product, {})[array] = HiddenRead(
            array=array, load=op, form=form, blocks=self.layout.blocks
        )
        register = lift(2 * self.block + HALF) if form == "row" else const(0)
        self.made.append(ops.VectorRegister(result=name, array=array, register=register))
        return name

    def from_slot(self, op: Load) -> str:
        """An element of a slot's tile or vector."""
        found = self.layout.slot_of(op.result.name)
        assert found is not None
        ring, tile = found
        value = op.result
        row, col = self._in_slot(op, tile)
        iteration = const(0) if self.iteration is None else self.iteration
        self.made.append(
            ops.VectorSlot(
                result=value.name,
                ring=ring.name,
                part=part_name(value.name),
                iteration=iteration,
                row=lift(row),
                col=lift(col),
                dtype=value.dtype,
            )
        )
        return value.name

    def _in_slot(self, op: Load, tile: SlotTile) -> tuple[Expr, Expr]:
        value = op.result
        if not tile.vector:
            if value.vars != (self.rows, self.cols):
                raise refuse("a tile of a slot in another shape than it lies there", value.line)
            row, col = value.dims
            return ROW // row.per, COL // col.per
        col_at: Expr = const(0)
        if tile.cols > 1:
            col_at = ROW if value.vars == (self.rows,) else COL
        if tile.loose:  # its copy begins at whole 16 bytes
            begin = self.numbers.index(op, len(op.at) - 1, self.iteration)
            col_at = col_at + (begin - floor_div(begin, 4) * 4)
        return const(0), col_at

    def _from_memory(self, op: Load) -> str:
        moves = any(a.var == self.body.loop.var for a in op.at)
        if self.product is not None and moves and self._is_number(op):
            return self._hidden(op, "thread")  # memory is far away: read as the product is issued
        return self.from_memory(op)

    def _is_number(self, op: Load) -> bool:
        """Whether a tile needs one element: it has no axes, or all its elements share one."""
        return all(self._in_one_block(d) for d in op.result.dims)

    def _in_one_block(self, dim: Dim) -> bool:
        return dim.per > 1 and dim.per % self.layout.extent(dim.var) == 0

    def from_memory(self, op: Load) -> str:
        """An element of a tensor."""
        at, inside = self.place(op, stores=False)
        self.made.append(
            ops.VectorLoad(
                result=op.result.name,
                tensor=op.tensor,
                at=at,
                predicate=conjunction(inside),
                dtype=self.numbers.kernel.tensor(op.tensor).dtype,
            )
        )
        return op.result.name

    def place(  # noqa: C901 (one line a kind of index)
        self, op: Load | Store, *, stores: bool
    ) -> tuple[tuple[IntExpr, ...], list[IntExpr]]:
        """The element at hand, and the conditions under which it exists."""
        numbers = self.numbers
        at: list[IntExpr] = []
        inside: list[IntExpr] = []
        walked = op.result.vars if isinstance(op, Load) else self._stored_vars(op)
        if isinstance(op, Load) and self._is_number(op):
            walked = ()
        for n, a in enumerate(op.at):
            axis = numbers.kernel.tensor(op.tensor).axes[n]
            length = numbers.length(op.tensor, axis)
            own: IntExpr | None = None
            if self._varies(a):
                assert a.value is not None
                own = Sym(SymKind.VALUE, self.value(a.value))
                inside += [lift(own >= 0), lift(own < length)]
            elif a.var is not None and a.var in (self.rows, self.cols) and a.var in walked:
                own = lift((self.along(a.var) + numbers.later(op, a)) // axis.per)
                limit = numbers.limit(op.tensor, axis, a.var) if stores else length
                if stores and a.var == numbers.loop.var and numbers.loop.until is not None:
                    limit = numbers.end_of(a.var)
                if a.var == numbers.early:
                    inside.append(lift(own >= 0))
                inside.append(lift(own < limit))
            elif a.var is not None and a.var == numbers.loop.var and not stores:
                place = numbers.index(op, n, self.iteration)
                if numbers.layout.extent(a.var) == 1:
                    inside.append(lift(place < length))
                own = least(place, length - 1)
            else:
                own = lift(numbers.index(op, n, self.iteration))
                if a.var is not None and a.var == numbers.loop.var:
                    inside.append(lift(own < length))
            at.append(own)
        inside += numbers.within(op, at)
        if stores and self.rows in walked and not any(a.var == self.rows for a in op.at):
            assert self.rows is not None  # rows that a list picks: those of the tile that exist
            inside.insert(0, lift(self.along(self.rows) < numbers.end_of(self.rows)))
            if self.rows == numbers.early:
                inside.insert(0, lift(self.along(self.rows) >= 0))
        return tuple(at), inside

    def _stored_vars(self, op: Store) -> tuple[str, ...]:
        made = self.body.ops.get(op.value)
        value = self.body.values[op.value]
        if isinstance(made, Reduce) and not value.dims:
            return ()
        return value.vars

    def _varies(self, at: At) -> bool:
        return at.value is not None and bool(self.body.values[at.value].dims)
