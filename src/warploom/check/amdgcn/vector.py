"""Vector instructions without memory, and those with a shape of their own."""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from warploom.check.amdgcn.apply import (
    Effect,
    Reads,
    compared,
    into_part,
    masked,
    permute,
    typed,
    write_float,
    write_half,
    written,
)
from warploom.check.amdgcn.conversions import CONVERSIONS
from warploom.check.amdgcn.formats import (
    TABLES,
    encode_small,
    fp8_name,
    from_bf16,
    from_half,
    to_bf16,
    to_half,
)
from warploom.check.amdgcn.lanes import LOW, SIXTEEN, VECTOR, Array, Op, fma32, fma64
from warploom.check.amdgcn.operands import (
    Source,
    has_dpp,
    is_vector,
    read_pair,
    read_scalar,
    rows,
    scalar_row,
    selection,
    write_pair,
)
from warploom.check.amdgcn.packed import PACKED, packed
from warploom.check.amdgcn.rare import RARE
from warploom.check.amdgcn.reader import Instruction
from warploom.check.amdgcn.state import LANES, MASK32, Wave, lanes_of, mask_of
from warploom.errors import UnsupportedCodeError as UnsupportedError


def make_vector(instruction: Instruction, target: str, symbols: Mapping[str, int]) -> Effect | None:
    """The effect of a vector instruction, or None for other mnemonics."""
    name = instruction.mnemonic
    if name in SPECIAL:
        return SPECIAL[name](instruction, target)
    if name.startswith(("v_cmp_", "v_cmpx_")):
        return compared(instruction, symbols)
    if name in PACKED:
        return packed(instruction, PACKED[name])
    if name == "v_pk_fmac_f16" and not has_dpp(instruction) and instruction.form != "sdwa":
        to, *factors = instruction.operands
        spelled = dataclasses.replace(instruction, operands=(to, *factors, to))
        return packed(spelled, PACKED["v_pk_fma_f16"])
    op = VECTOR.get(name) or RARE.get(name)
    return typed(instruction, op, symbols) if op is not None else None


Special = Callable[[Instruction, str], Effect]


def _select(instruction: Instruction, target: str) -> Effect:
    sources = [
        Source(t, "b32", select=instruction.modifiers.get(f"src{i}_sel", ""))
        for i, t in enumerate(instruction.operands[1:3])
    ]
    for source in sources:
        if source.negate or source.size:
            source.kind = "f32"
    condition = read_pair(instruction.operands[3] if len(instruction.operands) > 3 else "vcc")
    dpp = has_dpp(instruction)
    if dpp:
        permute(instruction, sources[0])
    a, b = (s.read() for s in sources)
    op = Op("b32", [], lambda x, y, z: np.where(z, y.view(np.uint32), x.view(np.uint32)))
    reads: Reads = [a, b, lambda w: lanes_of(condition(w))]
    row = rows(instruction.operands[0])[0]
    if instruction.modifiers.get("dst_sel", "DWORD") != "DWORD":
        return into_part(instruction, op, reads, op.compute, row)
    effect = written(instruction, op, reads, op.compute, row)
    return masked(instruction, effect) if dpp else effect


def _carry(compute: Callable[[Array, Array, Array], Array], *, takes: bool) -> Special:
    """64-bit arithmetic in two steps: a result and a mask of carries."""

    def make(instruction: Instruction, target: str) -> Effect:
        operands = instruction.operands
        row, write = rows(operands[0])[0], write_pair(operands[1])
        a, b = (Source(t, "b32").read() for t in operands[2:4])
        carry = read_pair(operands[4]) if takes else None

        def effect(w: Wave) -> None:
            x, y = a(w).astype(np.int64), b(w).astype(np.int64)
            extra = lanes_of(carry(w)).astype(np.int64) if carry else np.zeros(LANES, np.int64)
            value = compute(x, y, extra)
            on = w.exec
            w.put(row, (value & MASK32).astype(np.uint32))
            write(w, mask_of(np.broadcast_to((value < 0) | (value > MASK32), (LANES,))) & on)

        return effect

    return make


