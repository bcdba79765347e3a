"""Clock stamps of a kernel that was run, laid over the predicted timeline.

A stamped kernel (``warploom run --stamps``) writes the clock after every entry of its loops for
some iterations. The stamps of an instance become a lane of its row, all shifted alike, so that the
consumers' first stamped iteration starts where a steady iteration of the prediction does: lengths
and overlaps can then be compared by eye.
"""

import json
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from warploom.dataclass import dataclass
from warploom.errors import DocumentError
from warploom.sim.pace import Pace
from warploom.sim.simulation import Simulation
from warploom.viz.scene import steady_window

SCHEMA = "warploom.stamps/1"
PACE = "consumer"  # the role whose iterations set the pace


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleStamps:
    """Cycles by instance, iteration and entry of a role's loop; ``labels`` name the entries."""

    role: str
    labels: tuple[str, ...]
    cycles: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def interval(self) -> float:
        """Measured cycles an iteration, over all instances."""
        return fmean((rows[-1][-1] - rows[0][-1]) / (len(rows) - 1) for rows in self.cycles)

    def lengths(self) -> list[float]:
        """Mean cycles of each entry, from the end of the one before to its own."""
        count = len(self.labels)
        found: list[list[int]] = [[] for _ in self.labels]
        for instance in self.cycles:
            line = [c for row in instance for c in row]
            for i, (before, after) in enumerate(pairwise(line), 1):
                found[i % count].append(after - before)
        return [fmean(f) for f in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamps:
    """What a run measured: the document's name, where and on what it ran, and its roles."""

    name: str
    where: str
    roles: tuple[RoleStamps, ...]

    @property
    def interval(self) -> float:
        """Measured cycles an iteration, of the consumers where there are some."""
        return self.pacing.interval

    @property
    def pacing(self) -> RoleStamps:
        """The role whose iterations set the pace."""
        return next((r for r in self.roles if r.role == PACE), self.roles[0])


@dataclass(frozen=True, slots=True)
class Stamped:
    """One entry as it was measured: a bar of the lane."""

    label: str
    start: int
    end: int
    iteration: int


def read_stamps(text: str | bytes) -> Stamps:
    """Stamps from JSON: ``roles``, each ``role``, ``labels``, ``stamps[instance][iteration]``."""
    try:
        data: Any = json.loads(text)
        stamps = Stamps(
            name=str(data["name"]),
            where=", ".join(str(data[k]) for k in ("device", "problem") if k in data),
            roles=tuple(_role(r) for r in data["roles"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DocumentError(
            f"no stamps: {type(error).__name__}: {error}",
            fix='{"name": ..., "roles": [{"role": "consumer", "labels": [...], "stamps": '
            "[[[cycle, ...], ...], ...]}]}, as `warploom run --stamps` writes it",
        ) from None
    if not stamps.roles:
        raise DocumentError("stamps of no role", path="$.roles")
    for i, role in enumerate(stamps.roles):
        _check(role, f"$.roles[{i}].stamps")
    return stamps


def _role(data: Any) -> RoleStamps:  # noqa: ANN401 (whatever the JSON holds)
    return RoleStamps(
        role=str(data["role"]),
        labels=tuple(str(label) for label in data["labels"]),
        cycles=tuple(tuple(tuple(int(c) for c in row) for row in rows) for rows in data["stamps"]),
    )


def _check(role: RoleStamps, path: str) -> None:
    if not role.cycles or any(len(instance) < 2 for instance in role.cycles):
        raise DocumentError("stamps of fewer than two iterations", path=path)
    for instance in role.cycles:
        if any(len(row) != len(role.labels) for row in instance):
            raise DocumentError("a stamp is needed for each label", path=path)
        if any(a > b for a, b in pairwise([c for row in instance for c in row])):
            raise DocumentError("stamps go back in time", path=path)


def measured_lanes(
    sim: Simulation, stamps: Stamps, pace: Pace | None = None
) -> dict[int, tuple[Stamped, ...]]:
    """Bars by row of the prediction, from the second stamped iteration on."""
    shift = _shift(sim, stamps, pace)
    lanes: dict[int, tuple[Stamped, ...]] = {}
    for role in stamps.roles:
        mine = [i for i, row in enumerate(sim.rows) if row.program == role.role]
        for row, instance in zip(mine, role.cycles, strict=False):
            lanes[row] = _bars(role.labels, instance, shift)
    return lanes


def _shift(sim: Simulation, stamps: Stamps, pace: Pace | None) -> int:
    """What moves the first measured consumer's iteration to where a steady one is predicted."""
    begin = [rows[0][-1] for rows in stamps.pacing.cycles]
    origin = min(begin)
    role = f"{stamps.pacing.role} {begin.index(origin)}"
    row = next((i for i, r in enumerate(sim.rows) if r.role in (role, stamps.pacing.role)), 0)
    window = steady_window(sim, 1, pace)[0]
    starts = [s.start for s in sim.spans if s.row == row and s.iteration is not None]
    return max((s for s in starts if s <= window), default=window) - origin


def _bars(
    labels: tuple[str, ...], instance: Sequence[Sequence[int]], shift: int
) -> tuple[Stamped, ...]:
    line = [(iteration, c) for iteration, cycles in enumerate(instance) for c in cycles]
    count = len(labels)
    return tuple(
        Stamped(labels[i % count], line[i - 1][1] + shift, line[i][1] + shift, line[i][0])
        for i in range(count, len(line))
    )


def measured_text(stamps: Stamps, predicted: float | None) -> str:
    """The measured interval beside the predicted one, and what each entry of the loops took."""
    beside = f", predicted {predicted:g}" if predicted else ""
    lines = [f"measured ({stamps.where}): interval {stamps.interval:.0f} cycles{beside}"]
    for role in stamps.roles:
        lines.append(f"  {role.role}: mean cycles from the end of the entry before")
        lines += [
            f"    {cycles:>7.0f}  {label}"
            for label, cycles in zip(role.labels, role.lengths(), strict=True)
        ]
    return "\n".join(lines)
