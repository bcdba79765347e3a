"""The text of a schedule as this package reads it: what each entry does to slots, registers,
queues.

Input is a ``ScheduleDocument``; output a ``Text``: per phase a tuple of ``Item``. Reading happens
once, here; every later step works on items only. Waits of the document are left out
(``keep_waits=False``, synthesis) or kept as items (repair).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

from warploom.dataclass import dataclass
from warploom.errors import SyncError
from warploom.ir.counter_dialect import (
    BarrierKind,
    Protocol,
    Queue,
    RegisterWaits,
    ScheduleDocument,
)
from warploom.ir.dataflow import Key, Touch, touches
from warploom.ir.schedule_ops import (
    MAX_KERNEL_TAG,
    OpDesc,
    OpRole,
    Phase,
    ScheduleEntry,
    ScheduleOps,
)

MAX_ENTRIES = 2000
"""Work grows with the square of the text; more entries than this are refused, not tried."""

PHASES = (Phase.PROLOGUE, Phase.KERNEL, Phase.EPILOGUE)
LETTER = {Phase.PROLOGUE: "P", Phase.KERNEL: "K", Phase.EPILOGUE: "E"}

Slot = tuple[int, ...]
Register = tuple[str, int, int]


class Act(Enum):
    """What an item does."""

    LOAD = "load into an LDS slot"
    FETCH = "load into staging registers"
    STORE = "write staging registers to an LDS slot"
    READ = "read an LDS slot into a fragment register"
    MMA = "multiply two fragments"
    BARRIER = "join all waves"
    WAIT = "wait of the document"
    STAGGER = "group g runs g extra barriers here"
    IDLE = "nothing that matters here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One element of the text. ``source`` is its index in the document's phase, -1 if derived."""

    act: Act
    entry: ScheduleEntry | None = None
    source: int = -1
    channel: int = -1
    slot: Slot | None = None
    defines: Register | None = None
    uses: tuple[Register, ...] = ()
    queue: Queue | None = None
    units: int = 0
    drains: bool = False
    derived: bool = False

    @property
    def op(self) -> OpDesc:
        """The op of the entry after this item."""
        assert self.entry is not None
        return self.entry.op

    @property
    def name(self) -> str:
        """``LOAD_B[0,1]``, ``FRAG_A[1,0]``, ``MMA[0,1]`` or ``BARRIER``."""
        if self.act is Act.BARRIER:
            return "BARRIER"
        if self.entry is None:
            return self.act.name
        if self.act is Act.MMA:
            return f"MMA[{self.op.stage},{self.op.subtile}]"
        kind = {Act.LOAD: "LOAD", Act.FETCH: "LOAD", Act.STORE: "STORE", Act.READ: "FRAG"}
        if self.act not in kind:
            return self.op.label()
        return f"{kind[self.act]}_{_letter(self.channel)}[{self.op.stage},{self.op.subtile}]"

    @property
    def writes_slot(self) -> bool:
        """True for items that put a tile into an LDS slot."""
        return self.act in (Act.LOAD, Act.STORE)

    @property
    def raises_priority(self) -> bool:
        """True for ``set_prio`` above 0: no wait belongs between it and its MMA."""
        return (
            self.act is Act.IDLE
            and self.entry is not None
            and self.op.tag == ScheduleOps.SET_PRIO
            and self.op.wait_value > 0
        )


def _letter(channel: int) -> str:
    return chr(ord("A") + channel) if 0 <= channel < 26 else f"CH{channel}"


