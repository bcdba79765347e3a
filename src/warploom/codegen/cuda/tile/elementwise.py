"""Kernels without a loop as CUDA source: rows of whole tiles, each by a few neighbouring lanes.

A lane takes eight neighbouring elements of a row, so a row of 64 to 256 elements is 8 to 32 lanes
of a warp; sums over a row are exchanged among them. Everything is read and written by 16 bytes. Row
numbers have 32 bits: more rows than that fit in no GPU's memory.
"""

from __future__ import annotations

from warploom.codegen.cuda import ptx
from warploom.codegen.cuda.device import device, noted
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.elementwise_rows import Rows, name_of, scalar_type, whole_row
from warploom.codegen.cuda.tile.expressions import (
    COMBINE,
    IDENTITY,
    number,
    pointwise,
    wrapped,
)
from warploom.codegen.cuda.tile.helpers import definitions
from warploom.codegen.cuda.tile.signature import ScalarParam, SizeParam, StrideParam
from warploom.codegen.cuda.tile.source import ENTRY, Source
from warploom.codegen.cuda.tile.stores import PACKS
from warploom.ir.tile import (
    Access,
    At,
    Broadcast,
    Const,
    Dot,
    DType,
    Fn,
    Indices,
    Kernel,
    Line,
    Load,
    Op,
    Pointwise,
    Position,
    Reduce,
    Scalar,
    Size,
    Store,
    Walk,
    line_of,
)
from warploom.ir.types import refusal

THREADS = 256
WRAPPED = (Fn.ADD, Fn.SUB, Fn.MUL, Fn.NEG)
EACH = 8  # elements of a lane


def emit_plain(kernel: Kernel) -> Source:
    """The CUDA source of a kernel that neither loops nor multiplies matrices."""
    return _Plain(kernel).source()


