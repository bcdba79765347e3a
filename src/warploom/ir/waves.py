"""Wave programs: what the waves of a workgroup do on a CDNA chip, instruction by instruction.

All lanes of all waves run one program. Registers are named ``%x`` and written once; each holds a
number, or a short vector of them, for every lane. Whole numbers have 32 or 64 bits and wrap. A
number of a tensor's element type is held as f32 (rounded to that type), i32 or a truth; as it lies
in memory it is a word of 8, 16 or 32 bits (``Decode``, ``Encode``).

Control flow has structure. Loops and conditions are the same for a whole workgroup but for ``If``
without results, whose condition may differ from lane to lane. A loop names what it carries, and a
condition what it chooses.

Memory is named by tensor, with offsets from its first element; LDS by byte, or by ring and stage. A
``Pipeline`` is a loop with a schedule: its instructions stand in ``Step``, one for every entry, in
the order in which they are issued, with all waits and barriers. Elsewhere a register that a load
fills is waited for where it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from warploom.dataclass import dataclass
from warploom.ir.counter_dialect import Counters, KernelShape, Protocol
from warploom.ir.dataflow import Flow
from warploom.ir.machine_costs import MachineCosts
from warploom.ir.schedule_ops import KOffsetKind, OpRole, ResourceKind
from warploom.ir.tile import Inline
from warploom.ir.types import DType, Fn

Operand = str | int | float | bool | None
"""The name of a register, a number, or None: any bits."""


class Word(StrEnum):
    """What one element of a register is."""

    I1 = "i1"
    I8 = "i8"
    I16 = "i16"
    I32 = "i32"
    I64 = "i64"
    F32 = "f32"
    BF16 = "bf16"
    F16 = "f16"

    @property
    def bits(self) -> int:
        """Of one element."""
        return {"i1": 1, "i8": 8, "i32": 32, "f32": 32, "i64": 64}.get(self.value, 16)


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of a register: one word, or a vector of ``count``."""

    word: Word
    count: int = 1

    @property
    def bits(self) -> int:
        """Of all of it."""
        return self.word.bits * self.count


