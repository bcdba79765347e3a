"""The command line: one module per command, registered here and nowhere else."""

from __future__ import annotations

import typer

from warploom.cli import verify

app = typer.Typer(
    name="warploom",
    help="Compile, prove and run GPU software-pipeline schedules.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Keeps commands as subcommands even when there is only one."""


verify.register(app)


def main() -> None:
    """Entry point of the ``warploom`` command."""
    app()
