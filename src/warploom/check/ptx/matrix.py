"""Matrix instructions of a warp beside wgmma and mma m16n8: wmma, movmatrix, other kinds of mma.

A wmma fragment has no documented layout, so any one will do: lane ``l`` holds the elements
``l * e`` to ``l * e + e - 1`` in the order of rows, and registers beyond those repeat them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.formats import f32_to_f16
from warploom.check.ptx.alu import _U, LANES, refuse, setter
from warploom.check.ptx.loads import UNDEFINED
from warploom.check.ptx.machine import BLOCK, EVERY, Lanes
from warploom.check.ptx.parse import TYPE_BYTES, Instr, Operand, Vec
from warploom.check.ptx.tensor import _LOAD, Tensors

Array = NDArray[Any]
Run = Callable[[Any], Any]
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)$")
_SIZES = {
    "f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "s32": 4, "s8": 1, "u8": 1, "f64": 8,
}  # fmt: skip


_WIDTHS = {"s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}


def _elements(words: Array, kind: str) -> Array:
    """The numbers in registers, lowest bits first, along a new last axis."""
    bits = _WIDTHS[kind]
    shifts = bits * np.arange(32 // bits)
    result = (words.astype(np.int64)[..., None] >> shifts) & ((1 << bits) - 1)
    if kind[0] == "s":
        result = result - ((result >> (bits - 1)) << bits)
    return result


def _shape(instr: Instr) -> tuple[int, int, int]:
    for part in instr.parts:
        found = _SHAPE.match(part)
        if found:
            m, n, k = (int(x) for x in found.groups())
            return m, n, k
    raise refuse(instr, "shape")


def _values(bits: Array, kind: str) -> Array:
    """Elements as double precision."""
    if kind == "f64":
        return bits.view(np.float64)
    if kind == "f32":
        return bits.view(np.float32).astype(np.float64)
    if kind == "s32":
        return bits.view(np.int32).astype(np.float64)
    return _LOAD[kind][1](np.ascontiguousarray(bits)).astype(np.float64)


def _bits(values: Array, kind: str) -> Array:
    if kind == "f64":
        return values.view(np.uint64)
    if kind == "f32":
        return values.astype(np.float32).view(np.uint32)
    if kind == "s32":
        return values.astype(np.int64).astype(np.int32).view(np.uint32)
    return f32_to_f16(values.astype(np.float32))


class Matrices(Tensors):
    """The rest of the matrix instructions."""

    def op_wmma(self, instr: Instr, pc: int) -> Run:
        """``wmma.load``, ``wmma.store``, ``wmma.mma``."""
        what = instr.parts[1]
        if what == "load":
            return self._wmma_move(instr, pc, load=True)
        if what == "store":
            return self._wmma_move(instr, pc, load=False)
        if what == "mma":
            return self._wmma_product(instr, pc)
        raise refuse(instr)

    def _wmma_move(self, instr: Instr, pc: int, *, load: bool) -> Run:
        parts = instr.parts
        m, n, k = _shape(instr)
        rows, columns = {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}[parts[2]]
        by_row, kind = "row" in parts, parts[-1]
        if kind not in _SIZES:
            raise refuse(instr, f"type .{kind}")
        size = _SIZES[kind]
        if load:
            registers, where, *rest = instr.operands
        else:
            where, registers, *rest = instr.operands
        items = registers.items if isinstance(registers, Vec) else (registers,)
        address = self.address(where, instr)
        lead = self.get(rest[0], "u32", instr) if rest else None
        usual = columns if by_row else rows
        space = self.space_of(instr)
        each = rows * columns // LANES
        word = "b64" if size == 8 else "b32"
        at = (EVERY[:, None] * each + np.arange(each)).astype(np.int64)
        row, column = at // columns, at % columns
        gets = [] if load else [self.get(o, word, instr) for o in items]
        sets = [setter(o, word, instr) for o in items] if load else []
        per = max(1, TYPE_BYTES[word] // size)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self.converged(g, pc, g.warp.live, f"{instr.op}", aligned=True):
                return BLOCK
            step = usual if lead is None else int(lead(g)[0])
            offsets = (row * step + column if by_row else column * step + row) * size
            base = address(g)
            dtype = _U[size]
            span = np.arange(size)
            values = np.zeros((LANES, each), dtype)
            if not load:
                held = np.stack([x(g) for x in gets], axis=1)
                values = np.ascontiguousarray(held).view(dtype).reshape(LANES, -1)[:, :each]
            for i in range(each):
                kind_, first = self.place(g, pc, space, base + offsets[:, i], size, g.lanes)
                if load:
                    raw = self._read(g, instr, pc, kind_, first, size, span, "", "", atomic=False)
                    values[:, i] = np.ascontiguousarray(raw).view(dtype)[:, 0]
                else:
                    raw = np.ascontiguousarray(values[:, i : i + 1]).view(np.uint8)
                    self._write(g, instr, pc, kind_, first, size, span, raw, "", "")
            if load:
                words = np.ascontiguousarray(values).view(_U[TYPE_BYTES[word]])
                unique = max(1, each // per)
                for j, store in enumerate(sets):
                    store(g, np.ascontiguousarray(words[:, j % unique]))
            return None

        return run

    def _fragment(
        self, gets: list[Callable[[Any], Array]], g: Lanes, kind: str, rows: int, columns: int
    ) -> Array:
        each = rows * columns // LANES
        held = np.ascontiguousarray(np.stack([x(g) for x in gets], axis=1))
        found = held.view(_U[_SIZES[kind]]).reshape(LANES, -1)[:, :each]
        return _values(np.ascontiguousarray(found).reshape(-1), kind).reshape(rows, columns)

    def _wmma_product(self, instr: Instr, pc: int) -> Run:
        m, n, k = _shape(instr)
        types = [p for p in instr.parts if p in _SIZES]
        if len(types) == 2:  # accumulators only: the operands are f16
            out, kc, ka, kb = types[0], types[1], "f16", "f16"
        elif len(types) == 4:
            out, ka, kb, kc = types
        else:
            raise refuse(instr, "types")
        d, a, b, c = instr.operands

        def items(o: Operand) -> tuple[Operand, ...]:
            return o.items if isinstance(o, Vec) else (o,)

        def word(kind: str) -> str:
            return "b64" if kind == "f64" else "b32"

        ga = [self.get(o, word(ka), instr) for o in items(a)]
        gb = [self.get(o, word(kb), instr) for o in items(b)]
        gc = [self.get(o, word(kc), instr) for o in items(c)]
        sets = [setter(o, word(out), instr) for o in items(d)]

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self.converged(g, pc, g.warp.live, "wmma.mma", aligned=True):
                return BLOCK
            left = self._fragment(ga, g, ka, m, k)
            right = self._fragment(gb, g, kb, k, n)
            total = left @ right + self._fragment(gc, g, kc, m, n)
            bits = np.ascontiguousarray(_bits(np.ascontiguousarray(total.reshape(-1)), out))
            words = bits.reshape(LANES, -1).view(_U[TYPE_BYTES[word(out)]])
            for j, store in enumerate(sets):
                store(g, np.ascontiguousarray(words[:, j]))
            return None

        return run

    def op_mma(self, instr: Instr, pc: int) -> Run:
        """``mma.sync``; in double precision, of small integers and sparse ones here."""
        if any(p == "sp" or p.startswith("sp::") for p in instr.parts):
            return self._sparse(instr, pc)
        if {"s4", "u4", "b1"} & set(instr.parts) or "m8n8k16" in instr.parts:
            return self._small(instr, pc)
        if instr.parts[-1] != "f64":
            return super().op_mma(instr, pc)
        m, n, k = _shape(instr)
        d, a, b, c = (o.items if isinstance(o, Vec) else (o,) for o in instr.operands)
        if n != 8 or m not in (8, 16) or k % 4:
            raise refuse(instr, "shape")
        halves = m // 8
        ga, gb, gc = ([self.get(o, "f64", instr) for o in v] for v in (a, b, c))
        sets = [setter(o, "f64", instr) for o in d]

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self.converged(g, pc, g.warp.live, "mma.sync.aligned", aligned=True):
                return BLOCK
            # Lane l: row l / 4, column l % 4 of each 8 x 4 part; rows 8 apart, then k.
            left = np.stack([x(g) for x in ga]).reshape(k // 4, halves, 8, 4)
            right = np.stack([x(g) for x in gb]).reshape(k // 4, 8, 4)
            rows = left.transpose(1, 2, 0, 3).reshape(m, k)
            columns = right.transpose(1, 0, 2).reshape(8, k)
            total = rows @ columns.T
            have = np.stack([x(g) for x in gc]).reshape(halves, 2, 8, 4)
            total = total + have.transpose(0, 2, 3, 1).reshape(m, 8)
            out = total.reshape(halves, 8, 4, 2).transpose(0, 3, 1, 2).reshape(2 * halves, LANES)
            for j, store in enumerate(sets):
                store(g, np.ascontiguousarray(out[j]))
            return None

        return run

    def _small(self, instr: Instr, pc: int) -> Run:
        """Products of 8, 4 and 1 bits with 8 or 16 rows; a register holds neighbours of k."""
        m, n, k = _shape(instr)
        kinds = [p for p in instr.parts if p in _WIDTHS]
        if len(kinds) != 2 or n != 8 or m not in (8, 16):
            raise refuse(instr, "shape")
        ka, kb = kinds
        each = 32 // _WIDTHS[ka]
        d, a, b, c = (o.items if isinstance(o, Vec) else (o,) for o in instr.operands)
        halves = m // 8
        if len(a) * each * 4 != k * halves or len(b) * each * 4 != k or len(c) != 2 * halves:
            raise refuse(instr, "operands")
        ga, gb, gc = ([self.get(o, "b32", instr) for o in v] for v in (a, b, c))
        sets = [setter(o, "b32", instr) for o in d]
        exclusive, bound = "xor" in instr.parts, "satfinite" in instr.parts

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self.converged(g, pc, g.warp.live, "mma.sync.aligned", aligned=True):
                return BLOCK
            left = _elements(np.stack([x(g) for x in ga]), ka).reshape(-1, halves, 8, 4, each)
            right = _elements(np.stack([x(g) for x in gb]), kb).reshape(-1, 8, 4, each)
            rows = left.transpose(1, 2, 0, 3, 4).reshape(m, k)
            columns = right.transpose(1, 0, 2, 3).reshape(8, k)
            total = rows @ columns.T
            if exclusive:
                total = rows.sum(1)[:, None] + columns.sum(1)[None, :] - 2 * total
            have = np.stack([x(g) for x in gc]).view(np.int32).astype(np.int64)
            total = total + have.reshape(halves, 2, 8, 4).transpose(0, 2, 3, 1).reshape(m, 8)
            if bound:
                total = np.clip(total, -(1 << 31), (1 << 31) - 1)
            out = total.reshape(halves, 8, 4, 2).transpose(0, 3, 1, 2).reshape(2 * halves, LANES)
            for j, store in enumerate(sets):
                store(g, np.ascontiguousarray(out[j].astype(np.int32)).view(np.uint32))
            return None

        return run

    def _sparse(self, instr: Instr, pc: int) -> Run:
        """A product with a sparse operand: its order is checked, its values are not known."""
        (d,) = instr.operands[:1]
        items = d.items if isinstance(d, Vec) else (d,)
        sets = [setter(o, "b32", instr) for o in items]

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self.converged(g, pc, g.warp.live, "mma.sp.sync.aligned", aligned=True):
                return BLOCK
            self.no_values(instr)
            for store in sets:
                store(g, np.full(LANES, UNDEFINED, np.uint32))
            return None

        return run

    def op_movmatrix(self, instr: Instr, pc: int) -> Run:
        """``movmatrix.sync.aligned.m8n8.trans.b16``."""
        d, a = instr.operands
        store, x = setter(d, "b32", instr), self.get(a, "b32", instr)

        def run(g: Lanes) -> Any:  # noqa: ANN401
            if not self.converged(g, pc, g.warp.live, "movmatrix", aligned=True):
                return BLOCK
            tile = np.ascontiguousarray(x(g)).view(np.uint16).reshape(8, 8)
            store(g, np.ascontiguousarray(tile.T).reshape(-1).view(np.uint32))
            return None

        return run


class Whole(Matrices):
    """The whole machine."""
