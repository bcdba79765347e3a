"""``warploom simulate`` and ``timeline``: what a schedule costs, in figures and as a picture."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from warploom.cli import screen
from warploom.cli.arguments import SpecArgument
from warploom.cli.display import display
from warploom.cli.knobs import Costs, CostsOption, Request, with_request
from warploom.cli.source import load
from warploom.cli.subject import Subject
from warploom.errors import ConfigError
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.sim import Simulation, simulation_to_json
from warploom.sim.pace import Pace
from warploom.sim.roles import entry_label
from warploom.viz.measured import Stamps, read_stamps
from warploom.viz.text import pressure
from warploom.viz.timeline import draw, pages, stacked, traces


@with_request()
def simulate_command(
    source: SpecArgument,
    trips: Annotated[int, typer.Option(min=0, max=4096, help="Loop iterations to run.")] = 16,
    costs: CostsOption = Costs.CHIP,
    *,
    request: Request,
) -> screen.Answer:
    """Run a schedule against machine costs: interval, utilisation, stalls and what caused them.

    Example: warploom simulate fourwave --trips 32
    """
    subject = load(source, request)
    model = costs is Costs.MODEL
    found = []
    for part in subject.loops:
        pace = part.pace(model=model)
        found.append((part, pace, part.simulate(max(trips, part.least_trips), model=model)))
    return screen.Answer(
        lambda: "\n\n".join(_text(*row, model=model) for row in found),
        lambda: screen.one_or_all(
            [
                simulation_to_json(sim) | {"pace": pace.to_json() if pace else None}
                for _, pace, sim in found
            ]
        ),
    )


def _text(part: Subject, pace: Pace | None, sim: Simulation, *, model: bool) -> str:
    lines = [screen.paint(line, "title") for line in screen.wrapped("", part.title)]
    lines += screen.wrapped("pace    ", pace.text() if pace else "no loop")
    lines += screen.wrapped(
        "run     ",
        f"{sim.trips} iterations in {sim.cycles} cycles with their start and end"
        + _time(sim.cycles, None if model else part.clock_hz),
    )
    return "\n".join([*lines, "", *pressure(sim, screen.columns(), pace)])


def _time(cycles: int, clock_hz: float | None) -> str:
    """Cycles as time, where the clock is known."""
    if clock_hz is None:
        return ""
    return f", {cycles / clock_hz * 1e6:.3g} us at {clock_hz / 1e9:g} GHz"


class Picture(StrEnum):
    """Forms of a timeline."""

    TEXT = "text"
    SVG = "svg"
    HTML = "html"
    PERFETTO = "perfetto"


@with_request()
def timeline_command(
    source: SpecArgument,
    form: Annotated[Picture | None, typer.Option("--format", help=screen.FORM)] = None,
    output: screen.OutputOption = None,
    trips: Annotated[
        int | None, typer.Option(min=0, max=4096, help="Loop iterations; default 4, of roles 8.")
    ] = None,
    costs: CostsOption = Costs.CHIP,
    stamps: Annotated[
        Path | None,
        typer.Option(help="Clocks written by `run --stamps`, shown under the prediction."),
    ] = None,
    machine_code: Annotated[
        bool,
        typer.Option(
            "--machine-code",
            help="On the page: PTX (NVRTC) or gfx950 assembly (LLVM) beside the schedule.",
        ),
    ] = False,
    as_json: screen.JsonOption = False,
    *,
    request: Request,
) -> screen.Answer:
    """Draw waves or roles, units, waits, hand-overs and buffer lifetimes over cycles.

    --json is the Perfetto trace. Example: warploom timeline pingpong -o t.html
    """
    subject = load(source, request)
    model = costs is Costs.MODEL
    shown = (8 if subject.is_roles else 4) if trips is None else trips
    traced = as_json or (form is None and output is not None and output.suffix == ".json")
    form = Picture.PERFETTO if traced else screen.form_of(form, output, Picture)
    if stamps is not None and form not in (Picture.HTML, Picture.TEXT):
        raise ConfigError(
            f"stamps do not show in {form}", where="--stamps", fix="--format html, or text"
        )
    if machine_code and form is not Picture.HTML:
        raise ConfigError(
            f"machine code does not show in {form}", where="--machine-code", fix="-o page.html"
        )
    measured = None if stamps is None else _stamps_of(subject, stamps)
    parts = []
    for part in subject.loops:
        shown_as = display(part)
        with screen.working(f"simulating {part.name}"):
            sim = shown_as.simulate(max(shown, part.least_trips), model=model)
        own = measured if part.name == subject.name else None  # the last loop is stamped
        text = draw(
            sim,
            form,
            pace=part.pace(model=model),
            reasons=part.reasons(),
            lines=shown_as.lines(),
            stamps=shown_as.stamps(own),
            width=screen.columns(),
            paint=screen.paint,
            title=shown_as.title,
            codes=shown_as.codes(),
            panels=shown_as.panels(machine_code=machine_code) if form is Picture.HTML else None,
            clock_hz=None if model else part.clock_hz,
        )
        parts.append((f"loop {part.loop}" if part.loop else part.name, text))
    made = _joined(subject, form, parts)
    raw = form is not Picture.TEXT
    return screen.Answer(lambda: made, lambda: made, output=output, what="timeline", raw=raw)


def _joined(subject: Subject, form: Picture, parts: list[tuple[str, str]]) -> str:
    """The pictures of all loops as one."""
    match form:
        case Picture.TEXT:
            return "\n".join(text for _, text in parts)
        case Picture.SVG:
            return stacked([text for _, text in parts])
        case Picture.HTML:
            return pages(f"Timeline of {display(subject).title}", parts)
        case Picture.PERFETTO:
            return json.dumps(traces([(name, json.loads(text)) for name, text in parts]))


def _stamps_of(subject: Subject, path: Path) -> Stamps:
    """The clocks of a run of this very schedule."""
    result = read_stamps(screen.read_text(path))
    if result.name != subject.name:
        raise ConfigError(
            f"{path} has clocks of {result.name}",
            where="--stamps",
            why=f"the schedule drawn is {subject.name}, and others cannot be laid over it",
            fix=f"warploom timeline {result.name}, or run this one: warploom run "
            f"{subject.spec} --stamps FILE",
        )
    assert isinstance(subject.document, RolesDocument)
    programs = {p.name: p for p in subject.document.programs}
    for role in result.roles:
        known = programs[role.role].kernel if role.role in programs else ()
        if tuple(entry_label(e) for e in known) != role.labels:
            raise ConfigError(
                f"{path} has clocks of another loop of {role.role}",
                where="--stamps",
                why="its entries are not those of the schedule drawn",
                fix=f"run this one: warploom run {subject.spec} --stamps FILE",
            )
    return result
