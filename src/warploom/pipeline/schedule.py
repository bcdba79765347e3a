"""``PipelineSchedule``: what a kernel author writes; two methods are required.

class MyKernel(PipelineSchedule):
    def config(self): return my_target.pipeline
    def build_body(self): return annotate_ops(my_ops, my_target.cost_model)
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from warploom.ir.counter_dialect import BarrierKind, KernelShape, Protocol, RegisterWaits
from warploom.ir.schedule_ops import DepEdge, OpDesc, ScheduleEntry
from warploom.pipeline.block_expand.program import PipelineProgram
from warploom.pipeline.config.pipeline import PipelineConfig
from warploom.pipeline.config.schedule import ScheduleConfig
from warploom.pipeline.graph_builder.edges import derive_edges_from_ops
from warploom.pipeline.sync.marks import SyncPolicy


class PipelineSchedule(ABC):
    """A kernel's schedule: its structure and its loop body."""

    #: ScheduleConfig fields the schedule sets itself, whatever the caller says.
    forced_settings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """How listings and documents call this schedule."""
        return type(self).__name__

    @property
    def target_name(self) -> str:
        """The target's name in documents."""
        return "custom"

    @property
    def shape(self) -> KernelShape | None:
        """Tile and element type the counter units belong to, where they are known."""
        return None

    @abstractmethod
    def config(self) -> PipelineConfig:
        """Pipeline structure: depth, MMA grid, partitions, counters."""

    @abstractmethod
    def build_body(self) -> list[OpDesc]:
        """The priced ops of one loop iteration, in body order."""

    def derive_edges(self, body: Sequence[OpDesc]) -> list[DepEdge]:
        """Dependence edges; by default from roles, buffers and depth."""
        return derive_edges_from_ops(body, self.config())

    def schedule_config(self) -> ScheduleConfig:
        """Tuning knobs."""
        return ScheduleConfig()

    def sync_policy(self) -> SyncPolicy:
        """Who decides waits and barriers; ``compile_schedule(..., sync=...)`` overrides it."""
        return SyncPolicy.REPAIRED

    def transform_kernel(
        self, ker: Sequence[ScheduleEntry], body: Sequence[OpDesc]
    ) -> list[ScheduleEntry]:
        """Post-process the kernel's entries (single-buffer path only)."""
        return list(ker)

    def build_explicit_blocks(
        self, body: Sequence[OpDesc], program: PipelineProgram
    ) -> list[list[OpDesc]]:
        """Explicit ops per block, or nothing to use the template (double-buffer path only)."""
        return []

    def bootstrap_frags(self) -> list[OpDesc]:
        """Fragment loads at the prologue's end (with a partial prologue drain only)."""
        return []

    def protocol(self, stagger_index: int) -> Protocol:
        """How the kernel consumes the phases; by default from depth and stagger."""
        return default_protocol(self.config(), stagger_index)


def default_protocol(config: PipelineConfig, stagger_index: int) -> Protocol:
    """Two staggered groups, one group, or the single-buffer form."""
    if config.depth < 2:
        return Protocol(
            k_tiles_per_iteration=1,
            kernel_k_base=2,
            barrier=BarrierKind.FENCING,
            register_waits=RegisterWaits.COMPILER,
        )
    tiles = max(config.num_partitions, 1)
    if not config.warp_stagger.enabled:
        return Protocol(k_tiles_per_iteration=tiles, kernel_k_base=tiles)
    return Protocol(
        groups=2,
        stagger_index=stagger_index,
        barrier_after_prologue=True,
        tail_barriers=(1, 0),
        k_tiles_per_iteration=tiles,
        kernel_k_base=tiles,
    )
