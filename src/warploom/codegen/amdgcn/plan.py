"""``KernelPlan``: a schedule document and a tile that fit together, checked once.

Input: any ``ScheduleDocument`` and a ``GemmTile``. Output: the plan, or a typed error that says
which of the two to change. What an op moves or multiplies is decided here from its role, channel
and position; nothing below reads tags or names.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from warploom.codegen.amdgcn.tile import CHUNK, GemmTile, check_subtiles
from warploom.codegen.amdgcn.tile_kernel import GemmTileKernel
from warploom.errors import BackendError
from warploom.ir import ScheduleDocument
from warploom.ir.counter_dialect import Queue
from warploom.ir.dataflow import touches
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, OpRole, Phase, ScheduleEntry, ScheduleOps
from warploom.ir.tile import DType, Kernel

Slot = tuple[str, int, int]  # ("fragment", channel, index) or ("staged", channel, sub-tile)


_MATRICES: tuple[tuple[str, str], ...] = (("mat_a", "pointer"), ("mat_b", "pointer"))
_SCALES: tuple[tuple[str, str], ...] = (("scale_a", "pointer"), ("scale_b", "pointer"))
_DIMENSIONS: tuple[tuple[str, str], ...] = (("dim_m", "i32"), ("dim_n", "i32"), ("dim_k", "i32"))


def argument_name(name: str, *, scalar: bool = False) -> str:
    """The kernel argument of a tensor or parameter of a text.

    Never a bare name: in the code object's YAML the word ``n`` means false. The operands of the
    product are ``mat_a`` and ``mat_b``, whatever the author calls them.
    """
    return f"scalar_{name}" if scalar else f"mat_{tensor_name(name)}"


def tensor_name(name: str) -> str:
    """A tensor in the emitted code, apart from the operands ``a`` and ``b`` of the product."""
    return f"{name}_tensor" if name in ("a", "b") else name


def scalar_kind(kernel: Kernel, name: str) -> str:
    """``i32`` or ``f32``: how a parameter is passed."""
    whole = next(p for p in kernel.parameters if p.name == name).dtype is DType.I32
    return "i32" if whole else "f32"


class Movement(Enum):
    """How tiles reach LDS: ``DMA`` straight from memory, ``STAGED`` through registers."""

    DMA = "dma"
    STAGED = "staged"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPlan:
    """A document that can be emitted for a tile.

    ``stages`` LDS stages of ``subtiles`` row sub-tiles of A and of B each. Where one staged load
    moves A and B together (``joint``) a K-tile is consumed in ``k_parts`` parts, otherwise in one.
    ``moved``: sub-tiles of A and of B that have a staged load of their own; one of 1 moves all.
    ``text``: the tile kernel whose tail is applied to C; without one C is stored as it is.
    ``ragged_k``: K may be any whole number of 16-byte chunks, loads beyond it give zero; else it
    must fill whole iterations. ``written_out``: matrix instructions stand as assembly text where
    LLVM would copy accumulators. ``reading_tail``: the tail of a text that is not at hand reads
    memory.
    """

    document: ScheduleDocument
    tile: GemmTile
    movement: Movement
    stages: int
    subtiles: tuple[int, int]
    k_parts: int
    channel_by_tag: Mapping[int, int]
    text: GemmTileKernel | None = None
    ragged_k: bool = False
    written_out: bool = False
    reading_tail: bool = False
    joint: bool = False
    moved: tuple[int, int] = (1, 1)

    def channel(self, op: OpDesc) -> int:
        """The operand an op moves: its own channel, or that of other ops with its tag."""
        return op.channel if op.channel >= 0 else self.channel_by_tag.get(int(op.tag), -1)

    def channels(self, op: OpDesc) -> tuple[int, ...]:
        """The operands a load, store or fragment load moves."""
        return (0, 1) if self.joint else (self.channel(op),)

    def moves(self, op: OpDesc) -> tuple[tuple[int, int], ...]:
        """The sub-tiles ``(channel, sub-tile)`` that a staged load or store moves."""
        return tuple(
            (c, s)
            for c in self.channels(op)
            for s in ([op.subtile] if self.moved[c] > 1 else range(self.subtiles[c]))
        )

    @property
    def arguments(self) -> tuple[tuple[str, str], ...]:
        """Name and kind (``pointer``, ``i32``, ``f32``) of the kernel's arguments, in order."""
        if self.text is None:
            scales = _SCALES if self.tile.element.scaled else ()
            return (*_MATRICES, *scales, ("mat_c", "pointer"), *_DIMENSIONS)
        tensors = (*(s.tensor for s in self.text.stores), *(t.name for t in self.text.read))
        pointers = tuple((argument_name(t), "pointer") for t in dict.fromkeys(tensors))
        kernel = self.text.kernel
        scalars = tuple(
            (argument_name(s, scalar=True), scalar_kind(kernel, s)) for s in self.text.scalars
        )
        return (*_MATRICES, *pointers, *_DIMENSIONS, *scalars)

    @property
    def lds_bytes(self) -> int:
        """LDS of one workgroup."""
        return sum(self.channel_lds_bytes(c) for c in (0, 1))

    def channel_lds_bytes(self, channel: int) -> int:
        """LDS that one operand takes."""
        subtiles = self.subtiles[channel]
        scales = self.tile.scale_slot_bytes(channel, subtiles)
        return self.stages * subtiles * (self.tile.slot_bytes(channel, subtiles) + scales)

    @property
    def k_steps(self) -> int:
        """Matrix instructions along K that one fragment serves."""
        return self.tile.k_steps // self.k_parts

    @property
    def grid(self) -> tuple[int, int]:
        """Accumulator tiles of one wave, along M and N."""
        return self.subtiles[0] * self.tiles(0), self.subtiles[1] * self.tiles(1)

    @property
    def tail_reads(self) -> bool:
        """Whether the tail of a text reads memory."""
        return self.reading_tail or (self.text is not None and bool(self.text.read))

    @property
    def unused_reads(self) -> tuple[tuple[int, int], ...]:
        """Fragments ``(channel, index)`` the epilogue loads last and no MMA takes."""
        pending: dict[Slot, None] = {}
        for entry in self.document.epilogue:
            for slot in self.uses(entry.op):
                pending.pop(slot, None)
            pending.update(dict.fromkeys(self.defines(entry.op)))
        return tuple((c, i) for kind, c, i in pending if kind == "fragment")

    def uses(self, op: OpDesc) -> tuple[Slot, ...]:
        """The registers an op reads."""
        if op.role is OpRole.COMPUTE:
            a = op.subtile if self.joint else op.stage
            return ("fragment", 0, a), ("fragment", 1, op.subtile)
        if op.role is OpRole.SHARED_STORE:
            return tuple(("staged", c, s) for c, s in self.moves(op))
        return ()

    def defines(self, op: OpDesc) -> tuple[Slot, ...]:
        """The registers an op fills."""
        if op.role is OpRole.FRAGMENT_LOAD:
            return tuple(("fragment", c, op.subtile) for c in self.channels(op))
        if op.role is OpRole.GLOBAL_LOAD and self.movement is Movement.STAGED:
            return tuple(("staged", c, s) for c, s in self.moves(op))
        return ()

    def instructions(self, op: OpDesc) -> list[tuple[str, int]]:
        """Instruction classes and counts of a data op, by the document's counters and the tile."""
        if op.role is OpRole.COMPUTE:
            rows, columns = self.grid
            quadrants = self.subtiles[0] * self.subtiles[1]
            return [("mfma", rows * columns // quadrants * self.k_steps)]
        if self.movement is Movement.DMA:
            counters, channel = self.document.counters, self.channel(op)
            if op.role is OpRole.GLOBAL_LOAD:
                return [("dma", counters.vm_per_load[channel])]
            scales = self.scale_reads(channel)
            elements = "ds_read" if self.tile.read_bytes == CHUNK else "ds_read_b64"
            data = [(elements, counters.lgkm_per_load[channel] - scales)]
            return [*data, ("ds_read_u8", scales)] if scales else data
        if op.role is OpRole.FRAGMENT_LOAD:
            return [("ds_read", sum(self.fragment_reads(c) for c in self.channels(op)))]
        kind = "load" if op.role is OpRole.GLOBAL_LOAD else "ds_write"
        return [(kind, sum(self.loads(c) for c, _ in self.moves(op)))]

    def tiles(self, channel: int) -> int:
        """MMA tiles of one wave in one sub-tile of an operand."""
        return self.tile.operands[channel].tiles(self.subtiles[channel])

    def loads(self, channel: int) -> int:
        """16-byte loads a thread issues for one sub-tile of an operand."""
        return self.tile.loads(channel, self.subtiles[channel])

    def scale_loads(self, channel: int) -> int:
        """4-byte loads a thread issues for the scales of one sub-tile."""
        return self.tile.scale_loads(channel, self.subtiles[channel])

    def scale_reads(self, channel: int) -> int:
        """LDS reads of the scales of one fragment load."""
        return self.tile.scale_reads(channel, self.subtiles[channel], self.k_steps)

    def fragment_reads(self, channel: int) -> int:
        """LDS reads of one fragment load of an operand, scales included."""
        data = self.tile.data_reads(channel, self.subtiles[channel], self.k_steps)
        return data + self.scale_reads(channel)

    def fragment_registers(self, channel: int) -> int:
        """Registers that one fragment load of an operand fills."""
        return self.tile.fragment_registers(channel, self.subtiles[channel], self.k_steps)


def plan_kernel(
    document: ScheduleDocument,
    tile: GemmTile,
    *,
    text: GemmTileKernel | None = None,
    ragged_k: bool = False,
    reading_tail: bool = False,
) -> KernelPlan:
    """Check that the document can be emitted for the tile, and say how."""
    entries = [*document.prologue, *document.kernel, *document.epilogue]
    roles = {e.op.role for e in entries}
    staged = OpRole.SHARED_STORE in roles
    if document.flow is not None and not staged:  # of a single buffer they are compared
        raise BackendError(
            f"the ops of {document.name!r} name their own values",
            where=f"schedule {document.name!r}",
            why="this back end knows the ops of a matrix product; what others compute stands in no "
            "schedule",
            fix="for the loop of a tile kernel emit the kernel, warploom emit gfx950 "
            "file.py:kernel, or a folder of warploom show KERNEL --target mi355x --dump-passes DIR",
        )
    moved = [e.op for e in entries if e.op.role in (OpRole.GLOBAL_LOAD, OpRole.FRAGMENT_LOAD)]
    computed = [e.op for e in entries if e.op.role is OpRole.COMPUTE]
    if not moved or not computed:
        raise BackendError(
            "the schedule moves or computes nothing",
            where=f"schedule {document.name!r}",
            fix="emit a schedule with global loads, fragment loads and MMA ops",
        )
    channels = document.channels()
    sides = {op.channel if op.channel >= 0 else channels.get(int(op.tag), -1) for op in moved}
    joint = staged and len(sides) == 1
    if staged:
        _check_staged(document, computed, joint=joint)
    stores = [e.op for e in entries if e.op.role is OpRole.SHARED_STORE]
    plan = KernelPlan(
        document=document,
        tile=tile,
        movement=Movement.STAGED if staged else Movement.DMA,
        stages=1 if staged else 1 + max(op.stage for op in moved),
        subtiles=(1, 1) if joint else _subtiles(moved, channels, least=1 if staged else 2),
        k_parts=1 + max(op.subtile for op in computed) if joint else 1,
        joint=joint,
        moved=(1, 1) if joint or not staged else _subtiles(stores, channels, least=1),
        channel_by_tag=channels,
        text=text,
        ragged_k=ragged_k,
        reading_tail=reading_tail,
    )
    _check_text(plan)
    _check_scales(plan)
    if staged and not joint:
        _check_apart(plan)
    check_subtiles(tile, plan.subtiles, plan.stages)
    _check_waves(plan)
    if plan.tile.k_steps % plan.k_parts:
        raise BackendError(
            f"{plan.k_parts} compute parts do not divide the {plan.tile.k_steps} matrix "
            "instructions along BK",
            where=plan.tile.label(),
            fix=f"schedule {plan.tile.k_steps} (or a divisor) k-tiles",
        )
    _check_counters(plan)
    for phase, index, entry in located_entries(document):
        _check_entry(plan, entry.op, f"{phase.name.lower()} entry {index}: {entry.op.label()}")
    return plan


def _check_staged(document: ScheduleDocument, computed: Sequence[OpDesc], *, joint: bool) -> None:
    """A single buffer is lowered where it is a matrix product by roles, channels and sub-tiles."""
    found = None if document.flow is None else touches(document.flow)
    other = [op.label() for op in computed if joint and op.stage]
    for _, _, entry in located_entries(document):
        op = entry.op
        if op.role is OpRole.VALU_COMPUTE:
            other.append(op.label())
        elif found is not None and op.role is OpRole.COMPUTE:
            touch = found.get(op.key)
            if touch is None or touch.takes != ((0, op.stage), (1, op.subtile)):
                other.append(op.label())
    if other:
        raise _no_product(document, other[0])


def _check_apart(plan: KernelPlan) -> None:
    """Each side of a product is loaded, stored and read whole, or in all its sub-tiles."""
    document = plan.document
    found = None if document.flow is None else touches(document.flow)
    moved: dict[tuple[OpRole, int], set[int]] = {}
    for _, _, entry in located_entries(document):
        op = entry.op
        if op.role in (OpRole.GLOBAL_LOAD, OpRole.SHARED_STORE, OpRole.FRAGMENT_LOAD):
            channel = plan.channel(op)
            moved.setdefault((op.role, channel), set()).add(op.subtile)
            part = op.subtile if channel in (0, 1) and plan.moved[channel] > 1 else 0
            touch = None if found is None else found.get(op.key)
            if found is not None and (touch is None or touch.part != part):
                raise _no_product(document, op.label())
    for (role, channel), parts in moved.items():
        apart = role is OpRole.FRAGMENT_LOAD or (channel in (0, 1) and plan.moved[channel] > 1)
        wanted = set(range(plan.subtiles[channel])) if apart and channel in (0, 1) else {0}
        if parts != wanted:
            raise _no_product(document, f"{role.name} of channel {channel}")


def _no_product(document: ScheduleDocument, what: str) -> BackendError:
    return BackendError(
        f"{what} is no part of a matrix product that is emitted",
        where=f"schedule {document.name!r}",
        why="there is no lowering for a single buffer that computes something else; it is proven "
        "all the same",
        fix="fragments and MMAs of a grid of A and B, loaded and stored whole or in all their "
        "sub-tiles; attention as a tile kernel is emitted from its text",
    )


def located_entries(document: ScheduleDocument) -> Iterator[tuple[Phase, int, ScheduleEntry]]:
    """Every entry with its phase and index."""
    for phase in Phase:
        for index, entry in enumerate(document.phase(phase)):
            yield phase, index, entry


def _subtiles(moved: list[OpDesc], known: Mapping[int, int], least: int) -> tuple[int, int]:
    """Sub-tiles of A and of B that the schedule moves; a ring has at least two, as quadrants."""
    most = [least, least]
    for op in moved:
        channel = op.channel if op.channel >= 0 else known.get(int(op.tag), -1)
        if channel in (0, 1):
            most[channel] = max(most[channel], 1 + op.subtile)
    return most[0], most[1]


def _check_text(plan: KernelPlan) -> None:
    text = plan.text
    if text is not None and text.element is not plan.tile.element:
        raise BackendError(
            f"the kernel multiplies {text.element.value}, the tile is {plan.tile.element.value}",
            where=f"kernel {text.kernel.name}",
            fix="make the tile with the kernel's element type",
        )


def _check_scales(plan: KernelPlan) -> None:
    element = plan.tile.element
    if element.scaled and (plan.movement is Movement.STAGED or plan.ragged_k):
        what = "goes through registers" if plan.movement is Movement.STAGED else "takes any K"
        raise BackendError(
            f"{element.value} has no lowering in a kernel that {what}",
            where=plan.tile.label(),
            why="scales are moved straight to LDS, whole words of them",
            fix="pingpong or fourwave, without a tail and with K of whole iterations",
        )


def _check_waves(plan: KernelPlan) -> None:
    protocol, tile = plan.document.protocol, plan.tile
    waves = protocol.groups * protocol.waves_per_group
    if waves != tile.waves:
        raise BackendError(
            f"the schedule is for {waves} waves, the tile for {tile.waves}",
            where=tile.label(),
            fix=f"use a wave grid of {waves} waves",
        )


def _check_counters(plan: KernelPlan) -> None:
    """The waits count instructions, so the document's units must be this tile's instructions."""
    if plan.movement is Movement.STAGED:
        return
    counters = plan.document.counters
    for channel, name in enumerate("AB"):
        real = (
            plan.loads(channel) + plan.scale_loads(channel),
            plan.fragment_reads(channel),
        )
        declared = (counters.vm_per_load[channel], counters.lgkm_per_load[channel])
        if real != declared:
            raise BackendError(
                f"the schedule counts (vm, lgkm) = {declared} for a load of {name}, this tile "
                f"needs {real} instructions",
                where=plan.tile.label(),
                why="wait counts are in instructions; with other counts they would be wrong",
                fix=f"compile the schedule with vm_per_load_{name.lower()}={real[0]} and "
                f"lgkm_per_load_{name.lower()}={real[1]}",
            )


def _check_entry(plan: KernelPlan, op: OpDesc, where: str) -> None:
    if op.role in (OpRole.GLOBAL_LOAD, OpRole.FRAGMENT_LOAD, OpRole.SHARED_STORE):
        _check_move(plan, op, where)
    elif op.role is OpRole.COMPUTE and not plan.joint:
        rows, columns = plan.subtiles
        if op.stage >= rows or op.subtile >= columns:
            raise BackendError(
                f"an MMA outside the {rows}x{columns} grid of sub-tiles", where=where
            )
    elif op.role in (OpRole.VALU_COMPUTE, OpRole.NONE):
        raise BackendError(
            f"a GEMM kernel has no lowering for role {op.role.name}",
            where=where,
            fix="price every op with a cost model that gives it a role",
        )
    elif op.tag in (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM):
        queue = Queue.VM if op.tag == ScheduleOps.WAIT_VM else Queue.LGKM
        limit = queue.largest_wait
        if op.wait_value > limit:
            raise BackendError(
                f"a wait count of {op.wait_value} cannot be encoded",
                where=where,
                why=f"the hardware counter ends at {limit}; a larger count would wait for nothing",
                fix=f"clamp the count to {limit}, which is stronger",
            )


def _check_move(plan: KernelPlan, op: OpDesc, where: str) -> None:
    if plan.movement is Movement.STAGED:
        if op.role is OpRole.GLOBAL_LOAD and op.k_offset is not KOffsetKind.NONE:
            raise BackendError("a staged load names a K-tile; it takes the next one", where=where)
        if plan.joint:
            if op.role is OpRole.FRAGMENT_LOAD and op.subtile >= plan.k_parts:
                raise BackendError("a fragment of a K part that no compute op uses", where=where)
            return
    if plan.channel(op) not in (0, 1):
        raise BackendError(
            "cannot tell whether the op moves A or B",
            where=where,
            fix="give the op, or another op of its tag, channel 0 (A) or 1 (B)",
        )
    subtiles = plan.subtiles[plan.channel(op)]
    if op.subtile >= subtiles:
        raise BackendError(f"sub-tile {op.subtile} of {subtiles}", where=where)
