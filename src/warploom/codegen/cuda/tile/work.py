"""Vector work of a module as its printer reads it: what makes each value, and what is known of it.

The facts follow from the operations alone: along which axes of the tile a value differs, its type,
whether it is written out where it is used, whether it rises evenly along the columns. What the
loops of the printed source cannot express (another layout of elements, another register of an
array) is refused, so that nothing is printed but what the module says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from warploom.dataclass import dataclass
from warploom.errors import BackendError
from warploom.ir import operations as ops
from warploom.ir.affine import Affine, apply_affine
from warploom.ir.expr import (
    COMPARISONS,
    Apply,
    Binary,
    Const,
    Expr,
    IntExpr,
    Op,
    Sym,
    SymKind,
    const,
    lift,
    nodes,
    rewrite,
    symbols,
)
from warploom.ir.module import KernelModule, RegisterArray
from warploom.ir.types import DType, Fn

WARP, LANE, INSTANCE = (Sym(SymKind.THREAD, n) for n in ("warp", "lane", "instance"))
ROW, COL = Sym(SymKind.ELEMENT, "row"), Sym(SymKind.ELEMENT, "col")
B, G, P, HALF, Q, J = (Sym(SymKind.FRAGMENT, n) for n in "bgpiqj")
T_STEP = Sym(SymKind.STEP, "t")
WHOLE_FROM, WHOLE_TO = Sym(SymKind.LET, "whole_from"), Sym(SymKind.LET, "whole_to")
NO_MASK = Binary(Op.AND, Binary(Op.GE, T_STEP, WHOLE_FROM), Binary(Op.LT, T_STEP, WHOLE_TO))
COLUMN_REGISTER = lift(4 * G + 2 * P + Q)  # of a vector along the columns
TILES = ("tile", "packed")  # arrays of elements of a tile
MOST_WRITTEN = 200  # operations of an expression that is written out as a whole
SMALL = 1 << 16
WORD = 2**31
PLACE = 2**29  # positions, sizes, and sums of a few of them, are less

Axes = frozenset[Sym]
NO_AXES: Axes = frozenset()


class Fact(NamedTuple):
    """What is known of a value: ``axes`` of the tile along which it differs; ``free``: written out
    where it is used; ``moves``: as a condition it depends on the loop's index; ``weight``:
    operations it is made of; ``most``: what a whole number may be; ``place``: made of positions,
    sizes and constants; ``rises``: by the same number with every column; ``small``: of few bits.
    """

    axes: Axes
    dtype: DType
    free: bool = False
    moves: bool = False
    weight: int = 1
    most: int = WORD
    place: bool = False
    rises: bool = False
    small: bool = False


class UnprintableError(BackendError):
    """A pipelined form whose elements have no text; the kernel may have another form."""


@dataclass(frozen=True)
class Work:
    """One vector operation in terms of the running iteration; ``block``: the one of its rows, where
    it has a single one that the caller names.
    """

    module: KernelModule
    arrays: Mapping[str, RegisterArray]
    op: ops.Vector
    block: int | None = None

    @property
    def body(self) -> tuple[ops.VectorOp, ...]:
        """Its operations, makers first."""
        return self.op.body

    @cached_property
    def makers(self) -> dict[str, ops.VectorOp]:
        """What makes each value."""
        return {op.result: op for op in self.body if isinstance(op, _MAKERS)}

    @property
    def sets(self) -> list[ops.VectorSet]:
        """What it leaves in registers, in the order in which that is computed."""
        order = {name: n for n, name in enumerate(self.makers)}
        found = [op for op in self.body if isinstance(op, ops.VectorSet)]
        return sorted(found, key=lambda op: order[op.value])

    @property
    def store(self) -> ops.VectorStore | ops.VectorStage:
        """What it stores, or puts into a staging copy."""
        last = self.body[-1]
        if not isinstance(last, ops.VectorStore | ops.VectorStage):
            raise self.refused("no store")
        if sum(isinstance(op, ops.VectorStore | ops.VectorStage) for op in self.body) > 1:
            raise self.refused("several stores")
        return last

    @property
    def slots(self) -> list[ops.VectorSlot]:
        """What it reads of ring slots."""
        return [op for op in self.body if isinstance(op, ops.VectorSlot)]

    @property
    def reduces(self) -> list[ops.VectorReduce]:
        """Its reductions."""
        return [op for op in self.body if isinstance(op, ops.VectorReduce)]

    def extent(self, name: str) -> int:
        """How far an index of its elements runs; 1 where there is none."""
        return next((i.extent for i in self.op.layout.indices if i.name == name), 1)

    def array(self, name: str) -> RegisterArray:
        """A register array."""
        if name not in self.arrays:
            raise self.refused(f"no registers {name}")
        return self.arrays[name]

    def refuse_register(self, array: RegisterArray, register: IntExpr | None) -> None:
        """``BackendError`` where a register of a tile or of rows is not the one of the element at
        hand that the printed loops name.
        """
        if array.form in TILES and register is None:
            at = B if self.block is None else const(self.block)
            first = 16 * G if self.block is None else self.op.args[1] + 16 * J
            mine = lift(at * (array.cols // 2) + first // 2 + 4 * P + 2 * HALF + Q)
            if self.op.layout.register == mine:
                return
        elif array.form == "row" and register == row_register(self.block):
            return
        raise self.refused(f"register {register or self.op.layout.register} of {array.name}")

    def refused(self, what: str) -> UnprintableError:
        """What the printed loops cannot express."""
        return UnprintableError(
            f"{what} in {self.op.op}",
            where=self.module.name,
            why="elements of a thread are printed for the layout of wgmma accumulators",
            fix="give the operation the operands that passes derive",
        )

    # Facts of values.

    def fact(self, name: str) -> Fact:
        """What is known of a value."""
        result = self._facts.get(name)
        if result is None:
            raise self.refused(f"a value {name} that nothing makes")
        return result

    def axes(self, name: str) -> Axes:
        """The axes of the tile along which a value differs."""
        return self.fact(name).axes

    def dtype(self, name: str) -> DType:
        """The type of a value."""
        return self.fact(name).dtype

    def is_heavy(self, name: str) -> bool:
        """Whether an expression would be too long, were all it is made of written out in it."""
        return self.fact(name).weight > MOST_WRITTEN

    def is_line(self, name: str) -> bool:
        """Numbers that rise evenly along the columns: one instruction an element."""
        fact = self.fact(name)
        return COL in fact.axes and fact.dtype is DType.F32 and fact.rises

    def is_distance(self, name: str) -> bool:
        """The absolute value of such numbers, where whole ones are converted."""
        op = self.makers.get(name)
        if not isinstance(op, ops.VectorPointwise) or op.fn is not Fn.CAST:
            return False
        if op.dtype is not DType.F32 or len(self.axes(name)) < 2:
            return False
        inner = self.makers.get(op.args[0])
        if not isinstance(inner, ops.VectorPointwise) or inner.fn is not Fn.ABS:
            return False
        fact = self.fact(inner.args[0])
        return fact.rises if COL in fact.axes else fact.free

    @cached_property
    def _facts(self) -> dict[str, Fact]:
        """Makers come first, so long chains need no deep recursion."""
        result: dict[str, Fact] = {}
        for op in self.body:
            if isinstance(op, _MAKERS):
                if op.result in result:
                    raise self.refused(f"a second value {op.result}")
                result[op.result] = self._fact(op, result)
        return result

    def _fact(  # noqa: PLR0911 (one line a kind)
        self, op: Maker, found: Mapping[str, Fact]
    ) -> Fact:
        match op:
            case ops.VectorConst():
                most = abs(int(op.value)) if op.dtype is DType.I32 else WORD
                small = op.dtype is DType.I32 and abs(op.value) < SMALL
                return Fact(NO_AXES, op.dtype, free=True, most=most, place=True, small=small)
            case ops.VectorScalar():
                return Fact(NO_AXES, op.dtype, free=True)
            case ops.VectorIndex():
                axes, test = axes_of(op.value), is_test(op.value)
                moves = depends(op.value) and (bool(axes) or test)
                kind = DType.BOOL if test else DType.I32
                return Fact(
                    axes, kind, free=True, moves=moves, most=PLACE,
                    place=not axes and not test, rises=COL in axes,
                )  # fmt: skip
            case ops.VectorRegister():
                return Fact(self._axes_of(op), self.array(op.array).dtype)
            case ops.VectorSlot():
                axes = axes_of(op.row) | axes_of(op.col)
                most = 128 if op.dtype is DType.I8 else WORD
                return Fact(
                    axes, op.dtype, free=len(axes) < 2, moves=depends(op.iteration), most=most
                )
            case ops.VectorLoad():
                return self._load_fact(op, found)
            case ops.VectorReduce():
                gone = COL if set(op.over) & {"g", "p", "q"} or not op.over else ROW
                return Fact(found[op.arg].axes - {gone}, op.dtype)
            case ops.VectorPointwise():
                return self._pointwise_fact(op, [found[a] for a in op.args])

    def _axes_of(self, op: ops.VectorRegister) -> Axes:
        form = self.array(op.array).form
        if form in ("tile", "packed"):
            return frozenset({ROW, COL})
        if form == "row":
            return frozenset({ROW})
        return frozenset({COL}) if op.register == COLUMN_REGISTER else NO_AXES

    def _load_fact(self, op: ops.VectorLoad, found: Mapping[str, Fact]) -> Fact:
        axes, moves = NO_AXES, False
        for at in op.at:
            inner = [found[s.name] for s in symbols(at) if s.kind is SymKind.VALUE]
            axes = axes.union(axes_of(at), *(x.axes for x in inner))
            moves |= depends(at) or any(x.moves for x in inner)
        most = 128 if op.dtype is DType.I8 else WORD
        free = len(axes) < 2 or moves
        return Fact(axes, op.dtype, free=free, moves=moves, most=most)

    def _pointwise_fact(self, op: ops.VectorPointwise, args: list[Fact]) -> Fact:
        axes = NO_AXES.union(*(a.axes for a in args))
        whole = op.dtype in (DType.I32, DType.BOOL) or len(axes) < 2
        outer = op.fn is Fn.MUL and all(len(a.axes) < 2 for a in args)
        weight = min(1 + sum(a.weight for a in args), 2 * MOST_WRITTEN)
        rises = COL in axes and weight <= MOST_WRITTEN and _rises(op, args)
        free = ((whole or outer) and all(a.free for a in args)) or (rises and op.dtype is DType.F32)
        place = not axes and all(a.place for a in args)
        small = op.dtype is DType.I32 and (
            (op.fn is Fn.BITS and any(a.small for a in args))
            or (op.fn in (Fn.ADD, Fn.SUB) and all(a.small for a in args))
        )
        return Fact(
            axes, op.dtype, free=free, moves=any(a.moves for a in args), weight=weight,
            most=PLACE if place else min(_magnitude(op.fn, [a.most for a in args]), WORD * WORD),
            place=place, rises=rises, small=small,
        )  # fmt: skip

    def wraps(self, name: str) -> bool:
        """Whether a whole number may exceed 32 bits before it wraps."""
        return self.fact(name).most > WORD

    # Conditions.

    def hidden_unless_whole(self, name: str) -> str | None:
        """The condition that is asked in iterations that hide something; None: it always is."""
        op = self.makers.get(name)
        if not isinstance(op, ops.VectorPointwise) or op.fn is not Fn.OR:
            return None
        first = self.makers.get(op.args[0])
        asked = isinstance(first, ops.VectorIndex) and first.value == NO_MASK
        return op.args[1] if asked else None

    def hides(self) -> bool:
        """Whether it hides elements by a condition along the loop."""
        asked = [
            op.args[0]
            for op in self.body
            if isinstance(op, ops.VectorPointwise) and op.fn is Fn.WHERE
        ]
        return any(self.fact(x).moves or self.hidden_unless_whole(x) is not None for x in asked)

    def conjuncts(self, name: str) -> Iterator[str]:
        """The conditions that all must hold."""
        op = self.makers.get(name)
        if isinstance(op, ops.VectorPointwise) and op.fn is Fn.AND:
            for arg in op.args:
                yield from self.conjuncts(arg)
        else:
            yield name

    def unless_whole(self, name: str) -> Iterator[tuple[str, str | None]]:
        """Conditions that all must hold, each with what makes up for it: that the tile is whole."""
        for part in self.conjuncts(name):
            op = self.makers.get(part)
            args = op.args if isinstance(op, ops.VectorPointwise) and op.fn is Fn.OR else ()
            whole = next((a for a in args if self._is_whole_tile(a)), None)
            if whole is None:
                yield part, None
            else:
                rest = next(a for a in args if a != whole)
                yield from ((inner, whole) for inner in self.conjuncts(rest))

    def _is_whole_tile(self, name: str) -> bool:
        op = self.makers.get(name)
        return isinstance(op, ops.VectorIndex) and is_test(op.value) and not axes_of(op.value)

    def comparison(self, name: str) -> Affine | None:
        """A comparison as ``affine >= 0``, where it is one along the loop."""
        op = self.makers.get(name)
        if not isinstance(op, ops.VectorPointwise) or op.fn not in _ORDERS:
            return None
        left, right = (self._affine(a) for a in op.args)
        if left is None or right is None:
            return None
        gap = right.plus(left, -1) if op.fn in (Fn.LT, Fn.LE) else left.plus(right, -1)
        if op.fn in (Fn.LT, Fn.GT):
            gap = gap.plus(Affine(constant=1), -1)
        return gap if gap is not None and abs(gap.loop) <= 1 else None

    def _affine(self, name: str) -> Affine | None:
        op = self.makers.get(name)
        if isinstance(op, ops.VectorIndex) and axes_of(op.value):
            if depends(op.value):
                return Affine(loop=1) if op.value == _shifted(self.first_column, COL) else None
            return Affine(rows=1) if op.value == _shifted(self.first_row, ROW) else None
        if isinstance(op, ops.VectorConst) and isinstance(op.value, int):
            return Affine(constant=op.value)
        if not self.axes(name) and self.fact(name).free:
            return Affine(rest=((1, name),))
        if not isinstance(op, ops.VectorPointwise):
            return None
        args = [self._affine(a) for a in op.args]
        known = [a for a in args if a is not None]
        return apply_affine(op.fn, known) if len(known) == len(args) else None

    @cached_property
    def first_column(self) -> IntExpr | None:
        """Where the columns of the tile begin, if they run along the loop."""
        found = {x for x in self._firsts(COL) if depends(x)}
        return next(iter(found)) if len(found) == 1 else None

    @cached_property
    def first_row(self) -> IntExpr | None:
        """Where the rows of the tile begin, if conditions speak of them."""
        found = {x for x in self._firsts(ROW) if not depends(x)}
        return next(iter(found)) if len(found) == 1 else None

    def _firsts(self, along: Sym) -> Iterator[IntExpr]:
        for op in self.body:
            if isinstance(op, ops.VectorIndex):
                first = first_of(op.value, along)
                if first is not None:
                    yield first


Maker = (
    ops.VectorConst | ops.VectorScalar | ops.VectorIndex | ops.VectorRegister | ops.VectorSlot
    | ops.VectorLoad | ops.VectorReduce | ops.VectorPointwise
)  # fmt: skip
_MAKERS = (
    ops.VectorConst, ops.VectorScalar, ops.VectorIndex, ops.VectorRegister, ops.VectorSlot,
    ops.VectorLoad, ops.VectorReduce, ops.VectorPointwise,
)  # fmt: skip
_ORDERS = (Fn.LT, Fn.LE, Fn.GT, Fn.GE)


def _rises(op: ops.VectorPointwise, args: list[Fact]) -> bool:
    """Whether a value is a number of its row, plus a number of the tile times the column."""
    if op.dtype not in (DType.I32, DType.F32):
        return False
    if op.fn in (Fn.MUL, Fn.DIV):  # by a number of the tile
        moving = [n for n, a in enumerate(args) if COL in a.axes]
        if len(moving) != 1 or any(a.axes for n, a in enumerate(args) if n not in moving):
            return False
        if op.fn is Fn.DIV and (op.dtype is DType.I32 or moving != [0]):
            return False
    elif op.fn not in (Fn.ADD, Fn.SUB, Fn.NEG, Fn.CAST):
        return False
    return all(a.rises if COL in a.axes else a.free for a in args)


def _magnitude(fn: Fn, args: list[int]) -> int:  # noqa: PLR0911 (one line a function)
    match fn:
        case Fn.ADD | Fn.SUB:
            return args[0] + args[1]
        case Fn.MUL:
            return args[0] * args[1]
        case Fn.BITS | Fn.MOD:
            return min(args[1], WORD)
        case Fn.WHERE:
            return max(args[1:])
        case Fn.MIN | Fn.MAX:
            return max(args)
        case Fn.NEG:
            return args[0] + 1
        case Fn.SHR | Fn.FLOORDIV | Fn.ABS | Fn.CAST:
            return min(args[0], WORD)
        case _:
            return WORD


def axes_of(expr: IntExpr) -> Axes:
    """The axes of the tile that an expression speaks of."""
    return frozenset(s for s in symbols(expr) if s in (ROW, COL))


def is_test(expr: IntExpr) -> bool:
    """Whether an expression is a condition."""
    return isinstance(expr, Binary) and expr.op in COMPARISONS


def depends(expr: IntExpr) -> bool:
    """Whether an expression is another one in every iteration."""
    return any(isinstance(x, Apply) or x == T_STEP for x in nodes(expr))


def first_of(expr: IntExpr, along: Sym) -> IntExpr | None:
    """Where a tile begins, of an expression that is that plus the row or column."""
    if expr == along:
        return Const(0)
    plain = isinstance(expr, Binary) and expr.op is Op.ADD and expr.b == along
    return expr.a if plain and isinstance(expr, Binary) and not axes_of(expr.a) else None


def _shifted(first: IntExpr | None, along: Sym) -> IntExpr | None:
    return None if first is None else lift(first + along)


def running(op: ops.Vector) -> ops.Vector:
    """Vector work of an iteration in terms of the running one."""

    def now(node: IntExpr) -> IntExpr | None:
        if isinstance(node, Apply) and node.argument == op.iteration:
            return Apply(node.function, T_STEP)
        return None

    def test(node: IntExpr) -> IntExpr | None:
        """Whether the iteration is one of those that hide nothing, or of tiles listed as whole."""
        found = isinstance(node, Binary) and isinstance(node.b, Sym)
        if found and isinstance(node, Binary) and node.op in (Op.GE, Op.LT):
            mine = node.a in (op.iteration, T_STEP) and node.b != T_STEP
            return Binary(node.op, T_STEP, node.b) if mine else None
        return now(node)

    def moved(made: ops.VectorOp) -> ops.VectorOp:
        match made:
            case ops.VectorIndex():
                change = test if is_test(made.value) else now
                return replace(made, value=rewrite(made.value, change))
            case ops.VectorSlot() | ops.VectorPut():
                here = T_STEP if made.iteration == op.iteration else made.iteration
                made = replace(
                    made, iteration=here, row=rewrite(made.row, now), col=rewrite(made.col, now)
                )
                if isinstance(made, ops.VectorPut) and made.predicate is not None:
                    return replace(made, predicate=rewrite(made.predicate, now))
                return made
            case ops.VectorLoad() | ops.VectorStore():
                inside = None if made.predicate is None else rewrite(made.predicate, now)
                return replace(made, at=tuple(rewrite(x, now) for x in made.at), predicate=inside)
            case _:
                return made

    return replace(op, iteration=T_STEP, body=tuple(moved(x) for x in op.body))


def at_iteration(op: ops.VectorLoad, iteration: IntExpr) -> ops.VectorLoad:
    """A load of the running iteration, of another one."""

    def then(node: IntExpr) -> IntExpr | None:
        if isinstance(node, Apply) and node.argument == T_STEP:
            return Apply(node.function, iteration)
        return None

    inside = None if op.predicate is None else rewrite(op.predicate, then)
    return replace(op, at=tuple(rewrite(x, then) for x in op.at), predicate=inside)


def rows_of(blocks: int, block: Expr, instance: Expr) -> IntExpr:
    """The row of a thread's element, as ``row_of`` of the source computes it."""
    return lift(64 * (blocks * instance + block) + 16 * WARP + LANE // 4 + 8 * HALF)


def row_register(block: int | None) -> IntExpr:
    """The register of a row's value."""
    return lift(2 * (B if block is None else const(block)) + HALF)
