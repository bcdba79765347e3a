"""``SingleBufferSchedule``: its loop-carried fragment, and AMD's instruction-group hints."""

from collections.abc import Sequence
from enum import IntEnum

from warploom.errors import ConfigError
from warploom.ir.schedule_ops import OpDesc, OpRole, Phase, ScheduleEntry
from warploom.ir.validation import instance, integer
from warploom.pipeline.amd_target import cost
from warploom.pipeline.body import EntryBuilder, PipelineBody
from warploom.pipeline.compile import CompiledSchedule, compile_schedule
from warploom.pipeline.config.pipeline import PipelineConfig
from warploom.pipeline.schedule import PipelineSchedule
from warploom.pipeline.scheduling.csp import optimize_within_barriers
from warploom.pipeline.scheduling.greedy import single_buffer_reorder


class HintMask(IntEnum):
    """Instruction groups a hint can name."""

    DS_READ = 0
    DS_WRITE = 1
    VMEM_READ = 2
    MFMA = 3


def append_amd_hints(
    kernel: Sequence[ScheduleEntry],
    body: Sequence[OpDesc],
    config: PipelineConfig,
    hints: cost.AMDScheduleHints,
) -> list[ScheduleEntry]:
    """The kernel followed by hints that spread its MFMAs over reads, writes and loads."""
    fragments = [op for op in body if op.role is OpRole.FRAGMENT_LOAD]
    carried = sum(op.subtile == config.loop_carried.selector for op in fragments)
    per_fragment = hints.m_mmas + hints.n_mmas
    reads = per_fragment * len(fragments)
    mmas = hints.m_mmas * hints.n_mmas * hints.k_mmas
    stores = hints.a_loads_per_thread + hints.b_loads_per_thread
    if reads <= 0:
        raise ConfigError(
            "hints need at least one LDS read to spread MFMAs over",
            where=f"AMDScheduleHints: {per_fragment} reads a fragment, {len(fragments)} fragments",
            fix="give m_mmas + n_mmas >= 1 and a body with fragment loads",
        )
    per_read = min(1 if hints.mma_m == hints.mma_n == 32 else 2, mmas // reads)
    share, rest = divmod(mmas - reads * per_read, stores) if stores else (0, 0)
    out = EntryBuilder(Phase.KERNEL, list(kernel))

    def hint(mask: HintMask, count: int) -> None:
        out.emit(OpDesc.sched_group_barrier(int(mask), count))

    def read_groups(n: int) -> None:
        for _ in range(n):
            hint(HintMask.DS_READ, 1)
            hint(HintMask.MFMA, per_read)

    read_groups(per_fragment * (len(fragments) - carried))
    for i in range(stores):
        count = share + (i < rest)
        hint(HintMask.DS_WRITE, 1)
        hint(HintMask.MFMA, count // 2)
        hint(HintMask.VMEM_READ, 1)
        hint(HintMask.MFMA, count - count // 2)
    read_groups(per_fragment * carried)
    return out.entries


class SingleBufferSchedule(PipelineSchedule):
    """One LDS buffer: load to registers, store between barriers, ``num_k_tiles`` fragments."""

    def __init__(
        self,
        num_k_tiles: int,
        hints: cost.AMDScheduleHints,
        target: cost.TargetProfile | None = None,
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
            instance(target, cost.TargetProfile, "target", "SingleBufferSchedule")
        self.num_k_tiles, self.hints = num_k_tiles, hints
        self.target = target or cost.mi355x_single_buffer_target()

    @property
    def name(self) -> str:
        """How listings and documents call this schedule."""
        return "single_buffer"

    @property
    def target_name(self) -> str:
        """The target's name in documents."""
        return self.target.name

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
        priced = cost.annotate_ops(self.declare_ops(), self.target.cost_model)
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
