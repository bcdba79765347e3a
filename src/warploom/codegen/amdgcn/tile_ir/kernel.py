"""``lower_kernel``: the whole kernel of one tile plan as LLVM IR: entry, its tile, ops, end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.codegen.amdgcn.lower.attributes import METADATA, attributes
from warploom.codegen.amdgcn.tile_ir.errors import BudgetError, refuse
from warploom.codegen.amdgcn.tile_ir.layout import LANES, count_of
from warploom.codegen.amdgcn.tile_ir.loop_schedule import LoopSchedule
from warploom.codegen.amdgcn.tile_ir.lowering import Lowering, Span
from warploom.codegen.amdgcn.tile_ir.plan import TilePlan, contracted
from warploom.codegen.amdgcn.tile_ir.products import PAD
from warploom.codegen.amdgcn.tile_ir.signature import Signature
from warploom.ir import tile as ir
from warploom.ir.tile import Walk, is_number

KERNEL_NAME = "warploom_tile"
MOST_HELD = 448  # accumulators a lane, of its 512 registers


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweredKernel:
    """LLVM IR of a kernel, its arguments, and what it takes of LDS."""

    plan: TilePlan
    signature: Signature
    ir: str
    lds_bytes: int
    barriers: int
    prefetched: int
    written_out: bool  # whether instructions stand in it as assembly
    schedules: tuple[LoopSchedule, ...] = ()


def lower_kernel(
    plan: TilePlan,
    *,
    reuse: bool = False,
    prefetch: bool = False,
    schedules: Mapping[int, LoopSchedule] | None = None,
) -> LoweredKernel:
    """LLVM IR for a plan.

    ``reuse``: operands give their LDS back after each product; ``prefetch``: loops load one step
    ahead where they can; ``schedules``: of loops that are pipelined, by the identity of the loop.
    """
    _require_fit(plan)
    signature = Signature(kernel=plan.kernel)
    low = Lowering(plan, signature, reuse=reuse, prefetch=prefetch, schedules=schedules)
    low.text.block = "tile"
    _place(low)
    low.ops(plan.kernel.ops)
    low.text.add("br label %end")
    low.text.label("end")
    low.text.add("ret void")
    given = ", ".join(f"{a.ir} %{a.name}" for a in signature.arguments)
    lines = [
        'target triple = "amdgcn-amd-amdhsa"',
        f"@lds = internal addrspace(3) global [{max(16, low.state.peak)} x i8] poison, align 1024",
        f"define amdgpu_kernel void @{KERNEL_NAME}({given}) #0 {{",
        "entry:",
        "  %tid = call i32 @llvm.amdgcn.workitem.id.x()",
        f"  %lane = and i32 %tid, {LANES - 1}",
        f"  %wave_v = lshr i32 %tid, {LANES.bit_length() - 1}",
        "  %wave = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %wave_v)",
        "  %group = call i32 @llvm.amdgcn.workgroup.id.x()",
        *low.state.sections[0].text.lines,
        "  br label %tile",
        "tile:",
        *low.state.placed(),
        "}",
        attributes(plan.threads, max(1, plan.waves // 4), agprs=not schedules, grid=1),
    ]
    return LoweredKernel(
        plan=plan,
        signature=signature,
        ir="\n".join(lines) + METADATA,
        lds_bytes=low.state.peak,
        barriers=low.state.barriers,
        prefetched=low.prefetched,
        written_out=any(x.written_out for x in low.state.texts),
        schedules=tuple((schedules or {}).values()),
    )


def _require_fit(plan: TilePlan) -> None:
    """Refuse what cannot fit before anything is lowered: operands of one product, accumulators."""
    for dot in plan.dots:
        k = contracted(plan, dot)
        size = plan.values[dot.a].dtype.bits // 8
        rows = sum(plan.padded[v] for v in dot.result.vars)
        need = rows * (plan.padded[k] * size + PAD)
        held = count_of(plan.layout(dot.result.vars))
        if need > plan.machine.lds_bytes or held > MOST_HELD:
            what = f"{need} bytes of LDS" if held <= MOST_HELD else f"{held} accumulators a lane"
            raise BudgetError(
                f"a product needs {what}", where=plan.kernel.name, fix="smaller tiles"
            )


def _place(low: Lowering) -> None:
    """Which tile this workgroup has: spans of the grid's variables."""
    kernel, text = low.plan.kernel, low.text
    for var in kernel.vars:
        if var.walk is Walk.WHOLE:
            size = low.signature.size(var.axis)
            low.spans[var.name] = Span("0", size)
    number = "%group"
    if kernel.grid.order:
        place = text.value(
            f"getelementptr i32, ptr addrspace(1) {low.pointer(kernel.grid.order)}, i32 {number}"
        )
        number = text.value(f"load i32, ptr addrspace(1) {place}, align 4")
        number = text.value(f"call i32 @llvm.amdgcn.readfirstlane.i32(i32 {number})")
    elif kernel.grid.kind == "tiles":
        number = _near_tiles(low, number)
    names = list(kernel.grid.vars)
    row = ""
    if kernel.grid.kind == "groups":
        row = next(n for n in names[1:] if kernel.var(n).walk is Walk.TILE)
        names = [n for n in names[1:] if n != row]
    elif kernel.grid.kind != "tiles":
        refuse(
            kernel.line,
            f"a grid of {kernel.grid.kind}",
            why="tiles are those of a tensor or of groups of rows",
            fix="wl.tile(out) or wl.tile(out, groups=starts)",
        )
    for name in reversed(names):
        number = _take(low, name, number)
    if row:
        _find_group(low, kernel.grid, row, number)


