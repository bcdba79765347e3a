"""Coverage of thread programs: what holds of them for all sizes, by argument over their text.

Three arguments, each of which may not reach; then the claim says so, and the program is judged by
execution (``verify_dataflow``), which checks every access, barrier and store for its size classes.

*Barriers*: a number is *shared* if it is the same for all threads of a CTA: sizes, scalars, the
number of the CTA, elements of inputs at shared places, and what is computed of these under shared
conditions. A barrier or shuffle under shared conditions alone is reached by all threads or none.

*Bounds*: what is known at an access are the conditions around it and what was said of registers as
they were declared. A coordinate is inside if it is not negative, as a sum or product of such
numbers, and a known condition says that it is below the length of its axis, or below something that
was declared as no more than that.

*Tiles*: the loop over tiles takes every number below a product of counts once, and divides it by
one count after the other; so every combination of tiles is taken once. Inside a tile the places of
a store are numbers of the thread and of loops with known ends, which are enumerated: no place comes
twice, and together they are the tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from warploom.ir import threads as ir
from warploom.ir.expr import (
    Binary,
    Const,
    Element,
    Op,
    Select,
    Sym,
    SymKind,
    binary,
    nodes,
    parts,
    size,
)
from warploom.ir.module import KernelModule, TensorArg
from warploom.ir.thread_checks import check_threads
from warploom.ir.threads import Statement, Term, ThreadProgram
from warploom.ir.tile_schedule import CTA, CTAS
from warploom.ir.types import Axis, DType, Walk
from warploom.verify.coverage.reads import kernel_reads
from warploom.verify.coverage.report import Claim, CoverageReport, How
from warploom.verify.coverage.shared_memory import verify_shared

EXECUTED = "not decided here; verify_dataflow executes it and checks it for its size classes"
MOST_PLACES = 1 << 22
FAR = 1 << 34  # between the first elements of tiles along two axes
Array = npt.NDArray[np.int64]


def verify_thread_coverage(module: KernelModule) -> CoverageReport:
    """The verdict on a thread program: claims, and outputs that its kernel loads; what else is
    wrong is found by execution.
    """
    check_threads(module)
    program = module.threads
    assert program is not None
    claims = [_barriers(module, program), *_bounds(module, program), *_stores(module, program)]
    claims += verify_shared(program, _Places(module, program, {}).number, EXECUTED)
    found = tuple(kernel_reads(module.kernel))
    return CoverageReport(module=module.name, claims=tuple(claims), findings=found)


# Barriers.


def _barriers(module: KernelModule, program: ThreadProgram) -> Claim:
    meetings = [s for s in ir.statements(program.body) if isinstance(s, ir.Barrier)]
    shared = _Shared(module)
    what = f"all threads of a CTA reach each of {len(meetings)} barriers, of a warp each shuffle"
    if shared.holds(program.body):
        return Claim(what=what, how=How.ALL, argument="every condition around them is shared")
    return Claim(what=what, how=How.NOT, argument=f"{shared.why}: {EXECUTED}")


_TOGETHER = (
    ir.Barrier, ir.SendShifted, ir.ClearTile, ir.MmaFence, ir.Mma, ir.MmaCommit, ir.MmaWait,
)  # fmt: skip


class _Shared:
    """Which registers differ between threads, statement by statement."""

    def __init__(self, module: KernelModule) -> None:
        self.inputs = {t.name for t in module.tensors if t.access != "out"}
        self.own: set[str] = set()  # registers that differ
        self.left: list[set[str]] = [set()]  # that did where a loop was left, or a turn
        self.written: set[str] = set()  # addresses of outputs
        self.good, self.why = True, ""

    def holds(self, body: Sequence[Statement]) -> bool:
        self.body(body, own=False)
        return self.good

    def differs(self, term: Term) -> bool:
        for node in nodes(term):
            match node:
                case Sym(kind=SymKind.THREAD) | ir.Shuffle():
                    return True
                case ir.Reg() if node.name in self.own:
                    return True
                case Element() if node.tensor not in self.inputs:
                    return True
                case ir.Nearby() if node.address in self.own | self.written:
                    return True
        return False

    def body(self, body: Sequence[Statement], *, own: bool) -> bool:
        """``own``: whether threads are there for reasons of their own; whether they are after it,
        because some jumped away.
        """
        for s in body:
            own = self.statement(s, own=own) or own
        return own

    def statement(self, s: Statement, *, own: bool) -> bool:  # noqa: C901, PLR0912 (a case a kind)
        meets = isinstance(s, _TOGETHER) or any(
            isinstance(n, ir.Shuffle) for t in ir.terms_of(s) for n in nodes(t)
        )
        if meets and own:
            self.good, self.why = False, "a barrier or shuffle stands under a thread's condition"
        match s:
            case ir.Declare() | ir.Assign(index=None):
                differs = s.value is not None and (own or self.differs(s.value))
                (self.own.add if differs else self.own.discard)(s.name)
            case ir.Assign():
                assert s.index is not None
                if own or self.differs(s.value) or self.differs(s.index):
                    self.own.add(s.name)
            case ir.Address():
                differs = own or any(self.differs(x) for x in s.at)
                (self.own.add if differs else self.own.discard)(s.name)
                if s.tensor not in self.inputs:
                    self.written.add(s.name)
            case ir.FetchNearby() | ir.Mma():
                self.own.add(s.into)
            case ir.Fetch():
                if own or self.differs(s.index) or any(self.differs(x) for x in s.at):
                    self.own.add(s.into)
            case ir.FetchCover() | ir.TakeCovered():
                self.own.add(s.into)
            case ir.Break() | ir.Continue():
                self.left[-1] |= self.own
                return own
            case ir.Scope():
                return self.body(s.body, own=own)
            case ir.If():
                inside = own or self.differs(s.condition)
                before = set(self.own)
                one = self.body(s.body, own=inside)
                self.own, before = before, self.own
                two = self.body(s.otherwise, own=inside)
                self.own |= before
                return (inside and not own and (_jumps(s.body) or _jumps(s.otherwise))) or (
                    not inside and (one or two)
                )  # fmt: skip
            case ir.For():
                self.loop(s, own=own)
        return False

    def loop(self, s: ir.For, *, own: bool) -> None:
        """Turns until nothing more differs before one of them."""
        ends = [s.end, s.step, *([] if s.running is None else [s.running])]
        if s.first is not None and not self.differs(s.first):
            self.own.discard(s.counter)
        if s.first is not None and (own or self.differs(s.first)):
            self.own.add(s.counter)
        inside = own
        while True:
            before = set(self.own)
            inside = inside or any(self.differs(t) for t in (*ends, ir.Reg(s.counter)))
            if inside:
                self.own.add(s.counter)
            self.left.append(set())
            # Where threads leave turns one by one, the next turn is not begun by all.
            inside = self.body(s.body, own=inside) or inside
            self.own |= before | self.left.pop()
            if inside:
                self.own.add(s.counter)
            if self.own == before:
                return


def _jumps(body: Sequence[Statement]) -> bool:
    """Whether a jump leaves these statements."""
    for s in body:
        match s:
            case ir.Break() | ir.Continue():
                return True
            case ir.Scope() if _jumps(s.body):
                return True
            case ir.If() if _jumps(s.body) or _jumps(s.otherwise):
                return True
    return False


# Bounds.


@dataclass
class _Known:
    """What holds at a place of the program."""

    conditions: list[Term] = field(default_factory=list)
    natural: set[str] = field(default_factory=set)  # registers that are not negative
    below: dict[str, list[Term]] = field(default_factory=dict)  # registers less than these
    most: dict[str, list[Term]] = field(default_factory=dict)  # no more than these
    same: dict[str, Term] = field(default_factory=dict)  # other names of a register
    addresses: dict[str, ir.Address] = field(default_factory=dict)

    def copy(self) -> _Known:
        return _Known(
            list(self.conditions), set(self.natural), dict(self.below), dict(self.most),
            dict(self.same), dict(self.addresses),
        )  # fmt: skip

    def forget(self, names: set[str]) -> None:
        for name, address in list(self.addresses.items()):
            if name in names or any(names & set(_registers(x)) for x in address.at):
                del self.addresses[name]
        self.natural -= names
        for table in (self.below, self.most, self.same):
            for name in names & set(table):
                del table[name]
        self.same = {n: t for n, t in self.same.items() if not names & set(_registers(t))}
        self.conditions = [t for t in self.conditions if not names & set(_registers(t))]
        for facts in (self.below, self.most):
            for name, terms in list(facts.items()):
                facts[name] = [t for t in terms if not names & set(_registers(t))]


def _bounds(module: KernelModule, program: ThreadProgram) -> Iterator[Claim]:
    found = _Bounds(module)
    found.body(program.body, _Known())
    proven = [t for t in found.seen if t not in found.open]
    if proven:
        yield Claim(
            what=f"accesses are in bounds: {', '.join(proven)}",
            how=How.ALL,
            argument="conditions around each say so",
        )
    if found.open:
        yield Claim(
            what=f"accesses are in bounds: {', '.join(found.open)}",
            how=How.NOT,
            argument=EXECUTED,
        )


class _Bounds:
    def __init__(self, module: KernelModule) -> None:
        self.module = module
        self.tensors = {t.name: t for t in module.tensors}
        self.whole = {
            v.axis: v.extent for v in module.kernel.vars if v.walk is Walk.WHOLE and v.extent
        }
        self.tensor_of: dict[str, str] = {}
        self.seen: dict[str, None] = {}
        self.open: dict[str, None] = {}

    def body(self, body: Sequence[Statement], known: _Known) -> None:
        for s in body:
            self.statement(s, known)

    def statement(self, s: Statement, known: _Known) -> None:  # noqa: C901, PLR0912, PLR0915 (a case a kind)
        for term in ir.terms_of(s):
            self.reads(term, known)
        match s:
            case ir.Declare() if s.value is not None and not s.dtype.is_float:
                known.forget({s.name})
                self.learn(s.name, s.value, known)
            case ir.Declare():
                known.forget({s.name})
            case ir.Assign() if s.index is None:
                known.forget({s.name})
                if not _names(s.value, s.name):
                    self.learn(s.name, s.value, known)
            case ir.Assign():
                known.forget({s.name})
            case ir.Fetch():
                self.access(s.tensor, s.at, s.width, known)
                known.forget({s.into})
            case ir.Send():
                self.access(s.tensor, s.at, s.width, known)
            case ir.Address():
                known.forget({s.name})
                known.addresses[s.name] = s
                self.tensor_of[s.name] = s.tensor
            case ir.FetchNearby():
                self.nearby(s.address, None, Const(0), s.width, known)
                known.forget({s.into})
            case ir.FetchCover() | ir.TakeCovered():
                self.around(s, known)
            case ir.SendShifted():  # its conditions stand in it, and neighbours move its ends
                self.seen.setdefault(s.tensor)
                self.open.setdefault(s.tensor)
            case ir.Write() | ir.Merge():
                self.access(s.tensor, s.at, 1, known)
            case ir.Scope():
                self.body(s.body, known)
            case ir.If():
                inside, other = known.copy(), known.copy()
                inside.conditions += _conjuncts(s.condition)
                self.body(s.body, inside)
                if isinstance(s.condition, ir.Not):
                    other.conditions += _conjuncts(s.condition.arg)
                self.body(s.otherwise, other)
                known.forget(_assigned(s.body) | _assigned(s.otherwise))
                if _leaves(s.body) and not s.otherwise:
                    known.conditions += _refuted(s.condition)
            case ir.For():
                known.forget(_assigned(s.body) | {s.counter})
                inside = known.copy()
                forward = self.natural(s.step, known)
                if s.first is not None and forward and self.natural(s.first, known):
                    inside.natural.add(s.counter)
                if not {s.counter} & _assigned(s.body):
                    inside.conditions.append(binary(Op.LT, ir.Reg(s.counter), s.end))
                self.body(s.body, inside)

    def learn(self, name: str, value: Term, known: _Known) -> None:
        """What a register's value says of it."""
        own = self.resolved(value, known)
        if self.natural(own, known):
            known.natural.add(name)
        known.most[name] = [own, *_least_of(own)]
        bare = own.arg if isinstance(own, ir.Convert) else own
        if isinstance(bare, Binary) and bare.op is Op.MOD:
            count = bare.b.arg if isinstance(bare.b, ir.Convert) else bare.b
            known.below[name] = [count]
        if isinstance(own, ir.Reg) and own.index is None:
            known.same[name] = own

    def resolved(self, term: Term, known: _Known) -> Term:
        """A term with other names of a register replaced."""
        match term:
            case ir.Reg() if term.index is None:
                return known.same.get(term.name, term)
            case Binary():
                a, b = self.resolved(term.a, known), self.resolved(term.b, known)
                return binary(term.op, a, b)
            case _:
                return term

    def natural(self, term: Term, known: _Known) -> bool:  # noqa: PLR0911 (a case a kind)
        """Whether a number is not negative."""
        match term:
            case Const() | ir.Number():
                return bool(term.value >= 0)
            case Sym():
                return True
            case ir.Reg() if term.index is None and term.name in known.natural:
                return True
            case Binary(op=Op.ADD | Op.MUL | Op.DIV | Op.MIN):
                return self.natural(term.a, known) and self.natural(term.b, known)
            case Binary(op=Op.MOD):
                return self.natural(term.a, known)
            case Binary(op=Op.MAX):
                return self.natural(term.a, known) or self.natural(term.b, known)
            case ir.Convert(dtype=DType.U32):
                return True
            case ir.Convert(dtype=DType.I32, arg=Binary(op=Op.MOD, b=ir.Convert()) as rest):
                assert isinstance(rest.b, ir.Convert)
                return self.natural(rest.b.arg, known)  # below a number that has a sign
        said = self.resolved(term, known)
        return any(
            (isinstance(c, ir.Within) and self.resolved(c.index, known) == said)
            or (
                isinstance(c, Binary)
                and c.op is Op.GE
                and c.b == Const(0)
                and self.resolved(c.a, known) == said
            )
            for c in known.conditions
        )

    def reads(self, term: Term, known: _Known) -> None:
        """The accesses of a term, under the conditions in front of each."""
        match term:
            case Select():
                self.reads(term.condition, known)
                inside = known.copy()
                inside.conditions += _conjuncts(term.condition)
                self.reads(term.then, inside)
                self.reads(term.otherwise, known)
            case Binary(op=Op.AND):
                self.reads(term.a, known)
                inside = known.copy()
                inside.conditions += _conjuncts(term.a)
                self.reads(term.b, inside)
            case _:
                for part in parts(term):
                    self.reads(part, known)
                if isinstance(term, Element):
                    self.access(term.tensor, term.at, 1, known)
                if isinstance(term, ir.Nearby):
                    self.nearby(term.address, term.axis, term.by, 1, known)

    def nearby(self, name: str, axis: int | None, by: Term, width: int, known: _Known) -> None:
        """An access beside an address; what it was made of may have changed since."""
        address = known.addresses.get(name)
        if address is None:
            self.seen.setdefault(self.tensor_of[name])
            self.open.setdefault(self.tensor_of[name])
            return
        at = [x + by if n == axis else x for n, x in enumerate(address.at)]
        self.access(address.tensor, tuple(at), width, known)

    def access(self, tensor: str, at: tuple[Term, ...], width: int, known: _Known) -> None:
        found = self.tensors[tensor]
        self.seen.setdefault(tensor)
        for n, x in enumerate(at):
            wide = width if n == len(at) - 1 else 1
            steady = self.is_steady(x)
            if not (steady and self.natural(x, known) and self.inside(x, wide, found, n, known)):
                self.open.setdefault(tensor)

    def around(self, s: ir.FetchCover | ir.TakeCovered, known: _Known) -> None:
        """What is read around neighbours lies in their row if a condition says that."""
        self.seen.setdefault(s.tensor)
        asked = [c for c in known.conditions if isinstance(c, ir.Covered)]
        if any((c.tensor, c.at) == (s.tensor, s.at) for c in asked):
            (width, *_) = (c.width for c in asked if (c.tensor, c.at) == (s.tensor, s.at))
            self.access(s.tensor, s.at, width, known)
        else:
            self.open.setdefault(s.tensor)
        known.forget({s.into})

    def is_steady(self, x: Term) -> bool:
        """Whether a term is the same number whenever it is asked for, until a register changes."""
        return not any(
            isinstance(n, ir.Shared | ir.Shuffle)
            or (isinstance(n, Element) and self.tensors[n.tensor].access == "out")
            for n in nodes(x)
        )

    def inside(self, x: Term, width: int, tensor: TensorArg, n: int, known: _Known) -> bool:
        """Whether a coordinate, and those next to it, lie below the end of an axis."""
        axis = tensor.axes[n]
        end: Term = size(axis.name)
        if axis.per > 1:
            if isinstance(x, Binary) and x.op is Op.DIV and x.b == Const(axis.per):
                return width == 1 and self.less(x.a, 1, end, known)
            end = (end + (axis.per - 1)) // axis.per
        if tensor.access == "starts":
            end = end + 1
            if isinstance(x, Binary) and x.op is Op.ADD and x.b == Const(1):
                if self.less(x.a, width, size(axis.name), known):
                    return True
            elif self.less(x, width, size(axis.name), known):
                return True
        return self.less(x, width, end, known)

    def less(self, x: Term, width: int, end: Term, known: _Known) -> bool:
        said = self.resolved(x, known)
        if isinstance(said, Const) and isinstance(end, Sym):
            whole = self.whole.get(end.name)
            return whole is not None and said.value + width <= whole
        if isinstance(said, ir.Reg) and width == 1:
            bounds = known.below.get(said.name, [])
            if any(self.no_more(b, end, known) for b in bounds):
                return True
            if any(m != said and self.less(m, 1, end, known)
                   for m in known.most.get(said.name, ()) if isinstance(m, ir.Reg)):  # fmt: skip
                return True
        return any(self.says(c, said, width, end, known) for c in known.conditions)

    def says(self, c: Term, x: Term, width: int, end: Term, known: _Known) -> bool:
        """Whether a condition says that ``x + width`` is no more than ``end``."""
        if self.says_rest(c, x, width, end, known):
            return True
        match c:
            case ir.Within() if width == 1:
                same = self.resolved(c.index, known) == x
                return same and self.no_more(c.length, end, known)
            case Binary(op=Op.LT) if width == 1:
                return self.resolved(c.a, known) == x and self.no_more(c.b, end, known)
            case Binary(op=Op.LE, a=Binary(op=Op.ADD, a=first, b=Const(value=more))):
                same = self.resolved(first, known) == x and more >= width
                return same and self.no_more(c.b, end, known)
        return False

    def says_rest(self, c: Term, x: Term, width: int, end: Term, known: _Known) -> bool:
        """Whether ``x`` is ``p + t``, and a condition says that ``t + width`` is no more than what
        is left from ``p`` on.
        """
        if not isinstance(c, Binary) or c.op not in (Op.LT, Op.LE):
            return False
        own, asked = _summands(x), _summands(c.a)
        if c.op is Op.LE:
            counts = [t for t in asked if isinstance(t, Const)]
            if len(counts) != 1 or int(counts[0].value) < width:
                return False
            asked.remove(counts[0])
        elif width > 1:
            return False
        for t in asked:
            if t not in own:
                return False
            own.remove(t)
        rests = known.most.get(c.b.name, []) if isinstance(c.b, ir.Reg) else [c.b]
        return any(
            isinstance(m, Binary)
            and m.op is Op.SUB
            and _summands(m.b) == own
            and self.no_more(m.a, end, known)
            for m in rests
        )

    def no_more(self, e: Term, end: Term, known: _Known, depth: int = 0) -> bool:
        """Whether ``e`` is at most ``end``."""
        if e == end:
            return True
        if isinstance(e, Const) and isinstance(end, Sym):
            whole = self.whole.get(end.name)
            return whole is not None and e.value <= whole
        if isinstance(e, ir.Reg) and e.index is None and depth < 8:
            return any(
                m != e and self.no_more(m, end, known, depth + 1)
                for m in known.most.get(e.name, ())
            )
        return any(self.no_more(m, end, known, depth + 1) for m in _least_of(e)) if depth < 8 else (
            False
        )  # fmt: skip


