"""The timeline as a layout-free picture: bands of lanes of bars, shared by SVG and HTML.

A ``Scene`` is cut from a ``Simulation``: the rows to show, for each an issue lane (what the row's
own stream does, with its stalls) and one lane for every unit it uses, then the storage slots. It
holds cycles, never pixels, so that every picture shows the same thing.
"""

from collections.abc import Iterable
from itertools import pairwise

from warploom.dataclass import dataclass
from warploom.errors import ConfigError
from warploom.sim.events import OpEvent, PhaseSpan, StallEvent
from warploom.sim.pace import Pace, pace_of
from warploom.sim.simulation import Simulation, UnitUse

SLOT_NAME = 26  # characters
LANE_ORDER = ("GLOBAL_MEM", "LDS", "MMA_UNIT", "VALU", "SCALAR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Op ``op`` holds the lane's unit in ``[start, end)``; its result is there at ``done``."""

    op: int
    start: int
    end: int
    done: int
    track: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One unit as one row uses it. Overlapping bars lie on different ``tracks``."""

    name: str
    bars: tuple[Bar, ...]
    tracks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A row of the picture: its stream first, then its units."""

    row: int
    name: str
    issue: Lane
    stalls: tuple[int, ...]
    waits: tuple[int, ...]
    lanes: tuple[Lane, ...]
    spans: tuple[PhaseSpan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotLine:
    """One storage slot and its contents over time, as indices into ``Simulation.slots``."""

    name: str
    lives: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything a timeline shows, between two cycles."""

    sim: Simulation
    start: int
    end: int
    bands: tuple[Band, ...]
    slots: tuple[SlotLine, ...]
    mark: tuple[int, int] | None
    pace: Pace | None = None


def representative_rows(sim: Simulation) -> tuple[int, ...]:
    """One row of each wave group, and every role: rows that differ in what they show."""
    seen: set[tuple[int, str]] = set()
    rows = []
    for index, row in enumerate(sim.rows):
        key = (row.group, row.role)
        if key not in seen:
            seen.add(key)
            rows.append(index)
    return tuple(rows)


def loop_spans(sim: Simulation) -> tuple[PhaseSpan, ...]:
    """The iterations of the row that sets the pace: the first wave, or the last role.

    A producer runs ahead until its buffers are full, so its first iterations tell little.
    """
    row = len(sim.rows) - 1 if sim.rows and sim.rows[-1].role else 0
    return tuple(s for s in sim.spans if s.row == row and s.iteration is not None)


def steady_window(
    sim: Simulation, iterations: int = 2, pace: Pace | None = None
) -> tuple[int, int]:
    """The cycles of a few iterations of one row, in the middle of the steady state.

    In the window every row is inside its loop: no prologue and no epilogue of a tile shows, not
    even of a role that runs ahead. Where the run has no such stretch, roles that run ahead may
    leave their loop in it, then fewer iterations are shown.
    """
    loop = loop_spans(sim)
    kept = interval_marks(sim, pace) if pace is not None else []
    if pace is not None and kept:
        inside = {row: _loops(sim, row) for row in range(len(sim.rows))}
        late = {s.row for s in loop}
        alike = {r for r, row in enumerate(sim.rows) if row.program == _role(sim)}
        wanted = ((set(inside), iterations), (alike | late, iterations), (late, iterations))
        for rows, count in (*wanted, (late, 1)):
            length = round(count * pace.interval)
            steady = [a for a, _ in kept if all(_covers(inside[r], a, a + length) for r in rows)]
            if steady:
                start = steady[(len(steady) - 1) // 2]
                return start, start + length
        start = kept[(len(kept) - 1) // 2][0]
        return start, start + round(pace.interval)
    if not loop:
        return 0, sim.cycles
    first = sim.state.first_iteration if sim.state else 0
    begin = min(max(first, (len(loop) - iterations) // 2), max(0, len(loop) - iterations))
    return loop[begin].start, loop[min(begin + iterations, len(loop)) - 1].end


def _role(sim: Simulation) -> str:
    """The program of the row that sets the pace; empty where all rows run one."""
    return sim.rows[-1].program if sim.rows else ""


def _loops(sim: Simulation, row: int) -> list[tuple[int, int]]:
    """Stretches of successive iterations of a row."""
    out: list[tuple[int, int]] = []
    for span in (s for s in sim.spans if s.row == row and s.iteration is not None):
        if out and out[-1][1] == span.start:
            out[-1] = (out[-1][0], span.end)
        else:
            out.append((span.start, span.end))
    return out


def _covers(stretches: list[tuple[int, int]], start: int, end: int) -> bool:
    return any(a <= start and end <= b for a, b in stretches)


def build_scene(
    sim: Simulation,
    *,
    every: bool = False,
    window: tuple[int, int] | None = None,
    pace: Pace | None = None,
) -> Scene:
    """Cut a scene: of one row of each group, or of every row, by default over the whole run.

    Without a ``pace`` it is that of this run.
    """
    pace = pace or pace_of(sim)
    start, end = window if window is not None else (0, sim.cycles)
    shown = range(len(sim.rows)) if every else representative_rows(sim)
    if end < start:
        raise ConfigError(f"the window ends at {end}, before its start {start}", where="window")
    return Scene(
        sim=sim,
        start=start,
        end=max(end, start + 1),
        bands=tuple(_band(sim, row) for row in shown),
        slots=_slot_lines(sim),
        mark=_interval_mark(sim, start, end, pace),
        pace=pace,
    )


def _band(sim: Simulation, row: int) -> Band:
    mine = [(i, op) for i, op in enumerate(sim.ops) if op.row == row]
    names = sorted({op.lane for _, op in mine}, key=_lane_rank)
    issue = Lane(
        name="issue",
        bars=tuple(
            Bar(op=i, start=op.issue, end=op.issued, done=op.issued, track=0) for i, op in mine
        ),
        tracks=1,
    )
    return Band(
        row=row,
        name=sim.rows[row].name,
        issue=issue,
        stalls=tuple(i for i, stall in enumerate(sim.stalls) if stall.row == row),
        waits=tuple(i for i, wait in enumerate(sim.waits) if wait.row == row),
        lanes=tuple(_lane(name, [(i, op) for i, op in mine if op.lane == name]) for name in names),
        spans=tuple(span for span in sim.spans if span.row == row),
    )


def _lane_rank(name: str) -> tuple[int, str]:
    return (LANE_ORDER.index(name) if name in LANE_ORDER else len(LANE_ORDER)), name


def _lane(name: str, ops: Iterable[tuple[int, OpEvent]]) -> Lane:
    """Bars of one unit; ops in flight together get tracks of their own, first fit."""
    free: list[int] = []
    bars = []
    for i, op in sorted(ops, key=lambda item: (item[1].start, item[0])):
        until = max(op.end, op.done)
        track = next((t for t, time in enumerate(free) if time <= op.start), len(free))
        if track == len(free):
            free.append(until)
        free[track] = until
        bars.append(Bar(op=i, start=op.start, end=op.end, done=until, track=track))
    return Lane(name=name, bars=tuple(bars), tracks=max(1, len(free)))


def _slot_lines(sim: Simulation) -> tuple[SlotLine, ...]:
    """Shared storage; registers are not shown."""
    lives: dict[str, list[int]] = {}
    for i, slot in enumerate(sim.slots):
        if slot.row is None:
            lives.setdefault(slot.slot, []).append(i)
    return tuple(SlotLine(name=_short(name), lives=tuple(items)) for name, items in lives.items())


def _short(name: str) -> str:
    """What fits beside a picture: of a long name the end, which tells slots apart."""
    return name if len(name) <= SLOT_NAME else f"..{name[2 - SLOT_NAME :]}"


def interval_marks(sim: Simulation, pace: Pace | None) -> list[tuple[int, int]]:
    """Starts of successive iterations of one row; with a pace only those that keep it.

    Where a tile of a persistent kernel ends, the next iteration is far off: no interval.
    """
    pairs = [(a.start, b.start) for a, b in pairwise(loop_spans(sim))]
    if pace is None:
        return pairs
    off = {p: abs(p[1] - p[0] - pace.interval) for p in pairs}
    kept = [p for p in pairs if off[p] <= 0.02 * pace.interval]
    nearest = min(off.values(), default=0.0)
    return kept or [p for p in pairs if off[p] == nearest <= 0.5 * pace.interval]


def steady_share(sim: Simulation, use: UnitUse, pace: Pace | None) -> float | None:
    """How busy a unit is once the loop runs: at the pace, where the run is too short to show it."""
    if pace is None or not pace.interval:
        return use.steady_utilisation
    load = next((u for u in sim.loads if u.unit == use.unit), None)
    return None if load is None else float(load.bound) / pace.interval


def _interval_mark(
    sim: Simulation, start: int, end: int, pace: Pace | None
) -> tuple[int, int] | None:
    """Start of two successive iterations of one row, in the window and the steady state."""
    chosen = [p for p in interval_marks(sim, pace) if start <= p[0] and p[1] <= end]
    return chosen[len(chosen) // 2] if chosen else None


def visible(scene: Scene, start: int, end: int) -> bool:
    """Whether something from ``start`` to ``end`` shows in the scene's window."""
    return end >= scene.start and start <= scene.end


def stall_text(stall: StallEvent) -> str:
    """A stall in one sentence."""
    cycles = stall.end - stall.start
    return f"{stall.place.text()} stalls {cycles} cycles: {stall.cause.text}"


def headline(scene: Scene) -> str:
    """The run in one line: name, costs, trips, interval and what bounds it."""
    sim, pace = scene.sim, scene.pace
    parts = [f"{sim.name}", f"costs: {sim.costs}", f"{sim.trips} trips, {sim.cycles} cycles"]
    if pace is not None:
        kind = "exact" if pace.exact else "average"
        parts.append(f"II {pace.interval:g} cycles ({kind})")
        if pace.tiles > 1:
            parts.append(f"{pace.per_tile:g} a K-tile")
        parts.append(f"at least {pace.bound:g} by {pace.unit}")
    return " | ".join(parts)
