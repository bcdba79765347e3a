"""``SingleBufferSchedule``: its loop-carried fragment, and AMD's instruction-group hints."""

from collections.abc import Sequence

from warploom.ir.counter_dialect import KernelShape
from warploom.ir.schedule_ops import OpDesc, ScheduleEntry
from warploom.ir.validation import instance, integer
from warploom.pipeline.amd_target import cost
from warploom.pipeline.amd_target.hints import append_amd_hints
from warploom.pipeline.body import PipelineBody
from warploom.pipeline.compile import CompiledSchedule, compile_schedule
from warploom.pipeline.config.pipeline import PipelineConfig
from warploom.pipeline.config.target import TargetProfile
from warploom.pipeline.cost_model import annotate_ops
from warploom.pipeline.schedule import PipelineSchedule
from warploom.pipeline.scheduling.csp import optimize_within_barriers
from warploom.pipeline.scheduling.greedy import single_buffer_reorder


class SingleBufferSchedule(PipelineSchedule):
    """One LDS buffer: load to registers, store between barriers, ``num_k_tiles`` fragments.

    ``shape``: the kernel it is for, where its document should say so.
    """

    def __init__(
        self,
        num_k_tiles: int,
        hints: cost.AMDScheduleHints,
        target: TargetProfile | None = None,
        *,
        shape: KernelShape | None = None,
    ) -> None:
        integer(
            num_k_tiles,
            "num_k_tiles",
            "SingleBufferSchedule",
            least=1,
            why="without a tile nothing is computed",
        )
        instance(hints, cost.AMDScheduleHints, "hints", "SingleBufferSchedule")
        if target is not None:
            instance(target, TargetProfile, "target", "SingleBufferSchedule")
        if shape is not None:
            instance(shape, KernelShape, "shape", "SingleBufferSchedule")
        self.num_k_tiles, self.hints, self._shape = num_k_tiles, hints, shape
        self.target = target or cost.mi355x_single_buffer_target()

    @property
    def name(self) -> str:
        """How listings and documents call this schedule."""
        return "single_buffer"

    @property
    def target_name(self) -> str:
        """The target's name in documents."""
        return self.target.name

    @property
    def shape(self) -> KernelShape | None:
        """Tile, matrix instruction and element type, where they were given."""
        return self._shape

    def config(self) -> PipelineConfig:
        """The target's pipeline structure."""
        return self.target.pipeline

    def declare_ops(self) -> list[OpDesc]:
        """Load, store, barrier, then fragments and compute for every k-tile."""
        with PipelineBody() as body:
            body.load(cost.DefaultMatmulOps.LOAD_DRAM, ch=0)
            body.store(cost.DefaultMatmulOps.STORE_SMEM, ch=0)
            body.barrier()
            body.fan(self.num_k_tiles, cost.DefaultMatmulOps.LOAD_FRAG, ch=0)
            body.fan(self.num_k_tiles, cost.DefaultMatmulOps.COMPUTE)
        return body.done()

    def build_body(self) -> list[OpDesc]:
        """Priced ops, reordered around the two barriers and optimised between them."""
        priced = annotate_ops(self.declare_ops(), self.target.cost_model)
        return optimize_within_barriers(single_buffer_reorder(priced, self.config()), self.config())

    def transform_kernel(
        self, ker: Sequence[ScheduleEntry], body: Sequence[OpDesc]
    ) -> list[ScheduleEntry]:
        """The kernel followed by instruction-group hints."""
        return append_amd_hints(ker, body, self.config(), self.hints)


def build_default_matmul_schedule(
    num_k_tiles: int,
    num_m_mmas: int,
    num_n_mmas: int,
    num_k_mmas: int,
    MMA_M: int,  # noqa: N803 (documented name)
    MMA_N: int,  # noqa: N803 (documented name)
    a_loads_per_thread: int,
    b_loads_per_thread: int,
) -> CompiledSchedule:
    """Compile the single-buffer schedule with hints from the kernel's shape."""
    hints = cost.AMDScheduleHints(
        num_m_mmas, num_n_mmas, num_k_mmas, MMA_M, MMA_N, a_loads_per_thread, b_loads_per_thread
    )
    return compile_schedule(SingleBufferSchedule(num_k_tiles, hints))
