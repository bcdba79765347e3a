"""Calls in a kernel: the builtins of the language, methods of tiles, Python functions."""

import ast
import builtins
import functools
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import MethodType
from typing import Any, NoReturn

from warploom.dataclass import dataclass
from warploom.errors import KernelError, KernelSyntaxError, KernelTypeError
from warploom.frontend.builtins import WORDS, Word
from warploom.frontend.closures import Lifted
from warploom.frontend.inline import InlineFunction
from warploom.frontend.parser.arith import (
    cast,
    emitted,
    joined,
    known,
    number_of,
    pointwise,
    product,
    reduce,
    spread,
    value_of,
)
from warploom.frontend.parser.autodiff import slope
from warploom.frontend.parser.builtin_calls import (
    INSTEAD,
    KINDS,
    LOGIC,
    MEANT,
    WRITTEN,
    alike,
    kind_of,
    meant,
    philox,
    uniform,
)
from warploom.frontend.parser.grid import tile
from warploom.frontend.parser.memory import whole_axis
from warploom.frontend.parser.state import (
    Frame,
    LocalFunction,
    SizeOf,
    Symbol,
    is_static,
    nearest,
    shape,
)
from warploom.frontend.printing import Printed, printed
from warploom.ir.elementwise import BUILTINS as ELEMENTWISE_BUILTINS, REDUCTIONS
from warploom.ir.tile import (
    Access,
    At,
    Axis,
    Dim,
    DType,
    Fn,
    Indices,
    Inline,
    Scan,
    Store,
    Tensor,
    Value,
    Var,
    Walk,
    Whole,
    is_number,
)


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it is read: where it stands, and what it is given."""

    frame: Frame
    node: ast.Call
    args: list[Symbol]
    kwargs: dict[str, Symbol]

    @property
    def is_static(self) -> bool:
        """Whether all it is given is known while reading."""
        return is_static(self.args) and is_static(list(self.kwargs.values()))

    def fail(
        self, what: str, why: str = "", fix: str = "", kind: type[KernelError] = KernelTypeError
    ) -> NoReturn:
        """Raise an error at the call."""
        self.frame.fail(kind, self.node, what, why=why, fix=fix)

    def arity(self, word: Word, least: int, most: int, named: tuple[str, ...] = ()) -> None:
        """Refuse too few, too many and strange arguments."""
        strange, given = [k for k in self.kwargs if k not in named], len(self.args)
        why = "a builtin takes the arguments that it is documented with"
        if strange:
            self.fail(f"wl.{word.name} has no argument '{strange[0]}'", why, word.usage)
        if not least <= given <= most:
            count = f"{least}" if least == most else f"{least} to {most}"
            plural = "s" * ((least, most) != (1, 1))
            what = f"wl.{word.name} takes {count} argument{plural}, {given} given"
            self.fail(what, why, word.usage)

    def op(self, fn: Fn, *operands: Symbol) -> Value:
        """A function of values, at the call's line."""
        return pointwise(self.frame, self.node, fn, *operands)

    def value(self, number: Symbol, dtype: DType | None = None) -> Value:
        """A number or value as a value."""
        return value_of(self.frame, self.node, number, dtype)


Handler = Callable[[Call, Word], Symbol]

BUILTINS: dict[object, str] = {
    builtins.abs: "abs",
    builtins.max: "maximum",
    builtins.min: "minimum",
    builtins.round: "round",
    builtins.pow: "pow",
}
CONVERSIONS: dict[object, DType] = {builtins.float: DType.F32, builtins.int: DType.I32}
REDUCED = {row.name: fn for fn, row in REDUCTIONS.items()}
SCANS = {f"cum{name}": fn for name, fn in REDUCED.items()}
DERIVED = ("mean", "any", "all")  # reductions that are written in others
METHODS = ("to", "astype", *REDUCED, *DERIVED, "argmax", "argmin", *SCANS)
AXIS = ("axis", "dim", "keepdims", "keepdim")  # what reductions are given by name
FILLED = {"new_ones": 1, "new_zeros": 0}  # what functions that join masks begin with


