"""``SchedulePolicy``: the flat ``ScheduleConfig`` as the rooms ask it, and who asked for what.

Several of the flat flags exclude or imply each other; what follows from such combinations has one
name here, so that no room below has to know which flags belong together.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from warploom.document.ops import OpDesc
from warploom.seed.config.schedule import NO_WAIT, UNLIMITED_VGPR, ScheduleConfig
from warploom.seed.sync.marks import derived


@dataclass(frozen=True, slots=True)
class SchedulePolicy:
    """All decisions of one compilation.

    ``barrier_at_top``: minimal barriers include the documented one of each partition's first
    block, which the reference leaves out. ``forced``: settings no author has stated.
    """

    flags: ScheduleConfig
    barrier_at_top: bool = False
    forced: Container[str] = ()
    insist_on_registers: bool = False

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
