"""Expressions of a kernel's source."""

import ast
import inspect
import math
import operator
from collections.abc import Callable
from typing import Any, NoReturn

from warploom.frontend.builtins import WORDS
from warploom.frontend.closures import is_tensor
from warploom.frontend.parser.arith import known, pointwise, product, transpose, value_of
from warploom.frontend.parser.builtin_calls import INSTEAD, power as real_power
from warploom.frontend.parser.calls import call, is_method, method
from warploom.frontend.parser.memory import load, size_of
from warploom.frontend.parser.state import Frame, LocalFunction, Symbol, is_static, nearest
from warploom.ir.tile import DType, Fn, Tensor, Value, Var, Walk

TUPLES = (tuple, list)
SHORT_POWER, MOST_POWER = 8, 64  # one factor after the other, and by squares
MOST_TURNS = 256  # of a plain for, and of a comprehension

BINARY: dict[type[ast.operator], tuple[Fn, Callable[[Any, Any], Any]]] = {
    ast.Add: (Fn.ADD, operator.add),
    ast.Sub: (Fn.SUB, operator.sub),
    ast.Mult: (Fn.MUL, operator.mul),
    ast.Div: (Fn.DIV, operator.truediv),
    ast.FloorDiv: (Fn.FLOORDIV, operator.floordiv),
    ast.Mod: (Fn.MOD, operator.mod),
    ast.BitAnd: (Fn.AND, operator.and_),
    ast.BitOr: (Fn.OR, operator.or_),
    ast.RShift: (Fn.SHR, operator.rshift),
    ast.LShift: (Fn.SHL, operator.lshift),
    ast.BitXor: (Fn.XOR, operator.xor),
}
BITWISE = {
    Fn.AND: (Fn.BITS, Fn.AND),
    Fn.OR: (Fn.BITOR, Fn.OR),
    Fn.XOR: (Fn.XOR, Fn.NE),
}
COMPARE: dict[type[ast.cmpop], tuple[Fn, Callable[[Any, Any], Any]]] = {
    ast.Eq: (Fn.EQ, operator.eq),
    ast.NotEq: (Fn.NE, operator.ne),
    ast.Lt: (Fn.LT, operator.lt),
    ast.LtE: (Fn.LE, operator.le),
    ast.Gt: (Fn.GT, operator.gt),
    ast.GtE: (Fn.GE, operator.ge),
}
STATIC_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


def evaluate(frame: Frame, node: ast.expr) -> Symbol:
    """What an expression means."""
    handler = HANDLERS.get(type(node))
    if handler is None:
        frame.wrong_syntax(
            node,
            f"{_NAMES.get(type(node), type(node).__name__)} is not part of the tile language",
            why="a kernel computes with tiles, vectors and numbers",
            fix="write it with operators, builtins of the language and functions",
        )
    return handler(frame, node)


_NAMES: dict[type[ast.AST], str] = {
    ast.SetComp: "a set comprehension",
    ast.DictComp: "a dict comprehension",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield from",
    ast.JoinedStr: "an f-string",
    ast.NamedExpr: "':='",
    ast.Starred: "'*' unpacking",
    ast.Dict: "a dict",
    ast.Set: "a set",
}


def _constant(frame: Frame, node: ast.Constant) -> Symbol:
    if isinstance(node.value, complex | bytes):
        frame.wrong_type(node, f"{node.value!r} is no value of a kernel")
    return node.value


def _tuple(frame: Frame, node: ast.Tuple | ast.List) -> tuple[Symbol, ...]:
    found: list[Symbol] = []
    for e in node.elts:
        if not isinstance(e, ast.Starred):
            found.append(evaluate(frame, e))
            continue
        part = evaluate(frame, e.value)
        if not isinstance(part, range | tuple | list):
            frame.wrong_type(
                e,
                f"'{ast.unparse(e)}' unpacks something that is no tuple",
                why="tuples are taken apart while the kernel is read, tiles stay whole",
                fix=f"without the *: {ast.unparse(e.value)}",
            )
        found += part
    return tuple(found)


def local_function(frame: Frame, node: ast.Lambda | ast.FunctionDef) -> LocalFunction:
    """A function in the text of another; defaults are computed where it stands."""
    name = node.name if isinstance(node, ast.FunctionDef) else "lambda"
    given = node.args
    extra = given.vararg or given.kwarg
    if extra is not None:
        frame.wrong_syntax(
            extra,
            f"'*{extra.arg}' of a function in a kernel",
            why="what a call is given is read from the text, one by one",
            fix="name its parameters",
        )
    kinds = inspect.Parameter
    plain = [*given.posonlyargs, *given.args]
    none: list[ast.expr | None] = [None]
    defaults = none * (len(plain) - len(given.defaults)) + [*given.defaults, *given.kw_defaults]
    parameters = [
        kinds(
            a.arg,
            kinds.POSITIONAL_ONLY
            if a in given.posonlyargs
            else kinds.KEYWORD_ONLY
            if a in given.kwonlyargs
            else kinds.POSITIONAL_OR_KEYWORD,
            default=kinds.empty if d is None else evaluate(frame, d),
        )
        for a, d in zip([*plain, *given.kwonlyargs], defaults, strict=True)
    ]
    return LocalFunction(name, node, inspect.Signature(parameters), frame)


