"""Tables of given sources, and of the tiles of kernels: what ``explore`` ranks beside sweeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from warploom.cli.kernels import TileKernel
from warploom.cli.knobs import Request
from warploom.cli.problem import make_problem
from warploom.cli.source import load, look_up
from warploom.cli.style import columns, wrapped
from warploom.cli.subject import Subject
from warploom.errors import ConfigError, WarploomError
from warploom.lower.choose import choose

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
            if not isinstance(kernel, TileKernel):
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
                        "kernel": f"{kernel.text.name}_{choice.tiling.name}",
                        "dtype": kernel.dtype,
                        "waves": found.waves,
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
        room = max(map(len, names), default=0)
        blocks = [
            "\n".join(
                part
                for name, cell in zip(names, line, strict=True)
                for part in wrapped(f"{name:<{room}}  ", cell)
            )
            for line in cells
        ]
        return "\n\n".join(blocks)
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )
