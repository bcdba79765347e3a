"""The timeline as one interactive HTML file: no network, no server, opens from disk.

The page holds the events as JSON and a small script that draws what is visible: zoom and pan,
hover for details, click an op to follow its data, a stall or an arrow to read the reason.
"""

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from warploom.sim.events import OpEvent, Place, StallEvent, StallKind
from warploom.sim.pace import Pace
from warploom.sim.simulation import Simulation
from warploom.view.measured import Stamps, measured_lanes
from warploom.view.palette import (
    STALL_COLOURS,
    STALL_WORDS,
    op_colour,
    op_word,
    short_labels,
    wait_text,
)
from warploom.view.scene import (
    Band,
    Lane,
    Scene,
    build_scene,
    interval_marks,
    representative_rows,
    steady_share,
    steady_window,
)
from warploom.view.svg import asset, hatch, page


def timeline_html(
    sim: Simulation,
    *,
    reasons: Mapping[tuple[str, int], str] | None = None,
    pace: Pace | None = None,
    lines: Mapping[str, str] | None = None,
    stamps: Stamps | None = None,
) -> str:
    """The page as text. It holds all rows, and shows one of each group until asked for more.

    ``reasons`` says of entries, by phase name (of a role: ``consumer.kernel``) and index, why they
    are there; hovering or clicking shows it. ``pace`` is the loop's interval, where the run is too
    short to show it. ``lines`` gives the author's line of an op by its name, ``stamps`` what a run
    on a GPU measured, drawn under the prediction.
    """
    scene = build_scene(sim, every=True, pace=pace)
    return page(
        "timeline.html",
        title=escape(f"Timeline of {sim.name}"),
        name=escape(sim.name),
        figures=_figures(scene, stamps),
        units=_units(scene),
        sites=_sites(sim, scene),
        legend=_legend(sim) + (_MEASURED_KEY if stamps is not None else ""),
        all_rows="" if len(scene.bands) > len(representative_rows(sim)) else " disabled",
        css=asset("timeline.css"),
        script=asset("timeline.js"),
        data=_embed(
            {
                **_data(scene),
                "reasons": {f"{p.lower()} {i}": text for (p, i), text in (reasons or {}).items()},
                "lines": dict(lines or {}),
                "measured": _measured(scene, stamps),
            }
        ),
    )


LONG = 1000  # entries of a list from which on their keys are written once


def _embed(data: dict[str, Any]) -> str:
    """JSON that cannot close the script element it stands in; long lists without repeated keys."""
    data = {name: _packed(value) for name, value in data.items()}
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _packed(value: Any) -> Any:  # noqa: ANN401 (JSON)
    """A long list of alike objects as their keys and a list of values each (``unpacked`` in
    timeline.js); anything else as it is.
    """
    if not isinstance(value, list) or len(value) < LONG or not isinstance(value[0], dict):
        return value
    keys = list(value[0])
    if any(list(item) != keys for item in value):
        return value
    columns = [_packed([item[key] for item in value]) for key in keys]
    if any(isinstance(column, dict) for column in columns):  # of objects in objects, too
        return {"keys": keys, "columns": columns}
    return {"keys": keys, "values": [list(item.values()) for item in value]}


def _data(scene: Scene) -> dict[str, Any]:
    sim = scene.sim
    shown = representative_rows(sim)
    return {
        "cycles": sim.cycles,
        "ii": None if scene.pace is None else round(scene.pace.interval, 2),
        "marks": interval_marks(sim, scene.pace),
        "steadyWindow": steady_window(sim, pace=scene.pace),
        "defs": "".join(hatch(kind, "h") for kind in StallKind) + _ARROW,
        "rows": [
            {"name": row.name, "group": row.group, "program": row.role.partition(" ")[0]}
            for row in sim.rows
        ],
        "ops": [_op(op) for op in sim.ops],
        "stalls": [_stall(stall) for stall in sim.stalls],
        "waits": [
            _of(wait, "row", "start", "op") | {"place": _place(wait.place), "text": wait_text(wait)}
            for wait in sim.waits
        ],
        "barriers": [_of(b, "name", "ordinal", "release", "arrivals") for b in sim.barriers],
        "slots": [
            _of(s, "slot", "content", "start", "ready", "end", "writers", "readers")
            for s in sim.slots
        ],
        "slotLines": [_of(line, "name", "lives") for line in scene.slots],
        "links": [_of(link, "src", "dst", "via") for link in sim.links],
        "bands": [_band(band, band.row in shown) for band in scene.bands],
    }


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


def _op(op: OpEvent) -> dict[str, Any]:
    times = ("issue", "issued", "start", "end", "done")
    return _of(op, "row", "unit", *times, "queue", "count") | {
        "place": _place(op.place),
        "labels": short_labels(op.place.label),
        "word": op_word(op.kind),
        "colour": op_colour(op.kind),
        "detail": [pair for pair in op.detail if pair[0] != "role"],
    }


def _stall(stall: StallEvent) -> dict[str, Any]:
    return _of(stall, "row", "start", "end") | {
        "place": _place(stall.place),
        "kind": str(stall.cause.kind),
        "text": stall.cause.text,
        "op": stall.cause.op,
        "culprit": stall.cause.row,
    }


def _band(band: Band, representative: bool) -> dict[str, Any]:
    return _of(band, "row", "name", "stalls", "waits") | {
        "representative": representative,
        "issue": _lane(band.issue),
        "lanes": [_lane(lane) for lane in band.lanes],
        "spans": [(span.phase, span.iteration, span.start, span.end) for span in band.spans],
    }


def _lane(lane: Lane) -> dict[str, Any]:
    bars = [(bar.op, bar.start, bar.end, bar.done, bar.track) for bar in lane.bars]
    return {"name": lane.name, "tracks": lane.tracks, "bars": bars}


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


def _sites(sim: Simulation, scene: Scene, most: int = 14) -> str:
    """The places that stall most; a click leads to their longest stall on a row that shows."""
    rows = []
    bands = {band.row for band in scene.bands}
    for site in sim.sites[:most]:
        here = [
            (i, stall)
            for i, stall in enumerate(sim.stalls)
            if stall.row in bands
            and (stall.place.phase, stall.place.index) == (site.phase, site.index)
            and (stall.place.label, stall.cause.kind) == (site.label, site.kind)
        ]
        if not here:
            continue
        longest = max(here, key=lambda item: item[1].end - item[1].start)[0]
        rows.append(
            f"<tr class='jump' data-stall='{longest}'><td class='num'>{site.cycles}</td>"
            f"<td>{escape(site.label)}<br><small>{site.phase} {site.index}: "
            f"{escape(site.cause)}</small></td></tr>"
        )
    return "".join(rows) or "<tr><td>none</td></tr>"


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
