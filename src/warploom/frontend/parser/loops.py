"""The pipelined loop: names bound again in its body are carried from step to step."""

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from warploom.dataclass import dataclass
from warploom.errors import KernelShapeError, KernelTypeError
from warploom.frontend.parser.arith import pointwise, value_of
from warploom.frontend.parser.expressions import evaluate
from warploom.frontend.parser.state import Frame, Gone, SizeOf, Symbol, is_static, shape
from warploom.frontend.rewrite import renamed
from warploom.ir import tile as ir
from warploom.ir.tile import Access, DType, Fn, Op, Walk, is_number, operands, results, walk

UNIT = 128  # elements that parts of steps of any size are cut by
Run = Callable[[Frame, list[ast.stmt]], Any]


@dataclass(frozen=True, slots=True)
class _Bounds:
    axis: SizeOf
    extent: int | None
    start: str | None
    until: str | None
    lists: tuple[ir.Tiles, ...]
    part: str | None
    share: tuple[str, str] | None


def pipelined(frame: Frame, node: ast.For, run: Run) -> None:
    """``for k in wl.steps(x.k):``."""
    build = frame.build
    if not isinstance(node.target, ast.Name):
        frame.wrong_syntax(node.target, "wl.steps gives one variable", fix="for k in")
    assert isinstance(node.iter, ast.Call)
    bounds = _bounds(frame, node.iter)
    var = ir.Var(
        name=build.fresh(node.target.id),
        axis=bounds.axis.axis,
        walk=Walk.STEP,
        extent=bounds.extent,
    )
    build.vars[var.name] = var
    names = {node.target.id, *_bound(node.body)}
    first = _enter(frame, node, names)
    inside = {name: frame.env[name] for name in first}
    frame.env[node.target.id] = var
    build.scopes.append([])
    build.shared.append({})
    around = (build.loop, build.shifted, build.part, build.has_whole)
    build.outer = (*build.outer, build.loop) if build.loop is not None else build.outer
    build.loop = var
    build.shifted = bounds.start is not None
    build.part = bounds.part
    build.has_whole = any(x.whole for x in bounds.lists)
    outer_stops, running = build.stops, build.running
    build.stops = []
    if run(frame, node.body) is not None:
        frame.wrong_syntax(node, "a return inside a loop", fix="return after the loop")
    stop = _stopped(frame, node, inside)
    build.stops, build.running = outer_stops, running
    build.loop, build.shifted, build.part, build.has_whole = around
    build.outer = build.outer[:-1] if build.loop is not None else ()
    build.shared.pop()
    body = build.scopes.pop()
    stores = any(isinstance(op, ir.Store) for op in walk(tuple(body)))
    carried, body, stop = _leave(frame, node, first, inside, body, stop)
    _forget(frame, node, names - {c for c, _ in carried})
    if not carried and not stores:
        frame.wrong_syntax(
            node,
            "the loop has no effect",
            why="it stores nothing, and changes no value that was there before it",
            fix="start a sum before it (acc = wl.zeros(m, n)) and add to it in the loop",
        )
    build.emit(
        ir.Loop(
            var=var.name,
            carried=tuple(c for _, c in carried),
            body=tuple(body),
            start=bounds.start,
            until=bounds.until,
            lists=bounds.lists,
            line=frame.line(node),
            stop=stop,
            share=bounds.share,
        )
    )


def _bound(body: list[ast.stmt]) -> set[str]:
    """Names that statements give a value; those of comprehensions and functions are their own."""
    nodes = [n for statement in body for n in ast.walk(statement)]
    scopes: list[ast.AST] = [n.target for n in nodes if isinstance(n, ast.comprehension)]
    scopes += [n for n in nodes if isinstance(n, ast.FunctionDef)]
    own = {id(n) for scope in scopes for n in ast.walk(scope)}
    names = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return {n.id for n in names if id(n) not in own}


def _stopped(frame: Frame, node: ast.For, inside: dict[str, ir.Value]) -> str | None:
    """The condition after which a loop ends; names have the values they had at its break."""
    found: Symbol = None
    for test, names in reversed(frame.build.stops or []):
        for name in inside:
            was, now = names.get(name), frame.env.get(name)
            if was is not now and isinstance(was, ir.Value) and isinstance(now, ir.Value):
                frame.env[name] = pointwise(frame, node, Fn.WHERE, test, was, now)
        found = test if found is None else pointwise(frame, node, Fn.OR, test, found)
    return found.name if found is not None else None


