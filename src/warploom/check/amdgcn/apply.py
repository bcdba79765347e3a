"""Vector instructions of the table as effects: sources, DPP and SDWA, modifiers, destinations."""

import operator
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.lanes import COMPARED, LOW, SIXTEEN, Array, Compute, Op
from warploom.check.amdgcn.operands import (
    HALF,
    Source,
    dpp_order,
    dpp_writes,
    has_dpp,
    rows,
    selection,
    write_pair,
)
from warploom.check.amdgcn.rare import classes
from warploom.check.amdgcn.reader import Instruction
from warploom.check.amdgcn.state import LANES, SPARE, Wave, lanes_of, mask_of
from warploom.errors import UnsupportedCodeError as UnsupportedError

Effect = Callable[[Wave], None]
Reads = list[Callable[[Wave], Array]]


def _sources(instruction: Instruction, op: Op, symbols: Mapping[str, int]) -> list[Source]:
    texts = list(instruction.operands[1:])
    if op.into:
        texts.append(instruction.operands[0])
    kinds = op.sources + ((op.to,) if op.into else ())
    if len(texts) != len(kinds):
        raise UnsupportedError(f"{instruction.mnemonic} with {len(texts)} sources")
    halves = instruction.bits("op_sel", len(texts) + 1)
    result = []
    for index, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
        select = instruction.modifiers.get(f"src{index}_sel", "") if index < 2 else ""
        half = halves[index] if kind in HALF else 0
        result.append(Source(text, kind, half=half, select=select, symbols=symbols))
    return result


def typed(instruction: Instruction, op: Op, symbols: Mapping[str, int]) -> Effect:
    """An instruction of the table, with DPP, SDWA, clamp and output modifiers."""
    sources = _sources(instruction, op, symbols)
    row = rows(instruction.operands[0])[0]
    dpp = has_dpp(instruction)
    if dpp:
        permute(instruction, sources[0])
    reads = [s.read() for s in sources]
    compute = _modified(instruction, op)
    select = instruction.modifiers.get("dst_sel", "DWORD")
    if select != "DWORD":
        return into_part(instruction, op, reads, compute, row)
    effect = written(instruction, op, reads, compute, row)
    return masked(instruction, effect) if dpp else effect


def permute(instruction: Instruction, source: Source) -> None:
    """Let DPP choose the lanes that the first source is read from."""
    order, valid = dpp_order(instruction)
    source.permutation = order
    if instruction.flag("bound_ctrl"):
        source.zero = lambda w: ~(valid & _switched(w)[order])


def _switched(w: Wave) -> NDArray[np.bool_]:
    """Lanes that are on, whatever mask an instruction uses for its own writes."""
    return lanes_of(w.exec)


def masked(instruction: Instruction, effect: Effect) -> Effect:
    """Run under the lanes that DPP may write."""
    order, valid = dpp_order(instruction)
    allowed = dpp_writes(instruction)
    bounded = instruction.flag("bound_ctrl")

    def run(w: Wave) -> None:
        saved, on = w.mask, _switched(w)
        mask = on & allowed
        if not bounded:
            mask &= valid & on[order]
        w.mask = mask
        effect(w)
        w.mask = saved

    return run


def _modified(instruction: Instruction, op: Op) -> Compute:
    compute = op.compute
    clamp = instruction.flag("clamp")
    factor = {"mul:2": 2.0, "mul:4": 4.0, "div:2": 0.5}.get(
        next((f"{k}:{v}" for k, v in instruction.modifiers.items() if k in ("mul", "div")), "")
    )
    if op.to in ("f32", "f16", "f64"):
        if factor is not None:
            inner, scale = compute, factor
            compute = lambda *xs: inner(*xs) * scale  # noqa: E731
        if clamp:
            unclamped = compute
            compute = lambda *xs: np.nan_to_num(  # noqa: E731
                np.clip(unclamped(*xs), 0, 1), nan=0.0
            )
    elif clamp:
        compute = _saturating(instruction.mnemonic)
    return compute


def _saturating(name: str) -> Compute:
    limits: Mapping[str, tuple[type, Compute]] = {
        "v_add_u32": (np.uint32, operator.add),
        "v_sub_u32": (np.uint32, operator.sub),
        "v_subrev_u32": (np.uint32, lambda a, b: b - a),
        "v_add_u16": (np.uint16, operator.add),
        "v_sub_u16": (np.uint16, operator.sub),
        "v_add_i32": (np.int32, operator.add),
        "v_sub_i32": (np.int32, operator.sub),
    }
    if name not in limits:
        raise UnsupportedError(f"{name} with clamp")
    dtype, compute = limits[name]
    info = np.iinfo(dtype)

    def saturate(a: Array, b: Array) -> Array:
        wide = [x.astype(dtype, copy=False).view(dtype).astype(np.int64) for x in (a, b)]
        result = np.clip(compute(*wide), info.min, info.max)
        return result.astype(np.int64).astype(np.uint32 if info.bits == 32 else np.uint16)

    return saturate


