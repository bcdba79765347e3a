"""Outputs are not read: who stores an element, and when, is not ordered with who would read it.

The language has no such kernel (an output cannot be loaded), so a module of roles that reads one
is wrong. Of programs that all threads run it is left to execution: a thread may read what it stored
itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from warploom.ir import operations as ops
from warploom.ir.expr import Element
from warploom.ir.module import KernelModule
from warploom.ir.tile import Kernel, Load, walk
from warploom.ir.types import Access
from warploom.verify.coverage.report import Claim, Finding, How

READS = (ops.ThreadCopy, ops.LdsCopy, ops.VectorLoad, Element)


def verify_reads(module: KernelModule) -> Iterator[Claim | Finding]:
    """Whether a module, or the kernel in it, reads what it stores."""
    found = [*kernel_reads(module.kernel), *_role_reads(module)]
    yield from found
    if not found:
        yield Claim(
            what="no output is read",
            how=How.ALL,
            argument="copies, loads and indices name inputs alone",
        )


def kernel_reads(kernel: Kernel) -> Iterator[Finding]:
    """Loads of outputs in a kernel."""
    outputs = {t.name for t in kernel.tensors if t.access is Access.OUT}
    for op in walk(kernel.ops):
        if isinstance(op, Load) and op.tensor in outputs:
            yield Finding(
                what=f"'{op.tensor}' is an output and is loaded: other tiles may store it at the"
                " same time",
                where=str(op.result.line or kernel.name),
            )


def _role_reads(module: KernelModule) -> Iterator[Finding]:
    outputs = {t.name for t in module.tensors if t.access == "out"}
    maps = {m.name: m.tensor for m in module.maps}
    for role in module.roles:
        for node in _nodes(role):
            tensor = maps.get(node.tensor_map) if isinstance(node, ops.Copy) else node.tensor
            if tensor in outputs:
                yield Finding(
                    what=f"'{tensor}' is an output and is read: other CTAs may store it at the same"
                    " time",
                    where=role.name,
                )


def _nodes(value: Any) -> Iterator[Any]:  # noqa: ANN401 (any part of a role)
    """Everything in a role that reads a tensor."""
    if isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)
    elif is_dataclass(value):
        if isinstance(value, (ops.Copy, *READS)):
            yield value
        for f in fields(value):
            inner = getattr(value, f.name)
            if isinstance(inner, tuple) or is_dataclass(inner):
                yield from _nodes(inner)
