"""Checking one value of a constructor: its type and its range, with an error that names the field.

Names of enum members as strings, and their numbers, are refused everywhere; the error says which
member was probably meant.
"""

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

from warploom.errors import ConfigError, WarploomError

Errors = type[WarploomError]
_NONE: Mapping[str, Any] = MappingProxyType({})


def integer(
    value: object,
    name: str,
    owner: str,
    *,
    least: int | None = None,
    most: int | None = None,
    error: Errors = ConfigError,
    why: str = "",
) -> None:
    """Refuse anything but a whole number between ``least`` and ``most``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise error(
            f"{name} = {shown(value)} is no whole number",
            where=f"{owner}.{name}",
            why=why or "it counts things",
            fix=f"give an int{_span(least, most)}",
        )
    if least is not None and value < least:
        what = "is negative" if least == 0 else f"is below {least}"
        raise error(
            f"{name} = {shown(value)} {what}",
            where=f"{owner}.{name}",
            why=why,
            fix=f"give a number >= {least}",
        )
    if most is not None and value > most:
        raise error(
            f"{name} = {shown(value)} is above {most}",
            where=f"{owner}.{name}",
            why=why,
            fix=f"give a number <= {most}",
        )


def check_fields(
    record: object,
    *,
    least: int | None = 0,
    bounds: Mapping[str, tuple[int | None, int | None]] = _NONE,
    why: Mapping[str, str] = _NONE,
    error: Errors = ConfigError,
) -> None:
    """Every field of a record is a value of its declared type, every number in its range.

    Numbers are at least ``least``, or within their own ``bounds``. Fields of several types are
    left to the record itself.
    """
    cls: Any = type(record)
    owner = cls.__name__
    for name, kind, inside in _declared(cls):
        value = getattr(record, name)
        if inside is not None:
            all_of(value, inside, name, owner, error=error)
        elif kind is int:
            low, high = bounds.get(name, (least, None))
            said = why.get(name, "")
            integer(value, name, owner, least=low, most=high, error=error, why=said)
        elif kind is bool:
            boolean(value, name, owner, error=error)
        elif issubclass(kind, Enum):
            member(value, kind, name, owner, error=error)
        else:
            instance(value, kind, name, owner, error=error)


@cache
def _declared(cls: type) -> tuple[tuple[str, type, type | None], ...]:
    """Fields of one type; of a tuple of any length, also the type of what is in it."""
    hints = get_type_hints(cls)
    found: list[tuple[str, type, type | None]] = []
    for field in fields(cls):
        kind, args = hints[field.name], get_args(hints[field.name])
        if isinstance(kind, type) and not args:
            found.append((field.name, kind, None))
        elif args and args[-1] is Ellipsis and isinstance(args[0], type):
            found.append((field.name, tuple, args[0]))
    return tuple(found)


def boolean(value: object, name: str, owner: str, *, error: Errors = ConfigError) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        raise error(
            f"{name} = {shown(value)} is neither True nor False",
            where=f"{owner}.{name}",
            why="a word or number that merely counts as true may mean the opposite",
            fix="give True or False",
        )


def member(
    value: object, kind: type[Enum], name: str, owner: str, *, error: Errors = ConfigError
) -> None:
    """Refuse anything but a member of an enum."""
    if isinstance(value, kind):
        return
    meant = next((m for m in kind if value in (m.value, m.name, m.name.lower())), None)
    known = ", ".join(m.name for m in kind)
    raise error(
        f"{name} = {shown(value)} is no {kind.__name__}",
        where=f"{owner}.{name}",
        why="names and numbers of members are not taken for the members themselves",
        fix=f"give {kind.__name__}.{meant.name}" if meant else f"one of {kind.__name__}: {known}",
    )


def instance(
    value: object,
    kinds: type | tuple[type, ...],
    name: str,
    owner: str,
    *,
    error: Errors = ConfigError,
) -> None:
    """Refuse anything but a value of the given types."""
    if isinstance(value, kinds):
        return
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    raise error(
        f"{name} = {shown(value)} is no {' or '.join(k.__name__ for k in wanted)}",
        where=f"{owner}.{name}",
        why=f"it is a value of type {type(value).__name__}",
        fix=f"give a {' or a '.join(k.__name__ for k in wanted)}",
    )


def all_of(
    values: object,
    kind: type | tuple[type, ...],
    name: str,
    owner: str,
    *,
    error: Errors = ConfigError,
) -> None:
    """Refuse anything but a list or tuple of values of one type."""
    instance(values, (list, tuple), name, owner, error=error)
    assert isinstance(values, list | tuple)
    for i, value in enumerate(values):
        instance(value, kind, f"{name}[{i}]", owner, error=error)


def numbers(values: object, count: int, name: str, owner: str, *, least: int) -> None:
    """Refuse anything but so many whole numbers."""
    instance(values, (tuple, list), name, owner)
    assert isinstance(values, tuple | list)
    if len(values) != count:
        raise ConfigError(
            f"{name} = {shown(values)} is not {count} numbers", where=f"{owner}.{name}"
        )
    for i, value in enumerate(values):
        integer(value, f"{name}[{i}]", owner, least=least)


def shown(value: object) -> str:
    """A short form of any value, even of one that cannot describe itself."""
    try:
        said = repr(value)
    except Exception:
        said = f"a {type(value).__name__}"
    return said if len(said) <= 60 else f"{said[:57]}..."


def _span(least: int | None, most: int | None) -> str:
    if least is None and most is None:
        return ""
    if most is None:
        return f" >= {least}"
    return f" in {least}..{most}"
