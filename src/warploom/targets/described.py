"""Hopper targets in words: in which figures one differs from a shipped part, and back again.

A document of roles names its target; one made for a target of the user's own carries these words
too, so that whoever reads it can derive, price and emit for the same machine.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from warploom.errors import ConfigError
from warploom.targets.h200 import HOPPER, HopperTarget

BASE = "is"


def differences(target: HopperTarget) -> tuple[tuple[str, str], ...]:
    """Dotted names of figures with their values; nothing for a shipped part itself."""
    if target.name in HOPPER and HOPPER[target.name]() == target:
        return ()
    found = [(name, tuple(_changes(target, part()))) for name, part in HOPPER.items()]
    name, changes = min(found, key=lambda item: len(item[1]))
    return ((BASE, name), *changes)


def described(name: str, words: Sequence[tuple[str, str]]) -> HopperTarget | None:
    """The target of that name and those differences; None where it is not known."""
    if not words:
        return HOPPER[name]() if name in HOPPER else None
    given = dict(words)
    base = given.pop(BASE, "")
    if base not in HOPPER:
        raise ConfigError(
            f"target {name!r} is no {base!r}", where="machine", fix=", or ".join(HOPPER)
        )
    target = HOPPER[base]()
    for path, value in given.items():
        target = _with(target, path.split("."), path, value)
    return replace(target, name=name)


def _changes(mine: Any, base: Any, path: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401
    for field in fields(mine):
        here, there = getattr(mine, field.name), getattr(base, field.name)
        if is_dataclass(here):
            yield from _changes(here, there, f"{path}{field.name}.")
        elif here != there and (path or field.name != "name"):
            yield f"{path}{field.name}", json.dumps(here)


def _with(value: Any, names: list[str], path: str, text: str) -> Any:  # noqa: ANN401
    """The value with one figure changed; a figure it does not have is refused."""
    first, *rest = names
    if not is_dataclass(value) or first not in {f.name for f in fields(value)}:
        raise ConfigError(f"a target has no figure {path!r}", where="machine")
    old = getattr(value, first)
    new = _with(old, rest, path, text) if rest else _like(old, path, text)
    return replace(value, **{first: new})  # type: ignore[type-var]


def _like(old: Any, path: str, text: str) -> Any:  # noqa: ANN401
    """A figure from its text, of the same kind as before."""
    try:
        new = json.loads(text)
    except ValueError:
        new = None
    if isinstance(old, tuple) and isinstance(new, list):
        new = tuple(tuple(x) if isinstance(x, list) else x for x in new)
    kinds = (int, float) if isinstance(old, float) else (type(old),)
    if isinstance(new, bool) != isinstance(old, bool) or not isinstance(new, kinds):
        raise ConfigError(f"{text[:40]!r} is no value of {path!r}", where="machine")
    return new
