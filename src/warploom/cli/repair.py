"""``warploom repair``: the nearest schedule without races, and what was changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from warploom.cli.knobs import JsonOption, SpecArgument
from warploom.cli.source import load_document
from warploom.document import write_schedule
from warploom.errors import BackendError
from warploom.guard.counters import Repair, repair
from warploom.verify import Severity, verify


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="repair")(_repair)


def _repair(
    schedule: SpecArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the repaired document here.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Add and tighten as few waits and barriers as leave no race, and say why.

    Exit code 0: nothing to repair, or repaired and proven. 2: the order itself is wrong, which no
    wait can repair.

    Example: warploom repair racy.json -o clean.json
    """
    document, _ = load_document(schedule, {})
    done = repair(document)
    races = [f for f in verify(done.document).findings if f.severity is Severity.RACE]
    if output is not None:
        _write(output, write_schedule(done.document))
    typer.echo(json.dumps(_as_json(done)) if as_json else done.text)
    raise typer.Exit(1 if races else 0)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise BackendError(f"{path} cannot be written: {error.strerror}") from None


def _as_json(done: Repair) -> dict[str, object]:
    return {
        "name": done.document.name,
        "trips": list(done.trips),
        "changes": [
            {
                "kind": c.kind.value,
                "phase": c.phase.name,
                "index": c.index,
                "before": c.before,
                "after": c.after,
                "why": c.text.partition(": ")[2],
            }
            for c in done.changes
        ],
    }
