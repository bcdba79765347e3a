"""``warploom compile``: from a schedule to a ``warploom.schedule/1`` document."""

from __future__ import annotations

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
from warploom.cli.show import summary
from warploom.cli.source import Knobs, load_compiled
from warploom.document import write_schedule
from warploom.errors import BackendError


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="compile")(with_knobs(_compile))


def _compile(
    schedule: SpecArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the document here.")
    ] = None,
    tile: TileOption = None,
    dtype: DtypeOption = Dtype.BF16,
    sync: SyncOption = None,
    allow_races: Annotated[
        bool, typer.Option("--allow-races", help="Write a racy schedule too; exit 1.")
    ] = False,
    as_json: JsonOption = False,
    *,
    knobs: Knobs,
) -> None:
    """Compile a schedule, prove it, and write its document.

    Exit code 0: compiled and proven. 1: it can race. 2: it cannot be compiled.

    Example: warploom compile fourwave --tile 256x256x64 -o fourwave.json
    """
    compiled = load_compiled(
        schedule,
        knobs,
        tile=tile,
        dtype=dtype.value,
        sync=sync_policy(sync),
        on_race="report" if allow_races else "raise",
    )
    text = write_schedule(compiled.document())
    if output is not None:
        try:
            output.write_text(text)
        except OSError as error:
            raise BackendError(f"cannot write {output}: {error.strerror}") from None
    if as_json:
        typer.echo(text, nl=False)
    else:
        typer.echo(summary(compiled))
    races = compiled.report is not None and compiled.report.verdict == "race"
    raise typer.Exit(1 if races else 0)
