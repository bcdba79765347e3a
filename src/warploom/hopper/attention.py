"""Flash-attention forward on Hopper as a loop body, and its schedule derived from it.

One iteration is one tile of keys. A producer loads K and V; two or three consumers of 64 query rows
each run QK, row maximum, exponentials with row sum, conversion to P, rescaling of O, and PV. The
order of these, their overlap, and that the consumers take turns on the tensor cores are the
solver's; the body only says what the ops need and where values lie.

A softmax that takes longer than its measured rates say would stall the tensor cores in the tightest
schedule. ``margin`` is how late it may be: beyond the slack of the tightest one, the schedule of
least interval puts QK of the next tile in front of PV of this one.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.document.roles import NamedBarrier, Part, Per, RolesDocument, SlotRead
from warploom.errors import GeometryError
from warploom.guard.mbarrier import (
    Action,
    Copy,
    Plan,
    Product,
    RingPlan,
    RolePlan,
    Turns,
    Work,
    derive_roles,
)
from warploom.hopper.kernel import ALIGNMENT, BARRIER_BYTES, ROW_BYTES, Dtype
from warploom.order import ModuloProblem, ModuloResult
from warploom.order.bodies.attention import (
    AttentionShape,
    attention_body,
    consumer_role,
)
from warploom.target.attention_costs import ROWS, AttentionCosts, hopper_attention
from warploom.target.h200 import HopperTarget, h200

PRODUCER, CONSUMER = "producer", "consumer"
HEAD_DIMS = (64, 128, 256)
COLUMNS = 64  # of 2 bytes: one 128-byte row of a swizzled tile
TURN_BARRIER = 1  # hardware barrier of the first instance
OTHER_REGISTERS = 24  # of a consumer thread: row state, addresses, loop counters
STEPS = ("QK", "MAX", "RESCALE", "EXP", "CVT", "PV")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionKernel:
    """The choices of an attention kernel; a tile is 64 queries a consumer by ``tile_k`` keys.

    ``stages``: slots of the K and V rings. ``margin``: cycles the softmax of a tile may be late.
    ``program``: the name of one of all programs at the least interval (``candidates``), instead of
    a margin that makes the solver prefer one. ``q_registers``: a consumer holds its rows of Q in
    registers, so that QK reads only K from shared memory. ``causal``, ``dtype`` and ``hold`` do not
    change the schedule: masked tiles are visited first, by a copy of the loop, and holds keep the
    assembler from moving vector work behind waits.
    """

    head_dim: int = 128
    tile_k: int = 128
    consumers: int = 2
    stages: int = 2
    margin: int = 512
    program: str = ""
    q_registers: bool = True
    hold: bool = False
    causal: bool = False
    dtype: Dtype = Dtype.BF16

    def __post_init__(self) -> None:
        if self.dtype not in (Dtype.BF16, Dtype.FP16):
            raise _geometry("dtype", f"attention in {self.dtype}", "bf16 or fp16")
        if self.head_dim not in HEAD_DIMS:
            raise _geometry("head_dim", f"head dimension {self.head_dim}", f"one of {HEAD_DIMS}")
        if self.tile_k % 16 or not 16 <= self.tile_k <= 256:
            raise _geometry("tile_k", f"{self.tile_k} keys a tile", "a multiple of 16, 16 to 256")
        if not 1 <= self.consumers <= 3:
            raise _geometry("consumers", f"{self.consumers} consumers", "1, 2 or 3")
        if self.stages < 1:
            raise _geometry("stages", f"{self.stages} stages", "1 or more")
        if self.margin < 0:
            raise _geometry("margin", f"a margin of {self.margin} cycles", "0 or more")
        self._check_storage(h200())

    def _check_storage(self, target: HopperTarget) -> None:
        limit = target.limits.smem_per_block
        if self.smem_bytes > limit:
            raise _geometry(
                "stages", f"{self.smem_bytes} bytes of shared memory, {limit} exist", "fewer keys"
            )
        split = target.register_split(self.consumers)
        most = split[1] if split else target.entry_registers(self.threads)
        need = sum(n for _, n in register_plan(self)) + OTHER_REGISTERS
        if need > most:
            raise _geometry("tile_k", f"{need} registers a thread, {most} exist", "fewer keys")

    @property
    def name(self) -> str:
        """A name that tells schedules apart."""
        tag = "_q" if self.q_registers else ""
        tile = f"attention_{self.head_dim}x{self.tile_k}"
        choice = f"p{self.program}" if self.program else f"m{self.margin}"
        return f"{tile}_w{self.consumers}_s{self.stages}_{choice}{tag}"

    @property
    def threads(self) -> int:
        """Threads of the CTA: a producer warpgroup and the consumers."""
        return 128 * (self.consumers + 1)

    @property
    def tile_q(self) -> int:
        """Query rows of a tile."""
        return ROWS * self.consumers

    @property
    def blocks(self) -> int:
        """Blocks of 64 columns of a row."""
        return self.head_dim // COLUMNS

    @property
    def smem_bytes(self) -> int:
        """Q, the rings of K and V, their barriers, and the room to align them."""
        rows = self.tile_q + 2 * self.stages * self.tile_k
        barriers = BARRIER_BYTES * (1 + 2 * self.stages)
        return rows * self.blocks * ROW_BYTES + barriers + ALIGNMENT

    def op_names(self) -> dict[str, str]:
        """Ops of the consumers (QK0, QK1, ..) by their common name (qk, ..)."""
        return {f"{s}{c}": s.lower() for s in STEPS for c in range(self.consumers)}

    def roles(self) -> tuple[str, ...]:
        """The schedule's roles that run the consumer program."""
        return tuple(consumer_role(c) for c in range(self.consumers))


