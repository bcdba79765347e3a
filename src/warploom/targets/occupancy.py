"""From tag-priced ops to units: how long each op of a body holds its unit, and what it stores.

Backward compatible: a cost model without occupancies gets the defaults below, which are those of
the shipped MI355X schedules. Occupancies may be given per tag (exact) or per unit (all its ops).
"""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from warploom.dataclass import dataclass
from warploom.errors import CostModelError
from warploom.ir.schedule_ops import OpDesc, ResourceKind
from warploom.targets.seed_model import seed_model

MEMORY_OCCUPANCY = seed_model().memory_port


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupancyModel:
    """Cycles an op holds its unit and its wave's stream; unit capacities; bytes of one LDS buffer.

    An op without an entry holds a memory port for ``MEMORY_OCCUPANCY`` cycles and a compute unit
    for its whole latency, since the reference prices MMAs by their issue interval. ``issue`` is the
    time an op of a unit takes on its wave's instruction stream, which issues in order.
    """

    by_tag: Mapping[int, int] = field(default_factory=dict)
    issue_by_tag: Mapping[int, int] = field(default_factory=dict)
    by_unit: Mapping[ResourceKind, int] = field(default_factory=dict)
    issue: Mapping[ResourceKind, int] = field(default_factory=dict)
    capacities: Mapping[ResourceKind, int] = field(default_factory=dict)
    buffer_bytes: int = 1

    def __post_init__(self) -> None:
        for name in ("by_tag", "issue_by_tag", "by_unit", "issue", "capacities"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        tables = (("by_tag", self.by_tag), ("by_unit", self.by_unit), ("issue", self.issue))
        for name, table in tables:
            for key, cycles in table.items():
                if cycles < 0:
                    raise CostModelError(f"occupancy {cycles} is negative", where=f"{name}[{key}]")

    def stream(self, op: OpDesc) -> int:
        """Cycles for which ``op`` holds its wave's instruction stream."""
        if op.tag in self.issue_by_tag:
            return self.issue_by_tag[op.tag]
        return self.issue.get(op.resource, 0)

    def occupancy(self, op: OpDesc) -> int:
        """Cycles from issue for which ``op`` holds its unit."""
        if op.tag in self.by_tag:
            return self.by_tag[op.tag]
        if op.resource in self.by_unit:
            return self.by_unit[op.resource]
        if op.resource in (ResourceKind.GLOBAL_MEM, ResourceKind.LDS):
            return MEMORY_OCCUPANCY
        return op.latency
