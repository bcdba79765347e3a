"""The program text a document describes: its entries, read as events that matter to the verifier.

Entries without effect on data or order (priorities, scheduling hints) disappear here. Slots are
``(channel, stage, subtile)``, registers ``(channel, subtile)``. A document that carries a flow says
by it which part of a slot and which fragments an op touches, and its vector work counts, too.

A channel that has shared stores is *staged*: its global loads fill registers, a store writes a
whole stage, so its slots are ``(channel, stage, 0)`` and a fragment load's subtile only names the
part of the stage, that is the register. Where all fragments belong to one staged channel, an MMA
``[i, j]`` takes fragment ``j`` of it; everywhere else it takes fragment ``i`` of channel 0 and
fragment ``j`` of channel 1. With a flow a staged channel may have several parts, each with staging
registers and a slot of its own.
"""

from collections.abc import Iterable
from enum import StrEnum

from warploom.dataclass import dataclass
from warploom.errors import DocumentError
from warploom.ir import BarrierKind, Protocol, ScheduleDocument
from warploom.ir.counter_dialect import Queue
from warploom.ir.dataflow import Flow, touches
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, OpRole, Phase, ScheduleEntry, ScheduleOps

Slot = tuple[int, int, int]
Register = tuple[int, int]


class Kind(StrEnum):
    """What an event does."""

    LOAD = "load"
    STORE = "store"
    READ = "read"
    MMA = "mma"
    VECTOR = "vector"
    BARRIER = "barrier"
    WAIT = "wait"
    STAGGER = "stagger"
    DRAIN = "drain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One entry (or one addition of the protocol, then without ``op``) that has an effect.

    ``slot`` is what a load, store or read touches (``None`` for a load into staging registers),
    ``staging`` the registers such a load fills and a store takes: of a channel, or of its part,
    ``registers`` what a read fills or an MMA takes, ``offset`` a load's tile relative to the base
    (``None``: the next tile of its channel), ``count`` a wait's operand, which can be one that the
    hardware can not express (``is_unencodable``): then it does not wait.
    """

    kind: Kind
    phase: Phase
    index: int
    op: OpDesc | None = None
    channel: int = -1
    queue: Queue | None = None
    units: int = 0
    slot: Slot | None = None
    staging: Register | None = None
    registers: tuple[Register, ...] = ()
    offset: int | None = None
    count: int = 0
    is_unencodable: bool = False

    @property
    def label(self) -> str:
        """A short name for messages."""
        return f"{self.kind.name} (protocol)" if self.op is None else self.op.label()[-80:]

    @property
    def loader(self) -> tuple[int, int]:
        """What a load without a k-offset is the next tile of: its sub-tile, or its registers."""
        if self.slot is not None:
            return self.channel, self.slot[2]
        return self.channel, -1 - (0 if self.staging is None else self.staging[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """The effective entries of the three phases, and what the protocol adds around them."""

    prologue: tuple[Item, ...]
    kernel: tuple[Item, ...]
    epilogue: tuple[Item, ...]
    protocol: Protocol
    sizes: tuple[int, int, int]
    staggered: bool
    flow: Flow | None = None

    @property
    def fencing(self) -> bool:
        """Does every barrier drain the wave's own queues first?"""
        return self.protocol.barrier is BarrierKind.FENCING

    def items(self) -> tuple[Item, ...]:
        """All effective entries, in the order of the document."""
        return self.prologue + self.kernel + self.epilogue


def read_text(document: ScheduleDocument) -> Text:
    """Read a document's entries as events. Raises ``DocumentError`` where one has no meaning."""
    _check(document)
    reader = _Reader(document)
    protocol = document.protocol
    phases = {p: reader.phase(p, document.phase(p)) for p in Phase}
    staggered = protocol.stagger_index is not None and protocol.groups > 1
    return Text(
        prologue=_with_stagger(phases[Phase.PROLOGUE], document, staggered),
        kernel=phases[Phase.KERNEL],
        epilogue=phases[Phase.EPILOGUE],
        protocol=protocol,
        sizes=(len(document.prologue), len(document.kernel), len(document.epilogue)),
        staggered=staggered,
        flow=document.flow,
    )


