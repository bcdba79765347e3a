"""How many trip counts decide all of them.

Every condition of the judge speaks about a few events and the text between them. Let ``depth`` be
the largest number of loop back edges such a group of events spans, the epilogue counted as one
more iteration. Then the counts 0 .. depth + 1, and at least 0 .. 2, decide every count;
docs/explain/hazards.md has the argument. The depth is measured on a program long enough to show it.
"""

from __future__ import annotations

from collections.abc import Iterator

from warploom.document.kinds import Phase
from warploom.verify.dataflow import NOTHING, Flow, trace
from warploom.verify.program import Program, unroll
from warploom.verify.text import Kind, Text

_FIRST_TRY = 4
_LONGEST_TRY = 16


def dependence_depth(text: Text) -> int | None:
    """The largest number of back edges one condition spans, or ``None`` if it keeps growing."""
    trips = _FIRST_TRY
    while trips <= _LONGEST_TRY:
        program = unroll(text, trips)
        flow = trace(program)
        depth = max(_spans(program, flow), default=0) + _starts_alike(program, flow)
        if depth + 2 <= trips:
            return depth
        trips *= 2
    return None


def loads_follow_the_loop(text: Text) -> bool:
    """Do loads that take "the next tile" advance as fast as the loop does?

    Only then is iteration ``i + 1`` iteration ``i`` shifted by the tiles of one iteration.
    """
    rates: dict[tuple[int, int], int] = {}
    for item in text.items():
        if item.kind is Kind.LOAD and item.offset is None:
            loader = (item.channel, NOTHING if item.slot is None else item.slot[2])
            rates[loader] = rates.get(loader, 0) + (item.phase is Phase.KERNEL)
    return set(rates.values()) <= {text.protocol.k_tiles_per_iteration}


def _starts_alike(program: Program, flow: Flow) -> bool:
    """Does the loop at first repeat a tile the prologue has put in place already?

    Then the first iterations can be right by accident, and one more is needed to tell.
    """
    turn = _turns(program)
    return any(turn[start] < 0 <= turn[event] for event, start in enumerate(flow.run))


def _spans(program: Program, flow: Flow) -> Iterator[int]:
    """Back edges spanned by each group of events that one condition looks at."""
    turn = _turns(program)
    taken = {read for reads in flow.operands.values() for read in reads if read != NOTHING}
    seen = {flow.run[flow.source[read]] for read in taken if flow.source[read] != NOTHING}
    for mma, reads in flow.operands.items():
        for read in reads:
            chain = [turn[e] for e in (mma, *_chain(flow, read))]
            if min(chain) < 0:
                # Rooted in the prologue: the tile is the same in every iteration. One iteration
                # after the first full chain accumulates it again.
                inside = [t for t in chain if 0 <= t < program.trips]
                yield max(inside) - min(inside) + 1 if inside else 0
            else:
                around = [turn[e] for e in _around(flow, read, seen) if turn[e] >= 0]
                yield max(chain + around) - min(chain + around)


def _chain(flow: Flow, read: int) -> list[int]:
    """A fragment load, the write it sees, and the load after a store."""
    chain = []
    while read != NOTHING:
        chain.append(read)
        read = flow.source[read]
    return chain


def _around(flow: Flow, read: int, seen: set[int]) -> Iterator[int]:
    """The further events that decide whether one fragment load is right."""
    if read == NOTHING or flow.source[read] == NOTHING:
        return
    write = flow.source[read]
    yield from (flow.run[read], flow.run[write])
    if flow.after[write] != NOTHING:
        yield flow.after[write]
    older = flow.before[write]
    # An older write whose own tile is read in between was complete by then, or is a finding; but
    # of several writes of that tile the last can still be in flight.
    if older != NOTHING and (flow.run[older] not in seen or flow.run[older] != older):
        yield older
    load = flow.source[write]
    if load != NOTHING:  # staged: the same for the loads into the registers
        yield flow.run[load]
        if flow.before[load] != NOTHING:
            yield flow.before[load]


def _turns(program: Program) -> list[int]:
    """Iteration of every event; -1 in the prologue, and the epilogue counts as one more."""
    by_phase = {Phase.PROLOGUE: -1, Phase.EPILOGUE: program.trips}
    pairs = zip(program.items, program.turns, strict=True)
    return [by_phase.get(item.phase, turn) for item, turn in pairs]
