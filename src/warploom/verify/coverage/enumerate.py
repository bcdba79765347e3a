"""Follow every element of small problems through a module, without computing a value.

Copies say which elements of a tensor lie where in a slot, MMAs which of them meet in a sum, stores
where that sum goes. For each size of a list this decides: every element of every output is stored,
from the sum that belongs to it; that sum has every element of the reduction exactly once; and every
access lies in its tensor. Stores that meet twice (tiles that were moved back inside overlap) must
store the same sum in the same order of steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, NoReturn

import numpy as np

from warploom.dataclass import dataclass
from warploom.ir import operations as ops
from warploom.ir.expr import Apply, Function, IntExpr, Sym, SymKind, evaluate, nodes
from warploom.ir.module import KernelModule, Outside, Role, TensorArg, TensorMap
from warploom.ir.operations import Operation, Statement, StepLoop
from warploom.ir.rings import Per
from warploom.ir.tile_schedule import CTA, CTAS, SMS, TILE, VISIT, expand, let
from warploom.verify.coverage.declared import declared_elements
from warploom.verify.coverage.report import Finding
from warploom.verify.coverage.values import value_of

LANES = 32
ROW, COL = Sym(SymKind.ELEMENT, "row"), Sym(SymKind.ELEMENT, "col")
WARP, LANE = Sym(SymKind.THREAD, "warp"), Sym(SymKind.THREAD, "lane")
INSTANCE = Sym(SymKind.THREAD, "instance")
TRIPS, T_STEP = Sym(SymKind.LET, "trips"), Sym(SymKind.STEP, "t")
SMS_TRIED = 3  # so few that CTAs take several tiles each
NOWHERE = -(1 << 40)


class WrongError(Exception):
    """The first thing that is wrong for a size."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(what)
        self.what, self.where = what, where