def call(  # noqa: C901, PLR0911 (one line a kind of function)
    frame: Frame, node: ast.Call, function: Symbol, args: list[Symbol], kwargs: dict[str, Symbol]
) -> Symbol:
    """What a call gives."""
    if isinstance(function, Lifted):
        function, frame = function.function, replace(frame, foreign=True)
    made = Call(frame, node, args, kwargs)
    if isinstance(function, LocalFunction):
        return _inlined(made, function)
    if _hashable(function) and function in CONTAINERS:
        return _of_container(made, function)
    if _hashable(function) and function in BUILTINS:
        if made.is_static:
            return _python(made, function)
        function = WORDS[BUILTINS[function]]
    if _hashable(function) and function in CONVERSIONS and len(args) == 1 and not made.is_static:
        return cast(frame, node, made.value(args[0]), CONVERSIONS[function])
    if isinstance(function, Word):
        return _word(made, function)
    if isinstance(function, InlineFunction):
        return _inline(made, function.code)
    if isinstance(function, _Method):
        return function.call(made)
    if not callable(function):
        _not_callable(made, function)
    return _python(made, function) if made.is_static else _alike_or_inlined(made, function)


def _not_callable(call: Call, function: object) -> NoReturn:
    what = f"a {type(function).__name__}"
    fix = "index tensors with [ ]; a choice that is None needs 'if ... is not None:'"
    if isinstance(function, Value):
        what = f"a tile of shape {shape(function)}"
    if isinstance(function, DType):
        what, fix = f"the type wl.{function.value}", f"a value converts by .to(wl.{function.value})"
    call.fail(f"{what} is called", "only functions can be called", fix)


def _inline(call: Call, code: Inline) -> Value:
    """A function of elements that its author wrote for the targets."""
    if call.kwargs or len(call.args) != len(code.params):
        names = ", ".join(n for n, _ in code.params)
        what = f"'{code.name}' takes {len(code.params)} arguments, {len(call.args)} are given"
        call.fail(what, "its signature says so", f"{code.name}({names})")
    values = []
    for (name, kind), arg in zip(code.params, call.args, strict=True):
        value = call.value(arg, kind if isinstance(known(call.frame, arg), int | float) else None)
        own = call.frame.build.kind(value)
        if own is not kind and not (kind is DType.F32 and own.is_float):
            call.fail(
                f"'{name}' of '{code.name}' is {kind}, given is {own}",
                "code for a target takes registers of one type",
                f".to(wl.{kind})",
            )
        values.append(cast(call.frame, call.node, value, kind))
    return emitted(call.frame, call.node, Fn.INLINE, values, [code.result], code=code)


CONTAINERS = (enumerate, zip, reversed, len, tuple, list, sum)
"""What Python does with tuples of values while a kernel is read."""


def _of_container(call: Call, function: Callable[..., Any]) -> Symbol:
    for arg in call.args[:1] if function is not zip else call.args:
        if not isinstance(arg, tuple | list | range):
            name = function.__name__
            call.fail(
                f"{name} of something that is no tuple",
                "it goes through a tuple or range while the kernel is read",
                f"{name}((a, b, c))"
                + (", or x.sum(axis=1) along an axis of a tile" if function is sum else ""),
            )
    if function is sum and not call.is_static:
        parts = [*call.args[0], *call.args[1:]]
        return functools.reduce(partial(call.op, Fn.ADD), parts) if parts else 0
    made = _python(call, function)
    return made if function is len or function is sum else tuple(made)


def _alike_or_inlined(call: Call, function: Symbol) -> Symbol:
    """A function of a library that the language has builtins for, or one that is read in place."""
    name = alike(function)
    if name is not None:
        return _named(call, name)
    args, kwargs = call.args, call.kwargs
    if isinstance(function, MethodType):
        function = functools.partial(function.__func__, function.__self__)
    if isinstance(function, functools.partial):
        given = functools.partial(call.frame.given, call.node)
        args = [*map(given, function.args), *args]
        kwargs = {n: given(x) for n, x in function.keywords.items()} | kwargs
        function = function.func
    if not hasattr(function, "__code__"):
        name = getattr(function, "__name__", str(function))
        if function is range:
            what = "range of a number that is not known while the kernel is read"
            why = "a plain for is written out; of known numbers there are few"
            call.fail(what, why, "for i in wl.steps(x.n, 1), a loop on the GPU")
        call.fail(
            f"'{name}' cannot be applied to values of a kernel",
            "it has no Python text that could be read into the kernel",
            f"use wl.{name}" if name in WORDS else "use builtins of the language",
        )
    return _inlined(replace(call, args=args, kwargs=kwargs), function)


