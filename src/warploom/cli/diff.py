"""``warploom diff``: two schedules side by side: entries, waits, verdict, pace."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from warploom.cli.knobs import JsonOption, Request, SpecArgument, with_request
from warploom.cli.machine import Costs, CostsOption
from warploom.cli.output import deliver
from warploom.cli.source import load
from warploom.cli.style import WidthOption, columns, paint
from warploom.cli.subject import ROLE_TILES, Subject
from warploom.errors import WarploomError
from warploom.view.compare import Pair, compare
from warploom.view.compare_html import compare_html
from warploom.view.listing import entry_kind

PICTURE_TRIPS = 4
Loops = tuple[Subject, ...]


class Form(StrEnum):
    """Forms of a comparison."""

    TEXT = "text"
    HTML = "html"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="diff")(with_request(_diff, without=("sync", "knobs")))


def _diff(
    left: SpecArgument,
    right: SpecArgument,
    form: Annotated[Form, typer.Option("--format", help="Form of the comparison.")] = Form.TEXT,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write it here.")] = None,
    costs: CostsOption = Costs.CHIP,
    width: WidthOption = None,
    as_json: JsonOption = False,
    *,
    request: Request,
) -> None:
    """Compare two schedules entry by entry, and their waits, verdicts and pace.

    Exit code 0: equal entries. 1: they differ. Example: warploom diff a.json b.json
    """
    given = [load(spec, request) for spec in (left, right)]
    sides = [side.loops for side in given]
    rows = {
        f"loop {a.loop}, {name}" if a.loop else name: pairs
        for a, b in zip(*_paired(*sides), strict=True)
        for name, pairs in compare(a.document, b.document).items()
    }
    facts = [_all_facts(side, costs is Costs.MODEL) for side in sides]
    same = all(pair.same for pairs in rows.values() for pair in pairs)
    if as_json:
        entries = {
            name: [(" " if p.same else "|", p.left, p.right) for p in pairs]
            for name, pairs in rows.items()
        }
        typer.echo(json.dumps({"equal": same, "facts": facts, "entries": entries}))
    elif form is Form.HTML:
        runs = [_run(part) for side in sides for part in side]
        deliver(compare_html(rows, facts, runs), output, "comparison")
    else:
        deliver(_text(rows, facts, columns(width)), output, "comparison")
    raise typer.Exit(0 if same else 1)


def _paired(left: Loops, right: Loops) -> tuple[Loops, Loops]:
    """Loops beside each other, the last ones where one side has fewer."""
    count = min(len(left), len(right))
    return left[-count:], right[-count:]


def _all_facts(loops: Loops, model: bool) -> dict[str, Any]:
    """Figures of the last loop, and of those before it under their number."""
    *earlier, last = loops
    facts = _facts(last, model)
    for part in earlier:
        own = _facts(part, model).items()
        facts |= {f"{k}, loop {part.loop}": v for k, v in own if k not in ("name", "target")}
    return facts


def _run(side: Subject) -> Any:  # noqa: ANN401 (a run, or nothing to draw)
    try:
        return side.simulate(max(PICTURE_TRIPS, side.least_trips), tiles=ROLE_TILES)
    except WarploomError:
        return None


def _facts(side: Subject, model: bool) -> dict[str, Any]:
    kinds = [entry_kind(e) for name, entries in side.phases() if "kernel" in name for e in entries]
    facts: dict[str, Any] = {
        "name": side.name,
        "target": side.document.target,
        "verdict": side.report().verdict,
        "loop entries": len(kinds),
        "loop waits": kinds.count("wait"),
        "loop barriers": kinds.count("barrier"),
    }
    try:
        pace = side.pace(model=model)
    except WarploomError as error:
        return facts | {"pace": error.what}
    if pace is None:
        return facts
    return facts | {
        "costs": pace.costs,
        "cycles a K-tile": pace.per_tile,
        "interval": pace.interval,
        "bound a K-tile": pace.bound / pace.tiles,
        "matrix unit busy": None if pace.matrix is None else round(pace.matrix, 4),
    }


def _text(rows: dict[str, list[Pair]], facts: list[dict[str, Any]], width: int) -> str:
    room = max(16, (width - 5) // 2)
    lines: list[str] = []
    keys = list(dict.fromkeys(k for f in facts for k in f))
    head = max(17, *map(len, keys))
    for key in keys:
        a, b = (str(f.get(key, "-")) for f in facts)
        mark = " " if a == b else "|"
        side = max(10, (width - head - 5) // 2)
        lines.append(f"{key:<{head}} {_cut(a, side):<{side}} {mark} {_cut(b, side)}".rstrip())
    for name, pairs in rows.items():
        different = sum(not p.same for p in pairs)
        lines += ["", paint(f"{name}: {different} of {len(pairs)} rows differ", "title")]
        for p in pairs:
            left = f"{_cut(p.left, room):<{room}}"
            if p.same:
                lines.append(f"  {left}   {_cut(p.right, room)}".rstrip())
            else:
                right = paint(_cut(p.right, room), "added")
                lines.append(f"  {paint(left, 'removed')} | {right}".rstrip())
    return "\n".join(lines)


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 3] + "..."
