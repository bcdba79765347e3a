"""Writing what a command made: to a file if asked, else to standard output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from warploom.errors import BackendError


def deliver(text: str, output: Path | None, what: str) -> None:
    """Write ``text`` to ``output``, or print it."""
    if output is None:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    write_file(output, text)
    typer.echo(f"{what}: {output}")


def one_or_all(loops: list[Any]) -> str:
    """JSON of what each loop of a tile gave: of one loop as it is, of several a list."""
    return json.dumps(loops[0] if len(loops) == 1 else loops)


def read_bytes(path: Path) -> bytes:
    """A file's content; what stands in the way is said without a traceback."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise BackendError(f"cannot read {path}: {error.strerror}") from None


def write_file(path: Path, text: str | bytes) -> None:
    """Write a file; what stands in the way is said without a traceback."""
    try:
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BackendError(f"cannot write {path}: {error.strerror}") from None
