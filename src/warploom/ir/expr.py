"""Expressions of a kernel module: indices, bounds, predicates and trip counts.

An expression is a frozen tree. ``/`` and ``%`` truncate toward zero, because that is what the
machine code of both targets does; readers must not assume floor division. Symbols have a *kind*
beside their name, so an axis called ``t`` and an iteration called ``t`` are two symbols.

The kinds of this file (``IntExpr``) are whole numbers of 32 bits. Thread programs have further
kinds, of any type (``warploom.ir.threads``); all are built, compared and walked alike.

    Sym(SymKind.SIZE, "m") + 127  ->  Binary(ADD, Sym(SIZE, m), Const(127))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, ClassVar

from warploom.dataclass import dataclass
from warploom.errors import DocumentError


class SymKind(StrEnum):
    """What a symbol stands for."""

    SIZE = "size"  # the size of a named axis
    LAUNCH = "launch"  # cta (number of this CTA), ctas (of the grid), sms (of the device)
    TILE = "tile"  # the number of a tile along a variable of the grid
    VISIT = "visit"  # how many tiles this CTA has begun before
    LET = "let"  # bound by a ``Let`` of the tile loop
    STEP = "step"  # iteration of a step loop
    THREAD = "thread"  # tid (number in the CTA), warp, lane, instance, wave, rank
    FRAGMENT = "fragment"  # an index of a fragment layout
    ELEMENT = "element"  # row, col: where a fragment element lies in its tile
    SCALAR = "scalar"  # an integer scalar of the call
    VALUE = "value"  # an integer that vector work computed before, by its name


class Op(StrEnum):
    """Binary operations. Comparisons and connectives give 0 or 1; ``/`` truncates, ``floor_div``
    rounds down.
    """

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    MOD = "%"
    XOR = "^"
    MIN = "min"
    MAX = "max"
    FLOOR_DIV = "floor_div"
    LT = "<"
    LE = "<="
    GE = ">="
    EQ = "=="
    NE = "!="
    AND = "&&"
    OR = "||"


PRECEDENCE: Mapping[Op, int] = {
    Op.OR: 1, Op.AND: 2, Op.XOR: 3, Op.EQ: 4, Op.NE: 4, Op.LT: 5, Op.LE: 5, Op.GE: 5,
    Op.ADD: 6, Op.SUB: 6, Op.MUL: 7, Op.DIV: 7, Op.MOD: 7,
}  # fmt: skip
DIVISIONS = frozenset({Op.DIV, Op.MOD, Op.FLOOR_DIV})
CALLS = frozenset({Op.MIN, Op.MAX, Op.FLOOR_DIV})  # written as functions
COMPARISONS = frozenset({Op.LT, Op.LE, Op.GE, Op.EQ, Op.NE, Op.AND, Op.OR})
TERNARY = 0  # binds weaker than every operator


class Expr:
    """Base of all expressions; Python's operators build new ones.

    ``operands``: the fields that hold expressions, or tuples of them.
    """

    __slots__ = ()
    operands: ClassVar[tuple[str, ...]] = ()

    def __add__(self, other: Expr | int) -> Expr:
        return binary(Op.ADD, self, other)

    def __radd__(self, other: int) -> Expr:
        return binary(Op.ADD, const(other), self)

    def __sub__(self, other: Expr | int) -> Expr:
        return binary(Op.SUB, self, other)

    def __rsub__(self, other: int) -> Expr:
        return binary(Op.SUB, const(other), self)

    def __mul__(self, other: Expr | int) -> Expr:
        return binary(Op.MUL, self, other)

    def __rmul__(self, other: int) -> Expr:
        return binary(Op.MUL, const(other), self)

    def __floordiv__(self, other: Expr | int) -> Expr:
        """Truncating division (the operator is Python's, the meaning the machine's)."""
        return binary(Op.DIV, self, other)

    def __mod__(self, other: Expr | int) -> Expr:
        """Truncating remainder."""
        return binary(Op.MOD, self, other)

    def __xor__(self, other: Expr | int) -> Expr:
        return binary(Op.XOR, self, other)

    def __lt__(self, other: Expr | int) -> Expr:
        return binary(Op.LT, self, other)

    def __le__(self, other: Expr | int) -> Expr:
        return binary(Op.LE, self, other)

    def __ge__(self, other: Expr | int) -> Expr:
        return binary(Op.GE, self, other)

    def eq(self, other: Expr | int) -> Expr:
        """1 where both are equal (``==`` compares the trees)."""
        return binary(Op.EQ, self, other)

    def ne(self, other: Expr | int) -> Expr:
        """1 where they differ."""
        return binary(Op.NE, self, other)

    def __and__(self, other: Expr) -> Expr:
        return binary(Op.AND, self, other)

    def __or__(self, other: Expr) -> Expr:
        return binary(Op.OR, self, other)

    def __str__(self) -> str:
        return show(lift(self))


@dataclass(frozen=True, slots=True)
class Const(Expr):
    """A number."""

    value: int


@dataclass(frozen=True, slots=True)
class Sym(Expr):
    """A symbol of a kind."""

    kind: SymKind
    name: str

    def __hash__(self) -> int:  # asked for more often than all else of a module
        return hash((self.kind, self.name))


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """An operation on two expressions."""

    operands: ClassVar[tuple[str, ...]] = ("a", "b")
    op: Op
    a: IntExpr
    b: IntExpr


@dataclass(frozen=True, slots=True)
class Select(Expr):
    """``then`` where the condition is not 0, else ``otherwise``, which alone is evaluated then."""

    operands: ClassVar[tuple[str, ...]] = ("condition", "then", "otherwise")
    condition: IntExpr
    then: IntExpr
    otherwise: IntExpr


@dataclass(frozen=True, slots=True)
class Apply(Expr):
    """A function of the tile loop (``Function``) at an argument, such as a step's position."""

    operands: ClassVar[tuple[str, ...]] = ("argument",)
    function: str
    argument: IntExpr


