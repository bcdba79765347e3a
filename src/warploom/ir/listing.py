"""Kernel modules as text: signature, launch, then the program of every role, line by line."""

from __future__ import annotations

from collections.abc import Iterator

from warploom.ir import operations as ops
from warploom.ir.elementwise import ELEMENTWISE
from warploom.ir.expr import Expr, IntExpr, Sym, SymKind, show
from warploom.ir.module import (
    Dialect,
    KernelModule,
    LoopPhase,
    Outside,
    Role,
    TensorArg,
    TileLoop,
)
from warploom.ir.operations import Statement, StepLoop
from warploom.ir.rings import Side
from warploom.ir.types import Fn, Line

SIGNS = {fn: row.symbol for fn, row in ELEMENTWISE.items() if row.symbol}


def listing(module: KernelModule) -> str:
    """The module in lines."""
    return "\n".join(_lines(module)) + "\n"


def _name(symbol: Sym) -> str:
    return f"tile_{symbol.name}" if symbol.kind is SymKind.TILE else symbol.name


def text(expr: IntExpr | Expr) -> str:
    """An expression as the listing spells it."""
    return show(expr, _name)  # type: ignore[arg-type]


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
    if role.pace:
        yield f"    hint: CTAs keep pace every {role.pace} iterations"
    phases: tuple[TileLoop | LoopPhase, ...] = (*role.earlier, tiles)
    for phase in phases:
        yield from _indented(_loop(phase), 4)
    for op in (*(x for p in role.earlier for x in p.finish), *role.finish):
        yield from _indented(_statement(op), 2)


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
    yield from _operation(op)


def _operation(  # noqa: C901, PLR0912, PLR0915 (one line a kind)
    op: ops.Operation,
) -> Iterator[str]:
    match op:
        case ops.Wait():
            usual = op.parity == (0 if op.side is Side.FULL else 1)
            other = "" if usual else f" parity {op.parity}"
            yield f"wait {op.side} {op.ring}[{text(op.iteration)}]{other}"
        case ops.Expect():
            yield f"expect {op.bytes:,} bytes on {op.ring}[{text(op.iteration)}]"
        case ops.Copy():
            yield from _copy(op)
        case ops.ThreadCopy():
            at = ", ".join(text(x) for x in op.at)
            only = "" if op.predicate is None else f" if {text(op.predicate)}, else 0"
            yield (
                f"copy by threads {op.tensor}[{at}]{only} ->"
                f" {op.ring}[{text(op.iteration)}].{op.part}[row, col]{_line(op.line)}"
            )
        case ops.Meet():
            yield from _meet(op)
        case ops.Arrive():
            where = f" of {op.ctas} CTAs" if op.ctas > 1 else ""
            yield f"arrive {op.side} {op.ring}[{text(op.iteration)}] per {op.scope}{where}"
        case ops.MmaFence():
            yield "mma fence"
        case ops.Mma():
            a, b = (_operand(x, op.iteration) for x in (op.a, op.b))
            sign = "+=" if op.accumulate else "="
            m, n, k = op.shape
            part = "" if op.inner is None else f", k {op.inner[0]} .. {op.inner[1]}"
            yield f"mma {op.accumulator} {sign} {a} @ {b}.T   {m}x{n}x{k}{part}{_line(op.line)}"
        case ops.Commit():
            yield "commit"
        case ops.WaitGroup():
            yield f"wait_group {op.pending}"
        case ops.ProxyFence():
            yield "proxy fence"
        case ops.ScopeSync():
            yield f"sync {op.scope}"
        case ops.NamedBarrierOp():
            only = "" if op.instance is None else f" (instance {op.instance} only)"
            yield f"{'sync' if op.waits else 'arrive'} {op.barrier}[instance + {op.turn}]{only}"
        case ops.BulkStore():
            at = ", ".join(text(x) for x in op.at)
            how = "+=" if op.add else "="
            end = "" if op.end is None else f" up to {text(op.end)}"
            yield (
                f"bulk store {op.tensor_map} at [{at}]{end} {how}"
                f" {op.source.buffer}#{op.source.copy} per {op.scope}{_line(op.line)}"
            )
        case ops.BulkCommit():
            yield "bulk commit"
        case ops.BulkWait():
            yield f"bulk wait {op.pending}{' read' if op.source_read else ''}"
        case ops.ClusterSync():
            yield "cluster sync"
        case ops.Vector():
            yield from _vector(op)
        case _:
            yield from _counter_operation(op)


def _counter_operation(op: ops.Operation) -> Iterator[str]:
    match op:
        case ops.LdsCopy():
            yield (
                f"copy {op.tensor}[{text(op.row)}, {text(op.col)} :+{op.chunk}] ->"
                f" lds {'ab'[op.channel]}.{op.stage}.{op.subtile}[{text(op.lds_row)},"
                f" {text(op.lds_col)}]   x {op.count}"
            )
        case ops.FragmentRead():
            name = "ab"[op.channel]
            yield (
                f"read lds {name}.{op.stage}.{op.subtile}[{text(op.lds_row)},"
                f" {text(op.lds_col)} :+{op.chunk}] -> {name}{op.subtile}[{text(op.row)},"
                f" {text(op.col)}]   x {op.tiles * op.reads}"
            )
        case ops.WaveMma():
            m, n, k = op.shape
            only = "" if op.valid is None else f", columns of K below {text(op.valid)}"
            yield (
                f"mma acc.{op.a}.{op.b} += a{op.a} @ b{op.b}.T"
                f"   {op.rows} x {op.columns} of {m}x{n}x{k}{only}"
            )
        case ops.WaitCount():
            counts = [f"vmcnt({op.vm})"] if op.vm is not None else []
            counts += [f"lgkmcnt({op.lgkm})"] if op.lgkm is not None else []
            yield f"wait {' '.join(counts)}"
        case ops.WorkgroupBarrier():
            only = f" (wave groups {', '.join(map(str, op.groups))})" if op.groups else ""
            yield f"barrier{only}"
        case ops.Hint():
            name = op.scheduled.name if op.scheduled else "none"
            yield f"hint {name.lower()} {op.value}"


