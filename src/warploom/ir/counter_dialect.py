"""``ScheduleDocument``: a compiled schedule as plain data, the content of ``warploom.schedule/1``.

The document is what leaves the compiler and what checkers read: verifier, executor, simulator and
back ends work on it and on nothing else, so they cannot share an assumption with the scheduler.
"""

from collections import Counter
from enum import Enum, StrEnum

from warploom.dataclass import dataclass
from warploom.errors import ConfigError
from warploom.ir.dataflow import Flow
from warploom.ir.machine_costs import MachineCosts
from warploom.ir.schedule_ops import DepEdge, OpDesc, Phase, ScheduleEntry
from warploom.ir.validation import check_fields, integer, numbers

SCHEMA = "warploom.schedule/1"


class Queue(StrEnum):
    """A counter of asynchronous operations in flight, in order of issue."""

    VM = "vm"
    LGKM = "lgkm"

    @property
    def capacity(self) -> int:
        """Units the counter can hold: it has 6 or 4 bits. As an operand it waits for nothing."""
        return 63 if self is Queue.VM else 15

    @property
    def largest_wait(self) -> int:
        """The largest count a wait can carry."""
        return self.capacity - 1


class BarrierKind(Enum):
    """``FENCING``: each wave drains its own vm and lgkm queues before it joins the barrier."""

    EXECUTION = "execution"
    FENCING = "fencing"


class RegisterWaits(Enum):
    """Who waits for register dependences: the schedule itself, or the code generator."""

    EXPLICIT = "explicit"
    COMPILER = "compiler"


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How a kernel consumes the three entry lists.

    Group ``g >= 1`` executes ``g`` extra barriers before prologue entry ``stagger_index``; the
    loop runs its first iteration at K-tile ``kernel_k_base``; ``tail_barriers[g]`` extra barriers
    end group ``g``.
    """

    groups: int = 1
    waves_per_group: int = 4
    stagger_index: int | None = None
    barrier_after_prologue: bool = False
    tail_barriers: tuple[int, ...] = (0,)
    k_tiles_per_iteration: int = 2
    kernel_k_base: int = 2
    epilogue_drain: bool = False
    barrier: BarrierKind = BarrierKind.EXECUTION
    register_waits: RegisterWaits = RegisterWaits.EXPLICIT

    def __post_init__(self) -> None:
        one = dict.fromkeys(("groups", "waves_per_group", "k_tiles_per_iteration"), (1, None))
        check_fields(self, bounds=one)
        if self.stagger_index is not None:
            integer(self.stagger_index, "stagger_index", "Protocol", least=0)

    def trip_count(self, k: int, tile_k: int) -> int:
        """Loop iterations for a problem of depth ``k`` in tiles of ``tile_k``.

        Raises ``ConfigError`` unless prologue, loop and epilogue together take exactly ``k``.
        """
        first, step = self.kernel_k_base * tile_k, self.k_tiles_per_iteration * tile_k
        if tile_k <= 0 or k < first or (k - first) % step:
            nearest = first + max(-(-(k - first) // step), 0) * step if tile_k > 0 else first
            raise ConfigError(
                f"K = {k} is not {first} plus a multiple of {step}",
                where=f"tile depth {tile_k}, {self.k_tiles_per_iteration} tile(s) an iteration",
                why="the loop would read past the operands or leave the last tiles out",
                fix=f"pad K with zeros to {nearest}",
            )
        return (k - first) // step


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Counter units one load takes, per channel: ``(a, b)``."""

    vm_per_load: tuple[int, int]
    lgkm_per_load: tuple[int, int]

    def __post_init__(self) -> None:
        for name in ("vm_per_load", "lgkm_per_load"):
            numbers(getattr(self, name), 2, name, "Counters", least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelShape:
    """The kernel a document was compiled for: tile, matrix instruction and element type.

    The counters of the document are the units of this shape, and a verdict holds for them.
    """

    tile: tuple[int, int, int]
    mma: tuple[int, int, int]
    dtype: str

    def __post_init__(self) -> None:
        numbers(self.tile, 3, "tile", "KernelShape", least=1)
        numbers(self.mma, 3, "mma", "KernelShape", least=1)
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ScheduleDocument:
    """A compiled schedule. ``body``, ``edges`` and ``kernel_deps`` may be empty.

    ``shape`` is None for a schedule that was compiled without a kernel geometry, ``machine`` for
    one whose target has none of its own. ``flow`` says what the ops compute; without one they are
    those of a matrix product.
    """

    name: str
    target: str
    strategy: str
    shape: KernelShape | None = None
    machine: MachineCosts | None = None
    protocol: Protocol
    counters: Counters
    body: tuple[OpDesc, ...] = ()
    edges: tuple[DepEdge, ...] = ()
    prologue: tuple[ScheduleEntry, ...]
    kernel: tuple[ScheduleEntry, ...]
    epilogue: tuple[ScheduleEntry, ...]
    kernel_deps: tuple[DepEdge, ...] = ()
    warp_stagger_index: int = 0
    flow: Flow | None = None

    def __repr__(self) -> str:
        sizes = f"{len(self.prologue)} + {len(self.kernel)} + {len(self.epilogue)} entries"
        return f"<ScheduleDocument {self.name} on {self.target}: {sizes}>"

    @property
    def tiles_per_iteration(self) -> int:
        """K-tiles that one iteration of the loop covers."""
        return self.protocol.k_tiles_per_iteration

    def channels(self) -> dict[int, int]:
        """The channel each tag stands for, of ops that carry none (the reference's prologues).

        By name (``..._A``, ``..._B``) if that is in use, else the commonest, else by name alone.
        """
        seen: dict[int, Counter[int]] = {}
        result: dict[int, int] = {}
        for op in (*(e.op for phase in Phase for e in self.phase(phase)), *self.body):
            tag, suffix = int(op.tag), op.name[-2:].upper()
            if op.channel >= 0:
                seen.setdefault(tag, Counter())[op.channel] += 1
            if suffix in ("_A", "_B"):
                result.setdefault(tag, int(suffix == "_B"))
        for tag, known in seen.items():
            if result.get(tag) not in known:
                result[tag] = min(known, key=lambda c: (-known[c], c))
        return result

    def phase(self, phase: Phase) -> tuple[ScheduleEntry, ...]:
        """The entries of one phase."""
        entries: tuple[ScheduleEntry, ...] = getattr(self, phase.name.lower())
        return entries
