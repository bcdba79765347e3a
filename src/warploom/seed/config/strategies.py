"""Named bundles of correlated flags, to be spread into ``ScheduleConfig.from_strategies``:

ScheduleConfig.from_strategies(
    **BarrierStrategy.minimal_no_set_prio(), **WaitStrategy.default(), **LoadStrategy.default()
)
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

from warploom.document.fields import judge
from warploom.seed.config.schedule import ScheduleConfig


class _Bundle:
    """A bundle spreads into ``ScheduleConfig``: ``from_strategies(**bundle)``."""

    __slots__ = ()
    _OTHER_NAMES: ClassVar[dict[str, str]] = {}

    def __post_init__(self) -> None:
        judge(self)

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
