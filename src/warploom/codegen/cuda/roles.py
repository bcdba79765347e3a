"""From role programs to CUDA source: what every warp-specialised kernel shares."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.codegen.cuda.device import device
from warploom.ir.mbarrier_dialect import Load, RoleProgram, RolesDocument
from warploom.ir.rings import SlotRead


def indent(lines: Sequence[str], by: int) -> list[str]:
    """The lines moved right; preprocessor lines stay."""
    return [line if line.startswith("#") or not line else " " * by + line for line in lines]


def number(program: RoleProgram) -> str:
    """The name of an instance's number. Of those who share a tile it says which rows are theirs,
    so those who have a tile each have another name for it.
    """
    return "whose" if program.alternates else "instance"


def barrier_setup(document: RolesDocument) -> list[str]:
    """Initialisation of every mbarrier with the arrivals the programs make.

    Of copies by threads every thread arrives with its own, besides who announces the bytes.
    """
    lines, shares = [], dict[str, int]()
    for program in document.programs:
        every = (e for _, row in program.phases() for e in row)
        copies = (e for e in every if isinstance(e, Load) and e.by_threads)
        shares |= {e.ring: program.threads for e in copies}
    for ring in document.rings:
        name, full = ring.name.upper(), ring.full_arrivals + shares.get(ring.name, 0)
        lines += [
            f"for (int i = 0; i < {name}_DEPTH; ++i) {{",
            f"  {device.mbar_init}(smem + {name}_FULL + 8 * i, {full});",
            f"  {device.mbar_init}(smem + {name}_EMPTY + 8 * i, {ring.empty_arrivals});",
            "}",
        ]
    return [*lines, f"{device.mbar_init_fence}();"]


def cursors(document: RolesDocument, program: RoleProgram) -> list[str]:
    """A cursor for every ring the program touches."""
    return [f"Cursor<{r.upper()}_DEPTH> {r};" for r in rings_of(document, program)]


def rings_of(document: RolesDocument, program: RoleProgram) -> list[str]:
    """The rings a program touches."""
    touched = set()
    for _, entries in program.phases():
        for e in entries:
            touched |= {getattr(e, "ring", None)}
            slots: tuple[SlotRead, ...] = getattr(e, "slots", ())
            touched |= {s.ring for s in (*slots, *getattr(e, "fills_slots", ()))}
    return [r.name for r in document.rings if r.name in touched]
