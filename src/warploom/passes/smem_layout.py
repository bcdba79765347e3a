"""What lies in shared memory: loaded tiles and vectors by slot, and computed tiles for products.

Tiles with the same readers arrive together in one slot, or all of an iteration (``together``). A
vector along the loop arrives with the tile whose product its reader works on. A computed tile that
a product reads transposed, or as right operand, gets a ring of its own, which the consumers fill.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from warploom.dataclass import dataclass
from warploom.ir.dataflow import When
from warploom.ir.tile import Const, Dot, DType, Fn, Kernel, Load, Pointwise, Store, Walk
from warploom.passes.body import Body, made_by, other_extent, refusal
from warploom.passes.fuse import Step
from warploom.passes.kernel_config import KernelConfig

LINE_BYTES = 128  # a row of a slot block: one swizzle span
MOST_COLUMNS = 256
WHOLE_BYTES = 16  # where copies may begin, in bytes along the innermost axis
SLOT_BYTES = 1024  # slots start on whole atoms of the 128-byte swizzle

_Key = tuple[bool, tuple[str, ...]]  # once a tile, readers


@dataclass(frozen=True, kw_only=True)
class SlotTile:
    """A tile in a slot: ``rows`` x ``cols`` elements in blocks of 128-byte rows.

    ``tensor`` is what it is a copy of; computed tiles have none. ``vector``: one row, packed.
    ``loose``: a vector that may begin anywhere. Copies begin at multiples of 16 bytes, so it is
    fetched from the one before on, with so many elements more.
    """

    value: str
    tensor: str
    rows: int
    cols: int
    dtype: DType
    vector: bool = False
    loose: bool = False

    @cached_property
    def fetched(self) -> int:
        """Elements of a vector that are copied."""
        per = WHOLE_BYTES * 8 // self.dtype.bits
        return (self.cols - 1 + per) // per * per + (per if self.loose and self.cols > 1 else 0)

    @cached_property
    def block_cols(self) -> int:
        """Columns of a block."""
        return LINE_BYTES * 8 // self.dtype.bits

    @cached_property
    def narrow(self) -> bool:
        """Whether rows are shorter than a line: several of them share one."""
        return not self.vector and self.cols < self.block_cols

    @cached_property
    def span(self) -> int:
        """Bytes of a row that are swizzled among themselves; vectors are not."""
        if self.vector:
            return 0
        return self.cols * self.dtype.bits // 8 if self.narrow else LINE_BYTES

    @cached_property
    def blocks(self) -> int:
        """Blocks of 128 bytes in a row."""
        return -(-self.cols // self.block_cols)

    @cached_property
    def bytes(self) -> int:
        """Bytes of the tile."""
        if self.vector:
            return self.fetched * self.dtype.bits // 8
        if self.narrow:
            return self.rows * self.cols * self.dtype.bits // 8
        return self.rows * self.blocks * LINE_BYTES


@dataclass(frozen=True, kw_only=True)
class SlotRing:
    """A ring of slots: the tiles of one slot, filled once an iteration or once a tile.

    ``filled``: consumers fill it with what they computed, ``gathered``: threads with rows that a
    list picks; copies fill the others.
    """

    name: str
    tiles: tuple[SlotTile, ...]
    per_tile: bool = False
    filled: bool = False
    gathered: bool = False

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each tile of the slot starts."""
        starts, at = list[int](), 0
        for tile in self.tiles:
            starts.append(at)
            at += -(-tile.bytes // LINE_BYTES) * LINE_BYTES
        return tuple(starts)

    @cached_property
    def bytes(self) -> int:
        """Bytes of a slot: whole swizzle atoms."""
        end = self.offsets[-1] + self.tiles[-1].bytes
        return -(-end // SLOT_BYTES) * SLOT_BYTES


def rings_of(body: Body, config: KernelConfig, steps: tuple[Step, ...]) -> tuple[SlotRing, ...]:
    """Loaded tiles by slot: tiles with the same readers arrive together."""
    groups: dict[_Key, list[SlotTile]] = {}
    vectors: list[Load] = []
    gathered: list[SlotRing] = []
    for when, op in body.placed:
        if isinstance(op, Load) and when is When.LOOP:
            vectors += [op] if is_vector(body, op) or is_number(body, config, op) else []
        if not isinstance(op, Load) or len(op.result.dims) != 2 or when is When.TAIL:
            continue
        if body.is_picked(op):
            continue
        readers = tuple(sorted(_readers(body, op.result.name, steps)))
        if not readers:
            continue
        products = tuple(sorted(_readers(body, op.result.name, ())))
        if list_of(body, op) is not None:
            gathered.append(_gathered(_slot_tile(body, config, op), op, when))
            continue
        key = (when is When.HEAD, products or readers)
        key = (False, ()) if config.one_barrier_per_stage and not key[0] else key
        groups.setdefault(key, []).append(_slot_tile(body, config, op))
    merged = _merged(groups)
    names = {key: _ring_name(tiles) for key, tiles in merged.items()}
    for op in vectors:
        key = (False, ()) if config.one_barrier_per_stage else _companion(body, steps, op, merged)
        names.setdefault(key, _ring_name([_vector_tile(body, config, op)]))
        merged.setdefault(key, []).append(_vector_tile(body, config, op))
    return (
        *gathered,
        *(
            SlotRing(name=names[key], tiles=_beside(tiles), per_tile=key[0])
            for key, tiles in merged.items()
        ),
    )


def _beside(tiles: list[SlotTile]) -> tuple[SlotTile, ...]:
    """Tiles of a slot, those of a tensor side by side: one copy may bring several steps of it."""
    first = {t.tensor: n for n, t in reversed(list(enumerate(tiles)))}
    return tuple(sorted(tiles, key=lambda t: first[t.tensor]))


def list_of(body: Body, op: Load) -> str | None:
    """The numbers of the rows a tile is gathered from, where a list picks them."""
    return next((a.value for a in op.at if a.value and body.values[a.value].dims), None)


def _gathered(tile: SlotTile, op: Load, when: When) -> SlotRing:
    if when is not When.LOOP:
        raise refusal(
            f"rows of {op.tensor} gathered by a list once a tile",
            op.result.line,
            why="rows are gathered in the loop, for its products",
            fix="gather the rows before the call",
        )
    return SlotRing(name=_ring_name([tile]), tiles=(tile,), gathered=True)


def is_vector(body: Body, op: Load) -> bool:
    """A vector of 32-bit elements, along the loop or other ones in every iteration of it.

    It arrives with the tiles of its iteration.
    """
    value = op.result
    if len(value.dims) != 1 or value.dims[0].per != 1 or value.dtype is not DType.F32:
        return False
    moves = any(at.var == body.loop.var for at in op.at)
    return moves and op.at[-1].var == value.vars[0] and not body.is_picked(op)


def is_number(body: Body, config: KernelConfig, op: Load) -> bool:
    """One number of 32 bits for a whole tile, another one in every iteration: a scale of blocks.

    It arrives with the tiles of its iteration, its neighbours along the loop beside it.
    """
    last = body.kernel.tensor(op.tensor).axes[-1].per
    if op.at[-1].var != body.loop.var or last % config.extent(body.loop.var):
        return False
    dims = op.result.dims
    one = bool(dims) and all(d.per % config.extent(d.var) == 0 for d in dims)
    return one and op.result.dtype is DType.F32 and last > 1 and not body.is_picked(op)


def begins_anywhere(body: Body, op: Load | Store) -> bool:
    """Whether the innermost index of a tile may be any number: where groups or loops start."""
    kernel, var = body.kernel, op.at[-1].var
    if var is None:
        return True
    if var == body.loop.var:
        start = body.loop.start
        bits = kernel.tensor(op.tensor).dtype.bits
        return start is not None and divisor(body, start) * bits % (8 * WHOLE_BYTES) != 0
    return kernel.grid.kind != "tiles" and var == grouped_vars(kernel)[1]


def divisor(body: Body, name: str) -> int:
    """A number that a scalar is surely a multiple of; 0 where it is surely 0."""
    op = body.ops.get(name)
    match op:
        case Const():
            return abs(int(op.value))
        case Pointwise(fn=Fn.MUL):
            return divisor(body, op.args[0]) * divisor(body, op.args[1])
        case Pointwise(fn=Fn.ADD | Fn.SUB | Fn.MIN | Fn.MAX | Fn.NEG):
            return math.gcd(*(divisor(body, a) for a in op.args))
        case Pointwise(fn=Fn.WHERE):
            return math.gcd(*(divisor(body, a) for a in op.args[1:]))
        case _:
            return 1


def grouped_vars(kernel: Kernel) -> tuple[str, str]:
    """The variable of the groups, and the one whose rows the groups share out."""
    names = kernel.grid.vars
    tiled = [n for n in names if kernel.var(n).walk is Walk.TILE]
    return names[0], tiled[0]


def _vector_tile(body: Body, config: KernelConfig, op: Load) -> SlotTile:
    number = is_number(body, config, op)
    tile = SlotTile(
        value=op.result.name,
        tensor=op.tensor,
        rows=1,
        cols=1 if number else config.extent(op.result.dims[0].var),
        dtype=op.result.dtype,
        vector=True,
        loose=number or begins_anywhere(body, op),
    )
    if tile.fetched > MOST_COLUMNS:
        raise refusal(
            f"{tile.cols} elements of {op.tensor} that may begin anywhere",
            op.result.line,
            why=f"a copy brings {MOST_COLUMNS} elements at most, and begins at whole 16 bytes",
            fix=f"a smaller extent of {op.result.dims[0].var}",
        )
    return tile


def _companion(
    body: Body, steps: tuple[Step, ...], op: Load, groups: dict[_Key, list[SlotTile]]
) -> _Key:
    """The slot a vector arrives in: that of a product whose result its reader works on."""
    for step in steps:
        if op.result.name not in step.loads:
            continue
        for name in step.reads:
            made = body.ops.get(name)
            if not isinstance(made, Dot):
                continue
            for key, tiles in groups.items():
                inputs = {body.through(n)[0] for n in (made.a, made.b)}
                if not key[0] and inputs & {t.value for t in tiles}:
                    return key
    return (False, tuple(_readers(body, op.result.name, steps)))


def filled_values(body: Body) -> tuple[str, ...]:
    """Computed tiles of the loop that products read from shared memory."""
    found: dict[str, None] = {}
    for op in body.loop.body:
        if not isinstance(op, Dot):
            continue
        a, flipped = body.through(op.a)
        b, _ = body.through(op.b)
        for name, shared in ((a, flipped), (b, True)):
            if shared and not isinstance(body.ops.get(name), Load):
                found[name] = None
    return tuple(found)


def filled_rings(body: Body, config: KernelConfig) -> tuple[SlotRing, ...]:
    """A ring for every computed tile that products read from shared memory."""
    rings = []
    for name in filled_values(body):
        value = body.values[name]
        if value.dtype.bits != 16:
            raise refusal(
                f"a computed operand of type {value.dtype}",
                value.line,
                why="computed tiles go to the tensor cores as bf16 or fp16",
                fix="both operands as bf16: `a.to(wl.bf16) @ b.to(wl.bf16)`",
            )
        rows, cols = (config.extent(d.var) for d in value.dims)
        tile = SlotTile(value=name, tensor="", rows=rows, cols=cols, dtype=value.dtype)
        if tile.narrow:
            raise refusal(
                f"a computed operand with {cols} columns",
                value.line,
                why=f"consumers write rows of {LINE_BYTES} bytes, {tile.block_cols} elements",
                fix=other_extent(body.kernel, value.dims[1].var, tile.block_cols),
            )
        rings.append(SlotRing(name=_ring_name([tile]), tiles=(tile,), filled=True))
    return tuple(rings)


def _merged(groups: dict[_Key, list[SlotTile]]) -> dict[_Key, list[SlotTile]]:
    """A tile read by several products joins the slot of one of them only if all agree."""
    out: dict[_Key, list[SlotTile]] = {}
    for key, tiles in groups.items():
        per_tile, readers = key
        shared = [k for k in out if k[0] == per_tile and set(k[1]) & set(readers)]
        out.setdefault(shared[0] if shared else key, []).extend(tiles)
    return out


def distinct(rings: tuple[SlotRing, ...]) -> tuple[SlotRing, ...]:
    """The rings by different names, case apart: of tiles ``p_q, r`` and ``p, q_r`` one is made."""
    taken: set[str] = set()
    out = []
    for ring in rings:
        name, n = ring.name, 0
        while name.lower() in taken:
            n += 1
            name = f"{ring.name}_{n}"
        taken.add(name.lower())
        out.append(ring if name == ring.name else replace(ring, name=name))
    return tuple(out)


def _ring_name(tiles: list[SlotTile]) -> str:
    return "ring_" + "_".join(t.value.replace(".", "_") for t in tiles)


def _readers(body: Body, name: str, steps: tuple[Step, ...]) -> Iterator[str]:
    for step in steps:
        if name in step.loads:
            yield step.name
    for _, user in body.users[name]:
        if isinstance(user, Dot):
            yield user.result.name
        elif (made := made_by(user)) is not None and body.through(made)[0] == name:
            yield from _readers(body, made, ())


def _multiplied(body: Body, op: Load) -> bool:
    """Whether products read a loaded tile themselves."""
    return any(True for _ in _readers(body, op.result.name, ()))


def _slot_tile(body: Body, config: KernelConfig, op: Load) -> SlotTile:
    value = op.result
    if begins_anywhere(body, op):
        raise refusal(
            f"columns of {op.tensor} that may begin anywhere",
            value.line,
            why="copies begin at multiples of 16 bytes along the innermost axis",
            fix="groups and loops that start somewhere along another axis: transpose the tensor",
        )
    rows, cols = (config.extent(d.var) // d.per for d in value.dims)
    tile = SlotTile(value=value.name, tensor=op.tensor, rows=rows, cols=cols, dtype=value.dtype)
    narrow = (
        tile.narrow and value.dtype.bits == 8 and cols in (32, 64) and not _multiplied(body, op)
    )
    if cols % tile.block_cols and not narrow:
        raise refusal(
            f"a tile of {op.tensor} with {cols} columns",
            value.line,
            why=f"copies land in rows of {LINE_BYTES} bytes, {tile.block_cols} elements",
            fix=other_extent(body.kernel, value.dims[1].var, tile.block_cols),
        )
    if rows % 8 or rows > MOST_COLUMNS:
        raise refusal(
            f"a tile of {op.tensor} with {rows} rows",
            value.line,
            why=f"a copy brings 8 to {MOST_COLUMNS} rows, in multiples of 8",
            fix=other_extent(body.kernel, value.dims[0].var, 8, MOST_COLUMNS),
        )
    if body.kernel.var(value.dims[0].var).walk is Walk.UNIT:
        raise refusal(
            f"a tile of {op.tensor} with one row",
            value.line,
            why="copies bring tiles of 8 rows or more",
            fix="an axis that is cut into tiles in place of "
            f"'{body.kernel.var(value.dims[0].var).axis}'",
        )
    return tile
