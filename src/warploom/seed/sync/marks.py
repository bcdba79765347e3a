"""Which waits an author stated and which were derived: a mark that every copy of the op keeps.

A derived wait carries a tag of its own type, equal to the plain one in value and name. Comparison,
documents and back ends see no difference; only the room that decides about waits looks.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.document.kinds import OpTag, ScheduleOps
from warploom.document.ops import OpDesc, ScheduleEntry

_WAITS = (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM)


class _DerivedTag(OpTag):
    """The tag of a wait that a rule placed."""

    def __reduce__(self) -> tuple[type[_DerivedTag], tuple[int, str]]:
        return _DerivedTag, (int(self), self.name)


def derived(op: OpDesc) -> OpDesc:
    """The op as one that a rule placed."""
    return replace(op, tag=_DerivedTag(int(op.tag), op.name)) if op.is_present() else op


def is_wait(entry: ScheduleEntry) -> bool:
    """Whether the entry waits for a counter."""
    return entry.op.tag in _WAITS


def is_stated(entry: ScheduleEntry) -> bool:
    """Whether the entry is a wait its author stated."""
    return is_wait(entry) and not isinstance(entry.op.tag, _DerivedTag)
