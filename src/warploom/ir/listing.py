"""Kernel modules as text: signature, launch, then the program of every role, line by line."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.ir.module import (
    Dialect,
    KernelModule,
    LoopPhase,
    Outside,
    Role,
    TensorArg,
    TileLoop,
)
from warploom.ir.operation_table import OPERATIONS, text
from warploom.ir.operations import Statement, StepLoop
from warploom.ir.thread_listing import thread_lines
from warploom.ir.wave_listing import wave_lines


def listing(module: KernelModule) -> str:
    """The module in lines."""
    return "\n".join(_lines(module)) + "\n"


def _lines(module: KernelModule) -> Iterator[str]:
    yield f"module {module.kernel.name}   target {module.target}   config {module.config}"
    yield "tensors  " + "   ".join(_tensor(t) for t in module.tensors)
    if module.scalars:
        yield "scalars  " + "   ".join(f"{s.name} {s.dtype}" for s in module.scalars)
    launch = module.launch
    cluster = f"   cluster {launch.cluster}" if launch.cluster > 1 else ""
    yield (
        f"launch   grid {text(launch.grid)}   block {launch.block}{cluster}"
        f"   shared {launch.shared_bytes:,}"
    )
    if launch.requires:
        yield "requires " + ", ".join(text(x) for x in launch.requires)
    for m in module.maps:
        box = " x ".join(str(n) for n in m.box)
        outside = "zero outside" if m.outside is Outside.ZERO else "nothing written outside"
        hint = f", {m.l2}" if m.l2 else ""
        yield f"map      {m.name}: box {box} of {m.tensor}, swizzle {m.swizzle}B, {outside}{hint}"
    yield from _storage(module)
    for role in module.roles:
        yield from _role(module, role)
    yield from thread_lines(module)
    yield from wave_lines(module)


def _tensor(t: TensorArg) -> str:
    axes = ", ".join(a.name if a.per == 1 else f"{a.name}/{a.per}" for a in t.axes)
    return f"{t.name}[{axes}] {t.dtype} {t.access}"


def _storage(module: KernelModule) -> Iterator[str]:
    for ring in module.storage.rings:
        parts = []
        for p in ring.parts:
            shape = module.part(ring.name, p.name)
            parts.append(f"{p.name} {shape.rows} x {shape.cols} {shape.dtype}")
        yield (
            f"ring     {ring.name}: {ring.depth} slots of {', '.join(parts)};"
            f" arrivals full {ring.full_arrivals}, empty {ring.empty_arrivals}"
        )
    for buffer in module.storage.buffers:
        shape_of = next(s for s in module.storage.staging if s.buffer == buffer.name)
        yield (
            f"staging  {buffer.name}: {buffer.copies} copies for each instance of {buffer.role},"
            f" {shape_of.rows} x {shape_of.cols} {shape_of.dtype} a warp"
        )
    for barrier in module.storage.barriers:
        yield f"barrier  {barrier.name}: {barrier.count} of {barrier.threads} threads"
    for lds in module.storage.lds:
        yield (
            f"lds      {lds.tensor}: {lds.stages} stages x {lds.subtiles} sub-tiles of"
            f" {lds.rows} x {lds.cols} {lds.dtype}, chunk c of row r at"
            f" c ^ (r >> {lds.shift} & {lds.mask})"
        )


def _role(module: KernelModule, role: Role) -> Iterator[str]:
    threads = f"{role.instances} x {role.threads} threads" if role.threads > 1 else "1 thread"
    if module.dialect is Dialect.COUNTER:
        threads = f"{role.instances} waves of {role.threads} threads"
    how = f", instance i takes tiles i, i + {role.instances}, .." if role.alternates else ""
    yield f"role {role.name}, {threads}{how}"
    for array in role.arrays:
        shape = f"{64 * array.blocks}, {array.cols}"
        if array.form != "tile":
            shape = {"packed": shape, "row": f"{64 * array.blocks}"}.get(
                array.form, f"{array.registers} a thread"
            )
        yield f"  registers {array.name}[{shape}] {array.dtype}"
    for op in (*(x for p in role.earlier for x in p.setup), *role.setup):
        yield from _indented(_statement(op), 2)
    tiles = role.tiles
    names = ", ".join(f"tile_{a.var}" for a in tiles.schedule.axes)
    yield f"  for {names} in tiles({tiles.schedule.name}):"
    for bound in tiles.lets:
        yield f"    {text(bound.name)} = {text(bound.value)}"
    yield from _hints(role)
    if role.works is not None:
        yield f"    instances work where {text(role.works)}, and only synchronise elsewhere"
    phases: tuple[TileLoop | LoopPhase, ...] = (*role.earlier, tiles)
    for phase in phases:
        yield from _indented(_loop(phase), 4)
    for op in (*(x for p in role.earlier for x in p.finish), *role.finish):
        yield from _indented(_statement(op), 2)


def _hints(role: Role) -> Iterator[str]:
    """What changes no result."""
    if role.pace:
        yield f"    hint: CTAs keep pace every {role.pace} iterations"
    if role.finds_next:
        yield "    hint: the next tile is looked for while the first product runs"
    if role.uniform:
        yield "    hint: the number of the instance is one of the warp"


def _loop(phase: TileLoop | LoopPhase) -> Iterator[str]:
    """One loop of a tile: what is bound for it, then its operations."""
    for bound in phase.bounds:
        yield f"{text(bound.name)} = {text(bound.value)}"
    yield f"trips = {text(phase.trips)}"
    for bound in phase.ranges:
        yield f"{text(bound.name)} = {text(bound.value)}"
    for f in phase.functions:
        yield f"{f.name}({f.parameter.name}) = {text(f.value)}"
    for statement in phase.body:
        yield from _statement(statement)


def _indented(lines: Iterator[str], by: int) -> Iterator[str]:
    for line in lines:
        yield " " * by + line


def _statement(op: Statement) -> Iterator[str]:
    if isinstance(op, StepLoop):
        yield f"for t in {text(op.start)} .. {text(op.stop)}:"
        for inner in op.body:
            yield from _indented(_statement(inner), 2)
        return
    yield from OPERATIONS[type(op)].lines(op)
