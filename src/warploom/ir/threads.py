"""Thread programs: what one thread of a block does, statement by statement, with typed terms.

Kernels that have no pipeline are written so: there are no roles, rings or copies, all threads of a
block run one program. Registers are declared with their type (``raw``: elements as they lie in
memory), memory is named by tensor and coordinates, shared memory by declared views of it. A term
has no effect; what it reads of memory it reads when it is evaluated, and only by threads for which
the condition in front of it (``Select``, ``&&``) holds.

Whole numbers have 32 bits and wrap; ``/`` and ``%`` truncate as the machine's. All threads of a
block meet at a ``Barrier``; between two of them shared memory must not be written by one thread and
touched by another.

Matrix products (``Mma``) are asynchronous: a warpgroup issues them on operand tiles in shared
memory, commits them and waits. What threads wrote to a tile reaches products after a ``ProxyFence``
of the thread that wrote and a barrier. Until the wait, the tiles are read and the accumulators are
written at any time. Accumulators take part after an ``MmaFence`` that names them.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import ClassVar

from warploom.dataclass import dataclass
from warploom.ir.expr import COMPARISONS, Binary, Const, Expr, Select, Sym, SymKind, const
from warploom.ir.tile import Inline
from warploom.ir.types import DType, Fn, Line

# Terms: the expressions of ``ir.expr``, and these kinds. Operands of theirs may be any term.

Term = Expr
TID = Sym(SymKind.THREAD, "tid")
"""The number of a thread in its CTA; ``CTA`` and ``CTAS`` are those of tile loops."""


class Exchange(StrEnum):
    """How a thread names the one of its warp whose number it takes."""

    XOR = "xor"
    UP = "up"
    DOWN = "down"
    LANE = "lane"


@dataclass(frozen=True, slots=True)
class Number(Term):
    """A constant of another type than the whole numbers of ``Const``."""

    value: float | int | bool
    dtype: DType


@dataclass(frozen=True, slots=True)
class Scalar(Term):
    """A scalar of the call."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Reg(Term):
    """A register, or an element of a register array."""

    operands: ClassVar[tuple[str, ...]] = ("index",)
    name: str
    index: Term | None = None


@dataclass(frozen=True, slots=True)
class Not(Term):
    """A condition that does not hold."""

    operands: ClassVar[tuple[str, ...]] = ("arg",)
    arg: Term


@dataclass(frozen=True, slots=True)
class Within(Term):
    """``0 <= index < length``."""

    operands: ClassVar[tuple[str, ...]] = ("index", "length")
    index: Term
    length: Term


@dataclass(frozen=True, slots=True)
class Function(Term):
    """A function of the table of elementwise functions; ``code``: of ``Fn.INLINE``, what it is."""

    operands: ClassVar[tuple[str, ...]] = ("args",)
    fn: Fn
    args: tuple[Term, ...]
    dtype: DType
    code: Inline | None = None


@dataclass(frozen=True, slots=True)
class Join(Term):
    """Two elements of a reduction joined."""

    operands: ClassVar[tuple[str, ...]] = ("a", "b")
    fn: Fn
    a: Term
    b: Term
    dtype: DType


@dataclass(frozen=True, slots=True)
class Convert(Term):
    """A number as one of another type, held in a register."""

    operands: ClassVar[tuple[str, ...]] = ("arg",)
    arg: Term
    dtype: DType


@dataclass(frozen=True, slots=True)
class Decode(Term):
    """An element as it lies in memory, as a number."""

    operands: ClassVar[tuple[str, ...]] = ("arg",)
    arg: Term
    dtype: DType


@dataclass(frozen=True, slots=True)
class Encode(Term):
    """A number as an element of memory: rounded to nearest."""

    operands: ClassVar[tuple[str, ...]] = ("arg",)
    arg: Term
    dtype: DType


@dataclass(frozen=True, slots=True)
class Nearby(Term):
    """The element ``by`` further along an axis than an ``Address``, as it lies in memory."""

    operands: ClassVar[tuple[str, ...]] = ("by",)
    address: str
    axis: int
    by: Term


@dataclass(frozen=True, slots=True)
class Shared(Term):
    """An element of shared memory, by a declared view."""

    operands: ClassVar[tuple[str, ...]] = ("index",)
    view: str
    index: Term


@dataclass(frozen=True, slots=True)
class Shuffle(Term):
    """What another thread of the warp has; all 32 take part."""

    operands: ClassVar[tuple[str, ...]] = ("value", "by")
    how: Exchange
    value: Term
    by: Term


@dataclass(frozen=True, slots=True)
class Aligned(Term):
    """Whether every row of a tensor begins at a multiple of so many bytes, without gaps inside."""

    tensor: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Contiguous(Term):
    """Whether the elements of a tensor's last axis lie one after the other."""

    tensor: str


@dataclass(frozen=True, slots=True)
class Covered(Term):
    """Whether the multiples of 16 bytes that ``width`` neighbours lie in are bytes of their row,
    whose elements ``end`` ends.
    """

    operands: ClassVar[tuple[str, ...]] = ("at", "end")
    tensor: str
    at: tuple[Term, ...]
    width: int
    end: Term


