"""Parts of a split loop meeting, as CUDA source: the steps of an exchange, as they are checked.

The last part takes what the others left, adds it up in the order of the parts, its own where it
belongs, and goes on with the tile. Rows outside the tensor are neither written nor read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, product

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.legality import exchange_at, group_barrier, unfaithful_step
from warploom.codegen.cuda.lowering import Site
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.from_module import printer
from warploom.codegen.cuda.tile.loop_view import LoopView
from warploom.codegen.cuda.tile.signature import COUNTER_BYTES
from warploom.codegen.cuda.tile.work import ROW
from warploom.errors import BackendError
from warploom.ir import operations as ops
from warploom.ir.dataflow import Does, Exchange, ExchangeStep, Reach, Who
from warploom.ir.expr import substitute
from warploom.ir.module import RegisterArray
from warploom.ir.tile_schedule import let

QUAD_BYTES = 16
BARRIER_BYTES = 8
GROUP_THREADS = 128
MOST_AHEAD, FEW_AHEAD = 16, 2  # quads of a thread that are on their way at once
MOST_REGISTERS, FEW_REGISTERS = 200, 32


def meeting(loop: LoopView) -> ops.Meet:
    """How parts of a loop meet."""
    if loop.meet is None:
        raise BackendError("parts of a loop that meet nowhere", where=loop.module.name)
    return loop.meet


def met_arrays(loop: LoopView) -> tuple[RegisterArray, ...]:
    """Arrays of the state that parts leave."""
    met = meeting(loop)
    return tuple(a for a in loop.arrays if a.name in (met.top, *met.sums))


def quads_of(array: RegisterArray) -> int:
    """Groups of four floats a thread has of an array."""
    return array.blocks * (array.cols // 8 if array.form == "tile" else 1)


def part_bytes(loop: LoopView) -> int:
    """Memory that one part of a tile takes; 0 where loops are not split."""
    if loop.meet is None:
        return 0
    quads = sum(quads_of(a) for a in met_arrays(loop))
    return loop.consumers * quads * GROUP_THREADS * QUAD_BYTES


def meet_lines(context: Context, site: Site) -> list[str]:
    """The steps at which parts meet; the last of them goes on with the state of all."""
    loop = context.loop
    consumers, split = loop.consumers, loop.schedule.split
    apart = part_bytes(loop) // QUAD_BYTES
    barrier = f"{group_barrier(site.document, site.program)} + instance"
    size = loop.schedule.cluster
    tile = f"(tile * {size} + rank)" if size > 1 else "tile"
    exchange = exchange_at(site.document, meeting(loop).op)
    return [
        "bool is_last = false;",
        "{",
        "  const int thread = threadIdx.x % 128;",
        f"  unsigned* const counted = (unsigned*){context.work()} +"
        f" 2 * ({tile} * {consumers} + instance);",
        f"  float4* const parts = (float4*)({context.work()} + {COUNTER_BYTES}) +"
        f" {tile} * {split * apart}LL + instance * {apart // consumers} + thread;",
        *indent(_steps(context, exchange, apart, barrier), 2),
        "}",
    ]


def _steps(context: Context, exchange: Exchange, apart: int, barrier: str) -> list[str]:
    """Steps of all parts, of the last one, of the others."""
    lines: list[str] = []
    for step in exchange.steps:
        near = step.does is Does.WRITE or not step.at
        if not near or (step.less and step.does is not Does.AWAIT):
            raise unfaithful_step(exchange, step)
    for who, some in groupby(exchange.steps, lambda s: s.by):
        own = [x for s in some for x in _step(context, s, apart, barrier)]
        if who is Who.ALL:
            lines += own
            continue
        lines += [f"if ({'is_last' if who is Who.LAST else '!is_last'}) {{", *indent(own, 2), "}"]
    return lines


def _step(context: Context, step: ExchangeStep, apart: int, barrier: str) -> list[str]:
    split, wide = context.loop.schedule.split, step.reach is Reach.GPU
    fence = "__threadfence();" if wide else "__threadfence_block();"
    match step.does:
        case Does.DRAW:
            more = [f"  {fence}"] if wide else []  # of what all of them wrote, and will read
            last = f"  is_last = atomicAdd(counted, 1u) == {split - 1};"
            lines = ["if (thread == 0) {", *more, last, *more, "}"]
            lines.append(f"is_last = {device.any_of_group}({barrier}, is_last);")
        case Does.WRITE:
            left = _leave(context, met_arrays(context.loop), apart, step.at)
            lines = ["{", *indent(left, 2), "}"]
        case Does.SYNC:
            lines = [f"{device.named_sync}({barrier}, 128);"]
        case Does.PUBLISH:
            lines = ["if (thread == 0) {", f"  {fence}", "  atomicAdd(counted + 1, 1u);", "}"]
        case Does.AWAIT:
            seen = device.load_acquire if wide else device.load_acquire_near
            others = split - 1 - step.less
            lines = [f"if (thread == 0) while ({seen}(counted + 1) != {others}) {{}}"]
        case Does.CLEAR:
            lines = ["if (thread == 0) counted[0] = counted[1] = 0;"]
        case _:
            lines = _read(context, apart)
    return lines


def _read(context: Context, apart: int) -> list[str]:
    """What the parts left, put together."""
    arrays = met_arrays(context.loop)
    if meeting(context.loop).top:
        return _together(context, arrays, apart)
    places = _places(arrays)
    return [x for a in arrays for x in _summed(context, a, places[a.name], apart)]


def _places(arrays: Sequence[RegisterArray]) -> dict[str, int]:
    """The first quad of each array in what a thread leaves."""
    result, at = {}, 0
    for array in arrays:
        result[array.name] = at
        at += quads_of(array)
    return result


def _leave(context: Context, arrays: Sequence[RegisterArray], apart: int, at: int) -> list[str]:
    places, split = _places(arrays), context.loop.schedule.split
    part = f"(part + {at % split}) % {split}" if at else "part"
    lines = [f"float4* const left = parts + {part} * {apart};"]
    for array in arrays:
        lines += _blocks(context, array)
        for n, quad in enumerate(quads_text(array)):
            lines.append(
                f"  __stcg(&left[{_at(array, places, n)}], make_float4({', '.join(quad)}));"
            )
        lines.append("}")
    return lines


def _at(array: RegisterArray, places: dict[str, int], number: int) -> str:
    """Where a thread's quad of a block lies."""
    each = quads_of(array) // array.blocks
    return f"({places[array.name] + number} + b * {each}) * 128"


