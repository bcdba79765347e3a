"""The operations of a kernel module: copies, products, vector work, stores, synchronisation.

Ring uses are named by ``iteration``, an expression: ``t`` is the running one, ``t - 1`` the one
before it, ``trips - 1`` the last of the tile. Operations of the mbarrier dialect (Hopper) and of
the counter dialect (AMD) differ in how they synchronise; the rest is common to both.
"""

from __future__ import annotations

from enum import StrEnum

from warploom.dataclass import dataclass
from warploom.ir.expr import IntExpr, Sym, SymKind
from warploom.ir.rings import BufferCopy, Scope, Side, SlotRead
from warploom.ir.schedule_ops import KOffsetKind, OpRole, ResourceKind
from warploom.ir.types import DType, Fn, Line

TURN_ROW = Sym(SymKind.LET, "turn_row")  # the first row of a turn

# Fragments and vector work.


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentIndex:
    """An index of a fragment layout that runs from 0 to ``extent`` - 1."""

    name: str
    extent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentLayout:
    """Which element of a tile each thread holds in which register.

    ``register`` is the register's number in the array, ``row`` and ``col`` say where that element
    lies in the tile, as functions of the thread (``warp``, ``lane``, ``instance``) and of
    ``indices``.
    """

    indices: tuple[FragmentIndex, ...]
    register: IntExpr
    row: IntExpr
    col: IntExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorConst:
    """A number."""

    result: str
    value: float | int | bool
    dtype: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorScalar:
    """A scalar of the call."""

    result: str
    parameter: str
    dtype: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorIndex:
    """An integer expression as a value."""

    result: str
    value: IntExpr


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRegister:
    """An element of a register array: number ``register``, or the one the layout names."""

    result: str
    array: str
    register: IntExpr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSlot:
    """An element of a part of a ring slot."""

    result: str
    ring: str
    part: str
    iteration: IntExpr
    row: IntExpr
    col: IntExpr
    dtype: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorReduce:
    """``fn`` over the fragment indices ``over`` of a thread, then over the threads whose lane
    numbers differ in bits of ``lanes`` (butterfly shuffles). Every element gets the result.
    """

    result: str
    fn: Fn
    arg: str
    over: tuple[str, ...]
    lanes: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSet:
    """A value into a register array: number ``register``, or the one the layout names. Sets of a
    body take effect after all its reads.
    """

    value: str
    array: str
    register: IntExpr | None = None
    dtype: DType = DType.F32


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorPut:
    """A value into a part of a ring slot, rounded to its type; 0 where the predicate fails."""

    value: str
    ring: str
    part: str
    iteration: IntExpr
    row: IntExpr
    col: IntExpr
    predicate: IntExpr | None
    dtype: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorLoad:
    """An element of a tensor in global memory; 0 where the predicate does not hold."""

    result: str
    tensor: str
    at: tuple[IntExpr, ...]
    predicate: IntExpr | None
    dtype: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorPointwise:
    """A pointwise function of values."""

    result: str
    fn: Fn
    args: tuple[str, ...]
    dtype: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorStage:
    """A value into a staging copy of the warp, rounded to its type."""

    value: str
    target: BufferCopy
    row: IntExpr
    col: IntExpr
    dtype: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """How tiles add to the same rows one after the other: in turns of ``rows`` rows.

    The turn of iteration ``t`` begins at row ``first``, which ``at``, ``exists`` and ``before``
    know as ``TURN_ROW``: element ``at`` of ``tensor`` counts the tiles that have added to it,
    ``before`` of them come first, and where ``exists`` fails nobody counts. ``begins`` and ``ends``
    say whether it is taken, and given on, in iteration ``t``; None: in each.
    """

    tensor: str
    at: tuple[IntExpr, ...]
    rows: int
    first: IntExpr
    exists: IntExpr
    before: IntExpr
    begins: IntExpr | None = None
    ends: IntExpr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorStore:
    """A value to global memory where the predicate holds, rounded to its type.

    ``add``: added to what is there (atomically); ``turn``: tiles add in the order of their rows.
    """

    value: str
    tensor: str
    at: tuple[IntExpr, ...]
    predicate: IntExpr | None
    dtype: DType
    add: bool = False
    line: Line | None = None
    turn: Turn | None = None


VectorOp = (
    VectorConst | VectorScalar | VectorIndex | VectorRegister | VectorLoad | VectorPointwise
    | VectorStage | VectorStore | VectorSlot | VectorReduce | VectorSet | VectorPut
)  # fmt: skip


# Operations that both dialects have.


