"""Common parts computed once; what nothing needs removed."""

from __future__ import annotations

from dataclasses import fields, replace

from warploom.kernel.rewrite import rebuild, renamed
from warploom.kernel.values import Carried, Fn, Kernel, Loop, Op, Pointwise, Spread, Store, operands

_EITHER_WAY = {Fn.ADD, Fn.MUL, Fn.MIN, Fn.MAX, Fn.EQ, Fn.NE, Fn.AND, Fn.OR}


def share(kernel: Kernel) -> Kernel:
    """Equal operations on equal operands are one; the first stays.

    Inputs are never written, so loads count as equal operations. A loop's body may use what stands
    before the loop, not the other way round.
    """
    return replace(kernel, ops=_shared(kernel.ops, [], {}))


def _shared(
    ops: tuple[Op, ...], outer: list[dict[object, str]], names: dict[str, str]
) -> tuple[Op, ...]:
    here: dict[object, str] = {}
    scopes = [*outer, here]
    made: list[Op] = []
    for op in ops:
        if isinstance(op, Loop):
            body = _shared(op.body, scopes, names)
            made.append(renamed(replace(op, body=body), names))
            continue
        new = renamed(op, names)
        if isinstance(new, Store | Loop | Spread):  # spread values are copies on purpose
            made.append(new)
            continue
        key = _key(new)
        known = next((scope[key] for scope in scopes if key in scope), None)
        if known is None:
            here[key] = new.result.name
            made.append(new)
        else:
            names[new.result.name] = known
    return tuple(made)


def _key(op: Op) -> object:
    assert not isinstance(op, Loop | Store)
    parts = []
    for field in fields(op):
        part = getattr(op, field.name)
        if field.name == "result":
            part = (part.dims, part.dtype)
        elif field.name == "value":
            part = (type(part), repr(part))
        elif field.name == "args" and isinstance(op, Pointwise) and op.fn in _EITHER_WAY:
            part = tuple(sorted(part))
        parts.append(part)
    return (type(op), *parts)


def remove_dead(kernel: Kernel) -> Kernel:
    """Only what a store needs stays, carried values included."""
    live: set[str] = set()
    return replace(kernel, ops=_alive(kernel.ops, live))


def _alive(ops: tuple[Op, ...], live: set[str]) -> tuple[Op, ...]:
    made: list[Op] = []
    for op in reversed(ops):
        if isinstance(op, Loop):
            kept = _alive_loop(op, live)
            if kept is not None:
                made.append(kept)
                live.update(operands(kept))
        elif isinstance(op, Store) or op.result.name in live:
            made.append(op)
            live.update(operands(op))
    return tuple(reversed(made))


def _alive_loop(loop: Loop, live: set[str]) -> Loop | None:
    """A carried value is needed if its result is, or if what is needed reads it inside."""
    needed: set[str] = {c.inside.name for c in loop.carried if c.result.name in live}
    while True:
        inner = {c.last for c in loop.carried if c.inside.name in needed}
        body = _alive(loop.body, inner)
        more = {c.inside.name for c in loop.carried if c.inside.name in inner} | needed
        if more == needed:
            break
        needed = more
    carried: tuple[Carried, ...] = tuple(c for c in loop.carried if c.inside.name in needed)
    if not carried and not any(isinstance(op, Store) for op in body):
        return None
    live.update(inner)
    return replace(loop, body=body, carried=carried)


def without_copies(kernel: Kernel) -> Kernel:
    """Carried values that no step changes are what they were before the loop."""
    names: dict[str, str] = {}

    def visit(op: Op) -> Op:
        if not isinstance(op, Loop):
            return op
        same = {c.inside.name: c.first for c in op.carried if c.last == c.inside.name}
        names.update({c.result.name: c.first for c in op.carried if c.last == c.inside.name})
        kept = tuple(c for c in op.carried if c.inside.name not in same)
        new = renamed(replace(op, carried=kept), same)
        return new

    return replace(kernel, ops=rebuild(kernel.ops, visit, names))
