"""A launch on the modelled chip: memory, kernel arguments, initial registers."""

import struct
from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.machine import Group
from warploom.check.amdgcn.memory import GUARD, GlobalMemory, Lds
from warploom.check.amdgcn.reader import Argument, Kernel
from warploom.check.amdgcn.state import LANES, PRIVATE_APERTURE, SHARED_APERTURE, Wave
from warploom.check.formats import SIZES, encode
from warploom.check.launch import Launch, Param
from warploom.errors import CheckError

KERNARG = "kernel arguments"
PACKET = "dispatch packet"
LDS_LIMIT = {"gfx942": 65536, "gfx950": 163840}
MAX_WAVES = 16
MAX_USER_REGISTERS = 16
MAX_PRIVATE = 1 << 20  # bytes of a lane

_FORMATS = {
    "u32": "<I", "i32": "<i", "u64": "<Q", "i64": "<q", "f32": "<f", "f64": "<d", "u8": "<B",
    "i8": "<b", "u16": "<H", "i16": "<h",
}  # fmt: skip


def block_of(kernel: Kernel, launch: Launch) -> tuple[int, int, int]:
    """Threads of a workgroup: the launch's, or what the metadata says where it gives none."""
    if launch.block != (1, 1, 1):
        return launch.block
    required = kernel.metadata.get(".reqd_workgroup_size")
    if (
        isinstance(required, list)
        and len(required) == 3
        and all(isinstance(n, int) and n > 0 for n in required)
    ):
        x, y, z = required
        return x, y, z
    flat = kernel.metadata.get(".max_flat_workgroup_size")
    return (flat, 1, 1) if isinstance(flat, int) and 0 < flat <= 1024 else launch.block


def place_tensors(kernel: Kernel, launch: Launch, seed: int) -> tuple[GlobalMemory, dict[str, int]]:
    """Memory that holds the tensors (and has place for constants), and their addresses."""
    contents = launch.initial(seed)
    total = sum(data.size + 2 * GUARD for data in contents.values())
    total += sum(len(data) + 4 * GUARD for data in kernel.data.values())
    memory = GlobalMemory(total + 8 * GUARD + (1 << 17))
    return memory, {name: memory.allocate(name, data) for name, data in contents.items()}


def pack_arguments(
    kernel: Kernel, launch: Launch, addresses: Mapping[str, int], block: tuple[int, int, int]
) -> tuple[bytes, list[str]]:
    """The argument block as the metadata lays it out, and what had to be assumed."""
    declared = kernel.arguments
    if declared is None:
        return _natural(launch, addresses), []
    explicit = [a for a in declared if not a.kind.startswith("hidden_")]
    if len(launch.params) > len(explicit):
        raise CheckError(
            f"the launch gives {len(launch.params)} parameters, the kernel takes {len(explicit)}",
            where="params",
            fix="give one parameter for every argument of the metadata that is not hidden",
        )
    size = max([a.offset + a.size for a in declared], default=0)
    size = max(size, kernel.number(".kernarg_segment_size", ".amdhsa_kernarg_size") or 0)
    if size > 1 << 20:
        raise CheckError("the argument block is larger than 1 MiB", where="metadata")
    packed, assumes = bytearray(size), []
    for index, argument in enumerate(explicit):
        if index < len(launch.params):
            data = _bytes(launch.params[index], addresses)
            if len(data) != argument.size:
                raise CheckError(
                    f"parameter {index} has {len(data)} bytes, argument {argument.name!r} takes "
                    f"{argument.size}",
                    where=f"params[{index}]",
                )
            packed[argument.offset : argument.offset + argument.size] = data
        elif argument.size == 8:
            assumes.append(f"argument {index} ({argument.name}) is not given: a null pointer")
        else:
            raise CheckError(
                f"the launch gives {len(launch.params)} parameters, the kernel takes "
                f"{len(explicit)}",
                where="params",
            )
    for argument in declared:
        if argument.kind.startswith("hidden_"):
            _hidden(packed, argument, launch, block)
    return bytes(packed), assumes


