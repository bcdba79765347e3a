"""A NumPy interpreter of gfx950 assembly text, with adversarial asynchrony.

It reads assembly and nothing else: no schedule, no plan, no code of the back end. Waves run in any
order between barriers; DMA writes and LDS reads take effect as late, as early or as randomly as the
counters allow. Hazards inside a wave that the assembler resolves (``s_nop``) are not modelled.

Small integers are the sharpest data: every product and sum is exact in fp32, so C must equal
NumPy's result bit for bit and any stale or missing tile shows.
"""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.formats import FORMATS, TABLES, encode_small
from warploom.codegen.amdgcn.emulator.machine import RunStatistics, run_kernel
from warploom.codegen.amdgcn.emulator.matrix import FP8, Floats, to_fp8
from warploom.codegen.amdgcn.emulator.operands import (
    EARLY,
    LATE,
    STARVED,
    TRAMPLED,
    EmulationError,
    Order,
    Timing,
    random_timing,
    timing_named,
)
from warploom.codegen.amdgcn.emulator.transfer import GlobalMemory

# Clang appends ".coerce" to pointers it has moved to the global address space.
_ARGUMENT = re.compile(r"\.name:\s+(\w+)(?:\.coerce)?\s+\.offset:\s+(\d+)\s+\.size:\s+(\d+)")
SENTINEL = np.float32(-12345.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmResult:
    """C of one emulated launch beside NumPy's."""

    c: Floats
    expected: NDArray[np.float64]
    tolerance: float
    statistics: RunStatistics

    @property
    def error(self) -> float:
        """Largest absolute difference; infinite where C holds NaN."""
        difference = np.abs(self.c.astype(np.float64) - self.expected)
        return float(np.where(np.isnan(difference), np.inf, difference).max())

    @property
    def correct(self) -> bool:
        """Within the error of accumulating in fp32."""
        return self.error <= self.tolerance


def integer_matrix(rows: int, columns: int, seed: int) -> Floats:
    """Whole numbers from -8 to 8: exact in bf16, fp16 and fp8."""
    return np.random.default_rng(seed).integers(-8, 9, (rows, columns)).astype(np.float32)


def normal_matrix(rows: int, columns: int, seed: int) -> Floats:
    """Normally distributed values."""
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)


def encode(values: Floats, dtype: str) -> tuple[NDArray[np.uint8], Floats]:
    """The bytes of a matrix in an element type, and the values after rounding."""
    if dtype == "bf16":
        bits = values.view(np.uint32)
        rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(
            16
        )
        return rounded.astype(np.uint16).view(np.uint8), (rounded << np.uint32(16)).view(np.float32)
    if dtype == "fp16":
        halves = values.astype(np.float16)
        return halves.view(np.uint8), halves.astype(np.float32)
    if dtype == "fp8":
        codes = to_fp8(np.clip(values, -448.0, 448.0)).astype(np.uint8)
        return codes, FP8[codes]
    known = ", ".join(("bf16", "fp16", "fp8", *MX_FORMATS))
    raise EmulationError(f"no element type {dtype!r}", fix=f"known: {known}")


MX_FORMATS = {
    "mxfp8": "e4m3",
    "mxfp8_e5m2": "e5m2",
    "mxfp6": "e2m3",
    "mxfp6_e3m2": "e3m2",
    "mxfp4": "e2m1",
}
MX_BLOCK = 32