def _mad64(sign: bool) -> Special:
    def make(instruction: Instruction, target: str) -> Effect:
        operands = instruction.operands
        row, write = rows(operands[0])[0], write_pair(operands[1])
        kind = "i32" if sign else "b32"
        a, b = (Source(t, kind).read() for t in operands[2:4])
        c = Source(operands[4], "b64").read()

        def effect(w: Wave) -> None:
            wide = np.int64 if sign else np.uint64
            product = (a(w).astype(wide) * b(w).astype(wide)).view(np.uint64)
            addend = c(w)
            total = np.broadcast_to(product + addend, (LANES,))
            w.put64(row, total)
            write(w, mask_of(np.broadcast_to(total < addend, (LANES,))) & w.exec)

        return effect

    return make


def _div_scale(instruction: Instruction, target: str) -> Effect:
    """Scaling keeps divisions in range; values that need none are returned as they are."""
    operands = instruction.operands
    wide = instruction.mnemonic.endswith("f64")
    kind = "f64" if wide else "f32"
    row, write = rows(operands[0])[0], write_pair(operands[1])
    a, b, c = (Source(t, kind).read() for t in operands[2:5])
    shift, span = (128, 1023 - 52) if wide else (64, 96)
    dtype = np.float64 if wide else np.float32

    def effect(w: Wave) -> None:
        x, bottom, top = (np.broadcast_to(r(w), (LANES,)) for r in (a, b, c))
        small = np.abs(bottom) < np.finfo(dtype).tiny
        power = np.frexp(top)[1] - np.frexp(bottom)[1]
        is_bottom = x == bottom
        up, flag = np.zeros(LANES, np.int64), np.zeros(LANES, np.bool_)
        far = power >= span
        flag |= far & ~small
        up = np.where(small, shift, up)
        up = np.where(far & ~small & is_bottom, shift, up)
        tiny_top = np.abs(top) < np.ldexp(dtype(1), -100 if not wide else -900)
        flag |= tiny_top & ~small & (power < 0) & (top != 0)
        up = np.where(tiny_top & ~is_bottom & ~small & (top != 0), shift, up)
        bad = (bottom == 0) | (top == 0) | ~np.isfinite(bottom) | ~np.isfinite(top)
        up, flag = np.where(bad, 0, up), flag & ~bad
        value = np.ldexp(x, up.astype(np.int32)).astype(dtype)
        if wide:
            w.put64(row, np.ascontiguousarray(value).view(np.uint64))
        else:
            w.put_float(row, value)
        write(w, mask_of(np.ascontiguousarray(flag)) & w.exec)

    return effect


def _div_fmas(instruction: Instruction, target: str) -> Effect:
    wide = instruction.mnemonic.endswith("f64")
    row = rows(instruction.operands[0])[0]
    a, b, c = (Source(t, "f64" if wide else "f32").read() for t in instruction.operands[1:4])
    vcc = read_pair("vcc")

    def effect(w: Wave) -> None:
        value = (fma64 if wide else fma32)(a(w), b(w), c(w))
        scaled = np.ldexp(np.broadcast_to(value, (LANES,)), 64 if not wide else 128)
        result = np.where(lanes_of(vcc(w)), scaled, value)
        if wide:
            w.put64(row, np.ascontiguousarray(result).view(np.uint64))
        else:
            w.put_float(row, result.astype(np.float32))

    return effect


def _first_lane(instruction: Instruction, target: str) -> Effect:
    to, _ = scalar_row(instruction.operands[0])
    if not is_vector(instruction.operands[1]):
        scalar = read_scalar(instruction.operands[1])

        def copy(w: Wave) -> None:
            w.s[to] = scalar(w)

        return copy
    row = rows(instruction.operands[1])[0]

    def effect(w: Wave) -> None:
        lane = (w.exec & -w.exec).bit_length() - 1 if w.exec else 0
        w.s[to] = int(w.v[row, lane])

    return effect


def _read_lane(instruction: Instruction, target: str) -> Effect:
    to, _ = scalar_row(instruction.operands[0])
    row, lane = rows(instruction.operands[1])[0], read_scalar(instruction.operands[2])

    def effect(w: Wave) -> None:
        w.s[to] = int(w.v[row, lane(w) & 63])

    return effect


def _write_lane(instruction: Instruction, target: str) -> Effect:
    row = rows(instruction.operands[0])[0]
    value, lane = read_scalar(instruction.operands[1]), read_scalar(instruction.operands[2])

    def effect(w: Wave) -> None:
        w.v[row, lane(w) & 63] = value(w) & MASK32

    return effect


