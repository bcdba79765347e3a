"""``--target``: the machine a command prices on, and of a Hopper kernel derives for."""

from __future__ import annotations

from warploom.cli.author import called, user_object
from warploom.document.machine import MachineCosts
from warploom.errors import ConfigError
from warploom.seed.target.cost import TargetProfile
from warploom.target.described import SHIPPED
from warploom.target.h200 import HopperTarget

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
