"""A kernel simplified: constants folded, common parts shared, the unneeded removed or moved."""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace

import numpy as np

from warploom.errors import ConfigError
from warploom.frontend.pointwise import FUNCTIONS
from warploom.frontend.rewrite import definitions, rebuild, renamed, uses, values_of
from warploom.frontend.simplify.base2 import exp_to_exp2
from warploom.ir import tile as ir
from warploom.ir.tile import (
    Broadcast,
    Carried,
    Const,
    DType,
    Fn,
    Kernel,
    Loop,
    Op,
    Pointwise,
    Store,
    Transpose,
    Value,
    operands,
    walk,
)

_SUMS = {DType.F32, DType.I32}
_NARROW = {DType.BF16, DType.F16, DType.E4M3, DType.E5M2}


def fold(kernel: Kernel) -> Kernel:
    """``2 * 3`` is 6; ``x * 1``, ``x + 0``, ``where(True, x, y)``, ``x.T.T`` are x."""
    made: dict[str, Op] = {}
    values = values_of(kernel)

    def visit(op: Op) -> Op | str:
        new = _folded(op, made, values) if isinstance(op, Pointwise | Transpose | Broadcast) else op
        if not isinstance(new, str | Loop | Store):
            made[new.result.name] = new
        return new

    return replace(kernel, ops=rebuild(kernel.ops, visit))


def _folded(
    op: Pointwise | Transpose | Broadcast, made: Mapping[str, Op], values: Mapping[str, Value]
) -> Op | str:
    if isinstance(op, Transpose):
        inner = made.get(op.arg)
        return inner.arg if isinstance(inner, Transpose) else op
    if isinstance(op, Broadcast):
        inner = made.get(op.arg)
        return replace(op, arg=inner.arg) if isinstance(inner, Broadcast) else op
    args = [made.get(a) for a in op.args]
    if op.fn is Fn.CAST:
        return _cast(op, args[0], values)
    if op.code is None and all(isinstance(a, Const) for a in args):
        number = _number(op, [a.value for a in args if isinstance(a, Const)])
        return Const(result=op.result, value=number) if number is not None else op
    keep = _kept([a.value if isinstance(a, Const) else None for a in args], op.fn)
    if keep is None:
        return op
    arg = op.args[keep]
    same = values[arg].dims == op.result.dims
    return arg if same else Broadcast(result=op.result, arg=arg)


def _cast(op: Pointwise, arg: Op | None, values: Mapping[str, Value]) -> Op | str:
    """There and back is nowhere: f32 holds every value of the narrow floats."""
    if isinstance(arg, Const) and op.result.dtype is DType.F32:
        return Const(result=op.result, value=float(arg.value))
    if isinstance(arg, Pointwise) and arg.fn is Fn.CAST and arg.result.dtype is DType.F32:
        before = values[arg.args[0]]
        if before.dtype is op.result.dtype and before.dtype in _NARROW:
            return before.name
    return op


def _number(op: Pointwise, values: list[float | int | bool]) -> float | int | bool | None:
    with np.errstate(all="ignore"):
        number = FUNCTIONS[op.fn](*(np.asarray(v) for v in values)).item()
    if op.result.dtype is DType.BOOL:
        return bool(number)
    if op.result.dtype is DType.I32:
        return int(number) if -(2**31) <= number < 2**31 else None
    return None if math.isnan(number) else float(number)


def _kept(values: list[float | int | bool | None], fn: Fn) -> int | None:  # noqa: PLR0911
    """Which operand the result is, where the numbers among them say so."""
    match fn, values:
        case ((Fn.MUL | Fn.DIV | Fn.FLOORDIV), [_, 1]):
            return 0
        case ((Fn.ADD | Fn.SUB), [_, 0]):
            return 0
        case (Fn.MUL, [1, _]) | (Fn.ADD, [0, _]):
            return 1
        case Fn.WHERE, [bool() as chosen, _, _]:
            return 1 if chosen else 2
        case ((Fn.AND | Fn.OR), [bool() as one, _]):
            return 1 if one is (fn is Fn.AND) else 0
        case ((Fn.AND | Fn.OR), [_, bool() as one]):
            return 0 if one is (fn is Fn.AND) else 1
        case _:
            return None


