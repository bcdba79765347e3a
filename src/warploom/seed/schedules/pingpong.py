"""``DeclarativeSchedule``: the ping-pong double-buffer matmul."""

from __future__ import annotations

from dataclasses import replace

from warploom.document.kinds import KOffsetKind
from warploom.document.ops import OpDesc
from warploom.errors import ConfigError
from warploom.seed.body import PipelineBody
from warploom.seed.compile import CompiledSchedule, OnRace, compile_schedule
from warploom.seed.config.parts import SchedulingStrategy
from warploom.seed.config.pipeline import PipelineConfig
from warploom.seed.config.schedule import ScheduleConfig
from warploom.seed.sched.interleave import double_buffer_reorder
from warploom.seed.schedule import PipelineSchedule
from warploom.seed.sync.policy import SyncPolicy
from warploom.seed.target.cost import TargetCostModel, TargetProfile, annotate_ops
from warploom.seed.target.mi355x import mi355x_target
from warploom.seed.target.tags import PingPongOps


def pingpong_half(half: int) -> PipelineBody:
    """The 12 logical ops of one half: the completion load, three prefetches, reads, MMAs."""
    k = KOffsetKind.K1 if half else KOffsetKind.K0
    completion = KOffsetKind.K0 if half else KOffsetKind.K_PREV
    with PipelineBody() as body:
        body.load(PingPongOps.LOAD_A, ch=0, stage=1 - half, sub=1, k=completion)
        body.load(PingPongOps.LOAD_A, ch=0, stage=half, sub=0, k=k)
        body.fan(2, PingPongOps.LOAD_B, ch=1, stage=half, k=k)
        body.fan(2, PingPongOps.MMA_LOAD_A, ch=0, stage=half)
        body.fan(2, PingPongOps.MMA_LOAD_B, ch=1, stage=half)
        body.grid(2, 2, PingPongOps.MMA)
    return body


def _default_config() -> ScheduleConfig:
    return ScheduleConfig(scheduling=SchedulingStrategy.CSP)


class DeclarativeSchedule(PipelineSchedule):
    """Ping-pong: two wave groups in antiphase, two K-partitions, 24 ops.

    Two forms: ``DeclarativeSchedule(is_fp8, lgkm_a, lgkm_b, config=..., target=...)``, or with
    ``hw_config=`` and ``cost_model=`` in place of ``target=``.
    """

    def __init__(
        self,
        is_fp8: bool = False,
        lgkm_a: int = 0,
        lgkm_b: int = 0,
        config: ScheduleConfig | None = None,
        target: TargetProfile | None = None,
        *,
        hw_config: PipelineConfig | None = None,
        cost_model: TargetCostModel | None = None,
    ) -> None:
        self.is_fp8, self.lgkm_a, self.lgkm_b = is_fp8, lgkm_a, lgkm_b
        self._schedule_config = config or _default_config()
        self.target = _target(target, hw_config, cost_model)

    @property
    def name(self) -> str:
        """How listings and documents call this schedule."""
        return "pingpong"

    @property
    def target_name(self) -> str:
        """The target's name in documents."""
        return self.target.name

    def config(self) -> PipelineConfig:
        """The target's pipeline structure."""
        return self.target.pipeline

    def declare_ops(self) -> list[OpDesc]:
        """The 24 logical ops: what exists, without costs."""
        return PipelineBody().extend(pingpong_half(0)).extend(pingpong_half(1)).done()

    def build_body(self) -> list[OpDesc]:
        """Priced ops in MMA-block order."""
        priced = annotate_ops(self.declare_ops(), self.target.cost_model)
        return double_buffer_reorder(priced, self.config())

    def schedule_config(self) -> ScheduleConfig:
        """The knobs, with this schedule's lgkm counts."""
        return replace(
            self._schedule_config, lgkm_per_load_a=self.lgkm_a, lgkm_per_load_b=self.lgkm_b
        )


def _target(
    target: TargetProfile | None,
    hw_config: PipelineConfig | None,
    cost_model: TargetCostModel | None,
) -> TargetProfile:
    if hw_config is None and cost_model is None:
        return target or mi355x_target()
    if target is not None or hw_config is None or cost_model is None:
        raise ConfigError(
            "give either target, or both hw_config and cost_model",
            where="DeclarativeSchedule",
            why="the pipeline structure and the costs must come from one place each",
        )
    return TargetProfile(cost_model, hw_config)


def build_schedule(
    is_fp8: bool = False,
    lgkm_a: int = 0,
    lgkm_b: int = 0,
    config: ScheduleConfig | None = None,
    target: TargetProfile | None = None,
    *,
    sync: SyncPolicy | None = None,
    on_race: OnRace = "raise",
) -> CompiledSchedule:
    """Compile the ping-pong schedule; the result carries the lgkm counts."""
    schedule = DeclarativeSchedule(is_fp8, lgkm_a, lgkm_b, config, target)
    compiled = compile_schedule(schedule, sync=sync, on_race=on_race)
    return replace(compiled, lgkm_per_load_a=lgkm_a, lgkm_per_load_b=lgkm_b)
