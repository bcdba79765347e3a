"""Tables of given sources, and of the tiles of a product: what ``explore`` ranks beside sweeps."""

from __future__ import annotations

from typing import Any

from warploom.cli.kernels import TileKernel, kernel_named
from warploom.cli.source import load
from warploom.cli.subject import Subject
from warploom.errors import ConfigError, WarploomError
from warploom.lower.choose import choose

MOST = 16
_RANK = {"clean": 0, "timing": 1, "race": 2, "refused": 3}


def source_rows(sources: list[str]) -> list[dict[str, Any]]:
    """One row a source, the best first; a refused one says why."""
    rows = [_row(source) for source in sources]
    return sorted(rows, key=lambda r: (_RANK[r["verdict"]], -(r["matrix unit"] or 0.0)))


def _row(source: str) -> dict[str, Any]:
    row: dict[str, Any] = {"source": source, "target": None, "verdict": "refused"}
    empty = {"cycles a tile": None, "bound": None, "matrix unit": None, "note": ""}
    try:
        subject = load(source)
        row |= {"target": subject.document.target, "verdict": subject.report().verdict}
        return row | empty | _figures(subject)
    except WarploomError as error:
        return row | empty | {"note": error.what}


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


def gemm_rows(shape: str, dtypes: list[str] | None) -> list[dict[str, Any]]:
    """Tiles of the product on a shape, by predicted time."""
    parts = shape.lower().split("x")
    if len(parts) != 3 or not all(p.isdigit() and int(p) for p in parts):
        raise ConfigError(f"{shape!r} is no shape", where="--shape", fix="4096x4096x4096")
    m, n, k = (int(p) for p in parts)
    rows = []
    for name in dtypes or ["bf16"]:
        kernel = kernel_named("gemm", None, name)
        assert isinstance(kernel, TileKernel)
        value = kernel.compiled.rewritten
        for choice in choose(value, {"m": m, "n": n, "k": k})[:MOST]:
            found = choice.estimate
            rows.append(
                {
                    "kernel": f"gemm_{choice.tiling.name}",
                    "dtype": name,
                    "waves": found.waves,
                    "predicted us": round(found.seconds * 1e6, 1),
                    "TFLOP/s": round(2.0 * m * n * k / found.seconds / 1e12, 1),
                    "joules": round(found.joules, 3),
                }
            )
    return sorted(rows, key=lambda r: r["predicted us"])


def rows_text(rows: list[dict[str, Any]]) -> str:
    """Rows as a plain table."""
    names = list(rows[0]) if rows else []
    cells = [["-" if r[n] is None else str(r[n]) for n in names] for r in rows]
    widths = [max(len(c[i]) for c in [names, *cells]) for i in range(len(names))]
    lines = [names, *cells]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )
