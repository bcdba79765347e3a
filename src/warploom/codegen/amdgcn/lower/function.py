"""The whole kernel as LLVM IR text: entry, prologue, loop, epilogue, store of C.

``kernel_ir(plan)`` follows the consumption protocol of the document: the stagger barrier in front
of its prologue entry, the barrier after the prologue, ``trips`` iterations, the drain before the
epilogue, tail barriers. The loop tests its trip count before it is entered, so K may be as short
as the prologue.
"""

from collections.abc import Sequence

from warploom.codegen.amdgcn.lower.addresses import emit_entry
from warploom.codegen.amdgcn.lower.attributes import METADATA, attributes
from warploom.codegen.amdgcn.lower.pointwise import IrText
from warploom.codegen.amdgcn.lower.state import (
    Machine,
    check_ragged,
    start_accumulators,
    wants_agprs,
)
from warploom.codegen.amdgcn.lower.store import emit_store
from warploom.codegen.amdgcn.lower.table import (
    emit_barrier,
    emit_stagger,
    emit_tail_barriers,
    emit_wait,
    lower_op,
)
from warploom.codegen.amdgcn.plan import KernelPlan, Slot
from warploom.codegen.amdgcn.tile import GemmTile, waves_per_simd
from warploom.ir.schedule_ops import OpRole, Phase, ScheduleEntry

KERNEL_NAME = "warploom_gemm"
_KINDS = {"pointer": "ptr addrspace(1) noalias", "i32": "i32", "f32": "float"}


def module_text(
    arguments: Sequence[tuple[str, str]],
    lds: Sequence[int],
    tile: GemmTile,
    body: list[str],
    *,
    agprs: bool,
    grid: int = 2,
    name: str = KERNEL_NAME,
) -> str:
    """The module with ``body`` as the kernel's instructions, and LDS of each channel's bytes.

    ``agprs``: the upper half of the register file is used; ``grid``: its dimensions.
    """
    parts = ['target triple = "amdgcn-amd-amdhsa"']
    for size, letter in zip(lds, "abc", strict=False):
        parts.append(
            f"@lds_{letter} = internal addrspace(3) global [{size} x i8] poison, align 1024"
        )
    given = ", ".join(f"{_KINDS[kind]} %{argument}" for argument, kind in arguments)
    parts.append(f"define amdgpu_kernel void @{name}({given}) #0 {{")
    parts.append("entry:")
    parts += body
    parts.append("}")
    parts.append(attributes(tile.threads, waves_per_simd(tile), agprs=agprs, grid=grid))
    return "\n".join(parts) + METADATA  # LLVM declares the intrinsics it knows by itself


Values = dict[tuple[object, ...], tuple[str, str]]  # register -> (LLVM type, SSA name)


def kernel_ir(plan: KernelPlan) -> str:
    """LLVM IR of the kernel."""
    if plan.ragged_k:
        check_ragged(plan)
    text = IrText()
    machine = Machine(text, plan)
    emit_entry(text, plan)
    _prologue(machine)
    leaving = _exposed(plan, plan.document.epilogue)
    written = {slot for e in plan.document.kernel for slot in plan.defines(e.op)}
    before = _live_values(machine, _exposed(plan, plan.document.kernel) | (leaving - written))
    after = _loop(machine, before)
    _join(machine, leaving, before, after)
    _epilogue(machine)
    emit_store(text, plan, machine.accumulators)
    lds = tuple(plan.channel_lds_bytes(c) for c in (0, 1))
    return module_text(plan.arguments, lds, plan.tile, text.lines, agprs=wants_agprs(plan))


def _prologue(machine: Machine) -> None:
    document = machine.plan.document
    protocol = document.protocol
    machine.enter(Phase.PROLOGUE, "0")
    first_wait = next(
        (i for i, e in enumerate(document.prologue) if e.op.role is not OpRole.GLOBAL_LOAD),
        len(document.prologue),
    )
    for index in range(len(document.prologue) + 1):
        if index == first_wait:
            start_accumulators(machine)  # after the first loads, which hide it
        if index == protocol.stagger_index:
            emit_stagger(machine, "%group")
        if index < len(document.prologue):
            lower_op(machine, document.prologue[index].op)
    if protocol.barrier_after_prologue:
        emit_barrier(machine)


