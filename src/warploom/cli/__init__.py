"""The command line: one module per command, registered here and nowhere else."""

from __future__ import annotations

import typer

from warploom.cli import compile as compile_command
from warploom.cli import repair, show, verify
from warploom.errors import VerificationError, WarploomError

app = typer.Typer(
    name="warploom",
    help="Compile, prove and run GPU software-pipeline schedules.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Keeps commands as subcommands even when there is only one."""


for command in (compile_command, repair, show, verify):
    command.register(app)


def main() -> None:
    """Entry point of the ``warploom`` command: errors speak, nothing ends in a traceback."""
    try:
        app()
    except WarploomError as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        raise SystemExit(1 if isinstance(error, VerificationError) else 2) from None
