"""One schema, two dialects: strict bounded reading and canonical writing of documents.

A document may come from anywhere. Unknown and missing keys, wrong types, out-of-range numbers and
names that are not declared raise ``DocumentError`` with the path inside the document; nothing else
escapes.

A document of ``warploom.schedule/1`` either has three lists of entries for all waves, which wait on
counters, or a program for each role, which wait on mbarriers. ``read_schedule`` tells them apart by
what they hold and returns the value of its dialect.
"""

from __future__ import annotations

import json
from typing import Any, Protocol, runtime_checkable

from warploom.errors import DocumentError
from warploom.ir.counter_dialect import SCHEMA, ScheduleDocument
from warploom.ir.dataflow import SETUP, STORE, WAVE
from warploom.ir.document_checks import check_document, check_flow
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.records import kind_of, plain, record
from warploom.ir.schedule_ops import Phase

MAX_TEXT = 24 * 1024 * 1024
MAX_OPENED = 400_000
MAX_COMMAS = 4_000_000
MAX_VALUES = 250_000  # numbers, texts, lists, objects of a document of roles


def parse_json(text: str | bytes) -> object:
    """The JSON value of a document's text, of bounded size and without repeated keys."""
    if not isinstance(text, str | bytes | bytearray):
        raise DocumentError(
            f"a {type(text).__name__} is no text of a document", fix="pass path.read_text()"
        )
    if len(text) > MAX_TEXT:
        raise DocumentError(f"the document is larger than {MAX_TEXT} bytes")
    # Refuse a text whose values would take long to build: counted before anything is built
    marks = (b"{", b"[", b",") if isinstance(text, bytes) else ("{", "[", ",")
    opened = text.count(marks[0]) + text.count(marks[1])  # type: ignore[arg-type]
    if opened > MAX_OPENED or text.count(marks[2]) > MAX_COMMAS:  # type: ignore[arg-type]
        raise DocumentError(
            f"more than {MAX_OPENED} lists and objects, or {MAX_COMMAS} elements",
            fix="a schedule is far smaller",
        )
    try:
        data: object = json.loads(text, object_pairs_hook=_no_duplicates)
    except DocumentError:
        raise
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"not a JSON document: {error}") from None
    return data


def schedule_from_json(data: object) -> Schedule:
    """Build a document of either dialect from parsed JSON: programs of roles make the one."""
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
    if "programs" in data:
        _check_size(data)
        roles = record(data, "$", RolesDocument, ("schema",))
        check_document(roles)
        return roles
    document = record(data, "$", ScheduleDocument, ("schema",))
    groups, tails = document.protocol.groups, len(document.protocol.tail_barriers)
    if tails != groups:
        raise DocumentError(
            f"tail_barriers has {tails} numbers for {groups} group(s)",
            path="$.protocol.tail_barriers",
            fix="give one number per group",
        )
    for phase in Phase:
        name = phase.name.lower()
        for i, entry in enumerate(document.phase(phase)):
            if entry.phase is not phase:
                raise DocumentError(
                    f"an entry of phase {entry.phase.name} stands in the {name}",
                    path=f"$.{name}[{i}].phase",
                )
    if document.flow is not None:
        check_flow(document.flow, (WAVE, SETUP, STORE))
    _check_indices(document)
    return document


def _check_indices(document: ScheduleDocument) -> None:
    for name, edges, size in (
        ("edges", document.edges, len(document.body)),
        ("kernel_deps", document.kernel_deps, max(len(document.kernel), len(document.body))),
    ):
        for i, edge in enumerate(edges):
            if max(edge.producer_idx, edge.consumer_idx) >= size:
                raise DocumentError(
                    f"edge {edge.producer_idx} -> {edge.consumer_idx} points outside the "
                    f"{size} ops it speaks of",
                    path=f"$.{name}[{i}]",
                )


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise DocumentError(f"the key {key!r} is written twice in one object")
        out[key] = value
    return out


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


@runtime_checkable
class HasDocument(Protocol):
    """What compilation returns: it has a document."""

    def document(self) -> ScheduleDocument:
        """The schedule as a document."""


Schedule = ScheduleDocument | RolesDocument
AnyGiven = Schedule | HasDocument


def document_of(given: AnyGiven) -> Schedule:
    """The document of a value; a typed error for anything else."""
    if isinstance(given, ScheduleDocument | RolesDocument):
        return given
    if isinstance(given, HasDocument) and not isinstance(given, type):
        found = given.document  # a method of counter schedules, a value of tile kernels
        return found() if callable(found) else found
    raise DocumentError(
        f"a {type(given).__name__} is no schedule",
        fix="pass a document, or what compile_schedule or a kernel's compile() returns",
    )


def counter_document_of(given: AnyGiven) -> ScheduleDocument:
    """The same where only a counter schedule will do."""
    result = document_of(given)
    if isinstance(result, ScheduleDocument):
        return result
    raise DocumentError(
        f"{result.name} is a program of roles, and a counter schedule is needed",
        why="roles are priced by RoleCosts and have no counters",
        fix="for time: what a kernel's compile() returns carries its prices",
    )


def schedule_to_json(document: Schedule) -> dict[str, Any]:
    """The document as JSON-ready dicts and lists."""
    return {"schema": SCHEMA, **plain(document)}


def read_schedule(text: str | bytes) -> Schedule:
    """Parse a document of either dialect; ``DocumentError`` on anything else."""
    return schedule_from_json(parse_json(text))


def write_schedule(document: AnyGiven) -> str:
    """The canonical text of a document; reading and writing it gives the same bytes."""
    found = document_of(document)
    data = schedule_to_json(found)
    if isinstance(found, RolesDocument):
        return _layout(data, 0) + "\n"
    lines = []
    for key, value in data.items():
        if isinstance(value, list) and value:
            body = ",\n  ".join(json.dumps(item) for item in value)
            lines.append(f"{json.dumps(key)}: [\n  {body}\n]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _layout(value: Any, depth: int) -> str:  # noqa: ANN401
    """A document of roles, one entry a line."""
    nested = depth < 4 and isinstance(value, dict | list) and value
    if not nested or (isinstance(value, dict) and depth > 2):
        return json.dumps(value)
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        items = [f"{json.dumps(k)}: {_layout(v, depth + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(pad + i for i in items) + "\n" + " " * depth + "}"
    items = [_layout(v, depth + 1) for v in value]
    return "[\n" + ",\n".join(pad + i for i in items) + "\n" + " " * depth + "]"
