"""Grouping an ordered body into MMA blocks, and spreading global loads evenly over them.

Groups hold op indices, so that balancing can ask the dependence edges; blocks are made last.
"""

from collections.abc import Sequence
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.errors import InfeasibleError, ProgramError
from warploom.ir.schedule_ops import DepEdge, OpDesc, OpRole
from warploom.pipeline.block_expand.spec import MMABlockSpec
from warploom.pipeline.config.pipeline import PipelineConfig


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
    groups = balance_loads(group_into_blocks(body, order, config), body, config, edges)
    return [
        MMABlockSpec(mma=body[g.mma])
        .with_fragments([body[i] for i in g.fragments])
        .with_loads([(body[i], body[i].is_prefetch()) for i in g.loads])
        for g in groups
    ]


def group_into_blocks(
    body: Sequence[OpDesc], order: Sequence[int], config: PipelineConfig
) -> list[OpGroup]:
    """Cut an ordered body after each MMA: one group per MMA, as many as the grid has."""
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
            f"{len(extra)} op(s) are left over after the last of {expected} blocks",
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
    """Move surplus global loads to blocks below the limit, at most ``max_globals`` a block.

    A surplus load goes to the first block below the limit that keeps every same-iteration edge, in
    its own partition if possible. If that leads nowhere, all loads are dealt out anew, in their own
    partitions if possible; reads and MMAs stay. If no way exists, that is an error.
    """
    cap = config.block_sizing.max_globals
    if cap <= 0 or all(len(g.loads) <= cap for g in groups):
        return list(groups)
    size = max(config.blocks_per_partition(), 1)
    result = _first_fit(groups, body, cap, size, edges)
    for apart in (True, False):
        for own in (size, len(groups)):
            result = result or _spread(groups, Windows(groups, body, edges, apart=apart), cap, own)
    if result is None:
        raise _no_room(groups, body, cap)
    return result


def keeps_reads(groups: Sequence[OpGroup], edges: Sequence[DepEdge]) -> bool:
    """Whether no read waits, in the same iteration, for a load of its own or a later block.

    A block reads before it loads, whatever stood first in the order it was cut from.
    """
    read_in = {i: b for b, g in enumerate(groups) for i in g.fragments}
    load_in = {i: b for b, g in enumerate(groups) for i in g.loads}
    return all(
        load_in[e.producer_idx] < read_in[e.consumer_idx]
        for e in edges
        if e.loop_distance <= 0 and e.producer_idx in load_in and e.consumer_idx in read_in
    )


def _first_fit(
    groups: Sequence[OpGroup], body: Sequence[OpDesc], cap: int, size: int, edges: Sequence[DepEdge]
) -> list[OpGroup] | None:
    """Each surplus load in the first block below the limit, as the reference does it."""
    surplus = [(i, b // size) for b, g in enumerate(groups) for i in reversed(g.loads[cap:])]
    out = [replace(g, loads=g.loads[:cap]) for g in groups]
    for load, partition in surplus:
        own = range(partition * size, (partition + 1) * size)
        below = [
            b
            for b in (*own, *(b for b in range(len(out)) if b not in own))
            if len(out[b].loads) < cap and _keeps_edges(load, b, out, body, edges)
        ]
        if not below:
            return None
        out[below[0]] = replace(out[below[0]], loads=(*out[below[0]].loads, load))
    return out


class Windows:
    """Per load the first and last block it may stand in, reads and MMAs being where they are.

    ``apart``: a load also stays out of the block that reads the very slot it overwrites, since
    another wave could still be reading; without, a barrier must be derived between the two.
    """

    def __init__(
        self,
        groups: Sequence[OpGroup],
        body: Sequence[OpDesc],
        edges: Sequence[DepEdge],
        *,
        apart: bool,
    ) -> None:
        read_in = {i: b for b, g in enumerate(groups) for i in g.fragments}
        mma_in = {g.mma: b for b, g in enumerate(groups)}
        self.loads = [i for g in groups for i in g.loads]
        self.first = dict.fromkeys(self.loads, 0)
        self.last = dict.fromkeys(self.loads, len(groups) - 1)
        self.home = {i: b for b, g in enumerate(groups) for i in g.loads}
        between = []
        for edge in edges:
            if edge.loop_distance > 0:
                continue
            i, j = edge.producer_idx, edge.consumer_idx
            if i in self.home and j in self.home:
                between.append((i, j))
            elif j in self.home and i in read_in:
                same = apart and _slot(body[i]) == _slot(body[j])
                self.first[j] = max(self.first[j], read_in[i] + same)
            elif j in self.home and i in mma_in:
                self.first[j] = max(self.first[j], mma_in[i] + 1)
            elif i in self.home:
                stop = read_in[j] - 1 if j in read_in else mma_in.get(j, len(groups) - 1)
                self.last[i] = min(self.last[i], stop)
        for _ in self.loads:  # chains of loads that wait for each other
            for i, j in between:
                self.first[j] = max(self.first[j], self.first[i])
                self.last[i] = min(self.last[i], self.last[j])
        self.rank = _ranks(self.loads, between)


def _ranks(loads: Sequence[int], between: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Positions in which no load precedes one it waits for."""
    rank = dict.fromkeys(loads, 0)
    for _ in loads:
        for i, j in between:
            rank[j] = max(rank[j], rank[i] + 1)
    return rank


def _spread(
    groups: Sequence[OpGroup], windows: Windows, cap: int, own: int
) -> list[OpGroup] | None:
    """All loads dealt out, the most urgent first, within ``own`` blocks of where they stood.

    A load fits a contiguous run of blocks; serving the one whose run ends first finds a way
    whenever there is one.
    """
    first, last = {}, {}
    for i in windows.loads:
        start = windows.home[i] // own * own
        first[i] = max(windows.first[i], start)
        last[i] = min(windows.last[i], start + own - 1)
    waiting = sorted(windows.loads, key=lambda i: (last[i], windows.rank[i], windows.home[i], i))
    out = []
    for b, group in enumerate(groups):
        taken = [i for i in waiting if first[i] <= b][:cap]
        if any(last[i] < b for i in waiting):
            return None
        waiting = [i for i in waiting if i not in taken]
        out.append(replace(group, loads=tuple(sorted(taken, key=lambda i: windows.rank[i]))))
    return out if not waiting else None


def _keeps_edges(
    load: int,
    block: int,
    groups: Sequence[OpGroup],
    body: Sequence[OpDesc],
    edges: Sequence[DepEdge],
) -> bool:
    """Fragments of a block come before its loads, its MMA after them.

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


def _no_room(groups: Sequence[OpGroup], body: Sequence[OpDesc], cap: int) -> InfeasibleError:
    loads = [i for g in groups for i in g.loads]
    crowded = next(body[i] for g in groups for i in g.loads[cap:])
    return InfeasibleError(
        f"no block can take {crowded.label()}: {len(loads)} global loads, at most {cap} a block",
        where="BlockSizing.max_globals",
        why="with reads and MMAs in this order, every way to deal out the loads overfills a block "
        "or moves a load past a read it must follow",
        fix="raise max_globals, or set it to 0 for no cap",
    )
