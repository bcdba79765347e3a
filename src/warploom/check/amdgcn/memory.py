"""Global memory and LDS: contents, and which accesses nothing orders.

LDS keeps, for every granule and wave, the number of the last access of each kind. An access races
with an earlier one of another wave (or of another queue of its own wave) whose number is above what
its wave knows to be complete. Accesses to global memory are recorded and compared at the end.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.state import Clock, FaultError, Wave

Bytes = NDArray[np.uint8]
Addresses = NDArray[np.int64]

BASE = 0x0000_7A00_0000_0000  # where tensors begin: addresses need all their upper bits
GUARD = 1 << 16
ALIGN = 256
SCALAR_LINE = 64  # bytes


@dataclass(frozen=True, slots=True)
class Region:
    """One allocation."""

    name: str
    start: int
    stop: int
    writable: bool = True


class GlobalMemory:
    """A flat byte array with allocations; accesses outside of them are faults."""

    def __init__(self, size: int) -> None:
        self.bytes: Bytes = np.zeros((size + 3) // 4 * 4, np.uint8)
        self.words: NDArray[np.uint32] = self.bytes.view(np.uint32)
        self.regions: list[Region] = []
        self._top = GUARD
        self.first_lane_stays = False  # of several that write the same place, else the last
        self._starts: Addresses = np.zeros(0, np.int64)
        self._stops: Addresses = np.zeros(0, np.int64)

    def allocate(self, name: str, data: Bytes, *, writable: bool = True) -> int:
        """Copy ``data`` in and return its address."""
        start = -(-self._top // ALIGN) * ALIGN
        if start + data.size + GUARD > self.bytes.size:
            raise FaultError("memory", "the modelled memory is too small")
        self.bytes[start : start + data.size] = data
        self.regions.append(Region(name, start, start + data.size, writable))
        self._top = start + data.size + GUARD
        self._starts = np.array([r.start for r in self.regions], np.int64)
        self._stops = np.array([r.stop for r in self.regions], np.int64)
        return BASE + start

    def contents(self, name: str) -> Bytes:
        """The bytes of an allocation now."""
        region = next(r for r in self.regions if r.name == name)
        return self.bytes[region.start : region.stop].copy()

    def region_of(self, offset: int) -> Region | None:
        """The allocation that holds a byte."""
        return next((r for r in self.regions if r.start <= offset < r.stop), None)

    def offsets(self, addresses: Addresses, size: int, *, write: bool = False) -> Addresses:
        """Addresses as offsets; a fault where one lies outside every allocation."""
        at = addresses - BASE
        if at.size == 0:
            return at
        low, high = int(at.min()), int(at.max()) + size
        for region in self.regions:
            if region.start <= low and high <= region.stop:
                if write and not region.writable:
                    raise FaultError("oob-global", f"a write to {region.name}, which is constant")
                return at
        index = np.searchsorted(self._starts, at, "right") - 1
        inside = (index >= 0) & (at + size <= self._stops[np.maximum(index, 0)])
        if not inside.all():
            lane = int(np.flatnonzero(~inside)[0])
            raise FaultError("oob-global", self._outside(int(at[lane]), size))
        return at

    def _outside(self, at: int, size: int) -> str:
        near = min(
            self.regions,
            key=lambda r: max(r.start - at, at + size - r.stop, 0),
            default=None,
        )
        if near is None or max(near.start - at, at - near.stop) > 1 << 28:
            return f"an access to address {at + BASE:#x}, which is in no tensor of the launch"
        if at < near.start:
            return f"an access to {near.start - at} bytes before tensor {near.name}"
        return (
            f"an access to bytes {at - near.start}..{at - near.start + size - 1} of tensor "
            f"{near.name}, which has {near.stop - near.start}"
        )

    def gather(self, at: Addresses, size: int) -> Bytes:
        """``size`` bytes at each offset, as ``[lane, byte]``."""
        if size % 4 == 0 and not (at & 3).any():
            words = self.words[(at >> 2)[:, None] + np.arange(size // 4)]
            result: Bytes = words.view(np.uint8)
        else:
            result = self.bytes[at[:, None] + np.arange(size)]
        return result

    def scatter(self, at: Addresses, data: Bytes) -> None:
        """Write rows of bytes at each offset."""
        if self.first_lane_stays:
            at, data = at[::-1], data[::-1]
        self.bytes[at[:, None] + np.arange(data.shape[1])] = data


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a wave knew at one moment."""

    vm: Clock
    issued: Clock
    known: dict[int, int]
    lgkm: Clock
    acquired: dict[int, int]


