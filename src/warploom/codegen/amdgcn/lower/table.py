"""The lowering table: what each op becomes. Rows are keyed by role, or by tag for sync ops.

Every machine instruction of a scheduled op is preceded by ``sched.barrier(0)``, which forbids
the instruction scheduler to move anything across; without it loads and matrix instructions cross
barriers and priorities. DMA writes and LDS reads carry alias scopes: otherwise LLVM, which cannot
tell one LDS slot from another, puts a full ``vmcnt(0)`` before each read.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from warploom.codegen.amdgcn.isa_check import Gated
from warploom.codegen.amdgcn.lower.pointwise import IrText
from warploom.codegen.amdgcn.lower.state import Machine
from warploom.codegen.amdgcn.plan import Movement
from warploom.codegen.amdgcn.tile import CHUNK
from warploom.errors import BackendError
from warploom.ir import BarrierKind
from warploom.ir.counter_dialect import Queue
from warploom.ir.schedule_ops import OpDesc, OpRole, ScheduleOps
from warploom.targets.mi355x import LANES

NO_EXP = 7


def encode_wait(*, vm: int | None = None, lgkm: int | None = None) -> int:
    """Encode a wait; ``None`` leaves a counter alone. A count that would not wait is refused."""
    for value, queue in ((vm, Queue.VM), (lgkm, Queue.LGKM)):
        if value is not None and not 0 <= value <= queue.largest_wait:
            fix = f"use a count of 0 to {queue.largest_wait}"
            raise BackendError(f"{queue}cnt({value}) cannot be encoded", fix=fix)
    v = Queue.VM.capacity if vm is None else vm
    lg = Queue.LGKM.capacity if lgkm is None else lgkm
    return (v & 15) | (NO_EXP << 4) | (lg << 8) | ((v >> 4) << 14)


Lower = Callable[[Machine, OpDesc], None]

DMA_SCOPE = ", !alias.scope !3, !noalias !4"
READ_SCOPE = ", !alias.scope !4, !noalias !3"


def lower_op(machine: Machine, op: OpDesc) -> None:
    """Emit one op through the table."""
    machine.text.comment(op.label())
    rows = ROWS[machine.plan.movement]
    sync = SYNC.get(int(op.tag))
    if sync is not None:
        sync(machine, op)
        return
    row = rows.get(op.role)
    if row is None:
        raise BackendError(
            f"no lowering for an op of role {op.role.name}",
            where=f"{machine.phase.name.lower()}: {op.label()}",
            fix=f"roles with a lowering: {', '.join(r.name for r in rows)}",
        )
    row(machine, op)


class Pinned(Protocol):
    """What synchronisation asks of a lowering: its text, its plan, and a pin."""

    text: IrText

    @property
    def plan(self) -> Gated:
        """The plan."""
        ...

    def pin(self) -> None:
        """Nothing moves across this point."""
        ...


def emit_barrier(machine: Pinned) -> None:
    """A workgroup barrier; a fencing one drains the wave's own queues first."""
    if machine.plan.document.protocol.barrier is BarrierKind.FENCING:
        emit_wait(machine, vm=0, lgkm=0)
    machine.pin()
    machine.text.add("call void @llvm.amdgcn.s.barrier()")


def emit_guarded_barrier(machine: Pinned, groups: set[int], group: str) -> None:
    """A barrier that only the waves of some groups execute; ``group``: the number of one's own."""
    text = machine.text
    mask = sum(1 << g for g in groups)
    bit = text.value(f"lshr i32 {mask}, {group}")
    bit = text.value(f"and i32 {bit}, 1")
    test = text.value(f"icmp ne i32 {bit}, 0")
    name = f"only{test[1:]}"
    machine.pin()
    text.add(f"br i1 {test}, label %{name}, label %{name}_join")
    text.label(name)
    emit_barrier(machine)
    text.add(f"br label %{name}_join")
    text.label(f"{name}_join")


def emit_stagger(machine: Pinned, group: str) -> None:
    """The barriers by which later groups fall behind."""
    protocol = machine.plan.document.protocol
    for extra in range(1, protocol.groups):
        emit_guarded_barrier(machine, {g for g in range(protocol.groups) if g >= extra}, group)


