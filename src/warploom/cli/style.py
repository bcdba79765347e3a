"""The screen: colour on a terminal only, lines that fit, and quiet ends."""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextvars import ContextVar
from typing import Annotated, TextIO

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
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_HEAD = re.compile(r"\s*(?:where |\S.*?\s{2,})?")  # what further lines are set under
PIPED = 120
LEAST = 60
_width: ContextVar[int | None] = ContextVar("width", default=None)


def _take(width: int | None) -> int | None:
    _width.set(width)
    return width


WidthOption = Annotated[
    int | None,
    typer.Option(
        min=LEAST,
        is_eager=True,
        callback=_take,
        help="Columns of the output; default: the terminal's, 120 in a pipe.",
    ),
]


def columns(stream: TextIO | None = None) -> int:
    """How many columns to write: those asked for, else the terminal's."""
    asked, stream = _width.get(), stream or sys.stdout
    if asked is not None:
        return asked
    if "COLUMNS" not in os.environ and stream.isatty():
        return max(LEAST, os.get_terminal_size(stream.fileno()).columns)
    piped = shutil.get_terminal_size((PIPED, 24)).columns if "COLUMNS" in os.environ else PIPED
    return max(LEAST, piped)


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


def wrapped(head: str, text: str, width: int | None = None) -> list[str]:
    """A text under its head, in lines that fit; a word too long, such as a path, stays whole."""
    width = width or columns()
    if _seen(head + text) <= width:
        return [(head + text).rstrip()]
    lines, now, empty = [], head, True
    for word in text.split():
        if not empty and _seen(now) + _seen(word) > width:
            lines.append(now.rstrip())
            now = " " * _seen(head)
        now, empty = f"{now}{word} ", False
    return [*lines, now.rstrip()]


def fit(text: str, width: int | None = None) -> str:
    """A text with every line that is too long broken between words, under where it began."""
    width = width or columns()
    lines: list[str] = []
    for line in text.split("\n"):
        if _seen(line) <= width:
            lines.append(line)
            continue
        head = _HEAD.match(line)[0]  # type: ignore[index]
        if _seen(head) > width // 2:
            head = line[: len(line) - len(line.lstrip())]
        lines += wrapped(head, line[len(head) :], width)
    return "\n".join(lines)


def _seen(text: str) -> int:
    return len(_ESCAPE.sub("", text))


def say(text: str, *, err: bool = False) -> None:
    """Write a text that people read: lines that fit, characters that the stream can carry."""
    stream = sys.stderr if err else sys.stdout
    encoding = stream.encoding or "utf-8"
    fitting = fit(text, columns(stream))
    write(fitting.encode(encoding, "backslashreplace").decode(encoding), err=err)


def write(text: str, *, err: bool = False) -> None:
    """Write a text as it is; a reader that has seen enough (``| head``) is no error."""
    try:
        typer.echo(text, err=err, nl=not text.endswith("\n"))
    except BrokenPipeError:
        # Python would complain again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())
        raise typer.Exit(0) from None
