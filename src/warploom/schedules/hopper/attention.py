"""Flash-attention forward on Hopper as a loop body, and its schedule derived from it.

One iteration is one tile of 128 keys. A producer loads K and V; two consumers of 64 query rows
each run QK, row maximum, exponentials with row sum, conversion to P, rescaling of O, and PV. The
order of these, their overlap, and that the consumers take turns on the tensor cores are the
solver's; the body only says what the ops need and where values lie.

A softmax that takes longer than its measured rates say would stall the tensor cores in the tightest
schedule. ``margin`` is how late it may be: beyond the 74 cycles of slack of the tightest one, the
schedule of least interval puts QK of the next tile in front of PV of this one.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.errors import GeometryError
from warploom.interchange.roles import (
    NamedBarrier,
    Part,
    Per,
    RolesDocument,
    SlotRead,
    StagingBuffer,
)
from warploom.modulo import ModuloProblem, ModuloResult
from warploom.modulo.bodies.attention import (
    AttentionShape,
    attention_body,
    consumer_role,
)
from warploom.schedules.hopper.kernel import ROW_BYTES, STAGING_BYTES, Dtype
from warploom.sync.mbarrier import (
    Action,
    Copy,
    Plan,
    Product,
    RingPlan,
    RolePlan,
    Store,
    Turns,
    Work,
    derive_roles,
)
from warploom.target.h200 import HopperTarget, h200

PRODUCER, CONSUMER = "producer", "consumer"
CONSUMERS = 2
ROWS = 64  # query rows of a consumer
TILE_Q = CONSUMERS * ROWS
TILE_K = 128
HEAD_DIM = 128
HALVES = ("lo", "hi")  # 64 columns of 2 bytes each: a 128-byte row of a swizzled tile
TURN_BARRIER = 1  # hardware barrier of the first instance
STEPS = ("QK", "MAX", "RESCALE", "EXP", "CVT", "PV")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionKernel:
    """The choices of an attention kernel: head dimension 128, 128 queries by 128 keys.

    ``margin``: cycles the softmax of a tile may be late. ``q_registers``: a consumer holds its rows
    of Q in registers, so that QK reads only K from shared memory. ``causal`` and ``dtype`` do not
    change the schedule: the mask falls into the first iteration of a tile, which is peeled.
    """

    margin: int = 512
    q_registers: bool = True
    causal: bool = False
    dtype: Dtype = Dtype.BF16

    def __post_init__(self) -> None:
        if self.dtype not in (Dtype.BF16, Dtype.FP16):
            raise GeometryError(
                f"attention in {self.dtype}", where="AttentionKernel.dtype", fix="bf16 or fp16"
            )
        if self.margin < 0:
            raise GeometryError(
                f"a margin of {self.margin} cycles", where="AttentionKernel.margin", fix="0 or more"
            )

    @property
    def name(self) -> str:
        """A name that tells schedules apart."""
        tag = "_q" if self.q_registers else ""
        return f"attention_{HEAD_DIM}_w{CONSUMERS}_m{self.margin}{tag}"

    @property
    def threads(self) -> int:
        """Threads of the CTA: a producer warpgroup and the consumers."""
        return 128 * (CONSUMERS + 1)


def op_names() -> dict[str, str]:
    """Ops of the consumers (QK0, QK1, ..) by their common name (qk, ..)."""
    return {f"{s}{c}": s.lower() for s in STEPS for c in range(CONSUMERS)}


def consumer_roles() -> tuple[str, ...]:
    """The schedule's roles that run the consumer program."""
    return tuple(consumer_role(c) for c in range(CONSUMERS))


def attention_problem(kernel: AttentionKernel, target: HopperTarget) -> ModuloProblem:
    """The body with its costs on the target: one S accumulator a consumer, exponentials in it."""
    tile = TILE_K * HEAD_DIM * kernel.dtype.bytes
    return attention_body(
        AttentionShape(
            consumers=CONSUMERS,
            in_place=True,
            margin=kernel.margin,
            max_depth=2,
            smem_budget=4 * tile,
            handoff=target.sync.mbarrier_handoff,
            release=target.sync.mbarrier_handoff,
        )
    )


