"""Products of thread programs: operand tiles in shared memory, and what is under way.

What a product needs is checked when it is issued: operands that somebody wrote, behind a fence of
the thread that wrote and a barrier; accumulators behind a fence of products. Until the wait its
operands may still be read, and its accumulators written, at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import lru_cache

import numpy as np

from warploom.dataclass import dataclass
from warploom.interp.arithmetic import Array, round_to, wrapped
from warploom.interp.shared_memory import EPOCH, SEVERAL, SharedMemory
from warploom.ir import threads as ir
from warploom.ir.types import DType

GROUP, ROWS = 128, 64  # threads of a warpgroup, rows of a product
SLAB = 128  # bytes of a row of a tile that lie together
STEP_BYTES = 32  # of K
PATTERN_ROWS = 8  # after which the swizzle is the same again
Finding = tuple[str, str, str]


@dataclass(eq=False)
class _Work:
    """A product that is under way: what it reads of a CTA's shared memory, and what it writes."""

    slot: int
    epoch: int  # when it was issued
    operands: tuple[tuple[str, Array], ...]  # tiles, and cells of each
    into: str


@dataclass
class _Queue:
    """Products of a warpgroup: not yet committed, and by group."""

    open: list[_Work] = field(default_factory=list)
    groups: list[list[_Work]] = field(default_factory=list)


