"""``ScheduleConfig``: its knobs, bundles of them, the policy they come to, and which do nothing.

Several of the flat flags exclude or imply each other; what follows from such combinations has one
name here, so that no later step has to know which flags belong together.

ScheduleConfig.from_strategies(
    **BarrierStrategy.minimal_no_set_prio(), **WaitStrategy.default(), **LoadStrategy.default()
)
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Container, Iterator, Sequence
from dataclasses import fields, replace
from typing import ClassVar, Self

from warploom.dataclass import dataclass
from warploom.errors import NoEffectWarning
from warploom.ir.schedule_ops import OpDesc, OpRole
from warploom.ir.validation import check_fields
from warploom.pipeline.config.pipeline import PipelineConfig, SchedulingStrategy
from warploom.pipeline.sync.marks import SyncPolicy, derived

UNLIMITED_VGPR = 999999
NO_WAIT = 255

_COUNT = "it counts operations or registers"
_WAIT = "a wait for fewer than zero outstanding operations never ends"
_WHY = {
    "sched_barrier_mask": "it is a mask of blocks",
    "drain_lgkm_mask": "it is a mask of blocks",
    "lds_contention_penalty": "it counts cycles",
    "wait_lgkm_first": _WAIT,
    "wait_vm_last": _WAIT,
    "lgkm_per_load_a": _COUNT,
    "lgkm_per_load_b": _COUNT,
    "max_vgpr": _COUNT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleConfig:
    """Tunable parameters of schedule generation.

    Attributes:
        scheduling: Strategy for op order.
        sched_barrier_mask: Bit b gives block b a trailing scheduler fence.
        auto_waits: Derive wait counts from the program.
        drain_lgkm_mask: Bit b drains LDS before the global loads of block b.
        auto_drain: Derive that mask (only with ``auto_waits``).
        lds_contention_penalty: Cycles between two memory issues in the CSP model.
        wait_lgkm_first: Manual lgkm wait of each partition's first block; 255 or more: none.
        wait_vm_last: Manual vm wait of each partition's last block.
        lgkm_per_load_a: lgkmcnt units per channel-A fragment load, if PipelineConfig has none.
        lgkm_per_load_b: lgkmcnt units per channel-B fragment load, if PipelineConfig has none.
        lgkm_after_last: lgkm(0) after the last block's barrier.
        minimal_barriers: Barriers only at the top of a partition and where an entry wait stands.
        omit_mma_set_prio: With ``minimal_barriers``: no priority hints at all.
        max_vgpr: Register budget of the CSP and MODULO searches: a hint, unless insisted on.
        global_before_frag: Global loads before fragment loads inside a block.
        barrier_before_pre_ops: The wait and barrier section before the loads of a block.
        inter_block_lgkm_drain: lgkm(0) at interior block starts.
        partial_prologue_drain: Prefetches stay in flight on entry to the kernel.
        wrap_waits_with_sched_barrier: Scheduler fences around each group of waits.
    """

    scheduling: SchedulingStrategy = SchedulingStrategy.IDENTITY
    sched_barrier_mask: int = 85
    auto_waits: bool = True
    drain_lgkm_mask: int = 0
    auto_drain: bool = False
    lds_contention_penalty: int = 0
    wait_lgkm_first: int = 8
    wait_vm_last: int = 6
    lgkm_per_load_a: int = 0
    lgkm_per_load_b: int = 0
    lgkm_after_last: bool = False
    minimal_barriers: bool = False
    omit_mma_set_prio: bool = False
    max_vgpr: int = UNLIMITED_VGPR
    global_before_frag: bool = False
    barrier_before_pre_ops: bool = False
    inter_block_lgkm_drain: bool = False
    partial_prologue_drain: bool = False
    wrap_waits_with_sched_barrier: bool = False

    def __post_init__(self) -> None:
        check_fields(self, why=_WHY)

    @classmethod
    def from_strategies(
        cls,
        *,
        scheduling: SchedulingStrategy = SchedulingStrategy.IDENTITY,
        max_vgpr: int = UNLIMITED_VGPR,
        lds_contention_penalty: int = 0,
        minimal_barriers: bool = False,
        omit_mma_set_prio: bool = False,
        sched_barrier_mask: int = 85,
        wrap_waits_with_sched_barrier: bool = False,
        barrier_before_pre_ops: bool = False,
        auto_waits: bool = True,
        drain_lgkm_mask: int = 0,
        auto_drain: bool = False,
        wait_lgkm_first: int = 8,
        wait_vm_last: int = 6,
        lgkm_after_last: bool = False,
        inter_block_lgkm_drain: bool = False,
        partial_prologue_drain: bool = False,
        global_before_frag: bool = False,
        lgkm_per_load_a: int = 0,
        lgkm_per_load_b: int = 0,
    ) -> ScheduleConfig:
        """Build from the flat values of strategy bundles; the fields' own names and defaults.

        ScheduleConfig.from_strategies(
            scheduling=SchedulingStrategy.CSP, **BarrierStrategy.minimal_no_set_prio()
        )
        """
        given = dict(locals())
        del given["cls"]
        return cls(**given)


@dataclass(frozen=True, slots=True)
class SchedulePolicy:
    """All decisions of one compilation.

    ``barrier_at_top``: minimal barriers include the documented one of each partition's first
    block, which the reference leaves out. ``forced``: settings no author has stated. ``idle``:
    settings that are known to have no effect.
    """

    flags: ScheduleConfig
    barrier_at_top: bool = False
    forced: Container[str] = ()
    insist_on_registers: bool = False
    idle: Container[str] = ()

    @property
    def register_budget(self) -> int | None:
        """Registers a searched order may hold; None for any number."""
        return None if self.flags.max_vgpr == UNLIMITED_VGPR else self.flags.max_vgpr

    @property
    def derives_drains(self) -> bool:
        """Whether the blocks that drain LDS before their loads follow from the program."""
        return self.flags.auto_waits and self.flags.auto_drain

    @property
    def lgkm_first(self) -> int | None:
        """The lgkm wait of a partition's first block before derivation; None for none."""
        return self.flags.wait_lgkm_first if self.flags.wait_lgkm_first < NO_WAIT else None

    @property
    def lgkm_fallback(self) -> tuple[int, int]:
        """lgkmcnt units of a fragment load, where the pipeline states none."""
        return self.flags.lgkm_per_load_a, self.flags.lgkm_per_load_b

    def placed(self, manual: OpDesc) -> OpDesc:
        """A manual wait: stated when manual waits count, else a place derivation will fill."""
        return derived(manual) if self.flags.auto_waits else manual


