"""Which loops of a thread program may execute all their turns at once.

Turns have nothing to do with one another if none reads what another writes: registers from before
the loop are written at places of a turn's own, and read there alone; a tensor or shared memory is
read or written in one place of the loop, not both. Barriers, products and jumps out of a turn are
executed one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from warploom.dataclass import dataclass
from warploom.interp.arithmetic import Array
from warploom.ir import threads as ir
from warploom.ir.expr import Binary, Const, Element, Op, nodes
from warploom.ir.threads import Statement, Term

_ALONE = (
    ir.Barrier, ir.View, ir.Covers, ir.FetchCover, ir.TakeCovered, ir.SendShifted, ir.OperandTile,
    ir.ClearTile, ir.ProxyFence, ir.MmaFence, ir.Mma, ir.MmaCommit, ir.MmaWait,
    ir.AwaitKernelBefore,
)  # fmt: skip
_NUMBERS: Mapping[Op, Any] = {
    Op.ADD: np.add, Op.SUB: np.subtract, Op.MUL: np.multiply, Op.DIV: np.floor_divide,
    Op.MOD: np.mod,
}  # fmt: skip
MOST = 1 << 14  # numbers of an index, over all turns
Places = tuple[Term, int]  # an index, and how many registers from there on


@dataclass(frozen=True)
class _Form:
    """Arrays from before a loop that its turns write, each at one index."""

    written: tuple[tuple[str, Places], ...]


class Turns:
    """The loops of a program, and the turns that are executed together right now."""

    def __init__(self, program: ir.ThreadProgram) -> None:
        self.tensors = {
            s.name: s.tensor for s in ir.statements(program.body) if isinstance(s, ir.Address)
        }
        self.forms: dict[int, _Form | None] = {}
        self.together: dict[str, Array] = {}  # counters of loops whose turns are executed at once
        self.distinct: dict[tuple[object, ...], bool] = {}
        self.loops_in: dict[tuple[int, int], tuple[dict[str, ir.For], list[str]]] = {}
        assigned = ir.assigned(program.body)
        self.fixed = {  # registers that are given one number, of the thread
            s.name
            for s in program.body
            if isinstance(s, ir.Declare) and not s.count and id(s) not in assigned
        }
        inner = (ir.statements(s.body) for s in program.body if isinstance(s, ir.For))
        again = {x.name for body in inner for x in body if isinstance(x, ir.Declare)}
        self.fixed -= again
        loops = [s for s in ir.statements(program.body) if isinstance(s, ir.For)]
        self.counters = {s.counter for s in loops} - {s.counter for s in loops if s.first is None}
        self.counters -= again | self.fixed
        self.states: dict[str, object] = {}  # where counters stand
        self.names: dict[int, tuple[str, ...] | None] = {}

    def enter(
        self, counter: str, values: Array, turns: tuple[int, int, int] | None, rank: int
    ) -> None:
        """From here on these turns are executed at once: ``turns`` of a first number, a step and
        how many, if all threads count alike.
        """
        self.together[counter] = values.reshape(len(values), -1)[:, 0] if turns else values
        self.states[counter] = None if turns is None else (*turns, rank)

    def leave(self, counter: str) -> None:
        """All turns are done."""
        del self.together[counter]
        self.states[counter] = None

    def count(self, counter: str, value: Any) -> None:  # noqa: ANN401 (numbers or arrays)
        """A loop is at a turn."""
        self.states[counter] = None if np.ndim(value) else int(value)

    def key_of(self, t: Binary) -> object | None:
        """What the number of a term hangs on, if that is the thread and counters alone."""
        if id(t) not in self.names:
            self.names[id(t)] = self.counters_of(t)
        names = self.names[id(t)]
        if names is None:
            return None
        states = [self.states.get(n) for n in names]
        return None if None in states else (id(t), *states)

    def counters_of(self, t: Binary) -> tuple[str, ...] | None:
        """The counters that a term names; None where it names something else."""
        found: dict[str, None] = {}
        for n in nodes(t):
            match n:
                case Const() | ir.Number() | ir.TID:
                    pass
                case ir.Reg(index=None) if n.name in self.fixed:
                    pass
                case ir.Reg(index=None) if n.name in self.counters:
                    found[n.name] = None
                case Binary() if n.op in _NUMBERS:
                    if n.op in (Op.DIV, Op.MOD) and not (isinstance(n.b, Const) and n.b.value > 0):
                        return None
                case _:
                    return None
        return tuple(found)

    def apart(self, s: ir.For, registers: Mapping[str, Any]) -> bool:
        """Whether the turns of a loop have nothing to do with one another."""
        if id(s) not in self.forms:
            self.forms[id(s)] = self.form(s)
        form = self.forms[id(s)]
        return form is not None and all(
            self.own_places(s, index, width, registers) for _, (index, width) in form.written
        )

    # What a loop reads and writes.

    def form(self, s: ir.For) -> _Form | None:
        """What turns write of what was there before; None where they depend on each other."""
        if s.first is None or s.running is not None or _leaves(s.body):
            return None
        inside = list(ir.statements(s.body))
        own = {x.name for x in inside if isinstance(x, ir.Declare | ir.Address)}
        own |= {x.counter for x in inside if isinstance(x, ir.For) and x.first is not None}
        own.add(s.counter)
        written: dict[str, set[Places]] = {}
        for x in inside:
            if isinstance(x, _ALONE) or not self.is_plain(x, own):
                return None
            for name, place in _writes(x):
                if name not in own:
                    written.setdefault(name, set()).add(place)
        if self.shares_memory(inside):
            return None
        ends = {x.name for t in (s.end, s.step) for x in nodes(t) if isinstance(x, ir.Reg)}
        for name, place in chain.from_iterable(map(_reads, inside)):
            if name in written:
                written[name].add(place)
        if ends & (set(written) | own) or any(len(places) > 1 for places in written.values()):
            return None
        return _Form(tuple((name, places.pop()) for name, places in written.items()))

    def is_plain(self, x: Statement, own: set[str]) -> bool:
        """Whether a statement changes registers of its turn, or elements of arrays."""
        match x:
            case ir.Assign(index=None):
                return x.name in own
            case ir.For(first=None):
                return x.counter in own
        return True

    def shares_memory(self, inside: list[Statement]) -> bool:
        """Whether a turn may read what another writes, or both write the same."""
        puts = [x for x in inside if isinstance(x, ir.Put | ir.PutTile | ir.PutChunk)]
        every = [n for x in inside for t in ir.terms_of(x) for n in nodes(t)]
        if puts and (len(puts) > 1 or any(isinstance(n, ir.Shared) for n in every)):
            return True
        stores = [x.tensor for x in inside if isinstance(x, ir.Write | ir.Send | ir.Merge)]
        read = {n.tensor for n in every if isinstance(n, Element)}
        read |= {self.tensors[n.address] for n in every if isinstance(n, ir.Nearby)}
        read |= {x.tensor for x in inside if isinstance(x, ir.Fetch)}
        read |= {self.tensors[x.address] for x in inside if isinstance(x, ir.FetchNearby)}
        return len(set(stores)) < len(stores) or bool(read & set(stores))

    # Whether indices are those of one turn.

    def own_places(self, s: ir.For, index: Term, width: int, registers: Mapping[str, Any]) -> bool:
        """Whether no two turns have a register of an array in common."""
        ranges: dict[str, Array] = {}
        fixed: dict[str, int] = {}
        if (id(s), id(index)) not in self.loops_in:
            loops = {x.counter: x for x in ir.statements(s.body) if isinstance(x, ir.For)}
            loops[s.counter] = s
            found = {n.name for n in nodes(index) if isinstance(n, ir.Reg)}
            self.loops_in[id(s), id(index)] = loops, sorted(found)
        loops, names = self.loops_in[id(s), id(index)]
        for name in names:
            if name in loops:
                counted = _range(loops[name])
                if counted is None:
                    return False
                ranges[name] = counted
            elif name in self.together:
                ranges[name] = np.unique(self.together[name])
            else:
                value = registers.get(name)
                if value is None or np.ndim(value) or not isinstance(value, int | np.integer):
                    return False
                fixed[name] = int(value)
        known = tuple((n, len(self.together[n])) for n in ranges if n in self.together)
        key = (id(s), id(index), width, tuple(fixed.items()), known)
        if key not in self.distinct:
            self.distinct[key] = _distinct(s, index, width, ranges, fixed, set(self.together))
        return self.distinct[key]


def _distinct(
    s: ir.For,
    index: Term,
    width: int,
    ranges: Mapping[str, Array],
    fixed: Mapping[str, int],
    around: set[str],
) -> bool:
    counted = _range(s)
    if counted is None or s.counter not in ranges:
        return False
    outer = [n for n in ranges if n in around]
    inner = [n for n in ranges if n not in around and n != s.counter]
    names = [*outer, s.counter, *inner]
    if int(np.prod([len(ranges[n]) for n in names])) * width > MOST:
        return False
    values: dict[str, Any] = dict(fixed)
    for i, n in enumerate(names):
        values[n] = ranges[n].reshape([-1 if j == i else 1 for j in range(len(names))])
    found = _number(index, values)
    if found is None:
        return False
    table = np.broadcast_to(found, [len(ranges[n]) for n in names])
    turns = table.reshape(int(np.prod([len(ranges[n]) for n in outer])), len(counted), -1)
    for row in turns:
        taken = [{int(v) + j for v in one for j in range(width)} for one in row]
        if len(set().union(*taken)) < sum(map(len, taken)):
            return False
    return True


def _range(s: ir.For) -> Array | None:
    """The numbers of a loop that are written in it."""
    ends = (s.first, s.end, s.step)
    if not all(isinstance(t, Const) for t in ends):
        return None
    first, end, step = (t.value for t in ends if isinstance(t, Const))
    return np.arange(first, end, step) if step > 0 and end - first <= MOST * step else None


def _number(t: Term, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 (numbers or arrays)
    match t:
        case Const() | ir.Number():
            return int(t.value)
        case ir.Reg(index=None):
            return values.get(t.name)
        case Binary() if t.op in _NUMBERS:
            a, b = _number(t.a, values), _number(t.b, values)
            if a is None or b is None:
                return None
            if t.op in (Op.DIV, Op.MOD) and (np.any(np.less(a, 0)) or np.any(np.less_equal(b, 0))):
                return None
            return _NUMBERS[t.op](a, b)
    return None


def _leaves(body: tuple[Statement, ...]) -> bool:
    """Whether a jump leaves these statements."""
    for s in body:
        match s:
            case ir.Break() | ir.Continue():
                return True
            case ir.Scope() if _leaves(s.body):
                return True
            case ir.If() if _leaves(s.body) or _leaves(s.otherwise):
                return True
    return False


def _writes(x: Statement) -> Iterator[tuple[str, Places]]:
    match x:
        case ir.Assign() if x.index is not None:
            yield x.name, (x.index, 1)
        case ir.Fetch():
            yield x.into, (x.index, x.width)
        case ir.FetchNearby():
            yield x.into, (Const(0), x.width)


def _reads(x: Statement) -> Iterator[tuple[str, Places]]:
    if isinstance(x, ir.Send):
        yield x.source, (x.index, x.width)
    if isinstance(x, ir.PutChunk):
        yield x.source, (Const(0), 1)
    for n in (n for t in ir.terms_of(x) for n in nodes(t)):
        if isinstance(n, ir.Reg) and n.index is not None:
            yield n.name, (n.index, 1)
