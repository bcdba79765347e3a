"""The command line: one module per command, named here and nowhere else.

Exit codes: 0 fine, 1 findings or differences, 2 input that cannot be used, 130 interrupted.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TextIO

import typer

from warploom.errors import VerificationError, WarploomError

COMMANDS = (
    "compile",
    "show",
    "verify",
    "repair",
    "simulate",
    "timeline",
    "graph",
    "diff",
    "explore",
    "emit",
    "check-isa",
    "emulate",
    "doctor",
)


def build_app(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """The application with some commands; each is a module of this package."""
    app = typer.Typer(
        name="warploom",
        help="Compile, prove, simulate and look at GPU software-pipeline schedules.",
        epilog="Exit codes: 0 fine, 1 findings or differences, 2 unusable input, 130 interrupted.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )

    @app.callback()
    def _root() -> None:
        """Keeps commands as subcommands even when there is only one."""

    for name in commands:
        import_module(f"warploom.cli.{name.replace('-', '_')}").register(app)
    return app


def needed_commands(arguments: Sequence[str]) -> Sequence[str]:
    """The one command asked for, so that others' rooms need not load; all for help."""
    first = arguments[0] if arguments else ""
    return (first,) if first in COMMANDS else COMMANDS


def _say(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning in one line, without the place in our code that gave it."""
    typer.echo(f"{category.__name__}: {message}", err=True)


def main() -> None:
    """Entry point of the ``warploom`` command: errors speak, nothing ends in a traceback."""
    warnings.showwarning = _say
    try:
        build_app(needed_commands(sys.argv[1:]))()
    except WarploomError as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        raise SystemExit(1 if isinstance(error, VerificationError) else 2) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise SystemExit(130) from None