def beyond(document: ScheduleDocument) -> tuple[str, ...]:
    """What a counter document holds that no judge understands.

    Without a flow of its own its dataflow is that of a matrix product: tiles of channels 0 and 1
    (or of one that is staged), every K-tile multiplied once. Nothing then says what vector work and
    further channels feed.
    """
    if document.flow is not None:
        return ()
    ops = [e.op for p in Phase for e in document.phase(p)]
    vector = dict.fromkeys(op.label() for op in ops if op.role is OpRole.VALU_COMPUTE)
    moves = (OpRole.GLOBAL_LOAD, OpRole.SHARED_STORE, OpRole.FRAGMENT_LOAD)
    extra = dict.fromkeys(op.label() for op in ops if op.role in moves and op.channel > 1)
    notes = []
    if vector:
        notes.append(f"operands of vector work: {_listed(vector)}")
    if extra:
        notes.append(f"what channels besides 0 and 1 feed: {_listed(extra)}")
    return tuple(notes)


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    return ", ".join(found[:4]) + (", .." if len(found) > 4 else "")


def _check(document: ScheduleDocument) -> None:
    p = document.protocol
    if p.groups < 1 or p.waves_per_group < 1 or p.k_tiles_per_iteration < 1:
        raise DocumentError("a schedule needs at least one wave and one K-tile", path="$.protocol")
    if len(p.tail_barriers) != p.groups or min(p.tail_barriers) < 0:
        raise DocumentError(
            "tail_barriers needs one number >= 0 per group", path="$.protocol.tail_barriers"
        )
    if min(*document.counters.vm_per_load, *document.counters.lgkm_per_load) < 0:
        raise DocumentError("a counter cost is negative", path="$.counters")


def _with_stagger(
    items: tuple[Item, ...], document: ScheduleDocument, staggered: bool
) -> tuple[Item, ...]:
    """The prologue with the stagger point in its place; an index past the end means the end."""
    if not staggered:
        return items
    index = min(document.protocol.stagger_index or 0, len(document.prologue))
    at = sum(1 for item in items if item.index < index)
    point = Item(kind=Kind.STAGGER, phase=Phase.PROLOGUE, index=index)
    return (*items[:at], point, *items[at:])


