"""Frozen values as JSON and back: the form of each follows from its dataclass.

So a field is described once. Fields that came later (``_OPTIONAL``) may be missing and are written
only where they say something; a ``reason`` may always be missing.
"""

# ruff: noqa: ANN401  # the form is read off type hints, so values pass through untyped
from __future__ import annotations

from dataclasses import MISSING, fields
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from warploom.document import flow, roles
from warploom.document.machine import RoleCosts, RoleOpCost
from warploom.document.machine_json import clock
from warploom.document.roles import RoleEntry, RolesDocument
from warploom.document.values import (
    MAX_LIST,
    kind_of,
    mapping,
    member_valued,
    truth,
    whole,
    words,
)
from warploom.errors import DocumentError

T = TypeVar("T")

ENTRY_KINDS: dict[str, type] = {c.__name__: c for c in get_args(RoleEntry)}
_NON_NEGATIVE = {
    "depth",
    "offset",
    "bytes",
    "pending",
    "peel",
    "full_arrivals",
    "empty_arrivals",
    "back",
    "issue",
    "occupancy",
    "latency",
    "ahead",
    "handoff",
    "arrive",
    "barrier_handoff",
}
_POSITIVE = {"instances", "threads", "multicast", "ctas", "cluster", "copies", "count"}
_BIT = {"parity"}
_OPTIONAL: dict[type, frozenset[str]] = {
    roles.Arrive: frozenset({"side"}),
    roles.Compute: frozenset({"fills_slots"}),
    roles.BulkStore: frozenset({"k", "reduce"}),
    roles.RoleProgram: frozenset({"most_registers"}),
    RolesDocument: frozenset({"tile", "dtype", "flow", "costs", "machine"}),
    RoleCosts: frozenset({"clock_hz"}),
    RoleOpCost: frozenset({"ahead"}),
}


def plain(value: Any) -> Any:
    """A value as JSON-ready dicts and lists."""
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    if type(value).__name__ in ENTRY_KINDS:
        return {"entry": type(value).__name__, **_plain_fields(value)}
    if hasattr(type(value), "__dataclass_fields__"):
        return _plain_fields(value)
    return value


def _plain_fields(value: Any) -> dict[str, Any]:
    optional = _optional_fields(type(value))  # type: ignore[arg-type]
    return {
        f.name: plain(getattr(value, f.name))
        for f in fields(value)
        if f.name not in optional or getattr(value, f.name) != f.default
    }


@cache
def _optional_fields(cls: type) -> frozenset[str]:
    """Fields that are written only where they differ from their default."""
    if cls.__module__ == flow.__name__:
        return frozenset(f.name for f in fields(cls) if f.default is not MISSING)
    return _OPTIONAL.get(cls, frozenset())


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def record(data: object, path: str, cls: type[T]) -> T:
    """A value of a class from parsed JSON."""
    hints = _hints(cls)  # type: ignore[arg-type]  # a class is hashable
    optional = _optional_fields(cls)  # type: ignore[arg-type]
    found = mapping(data, path, tuple(hints), optional | {"reason"})
    return cls(**{k: _read(v, f"{path}.{k}", hints[k], k) for k, v in found.items()})


def _entry(data: object, path: str) -> RoleEntry:
    if not isinstance(data, dict):
        raise DocumentError(f"expected an object, found {kind_of(data)}", path=path)
    name = data.get("entry")
    if not isinstance(name, str) or name not in ENTRY_KINDS:
        raise DocumentError(
            f"unknown entry {str(name)[:40]!r}",
            path=f"{path}.entry",
            fix=f"known: {', '.join(ENTRY_KINDS)}",
        )
    rest = {k: v for k, v in data.items() if k != "entry"}
    entry: RoleEntry = record(rest, path, ENTRY_KINDS[name])
    return entry


def _read(data: object, path: str, kind: Any, key: str) -> Any:  # noqa: PLR0911
    if kind is int:
        return _number(data, path, key)
    if kind is float:  # there is one
        return clock(data, path)
    if kind is str:
        return words(data, path)
    if kind is bool:
        return truth(data, path)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return member_valued(data, path, kind)
    if get_origin(kind) is tuple:
        return _sequence(data, path, get_args(kind), key)
    if isinstance(kind, UnionType):
        return _optional(data, path, kind, key)
    return record(data, path, kind)


def _optional(data: object, path: str, kind: UnionType, key: str) -> Any:
    options = get_args(kind)
    if type(None) not in options:
        return _entry(data, path)
    if data is None:
        return None
    return _read(data, path, next(o for o in options if o is not type(None)), key)


def _sequence(data: object, path: str, kinds: tuple[Any, ...], key: str) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise DocumentError(f"expected a list, found {kind_of(data)}", path=path)
    if len(data) > MAX_LIST:
        raise DocumentError(f"more than {MAX_LIST} elements", path=path)
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(data)
    if len(kinds) != len(data):
        raise DocumentError(f"expected {len(kinds)} elements, found {len(data)}", path=path)
    return tuple(
        _read(v, f"{path}[{i}]", kind, key)
        for i, (v, kind) in enumerate(zip(data, kinds, strict=True))
    )


def _number(data: object, path: str, key: str) -> int:
    if key in _BIT:
        return whole(data, path, 0, 1)
    if key in _POSITIVE:
        return whole(data, path, 1, 4096)
    if key in _NON_NEGATIVE:
        return whole(data, path, 0)
    return whole(data, path)
