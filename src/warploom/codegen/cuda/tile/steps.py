"""Steps of vector work as CUDA source: loops over a thread's elements, reductions, then rows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.expressions import number
from warploom.codegen.cuda.tile.int4 import LEAST as NIBBLE, nibbles
from warploom.codegen.cuda.tile.loads import called
from warploom.codegen.cuda.tile.vector import ELEMENTS, Vector, row_scope
from warploom.ir.tile import Broadcast, DType, Fn, Pointwise, Reduce
from warploom.passes.body import refusal
from warploom.passes.fuse import Step, fresh_product
from warploom.passes.layout import Array, Form, part_sums
from warploom.passes.op_cost import scaled_rows

LEAST = {Fn.MAX: "__int_as_float(0xff800000)", Fn.MIN: "__int_as_float(0x7f800000)"}
COMBINE = {Fn.MAX: "fmaxf({0}, {1})", Fn.MIN: "fminf({0}, {1})", Fn.ADD: "{0} + {1}"}
QUAD = {Fn.MAX: "quad_max", Fn.MIN: "quad_min", Fn.ADD: "quad_sum"}
WHOLE_LEAST = {Fn.MAX: number(-(2**31), DType.I32), Fn.MIN: number(2**31 - 1, DType.I32)}
WHOLE = {
    Fn.MAX: "max({0}, {1})",
    Fn.MIN: "min({0}, {1})",
    Fn.ADD: "(int)((unsigned){0} + (unsigned){1})",
}


def step_text(
    context: Context, step: Step, iteration: str | None, cut: int = 0
) -> tuple[list[str], list[str]]:
    """What a step keeps between iterations, and its body.

    That is elements with the rows they need, then reductions and rows after them. ``cut``: after
    so many of a thread's elements bytes are awaited.
    """
    made = {op.result.name for op in step.ops}
    product = fresh_product(context.layout.body, step)
    new = partial(
        Vector, context, step.rows, local=made, iteration=iteration, step=step.name, product=product
    )
    inner, outer = new(step.cols), new(None)
    outer.scopes.step, outer.scopes.ahead = inner.scopes.step, inner.scopes.ahead
    scaled = _scaled_rows(context, step)
    if scaled:
        return [], scaled
    reduces = [op for op in step.ops if isinstance(op, Reduce)]
    sums, maxima = _reductions(context, step, inner, outer)
    stores: list[_Assignment] = []
    packs: list[tuple[str, str]] = []
    after: list[str] = []
    row_stores: list[tuple[str, str, str]] = []
    homes = dict(context.layout.homes)
    for work in step.ops:
        name = work.result.name
        if name not in step.results:
            continue
        halves = nibbles(context.layout.body, work, step.cols)
        if halves is not None:
            array = context.layout.array_of(name)
            bytes_ = inner.bytes_of(halves[0])
            least = f"{NIBBLE[array.dtype] + halves[1]}.0f"
            after += [
                "#pragma unroll",
                f"for (int u = 0; u < 4; ++u) {array.name}[b][g][u] ="
                f" nibbles_{array.dtype}({bytes_}[u], {least});",
            ]
        elif len(work.result.dims) == 2 and not isinstance(work, Reduce):
            stores.append(_store_element(context, name, _unrounded(work), inner, packs))
        else:
            kind = context.layout.array_of(name).kind
            row_stores.append((kind, homes[name], outer.value(name)))
    blocks = _blocks(context, step)
    lines = [*inner.scopes.step, *(x for op in reduces for x in _begun(op, blocks))]
    if step.cols is not None:
        loop = (_read_first(stores + sums), packs, blocks, step.cols, after)
        lines += tile_loop(context, inner, *loop, _cut(context, step, cut) if cut else ())
    if maxima:
        lines += ["#pragma unroll", f"for (int b = 0; b < {blocks}; ++b) {{", *maxima, "}"]
    lines += _row_loop(outer, row_stores, blocks) if row_stores else []
    return list(inner.scopes.ahead.values()), lines


def _begun(op: Reduce, blocks: int) -> list[str]:
    """What a reduction begins with."""
    whole, label = op.result.dtype is DType.I32, called("red", op.result.name)
    first = WHOLE_LEAST.get(op.fn, "0") if whole else LEAST.get(op.fn, "0.0f")
    return [
        f"{'int' if whole else 'float'} {label}[{blocks}][2];",
        "#pragma unroll",
        f"for (int b = 0; b < {blocks}; ++b) {label}[b][0] = {label}[b][1] = {first};",
    ]


class _Assignment(NamedTuple):
    """A line for every element, the array it overwrites and the one it reads; None: no array."""

    line: str
    writes: str | None
    reads: str | None


def _read_first(every: list[_Assignment]) -> list[str]:
    """Assignments in their order, but each after those that read what it overwrites."""
    left, found = list(every), list[str]()
    while left:
        free = (
            n
            for n, one in enumerate(left)
            if one.writes is None
            or not any(other.reads == one.writes for m, other in enumerate(left) if m != n)
        )
        found.append(left.pop(next(free, 0)).line)
    return found


def start_text(context: Context, array: Array, first: str) -> list[str]:
    """What a carried value begins with, where its elements differ."""
    vars_of = context.layout.body.values[first].vars
    vector = Vector(context, vars_of[0], vars_of[1] if len(vars_of) == 2 else None)
    text = vector.value(first)
    if array.form is not Form.TILE:
        stores = [(array.kind, array.name, text)]
        return [*vector.scopes.step, *_row_loop(vector, stores, array.blocks)]
    element = [f"{array.name}[b][4 * h + e] = {text};"]
    loop = tile_loop(context, vector, element, [], array.blocks, vars_of[1])
    return [*vector.scopes.step, *loop]


def _scaled_rows(context: Context, step: Step) -> list[str]:
    """A step that only multiplies a tile in its place by factors of its rows."""
    found = scaled_rows(context.layout, step)
    if found is None:
        return []
    tile, rows = found
    return [
        "#pragma unroll",
        f"for (int b = 0; b < {_blocks(context, step)}; ++b) scale_rows({tile}[b], {rows}[b]);",
    ]


def _reductions(
    context: Context, step: Step, inner: Vector, outer: Vector
) -> tuple[list[_Assignment], list[str]]:
    """What reductions do with an element, and what they do with a block once it is whole."""
    parts = part_sums(context.layout.body)
    elements: list[_Assignment] = []
    blocks: list[str] = []
    for op in (op for op in step.ops if isinstance(op, Reduce)):
        name = op.result.name
        text, array = f"{called('red', name)}[b][i]", _compared_in(context, step, op)
        if array is not None:
            blocks.append(f"  row_maxima({array.name}[b], {called('red', name)}[b]);")
        else:
            label = f"{called('red', op.result.name)}[b][i]"
            if op.over != step.cols:
                raise refusal(
                    "a reduction over the rows of a tile",
                    op.result.line,
                    why="rows lie in different warps",
                    fix="reduce over the columns, or work on the transposed tile",
                )
            how = (WHOLE if op.result.dtype is DType.I32 else COMBINE)[op.fn]
            line = f"{label} = {how.format(label, inner.value(op.arg))};"
            elements.append(_Assignment(line, None, inner.array_of(op.arg)))
        if array is None and name not in parts:  # all lanes meet here: never inside a condition
            across = f"{QUAD[op.fn]}{'_i32' if op.result.dtype is DType.I32 else ''}"
            text = outer.declare(op.result, f"{across}({text})", called("whole", name))
        outer.names[name] = text
    return elements, blocks


def _compared_in(context: Context, step: Step, op: Reduce) -> Array | None:
    """The array that holds what a maximum is taken of, once the step's elements are written."""
    layout, (arg, _) = context.layout, context.layout.body.through(op.arg)
    made = {work.result.name for work in step.ops}
    homes = dict(layout.homes)
    if op.fn is not Fn.MAX or op.over != step.cols or homes.get(arg) is None:
        return None
    written = [n for n in step.results if homes[n] == homes[arg]]
    array = layout.array_of(arg)
    whole = array.form is Form.TILE and array.cols == layout.extent(op.over)
    whole = whole and array.dtype is not DType.I32
    return array if whole and written == ([arg] if arg in made else []) else None


