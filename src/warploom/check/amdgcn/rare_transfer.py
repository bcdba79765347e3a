"""Memory instructions that are written seldom: scalar atomics, typed buffers, rare LDS forms."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.memory import Bytes
from warploom.check.amdgcn.operands import literal, read_scalar, rows, scalar_row
from warploom.check.amdgcn.reader import Instruction
from warploom.check.amdgcn.state import LANES, M0, MASK64, SGPR, Wave, Words
from warploom.check.amdgcn.transfer import (
    Effect,
    Machine,
    Moves,
    Width,
    atomic_named,
    into,
    lds_at,
    resource,
    run_atomic,
    run_global,
)
from warploom.errors import UnsupportedCodeError as UnsupportedError

_LANE = np.arange(LANES, dtype=np.int64)
Maker = Callable[[Instruction, int, Machine, Mapping[str, int]], Effect]


def make_rare_transfer(
    instruction: Instruction, at: int, machine: Machine, symbols: Mapping[str, int]
) -> Effect | None:
    """The effect of a rare memory instruction, or None for others."""
    for pattern, make in _RARE:
        if re.match(pattern, instruction.mnemonic):
            return make(instruction, at, machine, symbols)
    return None


# Atomics of the scalar unit.


def _scalar_atomic(
    instruction: Instruction, at: int, machine: Machine, symbols: Mapping[str, int]
) -> Effect:
    """``s_atomic_dec s4, s[2:3], 0x0 glc``: in memory, waited for with ``lgkmcnt``."""
    name = instruction.mnemonic
    buffered = name.startswith("s_buffer_")
    atomic = atomic_named(name.partition("atomic_")[2])
    if atomic is None:
        raise UnsupportedError(name)
    data, held = scalar_row(instruction.operands[0])
    base, _ = scalar_row(instruction.operands[1])
    offset = read_scalar(instruction.operands[2], symbols)
    signed = literal(instruction.operands[2]) is not None
    extra, returns = instruction.number("offset"), instruction.flag("glc")
    size = atomic.dtype.itemsize
    words = size // 4
    if held != words * (2 if atomic.compare else 1):
        raise UnsupportedError(f"{name} of {held} registers")
    registers = tuple(range(SGPR + data, SGPR + data + words)) if returns else ()

    def effect(w: Wave) -> None:
        start, more = w.s[base] | w.s[base + 1] << 32, offset(w)
        more = extra + (more - (1 << 32) if signed and more >> 31 & 1 else more)
        given = np.array([w.s[data : data + held]], np.uint32).view(np.uint8)
        number = machine.issue_lgkm(w, at, registers, scalar=True)
        if buffered:
            start &= (1 << 48) - 1
            if more + size > w.s[base + 2]:
                return
        where = machine.memory.offsets(
            np.array([(start + more) & MASK64 & ~3], np.uint64).view(np.int64), size, write=True
        )
        machine.touch_global(w, at, where, size, "a", number, scalar=True)
        machine.synchronise(w, where, "a" if returns else "w", scalar=True)
        compare = given[:, size:] if atomic.compare else None

        def put(old: Bytes) -> None:
            if returns:
                w.s[data : data + words] = old.view(np.uint32)[0].tolist()

        run = partial(
            run_atomic, machine.memory.bytes, where, atomic, given[:, :size], compare
        )  # fmt: skip
        machine.carry(
            w, w.lgkm, Moves.UPDATES_GLOBAL, partial(run_global, machine, where, run), put
        )  # fmt: skip

    return effect


# Typed buffers: elements are converted on the way.


@dataclass(frozen=True, slots=True)
class _Layout:
    """Components of a data format, and the bits of each."""

    count: int
    bits: int


_LAYOUTS: Mapping[int, _Layout] = {
    1: _Layout(1, 8), 2: _Layout(1, 16), 3: _Layout(2, 8), 4: _Layout(1, 32), 5: _Layout(2, 16),
    10: _Layout(4, 8), 11: _Layout(2, 32), 12: _Layout(4, 16), 13: _Layout(3, 32),
    14: _Layout(4, 32),
}  # fmt: skip
_DATA = {
    "8": 1, "16": 2, "8_8": 3, "32": 4, "16_16": 5, "8_8_8_8": 10, "32_32": 11, "16_16_16_16": 12,
    "32_32_32": 13, "32_32_32_32": 14,
}  # fmt: skip
_NUMBER = {"UNORM": 0, "SNORM": 1, "USCALED": 2, "SSCALED": 3, "UINT": 4, "SINT": 5, "FLOAT": 7}


def _named_format(instruction: Instruction) -> tuple[int, int]:
    """Data and number format that the instruction names."""
    text = instruction.modifiers.get("format", "")
    if text.startswith("["):
        data, number = 1, 0
        for part in text.strip("[]").split(","):
            name = part.strip()
            if name.startswith("BUF_DATA_FORMAT_"):
                data = _DATA.get(name.removeprefix("BUF_DATA_FORMAT_"), -1)
            else:
                number = _NUMBER.get(name.removeprefix("BUF_NUM_FORMAT_"), -1)
        return data, number
    if text:
        code = instruction.number("format")
        return code & 15, code >> 4 & 7
    return instruction.number("dfmt", 1), instruction.number("nfmt")


def _layout(data: int, number: int) -> _Layout:
    result = _LAYOUTS.get(data)
    if result is None or number not in _NUMBER.values() or (number == 7 and result.bits == 8):
        raise UnsupportedError(f"a typed buffer of data format {data}, number format {number}")
    return result


def _decoded(data: Bytes, layout: _Layout, number: int) -> list[Words]:
    """Components ``[lane, byte]`` as registers."""
    unsigned = np.ascontiguousarray(data).view(f"<u{layout.bits // 8}").astype(np.uint32)
    signed = np.ascontiguousarray(data).view(f"<i{layout.bits // 8}").astype(np.int32)
    found: NDArray[np.uint32]
    if number == 4 or (number == 7 and layout.bits == 32):
        found = unsigned
    elif number == 5:
        found = signed.view(np.uint32)
    elif number == 7:
        found = unsigned.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    else:
        value = (signed if number in (1, 3) else unsigned).astype(np.float64)
        if number in (0, 1):
            value = value / ((1 << (layout.bits - number)) - 1)
        found = np.maximum(value, -1 if number == 1 else -np.inf).astype(np.float32).view(np.uint32)
    return [found[:, i] for i in range(layout.count)]


def _encoded(values: list[Words], layout: _Layout, number: int) -> Bytes:
    """The reverse, for stores."""
    columns = []
    for value in values:
        if number in (4, 5) or (number == 7 and layout.bits == 32):
            whole = value.astype(np.int64)
        elif number == 7:
            whole = value.view(np.float32).astype(np.float16).view(np.uint16).astype(np.int64)
        else:
            real = np.nan_to_num(value.view(np.float32).astype(np.float64))
            if number in (0, 1):
                real = np.clip(real, -number, 1) * ((1 << (layout.bits - number)) - 1)
            whole = np.rint(real).astype(np.int64)
        columns.append(whole & ((1 << layout.bits) - 1))
    packed = np.stack(columns, axis=1).astype(f"<u{layout.bits // 8}")
    return np.ascontiguousarray(packed).view(np.uint8)


def _typed(
    instruction: Instruction, at: int, machine: Machine, symbols: Mapping[str, int]
) -> Effect:
    """``buffer_load_format_xy`` (the resource's format) and ``tbuffer_...`` (its own)."""
    name = instruction.mnemonic
    match = re.match(r"(t?)buffer_(load|store)_format_([xyzw]+)$", name)
    if match is None:
        raise UnsupportedError(name)
    count, store = len(match[3]), match[2] == "store"
    place, held = rows(instruction.operands[0])
    if held != count:
        raise UnsupportedError(f"{name} of {held} registers")
    named = _named_format(instruction) if match[1] else None
    word = scalar_row(instruction.operands[2])[0] + 3

    def effect(w: Wave) -> None:
        data, number = named or (w.s[word] >> 15 & 15, w.s[word] >> 12 & 7)
        layout = _layout(data, number)
        size = layout.count * layout.bits // 8
        addresses, inside = resource(machine, instruction, 1, Width(size))(w)
        where = machine.memory.offsets(addresses[inside], size, write=store)
        if store:
            values = [w.v[place + min(i, count - 1)][inside] for i in range(layout.count)]
            raw = _encoded(values, layout, number)
            issued = machine.issue_vm(w, at, ())
            machine.touch_global(w, at, where, size, "w", issued, raw)
            machine.carry(w, w.vm, Moves.WRITES_GLOBAL, lambda: machine.memory.scatter(where, raw))
            return
        issued = machine.issue_vm(w, at, tuple(range(place, place + count)))
        machine.touch_global(w, at, where, size, "r", issued)
        on = w.mask
        one = np.uint32(1 if number in (4, 5) else 0x3F800000)

        def put(read: Bytes) -> None:
            parts = _decoded(read, layout, number)
            for i in range(count):
                value = np.full(LANES, one if i == 3 else 0, np.uint32)
                value[inside] = parts[i] if i < layout.count else value[inside]
                value[~inside] = 0
                into(w, place + i, on)(value)

        machine.carry(w, w.vm, Moves.READS_GLOBAL, lambda: machine.memory.gather(where, size), put)

    return effect


# LDS.


def _turned_six(
    instruction: Instruction, at: int, machine: Machine, symbols: Mapping[str, int]
) -> Effect:
    """``ds_read_b96_tr_b6``: sixteen lanes read rows of sixteen 6-bit elements, a column each."""
    to, held = rows(instruction.operands[0])
    row = rows(instruction.operands[1])[0]
    offset = instruction.number("offset")
    registers = tuple(range(to, to + 3))
    if held != 3:
        raise UnsupportedError(f"{instruction.mnemonic} to {held} registers")

    def effect(w: Wave) -> None:
        if w.mask is not None:
            raise UnsupportedError(f"{instruction.mnemonic} with lanes switched off")
        lds = machine.lds
        addresses = lds_at(w, row, offset, None)
        lds.check(addresses, 12)
        number = machine.issue_lgkm(w, at, registers)
        machine.touch_lds(w, at, addresses, 12, "r", number, registers=registers)

        def put(data: Bytes) -> None:
            bits = np.unpackbits(data, axis=1, bitorder="little").reshape(4, 16, 16, 6)
            turned = bits.transpose(0, 2, 1, 3).reshape(LANES, 96)
            packed = np.packbits(turned, axis=1, bitorder="little")
            w.v[to : to + 3] = np.ascontiguousarray(packed).view(np.uint32).T

        machine.carry(w, w.lgkm, Moves.READS_LDS, lambda: lds.gather(addresses, 12), put)

    return effect


def _by_thread(
    instruction: Instruction, at: int, machine: Machine, symbols: Mapping[str, int]
) -> Effect:
    """``ds_read_addtid_b32`` and its write: an address from M0, four bytes a lane."""
    register = rows(instruction.operands[0])[0]
    offset, store = instruction.number("offset"), "write" in instruction.mnemonic

    def effect(w: Wave) -> None:
        on, lds = w.mask, machine.lds
        addresses = (w.s[M0] & 0xFFFF) + offset + 4 * _LANE
        addresses = addresses if on is None else addresses[on]
        lds.check(addresses, 4)
        if store:
            words = w.v[register] if on is None else w.v[register][on]
            data = np.ascontiguousarray(words).view(np.uint8).reshape(-1, 4)
            number = machine.issue_lgkm(w, at, ())
            machine.touch_lds(w, at, addresses, 4, "w", number, data)
            machine.carry(w, w.lgkm, Moves.WRITES_LDS, lambda: lds.scatter(addresses, data))
            return
        number = machine.issue_lgkm(w, at, (register,))
        machine.touch_lds(w, at, addresses, 4, "r", number, registers=(register,))

        def put(data: Bytes) -> None:
            found = np.ascontiguousarray(data).view(np.uint32)[:, 0]
            if on is None:
                w.v[register] = found
            else:
                w.v[register, on] = found

        machine.carry(w, w.lgkm, Moves.READS_LDS, lambda: lds.gather(addresses, 4), put)

    return effect


def _counted(
    instruction: Instruction, at: int, machine: Machine, symbols: Mapping[str, int]
) -> Effect:
    """``ds_append`` and ``ds_consume``: a counter goes up or down by the number of active lanes."""
    to = rows(instruction.operands[0])[0]
    offset = instruction.number("offset")
    sign = 1 if instruction.mnemonic == "ds_append" else -1

    def effect(w: Wave) -> None:
        lds, on = machine.lds, w.mask
        place = np.array([(w.s[M0] & 0xFFFF) + offset], np.int64)
        lds.check(place, 4)
        step = sign * w.exec.bit_count()
        number = machine.issue_lgkm(w, at, (to,))
        machine.touch_lds(w, at, place, 4, "a", number)

        def act() -> Words:
            cell = lds.bytes[place[0] : place[0] + 4].view(np.uint32)
            old = int(cell[0])
            cell[0] = (old + step) & 0xFFFFFFFF
            return np.full(LANES, old, np.uint32)

        machine.carry(w, w.lgkm, Moves.UPDATES_LDS, act, into(w, to, on))

    return effect


def _masked_or(cell: int, first: int, second: int) -> int:
    return cell & ~first | second


def _wrapped(cell: int, first: int, second: int) -> int:
    return cell - first if cell >= first else cell + second


def _two_sources(compute: Callable[[int, int, int], int]) -> Maker:
    """Atomics on LDS with two values a lane: ``ds_mskor``, ``ds_wrap``."""

    def make(
        instruction: Instruction, at: int, machine: Machine, symbols: Mapping[str, int]
    ) -> Effect:
        returns = "_rtn" in instruction.mnemonic
        words = 2 if instruction.mnemonic.endswith("64") else 1
        operands = instruction.operands[1:] if returns else instruction.operands
        row, first, second = (rows(t)[0] for t in operands)
        to = rows(instruction.operands[0])[0]
        registers = tuple(range(to, to + words)) if returns else ()
        offset, size = instruction.number("offset"), 4 * words
        limit = (1 << 8 * size) - 1

        def effect(w: Wave) -> None:
            on, lds = w.active(), machine.lds
            addresses = lds_at(w, row, offset, on)
            lds.check(addresses, size)
            given = [_whole(w, source, words, on) for source in (first, second)]
            number = machine.issue_lgkm(w, at, registers)
            machine.touch_lds(w, at, addresses, size, "a", number)

            def act() -> list[int]:
                old = []
                for place, a, b in zip(addresses.tolist(), *given, strict=True):
                    cell = int.from_bytes(lds.bytes[place : place + size].tobytes(), "little")
                    old.append(cell)
                    new = (compute(cell, a, b) & limit).to_bytes(size, "little")
                    lds.bytes[place : place + size] = np.frombuffer(new, np.uint8)
                return old

            def put(old: list[int]) -> None:
                for word in range(words if returns else 0):
                    w.v[to + word, on] = [v >> 32 * word & 0xFFFFFFFF for v in old]

            machine.carry(w, w.lgkm, Moves.UPDATES_LDS, act, put)

        return effect

    return make


def _whole(w: Wave, row: int, words: int, on: NDArray[np.bool_]) -> list[int]:
    """Registers of the active lanes as numbers."""
    low: list[int] = w.v[row][on].tolist()
    if words == 1:
        return low
    high: list[int] = w.v[row + 1][on].tolist()
    return [a | b << 32 for a, b in zip(low, high, strict=True)]


_RARE: tuple[tuple[str, Maker], ...] = (
    (r"s_(buffer_)?atomic_", _scalar_atomic),
    (r"t?buffer_(load|store)_format_", _typed),
    (r"ds_read_b96_tr_b6$", _turned_six),
    (r"ds_(read|write)_addtid_b32$", _by_thread),
    (r"ds_(append|consume)$", _counted),
    (r"ds_mskor_(rtn_)?b(32|64)$", _two_sources(_masked_or)),
    (r"ds_wrap_rtn_b32$", _two_sources(_wrapped)),
)
