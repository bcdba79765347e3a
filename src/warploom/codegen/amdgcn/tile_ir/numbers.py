"""Numbers in memory and in registers: element types as LLVM IR, and pointwise functions.

In registers floats of every width are ``float``, rounded to their type; whole numbers are ``i32``,
truths ``i1``. Functions that only whole kernels use (division of whole numbers) stand here; the
others are those of the tails of products.
"""

from __future__ import annotations

from warploom.codegen.amdgcn.lower import pointwise as common
from warploom.codegen.amdgcn.lower.pointwise import IrText, constant
from warploom.ir.tile import DType, Fn, Inline

PAIRED = {Fn.ADD: "fadd", Fn.SUB: "fsub", Fn.MUL: "fmul"}  # two at once
WHOLE = (DType.I32, DType.I8, DType.I4)
_MEMORY = {
    DType.F32: "float", DType.I32: "i32", DType.BF16: "i16", DType.F16: "i16", DType.E4M3: "i8",
    DType.E5M2: "i8", DType.I8: "i8", DType.BOOL: "i8",
}  # fmt: skip
_MOST = {DType.E4M3: 448.0, DType.E5M2: 57344.0}
_RANGE = {DType.I8: (-128, 127), DType.I4: (-8, 7)}


def register_type(dtype: DType) -> str:
    """The IR type of a value in registers."""
    if dtype is DType.BOOL:
        return "i1"
    return "i32" if dtype in WHOLE else "float"


def memory_type(dtype: DType) -> str:
    """The IR type of an element in memory."""
    return _MEMORY[dtype]


def number(value: float | int | bool, dtype: DType) -> str:
    """A number as an IR literal."""
    return constant(value, DType.I32 if dtype in WHOLE else dtype)


def widen(text: IrText, bits: str, dtype: DType) -> str:
    """The register value of an element in memory."""
    match dtype:
        case DType.I32:
            return bits
        case DType.I8:
            return text.value(f"sext i8 {bits} to i32")
        case DType.BOOL:
            return text.value(f"icmp ne i8 {bits}, 0")
        case DType.E5M2:
            wide = text.value(f"zext i8 {bits} to i32")
            return text.value(f"call float @llvm.amdgcn.cvt.f32.bf8(i32 {wide}, i32 0)")
        case _:
            return common.widen(text, bits, dtype)


def narrow(text: IrText, value: str, dtype: DType) -> str:
    """The element in memory of a register value of the same type."""
    match dtype:
        case DType.I32:
            return value
        case DType.I8:
            return text.value(f"trunc i32 {value} to i8")
        case DType.BOOL:
            return text.value(f"zext i1 {value} to i8")
        case DType.E4M3 | DType.E5M2:
            held = _held(text, value, _MOST[dtype])
            form = "fp8" if dtype is DType.E4M3 else "bf8"
            pair = text.value(
                f"call i32 @llvm.amdgcn.cvt.pk.{form}.f32("
                f"float {held}, float {held}, i32 0, i1 false)"
            )
            return text.value(f"trunc i32 {pair} to i8")
        case _:
            return common.narrow(text, value, dtype)


def _held(text: IrText, x: str, most: float) -> str:
    """A number held to the range of its type; NaN stays NaN."""
    limits = f"float {constant(-most, DType.F32)}, float {constant(most, DType.F32)}"
    held = text.value(f"call float @llvm.amdgcn.fmed3.f32(float {x}, {limits})")
    none = text.value(f"fcmp uno float {x}, {x}")
    return text.value(f"select i1 {none}, float {x}, float {held}")


def narrow_vector(text: IrText, values: list[str], dtype: DType) -> str:
    """Elements in memory as one vector."""
    count = len(values)
    if dtype in (DType.BF16, DType.F16):
        kind = "bfloat" if dtype is DType.BF16 else "half"
        wide = build_vector(text, values, "float")
        cut = text.value(f"fptrunc <{count} x float> {wide} to <{count} x {kind}>")
        return text.value(f"bitcast <{count} x {kind}> {cut} to <{count} x i16>")
    return build_vector(text, [narrow(text, v, dtype) for v in values], memory_type(dtype))


def build_vector(text: IrText, values: list[str], kind: str) -> str:
    """A vector of values."""
    result = "poison"
    for i, value in enumerate(values):
        result = text.value(
            f"insertelement <{len(values)} x {kind}> {result}, {kind} {value}, i32 {i}"
        )
    return result


def convert(text: IrText, value: str, source: DType, to: DType) -> str:
    """A value as another type; floats towards zero and held to the range, whole numbers held."""
    if source is to:
        return value
    if to is DType.BOOL:
        if source in WHOLE:
            return text.value(f"icmp ne i32 {value}, 0")
        return text.value(f"fcmp une float {value}, {constant(0.0, DType.F32)}")
    if source is DType.BOOL:
        kind = register_type(to)
        return text.value(f"select i1 {value}, {kind} {number(1, to)}, {kind} {number(0, to)}")
    if to in WHOLE:
        whole = value
        if source not in WHOLE:
            whole = text.value(f"call i32 @llvm.fptosi.sat.i32.f32(float {value})")
        if to in _RANGE:
            least, most = _RANGE[to]
            whole = text.value(f"call i32 @llvm.smax.i32(i32 {whole}, i32 {least})")
            whole = text.value(f"call i32 @llvm.smin.i32(i32 {whole}, i32 {most})")
        return whole
    if source in WHOLE:
        value = text.value(f"sitofp i32 {value} to float")
    return rounded(text, value, to)