def emit_tail_barriers(machine: Pinned, group: str) -> None:
    """The barriers by which the groups in front wait for those behind."""
    tail = machine.plan.document.protocol.tail_barriers
    for extra in range(1, max(tail) + 1):
        emit_guarded_barrier(machine, {g for g, t in enumerate(tail) if t >= extra}, group)


def emit_wait(machine: Pinned, *, vm: int | None = None, lgkm: int | None = None) -> None:
    """One wait on one or both counters."""
    machine.pin()
    machine.text.add(f"call void @llvm.amdgcn.s.waitcnt(i32 {encode_wait(vm=vm, lgkm=lgkm)})")


def _set_priority(machine: Pinned, op: OpDesc) -> None:
    machine.pin()
    machine.text.add(f"call void @llvm.amdgcn.s.setprio(i16 {op.wait_value})")


def _load_to_lds(machine: Machine, op: OpDesc) -> None:
    """One 16-byte DMA a lane and step; lane ``l`` of a wave lands at the wave's base + 16 l."""
    plan, text = machine.plan, machine.text
    channel = plan.channel(op)
    along_k, held = machine.load_offsets(op)
    for i in range(plan.loads(channel)):
        machine.pin()
        slot = machine.slot(channel, op.stage, op.subtile, i * plan.tile.threads * CHUNK)
        at = text.value(f"getelementptr inbounds i8, ptr addrspace(3) {slot}, i32 %share")
        text.add(
            "call void @llvm.amdgcn.raw.ptr.buffer.load.lds("
            f"ptr addrspace(8) %rsrc{channel}, ptr addrspace(3) {at}, i32 16, "
            f"i32 {held(channel, op.subtile, i)}, i32 {along_k}, i32 0, i32 0){DMA_SCOPE}"
        )
    if plan.tile.element.scaled:
        _load_scales(machine, op, channel, machine.scale_k_offset(along_k))


def _load_scales(machine: Machine, op: OpDesc, channel: int, along_k: str) -> None:
    """A word of scales a lane and step; lane ``l`` of a wave lands at the wave's base + 4 l."""
    plan, text = machine.plan, machine.text
    for i in range(plan.scale_loads(channel)):
        machine.pin()
        slot = machine.scale_slot(channel, op.stage, op.subtile, i * plan.tile.threads * 4)
        at = text.value(f"getelementptr inbounds i8, ptr addrspace(3) {slot}, i32 %scale_share")
        text.add(
            "call void @llvm.amdgcn.raw.ptr.buffer.load.lds("
            f"ptr addrspace(8) %scale_rsrc{channel}, ptr addrspace(3) {at}, i32 4, "
            f"i32 %scale_load_{channel}_{op.subtile}_{i}, i32 {along_k}, i32 0, i32 0){DMA_SCOPE}"
        )


def _load_to_registers(machine: Machine, op: OpDesc) -> None:
    plan = machine.plan
    along_k, held = machine.load_offsets(op)
    for channel, subtile in plan.moves(op):
        loads = plan.loads(channel)
        for i in range(loads):
            machine.pin()
            machine.staged[channel, subtile * loads + i] = machine.text.value(
                "call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32("
                f"ptr addrspace(8) %rsrc{channel}, i32 {held(channel, subtile, i)}, "
                f"i32 {along_k}, i32 0)"
            )


def _store_to_lds(machine: Machine, op: OpDesc) -> None:
    plan, text = machine.plan, machine.text
    for channel, subtile in plan.moves(op):
        loads = plan.loads(channel)
        for i in range(loads):
            machine.pin()
            slot = machine.slot(channel, 0, subtile, i * plan.tile.threads * CHUNK)
            at = text.value(
                f"getelementptr inbounds i8, ptr addrspace(3) {slot}, i32 %thread_share"
            )
            data = machine.staged_value(channel, subtile * loads + i, op)
            text.add(f"store <4 x i32> {data}, ptr addrspace(3) {at}, align 16")


def _read_fragment(machine: Machine, op: OpDesc) -> None:
    plan = machine.plan
    if plan.joint:
        for channel in (0, 1):
            _read_operand(machine, channel, op.subtile, stage=0, slot_subtile=0)
        return
    _read_operand(machine, plan.channel(op), op.subtile, op.stage, op.subtile)


