"""``warploom check-isa``: does an assembly file carry exactly its schedule?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warploom.cli.output import Answer, read_text
from warploom.document import read_counters
from warploom.emit.gfx950 import check_isa, plan_kernel, read_sidecar, tile_of_sidecar
from warploom.emit.gfx950.attention import AttentionShape

AssemblyArgument = Annotated[
    Path, typer.Argument(metavar="KERNEL.s", help="Assembly that `warploom emit gfx950` wrote.")
]
SidecarOption = Annotated[
    Path | None, typer.Option(help="The kernel's JSON; default: KERNEL.json beside it.")
]


def command(
    assembly: AssemblyArgument,
    schedule: Annotated[
        Path | None,
        typer.Option(help="The schedule document; default: KERNEL.schedule.json beside it."),
    ] = None,
    sidecar: SidecarOption = None,
) -> Answer:
    """Compare the instruction stream of the whole kernel with its schedule, entry by entry.

    Exit code 0: exact order, exact waits, nothing added or lost, no spills. 1: they differ; the
    two are shown side by side.

    Example: warploom check-isa out/kernel.s
    """
    text = read_text(assembly)
    document = read_counters(read_text(schedule or assembly.with_suffix(".schedule.json")))
    values = read_sidecar(read_text(sidecar or assembly.with_suffix(".json")))
    tile = tile_of_sidecar(values)
    plan = AttentionShape(document, tile) if document.flow else plan_kernel(document, tile)
    report = check_isa(plan, text)
    return Answer(report.text, report.to_json, 0 if report.exact else 1)