class VectorKind(StrEnum):
    """What vector work is for: arithmetic of the kernel (``step``), what carried values begin with,
    row sums over the threads of a row, values that an earlier loop left, a tile into registers, a
    first look at a slot, a mark that values are left, a tile into a slot or a staging copy, a store
    from registers.
    """

    STEP = "step"
    START = "start"
    SUMS = "sums"
    TAKE = "take"
    FETCH = "fetch"
    SEE = "see"
    LEAVE = "leave"
    PUT = "put"
    FILL = "fill"
    STORE = "store"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """Vector work of a role instance: ``body`` for every element of the fragment.

    ``reads`` and ``writes`` name register arrays, ``fills`` staging copies, ``fills_slots`` parts
    of ring slots. ``args`` tell the pieces of one op apart. ``within``: it is done as part of the
    op of that name, which the next operation is, and is no entry of a role program by itself.
    """

    op: str
    iteration: IntExpr
    layout: FragmentLayout
    body: tuple[VectorOp, ...]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    slots: tuple[SlotRead, ...] = ()
    fills: tuple[BufferCopy, ...] = ()
    args: tuple[int, ...] = ()
    line: Line | None = None
    reason: str = ""
    fills_slots: tuple[SlotRead, ...] = ()
    within: str = ""
    kind: VectorKind = VectorKind.STEP


@dataclass(frozen=True, slots=True, kw_only=True)
class Meet:
    """Parts of a tile's loop become what one loop would have left; the last part to come goes on,
    the others end the tile here.

    ``sums`` are arrays that are added. With ``top`` (an array of row maxima) those in ``rescaled``
    are first multiplied by 2 ** (own maximum - greatest maximum). ``exists``: whether row ``row``
    of the tile does; others need not meet.
    """

    op: str
    iteration: IntExpr
    parts: int
    sums: tuple[str, ...]
    top: str = ""
    rescaled: tuple[str, ...] = ()
    near: bool = False
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    reason: str = ""
    exists: IntExpr | None = None


# The mbarrier dialect.


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Wait for a phase of a ring barrier; ``parity`` 0 for full and 1 for empty is right.

    ``amid``: it is executed within the vector work that follows, once a thread has so many of its
    elements.
    """

    side: Side
    ring: str
    iteration: IntExpr
    parity: int
    reason: str = ""
    amid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """Arrive once on ``full`` and announce ``bytes`` of copies."""

    ring: str
    iteration: IntExpr
    bytes: int
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One box of a copy: where it begins in the tensor (outermost axis first), and where it lands
    in the part: ``row`` and ``col`` of the tile. ``end``: elements from that number on along the
    map's bounded axis count as outside of the tensor.
    """

    at: tuple[IntExpr, ...]
    row: IntExpr
    col: int
    end: IntExpr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A bulk tensor copy (TMA) into a part of a ring slot, box by box.

    ``bytes`` complete on ``full`` of the slot. With ``multicast`` = c each CTA of the cluster
    copies its share into all c of them, and c * bytes land in every one.
    """

    op: str
    tensor_map: str
    ring: str
    part: str
    iteration: IntExpr
    boxes: tuple[Box, ...]
    bytes: int
    multicast: int = 1
    line: Line | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadCopy:
    """A copy of all threads of the instance into a part of a ring slot, element (``row``, ``col``)
    from ``at`` of a tensor; 0 where the predicate fails. Each thread arrives on ``full`` once its
    share has landed; ``bytes`` is what all of them bring.
    """

    op: str
    tensor: str
    ring: str
    part: str
    iteration: IntExpr
    at: tuple[IntExpr, ...]
    predicate: IntExpr | None
    bytes: int
    line: Line | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrive:
    """One arrival per ``scope`` on a barrier of the slot, on each of ``ctas`` CTAs."""

    ring: str
    iteration: IntExpr
    scope: Scope
    ctas: int
    side: Side
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MmaFence:
    """Register accesses before it are ordered before the MMAs after it.

    ``all_sums``: the assembler must see that writes to all sums that those go on with stay before
    it; else to those that were cleared right before a tile's first.
    """

    reason: str = ""
    all_sums: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotOperand:
    """A tile of a ring slot as an operand: rows from ``row`` on; ``transposed`` where the
    contracted axis is the tile's first one.
    """

    ring: str
    part: str
    row: IntExpr
    rows: int
    transposed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterOperand:
    """A tile of 16-bit elements in registers as left operand: all of an instance's rows."""

    array: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mma:
    """Asynchronous ``accumulator += a @ b.T`` of ``shape`` (m, n, k); ``a`` is m x k and ``b``
    n x k after the transpositions they name. ``accumulate`` false discards the old sums.
    ``inner``: the part of k (first element, one past the last) where it is not all of it.
    """

    op: str
    iteration: IntExpr
    a: SlotOperand | RegisterOperand
    b: SlotOperand
    accumulator: str
    accumulate: bool
    shape: tuple[int, int, int]
    line: Line | None = None
    reason: str = ""
    inner: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Close the group of the MMAs issued since the last commit."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitGroup:
    """Wait until at most ``pending`` of the newest groups are unfinished.

    ``ordered``: the assembler must see that vector work before it stays before it.
    """

    pending: int
    reason: str = ""
    ordered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyFence:
    """Ordinary writes to shared memory become visible to copies and MMAs."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeSync:
    """A barrier among the threads of a warp, or of the warpgroup of one instance."""

    scope: Scope
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBarrierOp:
    """Arrive on a named barrier, and wait for it if ``waits``.

    Of several it is number ``(instance + turn) % count``; only ``instance`` executes it where one
    is given.
    """

    barrier: str
    waits: bool
    turn: int
    instance: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkStore:
    """A bulk tensor copy from a staging copy of each warp to global memory, clipped to the tensor.

    ``at`` is where a warp's box begins (outermost axis first; ``warp`` and ``instance`` occur).
    ``end``: elements from that number on along the map's bounded axis are dropped too.
    """

    op: str
    tensor_map: str
    source: BufferCopy
    at: tuple[IntExpr, ...]
    scope: Scope
    args: tuple[int, ...] = ()
    add: bool = False
    iteration: IntExpr | None = None
    line: Line | None = None
    reason: str = ""
    end: IntExpr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkCommit:
    """Close the group of bulk stores."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkWait:
    """Wait until at most ``pending`` store groups are unfinished (``source_read``: unread)."""

    pending: int
    source_read: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSync:
    """All threads of all CTAs of the cluster meet."""

    reason: str = ""


