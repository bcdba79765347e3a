"""``build_wave_module``: the module of a tile kernel on a CDNA chip: one program of all waves."""

from __future__ import annotations

from warploom.ir.expr import IntExpr, ceil_div, lift, product, size
from warploom.ir.module import (
    BuildRequest,
    Dialect,
    KernelModule,
    Launch,
    ScalarArg,
    Storage,
    TensorArg,
    knob,
)
from warploom.ir.tile import Kernel, is_number
from warploom.ir.types import relative
from warploom.passes.amdgcn.kernel import LoweredKernel
from warploom.passes.amdgcn.plan import TilePlan


def build_wave_module(source: Kernel, lowered: LoweredKernel) -> KernelModule:
    """The module; ``source``: the kernel as it was written."""
    plan, program = lowered.plan, lowered.program
    kernel = plan.kernel
    tile = " x ".join(f"{name} {extent}" for name, extent in plan.extents.items())
    return KernelModule(
        name=kernel.name,
        target=plan.machine.name,
        config=f"{tile or 'no tile'}; {plan.waves} waves",
        dialect=Dialect.COUNTER,
        kernel=relative(source),
        tensors=tuple(
            TensorArg(
                name=t.name,
                axes=t.axes,
                dtype=t.dtype,
                access=t.access.value,
                alignment=max(1, t.dtype.bits // 8),
            )
            for t in kernel.tensors
        ),
        scalars=tuple(ScalarArg(name=p.name, dtype=p.dtype) for p in kernel.parameters),
        maps=(),
        launch=Launch(
            grid=workgroups(plan), block=plan.threads, cluster=1, shared_bytes=program.lds_bytes
        ),
        storage=Storage(),
        roles=(),
        strategy="modulo" if lowered.schedules else "plain",
        request=BuildRequest(
            knobs=(
                *(knob(name, extent) for name, extent in plan.extents.items()),
                knob("waves", plan.waves),
                knob("across", plan.across),
                knob("exchange", plan.exchange),
            )
        ),
        program=program,
    )


def workgroups(plan: TilePlan) -> IntExpr:
    """How many workgroups a launch has; of groups the most that there may be."""
    kernel, extents = plan.kernel, plan.extents
    names, factors = list(kernel.grid.vars), list[IntExpr]()
    if kernel.grid.kind == "groups":
        row = next(n for n in names[1:] if not is_number(kernel.var(n)))
        groups = size(kernel.var(names[0]).axis)
        factors.append(lift(size(kernel.var(row).axis) // extents[row] + groups))
        names = [n for n in names[1:] if n != row]
    for name in names:
        extent = 1 if is_number(kernel.var(name)) else extents[name]
        factors.append(ceil_div(size(kernel.var(name).axis), extent))
    return product(factors)
