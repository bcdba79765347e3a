"""``KernelModule``: everything that decides what a kernel computes, as one frozen value.

Signature, launch, tile IR, the programs of the roles with their tile schedules, indices, predicates
and trip counts, and all synchronisation. Verifier, interpreter, listing and code generators read it
and nothing beside it. ``to_json`` and ``from_json`` write and read format 2.
"""

from __future__ import annotations

from enum import StrEnum

from warploom.dataclass import dataclass
from warploom.ir.counter_dialect import Counters, KernelShape, Protocol
from warploom.ir.dataflow import Exchange, Flow
from warploom.ir.expr import Function, IntExpr
from warploom.ir.mbarrier_dialect import ProofRecord
from warploom.ir.operations import Statement
from warploom.ir.rings import NamedBarrier, RoleRing, StagingBuffer
from warploom.ir.threads import ThreadProgram
from warploom.ir.tile import Kernel
from warploom.ir.tile_schedule import Let, TileSchedule
from warploom.ir.types import Axis, DType
from warploom.ir.waves import WaveProgram


class Outside(StrEnum):
    """What a tensor map does with elements outside its tensor."""

    ZERO = "zero"
    DROP = "drop"


class Dialect(StrEnum):
    """How the operations of a module synchronise."""

    MBARRIER = "mbarrier"
    COUNTER = "counter"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorArg:
    """A tensor of the call; ``alignment`` of its address and rows, in bytes.

    ``blocked``: its last two axes lie in blocks of 16 rows and 8 columns; rows are rounded up to
    whole blocks, and those that do not exist may be written.
    """

    name: str
    axes: tuple[Axis, ...]
    dtype: DType
    access: str
    alignment: int
    blocked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarArg:
    """A scalar of the call."""

    name: str
    dtype: DType


