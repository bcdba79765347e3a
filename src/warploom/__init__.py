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
    from warploom.document import ScheduleDocument, read_schedule, write_schedule
    from warploom.document.kinds import (
        DepKind,
        KOffsetKind,
        OpRole,
        Phase,
        ResourceKind,
        ScheduleOps,
    )
    from warploom.document.ops import DepEdge, OpDesc, ScheduleEntry
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
        KernelCallError,
        KernelError,
        KernelMemoryError,
        KernelNameError,
        KernelShapeError,
        KernelSyntaxError,
        KernelTypeError,
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
    from warploom.guard.counters import Repair, Synthesis, repair, synthesise
    from warploom.kernel.text import kernel
    from warploom.kernel.words import (
        In,
        Out,
        Starts,
        abs,
        bf16,
        cos,
        e4m3,
        e5m2,
        erf,
        exp,
        exp2,
        f16,
        f32,
        floor,
        full,
        gelu,
        i32,
        i4,
        i8,
        index,
        inf,
        log,
        log2,
        maximum,
        minimum,
        relu,
        rsqrt,
        sigmoid,
        silu,
        sin,
        sqrt,
        steps,
        tanh,
        tile,
        where,
        zeros,
    )
    from warploom.launch.attention import attention, attention_packed
    from warploom.launch.gemm import gemm
    from warploom.seed.blocks.program import PipelineProgram
    from warploom.seed.blocks.spec import MMABlockSpec
    from warploom.seed.body import Pipe, PipelineBody, pipe
    from warploom.seed.compile import CompiledSchedule, ScheduleCompiler, compile_schedule
    from warploom.seed.config.parts import (
        BlockSizing,
        FragOrder,
        LoopCarriedSpec,
        SchedulingStrategy,
        WarpStaggerRule,
    )
    from warploom.seed.config.pipeline import PipelineConfig
    from warploom.seed.config.schedule import ScheduleConfig
    from warploom.seed.config.strategies import BarrierStrategy, LoadStrategy, WaitStrategy
    from warploom.seed.graph.edges import derive_edges_from_ops
    from warploom.seed.graph.loop_body import LoopBody, OpNode
    from warploom.seed.graph.rules import EdgeRule
    from warploom.seed.listing import WaitCounts
    from warploom.seed.schedule import PipelineSchedule
    from warploom.seed.schedules.fourwave import Pipeline4Wave, build_fourwave_schedule
    from warploom.seed.schedules.pingpong import DeclarativeSchedule, build_schedule
    from warploom.seed.schedules.single_buffer import (
        SingleBufferSchedule,
        build_default_matmul_schedule,
    )
    from warploom.seed.sync.policy import SyncPolicy
    from warploom.seed.target.cost import OpCost, TargetCostModel, TargetProfile, annotate_ops
    from warploom.seed.target.geometry import KernelGeometry, derive_safe_max_globals
    from warploom.seed.target.mi355x import (
        AMDScheduleHints,
        mi355x_cost_model,
        mi355x_double_buffer,
        mi355x_single_buffer,
        mi355x_single_buffer_cost_model,
        mi355x_single_buffer_target,
        mi355x_target,
    )
    from warploom.seed.target.tags import DefaultMatmulOps, FourWaveOps, PingPongOps
    from warploom.sim import MachineCosts, Simulation, mi355x_costs, simulate
    from warploom.verify import Finding, Report, Severity, verify, witness

__version__ = "0.1.0"

