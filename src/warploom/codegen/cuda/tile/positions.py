"""Ring positions as CUDA source: rings that move together share one where registers are short."""

from __future__ import annotations

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.roles import cursors, indent, rings_of
from warploom.ir.mbarrier_dialect import RoleProgram, RolesDocument
from warploom.ir.rings import Per, RoleRing


def used_rings(document: RolesDocument, program: RoleProgram) -> list[RoleRing]:
    """The rings a program touches."""
    names = rings_of(document, program)
    return [r for r in document.rings if r.name in names]


def leaders(document: RolesDocument, program: RoleProgram) -> dict[str, str]:
    """For each ring, the first of those that are as deep and move as often."""
    found: dict[tuple[Per, int], str] = {}
    rings = used_rings(document, program)
    return {r.name: found.setdefault((r.per, r.depth), r.name) for r in rings}


def position_lines(document: RolesDocument, program: RoleProgram, *, shared: bool) -> list[str]:
    """The declarations."""
    if not shared:
        return cursors(document, program)
    return [
        f"Cursor<{name.upper()}_DEPTH> {name};" if name == leader else f"auto& {name} = {leader};"
        for name, leader in leaders(document, program).items()
    ]


def advance_lines(
    document: RolesDocument, program: RoleProgram, per: Per, *, shared: bool, by: str = ""
) -> list[str]:
    """One use further (or so many), of all rings that are used so often."""
    first = leaders(document, program)
    return [
        f"{device.go_past}({r.name}, {by});" if by else f"{r.name}.advance();"
        for r in used_rings(document, program)
        if r.per is per and (not shared or first[r.name] == r.name)
    ]


def others_lines(document: RolesDocument, program: RoleProgram, *, shared: bool) -> list[str]:
    """A tile of another instance goes by, where instances take tiles in turn: its uses too."""
    if not program.alternates:
        return []
    lines = advance_lines(document, program, Per.ITERATION, shared=shared, by="k_tiles")
    lines += advance_lines(document, program, Per.TILE, shared=shared)
    return [f"if (nth++ % {program.instances} != whose) {{", *indent([*lines, "continue;"], 2), "}"]
