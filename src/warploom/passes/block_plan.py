"""``BlockPlan``: extents, register layouts and shared memory of a kernel in the block lowering.

Every value over two variables lies as accumulators of ``wgmma`` do: a warp has 16 rows, a thread
two neighbouring columns of every eight. Warpgroups share rows of 64 first, then columns. A vector
lies along the rows or the columns of such a layout, wherever it is needed; what is computed in
another layout goes through shared memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from warploom.dataclass import dataclass
from warploom.ir.tile import (
    Access,
    Broadcast,
    Carried,
    Dot,
    DType,
    Indices,
    Kernel,
    Load,
    Loop,
    Op,
    Pointwise,
    Reduce,
    Scan,
    Store,
    Transpose,
    Value,
    Var,
    Walk,
    index_vars,
    is_number,
    operands,
    results,
    walk,
)
from warploom.ir.types import refusal

GROUP = 128  # threads of a warpgroup
BLOCK_ROWS = 64  # rows of one wgmma
COLUMN_UNIT = 16
SLAB = 128  # bytes of a row of an operand that are swizzled among themselves
K_BYTES = 32  # bytes of K of one wgmma
ROW_UNIT = 8  # rows of a swizzle pattern
TILE_ALIGN = 1024


@dataclass(frozen=True, slots=True)
class AxisLayout:
    """How threads hold a variable: along rows or columns, filled up, shared by warpgroups."""

    rows: bool
    padded: int
    split: int

    @property
    def elements(self) -> int:
        """Elements of a thread."""
        return (
            self.padded // (BLOCK_ROWS * self.split) * 2
            if self.rows
            else self.padded // (4 * self.split)
        )

    @property
    def tag(self) -> str:
        """A name for identifiers."""
        return f"{'r' if self.rows else 'c'}{self.padded}_{self.split}"


@dataclass(frozen=True, slots=True)
class PairLayout:
    """How threads hold two variables."""

    row_var: str
    col_var: str
    row: AxisLayout
    col: AxisLayout

    @property
    def axes(self) -> dict[str, AxisLayout]:
        """Layout of each variable."""
        return {self.row_var: self.row, self.col_var: self.col}

    @property
    def elements(self) -> int:
        """Elements of a thread."""
        return self.row.elements * self.col.elements


@dataclass(frozen=True, slots=True)
class OperandTile:
    """A value in shared memory: rows of 128 bytes, one slab of columns after the other."""

    value: str
    row_var: str
    col_var: str
    rows: int
    columns: int
    bits: int
    filled: int  # columns that are written: the others are never read

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self.bits // 8

    @property
    def slab_bytes(self) -> int:
        """From one slab of columns to the next."""
        return self.rows * SLAB

    @property
    def bytes(self) -> int:
        """All of it."""
        return self.columns * self.size // SLAB * self.slab_bytes


def up(number: int, unit: int) -> int:
    """The next multiple."""
    return -(-number // unit) * unit


@dataclass(frozen=True)
class BlockPlan:
    """A kernel with the extents of its variables, for so many warpgroups."""

    kernel: Kernel
    extents: Mapping[str, int]
    warpgroups: int

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return GROUP * self.warpgroups

    @cached_property
    def ops(self) -> tuple[Op, ...]:
        """All ops, bodies of loops after their loop."""
        return tuple(walk(self.kernel.ops))

    @cached_property
    def values(self) -> dict[str, Value]:
        """All values by name."""
        result: dict[str, Value] = {}
        for op in self.ops:
            for value in results(op):
                result[value.name] = value
            if isinstance(op, Loop):
                result |= {c.inside.name: c.inside for c in op.carried}
        return result

    @cached_property
    def made(self) -> dict[str, Op]:
        """What defines each value; a loop for what it carries."""
        result: dict[str, Op] = {}
        for op in self.ops:
            for value in results(op):
                result[value.name] = op
            if isinstance(op, Loop):
                result |= {c.inside.name: op for c in op.carried}
        return result

    def carried(self, name: str) -> Carried:
        """The carried value of a name inside or after its loop."""
        loop = self.made[name]
        assert isinstance(loop, Loop)
        return next(c for c in loop.carried if name in (c.inside.name, c.result.name))

    def base(self, name: str) -> str:
        """The value that a name stands for element by element: transposes change nothing."""
        op = self.made[name]
        return self.base(op.arg) if isinstance(op, Transpose) else name

    # ---- register layouts ----------------------------------------------------------------------

    @cached_property
    def products(self) -> tuple[Dot, ...]:
        """All products."""
        return tuple(op for op in self.ops if isinstance(op, Dot))

    @cached_property
    def _pairs(self) -> dict[frozenset[str], PairLayout]:
        return {}

    def pair(self, variables: Iterable[str]) -> PairLayout:
        """The layout of all values over two variables."""
        names = tuple(variables)
        key = frozenset(names)
        if key not in self._pairs:
            self._pairs[key] = self._laid_out(names)
        return self._pairs[key]

    def _laid_out(self, names: tuple[str, ...]) -> PairLayout:
        key = frozenset(names)
        dots = [op for op in self.products if frozenset(op.result.vars) == key]
        col = self._contiguous(key)
        if dots:
            row = dots[0].result.vars[0]
            col = dots[0].result.vars[1]
            if self.extents[row] <= BLOCK_ROWS // 2 < self.extents[col]:
                row, col = col, row
        else:
            col = col or names[-1]
            row = next(n for n in names if n != col)
        best: tuple[int, int] | None = None
        for split in (n for n in (1, 2, 4, 8) if n <= self.warpgroups):
            columns = self.warpgroups // split
            unit = COLUMN_UNIT if columns == 1 or not dots else BLOCK_ROWS
            rows = up(self.extents[row], BLOCK_ROWS * split)
            total = rows * up(self.extents[col], unit * columns)
            if best is None or (total, -split) < best:
                best, chosen = (total, -split), (split, rows, up(self.extents[col], unit * columns))
        split, rows, width = chosen
        return PairLayout(
            row,
            col,
            AxisLayout(True, rows, split),
            AxisLayout(False, width, self.warpgroups // split),
        )

    def _contiguous(self, key: frozenset[str]) -> str | None:
        """The variable along which a pair lies in memory."""
        for op in self.ops:
            if isinstance(op, Load | Store):
                last = op.at[-1].var
                if last in key and frozenset(self.access_vars(op)) == key:
                    return last
        return None

    def access_vars(self, op: Load | Store) -> tuple[str, ...]:
        """The variables that an access extends over, each once."""
        shapes = {a.value: self.values[a.value].dims for a in op.at if a.value is not None}
        found = dict.fromkeys(index_vars(op.at, shapes))
        return tuple(n for n in found if not is_number(self.kernel.var(n)))

    @cached_property
    def default_axis(self) -> dict[str, AxisLayout]:
        """The layout of a vector that nothing asks for."""
        return {
            n: AxisLayout(True, up(e, BLOCK_ROWS * self.warpgroups), self.warpgroups)
            for n, e in self.extents.items()
        }

    def home(self, name: str) -> AxisLayout | None:
        """Where a vector is computed; None where it can be computed anywhere."""
        if name not in self._homes:
            op = self.made[name]
            if isinstance(op, Loop):
                inside = self.carried(name).inside
                found = self._home(inside.name, frozenset())
                self._homes[name] = found or self.default_axis[inside.vars[0]]
            else:
                self._homes[name] = self._home(name, frozenset())
        return self._homes[name]

    @cached_property
    def _homes(self) -> dict[str, AxisLayout | None]:
        return {}

    def _home(  # noqa: PLR0911 (one a kind of op)
        self, name: str, seen: frozenset[str]
    ) -> AxisLayout | None:
        if name in seen:
            return None
        seen |= {name}
        op, value = self.made[name], self.values[name]
        match op:
            case Reduce():
                arg = self.values[op.arg]
                return self.pair(arg.vars).axes[value.vars[0]] if len(arg.dims) == 2 else None
            case Loop():
                c = self.carried(name)
                seen |= {c.inside.name, c.result.name}
                ends = (c.last, c.first)
                found = (self._home(n, seen) for n in ends if self.values[n].dims)
                return next((f for f in found if f), None)
            case Scan():
                return self._home(op.arg, seen) or self.default_axis[value.vars[0]]
            case Pointwise() | Broadcast():
                args = (a for a in operands(op) if self.values[a].dims)
                return next((f for f in (self._home(a, seen) for a in args) if f), None)
            case Load():
                args = (a for a in operands(op) if self.values[a].dims)
                return next((f for f in (self._home(a, seen) for a in args) if f), None)
        return None

    @cached_property
    def demands(self) -> dict[str, tuple[AxisLayout, ...]]:
        """The layouts in which each vector is held, that of its home first."""
        found: dict[str, dict[AxisLayout, None]] = {}
        for op in self.ops:
            for value in _defined(op):
                if len(value.dims) == 1 and not self.is_written_out(value.name):
                    home = self.home(value.name)
                    found[value.name] = {home: None} if home else {}
        changed = True
        while changed:
            changed = False
            for name, layout in self._asked(found):
                held = found.get(name)
                if held is not None and layout not in held:
                    held[layout] = None
                    changed = True
        for name, held in found.items():
            if not held:
                held[self.default_axis[self.values[name].vars[0]]] = None
        return {name: tuple(held) for name, held in found.items()}

    def is_written_out(self, name: str) -> bool:
        """Whether a value is an expression wherever it is used."""
        return isinstance(self.made[name], Indices | Broadcast | Transpose)

    def vectors_of(self, name: str) -> Iterator[str]:
        """The vectors that an element of a value is read from."""
        op = self.made[name]
        if isinstance(op, Broadcast | Transpose):
            yield from self.vectors_of(op.arg)
        elif not isinstance(op, Indices) and len(self.values[name].dims) == 1:
            yield name

    def _asked(  # noqa: C901 (kinds of op)
        self, held: Mapping[str, dict[AxisLayout, None]]
    ) -> Iterator[tuple[str, AxisLayout]]:
        for op in self.ops:
            read = [*operands(op)]
            if isinstance(op, Loop):
                for c in op.carried:
                    for layout in self._contexts(c.inside, held):
                        for n in (c.first, c.last):
                            yield from self._wanted(n, layout)
                continue
            if isinstance(op, Store):
                contexts = [self.store_context(op)]
            elif isinstance(op, Reduce | Scan):
                contexts = [self.context(op.arg)]
            elif isinstance(op, Broadcast | Transpose | Indices | Dot):
                continue
            else:
                contexts = self._contexts(op.result, held)
            for layout in contexts:
                for n in read:
                    yield from self._wanted(n, layout)

    def _wanted(
        self, name: str, context: Mapping[str, AxisLayout]
    ) -> Iterator[tuple[str, AxisLayout]]:
        for vector in self.vectors_of(name):
            var = self.values[vector].vars[0]
            if var in context:
                yield vector, context[var]

    def _contexts(
        self, value: Value, held: Mapping[str, dict[AxisLayout, None]]
    ) -> list[dict[str, AxisLayout]]:
        if len(value.dims) == 2:
            return [self.pair(value.vars).axes]
        if len(value.dims) == 1:
            home = self.home(value.name)
            layouts = [home] if home else list(held.get(value.name, ()))
            return [{value.vars[0]: layout} for layout in layouts]
        return [{}]

    def context(self, name: str) -> dict[str, AxisLayout]:
        """The layout in which elements of a value are read one by one."""
        value = self.values[name]
        if len(value.dims) == 2:
            return self.pair(value.vars).axes
        if len(value.dims) == 1:
            return {value.vars[0]: self.vector_layout(name)}
        return {}

    def vector_layout(self, name: str) -> AxisLayout:
        """A layout in which a vector is held, or can be read."""
        var = self.values[name].vars[0]
        for vector in self.vectors_of(name):
            home = self.home(vector)
            if home:
                return home
        return self.default_axis[var]

    def store_context(self, op: Store) -> dict[str, AxisLayout]:
        """The layout in which elements are stored."""
        names = self.access_vars(op)
        if len(names) == 2:
            return self.pair(names).axes
        if not names:
            return {}
        read = [n for n in operands(op) if self.values[n].vars == names]
        homes = [self.vector_layout(n) for n in read]
        return {names[0]: homes[0] if homes else self.default_axis[names[0]]}

    # ---- operands in shared memory -------------------------------------------------------------

    def contracted(self, dot: Dot) -> str:
        """The variable a product sums over."""
        return self.values[dot.a].vars[1]

    @cached_property
    def _operands(self) -> dict[tuple[str, str], OperandTile]:
        """Tiles by value and the variable along its columns."""
        needs: dict[tuple[str, str], dict[str, int]] = {}
        for dot in self.products:
            pair, k = self.pair(dot.result.vars), self.contracted(dot)
            for name in (dot.a, dot.b):
                base = self.base(name)
                value = self.values[base]
                mn = next(v for v in value.vars if v != k)
                size = value.dtype.bits // 8
                key = (base, self._columns_of(base, k))
                need = needs.setdefault(key, {})
                need[mn] = max(need.get(mn, 0), pair.axes[mn].padded)
                need[k] = max(need.get(k, 0), up(self.extents[k], K_BYTES // size))
        result = {}
        for (base, column), need in needs.items():
            value = self.values[base]
            row = next(v for v in value.vars if v != column)
            size = value.dtype.bits // 8
            result[base, column] = OperandTile(
                value=base,
                row_var=row,
                col_var=column,
                rows=up(need[row], ROW_UNIT),
                columns=up(need[column] * size, SLAB) // size,
                bits=value.dtype.bits,
                filled=need[column],
            )
        return result

    def _columns_of(self, base: str, k: str) -> str:
        """The variable along the columns: elements of 16 bits are taken either way, others by K."""
        value, op = self.values[base], self.made[base]
        if value.dtype.bits != 16:
            return k
        if isinstance(op, Load) and op.at[-1].var in value.vars:
            return str(op.at[-1].var)
        return self.pair(value.vars).col_var

    def operand(self, name: str, k: str) -> OperandTile:
        """The tile of an operand that is summed over ``k``."""
        base = self.base(name)
        return self._operands[base, self._columns_of(base, k)]

    def tiles_of(self, base: str) -> list[OperandTile]:
        """The tiles that a value is written to."""
        return [t for (value, _), t in self._operands.items() if value == base]

    @cached_property
    def in_registers(self) -> frozenset[str]:
        """Values over two variables whose elements are read one by one."""
        found: set[str] = set()
        for op in self.ops:
            read = list(operands(op))
            if isinstance(op, Loop):
                read += [c.last for c in op.carried]
            elif isinstance(op, Dot):
                read = [op.into] if op.into else []
            elif isinstance(op, Broadcast | Transpose):
                continue
            found |= {b for n in read for b in self._elements_of(n)}
        return frozenset(found)

    def _elements_of(self, name: str) -> Iterator[str]:
        op = self.made[name]
        if isinstance(op, Broadcast | Transpose):
            yield from self._elements_of(op.arg)
        else:
            yield name

    def elements_of(self, name: str) -> frozenset[str]:
        """The values whose elements are read where one of this value is."""
        return frozenset(self._elements_of(name))

    def placed_tiles(self) -> Iterator[tuple[OperandTile, int]]:
        """Every operand tile, and the byte where it begins."""
        for key, tile in self._operands.items():
            yield tile, self.offsets[key]

    def is_direct(self, op: Load) -> bool:
        """Whether a load goes to shared memory by itself: no index of it is a vector."""
        value, tensor = op.result, self.kernel.tensor(op.tensor)
        plain = all(a.value is None or not self.values[a.value].dims for a in op.at)
        known = [a.var for a in op.at if a.var in value.vars]
        coarse = any(tensor.axes[i].per > 1 for i, a in enumerate(op.at) if a.var in value.vars)
        return (
            plain
            and sorted(map(str, known)) == sorted(value.vars)
            and not coarse
            and op.end is None
        )

    # ---- lifetimes -----------------------------------------------------------------------------

    @cached_property
    def _spans(self) -> tuple[dict[str, int], dict[str, int]]:
        """Where each value is made, and where it is read last, loops counted whole."""
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        clock = 0

        def visit(ops: tuple[Op, ...], around: tuple[tuple[int, set[str]], ...]) -> None:
            nonlocal clock
            for op in ops:
                clock += 1
                self._note(op, clock, last, around)
                if isinstance(op, Loop):
                    start = clock
                    outside = set(first)
                    for c in op.carried:
                        first[c.inside.name] = clock
                    reads: set[str] = set()
                    visit(op.body, (*around, (start, reads)))
                    clock += 1
                    for name in reads & outside:
                        last[name] = clock
                    for c in op.carried:
                        last[c.last] = max(last.get(c.last, 0), clock)
                for value in results(op):
                    first.setdefault(value.name, clock)
                    last.setdefault(value.name, clock)

        visit(self.kernel.ops, ())
        return first, last

    def _note(
        self, op: Op, clock: int, last: dict[str, int], around: tuple[tuple[int, set[str]], ...]
    ) -> None:
        for name in operands(op):
            for n in {name, self.base(name), *self._elements_of(name)}:
                last[n] = max(last.get(n, 0), clock)
                for _, reads in around:
                    reads.add(n)

    @cached_property
    def scratch_bytes(self) -> int:
        """For what threads exchange: a vector of every warp of an axis."""
        longest = max((a.padded for p in self._every_pair() for a in p.axes.values()), default=0)
        longest = max([longest, *(a.padded for a in self.default_axis.values())])
        scans = [op.result for op in self.ops if isinstance(op, Scan)]
        scanned = [self.pair(v.vars) for v in scans if len(v.dims) == 2]
        tiles = max(((p.row.padded + 1) * (p.col.padded + 1) for p in scanned), default=0)
        return up(4 * max(tiles, longest * max(4, 4 * self.warpgroups)), TILE_ALIGN)

    def _every_pair(self) -> Iterator[PairLayout]:
        for value in self.values.values():
            if len(value.dims) == 2:
                yield self.pair(value.vars)

    @cached_property
    def offsets(self) -> dict[tuple[str, str], int]:
        """Where each tile begins in shared memory: those alive at once lie apart."""
        first, last = self._spans
        placed: list[tuple[int, int, int, int]] = []
        result: dict[tuple[str, str], int] = {}
        tiles = sorted(self._operands.items(), key=lambda item: first[item[0][0]])
        for key, tile in tiles:
            begin, end = first[key[0]], last[key[0]]
            at = self.scratch_bytes
            for start, stop, a, b in sorted(placed):
                alive = not (b < begin or end < a)
                if alive and at < stop and start < at + tile.bytes:
                    at = up(stop, TILE_ALIGN)
            placed.append((at, at + tile.bytes, begin, end))
            result[key] = at
        return result

    @cached_property
    def shared_bytes(self) -> int:
        """Shared memory of a CTA."""
        ends = [self.offsets[key] + tile.bytes for key, tile in self._operands.items()]
        return max([self.scratch_bytes, *ends])

    @cached_property
    def register_elements(self) -> int:
        """Elements of tiles that a thread holds at once, in a rough count."""
        first, last = self._spans
        events: dict[int, int] = {}
        for name, value in self.values.items():
            if len(value.dims) != 2 or name not in self.in_registers | self._products_made:
                continue
            if self.is_written_out(name) or name not in first:
                continue
            many = self.pair(value.vars).elements
            events[first[name]] = events.get(first[name], 0) + many
            after = last.get(name, first[name])
            events[after] = events.get(after, 0) - many
        most = now = 0
        for clock in sorted(events):
            now += events[clock]
            most = max(most, now)
        return most

    @cached_property
    def _products_made(self) -> frozenset[str]:
        return frozenset(op.result.name for op in self.products)


def _defined(op: Op) -> tuple[Value, ...]:
    own = results(op)
    return (*own, *(c.inside for c in op.carried)) if isinstance(op, Loop) else own


def check_block(kernel: Kernel) -> None:
    """``KernelError`` for what this lowering does not take."""
    used = {op.tensor for op in walk(kernel.ops) if isinstance(op, Load | Store)}
    for tensor in kernel.tensors:
        if tensor.dtype is DType.I4 and tensor.name in used:
            raise refusal(
                f"'{tensor.name}' of type i4",
                kernel.line,
                why="threads address whole bytes",
                fix="two elements of i4 as one of i8, an axis 'k/2': "
                "(w[n, k] >> (wl.index(k) % 2 * 4)) & 15, minus 16 where that is above 7",
            )
    for tensor in kernel.tensors:
        if tensor.blocked or tensor.access is Access.TURNS:
            raise refusal(
                f"'{tensor.name}' is {'in blocks' if tensor.blocked else 'a counter of turns'}, in "
                "a kernel that is not pipelined",
                kernel.line,
                why="its threads store single elements of rows",
                fix=f"{tensor.name}: a tensor that lies row by row",
            )
    for op in walk(kernel.ops):
        for value in results(op):
            if len(value.dims) > 2:
                raise refusal(
                    f"a value of {len(value.dims)} axes",
                    value.line,
                    why="tiles have rows and columns",
                    fix="index the other axes one element at a time",
                )


CANDIDATES = (
    (128, 128, 64), (128, 64, 64), (64, 128, 64), (64, 64, 64), (64, 64, 32), (64, 32, 32),
    (64, 16, 32), (64, 16, 16),
)  # fmt: skip
# Elements of tiles in a thread, by warpgroups: the register file has 65,536.
MOST_ELEMENTS = {1: 200, 2: 200, 4: 92}
SHARED_BYTES = 227 * 1024


def plans(
    kernel: Kernel, sizes: Mapping[str, int], pins: Mapping[str, object]
) -> Iterator[BlockPlan]:
    """Plans to try, the largest tiles first."""
    seen: list[dict[str, int]] = []
    for rows, columns, step in CANDIDATES:
        found = {}
        tiles = [v for v in kernel.grid.vars if kernel.var(v).walk is Walk.TILE]
        for var in kernel.vars:
            if is_number(var):
                continue
            usual = step if var.walk is Walk.STEP else columns
            if var.walk is Walk.TILE and var.name == tiles[0]:
                usual = rows
            found[var.name] = _extent(var, usual, sizes, pins)
        if found in seen:
            continue
        seen.append(found)
        for warpgroups in (2, 4, 1):
            yield BlockPlan(kernel, found, warpgroups)


def _extent(var: Var, usual: int, sizes: Mapping[str, int], pins: Mapping[str, object]) -> int:
    pinned = pins.get(var.name)
    if var.extent is not None:
        return var.extent
    if isinstance(pinned, int):
        return pinned
    size = sizes.get(var.axis)
    return min(usual, up(size, COLUMN_UNIT)) if size else usual


def fits(plan: BlockPlan) -> bool:
    """Whether registers and shared memory hold it."""
    return (
        plan.register_elements <= MOST_ELEMENTS[plan.warpgroups]
        and plan.shared_bytes <= SHARED_BYTES
    )


def block_plans(
    kernel: Kernel, sizes: Mapping[str, int], pins: Mapping[str, object] | None = None
) -> Iterator[BlockPlan]:
    """The plans that fit, the largest tiles first; ``KernelError`` where there is none."""
    check_block(kernel)
    least: BlockPlan | None = None
    some = False
    for plan in plans(kernel, sizes, pins or {}):
        if fits(plan):
            some = True
            yield plan
        elif least is None or _load(plan) < _load(least):
            least = plan
    if some:
        return
    assert least is not None
    raise refusal(
        f"the tiles of kernel '{kernel.name}' do not fit on an SM",
        next((loop.line for loop in kernel.loops if loop.line), kernel.line),
        why=f"the smallest that were tried ({_said(least)}) take {least.shared_bytes:,} bytes of "
        f"shared memory of {SHARED_BYTES:,} and {least.register_elements} elements of tiles in a "
        f"thread of {MOST_ELEMENTS[least.warpgroups]}",
        fix=_smaller(least),
    )


def _smaller(plan: BlockPlan) -> str:
    """What an author can change: stated steps, and the longest whole axis."""
    found = []
    stated = [v for v in plan.kernel.vars if v.walk is Walk.STEP and (v.extent or 0) > COLUMN_UNIT]
    if stated:
        found.append(f"smaller steps: wl.steps(x.{stated[0].axis}, {COLUMN_UNIT})")
    whole = [v for v in plan.kernel.vars if v.walk is Walk.WHOLE]
    if whole:
        longest = max(whole, key=lambda v: v.extent or 0)
        found.append(
            f"tiles or steps over '{longest.axis}' instead of all {longest.extent} elements"
        )
    return ", or ".join(found) or "fewer tiles that are needed at once, or two kernels"


def _load(plan: BlockPlan) -> float:
    """How far a plan is from what there is."""
    registers = plan.register_elements / MOST_ELEMENTS[plan.warpgroups]
    return max(registers, plan.shared_bytes / SHARED_BYTES)


def _said(plan: BlockPlan) -> str:
    return ", ".join(f"{n}={e}" for n, e in plan.extents.items())
