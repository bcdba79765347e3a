"""How many registers a role needs at once: arrays count from the entry that writes them first to
the last that reads them, over every iteration of a program.
"""

from __future__ import annotations

from warploom.document.roles import Commit, Compute, Mma, RoleEntry, RoleProgram, WaitGroup

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
        if isinstance(entry, Mma):
            group |= {*entry.registers}
        if isinstance(entry, Commit):
            flying.append(group)
            group = set()
        if isinstance(entry, WaitGroup):
            over = max(len(flying) - entry.pending, 0)
            reads = reads.union(*flying[:over])
            flying = flying[over:]
        out.append((reads, writes))
    return out


def _touched(entry: RoleEntry) -> tuple[set[str], set[str]]:
    if isinstance(entry, Compute):
        return {*entry.reads}, {*entry.writes}
    if isinstance(entry, Mma):
        old = {entry.accumulator} if entry.accumulate else set()
        return {*entry.registers} | old, {entry.accumulator}
    return set(), set()