def _bounds(frame: Frame, node: ast.Call) -> _Bounds:
    args = [evaluate(frame, a) for a in node.args]
    kwargs = {k.arg: evaluate(frame, k.value) for k in node.keywords}
    axis = args[0] if args else None
    strange = set(kwargs) - {"start", "until", "some", "whole", "part"}
    if not isinstance(axis, SizeOf) or len(args) > 2 or strange:
        frame.wrong_type(
            node,
            f"wl.steps has no argument '{min(map(str, strange))}'"
            if strange
            else "wl.steps takes the size of an axis (and the elements a step)",
            why="a loop walks an axis of a tensor",
            fix="wl.steps(x.k), wl.steps(x.k, 128), wl.steps(x.k, start=a, until=b), "
            "wl.steps(x.k, 128, some=(tiles, counts)), wl.steps(x.c, 1, part=p)",
        )
    if frame.build.tensors[axis.tensor].axis(axis.axis).per != 1:
        frame.wrong_type(
            node,
            f"wl.steps over the blocks of '{axis.axis}'",
            why="a loop walks elements; the axis of blocks is indexed by the same variable",
            fix=f"the size of a plain axis '{axis.axis}'",
        )
    extent = args[1] if len(args) == 2 else None
    if extent is not None and not (type(extent) is int and extent > 0):
        frame.wrong_type(
            node,
            f"{extent!r} elements a step" if is_static(extent) else "a step of unknown size",
            why="the size of a step shapes the kernel",
            fix="a positive number known while reading: wl.steps(x.k, 128)",
        )
    if kwargs.get("until") == axis:
        del kwargs["until"]
    part = kwargs.get("part")
    parts = _parts(frame, node, part) if part is not None else None
    listed = bool(kwargs.keys() & {"some", "whole"})
    if parts is not None and not listed:
        kwargs |= _part(frame, node, axis, extent, kwargs, parts)
    if frame.build.running is not None and not (kwargs.keys() & {"some", "whole"}):
        until = axis if kwargs.get("until") is None else kwargs["until"]
        kwargs["until"] = pointwise(frame, node, Fn.WHERE, frame.build.running, until, 0)
    start, until = (
        _bound_value(frame, node, name, kwargs.get(name)) for name in ("start", "until")
    )
    bounds = start, until
    lists = tuple(
        _tiles(frame, node, kwargs[name], whole=name == "whole")
        for name in ("whole", "some")
        if kwargs.get(name) is not None
    )
    if lists and (extent is None or start or until):
        frame.wrong_type(
            node,
            "a list of tiles without their size"
            if extent is None
            else "a list of tiles and bounds",
            why="a list names tiles of a stated size, and it alone says which are walked",
            fix="wl.steps(x.k, 128, some=(tiles, counts)), and a condition that hides the rest",
        )
    own = part.name if part is not None else _group_of(frame, bounds)
    share = None
    if parts is not None and lists:
        share = (value_of(frame, node, part).name, value_of(frame, node, parts).name)
    return _Bounds(axis, extent, start, until, lists, own, share)


def _group_of(frame: Frame, bounds: tuple[str | None, str | None]) -> str | None:
    """The number of the grid whose group a loop walks: from ``starts[b]`` to ``starts[b + 1]``."""
    loads = [frame.build.made.get(name) for name in bounds if name is not None]
    found = [op for op in loads if isinstance(op, ir.Load)]
    if len(found) != 2 or found[0].tensor != found[1].tensor:
        return None
    if frame.build.tensors[found[0].tensor].access is not Access.STARTS:
        return None
    first, after = (op.at[0] for op in found)
    more = frame.build.made.get(after.value or "")
    if not isinstance(more, ir.Pointwise) or more.fn is not Fn.ADD:
        return None
    numbers = [frame.build.made.get(name) for name in more.args]
    places = {op.var for op in numbers if isinstance(op, ir.Position)}
    ones = [op for op in numbers if isinstance(op, ir.Const) and op.value == 1]
    own = first.var
    if own is None:
        made = frame.build.made.get(first.value or "")
        own = made.var if isinstance(made, ir.Position) else None
    return own if own is not None and places == {own} and len(ones) == 1 else None


