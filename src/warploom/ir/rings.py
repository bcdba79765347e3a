"""What roles share: rings of slots with their barriers, staging buffers, named barriers."""

from enum import StrEnum

from warploom.dataclass import dataclass


class Per(StrEnum):
    """How often a ring is used."""

    ITERATION = "iteration"
    TILE = "tile"


class Scope(StrEnum):
    """Which threads of a role instance act as one: for arrivals, one arrival each."""

    THREAD = "thread"
    WARP = "warp"
    WARPGROUP = "warpgroup"


class Side(StrEnum):
    """Which of a slot's two barriers: ``full`` says it has data, ``empty`` that it is free."""

    FULL = "full"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a ring slot: operand name, byte offset in the slot and size."""

    name: str
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRing:
    """A ring of shared-memory slots with its two barriers a slot.

    ``full_arrivals`` and ``empty_arrivals`` are the counts the barriers are initialised with. Slots
    are filled by copies (``Load``, announced by ``Expect``) or by ordinary instructions
    (``Compute.fills_slots``, announced by ``Arrive`` on ``full``). A slot begins ``stride`` bytes
    after the one before; 0 says that they follow one another without a gap.
    """

    name: str
    depth: int
    parts: tuple[Part, ...]
    full_arrivals: int
    empty_arrivals: int
    per: Per = Per.ITERATION
    stride: int = 0

    @property
    def slot_bytes(self) -> int:
        """The bytes of one slot."""
        return max((p.offset + p.bytes for p in self.parts), default=0)

    @property
    def slot_stride(self) -> int:
        """The bytes from one slot to the next."""
        return self.stride or self.slot_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingBuffer:
    """Shared memory private to each instance of a role, written by ordinary stores."""

    name: str
    role: str
    copies: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBarrier:
    """``count`` hardware named barriers from ``id`` on (0 is the whole CTA's), for ``threads``.

    With ``count`` > 1 there is one for each instance of a role, and entries pick theirs by turn.
    """

    name: str
    id: int
    threads: int
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRead:
    """A read of one part of the slot of a ring."""

    ring: str
    part: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferCopy:
    """One copy of a staging buffer."""

    buffer: str
    copy: int