def _inlined(call: Call, function: Symbol) -> Symbol:
    inline = call.frame.build.inline
    assert inline is not None
    return inline(call.frame, call.node, function, call.args, call.kwargs)


def _named(call: Call, name: str) -> Symbol:
    """A function of a library, by the builtin or the source that it stands for."""
    if name in LOGIC:
        return call.op(LOGIC[name], *call.args)
    if name == "@" and len(call.args) == 2:
        return product(call.frame, call.node, *call.args)
    if name not in MEANT:
        return _word(call, WORDS[name])
    if "dim" in call.kwargs:
        given = {"axis" if k == "dim" else k: v for k, v in call.kwargs.items()}
        call = replace(call, kwargs=given)
    try:
        return _inlined(call, MEANT[name])
    except KernelError as error:  # at the author's line, not at that of the text
        call.fail(f"'{name}': {error.what}", error.why or "", error.fix or "", type(error))


def _hashable(symbol: object) -> bool:
    try:
        hash(symbol)
    except TypeError:
        return False
    return True


def _python(call: Call, function: Callable[..., Any], name: str = "") -> Symbol:
    try:
        return function(*call.args, **call.kwargs)
    except Exception as problem:
        name = name or getattr(function, "__name__", str(function))
        why = "calls with known arguments are made while the kernel is read"
        call.fail(f"calling '{name}' failed: {problem}", why, "correct the call", KernelError)


def _word(call: Call, word: Word) -> Symbol:
    row = ELEMENTWISE_BUILTINS.get(word.name)
    if row is None:
        return HANDLERS[word.name](call, word)
    call.arity(word, 1, 1)
    x = known(call.frame, call.args[0])
    if row.python is None or not (is_static(x) and isinstance(x, int | float)):
        return call.op(row.fn, x)
    return _python(replace(call, args=[x]), row.python, f"wl.{word.name}")


def _fold(fn: Fn) -> Handler:
    def handler(call: Call, word: Word) -> Symbol:
        if len(call.args) == 1:
            name = "max" if fn is Fn.MAX else "min"
            why = "it takes values that are compared element by element"
            fix = f"{word.usage}, or x.{name}(axis=1) along an axis"
            call.fail(f"wl.{word.name} of one value", why, fix)
        call.arity(word, 2, 99)
        args = [known(call.frame, a) for a in call.args]
        if is_static(args):
            return (max if fn is Fn.MAX else min)(args)
        return functools.reduce(lambda a, b: call.op(fn, a, b), args)

    return handler


def _where(call: Call, word: Word) -> Symbol:
    call.arity(word, 3, 3)
    if isinstance(call.args[0], bool):
        return call.args[1] if call.args[0] else call.args[2]
    return call.op(Fn.WHERE, *call.args)


def _activation(call: Call, word: Word) -> Symbol:
    call.arity(word, 1, 1, ("approximate",) if word.name == "gelu" else ())
    x, op = call.value(call.args[0], DType.F32), call.op
    if word.name == "relu":
        return op(Fn.WHERE, op(Fn.LT, x, 0.0), 0.0, x)  # a maximum would drop NaN
    if word.name in ("sigmoid", "silu"):
        gate = op(Fn.DIV, 1.0, op(Fn.ADD, 1.0, op(Fn.EXP, op(Fn.NEG, x))))
        return gate if word.name == "sigmoid" else op(Fn.MUL, x, gate)
    if call.kwargs.get("approximate", "none") not in ("none", "tanh"):
        why = "these are its two forms: by the error function, and near it by tanh"
        call.fail('gelu is approximate="none" or "tanh"', why, word.usage)
    if call.kwargs.get("approximate") == "tanh":
        cube = op(Fn.MUL, op(Fn.MUL, op(Fn.MUL, x, x), x), 0.044715)
        inner = op(Fn.TANH, op(Fn.MUL, op(Fn.ADD, x, cube), math.sqrt(2 / math.pi)))
    else:
        inner = op(Fn.ERF, op(Fn.MUL, x, math.sqrt(0.5)))
    return op(Fn.MUL, op(Fn.MUL, x, 0.5), op(Fn.ADD, inner, 1.0))


