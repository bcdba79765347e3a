"""``warploom timeline``: one picture of a schedule over time."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from warploom.cli.knobs import (
    Dtype,
    DtypeOption,
    JsonOption,
    SpecArgument,
    SyncOption,
    TileOption,
    sync_policy,
    with_knobs,
)
from warploom.cli.machine import Costs, CostsOption, TripsOption, run
from warploom.cli.output import deliver
from warploom.cli.source import Knobs, load_document
from warploom.seed.compile import CompiledSchedule
from warploom.sim import Simulation
from warploom.view import perfetto_trace, timeline_html, timeline_svg, timeline_text


class Picture(StrEnum):
    """Forms of a timeline."""

    TEXT = "text"
    SVG = "svg"
    HTML = "html"
    PERFETTO = "perfetto"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="timeline")(with_knobs(_timeline))


def _timeline(
    schedule: SpecArgument,
    form: Annotated[Picture, typer.Option("--format", help="Form of the picture.")] = Picture.TEXT,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write it here.")] = None,
    trips: TripsOption = 4,
    costs: CostsOption = Costs.CHIP,
    tile: TileOption = None,
    dtype: DtypeOption = Dtype.BF16,
    sync: SyncOption = None,
    as_json: JsonOption = False,
    *,
    knobs: Knobs,
) -> None:
    """Draw waves, units, waits, barriers and buffer lifetimes over cycles.

    --json is the Perfetto trace. Example: warploom timeline pingpong --format html -o t.html
    """
    document, compiled = load_document(
        schedule, knobs, tile=tile, dtype=dtype.value, sync=sync_policy(sync)
    )
    sim = run(document, costs, trips)
    form = Picture.PERFETTO if as_json else form
    deliver(picture(sim, form, compiled), output, "timeline")


def picture(sim: Simulation, form: Picture, compiled: CompiledSchedule | None) -> str:
    """The timeline in one form."""
    match form:
        case Picture.TEXT:
            return timeline_text(sim)
        case Picture.SVG:
            return timeline_svg(sim)
        case Picture.HTML:
            return timeline_html(sim, reasons=_reasons(compiled))
        case Picture.PERFETTO:
            return json.dumps(perfetto_trace(sim))


def _reasons(compiled: CompiledSchedule | None) -> dict[tuple[str, int], str]:
    reasons = compiled.reasons if compiled else ()
    return {(r.phase.name.lower(), r.index): r.text for r in reasons}
