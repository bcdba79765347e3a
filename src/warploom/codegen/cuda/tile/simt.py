"""Kernels without matrix products as CUDA source: threads hold elements of a tile in registers.

Row statistics, elementwise work, transposes, reductions along either axis, gathers and scatters.
``simt_layout`` says which thread holds what. Reductions meet by shuffles and through shared memory,
in a fixed order; loads and stores move 16 bytes where addresses allow it, and single elements else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from warploom.codegen.cuda import ptx
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.expressions import (
    COMBINE,
    IDENTITY,
    number,
    pointwise,
    wrapped,
)
from warploom.codegen.cuda.tile.helpers import helpers_for
from warploom.codegen.cuda.tile.inline import definitions, name_of
from warploom.codegen.cuda.tile.signature import (
    C_TYPES,
    Param,
    PointerParam,
    ScalarParam,
    SizeParam,
    StrideParam,
)
from warploom.codegen.cuda.tile.simt_layout import (
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
from warploom.codegen.cuda.tile.simt_runs import Run, run_of
from warploom.codegen.cuda.tile.source import ENTRY, Source
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
from warploom.passes.body import refusal

WRAPPED = (Fn.ADD, Fn.SUB, Fn.MUL, Fn.NEG)
INTEGERS = (DType.I32, DType.I8, DType.I4)
MOST_SHIFTED = 32  # elements of a thread whose covers are all loaded before the first is shifted
LEAST_SHIFTED = 64  # elements of a row; of shorter ones most vectors touch an end
PAD = 1  # words between the lines of a transposed tile: other banks


def emit_simt(
    kernel: Kernel, sizes: Mapping[str, int], pins: Mapping[str, object] | None = None
) -> tuple[Source, dict[str, int]]:
    """The CUDA source of a kernel without matrix products, and the extents of its tiles."""
    layout = layout_threads(kernel, sizes, pins)
    writer = _Writer(kernel, layout, dict(sizes))
    tiled = [v.name for v in kernel.vars if v.walk in (Walk.TILE, Walk.STEP)]
    extents = {n: layout.axes[n].extent for n in tiled if n in layout.axes}
    rest = {n: 1 for n in kernel.grid.vars if n in tiled and n not in extents}
    return writer.source(), extents | rest


@dataclass
class _Writer:
    kernel: Kernel
    layout: ThreadLayout
    sizes: dict[str, int]
    params: dict[str, Param] = field(default_factory=dict)
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
        self.partial: dict[str, tuple[str, ...]] = {}  # carried values collected by each thread
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

    def source(self) -> Source:
        body = self.scope(self.kernel.ops)
        walk_lines, places = self.tiles()
        lanes, threads = self.layout.lanes, self.layout.threads
        where = [
            f"  const int lane = threadIdx.x % {lanes}, group = threadIdx.x / {lanes};"
            "  // threads of a row, and rows of threads"
        ]
        line = self.kernel.line
        text = "\n".join(
            [
                f"// Kernel {self.kernel.name}, {line or 'a tile kernel'}: {threads} threads,"
                f" {lanes} to a row.",
                f'extern "C" __global__ void __launch_bounds__({threads}) {ENTRY}(',
                "    " + ",\n    ".join(p.text for p in self.params.values()) + ") {",
                *(["  extern __shared__ uint8_t dynamic_smem[];"] if self.shared_bytes else []),
                "  await_kernel_before();",
                *where,
                *indent(walk_lines, 2),
                *indent([*places, *body], 4),
                "  }",
                "}",
            ]
        )
        written_in = definitions(self.kernel.ops)
        parts = [ptx.TYPES, helpers_for(text), *([written_in] if written_in else []), text + "\n"]
        return Source(
            text="\n".join(parts),
            entry=ENTRY,
            params=tuple(self.params.values()),
            threads=threads,
            shared_bytes=self.shared_bytes,
            any_alignment=True,
            passes=self.layout.chunked is not None,
        )

    def tiles(self) -> tuple[list[str], list[str]]:
        """The walk over tiles, and where a tile stands on every axis of the grid."""
        grid, grouped = self.kernel.grid, self.grouped
        factors, places = [], []
        for name in reversed(grid.vars):
            var = self.kernel.var(name)
            size = self.length(var.axis)
            if grid.kind == "groups" and name == grid.vars[0]:
                continue
            extent = self.extent(var)
            count = size if extent == 1 else f"({size} + {extent - 1}) / {extent}"
            if name == grouped:
                count = f"({count} + {self.length(self.kernel.var(grid.vars[0]).axis)})"
                places.append(f"int at_{name} = (int)(rest % (unsigned){count});")
            else:
                scaled = f" * {extent}" if extent != 1 else ""
                places.append(f"const int pos_{name} = (int)(rest % (unsigned)({count})){scaled};")
            places.append(f"rest /= (unsigned)({count});")
            factors.append(f"(unsigned)({count})")
        if grouped is not None:
            places += self.group_lines(grid.vars[0], grouped)
        places += [line for name in grid.vars for line in self.axis_lines(self.kernel.var(name))]
        places += [
            line
            for v in self.kernel.vars
            if v.walk is Walk.WHOLE and v.name in self.layout.axes
            for line in self.whole_lines(v)
        ]
        first = "unsigned rest = tile;"
        if grid.order:
            first = f"unsigned rest = (unsigned){self.pointer(grid.order)}[tile];"
        walk_lines = [
            f"const unsigned tiles = {' * '.join(factors)};",
            "for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {",
        ]
        return walk_lines, [first, *places]

    def group_lines(self, group: str, rows: str) -> list[str]:
        """The group a tile belongs to: their sizes are known on the device alone."""
        starts = self.pointer(self.kernel.grid.starts[0])
        extent = self.extent(self.kernel.var(rows))
        count = self.length(self.kernel.var(group).axis)
        return [
            f"int pos_{group} = 0;",
            f"for (; pos_{group} < {count}; ++pos_{group}) {{",
            f"  const int more = ({starts}[pos_{group} + 1] - {starts}[pos_{group}]"
            f" + {extent - 1}) / {extent};",
            f"  if (at_{rows} < more) break;",
            f"  at_{rows} -= more;",
            "}",
            f"if (pos_{group} == {count}) continue;  // more tiles were reserved than there are",
            f"const int pos_{rows} = {starts}[pos_{group}] + at_{rows} * {extent};",
            f"const int last_{rows} = {starts}[pos_{group} + 1];",
        ]

    def extent(self, var: Var) -> int:
        axis = self.layout.axes.get(var.name)
        return axis.extent if axis is not None else var.extent or 1

    def axis_lines(self, var: Var) -> list[str]:
        """The first element of a thread along an axis, and where the axis ends."""
        axis = self.layout.axes.get(var.name)
        if axis is None:
            return []
        grouped = var.name == self.grouped
        last = f"last_{var.name}" if grouped else self.length(var.axis)
        return [self.end_line(axis, last), self.first_line(axis)]

    def end_line(self, axis: ThreadAxis, last: str) -> str:
        """Where the elements of a tile or step end."""
        share = self.layout.lanes if axis.columns else self.layout.groups
        if axis.extent < share * axis.elements:
            last = f"min(pos_{axis.var} + {axis.extent}, {last})"
        return f"const int end_{axis.var} = {last};"

    def first_line(self, axis: ThreadAxis) -> str:
        own = f"lane * {axis.vector}" if axis.columns else "group"
        return f"const int own_{axis.var} = pos_{axis.var} + {own};"

    def whole_lines(self, var: Var) -> list[str]:
        axis = self.layout.axes[var.name]
        end = f"constexpr int end_{var.name} = {var.extent};"
        if axis.chunked:
            return [end]
        return [end, f"constexpr int pos_{var.name} = 0;", self.first_line(axis)]

    # ---- scopes: ops in order, or in passes over an axis that is too long ---------------------

    def scope(self, ops: Sequence[Op]) -> list[str]:
        chunked = self.layout.chunked
        self.inlined |= self.single_uses(ops)
        if ops is self.kernel.ops:
            return self.ended_early(self.kernel.ops)
        if chunked is None:
            return [line for op in ops for line in self.lines(op)]
        return self.passes(ops, chunked)

    def ended_early(self, ops: tuple[Op, ...]) -> list[str]:
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
        made += [f"if (!{self.at(condition)}) continue;"] if first and condition else []
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

    def passes(self, ops: Sequence[Op], chunked: str) -> list[str]:  # noqa: C901 (kinds of op)
        """Flat values once; values along the axis once for every level of reductions."""
        level: dict[str, int] = {}
        flat: list[tuple[int, Op]] = []
        targets: list[tuple[int, Reduce | Store]] = []
        for op in ops:
            names = used_outside(op) if isinstance(op, Loop) else operands(op)
            at = max((self.level_of(n, level) for n in names), default=0)
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
        lines: list[str] = []
        for number_of_pass in range(last + 1):
            for at, op in flat:
                if at == number_of_pass:
                    lines += self.lines(op)
            now = [op for at, op in targets if at == number_of_pass]
            if now:
                lines += self.one_pass(now, chunked)
        return lines

    def level_of(self, name: str, level: Mapping[str, int]) -> int:
        """Values of outer scopes are there; those along the axis as soon as what they are of."""
        return level.get(name, 0)

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

    def one_pass(self, targets: Sequence[Reduce | Store], chunked: str) -> list[str]:
        axis = self.layout.axes[chunked]
        closure = self.closure([n for op in targets for n in operands(op)])
        sums = [op for op in targets if isinstance(op, Reduce)]
        inside: list[str] = [self.first_line(axis)]
        for op in closure:
            inside += self.lines(op)
        for op in targets:
            inside += self.local_sum(op) if isinstance(op, Reduce) else self.lines(op)
        before = [line for op in sums for line in self.sum_array(op)]
        before += [line for op in closure if isinstance(op, Scan) for line in self.carry(op)]
        after = [line for op in sums for line in self.meet(op)]
        return [
            *before,
            f"for (int pos_{chunked} = 0; pos_{chunked} < end_{chunked};"
            f" pos_{chunked} += {axis.extent}) {{",
            *indent(inside, 2),
            "}",
            *after,
        ]

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

    def lines(self, op: Op) -> list[str]:  # noqa: C901, PLR0911, PLR0912 (one line a kind)
        match op:
            case Const():
                return [self.scalar(op.result, number(op.value, op.result.dtype))]
            case Scalar():
                dtype = next(p.dtype for p in self.kernel.parameters if p.name == op.parameter)
                given = ScalarParam(name=f"arg_{op.parameter}", parameter=op.parameter, dtype=dtype)
                return [self.scalar(op.result, self.add(given))]
            case Size():
                per = self.kernel.tensor(op.tensor).axis(op.axis).per
                return [self.scalar(op.result, self.blocks(op.axis, per))]
            case Position():
                return [self.scalar(op.result, f"pos_{op.var}")]
            case Whole():
                return [self.scalar(op.result, f"whole_{op.var}")]
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

    def scalar(self, value: Value, text: str) -> str:
        return f"const {scalar_type(value.dtype)} v_{value.name} = {text};"

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

    def over(self, names: Iterable[str], lines: list[str]) -> list[str]:
        """Lines for every element of a thread: ``u`` counts rows, ``e`` columns."""
        names = tuple(names)
        row, column = self.row_axis(names), self.column_axis(names)
        if column is not None:
            lines = self.unrolled("e", column.elements, lines)
        if row is not None:
            lines = self.unrolled("u", row.elements, lines)
        return lines

    def unrolled(self, index: str, count: int, lines: list[str]) -> list[str]:
        head = f"for (int {index} = 0; {index} < {count}; ++{index}) {{"
        return ["#pragma unroll", head, *indent(lines, 2), "}"]

    def each(self, value: Value, text: str) -> list[str]:
        if not value.dims:
            return [self.scalar(value, text)]
        place = self.place(value)
        return [
            f"{scalar_type(value.dtype)} v_{value.name}[{self.count(value.vars)}];",
            *self.over(value.vars, [f"{place} = {text};"]),
        ]

    def place(self, value: Value, prefix: str = "v") -> str:
        """An element of a value's array."""
        row, column = self.row_axis(value.vars), self.column_axis(value.vars)
        if row is None and column is None:
            return f"{prefix}_{value.name}"
        if row is None:
            return f"{prefix}_{value.name}[e]"
        if column is None:
            return f"{prefix}_{value.name}[u]"
        return f"{prefix}_{value.name}[u * {column.elements} + e]"

    def at(self, name: str) -> str:
        """The element ``u, e`` of a value as an expression."""
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

    def index(self, var: str) -> str:
        """The number of the element ``u`` or ``e`` along a variable."""
        axis = self.layout.axes.get(var)
        if axis is None:
            return f"pos_{var}"
        if not axis.columns:
            return f"(own_{var} + {self.layout.groups} * u)" if axis.repeat > 1 else f"own_{var}"
        step = self.layout.lanes * axis.vector
        if axis.repeat == 1:
            return f"(own_{var} + e)" if axis.vector > 1 else f"own_{var}"
        return f"(own_{var} + e / {axis.vector} * {step} + e % {axis.vector})"

    def exists(self, var: str) -> str:
        return f"{self.index(var)} < end_{var}"

    def expression(self, op: Pointwise) -> str:
        args = [self.at(a) for a in op.args]
        types = [self.values[a].dtype for a in op.args]
        whole = op.result.dtype is DType.I32
        if op.code is not None:
            return f"{name_of(op.code, op.result.line)}({', '.join(args)})"
        if op.fn is Fn.CAST:
            return convert(args[0], op.result.dtype, types[0])
        if whole and op.fn in WRAPPED:
            return wrapped(op.fn, args)
        if op.fn is Fn.DIV:
            return f"({args[0]} / {args[1]})"
        if op.fn in (Fn.MIN, Fn.MAX, Fn.ABS):
            types = [DType.I32 if t in INTEGERS else t for t in types]
        return pointwise(op.fn, args, op.result.dtype, types)

    # ---- reductions ----------------------------------------------------------------------------

    def sum_array(self, op: Reduce, name: str | None = None) -> list[str]:
        """What a thread collects in, before its elements."""
        value = op.result
        label = name or value.name
        kind, empty = scalar_type(value.dtype), IDENTITY[op.fn, value.dtype in INTEGERS]
        if not value.dims:
            return [f"{kind} v_{label} = {empty};"]
        made = Value(name=label, dims=value.dims, dtype=value.dtype)
        return [
            f"{kind} v_{label}[{self.count(value.vars)}];",
            *self.over(value.vars, [f"{self.place(made)} = {empty};"]),
        ]

    def local_sum(self, op: Reduce, name: str | None = None) -> list[str]:
        """The elements of a thread that exist, collected."""
        value, arg = op.result, self.values[op.arg]
        made = Value(name=name or value.name, dims=value.dims, dtype=value.dtype)
        place = self.place(made)
        how = COMBINE[op.fn, value.dtype in INTEGERS].format(place, self.at(op.arg))
        condition = self.counts(op, arg)
        line = f"if ({condition}) {place} = {how};" if condition else f"{place} = {how};"
        return self.over(arg.vars, [line])

    def counts(self, op: Reduce, arg: Value) -> str:
        """Which elements of a thread count; '' where all do."""
        axis = self.layout.axes[op.over]
        per = next(d.per for d in arg.dims if d.var == op.over)
        terms = [] if self.is_full(axis) else [self.exists(op.over)]
        if per > 1:
            terms.append(f"{self.index(op.over)} % {per} == 0")
        return " && ".join(terms)

    def is_full(self, axis: ThreadAxis) -> bool:
        """Whether all elements of all threads exist."""
        var = self.kernel.var(axis.var)
        share = self.layout.lanes if axis.columns else self.layout.groups
        return var.walk is Walk.WHOLE and (var.extent or 0) % (share * axis.elements) == 0

    def meet(self, op: Reduce, name: str | None = None) -> list[str]:
        """What all threads that share the value have collected, known to each of them."""
        value, axis = op.result, self.layout.axes[op.over]
        made = Value(name=name or value.name, dims=value.dims, dtype=value.dtype)
        whole = value.dtype in INTEGERS
        how, place = COMBINE[op.fn, whole], self.place(made)
        lanes, threads = self.layout.lanes, self.layout.threads
        first, end = (1, min(lanes, WARP)) if axis.columns else (lanes, WARP)
        shuffles = []
        while first < end:
            other = f"__shfl_xor_sync(~0u, {place}, {first})"
            shuffles.append(f"{place} = {how.format(place, other)};")
            first *= 2
        lines = self.over(value.vars, shuffles) if shuffles else []
        parts = lanes // WARP if axis.columns else threads // max(lanes, WARP)
        if parts <= 1:
            return lines
        # One thread of each set that knows the same writes; rows of partial results are read by
        # all that share the value.
        count, kind = self.count(value.vars), scalar_type(value.dtype)
        if axis.columns:
            sets = self.layout.groups
            mine, slot = f"group * {parts}", f"group * {parts} + lane / {WARP}"
            writes = f"lane % {WARP} == 0"
            address = f"({slot}) * {count} + at"
            again = {p: f"({mine} + {p}) * {count} + at" for p in ("0", "part")}
        else:
            sets = min(lanes, threads)
            row = f"threadIdx.x / {max(lanes, WARP)}"
            writes = f"threadIdx.x % {max(lanes, WARP)} < {lanes}"
            address = f"({row} * {lanes} + lane) * {count} + at"
            again = {p: f"({p} * {lanes} + lane) * {count} + at" for p in ("0", "part")}
        self.shared_bytes = max(self.shared_bytes, 4 * sets * parts * count)
        at = "const int at = " + self.flat_index(value) + ";"
        further = how.format("sum", f"meet[{again['part']}]")
        return [
            *lines,
            "{",
            f"  {kind}* const meet = ({kind}*)dynamic_smem;",
            "  __syncthreads();",
            f"  if ({writes}) {{",
            *indent(self.over(value.vars, [at, f"meet[{address}] = {place};"]), 4),
            "  }",
            "  __syncthreads();",
            *indent(
                self.over(
                    value.vars,
                    [
                        at,
                        f"{kind} sum = meet[{again['0']}];",
                        f"for (int part = 1; part < {parts}; ++part)",
                        f"  sum = {further};",
                        f"{place} = sum;",
                    ],
                ),
                2,
            ),
            "}",
        ]

    # ---- running sums --------------------------------------------------------------------------

    def without(self, value: Value, var: str, name: str) -> Value:
        """A value of the same kind that does not extend over a variable."""
        dims = tuple(d for d in value.dims if d.var != var)
        return Value(name=name, dims=dims, dtype=value.dtype)

    def carry(self, op: Scan) -> list[str]:
        """What comes before a thread's next elements: of the parts of an axis that are done."""
        value = self.without(op.result, op.over, f"before_{op.result.name}")
        empty = IDENTITY[op.fn, value.dtype in INTEGERS]
        if not value.dims:
            return [f"{scalar_type(value.dtype)} v_{value.name} = {empty};"]
        return [
            f"{scalar_type(value.dtype)} v_{value.name}[{self.count(value.vars)}];",
            *self.over(value.vars, [f"{self.place(value)} = {empty};"]),
        ]

    def scan(self, op: Scan) -> list[str]:
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
        me = "lane" if axis.columns else "group"
        order = f"({near - 1} - {me} % {near})" if op.reverse else f"{me} % {near}"
        how = COMBINE[op.fn, value.dtype in INTEGERS]
        kind, empty = scalar_type(value.dtype), IDENTITY[op.fn, value.dtype in INTEGERS]
        vector = axis.vector if axis.columns else 1
        before = self.without(value, op.over, f"before_{value.name}")
        index = "e" if axis.columns else "u"
        back = [f"const int part = {axis.repeat - 1} - step;"] if op.reverse else []
        part = "part" if op.reverse else "step"
        j = f"{vector - 1} - j" if op.reverse else "j"
        there = "" if self.is_full(axis) else self.exists(op.over)
        element = f"{there} ? {self.at(op.arg)} : {empty}" if there else self.at(op.arg)
        move = "down" if op.reverse else "up"
        lines = [
            *back,
            f"{kind} sum = {empty};",
            "#pragma unroll",
            f"for (int j = 0; j < {vector}; ++j) {{",
            f"  const int {index} = {part} * {vector} + ({j});",
            f"  const {kind} x = {element};",
            f"  sum = {how.format('sum', 'x')};",
            f"  {self.place(value)} = sum;",
            "}",
            f"{kind} whole = sum;",  # of the threads up to this one, in its warp
        ]
        step = 1
        while step < near:
            other = f"__shfl_{move}_sync(~0u, whole, {step * apart})"
            lines += [
                "{",
                f"  const {kind} other = {other};",
                f"  if ({order} >= {step}) whole = {how.format('other', 'whole')};",
                "}",
            ]
            step *= 2
        lines += [f"{kind} first = __shfl_{move}_sync(~0u, whole, {apart});"] if near > 1 else []
        lines += [f"if ({order} == 0) first = {empty};"] if near > 1 else []
        lines += [f"{kind} first = {empty};"] if near == 1 else []
        parts = members // near
        if parts > 1:
            lines += self.scan_across(op, parts, near, order, me)
        elif near > 1:
            last = 0 if op.reverse else (near - 1) * apart
            own = f"threadIdx.x % {WARP} / {near * apart} * {near * apart}"
            rest = f" + threadIdx.x % {apart}" if apart > 1 else ""
            lines.append(f"whole = __shfl_sync(~0u, whole, {own} + {last}{rest});")
        lines += [
            f"first = {how.format(self.place(before), 'first')};",
            "#pragma unroll",
            f"for (int j = 0; j < {vector}; ++j) {{",
            f"  const int {index} = {part} * {vector} + j;",
            f"  {self.place(value)} = {how.format('first', self.place(value))};",
            "}",
            f"{self.place(before)} = {how.format(self.place(before), 'whole')};",
        ]
        # Parts one after the other inside, the elements of the other axis around them.
        lines = self.unrolled("step", axis.repeat, lines)
        other_names = tuple(n for n in value.vars if n != op.over)
        return [
            f"{kind} v_{value.name}[{self.count(value.vars)}];",
            *self.over(other_names, lines),
        ]

    def scan_across(self, op: Scan, parts: int, near: int, order: str, me: str) -> list[str]:
        """Warps that share an axis tell one another their sums through shared memory."""
        value, axis = op.result, self.layout.axes[op.over]
        lanes, threads = self.layout.lanes, self.layout.threads
        whole = value.dtype in INTEGERS
        how, empty = COMBINE[op.fn, whole], IDENTITY[op.fn, whole]
        kind = scalar_type(value.dtype)
        # Threads with the same place along the other axis share a line of sums.
        line = "group" if axis.columns else "lane"
        count = threads // lanes if axis.columns else lanes
        self.shared_bytes = max(self.shared_bytes, 4 * parts * count)
        number_ = f"{me} / {near}"
        mine = f"({parts - 1} - {number_})" if op.reverse else f"({number_})"
        return [
            "{",
            f"  {kind}* const meet = ({kind}*)dynamic_smem;",
            "  __syncthreads();",
            f"  if ({order} == {near - 1}) meet[{mine} * {count} + {line}] = whole;",
            "  __syncthreads();",
            f"  {kind} earlier = {empty};",
            f"  whole = {empty};",
            f"  for (int warp = 0; warp < {parts}; ++warp) {{",
            f"    if (warp == {mine}) earlier = whole;",
            f"    whole = {how.format('whole', f'meet[warp * {count} + {line}]')};",
            "  }",
            f"  first = {how.format('earlier', 'first')};",
            "}",
        ]

    def refuse_reverse(self, op: Scan) -> None:
        var = self.kernel.var(op.over)
        raise refusal(
            f"a running sum from the end of all {var.extent} elements of '{var.axis}'",
            op.result.line,
            why="the axis does not fit in the registers of a CTA and is read from its beginning",
            fix="for sums: x.sum(axis=1) - wl.cumsum(x, axis=1) + x",
        )

    def flat_index(self, value: Value) -> str:
        row, column = self.row_axis(value.vars), self.column_axis(value.vars)
        if row and column:
            return f"u * {column.elements} + e"
        return "u" if row else "e" if column else "0"

    # ---- memory --------------------------------------------------------------------------------

    def add(self, param: Param) -> str:
        self.params.setdefault(param.name, param)
        return param.name

    def pointer(self, tensor: str) -> str:
        found = self.kernel.tensor(tensor)
        return self.add(
            PointerParam(
                name=f"ptr_{tensor}",
                tensor=tensor,
                dtype=found.dtype,
                written=found.access is Access.OUT,
            )
        )

    def stride(self, tensor: str, axis: int) -> str:
        return self.add(StrideParam(name=f"stride_{tensor}_{axis}", tensor=tensor, axis=axis))

    def length(self, axis: str) -> str:
        return self.add(SizeParam(name=f"len_{axis}", axis=axis))

    def blocks(self, axis: str, per: int) -> str:
        size = self.length(axis)
        return size if per == 1 else f"(({size} + {per - 1}) / {per})"

    def number_at(self, tensor: Tensor, n: int, index: At) -> str:
        """An index of an access as an expression of ``u`` and ``e``."""
        if index.value is not None:
            return self.at(index.value)
        per = tensor.axes[n].per
        place = self.index(index.var or "")
        return f"{place} / {per}" if per > 1 else place

    def inside(self, tensor: Tensor, at: tuple[At, ...]) -> list[str]:
        """Conditions that computed indices lie on their axes."""
        found = []
        for n, (index, axis) in enumerate(zip(at, tensor.axes, strict=True)):
            if index.value is None:
                continue
            made = self.made.get(index.value)
            own = isinstance(made, Position) and self.kernel.var(made.var).axis == axis.name
            if not own or axis.per > 1:
                size = self.blocks(axis.name, axis.per)
                if tensor.access is Access.STARTS:  # one entry more than groups
                    size = f"({size} + 1)"
                text = self.number_at(tensor, n, index)
                found.append(f"(unsigned)({text}) < (unsigned){size}")
        return found

    def row_there(self, names: Iterable[str]) -> list[str]:
        """Threads without a row of the tile need nothing that all its rows share. The first row,
        whose threads store such a value for all of them, is always there.
        """
        axis = self.only_rows
        if axis is None or axis.var in names:
            return []
        return [f"own_{axis.var} < end_{axis.var}"]

    def vars_of(self, at: tuple[At, ...]) -> tuple[str, ...]:
        """The variables that an access extends over."""
        found: list[str] = []
        for index in at:
            names = self.values[index.value].vars if index.value is not None else (index.var or "",)
            found += [n for n in names if n in self.layout.axes and n not in found]
        return tuple(found)

    def offset(self, tensor: Tensor, at: tuple[At, ...], *, skip: int | None = None) -> str:
        """Elements from the tensor's first one; ``skip``: an index that is left out."""
        terms = []
        for n, index in enumerate(at):
            if n == skip:
                continue
            text = self.number_at(tensor, n, index)
            terms.append(f"(long long)({text}) * {self.stride(tensor.name, n)}")
        return " + ".join(terms) or "0"

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

    def aligned(self, tensor: Tensor, rank: int, axis: ThreadAxis) -> str:
        """Whether vectors of a tensor along its last axis begin at multiples of their bytes."""
        size = max(1, tensor.dtype.bits // 8)
        strides = [f"{self.stride(tensor.name, n)} * {size}" for n in range(rank - 1)]
        bits = " | ".join([f"(long long){self.pointer(tensor.name)}", *strides])
        bytes_ = min(16, axis.vector * size)
        terms = [f"(({bits}) & {bytes_ - 1}) == 0", f"{self.stride(tensor.name, rank - 1)} == 1"]
        if not self.starts_at_vectors(axis):
            terms.append(f"pos_{axis.var} % {axis.vector} == 0")
        return " && ".join(terms)

    def starts_at_vectors(self, axis: ThreadAxis) -> bool:
        """Whether tiles and steps surely begin at multiples of the vector."""
        var = self.kernel.var(axis.var)
        if axis.extent % axis.vector or var.name == self.grouped:
            return False
        loops = [op for op in walk(self.kernel.ops) if isinstance(op, Loop) and op.var == var.name]
        return all(op.start is None for op in loops)

    def read(self, tensor: Tensor, text: str) -> str:
        """An element of memory as a number."""
        match tensor.dtype:
            case DType.BF16 | DType.F16:
                return f"from_{tensor.dtype}({text})"
            case DType.E4M3 | DType.E5M2:
                return f"unpack_{tensor.dtype}({text}, 0)"
            case DType.BOOL:
                return f"({text} != 0)"
            case _:
                return text

    def load(self, op: Load) -> list[str]:
        tensor, value = self.kernel.tensor(op.tensor), op.result
        kind, empty = scalar_type(value.dtype), "false" if value.dtype is DType.BOOL else "0"
        if not value.dims:
            conditions = " && ".join(self.inside(tensor, op.at))
            element = self.read(tensor, f"{self.pointer(op.tensor)}[{self.offset(tensor, op.at)}]")
            text = f"{conditions} ? {element} : {empty}" if conditions else element
            return [self.scalar(value, text)]
        array = f"{kind} v_{value.name}[{self.count(value.vars)}];"
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

    def load_runs(self, op: Load, tensor: Tensor, axis: ThreadAxis, run: Run) -> list[str]:
        """As vectors are, with a vector's elements in the order of the run."""
        value, rank, ctype = op.result, len(op.at), C_TYPES[tensor.dtype]
        row = self.row_axis(value.vars)
        index, offset = (
            self.number_at(tensor, rank - 1, op.at[-1]),
            self.offset(tensor, op.at, skip=rank - 1),
        )
        size, label = max(1, tensor.dtype.bits // 8), f"w_{value.name}"
        length = self.blocks(tensor.axes[-1].name, 1)
        terms = [self.exists(n) for n in self.vars_of(op.at)] + self.inside(tensor, op.at)
        terms += self.row_there(value.vars)
        ends = [f"{self.index(axis.var)} + {axis.vector} <= end_{axis.var}", *terms]
        ends += [f"g >= 0 && g + {run.window} <= {length}"]
        ends += [] if run.aligned else [f"g % {run.window} == 0"]
        start = f"u * {axis.elements} + " if row else ""
        start += f"k * {axis.vector}"
        single = f"{self.pointer(op.tensor)}[{self.offset(tensor, op.at)}]"
        moved = f"(const void*)({self.pointer(op.tensor)} + ({offset}) + g)"
        picked = [f"{label}[{start} + {j}] = raw[{o}];" for j, o in enumerate(run.offsets)]
        lines = [
            f"bool near = wide_{value.name};",
            f"alignas(16) {ctype} raw[{run.window}];",
            "{",
            f"  const int e = k * {axis.vector}, g = {index} - {run.offsets[0]};",
            f"  near = near && {' && '.join(ends)};",
            f"  if (near) load_bytes<{run.window * size}>(raw, {moved});",
            "}",
            "if (near) {",
            *indent(picked, 2),
            "} else {",
            "#pragma unroll",
            f"  for (int j = 0; j < {axis.vector}; ++j) {{",
            f"    const int e = k * {axis.vector} + j;",
            f"    {label}[{start} + j] = {' && '.join(terms)} ? {single} : ({ctype})0;",
            "  }",
            "}",
        ]
        lines = self.unrolled("k", axis.repeat, lines)
        if row is not None:
            lines = self.unrolled("u", row.elements, lines)
        wide = self.aligned(tensor, rank, replace(axis, vector=run.window))
        return [
            f"alignas(16) {ctype} {label}[{self.count(value.vars)}];",
            f"const bool wide_{value.name} = {wide};",
            *lines,
            *self.over(
                value.vars, [f"{self.place(value)} = {self.read(tensor, self.place(value, 'w'))};"]
            ),
        ]

    def load_element(self, op: Load, tensor: Tensor) -> str:
        place = self.place(op.result)
        terms = [self.exists(n) for n in self.vars_of(op.at)] + self.inside(tensor, op.at)
        terms += self.row_there(op.result.vars)
        element = self.read(tensor, f"{self.pointer(op.tensor)}[{self.offset(tensor, op.at)}]")
        empty = "false" if op.result.dtype is DType.BOOL else "0"
        return f"{place} = {' && '.join(terms)} ? {element} : {empty};"

    def load_vectors(self, op: Load, tensor: Tensor, axis: ThreadAxis) -> list[str]:
        """Vectors of 16 bytes where the tensor lies so and they exist, else element by element."""
        value, rank, ctype = op.result, len(op.at), C_TYPES[tensor.dtype]
        row = self.row_axis(value.vars)
        others = [n for n in self.vars_of(op.at) if n != axis.var]
        step = self.layout.lanes * axis.vector
        first = f"own_{axis.var}" + (f" + k * {step}" if axis.repeat > 1 else "")
        terms = [self.exists(n) for n in others] + self.inside(tensor, op.at)
        terms += self.row_there(value.vars)
        there = " && ".join([f"c + {axis.vector} <= end_{axis.var}", *terms])
        offset = self.offset(tensor, op.at, skip=rank - 1)
        moved = f"(const void*)({self.pointer(op.tensor)} + ({offset}) + c)"
        element = self.offset(tensor, op.at, skip=rank - 1)
        last = self.stride(tensor.name, rank - 1)
        single = f"{self.pointer(op.tensor)}[{element} + (long long)(c + j) * {last}]"
        some = " && ".join([f"c + j < end_{axis.var}", *terms])
        label, size = f"w_{value.name}", max(1, tensor.dtype.bits // 8)
        start = f"u * {axis.elements} + " if row else ""
        start += f"k * {axis.vector}"
        # Elements are converted after all loads have been issued.
        wide = f"wide_{value.name} && {there}"
        lines = [f"const int c = {first};", f"if ({wide}) {{"]
        lines += [f"  load_bytes<{axis.vector * size}>(&{label}[{start}], {moved});"]
        shifted = self.shifted_lines(tensor, axis, rank, offset, terms)
        after: list[str] = []
        declared: list[str] = []
        if shifted:
            near, at, bytes_ = f"!(wide_{value.name}) && {shifted}", moved, axis.vector * size
            late = self.count(value.vars) <= MOST_SHIFTED
            words = bytes_ // 4 + 4
            place = f"&p_{value.name}[(({start}) / {axis.vector}) * {words}]" if late else "near"
            shift = (
                f"shift_cover<{bytes_}>(&{label}[{start}], {place}, (int)((long long)({at}) & 15));"
            )
            if late:
                chunks = self.count(value.vars) // axis.vector
                declared = [f"alignas(16) uint32_t p_{value.name}[{chunks * words}];"]
                after = [f"const int c = {first};", f"if ({near}) {shift}"]
            lines += [f"}} else if ({near}) {{"]
            lines += [] if late else [f"  alignas(16) uint32_t near[{words}];"]
            lines += [f"  load_cover<{bytes_}>({place}, {at});"]
            lines += [] if late else [f"  {shift}"]
        lines += [
            "} else {",
            "#pragma unroll",
            f"  for (int j = 0; j < {axis.vector}; ++j)",
            f"    {label}[{start} + j] = {some} ? {single} : ({ctype})0;",
            "}",
        ]

        def repeated(part: list[str]) -> list[str]:
            made = self.unrolled("k", axis.repeat, part)
            return self.unrolled("u", row.elements, made) if row is not None else made

        raw = self.place(value, "w")
        return [
            f"alignas(16) {ctype} {label}[{self.count(value.vars)}];",
            *declared,
            f"const bool wide_{value.name} = {self.aligned(tensor, rank, axis)};",
            *repeated(lines),
            *(repeated(after) if after else []),
            *self.over(value.vars, [f"{self.place(value)} = {self.read(tensor, raw)};"]),
        ]

    def rows_are_shifted(self, tensor: Tensor, axis: ThreadAxis) -> bool:
        """Whether rows one after another begin at other places than multiples of 16 bytes, for the
        sizes that are known; vectors are whole 16 bytes.
        """
        size = max(1, tensor.dtype.bits // 8)
        var = self.kernel.var(axis.var)
        row = var.extent if var.walk is Walk.WHOLE else self.sizes.get(var.axis)
        several = len(tensor.axes) > 1 and row is not None and row >= LEAST_SHIFTED
        return several and (row or 0) * size % 16 != 0 and axis.vector * size % 16 == 0

    def shifted_lines(
        self, tensor: Tensor, axis: ThreadAxis, rank: int, offset: str, terms: list[str]
    ) -> str:
        """The condition of a vector in a row that begins at any address; empty where rows are known
        to begin at multiples of 16 bytes if the tensor does, or nothing is known of them.

        Only bytes of the row itself are read.
        """
        bytes_ = axis.vector * max(1, tensor.dtype.bits // 8)
        if not self.rows_are_shifted(tensor, axis):
            return ""
        row = f"{self.pointer(tensor.name)} + ({offset})"
        there = [
            f"{self.stride(tensor.name, rank - 1)} == 1",
            f"c + {axis.vector} <= end_{axis.var}",
            *terms,
            f"covered({row} + c, {bytes_}, {row}, {row} + end_{axis.var})",
        ]
        return " && ".join(there)

    def transposed_tile(
        self, tensor: Tensor, at: tuple[At, ...]
    ) -> tuple[ThreadAxis, ThreadAxis, str, str]:
        """Rows, columns, the address and the condition of element ``r, c`` of a tile."""
        names = self.vars_of(at)
        row, column = self.row_axis(names), self.column_axis(names)
        assert row is not None
        assert column is not None
        terms = []
        for n, index in enumerate(at):
            per = tensor.axes[n].per
            if index.var == row.var:
                text = f"pos_{row.var} + r"
            elif index.var == column.var:
                text = f"pos_{column.var} + c"
            else:
                text = self.number_at(tensor, n, index)
                per = 1
            text = f"({text}) / {per}" if per > 1 else text
            terms.append(f"(long long)({text}) * {self.stride(tensor.name, n)}")
        there = [f"pos_{row.var} + r < end_{row.var}", f"pos_{column.var} + c < end_{column.var}"]
        there += self.inside(tensor, at)
        self.shared_bytes = max(self.shared_bytes, 4 * column.extent * (row.extent + PAD))
        return row, column, " + ".join(terms), " && ".join(there)

    def tile_place(self, row: ThreadAxis, column: ThreadAxis) -> str:
        """Where a thread's element lies in a tile whose lines go along rows."""
        own_row = f"({self.index(row.var)} - pos_{row.var})"
        own_column = f"({self.index(column.var)} - pos_{column.var})"
        return f"meet[{own_column} * {row.extent + PAD} + {own_row}]"

    def in_extent(self, row: ThreadAxis, column: ThreadAxis) -> str:
        """Elements of threads past the extent of a tile have no place in it."""
        return (
            f"{self.index(row.var)} < pos_{row.var} + {row.extent}"
            f" && {self.index(column.var)} < pos_{column.var} + {column.extent}"
        )

    def across(self, tensor: Tensor, rank: int, row: ThreadAxis) -> tuple[int, str]:
        """Neighbours along a tile's rows that one access moves, and where a tensor lies so."""
        vector = VECTOR_BYTES * 8 // max(8, tensor.dtype.bits)
        while row.extent % vector:
            vector //= 2
        if vector == 1:
            return 1, "false"
        return vector, self.aligned(tensor, rank, replace(row, vector=vector))

    def load_transposed(self, op: Load, tensor: Tensor) -> list[str]:
        """Through shared memory: read along the tensor's rows, used along the tile's."""
        value, kind = op.result, scalar_type(op.result.dtype)
        row, column, address, there = self.transposed_tile(tensor, op.at)
        vector, wide = self.across(tensor, len(op.at), row)
        pointer, ctype = self.pointer(op.tensor), C_TYPES[tensor.dtype]
        size = max(1, tensor.dtype.bits // 8)
        threads, pieces = self.layout.threads, row.extent // vector
        empty = "false" if value.dtype is DType.BOOL else "0"
        place = self.place(value)
        line = f"meet[c * {row.extent + PAD} + r]"
        inside = " && ".join([f"wide && pos_{row.var} + first + {vector} <= end_{row.var}", there])
        return [
            "{",
            f"  {kind}* const meet = ({kind}*)dynamic_smem;",
            f"  const bool wide = {wide};",
            "  __syncthreads();",
            f"  for (int i = threadIdx.x; i < {pieces * column.extent}; i += {threads}) {{",
            f"    const int first = i % {pieces} * {vector}, c = i / {pieces};",
            f"    alignas(16) {ctype} raw[{vector}];",
            "    int r = first;",
            f"    const bool whole = {inside};",
            f"    if (whole) load_bytes<{vector * size}>(raw,"
            f" (const void*)({pointer} + {address}));",
            "#pragma unroll",
            f"    for (int j = 0; j < {vector}; ++j) {{",
            "      r = first + j;",
            f"      if (!whole) raw[j] = {there} ? {pointer}[{address}] : ({ctype})0;",
            f"      {line} = {self.read(tensor, 'raw[j]')};",
            "    }",
            "  }",
            "  __syncthreads();",
            *indent(
                self.over(
                    value.vars,
                    [
                        f"{place} = {self.in_extent(row, column)} ?"
                        f" {self.tile_place(row, column)} : {empty};"
                    ],
                ),
                2,
            ),
            "}",
        ]

    def store(self, op: Store) -> list[str]:
        if op.when is None:
            return self.stored_lines(op)
        return [f"if ({self.at(op.when)}) {{", *indent(self.stored_lines(op), 2), "}"]

    def stored_lines(self, op: Store) -> list[str]:
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

    def guarded(self, names: tuple[str, ...], lines: list[str]) -> list[str]:
        """One of the threads that hold the same elements."""
        terms = []
        if self.row_axis(names) is None and self.layout.groups > 1:
            terms.append("group == 0")
        if self.column_axis(names) is None and self.layout.lanes > 1:
            terms.append("lane == 0")
        return [f"if ({' && '.join(terms)}) {{", *indent(lines, 2), "}"] if terms else lines

    def store_element(self, op: Store, tensor: Tensor) -> str:
        terms = [self.exists(n) for n in self.vars_of(op.at)] + self.inside(tensor, op.at)
        place = f"{self.pointer(op.tensor)}[{self.offset(tensor, op.at)}]"
        number_ = self.stored(op, tensor)
        if op.add:
            line = f"{op.fn}_element_{tensor.dtype}(&{place}, {number_});"
        else:
            line = f"{place} = {written(tensor.dtype, number_)};"
        return f"if ({' && '.join(terms)}) {line}" if terms else line

    def stored(self, op: Store, tensor: Tensor) -> str:
        """The element that is stored, as a number of the tensor's kind."""
        given = self.values[op.value].dtype
        text = self.at(op.value)
        if not tensor.dtype.is_float and tensor.dtype is not DType.BOOL:
            return convert(text, tensor.dtype, given)
        return f"(float)({text})" if given in INTEGERS else text

    def store_vectors(self, op: Store, tensor: Tensor, axis: ThreadAxis) -> list[str]:
        value, rank, ctype = self.values[op.value], len(op.at), C_TYPES[tensor.dtype]
        names = self.vars_of(op.at)
        row = self.row_axis(names)
        others = [n for n in names if n != axis.var]
        step = self.layout.lanes * axis.vector
        first = f"own_{axis.var}" + (f" + k * {step}" if axis.repeat > 1 else "")
        terms = [self.exists(n) for n in others] + self.inside(tensor, op.at)
        there = " && ".join([f"c + {axis.vector} <= end_{axis.var}", *terms])
        some = " && ".join([f"c + j < end_{axis.var}", *terms])
        offset = self.offset(tensor, op.at, skip=rank - 1)
        last = self.stride(tensor.name, rank - 1)
        moved = f"(void*)({self.pointer(op.tensor)} + ({offset}) + c)"
        label, size = f"s_{op.tensor}", max(1, tensor.dtype.bits // 8)
        wide = f"even_{op.tensor}_{value.name}"
        e = f"const int e = k * {axis.vector} + j;"
        lines = [
            f"const int c = {first};",
            f"alignas(16) {ctype} {label}[{axis.vector}];",
            "#pragma unroll",
            f"for (int j = 0; j < {axis.vector}; ++j) {{",
            f"  {e}",
            f"  {label}[j] = {written(tensor.dtype, self.stored(op, tensor))};",
            "}",
        ]
        elements = [
            "#pragma unroll",
            f"for (int j = 0; j < {axis.vector}; ++j)",
            f"  if ({some}) {self.pointer(op.tensor)}"
            f"[{offset} + (long long)(c + j) * {last}] = {label}[j];",
        ]
        whole = f"if ({wide} && {there}) {{"
        vectors = f"store_bytes<{axis.vector * size}>({moved}, {label});"
        shifted = self.guarded(names, [""]) == [""] and self.shifted_stores(op, tensor, axis, there)
        if shifted:
            lines += [
                f"if (!({wide}) && {self.stride(tensor.name, rank - 1)} == 1) {{",
                *indent(shifted, 2),
                f"  if (!({there})) {{",
                *indent(elements, 4),
                "  }",
                f"}} else {whole}",
                f"  {vectors}",
            ]
        else:
            lines += [whole, f"  {vectors}"]
        lines += ["} else {", *indent(elements, 2), "}"]
        lines = self.unrolled("k", axis.repeat, lines)
        if row is not None:
            lines = self.unrolled("u", row.elements, lines)
        return ["{", f"  const bool {wide} = {self.aligned(tensor, rank, axis)};",
                *indent(lines, 2), "}"]  # fmt: skip

    def shifted_stores(self, op: Store, tensor: Tensor, axis: ThreadAxis, there: str) -> list[str]:
        """A vector's store in a row that begins at any address: lanes of a warp that hold
        neighbours give their last bytes to the next one.
        """
        bytes_, lanes = axis.vector * max(1, tensor.dtype.bits // 8), self.layout.lanes
        if lanes == 1 or not self.rows_are_shifted(tensor, axis):
            return []
        offset = self.offset(tensor, op.at, skip=len(op.at) - 1)
        following = there.replace(f"c + {axis.vector} <=", f"c + {2 * axis.vector} <=", 1)
        return [
            f"store_shifted<{bytes_}>({self.pointer(op.tensor)} + ({offset}) + c, s_{op.tensor},",
            f"    {there}, threadIdx.x % 32 != 0 && lane != 0,",
            f"    threadIdx.x % 32 != 31 && lane != {lanes - 1} && {following});",
        ]

    def store_transposed(self, op: Store, tensor: Tensor) -> list[str]:
        """Through shared memory, as loads are."""
        if not self.values[op.value].dims:
            return []
        kind = scalar_type(DType.F32 if tensor.dtype.is_float else DType.I32)
        row, column, address, there = self.transposed_tile(tensor, op.at)
        vector, wide = self.across(tensor, len(op.at), row)
        pointer, ctype = self.pointer(op.tensor), C_TYPES[tensor.dtype]
        size = max(1, tensor.dtype.bits // 8)
        threads, pieces = self.layout.threads, row.extent // vector
        made = written(tensor.dtype, f"meet[c * {row.extent + PAD} + first + j]")
        inside = " && ".join([f"wide && pos_{row.var} + first + {vector} <= end_{row.var}", there])
        return [
            "{",
            f"  {kind}* const meet = ({kind}*)dynamic_smem;",
            f"  const bool wide = {wide};",
            "  __syncthreads();",
            *indent(
                self.over(
                    self.vars_of(op.at),
                    [
                        f"if ({self.in_extent(row, column)})"
                        f" {self.tile_place(row, column)} = {self.stored(op, tensor)};"
                    ],
                ),
                2,
            ),
            "  __syncthreads();",
            f"  for (int i = threadIdx.x; i < {pieces * column.extent}; i += {threads}) {{",
            f"    const int first = i % {pieces} * {vector}, c = i / {pieces};",
            f"    alignas(16) {ctype} raw[{vector}];",
            "#pragma unroll",
            f"    for (int j = 0; j < {vector}; ++j) raw[j] = {made};",
            "    int r = first;",
            f"    const bool whole = {inside};",
            f"    if (whole) store_bytes<{vector * size}>((void*)({pointer} + {address}), raw);",
            "#pragma unroll",
            f"    for (int j = 0; j < {vector}; ++j) {{",
            "      r = first + j;",
            f"      if (!whole && {there}) {pointer}[{address}] = raw[j];",
            "    }",
            "  }",
            "}",
        ]

    # ---- loops ---------------------------------------------------------------------------------

    def loop(self, op: Loop) -> list[str]:
        var = self.kernel.var(op.var)
        axis = self.layout.axes.get(op.var)
        step = axis.extent if axis is not None else var.extent or 1
        collected = {c.inside.name: partial_sums(op, c, self.uses) for c in op.carried}
        collected = {n: s for n, s in collected.items() if s and self.same_kind(s)}
        before, after = [], []
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
        if op.stop is not None:
            before.append(f"bool stopped_{op.var} = false;")
            body.append(f"if (v_{op.stop}) {{ stopped_{op.var} = true; break; }}")
        places = self.step_lines(op, axis)
        if op.lists:
            walked = self.listed(op, step, [*places, *body])
        else:
            first = f"max(0, v_{op.start})" if op.start else "0"
            end = self.length(var.axis)
            end = f"min({end}, v_{op.until})" if op.until else end
            walked = [
                f"const int last_{op.var} = {end};",
                f"for (int pos_{op.var} = {first}; pos_{op.var} < last_{op.var};"
                f" pos_{op.var} += {step}) {{",
                *indent([*places, *body], 2),
                "}",
            ]
        ends = [line for c in op.carried if c.inside.name not in collected
                for line in self.result_lines(c)]  # fmt: skip
        results_ = [self.declared(c.result) for c in op.carried]
        return [*results_, "{", *indent([*before, *walked, *after, *ends], 2), "}"]

    def declared(self, value: Value) -> str:
        many = f"[{self.count(value.vars)}]" if value.dims else ""
        return f"{scalar_type(value.dtype)} v_{value.name}{many};"

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

    def carried_lines(self, c: Carried) -> list[str]:
        value = c.inside
        first = self.at(c.first)
        if not value.dims:
            return [f"{scalar_type(value.dtype)} v_{value.name} = {first};"]
        return [
            f"{scalar_type(value.dtype)} v_{value.name}[{self.count(value.vars)}];",
            *self.over(value.vars, [f"{self.place(value)} = {first};"]),
        ]

    def renewed(self, carried: Sequence[Carried]) -> list[str]:
        """All carried values at once: one may be made of another."""
        copies, lines = [], []
        renewed = {c.inside.name for c in carried}
        for c in carried:
            made_of_others = bool(self.reads(c.last) & (renewed - {c.inside.name}))
            if made_of_others:
                held = Value(name=f"next_{c.inside.name}", dims=c.inside.dims, dtype=c.inside.dtype)
                copies += self.each(held, self.at(c.last))
                text = self.place(held)
            else:
                text = self.at(c.last)
            lines += self.over(c.inside.vars, [f"{self.place(c.inside)} = {text};"])
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

    def result_lines(self, c: Carried) -> list[str]:
        return self.over(c.result.vars, [f"{self.place(c.result)} = {self.place(c.inside)};"])

    def finished(self, c: Carried, reduce: Reduce) -> list[str]:
        """After the loop: threads meet, and what the value began with is added."""
        whole = c.inside.dtype in INTEGERS
        how = COMBINE[reduce.fn, whole].format(self.at(c.first), self.place(c.inside))
        return [
            *self.meet(reduce, c.inside.name),
            *self.over(c.result.vars, [f"{self.place(c.result)} = {how};"]),
        ]

    def step_lines(self, op: Loop, axis: ThreadAxis | None) -> list[str]:
        if axis is None:
            return []
        return [self.end_line(axis, f"last_{op.var}"), self.first_line(axis)]

    def listed(self, op: Loop, step: int, body: list[str]) -> list[str]:
        """The tiles of one list after the other."""
        return [line for tiles in op.lists for line in self.one_list(op, tiles, step, body)]

    def one_list(self, op: Loop, tiles: Tiles, step: int, body: list[str]) -> list[str]:
        counts, numbers = self.kernel.tensor(tiles.counts), self.kernel.tensor(tiles.tensor)
        walked = {self.kernel.var(n).axis: n for n in self.kernel.grid.vars}
        places = [
            f"pos_{walked[a.name]}" + (f" / {a.per}" if a.per > 1 else "") for a in counts.axes
        ]

        def address(tensor: Tensor, *more: str) -> str:
            terms = [f"(long long)({p}) * {self.stride(tensor.name, n)}"
                     for n, p in enumerate((*places, *more))]  # fmt: skip
            return f"{self.pointer(tensor.name)}[{' + '.join(terms)}]"

        axis = self.length(self.kernel.var(op.var).axis)
        end = [f"const int last_{op.var} = min(pos_{op.var} + {step}, {axis});"]
        running = f"!stopped_{op.var} && " if op.stop is not None else ""
        first, last = "0", address(counts)
        if op.share is not None:
            part, parts = (f"v_{name}" for name in op.share)
            each = f"(max(0, {last}) + {parts} - 1) / {parts}"
            first, last = f"{part} * ({each})", f"min({last}, ({part} + 1) * ({each}))"
        return [
            f"for (int entry = {first}; {running}entry < {last}; ++entry) {{",
            f"  const int pos_{op.var} = {address(numbers, 'entry')} * {step};",
            f"  if (pos_{op.var} < 0 || pos_{op.var} >= {axis}) continue;",
            f"  constexpr bool whole_{op.var} = {'true' if tiles.whole else 'false'};",
            *indent([*end, *body], 2),
            "}",
        ]


def _name(op: Op) -> str | None:
    found = results(op)
    return found[0].name if len(found) == 1 and not isinstance(op, Loop) else None


def scalar_type(dtype: DType) -> str:
    """The type of a number in the emitted source."""
    if dtype in INTEGERS:
        return "int"
    return "bool" if dtype is DType.BOOL else "float"


def written(dtype: DType, text: str) -> str:
    """A number as an element of memory: rounded to nearest."""
    match dtype:
        case DType.F32 | DType.I32:
            return text
        case DType.I8:
            return f"(signed char)({text})"
        case DType.BOOL:
            return f"(uint8_t)({text})"
        case _:
            return f"to_{dtype}({text})"


def convert(text: str, to: DType, source: DType) -> str:
    """A number as one of another type, held in a register."""
    if to is source:
        return text
    match to:
        case DType.I32:
            return f"__float2int_rz({text})" if source.is_float else f"(int)({text})"
        case DType.I8 | DType.I4:
            least, most = (-128, 127) if to is DType.I8 else (-8, 7)
            whole = f"__float2int_rz({text})" if source.is_float else f"(int)({text})"
            return f"min(max({whole}, {least}), {most})"
    number_ = text if source.is_float else f"(float)({text})"
    match to:
        case DType.BF16 | DType.F16:
            return f"round_{to}({number_})"
        case DType.E4M3 | DType.E5M2:
            return f"unpack_{to}(to_{to}({number_}), 0)"
        case _:
            return number_


def line_of(op: Op) -> Line | None:
    """The author's line of an op."""
    return op.line if isinstance(op, Loop | Store) else op.result.line
