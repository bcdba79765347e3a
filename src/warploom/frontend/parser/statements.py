"""Statements of a kernel's source: assignments, choices made while reading, the pipelined loop."""

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from warploom.dataclass import dataclass
from warploom.frontend.builtins import WORDS, Word
from warploom.frontend.parser.arith import known, pointwise
from warploom.frontend.parser.expressions import (
    MOST_TURNS,
    binary,
    condition,
    evaluate,
    indices_of,
    local_function,
)
from warploom.frontend.parser.loops import pipelined
from warploom.frontend.parser.memory import store
from warploom.frontend.parser.state import Frame, LocalFunction, Symbol
from warploom.frontend.source import read_source
from warploom.ir.tile import DType, Fn, Tensor, Value, Var

MOST_DEEP = 32


@dataclass(frozen=True, slots=True)
class Returned:
    """The end of an inlined function."""

    value: Symbol


def run(frame: Frame, body: list[ast.stmt]) -> Returned | None:
    """Read statements in order, up to a return."""
    for statement in body:
        done = _statement(frame, statement)
        if done is not None:
            return done
    return None


def _statement(frame: Frame, node: ast.stmt) -> Returned | None:  # noqa: C901 (one case a kind)
    match node:
        case ast.Assign(targets=[target, *more], value=value):
            _assign(frame, target, value, more)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            _assign(frame, target, value)
        case ast.AugAssign():
            _augment(frame, node)
        case ast.If():
            return _if(frame, node)
        case ast.For():
            return _for(frame, node)
        case ast.Return():
            if frame.depth == 0:
                frame.wrong_syntax(
                    node,
                    "a kernel returns nothing",
                    why="its results are what it stores; the call gives them back",
                    fix="out[m, n] = ...",
                )
            return Returned(None if node.value is None else evaluate(frame, node.value))
        case ast.Expr():
            _expression(frame, node)
        case ast.FunctionDef(decorator_list=[]):
            frame.env[node.name] = local_function(frame, node)
        case ast.Pass():
            pass
        case _:
            _refuse(frame, node)
    return None


def _if(frame: Frame, node: ast.If) -> Returned | None:
    """A choice made while reading; on one condition of the GPU, stores and the end of a tile."""
    test = known(frame, evaluate(frame, node.test))
    if not isinstance(test, Value):
        return run(frame, node.body if condition(frame, node.test) else node.orelse)
    if any(isinstance(s, ast.Break) for s in (*node.body, *node.orelse)):
        _break(frame, node, test)
        return None
    _check_branches(frame, node, test)
    build = frame.build
    before = build.running
    for body, holds in ((node.body, test), (node.orelse, None)):
        if not body:
            continue
        now = holds if holds is not None else pointwise(frame, node, Fn.NOT, test)
        build.running = _also(frame, node, before, now)
        run(frame, [s for s in body if not isinstance(s, ast.Return)])
    build.running = before
    ends = [any(isinstance(s, ast.Return) for s in body) for body in (node.body, node.orelse)]
    if ends[0]:
        build.running = _also(frame, node, before, pointwise(frame, node, Fn.NOT, test))
    if ends[1]:
        build.running = _also(frame, node, before, test)
    return None


def _break(frame: Frame, node: ast.If, test: Value) -> None:
    """``if done: break``: no step after this one, and nothing of this one from here on."""
    build = frame.build
    plain = len(node.body) == 1 and not node.orelse
    if not plain or build.stops is None or test.dims or test.dtype is not DType.BOOL:
        frame.wrong_syntax(
            node,
            "a break out of no loop of steps"
            if build.stops is None
            else "a break beside other statements"
            if not plain
            else "a break on more than one condition",
            why="a loop ends for all elements of a tile at once, by one condition of no axes",
            fix="if error.max() < 1e-3: break",
        )
    build.stops.append((test, dict(frame.env)))
    goes_on = pointwise(frame, node, Fn.NOT, test)
    build.running = _also(frame, node, build.running, goes_on)


