"""From a ``Binary`` and the layouts of a call to a ``Plan``: what later calls only have to launch.

A plan holds no tensor. Calls differ by addresses and scalars alone; each set of them has an
argument block, which is never changed once it is filled, so that any number of threads and streams
may launch from it. The driver copies it at the launch. Blocks are kept in a bounded cache.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

from warploom.errors import BackendError
from warploom.kernel.values import DType
from warploom.launch.binary import (
    Binary,
    Extent,
    Fixed,
    Numbers,
    Param,
    Pointer,
    Scalar,
    Sizes,
    Stride,
    Struct,
    TensorMap,
    Word,
)
from warploom.launch.driver import (
    Kernel,
    check,
    context_of,
    device_count,
    launch_config,
    library,
    require_hopper,
    resident,
)
from warploom.launch.layout import Layout, bind, map_geometry

MAP_BYTES = 128
MAP_ALIGNMENT = 64
POINTER_ALIGNMENT = 16
BLOCKS = 256  # argument blocks a plan keeps
STREAMS = 64  # launch configurations a plan keeps, where a stream needs its own
NO_CONTEXT = 201
_FORMATS = {"pointer": "Q", "i64": "q", "i32": "i", "u32": "I", "f32": "f"}
_SCALARS = {DType.F32: "f", DType.I32: "q"}


class MisalignedError(BackendError):
    """An address that the kernel cannot use."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """Where a value of the call goes: a struct format, its offset, the place in the call."""

    form: struct.Struct
    offset: int
    value: int


class _Template:
    """The argument block with all that does not change between calls, and where the rest goes."""

    def __init__(
        self,
        binary: Binary,
        sizes: Sizes,
        layouts: Sequence[Layout | None],
        resident: Callable[[Numbers], int],
    ) -> None:
        self._resident = resident
        self._sizes, self._layouts = sizes, dict(zip(_names(binary), layouts, strict=True))
        self._axes = {t.name: [a.name for a in t.axes] for t in binary.tensors}
        self._order = {
            name: i for i, name in enumerate([*_names(binary), *(s.name for s in binary.scalars)])
        }
        maps = [p for p in binary.parameters if isinstance(p, TensorMap)]
        self.maps: list[tuple[int, int, TensorMap, Layout]] = []
        self.slots: list[_Slot] = []
        self.offsets: list[int] = []
        self.alignments: dict[int, tuple[str, int]] = {}  # by place in the call
        constants: list[tuple[struct.Struct, int, int | float]] = []
        next_map, end = 0, len(maps) * MAP_BYTES
        for parameter in binary.parameters:
            if isinstance(parameter, TensorMap):
                self._add_map(parameter, next_map)
                self.offsets.append(next_map)
                next_map += MAP_BYTES
                continue
            end += -end % 8
            self.offsets.append(end)
            end = self._add_words(parameter, end, constants)
        self.table = end + -end % 8  # the array of addresses the driver wants
        self.bytes = bytearray(self.table + 8 * len(self.offsets))
        for form, offset, value in constants:
            form.pack_into(self.bytes, offset, value)
        self.addresses = struct.Struct(f"{len(self.offsets)}Q")

    def _add_map(self, parameter: TensorMap, offset: int) -> None:
        layout = self._layouts[parameter.tensor]
        if layout is not None:
            place = self._order[parameter.tensor]
            self.maps.append((offset, place, parameter, layout))
            self.alignments[place] = (parameter.tensor, POINTER_ALIGNMENT)

    def _add_words(
        self, parameter: Param, offset: int, constants: list[tuple[struct.Struct, int, int | float]]
    ) -> int:
        fields = parameter.fields if isinstance(parameter, Struct) else None
        if fields is None:
            assert not isinstance(parameter, TensorMap | Struct)
            fields = ((_natural(parameter), parameter),)
        for kind, word in fields:
            form = struct.Struct(_FORMATS.get(kind, kind))
            offset += -offset % form.size
            if isinstance(word, Pointer):
                place = self._order[word.tensor]
                self.slots.append(_Slot(form, offset, place))
                if word.alignment > 1:
                    self.alignments.setdefault(place, (word.tensor, word.alignment))
            elif isinstance(word, Scalar):
                self.slots.append(_Slot(form, offset, self._order[word.name]))
            else:
                constants.append((form, offset, self._constant(word)))
            offset += form.size
        return offset

    def _constant(self, word: Word) -> int | float:
        if isinstance(word, Extent):
            return self._sizes[word.axis]
        if isinstance(word, Stride):
            layout, axis = self._layouts[word.tensor], word.axis
            at = self._axes[word.tensor].index(axis) if isinstance(axis, str) else axis
            return layout.strides[at] if layout is not None else 0
        if isinstance(word, Numbers):
            return self._resident(word)
        assert isinstance(word, Fixed)
        return word.of(self._sizes) if callable(word.of) else word.of


def _natural(word: Word) -> str:
    """The format of a word that is a parameter of its own."""
    if isinstance(word, Scalar):
        return _SCALARS.get(word.dtype, "q")
    if isinstance(word, Fixed) and isinstance(word.of, float):
        return "f"
    return "Q" if isinstance(word, Pointer) else "q"


def _names(binary: Binary) -> list[str]:
    return [t.name for t in binary.tensors]


class Plan:
    """A prepared kernel for one set of layouts.

    ``plan(stream, *values)`` launches it: the address of every tensor (0 for one not given), then
    every scalar, in the order of the binary. ``grid`` is its number of CTAs.
    """

    def __init__(self, binary: Binary, layouts: Sequence[Layout | None]) -> None:
        self.device = next(w.device for w in layouts if w is not None)
        sms = require_hopper(self.device)
        sizes = bind(binary.tensors, layouts)
        self.kernel = load(binary, self.device)
        self.grid = _grid(binary, sizes, self.kernel, sms)
        self._names = _names(binary)
        self._template = _Template(
            binary,
            sizes,
            layouts,
            lambda numbers: resident(tuple(numbers.of(sizes, self.grid)), self.device),
        )
        self._encoded: bytes | None = None
        size = len(self._template.bytes) + MAP_ALIGNMENT
        self._memory = ctypes.c_char * size
        self._block = lru_cache(maxsize=BLOCKS)(self._fill)
        self._go = _launcher(self.kernel, self.grid, binary)
        self._several = device_count() > 1

    def __call__(self, stream: int, *values: float) -> None:
        """Launch with these addresses and scalars."""
        if self._several:
            self._launch_there(stream, values)
            return
        block = self._block(*values)  # held until the driver has copied it: others may evict it
        (code,) = self._go(stream, block[0], 0)
        if code:
            if code != NO_CONTEXT:
                check((code,), f"launch of {self.kernel.name}")
            self._launch_there(stream, values)  # the first launch of a new thread

    def _launch_there(self, stream: int, values: tuple[float, ...]) -> None:
        """Launch with the plan's device current, whatever is current now."""
        cuda = library()
        current = check(cuda.cuCtxGetCurrent(), "cuCtxGetCurrent")
        wanted, block = context_of(self.device), self._block(*values)
        elsewhere = int(current) != int(wanted)
        if elsewhere:
            check(cuda.cuCtxSetCurrent(wanted), "cuCtxSetCurrent")
        try:
            check(self._go(stream, block[0], 0), f"launch of {self.kernel.name}")
        finally:
            if elsewhere and int(current):
                check(cuda.cuCtxSetCurrent(current), "cuCtxSetCurrent")

    def _fill(self, *values: float) -> tuple[int, object]:
        """A block for these values: the address of its parameter array, and its memory."""
        template = self._template
        self._check_addresses(values)
        source = self._encoded or self._encode(values)
        memory = self._memory()
        start = ctypes.addressof(memory)
        base = start + -start % MAP_ALIGNMENT
        ctypes.memmove(base, source, len(source))
        cuda = library()
        for offset, index, parameter, _ in template.maps:
            held = cuda.CUtensorMap(_ptr=base + offset)
            answer = cuda.cuTensorMapReplaceAddress(held, values[index])
            check(answer, f"tensor map of {parameter.tensor}")
        shift = base - start
        for slot in template.slots:
            slot.form.pack_into(memory, shift + slot.offset, values[slot.value])
        at = [base + offset for offset in template.offsets]
        template.addresses.pack_into(memory, shift + template.table, *at)
        return base + template.table, memory

    def _check_addresses(self, values: tuple[float, ...]) -> None:
        for place, (tensor, alignment) in self._template.alignments.items():
            if values[place] % alignment:
                raise MisalignedError(
                    f"{tensor} is misaligned: address {int(values[place]):#x}",
                    where=f"argument {tensor}",
                    why=f"{alignment} bytes are moved at once, to and from multiples of as many",
                    fix=f"{tensor}.clone(), or slice at a multiple of {alignment} bytes",
                )

    def _encode(self, values: tuple[float, ...]) -> bytes:
        """The template with its tensor maps encoded, which the first call does."""
        made = bytearray(self._template.bytes)
        for offset, index, parameter, layout in self._template.maps:
            made[offset : offset + MAP_BYTES] = encode(parameter, layout, int(values[index]))
        self._encoded = bytes(made)
        return self._encoded


