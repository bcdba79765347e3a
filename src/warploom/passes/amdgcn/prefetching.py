"""Tiles of the next step are loaded while the present one is multiplied.

What a loop loads by its variable alone is loaded one step ahead, into registers that the loop
carries. An iteration begins with what it was given: operands made of it go to LDS, then the loads
of the next step are issued, then everything else runs. LLVM waits for them where the next
iteration uses them first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warploom.ir import tile as ir
from warploom.ir.tile import Op, operands, results
from warploom.ir.waves import Kind, Operand
from warploom.passes.amdgcn import memory, products
from warploom.passes.amdgcn.layout import Layout, count_of
from warploom.passes.amdgcn.numbers import memory_word, register_kind
from warploom.passes.amdgcn.state import Fragment, packed, scalars

if TYPE_CHECKING:
    from warploom.passes.amdgcn.lowering import Lowering, Span


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Loads with the layouts they are needed in, and operands that are made of them alone."""

    loads: tuple[tuple[ir.Load, Layout], ...]
    operands: tuple[tuple[str, str, str], ...]
    shapes: list[Fragment]  # how each load's fragment is made up, known when it was emitted once


def plan_prefetch(
    low: Lowering, op: ir.Loop, requests: Iterable[tuple[int, str, str, str]]
) -> Prefetch | None:
    """What of a loop can be loaded ahead; None where nothing can."""
    made: dict[str, Op] = {v.name: inner for inner in op.body for v in results(inner)}
    carried = {c.inside.name for c in op.carried}
    wanted: dict[str, tuple[ir.Load, Layout]] = {}
    early = []
    for depth, name, row, k in requests:
        closure = _closure(name, made, carried)
        if depth != low.state.loop_depth + 1 or closure is None or name not in made:
            continue
        layout = low.plan.layout(low.plan.values[name].vars)
        maps = dict(layout)
        loads = [o for o in closure if isinstance(o, ir.Load)]
        if not loads or any(set(o.result.vars) - set(maps) for o in loads):
            continue
        early.append((name, row, k))
        for load in loads:
            own = tuple((v, m) for v, m in layout if v in load.result.vars)
            wanted[load.result.name] = (load, own)
    if not wanted:
        return None
    return Prefetch(tuple(wanted.values()), tuple(early), [])


def _closure(name: str, made: Mapping[str, Op], carried: set[str]) -> list[Op] | None:
    """The ops of a body that a value is made of; None where loads alone do not make it."""
    result: list[Op] = []
    left = [name]
    while left:
        now = left.pop()
        if now in carried:
            return None
        op = made.get(now)
        if op is None or op in result:
            continue
        if isinstance(op, ir.Dot | ir.Reduce | ir.Scan | ir.Loop | ir.Store):
            return None
        if isinstance(op, ir.Load) and any(n in made or n in carried for n in operands(op)):
            return None
        result.append(op)
        left += operands(op)
    return result


def load_step(
    low: Lowering, op: ir.Loop, ahead: Prefetch, at: Operand, end: Operand,
    span: Callable[[Operand], Span],
) -> list[tuple[Kind, Operand]]:  # fmt: skip
    """The loads of a step, where there is one: types and values in order."""
    kinds: list[Kind] = []

    def load() -> list[Operand]:
        before = low.spans.get(op.var)
        low.spans[op.var] = span(at)
        fragments = [memory.load(low, *each) for each in ahead.loads]
        if before is None:
            del low.spans[op.var]
        else:
            low.spans[op.var] = before
        if not ahead.shapes:
            ahead.shapes.extend(fragments)
        parts = [part for f in fragments for part in _parts(f)]
        kinds.extend(kind for kind, _ in parts)
        return [value for _, value in parts]

    some = low.text.compare("slt", at, end)
    names = low.either(some, load, lambda: [None] * len(kinds), lambda: kinds)
    low.prefetched = max(low.prefetched, len(ahead.loads))
    return list(zip(kinds, names, strict=True))


def _parts(frag: Fragment) -> list[tuple[Kind, Operand]]:
    if frag.vectors:
        return [(Kind(memory_word(kind), n), v) for v, n, kind in frag.vectors.values()]
    return [(register_kind(frag.dtype), e) for e in frag.elements]


def take(low: Lowering, ahead: Prefetch, names: Sequence[Operand]) -> None:
    """Begin an iteration with what was loaded for it."""
    at = 0
    for (load, layout), shape in zip(ahead.loads, ahead.shapes, strict=True):
        if shape.vectors:
            own = names[at : at + len(shape.vectors)]
            at += len(own)
            vectors = {
                start: (name, n, kind)
                for (start, (_, n, kind)), name in zip(shape.vectors.items(), own, strict=True)
            }
            made = packed(layout, shape.dtype, vectors)
        else:
            count = count_of(layout)
            made = scalars(layout, shape.dtype, list(names[at : at + count]))
            at += count
        low.state.keep((load.result.name, layout), made)
    for name, row, k in ahead.operands:
        products.operand(low, name, row, k)
