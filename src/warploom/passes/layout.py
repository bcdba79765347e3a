"""Lay out: where each value lives on the SM.

Tiles loaded by copies lie in slots of rings. Everything a consumer computes lies in registers, in
the form the tensor cores leave it: a warpgroup holds 64 rows a block, a thread two rows of each
block of its warp (``lane / 4`` and 8 further) and pairs of columns (``8 j + 2 (lane % 4)``).

- ``TILE``: accumulators, ``float x[blocks][columns / 2]``
- ``PACKED``: the same places in 16 bits, which is the A operand of a product
- ``ROW``: two values a block; the four threads of a row hold the same (``PART``: each its part of a
  sum)

Values that replace one another share an array: a carried value and its next one, an accumulator and
what is added to it, a result that overwrites the last use of an operand.
"""

from __future__ import annotations

from enum import StrEnum

from warploom.dataclass import dataclass
from warploom.ir.dataflow import When
from warploom.ir.tile import (
    Broadcast,
    Dot,
    DType,
    Fn,
    Given,
    Load,
    Op,
    Pointwise,
    Reduce,
    Store,
    Value,
    operands,
    results,
)
from warploom.passes.body import Body, made_by, other_extent, refusal
from warploom.passes.fuse import Step
from warploom.passes.kernel_config import KernelConfig
from warploom.passes.register_coalescing import homes_of
from warploom.passes.smem_layout import (
    MOST_COLUMNS,
    SlotRing,
    SlotTile,
    distinct,
    filled_rings,
    rings_of,
)
from warploom.passes.unroll import adds_products
from warploom.targets.h200 import ROOMY_REGISTERS, WGMMA_ROWS

MULTIPLIED = (DType.BF16, DType.F16, DType.E4M3, DType.E5M2)
FULL_REGISTERS = 216  # of arrays: more cannot


class Form(StrEnum):
    """How a value lies in registers."""

    TILE = "tile"
    PACKED = "packed"
    ROW = "row"
    PART = "part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """Registers of a consumer thread: ``blocks`` of 64 rows, ``cols`` columns (0: rows only).

    ``by_columns``: every consumer holds all rows and its share of the columns, not the other way.
    """

    name: str
    form: Form
    blocks: int
    cols: int
    dtype: DType
    by_columns: bool = False

    @property
    def kind(self) -> str:
        """The type of an element that fills a register: whole numbers stay whole."""
        return "int" if self.dtype is DType.I32 else "float"

    @property
    def registers(self) -> int:
        """32-bit registers a thread."""
        per = {Form.TILE: self.cols // 2, Form.PACKED: self.cols * self.dtype.bits // 64}
        return self.blocks * per.get(self.form, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Arrays of values, rings of loaded tiles, and products with their operands' places."""

    body: Body
    config: KernelConfig
    steps: tuple[Step, ...]
    arrays: tuple[Array, ...]
    homes: tuple[tuple[str, str], ...]
    rings: tuple[SlotRing, ...]
    forms: tuple[tuple[str, Form], ...]

    def array_of(self, value: str) -> Array:
        """The array a value lives in."""
        name = dict(self.homes)[value]
        return next(a for a in self.arrays if a.name == name)

    def form_of(self, value: str) -> Form:
        """How a value lies there."""
        return dict(self.forms)[value]

    def slot_of(self, value: str) -> tuple[SlotRing, SlotTile] | None:
        """Ring and tile of a loaded value."""
        for ring in self.rings:
            for tile in ring.tiles:
                if tile.value == value:
                    return ring, tile
        return None

    def extent(self, var: str) -> int:
        """Elements of a variable a tile covers."""
        return self.config.extent(var)

    def left_in_registers(self, op: Dot) -> bool:
        """Whether a product takes its left operand from registers."""
        a, flipped = self.body.through(op.a)
        found = self.slot_of(a)
        if flipped or a not in dict(self.homes):
            return False
        return not (found is not None and found[0].filled and self.config.operands_from_smem)

    @property
    def crowded(self) -> bool:
        """Whether not all arrays fit in registers at once: then it matters when they live."""
        return sum(a.registers for a in self.arrays) > ROOMY_REGISTERS

    @property
    def gathers(self) -> bool:
        """Whether a warpgroup fetches rows that a list picks."""
        return any(r.gathered for r in self.rings)

    @property
    def blocks(self) -> int:
        """64-row blocks of a consumer, of the products' rows."""
        return max((a.blocks for a in self.arrays if not a.by_columns), default=1)


