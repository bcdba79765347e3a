"""Who decides waits and barriers: the reference's rules, or a proof."""

from __future__ import annotations

from enum import Enum


class SyncPolicy(Enum):
    """How a schedule is synchronised.

    ``REFERENCE``: waits by the reference's rules, entry by entry equal to it; races are possible.
    ``PROVEN_WEAKEST``: every wait as weak and as late as the hazard model allows.
    ``PROVEN_FEWEST``: fewest wait instructions, each as weak as its place allows.

    The proven policies keep the schedule's barriers and add the fewest that are missing.
    """

    REFERENCE = "reference"
    PROVEN_WEAKEST = "proven-weakest"
    PROVEN_FEWEST = "proven-fewest"
