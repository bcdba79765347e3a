"""Shared memory of some CTAs: what lies there, and who touched it since the last barrier."""

from __future__ import annotations

from typing import Any

import numpy as np

from warploom.interp.arithmetic import Array

EPOCH = 1 << 12  # a stamp is an epoch, and who: a thread, or several
SEVERAL = EPOCH - 1
NEVER = -1


class SharedMemory:
    """Cells of ``unit`` bytes, as large as the smallest element: what begins in each, and a stamp
    of who wrote it last, and read it last. An epoch ends with a barrier of all threads of a CTA.
    """

    def __init__(self, ctas: int, bytes_: int, unit: int) -> None:
        self.unit, self.width = unit, -(-bytes_ // unit)
        shape = (ctas, self.width)
        self.values = np.full(shape, np.nan, np.float64)
        self.wrote, self.read = np.full(shape, NEVER, np.int64), np.full(shape, NEVER, np.int64)
        self.cells = np.zeros(shape, np.int8)  # of what begins there; 0: it began before
        self.epoch = np.zeros(ctas, np.int64)
        self.flat = [x.reshape(-1) for x in (self.values, self.wrote, self.read, self.cells)]
        self.stored = self.loaded = False  # since all CTAs met at a barrier

    def met(self, ctas: Array) -> None:
        """All threads of these CTAs came to a barrier."""
        self.epoch[ctas] += 1
        if ctas.all():
            self.stored = self.loaded = False

    def put(self, slots: Array, at: Array, value: Any, me: Array, size: int) -> str:  # noqa: ANN401
        """Elements of so many bytes take values; what is wrong with it."""
        values, wrote, read, cells = self.flat
        since = self.epoch[slots] * EPOCH
        own, first, wrong = since + me, slots * self.width + at // self.unit, ""
        for n in range(size // self.unit):
            cell = first + n if n else first
            again = False
            if self.stored:
                before = wrote[cell]
                again = bool(((before >= since) & (before != own)).any())
            wrote[cell] = own
            if again or (wrote[cell] != own).any():
                wrong = "written twice"
            elif self.loaded:
                before = read[cell]
                seen = (before >= since) & (before != own)
                wrong = wrong or ("read and written" if seen.any() else "")
            if n or size > self.unit:
                cells[cell] = 0
        cells[first] = size // self.unit
        values[first] = value
        self.stored = True
        return wrong

    def whole(self, first: Array, size: int) -> bool:
        """Whether these cells, over all CTAs, hold the begin of an element of that size, whole."""
        _, wrote, _, cells = self.flat
        many = size // self.unit
        there = (wrote[first] >= 0) & (cells[first] == many)
        for n in range(1, many):
            there &= cells[first + n] == 0
        return bool(there.all())

    def get(self, slots: Array, at: Array, me: Array, size: int) -> tuple[Array, str]:
        """Elements, and what is wrong with reading them."""
        values, wrote, read, _ = self.flat
        since = self.epoch[slots] * EPOCH
        own, first, wrong = since + me, slots * self.width + at // self.unit, ""
        if not self.whole(first, size):
            return values[first], "nobody"
        several = since + SEVERAL
        for n in range(size // self.unit):
            cell = first + n if n else first
            if self.stored:
                before = wrote[cell]
                if ((before >= since) & (before != own)).any():
                    wrong = "written and read"
            before = read[cell]
            read[cell] = np.where((before < since) | (before == own), own, several)
            last = read[cell]
            mixed = (last != own) & (last != several)
            if mixed.any():
                read[cell[mixed]] = several[mixed]
        self.loaded = True
        return values[first], wrong
