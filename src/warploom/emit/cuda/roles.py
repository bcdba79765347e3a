"""From role programs to CUDA text: barrier set-up and the body of a role's tile loop.

What every warp-specialised kernel shares, whatever it computes. A skeleton calls ``barrier_setup``
once and ``role_tile`` inside each role's loop over tiles.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.document.roles import Per, RoleEntry, RoleProgram, RolesDocument, SlotRead
from warploom.emit.cuda.lowering import LoweringTable, Site


def indent(lines: Sequence[str], by: int) -> list[str]:
    """The lines moved right; preprocessor lines stay."""
    return [line if line.startswith("#") or not line else " " * by + line for line in lines]


def barrier_setup(document: RolesDocument) -> list[str]:
    """Initialisation of every mbarrier with the arrivals the programs make."""
    lines = []
    for ring in document.rings:
        name = ring.name.upper()
        lines += [
            f"for (int i = 0; i < {name}_DEPTH; ++i) {{",
            f"  mbar_init(smem + {name}_FULL + 8 * i, {ring.full_arrivals});",
            f"  mbar_init(smem + {name}_EMPTY + 8 * i, {ring.empty_arrivals});",
            "}",
        ]
    return [*lines, "mbar_init_fence();"]


def cursors(document: RolesDocument, program: RoleProgram) -> list[str]:
    """A cursor for every ring the program touches."""
    return [f"Cursor<{r.upper()}_DEPTH> {r};" for r in _rings(document, program)]


Loop = tuple[str, LoweringTable]  # up to which iteration, and what its entries become


def role_tile(
    document: RolesDocument,
    program: RoleProgram,
    table: LoweringTable,
    first: Sequence[Loop] = (),
) -> list[str]:
    """One tile of one role: prologue, loop, epilogue, and the cursors' steps between them.

    ``first``: copies of the loop with tables of their own, for the iterations below their bounds.
    """
    steady = [r for r in _rings(document, program) if document.ring(r).per is Per.ITERATION]
    tiled = [r for r in _rings(document, program) if document.ring(r).per is Per.TILE]
    step = [f"{r}.advance();" for r in steady]
    lines = []
    if program.prologue:
        lines.append("// Prologue.")
        lines += entry_lines(document, program, "prologue", table)
        lines += step * program.peel
    if first:
        lines.append(f"int k = {program.peel};")
    start = "" if first else f"int k = {program.peel}"
    for bound, lowerings in (*first, ("k_tiles", table)):
        lines.append(f"for ({start}; k < {bound}; ++k) {{")
        lines += indent([*entry_lines(document, program, "kernel", lowerings), *step], 2)
        lines.append("}")
    if program.epilogue:
        lines.append("// Epilogue.")
        lines += entry_lines(document, program, "epilogue", table)
    return lines + [f"{r}.advance();" for r in tiled]


def entry_lines(
    document: RolesDocument, program: RoleProgram, phase: str, table: LoweringTable
) -> list[str]:
    """The lines of one list of a program."""
    site = Site(document=document, program=program, phase=phase)
    entries: tuple[RoleEntry, ...] = getattr(program, phase)
    return [line for e in entries for line in table.lower(e, site)]


def _rings(document: RolesDocument, program: RoleProgram) -> list[str]:
    touched = set()
    for _, entries in program.phases():
        for e in entries:
            touched |= {getattr(e, "ring", None)}
            slots: tuple[SlotRead, ...] = getattr(e, "slots", ())
            touched |= {s.ring for s in (*slots, *getattr(e, "fills_slots", ()))}
    return [r.name for r in document.rings if r.name in touched]