def hoist(kernel: Kernel) -> Kernel:
    """Ops of a loop that depend neither on its variable nor on carried values stand before it."""
    made: list[Op] = []
    for op in kernel.ops:
        if not isinstance(op, ir.Loop):
            made.append(op)
            continue
        moving = {c.inside.name for c in op.carried}
        stay: list[Op] = []
        for inner in op.body:
            if isinstance(inner, ir.Store | ir.Loop) or _moves(inner, op.var, moving):
                stay.append(inner)
                moving.update(v.name for v in ir.results(inner))
            else:
                made.append(inner)
        made.append(replace(op, body=tuple(stay)))
    return replace(kernel, ops=tuple(made))


def _moves(op: Op, var: str, moving: set[str]) -> bool:
    assert not isinstance(op, ir.Store | ir.Loop)
    named = {getattr(op, "var", None), *(a.var for a in getattr(op, "at", ())), *op.result.vars}
    return var in named or any(o in moving for o in operands(op))


def accumulate(kernel: Kernel) -> Kernel:
    """``into + a @ b`` is one product that adds to ``into``, where nothing else reads a @ b.

    ``into`` is computed: what was loaded is not where products add.
    """
    counts = uses(kernel.ops)
    made = definitions(kernel.ops)
    values = values_of(kernel)
    loops = [op for op in walk(kernel.ops) if isinstance(op, ir.Loop)]
    scopes = [kernel.ops, *(loop.body for loop in loops)]
    place = {id(op): n for n, ops in enumerate(scopes) for op in ops}
    gone: set[str] = set()
    joined: dict[str, ir.Dot] = {}
    for op in walk(kernel.ops):
        if not (isinstance(op, ir.Pointwise) and op.fn is Fn.ADD and op.result.dtype in _SUMS):
            continue
        for dot_name, into in (op.args[::-1], op.args):
            dot = made.get(dot_name)
            if (
                isinstance(dot, ir.Dot)
                and dot.into is None
                and dot_name != into
                and counts[dot_name] == 1
                and dot_name not in gone
                and place[id(dot)] == place[id(op)]
                and isinstance(made.get(into), ir.Dot | ir.Pointwise | ir.Loop)
                and values[into].dims == values[dot_name].dims == op.result.dims
            ):
                gone.add(dot_name)
                joined[op.result.name] = replace(dot, result=op.result, into=into)
                break

    def scope(ops: tuple[Op, ...]) -> tuple[Op, ...]:
        kept: list[Op] = []
        for op in ops:
            if isinstance(op, ir.Loop):
                kept.append(replace(op, body=scope(op.body)))
            elif isinstance(op, ir.Store):
                kept.append(op)
            elif op.result.name not in gone:
                kept.append(joined.get(op.result.name, op))
        return tuple(kept)

    return replace(kernel, ops=scope(kernel.ops))


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
        if isinstance(new, Store | Loop | Broadcast):  # spread values are copies on purpose
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
        inner |= {loop.stop} if loop.stop else set()
        body = _alive(loop.body, inner)
        more = {c.inside.name for c in loop.carried if c.inside.name in inner} | needed
        if more == needed:
            break
        needed = more
    carried: tuple[Carried, ...] = tuple(c for c in loop.carried if c.inside.name in needed)
    if not carried and not any(isinstance(op, Store) for op in ir.walk(body)):
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
        return renamed(replace(op, carried=kept), same)

    return replace(kernel, ops=rebuild(kernel.ops, visit, names))


Rewrite = Callable[[Kernel], Kernel]

REWRITES: dict[str, Rewrite] = {
    "fold": fold,
    "share": share,
    "hoist": hoist,
    "exp2": exp_to_exp2,
    "copies": without_copies,
    "accumulate": accumulate,
    "dead": remove_dead,
}
# Scaled factors make new constants to fold and share; sums of products are joined when no other
# rewrite can still tell the product apart.
ORDER = (
    *("fold", "copies", "share", "hoist", "exp2"),
    *("fold", "share", "hoist", "dead", "accumulate"),
)


def simplify(kernel: Kernel, *, without: Collection[str] = ()) -> Kernel:
    """The kernel after all rewrites but those left out."""
    for name in without:
        if name not in REWRITES:
            raise ConfigError(
                f"no rewrite is called '{name}'",
                where="argument without",
                fix=f"one of {', '.join(REWRITES)}",
            )
    for name in ORDER:
        if name not in without:
            kernel = REWRITES[name](kernel)
    return kernel
