"""``TilePlan``: extents of every variable and the layout of every value, for a simplified kernel.

A value of two variables has one layout wherever it occurs: that of accumulators where a product
makes such values, else one that is read from memory in wide runs. A value of one variable follows
what makes it (a reduction keeps the map of the axis that stays); loads and indices are computed in
whatever map is asked for.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from warploom.errors import WarploomError
from warploom.ir import tile as ir
from warploom.ir.tile import Kernel, Op, Value, Walk, is_number, operands, results, walk
from warploom.passes.amdgcn.errors import refuse
from warploom.passes.amdgcn.layout import (
    LANES,
    MFMA,
    AxisMap,
    Layout,
    lane_axis,
    linear_axis,
    register_axis,
    vector_axes,
)
from warploom.passes.body import body_of
from warploom.passes.fuse import fuse
from warploom.passes.loop_bounds import Cut, cut_of
from warploom.targets.amdgcn import MI355X, AmdMachine

WIDE = 128  # bits of the widest memory access of a lane
ROWS, COLUMNS, STEPS = 128, 128, 64
ELEMENTS = 64  # elements a lane holds of a tile that no product makes
Pair = frozenset[str]


@dataclass(frozen=True, kw_only=True)
class TilePlan:
    """A kernel with the extents of its variables; ``waves`` of a workgroup.

    ``across``: waves that divide the register axis of accumulators; the others divide the lane
    axis. ``vectors``: maps of values of one variable that a pipelined loop carries. ``exchange``:
    operands that a pipelined loop computes may go through LDS.
    """

    kernel: Kernel
    extents: Mapping[str, int]
    waves: int = 4
    machine: AmdMachine = MI355X
    across: int = 1
    exchange: bool = False
    vectors: Mapping[str, AxisMap] = field(default_factory=dict)

    @property
    def threads(self) -> int:
        """Work items of a workgroup."""
        return self.waves * LANES

    @cached_property
    def seen(self) -> dict[int, Cut]:
        """What hides elements along a loop, by the loop's identity, where that is known."""
        if len(self.kernel.loops) != 1 or self.kernel.loops[0].lists:
            return {}
        try:
            body = body_of(self.kernel)
            found = cut_of(body, fuse(body))
        except WarploomError:  # a form that only other passes refuse
            return {}
        return {} if found is None else {id(self.kernel.loops[0]): found}

    @cached_property
    def made(self) -> dict[str, Op]:
        """What defines each value; a loop for what it carries."""
        result: dict[str, Op] = {}
        for op in walk(self.kernel.ops):
            for value in results(op):
                result[value.name] = op
            if isinstance(op, ir.Loop):
                for carried in op.carried:
                    result[carried.inside.name] = op
        return result

    @cached_property
    def values(self) -> dict[str, Value]:
        """All values by name."""
        result: dict[str, Value] = {}
        for op in walk(self.kernel.ops):
            for value in results(op):
                result[value.name] = value
            if isinstance(op, ir.Loop):
                result |= {c.inside.name: c.inside for c in op.carried}
        return result

    @cached_property
    def dots(self) -> tuple[ir.Dot, ...]:
        """All products."""
        return tuple(op for op in walk(self.kernel.ops) if isinstance(op, ir.Dot))

    @cached_property
    def accumulated(self) -> dict[Pair, tuple[str, str]]:
        """Lane and register variable of every pair that a product makes."""
        result: dict[Pair, tuple[str, str]] = {}
        stored = dict(self._stored())
        for dot in self.dots:
            row, column = dot.result.vars
            last = stored.get(frozenset((row, column)), column)
            first = row if last == column else column
            result.setdefault(frozenset((row, column)), (first, last))
        return result

    def _stored(self) -> Iterator[tuple[Pair, str]]:
        """Pairs of variables that are stored, with the one that lies contiguously in memory."""
        for op in walk(self.kernel.ops):
            if isinstance(op, ir.Store):
                value = self.values[op.value]
                if len(value.dims) == 2 and op.at[-1].var in value.vars:
                    yield frozenset(value.vars), str(op.at[-1].var)

    @cached_property
    def padded(self) -> dict[str, int]:
        """Extents filled up to what instructions take at a time."""
        units: dict[str, int] = {}

        def needs(var: str, unit: int) -> None:
            units[var] = max(units.get(var, 1), unit)

        for dot in self.dots:
            k = contracted(self, dot)
            needs(k, self.machine.k_unit(self.values[dot.a].dtype, self.extents[k]))
        for lane, register in self.accumulated.values():
            needs(lane, MFMA * self.waves // self.across)
            needs(register, MFMA * self.across)
        return {
            v.name: -(-self.extents[v.name] // units.get(v.name, 1)) * units.get(v.name, 1)
            for v in self.kernel.vars
            if v.name in self.extents
        }

    @cached_property
    def _pairs(self) -> dict[Pair, Layout]:
        return {}

    def layout(self, variables: tuple[str, ...], name: str = "") -> Layout:
        """The layout of a value of these variables; ``name`` decides where there is only one."""
        if not variables:
            return ()
        if len(variables) == 1:
            return ((variables[0], self.axis_map(name, variables[0])),)
        pair = frozenset(variables)
        if pair not in self._pairs:
            self._pairs[pair] = self._pair(variables)
        return self._pairs[pair]

    def _pair(self, variables: tuple[str, ...]) -> Layout:
        pair = frozenset(variables)
        if pair in self.accumulated:
            lane, register = self.accumulated[pair]
            rows = lane_axis(self.padded[lane], self.waves // self.across, self.across)
            return (lane, rows), (register, register_axis(self.padded[register], self.across))
        column, run = self._contiguous(variables)
        row = next(v for v in variables if v != column)
        rows, columns = vector_axes(self.padded[row], self.padded[column], run, self.waves)
        return (row, rows), (column, columns)

    def _contiguous(self, variables: tuple[str, ...]) -> tuple[str, int]:
        """The variable along which a pair lies in memory, and how many elements are one access."""
        pair = frozenset(variables)
        stored: tuple[str, int] | None = None
        for op in walk(self.kernel.ops):
            if not isinstance(op, ir.Load | ir.Store):
                continue
            value = op.result if isinstance(op, ir.Load) else self.values[op.value]
            tensor, last = self.kernel.tensor(op.tensor), op.at[-1].var
            if frozenset(value.vars) != pair or last not in pair or last is None:
                continue
            found = last, WIDE // tensor.dtype.bits * tensor.axes[-1].per
            if isinstance(op, ir.Load):
                return found[0], min(16, found[1])
            stored = found
        return stored or (variables[-1], 4)

    def axis_map(self, name: str, variable: str) -> AxisMap:
        """The map of a vector: that of what makes it."""
        if name in self.vectors:
            return self.vectors[name]
        found = self._map(name, set()) if name else None
        return found or linear_axis(self.padded[variable], self.waves)

    def _map(self, name: str, seen: set[str]) -> AxisMap | None:  # noqa: PLR0911 (one a kind)
        if name in seen:
            return None
        seen.add(name)
        if name in self.vectors:
            return self.vectors[name]
        op, value = self.made[name], self.values[name]
        match op:
            case ir.Reduce():
                arg = self.values[op.arg]
                if len(arg.dims) != 2:
                    return None
                return dict(self.layout(arg.vars))[value.vars[0]]
            case ir.Loop():
                carried = next(c for c in op.carried if name in (c.inside.name, c.result.name))
                if value.vars != self.values[carried.last].vars:
                    return None
                return self._map(carried.last, seen)
            case ir.Load():
                return None
            case _:
                same = (a for a in operands(op) if self.values[a].vars == value.vars)
                return next((m for m in (self._map(a, seen) for a in same) if m), None)


def contracted(plan: TilePlan, dot: ir.Dot) -> str:
    """The variable a product sums over."""
    left, right = plan.values[dot.a], plan.values[dot.b]
    shared = [v for v in left.vars if v in right.vars and v not in dot.result.vars]
    if len(left.vars) != 2 or len(right.vars) != 2 or len(shared) != 1:
        refuse(
            dot.result.line,
            "a product of anything but two tiles",
            why="matrix instructions multiply tiles of two axes",
            fix="tiles [m, k] and [k, n]",
        )
    return shared[0]


def candidates(kernel: Kernel, pinned: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Extents to try, the largest tile first. What the author or the caller says stays."""
    products = [op for op in walk(kernel.ops) if isinstance(op, ir.Dot)]
    if not products:
        yield _without_products(kernel, pinned)
        return
    seen: list[dict[str, int]] = []
    for rows, columns, step in (
        (ROWS, COLUMNS, STEPS), (ROWS, 64, STEPS), (64, 64, STEPS), (64, 64, 32), (64, 32, 32),
        (64, 16, 32),
    ):  # fmt: skip
        found = tile_extents(kernel, pinned, rows, columns, step)
        if found not in seen:
            seen.append(found)
            yield found


def tile_extents(
    kernel: Kernel, pinned: Mapping[str, int], rows: int, columns: int, step: int
) -> dict[str, int]:
    """Extents of all variables; what the author or the caller says stays."""
    result: dict[str, int] = {}
    tiles = [v for v in kernel.grid.vars if kernel.var(v).walk is Walk.TILE]
    for var in kernel.vars:
        if is_number(var):
            continue
        given = pinned.get(var.name) or pinned.get(var.axis) or var.extent
        usual = step if var.walk is Walk.STEP else columns
        if var.walk is Walk.TILE and var.name == tiles[0]:
            usual = rows
        result[var.name] = given or usual
    return result


def _without_products(kernel: Kernel, pinned: Mapping[str, int]) -> dict[str, int]:
    """Tiles of a kernel that memory bounds: few elements a lane, whole lines of memory."""
    result: dict[str, int] = {}
    free: list[str] = []
    for var in kernel.vars:
        if is_number(var):
            continue
        given = pinned.get(var.name) or pinned.get(var.axis) or var.extent
        if given:
            result[var.name] = given
        else:
            free.append(var.name)
    budget = ELEMENTS * LANES * 4
    largest = max(result.values(), default=1)
    for name in reversed(free):
        step = kernel.var(name).walk is Walk.STEP
        usual = 256 if name == free[-1] or step else max(1, budget // 256)
        fits = 1 << max(0, (budget // largest).bit_length() - 1)
        result[name] = max(1, min(usual, fits))
    return result
