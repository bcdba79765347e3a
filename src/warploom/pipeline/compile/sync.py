"""Guard: stated waits are kept, derived ones follow the policy, every change has a reason."""

from collections.abc import Sequence
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.errors import SyncError, VerificationError
from warploom.ir.counter_dialect import ScheduleDocument
from warploom.ir.machine_costs import MachineCosts
from warploom.ir.schedule_ops import DepEdge, Phase, ScheduleEntry
from warploom.pipeline.compile.result import CompiledSchedule
from warploom.pipeline.sync.marks import SyncPolicy, is_stated, is_wait
from warploom.sim import interval_cost
from warploom.sync.counters import Change, repair, synthesise
from warploom.verify import Report, verify

_COMPARED = 4  # repairs with equally few changes that are compared by cost
_MODE = {SyncPolicy.PROVEN_WEAKEST: "weakest", SyncPolicy.PROVEN_FEWEST: "fewest"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """How a compilation is synchronised and what happens with races."""

    policy: SyncPolicy
    on_race: str
    strengthen: bool
    machine: MachineCosts | None = None

    def applied(self, ruled: CompiledSchedule) -> CompiledSchedule:
        """The schedule, synchronised and checked."""
        if self.policy.proves:
            return self._judged(self._proven(ruled))
        if self.on_race == "skip":
            return ruled
        if self.policy is SyncPolicy.REFERENCE:
            return self._judged(ruled)
        report = verify(ruled.document())
        if not report.races():
            return replace(ruled, report=report)
        try:
            repaired = self._repaired(ruled, ruled.document())
            self._require_asked(repaired)
        except SyncError as error:
            if self.on_race == "raise":
                raise _verification_error(ruled, report) from error
            return replace(ruled, report=report)
        return self._judged(repaired)

    def _proven(self, ruled: CompiledSchedule) -> CompiledSchedule:
        if any(is_stated(entry) for entry in ruled.kernel):
            try:
                return self._repaired(ruled, _without_derived_waits(ruled.document()))
            except SyncError:  # beside the documented waits the stated ones may be strong enough
                return self._repaired(ruled, ruled.document())
        cost = None if self.machine is None else interval_cost(self.machine)
        proven = synthesise(ruled.document(), mode=_MODE[self.policy], cost=cost)
        return replace(_of_document(ruled, proven.document, self.policy), reasons=proven.reasons)

    def _repaired(self, ruled: CompiledSchedule, document: ScheduleDocument) -> CompiledSchedule:
        """The fewest changes that leave no race; stated waits only if strengthening is asked."""
        found = repair(document, limit=_COMPARED)
        if not self.strengthen:
            for change in found.changes:
                if change.before and _is_stated_change(change, found.document):
                    raise _too_weak(change)
        reasons = tuple(c.reason for c in found.changes if c.reason is not None)
        done = _of_document(ruled, found.document, self.policy)
        return replace(done, reasons=reasons, changes=found.changes)

    def _require_asked(self, repaired: CompiledSchedule) -> None:
        """Refuse a kernel that needs more than the waits its author took upon himself."""
        if repaired.schedule_config.auto_waits or self.strengthen:
            return
        for change in repaired.changes:
            if change.phase is Phase.KERNEL:
                raise SyncError(
                    f"the manual waits are too weak: {change.text}",
                    where=f"kernel entry {change.index}",
                    fix="strengthen=True",
                )

    def _judged(self, compiled: CompiledSchedule) -> CompiledSchedule:
        """The schedule with the verifier's report; races raise unless only to be reported."""
        if self.on_race == "skip":
            return compiled
        report = verify(compiled.document())
        if report.races() and self.on_race == "raise":
            raise _verification_error(compiled, report)
        return replace(compiled, report=report)


def _verification_error(compiled: CompiledSchedule, report: Report) -> VerificationError:
    races = report.races()
    first = races[0]
    return VerificationError(
        f"{compiled.name} can race: {len(races)} finding(s), first {first.code.value}",
        report=report,
        where=" and ".join(str(event) for event in first.where),
        why=first.why,
        fix=f"{first.fix}; or strengthen=True to tighten stated waits, or "
        "sync=SyncPolicy.PROVEN_WEAKEST to have them derived, "
        'or on_race="report" to look at all findings',
    )


def _is_stated_change(change: Change, document: ScheduleDocument) -> bool:
    return change.phase is Phase.KERNEL and is_stated(document.phase(change.phase)[change.index])


def _too_weak(change: Change) -> SyncError:
    why = change.reason.text if change.reason is not None else change.why
    return SyncError(
        f"the stated {change.before} is too weak",
        where=f"kernel entry {change.index}",
        why=why,
        fix=f"state {change.after}, leave the wait to the compiler (auto_waits=True), or ask for "
        "strengthen=True",
    )


def _of_document(
    ruled: CompiledSchedule, document: ScheduleDocument, policy: SyncPolicy
) -> CompiledSchedule:
    return replace(
        ruled,
        protocol=document.protocol,
        prologue=document.prologue,
        kernel=document.kernel,
        epilogue=document.epilogue,
        kernel_deps=document.kernel_deps,
        warp_stagger_index=document.warp_stagger_index,
        sync=policy,
    )


def _without_derived_waits(document: ScheduleDocument) -> ScheduleDocument:
    """The document with stated waits only; prologue and epilogue have none of those."""
    prologue = [i for i, e in enumerate(document.prologue) if not is_wait(e)]
    kernel = [i for i, e in enumerate(document.kernel) if not is_wait(e) or is_stated(e)]
    epilogue = [i for i, e in enumerate(document.epilogue) if not is_wait(e)]
    protocol, stagger = document.protocol, document.warp_stagger_index
    if protocol.stagger_index is not None:
        moved = sum(i < protocol.stagger_index for i in prologue)
        protocol = replace(protocol, stagger_index=moved)
    past_the_end = stagger > len(document.prologue)
    return replace(
        document,
        protocol=protocol,
        prologue=_kept(document.prologue, prologue),
        kernel=_kept(document.kernel, kernel),
        epilogue=_kept(document.epilogue, epilogue),
        kernel_deps=_moved(document.kernel_deps, kernel),
        warp_stagger_index=len(prologue) + 1
        if past_the_end
        else sum(i < stagger for i in prologue),
    )


def _kept(entries: Sequence[ScheduleEntry], indices: Sequence[int]) -> tuple[ScheduleEntry, ...]:
    return tuple(replace(entries[i], time_slot=slot) for slot, i in enumerate(indices))


def _moved(edges: Sequence[DepEdge], indices: Sequence[int]) -> tuple[DepEdge, ...]:
    now = {old: new for new, old in enumerate(indices)}
    return tuple(
        replace(e, producer_idx=now[e.producer_idx], consumer_idx=now[e.consumer_idx])
        for e in edges
        if e.producer_idx in now and e.consumer_idx in now
    )
