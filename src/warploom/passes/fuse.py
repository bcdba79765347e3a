"""Fuse: vector work becomes steps, the units a schedule places.

Ops that wait for the same products and the same reductions run together: their elements stay in
registers of one loop. A step is cut where overlap can pay: before what needs another product, after
a reduction (whose result its own elements cannot use), and before the conversion of an operand.

A step runs its row ops that need no reduction, then its elements, then reductions and the row ops
that follow from them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from warploom.dataclass import dataclass
from warploom.ir.dataflow import When
from warploom.ir.tile import (
    Broadcast,
    Dot,
    Fn,
    Indices,
    Load,
    Op,
    Pointwise,
    Position,
    Reduce,
    Store,
    Whole,
    operands,
    results,
)
from warploom.passes.body import Body, made_by, refusal

Work = Pointwise | Reduce | Broadcast
START, SUMS = "start_tile", "finish_sums"  # what every tile begins and ends with: no steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Vector work on the tile ``rows`` x ``cols`` (``cols`` None: on row vectors only).

    ``reads`` and ``results`` are the values it takes from elsewhere and leaves for others.
    ``loads`` are tiles in shared memory or of global memory it reads element by element.
    """

    name: str
    when: When
    ops: tuple[Work, ...]
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
        groups = _Groups(body, when)
        for op in body.section(when):
            groups.add(op)
        groups.settle()
        steps += _ordered(groups.steps())
    return _told_apart(steps)


def _told_apart(steps: list[Step]) -> tuple[Step, ...]:
    """Steps by names of their own: a value may be called ``tile``, or ``a_b`` beside ``a.b``."""
    taken, found = {START, SUMS}, list[Step]()
    for step in steps:
        name, n = step.name, 0
        while name in taken:
            n += 1
            name = f"{step.name}_{n}"
        taken.add(name)
        found.append(step if name == step.name else replace(step, name=name))
    return tuple(found)


def fresh_product(body: Body, step: Step) -> str | None:
    """The one product of its iteration that a step of the loop works on."""
    found = [n for n in step.reads if isinstance(op := body.ops.get(n), Dot) and op.into is None]
    return found[0] if step.when is When.LOOP and len(found) == 1 else None


def stored_inline(body: Body, when: When = When.TAIL) -> frozenset[str]:
    """Tiles of a section that only its stores need: they are computed where they are stored."""
    key = ("stored_inline", when)
    if key not in body.analyses:
        body.analyses[key] = _stored_inline(body, when)
    known: frozenset[str] = body.analyses[key]
    return known


def _stored_inline(body: Body, when: When) -> frozenset[str]:
    found: set[str] = set()
    for op in reversed(body.section(when)):
        if when is When.TAIL and is_column_sum(body, op):
            found.update(v.name for v in results(op))
        if not isinstance(op, Pointwise | Broadcast) or len(op.result.dims) != 2:
            continue
        if when is When.LOOP and _of_the_iteration(body, op):
            continue  # stores know neither slots nor the iteration
        users = [u for _, u in body.users[op.result.name]]
        if users and all(isinstance(u, Store) or made_by(u) in found for u in users):
            found.add(op.result.name)
    return frozenset(found)


def is_column_sum(body: Body, op: Op) -> bool:
    """A sum over the rows of a tile that is only added to memory: every warp adds its own."""
    if not isinstance(op, Reduce) or op.fn is not Fn.ADD or body.kernel.grid.kind != "tiles":
        return False
    users = [u for _, u in body.users[op.result.name]]
    added = users and all(isinstance(u, Store) and u.add for u in users)
    return bool(added) and body.values[op.arg].vars[0] == op.over


def _of_the_iteration(body: Body, op: Op) -> bool:
    """Whether an op reads loaded tiles or indices of the loop, through what is written out."""
    seen: set[str] = set()
    left = list(operands(op))
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        inner = body.ops.get(body.through(name)[0])
        if (
            isinstance(inner, Load | Indices | Position | Whole)
            and body.sections[name] is When.LOOP
        ):
            return True
        if inner is not None and body.is_inline(name):
            left += operands(inner)
    return False


