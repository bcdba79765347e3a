"""Join: steps whose results only one other step reads become part of it.

Fewer values are kept and fewer ops are placed, at the price of overlap: the joined step waits for
everything both waited for.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.ir.tile import Dot, Reduce, Store
from warploom.passes.body import Body, made_by
from warploom.passes.fuse import Step


def join(body: Body, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps with every chain of pointwise work in one."""
    out = list(steps)
    while True:
        pair = next(((a, b) for a in out for b in out if _joins(body, a, b, out)), None)
        if pair is None:
            return tuple(out)
        first, second = pair
        out[out.index(second)] = _joined(body, first, second)
        out.remove(first)


def _joins(body: Body, a: Step, b: Step, steps: list[Step]) -> bool:
    """Whether all that ``a`` makes is tiles that only ``b`` reads."""
    if a is b or a.when is not b.when or (a.rows, a.cols) != (b.rows, b.cols) or not a.results:
        return False
    if any(isinstance(op, Reduce) for op in (*a.ops, *b.ops)):
        return False
    if any(n in (c.first, c.last) for c in body.loop.carried for n in a.results):
        return False
    users = [u for n in a.results for _, u in body.users[n]]
    if any(isinstance(u, Dot | Store) for u in users):
        return False
    inside = {op.result.name for op in (*a.ops, *b.ops)}
    if any(made_by(u) not in inside for u in users):
        return False
    return all(r in b.reads or not _read(r, steps) for r in a.results)


def _read(name: str, steps: list[Step]) -> bool:
    return any(name in s.reads for s in steps)


def _joined(body: Body, a: Step, b: Step) -> Step:
    order = {made_by(op): i for i, op in enumerate(body.section(b.when))}
    ops = tuple(sorted((*a.ops, *b.ops), key=lambda op: order[op.result.name]))
    made = {op.result.name for op in ops}
    return replace(
        b,
        ops=ops,
        reads=tuple(r for r in dict.fromkeys((*a.reads, *b.reads)) if r not in made),
        loads=tuple(dict.fromkeys((*a.loads, *b.loads))),
    )
