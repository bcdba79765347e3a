"""``Pipeline4Wave``: the 4-wave matmul with cross-stage register rotation."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from warploom.dataclass import dataclass
from warploom.errors import ForcedSettingWarning
from warploom.ir.counter_dialect import KernelShape
from warploom.ir.schedule_ops import DepEdge, KOffsetKind, OpDesc, OpRole
from warploom.ir.validation import instance
from warploom.pipeline.amd_target.cost import FourWaveOps
from warploom.pipeline.amd_target.geometry import KernelGeometry, agreeing_target
from warploom.pipeline.block_expand.program import PipelineProgram
from warploom.pipeline.block_expand.spec import emit_minimal_barrier_block
from warploom.pipeline.body import PipelineBody
from warploom.pipeline.compile import CompiledSchedule, OnRace, compile_schedule
from warploom.pipeline.config.pipeline import PipelineConfig, SchedulingStrategy, WarpStaggerRule
from warploom.pipeline.config.schedule import ScheduleConfig
from warploom.pipeline.config.target import TargetProfile
from warploom.pipeline.cost_model import annotate_ops
from warploom.pipeline.graph_builder import edges
from warploom.pipeline.graph_builder.partitions import rotation_edges
from warploom.pipeline.schedule import PipelineSchedule
from warploom.pipeline.sync.marks import SyncPolicy


@dataclass(frozen=True, slots=True)
class MiniIterSpec:
    """One mini-iteration: a load, a fragment read and an MMA."""

    load_tag: int
    load_channel: int
    load_subtile: int
    frag_tag: int
    frag_channel: int
    frag_subtile: int
    frag_cross_stage: bool
    mma_m_quad: int
    mma_n_quad: int


_A, _B = (FourWaveOps.LOAD_A, 0), (FourWaveOps.LOAD_B, 1)
_FA, _FB = (FourWaveOps.MMA_LOAD_A, 0), (FourWaveOps.MMA_LOAD_B, 1)

FOUR_WAVE_MINI_ITERS = (
    MiniIterSpec(*_A, 0, *_FB, 1, False, 0, 0),
    MiniIterSpec(*_B, 0, *_FA, 1, False, 0, 1),
    MiniIterSpec(*_B, 1, *_FA, 0, True, 1, 0),
    MiniIterSpec(*_A, 1, *_FB, 0, True, 1, 1),
)

_FORCED: dict[str, Any] = {
    "scheduling": SchedulingStrategy.IDENTITY,
    "minimal_barriers": True,
    "omit_mma_set_prio": True,
    "inter_block_lgkm_drain": True,
    "partial_prologue_drain": True,
}


class Pipeline4Wave(PipelineSchedule):
    """Four waves, four mini-iterations a K-partition; leading fragments rotate across stages.

    The body's order is the schedule: strategy, minimal barriers, inter-block drains and the
    partial prologue drain belong to it and are re-applied to whatever config is given.

    Waits are proven by default, a deviation from the reference: its rules leave races here. At the
    top of a half they wait for ``lgkm(8)``, so a wave may still be reading B fragment [0,0] when,
    after the barrier, another wave's load overwrites that slot; and the epilogue reads what other
    waves loaded without any barrier. ``sync=SyncPolicy.REFERENCE`` gives the reference's waits.

    Counter units are the geometry's; a target that states others is refused. A target of depth 3
    to 8 gives a ring of as many buffers and K-partitions.
    """

    forced_settings = tuple(_FORCED)

    def __init__(
        self,
        geometry: KernelGeometry,
        config: ScheduleConfig | None = None,
        target: TargetProfile | None = None,
    ) -> None:
        instance(geometry, KernelGeometry, "geometry", "Pipeline4Wave")
        for name, value, kind in (
            ("config", config, ScheduleConfig),
            ("target", target, TargetProfile),
        ):
            if value is not None:
                instance(value, kind, name, "Pipeline4Wave")
        self.geometry = geometry
        self.target = agreeing_target("Pipeline4Wave", geometry, target, max_globals=1)
        usual = self._default_schedule_config()
        self._schedule_config = _forced(config or usual)
        if config not in (None, usual):  # what the caller states is his, and warns where idle
            self.forced_settings = tuple(n for n in _FORCED if not _stated(config, n))
        depth = max(self.target.pipeline.depth, 2)
        geometry.require_depth(depth)
        self._config = replace(
            self.target.pipeline,
            depth=depth,
            num_partitions=depth if depth > 2 else self.target.pipeline.num_partitions,
            warp_stagger=WarpStaggerRule.none(),
            lgkm_per_load_a=geometry.lgkm_per_load_a,
            lgkm_per_load_b=geometry.lgkm_per_load_b,
            cross_stage_rotation=True,
        )

    @staticmethod
    def _default_schedule_config() -> ScheduleConfig:
        return ScheduleConfig(**_FORCED)

    @property
    def name(self) -> str:
        """How listings and documents call this schedule."""
        return "fourwave"

    @property
    def target_name(self) -> str:
        """The target's name in documents."""
        return self.target.name

    @property
    def shape(self) -> KernelShape:
        """Tile and element type."""
        return self.geometry.shape

    def config(self) -> PipelineConfig:
        """The target's structure without stagger, with this geometry's lgkm counts."""
        return self._config

    def declare_ops(self) -> list[OpDesc]:
        """The logical ops of all K-partitions (24 of two), in mini-iteration order."""
        depth = self._config.depth
        with PipelineBody() as body:
            for p in range(depth):
                for mini in FOUR_WAVE_MINI_ITERS:
                    body.load(
                        mini.load_tag,
                        ch=mini.load_channel,
                        stage=p,
                        sub=mini.load_subtile,
                        k=KOffsetKind.ahead(p),
                    )
                    body.frag(
                        mini.frag_tag,
                        ch=mini.frag_channel,
                        stage=(p + 1) % depth if mini.frag_cross_stage else p,
                        sub=mini.frag_subtile,
                    )
                    body.compute(FourWaveOps.MMA, stage=mini.mma_m_quad, sub=mini.mma_n_quad)
        return body.done()

    def build_body(self) -> list[OpDesc]:
        """Priced ops; the declared order is the execution order."""
        return annotate_ops(self.declare_ops(), self.target.cost_model)

    def bootstrap_frags(self) -> list[OpDesc]:
        """The leading A and B fragments of stage 0, which no earlier half has rotated in."""
        return [
            OpDesc(tag=tag, channel=channel, role=OpRole.FRAGMENT_LOAD)
            for tag, channel in (_FA, _FB)
        ]

    def derive_edges(self, body: Sequence[OpDesc]) -> list[DepEdge]:
        """Default edges without spurious same-half flow, plus the rotation's own."""
        if self._config.depth > 2:
            return rotation_edges(body, self._config)
        default = edges.derive_edges_from_ops(body, self.config())
        return edges.filter_spurious_cross_stage_flow(
            default, body
        ) + edges.derive_cross_stage_rotation_edges(body)

    def schedule_config(self) -> ScheduleConfig:
        """The knobs, with the rotation's own settings applied."""
        return self._schedule_config

    def sync_policy(self) -> SyncPolicy:
        """Proven, weakest waits: the reference's rules race on this order."""
        return SyncPolicy.PROVEN_WEAKEST

    def build_explicit_blocks(
        self, body: Sequence[OpDesc], program: PipelineProgram
    ) -> list[list[OpDesc]]:
        """Every block in its minimal-barrier form; the reference ignores ``global_before_frag``."""
        return [
            emit_minimal_barrier_block(
                block,
                block.wrap_waits_with_sched_barrier,
                block.global_before_frag and not program.to_the_letter,
            )
            for block in program.blocks
        ]


