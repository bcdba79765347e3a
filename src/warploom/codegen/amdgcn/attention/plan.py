"""``AttentionPlan``: a schedule document, a tile and a text that fit together, and their numbers.

Scores are computed transposed, S^T = K Q^T: a lane then holds one query and a share of the keys, so
row maxima and sums stay inside a lane but for one exchange with its other half, and S^T lies in
registers as the second product O^T += V^T P^T wants P^T, if V's rows are read in the same order.
So the tile is that of a product of K (rows: keys) and Q (rows: queries) along the head.
"""

from dataclasses import dataclass
from functools import cached_property

from warploom.codegen.amdgcn.attention.tile_kernel import AttentionTileKernel
from warploom.codegen.amdgcn.plan import argument_name, scalar_kind
from warploom.codegen.amdgcn.tile import GemmTile, gemm_tile
from warploom.errors import BackendError
from warploom.ir import ScheduleDocument
from warploom.ir.dataflow import touches
from warploom.ir.schedule_ops import OpDesc, OpRole
from warploom.ir.tile import Walk

QUERIES = 32  # of a wave: the columns of one matrix instruction
MMA = (32, 32, 16)
K, V, Q = 0, 1, 2  # channels
READS_V = 2  # transposed reads of 8 bytes that make one operand


@dataclass(frozen=True)
class AttentionShape:
    """A document for a tile: all the gate needs."""

    document: ScheduleDocument
    tile: GemmTile

    @property
    def keys(self) -> int:
        """Keys of one tile."""
        return self.tile.block_m

    @property
    def score_tiles(self) -> int:
        """Products of one wave along the keys of a tile."""
        return self.keys // MMA[0]

    @property
    def head_tiles(self) -> int:
        """Products of one wave along the head."""
        return self.tile.block_k // MMA[0]

    @property
    def key_steps(self) -> int:
        """Matrix instructions of the second product along the keys."""
        return self.keys // MMA[2]

    @cached_property
    def stages(self) -> tuple[int, int, int]:
        """LDS copies of K, V and Q."""
        entries = (*self.document.prologue, *self.document.kernel, *self.document.epilogue)
        loads = [e.op for e in entries if e.op.role is OpRole.GLOBAL_LOAD]
        most = [1 + max(op.stage for op in loads if op.channel == c) for c in (K, V, Q)]
        return most[0], most[1], most[2]

    def slot_bytes(self, channel: int) -> int:
        """LDS bytes of one copy of a tile of K, V or Q."""
        return self.tile.slot_bytes(1 if channel == Q else 0, 1)

    def channel_lds_bytes(self, channel: int) -> int:
        """LDS that a channel takes."""
        return self.stages[channel] * self.slot_bytes(channel)

    @property
    def lds_bytes(self) -> int:
        """LDS of one workgroup."""
        return sum(self.channel_lds_bytes(c) for c in (K, V, Q))

    def loads(self, channel: int) -> int:
        """16-byte loads a thread issues for one tile of a channel."""
        return self.tile.loads(1 if channel == Q else 0, 1)

    @property
    def tail_reads(self) -> bool:
        """Nothing is read after the loop."""
        return False

    @property
    def unused_reads(self) -> tuple[tuple[int, int], ...]:
        """Every fragment is taken."""
        return ()

    def instructions(self, op: OpDesc) -> list[tuple[str, int]]:
        """Classes and counts of the instructions of a data op, by the document's counters."""
        counters = self.document.counters
        if op.role is OpRole.GLOBAL_LOAD:
            return [("dma", op.vm_cost if op.channel == Q else counters.vm_per_load[op.channel])]
        if op.role is OpRole.FRAGMENT_LOAD:
            kind = "ds_read_tr" if op.channel == V else "ds_read"
            count = op.lgkm_cost if op.channel == Q else counters.lgkm_per_load[op.channel]
            return [(kind, count)]
        if op.role is OpRole.COMPUTE:
            taken = {channel for channel, _ in self.taken(op)}
            return [("mfma", self.key_steps if V in taken else self.tile.k_steps)]
        return []

    def taken(self, op: OpDesc) -> tuple[tuple[int, int], ...]:
        """The fragments a product takes."""
        assert self.document.flow is not None
        return touches(self.document.flow)[op.key].takes


@dataclass(frozen=True)
class AttentionPlan(AttentionShape):
    """A document that can be emitted for a tile and a text."""

    text: AttentionTileKernel

    @property
    def name(self) -> str:
        """The kernel's name in the code object."""
        return f"warploom_{self.text.kernel.name}"

    @property
    def arguments(self) -> tuple[tuple[str, str], ...]:
        """Name and kind of the kernel's arguments, in order."""
        text = self.text
        tensors = (text.q.tensor, text.k.tensor, text.v.tensor, *(s.tensor for s in text.stores))
        pointers = dict.fromkeys(argument_name(t) for t in tensors)
        return (
            *((name, "pointer") for name in pointers),
            *((f"dim_{axis}", "i32") for axis in text.sizes),
            *((argument_name(s, scalar=True), scalar_kind(text.kernel, s)) for s in text.scalars),
        )

    @property
    def units(self) -> tuple[str, ...]:
        """The grid's variables beside the tiles of queries, the last one first."""
        kernel = self.text.kernel
        found = [v for v in kernel.grid.vars if kernel.var(v).walk is Walk.UNIT]
        return tuple(reversed(found))


def attention_tile(text: AttentionTileKernel, keys: int = 64, waves: int = 4) -> GemmTile:
    """The tile of a workgroup of so many waves, each with 32 queries, and so many keys a step."""
    return gemm_tile(keys, QUERIES * waves, text.width, text.element, mma=MMA, waves=(1, waves))


def attention_plan(
    document: ScheduleDocument, tile: GemmTile, text: AttentionTileKernel
) -> AttentionPlan:
    """Check that the document can be emitted for tile and text."""
    plan = AttentionPlan(document, tile, text)
    protocol, counters = document.protocol, document.counters
    if document.flow is None:
        raise BackendError(
            "the schedule declares no dataflow",
            where=f"schedule {document.name!r}",
            fix="schedule the kernel with attention_schedule",
        )
    waves = protocol.groups * protocol.waves_per_group
    if waves != tile.waves or protocol.groups != 1:
        raise BackendError(f"the schedule is for {waves} waves in groups", where=tile.label())
    real = (plan.loads(K), plan.loads(V)), (tile.k_steps, plan.key_steps * READS_V)
    declared = (counters.vm_per_load, counters.lgkm_per_load)
    if real != declared:
        raise BackendError(
            f"the schedule counts (vm, lgkm) = {declared}, this tile needs {real}",
            where=tile.label(),
            why="wait counts are in instructions; with other counts they would be wrong",
        )
    return plan
