"""Rows that a list picks, as CUDA source: copies of 16 bytes a thread from memory to slots.

Eight threads take a line of 128 bytes of a row, all of them 12 rows at a time; a thread remembers
where its rows begin for the tile. Copies land by themselves and arrive for their thread; who
waits for them fences, as they are ordinary writes to the tensor cores. Rows and columns that do not
exist are zeros. Rows that do not begin at 16 bytes are read and written element by element.
"""

from __future__ import annotations

from typing import NamedTuple

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.from_module import printer
from warploom.codegen.cuda.tile.loads import LINE_BYTES
from warploom.codegen.cuda.tile.loop_view import moves
from warploom.codegen.cuda.tile.operands import blocks_of, columns_of_line
from warploom.codegen.cuda.tile.work import COL, ROW, axes_of, first_of
from warploom.errors import BackendError
from warploom.ir import operations as ops
from warploom.ir.expr import (
    Apply,
    Binary,
    IntExpr,
    Op,
    Sym,
    SymKind,
    conjuncts,
    nodes,
    rewrite,
    substitute,
)
from warploom.ir.module import PartShape
from warploom.ir.tile_schedule import let

CHUNK_BYTES = 16  # what a thread copies at once: eight threads take a line of a row
THREADS = 96
AT_ONCE = THREADS * CHUNK_BYTES // LINE_BYTES  # rows
MINE = "(threadIdx.x - 32) / 8"  # the first warp is the producer
NOW = Sym(SymKind.STEP, "t")


class _Rows(NamedTuple):
    """Of a copy of rows: the place of row ``ROW`` in the list, and where places end; where columns
    begin and end; the row of the tensor that the list has there, and how many those are; other
    conditions.
    """

    place: IntExpr
    end: IntExpr
    first: IntExpr
    stop: IntExpr
    picked: int
    size: IntExpr
    there: list[IntExpr]


def function_of(copy: ops.ThreadCopy) -> str:
    """The function of the source that makes a copy."""
    return f"load_{copy.ring}"


