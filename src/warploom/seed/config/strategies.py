"""Named bundles of correlated flags, to be spread into ``ScheduleConfig.from_strategies``:

ScheduleConfig.from_strategies(
    **BarrierStrategy.minimal_no_set_prio(), **WaitStrategy.default(), **LoadStrategy.default()
)
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import ClassVar

from warploom.document.fields import judge


class _Bundle:
    """A bundle spreads into ``ScheduleConfig``: ``from_strategies(**bundle)``."""

    __slots__ = ()
    _OTHER_NAMES: ClassVar[dict[str, str]] = {}

    def __post_init__(self) -> None:
        judge(self)

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
    """Flags about barriers and scheduler fences."""

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
class WaitStrategy(_Bundle):
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
        drained = replace(cls.default(), inter_block_lgkm_drain=True)
        return replace(drained, partial_prologue_drain=partial_prologue_drain)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStrategy(_Bundle):
    """Flags about loads."""

    global_before_frag: bool
    lgkm_per_load_a: int
    lgkm_per_load_b: int

    @classmethod
    def default(cls) -> LoadStrategy:
        """Fragments first, counters from the pipeline config."""
        return cls(global_before_frag=False, lgkm_per_load_a=0, lgkm_per_load_b=0)
