"""What a document of roles may declare: things the hardware has, each once and in its place.

A declaration that cannot be (overlapping parts, a barrier id nobody has, a copy beyond the cluster)
is no schedule with a defect; it is no schedule. ``DocumentError`` names its path.
"""

from warploom.errors import DocumentError
from warploom.ir.mbarrier_dialect import (
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
from warploom.ir.rings import RoleRing

MAX_ENTRIES = 20_000
MAX_THREADS = 1024
MAX_CLUSTER = 16
MAX_ARRIVALS = (1 << 20) - 1
COPY_UNIT, COPY_START = 16, 128  # bytes of a tensor copy, and where it may begin
NAMED_BARRIERS = 16  # 0 is the whole CTA's
MAX_TRIPS = 4096
"""The most iterations that a document may ask of every tile."""


_FEWER = f"{MAX_TRIPS} at most"


def refuse(wrong: bool, what: str, path: str, *, why: str = "", fix: str = "") -> None:
    """``DocumentError`` at a path, if something is wrong there."""
    if wrong:
        raise DocumentError(what, path=path, why=why, fix=fix)


def check_limits(document: RolesDocument) -> None:
    """``DocumentError`` on a declaration that cannot be."""
    refuse(not document.programs, "a schedule needs at least one program", "$.programs")
    cluster = document.cluster
    refuse(not 1 <= cluster <= MAX_CLUSTER, f"a cluster of {cluster}", "$.cluster", fix="1..16")
    for i, ring in enumerate(document.rings):
        _check_ring(ring, f"$.rings[{i}]")
    _check_barriers(document)
    _check_buffers(document)
    threads = sum(p.instances * (-(-p.threads // 32) * 32) for p in document.programs)
    most = f"{MAX_THREADS} at most"
    refuse(threads > MAX_THREADS, f"{threads} threads in one CTA", "$.programs", fix=most)
    least = document.least_trips
    refuse(least > MAX_TRIPS, f"at least {least} iterations a tile", "$.least_trips", fix=_FEWER)
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
    refuse(entries > MAX_ENTRIES, f"more than {MAX_ENTRIES} entries", "$.programs")


def _check_ring(ring: RoleRing, path: str) -> None:
    refuse(ring.depth < 1, "a ring needs at least one slot", f"{path}.depth")
    for side, count in (("full", ring.full_arrivals), ("empty", ring.empty_arrivals)):
        what, at = f"an mbarrier for {count} arrivals", f"{path}.{side}_arrivals"
        refuse(not 1 <= count <= MAX_ARRIVALS, what, at, fix="1..2^20-1")
    short = 0 < ring.stride < ring.slot_bytes
    what = f"slots of {ring.slot_bytes} bytes begin {ring.stride} bytes apart"
    refuse(short, what, f"{path}.stride", why="they overlap", fix=f"{ring.slot_bytes} or more")
    end, last = 0, ""
    for part in sorted(ring.parts, key=lambda p: p.offset):
        refuse(part.bytes < 1, f"part {part.name!r} has no bytes", f"{path}.parts")
        what = f"parts {last!r} and {part.name!r} overlap"
        refuse(part.offset < end, what, f"{path}.parts", fix=f"offset {end} or more")
        end, last = part.offset + part.bytes, part.name


def _check_barriers(document: RolesDocument) -> None:
    taken: dict[int, str] = {}
    for i, barrier in enumerate(document.barriers):
        path, end = f"$.barriers[{i}]", barrier.id + barrier.count
        refuse(
            barrier.id < 1 or end > NAMED_BARRIERS,
            f"barrier {barrier.name!r} takes ids {barrier.id}..{end - 1}",
            f"{path}.id",
            why="the hardware has 0..15, and 0 is the whole CTA's",
            fix="ids within 1..15",
        )
        refuse(
            barrier.threads % 32 != 0 or not 32 <= barrier.threads <= MAX_THREADS,
            f"a named barrier of {barrier.threads} threads",
            f"{path}.threads",
            fix="whole warps: a multiple of 32",
        )
        for number in range(barrier.id, end):
            what = f"barriers {taken.get(number)!r} and {barrier.name!r} share id {number}"
            refuse(number in taken, what, f"{path}.id", fix="ranges of ids that do not meet")
            taken[number] = barrier.name


def _check_buffers(document: RolesDocument) -> None:
    roles = {p.name for p in document.programs}
    for i, buffer in enumerate(document.buffers):
        path, name = f"$.buffers[{i}]", buffer.name
        refuse(buffer.role not in roles, f"no role {buffer.role!r}", f"{path}.role")
        empty = buffer.bytes < 1 or buffer.copies < 1
        refuse(empty, f"buffer {name!r} has no bytes", f"{path}.bytes")
        unit = COPY_START if buffer.copies > 1 else COPY_UNIT
        refuse(
            buffer.bytes % unit != 0,
            f"copies of {buffer.bytes} bytes in buffer {name!r}",
            f"{path}.bytes",
            why=f"bulk stores take {COPY_UNIT} bytes at a time and begin at {COPY_START}",
            fix=f"a multiple of {unit}",
        )


def _check_program(program: RoleProgram, path: str) -> None:
    nobody = program.instances < 1 or program.threads < 1 or program.peel < 0
    refuse(nobody, "a role needs at least one instance and one thread", path)
    what = f"{program.peel} iterations outside of the loop"
    refuse(program.peel > MAX_TRIPS, what, f"{path}.peel", fix=_FEWER)
    seen: set[str] = set()
    for i, (name, size) in enumerate(program.registers):
        at = f"{path}.registers[{i}]"
        refuse(name in seen, f"the array {name!r} is declared twice", at)
        refuse(size < 1, f"an array of {size} registers", at, fix="1 or more")
        seen.add(name)


def _check_entry(
    document: RolesDocument, program: RoleProgram, entry: RoleEntry, path: str
) -> None:
    ctas = entry.multicast if isinstance(entry, Load) else 1
    ctas = entry.ctas if isinstance(entry, Arrive) else ctas
    if ctas > document.cluster or document.cluster % ctas:
        what = f"it reaches {ctas} CTAs of a cluster of {document.cluster}"
        raise DocumentError(what, path=path, fix="a divisor of the cluster's size")
    if isinstance(entry, NamedSync | NamedArrive):
        lost = entry.instance is not None and not 0 <= entry.instance < program.instances
        what = f"role {program.name!r} has no instance {entry.instance}"
        refuse(lost, what, f"{path}.instance")
        refuse(entry.turn < 0, "a turn before the first", f"{path}.turn", fix="0 or more")


def _check_copy(copy: Load, offset: int, path: str) -> None:
    odd = copy.bytes < 1 or copy.bytes % COPY_UNIT != 0
    whole = f"whole {COPY_UNIT} bytes"
    refuse(odd, f"a copy of {copy.bytes} bytes", f"{path}.bytes", fix=whole)
    refuse(
        offset % COPY_START != 0,
        f"a copy to part {copy.part!r} at byte {offset} of its slot",
        path,
        why=f"tensor copies begin at whole {COPY_START} bytes of shared memory",
        fix=f"an offset that is a multiple of {COPY_START}",
    )


def _check_owner(entry: RoleEntry, role: str, owner: dict[str, str], path: str) -> None:
    copies = list(entry.fills) if isinstance(entry, Compute) else []
    copies += [entry.source] if isinstance(entry, BulkStore) else []
    for copy in copies:
        refuse(
            owner.get(copy.buffer) != role,
            f"role {role!r} uses buffer {copy.buffer!r} of role {owner.get(copy.buffer)!r}",
            path,
            why="staging memory is private to the instances of one role",
            fix="declare a buffer for this role",
        )
