"""Op tags, costs, pipeline structures and targets of AMD's MI355X."""

from __future__ import annotations

from enum import IntEnum

from warploom.dataclass import dataclass
from warploom.ir.schedule_ops import OpRole, ResourceKind
from warploom.ir.validation import check_fields, integer
from warploom.pipeline.config.pipeline import (
    BlockSizing,
    FragOrder,
    LoopCarriedSpec,
    PipelineConfig,
    WarpStaggerRule,
)
from warploom.pipeline.config.target import TargetProfile
from warploom.pipeline.cost_model import OpCost, TargetCostModel
from warploom.targets.seed_model import seed_model


class PingPongOps(IntEnum):
    """Ops of the ping-pong kernel."""

    LOAD_A = 0
    LOAD_B = 1
    COMPUTE = 2
    MMA_LOAD_A = 3
    MMA_LOAD_B = 4
    MMA = 5


class FourWaveOps(IntEnum):
    """Ops of the 4-wave kernel; the same numbers as ping-pong."""

    LOAD_A = 0
    LOAD_B = 1
    COMPUTE = 2
    MMA_LOAD_A = 3
    MMA_LOAD_B = 4
    MMA = 5


class DefaultMatmulOps(IntEnum):
    """Ops of the single-buffer kernel."""

    LOAD_DRAM = 0
    STORE_SMEM = 1
    LOAD_FRAG = 2
    COMPUTE = 3


_SEED = seed_model()
_DRAM = OpCost(ResourceKind.GLOBAL_MEM, _SEED.load, OpRole.GLOBAL_LOAD)


def mi355x_cost_model() -> TargetCostModel:
    """Costs of the double-buffer kernels (ping-pong and 4-wave share their tags)."""
    fragment = OpCost(ResourceKind.LDS, _SEED.fragment, OpRole.FRAGMENT_LOAD, vgpr_def=8)
    mma = OpCost(ResourceKind.MMA_UNIT, _SEED.mma, OpRole.COMPUTE, vgpr_def=4)
    return TargetCostModel(
        {
            PingPongOps.LOAD_A: _DRAM,
            PingPongOps.LOAD_B: _DRAM,
            PingPongOps.COMPUTE: mma,
            PingPongOps.MMA_LOAD_A: fragment,
            PingPongOps.MMA_LOAD_B: fragment,
            PingPongOps.MMA: mma,
        }
    )


def mi355x_single_buffer_cost_model() -> TargetCostModel:
    """Costs of the single-buffer kernel."""
    return TargetCostModel(
        {
            DefaultMatmulOps.LOAD_DRAM: _DRAM,
            DefaultMatmulOps.STORE_SMEM: OpCost(
                ResourceKind.LDS, _SEED.fragment, OpRole.SHARED_STORE
            ),
            DefaultMatmulOps.LOAD_FRAG: OpCost(
                ResourceKind.LDS, _SEED.fragment, OpRole.FRAGMENT_LOAD, vgpr_def=4
            ),
            DefaultMatmulOps.COMPUTE: OpCost(
                ResourceKind.MMA_UNIT, _SEED.block, OpRole.COMPUTE, vgpr_def=16
            ),
        }
    )


def mi355x_double_buffer(
    vm_per_load_a: int = 4, vm_per_load_b: int = 4, max_globals: int = 1, *, depth: int = 2
) -> PipelineConfig:
    """A 2x2 MMA grid over two buffers, or over a deeper ring; one K-partition a buffer."""
    integer(depth, "depth", "mi355x_double_buffer", least=2)
    return PipelineConfig(
        depth=depth,
        prefetch=1,
        drain_passes=depth,
        prologue_fill=1,
        loop_carried=LoopCarriedSpec.none(),
        block_sizing=BlockSizing(4, 2, max_globals),
        frag_order=FragOrder.b_first(),
        m_mmas=2,
        n_mmas=2,
        num_partitions=depth,
        mma_serial=True,
        mma_latency=_SEED.mma,
        vm_per_load_a=vm_per_load_a,
        vm_per_load_b=vm_per_load_b,
        ch0_match_field=0,
        ch1_match_field=1,
        warp_stagger=WarpStaggerRule.auto(),
    )


def mi355x_single_buffer() -> PipelineConfig:
    """One buffer, one partition; the fragment of subtile 0 crosses the loop boundary."""
    return PipelineConfig(
        depth=1,
        prefetch=1,
        drain_passes=2,
        prologue_fill=0,
        loop_carried=LoopCarriedSpec.fragment_zero(),
        block_sizing=BlockSizing.default_2x2(),
        frag_order=FragOrder.b_first(),
        m_mmas=2,
        n_mmas=2,
        num_partitions=1,
        mma_serial=True,
        mma_latency=_SEED.mma,
        vm_per_load_a=4,
        vm_per_load_b=4,
        ch0_match_field=0,
        ch1_match_field=1,
        warp_stagger=WarpStaggerRule.none(),
    )


def mi355x_target(
    vm_per_load_a: int = 4, vm_per_load_b: int = 4, max_globals: int = 1, *, depth: int = 2
) -> TargetProfile:
    """The double-buffer target (or a deeper ring): cost model and structure in one call."""
    return TargetProfile(
        mi355x_cost_model(),
        mi355x_double_buffer(vm_per_load_a, vm_per_load_b, max_globals, depth=depth),
        name="mi355x",
    )


def mi355x_single_buffer_target() -> TargetProfile:
    """The single-buffer target."""
    return TargetProfile(
        mi355x_single_buffer_cost_model(), mi355x_single_buffer(), name="mi355x-single"
    )


@dataclass(frozen=True, slots=True)
class AMDScheduleHints:
    """What the instruction-group hints of the single-buffer kernel are computed from."""

    m_mmas: int
    n_mmas: int
    k_mmas: int
    mma_m: int
    mma_n: int
    a_loads_per_thread: int
    b_loads_per_thread: int

    def __post_init__(self) -> None:
        check_fields(self)
