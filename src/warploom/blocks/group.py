"""Grouping an ordered body into MMA blocks, and spreading global loads evenly over them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from warploom.blocks.spec import MMABlockSpec
from warploom.config.pipeline import PipelineConfig
from warploom.errors import ProgramError
from warploom.ops.desc import OpDesc
from warploom.ops.kinds import OpRole

_DATA = (OpRole.FRAGMENT_LOAD, OpRole.GLOBAL_LOAD)


def ordered_ops(body: Sequence[OpDesc], order: Sequence[int]) -> list[OpDesc]:
    """The body in a given order; the order must name every op once."""
    if sorted(order) != list(range(len(body))):
        missing = sorted(set(range(len(body))) - set(order))
        raise ProgramError(
            f"the order is not a permutation of the {len(body)} ops",
            where=f"missing: {[body[i].label() for i in missing][:8]}" if missing else f"{order!r}",
            why="every op must run exactly once per iteration",
        )
    return [body[i] for i in order]


def group_into_blocks(ops: Sequence[OpDesc], config: PipelineConfig) -> list[MMABlockSpec]:
    """Cut an ordered body behind each MMA: one block per MMA, as many as the grid has."""
    blocks: list[MMABlockSpec] = []
    pending: list[OpDesc] = []
    for op in ops:
        if op.role is OpRole.COMPUTE:
            blocks.append(_block(pending, op))
            pending = []
        else:
            pending.append(op)
    _check_fit(blocks, pending, config)
    return blocks


def _block(pending: Sequence[OpDesc], mma: OpDesc) -> MMABlockSpec:
    lost = [op for op in pending if op.role not in _DATA]
    if lost:
        raise ProgramError(
            f"{len(lost)} op(s) have no place in an MMA block",
            where=", ".join(f"{op.label()} (role {op.role.name})" for op in lost),
            why="a block holds fragment loads, global loads and one MMA; others would vanish",
            fix="price the op with one of those roles in the cost model",
        )
    return (
        MMABlockSpec(mma=mma)
        .with_fragments([op for op in pending if op.role is OpRole.FRAGMENT_LOAD])
        .with_loads([(op, op.is_prefetch()) for op in pending if op.role is OpRole.GLOBAL_LOAD])
    )


def _check_fit(
    blocks: Sequence[MMABlockSpec], left: Sequence[OpDesc], config: PipelineConfig
) -> None:
    expected = config.total_blocks()
    where = f"{config.m_mmas}x{config.n_mmas} grid, {config.num_partitions} partition(s)"
    if len(blocks) < expected:
        raise ProgramError(
            f"the body has {len(blocks)} MMAs for {expected} blocks",
            where=where,
            why="a block without an MMA computes nothing",
            fix="declare one op of role COMPUTE per grid cell and partition, "
            "or correct m_mmas, n_mmas, num_partitions",
        )
    if len(blocks) > expected or left:
        extra = [b.mma for b in blocks[expected:]] + list(left)
        raise ProgramError(
            f"{len(extra)} op(s) are left over behind the last of {expected} blocks",
            where=f"{where}: {', '.join(op.label() for op in extra)}",
            why="left-over ops would never run",
            fix="make the grid larger, or let every partition end with its last MMA",
        )


def balance_loads(blocks: Sequence[MMABlockSpec], config: PipelineConfig) -> list[MMABlockSpec]:
    """Move surplus global loads to blocks with room, at most ``max_globals`` a block.

    Surplus loads are taken in block order, last first inside a block, and given to the first
    blocks with room. Loads that find no room at all are an error.
    """
    cap = config.block_sizing.max_globals
    total = sum(len(b.loads) for b in blocks)
    if cap <= 0 or all(len(b.loads) <= cap for b in blocks):
        return list(blocks)
    if total > cap * len(blocks):
        raise ProgramError(
            f"{total} global loads do not fit {len(blocks)} blocks of at most {cap}",
            where="BlockSizing.max_globals",
            why="a load without a block would never run",
            fix=f"max_globals >= {-(-total // len(blocks))}, or 0 for no cap",
        )
    surplus: deque[OpDesc] = deque()
    out = []
    for block in blocks:
        surplus.extend(op for op, _ in reversed(block.loads[cap:]))
        out.append(block.with_loads(block.loads[:cap]))
    for i, block in enumerate(out):
        loads = list(block.loads)
        while surplus and len(loads) < cap:
            op = surplus.popleft()
            loads.append((op, op.is_prefetch()))
        out[i] = block.with_loads(loads)
    return out
