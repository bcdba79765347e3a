"""One schema, two dialects: counter schedules and role programs, read and written by one pair.

A document of ``warploom.schedule/1`` either has three lists of entries for all waves, which wait on
counters, or a program for each role, which wait on mbarriers. ``read_schedule`` tells them apart by
what they hold and returns the value of its dialect.
"""

from __future__ import annotations

from enum import StrEnum

from warploom.document.counters import ScheduleDocument
from warploom.document.given import AnyGiven, document_of
from warploom.document.reader import parse_json, schedule_from_json
from warploom.document.roles import RolesDocument
from warploom.document.roles_json import is_roles_json, roles_from_json, write_roles
from warploom.document.writer import write_counters

Schedule = ScheduleDocument | RolesDocument


class Dialect(StrEnum):
    """What a document synchronises with."""

    COUNTERS = "counters"
    MBARRIERS = "mbarriers"


def dialect_of(document: Schedule) -> Dialect:
    """Which of the two a document is."""
    return Dialect.MBARRIERS if isinstance(document, RolesDocument) else Dialect.COUNTERS


def document_from_json(data: object) -> Schedule:
    """Build a document of either dialect from parsed JSON."""
    return roles_from_json(data) if is_roles_json(data) else schedule_from_json(data)


def read_schedule(text: str | bytes) -> Schedule:
    """Parse a document of either dialect; ``DocumentError`` on anything else."""
    return document_from_json(parse_json(text))


def write_schedule(document: AnyGiven) -> str:
    """The canonical text of a document; reading and writing it gives the same bytes."""
    found = document_of(document)
    return write_roles(found) if isinstance(found, RolesDocument) else write_counters(found)
