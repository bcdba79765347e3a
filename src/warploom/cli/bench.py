"""``warploom bench``: a kernel on the GPU at hand against the library."""

from __future__ import annotations

import json
import statistics
from typing import Annotated

import typer

from warploom.cli import gpu
from warploom.cli.knobs import DtypeOption, JsonOption, SpecArgument, TileOption
from warploom.cli.source import load
from warploom.errors import BackendError

REPEATS = 20


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="bench")(_bench)


def _bench(
    source: SpecArgument,
    shape: Annotated[
        str | None, typer.Option(metavar="MxNxK", help="Problem; BxHxSxD of attention.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Rounds, order rotated.")] = 5,
    tile: TileOption = None,
    dtype: DtypeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Time a kernel on the GPU at hand against the library, which enters twice.

    The second entry of the library shows the noise floor. Without a Hopper GPU the command ends
    with 2 and says what is missing.

    Example: warploom bench gemm --shape 8192x8192x8192
    """
    subject = load(source, tile=tile, dtype=dtype)
    if subject.kernel is None:
        raise BackendError(
            f"{subject.name} cannot be timed",
            where=source,
            why=f"it is a schedule for {subject.document.target}, and only Hopper kernels are run",
            fix="warploom simulate says what it should take",
        )
    missing = gpu.why_no_gpu()
    if missing:
        raise BackendError(
            f"no Hopper GPU to time {subject.name} on: {missing}",
            fix=f"use a machine with an H100 or H200; `warploom simulate {source}` predicts",
        )
    problem = gpu.problem(subject.kernel, gpu.parse_shape(shape, subject.kernel))
    error = problem.error(problem.ours())
    contestants = {
        "library": problem.library,
        "warploom": problem.ours,
        "library again": problem.library,
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    for name in names:
        gpu.milliseconds(contestants[name], REPEATS)
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            times[name].append(gpu.milliseconds(contestants[name], REPEATS))
    middle = {name: statistics.median(t) for name, t in times.items()}
    if as_json:
        data = {"name": subject.name, "problem": problem.words, "error": error, "ms": middle}
        typer.echo(json.dumps(data))
    else:
        typer.echo(f"{subject.name}: {problem.words}, relative error {error:.1e}")
        for name, ms in middle.items():
            rate = problem.flop / ms / 1e9
            ratio = middle["library"] / ms
            typer.echo(f"  {name:<14} {ms:9.4f} ms {rate:8.1f} TFLOP/s {ratio:7.3f} x library")
    raise typer.Exit(0 if error <= problem.limit else 1)
