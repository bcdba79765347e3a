"""Writing ``warploom.schedule/1``: one canonical text per document, one entry per line."""

from __future__ import annotations

import json
from typing import Any

from warploom.document.counters import SCHEMA, ScheduleDocument
from warploom.document.given import Given, counter_document_of
from warploom.document.records import plain


def schedule_to_json(document: ScheduleDocument) -> dict[str, Any]:
    """The document as JSON-ready dicts and lists."""
    return {"schema": SCHEMA, **plain(document)}


def write_counters(given: Given) -> str:
    """The canonical text of a document; reading and writing it gives the same bytes."""
    lines = []
    for key, value in schedule_to_json(counter_document_of(given)).items():
        if isinstance(value, list) and value:
            body = ",\n  ".join(json.dumps(item) for item in value)
            lines.append(f"{json.dumps(key)}: [\n  {body}\n]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
