"""Steps of a loop, for all bounds: every element from the first to the last in one step.

A loop walks from ``first`` to ``end``, whatever these are. Its steps are ``first + extent * t`` (or
the same from the last one back), and there are ``ceil((end - first) / extent)`` of them, or as many
as the code runs at least; those past the end bring zeros. That is tried for every distance of three
periods, from several first elements; larger distances follow, as the expressions change evenly.
CTAs that share a loop take successive shares of its steps.
"""

from __future__ import annotations

from collections.abc import Iterator

from warploom.ir.expr import (
    Apply,
    Const,
    Element,
    IntExpr,
    Select,
    Sym,
    evaluate,
    linear,
    nodes,
    rewrite,
    substitute,
    symbols,
)
from warploom.ir.module import KernelModule, LoopPhase, TileLoop
from warploom.ir.tile_schedule import PART, Bound, let
from warploom.verify.coverage.report import Claim, Finding, How

TRIPS, BACKWARDS = let("trips"), let("backwards")
FIRSTS = (0, 64, 1000)
PERIODS = 3

Made = Iterator[Claim | Finding]


def verify_trips(module: KernelModule) -> Made:
    """The steps of every loop of a tile."""
    role = module.roles[0]
    if role.tiles.schedule.rows:
        return
    for earlier in role.earlier:
        yield from _loop(earlier, 1)
    yield from _loop(role.tiles, role.tiles.schedule.split)


def _loop(loop: TileLoop | LoopPhase, split: int) -> Made:
    for function in loop.functions:
        if any(isinstance(x, Element) for x in nodes(function.value)):
            yield Claim(
                what=f"{function.name} walks a list of tiles",
                how=How.CLASSES,
                argument="data of the call decides it; executed by verify_dataflow",
            )
            continue
        own = frozenset(x.name for x in loop.bounds if x.bound is Bound.OWN)
        extent, wrong = step_of(function.value, function.parameter, own)
        if wrong:
            yield Finding(what=wrong, where=f"{function.name} = {function.value}")
            return
        named = {x.bound: x.name for x in loop.bounds}
        first, end = named.get(Bound.FIRST), named.get(Bound.END)
        if first is None or end is None or first not in symbols(function.value):
            yield Finding(what="a loop without bounds", where=function.name)
            return
        wrong = (
            _counted(loop, first, end, extent)
            if split == 1
            else _shared(loop, first, end, extent, split)
        )
        if wrong:
            yield Finding(what=wrong, where=f"trips = {loop.trips}")
            return
        yield Claim(
            what=f"steps of {extent} take every element from {first.name} to {end.name} once",
            how=How.ALL,
            argument=f"distances of {PERIODS} periods one by one; they change evenly"
            + (f"; {split} CTAs take successive shares" if split > 1 else ""),
        )


def step_of(value: IntExpr, parameter: Sym, own: frozenset[Sym] = frozenset()) -> tuple[int, str]:
    """The extent of a step; what is wrong with it. ``own``: how many elements a part has."""
    value = _own_steps(value, own)
    extents = set()
    for backwards in (0, 1):
        fixed = _decided(substitute(value, {BACKWARDS: Const(backwards)}))
        form = linear(fixed)
        if form is None:
            return 0, "not an even step"
        per = form.factor(parameter)
        rest = {s: f for s, f in form.factors if s not in (parameter, TRIPS)}
        if list(rest.values()) != [1]:
            return 0, "steps that do not begin at the loop's first element"
        forwards = per > 0 and form.constant == 0 and not form.factor(TRIPS)
        back = per < 0 and form.factor(TRIPS) == -per == -form.constant
        if not forwards and not back:
            return 0, "steps that are not 0, 1, .. trips - 1 in some order"
        extents.add(abs(per))
    if len(extents) != 1:
        return 0, "steps of two lengths"
    return extents.pop(), ""


def _own_steps(value: IntExpr, own: frozenset[Sym]) -> IntExpr:
    """Of single steps the one that exists: others lie past the end of all."""
    if not isinstance(value, Select):
        return value
    return value if own.isdisjoint(symbols(value.condition)) else value.then


def _decided(expr: IntExpr) -> IntExpr:
    def change(node: IntExpr) -> IntExpr | None:
        if isinstance(node, Select) and isinstance(node.condition, Const):
            return _decided(node.then if node.condition.value else node.otherwise)
        return None

    return rewrite(expr, change)


def _opaque(expr: IntExpr) -> bool:
    return any(isinstance(x, Apply | Element) for x in nodes(expr))


def _counted(loop: TileLoop | LoopPhase, first: Sym, end: Sym, extent: int) -> str:
    if _opaque(loop.trips):
        return "a trip count that memory decides"
    for begin in FIRSTS:
        for distance in range(PERIODS * extent * (loop.least_trips + 2)):
            found = evaluate(loop.trips, {first: begin, end: begin + distance})
            if found != max(-(-distance // extent), loop.least_trips):
                return f"{found} steps of {extent} for {distance} elements"
    return ""


def _shared(loop: TileLoop | LoopPhase, first: Sym, end: Sym, extent: int, split: int) -> str:
    """CTAs that share a loop: their steps are those of the loop, each once."""
    names = [x.name for x in loop.bounds]
    ends = len(names) - 1 - names[::-1].index(end)
    after = loop.bounds[ends + 1 :]
    for begin in FIRSTS[:2]:
        longest = extent * split * PERIODS * max(1, loop.least_trips) + 2
        for distance in range(0, longest, max(1, extent // 4)):
            taken: list[int] = []
            steps = -(-distance // extent)
            for part in range(split):
                values = {first: begin, end: begin + distance, PART: part}
                for bound in after:
                    values[bound.name] = evaluate(bound.value, values)
                trips = evaluate(loop.trips, values)
                at = values[first] - begin
                if at % extent:
                    return f"part {part} of {distance} elements begins in the middle of a step"
                own = range(at // extent, at // extent + trips)
                taken += [t for t in own if t < steps]
            if sorted(taken) != list(range(steps)):
                return f"{split} parts of {distance} elements do not take each step once"
    return ""


__all__ = ["step_of", "verify_trips"]
