"""Greedy orders, always the lowest-numbered ready op, and bodies in MMA-block order.

``greedy_schedule`` keeps the partitions of the body apart (a partition is a contiguous slice of
the op list, a half of the iteration in the two-partition case); ``simple_greedy_schedule`` knows no
partitions. Both place every op exactly once.
"""

import heapq
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from warploom.errors import InfeasibleError, ProgramError, SchedulingError
from warploom.ir.schedule_ops import OpDesc, OpRole
from warploom.ir.validation import all_of, instance, integer
from warploom.pipeline.body import Pipe
from warploom.pipeline.config.pipeline import PipelineConfig
from warploom.pipeline.graph_builder.loop_body import LoopBody, binds
from warploom.pipeline.graph_builder.named import check_names, is_named


def partition_bounds(n: int, partitions: int) -> tuple[int, ...]:
    """Where each of ``partitions`` slices of ``n`` ops begins, closed by ``n``.

    The slices differ by at most one op; two partitions split at ``n // 2``.
    """
    if partitions < 1:
        raise SchedulingError(
            "a body needs at least one partition",
            where=f"partitions={partitions}",
            fix="pass a number of partitions of 1 or more",
        )
    return tuple(p * n // partitions for p in range(partitions + 1))


def check_partition_order(body: LoopBody, bounds: Sequence[int]) -> None:
    """Raise when some op waits, in the same iteration, for an op of a later partition."""
    starts = bounds[1:]
    for edge in body.edges:
        if not binds(edge):
            continue
        producer, consumer = (
            sum(s <= i for s in starts) for i in (edge.producer_idx, edge.consumer_idx)
        )
        if producer > consumer:
            raise InfeasibleError(
                "a partition waits for a later one",
                where=f"{edge.dep_kind.name} edge {body.label(edge.producer_idx)} (partition "
                f"{producer}) -> {body.label(edge.consumer_idx)} (partition {consumer})",
                why="partitions run one after the other, so this distance-0 edge cannot hold",
                fix="use the IDENTITY strategy with explicit blocks, or one partition, or give "
                "the edge a distance of 1",
            )


def ends_in_compute(body: LoopBody, order: Sequence[int], partitions: int) -> bool:
    """Whether every partition that has a COMPUTE ends in one, so that blocks can be cut."""
    compute = [body.ops[i].op.role is OpRole.COMPUTE for i in order]
    bounds = partition_bounds(len(body.ops), partitions)
    return all(not any(compute[lo:hi]) or compute[hi - 1] for lo, hi in pairwise(bounds))


def loads_within(body: LoopBody, order: Sequence[int], partitions: int, most: int) -> bool:
    """Whether at most ``most`` global loads (0: any number) come before each COMPUTE."""
    if most <= 0:
        return True
    starts, loads = partition_bounds(len(body.ops), partitions), 0
    for position, i in enumerate(order):
        role = body.ops[i].op.role
        if position in starts or role is OpRole.COMPUTE:
            loads = 0
        if role is OpRole.GLOBAL_LOAD:
            loads += 1
            if loads > most:
                return False
    return True


def greedy_schedule(body: LoopBody, partitions: int = 2) -> tuple[int, ...]:
    """Per partition, in turn: repeatedly append its lowest-numbered ready op."""
    body.validate()
    bounds = partition_bounds(len(body.ops), partitions)
    check_partition_order(body, bounds)
    preds, succs = body.predecessors(), body.successors()
    order: list[int] = []
    for lo, hi in pairwise(bounds):
        order += _smallest_order(preds, succs, lo, hi)
    return tuple(order)


def simple_greedy_schedule(body: LoopBody) -> tuple[int, ...]:
    """The lexicographically smallest order that respects every distance-0 edge."""
    return greedy_schedule(body, partitions=1)


def _smallest_order(
    preds: Sequence[Sequence[int]], succs: Sequence[Sequence[int]], lo: int, hi: int
) -> list[int]:
    """Smallest topological order of ops ``lo..hi-1``, everything before ``lo`` being placed."""
    waiting = {i: sum(p >= lo for p in preds[i]) for i in range(lo, hi)}
    ready = [i for i, count in waiting.items() if count == 0]
    order = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for c in succs[i]:
            if c < hi:
                waiting[c] -= 1
                if waiting[c] == 0:
                    heapq.heappush(ready, c)
    return order


def mma_block_interleave_list(ops: Sequence[OpDesc], config: PipelineConfig) -> list[OpDesc]:
    """One block per MMA, in MMA order: fragments, global loads, MMA.

    A block reads the B fragment of a column and the A fragment of a row when it is the first to
    need them; loads are dealt out by ``block_sizing``. Loads beyond every block's share go to the
    last block if there is no cap. Raises if any op would be left out.
    """
    out = _interleave(ops, config, config.block_sizing.max_globals)
    _refuse_lost_ops(ops, out)
    return out


def mma_block_interleave(pipe: Pipe, config: PipelineConfig) -> Pipe:
    """The same for a pipe, without the cap on global loads."""
    out = _interleave(pipe.ops, config, max_globals=0)
    _refuse_lost_ops(pipe.ops, out)
    return Pipe(tuple(out))


def double_buffer_reorder(ops: Sequence[OpDesc], config: PipelineConfig) -> list[OpDesc]:
    """Interleave each half of the body on its own.

    A deeper ring has one K-partition a buffer, not two halves: ``partition_reorder``.
    """
    all_of(ops, OpDesc, "ops", "double_buffer_reorder")
    instance(config, PipelineConfig, "config", "double_buffer_reorder")
    try:
        return partition_reorder(ops, config, 2)
    except ProgramError as error:
        if config.num_partitions <= 2:
            raise
        raise ProgramError(
            error.what,
            where=error.where,
            why=f"it cuts the body in two halves, and this one has {config.num_partitions} "
            "K-partitions",
            fix=f"partition_reorder(ops, config, {config.num_partitions})",
        ) from None


def partition_reorder(
    ops: Sequence[OpDesc], config: PipelineConfig, partitions: int
) -> list[OpDesc]:
    """Interleave each K-partition of the body on its own: MMA blocks of fragments, loads, MMA.

        partition_reorder(priced, config, config.num_partitions)

    ``partitions`` equal slices of ``ops``, each with the MMAs of one K-tile. Raises
    ``ProgramError`` if an op finds no place.
    """
    all_of(ops, OpDesc, "ops", "partition_reorder")
    instance(config, PipelineConfig, "config", "partition_reorder")
    integer(partitions, "partitions", "partition_reorder", least=1)
    bounds = partition_bounds(len(ops), partitions)
    return [
        op for lo, hi in pairwise(bounds) for op in mma_block_interleave_list(ops[lo:hi], config)
    ]


def _interleave(ops: Sequence[OpDesc], config: PipelineConfig, max_globals: int) -> list[OpDesc]:
    loads = [op for op in ops if op.role is OpRole.GLOBAL_LOAD]
    fragments = [op for op in ops if op.role is OpRole.FRAGMENT_LOAD]
    others = sorted({op.channel for op in fragments if op.channel > 0})
    rows: set[int] = set()
    columns: set[int] = set()
    out: list[OpDesc] = []
    taken = 0
    mmas = [op for op in ops if op.role is OpRole.COMPUTE]
    for i, mma in enumerate(mmas):
        new_row, new_column = mma.stage not in rows, mma.subtile not in columns
        rows.add(mma.stage)
        columns.add(mma.subtile)
        part_a = _first(fragments, 0, mma.stage) if new_row else []
        part_b = [f for c in others if new_column for f in _first(fragments, c, mma.subtile)]
        out += part_b + part_a if config.frag_order.b_before_a else part_a + part_b
        target = config.block_sizing.heavy if new_row else config.block_sizing.light
        quota = max(target - new_row - new_column - 1, 0)
        if max_globals > 0:
            quota = min(max(quota, 1), max_globals)
        elif i == len(mmas) - 1:
            quota = len(loads)
        out += loads[taken : taken + quota]
        taken += len(loads[taken : taken + quota])
        out.append(mma)
    return out


def _first(fragments: list[OpDesc], channel: int, subtile: int) -> list[OpDesc]:
    return [op for op in fragments if op.channel == channel and op.subtile == subtile][:1]


def _refuse_lost_ops(before: Sequence[OpDesc], after: Sequence[OpDesc]) -> None:
    lost = list((Counter(before) - Counter(after)).elements())
    if not lost:
        return
    raise ProgramError(
        f"reordering would lose {len(lost)} of {len(before)} ops",
        where=", ".join(op.label() for op in lost),
        why="every declared op must run once per iteration, but a block takes no more loads than "
        "BlockSizing allows, a fragment needs an MMA of its row or column (or the loop-carried "
        "role), and other roles have no place in this order",
        fix="for vector work, say what every op takes and makes (PipelineBody: takes=, makes=); "
        "this body is no matrix product"
        if any(op.role is OpRole.VALU_COMPUTE for op in lost)
        else "raise BlockSizing.heavy, light or max_globals; match fragments with MMAs; "
        "set LoopCarriedSpec.role",
    )


def single_buffer_reorder(ops: Sequence[OpDesc], config: PipelineConfig) -> list[OpDesc]:
    """Fragments and loop-carried compute, store and load between two barriers, the rest after.

    Where ops name their values: the stores between two barriers, then the next loads and the other
    ops as declared, so that loads run beside all of them.
    """
    if is_named(ops):
        check_names(ops)
        stores = [op for op in ops if op.role is OpRole.SHARED_STORE]
        loads = [op for op in ops if op.role is OpRole.GLOBAL_LOAD]
        rest = [op for op in ops if op not in stores + loads and op.role is not OpRole.SYNC]
        return [OpDesc.barrier(), *stores, OpDesc.barrier(), *loads, *rest]
    selector, carried_role = config.loop_carried.selector, config.loop_carried.role

    def group(role: OpRole, *, carried: bool | None = None) -> list[OpDesc]:
        return [
            op
            for op in ops
            if op.role is role and (carried is None or (op.subtile == selector) == carried)
        ]

    out = [
        *group(OpRole.FRAGMENT_LOAD, carried=False),
        *group(OpRole.COMPUTE, carried=True),
        OpDesc.barrier(),
        *group(OpRole.SHARED_STORE),
        *group(OpRole.GLOBAL_LOAD),
        *group(OpRole.COMPUTE, carried=False),
        OpDesc.barrier(),
        *group(carried_role, carried=True),
    ]
    data = [op for op in ops if op.role is not OpRole.SYNC]
    _refuse_lost_ops(data, [op for op in out if op.role is not OpRole.SYNC])
    return out
