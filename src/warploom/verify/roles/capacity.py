"""What a CTA and an SM have, shared memory, registers, threads, and what roles need at once."""

from collections.abc import Iterator

from warploom.ir import mbarrier_dialect as roles
from warploom.ir.mbarrier_dialect import RoleEntry, RoleProgram, RolesDocument
from warploom.verify.findings import Code, Finding

TRIPS = 3  # iterations after which liveness repeats


def live_registers(program: RoleProgram) -> int:
    """The most registers of arrays that hold something still needed, a thread."""
    sizes = dict(program.registers)
    trace = _trace(program)
    live: set[str] = set()
    most = 0
    for reads, writes in reversed(trace):
        most = max(most, _size(sizes, live | writes))
        live = (live - writes) | reads
        most = max(most, _size(sizes, live))
    return most


def _size(sizes: dict[str, int], names: set[str]) -> int:
    return sum(sizes.get(n, 0) for n in names)


def _trace(program: RoleProgram) -> list[tuple[set[str], set[str]]]:
    """Reads and writes of two tiles; a product's operands stay until a later entry is over.

    A product may run until the next wait; reading its operands there again is what keeps them.
    """
    entries: list[RoleEntry] = [*program.setup]
    for _ in range(2):
        entries += [*program.prologue, *program.kernel * TRIPS, *program.epilogue]
    flying: list[set[str]] = []
    group: set[str] = set()
    out: list[tuple[set[str], set[str]]] = []
    for entry in entries:
        reads, writes = _touched(entry)
        if isinstance(entry, roles.Mma):
            group |= {*entry.registers}
        if isinstance(entry, roles.Commit):
            flying.append(group)
            group = set()
        if isinstance(entry, roles.WaitGroup):
            over = max(len(flying) - entry.pending, 0)
            reads = reads.union(*flying[:over])
            flying = flying[over:]
        out.append((reads, writes))
    return out


def _touched(entry: RoleEntry) -> tuple[set[str], set[str]]:
    if isinstance(entry, roles.Compute):
        return {*entry.reads}, {*entry.writes}
    if isinstance(entry, roles.Mma):
        old = {entry.accumulator} if entry.accumulate else set()
        return {*entry.registers} | old, {entry.accumulator}
    return set(), set()


SHARED_BYTES = 232_448
SM_REGISTERS = 65_536
THREAD_REGISTERS = 255
WARP, WARPGROUP = 32, 128  # threads
SWIZZLE_ATOM, COPY_START = 1024, 128  # bytes
_FEWEST, _MOST, _STEP = 24, 256, 8  # what setmaxnreg takes


def check_capacity(document: RolesDocument) -> Iterator[Finding]:
    """CAPACITY: what the document declares against what there is."""
    used = sum(r.depth * (r.slot_stride + 16) for r in document.rings)
    instances = {p.name: p.instances for p in document.programs}
    used += sum(b.copies * b.bytes * instances.get(b.role, 1) for b in document.buffers)
    if used + 1024 > SHARED_BYTES:
        yield _over(
            f"{used} bytes of shared memory and 1024 of alignment exceed {SHARED_BYTES}",
            "fewer stages or smaller tiles",
        )
    yield from _shares(document)
    total, beside = 0, [_FEWEST]
    for program in document.programs:
        each = live_registers(program)
        has = min(THREAD_REGISTERS, program.most_registers or THREAD_REGISTERS)
        if each > has:
            yield _over(
                f"the arrays of {program.name} take {each} registers a thread at once; a thread "
                f"has {has}",
                "smaller tiles, or more instances",
            )
        rounded = max(-(-each // 8) * 8, _FEWEST)
        if _is_part(program):
            beside.append(rounded)
        else:
            total += program.instances * -(-program.threads // 128) * 128 * rounded
    total += 128 * _groups_of_parts(document) * max(beside)
    if total > SM_REGISTERS:
        yield _over(
            f"all instances together take {total} registers; an SM has {SM_REGISTERS}",
            "fewer instances or smaller tiles",
        )


def check_alignment(document: RolesDocument) -> Iterator[Finding]:
    """ALIGNMENT: where every slot's parts begin, against what copies and products need.

    The swizzle of a tile that products read repeats every 1024 bytes and is taken from the
    address; a smaller part has rows of its own kind.
    """
    every = [e for p in document.programs for _, row in p.phases() for e in row]
    copies = [e for e in every if isinstance(e, roles.Load)]
    copied = {(e.ring, e.part) for e in copies}
    shares = {(e.ring, e.part): e.bytes for e in copies if e.multicast > 1}
    factors = {(s.ring, s.part) for e in every if isinstance(e, roles.Mma) for s in e.slots}
    for ring in document.rings:
        for part in ring.parts:
            place = ring.name, part.name
            tile = place in factors and part.bytes >= SWIZZLE_ATOM
            unit = SWIZZLE_ATOM if tile else COPY_START if place in copied else 1
            starts = [part.offset + slot * ring.slot_stride for slot in range(min(ring.depth, 2))]
            share = shares.get(place, 0)  # the next CTA's begins behind the first
            starts += [part.offset + share] if share else []
            odd = next((at for at in starts if at % unit), None)
            if odd is not None:
                who = "products read it there" if tile else "tensor copies begin there"
                why = f"part {part.name!r} of ring {ring.name!r} begins at byte {odd} of its ring"
                yield Finding(
                    code=Code.ALIGNMENT,
                    why=f"{why}, no whole {unit} bytes: {who}",
                    fix=f"a stride of {-(-ring.slot_bytes // unit) * unit} bytes from slot to "
                    f"slot; offsets, and shares of a multicast, that are multiples of {unit}",
                )


def _is_part(program: RoleProgram) -> bool:
    """Whether a role has less than a warpgroup, which it shares with others of that kind."""
    return program.threads < WARPGROUP


def _groups_of_parts(document: RolesDocument) -> int:
    parts = [p.instances * -(-p.threads // WARP) for p in document.programs if _is_part(p)]
    return -(-sum(parts) * WARP // WARPGROUP)


def _shares(document: RolesDocument) -> Iterator[Finding]:
    """``setmaxnreg``: roles share what the CTA got at entry; who asks for more waits for ever."""
    if not any(p.most_registers for p in document.programs):
        return
    whole = [p for p in document.programs if not _is_part(p)]
    parts = [p for p in document.programs if _is_part(p)]
    groups = [p.instances * -(-p.threads // WARPGROUP) for p in whole]
    groups.append(_groups_of_parts(document))
    entry = SM_REGISTERS // (WARPGROUP * sum(groups)) // _STEP * _STEP
    for p in document.programs:
        n = p.most_registers
        if n and (n % _STEP or not _FEWEST <= n <= _MOST):
            yield _over(
                f"{p.name} asks for {n} registers a thread",
                f"a multiple of {_STEP} from {_FEWEST} to {_MOST}",
            )
    if len({p.most_registers for p in parts}) > 1:
        yield _over(
            "the roles of one warpgroup ask for different numbers of registers",
            "the same most_registers: a warpgroup has one number",
        )
    most = [p.most_registers or entry for p in whole]
    most.append(max((p.most_registers or entry for p in parts), default=0))
    asked = sum(n * each for n, each in zip(groups, most, strict=True))
    given = entry * sum(groups)
    if asked > given:
        yield _over(
            f"the roles ask for {asked * 128} registers together and have {given * 128} at entry: "
            "a role that asks for more waits for ever",
            "lower most_registers of some role",
        )


def _over(why: str, fix: str) -> Finding:
    return Finding(code=Code.CAPACITY, why=why, fix=fix)
