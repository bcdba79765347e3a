"""``lower_kernel``: the program of the waves for one tile plan: its tile, then op by op."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.ir import tile as ir
from warploom.ir.tile import Walk, is_number
from warploom.ir.waves import GROUP, FindGroup, Operand, WaveProgram
from warploom.passes.amdgcn.builder import finished
from warploom.passes.amdgcn.errors import BudgetError, refuse
from warploom.passes.amdgcn.layout import count_of
from warploom.passes.amdgcn.loop_schedule import LoopSchedule
from warploom.passes.amdgcn.lowering import Lowering, Span
from warploom.passes.amdgcn.plan import TilePlan, contracted
from warploom.passes.amdgcn.products import PAD
from warploom.passes.amdgcn.signature import Signature

MOST_HELD = 448  # accumulators a lane, of its 512 registers


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweredKernel:
    """The program of a kernel, and the plan and the schedules that it was made by."""

    plan: TilePlan
    program: WaveProgram
    schedules: tuple[LoopSchedule, ...] = ()


def lower_kernel(
    plan: TilePlan,
    *,
    reuse: bool = False,
    prefetch: bool = False,
    schedules: Mapping[int, LoopSchedule] | None = None,
    plain: tuple[str, ...] = (),
) -> LoweredKernel:
    """The program of a plan.

    ``reuse``: operands give their LDS back after each product; ``prefetch``: loops load one step
    ahead where they can; ``schedules``: of loops that are pipelined, by the identity of the loop;
    ``plain``: why others are not.
    """
    _require_fit(plan)
    signature = Signature(kernel=plan.kernel)
    low = Lowering(plan, signature, reuse=reuse, prefetch=prefetch, schedules=schedules)
    _place(low)
    tile = tuple((n, _register(low.spans[n].position)) for n in plan.kernel.grid.vars)
    low.ops(plan.kernel.ops)
    program = WaveProgram(
        waves=plan.waves,
        across=plan.across,
        arguments=signature.arguments,
        lds_bytes=low.state.peak,
        fixed=tuple(sorted(signature.fixed.items())),
        extents=tuple(plan.extents.items()),
        entry=finished(low.state.sections[0].text.body),
        body=finished(low.text.body),
        tile=tile,
        exchange=plan.exchange,
        prefetched=low.prefetched,
        plain=plain,
    )
    return LoweredKernel(plan=plan, program=program, schedules=tuple((schedules or {}).values()))


def _register(operand: Operand) -> str | int:
    assert isinstance(operand, str | int)
    return operand


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
            low.spans[var.name] = Span(0, size)
    number: Operand = GROUP
    if kernel.grid.order:
        number = text.number(kernel.grid.order, number)
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


def _near_tiles(low: Lowering, number: Operand) -> Operand:
    """Tiles that lie near each other for workgroups of one die.

    Workgroups go to the dies in turn, and a die has its own L2. So workgroup ``i`` of die ``i % d``
    takes the ``i / d``-th tile of that die's share; shares follow each other, and the first
    ``total % d`` of them have one tile more: every tile is taken once.
    """
    text, dies = low.text, low.plan.machine.dies
    total: Operand = 1
    for name in low.plan.kernel.grid.vars:
        count = _count(low, name)
        total = count if total == 1 else text.integer("mul", total, count)
    share = text.integer("udiv", total, dies)
    more = text.integer("urem", total, dies)
    die = text.integer("urem", number, dies)
    inside = text.integer("udiv", number, dies)
    first = text.integer("mul", die, share)
    longer = text.integer("umin", die, more)
    start = text.integer("add", first, longer)
    return text.integer("add", start, inside)


def _count(low: Lowering, name: str) -> Operand:
    """How many tiles a variable of the grid has."""
    var = low.plan.kernel.var(name)
    length = low.signature.size(var.axis)
    extent = 1 if is_number(var) else low.plan.extents[name]
    if extent == 1:
        return length
    more = low.text.integer("add", length, extent - 1)
    return low.text.integer("udiv", more, extent)


def _take(low: Lowering, name: str, number: Operand) -> Operand:
    """The place of one variable, the fastest first; what is left of the tile's number."""
    var, text = low.plan.kernel.var(name), low.text
    length = low.signature.size(var.axis)
    extent = 1 if is_number(var) else low.plan.extents[name]
    count = _count(low, name)
    part = text.integer("urem", number, count)
    rest = text.integer("udiv", number, count)
    place = part if extent == 1 else text.integer("mul", part, extent)
    low.spans[name] = low.span_of(place, length, extent)
    return rest


def _find_group(low: Lowering, grid: ir.Grid, row: str, number: Operand) -> None:
    """The group whose rows a tile has: tiles of all groups are counted until its number is met.

    A launch has as many tiles as the groups can have at most; those past the last one end here.
    """
    text, kernel = low.text, low.plan.kernel
    extent = low.plan.extents[row]
    groups = low.signature.size(kernel.var(grid.vars[0]).axis)
    length = low.signature.size(kernel.var(row).axis)
    group, left, first, end = (text.name() for _ in range(4))
    text.add(FindGroup(group, left, (first, end), grid.starts[0], number, groups, length, extent))
    inner = text.integer("mul", left, extent)
    place = text.integer("add", first, inner)
    low.spans[grid.vars[0]] = Span(group, 1)
    low.spans[row] = low.span_of(place, end, extent)
