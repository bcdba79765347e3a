"""Barriers that are asked early: an answer takes a hundred cycles, which vector work hides.

A wait for a slot's bytes stays where the schedule has it, and is passed at once where they were
there when the loop last asked, before its longest vector work. Between two waits for a ring there
is one answer, so the slot's use before the one asked for has been awaited: the phase is its own.
"""

from __future__ import annotations

from warploom.document.roles import Compute, RoleProgram, WaitFull
from warploom.emit.cuda.lowering import Site
from warploom.lower.layout import Layout

WAIT = "mbar_wait("


def asked_waits(layout: Layout, program: RoleProgram) -> tuple[int, dict[int, WaitFull]]:
    """Before which entry of the loop a role asks, and for which of its waits; (-1, {}): never."""
    steps = {s.name: sum(len(op.result.dims) == 2 for op in s.ops) for s in layout.steps}
    work = {i: steps.get(e.op, 0) for i, e in enumerate(program.kernel) if isinstance(e, Compute)}
    if not layout.tiling.asked or not work or program.alternates or layout.tiling.ctas > 1:
        return -1, {}  # of those that alternate, another one awaited the use before
    waits = {i: e for i, e in enumerate(program.kernel) if isinstance(e, WaitFull)}
    return max(work, key=lambda i: work[i]), waits


def declared(layout: Layout, program: RoleProgram) -> list[str]:
    """Answers, none yet."""
    return [f"uint32_t seen_{i} = 0;" for i in asked_waits(layout, program)[1]]


def ask(layout: Layout, site: Site, at: int) -> list[str]:
    """What is asked before an entry: what the next iteration awaits, or this one after it."""
    place, waits = asked_waits(layout, site.program)
    if site.phase != "kernel" or at != place:
        return []
    lines = []
    for i, e in waits.items():
        k = e.k + (i < at)
        phase = f"{site.cursor(e.ring, k)}.phase" + (" ^ 1" if e.parity else "")
        lines.append(f"seen_{i} = mbar_test({site.barrier(e.ring, 'full', k)}, {phase});")
    return lines


def passed(layout: Layout, site: Site, at: int, lines: list[str]) -> list[str]:
    """An entry's lines; its wait, if it is one that was asked, only where the answer was no."""
    if site.phase != "kernel" or at not in asked_waits(layout, site.program)[1]:
        return lines
    return [f"if (!seen_{at}) {x}" if x.startswith(WAIT) else x for x in lines]
