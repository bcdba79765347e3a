"""What the assembler must not move: readers of accumulators, and work after a turn is given.

It may move arithmetic across a wait that names no registers. A wait that takes the accumulators as
operands cannot be passed by their readers, and takes work that the schedule put before it along.
Work on what was waited for in a turn it moves up between the products that follow, as they are slow
to issue; the turn then is given only after that work, and the other instance waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warploom.codegen.cuda.tile.loop_view import LoopView
from warploom.codegen.cuda.tile.waits import Owned, Wait, wait_function
from warploom.ir.mbarrier_dialect import (
    Commit,
    Compute,
    Mma,
    NamedSync,
    RoleEntry,
    RoleProgram,
    WaitGroup,
)
from warploom.ir.module import RegisterArray

Place = tuple[str, int]  # list, index


def retired_at(program: RoleProgram) -> dict[Place, tuple[str, ...]]:
    """For every wait: accumulators that no product in flight writes any more, in all runs."""
    found: dict[Place, set[str]] = {}
    for trips in (0, 1, 2, 3):
        flight: list[set[str]] = []
        group: set[str] = set()
        for place, entry in _run(program, trips):
            if isinstance(entry, Mma):
                group.add(entry.accumulator)
            elif isinstance(entry, Commit):
                flight.append(group)
                group = set()
            elif isinstance(entry, WaitGroup):
                keep = len(flight) - entry.pending
                done = set().union(*flight[: max(keep, 0)]) if keep > 0 else set()
                flight = flight[max(keep, 0) :]
                final = done - set().union(*flight, group)
                found[place] = found.get(place, final) & final
    return {place: tuple(sorted(names)) for place, names in found.items()}


def drawn_after(entries: Sequence[RoleEntry], given: int) -> bool:
    """Whether a step after a turn is given reads products that were waited for in that turn.

    Steps that could have run before the turn are left to the assembler: spread between the
    products they cost less than after them.
    """
    flight: list[str] = []
    done: set[str] = set()
    for e in entries[:given]:
        if isinstance(e, NamedSync):
            done = set()
        elif isinstance(e, Mma):
            flight.append(e.accumulator)
        elif isinstance(e, WaitGroup):
            keep = len(flight) - e.pending
            done |= set(flight[: max(keep, 0)])
            flight = flight[max(keep, 0) :]
    for e in entries[given + 1 :]:
        if isinstance(e, Mma | NamedSync):
            return False
        if isinstance(e, Compute) and set(e.reads) & done - set(flight):
            return True
    return False


def _run(program: RoleProgram, trips: int) -> Iterator[tuple[Place, RoleEntry]]:
    for _ in range(2):
        for name, times in (("prologue", 1), ("kernel", trips), ("epilogue", 1)):
            for _ in range(times):
                for i, entry in enumerate(getattr(program, name)):
                    yield (name, i), entry


def owned_by(
    loop: LoopView, program: RoleProgram, at: int, final: tuple[str, ...], *, ordered: bool
) -> tuple[Owned, ...]:
    """Accumulators a wait makes final, and, of an ordered one, what the loop computed before it."""
    arrays = {a.name: a for a in loop.arrays if a.form == "tile"}
    owned = [_owned(arrays[n]) for n in final if n in arrays]
    if not ordered:
        return tuple(owned)
    for e in reversed(program.kernel[:at]):
        if isinstance(e, WaitGroup | Mma):
            break
        made = [w for w in e.writes if w in arrays] if isinstance(e, Compute) else []
        if made:
            owned += [_owned(arrays[n]) for n in made if n not in final]
            break
    return tuple(owned)


def told_apart(
    loop: LoopView,
    program: RoleProgram,
    phase: str,
    e: WaitGroup,
    owned: tuple[Owned, ...],
    wait: Wait,
    *,
    ordered: bool,
) -> Wait:
    """A wait in a branch that is always taken.

    The last one of an unrolled loop: after waits that leave products in flight ptxas takes a
    wait for all of them for one in the middle of a group, and serialises everything; not so
    where it cannot tell which wait it is. And one that is tied to all of what was made before
    it: ptxas moves waits up, but not across a branch.
    """
    arrays = {a.name: a for a in loop.arrays}
    made = {x.accumulator for x in program.kernel if isinstance(x, Mma)}
    if phase == "epilogue" and not e.pending and loop.unroll > 1:
        always, other = "k_tiles > 0", sorted(made - {o.name for o in owned})[:1]
    elif ordered and len(owned) > 1:
        tied = owned[-1].name
        always, other = f"__all_sync(~0u, {tied}[0][0] > -3.4028235e38f)", [tied]
    else:
        return wait
    never = wait_function(e.pending, tuple(_owned(arrays[n]) for n in other))
    return Wait(
        call=f"if ({always}) {wait.call} else {never.call}",
        functions=wait.functions | never.functions,
    )


def summed_after(
    loop: LoopView, program: RoleProgram, phase: str, at: int, *, every: bool
) -> tuple[Owned, ...]:
    """Sums that the products after a fence go on with: what was written to them stays before.

    All of them where the fence says ``every``, and in a prologue those that were cleared right
    before: zeros are constants, which the compiler writes to registers where they are first used.
    Elsewhere the order is kept: sums come from products, or from before a loop.
    """
    arrays = {a.name: a for a in loop.arrays}
    entries = getattr(program, phase)
    before = {e.accumulator for e in entries[:at] if isinstance(e, Mma)}
    names: dict[str, None] = {}
    for e in entries[at:]:
        if isinstance(e, Mma) and e.accumulate:
            fresh = phase == "prologue" and e.accumulator not in before
            if every or fresh:
                names[e.accumulator] = None
        elif isinstance(e, Commit):
            break
    return tuple(_owned(arrays[n]) for n in names)


def _owned(array: RegisterArray) -> Owned:
    return Owned(name=array.name, blocks=array.blocks, registers=array.cols // 2)
