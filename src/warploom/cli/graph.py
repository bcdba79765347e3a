"""``warploom graph``: the dependence graph of a loop body."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from warploom.cli.knobs import (
    Dtype,
    DtypeOption,
    JsonOption,
    SpecArgument,
    TileOption,
    with_knobs,
)
from warploom.cli.output import deliver
from warploom.cli.source import Knobs, load_document
from warploom.document import ScheduleDocument, schedule_to_json
from warploom.errors import DocumentError
from warploom.view import graph_dot, graph_svg, recurrence_text


class Drawing(StrEnum):
    """Forms of a graph."""

    TEXT = "text"
    DOT = "dot"
    SVG = "svg"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="graph")(with_knobs(_graph))


def _graph(
    schedule: SpecArgument,
    form: Annotated[Drawing, typer.Option("--format", help="Form of the graph.")] = Drawing.TEXT,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write it here.")] = None,
    tile: TileOption = None,
    dtype: DtypeOption = Dtype.BF16,
    as_json: JsonOption = False,
    *,
    knobs: Knobs,
) -> None:
    """Show dependence edges with kind and distance, and the recurrence that limits the loop.

    Example: warploom graph pingpong --format svg -o graph.svg
    """
    document, _ = load_document(schedule, knobs, tile=tile, dtype=dtype.value)
    if not document.body:
        raise DocumentError("the document carries no body, so there is no graph", path="$.body")
    if as_json:
        data = schedule_to_json(document)
        deliver(json.dumps({"body": data["body"], "edges": data["edges"]}), output, "graph")
        return
    deliver(drawing(document, form), output, "graph")


def drawing(document: ScheduleDocument, form: Drawing) -> str:
    """The graph in one form."""
    body, edges = document.body, document.edges
    match form:
        case Drawing.DOT:
            return graph_dot(body, edges, name=document.name)
        case Drawing.SVG:
            return graph_svg(body, edges, name=document.name)
        case Drawing.TEXT:
            lines = [
                f"{body[e.producer_idx].label():<22} -> {body[e.consumer_idx].label():<22} "
                f"{e.dep_kind.name.lower():<6} distance {e.loop_distance}"
                for e in edges
            ]
            return "\n".join([*lines, "", recurrence_text(body, edges)])