def _summands(term: Term) -> list[Term]:
    """What a sum is made of."""
    if isinstance(term, Binary) and term.op is Op.ADD:
        return [*_summands(term.a), *_summands(term.b)]
    return [term]


def _least_of(term: Term) -> list[Term]:
    """What a least number is no more than."""
    return [term.a, term.b] if isinstance(term, Binary) and term.op is Op.MIN else []


def _conjuncts(term: Term) -> list[Term]:
    if isinstance(term, Binary) and term.op is Op.AND:
        return [*_conjuncts(term.a), *_conjuncts(term.b)]
    return [term]


def _refuted(term: Term) -> list[Term]:
    """What holds where a condition does not, of those that end a turn."""
    if isinstance(term, Binary) and term.op is Op.OR:
        return [*_refuted(term.a), *_refuted(term.b)]
    if isinstance(term, Binary) and term.op is Op.LT:
        return [binary(Op.GE, term.a, term.b)]
    if isinstance(term, Binary) and term.op is Op.GE:
        return [binary(Op.LT, term.a, term.b)]
    return []


def _leaves(body: Sequence[Statement]) -> bool:
    return bool(body) and isinstance(body[-1], ir.Break | ir.Continue)


def _registers(term: Term) -> Iterator[str]:
    return (n.name for n in nodes(term) if isinstance(n, ir.Reg))