def _read_operand(
    machine: Machine, channel: int, fragment: int, stage: int, slot_subtile: int
) -> None:
    """Read a wave's share of a slot into fragment ``(channel, fragment)``, one pin a read."""
    plan, text, tile = machine.plan, machine.text, machine.plan.tile
    operand = tile.operands[channel]
    reads = plan.k_steps * tile.reads_per_operand
    first = fragment * reads if plan.joint else 0
    for q in range(reads):
        for t in range(plan.tiles(channel)):
            machine.pin()
            below = t * operand.mma_rows * tile.lds_row_bytes
            slot = machine.slot(channel, stage, slot_subtile, below)
            at = text.value(
                f"getelementptr inbounds i8, ptr addrspace(3) {slot}, "
                f"i32 %frag_{channel}_{first + q}"
            )
            scope = READ_SCOPE if plan.movement is Movement.DMA else ""
            held = f"align {tile.read_bytes}{scope}"
            name = text.value(f"load {machine.chunk_type}, ptr addrspace(3) {at}, {held}")
            machine.define_fragment((channel, fragment, t, q), name)
    for step in range(plan.k_steps if tile.element.scaled else 0):
        for t in range(plan.tiles(channel)):
            machine.pin()
            below = t * operand.mma_rows * 4 * tile.scale_words
            below += step * (LANES // operand.mma_rows)
            slot = machine.scale_slot(channel, stage, slot_subtile, below)
            at = text.value(
                f"getelementptr inbounds i8, ptr addrspace(3) {slot}, i32 %scale_frag_{channel}"
            )
            code = text.value(f"load i8, ptr addrspace(3) {at}, align 1{READ_SCOPE}")
            name = text.value(f"zext i8 {code} to i32")
            machine.define_fragment((channel, fragment, t, reads + step), name)


def _multiply(machine: Machine, op: OpDesc) -> None:
    """All matrix instructions of one quadrant (or, joint, of one K part of the whole tile)."""
    plan = machine.plan
    joint = plan.joint
    fragment_a, fragment_b = (op.subtile, op.subtile) if joint else (op.stage, op.subtile)
    row0 = 0 if joint else op.stage * plan.tiles(0)
    column0 = 0 if joint else op.subtile * plan.tiles(1)
    from_end = machine.tiles_from_end(op)
    machine.settle(2)
    for step in range(plan.k_steps):
        for i in range(plan.tiles(0)):
            left = machine.operand(0, fragment_a, i, step, op, from_end)
            scaled = plan.tile.element.scaled
            scale = machine.scale(0, fragment_a, i, step, op) if scaled else ""
            for j in range(plan.tiles(1)):
                right = machine.operand(1, fragment_b, j, step, op, from_end)
                if from_end:
                    machine.settle(2)  # the operands were made just before
                scales = (scale, machine.scale(1, fragment_b, j, step, op)) if scaled else None
                machine.multiply(row0 + i, column0 + j, left, right, scales)


SYNC: Mapping[int, Callable[[Pinned, OpDesc], None]] = {
    int(ScheduleOps.BARRIER): lambda m, op: emit_barrier(m),
    int(ScheduleOps.WAIT_VM): lambda m, op: emit_wait(m, vm=op.wait_value),
    int(ScheduleOps.WAIT_LGKM): lambda m, op: emit_wait(m, lgkm=op.wait_value),
    int(ScheduleOps.SET_PRIO): _set_priority,
    int(ScheduleOps.SCHEDULE_BARRIER): lambda m, op: m.pin(),
    # A hint to a scheduler that may not move anything: the order is the schedule's already.
    int(ScheduleOps.SCHED_GROUP_BARRIER): lambda m, op: None,
}

ROWS: Mapping[Movement, Mapping[OpRole, Lower]] = {
    Movement.DMA: {
        OpRole.GLOBAL_LOAD: _load_to_lds,
        OpRole.FRAGMENT_LOAD: _read_fragment,
        OpRole.COMPUTE: _multiply,
    },
    Movement.STAGED: {
        OpRole.GLOBAL_LOAD: _load_to_registers,
        OpRole.SHARED_STORE: _store_to_lds,
        OpRole.FRAGMENT_LOAD: _read_fragment,
        OpRole.COMPUTE: _multiply,
    },
}
