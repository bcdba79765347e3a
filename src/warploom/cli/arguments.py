"""The argument that names what a command works on; loads nothing that a command may not need."""

from pathlib import Path
from typing import Annotated

import typer


def complete_source(incomplete: str) -> list[str]:
    """Sources that begin so, for shell completion: names first, then documents here."""
    from warploom.cli.kernels import kernel_names
    from warploom.pipeline.schedules.shipped import SCHEDULES

    known = [*SCHEDULES, *kernel_names()]
    known += sorted(str(p) for p in Path().glob(f"{incomplete}*.json"))
    return [name for name in known if name.startswith(incomplete)]


SpecArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A built-in schedule (pingpong, fourwave, single_buffer), a shipped kernel (gemm, "
        "attention, ...), file.py:object, FILE.json, or - for a document on standard input.",
        autocompletion=complete_source,
    ),
]