class _Bundle:
    """A bundle spreads into ``ScheduleConfig``: ``from_strategies(**bundle)``."""

    __slots__ = ()
    _OTHER_NAMES: ClassVar[dict[str, str]] = {}

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    def default(cls) -> Self:
        """The settings as ``ScheduleConfig`` has them."""
        usual, others = ScheduleConfig(), cls._OTHER_NAMES
        return cls(**{f.name: getattr(usual, others.get(f.name, f.name)) for f in fields(cls)})  # type: ignore[arg-type]

    def flat(self) -> dict[str, int | bool]:
        """The settings under their names in ``ScheduleConfig``."""
        return {
            self._OTHER_NAMES.get(f.name, f.name): getattr(self, f.name)
            for f in fields(self)  # type: ignore[arg-type]
        }

    def keys(self) -> list[str]:
        """The names of the settings, so that ``**bundle`` works."""
        return list(self.flat())

    def __getitem__(self, name: str) -> int | bool:
        return self.flat()[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierStrategy(_Bundle):
    """Flags about barriers and scheduler fences; by default a barrier on both sides of an MMA."""

    _OTHER_NAMES: ClassVar[dict[str, str]] = {
        "minimal": "minimal_barriers",
        "omit_set_prio": "omit_mma_set_prio",
        "wrap_waits_sched_barrier": "wrap_waits_with_sched_barrier",
    }

    minimal: bool
    omit_set_prio: bool
    sched_barrier_mask: int
    wrap_waits_sched_barrier: bool
    barrier_before_pre_ops: bool

    @classmethod
    def minimal_no_set_prio(
        cls,
        sched_barrier_mask: int = 0,
        wrap_waits: bool = False,
        barrier_before_pre_ops: bool = False,
    ) -> BarrierStrategy:
        """Barriers only where an entry wait stands, no priority hints."""
        return cls(
            minimal=True,
            omit_set_prio=True,
            sched_barrier_mask=sched_barrier_mask,
            wrap_waits_sched_barrier=wrap_waits,
            barrier_before_pre_ops=barrier_before_pre_ops,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitStrategy(_Bundle):
    """Flags about waits and drains; by default derived waits, no extra drains."""

    auto_waits: bool
    drain_lgkm_mask: int
    auto_drain: bool
    wait_lgkm_first: int
    wait_vm_last: int
    lgkm_after_last: bool
    inter_block_lgkm_drain: bool
    partial_prologue_drain: bool

    @classmethod
    def auto_with_inter_block_drain(cls, partial_prologue_drain: bool = False) -> WaitStrategy:
        """Derived waits and an LDS drain at interior block starts."""
        drained = replace(cls.default(), inter_block_lgkm_drain=True)
        return replace(drained, partial_prologue_drain=partial_prologue_drain)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStrategy(_Bundle):
    """Flags about loads; by default fragments first, counters from the pipeline config."""

    global_before_frag: bool
    lgkm_per_load_a: int
    lgkm_per_load_b: int


Idle = Iterator[tuple[str, str]]
_UNITS = ("lgkm_per_load_a", "lgkm_per_load_b")
_DEFAULT = ScheduleConfig()


def warn_without_effect(
    config: PipelineConfig,
    sched: ScheduleConfig,
    body: Sequence[OpDesc] = (),
    *,
    sync: SyncPolicy = SyncPolicy.REFERENCE,
    by_interval: bool = False,
    forced: Container[str] = (),
) -> frozenset[str]:
    """Warn about settings that have no effect in their combination; the result stands.

    Returns the names of these settings of ``ScheduleConfig``.
    """
    idle = [
        (f"ScheduleConfig.{n}", why)
        for n, why in schedule_settings(config, sched, sync, by_interval)
        if n not in forced
    ]
    if not by_interval:
        idle += [(f"PipelineConfig.{n}", why) for n, why in pipeline_settings(config, body)]
    for name, reason in idle:
        warnings.warn(f"{name} has no effect: {reason}", NoEffectWarning, stacklevel=3)
    return frozenset(name.removeprefix("ScheduleConfig.") for name, _ in idle)


def warn_no_effect(name: str, reason: str) -> None:
    """Warn that a setting or hook has no effect, at the line that compiles."""
    depth = 1
    while sys._getframe(depth).f_globals.get("__name__", "").startswith("warploom."):
        depth += 1
    warnings.warn(f"{name} has no effect: {reason}", NoEffectWarning, stacklevel=depth + 1)


def schedule_settings(
    config: PipelineConfig, sched: ScheduleConfig, sync: SyncPolicy, by_interval: bool = False
) -> Idle:
    """The knobs that change nothing, each with its reason."""
    if by_interval:
        kept = ("scheduling", "max_vgpr", *_UNITS)
        yield from _changed(sched, kept, "SchedulingStrategy.MODULO derives its own phases")
    elif config.depth < 2:
        yield from _changed(sched, _UNITS, "a single buffer is ordered by its barriers")
    else:
        yield from _of_orders(sched)
        yield from _of_waits(sched, sync)
        if sched.omit_mma_set_prio and not sched.minimal_barriers:
            yield "omit_mma_set_prio", "it applies only with minimal_barriers=True"
        fenced = sched.sched_barrier_mask not in (0, _DEFAULT.sched_barrier_mask)
        if fenced and sched.minimal_barriers:
            yield "sched_barrier_mask", "minimal_barriers=True removes the barriers it follows"
    for name in _UNITS:
        if getattr(sched, name) and getattr(config, name) not in (0, getattr(sched, name)):
            yield name, f"PipelineConfig.{name} = {getattr(config, name)} wins"


def _changed(sched: ScheduleConfig, kept: Container[str], reason: str) -> Idle:
    for field in fields(ScheduleConfig):
        changed = getattr(sched, field.name) != getattr(_DEFAULT, field.name)
        if changed and field.name not in kept:
            yield field.name, reason


def _of_orders(sched: ScheduleConfig) -> Idle:
    searched = sched.scheduling is SchedulingStrategy.CSP
    if sched.max_vgpr != _DEFAULT.max_vgpr and not searched:
        yield "max_vgpr", "only SchedulingStrategy.CSP and MODULO search under a register budget"
    if sched.lds_contention_penalty and not searched:
        yield "lds_contention_penalty", "only SchedulingStrategy.CSP uses the port model"


def _of_waits(sched: ScheduleConfig, sync: SyncPolicy) -> Idle:
    given = sched.wait_lgkm_first != _DEFAULT.wait_lgkm_first
    if sched.auto_waits and given and (sched.wait_lgkm_first < NO_WAIT or sync.proves):
        yield "wait_lgkm_first", "auto_waits=True derives the count"
    if sched.auto_waits and sched.wait_vm_last != _DEFAULT.wait_vm_last:
        yield "wait_vm_last", "auto_waits=True derives the count"
    if sched.auto_waits and sched.auto_drain and sched.drain_lgkm_mask and not sync.proves:
        yield "drain_lgkm_mask", "auto_drain=True derives the mask"
    if sched.auto_drain and not sched.auto_waits:
        yield "auto_drain", "it applies only with auto_waits=True"
    elif sched.auto_drain and sync.proves:
        yield "auto_drain", f"SyncPolicy.{sync.name} derives every drain that is needed"
    if sched.minimal_barriers and sched.lgkm_after_last:
        yield "lgkm_after_last", "minimal_barriers=True removes the barrier it follows"


def pipeline_settings(config: PipelineConfig, body: Sequence[OpDesc]) -> Idle:
    """The structure's fields that say something else than what is built, each with its reason.

    ``prefetch``, ``drain_passes`` and ``prologue_fill`` describe what depth and partitions decide;
    the values of the shipped configurations pass as descriptions.
    """
    tiles = max(config.num_partitions, 1) if config.depth >= 2 else 2
    if config.prefetch != 1:
        yield "prefetch", "loads run one iteration ahead; a deeper ring (depth) reaches further"
    if config.drain_passes not in (2, tiles):
        yield "drain_passes", f"the epilogue drains the {tiles} K-tile(s) still in buffers"
    if config.prologue_fill not in (0, 1):
        yield "prologue_fill", "the prologue fills every buffer the kernel prefetches, once"
    latencies = {op.latency for op in body if op.role is OpRole.COMPUTE}
    if config.mma_latency not in (0, 16, *latencies):
        said = ", ".join(map(str, sorted(latencies)))
        yield "mma_latency", f"the cost model prices a matrix instruction at {said} cycles"
    if config.depth >= 2:
        used = {op.stage for op in body if op.role in (OpRole.GLOBAL_LOAD, OpRole.FRAGMENT_LOAD)}
        if used and config.depth > 2 and max(used) + 1 < config.depth:
            yield "depth", f"the body uses {max(used) + 1} buffer(s)"
    elif config.warp_stagger.enabled:
        yield "warp_stagger", "a single buffer has one wave group"