# The counter dialect.


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """What a schedule says of an op beside what it does: its tag, prices and place in its phase."""

    tag: int
    name: str
    role: OpRole
    resource: ResourceKind
    k_offset: KOffsetKind
    channel: int
    time_slot: int
    vm_cost: int = 0
    lgkm_cost: int = 0
    latency: int = 0
    vgpr_def: int = 0
    vgpr_kill: int = 0
    is_prefetch: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LdsCopy:
    """A direct copy from global memory into a slot of LDS, ``count`` instructions of a wave.

    With instruction ``i`` thread ``tid`` of the workgroup moves ``chunk`` elements from
    (``row``, ``col``) of the tensor to (``lds_row``, ``lds_col``) of the slot.
    """

    tensor: str
    channel: int
    stage: int
    subtile: int
    count: int
    chunk: int
    row: IntExpr
    col: IntExpr
    lds_row: IntExpr
    lds_col: IntExpr
    scheduled: Scheduled | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentRead:
    """Reads of a wave's share of an LDS slot into fragment ``subtile`` of an operand.

    With instruction (``tile``, ``read``) a lane reads ``chunk`` elements from (``lds_row``,
    ``lds_col``); they are elements ``col`` .. along K of row ``row`` of the wave's share.
    """

    channel: int
    stage: int
    subtile: int
    chunk: int
    tiles: int
    reads: int
    lds_row: IntExpr
    lds_col: IntExpr
    row: IntExpr
    col: IntExpr
    scheduled: Scheduled | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveMma:
    """The matrix instructions of one quadrant: fragment ``a`` times fragment ``b``, ``rows`` x
    ``columns`` instructions of ``shape`` for every part of K.

    ``valid``: elements along K from there on count as 0; None: all of them count.
    """

    a: int
    b: int
    rows: int
    columns: int
    shape: tuple[int, int, int]
    valid: IntExpr | None = None
    scheduled: Scheduled | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitCount:
    """``s_waitcnt``: until at most ``vm`` copies and ``lgkm`` LDS reads are unfinished."""

    vm: int | None = None
    lgkm: int | None = None
    scheduled: Scheduled | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkgroupBarrier:
    """``s_barrier``, executed by the wave groups of ``groups`` (empty: by all)."""

    groups: tuple[int, ...] = ()
    scheduled: Scheduled | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """An instruction without an effect on values, such as ``s_setprio``."""

    value: int = 0
    subtile: int = 0
    scheduled: Scheduled | None = None


Operation = (
    Vector | Meet | Wait | Expect | Copy | ThreadCopy | Arrive | MmaFence | Mma | Commit
    | WaitGroup | ProxyFence | ScopeSync | NamedBarrierOp | BulkStore | BulkCommit | BulkWait
    | ClusterSync
    | LdsCopy | FragmentRead | WaveMma | WaitCount | WorkgroupBarrier | Hint
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLoop:
    """``for t in start .. stop``: the operations of every iteration."""

    start: IntExpr
    stop: IntExpr
    body: tuple[Operation, ...]


Statement = Operation | StepLoop