def _swap(size: int) -> Special:
    """``v_permlane{16,32}_swap``: odd rows of the first and even rows of the second change."""

    def make(instruction: Instruction, target: str) -> Effect:
        a, b = (rows(t)[0] for t in instruction.operands[:2])

        def effect(w: Wave) -> None:
            if w.mask is not None:
                raise UnsupportedError(f"{instruction.mnemonic} with lanes switched off")
            x, y = w.v[a].reshape(-1, 2, size).copy(), w.v[b].reshape(-1, 2, size).copy()
            new_x, new_y = x.copy(), y.copy()
            new_x[:, 1], new_y[:, 0] = y[:, 0], x[:, 1]
            w.v[a], w.v[b] = new_x.reshape(LANES), new_y.reshape(LANES)

        return effect

    return make


def _exchange(instruction: Instruction, target: str) -> Effect:
    a, b = (rows(t)[0] for t in instruction.operands[:2])

    def effect(w: Wave) -> None:
        x, y = w.v[a].copy(), w.v[b].copy()
        w.put(a, y)
        w.put(b, x)

    return effect


def _bitop3(instruction: Instruction, target: str) -> Effect:
    table = instruction.number("bitop3")
    short = instruction.mnemonic.endswith("b16")
    row = rows(instruction.operands[0])[0]
    halves = instruction.bits("op_sel", 4) if short else (0, 0, 0, 0)
    reads = [
        Source(t, "u16" if short else "b32", half=h).read()
        for t, h in zip(instruction.operands[1:4], halves, strict=False)
    ]

    def compute(a: Array, b: Array, c: Array) -> Array:
        result: Array = np.zeros(LANES, np.uint16 if short else np.uint32)
        for index in range(8):
            if table >> index & 1:
                x, y, z = a if index & 4 else ~a, b if index & 2 else ~b, c if index & 1 else ~c
                result = result | (x & y & z)
        return result

    if short:
        return write_half(reads, compute, row, bool(halves[3]), keeps=False)
    return written(instruction, Op("b32", ["b32"] * 3, compute), reads, compute, row)


def _mix(instruction: Instruction, target: str) -> Effect:
    """``v_fma_mix*``: each source an fp32 register, or one half of it as fp16."""
    row = rows(instruction.operands[0])[0]
    halves, upper = instruction.bits("op_sel_hi", 3), instruction.bits("op_sel", 3)
    reads: Reads = []
    for text, half, up in zip(instruction.operands[1:4], halves, upper, strict=False):
        source = Source(text, "f16" if half else "f32", half=up if half else 0)
        read = source.read()
        reads.append(_widened(read) if half else read)
    clamp = instruction.flag("clamp")

    def value(*xs: Array) -> Array:
        result = fma32(*xs)
        return np.nan_to_num(np.clip(result, 0, 1), nan=0.0) if clamp else result

    if instruction.mnemonic.endswith("mix_f32"):
        return write_float(reads, value, row)
    high = instruction.mnemonic.endswith("mixhi_f16")
    return write_half(reads, lambda *xs: _rounded(value(*xs)), row, high, keeps=True)


def _rounded(x: Array) -> Array:
    return x.astype(np.float16)


def _widened(read: Callable[[Wave], Array]) -> Callable[[Wave], Array]:
    return lambda w: read(w).astype(np.float32)


def _to_fp8(short: str) -> Special:
    """Two fp32 to two bytes in one half of the destination."""

    def make(instruction: Instruction, target: str) -> Effect:
        form = fp8_name(short, target)
        row = rows(instruction.operands[0])[0]
        a, b = (Source(t, "f32").read() for t in instruction.operands[1:3])
        high = bool(instruction.bits("op_sel", 3)[2])

        def effect(w: Wave) -> None:
            x, y = (np.broadcast_to(r(w), (LANES,)) for r in (a, b))
            pair = encode_small(x, form) | encode_small(y, form) << np.uint32(8)
            old = w.v[row]
            w.put(row, old & LOW | pair << SIXTEEN if high else old & ~LOW | pair)

        return effect

    return make


