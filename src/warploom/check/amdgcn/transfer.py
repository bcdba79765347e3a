"""Memory instructions: scalar, LDS, buffer, global, flat and private accesses, LDS-DMA, atomics.

Each takes its operands at issue and is in flight until a wait covers it. When memory is read or
written in between is the machine's choice: it gets the access as a function (``carry``), with
another that puts the result into registers. Whether the values could have been others is a question
of order, which the machine asks for every access.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Flag, auto
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.formats import from_bf16, from_half, to_bf16, to_half
from warploom.check.amdgcn.memory import BASE, Addresses, Bytes, GlobalMemory, Lds
from warploom.check.amdgcn.operands import (
    is_vector,
    literal,
    read_pair,
    read_scalar,
    rows,
    scalar_row,
)
from warploom.check.amdgcn.reader import Instruction, Kernel
from warploom.check.amdgcn.state import (
    LANES,
    M0,
    MASK32,
    MASK64,
    PRIVATE_APERTURE,
    SGPR,
    SHARED_APERTURE,
    FaultError,
    Queue,
    Wave,
    Words,
)
from warploom.errors import UnsupportedCodeError as UnsupportedError

Effect = Callable[[Wave], None]
Brought = TypeVar("Brought")
_LANE = np.arange(LANES, dtype=np.int64)


class Moves(Flag):
    """What an access does to which memory. LDS-DMA reaches LDS on a way of its own."""

    NOTHING = 0
    READS_LDS = auto()
    WRITES_LDS = auto()
    READS_GLOBAL = auto()
    WRITES_GLOBAL = auto()
    READS_PRIVATE = auto()
    WRITES_PRIVATE = auto()
    LANDS_IN_LDS = auto()
    UPDATES_LDS = READS_LDS | WRITES_LDS
    UPDATES_GLOBAL = READS_GLOBAL | WRITES_GLOBAL
    FILLS_LDS = READS_GLOBAL | LANDS_IN_LDS


class Machine(Protocol):
    """What memory instructions need of the machine that runs them."""

    memory: GlobalMemory
    lds: Lds
    kernel: Kernel

    def issue_vm(
        self, w: Wave, at: int, registers: tuple[int, ...], *, dma: bool = False, flat: bool = False
    ) -> int:
        """Count one vector access; its number."""

    def issue_lgkm(
        self, w: Wave, at: int, registers: tuple[int, ...], *, scalar: bool = False,
        flat: bool = False,
    ) -> int:  # fmt: skip
        """Count one LDS or scalar access; its number."""

    def touch_lds(
        self, w: Wave, at: int, addresses: Addresses, width: int, kind: str, number: int,
        data: Bytes | Callable[[], Bytes] | None = None, registers: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        """Order one access to LDS against the earlier ones."""

    def touch_global(
        self, w: Wave, at: int, offsets: Addresses, size: int, kind: str, number: int,
        data: Bytes | None = None, *, scalar: bool = False, bypass: bool = False,
    ) -> None:  # fmt: skip
        """Record one access to global memory."""

    def updated(self, place: Addresses, old: Bytes) -> None:
        """An atomic was executed on global memory."""

    def carry(
        self, w: Wave, queue: Queue, moves: Moves, act: Callable[[], Brought],
        put: Callable[[Brought], None] | None = None,
    ) -> None:  # fmt: skip
        """The access that was issued last: ``act`` on memory, then ``put`` its result."""

    def require_inside(self, w: Wave, inside: NDArray[np.bool_], always: NDArray[np.bool_]) -> None:
        """A buffer load with lanes out of range."""

    def write_back(self, w: Wave, number: int) -> None:
        """Scalar stores of the wave are in memory when this operation is complete."""

    def synchronise(self, w: Wave, offsets: Addresses, kind: str, *, scalar: bool = False) -> None:
        """An access that can carry order from workgroup to workgroup."""

    def disturb(self, w: Wave, at: int, number: int, where: Addresses, data: Bytes) -> Bytes:
        """Bytes of a load, changed where a trial asks whether they matter."""
        return data


@dataclass(frozen=True, slots=True)
class Width:
    """Bytes a lane moves and how they sit in registers."""

    size: int
    signed: bool = False
    d16: str = ""  # "", "lo" or "hi": only that half of the register


_LOADS: Mapping[str, Width] = {
    "ubyte": Width(1), "sbyte": Width(1, signed=True), "ushort": Width(2),
    "sshort": Width(2, signed=True), "dword": Width(4), "dwordx2": Width(8),
    "dwordx3": Width(12), "dwordx4": Width(16), "short_d16": Width(2, d16="lo"),
    "short_d16_hi": Width(2, d16="hi"), "ubyte_d16": Width(1, d16="lo"),
    "ubyte_d16_hi": Width(1, d16="hi"), "sbyte_d16": Width(1, signed=True, d16="lo"),
    "sbyte_d16_hi": Width(1, signed=True, d16="hi"),
}  # fmt: skip
_STORES: Mapping[str, Width] = {
    "byte": Width(1), "short": Width(2), "byte_d16_hi": Width(1, d16="hi"),
    "short_d16_hi": Width(2, d16="hi"), "dword": Width(4), "dwordx2": Width(8),
    "dwordx3": Width(12), "dwordx4": Width(16),
}  # fmt: skip
_DS_READS: Mapping[str, Width] = {
    "b32": Width(4), "b64": Width(8), "b96": Width(12), "b128": Width(16), "u8": Width(1),
    "i8": Width(1, signed=True), "u16": Width(2), "i16": Width(2, signed=True),
    "u8_d16": Width(1, d16="lo"), "u8_d16_hi": Width(1, d16="hi"),
    "i8_d16": Width(1, signed=True, d16="lo"), "i8_d16_hi": Width(1, signed=True, d16="hi"),
    "u16_d16": Width(2, d16="lo"), "u16_d16_hi": Width(2, d16="hi"),
    "addtid_b32": Width(4),
}  # fmt: skip
_DS_WRITES: Mapping[str, Width] = {
    "b8": Width(1), "b16": Width(2), "b32": Width(4), "b64": Width(8), "b96": Width(12),
    "b128": Width(16), "b8_d16_hi": Width(1, d16="hi"), "b16_d16_hi": Width(2, d16="hi"),
}  # fmt: skip


class StraddleError(Exception):
    """A buffer access of several dwords of which some lie behind the end; each is checked alone."""

    def __init__(self, addresses: Addresses, dwords: NDArray[np.int64]) -> None:
        super().__init__("a buffer access of which only a part is in range")
        self.addresses, self.dwords = addresses, dwords


def to_words(data: Bytes, width: Width, old: Words) -> Words:
    """Bytes ``[lane, byte]`` as register rows ``[register, lane]``."""
    if width.size >= 4:
        return np.ascontiguousarray(data).view(np.uint32).T
    value: NDArray[np.uint32]
    if width.size == 1:
        value = data[:, 0].astype(np.uint32)
    else:
        value = np.ascontiguousarray(data).view(np.uint16)[:, 0].astype(np.uint32)
    if width.signed:
        sign = np.uint32(0x80 if width.size == 1 else 0x8000)
        value = (value ^ sign) - sign
    if width.d16 == "lo":
        value = old & np.uint32(0xFFFF0000) | value & np.uint32(0xFFFF)
    elif width.d16 == "hi":
        value = old & np.uint32(0xFFFF) | value << np.uint32(16)
    return value[None, :]


def to_bytes(words: Words, width: Width) -> Bytes:
    """Register rows ``[register, lane]`` as bytes ``[lane, byte]``."""
    if width.d16 == "hi":
        words = words >> np.uint32(16)
    return np.ascontiguousarray(words.T).view(np.uint8)[:, : width.size]


def make_transfer(
    instruction: Instruction, at: int, machine: Machine, symbols: Mapping[str, int]
) -> Effect | None:
    """The effect of a memory instruction, or None for other mnemonics."""
    family = instruction.mnemonic.split("_", 1)[0]
    maker = _FAMILIES.get(family)
    if instruction.mnemonic == "ds_nop":
        return lambda w: None
    if maker is not None:
        return maker(instruction, at, machine)
    if instruction.mnemonic.startswith(
        ("s_load_", "s_buffer_", "s_mem", "s_store_", "s_scratch_", "s_dcache_wb")
    ):
        return _scalar(instruction, at, machine, symbols)
    return None


# Scalar loads.


def _scalar(
    instruction: Instruction, at: int, machine: Machine, symbols: Mapping[str, int]
) -> Effect:
    name = instruction.mnemonic
    if name in ("s_memtime", "s_memrealtime"):
        return _clock(instruction, at, machine)
    if name.startswith("s_dcache_wb"):
        return lambda w: machine.write_back(w, machine.issue_lgkm(w, at, (), scalar=True))
    match = re.match(r"s_(buffer_)?(load|store)_dword(?:x(\d+))?$", name)
    if match is None:
        raise UnsupportedError(f"{name}")
    make = _scalar_load if match[2] == "load" else _scalar_store
    return make(instruction, at, machine, symbols, int(match[3] or 1), bool(match[1]))


def _scalar_load(
    instruction: Instruction, at: int, machine: Machine, symbols: Mapping[str, int], count: int,
    buffered: bool,
) -> Effect:  # fmt: skip
    name = instruction.mnemonic
    to, held = scalar_row(instruction.operands[0])
    if held != count:
        raise UnsupportedError(f"{name} to {held} registers")
    base, _ = scalar_row(instruction.operands[1])
    offset = (
        read_scalar(instruction.operands[2], symbols) if len(instruction.operands) > 2 else None
    )
    constant = literal(instruction.operands[2]) if len(instruction.operands) > 2 else 0
    extra = instruction.number("offset")
    coherent = instruction.flag("glc")
    registers = tuple(range(SGPR + to, SGPR + to + count))

    def effect(w: Wave) -> None:
        more = (offset(w) if offset else 0) + extra
        if constant is not None and more >> 31 & 1:
            more -= 1 << 32
        start = w.s[base] | w.s[base + 1] << 32
        size = 4 * count
        if buffered:
            start &= (1 << 48) - 1
            if more + size > w.s[base + 2]:
                machine.issue_lgkm(w, at, registers, scalar=True)
                machine.carry(w, w.lgkm, Moves.NOTHING, lambda: [0] * count, registers_of(w))
                return
        place = (start + more) & MASK64 & ~3
        place = place - (1 << 64) if place >> 63 else place
        where = machine.memory.offsets(np.array([place], np.int64), size)
        number = machine.issue_lgkm(w, at, registers, scalar=True)
        if coherent:
            machine.synchronise(w, where, "r", scalar=True)
        machine.touch_global(w, at, where, size, "r", number, scalar=True, bypass=coherent)

        def act() -> list[int]:
            result: list[int] = machine.memory.gather(where, size).view(np.uint32)[0].tolist()
            return result

        machine.carry(w, w.lgkm, Moves.READS_GLOBAL, act, registers_of(w))

    def registers_of(w: Wave) -> Callable[[list[int]], None]:
        def put(values: list[int]) -> None:
            w.s[to : to + count] = values

        return put

    return effect


def _scalar_store(
    instruction: Instruction, at: int, machine: Machine, symbols: Mapping[str, int], count: int,
    buffered: bool,
) -> Effect:  # fmt: skip
    """To the scalar cache: in memory after ``s_dcache_wb`` only, but where it is coherent."""
    source, held = scalar_row(instruction.operands[0])
    base, _ = scalar_row(instruction.operands[1])
    offset = read_scalar(instruction.operands[2], symbols)
    extra, size = instruction.number("offset"), 4 * count
    coherent = instruction.flag("glc")
    if held != count:
        raise UnsupportedError(f"{instruction.mnemonic} of {held} registers")

    def effect(w: Wave) -> None:
        start = w.s[base] | w.s[base + 1] << 32
        more = offset(w) + extra
        more = more - (1 << 32) if more >> 31 & 1 else more
        number = machine.issue_lgkm(w, at, (), scalar=True)
        if buffered:
            start &= (1 << 48) - 1
            if more + size > w.s[base + 2]:
                return
        data = np.array([w.s[source : source + count]], np.uint32).view(np.uint8)
        where = machine.memory.offsets(np.array([start + more & ~3], np.int64), size, write=True)
        machine.touch_global(w, at, where, size, "w", number, data, scalar=True, bypass=coherent)
        if coherent:
            machine.synchronise(w, where, "w", scalar=True)
        machine.carry(w, w.lgkm, Moves.WRITES_GLOBAL, lambda: machine.memory.scatter(where, data))

    return effect


def _clock(instruction: Instruction, at: int, machine: Machine) -> Effect:
    to, _ = scalar_row(instruction.operands[0])

    def effect(w: Wave) -> None:
        machine.issue_lgkm(w, at, (SGPR + to, SGPR + to + 1), scalar=True)

        def put(steps: int) -> None:
            w.s[to], w.s[to + 1] = steps & MASK32, 0

        machine.carry(w, w.lgkm, Moves.NOTHING, lambda: w.steps, put)

    return effect


# LDS.


def _ds(instruction: Instruction, at: int, machine: Machine) -> Effect:
    name = instruction.mnemonic
    if instruction.flag("gds"):
        raise UnsupportedError(f"{name} of global data share")
    if name in ("ds_bpermute_b32", "ds_permute_b32", "ds_swizzle_b32"):
        return _lane_exchange(instruction, at, machine)
    match = re.match(r"ds_(read|write|wrxchg)2(st64)?(?:_rtn)?_b(32|64)$", name)
    if match:
        make = {"read": _ds_read2, "write": _ds_write2, "wrxchg": _ds_exchange2}[match[1]]
        return make(instruction, at, machine, int(match[3]) // 8, 64 if match[2] else 1)
    match = re.match(r"ds_read_b(64|96)_tr_b(16|8|4|6)$", name)
    if match:
        return _ds_transposed(instruction, at, machine, int(match[2]))
    kind, _, rest = name.removeprefix("ds_").partition("_")
    if kind == "read" and rest in _DS_READS and rest != "addtid_b32":
        return _ds_read(instruction, at, machine, _DS_READS[rest])
    if kind == "write" and rest in _DS_WRITES:
        return _ds_write(instruction, at, machine, _DS_WRITES[rest])
    return _ds_atomic(instruction, at, machine)


_ZERO = np.zeros(LANES, np.uint32)


def _old(machine: Machine, w: Wave, row: int) -> Words:
    """What the other half of a register holds after a load of one half."""
    return w.v[row] if machine.kernel.keeps_halves else _ZERO


def lds_at(w: Wave, row: int, offset: int, on: NDArray[np.bool_] | None) -> Addresses:
    """LDS addresses of the lanes that are on; the sum has 32 bits (a base may be negative)."""
    at: Addresses = (w.v[row].astype(np.int64) + offset) & MASK32
    return at if on is None else at[on]


def _ds_read(instruction: Instruction, at: int, machine: Machine, width: Width) -> Effect:
    to, count = rows(instruction.operands[0])
    row = rows(instruction.operands[1])[0]
    offset = instruction.number("offset")
    need = max(1, width.size // 4)
    if count != need:
        raise UnsupportedError(f"{instruction.mnemonic} to {count} registers")
    registers = tuple(range(to, to + count))

    def effect(w: Wave) -> None:
        on = w.mask
        lds = machine.lds
        addresses = lds_at(w, row, offset, on)
        lds.check(addresses, width.size)
        number = machine.issue_lgkm(w, at, registers)
        machine.touch_lds(w, at, addresses, width.size, "r", number, registers=registers)

        def put(data: Bytes) -> None:
            old = _old(machine, w, to)
            if on is None:
                w.v[to : to + need] = to_words(data, width, old)
            else:
                w.v[to : to + need, on] = to_words(data, width, old[on])

        machine.carry(w, w.lgkm, Moves.READS_LDS, lambda: lds.gather(addresses, width.size), put)

    return effect


def _ds_write(instruction: Instruction, at: int, machine: Machine, width: Width) -> Effect:
    row = rows(instruction.operands[0])[0]
    source, _ = rows(instruction.operands[1])
    offset = instruction.number("offset")
    need = max(1, width.size // 4)

    def effect(w: Wave) -> None:
        on = w.mask
        lds = machine.lds
        addresses = lds_at(w, row, offset, on)
        lds.check(addresses, width.size)
        words = w.v[source : source + need]
        data = to_bytes(words if on is None else words[:, on], width)
        number = machine.issue_lgkm(w, at, ())
        machine.touch_lds(w, at, addresses, width.size, "w", number, data)
        machine.carry(w, w.lgkm, Moves.WRITES_LDS, lambda: lds.scatter(addresses, data))

    return effect


def _ds_read2(
    instruction: Instruction, at: int, machine: Machine, size: int, stride: int
) -> Effect:
    to, _ = rows(instruction.operands[0])
    row = rows(instruction.operands[1])[0]
    offsets = [instruction.number(f"offset{i}") * size * stride for i in range(2)]
    words = size // 4
    registers = tuple(range(to, to + 2 * words))
    width = Width(size)

    def effect(w: Wave) -> None:
        on = w.mask
        lds = machine.lds
        number = machine.issue_lgkm(w, at, registers)
        places = [lds_at(w, row, offset, on) for offset in offsets]
        for addresses in places:
            lds.check(addresses, size)
            machine.touch_lds(w, at, addresses, size, "r", number, registers=registers)

        def put(read: list[Bytes]) -> None:
            for place, data in zip((to, to + words), read, strict=True):
                value = to_words(data, width, w.v[to])
                if on is None:
                    w.v[place : place + words] = value
                else:
                    w.v[place : place + words, on] = value

        machine.carry(
            w, w.lgkm, Moves.READS_LDS, lambda: [lds.gather(p, size) for p in places], put
        )

    return effect


def _ds_write2(
    instruction: Instruction, at: int, machine: Machine, size: int, stride: int
) -> Effect:
    row = rows(instruction.operands[0])[0]
    sources = [rows(t)[0] for t in instruction.operands[1:3]]
    offsets = [instruction.number(f"offset{i}") * size * stride for i in range(2)]
    width = Width(size)

    def effect(w: Wave) -> None:
        on = w.mask
        lds = machine.lds
        number = machine.issue_lgkm(w, at, ())
        for offset, source in zip(offsets, sources, strict=True):
            addresses = lds_at(w, row, offset, on)
            lds.check(addresses, size)
            words = w.v[source : source + size // 4]
            data = to_bytes(words if on is None else words[:, on], width)
            machine.touch_lds(w, at, addresses, size, "w", number, data)
            write = partial(lds.scatter, addresses, data)
            machine.carry(w, w.lgkm, Moves.WRITES_LDS, write)

    return effect


def _ds_exchange2(
    instruction: Instruction, at: int, machine: Machine, size: int, stride: int
) -> Effect:
    to, _ = rows(instruction.operands[0])
    row = rows(instruction.operands[1])[0]
    sources = [rows(t)[0] for t in instruction.operands[2:4]]
    offsets = [instruction.number(f"offset{i}") * size * stride for i in range(2)]
    words = size // 4
    registers = tuple(range(to, to + 2 * words))
    atomic = Atomic(lambda a, b: b, _U64 if size == 8 else _U32)

    def effect(w: Wave) -> None:
        on = w.active()
        lds = machine.lds
        number = machine.issue_lgkm(w, at, registers)
        given = [to_bytes(w.v[s : s + words][:, on], Width(size)) for s in sources]
        places = [lds_at(w, row, offset, on) for offset in offsets]
        for addresses in places:
            lds.check(addresses, size)
            machine.touch_lds(w, at, addresses, size, "a", number)

        def act() -> list[Bytes]:
            return [
                run_atomic(lds.bytes, place, atomic, data, None)
                for place, data in zip(places, given, strict=True)
            ]

        def put(old: list[Bytes]) -> None:
            for place, data in zip((to, to + words), old, strict=True):
                w.v[place : place + words, on] = data.view(np.uint32).T

        machine.carry(w, w.lgkm, Moves.UPDATES_LDS, act, put)

    return effect


def _ds_transposed(instruction: Instruction, at: int, machine: Machine, bits: int) -> Effect:
    """Sixteen lanes read rows of sixteen elements and get a column each."""
    if bits == 6:
        raise UnsupportedError(f"{instruction.mnemonic}")
    to, _ = rows(instruction.operands[0])
    row = rows(instruction.operands[1])[0]
    offset = instruction.number("offset")
    registers = (to, to + 1)
    each = 64 // bits

    def effect(w: Wave) -> None:
        if w.mask is not None:
            raise UnsupportedError(f"{instruction.mnemonic} with lanes switched off")
        lds = machine.lds
        addresses = lds_at(w, row, offset, None)
        lds.check(addresses, 8)
        number = machine.issue_lgkm(w, at, registers)
        machine.touch_lds(w, at, addresses, 8, "r", number, registers=registers)

        def put(data: Bytes) -> None:
            if bits == 4:
                low, high = data & np.uint8(15), data >> np.uint8(4)
                elements = np.stack([low, high], axis=2).reshape(LANES, 16)
            else:
                elements = np.ascontiguousarray(data).view(np.uint16 if bits == 16 else np.uint8)
            turned = elements.reshape(4, each, 16).transpose(0, 2, 1).reshape(LANES, each)
            if bits == 4:
                turned = turned[:, 0::2] | turned[:, 1::2] << np.uint8(4)
            w.v[to : to + 2] = np.ascontiguousarray(turned).view(np.uint32).T

        machine.carry(w, w.lgkm, Moves.READS_LDS, lambda: lds.gather(addresses, 8), put)

    return effect


def _lane_exchange(instruction: Instruction, at: int, machine: Machine) -> Effect:
    """Exchange between lanes through the LDS unit; it touches no LDS memory."""
    to = rows(instruction.operands[0])[0]
    name = instruction.mnemonic
    if name == "ds_swizzle_b32":
        source = rows(instruction.operands[1])[0]
        order = _swizzle(instruction)

        def swizzle(w: Wave) -> None:
            value = w.v[source][order]
            if w.mask is not None:
                value = np.where(w.mask[order], value, np.uint32(0))
            machine.issue_lgkm(w, at, (to,))
            machine.carry(w, w.lgkm, Moves.NOTHING, lambda: value, into(w, to, w.mask))

        return swizzle
    where, source = rows(instruction.operands[1])[0], rows(instruction.operands[2])[0]
    offset = instruction.number("offset")

    def effect(w: Wave) -> None:
        lane = (w.v[where].astype(np.int64) + offset) // 4 % LANES
        on = w.active()
        if name == "ds_bpermute_b32":
            value = np.where(on[lane], w.v[source][lane], np.uint32(0))
        else:
            value = np.zeros(LANES, np.uint32)
            value[lane[on]] = w.v[source][on]
        machine.issue_lgkm(w, at, (to,))
        machine.carry(w, w.lgkm, Moves.NOTHING, lambda: value, into(w, to, w.mask))

    return effect


def into(w: Wave, to: int, on: NDArray[np.bool_] | None) -> Callable[[Words], None]:
    """Writes one register in the lanes that were on."""

    def put(value: Words) -> None:
        if on is None:
            w.v[to] = value
        else:
            np.copyto(w.v[to], value, where=on)

    return put


def _swizzle(instruction: Instruction) -> NDArray[np.int64]:
    spelled = instruction.modifiers.get("offset", "0")
    lane = _LANE
    match = re.match(r"swizzle\((\w+),(.*)\)$", spelled)
    if match:
        return _named_swizzle(match[1], [p.strip().strip('"') for p in match[2].split(",")])
    code = instruction.number("offset")
    if code >> 15:
        picks = np.array([code >> 2 * i & 3 for i in range(4)])
        quads: NDArray[np.int64] = (lane & ~3) + picks[lane & 3]
        return quads
    within = (lane & 31 & (code & 31) | code >> 5 & 31) ^ (code >> 10 & 31)
    return (lane & 32) + within


def _named_swizzle(kind: str, rest: list[str]) -> NDArray[np.int64]:
    lane = _LANE
    if kind == "BITMASK_PERM":
        return _bitmask(rest[0])
    numbers = [int(p, 0) for p in rest]
    order: NDArray[np.int64]
    if kind == "QUAD_PERM":
        order = (lane & ~3) + np.array(numbers)[lane & 3]
    elif kind == "SWAP":
        order = lane ^ numbers[0]
    elif kind == "REVERSE":
        order = lane ^ (numbers[0] - 1)
    elif kind == "BROADCAST":
        order = (lane & ~(numbers[0] - 1)) + numbers[1]
    else:
        raise UnsupportedError(f"ds_swizzle_b32 {kind}")
    return order


def _bitmask(pattern: str) -> NDArray[np.int64]:
    lane = _LANE & 31
    result = np.zeros(LANES, np.int64)
    for place, char in enumerate(pattern):
        bit = 4 - place
        value = {"0": 0, "1": 1, "p": lane >> bit & 1, "i": ~(lane >> bit) & 1}.get(char.lower())
        if value is None:
            raise UnsupportedError(f"the swizzle pattern {pattern!r}")
        result |= np.asarray(value, np.int64) << bit
    return (_LANE & 32) + result


# Atomics, in LDS and in global memory.

_U32, _I32, _F32 = np.dtype(np.uint32), np.dtype(np.int32), np.dtype(np.float32)
_U64, _I64, _F64 = np.dtype(np.uint64), np.dtype(np.int64), np.dtype(np.float64)
Combine = Callable[[int | float, int | float], int | float]

_INTEGER: Mapping[str, tuple[bool, Combine]] = {
    "add": (False, lambda a, b: a + b),
    "sub": (False, lambda a, b: a - b),
    "rsub": (False, lambda a, b: b - a),
    "min": (True, min), "smin": (True, min), "umin": (False, min),
    "max": (True, max), "smax": (True, max), "umax": (False, max),
    "and": (False, lambda a, b: int(a) & int(b)),
    "or": (False, lambda a, b: int(a) | int(b)),
    "xor": (False, lambda a, b: int(a) ^ int(b)),
    "inc": (False, lambda a, b: 0 if a >= b else a + 1),
    "dec": (False, lambda a, b: b if a == 0 or a > b else a - 1),
    "swap": (False, lambda a, b: b),
    "wrxchg": (False, lambda a, b: b),
}  # fmt: skip
_FLOATS: Mapping[str, Combine] = {
    "add": lambda a, b: a + b,
    "min": min,
    "max": max,
}


def _pk_add(kind: str) -> Callable[[int, int], int]:
    """Two halves added at once."""
    decode = from_half if kind == "f16" else from_bf16
    encode = to_half if kind == "f16" else to_bf16

    def combine(a: int, b: int) -> int:
        result = 0
        for shift in (0, 16):
            x, y = (decode(np.array([v >> shift & 0xFFFF], np.uint32)) for v in (a, b))
            result |= int(encode(x + y)[0]) << shift
        return result

    return combine


def apply_atomic(
    combine: Combine, dtype: np.dtype[np.generic], old: Bytes, given: Bytes, compare: Bytes | None
) -> Bytes:
    """New contents of one location."""
    before, value = old.view(dtype)[0], given.view(dtype)[0]
    if compare is not None:
        new = value if before == compare.view(dtype)[0] else before
    elif dtype.kind == "f":
        new = combine(before, value)
    else:
        new = combine(int(before), int(value))
    if dtype.kind != "f":
        bits = 8 * dtype.itemsize
        new = int(new) & ((1 << bits) - 1)
        return np.array([new], np.dtype(f"u{dtype.itemsize}")).view(np.uint8)
    return np.array([new], dtype).view(np.uint8)


@dataclass(frozen=True, slots=True)
class Atomic:
    """What an atomic instruction does."""

    combine: Combine
    dtype: np.dtype[np.generic]
    compare: bool = False


def atomic_named(name: str) -> Atomic | None:
    """``add``, ``add_x2``, ``add_f32``, ``cmpswap``, ``pk_add_bf16`` and so on."""
    match = re.match(r"pk_add_(?:rtn_)?(f16|bf16)$", name)
    if match:
        return Atomic(_pk_add(match[1]), _U32)  # type: ignore[arg-type]
    match = re.match(r"(\w+?)_(f32|f64)$", name)
    if match and match[1] in _FLOATS:
        return Atomic(_FLOATS[match[1]], _F32 if match[2] == "f32" else _F64)
    match = re.match(r"(cmpswap|[a-z]+)(_x2)?$", name)
    if match is None:
        return None
    wide = bool(match[2])
    if match[1] == "cmpswap":
        return Atomic(lambda a, b: b, _U64 if wide else _U32, compare=True)
    found = _INTEGER.get(match[1])
    if found is None:
        return None
    signed, combine = found
    return Atomic(combine, (_I64 if wide else _I32) if signed else (_U64 if wide else _U32))


def _ds_atomic(instruction: Instruction, at: int, machine: Machine) -> Effect:
    name = instruction.mnemonic.removeprefix("ds_")
    returns = "_rtn" in name
    name = name.replace("_rtn", "")
    match = re.match(r"(\w+?)_(u32|i32|b32|u64|i64|b64|f32|f64)$", name)
    packed = name in ("pk_add_f16", "pk_add_bf16")
    if match is None and not packed:
        raise UnsupportedError(f"{instruction.mnemonic}")
    atomic = atomic_named(name) if packed else _ds_kind(match[1], match[2])  # type: ignore[index]
    if atomic is None:
        raise UnsupportedError(f"{instruction.mnemonic}")
    operands = instruction.operands[1:] if returns else instruction.operands
    row = rows(operands[0])[0]
    sources = [rows(t)[0] for t in operands[1:]]
    size = atomic.dtype.itemsize
    words = size // 4
    to = rows(instruction.operands[0])[0] if returns else 0
    registers = tuple(range(to, to + words)) if returns else ()
    offset = instruction.number("offset")
    width = Width(size)

    def effect(w: Wave) -> None:
        on = w.active()
        lds = machine.lds
        addresses = lds_at(w, row, offset, on)
        lds.check(addresses, size)
        values = [to_bytes(w.v[s : s + words][:, on], width) for s in sources]
        number = machine.issue_lgkm(w, at, registers)
        machine.touch_lds(w, at, addresses, size, "a", number)
        given, compare = (values[1], values[0]) if atomic.compare else (values[0], None)

        def put(old: Bytes) -> None:
            if returns:
                w.v[to : to + words, on] = old.view(np.uint32).T

        machine.carry(
            w, w.lgkm, Moves.UPDATES_LDS,
            lambda: run_atomic(lds.bytes, addresses, atomic, given, compare), put,
        )  # fmt: skip

    return effect


def _ds_kind(name: str, kind: str) -> Atomic | None:
    wide = kind.endswith("64")
    if kind[0] == "f" and name == "cmpst":
        return Atomic(lambda a, b: b, _F64 if wide else _F32, compare=True)
    if kind[0] == "f":
        combine = _FLOATS.get(name)
        return Atomic(combine, _F64 if wide else _F32) if combine else None
    if name == "cmpst":
        return Atomic(lambda a, b: b, _U64 if wide else _U32, compare=True)
    found = _INTEGER.get(name)
    if found is None:
        return None
    signed = kind[0] == "i"
    return Atomic(found[1], (_I64 if wide else _I32) if signed else (_U64 if wide else _U32))


def run_atomic(
    memory: Bytes, at: Addresses, atomic: Atomic, given: Bytes, compare: Bytes | None
) -> Bytes:
    """Lane after lane; the old contents of every lane's location."""
    size = atomic.dtype.itemsize
    old = np.zeros((at.size, size), np.uint8)
    for lane, place in enumerate(at.tolist()):
        cell = memory[place : place + size]
        old[lane] = cell
        memory[place : place + size] = apply_atomic(
            atomic.combine, atomic.dtype, cell.copy(), np.ascontiguousarray(given[lane]),
            None if compare is None else np.ascontiguousarray(compare[lane]),
        )  # fmt: skip
    return old


