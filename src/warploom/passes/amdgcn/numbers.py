"""Numbers in memory and in registers, and the types they are computed in.

In registers floats of every width are f32, rounded to their type; whole numbers are i32, truths i1.
"""

from __future__ import annotations

from warploom.ir.tile import DType, Fn
from warploom.ir.waves import Kind, Word

PAIRED = (Fn.ADD, Fn.SUB, Fn.MUL)  # two at once
WHOLE = (DType.I32, DType.I8, DType.I4)
_MEMORY = {
    DType.F32: Word.F32, DType.I32: Word.I32, DType.BF16: Word.I16, DType.F16: Word.I16,
    DType.E4M3: Word.I8, DType.E5M2: Word.I8, DType.I8: Word.I8, DType.BOOL: Word.I8,
}  # fmt: skip
QUAD = Kind(Word.F32, 4)  # of accumulators
PAIR = Kind(Word.F32, 2)


def register_word(dtype: DType) -> Word:
    """What a number is in a register."""
    if dtype is DType.BOOL:
        return Word.I1
    return Word.I32 if dtype in WHOLE else Word.F32


def register_kind(dtype: DType) -> Kind:
    """The register of a number."""
    return Kind(register_word(dtype))


def memory_word(dtype: DType) -> Word:
    """What an element is in memory."""
    return _MEMORY[dtype]


def held_alike(source: DType, to: DType) -> bool:
    """Whether a number of one type is one of the other as it is held."""
    if source is to:
        return True
    if to is DType.F32:
        return source.is_float
    return to is DType.I32 and source in WHOLE
