"""The module of a kernel whose threads all run one program."""

from __future__ import annotations

from collections.abc import Mapping

from warploom.ir.expr import IntExpr, ceil_div, least, lift, product, size
from warploom.ir.module import (
    BuildRequest,
    Dialect,
    KernelModule,
    Launch,
    Storage,
    knob,
    scalar_args,
    tensor_args,
)
from warploom.ir.threads import ThreadProgram
from warploom.ir.tile import Kernel, Walk
from warploom.ir.tile_schedule import SMS
from warploom.ir.types import relative
from warploom.passes.simt import build_thread_program


def build_thread_module(
    source: Kernel,
    kernel: Kernel,
    sizes: Mapping[str, int],
    pins: Mapping[str, object] | None = None,
) -> KernelModule:
    """The module of a kernel without products; ``source``: the kernel as it was written,
    ``kernel``: after its rewrites.
    """
    program, shared_bytes = build_thread_program(kernel, sizes, pins)
    return program_module(source, kernel, program, shared_bytes, sizes, pins or {})


def program_module(
    source: Kernel,
    kernel: Kernel,
    program: ThreadProgram,
    shared_bytes: int,
    sizes: Mapping[str, int],
    pins: Mapping[str, object],
) -> KernelModule:
    """The module of a program; ``kernel``: what it was made of."""
    config = f"{program.threads} threads, {program.lanes} to a row"
    if program.extents:
        config += "; " + " x ".join(f"{name} {extent}" for name, extent in program.extents)
    return KernelModule(
        name=kernel.name,
        target="h200",
        config=config,
        dialect=Dialect.MBARRIER,
        kernel=relative(source),
        tensors=tensor_args(kernel),
        scalars=scalar_args(kernel),
        maps=(),
        launch=Launch(
            grid=lift(least(tile_count(kernel, program), SMS)),
            block=program.threads,
            cluster=1,
            shared_bytes=shared_bytes,
        ),
        storage=Storage(),
        roles=(),
        request=BuildRequest(
            knobs=tuple(knob(name, value) for name, value in sorted(pins.items())),
            sizes=tuple(sorted(sizes.items())),
        ),
        threads=program,
    )


def tile_count(kernel: Kernel, program: ThreadProgram) -> IntExpr:
    """How many tiles there are; of groups the most that there may be."""
    grid, extents = kernel.grid, dict(program.extents)
    grouped = grid.kind == "groups"
    factors: list[IntExpr] = []
    rows = next((n for n in grid.vars if kernel.var(n).walk is Walk.TILE), None)
    for name in grid.vars[grouped:]:
        var = kernel.var(name)
        count = ceil_div(size(var.axis), extents.get(name, var.extent or 1))
        if grouped and name == rows:
            count = lift(count + size(kernel.var(grid.vars[0]).axis))
        factors.append(count)
    return product(factors)