class _Groups:
    """Vector ops of a section by what they wait for."""

    def __init__(self, body: Body, when: When) -> None:
        self.body, self.when = body, when
        self.inline = stored_inline(body, when)
        self.facts: dict[str, _Facts] = {}
        self.groups: dict[_Key, list[Work]] = {}
        self.home: dict[str, _Key] = {}
        self.loose: list[Work] = []  # row ops of nothing computed here: they join their first user

    def add(self, op: Op) -> None:
        """Note what an op waits for; vector work joins its group."""
        name = made_by(op)
        if name is None or name in self.inline or isinstance(op, Load):
            return
        waits, ready = _waits(self.body, op, self.facts), _ready(op, self.facts)
        own = frozenset({name}) if isinstance(op, Dot) else frozenset()
        self.facts[name] = _Facts(waits | own, ready + isinstance(op, Reduce))
        if not self.body.is_vector_work(op):
            return
        assert isinstance(op, Pointwise | Reduce | Broadcast)
        key = self._key(op, waits, ready)
        if key is None:
            self.loose.append(op)
        else:
            self._put(op, key)

    def _put(self, op: Work, key: _Key, *, first: bool = False) -> None:
        group = self.groups.setdefault(key, [])
        group.insert(0 if first else len(group), op)
        self.home[op.result.name] = key

    def _key(self, op: Work, products: frozenset[str], ready: int) -> _Key | None:
        tile = self.body.values[op.arg] if isinstance(op, Reduce) else op.result
        if len(tile.dims) == 2:
            return _Key(products, ready, tile.vars, _feeds_product(self.body, op))
        if len(tile.dims) > 2:
            raise refusal(
                "a value of more than two axes", op.result.line, fix="take units one by one"
            )
        made = [self.home[n] for n in operands(op) if n in self.home]
        return max(made, key=lambda k: (len(k.products), k.level)) if made else None

    def settle(self) -> None:
        """Row ops that wait for nothing join their users; rows of one later step move there."""
        for op in reversed(self.loose):
            users = [u for w, u in self.body.users[op.result.name] if w is self.when]
            homes = [self.home[n] for u in users if (n := made_by(u)) in self.home]
            homes = homes or self._homes_of_next(op)
            alone = _Key(frozenset(), 0, op.result.vars, False)
            self._put(op, homes[0] if homes else alone, first=True)
        for key in list(self.groups):
            for op in reversed(list(self.groups[key])):
                target = self._later_home(op)
                if target is not None and target != key:
                    self.groups[key].remove(op)
                    self._put(op, target, first=True)

    def _homes_of_next(self, op: Work) -> list[_Key]:
        """The steps that replace carried values an op reads: it reads what was there before."""
        loose = {o.result.name: o for o in self.loose}
        names = list(operands(op))
        for name in names:
            names += operands(loose[name]) if name in loose else ()
        read = (self.body.inside.get(n) for n in names)
        return [self.home[c.last] for c in read if c is not None and c.last in self.home]

    def _later_home(self, op: Work) -> _Key | None:
        """The one step all users of a row op stand in, so that nothing of it is kept.

        In an unrolled loop that holds for a scaled product too: its addition does the scaling.
        """
        name, loop = op.result.name, self.body.loop
        scales = isinstance(op, Pointwise) and op.fn is Fn.MUL and loop.times > 1
        if not isinstance(op, Pointwise) or (len(op.result.dims) != 1 and not scales):
            return None
        if any(name in (c.first, c.last) for c in self.body.loop.carried):
            return None
        homes = {self.home.get(made_by(u) or "") for _, u in self.body.users[name]}
        target = next(iter(homes)) if len(homes) == 1 else None
        return None if self._replaced_before(op, target) else target

    def _replaced_before(self, op: Work, target: _Key | None) -> bool:
        """Whether another step makes what a carried value of an op is next."""
        read = (self.body.inside.get(n) for n in operands(op))
        lasts = {c.last for c in read if c is not None}
        return any(n in self.home and self.home[n] != target for n in lasts)

    def steps(self) -> list[Step]:
        """The groups as steps, ops in the order of the source."""
        order = {made_by(op): i for i, op in enumerate(self.body.section(self.when))}
        return [
            _step(self.body, self.when, key, sorted(ops, key=lambda o: order[o.result.name]))
            for key, ops in self.groups.items()
            if ops
        ]