def _also(frame: Frame, node: ast.AST, before: Value | None, now: Value) -> Value:
    return now if before is None else pointwise(frame, node, Fn.AND, before, now)


def _check_branches(frame: Frame, node: ast.If, test: Value) -> None:
    """One condition for a whole tile, under which it stores, or ends."""
    if test.dims or test.dtype is not DType.BOOL:
        frame.wrong_syntax(
            node.test,
            "'if' on a value that is only known on the GPU"
            if test.dtype is DType.BOOL
            else "'if' on a number that is only known on the GPU",
            why="all elements of a tile go the same way: an if asks one condition, of no axes",
            fix="wl.where(condition, a, b)" if test.dims else "a comparison: if count > 0:",
        )
    if frame.build.grid is None or frame.depth > 0:
        frame.wrong_syntax(
            node.test,
            "'if' on a value that is only known on the GPU"
            + (", before wl.tile" if frame.build.grid is None else ", in a function"),
            why="there it chooses while the kernel is read",
            fix="wl.where(condition, a, b)",
        )
    for body in (node.body, node.orelse):
        for i, statement in enumerate(body):
            stores = isinstance(statement, ast.Assign | ast.AugAssign) and all(
                isinstance(t, ast.Subscript)
                for t in getattr(statement, "targets", [getattr(statement, "target", None)])
            )
            ends = isinstance(statement, ast.Return) and statement.value is None
            if ends and (frame.build.loop is not None or i != len(body) - 1):
                frame.wrong_syntax(
                    statement,
                    "a return inside a loop" if frame.build.loop is not None else "code after it",
                    why="it ends the whole tile, for all of its roles at once",
                    fix="bound the loop: wl.steps(x.k, until=...)"
                    if frame.build.loop is not None
                    else "return as the last line of its branch",
                )
            if not (stores or ends or isinstance(statement, ast.Pass | ast.Expr | ast.If)):
                frame.wrong_syntax(
                    statement,
                    "'if' on a value that is only known on the GPU, over more than stores",
                    why="under a condition of the GPU a tile stores, or ends (return); names keep "
                    "one value for all tiles",
                    fix="wl.where(condition, a, b)",
                )


_REFUSED: dict[type[ast.stmt], tuple[str, str]] = {
    ast.While: ("while", "for k in wl.steps(x.k)"),
    ast.Try: ("try", "a kernel raises nothing; remove it"),
    ast.With: ("with", "remove it"),
    ast.Raise: ("raise", "check arguments before the kernel is called"),
    ast.Assert: ("assert", "check arguments before the kernel is called"),
    ast.Break: ("break", "bound the loop: wl.steps(k.t, until=...)"),
    ast.Continue: ("continue", "mask with wl.where; steps that see nothing are not visited"),
    ast.FunctionDef: ("a decorated function in a kernel", "define it without decorators"),
    ast.ClassDef: ("a class in a kernel", "define it outside"),
    ast.Global: ("global", "captured numbers are read, never written"),
    ast.Nonlocal: ("nonlocal", "captured numbers are read, never written"),
    ast.Delete: ("del", "remove it: values end with their last use"),
    ast.Import: ("import in a kernel", "import at the top of the file"),
    ast.ImportFrom: ("import in a kernel", "import at the top of the file"),
    ast.Match: ("match", "if on choices known while reading, wl.where on values"),
    ast.AnnAssign: ("a declaration without a value", "assign a value"),
}


def _refuse(frame: Frame, node: ast.stmt) -> None:
    name, fix = _REFUSED.get(type(node), (type(node).__name__, "remove it"))
    frame.wrong_syntax(
        node,
        f"{name} is not part of the tile language",
        why="a kernel is straight text with pipelined loops; everything else is decided "
        "while it is read",
        fix=fix,
    )


def _expression(frame: Frame, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str | type(...)):
        return
    if _atomic(frame, node.value):
        return
    if evaluate(frame, node.value) is not None:
        frame.wrong_syntax(
            node,
            "an expression whose value is not used",
            why="tiles are values: no operation changes one in place",
            fix="assign it to a name, or store it: out[m, n] = ...",
        )


