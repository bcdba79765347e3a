"""``DeclarativeSchedule``: the ping-pong matmul over a ring of two or more buffers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

from warploom.errors import ConfigError
from warploom.ir.counter_dialect import KernelShape
from warploom.ir.schedule_ops import DepEdge, KOffsetKind, OpDesc
from warploom.ir.validation import boolean, instance, integer
from warploom.pipeline.amd_target.cost import (
    PingPongOps,
    mi355x_target,
)
from warploom.pipeline.amd_target.geometry import KernelGeometry, agreeing_target, agreeing_units
from warploom.pipeline.body import PipelineBody
from warploom.pipeline.compile import CompiledSchedule, OnRace, compile_schedule
from warploom.pipeline.config.pipeline import PipelineConfig, SchedulingStrategy
from warploom.pipeline.config.schedule import ScheduleConfig, warn_no_effect
from warploom.pipeline.config.target import (
    TargetProfile,
)
from warploom.pipeline.cost_model import (
    TargetCostModel,
    annotate_ops,
)
from warploom.pipeline.graph_builder.edges import derive_edges_from_ops
from warploom.pipeline.graph_builder.partitions import partition_edges
from warploom.pipeline.schedule import PipelineSchedule
from warploom.pipeline.scheduling.greedy import partition_reorder
from warploom.pipeline.sync.marks import SyncPolicy


def pingpong_half(half: int, depth: int = 2) -> PipelineBody:
    """The 12 logical ops of one partition: completion load, three prefetches, reads, MMAs."""
    k = KOffsetKind.ahead(half)
    with PipelineBody() as body:
        body.load(
            PingPongOps.LOAD_A, ch=0, stage=(half - 1) % depth, sub=1, k=KOffsetKind.ahead(half - 1)
        )
        body.load(PingPongOps.LOAD_A, ch=0, stage=half, sub=0, k=k)
        body.fan(2, PingPongOps.LOAD_B, ch=1, stage=half, k=k)
        body.fan(2, PingPongOps.MMA_LOAD_A, ch=0, stage=half)
        body.fan(2, PingPongOps.MMA_LOAD_B, ch=1, stage=half)
        body.grid(2, 2, PingPongOps.MMA)
    return body


class DeclarativeSchedule(PipelineSchedule):
    """Ping-pong: two wave groups in antiphase, 12 ops a K-partition, one partition a buffer.

    The documented forms are ``DeclarativeSchedule(config, target)`` and
    ``DeclarativeSchedule(config, hw_config, cost_model)``; the compile-time parameters are the
    keywords ``is_fp8``, ``lgkm_a`` and ``lgkm_b``, which may also come first:
    ``DeclarativeSchedule(is_fp8, lgkm_a, lgkm_b, config, target)``. With ``geometry=`` element
    type and counter units come from the kernel's shape, and whatever else states them must agree.

    A target of depth 3 to 8 gives a ring of as many buffers and K-partitions.
    """

    @overload
    def __init__(
        self,
        is_fp8: bool = ...,
        lgkm_a: int = ...,
        lgkm_b: int = ...,
        config: ScheduleConfig | None = ...,
        target: TargetProfile | None = ...,
        *,
        hw_config: PipelineConfig | None = ...,
        cost_model: TargetCostModel | None = ...,
        geometry: KernelGeometry | None = ...,
    ) -> None: ...

    @overload
    def __init__(
        self,
        config: ScheduleConfig,
        target: TargetProfile | None = ...,
        /,
        *,
        is_fp8: bool = ...,
        lgkm_a: int = ...,
        lgkm_b: int = ...,
        geometry: KernelGeometry | None = ...,
    ) -> None: ...

    @overload
    def __init__(
        self,
        config: ScheduleConfig,
        hw_config: PipelineConfig,
        cost_model: TargetCostModel,
        /,
        *,
        is_fp8: bool = ...,
        lgkm_a: int = ...,
        lgkm_b: int = ...,
        geometry: KernelGeometry | None = ...,
    ) -> None: ...

    def __init__(self, *positional: Any, **named: Any) -> None:
        given = _named(positional, named)
        self.geometry: KernelGeometry | None = given["geometry"]
        self.is_fp8: bool = given["is_fp8"]
        self.lgkm_a: int = given["lgkm_a"]
        self.lgkm_b: int = given["lgkm_b"]
        target = _target(given["target"], given["hw_config"], given["cost_model"])
        if self.geometry is not None:
            shape = self.geometry
            self.is_fp8, (self.lgkm_a, self.lgkm_b) = agreeing_units(
                "DeclarativeSchedule", shape, self.is_fp8, (self.lgkm_a, self.lgkm_b), named
            )
            wave = (shape.BM // 2, shape.BN // 4)
            target = agreeing_target(
                "DeclarativeSchedule", shape, target, shape.max_globals(wave=wave)
            )
        self.target = target or mi355x_target()
        self._schedule_config = given["config"] or ScheduleConfig(scheduling=SchedulingStrategy.CSP)
        for name, units in (("lgkm_per_load_a", self.lgkm_a), ("lgkm_per_load_b", self.lgkm_b)):
            stated = getattr(self._schedule_config, name)
            if units and stated not in (0, units):
                warn_no_effect(f"ScheduleConfig.{name}", f"the schedule's own {units} replaces it")
        self._config = _ring(self.target.pipeline)
        if self.geometry is not None:
            self.geometry.require_depth(self._config.depth)

    @property
    def name(self) -> str:
        """How listings and documents call this schedule."""
        return "pingpong"

    @property
    def target_name(self) -> str:
        """The target's name in documents."""
        return self.target.name

    @property
    def shape(self) -> KernelShape | None:
        """Tile and element type, if a geometry was given."""
        return self.geometry.shape if self.geometry is not None else None

    def config(self) -> PipelineConfig:
        """The target's pipeline structure; a deeper ring has one partition a buffer."""
        return self._config

    def declare_ops(self) -> list[OpDesc]:
        """The logical ops, 12 a partition: what exists, without costs."""
        body, depth = PipelineBody(), max(self._config.depth, 2)
        for half in range(depth):
            body.extend(pingpong_half(half, depth))
        return body.done()

    def build_body(self) -> list[OpDesc]:
        """Priced ops in MMA-block order."""
        priced = annotate_ops(self.declare_ops(), self.target.cost_model)
        return partition_reorder(priced, self._config, max(self._config.depth, 2))

    def derive_edges(self, body: Sequence[OpDesc]) -> list[DepEdge]:
        """The documented edges of two halves, or the same relations between more partitions."""
        if self._config.depth > 2:
            return partition_edges(body, self._config)
        return derive_edges_from_ops(body, self._config)

    def schedule_config(self) -> ScheduleConfig:
        """The knobs, with this schedule's lgkm counts where it states them."""
        own = self._schedule_config
        return replace(
            own,
            lgkm_per_load_a=self.lgkm_a or own.lgkm_per_load_a,
            lgkm_per_load_b=self.lgkm_b or own.lgkm_per_load_b,
        )


