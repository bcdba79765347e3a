"""``warploom simulate``: cycles of a schedule, utilisation and stalls with their causes."""

from __future__ import annotations

from typing import Annotated

import typer

from warploom.cli.knobs import Costs, CostsOption, Request, SpecArgument, with_request
from warploom.cli.output import Answer, one_or_all
from warploom.cli.source import load
from warploom.cli.style import paint, wrapped
from warploom.cli.subject import Subject
from warploom.sim import Simulation, simulation_to_json
from warploom.sim.pace import Pace

MOST = 8


@with_request()
def command(
    source: SpecArgument,
    trips: Annotated[int, typer.Option(min=0, max=4096, help="Loop iterations to run.")] = 16,
    costs: CostsOption = Costs.CHIP,
    *,
    request: Request,
) -> Answer:
    """Run a schedule against machine costs: interval, utilisation, stalls and what caused them.

    Example: warploom simulate fourwave --trips 32
    """
    subject = load(source, request)
    model = costs is Costs.MODEL
    found = []
    for part in subject.loops:
        pace = part.pace(model=model)
        found.append((part, pace, part.simulate(max(trips, part.least_trips), model=model)))
    return Answer(
        lambda: "\n\n".join(_text(*row, model=model) for row in found),
        lambda: one_or_all(
            [
                simulation_to_json(sim) | {"pace": pace.to_json() if pace else None}
                for _, pace, sim in found
            ]
        ),
    )


def _text(part: Subject, pace: Pace | None, sim: Simulation, *, model: bool) -> str:
    lines = [paint(line, "title") for line in wrapped("", part.title)]
    lines += wrapped("pace    ", pace.text() if pace else "no loop")
    lines += wrapped(
        "run     ",
        f"{sim.trips} iterations in {sim.cycles} cycles with their start and end"
        + _time(sim.cycles, None if model else part.clock_hz),
    )
    return "\n".join([*lines, *figures(sim)])


def _time(cycles: int, clock_hz: float | None) -> str:
    """Cycles as time, where the clock is known."""
    if clock_hz is None:
        return ""
    return f", {cycles / clock_hz * 1e6:.3g} us at {clock_hz / 1e9:g} GHz"


def figures(sim: Simulation) -> list[str]:
    """How busy the units are and where the time goes, as lines."""
    lines = ["", paint("units, share of the steady state", "title")]
    for u in sim.units[:MOST]:
        share = u.utilisation if u.steady_utilisation is None else u.steady_utilisation
        bar = "#" * round(20 * min(share, 1))
        lines.append(f"  {u.unit:<20} {share:6.1%} {bar}")
    if sim.sites:
        lines += ["", paint("stalls: cycles of all waves, place, cause", "title")]
    for s in sim.sites[:MOST]:
        lines += wrapped(f"  {s.cycles:>7}  ", f"{s.phase}[{s.index}] {s.label}: {s.cause}")
    if len(sim.sites) > MOST:
        lines.append(f"           and {len(sim.sites) - MOST} more places (--json has all)")
    return lines
