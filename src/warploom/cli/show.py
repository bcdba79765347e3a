"""``warploom show``: a schedule as a listing by block, with waits and their reasons."""

from __future__ import annotations

import json

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
from warploom.cli.source import Knobs, load_document
from warploom.document import ScheduleDocument, schedule_to_json
from warploom.document.kinds import Phase
from warploom.seed.compile import CompiledSchedule
from warploom.seed.listing import WaitCounts, block_listing, format_wait_counts
from warploom.verify import verify

PHASES = (Phase.PROLOGUE, Phase.KERNEL, Phase.EPILOGUE)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="show")(with_knobs(_show))


def _show(
    schedule: SpecArgument,
    tile: TileOption = None,
    dtype: DtypeOption = Dtype.BF16,
    sync: SyncOption = None,
    as_json: JsonOption = False,
    *,
    knobs: Knobs,
) -> None:
    """Show prologue, kernel and epilogue block by block, with waits and why they are there.

    Example: warploom show pingpong --sync proven_weakest
    """
    document, compiled = load_document(
        schedule, knobs, tile=tile, dtype=dtype.value, sync=sync_policy(sync)
    )
    notes = {p: compiled.notes(p) if compiled else {} for p in PHASES}
    if as_json:
        typer.echo(json.dumps(_as_json(document, notes)))
        return
    typer.echo(summary(compiled) if compiled else heading(document))
    for phase in PHASES:
        typer.echo()
        short = {i: text.partition(": ")[2] or text for i, text in notes[phase].items()}
        typer.echo(block_listing(phase.name.lower(), document.phase(phase), short))
    typer.echo("\nwaits and barriers")
    for phase in PHASES:
        counts = WaitCounts.of(document.phase(phase))
        typer.echo(format_wait_counts(phase.name.lower(), counts))


def heading(document: ScheduleDocument) -> str:
    """One line about a document, with its verdict."""
    report = verify(document)
    return f"{document.name} on {document.target}, {document.strategy}: {report.verdict}"


def summary(compiled: CompiledSchedule) -> str:
    """A few lines about a compiled schedule."""
    strategy = compiled.schedule_config.scheduling.name.lower()
    lines = [
        f"{compiled.name} on {compiled.target}, {strategy} order, sync {compiled.sync.name.lower()}"
    ]
    if compiled.order is not None:
        order = compiled.order
        proof = "proven least" if order.proven else f"bound {order.lower_bound}"
        lines.append(
            f"  order: makespan {order.makespan} cycles ({proof}), {order.vgpr_peak} registers"
        )
    if compiled.modulo is not None:
        result = compiled.modulo
        proof = "proven least" if result.proven else f"bound {result.lower_bound}"
        lines.append(f"  interval: {result.ii} cycles ({proof}), limited by {result.limit}")
    sizes = ", ".join(
        f"{name} {len(entries)}"
        for name, entries in (
            ("prologue", compiled.prologue),
            ("kernel", compiled.kernel),
            ("epilogue", compiled.epilogue),
        )
    )
    lines.append(f"  entries: {sizes}")
    if compiled.report is not None:
        found = len(compiled.report.findings)
        lines.append(
            f"  verdict: {compiled.report.verdict}"
            + (f", {found} finding(s)" if found else f", proven for {_trips(compiled)} trip counts")
        )
        lines += [f"    {f.code.value}: {f.why}" for f in compiled.report.findings[:3]]
    return "\n".join(lines)


def _trips(compiled: CompiledSchedule) -> str:
    return str(compiled.report.trips_proven) if compiled.report else "no"


def _as_json(document: ScheduleDocument, notes: dict[Phase, dict[int, str]]) -> dict[str, object]:
    return {
        "schedule": schedule_to_json(document),
        "reasons": {p.name: {str(i): text for i, text in sorted(notes[p].items())} for p in PHASES},
    }
