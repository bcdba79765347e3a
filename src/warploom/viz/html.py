"""The timeline as one interactive HTML file: no network, no server, opens from disk.

The page holds the events as JSON and a small script that draws what is visible: zoom and pan,
hover for details, click an op to follow its data, a stall or an arrow to read the reason.
"""

import base64
import gzip
import json
from collections.abc import Mapping
from html import escape
from typing import Any

from warploom.sim.events import OpEvent, Place, StallEvent, StallKind
from warploom.sim.pace import Pace
from warploom.sim.simulation import Simulation, StallSite
from warploom.viz.bottleneck import bottleneck, runs_ahead, stalls_of
from warploom.viz.measured import Stamps, measured_lanes
from warploom.viz.palette import (
    STALL_COLOURS,
    STALL_WORDS,
    op_colour,
    op_word,
    short_labels,
    wait_text,
)
from warploom.viz.panels import Panels
from warploom.viz.scene import (
    Band,
    Lane,
    Scene,
    build_scene,
    interval_marks,
    representative_rows,
    steady_share,
    steady_window,
)
from warploom.viz.svg import asset, hatch, page

PLAIN = 600_000  # bytes of data up to which a page holds it as readable JSON


def timeline_html(
    sim: Simulation,
    *,
    reasons: Mapping[tuple[str, int], str] | None = None,
    pace: Pace | None = None,
    lines: Mapping[str, str] | None = None,
    stamps: Stamps | None = None,
    title: str | None = None,
    codes: Mapping[str, str] | None = None,
    panels: Panels | None = None,
    clock_hz: float | None = None,
    most_plain: int = PLAIN,
) -> str:
    """The page as text. It holds all rows, and shows one of each group until asked for more.

    ``reasons`` says of entries, by phase name (of a role: ``consumer.kernel``) and index, why they
    are there; hovering or clicking shows it. ``pace`` is the loop's interval, where the run is too
    short to show it. ``lines`` gives the author's line of an op by its name, ``stamps`` what a run
    on a GPU measured, shown under the prediction. ``title`` is the headline, ``codes`` gives the
    name that an op has in generated code by the label it is shown with, ``panels`` are source,
    schedule and code, linked, and ``clock_hz`` turns measured ranges into time. Data of more than
    ``most_plain`` bytes is packed; the browser unpacks it.
    """
    name = title or sim.name
    sites = stalls_of(sim)
    data = _embed(
        {
            **_data(scene := build_scene(sim, every=True, pace=pace)),
            "reasons": {f"{p.lower()} {i}": text for (p, i), text in (reasons or {}).items()},
            "lines": dict(lines or {}),
            "codes": {shown: code for shown, code in (codes or {}).items() if shown != code},
            "panels": None if panels is None else panels.to_json(),
            "clock": clock_hz,
            "measured": _measured(scene, stamps),
        }
    )
    packed = len(data) > most_plain
    return page(
        "timeline.html",
        title=escape(f"Timeline of {name}"),
        name=escape(name),
        figures=_figures(scene, stamps),
        bottleneck=escape(bottleneck(sim, scene.pace)),
        units=_units(scene),
        sites=_sites(sim, sites.cost, ahead=False),
        ahead=_ahead(sim, sites.ahead),
        legend=_legend(sim) + (_MEASURED_KEY if stamps is not None else ""),
        all_rows="" if len(scene.bands) > len(representative_rows(sim)) else " disabled",
        css=asset("timeline.css"),
        script=asset("timeline.js"),
        packed=' data-packed="gzip"' if packed else "",
        data=_packed(data) if packed else data,
    )


def _packed(data: str) -> str:
    return base64.b64encode(gzip.compress(data.encode(), 6, mtime=0)).decode()


