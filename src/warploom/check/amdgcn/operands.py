"""Operands as text to functions that read or write them on a wave."""

import re
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.reader import Instruction
from warploom.check.amdgcn.state import (
    ACC,
    EXEC,
    LANES,
    M0,
    MASK32,
    MASK64,
    PRIVATE_APERTURE,
    SGPR,
    SHARED_APERTURE,
    VCC,
    Wave,
    Words,
)
from warploom.errors import UnsupportedCodeError as UnsupportedError

ReadScalar = Callable[[Wave], int]
WriteScalar = Callable[[Wave, int], None]
ReadWords = Callable[[Wave], Words]

_REGISTER = re.compile(r"([vsa]|ttmp)(?:(\d+)|\[(\d+):(\d+)\])$")
_FLOAT = re.compile(r"-?(\d+\.\d*|\.\d+|\d+)(e[-+]?\d+)?$")
_NAMED = {
    "vcc": (VCC, 2), "vcc_lo": (VCC, 1), "vcc_hi": (VCC + 1, 1), "m0": (M0, 1),
    "exec": (EXEC, 2), "exec_lo": (EXEC, 1), "exec_hi": (EXEC + 1, 1),
    "flat_scratch": (102, 2), "flat_scratch_lo": (102, 1), "flat_scratch_hi": (103, 1),
    "xnack_mask": (104, 2), "xnack_mask_lo": (104, 1), "xnack_mask_hi": (105, 1),
}  # fmt: skip
_APERTURES = {
    "src_shared_base": SHARED_APERTURE << 32,
    "src_private_base": PRIVATE_APERTURE << 32,
    "src_shared_limit": (SHARED_APERTURE << 32) | MASK32,
    "src_private_limit": (PRIVATE_APERTURE << 32) | MASK32,
}


def register(text: str) -> tuple[str, int, int] | None:
    """``(file, first, count)`` of ``v7``, ``s[4:7]`` or ``vcc``; None for other operands."""
    match = _REGISTER.match(text)
    if match is None:
        named = _NAMED.get(text)
        return ("s", *named) if named else None
    first = int(match[2] if match[2] is not None else match[3])
    last = first if match[2] is not None else int(match[4])
    file = match[1]
    if file == "ttmp":
        file, first, last = "s", first + 108, last + 108
    limit = 256 if file in "va" else 128
    if last < first or last >= limit:
        raise UnsupportedError(f"there is no register {text}")
    return file, first, last - first + 1


def rows(text: str) -> tuple[int, int]:
    """First row and count of a vector register tuple."""
    found = register(text)
    if found is None or found[0] == "s":
        raise UnsupportedError(f"{text!r} is no vector register")
    file, first, count = found
    return first + (ACC if file == "a" else 0), count


def scalar_row(text: str) -> tuple[int, int]:
    """First index and count of a scalar register tuple."""
    found = register(text)
    if found is None or found[0] != "s":
        raise UnsupportedError(f"{text!r} is no scalar register")
    return found[1], found[2]


def is_vector(text: str) -> bool:
    """Whether a plain operand is a vector register."""
    return bool(re.match(r"[va](\d|\[)", text))


def register_ids(text: str) -> tuple[int, ...]:
    """Ids of every register that an operand names: rows, and scalar registers above them."""
    body = text.strip("-").strip("|")
    match = re.match(r"(?:neg|abs|sext)\((.*)\)$", body)
    found = register(match[1] if match else body)
    if found is None:
        return ()
    file, first, count = found
    base = {"v": 0, "a": ACC, "s": SGPR}[file]
    return tuple(range(base + first, base + first + count))


def literal(text: str, kind: str = "b32") -> int | None:
    """The bits of a constant as an operand of this kind reads it, or None."""
    match = re.match(r"lit(?:64)?\((.*)\)$", text)
    if match:
        text = match[1]
    try:
        value = int(text, 0)
    except ValueError:
        return _float_literal(text, kind)
    if kind in ("f64", "b64", "i64"):
        if kind == "f64" and not -16 <= value <= 64:
            return (value & MASK32) << 32  # a literal is the upper half
        return value & MASK64
    return value & MASK32


