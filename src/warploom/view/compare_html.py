"""Two schedules side by side as one HTML page: figures, timelines on one scale, entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from warploom.sim.simulation import Simulation
from warploom.view.compare import Pair
from warploom.view.drawing import page
from warploom.view.scene import steady_window
from warploom.view.svg import timeline_svg


def compare_html(
    rows: Mapping[str, Sequence[Pair]],
    facts: Sequence[Mapping[str, Any]],
    runs: Sequence[Simulation | None] = (),
) -> str:
    """The page: no network, no server, opens from disk."""
    names = [escape(str(f.get("name", "?"))) for f in facts]
    differ = sum(not p.same for pairs in rows.values() for p in pairs)
    total = sum(len(pairs) for pairs in rows.values())
    title = f"{names[0]} and {names[1]}"
    lists = "".join(_list(*item, names) for item in rows.items())
    return page(
        "compare.html",
        title=title,
        count=f"{differ} of {total}",
        facts=_facts(facts),
        runs=_runs(runs),
        lists=lists,
    )


def fact_text(key: str, value: object) -> str:
    """A fact as it is shown: shares in percent, whole cycles without a point."""
    if isinstance(value, float):
        return f"{value:.0%}" if "busy" in key else f"{value:g}"
    return "-" if value is None else str(value)


def _facts(facts: Sequence[Mapping[str, Any]]) -> str:
    out = []
    for key in dict.fromkeys(k for f in facts for k in f):
        cells = [fact_text(key, f.get(key)) for f in facts]
        css = "" if cells[0] == cells[1] else " class='diff'"
        values = "".join(f"<td>{escape(c)}</td>" for c in cells)
        out.append(f"<tr{css}><td>{escape(key)}</td>{values}</tr>")
    return "".join(out)


def _runs(runs: Sequence[Simulation | None]) -> str:
    """Both timelines over windows of one length, so that lengths can be compared by eye."""
    shown = [run for run in runs if run is not None]
    if not shown:
        return ""
    starts = [steady_window(run)[0] for run in shown]
    span = max(steady_window(run)[1] - start for run, start in zip(shown, starts, strict=True))
    parts = ["<h2>Steady state, on one scale of cycles</h2>"]
    for run, start in zip(shown, starts, strict=True):
        parts.append(timeline_svg(run, width=1300, window=(start, start + span)))
    return "".join(parts)


def _list(name: str, pairs: Sequence[Pair], names: Sequence[str]) -> str:
    body = []
    for p in pairs:
        left, right = escape(p.left), escape(p.right)
        if p.same:
            body.append(f"<tr class='same'><td>{left}</td><td>{right}</td></tr>")
        else:
            mark_l = " class='l'" if p.left else ""
            mark_r = " class='r'" if p.right else ""
            body.append(f"<tr><td{mark_l}>{left}</td><td{mark_r}>{right}</td></tr>")
    different = sum(not p.same for p in pairs)
    head = f"<tr><th colspan='2'>{escape(name)}: {different} of {len(pairs)} differ</th></tr>"
    sides = f"<tr><th>{names[0]}</th><th>{names[1]}</th></tr>"
    return f"<table class='list'>{head}{sides}{''.join(body)}</table>"