def _natural(launch: Launch, addresses: Mapping[str, int]) -> bytes:
    packed = bytearray()
    for param in launch.params:
        data = _bytes(param, addresses)
        align = 8 if param.kind == "struct" else len(data)
        packed += bytes(-len(packed) % max(1, align))
        packed += data
    return bytes(packed)


def _bytes(param: Param, addresses: Mapping[str, int]) -> bytes:
    if param.kind == "pointer":
        return struct.pack("<Q", addresses[param.tensor] + param.offset)
    if param.kind == "struct":
        block = bytearray(param.bytes)
        for inner in param.fields:
            data = _bytes(inner, addresses)
            block[inner.at : inner.at + len(data)] = data
        return bytes(block)
    if param.kind == "tensormap":
        raise CheckError("a tensor map on an AMD target", where="params", fix="pass a pointer")
    if param.kind in ("f16", "bf16"):
        return encode(np.array([param.value]), param.kind).tobytes()
    form, size = _FORMATS[param.kind], SIZES[param.kind]
    value = param.value
    if param.kind[0] in "ui":
        wrapped = int(value) & ((1 << 8 * size) - 1)
        return wrapped.to_bytes(size, "little")
    return struct.pack(form, float(value))


def _hidden(
    packed: bytearray, argument: Argument, launch: Launch, block: tuple[int, int, int]
) -> None:
    kind = argument.kind.removeprefix("hidden_")
    axis = {"x": 0, "y": 1, "z": 2}.get(kind[-1:], 0)
    value = 0
    if kind.startswith("block_count_"):
        value = launch.grid[axis]
    elif kind.startswith("group_size_"):
        value = block[axis]
    elif kind == "grid_dims":
        value = max((i + 1 for i in range(3) if launch.grid[i] > 1), default=1)
    elif kind == "shared_base":
        value = SHARED_APERTURE
    elif kind == "private_base":
        value = PRIVATE_APERTURE
    elif kind == "dynamic_lds_size":
        value = launch.shared_bytes
    packed[argument.offset : argument.offset + argument.size] = value.to_bytes(
        max(argument.size, 8), "little"
    )[: argument.size]


def dispatch_packet(launch: Launch, block: tuple[int, int, int], kernarg: int) -> bytes:
    """The packet that a kernel may read its sizes from."""
    grid = [g * b for g, b in zip(launch.grid, block, strict=True)]
    return struct.pack(
        "<HH3HH3IIIQQQQ", 0, 3, *block, 0, *grid, 0, launch.shared_bytes, 0, kernarg, 0, 0
    )


def _user_registers(kernel: Kernel, kernarg: int, packet: int, arguments: bytes) -> dict[int, int]:
    """Scalar registers that the hardware fills before the workgroup numbers."""
    d = kernel.descriptor
    filled: dict[int, int] = {}
    at = 0

    def pair(name: str, value: int, usual: int = 0) -> None:
        nonlocal at
        if d.get(f".amdhsa_user_sgpr_{name}", usual):
            filled[at], filled[at + 1] = value & 0xFFFFFFFF, value >> 32
            at += 2

    if d.get(".amdhsa_user_sgpr_private_segment_buffer"):
        at += 4
    pair("dispatch_ptr", packet)
    pair("queue_ptr", 0)
    pair("kernarg_segment_ptr", kernarg, 0 if d else 1)
    pair("dispatch_id", 0)
    pair("flat_scratch_init", 0)
    if d.get(".amdhsa_user_sgpr_private_segment_size"):
        filled[at] = kernel.scratch_bytes
        at += 1
    length = d.get(".amdhsa_user_sgpr_kernarg_preload_length", 0)
    skip = 4 * d.get(".amdhsa_user_sgpr_kernarg_preload_offset", 0)
    for index in range(max(0, min(length, MAX_USER_REGISTERS))):
        place = skip + 4 * index
        filled[at] = int.from_bytes(arguments[place : place + 4], "little")  # zero behind the end
        at += 1
    filled[-1] = count = d.get(".amdhsa_user_sgpr_count", at)
    if not 0 <= count <= MAX_USER_REGISTERS:
        raise CheckError(
            f"{count} scalar registers filled before the kernel starts",
            where=".amdhsa_user_sgpr_count",
            why=f"the hardware fills at most {MAX_USER_REGISTERS}",
        )
    return filled


