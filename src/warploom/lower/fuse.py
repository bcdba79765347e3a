"""Fuse: vector work becomes steps, the units a schedule places.

Ops that wait for the same products and the same reductions run together: their elements stay in
registers of one loop. A step is cut where overlap can pay: before what needs another product, after
a reduction (whose result its own elements cannot use), and before the conversion of an operand.

A step runs its row ops that need no reduction, then its elements, then reductions and the row ops
that follow from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from warploom.document.flow import When
from warploom.kernel.values import (
    Dot,
    Fn,
    Load,
    Op,
    Pointwise,
    Reduce,
    Spread,
    Store,
    operands,
)
from warploom.lower.body import Body, refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Vector work on the tile ``rows`` x ``cols`` (``cols`` None: on row vectors only).

    ``reads`` and ``results`` are the values it takes from elsewhere and leaves for others.
    ``loads`` are tiles in shared memory or of global memory it reads element by element.
    """

    name: str
    when: When
    ops: tuple[Pointwise | Reduce | Spread, ...]
    rows: str | None
    cols: str | None
    reads: tuple[str, ...]
    results: tuple[str, ...]
    loads: tuple[str, ...] = ()


class _Key(NamedTuple):
    products: frozenset[str]
    level: int
    dims: tuple[str, ...]
    converts: bool


class _Facts(NamedTuple):
    """What an op's result waits for: products, the level its elements run at, and the level at
    which it can be used (one more after a reduction).
    """

    products: frozenset[str]
    ready: int


def fuse(body: Body) -> tuple[Step, ...]:
    """The steps of head, loop and tail, in an order that respects their values."""
    steps: list[Step] = []
    for when in When:
        steps += _section(body, when)
    return tuple(steps)


def stored_inline(body: Body) -> frozenset[str]:
    """Tiles of the tail that only stores need: they are computed where they are stored."""
    found: set[str] = set()
    for op in reversed(body.tail):
        if not isinstance(op, Pointwise | Spread) or len(op.result.dims) != 2:
            continue
        users = [u for _, u in body.users[op.result.name]]
        if users and all(
            isinstance(u, Store) or (hasattr(u, "result") and u.result.name in found)
            for u in users
        ):
            found.add(op.result.name)
    return frozenset(found)


def _section(body: Body, when: When) -> list[Step]:
    inline = stored_inline(body) if when is When.TAIL else frozenset()
    facts: dict[str, _Facts] = {}
    groups: dict[_Key, list[Op]] = {}
    home: dict[str, _Key] = {}
    loose: list[Op] = []  # row ops of nothing computed here: they join their first user
    for op in body.section(when):
        if isinstance(op, Store) or (hasattr(op, "result") and op.result.name in inline):
            continue
        if isinstance(op, Dot):
            name = op.result.name
            facts[name] = _Facts(_waits(body, op, facts) | {name}, _ready(op, facts))
            continue
        if not body.is_vector_work(op):
            if not isinstance(op, Load) and hasattr(op, "result"):
                facts[op.result.name] = _Facts(_waits(body, op, facts), _ready(op, facts))
            continue
        key = _key(body, op, facts, home)
        facts[op.result.name] = _facts(body, op, facts)
        if key is None:
            loose.append(op)
            continue
        groups.setdefault(key, []).append(op)
        home[op.result.name] = key
    for op in reversed(loose):
        users = [home[u.result.name] for w, u in body.users[op.result.name]
                 if w is when and hasattr(u, "result") and u.result.name in home]
        key = users[0] if users else _Key(frozenset(), 0, body.values[op.result.name].vars, False)
        groups.setdefault(key, []).insert(0, op)
        home[op.result.name] = key
    _sink_rows(body, groups, home)
    order = {id(op): i for i, op in enumerate(body.section(when))}
    made = [_step(body, when, key, sorted(ops, key=lambda o: order[id(o)]), home)
            for key, ops in groups.items() if ops]
    return _ordered(made)


def _sink_rows(body: Body, groups: dict[_Key, list[Op]], home: dict[str, _Key]) -> None:
    """Row ops whose users all stand in one later step move there: nothing of theirs is kept."""
    for key in list(groups):
        for op in reversed(list(groups[key])):
            if not isinstance(op, Pointwise) or len(op.result.dims) != 1:
                continue
            name = op.result.name
            if any(name in (c.first, c.last) for c in body.loop.carried):
                continue
            users = [u for _, u in body.users[name]]
            homes = {home.get(u.result.name) if hasattr(u, "result") else None for u in users}
            target = next(iter(homes)) if len(homes) == 1 else None
            if target is None or target == key:
                continue
            groups[key].remove(op)
            groups[target].insert(0, op)
            home[name] = target


