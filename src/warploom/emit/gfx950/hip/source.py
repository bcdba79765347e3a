"""``hip_source``: a kernel as one self-contained HIP C++ file.

The body lists the schedule entry by entry, in order, each wait with its reason. One LDS array per
slot tells the compiler which loads and reads may meet; a fence after every step keeps the order
through the optimiser. Whether a compiler kept it is for the ISA gate to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from warploom.document import BarrierKind
from warploom.document.kinds import KOffsetKind, OpRole, Phase, ScheduleOps
from warploom.document.ops import OpDesc
from warploom.emit.gfx950.hip.notes import Place, wait_notes
from warploom.emit.gfx950.hip.template import preamble
from warploom.emit.gfx950.lower.module import KERNEL_NAME
from warploom.emit.gfx950.lower.waits import encode_wait
from warploom.emit.gfx950.plan import KernelPlan, Movement
from warploom.emit.gfx950.tile import waves_per_simd
from warploom.errors import BackendError

WIDTH = 34


def hip_source(plan: KernelPlan, reasons: Iterable[tuple[Phase, int, str]] = ()) -> str:
    """The kernel's source text. Tails of tile kernels go through the LLVM back end only."""
    if plan.text is not None or plan.ragged_k:
        raise BackendError(
            "the HIP export writes plain products of whole K-tiles",
            where=f"kernel {plan.text.kernel.name}" if plan.text else plan.tile.label(),
            fix="leave --hip out: the code object has the tail and takes any K",
        )
    return "\n".join([preamble(plan), *_kernel(plan, wait_notes(plan, reasons)), ""])


def _kernel(plan: KernelPlan, notes: Mapping[Place, str]) -> list[str]:
    protocol, tile = plan.document.protocol, plan.tile
    lines = [
        f'extern "C" __global__ __launch_bounds__({tile.threads}, {waves_per_simd(tile)})',
        f"void {KERNEL_NAME}(const void *mat_a, const void *mat_b, void *mat_c,",
        f"{'':>{len(KERNEL_NAME) + 6}}unsigned dim_m, unsigned dim_n, unsigned dim_k) {{",
        "  Wave w;",
        "  w.setup(mat_a, mat_b, mat_c, dim_m, dim_n, dim_k);",
        "",
        "  // ---- prologue ----",
        "  unsigned k = 0;  // bytes along K",
    ]
    lines += _prologue(plan, notes)
    step = protocol.k_tiles_per_iteration * tile.row_bytes
    lines += [
        "",
        "  // ---- loop ----",
        f"  k = {protocol.kernel_k_base * tile.row_bytes};",
        "#pragma clang loop unroll(disable)",
        f"  for (int trip = 0; trip < w.trips; ++trip, k += {step}) {{",
        *_phase(plan, Phase.KERNEL, notes, "    "),
        "  }",
        "",
        "  // ---- epilogue ----",
        "  k = w.row_pitch;",
    ]
    if protocol.epilogue_drain:
        lines += [_wait("  ", 0, 0, "drain before the epilogue"), "  barrier();"]
    lines += _phase(plan, Phase.EPILOGUE, notes, "  ")
    for extra in range(1, max(protocol.tail_barriers) + 1):
        groups = [g for g, t in enumerate(protocol.tail_barriers) if t >= extra]
        lines.append(_guarded(groups, "even out the barriers of the wave groups"))
    if plan.unused_reads:
        lines.append(_wait("  ", None, 0, "reads no multiplication takes: counted, so kept"))
    lines += [f"  w.keep(w.frag_{'ab'[c]}[{index}]);" for c, index in plan.unused_reads]
    return [*lines, "  w.store();", "}"]


