"""``warploom diff``: two schedules side by side: entries, waits, verdict, pace."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import zip_longest
from textwrap import wrap
from typing import Annotated, Any

import typer

from warploom.cli.knobs import Costs, CostsOption, Request, SpecArgument, with_request
from warploom.cli.output import FORM, Answer, OutputOption, form_of
from warploom.cli.source import load
from warploom.cli.style import columns, paint
from warploom.cli.subject import ROLE_TILES, Subject
from warploom.errors import WarploomError
from warploom.sim import Simulation
from warploom.view.compare import Pair, compare
from warploom.view.compare_html import compare_html, fact_text
from warploom.view.listing import entry_kind

PICTURE_TRIPS = 4
Loops = tuple[Subject, ...]


class Form(StrEnum):
    """Forms of a comparison."""

    TEXT = "text"
    HTML = "html"


@with_request(without=("sync", "knobs"))
def command(
    left: SpecArgument,
    right: SpecArgument,
    form: Annotated[Form | None, typer.Option("--format", help=FORM)] = None,
    output: OutputOption = None,
    costs: CostsOption = Costs.CHIP,
    *,
    request: Request,
) -> Answer:
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
    entries = {
        name: [(" " if p.same else "|", p.left, p.right) for p in pairs]
        for name, pairs in rows.items()
    }
    html = form_of(form, output, Form) is Form.HTML
    return Answer(
        lambda: compare_html(rows, facts, _runs(sides)) if html else _text(rows, facts),
        lambda: {"equal": same, "facts": facts, "entries": entries},
        code=0 if same else 1,
        output=output,
        what="comparison",
        raw=html,
    )


def _runs(sides: list[Loops]) -> list[Simulation | None]:
    return [_run(part) for side in sides for part in side]


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


def _run(side: Subject) -> Simulation | None:
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


def _text(rows: dict[str, list[Pair]], facts: list[dict[str, Any]]) -> str:
    keys = list(dict.fromkeys(k for f in facts for k in f))
    head = max(17, *map(len, keys))
    lines: list[str] = []
    for key in keys:
        a, b = (fact_text(key, f.get(key)) for f in facts)
        lines += _beside(f"{key:<{head}} ", a, b, same=a == b)
    for name, pairs in rows.items():
        different = sum(not p.same for p in pairs)
        lines += ["", paint(f"{name}: {different} of {len(pairs)} rows differ", "title")]
        for p in pairs:
            kinds = ("", "") if p.same else ("removed", "added")
            lines += _beside("  ", p.left, p.right, same=p.same, kinds=kinds)
    return "\n".join(lines)


def _beside(
    head: str, left: str, right: str, *, same: bool, kinds: tuple[str, str] = ("", "")
) -> Iterator[str]:
    """Two texts side by side, each broken where its column ends."""
    room, mark = max(10, (columns() - len(head) - 3) // 2), " " if same else "|"
    for a, b in zip_longest(wrap(left, room), wrap(right, room), fillvalue=""):
        yield f"{head}{paint(f'{a:<{room}}', kinds[0])} {mark} {paint(b, kinds[1])}".rstrip()
        head = " " * len(head)
