"""Rich forms for notebooks: schedules, graphs, verdicts and timelines as HTML fragments.

Each function returns a fragment for ``_repr_html_``. Pictures are embedded as data, so that their
styles cannot touch the page around them and they survive in saved notebooks; nothing is fetched.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from html import escape

from warploom.ir.counter_dialect import ScheduleDocument
from warploom.ir.schedule_ops import DepEdge, OpDesc, OpRole, Phase, ScheduleEntry, ScheduleOps
from warploom.pipeline.compile.result import CompiledSchedule
from warploom.pipeline.graph_builder.loop_body import LoopBody
from warploom.sim.simulation import Simulation
from warploom.verify.findings import Report
from warploom.viz.graph import graph_svg
from warploom.viz.html import timeline_html
from warploom.viz.listing import Reasons
from warploom.viz.palette import op_colour
from warploom.viz.scene import loop_spans
from warploom.viz.svg import timeline_svg

_CHIP = (
    "display:inline-block;margin:1px 2px;padding:0 5px;border-radius:4px;"
    "font:12px ui-monospace,monospace;white-space:nowrap;"
)
_VERDICT = {"clean": "#2e7d32", "timing": "#b8860b", "race": "#b2182b"}


def picture_of(value: object) -> str:
    """What a notebook shows of a value that is pictured."""
    match value:
        case Simulation():
            return simulation_html(value)
        case Report():
            return verdict_html(value)
        case CompiledSchedule():
            reasons = {(r.phase.name, r.index): r.text for r in value.reasons}
            return schedule_html(value.document(), reasons)
        case LoopBody():
            return graph_html(tuple(node.op for node in value.ops), value.edges)
    raise TypeError(f"{type(value).__name__} has no picture")


def picture(svg: str) -> str:
    """An SVG file as an image element that scales down with the page."""
    data = b64encode(svg.encode()).decode()
    return f'<img style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


def simulation_html(sim: Simulation) -> str:
    """A run: the timeline of its start and first iteration as a picture."""
    loop = loop_spans(sim)
    window = (0, loop[0].end) if len(loop) > 4 else None
    return picture(untitled(timeline_svg(sim, window=window)))


def untitled(svg: str) -> str:
    """A picture without the texts that hovering shows, which an image element never does."""
    return re.sub(r"<title>[^<]*</title>", "", svg)


class InteractiveTimeline:
    """Shows the interactive page of a run inside a notebook cell."""

    def __init__(
        self, sim: Simulation, *, height: int = 620, reasons: Reasons | None = None
    ) -> None:
        self.sim = sim
        self.height = height
        self.reasons = reasons

    def _repr_html_(self) -> str:
        page = escape(timeline_html(self.sim, reasons=self.reasons, most_plain=0))
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" '
            f'style="width:100%;height:{self.height}px;border:1px solid #ccc"></iframe>'
        )


def graph_html(body: Sequence[OpDesc], edges: Sequence[DepEdge], name: str = "body") -> str:
    """The dependence graph as a picture."""
    return picture(graph_svg(body, edges, name=name))


def schedule_html(document: ScheduleDocument, reasons: Reasons | None = None) -> str:
    """A schedule: its three phases as coloured chips; hover a wait to read its reason."""
    head = (
        f"<b>{escape(document.name)}</b> for {escape(document.target)}, {escape(document.strategy)}"
    )
    parts = [f"<div style='margin-bottom:4px'>{head}</div>"]
    for phase in Phase:
        entries = document.phase(phase)
        notes = {i: t for (p, i), t in (reasons or {}).items() if p.lower() == phase.name.lower()}
        chips = "".join(_chip(e, notes.get(i, "")) for i, e in enumerate(entries))
        words = f"{phase.name.lower()}, {len(entries)} entries"
        parts.append(f"<div><span style='color:#666'>{words}</span><br>{chips}</div>")
    return f"<div style='line-height:1.7'>{''.join(parts)}</div>"


def verdict_html(report: Report) -> str:
    """A verdict: one line, and a table of findings when there are any."""
    colour = _VERDICT.get(report.verdict, "#666")
    head = (
        f"<b style='color:{colour}'>{escape(report.verdict)}</b> {escape(report.name)}, "
        f"trip counts verified: {escape(report.trips_proven)}"
    )
    if not report.findings:
        return f"<div>{head}</div>"
    rows = "".join(
        f"<tr><td>{f.code.value}</td><td>{f.severity.value}</td><td>{f.trip_count}</td>"
        f"<td style='text-align:left'>{escape(' and '.join(e.op for e in f.where))}</td>"
        f"<td style='text-align:left'>{escape(f.why)}</td>"
        f"<td style='text-align:left'>{escape(f.fix)}</td></tr>"
        for f in report.findings
    )
    names = "".join(
        f"<th>{name}</th>" for name in ("code", "severity", "trips", "ops", "why", "fix")
    )
    return f"<div>{head}</div><table><tr>{names}</tr>{rows}</table>"


def _chip(entry: ScheduleEntry, reason: str) -> str:
    op = entry.op
    if op.tag == ScheduleOps.BARRIER:
        colours = "background:#444;color:#fff"
    elif op.role is OpRole.SYNC:
        colours = "background:#fbe3d3;color:#8a3b00;border:1px solid #d55e00"
    elif op.role is OpRole.FENCE:
        colours = "background:#eee;color:#777"
    else:
        colours = f"background:{op_colour(op.role.name)};color:#fff"
    title = f' title="{escape(reason)}"' if reason else ""
    mark = "*" if entry.is_prefetch else ""
    return f'<span style="{_CHIP}{colours}"{title}>{escape(op.label())}{mark}</span>'
