"""``ScheduleCompiler``: the documented compiler object."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from warploom.document.ops import DepEdge, OpDesc, ScheduleEntry
from warploom.seed.compile.line import OnRace, compile_schedule
from warploom.seed.compile.result import CompiledSchedule
from warploom.seed.config.parts import BlockSizing, FragOrder, LoopCarriedSpec, WarpStaggerRule
from warploom.seed.config.pipeline import PipelineConfig
from warploom.seed.schedule import PipelineSchedule


def _blank_config() -> PipelineConfig:
    counts: dict[str, Any] = {f.name: 0 for f in fields(PipelineConfig) if f.type == "int"}
    return PipelineConfig(
        **counts,
        loop_carried=LoopCarriedSpec.none(),
        block_sizing=BlockSizing.uniform(0),
        frag_order=FragOrder.a_first(),
        mma_serial=False,
        warp_stagger=WarpStaggerRule.none(),
    )


@dataclass(slots=True)
class ScheduleCompiler:
    """The documented compiler object: empty until ``compile`` fills it."""

    config: PipelineConfig = field(default_factory=_blank_config)
    body: list[OpDesc] = field(default_factory=list)
    edges: list[DepEdge] = field(default_factory=list)
    prologue: list[ScheduleEntry] = field(default_factory=list)
    kernel: list[ScheduleEntry] = field(default_factory=list)
    epilogue: list[ScheduleEntry] = field(default_factory=list)
    kernel_deps: list[DepEdge] = field(default_factory=list)
    warp_stagger_index: int = 0
    lgkm_per_load_a: int = 0
    lgkm_per_load_b: int = 0
    result: CompiledSchedule | None = None

    def compile(self, schedule: PipelineSchedule, *, on_race: OnRace = "raise") -> CompiledSchedule:
        """Compile a schedule into this object's fields; also returns the immutable result."""
        done = compile_schedule(schedule, on_race=on_race)
        self.config = done.config
        self.body, self.edges = list(done.body), list(done.edges)
        self.prologue, self.kernel = list(done.prologue), list(done.kernel)
        self.epilogue, self.kernel_deps = list(done.epilogue), list(done.kernel_deps)
        self.warp_stagger_index = done.warp_stagger_index
        self.result = done
        return done