@dataclass(eq=False, slots=True)
class Access:
    """One recorded access to global memory."""

    kind: str  # r, w, a (atomic)
    at: Addresses
    size: int
    wave: Wave
    group: int
    number: int
    pc: int
    visit: int
    snapshot: Snapshot
    data: Bytes | None = None
    scalar: bool = False
    bypass: bool = False
    index: int = 0  # its place in the journal
    fresh: int = 0  # the journal's length when its wave invalidated the scalar cache last

    @property
    def atomic(self) -> bool:
        """An atomic, or a load or store of device scope: it may meet others of its kind."""
        return self.kind == "a" or (self.bypass and self.size <= 8)


def snapshot_of(w: Wave) -> Snapshot:
    """What the wave knows now; shared between accesses until it learns something."""
    result = w.snapshot
    if not isinstance(result, Snapshot):
        result = Snapshot(
            w.know_vm.copy(), w.know_issued.copy(), dict(w.known), w.know_lgkm.copy(),
            dict(w.acquired),
        )  # fmt: skip
        w.snapshot = result
    return result


class Journal:
    """All accesses of a launch to global memory."""

    def __init__(self, memory: GlobalMemory) -> None:
        self._memory = memory
        self.accesses: list[Access] = []
        self._scalar_reads: dict[int, list[Access]] = {}
        self.bytes = {"read": 0, "written": 0}

    def add(self, access: Access) -> None:
        """Record one access."""
        moved = access.at.size * access.size
        self.bytes["read" if access.kind == "r" else "written"] += moved
        if access.at.size:
            access.index = len(self.accesses)
            self.accesses.append(access)
            if access.scalar and access.kind == "r" and not access.bypass:
                for line in _lines(access):
                    self._scalar_reads.setdefault(line, []).append(access)

    def cached(self, read: Access) -> Iterable[Access]:
        """Scalar loads that may have brought a line of this one into the scalar cache before."""
        for line in _lines(read):
            for earlier in self._scalar_reads.get(line, ()):
                if read.fresh <= earlier.index < read.index:
                    yield earlier

    def conflicts(self) -> Iterable[tuple[Access, Access, int]]:
        """Pairs of accesses of different waves to the same byte, one a write, each pair once."""
        written = [a for a in self.accesses if a.kind != "r"]
        if not written:
            return
        for region in self._memory.regions:
            touched = [a for a in self.accesses if region.start <= int(a.at[0]) < region.stop]
            several = len({a.wave.uid for a in touched}) > 1 or any(a.scalar for a in touched)
            if several and any(a.kind != "r" for a in touched):
                yield from _pairs(touched, region)


