"""Calls in a kernel: the words of the language, methods of tiles, Python functions."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from types import MethodType
from typing import Any

from warploom.errors import KernelError, KernelNameError, KernelSyntaxError, KernelTypeError
from warploom.kernel.captured import Lifted
from warploom.kernel.read.arith import cast, known, pointwise, reduce, spread, value_of
from warploom.kernel.read.grid import tile
from warploom.kernel.read.memory import whole_axis
from warploom.kernel.read.slope import slope
from warploom.kernel.read.state import Frame, SizeOf, Symbol, is_static, nearest, shape
from warploom.kernel.values import Dim, DType, Fn, Indices, Value, Var, Whole, is_number
from warploom.kernel.words import WORDS, Word

Handler = Callable[..., Symbol]

UNARY = {
    name: Fn(name)
    for name in (
        "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos", "floor", "abs",
    )
}  # fmt: skip
BUILTINS: dict[object, str] = {
    builtins.abs: "abs",
    builtins.max: "maximum",
    builtins.min: "minimum",
}
METHODS = ("to", "sum", "max", "min")
FILLED = {"new_ones": 1, "new_zeros": 0}  # what functions that join masks begin with
LIBRARIES = ("torch", "numpy", "math")
ALIKE = {
    "absolute": "abs", "fabs": "abs", "logical_and": "&", "logical_or": "|", "logical_not": "~",
    "bitwise_and": "&", "bitwise_or": "|", "max": "maximum", "min": "minimum",
}  # fmt: skip
NOT_ALIKE = ("tile", "steps", "zeros", "full", "index", "is_whole")
LOGIC = {"&": Fn.AND, "|": Fn.OR, "~": Fn.NOT}


def call(
    frame: Frame, node: ast.Call, function: Symbol, args: list[Symbol], kwargs: dict[str, Symbol]
) -> Symbol:
    """What a call gives."""
    function = function.function if isinstance(function, Lifted) else function
    static = is_static(args) and is_static(list(kwargs.values()))
    if _hashable(function) and function in BUILTINS:
        if static:
            return _python(frame, node, function, args, kwargs)
        function = WORDS[BUILTINS[function]]
    if isinstance(function, Word):
        return _word(frame, node, function, args, kwargs)
    if isinstance(function, _Method):
        return function.call(frame, node, args, kwargs)
    if not callable(function):
        what = f"a {type(function).__name__}"
        if isinstance(function, Value):
            what = f"a tile of shape {shape(function)}"
        frame.fail(
            KernelTypeError,
            node,
            f"{what} is called",
            why="only functions can be called",
            fix="index tensors with [ ]; a choice that is None needs 'if ... is not None:'",
        )
    if static:
        return _python(frame, node, function, args, kwargs)
    return _alike_or_inlined(frame, node, function, args, kwargs)


def _alike_or_inlined(
    frame: Frame, node: ast.Call, function: Symbol, args: list[Symbol], kwargs: dict[str, Symbol]
) -> Symbol:
    """A function of a library that some word stands for, or one that is read in place."""
    alike = _alike(function)
    if alike in LOGIC:
        return pointwise(frame, node, LOGIC[alike], *args)
    if alike is not None:
        return _word(frame, node, WORDS[alike], args, kwargs)
    if isinstance(function, MethodType):
        function, args = function.__func__, [function.__self__, *args]
    if not hasattr(function, "__code__"):
        name = getattr(function, "__name__", str(function))
        near = WORDS.get(name)
        frame.fail(
            KernelTypeError,
            node,
            f"'{name}' cannot be applied to values of a kernel",
            why="it has no Python text that could be read into the kernel",
            fix=f"use wl.{name}" if near else "use the words of the language",
        )
    assert frame.build.inline is not None
    return frame.build.inline(frame, node, function, args, kwargs)


def _alike(function: object) -> str | None:
    """The word that a function of a library of arrays stands for, e.g. ``torch.tanh``."""
    home = getattr(function, "__module__", None) or getattr(
        getattr(function, "__self__", None), "__module__", None
    )
    if (isinstance(home, str) and home.partition(".")[0] in LIBRARIES) or type(
        function
    ).__module__.partition(".")[0] == "numpy":
        name = str(getattr(function, "__name__", ""))
    else:
        return None
    name = ALIKE.get(name, name)
    return name if name in LOGIC or (name in WORDS and name not in NOT_ALIKE) else None


def _hashable(symbol: object) -> bool:
    try:
        hash(symbol)
    except TypeError:
        return False
    return True


def _python(
    frame: Frame,
    node: ast.Call,
    function: Callable[..., Any],
    args: list[Symbol],
    kwargs: dict[str, Symbol],
) -> Symbol:
    try:
        return function(*args, **kwargs)
    except Exception as problem:
        name = getattr(function, "__name__", str(function))
        frame.fail(
            KernelError,
            node,
            f"calling '{name}' failed: {problem}",
            why="calls with known arguments are made while the kernel is read",
            fix="correct the call",
        )


def _word(
    frame: Frame, node: ast.Call, word: Word, args: list[Symbol], kwargs: dict[str, Symbol]
) -> Symbol:
    if word.name in UNARY:
        _arity(frame, node, word, args, kwargs, 1, 1)
        return _unary(frame, node, UNARY[word.name], args[0])
    return HANDLERS[word.name](frame, node, word, args, kwargs)


def _arity(
    frame: Frame,
    node: ast.Call,
    word: Word,
    args: list[Symbol],
    kwargs: dict[str, Symbol],
    least: int,
    most: int,
    named: tuple[str, ...] = (),
) -> None:
    strange = [k for k in kwargs if k not in named]
    if strange or not least <= len(args) <= most:
        what = (
            f"wl.{word.name} has no argument '{strange[0]}'"
            if strange
            else (
                f"wl.{word.name} takes {least if least == most else f'{least} or more'} "
                f"arguments, {len(args)} are given"
            )
        )
        frame.fail(KernelTypeError, node, what, why="", fix=word.usage)


def _unary(frame: Frame, node: ast.Call, fn: Fn, x: Symbol) -> Symbol:
    x = known(frame, x)
    if is_static(x) and isinstance(x, int | float):
        return _PYTHON[fn](x)
    return pointwise(frame, node, fn, x)


_PYTHON: dict[Fn, Callable[[float], float]] = {
    Fn.EXP: math.exp,
    Fn.EXP2: lambda x: 2.0**x,
    Fn.LOG: math.log,
    Fn.LOG2: math.log2,
    Fn.SQRT: math.sqrt,
    Fn.RSQRT: lambda x: 1.0 / math.sqrt(x),
    Fn.TANH: math.tanh,
    Fn.ERF: math.erf,
    Fn.SIN: math.sin,
    Fn.COS: math.cos,
    Fn.FLOOR: lambda x: float(math.floor(x)),
    Fn.ABS: abs,
}


def _fold(fn: Fn) -> Handler:
    def handler(
        frame: Frame, node: ast.Call, word: Word, args: list[Symbol], kwargs: dict[str, Symbol]
    ) -> Symbol:
        _arity(frame, node, word, args, kwargs, 2, 99)
        args = [known(frame, a) for a in args]
        if is_static(args):
            return (max if fn is Fn.MAX else min)(args)
        result = args[0]
        for other in args[1:]:
            result = pointwise(frame, node, fn, result, other)
        return result

    return handler


def _where(
    frame: Frame, node: ast.Call, word: Word, args: list[Symbol], kwargs: dict[str, Symbol]
) -> Symbol:
    _arity(frame, node, word, args, kwargs, 3, 3)
    if isinstance(args[0], bool):
        return args[1] if args[0] else args[2]
    return pointwise(frame, node, Fn.WHERE, *args)


def _sigmoid(frame: Frame, node: ast.Call, x: Symbol) -> Value:
    grown = pointwise(frame, node, Fn.EXP, pointwise(frame, node, Fn.NEG, x))
    return pointwise(frame, node, Fn.DIV, 1.0, pointwise(frame, node, Fn.ADD, 1.0, grown))


def _activation(
    frame: Frame, node: ast.Call, word: Word, args: list[Symbol], kwargs: dict[str, Symbol]
) -> Symbol:
    _arity(frame, node, word, args, kwargs, 1, 1, ("approximate",) if word.name == "gelu" else ())
    x = value_of(frame, node, args[0], DType.F32)

    def op(fn: Fn, *operands: Symbol) -> Value:
        return pointwise(frame, node, fn, *operands)

    match word.name:
        case "relu":
            return op(Fn.MAX, x, 0.0)
        case "sigmoid":
            return _sigmoid(frame, node, x)
        case "silu":
            return op(Fn.MUL, x, _sigmoid(frame, node, x))
    if kwargs.get("approximate", "none") not in ("none", "tanh"):
        frame.fail(KernelTypeError, node, 'gelu is approximate="none" or "tanh"', fix=word.usage)
    if kwargs.get("approximate") == "tanh":
        cube = op(Fn.MUL, op(Fn.MUL, op(Fn.MUL, x, x), x), 0.044715)
        inner = op(Fn.TANH, op(Fn.MUL, op(Fn.ADD, x, cube), math.sqrt(2 / math.pi)))
    else:
        inner = op(Fn.ERF, op(Fn.MUL, x, math.sqrt(0.5)))
    return op(Fn.MUL, op(Fn.MUL, x, 0.5), op(Fn.ADD, inner, 1.0))


def _axes(frame: Frame, node: ast.Call, args: list[Symbol]) -> tuple[Var, ...]:
    """The variables of a shape: variables, or sizes of whole axes."""
    found = []
    for given in args:
        arg = given
        if isinstance(arg, SizeOf):
            arg = whole_axis(frame, node, arg.axis, f"a tile over all of axis '{arg.axis}'")
        if not isinstance(arg, Var) or is_number(arg):
            what = f"variable '{arg.name}'" if isinstance(arg, Var) else f"{arg!r}"
            if isinstance(arg, Value):
                what = "a value"
            frame.fail(
                KernelTypeError,
                node,
                f"{what} is no axis of a tile",
                why="a tile's axes are variables of wl.tile and wl.steps, or whole axes (q.d)"
                if not isinstance(arg, Var)
                else "it walks its axis one element at a time",
                fix="wl.zeros(m, n), wl.zeros(s, q.d)",
            )
        found.append(arg)
    return tuple(found)


def _filled(
    frame: Frame, node: ast.Call, word: Word, args: list[Symbol], kwargs: dict[str, Symbol]
) -> Value:
    least = 0 if word.name == "zeros" else 1
    _arity(frame, node, word, args, kwargs, least, 3, ("dtype",))
    dtype = kwargs.get("dtype", DType.F32)
    if not isinstance(dtype, DType):
        frame.fail(KernelTypeError, node, f"{dtype!r} is no element type", fix="dtype=wl.f32")
    args, number = (args, 0.0) if word.name == "zeros" else (args[:-1], args[-1])
    value = value_of(frame, node, number, dtype)
    return spread(frame, node, value, _axes(frame, node, args))


def _index(
    frame: Frame, node: ast.Call, word: Word, args: list[Symbol], kwargs: dict[str, Symbol]
) -> Value:
    _arity(frame, node, word, args, kwargs, 1, 1)
    var = args[0]
    if isinstance(var, SizeOf):
        (var,) = _axes(frame, node, [var])
    if not isinstance(var, Var):
        frame.fail(
            KernelTypeError,
            node,
            "wl.index takes a variable",
            why="it gives the element indices a variable covers",
            fix="wl.index(m) with m from wl.tile or wl.steps",
        )
    if is_number(var):
        return value_of(frame, node, var)
    dims, line = (Dim(var.name),), frame.line(node)
    return frame.build.once(Indices, var.name, dims, DType.I32, line, var=var.name)


def _is_whole(
    frame: Frame, node: ast.Call, word: Word, args: list[Symbol], kwargs: dict[str, Symbol]
) -> Symbol:
    _arity(frame, node, word, args, kwargs, 1, 1)
    if not isinstance(args[0], Var) or args[0] is not frame.build.loop:
        frame.fail(
            KernelTypeError,
            node,
            "wl.is_whole takes the variable of the loop it stands in",
            why="it tells which list the step at hand is from",
            fix=word.usage,
        )
    if not frame.build.has_whole:
        return False
    return frame.build.new(Whole, (), DType.BOOL, frame.line(node), var=args[0].name)


def _steps(
    frame: Frame, node: ast.Call, word: Word, args: list[Symbol], kwargs: dict[str, Symbol]
) -> Symbol:
    frame.fail(
        KernelSyntaxError,
        node,
        "wl.steps stands outside a for",
        why="it is the range of the pipelined loop",
        fix=word.usage,
    )


def _tile(
    frame: Frame, node: ast.Call, word: Word, args: list[Symbol], kwargs: dict[str, Symbol]
) -> Symbol:
    named = bool(args) and all(isinstance(a, str) for a in args)
    most = len(args) if named else 1
    _arity(frame, node, word, args, kwargs, 1, most, ("whole", "groups", "rows", "order"))
    return tile(frame, node, args if named else args[0], kwargs)


def _slope(
    frame: Frame, node: ast.Call, word: Word, args: list[Symbol], kwargs: dict[str, Symbol]
) -> Symbol:
    _arity(frame, node, word, args, kwargs, 2, 2)
    y, x = args
    if not isinstance(x, Value) or not x.dtype.is_float:
        frame.fail(
            KernelTypeError, node, "wl.slope by something that is no floating tile", fix=word.usage
        )
    return slope(frame, node, y, x) if isinstance(y, Value) else 0.0


HANDLERS: dict[str, Handler] = {
    "tile": _tile,
    "steps": _steps,
    "zeros": _filled,
    "full": _filled,
    "index": _index,
    "is_whole": _is_whole,
    "where": _where,
    "maximum": _fold(Fn.MAX),
    "minimum": _fold(Fn.MIN),
    "sigmoid": _activation,
    "silu": _activation,
    "gelu": _activation,
    "relu": _activation,
    "slope": _slope,
}


class _Method:
    """``x.sum`` of a tile, until it is called."""

    def __init__(self, value: Value, name: str) -> None:
        self.value = value
        self.name = name

    def call(
        self, frame: Frame, node: ast.Call, args: list[Symbol], kwargs: dict[str, Symbol]
    ) -> Value:
        if self.name in FILLED:
            return _new(frame, node, self.value, FILLED[self.name], kwargs.get("dtype"))
        if self.name == "to":
            dtype = args[0] if len(args) == 1 else kwargs.get("dtype")
            if not isinstance(dtype, DType):
                frame.fail(
                    KernelTypeError,
                    node,
                    ".to takes an element type",
                    fix=".to(wl.bf16), or .to(v.dtype)",
                )
            if DType.BOOL in (self.value.dtype, dtype):
                frame.fail(
                    KernelTypeError,
                    node,
                    "conditions are not converted",
                    why="they are not 0 and 1",
                    fix="wl.where(condition, a, b), or a comparison",
                )
            return cast(frame, node, self.value, dtype)
        if len(args) > 1 or set(kwargs) - {"axis"}:
            frame.fail(
                KernelTypeError, node, f".{self.name} takes an axis", fix=f"x.{self.name}(axis=1)"
            )
        axis = args[0] if args else kwargs.get("axis")
        fn = {"sum": Fn.ADD, "max": Fn.MAX, "min": Fn.MIN}[self.name]
        return reduce(frame, node, fn, self.value, axis)


def _new(frame: Frame, node: ast.Call, like: Value, number: int, dtype: Symbol) -> Value:
    """``b.new_ones((), dtype=torch.bool)``: a number of the type of ``like``, or a condition."""
    kind = DType.BOOL if "bool" in str(dtype) else like.dtype
    return value_of(frame, node, bool(number) if kind is DType.BOOL else number, kind)


def method(frame: Frame, node: ast.Attribute, value: Value) -> Symbol:
    """A method of a tile, to be called."""
    if node.attr not in METHODS and node.attr not in FILLED:
        known_words = [*METHODS, "T", "dtype"]
        near = nearest(node.attr, known_words)
        frame.fail(
            KernelNameError,
            node,
            f"a tile has no '{node.attr}'",
            why=f"it has {', '.join(known_words)}",
            fix=near
            or (f"wl.{node.attr}(x)" if node.attr in WORDS else "see the words of the language"),
        )
    return _Method(value, node.attr)
