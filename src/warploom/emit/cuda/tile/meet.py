"""Parts of a split loop meeting, as CUDA text.

Every part counts itself and leaves its state in memory, except the last one: it takes what the
others left, adds it up in the order of the parts, its own where it belongs, and goes on with the
tile. It waits only for parts that are writing, so any number of CTAs may run at a time. Sums that
depend on a maximum are left by all parts and put together from memory. Rows outside the tensor are
neither written nor read. The counters are 0 again afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.document.roles import (
    BulkCommit,
    BulkStore,
    BulkWait,
    Compute,
    ProxyFence,
    RoleEntry,
    ScopeSync,
)
from warploom.emit.cuda.judged import group_barrier
from warploom.emit.cuda.lowering import Site
from warploom.emit.cuda.roles import indent
from warploom.emit.cuda.tile.context import Context
from warploom.errors import GeometryError
from warploom.lower.layout import Array, Form, Layout
from warploom.lower.meet import QUAD_BYTES, meeting_of, met_arrays, part_bytes, quads_of

COUNTER_BYTES = 1 << 16  # counters of tiles and consumers, at the start of the memory
MOST_AHEAD = 8  # parts whose values are on their way at once
OWN = Compute | BulkStore | BulkWait | BulkCommit | ProxyFence | ScopeSync


def refuse_shared(layout: Layout, entries: Sequence[RoleEntry]) -> None:
    """What only the last part runs must be nobody else's business."""
    for e in entries:
        if not isinstance(e, OWN) or (isinstance(e, Compute) and (e.slots or e.fills_slots)):
            raise GeometryError(
                f"{type(e).__name__} after the loop of a split tile",
                where=f"tiling {layout.tiling.name}",
                why="only the last part ends the tile, and other roles would wait for the rest",
                fix="split=1",
            )


def meet_lines(context: Context, site: Site) -> list[str]:
    """Leave the part's state, and go on with that of all parts as the last of them."""
    layout = context.layout
    arrays, consumers, split = met_arrays(layout), layout.tiling.consumers, layout.tiling.split
    apart = part_bytes(layout) // QUAD_BYTES
    barrier = f"{group_barrier(site.document)} + instance"
    sums = meeting_of(layout.body).top is None
    return [
        "bool is_last;",
        "{",
        "  const int thread = threadIdx.x % 128;",
        f"  unsigned* const counted = (unsigned*){context.work()} +"
        f" 2 * (tile * {consumers} + instance);",
        f"  float4* const parts = (float4*)({context.work()} + {COUNTER_BYTES}) +"
        f" tile * {split * apart}LL + instance * {apart // consumers} + thread;",
        *indent((_sums if sums else _states)(context, arrays, apart, barrier), 2),
        "}",
    ]


def _sums(context: Context, arrays: Sequence[Array], apart: int, barrier: str) -> list[str]:
    """The last part adds up what the others left."""
    split = context.layout.tiling.split
    places = _places(arrays)
    return [
        f"is_last = any_of_group({barrier}, thread == 0 && atomicAdd(counted, 1u) == {split - 1});",
        "if (!is_last) {",
        *indent(_leave(context, arrays, apart), 2),
        "  __threadfence();",
        f"  named_sync({barrier}, 128);",
        "  if (thread == 0) atomicAdd(counted + 1, 1u);",
        "} else {",
        "  if (thread == 0) {",
        f"    while (load_acquire(counted + 1) != {split - 1}) {{}}",
        "    counted[0] = counted[1] = 0;",
        "  }",
        f"  named_sync({barrier}, 128);",
        *indent([x for a in arrays for x in _summed(context, a, places[a.name], apart)], 2),
        "}",
    ]


def _states(context: Context, arrays: Sequence[Array], apart: int, barrier: str) -> list[str]:
    """All parts leave their states, and the last one puts them together."""
    split = context.layout.tiling.split
    return [
        *_leave(context, arrays, apart),
        "__threadfence();",
        f"named_sync({barrier}, 128);",
        "bool last = false;",
        "if (thread == 0) {",
        f"  last = atomicAdd(counted, 1u) == {split - 1};",
        "  if (last) *counted = 0;",
        "  __threadfence();",
        "}",
        f"is_last = any_of_group({barrier}, last);",
        "if (is_last) {",
        *indent(_together(context, arrays, apart), 2),
        "}",
    ]


def _places(arrays: Sequence[Array]) -> dict[str, int]:
    """The first quad of each array in what a thread leaves."""
    found, at = {}, 0
    for array in arrays:
        found[array.name] = at
        at += quads_of(array)
    return found


def _leave(context: Context, arrays: Sequence[Array], apart: int) -> list[str]:
    places = _places(arrays)
    lines = [f"float4* const left = parts + part * {apart};"]
    for array in arrays:
        x = ", ".join(_quad(array))
        lines += [
            *_walk(context, array),
            f"  __stcg(&left[{_at(array, places)}], make_float4({x}));",
        ]
    return lines


