"""``TargetProfile``: costs, structure and machine of a target in one value."""

from __future__ import annotations

from warploom.dataclass import dataclass
from warploom.ir.machine_costs import MachineCosts
from warploom.ir.validation import check_fields, instance
from warploom.pipeline.config.pipeline import PipelineConfig
from warploom.pipeline.cost_model import TargetCostModel


@dataclass(frozen=True, slots=True)
class TargetProfile:
    """A target: its cost model, the pipeline structure it runs best, and its machine.

    ``machine`` has real cycles, shared units, counter limits, storage and clock. Everything takes
    the target: ``compile_schedule`` through a schedule, which checks that buffers fit and puts the
    machine into the document; ``simulate``, ``timeline``, back ends and commands, which name it.
    Without a machine they count the latencies of the cost model, and say so.
    """

    cost_model: TargetCostModel
    pipeline: PipelineConfig
    name: str = "custom"
    machine: MachineCosts | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.machine is not None:
            instance(self.machine, MachineCosts, "machine", "TargetProfile")