def gathered_lines(context: Context, copy: ops.ThreadCopy) -> list[str]:
    """Declared for every tile: where its rows begin, and what copies them."""
    made, tile = printer(context), context.module.part(copy.ring, copy.part)
    array, rows = f"rows_{copy.part}", _rows(context, copy)
    many = -(-tile.rows // AT_ONCE)
    steps = [f"{context.stride(copy.tensor, n)}" for n in range(len(copy.at) - 1)]
    wide = " | ".join(f"{s} % {_elements(tile)}" for s in steps)
    begins = _rows_of(context, copy, rows, tile, array, many)
    moving = any(moves(x) for x in copy.at[:-1])
    slot = f"slot + {LINE_BYTES} * ({MINE})"
    return [
        *([] if moving else begins),
        f"const long long first_{array} = (long long){context.pointer(copy.tensor)};",
        f"const bool wide_{array} = (({wide}) | (first_{array} % {CHUNK_BYTES})) == 0;",
        f"auto {function_of(copy)} = [&](int k, uint32_t slot, uint32_t full) {{",
        *indent(begins if moving else [], 2),
        f"  const int from = {made.text(rows.first)}, end = {made.text(rows.stop)};",
        f"  const int left = end - from - {_elements(tile)} * (threadIdx.x % 8);",
        f"  const uint32_t even = {slot} + (((threadIdx.x ^ ({MINE})) % 8) << 4), odd = even ^ 64;",
        f"  if (wide_{array} && all_{array} && from + {tile.cols} <= end) {{",
        *indent(_each(tile, array, many, f"{device.copy_line}({{to}}, {{at}});"), 4),
        f"    {device.copies_arrive}(full);",
        f"  }} else if (wide_{array}) {{",
        *indent(_each(tile, array, many, f"{device.copy_row}({{to}}, {{at}}, {_left(array)});"), 4),
        f"    {device.copies_arrive}(full);",
        "  } else {",
        *indent(
            _each(tile, array, many, f"{device.move_elements}({{to}}, {{at}}, {_left(array)});"), 4
        ),
        f"    {device.proxy_fence}();",
        f"    {device.mbar_arrive}(full);",
        "  }",
        "};",
    ]


def _elements(tile: PartShape) -> int:
    """Elements that a thread copies at once."""
    return CHUNK_BYTES * 8 // tile.dtype.bits


def _left(array: str) -> str:
    return f"missing_{array} >> i & 1 ? 0 : left - across"


def _rows(context: Context, copy: ops.ThreadCopy) -> _Rows:
    """What a copy says of its rows and columns, at the running iteration."""
    at = [_now(x, copy.iteration) for x in copy.at]
    parts = [_now(x, copy.iteration) for x in conjuncts(copy.predicate)]
    below = {x.a: x.b for x in parts if isinstance(x, Binary) and x.op is Op.LT}
    picked = next((n for n, x in enumerate(at) if ROW in axes_of(x)), None)
    first = first_of(at[-1], COL)
    if picked is None or first is None or at[-1] not in below or at[picked] not in below:
        raise _refused(context, copy)
    found = {x for x in nodes(at[picked]) if _is_place(x)}
    whole = next((x for x in found if isinstance(x, Binary) and x.op is Op.MIN), None)
    if whole is not None:  # rows past the end of a group are not stored: any one will do
        place, last = whole.a, whole.b
        end = last.a if isinstance(last, Binary) and last.op is Op.SUB else None
    else:
        place = next(iter(found)) if len(found) == 1 else ROW
        end = below.get(place)
    if end is None or first_of(place, ROW) is None:
        raise _refused(context, copy)
    known = {at[-1], at[picked], place}
    there = [x for x in parts if not (isinstance(x, Binary) and x.a in known)]
    return _Rows(
        place=whole or place,
        end=end,
        first=first,
        stop=below[at[-1]],
        picked=picked,
        size=below[at[picked]],
        there=there,
    )


def _is_place(node: IntExpr) -> bool:
    """Whether a node is the place of a row in its list: its first one and the row, held inside."""
    if isinstance(node, Binary) and node.op is Op.MIN:
        return first_of(node.a, ROW) is not None
    return node != ROW and first_of(node, ROW) is not None


def _refused(context: Context, copy: ops.ThreadCopy) -> BackendError:
    return BackendError(
        f"a copy of rows of {copy.tensor} at {', '.join(map(str, copy.at))}",
        where=context.module.name,
        why="threads copy whole lines of rows that a list picks",
        fix="give it the coordinates and the predicate that passes derive",
    )


def _now(expr: IntExpr, iteration: IntExpr) -> IntExpr:
    """An expression of an iteration, in terms of the running one."""

    def now(node: IntExpr) -> IntExpr | None:
        if isinstance(node, Apply) and node.argument == iteration:
            return Apply(node.function, NOW)
        return None

    return rewrite(expr, now)


def _rows_of(
    context: Context, copy: ops.ThreadCopy, rows: _Rows, tile: PartShape, array: str, many: int
) -> list[str]:
    """Where a thread's chunks begin: what is computed once a tile is not computed for every copy,
    which would take longer than the copies.
    """
    made = printer(context)
    at = [_now(x, copy.iteration) for x in copy.at]
    own = {rows.picked: "max(number, 0)", len(at) - 1: f"{_elements(tile)} * (threadIdx.x % 8)"}
    size = made.text(rows.size)
    places = [own.get(n) or made.text(x) for n, x in enumerate(at)]
    mine: dict[Sym, IntExpr] = {ROW: let("mine")}
    number = made.text(substitute(at[rows.picked], mine))
    start = context.place(copy.tensor, [f"(long long)({p})" for p in places])
    end, place = made.text(rows.end), made.text(substitute(rows.place, mine))
    there = [f"mine < {tile.rows}", f"row < {end}", *made.conditions(rows.there)]
    return [
        f"const uint16_t* {array}[{many}];",
        f"unsigned missing_{array} = 0;",
        "#pragma unroll",
        f"for (int i = 0; i < {many}; ++i) {{",
        f"  const int mine = {MINE} + {AT_ONCE} * i, row = {place};",
        f"  const bool exists = {' && '.join(there)};",
        f"  int number = exists ? {number} : -1;",
        f"  if ((unsigned)number >= (unsigned){size}) {{",
        "    number = -1;",
        f"    missing_{array} |= mine < {tile.rows} ? 1u << i : 0u;",
        "  }",
        f"  {array}[i] = &{start};",
        "}",
        f"const bool all_{array} = __all_sync(~0u, missing_{array} == 0);",
    ]


def _each(tile: PartShape, array: str, many: int, call: str) -> list[str]:
    """A call for every line of a thread. Rows are 12 apart: every other one is swizzled alike."""
    to = f"(i % 2 ? odd : even) + {tile.rows * LINE_BYTES} * n + {LINE_BYTES * AT_ONCE} * i"
    whole = tile.rows % AT_ONCE == 0
    last = "" if whole else f"if (i < {many - 1} || {MINE} + {AT_ONCE} * i < {tile.rows}) "
    return [
        "#pragma unroll",
        f"for (int n = 0; n < {blocks_of(tile)}; ++n) {{",
        f"  const int across = {columns_of_line(tile)} * n;",
        "  (void)across;",
        "#pragma unroll",
        f"  for (int i = 0; i < {many}; ++i)",
        f"    {last}{call.format(to=to, at=f'{array}[i] + (from + across)')}",
        "}",
    ]
