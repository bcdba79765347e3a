"""warploom: a compiler for GPU software-pipeline schedules.

Declare the ops of one loop iteration, name a target, and get prologue, kernel and epilogue with
derived waits and barriers:

    >>> from warploom import DeclarativeSchedule, compile_schedule
    >>> compiled = compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4))
    >>> len(compiled.prologue), len(compiled.kernel), len(compiled.epilogue)
    (10, 70, 58)

This module is the public door: everything listed in ``__all__`` is stable, the rest is not.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from warploom.ops.kinds import DepKind, KOffsetKind, OpRole, Phase, ResourceKind, ScheduleOps
    from warploom.runtime.attention import attention, attention_packed
    from warploom.runtime.gemm import gemm
    from warploom.schedule import PipelineSchedule
    from warploom.schedules.fourwave import Pipeline4Wave, build_fourwave_schedule
    from warploom.schedules.pingpong import DeclarativeSchedule, build_schedule
    from warploom.schedules.single_buffer import SingleBufferSchedule, build_default_matmul_schedule
    from warploom.sim import MachineCosts, Simulation, mi355x_costs, simulate
    from warploom.sync.policy import SyncPolicy
    from warploom.sync.proven import Repair, Synthesis, repair, synthesise
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

__version__ = "0.1.0"

# Where each public name lives. Rooms load when a name is first asked for, so that importing
# warploom costs nothing and a tool that only verifies never loads a solver.
_HOMES = {
    "AMDScheduleHints": "warploom.target.mi355x",
    "BackendError": "warploom.errors",
    "BarrierStrategy": "warploom.config.strategies",
    "BlockSizing": "warploom.config.parts",
    "CompiledSchedule": "warploom.compile",
    "ConfigError": "warploom.errors",
    "CostModelError": "warploom.errors",
    "CycleError": "warploom.errors",
    "DeclarativeSchedule": "warploom.schedules.pingpong",
    "DefaultMatmulOps": "warploom.target.tags",
    "DepEdge": "warploom.ops.desc",
    "DepKind": "warploom.ops.kinds",
    "DocumentError": "warploom.errors",
    "EdgeRule": "warploom.graph.rules",
    "Finding": "warploom.verify",
    "ForcedSettingWarning": "warploom.errors",
    "FourWaveOps": "warploom.target.tags",
    "FragOrder": "warploom.config.parts",
    "GeometryError": "warploom.errors",
    "GraphError": "warploom.errors",
    "InfeasibleError": "warploom.errors",
    "KOffsetKind": "warploom.ops.kinds",
    "KernelGeometry": "warploom.target.geometry",
    "LoadStrategy": "warploom.config.strategies",
    "LoopBody": "warploom.graph.loop_body",
    "LoopCarriedSpec": "warploom.config.parts",
    "MMABlockSpec": "warploom.blocks.spec",
    "MachineCosts": "warploom.sim",
    "MissingExtraError": "warploom.errors",
    "NoEffectWarning": "warploom.errors",
    "OpCost": "warploom.target.cost",
    "OpDesc": "warploom.ops.desc",
    "OpNode": "warploom.graph.loop_body",
    "OpRole": "warploom.ops.kinds",
    "OrderError": "warploom.errors",
    "Phase": "warploom.ops.kinds",
    "PhaseError": "warploom.errors",
    "PingPongOps": "warploom.target.tags",
    "Pipe": "warploom.ops.body",
    "Pipeline4Wave": "warploom.schedules.fourwave",
    "PipelineBody": "warploom.ops.body",
    "PipelineConfig": "warploom.config.pipeline",
    "PipelineProgram": "warploom.blocks.program",
    "PipelineSchedule": "warploom.schedule",
    "ProgramError": "warploom.errors",
    "Repair": "warploom.sync.proven",
    "Report": "warploom.verify",
    "ResourceKind": "warploom.ops.kinds",
    "ScheduleCompiler": "warploom.compile",
    "ScheduleConfig": "warploom.config.schedule",
    "ScheduleDocument": "warploom.interchange",
    "ScheduleEntry": "warploom.ops.desc",
    "ScheduleOps": "warploom.ops.kinds",
    "SchedulingError": "warploom.errors",
    "SchedulingStrategy": "warploom.config.parts",
    "Severity": "warploom.verify",
    "Simulation": "warploom.sim",
    "SimulationError": "warploom.errors",
    "SingleBufferSchedule": "warploom.schedules.single_buffer",
    "StructureError": "warploom.errors",
    "SyncError": "warploom.errors",
    "SyncPolicy": "warploom.sync.policy",
    "Synthesis": "warploom.sync.proven",
    "TargetCostModel": "warploom.target.cost",
    "TargetProfile": "warploom.target.cost",
    "VerificationError": "warploom.errors",
    "WaitCounts": "warploom.listing",
    "WaitStrategy": "warploom.config.strategies",
    "WarpStaggerRule": "warploom.config.parts",
    "WarploomError": "warploom.errors",
    "WarploomWarning": "warploom.errors",
    "annotate_ops": "warploom.target.cost",
    "attention": "warploom.runtime.attention",
    "attention_packed": "warploom.runtime.attention",
    "build_default_matmul_schedule": "warploom.schedules.single_buffer",
    "build_fourwave_schedule": "warploom.schedules.fourwave",
    "build_schedule": "warploom.schedules.pingpong",
    "compile_schedule": "warploom.compile",
    "derive_edges_from_ops": "warploom.graph.edges",
    "derive_safe_max_globals": "warploom.target.geometry",
    "gemm": "warploom.runtime.gemm",
    "mi355x_cost_model": "warploom.target.mi355x",
    "mi355x_costs": "warploom.sim",
    "mi355x_double_buffer": "warploom.target.mi355x",
    "mi355x_single_buffer": "warploom.target.mi355x",
    "mi355x_single_buffer_cost_model": "warploom.target.mi355x",
    "mi355x_single_buffer_target": "warploom.target.mi355x",
    "mi355x_target": "warploom.target.mi355x",
    "pipe": "warploom.ops.body",
    "read_schedule": "warploom.interchange",
    "repair": "warploom.sync.proven",
    "simulate": "warploom.sim",
    "synthesise": "warploom.sync.proven",
    "verify": "warploom.verify",
    "witness": "warploom.verify",
    "write_schedule": "warploom.interchange",
}


class _Door(ModuleType):
    """The package as a module whose public names win over rooms of the same name.

    Importing the room ``warploom.verify`` would otherwise replace the function ``verify``.
    """

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever the room exports)
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_HOMES})


sys.modules[__name__].__class__ = _Door

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
    "attention_packed",
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
