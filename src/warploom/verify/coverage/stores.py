"""Stores and loads of any module, for all sizes: every element of an output once, none outside.

A store writes, for every tile, elements ``position + offset``. Three facts make every element of an
axis be stored once, whatever its size: the positions of the tiles cover the axis (``induction``, or
one tile a unit, or the rows of a group one after the other); the offsets of all threads, registers
and chunks together are 0, 1, .. extent - 1, each once, which is counted; and a condition (or the
copy engine) drops what lies outside of the tensor and nothing else. Which value is stored there is
the business of ``interp.dataflow``.

A load must be in bounds or masked: for each axis its index is a unit's number, is bounded by the
predicate from both sides, or is cut off at the last element.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from warploom.dataclass import dataclass
from warploom.ir import operations as ops
from warploom.ir.expr import (
    Apply,
    Binary,
    Const,
    Element,
    IntExpr,
    Op,
    Select,
    Sym,
    SymKind,
    ceil_div,
    lift,
    linear,
    nodes,
    rewrite,
    size,
    substitute,
    symbols,
)
from warploom.ir.module import KernelModule, LoopPhase, Outside, Role, TileLoop
from warploom.ir.operations import Operation, StepLoop
from warploom.ir.tile_schedule import Bound, expand, let, tile_index
from warploom.ir.types import Axis, Walk
from warploom.verify.coverage.induction import covers_axis
from warploom.verify.coverage.report import Claim, Finding, How
from warploom.verify.coverage.trips import step_of
from warploom.verify.coverage.values import value_of

LANES = 32
ROW, COL = Sym(SymKind.ELEMENT, "row"), Sym(SymKind.ELEMENT, "col")
WARP, LANE = Sym(SymKind.THREAD, "warp"), Sym(SymKind.THREAD, "lane")
INSTANCE = Sym(SymKind.THREAD, "instance")
STEP = Sym(SymKind.LET, "step at hand")
BLOCK_ROWS = 16
THREADS = (SymKind.THREAD, SymKind.FRAGMENT)

Made = Iterator[Claim | Finding]


def operations_of(module: KernelModule) -> Iterator[tuple[Role, Operation]]:
    """All operations of all loops of all roles."""
    for role in module.roles:
        bodies = [p.body for p in role.earlier] + [role.tiles.body]
        for statement in (s for body in bodies for s in body):
            for op in statement.body if isinstance(statement, StepLoop) else (statement,):
                yield role, op


def verify_positions(module: KernelModule) -> Made:
    """Where tiles begin along every variable of the grid."""
    tiles = module.roles[0].tiles
    schedule, lets = tiles.schedule, {x.name: x.value for x in tiles.lets}
    counts = {x.name: x.value for x in expand(schedule).counts}
    if schedule.rows:
        return
    for axis in schedule.axes:
        value = lets.get(let(f"pos_{axis.var}"))
        grouped = schedule.groups is not None and axis in (
            schedule.groups.group,
            schedule.groups.rows,
        )
        if value is None:
            yield Finding(what=f"no position along {axis.var}", where="lets")
        elif grouped:
            yield from _group_position(module, axis.var, value)
        elif axis in schedule.units:
            if value == tile_index(axis.var):
                yield Claim(what=f"units of '{axis.axis}' once each", how=How.ALL, argument="equal")
            else:
                yield Finding(what=f"a unit at {value}", where=f"pos_{axis.var}")
        else:
            rows = len(schedule.tiled) == 2 and axis == schedule.tiled[0]
            count = axis.extent * (schedule.cluster if rows else 1)
            place = substitute(value, counts)
            holds, why = covers_axis(
                place, tile_index(axis.var), size(axis.axis), axis.extent, count, early=True
            )
            if holds:
                yield Claim(what=f"tiles cover axis '{axis.axis}'", how=How.ALL, argument=why)
            else:
                yield Finding(what=why, where=f"pos_{axis.var} = {value}")


def _group_position(module: KernelModule, var: str, value: IntExpr) -> Made:
    """Groups lie one after the other; tiles of one begin at its first row."""
    tiles = module.roles[0].tiles
    groups = tiles.schedule.groups
    assert groups is not None
    number = let(f"pos_{groups.group.var}")
    if var == groups.group.var:
        right: IntExpr = tile_index(var)
    else:
        first = Element(groups.starts, (number,))
        right = lift(first + tile_index(var) * groups.rows.extent)
        end = next((x.value for x in tiles.lets if x.bound is Bound.END), None)
        if end != Element(groups.starts, (lift(number + 1),)):
            yield Finding(what=f"a group that ends at {end}", where=f"end_{var}")
            return
    if value != right:
        yield Finding(what=f"a tile of a group at {value}", where=f"pos_{var}")
        return
    yield Claim(
        what=f"tiles of groups along '{var}' cover their rows",
        how=How.ALL,
        argument="they begin at the group's offset, extents apart; no tile crosses its end",
    )


@dataclass
class _Stores:
    """What the stores of one line to one tensor write of a tile, element by element."""

    tensor: str
    vars: tuple[str, ...]
    extents: tuple[int, ...]
    counted: Any
    adds: bool
    where: str
    chunks: bool  # boxes of 16 rows of the same registers: those of one tile may overlap


Found = dict[tuple[str, tuple[str, str], tuple[str, ...]], _Stores]


def verify_stores(module: KernelModule) -> Made:
    """Offsets of every store fill its tile once; conditions drop what lies outside, and nothing."""
    if module.roles[0].tiles.schedule.rows:
        return
    found: Found = {}
    for role, op in operations_of(module):
        if isinstance(op, ops.BulkStore):
            wrong = _bulk(module, role, op, found)
        elif isinstance(op, ops.Vector) and not op.within:
            stores = [x for x in op.body if isinstance(x, ops.VectorStore)]
            wrong = next((w for s in stores if (w := _vector(module, role, op, s, found))), "")
        else:
            continue
        if wrong:
            yield Finding(what=wrong, where=op.op)
            return
    for made in found.values():
        twice = (made.counted > 1).any() and not made.chunks and not _in_shares(made)
        if twice or (made.counted == 0).any():
            at = tuple(int(x[0]) for x in np.nonzero(made.counted != 1))
            yield Finding(
                what=f"element {at} of a tile of '{made.tensor}' is stored"
                f" {int(made.counted[at])} times",
                where=made.where,
            )
            return
        tile = " x ".join(f"{v}: {e}" for v, e in zip(made.vars, made.extents, strict=True))
        yield Claim(
            what=f"each element of a tile of '{made.tensor}' is"
            f" {'added to' if made.adds else 'stored'}, where it exists",
            how=How.ALL,
            argument=f"offsets of all threads and chunks counted ({tile}); conditions are bounds"
            + _why_often(made),
        )


def _in_shares(made: _Stores) -> bool:
    """Whether a vector is added to by several warps alike: each adds the sum over its own rows.

    What the shares add up to is verified with the values (dataflow).
    """
    return made.adds and len(made.vars) == 1 and bool((made.counted == made.counted.flat[0]).all())


def _why_often(made: _Stores) -> str:
    if not (made.counted > 1).any():
        return ""
    if made.chunks:
        return "; chunks that overlap store the same"
    return f"; {int(made.counted.flat[0])} warps add a share each"


# One store.


def _symbolic(expr: IntExpr) -> IntExpr:
    """An index whose step and whose numbers from memory are symbols."""

    def change(node: IntExpr) -> IntExpr | None:
        if isinstance(node, Apply):
            return STEP
        if isinstance(node, Element | Select):
            return Sym(SymKind.VALUE, str(node))
        return None

    return rewrite(expr, change)


def _along(module: KernelModule, expr: IntExpr) -> tuple[str, IntExpr] | None:
    """The variable that an index walks, and its offset in the tile; None for a number."""
    plain = _symbolic(expr)
    variables = {let(f"pos_{v.name}"): v.name for v in module.kernel.vars}
    used = [s for s in symbols(plain) if s in variables or s == STEP]
    offset = substitute(plain, {s: Const(0) for s in used})
    moves = any(s in (ROW, COL) or s.kind in THREADS for s in symbols(offset))
    form = linear(plain)
    if len(used) > 1 or (used and (form is None or form.factor(used[0]) != 1)):
        return None
    if used:
        return (variables.get(used[0], ""), offset)
    return ("", offset) if moves else None


def _conjuncts(expr: IntExpr | None) -> list[IntExpr]:
    if isinstance(expr, Binary) and expr.op is Op.AND:
        return [*_conjuncts(expr.a), *_conjuncts(expr.b)]
    return [] if expr is None else [expr]


def _limits(module: KernelModule, tensor: str, axis: Axis) -> set[IntExpr]:
    """Where the elements of an axis may be said to end."""
    arg = module.tensor(tensor)
    length = ceil_div(size(axis.name), axis.per)
    more = {lift(length + 1)} if arg.access == "starts" else set()
    tiles = module.roles[0].tiles
    loops = [p.bounds for p in module.roles[0].earlier] + [tiles.bounds]
    every = (x for bounds in (tiles.lets, *loops) for x in bounds)
    ends = {x.name for x in every if x.bound in (Bound.END, Bound.UNTIL)}
    return {length, *more, *ends}


def _box(
    module: KernelModule, role: Role, op: ops.VectorStore | ops.BulkStore, tensor: str
) -> tuple[list[int], tuple[str, ...], list[int], list[IntExpr]]:
    """Axes of a tensor that a store walks inside a tile: which, their variables, the extents of a
    tile along them, and offsets.
    """
    arg, schedule = module.tensor(tensor), role.tiles.schedule
    extents = {a.var: a.extent for a in schedule.axes}
    whole = {v.name: v.extent for v in module.kernel.vars if v.walk is Walk.WHOLE}
    by_axis = {v.axis: v.extent for v in module.kernel.vars if v.walk is Walk.WHOLE}
    numbers, names, lengths, offsets = [], [], [], []
    for n, (axis, at) in enumerate(zip(arg.axes, op.at, strict=True)):
        found = _along(module, at)
        if found is None or found[0] in {a.var for a in schedule.units}:
            continue
        var, offset = found
        extent = extents.get(var) or whole.get(var) or _step_extent(module, at)
        extent = extent or by_axis.get(axis.name) or axis.size or 0
        if not any(s in (ROW, COL) or s.kind in THREADS for s in symbols(offset)):
            continue
        numbers.append(n)
        names.append(var or axis.name)
        lengths.append(extent)
        offsets.append(offset)
    return numbers, tuple(names), lengths, offsets


def _step_extent(module: KernelModule, at: IntExpr) -> int:
    """Elements of a step, where an index walks with the loop; 0 elsewhere, or where data says."""
    role = module.roles[0]
    loops: list[LoopPhase | TileLoop] = [*role.earlier, role.tiles]
    named = {f.name: f for loop in loops for f in loop.functions}
    own = frozenset(x.name for loop in loops for x in loop.bounds if x.bound is Bound.OWN)
    for node in nodes(at):
        if isinstance(node, Apply) and node.function in named:
            function = named[node.function]
            return step_of(function.value, function.parameter, own)[0]
    return 0


def _threads(role: Role, indices: tuple[ops.FragmentIndex, ...]) -> tuple[dict[Sym, Any], Any]:
    several = 1 if role.alternates else role.instances
    names = [INSTANCE, WARP, LANE, *(Sym(SymKind.FRAGMENT, i.name) for i in indices)]
    extents = [several, max(1, role.threads // LANES), LANES, *(i.extent for i in indices)]
    values: dict[Sym, Any] = {}
    for n, (name, extent) in enumerate(zip(names, extents, strict=True)):
        shape = [1] * len(extents)
        shape[n] = extent
        values[name] = np.arange(extent).reshape(shape)
    return values, tuple(extents)


def _vector(
    module: KernelModule,
    role: Role,
    op: ops.Vector,
    store: ops.VectorStore,
    found: Found,
) -> str:
    arg = module.tensor(store.tensor)
    values, full = _threads(role, op.layout.indices)
    for symbol, expr in ((ROW, op.layout.row), (COL, op.layout.col)):
        values[symbol] = np.broadcast_to(value_of(expr, values, {}), full)
    numbers, names, extents, offsets = _box(module, role, store, store.tensor)
    taken = np.ones(full, bool)
    bounded: set[int] = set()
    for part in _conjuncts(store.predicate):
        if all(s.kind in THREADS for s in symbols(part)):
            taken &= np.broadcast_to(value_of(part, values, {}), full).astype(bool)
            continue
        n = _bounds(module, store, part)
        if n is None:
            return f"a store to '{store.tensor}' under a condition that is no bound: {part}"
        bounded.add(n)
    for n, var in zip(numbers, names, strict=True):
        if n not in bounded and not (arg.blocked and n >= len(arg.axes) - 2):
            return f"a store to '{store.tensor}' that may lie outside along {var}"
    if any(s.kind is SymKind.VALUE for at in store.at for s in symbols(_symbolic(at))):
        rows = _scattered_rows(module, store)
        if rows and not any(ROW in symbols(x) for x in offsets):
            names, extents, offsets = (
                (*names, rows),
                [*extents, _extent(module, rows)],
                [*offsets, ROW],
            )
    places = [np.broadcast_to(value_of(x, values, {}), full)[taken] for x in offsets]
    where = (op.op, str(op.iteration))
    return _count(found, store.tensor, where, (names, extents, places), add=store.add)


def _scattered_rows(module: KernelModule, store: ops.VectorStore) -> str:
    """The variable whose rows a list places: a condition says which of them exist."""
    rows = {lift(let(f"pos_{v.name}") + ROW): v.name for v in module.kernel.vars}
    for part in _conjuncts(store.predicate):
        if isinstance(part, Binary) and part.op is Op.LT and part.a in rows:
            return rows[part.a]
    return ""


def _extent(module: KernelModule, var: str) -> int:
    tiled = {a.var: a.extent for a in module.roles[0].tiles.schedule.axes}
    return tiled.get(var, 0)


def _bounds(module: KernelModule, store: ops.VectorStore, part: IntExpr) -> int | None:
    """The axis that a condition bounds from above (or below: -1); None for another condition."""
    if not isinstance(part, Binary):
        return None
    if part.op is Op.GE and part.b == Const(0):
        return -1
    arg = module.tensor(store.tensor)
    for n, (axis, at) in enumerate(zip(arg.axes, store.at, strict=True)):
        blocks = substitute(at, {ROW: lift(ROW // BLOCK_ROWS * BLOCK_ROWS)}) if arg.blocked else at
        if (
            part.op is Op.LT
            and part.a in (at, blocks)
            and part.b in _limits(module, store.tensor, axis)
        ):
            return n
    # rows of the tile that exist, where a list says where they go
    rows = {lift(let(f"pos_{v.name}") + ROW): v.axis for v in module.kernel.vars}
    if part.op is Op.LT and part.a in rows:
        ends = {size(rows[part.a]), *_limits(module, store.tensor, arg.axes[0])}
        return -1 if part.b in ends else None
    return None


def _bulk(
    module: KernelModule,
    role: Role,
    op: ops.BulkStore,
    found: Found,
) -> str:
    tensor_map = module.map(op.tensor_map)
    arg = module.tensor(tensor_map.tensor)
    if tensor_map.outside is not Outside.DROP:
        return "a bulk store that does not drop what lies outside"
    values, full = _threads(role, ())
    one_lane = {**values, LANE: values[LANE][..., :1]}
    full = (*full[:2], 1)
    numbers, names, extents, offsets = _box(module, role, op, arg.name)
    boxed = [n for n, b in enumerate(tensor_map.box) if b > 1]
    if sorted(boxed) != sorted(numbers) and not arg.blocked:
        # an axis that no offset moves along: its box begins where the tile does
        return _fixed(module, role, op, found)
    inner = [tensor_map.box[n] for n in numbers]
    grids = np.meshgrid(*(np.arange(b) for b in inner), indexing="ij")
    places = [
        (np.broadcast_to(value_of(x, one_lane, {}), full)[..., None] + g.ravel()).ravel()
        for x, g in zip(offsets, grids, strict=True)
    ]
    return _count(
        found, arg.name, (op.op, str(op.iteration)), (names, extents, places), add=op.add, bulk=True
    )


def _fixed(
    module: KernelModule,
    role: Role,
    op: ops.BulkStore,
    found: Found,
) -> str:
    """A bulk store of boxes along axes on which all threads begin alike."""
    tensor_map = module.map(op.tensor_map)
    arg = module.tensor(tensor_map.tensor)
    extents = {a.var: a.extent for a in role.tiles.schedule.axes}
    whole = {v.axis: v.extent for v in module.kernel.vars if v.walk is Walk.WHOLE}
    values, full = _threads(role, ())
    values = {**values, LANE: values[LANE][..., :1]}
    full = (*full[:2], 1)
    names, lengths, offsets, inner = [], [], [], []
    for n, (axis, at) in enumerate(zip(arg.axes, op.at, strict=True)):
        if tensor_map.box[n] == 1:
            continue
        plain = _symbolic(at)
        variables = {let(f"pos_{v.name}"): v.name for v in module.kernel.vars}
        used = [s for s in symbols(plain) if s in variables or s == STEP]
        var = variables.get(used[0], "") if used else ""
        names.append(var or axis.name)
        known = extents.get(var) or _step_extent(module, at) or whole.get(axis.name)
        lengths.append(known or axis.size or 0)
        offsets.append(substitute(plain, {s: Const(0) for s in used}))
        inner.append(tensor_map.box[n])
    grids = np.meshgrid(*(np.arange(b) for b in inner), indexing="ij")
    places = [
        (np.broadcast_to(value_of(x, values, {}), full)[..., None] + g.ravel()).ravel()
        for x, g in zip(offsets, grids, strict=True)
    ]
    return _count(
        found,
        arg.name,
        (op.op, str(op.iteration)),
        (tuple(names), lengths, places),
        add=op.add,
        bulk=True,
    )


def _count(
    found: Found,
    tensor: str,
    where: tuple[str, str],
    what: tuple[tuple[str, ...], list[int], list[Any]],
    *,
    add: bool,
    bulk: bool = False,
) -> str:
    names, extents, places = what
    if not places:
        return ""  # one element a tile
    lengths = tuple(e or int(p.max(initial=-1)) + 1 for e, p in zip(extents, places, strict=True))
    key = (tensor, where, names)
    stores = found.get(key)
    if stores is None:
        counted = np.zeros(lengths, np.int64)
        stores = found[key] = _Stores(
            tensor, names, lengths, counted, add, where[0], bulk and not add
        )
    open_ends = [n for n, e in enumerate(extents) if not e]
    more = [(0, 0)] * len(lengths)
    for n in open_ends:
        more[n] = (0, max(0, int(places[n].max(initial=-1)) + 1 - stores.counted.shape[n]))
    stores.counted = np.pad(stores.counted, more)
    lengths = stores.counted.shape
    inside = np.ones(places[0].shape, bool)
    for p, n in zip(places, lengths, strict=True):
        if (p < 0).any():
            return f"a store to '{tensor}' before its tile"
        inside &= p < n
    np.add.at(stores.counted, tuple(p[inside] for p in places), 1)
    return ""


# Loads.


def verify_loads(module: KernelModule) -> Made:
    """Every vector load is in bounds, or masked, on every axis."""
    if module.roles[0].tiles.schedule.rows:
        return  # rows of kernels without a loop: executed by verify_dataflow
    units = {a.var: a.axis for a in module.roles[0].tiles.schedule.units}
    groups = module.roles[0].tiles.schedule.groups
    if groups is not None:
        units[groups.group.var] = groups.group.axis
    number = 0
    vectors = (op for _, op in operations_of(module) if isinstance(op, ops.Vector))
    for op in vectors:
        for load in op.body:
            if not isinstance(load, ops.VectorLoad):
                continue
            number += 1
            for axis, at in zip(module.tensor(load.tensor).axes, load.at, strict=True):
                if not _in_bounds(module, load, axis, at, units):
                    yield Finding(
                        what=f"a load of '{load.tensor}' that may lie outside of '{axis.name}':"
                        f" {at}",
                        where=op.op,
                    )
                    return
    if number:
        yield Claim(
            what="vector loads are in bounds or masked",
            how=How.ALL,
            argument=f"a bound from both sides for each axis of {number} loads",
        )


def _in_bounds(
    module: KernelModule, load: ops.VectorLoad, axis: Axis, at: IntExpr, units: dict[str, str]
) -> bool:
    limits = _limits(module, load.tensor, axis)
    more = 1 if module.tensor(load.tensor).access == "starts" else 0  # one more than groups
    for var, name in units.items():
        numbers = {lift(let(f"pos_{var}") + n) for n in range(more + 1)}
        if at in numbers and name == axis.name and axis.per == 1:
            return True
    if isinstance(at, Binary) and at.op is Op.MIN:
        last = {lift(x - 1) for x in limits}
        if at.b in last and (_is_natural(at.a) or _is_above(load, at)):
            return True
    parts = _conjuncts(load.predicate)
    below = any(
        isinstance(p, Binary) and p.op is Op.LT and p.a == at and p.b in limits for p in parts
    )
    if below and (_is_natural(at) or _is_above(load, at)):
        return True
    # all of an axis whose size is known
    fixed = axis.size
    return isinstance(at, Const) and fixed is not None and 0 <= at.value < fixed


def _is_above(load: ops.VectorLoad, at: IntExpr) -> bool:
    return any(p == Binary(Op.GE, at, Const(0)) for p in _conjuncts(load.predicate))


def _is_natural(expr: IntExpr) -> bool:
    """Whether an index cannot be below 0: sums of positions, steps, rows and columns."""
    match expr:
        case Const():
            return expr.value >= 0
        case Sym():
            return expr.kind in (SymKind.ELEMENT, SymKind.THREAD, SymKind.FRAGMENT, SymKind.LET)
        case Apply():
            return True
        case Binary(op=Op.ADD | Op.MUL | Op.DIV | Op.MIN | Op.MAX):
            return _is_natural(expr.a) and _is_natural(expr.b)
        case _:
            return False


__all__ = ["operations_of", "verify_loads", "verify_positions", "verify_stores"]
