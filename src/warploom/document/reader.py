"""Reading ``warploom.schedule/1``: strict, bounded, and precise about where a document is wrong.

A document may come from anywhere. Unknown and missing keys, wrong types and out-of-range numbers
raise ``DocumentError`` with the path inside the document; nothing else escapes.
"""

from __future__ import annotations

import json
from typing import Any

from warploom.document.checks import check_flow
from warploom.document.counters import SCHEMA, ScheduleDocument
from warploom.document.flow import SETUP, STORE, WAVE
from warploom.document.kinds import Phase
from warploom.document.records import record
from warploom.document.values import kind_of
from warploom.errors import DocumentError

MAX_TEXT = 24 * 1024 * 1024
MAX_OPENED = 400_000
MAX_COMMAS = 4_000_000


def read_counters(text: str | bytes) -> ScheduleDocument:
    """Parse a document. Raises ``DocumentError`` on anything that is not exactly the form."""
    return schedule_from_json(parse_json(text))


def parse_json(text: str | bytes) -> object:
    """The JSON value of a document's text, of bounded size and without repeated keys."""
    if not isinstance(text, str | bytes | bytearray):
        raise DocumentError(
            f"a {type(text).__name__} is no text of a document", fix="pass path.read_text()"
        )
    if len(text) > MAX_TEXT:
        raise DocumentError(f"the document is larger than {MAX_TEXT} bytes")
    _check_text(text)
    try:
        data: object = json.loads(text, object_pairs_hook=_no_duplicates)
    except DocumentError:
        raise
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"not a JSON document: {error}") from None
    return data


def _check_text(text: str | bytes) -> None:
    """Refuse a text whose values would take long to build: counted before anything is built."""
    marks = (b"{", b"[", b",") if isinstance(text, bytes) else ("{", "[", ",")
    opened = text.count(marks[0]) + text.count(marks[1])  # type: ignore[arg-type]
    if opened > MAX_OPENED or text.count(marks[2]) > MAX_COMMAS:  # type: ignore[arg-type]
        raise DocumentError(
            f"more than {MAX_OPENED} lists and objects, or {MAX_COMMAS} elements",
            fix="a schedule is far smaller",
        )


def check_schema(data: object) -> None:
    """Refuse what is no document, or one of another schema."""
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


def schedule_from_json(data: object) -> ScheduleDocument:
    """Build a document from parsed JSON."""
    check_schema(data)
    document = record(data, "$", ScheduleDocument, ("schema",))
    _check_protocol(document)
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


def _check_protocol(document: ScheduleDocument) -> None:
    groups, tails = document.protocol.groups, len(document.protocol.tail_barriers)
    if tails != groups:
        raise DocumentError(
            f"tail_barriers has {tails} numbers for {groups} group(s)",
            path="$.protocol.tail_barriers",
            fix="give one number per group",
        )


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