TERMS: tuple[type[Term], ...] = (
    Number, Scalar, Reg, Not, Within, Function, Join, Convert, Decode, Encode, Nearby, Shared,
    Shuffle, Aligned, Contiguous, Covered,
)  # fmt: skip


def constant(value: float | int | bool, dtype: DType) -> Term:
    """A number of a type."""
    return const(int(value)) if dtype is DType.I32 else Number(value, dtype)


# Statements.


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """The statements that follow are of this line of the author's."""

    line: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Declare:
    """A register, or ``count`` of them; ``raw``: elements as they lie in memory. Without a value it
    holds nothing yet; raw arrays may begin as zeros. ``holds``: which value of the tile IR it is.
    """

    name: str
    dtype: DType
    value: Term | None = None
    count: int = 0
    raw: bool = False
    holds: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Shared memory from a byte on as ``count`` elements of a type."""

    name: str
    dtype: DType
    offset: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Assign:
    """A register, or an element of an array, takes a value."""

    name: str
    value: Term
    index: Term | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """An element of shared memory takes a value."""

    view: str
    index: Term
    value: Term


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """``width`` neighbours of a tensor's last axis, into raw registers from ``index`` on."""

    into: str
    index: Term
    tensor: str
    at: tuple[Term, ...]
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A name for where an element of a tensor lies, be it there or not."""

    name: str
    tensor: str
    at: tuple[Term, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchNearby:
    """``width`` neighbours of a tensor's last axis from an ``Address`` on, into raw registers."""

    into: str
    address: str
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """Raw registers from ``index`` on, to ``width`` neighbours of a tensor's last axis."""

    tensor: str
    at: tuple[Term, ...]
    source: str
    index: Term
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Covers:
    """Registers for the multiples of 16 bytes that ``width`` neighbours of a type lie in, ``count``
    times.
    """

    name: str
    dtype: DType
    width: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchCover:
    """What neighbours at any address lie in, into cover number ``index``."""

    into: str
    index: Term
    tensor: str
    at: tuple[Term, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeCovered:
    """The neighbours at an address, out of cover number ``number`` that was fetched there, into raw
    registers from ``index`` on.
    """

    into: str
    index: Term
    cover: str
    number: Term
    tensor: str
    at: tuple[Term, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SendShifted:
    """As ``Send``, to any address: every lane of a warp comes here, and stores multiples of 16
    bytes that begin with the last bytes of the lane ``before`` it; the lane ``after`` does so with
    its own. What no lane moves so is stored element by element. ``here``: the lane has something.
    """

    tensor: str
    at: tuple[Term, ...]
    source: str
    width: int
    here: Term
    before: Term
    after: Term


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """An element of a tensor takes a value, as it lies in memory."""

    tensor: str
    at: tuple[Term, ...]
    value: Term


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """An element of a tensor is joined with a number, as one operation of memory."""

    fn: Fn
    tensor: str
    at: tuple[Term, ...]
    value: Term


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier:
    """All threads of the block have come here, and see what each wrote before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandTile:
    """Shared memory from a byte on as an operand of products: rows of 128 bytes, whose 16-byte
    chunks are swizzled (chunk ``c`` of row ``r`` lies at ``c ^ r % 8``); one slab of such columns
    after the other.
    """

    name: str
    dtype: DType
    rows: int
    columns: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PutTile:
    """An element of an operand tile takes a value, as it lies in memory."""

    tile: str
    row: Term
    column: Term
    value: Term


@dataclass(frozen=True, slots=True, kw_only=True)
class PutChunk:
    """16 bytes of raw registers, to neighbours of a row of an operand tile."""

    tile: str
    row: Term
    column: Term
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearTile:
    """All elements of an operand tile become zero: the threads of the block take chunks of 16 bytes
    in turn.
    """

    tile: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyFence:
    """What this thread wrote to shared memory is there for products behind the next barrier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MmaFence:
    """Register arrays are ready to be accumulated to by products."""

    registers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """What a product takes of a tile: rows of M or N from ``first`` on, and of K the part number
    ``step``, 32 bytes of it. ``turned``: rows of the tile are K.
    """

    tile: str
    first: Term
    step: Term
    turned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mma:
    """A warpgroup adds ``a @ b.T``, 64 rows by ``columns``, to accumulators from ``index`` on."""

    into: str
    index: Term
    columns: int
    a: Operand
    b: Operand


@dataclass(frozen=True, slots=True, kw_only=True)
class MmaCommit:
    """The products issued since the last commit are one group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MmaWait:
    """All groups of products but the last ``pending`` are done."""

    pending: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitKernelBefore:
    """What the kernel before this one in its stream wrote is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """Leaves the innermost loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Continue:
    """Goes on with the next turn of the innermost loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is declared in it is gone after it."""

    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class If:
    """Statements of the threads for which a condition holds, and of the others."""

    condition: Term
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class For:
    """``for (counter = first; running && counter < end; counter += step)``, all evaluated every
    turn. Without ``first`` the counter is a register that was declared before, and stays.
    ``unsigned``: of the counter. ``unroll``: a hint; ``times``: so many turns at once, not all.
    """

    counter: str
    first: Term | None
    end: Term
    step: Term
    body: tuple[Statement, ...]
    running: Term | None = None
    unsigned: bool = False
    unroll: bool = False
    times: int = 0


Statement = (
    Author | Declare | View | Covers | Assign | Put | Fetch | Address | FetchNearby | FetchCover
    | TakeCovered | Send | SendShifted | Write | Merge | Barrier | OperandTile | PutTile | PutChunk
    | ClearTile | ProxyFence | MmaFence | Mma | MmaCommit | MmaWait | AwaitKernelBefore | Break
    | Continue | Scope | If | For
)  # fmt: skip


class ArgumentKind(StrEnum):
    """What a parameter of the launch is."""

    POINTER = "pointer"
    STRIDE = "stride"
    SIZE = "size"
    SCALAR = "scalar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A parameter: of a tensor its address or the stride of an axis, the size of a named axis, or
    a scalar.
    """

    kind: ArgumentKind
    name: str
    axis: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadProgram:
    """The program of every thread of a block. ``lanes`` neighbouring threads share a row.
    ``rereads``: inputs may be read again after outputs were written. ``extents``: elements of tiles
    and steps, by variable.
    """

    threads: int
    lanes: int
    arguments: tuple[Argument, ...]
    body: tuple[Statement, ...]
    rereads: bool = False
    extents: tuple[tuple[str, int], ...] = ()


# Walks.


def statements(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements, those inside after the one they are in."""
    for statement in body:
        yield statement
        match statement:
            case Scope() | For():
                yield from statements(statement.body)
            case If():
                yield from statements(statement.body)
                yield from statements(statement.otherwise)


def terms_of(  # noqa: C901, PLR0911, PLR0912 (one line a kind)
    statement: Statement,
) -> tuple[Term, ...]:
    """The terms of a statement itself, not of those inside it."""
    match statement:
        case Declare():
            return () if statement.value is None else (statement.value,)
        case Assign():
            return (*_some(statement.index), statement.value)
        case Put():
            return (statement.index, statement.value)
        case Fetch() | Send() | FetchCover():
            return (statement.index, *statement.at)
        case TakeCovered():
            return (statement.index, statement.number, *statement.at)
        case SendShifted():
            return (*statement.at, statement.here, statement.before, statement.after)
        case Write() | Merge():
            return (*statement.at, statement.value)
        case Address():
            return statement.at
        case PutTile():
            return (statement.row, statement.column, statement.value)
        case PutChunk():
            return (statement.row, statement.column)
        case Mma(a=a, b=b):
            return (statement.index, a.first, a.step, b.first, b.step)
        case If():
            return (statement.condition,)
        case For():
            return (
                *_some(statement.first), statement.end, statement.step, *_some(statement.running),
            )  # fmt: skip
        case _:
            return ()


def _some(term: Term | None) -> tuple[Term, ...]:
    return () if term is None else (term,)


def assigned(body: tuple[Statement, ...]) -> frozenset[int]:
    """The declarations (by ``id``) of registers that take another value later."""
    found: set[int] = set()

    def scan(body: tuple[Statement, ...], outer: dict[str, int]) -> None:
        names = dict(outer)
        for s in body:
            match s:
                case Declare():
                    names[s.name] = id(s)
                case Assign():
                    found.add(names.get(s.name, 0))
                case Mma():
                    found.add(names.get(s.into, 0))
                case Scope():
                    scan(s.body, names)
                case For():
                    if s.first is None:
                        found.add(names.get(s.counter, 0))
                        scan(s.body, names)
                    else:
                        scan(s.body, names | {s.counter: 0})
                case If():
                    scan(s.body, names)
                    scan(s.otherwise, names)

    scan(body, {})
    return frozenset(found)


Types = dict[str, tuple[DType, bool]]


def type_of(term: Term, registers: Types) -> DType:  # noqa: C901, PLR0911 (one line a kind)
    """The type of a number; ``registers``: what names were declared as."""
    match term:
        case Const():
            return DType.I32
        case Number() | Scalar() | Function() | Join() | Convert() | Decode() | Encode():
            return term.dtype
        case Sym():
            return DType.I32 if term.kind is SymKind.SIZE else DType.U32
        case Reg():
            return registers[term.name][0]
        case Shared():
            return registers[term.view][0]
        case Binary() if term.op in COMPARISONS:
            return DType.BOOL
        case Binary():
            # As in C: with a number that has no sign the other one loses its own.
            types = (type_of(term.a, registers), type_of(term.b, registers))
            return DType.U32 if DType.U32 in types else DType.I32
        case Not() | Within() | Aligned() | Contiguous() | Covered():
            return DType.BOOL
        case Select():
            return type_of(term.then, registers)
        case Shuffle():
            return type_of(term.value, registers)
        case _:
            raise KeyError(term)