# Global, flat, buffer and private memory.

Resolve = Callable[[Wave], tuple[Addresses, NDArray[np.bool_]]]


def _global(instruction: Instruction, at: int, machine: Machine) -> Effect:
    name = instruction.mnemonic
    rest = name.removeprefix("global_")
    if rest.startswith("load_lds_"):
        width = _LOADS.get(rest.removeprefix("load_lds_"))
        if width is None:
            raise UnsupportedError(name)
        resolve = _flat_address(instruction, 0)
        return _dma(instruction, at, machine, resolve, width)
    if rest.startswith("load_"):
        width = _LOADS.get(rest.removeprefix("load_"))
        if width is not None:
            return _load(instruction, at, machine, _flat_address(instruction, 1), width)
    if rest.startswith("store_"):
        width = _STORES.get(rest.removeprefix("store_"))
        if width is not None:
            resolve = _flat_address(instruction, 0, store=True)
            return _store(instruction, at, machine, resolve, width, instruction.operands[1])
    if rest.startswith("atomic_"):
        return _atomic(instruction, at, machine, rest.removeprefix("atomic_"))
    raise UnsupportedError(name)


def _flat_address(instruction: Instruction, first: int, *, store: bool = False) -> Resolve:
    """``v[0:1], off`` or ``v0, s[0:1]``; stores have their data between."""
    operands = instruction.operands
    base = operands[first]
    saddr = operands[first + (2 if store else 1)] if len(operands) > first + 1 + store else "off"
    offset = instruction.number("offset")
    row, count = rows(base)
    if saddr == "off" or count == 2:
        if count != 2:
            raise UnsupportedError(f"the address {base} of {instruction.mnemonic}")

        def wide(w: Wave) -> tuple[Addresses, NDArray[np.bool_]]:
            return w.get64(row).view(np.int64) + offset, w.active()

        return wide
    scalar = read_pair(saddr)

    def effect(w: Wave) -> tuple[Addresses, NDArray[np.bool_]]:
        start = scalar(w)
        start = start - (1 << 64) if start >> 63 else start
        return w.v[row].astype(np.int64) + (start + offset), w.active()

    return effect


