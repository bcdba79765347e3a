"""``emit_kernel``: a schedule and a tile become a checked kernel; ready-made ones; an estimate.

Counted from the assembly, not from the schedule: matrix cycles, instruction issue, LDS and memory
traffic. The busiest unit bounds the loop; the matrix unit's share of it is the efficiency the code
can reach at best. Latencies, waits and cache misses are not in it: the simulator has those.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Generic, TypeVar

from warploom.codegen.amdgcn.isa import Assembly, Instruction, Resources, parse_assembly
from warploom.codegen.amdgcn.isa_check import Gated, GateReport, check_isa
from warploom.codegen.amdgcn.lower.function import kernel_ir
from warploom.codegen.amdgcn.lower.state import may_write_out, writes_out
from warploom.codegen.amdgcn.plan import KernelPlan, plan_kernel
from warploom.codegen.amdgcn.sidecar import require_registers, sidecar, sidecar_text
from warploom.codegen.amdgcn.tile import (
    ElementType,
    GemmTile,
    gemm_tile,
    tile_of_geometry,
    waves_per_simd,
)
from warploom.codegen.amdgcn.tile_kernel import GemmTileKernel
from warploom.codegen.amdgcn.toolchain import (
    compile_ir,
    compile_object,
    find_linker,
    link_code_object,
    require_assembler,
)
from warploom.errors import BackendError, ConfigError
from warploom.ir import ScheduleDocument, write_schedule
from warploom.ir.counter_dialect import Queue
from warploom.ir.schedule_ops import Phase, ScheduleOps
from warploom.pipeline.compile import OnRace, compile_schedule
from warploom.pipeline.schedule import PipelineSchedule
from warploom.pipeline.schedules.shipped import SCHEDULES, shipped, single_buffer
from warploom.pipeline.sync.marks import SyncPolicy
from warploom.targets.mi355x import WAVE_BYTES, mi355x

Block = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyKernel:
    """A shipped schedule compiled for a tile; ``reasons`` says why a wait or barrier is there."""

    document: ScheduleDocument
    tile: GemmTile
    reasons: tuple[tuple[Phase, int, str], ...]


def ready_kernel(
    schedule: str,
    block: Block,
    element: ElementType,
    *,
    mma: Block | None = None,
    sync: SyncPolicy | None = None,
    on_race: OnRace = "raise",
) -> ReadyKernel:
    """Compile a shipped schedule for a tile. ``sync`` and ``on_race`` as in compiling."""
    if schedule not in SCHEDULES:
        near = get_close_matches(schedule, SCHEDULES, 1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        raise ConfigError(
            f"no schedule {schedule!r}", fix=f"{guess}known schedules: {', '.join(SCHEDULES)}"
        )
    source, tile = _source(schedule, block, element, mma)
    compiled = compile_schedule(source, sync=sync, on_race=on_race)
    if sync is None and not _encodable(compiled.document()):
        # The documented rules count further than the hardware; derived waits do not.
        compiled = compile_schedule(source, sync=SyncPolicy.PROVEN_WEAKEST, on_race=on_race)
    reasons = tuple((r.phase, r.index, r.text) for r in compiled.reasons)
    return ReadyKernel(document=compiled.document(), tile=tile, reasons=reasons)


def _encodable(document: ScheduleDocument) -> bool:
    """Whether every wait count of a schedule fits its counter."""
    largest = {ScheduleOps.WAIT_VM: Queue.VM, ScheduleOps.WAIT_LGKM: Queue.LGKM}
    return all(
        e.op.wait_value <= largest[ScheduleOps(e.op.tag)].largest_wait
        for phase in Phase
        for e in document.phase(phase)
        if e.op.tag in (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM)
    )


def _source(
    schedule: str, block: Block, element: ElementType, mma: Block | None
) -> tuple[PipelineSchedule, GemmTile]:
    if schedule == "single_buffer":
        own = single_buffer(block, element.value, mma)
        assert own.shape is not None
        return own, gemm_tile(*block, element, mma=own.shape.mma, waves=(2, 2))
    source, geometry = shipped(schedule, block, element.value, mma=mma)
    return source, tile_of_geometry(geometry, element, (2, 2 if schedule == "fourwave" else 4))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEstimate:
    """Busy cycles of one loop iteration on one compute unit, per unit."""

    matrix: int
    issue: int
    lds: int
    memory: int
    flops: int
    instructions: tuple[tuple[str, int], ...]

    @property
    def bound(self) -> int:
        """Cycles of the busiest unit."""
        return max(self.matrix, self.issue, self.lds, self.memory)

    @property
    def limited_by(self) -> str:
        """The unit that is busiest."""
        return max(("matrix", "issue", "lds", "memory"), key=lambda name: int(getattr(self, name)))

    @property
    def efficiency(self) -> float:
        """Matrix cycles over the bound: 1.0 means nothing but the matrix unit limits the loop."""
        return self.matrix / self.bound

    def tflops(self, cycles: float | None = None) -> float:
        """TFLOP/s of the whole chip with ``cycles`` an iteration (by default the bound)."""
        chip = mi355x()
        return self.flops / (cycles or self.bound) * chip.compute_units * chip.clock_hz / 1e12

    def text(self) -> str:
        """A small table."""
        rows = [f"{name:>8} {getattr(self, name):>7} cycles" for name in _UNITS]
        return "\n".join(
            [
                *rows,
                f"bound by {self.limited_by}: {self.bound} cycles an iteration, "
                f"{self.efficiency:.1%} of the matrix bound, {self.tflops():.0f} TFLOP/s at best",
            ]
        )


_UNITS = ("matrix", "issue", "lds", "memory")


def estimate_loop(tile: GemmTile, assembly_text: str) -> LoopEstimate:
    """Estimate the loop of an emitted kernel."""
    loop = _loop(parse_assembly(assembly_text))
    counts = Counter(_kind(instruction) for instruction in loop)
    waves, per_simd, chip = tile.waves, waves_per_simd(tile), mi355x()
    reads = counts["ds_read_b128"] + counts["ds_write_b128"]
    dmas, loads = counts["dma"], counts["load"]
    return LoopEstimate(
        matrix=counts["mfma"] * tile.mfma.cycles * per_simd,
        issue=sum(_issue(instruction) for instruction in loop) * chip.issue,
        lds=(reads + dmas) * waves * WAVE_BYTES // chip.lds_rate,
        memory=(dmas + loads) * waves * WAVE_BYTES // chip.memory_rate,
        flops=counts["mfma"] * tile.mfma.flops * waves,
        instructions=tuple(sorted(Counter(i.mnemonic for i in loop).items())),
    )


def _loop(assembly: Assembly) -> tuple[Instruction, ...]:
    """The largest stretch of code a branch jumps back over."""
    result: tuple[Instruction, ...] = ()
    for at, instruction in enumerate(assembly.instructions):
        if instruction.mnemonic.startswith(("s_cbranch", "s_branch")):
            start = assembly.branch_target(instruction)
            if start <= at and at - start >= len(result):
                result = assembly.instructions[start : at + 1]
    if not result:
        raise BackendError("the kernel has no loop", where=assembly.name)
    return result


def _kind(instruction: Instruction) -> str:
    if instruction.mnemonic.startswith("v_mfma"):
        return "mfma"
    if instruction.mnemonic.startswith("buffer_load"):
        return "dma" if "lds" in instruction.modifiers else "load"
    return instruction.mnemonic


def _issue(instruction: Instruction) -> int:
    """Issue slots of one wave: one, or as many as an ``s_nop`` says."""
    return int(instruction.operands[0], 0) + 1 if instruction.mnemonic == "s_nop" else 1


P = TypeVar("P", bound=Gated)
P_co = TypeVar("P_co", bound=Gated, covariant=True)


@dataclass(frozen=True, kw_only=True)
class EmittedKernel(Generic[P_co]):
    """A kernel as IR and assembly. ``gate`` is exact unless the caller asked not to insist;
    ``code`` is the object, where LLVM wrote it beside the text.
    """

    plan: P_co
    ir: str
    written_out: bool  # whether instructions stand in it as assembly
    assembly: str
    gate: GateReport
    sidecar: dict[str, Any]
    code: bytes | None = None


def emit_kernel(
    document: ScheduleDocument,
    tile: GemmTile,
    *,
    text: GemmTileKernel | None = None,
    ragged_k: bool = False,
    insist: bool = True,
    to_object: bool = False,
) -> EmittedKernel[KernelPlan]:
    """Emit, compile and check. ``insist=False`` returns a kernel that fails the gate, too.

    ``text``: the tile kernel whose tail is applied to the product; ``ragged_k``: any K of whole
    16-byte chunks. ``to_object``: refuse a kernel whose object cannot be written here before
    anything is compiled.

    Where LLVM spills because it moves accumulators, the matrix instructions are written out with
    the accumulator in place.
    """
    plan = plan_kernel(document, tile, text=text, ragged_k=ragged_k)
    if to_object and writes_out(plan):
        require_assembler()
    done = compiled(
        plan, kernel_ir, sidecar, None, written_out=writes_out(plan), to_object=to_object
    )
    if done.gate.resources.spills and may_write_out(plan) and not writes_out(plan):
        if to_object:
            require_assembler()
        plan = replace(plan, written_out=True)
        done = compiled(
            plan, kernel_ir, sidecar, None, written_out=writes_out(plan), to_object=to_object
        )
    if insist:
        require_registers(plan, done.gate.resources)
        done.gate.require()
    return done


def compiled(
    plan: P,
    ir_of: Callable[[P], str],
    described: Callable[[P, Resources, dict[str, str]], dict[str, Any]],
    require: Callable[[P, Resources], None] | None,
    *,
    written_out: bool,
    to_object: bool = False,
) -> EmittedKernel[P]:
    """The kernel of a plan, compiled and gated; with ``require`` it must fit and be exact."""
    document = plan.document
    if document.machine is not None:
        document.machine.require_storage(plan.lds_bytes, f"kernel {document.name}")
    ir = ir_of(plan)
    made = compile_ir(ir, to_object=to_object and not written_out)
    gate = check_isa(plan, made.assembly)
    if require is not None:
        require(plan, gate.resources)
        gate.require()
    return EmittedKernel(
        plan=plan,
        ir=ir,
        written_out=written_out,
        assembly=made.assembly,
        gate=gate,
        sidecar=described(plan, gate.resources, {"llvm": made.llvm, "llvmlite": made.llvmlite}),
        code=made.code,
    )


def write_kernel(kernel: EmittedKernel[Gated], folder: Path) -> tuple[Path, ...]:
    """Write every form beside each other; the linked code object only when an lld is found."""
    if kernel.written_out:
        require_assembler()
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, bytes] = {
        "ll": kernel.ir.encode(),
        "s": kernel.assembly.encode(),
        "o": kernel.code
        or compile_object(kernel.ir, kernel.assembly, written_out=kernel.written_out),
        "json": sidecar_text(kernel.sidecar).encode(),
        "schedule.json": write_schedule(kernel.plan.document).encode(),
    }
    linker = find_linker()
    if linker is not None:
        parts["hsaco"] = link_code_object(parts["o"], linker)
    paths = []
    for suffix, data in parts.items():
        path = folder / f"kernel.{suffix}"
        path.write_bytes(data)
        paths.append(path)
    return tuple(paths)
