"""The module of a schedule, where its documents say nothing else than it."""

from __future__ import annotations

from dataclasses import replace

from warploom.errors import BackendError
from warploom.ir.dataflow import Exchange
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.module import KernelModule
from warploom.ir.roles_document import roles_documents
from warploom.ir.tile import Kernel
from warploom.passes.build_module import build_module
from warploom.passes.cross_cta import exchanges_of
from warploom.passes.driver import Lowered
from warploom.verify.coverage.effects import verify_effects
from warploom.verify.coverage.report import Finding


def stated_module(source: Kernel, lowered: Lowered) -> KernelModule:
    """The module of a kernel with its documents; ``BackendError`` where a document says something
    that the module does not: code is printed from the module alone. ``source``: the author's
    kernel, before any pass.
    """
    for part in (*lowered.earlier, lowered):
        _refuse_other_exchanges(part.document, exchanges_of(part.layout))
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


def _refuse_other_exchanges(document: RolesDocument, derived: tuple[Exchange, ...]) -> None:
    """``BackendError`` where CTAs meet elsewhere, or share and order tiles otherwise, than the
    kernel does: only the steps are emitted from the document.
    """
    mine, right = ([replace(x, steps=()) for x in xs] for xs in (document.exchanges, derived))
    if mine != right:
        raise BackendError(
            f"CTAs meet otherwise in document {document.name!r} than in the kernel",
            why="ops, parts and the order of tiles are emitted as the kernel has them",
            fix="; ".join(str(x) for x in right) or "no exchanges",
        )
