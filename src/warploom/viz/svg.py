"""The timeline as a standalone SVG picture, and the very small SVG writer under it.

Rows from top to bottom: for each wave or role its stream (ops it issues and hatched stalls) and
its units, with thin tails for results in flight; then the storage slots, pale while they fill and
solid while they hold data. Barriers are lines through all rows, the initiation interval is the
bracket under the ruler. Every shape has a tooltip.
"""

import re
from html import escape
from importlib.resources import files

from warploom.errors import ConfigError
from warploom.sim.events import StallKind
from warploom.sim.pace import Pace
from warploom.sim.simulation import Simulation
from warploom.viz import palette
from warploom.viz.scene import Band, Bar, Lane, Scene, build_scene, headline, stall_text, visible


def number(value: float) -> str:
    """A coordinate with at most one decimal and no trailing zero."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def asset(name: str) -> str:
    """The text of a file that pictures are made of."""
    return files("warploom.viz").joinpath("assets").joinpath(name).read_text(encoding="utf-8")


def page(file: str, **parts: str) -> str:
    """A page of the assets; ``__TITLE__`` in it stands for the part ``title``."""
    return re.sub("__([A-Z_]+)__", lambda found: parts[found[1].lower()], asset(file))


class Drawing:
    """Collects shapes in painting order."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def rect(self, x: float, y: float, width: float, height: float, css: str, **attrs: str) -> None:
        """A rectangle; ``title`` among the attributes becomes its tooltip."""
        place = f'x="{number(x)}" y="{number(y)}"'
        size = f'width="{number(width)}" height="{number(height)}"'
        self._shape("rect", f"{place} {size}", css, attrs)

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str, **attrs: str) -> None:
        """A straight line."""
        ends = (("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2))
        self._shape("line", " ".join(f'{k}="{number(v)}"' for k, v in ends), css, attrs)

    def path(self, d: str, css: str, **attrs: str) -> None:
        """A path in SVG's own notation."""
        self._shape("path", f'd="{d}"', css, attrs)

    def text(self, x: float, y: float, words: str, css: str, **attrs: str) -> None:
        """A piece of text with its base line at ``y``."""
        place = f'x="{number(x)}" y="{number(y)}"'
        self.parts.append(f'<text {place} class="{css}"{_attributes(attrs)}>{escape(words)}</text>')

    def open_group(self, css: str, **attrs: str) -> None:
        """Begin a group."""
        self.parts.append(f'<g class="{css}"{_attributes(attrs)}>')

    def close_group(self) -> None:
        """End the latest group."""
        self.parts.append("</g>")

    def _shape(self, name: str, geometry: str, css: str, attrs: dict[str, str]) -> None:
        title = attrs.pop("title", "")
        head = f'<{name} {geometry} class="{css}"{_attributes(attrs)}'
        if title:
            self.parts.append(f"{head}><title>{escape(title)}</title></{name}>")
        else:
            self.parts.append(f"{head}/>")

    def document(self, width: float, height: float, style: str, title: str, defs: str = "") -> str:
        """The finished picture as a standalone SVG file."""
        size = f'width="{number(width)}" height="{number(height)}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
            f'viewBox="0 0 {number(width)} {number(height)}" role="img">\n'
            f"<title>{escape(title)}</title>\n<style>{style}</style>\n<defs>{defs}</defs>\n"
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def _attributes(attrs: dict[str, str]) -> str:
    return "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in attrs.items()
    )


LEFT, RIGHT, TOP = 158.0, 16.0, 74.0
LANE, TRACK, GAP, BAND_GAP, PHASE = 15.0, 7.0, 3.0, 14.0, 13.0
MIN_WIDTH, CHAR = 400, 5.6
HEAD, BOLD = 13.0, 8.0  # pixels of the headline, and of one of its letters

_STYLE = (
    "text{font:10px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#222}"
    ".h{font-size:13px;font-weight:600}.row{font-size:11px;font-weight:600}"
    ".lane,.tick{fill:#666}.tick,.phase{text-anchor:middle}.right{text-anchor:end}"
    ".in{fill:#fff;text-anchor:middle;pointer-events:none}.dark{fill:#222}"
    ".ii{fill:#b2182b;font-weight:600;text-anchor:middle}"
    ".bg{fill:#f6f6f6}.odd{fill:#e9edf2}.even{fill:#f4f6f8}"
    ".wait{fill:#d55e00}.grid{stroke:#ddd}.barrier{stroke:#7f7f7f;stroke-width:1}.iiline{stroke:#b2182b;fill:none}"
    ".bar{stroke:#fff;stroke-width:.4}.tail{opacity:.28}.fill{fill:#c9d8c5}.held{fill:#6a9f5b}"
)


def timeline_svg(
    sim: Simulation,
    *,
    width: int = 1400,
    window: tuple[int, int] | None = None,
    pace: Pace | None = None,
) -> str:
    """The picture as text of an SVG file, ``width`` pixels wide."""
    if width < MIN_WIDTH:
        raise ConfigError(f"a timeline of {width} pixels is too narrow", where="width")
    return _Painter(build_scene(sim, window=window, pace=pace), float(width)).paint()


class _Painter:
    """Paints one scene; ``y`` is how far down the picture has grown."""

    def __init__(self, scene: Scene, width: float) -> None:
        self.scene = scene
        self.sim = scene.sim
        self.width = width
        self.scale = (width - LEFT - RIGHT) / (scene.end - scene.start)
        self.out = Drawing()
        self.y = TOP

    def paint(self) -> str:
        words = headline(self.scene)
        fits = (self.width - 24) / (BOLD * len(words))  # a long one is written smaller, never cut
        small = {} if fits >= 1 else {"style": f"font-size:{HEAD * fits:.1f}px"}
        self.out.text(12, 22, words, "h", **small)
        self._ruler()
        for band in self.scene.bands:
            self._band(band)
        if self.scene.slots:
            self._slots()
        self._legend()
        defs = "".join(hatch(kind) for kind in StallKind)
        title = f"Timeline of {self.sim.name}"
        return self.out.document(self.width, self.y + 8, _STYLE, title, defs)

    def x(self, cycle: int) -> float:
        """Where a cycle lies, cut to the plot."""
        return LEFT + (min(max(cycle, self.scene.start), self.scene.end) - self.scene.start) * (
            self.scale
        )

    def _ruler(self) -> None:
        step = _nice_step((self.scene.end - self.scene.start) / ((self.width - LEFT) / 90))
        self.out.text(LEFT - 8, 46, "cycles", "lane right")
        for cycle in range(-(-self.scene.start // step) * step, self.scene.end + 1, step):
            self.out.text(self.x(cycle), 46, str(cycle), "tick")
            self.out.line(self.x(cycle), 50, self.x(cycle), 54, "grid")
        pace = self.scene.pace
        if self.scene.mark is not None and pace is not None:
            a, b = (self.x(cycle) for cycle in self.scene.mark)
            self.out.path(f"M{number(a)} 68V60H{number(b)}V68", "iiline")
            words = f"II {pace.interval:g}{'' if pace.exact else ' (average)'}"
            self.out.rect((a + b) / 2 - 3.2 * len(words), 54, 6.4 * len(words), 12, "", fill="#fff")
            self.out.text((a + b) / 2, 64, words, "ii")

    def _band(self, band: Band) -> None:
        self.out.open_group("band", data_row=str(band.row))
        self.out.text(12, self.y + PHASE + 11, band.name, "row")
        for i, span in enumerate(band.spans):
            if visible(self.scene, span.start, span.end):
                self._phase(i, span.start, span.end, span.phase, span.iteration)
        self.y += PHASE + 6
        top = self.y
        self._lane(band.issue, band.stalls)
        for lane in band.lanes:
            self._lane(lane, ())
        self._barriers(band.row, top - 2, self.y)
        self._waits(band.waits, top)
        self.out.close_group()
        self.y += BAND_GAP - GAP

    def _phase(self, i: int, start: int, end: int, phase: str, iteration: int | None) -> None:
        a, b = self.x(start), self.x(end)
        self.out.rect(a, self.y, b - a, PHASE, "odd" if i % 2 else "even")
        words = phase if iteration is None else f"iteration {iteration}"
        short = phase[:1] if iteration is None else str(iteration)
        for text in (words, short):
            if b - a > CHAR * len(text) + 4:
                self.out.text((a + b) / 2, self.y + 10, text, "phase lane")
                break

    def _lane(self, lane: Lane, stalls: tuple[int, ...]) -> None:
        height = LANE if lane.tracks == 1 else max(LANE, min(lane.tracks, 9) * TRACK)
        self.out.text(LEFT - 8, self.y + height / 2 + 4, lane.name, "lane right")
        self.out.rect(LEFT, self.y, self.width - LEFT - RIGHT, height, "bg")
        for index in stalls:
            stall = self.sim.stalls[index]
            if visible(self.scene, stall.start, stall.end):
                a, b = self.x(stall.start), self.x(stall.end)
                fill = f"url(#hatch-{stall.cause.kind})"
                title = stall_text(stall)
                self.out.rect(a, self.y, b - a, height, "stall", fill=fill, title=title)
        for bar in lane.bars:
            if visible(self.scene, bar.start, bar.done):
                self._bar(bar, height / lane.tracks, lane.tracks == 1)
        self.y += height + GAP

    def _bar(self, bar: Bar, height: float, labelled: bool) -> None:
        op = self.sim.ops[bar.op]
        colour, title = palette.op_colour(op.kind), palette.op_text(op, self.sim.rows[op.row].name)
        y = self.y + bar.track * height
        a, b, c = self.x(bar.start), self.x(bar.end), self.x(bar.done)
        if c > b:
            self.out.rect(b, y + 1, c - b, height - 2, "tail", fill=colour, title=title)
        if bar.end > bar.start:
            self.out.rect(a, y, max(b - a, 1), height, "bar", fill=colour, title=title)
        free = (b - a) if labelled else (c - a)
        for text in palette.short_labels(op.place.label):
            if free > CHAR * len(text) + 4 and height >= 10:
                self.out.text(a + free / 2, y + height / 2 + 3.5, text, "in")
                break

    def _waits(self, waits: tuple[int, ...], y: float) -> None:
        """A small mark above the stream for every wait, also for those that cost nothing."""
        for wait in (self.sim.waits[i] for i in waits):
            if self.scene.start <= wait.start <= self.scene.end:
                mark = f"M{number(self.x(wait.start))} {number(y)}l-2.5 -4h5z"
                self.out.path(mark, "wait", title=palette.wait_text(wait))

    def _barriers(self, row: int, top: float, bottom: float) -> None:
        for barrier in self.sim.barriers:
            here = any(member == row for member, _ in barrier.arrivals)
            if here and self.scene.start <= barrier.release <= self.scene.end:
                x = self.x(barrier.release)
                last = max(barrier.arrivals, key=lambda arrival: arrival[1])
                title = (
                    f"barrier {barrier.ordinal} ({barrier.name}): all met at {last[1]} "
                    f"({self.sim.rows[last[0]].name} last), released at {barrier.release}"
                )
                self.out.line(x, top, x, bottom, "barrier", title=title)

    def _slots(self) -> None:
        self.out.text(12, self.y + 9, "storage", "row")
        self.y += 14
        for line in self.scene.slots:
            self.out.text(LEFT - 8, self.y + 9, line.name, "lane right")
            self.out.rect(LEFT, self.y, self.width - LEFT - RIGHT, 11, "bg")
            for life in (self.sim.slots[i] for i in line.lives):
                if not visible(self.scene, life.start, life.end):
                    continue
                a, b, c = self.x(life.start), self.x(life.ready), self.x(life.end)
                title = palette.slot_text(life)
                self.out.rect(a, self.y + 1, b - a, 9, "fill", title=title)
                self.out.rect(b, self.y + 1, max(c - b, 0.8), 9, "held", title=title)
                if c - b > CHAR * len(life.content) + 4:
                    self.out.text((b + c) / 2, self.y + 9, life.content, "in")
            self.y += 11 + GAP
        self.y += 4

    def _legend(self) -> None:
        shown = [self.sim.ops[bar.op].kind for band in self.scene.bands for bar in band.issue.bars]
        x = 12.0
        self.y += 6
        for kind in dict.fromkeys(shown):
            x = self._key(x, palette.op_word(kind), fill=palette.op_colour(kind))
        x = self._key(x, "in flight", fill="#0072b2", opacity=".28")
        if self.sim.waits:
            self.out.path(f"M{number(x + 8)} {number(self.y + 8)}l-4 -6h8z", "wait")
            self.out.text(x + 21, self.y + 9, "a wait", "lane")
            x += 40 + CHAR * 6
        if self.scene.slots:
            x = self._key(x, "slot filling", fill="#c9d8c5")
            x = self._key(x, "slot holds data", fill="#6a9f5b")
        x, self.y = 12.0, self.y + 16
        used = {self.sim.stalls[i].cause.kind for band in self.scene.bands for i in band.stalls}
        for stall in StallKind:
            if stall in used:
                x = self._key(
                    x, f"stall: {palette.STALL_WORDS[stall]}", fill=f"url(#hatch-{stall})"
                )
        self.y += 16

    def _key(self, x: float, words: str, **attrs: str) -> float:
        self.out.rect(x, self.y, 16, 10, "", **attrs)
        self.out.text(x + 21, self.y + 9, words, "lane")
        return x + 40 + CHAR * len(words)


def hatch(kind: StallKind, prefix: str = "hatch") -> str:
    """A pattern of slanted lines in the stall's colour."""
    colour = palette.STALL_COLOURS[kind]
    return (
        f'<pattern id="{prefix}-{kind}" width="6" height="6" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><rect width="6" height="6" fill="{colour}" '
        f'fill-opacity=".13"/><rect width="2" height="6" fill="{colour}" fill-opacity=".6"/>'
        "</pattern>"
    )


def _nice_step(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, ... that is not below ``least``."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                return factor * power
        power *= 10
