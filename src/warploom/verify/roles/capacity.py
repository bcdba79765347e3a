"""What a CTA and an SM have: shared memory, registers, threads."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.document.roles import RolesDocument
from warploom.verify.findings import Code, Finding
from warploom.verify.roles.live import live_registers

SHARED_BYTES = 232_448
SM_REGISTERS = 65_536
THREAD_REGISTERS = 255
_FEWEST, _MOST, _STEP = 24, 256, 8  # what setmaxnreg takes


def check_capacity(document: RolesDocument) -> Iterator[Finding]:
    """CAPACITY: what the document declares against what there is."""
    used = sum(r.depth * (r.slot_bytes + 16) for r in document.rings)
    instances = {p.name: p.instances for p in document.programs}
    used += sum(b.copies * b.bytes * instances.get(b.role, 1) for b in document.buffers)
    if used + 1024 > SHARED_BYTES:
        yield _over(
            f"{used} bytes of shared memory and 1024 of alignment exceed {SHARED_BYTES}",
            "fewer stages or smaller tiles",
        )
    yield from _shares(document)
    total = 0
    for program in document.programs:
        each = live_registers(program)
        has = min(THREAD_REGISTERS, program.most_registers or THREAD_REGISTERS)
        if each > has:
            yield _over(
                f"the arrays of {program.name} take {each} registers a thread at once; a thread "
                f"has {has}",
                "smaller tiles, or more instances",
            )
        threads = -(-program.threads // 128) * 128
        total += program.instances * threads * max(-(-each // 8) * 8, _FEWEST)
    if total > SM_REGISTERS:
        yield _over(
            f"all instances together take {total} registers; an SM has {SM_REGISTERS}",
            "fewer instances or smaller tiles",
        )


def _shares(document: RolesDocument) -> Iterator[Finding]:
    """``setmaxnreg``: roles share what the CTA got at entry; who asks for more waits for ever."""
    if not any(p.most_registers for p in document.programs):
        return
    groups = {p.name: p.instances * -(-p.threads // 128) for p in document.programs}
    entry = SM_REGISTERS // (128 * sum(groups.values())) // _STEP * _STEP
    for p in document.programs:
        n = p.most_registers
        if n and (n % _STEP or not _FEWEST <= n <= _MOST):
            yield _over(
                f"{p.name} asks for {n} registers a thread",
                f"a multiple of {_STEP} from {_FEWEST} to {_MOST}",
            )
    asked = sum(groups[p.name] * (p.most_registers or entry) for p in document.programs)
    given = entry * sum(groups.values())
    if asked > given:
        yield _over(
            f"the roles ask for {asked * 128} registers together and have {given * 128} at entry: "
            "a role that asks for more waits for ever",
            "lower most_registers of some role",
        )


def _over(why: str, fix: str) -> Finding:
    return Finding(code=Code.CAPACITY, why=why, fix=fix)
