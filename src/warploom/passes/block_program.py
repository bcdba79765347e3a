"""Kernels with products that no pipeline takes, as thread programs: all threads of a CTA run one.

Loops inside loops, accumulators that several warpgroups share by rows or columns, products of
whole numbers, computed operands of any type. Threads execute the operations of the tile IR in order
and meet at barriers; operands of products lie in shared memory, values in registers as accumulators
of ``wgmma`` do (``block_plan``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from warploom.dataclass import dataclass
from warploom.ir import threads as ir
from warploom.ir.expr import Op as Int, binary, conjunction, const, element_of, select, size
from warploom.ir.threads import (
    Argument,
    ArgumentKind,
    Assign,
    Convert,
    Declare,
    Decode,
    Encode,
    For,
    If,
    Number,
    Put,
    Reg,
    Scope,
    Shared,
    Statement,
    Term,
    ThreadProgram,
    View,
    Within,
    Write,
)
from warploom.ir.tile import (
    At,
    Broadcast,
    Carried,
    Const,
    Dot,
    DType,
    Fn,
    Indices,
    Load,
    Loop,
    Op,
    Pointwise,
    Position,
    Reduce,
    Scalar,
    Scan,
    Size,
    Store,
    Tensor,
    Tiles,
    Transpose,
    Value,
    Var,
    Walk,
    Whole,
    is_number,
)
from warploom.ir.tile_schedule import CTA, CTAS
from warploom.ir.types import short
from warploom.passes.block_plan import BLOCK_ROWS, K_BYTES, AxisLayout, BlockPlan, OperandTile
from warploom.passes.simt_terms import (
    INTEGERS,
    THREAD,
    E,
    J,
    U,
    constant,
    identity,
    kind_of,
    line_of,
    number,
    pos,
    raw_zero,
    unrolled,
    unsigned,
    zero,
)

Body = list[Statement]
Context = Mapping[str, AxisLayout]
Element = Callable[[Context], Term]
WARP = 32
GROUP_WARPS = 4
QUAD = 4  # threads that share a row of accumulators
MOST_COLUMNS = 256  # of one wgmma
FILL_BYTES = 16  # that a thread moves at once
AT_ONCE = 4  # of them that are loaded before the first is stored
LANE, IN_GROUP, GROUP = Reg("lane"), Reg("warp"), Reg("warpgroup")


def build_block_program(plan: BlockPlan) -> ThreadProgram:
    """The program of every thread."""
    return _Writer(plan).program()


@dataclass
class _Writer:
    """One program; ``lines`` are appended as ops are met."""

    plan: BlockPlan
    arguments: dict[Argument, None] = field(default_factory=dict)
    lines: Body = field(default_factory=list)
    bases: dict[str, Term] = field(default_factory=dict)
    views: dict[DType, View] = field(default_factory=dict)
    temporary: int = 0

    def __post_init__(self) -> None:
        self.kernel = self.plan.kernel
        self.reads_open = self.writes_open = self.tiles_open = True

    # ---- the kernel ----------------------------------------------------------------------------

    def program(self) -> ThreadProgram:
        self.ops(self.kernel.ops)
        body, self.lines = self.lines, []
        count, places = self.tiles()
        tiled = [v.name for v in self.kernel.vars if v.walk in (Walk.TILE, Walk.STEP)]
        return ThreadProgram(
            threads=self.plan.threads,
            lanes=QUAD,
            arguments=tuple(self.arguments),
            body=(
                *self.tiles_of_operands(),
                ir.AwaitKernelBefore(),
                number("lane", THREAD % WARP),
                number("warp", THREAD // WARP % GROUP_WARPS),
                number("warpgroup", THREAD // (WARP * GROUP_WARPS)),
                *(number(name, term) for name, term in self.bases.items()),
                *self.views.values(),
                Declare(name="tiles", dtype=DType.U32, value=count),
                For(
                    counter="tile",
                    first=CTA,
                    end=Reg("tiles"),
                    step=CTAS,
                    unsigned=True,
                    body=(*places, *body),
                ),
            ),
            rereads=True,
            extents=tuple((n, self.plan.extents.get(n, 1)) for n in tiled),
        )

    def tiles_of_operands(self) -> Body:
        """Where operands of products lie; two of one place are never alive at once."""
        return [
            ir.OperandTile(
                name=name_of(tile),
                dtype=self.plan.values[tile.value].dtype,
                rows=tile.rows,
                columns=tile.columns,
                offset=offset,
            )
            for tile, offset in self.plan.placed_tiles()
        ]

    def tiles(self) -> tuple[Term, Body]:
        """How many tiles there are, and where a tile stands on every axis of the grid."""
        grid = self.kernel.grid
        tiled = [n for n in grid.vars if self.kernel.var(n).walk is Walk.TILE]
        grouped = tiled[0] if grid.kind == "groups" else None
        places: Body = []
        total: Term = Number(1, DType.U32)
        rest = Reg("rest")
        for name in reversed(grid.vars):
            var = self.kernel.var(name)
            if grid.kind == "groups" and name == grid.vars[0]:
                continue
            extent = self.plan.extents.get(name, 1)
            count = self.length(var.axis)
            count = count if extent == 1 else (count + (extent - 1)) // extent
            if name == grouped:
                count = count + self.length(self.kernel.var(grid.vars[0]).axis)
                places.append(number(f"at_{name}", Convert(rest % unsigned(count), DType.I32)))
            else:
                own = Convert(rest % unsigned(count), DType.I32) * extent
                places.append(number(f"pos_{name}", own))
            places.append(Assign(name="rest", value=rest // unsigned(count)))
            total = unsigned(count) if isinstance(total, Number) else total * unsigned(count)
        if grouped is not None:
            places += self.group_lines(grid.vars[0], grouped)
        for name in grid.vars:
            var = self.kernel.var(name)
            if not is_number(var):
                last = Reg(f"last_{name}") if name == grouped else self.length(var.axis)
                places.append(self.left_line(var, last))
        places += [
            number(f"left_{v.name}", const(v.extent or 0))
            for v in self.kernel.vars
            if v.walk is Walk.WHOLE
        ]
        tile: Term = Reg("tile")
        if grid.order:
            self.add(ArgumentKind.POINTER, grid.order)
            tile = unsigned(Decode(element_of(grid.order, (tile,)), DType.I32))
        return total, [Declare(name="rest", dtype=DType.U32, value=tile), *places]

    def left_line(self, var: Var, last: Term) -> Statement:
        """How many elements of a tile or step exist."""
        rest = binary(Int.SUB, last, pos(var.name))
        return number(f"left_{var.name}", binary(Int.MIN, self.plan.extents[var.name], rest))

    def group_lines(self, group: str, rows: str) -> Body:
        """The group a tile belongs to: their sizes are known on the device alone."""
        starts = self.kernel.grid.starts[0]
        self.add(ArgumentKind.POINTER, starts)
        extent = self.plan.extents[rows]
        count = self.length(self.kernel.var(group).axis)
        at, more = Reg(f"at_{rows}"), Reg("more")

        def start(n: Term) -> Term:
            return Decode(element_of(starts, (n,)), DType.I32)

        own = pos(group)
        return [
            number(own.name, const(0)),
            For(
                counter=own.name,
                first=None,
                end=count,
                step=const(1),
                body=(
                    number(more.name, (start(own + 1) - start(own) + (extent - 1)) // extent),
                    If(condition=at < more, body=(ir.Break(),)),
                    Assign(name=at.name, value=at - more),
                ),
            ),
            # More tiles were reserved than there are.
            If(condition=own.eq(count), body=(ir.Continue(),)),
            number(f"pos_{rows}", start(own) + at * extent),
            number(f"last_{rows}", start(own + 1)),
        ]

    # ---- barriers ------------------------------------------------------------------------------

    def before_write(self) -> None:
        """Nobody reads shared memory any more."""
        if self.reads_open:
            self.barrier()

    def before_read(self) -> None:
        """What was written to shared memory is there for all."""
        if self.writes_open or self.tiles_open:
            self.barrier()

    def barrier(self) -> None:
        if self.tiles_open:
            self.lines.append(ir.ProxyFence())
        self.lines.append(ir.Barrier())
        self.reads_open = self.writes_open = self.tiles_open = False

    def unknown(self) -> None:
        """At the ends of loops: anything may be under way."""
        self.reads_open = self.writes_open = self.tiles_open = True

    # ---- ops -----------------------------------------------------------------------------------

    def ops(self, ops: Iterable[Op]) -> None:
        for op in ops:
            line, before = short(line_of(op)), len(self.lines)
            self.op(op)
            if line is not None and len(self.lines) > before:
                self.lines.insert(before, ir.Author(line=line))

    def op(self, op: Op) -> None:  # noqa: C901, PLR0912 (one case a kind)
        match op:
            case Const():
                self.scalar(op.result, constant(op))
            case Scalar():
                dtype = next(p.dtype for p in self.kernel.parameters if p.name == op.parameter)
                self.add(ArgumentKind.SCALAR, op.parameter)
                self.scalar(op.result, ir.Scalar(op.parameter, dtype))
            case Size():
                per = self.kernel.tensor(op.tensor).axis(op.axis).per
                self.scalar(op.result, self.blocks(op.axis, per))
            case Position():
                self.scalar(op.result, self.first(op.var))
            case Whole():
                self.scalar(op.result, Reg(f"whole_{op.var}"))
            case Indices() | Transpose():
                pass  # read where they are used
            case Broadcast():
                self.operand_of(op.result.name)
            case Load():
                self.load(op)
            case Pointwise():
                self.compute(op.result, lambda context: self.expression(op, context))
                self.operand_of(op.result.name)
            case Reduce():
                self.reduce(op)
            case Scan():
                self.scan(op)
                self.operand_of(op.result.name)
            case Dot():
                self.dot(op)
                self.operand_of(op.result.name)
            case Store():
                self.store(op)
            case Loop():
                self.loop(op)
            case _:
                raise AssertionError(op)

    def scalar(self, value: Value, term: Term) -> None:
        """A number that all threads know."""
        self.lines.append(
            Declare(name=f"v_{value.name}", dtype=value.dtype, value=term, holds=value.name)
        )

    def layouts(self, value: Value) -> list[Context]:
        """The layouts in which a value is held."""
        if len(value.dims) == 2:
            return [self.plan.pair(value.vars).axes]
        if len(value.dims) == 1:
            return [{value.vars[0]: layout} for layout in self.plan.demands[value.name]]
        return [{}]

    def compute(self, value: Value, term: Element) -> None:
        """Arrays of a value: in its home and converted from there, or anew in each layout."""
        if not value.dims:
            self.scalar(value, term({}))
            return
        own = len(value.dims) == 2 or self.plan.home(value.name) is None
        layouts = self.layouts(value)
        for context in layouts if own else layouts[:1]:
            self.declare(value, context)
            self.each(context, [self.put(value, context, term(context))])
        if not own:
            self.converted(value)

    def converted(self, value: Value) -> None:
        """A vector brought from its home to the other layouts it is read in."""
        if len(value.dims) != 1:
            return
        home, *others = self.plan.demands[value.name]
        var = value.vars[0]
        for layout in others:
            self.declare(value, {var: layout})
            view = self.view(value.dtype)
            self.before_write()
            put = Put(view=view, index=self.local(home), value=self.place(value, {var: home}))
            self.owned({var: home}, [put])
            self.writes_open = True
            self.before_read()
            found: Term = Shared(view, self.local(layout))
            if layout.padded > home.padded:
                found = select(self.local(layout) < home.padded, found, zero(value.dtype))
            self.each({var: layout}, [self.put(value, {var: layout}, found)])
            self.reads_open = True

    def view(self, dtype: DType) -> str:
        """Shared memory that threads exchange numbers of a type through."""
        kind = kind_of(dtype)
        name = f"meet_{kind}"
        count = self.plan.scratch_bytes // max(1, kind.bits // 8)
        self.views.setdefault(kind, View(name=name, dtype=kind, offset=0, count=count))
        return name

    def owned(self, context: Context, lines: Body, asked: Term | None = None) -> None:
        """Statements for every element, by one of the threads that hold it."""
        conditions = [*([] if asked is None else [asked]), *self.owners(context)]
        body = self.repeated(context, lines)
        condition = conjunction(conditions)
        self.lines += body if condition is None else [If(condition=condition, body=tuple(body))]

    # ---- elements ------------------------------------------------------------------------------

    def array(self, value: Value, context: Context) -> str:
        """The name of a value's array in a layout."""
        if len(value.dims) == 1:
            return f"{context[value.vars[0]].tag}_v_{value.name}"
        return f"v_{value.name}"

    def declare(self, value: Value, context: Context, holds: str | None = None) -> None:
        """An array for a value."""
        count = 1
        for v in value.vars:
            count *= context[v].elements
        name = self.array(value, context)
        held = value.name if holds is None else holds
        self.lines.append(
            Declare(name=name, dtype=value.dtype, count=count if value.dims else 0, holds=held)
        )

    def place(self, value: Value, context: Context) -> Reg:
        """The element ``u, e`` of a value's array."""
        name = self.array(value, context)
        if not value.dims:
            return Reg(name)
        if len(value.dims) == 1:
            return Reg(name, U if context[value.vars[0]].rows else E)
        columns = next(c for c in context.values() if not c.rows)
        return Reg(name, U // 2 * (2 * columns.elements) + E // 2 * 4 + U % 2 * 2 + E % 2)

    def put(self, value: Value, context: Context, term: Term) -> Statement:
        """An element of a value's array takes a value."""
        place = self.place(value, context)
        return Assign(name=place.name, index=place.index, value=term)

    def repeated(self, context: Context, lines: Body) -> Body:
        """Statements for every element of a thread: ``u`` counts rows, ``e`` columns."""
        for layout in sorted(context.values(), key=lambda c: c.rows):
            lines = [unrolled("u" if layout.rows else "e", layout.elements, lines)]
        return lines

    def each(self, context: Context, lines: Body) -> None:
        self.lines += self.repeated(context, lines)

    def local(self, layout: AxisLayout) -> Term:
        """The number of the element ``u`` or ``e`` in its tile."""
        if layout.rows:
            name = f"row_{layout.split}"
            self.bases[name] = GROUP % layout.split * BLOCK_ROWS + IN_GROUP * 16 + LANE // QUAD
            return Reg(name) + U // 2 * (BLOCK_ROWS * layout.split) + U % 2 * 8
        name, along = f"col_{layout.padded}_{layout.split}", self.plan.warpgroups // layout.split
        piece = layout.padded // layout.split
        self.bases[name] = GROUP // along * piece + LANE % QUAD * 2
        return Reg(name) + E // 2 * 8 + E % 2

    def owners(self, context: Context) -> list[Term]:
        """What tells one of the threads that hold the same elements."""
        rows = next((c for c in context.values() if c.rows), None)
        columns = next((c for c in context.values() if not c.rows), None)
        if rows and columns:
            return []
        if not context:
            return [THREAD.eq(0)]
        if rows:
            alone = [(GROUP // rows.split).eq(0)] if rows.split < self.plan.warpgroups else []
            return [(LANE % QUAD).eq(0), *alone]
        assert columns is not None
        along = self.plan.warpgroups // columns.split
        alone = [(GROUP % along).eq(0)] if along > 1 else []
        return [(LANE // QUAD).eq(0), IN_GROUP.eq(0), *alone]

    def index(self, var: str, context: Context) -> Term:
        """The number of an element along its axis."""
        return self.first(var) + self.local(context[var]) if var in context else self.first(var)

    def first(self, var: str) -> Term:
        """Where a tile or step begins on its axis."""
        return const(0) if self.kernel.var(var).walk is Walk.WHOLE else pos(var)

    def exists(self, var: str, context: Context) -> Term:
        """Whether the element is there."""
        return self.local(context[var]) < Reg(f"left_{var}")

    def at(self, name: str, context: Context) -> Term:
        """The element of a value as a term of ``u`` and ``e``."""
        op, value = self.plan.made[name], self.plan.values[name]
        match op:
            case Indices():
                return self.index(op.var, context)
            case Broadcast() | Transpose():
                return self.at(op.arg, context)
        return self.place(value, context)

    def expression(self, op: Pointwise, context: Context) -> Term:
        """A function of elements."""
        args = [self.at(a, context) for a in op.args]
        if op.fn is Fn.CAST and op.code is None:
            return Convert(args[0], op.result.dtype)
        return ir.Function(op.fn, tuple(args), op.result.dtype, op.code)

    # ---- products ------------------------------------------------------------------------------

    def dot(self, op: Dot) -> None:
        """``a @ b`` (+ what it adds to) in accumulators."""
        plan, value = self.plan, op.result
        pair, k = plan.pair(value.vars), plan.contracted(op)
        sides = {next(v for v in plan.values[n].vars if v != k): n for n in (op.a, op.b)}
        left, right = (plan.operand(sides[v], k) for v in (pair.row_var, pair.col_var))
        self.declare(value, pair.axes)
        start = identity(Fn.ADD, value.dtype) if op.into is None else self.at(op.into, pair.axes)
        self.each(pair.axes, [self.put(value, pair.axes, start)])
        self.before_read()
        piece = pair.col.padded // pair.col.split
        along = plan.warpgroups // pair.col.split
        acc, step = self.array(value, pair.axes), Reg("k")
        products: Body = []
        for block in range(pair.row.padded // (BLOCK_ROWS * pair.row.split)):
            row = (GROUP % pair.row.split + block * pair.row.split) * BLOCK_ROWS
            for first in range(0, piece, MOST_COLUMNS):
                column = GROUP // along * piece + first
                products.append(
                    ir.Mma(
                        into=acc,
                        index=const(block * piece // 2 + first // 2),
                        columns=min(MOST_COLUMNS, piece - first),
                        a=operand(left, row, step, k),
                        b=operand(right, column, step, k),
                    )
                )
        steps = -(-plan.extents[k] // (K_BYTES // left.size))
        self.lines += [
            ir.MmaFence(registers=(acc,)),
            unrolled("k", steps, products),
            ir.MmaCommit(),
            ir.MmaWait(),
        ]
        self.reads_open = True

    # ---- reductions ----------------------------------------------------------------------------

    def reduce(self, op: Reduce) -> None:
        value, arg = op.result, self.plan.values[op.arg]
        context = dict(self.plan.context(op.arg))
        over = context[op.over]
        left = {v: context[v] for v in value.vars}
        empty = identity(op.fn, value.dtype)
        if value.dims:
            self.declare(value, left)
            self.each(left, [self.put(value, left, empty)])
        else:
            self.scalar(value, empty)
        place = self.place(value, left)
        terms = [self.exists(op.over, context)]
        per = next(d.per for d in arg.dims if d.var == op.over)
        if per > 1:
            first = self.local(over).eq(0)
            terms.append(first | (self.index(op.over, context) % per).eq(0))
        joined = self.put(value, left, ir.Join(op.fn, place, self.at(op.arg, context), value.dtype))
        condition = conjunction(terms)
        assert condition is not None
        self.each(context, [If(condition=condition, body=(joined,))])
        shuffles: Body = []
        for n in (4, 8, 16) if over.rows else (1, 2):
            other = ir.Shuffle(ir.Exchange.XOR, place, const(n))
            shuffles.append(self.put(value, left, ir.Join(op.fn, place, other, value.dtype)))
        self.each(left, shuffles)
        self.meet(op, over, left, place)
        self.converted(value)

    def meet(self, op: Reduce, over: AxisLayout, left: Context, place: Reg) -> None:
        """What warps that share an axis have collected, known to all of them."""
        along = self.plan.warpgroups // over.split
        if over.rows:
            parts: int = GROUP_WARPS * over.split
            mine = GROUP % over.split * GROUP_WARPS + IN_GROUP
            writes = [(LANE // QUAD).eq(0)]
        else:
            parts, mine = over.split, GROUP // along
            writes = [(LANE % QUAD).eq(0)]
        if parts == 1:
            return
        if not left:
            writes = [LANE.eq(0), *([] if over.rows else [IN_GROUP.eq(0)])]
            if along > 1:
                writes.append((GROUP // over.split).eq(0) if over.rows else (GROUP % along).eq(0))
        held = next(iter(left.values())) if left else None
        pitch = held.padded if held else 1
        own: Term = self.local(held) if held else const(0)
        view, dtype = self.view(op.result.dtype), op.result.dtype
        self.before_write()
        body = self.repeated(left, [Put(view=view, index=mine * pitch + own, value=place)])
        condition = conjunction(writes)
        assert condition is not None
        self.lines.append(If(condition=condition, body=tuple(body)))
        self.writes_open = True
        self.before_read()
        total, part = Reg("sum"), Reg("part")
        more = ir.Join(op.fn, total, Shared(view, part * pitch + own), dtype)
        joined: Body = [
            Declare(name="sum", dtype=dtype, value=Shared(view, own)),
            For(
                counter="part",
                first=const(1),
                end=const(parts),
                step=const(1),
                body=(Assign(name="sum", value=more),),
            ),
            self.put(op.result, left, total),
        ]
        # without a loop over elements nothing else gives the lines a scope
        self.each(left, joined if left else [Scope(body=tuple(joined))])
        self.reads_open = True

    def scan(self, op: Scan) -> None:
        """A prefix sum: each line of the tile in shared memory, by one thread."""
        value, context = op.result, self.plan.context(op.arg)
        over = context[op.over]
        across = next((c for v, c in context.items() if v != op.over), None)
        lines, pitch = (across.padded, over.padded + 1) if across else (1, over.padded)
        line = self.local(across) * pitch if across else const(0)
        view = self.view(value.dtype)
        place = line + self.local(over)
        self.before_write()
        self.owned(context, [Put(view=view, index=place, value=self.at(op.arg, context))])
        self.lines.append(ir.Barrier())
        left, i, total = Reg(f"left_{op.over}"), Reg("i"), Reg("sum")
        at = Reg("line") * pitch + ((left - 1) - i if op.reverse else i)
        joined = ir.Join(op.fn, total, Shared(view, at), value.dtype)
        self.lines += [
            For(
                counter="line",
                first=THREAD,
                end=const(lines),
                step=const(self.plan.threads),
                body=(
                    Declare(name="sum", dtype=value.dtype, value=identity(op.fn, value.dtype)),
                    For(
                        counter="i",
                        first=const(0),
                        end=left,
                        step=const(1),
                        body=(
                            Assign(name="sum", value=joined),
                            Put(view=view, index=at, value=total),
                        ),
                    ),
                ),
            ),
            ir.Barrier(),
        ]
        home = self.layouts(value)[0]
        self.declare(value, home)
        self.each(home, [self.put(value, home, Shared(view, place))])
        self.writes_open, self.reads_open = False, True
        self.converted(value)

    # ---- memory --------------------------------------------------------------------------------

    def add(self, kind: ArgumentKind, name: str, axis: int = 0) -> None:
        """A parameter of the kernel."""
        self.arguments.setdefault(Argument(kind=kind, name=name, axis=axis))

    def length(self, axis: str) -> Term:
        """The size of an axis."""
        self.add(ArgumentKind.SIZE, axis)
        return size(axis)

    def blocks(self, axis: str, per: int) -> Term:
        """The size of an axis of blocks."""
        size = self.length(axis)
        return size if per == 1 else (size + (per - 1)) // per

    def number_at(self, tensor: Tensor, n: int, index: At, context: Context) -> Term:
        """An index of an access."""
        if index.value is not None:
            return self.at(index.value, context)
        return self.index(index.var or "", context) // tensor.axes[n].per

    def inside(self, tensor: Tensor, at: Sequence[At], context: Context) -> list[Term]:
        """Conditions that computed indices lie on their axes."""
        result: list[Term] = []
        for n, (index, axis) in enumerate(zip(at, tensor.axes, strict=True)):
            if index.value is None:
                continue
            made = self.plan.made[index.value]
            own = isinstance(made, Position) and self.kernel.var(made.var).axis == axis.name
            if not own or axis.per > 1:
                size = self.blocks(axis.name, axis.per)
                result.append(Within(self.number_at(tensor, n, index, context), size))
        return result

    def places(self, tensor: Tensor, at: Sequence[At], context: Context) -> tuple[Term, ...]:
        """The coordinates of an access."""
        found = []
        for n, index in enumerate(at):
            found.append(self.number_at(tensor, n, index, context))
            self.add(ArgumentKind.STRIDE, tensor.name, n)
        return tuple(found)

    def load(self, op: Load) -> None:
        tensor, value = self.kernel.tensor(op.tensor), op.result
        tiles = self.plan.tiles_of(value.name)
        direct = bool(tiles) and self.plan.is_direct(op)
        for tile in tiles if direct else ():
            self.fill(op, tensor, tile)
        if tiles and direct and value.name not in self.plan.in_registers:
            return

        def element(context: Context) -> Term:
            names = [n for n in self.plan.access_vars(op) if n in context]
            terms = [self.exists(n, context) for n in names] + self.inside(tensor, op.at, context)
            if op.end is not None:
                terms.append(self.index(value.vars[0], context) < Reg(f"v_{op.end}"))
            self.add(ArgumentKind.POINTER, tensor.name)
            raw = element_of(tensor.name, self.places(tensor, op.at, context))
            condition = conjunction(terms)
            found = Decode(raw, tensor.dtype)
            return found if condition is None else select(condition, found, zero(value.dtype))

        self.compute(value, element)
        if not direct:
            self.operand_of(value.name)

    def fill(self, op: Load, tensor: Tensor, tile: OperandTile) -> None:
        """A tile of a tensor to shared memory: 16 bytes at once where it lies so."""
        per = FILL_BYTES // tile.size
        along = op.at[-1].var if op.at[-1].var in (tile.row_var, tile.col_var) else tile.col_var
        assert along is not None
        other = tile.row_var if along == tile.col_var else tile.col_var
        lengths = {tile.row_var: tile.rows, tile.col_var: tile.filled}
        chunks = -(-lengths[along] // per)
        i, o, a = Reg("i"), Reg("o"), Reg("a")
        own: dict[str, Term] = {other: o, along: a}
        axis, at = 0, []
        for n, index in enumerate(op.at):
            if index.var in own:
                at.append(self.first(index.var or "") + own[index.var or ""])
                axis = n if index.var == along else axis
            else:
                at.append(self.number_at(tensor, n, index, {}))
            self.add(ArgumentKind.STRIDE, tensor.name, n)
        there = conjunction([o < Reg(f"left_{other}"), *self.inside(tensor, op.at, {})])
        assert there is not None
        self.add(ArgumentKind.POINTER, tensor.name)
        self.before_write()
        left = Reg(f"left_{along}")
        one = Assign(name="x", index=J, value=ir.Nearby("origin", axis, J))
        alone = unrolled("j", per, [If(condition=a + J < left, body=(one,))])
        moved: Statement = alone
        head: Body = []
        if axis == len(op.at) - 1:
            wide: Term = ir.Aligned(tensor.name, FILL_BYTES)
            if self.kernel.var(along).walk is not Walk.WHOLE:
                wide = wide & (pos(along) % per).eq(0)
            head = [Declare(name="wide", dtype=DType.BOOL, value=wide)]
            fits = Reg("wide") & (a + per <= left)
            taken = ir.FetchNearby(into="x", address="origin", width=per)
            moved = If(condition=fits, body=(taken,), otherwise=(alone,))
        put: Statement = ir.PutChunk(tile=name_of(tile), row=o, column=a, source="x")
        if along != tile.col_var:
            raw = ir.PutTile(tile=name_of(tile), row=a + J, column=o, value=Reg("x", J))
            put = unrolled("j", per, [If(condition=a + J < tile.rows, body=(raw,))])
        body: Body = [
            number("o", i // chunks),
            number("a", i % chunks * per),
            Declare(name="x", dtype=tensor.dtype, count=per, raw=True, value=raw_zero(tensor)),
            ir.Address(name="origin", tensor=tensor.name, at=tuple(at)),
            If(condition=there, body=(moved,)),
            put,
        ]
        loop = For(
            counter="i",
            first=THREAD,
            end=const(lengths[other] * chunks),
            step=const(self.plan.threads),
            body=tuple(body),
            unroll=True,
            times=AT_ONCE,
        )
        self.lines.append(Scope(body=(*head, loop)))
        self.tiles_open = True

    def operand_of(self, name: str) -> None:
        """A computed value written to shared memory where products read it."""
        value = self.plan.values[name]
        for tile in self.plan.tiles_of(name):
            context = self.plan.pair(value.vars).axes
            self.before_write()
            row, column = context[tile.row_var], context[tile.col_var]
            if row.padded < tile.rows or column.padded < tile.filled:
                # What no thread holds is zero.
                self.lines += [ir.ClearTile(tile=name_of(tile)), ir.Barrier()]
            there = [self.exists(v, context) for v in value.vars]
            if row.padded > tile.rows:
                there.append(self.local(row) < tile.rows)
            guards = []
            if column.padded > tile.columns:
                guards.append(self.local(column) < tile.columns)
            if row.padded > tile.rows:
                guards.append(self.local(row) < tile.rows)
            held = conjunction(there)
            assert held is not None
            zero_ = Encode(ir.constant(0, value.dtype), value.dtype)
            element = select(held, Encode(self.at(name, context), value.dtype), zero_)
            put: Statement = ir.PutTile(
                tile=name_of(tile), row=self.local(row), column=self.local(column), value=element
            )
            guard = conjunction(guards)
            self.each(context, [put if guard is None else If(condition=guard, body=(put,))])
            self.tiles_open = True

    def store(self, op: Store) -> None:
        tensor, context = self.kernel.tensor(op.tensor), self.plan.store_context(op)
        names = self.plan.access_vars(op)
        terms = [self.exists(n, context) for n in names] + self.inside(tensor, op.at, context)
        self.add(ArgumentKind.POINTER, op.tensor)
        at = self.places(tensor, op.at, context)
        given, value = self.plan.values[op.value].dtype, self.at(op.value, context)
        if not tensor.dtype.is_float and tensor.dtype is not DType.BOOL:
            value = Convert(value, tensor.dtype) if given is not tensor.dtype else value
        elif given in INTEGERS:
            value = Convert(value, DType.F32)
        if op.add:
            line: Statement = ir.Merge(fn=op.fn, tensor=op.tensor, at=at, value=value)
        else:
            line = Write(tensor=op.tensor, at=at, value=Encode(value, tensor.dtype))
        condition = conjunction(terms)
        if condition is not None:
            line = If(condition=condition, body=(line,))
        self.owned(context, [line], None if op.when is None else Reg(f"v_{op.when}"))

    # ---- loops ---------------------------------------------------------------------------------

    def loop(self, op: Loop) -> None:
        var = self.kernel.var(op.var)
        step = self.plan.extents.get(op.var, var.extent or 1)
        for c in op.carried:
            self.declare(c.result, self.home_of(c.result))
        outer, self.lines = self.lines, []
        for c in op.carried:
            self.declare(c.inside, self.home_of(c.inside))
            self.assign(c.inside, c.first)
        head = self.lines
        axis = self.length(var.axis)
        self.lines = []
        opened = self.listed(op, step, axis) if op.lists else self.walked(op, step, axis)
        self.unknown()
        if not is_number(var):
            self.lines.append(self.left_line(var, Reg(f"last_{op.var}")))
        for c in op.carried:
            self.converted(c.inside)
            self.operand_of(c.inside.name)
        self.ops(op.body)
        self.renew(op.carried)
        if op.stop is not None:
            self.lines.append(If(condition=Reg(f"v_{op.stop}"), body=(ir.Break(),)))
        before, turn, loop = opened
        body, self.lines = (*turn, *self.lines), []
        self.unknown()
        for c in op.carried:
            self.assign(c.result, c.inside.name)
        scope = Scope(body=(*head, *before, replace(loop, body=body), *self.lines))
        self.lines = [*outer, scope]
        for c in op.carried:
            self.converted(c.result)
            self.operand_of(c.result.name)

    def home_of(self, value: Value) -> Context:
        return self.layouts(value)[0]

    def assign(self, value: Value, source: str) -> None:
        context = self.home_of(value)
        self.each(context, [self.put(value, context, self.at(source, context))])

    def walked(self, op: Loop, step: int, axis: Term) -> tuple[Body, Body, For]:
        """What stands before a loop, at the start of a turn, and the loop."""
        first = binary(Int.MAX, const(0), Reg(f"v_{op.start}")) if op.start else const(0)
        last = binary(Int.MIN, axis, Reg(f"v_{op.until}")) if op.until else axis
        end = number(f"last_{op.var}", last)
        counter = pos(op.var).name
        loop = For(counter=counter, first=first, end=Reg(end.name), step=const(step), body=())
        return [end], [], loop

    def listed(self, op: Loop, step: int, axis: Term) -> tuple[Body, Body, For]:
        walked = {self.kernel.var(n).axis: n for n in self.kernel.grid.vars}
        entry = Reg(f"entry_{op.var}")
        before: Body = []
        numbers: list[Term] = []
        for i, tiles in enumerate(op.lists):
            held = self.kernel.tensor(tiles.counts)
            places = [pos(walked[a.name]) // a.per for a in held.axes]
            count = binary(Int.MAX, const(0), self.listed_at(tiles, places, counts=True))
            here: Term = entry
            for j in range(i):
                here = here - Reg(f"count_{op.var}_{j}")
            if op.share is not None:
                part, parts = (Reg(f"v_{name}") for name in op.share)
                each, first = Reg(f"each_{op.var}_{i}"), Reg(f"first_{op.var}_{i}")
                before += [
                    number(each.name, (count + parts - 1) // parts),
                    number(first.name, binary(Int.MUL, part, each)),
                ]
                here = here + first
                rest = binary(Int.MIN, each, binary(Int.SUB, count, first))
                count = binary(Int.MAX, const(0), rest)
            before.append(number(f"count_{op.var}_{i}", count))
            numbers.append(self.listed_at(tiles, [*places, here]))
        chosen = numbers[-1]
        total: Term = Reg(f"count_{op.var}_0")
        for i in reversed(range(len(op.lists) - 1)):
            chosen = select(entry < Reg(f"count_{op.var}_{i}"), numbers[i], chosen)
        for i in range(1, len(op.lists)):
            total = total + Reg(f"count_{op.var}_{i}")
        own = pos(op.var)
        is_whole: Term = Number(False, DType.BOOL)
        if op.lists[0].whole:
            is_whole = entry < Reg(f"count_{op.var}_0")
        turn: Body = [
            number(own.name, chosen * step),
            If(condition=(own < 0) | (own >= axis), body=(ir.Continue(),)),
            number(f"last_{op.var}", binary(Int.MIN, own + step, axis)),
            Declare(name=f"whole_{op.var}", dtype=DType.BOOL, value=is_whole),
        ]
        loop = For(counter=entry.name, first=const(0), end=total, step=const(1), body=())
        return before, turn, loop

    def listed_at(self, tiles: Tiles, at: Sequence[Term], *, counts: bool = False) -> Term:
        """A number of a list, or how many there are."""
        tensor = self.kernel.tensor(tiles.counts if counts else tiles.tensor)
        for n in range(len(at)):
            self.add(ArgumentKind.STRIDE, tensor.name, n)
        self.add(ArgumentKind.POINTER, tensor.name)
        return Decode(element_of(tensor.name, tuple(at)), tensor.dtype)

    def renew(self, carried: Sequence[Carried]) -> None:
        """All carried values at once: one may be another of before."""
        inside = {c.inside.name for c in carried}
        later: list[tuple[Carried, Term]] = []
        for c in carried:
            if self.plan.elements_of(c.last) & inside - {c.inside.name}:
                self.temporary += 1
                held = self.home_of(c.inside)
                value = replace(c.inside, name=f"next_{self.temporary}")
                term = self.at(c.last, held)
                if value.dims:
                    self.declare(value, held, holds="")
                    self.each(held, [self.put(value, held, term)])
                    later.append((c, self.place(value, held)))
                else:
                    name = f"next_{self.temporary}"
                    self.lines.append(Declare(name=name, dtype=value.dtype, value=term))
                    later.append((c, Reg(name)))
        delayed = {c.inside.name for c, _ in later}
        for c in carried:
            if c.inside.name not in delayed and c.last != c.inside.name:
                self.assign(c.inside, c.last)
        for c, term in later:
            context = self.home_of(c.inside)
            self.each(context, [self.put(c.inside, context, term)])


def operand(tile: OperandTile, first: Term, step: Term, k: str) -> ir.Operand:
    """What a product takes of a tile."""
    return ir.Operand(tile=name_of(tile), first=first, step=step, turned=tile.col_var != k)


def name_of(tile: OperandTile) -> str:
    """A tile of a value; some values are read along either of their variables."""
    return f"t_{tile.value}_{tile.col_var}"
