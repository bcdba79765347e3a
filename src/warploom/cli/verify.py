"""``warploom verify``: judge schedule documents."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated, TextIO

import typer

from warploom.cli.knobs import JsonOption
from warploom.errors import ConfigError
from warploom.verify.report import exit_code, judge_files, parse_trips, render


class Form(StrEnum):
    """How verdicts are written."""

    TEXT = "text"
    JSON = "json"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="verify")(_verify)


def _verify(
    files: Annotated[list[str], typer.Argument(metavar="FILE.json...", help="Documents to judge.")],
    trips: Annotated[
        str | None, typer.Option(metavar="N..M", help="Judge these trip counts only.")
    ] = None,
    form: Annotated[
        Form, typer.Option("--format", help="text, or json: one report a line.")
    ] = Form.TEXT,
    as_json: JsonOption = False,
) -> None:
    """Judge schedules for every timing and trip count.

    Exit code 0: no race in any document. 1: findings. 2: some document is malformed.
    """
    try:
        wanted = None if trips is None else parse_trips(trips)
    except ConfigError as error:
        raise typer.BadParameter(str(error), param_hint="--trips") from None
    form = Form.JSON if as_json else form
    verdicts = []
    for verdict in judge_files(files, wanted):
        verdicts.append(verdict)
        typer.echo(_printable(render(verdict, form.value), sys.stdout))
        if verdict.report is None and form is Form.JSON:
            typer.echo(_printable(f"{verdict.file}: {verdict.error}", sys.stderr), err=True)
    raise typer.Exit(exit_code(verdicts))


def _printable(text: str, stream: TextIO) -> str:
    """Text that the stream's encoding can carry; documents may hold any character."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
