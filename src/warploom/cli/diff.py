"""``warploom diff``: two schedules side by side: order, waits, verdict, cycles."""

from __future__ import annotations

import difflib
import json
from typing import Any

import typer

from warploom.cli.knobs import JsonOption, SpecArgument
from warploom.cli.machine import Costs, CostsOption, TripsOption, run
from warploom.cli.source import load_document
from warploom.document import ScheduleDocument
from warploom.document.kinds import Phase
from warploom.errors import WarploomError
from warploom.seed.listing import WaitCounts
from warploom.verify import verify

WIDTH = 34


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="diff")(_diff)


def _diff(
    left: SpecArgument,
    right: SpecArgument,
    trips: TripsOption = 16,
    costs: CostsOption = Costs.CHIP,
    as_json: JsonOption = False,
) -> None:
    """Compare two schedules entry by entry, and their waits, verdicts and simulated cycles.

    Exit code 0: equal entries. 1: they differ. Example: warploom diff a.json b.json
    """
    documents = [load_document(spec, {})[0] for spec in (left, right)]
    rows = {phase.name: _rows(*(d.phase(phase) for d in documents)) for phase in Phase}
    facts = [_facts(d, costs, trips) for d in documents]
    same = all(a == b for phase in rows.values() for _, a, b in phase)
    if as_json:
        typer.echo(json.dumps({"equal": same, "facts": facts, "entries": rows}))
    else:
        typer.echo(_text(rows, facts))
    raise typer.Exit(0 if same else 1)


def _rows(left: Any, right: Any) -> list[tuple[str, str, str]]:  # noqa: ANN401 (entry tuples)
    a = [e.op.label() for e in left]
    b = [e.op.label() for e in right]
    rows: list[tuple[str, str, str]] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            rows += [(" ", x, x) for x in a[i1:i2]]
            continue
        longest = max(i2 - i1, j2 - j1)
        lefts = a[i1:i2] + [""] * (longest - (i2 - i1))
        rights = b[j1:j2] + [""] * (longest - (j2 - j1))
        rows += [("|", x, y) for x, y in zip(lefts, rights, strict=True)]
    return rows


def _facts(document: ScheduleDocument, costs: Costs, trips: int) -> dict[str, Any]:
    counts = WaitCounts.of(document.kernel)
    facts: dict[str, Any] = {
        "name": document.name,
        "verdict": verify(document).verdict,
        "kernel vm waits": counts.n_vm,
        "kernel lgkm waits": counts.n_lgkm,
        "kernel barriers": counts.n_barrier,
    }
    try:
        sim = run(document, costs, trips)
    except WarploomError as error:
        return facts | {"interval": None, "cycles": None, "simulation": error.what}
    return facts | {"interval": sim.ii, "cycles": sim.cycles}


def _text(rows: dict[str, list[tuple[str, str, str]]], facts: list[dict[str, Any]]) -> str:
    lines = []
    for phase, entries in rows.items():
        lines.append(phase.lower())
        lines += [f"  {a:<{WIDTH}} {mark} {b}" for mark, a, b in entries]
    lines.append("")
    for key in dict.fromkeys(k for f in facts for k in f):
        a, b = (str(f.get(key, "-")) for f in facts)
        lines.append(f"{key:<20} {a:<{WIDTH - 18}} {'' if a == b else '|'} {b}")
    return "\n".join(lines)