def lay_out(body: Body, config: KernelConfig, steps: tuple[Step, ...]) -> Layout:
    """Places for all values; refuses what this target has no place for."""
    kept = _kept_values(body, config, steps)
    forms = _forms(body, kept)
    homes = homes_of(body, steps, kept, forms)
    arrays = _arrays(body, config, homes, forms)
    several, used = body.loop.times > 1, sum(a.registers for a in arrays)
    if used > (ROOMY_REGISTERS if several else FULL_REGISTERS) and (
        several or adds_products(body.loop)
    ):
        homes = homes_of(body, steps, kept, forms, in_turn=True)
        arrays = _arrays(body, config, homes, forms)
    layout = Layout(
        body=body,
        config=config,
        steps=steps,
        arrays=arrays,
        homes=tuple(homes.items()),
        rings=distinct((*rings_of(body, config, steps), *filled_rings(body, config))),
        forms=tuple(forms.items()),
    )
    _check_products(layout)
    _check_vectors(layout)
    return layout


def _kept_values(body: Body, config: KernelConfig, steps: tuple[Step, ...]) -> dict[str, Value]:
    """Values that live in registers between ops: products, steps' results, carried values."""
    names: dict[str, None] = {}
    for step in steps:
        names |= dict.fromkeys(step.results)
    for _, op in body.placed:
        if isinstance(op, Dot | Given):
            names[op.result.name] = None
    for c in body.loop.carried:
        names |= dict.fromkeys([c.inside.name, c.last, c.result.name])
    for when, op in body.placed:  # A operands held in registers
        if (
            config.a_in_registers
            and when is When.HEAD
            and isinstance(op, Load)
            and is_held(body, op)
        ):
            names[op.result.name] = None
    return {n: body.values[n] for n in names}


def is_held(body: Body, op: Load) -> bool:
    """Whether a tile loaded once a tile is nothing but left operands, which registers can be."""
    if op.result.dtype.bits != 16 or len(op.result.dims) != 2:
        return False
    users = [u for _, u in body.users[op.result.name]]
    return bool(users) and all(isinstance(u, Dot) and u.a == op.result.name for u in users)


def _forms(body: Body, kept: dict[str, Value]) -> dict[str, Form]:
    """Forms of kept values; row sums stay parts while nothing but sums is made of them."""
    forms: dict[str, Form] = {}
    for name, value in kept.items():
        if len(value.dims) == 2:
            packed = value.dtype in (DType.BF16, DType.F16, DType.E4M3, DType.E5M2)
            forms[name] = Form.PACKED if packed else Form.TILE
        else:
            forms[name] = Form.ROW
    return forms | dict.fromkeys(part_sums(body), Form.PART)


def part_sums(body: Body) -> frozenset[str]:
    """Row values of the loop that may stay partial sums of each thread.

    A sum along the columns is partial; so are sums of partial values and their products with whole
    ones. A carried value is partial if it starts at 0 and is partial again at the end.
    """
    carried = {c.inside.name for c in body.loop.carried if body.is_zero(c.first)}
    carried = {n for n in carried if len(body.values[n].dims) == 1}
    whole: set[str] = set()
    while True:
        found = set(carried)
        for op in body.loop.body:  # in order: an op's arguments come before it
            names = {v.name for v in results(op)} - whole
            found |= names if _is_partial(op, found) else set()
        kept = {n for n in carried if body.inside[n].last in found}
        if kept != carried:
            carried = kept
            continue
        more = {n for n in found if not _only_in_sums(body, n, found)}
        if more & {body.inside[n].last for n in carried} or more & carried:
            return frozenset()
        if not more:
            return frozenset(found)
        whole |= more  # and so may be what they are made of


def _is_partial(op: Op, found: set[str]) -> bool:
    if isinstance(op, Reduce):
        return op.fn is Fn.ADD
    if not isinstance(op, Pointwise) or len(op.result.dims) != 1:
        return False
    parts = [a in found for a in op.args]
    return all(parts) if op.fn in (Fn.ADD, Fn.SUB) else op.fn is Fn.MUL and sum(parts) == 1


def _only_in_sums(body: Body, name: str, found: set[str]) -> bool:
    """Whether all users in the loop keep the value partial (users in the tail finish it)."""
    for when, user in body.users[name]:
        if when is When.LOOP and made_by(user) not in found:
            return False
    lasts = [c for c in body.loop.carried if c.last == name]
    return all(body.is_zero(c.first) for c in lasts)


def _arrays(
    body: Body, config: KernelConfig, homes: dict[str, str], forms: dict[str, Form]
) -> tuple[Array, ...]:
    names = dict.fromkeys(homes.values())
    return tuple(_array(body, config, name, homes, forms) for name in names)


