"""Reading and writing the multi-program form of ``warploom.schedule/1``: strict and canonical.

Unknown and missing keys, wrong types, names of rings, parts, buffers or barriers that are not
declared, and out-of-range numbers raise ``DocumentError`` with the path inside the document.
"""

# ruff: noqa: ANN401  # the form is read off type hints, so values pass through untyped
from __future__ import annotations

import json
from typing import Any

from warploom.document.checks import check_document
from warploom.document.counters import SCHEMA
from warploom.document.reader import check_schema, parse_json
from warploom.document.records import plain, record
from warploom.document.roles import RolesDocument
from warploom.errors import DocumentError

MAX_VALUES = 250_000
"""Values (numbers, texts, lists, objects) a document of roles may hold."""


def read_roles(text: str | bytes) -> RolesDocument:
    """Parse a multi-program document; ``DocumentError`` on anything that is not the form."""
    return roles_from_json(parse_json(text))


def roles_from_json(data: object) -> RolesDocument:
    """Build a document from parsed JSON."""
    check_schema(data)
    _check_size(data)
    document = record(data, "$", RolesDocument, ("schema",))
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
    return {"schema": SCHEMA, **plain(document)}


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