ATOMICS = {"atomic_add": Fn.ADD, "atomic_max": Fn.MAX, "atomic_min": Fn.MIN}


def _atomic(frame: Frame, node: ast.expr) -> bool:
    """``wl.atomic_max(out[m], x)``: its first argument is a place, as the left of a store is."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
        return False
    word = evaluate(frame, node.func)
    fn = ATOMICS.get(word.name) if isinstance(word, Word) else None
    if fn is None:
        return False
    place = node.args[0] if node.args else None
    if not isinstance(place, ast.Subscript) or len(node.args) != 2 or node.keywords:
        frame.wrong_syntax(
            node,
            f"wl.{word.name} takes a place of an output and a value",
            why="it changes what memory holds there",
            fix=word.usage,
        )
    tensor = evaluate(frame, place.value)
    _check_tensor(frame, place, tensor)
    indices = indices_of(frame, place)
    store(frame, place, tensor, indices, evaluate(frame, node.args[1]), add=True, fn=fn)
    return True


def _assign(frame: Frame, target: ast.expr, value: ast.expr, more: Sequence[ast.expr] = ()) -> None:
    """``a, b = value``; with ``more`` targets ``a = b = value``."""
    match target:
        case ast.Name():
            frame.hints = (target.id,)
        case ast.Tuple(elts=elts) if all(isinstance(e, ast.Name) for e in elts):
            frame.hints = tuple(e.id for e in elts if isinstance(e, ast.Name))
    if (
        isinstance(target, ast.Tuple)
        and isinstance(value, ast.Tuple)
        and len(target.elts) == len(value.elts)
        and not more
    ):
        symbols = [evaluate(frame, v) for v in value.elts]
        frame.hints = ()
        for one, symbol in zip(target.elts, symbols, strict=True):
            _bind(frame, one, symbol)
        return
    symbol = evaluate(frame, value)
    frame.hints = ()
    for one in (target, *more):
        _bind(frame, one, symbol)


def _bind(frame: Frame, target: ast.expr, symbol: Symbol) -> None:
    match target:
        case ast.Name(id=name):
            if isinstance(frame.env.get(name), Tensor) and frame.depth == 0:
                frame.wrong_type(
                    target,
                    f"'{name}' is a tensor and cannot be given another value",
                    why="the name stands for memory of the caller",
                    fix=f"another name, or a store: {name}[...] = ...",
                )
            if isinstance(symbol, Value):
                frame.build.call(symbol, name)
            frame.env[name] = symbol
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            if isinstance(symbol, Var):  # the one variable of a grid
                symbol = (symbol,)
            if not isinstance(symbol, tuple | list) or len(symbol) != len(elts):
                found = len(symbol) if isinstance(symbol, tuple | list) else 1
                frame.wrong_type(
                    target,
                    f"{len(elts)} names for {found} value{'s' * (found != 1)}",
                    why="each name takes one value (wl.tile gives one for each axis of the "
                    "output that is not whole, and one more for groups)",
                    fix="as many names as values",
                )
            for one, part in zip(elts, symbol, strict=True):
                _bind(frame, one, part)
        case ast.Subscript():
            tensor = evaluate(frame, target.value)
            _check_tensor(frame, target, tensor)
            store(frame, target, tensor, indices_of(frame, target), symbol, add=False)
        case _:
            frame.wrong_syntax(
                target,
                f"'{ast.unparse(target)}' cannot be assigned to",
                why="names and tiles of outputs can",
                fix="out[m, n] = ..., or a plain name",
            )


def _check_tensor(frame: Frame, node: ast.Subscript, tensor: Symbol) -> None:
    if frame.build.grid is None:
        _before_tile(frame, node)
    if not isinstance(tensor, Tensor):
        frame.wrong_memory(
            node,
            f"'{ast.unparse(node.value)}' is no tensor and cannot be stored to",
            why="tiles are values: no operation changes one in place",
            fix="make a new value with wl.where, or store to an output",
        )


def _before_tile(frame: Frame, node: ast.AST) -> None:
    frame.wrong_syntax(
        node,
        "wl.tile has not been used yet",
        why="it says which tile of the output is computed",
        fix="begin with m, n = wl.tile(out)",
    )


def _augment(frame: Frame, node: ast.AugAssign) -> None:
    if isinstance(node.target, ast.Subscript):
        tensor = evaluate(frame, node.target.value)
        _check_tensor(frame, node.target, tensor)
        if not isinstance(node.op, ast.Add):
            frame.wrong_memory(
                node,
                "only += is known on memory",
                why="memory is added to, or given an extreme; other operations are not made there",
                fix="out[...] += value, wl.atomic_max(out[...], value)",
            )
        indices = indices_of(frame, node.target)
        value = evaluate(frame, node.value)
        store(frame, node.target, tensor, indices, value, add=True)
        return
    if not isinstance(node.target, ast.Name):
        frame.wrong_syntax(node, "this cannot be added to", fix="a plain name")
    left = evaluate(frame, ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
    result = binary(frame, node, node.op, left, evaluate(frame, node.value))
    _bind(frame, node.target, result)


def _for(frame: Frame, node: ast.For) -> Returned | None:
    if node.orelse:
        frame.wrong_syntax(
            node,
            "'else' of a for is not part of the tile language",
            why="nothing breaks out of a loop: it would always run",
            fix="write it after the loop",
        )
    function = evaluate(frame, node.iter.func) if isinstance(node.iter, ast.Call) else None
    if function is WORDS["steps"]:
        if frame.build.grid is None:
            _before_tile(frame, node.iter)
        pipelined(frame, node, run)
        return None
    turns = evaluate(frame, node.iter)
    if not isinstance(turns, range | tuple | list):
        frame.wrong_syntax(
            node.iter,
            "a for over something else than wl.steps, a range of known numbers, or a tuple",
            why="only the pipelined loop runs on the GPU; others are written out while reading",
            fix="for k in wl.steps(x.k)",
        )
    if len(turns) > MOST_TURNS:
        frame.wrong_syntax(
            node.iter,
            f"a for of {len(turns)} turns would be written out",
            why=f"at most {MOST_TURNS} turns of a plain for are",
            fix="a pipelined loop: for k in wl.steps(x.k)",
        )
    for turn in turns:
        _bind(frame, node.target, turn)
        done = run(frame, node.body)
        if done is not None:
            return done
    return None


def inline(
    frame: Frame,
    node: ast.Call,
    function: Callable[..., Any] | LocalFunction,
    args: list[Symbol],
    kwargs: dict[str, Symbol],
) -> Symbol:
    """A call of a Python function: its text, read in place, with its own lines."""
    if isinstance(function, LocalFunction):
        name, signature = function.name, function.signature
    else:
        name = getattr(function, "__name__", "function")
        signature = inspect.signature(function)
    if frame.depth >= MOST_DEEP:
        frame.wrong_syntax(
            node,
            f"'{name}' calls itself without end",
            why="calls are written out in place",
            fix="a recursion that ends on a choice known while reading",
        )
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as problem:
        frame.wrong_type(
            node,
            f"'{name}' does not take these arguments: {problem}",
            why="the function is read in place of the call",
            fix=f"its parameters are {signature}",
        )
    bound.apply_defaults()
    env, depth = dict(bound.arguments), frame.depth + 1
    if isinstance(function, LocalFunction):
        tree, around = function.tree, function.frame
        inner = replace(around, env=around.env | env, depth=depth, hints=())
    else:
        source = read_source(function)
        tree = source.tree
        inner = Frame(frame.build, source, function, env, depth, foreign=frame.foreign)
    if isinstance(tree, ast.Lambda):
        return evaluate(inner, tree.body)
    done = run(inner, tree.body)
    return None if done is None else done.value