def _names(term: Term, name: str) -> bool:
    return name in _registers(term)


def _assigned(body: Sequence[Statement]) -> set[str]:
    """Registers that statements change or declare anew."""
    result: set[str] = set()
    for s in ir.statements(tuple(body)):
        match s:
            case ir.Assign() | ir.Declare():
                result.add(s.name)
            case ir.For():
                result.add(s.counter)
            case ir.Fetch() | ir.FetchCover() | ir.TakeCovered() | ir.FetchNearby() | ir.Mma():
                result.add(s.into)
            case ir.Address():
                result.add(s.name)
    return result


# Tiles and stores.


def _stores(module: KernelModule, program: ThreadProgram) -> Iterator[Claim]:
    loop = _tile_loop(program)
    what = "every tile of the grid is taken once"
    places = None if loop is None else _tile_places(module, program, loop)
    if loop is None or places is None:
        yield Claim(what=what, how=How.NOT, argument=EXECUTED)
        return
    yield Claim(what=what, how=How.ALL, argument="its number is divided by one count after another")
    proven: dict[str, bool] = {}
    for tensor, full in _Places(module, program, places).sites(loop.body):
        proven[tensor] = proven.get(tensor, True) and full
    for tensor in _stored_again(loop.body):
        proven[tensor] = False
    whole = [t for t, full in proven.items() if full]
    rest = [t for t, full in proven.items() if not full]
    if whole:
        yield Claim(
            what=f"each element of a tile is stored once: {', '.join(whole)}",
            how=How.ALL,
            argument="places inside a tile are enumerated; where it ends, fewer are stored",
        )
    if rest:
        yield Claim(
            what=f"each element is stored once: {', '.join(rest)}",
            how=How.NOT,
            argument=EXECUTED,
        )


