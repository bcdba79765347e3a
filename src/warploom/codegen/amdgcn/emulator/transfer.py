"""Memory instructions: DMA to LDS, loads, LDS reads and writes, stores, scalar loads."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from warploom.codegen.amdgcn.emulator import operands as lanes
from warploom.codegen.amdgcn.emulator.vector import Effect, lanes_of

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
            raise lanes.EmulationError("the emulated memory is too small")
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
            raise lanes.EmulationError(f"an access that is not aligned to {size} bytes")
        return addresses[:, None] + np.arange(size)

    def _indices(self, addresses: NDArray[np.int64], words: int) -> NDArray[np.int64]:
        if addresses.size == 0:
            return np.zeros((0, words), np.int64)
        self._check(addresses, 4 * words)
        if np.any(addresses & 3):
            raise lanes.EmulationError("an access that is not aligned to 4 bytes")
        return (addresses[:, None] >> 2) + np.arange(words)

    def _check(self, addresses: NDArray[np.int64], size: int) -> None:
        if addresses.size == 0:
            return
        low, high = int(addresses.min()), int(addresses.max()) + size
        if not any(start <= low and high <= end for start, end in self._ranges):
            raise lanes.EmulationError(
                f"an access to {low:#x}..{high:#x}, outside every allocation",
                why="the kernel reads or writes memory it was not given",
            )


_BUFFER = {  # bytes a lane moves
    "buffer_load_dwordx4": 16,
    "buffer_load_dword": 4,
    "buffer_load_ushort": 2,
    "buffer_load_ubyte": 1,
    "buffer_store_dwordx4": 16,
    "buffer_store_dwordx2": 8,
    "buffer_store_dword": 4,
    "buffer_store_short": 2,
    "buffer_store_byte": 1,
}


@dataclass(frozen=True, slots=True)
class Devices:
    """What instructions can reach: the workgroup's LDS, memory, kernel arguments."""

    lds: Bytes
    memory: GlobalMemory
    arguments: bytes


def make_transfer(
    mnemonic: str, operands: Sequence[str], modifiers: Sequence[str], devices: Devices
) -> Effect | None:
    """The effect of a memory instruction, or None for other mnemonics."""
    if "lds" in modifiers and mnemonic in ("buffer_load_dwordx4", "buffer_load_dword"):
        return _dma(operands, modifiers, devices, _BUFFER[mnemonic])
    if mnemonic in _BUFFER:
        make = _load if mnemonic.startswith("buffer_load") else _store
        return make(operands, modifiers, devices, _BUFFER[mnemonic])
    makers: dict[str, Callable[[Sequence[str], Sequence[str], Devices], Effect]] = {
        "ds_read_b128": _lds_read,
        "ds_read_b64": partial(_lds_read_few, size=8),
        "ds_read_u8": partial(_lds_read_few, size=1),
        "ds_read_b64_tr_b16": partial(_lds_read, turned=True),
        "ds_write_b128": _lds_write,
    }
    if mnemonic in makers:
        return makers[mnemonic](operands, modifiers, devices)
    if mnemonic.startswith("s_load_dword"):
        return _scalar_load(mnemonic, operands, devices)
    return None


def _immediate(modifiers: Sequence[str]) -> int:
    return next((int(m[7:], 0) for m in modifiers if m.startswith("offset:")), 0)


