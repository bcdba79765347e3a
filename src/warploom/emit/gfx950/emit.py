"""``emit_kernel``: a schedule document and a tile become a checked gfx950 kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from warploom.document import ScheduleDocument, write_schedule
from warploom.emit.gfx950.gate import Gated, GateReport, check_isa
from warploom.emit.gfx950.isa import Resources
from warploom.emit.gfx950.lower.function import kernel_ir
from warploom.emit.gfx950.plan import KernelPlan, plan_kernel
from warploom.emit.gfx950.registers import require_registers
from warploom.emit.gfx950.sidecar import sidecar, sidecar_text
from warploom.emit.gfx950.text import GemmText
from warploom.emit.gfx950.tile import GemmTile
from warploom.emit.gfx950.toolchain import compile_ir, compile_object, find_linker, link_code_object

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
