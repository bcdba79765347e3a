"""Steps of vector work as CUDA source: loops over a thread's elements, reductions, then rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.expressions import COMBINE, IDENTITY
from warploom.codegen.cuda.tile.int4 import LEAST as NIBBLE, nibbles
from warploom.codegen.cuda.tile.loads import called, kind_of
from warploom.codegen.cuda.tile.vector import ELEMENTS, Vector, row_scope
from warploom.codegen.cuda.tile.work import TILES, Work, row_register
from warploom.dataclass import dataclass
from warploom.errors import KernelError
from warploom.ir import operations as ops
from warploom.ir.elementwise import REDUCTIONS
from warploom.ir.module import RegisterArray
from warploom.ir.types import DType, Fn

COLUMNS, QUAD = ("g", "p", "q"), (1, 2)  # what a reduction along the columns runs over


@dataclass(frozen=True, slots=True, kw_only=True)
class StepText:
    """What a step keeps between iterations, its lines, and whether they ask for ``MASKED``."""

    kept: list[str]
    lines: list[str]
    masked: bool


def step_text(context: Context, work: Work, cut: int = 0) -> StepText:
    """Elements with the rows they need, then reductions and rows after them. ``cut``: after so many
    of a thread's elements bytes are awaited.
    """
    inner, outer = Vector(context, work), Vector(context, work)
    outer.scopes.step, outer.scopes.ahead = inner.scopes.step, inner.scopes.ahead
    scaled = _scaled_rows(work)
    if scaled:
        return StepText(kept=[], lines=scaled, masked=False)
    sums, maxima = _reductions(work, inner, outer)
    stores: list[_Assignment] = []
    packs: list[tuple[str, RegisterArray]] = []
    after: list[str] = []
    row_stores: list[tuple[str, str, str]] = []
    functions = {f.name: f for f in inner.printed.loop.functions}
    for made in work.sets:
        array = work.array(made.array)
        work.refuse_register(array, made.register)
        halves = nibbles(work, made.value, functions, inner.printed.loop.bounds)
        if halves is not None and work.dtype(made.value) is array.dtype:
            bytes_ = inner.bytes_of(halves[0])
            least = f"{NIBBLE[array.dtype] + halves[1]}.0f"
            after += [
                "#pragma unroll",
                f"for (int u = 0; u < 4; ++u) {array.name}[b][g][u] ="
                f" {device[f'nibbles_{array.dtype}']}({bytes_}[u], {least});",
            ]
        elif array.form in TILES:
            stores.append(_store_element(array, _unrounded(work, made), inner, packs))
        else:
            row_stores.append((kind_of(array.dtype), array.name, outer.value(made.value)))
    blocks = work.extent("b")
    lines = [*inner.scopes.step, *(x for op in work.reduces for x in _begun(op, blocks))]
    if work.extent("g") * work.extent("p") > 1:
        before = _cut(work, cut) if cut else ()
        lines += tile_loop(inner, _read_first(stores + sums), packs, after, before)
    if maxima:
        lines += ["#pragma unroll", f"for (int b = 0; b < {blocks}; ++b) {{", *maxima, "}"]
    lines += _row_loop(outer, row_stores, blocks) if row_stores else []
    kept = list(inner.scopes.ahead.values())
    return StepText(kept=kept, lines=lines, masked=inner.masked or outer.masked)


def _begun(op: ops.VectorReduce, blocks: int) -> list[str]:
    """What a reduction begins with."""
    whole, label = op.dtype is DType.I32, called("red", op.result)
    first = IDENTITY[op.fn, whole]
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
    left, result = list(every), list[str]()
    while left:
        free = (
            n
            for n, one in enumerate(left)
            if one.writes is None
            or not any(other.reads == one.writes for m, other in enumerate(left) if m != n)
        )
        result.append(left.pop(next(free, 0)).line)
    return result


def start_text(context: Context, work: Work) -> list[str]:
    """What a carried value begins with."""
    if len(work.sets) != 1:
        raise work.refused(f"{len(work.sets)} values that a tile begins with at once")
    (made,) = work.sets
    array, vector = work.array(made.array), Vector(context, work)
    text = vector.value(made.value)
    lines = list(vector.scopes.step)
    if not work.axes(made.value):
        if made.register not in (None, row_register(None)):
            raise work.refused(f"register {made.register} of {array.name}")
        count = array.cols // 2 if array.form == "tile" else 2
        return [
            *lines,
            "#pragma unroll",
            f"for (int b = 0; b < {array.blocks}; ++b)",
            "#pragma unroll",
            f"  for (int j = 0; j < {count}; ++j) {array.name}[b][j] = {text};",
        ]
    work.refuse_register(array, made.register)
    if array.form == "tile":
        return [*lines, *tile_loop(vector, [f"{array.name}[b][4 * h + e] = {text};"], [])]
    stores = [(kind_of(array.dtype), array.name, text)]
    return [*lines, *_row_loop(vector, stores, array.blocks)]


def _scaled_rows(work: Work) -> list[str]:
    """A step that only multiplies a tile in its place by factors of its rows."""
    if len(work.sets) != 1 or len(work.makers) != 3:
        return []
    (made,) = work.sets
    op = work.makers[made.value]
    if not isinstance(op, ops.VectorPointwise) or op.fn is not Fn.MUL:
        return []
    kept = [x for x in (work.makers[a] for a in op.args) if isinstance(x, ops.VectorRegister)]
    forms = {work.array(x.array).form: x for x in kept}
    if set(forms) != {"tile", "row"} or len(kept) != 2 or made.register is not None:
        return []
    tile, rows = forms["tile"], forms["row"]
    if tile.array != made.array or tile.register is not None or rows.register != row_register(None):
        return []
    return [
        "#pragma unroll",
        f"for (int b = 0; b < {work.extent('b')}; ++b)"
        f" {device.scale_rows}({tile.array}[b], {rows.array}[b]);",
    ]


def _reductions(work: Work, inner: Vector, outer: Vector) -> tuple[list[_Assignment], list[str]]:
    """What reductions do with an element, and what they do with a block once it is whole."""
    elements: list[_Assignment] = []
    blocks: list[str] = []
    for op in work.reduces:
        if op.over != COLUMNS or op.lanes not in ((), QUAD):
            raise work.refused(f"a reduction {op.result} over {op.over} and lanes {op.lanes}")
        label = called("red", op.result)
        text, array = f"{label}[b][i]", _compared_in(work, op)
        if array is not None:
            blocks.append(f"  {device.row_maxima}({array.name}[b], {label}[b]);")
        else:
            how = COMBINE[op.fn, op.dtype is DType.I32]
            line = f"{text} = {how.format(text, inner.value(op.arg))};"
            elements.append(_Assignment(line, None, inner.array_of(op.arg)))
        if array is None and op.lanes:  # all lanes meet here: never inside a condition
            whole = "_i32" if op.dtype is DType.I32 else ""
            across = device[f"quad_{REDUCTIONS[op.fn].name}{whole}"]
            text = outer.declare(op.result, f"{across}({text})", called("whole", op.result))
        outer.names[op.result] = text
    return elements, blocks


def _compared_in(work: Work, op: ops.VectorReduce) -> RegisterArray | None:
    """The array that holds what a maximum is taken of, once the step's elements are written."""
    if op.fn is not Fn.MAX or op.dtype is DType.I32 or op.lanes != QUAD:
        return None
    made = work.makers[op.arg]
    if isinstance(made, ops.VectorRegister):
        name, own = made.array, []
    else:
        own = [x for x in work.sets if x.value == op.arg and work.array(x.array).form == "tile"]
        name = own[0].array if own else ""
    if not name or [x for x in work.sets if x.array == name] != own:
        return None
    array = work.array(name)
    whole = array.form == "tile" and array.cols == 16 * work.extent("g")
    return array if whole and array.dtype is not DType.I32 else None


