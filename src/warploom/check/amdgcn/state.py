"""The state of one wave of 64 lanes, and the operations it has in flight."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.reader import LGKM_CAPACITY, VM_CAPACITY

LANES = 64
ALL = (1 << LANES) - 1
MASK32 = 0xFFFFFFFF
MASK64 = ALL
ACC = 256  # first row of the accumulation registers
SPARE = 512  # rows for intermediate results
ROWS = 520
SGPR = 1000  # ids of scalar registers in sets of registers
VCC, M0, EXEC = 106, 124, 126
SHARED_APERTURE = 0x0001_0000  # upper halves of flat addresses that mean LDS and private memory
PRIVATE_APERTURE = 0x0002_0000

Words = NDArray[np.uint32]
Lanes = NDArray[np.bool_]
Clock = NDArray[np.int64]


class FaultError(Exception):
    """A rule of the ISA is broken in a way that leaves no value to go on with."""

    def __init__(self, code: str, why: str, fix: str = "") -> None:
        super().__init__(why)
        self.code, self.why, self.fix = code, why, fix


def merge(into: dict[int, int], other: dict[int, int]) -> None:
    """The later of two sets of marks."""
    for key, value in other.items():
        if value > into.get(key, 0):
            into[key] = value


def lanes_of(mask: int) -> Lanes:
    """A 64-bit mask as one truth value a lane."""
    return np.unpackbits(
        np.frombuffer((mask & MASK64).to_bytes(8, "little"), np.uint8), bitorder="little"
    ).view(np.bool_)


def mask_of(lanes: Lanes) -> int:
    """The reverse."""
    return int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")


@dataclass(eq=False, slots=True)
class Operation:
    """One operation in flight."""

    at: int  # index of its instruction
    number: int  # its place in the queue, from 1
    registers: tuple[int, ...] = ()
    dma: bool = False
    scalar: bool = False
    flat: bool = False
    visit: int = 0
    retired: bool = False
    twin: "Operation | None" = None  # a flat access counts in both queues
    done: Callable[[], None] | None = None
    works: tuple[Any, ...] = ()  # what it still has to do, in a run under one timing


class Queue:
    """Operations that one counter counts, oldest first."""

    __slots__ = ("capacity", "dmas", "issued", "items", "log", "scalars", "stalled")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.items: deque[Operation] = deque()
        self.issued = 0
        self.stalled: list[Operation] = []  # complete by a full counter, and not waited for yet
        self.scalars = 0  # in flight and out of order: scalar loads, flat accesses
        self.dmas = 0
        self.log: list[tuple[int, int]] = [(0, 0)]  # instruction and visit of every operation


INFINITE = 1 << 60


class Wave:
    """Registers, masks, position, queues, and what it knows of the others of its workgroup."""

    def __init__(self, index: int, uid: int, size: int) -> None:
        self.index, self.uid = index, uid
        self.v: Words = np.full((ROWS, LANES), 0x7FC0DEAD, np.uint32)
        self.f: NDArray[np.float32] = self.v.view(np.float32)
        self.i: NDArray[np.int32] = self.v.view(np.int32)
        self.s = [0xDEADBEEF] * 128
        self.s[VCC] = self.s[VCC + 1] = 0
        self.exec = ALL
        self.mask: Lanes | None = None
        self.scc = 0
        self.register_index = 0  # of moves between computed registers
        self.pc = 0
        self.ended = self.at_barrier = False
        self.barriers = 0
        self.accesses = 0  # to LDS or global memory
        self.polls = self.yields = False  # read what others may change; did so twice in vain
        self.changes = -1  # of memory, when it last came round
        self.accesses_at_barrier = 0  # as many before the last barrier
        self.steps = 0
        self.vm, self.lgkm = Queue(VM_CAPACITY), Queue(LGKM_CAPACITY)
        self.flying: dict[int, Operation] = {}
        self.flying_off: dict[int, Operation] = {}  # as if LDS-DMA completed in any order
        self.loads_off: deque[Operation] = deque()
        self.tainted: dict[int, list[object]] = {}  # registers with the result of a racing read
        self.scalar_fresh = 0  # accesses of the launch before it invalidated the scalar cache
        self.cached: list[object] = []  # scalar stores that are in the scalar cache only
        self.halves: dict[int, tuple[int, str]] = {}  # registers of which a load left one half
        self.brought: dict[int, frozenset[int]] = {}  # registers that depend on polling loads
        # Operations of every wave of the workgroup that are known to be complete; own entries of
        # the ``seen`` clocks are infinite, since one queue serves a wave in order.
        self.know_lgkm: Clock = np.zeros(size, np.int64)
        self.know_vm: Clock = np.zeros(size, np.int64)
        self.know_off: Clock = np.zeros(size, np.int64)
        self.know_issued: Clock = np.zeros(size, np.int64)
        self.seen_lgkm: Clock = np.zeros(size, np.int64)
        self.seen_vm: Clock = np.zeros(size, np.int64)
        self.seen_lgkm[index] = self.seen_vm[index] = INFINITE
        self.known: dict[int, int] = {}  # complete operations of waves of other workgroups
        self.acquired: dict[int, int] = {}  # the same, of use after the next invalidation only
        # Operations of the workgroup's waves whose writes are where other workgroups look.
        self.released: Clock = np.zeros(size, np.int64)
        self.snapshot: object = None
        self.visits: dict[int, int] = {}
        self.scratch: NDArray[np.uint8] | None = None

    def visit(self, at: int) -> int:
        """How often this instruction was executed before."""
        count = self.visits.get(at, 0)
        self.visits[at] = count + 1
        return count

    def join(self, others: "list[Wave]") -> None:
        """A barrier: everybody learns what everybody knows."""
        for name in ("know_lgkm", "know_vm", "know_off", "released"):
            best = getattr(others[0], name).copy()
            for other in others[1:]:
                np.maximum(best, getattr(other, name), out=best)
            for other in others:
                getattr(other, name)[:] = best
        for other in others:
            self.know_issued[other.index] = other.vm.issued
        known: dict[int, int] = {}
        acquired: dict[int, int] = {}
        for other in others:
            merge(known, other.known)
            merge(acquired, other.acquired)
        for other in others:
            other.know_issued[:] = self.know_issued
            other.seen_lgkm[:] = other.know_lgkm
            other.seen_vm[:] = other.know_vm
            other.seen_lgkm[other.index] = other.seen_vm[other.index] = INFINITE
            other.known, other.acquired = dict(known), dict(acquired)
            other.snapshot = None

    def set_exec(self, value: int) -> None:
        """Switch lanes on and off."""
        if value != self.exec:
            self.exec = value
            self.mask = None if value == ALL else lanes_of(value)

    def active(self) -> Lanes:
        """The lanes that are switched on."""
        return np.ones(LANES, np.bool_) if self.mask is None else self.mask

    def put(self, row: int, value: Words) -> None:
        """Write one register in the lanes that are on."""
        if self.mask is None:
            self.v[row] = value
        else:
            np.copyto(self.v[row], value, where=self.mask)

    def put_float(self, row: int, value: NDArray[np.float32]) -> None:
        """The same for floats."""
        if self.mask is None:
            self.f[row] = value
        else:
            np.copyto(self.f[row], value, where=self.mask)

    def get64(self, row: int) -> NDArray[np.uint64]:
        """Two registers as one number a lane."""
        upper = self.v[row + 1].astype(np.uint64) << np.uint64(32)
        both: NDArray[np.uint64] = self.v[row].astype(np.uint64) | upper
        return both

    def put64(self, row: int, value: NDArray[np.uint64]) -> None:
        """The reverse."""
        self.put(row, (value & np.uint64(MASK32)).astype(np.uint32))
        self.put(row + 1, (value >> np.uint64(32)).astype(np.uint32))
