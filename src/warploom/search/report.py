"""Outcomes as a table, as CSV, and as a scatter plot."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Sequence
from importlib.resources import files

from warploom.search.space import Outcome

COLUMNS = (
    "schedule",
    "tile",
    "dtype",
    "strategy",
    "sync",
    "max_globals",
    "lds_penalty",
    "verdict",
    "cycles_per_tile",
    "interval",
    "mma_utilisation",
    "waits",
    "barriers",
    "registers",
    "lds_bytes",
)


def to_table(outcomes: Sequence[Outcome], limit: int | None = None) -> str:
    """A plain table, best first."""
    rows = [[_cell(o.row()[c]) for c in COLUMNS] for o in outcomes[:limit]]
    widths = [max(len(r[i]) for r in [list(COLUMNS), *rows]) for i in range(len(COLUMNS))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(COLUMNS, widths, strict=True))]
    lines += ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) for r in rows]
    return "\n".join(line.rstrip() for line in lines)


def refusals(outcomes: Sequence[Outcome]) -> list[str]:
    """Why configurations could not be compiled, one line for each reason and schedule."""
    found: dict[tuple[str, str], list[str]] = {}
    for o in outcomes:
        if o.error is not None:
            tile = "x".join(map(str, o.point.tile))
            found.setdefault((o.point.schedule, o.error), []).append(f"{tile} {o.point.dtype}")
    return [
        f"refused: {schedule} {', '.join(dict.fromkeys(where))}: {error}"
        for (schedule, error), where in found.items()
    ]


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def to_csv(outcomes: Sequence[Outcome]) -> str:
    """All columns as CSV."""
    rows = [o.row() for o in outcomes]
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else list(COLUMNS))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def scatter_html(outcomes: Sequence[Outcome], title: str = "warploom explore") -> str:
    """A standalone page: interval against waits and barriers, coloured by verdict."""
    data = json.dumps([o.row() for o in outcomes]).replace("<", "\\u003c")
    page = files("warploom.search").joinpath("scatter.html").read_text(encoding="utf-8")
    return page.replace("__TITLE__", html.escape(title)).replace("__DATA__", data)