# Where each public name lives. Rooms load when a name is first asked for, so that importing
# warploom costs nothing and a tool that only verifies never loads a solver.
_HOMES = {
    "AMDScheduleHints": "warploom.seed.target.mi355x",
    "BackendError": "warploom.errors",
    "BarrierStrategy": "warploom.seed.config.strategies",
    "BlockSizing": "warploom.seed.config.parts",
    "CompiledSchedule": "warploom.seed.compile",
    "ConfigError": "warploom.errors",
    "CostModelError": "warploom.errors",
    "CycleError": "warploom.errors",
    "DeclarativeSchedule": "warploom.seed.schedules.pingpong",
    "DefaultMatmulOps": "warploom.seed.target.tags",
    "DepEdge": "warploom.document.ops",
    "DepKind": "warploom.document.kinds",
    "DocumentError": "warploom.errors",
    "EdgeRule": "warploom.seed.graph.rules",
    "Finding": "warploom.verify",
    "ForcedSettingWarning": "warploom.errors",
    "FourWaveOps": "warploom.seed.target.tags",
    "FragOrder": "warploom.seed.config.parts",
    "GeometryError": "warploom.errors",
    "GraphError": "warploom.errors",
    "In": "warploom.kernel.words",
    "InfeasibleError": "warploom.errors",
    "KOffsetKind": "warploom.document.kinds",
    "KernelCallError": "warploom.errors",
    "KernelError": "warploom.errors",
    "KernelGeometry": "warploom.seed.target.geometry",
    "KernelMemoryError": "warploom.errors",
    "KernelNameError": "warploom.errors",
    "KernelShapeError": "warploom.errors",
    "KernelSyntaxError": "warploom.errors",
    "KernelTypeError": "warploom.errors",
    "LoadStrategy": "warploom.seed.config.strategies",
    "LoopBody": "warploom.seed.graph.loop_body",
    "LoopCarriedSpec": "warploom.seed.config.parts",
    "MMABlockSpec": "warploom.seed.blocks.spec",
    "MachineCosts": "warploom.sim",
    "MissingExtraError": "warploom.errors",
    "NoEffectWarning": "warploom.errors",
    "OpCost": "warploom.seed.target.cost",
    "OpDesc": "warploom.document.ops",
    "OpNode": "warploom.seed.graph.loop_body",
    "OpRole": "warploom.document.kinds",
    "OrderError": "warploom.errors",
    "Out": "warploom.kernel.words",
    "Phase": "warploom.document.kinds",
    "PhaseError": "warploom.errors",
    "PingPongOps": "warploom.seed.target.tags",
    "Pipe": "warploom.seed.body",
    "Pipeline4Wave": "warploom.seed.schedules.fourwave",
    "PipelineBody": "warploom.seed.body",
    "PipelineConfig": "warploom.seed.config.pipeline",
    "PipelineProgram": "warploom.seed.blocks.program",
    "PipelineSchedule": "warploom.seed.schedule",
    "ProgramError": "warploom.errors",
    "Repair": "warploom.guard.counters",
    "Report": "warploom.verify",
    "ResourceKind": "warploom.document.kinds",
    "ScheduleCompiler": "warploom.seed.compile",
    "ScheduleConfig": "warploom.seed.config.schedule",
    "ScheduleDocument": "warploom.document",
    "ScheduleEntry": "warploom.document.ops",
    "ScheduleOps": "warploom.document.kinds",
    "SchedulingError": "warploom.errors",
    "SchedulingStrategy": "warploom.seed.config.parts",
    "Severity": "warploom.verify",
    "Simulation": "warploom.sim",
    "SimulationError": "warploom.errors",
    "SingleBufferSchedule": "warploom.seed.schedules.single_buffer",
    "Starts": "warploom.kernel.words",
    "StructureError": "warploom.errors",
    "SyncError": "warploom.errors",
    "SyncPolicy": "warploom.seed.sync.policy",
    "Synthesis": "warploom.guard.counters",
    "TargetCostModel": "warploom.seed.target.cost",
    "TargetProfile": "warploom.seed.target.cost",
    "VerificationError": "warploom.errors",
    "WaitCounts": "warploom.seed.listing",
    "WaitStrategy": "warploom.seed.config.strategies",
    "WarpStaggerRule": "warploom.seed.config.parts",
    "WarploomError": "warploom.errors",
    "WarploomWarning": "warploom.errors",
    "abs": "warploom.kernel.words",
    "annotate_ops": "warploom.seed.target.cost",
    "attention": "warploom.launch.attention",
    "attention_packed": "warploom.launch.attention",
    "bf16": "warploom.kernel.words",
    "build_default_matmul_schedule": "warploom.seed.schedules.single_buffer",
    "build_fourwave_schedule": "warploom.seed.schedules.fourwave",
    "build_schedule": "warploom.seed.schedules.pingpong",
    "compile_schedule": "warploom.seed.compile",
    "cos": "warploom.kernel.words",
    "derive_edges_from_ops": "warploom.seed.graph.edges",
    "derive_safe_max_globals": "warploom.seed.target.geometry",
    "e4m3": "warploom.kernel.words",
    "e5m2": "warploom.kernel.words",
    "erf": "warploom.kernel.words",
    "exp": "warploom.kernel.words",
    "exp2": "warploom.kernel.words",
    "f16": "warploom.kernel.words",
    "f32": "warploom.kernel.words",
    "floor": "warploom.kernel.words",
    "full": "warploom.kernel.words",
    "gelu": "warploom.kernel.words",
    "gemm": "warploom.launch.gemm",
    "i32": "warploom.kernel.words",
    "i4": "warploom.kernel.words",
    "i8": "warploom.kernel.words",
    "index": "warploom.kernel.words",
    "inf": "warploom.kernel.words",
    "kernel": "warploom.kernel.text",
    "log": "warploom.kernel.words",
    "log2": "warploom.kernel.words",
    "maximum": "warploom.kernel.words",
    "mi355x_cost_model": "warploom.seed.target.mi355x",
    "mi355x_costs": "warploom.sim",
    "mi355x_double_buffer": "warploom.seed.target.mi355x",
    "mi355x_single_buffer": "warploom.seed.target.mi355x",
    "mi355x_single_buffer_cost_model": "warploom.seed.target.mi355x",
    "mi355x_single_buffer_target": "warploom.seed.target.mi355x",
    "mi355x_target": "warploom.seed.target.mi355x",
    "minimum": "warploom.kernel.words",
    "pipe": "warploom.seed.body",
    "read_schedule": "warploom.document",
    "relu": "warploom.kernel.words",
    "repair": "warploom.guard.counters",
    "rsqrt": "warploom.kernel.words",
    "sigmoid": "warploom.kernel.words",
    "silu": "warploom.kernel.words",
    "simulate": "warploom.sim",
    "sin": "warploom.kernel.words",
    "sqrt": "warploom.kernel.words",
    "steps": "warploom.kernel.words",
    "synthesise": "warploom.guard.counters",
    "tanh": "warploom.kernel.words",
    "tile": "warploom.kernel.words",
    "verify": "warploom.verify",
    "where": "warploom.kernel.words",
    "witness": "warploom.verify",
    "write_schedule": "warploom.document",
    "zeros": "warploom.kernel.words",
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
    "In",
    "InfeasibleError",
    "KOffsetKind",
    "KernelCallError",
    "KernelError",
    "KernelGeometry",
    "KernelMemoryError",
    "KernelNameError",
    "KernelShapeError",
    "KernelSyntaxError",
    "KernelTypeError",
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
    "Out",
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
    "Starts",
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
    "abs",
    "annotate_ops",
    "attention",
    "attention_packed",
    "bf16",
    "build_default_matmul_schedule",
    "build_fourwave_schedule",
    "build_schedule",
    "compile_schedule",
    "cos",
    "derive_edges_from_ops",
    "derive_safe_max_globals",
    "e4m3",
    "e5m2",
    "erf",
    "exp",
    "exp2",
    "f16",
    "f32",
    "floor",
    "full",
    "gelu",
    "gemm",
    "i32",
    "i4",
    "i8",
    "index",
    "inf",
    "kernel",
    "log",
    "log2",
    "maximum",
    "mi355x_cost_model",
    "mi355x_costs",
    "mi355x_double_buffer",
    "mi355x_single_buffer",
    "mi355x_single_buffer_cost_model",
    "mi355x_single_buffer_target",
    "mi355x_target",
    "minimum",
    "pipe",
    "read_schedule",
    "relu",
    "repair",
    "rsqrt",
    "sigmoid",
    "silu",
    "simulate",
    "sin",
    "sqrt",
    "steps",
    "synthesise",
    "tanh",
    "tile",
    "verify",
    "where",
    "witness",
    "write_schedule",
    "zeros",
]
