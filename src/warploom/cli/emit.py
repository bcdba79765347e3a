"""``warploom emit TARGET``: one sub-command per back end."""

from __future__ import annotations

import typer

from warploom.cli import emit_gfx950, emit_h200
from warploom.cli.output import spoken

group = typer.Typer(
    name="emit",
    help="Emit a kernel for a target.",
    short_help="A kernel for a target",
    no_args_is_help=True,
)
group.command("gfx950", short_help="A checked MI355X kernel")(spoken(emit_gfx950.command))
group.command("h200", short_help="A Hopper kernel: CUDA text, cubin")(spoken(emit_h200.command))