def _lines(access: Access) -> range:
    """Lines of the scalar cache that a scalar access touches."""
    start = int(access.at[0])
    return range(start // SCALAR_LINE, (start + access.size - 1) // SCALAR_LINE + 1)


def _pairs(touched: list[Access], region: Region) -> Iterable[tuple[Access, Access, int]]:
    grain = 4
    for a in touched:
        while grain > 1 and (a.size % grain or bool((a.at % grain).any())):
            grain //= 2
    writes = np.zeros((region.stop - region.start) // grain + 1, np.bool_)
    cells = []
    for a in touched:
        cell = ((a.at[:, None] + np.arange(0, a.size, grain)) // grain).ravel()
        cell = np.unique(cell - region.start // grain)
        cells.append(cell)
        if a.kind != "r":
            writes[cell] = True
    kept = [c[writes[c]] for c in cells]
    cell = np.concatenate(kept)
    owner = np.repeat(np.arange(len(kept)), [k.size for k in kept])
    order = np.argsort(cell, kind="stable")
    cell, owner = cell[order], owner[order]
    edges = np.flatnonzero(np.diff(cell)) + 1
    starts = np.concatenate([[0], edges])
    stops = np.concatenate([edges, [cell.size]])
    waves = np.array([a.wave.uid for a in touched])
    scalar = np.array([a.scalar for a in touched])
    seen: set[tuple[int, int]] = set()
    for start, stop in zip(starts, stops, strict=True):
        group = owner[start:stop]
        if group.size < 2:
            continue
        if (waves[group] == waves[group[0]]).all() and not scalar[group].any():
            continue
        at = int(cell[start]) * grain + region.start // grain * grain
        yield from _group_pairs(touched, group.tolist(), seen, at)


def _group_pairs(
    touched: list[Access], group: list[int], seen: set[tuple[int, int]], at: int
) -> Iterable[tuple[Access, Access, int]]:
    """Pairs of one granule; long lists (counters) are compared with their neighbours only."""
    reach = len(group) if len(group) <= 64 else 64
    for i, first in enumerate(group):
        for second in group[i + 1 : i + 1 + reach]:
            a, b = touched[first], touched[second]
            if a.kind == b.kind == "r" or (a.atomic and b.atomic and "r" not in (a.kind, b.kind)):
                continue
            if a.wave is b.wave and not _other_way(a, b):
                continue  # one queue
            if (first, second) not in seen:
                seen.add((first, second))
                yield a, b, at


def _other_way(a: Access, b: Access) -> bool:
    """Whether a later access of the same wave goes through another cache than a store before it."""
    return a.scalar != b.scalar and (b.scalar or a.kind == "w")


class Lds:
    """The local memory of one workgroup."""

    def __init__(
        self, size: int, waves: int, grain: int, *, dma: bool, atomics: bool, fill: int = 0xFF
    ) -> None:
        self.size, self.grain = size, grain
        self.bytes: Bytes = np.full((size + 15) // 16 * 16, fill, np.uint8)
        self.words: NDArray[np.uint32] = self.bytes.view(np.uint32)
        cells = size // grain + 1
        self.written = np.zeros(cells, np.bool_)
        self.reads = np.zeros((cells, waves), np.int32)
        self.writes = np.zeros((cells, waves), np.int32)
        self.dmas = np.zeros((cells if dma else 1, waves), np.int32)
        self.atomics = np.zeros((cells if atomics else 1, waves), np.int32)
        self._dma, self._atomic = dma, atomics
        self.moved = {"read": 0, "written": 0}
        self.first_lane_stays = False  # of several that write the same place, else the last

    def cells(self, at: Addresses, width: int) -> NDArray[np.int64]:
        """Granules of accesses of ``width`` bytes."""
        if width <= self.grain:
            return at // self.grain
        step = np.arange(0, width, self.grain) // self.grain
        return ((at // self.grain)[:, None] + step).ravel()

    def check(self, at: Addresses, width: int) -> None:
        """Raise where an access leaves the allocation."""
        if at.size and (int(at.max()) + width > self.size or int(at.min()) < 0):
            bad = int(at.max()) if int(at.max()) + width > self.size else int(at.min())
            raise FaultError(
                "oob-lds",
                f"an access to LDS bytes {bad}..{bad + width - 1}; the workgroup has {self.size}",
                fix="give the LDS size in the descriptor, or as the launch's shared_bytes",
            )

    def clashes(
        self, w: Wave, cells: NDArray[np.int64], kind: str
    ) -> list[tuple[str, str, NDArray[np.int32], Clock]]:
        """Earlier accesses that are not known to be complete, by kind.

        Each as (kind of the earlier one, axiom, its numbers, the clock they exceed).
        """
        result: list[tuple[str, str, NDArray[np.int32], Clock]] = []
        for earlier, axiom, numbers, clock in self._against(w, kind):
            if axiom and result and result[-1][0] == earlier:
                continue  # it races anyway
            part = numbers[cells]
            if (part > clock).any():
                result.append((earlier, axiom, part, clock))
        return result

    def _against(self, w: Wave, kind: str) -> list[tuple[str, str, NDArray[np.int32], Clock]]:
        local = w.know_lgkm if kind == "d" else w.seen_lgkm
        result = [("w", "", self.writes, local)]
        if kind != "r":
            result.append(("r", "", self.reads, local))
        if self._dma:
            clock = w.seen_vm if kind == "d" else w.know_vm
            result.append(("d", "", self.dmas, clock))
            if w.know_off is not w.know_vm and (w.know_off != w.know_vm).any():
                result.append(("d", "vm_order", self.dmas, w.know_off))
        if self._atomic and kind != "a":
            result.append(("a", "", self.atomics, local))
        return result

    def record(self, w: Wave, cells: NDArray[np.int64], kind: str, number: int) -> None:
        """Note an access."""
        table = {"r": self.reads, "w": self.writes, "d": self.dmas, "a": self.atomics}[kind]
        table[cells, w.index] = number
        if kind != "r":
            self.written[cells] = True

    def gather(self, at: Addresses, width: int) -> Bytes:
        """``width`` bytes at each address."""
        self.moved["read"] += at.size * width
        if width % 4 == 0 and not (at & 3).any():
            result: Bytes = self.words[(at >> 2)[:, None] + np.arange(width // 4)].view(np.uint8)
        else:
            result = self.bytes[at[:, None] + np.arange(width)]
        return result

    def scatter(self, at: Addresses, data: Bytes) -> None:
        """Write rows of bytes."""
        self.moved["written"] += data.size
        width = data.shape[1]
        if self.first_lane_stays:
            at, data = at[::-1], data[::-1]
        if width % 4 == 0 and not (at & 3).any():
            self.words[(at >> 2)[:, None] + np.arange(width // 4)] = np.ascontiguousarray(
                data
            ).view(np.uint32)
        else:
            self.bytes[at[:, None] + np.arange(width)] = data


Report = Callable[..., None]