def _waits(body: Body, op: Op, facts: dict[str, _Facts]) -> frozenset[str]:
    result: frozenset[str] = frozenset()
    for name in operands(op):
        if name in facts:
            result |= facts[name].products
        elif name in body.inside:
            last = body.ops.get(body.inside[name].last)
            if isinstance(last, Dot):  # the product of the iteration before
                result |= {f"{last.result.name}'"}
        elif isinstance(source := body.ops.get(name), Load) and source.step:
            result |= {f"step {source.step}"}  # what a later step brings waits for nothing earlier
    return result


def _ready(op: Op, facts: dict[str, _Facts]) -> int:
    return max((facts[n].ready for n in operands(op) if n in facts), default=0)


def _feeds_product(body: Body, op: Op) -> bool:
    """A conversion whose only use is as operand of products."""
    if not (isinstance(op, Pointwise) and op.fn is Fn.CAST):
        return False
    users = _real_users(body, op.result.name)
    return bool(users) and all(isinstance(u, Dot) for u in users)


def _real_users(body: Body, name: str) -> list[Op]:
    """Users of a value, through views and free conversions."""
    result: list[Op] = []
    for _, user in body.users[name]:
        made = made_by(user)
        if made is not None and body.through(made)[0] == name:
            result += _real_users(body, made)
        else:
            result.append(user)
    return result


def _step(body: Body, when: When, key: _Key, ops: list[Work]) -> Step:
    made = {op.result.name for op in ops}
    reads, loads = _gather(body, [n for op in ops for n in operands(op)], made)
    results = [op.result.name for op in ops if _leaves(body, op.result.name, made, when)]
    rows, cols = key.dims if len(key.dims) == 2 else (key.dims[0] if key.dims else None, None)
    return Step(
        name=_name(results or sorted(made), when),
        when=when,
        ops=tuple(ops),
        rows=rows,
        cols=cols,
        reads=tuple(reads),
        results=tuple(results),
        loads=tuple(loads),
    )


def _gather(
    body: Body, names: list[str], made: set[str]
) -> tuple[dict[str, None], dict[str, None]]:
    """The values operands bring from outside, and loads among them, through free ops."""
    reads: dict[str, None] = {}
    loads: dict[str, None] = {}
    seen: set[str] = set()
    left = names[::-1]
    while left:
        inner, _ = body.through(left.pop())
        if inner in made or inner in seen:
            continue
        seen.add(inner)
        op = body.ops.get(inner)
        if isinstance(op, Load) and inner not in body.inside:
            loads[inner] = None
        if body.is_inline(inner):
            left += reversed(operands(op)) if op is not None else ()
        elif not isinstance(op, Load):
            reads[inner] = None
    return reads, loads


def _leaves(body: Body, name: str, made: set[str], when: When) -> bool:
    """Whether something outside a step needs a value it makes, through inline ops."""
    ends = _carried_ends(body)
    seen: set[str] = set()
    left = [name]
    while left:
        name = left.pop()
        if name in ends:
            return True
        for user_when, user in body.users[name]:
            result = made_by(user)
            through = result is not None and body.is_inline(result)
            if user_when is not when or (result not in made and not through):
                return True
            if through and result is not None and result not in seen:
                seen.add(result)
                left.append(result)
    return False


def _carried_ends(body: Body) -> set[str]:
    """What carried values begin with and become."""
    return {n for c in body.loop.carried for n in (c.first, c.last)}


def _name(results: list[str], when: When) -> str:
    tag = {When.HEAD: "start_", When.LOOP: "make_", When.TAIL: "finish_"}[when]
    return tag + results[0].replace(".", "_")


def _ordered(steps: list[Step]) -> list[Step]:
    """Steps after those whose results they read."""
    maker = {r: s.name for s in steps for r in s.results}
    left, out = list(steps), list[Step]()
    done: set[str] = set()
    while left:
        ready = [s for s in left if all(maker.get(r, s.name) in {*done, s.name} for r in s.reads)]
        assert ready, "steps wait for one another"
        out.append(ready[0])
        done.add(ready[0].name)
        left.remove(ready[0])
    return out
