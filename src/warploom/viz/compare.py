"""Two schedules side by side, of either dialect or of both: as rows, and as one HTML page."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from warploom.ir.counter_dialect import ScheduleDocument
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.schedule_ops import Phase
from warploom.sim.pace import Pace
from warploom.sim.simulation import Simulation
from warploom.viz.listing import entry_label
from warploom.viz.scene import steady_window
from warploom.viz.svg import page, timeline_svg

Document = ScheduleDocument | RolesDocument


@dataclass(frozen=True, slots=True)
class Pair:
    """One row: what stands left and right; empty where one side has nothing."""

    left: str
    right: str

    @property
    def same(self) -> bool:
        """Whether both sides say the same."""
        return self.left == self.right


def compare(left: Document, right: Document) -> dict[str, list[Pair]]:
    """All lists of entries of both documents by name, aligned."""
    a, b = _lists(left), _lists(right)
    names = [*a, *(name for name in b if name not in a)]
    return {name: aligned(a.get(name, []), b.get(name, [])) for name in names}


def changes(left: Document, right: Document) -> list[str]:
    """The rows that differ, one line each."""
    return [
        f"  {name}: {pair.left or '(nothing)'} -> {pair.right or '(nothing)'}"
        for name, pairs in compare(left, right).items()
        for pair in pairs
        if not pair.same
    ]


def _lists(document: Document) -> dict[str, list[str]]:
    if isinstance(document, RolesDocument):
        return {
            f"{program.name}.{phase}": [entry_label(e, document) for e in entries]
            for program in document.programs
            for phase, entries in program.phases()
            if entries
        }
    return {p.name.lower(): [e.op.label() for e in document.phase(p)] for p in Phase}


def aligned(left: Sequence[str], right: Sequence[str]) -> list[Pair]:
    """Two lists of labels with equal ones on equal rows."""
    rows: list[Pair] = []
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            rows += [Pair(x, x) for x in left[i1:i2]]
            continue
        longest = max(i2 - i1, j2 - j1)
        lefts = [*left[i1:i2], *[""] * (longest - (i2 - i1))]
        rights = [*right[j1:j2], *[""] * (longest - (j2 - j1))]
        rows += [Pair(x, y) for x, y in zip(lefts, rights, strict=True)]
    return rows


def compare_html(
    rows: Mapping[str, Sequence[Pair]],
    facts: Sequence[Mapping[str, Any]],
    runs: Sequence[tuple[Simulation, Pace | None]] = (),
) -> str:
    """The page: no network, no server, opens from disk. A run is drawn at the pace beside it."""
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


def _runs(runs: Sequence[tuple[Simulation, Pace | None]]) -> str:
    """Both timelines over windows of one length, so that lengths can be compared by eye."""
    if not runs:
        return ""
    windows = [steady_window(run, pace=pace) for run, pace in runs]
    span = max(end - start for start, end in windows)
    parts = ["<h2>Steady state, on one scale of cycles</h2>"]
    for (run, pace), (start, _) in zip(runs, windows, strict=True):
        parts.append(timeline_svg(run, width=1300, window=(start, start + span), pace=pace))
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
