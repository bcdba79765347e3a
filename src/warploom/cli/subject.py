"""``Subject``: a document of either dialect with everything commands ask about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warploom.cli.kernels import TileKernel, kernel_costs
from warploom.cli.progress import working
from warploom.document import ScheduleDocument, schedule_to_json, write_schedule
from warploom.document.kinds import Phase
from warploom.document.roles import RolesDocument
from warploom.document.roles_json import roles_to_json, write_roles
from warploom.errors import WarploomError
from warploom.seed.compile import CompiledSchedule
from warploom.seed.target.chip import CHIP, Tile, chip_costs, model_costs
from warploom.sim import MachineCosts, Simulation, simulate, simulate_roles
from warploom.sim.pace import Pace, find_pace
from warploom.verify import Report, verify
from warploom.verify.roles import verify_roles

Document = ScheduleDocument | RolesDocument
ROLE_TILES = 2  # output tiles a role program is run for in a picture, so that their seam shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A document, what it came from, and the machine it is judged on.

    ``tile`` and ``dtype`` price the matrix ops of a counter schedule; ``kernel`` describes a Hopper
    kernel. ``target_given``: the command names the machine, whatever the document is for; without a
    ``machine`` that is the MI355X.
    """

    spec: str
    document: Document
    compiled: CompiledSchedule | None = None
    kernel: TileKernel | None = None
    tile: Tile | None = None
    dtype: str = "bf16"
    machine: MachineCosts | None = None
    target_given: bool = False

    @property
    def name(self) -> str:
        """The document's name."""
        return self.document.name

    @property
    def is_roles(self) -> bool:
        """Whether roles hand over through mbarriers, not counters."""
        return isinstance(self.document, RolesDocument)

    def report(self) -> Report:
        """The verifier's verdict."""
        if isinstance(self.document, RolesDocument):
            return verify_roles(self.document)
        known = self.compiled.report if self.compiled else None
        return known or verify(self.document)

    def simulate(self, trips: int, *, model: bool = False, tiles: int = 1) -> Simulation:
        """A run on the target's costs, or on the latencies of the ops' own cost model."""
        with working(f"simulating {self.name}"):
            if isinstance(self.document, RolesDocument):
                costs = kernel_costs(self.document, self.kernel, given=self.target_given)
                return simulate_roles(self.document, costs, trips=trips, tiles=tiles)
            return simulate(self.document, self.costs(model=model), trips=trips)

    def costs(self, *, model: bool = False) -> MachineCosts:
        """The costs of a counter document."""
        assert isinstance(self.document, ScheduleDocument)
        if model:
            return model_costs(self.document)
        if self.machine is not None:
            return self.machine
        document = self.document
        if self.target_given:
            document = replace(document, target=CHIP, machine=None)
        return chip_costs(document, self.tile, self.dtype)

    @property
    def clock_hz(self) -> float | None:
        """Cycles a second of the machine it is priced on, where known."""
        if isinstance(self.document, RolesDocument):
            return self.kernel.target.clock_hz if self.kernel else None
        return self.costs().clock_hz

    def pace(self, *, model: bool = False) -> Pace | None:
        """How fast the loop runs: the figure all commands show."""
        least = self.least_trips
        word = "K-tile" if self.kernel is None else f"tile of {self.kernel.loop}"
        return find_pace(
            lambda trips: self.simulate(max(trips, least), model=model), self.k_tiles, word
        )

    def pace_text(self, *, model: bool = False) -> str:
        """The pace in one line, or why there is none."""
        try:
            pace = self.pace(model=model)
        except WarploomError as error:
            return f"no interval: {error.what}"
        return "no loop" if pace is None else pace.text()

    @property
    def least_trips(self) -> int:
        """The fewest iterations a run may have."""
        return (
            max(1, self.document.minimum_trips) if isinstance(self.document, RolesDocument) else 0
        )

    @property
    def k_tiles(self) -> int:
        """K-tiles (of attention: key tiles) one iteration of the loop covers."""
        if isinstance(self.document, RolesDocument):
            return 1
        return self.document.protocol.k_tiles_per_iteration

    def phases(self) -> list[tuple[str, tuple[Any, ...]]]:
        """All lists of entries by name: ``kernel``, or ``consumer.kernel`` of a role."""
        if isinstance(self.document, RolesDocument):
            return [
                (f"{program.name}.{phase}", entries)
                for program in self.document.programs
                for phase, entries in program.phases()
                if entries
            ]
        return [(p.name.lower(), self.document.phase(p)) for p in Phase]

    def reasons(self) -> dict[tuple[str, int], str]:
        """Why entries are there, by the list's name and the index."""
        found = {
            (name, i): entry.reason
            for name, entries in self.phases()
            for i, entry in enumerate(entries)
            if getattr(entry, "reason", "")
        }
        if self.compiled:
            found |= {(r.phase.name.lower(), r.index): r.text for r in self.compiled.reasons}
        return found

    def lines(self) -> dict[str, str]:
        """The author's line of each declared op, where the document knows it."""
        flow = getattr(self.document, "flow", None)
        if flow is None:
            return {}
        return {op.name: _near(op.line) for op in flow.ops if op.line}

    def to_json(self) -> dict[str, Any]:
        """The document as JSON-ready values."""
        if isinstance(self.document, RolesDocument):
            return roles_to_json(self.document)
        return schedule_to_json(self.document)

    def text(self) -> str:
        """The canonical text of the document."""
        if isinstance(self.document, RolesDocument):
            return write_roles(self.document)
        return write_schedule(self.document)

    def work(self) -> str:
        """The tile in words, where it is known."""
        if self.kernel is not None:
            return self.kernel.work
        shape = getattr(self.document, "shape", None)
        if self.tile is None and shape is not None:
            return f"{'x'.join(map(str, shape.tile))} {shape.dtype}"
        return f"{'x'.join(map(str, self.tile))} {self.dtype}" if self.tile else ""


def _near(line: str) -> str:
    """A place with its path from here, or its file's name alone where that is elsewhere."""
    path = Path(line)
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name