def _at(array: Array, places: dict[str, int]) -> str:
    inner = f" + b * {array.cols // 8} + 2 * g + i" if array.form is Form.TILE else " + b"
    return f"({places[array.name]}{inner}) * 128"


def _quad(array: Array) -> list[str]:
    """Four neighbours of a thread: of a tile, in one row of 16 columns; of rows, both."""
    if array.form is not Form.TILE:
        return [f"{array.name}[b][0]", f"{array.name}[b][1]", "0.0f", "0.0f"]
    return [f"{array.name}[b][8 * g + 2 * i + {e}]" for e in (0, 1, 4, 5)]


def _walk(context: Context, array: Array) -> list[str]:
    """The head of a walk over a thread's quads, of a tile in rows that exist."""
    blocks = ["#pragma unroll", f"for (int b = 0; b < {array.blocks}; ++b)"]
    if array.form is not Form.TILE:
        return blocks
    body = context.layout.body
    carried = next(c for c in body.loop.carried if _home(context, c.result.name) == array.name)
    rows = carried.result.vars[0]
    return [
        *blocks,
        "#pragma unroll",
        f" for (int g = 0; g < {array.cols // 16}; ++g)",
        "#pragma unroll",
        "  for (int i = 0; i < 2; ++i)",
        f"   if (pos_{rows} + row_of(b, i) < {context.size(context.kernel.var(rows).axis)})",
    ]


def _home(context: Context, value: str) -> str:
    return dict(context.layout.homes)[value]


def _summed(context: Context, array: Array, at: int, apart: int) -> list[str]:
    """A sum over the parts in their order."""
    split, quad = context.layout.tiling.split, _quad(array)
    own = ", ".join(quad)
    back = [f"{x} = sum.{w};" for x, w in zip(quad, "xyzw", strict=True) if x != "0.0f"]
    return [
        *_walk(context, array),
        "   {",
        "    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);",
        f"#pragma unroll {min(split, MOST_AHEAD)}",
        f"    for (int p = 0; p < {split}; ++p) {{",
        f"      const float4 x = p == part ? make_float4({own})",
        f"                                 : __ldcg(&parts[p * {apart}"
        f" + {_at(array, {array.name: at})}]);",
        "      sum.x += x.x, sum.y += x.y, sum.z += x.z, sum.w += x.w;",
        "    }",
        f"    {' '.join(back)}",
        "   }",
    ]


def _together(context: Context, arrays: Sequence[Array], apart: int) -> list[str]:
    """The state of all parts; sums that depend on a maximum are brought to the highest."""
    split, meeting = context.layout.tiling.split, meeting_of(context.layout.body)
    assert meeting.top is not None
    top = _home(context, meeting.top.result.name)
    rescaled = {_home(context, c.result.name) for c, scaled in meeting.sums if scaled}
    places = _places(arrays)
    high = next(a for a in arrays if a.name == top)
    rest = [a for a in arrays if a.name != top]
    return [
        "#pragma unroll 4",
        f"for (int p = 0; p < {split}; ++p)",
        *indent(_walk(context, high), 2),
        "  {",
        f"    const float4 was = __ldcg(&parts[p * {apart} + {_at(high, places)}]);",
        f"    {top}[b][0] = fmaxf({top}[b][0], was.x);",
        f"    {top}[b][1] = fmaxf({top}[b][1], was.y);",
        "  }",
        *(x for a in rest for x in _cleared(a)),
        "#pragma unroll 2",
        f"for (int p = 0; p < {split}; ++p) {{",
        f"  const float4* const of = parts + p * {apart};",
        f"  float weight[{high.blocks}][2];",
        *indent(_walk(context, high), 2),
        "  {",
        f"    const float4 was = __ldcg(&of[{_at(high, places)}]);",
        f"    weight[b][0] = exp2_approx(was.x - {top}[b][0]);",
        f"    weight[b][1] = exp2_approx(was.y - {top}[b][1]);",
        "  }",
        *indent([x for a in rest for x in _added(context, a, places, a.name in rescaled)], 2),
        "}",
    ]


def _cleared(array: Array) -> list[str]:
    count = array.cols // 2 if array.form is Form.TILE else 2
    return [
        "#pragma unroll",
        f"for (int b = 0; b < {array.blocks}; ++b)",
        "#pragma unroll",
        f"  for (int j = 0; j < {count}; ++j) {array.name}[b][j] = 0.0f;",
    ]


def _added(context: Context, array: Array, places: dict[str, int], scaled: bool) -> list[str]:
    tile = array.form is Form.TILE
    lines = [
        *_walk(context, array),
        "   {",
        f"    const float4 x = __ldcg(&of[{_at(array, places)}]);",
    ]
    for n, (to, word) in enumerate(zip(_quad(array), "xyzw", strict=True)):
        weight = f" * weight[b][{'i' if tile else n}]" if scaled else ""
        lines += [] if to == "0.0f" else [f"    {to} += x.{word}{weight};"]
    return [*lines, "   }"]
