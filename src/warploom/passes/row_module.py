"""Kernels without a loop as kernel modules: rows of whole tiles, each by a few neighbouring lanes.

Sums over a row are exchanged among its lanes; CTAs take rows in turn. ``ir.rows`` says which lane
holds which element.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from warploom.dataclass import dataclass
from warploom.errors import KernelError
from warploom.ir import operations as ops
from warploom.ir.expr import Expr, IntExpr, Sym, SymKind, ceil_div, conjunction, const, lift, size
from warploom.ir.module import (
    Dialect,
    KernelModule,
    Launch,
    Role,
    Storage,
    TileLoop,
    scalar_args,
    tensor_args,
)
from warploom.ir.operations import VectorKind, VectorOp
from warploom.ir.rows import (
    COL,
    EACH,
    LENGTHS,
    THREADS,
    along_blocks,
    in_blocks,
    in_rows,
    lanes_of,
    last_position,
    position,
    row_exists,
    row_numbers,
)
from warploom.ir.tile import (
    At,
    Broadcast,
    Const,
    Dot,
    Fn,
    Given,
    Indices,
    Kernel,
    Line,
    Load,
    Loop,
    Pointwise,
    Position,
    Reduce,
    Scalar,
    Scan,
    Size,
    Store,
    Transpose,
    Value,
    Walk,
    Whole,
)
from warploom.ir.tile_schedule import TileAxis, TileSchedule, grid_of
from warploom.ir.types import Access, DType, relative, short
from warploom.passes.body import line_of, refusal
from warploom.passes.build_module import ALIGNMENT

Made = (
    Const | Scalar | Size | Position | Indices | Whole | Broadcast | Given | Load | Transpose
    | Pointwise | Reduce | Scan | Dot
)  # fmt: skip


def build_row_module(source: Kernel, kernel: Kernel) -> KernelModule:
    """The module of a kernel that neither loops nor multiplies matrices."""
    return _RowBuilder(source, kernel).module()


def rows_at_a_time(module: KernelModule) -> dict[str, int]:
    """The rows a CTA takes at a time, by the variable of the tile that walks them."""
    (role,) = module.roles
    assert role.tiles is not None
    schedule = role.tiles.schedule
    return {schedule.units[-1].var: schedule.rows}


@dataclass
class _RowBuilder:
    source: Kernel
    kernel: Kernel
    names: dict[str, Made] = field(default_factory=dict)
    column: str = ""
    wide: bool = False
    schedule: TileSchedule = field(init=False)

    def __post_init__(self) -> None:
        whole = [v for v in self.kernel.vars if v.walk is Walk.WHOLE]
        extent = whole[0].extent if len(whole) == 1 else None
        if extent not in LENGTHS or extent is None or self.kernel.grid.kind != "tiles":
            raise self._other_rows(whole[0].axis if whole else "", extent, len(whole))
        self.column = whole[0].name
        self.names = {
            op.result.name: op for op in self.kernel.ops if not isinstance(op, Store | Loop)
        }
        blocked = [t for t in self.kernel.tensors if t.blocked]
        self.wide = any(t.access is Access.IN for t in blocked)
        grid = self.kernel.grid.vars
        axes = tuple(TileAxis(var=n, axis=self.kernel.var(n).axis, extent=1) for n in grid)
        rows = THREADS * EACH // extent
        self.schedule = TileSchedule(tiled=(), units=axes, rows=rows, paired=bool(blocked))

    def _other_rows(self, axis: str, extent: int | None, whole: int) -> KernelError:
        last = self.kernel.var(self.kernel.grid.vars[-1]).axis
        many = "several whole axes" if whole else "no whole axis"
        return refusal(
            f"rows of {extent} elements in a kernel without a loop"
            if extent is not None
            else f"a kernel without a loop that has {many}",
            self.kernel.line,
            why="without a loop lanes of a warp share a whole row of 64, 128 or 256 elements",
            fix=f"pad axis '{axis}', or walk it: for n in wl.steps(x.{axis}):"
            if extent is not None
            else f'all of the last axis: m = wl.tile(out, whole="{last}") and x[m]',
        )

    @property
    def lanes(self) -> int:
        """How many lanes share a row."""
        return lanes_of(self.schedule)

    @property
    def paired(self) -> bool:
        """Whether two rows that share bytes of blocks are one number."""
        return self.schedule.paired

    @property
    def exists(self) -> list[IntExpr]:
        """The row at hand is one of the rows."""
        return [row_exists(self.schedule)]

    def _positions(self, last: IntExpr | None) -> list[VectorOp]:
        """Where the row at hand lies; ``last``: of the last variable, where blocks are."""
        result: list[VectorOp] = []
        for name, value in row_numbers(self.schedule).items():
            own = value if last is None or name != self.kernel.grid.vars[-1] else last
            result.append(ops.VectorIndex(result=position(name), value=own))
        return result

    def module(self) -> KernelModule:
        """All of it."""
        kernel = self.kernel
        vectors: list[ops.Vector] = []
        clears = [o for o in kernel.ops if isinstance(o, Store) and self._is_blocked(o)]
        vectors += [self._clear(o) for o in clears]
        rest = [o for o in kernel.ops if isinstance(o, Store) and o not in clears]
        if rest:
            vectors.append(self._work(rest))
        schedule = self.schedule
        role = Role(
            name="threads",
            instances=1,
            threads=THREADS,
            peel=0,
            arrays=(),
            setup=(),
            tiles=TileLoop(
                schedule=schedule,
                lets=(),
                functions=(),
                trips=const(0),
                least_trips=0,
                body=tuple(vectors),
            ),
            finish=(),
        )
        return KernelModule(
            name=kernel.name,
            target="h200",
            config=f"{schedule.rows} rows of {self.lanes * EACH}",
            dialect=Dialect.MBARRIER,
            kernel=relative(self.source),
            tensors=tensor_args(self.kernel, ALIGNMENT),
            scalars=scalar_args(self.kernel),
            maps=(),
            launch=Launch(grid=grid_of(schedule), block=THREADS, cluster=1, shared_bytes=0),
            storage=Storage(),
            roles=(role,),
        )

    def _is_blocked(self, op: Store) -> bool:
        return self.kernel.tensor(op.tensor).blocked

    def _clear(self, op: Store) -> ops.Vector:
        """A constant into blocks: 16 rows by the lanes of eight pairs, existing or not."""
        source = self.names[op.value]
        constant = self.names.get(source.arg) if isinstance(source, Broadcast) else None
        if not isinstance(constant, Const):
            raise refusal(
                "a tensor in blocks is stored to",
                op.line,
                why="kernels without a loop read blocks, and fill them with one number",
                fix="a tensor that lies row by row",
            )
        layout, row = along_blocks(self.schedule)
        write = _RowWriter(self, self._positions(row))
        value = write.value(constant.result.name)
        at, inside = write.place(op, rows_exist=False)
        write.made.append(
            ops.VectorStore(
                value=value,
                tensor=op.tensor,
                at=at,
                predicate=conjunction([*self.exists, *inside]),
                dtype=self.kernel.tensor(op.tensor).dtype,
                line=short(op.line),
            )
        )
        return ops.Vector(
            op=f"clear_{op.tensor}",
            iteration=const(0),
            layout=layout,
            body=tuple(write.made),
            line=short(op.line),
            kind=VectorKind.STORE,
        )

    def _work(self, stores: list[Store]) -> ops.Vector:
        """All other stores with what they need, in the author's order."""
        layout = in_blocks(self.schedule) if self.wide else in_rows(self.schedule)
        last = last_position(self.schedule, layout) if self.paired else None
        write = _RowWriter(self, self._positions(last))
        needed = self._needed(stores)
        for op in self.kernel.ops:
            if isinstance(op, Store):
                if op in stores:
                    write.store(op)
            elif not isinstance(op, Loop) and op.result.name in needed:
                write.value(op.result.name)
        return ops.Vector(
            op="rows",
            iteration=const(0),
            layout=layout,
            body=tuple(write.made),
            kind=VectorKind.STORE,
        )

    def _needed(self, stores: list[Store]) -> set[str]:
        """The values behind stores."""
        result: set[str] = set()
        waiting = [name for op in stores for name in (op.value, *_indexing(op.at))]
        while waiting:
            name = waiting.pop()
            if name not in result:
                result.add(name)
                waiting += _behind(self.names[name])
        return result


