"""Kernels without a loop as kernel modules: rows of whole tiles, each by a few neighbouring lanes.

A lane takes eight neighbouring elements of a row of 64 to 256, so 8 to 32 lanes share a row; sums
over it are exchanged among them. CTAs take rows in turn. Tensors in blocks of 16 rows and 8 columns
are read and filled as the blocks lie: two rows that share a block are one row number.
"""

from __future__ import annotations

from dataclasses import field

from warploom.dataclass import dataclass
from warploom.ir import operations as ops
from warploom.ir.expr import (
    Expr,
    IntExpr,
    Sym,
    SymKind,
    ceil_div,
    conjunction,
    const,
    lift,
    product,
    size,
)
from warploom.ir.module import (
    Dialect,
    KernelModule,
    Launch,
    Role,
    ScalarArg,
    Storage,
    TensorArg,
    TileLoop,
)
from warploom.ir.operations import FragmentIndex, FragmentLayout, VectorKind, VectorOp
from warploom.ir.tile import (
    At,
    Broadcast,
    Const,
    Dot,
    Fn,
    Given,
    Indices,
    Kernel,
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
from warploom.ir.tile_schedule import TILE, TileAxis, TileSchedule, grid_of
from warploom.ir.types import Access, relative, short
from warploom.passes.body import line_of, refusal
from warploom.passes.build_module import ALIGNMENT

THREADS = 256
EACH = 8  # elements of a lane
LENGTHS = (64, 128, 256)
BLOCK_ROWS, PAIRS = 16, 8

ROW, COL = Sym(SymKind.ELEMENT, "row"), Sym(SymKind.ELEMENT, "col")
THREAD = Sym(SymKind.THREAD, "tid")
J, N, U, Q, UP = (Sym(SymKind.FRAGMENT, n) for n in ("j", "n", "u", "q", "up"))


Made = (
    Const | Scalar | Size | Position | Indices | Whole | Broadcast | Given | Load | Transpose
    | Pointwise | Reduce | Scan | Dot
)  # fmt: skip


def build_row_module(source: Kernel, kernel: Kernel) -> KernelModule:
    """The module of a kernel that neither loops nor multiplies matrices."""
    return _RowBuilder(source, kernel).module()


@dataclass
class _RowBuilder:
    source: Kernel
    kernel: Kernel
    names: dict[str, Made] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole = [v for v in self.kernel.vars if v.walk is Walk.WHOLE]
        extent = whole[0].extent if len(whole) == 1 else None
        if extent not in LENGTHS or extent is None or self.kernel.grid.kind != "tiles":
            raise refusal(
                f"rows of {extent} elements in a kernel without a loop",
                self.kernel.line,
                why="without a loop lanes of a warp share a whole row of 64, 128 or 256 elements",
                fix="pad the last axis, or walk it by a loop: for n in wl.steps(x.n):",
            )
        self.column, self.lanes = whole[0].name, extent // EACH
        self.names = {
            op.result.name: op for op in self.kernel.ops if not isinstance(op, Store | Loop)
        }
        blocked = [t for t in self.kernel.tensors if t.blocked]
        self.wide = any(t.access is Access.IN for t in blocked)
        self.paired = bool(blocked)

    # Rows.

    @property
    def _rows(self) -> int:
        """Row numbers that a CTA takes at a time."""
        return THREADS // self.lanes

    def _counts(self) -> dict[str, IntExpr]:
        """Numbers along every variable; of the last one, pairs of rows where blocks are."""
        grid = self.kernel.grid.vars
        found: dict[str, IntExpr] = {n: size(self.kernel.var(n).axis) for n in grid}
        if self.paired:
            last = found[grid[-1]]
            found[grid[-1]] = lift((last + (BLOCK_ROWS - 1)) // BLOCK_ROWS * PAIRS)
        return found

    def _numbers(self) -> dict[str, Expr]:
        """Which of its numbers a variable has in the row at hand."""
        counts = self._counts()
        rest: Expr = ROW
        found: dict[str, Expr] = {}
        for n, name in reversed(list(enumerate(self.kernel.grid.vars))):
            found[name] = rest % counts[name] if n else rest
            rest = rest // counts[name]
        return found

    def _positions(self, last: Expr | None) -> list[VectorOp]:
        """Where the row at hand lies; ``last``: of the last variable, where blocks are."""
        made: list[VectorOp] = []
        for name, value in self._numbers().items():
            own = value if last is None or name != self.kernel.grid.vars[-1] else last
            made.append(ops.VectorIndex(result=f"pos_{name}", value=lift(own)))
        return made

    @property
    def _exists(self) -> list[IntExpr]:
        rows = product(list(self._counts().values()))
        return [lift(rows > ROW)]

    # Layouts.

    def _layout(self, indices: tuple[tuple[str, int], ...], col: Expr) -> FragmentLayout:
        return FragmentLayout(
            indices=tuple(FragmentIndex(name=n, extent=e) for n, e in indices),
            register=const(0),
            row=lift(TILE * self._rows + THREAD // self.lanes),
            col=lift(col),
        )

    def module(self) -> KernelModule:
        """All of it."""
        kernel = self.kernel
        vectors: list[ops.Vector] = []
        clears = [o for o in kernel.ops if isinstance(o, Store) and self._is_blocked(o)]
        vectors += [self._clear(o) for o in clears]
        rest = [o for o in kernel.ops if isinstance(o, Store) and o not in clears]
        if rest:
            vectors.append(self._work(rest))
        axes = tuple(TileAxis(var=n, axis=kernel.var(n).axis, extent=1) for n in kernel.grid.vars)
        schedule = TileSchedule(tiled=(), units=axes, rows=self._rows, paired=self.paired)
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
            config=f"{self._rows} rows of {self.lanes * EACH}",
            dialect=Dialect.MBARRIER,
            kernel=relative(self.source),
            tensors=tuple(
                TensorArg(
                    name=t.name,
                    axes=t.axes,
                    dtype=t.dtype,
                    access=t.access.value,
                    alignment=ALIGNMENT,
                    blocked=t.blocked,
                )
                for t in kernel.tensors
            ),
            scalars=tuple(ScalarArg(name=p.name, dtype=p.dtype) for p in kernel.parameters),
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
        pair = self._numbers()[self.kernel.grid.vars[-1]]
        part = THREAD % self.lanes
        offset = 4 * (PAIRS * self.lanes * N + pair % PAIRS * self.lanes + part) + 2 * U + Q
        within = offset % 128
        row = pair // PAIRS * BLOCK_ROWS + within // 4 // 4 + 8 * U
        col = offset // 128 * 8 + within // 4 % 4 * 2 + Q
        layout = self._layout((("n", 4), ("u", 2), ("q", 2)), col)
        write = _RowWriter(self, self._positions(row))
        value = write.value(constant.result.name)
        at, inside = write.place(op, rows_exist=False)
        write.made.append(
            ops.VectorStore(
                value=value,
                tensor=op.tensor,
                at=at,
                predicate=conjunction([*self._exists, *inside]),
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
        last: Expr | None = None
        pair = self._numbers()[self.kernel.grid.vars[-1]]
        if self.wide:
            lane = THREAD % 32
            here = pair % PAIRS * self.lanes + THREAD % self.lanes
            last = pair // PAIRS * BLOCK_ROWS + lane // 4 + 8 * U
            col = (here // 32 * 4 + N) * 8 + lane % 4 * 2 + Q
            layout = self._layout((("n", 4), ("u", 2), ("q", 2)), col)
        else:
            indices: tuple[tuple[str, int], ...] = (("j", EACH),)
            if self.paired:
                last = pair // PAIRS * BLOCK_ROWS + pair % PAIRS + 8 * UP
                indices = (("up", 2), *indices)
            layout = self._layout(indices, THREAD % self.lanes * EACH + J)
        write = _RowWriter(self, self._positions(last))
        for op in self.kernel.ops:
            if isinstance(op, Store) and op in stores:
                write.store(op)
        return ops.Vector(
            op="rows",
            iteration=const(0),
            layout=layout,
            body=tuple(write.made),
            kind=VectorKind.STORE,
        )


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
        return Sym(SymKind.VALUE, f"pos_{var}")

    def value(self, name: str) -> str:
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
                made = ops.VectorIndex(result=name, value=self.position(op.var))
            case Load():
                at, inside = self.place(op)
                made = ops.VectorLoad(
                    result=name,
                    tensor=op.tensor,
                    at=at,
                    predicate=conjunction([*self.builder._exists, *inside]),
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
                raise refusal(
                    f"{what} in a kernel without a loop",
                    line_of(op),
                    why="lanes hold elements of rows: they compute element by element, sum rows",
                    fix="a loop over one of the axes: for n in wl.steps(x.n):",
                )
        self.made.append(made)
        return name

    def _reduce(self, op: Reduce) -> VectorOp:
        if op.over != self.builder.column or self.builder.wide:
            raise refusal(
                "a reduction over the rows in a kernel without a loop",
                op.result.line,
                why="rows lie in different warps, and in different CTAs",
                fix=f"a loop over them: for {op.over} in wl.steps(...)",
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
        value = self.value(op.value)
        at, inside = self.place(op)
        made = self.builder.names[op.value]
        once: list[IntExpr] = []
        if not self._along(made.result):
            once = [lift(COL.eq(0))]
        self.made.append(
            ops.VectorStore(
                value=value,
                tensor=op.tensor,
                at=at,
                predicate=conjunction([*self.builder._exists, *once, *inside]),
                dtype=self.kernel.tensor(op.tensor).dtype,
                line=short(op.line),
            )
        )
