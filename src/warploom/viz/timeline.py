"""``timeline``: a schedule drawn in one call; several loops as one picture; Chrome traces.

One cycle is one microsecond, the format's unit. A row is a process; its stream, each unit and its
stalls are threads. Ops that hold a unit are complete events (``X``); what is in flight and what
lies in storage are asynchronous (``b``/``e``), since such spans may overlap; barriers are instant
events; a flow arrow (``s``/``f``) leads from the op a stall waited for to the end of the stall.
"""

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal, get_args

from warploom.errors import ConfigError
from warploom.ir.format1 import AnyGiven, document_of
from warploom.sim import MachineCosts, RoleCosts, Simulation, TargetCosts, simulate
from warploom.sim.pace import Pace, find_pace, pace_of
from warploom.viz.html import timeline_html
from warploom.viz.listing import Paint
from warploom.viz.measured import Stamps, measured_text
from warploom.viz.palette import op_word, slot_text
from warploom.viz.panels import Panels
from warploom.viz.scene import Band, build_scene
from warploom.viz.svg import number, page, timeline_svg
from warploom.viz.text import timeline_text

Form = Literal["text", "svg", "html", "perfetto"]


def timeline(
    given: AnyGiven | Simulation,
    costs: MachineCosts | TargetCosts | RoleCosts | None = None,
    *,
    trips: int = 4,
    form: Form = "text",
) -> str:
    """A schedule over time: ``given`` is what compilation returned, a document, or a run.

    ``costs`` are machine costs or a target that has them, as in ``simulate``; ``form`` is
    ``"text"``, ``"svg"``, ``"html"`` (a page that opens from disk) or ``"perfetto"``.
    """
    if isinstance(given, Simulation):
        sim, pace = given, pace_of(given)
    else:
        document = document_of(given)
        sim = simulate(document, costs, trips=trips)
        tiles = document.tiles_per_iteration
        pace = find_pace(lambda n: simulate(document, costs, trips=n), tiles)
    reasons = {(r.phase.name.lower(), r.index): r.text for r in getattr(given, "reasons", ())}
    return draw(sim, form, pace=pace, reasons=reasons)


def draw(
    sim: Simulation,
    form: str,
    *,
    pace: Pace | None = None,
    reasons: Mapping[tuple[str, int], str] | None = None,
    lines: Mapping[str, str] | None = None,
    stamps: Stamps | None = None,
    width: int = 120,
    paint: Paint | None = None,
    title: str | None = None,
    codes: Mapping[str, str] | None = None,
    panels: Panels | None = None,
    clock_hz: float | None = None,
) -> str:
    """A run in one form; what a form cannot show is left out."""
    match form:
        case "text":
            text = timeline_text(sim, width=width, pace=pace, paint=paint)
            if stamps is None:
                return text
            return f"{text}\n{measured_text(stamps, pace.interval if pace else None)}"
        case "svg":
            return timeline_svg(sim, pace=pace)
        case "html":
            return timeline_html(
                sim,
                pace=pace,
                reasons=reasons,
                lines=lines,
                stamps=stamps,
                title=title,
                codes=codes,
                panels=panels,
                clock_hz=clock_hz,
            )
        case "perfetto":
            return json.dumps(perfetto_trace(sim))
    raise ConfigError(f"no form {form!r}", where="form", fix=f"one of {get_args(Form)}")


_SIZE = re.compile(r'<svg xmlns="[^"]*" width="([\d.]+)" height="([\d.]+)"')


def stacked(pictures: Sequence[str]) -> str:
    """SVG files below each other in one."""
    if len(pictures) == 1:
        return pictures[0]
    parts, width, height = [], 0.0, 0.0
    for picture in pictures:
        found = _SIZE.match(picture)
        assert found is not None
        head = found[0].replace("<svg ", f'<svg y="{number(height)}" ', 1)
        parts.append(head + picture[found.end() :])
        width, height = max(width, float(found[1])), height + float(found[2])
    size = f'width="{number(width)}" height="{number(height)}"'
    view = f'viewBox="0 0 {number(width)} {number(height)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} role="img">\n'
    return head + "".join(parts) + "</svg>\n"


def pages(title: str, parts: Sequence[tuple[str, str]]) -> str:
    """HTML pages as one, below a row of buttons; nothing is fetched. Keys 1, 2, ... choose, too."""
    if len(parts) == 1:
        return parts[0][1]
    buttons = "".join(
        f"<button data-page='{i}'{' aria-pressed=true' if not i else ''}>{escape(name)}</button>"
        for i, (name, _) in enumerate(parts)
    )
    frames = "".join(
        f'<iframe title="{escape(name)}" sandbox="allow-scripts" srcdoc="{escape(page)}"'
        f"{'' if not i else ' hidden'}></iframe>"
        for i, (name, page) in enumerate(parts)
    )
    return page("loops.html", title=escape(title), buttons=buttons, frames=frames)