def _comprehension(frame: Frame, node: ast.ListComp | ast.GeneratorExp) -> Symbol:
    """``[f(p) for p in places]``: written out while reading, as a plain for is."""
    found: list[Symbol] = []
    around = dict(frame.env)

    def turns(generators: list[ast.comprehension]) -> None:
        if not generators:
            found.append(evaluate(frame, node.elt))
            return
        generator, *rest = generators
        given = evaluate(frame, generator.iter)
        if not isinstance(given, range | tuple | list) or len(given) > MOST_TURNS:
            frame.wrong_syntax(
                generator.iter,
                "a comprehension over something else than a tuple, or a range of up to "
                f"{MOST_TURNS} known numbers",
                why="it is written out while the kernel is read",
                fix="for k in wl.steps(x.k), with a value that is carried",
            )
        for turn in given:
            _take(frame, generator.target, turn)
            if all(condition(frame, test) for test in generator.ifs):
                turns(rest)

    turns(node.generators)
    frame.env.clear()
    frame.env.update(around)
    return tuple(found)


def _take(frame: Frame, target: ast.expr, symbol: Symbol) -> None:
    """Bind the names of a comprehension."""
    match target:
        case ast.Name(id=name):
            frame.env[name] = symbol
        case ast.Tuple(elts=elts) if isinstance(symbol, tuple | list) and len(symbol) == len(elts):
            for one, part in zip(elts, symbol, strict=True):
                _take(frame, one, part)
        case _:
            frame.wrong_syntax(
                target,
                f"'{ast.unparse(target)}' does not take what the comprehension goes over",
                why="each name takes one value",
                fix="for a, b in zip(first, second)",
            )


def _attribute(frame: Frame, node: ast.Attribute) -> Symbol:
    base = evaluate(frame, node.value)
    if isinstance(base, Tensor):
        return base.dtype if node.attr == "dtype" else size_of(frame, node, base)
    if isinstance(base, Value | Var) and node.attr == "device":
        return None  # what functions of libraries make beside a number is a number
    if isinstance(base, Var) and base.walk is Walk.UNIT and is_method(node.attr):
        base = value_of(frame, node, base)
    if isinstance(base, Value):
        if node.attr == "T":
            return transpose(frame, node, base)
        return frame.build.kind(base) if node.attr == "dtype" else method(frame, node, base)
    if isinstance(base, Var) or not is_static(base):
        frame.wrong_name(
            node,
            f"'{ast.unparse(node.value)}' has no '{node.attr}'",
            why="variables, sizes and scalars have no attributes",
            fix="sizes belong to tensors: x.k",
        )
    try:
        return frame.given(node, getattr(base, node.attr))
    except AttributeError:
        if isinstance(base, TUPLES):
            _changed_in_place(frame, node)
        own = getattr(base, "__name__", "") == "warploom"
        names = [*dir(base), *(WORDS if own else ())]
        frame.wrong_name(
            node,
            f"'{ast.unparse(node.value)}' has no '{node.attr}'",
            why="it is no word of the tile language" if own else "Python does not know it",
            fix=(INSTEAD.get(node.attr, "") if own else "")
            or nearest(node.attr, names)
            or ("write it in the words of the language: docs/reference/language.md" if own else ""),
        )


def _changed_in_place(frame: Frame, node: ast.Attribute) -> NoReturn:
    base = ast.unparse(node.value)
    fixes = {"append": f"{base} = [*{base}, value]", "extend": f"{base} = [*{base}, *values]"}
    frame.wrong_name(
        node,
        f"'{base}' is a tuple and has no '{node.attr}'",
        why="lists and tuples of a kernel are values: no call changes one in place",
        fix=fixes.get(node.attr, f"a new one: {base} = [f(v) for v in {base}]"),
    )


def _binary(frame: Frame, node: ast.BinOp) -> Symbol:
    left, right = evaluate(frame, node.left), evaluate(frame, node.right)
    return binary(frame, node, node.op, left, right)