def _parts(frame: Frame, node: ast.Call, var: Symbol) -> SizeOf:
    """How many parts there are: as many as the grid's axis of the number has elements."""
    grid = frame.build.grid
    if not (isinstance(var, ir.Var) and var.name in grid.vars and is_number(var)):
        frame.wrong_type(
            node,
            "part= is no number of the grid",
            why="a part is a share of the steps, one for each number of an axis of the grid",
            fix='wl.steps(x.c, part=p) with out: wl.Out["p", "m", "n"] and p, m, n = wl.tile(out)',
        )
    holders = (t for t in frame.build.tensors.values() if t.access is not Access.STARTS)
    holder = next(t for t in holders if any(a == ir.Axis(name=var.axis) for a in t.axes))
    return SizeOf(grid.tensor or holder.name, var.axis)


def _part(
    frame: Frame,
    node: ast.Call,
    axis: SizeOf,
    extent: int | None,
    given: dict[Any, Symbol],
    parts: SizeOf,
) -> dict[Any, Symbol]:
    """``part=p``: equal parts of whole steps, from ``start`` to ``until`` (the last ones may be
    shorter, or empty), of which a tile walks its own.
    """

    def of(fn: Fn, a: Symbol, b: Symbol) -> ir.Value:
        return pointwise(frame, node, fn, a, b)

    first, until = given.get("start"), given.get("until")
    end: Symbol = axis if until is None else of(Fn.MIN, axis, until)
    first = None if first is None else of(Fn.MAX, first, 0)
    length: Symbol = end if first is None else of(Fn.MAX, of(Fn.SUB, end, first), 0)
    unit = extent or UNIT
    steps = length if unit == 1 else of(Fn.FLOORDIV, of(Fn.ADD, length, unit - 1), unit)
    each = of(Fn.FLOORDIV, of(Fn.ADD, steps, of(Fn.SUB, parts, 1)), parts)
    each = each if unit == 1 else of(Fn.MUL, each, unit)
    start = of(Fn.MUL, given["part"], each)
    start = start if first is None else of(Fn.ADD, start, first)
    last = of(Fn.ADD, start, each)
    return {"start": start, "until": last if until is None else of(Fn.MIN, last, end)}


def _tiles(frame: Frame, node: ast.Call, given: Symbol, *, whole: bool) -> ir.Tiles:
    """``some=(tiles, counts)``: tensors over axes of the grid, the list's own axis last."""
    pair: tuple[Any, Any] = given if isinstance(given, tuple) and len(given) == 2 else (None, None)
    tiles, counts = pair
    good = all(isinstance(t, ir.Tensor) and t.dtype is DType.I32 for t in pair)
    grid = frame.build.grid
    if good and grid is not None and grid.kind == "tiles":
        walked = {frame.build.vars[n].axis: frame.build.vars[n].extent for n in grid.vars}
        good = tiles.axes[:-1] == counts.axes and all(
            (extent := walked.get(a.name)) is not None and a.per % extent == 0 for a in counts.axes
        )
    else:
        good = False
    if not good:
        frame.wrong_type(
            node,
            f"{'whole' if whole else 'some'}= is no list of tiles for every tile of the grid",
            why="it takes numbers of tiles and how many of them count, whose axes the grid walks",
            fix='some=(tiles, counts) with tiles: wl.In["b", "s/128", "n", wl.i32], '
            'counts: wl.In["b", "s/128", wl.i32] and tiles of as many rows: rows=128',
        )
    return ir.Tiles(tensor=tiles.name, counts=counts.name, whole=whole)


def _bound_value(frame: Frame, node: ast.Call, name: str, symbol: Symbol) -> str | None:
    if symbol is None:
        return None
    value = value_of(frame, node, symbol)
    kind = frame.build.kind(value)
    if value.dims or kind is not DType.I32:
        frame.wrong_type(
            node,
            f"{name}= of shape {shape(value)} and type {kind}",
            why="a bound of a loop is one whole number",
            fix="e.g. until=wl.index(s).max() + 1",
        )
    return value.name