def traces(parts: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Chrome traces as one: every loop has its own processes, named after it."""
    if len(parts) == 1:
        return parts[0][1]
    events: list[dict[str, Any]] = []
    for name, trace in parts:
        first = max((e["pid"] for e in events), default=0)
        for event in trace["traceEvents"]:
            moved = event | {"pid": event["pid"] + first}
            if event["name"] == "process_name":
                moved["args"] = {"name": f"{name}: {event['args']['name']}"}
            events.append(moved)
    others = [trace["otherData"] for _, trace in parts]
    joined = {key: "; ".join(str(o[key]) for o in others) for key in others[0]}
    return parts[-1][1] | {"traceEvents": events, "otherData": joined}


Event = dict[str, Any]
STALL_TID, FIRST_UNIT_TID = 1, 2
STORAGE = "storage"


def perfetto_trace(sim: Simulation) -> dict[str, Any]:
    """The trace as plain data, ready for ``json.dump``; all rows, the whole run."""
    scene = build_scene(sim, every=True)
    events: list[Event] = []
    for band in scene.bands:
        events += _names(band)
        events += _ops(sim, band)
        events += _stalls(sim, band)
        events += _in_flight(sim, band)
    events += _barriers(sim)
    events += _storage(sim)
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {
            "name": sim.name,
            "costs": sim.costs,
            "trips": str(sim.trips),
            "initiation_interval": "" if sim.ii is None else f"{sim.ii:g}",
            "unit_of_time": "1 us stands for 1 cycle",
        },
    }


def _meta(pid: int, tid: int, what: str, value: Any) -> Event:  # noqa: ANN401 - JSON value
    key = "sort_index" if what.endswith("sort_index") else "name"
    return {"ph": "M", "pid": pid, "tid": tid, "ts": 0, "name": what, "args": {key: value}}


def _names(band: Band) -> list[Event]:
    pid = band.row + 1
    events = [
        _meta(pid, 0, "process_name", band.name),
        _meta(pid, 0, "process_sort_index", band.row),
        _meta(pid, 0, "thread_name", "issue"),
        _meta(pid, STALL_TID, "thread_name", "stalls"),
    ]
    for tid, lane in enumerate(band.lanes, FIRST_UNIT_TID):
        events.append(_meta(pid, tid, "thread_name", lane.name))
    return events


def _ops(sim: Simulation, band: Band) -> list[Event]:
    events = []
    for tid, lane in ((0, band.issue), *enumerate(band.lanes, FIRST_UNIT_TID)):
        for bar in lane.bars:
            op = sim.ops[bar.op]
            if bar.end > bar.start:
                events.append(
                    {
                        "ph": "X",
                        "pid": band.row + 1,
                        "tid": tid,
                        "ts": bar.start,
                        "dur": bar.end - bar.start,
                        "name": op.place.label,
                        "cat": op_word(op.kind),
                        "args": {
                            "phase": op.place.phase,
                            "entry": op.place.index,
                            "iteration": op.place.iteration,
                            "unit": op.unit,
                            "result_at": op.done,
                            **dict(op.detail),
                        },
                    }
                )
    return events


def _stalls(sim: Simulation, band: Band) -> list[Event]:
    events: list[Event] = []
    tids = {lane.name: tid for tid, lane in enumerate(band.lanes, FIRST_UNIT_TID)}
    for index in band.stalls:
        stall = sim.stalls[index]
        cat = f"stall: {stall.cause.kind}"
        at = {"pid": band.row + 1, "tid": STALL_TID, "cat": cat}
        span = {"ts": stall.start, "dur": stall.end - stall.start}
        args = {"cause": stall.cause.text, "phase": stall.place.phase}
        events.append({"ph": "X", **at, **span, "name": stall.place.label, "args": args})
        if stall.cause.op is not None and sim.ops[stall.cause.op].row == band.row:
            culprit = sim.ops[stall.cause.op]
            flow = {"name": "waited for", "cat": "cause", "id": index, "pid": band.row + 1}
            tid = tids[culprit.lane]
            events.append({"ph": "s", **flow, "tid": tid, "ts": culprit.start})
            events.append({"ph": "f", "bp": "e", **flow, "tid": STALL_TID, "ts": stall.start})
    return events


def _in_flight(sim: Simulation, band: Band) -> list[Event]:
    events: list[Event] = []
    for lane in band.lanes:
        for bar in lane.bars:
            if bar.done > bar.end:
                name = f"{lane.name} in flight"
                tag = {"pid": band.row + 1, "tid": 0, "cat": name, "id": bar.op}
                label = sim.ops[bar.op].place.label
                events.append({"ph": "b", **tag, "ts": bar.start, "name": label, "args": {}})
                events.append({"ph": "e", **tag, "ts": bar.done, "name": label, "args": {}})
    return events


def _barriers(sim: Simulation) -> list[Event]:
    return [
        {
            "ph": "i",
            "s": "p",
            "pid": row + 1,
            "tid": 0,
            "ts": barrier.release,
            "name": f"{barrier.name} barrier {barrier.ordinal}",
            "cat": "barrier",
            "args": {"came": came},
        }
        for barrier in sim.barriers
        for row, came in barrier.arrivals
    ]


def _storage(sim: Simulation) -> list[Event]:
    pid = len(sim.rows) + 1
    shared = [(i, slot) for i, slot in enumerate(sim.slots) if slot.row is None]
    if not shared:
        return []
    events = [_meta(pid, 0, "process_name", STORAGE), _meta(pid, 0, "process_sort_index", pid)]
    for i, slot in shared:
        tag = {"pid": pid, "tid": 0, "cat": slot.slot, "id": i, "name": slot.slot}
        args = {"content": slot.content, "life": slot_text(slot)}
        events.append({"ph": "b", **tag, "ts": slot.start, "args": args})
        events.append({"ph": "e", **tag, "ts": slot.end, "args": {}})
    return events
