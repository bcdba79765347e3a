"""``emit_kernel``: a schedule document and a tile become a checked gfx950 kernel.

Counted from the assembly, not from the schedule: matrix cycles, instruction issue, LDS and memory
traffic. The busiest unit bounds the loop; the matrix unit's share of it is the efficiency the code
can reach at best. Latencies, waits and cache misses are not in it: the simulator has those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from warploom.document import ScheduleDocument, write_schedule
from warploom.emit.gfx950.gate import Gated, GateReport, check_isa
from warploom.emit.gfx950.isa import Assembly, Instruction, Resources, parse_assembly
from warploom.emit.gfx950.lower.function import kernel_ir
from warploom.emit.gfx950.plan import KernelPlan, plan_kernel
from warploom.emit.gfx950.registers import require_registers
from warploom.emit.gfx950.sidecar import sidecar, sidecar_text
from warploom.emit.gfx950.text import GemmText
from warploom.emit.gfx950.tile import GemmTile, waves_per_simd
from warploom.emit.gfx950.toolchain import compile_ir, compile_object, find_linker, link_code_object
from warploom.errors import BackendError
from warploom.target.mi355x import WAVE_BYTES, mi355x


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
    found: tuple[Instruction, ...] = ()
    for at, instruction in enumerate(assembly.instructions):
        if instruction.mnemonic.startswith(("s_cbranch", "s_branch")):
            start = assembly.branch_target(instruction)
            if start <= at and at - start >= len(found):
                found = assembly.instructions[start : at + 1]
    if not found:
        raise BackendError("the kernel has no loop", where=assembly.name)
    return found


def _kind(instruction: Instruction) -> str:
    if instruction.mnemonic.startswith("v_mfma"):
        return "mfma"
    if instruction.mnemonic.startswith("buffer_load"):
        return "dma" if "lds" in instruction.modifiers else "load"
    return instruction.mnemonic


def _issue(instruction: Instruction) -> int:
    """Issue slots of one wave: one, or as many as an ``s_nop`` says."""
    if instruction.mnemonic == "s_nop":
        return int(instruction.operands[0], 0) + 1
    return 1


P = TypeVar("P", bound=Gated)
P_co = TypeVar("P_co", bound=Gated, covariant=True)


@dataclass(frozen=True, kw_only=True)
class EmittedKernel(Generic[P_co]):
    """A kernel as IR and assembly. ``gate`` is exact unless the caller asked not to insist."""

    plan: P_co
    ir: str
    assembly: str
    gate: GateReport
    sidecar: dict[str, Any]


def emit_kernel(
    document: ScheduleDocument,
    tile: GemmTile,
    *,
    text: GemmText | None = None,
    ragged_k: bool = False,
    insist: bool = True,
) -> EmittedKernel[KernelPlan]:
    """Emit, compile and check. ``insist=False`` returns a kernel that fails the gate, too.

    ``text``: the tile kernel whose tail is applied to the product; ``ragged_k``: any K of whole
    16-byte chunks.
    """
    plan = plan_kernel(document, tile, text=text, ragged_k=ragged_k)
    return compiled(plan, kernel_ir, sidecar, require_registers if insist else None)


def compiled(
    plan: P,
    ir_of: Callable[[P], str],
    described: Callable[[P, Resources, dict[str, str]], dict[str, Any]],
    require: Callable[[P, Resources], None] | None,
) -> EmittedKernel[P]:
    """The kernel of a plan, compiled and gated; with ``require`` it must fit and be exact."""
    document = plan.document
    if document.machine is not None:
        document.machine.require_storage(plan.lds_bytes, f"kernel {document.name}")
    ir = ir_of(plan)
    made = compile_ir(ir)
    gate = check_isa(plan, made.assembly)
    if require is not None:
        require(plan, gate.resources)
        gate.require()
    return EmittedKernel(
        plan=plan,
        ir=ir,
        assembly=made.assembly,
        gate=gate,
        sidecar=described(plan, gate.resources, {"llvm": made.llvm, "llvmlite": made.llvmlite}),
    )


def write_kernel(
    kernel: EmittedKernel[Gated], folder: Path, stem: str = "kernel"
) -> tuple[Path, ...]:
    """Write every form beside each other; the linked code object only when an lld is found."""
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, bytes] = {
        "ll": kernel.ir.encode(),
        "s": kernel.assembly.encode(),
        "o": compile_object(kernel.ir),
        "json": sidecar_text(kernel.sidecar).encode(),
        "schedule.json": write_schedule(kernel.plan.document).encode(),
    }
    linker = find_linker()
    if linker is not None:
        parts["hsaco"] = link_code_object(parts["o"], linker)
    paths = []
    for suffix, data in parts.items():
        path = folder / f"{stem}.{suffix}"
        path.write_bytes(data)
        paths.append(path)
    return tuple(paths)
