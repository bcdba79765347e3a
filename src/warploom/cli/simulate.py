"""``warploom simulate``: cycles of a schedule, utilisation and stalls with their causes."""

from __future__ import annotations

import typer

from warploom.cli.knobs import JsonOption, Request, SpecArgument, with_request
from warploom.cli.machine import Costs, CostsOption, TripsOption
from warploom.cli.output import one_or_all
from warploom.cli.source import load
from warploom.cli.style import WidthOption, columns, paint, wrapped
from warploom.cli.subject import Subject
from warploom.sim import Simulation, simulation_to_json
from warploom.sim.pace import Pace

MOST = 8


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="simulate")(with_request(_simulate))


def _simulate(
    source: SpecArgument,
    trips: TripsOption = 16,
    costs: CostsOption = Costs.CHIP,
    width: WidthOption = None,
    as_json: JsonOption = False,
    *,
    request: Request,
) -> None:
    """Run a schedule against machine costs: interval, utilisation, stalls and what caused them.

    Example: warploom simulate fourwave --trips 32
    """
    subject = load(source, request)
    model = costs is Costs.MODEL
    found = []
    for part in subject.loops:
        pace = part.pace(model=model)
        found.append((part, pace, part.simulate(max(trips, part.least_trips), model=model)))
    if as_json:
        data = [
            simulation_to_json(sim) | {"pace": pace.to_json() if pace else None}
            for _, pace, sim in found
        ]
        typer.echo(one_or_all(data))
        return
    texts = [_text(part, pace, sim, columns(width), model=model) for part, pace, sim in found]
    typer.echo("\n\n".join(texts))


def _text(part: Subject, pace: Pace | None, sim: Simulation, wide: int, *, model: bool) -> str:
    lines = [paint(line, "title") for line in wrapped("", part.title, wide)]
    lines += wrapped("pace    ", pace.text() if pace else "no loop", wide)
    lines += wrapped(
        "run     ",
        f"{sim.trips} iterations in {sim.cycles} cycles with their start and end"
        + _time(sim.cycles, None if model else part.clock_hz),
        wide,
    )
    return "\n".join([*lines, *figures(sim, wide)])


def _time(cycles: int, clock_hz: float | None) -> str:
    """Cycles as time, where the clock is known."""
    if clock_hz is None:
        return ""
    return f", {cycles / clock_hz * 1e6:.3g} us at {clock_hz / 1e9:g} GHz"


def figures(sim: Simulation, width: int) -> list[str]:
    """How busy the units are and where the time goes, as lines."""
    lines = ["", paint("units, share of the steady state", "title")]
    for u in sim.units[:MOST]:
        share = u.utilisation if u.steady_utilisation is None else u.steady_utilisation
        bar = "#" * round(20 * min(share, 1))
        lines.append(f"  {u.unit:<20} {share:6.1%} {bar}")
    if sim.sites:
        lines += ["", paint("stalls: cycles of all waves, place, cause", "title")]
    for s in sim.sites[:MOST]:
        lines += wrapped(f"  {s.cycles:>7}  ", f"{s.phase}[{s.index}] {s.label}: {s.cause}", width)
    if len(sim.sites) > MOST:
        lines.append(f"           and {len(sim.sites) - MOST} more places (--json has all)")
    return lines