END = Item(act=Act.IDLE)
DERIVED_BARRIER = Item(act=Act.BARRIER, derived=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """The three phases as items, with the protocol that runs them."""

    document: ScheduleDocument
    prologue: tuple[Item, ...]
    kernel: tuple[Item, ...]
    epilogue: tuple[Item, ...]

    @property
    def protocol(self) -> Protocol:
        """How the kernel consumes the phases."""
        return self.document.protocol

    @property
    def fencing(self) -> bool:
        """True when a barrier drains the queues of the wave that joins it."""
        return self.protocol.barrier is BarrierKind.FENCING

    @property
    def registers_guarded(self) -> bool:
        """True when the code generator waits for register dependences."""
        return self.protocol.register_waits is RegisterWaits.COMPILER

    def phase(self, phase: Phase) -> tuple[Item, ...]:
        """The items of one phase."""
        items: tuple[Item, ...] = getattr(self, phase.name.lower())
        return items

    def with_phase(self, phase: Phase, items: tuple[Item, ...]) -> Text:
        """The text with one phase replaced."""
        p, k, e = (items if x is phase else self.phase(x) for x in PHASES)
        return Text(document=self.document, prologue=p, kernel=k, epilogue=e)

    def with_barriers(self, phase: Phase, places: Collection[int]) -> Text:
        """The text with one derived barrier in front of each of the item indices ``places``."""
        items = list(self.phase(phase))
        barrier = replace(DERIVED_BARRIER, drains=self.fencing)
        for place in sorted(places, reverse=True):
            items.insert(place, barrier)
        return self.with_phase(phase, tuple(items))

    def front(self, phase: Phase, index: int) -> int:
        """Where sync for item ``index`` goes: in front of the ``set_prio(1)`` of an MMA."""
        items = self.phase(phase)
        if index < len(items) and items[index].act is Act.MMA:
            while index > 0 and items[index - 1].raises_priority:
                index -= 1
        return index


def read_text(
    document: ScheduleDocument,
    *,
    keep_barriers: Collection[Phase] = PHASES,
    keep_waits: bool = False,
) -> Text:
    """Read a document. Raises ``SyncError`` when an op cannot be placed in the model."""
    size = sum(len(document.phase(phase)) for phase in PHASES)
    if size > MAX_ENTRIES:
        raise SyncError(
            f"the schedule has {size} entries, too many to synchronise",
            where=document.name,
            fix=f"at most {MAX_ENTRIES}",
        )
    reader = _Reader(document)
    p, k, e = (reader.items(phase, phase in keep_barriers, keep_waits) for phase in PHASES)
    return Text(document=document, prologue=p, kernel=k, epilogue=e)


class _Reader:
    """Turns entries into items; holds what must be known of the whole document first."""

    def __init__(self, document: ScheduleDocument) -> None:
        self.document = document
        self.fencing = document.protocol.barrier is BarrierKind.FENCING
        self.channels = document.channels()
        ops = [e.op for phase in PHASES for e in document.phase(phase)]
        self.stored = {self.channel(o) for o in ops if o.role is OpRole.SHARED_STORE}
        fragments = {self.channel(o) for o in ops if o.role is OpRole.FRAGMENT_LOAD}
        # One staged channel that feeds both operands: a subtile is then a slice of the K-tile.
        self.joint = min(fragments) if len(fragments) == 1 and fragments <= self.stored else None
        flow = document.flow
        self.touches: Mapping[Key, Touch] | None = None if flow is None else touches(flow)
        self.builders = {
            OpRole.GLOBAL_LOAD: self._load,
            OpRole.SHARED_STORE: self._store,
            OpRole.FRAGMENT_LOAD: self._read,
            OpRole.COMPUTE: self._mma,
            OpRole.VALU_COMPUTE: self._vector,
        }

    def channel(self, op: OpDesc) -> int:
        if op.channel >= 0:
            return op.channel
        if int(op.tag) in self.channels:
            return self.channels[int(op.tag)]
        raise SyncError(
            f"the channel of {op.label()} is unknown",
            where=op.label(),
            why="no op of the same tag carries one, and its name ends in no _A or _B",
            fix="give the op its channel (0 = A, 1 = B)",
        )

    def items(self, phase: Phase, barriers: bool, waits: bool) -> tuple[Item, ...]:
        entries = self.document.phase(phase)
        stagger = self.document.protocol.stagger_index if phase is Phase.PROLOGUE else None
        out: list[Item] = []
        for i, entry in enumerate(entries):
            if stagger == i:
                out.append(Item(act=Act.STAGGER))
            item = self.item(entry, i)
            dropped = (item.act is Act.WAIT and not waits) or (
                item.act is Act.BARRIER and not barriers
            )
            if not dropped:
                out.append(item)
        if stagger is not None and stagger >= len(entries):
            out.append(Item(act=Act.STAGGER))
        return tuple(out)

    def item(self, entry: ScheduleEntry, index: int) -> Item:
        op = entry.op
        if op.tag == ScheduleOps.BARRIER:
            return Item(act=Act.BARRIER, entry=entry, source=index, drains=self.fencing)
        if op.tag in (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM):
            queue = Queue.VM if op.tag == ScheduleOps.WAIT_VM else Queue.LGKM
            return Item(act=Act.WAIT, entry=entry, source=index, queue=queue)
        build = self.builders.get(op.role) if op.tag <= MAX_KERNEL_TAG else None
        if build is None:
            return Item(act=Act.IDLE, entry=entry, source=index)
        return Item(entry=entry, source=index, **build(op))

    def _load(self, op: OpDesc) -> dict[str, Any]:
        c = self.channel(op)
        table = self.document.counters.vm_per_load
        units = table[c] if c < len(table) else op.vm_cost
        own: dict[str, Any] = (
            {"act": Act.FETCH, "defines": ("staging", c, self._staging(op))}
            if c in self.stored
            else {"act": Act.LOAD, "slot": self._slot(op, c)}
        )
        return own | {"channel": c, "queue": Queue.VM, "units": units}

    def _store(self, op: OpDesc) -> dict[str, Any]:
        c = self.channel(op)
        return {
            "act": Act.STORE,
            "channel": c,
            "slot": self._slot(op, c),
            "uses": (("staging", c, self._staging(op)),),
            "queue": Queue.LGKM,
            "units": op.lgkm_cost or self._lgkm(op, c),
        }

    def _read(self, op: OpDesc) -> dict[str, Any]:
        c = self.channel(op)
        return {
            "act": Act.READ,
            "channel": c,
            "slot": self._slot(op, c),
            "defines": ("fragment", c, op.subtile),
            "queue": Queue.LGKM,
            "units": self._lgkm(op, c),
        }

    def _lgkm(self, op: OpDesc, channel: int) -> int:
        table = self.document.counters.lgkm_per_load
        return table[channel] if channel < len(table) else op.lgkm_cost

    def _mma(self, op: OpDesc) -> dict[str, Any]:
        return {"act": Act.MMA, "uses": self._fragments(op)}

    def _vector(self, op: OpDesc) -> dict[str, Any]:
        """Vector work waits for the fragments it takes, if the document says that it takes any."""
        taken = self._fragments(op) if self._touch(op) is not None else ()
        return {"act": Act.MMA, "uses": taken} if taken else {"act": Act.IDLE}

    def _staging(self, op: OpDesc) -> int:
        touch = self._touch(op)
        return 0 if touch is None else touch.part

    def _slot(self, op: OpDesc, channel: int) -> Slot:
        """A store writes a whole stage, or the part a flow names; its fragments read parts."""
        slot = (channel, op.stage)
        touch = self._touch(op)
        if touch is not None:
            return (*slot, touch.part)
        return slot if channel in self.stored else (*slot, op.subtile)

    def _touch(self, op: OpDesc) -> Touch | None:
        """What a document with a flow says of an op."""
        return None if self.touches is None else self.touches.get(op.key)

    def _fragments(self, op: OpDesc) -> tuple[Register, ...]:
        touch = self._touch(op)
        if touch is not None:
            return tuple(("fragment", channel, index) for channel, index in touch.takes)
        if self.joint is not None:
            return (("fragment", self.joint, op.subtile),)
        return (("fragment", 0, op.stage), ("fragment", 1, op.subtile))
