"""Is the order itself sound? And how many back edges of the loop does its longest chain span?

Waits and barriers can only delay. An order that, executed strictly one operation after the other,
multiplies the wrong tiles or loses one cannot be repaired by them: it is refused with
``OrderError``. The span ``s`` bounds the trip counts that have to be looked at: ``0 .. s + 1``
decide all (each pair of racing events, and each shift of the accumulated tiles, occurs for one
of them).
"""

from collections import Counter, defaultdict
from dataclasses import field

from warploom.dataclass import dataclass
from warploom.errors import OrderError, SyncError
from warploom.ir.counter_dialect import Protocol
from warploom.ir.schedule_ops import KOffsetKind, Phase
from warploom.sync.counters.program import Element, Program, unroll
from warploom.sync.counters.reasons import LETTER, Act, Text

_PROBE = 8
"""Iterations unrolled to measure the span: a chain has at most four members, each at most one
back edge after the one before, so two more than four already show the steady state."""


def checked_trips(text: Text) -> range:
    """The trip counts that decide all, after the order was found sound for each of them."""
    # Barrier totals must agree between groups, or waves wait for ever
    p = text.protocol
    if matching_tails(p) != p.tail_barriers:
        raise SyncError(
            "the wave groups execute different numbers of barriers",
            where=f"protocol: groups {p.groups}, stagger_index {p.stagger_index}, "
            f"tail_barriers {list(p.tail_barriers)}",
            why="a barrier joins all waves, so the group with more barriers waits for ever",
            fix=f"tail_barriers {list(matching_tails(p))}",
        )
    trips = range(span(text) + 2)
    if text.document.flow is None:  # what else a document computes is the verifier's matter
        for n in trips:
            _check_data(unroll(text, n))
    return trips


def span(text: Text) -> int:
    """The most back edges a chain load -> (store ->) read -> MMA, or read -> next load, spans."""
    program = unroll(text, _PROBE)
    origin: dict[object, int] = {}
    readers: dict[object, list[int]] = defaultdict(list)
    widest = 0
    for e in program.elements:
        if e.phase is not Phase.KERNEL:
            continue
        item, now = e.item, e.iteration
        inputs = list(item.uses) if item.act is not Act.READ else [item.slot]
        first = min([origin[x] for x in inputs if x in origin], default=now)
        if item.act is Act.MMA:
            widest = max(widest, now - first)
        if item.act is Act.READ:
            readers[item.slot].append(now)
        if item.writes_slot:
            widest = max([widest, *(now - r for r in readers.pop(item.slot, ()))])
            origin[item.slot] = first
        if item.defines is not None:
            origin[item.defines] = first
    return widest


def matching_tails(protocol: Protocol) -> tuple[int, ...]:
    """The smallest tail barriers, none taken away, with which all groups execute equally many."""
    tails = (*protocol.tail_barriers, *[0] * protocol.groups)[: protocol.groups]
    lag = int(protocol.stagger_index is not None)
    most = max(g * lag + n for g, n in enumerate(tails))
    return tuple(most - g * lag for g in range(protocol.groups))


@dataclass(slots=True)
class _Memory:
    """What slots and registers hold when every operation completes at once."""

    tiles: dict[object, int] = field(default_factory=dict)
    next_tile: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))
    sums: dict[tuple[int, int], Counter[int]] = field(default_factory=lambda: defaultdict(Counter))


def _check_data(program: Program) -> None:
    memory = _Memory()
    for e in program.elements:
        _execute(program, memory, e)
    protocol = program.text.protocol
    total = protocol.kernel_k_base + protocol.k_tiles_per_iteration * program.trips
    text = program.text
    ops = [x.op for x in (*text.kernel, *text.epilogue, *text.prologue) if x.act is Act.MMA]
    rows, cols = sorted({o.stage for o in ops}), sorted({o.subtile for o in ops})
    cells = [(r, c) for r in rows for c in cols]
    if total and memory.tiles and not cells:
        raise OrderError(
            "the schedule has no MMA at all",
            code="COVERAGE",
            where=f"trip count {program.trips}, {total} tiles",
            why="what is loaded is never multiplied",
            fix="write the MMAs that were lost; waits cannot repair this",
        )
    for cell in cells:
        _check_coverage(cell, memory.sums[cell], total, program.trips)


def _execute(program: Program, memory: _Memory, e: Element) -> None:
    item = e.item
    if item.act in (Act.LOAD, Act.FETCH):
        memory.tiles[item.slot or item.defines] = _tile(program, memory, e)
    elif item.act is Act.STORE:
        memory.tiles[item.slot] = _held(program, memory, e, item.uses[0])
    elif item.act is Act.READ:
        # Only an MMA makes a stale read an error: epilogues keep reads nobody uses.
        memory.tiles[item.defines] = memory.tiles.get(item.slot, -1)
    elif item.act is Act.MMA:
        tiles = {_held(program, memory, e, r) for r in item.uses}
        if len(tiles) > 1:
            raise OrderError(
                f"{item.name} multiplies tiles {sorted(tiles)} of different k",
                code="TOKEN",
                where=_where(program, e),
                why="the operands come from loads of different K-tiles",
                fix="change the order or the loads' k-offsets; waits cannot repair this",
            )
        for tile in tiles:
            memory.sums[item.op.stage, item.op.subtile][tile] += 1


def _held(program: Program, memory: _Memory, e: Element, place: object) -> int:
    tile = memory.tiles.get(place, -1)
    if tile < 0:
        raise OrderError(
            f"{e.item.name} uses a value that was never loaded",
            code="TOKEN",
            where=_where(program, e),
            why=f"nothing was loaded into {place} before it",
            fix="load the tile first; waits cannot repair this",
        )
    return tile


def _tile(program: Program, memory: _Memory, e: Element) -> int:
    """The K-tile a load fetches; without a k-offset the next one in order of execution."""
    op, protocol = e.item.op, program.text.protocol
    if op.k_offset is KOffsetKind.NONE:
        key = (e.item.channel, -1 if e.item.act is Act.FETCH else op.subtile)
        memory.next_tile[key] += 1
        return memory.next_tile[key] - 1
    iteration = e.iteration if e.phase is Phase.KERNEL else program.trips
    base = protocol.kernel_k_base + protocol.k_tiles_per_iteration * iteration
    return (0 if e.phase is Phase.PROLOGUE else base) + op.k_offset.signed_bk_multiple()


def _check_coverage(cell: tuple[int, int], found: Counter[int], total: int, trips: int) -> None:
    expected = Counter(range(total))
    if found == expected:
        return
    missing, extra = sorted(expected - found), sorted(found - expected)
    raise OrderError(
        f"accumulator {list(cell)} does not receive every K-tile exactly once",
        code="COVERAGE",
        where=f"trip count {trips}, {total} tiles",
        why=f"missing {missing or 'none'}, too often or not part of the product {extra or 'none'}",
        fix="the order lost or repeats a load or an MMA; waits cannot repair this",
    )


def _where(program: Program, e: Element) -> str:
    assert e.phase is not None
    at = f"{LETTER[e.phase]}[{e.item.source}] {e.item.name}"
    inside = f", iteration {e.iteration}" if e.phase is Phase.KERNEL else ""
    return f"{at}{inside}, trip count {program.trips}"