def _unrounded(op: Pointwise | Broadcast) -> str:
    """The value that a result is written from; packing rounds by itself."""
    last = isinstance(op, Pointwise) and op.fn is Fn.CAST and op.result.dtype.bits < 32
    return op.args[0] if last and isinstance(op, Pointwise) else op.result.name


def _store_element(
    context: Context, name: str, source: str, vector: Vector, packs: list[tuple[str, str]]
) -> _Assignment:
    array, text = context.layout.array_of(name), vector.value(source)
    reads = vector.array_of(source)
    if array.form is Form.TILE:
        return _Assignment(f"{array.name}[b][4 * h + e] = {text};", array.name, reads)
    temporary = f"y_{array.name}"
    packs.append((temporary, array.name))
    return _Assignment(f"{temporary}[e] = {text};", None, reads)


def tile_loop(
    context: Context,
    vector: Vector,
    element: list[str],
    packs: list[tuple[str, str]],
    blocks: int,
    cols: str,
    more: Iterable[str] = (),
    before: Iterable[str] = (),
) -> list[str]:
    """Loops over blocks, 16 columns and elements; ``more``: what is done for 16 columns at once,
    ``before``: what is done before them.
    """
    chunk = [f"float {t}[{ELEMENTS}];" for t, _ in packs]
    after = [*more]
    for temporary, array in packs:
        pack = f"pack_{context.layout.array_of(_member(context, array)).dtype}"
        after += [
            "#pragma unroll",
            f"for (int u = 0; u < 4; ++u) {array}[b][g][u] = "
            f"{pack}({temporary}[2 * u], {temporary}[2 * u + 1]);",
        ]
    groups = context.layout.extent(cols) // 16
    each = [*vector.scopes.element, *element]
    elements = [
        "#pragma unroll",
        f"    for (int e = 0; e < {ELEMENTS}; ++e) {{",
        *(["      const int i = e / 2 % 2;"] if _uses_row(each) else []),
        *indent(each, 6),
        "    }",
    ]
    return [
        "#pragma unroll",
        f"for (int b = 0; b < {blocks}; ++b) {{",
        *indent(row_scope(vector), 2),
        "#pragma unroll",
        f"  for (int g = 0; g < {groups}; ++g) {{",
        "    const int h = 2 * g;",
        *indent([*before, *vector.scopes.chunk, *chunk], 4),
        *(elements if each else []),
        *indent(after, 4),
        "  }",
        "}",
    ]


