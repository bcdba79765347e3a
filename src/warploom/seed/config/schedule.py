"""``ScheduleConfig``: the tunable knobs of schedule generation, flat as documented."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from warploom.document.fields import judge
from warploom.errors import ConfigError
from warploom.seed.config.parts import SchedulingStrategy

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
        judge(self, why=_WHY)

    @classmethod
    def from_strategies(cls, **flat: Any) -> ScheduleConfig:  # noqa: ANN401
        """Build from the flat values of strategy bundles; the same names and defaults."""
        known = {f.name for f in fields(cls)}
        for name in flat:
            if name not in known:
                raise ConfigError(
                    f"unknown setting {name!r}",
                    where="ScheduleConfig.from_strategies",
                    why="it takes the flat ScheduleConfig fields, not strategy records",
                    fix=f"one of: {', '.join(sorted(known))}",
                )
        return cls(**flat)