class IntOp(StrEnum):
    """Arithmetic of whole numbers."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    UDIV = "udiv"
    UREM = "urem"
    AND = "and"
    OR = "or"
    XOR = "xor"
    SHL = "shl"
    LSHR = "lshr"
    ASHR = "ashr"
    SMIN = "smin"
    SMAX = "smax"
    UMIN = "umin"


class Order(StrEnum):
    """Comparisons of whole numbers, with a sign (``s``) or without (``u``)."""

    EQ = "eq"
    NE = "ne"
    SLT = "slt"
    SGE = "sge"
    SGT = "sgt"
    ULT = "ult"
    UGT = "ugt"
    UGE = "uge"


class Merging(StrEnum):
    """How an atomic operation joins a number with what is in memory."""

    FADD = "fadd"
    ADD = "add"
    MAX = "max"
    MIN = "min"
    UMAX = "umax"
    UMIN = "umin"


class Instruction:
    """Base of all instructions."""

    __slots__ = ()


# Numbers.


@dataclass(frozen=True, slots=True)
class Integer(Instruction):
    """Whole numbers of 32 or 64 bits, or truths (``bits`` 1)."""

    to: str
    op: IntOp
    bits: int
    a: Operand
    b: Operand


@dataclass(frozen=True, slots=True)
class Compare(Instruction):
    """A truth about two whole numbers."""

    to: str
    op: Order
    bits: int
    a: Operand
    b: Operand


@dataclass(frozen=True, slots=True)
class Select(Instruction):
    """``a`` where a condition holds, else ``b``."""

    to: str
    kind: Kind
    condition: Operand
    a: Operand
    b: Operand


@dataclass(frozen=True, slots=True)
class Resize(Instruction):
    """A whole number with other bits; a longer one with a sign (``signed``) or zeros."""

    to: str
    value: Operand
    source: Word
    word: Word
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Cast(Instruction):
    """The same bits as another type."""

    to: str
    value: Operand
    source: Kind
    kind: Kind


@dataclass(frozen=True, slots=True)
class Function(Instruction):
    """A function of the table of elementwise functions, of numbers of these types; ``code``: of an
    inline function, what it is.
    """

    to: str
    fn: Fn
    args: tuple[Operand, ...]
    types: tuple[DType, ...]
    dtype: DType
    code: Inline | None = None


@dataclass(frozen=True, slots=True)
class Pairwise(Instruction):
    """A sum, difference or product of two f32 at once."""

    to: str
    fn: Fn
    a: Operand
    b: Operand


@dataclass(frozen=True, slots=True)
class Convert(Instruction):
    """A number as one of another type."""

    to: str
    value: Operand
    source: DType
    dtype: DType


@dataclass(frozen=True, slots=True)
class Decode(Instruction):
    """An element as it lies in memory, as a number."""

    to: str
    value: Operand
    dtype: DType


@dataclass(frozen=True, slots=True)
class Encode(Instruction):
    """A number of a type as an element of memory; several as one vector (``many``)."""

    to: str
    values: tuple[Operand, ...]
    dtype: DType
    many: bool = False


@dataclass(frozen=True, slots=True)
class Round(Instruction):
    """An f32 as a 16-bit float, rounded to nearest."""

    to: str
    value: Operand
    word: Word


@dataclass(frozen=True, slots=True)
class IsNumber(Instruction):
    """Whether an f32 is not NaN."""

    to: str
    value: Operand


# Vectors.


@dataclass(frozen=True, slots=True)
class Vector(Instruction):
    """A vector of values."""

    to: str
    values: tuple[Operand, ...]
    word: Word


@dataclass(frozen=True, slots=True)
class Insert(Instruction):
    """A vector with another element at one place."""

    to: str
    vector: Operand
    kind: Kind
    value: Operand
    at: int


@dataclass(frozen=True, slots=True)
class Extract(Instruction):
    """An element of a vector."""

    to: str
    vector: Operand
    kind: Kind
    at: int


@dataclass(frozen=True, slots=True)
class Shuffle(Instruction):
    """Elements of two vectors one after the other, those that are ``picked``."""

    to: str
    a: Operand
    b: Operand
    a_kind: Kind
    b_kind: Kind
    picked: tuple[int, ...]


# Memory.


@dataclass(frozen=True, slots=True)
class AddressBits(Instruction):
    """The address of a tensor, as a number."""

    to: str
    tensor: str


@dataclass(frozen=True, slots=True)
class Address(Instruction):
    """``offset`` times ``1 << scale`` bytes after a tensor's first one, or after ``start``."""

    to: str
    tensor: str
    offset: Operand
    scale: int
    start: str = ""


@dataclass(frozen=True, slots=True)
class Load(Instruction):
    """Neighbours in memory, as they lie there."""

    to: str
    kind: Kind
    tensor: str
    address: str
    align: int


@dataclass(frozen=True, slots=True)
class Number(Instruction):
    """One whole number of a tensor, the same for all lanes."""

    to: str
    tensor: str
    index: Operand


@dataclass(frozen=True, slots=True)
class Store(Instruction):
    """Neighbours to memory, as they are."""

    tensor: str
    address: str
    value: Operand
    kind: Kind
    align: int


@dataclass(frozen=True, slots=True)
class Merge(Instruction):
    """An element of memory is joined with a number, as one operation."""

    how: Merging
    tensor: str
    address: str
    value: Operand
    word: Word


@dataclass(frozen=True, slots=True)
class Buffer(Instruction):
    """Memory from an address of a tensor on, as copies name it."""

    to: str
    tensor: str
    address: str


@dataclass(frozen=True, slots=True)
class CopyToLds(Instruction):
    """Memory to LDS without registers: ``bytes`` of each lane from ``lane`` + ``along`` bytes of a
    buffer, to ``at`` + ``share`` and from there one lane after the other. In flight until a wait.
    """

    buffer: str
    tensor: str
    bytes: int
    lane: Operand
    along: Operand
    ring: int
    stage: int
    at: int
    share: Operand


@dataclass(frozen=True, slots=True)
class ReadLds(Instruction):
    """LDS from byte ``at`` + ``lane`` on. Of a ring (``ring`` from 0 on): in flight until a wait.
    ``turned``: four lanes exchange what they read, so that each has one column.
    """

    to: str
    kind: Kind
    lane: Operand
    at: int
    align: int
    ring: int = -1
    stage: int = 0
    turned: bool = False


@dataclass(frozen=True, slots=True)
class WriteLds(Instruction):
    """A value to LDS. To a ring: in flight until a wait."""

    value: Operand
    kind: Kind
    lane: Operand
    at: int
    align: int
    ring: int = -1
    stage: int = 0


