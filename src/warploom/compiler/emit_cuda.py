"""From a schedule to CUDA source: its kernel module, and what code generation prints of it."""

from __future__ import annotations

from dataclasses import replace

from warploom.codegen.cuda.legality import refuse_other_exchanges
from warploom.codegen.cuda.tile.source import Source, emit_pipelined
from warploom.errors import BackendError
from warploom.ir.module import KernelModule
from warploom.ir.roles_document import roles_documents
from warploom.ir.tile import Kernel
from warploom.passes.build_module import build_module
from warploom.passes.cross_cta import exchanges_of
from warploom.passes.driver import Lowered
from warploom.targets.h200 import HopperTarget
from warploom.verify.coverage.effects import verify_effects
from warploom.verify.coverage.report import Finding


def emit_kernel(
    lowered: Lowered,
    target: HopperTarget | None = None,
    *,
    stamps: bool = False,
    marks: bool = False,
) -> Source:
    """The CUDA source of a scheduled kernel, by way of its module."""
    module = stated_module(lowered.kernel, lowered)
    return emit_pipelined(module, target, stamps=stamps, marks=marks)


def stated_module(source: Kernel, lowered: Lowered) -> KernelModule:
    """The module of a kernel with its documents; ``BackendError`` where a document says something
    that the module does not: code is printed from the module alone. ``source``: the author's
    kernel, before any pass.
    """
    for part in (*lowered.earlier, lowered):
        refuse_other_exchanges(part.document, exchanges_of(part.layout))
    where = f"document {lowered.document.name!r}"
    try:
        module = build_module(source, lowered)
    except (LookupError, StopIteration, ValueError) as error:
        raise BackendError(
            "an entry has other operands than the kernel's",
            where=where,
            why=f"its operation cannot be built: {error}",
            fix="give it the operands of the derived programs (warploom repair)",
        ) from error
    stated = [replace(d, costs=None, machine=()) for d in lowered.documents]  # figures of the chip
    said = next((x for x in verify_effects(module) if isinstance(x, Finding)), None)
    if said is None and list(roles_documents(module)) == stated:
        return module
    raise BackendError(
        f"{said.where}: {said.what}"
        if said
        else "other operands, roles or memory: not the kernel's",
        where=where,
        why="its code is made from the kernel's module, and is verified for what it declares",
        fix="give it the operands of the derived programs (warploom repair)",
    )