def _behind(op: Made) -> list[str]:
    match op:
        case Load():
            return _indexing(op.at)
        case Broadcast() | Reduce():
            return [op.arg]
        case Pointwise():
            return list(op.args)
        case _:
            return []


def _indexing(at: Iterable[At]) -> list[str]:
    return [index.value for index in at if index.value is not None]


class _RowWriter:
    """Writes the operations of a row."""

    def __init__(self, builder: _RowBuilder, positions: list[VectorOp]) -> None:
        self.builder, self.kernel = builder, builder.kernel
        self.made: list[VectorOp] = list(positions)
        self.known: set[str] = set()

    def _along(self, value: Value) -> bool:
        return self.builder.column in value.vars

    def position(self, var: str) -> IntExpr:
        """Where a variable stands: along the row, or in which of the rows."""
        if var == self.builder.column:
            return COL
        return Sym(SymKind.VALUE, position(var))

    def value(self, name: str) -> str:  # noqa: C901 (one case a kind)
        """The name of a value, with what makes it before it."""
        if name in self.known:
            return name
        self.known.add(name)
        op = self.builder.names[name]
        match op:
            case Const():
                made: VectorOp = ops.VectorConst(result=name, value=op.value, dtype=op.result.dtype)
            case Scalar():
                made = ops.VectorScalar(result=name, parameter=op.parameter, dtype=op.result.dtype)
            case Size():
                axis = self.kernel.tensor(op.tensor).axis(op.axis)
                made = ops.VectorIndex(result=name, value=ceil_div(size(op.axis), axis.per))
            case Position() | Indices():
                if isinstance(op, Indices):
                    self._only_rows("places in a row are counted", op.result.line)
                made = ops.VectorIndex(result=name, value=self.position(op.var))
            case Load():
                if not self.kernel.tensor(op.tensor).blocked:
                    self._only_rows("a tensor that lies row by row is read", op.result.line)
                at, inside = self.place(op)
                made = ops.VectorLoad(
                    result=name,
                    tensor=op.tensor,
                    at=at,
                    predicate=conjunction([*self.builder.exists, *inside]),
                    dtype=self.kernel.tensor(op.tensor).dtype,
                )
            case Broadcast():
                made = ops.VectorPointwise(
                    result=name,
                    fn=Fn.CAST,
                    args=(self.value(op.arg),),
                    dtype=op.result.dtype,
                )
            case Pointwise():
                args = tuple(self.value(a) for a in op.args)
                made = ops.VectorPointwise(result=name, fn=op.fn, args=args, dtype=op.result.dtype)
            case Reduce():
                made = self._reduce(op)
            case _:
                what = "a product" if isinstance(op, Dot) else type(op).__name__.lower()
                walk = "k in wl.steps(x.k)" if isinstance(op, Dot) else "n in wl.steps(x.n)"
                raise refusal(
                    f"{what} in a kernel without a loop",
                    line_of(op),
                    why="lanes hold elements of rows: they compute element by element and sum rows",
                    fix=f"a loop over one of the axes: for {walk}:",
                )
        self.made.append(made)
        return name

    def _only_rows(self, what: str, line: Line | None) -> None:
        if self.builder.wide:
            raise refusal(
                f"{what} beside one in blocks",
                line,
                why="lanes take elements as blocks hold them",
                fix="tensors in blocks only, functions of their elements",
            )

    def _reduce(self, op: Reduce) -> VectorOp:
        self._only_rows("a sum along rows is made", op.result.line)
        if op.over != self.builder.column:
            raise refusal(
                "a reduction over the rows in a kernel without a loop",
                op.result.line,
                why="rows lie in different warps, and in different CTAs",
                fix=f"a loop over them: for {op.over} in wl.steps(...), or a reduction along the "
                "row",
            )
        lanes, step = [], 1
        while step < self.builder.lanes:
            lanes.append(step)
            step *= 2
        return ops.VectorReduce(
            result=op.result.name,
            fn=op.fn,
            arg=self.value(op.arg),
            over=("j",),
            lanes=tuple(lanes),
            dtype=op.result.dtype,
        )

    def place(
        self, op: Load | Store, *, rows_exist: bool = True
    ) -> tuple[tuple[IntExpr, ...], list[IntExpr]]:
        """The element at hand, and the conditions under which it exists. Rows that share a block
        may not exist; ``rows_exist``: those are left out.
        """
        tensor = self.kernel.tensor(op.tensor)
        at: list[IntExpr] = []
        inside: list[IntExpr] = []
        for index, axis in zip(op.at, tensor.axes, strict=True):
            place = self._index(index)
            length = ceil_div(size(axis.name), axis.per)
            if index.value is not None:
                made = self.builder.names[index.value]
                own = isinstance(made, Position) and self.kernel.var(made.var).axis == axis.name
                if not own or axis.per > 1:
                    inside += [lift(lift(place) >= 0), lift(place < length)]
            elif axis.per > 1:
                place = place // axis.per
            last = index.var == self.kernel.grid.vars[-1]
            if last and self.builder.paired and rows_exist:
                inside.append(lift(place < length))
            at.append(lift(place))
        return tuple(at), inside

    def _index(self, index: At) -> Expr:
        if index.value is not None:
            return Sym(SymKind.VALUE, self.value(index.value))
        assert index.var is not None
        return self.position(index.var)

    def store(self, op: Store) -> None:
        """A row, or one number of it by its first lane."""
        if op.add:
            raise refusal(
                f"a sum in '{op.tensor}' by a kernel without a loop",
                op.line,
                why="its rows are written once",
                fix="store with =, or sum along a loop: for n in wl.steps(x.n):",
            )
        made = self.builder.names[op.value]
        dtype = self.kernel.tensor(op.tensor).dtype
        if not self._along(made.result) or dtype not in (DType.BF16, DType.F16):
            self._only_rows("something other than rows of 16 bits is stored", op.line)
        value = self.value(op.value)
        at, inside = self.place(op)
        once: list[IntExpr] = []
        if not self._along(made.result):
            once = [lift(COL.eq(0))]
        self.made.append(
            ops.VectorStore(
                value=value,
                tensor=op.tensor,
                at=at,
                predicate=conjunction([*self.builder.exists, *once, *inside]),
                dtype=self.kernel.tensor(op.tensor).dtype,
                line=short(op.line),
            )
        )