# The matrix unit.


@dataclass(frozen=True, slots=True)
class MatrixOp:
    """A matrix instruction of 16 x 16 x ``k`` with f32 sums, and its operands' element types."""

    k: int
    left: DType
    right: DType


@dataclass(frozen=True, slots=True)
class Mfma(Instruction):
    """``total`` + ``a`` times ``b`` in one matrix instruction; without a total it begins at 0."""

    to: str
    matrix: MatrixOp
    a: Operand
    b: Operand
    total: Operand


# Lanes.


@dataclass(frozen=True, slots=True)
class FirstLane(Instruction):
    """The number of a wave's first lane, for all of them."""

    to: str
    value: Operand


@dataclass(frozen=True, slots=True)
class Permute(Instruction):
    """The number of the lane that a quarter of ``at`` names."""

    to: str
    at: Operand
    value: Operand
    word: Word


@dataclass(frozen=True, slots=True)
class Neighbours(Instruction):
    """Of lanes whose numbers differ in the bit ``step``: both lanes' numbers where there are two
    names, else one that has the other half's, if lanes below that bit hold equal numbers.
    """

    to: tuple[str, ...]
    value: Operand
    step: int
    word: Word


@dataclass(frozen=True, slots=True)
class NoLane(Instruction):
    """Whether a condition holds for no lane of the wave."""

    to: str
    value: Operand


@dataclass(frozen=True, slots=True)
class Anew(Instruction):
    """The same number in a register of its own. ``fixed``: made at this place."""

    to: str
    value: Operand
    fixed: bool = False


# Synchronisation.


@dataclass(frozen=True, slots=True)
class Wait(Instruction):
    """Until at most so many copies (``vm``), LDS accesses (``lgkm``) of the wave are in flight."""

    vm: int | None = None
    lgkm: int | None = None


@dataclass(frozen=True, slots=True)
class Barrier(Instruction):
    """All waves have come here. ``fenced``: with all that they wrote to LDS."""

    fenced: bool = False


@dataclass(frozen=True, slots=True)
class Priority(Instruction):
    """Of this wave among those of its SIMD."""

    value: int


@dataclass(frozen=True, slots=True)
class Pin(Instruction):
    """Nothing is moved across this place."""


@dataclass(frozen=True, slots=True)
class Settle(Instruction):
    """All arguments are in registers from here on."""


# Structure.


@dataclass(frozen=True, slots=True)
class Chosen:
    """A register after a condition: what it is in each case."""

    name: str
    kind: Kind
    then: Operand
    otherwise: Operand


@dataclass(frozen=True, slots=True)
class Kept:
    """A register that a loop carries: what it is before the first turn, and after one."""

    name: str
    kind: Kind
    first: Operand
    last: Operand


@dataclass(frozen=True, slots=True)
class If(Instruction):
    """Instructions of the lanes for which a condition holds, and of the others. Without
    ``otherwise`` there are none of the others.
    """

    condition: Operand
    body: tuple[Instruction, ...]
    otherwise: tuple[Instruction, ...] | None = None
    results: tuple[Chosen, ...] = ()


@dataclass(frozen=True, slots=True)
class While(Instruction):
    """``for (counter = first; counter < end && going; counter += step)``."""

    counter: str
    first: Operand
    end: Operand
    step: int
    carried: tuple[Kept, ...]
    body: tuple[Instruction, ...]
    going: Kept | None = None


@dataclass(frozen=True, slots=True)
class FindGroup(Instruction):
    """The group whose rows tile ``number`` of ``extent`` rows has: ``group``, its first and end row
    (``bounds``, inside of ``length``) and the tiles of it before this one (``left``). A workgroup
    for which there is none ends here.
    """

    group: str
    left: str
    bounds: tuple[str, str]
    tensor: str
    number: Operand
    groups: Operand
    length: Operand
    extent: int


