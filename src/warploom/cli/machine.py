"""Which machine a command simulates on."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from warploom.document import ScheduleDocument
from warploom.sim import MachineCosts, Simulation, mi355x_costs, simulate


class Costs(StrEnum):
    """Cost sets of the simulator."""

    CHIP = "chip"
    MODEL = "model"


CostsOption = Annotated[
    Costs, typer.Option(help="chip: MI355X in real cycles; model: the ops' own latencies.")
]
TripsOption = Annotated[int, typer.Option(min=0, max=4096, help="Loop iterations to run.")]


def machine(costs: Costs, document: ScheduleDocument) -> MachineCosts | None:
    """The costs to simulate a document with; a wave of few carries more MMAs."""
    if costs is Costs.MODEL:
        return None
    waves = document.protocol.groups * document.protocol.waves_per_group
    return mi355x_costs(mma_cycles=256 * 8 // waves if waves in (4, 8) else 256)


def run(document: ScheduleDocument, costs: Costs, trips: int) -> Simulation:
    """Simulate a document."""
    return simulate(document, machine(costs, document), trips=trips)