def _axes(call: Call, args: list[Symbol]) -> tuple[Var, ...]:
    """The variables of a shape: variables, or sizes of whole axes."""
    found = []
    for given in args:
        arg = given
        if isinstance(arg, SizeOf):
            why = f"a tile over all of axis '{arg.axis}'"
            arg = whole_axis(call.frame, call.node, arg.axis, why)
        if not isinstance(arg, Var) or is_number(arg):
            what = f"variable '{arg.name}'" if isinstance(arg, Var) else f"{arg!r}"
            call.fail(
                f"{'a value' if isinstance(arg, Value) else what} is no axis of a tile",
                "a tile's axes are variables of wl.tile and wl.steps, or whole axes (q.d)"
                if not isinstance(arg, Var)
                else "it walks its axis one element at a time",
                "wl.zeros(m, n), wl.zeros(s, q.d)",
            )
        found.append(arg)
    return tuple(found)


def _filled(call: Call, word: Word) -> Value:
    zeros = word.name == "zeros"
    call.arity(word, 0 if zeros else 1, 3, ("dtype",))
    dtype = call.kwargs.get("dtype", DType.F32)
    if not isinstance(dtype, DType):
        call.fail(f"{dtype!r} is no element type", fix="dtype=wl.f32")
    if dtype is DType.U8:
        why = "u8 is a type of memory; what is loaded from it computes as i32"
        call.fail("a value of type u8", why, "dtype=wl.i32")
    args, number = (call.args, 0.0) if zeros else (call.args[:-1], call.args[-1])
    if len(args) == 1 and isinstance(args[0], tuple):  # a shape, as array libraries take it
        args = list(args[0])
    return spread(call.frame, call.node, call.value(number, dtype), _axes(call, args))


def _index(call: Call, word: Word) -> Value:
    call.arity(word, 1, 1)
    var = call.args[0]
    if isinstance(var, SizeOf):
        (var,) = _axes(call, [var])
    if not isinstance(var, Var):
        fix = "wl.index(m) with m from wl.tile or wl.steps, wl.index(x.k) of a whole axis"
        call.fail("wl.index takes a variable", "it gives the elements a variable covers", fix)
    if is_number(var):
        return call.value(var)
    dims, line = (Dim(var.name),), call.frame.line(call.node)
    return call.frame.build.once(Indices, var.name, dims, DType.I32, line, var=var.name)


def _is_whole(call: Call, word: Word) -> Symbol:
    call.arity(word, 1, 1)
    var, build = call.args[0], call.frame.build
    if not isinstance(var, Var) or var is not build.loop:
        what = "wl.is_whole takes the variable of the loop it stands in"
        call.fail(what, "it tells which list the step at hand is from", word.usage)
    if not build.has_whole:
        return False
    return build.new(Whole, (), DType.BOOL, call.frame.line(call.node), var=var.name)


def _steps(call: Call, word: Word) -> Symbol:
    why = "it is the range of the pipelined loop"
    call.fail("wl.steps stands outside a for", why, word.usage, KernelSyntaxError)


TILE_OPTIONS = ("whole", "groups", "rows", "cols", "unit", "order")


def _tile(call: Call, word: Word) -> Symbol:
    args = call.args
    named = bool(args) and all(isinstance(a, str) for a in args)
    call.arity(word, 1, len(args) if named else 1, TILE_OPTIONS)
    return tile(call.frame, call.node, args if named else args[0], call.kwargs)


def _slope(call: Call, word: Word) -> Symbol:
    call.arity(word, 2, 2)
    y, x = call.args
    if not isinstance(x, Value) or not x.dtype.is_float:
        call.fail("wl.grad by something that is no floating tile", fix=word.usage)
    return slope(call.frame, call.node, y, x) if isinstance(y, Value) else 0.0


