"""Where the rings, staging buffers and barriers of a roles document lie in shared memory."""

from __future__ import annotations

from warploom.dataclass import dataclass
from warploom.errors import BackendError
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.rings import RoleRing

ATOM = 1024  # a 128-byte swizzle atom; operand tiles and store sources start on one
BARRIER = 8
MOST = 232_448  # dynamic shared memory of a CTA


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Byte offsets from the aligned start of dynamic shared memory."""

    rings: tuple[tuple[str, int], ...]
    buffers: tuple[tuple[str, int], ...]
    barriers: tuple[tuple[str, int], ...]
    end: int

    @property
    def bytes(self) -> int:
        """What the launch asks for: everything, and bytes to align the start."""
        return self.end + ATOM


def layout_of(document: RolesDocument) -> Layout:
    """Rings first, staging buffers after them, barriers last."""
    at = 0
    rings, buffers, barriers = [], [], []
    for ring in document.rings:
        for part in ring.parts:
            if part.bytes >= ATOM:
                _aligned(part.offset, f"ring {ring.name}, part {part.name}")
        rings.append((ring.name, at))
        at += ring.depth * slot_stride(ring)
    for buffer in document.buffers:
        _aligned(buffer.bytes, f"buffer {buffer.name}")
        buffers.append((buffer.name, at))
        at += document.program(buffer.role).instances * buffer.copies * buffer.bytes
    for ring in document.rings:
        barriers.append((ring.name, at))
        at += 2 * BARRIER * ring.depth
    if at > MOST:
        raise BackendError(
            f"{at} bytes of shared memory",
            where=f"document {document.name!r}",
            why=f"slots and copies take whole {ATOM} bytes, and a CTA has {MOST}",
            fix="fewer slots",
        )
    return Layout(rings=tuple(rings), buffers=tuple(buffers), barriers=tuple(barriers), end=at)


def slot_stride(ring: RoleRing) -> int:
    """Bytes from slot to slot: whole atoms."""
    return -(-ring.slot_stride // ATOM) * ATOM


def part_constant(ring: str, part: str) -> str:
    """Where a part begins: a constant that is none of a ring's, whatever the part is called."""
    return f"PART_{ring.upper()}_{part.upper()}"


def constants(document: RolesDocument) -> list[str]:
    """The layout as C++ constants, named after rings, parts and buffers."""
    layout = layout_of(document)
    lines = ["// Shared memory, in bytes from its aligned start."]
    starts, bars = dict(layout.rings), dict(layout.barriers)
    for ring in document.rings:
        name = ring.name.upper()
        lines += [
            f"constexpr int {name}_DEPTH = {ring.depth};",
            f"constexpr uint32_t {name}_SLOT = {slot_stride(ring)};",
        ]
        lines += [
            f"constexpr uint32_t {part_constant(ring.name, p.name)} = "
            f"{starts[ring.name] + p.offset};"
            for p in ring.parts
        ]
        lines += [
            f"constexpr uint32_t {name}_FULL = {bars[ring.name]};",
            f"constexpr uint32_t {name}_EMPTY = {bars[ring.name] + BARRIER * ring.depth};",
        ]
    for buffer in document.buffers:
        name, at = buffer.name.upper(), dict(layout.buffers)[buffer.name]
        lines += [
            f"constexpr uint32_t {name}_STAGING = {at};",
            f"constexpr uint32_t {name}_COPY = {buffer.bytes};",
            f"constexpr uint32_t {name}_INSTANCE = {buffer.bytes * buffer.copies};",
        ]
    return lines


def _aligned(value: int, what: str) -> None:
    if value % ATOM:
        raise BackendError(
            f"{what} is {value}, no multiple of {ATOM} bytes",
            why="a tile with 128-byte swizzle must start on a whole atom",
            fix="operand rows in multiples of 8",
        )