def size_classes(module: KernelModule) -> list[dict[str, int]]:
    """Sizes that differ in what happens at the edges: none, one, one off a tile, several tiles."""
    schedule = module.roles[0].tiles.schedule
    walked = {a.axis: a.extent for a in schedule.tiled}
    units = {a.axis for a in schedule.units}
    step = _step_extent(module)
    axes = {a.name for t in module.tensors for a in t.axes}
    choices: dict[str, tuple[int, ...]] = {}
    for axis in sorted(axes):
        if axis in walked:
            e = walked[axis]
            choices[axis] = (1, e - 1, e, e + 1, 2 * e + 9)
        else:
            choices[axis] = (2,) if axis in units else (step + 1,)
    rest = sorted(axes - set(walked) - units)
    result = list(_paired(choices))
    middle = {a: c[len(c) // 2] for a, c in choices.items()}
    for axis in rest:
        result += [middle | {axis: n} for n in (0, 1, step - 1, step, 3 * step + 5)]
    result += [middle | {axis: 0} for axis in sorted(walked)]
    return result


def _paired(choices: Mapping[str, tuple[int, ...]]) -> Iterator[dict[str, int]]:
    """Every choice of every axis twice, each time with others of the other axes: where a tile lies
    along an axis depends on that axis alone, and only its direction on both.
    """
    longest = max(len(c) for c in choices.values())
    for apart in (1, 2) if longest > 1 else (0,):
        for n in range(longest):
            yield {axis: c[(n + apart * i) % len(c)] for i, (axis, c) in enumerate(choices.items())}


def _step_extent(module: KernelModule) -> int:
    """Elements of the reduction that one step covers: the columns of a slot's tile."""
    return max((p.cols for p in module.storage.parts), default=64)


class Layouts:
    """What fragment layouts and staged places of a module are in every tile, worked out once.

    Where a tile's own values decide something, it is not kept. Keys are the operations themselves.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[int, object], tuple[object, Any]] = {}

    def once(self, of: object, what: object, make: Callable[[], Any]) -> Any:  # noqa: ANN401
        """What ``make`` gives the first time it is asked for."""
        key = (id(of), what)
        if key not in self._kept:
            self._kept[key] = (of, make())  # held, so that no other has its id
        return self._kept[key][1]


def find_wrong(
    module: KernelModule, sizes: Mapping[str, int], layouts: Layouts | None = None
) -> Finding | None:
    """The first thing that is wrong for these sizes; ``layouts`` of earlier sizes are taken."""
    try:
        _Run(module, sizes, layouts or Layouts()).check()
    except WrongError as wrong:
        return Finding(what=wrong.what, where=wrong.where, sizes=tuple(sorted(sizes.items())))
    return None


@dataclass
class Content:
    """What a part of a slot holds: index of the tensor's axes by row and by column of the part."""

    axes: tuple[str, str]
    rows: Any
    cols: Any


@dataclass
class Sum:
    """An accumulator: which rows and columns it stands for, and how often each step's elements."""

    axes: tuple[str, str] = ("", "")
    rows: Any = None
    cols: Any = None
    used: dict[tuple[str, str, str], Any] = field(default_factory=dict)  # by axis and operands
    order: tuple[int, ...] = ()


@dataclass
class Tile:
    """One tile of one role in one CTA: the values of its symbols."""

    values: dict[Sym, int]
    functions: Mapping[str, Function]
    trips: int = 0

    def number(self, expr: IntExpr) -> int:
        """The value of an expression."""
        return evaluate(expr, self.values, self.functions)


@dataclass
class _Run:
    module: KernelModule
    sizes: Mapping[str, int]
    layouts: Layouts
    stored: dict[str, Any] = field(default_factory=dict)
    staged: dict[tuple[str, int], Any] = field(default_factory=dict)
    order: dict[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        module = self.module
        for t in module.tensors:
            if t.access == "out":
                shape = tuple(-(-self.sizes[a.name] // a.per) for a in t.axes)
                self.stored[t.name] = np.zeros(shape, np.int64)
                self.order[t.name] = np.zeros(shape, np.int64)
        symbols = {Sym(SymKind.SIZE, n): v for n, v in self.sizes.items()}
        grid = evaluate(module.launch.grid, {**symbols, SMS: SMS_TRIED})
        cluster = module.launch.cluster
        for first in range(0, grid, cluster):
            self._cluster(symbols, range(first, min(first + cluster, grid)), grid)
        for name, counted in self.stored.items():
            missing = (counted == 0) & declared_elements(
                module.kernel, name, self.sizes, counted.shape
            )
            if np.any(missing):
                where = tuple(int(x[0]) for x in np.nonzero(missing))
                raise WrongError(f"element {where} of '{name}' is never stored", f"output {name}")

    def _cluster(  # noqa: C901 (roles, CTAs, tiles)
        self, symbols: dict[Sym, int], ctas: range, grid: int
    ) -> None:
        by_role = {
            r.name: [list(tiles_of(r, symbols, c, grid)) for c in ctas] for r in self.module.roles
        }
        producers = [r for r in self.module.roles if r.threads == 1]
        consumers = [r for r in self.module.roles if r.threads > 1]
        for role in (*producers, *consumers):
            for n, cta in enumerate(ctas):
                lengths = [t.trips for t in by_role[role.name][n]]
                for other in self.module.roles:
                    if [t.trips for t in by_role[other.name][n]] != lengths:
                        raise WrongError(
                            f"{role.name} and {other.name} disagree on tiles or trip counts",
                            f"CTA {cta}",
                        )
        most = max((len(x) for rows in by_role.values() for x in rows), default=0)
        for visit in range(most):
            held = [
                [by_role[p.name][n][visit] for p in producers]
                if visit < len(by_role[p0][n])
                else []
                for n in range(len(ctas))
                for p0 in [producers[0].name]
            ]
            contents = self._contents(producers, held)
            for role in consumers:
                for n, cta in enumerate(ctas):
                    if visit >= len(by_role[role.name][n]):
                        continue
                    tile = by_role[role.name][n][visit]
                    for instance in range(role.instances):
                        if role.alternates and visit % role.instances != instance:
                            continue
                        tile.values[INSTANCE] = instance
                        self._consume(role, tile, contents[n], f"CTA {cta}, {role.name}")

    # What copies put into slots.

    def _contents(
        self, producers: list[Role], held: list[list[Tile]]
    ) -> list[dict[tuple[str, str, int], Content]]:
        """For every CTA of a cluster what each use of a ring holds."""
        result: list[dict[tuple[str, str, int], Content]] = [{} for _ in held]
        for n, tiles in enumerate(held):
            for role, tile in zip(producers, tiles, strict=False):
                for op in walk(role.tiles.body, tile):
                    if isinstance(op, ops.Copy):
                        targets = range(len(held)) if op.multicast > 1 else [n]
                        for m in targets:
                            self._land(result[m], op, tile)
        return result

    def _land(self, slots: dict[tuple[str, str, int], Content], op: ops.Copy, tile: Tile) -> None:
        shape = self.module.part(op.ring, op.part)
        tensor_map = self.module.map(op.tensor_map)
        row_axis, col_axis = box_axes(tensor_map)
        names = [a.name for a in self.module.tensor(tensor_map.tensor).axes]
        use = self._use(op.ring, op.iteration, tile)
        key = (op.ring, op.part, use)
        if key not in slots:
            slots[key] = Content(
                (names[row_axis], names[col_axis]),
                np.full((shape.rows, shape.cols), NOWHERE),
                np.full((shape.rows, shape.cols), NOWHERE),
            )
        content = slots[key]
        high, wide = tensor_map.box[row_axis], tensor_map.box[col_axis]
        for box in op.boxes:
            at = [tile.number(x) for x in box.at]
            row, col = tile.number(box.row), box.col
            if row < 0 or row + high > shape.rows or col + wide > shape.cols:
                raise WrongError("a box lands outside of its part", op.op)
            content.rows[row : row + high, col : col + wide] = (
                at[row_axis] + np.arange(high)[:, None]
            )
            content.cols[row : row + high, col : col + wide] = at[col_axis] + np.arange(wide)

    def _use(self, ring: str, iteration: IntExpr, tile: Tile) -> int:
        return tile.number(iteration) if self.module.ring(ring).per is Per.ITERATION else 0

    # What a consumer makes of it.

    def _consume(
        self,
        role: Role,
        tile: Tile,
        slots: dict[tuple[str, str, int], Content],
        where: str,
    ) -> None:
        sums = {a.name: Sum() for a in role.arrays}
        for op in walk(role.tiles.body, tile):
            if isinstance(op, ops.Mma):
                self._multiply(op, tile, slots, sums[op.accumulator], where)
            elif isinstance(op, ops.Vector):
                self._vector(op, role, tile, sums, where)
            elif isinstance(op, ops.BulkStore):
                self._bulk_store(op, role, tile, where)

    def _operand(
        self,
        x: ops.SlotOperand,
        use: int,
        slots: dict[tuple[str, str, int], Content],
        tile: Tile,
        where: str,
    ) -> tuple[str, str, Any, Any]:
        """Names of both axes, the rows of the operand and its elements along the reduction."""
        content = slots.get((x.ring, x.part, use))
        if content is None:
            raise WrongError(f"an MMA reads {x.ring}[{use}].{x.part}, which no copy fills", where)
        outer, inner = content.axes
        rows, cols = content.rows, content.cols
        if x.transposed:
            outer, inner, rows, cols = inner, outer, cols.T, rows.T
        at = tile.number(x.row)
        if at < 0 or at + x.rows > rows.shape[0]:
            raise WrongError(f"operand rows past the end of {x.ring}.{x.part}", where)
        rows, cols = rows[at : at + x.rows], cols[at : at + x.rows]
        if np.any(rows != rows[:, :1]) or np.any(cols != cols[:1]):
            raise WrongError(f"{x.ring}.{x.part} is not one tile of its tensor", where)
        return outer, inner, rows[:, 0], cols[0]

    def _multiply(
        self,
        op: ops.Mma,
        tile: Tile,
        slots: dict[tuple[str, str, int], Content],
        made: Sum,
        where: str,
    ) -> None:
        if isinstance(op.a, ops.RegisterOperand):
            raise WrongError("a product of registers, which is not followed here", where)
        use_a = self._use(op.a.ring, op.iteration, tile)
        use_b = self._use(op.b.ring, op.iteration, tile)
        row_axis, along, rows, left = self._operand(op.a, use_a, slots, tile, where)
        col_axis, other, cols, right = self._operand(op.b, use_b, slots, tile, where)
        if along != other or np.any(left != right):
            raise WrongError("an MMA multiplies elements of different steps", f"{where}, {op.op}")
        length = self.sizes[along]
        if not op.accumulate or made.rows is None:
            if op.accumulate:
                raise WrongError("an MMA adds to a sum that was never begun", f"{where}, {op.op}")
            made.axes, made.rows, made.cols = (row_axis, col_axis), rows, cols
            made.used, made.order = {}, ()
        if np.any(made.rows != rows) or np.any(made.cols != cols):
            raise WrongError("an MMA adds another tile to a sum", f"{where}, {op.op}")
        begin, end = op.inner or (0, len(left))
        inside = left[begin:end]
        inside = inside[(inside >= 0) & (inside < length)]
        counted = made.used.setdefault((along, op.a.part, op.b.part), np.zeros(length, np.int64))
        np.add.at(counted, inside, 1)
        made.order = (*made.order, int(left[begin]))

    def _whole(self, made: Sum, name: str, where: str) -> None:
        if made.rows is None:
            raise WrongError(f"{name} is stored before it is computed", where)
        for (along, *_), used in made.used.items():
            if np.any(used != 1):
                k = int(np.nonzero(used != 1)[0][0])
                raise WrongError(
                    f"element {k} of '{along}' is used {int(used[k])} times in a sum", where
                )

    def _fragment(self, layout: ops.FragmentLayout, role: Role, tile: Tile) -> dict[Sym, Any]:
        warps = role.threads // LANES
        own = self.layouts.once(layout, warps, lambda: _indices(layout, warps))
        values: dict[Sym, Any] = {**tile.values, **own}
        if ROW not in values:
            shape = _shape(layout, warps)
            for symbol, expr in ((ROW, layout.row), (COL, layout.col)):
                values[symbol] = np.broadcast_to(value_of(expr, values, tile.functions), shape)
        return values

    def _vector(
        self, op: ops.Vector, role: Role, tile: Tile, sums: dict[str, Sum], where: str
    ) -> None:
        values = self._fragment(op.layout, role, tile)
        shape = values[ROW].shape
        held: list[tuple[Sum, Any, Any]] = []
        for step in op.body:
            if isinstance(step, ops.VectorRegister):
                made = sums[step.array]
                self._whole(made, step.array, where)
                rows, cols = self._registers(op.layout, values, tile, (shape, made))
                high, wide = rows.max(initial=-1), cols.max(initial=-1)
                if rows.min(initial=0) < 0 or high >= len(made.rows) or wide >= len(made.cols):
                    raise WrongError(f"a register past the end of {step.array}", where)
                held.append((made, made.rows[rows], made.cols[cols]))
                self._check_layout(role, tile, held[-1], values, where)
            elif isinstance(step, ops.VectorLoad):
                self._check_load(step, values, tile, shape, held, f"{where}, {op.op}")
            elif isinstance(step, ops.VectorStage):
                self._stage(step, op.layout, values, tile, shape, held, role)
            elif isinstance(step, ops.VectorStore):
                at = [np.broadcast_to(value_of(x, values, tile.functions), shape) for x in step.at]
                inside = np.ones(shape, bool)
                if step.predicate is not None:
                    inside = np.broadcast_to(
                        value_of(step.predicate, values, tile.functions), shape
                    )
                self._store(step.tensor, [a[inside] for a in at], inside, held, where)

    def _registers(
        self,
        layout: ops.FragmentLayout,
        values: dict[Sym, Any],
        tile: Tile,
        of: tuple[tuple[int, ...], Sum],
    ) -> tuple[Any, Any]:
        """Row and column, within its sum, of the register that each place of a layout is."""
        shape, made = of

        def worked_out() -> tuple[Any, Any]:
            register = np.broadcast_to(value_of(layout.register, values, tile.functions), shape)
            return wgmma_element(register, values[WARP], values[LANE], len(made.cols))

        if not _is_fixed(layout, layout.register):
            return worked_out()
        result: tuple[Any, Any] = self.layouts.once(layout, (shape, len(made.cols)), worked_out)
        return result

    def _check_layout(
        self,
        role: Role,
        tile: Tile,
        held: tuple[Sum, Any, Any],
        values: dict[Sym, Any],
        where: str,
    ) -> None:
        """Row and column that a layout states are those the register holds."""
        made, *places = held
        begins = {a.axis: tile.values.get(let(f"pos_{a.var}"), 0) for a in role.tiles.schedule.axes}
        for name, at, symbol in zip(made.axes, places, (ROW, COL), strict=True):
            if np.any(at != begins.get(name, 0) + values[symbol]):
                raise WrongError(f"a fragment layout whose {symbol.name} is another one", where)

    def _check_load(
        self,
        step: ops.VectorLoad,
        values: dict[Sym, Any],
        tile: Tile,
        shape: tuple[int, ...],
        held: list[tuple[Sum, Any, Any]],
        where: str,
    ) -> None:
        """Loads lie in their tensor, and take every element that exists, of the sum's own place."""
        tensor = self.module.tensor(step.tensor)
        inside = np.ones(shape, bool)
        if step.predicate is not None:
            inside = np.broadcast_to(value_of(step.predicate, values, tile.functions), shape)
        places = self._places(held)
        there = np.ones(shape, bool)  # numbers among the indices may lie outside of their axes
        for axis, expr in zip(tensor.axes, step.at, strict=True):
            at = np.broadcast_to(value_of(expr, values, tile.functions), shape)
            if axis.name not in places:
                there = there & (at >= 0) & (at < -(-self.sizes[axis.name] // axis.per))
        for axis, expr in zip(tensor.axes, step.at, strict=True):
            at = np.broadcast_to(value_of(expr, values, tile.functions), shape)
            length = -(-self.sizes[axis.name] // axis.per)
            if np.any(inside & ((at < 0) | (at >= length))):
                raise WrongError(f"a load of '{step.tensor}' outside of '{axis.name}'", where)
            if axis.name in places:
                own = places[axis.name] // axis.per
                counts = self._exists(places) & there
                if np.any(counts & ~inside):
                    raise WrongError(
                        f"a load of '{step.tensor}' leaves out elements that exist", where
                    )
                if np.any(inside & counts & (at != own)):
                    raise WrongError(
                        f"a load of '{step.tensor}' takes another element of '{axis.name}'"
                        " than the sum it goes with",
                        where,
                    )

    def _places(self, held: list[tuple[Sum, Any, Any]]) -> dict[str, Any]:
        places: dict[str, Any] = {}
        for made, rows, cols in held:
            places |= {made.axes[0]: rows, made.axes[1]: cols}
        return places

    def _exists(self, places: dict[str, Any]) -> Any:  # noqa: ANN401 (an array)
        result = True
        for name, at in places.items():
            result = result & (at >= 0) & (at < self.sizes[name])
        return result

    def _stage(
        self,
        step: ops.VectorStage,
        layout: ops.FragmentLayout,
        values: dict[Sym, Any],
        tile: Tile,
        shape: tuple[int, ...],
        held: list[tuple[Sum, Any, Any]],
        role: Role,
    ) -> None:
        """Which element of the output each place of a staging copy stands for."""
        stage = next(s for s in self.module.storage.staging if s.buffer == step.target.buffer)
        extents = (role.threads // LANES, stage.rows, stage.cols)

        def worked_out() -> Any:  # noqa: ANN401 (an array)
            rows, cols = (value_of(x, values, tile.functions) for x in (step.row, step.col))
            if np.any((rows < 0) | (rows >= stage.rows) | (cols < 0) | (cols >= stage.cols)):
                raise WrongError("a write past the end of a staging copy", role.name)
            flat = (values[WARP] * stage.rows + rows) * stage.cols + cols
            return np.broadcast_to(flat, shape).ravel()

        fixed = _is_fixed(layout, step.row) and _is_fixed(layout, step.col)
        flat = self.layouts.once(step, (id(layout), extents), worked_out) if fixed else worked_out()
        places = {}
        for name, at in self._places(held).items():
            here = np.full(math.prod(extents), NOWHERE)
            here[flat] = np.broadcast_to(at, shape).ravel()
            places[name] = here.reshape(extents)
        order = held[0][0].order if held else ()
        self.staged[step.target.buffer, step.target.copy] = (places, order)

    def _bulk_store(self, op: ops.BulkStore, role: Role, tile: Tile, where: str) -> None:
        tensor_map = self.module.map(op.tensor_map)
        if tensor_map.outside is not Outside.DROP:
            raise WrongError(f"{op.tensor_map} does not drop what lies outside", where)
        tensor = self.module.tensor(tensor_map.tensor)
        key = (op.source.buffer, op.source.copy)
        if key not in self.staged:
            raise WrongError(f"{op.op} stores a staging copy that nothing filled", where)
        places, order = self.staged[key]
        for warp in range(role.threads // LANES):
            own = {**tile.values, WARP: warp}
            at = [evaluate(x, own, tile.functions) for x in op.at]
            box = tensor_map.box
            cuts = [
                slice(max(0, -a), max(0, -a, min(n, self.sizes[axis.name] - a)))
                for a, n, axis in zip(at, box, tensor.axes, strict=True)
            ]  # what lies outside is dropped
            own_part = {n: p[warp].reshape(box)[tuple(cuts)] for n, p in places.items()}
            self._count_box(tensor, at, cuts, own_part, order, where)

    def _count_box(
        self,
        tensor: TensorArg,
        at: list[int],
        cuts: list[slice],
        places: dict[str, Any],
        order: tuple[int, ...],
        where: str,
    ) -> None:
        """A box of neighbouring elements is stored, as ``_count`` counts single ones."""
        region = tuple(slice(a + c.start, a + c.stop) for a, c in zip(at, cuts, strict=True))
        counted, orders = self.stored[tensor.name][region], self.order[tensor.name][region]
        for n, (axis, along) in enumerate(zip(tensor.axes, region, strict=True)):
            if axis.name in places:
                shape = [1] * len(region)
                shape[n] = -1
                if np.any(places[axis.name] != np.arange(along.start, along.stop).reshape(shape)):
                    self._misplaced(tensor.name, axis.name, where)
        mark = hash(order) | 1
        if np.any((orders != 0) & (orders != mark)):
            self._orders_differ(tensor.name, where)
        orders[...] = mark
        counted += 1

    def _misplaced(self, name: str, axis: str, where: str) -> NoReturn:
        raise WrongError(
            f"a store to '{name}' puts a sum at another place of '{axis}' than it was computed for",
            where,
        )

    def _orders_differ(self, name: str, where: str) -> NoReturn:
        raise WrongError(
            f"elements of '{name}' are stored twice, summed in different orders", where
        )

    def _store(
        self,
        name: str,
        at: list[Any],
        inside: Any,  # noqa: ANN401
        held: list[tuple[Sum, Any, Any]],
        where: str,
    ) -> None:
        order = held[0][0].order if held else ()
        self._count(name, at, self._places(held), inside, order, where)

    def _count(
        self,
        name: str,
        at: list[Any],
        places: dict[str, Any],
        inside: Any,  # noqa: ANN401
        order: tuple[int, ...],
        where: str,
    ) -> None:
        tensor = self.module.tensor(name)
        counted, orders = self.stored[name], self.order[name]
        for axis, place, length in zip(tensor.axes, at, counted.shape, strict=True):
            if np.any((place < 0) | (place >= length)):
                raise WrongError(f"a store to '{name}' outside of axis '{axis.name}'", where)
            if axis.name in places and np.any(
                np.broadcast_to(places[axis.name], inside.shape)[inside] != place
            ):
                self._misplaced(name, axis.name, where)
        mark = hash(order) | 1
        before = orders[tuple(at)]
        if np.any((before != 0) & (before != mark)):
            self._orders_differ(name, where)
        orders[tuple(at)] = mark
        np.add.at(counted, tuple(at), 1)


def _shape(layout: ops.FragmentLayout, warps: int) -> tuple[int, ...]:
    return (warps, LANES, *(i.extent for i in layout.indices))


def _is_fixed(layout: ops.FragmentLayout, expr: IntExpr) -> bool:
    """Whether an expression is of a layout's own threads and indices: the same in every tile."""
    own = {WARP, LANE, *(Sym(SymKind.FRAGMENT, i.name) for i in layout.indices)}
    return all(x in own if isinstance(x, Sym) else not isinstance(x, Apply) for x in nodes(expr))


def _indices(layout: ops.FragmentLayout, warps: int) -> Mapping[Sym, Any]:
    """Warp, lane and indices of a layout as arrays; row and column where nothing else decides
    them: they are the same in every tile then.
    """
    shape = _shape(layout, warps)
    names = [WARP, LANE, *(Sym(SymKind.FRAGMENT, i.name) for i in layout.indices)]
    values: dict[Sym, Any] = {}
    for n, (name, extent) in enumerate(zip(names, shape, strict=True)):
        own = [1] * len(shape)
        own[n] = extent
        values[name] = np.arange(extent).reshape(own)
    if _is_fixed(layout, layout.row) and _is_fixed(layout, layout.col):
        for symbol, expr in ((ROW, layout.row), (COL, layout.col)):
            values[symbol] = np.broadcast_to(value_of(expr, values, {}), shape)
    return values


def wgmma_element(register: Any, warp: Any, lane: Any, cols: int) -> tuple[Any, Any]:  # noqa: ANN401
    """Row and column of an accumulator that a register holds: the layout of ``wgmma`` results.

    A warp has 16 rows of each block of 64; a thread has rows lane / 4 and 8 further, and of every 8
    columns the pair 2 * (lane mod 4).
    """
    of_block = cols // 2
    block, here = register // of_block, register % of_block
    down, across = here % 4 // 2, here // 4 * 8 + here % 2
    return block * 64 + warp * 16 + down * 8 + lane // 4, across + lane % 4 * 2


def box_axes(tensor_map: TensorMap) -> tuple[int, int]:
    """The axes of a tensor that are rows and columns of its boxes."""
    wide = [n for n, extent in enumerate(tensor_map.box) if extent > 1]
    last = len(tensor_map.box) - 1
    if len(wide) == 1:
        wide = [last - 1, last] if wide[0] == last else [wide[0], last]
    return wide[0], wide[-1]


def tiles_of(role: Role, symbols: dict[Sym, int], cta: int, grid: int) -> Iterator[Tile]:
    """The tiles a role of a CTA visits, in order."""
    tiles, schedule = role.tiles, expand(role.tiles.schedule)
    functions = {f.name: f for f in tiles.functions}
    start: dict[Sym, int] = {**symbols, CTA: cta, CTAS: grid}
    for bound in (*schedule.counts, *schedule.start):
        start[bound.name] = evaluate(bound.value, start)
    first, total, stride = (
        evaluate(x, start) for x in (schedule.first, schedule.total, schedule.stride)
    )
    for visit, number in enumerate(range(first, total, max(1, stride))):
        values = {**start, TILE: number, VISIT: visit}
        for bound in schedule.place:
            values[bound.name] = evaluate(bound.value, values)
        for var, place in schedule.indices:
            values[Sym(SymKind.TILE, var)] = evaluate(place, values)
        for bound in (*tiles.lets, *tiles.bounds):
            values[bound.name] = evaluate(bound.value, values, functions)
        values[TRIPS] = evaluate(tiles.trips, values)
        for bound in tiles.ranges:
            values[bound.name] = evaluate(bound.value, values)
        yield Tile(values, functions, values[TRIPS])


def walk(body: tuple[Statement, ...], tile: Tile) -> Iterator[Operation]:
    """The operations of a tile in order; ``t`` is set as they are reached."""
    for statement in body:
        if not isinstance(statement, StepLoop):
            yield statement
            continue
        start, stop = tile.number(statement.start), tile.number(statement.stop)
        for t in range(start, stop):
            tile.values[T_STEP] = t
            yield from statement.body
