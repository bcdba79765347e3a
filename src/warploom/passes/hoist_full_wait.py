"""Bytes awaited early: in the middle of vector work instead of right before a product.

What a product of the next iteration reads is awaited by this one's last work on its fresh product,
after ``KernelConfig.tie`` of a thread's elements. An answer of a barrier takes a hundred cycles,
which
the other elements hide; and the assembler, which moves arithmetic across every wait it pleases,
does not move it across one for bytes, since that is a loop: elements before it stay before it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from warploom.ir.mbarrier_dialect import (
    Compute,
    Mma,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    WaitFull,
)


def awaited_early(document: RolesDocument, role: str) -> RolesDocument:
    """The same programs; waits for slots of the iteration before stand in that iteration."""
    deep = {r.name for r in document.rings if r.depth > 1}  # else the slot is still being read
    programs = tuple(_early(p, deep) if p.name == role else p for p in document.programs)
    return replace(document, programs=programs)


def interrupted(program: RoleProgram) -> str | None:
    """The op of the loop before which bytes are awaited for the next iteration."""
    for wait, e in pairwise(program.kernel):
        if isinstance(wait, WaitFull) and isinstance(e, Compute) and not e.slots:
            return e.op
    return None


def _early(program: RoleProgram, deep: set[str]) -> RoleProgram:
    fresh = {e.accumulator for e in program.kernel if isinstance(e, Mma) and not e.accumulate}
    works = [
        e.op
        for e in program.kernel
        if isinstance(e, Compute) and e.k == 0 and fresh & set(e.writes) and not e.slots
    ]
    late = [e for e in program.kernel if isinstance(e, WaitFull) and e.k == -1]
    if not works or len(late) != 1 or program.peel != 1 or late[0].ring not in deep:
        return program
    wait = replace(late[0], k=0, reason=f"{late[0].reason}; awaited early")

    def listed(entries: tuple[RoleEntry, ...]) -> tuple[RoleEntry, ...]:
        made: list[RoleEntry] = []
        for e in entries:
            if isinstance(e, Compute) and e.op == works[-1]:
                made.append(wait)
            if not (isinstance(e, WaitFull) and (e.ring, e.k) == (wait.ring, -1)):
                made.append(e)
        return tuple(made)

    return replace(
        program,
        prologue=listed(program.prologue),
        kernel=listed(program.kernel),
        epilogue=listed(program.epilogue),
    )
