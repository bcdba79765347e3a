"""The CUDA source of a kernel in the block lowering: ops in order, barriers between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from warploom.codegen.cuda import ptx
from warploom.codegen.cuda.block import products
from warploom.codegen.cuda.block.plan import AxisLayout, BlockPlan, OperandTile
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.threads import (
    INTEGERS,
    WRAPPED,
    convert,
    register_type,
    written,
)
from warploom.codegen.cuda.tile.expressions import COMBINE, IDENTITY, number, pointwise, wrapped
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
from warploom.codegen.cuda.tile.source import ENTRY, SMEM_START, Source
from warploom.ir.tile import (
    Access,
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
    Transpose,
    Value,
    Var,
    Walk,
    Whole,
    is_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Context = Mapping[str, AxisLayout]
WARP = 32


def emit_block(plan: BlockPlan) -> tuple[Source, dict[str, int]]:
    """The CUDA source of a kernel, and the extents of its tiles."""
    tiled = [v.name for v in plan.kernel.vars if v.walk in (Walk.TILE, Walk.STEP)]
    extents = {n: plan.extents.get(n, 1) for n in tiled}
    return Writer(plan).source(), extents


class Writer:
    """One emission; ``lines`` of the body are appended as ops are met."""

    def __init__(self, plan: BlockPlan) -> None:
        self.plan, self.kernel = plan, plan.kernel
        self.params: dict[str, Param] = {}
        self.lines: list[str] = []
        self.functions: dict[str, str] = {}
        self.bases: dict[str, str] = {}
        self.reads_open = self.writes_open = self.tiles_open = True
        self.temporary = 0

    # ---- the kernel ----------------------------------------------------------------------------

    def source(self) -> Source:
        """The whole text."""
        self.ops(self.kernel.ops)
        body, self.lines = self.lines, []
        self._tiles()
        head, self.lines = self.lines, []
        threads, line = self.plan.threads, self.kernel.line
        extents = ", ".join(f"{n} {e}" for n, e in self.plan.extents.items())
        at = "shared_address(dynamic_smem)"
        text = "\n".join(
            [
                f"// Kernel {self.kernel.name}, {line or 'a tile kernel'}: {threads} threads;"
                f" {extents}.",
                f'extern "C" __global__ void __launch_bounds__({threads}) {ENTRY}(',
                "    " + ",\n    ".join(p.text for p in self.params.values()) + ") {",
                "  extern __shared__ uint8_t dynamic_smem[];",
                f"  constexpr uint32_t smem = {SMEM_START};",
                f'  if ({at} != smem) asm volatile("trap;");',
                "  await_kernel_before();",
                "  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;",
                "  const int warpgroup = threadIdx.x / 128;",
                *(f"  const int {name} = {text};" for name, text in self.bases.items()),
                *indent(head, 2),
                *indent(body, 4),
                "  }",
                "}",
            ]
        )
        wgmma = "\n".join(self.functions.values())
        written_in = definitions(self.plan.kernel.ops)
        wgmma = "\n".join(part for part in (wgmma, written_in) if part)
        parts = [ptx.TYPES, helpers_for(text), wgmma, text + "\n"]
        return Source(
            text="\n".join(parts),
            entry=ENTRY,
            params=tuple(self.params.values()),
            threads=threads,
            shared_bytes=self.plan.shared_bytes,
            any_alignment=True,
            passes=True,
        )

    def _tiles(self) -> None:
        """The walk over tiles, and where a tile stands on every axis of the grid."""
        grid = self.kernel.grid
        tiled = [n for n in grid.vars if self.kernel.var(n).walk is Walk.TILE]
        grouped = tiled[0] if grid.kind == "groups" else None
        factors, places = [], []
        for name in reversed(grid.vars):
            var = self.kernel.var(name)
            if grid.kind == "groups" and name == grid.vars[0]:
                continue
            extent, size = self.plan.extents.get(name, 1), self.length(var.axis)
            count = size if extent == 1 else f"({size} + {extent - 1}) / {extent}"
            if name == grouped:
                count = f"({count} + {self.length(self.kernel.var(grid.vars[0]).axis)})"
                places.append(f"int at_{name} = (int)(rest % (unsigned){count});")
            else:
                places.append(
                    f"const int pos_{name} = (int)(rest % (unsigned)({count})) * {extent};"
                )
            places.append(f"rest /= (unsigned)({count});")
            factors.append(f"(unsigned)({count})")
        if grouped is not None:
            places += self._group_lines(grid.vars[0], grouped)
        for name in grid.vars:
            var = self.kernel.var(name)
            if is_number(var):
                continue
            last = f"last_{name}" if name == grouped else self.length(var.axis)
            places += self._span_lines(var, last)
        for var in self.kernel.vars:
            if var.walk is Walk.WHOLE:
                places += [
                    f"constexpr int pos_{var.name} = 0, left_{var.name} = {var.extent};",
                ]
        first = "unsigned rest = tile;"
        if grid.order:
            first = f"unsigned rest = (unsigned){self.pointer(grid.order)}[tile];"
        self.lines += [
            f"const unsigned tiles = {' * '.join(factors) or '1u'};",
            "for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {",
            *indent([first, *places], 2),
        ]

    def _span_lines(self, var: Var, last: str) -> list[str]:
        """How many elements of a tile or step exist."""
        extent = self.plan.extents[var.name]
        return [f"const int left_{var.name} = min({extent}, {last} - pos_{var.name});"]

    def _group_lines(self, group: str, rows: str) -> list[str]:
        starts = self.pointer(self.kernel.grid.starts[0])
        extent = self.plan.extents[rows]
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

    # ---- barriers ------------------------------------------------------------------------------

    def before_write(self) -> None:
        """Nobody reads shared memory any more."""
        if self.reads_open:
            self._barrier()

    def before_read(self) -> None:
        """What was written to shared memory is there for all."""
        if self.writes_open or self.tiles_open:
            self._barrier()

    def _barrier(self) -> None:
        if self.tiles_open:
            self.lines.append("proxy_fence();")
        self.lines.append("__syncthreads();")
        self.reads_open = self.writes_open = self.tiles_open = False

    def _unknown(self) -> None:
        """At the ends of loops: anything may be under way."""
        self.reads_open = self.writes_open = self.tiles_open = True

    # ---- ops -----------------------------------------------------------------------------------

    def ops(self, ops: Iterable[Op]) -> None:
        """Ops in order."""
        for op in ops:
            self.op(op)

    def op(self, op: Op) -> None:  # noqa: C901, PLR0912 (one case a kind)
        """One op."""
        match op:
            case Const():
                self.scalar(op.result, number(op.value, op.result.dtype))
            case Scalar():
                dtype = next(p.dtype for p in self.kernel.parameters if p.name == op.parameter)
                given = ScalarParam(name=f"arg_{op.parameter}", parameter=op.parameter, dtype=dtype)
                self.scalar(op.result, self.add(given))
            case Size():
                per = self.kernel.tensor(op.tensor).axis(op.axis).per
                self.scalar(op.result, self.blocks(op.axis, per))
            case Position():
                self.scalar(op.result, f"pos_{op.var}")
            case Whole():
                self.scalar(op.result, f"whole_{op.var}")
            case Indices() | Broadcast() | Transpose():
                if isinstance(op, Broadcast):
                    self._operand_of(op.result.name)
            case Load():
                self._load(op)
            case Pointwise():
                self._compute(op.result, lambda context: self.expression(op, context))
                self._operand_of(op.result.name)
            case Reduce():
                self._reduce(op)
            case Scan():
                self._scan(op)
                self._operand_of(op.result.name)
            case Dot():
                products.dot(self, op)
                self._operand_of(op.result.name)
            case Store():
                self._store(op)
            case Loop():
                self._loop(op)
            case _:
                raise AssertionError(op)

    def scalar(self, value: Value, text: str) -> None:
        """A number that all threads know."""
        self.lines.append(f"const {register_type(value.dtype)} v_{value.name} = {text};")

    def layouts(self, value: Value) -> list[Context]:
        """The layouts in which a value is held."""
        if len(value.dims) == 2:
            return [self.plan.pair(value.vars).axes]
        if len(value.dims) == 1:
            return [{value.vars[0]: layout} for layout in self.plan.demands[value.name]]
        return [{}]

    def _compute(self, value: Value, text: object) -> None:
        """Arrays of a value: in its home and converted from there, or anew in each layout."""
        assert callable(text)
        if not value.dims:
            self.scalar(value, text({}))
            return
        own = len(value.dims) == 2 or self.plan.home(value.name) is None
        layouts = self.layouts(value)
        for context in layouts if own else layouts[:1]:
            self.declare(value, context)
            self.each(context, [f"{self.place(value, context)} = {text(context)};"])
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
            kind = register_type(value.dtype)
            self.before_write()
            self.lines.append(f"if ({self.owner({var: home})}) {{")
            with self.indented():
                at = f"(({kind}*)dynamic_smem)[{self.local(home)}]"
                self.each({var: home}, [f"{at} = {self.place(value, {var: home})};"])
            self.lines.append("}")
            self.writes_open = True
            self.before_read()
            there = f"{self.local(layout)} < {home.padded}"
            at = f"(({kind}*)dynamic_smem)[{self.local(layout)}]"
            if layout.padded > home.padded:
                at = f"{there} ? {at} : ({kind})0"
            self.each({var: layout}, [f"{self.place(value, {var: layout})} = {at};"])
            self.reads_open = True

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Lines of an inner block."""
        outer, self.lines = self.lines, []
        yield
        self.lines = [*outer, *indent(self.lines, 2)]

    # ---- elements ------------------------------------------------------------------------------

    def count(self, context: Context) -> int:
        """Elements of a thread."""
        total = 1
        for layout in context.values():
            total *= layout.elements
        return total

    def array(self, value: Value, context: Context) -> str:
        """The name of a value's array in a layout."""
        if len(value.dims) == 1:
            return f"{context[value.vars[0]].tag}_v_{value.name}"
        return f"v_{value.name}"

    def declare(self, value: Value, context: Context, start: str = "") -> None:
        """An array for a value."""
        name = self.array(value, context)
        own = {v: context[v] for v in value.vars}
        self.lines.append(f"{register_type(value.dtype)} {name}[{self.count(own)}]{start};")

    def place(self, value: Value, context: Context) -> str:
        """The element ``u, e`` of a value's array."""
        name = self.array(value, context)
        if not value.dims:
            return name
        if len(value.dims) == 1:
            return f"{name}[{'u' if context[value.vars[0]].rows else 'e'}]"
        columns = next(c for c in context.values() if not c.rows)
        return f"{name}[u / 2 * {2 * columns.elements} + e / 2 * 4 + u % 2 * 2 + e % 2]"

    def each(self, context: Context, lines: list[str]) -> None:
        """Lines for every element of a thread."""
        for layout in sorted(context.values(), key=lambda c: c.rows):
            index = "u" if layout.rows else "e"
            head = f"for (int {index} = 0; {index} < {layout.elements}; ++{index}) {{"
            lines = ["#pragma unroll", head, *indent(lines, 2), "}"]
        self.lines += lines

    def local(self, layout: AxisLayout) -> str:
        """The number of the element ``u`` or ``e`` in its tile."""
        if layout.rows:
            name = f"row_{layout.split}"
            self.bases[name] = f"warpgroup % {layout.split} * 64 + warp * 16 + lane / 4"
            return f"({name} + u / 2 * {64 * layout.split} + u % 2 * 8)"
        name, along = f"col_{layout.padded}_{layout.split}", self.plan.warpgroups // layout.split
        piece = layout.padded // layout.split
        self.bases[name] = f"warpgroup / {along} * {piece} + lane % 4 * 2"
        return f"({name} + e / 2 * 8 + e % 2)"

    def owner(self, context: Context) -> str:
        """One of the threads that hold the same elements."""
        terms = []
        rows = next((c for c in context.values() if c.rows), None)
        columns = next((c for c in context.values() if not c.rows), None)
        if rows and columns:
            return "true"
        if not context:
            return "threadIdx.x == 0"
        if rows:
            terms = ["lane % 4 == 0"]
            if rows.split < self.plan.warpgroups:
                terms.append(f"warpgroup / {rows.split} == 0")
        if columns:
            terms = ["lane / 4 == 0", "warp == 0"]
            along = self.plan.warpgroups // columns.split
            if along > 1:
                terms.append(f"warpgroup % {along} == 0")
        return " && ".join(terms)

    def index(self, var: str, context: Context) -> str:
        """The number of an element along its axis."""
        if var not in context:
            return f"pos_{var}"
        return f"(pos_{var} + {self.local(context[var])})"

    def exists(self, var: str, context: Context) -> str:
        """Whether the element is there."""
        return f"{self.local(context[var])} < left_{var}"

    def at(self, name: str, context: Context) -> str:
        """The element of a value as an expression of ``u`` and ``e``."""
        op, value = self.plan.made[name], self.plan.values[name]
        match op:
            case Indices():
                return self.index(op.var, context)
            case Broadcast() | Transpose():
                return self.at(op.arg, context)
        return self.place(value, context)

    def expression(self, op: Pointwise, context: Context) -> str:
        """A function of elements."""
        args = [self.at(a, context) for a in op.args]
        types = [self.plan.values[a].dtype for a in op.args]
        if op.code is not None:
            return f"{name_of(op.code, op.result.line)}({', '.join(args)})"
        if op.fn is Fn.CAST:
            return convert(args[0], op.result.dtype, types[0])
        if op.result.dtype is DType.I32 and op.fn in WRAPPED:
            return wrapped(op.fn, args)
        if op.fn is Fn.DIV:
            return f"({args[0]} / {args[1]})"
        if op.fn in (Fn.MIN, Fn.MAX, Fn.ABS):
            types = [DType.I32 if t in INTEGERS else t for t in types]
        return pointwise(op.fn, args, op.result.dtype, types)

    # ---- reductions ----------------------------------------------------------------------------

    def _reduce(self, op: Reduce) -> None:
        value, arg = op.result, self.plan.values[op.arg]
        context = dict(self.plan.context(op.arg))
        over = context[op.over]
        left = {v: context[v] for v in value.vars}
        whole = value.dtype in INTEGERS
        how, empty = COMBINE[op.fn, whole], IDENTITY[op.fn, whole]
        kind = register_type(value.dtype)
        if value.dims:
            self.declare(value, left)
            place = self.place(value, left)
            self.each(left, [f"{place} = {empty};"])
        else:
            place = f"v_{value.name}"
            self.lines.append(f"{kind} {place} = {empty};")
        terms = [self.exists(op.over, context)]
        per = next(d.per for d in arg.dims if d.var == op.over)
        if per > 1:
            first = f"{self.local(over)} == 0"
            terms.append(f"({first} || {self.index(op.over, context)} % {per} == 0)")
        line = f"if ({' && '.join(terms)}) {place} = {how.format(place, self.at(op.arg, context))};"
        self.each(context, [line])
        lanes = (4, 8, 16) if over.rows else (1, 2)
        shuffles = [
            f"{place} = {how.format(place, f'__shfl_xor_sync(~0u, {place}, {n})')};" for n in lanes
        ]
        self.each(left, shuffles)
        self._meet(op, over, left, place, how)
        self.converted(value)

    def _meet(self, op: Reduce, over: AxisLayout, left: Context, place: str, how: str) -> None:
        """What warps that share an axis have collected, known to all of them."""
        along = self.plan.warpgroups // over.split
        if over.rows:
            parts, mine = 4 * over.split, f"(warpgroup % {over.split} * 4 + warp)"
            writes = ["lane / 4 == 0"]
        else:
            parts, mine = over.split, f"warpgroup / {along}"
            writes = ["lane % 4 == 0"]
        if parts == 1:
            return
        if not left:
            writes = ["lane == 0"] + ([] if over.rows else ["warp == 0"])
            if along > 1:
                writes.append(
                    f"warpgroup / {over.split} == 0" if over.rows else f"warpgroup % {along} == 0"
                )
        kind = register_type(op.result.dtype)
        pitch = next(iter(left.values())).padded if left else 1
        number_of = self.local(next(iter(left.values()))) if left else "0"
        self.before_write()
        self.lines.append(f"if ({' && '.join(writes)}) {{")
        with self.indented():
            at = f"(({kind}*)dynamic_smem)[{mine} * {pitch} + {number_of}]"
            self.each(left, [f"{at} = {place};"])
        self.lines.append("}")
        self.writes_open = True
        self.before_read()
        part = f"(({kind}*)dynamic_smem)[part * {pitch} + {number_of}]"
        joined = [
            f"{kind} sum = (({kind}*)dynamic_smem)[{number_of}];",
            f"for (int part = 1; part < {parts}; ++part)",
            f"  sum = {how.format('sum', part)};",
            f"{place} = sum;",
        ]
        # without a loop over elements nothing else gives the lines a scope
        self.each(left, joined if left else ["{", *indent(joined, 2), "}"])
        self.reads_open = True

    def _scan(self, op: Scan) -> None:
        """A prefix sum: each line of the tile in shared memory, by one thread."""
        value, context = op.result, self.plan.context(op.arg)
        kind = register_type(value.dtype)
        over = context[op.over]
        across = next((c for v, c in context.items() if v != op.over), None)
        lines, pitch = (across.padded, over.padded + 1) if across else (1, over.padded)
        line = f"{self.local(across)} * {pitch} + " if across else ""
        place = f"(({kind}*)dynamic_smem)[{line}{self.local(over)}]"
        self.before_write()
        owner = self.owner(context)
        self.lines.append(f"if ({owner}) {{")
        with self.indented():
            self.each(context, [f"{place} = {self.at(op.arg, context)};"])
        self.lines += ["}", "__syncthreads();"]
        how = COMBINE[op.fn, value.dtype in INTEGERS].format("sum", "at[i]")
        steps = f"int i = 0; i < left_{op.over}; ++i"
        if op.reverse:
            steps = f"int i = left_{op.over} - 1; i >= 0; --i"
        self.lines += [
            f"for (int line = threadIdx.x; line < {lines}; line += {self.plan.threads}) {{",
            f"  {kind}* const at = ({kind}*)dynamic_smem + line * {pitch};",
            f"  {kind} sum = {IDENTITY[op.fn, value.dtype in INTEGERS]};",
            f"  for ({steps}) at[i] = sum = {how};",
            "}",
            "__syncthreads();",
        ]
        home = self.layouts(value)[0]
        self.declare(value, home)
        self.each(home, [f"{self.place(value, home)} = {place};"])
        self.writes_open, self.reads_open = False, True
        self.converted(value)

    # ---- memory --------------------------------------------------------------------------------

    def add(self, param: Param) -> str:
        """A parameter of the kernel."""
        self.params.setdefault(param.name, param)
        return param.name

    def pointer(self, tensor: str) -> str:
        """The address of a tensor."""
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
        """The stride of an axis."""
        return self.add(StrideParam(name=f"stride_{tensor}_{axis}", tensor=tensor, axis=axis))

    def length(self, axis: str) -> str:
        """The size of an axis."""
        return self.add(SizeParam(name=f"len_{axis}", axis=axis))

    def blocks(self, axis: str, per: int) -> str:
        """The size of an axis of blocks."""
        size = self.length(axis)
        return size if per == 1 else f"(({size} + {per - 1}) / {per})"

    def number_at(self, tensor: Tensor, n: int, index: At, context: Context) -> str:
        """An index of an access."""
        if index.value is not None:
            return self.at(index.value, context)
        place = self.index(index.var or "", context)
        per = tensor.axes[n].per
        return f"{place} / {per}" if per > 1 else place

    def inside(self, tensor: Tensor, at: tuple[At, ...], context: Context) -> list[str]:
        """Conditions that computed indices lie on their axes."""
        found = []
        for n, (index, axis) in enumerate(zip(at, tensor.axes, strict=True)):
            if index.value is None:
                continue
            made = self.plan.made[index.value]
            own = isinstance(made, Position) and self.kernel.var(made.var).axis == axis.name
            if not own or axis.per > 1:
                size = self.blocks(axis.name, axis.per)
                text = self.number_at(tensor, n, index, context)
                found.append(f"(unsigned)({text}) < (unsigned){size}")
        return found

    def element(self, tensor: Tensor, at: tuple[At, ...], context: Context) -> str:
        """An element of memory as a number."""
        return self.read(tensor, self.pointer(tensor.name), self.offset(tensor, at, context))

    def offset(self, tensor: Tensor, at: tuple[At, ...], context: Context) -> str:
        """Elements from the first one of a tensor."""
        terms = []
        for n, index in enumerate(at):
            number_of = self.number_at(tensor, n, index, context)
            terms.append(f"(long long)({number_of}) * {self.stride(tensor.name, n)}")
        return " + ".join(terms) or "0"

    def read(self, tensor: Tensor, pointer: str, offset: str) -> str:
        """An element of memory as a number."""
        place = f"{pointer}[{offset}]"
        match tensor.dtype:
            case DType.BF16 | DType.F16:
                return f"from_{tensor.dtype}({place})"
            case DType.E4M3 | DType.E5M2:
                return f"unpack_{tensor.dtype}({place}, 0)"
            case DType.BOOL:
                return f"({place} != 0)"
            case _:
                return place

    def _load(self, op: Load) -> None:
        tensor, value = self.kernel.tensor(op.tensor), op.result
        empty = "false" if value.dtype is DType.BOOL else "0"
        tiles = self.plan.tiles_of(value.name)
        direct = bool(tiles) and self.plan.is_direct(op)
        for tile in tiles if direct else ():
            self._fill(op, tensor, tile)
        if tiles and direct and value.name not in self.plan.in_registers:
            return

        def text(context: Context) -> str:
            names = [n for n in self.plan.access_vars(op) if n in context]
            terms = [self.exists(n, context) for n in names] + self.inside(tensor, op.at, context)
            if op.end is not None:
                terms.append(f"{self.index(value.vars[0], context)} < v_{op.end}")
            element = self.element(tensor, op.at, context)
            return f"{' && '.join(terms)} ? {element} : {empty}" if terms else element

        self._compute(value, text)
        if not direct:
            self._operand_of(value.name)

    def _fill(self, op: Load, tensor: Tensor, tile: OperandTile) -> None:
        """A tile of a tensor to shared memory: 16 bytes at once where it lies so."""
        rank, size = len(op.at), tile.size
        per = 16 // size
        along = op.at[-1].var if op.at[-1].var in (tile.row_var, tile.col_var) else tile.col_var
        other = tile.row_var if along == tile.col_var else tile.col_var
        lengths = {tile.row_var: tile.rows, tile.col_var: tile.filled}
        ctype, threads = C_TYPES[tensor.dtype], self.plan.threads
        chunks = -(-lengths[along] // per)
        terms, last = [], "1"
        for n, index in enumerate(op.at):
            if index.var == other:
                text = f"(pos_{other} + o)"
            elif index.var == along:
                last = self.stride(tensor.name, n)
                text = f"(pos_{along} + a)"
            else:
                text = self.number_at(tensor, n, index, {})
            terms.append(f"(long long)({text}) * {self.stride(tensor.name, n)}")
        there = " && ".join([f"o < left_{other}", *self.inside(tensor, op.at, {})])
        strides = [f"{self.stride(tensor.name, n)} * {size}" for n in range(rank - 1)]
        bits = " | ".join([f"(long long){self.pointer(tensor.name)}", *strides])
        wide = f"(({bits}) & 15) == 0 && {last} == 1"
        wide += f" && pos_{along} % {per} == 0" if op.at[-1].var == along else " && false"
        self.before_write()
        base = self.plan.offsets[tile.value, tile.col_var]
        single = f"from[j * {last}]"
        self.lines += [
            "{",
            f"  const bool wide = {wide};",
            "#pragma unroll 4",
            f"  for (int i = threadIdx.x; i < {lengths[other] * chunks}; i += {threads}) {{",
            f"    const int o = i / {chunks}, a = i % {chunks} * {per};",
            f"    alignas(16) {ctype} x[{per}] = {{}};",
            f"    const {ctype}* const from = {self.pointer(tensor.name)} + ({' + '.join(terms)});",
            f"    if ({there}) {{",
            f"      if (wide && a + {per} <= left_{along}) {{",
            "        load_bytes<16>(x, from);",
            "      } else {",
            "#pragma unroll",
            f"        for (int j = 0; j < {per}; ++j)",
            f"          if (a + j < left_{along}) x[j] = {single};",
            "      }",
            "    }",
        ]
        if along == tile.col_var:
            self.lines.append(
                f"    store_shared_v4(smem + {base} + {self.swizzled(tile, 'o', 'a')}, x);"
            )
        else:
            self.lines += [
                "#pragma unroll",
                f"    for (int j = 0; j < {per}; ++j)",
                f"      if (a + j < {tile.rows}) store_shared_{8 * size}(smem + {base} +"
                f" {self.swizzled(tile, '(a + j)', 'o')}, {_bits(tensor.dtype, 'x[j]')});",
            ]
        self.lines += ["  }", "}"]
        self.tiles_open = True

    def swizzled(self, tile: OperandTile, row: str, column: str) -> str:
        """The byte of an element of a tile."""
        return f"tile_byte<{tile.size}, {tile.slab_bytes}>({row}, {column})"

    def _operand_of(self, name: str) -> None:
        """A computed value written to shared memory where products read it."""
        value = self.plan.values[name]
        for tile in self.plan.tiles_of(name):
            pair = self.plan.pair(value.vars)
            context = pair.axes
            base = self.plan.offsets[tile.value, tile.col_var]
            self.before_write()
            row, column = context[tile.row_var], context[tile.col_var]
            if row.padded < tile.rows or column.padded < tile.filled:
                # What no thread holds is zero.
                chunks = tile.bytes // 16
                self.lines += [
                    "{",
                    "  alignas(16) const uint32_t none[4] = {};",
                    f"  for (int i = threadIdx.x; i < {chunks}; i += {self.plan.threads})",
                    f"    store_shared_v4(smem + {base} + i * 16, none);",
                    "}",
                    "__syncthreads();",
                ]
            there = [self.exists(v, context) for v in value.vars]
            if row.padded > tile.rows:
                there.append(f"{self.local(row)} < {tile.rows}")
            held = (
                [self.local(column) + f" < {tile.columns}"] if column.padded > tile.columns else []
            )
            fits = [f"{self.local(row)} < {tile.rows}"] if row.padded > tile.rows else []
            where = self.swizzled(tile, self.local(row), self.local(column))
            element = written(value.dtype, self.at(name, context))
            text = _bits(value.dtype, f"({' && '.join(there)} ? {element} : {_zero(value.dtype)})")
            line = f"store_shared_{tile.bits}(smem + {base} + {where}, {text});"
            guard = " && ".join([*held, *fits])
            self.each(context, [f"if ({guard}) {line}" if guard else line])
            self.tiles_open = True

    def _store(self, op: Store) -> None:
        tensor, context = self.kernel.tensor(op.tensor), self.plan.store_context(op)
        names = self.plan.access_vars(op)
        terms = [self.exists(n, context) for n in names] + self.inside(tensor, op.at, context)
        place = f"{self.pointer(op.tensor)}[{self.offset(tensor, op.at, context)}]"
        given, text = self.plan.values[op.value].dtype, self.at(op.value, context)
        if not tensor.dtype.is_float and tensor.dtype is not DType.BOOL:
            text = convert(text, tensor.dtype, given)
        elif given in INTEGERS:
            text = f"(float)({text})"
        if op.add:
            line = f"{op.fn}_element_{tensor.dtype}(&{place}, {text});"
        else:
            line = f"{place} = {written(tensor.dtype, text)};"
        if terms:
            line = f"if ({' && '.join(terms)}) {line}"
        asked = [] if op.when is None else [f"v_{op.when}"]
        owner = " && ".join([*asked, *(x for x in [self.owner(context)] if x != "true")])
        if owner:
            self.lines.append(f"if ({owner}) {{")
            with self.indented():
                self.each(context, [line])
            self.lines.append("}")
        else:
            self.each(context, [line])

    # ---- loops ---------------------------------------------------------------------------------

    def _loop(self, op: Loop) -> None:
        var = self.kernel.var(op.var)
        step = self.plan.extents.get(op.var, var.extent or 1)
        for c in op.carried:
            self._declare_carried(c.result)
        self.lines.append("{")
        with self.indented():
            for c in op.carried:
                self._declare_carried(c.inside)
                self._assign(c.inside, c.first)
            self._head(op, step)
            with self.indented():
                self._unknown()
                if not is_number(var):
                    self.lines += self._span_lines(var, f"last_{op.var}")
                for c in op.carried:
                    self.converted(c.inside)
                    self._operand_of(c.inside.name)
                self.ops(op.body)
                self._renew(op.carried)
                if op.stop is not None:
                    self.lines.append(f"if (v_{op.stop}) break;")
            self.lines.append("}")
            self._unknown()
            for c in op.carried:
                self._assign(c.result, c.inside.name)
        self.lines.append("}")
        for c in op.carried:
            self.converted(c.result)
            self._operand_of(c.result.name)

    def _home_of(self, value: Value) -> Context:
        return self.layouts(value)[0]

    def _declare_carried(self, value: Value) -> None:
        if value.dims:
            self.declare(value, self._home_of(value))
        else:
            self.lines.append(f"{register_type(value.dtype)} v_{value.name};")

    def _assign(self, value: Value, source: str, target: str = "") -> None:
        context = self._home_of(value)
        place = target or self.place(value, context)
        self.each(context, [f"{place} = {self.at(source, context)};"])

    def _head(self, op: Loop, step: int) -> None:
        """The line that opens the loop, and where a step stands."""
        axis = self.length(self.kernel.var(op.var).axis)
        if op.lists:
            self._list_head(op, step, axis)
            return
        first = f"max(0, v_{op.start})" if op.start else "0"
        end = f"min({axis}, v_{op.until})" if op.until else axis
        self.lines += [
            f"const int last_{op.var} = {end};",
            f"for (int pos_{op.var} = {first}; pos_{op.var} < last_{op.var};"
            f" pos_{op.var} += {step}) {{",
        ]

    def _list_head(self, op: Loop, step: int, axis: str) -> None:
        walked = {self.kernel.var(n).axis: n for n in self.kernel.grid.vars}
        counts, numbers = [], []
        for i, tiles in enumerate(op.lists):
            held, listed = self.kernel.tensor(tiles.counts), self.kernel.tensor(tiles.tensor)
            places = [
                f"pos_{walked[a.name]}" + (f" / {a.per}" if a.per > 1 else "") for a in held.axes
            ]
            before = " - ".join(["entry", *(f"count_{op.var}_{j}" for j in range(i))])

            def address(tensor: Tensor, *all_places: str) -> str:
                terms = [
                    f"(long long)({p}) * {self.stride(tensor.name, n)}"
                    for n, p in enumerate(all_places)
                ]
                return f"{self.pointer(tensor.name)}[{' + '.join(terms) or '0'}]"

            count = f"max(0, {address(held, *places)})"
            first = ""
            if op.share is not None:
                part, parts = (f"v_{name}" for name in op.share)
                counts += [
                    f"const int each_{op.var}_{i} = ({count} + {parts} - 1) / {parts};",
                    f"const int first_{op.var}_{i} = {part} * each_{op.var}_{i};",
                ]
                first = f" + first_{op.var}_{i}"
                count = f"max(0, min(each_{op.var}_{i}, {count} - first_{op.var}_{i}))"
            counts.append(f"const int count_{op.var}_{i} = {count};")
            numbers.append(address(listed, *places, before + first))
        chosen = numbers[-1]
        for i in reversed(range(len(op.lists) - 1)):
            chosen = f"entry < count_{op.var}_{i} ? {numbers[i]} : {chosen}"
        total = " + ".join(f"count_{op.var}_{i}" for i in range(len(op.lists)))
        whole = "false"
        if op.lists[0].whole:
            whole = f"entry < count_{op.var}_0"
        self.lines += [
            *counts,
            f"for (int entry = 0; entry < {total}; ++entry) {{",
            f"  const int pos_{op.var} = ({chosen}) * {step};",
            f"  if (pos_{op.var} < 0 || pos_{op.var} >= {axis}) continue;",
            f"  const int last_{op.var} = min(pos_{op.var} + {step}, {axis});",
            f"  const bool whole_{op.var} = {whole};",
        ]

    def _renew(self, carried: tuple[Carried, ...]) -> None:
        """All carried values at once: one may be another of before."""
        inside = {c.inside.name for c in carried}
        later: list[tuple[Carried, str]] = []
        for c in carried:
            read = set(self.plan._elements_of(c.last)) & inside
            if read - {c.inside.name}:
                self.temporary += 1
                name = f"next_{self.temporary}"
                held = self._home_of(c.inside)
                kind = register_type(c.inside.dtype)
                if not c.inside.dims:
                    self.lines.append(f"const {kind} {name} = {self.at(c.last, {})};")
                    later.append((c, name))
                    continue
                value = Value(name=name, dims=c.inside.dims, dtype=c.inside.dtype)
                self.declare(value, held)
                self.each(held, [f"{self.place(value, held)} = {self.at(c.last, held)};"])
                later.append((c, self.place(value, held)))
        delayed = {c.inside.name for c, _ in later}
        for c in carried:
            if c.inside.name not in delayed and c.last != c.inside.name:
                self._assign(c.inside, c.last)
        for c, text in later:
            context = self._home_of(c.inside)
            self.each(context, [f"{self.place(c.inside, context)} = {text};"])


def _bits(dtype: DType, text: str) -> str:
    """An element of memory as its bits."""
    if dtype is DType.F32:
        return f"__float_as_uint({text})"
    return f"(uint32_t)({text})"


def _zero(dtype: DType) -> str:
    return "0.0f" if dtype is DType.F32 else f"({C_TYPES[dtype]})0"
