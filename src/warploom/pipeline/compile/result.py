"""``CompiledSchedule``: what compilation returns."""

from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.ir.counter_dialect import Counters, KernelShape, Protocol, ScheduleDocument
from warploom.ir.dataflow import Flow
from warploom.ir.machine_costs import MachineCosts
from warploom.ir.schedule_ops import DepEdge, OpDesc, Phase, ScheduleEntry
from warploom.modulo import ModuloResult
from warploom.pipeline.block_expand.program import PipelineProgram
from warploom.pipeline.config.pipeline import PipelineConfig
from warploom.pipeline.config.schedule import ScheduleConfig
from warploom.pipeline.listing import phase_listing
from warploom.pipeline.scheduling.result import OrderResult
from warploom.pipeline.sync.marks import SyncPolicy
from warploom.repr_html import Pictured
from warploom.sync.counters import Change, Reason
from warploom.verify import Report


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CompiledSchedule(Pictured):
    """What compilation returns: the three phases and everything they were derived from.

    ``order`` is the body's order with makespan, bound and proof when a search made it;
    ``program`` the block structure of a double-buffered kernel as the reference's rules guard it.
    ``reasons`` says of every wait and barrier that was derived why it is there; empty under
    ``SyncPolicy.REFERENCE``. ``changes`` says what was added to or tightened in the documented
    waits, where they raced. ``report`` is the verifier's, unless verification was skipped.
    ``modulo`` is the schedule the phases were made from under ``SchedulingStrategy.MODULO``.
    ``ordered_in`` names the costs whose cycles makespan and interval count. ``flow`` says what the
    ops compute, where they name their values.
    """

    name: str
    target: str
    config: PipelineConfig
    schedule_config: ScheduleConfig
    protocol: Protocol
    body: tuple[OpDesc, ...]
    edges: tuple[DepEdge, ...]
    prologue: tuple[ScheduleEntry, ...]
    kernel: tuple[ScheduleEntry, ...]
    epilogue: tuple[ScheduleEntry, ...]
    kernel_deps: tuple[DepEdge, ...]
    warp_stagger_index: int
    lgkm_per_load_a: int = 0
    lgkm_per_load_b: int = 0
    program: PipelineProgram | None = None
    order: OrderResult | None = None
    sync: SyncPolicy = SyncPolicy.REFERENCE
    reasons: tuple[Reason, ...] = ()
    changes: tuple[Change, ...] = ()
    report: Report | None = None
    modulo: ModuloResult | None = None
    shape: KernelShape | None = None
    machine: MachineCosts | None = None
    ordered_in: str = "seed"
    flow: Flow | None = None

    def __repr__(self) -> str:
        sizes = f"{len(self.prologue)} + {len(self.kernel)} + {len(self.epilogue)} entries"
        verdict = self.report.verdict if self.report else "not judged"
        order = self.schedule_config.scheduling.name
        return (
            f"<CompiledSchedule {self.name} on {self.target}: {sizes}, order {order}, "
            f"waits {self.sync.name}, {verdict}>"
        )

    def notes(self, phase: Phase) -> dict[int, str]:
        """The reasons of one phase by entry index, for listings."""
        return {r.index: r.text for r in self.reasons if r.phase is phase}

    def listing(self) -> str:
        """All phases, one entry a line, each derived wait and barrier with its reason."""
        parts = [
            phase_listing(phase.name, entries, self.notes(phase))
            for phase, entries in (
                (Phase.PROLOGUE, self.prologue),
                (Phase.KERNEL, self.kernel),
                (Phase.EPILOGUE, self.epilogue),
            )
        ]
        return "\n\n".join(parts)

    def document(self) -> ScheduleDocument:
        """This schedule as a ``warploom.schedule/1`` document."""
        return ScheduleDocument(
            name=self.name,
            target=self.target,
            strategy=self.schedule_config.scheduling.name,
            protocol=self.protocol,
            counters=counters(self.config, self.schedule_config),
            body=tuple(_unnamed(op) for op in self.body),
            edges=self.edges,
            prologue=self._explained(Phase.PROLOGUE, self.prologue),
            kernel=self._explained(Phase.KERNEL, self.kernel),
            epilogue=self._explained(Phase.EPILOGUE, self.epilogue),
            kernel_deps=self.kernel_deps,
            warp_stagger_index=self.warp_stagger_index,
            shape=self.shape,
            machine=self.machine,
            flow=self.flow,
        )

    def _explained(
        self, phase: Phase, entries: tuple[ScheduleEntry, ...]
    ) -> tuple[ScheduleEntry, ...]:
        """Entries that carry their reasons, so that these survive in the document."""
        notes = self.notes(phase)
        bare = [replace(e, op=_unnamed(e.op)) if e.op.is_named else e for e in entries]
        return tuple(replace(e, reason=notes[i]) if i in notes else e for i, e in enumerate(bare))


def _unnamed(op: OpDesc) -> OpDesc:
    """An op as documents have it: the flow names the values."""
    return replace(op, takes=(), makes=()) if op.is_named else op


def counters(config: PipelineConfig, sched: ScheduleConfig) -> Counters:
    """Counter units per load: the pipeline's, or the schedule config's where it has none."""
    return Counters(
        vm_per_load=(config.vm_per_load_a, config.vm_per_load_b),
        lgkm_per_load=(
            config.lgkm_per_load_a or sched.lgkm_per_load_a,
            config.lgkm_per_load_b or sched.lgkm_per_load_b,
        ),
    )