_DEFAULTS: dict[str, Any] = {
    "is_fp8": False,
    "lgkm_a": 0,
    "lgkm_b": 0,
    "config": None,
    "target": None,
    "hw_config": None,
    "cost_model": None,
    "geometry": None,
}
_PARAMETERS = ("is_fp8", "lgkm_a", "lgkm_b", "config", "target")
_KINDS = {
    "config": ScheduleConfig,
    "target": TargetProfile,
    "hw_config": PipelineConfig,
    "cost_model": TargetCostModel,
    "geometry": KernelGeometry,
}


def _named(positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Every argument by its name, of the right type."""
    owner = "DeclarativeSchedule"
    names: tuple[str, ...] = _PARAMETERS
    if positional and isinstance(positional[0], ScheduleConfig):
        names = ("config", "target")
        if len(positional) > 1 and isinstance(positional[1], PipelineConfig):
            names = ("config", "hw_config", "cost_model")
    if len(positional) > len(names):
        raise ConfigError(
            f"{len(positional)} positional arguments, of which {len(names)} have a meaning",
            where=owner,
            fix=f"give ({', '.join(names)}), the rest by name",
        )
    given = dict(zip(names, positional, strict=False))
    for name in named:
        if name not in _DEFAULTS or name in given:
            raise ConfigError(
                f"{name} is given twice" if name in given else f"there is no argument {name!r}",
                where=f"{owner}.{name}",
                fix=f"one of: {', '.join(_DEFAULTS)}",
            )
    given = {**_DEFAULTS, **given, **named}
    boolean(given["is_fp8"], "is_fp8", owner)
    integer(given["lgkm_a"], "lgkm_a", owner, least=0)
    integer(given["lgkm_b"], "lgkm_b", owner, least=0)
    for name, kind in _KINDS.items():
        if given[name] is not None:
            instance(given[name], kind, name, owner)
    return given


def _target(
    target: TargetProfile | None,
    hw_config: PipelineConfig | None,
    cost_model: TargetCostModel | None,
) -> TargetProfile | None:
    if hw_config is None and cost_model is None:
        return target
    if target is not None or hw_config is None or cost_model is None:
        raise ConfigError(
            "give either target, or both hw_config and cost_model",
            where="DeclarativeSchedule",
            why="the pipeline structure and the costs must come from one place each",
        )
    return TargetProfile(cost_model, hw_config)


def _ring(config: PipelineConfig) -> PipelineConfig:
    """The structure with one partition a buffer, as this body has it."""
    return config if config.depth <= 2 else replace(config, num_partitions=config.depth)


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