def _float_literal(text: str, kind: str) -> int | None:
    if not _FLOAT.match(text):
        return None
    value = float(text)
    if value == 0.15915494:
        value = 0.15915494309189532
    if kind in ("f64", "b64", "i64"):
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    try:
        if kind in ("f16", "u16", "i16", "b16"):
            return int(struct.unpack("<H", struct.pack("<e", value))[0])
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    except (OverflowError, struct.error):
        return None


def _symbol(text: str, symbols: Mapping[str, int]) -> int | None:
    """An address of LDS that a symbol names (``name@abs32@lo``)."""
    name, at, _ = text.partition("@abs32@lo")
    if at and name in symbols:
        return symbols[name]
    return None


_CONDITIONS: Mapping[str, ReadScalar] = {
    "scc": lambda w: w.scc,
    "src_scc": lambda w: w.scc,
    "null": lambda w: 0,
    "src_vccz": lambda w: int(not (w.s[VCC] | w.s[VCC + 1])),
    "vccz": lambda w: int(not (w.s[VCC] | w.s[VCC + 1])),
    "src_execz": lambda w: int(not w.exec),
    "execz": lambda w: int(not w.exec),
}


def read_scalar(text: str, symbols: Mapping[str, int] | None = None) -> ReadScalar:
    """A 32-bit scalar source."""
    value = literal(text)
    if value is None and symbols:
        value = _symbol(text, symbols)
    if value is not None:
        constant = value
        return lambda w: constant
    if text in ("exec_lo", "exec_hi"):
        shift = 32 * (text == "exec_hi")
        return lambda w: (w.exec >> shift) & MASK32
    if text in _CONDITIONS:
        return _CONDITIONS[text]
    if text in _APERTURES:
        lower = _APERTURES[text] & MASK32
        return lambda w: lower
    found = register(text)
    if found is None or found[0] != "s":
        raise UnsupportedError(f"{text!r} is no scalar source")
    first = found[1]
    return lambda w: w.s[first]


def write_scalar(text: str) -> WriteScalar:
    """A 32-bit scalar destination."""
    if text in ("exec_lo", "exec_hi"):
        shift = 32 * (text == "exec_hi")

        def write_exec(w: Wave, value: int) -> None:
            w.set_exec(w.exec & ~(MASK32 << shift) | (value & MASK32) << shift)

        return write_exec
    if text == "null":
        return lambda w, value: None
    first, _ = scalar_row(text)

    def write(w: Wave, value: int) -> None:
        w.s[first] = value & MASK32

    return write


def read_pair(text: str) -> ReadScalar:
    """A 64-bit scalar source."""
    value = literal(text, "b64")
    if value is not None:
        constant = value
        return lambda w: constant
    if text == "exec":
        return lambda w: w.exec
    if text in _APERTURES:
        aperture = _APERTURES[text]
        return lambda w: aperture
    if text in ("scc", "src_scc", "null"):
        return read_scalar(text)
    first, count = scalar_row(text)
    if count == 1:
        return lambda w: w.s[first]
    return lambda w: w.s[first] | (w.s[first + 1] << 32)


def write_pair(text: str) -> WriteScalar:
    """A 64-bit scalar destination."""
    if text == "exec":
        return lambda w, value: w.set_exec(value & MASK64)
    if text == "null":
        return lambda w, value: None
    first, _ = scalar_row(text)

    def write(w: Wave, value: int) -> None:
        w.s[first] = value & MASK32
        w.s[first + 1] = (value >> 32) & MASK32

    return write


_DTYPES: Mapping[str, type] = {
    "b32": np.uint32, "i32": np.int32, "f32": np.float32, "f16": np.float16,
    "u16": np.uint16, "i16": np.int16, "b64": np.uint64, "i64": np.int64, "f64": np.float64,
    "bf16": np.uint16, "b16": np.uint16,
}  # fmt: skip
WIDE = frozenset({"b64", "i64", "f64"})
HALF = frozenset({"f16", "u16", "i16", "bf16", "b16"})


