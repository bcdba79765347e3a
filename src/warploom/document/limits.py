"""What a document of roles may declare: things the hardware has, each once and in its place.

A declaration that cannot be (overlapping parts, a barrier id nobody has, a copy beyond the cluster)
is no schedule with a defect; it is no schedule. ``DocumentError`` names its path.
"""

from warploom.document.rings import RoleRing
from warploom.document.roles import (
    Arrive,
    BulkStore,
    Compute,
    Load,
    NamedArrive,
    NamedSync,
    RoleEntry,
    RoleProgram,
    RolesDocument,
)
from warploom.errors import DocumentError

MAX_ENTRIES = 20_000
MAX_THREADS = 1024
MAX_CLUSTER = 16
MAX_ARRIVALS = (1 << 20) - 1
COPY_UNIT, COPY_START = 16, 128  # bytes of a tensor copy, and where it may begin
NAMED_BARRIERS = 16  # 0 is the whole CTA's


def check_limits(document: RolesDocument) -> None:
    """``DocumentError`` on a declaration that cannot be."""
    if not document.programs:
        raise DocumentError("a schedule needs at least one program", path="$.programs")
    if not 1 <= document.cluster <= MAX_CLUSTER:
        raise DocumentError(f"a cluster of {document.cluster}", path="$.cluster", fix="1..16")
    for i, ring in enumerate(document.rings):
        _check_ring(ring, f"$.rings[{i}]")
    _check_barriers(document)
    _check_buffers(document)
    threads = sum(p.instances * (-(-p.threads // 32) * 32) for p in document.programs)
    if threads > MAX_THREADS:
        raise DocumentError(
            f"{threads} threads in one CTA", path="$.programs", fix=f"{MAX_THREADS} at most"
        )
    entries = 0
    owner = {b.name: b.role for b in document.buffers}
    offsets = {(r.name, p.name): p.offset for r in document.rings for p in r.parts}
    for i, program in enumerate(document.programs):
        _check_program(program, f"$.programs[{i}]")
        for phase, listed in program.phases():
            entries += len(listed)
            for j, entry in enumerate(listed):
                path = f"$.programs[{i}].{phase}[{j}]"
                _check_entry(document, program, entry, path)
                _check_owner(entry, program.name, owner, path)
                if isinstance(entry, Load):
                    _check_copy(entry, offsets.get((entry.ring, entry.part), 0), path)
    if entries > MAX_ENTRIES:
        raise DocumentError(f"more than {MAX_ENTRIES} entries", path="$.programs")


def _check_ring(ring: RoleRing, path: str) -> None:
    if ring.depth < 1:
        raise DocumentError("a ring needs at least one slot", path=f"{path}.depth")
    for side, count in (("full", ring.full_arrivals), ("empty", ring.empty_arrivals)):
        if not 1 <= count <= MAX_ARRIVALS:
            raise DocumentError(
                f"an mbarrier for {count} arrivals", path=f"{path}.{side}_arrivals", fix="1..2^20-1"
            )
    end, last = 0, ""
    for part in sorted(ring.parts, key=lambda p: p.offset):
        if part.bytes < 1:
            raise DocumentError(f"part {part.name!r} has no bytes", path=f"{path}.parts")
        if part.offset < end:
            raise DocumentError(
                f"parts {last!r} and {part.name!r} overlap",
                path=f"{path}.parts",
                fix=f"offset {end} or more",
            )
        end, last = part.offset + part.bytes, part.name


def _check_barriers(document: RolesDocument) -> None:
    taken: dict[int, str] = {}
    for i, barrier in enumerate(document.barriers):
        path = f"$.barriers[{i}]"
        if barrier.id < 1 or barrier.id + barrier.count > NAMED_BARRIERS:
            raise DocumentError(
                f"barrier {barrier.name!r} takes ids {barrier.id}.."
                f"{barrier.id + barrier.count - 1}",
                path=f"{path}.id",
                why="the hardware has 0..15, and 0 is the whole CTA's",
                fix="ids within 1..15",
            )
        if barrier.threads % 32 or not 32 <= barrier.threads <= MAX_THREADS:
            raise DocumentError(
                f"a named barrier of {barrier.threads} threads",
                path=f"{path}.threads",
                fix="whole warps: a multiple of 32",
            )
        for number in range(barrier.id, barrier.id + barrier.count):
            if number in taken:
                raise DocumentError(
                    f"barriers {taken[number]!r} and {barrier.name!r} share id {number}",
                    path=f"{path}.id",
                    fix="ranges of ids that do not meet",
                )
            taken[number] = barrier.name


def _check_buffers(document: RolesDocument) -> None:
    roles = {p.name for p in document.programs}
    for i, buffer in enumerate(document.buffers):
        path = f"$.buffers[{i}]"
        if buffer.role not in roles:
            raise DocumentError(f"no role {buffer.role!r}", path=f"{path}.role")
        if buffer.bytes < 1 or buffer.copies < 1:
            raise DocumentError(f"buffer {buffer.name!r} has no bytes", path=f"{path}.bytes")
        unit = COPY_START if buffer.copies > 1 else COPY_UNIT
        if buffer.bytes % unit:
            raise DocumentError(
                f"copies of {buffer.bytes} bytes in buffer {buffer.name!r}",
                path=f"{path}.bytes",
                why=f"bulk stores take {COPY_UNIT} bytes at a time and begin at {COPY_START}",
                fix=f"a multiple of {unit}",
            )


def _check_program(program: RoleProgram, path: str) -> None:
    if program.instances < 1 or program.threads < 1 or program.peel < 0:
        raise DocumentError("a role needs at least one instance and one thread", path=path)
    seen: set[str] = set()
    for i, (name, size) in enumerate(program.registers):
        at = f"{path}.registers[{i}]"
        if name in seen:
            raise DocumentError(f"the array {name!r} is declared twice", path=at)
        if size < 1:
            raise DocumentError(f"an array of {size} registers", path=at, fix="1 or more")
        seen.add(name)


def _check_entry(
    document: RolesDocument, program: RoleProgram, entry: RoleEntry, path: str
) -> None:
    ctas = entry.multicast if isinstance(entry, Load) else 1
    ctas = entry.ctas if isinstance(entry, Arrive) else ctas
    if ctas > document.cluster or document.cluster % ctas:
        raise DocumentError(
            f"it reaches {ctas} CTAs of a cluster of {document.cluster}",
            path=path,
            fix="a divisor of the cluster's size",
        )
    if not isinstance(entry, NamedSync | NamedArrive):
        return
    if entry.instance is not None and not 0 <= entry.instance < program.instances:
        raise DocumentError(
            f"role {program.name!r} has no instance {entry.instance}", path=f"{path}.instance"
        )
    if entry.turn < 0:
        raise DocumentError("a turn before the first", path=f"{path}.turn", fix="0 or more")


def _check_copy(copy: Load, offset: int, path: str) -> None:
    if copy.bytes < 1 or copy.bytes % COPY_UNIT:
        raise DocumentError(
            f"a copy of {copy.bytes} bytes", path=f"{path}.bytes", fix=f"whole {COPY_UNIT} bytes"
        )
    if offset % COPY_START:
        raise DocumentError(
            f"a copy to part {copy.part!r} at byte {offset} of its slot",
            path=path,
            why=f"tensor copies begin at whole {COPY_START} bytes of shared memory",
            fix=f"an offset that is a multiple of {COPY_START}",
        )


def _check_owner(entry: RoleEntry, role: str, owner: dict[str, str], path: str) -> None:
    copies = list(entry.fills) if isinstance(entry, Compute) else []
    copies += [entry.source] if isinstance(entry, BulkStore) else []
    for copy in copies:
        if owner.get(copy.buffer) != role:
            raise DocumentError(
                f"role {role!r} uses buffer {copy.buffer!r} of role {owner.get(copy.buffer)!r}",
                path=path,
                why="staging memory is private to the instances of one role",
                fix="declare a buffer for this role",
            )
