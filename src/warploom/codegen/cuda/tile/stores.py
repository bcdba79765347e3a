"""Stores as CUDA source: chunks through staging copies, tiles from registers, vectors of rows."""

from __future__ import annotations

from typing import NamedTuple

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.legality import exchange_at
from warploom.codegen.cuda.lowering import Site
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.expressions import written_element
from warploom.codegen.cuda.tile.from_module import ModulePrinter, inlined_column, printer
from warploom.codegen.cuda.tile.loop_view import CONSUMER
from warploom.codegen.cuda.tile.ordered_reduction import consumer_turn
from warploom.codegen.cuda.tile.row_stores import column_sums, row_store
from warploom.codegen.cuda.tile.vector import ELEMENTS, Vector, row_scope
from warploom.codegen.cuda.tile.work import (
    COL,
    HALF,
    INSTANCE,
    LANE,
    ROW,
    B,
    G,
    J,
    P,
    Q,
    Work,
    axes_of,
    first_of,
    rows_of,
)
from warploom.errors import BackendError, KernelError
from warploom.ir import operations as ops
from warploom.ir.dataflow import When
from warploom.ir.expr import (
    Binary,
    Const,
    Expr,
    IntExpr,
    Op,
    Sym,
    SymKind,
    conjuncts,
    lift,
    linear,
    substitute,
    symbols,
)
from warploom.ir.mbarrier_dialect import BulkStore, RoleEntry
from warploom.ir.module import TensorArg
from warploom.ir.rings import BufferCopy
from warploom.ir.types import BLOCK_COLUMNS, BLOCK_ROWS, DType, refusal

PACKS = {DType.BF16: "pack_bf16", DType.F16: "pack_f16"}
WARP_ROWS = 16
BLOCK_BYTES = BLOCK_ROWS * BLOCK_COLUMNS * 4


