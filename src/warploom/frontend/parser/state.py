"""What reading a kernel knows so far: the ops built, and the frame of the function being read."""

import ast
import builtins
import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, NoReturn

from warploom.dataclass import dataclass
from warploom.errors import KernelError
from warploom.frontend.closures import Captured
from warploom.frontend.parser.unsigned import bits
from warploom.frontend.source import Mistakes, Source
from warploom.ir import tile as ir
from warploom.ir.tile import DType, Line, Op, Walk, operands

Symbol = Any  # a Value, Var, Tensor, SizeOf, or any Python object known while reading

SHARED = (ir.Const, ir.Scalar, ir.Size, ir.Position, ir.Indices)


@dataclass(frozen=True, slots=True)
class SizeOf:
    """``x.k``: the size of an axis; an ``int`` where it is known."""

    tensor: str
    axis: str


@dataclass(frozen=True, slots=True)
class ScalarOf:
    """A run-time scalar parameter, until it is used."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Gone:
    """A name that has no value any more, and why."""

    why: str
    fix: str


SYMBOLIC = (ir.Value, ir.Var, ir.Tensor, SizeOf, ScalarOf)


def is_static(symbol: Symbol) -> bool:
    """Whether it is known while reading."""
    if isinstance(symbol, tuple | list):
        return all(is_static(s) for s in symbol)
    return not isinstance(symbol, (*SYMBOLIC, LocalFunction))


@dataclass(slots=True)
class Builder:
    """The ops of a kernel under construction; ``scopes`` are those of the tile and of a loop."""

    tensors: dict[str, ir.Tensor]
    sizes: Mapping[str, int]
    assumed: set[str] | None = None  # where given: whole axes of unknown size are noted here
    vars: dict[str, ir.Var] = field(default_factory=dict)
    scopes: list[list[Op]] = field(default_factory=lambda: [[]])
    shared: list[dict[object, ir.Value]] = field(default_factory=lambda: [{}])
    names: set[str] = field(default_factory=set)
    made: dict[str, Op] = field(default_factory=dict)
    depends: dict[str, frozenset[str]] = field(default_factory=dict)
    free: set[str] = field(default_factory=set)  # two axes in no order yet: see Frame.broadcast
    unsigned: set[str] = field(default_factory=set)  # values of i32 that stand for u32
    whole: dict[str, ir.Var] = field(default_factory=dict)
    grid: Any = None
    loop: ir.Var | None = None
    outer: tuple[ir.Var, ...] = ()  # variables of the loops around it
    shifted: bool = False  # the loop begins at a start of its own, not at 0
    part: str | None = None  # the number of the grid whose share of its axis the loop walks
    has_whole: bool = False  # some tiles of the loop are listed as hiding nothing
    stops: list[tuple[ir.Value, dict[str, Any]]] | None = None  # breaks of the loop, with names
    running: ir.Value | None = None  # the condition under which a tile goes on, or stores
    count: int = 0
    titles: dict[str, str] = field(default_factory=dict)
    lowered: set[str] = field(default_factory=set)  # names with a hint, in lower case
    unnamed: set[str] = field(default_factory=set)  # names that were given without a hint
    stores: dict[str, list[Any]] = field(default_factory=dict)
    inline: Callable[..., Symbol] | None = None
    without: frozenset[str] = frozenset()

    def fresh(self, hint: str | None = None) -> str:
        """A name no value, variable or tensor has."""
        if hint is None:
            while f"v{self.count}" in self.names:
                self.count += 1
            name = f"v{self.count}"
            self.unnamed.add(name)
        else:
            # Names that differ in case alone would be one constant of the emitted code.
            name, n = hint, 0
            while name in self.names or name.lower() in self.lowered:
                n += 1
                name = f"{hint}_{n}"
            self.lowered.add(name.lower())
        self.names.add(name)
        return name

    def emit(self, op: Op) -> None:
        """Append an op to the scope at hand."""
        self.scopes[-1].append(op)
        result = getattr(op, "result", None)
        if result is None:
            return
        self.made[result.name] = op
        known = [self.depends.get(o, frozenset()) for o in operands(op)]
        own = {getattr(op, "var", None), *(a.var for a in getattr(op, "at", ())), *result.vars}
        self.depends[result.name] = frozenset(own - {None}).union(*known)

    def new(
        self, kind: type[Any], dims: tuple[ir.Dim, ...], dtype: DType, line: Line, **rest: object
    ) -> ir.Value:
        """Build an op and give its result."""
        value = ir.Value(name=self.fresh(), dims=dims, dtype=dtype, line=line)
        self.emit(kind(result=value, **rest))
        return value

    def once(
        self,
        kind: type[Any],
        key: object,
        dims: tuple[ir.Dim, ...],
        dtype: DType,
        line: Line,
        **rest: object,
    ) -> ir.Value:
        """An op without operands, shared by all its users in scope."""
        for scope in self.shared:
            if (kind, key) in scope:
                return scope[kind, key]
        value = self.new(kind, dims, dtype, line, **rest)
        self.shared[-1][kind, key] = value
        return value

    def kind(self, value: ir.Value) -> DType:
        """The type of a value as the author sees it."""
        return DType.U32 if value.name in self.unsigned else value.dtype

    def without_sign(self, value: ir.Value) -> ir.Value:
        """The same bits as a number without sign; the value must be of nobody else."""
        self.unsigned.add(value.name)
        return value

    def const(self, number: float, dtype: DType, line: Line) -> ir.Value:
        """A number of the source."""
        if dtype is DType.U32:
            whole = bits(int(number))
            made = self.once(ir.Const, (repr(whole), dtype), (), DType.I32, line, value=whole)
            return self.without_sign(made)
        number = _as(number, dtype)
        key = (repr(number), dtype)
        return self.once(ir.Const, key, (), dtype, line, value=number)

    def call(self, value: ir.Value, name: str) -> None:
        """Remember what the author calls a value; the first name stays."""
        if value.name in self.unnamed and not isinstance(self.made.get(value.name), SHARED):
            self.titles.setdefault(value.name, name)

    def final_names(self) -> dict[str, str]:
        """The author's names for values that were numbered."""
        return {was: self.fresh(title) for was, title in self.titles.items()}

    def whole_var(self, axis: str) -> ir.Var:
        """The variable that stands for all of an axis of known size."""
        if axis not in self.whole:
            name = self.fresh(axis)
            var = ir.Var(name=name, axis=axis, walk=Walk.WHOLE, extent=self.sizes[axis])
            self.whole[axis] = self.vars[name] = var
        return self.whole[axis]


