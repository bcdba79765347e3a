"""Global memory of the emulated device: allocations with guard space, every access checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warploom.emit.gfx950.emulator.fault import EmulationError

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint32]

GUARD = 4096
ALIGN = 256


class GlobalMemory:
    """A flat byte array. Reads and writes outside an allocation are faults, not data."""

    def __init__(self, size: int) -> None:
        self._words: Words = np.zeros(size // 4 + 2 * GUARD, np.uint32)
        self._bytes: Bytes = self._words.view(np.uint8)
        self._top = GUARD
        self._ranges: list[tuple[int, int]] = []

    def allocate(self, data: Bytes) -> int:
        """Copy ``data`` in and return its address."""
        start = -(-self._top // ALIGN) * ALIGN
        end = start + data.size
        if end + GUARD > self._bytes.size:
            raise EmulationError("the emulated memory is too small")
        self._bytes[start:end] = data.ravel()
        self._ranges.append((start, end))
        self._top = end + GUARD
        return start

    def bytes_at(self, address: int, size: int) -> Bytes:
        """A copy of what an allocation holds now."""
        return self._bytes[address : address + size].copy()

    def gather(self, addresses: NDArray[np.int64], words: int) -> Words:
        """``words`` dwords from each address, as ``[lane, word]``."""
        return self._words[self._indices(addresses, words)]

    def scatter(self, addresses: NDArray[np.int64], values: Words) -> None:
        """Write ``values[lane, word]`` at each address."""
        self._words[self._indices(addresses, values.shape[1])] = values

    def gather_bytes(self, addresses: NDArray[np.int64], size: int) -> Words:
        """``size`` bytes (1 or 2) from each address, zero-extended."""
        parts = self._bytes[self._byte_indices(addresses, size)].astype(np.uint32)
        shifts = np.arange(0, 8 * size, 8, dtype=np.uint32)
        joined: Words = np.bitwise_or.reduce(parts << shifts, axis=1)
        return joined

    def scatter_bytes(self, addresses: NDArray[np.int64], values: Words, size: int) -> None:
        """Write the low ``size`` bytes of each value."""
        shifts = np.arange(0, 8 * size, 8, dtype=np.uint32)
        parts = (values[:, None] >> shifts & np.uint32(0xFF)).astype(np.uint8)
        self._bytes[self._byte_indices(addresses, size)] = parts

    def _byte_indices(self, addresses: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        self._check(addresses, size)
        if np.any(addresses % size):
            raise EmulationError(f"an access that is not aligned to {size} bytes")
        return addresses[:, None] + np.arange(size)

    def _indices(self, addresses: NDArray[np.int64], words: int) -> NDArray[np.int64]:
        if addresses.size == 0:
            return np.zeros((0, words), np.int64)
        self._check(addresses, 4 * words)
        if np.any(addresses & 3):
            raise EmulationError("an access that is not aligned to 4 bytes")
        return (addresses[:, None] >> 2) + np.arange(words)

    def _check(self, addresses: NDArray[np.int64], size: int) -> None:
        if addresses.size == 0:
            return
        low, high = int(addresses.min()), int(addresses.max()) + size
        if not any(start <= low and high <= end for start, end in self._ranges):
            raise EmulationError(
                f"an access to {low:#x}..{high:#x}, outside every allocation",
                why="the kernel reads or writes memory it was not given",
            )