def _stated(config: ScheduleConfig, name: str) -> bool:
    """Whether a caller asks for a setting of the rotation in so many words."""
    value: object = getattr(config, name)
    return bool(value == _FORCED[name] and value != getattr(ScheduleConfig(), name))


def _forced(config: ScheduleConfig) -> ScheduleConfig:
    """Re-apply the settings the rotation rests on; say so where they differ."""
    changed = [name for name, value in _FORCED.items() if getattr(config, name) != value]
    if changed:
        warnings.warn(
            f"Pipeline4Wave sets {', '.join(changed)} itself; the values given are replaced",
            ForcedSettingWarning,
            stacklevel=3,
        )
    return replace(config, **_FORCED)


def build_fourwave_schedule(
    geometry: KernelGeometry,
    config: ScheduleConfig | None = None,
    target: TargetProfile | None = None,
    *,
    sync: SyncPolicy | None = None,
    on_race: OnRace = "raise",
) -> CompiledSchedule:
    """Compile the 4-wave schedule; the result carries the geometry's lgkm counts."""
    schedule = Pipeline4Wave(geometry, config, target)
    compiled = compile_schedule(schedule, sync=sync, on_race=on_race)
    return replace(
        compiled, lgkm_per_load_a=geometry.lgkm_per_load_a, lgkm_per_load_b=geometry.lgkm_per_load_b
    )