def _meet(op: ops.Meet) -> Iterator[str]:
    where = "shared memory of the cluster" if op.near else "memory"
    yield f"meet {op.parts} parts in {where}: the last one goes on"
    if op.top:
        yield f"  {op.top} = max over parts"
    for name in op.sums:
        scale = f" * 2 ** (own {op.top} - {op.top})" if name in op.rescaled else ""
        yield f"  {name} = sum over parts of {name}{scale}"


def _line(line: Line | None) -> str:
    return f"   # line {line.number}" if line is not None else ""


def _copy(op: ops.Copy) -> Iterator[str]:
    cast = f" to {op.multicast} CTAs" if op.multicast > 1 else ""
    for box in op.boxes:
        at = ", ".join(text(x) for x in box.at)
        to = f"{op.ring}[{text(op.iteration)}].{op.part}"
        if text(box.row) != "0" or box.col:
            to += f"[{text(box.row)}, {box.col}]"
        end = "" if box.end is None else f" up to {text(box.end)}"
        yield f"copy {op.tensor_map} at [{at}]{end} -> {to}{cast}{_line(op.line)}"


def _operand(x: ops.SlotOperand | ops.RegisterOperand, iteration: IntExpr) -> str:
    if isinstance(x, ops.RegisterOperand):
        return x.array
    rows = f"[{text(x.row)} :+{x.rows}]" if text(x.row) != "0" else ""
    turned = ".T" if x.transposed else ""
    return f"{x.ring}[{text(iteration)}].{x.part}{rows}{turned}"


def _vector(op: ops.Vector) -> Iterator[str]:
    layout = op.layout
    if not op.body:
        yield f"{op.op}: nothing to do"
        return
    over = ", ".join(f"{i.name} < {i.extent}" for i in layout.indices)
    yield f"for each element ({over}; row = {text(layout.row)}, col = {text(layout.col)}):"
    for inner in op.body:
        yield f"  {_vector_op(inner, layout)}"


def _vector_op(  # noqa: C901, PLR0911, PLR0912 (one line a kind)
    op: ops.VectorOp, layout: ops.FragmentLayout
) -> str:
    match op:
        case ops.VectorConst():
            return f"{op.result} = {op.value}"
        case ops.VectorScalar():
            return f"{op.result} = scalar {op.parameter}"
        case ops.VectorIndex():
            return f"{op.result} = {text(op.value)}"
        case ops.VectorRegister():
            at = layout.register if op.register is None else op.register
            return f"{op.result} = {op.array}.register[{text(at)}]"
        case ops.VectorSet():
            at = layout.register if op.register is None else op.register
            return f"{op.array}.register[{text(at)}] = {op.value}"
        case ops.VectorSlot():
            where = f"{op.ring}[{text(op.iteration)}].{op.part}"
            return f"{op.result} = {where}[{text(op.row)}, {text(op.col)}]"
        case ops.VectorPut():
            where = f"{op.ring}[{text(op.iteration)}].{op.part}[{text(op.row)}, {text(op.col)}]"
            only = f" if {text(op.predicate)}, else 0" if op.predicate is not None else ""
            return f"{where} = {op.dtype}({op.value}){only}"
        case ops.VectorReduce():
            lanes = f", lanes ^ {', '.join(map(str, op.lanes))}" if op.lanes else ""
            return f"{op.result} = {op.fn} of {op.arg} over {', '.join(op.over) or 'itself'}{lanes}"
        case ops.VectorLoad():
            places = ", ".join(text(x) for x in op.at)
            only = f" if {text(op.predicate)}, else 0" if op.predicate is not None else ""
            return f"{op.result} = load {op.tensor}[{places}]{only}"
        case ops.VectorPointwise():
            if op.fn in SIGNS:
                return f"{op.result} = {op.args[0]} {SIGNS[op.fn]} {op.args[1]}"
            name = str(op.dtype) if op.fn is Fn.CAST else str(op.fn)
            return f"{op.result} = {name}({', '.join(op.args)})"
        case ops.VectorStage():
            where = f"{op.target.buffer}#{op.target.copy}[{text(op.row)}, {text(op.col)}]"
            return f"stage {where} = {op.dtype}({op.value})"
        case ops.VectorStore():
            places = ", ".join(text(x) for x in op.at)
            only = f" if {text(op.predicate)}" if op.predicate is not None else ""
            how = "+=" if op.add else "="
            how += " in turn" if op.in_turn else ""
            return f"store {op.tensor}[{places}] {how} {op.dtype}({op.value}){only}{_line(op.line)}"
