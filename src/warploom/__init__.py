"""warploom: a compiler for GPU software-pipeline schedules.

Declare the ops of one loop iteration, name a target, and get prologue, kernel and epilogue with
derived waits and barriers:

    >>> from warploom import DeclarativeSchedule, compile_schedule
    >>> compiled = compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4))
    >>> len(compiled.prologue), len(compiled.kernel), len(compiled.epilogue)
    (10, 70, 58)

This module is the public door: everything listed in ``__all__`` is stable, the rest is not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from warploom.blocks.program import PipelineProgram
from warploom.blocks.spec import MMABlockSpec
from warploom.compile import CompiledSchedule, ScheduleCompiler, compile_schedule
from warploom.config.parts import (
    BlockSizing,
    FragOrder,
    LoopCarriedSpec,
    SchedulingStrategy,
    WarpStaggerRule,
)
from warploom.config.pipeline import PipelineConfig
from warploom.config.schedule import ScheduleConfig
from warploom.config.strategies import BarrierStrategy, LoadStrategy, WaitStrategy
from warploom.errors import (
    BackendError,
    ConfigError,
    CostModelError,
    CycleError,
    DocumentError,
    ForcedSettingWarning,
    GeometryError,
    GraphError,
    InfeasibleError,
    MissingExtraError,
    NoEffectWarning,
    OrderError,
    PhaseError,
    ProgramError,
    SchedulingError,
    SimulationError,
    StructureError,
    SyncError,
    VerificationError,
    WarploomError,
    WarploomWarning,
)
from warploom.graph.edges import derive_edges_from_ops
from warploom.graph.loop_body import LoopBody, OpNode
from warploom.graph.rules import EdgeRule
from warploom.interchange import ScheduleDocument, read_schedule, write_schedule
from warploom.listing import WaitCounts
from warploom.ops.body import Pipe, PipelineBody, pipe
from warploom.ops.desc import DepEdge, OpDesc, ScheduleEntry
from warploom.ops.kinds import (
    DepKind,
    KOffsetKind,
    OpRole,
    Phase,
    ResourceKind,
    ScheduleOps,
)
from warploom.schedule import PipelineSchedule
from warploom.schedules.fourwave import Pipeline4Wave, build_fourwave_schedule
from warploom.schedules.pingpong import DeclarativeSchedule, build_schedule
from warploom.schedules.single_buffer import SingleBufferSchedule, build_default_matmul_schedule
from warploom.sync.policy import SyncPolicy
from warploom.target.cost import OpCost, TargetCostModel, TargetProfile, annotate_ops
from warploom.target.geometry import KernelGeometry, derive_safe_max_globals
from warploom.target.mi355x import (
    AMDScheduleHints,
    mi355x_cost_model,
    mi355x_double_buffer,
    mi355x_single_buffer,
    mi355x_single_buffer_cost_model,
    mi355x_single_buffer_target,
    mi355x_target,
)
from warploom.target.tags import DefaultMatmulOps, FourWaveOps, PingPongOps
from warploom.verify import Finding, Report, Severity, verify, witness

if TYPE_CHECKING:
    from warploom.runtime.attention import attention
    from warploom.runtime.gemm import gemm
    from warploom.sim import MachineCosts, Simulation, mi355x_costs, simulate
    from warploom.sync.proven import Repair, Synthesis, repair, synthesise

__version__ = "0.1.0"

# Names whose rooms are heavy or seldom needed: loaded when first asked for.
_ON_DEMAND = {
    "MachineCosts": "warploom.sim",
    "Repair": "warploom.sync.proven",
    "Simulation": "warploom.sim",
    "Synthesis": "warploom.sync.proven",
    "attention": "warploom.runtime.attention",
    "gemm": "warploom.runtime.gemm",
    "mi355x_costs": "warploom.sim",
    "repair": "warploom.sync.proven",
    "simulate": "warploom.sim",
    "synthesise": "warploom.sync.proven",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever the room exports)
    if name in _ON_DEMAND:
        value = getattr(import_module(_ON_DEMAND[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "AMDScheduleHints",
    "BackendError",
    "BarrierStrategy",
    "BlockSizing",
    "CompiledSchedule",
    "ConfigError",
    "CostModelError",
    "CycleError",
    "DeclarativeSchedule",
    "DefaultMatmulOps",
    "DepEdge",
    "DepKind",
    "DocumentError",
    "EdgeRule",
    "Finding",
    "ForcedSettingWarning",
    "FourWaveOps",
    "FragOrder",
    "GeometryError",
    "GraphError",
    "InfeasibleError",
    "KOffsetKind",
    "KernelGeometry",
    "LoadStrategy",
    "LoopBody",
    "LoopCarriedSpec",
    "MMABlockSpec",
    "MachineCosts",
    "MissingExtraError",
    "NoEffectWarning",
    "OpCost",
    "OpDesc",
    "OpNode",
    "OpRole",
    "OrderError",
    "Phase",
    "PhaseError",
    "PingPongOps",
    "Pipe",
    "Pipeline4Wave",
    "PipelineBody",
    "PipelineConfig",
    "PipelineProgram",
    "PipelineSchedule",
    "ProgramError",
    "Repair",
    "Report",
    "ResourceKind",
    "ScheduleCompiler",
    "ScheduleConfig",
    "ScheduleDocument",
    "ScheduleEntry",
    "ScheduleOps",
    "SchedulingError",
    "SchedulingStrategy",
    "Severity",
    "Simulation",
    "SimulationError",
    "SingleBufferSchedule",
    "StructureError",
    "SyncError",
    "SyncPolicy",
    "Synthesis",
    "TargetCostModel",
    "TargetProfile",
    "VerificationError",
    "WaitCounts",
    "WaitStrategy",
    "WarpStaggerRule",
    "WarploomError",
    "WarploomWarning",
    "__version__",
    "annotate_ops",
    "attention",
    "build_default_matmul_schedule",
    "build_fourwave_schedule",
    "build_schedule",
    "compile_schedule",
    "derive_edges_from_ops",
    "derive_safe_max_globals",
    "gemm",
    "mi355x_cost_model",
    "mi355x_costs",
    "mi355x_double_buffer",
    "mi355x_single_buffer",
    "mi355x_single_buffer_cost_model",
    "mi355x_single_buffer_target",
    "mi355x_target",
    "pipe",
    "read_schedule",
    "repair",
    "simulate",
    "synthesise",
    "verify",
    "witness",
    "write_schedule",
]
