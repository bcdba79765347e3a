"""Rare arithmetic: video instructions, dp2a, fns, mad24, and forms with a predicate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.ptx.alu import COMPARE, LANES, Alu, refuse, setter
from warploom.check.ptx.parse import Imm, Instr, Operand, Pair, Sink

Array = NDArray[Any]
Run = Callable[[Any], Any]
_BOUNDS = {"u32": (0, (1 << 32) - 1), "s32": (-(1 << 31), (1 << 31) - 1)}
_BASIC: dict[str, Callable[[Array, Array], Array]] = {
    "vadd": np.add, "vsub": np.subtract, "vmin": np.minimum, "vmax": np.maximum,
    "vabsdiff": lambda a, b: np.abs(a - b), "vavrg": lambda a, b: (a + b + (a + b >= 0)) >> 1,
}  # fmt: skip
_COMPARE = {"eq", "ne", "lt", "le", "gt", "ge"}


def _small(name: str) -> tuple[str, int]:
    """The operation and how many parts of a register it works on."""
    return (name[:-1], int(name[-1])) if name[-1] in "24" else (name, 1)


def _split(words: Array, parts: int, signed: bool) -> Array:
    """Registers as rows of ``parts`` numbers."""
    bits = 32 // parts
    found = (words.astype(np.int64)[:, None] >> (bits * np.arange(parts))) & ((1 << bits) - 1)
    return np.where(signed & (found >> (bits - 1) == 1), found - (1 << bits), found)


def _joined(values: Array, parts: int) -> Array:
    bits = 32 // parts
    held = (values & ((1 << bits) - 1)) << (bits * np.arange(parts))
    return (held.sum(1) & 0xFFFFFFFF).astype(np.uint32)


class Video(Alu):
    """Arithmetic with what compilers rarely write."""

    def _words(self, operands: tuple[Operand, ...], instr: Instr) -> list[Callable[[Any], Array]]:
        return [self.get(o, "b32", instr) for o in operands]

    def _video(self, instr: Instr) -> Run:
        """``vadd`` and its kin, of whole registers, halves or bytes."""
        name, parts = _small(instr.parts[0])
        types = [p for p in instr.parts[1:] if p in _BOUNDS]
        compares = name == "vset"
        if compares:  # the result is 0 or 1, of an unsigned type
            types = ["u32", *types[-2:]]
        if len(types) != 3:
            raise refuse(instr, "types")
        out, ka, kb = types
        sat, then = "sat" in instr.parts, instr.parts[-1] if instr.parts[-1] not in types else ""
        compare = next((p for p in instr.parts if p in _COMPARE), "")
        then = "" if then in (compare, "sat") else then
        if then not in ("", "add", "min", "max"):
            raise refuse(instr, f".{then}")
        d, a, b, *rest = instr.operands
        x, y, *more = self._words((a, b, *rest), instr)
        store = setter(d, "b32", instr)
        bits = 32 // parts
        low, high = (
            (0, (1 << bits) - 1) if out == "u32" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        )

        def run(g: Any) -> None:  # noqa: ANN401
            u, v = _split(x(g), parts, ka == "s32"), _split(y(g), parts, kb == "s32")
            value = COMPARE[compare](u, v).astype(np.int64) if compares else _BASIC[name](u, v)
            if sat:
                value = np.clip(value, low, high)
            c = more[0](g) if more else None
            if then == "add" and parts > 1:  # the parts are added up
                assert c is not None
                store(g, ((value.sum(1) + c.astype(np.int64)) & 0xFFFFFFFF).astype(np.uint32))
                return
            if then and c is not None:
                w = _split(c, parts, out == "s32")
                value = {"add": np.add, "min": np.minimum, "max": np.maximum}[then](value, w)
            elif c is not None and parts > 1:
                pass  # parts that a mask leaves out would come from here; all parts are taken
            store(g, _joined(value, parts))

        return run

    op_vadd = op_vsub = op_vmin = op_vmax = op_vabsdiff = op_vset = _video
    op_vadd2 = op_vsub2 = op_vmin2 = op_vmax2 = op_vabsdiff2 = op_vset2 = op_vavrg2 = _video
    op_vadd4 = op_vsub4 = op_vmin4 = op_vmax4 = op_vabsdiff4 = op_vset4 = op_vavrg4 = _video

    def op_dp2a(self, instr: Instr) -> Run:
        """``dp2a``: two halves times two bytes."""
        ka, kb = instr.parts[-2:]
        d, *rest = instr.operands
        store = setter(d, "b32", instr)
        x, y, z = self._words(tuple(rest), instr)
        first = 2 if "hi" in instr.parts else 0

        def run(g: Any) -> None:  # noqa: ANN401
            u = _split(x(g), 2, ka == "s32")
            v = _split(y(g), 4, kb == "s32")[:, first : first + 2]
            total = (u * v).sum(1) + z(g).astype(np.int64)
            store(g, (total & 0xFFFFFFFF).astype(np.uint32))

        return run

    def op_mad24(self, instr: Instr) -> Run:
        """``mad24``: the low 24 bits of two numbers."""
        kind, high = instr.parts[-1], "hi" in instr.parts
        signed = kind == "s32"
        d, *rest = instr.operands
        store = setter(d, "b32", instr)
        x, y, z = self._words(tuple(rest), instr)

        def small(v: Array) -> Array:
            found = v.astype(np.int64) & 0xFFFFFF
            return np.where(signed & (found >> 23 == 1), found - (1 << 24), found)

        def run(g: Any) -> None:  # noqa: ANN401
            product = small(x(g)) * small(y(g))
            product = product >> 16 if high else product
            store(g, ((product + z(g).astype(np.int64)) & 0xFFFFFFFF).astype(np.uint32))

        return run

    def op_fns(self, instr: Instr) -> Run:
        """``fns``: the n-th set bit from a base."""
        d, *rest = instr.operands
        store = setter(d, "b32", instr)
        x, y, z = self._words(tuple(rest), instr)

        def nth(mask: int, base: int, offset: int) -> int:
            if offset == 0:
                return base if base < 32 and mask >> base & 1 else 0xFFFFFFFF
            step = 1 if offset > 0 else -1
            left, at = abs(offset), base
            while 0 <= at < 32:
                left -= mask >> at & 1
                if left == 0:
                    return at
                at += step
            return 0xFFFFFFFF

        def run(g: Any) -> None:  # noqa: ANN401
            rows = zip(x(g).tolist(), y(g).tolist(), z(g).view(np.int32).tolist(), strict=True)
            store(g, np.array([nth(*r) for r in rows], np.uint32))

        return run

    def op_lop3(self, instr: Instr) -> Run:
        """``lop3.b32``; with ``.and`` or ``.or`` also whether the result is not zero."""
        if len(instr.operands) == 5:
            return super().op_lop3(instr)
        d, a, b, c, table, q = instr.operands
        if not isinstance(d, Pair) or not isinstance(table, Imm):
            raise refuse(instr, "operands")
        slot: Operand = d.first
        keeps = not isinstance(slot, Sink)
        inner = Instr(instr.op, instr.parts, (slot, a, b, c, table), line=instr.line)
        flag, given = setter(d.second, "pred", instr), self.get(q, "pred", instr)
        both = "and" in instr.parts
        code = int(table.value)
        gets = self._words((a, b, c), instr)
        run_inner = super().op_lop3(inner) if keeps else None

        def run(g: Any) -> None:  # noqa: ANN401
            x, y, z = (v(g) for v in gets)
            out = np.zeros(LANES, np.uint32)
            for i in range(8):
                if code >> i & 1:
                    out |= (x if i & 4 else ~x) & (y if i & 2 else ~y) & (z if i & 1 else ~z)
            if run_inner is not None:
                run_inner(g)
            flag(g, (out != 0) & given(g) if both else (out != 0) | given(g))

        return run