class Source:
    """One source of a vector instruction: register, scalar or constant, with its modifiers."""

    def __init__(
        self,
        text: str,
        kind: str,
        *,
        half: int = 0,
        select: str = "",
        symbols: Mapping[str, int] | None = None,
    ) -> None:
        self.kind = kind
        self.negate, self.size, self.sext, self.body = _unwrap(text)
        self.half = half
        self.select = select
        self._symbols = symbols or {}
        self.permutation: NDArray[np.int64] | None = None
        self.zero: Callable[[Wave], NDArray[np.bool_]] | None = None

    def read(self) -> Callable[[Wave], NDArray[Any]]:
        """The function that reads it, typed, with sign and size modifiers applied."""
        typed = self._typed()
        if self.size and self.negate:
            return lambda w: -np.abs(typed(w))
        if self.size:
            return lambda w: np.abs(typed(w))
        if self.negate:
            return lambda w: np.negative(typed(w))
        return typed

    def _typed(self) -> Callable[[Wave], NDArray[Any]]:
        dtype = _DTYPES[self.kind]
        constant = self._constant()
        if constant is not None:
            fixed = constant
            return lambda w: fixed
        if self.kind in WIDE:
            wide = self._wide()
            return lambda w: wide(w).view(dtype)
        return self._narrow(dtype)

    def _narrow(self, dtype: type) -> Callable[[Wave], NDArray[Any]]:
        raw = self._raw()
        if self.select:
            raw = _selected(raw, self.select, self.sext)
        if self.kind in HALF:
            shift = np.uint32(16 * self.half)
            low = np.uint32(0xFFFF)
            return lambda w: (raw(w) >> shift & low).astype(np.uint16).view(dtype)
        if dtype is np.uint32:
            return raw
        if self._direct():
            row = rows(self.body)[0]
            return (lambda w: w.f[row]) if dtype is np.float32 else (lambda w: w.i[row])
        return lambda w: raw(w).view(dtype)

    def _direct(self) -> bool:
        return is_vector(self.body) and self.permutation is None and not self.select

    def _constant(self) -> NDArray[Any] | None:
        value = literal(self.body, self.kind)
        if value is None:
            value = _symbol(self.body, self._symbols)
        if value is None:
            return None
        if self.kind in WIDE:
            return np.array([value & MASK64], np.uint64).view(_DTYPES[self.kind])
        if self.kind in HALF:
            # An inline constant of a 16-bit source stands in its lower half.
            short = value >> (16 * self.half) & 0xFFFF
            return np.array([short], np.uint16).view(_DTYPES[self.kind])
        if self.select:
            array = np.array([value], np.uint32)
            raw = _selected(lambda w: array, self.select, self.sext)
            return raw(None).view(_DTYPES[self.kind])  # type: ignore[arg-type]
        return np.array([value], np.uint32).view(_DTYPES[self.kind])

    def _raw(self) -> ReadWords:
        if is_vector(self.body):
            row = rows(self.body)[0]
            if self.permutation is None:
                return lambda w: w.v[row]
            return self._permuted(row)
        scalar = read_scalar(self.body, self._symbols)
        return lambda w: np.array([scalar(w)], np.uint32)

    def _permuted(self, row: int) -> ReadWords:
        order, zero = self.permutation, self.zero
        if zero is None:
            return lambda w: w.v[row][order]
        return lambda w: np.where(zero(w), np.uint32(0), w.v[row][order])

    def _wide(self) -> Callable[[Wave], NDArray[np.uint64]]:
        if is_vector(self.body):
            row, count = rows(self.body)
            if count == 1:
                return lambda w: w.v[row].astype(np.uint64)
            return lambda w: w.get64(row)
        pair = read_pair(self.body)
        return lambda w: np.array([pair(w)], np.uint64)


def _unwrap(text: str) -> tuple[bool, bool, bool, str]:
    """Sign, size and extension around an operand, and what is inside."""
    negate = size = sext = False
    while True:
        match = re.match(r"(neg|abs|sext)\((.*)\)$", text)
        if match:
            negate, size, sext = (
                negate or match[1] == "neg",
                size or match[1] == "abs",
                sext or match[1] == "sext",
            )
            text = match[2]
        elif text.startswith("-") and not re.match(r"-(\d|\.\d)", text):
            negate, text = True, text[1:]
        elif text.startswith("|") and text.endswith("|") and len(text) > 2:
            size, text = True, text[1:-1]
        else:
            return negate, size, sext, text