def binary(frame: Frame, node: ast.AST, op: ast.operator, left: Symbol, right: Symbol) -> Symbol:
    """``left op right``, computed at once where both are known."""
    if isinstance(op, ast.MatMult):
        return product(frame, node, left, right)
    left, right = known(frame, left), known(frame, right)
    if isinstance(op, ast.Add) and isinstance(left, TUPLES) and isinstance(right, TUPLES):
        return (*left, *right)
    if isinstance(op, ast.Pow):
        return _power(frame, node, left, right)
    fn, python = BINARY[type(op)]
    if is_static(left) and is_static(right):
        return _static(frame, node, python, left, right)
    if fn in BITWISE:  # of conditions as of bits
        kinds = [value_of(frame, node, s).dtype for s in (left, right)]
        fn = BITWISE[fn][DType.BOOL in kinds]
    return pointwise(frame, node, fn, left, right)


def _static(frame: Frame, node: ast.AST, python: Callable[..., Any], *args: Symbol) -> Symbol:
    try:
        return python(*args)
    except Exception as problem:
        frame.wrong_type(
            node,
            f"cannot be computed: {problem}",
            why="numbers known while reading are computed at once",
            fix="correct the expression",
        )


def _power(frame: Frame, node: ast.AST, base: Symbol, power: Symbol) -> Symbol:
    if is_static(base) and is_static(power):
        return _static(frame, node, operator.pow, base, power)
    if power == 0.5:
        return pointwise(frame, node, Fn.SQRT, base)
    if power == -0.5:
        return pointwise(frame, node, Fn.RSQRT, base)
    if is_static(base) and isinstance(base, int | float) and base > 0:
        return pointwise(
            frame, node, Fn.EXP2, pointwise(frame, node, Fn.MUL, power, math.log2(base))
        )
    if is_static(power) and isinstance(power, int | float) and not isinstance(power, bool):
        result = _known_power(frame, node, base, power)
        if result is not None:
            return result
    inline = frame.build.inline
    assert inline is not None
    base, power = (value_of(frame, node, s) for s in (base, power))
    if not base.dtype.is_float and not power.dtype.is_float:
        frame.wrong_type(
            node,
            "** of whole numbers",
            why="a product as long as a number says is no operation of the hardware",
            fix="a known power, 2 ** n as 1 << n, or floats: a.to(wl.f32) ** b",
        )
    return inline(frame, node, real_power, [base, power], {})


def _known_power(frame: Frame, node: ast.AST, base: Symbol, power: float) -> Symbol | None:
    """A power known while reading, as products and roots; None where it is neither."""
    if power < 0:
        made = _power(frame, node, base, -power)
        return pointwise(frame, node, Fn.DIV, 1.0, made)
    whole = int(power)
    if power - whole not in (0, 0.5) or not 0 < power <= MOST_POWER:
        return None
    value = value_of(frame, node, base)
    if isinstance(power, float) and not value.dtype.is_float:
        value = pointwise(frame, node, Fn.MUL, value, 1.0)
    result = value if whole else None
    for bit in () if whole <= SHORT_POWER else f"{whole:b}"[1:]:
        assert result is not None
        result = pointwise(frame, node, Fn.MUL, result, result)
        if bit == "1":
            result = pointwise(frame, node, Fn.MUL, result, value)
    for _ in range(whole - 1 if whole <= SHORT_POWER else 0):
        result = pointwise(frame, node, Fn.MUL, result, value)
    if power == whole:
        return result
    root = pointwise(frame, node, Fn.SQRT, value)
    return root if result is None else pointwise(frame, node, Fn.MUL, result, root)


def _unary(frame: Frame, node: ast.UnaryOp) -> Symbol:
    arg = known(frame, evaluate(frame, node.operand))
    if is_static(arg):
        python: dict[type[ast.unaryop], Callable[[Any], Any]] = {
            ast.USub: operator.neg,
            ast.UAdd: operator.pos,
            ast.Not: operator.not_,
            ast.Invert: (lambda x: not x) if isinstance(arg, bool) else operator.invert,
        }
        return _static(frame, node, python[type(node.op)], arg)
    if isinstance(node.op, ast.UAdd):
        return arg
    if isinstance(node.op, ast.Invert) and value_of(frame, node, arg).dtype is DType.I32:
        return pointwise(frame, node, Fn.XOR, arg, -1)
    fn = Fn.NEG if isinstance(node.op, ast.USub) else Fn.NOT
    return pointwise(frame, node, fn, arg)


def _bool(frame: Frame, node: ast.BoolOp) -> Symbol:
    """``and``/``or``: Python's own where known, the condition's else."""
    is_and = isinstance(node.op, ast.And)
    result: Symbol = is_and
    for part in node.values:
        symbol = known(frame, evaluate(frame, part))
        if is_static(symbol):
            if _static(frame, part, bool, symbol) is not is_and:
                return symbol
            result = symbol if is_static(result) else result
        elif is_static(result):
            value = value_of(frame, part, symbol)
            result = (
                pointwise(frame, part, Fn.AND, value, value)
                if (value.dtype is not DType.BOOL)
                else value
            )
        else:
            result = pointwise(frame, node, Fn.AND if is_and else Fn.OR, result, symbol)
    return result


