"""Who decides waits and barriers: the documented rules, or a proof."""

from __future__ import annotations

from enum import Enum


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