class Products:
    """Operand tiles of some CTAs, and their products."""

    def __init__(self, shared: SharedMemory, threads: int) -> None:
        self.shared, self.threads = shared, threads
        self.tiles: dict[str, ir.OperandTile] = {}
        self.ready: set[str] = set()  # accumulators behind a fence
        self.busy: dict[str, int] = {}  # accumulators of products under way
        self.queues: dict[tuple[int, int], _Queue] = {}
        self.under_way: list[_Work] = []
        # Cells of tiles that may be read, after so many stores and in which epoch.
        self.regions: dict[tuple[int, str], tuple[tuple[int, int], Array]] = {}
        self.stores = 0  # to shared memory, so far
        shape = len(shared.epoch), threads
        self.fences = np.zeros(shape, np.int32)  # of each thread
        self.known = np.zeros(shape, np.int32)  # of them, those before the last barrier
        self.before = np.zeros(0, np.int32)  # fences of who wrote a cell, when it did
        lane = np.arange(GROUP) % 32
        e = np.arange(128).reshape(-1, 1)
        self.row = np.arange(GROUP) // 32 * 16 + lane // 4 + e // 2 % 2 * 8
        self.column = e // 4 * 8 + lane % 4 * 2 + e % 2

    def declare(self, tile: ir.OperandTile) -> None:
        """A tile, by its name."""
        self.tiles[tile.name] = tile
        if not self.before.size:
            self.before = np.zeros(self.shared.wrote.shape, np.int32)

    # Threads.

    def fence(self, there: Array) -> None:
        """These threads' stores are for products, too."""
        self.fences += there

    def met(self, ctas: Array) -> None:
        """All threads of these CTAs came to a barrier."""
        self.known[ctas] = self.fences[ctas]

    def put(self, slots: Array, at: Array, me: Array, size: int) -> bool:
        """An element was written; whether a product may read it still."""
        if not self.tiles:
            return False
        self.stores += 1
        first = at // self.shared.unit
        for n in range(size // self.shared.unit):
            self.before[slots, first + n] = self.fences[slots, me]
        return any(
            np.isin(first[slots == work.slot], cells).any()
            for work in self.under_way
            for _, cells in work.operands
        )

    def settle(self, names: Iterable[str]) -> None:
        """Accumulators that products may take from here on."""
        self.ready.update(names)

    def written(self, name: str) -> None:
        """A thread gives a register a number."""
        self.ready.discard(name)

    def is_written(self, name: str) -> bool:
        """Whether a product under way writes a register."""
        return bool(self.busy) and self.busy.get(name, 0) > 0

    # Products.

    def issue(
        self, s: ir.Mma, there: Array, places: list[Array], array: Array, dtype: DType
    ) -> Finding | None:
        """A product of every warpgroup that is there; what is wrong with it."""
        if s.into not in self.ready:
            return (
                f"a product into {s.into} without a fence after its registers were written",
                "the product may take what they held before",
                "a fence of products before it in the module",
            )
        together: dict[tuple[int, ...], tuple[list[Array], list[int]]] = {}
        for slot, group in np.argwhere(there):
            index, *own = (int(p[slot, group]) for p in places)
            if not 0 <= index <= len(array) - s.columns // 2:
                return (
                    f"registers {index} to {index + s.columns // 2} of {len(array)}",
                    "a product writes half a register of every column",
                    "the index in the module",
                )
            operands = []
            for x, many, first, step in (
                (s.a, ROWS, own[0], own[1]),
                (s.b, s.columns, own[2], own[3]),
            ):
                cells = self.cells(x, many, first, step)
                wrong = _outside(x, first, step) if cells is None else self.taken(slot, x, cells)
                if wrong is not None:
                    return wrong
                assert cells is not None
                operands.append((x.tile, cells))
            epoch = int(self.shared.epoch[slot])
            work = _Work(int(slot), epoch, tuple(operands), s.into)
            self.under_way.append(work)
            self.busy[s.into] = self.busy.get(s.into, 0) + 1
            self.queues.setdefault((int(slot), int(group)), _Queue()).open.append(work)
            key = int(group), index, *own
            made = together.setdefault(key, ([cells for _, cells in operands], []))
            made[1].append(int(slot))
        for (group, index, *_), (both, slots) in together.items():
            self.multiply(s, array, (group, index), both, np.asarray(slots), dtype)
        return None

    def multiply(
        self,
        s: ir.Mma,
        array: Array,
        at: tuple[int, int],
        operands: Sequence[Array],
        slots: Array,
        dtype: DType,
    ) -> None:
        """The product of a warpgroup, in all CTAs whose operands lie at the same places."""
        group, index = at
        for x, cells in zip((s.a, s.b), operands, strict=True):
            self.seen(slots[:, None, None], x.tile, cells)
        a, b = (self.shared.values[slots[:, None, None], cells] for cells in operands)
        half = s.columns // 2
        made = (a @ b.transpose(0, 2, 1))[:, self.row[:half], self.column[:half]]
        ctas = len(self.shared.epoch)
        registers = array.reshape(len(array), ctas, self.threads)
        lanes = slice(group * GROUP, group * GROUP + GROUP)
        total = registers[index : index + half, slots, lanes] + made.transpose(1, 0, 2)
        registers[index : index + half, slots, lanes] = (
            round_to(total, DType.F32) if dtype.is_float else wrapped(total.astype(np.int64))
        )

    def cells(self, x: ir.Operand, many: int, first: int, step: int) -> Array | None:
        """The cells of an operand, rows of M or N by columns of K; None where it is no part of its
        tile.
        """
        tile = self.tiles[x.tile]
        shape = tile.rows, tile.columns, tile.dtype.bits // 8, tile.offset
        return _cells(shape, self.shared.unit, many, first, step, turned=x.turned)

    def taken(self, slot: int, x: ir.Operand, cells: Array) -> Finding | None:
        """What is wrong with reading an operand now."""
        now = (self.stores, int(self.shared.epoch[slot]))
        region = self.regions.get((int(slot), x.tile))
        if region is None or region[0] != now:
            region = now, self.readable(slot, x.tile)
            self.regions[int(slot), x.tile] = region
        wrong = None
        if not region[1][cells - self.tiles[x.tile].offset // self.shared.unit].all():
            wrong = self.unreadable(slot, x.tile, cells)
        return wrong

    def readable(self, slot: int, name: str) -> Array:
        """Which cells of a tile begin an element that products may read now."""
        shared, tile = self.shared, self.tiles[name]
        size = tile.dtype.bits // 8
        first = tile.offset // shared.unit
        part = slice(first, first + tile.rows * tile.columns * size // shared.unit)
        wrote, cells = shared.wrote[slot, part], shared.cells[slot, part]
        known = self.known[slot, wrote % EPOCH % self.threads] > self.before[slot, part]
        since = shared.epoch[slot] * EPOCH
        found = (wrote >= 0) & (wrote < since) & known & (cells == size // shared.unit)
        for n in range(1, size // shared.unit):
            found[:-n] &= (cells == 0)[n:]
        return np.asarray(found)

    def unreadable(self, slot: int, name: str, cells: Array) -> Finding:
        """Why products may not read all of these cells."""
        shared, size = self.shared, self.tiles[name].dtype.bits // 8
        wrote = shared.wrote[slot, cells]
        if not shared.whole(slot * shared.width + cells, size):
            return (
                f"an element of {name} that nobody wrote",
                "shared memory holds anything at first",
                "the stores to the tile before the product in the module",
            )
        if (wrote >= shared.epoch[slot] * EPOCH).any():
            return (
                f"an element of {name} is written by a thread and read by a product without a"
                " barrier between them",
                "either may come first",
                "a barrier between the two in the module",
            )
        return (
            f"an element of {name} is stored without a proxy fence, and read by a product",
            "products read shared memory past what threads see",
            "a proxy fence between the stores and the barrier in the module",
        )

    def seen(self, slots: Array, name: str, cells: Array) -> None:
        """Products read these elements between the last barrier and the next."""
        shared = self.shared
        shared.loaded = True
        for n in range(self.tiles[name].dtype.bits // 8 // shared.unit):
            shared.read[slots, cells + n if n else cells] = shared.epoch[slots] * EPOCH + SEVERAL

    def commit(self, there: Array) -> None:
        """What each warpgroup issued is one group."""
        for slot, group in np.argwhere(there):
            queue = self.queues.setdefault((int(slot), int(group)), _Queue())
            queue.groups.append(queue.open)
            queue.open = []

    def wait(self, there: Array, pending: int) -> None:
        """All groups but the last ones are done."""
        for slot, group in np.argwhere(there):
            queue = self.queues.setdefault((int(slot), int(group)), _Queue())
            while len(queue.groups) > pending:
                for work in queue.groups.pop(0):
                    if work.epoch != self.shared.epoch[slot]:
                        for name, cells in work.operands:
                            self.seen(np.asarray(work.slot), name, cells)
                    self.busy[work.into] -= 1
                    self.under_way.remove(work)


def bytes_of(shape: tuple[int, ...], row: Array, column: Array) -> Array:
    """Where elements of a tile begin; ``shape``: its rows, columns, bytes of an element, and where
    it begins itself.
    """
    rows, _, size, offset = shape
    byte = column * size
    own = row * SLAB + (byte % SLAB ^ row % PATTERN_ROWS * 16)
    return np.asarray(offset + byte // SLAB * rows * SLAB + own)


@lru_cache(maxsize=1 << 12)
def _cells(
    shape: tuple[int, int, int, int], unit: int, many: int, first: int, step: int, *, turned: bool
) -> Array | None:
    tile_rows, tile_columns, size, _ = shape
    depth = STEP_BYTES // size
    rows, columns = (depth, many) if turned else (many, depth)
    top, left = (step * depth, first) if turned else (first, step * depth)
    whole = SLAB // size if turned else PATTERN_ROWS
    inside = 0 <= top <= tile_rows - rows and 0 <= left <= tile_columns - columns
    if first % whole or not inside:
        return None
    own = np.arange(many).reshape(-1, 1) + first, np.arange(depth) + step * depth
    row, column = own[::-1] if turned else own
    return bytes_of(shape, row, column) // unit


def _outside(x: ir.Operand, first: int, step: int) -> Finding:
    return (
        f"rows from {first} on, part {step} of K, of {x.tile}",
        "the tile has none such that begin where the instruction can take them",
        "the operands of the product in the module",
    )
