"""``warploom compile``: from a source to a ``warploom.schedule/1`` document."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from warploom.cli.knobs import Request, SpecArgument, with_request
from warploom.cli.output import Answer, write_file
from warploom.cli.show import summary
from warploom.cli.source import load


@with_request()
def command(
    source: SpecArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the document here.")
    ] = None,
    allow_races: Annotated[
        bool, typer.Option("--allow-races", help="Write a racy schedule too; exit 1.")
    ] = False,
    *,
    request: Request,
) -> Answer:
    """Compile a schedule or kernel, prove it, and write its document.

    Exit code 0: compiled and proven. 1: it can race. 2: it cannot be compiled.

    Example: warploom compile fourwave --tile 256x256x64 -o fourwave.json
    """
    subject = load(source, replace(request, on_race="report" if allow_races else "raise"))
    *earlier, last = subject.loops
    files: dict[Path, str] = {}
    if output is not None:  # a document is of one loop
        files = {output.with_suffix(f".loop{x.loop}{output.suffix}"): x.text() for x in earlier}
        files[output] = last.text()
    for path, text in files.items():
        write_file(path, text)
    wrote = f"\nwrote {', '.join(map(str, files))}" if files else ""
    code = 0 if subject.report().clean else 1
    return Answer(lambda: summary(subject) + wrote, subject.text, code)