def _embed(data: dict[str, Any]) -> str:
    """JSON that cannot close the script element it stands in."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _data(scene: Scene) -> dict[str, Any]:
    sim = scene.sim
    shown = representative_rows(sim)
    ahead = {row for row in range(len(sim.rows)) if runs_ahead(sim, row)}
    return {
        "cycles": sim.cycles,
        "ii": None if scene.pace is None else round(scene.pace.interval, 2),
        "marks": interval_marks(sim, scene.pace),
        "steadyWindow": steady_window(sim, pace=scene.pace),
        "defs": "".join(hatch(kind, "h") for kind in StallKind) + _ARROW,
        "rows": [
            {"name": row.name, "group": row.group, "program": row.program} for row in sim.rows
        ],
        "ops": _ops(sim.ops),
        "stalls": [_stall(stall, stall.row in ahead) for stall in sim.stalls],
        "waits": [
            _of(wait, "row", "start", "op") | {"place": _place(wait.place), "text": wait_text(wait)}
            for wait in sim.waits
        ],
        "barriers": [_of(b, "name", "ordinal", "release", "arrivals") for b in sim.barriers],
        "slots": [
            _of(s, "slot", "content", "start", "ready", "end", "writers", "readers")
            for s in sim.slots
            if s.row is None
        ],
        "slotLines": _slot_lines(scene),
        "links": _links(sim),
        "bands": [_band(band, band.row in shown) for band in scene.bands],
    }


def _ops(ops: tuple[OpEvent, ...]) -> dict[str, Any]:
    """Ops by column: what they share as ``kinds``, times as differences, which pack well."""
    kinds: dict[str, int] = {}
    columns: dict[str, list[Any]] = {
        name: [] for name in ("kind", "row", "iteration", "issue", "issued", "start", "end", "done")
    }
    issue = 0
    for op in ops:
        kind = json.dumps(_kind(op), separators=(",", ":"))
        row = (
            kinds.setdefault(kind, len(kinds)),
            op.row,
            op.place.iteration,
            op.issue - issue,
            op.issued - op.issue,
            op.start - op.issue,
            op.end - op.start,
            op.done - op.end,
        )
        issue = op.issue
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    return {"kinds": [json.loads(kind) for kind in kinds], **columns}


def _links(sim: Simulation) -> dict[str, Any]:
    """Links by column, as differences."""
    vias: dict[str, int] = {}
    src, dst, via, last = [], [], [], 0
    for link in sim.links:
        src.append(link.src - last)
        dst.append(link.dst - link.src)
        via.append(vias.setdefault(link.via, len(vias)))
        last = link.src
    return {"vias": list(vias), "src": src, "dst": dst, "via": via}


def _slot_lines(scene: Scene) -> list[dict[str, Any]]:
    """Lines of shared slots; their lives by position among those."""
    place = {i: n for n, i in enumerate(i for i, s in enumerate(scene.sim.slots) if s.row is None)}
    return [{"name": x.name, "lives": [place[i] for i in x.lives]} for x in scene.slots]


def _measured(scene: Scene, stamps: Stamps | None) -> dict[str, Any]:
    """Bars by row, each in the colour its op is predicted in; waits and the like have none."""
    if stamps is None:
        return {}
    colours = {op.place.label: op_colour(op.kind) for op in scene.sim.ops}
    return {
        str(row): [
            (bar.label, bar.start, bar.end, bar.iteration, colours.get(bar.label, ""))
            for bar in bars
        ]
        for row, bars in measured_lanes(scene.sim, stamps, scene.pace).items()
    }


def _of(value: object, *names: str) -> dict[str, Any]:
    """Some fields of a value."""
    return {name: getattr(value, name) for name in names}


def _place(place: Place) -> dict[str, Any]:
    return _of(place, "label", "phase", "index", "iteration")


def _kind(op: OpEvent) -> dict[str, Any]:
    """What all runs of an op share."""
    return _of(op, "unit", "queue", "count") | {
        "place": _of(op.place, "label", "phase", "index"),
        "labels": short_labels(op.place.label),
        "word": op_word(op.kind),
        "colour": op_colour(op.kind),
        "detail": [pair for pair in op.detail if pair[0] != "role"],
    }


def _stall(stall: StallEvent, ahead: bool) -> dict[str, Any]:
    return _of(stall, "row", "start", "end") | {
        "place": _place(stall.place),
        "kind": str(stall.cause.kind),
        "text": stall.cause.text,
        "op": stall.cause.op,
        "culprit": stall.cause.row,
        "ahead": ahead and stall.cause.kind is StallKind.SIGNAL,
    }


def _band(band: Band, representative: bool) -> dict[str, Any]:
    return _of(band, "row", "name", "stalls", "waits") | {
        "representative": representative,
        "issue": _lane(band.issue),
        "lanes": [_lane(lane) for lane in band.lanes],
        "spans": [(span.phase, span.iteration, span.start, span.end) for span in band.spans],
    }


def _lane(lane: Lane) -> dict[str, Any]:
    ops = [bar.op for bar in lane.bars]
    first = [0, *ops[:-1]] if ops else []
    return {
        "name": lane.name,
        "tracks": lane.tracks,
        "ops": [op - before for op, before in zip(ops, first, strict=True)],
        "track": [bar.track for bar in lane.bars] if lane.tracks > 1 else [],
    }


def _figures(scene: Scene, stamps: Stamps | None) -> str:
    sim, pace = scene.sim, scene.pace
    facts = [("costs", sim.costs), ("trips shown", str(sim.trips)), ("cycles", str(sim.cycles))]
    if pace is not None:
        kind = "exact" if pace.exact else "average; not yet steady"
        facts.append(("initiation interval", f"{pace.interval:g} ({kind})"))
        if pace.tiles > 1:
            facts.append(("a K-tile", f"{pace.per_tile:g}"))
        facts.append(("resource bound", f"{pace.bound:g} by {pace.unit}"))
        if pace.matrix is not None:
            facts.append(("matrix unit", f"{pace.matrix:.0%} busy"))
    if stamps is not None:
        facts.append(("measured interval", f"{stamps.interval:.0f} ({stamps.where})"))
    return "".join(f"<span>{name} <b>{escape(value)}</b></span>" for name, value in facts)


def _units(scene: Scene) -> str:
    rows = []
    for use in scene.sim.units:
        steady = steady_share(scene.sim, use, scene.pace)
        share = use.utilisation if steady is None else steady
        rows.append(
            f"<tr><td>{escape(use.unit)}</td><td class='num'>{share:.0%}</td><td>"
            f"<div class='meter'><i style='width:{min(share, 1):.0%}'></i></div></td></tr>"
        )
    return "".join(rows)


def _sites(sim: Simulation, sites: tuple[StallSite, ...], *, ahead: bool, most: int = 14) -> str:
    """The places that stall most; a click leads to their longest stall."""
    longest: dict[tuple[object, ...], int] = {}
    waits = {row for row in range(len(sim.rows)) if runs_ahead(sim, row)}
    for i, stall in enumerate(sim.stalls):
        free = stall.row in waits and stall.cause.kind is StallKind.SIGNAL
        key = (stall.place.phase, stall.place.index, stall.place.label, stall.cause.kind)
        known = longest.get(key)
        if free is ahead and (known is None or _length(stall) > _length(sim.stalls[known])):
            longest[key] = i
    rows = [
        f"<tr class='jump' tabindex='0' role='button' "
        f"data-stall='{longest[site.phase, site.index, site.label, site.kind]}'>"
        f"<td class='num'>{site.cycles}</td>"
        f"<td>{escape(site.label)}<br><small>{site.phase} {site.index}: "
        f"{escape(site.cause)}</small></td></tr>"
        for site in sites[:most]
    ]
    return "".join(rows) or "<tr><td>none</td></tr>"


def _length(stall: StallEvent) -> int:
    return stall.end - stall.start


def _ahead(sim: Simulation, sites: tuple[StallSite, ...]) -> str:
    """Waits of roles that run ahead, folded: they cost nothing by themselves."""
    if not sites:
        return ""
    total = sum(site.cycles for site in sites)
    return (
        f"<details id='ahead'><summary>Copies run ahead: {total} cycles</summary>"
        "<p>Waits for a free slot of a role that only copies: the ring is full, the copies are as "
        "far ahead as it allows. They cost nothing unless a consumer waits, too.</p>"
        f"<table>{_sites(sim, sites, ahead=True)}</table></details>"
    )


def _legend(sim: Simulation) -> str:
    keys = [(op_colour(kind), op_word(kind)) for kind in dict.fromkeys(op.kind for op in sim.ops)]
    used = {stall.cause.kind for stall in sim.stalls}
    keys += [(STALL_COLOURS[kind], STALL_WORDS[kind]) for kind in StallKind if kind in used]
    keys += [("var(--fill)", "slot filling"), ("var(--held)", "slot holds data")]
    spans = [
        f"<span class='key'><i style='background:{colour}'></i>{escape(words)}</span>"
        for colour, words in keys
    ]
    if sim.waits:
        spans.append("<span class='key'><b class='mark'>&#9660;</b>a wait</span>")
    if sim.slots:
        spans.append("<span class='key'><b class='full'>&rarr;</b>data handed over</span>")
        spans.append("<span class='key'><b class='free'>&rarr;</b>slot given back</span>")
    return "".join(spans)


_MEASURED_KEY = (
    "<span class='key'><i style='background:var(--odd2)'></i>measured: waits and the like</span>"
)

_ARROW = (
    '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="var(--mark)"/></marker>'
)