def _prologue(plan: KernelPlan, notes: Mapping[Place, str]) -> list[str]:
    document, protocol = plan.document, plan.document.protocol
    entries = document.prologue
    first_wait = next(
        (i for i, e in enumerate(entries) if e.op.role is not OpRole.GLOBAL_LOAD), len(entries)
    )
    lines: list[str] = []
    for index in range(len(entries) + 1):
        if index == first_wait:
            lines.append("  w.zero();")
        if index == protocol.stagger_index:
            for extra in range(1, protocol.groups):
                groups = [g for g in range(protocol.groups) if g >= extra]
                lines.append(_guarded(groups, "stagger: run one barrier behind"))
        if index < len(entries):
            lines += _entry(plan, Phase.PROLOGUE, index, entries[index].op, notes, "  ")
    if protocol.barrier_after_prologue:
        lines += _barrier(plan, "  ", "the prologue is complete")
    return lines


def _phase(plan: KernelPlan, phase: Phase, notes: Mapping[Place, str], indent: str) -> list[str]:
    return [
        line
        for index, entry in enumerate(plan.document.phase(phase))
        for line in _entry(plan, phase, index, entry.op, notes, indent)
    ]


def _entry(
    plan: KernelPlan, phase: Phase, index: int, op: OpDesc, notes: Mapping[Place, str], indent: str
) -> list[str]:
    note = notes.get((phase, index), "")
    match op.tag:
        case ScheduleOps.BARRIER:
            return _barrier(plan, indent, note)
        case ScheduleOps.WAIT_VM:
            return [_wait(indent, op.wait_value, None, note)]
        case ScheduleOps.WAIT_LGKM:
            return [_wait(indent, None, op.wait_value, note)]
        case ScheduleOps.SET_PRIO:
            return [f"{indent}priority<{op.wait_value}>();"]
        case ScheduleOps.SCHEDULE_BARRIER | ScheduleOps.SCHED_GROUP_BARRIER:
            return []
    return [f"{indent}{_call(plan, phase, op)}"]


def _call(plan: KernelPlan, phase: Phase, op: OpDesc) -> str:
    if plan.movement is Movement.STAGED:
        calls = {
            OpRole.SHARED_STORE: "w.store_to_lds();",
            OpRole.FRAGMENT_LOAD: f"w.read<{op.subtile}>();",
            OpRole.COMPUTE: f"w.multiply<{op.subtile}>();",
            OpRole.GLOBAL_LOAD: f"w.load({_k(plan, phase, op)});",
        }
        return calls[op.role]
    side = "ab"[plan.channel(op)] if op.role is not OpRole.COMPUTE else ""
    calls = {
        OpRole.GLOBAL_LOAD: f"w.load_{side}<{op.stage}, {op.subtile}>({_k(plan, phase, op)});",
        OpRole.FRAGMENT_LOAD: f"w.read_{side}<{op.stage}, {op.subtile}>();",
        OpRole.COMPUTE: f"w.multiply<{op.stage}, {op.subtile}>();",
    }
    return calls[op.role]


def _k(plan: KernelPlan, phase: Phase, op: OpDesc) -> str:
    if op.k_offset is KOffsetKind.NONE:
        return "w.next_tile()"
    offset = op.k_offset.signed_bk_multiple() * plan.tile.row_bytes
    return f"k {'+' if offset > 0 else '-'} {abs(offset)}" if offset else "k"


def _wait(indent: str, vm: int | None, lgkm: int | None, note: str) -> str:
    words = [f"vmcnt({vm})"] * (vm is not None) + [f"lgkmcnt({lgkm})"] * (lgkm is not None)
    call = f"{indent}wait<{encode_wait(vm=vm, lgkm=lgkm):#06x}>();"
    comment = " ".join(words) + (f": {note}" if note else "")
    return f"{call:<{WIDTH}}  // {comment}"


def _barrier(plan: KernelPlan, indent: str, note: str) -> list[str]:
    call = f"{indent}barrier();"
    line = f"{call:<{WIDTH}}  // {note}" if note else call
    if plan.document.protocol.barrier is BarrierKind.FENCING:
        return [_wait(indent, 0, 0, "a fencing barrier drains this wave's queues first"), line]
    return [line]


def _guarded(groups: list[int], note: str) -> str:
    mask = sum(1 << g for g in groups)
    return f"  if ({mask:#x}u >> w.group & 1) barrier();  // {note}"
