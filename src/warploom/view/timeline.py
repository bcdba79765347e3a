"""``timeline``: a schedule drawn in one call, whatever form it is given and wanted in."""

from __future__ import annotations

import json
from typing import Literal, get_args

from warploom.document.given import AnyGiven, document_of
from warploom.errors import ConfigError
from warploom.sim import MachineCosts, RoleCosts, Simulation, TargetCosts, simulate
from warploom.sim.pace import find_pace, pace_of
from warploom.view.html import timeline_html
from warploom.view.perfetto import perfetto_trace
from warploom.view.svg import timeline_svg
from warploom.view.text import timeline_text

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
    if form not in get_args(Form):
        raise ConfigError(f"no form {form!r}", where="form", fix=f"one of {get_args(Form)}")
    if isinstance(given, Simulation):
        sim, pace = given, pace_of(given)
    else:
        document = document_of(given)
        sim = simulate(document, costs, trips=trips)
        tiles = document.tiles_per_iteration
        pace = find_pace(lambda n: simulate(document, costs, trips=n), tiles)
    reasons = {(r.phase.name.lower(), r.index): r.text for r in getattr(given, "reasons", ())}
    match form:
        case "text":
            return timeline_text(sim, pace=pace)
        case "svg":
            return timeline_svg(sim, pace=pace)
        case "html":
            return timeline_html(sim, pace=pace, reasons=reasons)
        case _:
            return json.dumps(perfetto_trace(sim))