@dataclass(frozen=True, slots=True)
class Element(Expr):
    """An element of a tensor in global memory: of integers (offsets, lengths, page tables, lists),
    in thread programs of any type, as it lies there.
    """

    operands: ClassVar[tuple[str, ...]] = ("at",)
    tensor: str
    at: tuple[IntExpr, ...]


IntExpr = Const | Sym | Binary | Select | Apply | Element
Memory = Callable[[str, tuple[int, ...]], int]


def const(value: int) -> Const:
    """The number as an expression."""
    return Const(int(value))


def lift(value: Expr | int) -> IntExpr:
    """An expression of a number, or the expression itself (of thread programs of any kind)."""
    return const(value) if isinstance(value, int) else value  # type: ignore[return-value]


def select(condition: Expr, then: Expr | int, otherwise: Expr | int) -> Select:
    """``then`` where the condition holds, else ``otherwise``."""
    return Select(lift(condition), lift(then), lift(otherwise))


def element_of(tensor: str, at: Iterable[Expr | int]) -> Element:
    """An element of a tensor in global memory."""
    return Element(tensor, tuple(lift(x) for x in at))


def size(axis: str) -> Sym:
    """The size of an axis."""
    return Sym(SymKind.SIZE, axis)


def least(a: Expr | int, b: Expr | int) -> IntExpr:
    """``min``."""
    return binary(Op.MIN, a, b)


def most(a: Expr | int, b: Expr | int) -> IntExpr:
    """``max``."""
    return binary(Op.MAX, a, b)


def floor_div(a: Expr | int, b: Expr | int) -> IntExpr:
    """``a / b`` rounded down, where ``/`` truncates."""
    return binary(Op.FLOOR_DIV, a, b)