def quads_text(array: RegisterArray, block: str | int = "b") -> list[list[str]]:
    """Four neighbours of a thread each, in a block: of a tile, in one row of 16 columns (of 8 that
    are left, in both); of rows, both.
    """
    if array.form != "tile":
        return [[f"{array.name}[{block}][0]", f"{array.name}[{block}][1]", "0.0f", "0.0f"]]
    groups = array.cols // 16
    found = [[8 * g + 2 * i + e for e in (0, 1, 4, 5)] for g in range(groups) for i in (0, 1)]
    found += [[8 * groups + e for e in range(4)]] if array.cols % 16 else []
    return [[f"{array.name}[{block}][{n}]" for n in quad] for quad in found]


def _blocks(context: Context, array: RegisterArray) -> list[str]:
    """The head of a walk over the blocks of an array, of tiles those whose first row exists."""
    head = ["#pragma unroll", f"for (int b = 0; b < {array.blocks}; ++b)"]
    if array.form != "tile":
        return [*head, "{"]
    exists = meeting(context.loop).exists
    if exists is None:
        return [*head, "{"]
    first = substitute(exists, {ROW: let("row_of(b, 0)")})
    return [*head, f" if ({printer(context).text(first)}) {{"]


def _ahead(context: Context) -> int:
    """Quads of a thread that may be on their way at once, by the registers that are left."""
    used = context.loop.registers
    return max(FEW_AHEAD, min(MOST_AHEAD, (MOST_REGISTERS - used) // 8))


def _summed(context: Context, array: RegisterArray, at: int, apart: int) -> list[str]:
    """A sum over the parts in their order; loads of several quads are on their way at once."""
    if array.registers > FEW_REGISTERS or _crowded(context):
        return _summed_in_a_loop(context, array, at, apart)
    split, quads = context.loop.schedule.split, quads_text(array)
    ahead = max(1, _ahead(context) // (split - 1))  # its own is at hand
    lines = _blocks(context, array)
    for first in range(0, len(quads), ahead):
        some = list(enumerate(quads))[first : first + ahead]
        lines += ["  {", f"    float4 x[{split}][{len(some)}];", "#pragma unroll"]
        lines.append(f"    for (int p = 0; p < {split}; ++p) {{")
        for n, _ in some:
            place = _at(array, {array.name: at}, n)
            left = f"__ldcg(&parts[p * {apart} + {place}])"
            lines.append(f"      if (p != part) x[p][{n - first}] = {left};")
        lines.append("    }")
        for n, quad in some:
            own = ", ".join(quad)
            lines += [
                f"    {{ const float4 own = make_float4({own});",
                f"      const float4 sum = {device.in_order}<{split}>(x, {n - first}, part, own);",
            ]
            lines += [
                f"      {to} = sum.{w};" for to, w in zip(quad, "xyzw", strict=True) if to != "0.0f"
            ]
            lines.append("    }")
        lines.append("  }")
    return [*lines, "}"]


def _crowded(context: Context) -> bool:
    """Whether what meets is more than registers hold: ptxas puts all loads before all sums.

    One array is counted beside all that the loop holds: of builds with 160 to 240 registers on
    their way, those spilled that came to more.
    """
    arrays = [a for a in met_arrays(context.loop) if a.form == "tile"]
    beside = context.loop.registers if len(arrays) == 1 else 0
    others = context.loop.schedule.split - 1
    return others * sum(a.registers for a in arrays) + beside > MOST_REGISTERS


def _summed_in_a_loop(context: Context, array: RegisterArray, at: int, apart: int) -> list[str]:
    """The same sum of many registers, part after part: its own share is left in memory first.

    Unrolled over the parts, with its own among them by number, ptxas spills hundreds of registers.
    """
    split, quads = context.loop.schedule.split, quads_text(array)
    ahead, places = _ahead(context), {array.name: at}
    lines = _blocks(context, array)
    for n, quad in enumerate(quads):
        place = f"part * {apart} + {_at(array, places, n)}"
        lines.append(f"  __stcg(&parts[{place}], make_float4({', '.join(quad)}));")
        lines += [f"  {to} = 0.0f;" for to in quad if to != "0.0f"]
    lines += ["#pragma unroll 1", f"  for (int p = 0; p < {split}; ++p) {{"]
    lines.append(f"    const float4* const of = parts + p * {apart};")
    for first in range(0, len(quads), ahead):
        some = list(enumerate(quads))[first : first + ahead]
        lines.append("    {")
        lines += [
            f"      const float4 x{n} = __ldcg(&of[{_at(array, places, n)}]);" for n, _ in some
        ]
        for n, quad in some:
            pairs = zip(quad, "xyzw", strict=True)
            lines += [f"      {to} += x{n}.{w};" for to, w in pairs if to != "0.0f"]
        lines.append("    }")
    return [*lines, "  }", "}"]


def _together(context: Context, arrays: Sequence[RegisterArray], apart: int) -> list[str]:
    """The state of all parts; sums that depend on a maximum are brought to the highest."""
    split, met = context.loop.schedule.split, meeting(context.loop)
    top, rescaled = met.top, met.rescaled
    places = _places(arrays)
    high = next(a for a in arrays if a.name == top)
    rest = [a for a in arrays if a.name != top]
    step = _parts_at_once(arrays, split)
    return [
        "#pragma unroll 8",
        f"for (int p = 0; p < {split}; ++p)",
        *indent(_blocks(context, high), 2),
        f"    const float4 was = __ldcg(&parts[p * {apart} + {_at(high, places, 0)}]);",
        f"    {top}[b][0] = fmaxf({top}[b][0], was.x);",
        f"    {top}[b][1] = fmaxf({top}[b][1], was.y);",
        "  }",
        *(x for a in rest for x in _cleared(a)),
        "#pragma unroll 1",
        f"for (int p = 0; p < {split}; p += {step}) {{",
        f"  const float4* const of = parts + p * {apart};",
        f"  float weight[{step}][{high.blocks}][2];",
        "#pragma unroll",
        f"  for (int i = 0; i < {step}; ++i)",
        *indent(_blocks(context, high), 2),
        f"    const float4 was = __ldcg(&of[i * {apart} + {_at(high, places, 0)}]);",
        f"    weight[i][b][0] = {device.exp2_approx}(was.x - {top}[b][0]);",
        f"    weight[i][b][1] = {device.exp2_approx}(was.y - {top}[b][1]);",
        "  }",
        *indent(
            [
                x
                for a in rest
                for x in _added(context, a, places, apart, step, scaled=a.name in rescaled)
            ],
            2,
        ),
        "}",
    ]


def _parts_at_once(arrays: Sequence[RegisterArray], split: int) -> int:
    """Parts whose quads are on their way at once: the loop's own registers are free by now."""
    free = (MOST_REGISTERS - sum(a.registers for a in arrays)) // 4
    each = sum(quads_of(a) for a in arrays)
    return max(n for n in range(1, split + 1) if split % n == 0 and (n == 1 or n * each <= free))


def _cleared(array: RegisterArray) -> list[str]:
    count = array.cols // 2 if array.form == "tile" else 2
    return [
        "#pragma unroll",
        f"for (int b = 0; b < {array.blocks}; ++b)",
        "#pragma unroll",
        f"  for (int j = 0; j < {count}; ++j) {array.name}[b][j] = 0.0f;",
    ]


def _added(
    context: Context,
    array: RegisterArray,
    places: dict[str, int],
    apart: int,
    step: int,
    *,
    scaled: bool,
) -> list[str]:
    """The share of ``step`` parts in a sum; loads of several quads are on their way at once."""
    tile, quads = array.form == "tile", quads_text(array)
    lines = _blocks(context, array)
    ahead = len(quads) if step > 1 else _ahead(context)
    for first in range(0, len(quads), ahead):
        some = list(enumerate(quads))[first : first + ahead]
        lines += ["  {", f"    float4 x[{step}][{len(some)}];"]
        lines += [
            f"    x[{i}][{n - first}] = __ldcg(&of[{i * apart} + {_at(array, places, n)}]);"
            for i in range(step)
            for n, _ in some
        ]
        for i, (n, quad) in product(range(step), some):
            for place, (word, to) in enumerate(zip("xyzw", quad, strict=True)):
                whole = n < array.cols // 16 * 2  # four of one row
                row = (n % 2 if whole else place // 2) if tile else place
                weight = f" * weight[{i}][b][{row}]" if scaled else ""
                lines += (
                    [] if to == "0.0f" else [f"    {to} += x[{i}][{n - first}].{word}{weight};"]
                )
        lines.append("  }")
    return [*lines, "}"]
