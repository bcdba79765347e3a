"""Operators and pointwise functions: types, promotion, shapes."""

import ast
import math
from collections.abc import Callable, Sequence
from numbers import Number

from warploom.frontend.parser import unsigned
from warploom.frontend.parser.state import (
    Frame,
    LocalFunction,
    ScalarOf,
    SizeOf,
    Symbol,
    is_static,
    shape,
)
from warploom.ir import tile as ir
from warploom.ir.elementwise import Domain, functions
from warploom.ir.tile import DType, Fn, Walk, is_number

LOGIC = functions(lambda row: row.domain is Domain.BOOL)
COMPARISONS = functions(lambda row: row.condition) - LOGIC
FLOAT_ONLY = functions(lambda row: row.domain is Domain.FLOAT)
INT_ONLY = functions(lambda row: row.domain is Domain.INT)
MULTIPLIED = {DType.F32, DType.BF16, DType.F16, DType.E4M3, DType.E5M2, DType.I8}  # by tensor cores


def known(frame: Frame, symbol: Symbol) -> Symbol:
    """Sizes of known axes are numbers."""
    if isinstance(symbol, SizeOf) and symbol.axis in frame.build.sizes:
        tensor = frame.build.tensors[symbol.tensor]
        return -(-frame.build.sizes[symbol.axis] // tensor.axis(symbol.axis).per)
    return symbol


def value_of(frame: Frame, node: ast.AST, symbol: Symbol, want: DType | None = None) -> ir.Value:
    """The value a symbol stands for, converted to ``want`` where given."""
    symbol = known(frame, symbol)
    line = frame.line(node)
    build = frame.build
    if isinstance(symbol, ir.Value):
        return cast(frame, node, symbol, want) if want else symbol
    if isinstance(symbol, SizeOf):
        made = build.once(
            ir.Size, symbol, (), DType.I32, line, tensor=symbol.tensor, axis=symbol.axis
        )
        return cast(frame, node, made, want) if want else made
    if isinstance(symbol, ScalarOf):
        made = build.once(ir.Scalar, symbol.name, (), symbol.dtype, line, parameter=symbol.name)
        return cast(frame, node, made, want) if want else made
    if isinstance(symbol, ir.Var):
        if not is_number(symbol):
            frame.wrong_type(
                node,
                f"'{symbol.name}' is a variable of a whole tile, not a number",
                why="it covers many elements of its axis at once",
                fix=f"wl.index({symbol.name}) gives the element indices it covers"
                + (
                    f"; wl.tile(..., unit='{symbol.axis}') walks the axis one element at a time"
                    if symbol.walk is Walk.TILE
                    else ""
                ),
            )
        made = build.once(ir.Position, symbol.name, (), DType.I32, line, var=symbol.name)
        return cast(frame, node, made, want) if want else made
    if isinstance(symbol, ir.Tensor):
        names = ", ".join(a.name for a in symbol.axes)
        frame.wrong_type(
            node,
            f"'{symbol.name}' is a tensor in memory, not a tile",
            why="only tiles can be computed with",
            fix=f"load a tile of it: {symbol.name}[{names}]",
        )
    if isinstance(symbol, bool):
        return build.const(symbol, want or DType.BOOL, line)
    if isinstance(symbol, Number) and not isinstance(symbol, complex):
        number = symbol.item() if hasattr(symbol, "item") else symbol
        is_int = isinstance(number, int)
        return build.const(number, want or (DType.I32 if is_int else DType.F32), line)  # type: ignore[arg-type]
    is_function = callable(symbol) or isinstance(symbol, LocalFunction)
    frame.wrong_type(
        node,
        f"a {'function' if is_function else type(symbol).__name__} cannot be computed with",
        why="values of a kernel are tiles, vectors and numbers",
        fix="use a number, a tile, or wl.index of a variable",
    )


def cast(frame: Frame, node: ast.AST, value: ir.Value, dtype: DType) -> ir.Value:
    """The value converted; numbers of the source are converted at once."""
    if frame.build.kind(value) is dtype:
        return value
    if dtype.is_unsigned or value.name in frame.build.unsigned:
        return _cast_unsigned(frame, node, value, dtype)
    op = frame.build.made.get(value.name)
    if isinstance(op, ir.Const) and not (math.isinf(op.value) and not dtype.is_float):
        return frame.build.const(op.value, dtype, frame.line(node))
    result = frame.build.new(
        ir.Pointwise, value.dims, dtype, frame.line(node), fn=Fn.CAST, args=(value.name,)
    )
    if value.name in frame.build.free:
        frame.build.free.add(result.name)
    return result


def _signed(frame: Frame, node: ast.AST) -> Callable[..., ir.Value]:
    """What makes operations on the bits of numbers, as signed ones."""

    def op(fn: Fn, *symbols: Symbol) -> ir.Value:
        return _made(frame, node, fn, symbols, signed=True)

    return op


def _cast_unsigned(  # noqa: PLR0911 (one line a pair of types)
    frame: Frame, node: ast.AST, value: ir.Value, dtype: DType
) -> ir.Value:
    """A conversion from or to an unsigned type. Values of u8 are i32 from 0 to 255."""
    build, op, source = frame.build, _signed(frame, node), frame.build.kind(value)
    made = build.made.get(value.name)
    if isinstance(made, ir.Const) and dtype is DType.U32 and not source.is_float:
        return build.const(made.value, dtype, frame.line(node))

    def whole(x: ir.Value) -> ir.Value:
        return cast(frame, node, x, DType.I32)

    def number(x: ir.Value) -> ir.Value:
        return cast(frame, node, x, DType.F32)

    if dtype is DType.U32:
        wide = unsigned.from_float(op, number(value), whole) if source.is_float else whole(value)
        return build.without_sign(op(Fn.ADD, wide, 0))
    if dtype is DType.U8 and source.is_float:
        return whole(op(Fn.MIN, op(Fn.MAX, value, 0.0), 255.0))
    if dtype is DType.U8 and source is not DType.U32:
        return op(Fn.MIN, op(Fn.MAX, whole(value), 0), 255)
    if dtype in (DType.U8, DType.I8):
        held = unsigned.apply(op, Fn.MIN, [value, 255 if dtype is DType.U8 else 127])
        return held if dtype is DType.U8 else cast(frame, node, held, dtype)
    if dtype.is_float:
        return cast(frame, node, unsigned.to_float(op, value, _plain(frame, node)), dtype)
    return cast(frame, node, op(Fn.ADD, value, 0), dtype)


def _plain(frame: Frame, node: ast.AST) -> Callable[[ir.Value], ir.Value]:
    return lambda x: cast(frame, node, x, DType.F32)


def pointwise(frame: Frame, node: ast.AST, fn: Fn, *symbols: Symbol) -> ir.Value:
    """A function element by element, its operands promoted."""
    if frame.foreign and fn not in LOGIC | COMPARISONS | {Fn.WHERE}:
        symbols = tuple(number_of(frame, node, s) for s in symbols)
    return _made(frame, node, fn, symbols)


def _without_sign(frame: Frame, node: ast.AST, fn: Fn, symbols: Sequence[Symbol]) -> ir.Value:
    """A function of unsigned numbers, and whole ones beside them, which count by their bits."""
    args: list[Symbol] = []
    chosen = fn is Fn.WHERE
    for symbol in symbols[chosen:]:
        given = known(frame, symbol)
        if isinstance(given, int) and not isinstance(given, bool):
            if not -unsigned.HALF <= given < unsigned.WORD:
                frame.wrong_type(
                    node,
                    f"{given} beside a u32",
                    why="it has no 32 bits",
                    fix="a number from -2**31 to 2**32 - 1",
                )
            args.append(unsigned.bits(given))
        else:
            args.append(value_of(frame, node, given))
    made = unsigned.apply(_signed(frame, node), fn, [*symbols[:chosen], *args])
    return made if fn in COMPARISONS else frame.build.without_sign(made)


def _made(
    frame: Frame, node: ast.AST, fn: Fn, symbols: Sequence[Symbol], *, signed: bool = False
) -> ir.Value:
    """The operation; ``signed``: numbers without sign count by their bits."""
    wants = _operand_types(frame, node, fn, [known(frame, s) for s in symbols])
    if DType.U32 in wants:
        if not signed:
            return _without_sign(frame, node, fn, symbols)
        symbols = [value_of(frame, node, s) for s in symbols]
        wants = [w.stored if w is DType.U32 else w for w in wants]
        values = [
            s if s.name in frame.build.unsigned else value_of(frame, node, s, w)
            for s, w in zip(symbols, wants, strict=True)
        ]
        return emitted(frame, node, fn, values, wants)
    values = [value_of(frame, node, s, w) for s, w in zip(symbols, wants, strict=True)]
    return emitted(frame, node, fn, values, wants)


def emitted(
    frame: Frame,
    node: ast.AST,
    fn: Fn,
    values: list[ir.Value],
    wants: list[DType],
    code: ir.Inline | None = None,
) -> ir.Value:
    """The operation on values that have the types it takes; the last type is the result's."""
    dims, values, free = frame.broadcast(node, values)
    dtype = DType.BOOL if fn in COMPARISONS | LOGIC else wants[-1]
    result = frame.build.new(
        ir.Pointwise,
        dims,
        dtype,
        frame.line(node),
        fn=fn,
        args=tuple(v.name for v in values),
        code=code,
    )
    if free:
        frame.build.free.add(result.name)
    return result


def number_of(frame: Frame, node: ast.AST, symbol: Symbol) -> Symbol:
    """A condition as 0 or 1, as it is in arrays; everything else as it is."""
    if _dtype_of(frame, node, known(frame, symbol)) is not DType.BOOL:
        return symbol
    return int(symbol) if is_static(symbol) else pointwise(frame, node, Fn.WHERE, symbol, 1, 0)


def _operand_types(frame: Frame, node: ast.AST, fn: Fn, symbols: list[Symbol]) -> list[DType]:
    kinds = [_dtype_of(frame, node, s) for s in symbols]
    if fn in LOGIC or fn is Fn.WHERE:
        for kind in kinds[:1] if fn is Fn.WHERE else kinds:
            if kind is not DType.BOOL:
                frame.wrong_type(
                    node,
                    f"a condition is needed here, but this is {kind}",
                    why="and, or, not, &, |, ~ and wl.where take conditions",
                    fix="compare it with something, e.g. x > 0",
                )
        return kinds if fn in LOGIC else [DType.BOOL, *_common(frame, node, fn, kinds[1:])]
    return _common(frame, node, fn, kinds)


def _common(frame: Frame, node: ast.AST, fn: Fn, kinds: list[DType]) -> list[DType]:
    all_bool = all(k is DType.BOOL for k in kinds)
    if all_bool and fn in {Fn.EQ, Fn.NE, Fn.WHERE}:
        return kinds
    if DType.BOOL in kinds:
        frame.wrong_type(
            node,
            f"a condition is no number: '{fn}' cannot use it",
            why="conditions are not 0 and 1",
            fix="wl.where(condition, a, b)",
        )
    floats = any(k.is_float for k in kinds)
    if fn in INT_ONLY and floats:
        frame.wrong_type(
            node,
            "//, %, >>, << and bits need whole numbers",
            why="they are index arithmetic; a float has no exact quotient",
            fix="wl.floor(a / b), or convert with .to(wl.i32)",
        )
    whole = DType.U32 if DType.U32 in kinds else DType.I32
    return [DType.F32 if floats or fn in FLOAT_ONLY else whole] * len(kinds)


def _dtype_of(frame: Frame, node: ast.AST, symbol: Symbol) -> DType:
    if isinstance(symbol, bool):
        return DType.BOOL
    if isinstance(symbol, Number) and is_static(symbol):
        number = symbol.item() if hasattr(symbol, "item") else symbol
        return DType.I32 if isinstance(number, int) else DType.F32
    return frame.build.kind(value_of(frame, node, symbol))


def product(frame: Frame, node: ast.AST, left: Symbol, right: Symbol) -> ir.Value:
    """``a @ b``."""
    for side in (left, right):
        if not isinstance(side, ir.Value):
            if isinstance(side, ir.Tensor):
                value_of(frame, node, side)
            frame.wrong_type(
                node,
                "@ is the product of two tiles",
                why=f"one side is a {_kind(side)}",
                fix="load tiles first, or use * for numbers",
            )
        if len(side.dims) != 2:
            frame.wrong_shape(
                node,
                f"@ needs two axes on both sides, one side has shape {shape(side)}",
                why="it contracts the columns of the left tile with the rows of the right one",
                fix="with a vector: (a * v).sum(axis=1)",
            )
    # What was spread out of vectors has no order of its own: it takes the one that fits.
    if right.name in frame.build.free and left.dims[1] == right.dims[1]:
        right = frame.turned(right, tuple(reversed(right.vars)))
    elif left.name in frame.build.free and left.dims[0] == right.dims[0]:
        left = frame.turned(left, tuple(reversed(left.vars)))
    (rows, inner), (other, columns) = left.dims, right.dims
    if inner != other or rows.var == columns.var:
        turned = right.dims[1] == left.dims[1]
        frame.wrong_shape(
            node,
            f"@ of shapes {shape(left)} and {shape(right)}",
            why="the columns of the left tile must be the rows of the right one, "
            "and the outer axes must differ",
            fix="transpose the right side with .T" if turned else "check the order of the indices",
        )
    fp8 = {DType.E4M3, DType.E5M2}
    if left.dtype is not right.dtype and not {left.dtype, right.dtype} <= fp8:
        sides = ((left.dtype, "right"), (right.dtype, "left"))
        ways = [f".to(wl.{d}) on the {s} side" for d, s in sides if d in MULTIPLIED]
        frame.wrong_type(
            node,
            f"@ of {left.dtype} and {right.dtype}",
            why="both sides of a product have the same element type",
            fix=", or ".join(ways) or ".to(wl.bf16) on both sides",
        )
    if not left.dtype.is_float and left.dtype is not DType.I8:
        frame.wrong_type(
            node,
            f"@ of {left.dtype} tiles",
            why="products multiply floats, accumulated in f32, and i8, accumulated in i32",
            fix="convert both sides first: .to(wl.bf16), which holds every number up to 256, or "
            ".to(wl.i8)",
        )
    total = DType.F32 if left.dtype.is_float else DType.I32
    return frame.build.new(
        ir.Dot, (rows, columns), total, frame.line(node), a=left.name, b=right.name
    )


def _kind(symbol: Symbol) -> str:
    return "variable" if isinstance(symbol, ir.Var) else "number"


def transpose(frame: Frame, node: ast.AST, value: Symbol) -> ir.Value:
    """``x.T``."""
    if not isinstance(value, ir.Value) or len(value.dims) != 2:
        had = shape(value) if isinstance(value, ir.Value) else f"a {_kind(value)}"
        frame.wrong_shape(
            node,
            f".T of {had}",
            why="only tiles of two axes can be transposed; vectors broadcast by their axis's name",
            fix="leave the .T out",
        )
    dims = (value.dims[1], value.dims[0])
    made = frame.build.new(ir.Transpose, dims, value.dtype, frame.line(node), arg=value.name)
    return frame.build.without_sign(made) if value.name in frame.build.unsigned else made


def reduce(frame: Frame, node: ast.AST, fn: Fn, value: ir.Value, axis: Symbol) -> ir.Value:
    """``x.sum(axis=1)``: along an axis by number, or by its variable."""
    if axis is None and len(value.dims) == 1:
        over = value.vars[0]
    elif isinstance(axis, ir.Var) and axis.name in value.vars:
        over = axis.name
    elif (
        isinstance(axis, int)
        and not isinstance(axis, bool)
        and -len(value.dims) <= axis < len(value.dims)
    ):
        over = value.vars[axis]
    else:
        asked = axis.name if isinstance(axis, ir.Var) else axis
        frame.wrong_shape(
            node,
            f"no axis {asked!r} in a value of shape {shape(value)}",
            why="a reduction goes along one axis that the value has",
            fix="axis=0 or axis=1, or the variable: axis=" + (value.vars[-1:] or ("n",))[0],
        )
    if value.dtype is DType.BOOL:
        frame.wrong_type(
            node,
            "a condition has no sum or maximum",
            why="conditions are not 0 and 1",
            fix="wl.where(condition, 1.0, 0.0)",
        )
    return joined(frame, node, fn, value, ir.Reduce, over=over)


def joined(
    frame: Frame,
    node: ast.AST,
    fn: Fn,
    value: ir.Value,
    kind: type[ir.Reduce | ir.Scan],
    *,
    over: str,
    **more: object,
) -> ir.Value:
    """A reduction, or a scan; extremes of numbers without sign are those of their turned bits."""
    build, flips = frame.build, value.name in frame.build.unsigned and fn is not Fn.ADD
    whole = value.name in build.unsigned
    arg = unsigned.flipped(_signed(frame, node), value) if flips else value
    if not whole:
        arg = cast(frame, node, value, DType.F32 if value.dtype.is_float else DType.I32)
    dims = tuple(d for d in arg.dims if kind is ir.Scan or d.var != over)
    made = build.new(
        kind, dims, arg.dtype, frame.line(node), fn=fn, arg=arg.name, over=over, **more
    )
    made = unsigned.flipped(_signed(frame, node), made) if flips else made
    return build.without_sign(made) if whole else made


def spread(frame: Frame, node: ast.AST, value: ir.Value, names: tuple[ir.Var, ...]) -> ir.Value:
    """A value made to extend over variables (``zeros``, ``full``)."""
    dims = tuple(ir.Dim(v.name) for v in names)
    if len({d.var for d in dims}) < len(dims) or len(dims) > 2:
        frame.wrong_shape(
            node,
            f"no tile has the axes ({', '.join(v.name for v in names)})",
            why="a tile has at most two axes, all different",
            fix="one or two different variables",
        )
    if not dims:
        return value
    result = frame.build.new(ir.Broadcast, dims, value.dtype, frame.line(node), arg=value.name)
    if value.name in frame.build.unsigned:
        frame.build.unsigned.add(result.name)
    if len(dims) == 2:
        frame.build.free.add(result.name)
    return result
