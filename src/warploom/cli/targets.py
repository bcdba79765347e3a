"""``--target``, the machine a command prices on, and ``costs``: its numbers and their origins."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from warploom.cli.author import called, user_object
from warploom.cli.screen import Answer, wrapped
from warploom.document.machine import MachineCosts
from warploom.errors import ConfigError
from warploom.seed.target.cost import TargetProfile
from warploom.target.described import SHIPPED
from warploom.target.figures import Figure, figures_of
from warploom.target.h200 import HopperTarget, h100, h200
from warploom.target.mi355x import mi355x
from warploom.target.seed_model import seed_model

Target = HopperTarget | TargetProfile | MachineCosts
CHIP = "mi355x"


def find_target(spec: str) -> Target | None:
    """The target a spec names; None stands for the chip itself, priced by tile."""
    if spec == CHIP:
        return None
    if spec in SHIPPED:
        return SHIPPED[spec]()
    if ":" not in spec:
        raise ConfigError(
            f"there is no target {spec!r}",
            where="--target",
            fix=f"{', '.join((*SHIPPED, CHIP))}, or file.py:object",
        )
    found = user_object(spec)
    if not isinstance(found, Target):
        found = called(found, spec) if callable(found) else found
    if not isinstance(found, Target):
        raise ConfigError(
            f"{spec} is a {type(found).__name__}",
            where="--target",
            fix="a HopperTarget, a TargetProfile or MachineCosts, or a function that returns one",
        )
    return found


def hopper(spec: str, target: Target | None) -> HopperTarget:
    """The target for a Hopper kernel; refuses machines with counters."""
    if isinstance(target, HopperTarget):
        return target
    raise ConfigError(
        f"{spec} is a Hopper kernel, the target is {getattr(target, 'name', CHIP)}",
        where="--target",
        why="role programs are priced by a HopperTarget",
        fix="h200, h100, or one made with dataclasses.replace in a file of yours",
    )


def machine(spec: str, target: Target | None) -> MachineCosts | None:
    """The machine for a counter schedule; refuses Hopper parts."""
    if isinstance(target, HopperTarget):
        raise ConfigError(
            f"{spec} is a counter schedule, the target is {target.name}",
            where="--target",
            why="Hopper parts have no wait counters",
            fix="mi355x, or a TargetProfile or MachineCosts in a file of yours",
        )
    if isinstance(target, TargetProfile):
        return target.machine or MachineCosts(name=f"{target.name} model")
    return target


TARGETS = {"h200": h200, "h100": h100, "mi355x": mi355x, "seed": seed_model}


def costs_command(
    target: Annotated[
        str, typer.Argument(help="h200, h100, mi355x, seed (relative prices), file.py:object.")
    ] = "h200",
) -> Answer:
    """List the numbers of a target with their origins: document, measurement, fit, assumption."""
    if target not in TARGETS and ":" not in target:
        raise ConfigError(f"no target {target!r}", fix=f"{', '.join(TARGETS)}, or file.py:object")
    found = TARGETS[target]() if target in TARGETS else hopper(target, find_target(target))
    figures = list(figures_of(found))
    wide = min(28, max(len(f.name) for f in figures))
    lines = (line for f in figures for line in wrapped(f"{f.name:<{wide}}  ", _words(f)))
    return Answer(lambda: "\n".join(lines), lambda: [asdict(f) for f in figures])


def _words(f: Figure) -> str:
    if isinstance(f.value, tuple):
        value = ", ".join(":".join(str(x) for x in pair) for pair in f.value)
    else:
        value = f"{f.value:g}" if isinstance(f.value, float) else str(f.value)
    what = f"{value} {f.unit}".strip()
    return f"{what} [{f.origin}]{' ' + f.note if f.note else ''}"
