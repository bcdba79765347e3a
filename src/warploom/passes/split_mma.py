"""Products in two parts: the last instructions of one are issued after vector work that waits.

A warp stands still while it issues instructions that the queue of the tensor cores cannot take,
and comes late to the vector work that follows. With a product into a sum before work on a fresh
product, ``KernelConfig.deferred_mmas`` of its instructions can be issued after the first step of
that work: what is before them keeps the tensor cores busy so long.

Work that reads the sum, or writes over what the product reads, has to wait for all of it, and so
has whatever follows a wait for the product's group: such products stay whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warploom.ir.dataflow import Flow, FlowOp, FlowOperand, Home
from warploom.ir.mbarrier_dialect import (
    Commit,
    Compute,
    Mma,
    MmaFence,
    NamedArrive,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    WaitGroup,
)

FIRST, REST = "first", "rest"


def part_of(op: str, part: str) -> str:
    """What a part of a product is called."""
    return f"{op}.{part}"


def parted(document: RolesDocument, role: str) -> RolesDocument:
    """The same programs, with a product into a sum in two parts, where work follows it."""
    program = document.program(role)
    found = _found(program)
    if found is None:
        return document
    made = _program(program, *found)
    return replace(
        document, programs=tuple(made if p.name == role else p for p in document.programs)
    )


def parted_flow(flow: Flow, document: RolesDocument) -> Flow:
    """What the ops of a document compute, of which products may be in two parts."""
    every = [e for p in document.programs for _, row in p.phases() for e in row]
    homes = {h.value: h.place for h in flow.homes}
    sums = {e.op: e.accumulator for e in every if isinstance(e, Mma)}
    ops: list[FlowOp] = []
    more: list[Home] = []
    for x in flow.ops:
        place = sums.get(part_of(x.name, FIRST))
        if place is None:
            ops.append(x)
            continue
        (result,) = x.results
        so_far = part_of(result, FIRST)
        factors = tuple(o for o in x.operands if homes[o.value] != place)
        ops.append(replace(x, name=part_of(x.name, FIRST), results=(so_far,)))
        rest = (*factors, FlowOperand(value=so_far))
        ops.append(replace(x, name=part_of(x.name, REST), operands=rest))
        more.append(Home(value=so_far, place=place))
    return replace(flow, ops=tuple(ops), homes=(*flow.homes, *more))


def _found(program: RoleProgram) -> tuple[int, int] | None:
    """Where such a product is in the loop, and where the work that follows it."""
    kernel = program.kernel
    for i, e in enumerate(kernel):
        if not isinstance(e, Mma) or not e.accumulate:
            continue
        rest = ((j, x) for j, x in enumerate(kernel) if j > i)
        (_, wait), (work, step) = _next(rest, (WaitGroup, Mma)), _next(rest, (Compute, Mma))
        if not isinstance(wait, WaitGroup) or not isinstance(step, Compute):
            continue
        if not _is_over(kernel[i + 1 : work]) and not _touches(step, e):
            return i, work
    return None


def _is_over(entries: tuple[RoleEntry, ...]) -> bool:
    """Whether some wait among the entries behind a product is for its group."""
    groups = 0
    for e in entries:
        groups += isinstance(e, Commit)
        if isinstance(e, WaitGroup) and e.pending < groups:
            return True
    return False


def _touches(work: Compute, product: Mma) -> bool:
    """Whether work needs the product's sum, or writes over its operands."""
    arrays = {product.accumulator, *product.registers}
    return bool(
        product.accumulator in work.reads
        or arrays.intersection(work.writes)
        or set(product.slots).intersection(work.fills_slots)
    )


def _next(
    entries: Iterator[tuple[int, RoleEntry]], kinds: tuple[type, ...]
) -> tuple[int, RoleEntry | None]:
    return next((x for x in entries if isinstance(x[1], kinds)), (0, None))


def _parts(e: Mma) -> tuple[Mma, Mma]:
    return replace(e, op=part_of(e.op, FIRST)), replace(e, op=part_of(e.op, REST), accumulate=True)


def _program(program: RoleProgram, product: int, work: int) -> RoleProgram:
    mma = program.kernel[product]
    assert isinstance(mma, Mma)
    first, rest = _parts(mma)

    def both(entries: tuple[RoleEntry, ...]) -> Iterator[RoleEntry]:
        for e in entries:
            yield from _parts(e) if isinstance(e, Mma) and e.op == mma.op else (e,)

    between = program.kernel[product + 1 : work + 1]
    given = [e for e in between if isinstance(e, NamedArrive)]
    kept = [e for e in between if not isinstance(e, NamedArrive)]
    again = (MmaFence(reason="work stands between"), rest, Commit(reason=f"the rest of {mma.op}"))
    before, after = both(program.kernel[:product]), both(program.kernel[work + 1 :])
    return replace(
        program,
        prologue=tuple(both(program.prologue)),
        kernel=(*before, first, *kept, *again, *given, *after),
        epilogue=tuple(both(program.epilogue)),
    )