def _as(number: float, dtype: DType) -> float | int | bool:
    if dtype is DType.BOOL:
        return bool(number)
    return float(number) if dtype.is_float else int(number)


@dataclass(slots=True)
class Frame(Mistakes):
    """A function being read: the kernel's own, or one it calls.

    ``foreign``: one given by a caller, where conditions count as 0 and 1, as in arrays.
    """

    build: Builder
    source: Source
    function: Callable[..., Any]
    env: dict[str, Symbol]
    depth: int = 0
    hints: tuple[str, ...] = ()
    foreign: bool = False

    def line(self, node: ast.AST) -> Line:
        """Where a node stands."""
        return self.source.line(node)

    def fail(self, kind: type[KernelError], node: ast.AST, what: str, **parts: str) -> NoReturn:
        """Raise an error at a node."""
        self.source.fail(kind, node, what, **parts)

    def look_up(self, node: ast.Name) -> Symbol:
        """What a name means: a local value, or what Python knows under it."""
        name = node.id
        if name in self.env:
            result = self.env[name]
            if isinstance(result, Gone):
                self.wrong_name(node, f"'{name}' has no value here", why=result.why, fix=result.fix)
            return result
        code = self.function.__code__
        cells = dict(zip(code.co_freevars, self.function.__closure__ or (), strict=False))
        if name in cells:
            try:
                return self.given(node, cells[name].cell_contents)
            except ValueError:
                pass
        if name in self.function.__globals__:
            return self.given(node, self.function.__globals__[name])
        if hasattr(builtins, name):
            return getattr(builtins, name)
        known = [*(k for k, v in self.env.items() if not isinstance(v, Gone)), *cells]
        self.wrong_name(
            node,
            f"unknown name '{name}'",
            why="it is neither assigned before in the kernel nor known to the Python around it",
            fix=nearest(name, known) or "assign it first",
        )

    def given(self, node: ast.AST, found: Symbol) -> Symbol:
        """What the Python around a function gives it; tensors are inputs of the kernel."""
        if not isinstance(found, Captured):
            return found
        tensor = self.build.tensors[found.name]
        if found.rank:
            return tensor
        line = self.line(node)
        zero = ir.At(value=self.build.const(0, DType.I32, line).name)
        return self.build.new(
            ir.Load, (), tensor.dtype.stored, line, tensor=tensor.name, at=(zero,)
        )

    # ---- shapes ------------------------------------------------------------------------------

    def broadcast(
        self, node: ast.AST, values: list[ir.Value]
    ) -> tuple[tuple[ir.Dim, ...], list[ir.Value], bool]:
        """The common shape of values, the values in its order, and whether its order is free.

        Shapes go together by the names of their variables. The order of two axes is that of the
        values that have an order: loaded tiles, products, carried values. What was spread out of
        vectors has none yet and is made again in the order asked for.
        """
        fixed = [v for v in values if len(v.dims) == 2 and v.name not in self.build.free]
        orders = {v.vars for v in fixed}
        order = list(self.build.vars)
        union = sorted({x for v in values for x in v.vars}, key=order.index)
        if len(orders) > 1 or len(union) > 2:
            shapes = " and ".join(dict.fromkeys(shape(v) for v in values if v.dims))
            turned = len(union) == 2
            self.wrong_shape(
                node,
                f"shapes {shapes} do not go together",
                why="the same axes stand in different order"
                if turned
                else f"together they have {len(union)} axes ({', '.join(union)}); "
                "a tile has at most two",
                fix="transpose one with .T" if turned else "sum or contract an axis first",
            )
        names = next(iter(orders), tuple(union))
        dims = tuple(self._finest(node, name, values) for name in names)
        turned_values = [
            self.turned(v, names) if len(v.dims) == 2 and v.vars != names else v for v in values
        ]
        return dims, turned_values, not fixed and len(dims) == 2

    def _finest(self, node: ast.AST, name: str, values: list[ir.Value]) -> ir.Dim:
        steps = sorted({d.per for v in values for d in v.dims if d.var == name})
        if any(per % steps[0] for per in steps):
            self.wrong_shape(
                node,
                f"blocks of {steps[0]} and {steps[-1]} along '{name}' do not go together",
                why="one must divide the other",
                fix="scales with blocks that divide one another",
            )
        return ir.Dim(name, steps[0])

    def turned(self, value: ir.Value, names: tuple[str, ...]) -> ir.Value:
        """A value of free order, made again with its axes in the order ``names``."""
        if len(value.dims) < 2 or value.vars == names:
            return value
        op = self.build.made[value.name]
        dims = tuple(reversed(value.dims))
        line = value.line or self.line(self.source.tree)
        match op:
            case ir.Pointwise():
                args = [self.turned(self._value(a), names) for a in op.args]
                result = self.build.new(
                    ir.Pointwise,
                    dims,
                    value.dtype,
                    line,
                    fn=op.fn,
                    args=tuple(a.name for a in args),
                    code=op.code,
                )
            case ir.Broadcast():
                result = self.build.new(ir.Broadcast, dims, value.dtype, line, arg=op.arg)
            case _:  # pragma: no cover (only these two make values of free order)
                raise AssertionError(op)
        self.build.free.add(result.name)
        if value.name in self.build.unsigned:
            self.build.unsigned.add(result.name)
        return result

    def _value(self, name: str) -> ir.Value:
        op = self.build.made[name]
        result: ir.Value = op.result  # type: ignore[union-attr]
        return result


@dataclass(frozen=True, eq=False, slots=True)
class LocalFunction:
    """A lambda or a function that stands in the text of another: read where it is called."""

    name: str
    tree: ast.Lambda | ast.FunctionDef
    signature: inspect.Signature
    frame: Frame  # where it stands; names have the values of the time of a call, as in Python


def shape(value: ir.Value) -> str:
    """``(m, k/128)``."""
    return "(" + ", ".join(d.var if d.per == 1 else f"{d.var}/{d.per}" for d in value.dims) + ")"


def nearest(name: str, known: list[str]) -> str:
    """A suggestion, where some known name is near."""
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean '{found[0]}'?" if found else ""
