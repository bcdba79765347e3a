"""What the schedule says the instruction stream must be.

Each entry becomes as many steps as it has machine instructions. The numbers come from the
document's own counters (what its waits were derived from) and from the tile; nothing is taken from
the code that emitted the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from warploom.document import BarrierKind, ScheduleDocument
from warploom.document.kinds import Phase, ScheduleOps
from warploom.document.ops import OpDesc, ScheduleEntry


class Gated(Protocol):
    """A plan as the gate asks it: how many instructions of which class an op is."""

    @property
    def document(self) -> ScheduleDocument:
        """The schedule."""
        ...

    @property
    def lds_bytes(self) -> int:
        """LDS of one workgroup."""
        ...

    @property
    def unused_reads(self) -> tuple[tuple[int, int], ...]:
        """Fragments the epilogue reads and nothing takes: with any, one more wait follows."""
        ...

    @property
    def tail_reads(self) -> bool:
        """Whether memory is read after the last entry."""
        ...

    def instructions(self, op: OpDesc) -> list[tuple[str, int]]:
        """Instruction classes and counts of a data op."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction as both sides name it, and where it comes from.

    ``kind`` is the instruction class, ``detail`` its counts (waits, priority).
    """

    kind: str
    detail: tuple[int, ...] = ()
    source: str = ""

    def same(self, other: Step) -> bool:
        """Equal up to where it comes from."""
        return (self.kind, self.detail) == (other.kind, other.detail)

    def label(self) -> str:
        """As shown in reports."""
        if self.kind == "wait":
            vm, lgkm = self.detail
            words = [f"vmcnt({vm})"] * (vm < 63) + [f"lgkmcnt({lgkm})"] * (lgkm < 15)
            return " ".join(["s_waitcnt", *words])
        return " ".join([self.kind, *(str(d) for d in self.detail)])


@dataclass(frozen=True, slots=True)
class Expected:
    """The three phases as steps, protocol barriers included."""

    prologue: tuple[Step, ...]
    kernel: tuple[Step, ...]
    epilogue: tuple[Step, ...]

    def run(self, trips: int) -> tuple[Step, ...]:
        """The whole program for a trip count, with neighbouring waits joined."""
        return join_waits(self.prologue + self.kernel * trips + self.epilogue)


def expected_steps(plan: Gated) -> Expected:
    """Expand a document through its consumption protocol."""
    document, protocol = plan.document, plan.document.protocol
    prologue: list[Step] = []
    for index in range(len(document.prologue) + 1):
        if index == protocol.stagger_index:
            prologue += [Step("guarded barrier", (), "stagger")] * (protocol.groups - 1)
        if index < len(document.prologue):
            prologue += _entry(plan, Phase.PROLOGUE, index, document.prologue[index])
    if protocol.barrier_after_prologue:
        prologue += _barrier(plan, "barrier after prologue")
    epilogue: list[Step] = []
    if protocol.epilogue_drain:
        epilogue.append(Step("wait", (0, 0), "drain before epilogue"))
        epilogue += _barrier(plan, "drain before epilogue")
    epilogue += _phase(plan, Phase.EPILOGUE)
    epilogue += [Step("guarded barrier", (), "tail")] * max(protocol.tail_barriers)
    if plan.unused_reads:
        epilogue.append(Step("wait", (63, 0), "reads no MMA takes"))
    return Expected(tuple(prologue), tuple(_phase(plan, Phase.KERNEL)), tuple(epilogue))


def join_waits(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Waits with nothing scheduled between them act as one: the stronger count of each."""
    joined: list[Step] = []
    for step in steps:
        if step.kind == "wait" and joined and joined[-1].kind == "wait":
            last = joined[-1]
            counts = tuple(min(a, b) for a, b in zip(last.detail, step.detail, strict=True))
            source = last.source if last.source == step.source else f"{last.source} + {step.source}"
            joined[-1] = Step("wait", counts, source)
        else:
            joined.append(step)
    return tuple(joined)


def _phase(plan: Gated, phase: Phase) -> list[Step]:
    entries = plan.document.phase(phase)
    return [s for i, e in enumerate(entries) for s in _entry(plan, phase, i, e)]


def _entry(plan: Gated, phase: Phase, index: int, entry: ScheduleEntry) -> list[Step]:
    op = entry.op
    source = f"{phase.name[0]}[{index}] {op.label()}"
    match op.tag:
        case ScheduleOps.BARRIER:
            return _barrier(plan, source)
        case ScheduleOps.WAIT_VM:
            return [Step("wait", (op.wait_value, 15), source)]
        case ScheduleOps.WAIT_LGKM:
            return [Step("wait", (63, op.wait_value), source)]
        case ScheduleOps.SET_PRIO:
            return [Step("s_setprio", (op.wait_value,), source)]
        case ScheduleOps.SCHEDULE_BARRIER | ScheduleOps.SCHED_GROUP_BARRIER:
            return []
    return [Step(kind, (), source) for kind, count in plan.instructions(op) for _ in range(count)]


def _barrier(plan: Gated, source: str) -> list[Step]:
    if plan.document.protocol.barrier is BarrierKind.FENCING:
        return [Step("wait", (0, 0), source), Step("s_barrier", (), source)]
    return [Step("s_barrier", (), source)]
