"""Ops and entries of phases, and the closed vocabularies they are told in.

Values are those of the reference, so that tables and documents can be compared number by number.

An op is declared with its tag and buffer metadata only (``OpDesc.logical``); resource, latency,
role and register numbers are filled in from a cost model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import Enum, IntEnum
from typing import Any

from warploom.dataclass import dataclass
from warploom.ir.dataflow import FlowOperand, Key
from warploom.ir.validation import all_of, check_fields, instance, integer, member


class ResourceKind(Enum):
    """The hardware unit an op occupies."""

    GLOBAL_MEM = 0
    LDS = 1
    MMA_UNIT = 2
    SCALAR = 3
    VALU = 4
    NONE = 255
    __hash__ = object.__hash__  # members are one each; an enum's own goes through its name


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
        """The name of an offset from -1 to 7 tiles, as a ring of up to eight buffers needs.

        Partition p of such a ring prefetches ``KOffsetKind.ahead(p)``: K0, K1, K_NEXT, K3 and on.
        """
        integer(tiles, "tiles", "KOffsetKind.ahead", least=-1, most=7)
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

    __hash__ = object.__hash__


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
    __hash__ = object.__hash__


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
    return name if isinstance(name, str) else _INFRASTRUCTURE.get(int(tag), f"OP_{int(tag)}")


def operand(value: str | FlowOperand) -> FlowOperand:
    """A named value as an operand of the same iteration; an operand as it is."""
    if isinstance(value, str):
        return FlowOperand(value=value)
    instance(value, FlowOperand, "takes", "OpDesc")
    return value


def previous(value: str, back: int = 1) -> FlowOperand:
    """A value of an earlier iteration, for ``takes``; before the first one it is ``NAME_first``."""
    instance(value, str, "value", "previous")
    integer(back, "back", "previous", least=1)
    return FlowOperand(value=value, back=back, before=f"{value}_first")


_COUNTS = (
    "stage",
    "subtile",
    "vm_cost",
    "lgkm_cost",
    "wait_value",
    "latency",
    "vgpr_def",
    "vgpr_kill",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpDesc:
    """One operation.

    For MMA ops ``stage`` is the row and ``subtile`` the column of the accumulator grid; for
    scheduling hints ``subtile`` is the mask. ``wait_value`` is a wait count, priority or hint
    count.

    ``takes`` and ``makes`` name the values an op reads and defines. A body that is no matrix
    product declares so what it computes; a body without names is read by roles and channels. A
    document keeps them as its flow, not on the ops.
    """

    tag: int
    stage: int = 0
    subtile: int = 0
    k_offset: KOffsetKind = KOffsetKind.NONE
    vm_cost: int = 0
    lgkm_cost: int = 0
    wait_value: int = 0
    resource: ResourceKind = ResourceKind.NONE
    latency: int = 0
    role: OpRole = OpRole.NONE
    channel: int = -1
    vgpr_def: int = 0
    vgpr_kill: int = 0
    takes: tuple[FlowOperand, ...] = ()
    makes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        integer(self.tag, "tag", "OpDesc", least=0, most=255)
        integer(self.channel, "channel", "OpDesc", least=-1)
        for name in _COUNTS:
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                integer(value, name, "OpDesc", least=0)
                object.__setattr__(self, name, int(value))  # a member of an enum is its number
        if self.takes != () or self.makes != ():
            self._check_names()
        member(self.k_offset, KOffsetKind, "k_offset", "OpDesc")
        member(self.resource, ResourceKind, "resource", "OpDesc")
        member(self.role, OpRole, "role", "OpDesc")

    def _check_names(self) -> None:
        all_of(self.takes, FlowOperand, "takes", "OpDesc")
        all_of(self.makes, str, "makes", "OpDesc")
        object.__setattr__(self, "takes", tuple(self.takes))
        object.__setattr__(self, "makes", tuple(self.makes))

    @property
    def key(self) -> Key:
        """What the op is found by in a flow: tag name, sub-tile, and the row of a product."""
        return self.name, self.subtile, self.stage if self.role is OpRole.COMPUTE else 0

    @property
    def is_named(self) -> bool:
        """Whether the op says what it reads or defines."""
        return bool(self.takes or self.makes)

    @property
    def name(self) -> str:
        """The tag's name, for listings and errors."""
        return tag_name(self.tag)

    def is_present(self) -> bool:
        """False only for the absent op ``OpDesc.none()``."""
        return self.tag != ScheduleOps.NONE

    def is_prefetch(self) -> bool:
        """True when the op loads ahead of the loop variable (k-offset K0, K1 or K_NEXT)."""
        return self.is_present() and self.k_offset not in (KOffsetKind.K_PREV, KOffsetKind.NONE)

    def label(self) -> str:
        """A short readable form, e.g. ``LOAD_A[1,0] K0`` or ``WAIT_VM(12)``."""
        if self.tag in (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM, ScheduleOps.SET_PRIO):
            return f"{self.name}({self.wait_value})"
        if self.tag == ScheduleOps.SCHED_GROUP_BARRIER:
            return f"{self.name}({self.subtile}, {self.wait_value})"
        if self.tag > 127:
            return self.name
        k = "" if self.k_offset is KOffsetKind.NONE else f" {self.k_offset.name}"
        return f"{self.name}[{self.stage},{self.subtile}]{k}"

    @classmethod
    def op(
        cls,
        tag: int,
        resource: ResourceKind,
        latency: int,
        role: OpRole,
        **rest: Any,  # noqa: ANN401 (further fields)
    ) -> OpDesc:
        """A fully priced op."""
        return cls(tag=tag, resource=resource, latency=latency, role=role, **rest)

    @classmethod
    def logical(
        cls,
        tag: int,
        *,
        channel: int = -1,
        stage: int = 0,
        subtile: int = 0,
        k_offset: KOffsetKind = KOffsetKind.NONE,
        takes: Sequence[str | FlowOperand] = (),
        makes: Sequence[str] = (),
    ) -> OpDesc:
        """An op as the algorithm declares it: what it is, not what it costs."""
        return cls(
            tag=tag,
            channel=channel,
            stage=stage,
            subtile=subtile,
            k_offset=k_offset,
            takes=tuple(operand(t) for t in takes),
            makes=tuple(makes),
        )

    @classmethod
    def barrier(cls) -> OpDesc:
        """Workgroup execution barrier."""
        return _sync(ScheduleOps.BARRIER)

    @classmethod
    def wait_vm(cls, n: int) -> OpDesc:
        """Wait until at most ``n`` global-memory operations are outstanding."""
        return _sync(ScheduleOps.WAIT_VM, n)

    @classmethod
    def wait_lgkm(cls, n: int) -> OpDesc:
        """Wait until at most ``n`` LDS operations are outstanding."""
        return _sync(ScheduleOps.WAIT_LGKM, n)

    @classmethod
    def set_prio(cls, priority: int) -> OpDesc:
        """Wave priority hint."""
        return _fence(ScheduleOps.SET_PRIO, count=priority)

    @classmethod
    def schedule_barrier(cls) -> OpDesc:
        """Fence for the instruction scheduler; emits no instruction."""
        return _fence(ScheduleOps.SCHEDULE_BARRIER)

    @classmethod
    def sched_group_barrier(cls, mask: int, count: int) -> OpDesc:
        """Instruction-group hint."""
        return _fence(ScheduleOps.SCHED_GROUP_BARRIER, mask=mask, count=count)

    @classmethod
    def none(cls) -> OpDesc:
        """The absent op."""
        return _NONE

    # The reference has compile-time and run-time twins of these factories; they agree.
    wait_vm_n = wait_vm
    wait_lgkm_n = wait_lgkm