def lds_bytes(kernel: Kernel, launch: Launch) -> int:
    """LDS of a workgroup: declared and dynamic."""
    total = kernel.lds_bytes + launch.shared_bytes
    limit = LDS_LIMIT.get(kernel.target, max(LDS_LIMIT.values()))
    if total > limit:
        raise CheckError(
            f"{total} bytes of LDS", where="shared_bytes", why=f"{kernel.target} has {limit}"
        )
    return total


def make_groups(
    kernel: Kernel, launch: Launch, block: tuple[int, int, int], memory: GlobalMemory,
    arguments: bytes, *, fill: int = 0xFF,
) -> Iterator[Group]:  # fmt: skip
    """The workgroups of a launch, each with its waves at the entry; LDS is full of ``fill``."""
    kernarg = memory.allocate(
        KERNARG, np.frombuffer(arguments + bytes(64), np.uint8).copy(), writable=False
    )
    packet = memory.allocate(
        PACKET,
        np.frombuffer(dispatch_packet(launch, block, kernarg), np.uint8).copy(),
        writable=False,
    )
    threads = block[0] * block[1] * block[2]
    waves = -(-threads // LANES)
    filled = _user_registers(kernel, kernarg, packet, arguments)
    first = filled.pop(-1)
    size = lds_bytes(kernel, launch)
    if not 0 <= kernel.scratch_bytes <= MAX_PRIVATE:
        raise CheckError(
            f"{kernel.scratch_bytes} bytes of private memory a lane",
            where=".private_segment_fixed_size",
            fix=f"at most {MAX_PRIVATE} are modelled",
        )
    grain, dma, atomics = lds_use(kernel)
    d = kernel.descriptor
    ids = [
        d.get(f".amdhsa_system_sgpr_workgroup_id_{axis}", 1 if axis == "x" or not d else 0)
        for axis in "xyz"
    ]
    uid = 0
    for index, place in enumerate(product(*(range(n) for n in reversed(launch.grid)))):
        where = place[::-1]
        group = []
        for number in range(waves):
            wave = Wave(number, uid, waves)
            uid += 1
            for register, value in filled.items():
                wave.s[register] = value
            at = first
            for axis in range(3):
                if ids[axis]:
                    wave.s[at] = where[axis]
                    at += 1
            _lane_ids(wave, number, block, threads)
            if kernel.scratch_bytes:
                wave.scratch = np.zeros((LANES, kernel.scratch_bytes), np.uint8)
            group.append(wave)
        yield Group(index, group, Lds(size, waves, grain, dma=dma, atomics=atomics, fill=fill))


def _lane_ids(wave: Wave, number: int, block: tuple[int, int, int], threads: int) -> None:
    thread = number * LANES + np.arange(LANES)
    x, rest = thread % block[0], thread // block[0]
    y, z = rest % block[1], rest // block[1]
    wave.v[0] = (x | y << 10 | z << 20).astype(np.uint32)
    if threads < (number + 1) * LANES:
        wave.set_exec((1 << (threads - number * LANES)) - 1)


def lds_use(kernel: Kernel) -> tuple[int, bool, bool]:
    """Bytes of the finest LDS access, whether there is LDS-DMA, whether there are atomics."""
    grain, dma, atomics = 4, False, False
    for i in kernel.instructions:
        name = i.mnemonic
        dma |= i.flag("lds") or "_load_lds_" in name
        if name.startswith("flat_") and ("byte" in name or "short" in name):
            grain = 1
        atomics |= name.startswith("flat_atomic_")
        if not name.startswith("ds_"):
            continue
        if name.startswith(("ds_read", "ds_write")):
            if "_b8" in name or "_u8" in name or "_i8" in name:
                grain = 1 if "_tr_" not in name else grain
            elif "16" in name and "_tr_" not in name:
                grain = min(grain, 2)
            if i.number("offset") % 4 and not i.flag("offset0"):
                grain = min(grain, 2 if i.number("offset") % 2 == 0 else 1)
        elif "permute" not in name and "swizzle" not in name:
            atomics = True
    return grain, dma, atomics


Mask = NDArray[np.bool_]
