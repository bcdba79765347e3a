"""Whether a tile of zeros leaves no trace of its iteration.

Where a condition makes a tile 0 and everything that leaves the iteration is a sum of products with
it, an iteration that hides all elements need not be run.
"""

from __future__ import annotations

from warploom.ir.tile import Dot, Fn, Op, Pointwise, Store, Transpose, results
from warploom.passes.body import Body

KEEP_ZERO = {Fn.CAST, Fn.NEG, Fn.MUL}


def leaves_no_trace(body: Body, name: str) -> bool:
    """Whether nothing carried or stored changes in an iteration whose value ``name`` is 0."""
    zero = _zeros(body, name)
    for c in body.loop.carried:
        last = body.ops.get(c.last)
        adds = isinstance(last, Dot) and last.into == c.inside.name
        if c.last != c.inside.name and not (adds and _vanishes(last, zero)):
            return False
    stores = [op for op in body.loop.body if isinstance(op, Store)]
    return all(op.add and op.value in zero for op in stores)


def _zeros(body: Body, name: str) -> set[str]:
    """Values of the loop that are 0 where ``name`` is 0."""
    zero = {name}
    for op in body.loop.body:
        if _stays_zero(op, zero):
            zero |= {v.name for v in results(op)}
    return zero


def _stays_zero(op: Op, zero: set[str]) -> bool:
    match op:
        case Pointwise():
            return op.fn in KEEP_ZERO and bool(zero & {*op.args})
        case Transpose():
            return op.arg in zero
        case Dot():
            return op.into is None and _vanishes(op, zero)
        case _:
            return False


def _vanishes(op: object, zero: set[str]) -> bool:
    return isinstance(op, Dot) and bool(zero & {op.a, op.b})
