"""Whatever holds a document: the document itself, or a value that makes one."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from warploom.document.counters import ScheduleDocument
from warploom.document.roles import RolesDocument
from warploom.errors import DocumentError


@runtime_checkable
class HasDocument(Protocol):
    """What compilation returns: it has a document."""

    def document(self) -> ScheduleDocument:
        """The schedule as a document."""


Given = ScheduleDocument | HasDocument
AnyGiven = ScheduleDocument | RolesDocument | HasDocument


def document_of(given: AnyGiven) -> ScheduleDocument | RolesDocument:
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
    found = document_of(given)
    if isinstance(found, ScheduleDocument):
        return found
    raise DocumentError(
        f"{found.name} is a program of roles, and a counter schedule is needed",
        why="roles are priced by RoleCosts and have no counters",
        fix="for time: what a kernel's compile() returns carries its prices",
    )
