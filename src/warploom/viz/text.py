"""The timeline as terminal text, in the manner of llvm-mca.

One column stands for a number of cycles. A row has a line for its stream and one for each unit::

    wave 0  issue       a~~~~~~~~~~~~~~ccca~~~~~~~~~~~~~~ccc
            GLOBAL_MEM  a               a
              in flight 111111111111111 11111111111111111
            MMA_UNIT                   ccc               ccc
    LDS A[0,0]          -------------==.-------------==.

Letters name ops (the legend tells which), ``~ | ! ? : ^`` are stalls by cause, a slot fills
(``-``), is ready (``=``) and is free (`` ``). Then come how busy the units are, what stalled and
why, and one iteration op by op.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
from string import ascii_letters, digits

from warploom.errors import ConfigError
from warploom.sim.events import OpEvent
from warploom.sim.pace import Pace, pace_of
from warploom.sim.simulation import Simulation, UnitUse
from warploom.viz.bottleneck import bottleneck, stalls_of
from warploom.viz.listing import Paint
from warploom.viz.palette import STALL_SYMBOLS, STALL_WORDS
from warploom.viz.scene import (
    Band,
    Bar,
    Lane,
    Scene,
    build_scene,
    headline,
    loop_spans,
    steady_share,
    steady_window,
)

_SYMBOLS = ascii_letters + digits + "@#$%&*+<>"
LABEL = 27  # columns of what stands left of a picture
_TABLE = 90  # columns of the widest table


def timeline_text(
    sim: Simulation,
    *,
    width: int = 120,
    window: tuple[int, int] | None = None,
    pace: Pace | None = None,
    paint: Paint | None = None,
) -> str:
    """The whole report, of at most ``width`` columns.

    ``pace`` is the loop's interval where the run is too short to show it; ``paint`` colours a
    piece of text by its kind.
    """
    if width < LABEL + 20:
        raise ConfigError(
            f"a timeline of {width} columns is too narrow",
            where="width",
            fix=f"{LABEL + 20} or more",
        )
    scene = build_scene(sim, window=window, pace=pace)
    canvas = _Canvas(scene, width - LABEL, paint)
    head = textwrap.wrap(headline(scene), width, subsequent_indent="  ")
    parts = [*head, "", *canvas.lines(), "", *_legend(scene, canvas, width)]
    parts += ["", *pressure(sim, width, pace), "", *_one_iteration(sim, width)]
    return "\n".join(line.rstrip() for line in parts) + "\n"


def pressure(sim: Simulation, width: int, pace: Pace | None) -> list[str]:
    """How busy the units are and where the time goes."""
    pace = pace or pace_of(sim)
    limit = [] if pace is None else [*textwrap.wrap(bottleneck(sim, pace), width), ""]
    return [*limit, *_units(sim, width, pace), "", *_stalls(sim, width)]


def timeline_strip(
    sim: Simulation,
    *,
    width: int = 78,
    lanes: tuple[str, ...] = (),
    paint: Paint | None = None,
) -> list[str]:
    """A few lines: one steady iteration on the ``lanes`` named (default: all), for a summary."""
    scene = build_scene(sim, window=steady_window(sim, 1))
    return _Canvas(scene, width - LABEL, paint).strip(lanes)


class _Line:
    """One line of the canvas; in each column the symbol with the most cycles shows."""

    def __init__(self, canvas: _Canvas) -> None:
        self.canvas = canvas
        self.cycles: list[Counter[str]] = [Counter() for _ in range(canvas.columns)]

    def paint(self, start: int, end: int, symbol: str) -> None:
        """Count the cycles of ``[start, end)`` for ``symbol``."""
        step, origin = self.canvas.step, self.canvas.scene.start
        first = max(0, self.canvas.column(start))
        last = min(self.canvas.columns - 1, self.canvas.column(end - 1))
        for column in range(first, last + 1):
            left = origin + column * step
            self.cycles[column][symbol] += min(end, left + step) - max(start, left)

    def text(self) -> str:
        """The characters, each stretch of one kind in its colour."""
        chars = [c.most_common(1)[0][0] if c else " " for c in self.cycles]
        runs = groupby(chars, key=self.canvas.kinds.get)
        return "".join(self.canvas.paint("".join(run), kind or "") for kind, run in runs)


class _Canvas:
    """Lines of characters over the scene's window."""

    def __init__(self, scene: Scene, columns: int, paint: Paint | None = None) -> None:
        self.scene = scene
        self.paint = paint or (lambda text, kind: text)
        self.step = max(1, -(-(scene.end - scene.start) // columns))
        self.columns = -(-(scene.end - scene.start) // self.step)
        labels = dict.fromkeys(scene.sim.ops[b.op].place.label for b in _bars(scene))
        self.symbols = {label: _SYMBOLS[i % len(_SYMBOLS)] for i, label in enumerate(labels)}
        ops = (scene.sim.ops[b.op] for b in _bars(scene))
        self.kinds = {self.symbols[op.place.label]: op.kind for op in ops}
        self.kinds |= dict.fromkeys(STALL_SYMBOLS.values(), "stall")

    def strip(self, lanes: tuple[str, ...]) -> list[str]:
        """The ruler, and for each band those of its lanes that are asked for."""
        lines = [self._ruler()]
        for band in self.scene.bands:
            shown = [lane for lane in band.lanes if not lanes or lane.name in lanes]
            for i, lane in enumerate(shown):
                line = _Line(self)
                self._letters(line, lane)
                lines.append(_label(band.name if i == 0 else " ", lane.name) + line.text())
        return lines

    def lines(self) -> list[str]:
        lines = [self._ruler(), self._phases(), self._interval()]
        for band in self.scene.bands:
            lines += self._band(band)
        for slot in self.scene.slots:
            line = _Line(self)
            for life in (self.scene.sim.slots[i] for i in slot.lives):
                line.paint(life.start, life.ready, "-")
                line.paint(life.ready, life.end, "=")
            lines.append(_label(slot.name) + line.text())
        return [line for line in lines if line]

    def column(self, cycle: int) -> int:
        """The column a cycle falls into; may lie outside the canvas."""
        return (cycle - self.scene.start) // self.step

    def _ruler(self) -> str:
        chars = [" "] * (self.columns + 12)
        for column in range(0, self.columns, 10):
            text = str(self.scene.start + column * self.step)
            if column + len(text) <= self.columns + 8 and len(text) < 10:
                chars[column : column + len(text)] = text
        text = "".join(chars[: self.columns]).rstrip()
        return _label(f"1 column = {self.step} cycles") + text

    def _phases(self) -> str:
        chars = ["."] * self.columns
        for span in self.scene.bands[0].spans if self.scene.bands else ():
            name = span.phase if span.iteration is None else f"k{span.iteration}"
            column = self.column(span.start)
            for i, char in enumerate(f"|{name}"):
                if 0 <= column + i < min(self.columns, max(column + 1, self.column(span.end))):
                    chars[column + i] = char
        return _label(f"phases of {self.scene.bands[0].name}" if self.scene.bands else "") + (
            "".join(chars)
        )

    def _interval(self) -> str:
        if self.scene.mark is None or self.scene.pace is None:
            return ""
        first, last = (self.column(cycle) for cycle in self.scene.mark)
        text = f" II {self.scene.pace.interval:g} "
        inner = max(0, last - first - 1)
        body = text.center(inner, "-") if inner >= len(text) else "-" * inner
        return _label("") + " " * first + f"<{body}>"

    def _band(self, band: Band) -> list[str]:
        sim = self.scene.sim
        line = _Line(self)
        for stall in (sim.stalls[i] for i in band.stalls):
            line.paint(stall.start, stall.end, STALL_SYMBOLS[stall.cause.kind])
        self._letters(line, band.issue)
        lines = [_label(band.name, "issue") + line.text()]
        for lane in band.lanes:
            line = _Line(self)
            self._letters(line, lane)
            lines.append(_label("", lane.name) + line.text())
            if lane.tracks > 1 or any(bar.done > bar.end for bar in lane.bars):
                lines.append(_label("", "  in flight") + self._in_flight(lane))
        return [*lines, _label("")]

    def _letters(self, line: _Line, lane: Lane) -> None:
        for bar in lane.bars:
            symbol = self.symbols[self.scene.sim.ops[bar.op].place.label]
            line.paint(bar.start, bar.end, symbol)

    def _in_flight(self, lane: Lane) -> str:
        counts = [0] * self.columns
        for bar in lane.bars:
            first, last = self.column(bar.start), self.column(bar.done - 1)
            for column in range(max(0, first), min(self.columns - 1, last) + 1):
                counts[column] += 1
        return "".join(" " if not n else (str(n) if n < 10 else "+") for n in counts)


def _bars(scene: Scene) -> Iterable[Bar]:
    for band in scene.bands:
        yield from band.issue.bars


def _label(name: str, lane: str = "") -> str:
    left = f"{name[:14]:<15}{lane[: LABEL - 16]}" if lane else name[: LABEL - 1]
    return f"{left:<{LABEL}}"


def _legend(scene: Scene, canvas: _Canvas, width: int) -> list[str]:
    used = {scene.sim.stalls[i].cause.kind for band in scene.bands for i in band.stalls}
    lines = textwrap.wrap(
        "Legend: letters are ops; 'in flight' counts ops issued and not complete", width
    )
    entries = [f"{symbol} {label}" for label, symbol in canvas.symbols.items()]
    across = max(1, min(4, (width - 2) // 26))
    lines += [
        "  " + "  ".join(f"{entry:<24}" for entry in entries[i : i + across])
        for i in range(0, len(entries), across)
    ]
    lines += [
        f"  {STALL_SYMBOLS[kind]} stall, {STALL_WORDS[kind]}"
        for kind in STALL_SYMBOLS
        if kind in used
    ]
    if scene.slots:
        lines += ["  - slot is being filled", "  = slot holds data that is still read"]
    return lines


def _units(sim: Simulation, width: int, pace: Pace | None) -> list[str]:
    """How busy the units are; units of one kind that did the same are one line."""
    wide = width >= _TABLE
    lines = ["Unit pressure          units  capacity  busy cycles  of the run  of the steady state"]
    if not wide:
        lines = ["Unit pressure          units  of the run  when steady"]
    alike: Counter[tuple[str, UnitUse]] = Counter()
    for use in sim.units:
        share = steady_share(sim, use, pace)
        alike[use.lane, replace(use, unit=use.lane, steady_utilisation=share)] += 1
    for (name, use), count in alike.items():
        steady = "" if use.steady_utilisation is None else f"{use.steady_utilisation:.1%}"
        middle = f"{use.capacity:>10}{use.busy:>13}" if wide else ""
        last = f"{steady:>{21 if wide else 13}}"
        lines.append(f"  {name:<20}{count:>6}{middle}{use.utilisation:>12.1%}{last}")
    return lines


def _stalls(sim: Simulation, width: int, most: int = 12) -> list[str]:
    found = stalls_of(sim)
    lines = []
    if found.ahead:
        cycles = sum(site.cycles for site in found.ahead)
        lines = textwrap.wrap(
            f"Copies run ahead: {cycles} cycles of waits for a free slot, which cost nothing while "
            "consumers have work",
            width,
        )
    if not found.cost:
        return ["Stalls: none" if not lines else "Stalls that cost: none", *lines]
    lines += [
        "Stalls that cost, all rows and iterations together, most costly first",
        "   cycles  times  where",
    ]
    for site in found.cost[:most]:
        where = f"{site.phase} {site.index}"
        text = f"{where:<13} {site.label:<18} {site.cause}"
        lines += textwrap.wrap(
            text,
            width,
            initial_indent=f"{site.cycles:>9}{site.times:>7}  ",
            subsequent_indent=" " * 20,
        )
    if len(found.cost) > most:
        rest = sum(site.cycles for site in found.cost[most:])
        lines.append(f"{rest:>9}         in {len(found.cost) - most} more places")
    return lines


def _one_iteration(sim: Simulation, width: int) -> list[str]:
    """One steady iteration of one row, a line per op, as llvm-mca shows instructions."""
    start, end = steady_window(sim, 1)
    span = next((s for s in loop_spans(sim) if s.start == start), None)
    if span is None:
        return []
    row, iteration = span.row, span.iteration
    ops = [o for o in sim.ops if o.row == row and o.place.iteration == iteration]
    if not ops:
        return []
    last = max(end, *(op.done for op in ops))
    columns = width - 34
    step = max(1, -(-(last - start) // columns))
    lines = [
        *textwrap.wrap(
            f"Iteration {iteration} of {sim.rows[row].name}, one column = {step} cycles "
            f"from {start}",
            width,
        ),
        *textwrap.wrap(
            "= stands before the op   I issues   q queued at the unit   e unit works   "
            "- in flight   R result",
            width,
            initial_indent="  ",
            subsequent_indent="  ",
        ),
    ]
    clock = start
    for op in ops:
        at = f"[{iteration},{op.place.index:>3}] {op.place.label:<24}"
        lines.append(at + _op_line(op, clock, start, step))
        clock = op.issued
    return lines


def _op_line(op: OpEvent, clock: int, origin: int, step: int) -> str:
    """The life of one op: stall, issue, queue, unit, flight, result; later marks win."""
    chars: dict[int, str] = {}
    parts = ((clock, op.issue, "="), (op.issued, op.start, "q"), (op.end, op.done, "-"))
    for begin, end, symbol in (*parts, (op.start, op.end, "e"), (op.issue, op.issued, "I")):
        if end > begin:
            for column in range((begin - origin) // step, (end - 1 - origin) // step + 1):
                chars[column] = symbol
    chars[(max(op.done, op.end) - origin) // step] = "R"
    return "".join(chars.get(i, ".") for i in range(max(chars) + 1))
