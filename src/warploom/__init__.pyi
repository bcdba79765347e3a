"""The public names of warploom and the rooms they live in: the one list.

Type checkers read it as a stub; the package itself reads it too, and loads a room when one of its
names is first asked for.
"""

from warploom.document import (
    KernelShape as KernelShape,
)
from warploom.document import (
    ScheduleDocument as ScheduleDocument,
)
from warploom.document import (
    read_schedule as read_schedule,
)
from warploom.document import (
    write_schedule as write_schedule,
)
from warploom.document.kinds import (
    DepKind as DepKind,
)
from warploom.document.kinds import (
    KOffsetKind as KOffsetKind,
)
from warploom.document.kinds import (
    OpRole as OpRole,
)
from warploom.document.kinds import (
    Phase as Phase,
)
from warploom.document.kinds import (
    ResourceKind as ResourceKind,
)
from warploom.document.kinds import (
    ScheduleOps as ScheduleOps,
)
from warploom.document.ops import (
    DepEdge as DepEdge,
)
from warploom.document.ops import (
    OpDesc as OpDesc,
)
from warploom.document.ops import (
    ScheduleEntry as ScheduleEntry,
)
from warploom.errors import (
    BackendError as BackendError,
)
from warploom.errors import (
    ConfigError as ConfigError,
)
from warploom.errors import (
    CostModelError as CostModelError,
)
from warploom.errors import (
    CycleError as CycleError,
)
from warploom.errors import (
    DocumentError as DocumentError,
)
from warploom.errors import (
    ForcedSettingWarning as ForcedSettingWarning,
)
from warploom.errors import (
    GeometryError as GeometryError,
)
from warploom.errors import (
    GraphError as GraphError,
)
from warploom.errors import (
    InfeasibleError as InfeasibleError,
)
from warploom.errors import (
    KernelCallError as KernelCallError,
)
from warploom.errors import (
    KernelError as KernelError,
)
from warploom.errors import (
    KernelMemoryError as KernelMemoryError,
)
from warploom.errors import (
    KernelNameError as KernelNameError,
)
from warploom.errors import (
    KernelShapeError as KernelShapeError,
)
from warploom.errors import (
    KernelSyntaxError as KernelSyntaxError,
)
from warploom.errors import (
    KernelTypeError as KernelTypeError,
)
from warploom.errors import (
    MissingExtraError as MissingExtraError,
)
from warploom.errors import (
    NoEffectWarning as NoEffectWarning,
)
from warploom.errors import (
    OrderError as OrderError,
)
from warploom.errors import (
    OverBudgetWarning as OverBudgetWarning,
)
from warploom.errors import (
    PhaseError as PhaseError,
)
from warploom.errors import (
    ProgramError as ProgramError,
)
from warploom.errors import (
    SchedulingError as SchedulingError,
)
from warploom.errors import (
    SimulationError as SimulationError,
)
from warploom.errors import (
    StructureError as StructureError,
)
from warploom.errors import (
    SyncError as SyncError,
)
from warploom.errors import (
    VerificationError as VerificationError,
)
from warploom.errors import (
    WarploomError as WarploomError,
)
from warploom.errors import (
    WarploomWarning as WarploomWarning,
)
from warploom.guard.counters import (
    Repair as Repair,
)
from warploom.guard.counters import (
    Synthesis as Synthesis,
)
from warploom.guard.counters import (
    repair as repair,
)
from warploom.guard.counters import (
    synthesise as synthesise,
)
from warploom.kernel.text import (
    kernel as kernel,
)
from warploom.kernel.words import (
    In as In,
)
from warploom.kernel.words import (
    Out as Out,
)
from warploom.kernel.words import (
    Starts as Starts,
)
from warploom.kernel.words import (
    Turns as Turns,
)
from warploom.kernel.words import (
    abs as abs,
)
from warploom.kernel.words import (
    bf16 as bf16,
)
from warploom.kernel.words import (
    blocked as blocked,
)
from warploom.kernel.words import (
    cos as cos,
)
from warploom.kernel.words import (
    e4m3 as e4m3,
)
from warploom.kernel.words import (
    e5m2 as e5m2,
)
from warploom.kernel.words import (
    erf as erf,
)
from warploom.kernel.words import (
    exp as exp,
)
from warploom.kernel.words import (
    exp2 as exp2,
)
from warploom.kernel.words import (
    f16 as f16,
)
from warploom.kernel.words import (
    f32 as f32,
)
from warploom.kernel.words import (
    floor as floor,
)
from warploom.kernel.words import (
    full as full,
)
from warploom.kernel.words import (
    gelu as gelu,
)
from warploom.kernel.words import (
    i4 as i4,
)
from warploom.kernel.words import (
    i8 as i8,
)
from warploom.kernel.words import (
    i32 as i32,
)
from warploom.kernel.words import (
    index as index,
)
from warploom.kernel.words import (
    inf as inf,
)
from warploom.kernel.words import (
    is_whole as is_whole,
)
from warploom.kernel.words import (
    log as log,
)
from warploom.kernel.words import (
    log2 as log2,
)
from warploom.kernel.words import (
    maximum as maximum,
)
from warploom.kernel.words import (
    minimum as minimum,
)
from warploom.kernel.words import (
    relu as relu,
)
from warploom.kernel.words import (
    rsqrt as rsqrt,
)
from warploom.kernel.words import (
    sigmoid as sigmoid,
)
from warploom.kernel.words import (
    silu as silu,
)
from warploom.kernel.words import (
    sin as sin,
)
from warploom.kernel.words import (
    slope as slope,
)
from warploom.kernel.words import (
    sqrt as sqrt,
)
from warploom.kernel.words import (
    steps as steps,
)
from warploom.kernel.words import (
    tanh as tanh,
)
from warploom.kernel.words import (
    tile as tile,
)
from warploom.kernel.words import (
    where as where,
)
from warploom.kernel.words import (
    zeros as zeros,
)
from warploom.launch.attention import (
    attention as attention,
)
from warploom.launch.attention import (
    attention_packed as attention_packed,
)
from warploom.launch.attention_grad import (
    attention_backward as attention_backward,
)
from warploom.launch.attention_grad import (
    attention_packed_backward as attention_packed_backward,
)
from warploom.launch.fused import (
    gemm_block_scaled as gemm_block_scaled,
)
from warploom.launch.fused import (
    gemm_quantised as gemm_quantised,
)
from warploom.launch.fused import (
    grouped_gemm as grouped_gemm,
)
from warploom.launch.fused import (
    grouped_gemm_weights as grouped_gemm_weights,
)
from warploom.launch.fused import (
    scan as scan,
)
from warploom.launch.fused import (
    swiglu as swiglu,
)
from warploom.launch.gemm import (
    gemm as gemm,
)
from warploom.search import (
    SearchOptions as SearchOptions,
)
from warploom.search import (
    SearchResult as SearchResult,
)
from warploom.search import (
    search as search,
)
from warploom.seed.blocks.expand import (
    emit_minimal_barrier_block as emit_minimal_barrier_block,
)
from warploom.seed.blocks.program import (
    PipelineProgram as PipelineProgram,
)
from warploom.seed.blocks.spec import (
    MMABlockSpec as MMABlockSpec,
)
from warploom.seed.body import (
    EntryBuilder as EntryBuilder,
)
from warploom.seed.body import (
    Pipe as Pipe,
)
from warploom.seed.body import (
    PipelineBody as PipelineBody,
)
from warploom.seed.body import (
    pipe as pipe,
)
from warploom.seed.compile import (
    CompiledSchedule as CompiledSchedule,
)
from warploom.seed.compile import (
    ScheduleCompiler as ScheduleCompiler,
)
from warploom.seed.compile import (
    compile_schedule as compile_schedule,
)
from warploom.seed.config.parts import (
    BlockSizing as BlockSizing,
)
from warploom.seed.config.parts import (
    FragOrder as FragOrder,
)
from warploom.seed.config.parts import (
    LoopCarriedSpec as LoopCarriedSpec,
)
from warploom.seed.config.parts import (
    SchedulingStrategy as SchedulingStrategy,
)
from warploom.seed.config.parts import (
    WarpStaggerRule as WarpStaggerRule,
)
from warploom.seed.config.pipeline import (
    PipelineConfig as PipelineConfig,
)
from warploom.seed.config.schedule import (
    ScheduleConfig as ScheduleConfig,
)
from warploom.seed.config.strategies import (
    BarrierStrategy as BarrierStrategy,
)
from warploom.seed.config.strategies import (
    LoadStrategy as LoadStrategy,
)
from warploom.seed.config.strategies import (
    WaitStrategy as WaitStrategy,
)
from warploom.seed.graph.edges import (
    derive_cross_stage_rotation_edges as derive_cross_stage_rotation_edges,
)
from warploom.seed.graph.edges import (
    derive_edges_from_ops as derive_edges_from_ops,
)
from warploom.seed.graph.edges import (
    filter_spurious_cross_stage_flow as filter_spurious_cross_stage_flow,
)
from warploom.seed.graph.loop_body import (
    LoopBody as LoopBody,
)
from warploom.seed.graph.loop_body import (
    OpNode as OpNode,
)
from warploom.seed.graph.rules import (
    EdgeRule as EdgeRule,
)
from warploom.seed.listing import (
    WaitCounts as WaitCounts,
)
from warploom.seed.sched.csp import (
    OrderResult as OrderResult,
)
from warploom.seed.sched.csp import (
    optimal_schedule as optimal_schedule,
)
from warploom.seed.sched.csp import (
    optimal_schedule_with_halves as optimal_schedule_with_halves,
)
from warploom.seed.sched.interleave import (
    double_buffer_reorder as double_buffer_reorder,
)
from warploom.seed.schedule import (
    PipelineSchedule as PipelineSchedule,
)
from warploom.seed.schedules.fourwave import (
    Pipeline4Wave as Pipeline4Wave,
)
from warploom.seed.schedules.fourwave import (
    build_fourwave_schedule as build_fourwave_schedule,
)
from warploom.seed.schedules.pingpong import (
    DeclarativeSchedule as DeclarativeSchedule,
)
from warploom.seed.schedules.pingpong import (
    build_schedule as build_schedule,
)
from warploom.seed.schedules.single_buffer import (
    SingleBufferSchedule as SingleBufferSchedule,
)
from warploom.seed.schedules.single_buffer import (
    build_default_matmul_schedule as build_default_matmul_schedule,
)
from warploom.seed.sync.policy import (
    SyncPolicy as SyncPolicy,
)
from warploom.seed.sync.rules import (
    derive_wait_counts as derive_wait_counts,
)
from warploom.seed.sync.rules import (
    derive_waits_from_blocks as derive_waits_from_blocks,
)
from warploom.seed.target.cost import (
    OpCost as OpCost,
)
from warploom.seed.target.cost import (
    TargetCostModel as TargetCostModel,
)
from warploom.seed.target.cost import (
    TargetProfile as TargetProfile,
)
from warploom.seed.target.cost import (
    annotate_ops as annotate_ops,
)
from warploom.seed.target.geometry import (
    KernelGeometry as KernelGeometry,
)
from warploom.seed.target.geometry import (
    derive_safe_max_globals as derive_safe_max_globals,
)
from warploom.seed.target.mi355x import (
    AMDScheduleHints as AMDScheduleHints,
)
from warploom.seed.target.mi355x import (
    mi355x_cost_model as mi355x_cost_model,
)
from warploom.seed.target.mi355x import (
    mi355x_double_buffer as mi355x_double_buffer,
)
from warploom.seed.target.mi355x import (
    mi355x_single_buffer as mi355x_single_buffer,
)
from warploom.seed.target.mi355x import (
    mi355x_single_buffer_cost_model as mi355x_single_buffer_cost_model,
)
from warploom.seed.target.mi355x import (
    mi355x_single_buffer_target as mi355x_single_buffer_target,
)
from warploom.seed.target.mi355x import (
    mi355x_target as mi355x_target,
)
from warploom.seed.target.tags import (
    DefaultMatmulOps as DefaultMatmulOps,
)
from warploom.seed.target.tags import (
    FourWaveOps as FourWaveOps,
)
from warploom.seed.target.tags import (
    PingPongOps as PingPongOps,
)
from warploom.sim import (
    MachineCosts as MachineCosts,
)
from warploom.sim import (
    Pace as Pace,
)
from warploom.sim import (
    Simulation as Simulation,
)
from warploom.sim import (
    mi355x_costs as mi355x_costs,
)
from warploom.sim import (
    simulate as simulate,
)
from warploom.verify import (
    Finding as Finding,
)
from warploom.verify import (
    Report as Report,
)
from warploom.verify import (
    Severity as Severity,
)
from warploom.verify import (
    verify as verify,
)
from warploom.verify import (
    witness as witness,
)
from warploom.view import (
    timeline as timeline,
)

__version__: str
