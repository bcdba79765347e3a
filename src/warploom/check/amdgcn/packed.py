"""Packed arithmetic: two results at once, in neighbouring registers or halves."""

import operator
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from warploom.check.amdgcn.apply import Effect
from warploom.check.amdgcn.lanes import SIXTEEN, Array, Compute, fma16, fma32
from warploom.check.amdgcn.operands import Source, is_vector, literal, rows, scalar_row
from warploom.check.amdgcn.reader import Instruction
from warploom.check.amdgcn.state import LANES, Wave, Words
from warploom.errors import UnsupportedCodeError as UnsupportedError

PACKED: Mapping[str, tuple[str, int, Compute]] = {
    "v_pk_add_f32": ("f32", 2, operator.add),
    "v_pk_mul_f32": ("f32", 2, operator.mul),
    "v_pk_fma_f32": ("f32", 3, fma32),
    "v_pk_mov_b32": ("mov", 2, np.copy),
    "v_pk_add_f16": ("f16", 2, operator.add),
    "v_pk_mul_f16": ("f16", 2, operator.mul),
    "v_pk_fma_f16": ("f16", 3, fma16),
    "v_pk_max_f16": ("f16", 2, np.fmax),
    "v_pk_min_f16": ("f16", 2, np.fmin),
    "v_pk_maximum3_f16": ("f16", 3, lambda a, b, c: np.maximum(np.maximum(a, b), c)),
    "v_pk_minimum3_f16": ("f16", 3, lambda a, b, c: np.minimum(np.minimum(a, b), c)),
    "v_pk_add_u16": ("u16", 2, operator.add),
    "v_pk_sub_u16": ("u16", 2, operator.sub),
    "v_pk_add_i16": ("i16", 2, operator.add),
    "v_pk_sub_i16": ("i16", 2, operator.sub),
    "v_pk_mul_lo_u16": ("u16", 2, operator.mul),
    "v_pk_mad_u16": ("u16", 3, lambda a, b, c: a * b + c),
    "v_pk_mad_i16": ("i16", 3, lambda a, b, c: a * b + c),
    "v_pk_max_u16": ("u16", 2, np.maximum),
    "v_pk_min_u16": ("u16", 2, np.minimum),
    "v_pk_max_i16": ("i16", 2, np.maximum),
    "v_pk_min_i16": ("i16", 2, np.minimum),
    "v_pk_lshlrev_b16": ("u16", 2, lambda by, a: a << (by & np.uint16(15))),
    "v_pk_lshrrev_b16": ("u16", 2, lambda by, a: a >> (by & np.uint16(15))),
    "v_pk_ashrrev_i16": ("i16", 2, lambda by, a: a >> (by & np.int16(15))),
}


def packed(instruction: Instruction, spec: tuple[str, int, Compute]) -> Effect:
    """The effect of a packed instruction."""
    kind, count, compute = spec
    texts = instruction.operands[1:]
    if len(texts) != count:
        raise UnsupportedError(f"{instruction.mnemonic} with {len(texts)} sources")
    row = rows(instruction.operands[0])[0]
    low, high = instruction.bits("op_sel", count), instruction.bits("op_sel_hi", count, 1)
    if kind == "mov":
        return _packed_move(texts, low, row)
    signs = (instruction.bits("neg_lo", count), instruction.bits("neg_hi", count))
    halves = []
    for chosen, negated in ((low, signs[0]), (high, signs[1])):
        halves.append(
            [_part(t, kind, c, bool(n)) for t, c, n in zip(texts, chosen, negated, strict=True)]
        )
    clamp = instruction.flag("clamp")

    def results(w: Wave) -> list[Array]:
        found = [compute(*[r(w) for r in half]) for half in halves]
        if clamp and kind in ("f32", "f16"):
            found = [np.clip(x, 0, 1) for x in found]
        elif clamp:
            raise UnsupportedError(f"{instruction.mnemonic} with clamp")
        return [np.broadcast_to(x, (LANES,)) for x in found]

    if kind == "f32":

        def floats(w: Wave) -> None:
            a, b = results(w)
            w.put_float(row, a)
            w.put_float(row + 1, b)

        return floats

    def shorts(w: Wave) -> None:
        a, b = (np.ascontiguousarray(x).view(np.uint16).astype(np.uint32) for x in results(w))
        w.put(row, a | b << SIXTEEN)

    return shorts


def _packed_move(texts: Sequence[str], low: Sequence[int], row: int) -> Effect:
    first, second = _word(texts[0], low[0]), _word(texts[1], low[1])

    def move(w: Wave) -> None:
        a, b = np.array(first(w)), np.array(second(w))
        w.put(row, a)
        w.put(row + 1, b)

    return move


def _word(text: str, word: int) -> Callable[[Wave], Words]:
    """Dword ``word`` of a 64-bit source."""
    if is_vector(text):
        at, count = rows(text)
        at += word if count > 1 else 0
        return lambda w: w.v[at]
    value = literal(text)
    if value is not None:
        fixed = np.array([value], np.uint32)
        return lambda w: fixed
    first, count = scalar_row(text)
    first += word if count > 1 else 0
    return lambda w: np.array([w.s[first]], np.uint32)


def _part(text: str, kind: str, part: int, negate: bool) -> Callable[[Wave], Array]:
    """One of the two halves of a packed source."""
    if kind == "f32":
        inner = text[1:] if text.startswith("-") and not text[1:2].isdigit() else text
        flip = negate != (inner is not text and inner != text)
        word = _word(inner, part)
        if flip:
            return lambda w: -word(w).view(np.float32)
        return lambda w: word(w).view(np.float32)
    source = Source(text, kind, half=part)
    source.negate = source.negate != negate
    return source.read()
