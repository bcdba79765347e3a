"""A kernel as readable HIP C++, with each wait's reason, and its check where a compiler is found.

Counted over the program with two loop iterations, so that the loop's notes are those of its steady
state; where the schedule's own reasons are known, they are better and take precedence.

The body lists the schedule entry by entry, in order, each wait with its reason. One LDS array per
slot tells the compiler which loads and reads may meet; a fence after every step keeps the order
through the optimiser. Whether a compiler kept it is for the ISA gate to say.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from warploom.codegen.amdgcn.hip.template import preamble
from warploom.codegen.amdgcn.isa_check import GateReport, check_isa
from warploom.codegen.amdgcn.lower.function import KERNEL_NAME
from warploom.codegen.amdgcn.lower.table import encode_wait
from warploom.codegen.amdgcn.plan import KernelPlan, Movement
from warploom.codegen.amdgcn.tile import waves_per_simd
from warploom.codegen.amdgcn.toolchain import find_zig
from warploom.errors import BackendError
from warploom.ir import BarrierKind
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, OpRole, Phase, ScheduleOps

Place = tuple[Phase, int]


def wait_notes(
    plan: KernelPlan, reasons: Iterable[tuple[Phase, int, str]] = ()
) -> Mapping[Place, str]:
    """A comment for every wait, and for every barrier that has a reason."""
    notes = dict(_counted(plan)) if plan.movement is Movement.DMA else {}
    notes.update({(phase, index): _without_place(text) for phase, index, text in reasons})
    return notes


def _without_place(text: str) -> str:
    """``K[3] vm(6): why`` without its place, which the source shows already."""
    head, _, tail = text.partition(": ")
    return tail if head.endswith(("]", ")")) or "[" in head else text


def _counted(plan: KernelPlan) -> Iterable[tuple[Place, str]]:
    queues: dict[int, list[str]] = {ScheduleOps.WAIT_VM: [], ScheduleOps.WAIT_LGKM: []}
    found: dict[Place, str] = {}
    for phase in (Phase.PROLOGUE, Phase.KERNEL, Phase.KERNEL, Phase.EPILOGUE):
        for index, entry in enumerate(plan.document.phase(phase)):
            op = entry.op
            if op.tag in queues:
                queue = queues[int(op.tag)]
                cut = max(0, len(queue) - op.wait_value)
                found[phase, index] = _sentence(queue[:cut], queue[cut:])
                del queue[:cut]
            else:
                queues[ScheduleOps.WAIT_VM] += [op.label()] * _units(plan, op, OpRole.GLOBAL_LOAD)
                queues[ScheduleOps.WAIT_LGKM] += [op.label()] * _units(
                    plan, op, OpRole.FRAGMENT_LOAD
                )
    return found.items()


def _units(plan: KernelPlan, op: OpDesc, role: OpRole) -> int:
    if op.role is not role:
        return 0
    counters = plan.document.counters
    units = counters.vm_per_load if role is OpRole.GLOBAL_LOAD else counters.lgkm_per_load
    return units[plan.channel(op)]


def _sentence(done: list[str], left: list[str]) -> str:
    names = ", ".join(dict.fromkeys(done)) or "nothing new"
    flying = ", ".join(dict.fromkeys(left)) or "nothing"
    return f"completes {names}; {len(left)} units may stay in flight ({flying})"


WIDTH = 34


def hip_source(plan: KernelPlan, reasons: Iterable[tuple[Phase, int, str]] = ()) -> str:
    """The kernel's source text. Tails of tile kernels go through the LLVM back end only."""
    if plan.tile.element.scaled:
        raise BackendError(
            f"the HIP export does not write {plan.tile.element.value}",
            where=plan.tile.label(),
            fix="leave --hip out: the code object has the scaled matrix instructions",
        )
    if plan.text is not None or plan.ragged_k:
        raise BackendError(
            "the HIP export writes plain products of whole K-tiles",
            where=f"kernel {plan.text.kernel.name}" if plan.text else plan.tile.label(),
            fix="leave --hip out: the code object has the tail and takes any K",
        )
    if plan.movement is Movement.STAGED and not plan.joint:
        raise BackendError(
            "the HIP export stages A and B together",
            where=f"schedule {plan.document.name!r}",
            fix="leave --hip out, or use SingleBufferSchedule",
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


FLAGS = (
    "-x",
    "hip",
    "--cuda-device-only",
    "--offload-arch=gfx950",
    "-nogpulib",
    "-nogpuinc",
    "-std=c++17",
    "-fno-discard-value-names",  # so that the metadata names the arguments
    "-O3",
    "-S",
)


@dataclass(frozen=True, slots=True)
class HipCompiler:
    """A clang that can compile HIP for gfx950."""

    command: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HipCheck:
    """What the compiler made of the source, and whether it kept the schedule."""

    compiler: str
    assembly: str
    gate: GateReport


def find_hip_compiler() -> HipCompiler | None:
    """ROCm's clang, or the one inside the ziglang package."""
    for path in ("/opt/rocm/llvm/bin/clang++", "amdclang++"):
        found = shutil.which(path)
        if found:
            return HipCompiler((found,), path)
    zig = find_zig()
    return HipCompiler((str(zig), "clang"), "zig clang") if zig else None


def check_hip(plan: KernelPlan, source: str, compiler: HipCompiler | None = None) -> HipCheck:
    """Compile and gate. Raises ``BackendError`` when the source does not compile."""
    compiler = compiler or find_hip_compiler()
    if compiler is None:
        raise BackendError(
            "no clang for gfx950 was found",
            fix="install ROCm, or the Python package ziglang, whose clang can compile HIP",
        )
    with tempfile.TemporaryDirectory() as folder:
        text, assembly = Path(folder, "kernel.hip"), Path(folder, "kernel.s")
        text.write_text(source)
        command = [*compiler.command, *FLAGS, str(text), "-o", str(assembly)]
        done = subprocess.run(command, capture_output=True, timeout=300, check=False)
        if done.returncode or not assembly.exists():
            message = done.stderr.decode(errors="replace").strip()
            raise BackendError(f"{compiler.name} refused the source: {message[:1500]}")
        result = assembly.read_text()
    return HipCheck(compiler=compiler.name, assembly=result, gate=check_isa(plan, result))