def _mulhi(call: Call, word: Word) -> Symbol:
    call.arity(word, 2, 2)
    a, b = (known(call.frame, x) for x in call.args)
    if isinstance(a, int) and isinstance(b, int):
        high = (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF) >> 32
        return high - (high >> 31 << 32)
    return call.op(Fn.MULHI, a, b)


def _random(call: Call, word: Word) -> Symbol:
    call.arity(word, 2, 5 if word.name == "philox" else 2)
    for arg in call.args:
        if call.value(arg).dtype is not DType.I32:
            why = "random bits are a function of whole numbers: the same for every launch"
            call.fail(f"wl.{word.name} of a float", why, "wl.index(n), and seed: int after the *")
    try:
        return _inlined(call, {"philox": philox, "uniform": uniform}[word.name])
    except KernelError as error:
        call.fail(f"wl.{word.name}: {error.what}", error.why or "", error.fix or "", type(error))


def _axis_of(call: Call, value: Value, axis: Symbol) -> Var:
    """The variable of an axis by its number, or by itself."""
    if isinstance(axis, Var) and axis.name in value.vars:
        return axis
    if axis is None and len(value.dims) == 1:
        axis = 0
    if type(axis) is int and -len(value.dims) <= axis < len(value.dims):
        dim = value.dims[axis]
        if dim.per == 1:
            return call.frame.build.vars[dim.var]
    call.fail(
        f"no axis {axis!r} of elements in a value of shape {shape(value)}",
        "places are counted along one axis that the value has",
        "axis=0 or axis=1, or the variable of the axis",
    )


def _extreme(call: Call, fn: Fn, value: Symbol, axis: Symbol) -> tuple[Value, Value]:
    """The largest or least element along an axis, and the first place it stands at.

    NaN does not count; where nothing does the place is 2**31 - 1.
    """
    if not isinstance(value, Value):
        call.fail("a number has no axis", "a place is counted along an axis", "x.argmax(axis=1)")
    var = _axis_of(call, value, axis)
    index = call.frame.build.once(
        Indices, var.name, (Dim(var.name),), DType.I32, call.frame.line(call.node), var=var.name
    )
    most = reduce(call.frame, call.node, fn, value, var)
    place = call.op(Fn.WHERE, call.op(Fn.EQ, value, most), index, 2**31 - 1)
    return most, reduce(call.frame, call.node, Fn.MIN, place, var)


def _arg(call: Call, word: Word) -> Symbol:
    call.arity(word, 1, 2, ("axis",))
    axis = call.args[1] if len(call.args) > 1 else call.kwargs.get("axis")
    return _extreme(call, Fn.MAX if word.name == "argmax" else Fn.MIN, call.args[0], axis)[1]


def _scan(call: Call, word: Word) -> Symbol:
    call.arity(word, 1, 2, ("axis", "reverse"))
    value = call.args[0]
    axis = call.args[1] if len(call.args) > 1 else call.kwargs.get("axis")
    if not isinstance(value, Value):
        call.fail(f"wl.{word.name} of a number", "it has no axis", word.usage)
    reverse = call.kwargs.get("reverse", False)
    if type(reverse) is not bool:
        why = "the direction shapes the kernel"
        call.fail("reverse= is not known while reading", why, "reverse=True")
    if value.dtype is DType.BOOL:
        why = "conditions are not 0 and 1"
        call.fail(f"wl.{word.name} of a condition", why, "wl.where(condition, 1, 0)")
    var = _axis_of(call, value, axis)
    fn = SCANS[word.name]
    return joined(call.frame, call.node, fn, value, Scan, over=var.name, reverse=reverse)


def _atomic(call: Call, word: Word) -> Symbol:
    call.fail(
        f"wl.{word.name} is no value",
        "it changes memory and gives nothing back",
        f"a line of its own: {word.usage}",
        KernelSyntaxError,
    )