def _waits(body: Body, op: Op, facts: dict[str, _Facts]) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    for name in operands(op):
        if name in facts:
            found |= facts[name].products
        elif name in body.inside:
            last = body.ops.get(body.inside[name].last)
            if isinstance(last, Dot):  # the product of the iteration before
                found |= {f"{last.result.name}'"}
    return found


def _ready(op: Op, facts: dict[str, _Facts]) -> int:
    return max((facts[n].ready for n in operands(op) if n in facts), default=0)


def _facts(body: Body, op: Op, facts: dict[str, _Facts]) -> _Facts:
    ready = _ready(op, facts)
    return _Facts(_waits(body, op, facts), ready + 1 if isinstance(op, Reduce) else ready)


def _key(
    body: Body, op: Op, facts: dict[str, _Facts], home: dict[str, _Key]
) -> _Key | None:
    assert isinstance(op, Pointwise | Reduce | Spread)
    products = _waits(body, op, facts)
    tile = body.values[op.arg] if isinstance(op, Reduce) else op.result
    if len(tile.dims) == 2:
        return _Key(products, _ready(op, facts), tile.vars, _feeds_product(body, op))
    if len(tile.dims) > 2:
        raise refusal("a value of more than two axes", op.result.line, fix="take units one by one")
    made = [home[n] for n in operands(op) if n in home]
    if not made:
        return None
    return max(made, key=lambda k: (len(k.products), k.level))


def _feeds_product(body: Body, op: Op) -> bool:
    """A conversion whose only use is as operand of products."""
    if not (isinstance(op, Pointwise) and op.fn is Fn.CAST):
        return False
    users = _real_users(body, op.result.name)
    return bool(users) and all(isinstance(u, Dot) for u in users)


def _real_users(body: Body, name: str) -> list[Op]:
    """Users of a value, through views and free conversions."""
    found: list[Op] = []
    for _, user in body.users[name]:
        through = hasattr(user, "result") and body.through(user.result.name)[0] == name
        found += _real_users(body, user.result.name) if through else [user]
    return found


def _step(
    body: Body, when: When, key: _Key, ops: list[Op], home: dict[str, _Key]
) -> Step:
    made = {op.result.name for op in ops if not isinstance(op, Store)}
    reads: dict[str, None] = {}
    loads: dict[str, None] = {}
    for op in ops:
        for name in operands(op):
            _gather(body, name, made, reads, loads)
    results = [op.result.name for op in ops if _leaves(body, op.result.name, made, when)]
    rows, cols = key.dims if len(key.dims) == 2 else (key.dims[0] if key.dims else None, None)
    work = tuple(op for op in ops if isinstance(op, Pointwise | Reduce | Spread))
    return Step(
        name=_name(results or sorted(made), when),
        when=when,
        ops=work,
        rows=rows,
        cols=cols,
        reads=tuple(reads),
        results=tuple(results),
        loads=tuple(loads),
    )


def _gather(
    body: Body, name: str, made: set[str], reads: dict[str, None], loads: dict[str, None]
) -> None:
    """The values an operand brings from outside, through free ops."""
    inner, _ = body.through(name)
    op = body.ops.get(inner)
    if inner in made:
        return
    if isinstance(op, Load) and inner not in body.inside:
        loads[inner] = None
    if body.is_free(inner):
        for n in operands(op) if op is not None else ():
            _gather(body, n, made, reads, loads)
    elif not isinstance(op, Load):
        reads[inner] = None


def _leaves(body: Body, name: str, made: set[str], when: When) -> bool:
    if any(c.last == name or c.first == name for c in body.loop.carried):
        return True
    for user_when, user in body.users[name]:
        inner = hasattr(user, "result") and user.result.name in made
        through = hasattr(user, "result") and body.is_free(user.result.name)
        if through and _leaves(body, user.result.name, made, when):
            return True
        if not inner and not through:
            return True
        if user_when is not when:
            return True
    return False


def _name(results: list[str], when: When) -> str:
    tag = {When.HEAD: "start_", When.LOOP: "make_", When.TAIL: "finish_"}[when]
    return tag + results[0].replace(".", "_")


def _ordered(steps: list[Step]) -> list[Step]:
    """Steps after those whose results they read."""
    maker = {r: s.name for s in steps for r in s.results}
    left, out, done = list(steps), [], set()
    while left:
        ready = [s for s in left if all(maker.get(r, s.name) in {*done, s.name} for r in s.reads)]
        assert ready, "steps wait for one another"
        out.append(ready[0])
        done.add(ready[0].name)
        left.remove(ready[0])
    return out