def encode_mx(
    values: Floats, dtype: str, *, seed: int | None = None
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Floats]:
    """A matrix in a microscaling type: packed elements, scales (e8m0), and the values they mean.

    A block's scale is the power of two that brings its largest element to the format's top
    binade; ``seed`` moves it at random, so that no block's scale follows from its neighbours'.
    """
    form = FORMATS[MX_FORMATS[dtype]]
    rows, columns = values.shape
    blocks = values.reshape(rows, columns // MX_BLOCK, MX_BLOCK).astype(np.float64)
    largest = np.abs(blocks).max(axis=2)
    top = np.floor(np.log2(TABLES[form.name][np.isfinite(TABLES[form.name])].max()))
    power = np.floor(np.log2(np.where(largest > 0, largest, 1))) - top
    if seed is not None:
        power += np.random.default_rng(seed).integers(0, 3, power.shape)
    power = np.clip(power, -127, 127)
    scale = np.exp2(power)[:, :, None]
    codes = encode_small((blocks / scale).astype(np.float32), form.name, saturate=True)
    meant = (TABLES[form.name][codes].astype(np.float64) * scale).reshape(rows, columns)
    bits = np.unpackbits(
        codes.reshape(-1, 1).astype(np.uint8), axis=1, bitorder="little", count=form.bits
    )
    packed = np.packbits(bits.reshape(rows, -1), axis=1, bitorder="little")
    return packed, (power + 127).astype(np.uint8), meant.astype(np.float32)


def _unit(values: Floats) -> float:
    """The largest power of two that all values are multiples of: sums of products are exact where
    they are short in this unit."""
    found = values[values != 0].astype(np.float64)
    if not found.size:
        return 1.0
    mantissa, exponent = np.frexp(found)
    whole = np.abs(mantissa * 2.0**24).astype(np.int64)
    lowest = np.log2((whole & -whole).astype(np.float64))
    return float(2.0 ** (exponent - 24 + lowest).min())


def emulate_gemm(
    text: str,
    a: Floats,
    b: Floats,
    *,
    dtype: str,
    block: tuple[int, int],
    timing: Timing,
    order: Order = Order.FORWARD,
) -> GemmResult:
    """Run C = A x B^T. ``block`` is the tile of C one workgroup computes."""
    (m, k), (n, _) = a.shape, b.shape
    given: dict[str, NDArray[np.uint8]] = {}
    if dtype in MX_FORMATS:
        given["mat_a"], given["scale_a"], a_values = encode_mx(a, dtype, seed=m)
        given["mat_b"], given["scale_b"], b_values = encode_mx(b, dtype, seed=n)
    else:
        given["mat_a"], a_values = encode(a, dtype)
        given["mat_b"], b_values = encode(b, dtype)
    c = np.full((m, n), SENTINEL, np.float32)
    given["mat_c"] = c.view(np.uint8)
    memory = GlobalMemory(sum(data.size + 8192 for data in given.values()) + 65536)
    values = {name: memory.allocate(data) for name, data in given.items()}
    result = values["mat_c"]
    values |= {"dim_m": m, "dim_n": n, "dim_k": k}
    grid = (-(-m // block[0]), -(-n // block[1]))
    statistics = run_kernel(text, grid, pack_arguments(text, values), memory, timing, order)
    c = memory.bytes_at(result, c.nbytes).view(np.float32).reshape(m, n)
    expected = a_values.astype(np.float64) @ b_values.astype(np.float64).T
    bound = np.abs(a_values).astype(np.float64) @ np.abs(b_values).astype(np.float64).T
    units = [_unit(x) for x in (a_values, b_values)]
    whole = bool(bound.max() / (units[0] * units[1]) < 2**24)
    tolerance = 0.0 if whole else float(bound.max()) * k * 2.0**-24
    return GemmResult(c=c, expected=expected, tolerance=tolerance, statistics=statistics)


def emulate_launch(
    text: str,
    tensors: Mapping[str, NDArray[np.uint8]],
    numbers: Mapping[str, int | float],
    *,
    grid: tuple[int, ...],
    timing: Timing,
    order: Order = Order.FORWARD,
) -> dict[str, NDArray[np.uint8]]:
    """Run a kernel on tensors given as bytes, by argument name; the bytes after the launch."""
    memory = GlobalMemory(sum(t.size + 8192 for t in tensors.values()) + 65536)
    at = {name: memory.allocate(data) for name, data in tensors.items()}
    bits = {
        name: value if isinstance(value, int) else struct.unpack("<I", struct.pack("<f", value))[0]
        for name, value in numbers.items()
    }
    run_kernel(text, grid, pack_arguments(text, at | bits), memory, timing, order)
    return {name: memory.bytes_at(at[name], data.size) for name, data in tensors.items()}


def pack_arguments(text: str, values: Mapping[str, int]) -> bytes:
    """The argument block, laid out as the kernel's own metadata says."""
    fields = _ARGUMENT.findall(text)
    missing = {name for name, _, _ in fields} ^ set(values)
    if missing:
        raise EmulationError(
            f"the kernel's arguments are not those of a GEMM: {', '.join(sorted(missing))}"
        )
    size = max(int(offset) + int(length) for _, offset, length in fields)
    block = bytearray(size)
    for name, offset, length in fields:
        form = "<Q" if int(length) == 8 else "<I"
        struct.pack_into(form, block, int(offset), values[name])
    return bytes(block)
