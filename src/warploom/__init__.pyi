"""The public names of warploom and the packages they live in: the one list.

Type checkers read it as a stub; the package itself reads it too, and loads a package when one of
its names is first asked for.
"""

from warploom.autotune import (
    SearchOptions as SearchOptions,
    SearchResult as SearchResult,
    search as search,
)
from warploom.errors import (
    BackendError as BackendError,
    ConfigError as ConfigError,
    CostModelError as CostModelError,
    CycleError as CycleError,
    DocumentError as DocumentError,
    ForcedSettingWarning as ForcedSettingWarning,
    GeometryError as GeometryError,
    GraphError as GraphError,
    InfeasibleError as InfeasibleError,
    KernelCallError as KernelCallError,
    KernelError as KernelError,
    KernelMemoryError as KernelMemoryError,
    KernelNameError as KernelNameError,
    KernelShapeError as KernelShapeError,
    KernelSyntaxError as KernelSyntaxError,
    KernelTypeError as KernelTypeError,
    MissingExtraError as MissingExtraError,
    NoEffectWarning as NoEffectWarning,
    OrderError as OrderError,
    OverBudgetWarning as OverBudgetWarning,
    PhaseError as PhaseError,
    ProgramError as ProgramError,
    SchedulingError as SchedulingError,
    SimulationError as SimulationError,
    StructureError as StructureError,
    SyncError as SyncError,
    VerificationError as VerificationError,
    WarploomError as WarploomError,
    WarploomWarning as WarploomWarning,
)
from warploom.frontend.builtins import (
    In as In,
    Out as Out,
    Starts as Starts,
    Turns as Turns,
    abs as abs,
    all as all,
    any as any,
    argmax as argmax,
    argmin as argmin,
    atomic_add as atomic_add,
    atomic_max as atomic_max,
    atomic_min as atomic_min,
    bf16 as bf16,
    blocked as blocked,
    bool_ as bool_,
    cdiv as cdiv,
    ceil as ceil,
    clamp as clamp,
    cos as cos,
    cosh as cosh,
    cummax as cummax,
    cummin as cummin,
    cumsum as cumsum,
    e4m3 as e4m3,
    e5m2 as e5m2,
    elu as elu,
    erf as erf,
    erfc as erfc,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    f16 as f16,
    f32 as f32,
    floor as floor,
    fma as fma,
    full as full,
    gelu as gelu,
    grad as grad,
    hardswish as hardswish,
    i4 as i4,
    i8 as i8,
    i32 as i32,
    index as index,
    inf as inf,
    is_whole as is_whole,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    leaky_relu as leaky_relu,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
    log_softmax as log_softmax,
    logaddexp as logaddexp,
    logsumexp as logsumexp,
    max as max,
    maximum as maximum,
    mean as mean,
    min as min,
    minimum as minimum,
    mish as mish,
    mulhi as mulhi,
    philox as philox,
    pow as pow,
    print as print,
    relu as relu,
    relu6 as relu6,
    round as round,
    rsqrt as rsqrt,
    sigmoid as sigmoid,
    sign as sign,
    silu as silu,
    sin as sin,
    sinh as sinh,
    softmax as softmax,
    softplus as softplus,
    sqrt as sqrt,
    square as square,
    steps as steps,
    sum as sum,
    tan as tan,
    tanh as tanh,
    tile as tile,
    topk as topk,
    trunc as trunc,
    u8 as u8,
    u32 as u32,
    uniform as uniform,
    where as where,
    zeros as zeros,
)
from warploom.frontend.inline import inline as inline
from warploom.frontend.tile_kernel import kernel as kernel
from warploom.ir import (
    KernelShape as KernelShape,
    ScheduleDocument as ScheduleDocument,
    read_schedule as read_schedule,
    write_schedule as write_schedule,
)
from warploom.ir.schedule_ops import (
    DepEdge as DepEdge,
    DepKind as DepKind,
    KOffsetKind as KOffsetKind,
    OpDesc as OpDesc,
    OpRole as OpRole,
    Phase as Phase,
    ResourceKind as ResourceKind,
    ScheduleEntry as ScheduleEntry,
    ScheduleOps as ScheduleOps,
    previous as previous,
)
from warploom.pipeline.amd_target.cost import (
    AMDScheduleHints as AMDScheduleHints,
    DefaultMatmulOps as DefaultMatmulOps,
    FourWaveOps as FourWaveOps,
    PingPongOps as PingPongOps,
    mi355x_cost_model as mi355x_cost_model,
    mi355x_double_buffer as mi355x_double_buffer,
    mi355x_single_buffer as mi355x_single_buffer,
    mi355x_single_buffer_cost_model as mi355x_single_buffer_cost_model,
    mi355x_single_buffer_target as mi355x_single_buffer_target,
    mi355x_target as mi355x_target,
)
from warploom.pipeline.amd_target.geometry import (
    KernelGeometry as KernelGeometry,
    derive_safe_max_globals as derive_safe_max_globals,
)
from warploom.pipeline.amd_target.hints import append_amd_hints as append_amd_hints
from warploom.pipeline.block_expand.program import PipelineProgram as PipelineProgram
from warploom.pipeline.block_expand.spec import (
    MMABlockSpec as MMABlockSpec,
    emit_minimal_barrier_block as emit_minimal_barrier_block,
)
from warploom.pipeline.body import (
    EntryBuilder as EntryBuilder,
    Pipe as Pipe,
    PipelineBody as PipelineBody,
    pipe as pipe,
)
from warploom.pipeline.compile import (
    CompiledSchedule as CompiledSchedule,
    ScheduleCompiler as ScheduleCompiler,
    compile_schedule as compile_schedule,
)
from warploom.pipeline.config.pipeline import (
    BlockSizing as BlockSizing,
    FragOrder as FragOrder,
    LoopCarriedSpec as LoopCarriedSpec,
    PipelineConfig as PipelineConfig,
    SchedulingStrategy as SchedulingStrategy,
    WarpStaggerRule as WarpStaggerRule,
)
from warploom.pipeline.config.schedule import (
    BarrierStrategy as BarrierStrategy,
    LoadStrategy as LoadStrategy,
    ScheduleConfig as ScheduleConfig,
    WaitStrategy as WaitStrategy,
)
from warploom.pipeline.config.target import (
    TargetProfile as TargetProfile,
)
from warploom.pipeline.cost_model import (
    OpCost as OpCost,
    TargetCostModel as TargetCostModel,
    annotate_ops as annotate_ops,
)
from warploom.pipeline.graph_builder.edges import (
    EdgeRule as EdgeRule,
    derive_cross_stage_rotation_edges as derive_cross_stage_rotation_edges,
    derive_edges_from_ops as derive_edges_from_ops,
    filter_spurious_cross_stage_flow as filter_spurious_cross_stage_flow,
)
from warploom.pipeline.graph_builder.loop_body import LoopBody as LoopBody, OpNode as OpNode
from warploom.pipeline.graph_builder.named import given as given
from warploom.pipeline.graph_builder.partitions import (
    partition_edges as partition_edges,
    rotation_edges as rotation_edges,
)
from warploom.pipeline.listing import WaitCounts as WaitCounts
from warploom.pipeline.schedule import PipelineSchedule as PipelineSchedule
from warploom.pipeline.schedules.fourwave import (
    Pipeline4Wave as Pipeline4Wave,
    build_fourwave_schedule as build_fourwave_schedule,
)
from warploom.pipeline.schedules.pingpong import (
    DeclarativeSchedule as DeclarativeSchedule,
    build_schedule as build_schedule,
)
from warploom.pipeline.schedules.single_buffer import (
    SingleBufferSchedule as SingleBufferSchedule,
    build_default_matmul_schedule as build_default_matmul_schedule,
)
from warploom.pipeline.scheduling.csp import (
    optimal_schedule as optimal_schedule,
    optimal_schedule_with_halves as optimal_schedule_with_halves,
    optimize_within_barriers as optimize_within_barriers,
)
from warploom.pipeline.scheduling.greedy import (
    double_buffer_reorder as double_buffer_reorder,
    partition_reorder as partition_reorder,
    single_buffer_reorder as single_buffer_reorder,
)
from warploom.pipeline.scheduling.result import OrderResult as OrderResult
from warploom.pipeline.sync.marks import SyncPolicy as SyncPolicy
from warploom.pipeline.sync.rules import (
    derive_wait_counts as derive_wait_counts,
    derive_waits_from_blocks as derive_waits_from_blocks,
)
from warploom.runtime.interpreting import interpreting as interpreting
from warploom.runtime.tuning import autotune as autotune
from warploom.sim import (
    MachineCosts as MachineCosts,
    OpTiming as OpTiming,
    Pace as Pace,
    Simulation as Simulation,
    UnitSpec as UnitSpec,
    mi355x_costs as mi355x_costs,
    simulate as simulate,
)
from warploom.sim.chip import chip_costs as chip_costs
from warploom.sync.counters import (
    Repair as Repair,
    Synthesis as Synthesis,
    repair as repair,
    synthesise as synthesise,
)
from warploom.verify import (
    Finding as Finding,
    Report as Report,
    Severity as Severity,
    verify as verify,
    witness as witness,
)
from warploom.viz import timeline as timeline

__version__: str

# Written by scripts/gen_stubs from the declarations of kernels: begin.
from warploom.runtime.attention import (
    attention as attention,
    attention_packed as attention_packed,
)
from warploom.runtime.attention_grad import (
    attention_backward as attention_backward,
    attention_packed_backward as attention_packed_backward,
)
from warploom.runtime.functions import (
    rms_gemm as rms_gemm,
)
from warploom.runtime.fused import (
    gemm_block_scaled as gemm_block_scaled,
    gemm_quantised as gemm_quantised,
    grouped_gemm as grouped_gemm,
    grouped_gemm_weights as grouped_gemm_weights,
    scan as scan,
    swiglu as swiglu,
)
from warploom.runtime.gemm import (
    gemm as gemm,
)
