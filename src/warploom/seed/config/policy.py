"""Policies: what the rooms work with, made once from the flat ``ScheduleConfig``.

The flat flags are the documented surface; several of them exclude or imply each other. Here each
decision is one value, so that no room below has to know which flags belong together.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from warploom.document.ops import OpDesc
from warploom.seed.config.parts import SchedulingStrategy
from warploom.seed.config.schedule import NO_WAIT, UNLIMITED_VGPR, ScheduleConfig
from warploom.seed.sync.marks import derived


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderPolicy:
    """How to put the ops in order."""

    strategy: SchedulingStrategy
    port_interval: int
    register_budget: int | None
    insist_on_registers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitPolicy:
    """Which waits to place. ``derive``: counts come from the program, not from here.

    ``lgkm_first`` None means that a partition's first block gets no lgkm wait of its own before
    derivation; ``drains`` are the blocks asked to drain LDS before their loads.
    """

    derive: bool
    derive_drains: bool
    drains: frozenset[int]
    lgkm_first: int | None
    vm_last: int
    lgkm_after_last: bool
    drain_between_blocks: bool
    drains_are_stated: bool

    def placed(self, manual: OpDesc) -> OpDesc:
        """A manual wait: stated when manual waits count, else a place derivation will fill."""
        return derived(manual) if self.derive else manual


@dataclass(frozen=True, slots=True, kw_only=True)
class PerBlockBarriers:
    """A barrier and a priority hint on both sides of every MMA."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimalBarriers:
    """Barriers only where an entry wait stands, and at the top of each partition if ``at_top``."""

    set_priority: bool
    at_top: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLayout:
    """The order of sections inside a block and the fences around them."""

    global_before_frag: bool
    barrier_before_pre_ops: bool
    wrap_waits: bool
    fenced_blocks: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePolicy:
    """All decisions of one compilation."""

    order: OrderPolicy
    waits: WaitPolicy
    barriers: PerBlockBarriers | MinimalBarriers
    layout: BlockLayout
    partial_prologue: bool
    lgkm_fallback: tuple[int, int]

    @classmethod
    def of(
        cls,
        config: ScheduleConfig,
        *,
        barrier_at_top: bool = False,
        forced: Container[str] = (),
        insist_on_registers: bool = False,
    ) -> SchedulePolicy:
        """Convert the flat flags.

        ``barrier_at_top``: minimal barriers include the documented one of each partition's first
        block, which the reference leaves out. ``forced``: settings no author has stated.
        """
        return cls(
            order=OrderPolicy(
                strategy=config.scheduling,
                port_interval=config.lds_contention_penalty,
                register_budget=None if config.max_vgpr == UNLIMITED_VGPR else config.max_vgpr,
                insist_on_registers=insist_on_registers,
            ),
            waits=WaitPolicy(
                derive=config.auto_waits,
                derive_drains=config.auto_waits and config.auto_drain,
                drains=_bits(config.drain_lgkm_mask),
                lgkm_first=config.wait_lgkm_first if config.wait_lgkm_first < NO_WAIT else None,
                vm_last=config.wait_vm_last,
                lgkm_after_last=config.lgkm_after_last,
                drain_between_blocks=config.inter_block_lgkm_drain,
                drains_are_stated="inter_block_lgkm_drain" not in forced,
            ),
            barriers=MinimalBarriers(
                set_priority=not config.omit_mma_set_prio, at_top=barrier_at_top
            )
            if config.minimal_barriers
            else PerBlockBarriers(),
            layout=BlockLayout(
                global_before_frag=config.global_before_frag,
                barrier_before_pre_ops=config.barrier_before_pre_ops,
                wrap_waits=config.wrap_waits_with_sched_barrier,
                fenced_blocks=_bits(config.sched_barrier_mask),
            ),
            partial_prologue=config.partial_prologue_drain,
            lgkm_fallback=(config.lgkm_per_load_a, config.lgkm_per_load_b),
        )


def _bits(mask: int) -> frozenset[int]:
    return frozenset(b for b in range(mask.bit_length()) if mask >> b & 1)
