"""Positions, bounds, trip counts and indices of a scheduled loop as expressions of a module."""

from __future__ import annotations

from functools import cached_property

from warploom.errors import KernelError
from warploom.ir.affine import Affine
from warploom.ir.expr import (
    Apply,
    Binary,
    Element,
    Expr,
    Function,
    IntExpr,
    Op as ExprOp,
    Select,
    Sym,
    SymKind,
    ceil_div,
    conjunction,
    const,
    floor_div,
    least,
    lift,
    most,
    size,
)
from warploom.ir.tile import (
    At,
    Broadcast,
    Const,
    DType,
    Fn,
    Load,
    Pointwise,
    Position,
    Reduce,
    Scalar,
    Size,
    Store,
    Walk,
    Whole,
)
from warploom.ir.tile_schedule import (
    PART,
    VISIT,
    Bound,
    Groups,
    Let,
    TileAxis,
    TileSchedule,
    let,
    tile_index,
)
from warploom.ir.types import Access, Axis, Line
from warploom.passes.body import line_of, refusal
from warploom.passes.boundary_masks import bounded_axis
from warploom.passes.driver import Lowered
from warploom.passes.fuse import Step
from warploom.passes.heuristics import SIDE
from warploom.passes.layout import Layout
from warploom.passes.loop_bounds import begins_at, cut_of, fewest_trips, moves
from warploom.passes.smem_layout import grouped_vars, list_of
from warploom.passes.tile_order import differ, starts_early

START_STEP = 8  # elements at whose multiples tiles start, so that 16 bytes can be stored at once
MOST_AXES = 4  # of a tensor whose copies end at a number
MOST_BOUNDED = 3  # of one of the loop, along the rows of a group

T_STEP = Sym(SymKind.STEP, "t")
TRIPS = let("trips")
BACKWARDS = let("backwards")
WHOLE_FROM, WHOLE_TO = let("whole_from"), let("whole_to")
_COMPARED = {
    Fn.LT: ExprOp.LT,
    Fn.LE: ExprOp.LE,
    Fn.GE: ExprOp.GE,
    Fn.EQ: ExprOp.EQ,
    Fn.NE: ExprOp.NE,
}


def refuse(what: str, line: Line | None) -> KernelError:
    """What has no module yet, at the author's line."""
    return refusal(
        f"{what}: not expressed as a kernel module",
        line,
        why="the module of a kernel states every index and bound as an integer expression",
        fix="compile it without asking for its module; listings and verdicts of roles remain",
    )


