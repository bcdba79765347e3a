"""What limits a run, in one sentence, and where it stalls: what costs apart from running ahead.

A role that only copies fills its ring and then waits for a free slot. That wait is how a ring
works, and the more of it, the further the copies are ahead; it costs nothing while consumers have
work. It is therefore never listed beside stalls that delay the loop.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.sim.events import StallEvent, StallKind
from warploom.sim.pace import Pace
from warploom.sim.simulation import Simulation, StallSite
from warploom.viz.scene import loop_spans, steady_window

AT_BOUND = 1.02  # an interval this near its bound is set by the busiest unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Stalls:
    """Places where rows stood still: those that ``cost``, and waits of roles that run ``ahead``."""

    cost: tuple[StallSite, ...]
    ahead: tuple[StallSite, ...]


def runs_ahead(sim: Simulation, row: int) -> bool:
    """Whether a row is a role that only copies into rings."""
    if not sim.rows[row].role:
        return False
    kinds = {op.kind for op in sim.ops if op.row == row}
    return kinds == {"GLOBAL_LOAD"}


def stalls_of(sim: Simulation) -> Stalls:
    """All stalls by place, most costly first."""
    ahead = {row for row in range(len(sim.rows)) if runs_ahead(sim, row)}
    free = [s for s in sim.stalls if s.row in ahead and s.cause.kind is StallKind.SIGNAL]
    waits = {id(s) for s in free}
    return Stalls(
        cost=_sites([s for s in sim.stalls if id(s) not in waits]),
        ahead=_sites(free),
    )


def _sites(stalls: list[StallEvent]) -> tuple[StallSite, ...]:
    cycles: Counter[tuple[str, int, str, StallKind]] = Counter()
    times: Counter[tuple[str, int, str, StallKind]] = Counter()
    worst: dict[tuple[str, int, str, StallKind], StallEvent] = {}
    for stall in stalls:
        key = (stall.place.phase, stall.place.index, stall.place.label, stall.cause.kind)
        cycles[key] += stall.end - stall.start
        times[key] += 1
        known = worst.setdefault(key, stall)
        if stall.end - stall.start >= known.end - known.start:
            worst[key] = stall
    found = [
        StallSite(
            phase=phase,
            index=index,
            label=label,
            kind=kind,
            cycles=total,
            times=times[phase, index, label, kind],
            cause=worst[phase, index, label, kind].cause.text,
        )
        for (phase, index, label, kind), total in cycles.items()
    ]
    return tuple(sorted(found, key=lambda s: (-s.cycles, s.phase, s.index)))


def bottleneck(sim: Simulation, pace: Pace | None) -> str:
    """What the loop's interval comes from, in one sentence."""
    loop = loop_spans(sim)
    if pace is None or not loop or not pace.interval:
        return "The run has no loop of two iterations or more, so nothing limits an interval."
    interval = f"{pace.interval:g}"
    if pace.interval <= AT_BOUND * pace.bound:
        return (
            f"Bound by {pace.unit}: it works {pace.bound:g} of the {interval} cycles of an "
            "iteration, and everything else is hidden behind it."
        )
    row = loop[0].row
    start, end = steady_window(sim, 1, pace)
    here = [s for s in sim.stalls if s.row == row and s.start < end and s.end > start]
    sites = _sites([_clipped(s, start, end) for s in here])
    waited = sum(s.cycles for s in sites)
    name = sim.rows[row].name
    head = f"An iteration takes {interval} cycles where {pace.unit} needs {pace.bound:g}: "
    if sites and waited >= 0.1 * pace.interval:
        site = sites[0]
        return (
            f"{head}{name} stalls {waited} of them, {site.cycles} at {site.label} "
            f"({site.phase} {site.index}): {site.cause}."
        )
    busy: Counter[str] = Counter()
    for op in sim.ops:
        if op.row == row and op.issue < end and op.issued > start:
            busy[op.place.label] += min(op.issued, end) - max(op.issue, start)
    label, cycles = busy.most_common(1)[0] if busy else ("nothing", 0)
    share = (end - start - waited) / (end - start)
    return (
        f"{head}{name} itself is busy {share:.0%} of them, longest with {label} "
        f"({cycles} cycles); it stalls {waited}."
    )


def _clipped(stall: StallEvent, start: int, end: int) -> StallEvent:
    return replace(stall, start=max(stall.start, start), end=min(stall.end, end))