def _near_tiles(low: Lowering, number: str) -> str:
    """Tiles that lie near each other for workgroups of one die.

    Workgroups go to the dies in turn, and a die has its own L2. So workgroup ``i`` of die ``i % d``
    takes the ``i / d``-th tile of that die's share; shares follow each other, and the first
    ``total % d`` of them have one tile more: every tile is taken once.
    """
    text, dies = low.text, low.plan.machine.dies
    total = "1"
    for name in low.plan.kernel.grid.vars:
        count = _count(low, name)
        total = count if total == "1" else text.value(f"mul i32 {total}, {count}")
    share = text.value(f"udiv i32 {total}, {dies}")
    more = text.value(f"urem i32 {total}, {dies}")
    die = text.value(f"urem i32 {number}, {dies}")
    inside = text.value(f"udiv i32 {number}, {dies}")
    first = text.value(f"mul i32 {die}, {share}")
    longer = text.value(f"call i32 @llvm.umin.i32(i32 {die}, i32 {more})")
    start = text.value(f"add i32 {first}, {longer}")
    return text.value(f"add i32 {start}, {inside}")


def _count(low: Lowering, name: str) -> str:
    """How many tiles a variable of the grid has."""
    var = low.plan.kernel.var(name)
    length = low.signature.size(var.axis)
    extent = 1 if is_number(var) else low.plan.extents[name]
    if extent == 1:
        return length
    more = low.text.value(f"add i32 {length}, {extent - 1}")
    return low.text.value(f"udiv i32 {more}, {extent}")


def _take(low: Lowering, name: str, number: str) -> str:
    """The place of one variable, the fastest first; what is left of the tile's number."""
    var, text = low.plan.kernel.var(name), low.text
    length = low.signature.size(var.axis)
    extent = 1 if is_number(var) else low.plan.extents[name]
    count = _count(low, name)
    part = text.value(f"urem i32 {number}, {count}")
    rest = text.value(f"udiv i32 {number}, {count}")
    place = part if extent == 1 else text.value(f"mul i32 {part}, {extent}")
    low.spans[name] = low.span_of(place, length, extent)
    return rest


def _find_group(low: Lowering, grid: ir.Grid, row: str, number: str) -> None:
    """The group whose rows a tile has: tiles of all groups are counted until its number is met.

    A launch has as many tiles as the groups can have at most; those past the last one end here.
    """
    text, kernel = low.text, low.plan.kernel
    extent = low.plan.extents[row]
    starts = low.pointer(grid.starts[0])
    groups = low.signature.size(kernel.var(grid.vars[0]).axis)
    length = low.signature.size(kernel.var(row).axis)
    before = text.block
    text.add("br label %groups")
    text.label("groups")
    text.add(f"%g = phi i32 [ 0, %{before} ], [ %g_next, %no_group ]")
    text.add(f"%left = phi i32 [ {number}, %{before} ], [ %left_next, %no_group ]")
    text.add(f"%some_groups = icmp slt i32 %g, {groups}")
    text.add("br i1 %some_groups, label %look, label %end")
    text.label("look")
    bounds = []
    for more in (0, 1):
        at = "%g" if not more else text.value("add i32 %g, 1")
        place = text.value(f"getelementptr i32, ptr addrspace(1) {starts}, i32 {at}")
        value = text.value(f"load i32, ptr addrspace(1) {place}, align 4")
        value = text.value(f"call i32 @llvm.amdgcn.readfirstlane.i32(i32 {value})")
        value = text.value(f"call i32 @llvm.smax.i32(i32 {value}, i32 0)")
        bounds.append(text.value(f"call i32 @llvm.smin.i32(i32 {value}, i32 {length})"))
    size = text.value(f"sub i32 {bounds[1]}, {bounds[0]}")
    size = text.value(f"call i32 @llvm.smax.i32(i32 {size}, i32 0)")
    more_rows = text.value(f"add i32 {size}, {extent - 1}")
    tiles = text.value(f"udiv i32 {more_rows}, {extent}")
    mine = text.value(f"icmp slt i32 %left, {tiles}")
    text.add(f"br i1 {mine}, label %my_group, label %no_group")
    text.label("no_group")
    text.add(f"%left_next = sub i32 %left, {tiles}")
    text.add("%g_next = add i32 %g, 1")
    text.add("br label %groups")
    text.label("my_group")
    inner = text.value(f"mul i32 %left, {extent}")
    place = text.value(f"add i32 {bounds[0]}, {inner}")
    low.spans[grid.vars[0]] = Span("%g", "1")
    low.spans[row] = low.span_of(place, bounds[1], extent)