def _unrounded(work: Work, made: ops.VectorSet) -> str:
    """The value that a result is written from; packing rounds by itself."""
    op, array = work.makers[made.value], work.array(made.array)
    if not isinstance(op, ops.VectorPointwise) or op.fn is not Fn.CAST or op.dtype.bits >= 32:
        return made.value
    if (array.form, array.dtype) != ("packed", op.dtype):
        raise work.refused(f"{op.dtype} in registers {array.name} of {array.dtype}")
    return op.args[0]


def _store_element(
    array: RegisterArray, source: str, vector: Vector, packs: list[tuple[str, RegisterArray]]
) -> _Assignment:
    text, reads = vector.value(source), vector.array_of(source)
    if array.form == "tile":
        return _Assignment(f"{array.name}[b][4 * h + e] = {text};", array.name, reads)
    temporary = f"y_{array.name}"
    packs.append((temporary, array))
    return _Assignment(f"{temporary}[e] = {text};", None, reads)


def tile_loop(
    vector: Vector,
    element: list[str],
    packs: list[tuple[str, RegisterArray]],
    more: Iterable[str] = (),
    before: Iterable[str] = (),
) -> list[str]:
    """Loops over blocks, 16 columns and elements; ``more``: what is done for 16 columns at once,
    ``before``: what is done before them.
    """
    work = vector.work
    chunk = [f"float {t}[{ELEMENTS}];" for t, _ in packs]
    after = [*more]
    for temporary, array in packs:
        after += [
            "#pragma unroll",
            f"for (int u = 0; u < 4; ++u) {array.name}[b][g][u] = "
            f"{device[f'pack_{array.dtype}']}({temporary}[2 * u], {temporary}[2 * u + 1]);",
        ]
    each = [*vector.scopes.element, *element]
    elements = [
        "#pragma unroll",
        f"    for (int e = 0; e < {ELEMENTS}; ++e) {{",
        "      const int i = e / 2 % 2;",
        *indent(each, 6),
        "      (void)i;",
        "    }",
    ]
    return [
        "#pragma unroll",
        f"for (int b = 0; b < {work.extent('b')}; ++b) {{",
        *indent(row_scope(vector), 2),
        "#pragma unroll",
        f"  for (int g = 0; g < {work.extent('g')}; ++g) {{",
        "    const int h = 2 * g;",
        *indent([*before, *vector.scopes.chunk, *chunk], 4),
        *(elements if each else []),
        *indent(after, 4),
        "  }",
        "}",
    ]


def _cut(work: Work, cut: int) -> list[str]:
    """Where a step is interrupted: its elements before stay before it."""
    array = next(a for a in (work.array(x.array) for x in work.sets) if a.form == "tile")
    if cut % ELEMENTS or not 0 < cut < array.cols // 2:
        raise KernelError(
            f"full_wait_after={cut} with {array.cols // 2} elements of a thread",
            why=f"bytes are awaited between groups of {ELEMENTS} elements",
            fix=f"a multiple of {ELEMENTS} below {array.cols // 2}, or 0",
        )
    held = f"{device.computed}({array.name}[b], {cut});"
    return [f"if (b == 0 && {ELEMENTS} * g == {cut}) {{ {held} landed(); }}"]


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