def _tile_loop(program: ThreadProgram) -> ir.For | None:
    loops = [s for s in program.body if isinstance(s, ir.For)]
    if len(loops) != 1:
        return None
    (loop,) = loops
    return loop if (loop.first, loop.step) == (CTA, CTAS) and loop.running is None else None


def _tile_places(  # noqa: C901, PLR0911 (one statement after the other)
    module: KernelModule, program: ThreadProgram, loop: ir.For
) -> Mapping[str, tuple[str, int]] | None:
    """The register of a tile's first element along each variable, and the tile's extent; None
    unless the number of a tile is taken apart by the counts whose product ends the loop.
    """
    if module.kernel.grid.order or module.kernel.grid.kind != "tiles":
        return None
    ends = {s.name: s.value for s in program.body if isinstance(s, ir.Declare)}
    total = ends.get(loop.end.name) if isinstance(loop.end, ir.Reg) else None
    counts: list[Term] = []
    rest, divided = "", True
    taken: dict[str, int] = {}
    for s in loop.body:
        match s:
            case ir.Declare(value=ir.Reg(name=loop.counter), dtype=DType.U32):
                rest = s.name
            case ir.Declare(value=Term() as value) if rest and _names(value, rest):
                place = _place_of(value, rest)
                if place is None or not divided:
                    return None
                count, extent = place
                divided = False
                counts.append(count)
                taken[s.name] = extent
            case ir.Assign() if s.name == rest:
                divided = not divided
                if not divided or s.value != binary(Op.DIV, ir.Reg(rest), counts[-1]):
                    return None
    variables = module.kernel.grid.vars[::-1]
    if total is None or len(counts) != len(variables) or len(taken) != len(variables):
        return None
    made: Term = counts[0] if counts else ir.Number(1, DType.U32)
    for count in counts[1:]:
        made = made * count
    if made != total:
        return None
    result = dict(zip(variables, taken.items(), strict=True))
    for name, count in zip(variables, counts, strict=True):
        if not _covers(size(module.kernel.var(name).axis), count, result[name][1]):
            return None
    return result


