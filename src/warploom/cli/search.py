"""``warploom search``: the best schedule of a body, or the best config of a kernel, by measure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from warploom.autotune import SearchOptions, SearchResult, search
from warploom.autotune.build import can_build
from warploom.autotune.joint import JointOptions, JointResult, Measure, search_tiles
from warploom.autotune.joint_report import to_svg, to_table
from warploom.autotune.subjects import finer_splits
from warploom.cli.author import called, user_object
from warploom.cli.gpu import Tried, why_no_gpu
from warploom.cli.kernels import NamedKernel, assignments, built_in, kernel_names, with_choices
from warploom.cli.knobs import Dtype, element_type
from warploom.cli.problem import make_problem
from warploom.cli.screen import Answer, require_ending, working, write_file
from warploom.cli.source import kernel_of_spec
from warploom.compiler.remembered import remember
from warploom.errors import ConfigError
from warploom.ir import write_schedule
from warploom.modulo.local_search import Step
from warploom.pipeline.compile import CompiledSchedule, compile_schedule
from warploom.pipeline.schedule import PipelineSchedule
from warploom.pipeline.schedules.shipped import SCHEDULES
from warploom.sim.chip import chip_costs, model_costs

JOINT_SECONDS = 60.0  # of a tile kernel, whose measurements depend on the clock anyway


def search_kernel(
    kernel: NamedKernel,
    scalars: list[str],
    measure: str | None,
    options: JointOptions,
    store: Path | None,
    plot: Path | None,
    keep: bool,
) -> Answer:
    """Search, print the table, and keep the best for later calls where asked to."""
    with working("searching") as change:
        found = search_tiles(
            kernel.compiled,
            measure=_measure(kernel, scalars, measure),
            options=options,
            store=store,
            progress=change,
        )
    if plot is not None:
        write_file(plot, to_svg(found))
    kept = _keep(kernel, found) if keep else ""
    return Answer(lambda: to_table(found) + kept, lambda: _tiles_json(found))


def _measure(kernel: NamedKernel, scalars: list[str], own: str | None) -> Measure | None:
    """The caller's own measure, else the GPU at hand, where there is one."""
    if own is not None:
        found = user_object(own)
        if not callable(found):
            raise ConfigError(f"{own} cannot be called", where="--measure", fix="config -> ms")
        measure: Measure = found
        return measure
    return None if why_no_gpu() else Tried(make_problem(kernel, None, scalars, timed=True))


def _keep(kernel: NamedKernel, found: JointResult) -> str:
    if not found.measured:
        raise ConfigError(
            "nothing was measured, so nothing is kept",
            where="--keep",
            fix="run it on a machine with a Hopper GPU, or pass --measure",
        )
    walked = {v.axis for v in kernel.compiled.kernel.vars}
    sizes = {a: n for a, n in found.sizes if a in walked}
    remember(kernel.compiled.kernel, sizes, found.best.config)
    return f"\nkept: calls of {kernel.tile_kernel.name} on these sizes run {found.best.name}"


def _tiles_json(found: JointResult) -> dict[str, Any]:
    return {
        "kernel": found.kernel,
        "sizes": dict(found.sizes),
        "measured": found.measured,
        "shapes": found.shapes,
        "scheduled": found.scheduled,
        "pruned": found.pruned,
        "stopped": found.stopped,
        "rank_correlation": found.correlation(),
        "rows": [
            {
                "trial": r.trial.name,
                "config": dict(r.trial.config.pins),
                "bound": r.trial.bound,
                "predicted": r.trial.predicted,
                "ms": r.milliseconds,
                "error": r.error or None,
            }
            for r in found.rows
        ],
    }


Many = list[str] | None
Subject = Annotated[
    str,
    typer.Argument(
        help="pingpong, fourwave, a tile kernel with sizes (attention@s=4096,t=4096,d=128),"
        " or file.py:object."
    ),
]


