"""Colour on a terminal only, and how wide it is."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import Annotated

import typer

_CODES = {
    "title": "1",
    "note": "2",
    "wait": "33",
    "barrier": "90",
    "fence": "90",
    "signal": "32",
    "GLOBAL_LOAD": "34",
    "SHARED_STORE": "35",
    "FRAGMENT_LOAD": "36",
    "COMPUTE": "1;33",
    "VALU_COMPUTE": "32",
    "good": "1;32",
    "bad": "1;31",
    "added": "32",
    "removed": "31",
}
PIPED = 120
LEAST = 60

WidthOption = Annotated[
    int | None,
    typer.Option(min=LEAST, help="Columns of the output; default: the terminal's, 120 in a pipe."),
]


def coloured() -> bool:
    """Whether colour is wanted: on a terminal, unless NO_COLOR is set; FORCE_COLOR insists."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, kind: str) -> str:
    """Text in the colour of its kind, where colour is wanted."""
    code = _CODES.get(kind)
    return f"\x1b[{code}m{text}\x1b[0m" if code and text and coloured() else text


def wrapped(head: str, text: str, width: int) -> list[str]:
    """A text under its head, in lines that fit."""
    indent = " " * len(head)
    return textwrap.wrap(text, width, initial_indent=head, subsequent_indent=indent) or [head]


def columns(given: int | None = None) -> int:
    """How many columns to write."""
    if given is not None:
        return given
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return max(LEAST, shutil.get_terminal_size((PIPED, 24)).columns)
    return PIPED
