"""Settings that change nothing in their combination, each with the reason; none is silent."""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterator, Sequence
from dataclasses import fields

from warploom.document.ops import OpDesc, OpRole
from warploom.errors import NoEffectWarning
from warploom.seed.config.parts import SchedulingStrategy
from warploom.seed.config.pipeline import PipelineConfig
from warploom.seed.config.schedule import NO_WAIT, ScheduleConfig
from warploom.seed.sync.marks import SyncPolicy

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
) -> None:
    """Warn about settings that have no effect in their combination; the result stands."""
    idle = [
        (f"ScheduleConfig.{n}", why)
        for n, why in schedule_settings(config, sched, sync, by_interval)
        if n not in forced
    ]
    if not by_interval:
        idle += [(f"PipelineConfig.{n}", why) for n, why in pipeline_settings(config, body)]
    for name, reason in idle:
        warnings.warn(f"{name} has no effect: {reason}", NoEffectWarning, stacklevel=3)


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
        yield from _of_layout(sched)
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


def _of_layout(sched: ScheduleConfig) -> Idle:
    if sched.omit_mma_set_prio and not sched.minimal_barriers:
        yield "omit_mma_set_prio", "it applies only with minimal_barriers=True"
    fenced = sched.sched_barrier_mask not in (0, _DEFAULT.sched_barrier_mask)
    if fenced and sched.minimal_barriers:
        yield "sched_barrier_mask", "minimal_barriers=True removes the barriers it follows"


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