def attention_plan(kernel: AttentionKernel, target: HopperTarget) -> Plan:
    """What the ops do, and what happens once a tile: load Q, start, normalise, store O."""
    return Plan(
        name=kernel.name,
        target=target.name,
        actions=_actions(kernel),
        aliases=op_names(),
        rings=(
            RingPlan(name="Q", parts=_parts(TILE_Q), per=Per.TILE, depth=2),
            RingPlan(name="K", parts=_parts(TILE_K)),
            RingPlan(name="V", parts=_parts(TILE_K)),
        ),
        roles=(
            RolePlan(
                name=PRODUCER, instances=1, threads=1, head=(("load_q", _copies("Q", TILE_Q)),)
            ),
            RolePlan(
                name=CONSUMER,
                instances=CONSUMERS,
                threads=128,
                of=consumer_roles(),
                registers=_registers(kernel),
                head=_head(kernel),
                tail=(("finish_rows", Work(reads=("l",), writes=("l",))), *_stores()),
            ),
        ),
        buffers=(StagingBuffer(name="O", role=CONSUMER, copies=2, bytes=STAGING_BYTES),),
        barriers=(NamedBarrier(name="turn", id=TURN_BARRIER, threads=2 * 128, count=CONSUMERS),),
        turns=Turns(role=CONSUMER, unit="tensor", barrier="turn"),
    )


def _actions(kernel: AttentionKernel) -> dict[str, Action]:
    if kernel.q_registers:
        qk = Product(slots=_reads("K"), accumulator="s", registers=("q",), fresh=True)
    else:
        qk = Product(slots=(*_reads("Q"), *_reads("K")), accumulator="s", fresh=True)
    return {
        "LOAD_K": _copies("K", TILE_K),
        "LOAD_V": _copies("V", TILE_K),
        "qk": qk,
        "max": Work(reads=("s", "m"), writes=("m", "a")),
        "exp": Work(reads=("s", "m", "a", "l"), writes=("s", "l")),
        "cvt": Work(reads=("s",), writes=("p",)),
        "rescale": Work(reads=("o", "a"), writes=("o",)),
        "pv": Product(slots=_reads("V"), accumulator="o", registers=("p",)),
    }


def _registers(kernel: AttentionKernel) -> tuple[tuple[str, int], ...]:
    held = (("q", 32),) if kernel.q_registers else ()
    return (("s", 64), ("p", 32), ("o", 64), ("m", 2), ("l", 2), ("a", 2), *held)


def _head(kernel: AttentionKernel) -> tuple[tuple[str, Action], ...]:
    start = ("start_tile", Work(writes=("o", "m", "l")))
    fetch = ("fetch_q", Work(slots=_reads("Q"), writes=("q",)))
    return (start, fetch) if kernel.q_registers else (start,)


def _parts(rows: int) -> tuple[Part, ...]:
    size = rows * ROW_BYTES
    return tuple(Part(name=h, offset=i * size, bytes=size) for i, h in enumerate(HALVES))


def _copies(ring: str, rows: int) -> tuple[Copy, ...]:
    return tuple(Copy(ring=ring, part=h, bytes=rows * ROW_BYTES) for h in HALVES)


def _reads(ring: str) -> tuple[SlotRead, ...]:
    return tuple(SlotRead(ring=ring, part=h) for h in HALVES)


def _stores() -> tuple[tuple[str, Store], ...]:
    return tuple(
        ("store_o", Store(fill="convert_o", reads=("o", "l"), buffer="O", copy=i, args=(64 * i,)))
        for i in range(len(HALVES))
    )


def attention_roles(
    result: ModuloResult, kernel: AttentionKernel, target: HopperTarget | None = None
) -> RolesDocument:
    """The synchronised programs of producer and consumers, from a solved and alike body."""
    return derive_roles(result, attention_plan(kernel, target or h200()))