def _compare(frame: Frame, node: ast.Compare) -> Symbol:
    result: Symbol = True
    left = known(frame, evaluate(frame, node.left))
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = known(frame, evaluate(frame, right_node))
        if type(op) in STATIC_COMPARE:
            gone = isinstance(left, Tensor) and left.name in frame.build.without
            sides = (None if gone else left, right)
            one: Symbol = _static(frame, node, STATIC_COMPARE[type(op)], *sides)
        elif is_static(left) and is_static(right):
            one = _static(frame, node, COMPARE[type(op)][1], left, right)
        else:
            one = pointwise(frame, node, COMPARE[type(op)][0], left, right)
        if isinstance(one, bool):
            if not one:
                return False
        elif isinstance(result, bool):
            result = one
        else:
            result = pointwise(frame, node, Fn.AND, result, one)
        left = right
    return result


def condition(frame: Frame, node: ast.expr) -> bool:
    """A condition known while reading."""
    symbol = known(frame, evaluate(frame, node))
    if not is_static(symbol) and not isinstance(symbol, Tensor):
        frame.wrong_syntax(
            node,
            "'if' on a value that is only known on the GPU",
            why="if chooses while the kernel is read; all elements of a tile go the same way",
            fix="wl.where(condition, a, b)",
        )
    if isinstance(symbol, Tensor):
        return symbol.name not in frame.build.without
    return bool(_static(frame, node, bool, symbol))


def _if(frame: Frame, node: ast.IfExp) -> Symbol:
    return evaluate(frame, node.body if condition(frame, node.test) else node.orelse)


def _call(frame: Frame, node: ast.Call) -> Symbol:
    function = evaluate(frame, node.func)
    for arg in (*node.args, *node.keywords):
        if isinstance(arg, ast.Starred) or (isinstance(arg, ast.keyword) and arg.arg is None):
            frame.wrong_syntax(
                node,
                "'*' and '**' in a call are not part of the tile language",
                why="what a call is given is read from the text, one by one",
                fix="write the arguments out",
            )
    args = [evaluate(frame, a) for a in node.args]
    kwargs = {k.arg: evaluate(frame, k.value) for k in node.keywords if k.arg}
    return call(frame, node, function, args, kwargs)


def _subscript(frame: Frame, node: ast.Subscript) -> Symbol:
    base = evaluate(frame, node.value)
    if isinstance(base, Tensor):
        return load(frame, node, base, indices_of(frame, node))
    index = known(frame, evaluate(frame, node.slice))
    if is_static(index) and isinstance(base, tuple):
        return _static(frame, node, operator.getitem, base, index)
    if is_static(index) and is_static(base):
        return _static(frame, node, operator.getitem, base, index)
    if is_tensor(base):
        frame.wrong_type(
            node,
            f"'{ast.unparse(node.value)}' is a tensor that is not a name of the function",
            why="tensors a function captures become inputs of the kernel, found by their names",
            fix="bind it before: bias = self.bias, and use bias in the function",
        )
    if (isinstance(base, Value) and index is None) or (isinstance(index, tuple) and None in index):
        frame.wrong_type(
            node,
            f"'{ast.unparse(node)}' adds an axis",
            why="shapes go together by the names of their axes: (m) goes with (m, n) and with (n)",
            fix=f"without the brackets: {ast.unparse(node.value)}",
        )
    frame.wrong_type(
        node,
        f"'{ast.unparse(node.value)}' cannot be indexed",
        why="tensors are indexed; tiles are computed with as a whole",
        fix="load another tile of the tensor, or use wl.where with wl.index",
    )


def indices_of(frame: Frame, node: ast.Subscript) -> tuple[Symbol, ...]:
    """The indices in the brackets, ``:`` as a slice."""
    return (
        _tuple(frame, node.slice)
        if isinstance(node.slice, ast.Tuple)
        else (evaluate(frame, node.slice),)
    )


def _slice(frame: Frame, node: ast.Slice) -> Symbol:
    parts = (node.lower, node.upper, node.step)
    return slice(*(True if p is not None else None for p in parts))


HANDLERS: dict[type[ast.expr], Callable[[Frame, Any], Symbol]] = {
    ast.Constant: _constant,
    ast.Name: Frame.look_up,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool,
    ast.Compare: _compare,
    ast.Lambda: local_function,
    ast.IfExp: _if,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
}
