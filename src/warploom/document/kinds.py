"""The closed vocabularies of the compiler: resources, roles, k-offsets, phases and op tags.

Values are those of the reference, so that tables and documents can be compared number by number.
"""

from __future__ import annotations

from enum import Enum, IntEnum


class ResourceKind(Enum):
    """The hardware unit an op occupies."""

    GLOBAL_MEM = 0
    LDS = 1
    MMA_UNIT = 2
    SCALAR = 3
    VALU = 4
    NONE = 255


class OpRole(Enum):
    """What an op does in the pipeline; derivations match on roles, never on tags."""

    GLOBAL_LOAD = 0
    SHARED_STORE = 1
    FRAGMENT_LOAD = 2
    COMPUTE = 3
    SYNC = 4
    FENCE = 5
    VALU_COMPUTE = 6
    NONE = 255
    __hash__ = object.__hash__  # members are one each; an enum's own goes through its name


class KOffsetKind(Enum):
    """Which K-tile a load fetches, relative to the loop variable.

    K3 to K7 name the tiles of rings deeper than three buffers; the reference has none.
    """

    K0 = 0
    K1 = 1
    K_NEXT = 2
    K_PREV = 3
    K3 = 4
    K4 = 5
    K5 = 6
    K6 = 7
    K7 = 8
    NONE = 255

    @classmethod
    def ahead(cls, tiles: int) -> KOffsetKind:
        """The name of an offset from -1 to 7 tiles."""
        return next(k for k in cls if k is not cls.NONE and k.signed_bk_multiple() == tiles)

    @property
    def bk_multiple(self) -> int:
        """The stored number (K_PREV is 3)."""
        return self.value

    def signed_bk_multiple(self) -> int:
        """The offset in K-tiles; K_PREV is -1. Meaningless (255) for NONE."""
        if self is KOffsetKind.K_PREV:
            return -1
        number: int = self.value
        return number - 1 if KOffsetKind.K_PREV.value < number < 255 else number


class Phase(Enum):
    """The three parts of a pipelined loop."""

    PROLOGUE = 0
    KERNEL = 1
    EPILOGUE = 2
    __hash__ = object.__hash__


class DepKind(Enum):
    """Read after write (FLOW), write after read (ANTI), write after write (OUTPUT)."""

    FLOW = 0
    ANTI = 1
    OUTPUT = 2


class ScheduleOps(IntEnum):
    """Tags of the ops the framework itself inserts. Kernel tags are 0..127."""

    BARRIER = 128
    WAIT_VM = 129
    WAIT_LGKM = 130
    SET_PRIO = 131
    SCHEDULE_BARRIER = 132
    SCHED_GROUP_BARRIER = 133
    NONE = 255


MAX_KERNEL_TAG = 127


class OpTag(int):
    """A tag that carries its name, for ops whose kernel enum is not at hand (documents)."""

    name: str

    def __new__(cls, value: int, name: str) -> OpTag:
        """Make a tag equal to ``value`` that is shown as ``name``."""
        tag = super().__new__(cls, value)
        tag.name = name
        return tag

    def __reduce__(self) -> tuple[type[OpTag], tuple[int, str]]:
        return OpTag, (int(self), self.name)

    def __repr__(self) -> str:
        return f"OpTag({int(self)}, {self.name!r})"


_INFRASTRUCTURE = {int(t): t.name for t in ScheduleOps}


def tag_name(tag: int) -> str:
    """The name of a tag: its enum's or document's, an infrastructure name, or ``OP_<n>``."""
    name = getattr(tag, "name", None)
    if isinstance(name, str):
        return name
    return _INFRASTRUCTURE.get(int(tag), f"OP_{int(tag)}")