_SELECT = {
    "BYTE_0": (0, 0xFF), "BYTE_1": (8, 0xFF), "BYTE_2": (16, 0xFF), "BYTE_3": (24, 0xFF),
    "WORD_0": (0, 0xFFFF), "WORD_1": (16, 0xFFFF), "DWORD": (0, MASK32),
}  # fmt: skip


def selection(name: str) -> tuple[int, int]:
    """Shift and mask of an SDWA selection."""
    if name not in _SELECT:
        raise UnsupportedError(f"the unknown selection {name!r}")
    return _SELECT[name]


def _selected(raw: ReadWords, name: str, sext: bool) -> ReadWords:
    shift, mask = selection(name)
    if mask == MASK32:
        return raw
    by, keep = np.uint32(shift), np.uint32(mask)
    if not sext:
        return lambda w: raw(w) >> by & keep
    sign = np.uint32((mask + 1) >> 1)
    return lambda w: ((raw(w) >> by & keep) ^ sign) - sign


_LANE = np.arange(LANES)


def dpp_order(instruction: Instruction) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Which lane each lane reads under a DPP control, and where there is one."""
    for name, order in _ROW_ORDERS.items():
        if name in instruction.modifiers:
            return order(instruction)
    return _dpp_wave(instruction)


Order = tuple[NDArray[np.int64], NDArray[np.bool_]]
_EVERY = np.ones(LANES, np.bool_)
_ROW, _PLACE = _LANE & ~15, _LANE & 15


def _quad(instruction: Instruction) -> Order:
    order = np.array(instruction.bits("quad_perm", 4)[:4])
    return ((_LANE & ~3) + (order & 3)[_LANE & 3]), _EVERY


def _row_shift(name: str, sign: int) -> Callable[[Instruction], Order]:
    def order(instruction: Instruction) -> Order:
        by = sign * instruction.number(name)
        return np.clip(_LANE + by, 0, 63), (_PLACE + by >= 0) & (_PLACE + by < 16)

    return order


_ROW_ORDERS: Mapping[str, Callable[[Instruction], Order]] = {
    "quad_perm": _quad,
    "row_shl": _row_shift("row_shl", 1),
    "row_shr": _row_shift("row_shr", -1),
    "row_ror": lambda i: (_ROW + (_PLACE - i.number("row_ror")) % 16, _EVERY),
    "row_mirror": lambda i: (_ROW + 15 - _PLACE, _EVERY),
    "row_half_mirror": lambda i: ((_LANE & ~7) + 7 - (_LANE & 7), _EVERY),
    "row_newbcast": lambda i: (_ROW + (i.number("row_newbcast") & 15), _EVERY),
}


def _dpp_wave(instruction: Instruction) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    lane, m = _LANE, instruction.modifiers
    ok = np.ones(LANES, np.bool_)
    if "row_bcast" in m and instruction.number("row_bcast") == 15:
        return np.maximum((lane & ~15) - 1, 0), lane >= 16
    if "row_bcast" in m and instruction.number("row_bcast") == 31:
        return np.full(LANES, 31), lane >= 32
    if "wave_shl" in m:
        return np.minimum(lane + 1, 63), lane < 63
    if "wave_shr" in m:
        return np.maximum(lane - 1, 0), lane > 0
    if "wave_rol" in m:
        return (lane + 1) % LANES, ok
    if "wave_ror" in m:
        return (lane - 1) % LANES, ok
    raise UnsupportedError("an unknown DPP control")


_DPP = frozenset(
    (
        "quad_perm", "row_shl", "row_shr", "row_ror", "row_mirror", "row_half_mirror",
        "row_newbcast", "row_bcast", "wave_shl", "wave_shr", "wave_rol", "wave_ror",
    )
)  # fmt: skip


def has_dpp(instruction: Instruction) -> bool:
    """Whether the instruction permutes its first source."""
    return not _DPP.isdisjoint(instruction.modifiers)


def dpp_writes(instruction: Instruction) -> NDArray[np.bool_]:
    """Lanes that the row and bank masks allow to be written."""
    rows_on, banks_on = instruction.number("row_mask", 15), instruction.number("bank_mask", 15)
    return ((rows_on >> (_LANE // 16)) & (banks_on >> (_LANE % 16 // 4)) & 1).astype(np.bool_)
