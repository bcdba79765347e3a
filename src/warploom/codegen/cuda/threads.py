"""Thread programs as CUDA source: one statement of the module, one statement of the text."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.codegen.cuda import ptx
from warploom.codegen.cuda.device import device, noted
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.expressions import COMBINE, number, pointwise, wrapped
from warploom.codegen.cuda.tile.helpers import definitions
from warploom.codegen.cuda.tile.inline import definition, name_of
from warploom.codegen.cuda.tile.signature import (
    C_TYPES,
    Param,
    PointerParam,
    ScalarParam,
    SizeParam,
    StrideParam,
)
from warploom.codegen.cuda.tile.source import ENTRY, SMEM_START, Source
from warploom.ir import threads as ir
from warploom.ir.expr import (
    CALLS,
    PRECEDENCE,
    Binary,
    Const,
    Element,
    Op,
    Select,
    Sym,
    SymKind,
)
from warploom.ir.module import KernelModule, TensorArg
from warploom.ir.thread_checks import check_threads, scalar_declared
from warploom.ir.threads import ArgumentKind, Statement, Term, ThreadProgram, type_of
from warploom.ir.tile import Inline
from warploom.ir.tile_schedule import CTA, CTAS
from warploom.ir.types import DType, Fn, Line

WRAPPED = (Fn.ADD, Fn.SUB, Fn.MUL, Fn.NEG)
INTEGERS = (DType.I32, DType.I8, DType.I4)
SHUFFLES = {
    ir.Exchange.XOR: "__shfl_xor_sync",
    ir.Exchange.UP: "__shfl_up_sync",
    ir.Exchange.DOWN: "__shfl_down_sync",
    ir.Exchange.LANE: "__shfl_sync",
}
HERE = {ir.TID: "threadIdx.x", CTA: "blockIdx.x", CTAS: "gridDim.x"}

CHOICE, UNARY, ATOM = 0, 8, 9  # how strongly terms bind that are no operators
SUM = PRECEDENCE[Op.ADD] + 1
SLAB = 128  # bytes of a row of an operand tile that are swizzled among themselves
STEP_BYTES = 32  # of K, of one product
BLOCK = 64  # columns of a slab of 16-bit elements, where rows are K
MMA_NAMES = {
    DType.BF16: "bf16",
    DType.F16: "fp16",
    DType.E4M3: "e4m3",
    DType.E5M2: "e5m2",
    DType.I8: "i8",
}


def emit_threads(module: KernelModule) -> Source:
    """The CUDA source of a module whose threads run one program."""
    check_threads(module)
    assert module.threads is not None
    return _Printer(module, module.threads).source()


class _Printer:
    def __init__(self, module: KernelModule, program: ThreadProgram) -> None:
        self.module, self.program = module, program
        self.registers: ir.Types = {}
        self.line: Line | None = None  # of the author's, of the statement at hand
        self.functions: dict[str, Inline] = {}
        self.covers: dict[str, int] = {}  # bytes of each
        self.addresses: dict[str, ir.Address] = {}
        self.tiles: dict[str, ir.OperandTile] = {}
        self.products: dict[str, str] = {}  # wrappers of instructions, by name
        self.assigned = ir.assigned(program.body)

    def source(self) -> Source:
        program, kernel = self.program, self.module.kernel
        shared_bytes = self.module.launch.shared_bytes
        params = tuple(self.param(a) for a in program.arguments)
        line = kernel.line
        with noted() as called:
            placed = self.placed() if _has_tiles(program) else []
            body = self.lines(program.body)
        text = "\n".join(
            [
                f"// Kernel {kernel.name}, {line or 'a tile kernel'}: {program.threads} threads,"
                f" {program.lanes} to a row.",
                f'extern "C" __global__ void __launch_bounds__({program.threads}) {ENTRY}(',
                "    " + ",\n    ".join(p.text for p in params) + ") {",
                *(["  extern __shared__ uint8_t dynamic_smem[];"] if shared_bytes else []),
                *placed,
                *indent(body, 2),
                "}",
            ]
        )
        own = (definition(name, code) for name, code in self.functions.items())
        written_in = "\n".join([*self.products.values(), *own])
        parts = [ptx.TYPES, definitions(called), *([written_in] if written_in else []), text + "\n"]
        return Source(
            text="\n".join(parts),
            entry=ENTRY,
            params=params,
            threads=program.threads,
            shared_bytes=shared_bytes,
            any_alignment=True,
            passes=program.rereads,
        )

    def tensor(self, name: str) -> TensorArg:
        return self.module.tensor(name)

    def param(self, argument: ir.Argument) -> Param:
        name = argument.name
        match argument.kind:
            case ArgumentKind.POINTER:
                tensor = self.tensor(name)
                return PointerParam(
                    name=pointer(name),
                    tensor=name,
                    dtype=tensor.dtype,
                    written=tensor.access == "out",
                )
            case ArgumentKind.STRIDE:
                axis = argument.axis
                return StrideParam(name=stride(name, axis), tensor=name, axis=axis)
            case ArgumentKind.SIZE:
                return SizeParam(name=length(name), axis=name)
            case ArgumentKind.SCALAR:
                dtype = scalar_declared(self.module, name)
                return ScalarParam(name=scalar(name), parameter=name, dtype=dtype)

    # Statements.

    def lines(self, body: Sequence[Statement]) -> list[str]:
        return [line for statement in body for line in self.statement(statement)]

    def statement(self, s: Statement) -> list[str]:  # noqa: C901, PLR0911, PLR0912 (a case a kind)
        match s:
            case ir.Author():
                self.line = s.line
                return []
            case ir.Declare():
                return [self.declaration(s)]
            case ir.View():
                kind = register_type(s.dtype)
                self.registers[s.name] = (s.dtype, False)
                at = f" + {s.offset}" if s.offset else ""
                return [f"{kind}* const {s.name} = ({kind}*)(dynamic_smem{at});"]
            case ir.Assign():
                at = "" if s.index is None else f"[{self.term(s.index)}]"
                return [f"{s.name}{at} = {self.term(s.value)};"]
            case ir.Put():
                return [f"{s.view}[{self.term(s.index)}] = {self.term(s.value)};"]
            case ir.Fetch():
                into = s.into if s.index == Const(0) else f"&{s.into}[{self.term(s.index)}]"
                moved = f"(const void*)({self.address(s.tensor, s.at)})"
                return [f"{device.load_bytes}<{self.bytes(s.tensor, s.width)}>({into}, {moved});"]
            case ir.Send():
                source = s.source
                source = source if s.index == Const(0) else f"&{source}[{self.term(s.index)}]"
                moved = f"(void*)({self.address(s.tensor, s.at)})"
                return [
                    f"{device.store_bytes}<{self.bytes(s.tensor, s.width)}>({moved}, {source});"
                ]
            case ir.Covers() | ir.FetchCover() | ir.TakeCovered():
                return [self.cover(s)]
            case ir.SendShifted():
                size = self.bytes(s.tensor, s.width)
                here, before, after = (self.term(x) for x in (s.here, s.before, s.after))
                to = self.address(s.tensor, s.at)
                return [
                    f"{device.store_shifted}<{size}>({to}, {s.source}, {here}, {before}, {after});"
                ]
            case ir.Write():
                return [f"{self.element(s.tensor, s.at)} = {self.term(s.value)};"]
            case ir.Merge():
                kind = self.tensor(s.tensor).dtype
                place = f"&{self.element(s.tensor, s.at)}"
                name = device[f"{s.fn}_element_{kind}"]
                return [f"{name}({place}, {self.term(s.value)});"]
            case ir.Address():
                self.addresses[s.name] = s
                kind = C_TYPES[self.tensor(s.tensor).dtype]
                to = f"{pointer(s.tensor)} + ({self.offset(s.tensor, s.at)})"
                return [f"const {kind}* const {s.name} = {to};"]
            case ir.FetchNearby():
                size = self.bytes(self.addresses[s.address].tensor, s.width)
                return [f"{device.load_bytes}<{size}>({s.into}, {s.address});"]
            case ir.OperandTile():
                self.tiles[s.name] = s
                return []
            case ir.PutTile() | ir.PutChunk() | ir.ClearTile():
                return self.put_tile(s)
            case ir.ProxyFence():
                return [f"{device.proxy_fence}();"]
            case ir.MmaFence():
                return [*(self.settled(name) for name in s.registers), f"{device.wgmma_fence}();"]
            case ir.Mma():
                return [self.product(s)]
            case ir.MmaCommit():
                return [f"{device.wgmma_commit}();"]
            case ir.MmaWait():
                return [f"{device.wgmma_wait}<{s.pending}>();"]
            case ir.Barrier():
                return ["__syncthreads();"]
            case ir.AwaitKernelBefore():
                return [f"{device.await_kernel_before}();"]
            case ir.Break():
                return ["break;"]
            case ir.Continue():
                return ["continue;"]
            case ir.Scope():
                return ["{", *indent(self.lines(s.body), 2), "}"]
            case ir.If():
                return self.condition(s)
            case ir.For():
                return self.loop(s)

    def declaration(self, s: ir.Declare) -> str:
        self.registers[s.name] = (s.dtype, s.raw)
        if s.raw:
            zeros = "" if s.value is None else " = {}"
            return f"alignas(16) {C_TYPES[s.dtype]} {s.name}[{s.count}]{zeros};"
        many = f"[{s.count}]" if s.count else ""
        value = "" if s.value is None else f" = {self.term(s.value)}"
        kept = "" if s.value is None or id(s) in self.assigned else "const "
        if kept and isinstance(s.value, Const | ir.Number) and not s.holds:
            kept = "constexpr "
        return f"{kept}{register_type(s.dtype)} {s.name}{many}{value};"

    def condition(self, s: ir.If) -> list[str]:
        body = self.lines(s.body)
        head = f"if ({self.term(s.condition)})"
        if len(body) == 1 and not s.otherwise:
            return [f"{head} {body[0]}"]
        lines = [f"{head} {{", *indent(body, 2)]
        if s.otherwise:
            lines += ["} else {", *indent(self.lines(s.otherwise), 2)]
        return [*lines, "}"]

    def loop(self, s: ir.For) -> list[str]:
        first = ""
        if s.first is not None:
            dtype = DType.U32 if s.unsigned else DType.I32
            self.registers[s.counter] = (dtype, False)
            first = f"{register_type(dtype)} {s.counter} = {self.term(s.first)}"
        end = f"{s.counter} < {self.term(s.end, PRECEDENCE[Op.LT] + 1)}"
        if s.running is not None:
            end = f"{self.term(s.running, PRECEDENCE[Op.AND])} && {end}"
        step = self.term(s.step)
        more = f"++{s.counter}" if s.step == Const(1) else f"{s.counter} += {step}"
        head = f"for ({first}; {end}; {more}) {{"
        return [
            *([f"#pragma unroll{f' {s.times}' if s.times else ''}"] if s.unroll else []),
            head,
            *indent(self.lines(s.body), 2),
            "}",
        ]

    # Operand tiles and products.

    def placed(self) -> list[str]:
        """Descriptors of operands have addresses that are numbers; the kernel checks them."""
        own = f"{device.shared_address}(dynamic_smem)"
        return [
            f"  constexpr uint32_t smem = {SMEM_START};",
            f'  if ({own} != smem) asm volatile("trap;");',
        ]

    def put_tile(self, s: ir.PutTile | ir.PutChunk | ir.ClearTile) -> list[str]:
        tile = self.tiles[s.tile]
        if isinstance(s, ir.ClearTile):
            chunks, threads = tile_bytes(tile) // 16, self.program.threads
            return [
                "{",
                "  alignas(16) const uint32_t none[4] = {};",
                f"  for (int i = threadIdx.x; i < {chunks}; i += {threads})",
                f"    {device.store_shared_v4}(smem + {tile.offset} + i * 16, none);",
                "}",
            ]
        size = tile.dtype.bits // 8
        byte = f"{device.tile_byte}<{size}, {tile.rows * SLAB}>"
        at = f"smem + {tile.offset} + {byte}({self.term(s.row)}, {self.term(s.column)})"
        if isinstance(s, ir.PutChunk):
            return [f"{device.store_shared_v4}({at}, {s.source});"]
        value = f"(uint32_t)({self.term(s.value)})"
        return [f"{device[f'store_shared_{tile.dtype.bits}']}({at}, {value});"]

    def settled(self, name: str) -> str:
        whole_ = self.registers[name][0] in INTEGERS
        return f"{device.settle_integers if whole_ else device.settle_floats}({name});"

    def product(self, s: ir.Mma) -> str:
        one, two = (MMA_NAMES[self.tiles[x.tile].dtype] for x in (s.a, s.b))
        types = one if one == two else f"{one}_{two}"
        turned = {"a_mn_major": s.a.turned, "b_mn_major": s.b.turned}
        name = ptx.wgmma_name(s.columns, types, **turned)
        self.products.setdefault(name, ptx.wgmma_function(s.columns, types, **turned))
        kind = register_type(self.registers[s.into][0])
        into = f"*({kind}(*)[{s.columns // 2}])&{s.into}[{self.term(s.index)}]"
        return f"{name}({into}, {self.operand(s.a)}, {self.operand(s.b)}, 1);"

    def operand(self, x: ir.Operand) -> str:
        """The descriptor of a tile's rows from ``first`` on, and the columns of a step."""
        tile = self.tiles[x.tile]
        size, slab = tile.dtype.bits // 8, tile.rows * SLAB
        first, step = (self.term(t, PRECEDENCE[Op.MUL]) for t in (x.first, x.step))
        if x.turned:  # rows are K, columns M or N in slabs
            at = f"{first} / {BLOCK} * {slab} + {step} * {STEP_BYTES // size * SLAB}"
            return f"{device.operand_mn_major}(smem + {tile.offset} + {at}, {slab})"
        within = SLAB // STEP_BYTES
        at = f"{first} * {SLAB} + {step} / {within} * {slab} + {step} % {within} * {STEP_BYTES}"
        return f"{device.operand_k_major}(smem + {tile.offset} + {at})"

    # Memory.

    def cover(self, s: ir.Covers | ir.FetchCover | ir.TakeCovered) -> str:
        """Neighbours at any address: loaded with what is around them, then shifted."""
        if isinstance(s, ir.Covers):
            size = s.width * max(1, s.dtype.bits // 8)
            self.covers[s.name] = size
            return f"alignas(16) uint32_t {s.name}[{s.count * cover_words(size)}];"
        name, number_ = (s.into, s.index) if isinstance(s, ir.FetchCover) else (s.cover, s.number)
        size = self.covers[name]
        at = f"(const void*)({self.address(s.tensor, s.at)})"
        place = f"&{name}[{self.term(number_, PRECEDENCE[Op.MUL])} * {cover_words(size)}]"
        if isinstance(s, ir.FetchCover):
            return f"{device.load_cover}<{size}>({place}, {at});"
        into, shift = f"&{s.into}[{self.term(s.index)}]", f"(int)((long long)({at}) & 15)"
        return f"{device.shift_cover}<{size}>({into}, {place}, {shift});"

    def bytes(self, tensor: str, width: int) -> int:
        return width * max(1, self.tensor(tensor).dtype.bits // 8)

    def offset(self, tensor: str, at: tuple[Term, ...]) -> str:
        """Elements from the tensor's first one; a list without strides begins there."""
        strided = any(a.kind is ArgumentKind.STRIDE and a.name == tensor
                      for a in self.program.arguments)  # fmt: skip
        if not strided:
            return self.term(at[0])
        terms = [f"(long long)({self.term(x)}) * {stride(tensor, n)}" for n, x in enumerate(at)]
        return " + ".join(terms) or "0"

    def element(self, tensor: str, at: tuple[Term, ...]) -> str:
        return f"{pointer(tensor)}[{self.offset(tensor, at)}]"

    def address(self, tensor: str, at: tuple[Term, ...]) -> str:
        """Of neighbours along the last axis, whose stride is 1 where they are moved together."""
        return f"{self.row(tensor, at)} + {self.term(at[-1], SUM)}"

    def row(self, tensor: str, at: tuple[Term, ...]) -> str:
        """The address of the first element of a row."""
        terms = [
            f"(long long)({self.term(x)}) * {stride(tensor, n)}" for n, x in enumerate(at[:-1])
        ]
        return f"{pointer(tensor)} + ({' + '.join(terms) or '0'})"

    # Terms.

    def term(self, t: Term, outer: int = 0) -> str:
        """A term, in brackets where an operator of that strength stands beside it."""
        text, own = self.shown(t)
        return f"({text})" if own < outer else text

    def shown(self, t: Term) -> tuple[str, int]:  # noqa: C901, PLR0911, PLR0912 (a case a kind)
        """A term without brackets, and how strongly it binds."""
        match t:
            case Const():
                return number(t.value, DType.I32), ATOM if t.value >= 0 else UNARY
            case ir.Number():
                negative = t.dtype is not DType.BOOL and t.value < 0
                return number(t.value, t.dtype), UNARY if negative else ATOM
            case Sym(kind=SymKind.SIZE):
                return length(t.name), ATOM
            case Sym():
                return HERE[t], ATOM
            case ir.Scalar():
                return scalar(t.name), ATOM
            case ir.Reg():
                return (t.name if t.index is None else f"{t.name}[{self.term(t.index)}]"), ATOM
            case Binary():
                return self.arith(t)
            case ir.Not():
                return f"!{self.term(t.arg, UNARY)}", UNARY
            case ir.Within():
                index, end = self.term(t.index), self.term(t.length, ATOM)
                return f"(unsigned)({index}) < (unsigned){end}", PRECEDENCE[Op.LT]
            case Select():
                parts = [self.term(x, CHOICE + 1) for x in (t.condition, t.then, t.otherwise)]
                return "{} ? {} : {}".format(*parts), CHOICE
            case ir.Function():
                return self.function(t), ATOM
            case ir.Join():
                how = COMBINE[t.fn, t.dtype in INTEGERS]
                return how.format(self.term(t.a, ATOM), self.term(t.b, ATOM)), CHOICE
            case ir.Convert():
                return self.converted(t), UNARY
            case ir.Decode():
                return read(t.dtype, self.term(t.arg, ATOM)), ATOM
            case ir.Encode(arg=Const(value=0) | ir.Number(value=0)):
                return f"({C_TYPES[t.dtype]})0", UNARY
            case ir.Encode():
                return written(t.dtype, self.term(t.arg, UNARY)), UNARY
            case Element():
                return self.element(t.tensor, t.at), ATOM
            case ir.Nearby():
                by = self.term(t.by, PRECEDENCE[Op.MUL])
                step = stride(self.addresses[t.address].tensor, t.axis)
                return f"{t.address}[{by} * {step}]", ATOM
            case ir.Shared():
                return f"{t.view}[{self.term(t.index)}]", ATOM
            case ir.Shuffle():
                return f"{SHUFFLES[t.how]}(~0u, {self.term(t.value)}, {self.term(t.by)})", ATOM
            case ir.Aligned():
                return self.aligned(t), PRECEDENCE[Op.AND]
            case ir.Contiguous():
                rank = len(self.tensor(t.tensor).axes)
                return f"{stride(t.tensor, rank - 1)} == 1", PRECEDENCE[Op.EQ]
            case ir.Covered():
                row = self.row(t.tensor, t.at)
                at, size = self.address(t.tensor, t.at), self.bytes(t.tensor, t.width)
                end = self.term(t.end, SUM)
                return f"{device.covered}({at}, {size}, {row}, {row} + {end})", ATOM
            case _:
                raise AssertionError(t)

    def arith(self, t: Binary) -> tuple[str, int]:
        if t.op in CALLS:
            name = device.divided_down if t.op is Op.FLOOR_DIV else str(t.op)
            return f"{name}({self.term(t.a)}, {self.term(t.b)})", ATOM
        own = PRECEDENCE[t.op]
        return f"{self.term(t.a, own)} {t.op} {self.term(t.b, own + 1)}", own

    def converted(self, t: ir.Convert) -> str:
        """A number of the same type is itself."""
        source = type_of(t.arg, self.registers)
        return convert(self.term(t.arg, UNARY if t.dtype is source else 0), t.dtype, source)

    def function(self, t: ir.Function) -> str:
        args = [self.term(a, ATOM) for a in t.args]
        types = [type_of(a, self.registers) for a in t.args]
        if t.code is not None:
            name = name_of(t.code, self.line)
            self.functions[name] = t.code
            return f"{name}({', '.join(args)})"
        if t.dtype is DType.I32 and t.fn in WRAPPED:
            return wrapped(t.fn, args)
        if t.fn is Fn.DIV:
            return f"({args[0]} / {args[1]})"
        if t.fn in (Fn.MIN, Fn.MAX, Fn.ABS):
            types = [DType.I32 if x in INTEGERS else x for x in types]
        last = t.args[-1]
        by = last.value if isinstance(last, Const) else None
        return pointwise(t.fn, args, t.dtype, types, by=by)

    def aligned(self, t: ir.Aligned) -> str:
        """Vectors lie at multiples of their bytes if the address and all strides do."""
        tensor = self.tensor(t.tensor)
        rank, size = len(tensor.axes), max(1, tensor.dtype.bits // 8)
        strides = [f"{stride(t.tensor, n)} * {size}" for n in range(rank - 1)]
        bits = " | ".join([f"(long long){pointer(t.tensor)}", *strides])
        return f"(({bits}) & {t.bytes - 1}) == 0 && {stride(t.tensor, rank - 1)} == 1"


def _has_tiles(program: ThreadProgram) -> bool:
    return any(isinstance(s, ir.OperandTile) for s in program.body)


def tile_bytes(tile: ir.OperandTile) -> int:
    """Bytes of an operand tile."""
    return tile.rows * tile.columns * tile.dtype.bits // 8


def cover_words(size: int) -> int:
    """Words of the multiples of 16 bytes that so many bytes lie in."""
    return size // 4 + 4


def pointer(tensor: str) -> str:
    """The address of a tensor, as a parameter."""
    return f"ptr_{tensor}"


def stride(tensor: str, axis: int) -> str:
    """The stride of a tensor's axis, as a parameter."""
    return f"stride_{tensor}_{axis}"


def length(axis: str) -> str:
    """The size of an axis, as a parameter."""
    return f"len_{axis}"


def scalar(name: str) -> str:
    """A scalar of the call, as a parameter."""
    return f"arg_{name}"


def register_type(dtype: DType) -> str:
    """The type of a number in the emitted source."""
    if dtype is DType.U32:
        return "unsigned"
    if dtype in INTEGERS:
        return "int"
    return "bool" if dtype is DType.BOOL else "float"


def read(dtype: DType, text: str) -> str:
    """An element of memory as a number."""
    match dtype:
        case DType.BF16 | DType.F16:
            name = device[f"from_{dtype}"]
            return f"{name}({text})"
        case DType.E4M3 | DType.E5M2:
            name = device[f"unpack_{dtype}"]
            return f"{name}({text}, 0)"
        case DType.BOOL:
            return f"({text} != 0)"
        case _:
            return text


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
            name = device[f"to_{dtype}"]
            return f"{name}({text})"


def convert(text: str, to: DType, source: DType) -> str:  # noqa: PLR0911 (one line a type)
    """A number as one of another type, held in a register."""
    if to is source:
        return text
    match to:
        case DType.U32:
            return f"(unsigned)({text})"
        case DType.I32:
            return f"__float2int_rz({text})" if source.is_float else f"(int)({text})"
        case DType.I8 | DType.I4:
            least, most = (-128, 127) if to is DType.I8 else (-8, 7)
            whole = f"__float2int_rz({text})" if source.is_float else f"(int)({text})"
            return f"min(max({whole}, {least}), {most})"
    number_ = text if source.is_float else f"(float)({text})"
    match to:
        case DType.BF16 | DType.F16:
            name = device[f"round_{to}"]
            return f"{name}({number_})"
        case DType.E4M3 | DType.E5M2:
            wide, narrow = device[f"unpack_{to}"], device[f"to_{to}"]
            return f"{wide}({narrow}({number_}), 0)"
        case _:
            return number_