def _sync(tag: ScheduleOps, count: int = 0) -> OpDesc:
    return OpDesc(tag=tag, wait_value=count, resource=ResourceKind.SCALAR, role=OpRole.SYNC)


def _fence(tag: ScheduleOps, mask: int = 0, count: int = 0) -> OpDesc:
    return OpDesc(
        tag=tag, subtile=mask, wait_value=count, resource=ResourceKind.SCALAR, role=OpRole.FENCE
    )


_NONE = OpDesc(tag=ScheduleOps.NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleEntry:
    """One slot of a phase: an op, its ordinal in the phase, and whether it prefetches.

    ``reason`` says why a wait or barrier is there; it is for readers and changes nothing, so
    entries that differ in it alone are equal.
    """

    op: OpDesc
    time_slot: int
    phase: Phase
    is_prefetch: bool = False
    reason: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class DepEdge:
    """``consumer`` depends on ``producer`` of ``loop_distance`` iterations earlier.

    For ANTI edges the producer is the reader and the consumer the later writer.
    """

    producer_idx: int
    consumer_idx: int
    dep_kind: DepKind
    loop_distance: int = 0

    def __post_init__(self) -> None:
        check_fields(self, least=None)

    @classmethod
    def flow(cls, producer: int, consumer: int, loop_distance: int = 0) -> DepEdge:
        """A read-after-write edge."""
        return cls(producer, consumer, DepKind.FLOW, loop_distance)

    @classmethod
    def anti(cls, producer: int, consumer: int, loop_distance: int = 0) -> DepEdge:
        """A write-after-read edge."""
        return cls(producer, consumer, DepKind.ANTI, loop_distance)
