"""``warploom simulate``: cycles of a schedule, utilisation and stalls with their causes."""

from __future__ import annotations

import json

import typer

from warploom.cli.knobs import (
    Dtype,
    DtypeOption,
    JsonOption,
    SpecArgument,
    SyncOption,
    TileOption,
    sync_policy,
    with_knobs,
)
from warploom.cli.machine import Costs, CostsOption, TripsOption, run
from warploom.cli.source import Knobs, load_document
from warploom.sim import Simulation, simulation_to_json


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="simulate")(with_knobs(_simulate))


def _simulate(
    schedule: SpecArgument,
    trips: TripsOption = 16,
    costs: CostsOption = Costs.CHIP,
    tile: TileOption = None,
    dtype: DtypeOption = Dtype.BF16,
    sync: SyncOption = None,
    as_json: JsonOption = False,
    *,
    knobs: Knobs,
) -> None:
    """Run a schedule against machine costs: interval, utilisation, stalls and what caused them.

    Example: warploom simulate fourwave --trips 32
    """
    document, _ = load_document(
        schedule, knobs, tile=tile, dtype=dtype.value, sync=sync_policy(sync)
    )
    sim = run(document, costs, trips)
    typer.echo(json.dumps(simulation_to_json(sim)) if as_json else figures(sim))


def figures(sim: Simulation) -> str:
    """The figures of a run as text."""
    interval = "-" if sim.ii is None else f"{sim.ii:g}"
    bound = "" if sim.bound is None else f", bound {float(sim.bound.bound):g} by {sim.bound.unit}"
    lines = [
        f"{sim.name}: {sim.cycles} cycles for {sim.trips} iterations on {sim.costs} costs",
        f"  interval {interval} cycles{'' if sim.steady else ' (average)'}{bound}",
        "  units",
    ]
    lines += [
        f"    {u.unit:<22} {100 * (u.steady_utilisation or u.utilisation):5.1f} %"
        for u in sim.units[:8]
    ]
    if sim.sites:
        lines.append("  stalls")
    lines += [
        f"    {s.cycles:8} cycles  {s.phase}[{s.index}] {s.label}: {s.cause}" for s in sim.sites[:8]
    ]
    return "\n".join(lines)
