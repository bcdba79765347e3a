"""``Subject``: a document of either dialect with everything commands ask about it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from warploom.cli.kernels import NamedKernel
from warploom.cli.screen import working
from warploom.dataclass import dataclass
from warploom.errors import CostModelError, VerificationError, WarploomError
from warploom.ir import ScheduleDocument, schedule_to_json, write_schedule
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.schedule_ops import Phase
from warploom.pipeline.compile import CompiledSchedule
from warploom.sim import MachineCosts, RoleCosts, Simulation, simulate, simulate_roles
from warploom.sim.chip import CHIP, Tile, chip_costs, model_costs
from warploom.sim.pace import Pace, find_pace
from warploom.sim.roles import entry_label
from warploom.verify import Report, verify
from warploom.verify.roles import verify_roles

Document = ScheduleDocument | RolesDocument
DERIVED = {  # ops of no line alone
    "start_tile": "values that a tile begins with",
    "finish_sums": "sums of threads joined to sums of rows",
    "see_": "a wait for the data of a copy",
}
ROLE_TILES = 2  # output tiles a role program is run for in a picture, so that their seam shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A document, what it came from, and the machine it is checked on.

    ``tile`` and ``dtype`` price the matrix ops of a counter schedule; ``kernel`` describes a Hopper
    kernel. ``target_given``: the command names the machine, whatever the document is for; without a
    ``machine`` that is the MI355X. ``loop`` numbers one of several loops of a tile, from 1 on; the
    whole has none, and the document of its last loop.
    """

    spec: str
    document: Document
    compiled: CompiledSchedule | None = None
    kernel: NamedKernel | None = None
    tile: Tile | None = None
    dtype: str = "bf16"
    machine: MachineCosts | None = None
    target_given: bool = False
    loop: int | None = None

    @property
    def loops(self) -> tuple[Subject, ...]:
        """One subject a loop of its tile, in order; each is scheduled and proven by itself."""
        kernel = self.kernel
        if kernel is None or self.loop or len(kernel.compiled.kernel.loops) < 2:
            return (self,)
        if self.document != kernel.lowered.document:
            return (self,)
        documents = kernel.lowered.documents
        return tuple(replace(self, document=d, loop=n) for n, d in enumerate(documents, 1))

    @property
    def limit(self) -> str:
        """What stands in the way of a lesser interval; a document on file says what it was told."""
        document, kernel = self.document, self.kernel
        assert isinstance(document, RolesDocument)
        assert document.proof is not None
        if kernel is None or not kernel.compiled.kernel.loops:
            return document.proof.limit
        made = [x for x in (*kernel.lowered.earlier, kernel.lowered) if x.document == document]
        with working(f"asking what limits {self.name}"):
            return kernel.compiled.limit_of(made[0].result) if made else document.proof.limit

    @property
    def title(self) -> str:
        """Its name, target and tile, and which loop it is."""
        work = f", {self.work()}" if self.work() else ""
        loop = f", loop {self.loop} of its tile" if self.loop else ""
        return f"{self.name} on {self.document.target}{work}{loop}"

    @property
    def name(self) -> str:
        """The document's name."""
        return self.document.name

    @property
    def is_roles(self) -> bool:
        """Whether roles hand over through mbarriers, not counters."""
        return isinstance(self.document, RolesDocument)

    def report(self) -> Report:
        """The verifier's verdict; of several loops that of the first which is not clean."""
        if self.compiled and self.compiled.report:
            return self.compiled.report
        found = [_checked(x.document) for x in self.loops]
        return next((r for r in found if not r.clean), found[-1])

    def require_proof(self, fix: str, why: str = "") -> None:
        """Refuse what the verifier does not find clean."""
        report = self.report()
        if not report.clean:
            what = f"{self.name} {report.trouble}"
            raise VerificationError(what, report=report, where=self.spec, why=why, fix=fix)

    def simulate(self, trips: int, *, model: bool = False, tiles: int = 1) -> Simulation:
        """A run on the target's costs, or on the latencies of the ops' own cost model."""
        with working(f"simulating {self.name}"):
            costs = self.prices() if self.is_roles else self.costs(model=model)
            return _run(self.document, costs, trips, tiles)

    def prices(self) -> RoleCosts:
        """The costs of a Hopper document: its own, or its kernel's on a target that was given."""
        document = self.document
        assert isinstance(document, RolesDocument)
        if document.costs is not None and not self.target_given:
            return document.costs
        if self.kernel is None:
            raise CostModelError(
                f"no prices for the ops of {document.name}",
                where=self.spec,
                why="the document carries none, and its name is not of a shipped kernel",
                fix="compile it anew (warploom compile file.py:kernel), or name the kernel itself",
            )
        if document.target != self.kernel.target.name and not self.target_given:
            raise CostModelError(
                f"{document.name} is for target {document.target!r}, which is not known here",
                where=self.spec,
                why="the document carries its target's name, not its figures",
                fix="pass it: --target file.py:object, or --target h200 to price it on that",
            )
        return self.kernel.costs(document)

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
            return self.prices().clock_hz
        machine: MachineCosts = self.costs()
        return machine.clock_hz

    def pace(self, *, model: bool = False) -> Pace | None:
        """How fast the loop runs: the figure all commands show."""
        least = self.least_trips
        word = "K-tile"
        if self.is_roles:
            loops = self.kernel.compiled.kernel.loops if self.kernel else ()
            word = f"tile of {loops[(self.loop or 0) - 1].var}" if loops else "tile"
        return find_pace(
            lambda trips: self.simulate(max(trips, least), model=model),
            self.document.tiles_per_iteration,
            word,
        )

    def pace_text(self) -> str:
        """The pace in one line, or why there is none."""
        try:
            pace = self.pace()
        except WarploomError as error:
            return f"no interval: {error.what}"
        return "no loop" if pace is None else pace.text()

    @property
    def least_trips(self) -> int:
        """The fewest iterations a run may have."""
        return (
            max(1, self.document.minimum_trips) if isinstance(self.document, RolesDocument) else 0
        )

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
        result = {
            (name, i): entry.reason
            for name, entries in self.phases()
            for i, entry in enumerate(entries)
            if getattr(entry, "reason", "")
        }
        if self.compiled:
            result |= {(r.phase.name.lower(), r.index): r.text for r in self.compiled.reasons}
        return result

    def lines(self) -> dict[str, str]:
        """The author's line of each op, where the document has it; of derived ops what they do."""
        flow = getattr(self.document, "flow", None)
        result = {op.name: op.line for op in flow.ops if op.line} if flow else {}
        file = next(iter(result.values()), "").rpartition(":")[0]
        for label in sorted({entry_label(e) for _, es in self.phases() for e in es if file}):
            what = next((text for start, text in DERIVED.items() if label.startswith(start)), "")
            result |= {label: f"{file}, {what}"} if what and label not in result else {}
        return result

    def to_json(self) -> dict[str, Any]:
        """The document as JSON-ready values."""
        return schedule_to_json(self.document)

    def text(self) -> str:
        """The canonical text of the document."""
        return write_schedule(self.document)

    def work(self) -> str:
        """The tile in words, where it is known."""
        if self.kernel is not None:
            return self.kernel.work
        shape = getattr(self.document, "shape", None)
        if self.tile is None and shape is not None:
            return f"{'x'.join(map(str, shape.tile))} {shape.dtype}"
        return f"{'x'.join(map(str, self.tile))} {self.dtype}" if self.tile else ""


@lru_cache(maxsize=64)  # a command asks again and again for what follows from a value alone
def _checked(document: Document) -> Report:
    return verify_roles(document) if isinstance(document, RolesDocument) else verify(document)


@lru_cache(maxsize=16)
def _run(document: Document, costs: MachineCosts | RoleCosts, trips: int, tiles: int) -> Simulation:
    if isinstance(document, RolesDocument):
        assert isinstance(costs, RoleCosts)
        return simulate_roles(document, costs, trips=trips, tiles=tiles)
    assert isinstance(costs, MachineCosts)
    return simulate(document, costs, trips=trips)
