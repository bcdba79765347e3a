"""When a consumer of a ring gives a slot back."""

from __future__ import annotations

from enum import StrEnum


class Release(StrEnum):
    """Where its reader is expected to retire, or at the end of the iteration that reads it."""

    WHEN_RETIRED = "when retired"
    SAME_ITERATION = "same iteration"
