"""``timeline``: a schedule drawn in one call, whatever form it is given and wanted in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, get_args

from warploom.document.given import AnyGiven, document_of
from warploom.errors import ConfigError
from warploom.sim import MachineCosts, RoleCosts, Simulation, TargetCosts, simulate
from warploom.sim.pace import Pace, find_pace, pace_of
from warploom.view.html import timeline_html
from warploom.view.measured import Stamps, measured_text
from warploom.view.perfetto import perfetto_trace
from warploom.view.svg import timeline_svg
from warploom.view.text import Paint, timeline_text

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
            return timeline_html(sim, pace=pace, reasons=reasons, lines=lines, stamps=stamps)
        case "perfetto":
            return json.dumps(perfetto_trace(sim))
    raise ConfigError(f"no form {form!r}", where="form", fix=f"one of {get_args(Form)}")
