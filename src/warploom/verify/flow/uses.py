"""What def-use alone can say about a document that declares no dataflow.

Work that nobody uses is a sign of work that is missing: slots that are filled and never read, sums
that are never taken, no op that could write a result.
"""

from __future__ import annotations

from collections.abc import Iterator

from warploom.document.roles import BulkStore, Compute, Load, Mma, RoleProgram, RolesDocument
from warploom.verify.findings import Code, Finding


def check_uses(document: RolesDocument) -> Iterator[Finding]:
    """Filled slots and accumulators that nothing reads; programs that store nothing."""
    filled: dict[tuple[str, str], str] = {}
    read: set[tuple[str, str]] = set()
    stores = False
    for program in document.programs:
        for _, entries in program.phases():
            for e in entries:
                if isinstance(e, Load):
                    filled.setdefault((e.ring, e.part), e.op)
                elif isinstance(e, Compute):
                    filled.update(dict.fromkeys(((s.ring, s.part) for s in e.fills_slots), e.op))
                    stores = stores or not (e.writes or e.fills or e.fills_slots)
                if isinstance(e, Compute | Mma):
                    read.update((s.ring, s.part) for s in e.slots)
                stores = stores or isinstance(e, BulkStore)
        yield from _untaken(program)
    for (ring, part), op in filled.items():
        if (ring, part) not in read:
            why = f"{op} fills part {part} of ring {ring}, which no op reads"
            yield _finding(why, "a product or another op that reads it, or no copy")
    if filled and not stores:
        yield _finding("no op stores a result", "store what was computed")


def _untaken(program: RoleProgram) -> Iterator[Finding]:
    taken: set[str] = set()
    sums: dict[str, str] = {}
    for _, entries in program.phases():
        for e in entries:
            if isinstance(e, Compute):
                taken.update(e.reads)
            elif isinstance(e, Mma):
                taken.update(e.registers)
                sums.setdefault(e.accumulator, e.op)
    for name, op in sums.items():
        if name not in taken:
            why = f"{op} of {program.name} sums into {name}, which no op reads"
            yield _finding(why, "convert and store it, or leave the product out")


def _finding(why: str, fix: str) -> Finding:
    return Finding(code=Code.FLOW, why=why, fix=fix)