def ceil_div(a: Expr, b: int) -> IntExpr:
    """``a / b`` rounded up, for ``a`` >= 0."""
    return lift((a + (b - 1)) // b) if b != 1 else lift(a)


def product(factors: list[IntExpr]) -> IntExpr:
    """All of them multiplied."""
    made: Expr = factors[0] if factors else const(1)
    for factor in factors[1:]:
        made = made * factor
    return lift(made)


def conjunction(conditions: Iterable[Expr]) -> IntExpr | None:
    """All of them; None of none."""
    made: Expr | None = None
    for condition in conditions:
        made = condition if made is None else made & condition
    return None if made is None else lift(made)


def conjuncts(expr: IntExpr | None) -> list[IntExpr]:
    """The conditions of a conjunction; none of None."""
    if isinstance(expr, Binary) and expr.op is Op.AND:
        return [*conjuncts(expr.a), *conjuncts(expr.b)]
    return [] if expr is None else [expr]


def binary(op: Op, a: Expr | int, b: Expr | int) -> IntExpr:
    """An operation; sums with 0 and products with 1 are their other operand."""
    left, right = lift(a), lift(b)
    if isinstance(left, Const) and isinstance(right, Const):
        divides = op in DIVISIONS
        if not divides or right.value:
            return const(apply_op(op, left.value, right.value))
    if op in (Op.ADD, Op.SUB) and right == Const(0):
        return left
    if op is Op.ADD and left == Const(0):
        return right
    if op in (Op.MUL, Op.DIV, Op.FLOOR_DIV) and right == Const(1):
        return left
    if op is Op.MUL and left == Const(1):
        return right
    return Binary(op, left, right)


def truncated_div(a: int, b: int) -> int:
    """C's division of whole numbers."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def apply_op(op: Op, a: int, b: int) -> int:
    """The value of an operation; ``DocumentError`` for a division by 0."""
    if b == 0 and op in DIVISIONS:
        raise DocumentError(
            f"{a} {op.value} 0", why="nothing is divided by 0", fix="another divisor"
        )
    return int(_SCALAR[op](a, b))


_SCALAR: Mapping[Op, Callable[[int, int], int]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: truncated_div,
    Op.MOD: lambda a, b: a - b * truncated_div(a, b),
    Op.XOR: lambda a, b: a ^ b,
    Op.MIN: min,
    Op.MAX: max,
    Op.FLOOR_DIV: lambda a, b: a // b,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.GE: lambda a, b: a >= b,
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.AND: lambda a, b: bool(a) and bool(b),
    Op.OR: lambda a, b: bool(a) or bool(b),
}

Values = Mapping[Sym, int]


def evaluate(  # noqa: PLR0911 (one line a kind)
    expr: IntExpr,
    values: Values,
    functions: Mapping[str, Function] | None = None,
    memory: Memory | None = None,
) -> int:
    """The number an expression is; ``KeyError`` for a symbol without a value.

    ``memory`` reads elements of tensors, for expressions that have some.
    """
    match expr:
        case Binary():
            a = evaluate(expr.a, values, functions, memory)
            if expr.op is Op.AND and not a:
                return 0
            if expr.op is Op.OR and a:
                return 1
            return apply_op(expr.op, a, evaluate(expr.b, values, functions, memory))
        case Const():
            return expr.value
        case Sym():
            return values[expr]
        case Select():
            taken = evaluate(expr.condition, values, functions, memory)
            return evaluate(expr.then if taken else expr.otherwise, values, functions, memory)
        case Apply():
            return evaluate(inlined(expr, functions or {}), values, functions, memory)
        case Element():
            if memory is None:
                raise KeyError(expr)
            return memory(
                expr.tensor, tuple(evaluate(x, values, functions, memory) for x in expr.at)
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A named function of one argument, in scope of a tile loop."""

    name: str
    parameter: Sym
    value: IntExpr


def inlined(expr: IntExpr, functions: Mapping[str, Function]) -> IntExpr:
    """The expression without ``Apply``."""

    def replaced(node: IntExpr) -> IntExpr | None:
        if not isinstance(node, Apply):
            return None
        function = functions[node.function]
        argument = inlined(node.argument, functions)
        return inlined(substitute(function.value, {function.parameter: argument}), functions)

    return rewrite(expr, replaced)


def substitute(expr: IntExpr, values: Mapping[Sym, IntExpr]) -> IntExpr:
    """The expression with symbols replaced."""
    return rewrite(expr, lambda node: values.get(node) if isinstance(node, Sym) else None)


def rewrite(expr: IntExpr, change: Callable[[IntExpr], IntExpr | None]) -> IntExpr:
    """The expression with every node that ``change`` answers for replaced by its answer."""
    changed = change(expr)
    if changed is not None:
        return changed
    match expr:
        case Binary():
            a, b = rewrite(expr.a, change), rewrite(expr.b, change)
            return expr if a is expr.a and b is expr.b else binary(expr.op, a, b)
        case _:
            inner = {
                name: tuple(rewrite(x, change) for x in value)
                if isinstance(value, tuple)
                else rewrite(value, change)
                for name in expr.operands
                if (value := getattr(expr, name)) is not None
            }
            return replace(expr, **inner) if inner else expr  # type: ignore[arg-type]


def parts(expr: Expr) -> tuple[Any, ...]:
    """The expressions that one is made of."""
    found: list[Any] = []
    for name in expr.operands:
        value = getattr(expr, name)
        if isinstance(value, tuple):
            found += value
        elif value is not None:
            found.append(value)
    return tuple(found)


def nodes(expr: Expr) -> Iterator[Any]:
    """The expression and all that it is made of, each before its parts."""
    waiting = [expr]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += reversed(parts(one))


def symbols(expr: Expr) -> Iterator[Sym]:
    """The symbols of an expression, in order, with repetitions."""
    return (node for node in nodes(expr) if isinstance(node, Sym))


def elements(expr: Expr) -> Iterator[Element]:
    """The elements of memory that an expression reads, those of an index before its element."""
    for part in parts(expr):
        yield from elements(part)
    if isinstance(expr, Element):
        yield expr


Spelling = Callable[["IntExpr"], str | None]


def show(
    expr: IntExpr, name: Callable[[Sym], str] | None = None, spelt: Spelling | None = None
) -> str:
    """The expression with as few brackets as C needs; ``name`` spells symbols, ``spelt`` any other
    node, where it answers (with its brackets).
    """
    return _shown(expr, TERNARY, name or (lambda s: s.name), spelt)


def _shown(  # noqa: PLR0911 (one line a kind)
    expr: IntExpr, outer: int, name: Callable[[Sym], str], spelt: Spelling | None
) -> str:
    own = None if spelt is None else spelt(expr)
    if own is not None:
        return own
    match expr:
        case Const():
            return str(expr.value)
        case Sym():
            return name(expr)
        case Apply():
            return f"{expr.function}({_shown(expr.argument, TERNARY, name, spelt)})"
        case Element():
            return f"{expr.tensor}[{', '.join(_shown(x, TERNARY, name, spelt) for x in expr.at)}]"
        case Select():
            parts = [_shown(e, TERNARY + 1, name, spelt) for e in (expr.condition, expr.then)]
            text = f"{parts[0]} ? {parts[1]} : {_shown(expr.otherwise, TERNARY, name, spelt)}"
            return f"({text})" if outer > TERNARY else text
        case Binary() if expr.op in CALLS:
            both = [_shown(e, TERNARY, name, spelt) for e in (expr.a, expr.b)]
            return f"{expr.op}({', '.join(both)})"
        case Binary():
            mine = PRECEDENCE[expr.op]
            a = _shown(expr.a, mine, name, spelt)
            text = f"{a} {expr.op} {_shown(expr.b, mine + 1, name, spelt)}"
            return f"({text})" if mine < outer else text


@dataclass(frozen=True, slots=True)
class Linear:
    """``constant`` + the sum of factor * symbol: the affine form of an expression."""

    constant: int
    factors: tuple[tuple[Sym, int], ...]

    def factor(self, symbol: Sym) -> int:
        """The factor of a symbol."""
        return dict(self.factors).get(symbol, 0)


def linear(expr: IntExpr) -> Linear | None:  # noqa: PLR0911 (one line a kind)
    """The affine form, if the expression is one: sums, differences, products with numbers."""
    match expr:
        case Const():
            return Linear(expr.value, ())
        case Sym():
            return Linear(0, ((expr, 1),))
        case Binary(op=Op.ADD | Op.SUB | Op.MUL):
            a, b = linear(expr.a), linear(expr.b)
            if a is None or b is None:
                return None
            if expr.op is Op.MUL:
                if a.factors and b.factors:
                    return None
                return _scaled(b, a.constant) if not a.factors else _scaled(a, b.constant)
            sign = 1 if expr.op is Op.ADD else -1
            sums = dict(a.factors)
            for symbol, factor in b.factors:
                sums[symbol] = sums.get(symbol, 0) + sign * factor
            kept = tuple((s, f) for s, f in sums.items() if f)
            return Linear(a.constant + sign * b.constant, kept)
        case _:
            return None


def _scaled(form: Linear, by: int) -> Linear:
    factors = tuple((s, f * by) for s, f in form.factors) if by else ()
    return Linear(form.constant * by, factors)
