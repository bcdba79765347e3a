"""``warploom run``: execute a schedule or kernel and compare it with what it should give."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from warploom.cli import gpu
from warploom.cli.builtin import Knobs
from warploom.cli.knobs import (
    DtypeOption,
    JsonOption,
    SpecArgument,
    SyncOption,
    TileOption,
    sync_policy,
    with_knobs,
)
from warploom.cli.progress import working
from warploom.cli.source import load
from warploom.cli.style import paint
from warploom.cli.subject import Subject
from warploom.document.roles import RolesDocument
from warploom.run import Early, Late, Random, Timing, execute
from warploom.run.roles import first_fault

TRIPS = 3


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="run")(with_knobs(_run))


def _run(
    source: SpecArgument,
    shape: Annotated[
        str | None, typer.Option(metavar="MxNxK", help="Problem on a GPU; BxHxSxD of attention.")
    ] = None,
    host: Annotated[
        bool, typer.Option("--host", help="Run in the numeric executor, also where a GPU is.")
    ] = False,
    runs: Annotated[int, typer.Option(min=1, max=1000, help="Random timings in the executor.")] = 8,
    tile: TileOption = None,
    dtype: DtypeOption = None,
    sync: SyncOption = None,
    as_json: JsonOption = False,
    *,
    knobs: Knobs,
) -> None:
    """Run on the GPU at hand against float64; without one, in the executor under many timings.

    Exit code 0: right. 1: wrong under some timing, or beyond the error limit.

    Example: warploom run gemm --shape 4096x4096x4096
    """
    subject = load(source, knobs, tile=tile, dtype=dtype, sync=sync_policy(sync))
    missing = "asked for" if host else _why_host(subject)
    result = _on_host(subject, runs) if missing else _on_gpu(subject, shape)
    result |= {"why_not_gpu": missing or None}
    typer.echo(json.dumps(result) if as_json else _text(result))
    raise typer.Exit(0 if result["right"] else 1)


def _why_host(subject: Subject) -> str:
    if subject.kernel is None:
        return f"{subject.document.target} code does not run on a Hopper GPU"
    return gpu.why_no_gpu()


def _on_gpu(subject: Subject, shape: str | None) -> dict[str, Any]:
    assert subject.kernel is not None
    problem = gpu.problem(subject.kernel, gpu.parse_shape(shape, subject.kernel))
    out = problem.ours()
    error = problem.error(out)
    same = bool((problem.ours() == out).all())
    return {
        "name": subject.name,
        "where": f"GPU, {problem.words}",
        "right": error <= problem.limit and same,
        "runs": [
            {"timing": "relative error", "right": error <= problem.limit, "note": f"{error:.2e}"},
            {"timing": "run again", "right": same, "note": "bitwise equal" if same else "differs"},
        ],
    }


def _on_host(subject: Subject, runs: int) -> dict[str, Any]:
    with working(f"running {subject.name}"):
        found = _roles(subject, runs) if subject.is_roles else _counters(subject, runs)
    return {
        "name": subject.name,
        "where": "numeric executor on the host",
        "right": all(r["right"] for r in found),
        "runs": found,
    }


def _counters(subject: Subject, runs: int) -> list[dict[str, Any]]:
    document = subject.document
    assert not isinstance(document, RolesDocument)
    timings: list[tuple[str, Timing]] = [
        ("everything early", Early()),
        ("everything late", Late()),
        ("youngest first", Late(youngest_first=True)),
        *((f"random {seed}", Random(seed)) for seed in range(runs)),
    ]
    out = []
    for name, timing in timings:
        done = execute(document, timing=timing, trips=TRIPS)
        out.append({"timing": name, "right": done.correct, "note": "A @ B" if done.correct else ""})
    return out


def _roles(subject: Subject, runs: int) -> list[dict[str, Any]]:
    document = subject.document
    assert isinstance(document, RolesDocument)
    least = subject.least_trips
    out = []
    for seed in range(runs):
        fault = first_fault(document, (least, least + 2, least + 1), [seed])
        out.append({"timing": f"random {seed}", "right": fault is None, "note": fault or "stored"})
    return out


def _text(result: dict[str, Any]) -> str:
    kind = "good" if result["right"] else "bad"
    word = paint("right" if result["right"] else "WRONG", kind)
    lines = [f"{result['name']}: {word} ({result['where']})"]
    if result["why_not_gpu"] and result["why_not_gpu"] != "asked for":
        lines.append(f"  not on a GPU: {result['why_not_gpu']}")
    lines += [
        f"  {r['timing']:<18} {'right' if r['right'] else 'WRONG'}  {r['note']}"
        for r in result["runs"]
    ]
    return "\n".join(lines)