def tensor_args(kernel: Kernel, alignment: int | None = None) -> tuple[TensorArg, ...]:
    """The tensors of a kernel; without an ``alignment`` they may lie at any element."""
    return tuple(
        TensorArg(
            name=t.name,
            axes=t.axes,
            dtype=t.dtype,
            access=t.access.value,
            alignment=alignment or max(1, t.dtype.bits // 8),
            blocked=t.blocked,
        )
        for t in kernel.tensors
    )


def scalar_args(kernel: Kernel) -> tuple[ScalarArg, ...]:
    """The scalars of a kernel."""
    return tuple(ScalarArg(name=p.name, dtype=p.dtype) for p in kernel.parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMap:
    """How copies see a tensor: box by axis (outermost first), swizzle span in bytes.

    ``l2`` is a hint for the cache, ``evict_last`` or ``evict_first``. ``bounded``: the axis along
    which a copy may end before the tensor does.
    """

    name: str
    tensor: str
    box: tuple[int, ...]
    swizzle: int
    outside: Outside
    l2: str = ""
    bounded: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a kernel is started; ``grid`` is a formula of sizes and ``sms``.

    ``requires`` are conditions on sizes that a caller must meet.
    """

    grid: IntExpr
    block: int
    cluster: int
    shared_bytes: int
    ctas_per_sm: int = 1
    requires: tuple[IntExpr, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartShape:
    """The tile that a part of a ring slot holds."""

    ring: str
    part: str
    rows: int
    cols: int
    dtype: DType
    swizzle: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageShape:
    """What one warp's share of a staging copy holds."""

    buffer: str
    rows: int
    cols: int
    dtype: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterArray:
    """Registers of a role instance: ``blocks`` of 64 rows by ``cols`` columns, in the places where
    ``wgmma`` leaves its results; ``row``: two values a block for each thread; ``thread``: as many
    values as ``registers`` for each thread.
    """

    name: str
    blocks: int
    cols: int
    registers: int
    form: str = "tile"
    dtype: DType = DType.F32


@dataclass(frozen=True, slots=True, kw_only=True)
class LdsShape:
    """The LDS slots of one operand: ``stages`` x ``subtiles`` of rows x cols elements.

    Chunk ``c`` of row ``r`` lies at chunk ``c ^ ((r >> shift) & mask)`` of that row.
    """

    channel: int
    tensor: str
    stages: int
    subtiles: int
    rows: int
    cols: int
    chunk: int
    shift: int
    mask: int
    dtype: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Shared memory and registers, each by identity and kind."""

    rings: tuple[RoleRing, ...] = ()
    parts: tuple[PartShape, ...] = ()
    buffers: tuple[StagingBuffer, ...] = ()
    staging: tuple[StageShape, ...] = ()
    barriers: tuple[NamedBarrier, ...] = ()
    lds: tuple[LdsShape, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TileLoop:
    """The tiles of a role: ``lets`` and ``functions`` are bound for each. ``bounds`` name the first
    element of the reduction and the one after its last (bound in order; a name may be bound again,
    from what it stood for); ``trips`` is how many iterations it has; at
    least ``least_trips`` are run, whatever the sizes. ``ranges`` are bound after ``trips``:
    iterations from ``whole_from`` to ``whole_to`` hide no element. ``axis``: what they walk along.
    """

    schedule: TileSchedule
    lets: tuple[Let, ...]
    functions: tuple[Function, ...]
    trips: IntExpr
    least_trips: int
    body: tuple[Statement, ...]
    bounds: tuple[Let, ...] = ()
    ranges: tuple[Let, ...] = ()
    axis: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPhase:
    """A loop of a tile that runs before the last one: what is bound for it, and its operations.

    ``setup`` runs before the first tile, ``finish`` after the last one.
    """

    functions: tuple[Function, ...]
    bounds: tuple[Let, ...]
    trips: IntExpr
    least_trips: int
    peel: int
    setup: tuple[Statement, ...]
    body: tuple[Statement, ...]
    finish: tuple[Statement, ...]
    ranges: tuple[Let, ...] = ()
    axis: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopFacts:
    """What is known of a loop that runs before the last one of a tile, beside its operations."""

    name: str
    rings: tuple[RoleRing, ...]
    barriers: tuple[NamedBarrier, ...]
    flow: Flow | None
    proof: ProofRecord | None
    exchanges: tuple[Exchange, ...]
    registers: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    dtype: str
    tile: tuple[int, ...]
    strategy: str
    unroll: int
    least_trips: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """The program of one role: of its instances number i runs every tile, or of ``alternates``
    tiles i, i + n, ... ``carries_phase``: ring positions run on from tile to tile. ``pace``:
    after so many iterations CTAs wait a bounded while for one another, a hint for the L2.
    ``earlier``: loops of every tile before the last one, which ``tiles`` has. ``uniform``: which
    instance a warp belongs to is read from one lane, so that the assembler knows it for a number of
    the warp. ``finds_next``: it looks for its next tile while the first product of one runs.
    ``works``: whether an instance has work in a tile; where it has none, it only synchronises.
    """

    name: str
    instances: int
    threads: int
    peel: int
    arrays: tuple[RegisterArray, ...]
    setup: tuple[Statement, ...]
    tiles: TileLoop
    finish: tuple[Statement, ...]
    carries_phase: bool = True
    most_registers: int = 0
    alternates: bool = False
    pace: int = 0
    earlier: tuple[LoopPhase, ...] = ()
    uniform: bool = False
    finds_next: bool = False
    works: IntExpr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveFacts:
    """Facts of the counter dialect: the protocol of the schedule, what its counts count, how the
    waves of a workgroup share a tile, and the matrix instruction.
    """

    protocol: Protocol
    counters: Counters
    shape: KernelShape | None
    waves_m: int
    waves_n: int
    mma: tuple[int, int, int]
    stagger_index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """A choice of the configuration by its name; at most one field has its value."""

    name: str
    number: int | None = None
    flag: bool | None = None
    word: str | None = None
    numbers: tuple[int, ...] | None = None

    @property
    def value(self) -> int | bool | str | tuple[int, ...] | None:
        """What was chosen."""
        said = (self.flag, self.number, self.word, self.numbers)
        return next((x for x in said if x is not None), None)


def knob(name: str, value: object) -> Knob:
    """A choice with its value."""
    match value:
        case bool():
            return Knob(name=name, flag=value)
        case int():
            return Knob(name=name, number=value)
        case str():
            return Knob(name=name, word=value)
        case tuple():
            return Knob(name=name, numbers=value)
        case None:
            return Knob(name=name)
        case _:
            raise TypeError(f"{name}={value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """What the compiler was asked beside the kernel: all knobs of the configuration, the sizes it
    was compiled for, and the scalars that are known to be positive. Passes make the same of it
    again.
    """

    knobs: tuple[Knob, ...]
    sizes: tuple[tuple[str, int], ...] = ()
    positive: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KernelModule:
    """A kernel for one configuration on one target.

    Its programs are those of ``roles``; or ``threads``, the one program of all threads of a block;
    or ``program``, that of all waves of a workgroup. A module has one of them alone.
    """

    name: str
    target: str
    config: str
    dialect: Dialect
    kernel: Kernel
    tensors: tuple[TensorArg, ...]
    scalars: tuple[ScalarArg, ...]
    maps: tuple[TensorMap, ...]
    launch: Launch
    storage: Storage
    roles: tuple[Role, ...]
    strategy: str = ""
    dtype: str = ""
    tile: tuple[int, ...] = ()
    flow: Flow | None = None
    proof: ProofRecord | None = None
    waves: WaveFacts | None = None
    exchanges: tuple[Exchange, ...] = ()
    unroll: int = 1
    least_trips: int = 0
    registers: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()
    earlier: tuple[LoopFacts, ...] = ()
    request: BuildRequest | None = None
    threads: ThreadProgram | None = None
    program: WaveProgram | None = None

    def __repr__(self) -> str:
        return f"<KernelModule {self.name} on {self.target}>"

    def __str__(self) -> str:
        from warploom.ir.listing import listing  # noqa: PLC0415 (it needs this module)

        return listing(self)

    def role(self, name: str) -> Role:
        """The role of that name."""
        return next(r for r in self.roles if r.name == name)

    def tensor(self, name: str) -> TensorArg:
        """The tensor of that name."""
        return next(t for t in self.tensors if t.name == name)

    def map(self, name: str) -> TensorMap:
        """The tensor map of that name."""
        return next(m for m in self.maps if m.name == name)

    def ring(self, name: str) -> RoleRing:
        """The ring of that name."""
        return next(r for r in self.storage.rings if r.name == name)

    def part(self, ring: str, part: str) -> PartShape:
        """The shape of a part of a ring slot."""
        return next(p for p in self.storage.parts if (p.ring, p.part) == (ring, part))