def rounded(text: IrText, value: str, dtype: DType) -> str:
    """A float rounded to a type."""
    return value if dtype is DType.F32 else widen(text, narrow(text, value, dtype), dtype)


def pointwise(text: IrText, fn: Fn, args: list[str], kinds: list[DType], result: DType) -> str:
    """``fn`` of ``args`` (of ``kinds``)."""
    if fn is Fn.CAST:
        return convert(text, args[0], kinds[0], result)
    kind = _common(fn, kinds)
    same = [
        a if fn is Fn.WHERE and i == 0 else convert(text, a, k, kind)
        for i, (a, k) in enumerate(zip(args, kinds, strict=True))
    ]
    if fn is Fn.WHERE:
        form = register_type(kind)
        made = text.value(f"select i1 {same[0]}, {form} {same[1]}, {form} {same[2]}")
        return convert(text, made, kind, result) if kind is not result else made
    if kind is DType.BOOL and fn in (Fn.EQ, Fn.NE):
        made = text.value(f"xor i1 {same[0]}, {same[1]}")
        return made if fn is Fn.NE else text.value(f"xor i1 {made}, true")
    if kind is DType.I32 and fn in (Fn.FLOORDIV, Fn.MOD):
        return _divided(text, fn, *same)
    special = _floats(text, fn, same) if kind is DType.F32 else None
    made = special or common.pointwise(text, fn, same, [kind] * len(same), result)
    if result.is_float:
        return rounded(text, made, result)
    return convert(text, made, DType.I32, result) if result in _RANGE else made


def inline(text: IrText, code: Inline, args: list[str], kinds: list[DType]) -> str:
    """A function of elements that its author wrote: inline assembly."""
    wanted = [kind for _, kind in code.params]
    same = [convert(text, a, k, w) for a, k, w in zip(args, kinds, wanted, strict=True)]
    places = {"out": "$0"} | {n: f"${i + 1}" for i, (n, _) in enumerate(code.params)}
    lines = code.amdgcn.format(**places).replace("\\", "\\5C").replace('"', "\\22")
    lines = lines.replace("\n", "\\0A")
    given = ", ".join(f"{register_type(w)} {a}" for w, a in zip(wanted, same, strict=True))
    registers = ",".join(["=&v", *("v" for _ in wanted)])
    text.written_out = True
    return text.value(f'call {register_type(code.result)} asm "{lines}", "{registers}"({given})')


def _common(fn: Fn, kinds: list[DType]) -> DType:
    """The type in which a function of these types is computed: f32, i32 or bool."""
    own = kinds[1:] if fn is Fn.WHERE else kinds
    if any(k.is_float for k in own):
        return DType.F32
    return DType.BOOL if all(k is DType.BOOL for k in own) else DType.I32


def _divided(text: IrText, fn: Fn, a: str, b: str) -> str:
    """Quotient or remainder of whole numbers, rounded down; by 0 as by 1."""
    none = text.value(f"icmp eq i32 {b}, 0")
    b = text.value(f"select i1 {none}, i32 1, i32 {b}")
    over = text.value(f"icmp eq i32 {b}, -1")  # the least number has no quotient by -1
    by = text.value(f"select i1 {over}, i32 1, i32 {b}")
    cut = text.value(f"sdiv i32 {a}, {by}")
    part = text.value(f"mul i32 {cut}, {by}")
    rest = text.value(f"sub i32 {a}, {part}")
    some = text.value(f"icmp ne i32 {rest}, 0")
    signs = text.value(f"xor i32 {rest}, {by}")
    apart = text.value(f"icmp slt i32 {signs}, 0")
    lower = text.value(f"and i1 {some}, {apart}")
    if fn is Fn.MOD:
        more = text.value(f"add i32 {rest}, {by}")
        made = text.value(f"select i1 {lower}, i32 {more}, i32 {rest}")
        return text.value(f"select i1 {over}, i32 0, i32 {made}")
    less = text.value(f"sub i32 {cut}, 1")
    made = text.value(f"select i1 {lower}, i32 {less}, i32 {cut}")
    minus = text.value(f"sub i32 0, {a}")
    return text.value(f"select i1 {over}, i32 {minus}, i32 {made}")


def _floats(text: IrText, fn: Fn, args: list[str]) -> str | None:
    if fn in (Fn.FLOORDIV, Fn.MOD):
        a, b = args
        zero = constant(0.0, DType.F32)
        none = text.value(f"fcmp oeq float {b}, {zero}")
        b = text.value(f"select i1 {none}, float {constant(1.0, DType.F32)}, float {b}")
        part = text.value(f"fdiv float {a}, {b}")
        down = text.value(f"call float @llvm.floor.f32(float {part})")
        if fn is Fn.FLOORDIV:
            return down
        minus = text.value(f"fneg float {down}")
        return text.value(f"call float @llvm.fma.f32(float {minus}, float {b}, float {a})")
    return None


def pair(text: IrText, fn: Fn, a: str, b: str) -> str:
    """A function of two neighbours at once."""
    return text.value(f"{PAIRED[fn]} <2 x float> {a}, {b}")
