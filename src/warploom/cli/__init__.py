"""The command line: its commands are named here and nowhere else.

Exit codes: 0 fine, 1 findings or differences, 2 input or machine that cannot be used, 130
interrupted.
"""

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextvars import copy_context
from importlib import import_module
from io import StringIO
from typing import Annotated, TextIO

import typer

from warploom import __version__
from warploom.cli.screen import coloured, say, spoken
from warploom.errors import VerificationError, WarploomError
from warploom.garbage import few_collections

COMMANDS = {  # each with what it does, in 60 columns
    "demo": "What warploom does, on one screen",
    "compile": "Compile, verify, write a document",
    "show": "Every entry with its reason",
    "verify": "Verify for every timing and trip count",
    "check": "Races in PTX or AMDGCN, no GPU",
    "repair": "The nearest schedule without races",
    "simulate": "Pace, utilisation, stalls, causes",
    "timeline": "A run as text, SVG, page or trace",
    "graph": "Dependences and what limits the loop",
    "diff": "Two schedules side by side",
    "explore": "Rank sources, tiles or a sweep",
    "costs": "A target's numbers and their origins",
    "search": "The best schedule, by measure",
    "emit": "A kernel for a target",
    "run": "Execute and compare with NumPy",
    "bench": "Time on a GPU against the library",
    "check-isa": "Is the assembly its schedule?",
    "emulate": "Run MI355X code under bad timings",
    "cache": "What is kept on disk; empty it",
    "doctor": "What is installed, what it enables",
    "mcp": "Tools for coding agents, on stdio",
}
HOMES = {  # modules of commands that have none of their own name
    "compile": "show",
    "repair": "verify",
    "costs": "author",
    "simulate": "timeline",
    "diff": "graph",
    "bench": "run",
    "check-isa": "gfx950",
    "emulate": "gfx950",
}


def build_app(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """The application; of the commands that are not asked for only name and help are there."""
    app = typer.Typer(
        name="warploom",
        help="Compile, verify, simulate, show and run GPU software-pipeline schedules.",
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

    wanted = set(commands)
    for name, short_help in COMMANDS.items():
        if name not in wanted:
            app.command(name, short_help=short_help)(_not_loaded)
            continue
        plain = name.replace("-", "_")
        module = import_module(f"warploom.cli.{HOMES.get(name, plain)}")
        if name == "emit":
            app.add_typer(module.group)
        else:
            command = getattr(module, f"{plain}_command")
            app.command(name, short_help=short_help)(spoken(command))
    return app


def _not_loaded() -> None:
    """Stands for a command that was not asked for: its modules need not load."""


def _version(value: bool) -> None:
    if value:
        say(f"warploom {__version__}")
        raise typer.Exit


def needed_commands(arguments: Sequence[str]) -> Sequence[str]:
    """The one command asked for, so that modules of others need not load; all for completion."""
    if "_WARPLOOM_COMPLETE" in os.environ:
        return tuple(COMMANDS)
    first = arguments[0] if arguments else ""
    return (first,) if first in COMMANDS else ()


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning without the place in our code that gave it."""
    say(f"{category.__name__}: {message}", err=True)


def main() -> None:
    """Entry point of the ``warploom`` command: errors speak, nothing ends in a traceback."""
    _open_closed_streams()
    warnings.showwarning = _warn
    os.environ.setdefault("WARPLOOM_QUIET", "1")  # commands tell their progress themselves
    with few_collections():
        code = copy_context().run(_main)
    raise SystemExit(code)


def _open_closed_streams() -> None:
    """Streams that the caller closed (``>&-``) take what is written and drop it."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 (stays open)


def _main() -> int:
    """The exit code of the command that was asked for."""
    try:
        app = build_app(needed_commands(sys.argv[1:]))
        return app(prog_name="warploom", standalone_mode=False) or 0
    except WarploomError as error:
        say(f"{type(error).__name__}: {error}", err=True)
        return 1 if isinstance(error, VerificationError) else 2
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted", err=True)
        return 130
    except Exception as error:
        if not hasattr(error, "format_message"):  # an error of the command line itself
            raise
        text = StringIO()
        error.show(text)  # type: ignore[attr-defined]
        say(text.getvalue(), err=True)
        return 2