def search_command(
    schedule: Subject,
    tile: Annotated[str | None, typer.Option(help="Tile of a built-in, as 256x256x64.")] = None,
    dtype: Annotated[
        Dtype, typer.Option(parser=element_type, metavar="bf16|fp8", help="Element type.")
    ] = Dtype.BF16,
    model: Annotated[
        bool, typer.Option("--model", help="Score by the ops' own latencies, not MI355X cycles.")
    ] = False,
    mma: Annotated[str | None, typer.Option(help="Its matrix instruction, as 32x32x16.")] = None,
    split: Annotated[Many, typer.Option(help="Finer ops too, as 2x2; by default all.")] = None,
    build: Annotated[
        bool | None,
        typer.Option(help="Count only what becomes a kernel; by default where that is possible."),
    ] = None,
    evaluations: Annotated[
        int | None, typer.Option(min=1, help="Candidates to score; without --seconds 120.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.1, help="Time limit; of a tile kernel 60.")
    ] = None,
    goal: Annotated[float, typer.Option(min=0.0, help="Cycles that are good enough.")] = 0.0,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    seed: Annotated[int, typer.Option(help="Other seeds search elsewhere.")] = 0,
    store: Annotated[Path | None, typer.Option(help="Scores, kept to resume from.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", "--out", help="Write the best schedule here.")
    ] = None,
    choose: Annotated[
        Many, typer.Option("--set", "--choose", help="A kernel's choice, as causal=true.")
    ] = None,
    scalar: Annotated[Many, typer.Option(help="A kernel's scalar, as scale=0.1.")] = None,
    pin: Annotated[Many, typer.Option(help="What is not varied, as consumer_warpgroups=2.")] = None,
    measure: Annotated[
        str | None, typer.Option(help="file.py:function from a KernelConfig to milliseconds.")
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1, help="Configurations of a tile kernel to measure.")
    ] = 40,
    shapes: Annotated[int, typer.Option(min=1, help="Shapes of a tile kernel to schedule.")] = 12,
    steps: Annotated[
        int, typer.Option(min=0, help="Single knobs of its best configuration to move.")
    ] = 16,
    plot: Annotated[Path | None, typer.Option(help="Predicted against measured, as SVG.")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Calls use the best from now on.")] = False,
) -> Answer:
    """Search the best schedule: candidates synchronised, verified and simulated, best first.

    Of a tile kernel, tile sizes, consumers, storage and order are searched together, measured on
    the GPU at hand or ranked by the model. --split, --set, --scalar, --pin may be repeated.
    """
    require_ending(output, ".json")
    require_ending(plot, ".svg", option="--plot")
    name = schedule.partition("@")[0]
    kernel = kernel_of_spec(schedule, dtype) if name in kernel_names() or ":" in name else None
    if kernel is not None:
        _refuse_options_of_others(schedule, (tile, mma, model, split, output, build, evaluations))
        choices = dict(kernel.choices) | assignments(choose or (), "--set")
        pins = assignments(pin or (), "--pin")
        kernel = with_choices(
            replace(kernel, free=True, pins=tuple(pins.items())), choices, schedule
        )
        limit = seconds or JOINT_SECONDS
        joint = JointOptions(trials=trials, shapes=shapes, steps=steps, seconds=limit)
        return search_kernel(kernel, scalar or [], measure, joint, store, plot, keep)
    subject = _schedule(schedule, tile, dtype, mma)
    options = SearchOptions(
        seconds=seconds,
        evaluations=evaluations,
        goal=goal,
        workers=workers,
        seed=seed,
        splits=tuple(_split(s) for s in split) if split else finer_splits(subject),
        build=can_build(subject) if build is None else build,
    )
    return _search_schedule(subject, options, store, output, model=model)


def _search_schedule(
    subject: PipelineSchedule,
    options: SearchOptions,
    store: Path | None,
    out: Path | None,
    *,
    model: bool,
) -> Answer:
    """Search a counter schedule, tell how it goes, and what was found."""
    # The costs every command prices this schedule with
    document = compile_schedule(subject, on_race="skip").document()
    machine = model_costs(document) if model else chip_costs(document)
    with working("searching") as change:

        def tell(step: Step) -> None:
            change(f"{step.evaluations} evaluations, best {step.best:g} ({step.origin})")

        found = search(subject, machine, options=options, store=store, progress=tell)
    if out is not None and isinstance(found.best, CompiledSchedule):
        write_file(out, write_schedule(found.best.document()))
    return Answer(found.table, lambda: _json(found))


def _refuse_options_of_others(schedule: str, given: tuple[object, ...]) -> None:
    if any(given):
        raise ConfigError(
            f"{schedule} is a tile kernel",
            why="--tile, --mma, --model, --split, --build, --evaluations, -o are of others",
            fix="--pin s=128 fixes an extent; --keep keeps the best, --store every result",
        )


def _schedule(spec: str, tile: str | None, dtype: str, mma: str | None) -> PipelineSchedule:
    if spec in SCHEDULES:
        return built_in(spec, {}, tile, dtype, mma)
    result = user_object(spec) if ":" in spec else None
    if isinstance(result, type) or (callable(result) and not isinstance(result, PipelineSchedule)):
        result = called(result, spec)
    if not isinstance(result, PipelineSchedule):
        raise ConfigError(
            f"{spec!r} is no schedule to search",
            fix=f"one of {', '.join(SCHEDULES)}, or file.py:object of a PipelineSchedule",
        )
    return result


def _split(text: str) -> tuple[int, int]:
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(p.isdigit() for p in parts):
        raise ConfigError(f"{text!r} is no split", where="--split", fix="write it as 2x2")
    return int(parts[0]), int(parts[1])


def _json(found: SearchResult) -> dict[str, Any]:
    rows = [
        {"origin": r.origin, "score": r.score, "split": list(r.split), "built": r.built}
        for r in found.rows
    ]
    return {
        "score": found.score,
        "bound": found.bound,
        "evaluations": found.evaluations,
        "stopped": found.stopped,
        "rows": rows,
    }