def encode(parameter: TensorMap, layout: Layout, address: int) -> bytes:
    """The bytes of a tensor map."""
    cuda, geometry = library(), map_geometry(parameter, layout)
    wide, narrow = cuda.cuuint64_t, cuda.cuuint32_t
    answer = cuda.cuTensorMapEncodeTiled(
        getattr(cuda.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{geometry.element}"),
        len(geometry.shape),
        address,
        [wide(n) for n in geometry.shape],
        [wide(n) for n in geometry.strides],
        [narrow(n) for n in geometry.box],
        [narrow(1) for _ in geometry.box],
        cuda.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        cuda.CUtensorMapSwizzle(int(parameter.swizzle)),
        cuda.CUtensorMapL2promotion(int(parameter.promotion)),
        cuda.CUtensorMapFloatOOBfill(int(parameter.fill)),
    )
    made = check(answer, f"tensor map of {parameter.tensor}: {geometry}")
    return ctypes.string_at(made.getPtr(), MAP_BYTES)


def load(binary: Binary, device: int) -> Kernel:
    """The binary's kernel on a device; loaded once, however many binaries share the cubin."""
    return _load(binary.cubin, binary.entry, binary.shared_bytes, device)


@cache
def _load(cubin: bytes, entry: str, shared_bytes: int, device: int) -> Kernel:
    return Kernel(cubin, entry, shared_bytes=shared_bytes, device=device)


def prepare(binary: Binary, layouts: Sequence[Layout | None]) -> Plan:
    """A plan for tensors of these layouts, in the order of ``binary.tensors``."""
    return Plan(binary, layouts)


def _grid(binary: Binary, sizes: Sizes, kernel: Kernel, sms: int) -> int:
    clusters = binary.grid.clusters(sizes)
    if binary.grid.persistent:
        if binary.cluster > 1:
            most = kernel.resident_clusters(binary.threads, binary.cluster)
        else:
            most = sms * (binary.grid.resident or kernel.resident_ctas(binary.threads))
        clusters = min(clusters, most)
    return clusters * binary.cluster


def _launcher(kernel: Kernel, grid: int, binary: Binary) -> Callable[[int, int, int], Any]:
    """Launches by (stream, address of the parameter array, 0) and gives the driver's answer."""
    cuda = library()
    function, threads, shared = kernel.function, binary.threads, binary.shared_bytes
    if binary.cluster == 1 or kernel.declared_cluster:
        return partial(cuda.cuLaunchKernel, function, grid, 1, 1, threads, 1, 1, shared)

    @lru_cache(maxsize=STREAMS)
    def config(stream: int) -> Any:  # noqa: ANN401 (one a stream: it is never changed again)
        made = launch_config(grid, threads, shared, binary.cluster)
        made.hStream = stream
        return made

    def clustered(stream: int, block: int, extra: int) -> Any:  # noqa: ANN401
        return cuda.cuLaunchKernelEx(config(stream), function, block, extra)

    return clustered
