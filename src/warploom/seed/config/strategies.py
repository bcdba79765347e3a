"""Named bundles of correlated flags; spread their fields into ``ScheduleConfig`` by hand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierStrategy:
    """Flags about barriers and scheduler fences."""

    minimal: bool
    omit_set_prio: bool
    sched_barrier_mask: int
    wrap_waits_sched_barrier: bool
    barrier_before_pre_ops: bool

    @classmethod
    def default(cls) -> BarrierStrategy:
        """A barrier before and after every MMA."""
        return cls(
            minimal=False,
            omit_set_prio=False,
            sched_barrier_mask=85,
            wrap_waits_sched_barrier=False,
            barrier_before_pre_ops=False,
        )

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
class WaitStrategy:
    """Flags about waits and drains."""

    auto_waits: bool
    drain_lgkm_mask: int
    auto_drain: bool
    wait_lgkm_first: int
    wait_vm_last: int
    lgkm_after_last: bool
    inter_block_lgkm_drain: bool
    partial_prologue_drain: bool

    @classmethod
    def default(cls) -> WaitStrategy:
        """Derived waits, no extra drains."""
        return cls(
            auto_waits=True,
            drain_lgkm_mask=0,
            auto_drain=False,
            wait_lgkm_first=8,
            wait_vm_last=6,
            lgkm_after_last=False,
            inter_block_lgkm_drain=False,
            partial_prologue_drain=False,
        )

    @classmethod
    def auto_with_inter_block_drain(cls, partial_prologue_drain: bool = False) -> WaitStrategy:
        """Derived waits and an LDS drain at interior block starts."""
        return cls(
            auto_waits=True,
            drain_lgkm_mask=0,
            auto_drain=False,
            wait_lgkm_first=8,
            wait_vm_last=6,
            lgkm_after_last=False,
            inter_block_lgkm_drain=True,
            partial_prologue_drain=partial_prologue_drain,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStrategy:
    """Flags about loads."""

    global_before_frag: bool
    lgkm_per_load_a: int
    lgkm_per_load_b: int

    @classmethod
    def default(cls) -> LoadStrategy:
        """Fragments first, counters from the pipeline config."""
        return cls(global_before_frag=False, lgkm_per_load_a=0, lgkm_per_load_b=0)