def _loop(machine: Machine, before: Values) -> Values:
    """The loop; returns the values of all registers after its last iteration."""
    text, document = machine.text, machine.plan.document
    protocol, row_bytes = document.protocol, machine.plan.tile.row_bytes
    machine.pin()
    text.add("br label %guard")
    text.label("guard")
    text.add("%enter = icmp sgt i32 %trips, 0")
    text.add("br i1 %enter, label %loop, label %drain")
    text.label("loop")
    phis_at = len(text.lines)
    inside = _rename(machine, before, "loop")
    machine.enter(Phase.KERNEL, "%k_now")
    for entry in document.kernel:
        lower_op(machine, entry.op)
    machine.pin()
    text.add(f"%k_next = add i32 %k_now, {protocol.k_tiles_per_iteration * row_bytes}")
    text.add("%trip_next = add i32 %trip, 1")
    text.add("%again = icmp slt i32 %trip_next, %trips")
    text.add("br i1 %again, label %loop, label %drain")
    after = _all_values(machine)
    phis = [
        f"  %k_now = phi i32 [ {protocol.kernel_k_base * row_bytes}, %guard ], [ %k_next, %loop ]",
        "  %trip = phi i32 [ 0, %guard ], [ %trip_next, %loop ]",
    ]
    for key, (kind, name) in inside.items():
        phis.append(
            f"  {name} = phi {kind} [ {before[key][1]}, %guard ], [ {after[key][1]}, %loop ]"
        )
    text.lines[phis_at:phis_at] = phis
    return after


def _join(machine: Machine, live: set[Slot], before: Values, after: Values) -> None:
    """Values after the loop: from the prologue when it ran no iteration, else from the loop."""
    machine.text.label("drain")
    wanted = {k: v for k, v in after.items() if k[0] == "accumulator" or _slot(k) in live}
    _restore(machine, {})
    for key, (kind, name) in wanted.items():
        from_prologue = before[key][1] if key in before else "poison"
        joined = machine.text.value(
            f"phi {kind} [ {from_prologue}, %guard ], [ {name}, %loop ]", f"end_{_word(key)}"
        )
        _set(machine, key, joined)


def _epilogue(machine: Machine) -> None:
    document = machine.plan.document
    protocol = document.protocol
    machine.enter(Phase.EPILOGUE, "%k_end")
    machine.unused.clear()
    if protocol.epilogue_drain:
        emit_wait(machine, vm=0, lgkm=0)
        emit_barrier(machine)
    for entry in document.epilogue:
        lower_op(machine, entry.op)
    emit_tail_barriers(machine, "%group")
    _keep_unused(machine)
    machine.settle(16, 4)
    machine.pin()


def _keep_unused(machine: Machine) -> None:
    """A read no MMA consumes still counts in the waits, so it must stay in the code.

    An empty assembly statement uses its register, after a wait of our own: otherwise LLVM would
    put one there.
    """
    if not machine.unused:
        return
    emit_wait(machine, lgkm=0)
    machine.pin()
    for name, kind in machine.unused.items():
        machine.text.add(f'call void asm sideeffect "", "v"({kind} {name})')


# Registers as one flat mapping, for the phis.


def _all_values(machine: Machine) -> Values:
    values: Values = {}
    for key, name in machine.accumulators.items():
        values["accumulator", *key] = (machine.accumulator_type, name)
    for fragment, name in machine.fragments.items():
        values["fragment", *fragment] = (machine.fragment_type(fragment), name)
    for load, name in machine.staged.items():
        values["staged", *load] = ("<4 x i32>", name)
    return values


def _exposed(plan: KernelPlan, entries: tuple[ScheduleEntry, ...]) -> set[Slot]:
    """The registers a phase uses before it fills them again: only these get a phi."""
    exposed: set[Slot] = set()
    written: set[Slot] = set()
    for entry in entries:
        exposed |= set(plan.uses(entry.op)) - written
        written |= set(plan.defines(entry.op))
    return exposed


def _live_values(machine: Machine, live: set[Slot]) -> Values:
    return {
        key: value
        for key, value in _all_values(machine).items()
        if key[0] == "accumulator" or _slot(key) in live
    }


def _slot(key: tuple[object, ...]) -> object:
    return (key[0], key[1], key[2]) if key[0] == "fragment" else (key[0], key[1], 0)


def _rename(machine: Machine, values: Values, prefix: str) -> Values:
    renamed = {key: (kind, f"%{prefix}_{_word(key)}") for key, (kind, _) in values.items()}
    _restore(machine, renamed)
    return renamed


def _restore(machine: Machine, values: Values) -> None:
    machine.accumulators.clear()
    machine.fragments.clear()
    machine.staged.clear()
    for key, (_, name) in values.items():
        _set(machine, key, name)


def _set(machine: Machine, key: tuple[object, ...], name: str) -> None:
    target: dict[tuple[object, ...], str] = {
        "accumulator": machine.accumulators,
        "fragment": machine.fragments,
        "staged": machine.staged,
    }[str(key[0])]  # type: ignore[assignment]
    target[key[1:]] = name


def _word(key: tuple[object, ...]) -> str:
    return "_".join(str(part) for part in key)
