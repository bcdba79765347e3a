"""Reading and writing the multi-program form of ``warploom.schedule/1``: strict and canonical.

The form of each value follows from its dataclass, so a field is described once. Unknown and missing
keys, wrong types, names of rings, parts, buffers or barriers that are not declared, and
out-of-range numbers raise ``DocumentError`` with the path inside the document. Fields that came
later (``_OPTIONAL``) may be missing and are written only where they say something; a ``reason``
may always be missing.
"""

# ruff: noqa: ANN401  # the form is read off type hints, so values pass through untyped
from __future__ import annotations

import json
from dataclasses import MISSING, fields
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from warploom.document import flow, roles
from warploom.document.checks import check_document
from warploom.document.counters import SCHEMA
from warploom.document.machine import RoleCosts, RoleOpCost
from warploom.document.machine_json import clock
from warploom.document.reader import parse_json
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
MAX_VALUES = 250_000
"""Values (numbers, texts, lists, objects) a document of roles may hold."""
_OPTIONAL: dict[type, frozenset[str]] = {
    roles.Arrive: frozenset({"side"}),
    roles.Compute: frozenset({"fills_slots"}),
    roles.BulkStore: frozenset({"k", "reduce"}),
    roles.RoleProgram: frozenset({"most_registers"}),
    RolesDocument: frozenset({"tile", "dtype", "flow", "costs", "machine"}),
    RoleCosts: frozenset({"clock_hz"}),
    RoleOpCost: frozenset({"ahead"}),
}


def read_roles(text: str | bytes) -> RolesDocument:
    """Parse a multi-program document; ``DocumentError`` on anything that is not the form."""
    return roles_from_json(parse_json(text))


def roles_from_json(data: object) -> RolesDocument:
    """Build a document from parsed JSON."""
    if not isinstance(data, dict):
        raise DocumentError(f"expected an object, found {kind_of(data)}", path="$")
    if "schema" not in data:
        raise DocumentError("missing key 'schema'", path="$", fix="add 'schema'")
    if data["schema"] != SCHEMA:
        raise DocumentError(
            f"unknown schema {str(data['schema'])[:80]!r}",
            path="$.schema",
            fix=f"expected {SCHEMA!r}",
        )
    _check_size(data)
    document = _record({k: v for k, v in data.items() if k != "schema"}, "$", RolesDocument)
    check_document(document)
    return document


def _check_size(data: object) -> None:
    """Refuse what would take long to read: no schedule has so many parts."""
    count, stack = 0, [data]
    while stack:
        value = stack.pop()
        count += 1
        if count > MAX_VALUES:
            raise DocumentError(f"more than {MAX_VALUES} values", path="$")
        if isinstance(value, dict):
            stack += value.values()
        elif isinstance(value, list):
            stack += value


def roles_to_json(document: RolesDocument) -> dict[str, Any]:
    """The document as JSON-ready dicts and lists."""
    plain: dict[str, Any] = _plain(document)
    return {"schema": SCHEMA, **plain}


def write_roles(document: RolesDocument) -> str:
    """The canonical text, one entry a line; reading and writing it gives the same bytes."""
    return _layout(roles_to_json(document), 0) + "\n"


def is_roles_json(data: object) -> bool:
    """True for the multi-program form: it has ``programs`` where the other has three lists."""
    return isinstance(data, dict) and "programs" in data


def _layout(value: Any, depth: int) -> str:
    nested = depth < 4 and isinstance(value, dict | list) and value
    if not nested or (isinstance(value, dict) and depth > 2):
        return json.dumps(value)
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        items = [f"{json.dumps(k)}: {_layout(v, depth + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(pad + i for i in items) + "\n" + " " * depth + "}"
    items = [_layout(v, depth + 1) for v in value]
    return "[\n" + ",\n".join(pad + i for i in items) + "\n" + " " * depth + "]"


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if type(value).__name__ in ENTRY_KINDS:
        return {"entry": type(value).__name__, **_plain_fields(value)}
    if hasattr(type(value), "__dataclass_fields__"):
        return _plain_fields(value)
    return value


def _plain_fields(value: Any) -> dict[str, Any]:
    optional = _optional_fields(type(value))  # type: ignore[arg-type]
    return {
        f.name: _plain(getattr(value, f.name))
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


def _record(data: object, path: str, cls: type[T]) -> T:
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
    entry: RoleEntry = _record(rest, path, ENTRY_KINDS[name])
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
    return _record(data, path, kind)


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
