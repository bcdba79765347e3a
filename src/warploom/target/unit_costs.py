"""Cost model v2: what an op costs a unit (occupancy) and its users (latency), with the source.

The tag-priced ``OpCost`` of the compiler knows one number, latency. Exact scheduling needs two: how
long a unit is *held*, which bounds throughput, and how long the result takes, which bounds
recurrences. A ``UnitCost`` carries both; a cost model without occupancies still works (an op then
holds its unit for its issue only, see ``DEFAULT_OCCUPANCY``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from warploom.errors import CostModelError


class Source(StrEnum):
    """Where a number comes from."""

    MEASURED = "measured"  # timed on the chip, this project
    DOCUMENTED = "documented"  # vendor documentation or compiler scheduling tables
    DERIVED = "derived"  # arithmetic from documented peak rates
    MODEL = "model"  # the scheduling model of this project's reference schedules


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitCost:
    """Cycles a unit is held, cycles until the result may be used, and where both come from."""

    occupancy: int
    latency: int
    source: Source
    note: str = ""

    def __post_init__(self) -> None:
        if self.occupancy < 0 or self.latency < 0:
            raise CostModelError(
                f"occupancy {self.occupancy} and latency {self.latency} must not be negative"
            )

    def times(self, count: int, *, tail: int | None = None) -> UnitCost:
        """``count`` of these back to back: occupancies add up, the latency tail is paid once."""
        if count < 1:
            raise CostModelError(f"a group of {count} ops", fix="count must be at least 1")
        rest = self.latency - self.occupancy if tail is None else tail
        total = self.occupancy * count
        return UnitCost(
            occupancy=total, latency=total + rest, source=self.source, note=f"{count} x {self.note}"
        )


CostTable = Mapping[str, UnitCost]


def cost_table(entries: Mapping[str, UnitCost]) -> CostTable:
    """An immutable table of costs by name."""
    return MappingProxyType(dict(entries))


def lookup(table: CostTable, name: str) -> UnitCost:
    """The cost of that name; unknown names list the known ones."""
    try:
        return table[name]
    except KeyError:
        raise CostModelError(
            f"no cost for {name!r}", fix=f"known: {', '.join(sorted(table))}"
        ) from None
