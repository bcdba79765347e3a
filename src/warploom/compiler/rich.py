"""What notebooks show of compiled kernels: a summary, the kernel, its schedule, code on request."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from warploom.errors import WarploomError

if TYPE_CHECKING:
    from warploom.compiler.compiled import Compiled
    from warploom.ir.counter_dialect import ScheduleDocument


def hopper_html(made: Compiled) -> str:
    """A kernel for Hopper: of one that is not built yet, its source only."""
    parts = [head(repr(made)), folded("kernel", str(made.kernel))]
    if "built" not in made.__dict__:
        return "".join(parts)
    try:
        from warploom.viz.notebook import picture, untitled  # noqa: PLC0415 (drawing loads late)

        parts.append(f"<div>{picture(untitled(made.timeline('svg')))}</div>")
        parts.append(folded("roles", made.after("registers")))
    except WarploomError:
        pass  # it has no pipelined loop
    return "".join((*parts, folded("CUDA", made.cuda)))


def scheduled_html(
    said: str, kernel: str, documents: Sequence[ScheduleDocument], assembly: str
) -> str:
    """A kernel for an AMD chip; of one that is not built yet, no schedules and no assembly."""
    from warploom.viz.notebook import schedule_html  # noqa: PLC0415 (drawing loads late)

    parts = [head(said), folded("kernel", kernel), *map(schedule_html, documents)]
    return "".join([*parts, folded("assembly", assembly)] if assembly else parts)


def head(text: str) -> str:
    """A line in bold."""
    return f"<div><b>{escape(text)}</b></div>"


def folded(name: str, text: str) -> str:
    """Text that opens on a click."""
    return f"<details><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"
