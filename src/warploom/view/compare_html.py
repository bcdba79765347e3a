"""Two schedules side by side as one HTML page: figures, timelines on one scale, entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from warploom.sim.simulation import Simulation
from warploom.view.compare import Pair
from warploom.view.scene import steady_window
from warploom.view.svg import timeline_svg

_STYLE = """
body{margin:0;padding:14px 20px;font:13px/1.45 system-ui,-apple-system,"Segoe UI",sans-serif;
  color:#1d1f23;background:#fff}
h1{font-size:17px;margin:0 0 8px} h2{font-size:14px;margin:18px 0 6px}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{text-align:left;padding:2px 14px 2px 0;vertical-align:top}
.facts tr.diff td{font-weight:600} .facts td:first-child{color:#667}
.lists{display:flex;flex-wrap:wrap;gap:10px 28px;align-items:flex-start}
.list td{font:12px ui-monospace,monospace;padding:0 10px;border-left:3px solid transparent}
.list td.l{background:#fdecea;border-color:#b2182b}
.list td.r{background:#e8f4ea;border-color:#2e7d32}
.list th{font-weight:600;padding:0 10px} .runs svg{max-width:100%;height:auto;display:block}
label{margin-right:14px;color:#667} .only tr.same{display:none}
"""


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
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<link rel='icon' href='data:,'><title>{title}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{title}: {differ} of {total} rows differ</h1>"
        f"<table class='facts'>{_facts(facts)}</table>"
        f"<div class='runs'>{_runs(runs)}</div>"
        "<h2>Entries <label><input type='checkbox' onchange=\"document.getElementById('lists')"
        ".classList.toggle('only', this.checked)\"> only what differs</label></h2>"
        f"<div class='lists' id='lists'>{lists}</div>"
        "</body></html>\n"
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
