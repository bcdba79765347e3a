"""Which costs a command simulates with, and for how many iterations."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Costs(StrEnum):
    """Cost sets of the simulator."""

    CHIP = "chip"
    MODEL = "model"


CostsOption = Annotated[
    Costs,
    typer.Option(
        help="chip: the target's real cycles; model: the latencies the order was searched with."
    ),
]
TripsOption = Annotated[int, typer.Option(min=0, max=4096, help="Loop iterations to run.")]