def _from_fp8(short: str, pair: bool) -> Special:
    def make(instruction: Instruction, target: str) -> Effect:
        table = TABLES[fp8_name(short, target)]
        row = rows(instruction.operands[0])[0]
        select = instruction.modifiers.get("src0_sel", "")
        bits = instruction.bits("op_sel", 2)
        if select:
            shift, _ = selection(select)
        elif pair:
            shift = 16 * bits[0]
        else:
            shift = 8 * (bits[0] + 2 * bits[1]) if instruction.flag("op_sel") else 0
        read = Source(instruction.operands[1], "b32").read()
        byte = np.uint32(0xFF)

        def effect(w: Wave) -> None:
            words = np.broadcast_to(read(w), (LANES,)) >> np.uint32(shift)
            w.put_float(row, table[words & byte])
            if pair:
                w.put_float(row + 1, table[words >> np.uint32(8) & byte])

        return effect

    return make


def _scaled_from(form: str, out: str) -> Special:
    """``v_cvt_scalef32_pk_{out}_{form}``: two small values times a power of two."""

    def make(instruction: Instruction, target: str) -> Effect:
        table = TABLES[{"fp8": "e4m3", "bf8": "e5m2", "fp4": "e2m1"}[form]]
        row = rows(instruction.operands[0])[0]
        bits = instruction.bits("op_sel", 3)
        width = 4 if form == "fp4" else 8
        shift = np.uint32(2 * width * (bits[0] + 2 * bits[1]) if form == "fp4" else 16 * bits[0])
        read = Source(instruction.operands[1], "b32").read()
        scale = Source(instruction.operands[2], "b32").read()
        keep = np.uint32((1 << width) - 1)

        def effect(w: Wave) -> None:
            words = np.broadcast_to(read(w), (LANES,)) >> shift
            power = (np.broadcast_to(scale(w), (LANES,)) >> np.uint32(23) & np.uint32(255)).astype(
                np.int32
            ) - 127
            low = np.ldexp(table[words & keep], power).astype(np.float32)
            high = np.ldexp(table[words >> np.uint32(width) & keep], power).astype(np.float32)
            if out == "f32":
                w.put_float(row, low)
                w.put_float(row + 1, high)
            else:
                convert = to_half if out == "f16" else to_bf16
                w.put(row, convert(low) | convert(high) << SIXTEEN)

        return effect

    return make


def _scaled_to(form: str, source: str) -> Special:
    """``v_cvt_scalef32_pk_{form}_{source}``: two values divided by a power of two."""

    def make(instruction: Instruction, target: str) -> Effect:
        name = {"fp8": "e4m3", "bf8": "e5m2", "fp4": "e2m1"}[form]
        row = rows(instruction.operands[0])[0]
        width = 4 if form == "fp4" else 8
        bits = instruction.bits("op_sel", 4)
        if source == "f32":
            parts = [Source(t, "f32").read() for t in instruction.operands[1:3]]
            scale = Source(instruction.operands[3], "b32").read()
        else:
            both = Source(instruction.operands[1], "b32").read()
            decode = from_half if source == "f16" else from_bf16
            parts = [
                lambda w: decode(np.broadcast_to(both(w), (LANES,)) & LOW),
                lambda w: decode(np.broadcast_to(both(w), (LANES,)) >> SIXTEEN),
            ]
            scale = Source(instruction.operands[2], "b32").read()
        place = bits[2] + 2 * bits[3] if form == "fp4" else bits[3] if source == "f32" else bits[2]
        shift = np.uint32(place * 2 * width)
        keep = np.uint32(((1 << 2 * width) - 1) << int(shift) & MASK32)

        def effect(w: Wave) -> None:
            power = 127 - (
                np.broadcast_to(scale(w), (LANES,)) >> np.uint32(23) & np.uint32(255)
            ).astype(np.int32)
            codes = [
                encode_small(
                    np.ldexp(np.broadcast_to(p(w), (LANES,)), power).astype(np.float32), name
                )
                for p in parts
            ]
            pair = codes[0] | codes[1] << np.uint32(width)
            w.put(row, w.v[row] & ~keep | pair << shift)

        return effect

    return make


