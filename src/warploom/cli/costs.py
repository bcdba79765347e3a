"""``warploom costs``: every number a target is priced with, and where it comes from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from warploom.cli.screen import Answer, wrapped
from warploom.cli.targets import find_target, hopper
from warploom.errors import ConfigError
from warploom.target.figures import Figure, figures_of
from warploom.target.h200 import h100, h200
from warploom.target.mi355x import mi355x
from warploom.target.seed_model import seed_model

TARGETS = {"h200": h200, "h100": h100, "mi355x": mi355x, "seed": seed_model}


def costs_command(
    target: Annotated[
        str, typer.Argument(help="h200, h100, mi355x, seed (relative prices), file.py:object.")
    ] = "h200",
) -> Answer:
    """List the numbers of a target with their origins: document, measurement, fit, assumption."""
    if target not in TARGETS and ":" not in target:
        raise ConfigError(f"no target {target!r}", fix=f"{', '.join(TARGETS)}, or file.py:object")
    found = TARGETS[target]() if target in TARGETS else hopper(target, find_target(target))
    figures = list(figures_of(found))
    wide = min(28, max(len(f.name) for f in figures))
    lines = (line for f in figures for line in wrapped(f"{f.name:<{wide}}  ", _words(f)))
    return Answer(lambda: "\n".join(lines), lambda: [asdict(f) for f in figures])


def _words(f: Figure) -> str:
    if isinstance(f.value, tuple):
        value = ", ".join(":".join(str(x) for x in pair) for pair in f.value)
    else:
        value = f"{f.value:g}" if isinstance(f.value, float) else str(f.value)
    what = f"{value} {f.unit}".strip()
    return f"{what} [{f.origin}]{' ' + f.note if f.note else ''}"
