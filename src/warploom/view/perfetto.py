"""The timeline as a Chrome trace, which Perfetto and chrome://tracing open.

One cycle is one microsecond, the format's unit. A row is a process; its stream, each unit and its
stalls are threads. Ops that hold a unit are complete events (``X``); what is in flight and what
lies in storage are asynchronous (``b``/``e``), since such spans may overlap; barriers are instant
events; a flow arrow (``s``/``f``) leads from the op a stall waited for to the end of the stall.
"""

from __future__ import annotations

from typing import Any

from warploom.sim.simulation import Simulation
from warploom.view.palette import op_word, slot_text
from warploom.view.scene import Band, build_scene

Event = dict[str, Any]
STALL_TID, FIRST_UNIT_TID = 1, 2
STORAGE = "storage"


def perfetto_trace(sim: Simulation) -> dict[str, Any]:
    """The trace as plain data, ready for ``json.dump``; all rows, the whole run."""
    scene = build_scene(sim, rows=tuple(range(len(sim.rows))))
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
    for number in band.stalls:
        stall = sim.stalls[number]
        cat = f"stall: {stall.cause.kind}"
        at = {"pid": band.row + 1, "tid": STALL_TID, "cat": cat}
        span = {"ts": stall.start, "dur": stall.end - stall.start}
        args = {"cause": stall.cause.text, "phase": stall.place.phase}
        events.append({"ph": "X", **at, **span, "name": stall.place.label, "args": args})
        if stall.cause.op is not None and sim.ops[stall.cause.op].row == band.row:
            culprit = sim.ops[stall.cause.op]
            flow = {"name": "waited for", "cat": "cause", "id": number, "pid": band.row + 1}
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
