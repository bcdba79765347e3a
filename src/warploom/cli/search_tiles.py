"""``warploom search`` of a tile kernel: tile sizes, storage and order together, for given sizes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from warploom.cli.author import user_object
from warploom.cli.kernels import TEXTS, TileKernel, split_spec, told
from warploom.cli.output import Answer, write_file
from warploom.errors import ConfigError
from warploom.kernel.text import Text
from warploom.launch.tune import remember
from warploom.search.joint import JointOptions, JointResult, Measure, search_tiles
from warploom.search.joint_report import to_svg, to_table
from warploom.search.on_gpu import OnGpu, gpu_is_here


class Given(NamedTuple):
    """What a command says of a tile kernel, by name."""

    choices: dict[str, object]
    scalars: dict[str, Any]
    pins: dict[str, object]


def tile_text(spec: str) -> Text | None:
    """The tile kernel a spec names, with or without sizes after an ``@``; None for others."""
    name = spec.partition("@")[0]
    if name in TEXTS:
        return TEXTS[name]
    found = user_object(name) if ":" in name else None
    return found if isinstance(found, Text) else None


def search_kernel(
    spec: str,
    text: Text,
    dtype: str,
    given: Given,
    measure: str | None,
    options: JointOptions,
    store: Path | None,
    plot: Path | None,
    keep: bool,
) -> Answer:
    """Search, print the table, and keep the best for later calls where asked to."""
    said = split_spec(spec)[1] | given.choices
    kernel = told(TileKernel(text, dtype, tuple(given.pins.items()), free=True), said, spec)
    console = Console(stderr=True)
    asked = dict(kernel.whole), dict(kernel.choices), given.scalars
    with console.status("searching") as status:
        found = search_tiles(
            kernel.compiled,
            measure=_measure(text, kernel.element, *asked, measure),
            options=options,
            store=store,
            progress=status.update,
        )
    if plot is not None:
        write_file(plot, to_svg(found))
    kept = _keep(kernel, found) if keep else ""
    return Answer(lambda: to_table(found) + kept, lambda: _json(found))


def _measure(
    text: Text,
    dtype: str,
    sizes: Mapping[str, int],
    choices: Mapping[str, object],
    scalars: Mapping[str, Any],
    own: str | None,
) -> Measure | None:
    if own is not None:
        found = user_object(own)
        if not callable(found):
            raise ConfigError(f"{own} cannot be called", where="--measure", fix="tiling -> ms")
        measure: Measure = found
        return measure
    return OnGpu(text, dtype, sizes, choices, scalars) if gpu_is_here() else None


def _keep(kernel: TileKernel, found: JointResult) -> str:
    if not found.measured:
        raise ConfigError(
            "nothing was measured, so nothing is kept",
            where="--keep",
            fix="run it on a machine with a Hopper GPU, or pass --measure",
        )
    walked = {v.axis for v in kernel.compiled.kernel.vars}
    sizes = {a: n for a, n in found.sizes if a in walked}
    remember(kernel.compiled.kernel, sizes, found.best.tiling)
    return f"\nkept: calls of {kernel.text.name} on these sizes run {found.best.name}"


def _json(found: JointResult) -> dict[str, Any]:
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
                "tiling": dict(r.trial.tiling.pins),
                "bound": r.trial.bound,
                "predicted": r.trial.predicted,
                "ms": r.milliseconds,
                "error": r.error or None,
            }
            for r in found.rows
        ],
    }