def _dot(kind: str, width: int) -> Special:
    """``v_dot*``: a short scalar product added to the third source."""

    def make(instruction: Instruction, target: str) -> Effect:
        operands = instruction.operands
        into = instruction.mnemonic.startswith(("v_dot2c", "v_dot4c", "v_dot8c"))
        row = rows(operands[0])[0]
        a, b = (Source(t, "b32").read() for t in operands[1:3])
        c = Source(operands[0] if into else operands[3], "f32" if kind in "fb" else "b32").read()

        def parts(words: Array) -> list[Array]:
            words = np.ascontiguousarray(np.broadcast_to(words, (LANES,)))
            if kind == "f":
                return [from_half(words), from_half(words >> SIXTEEN)]
            if kind == "b":
                return [from_bf16(words & LOW), from_bf16(words >> SIXTEEN)]
            sign = 1 << (width - 1) if kind == "i" else 0
            cut = (words.astype(np.int64) >> at & ((1 << width) - 1) for at in range(0, 32, width))
            return [(part ^ sign) - sign for part in cut]

        def effect(w: Wave) -> None:
            total = sum(x * y for x, y in zip(parts(a(w)), parts(b(w)), strict=True))
            if kind in "fb":
                w.put_float(row, (total + c(w)).astype(np.float32))
            else:
                w.put(row, ((total + c(w)) & MASK32).astype(np.uint32))

        return effect

    return make


def _nothing(instruction: Instruction, target: str) -> Effect:
    return lambda w: None


SPECIAL: Mapping[str, Special] = {
    "v_cndmask_b32": _select,
    "v_add_co_u32": _carry(lambda a, b, c: a + b, takes=False),
    "v_sub_co_u32": _carry(lambda a, b, c: a - b, takes=False),
    "v_subrev_co_u32": _carry(lambda a, b, c: b - a, takes=False),
    "v_addc_co_u32": _carry(lambda a, b, c: a + b + c, takes=True),
    "v_subb_co_u32": _carry(lambda a, b, c: a - b - c, takes=True),
    "v_subbrev_co_u32": _carry(lambda a, b, c: b - a - c, takes=True),
    "v_mad_u64_u32": _mad64(False),
    "v_mad_i64_i32": _mad64(True),
    "v_div_scale_f32": _div_scale,
    "v_div_scale_f64": _div_scale,
    "v_div_fmas_f32": _div_fmas,
    "v_div_fmas_f64": _div_fmas,
    "v_readfirstlane_b32": _first_lane,
    "v_readlane_b32": _read_lane,
    "v_writelane_b32": _write_lane,
    "v_permlane32_swap_b32": _swap(32),
    "v_permlane16_swap_b32": _swap(16),
    "v_swap_b32": _exchange,
    "v_bitop3_b32": _bitop3,
    "v_bitop3_b16": _bitop3,
    "v_fma_mix_f32": _mix,
    "v_mad_mix_f32": _mix,
    "v_fma_mixlo_f16": _mix,
    "v_fma_mixhi_f16": _mix,
    "v_mad_mixlo_f16": _mix,
    "v_mad_mixhi_f16": _mix,
    "v_cvt_pk_fp8_f32": _to_fp8("fp8"),
    "v_cvt_pk_bf8_f32": _to_fp8("bf8"),
    "v_cvt_f32_fp8": _from_fp8("fp8", False),
    "v_cvt_f32_bf8": _from_fp8("bf8", False),
    "v_cvt_pk_f32_fp8": _from_fp8("fp8", True),
    "v_cvt_pk_f32_bf8": _from_fp8("bf8", True),
    "v_dot2_f32_f16": _dot("f", 16),
    "v_dot2_f32_bf16": _dot("b", 16),
    "v_dot2c_f32_f16": _dot("f", 16),
    "v_dot2c_f32_bf16": _dot("b", 16),
    "v_dot2_i32_i16": _dot("i", 16),
    "v_dot4_i32_i8": _dot("i", 8),
    "v_dot4_u32_u8": _dot("u", 8),
    "v_dot4c_i32_i8": _dot("i", 8),
    "v_dot2_u32_u16": _dot("u", 16),
    "v_dot2c_i32_i16": _dot("i", 16),
    "v_dot8_i32_i4": _dot("i", 4),
    "v_dot8_u32_u4": _dot("u", 4),
    "v_dot8c_i32_i4": _dot("i", 4),
    "v_nop": _nothing,
    **CONVERSIONS,
    **{
        f"v_cvt_scalef32_pk_{out}_{form}": _scaled_from(form, out)
        for out in ("f32", "f16", "bf16")
        for form in ("fp8", "bf8", "fp4")
    },
    **{
        f"v_cvt_scalef32_pk_{form}_{source}": _scaled_to(form, source)
        for source in ("f32", "f16", "bf16")
        for form in ("fp8", "bf8", "fp4")
    },
}