def fill_text(context: Context, name: str) -> tuple[list[str], list[str]]:
    """One chunk of a warp: its 16 rows, 128 bytes wide, into a swizzled staging copy; and what is
    done for it as the tile begins.
    """
    made = printer(context)
    work = made.work(name)
    stage = work.store
    tensor = _filled_for(context, name)
    dtype = _stored_as(context, tensor.name, work)
    place = (lift(LANE // 4 + 8 * HALF), lift(16 * J + 8 * P + LANE % 4 * 2 + Q))
    if not isinstance(stage, ops.VectorStage) or (stage.row, stage.col) != place:
        raise work.refused("another place in a staging copy")
    looping = context.loop.places[name] is When.LOOP
    vector = Vector(context, work, looping=looping)
    wide, blocked = dtype is DType.F32, tensor.blocked
    vector.groups = groups = work.extent("j")
    text = vector.value(stage.value)
    return vector.scopes.tile, [
        f"const unsigned here = {device.opaque}(lane);"
        "  // addresses are computed anew: registers are short",
        *vector.scopes.step,
        *vector.scopes.words,
        *row_scope(vector),
        "#pragma unroll",
        f"for (int j = 0; j < {groups}; ++j) {{",
        "  const int h = column / 8 + 2 * j, g = h / 2;",
        *indent(vector.scopes.chunk, 2),
        f"  float y[{ELEMENTS}];",
        "#pragma unroll",
        f"  for (int e = 0; e < {ELEMENTS}; ++e) {{",
        "    const int i = e / 2 % 2;",
        *indent([*vector.scopes.element, f"y[e] = {text};", "(void)i;"], 4),
        "  }",
        *indent(_put_blocks() if blocked else _put_f32() if wide else _put_16bit(dtype), 2),
        "}",
    ]


def _filled_for(context: Context, name: str) -> TensorArg:
    """The tensor that a copy out takes what is filled to."""
    module, filled = context.module, dict[BufferCopy, str]()
    for _, op in context.loop.operations(CONSUMER):
        if isinstance(op, ops.Vector):
            filled |= dict.fromkeys(op.fills, op.op)
        elif isinstance(op, ops.BulkStore) and filled.get(op.source) == name:
            return module.tensor(module.map(op.tensor_map).tensor)
    raise BackendError(f"nothing takes what {name} fills", where=module.name)


def _put_16bit(dtype: DType) -> list[str]:
    pack = device[PACKS[dtype]]
    pairs = ", ".join(f"{pack}(y[{e}], y[{e + 1}])" for e in (0, 2, 4, 6))
    return [
        "const unsigned row = here % 16, half = here / 16;",
        f"{device.stmatrix4}(buffer + row * 128 + (((2 * j + half) ^ (row % 8)) << 4), {pairs});",
    ]


def _put_blocks() -> list[str]:
    """As they lie in registers; two blocks of 8 columns."""
    return [
        "#pragma unroll",
        "for (int n = 0; n < 2; ++n)",
        f"  {device.store_shared4}(buffer + {BLOCK_BYTES} * (2 * j + n) + 16 * here, y[4 * n],"
        " y[4 * n + 1], y[4 * n + 2], y[4 * n + 3]);",
    ]


class _Added(NamedTuple):
    """Where a warp's elements of a tile are added: ``first`` row and ``column`` of the tile, where
    rows end, conditions of numbers, and other conditions of elements.
    """

    store: ops.VectorStore
    row: int
    col: int
    first: str
    column: str
    limit: str
    there: list[str]
    more: list[IntExpr]
    across: str
    down: str

    def block_row(self, block: int) -> str:
        """The first row of a warp's blocks."""
        row = f"{self.first} + 16 * warp_in_group"
        return row + (f" + {64 * block}" if block else "") + self.down

    def exists(self, block: int) -> str:
        """Whether it exists."""
        return " && ".join([f"{self.block_row(block)} < {self.limit}", *self.there])


def _added(made: ModulePrinter, work: Work) -> _Added:
    """The places of a store from registers that adds, as the module has them."""
    store, layout = work.store, work.op.layout
    assert isinstance(store, ops.VectorStore)
    blocks, columns = work.extent("b"), 16 * work.extent("g")
    role = made.module.role("consumer")
    alone = role.alternates or role.instances == 1
    instance: Expr = Const(0) if alone else INSTANCE
    only: dict[Sym, IntExpr] = {INSTANCE: Const(0)} if alone else {}
    col = 16 * G + 8 * P + LANE % 4 * 2 + Q
    together = [rows_of(blocks, B, instance), lift(col)]
    apart = [rows_of(0, B, instance), lift(col + columns * instance)]
    found = [substitute(x, only) for x in (layout.row, layout.col)]
    if found not in (together, apart):
        raise work.refused(f"elements at [{layout.row}, {layout.col}]")
    own = found == together
    rows = [n for n, x in enumerate(store.at) if ROW in axes_of(x)]
    cols = [n for n, x in enumerate(store.at) if COL in axes_of(x)]
    first = first_of(store.at[rows[0]], ROW) if len(rows) == 1 else None
    column = first_of(store.at[cols[0]], COL) if len(cols) == 1 else None
    if first is None or column is None:
        raise work.refused(f"a sum at {', '.join(map(str, store.at))}")
    blocked = made.module.tensor(store.tensor).blocked
    asked = lift(first + ROW // BLOCK_ROWS * BLOCK_ROWS) if blocked else store.at[rows[0]]
    parts = conjuncts(store.predicate)
    bounds = [x for x in parts if isinstance(x, Binary) and (x.op, x.a) == (Op.LT, asked)]
    more = [x for x in parts if axes_of(x) and x not in bounds]
    if len(bounds) != 1 or (blocked and more):
        raise work.refused(f"a sum where {store.predicate}")
    return _Added(
        store=store,
        row=rows[0],
        col=cols[0],
        first=made.text(first),
        column=made.text(column),
        limit=made.text(bounds[0].b),
        there=made.conditions([x for x in parts if not axes_of(x)]),
        more=more,
        across="0" if own else f"{columns} * instance",
        down=f" + {64 * blocks} * instance" if own else "",
    )


def _block_address(context: Context, added: _Added, row: str, column: str) -> str:
    """Where the block that begins at a row and a column lies."""
    tensor, parts = added.store.tensor, []
    for n, at in enumerate(added.store.at):
        if n == added.col:
            parts.append(f"({added.column} + {column}) * {BLOCK_ROWS}")
            continue
        place = row if n == added.row else printer(context).text(at)
        parts.append(f"({place}) * {context.stride(tensor, n)}")
    return f"{context.pointer(tensor)} + ({' + '.join(parts)})"


def store_text(context: Context, entry: RoleEntry, site: Site) -> list[str]:
    """A store from registers: rows as vectors, tiles by 16 bytes a thread where they fit."""
    work = _work(context, entry, site)
    made, store = work.makers.get(work.store.value), work.store
    assert isinstance(store, ops.VectorStore)
    whole = work.extent("p") > 1 and not isinstance(made, ops.VectorReduce)
    blocked = context.module.tensor(store.tensor).blocked
    looping = context.loop.places[work.op.op] is When.LOOP
    if store.add and whole and (looping or blocked):
        return straight_text(context, work, entry, site)
    return ["{", *indent(direct_text(context, work), 2), "}"]


def straight_text(context: Context, work: Work, entry: RoleEntry, site: Site) -> list[str]:
    """What the loop adds, from registers: a thread adds its four elements of each block at once, or
    pairs of neighbours where rows lie as they are.
    """
    store = work.store
    assert isinstance(store, ops.VectorStore)
    if _is_turned(store):
        raise _apart(store)
    _stored_as(context, store.tensor, work)
    added = _added(printer(context), work)
    vector = Vector(context, work)
    text = vector.value(work.store.value)
    groups, blocked = work.extent("g"), context.module.tensor(store.tensor).blocked
    lines: list[str] = []
    for b in range(work.extent("b")):
        row = added.block_row(b)
        if blocked:
            place = f"float* to = {_block_address(context, added, row, added.across)} + 4 * lane;"
        else:
            place = f"const int row = {row} + lane / 4, column = {added.across} + 2 * (lane % 4);"
        lines += [
            f"if ({added.exists(b)}) {{",
            f"  constexpr int b = {b};",
            *indent(row_scope(vector), 2),
            f"  {place}",
            "#pragma unroll",
            f"  for (int g = 0; g < {groups}; ++g) {{",
            "    const int h = 2 * g;",
            *indent(vector.scopes.chunk, 4),
            f"    float y[{ELEMENTS}];",
            "#pragma unroll",
            f"    for (int e = 0; e < {ELEMENTS}; ++e) {{",
            "      const int i = e / 2 % 2;",
            *indent([*vector.scopes.element, f"y[e] = {text};", "(void)i;"], 6),
            "    }",
            *indent(_add_blocks() if blocked else _add_each(context, work, added), 4),
            "  }",
            "}",
        ]
    if store.turn is not None:
        exchange, now = exchange_at(site.document, work.op.op), work.op.iteration
        lines = consumer_turn(context, exchange, store.turn, site, now, lines)
    return ["{", *indent([*vector.scopes.step, *lines], 2), "}"]


def _add_blocks() -> list[str]:
    """Both blocks of 8 columns that a thread has of 16."""
    return [
        f"{device.add_global4}(to + 256 * g, y[0], y[1], y[2], y[3]);",
        f"{device.add_global4}(to + 256 * g + 128, y[4], y[5], y[6], y[7]);",
    ]


def _add_each(context: Context, work: Work, added: _Added) -> list[str]:
    """Two neighbours of a row at a time, as many as exist."""
    made = printer(context)
    before = {added.store.at[added.row]: "row + 8 * i", added.store.at[added.col]: "at"}
    tests = [f"row + 8 * i < {added.limit}"]
    left = ""
    for part in added.more:
        if not isinstance(part, Binary) or part.a not in before:
            raise work.refused(f"a sum where {part}")
        tests.append(f"{before[part.a]} {part.op} {made.text(part.b)}")
        if part.a == added.store.at[added.col] and part.op is Op.LT:
            left = made.text(part.b)
    if not left:
        raise work.refused(f"a sum where {added.store.predicate}")
    named = {added.row: "(row + 8 * i)", added.col: "at"}
    indices = [named.get(n) or f"({made.text(x)})" for n, x in enumerate(added.store.at)]
    place = context.place(added.store.tensor, indices)
    return [
        "#pragma unroll",
        "for (int p = 0; p < 4; ++p) {",
        "  const int i = p % 2;",
        f"  const int at = {added.column} + column + 8 * h + 8 * (p / 2);",
        f"  if ({' && '.join(tests)})",
        f"    {device.add_pair_f32}(&{place}, y[2 * p], y[2 * p + 1], {left} - at);",
        "}",
    ]


def _put_f32() -> list[str]:
    return [
        "const unsigned row = here / 4, pair = here % 4;",
        "#pragma unroll",
        "for (int q = 0; q < 4; ++q) {",
        "  const unsigned down = q % 2 * 8, chunk = 4 * j + q / 2 * 2 + pair / 2;",
        f"  {device.store_shared2}(buffer + (row + down) * 128 + ((chunk ^ (row % 8)) << 4)"
        " + pair % 2 * 8,",
        "                y[2 * q], y[2 * q + 1]);",
        "}",
    ]


def _stored_as(context: Context, tensor: str, work: Work) -> DType:
    """The type that is stored: the tensor's."""
    dtype = context.module.tensor(tensor).dtype
    if work.store.dtype is not dtype:
        raise work.refused(f"{work.store.dtype} stored to {tensor}, which is {dtype}")
    return dtype


def _work(context: Context, entry: RoleEntry, site: Site) -> Work:
    """The vector work of an entry, printed where it stands."""
    made = printer(context)
    found = made.operation(entry, site)
    assert isinstance(found, ops.Vector)
    return made.one(found, here=True)


def direct_text(context: Context, work: Work) -> list[str]:
    """What is stored from where it lies in registers."""
    store = work.store
    assert isinstance(store, ops.VectorStore)
    printer(context).refuse_elsewhere(work, work.body)
    dtype = _stored_as(context, store.tensor, work)
    made = work.makers.get(store.value)
    if isinstance(made, ops.VectorReduce):
        return column_sums(context, work, made)
    if work.extent("p") == 1:
        return row_store(context, work)
    vector = Vector(context, work)
    text = vector.value(store.value)
    blocks, groups = work.extent("b"), work.extent("g")
    odd = bool(groups % 2)
    alone = dtype not in PACKS or _is_turned(store) or store.add
    kind = "int" if dtype is DType.I32 else "float"
    alone |= odd and _is_scattered(store)
    wide = 1 if alone or odd else 2
    indices, exists, limit, column = vector.printed.direct_store(store)
    place = context.place(store.tensor, indices), exists, limit, column
    if store.add:
        write = _add_pairs(store, dtype, place)
    elif alone:
        write = _write_pairs(dtype, place)
    else:
        write = _write_lines(context, dtype, place, wide)
    return [
        *vector.scopes.step,
        "#pragma unroll",
        f"for (int b = 0; b < {blocks}; ++b) {{",
        *indent(row_scope(vector), 2),
        "#pragma unroll",
        f"  for (int part = 0; part < {groups // wide}; ++part) {{",
        f"    {kind} y[{wide}][{ELEMENTS}];",
        "#pragma unroll",
        f"    for (int q = 0; q < {wide}; ++q) {{",
        f"      const int g = {wide} * part + q, h = 2 * g;",
        *indent(vector.scopes.chunk, 6),
        "#pragma unroll",
        f"      for (int e = 0; e < {ELEMENTS}; ++e) {{",
        "        const int i = e / 2 % 2;",
        *indent([*vector.scopes.element, f"y[q][e] = {text};", "(void)i;"], 8),
        "      }",
        "    }",
        *indent(write, 4),
        "  }",
        "}",
    ]


Place = tuple[str, str, str, str]


def _write_lines(context: Context, dtype: DType, at: Place, wide: int) -> list[str]:
    """Four threads exchange pairs of columns, so that each writes 16 bytes: of one row among 32
    columns, of two rows among 16.
    """
    place, exists, limit, column = at
    how = "stream" if context.loop.pace else "store"
    pair = "y[j / 2][j % 2 * 4 + 2 * i" if wide == 2 else "y[0][j % 2 * 4 + j / 2 * 2"
    lines = [
        "uint32_t x[4];",
        "#pragma unroll",
        "for (int j = 0; j < 4; ++j)",
        f"  x[j] = {device[PACKS[dtype]]}({pair}], {pair} + 1]);",
        f"{device.quad_transpose}(x);",
        f"const int first = {column} + {16 * wide} * part + 8 * (lane % {2 * wide});",
        f"if ({exists}) {device[f'{how}_line']}(&{place}, x, {limit} - first);",
    ]
    if wide == 1:
        return ["const int i = lane % 4 / 2;", *lines]
    return ["#pragma unroll", "for (int i = 0; i < 2; ++i) {", *indent(lines, 2), "}"]


def _add_pairs(store: ops.VectorStore, dtype: DType, at: Place) -> list[str]:
    """Sums in memory, two neighbours at a time."""
    place, exists, limit, column = at
    if _is_turned(store):
        raise _apart(store)
    return [
        "#pragma unroll",
        "for (int u = 0; u < 4; ++u) {",
        "  const int i = u % 2;",
        f"  const int first = {column} + column_of(2 * part, 2 * u);",
        f"  if ({exists} && first < {limit})",
        f"    {device[f'add_pair_{dtype}']}(&{place}, y[0][2 * u], y[0][2 * u + 1],"
        f" {limit} - first);",
        "}",
    ]


def _is_scattered(store: ops.VectorStore) -> bool:
    """Whether a list picks the rows that are stored to."""
    return any(s.kind is SymKind.VALUE for x in store.at for s in symbols(x))


def _is_turned(store: ops.VectorStore) -> bool:
    """Whether columns of a tile lie apart: as rows, or before the tensor's last axis."""
    along = linear(inlined_column(store.at[-1]))
    if along is None or along.factor(COL) != 1:
        return True
    return not _is_scattered(store) and not any(ROW in symbols(x) for x in store.at[:-1])


def _apart(op: ops.VectorStore) -> KernelError:
    return refusal(
        f"a sum in '{op.tensor}' of tiles whose columns lie apart there",
        op.line,
        why="neighbours of a row are added together: they must be neighbours on the last axis",
        fix="products with rows and columns exchanged, or an output that ends with the columns",
    )


def _write_pairs(dtype: DType, at: Place) -> list[str]:
    place, exists, limit, column = at
    return [
        "#pragma unroll",
        f"for (int e = 0; e < {ELEMENTS}; ++e) {{",
        "  const int i = e / 2 % 2;",
        f"  const int first = {column} + column_of(2 * part, e);",
        f"  if ({exists} && first < {limit}) {place} = {written_element(dtype, 'y[0][e]')};",
        "}",
    ]


def _send_blocks(context: Context, store: ops.BulkStore, source: str) -> list[str]:
    """A warp's blocks of a chunk lie side by side in memory: one copy takes them."""
    made = printer(context)
    found = made.module.map(store.tensor_map)
    axes = made.module.tensor(found.tensor).axes
    if not store.add:
        raise BackendError(f"blocks of {found.tensor} that are not added", where=made.module.name)
    *outer, row, col = store.at
    sizes = [context.size_of(found.tensor, x.name) for x in axes]
    limit = sizes[-2] if store.end is None else made.text(store.end)
    there = [
        f"(unsigned)({made.text(x)}) < (unsigned){size}"
        for x, size in zip(outer, sizes, strict=False)
        if not isinstance(x, Sym)
    ]
    exists = " && ".join([f"{made.text(row)} < {limit}", *there])
    parts = [
        f"({made.text(x)}) * {context.stride(found.tensor, n)}" for n, x in enumerate((*outer, row))
    ]
    parts.append(f"({made.text(col)}) * {BLOCK_ROWS}")
    to = f"{context.pointer(found.tensor)} + ({' + '.join(parts)})"
    bytes_ = found.box[-1] // BLOCK_COLUMNS * BLOCK_BYTES
    return [f"if (lane == 0 && {exists}) {device.bulk_add}({to}, {source}, {bytes_});"]


def bulk_store(context: Context, entry: BulkStore, site: Site, source: str) -> list[str]:
    """The bulk store of a filled chunk: each warp its 16 rows."""
    made = printer(context)
    store = made.operation(entry, site)
    assert isinstance(store, ops.BulkStore)
    found = made.module.map(store.tensor_map)
    tensor = made.module.tensor(found.tensor)
    if tensor.blocked:
        return _send_blocks(context, store, source)
    name = context.map_of(tensor, found.box, bounded=found.bounded)
    place = made.coordinates(store.at, found, store.end)
    streams = context.loop.pace and context.loop.hints
    how = "add" if store.add else "stream" if streams else "store"
    call = device[f"tma_{how}_{len(place)}d"]
    return [f"if (lane == 0) {call}(&{name}, {source}, {', '.join(place)});"]
