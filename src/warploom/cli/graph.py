"""``warploom graph`` and ``diff``: the dependences of a loop, and two schedules side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from itertools import zip_longest
from textwrap import wrap
from typing import Annotated, Any

import typer

from warploom.cli.arguments import SpecArgument
from warploom.cli.display import display
from warploom.cli.knobs import Costs, CostsOption, Request, with_request
from warploom.cli.screen import (
    FORM,
    Answer,
    OutputOption,
    columns,
    form_of,
    one_or_all,
    paint,
    wrapped,
)
from warploom.cli.source import load
from warploom.cli.subject import ROLE_TILES, Subject
from warploom.errors import DocumentError, WarploomError
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.schedule_ops import DepEdge
from warploom.sim import Simulation
from warploom.sim.pace import Pace
from warploom.viz import graph_dot, graph_svg, recurrence_text
from warploom.viz.compare import Pair, compare, compare_html, fact_text
from warploom.viz.listing import entry_kind
from warploom.viz.recurrence import Node, role_graph
from warploom.viz.timeline import stacked


class Drawing(StrEnum):
    """Forms of a graph."""

    TEXT = "text"
    DOT = "dot"
    SVG = "svg"


@with_request(without=("sync",))
def graph_command(
    source: SpecArgument,
    form: Annotated[Drawing | None, typer.Option("--format", help=FORM)] = None,
    output: OutputOption = None,
    *,
    request: Request,
) -> Answer:
    """Show dependence edges with kind and distance, and the recurrence that limits the loop.

    Example: warploom graph pingpong -o graph.svg
    """
    loops = load(source, request).loops
    form = form_of(form, output, Drawing)
    joined = stacked if form is Drawing.SVG else "\n\n".join
    return Answer(
        lambda: joined([drawing(part, *graph_of(part), form) for part in loops]),
        lambda: one_or_all([_as_json(part, *graph_of(part)) for part in loops]),
        output=output,
        what="graph",
        raw=form is not Drawing.TEXT,
    )


def graph_of(subject: Subject) -> tuple[Sequence[Node], Sequence[DepEdge]]:
    """The loop's ops and edges: recorded in a counter document, read off a role document."""
    document = subject.document
    if isinstance(document, RolesDocument):
        shown = display(subject).names
        if document.costs is None and subject.kernel is None:
            nodes, edges = role_graph(document)
        else:
            prices = subject.prices()
            nodes, edges = role_graph(document, lambda op: prices.of(op).timing)
        return tuple(replace(node, name=shown.op(node.name)) for node in nodes), edges
    if not document.body:
        raise DocumentError(
            f"{subject.spec} carries no body, so there is no graph",
            path="$.body",
            fix="compile it again: compiled documents carry body and edges",
        )
    return document.body, document.edges


def drawing(subject: Subject, body: Sequence[Node], edges: Sequence[DepEdge], form: Drawing) -> str:
    """The graph in one form."""
    match form:
        case Drawing.DOT:
            return graph_dot(body, edges, name=subject.name)
        case Drawing.SVG:
            return graph_svg(body, edges, name=subject.name)
        case Drawing.TEXT:
            width = min(22, (columns() - 24) // 2)
            lines = [
                part
                for e in edges
                for part in wrapped(
                    f"{body[e.producer_idx].label():<{width}} -> ",
                    f"{body[e.consumer_idx].label():<{width}} "
                    f"{e.dep_kind.name.lower():<6} distance {e.loop_distance}",
                )
            ]
            costs = "the ordering model, not chip cycles"
            if subject.is_roles:
                costs = f"{subject.document.target} prices"
            limit = wrapped("", f"{recurrence_text(body, edges)} (in {costs})")
            pace = wrapped("pace: ", subject.pace_text())
            title = [paint(t, "title") for t in wrapped("", subject.title)]
            return "\n".join([*(title if subject.loop else []), *lines, "", *limit, *pace])


def _as_json(subject: Subject, body: Sequence[Node], edges: Sequence[DepEdge]) -> dict[str, Any]:
    pace = subject.pace()
    return {
        "body": [{"label": op.label(), "role": op.role.name, "latency": op.latency} for op in body],
        "edges": [
            {
                "producer_idx": e.producer_idx,
                "consumer_idx": e.consumer_idx,
                "dep_kind": e.dep_kind.name,
                "loop_distance": e.loop_distance,
            }
            for e in edges
        ],
        "pace": pace.to_json() if pace else None,
    }


PICTURE_TRIPS = 4
Loops = tuple[Subject, ...]


class Form(StrEnum):
    """Forms of a comparison."""

    TEXT = "text"
    HTML = "html"


@with_request(without=("sync", "knobs"))
def diff_command(
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
    model = costs is Costs.MODEL
    facts = [_all_facts(side, model) for side in sides]
    same = all(pair.same for pairs in rows.values() for pair in pairs)
    entries = {
        name: [(" " if p.same else "|", p.left, p.right) for p in pairs]
        for name, pairs in rows.items()
    }
    html = form_of(form, output, Form) is Form.HTML
    return Answer(
        lambda: compare_html(rows, facts, _runs(sides, model)) if html else _text(rows, facts),
        lambda: {"equal": same, "facts": facts, "entries": entries},
        code=0 if same else 1,
        output=output,
        what="comparison",
        raw=html,
    )


def _runs(sides: list[Loops], model: bool) -> list[tuple[Simulation, Pace | None]]:
    """The runs of both sides that can be simulated, each at the pace that the table has."""
    result: list[tuple[Simulation, Pace | None]] = []
    for part in (part for side in sides for part in side):
        with suppress(WarploomError):
            trips = max(PICTURE_TRIPS, part.least_trips)
            run = part.simulate(trips, model=model, tiles=ROLE_TILES)
            result.append((run, part.pace(model=model)))
    return result


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
    width, mark = max(10, (columns() - len(head) - 3) // 2), " " if same else "|"
    for a, b in zip_longest(wrap(left, width), wrap(right, width), fillvalue=""):
        yield f"{head}{paint(f'{a:<{width}}', kinds[0])} {mark} {paint(b, kinds[1])}".rstrip()
        head = " " * len(head)