def _place_of(value: Term, rest: str) -> tuple[Term, int] | None:
    """``(int)(rest % count) * extent``."""
    extent = 1
    if isinstance(value, Binary) and value.op is Op.MUL and isinstance(value.b, Const):
        extent = value.b.value
        value = value.a
    inner: Term = value.arg if isinstance(value, ir.Convert) else value
    if not isinstance(inner, Binary) or inner.op is not Op.MOD:
        return None
    first: Term = inner.a
    return (inner.b, extent) if first == ir.Reg(rest) else None


def _covers(length: Term, count: Term, extent: int) -> bool:
    """Whether so many tiles of an extent cover an axis of that length."""
    inner = count.arg if isinstance(count, ir.Convert) else count
    return inner == ((length + (extent - 1)) // extent if extent > 1 else length)


def _stored_again(body: Sequence[Statement]) -> set[str]:
    """Outputs that are stored in two places of which both may be run."""
    result: set[str] = set()
    seen: set[str] = set()
    for s in body:
        own: set[str] = set()
        match s:
            case ir.Write() | ir.Send() | ir.SendShifted() | ir.Merge():
                own = {s.tensor}
            case ir.Scope() | ir.For():
                result |= _stored_again(s.body)
                own = _stored(s.body)
            case ir.If():
                result |= _stored_again(s.body) | _stored_again(s.otherwise)
                own = _stored(s.body) | _stored(s.otherwise)
        result |= own & seen
        seen |= own
    return result


def _stored(body: Sequence[Statement]) -> set[str]:
    kinds = (ir.Write, ir.Send, ir.SendShifted, ir.Merge)
    return {s.tensor for s in ir.statements(tuple(body)) if isinstance(s, kinds)}


@dataclass
class _Site:
    """Where a store stands: numbers that are known, the threads that are there (None: it is not
    known which), and what is asked of them beside.
    """

    values: dict[str, Array]
    tid: Array
    there: Array | None
    asked: tuple[Term, ...]


class _Places:
    """The places of stores inside a tile: numbers of the thread and of loops with known ends.

    The first elements of tiles are numbers far apart, so that a place along one axis is none along
    another. ``asked``: conditions in front of a store that must say no more than where axes end.
    """

    def __init__(
        self,
        module: KernelModule,
        program: ThreadProgram,
        places: Mapping[str, tuple[str, int]],
    ) -> None:
        self.module, self.program, self.places = module, program, places
        self.tiles: dict[str, tuple[int, int]] = {}  # first element and extent, by register
        for n, name in enumerate(module.kernel.grid.vars):
            if name in places:
                register, extent = places[name]
                self.tiles[register] = (n + 1) * FAR, extent
        self.ends: dict[str, Term] = {}

    def sites(self, body: Sequence[Statement]) -> Iterator[tuple[str, bool]]:
        """Every store, and whether it fills its tile, each element once."""
        threads = np.arange(self.program.threads, dtype=np.int64)
        values: dict[str, Array] = {}
        for s in self.program.body:
            if isinstance(s, ir.Declare) and s.value is not None:
                found = self.number(s.value, values, threads)
                if found is not None:
                    values[s.name] = found
        yield from self.walk(body, _Site(values, threads, np.ones_like(threads), ()))

    def walk(self, body: Sequence[Statement], site: _Site) -> Iterator[tuple[str, bool]]:  # noqa: C901
        for s in body:
            match s:
                case ir.Declare() if s.value is not None and not s.count:
                    self.declare(s, site)
                case ir.Assign() if s.index is None:
                    site.values.pop(s.name, None)
                    self.ends.pop(s.name, None)
                case ir.Scope():
                    yield from self.walk(s.body, site)
                case ir.If():
                    yield from self.walk(s.body, self.some(s, site))
                    yield from self.walk(s.otherwise, self.others(s, site))
                    if _jumps(s.body) or _jumps(s.otherwise):
                        site.there = None
                case ir.For():
                    yield from self.walk(s.body, self.turns(s, site))
                case ir.Write():
                    yield s.tensor, self.fills(s.tensor, s.at, 1, site)
                case ir.Send():
                    yield s.tensor, self.fills(s.tensor, s.at, s.width, site)
                case ir.Merge() | ir.SendShifted():
                    yield s.tensor, False

    def declare(self, s: ir.Declare, site: _Site) -> None:
        """A register, and where an axis ends if that is what it says."""
        assert s.value is not None
        site.values.pop(s.name, None)
        self.ends[s.name] = s.value
        if s.name in self.tiles and any(isinstance(n, ir.Convert) for n in nodes(s.value)):
            site.values[s.name] = np.full(1, self.tiles[s.name][0], np.int64)
            return
        found = self.number(s.value, site.values, site.tid)
        if found is not None:
            site.values[s.name] = found

    def some(self, s: ir.If, site: _Site) -> _Site:
        """The threads that a condition lets through: those that it names. Which of two ways of
        storing is taken may be said where the other way stores the same.
        """
        there, asked = site.there, list(site.asked)
        for c in _conjuncts(s.condition):
            if isinstance(c, ir.Reg | ir.Aligned):
                there = there if _stored(s.body) <= _stored(s.otherwise) else None
                continue
            made = self.number(c, site.values, site.tid)
            if made is None:
                asked.append(c)
            elif there is not None:
                there = there * (made != 0)
        return _Site(dict(site.values), site.tid, there, tuple(asked))

    def others(self, s: ir.If, site: _Site) -> _Site:
        """All threads, if which way they store is said before anything else is asked."""
        ways = any(isinstance(c, ir.Reg | ir.Aligned) for c in _conjuncts(s.condition))
        same = ways and _stored(s.otherwise) <= _stored(s.body)
        return _Site(dict(site.values), site.tid, site.there if same else None, site.asked)

    def turns(self, s: ir.For, site: _Site) -> _Site:
        """Every turn of a loop with known ends."""
        values = dict(site.values)
        for name in _assigned(s.body) | {s.counter}:
            values.pop(name, None)
        bounds = [
            None if t is None else self.number(t, site.values, site.tid)
            for t in (s.first, s.end, s.step)
        ]
        known = [int(x.item()) for x in bounds if x is not None and x.size == 1]
        if len(known) < 3 or known[2] < 1 or s.running is not None or _jumps(s.body):
            return _Site(values, site.tid, None, site.asked)
        rank = max([x.ndim for x in site.values.values()], default=1)
        turns = np.arange(*known, dtype=np.int64)
        values[s.counter] = turns.reshape(len(turns), *([1] * rank))
        return _Site(values, site.tid, site.there, site.asked)

    def fills(self, tensor: str, at: tuple[Term, ...], width: int, site: _Site) -> bool:
        """Whether the places of a store are its tile, each once."""
        axes = self.module.tensor(tensor).axes
        spans = [self.span(a.name) if a.per == 1 else None for a in axes]
        places = [self.number(x, site.values, site.tid) for x in at]
        if site.there is None or not self.ends_alone(at, axes, width, site):
            return False
        walked = {name for name in self.tiles if self.tiles[name] in spans}
        if len(walked) < len(self.tiles):
            return False
        if width > 1 and places[-1] is not None:
            last = places[-1]
            rank = max(p.ndim for p in places if p is not None)
            places[-1] = last + np.arange(width, dtype=np.int64).reshape(width, *([1] * rank))
        loops = [x.shape for x in site.values.values() if x.ndim > 1]
        known = [p.shape for p in places if p is not None]
        shape = np.broadcast_shapes(site.there.shape, *known, *loops)
        if np.prod(shape) > MOST_PLACES:
            return False
        key, whole = np.zeros(shape, np.int64), 1
        inside = np.broadcast_to(site.there, shape) != 0
        for place, span in zip(places, spans, strict=True):
            if place is None or span is None:
                return False
            own = place - span[0]
            key, whole = key * span[1] + own, whole * span[1]
            inside &= np.broadcast_to((own >= 0) & (own < span[1]), shape)
        taken = np.sort(key[inside])
        return len(taken) == whole and bool((taken == np.arange(whole)).all())

    def ends_alone(
        self, at: tuple[Term, ...], axes: tuple[Axis, ...], width: int, site: _Site
    ) -> bool:
        """Whether each condition says that a coordinate of the store lies before the end of its
        axis, and leaves out no element that exists.
        """
        for c in site.asked:
            if not isinstance(c, Binary):
                return False
            wide = isinstance(c.a, Binary) and c.op is Op.LE and c.a.op is Op.ADD
            if wide:
                assert isinstance(c.a, Binary)
                if c.a.b != Const(width):
                    return False
            elif c.op is not Op.LT:
                return False
            place = c.a.a if wide and isinstance(c.a, Binary) else c.a
            if not any(
                (place == x and self.is_end(c.b, axis)) or self.is_rest(place, x, c.b, axis)
                for x, axis in zip(at, axes, strict=True)
            ):
                return False
        return True

    def is_rest(self, place: Term, x: Term, rest: Term, axis: Axis) -> bool:
        """Whether a coordinate is so far behind the first of its tile, and ``rest`` is how many
        elements there are from there on.
        """
        span = self.span(axis.name)
        name = next((n for n, found in self.tiles.items() if found == span), None)
        if span is None or name is None or x != ir.Reg(name) + place:
            return False
        value = self.ends.get(rest.name) if isinstance(rest, ir.Reg) else rest
        left = binary(Op.SUB, size(axis.name), ir.Reg(name))
        return value == binary(Op.MIN, span[1], left)

    def is_end(self, end: Term, axis: Axis) -> bool:
        """Whether a number is where an axis, or the tile at hand, ends."""
        value = self.ends.get(end.name) if isinstance(end, ir.Reg) else end
        if value == size(axis.name):
            return True
        span = self.span(axis.name)
        if span is None:
            return False
        if span[0] == 0 and value == Const(span[1]):
            return True
        name = next((n for n, found in self.tiles.items() if found == span), "")
        tile = ir.Reg(name) + span[1]
        return value == binary(Op.MIN, tile, size(axis.name))

    def span(self, axis: str) -> tuple[int, int] | None:
        """The first element of an axis in a tile, and how many there are."""
        for v in self.module.kernel.vars:
            if v.axis == axis and v.name in self.module.kernel.grid.vars:
                return self.tiles[self.places[v.name][0]]
            if v.axis == axis and v.walk is Walk.WHOLE and v.extent:
                return 0, v.extent
        return None

    def number(  # noqa: PLR0911 (a case a kind)
        self, t: Term, values: Mapping[str, Array], tid: Array
    ) -> Array | None:
        """A number of the thread and of loops; None for any other."""
        match t:
            case Const():
                return np.full(1, t.value, np.int64)
            case ir.Number() if not t.dtype.is_float:
                return np.full(1, int(t.value), np.int64)
            case ir.TID:
                return tid
            case ir.Reg() if t.index is None:
                return values.get(t.name)
            case Binary() if t.op in _NUMBERS:
                a, b = self.number(t.a, values, tid), self.number(t.b, values, tid)
                if a is None or b is None or (t.op in (Op.DIV, Op.MOD) and (b <= 0).any()):
                    return None
                if t.op in (Op.DIV, Op.MOD) and (a < 0).any():
                    return None
                result: Array = _NUMBERS[t.op](a, b).astype(np.int64)
                return result
        return None


_NUMBERS = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.DIV: np.floor_divide,
    Op.MOD: np.mod,
    Op.EQ: np.equal,
    Op.LT: np.less,
    Op.GE: np.greater_equal,
}
