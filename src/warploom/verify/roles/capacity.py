"""What a CTA and an SM have: shared memory, registers, threads."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.document.roles import RolesDocument
from warploom.verify.findings import Code, Finding
from warploom.verify.roles.live import live_registers

SHARED_BYTES = 232_448
SM_REGISTERS = 65_536
THREAD_REGISTERS = 255
_FEWEST = 24  # registers a thread keeps at least


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
    total = 0
    for program in document.programs:
        each = live_registers(program)
        if each > THREAD_REGISTERS:
            yield _over(
                f"the arrays of {program.name} take {each} registers a thread at once; a thread "
                f"has {THREAD_REGISTERS}",
                "smaller tiles, or more instances",
            )
        threads = -(-program.threads // 128) * 128
        total += program.instances * threads * max(-(-each // 8) * 8, _FEWEST)
    if total > SM_REGISTERS:
        yield _over(
            f"all instances together take {total} registers; an SM has {SM_REGISTERS}",
            "fewer instances or smaller tiles",
        )


def _over(why: str, fix: str) -> Finding:
    return Finding(code=Code.CAPACITY, why=why, fix=fix)