def _array(
    body: Body, config: KernelConfig, name: str, homes: dict[str, str], forms: dict[str, Form]
) -> Array:
    members = [n for n, h in homes.items() if h == name]
    value, form = body.values[members[0]], forms[members[0]]
    rows = config.extent(value.dims[0].var)
    share = rows // config.consumer_warpgroups
    cols = config.extent(value.dims[1].var) if len(value.dims) == 2 else 0
    if rows % config.consumer_warpgroups or share % WGMMA_ROWS:
        if splits_columns(body, config, members, rows, cols):
            return Array(
                name=name,
                form=form,
                blocks=rows // WGMMA_ROWS,
                cols=cols // config.consumer_warpgroups,
                dtype=value.dtype,
                by_columns=True,
            )
        raise refusal(
            f"{rows} rows for {config.consumer_warpgroups} consumer warpgroups",
            value.line,
            why="each warpgroup holds whole blocks of 64 rows",
            fix=f"an extent of {value.dims[0].var} that is a multiple of"
            f" {64 * config.consumer_warpgroups}",
        )
    return Array(name=name, form=form, blocks=share // WGMMA_ROWS, cols=cols, dtype=value.dtype)


def _check_products(layout: Layout) -> None:
    body = layout.body
    outside = [op for op in (*body.head, *body.tail) if isinstance(op, Dot)]
    if outside:
        raise refusal(
            "a product outside of a loop",
            outside[0].result.line,
            why="operands of products arrive in the steps of a loop",
            fix="load an operand in a loop over the contracted axis, or write two kernels",
        )
    for _, op in body.placed:
        if not isinstance(op, Dot):
            continue
        _check_types(layout, op)
        var = op.result.dims[1].var
        columns = layout.extent(var)
        step = 8 if leaves_by_copies(layout, var) else 16
        if columns % step or columns > MOST_COLUMNS:
            raise refusal(
                f"a product with {columns} columns",
                op.result.line,
                why=f"products here have a multiple of {step} columns, {MOST_COLUMNS} at most",
                fix=other_extent(body.kernel, var, step, MOST_COLUMNS),
            )
        _check_left(layout, op)


def _check_types(layout: Layout, op: Dot) -> None:
    kinds = [layout.body.values[layout.body.through(n)[0]].dtype for n in (op.a, op.b)]
    if kinds[0] is not kinds[1] or kinds[0] not in MULTIPLIED:
        names = " and ".join(dict.fromkeys(k.value for k in kinds))
        raise refusal(
            f"a product of {names} tiles",
            op.result.line,
            why="the tensor cores multiply two tiles of one type: bf16, f16, e4m3 or e5m2",
            fix="convert what is of another type as it is used: `x[m, k].to(wl.bf16)`",
        )


def _check_vectors(layout: Layout) -> None:
    """A thread has the elements of its rows, not of its columns: of vectors, and of tiles."""
    body, kept = layout.body, dict(layout.homes)
    for _, op in body.placed:
        if not isinstance(op, Pointwise | Broadcast | Reduce):
            continue
        tile = body.values[op.arg] if isinstance(op, Reduce) else op.result
        for name in operands(op) if len(tile.dims) == 2 else ():
            inner, flipped = body.through(name)
            if inner in kept and (flipped or body.values[name].vars == tile.vars[1:]):
                what = "a transposed tile" if flipped else f"a vector of '{tile.vars[1]}'"
                raise refusal(
                    f"{what} that is computed here, used element by element with others",
                    op.result.line,
                    why="registers hold rows of a tile, and its vectors by rows",
                    fix="compute it by a kernel of its own and load it here",
                )


def leaves_by_copies(layout: Layout, var: str) -> bool:
    """Whether a variable's elements are columns of sums that only copies out read: chunks of those
    may begin at any 8 columns, where vector work takes 16 at a time.
    """
    body = layout.body
    if layout.config.store_from_registers or any(step.cols == var for step in layout.steps):
        return False
    last = {v.name for v in body.values.values() if len(v.dims) == 2 and v.vars[1] == var}
    packed = any(layout.form_of(n) is Form.PACKED for n, _ in layout.homes if n in last)
    return not packed and not any(layout.slot_of(n) for n in last)


def _check_left(layout: Layout, op: Dot) -> None:
    a, _ = layout.body.through(op.a)
    if layout.slot_of(a) is not None:
        return
    if layout.form_of(a) is not Form.PACKED or layout.body.values[a].dtype.bits != 16:
        raise refusal(
            f"a computed left operand of type {layout.body.values[a].dtype}",
            op.result.line,
            why="computed operands are multiplied as bf16 or f16; fp8 operands come from memory as "
            "they are",
            fix="both operands as bf16: `p.to(wl.bf16) @ v[t].to(wl.bf16)`",
        )


def splits_columns(
    body: Body, config: KernelConfig, members: list[str], rows: int, cols: int
) -> bool:
    """Whether consumers share a tile by columns: a fresh product of few rows, only stored."""
    if rows % WGMMA_ROWS or cols % (16 * config.consumer_warpgroups):
        return False
    fresh = all(isinstance(op := body.ops.get(n), Dot) and op.into is None for n in members)
    users = [u for n in members for _, u in body.users[n]]
    return fresh and all(isinstance(u, Store | Pointwise) for u in users)