def _reduction(call: Call, word: Word) -> Symbol:
    """``wl.sum(x, axis=1)``: the method as a function; of two values their extreme."""
    x, more = (call.args or [None])[0], call.args[1:]
    axis = more and (type(more[0]) is int or (isinstance(more[0], Var) and not is_number(more[0])))
    if word.name in ("max", "min") and more and not axis:
        return _word(call, WORDS[f"{word.name}imum"])
    call.arity(word, 1, 2, AXIS)
    if not isinstance(x, Value):
        what = "a tuple" if isinstance(x, tuple) else "something that is no tile"
        fix = f"{word.name}(values), without wl" if isinstance(x, tuple) else word.usage
        call.fail(f"wl.{word.name} of {what}", "a reduction goes along an axis of a tile", fix)
    return _Method(x, word.name).call(replace(call, args=more))


def _meant(call: Call, word: Word) -> Symbol:
    return _named(call, word.name)


MOST_TOPK = 64


def _topk(call: Call, word: Word) -> Symbol:
    """The largest elements one after the other: of equal ones the first comes first."""
    call.arity(word, 2, 3, ("axis",))
    x, count = call.args[:2]
    axis = call.args[2] if len(call.args) > 2 else call.kwargs.get("axis", -1)
    if type(count) is not int or not 1 <= count <= MOST_TOPK:
        why = "each of them is a pass over the axis"
        call.fail(f"wl.topk of {count!r} elements", why, f"1 to {MOST_TOPK}, known while reading")
    if not isinstance(x, Value):
        call.fail("wl.topk of a number", "it has no axis", word.usage)
    var = _axis_of(call, x, axis)
    index = _index(replace(call, args=[var], kwargs={}), WORDS["index"])
    values, places = [], []
    x = cast(call.frame, call.node, x, DType.F32)
    for _ in range(count):
        most, place = _extreme(call, Fn.MAX, x, var)
        values.append(most)
        places.append(place)
        x = call.op(Fn.WHERE, call.op(Fn.EQ, index, place), -math.inf, x)
    return tuple(values), tuple(places)


def _print(call: Call, word: Word) -> Symbol:
    """A tile that is shown where the kernel is interpreted: an output of its own there."""
    call.arity(word, 1, 1)
    notes, value, build = printed(), call.args[0], call.frame.build
    if notes is None:
        return None
    if build.grid is None:
        call.fail("wl.print before wl.tile", "it shows a tile", word.usage)
    if not isinstance(value, Value) or not value.dims or value.dtype is DType.BOOL:
        call.fail("wl.print takes a tile of numbers", fix="wl.print(wl.where(condition, 1.0, 0.0))")
    if any(d.per > 1 for d in value.dims):
        call.fail("wl.print of numbers that blocks share", fix="print what is computed with them")
    units = [n for n in build.grid.vars if is_number(build.vars[n]) and n not in value.vars]
    walked = (*units, *value.vars)
    name = build.fresh("printed")
    kind = DType.F32 if value.dtype.is_float else DType.I32
    axes = tuple(Axis(name=build.vars[n].axis) for n in walked)
    build.tensors[name] = Tensor(name=name, axes=axes, dtype=kind, access=Access.OUT)
    line = call.frame.line(call.node)
    made = Store(tensor=name, at=tuple(At(var=n) for n in walked), value=value.name, line=line)
    build.stores.setdefault(name, []).append(made)
    build.emit(made)
    notes[name] = Printed(name, ast.unparse(call.node.args[0]), line)
    return None


HANDLERS: dict[str, Handler] = {
    "print": _print,
    "mulhi": _mulhi,
    "philox": _random,
    "uniform": _random,
    "argmax": _arg,
    "argmin": _arg,
    "topk": _topk,
    **dict.fromkeys(SCANS, _scan),
    **dict.fromkeys(("atomic_add", "atomic_max", "atomic_min"), _atomic),
    **dict.fromkeys((*REDUCED, *DERIVED), _reduction),
    **dict.fromkeys((f.__name__ for f in WRITTEN), _meant),
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
    "grad": _slope,
}