@dataclass(frozen=True, slots=True)
class AllIndices(Instruction):
    """Whether ``count`` whole numbers of a tensor, ``stride`` elements apart from number ``first``
    on, are all below a limit. Lanes look at them in turn.
    """

    to: str
    tensor: str
    first: Operand
    stride: Operand
    count: Operand
    limit: Operand
    lane: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Instruction):
    """One entry of a schedule: which op it is, and its instructions. ``number``: of its kind."""

    tag: int
    name: str
    role: OpRole
    resource: ResourceKind
    number: int
    channel: int
    time_slot: int
    body: tuple[Instruction, ...]
    stage: int = 0
    wait: int = 0
    latency: int = 0
    vgpr_def: int = 0
    vgpr_kill: int = 0
    k_offset: KOffsetKind = KOffsetKind.NONE
    is_prefetch: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """A tile in LDS: ``stages`` copies of ``bytes``, from byte ``at`` on."""

    channel: int
    name: str
    at: int
    bytes: int
    stages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline(Instruction):
    """A loop with a schedule: prologue, ``trips`` turns of the kernel, epilogue. ``results``: what
    registers are after the turns, and if there are none.
    """

    name: str
    axis: str
    strategy: str
    trips: Operand
    counter: str
    rings: tuple[Ring, ...]
    prologue: tuple[Instruction, ...]
    carried: tuple[Kept, ...]
    kernel: tuple[Instruction, ...]
    results: tuple[Chosen, ...]
    epilogue: tuple[Instruction, ...]
    protocol: Protocol
    counters: Counters
    shape: KernelShape | None
    flow: Flow | None
    machine: MachineCosts | None


INSTRUCTIONS: tuple[type[Instruction], ...] = (
    Integer, Compare, Select, Resize, Cast, Function, Pairwise, Convert, Decode, Encode, Round,
    IsNumber, Vector, Insert, Extract, Shuffle, AddressBits, Address, Load, Number, Store, Merge,
    Buffer, CopyToLds, ReadLds, WriteLds, Mfma, FirstLane, Permute, Neighbours, NoLane, Anew, Wait,
    Barrier, Priority, Pin, Settle, If, While, FindGroup, AllIndices, Step, Pipeline,
)  # fmt: skip


class ArgumentKind(StrEnum):
    """What an argument of the launch is."""

    TENSOR = "tensor"
    STRIDE = "stride"
    SIZE = "size"
    SCALAR = "scalar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument: of a tensor its address or the stride of an axis, the size of a named axis, or a
    scalar. ``kind``: ``pointer``, ``i64``, ``i32`` or ``f32``.
    """

    name: str
    what: ArgumentKind
    of: str
    axis: int = 0
    kind: str = "i32"

    @property
    def size(self) -> int:
        """Bytes."""
        return 8 if self.kind in ("pointer", "i64") else 4


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveProgram:
    """The program of every wave of a workgroup. ``fixed``: axes it is made for one size of;
    ``extents``: elements of tiles and steps, by variable; ``plain``: why loops have no schedule.
    ``entry``: what depends on lane, wave and arguments alone, before everything else.
    ``tile``: where the tile of a workgroup begins, by variable of the grid.
    """

    waves: int
    across: int
    arguments: tuple[Argument, ...]
    lds_bytes: int
    fixed: tuple[tuple[str, int], ...]
    extents: tuple[tuple[str, int], ...]
    entry: tuple[Instruction, ...]
    body: tuple[Instruction, ...]
    tile: tuple[tuple[str, str | int], ...] = ()
    exchange: bool = False
    prefetched: int = 0
    plain: tuple[str, ...] = ()


TID, LANE, WAVE, GROUP = "%tid", "%lane", "%wave", "%group"
"""Registers that every program begins with: of the workgroup, the wave, the launch."""


def instructions(body: tuple[Instruction, ...]) -> Iterator[Instruction]:
    """All instructions, those inside after the one they are in."""
    for one in body:
        yield one
        for inner in inside(one):
            yield from instructions(inner)


def inside(one: Instruction) -> tuple[tuple[Instruction, ...], ...]:
    """The bodies of an instruction."""
    match one:
        case If():
            return (one.body, one.otherwise or ())
        case While() | Step():
            return (one.body,)
        case Pipeline():
            return (one.prologue, one.kernel, one.epilogue)
        case _:
            return ()


def pipelines(program: WaveProgram) -> tuple[Pipeline, ...]:
    """The loops of a program that have a schedule, in order."""
    return tuple(x for x in instructions(program.body) if isinstance(x, Pipeline))


def names_of(one: Instruction) -> tuple[str, ...]:
    """The registers that an instruction itself writes."""
    match one:
        case Neighbours():
            return one.to
        case If() | Pipeline():
            return tuple(c.name for c in one.results)
        case FindGroup():
            return (one.group, one.left, *one.bounds)
        case _:
            found = getattr(one, "to", "")
            return (found,) if found else ()