def written(
    instruction: Instruction, op: Op, reads: Reads, compute: Compute,
    row: int,
) -> Effect:  # fmt: skip
    """Compute from the sources and write the destination in the lanes that are on."""
    if op.to in HALF:
        high = _destination_half(instruction, len(op.sources) + op.into)
        return write_half(reads, compute, row, high, keeps=op.keeps)
    if op.to in ("b64", "i64", "f64"):

        def wide(w: Wave) -> None:
            value = np.broadcast_to(compute(*[r(w) for r in reads]), (LANES,))
            w.put64(row, np.ascontiguousarray(value).view(np.uint64))

        return wide
    if op.to == "f32":
        return write_float(reads, compute, row)
    if op.to == "i32":
        return _write_signed(reads, compute, row)
    return _write_words(reads, compute, row)


def _write_signed(reads: Reads, compute: Compute, row: int) -> Effect:
    def integers(w: Wave) -> None:
        value = compute(*[r(w) for r in reads])
        if w.mask is None:
            w.i[row] = value
        else:
            np.copyto(w.i[row], value, where=w.mask, casting="unsafe")

    return integers


def _write_words(reads: Reads, compute: Compute, row: int) -> Effect:
    if len(reads) == 2:
        a, b = reads

        def two(w: Wave) -> None:
            value = compute(a(w), b(w))
            if w.mask is None:
                w.v[row] = value
            else:
                np.copyto(w.v[row], value, where=w.mask)

        return two

    def words(w: Wave) -> None:
        value = compute(*[r(w) for r in reads])
        if w.mask is None:
            w.v[row] = value
        else:
            np.copyto(w.v[row], value, where=w.mask)

    return words


def write_float(reads: Reads, compute: Compute, row: int) -> Effect:
    """The same for fp32 results."""
    if len(reads) == 2:
        a, b = reads

        def two(w: Wave) -> None:
            value = compute(a(w), b(w))
            if w.mask is None:
                w.f[row] = value
            else:
                np.copyto(w.f[row], value, where=w.mask, casting="unsafe")

        return two

    def floats(w: Wave) -> None:
        value = compute(*[r(w) for r in reads])
        if w.mask is None:
            w.f[row] = value
        else:
            np.copyto(w.f[row], value, where=w.mask, casting="unsafe")

    return floats


def _destination_half(instruction: Instruction, sources: int) -> bool:
    bits = instruction.bits("op_sel", sources + 1)
    return instruction.flag("op_sel") and bool(bits[sources])


def write_half(reads: Reads, compute: Compute, row: int, high: bool, *, keeps: bool) -> Effect:
    """The same for 16-bit results; the other half is cleared, or kept."""

    def effect(w: Wave) -> None:
        value = np.asarray(compute(*[r(w) for r in reads]))
        bits = np.broadcast_to(value, (LANES,)).copy().view(np.uint16).astype(np.uint32)
        old = w.v[row]
        if high:
            bits = old & LOW | bits << SIXTEEN
        elif keeps:
            bits = old & ~LOW | bits
        w.put(row, bits)

    return effect


def into_part(
    instruction: Instruction, op: Op, reads: Reads, compute: Compute,
    row: int,
) -> Effect:  # fmt: skip
    """SDWA: only a byte or a word of the destination is written."""
    shift, mask = selection(instruction.modifiers["dst_sel"])
    unused = instruction.modifiers.get("dst_unused", "UNUSED_PRESERVE")
    inner = written(instruction, op, reads, compute, SPARE)
    by, keep = np.uint32(shift), np.uint32(mask)

    def effect(w: Wave) -> None:
        saved, w.mask = w.mask, None
        inner(w)
        w.mask = saved
        part = w.v[SPARE] & keep
        if unused == "UNUSED_PRESERVE":
            value = w.v[row] & ~(keep << by) | part << by
        elif unused == "UNUSED_SEXT":
            sign = (keep + np.uint32(1)) >> np.uint32(1)
            value = ((part ^ sign) - sign) << by
        else:
            value = part << by
        w.put(row, value)

    return effect


_CLASSES: Mapping[str, tuple[tuple[str, str], Compute]] = {
    f"class_{kind}": ((kind, "b32"), classes) for kind in ("f16", "f32", "f64")
}


def compared(instruction: Instruction, symbols: Mapping[str, int]) -> Effect:
    """A mask of the lanes in which a test holds."""
    name = instruction.mnemonic
    exclusive = name.startswith("v_cmpx_")
    what = name.split("_", 2)[2]
    found = _CLASSES.get(what) or COMPARED.get(what)
    if found is None:
        raise UnsupportedError(f"the unknown comparison {name}")
    kinds, test = found
    operands = instruction.operands
    texts = operands[1:] if len(operands) == 3 else operands
    if len(texts) != 2:
        raise UnsupportedError(f"{name} with {len(operands)} operands")
    write = write_pair(operands[0] if len(operands) == 3 else "exec")
    halves = instruction.bits("op_sel", 3)
    sources = [
        Source(
            text, kind, half=halves[i] if kind in HALF else 0,
            select=instruction.modifiers.get(f"src{i}_sel", ""), symbols=symbols,
        )
        for i, (text, kind) in enumerate(zip(texts, kinds, strict=True))
    ]  # fmt: skip
    if has_dpp(instruction):
        permute(instruction, sources[0])
    a, b = (s.read() for s in sources)

    def effect(w: Wave) -> None:
        held = test(a(w), b(w))
        if held.shape != (LANES,):
            held = np.broadcast_to(held, (LANES,))
        mask = mask_of(held) & w.exec
        write(w, mask)
        if exclusive:
            w.set_exec(mask)

    return effect
