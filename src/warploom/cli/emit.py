"""``warploom emit TARGET``: one sub-command per back end."""

from __future__ import annotations

import typer

from warploom.cli import emit_gfx950, emit_h200


def register(app: typer.Typer) -> None:
    """Add the group to the application."""
    group = typer.Typer(name="emit", help="Emit a kernel for a target.", no_args_is_help=True)
    group.callback()(_group)
    emit_gfx950.register(group)
    emit_h200.register(group)
    app.add_typer(group)


def _group() -> None:
    """Keeps back ends as sub-commands even when there is only one."""
