"""Kernels without a loop as CUDA source: rows of whole tiles, each by a few neighbouring lanes.

What is printed is the module's vector work, one operation a statement. A lane's elements are an
array, what a row has once is a number. Everything that lies so is read and written by 16 bytes. Row
numbers have 32 bits: more rows than that fit in no GPU's memory.
"""

from __future__ import annotations

from collections.abc import Callable

from warploom.codegen.cuda import ptx
from warploom.codegen.cuda.device import device, noted
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.expressions import (
    COMBINE,
    IDENTITY,
    number,
    pointwise,
    read_element,
    wrapped,
    written_element,
)
from warploom.codegen.cuda.tile.helpers import definitions
from warploom.codegen.cuda.tile.signature import (
    Param,
    PointerParam,
    ScalarParam,
    SizeParam,
    StrideParam,
)
from warploom.codegen.cuda.tile.source import ENTRY, Source
from warploom.codegen.cuda.tile.stores import PACKS
from warploom.errors import BackendError
from warploom.ir import operations as ops
from warploom.ir.expr import (
    Binary,
    Const,
    IntExpr,
    Op,
    Sym,
    SymKind,
    conjuncts,
    show,
    size,
    symbols,
)
from warploom.ir.module import KernelModule, TensorArg
from warploom.ir.rows import (
    COL,
    EACH,
    THREADS,
    along_blocks,
    in_blocks,
    in_rows,
    lanes_of,
    last_position,
    position,
    row_exists,
    row_numbers,
)
from warploom.ir.types import DType, Fn

WRAPPED = (Fn.ADD, Fn.SUB, Fn.MUL, Fn.NEG)
LINES = (DType.F32, *PACKS)  # types that eight neighbours of are moved by 16 bytes


def emit_rows(module: KernelModule) -> Source:
    """The CUDA source of a kernel that neither loops nor multiplies matrices."""
    return _Printer(module).source()


def _not_printed(what: str) -> BackendError:
    return BackendError(
        f"{what} is not printed",
        why="rows are printed as ir.rows lays them out, with conditions on rows and indices only",
        fix="the module as its pass built it",
    )