def rows_of(kernel: Kernel) -> dict[str, int]:
    """The rows a CTA takes at a time, by the variable that walks them."""
    (whole,) = (v.extent for v in kernel.vars if v.walk is Walk.WHOLE)
    assert whole is not None
    tiled = [v.name for v in kernel.vars if v.walk is Walk.TILE]
    return dict.fromkeys(tiled[-1:], THREADS * EACH // whole)


class _Plain(Rows):
    def source(self) -> Source:
        with noted() as called:
            text = "\n".join(self._kernel_lines())
        parts = [ptx.TYPES, definitions(called), text + "\n"]
        params = tuple(self.params.values())
        return Source(
            text="\n".join(parts), entry=ENTRY, params=params, threads=THREADS, shared_bytes=0
        )

    def _kernel_lines(self) -> list[str]:
        grid = self.kernel.grid
        row = whole_row(self.kernel)
        assert row.extent is not None
        lanes = row.extent // EACH
        self.column, self.lanes = row.name, lanes
        self.wide = any(t.blocked and t.access is Access.IN for t in self.kernel.tensors)
        self.each = 2 * EACH if self.wide else EACH
        clears = [o for o in self.kernel.ops if isinstance(o, Store) and self._is_blocked(o)]
        rest = [o for o in self.kernel.ops if o not in clears]
        body = [line for op in rest for line in self._lines(op)]
        first = [line for op in clears for line in self._clear(op)]
        rows = grid.vars[-1]
        paired = any(t.blocked for t in self.kernel.tensors)
        places, total = self._places(paired=paired)
        if self.wide:
            body = [
                "const int lane = threadIdx.x % 32;",
                f"const int here = pos_pair % 8 * {lanes} + part / {EACH};",
                *body,
            ]
        elif paired:
            body = [
                *first,
                "#pragma unroll",
                "for (int up = 0; up < 2; ++up) {  // two rows that share their blocks' bytes",
                f"  const int pos_{rows} = pos_pair / 8 * 16 + pos_pair % 8 + 8 * up;",
                f"  if (pos_{rows} >= len_{rows}) continue;",
                *indent(body, 2),
                "}",
            ]
        return [
            f'extern "C" __global__ void __launch_bounds__({THREADS}) {ENTRY}(',
            "    " + ",\n    ".join(p.text for p in self.params.values()) + ") {",
            f"  {device.await_kernel_before}();",
            f"  const int part = threadIdx.x % {lanes} * {EACH};",
            f"  const unsigned mates = 0x{(1 << lanes) - 1:x}u << (threadIdx.x % 32 / {lanes}"
            f" * {lanes});  // the lanes of this row",
            f"  for (unsigned row = blockIdx.x * {THREADS // lanes} + threadIdx.x / {lanes};"
            f" row < {total};",
            f"       row += gridDim.x * {THREADS // lanes}) {{",
            "    unsigned rest = row;",
            *indent([*places, *body], 4),
            "  }",
            "}",
        ]

    def _places(self, *, paired: bool) -> tuple[list[str], str]:
        """Where a row stands on every axis, and how many rows (or pairs) there are."""
        places, factors = [], []
        for n, name in reversed(list(enumerate(self.kernel.grid.vars))):
            size = self._add(SizeParam(name=f"len_{name}", axis=self.kernel.var(name).axis))
            label = name
            if paired and name == self.kernel.grid.vars[-1]:
                size, label = f"(({size} + 15) / 16 * 8)", "pair"
            factors.append(f"(unsigned){size}")
            inner = [f"const int pos_{label} = rest % {size};", f"rest /= {size};"]
            places += inner if n else [f"const int pos_{label} = (int)rest;"]
        return places, " * ".join(factors)

    def _lines(self, op: Op) -> list[str]:  # noqa: C901, PLR0911, PLR0912 (one line a kind)
        match op:
            case Const():
                kind = scalar_type(op.result.dtype)
                return [f"const {kind} {name_of(op)} = {number(op.value, op.result.dtype)};"]
            case Position():
                return [f"const int {name_of(op)} = pos_{op.var};"]
            case Scalar():
                dtype = next(p.dtype for p in self.kernel.parameters if p.name == op.parameter)
                given = ScalarParam(name=f"arg_{op.parameter}", parameter=op.parameter, dtype=dtype)
                return [f"const {scalar_type(dtype)} {name_of(op)} = {self._add(given)};"]
            case Size():
                return [f"const int {name_of(op)} = {self._size(op.tensor, op.axis)};"]
            case Indices():
                return self._indices(op)
            case Load():
                return self._load(op)
            case Broadcast():
                return self._each(op.result, self._at(op.arg))
            case Pointwise():
                types = [self._dtype(a) for a in op.args]
                args = [self._at(a) for a in op.args]
                text = pointwise(op.fn, args, op.result.dtype, types)
                if op.result.dtype is DType.I32 and op.result.dims and op.fn in WRAPPED:
                    text = wrapped(op.fn, args)
                if not op.result.dims:
                    return [f"const {scalar_type(op.result.dtype)} {name_of(op)} = {text};"]
                return self._each(op.result, text)
            case Reduce():
                return self._reduce(op)
            case Store():
                return self._store(op)
            case _:
                raise refusal(
                    f"{'a product' if isinstance(op, Dot) else type(op).__name__.lower()} in a"
                    " kernel without a loop",
                    line_of(op),
                    why="lanes hold elements of rows: they compute element by element and sum rows",
                    fix="a loop over the contracted axis: for k in wl.steps(x.k):"
                    if isinstance(op, Dot)
                    else "a loop over one of the axes: for n in wl.steps(x.n):",
                )

    def _indices(self, op: Indices) -> list[str]:
        self._only_rows("places in a row are counted", op.result.line)
        return self._each(op.result, "(part + j)" if op.var == self.column else f"pos_{op.var}")

    def _blocks(self, tensor: str, at: tuple[At, ...]) -> str:
        """Where the blocks of the 16 rows at hand begin."""
        rank = len(at)
        stride = StrideParam(name=f"stride_{tensor}_{rank - 2}", tensor=tensor, axis=rank - 2)
        outer = self._address(tensor, at[:-2], rank) if rank > 2 else self._pointer(tensor)
        return f"{outer} + pos_pair / 8 * 16 * {self._add(stride)}"

    def _load_blocked(self, op: Load) -> list[str]:
        """A warp reads four blocks side by side, as accumulators lie in them."""
        label, place = name_of(op), self._blocks(op.tensor, op.at)
        loads = [
            f"{device.load_global4}(&w_{label}[{4 * n}], (const uint32_t*)({place}"
            f" + (here / 32 * 4 + {n}) * 128 + lane * 4));"
            for n in range(4)
        ]
        text = f"__uint_as_float(w_{label}[j])"
        return [f"uint32_t w_{label}[{self.each}];", *loads, *self._each(op.result, text)]

    def _store_rows(self, op: Store, dtype: DType) -> list[str]:
        """Four lanes exchange pairs of columns, so that each writes 16 bytes of a row."""
        rows, value, pack = op.at[-2].var, f"v_{op.value}", device[PACKS[dtype]]
        words = [
            f"{pack}({value}[{4 * n} + 2 * up], {value}[{4 * n + 1} + 2 * up])" for n in range(4)
        ]
        address = self._address(op.tensor, op.at, along="here / 32 * 32 + lane % 4 * 8")
        return [
            "#pragma unroll",
            "for (int up = 0; up < 2; ++up) {",
            f"  uint32_t x[4] = {{{', '.join(words)}}};",
            f"  {device.quad_transpose}(x);",
            f"  const int pos_{rows} = pos_pair / 8 * 16 + lane / 4 + 8 * up;",
            f"  if (pos_{rows} < len_{rows}) {device.store_global4}({address}, x);",
            "}",
        ]

    def _load(self, op: Load) -> list[str]:
        if self.kernel.tensor(op.tensor).blocked:
            return self._load_blocked(op)
        self._only_rows("a tensor that lies row by row is read", op.result.line)
        label, wide = name_of(op), op.result.dtype is DType.F32
        along = self._along(op.result)  # else one number of a row
        line = self._is_line(op.tensor, op.at) and op.result.dtype in (DType.F32, *PACKS)
        if not along or not line:
            place = self._element(op.tensor, op.at) if along else self._one(op.tensor, op.at)
            element, exists = self._read(op.result.dtype, place), self._there(op.tensor, op.at)
            return self._each(op.result, f"{exists} ? {element} : 0" if exists else element)
        words = EACH if wide else EACH // 2
        text = f"__uint_as_float(w_{label}[j])"
        if not wide:
            unpack = device[f"unpack_{op.result.dtype}"]
            text = f"{unpack}(w_{label}[j / 2], j % 2)"
        address = self._address(op.tensor, op.at)
        loads = [
            f"{device.load_global4}(&w_{label}[{4 * n}], (const uint32_t*)({address}) + {4 * n});"
            for n in range(words // 4)
        ]
        exists = self._there(op.tensor, op.at)
        loads = [f"if ({exists}) {{", *indent(loads, 2), "}"] if exists else loads
        empty = " = {}" if exists else ""
        return [f"uint32_t w_{label}[{words}]{empty};", *loads, *self._each(op.result, text)]

    def _only_rows(self, what: str, line: Line | None) -> None:
        if self.wide:
            raise refusal(
                f"{what} beside one in blocks",
                line,
                why="lanes take elements as blocks hold them",
                fix="tensors in blocks only, functions of their elements",
            )

    def _reduce(self, op: Reduce) -> list[str]:
        self._only_rows("a sum along rows is made", op.result.line)
        if op.over != self.column:
            raise refusal(
                "a reduction over the rows in a kernel without a loop",
                op.result.line,
                why="rows lie in different warps, and in different CTAs",
                fix=f"a loop over them: for {op.over} in wl.steps(...), or a reduction along the "
                "row",
            )
        label, whole = name_of(op), op.result.dtype is DType.I32
        how, first = COMBINE[op.fn, whole], IDENTITY[op.fn, whole]
        lines = [
            f"{scalar_type(op.result.dtype)} {label} = {first};",
            "#pragma unroll",
            f"for (int j = 0; j < {EACH}; ++j) {label} = {how.format(label, self._at(op.arg))};",
        ]
        step = 1
        while step < self.lanes:
            other = f"__shfl_xor_sync(mates, {label}, {step})"
            lines.append(f"{label} = {how.format(label, other)};")
            step *= 2
        return lines

    def _is_blocked(self, op: Store) -> bool:
        return self.kernel.tensor(op.tensor).blocked

    def _clear(self, op: Store) -> list[str]:
        """A constant into blocks: 16 rows by the lanes of eight pairs, existing or not."""
        source = self._value(op.value)
        if not isinstance(source, Broadcast) or not isinstance(self._value(source.arg), Const):
            raise refusal(
                "a tensor in blocks is stored to",
                op.line,
                why="kernels without a loop read blocks, and fill them with one number",
                fix="a tensor that lies row by row",
            )
        constant = self._value(source.arg)
        assert isinstance(constant, Const)
        words = ", ".join([f"__float_as_uint({number(constant.value, DType.F32)})"] * 4)
        place, lanes = self._blocks(op.tensor, op.at), self.lanes
        return [
            f"const uint32_t same_{op.tensor}[4] = {{{words}}};",
            "#pragma unroll",
            f"for (int n = 0; n < 4; ++n) {device.store_global4}({place} + 4 * ({8 * lanes} * n"
            f" + pos_pair % 8 * {lanes} + part / {EACH}), same_{op.tensor});",
        ]

    def _store(self, op: Store) -> list[str]:
        dtype = self.kernel.tensor(op.tensor).dtype
        line = dtype in PACKS and self._is_line(op.tensor, op.at)
        if self.wide and line and self._along(self._result(op.value)):
            return self._store_rows(op, dtype)
        self._only_rows("something other than 16 bits is stored", op.line)
        if op.add:
            raise refusal(
                f"a sum in '{op.tensor}' by a kernel without a loop",
                op.line,
                why="its rows are written once",
                fix="store with =, or sum along a loop: for n in wl.steps(x.n):",
            )
        address, exists = self._address(op.tensor, op.at), self._there(op.tensor, op.at)
        value = f"v_{op.value}"
        if not self._along(self._result(op.value)):
            there = f"part == 0 && {exists}" if exists else "part == 0"
            return [f"if ({there}) *({address}) = {self._written(dtype, value)};"]
        if exists:
            lines = self._stored_row(op, dtype, address)
            return [f"if ({exists}) {{", *indent(lines, 2), "}"]
        return self._stored_row(op, dtype, address)

    def _stored_row(self, op: Store, dtype: DType, address: str) -> list[str]:
        """A lane's elements: 16 bytes at once where rows lie so."""
        value = f"v_{op.value}"
        if not self._is_line(op.tensor, op.at) or dtype not in (DType.F32, *PACKS):
            element = self._element(op.tensor, op.at)
            return [
                "#pragma unroll",
                f"for (int j = 0; j < {self.each}; ++j)"
                f" {element} = {self._written(dtype, f'{value}[j]')};",
            ]
        if dtype is DType.F32:
            bits = [f"__float_as_uint({value}[{e}])" for e in range(EACH)]
            lines = []
            for n in range(0, EACH, 4):
                some = f"out_{op.tensor}_{n}"
                lines += [
                    f"const uint32_t {some}[4] = {{{', '.join(bits[n : n + 4])}}};",
                    f"{device.store_global4}({address} + {n}, {some});",
                ]
            return lines
        source = self._value(op.value)
        if isinstance(source, Load) and source.result.dtype is dtype:  # a copy
            return [f"{device.store_global4}({address}, w_{value});"]
        pack = device[PACKS[dtype]]
        pairs = [f"{pack}({value}[{e}], {value}[{e + 1}])" for e in range(0, EACH, 2)]
        return [
            f"const uint32_t out_{op.tensor}[4] = {{{', '.join(pairs)}}};",
            f"{device.store_global4}({address}, out_{op.tensor});",
        ]
