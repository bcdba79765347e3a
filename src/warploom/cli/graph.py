"""``warploom graph``: the dependence graph of a loop."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from warploom.cli.knobs import Request, SpecArgument, with_request
from warploom.cli.output import FORM, Answer, OutputOption, form_of, one_or_all
from warploom.cli.source import load
from warploom.cli.style import columns, paint, wrapped
from warploom.cli.subject import Subject
from warploom.document.ops import DepEdge
from warploom.document.roles import RolesDocument
from warploom.errors import DocumentError
from warploom.view import graph_dot, graph_svg, recurrence_text
from warploom.view.recurrence import Node
from warploom.view.role_graph import role_graph
from warploom.view.several import stacked


class Drawing(StrEnum):
    """Forms of a graph."""

    TEXT = "text"
    DOT = "dot"
    SVG = "svg"


@with_request(without=("sync",))
def command(
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
        if document.costs is None and subject.kernel is None:
            return role_graph(document)
        prices = subject.prices()
        return role_graph(document, lambda op: prices.of(op).timing.latency)
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
            room = min(22, (columns() - 24) // 2)
            lines = [
                part
                for e in edges
                for part in wrapped(
                    f"{body[e.producer_idx].label():<{room}} -> ",
                    f"{body[e.consumer_idx].label():<{room}} "
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
