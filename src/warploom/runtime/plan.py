"""From a ``Binary`` and the layouts of a call to a ``Plan``: what later calls only have to launch.

A plan holds no tensor. Calls differ by addresses and scalars alone, which are written into a block
of parameters that the driver copies at the launch.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Literal

from warploom.codegen.cuda.tile.signature import (
    MapParam,
    OrderParam,
    Param,
    PointerParam,
    ScalarParam,
    SizeParam,
    StrideParam,
    WorkParam,
)
from warploom.compiler.binary import Binary, Sizes
from warploom.compiler.cuda_driver import (
    Kernel,
    check,
    context_of,
    device_count,
    ensure_context,
    launch_config,
    launcher,
    library,
    pointer_to,
    require_hopper,
    resident,
)
from warploom.compiler.layout import MOST_LENGTH, Geometry, Layout, bind, map_geometry
from warploom.dataclass import dataclass
from warploom.errors import BackendError
from warploom.ir.tile import Access, DType

MAP_BYTES = 128
FORMS: tuple[Literal["Q", "q", "f"], ...] = ("Q", "q", "f")  # of words that differ between calls
MAP_ALIGNMENT = 64
POINTER_ALIGNMENT = 16
STREAMS = 64  # launch configurations a plan keeps
NO_CONTEXT = 201
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}  # the driver's numbers, by bytes
LINES_OF_128 = 2  # the driver's number for fetches of 128 bytes into the L2
_SCALARS = {DType.F32: "f", DType.I32: "q"}
_LOCK = threading.Lock()
Word = tuple[str, int, int, int]  # format, place, which value of a call, and what is taken from it


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
        visits: Callable[[], int],
    ) -> None:
        self._visits, self._places, self._wide = visits, binary.places, binary.aligned
        self._sizes, self._layouts = sizes, dict(zip(_names(binary), layouts, strict=True))
        named = [*_names(binary), *(s.name for s in binary.scalars)]
        self._order = {name: i for i, name in enumerate(named)}
        self._work = len(named)
        maps = [p for p in binary.parameters if isinstance(p, MapParam)]
        self.maps: list[tuple[int, int, MapParam, Layout]] = []
        self.slots: list[_Slot] = []
        self.offsets: list[int] = []
        self.aligned: dict[int, str] = {}  # tensors by place in the call
        constants: list[tuple[struct.Struct, int, int]] = []
        next_map, end = 0, len(maps) * MAP_BYTES
        for parameter in binary.parameters:
            if isinstance(parameter, MapParam):
                self._add_map(parameter, next_map)
                self.offsets.append(next_map)
                next_map += MAP_BYTES
                continue
            end += -end % 8
            self.offsets.append(end)
            end = self._add_word(parameter, end, constants)
        self.table = end + -end % 8  # the array of addresses the driver wants
        self.bytes = bytearray(self.table + 8 * len(self.offsets))
        for form, offset, value in constants:
            form.pack_into(self.bytes, offset, value)
        self.addresses = struct.Struct(f"{len(self.offsets)}Q")

    def _add_map(self, parameter: MapParam, offset: int) -> None:
        layout = self._layouts[parameter.tensor]
        if layout is not None:
            place = self._order[parameter.tensor]
            self.maps.append((offset, place, parameter, layout))
            self.aligned[place] = parameter.tensor

    def _add_word(
        self, word: Param, offset: int, constants: list[tuple[struct.Struct, int, int]]
    ) -> int:
        form = struct.Struct(_natural(word))
        match word:
            case PointerParam():
                place = self._order[word.tensor]
                self.slots.append(_Slot(form, offset, place))
                if word.tensor in self._wide:
                    self.aligned[place] = word.tensor
            case ScalarParam():
                self.slots.append(_Slot(form, offset, self._order[word.parameter]))
            case WorkParam():
                self.slots.append(_Slot(form, offset, self._work))
            case SizeParam():
                constants.append((form, offset, self._sizes[word.axis]))
            case StrideParam():
                layout = self._layouts[word.tensor]
                axes = self._places.get(word.tensor)
                at = axes[word.axis] if axes else word.axis
                constants.append((form, offset, layout.strides[at] if layout is not None else 0))
            case OrderParam():
                constants.append((form, offset, self._visits()))
        return offset + form.size


def _natural(word: Param) -> str:
    """The format of a word that is a parameter of its own."""
    if isinstance(word, ScalarParam):
        return _SCALARS.get(word.dtype, "q")
    return "Q" if isinstance(word, PointerParam | WorkParam) else "q"


def _names(binary: Binary) -> list[str]:
    return [t.name for t in binary.tensors]


class Block:
    """Parameters of a launch in memory, and views on its words by their format."""

    def __init__(self, source: bytes, offsets: Sequence[int], table: int) -> None:
        self.memory = (ctypes.c_char * (len(source) + MAP_ALIGNMENT))()
        start = ctypes.addressof(self.memory)
        shift = -start % MAP_ALIGNMENT
        self.base = start + shift
        whole = memoryview(self.memory).cast("B")[shift : shift + len(source)]
        whole[:] = source
        struct.pack_into(f"{len(offsets)}Q", whole, table, *(self.base + o for o in offsets))
        self.pointer = pointer_to(self.base + table)
        self.views: dict[str, Any] = {form: whole.cast(form) for form in FORMS}
        self.now: Sequence[int] = ()  # addresses it holds, for whoever writes no others


class Plan:
    """A prepared kernel for one set of layouts.

    ``plan(stream, *values)`` launches it: the address of every tensor (0 for one not given), then
    every scalar, in the order of the binary, then that of ``work_bytes`` of memory to work in, if
    it needs any. ``grid`` is its number of CTAs.

    A launch takes a block of parameters from the free ones, writes what differs and gives it back:
    the driver has copied it by then. So any number of threads may launch at once.
    """

    def __init__(self, binary: Binary, layouts: Sequence[Layout | None]) -> None:
        self.device = next(w.device for w in layouts if w is not None)
        sms = require_hopper(self.device)
        sizes = bind(binary.tensors, layouts)
        self.kernel = load(binary, self.device)
        self.grid = _grid(binary, sizes, self.kernel, sms)
        self.work_bytes = binary.work(sizes) if binary.work else 0
        self._template = _Template(
            binary,
            sizes,
            layouts,
            lambda: resident(tuple(binary.visits(sizes, self.grid)), self.device),
        )
        self.scalars = len(binary.scalars)
        self.aligned = tuple(self._template.aligned)
        self._places = binary.places
        self._source: bytes | None = None
        self.words: tuple[Word, ...] = ()
        self.moved: tuple[tuple[int, int, str, int], ...] = ()  # maps only the driver can change
        self.free: list[Block] = []
        self.configs: dict[int, tuple[Any, Any]] = {}  # by stream: where they lie, they
        self._config = partial(_config, self.kernel, self.grid, binary)
        self.go, self.function = launcher(), pointer_to(int(self.kernel.function))
        self.several = device_count() > 1

    def __call__(self, stream: int, *values: float) -> None:
        """Launch with these addresses and scalars."""
        self.launch(stream, values)

    def launch(self, stream: int, values: Sequence[Any]) -> None:
        """Launch with these addresses and scalars."""
        low = 0
        for i in self.aligned:
            low |= values[i]
        if low % POINTER_ALIGNMENT:  # before the driver is asked for tensor maps
            self._say_misaligned(values)
        try:
            block = self.free.pop()
        except IndexError:
            block = self.block(values)
        self._write(block, values)
        config, _held = self.configs.get(stream) or self.new_config(stream)
        if self.several:
            self.launch_there(config, block)
        else:
            code = self.go(config, self.function, block.pointer, None)
            if code:
                self.again(code, config, block)
        self.free.append(block)

    def again(self, code: int, config: Any, block: Block) -> None:  # noqa: ANN401
        """After a launch that gave a code: the first of a new thread is repeated."""
        if code != NO_CONTEXT:
            self._check(code)
        self.launch_there(config, block)

    def _write(self, block: Block, values: Sequence[Any]) -> None:
        """The words of a call into a block."""
        block.now = ()
        for form, at, index, ahead in self.words:
            block.views[form][at] = values[index] - ahead if ahead else values[index]
        if self.moved:
            self._move(block, values)

    def new_config(self, stream: int) -> tuple[Any, Any]:
        """Where the configuration of launches on a stream lies, and it; kept."""
        config = self._config(stream)
        result = (pointer_to(config.getPtr()), config)
        with _LOCK:
            self.configs[stream] = result
            while len(self.configs) > STREAMS:  # the oldest goes
                del self.configs[next(iter(self.configs))]
        return result

    def _check(self, code: int) -> None:
        check((library().CUresult(code),), f"launch of {self.kernel.name}")

    def launch_there(self, config: Any, block: Block) -> None:  # noqa: ANN401
        """Launch with the plan's device current, whatever is current now."""
        cuda = library()
        current = check(cuda.cuCtxGetCurrent(), "cuCtxGetCurrent")
        wanted = context_of(self.device)
        elsewhere = int(current) != int(wanted)
        if elsewhere:
            check(cuda.cuCtxSetCurrent(wanted), "cuCtxSetCurrent")
        try:
            self._check(self.go(config, self.function, block.pointer, None))
        finally:
            if elsewhere and int(current):
                check(cuda.cuCtxSetCurrent(current), "cuCtxSetCurrent")

    def block(self, values: Sequence[Any]) -> Block:
        """A further block; the first call has the tensor maps encoded."""
        template = self._template
        if self._source is None:
            ensure_context(self.device)  # torch's threads of backward passes may have none
            made = bytearray(template.bytes)
            written = [(w.form.format, w.offset, w.value) for w in template.slots]
            words = [(form, offset // struct.calcsize(form), i, 0) for form, offset, i in written]
            moved = []
            for offset, index, parameter, layout in template.maps:
                axes = self._places.get(parameter.tensor)
                geometry = map_geometry(parameter, layout, axes)
                first = int(values[index]) - geometry.ahead
                encoded = encode(parameter, geometry, first)
                made[offset : offset + MAP_BYTES] = encoded
                at = address_word(encoded, first)
                if at is None:
                    moved.append((offset, index, parameter.tensor, geometry.ahead))
                else:
                    words.append(("Q", offset // 8 + at, index, geometry.ahead))
            self.words, self.moved, self._source = tuple(words), tuple(moved), bytes(made)
        return Block(self._source, template.offsets, template.table)

    def _move(self, block: Block, values: Sequence[Any]) -> None:
        """Addresses of tensor maps, by the driver."""
        cuda = library()
        ensure_context(self.device)
        for offset, index, tensor, ahead in self.moved:
            held = cuda.CUtensorMap(_ptr=block.base + offset)
            first = values[index] - ahead
            check(cuda.cuTensorMapReplaceAddress(held, first), f"tensor map of {tensor}")

    def _say_misaligned(self, values: Sequence[Any]) -> None:
        """``MisalignedError`` for an address that copies cannot take."""
        for place, tensor in self._template.aligned.items():
            if values[place] % POINTER_ALIGNMENT:
                raise MisalignedError(
                    f"{tensor} is misaligned: address {int(values[place]):#x}",
                    where=f"argument {tensor}",
                    why="16 bytes are moved at once, to and from multiples of as many",
                    fix=f"{tensor}.clone(), or slice at a multiple of 16 bytes",
                )


TRIED_ADDRESSES = (0x5A5A_5A5A_5A50, 0x25A5_A5A5_A5A0)


def address_word(encoded: bytes, address: int) -> int | None:
    """The word of a tensor map that is its address and nothing else, as the driver shows it.

    The driver moves a copy of the map to two places; if in both cases nothing but one word differs,
    and that word is the address itself, launches may write it. None: only the driver knows.
    """
    words = struct.unpack(f"{MAP_BYTES // 8}Q", encoded)
    if words.count(address) != 1:
        return None
    at = words.index(address)
    cuda = library()
    for tried in TRIED_ADDRESSES:
        memory = (ctypes.c_char * (MAP_BYTES + MAP_ALIGNMENT))()
        base = ctypes.addressof(memory) + -ctypes.addressof(memory) % MAP_ALIGNMENT
        ctypes.memmove(base, encoded, MAP_BYTES)
        answer = cuda.cuTensorMapReplaceAddress(cuda.CUtensorMap(_ptr=base), tried)
        found = struct.unpack(f"{MAP_BYTES // 8}Q", ctypes.string_at(base, MAP_BYTES))
        if answer[0] or found != (*words[:at], tried, *words[at + 1 :]):
            return None
    return at


def encode(parameter: MapParam, geometry: Geometry, address: int) -> bytes:
    """The bytes of a tensor map that begins at an address."""
    cuda = library()
    wide, narrow = cuda.cuuint64_t, cuda.cuuint32_t
    strides = geometry.strides or (MAP_ALIGNMENT,)  # of vectors none is read, but one is looked for
    answer = cuda.cuTensorMapEncodeTiled(
        getattr(cuda.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{geometry.element}"),
        len(geometry.shape),
        address,
        [wide(n) for n in geometry.shape],
        [wide(n) for n in strides],
        [narrow(n) for n in geometry.box],
        [narrow(1) for _ in geometry.box],
        cuda.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        cuda.CUtensorMapSwizzle(SWIZZLES[parameter.span]),
        cuda.CUtensorMapL2promotion(LINES_OF_128),
        cuda.CUtensorMapFloatOOBfill(0),  # zeros
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
    tiles = binary.grid.tiles(sizes)
    if tiles > MOST_LENGTH:
        raise BackendError(
            f"{tiles} tiles of a result",
            where=f"sizes {dict(sizes)}",
            why="they are counted with 32 bits",
            fix="several calls of smaller tensors",
        )
    if binary.cluster > 1:
        most = kernel.resident_clusters(binary.threads, binary.cluster)
    else:
        most = sms * (binary.grid.resident or kernel.resident_ctas(binary.threads))
    return min(tiles, most) * binary.cluster


def _config(kernel: Kernel, grid: int, binary: Binary, stream: int) -> Any:  # noqa: ANN401
    """What a launch on a stream is; it is never changed again."""
    cluster = 1 if kernel.declared_cluster else binary.cluster
    waits = any(t.access is Access.TURNS and not t.optional for t in binary.tensors)
    result = launch_config(
        grid, binary.threads, binary.shared_bytes, cluster, together=waits, early=not waits
    )
    result.hStream = stream
    return result