def _buffer(
    offset_register: str, resource: str, soffset: str, modifiers: Sequence[str], size: int
) -> Callable[[lanes.Wave], tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Addresses of all lanes and which of them are inside the buffer."""
    if "offen" not in modifiers:
        raise lanes.EmulationError("a buffer access without a lane offset")
    _, voffset, _ = lanes.vector_rows(offset_register)
    _, base, count = lanes.register(resource)
    if count != 4:
        raise lanes.EmulationError(f"{resource} is no buffer resource")
    scalar, immediate = lanes.read_scalar(soffset), _immediate(modifiers)

    def resolve(w: lanes.Wave) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        s = w.s
        start = s[base] | (s[base + 1] & 0xFFFF) << 32
        records, uniform = s[base + 2], scalar(w)
        offset = w.v[voffset].astype(np.int64) + immediate
        inside = offset + uniform + size <= records
        if np.any(inside != (offset + size <= records)):
            raise lanes.EmulationError(
                "whether an access is in range depends on its scalar offset",
                why="sources differ on whether the hardware's range check includes it",
            )
        return start + uniform + offset, inside & lanes_of(w.exec)

    return resolve


def _require_inside(w: lanes.Wave, inside: NDArray[np.bool_]) -> None:
    if np.any(inside != lanes_of(w.exec)):
        raise lanes.EmulationError(
            "a load outside its buffer",
            why="it returns at once and may overtake older loads; the waits count on their order",
            fix="clamp the row to the last of the matrix",
        )


def _dma(operands: Sequence[str], modifiers: Sequence[str], devices: Devices, size: int) -> Effect:
    """``size`` bytes a lane, side by side in LDS."""
    resolve = _buffer(operands[0], operands[1], operands[2], modifiers, size)
    immediate = _immediate(modifiers)

    def effect(w: lanes.Wave) -> None:
        addresses, inside = resolve(w)
        _require_inside(w, inside)
        data = np.zeros((lanes.LANES, size // 4), np.uint32)
        data[inside] = devices.memory.gather(addresses[inside], size // 4)
        at = w.m0 + immediate
        if at + size * lanes.LANES > devices.lds.size:
            raise lanes.EmulationError(f"a DMA to LDS byte {at} of {devices.lds.size}")

        def land() -> None:
            devices.lds[at : at + size * lanes.LANES] = data.view(np.uint8).ravel()

        w.issue_dma(land)

    return effect


def _load(operands: Sequence[str], modifiers: Sequence[str], devices: Devices, size: int) -> Effect:
    file, row, _ = lanes.vector_rows(operands[0])
    resolve = _buffer(operands[1], operands[2], operands[3], modifiers, size)
    words = max(1, size // 4)

    def effect(w: lanes.Wave) -> None:
        addresses, inside = resolve(w)
        _require_inside(w, inside)
        data = np.zeros((lanes.LANES, words), np.uint32)
        if size >= 4:
            data[inside] = devices.memory.gather(addresses[inside], words)
        else:
            data[inside, 0] = devices.memory.gather_bytes(addresses[inside], size)
        rows = w.v if file == "v" else w.a
        rows[row : row + words] = lanes.POISON

        def finish() -> None:
            rows[row : row + words] = data.T

        w.issue_load(lambda: None, finish)

    return effect


def _store(
    operands: Sequence[str], modifiers: Sequence[str], devices: Devices, size: int
) -> Effect:
    file, row, _ = lanes.vector_rows(operands[0])
    resolve = _buffer(operands[1], operands[2], operands[3], modifiers, size)

    def effect(w: lanes.Wave) -> None:
        addresses, inside = resolve(w)
        values = (w.v if file == "v" else w.a)[row : row + max(1, size // 4)].T[inside].copy()

        def land() -> None:
            if size >= 4:
                devices.memory.scatter(addresses[inside], values)
            else:
                devices.memory.scatter_bytes(addresses[inside], values[:, 0], size)

        w.issue_store(land)

    return effect


def _lds_addresses(
    w: lanes.Wave, row: int, immediate: int, size: int, width: int = 16
) -> NDArray[np.int64]:
    """Where the lanes access LDS, counted in pieces of ``width`` bytes."""
    addresses: NDArray[np.int64] = w.v[row].astype(np.int64) + immediate
    if int(addresses.max()) + width > size or np.any(addresses % width):
        raise lanes.EmulationError(f"an LDS access to byte {int(addresses.max())} of {size}")
    return addresses // width


def _lds_read(
    operands: Sequence[str], modifiers: Sequence[str], devices: Devices, *, turned: bool = False
) -> Effect:
    """Sixteen bytes a lane; ``turned``: a column of four rows of sixteen 16-bit elements.

    Lanes ``4 r`` to ``4 r + 3`` of sixteen read row r, four elements each, and get a column each.
    """
    file, row, _ = lanes.vector_rows(operands[0])
    _, address, _ = lanes.vector_rows(operands[1])
    immediate, words = _immediate(modifiers), 2 if turned else 4
    pieces = devices.lds.view(np.uint16 if turned else np.uint32).reshape(-1, 4)

    def effect(w: lanes.Wave) -> None:
        if turned and w.exec != (1 << lanes.LANES) - 1:
            raise lanes.EmulationError("a transposed read with lanes switched off")
        at = _lds_addresses(w, address, immediate, devices.lds.size, 4 * words)
        rows = w.v if file == "v" else w.a
        rows[row : row + words] = lanes.POISON
        data = np.empty((lanes.LANES, 4), pieces.dtype)

        def sample() -> None:
            read = pieces[at]
            columns = (
                read.reshape(lanes.LANES // 16, 4, 16).transpose(0, 2, 1).reshape(lanes.LANES, 4)
            )
            data[:] = columns if turned else read

        def finish() -> None:
            rows[row : row + words] = data.view(np.uint32).T

        w.issue_read(sample, finish)

    return effect


def _lds_read_few(
    operands: Sequence[str], modifiers: Sequence[str], devices: Devices, *, size: int
) -> Effect:
    """One byte (with zeros above) or eight a lane."""
    file, row, _ = lanes.vector_rows(operands[0])
    _, address, _ = lanes.vector_rows(operands[1])
    immediate, words = _immediate(modifiers), max(1, size // 4)

    def effect(w: lanes.Wave) -> None:
        at = (w.v[address].astype(np.int64) + immediate)[:, None] + np.arange(size)
        if at.max() >= devices.lds.size or np.any(at[:, 0] % size):
            raise lanes.EmulationError(f"an LDS read of {size} bytes at {int(at.max())}")
        rows = w.v if file == "v" else w.a
        rows[row : row + words] = lanes.POISON
        data = np.zeros((lanes.LANES, 4 * words), np.uint8)

        def sample() -> None:
            data[:, :size] = devices.lds[at]

        def finish() -> None:
            rows[row : row + words] = data.view(np.uint32).T

        w.issue_read(sample, finish)

    return effect


def _lds_write(operands: Sequence[str], modifiers: Sequence[str], devices: Devices) -> Effect:
    _, address, _ = lanes.vector_rows(operands[0])
    file, row, _ = lanes.vector_rows(operands[1])
    immediate = _immediate(modifiers)
    chunks = devices.lds.view(np.uint32).reshape(-1, 4)

    def effect(w: lanes.Wave) -> None:
        at = _lds_addresses(w, address, immediate, devices.lds.size)
        data = (w.v if file == "v" else w.a)[row : row + 4].T.copy()

        def land() -> None:
            chunks[at] = data

        w.issue_lds_write(land)

    return effect


def _scalar_load(mnemonic: str, operands: Sequence[str], devices: Devices) -> Effect:
    """Kernel arguments: the only thing these kernels load through the scalar cache."""
    _, to, count = lanes.register(operands[0])
    offset = lanes.literal(operands[2])
    if lanes.register(operands[1])[1] != 0 or offset is None:
        raise lanes.EmulationError(f"{mnemonic} from something else than the kernel arguments")
    padded = devices.arguments + bytes(64)

    def effect(w: lanes.Wave) -> None:
        w.s[to : to + count] = [lanes.SCALAR_POISON] * count
        values = list(struct.unpack_from(f"<{count}I", padded, offset))

        def act() -> None:
            w.s[to : to + count] = values

        w.issue_scalar(act)

    return effect
