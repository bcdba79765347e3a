"""Operands as text to functions that read or write them on a wave."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from warploom.emit.gfx950.emulator.fault import EmulationError
from warploom.emit.gfx950.emulator.wave import Wave

Words = NDArray[np.uint32]
ReadScalar = Callable[[Wave], int]
WriteScalar = Callable[[Wave, int], None]
ReadVector = Callable[[Wave], Words]

MASK32 = 0xFFFFFFFF
_REGISTER = re.compile(r"([vsa])(?:(\d+)|\[(\d+):(\d+)\])$")
_FLOAT = re.compile(r"-?\d+\.\d+$")


def register(text: str) -> tuple[str, int, int]:
    """``(file, first, count)`` of ``v7`` or ``s[4:7]``."""
    match = _REGISTER.match(text)
    if match is None:
        raise EmulationError(f"{text!r} is not a register")
    if match[2] is not None:
        return match[1], int(match[2]), 1
    first, last = int(match[3]), int(match[4])
    return match[1], first, last - first + 1


def literal(text: str) -> int | None:
    """The 32 bits of an inline constant or literal, or None."""
    if _FLOAT.match(text):
        bits: int = struct.unpack("<I", struct.pack("<f", float(text)))[0]
        return bits
    try:
        return int(text, 0) & MASK32
    except ValueError:
        return None


def read_scalar(text: str) -> ReadScalar:
    """A 32-bit scalar source."""
    value = literal(text)
    if value is not None:
        return lambda w: value
    if text == "m0":
        return lambda w: w.m0
    if text in ("vcc_lo", "vcc_hi"):
        shift = 32 * (text == "vcc_hi")
        return lambda w: (w.vcc >> shift) & MASK32
    file, first, _ = register(text)
    if file != "s":
        raise EmulationError(f"{text!r} is no scalar source")
    return lambda w: w.s[first]


def write_scalar(text: str) -> WriteScalar:
    """A 32-bit scalar destination."""
    if text == "m0":

        def write_m0(w: Wave, value: int) -> None:
            w.m0 = value & MASK32

        return write_m0
    file, first, _ = register(text)
    if file != "s":
        raise EmulationError(f"{text!r} is no scalar destination")

    def write(w: Wave, value: int) -> None:
        w.s[first] = value & MASK32

    return write


def read_pair(text: str) -> ReadScalar:
    """A 64-bit scalar source."""
    value = literal(text)
    if value is not None:
        signed = value - (1 << 32) if value >> 31 else value
        return lambda w: signed & 0xFFFFFFFFFFFFFFFF
    if text == "vcc":
        return lambda w: w.vcc
    if text == "exec":
        return lambda w: w.exec
    _, first, _ = register(text)
    return lambda w: w.s[first] | (w.s[first + 1] << 32)


def write_pair(text: str) -> WriteScalar:
    """A 64-bit scalar destination."""
    if text in ("vcc", "exec"):

        def write_named(w: Wave, value: int) -> None:
            setattr(w, text, value & 0xFFFFFFFFFFFFFFFF)

        return write_named
    _, first, _ = register(text)

    def write(w: Wave, value: int) -> None:
        w.s[first] = value & MASK32
        w.s[first + 1] = (value >> 32) & MASK32

    return write


def read_vector(text: str, word: int = 0) -> ReadVector:
    """Dword ``word`` of a vector source; scalars and constants come as one value for all lanes."""
    match = _REGISTER.match(text)
    if match is not None and match[1] in "va":
        file, first, _ = register(text)
        at = first + word
        return (lambda w: w.v[at]) if file == "v" else (lambda w: w.a[at])
    if word and literal(text) is not None:
        sign = 0xFFFFFFFF if (literal(text) or 0) >> 31 else 0
        constant = np.array([sign], np.uint32)
        return lambda w: constant
    scalar = read_scalar(text if not word else _later(text, word))
    return lambda w: np.array([scalar(w)], np.uint32)


def vector_rows(text: str) -> tuple[str, int, int]:
    """File, first row and count of a vector register tuple."""
    file, first, count = register(text)
    if file == "s":
        raise EmulationError(f"{text!r} is no vector register")
    return file, first, count


def _later(text: str, word: int) -> str:
    file, first, _ = register(text)
    return f"{file}{first + word}"
