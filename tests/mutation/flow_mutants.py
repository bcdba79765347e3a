"""Mutants of what a role program computes: ops dropped, doubled, swapped, moved, retargeted.

Waits and barriers stay as they are; vector ops count as any other. Whether a mutant computes
something else is decided by running every agent alone in program order
(``tests.modelcheck.alone``), which knows nothing of the verifier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.modelcheck.alone import alone
from tests.mutation.role_mutants import RoleMutant, label
from tests.mutation.role_score import RoleOutcome, lengthened
from warploom.interp.executor.roles import first_fault
from warploom.ir.mbarrier_dialect import (
    BulkStore,
    Compute,
    Load,
    Mma,
    RoleEntry,
    RoleProgram,
    RolesDocument,
)
from warploom.verify.roles import verify_roles

OPS = (Load, Mma, Compute, BulkStore)
SEEDS = 90
RACES = ((1, 2), (3, 1), (2, 2, 2), (5, 4))
TILES = ((1, 1), (2, 2), (3, 3), (4,))


def flow_mutants(document: RolesDocument) -> Iterator[RoleMutant]:
    """All mutants of the ops of a document, one edit each; none equals another."""
    seen = {document}
    for program in document.programs:
        for phase, entries in program.phases():
            for operator, i, new in _edits(program, entries):
                changed = replace(program, **{phase: new})
                programs = tuple(changed if p is program else p for p in document.programs)
                mutant = replace(document, programs=programs)
                if mutant not in seen:
                    seen.add(mutant)
                    where = f"{program.name}.{phase}[{i}] {label(entries[i])}"
                    yield RoleMutant(operator=operator, where=where, document=mutant, work=True)


def computes_the_same(mutant: RolesDocument, document: RolesDocument) -> bool:
    """Whether every agent, alone, computes and stores what it should."""
    return all(
        alone(mutant, tiles) == alone(document, tiles) for tiles in lengthened(document, TILES)
    )


def judge_flow(mutant: RoleMutant, intended: RolesDocument) -> RoleOutcome:
    """What a mutant computes, and what the verifier says; the same values reported are a race."""
    report = verify_roles(mutant.document)
    codes = () if report.clean else tuple(sorted(report.codes()))
    fault = None
    if not computes_the_same(mutant.document, intended):
        fault = "something else is computed"
    elif codes:
        shown = [f.tiles for f in report.findings[:3] if f.tiles]
        fault = next(
            (
                f
                for tiles in (*shown, *lengthened(mutant.document, RACES))
                if (f := first_fault(mutant.document, tiles, range(SEEDS), intended=intended))
            ),
            None,
        )
    return RoleOutcome(mutant=mutant, fault=fault, codes=codes)


def _edits(
    program: RoleProgram, entries: tuple[RoleEntry, ...]
) -> Iterator[tuple[str, int, tuple[RoleEntry, ...]]]:
    ops = [i for i, e in enumerate(entries) if isinstance(e, OPS)]
    for at, i in enumerate(ops):
        yield "drop op", i, (*entries[:i], *entries[i + 1 :])
        yield "double op", i, (*entries[:i], entries[i], *entries[i:])
        for j in ops[at + 1 : at + 4]:
            row = list(entries)
            row[i], row[j] = row[j], row[i]
            yield "swap ops", i, tuple(row)
        for j in (ops[0], ops[-1]):
            row = list(entries)
            row.insert(j, row.pop(i))
            yield "move op", i, tuple(row)
        for operator, new in _retargeted(program, entries[i]):
            yield operator, i, (*entries[:i], new, *entries[i + 1 :])


def _retargeted(program: RoleProgram, entry: RoleEntry) -> Iterator[tuple[str, RoleEntry]]:
    names = [name for name, _ in program.registers]
    for field in ("reads", "writes", "registers"):
        held = getattr(entry, field, ())
        for i in range(len(held)):
            others = [n for n in names if n not in held]
            for new in others[:3]:
                row = (*held[:i], new, *held[i + 1 :])
                yield f"retarget {field}", replace(entry, **{field: row})
            yield f"less {field}", replace(entry, **{field: (*held[:i], *held[i + 1 :])})
    if isinstance(entry, Mma):
        for new in names:
            if new not in (entry.accumulator, *entry.registers):
                yield "retarget accumulator", replace(entry, accumulator=new)
        yield "accumulate flipped", replace(entry, accumulate=not entry.accumulate)
        if len(entry.slots) > 1:
            yield "less slots", replace(entry, slots=entry.slots[1:])
            yield "exchange factors", replace(entry, slots=entry.slots[::-1])
    # The iteration of an ordinary op outside the loop that reads no slot means nothing.
    if isinstance(entry, Load | Mma) or (isinstance(entry, Compute) and entry in program.kernel):
        for step in (-1, 1):
            yield "retarget iteration", replace(entry, k=entry.k + step)
    if isinstance(entry, BulkStore):
        yield "other piece", replace(entry, args=tuple(a + 64 for a in entry.args))
        yield "reduce flipped", replace(entry, reduce=not entry.reduce)
