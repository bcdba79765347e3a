"""Grouping an ordered body into MMA blocks, and spreading global loads evenly over them.

Groups hold op indices, so that balancing can ask the dependence edges; blocks are made last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from warploom.document.kinds import OpRole
from warploom.document.ops import DepEdge, OpDesc
from warploom.errors import ProgramError
from warploom.seed.blocks.spec import MMABlockSpec
from warploom.seed.config.pipeline import PipelineConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class OpGroup:
    """The ops of one block, as indices into the body."""

    fragments: tuple[int, ...]
    loads: tuple[int, ...]
    mma: int


def build_blocks(
    body: Sequence[OpDesc],
    order: Sequence[int],
    config: PipelineConfig,
    edges: Sequence[DepEdge] = (),
) -> list[MMABlockSpec]:
    """Blocks of a body in a given order, with at most ``max_globals`` loads each."""
    groups = group_into_blocks(body, order, config)
    groups = balance_loads(groups, body, config, edges)
    return [
        MMABlockSpec(mma=body[g.mma])
        .with_fragments([body[i] for i in g.fragments])
        .with_loads([(body[i], body[i].is_prefetch()) for i in g.loads])
        for g in groups
    ]


def group_into_blocks(
    body: Sequence[OpDesc], order: Sequence[int], config: PipelineConfig
) -> list[OpGroup]:
    """Cut an ordered body behind each MMA: one group per MMA, as many as the grid has."""
    _check_permutation(body, order)
    groups: list[OpGroup] = []
    pending: list[int] = []
    for i in order:
        pending.append(i)
        if body[i].role is OpRole.COMPUTE:
            groups.append(_group(body, pending))
            pending = []
    _check_fit([body[g.mma] for g in groups], [body[i] for i in pending], config)
    return groups


def _check_permutation(body: Sequence[OpDesc], order: Sequence[int]) -> None:
    if sorted(order) == list(range(len(body))):
        return
    missing = sorted(set(range(len(body))) - set(order))
    raise ProgramError(
        f"the order is not a permutation of the {len(body)} ops",
        where=f"missing: {[body[i].label() for i in missing][:8]}" if missing else f"{order!r}",
        why="every op must run exactly once per iteration",
    )


def _group(body: Sequence[OpDesc], indices: Sequence[int]) -> OpGroup:
    *rest, mma = indices
    by_role = {
        role: tuple(i for i in rest if body[i].role is role)
        for role in (OpRole.FRAGMENT_LOAD, OpRole.GLOBAL_LOAD)
    }
    placed = {i for part in by_role.values() for i in part}
    lost = [body[i] for i in rest if i not in placed]
    if lost:
        raise ProgramError(
            f"{len(lost)} op(s) have no place in an MMA block",
            where=", ".join(f"{op.label()} (role {op.role.name})" for op in lost),
            why="a block holds fragment loads, global loads and one MMA; others would vanish",
            fix="price the op with one of those roles in the cost model",
        )
    return OpGroup(
        fragments=by_role[OpRole.FRAGMENT_LOAD], loads=by_role[OpRole.GLOBAL_LOAD], mma=mma
    )


def _check_fit(mmas: Sequence[OpDesc], left: Sequence[OpDesc], config: PipelineConfig) -> None:
    expected = config.total_blocks()
    where = f"{config.m_mmas}x{config.n_mmas} grid, {config.num_partitions} partition(s)"
    if len(mmas) < expected or not mmas:
        raise ProgramError(
            f"the body has {len(mmas)} MMAs for {expected} blocks",
            where=where,
            why="a block without an MMA computes nothing",
            fix="declare one op of role COMPUTE per grid cell and partition, "
            "or correct m_mmas, n_mmas, num_partitions",
        )
    extra = [*mmas[expected:], *left]
    if extra:
        raise ProgramError(
            f"{len(extra)} op(s) are left over behind the last of {expected} blocks",
            where=f"{where}: {', '.join(op.label() for op in extra)}",
            why="left-over ops would never run",
            fix="make the grid larger, or let every partition end with its last MMA",
        )


def balance_loads(
    groups: Sequence[OpGroup],
    body: Sequence[OpDesc],
    config: PipelineConfig,
    edges: Sequence[DepEdge] = (),
) -> list[OpGroup]:
    """Move surplus global loads to blocks with room, at most ``max_globals`` a block.

    A surplus load goes to the first block with room that keeps every same-iteration edge, in its
    own partition if possible. If there is none, the cap cannot be kept and that is an error.
    """
    cap = config.block_sizing.max_globals
    if cap <= 0 or all(len(g.loads) <= cap for g in groups):
        return list(groups)
    size = max(config.blocks_per_partition(), 1)
    surplus = [(i, b // size) for b, g in enumerate(groups) for i in reversed(g.loads[cap:])]
    out = [replace(g, loads=g.loads[:cap]) for g in groups]
    for load, partition in surplus:
        own = range(partition * size, (partition + 1) * size)
        room = [
            b
            for b in (*own, *(b for b in range(len(out)) if b not in own))
            if len(out[b].loads) < cap and _keeps_edges(load, b, out, body, edges)
        ]
        if not room:
            raise _no_room(body[load], groups, cap)
        out[room[0]] = replace(out[room[0]], loads=(*out[room[0]].loads, load))
    return out


def _keeps_edges(
    load: int,
    block: int,
    groups: Sequence[OpGroup],
    body: Sequence[OpDesc],
    edges: Sequence[DepEdge],
) -> bool:
    """Fragments of a block come before its loads, its MMA behind them.

    A load also stays out of the block that reads the very slot it overwrites: there is no barrier
    between the two, so another wave could still be reading.
    """
    at = {i: (b, 0) for b, g in enumerate(groups) for i in g.fragments}
    at |= {i: (b, 1) for b, g in enumerate(groups) for i in g.loads}
    at |= {g.mma: (b, 2) for b, g in enumerate(groups)}
    for edge in edges:
        if edge.loop_distance > 0:
            continue
        if edge.consumer_idx == load:
            before = at.get(edge.producer_idx, (-1, 0))
            same_slot = _slot(body[edge.producer_idx]) == _slot(body[load])
            if before > ((block, -1) if same_slot else (block, 1)):
                return False
        if edge.producer_idx == load and at.get(edge.consumer_idx, (len(groups), 0)) < (block, 1):
            return False
    return True


def _slot(op: OpDesc) -> tuple[int, int, int]:
    return op.channel, op.stage, op.subtile


def _no_room(load: OpDesc, groups: Sequence[OpGroup], cap: int) -> ProgramError:
    total = sum(len(g.loads) for g in groups)
    return ProgramError(
        f"no block can take {load.label()}: {total} global loads, at most {cap} a block",
        where="BlockSizing.max_globals",
        why="a load without a block would never run, and moving it past the reads it must "
        "follow would overwrite data still needed",
        fix="raise max_globals, or set it to 0 for no cap",
    )