def _enter(frame: Frame, node: ast.For, names: set[str]) -> dict[str, ir.Value]:
    """Names bound before and again in the body become carried values, for now."""
    assert isinstance(node.target, ast.Name)
    first: dict[str, ir.Value] = {}
    for name in sorted(names - {node.target.id}):
        symbol = frame.env.get(name)
        if symbol is None or isinstance(symbol, Gone):
            frame.env.pop(name, None)
            continue
        number = isinstance(symbol, int | float) and not isinstance(symbol, bool)
        if not isinstance(symbol, ir.Value) and not number and is_static(symbol):
            frame.env[name] = Gone(
                "it is bound again in this loop, and what it was before is no value",
                "another name in the loop",
            )
            continue
        if not isinstance(symbol, ir.Value) and not number:
            continue  # a tensor or a variable: binding it again is checked where that happens
        value = value_of(frame, node, symbol)
        first[name] = value
        inside = replace(value, name=frame.build.fresh(f"{name}_in"))
        if value.name in frame.build.unsigned:
            frame.build.unsigned.add(inside.name)
        frame.build.depends[inside.name] = frozenset(value.vars)
        frame.env[name] = inside
    return first


def _leave(
    frame: Frame,
    node: ast.For,
    first: dict[str, ir.Value],
    inside: dict[str, ir.Value],
    body: list[Op],
    stop: str | None,
) -> tuple[list[tuple[str, ir.Carried]], list[Op], str | None]:
    """Which names are carried after all; the others are what they were."""
    used = {o for op in walk(tuple(body)) for o in operands(op)} | ({stop} if stop else set())
    lasts = {n: frame.env.get(n) for n in first}
    used |= {v.name for n, v in lasts.items() if isinstance(v, ir.Value) and v is not inside[n]}
    same: dict[str, str] = {}
    carried: list[tuple[str, ir.Carried]] = []
    for name, was in first.items():
        last = lasts[name]
        if last is inside[name]:
            same[last.name] = was.name
            frame.env[name] = was
            continue
        number = isinstance(last, int | float)
        kind = frame.build.kind
        last = value_of(frame, node, last, kind(was) if number else None)
        if (last.dims, kind(last)) != (was.dims, kind(was)):
            if inside[name].name in used:
                _changed(frame, node, name, was, last)
            why = f"the loop before gave it another shape or type ({shape(last)}, {kind(last)})"
            frame.env[name] = Gone(why, "another name in the loop")
            continue
        result = replace(was, name=frame.build.fresh(f"{name}_out"), line=frame.line(node))
        frame.build.depends[result.name] = frozenset(result.vars)
        if was.name in frame.build.unsigned:
            frame.build.unsigned.add(result.name)
        frame.env[name] = result
        carried.append(
            (name, ir.Carried(inside=inside[name], first=was.name, last=last.name, result=result))
        )
    body = [renamed(op, same) for op in body]
    carried = [(n, replace(c, last=same.get(c.last, c.last))) for n, c in carried]
    return carried, body, same.get(stop, stop) if stop else None


def _changed(frame: Frame, node: ast.For, name: str, was: ir.Value, last: ir.Value) -> None:
    place = next(
        (
            part
            for part in ast.walk(ast.Module(node.body, []))
            if isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store)
        ),
        node,
    )
    shapes, kind = last.dims != was.dims, frame.build.kind
    frame.fail(
        KernelShapeError if shapes else KernelTypeError,
        place,
        f"'{name}' changes its {'shape' if shapes else 'type'} in the loop: from "
        + (f"{shape(was)} to {shape(last)}" if shapes else f"{kind(was)} to {kind(last)}"),
        why="a value carried from step to step keeps its shape and type",
        fix=f"begin with {name} = wl.zeros({', '.join(last.vars)})"
        if shapes and not was.dims
        else f"begin with {name} = {name}.to(wl.{kind(last)}), or convert in the loop"
        if not shapes
        else "sum or contract the axes that are new",
    )


def _forget(frame: Frame, node: ast.For, names: set[str]) -> None:
    assert isinstance(node.target, ast.Name)
    for name in names:
        symbol = frame.env.get(name)
        if name == node.target.id:
            frame.env[name] = Gone("it is the variable of the loop before", "use it in that loop")
        elif isinstance(symbol, ir.Value) and _is_inner(frame, symbol):
            frame.env[name] = Gone(
                "it is made only in the loop before, which may run no step",
                f"give '{name}' a value before the loop",
            )


def _is_inner(frame: Frame, value: ir.Value) -> bool:
    """Whether a value was made in the loop that was just left."""
    outer = {r.name for scope in frame.build.scopes for op in scope for r in results(op)}
    return value.name not in outer
