"""``warploom explore``: sweep configurations, rank them, keep the results."""

from __future__ import annotations

import os
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from warploom.cli.builtin import parse_tile
from warploom.cli.knobs import complete_source
from warploom.cli.output import Answer, write_file
from warploom.cli.progress import working
from warploom.cli.ranking import rows_text, shape_rows, source_rows
from warploom.errors import ConfigError, MissingExtraError
from warploom.search import (
    Cache,
    Sweep,
    explore,
    ranked,
    refusals,
    scatter_html,
    to_csv,
    to_table,
)
from warploom.seed.config.parts import SchedulingStrategy
from warploom.seed.sync.policy import SyncPolicy

CACHE = (
    Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "warploom" / "explore.jsonl"
)


def command(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE...]",
            help="Rank these as they are: documents, kernels, file.py:object. Left out: a sweep.",
            autocompletion=complete_source,
        ),
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(metavar="MxNxK", help="With kernels: their tiles for it, by predicted time."),
    ] = None,
    schedule: Annotated[list[str] | None, typer.Option(help="pingpong, fourwave; repeat.")] = None,
    tile: Annotated[list[str] | None, typer.Option(help="MxNxK; repeat.")] = None,
    dtype: Annotated[list[str] | None, typer.Option(help="bf16, fp8; repeat.")] = None,
    strategy: Annotated[list[str] | None, typer.Option(help="Order strategy; repeat.")] = None,
    sync: Annotated[list[str] | None, typer.Option(help="Sync policy; repeat.")] = None,
    max_globals: Annotated[list[int] | None, typer.Option(help="Loads a block; repeat.")] = None,
    lds_penalty: Annotated[list[int] | None, typer.Option(help="Port interval; repeat.")] = None,
    jobs: Annotated[int, typer.Option("-j", "--jobs", min=1, help="Local processes.")] = 2,
    dask: Annotated[
        str | None, typer.Option(help="Dask scheduler address, or 'local' for a cluster here.")
    ] = None,
    cache: Annotated[Path, typer.Option(help="Where results are kept.")] = CACHE,
    top: Annotated[int, typer.Option(min=1, help="Rows to print.")] = 20,
    csv: Annotated[Path | None, typer.Option(help="Write all rows as CSV.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a scatter plot.")] = None,
) -> Answer:
    """Sweep schedules, tiles, strategies and sync policies; rank by verdict, then cycles.

    Results are kept as they come: a stopped sweep goes on where it was. With sources, those are
    ranked; `swiglu --shape MxNxK` ranks the tiles of a kernel for that problem.

    Example: warploom explore --tile 256x256x64 --tile 128x256x64 --csv sweep.csv
    """
    if sources:
        rows = shape_rows(sources, shape, dtype) if shape else source_rows(sources)
        return Answer(lambda: rows_text(rows[:top]), lambda: rows)
    if shape:
        raise ConfigError("--shape without a source", fix="warploom explore gemm --shape MxNxK")
    space = sweep_of(schedule, tile, dtype, strategy, sync, max_globals, lds_penalty)
    with _executor(jobs, dask) as executor, working("sweeping") as change:

        def tell(done: int, total: int) -> None:
            change(f"sweeping, {done} of {total} configurations")

        outcomes = ranked(explore(space, executor=executor, cache=Cache(cache), progress=tell))
    if csv is not None:
        write_file(csv, to_csv(outcomes))
    if html is not None:
        write_file(html, scatter_html(outcomes))
    clean = sum(o.verdict == "clean" for o in outcomes)
    last = f"{len(outcomes)} configurations, {clean} clean; results in {cache}"
    return Answer(
        lambda: "\n".join([to_table(outcomes, top), *refusals(outcomes), "", last]),
        lambda: [o.row() for o in outcomes],
    )


def sweep_of(*choices: list[Any] | None) -> Sweep:
    """A sweep from command-line lists; what is not given keeps its default."""
    schedule, tile, dtype, strategy, sync, max_globals, lds_penalty = choices
    default = Sweep()
    return Sweep(
        schedules=_known(schedule, ("pingpong", "fourwave"), default.schedules, "--schedule"),
        tiles=tuple(parse_tile(t, "bf16") for t in tile) if tile else default.tiles,
        dtypes=_known(dtype, ("bf16", "fp8"), default.dtypes, "--dtype"),
        strategies=_known(
            strategy,
            tuple(s.name for s in SchedulingStrategy if s.name in default.strategies),
            default.strategies,
            "--strategy",
        ),
        syncs=_known(sync, tuple(p.name for p in SyncPolicy), default.syncs, "--sync"),
        max_globals=tuple(max_globals) if max_globals else default.max_globals,
        lds_penalties=tuple(lds_penalty) if lds_penalty else default.lds_penalties,
    )


def _known(
    given: list[str] | None, allowed: tuple[str, ...], default: tuple[str, ...], option: str
) -> tuple[str, ...]:
    if not given:
        return default
    names = {a.lower(): a for a in allowed}
    for value in given:
        if value.lower() not in names:
            raise ConfigError(
                f"{value!r} is not to be had", where=option, fix=f"one of {', '.join(allowed)}"
            )
    return tuple(names[v.lower()] for v in given)


def _executor(jobs: int, dask: str | None) -> AbstractContextManager[Executor | None]:
    if dask is not None:
        return _dask_executor(dask, jobs)
    return nullcontext(None) if jobs == 1 else ProcessPoolExecutor(jobs)


def _dask_executor(address: str, jobs: int) -> AbstractContextManager[Executor]:
    try:
        dask: Any = import_module("distributed")
    except ImportError:
        raise MissingExtraError("distributed", "explore", "A Dask sweep") from None
    here = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
    client = dask.Client(dask.LocalCluster(**here) if address == "local" else address)
    executor: AbstractContextManager[Executor] = client.get_executor()
    return executor