class _Reader:
    """Turns ops into items; knows what only the whole document tells (channels, staging)."""

    def __init__(self, document: ScheduleDocument) -> None:
        self.counters = document.counters
        entries = document.prologue + document.kernel + document.epilogue
        self.ops = [e.op for e in entries]
        self.by_tag = document.channels()
        self.staged = {
            self._channel(op, "$.body") for op in self.ops if op.role is OpRole.SHARED_STORE
        }
        fragments = {self._channel(op, "$") for op in self.ops if op.role is OpRole.FRAGMENT_LOAD}
        single = len(fragments) == 1 and fragments <= self.staged
        self.single = min(fragments) if single else None
        self.touches = None if document.flow is None else touches(document.flow)

    def phase(self, phase: Phase, entries: tuple[ScheduleEntry, ...]) -> tuple[Item, ...]:
        """The effective items of one phase."""
        found = (self._item(phase, index, entry.op) for index, entry in enumerate(entries))
        return tuple(item for item in found if item is not None)

    def _item(self, phase: Phase, index: int, op: OpDesc) -> Item | None:
        tag = int(op.tag)
        if tag >= ScheduleOps.BARRIER:
            return self._sync(phase, index, op, tag)
        if op.role is OpRole.COMPUTE:
            taken = self._operands(op)
            return Item(kind=Kind.MMA, phase=phase, index=index, op=op, registers=taken)
        if op.role in (OpRole.GLOBAL_LOAD, OpRole.SHARED_STORE, OpRole.FRAGMENT_LOAD):
            return self._transfer(phase, index, op)
        if op.role is OpRole.VALU_COMPUTE and self.touches is not None:
            taken = self._operands(op)
            return Item(kind=Kind.VECTOR, phase=phase, index=index, op=op, registers=taken)
        return None

    @staticmethod
    def _sync(phase: Phase, index: int, op: OpDesc, tag: int) -> Item | None:
        if op.role not in _OWN_ROLES or tag not in _OWN_TAGS:
            raise DocumentError(
                f"{op.label()} of tag {tag} has the role {op.role.name}",
                path=f"$.{phase.name.lower()}[{index}].op",
                why="tags from 128 on are of waits, barriers and hints, which do no other work",
                fix="a tag below 128, or the role SYNC or FENCE",
            )
        if tag == ScheduleOps.BARRIER:
            return Item(kind=Kind.BARRIER, phase=phase, index=index, op=op)
        queue = _WAITS.get(tag)
        if queue is None:
            return None
        if op.wait_value < 0:
            raise DocumentError(
                f"a wait for {op.wait_value} operations",
                path=f"$.{phase.name.lower()}[{index}].op.wait_value",
                fix="counts are 0 or more",
            )
        return Item(
            kind=Kind.WAIT,
            phase=phase,
            index=index,
            op=op,
            queue=queue,
            count=op.wait_value,
            is_unencodable=op.wait_value > queue.largest_wait,
        )

    def _transfer(self, phase: Phase, index: int, op: OpDesc) -> Item:
        channel = self._channel(op, f"$.{phase.name.lower()}[{index}].op")
        staged = channel in self.staged
        part = 0 if staged and self.touches is None else self._part(op)
        slot = (channel, op.stage, part)
        kind, queue = _TRANSFERS[op.role]
        return Item(
            kind=kind,
            phase=phase,
            index=index,
            op=op,
            channel=channel,
            queue=queue,
            units=self._units(kind, channel, op),
            slot=None if staged and kind is Kind.LOAD else slot,
            staging=(channel, part) if staged and kind is not Kind.READ else None,
            registers=((channel, op.subtile),) if kind is Kind.READ else (),
            offset=None if op.k_offset is KOffsetKind.NONE else op.k_offset.signed_bk_multiple(),
        )

    def _units(self, kind: Kind, channel: int, op: OpDesc) -> int:
        own = op.vm_cost if kind is Kind.LOAD else op.lgkm_cost
        if channel not in (0, 1) or (kind is Kind.STORE and own > 0):
            return own
        table = self.counters.vm_per_load if kind is Kind.LOAD else self.counters.lgkm_per_load
        return table[channel]

    def _part(self, op: OpDesc) -> int:
        """The part of a stage an op fills or reads."""
        touch = None if self.touches is None else self.touches.get(op.key)
        return op.subtile if touch is None else touch.part

    def _operands(self, op: OpDesc) -> tuple[Register, ...]:
        if self.touches is not None:
            touch = self.touches.get(op.key)
            return () if touch is None else touch.takes
        if self.single is not None:
            return ((self.single, op.subtile),)
        return ((0, op.stage), (1, op.subtile))

    def _channel(self, op: OpDesc, path: str) -> int:
        if op.channel >= 0:
            return op.channel
        known = self.by_tag.get(int(op.tag))
        if known is None:
            raise DocumentError(
                f"the channel of {op.label()} is unknown",
                path=f"{path}.channel",
                why="it is -1, no other op of the same tag has one, and the name ends in no "
                "_A or _B",
                fix="give the op its channel (0 = A, 1 = B)",
            )
        return known


_OWN_ROLES = (OpRole.SYNC, OpRole.FENCE, OpRole.NONE)
_OWN_TAGS = frozenset(map(int, ScheduleOps))
_WAITS: dict[int, Queue] = {ScheduleOps.WAIT_VM: Queue.VM, ScheduleOps.WAIT_LGKM: Queue.LGKM}
_TRANSFERS = {
    OpRole.GLOBAL_LOAD: (Kind.LOAD, Queue.VM),
    OpRole.SHARED_STORE: (Kind.STORE, Queue.LGKM),
    OpRole.FRAGMENT_LOAD: (Kind.READ, Queue.LGKM),
}
