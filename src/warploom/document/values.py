"""JSON values of documents, each judged where it stands: ``DocumentError`` names its path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from enum import Enum
from typing import TypeVar

from warploom.errors import DocumentError

MAX_LIST = 100_000
MAX_INT = 10**9
MOST_HZ = 10**12

E = TypeVar("E", bound=Enum)
T = TypeVar("T")


def mapping(
    data: object, path: str, keys: tuple[str, ...], optional: frozenset[str] = frozenset()
) -> Mapping[str, object]:
    """An object with exactly these keys."""
    if not isinstance(data, dict):
        raise DocumentError(f"expected an object, found {kind_of(data)}", path=path)
    for key in data:
        if key not in keys:
            near = get_close_matches(str(key), keys, 1)
            raise DocumentError(
                f"unknown key {str(key)[:80]!r}",
                path=path,
                fix=f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(keys)}",
            )
    for key in keys:
        if key not in data and key not in optional:
            raise DocumentError(f"missing key {key!r}", path=path, fix=f"add {key!r}")
    return data


def listed(data: object, path: str, item: Callable[[object, str], T]) -> tuple[T, ...]:
    """A list of bounded length, item by item."""
    if not isinstance(data, list):
        raise DocumentError(f"expected a list, found {kind_of(data)}", path=path)
    if len(data) > MAX_LIST:
        raise DocumentError(f"more than {MAX_LIST} elements", path=path)
    return tuple(item(value, f"{path}[{i}]") for i, value in enumerate(data))


def whole(data: object, path: str, low: int = -MAX_INT, high: int = MAX_INT) -> int:
    """A whole number in a range."""
    if not isinstance(data, int) or isinstance(data, bool):
        raise DocumentError(f"expected a whole number, found {kind_of(data)}", path=path)
    if not low <= data <= high:
        raise DocumentError(f"a number outside {low}..{high}", path=path)
    return data


def number(data: object, path: str, low: int, high: int) -> float:
    """A number, whole or not."""
    if isinstance(data, bool) or not isinstance(data, int | float) or not low <= data <= high:
        found = data if isinstance(data, int | float) else kind_of(data)
        raise DocumentError(f"expected a number from {low} to {high}, found {found}", path=path)
    return float(data)


def truth(data: object, path: str) -> bool:
    """True or false."""
    if not isinstance(data, bool):
        raise DocumentError(f"expected true or false, found {kind_of(data)}", path=path)
    return data


def words(data: object, path: str) -> str:
    """A text of bounded length."""
    if not isinstance(data, str):
        raise DocumentError(f"expected a text, found {kind_of(data)}", path=path)
    if len(data) > 10_000:
        raise DocumentError("a text of more than 10000 characters", path=path)
    return data


def member(data: object, path: str, kinds: Mapping[str, E]) -> E:
    """A member of an enum, by the word that stands for it."""
    if not isinstance(data, str) or data not in kinds:
        raise DocumentError(
            f"expected one of {', '.join(kinds)}, found {str(data)[:40]!r}", path=path
        )
    return kinds[data]


def kind_of(data: object) -> str:
    """What a JSON value is, in words."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true/false", int: "a number"}
    return "null" if data is None else names.get(type(data), type(data).__name__)
