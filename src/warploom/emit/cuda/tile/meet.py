"""Parts of a split loop meeting, as CUDA text.

Every part leaves its state in memory and counts itself. The last one reads what all of them left,
in the order of the parts, and goes on with the tile; nobody waits, so any number of CTAs may run at
a time. Rows outside the tensor are neither written nor read. The counter is 0 again afterwards.
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
from warploom.lower.meet import PAIR_BYTES, meeting_of, met_arrays, pairs_of, part_bytes

COUNTER_BYTES = 1 << 16  # counters of tiles and consumers, at the start of the memory
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
    apart = part_bytes(layout) // PAIR_BYTES
    barrier = f"{group_barrier(site.document)} + instance"
    return [
        "bool is_last;",
        "{",
        "  const int thread = threadIdx.x % 128;",
        f"  unsigned* const counter = (unsigned*){context.work()} + tile * {consumers} + instance;",
        f"  float2* const parts = (float2*)({context.work()} + {COUNTER_BYTES}) +"
        f" (long long)tile * {split * apart} + instance * {apart // consumers} + thread;",
        "  {",
        f"    float2* const left = parts + part * {apart};",
        *indent([x for a in arrays for x in _write(context, a, _places(arrays)[a.name])], 4),
        "  }",
        "  __threadfence();",
        f"  named_sync({barrier}, 128);",
        "  bool last = false;",
        "  if (thread == 0) {",
        f"    last = atomicAdd(counter, 1u) == {split - 1};",
        "    if (last) *counter = 0;",
        "    __threadfence();",
        "  }",
        f"  is_last = any_of_group({barrier}, last);",
        "  if (is_last) {",
        *indent(_together(context, arrays, apart), 4),
        "  }",
        "}",
    ]


def _places(arrays: Sequence[Array]) -> dict[str, int]:
    """The first pair of each array in what a thread leaves."""
    found, at = {}, 0
    for array in arrays:
        found[array.name] = at
        at += pairs_of(array)
    return found


def _write(context: Context, array: Array, at: int) -> list[str]:
    if array.form is not Form.TILE:
        value = f"make_float2({array.name}[b][0], {array.name}[b][1])"
        return [*_blocks(array), f"  __stcg(&left[({at} + b) * 128], {value});"]
    value = f"make_float2({array.name}[b][2 * q], {array.name}[b][2 * q + 1])"
    return [
        *_tile(context, array),
        f"    __stcg(&left[({at} + b * {array.cols // 4} + q) * 128], {value});",
    ]


def _blocks(array: Array) -> list[str]:
    return ["#pragma unroll", f"for (int b = 0; b < {array.blocks}; ++b)"]


def _tile(context: Context, array: Array) -> list[str]:
    """The head of a walk over a thread's pairs of a tile in rows that exist."""
    body = context.layout.body
    carried = next(c for c in body.loop.carried if _home(context, c.result.name) == array.name)
    rows = carried.result.vars[0]
    return [
        *_blocks(array),
        "#pragma unroll",
        f"  for (int q = 0; q < {array.cols // 4}; ++q)",
        f"   if (pos_{rows} + row_of(b, q % 2) < {context.size(context.kernel.var(rows).axis)})",
    ]


def _home(context: Context, value: str) -> str:
    return dict(context.layout.homes)[value]


def _together(context: Context, arrays: Sequence[Array], apart: int) -> list[str]:
    """The state of all parts; sums that depend on a maximum are brought to the highest."""
    split, meeting = context.layout.tiling.split, meeting_of(context.layout.body)
    top = _home(context, meeting.top.result.name) if meeting.top else ""
    rescaled = {_home(context, c.result.name) for c, scaled in meeting.sums if scaled}
    places = _places(arrays)
    lines: list[str] = []
    for array in arrays:
        if array.name == top:
            lines += _highest(array, f"p * {apart}LL + ({places[top]} + b) * 128", split)
            continue
        count = array.cols // 2 if array.form is Form.TILE else 2
        lines += [*_blocks(array), "#pragma unroll"]
        lines.append(f"  for (int j = 0; j < {count}; ++j) {array.name}[b][j] = 0.0f;")
    lines += ["#pragma unroll 1", f"for (int p = 0; p < {split}; ++p) {{"]
    lines.append(f"  const float2* const of = parts + p * {apart}LL;")
    if rescaled:
        blocks = next(a.blocks for a in arrays if a.name == top)
        lines += [
            f"  float weight[{blocks}][2];",
            "#pragma unroll",
            f"  for (int b = 0; b < {blocks}; ++b) {{",
            f"    const float2 was = __ldcg(&of[({places[top]} + b) * 128]);",
            f"    weight[b][0] = exp2_approx(was.x - {top}[b][0]);",
            f"    weight[b][1] = exp2_approx(was.y - {top}[b][1]);",
            "  }",
        ]
    for array in arrays:
        if array.name != top:
            lines += indent(
                _add(context, array, places[array.name], scaled=array.name in rescaled), 2
            )
    return [*lines, "}"]


def _highest(top: Array, place: str, split: int) -> list[str]:
    return [
        "#pragma unroll 4",
        f"for (int p = 0; p < {split}; ++p)",
        *indent(_blocks(top), 2),
        "  {",
        f"    const float2 was = __ldcg(&parts[{place}]);",
        f"    {top.name}[b][0] = fmaxf({top.name}[b][0], was.x);",
        f"    {top.name}[b][1] = fmaxf({top.name}[b][1], was.y);",
        "  }",
    ]


def _add(context: Context, array: Array, at: int, *, scaled: bool) -> list[str]:
    name = array.name
    if array.form is not Form.TILE:
        x, y = (f" * weight[b][{i}]" if scaled else "" for i in (0, 1))
        return [
            *_blocks(array),
            "  {",
            f"    const float2 x = __ldcg(&of[({at} + b) * 128]);",
            f"    {name}[b][0] += x.x{x};",
            f"    {name}[b][1] += x.y{y};",
            "  }",
        ]
    factor = " * weight[b][q % 2]" if scaled else ""
    return [
        *_tile(context, array),
        "    {",
        f"      const float2 x = __ldcg(&of[({at} + b * {array.cols // 4} + q) * 128]);",
        f"      {name}[b][2 * q] += x.x{factor};",
        f"      {name}[b][2 * q + 1] += x.y{factor};",
        "    }",
    ]