def _flat(instruction: Instruction, at: int, machine: Machine) -> Effect:
    """Generic addresses: LDS, private or global by their upper half."""
    name = instruction.mnemonic
    rest = name.removeprefix("flat_")
    if rest.startswith("atomic_"):
        return _atomic(instruction, at, machine, rest.removeprefix("atomic_"), flat=True)
    store = rest.startswith("store_")
    resolve = _flat_address(instruction, 0 if store else 1, store=store)
    kind, _, short = rest.partition("_")
    width = (_STORES if store else _LOADS).get(short)
    if kind not in ("load", "store") or width is None:
        raise UnsupportedError(name)
    source = instruction.operands[1] if store else instruction.operands[0]
    if store:
        generic = _store(instruction, at, machine, resolve, width, source, flat=True)
    else:
        generic = _load(instruction, at, machine, resolve, width, flat=True)
    other = _Elsewhere(machine, at, width, rows(source)[0], store)

    def effect(w: Wave) -> None:
        addresses, on = resolve(w)
        upper = addresses >> 32
        local, private = on & (upper == SHARED_APERTURE), on & (upper == PRIVATE_APERTURE)
        if not (local.any() or private.any()):
            generic(w)
            return
        rest = on & ~local & ~private
        if rest.any():
            _part(w, rest, generic)
        else:
            machine.issue_vm(w, at, other.registers, flat=True)
            machine.issue_lgkm(w, at, other.registers, flat=True)
        if local.any():
            other.lds(w, local, addresses[local] & MASK32)
        if private.any():
            other.private(w, private, addresses[private] & MASK32)

    return effect


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """Lanes of a flat access whose addresses mean LDS or private memory."""

    machine: Machine
    at: int
    width: Width
    place: int
    store: bool

    @property
    def need(self) -> int:
        return max(1, self.width.size // 4)

    @property
    def registers(self) -> tuple[int, ...]:
        return () if self.store else tuple(range(self.place, self.place + self.need))

    def lds(self, w: Wave, lanes: NDArray[np.bool_], where: Addresses) -> None:
        machine, lds, size = self.machine, self.machine.lds, self.width.size
        number = w.lgkm.issued
        lds.check(where, size)
        if self.store:
            data = self._data(w, lanes)
            machine.touch_lds(w, self.at, where, size, "w", number, data)
            machine.carry(w, w.vm, Moves.WRITES_LDS, lambda: lds.scatter(where, data))
        else:
            machine.touch_lds(w, self.at, where, size, "r", number, registers=self.registers)
            put = partial(self._put, w, lanes)
            machine.carry(w, w.vm, Moves.READS_LDS, lambda: lds.gather(where, size), put)

    def private(self, w: Wave, lanes: NDArray[np.bool_], where: Addresses) -> None:
        held = _private(w, where, self.width.size)
        cells, line = where[:, None] + np.arange(self.width.size), _LANE[lanes][:, None]
        if self.store:
            write = partial(_write_cells, held, line, cells, self._data(w, lanes))
            self.machine.carry(w, w.vm, Moves.WRITES_PRIVATE, write)
        else:
            put = partial(self._put, w, lanes)
            self.machine.carry(w, w.vm, Moves.READS_PRIVATE, lambda: held[line, cells], put)

    def _data(self, w: Wave, lanes: NDArray[np.bool_]) -> Bytes:
        return to_bytes(w.v[self.place : self.place + self.need][:, lanes], self.width)

    def _put(self, w: Wave, lanes: NDArray[np.bool_], data: Bytes) -> None:
        old = _old(self.machine, w, self.place)[lanes]
        w.v[self.place : self.place + self.need, lanes] = to_words(data, self.width, old)


def _write_cells(held: Bytes, lanes: NDArray[np.int64], cells: Addresses, data: Bytes) -> None:
    held[lanes, cells] = data


def _part(w: Wave, lanes: NDArray[np.bool_], effect: Effect) -> None:
    """Run an effect with only some of the lanes on."""
    saved = w.mask
    w.mask = lanes
    try:
        effect(w)
    finally:
        w.mask = saved


def _private(w: Wave, where: Addresses, size: int) -> Bytes:
    """Private memory of the wave; a fault where an access leaves it."""
    if w.scratch is None:
        raise FaultError("oob-private", "the kernel declares no private memory")
    if where.size and (int(where.min()) < 0 or int(where.max()) + size > w.scratch.shape[1]):
        bad = int(where.max())
        raise FaultError(
            "oob-private",
            f"an access to byte {bad} of private memory of {w.scratch.shape[1]} bytes",
        )
    return w.scratch


def _load(
    instruction: Instruction, at: int, machine: Machine, resolve: Resolve, width: Width,
    *, flat: bool = False,
) -> Effect:  # fmt: skip
    to, count = rows(instruction.operands[0])
    need = max(1, width.size // 4)
    if count != need:
        raise UnsupportedError(f"{instruction.mnemonic} to {count} registers")
    registers = tuple(range(to, to + need))
    bypass = instruction.flag("sc1")

    def effect(w: Wave) -> None:
        on = w.mask
        try:
            addresses, inside = resolve(w)
        except StraddleError as part:
            straddle(w, part)
            return
        where = machine.memory.offsets(addresses[inside], width.size)
        number = machine.issue_vm(w, at, registers, flat=flat)
        if flat:
            machine.issue_lgkm(w, at, registers, flat=True)
        if bypass:
            machine.synchronise(w, where, "r")
        machine.touch_global(w, at, where, width.size, "r", number, bypass=bypass)

        def act() -> Bytes:
            data = np.zeros((LANES, width.size), np.uint8)
            fetched = machine.memory.gather(where, width.size)
            data[inside] = machine.disturb(w, at, number, where, fetched)
            return data

        def put(data: Bytes) -> None:
            old = _old(machine, w, to)
            if on is None:
                w.v[to : to + need] = to_words(data, width, old)
            else:
                w.v[to : to + need, on] = to_words(data, width, old)[:, on]

        machine.carry(w, w.vm, Moves.READS_GLOBAL, act, put)

    straddle = _dword_by_dword(at, machine, registers, bypass)
    return effect


def _dword_by_dword(
    at: int, machine: Machine, registers: tuple[int, ...], bypass: bool
) -> Callable[[Wave, StraddleError], None]:
    """A load of which some dwords are out of range: these read zero."""

    def fetch(w: Wave, number: int, where: Addresses, inside: NDArray[np.bool_]) -> Words:
        value = np.zeros(LANES, np.uint32)
        fetched = machine.disturb(w, at, number, where, machine.memory.gather(where, 4))
        value[inside] = np.ascontiguousarray(fetched).view(np.uint32)[:, 0]
        return value

    def straddle(w: Wave, part: StraddleError) -> None:
        number = machine.issue_vm(w, at, registers)
        for dword, register in enumerate(registers):
            inside = part.dwords > dword
            where = machine.memory.offsets(part.addresses[inside] + 4 * dword, 4)
            machine.touch_global(w, at, where, 4, "r", number, bypass=bypass)
            act = partial(fetch, w, number, where, inside)
            machine.carry(w, w.vm, Moves.READS_GLOBAL, act, into(w, register, w.mask))

    return straddle


def _store(
    instruction: Instruction, at: int, machine: Machine, resolve: Resolve, width: Width,
    source: str, *, flat: bool = False,
) -> Effect:  # fmt: skip
    place, _ = rows(source)
    need = max(1, width.size // 4)
    bypass = instruction.flag("sc1")

    def effect(w: Wave) -> None:
        try:
            addresses, inside = resolve(w)
        except StraddleError as part:
            straddle(w, part)
            return
        where = machine.memory.offsets(addresses[inside], width.size, write=True)
        data = to_bytes(w.v[place : place + need][:, inside], width)
        number = machine.issue_vm(w, at, (), flat=flat)
        if flat:
            machine.issue_lgkm(w, at, (), flat=True)
        machine.touch_global(w, at, where, width.size, "w", number, data, bypass=bypass)
        if bypass:
            machine.synchronise(w, where, "w")
        machine.carry(w, w.vm, Moves.WRITES_GLOBAL, lambda: machine.memory.scatter(where, data))

    def straddle(w: Wave, part: StraddleError) -> None:
        number = machine.issue_vm(w, at, ())
        for dword in range(need):
            inside = part.dwords > dword
            where = machine.memory.offsets(part.addresses[inside] + 4 * dword, 4, write=True)
            data = to_bytes(w.v[place + dword][None, inside], Width(4))
            machine.touch_global(w, at, where, 4, "w", number, data, bypass=bypass)
            write = partial(machine.memory.scatter, where, data)
            machine.carry(w, w.vm, Moves.WRITES_GLOBAL, write)

    return effect


def _dma(
    instruction: Instruction, at: int, machine: Machine, resolve: Resolve, width: Width
) -> Effect:
    """From memory to LDS: lane i writes behind lane i - 1, from where M0 points."""
    offset = instruction.number("offset")
    step = max(4, width.size)

    def effect(w: Wave) -> None:
        addresses, inside = resolve(w)
        on = w.mask
        where = machine.memory.offsets(addresses[inside], width.size)
        place = (w.s[M0] & 0x3FFFF) + offset + step * _LANE
        place = place if on is None else place[on]
        lds = machine.lds
        lds.check(place, step)
        number = machine.issue_vm(w, at, (), dma=True)
        machine.touch_global(w, at, where, width.size, "r", number)
        data = partial(fetched, where, inside, on)
        machine.touch_lds(w, at, place, step, "d", number, data)
        machine.carry(w, w.vm, Moves.FILLS_LDS, lambda: lds.scatter(place, data()))

    def fetched(where: Addresses, inside: NDArray[np.bool_], on: NDArray[np.bool_] | None) -> Bytes:
        data = np.zeros((LANES, step), np.uint8)
        found = machine.memory.gather(where, width.size)
        if width.size < 4:
            found = np.ascontiguousarray(
                to_words(found, width, np.zeros(where.size, np.uint32)).T
            ).view(np.uint8)
        data[inside] = found
        return data if on is None else data[on]

    return effect


def _buffer(instruction: Instruction, at: int, machine: Machine) -> Effect:
    name = instruction.mnemonic
    if name in (
        "buffer_wbl2",
        "buffer_inv",
        "buffer_wbinvl1",
        "buffer_wbinvl1_vol",
        "buffer_invl2",
    ):
        return _cache(instruction, at, machine)
    rest = name.removeprefix("buffer_")
    if rest.startswith("load_"):
        width = _LOADS.get(rest.removeprefix("load_"))
        if width is not None and instruction.flag("lds"):
            first = 1 if len(instruction.operands) == 4 else 0
            return _dma(
                instruction, at, machine, resource(machine, instruction, first, width), width
            )
        if width is not None:
            resolve = resource(machine, instruction, 1, width, dwords=width.size > 4)
            return _load(instruction, at, machine, resolve, width)
    if rest.startswith("store_"):
        width = _STORES.get(rest.removeprefix("store_"))
        if width is not None:
            resolve = resource(machine, instruction, 1, width, dwords=width.size > 4)
            return _store(instruction, at, machine, resolve, width, instruction.operands[0])
    if rest.startswith("atomic_"):
        return _atomic(instruction, at, machine, rest.removeprefix("atomic_"), buffered=True)
    raise UnsupportedError(name)


def resource(
    machine: Machine, instruction: Instruction, first: int, width: Width, *, dwords: bool = False
) -> Resolve:
    """``[voffset,] resource, soffset``: addresses, and which lanes are in range.

    ``dwords``: the range of every dword is checked by itself, and ``StraddleError`` says how many
    are inside where these are some.
    """
    operands = instruction.operands
    offen, idxen = instruction.flag("offen"), instruction.flag("idxen")
    if len(operands) < first + 2:
        raise UnsupportedError(f"the operands of {instruction.mnemonic}")
    lane = operands[first]
    if not is_vector(lane) and lane != "off":
        raise UnsupportedError(f"the lane offset {lane} of {instruction.mnemonic}")
    base, count = scalar_row(operands[first + 1])
    if count != 4:
        raise UnsupportedError(f"{operands[first + 1]} is no buffer resource")
    scalar = read_scalar(operands[first + 2]) if len(operands) > first + 2 else None
    constant = instruction.number("offset")
    row = rows(lane)[0] if is_vector(lane) else None
    loads = "_load_" in instruction.mnemonic

    def resolve(w: Wave) -> tuple[Addresses, NDArray[np.bool_]]:
        s = w.s
        start = s[base] | (s[base + 1] & 0xFFFF) << 32
        stride, records = s[base + 1] >> 16 & 0x3FFF, s[base + 2]
        if s[base + 1] >> 31:
            raise UnsupportedError("a swizzled buffer resource")
        if s[base + 3] >> 23 & 1:
            raise UnsupportedError("a buffer resource that adds the lane number")
        uniform = scalar(w) if scalar else 0
        offset = np.full(LANES, constant, np.int64)
        if offen and row is not None:
            offset += w.v[row + (1 if idxen else 0)].astype(np.int64)
        if idxen and row is not None:
            offset += stride * w.v[row].astype(np.int64)
        limit = records * stride if idxen and stride else records
        reach = offset + uniform
        inside = _in_range(w, reach, width.size, limit, start, dwords and not idxen)
        if loads:
            machine.require_inside(w, inside, (offset + width.size <= limit) & w.active())
        return start + uniform + offset, inside

    return resolve


def _in_range(
    w: Wave, reach: Addresses, size: int, limit: int, start: int, dwords: bool
) -> NDArray[np.bool_]:
    """Active lanes whose access ends before the limit; none may straddle it, but dword by dword."""
    inside: NDArray[np.bool_] = reach + size <= limit
    on = w.active()
    if ((reach < limit) & ~inside & on).any():
        if not dwords:
            raise UnsupportedError("a buffer access of which only a part is in range")
        held = np.clip((limit - reach) // 4, 0, size // 4)
        raise StraddleError(start + reach, np.where(on, held, 0))
    return inside & on


def _cache(instruction: Instruction, at: int, machine: Machine) -> Effect:
    """Write-back and invalidation of caches."""
    name = instruction.mnemonic
    wide = instruction.flag("sc1") or name in ("buffer_wbinvl1_vol", "buffer_wbinvl1")

    def effect(w: Wave) -> None:
        if name == "buffer_wbl2":
            machine.issue_vm(w, at, ())
            machine.synchronise(w, np.zeros(0, np.int64), "writeback" if wide else "")
        else:
            machine.synchronise(w, np.zeros(0, np.int64), "invalidate" if wide else "")

    return effect


def run_global(machine: Machine, place: Addresses, run: Callable[[], Bytes]) -> Bytes:
    """An atomic on global memory; what was there before."""
    old = run()
    machine.updated(place, old)
    return old


def _atomic(
    instruction: Instruction, at: int, machine: Machine, name: str, *, buffered: bool = False,
    flat: bool = False,
) -> Effect:  # fmt: skip
    atomic = atomic_named(name)
    if atomic is None:
        raise UnsupportedError(instruction.mnemonic)
    returns = instruction.flag("sc0") or instruction.flag("glc")
    size = atomic.dtype.itemsize
    words = size // 4
    width = Width(size)
    operands = instruction.operands
    if buffered:
        data = to = rows(operands[0])[0]
        resolve = resource(machine, instruction, 1, width)
    else:
        first = 1 if returns else 0
        to = rows(operands[0])[0] if returns else 0
        data = rows(operands[first + 1])[0]
        resolve = _flat_address(instruction, first, store=True)
    registers = tuple(range(to, to + words)) if returns else ()

    def effect(w: Wave) -> None:
        addresses, inside = resolve(w)
        local = addresses >> 32 == SHARED_APERTURE
        if flat and (addresses[inside] >> 32 == PRIVATE_APERTURE).any():
            raise UnsupportedError(f"{instruction.mnemonic} to private memory")
        if flat and local[inside].any() and not local[inside].all():
            raise UnsupportedError(f"{instruction.mnemonic} to LDS and to global memory")
        values = to_bytes(w.v[data : data + words * (2 if atomic.compare else 1)][:, inside],
                          Width(size * (2 if atomic.compare else 1)))  # fmt: skip
        number = machine.issue_vm(w, at, registers, flat=flat)
        if flat:
            machine.issue_lgkm(w, at, registers, flat=True)
        given = values[:, :size]
        compare = values[:, size:] if atomic.compare else None
        if flat and local[inside].any():
            place, moves, held = addresses[inside] & MASK32, Moves.UPDATES_LDS, machine.lds.bytes
            machine.lds.check(place, size)
            machine.touch_lds(w, at, place, size, "a", w.lgkm.issued)
        else:
            moves, held = Moves.UPDATES_GLOBAL, machine.memory.bytes
            place = machine.memory.offsets(addresses[inside], size, write=True)
            machine.touch_global(w, at, place, size, "a", number)
            machine.synchronise(w, place, "a" if returns else "w")

        def put(old: Bytes) -> None:
            if returns:
                w.v[to : to + words, inside] = old.view(np.uint32).T

        run = partial(run_atomic, held, place, atomic, given, compare)
        machine.carry(
            w, w.vm, moves,
            partial(run_global, machine, place, run) if moves is Moves.UPDATES_GLOBAL else run, put,
        )  # fmt: skip

    return effect


def _scratch(instruction: Instruction, at: int, machine: Machine) -> Effect:
    """Private memory of the lanes: spilled registers and arrays."""
    name = instruction.mnemonic
    match = re.match(r"scratch_(load|store)_(\w+)$", name)
    if match is None:
        raise UnsupportedError(name)
    store = match[1] == "store"
    width = (_STORES if store else _LOADS).get(match[2])
    if width is None:
        raise UnsupportedError(name)
    operands = instruction.operands
    # loads: data, address, saddr; stores: address, data, saddr
    data, address = (operands[1], operands[0]) if store else (operands[0], operands[1])
    saddr = operands[2] if len(operands) > 2 else "off"
    row = rows(address)[0] if is_vector(address) else None
    scalar = read_scalar(saddr) if saddr != "off" else None
    offset = instruction.number("offset")
    place, _ = rows(data)
    need = max(1, width.size // 4)
    registers = () if store else tuple(range(place, place + need))

    def effect(w: Wave) -> None:
        start = offset + (scalar(w) if scalar else 0)
        start = start - (1 << 32) if start >> 31 & 1 else start
        where = np.full(LANES, start, np.int64)
        if row is not None:
            where = where + w.v[row].astype(np.int64)
        on = w.active()
        held = _private(w, where[on], width.size)
        machine.issue_vm(w, at, registers)
        cells = where[on][:, None] + np.arange(width.size)
        lanes = _LANE[on][:, None]
        if store:
            data = to_bytes(w.v[place : place + need][:, on], width)
            write = partial(_write_cells, held, lanes, cells, data)
            machine.carry(w, w.vm, Moves.WRITES_PRIVATE, write)
            return

        def put(found: Bytes) -> None:
            old = _old(machine, w, place)[on]
            w.v[place : place + need, on] = to_words(found, width, old)

        machine.carry(w, w.vm, Moves.READS_PRIVATE, lambda: held[lanes, cells], put)

    return effect


Maker = Callable[[Instruction, int, Machine], Effect]
_FAMILIES: Mapping[str, Maker] = {
    "ds": _ds, "global": _global, "flat": _flat, "buffer": _buffer, "scratch": _scratch,
}  # fmt: skip
NULL = BASE
