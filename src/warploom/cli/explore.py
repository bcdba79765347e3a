"""``warploom explore``: rank sources, tiles of kernels, or a sweep of configurations."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from warploom.autotune import (
    Cache,
    Outcome,
    Sweep,
    explore,
    ranked,
    refusals,
    scatter_html,
    to_csv,
)
from warploom.cli.arguments import complete_source
from warploom.cli.kernels import NamedKernel, parse_tile
from warploom.cli.knobs import Request, element_type
from warploom.cli.problem import make_problem
from warploom.cli.screen import Answer, columns, require_ending, working, wrapped, write_file
from warploom.cli.source import load, look_up
from warploom.cli.subject import Subject
from warploom.compiler.disk_cache import default_cache
from warploom.errors import ConfigError, WarploomError
from warploom.passes.heuristics import choose
from warploom.pipeline.config.pipeline import SchedulingStrategy
from warploom.pipeline.sync.marks import SyncPolicy
from warploom.search_engine import executor_for

MOST = 16
_RANK = {"clean": 0, "timing": 1, "not judged": 2, "race": 3, "refused": 4}


def source_rows(sources: list[str]) -> list[dict[str, Any]]:
    """One row a source, the best first; a refused one says why."""
    rows = [row for source in sources for row in _rows(source)]
    return sorted(rows, key=lambda r: (_RANK[r["verdict"]], -(r["matrix unit"] or 0.0)))


def _rows(source: str) -> Iterator[dict[str, Any]]:
    """A row for each loop of a source."""
    empty = {"cycles a tile": None, "bound": None, "matrix unit": None, "note": ""}
    row: dict[str, Any] = {"source": source, "target": None, "verdict": "refused"}
    try:
        for part in load(source).loops:
            row["source"] = f"{source}, loop {part.loop}" if part.loop else source
            row |= {"target": part.document.target, "verdict": part.report().verdict}
            yield row | empty | _figures(part)
    except WarploomError as error:
        yield row | empty | {"note": error.what}


def _figures(subject: Subject) -> dict[str, Any]:
    pace = subject.pace()
    if pace is None:
        return {"note": "no loop"}
    return {
        "cycles a tile": pace.per_tile,
        "bound": pace.bound / pace.tiles,
        "matrix unit": None if pace.matrix is None else round(pace.matrix, 4),
        "note": subject.work(),
    }


def shape_rows(sources: list[str], shape: str, dtypes: list[str] | None) -> list[dict[str, Any]]:
    """Tiles of kernels on a shape, by predicted time."""
    rows = []
    for source in sources:
        for name in dtypes or (None,):
            kernel = look_up(source, Request(dtype=name))
            if not isinstance(kernel, NamedKernel):
                raise ConfigError(
                    f"{source} has no tiles to choose",
                    where="--shape",
                    why="tiles are chosen for tile kernels",
                    fix="a shipped kernel (`warploom show --list`) or file.py:kernel",
                )
            problem = make_problem(kernel, shape, [], timed=True)
            made = problem.kernel.compiled
            for choice in choose(made.rewritten, problem.sizes, pins=made.pins)[:MOST]:
                found = choice.estimate
                rows.append(
                    {
                        "kernel": f"{kernel.tile_kernel.name}_{choice.config.name}",
                        "dtype": kernel.dtype,
                        "rounds": found.rounds,
                        "predicted us": round(found.seconds * 1e6, 1),
                        "TFLOP/s": round(problem.flop / found.seconds / 1e12, 1),
                        "joules": round(found.joules, 3),
                    }
                )
    return sorted(rows, key=lambda r: r["predicted us"])


def rows_text(rows: list[dict[str, Any]]) -> str:
    """Rows as a plain table; where it does not fit, one line a value."""
    names = list(rows[0]) if rows else []
    cells = [["-" if r[n] is None else str(r[n]) for n in names] for r in rows]
    widths = [max(len(c[i]) for c in [names, *cells]) for i in range(len(names))]
    lines = [names, *cells]
    if sum(widths) + 2 * (len(widths) - 1) > columns():
        width = max(map(len, names), default=0)
        blocks = [
            "\n".join(
                part
                for name, cell in zip(names, line, strict=True)
                for part in wrapped(f"{name:<{width}}  ", cell)
            )
            for line in cells
        ]
        return "\n\n".join(blocks)
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )


CACHE = (
    Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "warploom" / "explore.jsonl"
)


def explore_command(
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
    require_ending(csv, ".csv", option="--csv")
    require_ending(html, ".html", option="--html")
    dtype = [str(element_type(d)) for d in dtype] if dtype else None
    if sources:
        rows = shape_rows(sources, shape, dtype) if shape else source_rows(sources)
        return Answer(lambda: rows_text(rows[:top]), lambda: rows)
    if shape:
        raise ConfigError("--shape without a source", fix="warploom explore gemm --shape MxNxK")
    space = sweep_of(schedule, tile, dtype, strategy, sync, max_globals, lds_penalty)
    with executor_for(jobs, dask) as executor, working("sweeping") as change:

        def tell(done: int, total: int) -> None:
            change(f"sweeping, {done} of {total} configurations")

        kept = default_cache() if dask is not None else None  # by whoever evaluates
        outcomes = ranked(
            explore(space, executor=executor, cache=Cache(cache), progress=tell, store=kept)
        )
    if csv is not None:
        write_file(csv, to_csv(outcomes))
    if html is not None:
        write_file(html, scatter_html(outcomes))
    clean = sum(o.verdict == "clean" for o in outcomes)
    last = f"{len(outcomes)} configurations, {clean} clean; results in {cache}"
    return Answer(
        lambda: "\n".join([_table(outcomes[:top]), *refusals(outcomes), "", last]),
        lambda: [o.row() for o in outcomes],
    )


def _table(outcomes: list[Outcome]) -> str:
    """The best of a sweep; what all of them have alike is left out."""
    rows = [{n: v for n, v in o.row().items() if n != "error"} for o in outcomes]
    varied = [n for n in rows[0] if len(rows) == 1 or len({r[n] for r in rows}) > 1]
    return rows_text([{n: _rounded(row[n]) for n in varied} for row in rows])


def _rounded(value: object) -> object:
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def sweep_of(*choices: list[Any] | None) -> Sweep:
    """A sweep from command-line lists; what is not given keeps its default."""
    schedule, tile, dtype, strategy, sync, max_globals, lds_penalty = choices
    default = Sweep()
    return Sweep(
        schedules=_known(schedule, ("pingpong", "fourwave"), default.schedules, "--schedule"),
        tiles=tuple(parse_tile(t, "bf16") for t in tile) if tile else default.tiles,
        dtypes=_known(
            [element_type(d).value for d in dtype or ()], ("bf16", "fp8"), default.dtypes, "--dtype"
        ),
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
                f"{value!r} is not known", where=option, fix=f"one of {', '.join(allowed)}"
            )
    return tuple(names[v.lower()] for v in given)
