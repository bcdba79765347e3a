"""Which values share an array of registers: those that replace one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from warploom.ir.dataflow import When
from warploom.ir.tile import Broadcast, Dot, DType, Fn, Pointwise, Value
from warploom.passes.body import Body, made_by
from warploom.passes.fuse import Step, stored_inline


class _Classes:
    """Values that share an array, by their first member."""

    def __init__(self, names: Iterable[str]) -> None:
        self.leader = {n: n for n in names}

    def find(self, name: str) -> str:
        """The member that stands for a value's class."""
        while self.leader[name] != name:
            name = self.leader[name]
        return name

    def join(self, a: str, b: str) -> None:
        """Both values lie in the array of the first."""
        self.leader[self.find(b)] = self.find(a)

    def alone(self, name: str) -> bool:
        """Whether nothing shares the value's array yet."""
        return sum(self.find(n) == self.find(name) for n in self.leader) == 1


def homes_of(
    body: Body,
    steps: tuple[Step, ...],
    kept: Mapping[str, Value],
    forms: Mapping[str, object],
    *,
    in_turn: bool = False,
) -> dict[str, str]:
    """The array of each kept value. ``in_turn``: fresh products of an unrolled loop follow one
    another in one array; each is used up before the next.
    """
    classes = _Classes(kept)
    for c in body.loop.carried:
        for name in (c.last, c.result.name, *([c.first] if c.first in kept else [])):
            classes.join(c.inside.name, name)
    for _, op in body.placed:
        if isinstance(op, Dot) and op.into is not None and op.into in kept:
            classes.join(op.into, op.result.name)
    fresh = [n for n in kept if isinstance(dot := body.ops.get(n), Dot) and dot.into is None]
    if in_turn and not any(len({*fresh} & {*s.reads}) > 1 for s in steps):
        for name in fresh[1:]:
            classes.join(fresh[0], name)
    for step in steps:
        taken: set[str] = set()
        for result in step.results:
            free = {n for n in kept if classes.find(n) not in taken}
            spare = _spare(body, steps, step, result, kept, forms) if classes.alone(result) else []
            for name in [n for n in spare if n in free][:1]:
                taken.add(classes.find(name))
                classes.join(name, result)
    inside = {c.inside.name for c in body.loop.carried}
    return {n: _array_name(classes.find(n), carried=classes.find(n) in inside) for n in kept}


def _array_name(value: str, *, carried: bool) -> str:
    """The array's name: no word that the emitted source has a meaning for (``new``, ``h``)."""
    name = value.replace(".", "_")
    return name if carried else f"kept_{name}"


def _spare(
    body: Body,
    steps: tuple[Step, ...],
    step: Step,
    result: str,
    kept: Mapping[str, Value],
    forms: Mapping[str, object],
) -> list[str]:
    """Operands of the same shape that nobody needs after this step."""
    found: list[str] = []
    want = _kind(kept[result], forms[result])
    if any(op.result.name == result and isinstance(op, Broadcast) for op in step.ops):
        return found
    for name in step.reads:
        if name not in kept or _kind(kept[name], forms[name]) != want:
            continue
        inside = name in body.inside and body.loop.times == 1  # else steps follow one another
        if inside or any(c.last == name for c in body.loop.carried):
            continue
        others = [s for s in steps if s is not step and name in s.reads]
        if all(_before(steps, s, step) for s in others) and not _used_by_others(body, name):
            found.append(name)
    return sorted(found, key=lambda n: _summed(body, n) not in body.inside)  # sums stay in place


def _kind(value: Value, form: object) -> tuple[object, ...]:
    """What values of one array have in common."""
    return value.vars, form, value.dtype is DType.I32


def _summed(body: Body, name: str) -> str:
    """The carried value that an unrolled loop's partial sum goes on with."""
    op = body.ops.get(name)
    if isinstance(op, Pointwise) and op.fn is Fn.ADD and body.loop.times > 1:
        return _summed(body, op.args[0])
    return name


def _before(steps: tuple[Step, ...], a: Step, b: Step) -> bool:
    """Whether ``b`` needs something ``a`` makes, so that it always comes after it."""
    reach, names = {*a.results}, {a.name}
    for s in steps:
        if s.when is a.when and (reach & {*s.reads}) and s.name not in names:
            reach |= {*s.results}
            names.add(s.name)
    return b.name in names


def _used_by_others(body: Body, name: str) -> bool:
    """Whether a product or a store reads the value, be it through what is computed there."""
    stored = {when: stored_inline(body, when) for when in When}
    seen: set[str] = set()
    left = [name]
    while left:
        for when, user in body.users[left.pop()]:
            made = made_by(user)
            if made is None or isinstance(user, Dot):
                return True
            if made not in seen and (body.is_inline(made) or made in stored[when]):
                seen.add(made)
                left.append(made)
    return False
