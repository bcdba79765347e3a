"""The command line: one module per command, named here and nowhere else.

Exit codes: 0 fine, 1 findings or differences, 2 input or machine that cannot be used, 130
interrupted.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated, TextIO

import typer

from warploom import __version__
from warploom.cli.style import coloured
from warploom.errors import VerificationError, WarploomError

COMMANDS = (
    "demo",
    "compile",
    "show",
    "verify",
    "repair",
    "simulate",
    "timeline",
    "graph",
    "diff",
    "explore",
    "costs",
    "search",
    "emit",
    "run",
    "bench",
    "check-isa",
    "emulate",
    "doctor",
)


def build_app(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """The application with some commands; each is a module of this package."""
    app = typer.Typer(
        name="warploom",
        help="Compile, prove, simulate, look at and run GPU software-pipeline schedules.",
        epilog="Exit codes: 0 fine, 1 findings or differences, 2 input or machine that cannot be "
        "used, 130 interrupted.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help wraps at any width; tables cut options off
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def _root(
        context: typer.Context,
        version: Annotated[
            bool,
            typer.Option(
                "--version", callback=_version, is_eager=True, help="Show the version and exit."
            ),
        ] = False,
    ) -> None:
        """Keeps commands as subcommands even when there is only one."""
        context.color = coloured() or None

    for name in commands:
        import_module(f"warploom.cli.{name.replace('-', '_')}").register(app)
    return app


def _version(value: bool) -> None:
    if value:
        typer.echo(f"warploom {__version__}")
        raise typer.Exit


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
    os.environ.setdefault("WARPLOOM_QUIET", "1")  # commands tell their progress themselves
    try:
        build_app(needed_commands(sys.argv[1:]))(prog_name="warploom")
    except WarploomError as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        raise SystemExit(1 if isinstance(error, VerificationError) else 2) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise SystemExit(130) from None
    except BrokenPipeError:
        # The reader has seen enough (`| head`). Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