def _cut(context: Context, step: Step, cut: int) -> list[str]:
    """Where a step is interrupted: its elements before stay before it."""
    arrays = (context.layout.array_of(n) for n in step.results if n in dict(context.layout.homes))
    array = next(a for a in arrays if a.form is Form.TILE)
    if cut % ELEMENTS or not 0 < cut < array.cols // 2:
        raise refusal(
            f"full_wait_after={cut} with {array.cols // 2} elements of a thread",
            None,
            why=f"bytes are awaited between groups of {ELEMENTS} elements",
            fix=f"a multiple of {ELEMENTS} below {array.cols // 2}, or 0",
        )
    held = f"computed({array.name}[b], {cut});"
    return [f"if (b == 0 && {ELEMENTS} * g == {cut}) {{ {held} landed(); }}"]


def _uses_row(lines: list[str]) -> bool:
    return any("[i]" in line or ", i)" in line for line in lines)


def _member(context: Context, array: str) -> str:
    return next(v for v, home in context.layout.homes if home == array)


def _row_loop(vector: Vector, stores: list[tuple[str, str, str]], blocks: int) -> list[str]:
    """Rows of a step, once for each of a thread's rows; results are written last."""
    values = [f"const {kind} out_{k} = {text};" for k, (kind, _, text) in enumerate(stores)]
    writes = [f"{home}[b][i] = out_{k};" for k, (_, home, _) in enumerate(stores)]
    return [
        "#pragma unroll",
        f"for (int b = 0; b < {blocks}; ++b) {{",
        *indent(vector.scopes.row_names, 2),
        "#pragma unroll",
        "  for (int i = 0; i < 2; ++i) {",
        *indent([*vector.scopes.rows, *values, *writes], 4),
        "  }",
        "}",
    ]


def _blocks(context: Context, step: Step) -> int:
    rows = context.layout.extent(step.rows) if step.rows else 64
    return rows // context.layout.config.consumer_warpgroups // 64
