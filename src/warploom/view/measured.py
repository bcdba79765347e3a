"""Clock stamps of a kernel that was run, laid over the predicted timeline.

A stamped kernel writes the clock after every entry of its loop for some iterations. The stamps of
an instance become a lane of its row, shifted so that the first stamped iteration starts where a
steady iteration of the prediction does: lengths can then be compared by eye.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from warploom.errors import DocumentError
from warploom.sim.simulation import Simulation
from warploom.view.scene import steady_window


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamps:
    """Cycles by instance, iteration and entry of a role's loop; ``labels`` name the entries."""

    role: str
    labels: tuple[str, ...]
    cycles: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def interval(self) -> float:
        """Measured cycles an iteration, over all instances."""
        each = [(rows[-1][-1] - rows[0][-1]) / (len(rows) - 1) for rows in self.cycles]
        return sum(each) / len(each)


@dataclass(frozen=True, slots=True)
class Stamped:
    """One entry as it was measured: a bar of the lane."""

    label: str
    start: int
    end: int
    iteration: int


def read_stamps(text: str | bytes) -> Stamps:
    """Stamps from JSON: ``role``, ``labels``, and ``stamps[instance][iteration][entry]``."""
    try:
        data: Any = json.loads(text)
        stamps = Stamps(
            role=str(data.get("role", "consumer")),
            labels=tuple(str(label) for label in data["labels"]),
            cycles=tuple(
                tuple(tuple(int(c) for c in row) for row in rows) for rows in data["stamps"]
            ),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DocumentError(
            f"no stamps: {type(error).__name__}: {error}",
            fix='{"role": "consumer", "labels": [...], "stamps": [[[cycle, ...], ...], ...]}',
        ) from None
    rows = [row for instance in stamps.cycles for row in instance]
    if not stamps.cycles or any(len(instance) < 2 for instance in stamps.cycles):
        raise DocumentError("stamps of fewer than two iterations", path="$.stamps")
    if any(len(row) != len(stamps.labels) for row in rows):
        raise DocumentError("a stamp is needed for each label", path="$.stamps")
    return stamps


def measured_lanes(sim: Simulation, stamps: Stamps) -> dict[int, tuple[Stamped, ...]]:
    """Bars by row of the prediction, from the second stamped iteration on."""
    origin = min(rows[0][-1] for rows in stamps.cycles)
    shift = steady_window(sim, 1)[0] - origin
    lanes: dict[int, tuple[Stamped, ...]] = {}
    mine = [i for i, row in enumerate(sim.rows) if row.role.partition(" ")[0] == stamps.role]
    for row, instance in zip(mine, stamps.cycles, strict=False):
        line = [(turn, c) for turn, cycles in enumerate(instance) for c in cycles]
        count = len(stamps.labels)
        lanes[row] = tuple(
            Stamped(
                stamps.labels[i % count], line[i - 1][1] + shift, line[i][1] + shift, line[i][0]
            )
            for i in range(count, len(line))
        )
    return lanes