class Numbers:
    """The expressions of one loop: where tiles and steps begin and end."""

    def __init__(self, lowered: Lowered, *, alone: bool = True) -> None:
        self.lowered = lowered
        self.layout: Layout = lowered.layout
        self.body = lowered.layout.body
        self.kernel = self.body.kernel
        self.config = lowered.layout.config
        self.loop = self.body.loop
        self.cut = cut_of(self.body, self.layout.steps)
        self.walked = self.cut if alone else None

    # Tiles.

    @cached_property
    def schedule(self) -> TileSchedule:
        """The order of tiles."""
        grid = self.kernel.grid
        tiled: list[TileAxis] = []
        units: list[TileAxis] = []
        for name in grid.vars:
            var = self.kernel.var(name)
            walks = var.walk is Walk.TILE
            extent = self.layout.extent(name) if walks else 1
            (tiled if walks else units).append(TileAxis(var=name, axis=var.axis, extent=extent))
        if grid.kind == "groups":
            group, rows = grouped_vars(self.kernel)
            axes = {a.var: a for a in (*tiled, *units)}
            return TileSchedule(
                tiled=tuple(a for a in tiled if a.var != rows),
                units=tuple(a for a in units if a.var != group),
                group=self.config.raster_group,
                groups=Groups(starts=grid.starts[0], group=axes[group], rows=axes[rows]),
            )
        if grid.kind != "tiles":
            raise refuse(f"a grid of {grid.kind}", self.kernel.line)
        plane = len(tiled) == 2
        if len(tiled) > 2:
            raise refuse("tiles of three variables", self.kernel.line)
        group_rows = max(1, self.config.raster_group // self.config.cluster) if plane else 0
        square = plane and self.config.serpentine and self.config.cluster == 1
        square = (
            square and self.config.raster_group % SIDE == 0 and self.config.raster_group != SIDE
        )
        square = square and self.config.split_k == 1 and not grid.order
        return TileSchedule(
            tiled=tuple(tiled),
            units=tuple(units),
            group=group_rows,
            serpentine=plane and self.config.serpentine,
            neighbours=SIDE if square else 0,
            cluster=self.config.cluster,
            split=self.config.split_k,
            listed=not plane and differ(self.kernel, self.walked),
            order=grid.order,
        )

    @cached_property
    def early(self) -> str | None:
        """The variable whose first tile may begin before the tensor does."""
        cut = self.cut
        if cut is None or not starts_early(self.body, cut, self.config):
            return None
        return cut.row

    def lets(self) -> tuple[Let, ...]:
        """Where a tile begins along every variable."""
        schedule, lets = self.schedule, []
        if schedule.groups is not None:
            group, rows = schedule.groups.group, schedule.groups.rows
            number = let(f"pos_{group.var}")
            lets.append(Let(name=number, value=tile_index(group.var)))
            first, last = (Element(schedule.groups.starts, (lift(number + n),)) for n in (0, 1))
            lets.append(Let(name=let(f"end_{rows.var}"), value=last, bound=Bound.END))
            begin = first + tile_index(rows.var) * rows.extent
            lets.append(Let(name=let(f"pos_{rows.var}"), value=lift(begin)))
        for axis in (*schedule.tiled, *reversed(schedule.units)):
            place: IntExpr = lift(tile_index(axis.var) * axis.extent)
            if axis in schedule.tiled and self.is_clamped(axis.var):
                step = START_STEP
                last_place = (size(axis.axis) - axis.extent + (step - 1)) // step * step
                place = least(place, most(last_place, 0))
            if schedule.listed and self.early == axis.var:
                short = let(f"count_{axis.var}") * axis.extent - size(axis.axis)
                place = lift(place - short)
            lets.append(Let(name=let(f"pos_{axis.var}"), value=place))
        if self.config.serpentine:
            lets.append(Let(name=BACKWARDS, value=self._backwards()))
        return tuple(lets)

    def is_clamped(self, var: str) -> bool:
        """Whether the last tile is moved back inside: copies of rows that do not exist take long.

        What it shares with its neighbour is computed twice, to the same bits; so not where the tail
        reads tiles, which may be what is stored, and not where blocks of elements share a number,
        a tile walks the list of its rows, or what is stored is added or depends on where it begins.
        """
        if len(self.schedule.tiled) != 2 or self.schedule.groups is not None:
            return False
        body, kernel = self.body, self.kernel
        loads = [op for _, op in body.placed if isinstance(op, Load)]
        listed = {a.name for x in body.loop.lists for a in kernel.tensor(x.counts).axes}
        return not (
            kernel.var(var).axis in listed
            or any(isinstance(op, Position) and op.var == var for _, op in body.placed)
            or any(d.var == var and d.per > 1 for op in loads for d in op.result.dims)
            or any(isinstance(op, Load) and len(op.result.dims) == 2 for op in body.tail)
            or any(op.add for _, op in body.placed if isinstance(op, Store))
        )

    def _backwards(self) -> IntExpr:
        """Every other tile of a CTA walks its loop from the end, unless it shares elements with
        another one: those all go forwards, so that both store the same bits.
        """
        conditions: list[IntExpr] = [lift((VISIT % 2).ne(0))]
        ctas = self.config.cluster
        plane = len(self.schedule.tiled) == 2 and self.schedule.groups is None
        for axis in self.schedule.tiled if plane else ():
            if not self.is_clamped(axis.var):
                continue
            length, extent = size(axis.axis), axis.extent
            end: Expr = let(f"pos_{axis.var}") + 2 * extent
            if ctas > 1 and axis == self.schedule.tiled[0]:
                below = (let("band") + let("inside") % let("tall")) * ctas + (ctas + 1)
                end = below * extent
            conditions.append(lift((length % extent).eq(0) | (end <= length)))
        result = conjunction(conditions)
        assert result is not None
        return result

    # Steps.

    @property
    def step_extent(self) -> int:
        """Elements that an iteration covers."""
        return self.layout.extent(self.loop.var) * self.loop.times

    @property
    def _length(self) -> Sym:
        return size(self.kernel.var(self.loop.var).axis)

    @property
    def fewest(self) -> int:
        """Iterations that the code runs for a tile, whatever the sizes."""
        return max(self.lowered.document.minimum_trips, fewest_trips(self.layout))

    def bounds(self) -> tuple[Let, ...]:
        """Where the loop of a tile begins and ends; of a split loop, what a part has of it."""
        loop, var = self.loop, self.loop.var
        if loop.lists:
            return self._list_bounds()
        first, end = let(f"first_{var}"), let(f"end_{var}")
        start = most(0, self.number(loop.start, None)) if loop.start else const(0)
        made = [Let(name=first, value=lift(start), bound=Bound.FIRST)]
        stop: Expr = self._length
        least_trips = self.lowered.document.minimum_trips
        single = self.step_extent == 1 and bool(loop.until)
        several = single and (least_trips > 1 or (least_trips == 1 and self.config.split_k > 1))
        if loop.until:
            named = stop = let(f"until_{var}")
            until = least(self._length, self.number(loop.until, None))
            made.append(Let(name=named, value=until, bound=Bound.UNTIL))
        if single and least_trips and not several:  # no step at hand: one of zeros past the end
            moved = Select(lift(first >= stop), self._length, first)
            made.append(Let(name=first, value=moved, bound=Bound.FIRST))
        for bound in self.cut.below if self.cut is not None else ():
            begin = begins_at(self.body, self.step_extent)
            skip = most(self._solved(bound, widest=True) - first, 0) // begin * begin
            made.append(Let(name=first, value=lift(first + skip), bound=Bound.FIRST))
        for bound in self.cut.above if self.cut is not None else ():
            stop = least(stop, self._solved(bound, widest=True) + 1)
        made.append(Let(name=end, value=lift(stop), bound=Bound.END))
        if self.config.split_k > 1:
            every, share = let("trips_of_all"), let("trips_of_part")
            made.append(Let(name=every, value=ceil_div(end - first, self.step_extent)))
            each = most(ceil_div(every, self.config.split_k), self.fewest)
            made.append(Let(name=share, value=each))
            mine = first + PART * share * self.step_extent  # where the part begins
            made.append(Let(name=first, value=lift(mine), bound=Bound.FIRST))
        if several:
            own: Expr = end - first
            own = least(own, let("trips_of_part")) if self.config.split_k > 1 else own
            made.append(Let(name=let(f"own_{var}"), value=lift(own), bound=Bound.OWN))
        return tuple(made)

    def trips(self) -> IntExpr:
        """Iterations of a tile."""
        var = self.loop.var
        if self.loop.lists:
            total: Expr = const(0)
            for n, _ in enumerate(self.loop.lists):
                total = total + let(f"count_{n}_{var}")
            return most(total, self.fewest)
        if self.config.split_k > 1:
            every, share = let("trips_of_all"), let("trips_of_part")
            return most(least(every - PART * share, share), self.fewest)
        elements = let(f"end_{var}") - let(f"first_{var}")
        return most(ceil_div(elements, self.step_extent), self.fewest)

    def ranges(self) -> tuple[Let, ...]:
        """Iterations that hide nothing, where a condition hides elements of others."""
        if not self.masked:
            return ()
        loop, length = self.loop, self._length
        extent = self.step_extent
        known = self.cut is None or self.cut.known
        if loop.lists:
            whole: Expr = let(f"whole_{loop.var}")
            to = Select(lift(length % extent), const(0), lift(whole)) if known else const(0)
            return Let(name=WHOLE_FROM, value=const(0)), Let(name=WHOLE_TO, value=to)
        first = let(f"first_{loop.var}")
        start: Expr = const(0)
        end: Expr = TRIPS if known else const(0)
        seen = self.cut if self.cut is not None and self.cut.known else None
        for bound in seen.below if seen is not None else ():
            above = most(self._solved(bound, widest=False) - first + (extent - 1), 0) // extent
            start = least(most(start, above), TRIPS)
        for bound in seen.above if seen is not None else ():
            before = self._solved(bound, widest=False) + 1 - first
            end = least(end, floor_div(lift(before), extent))
        end = least(most(end, 0), TRIPS)
        if self.config.serpentine:
            start, end = (
                Select(BACKWARDS, lift(TRIPS - end), lift(start)),
                Select(BACKWARDS, lift(TRIPS - start), lift(end)),
            )
        return Let(name=WHOLE_FROM, value=lift(start)), Let(name=WHOLE_TO, value=lift(end))

    @cached_property
    def masked(self) -> frozenset[str]:
        """Steps of the loop that hide elements by a condition along it."""
        return frozenset(s.name for s in self.layout.steps if self._hides(s))

    def _hides(self, step: Step) -> bool:
        return step.when == "loop" and any(
            isinstance(op, Pointwise) and op.fn is Fn.WHERE and moves(self.body, op.args[0])
            for op in step.ops
        )

    def functions(self) -> tuple[Function, ...]:
        """Where every iteration begins."""
        var, extent = self.loop.var, self.step_extent
        along: Expr = T_STEP
        if self.loop.lists:
            place: Expr = ceil_div(self._length, extent)
            for n in reversed(range(len(self.loop.lists))):
                before: Expr = T_STEP
                for m in range(n):
                    before = before - let(f"count_{m}_{var}")
                inside = before < let(f"count_{n}_{var}")
                tiles = self.loop.lists[n].tensor
                place = Select(lift(inside), self._of_grid(tiles, lift(before)), lift(place))
            value: Expr = extent * place
        else:
            if self.config.serpentine:
                along = Select(BACKWARDS, lift(TRIPS - 1 - T_STEP), T_STEP)
            value = let(f"first_{var}") + extent * along
            own = next((x.name for x in self.bounds() if x.bound is Bound.OWN), None)
            if own is not None:
                mine = extent * along < own
                value = Select(lift(mine), lift(value), self._length)
        return (Function(name=f"step_{var}", parameter=T_STEP, value=lift(value)),)

    def _list_bounds(self) -> tuple[Let, ...]:
        var, whole = self.loop.var, const(0)
        made, total = [], lift(whole)
        for n, tiles in enumerate(self.loop.lists):
            name = let(f"count_{n}_{var}")
            made.append(Let(name=name, value=self._of_grid(tiles.counts, None)))
            total = lift(total + name) if tiles.whole else total
        return (*made, Let(name=let(f"whole_{var}"), value=total))

    def _of_grid(self, tensor: str, inner: IntExpr | None) -> IntExpr:
        """The element of a tensor that the tile at hand has; ``inner`` along an axis of its own."""
        walked = {self.kernel.var(n).axis: n for n in self.kernel.grid.vars}
        at = []
        for axis in self.kernel.tensor(tensor).axes:
            if axis.name in walked:
                at.append(lift(self.position(walked[axis.name], None) // axis.per))
            else:
                at.append(inner if inner is not None else const(0))
        return Element(tensor, tuple(at))

    def _solved(self, bound: Affine, *, widest: bool) -> Expr:
        """The loop's index at which a bound holds for some row of the tile, or for all of them."""
        assert self.cut is not None
        total: Expr = const(bound.constant)
        for factor, name in bound.rest:
            total = total + factor * self.number(name, None)
        if bound.rows and self.cut.row is not None:
            place: Expr = let(f"pos_{self.cut.row}")
            if (bound.rows > 0) is widest:
                place = place + (self.layout.extent(self.cut.row) - 1)
            total = total + bound.rows * place
        return 0 - total if bound.loop > 0 else total

    # Indices.

    def position(self, var: str, iteration: IntExpr | None) -> Expr:
        """Where a variable stands; a loop's in the given iteration."""
        if var == self.loop.var:
            if iteration is None:
                raise refuse("a step of the loop outside of it", self.loop.line)
            return Apply(f"step_{var}", iteration)
        if self.kernel.var(var).walk is Walk.WHOLE:
            return const(0)
        return let(f"pos_{var}")

    def length(self, tensor: str, axis: Axis) -> IntExpr:
        """The size of a tensor's axis; offsets of groups have one more than groups."""
        found = ceil_div(size(axis.name), axis.per)
        return lift(found + 1) if self.kernel.tensor(tensor).access is Access.STARTS else found

    def end_of(self, var: str) -> IntExpr:
        """The first element after those a variable covers."""
        if var == self.loop.var and self.loop.until is not None:
            return let(f"until_{var}")
        if self.kernel.grid.kind == "groups" and var == grouped_vars(self.kernel)[1]:
            return let(f"end_{var}")
        return size(self.kernel.var(var).axis)

    def limit(self, tensor: str, axis: Axis, var: str | None) -> IntExpr:
        """Where a tensor's elements end for a variable: at the end of its group, or of the axis."""
        if self.kernel.grid.kind == "groups" and var == grouped_vars(self.kernel)[1]:
            return let(f"end_{var}")
        return self.length(tensor, axis)

    def later(self, op: Load | Store, at: At) -> int:
        """How much later in an iteration of several steps an index stands."""
        if isinstance(op, Load) and at.var is not None and at.var == self.loop.var:
            return op.step * self.layout.extent(at.var)
        return 0

    def index(self, op: Load | Store, n: int, iteration: IntExpr | None) -> Expr:
        """The first element of an axis that an index covers."""
        at = op.at[n]
        if at.var is None:
            return self.number(at.value or "", iteration)
        per = self.kernel.tensor(op.tensor).axes[n].per
        return (self.position(at.var, iteration) + self.later(op, at)) // per

    def within(self, op: Load | Store, places: list[IntExpr]) -> list[IntExpr]:
        """Conditions under which computed numbers among the indices lie on their axes."""
        axes = self.kernel.tensor(op.tensor).axes
        made: list[IntExpr] = []
        for place, at, axis in zip(places, op.at, axes, strict=True):
            if self.may_lie_outside(op, at, axis):
                made += [lift(lift(place) >= 0), lift(place < self.length(op.tensor, axis))]
        return [x for x in made if x != const(1)]

    def may_lie_outside(self, op: Load | Store, at: At, axis: Axis) -> bool:
        """Whether an index is a number that is not known to lie on its axis."""
        if at.value is None or self.body.values[at.value].dims:
            return False
        made = self.body.ops.get(at.value)
        if self.kernel.tensor(op.tensor).access is Access.STARTS and isinstance(made, Pointwise):
            first, *more = (self.body.ops.get(a) for a in made.args)
            if made.fn is Fn.ADD and isinstance(more[0], Const) and more[0].value == 1:
                made = first  # the end of a group
        if isinstance(made, Position):
            var = self.kernel.var(made.var)
            return var.walk is not Walk.UNIT or var.axis != axis.name or axis.per > 1
        return True

    def number(  # noqa: C901, PLR0911 (one line a kind of op)
        self, name: str, iteration: IntExpr | None
    ) -> Expr:
        """A scalar whole number of the kernel as an expression."""
        op = self.body.ops.get(name)
        match op:
            case Const():
                return const(int(op.value))
            case Scalar() if op.result.dtype is DType.I32:
                return Sym(SymKind.SCALAR, op.parameter)
            case Size():
                found = self.kernel.tensor(op.tensor).axis(op.axis)
                return ceil_div(size(op.axis), found.per)
            case Position():
                return self.position(op.var, iteration)
            case Whole():
                if iteration is None:
                    raise refuse("a step of the loop outside of it", self.loop.line)
                return iteration < let(f"whole_{op.var}")
            case Broadcast():
                return self.number(op.arg, iteration)
            case Load() if op.result.dtype in (DType.I32, DType.I8):
                return self._element(op, iteration)
            case Reduce() if self.body.is_free(name):
                first = self.position(op.over, iteration)
                if op.fn is Fn.MIN:
                    return most(first, 0) if op.over == self.early else first
                last = first + self.layout.extent(op.over)
                return least(last, self.end_of(op.over)) - 1
            case Pointwise():
                return self._pointwise(op, [self.number(a, iteration) for a in op.args])
            case _:
                line = line_of(op) if op is not None else self.kernel.line
                raise refuse("an index that is no whole number of the tile", line)

    def _pointwise(self, op: Pointwise, args: list[Expr]) -> Expr:  # noqa: C901, PLR0911, PLR0912
        match op.fn:
            case Fn.ADD:
                return args[0] + args[1]
            case Fn.SUB:
                return args[0] - args[1]
            case Fn.MUL:
                return args[0] * args[1]
            case Fn.NEG:
                return 0 - args[0]
            case Fn.MIN:
                return least(args[0], args[1])
            case Fn.MAX:
                return most(args[0], args[1])
            case Fn.FLOORDIV:
                return floor_div(args[0], args[1])
            case Fn.MOD:
                return args[0] - args[1] * floor_div(args[0], args[1])
            case Fn.GT:
                return Binary(ExprOp.LT, lift(args[1]), lift(args[0]))
            case Fn.AND:
                return args[0] & args[1]
            case Fn.OR:
                return args[0] | args[1]
            case Fn.NOT:
                return args[0].eq(0)
            case Fn.WHERE:
                return Select(lift(args[0]), lift(args[1]), lift(args[2]))
            case Fn.ABS:
                return most(args[0], 0 - args[0])
            case Fn.CAST if op.result.dtype is DType.I32 and self._is_whole(op.args[0]):
                return args[0]
            case _ if op.fn in _COMPARED:
                return Binary(_COMPARED[op.fn], lift(args[0]), lift(args[1]))
            case _:
                raise refuse(f"{op.fn} in an index", op.result.line)

    def _is_whole(self, name: str) -> bool:
        return self.body.values[name].dtype in (DType.I32, DType.I8, DType.BOOL)

    def _element(self, op: Load, iteration: IntExpr | None) -> Expr:
        """One element of memory; past the end of a loop its last one, or 0 of single steps."""
        places: list[IntExpr] = []
        conditions: list[IntExpr] = []
        for n, (at, axis) in enumerate(zip(op.at, self.kernel.tensor(op.tensor).axes, strict=True)):
            place = self.index(op, n, iteration)
            if at.var is not None and at.var == self.loop.var:
                length = self.length(op.tensor, axis)
                if self.layout.extent(at.var) == 1:
                    conditions.append(lift(place < length))
                place = least(place, length - 1)
            places.append(lift(place))
        conditions += self.within(op, places)
        found = Element(op.tensor, tuple(places))
        exists = conjunction(conditions)
        return found if exists is None else Select(exists, found, const(0))

    # Copies that end at a number.

    def bounded(self, op: Load | Store) -> int | None:
        """The axis of a tensor along which a copy ends at a number."""
        body, kernel = self.body, self.kernel
        if isinstance(op, Load) and op.end is not None:
            return next(n for n, at in enumerate(op.at) if at.var == op.result.vars[0])
        result = bounded_axis(body, op)
        if isinstance(op, Store) and op in body.loop.body and body.loop.until is not None:
            along = body.values[op.value].vars[:1] == (body.loop.var,)
            mine = (n for n, at in enumerate(op.at[:-1]) if along and at.var == body.loop.var)
            result = next(mine, None)  # rows past the end belong to somebody else
            if result is not None and len(op.at) > MOST_AXES:
                raise refusal(
                    f"rows of {op.tensor} are stored up to the end of a loop",
                    op.line,
                    why=f"copies of tensors of {MOST_AXES} axes at most end before the tensor does",
                    fix=f"store {op.tensor} with fewer axes",
                )
            return result
        if result is not None or kernel.grid.kind != "groups":
            return result
        if op not in body.loop.body and not self._is_summed_over(op):
            return None
        rows, load = grouped_vars(kernel)[1], isinstance(op, Load) and not list_of(body, op)
        axes = MOST_BOUNDED if op in body.loop.body else MOST_AXES
        fits = load and len(op.at) <= axes and body.loop.times == 1
        return next((n for n, at in enumerate(op.at[:-1]) if fits and at.var == rows), None)

    def _is_summed_over(self, op: Load | Store) -> bool:
        from warploom.ir.tile import Dot  # noqa: PLC0415 (one use)

        if not isinstance(op, Load):
            return False
        body = self.body
        dots = [x for x in body.loop.body if isinstance(x, Dot)]
        summed = [x for x in dots if body.values[x.a].vars[1] == op.result.vars[0]]
        return any(body.through(n)[0] == op.result.name for x in summed for n in (x.a, x.b))

    def bound_of(self, op: Load | Store, n: int, iteration: IntExpr | None) -> IntExpr:
        """Where the rows of a bounded copy end."""
        at = op.at[n]
        if not isinstance(op, Load) or op.end is None:
            return self.end_of(at.var or "")
        axis = self.kernel.tensor(op.tensor).axes[n]
        return least(most(self.number(op.end, iteration), 0), self.length(op.tensor, axis))