@dataclass(frozen=True, slots=True)
class _Method:
    """``x.sum`` of a tile, until it is called."""

    of: Value
    name: str

    def call(self, call: Call) -> Symbol:  # noqa: C901, PLR0911 (one line a kind of method)
        args, kwargs = call.args, call.kwargs
        if self.name in FILLED:
            return self._new(call)
        if self.name in KINDS or self.name in ("to", "astype"):
            dtype = args[0] if len(args) == 1 else kwargs.get("dtype", KINDS.get(self.name))
            dtype = dtype if isinstance(dtype, DType) else kind_of(dtype)
            if dtype is None:
                why = "types are known before a kernel runs"
                call.fail(".to takes an element type", why, ".to(wl.bf16), or .to(v.dtype)")
            of = number_of(call.frame, call.node, self.of) if call.frame.foreign else self.of
            if DType.BOOL in (of.dtype, dtype):
                fix = "wl.where(condition, a, b), or a comparison"
                call.fail("conditions are not converted", "they are not 0 and 1", fix)
            return cast(call.frame, call.node, of, dtype)
        if self.name not in METHODS:
            name = meant(self.name)
            assert name is not None
            return _named(replace(call, args=[self.of, *args]), name)
        if self.name in SCANS:
            return _scan(replace(call, args=[self.of, *args]), WORDS[self.name])
        if len(args) > 1 or set(kwargs) - set(AXIS):
            call.fail(f".{self.name} takes an axis", fix=f"x.{self.name}(axis=1)")
        axis = args[0] if args else kwargs.get("axis", kwargs.get("dim"))
        if self.name in DERIVED:
            return self._derived(call, axis)
        if self.name in ("argmax", "argmin"):
            fn = Fn.MAX if self.name == "argmax" else Fn.MIN
            return _extreme(call, fn, self.of, axis)[1]
        if axis is None and len(self.of.dims) == 2 and self.of.dtype is not DType.BOOL:
            inner = _Method(self.of, self.name).call(replace(call, args=[1], kwargs={}))
            return _Method(inner, self.name).call(replace(call, args=[0], kwargs={}))
        return reduce(call.frame, call.node, REDUCED[self.name], self.of, axis)

    def _derived(self, call: Call, axis: Symbol) -> Value:
        """Means and conditions along an axis, by sums and extremes."""

        def reduced(name: str, value: Value) -> Value:
            result = _Method(value, name).call(replace(call, args=[axis], kwargs={}))
            assert isinstance(result, Value)
            return result

        build, frame, node = call.frame.build, call.frame, call.node
        if self.name == "mean":
            total = reduced("sum", cast(frame, node, self.of, DType.F32))
            gone = [d for d in self.of.dims if d not in total.dims]
            for dim in gone:
                var = build.vars[dim.var]
                if var.walk is Walk.WHOLE:
                    count: Symbol = -(-build.sizes[var.axis] // dim.per)
                else:  # of a tile or step, whose last one has fewer elements
                    ones = spread(frame, node, call.value(1.0), (var,))
                    count = reduce(frame, node, Fn.ADD, ones, var)
                total = call.op(Fn.DIV, total, count)
            return total
        if self.of.dtype is not DType.BOOL:
            call.fail(f".{self.name} of numbers", "it asks conditions", f"(x != 0).{self.name}()")
        extreme = reduced("max" if self.name == "any" else "min", call.op(Fn.WHERE, self.of, 1, 0))
        return call.op(Fn.NE, extreme, 0)

    def _new(self, call: Call) -> Value:
        """``b.new_ones((), dtype=torch.bool)``: a number of the tile's type, or a condition."""
        number = FILLED[self.name]
        if "bool" in str(call.kwargs.get("dtype")):
            return call.value(bool(number), DType.BOOL)
        return call.value(bool(number) if self.of.dtype is DType.BOOL else number, self.of.dtype)


def is_method(name: str) -> bool:
    """Whether tiles and numbers have a method of that name."""
    return name in METHODS or name in FILLED or name in KINDS or meant(name) is not None


def method(frame: Frame, node: ast.Attribute, value: Value) -> Symbol:
    """A method of a tile, to be called."""
    if not is_method(node.attr):
        known_words = [*METHODS, "T", "dtype"]
        frame.wrong_name(
            node,
            f"a tile has no '{node.attr}'",
            why=f"it has {', '.join(known_words)}, and the words of the language",
            fix=INSTEAD.get(node.attr)
            or nearest(node.attr, known_words)
            or "see the words of the language",
        )
    return _Method(value, node.attr)
