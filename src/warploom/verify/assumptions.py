"""What the judge takes for granted about the machine, and what the machine has.

``Assumptions`` are facts about one chip that a proof may rest on; each has a name (A1..A4), a
switch and a default. A schedule that is only right because of A3 or A4 is reported, never silently
accepted. ``Limits`` are budgets to check the document against; ``None`` means "not checked".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Queue(StrEnum):
    """A counter of asynchronous operations in flight, in order of issue."""

    VM = "vm"
    LGKM = "lgkm"

    @property
    def largest_wait(self) -> int:
        """The largest count a wait can carry; the operand above it waits for nothing."""
        return self.capacity - 1

    @property
    def capacity(self) -> int:
        """Units the counter can hold."""
        return 63 if self is Queue.VM else 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """Facts about the machine, each with a switch.

    ``vm_in_order`` (A1): global loads retire in order of issue; without it only ``vm(0)`` proves
    anything. ``lds_in_order`` (A2): the same for LDS operations. ``issue_stalls`` (A3): issuing
    past a counter's capacity stalls, so what is older than the capacity is complete.
    ``load_outlasts_read`` (A4): a global round trip takes longer than an LDS read the same wave
    has issued before.
    """

    vm_in_order: bool = True
    lds_in_order: bool = True
    issue_stalls: bool = False
    load_outlasts_read: bool = False

    @classmethod
    def for_edges(cls) -> Assumptions:
        """What is left where tiles hang over the edge of a matrix.

        Loads that lie outside return at once and may overtake those inside, so A1 does not hold:
        a kernel that clips its loads is judged with these.
        """
        return cls(vm_in_order=False)

    def in_order(self, queue: Queue) -> bool:
        """Does a count above zero prove anything about this queue?"""
        return self.vm_in_order if queue is Queue.VM else self.lds_in_order


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Budgets of a workgroup: LDS bytes (with the bytes of one slot, per channel), VGPRs of a wave,
    waves. What a document says of neither is what gfx950 has at most.
    """

    lds_bytes: int | None = None
    slot_bytes: tuple[int, int] = (0, 0)
    vgprs: int | None = 512
    waves: int | None = 16