def _geometry(field: str, what: str, fix: str) -> GeometryError:
    return GeometryError(what, where=f"AttentionKernel.{field}", fix=fix)


def attention_costs(kernel: AttentionKernel) -> AttentionCosts:
    """What the ops of the kernel's tile cost."""
    return hopper_attention(
        head_dim=kernel.head_dim, tile_k=kernel.tile_k, q_registers=kernel.q_registers
    )


def attention_problem(
    kernel: AttentionKernel, target: HopperTarget, costs: AttentionCosts | None = None
) -> ModuloProblem:
    """The body with its costs on the target: one S accumulator a consumer, exponentials in it."""
    costs = costs or attention_costs(kernel)
    return attention_body(
        AttentionShape(
            consumers=kernel.consumers,
            in_place=True,
            margin=kernel.margin,
            max_depth=kernel.stages,
            smem_budget=2 * kernel.stages * costs.tile_bytes,
            handoff=target.sync.mbarrier_handoff,
            release=target.sync.mbarrier_handoff,
        ),
        costs,
    )


def attention_plan(kernel: AttentionKernel, target: HopperTarget) -> Plan:
    """What the ops do, and what happens once a tile: load Q, start, normalise, store O."""
    several = kernel.consumers > 1
    return Plan(
        name=kernel.name,
        target=target.name,
        actions=_actions(kernel),
        aliases=kernel.op_names(),
        rings=(
            RingPlan(name="Q", parts=_parts(kernel, kernel.tile_q), per=Per.TILE, depth=1),
            RingPlan(name="K", parts=_parts(kernel, kernel.tile_k), depth=kernel.stages),
            RingPlan(name="V", parts=_parts(kernel, kernel.tile_k), depth=kernel.stages),
        ),
        roles=(
            RolePlan(
                name=PRODUCER,
                instances=1,
                threads=1,
                head=(("load_q", _copies(kernel, "Q", kernel.tile_q)),),
            ),
            RolePlan(
                name=CONSUMER,
                instances=kernel.consumers,
                threads=128,
                of=kernel.roles(),
                registers=register_plan(kernel),
                head=_head(kernel),
                tail=(
                    ("finish_rows", Work(reads=("l", "m"), writes=("l",))),
                    ("store_o", Work(reads=("o", "l"))),
                ),
            ),
        ),
        barriers=_turn_barriers(kernel) if several else (),
        turns=Turns(role=CONSUMER, unit="tensor", barrier="turn") if several else None,
    )


def _turn_barriers(kernel: AttentionKernel) -> tuple[NamedBarrier, ...]:
    """One for each consumer: its own threads and those of the one in front of it."""
    return (NamedBarrier(name="turn", id=TURN_BARRIER, threads=256, count=kernel.consumers),)


def _actions(kernel: AttentionKernel) -> dict[str, Action]:
    keys = _reads(kernel, "K")
    if kernel.q_registers:
        qk = Product(slots=keys, accumulator="s", registers=("q",), fresh=True)
    else:
        qk = Product(slots=(*_reads(kernel, "Q"), *keys), accumulator="s", fresh=True)
    return {
        "LOAD_K": _copies(kernel, "K", kernel.tile_k),
        "LOAD_V": _copies(kernel, "V", kernel.tile_k),
        "qk": qk,
        "max": Work(reads=("s", "m"), writes=("s", "m", "a")),
        "exp": Work(reads=("s", "m", "a", "l"), writes=("s", "l")),
        "cvt": Work(reads=("s",), writes=("p",)),
        "rescale": Work(reads=("o", "a"), writes=("o",)),
        "pv": Product(slots=_reads(kernel, "V"), accumulator="o", registers=("p",)),
    }


def register_plan(kernel: AttentionKernel) -> tuple[tuple[str, int], ...]:
    """Registers of a consumer thread by value."""
    held = (("q", kernel.head_dim // 4),) if kernel.q_registers else ()
    scores, row = kernel.tile_k // 2, kernel.head_dim // 2
    return (("s", scores), ("p", scores // 2), ("o", row), ("m", 2), ("l", 2), ("a", 2), *held)


def _head(kernel: AttentionKernel) -> tuple[tuple[str, Action], ...]:
    start = ("start_tile", Work(writes=("o", "m", "l")))
    fetch = ("fetch_q", Work(slots=_reads(kernel, "Q"), writes=("q",)))
    return (start, fetch) if kernel.q_registers else (start,)


def part_name(block: int) -> str:
    """The ring part of a block of 64 columns."""
    return f"c{block}"


def _parts(kernel: AttentionKernel, rows: int) -> tuple[Part, ...]:
    size = rows * ROW_BYTES
    return tuple(Part(name=part_name(i), offset=i * size, bytes=size) for i in range(kernel.blocks))


def _copies(kernel: AttentionKernel, ring: str, rows: int) -> tuple[Copy, ...]:
    size = rows * ROW_BYTES
    return tuple(Copy(ring=ring, part=part_name(i), bytes=size) for i in range(kernel.blocks))


def _reads(kernel: AttentionKernel, ring: str) -> tuple[SlotRead, ...]:
    return tuple(SlotRead(ring=ring, part=part_name(i)) for i in range(kernel.blocks))


def attention_roles(
    result: ModuloResult, kernel: AttentionKernel, target: HopperTarget | None = None
) -> RolesDocument:
    """The synchronised programs of producer and consumers, from a solved and alike body."""
    return derive_roles(result, attention_plan(kernel, target or h200()))
