"""Who decides waits and barriers, and a mark of the author's own that every copy of an op keeps.

A derived wait carries a tag of its own type, equal to the plain one in value and name. Comparison,
documents and back ends see no difference; only the code that decides about waits looks.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from warploom.ir.schedule_ops import OpDesc, OpTag, ScheduleEntry, ScheduleOps

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


class SyncPolicy(Enum):
    """How a schedule is synchronised.

    One rule holds for all: what an author states is kept, what is derived is derived by the
    policy. Stated are manual counts (``auto_waits=False``), asked-for drains and whatever a
    schedule's explicit blocks contain of their own. A stated wait is never tightened, and manual
    waits that leave a race are an error, unless ``compile_schedule(..., strengthen=True)`` asks
    for more.

    ``REFERENCE``: waits by the reference's rules, entry by entry equal to it; races are possible.
    ``REPAIRED``: the same where that is proven free of races; otherwise as few waits and barriers
    as possible are added or tightened, each with its reason.
    ``PROVEN_WEAKEST``: every derived wait as weak and as late as the hazard model allows.
    ``PROVEN_FEWEST``: fewest wait instructions, each as weak as its place allows.

    The proven policies keep the schedule's barriers and add the fewest that are missing.
    """

    REFERENCE = "reference"
    REPAIRED = "repaired"
    PROVEN_WEAKEST = "proven-weakest"
    PROVEN_FEWEST = "proven-fewest"

    @property
    def proves(self) -> bool:
        """Whether derived waits come from a proof instead of the documented rules."""
        return self in (SyncPolicy.PROVEN_WEAKEST, SyncPolicy.PROVEN_FEWEST)