class _Printer:
    def __init__(self, module: KernelModule) -> None:
        self.module = module
        (role,) = module.roles
        assert role.tiles is not None
        self.schedule, self.vectors = role.tiles.schedule, role.tiles.body
        self.lanes = lanes_of(self.schedule)
        self.params: dict[str, Param] = {}
        self.rows = self.schedule.units[-1]
        self.wide = False
        self.types: dict[str, DType] = {}
        self.along: set[str] = set()  # values that a lane has several elements of
        self.constants: dict[str, ops.VectorConst] = {}
        self.copies: dict[str, DType] = {}  # what eight neighbours were loaded as

    def source(self) -> Source:
        with noted() as called:
            text = "\n".join(self.lines())
        parts = [ptx.TYPES, definitions(called), text + "\n"]
        return Source(
            text="\n".join(parts),
            entry=ENTRY,
            params=tuple(self.params.values()),
            threads=THREADS,
            shared_bytes=0,
        )

    def lines(self) -> list[str]:
        layout, row = along_blocks(self.schedule)
        vectors = [v for v in self.vectors if isinstance(v, ops.Vector)]
        if len(vectors) < len(self.vectors):
            raise _not_printed("something beside vector work")
        clearing = [v for v in vectors if v.layout == layout]
        work = [x for v in vectors if v not in clearing for x in self.work(v)]
        clears = [x for v in clearing for x in self.clear(v, row)]
        rows = THREADS // self.lanes
        if self.wide:
            work = [
                "const int lane = threadIdx.x % 32;",
                f"const int here = pos_pair % 8 * {self.lanes} + part / {EACH};",
                *work,
            ]
        elif self.schedule.paired:
            name, length = self.rows.var, self.size(self.rows.axis)
            work = [
                "#pragma unroll",
                "for (int up = 0; up < 2; ++up) {  // two rows that share their blocks' bytes",
                f"  const int pos_{name} = pos_pair / 8 * 16 + pos_pair % 8 + 8 * up;",
                f"  if (pos_{name} >= {length}) continue;",
                *indent(work, 2),
                "}",
            ]
        places, total = self.places()
        return [
            f'extern "C" __global__ void __launch_bounds__({THREADS}) {ENTRY}(',
            "    " + ",\n    ".join(p.text for p in self.params.values()) + ") {",
            f"  {device.await_kernel_before}();",
            f"  const int part = threadIdx.x % {self.lanes} * {EACH};",
            f"  const unsigned mates = 0x{(1 << self.lanes) - 1:x}u << (threadIdx.x % 32 /"
            f" {self.lanes} * {self.lanes});  // the lanes of this row",
            f"  for (unsigned row = blockIdx.x * {rows} + threadIdx.x / {self.lanes};"
            f" row < {total};",
            f"       row += gridDim.x * {rows}) {{",
            "    unsigned rest = row;",
            *indent([*places, *clears, *work], 4),
            "  }",
            "}",
        ]

    def places(self) -> tuple[list[str], str]:
        """Where a row stands along every variable, and how many rows (or pairs) there are."""
        places, factors = [], []
        for n, axis in reversed(list(enumerate(self.schedule.units))):
            count, label = self.size(axis.axis), axis.var
            if self.schedule.paired and axis == self.rows:
                count, label = f"(({count} + 15) / 16 * 8)", "pair"
            factors.append(f"(unsigned){count}")
            inner = [f"const int pos_{label} = rest % {count};", f"rest /= {count};"]
            places += inner if n else [f"const int pos_{label} = (int)rest;"]
        return places, " * ".join(factors)

    def operations(self, vector: ops.Vector, last: IntExpr) -> list[ops.VectorOp]:
        """The operations after those that say where the row lies, which must be the layout's."""
        numbers = dict(row_numbers(self.schedule)) | {self.rows.var: last}
        wanted = [ops.VectorIndex(result=position(n), value=v) for n, v in numbers.items()]
        count = len(wanted)
        if list(vector.body[:count]) != wanted:
            raise _not_printed("a row that lies elsewhere")
        return list(vector.body[count:])

    # Values.

    def work(self, vector: ops.Vector) -> list[str]:
        self.wide = vector.layout == in_blocks(self.schedule)
        if not self.wide and vector.layout != in_rows(self.schedule):
            raise _not_printed("another layout of rows")
        last = last_position(self.schedule, vector.layout)
        return [x for op in self.operations(vector, last) for x in self.operation(op)]

    def operation(self, op: ops.VectorOp) -> list[str]:  # noqa: PLR0911 (one case a kind)
        match op:
            case ops.VectorConst():
                return self.value(op.result, op.dtype, lambda: number(op.value, op.dtype))
            case ops.VectorScalar():
                name = f"arg_{op.parameter}"
                dtype = next(p.dtype for p in self.module.scalars if p.name == op.parameter)
                self.add(ScalarParam(name=name, parameter=op.parameter, dtype=dtype))
                return self.value(op.result, dtype, lambda: name)
            case ops.VectorIndex():
                along = self.varies(op.value)
                return self.value(op.result, DType.I32, lambda: self.integer(op.value), along=along)
            case ops.VectorLoad():
                return self.load(op)
            case ops.VectorPointwise():
                return self.pointwise(op)
            case ops.VectorReduce():
                return self.reduce(op)
            case ops.VectorStore():
                return self.store(op)
            case _:
                raise _not_printed(type(op).__name__)

    def value(
        self, name: str, dtype: DType, text: Callable[[], str], *, along: bool = False
    ) -> list[str]:
        """A number, or an array of a lane's elements, element ``j`` of which is ``text``."""
        self.types[name] = dtype
        kind, label = scalar_type(dtype), f"v_{name}"
        if not along:
            return [f"const {kind} {label} = {text()};"]
        each, made = self.each, text()
        self.along.add(name)
        return [
            f"{kind} {label}[{each}];",
            "#pragma unroll",
            f"for (int j = 0; j < {each}; ++j) {label}[j] = {made};",
        ]

    @property
    def each(self) -> int:
        return 2 * EACH if self.wide else EACH

    def at(self, name: str) -> str:
        return f"v_{name}[j]" if name in self.along else f"v_{name}"

    def pointwise(self, op: ops.VectorPointwise) -> list[str]:
        types, args = [self.types[a] for a in op.args], [self.at(a) for a in op.args]
        along = any(a in self.along for a in op.args)
        if op.fn is Fn.CAST and types[0] is op.dtype:
            return self.value(op.result, op.dtype, lambda: args[0], along=along)
        if op.dtype is DType.I32 and op.fn in WRAPPED:
            return self.value(op.result, op.dtype, lambda: wrapped(op.fn, args), along=along)
        text = pointwise(op.fn, args, op.dtype, types)
        return self.value(op.result, op.dtype, lambda: text, along=along)

    def reduce(self, op: ops.VectorReduce) -> list[str]:
        steps = tuple(1 << n for n in range(self.lanes.bit_length() - 1))
        if op.over != ("j",) or op.lanes != steps or self.wide:
            raise _not_printed("a reduction over something else than a row")
        self.types[op.result] = op.dtype
        label, whole = f"v_{op.result}", op.dtype is DType.I32
        how, first = COMBINE[op.fn, whole], IDENTITY[op.fn, whole]
        return [
            f"{scalar_type(op.dtype)} {label} = {first};",
            "#pragma unroll",
            f"for (int j = 0; j < {EACH}; ++j) {label} = {how.format(label, self.at(op.arg))};",
            *(
                f"{label} = {how.format(label, f'__shfl_xor_sync(mates, {label}, {step})')};"
                for step in steps
            ),
        ]

    # Memory.

    def load(self, op: ops.VectorLoad) -> list[str]:
        if self.tensor(op.tensor).blocked:
            return self.load_blocks(op)
        if self.wide:
            raise _not_printed("a tensor that lies row by row, beside one in blocks,")
        along = any(self.varies(x) for x in op.at)
        label = f"v_{op.result}"
        if not (along and self.is_line(op.tensor, op.at) and op.dtype in LINES):
            place = self.element(op.tensor, op.at) if along else self.one(op.tensor, op.at)
            exists = self.guard(op.predicate)[1]
            text = read(op.dtype, place)
            text = f"{exists} ? {text} : 0" if exists else text
            return self.value(op.result, op.dtype, lambda: text, along=along)
        wide = op.dtype is DType.F32
        words = EACH if wide else EACH // 2
        if wide:
            text = f"__uint_as_float(w_{label}[j])"
        else:
            text = f"{device[f'unpack_{op.dtype}']}(w_{label}[j / 2], j % 2)"
        address = self.address(op.tensor, op.at)
        loads = [
            f"{device.load_global4}(&w_{label}[{4 * n}], (const uint32_t*)({address}) + {4 * n});"
            for n in range(words // 4)
        ]
        exists = self.guard(op.predicate)[1]
        loads = [f"if ({exists}) {{", *indent(loads, 2), "}"] if exists else loads
        empty = " = {}" if exists else ""
        self.copies[op.result] = op.dtype
        return [
            f"uint32_t w_{label}[{words}]{empty};",
            *loads,
            *self.value(op.result, op.dtype, lambda: text, along=True),
        ]

    def load_blocks(self, op: ops.VectorLoad) -> list[str]:
        """A warp reads four blocks side by side, as accumulators lie in them: rows that do not
        exist lie in the block, too.
        """
        if self.guard(op.predicate) != (False, ""):
            raise _not_printed("a condition on blocks")
        label, place = f"v_{op.result}", self.blocks(op.tensor, op.at)
        loads = [
            f"{device.load_global4}(&w_{label}[{4 * n}], (const uint32_t*)({place}"
            f" + (here / 32 * 4 + {n}) * 128 + lane * 4));"
            for n in range(4)
        ]
        text = f"__uint_as_float(w_{label}[j])"
        words = f"uint32_t w_{label}[{self.each}];"
        return [words, *loads, *self.value(op.result, op.dtype, lambda: text, along=True)]

    def clear(self, vector: ops.Vector, row: IntExpr) -> list[str]:
        """A constant into blocks: 16 rows by the lanes of eight pairs, existing or not."""
        constant, store = (None, None)
        for op in self.operations(vector, row):
            constant = op if isinstance(op, ops.VectorConst) else constant
            store = op if isinstance(op, ops.VectorStore) else store
        other = _not_printed("a store into blocks other than of one number")
        if len(vector.body) != len(self.schedule.units) + 2 or constant is None or store is None:
            raise other
        plain = self.guard(store.predicate) == (False, "") and not store.add
        plain = plain and store.dtype is constant.dtype is DType.F32
        if store.value != constant.result or not plain or not self.tensor(store.tensor).blocked:
            raise other
        words = ", ".join([f"__float_as_uint({number(constant.value, DType.F32)})"] * 4)
        place, lanes = self.blocks(store.tensor, store.at), self.lanes
        return [
            f"const uint32_t same_{store.tensor}[4] = {{{words}}};",
            "#pragma unroll",
            f"for (int n = 0; n < 4; ++n) {device.store_global4}({place} + 4 * ({8 * lanes} * n"
            f" + pos_pair % 8 * {lanes} + part / {EACH}), same_{store.tensor});",
        ]

    def store(self, op: ops.VectorStore) -> list[str]:
        tensor = self.tensor(op.tensor)
        if op.add or op.turn is not None or tensor.blocked:
            raise _not_printed("a sum in memory")
        if self.wide:
            return self.store_rows(op)
        along = any(self.varies(x) for x in op.at)
        address = self.address(op.tensor, op.at)
        once, exists = self.guard(op.predicate)
        if along == once:
            raise _not_printed("a number of a row that several lanes store")
        if once:
            there = f"part == 0 && {exists}" if exists else "part == 0"
            return [f"if ({there}) *({address}) = {written(op.dtype, f'v_{op.value}')};"]
        lines = self.stored_row(op, address)
        return [f"if ({exists}) {{", *indent(lines, 2), "}"] if exists else lines

    def stored_row(self, op: ops.VectorStore, address: str) -> list[str]:
        """A lane's elements: 16 bytes at once where rows lie so."""

        def element(n: int) -> str:
            return f"v_{op.value}[{n}]" if op.value in self.along else f"v_{op.value}"

        if not self.is_line(op.tensor, op.at) or op.dtype not in LINES:
            place = self.element(op.tensor, op.at)
            return [
                "#pragma unroll",
                f"for (int j = 0; j < {EACH}; ++j)"
                f" {place} = {written(op.dtype, self.at(op.value))};",
            ]
        if op.dtype is DType.F32:
            bits = [f"__float_as_uint({element(e)})" for e in range(EACH)]
            lines = []
            for n in range(0, EACH, 4):
                some = f"out_{op.tensor}_{n}"
                lines += [
                    f"const uint32_t {some}[4] = {{{', '.join(bits[n : n + 4])}}};",
                    f"{device.store_global4}({address} + {n}, {some});",
                ]
            return lines
        if self.copies.get(op.value) is op.dtype:  # what was loaded, as it was loaded
            return [f"{device.store_global4}({address}, w_v_{op.value});"]
        pack = device[PACKS[op.dtype]]
        pairs = [f"{pack}({element(e)}, {element(e + 1)})" for e in range(0, EACH, 2)]
        return [
            f"const uint32_t out_{op.tensor}[4] = {{{', '.join(pairs)}}};",
            f"{device.store_global4}({address}, out_{op.tensor});",
        ]

    def store_rows(self, op: ops.VectorStore) -> list[str]:
        """Four lanes exchange pairs of columns, so that each writes 16 bytes of a row."""
        rows = Sym(SymKind.VALUE, position(self.rows.var))
        line = self.is_line(op.tensor, op.at) and op.at[-2] == rows
        if not line or op.dtype not in PACKS or op.value not in self.along:
            raise _not_printed("something other than rows of 16 bits, out of blocks,")
        value, pack = f"v_{op.value}", device[PACKS[op.dtype]]
        words = [
            f"{pack}({value}[{4 * n} + 2 * up], {value}[{4 * n + 1} + 2 * up])" for n in range(4)
        ]
        address = self.address(op.tensor, op.at, column="here / 32 * 32 + lane % 4 * 8")
        name, length = self.rows.var, self.size(self.rows.axis)
        if self.guard(op.predicate) != (False, ""):
            raise _not_printed("a condition on rows out of blocks")
        return [
            "#pragma unroll",
            "for (int up = 0; up < 2; ++up) {",
            f"  uint32_t x[4] = {{{', '.join(words)}}};",
            f"  {device.quad_transpose}(x);",
            f"  const int pos_{name} = pos_pair / 8 * 16 + lane / 4 + 8 * up;",
            f"  if (pos_{name} < {length}) {device.store_global4}({address}, x);",
            "}",
        ]

    def guard(self, predicate: IntExpr | None) -> tuple[bool, str]:
        """What a condition asks beside that the row exists: whether of the first lane only, and
        that computed indices lie on their axes.
        """
        conditions = conjuncts(predicate)
        if row_exists(self.schedule) not in conditions:
            raise _not_printed("an access of rows that do not exist")
        known = [row_exists(self.schedule)]
        if self.schedule.paired:
            last = Sym(SymKind.VALUE, position(self.rows.var))
            known.append(Binary(Op.LT, last, size(self.rows.axis)))
        left = [c for c in conditions if c not in known]
        first = Binary(Op.EQ, COL, Const(0))
        inside = [c for c in left if c != first]
        return first in left, " && ".join(self.within(inside))

    def within(self, conditions: list[IntExpr]) -> list[str]:
        """Pairs of ``0 <= index`` and ``index < length``."""
        texts = []
        for low, high in zip(conditions[::2], conditions[1::2], strict=len(conditions) % 2 == 0):
            match low, high:
                case Binary(Op.GE, a, Const(0)), Binary(Op.LT, b, length) if a == b:
                    texts.append(f"(unsigned){self.integer(a)} < (unsigned){self.integer(length)}")
                case _:
                    raise _not_printed("another condition")
        if len(conditions) % 2:
            raise _not_printed("another condition")
        return texts

    # Places.

    def add(self, param: Param) -> str:
        self.params.setdefault(param.name, param)
        return param.name

    def tensor(self, name: str) -> TensorArg:
        return self.module.tensor(name)

    def size(self, axis: str) -> str:
        return self.add(SizeParam(name=f"len_{axis}", axis=axis))

    def pointer(self, name: str) -> str:
        tensor = self.tensor(name)
        written_to = tensor.access == "out"
        return self.add(
            PointerParam(name=f"ptr_{name}", tensor=name, dtype=tensor.dtype, written=written_to)
        )

    def stride(self, tensor: str, axis: int) -> str:
        return self.add(StrideParam(name=f"stride_{tensor}_{axis}", tensor=tensor, axis=axis))

    def varies(self, expr: IntExpr) -> bool:
        """Whether an index is another one for every element of a lane."""
        own = (s.name for s in symbols(expr) if s.kind is SymKind.VALUE)
        return COL in symbols(expr) or any(name in self.along for name in own)

    def integer(self, expr: IntExpr, column: str = "part + j") -> str:
        return show(expr, lambda s: self.symbol(s, column))

    def symbol(self, s: Sym, column: str) -> str:
        if s == COL:
            return f"({column})"
        if s.kind is SymKind.SIZE:
            return self.size(s.name)
        places = {position(axis.var): f"pos_{axis.var}" for axis in self.schedule.units}
        if s.kind is SymKind.VALUE and s.name in {**places, **self.types}:
            return places.get(s.name) or self.at(s.name)
        raise _not_printed(f"an index of {s.name}")

    def is_line(self, tensor: str, at: tuple[IntExpr, ...]) -> bool:
        """Whether a lane's elements are neighbours in memory that begin at 16 bytes: rows of a
        tensor do, vectors may begin anywhere.
        """
        return len(at) > 1 and at[-1] == COL and not any(self.varies(x) for x in at[:-1])

    def element(self, tensor: str, at: tuple[IntExpr, ...]) -> str:
        """The place of element ``j`` of a lane."""
        terms = []
        for n, index in enumerate(at):
            last = n == len(at) - 1
            place = "part + j" if last and index == COL else self.integer(index)
            terms.append(place if last else f"{_factor(place, index)} * {self.stride(tensor, n)}")
        return f"{self.pointer(tensor)}[{' + '.join(terms)}]"

    def one(self, tensor: str, at: tuple[IntExpr, ...]) -> str:
        return f"*({self.address(tensor, at)})"

    def address(
        self, tensor: str, at: tuple[IntExpr, ...], rank: int = 0, column: str = "part"
    ) -> str:
        """The place of a lane's first element; of fewer indices than ``rank``, the rest at 0."""
        terms = []
        for n, index in enumerate(at):
            last = n == (rank or len(at)) - 1
            place = column if last and index == COL else self.integer(index, column)
            terms.append(place if last else f"{_factor(place, index)} * {self.stride(tensor, n)}")
        return f"{self.pointer(tensor)} + {' + '.join(terms)}"

    def blocks(self, tensor: str, at: tuple[IntExpr, ...]) -> str:
        """Where the blocks of the 16 rows at hand begin."""
        rank = len(at)
        if at[-2:] != (Sym(SymKind.VALUE, position(self.rows.var)), COL):
            raise _not_printed("a part of blocks")
        outer = self.address(tensor, at[:-2], rank) if rank > 2 else self.pointer(tensor)
        return f"{outer} + pos_pair / 8 * 16 * {self.stride(tensor, rank - 2)}"


def _factor(text: str, index: IntExpr) -> str:
    return text if isinstance(index, Sym | Const) else f"({text})"


def scalar_type(dtype: DType) -> str:
    """The type of a number in the source."""
    return {DType.I32: "int", DType.I8: "int", DType.BOOL: "bool"}.get(dtype, "float")


def read(dtype: DType, place: str) -> str:
    """An element of memory as a number."""
    if dtype in (DType.E4M3, DType.E5M2):
        return f"{device[f'unpack_{dtype}']}({place}, 0)"
    return read_element(dtype, place)


def written(dtype: DType, text: str) -> str:
    """A number as an element of memory."""
    return text if dtype is DType.F32 else written_element(dtype, text)
