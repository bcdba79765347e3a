"""Settle: the same programs with fewer products in flight, for an assembler that takes fright.

Where it cannot follow which registers products in flight own, ptxas puts a wait after every single
instruction. It can follow programs whose waits are for all products, and in which no fresh product
is in flight from one iteration to the next. That costs overlap, but little of it.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.ir.mbarrier_dialect import (
    Commit,
    Compute,
    Mma,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    WaitGroup,
)


def settled(document: RolesDocument) -> RolesDocument:
    """All waits for everything; products for the next iteration are waited for at once."""
    return replace(document, programs=tuple(map(_settled, document.programs)))


def _settled(program: RoleProgram) -> RoleProgram:
    # Fresh products of an iteration that work of the next one reads
    fresh = {e.accumulator: e for e in program.kernel if isinstance(e, Mma) and not e.accumulate}
    late = {
        fresh[name].op
        for e in program.kernel
        if isinstance(e, Compute)
        for name in e.reads
        if name in fresh and e.k < fresh[name].k
    }
    lists = {n: _list(getattr(program, n), late) for n in ("prologue", "kernel", "epilogue")}
    return replace(
        program, prologue=lists["prologue"], kernel=lists["kernel"], epilogue=lists["epilogue"]
    )


def _list(entries: tuple[RoleEntry, ...], late: set[str]) -> tuple[RoleEntry, ...]:
    made: list[RoleEntry] = []
    group: set[str] = set()
    for entry in entries:
        made.append(replace(entry, pending=0) if isinstance(entry, WaitGroup) else entry)
        if isinstance(entry, Mma):
            group.add(entry.op)
        elif isinstance(entry, Commit):
            if group & late:
                made.append(WaitGroup(pending=0, reason="nothing is in flight to the next step"))
            group = set()
    return tuple(made)
