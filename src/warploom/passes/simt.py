"""Kernels without matrix products as thread programs: threads hold elements of a tile in registers.

Row statistics, elementwise work, transposes, reductions along either axis, gathers and scatters.
``simt_layout`` says which thread holds what. Reductions meet by shuffles and through shared memory,
in a fixed order; loads and stores move 16 bytes where addresses allow it, and single elements else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from warploom.dataclass import dataclass
from warploom.ir import threads as ir
from warploom.ir.elementwise import REDUCTIONS
from warploom.ir.expr import Op as Int, binary, conjunction, const, element_of, lift, select, size
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
    Access,
    At,
    Broadcast,
    Carried,
    Const,
    DType,
    Fn,
    Indices,
    Kernel,
    Line,
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
    operands,
    results,
    walk,
)
from warploom.ir.tile_schedule import CTA, CTAS
from warploom.ir.types import short
from warploom.passes.body import refusal
from warploom.passes.simt_layout import (
    VECTOR_BYTES,
    WARP,
    ThreadAxis,
    ThreadLayout,
    count_uses,
    every_value,
    layout_threads,
    partial_sums,
    used_outside,
)
from warploom.passes.simt_runs import Run, run_of

Body = list[Statement]
INTEGERS = (DType.I32, DType.I8, DType.I4)
MOST_SHIFTED = 32  # elements of a thread whose covers are all loaded before the first is shifted
LEAST_SHIFTED = 64  # elements of a row; of shorter ones most vectors touch an end
PAD = 1  # words between the lines of a transposed tile: other banks
WORD = 4

THREAD = ir.TID
LANE, GROUP = Reg("lane"), Reg("group")
U, E, J, K = Reg("u"), Reg("e"), Reg("j"), Reg("k")
MEET = "meet"
# Prefixes of registers: a value's own, its elements as they lie in memory, with what lies around
# them, what comes before those of a running sum, what a loop carries into its next iteration.
VALUE, RAW, COVER, BEFORE, NEXT = "v", "w", "p", "before", "next"


def build_thread_program(
    kernel: Kernel, sizes: Mapping[str, int], pins: Mapping[str, object] | None = None
) -> tuple[ThreadProgram, int]:
    """The program of every thread for a kernel without matrix products, and the bytes of shared
    memory that it needs.
    """
    layout = layout_threads(kernel, sizes, pins)
    writer = _Writer(kernel, layout, dict(sizes))
    return writer.program(), writer.shared_bytes


@dataclass
class _Writer:
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

    # ---- the kernel ----------------------------------------------------------------------------

    def program(self) -> ThreadProgram:
        body = self.scope(self.kernel.ops)
        count, places = self.tiles()
        lanes, threads = self.layout.lanes, self.layout.threads
        tiled = [v.name for v in self.kernel.vars if v.walk in (Walk.TILE, Walk.STEP)]
        extents = {n: self.layout.axes[n].extent for n in tiled if n in self.layout.axes}
        extents |= {n: 1 for n in self.kernel.grid.vars if n in tiled and n not in extents}
        return ThreadProgram(
            threads=threads,
            lanes=lanes,
            arguments=tuple(self.arguments),
            body=(
                ir.AwaitKernelBefore(),
                number("lane", THREAD % lanes),
                number("group", THREAD // lanes),
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
            rereads=self.layout.chunked is not None,
            extents=tuple(extents.items()),
        )

    def tiles(self) -> tuple[Term, Body]:
        """How many tiles there are, and where a tile stands on every axis of the grid."""
        grid, grouped = self.kernel.grid, self.grouped
        places: Body = []
        total: Term = Number(1, DType.U32)
        rest = Reg("rest")
        for name in reversed(grid.vars):
            var = self.kernel.var(name)
            count: Term = self.length(var.axis)
            if grid.kind == "groups" and name == grid.vars[0]:
                continue
            extent = self.extent(var)
            count = count if extent == 1 else (count + (extent - 1)) // extent
            if name == grouped:
                count = count + self.length(self.kernel.var(grid.vars[0]).axis)
                at = f"at_{name}"
                places.append(number(at, Convert(rest % unsigned(count), DType.I32)))
            else:
                own = Convert(rest % unsigned(count), DType.I32) * extent
                places.append(number(f"pos_{name}", own))
            places.append(Assign(name="rest", value=rest // unsigned(count)))
            total = unsigned(count) if isinstance(total, Number) else total * unsigned(count)
        if grouped is not None:
            places += self.group_lines(grid.vars[0], grouped)
        for name in grid.vars:
            places += self.axis_lines(self.kernel.var(name))
        for v in self.kernel.vars:
            if v.walk is Walk.WHOLE and v.name in self.layout.axes:
                places += self.whole_lines(v)
        tile: Term = Reg("tile")
        if grid.order:
            self.add(ArgumentKind.POINTER, grid.order)
            tile = unsigned(Decode(element_of(grid.order, (tile,)), DType.I32))
        return total, [Declare(name="rest", dtype=DType.U32, value=tile), *places]

    def group_lines(self, group: str, rows: str) -> Body:
        """The group a tile belongs to: their sizes are known on the device alone."""
        starts = self.kernel.tensor(self.kernel.grid.starts[0])
        self.add(ArgumentKind.POINTER, starts.name)
        extent = self.extent(self.kernel.var(rows))
        count = self.length(self.kernel.var(group).axis)
        pos, at, more = Reg(f"pos_{group}"), Reg(f"at_{rows}"), Reg("more")

        def start(n: Term) -> Term:
            return Decode(element_of(starts.name, (n,)), DType.I32)

        return [
            number(pos.name, const(0)),
            For(
                counter=pos.name,
                first=None,
                end=count,
                step=const(1),
                body=(
                    number(more.name, (start(pos + 1) - start(pos) + (extent - 1)) // extent),
                    If(condition=at < more, body=(ir.Break(),)),
                    Assign(name=at.name, value=at - more),
                ),
            ),
            # More tiles were reserved than there are.
            If(condition=pos.eq(count), body=(ir.Continue(),)),
            number(f"pos_{rows}", start(pos) + at * extent),
            number(f"last_{rows}", start(pos + 1)),
        ]

    def extent(self, var: Var) -> int:
        axis = self.layout.axes.get(var.name)
        return axis.extent if axis is not None else var.extent or 1

    def axis_lines(self, var: Var) -> Body:
        """The first element of a thread along an axis, and where the axis ends."""
        axis = self.layout.axes.get(var.name)
        if axis is None:
            return []
        grouped = var.name == self.grouped
        last: Term = Reg(f"last_{var.name}") if grouped else self.length(var.axis)
        return [self.end_line(axis, last), self.first_line(axis)]

    def end_line(self, axis: ThreadAxis, last: Term) -> Statement:
        """Where the elements of a tile or step end."""
        share = self.layout.lanes if axis.columns else self.layout.groups
        if axis.extent < share * axis.elements:
            last = binary(Int.MIN, pos(axis.var) + axis.extent, last)
        return number(f"end_{axis.var}", last)

    def first_line(self, axis: ThreadAxis) -> Statement:
        own = LANE * axis.vector if axis.columns else GROUP
        return number(f"own_{axis.var}", pos(axis.var) + own)

    def whole_lines(self, var: Var) -> Body:
        axis = self.layout.axes[var.name]
        end = number(f"end_{var.name}", const(var.extent or 0))
        if axis.chunked:
            return [end]
        return [end, number(f"pos_{var.name}", const(0)), self.first_line(axis)]

    # ---- scopes: ops in order, or in passes over an axis that is too long ---------------------

    def scope(self, ops: Sequence[Op]) -> Body:
        chunked = self.layout.chunked
        self.inlined |= self.single_uses(ops)
        if ops is self.kernel.ops:
            return self.ended_early(self.kernel.ops)
        if chunked is None:
            return [line for op in ops for line in self.lines(op)]
        return self.passes(ops, chunked)

    def ended_early(self, ops: tuple[Op, ...]) -> Body:
        """The ops of a tile; where all it stores hangs on one condition, that is asked first."""
        stores = [op for op in walk(ops) if isinstance(op, Store)]
        asked = {op.when for op in stores}
        first: list[Op] = []
        condition = asked.pop() if len(asked) == 1 else None
        if condition is not None:
            needed = {condition}
            for op in reversed(ops):
                if not isinstance(op, Loop | Store) and op.result.name in needed:
                    needed |= set(operands(op))
                    first.insert(0, op)
            if any(op.result.dims for op in first if not isinstance(op, Loop | Store)):
                first = []  # its own sums are made with the others
        rest = [op for op in ops if op not in first]
        chunked = self.layout.chunked
        made = [line for op in first for line in self.lines(op)]
        if first and condition:
            made.append(If(condition=ir.Not(self.at(condition)), body=(ir.Continue(),)))
        if chunked is None:
            return [*made, *(line for op in rest for line in self.lines(op))]
        return [*made, *self.passes(rest, chunked)]

    def single_uses(self, ops: Iterable[Op]) -> set[str]:
        """Elementwise values that one elementwise op reads: written into its expression."""
        found = set()
        last = {c.last for op in walk(self.kernel.ops) if isinstance(op, Loop) for c in op.carried}
        here = [op for op in ops if not isinstance(op, Loop)]
        defined = {op.result.name: op for op in here if not isinstance(op, Store)}
        for op in here:
            if not isinstance(op, Pointwise | Reduce | Scan | Store):
                continue
            read = (op.value,) if isinstance(op, Store) else operands(op)
            for name in read:
                made = defined.get(name)
                if not isinstance(made, Pointwise) or not made.result.dims:
                    continue
                same = not isinstance(op, Pointwise) or made.result.dims == op.result.dims
                if same and self.uses.get(name) == 1 and name not in last:
                    found.add(name)
        return found

    def is_chunked(self, name: str) -> bool:
        return self.layout.chunked in self.values[name].vars

    def passes(self, ops: Sequence[Op], chunked: str) -> Body:  # noqa: C901 (kinds of op)
        """Flat values once; values along the axis once for every level of reductions."""
        level: dict[str, int] = {}
        flat: list[tuple[int, Op]] = []
        targets: list[tuple[int, Reduce | Store]] = []
        for op in ops:
            names = used_outside(op) if isinstance(op, Loop) else operands(op)
            at = max((level.get(n, 0) for n in names), default=0)
            if isinstance(op, Loop):
                self.refuse_carried(op)
                flat.append((at, op))
                level |= {c.result.name: at for c in op.carried}
            elif isinstance(op, Store):
                along = any(self.is_chunked(n) for n in operands(op)) or any(
                    index.var == chunked for index in op.at
                )
                if along:
                    targets.append((at, op))
                else:
                    flat.append((at, op))
            elif isinstance(op, Reduce) and op.over == chunked:
                targets.append((at, op))
                level[op.result.name] = at + 1
            else:
                level[op.result.name] = at
                if chunked not in op.result.vars:
                    flat.append((at, op))
        last = max([*(n for n, _ in flat), *(n for n, _ in targets)], default=0)
        lines: Body = []
        for number_of_pass in range(last + 1):
            for at, op in flat:
                if at == number_of_pass:
                    lines += self.lines(op)
            now = [op for at, op in targets if at == number_of_pass]
            if now:
                lines += self.one_pass(now, chunked)
        return lines

    def refuse_carried(self, loop: Loop) -> None:
        for c in loop.carried:
            if self.layout.chunked in c.inside.vars:
                var = self.kernel.var(self.layout.chunked or "")
                raise refusal(
                    f"a value over all {var.extent} elements of '{var.axis}' is carried by a loop",
                    loop.line,
                    why="it does not fit in the registers of a CTA",
                    fix=f"walk axis '{var.axis}' by tiles: name it in wl.tile without whole=",
                )

    def one_pass(self, targets: Sequence[Reduce | Store], chunked: str) -> Body:
        axis = self.layout.axes[chunked]
        closure = self.closure([n for op in targets for n in operands(op)])
        sums = [op for op in targets if isinstance(op, Reduce)]
        inside: Body = [self.first_line(axis)]
        for op in closure:
            inside += self.lines(op)
        for op in targets:
            inside += self.local_sum(op) if isinstance(op, Reduce) else self.lines(op)
        before = [line for op in sums for line in self.sum_array(op)]
        before += [line for op in closure if isinstance(op, Scan) for line in self.carry(op)]
        after = [line for op in sums for line in self.meet(op)]
        loop = For(
            counter=f"pos_{chunked}",
            first=const(0),
            end=Reg(f"end_{chunked}"),
            step=const(axis.extent),
            body=tuple(inside),
        )
        return [*before, loop, *after]

    def closure(self, names: Iterable[str]) -> list[Op]:
        """The ops along the chunked axis that values are made of, in their order."""
        found: dict[str, Op] = {}
        todo = [n for n in names if self.is_chunked(n)]
        while todo:
            name = todo.pop()
            if name in found:
                continue
            op = self.made[name]
            found[name] = op
            todo += [n for n in operands(op) if self.is_chunked(n)]
        return [found[n] for n in sorted(found, key=lambda n: self.order[n])]

    # ---- ops -----------------------------------------------------------------------------------

    def lines(self, op: Op) -> Body:
        """The statements of an op, after the line of the author's that it stands in."""
        made = self.own_lines(op)
        line = short(line_of(op))
        return [ir.Author(line=line), *made] if made and line is not None else made

    def own_lines(self, op: Op) -> Body:  # noqa: C901, PLR0911, PLR0912 (one line a kind)
        match op:
            case Const():
                return [self.scalar(op.result, constant(op))]
            case Scalar():
                dtype = next(p.dtype for p in self.kernel.parameters if p.name == op.parameter)
                self.add(ArgumentKind.SCALAR, op.parameter)
                return [self.scalar(op.result, ir.Scalar(op.parameter, dtype))]
            case Size():
                per = self.kernel.tensor(op.tensor).axis(op.axis).per
                return [self.scalar(op.result, self.blocks(op.axis, per))]
            case Position():
                return [self.scalar(op.result, pos(op.var))]
            case Whole():
                return [self.scalar(op.result, Reg(f"whole_{op.var}"))]
            case Indices() | Broadcast() | Transpose():
                return []  # read where they are used
            case Load():
                return self.load(op)
            case Pointwise():
                if op.result.name in self.inlined or self.is_same(op):
                    return []
                return self.each(op.result, self.expression(op))
            case Reduce():
                return [*self.sum_array(op), *self.local_sum(op), *self.meet(op)]
            case Scan():
                carried = () if self.is_chunked(op.result.name) else self.carry(op)
                return [*carried, *self.scan(op)]
            case Store():
                return self.store(op)
            case Loop():
                return self.loop(op)
            case _:
                raise AssertionError(op)

    def scalar(self, value: Value, term: Term) -> Statement:
        return replace(self.array(value), value=term)

    def row_axis(self, names: Iterable[str]) -> ThreadAxis | None:
        axes = (self.layout.axes[n] for n in names if n in self.layout.axes)
        return next((a for a in axes if not a.columns), None)

    def column_axis(self, names: Iterable[str]) -> ThreadAxis | None:
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
        return self.index(var) < Reg(f"end_{var}")

    def expression(self, op: Pointwise) -> Term:
        args = [self.at(a) for a in op.args]
        if op.fn is Fn.CAST and op.code is None:
            return Convert(args[0], op.result.dtype)
        return ir.Function(op.fn, tuple(args), op.result.dtype, op.code)

    # ---- reductions ----------------------------------------------------------------------------

    def sum_array(self, op: Reduce, name: str | None = None) -> Body:
        """What a thread collects in, before its elements."""
        value = renamed(op.result, name)
        return self.each(value, identity(op.fn, value.dtype))

    def local_sum(self, op: Reduce, name: str | None = None) -> Body:
        """The elements of a thread that exist, collected."""
        arg = self.values[op.arg]
        made = renamed(op.result, name)
        how = ir.Join(op.fn, self.place(made), self.at(op.arg), made.dtype)
        condition = self.counts(op, arg)
        line: Statement = self.put(made, how)
        return self.over(arg.vars, [If(condition=condition, body=(line,)) if condition else line])

    def counts(self, op: Reduce, arg: Value) -> Term | None:
        """Which elements of a thread count; None where all do."""
        axis = self.layout.axes[op.over]
        per = next(d.per for d in arg.dims if d.var == op.over)
        terms = [] if self.is_full(axis) else [self.exists(op.over)]
        if per > 1:
            terms.append((self.index(op.over) % per).eq(0))
        return conjunction(terms)

    def is_full(self, axis: ThreadAxis) -> bool:
        """Whether all elements of all threads exist."""
        var = self.kernel.var(axis.var)
        share = self.layout.lanes if axis.columns else self.layout.groups
        return var.walk is Walk.WHOLE and (var.extent or 0) % (share * axis.elements) == 0

    def shared(self, dtype: DType, count: int) -> View:
        """A view of shared memory from its beginning."""
        self.shared_bytes = max(self.shared_bytes, WORD * count)
        return View(name=MEET, dtype=dtype, offset=0, count=count)

    def meet(self, op: Reduce, name: str | None = None) -> Body:
        """What all threads that share the value have collected, known to each of them."""
        axis, made = self.layout.axes[op.over], renamed(op.result, name)
        place = self.place(made)
        lanes, threads = self.layout.lanes, self.layout.threads

        def joined(a: Term, b: Term) -> Term:
            return ir.Join(op.fn, a, b, made.dtype)

        first, end = (1, min(lanes, WARP)) if axis.columns else (lanes, WARP)
        shuffles: Body = []
        while first < end:
            other = ir.Shuffle(ir.Exchange.XOR, place, const(first))
            shuffles.append(self.put(made, joined(place, other)))
            first *= 2
        lines = self.over(made.vars, shuffles) if shuffles else []
        parts = lanes // WARP if axis.columns else threads // max(lanes, WARP)
        if parts <= 1:
            return lines
        # One thread of each set that knows the same writes; rows of partial results are read by
        # all that share the value.
        count, at = self.count(made.vars), Reg("at")
        again: Callable[[Term], Term]
        if axis.columns:
            sets = self.layout.groups
            mine = GROUP * parts
            writes: Term = (LANE % WARP).eq(0)
            address = (mine + LANE // WARP) * count + at
            again = lambda part: (mine + part) * count + at  # noqa: E731
        else:
            sets = min(lanes, threads)
            row = THREAD // max(lanes, WARP)
            writes = THREAD % max(lanes, WARP) < lanes
            address = (row * lanes + LANE) * count + at
            again = lambda part: (part * lanes + LANE) * count + at  # noqa: E731
        view = self.shared(kind_of(made.dtype), sets * parts * count)
        here = number("at", self.flat_index(made))
        total, part = Reg("sum"), Reg("part")
        return [
            *lines,
            Scope(
                body=(
                    view,
                    ir.Barrier(),
                    If(
                        condition=writes,
                        body=tuple(
                            self.over(made.vars, [here, Put(view=MEET, index=address, value=place)])
                        ),
                    ),
                    ir.Barrier(),
                    *self.over(
                        made.vars,
                        [
                            here,
                            Declare(
                                name="sum", dtype=made.dtype, value=Shared(MEET, again(const(0)))
                            ),
                            For(
                                counter="part",
                                first=const(1),
                                end=const(parts),
                                step=const(1),
                                body=(
                                    Assign(
                                        name="sum",
                                        value=joined(total, Shared(MEET, again(part))),
                                    ),
                                ),
                            ),
                            self.put(made, total),
                        ],
                    ),
                )
            ),
        ]

    # ---- running sums --------------------------------------------------------------------------

    def without(self, value: Value, var: str) -> Value:
        """A value of the same kind that does not extend over a variable."""
        return replace(value, dims=tuple(d for d in value.dims if d.var != var))

    def carry(self, op: Scan) -> Body:
        """What comes before a thread's next elements: of the parts of an axis that are done."""
        value = self.without(op.result, op.over)
        return self.each(value, identity(op.fn, value.dtype), BEFORE)

    def scan(self, op: Scan) -> Body:
        """Each thread sums its neighbours, threads exchange what they have, parts follow in order.

        A *part* of the axis is what all threads hold of it at a time: ``vector`` neighbours of
        each along columns, one element of each along rows.
        """
        value, axis = op.result, self.layout.axes[op.over]
        if axis.chunked and op.reverse:
            self.refuse_reverse(op)
        lanes, threads = self.layout.lanes, self.layout.threads
        members = lanes if axis.columns else threads // lanes  # threads that share the axis
        apart = 1 if axis.columns else lanes  # and how far they are from one another
        near = min(members, max(1, WARP // apart))  # those of them in a warp
        me = LANE if axis.columns else GROUP
        order = (near - 1) - me % near if op.reverse else me % near
        kind, empty = value.dtype, identity(op.fn, value.dtype)
        vector = axis.vector if axis.columns else 1
        before = self.place(self.without(value, op.over), BEFORE)
        index = "e" if axis.columns else "u"
        step_, part = Reg("step"), Reg("part") if op.reverse else Reg("step")
        j = (vector - 1) - J if op.reverse else J
        there = None if self.is_full(axis) else self.exists(op.over)
        element = select(there, self.at(op.arg), empty) if there is not None else self.at(op.arg)
        move = ir.Exchange.DOWN if op.reverse else ir.Exchange.UP
        total, running, first, other = Reg("sum"), Reg("whole"), Reg("first"), Reg("other")

        def joined(a: Term, b: Term) -> Term:
            return ir.Join(op.fn, a, b, kind)

        def register(name: str, term: Term) -> Statement:
            return Declare(name=name, dtype=kind, value=term)

        lines: Body = []
        if op.reverse:
            lines.append(number("part", (axis.repeat - 1) - step_))
        lines += [
            register("sum", empty),
            unrolled(
                "j",
                vector,
                [
                    number(index, part * vector + j),
                    register("x", element),
                    Assign(name="sum", value=joined(total, Reg("x"))),
                    self.put(value, total),
                ],
            ),
            register("whole", total),  # of the threads up to this one, in its warp
        ]
        step = 1
        while step < near:
            more = Assign(name="whole", value=joined(other, running))
            shuffled = ir.Shuffle(move, running, const(step * apart))
            asked = If(condition=order >= step, body=(more,))
            lines.append(Scope(body=(register("other", shuffled), asked)))
            step *= 2
        if near > 1:
            lines.append(register("first", ir.Shuffle(move, running, const(apart))))
            start = Assign(name="first", value=empty)
            lines.append(If(condition=order.eq(0), body=(start,)))
        else:
            lines.append(register("first", empty))
        parts = members // near
        if parts > 1:
            lines += self.scan_across(op, parts, near, order, me)
        elif near > 1:
            last = 0 if op.reverse else (near - 1) * apart
            own = THREAD % WARP // (near * apart) * (near * apart) + last
            own = own + THREAD % apart if apart > 1 else own
            lines.append(Assign(name="whole", value=ir.Shuffle(ir.Exchange.LANE, running, own)))
        lines += [
            Assign(name="first", value=joined(before, first)),
            unrolled(
                "j",
                vector,
                [
                    number(index, part * vector + J),
                    self.put(value, joined(first, self.place(value))),
                ],
            ),
            Assign(name=before.name, index=before.index, value=joined(before, running)),
        ]
        # Parts one after the other inside, the elements of the other axis around them.
        lines = [unrolled("step", axis.repeat, lines)]
        other_names = tuple(n for n in value.vars if n != op.over)
        return [self.array(value), *self.over(other_names, lines)]

    def scan_across(self, op: Scan, parts: int, near: int, order: Term, me: Term) -> Body:
        """Warps that share an axis tell one another their sums through shared memory."""
        value, axis = op.result, self.layout.axes[op.over]
        lanes, threads = self.layout.lanes, self.layout.threads
        empty = identity(op.fn, value.dtype)
        # Threads with the same place along the other axis share a line of sums.
        line = GROUP if axis.columns else LANE
        count = threads // lanes if axis.columns else lanes
        view = self.shared(kind_of(value.dtype), parts * count)
        mine = (parts - 1) - me // near if op.reverse else me // near
        running, first, earlier, warp = Reg("whole"), Reg("first"), Reg("earlier"), Reg("warp")

        def joined(a: Term, b: Term) -> Term:
            return ir.Join(op.fn, a, b, value.dtype)

        mine_first = Assign(name="earlier", value=running)
        return [
            Scope(
                body=(
                    view,
                    ir.Barrier(),
                    If(
                        condition=order.eq(near - 1),
                        body=(Put(view=MEET, index=mine * count + line, value=running),),
                    ),
                    ir.Barrier(),
                    Declare(name="earlier", dtype=value.dtype, value=empty),
                    Assign(name="whole", value=empty),
                    For(
                        counter="warp",
                        first=const(0),
                        end=const(parts),
                        step=const(1),
                        body=(
                            If(condition=warp.eq(mine), body=(mine_first,)),
                            Assign(
                                name="whole",
                                value=joined(running, Shared(MEET, warp * count + line)),
                            ),
                        ),
                    ),
                    Assign(name="first", value=joined(earlier, first)),
                )
            )
        ]

    def refuse_reverse(self, op: Scan) -> None:
        var = self.kernel.var(op.over)
        raise refusal(
            f"a running sum from the end of all {var.extent} elements of '{var.axis}'",
            op.result.line,
            why="the axis does not fit in the registers of a CTA and is read from its beginning",
            fix="for sums: x.sum(axis=1) - wl.cumsum(x, axis=1) + x",
        )

    def flat_index(self, value: Value) -> Term:
        row, column = self.row_axis(value.vars), self.column_axis(value.vars)
        if row and column:
            return U * column.elements + E
        return U if row else E if column else const(0)

    # ---- memory --------------------------------------------------------------------------------

    def add(self, kind: ArgumentKind, name: str, axis: int = 0) -> None:
        self.arguments.setdefault(Argument(kind=kind, name=name, axis=axis))

    def length(self, axis: str) -> Term:
        self.add(ArgumentKind.SIZE, axis)
        return size(axis)

    def blocks(self, axis: str, per: int) -> Term:
        size = self.length(axis)
        return size if per == 1 else (size + (per - 1)) // per

    def number_at(self, tensor: Tensor, n: int, index: At) -> Term:
        """An index of an access as a term of ``u`` and ``e``."""
        if index.value is not None:
            return self.at(index.value)
        per = tensor.axes[n].per
        place = self.index(index.var or "")
        return place // per if per > 1 else place

    def inside(self, tensor: Tensor, at: tuple[At, ...]) -> list[Term]:
        """Conditions that computed indices lie on their axes."""
        found: list[Term] = []
        for n, (index, axis) in enumerate(zip(at, tensor.axes, strict=True)):
            if index.value is None:
                continue
            made = self.made.get(index.value)
            own = isinstance(made, Position) and self.kernel.var(made.var).axis == axis.name
            if not own or axis.per > 1:
                size = self.blocks(axis.name, axis.per)
                if tensor.access is Access.STARTS:  # one entry more than groups
                    size = size + 1
                found.append(Within(self.number_at(tensor, n, index), size))
        return found

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

    def strides(self, tensor: Tensor, count: int) -> None:
        """The strides of its first axes are parameters."""
        for n in range(count):
            self.add(ArgumentKind.STRIDE, tensor.name, n)

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
        made: Term = ir.Aligned(tensor.name, min(VECTOR_BYTES, axis.vector * size))
        if not self.starts_at_vectors(axis):
            made = made & (pos(axis.var) % axis.vector).eq(0)
        return made

    def starts_at_vectors(self, axis: ThreadAxis) -> bool:
        """Whether tiles and steps surely begin at multiples of the vector."""
        var = self.kernel.var(axis.var)
        if axis.extent % axis.vector or var.name == self.grouped:
            return False
        loops = [op for op in walk(self.kernel.ops) if isinstance(op, Loop) and op.var == var.name]
        return all(op.start is None for op in loops)

    def load(self, op: Load) -> Body:
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

    def across(self, tensor: Tensor, rank: int, row: ThreadAxis) -> tuple[int, Term]:
        """Neighbours along a tile's rows that one access moves, and where a tensor lies so."""
        vector = VECTOR_BYTES * 8 // max(8, tensor.dtype.bits)
        while row.extent % vector:
            vector //= 2
        if vector == 1:
            return 1, Number(False, DType.BOOL)
        return vector, self.aligned(tensor, rank, replace(row, vector=vector))

    def load_transposed(self, op: Load, tensor: Tensor) -> Body:
        """Through shared memory: read along the tensor's rows, used along the tile's."""
        value = op.result
        row, column, at, there = self.transposed_tile(tensor, op.at)
        vector, wide = self.across(tensor, len(op.at), row)
        threads, pieces = self.layout.threads, row.extent // vector
        view = self.shared(kind_of(value.dtype), column.extent * (row.extent + PAD))
        i, r, c, first, near = Reg("i"), Reg("r"), Reg("c"), Reg("first"), Reg("whole")
        inside = [Reg("wide"), pos(row.var) + first + vector <= Reg(f"end_{row.var}"), *there]
        single = select(all_of(there), element_of(tensor.name, at), raw_zero(tensor))
        return [
            Scope(
                body=(
                    view,
                    Declare(name="wide", dtype=DType.BOOL, value=wide),
                    ir.Barrier(),
                    For(
                        counter="i",
                        first=THREAD,
                        end=const(pieces * column.extent),
                        step=const(threads),
                        body=(
                            number("first", i % pieces * vector),
                            number("c", i // pieces),
                            Declare(name="raw", dtype=tensor.dtype, count=vector, raw=True),
                            number("r", first),
                            Declare(name="whole", dtype=DType.BOOL, value=all_of(inside)),
                            If(
                                condition=near,
                                body=(
                                    ir.Fetch(
                                        into="raw",
                                        index=const(0),
                                        tensor=tensor.name,
                                        at=at,
                                        width=vector,
                                    ),
                                ),
                            ),
                            unrolled(
                                "j",
                                vector,
                                [
                                    Assign(name="r", value=first + J),
                                    If(
                                        condition=ir.Not(near),
                                        body=(Assign(name="raw", index=J, value=single),),
                                    ),
                                    Put(
                                        view=MEET,
                                        index=c * (row.extent + PAD) + r,
                                        value=decoded(tensor, Reg("raw", J)),
                                    ),
                                ],
                            ),
                        ),
                    ),
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

    def store(self, op: Store) -> Body:
        if op.when is None:
            return self.stored_lines(op)
        return [If(condition=self.at(op.when), body=tuple(self.stored_lines(op)))]

    def stored_lines(self, op: Store) -> Body:
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
        threads, pieces = self.layout.threads, row.extent // vector
        kind = DType.F32 if tensor.dtype.is_float else DType.I32
        view = self.shared(kind, column.extent * (row.extent + PAD))
        i, c, first, near = Reg("i"), Reg("c"), Reg("first"), Reg("whole")
        made = Shared(MEET, c * (row.extent + PAD) + first + J)
        inside = [Reg("wide"), pos(row.var) + first + vector <= Reg(f"end_{row.var}"), *there]
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
                    For(
                        counter="i",
                        first=THREAD,
                        end=const(pieces * column.extent),
                        step=const(threads),
                        body=(
                            number("first", i % pieces * vector),
                            number("c", i // pieces),
                            Declare(name="raw", dtype=tensor.dtype, count=vector, raw=True),
                            unrolled(
                                "j",
                                vector,
                                [Assign(name="raw", index=J, value=Encode(made, tensor.dtype))],
                            ),
                            number("r", first),
                            Declare(name="whole", dtype=DType.BOOL, value=all_of(inside)),
                            If(
                                condition=near,
                                body=(
                                    ir.Send(
                                        tensor=tensor.name,
                                        at=at,
                                        source="raw",
                                        index=const(0),
                                        width=vector,
                                    ),
                                ),
                            ),
                            unrolled(
                                "j",
                                vector,
                                [
                                    Assign(name="r", value=first + J),
                                    If(
                                        condition=all_of([ir.Not(near), *there]),
                                        body=(
                                            Write(tensor=tensor.name, at=at, value=Reg("raw", J)),
                                        ),
                                    ),
                                ],
                            ),
                        ),
                    ),
                )
            )
        ]

    # ---- loops ---------------------------------------------------------------------------------

    def loop(self, op: Loop) -> Body:
        var = self.kernel.var(op.var)
        axis = self.layout.axes.get(op.var)
        step = axis.extent if axis is not None else var.extent or 1
        collected = {c.inside.name: partial_sums(op, c, self.uses) for c in op.carried}
        collected = {n: s for n, s in collected.items() if s and self.same_kind(s)}
        before: Body = []
        after: Body = []
        for c in op.carried:
            sums = collected.get(c.inside.name)
            if sums:
                before += self.sum_array(sums[0], c.inside.name)
                after += self.finished(c, sums[0])
            else:
                before += self.carried_lines(c)
        skipped = self.collected_ops(op, collected)
        body = self.scope([o for o in op.body if _name(o) not in skipped])
        for name, sums in collected.items():
            for reduce in sums:
                body += self.local_sum(reduce, name)
        body += self.renewed([c for c in op.carried if c.inside.name not in collected])
        stopped = f"stopped_{op.var}"
        if op.stop is not None:
            no = Number(False, DType.BOOL)
            before.append(Declare(name=stopped, dtype=DType.BOOL, value=no))
            yes = Assign(name=stopped, value=Number(True, DType.BOOL))
            body.append(If(condition=Reg(f"v_{op.stop}"), body=(yes, ir.Break())))
        places = self.step_lines(op, axis)
        if op.lists:
            walked = self.listed(op, step, [*places, *body])
        else:
            zero_ = const(0)
            first = binary(Int.MAX, zero_, Reg(f"v_{op.start}")) if op.start else zero_
            end = self.length(var.axis)
            end = binary(Int.MIN, end, Reg(f"v_{op.until}")) if op.until else end
            walked = [
                number(f"last_{op.var}", end),
                For(
                    counter=f"pos_{op.var}",
                    first=first,
                    end=Reg(f"last_{op.var}"),
                    step=const(step),
                    body=(*places, *body),
                ),
            ]
        ends = [line for c in op.carried if c.inside.name not in collected
                for line in self.result_lines(c)]  # fmt: skip
        results_ = [self.array(c.result) for c in op.carried]
        return [*results_, Scope(body=(*before, *walked, *after, *ends))]

    def same_kind(self, sums: tuple[Reduce, ...]) -> bool:
        """Whether all of them are shared by the same threads, and made in this scope."""
        kinds = {self.layout.axes[s.over].columns for s in sums}
        chunked = self.layout.chunked
        return len(kinds) == 1 and not any(
            s.over == chunked or self.is_chunked(s.arg) for s in sums
        )

    def collected_ops(self, op: Loop, collected: Mapping[str, tuple[Reduce, ...]]) -> set[str]:
        """Ops that only combine what threads collect: the reductions, and their sums."""
        found = {s.result.name for sums in collected.values() for s in sums}
        for c in op.carried:
            at = c.last
            while c.inside.name in collected and at != c.inside.name:
                found.add(at)
                made = self.made[at]
                assert isinstance(made, Pointwise)
                at = next(a for a in made.args if a not in found)
        return found

    def carried_lines(self, c: Carried) -> Body:
        first = self.at(c.first)
        if not c.inside.dims:
            return [replace(self.array(c.inside), value=first)]
        return [self.array(c.inside), *self.over(c.inside.vars, [self.put(c.inside, first)])]

    def renewed(self, carried: Sequence[Carried]) -> Body:
        """All carried values at once: one may be made of another."""
        copies: Body = []
        lines: Body = []
        renewed = {c.inside.name for c in carried}
        for c in carried:
            made_of_others = bool(self.reads(c.last) & (renewed - {c.inside.name}))
            if made_of_others:
                copies += self.each(c.inside, self.at(c.last), NEXT)
                term: Term = self.place(c.inside, NEXT)
            else:
                term = self.at(c.last)
            lines += self.over(c.inside.vars, [self.put(c.inside, term)])
        return [*copies, *lines]

    def reads(self, name: str) -> set[str]:
        """The arrays that the expression of a value reads."""
        op = self.made.get(name)
        if isinstance(op, Broadcast | Transpose):
            return self.reads(op.arg)
        if isinstance(op, Pointwise) and self.is_same(op):
            return self.reads(op.args[0])
        if isinstance(op, Pointwise) and name in self.inlined:
            return set().union(*(self.reads(a) for a in op.args))
        return {name}

    def result_lines(self, c: Carried) -> Body:
        return self.over(c.result.vars, [self.put(c.result, self.place(c.inside))])

    def finished(self, c: Carried, reduce: Reduce) -> Body:
        """After the loop: threads meet, and what the value began with is added."""
        how = ir.Join(reduce.fn, self.at(c.first), self.place(c.inside), c.inside.dtype)
        return [
            *self.meet(reduce, c.inside.name),
            *self.over(c.result.vars, [self.put(c.result, how)]),
        ]

    def step_lines(self, op: Loop, axis: ThreadAxis | None) -> Body:
        if axis is None:
            return []
        return [self.end_line(axis, Reg(f"last_{op.var}")), self.first_line(axis)]

    def listed(self, op: Loop, step: int, body: Body) -> Body:
        """The tiles of one list after the other."""
        return [line for tiles in op.lists for line in self.one_list(op, tiles, step, body)]

    def one_list(self, op: Loop, tiles: Tiles, step: int, body: Body) -> Body:
        counts, numbers = self.kernel.tensor(tiles.counts), self.kernel.tensor(tiles.tensor)
        walked = {self.kernel.var(n).axis: n for n in self.kernel.grid.vars}
        places = [pos(walked[a.name]) // a.per for a in counts.axes]

        def element(tensor: Tensor, *more: Term) -> Term:
            at = (*places, *more)
            self.strides(tensor, len(at))
            self.add(ArgumentKind.POINTER, tensor.name)
            return Decode(element_of(tensor.name, at), tensor.dtype)

        axis = self.length(self.kernel.var(op.var).axis)
        entry, here = Reg(f"entry_{op.var}"), pos(op.var)
        end = number(f"last_{op.var}", binary(Int.MIN, here + step, axis))
        first: Term = const(0)
        last = element(counts)
        if op.share is not None:
            part, parts = (Reg(f"v_{name}") for name in op.share)
            each = (binary(Int.MAX, const(0), last) + parts - 1) // parts
            first = binary(Int.MUL, part, each)
            last = binary(Int.MIN, last, (part + 1) * each)
        outside = (here < 0) | (here >= axis)
        running = ir.Not(Reg(f"stopped_{op.var}")) if op.stop is not None else None
        return [
            For(
                counter=entry.name,
                first=first,
                end=last,
                step=const(1),
                running=running,
                body=(
                    number(here.name, element(numbers, entry) * step),
                    If(condition=outside, body=(ir.Continue(),)),
                    Declare(
                        name=f"whole_{op.var}",
                        dtype=DType.BOOL,
                        value=Number(tiles.whole, DType.BOOL),
                    ),
                    end,
                    *body,
                ),
            )
        ]


def _name(op: Op) -> str | None:
    found = results(op)
    return found[0].name if len(found) == 1 and not isinstance(op, Loop) else None


def pos(var: str) -> Reg:
    """Where a variable stands."""
    return Reg(f"pos_{var}")


def number(name: str, term: Term | int) -> Declare:
    """A whole number by a name."""
    return Declare(name=name, dtype=DType.I32, value=lift(term))


def unsigned(term: Term) -> Term:
    """A whole number without a sign."""
    return Convert(term, DType.U32)


def unrolled(index: str, count: int, lines: Body) -> Statement:
    """Statements for every number below a count, written out one after the other."""
    return For(
        counter=index,
        first=const(0),
        end=const(count),
        step=const(1),
        body=tuple(lines),
        unroll=True,
    )


def all_of(terms: Sequence[Term]) -> Term:
    """All of some conditions."""
    made = conjunction(terms)
    assert made is not None
    return made


def renamed(value: Value, name: str | None) -> Value:
    """A value under another name."""
    return Value(name=name or value.name, dims=value.dims, dtype=value.dtype)


def identity(fn: Fn, dtype: DType) -> Term:
    """What joins without effect."""
    row = REDUCTIONS[fn]
    if dtype in INTEGERS:
        return const(row.identity_int)
    return Number(row.identity, DType.F32)


def kind_of(dtype: DType) -> DType:
    """How a number is held in a word."""
    return DType.I32 if dtype in INTEGERS else DType.BOOL if dtype is DType.BOOL else DType.F32


def constant(op: Const) -> Term:
    """A number of the source; whole ones wrap at 32 bits."""
    dtype = op.result.dtype
    value = (int(op.value) + 2**31) % 2**32 - 2**31 if dtype is DType.I32 else op.value
    return ir.constant(value, dtype)


def zero(dtype: DType) -> Term:
    """What an element outside of its tensor reads as."""
    kind = kind_of(dtype)
    return Number(False, kind) if kind is DType.BOOL else ir.constant(0, kind)


def raw_zero(tensor: Tensor) -> Term:
    """The same as it lies in memory."""
    return Encode(ir.constant(0, tensor.dtype), tensor.dtype)


def decoded(tensor: Tensor, raw: Term) -> Term:
    """An element of memory as a number."""
    return Decode(raw, tensor.dtype)


def line_of(op: Op) -> Line | None:
    """The author's line of an op."""
    return op.line if isinstance(op, Loop | Store) else op.result.line
