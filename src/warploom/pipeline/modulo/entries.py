"""A modulo schedule of a body as phase entries of a counter-target document.

LDS copies become stages. Tiles are named by k-offset where the four offsets suffice (two iterations
at once, no unrolling); otherwise loads carry no offset and take the next tile as they execute,
which any depth and any lag can say.
"""

from collections.abc import Sequence
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.ir.counter_dialect import Protocol
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, OpRole, Phase, ScheduleEntry
from warploom.modulo.expand import (
    Expansion,
    Issued,
    copy_index,
    expand,
    unroll_factor as unroll_of,
)
from warploom.modulo.result import ModuloResult
from warploom.pipeline.modulo.bridge import BodyProblem

_OFFSETS = {-1: KOffsetKind.K_PREV, 0: KOffsetKind.K0, 1: KOffsetKind.K1, 2: KOffsetKind.K_NEXT}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuloPhases:
    """The three phases without synchronisation, and what a kernel must know to run them.

    The loop covers ``kernel_k_base + k_tiles_per_iteration * trips`` K-tiles, for any ``trips``.
    """

    prologue: tuple[ScheduleEntry, ...]
    kernel: tuple[ScheduleEntry, ...]
    epilogue: tuple[ScheduleEntry, ...]
    k_tiles_per_iteration: int
    kernel_k_base: int
    unroll: int
    named_tiles: bool

    def protocol(self, waves: int) -> Protocol:
        """How one group of so many waves consumes them."""
        per, base = self.k_tiles_per_iteration, self.kernel_k_base
        return Protocol(waves_per_group=waves, k_tiles_per_iteration=per, kernel_k_base=base)


def modulo_phases(
    body: BodyProblem, result: ModuloResult, *, peeled: int = 0, vm_costs: Sequence[int] = (0, 0)
) -> ModuloPhases:
    """Entries for ``overlap - 1 + peeled`` iterations and any number of kernel trips.

    With an unrolled kernel the iterations left over (``peeled`` < unroll) run in the prologue.
    """
    unroll = unroll_of(result)
    filled = result.overlap - 1 + peeled % unroll
    loop = expand(result, filled)
    kernel = expand(result, filled + unroll).kernel
    return _entries(body, result, replace(loop, kernel=kernel), filled, vm_costs)


def _entries(
    body: BodyProblem,
    result: ModuloResult,
    program: Expansion,
    filled: int,
    vm_costs: Sequence[int],
) -> ModuloPhases:
    parts = body.partitions
    base = filled * parts
    named = _nameable(body, program, base)

    def entry(slot: int, x: Issued, phase: Phase, k_base: int) -> ScheduleEntry:
        tile = x.iteration * parts + body.partition[x.op] - k_base
        op = _placed(body, result, x, _OFFSETS[tile] if named and _loads(body, x) else None)
        if phase is Phase.PROLOGUE and op.role is OpRole.GLOBAL_LOAD and op.channel in (0, 1):
            op = replace(op, vm_cost=vm_costs[op.channel])
        return ScheduleEntry(op=op, time_slot=slot, phase=phase, is_prefetch=op.is_prefetch())

    def phase(issued: tuple[Issued, ...], name: Phase, k_base: int) -> tuple[ScheduleEntry, ...]:
        return tuple(entry(i, x, name, k_base) for i, x in enumerate(issued))

    return ModuloPhases(
        prologue=phase(program.prologue, Phase.PROLOGUE, 0),
        kernel=phase(program.kernel, Phase.KERNEL, base),
        epilogue=phase(program.epilogue, Phase.EPILOGUE, base),
        k_tiles_per_iteration=parts * program.unroll,
        kernel_k_base=base,
        unroll=program.unroll,
        named_tiles=named,
    )


def _loads(body: BodyProblem, x: Issued) -> bool:
    return body.ops[x.op].role is OpRole.GLOBAL_LOAD


def _nameable(body: BodyProblem, program: Expansion, base: int) -> bool:
    """True when every load's tile is one of the four offsets, and nothing is staged."""
    if any(op.role is OpRole.SHARED_STORE for op in body.ops):
        return False
    phases = ((program.prologue, 0), (program.kernel, base), (program.epilogue, base))
    return all(
        x.iteration * body.partitions + body.partition[x.op] - k_base in _OFFSETS
        for issued, k_base in phases
        for x in issued
        if _loads(body, x)
    )


def _placed(
    body: BodyProblem, result: ModuloResult, x: Issued, offset: KOffsetKind | None
) -> OpDesc:
    """The op with its slot index; MMAs keep their row and column."""
    op, touched = body.ops[x.op], body.slot_rings[x.op]
    if touched is not None:
        ring, write = touched
        op = replace(op, stage=_slot(body, result, ring, write, x.iteration))
    if op.role is OpRole.GLOBAL_LOAD:
        op = replace(op, k_offset=offset or KOffsetKind.NONE)
    return op


def _slot(body: BodyProblem, result: ModuloResult, ring: int, write: int, iteration: int) -> int:
    """Slot index of a copy: rings of one partition interleave, so that slots stay distinct."""
    copy = copy_index(result, ring, write, iteration)
    writers = result.problem.rings[ring].writers
    if len(writers) == body.partitions:
        return copy
    return copy * body.partitions + body.partition[writers[write]]
