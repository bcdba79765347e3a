"""Launches of emitted kernels under one timing, beside NumPy.

``check``'s machine executes them (``check.amdgcn.timed``); here stand the data, the arguments by
name, and the comparison. Small integers are the sharpest data: every product and sum is exact in
fp32, so C must equal NumPy's result bit for bit and any stale or missing tile shows.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn.formats import FORMATS, TABLES, encode_small
from warploom.check.amdgcn.reader import Argument, Kernel, read_kernel
from warploom.check.amdgcn.timed import (
    EARLY,
    LATE,
    STARVED,
    TRAMPLED,
    Executed,
    Timing,
    execute,
    random_timing,
    timing_named,
)
from warploom.check.launch import Launch, Param, Tensor
from warploom.errors import BackendError, CheckError

__all__ = [
    "EARLY", "FP8", "LATE", "STARVED", "TRAMPLED", "EmulationError", "Floats", "GemmResult",
    "Order", "RunStatistics", "Timing", "emulate_gemm", "emulate_launch", "encode", "encode_mx",
    "integer_matrix", "normal_matrix", "random_timing", "timing_named",
]  # fmt: skip

Floats = NDArray[np.float32]
FP8 = TABLES["e4m3"]
SENTINEL = np.float32(-12345.0)
MAX_STEPS = 20_000_000


class EmulationError(BackendError):
    """The emulated kernel faulted: a wild access, a barrier mismatch, an unknown instruction."""


class Order(Enum):
    """How waves take turns between barriers."""

    FORWARD = "forward"  # wave 0 as far as it gets, then wave 1, ...
    REVERSE = "reverse"
    SHUFFLED = "shuffled"  # a fixed random priority
    MIXED = "mixed"  # random waves for random numbers of instructions

    @property
    def turns(self) -> str:
        """The same as ``check`` calls it."""
        return "random" if self is Order.MIXED else self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatistics:
    """What a launch did: instructions executed and the deepest queues of any wave."""

    instructions: int
    deepest_vm: int
    deepest_lgkm: int
    barriers: int


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
        codes = encode_small(values, "e4m3", saturate=True).astype(np.uint8)
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
    max_steps: int = MAX_STEPS,
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
    grid = (-(-m // block[0]), -(-n // block[1]))
    numbers = {"dim_m": m, "dim_n": n, "dim_k": k}
    done = _run(text, given, numbers, grid, timing, order, max_steps)
    c = done.tensors["mat_c"].view(np.float32).reshape(m, n)
    expected = a_values.astype(np.float64) @ b_values.astype(np.float64).T
    bound = np.abs(a_values).astype(np.float64) @ np.abs(b_values).astype(np.float64).T
    units = [_unit(x) for x in (a_values, b_values)]
    whole = bool(bound.max() / (units[0] * units[1]) < 2**24)
    tolerance = 0.0 if whole else float(bound.max()) * k * 2.0**-24
    statistics = RunStatistics(
        instructions=done.instructions,
        deepest_vm=done.depths.vm,
        deepest_lgkm=done.depths.lgkm,
        barriers=done.barriers,
    )
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
    return dict(_run(text, tensors, numbers, grid, timing, order, MAX_STEPS).tensors)


def _run(
    text: str,
    tensors: Mapping[str, NDArray[np.uint8]],
    numbers: Mapping[str, int | float],
    grid: tuple[int, ...],
    timing: Timing,
    order: Order,
    max_steps: int,
) -> Executed:
    """Execute every workgroup; any fault is an ``EmulationError``.

    These kernels end together and load inside of their buffers, so both are insisted on.
    """
    try:
        kernel = read_kernel(text)
        done = execute(
            kernel,
            _launch(kernel, tensors, numbers, grid),
            timing=dataclasses.replace(timing, inside=True),
            order=order.turns,
            axioms={"exited_waves": False},
            max_steps=max_steps,
        )
    except CheckError as error:
        raise EmulationError(error.what, where=error.where, why=error.why, fix=error.fix) from None
    for fault in done.faults[:1]:
        at = fault.events[0]
        raise EmulationError(
            fault.why, where=f"wave {at.warp}, line {at.line}: {at.instruction}", fix=fault.fix
        )
    return done


def _launch(
    kernel: Kernel,
    tensors: Mapping[str, NDArray[np.uint8]],
    numbers: Mapping[str, int | float],
    grid: tuple[int, ...],
) -> Launch:
    """The launch, with arguments by the names of the kernel's own metadata."""
    declared = [a for a in kernel.arguments or () if not a.kind.startswith("hidden_")]
    names = [_plain(a) for a in declared]
    missing = set(names) ^ {*tensors, *numbers}
    if missing:
        raise EmulationError(
            f"the kernel's arguments are not those given: {', '.join(sorted(missing))}"
        )
    params = [
        Param(kind="pointer", tensor=name)
        if name in tensors
        else Param(kind=_kind(argument, numbers[name]), value=numbers[name])
        for name, argument in zip(names, declared, strict=True)
    ]
    x, y, z = (*grid, 1, 1)[:3]
    return Launch(
        entry=kernel.name,
        grid=(x, y, z),
        params=tuple(params),
        tensors={
            name: Tensor(name=name, shape=(data.size,), dtype="u8", role="inout")
            for name, data in tensors.items()
        },
        contents=tensors,
    )


def _plain(argument: Argument) -> str:
    """Clang appends ``.coerce`` to pointers it has moved to the global address space."""
    return argument.name.removesuffix(".coerce")


def _kind(argument: Argument, value: float) -> str:
    if isinstance(value, float):
        return "f32"
    return "u64" if argument.size == 8 else "u32"
