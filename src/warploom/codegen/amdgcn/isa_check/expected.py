"""What a schedule asks of the instruction stream, what assembly has, and where they differ.

Each entry becomes as many steps as it has machine instructions. The numbers come from the
document's own counters (what its waits were derived from) and from the tile; nothing is taken from
the code that emitted the kernel.

The text is cut into basic blocks and walked from the entry. Every conditional branch is followed
both ways, loops up to two iterations; a block that holds a barrier and nothing else scheduled, and
that one wave group branches around, counts as one ``guarded barrier``.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Protocol

from warploom.codegen.amdgcn.isa import LGKM_CAPACITY, VM_CAPACITY, Assembly, Instruction
from warploom.errors import BackendError
from warploom.ir import BarrierKind, ScheduleDocument
from warploom.ir.schedule_ops import OpDesc, Phase, ScheduleEntry, ScheduleOps


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
            words = "s_waitcnt" + (f" vmcnt({vm})" if vm < VM_CAPACITY else "")
            return words + (f" lgkmcnt({lgkm})" if lgkm < LGKM_CAPACITY else "")
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
        epilogue.append(Step("wait", (VM_CAPACITY, 0), "reads no MMA takes"))
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
            return [Step("wait", (op.wait_value, LGKM_CAPACITY), source)]
        case ScheduleOps.WAIT_LGKM:
            return [Step("wait", (VM_CAPACITY, op.wait_value), source)]
        case ScheduleOps.SET_PRIO:
            return [Step("s_setprio", (op.wait_value,), source)]
        case ScheduleOps.SCHEDULE_BARRIER | ScheduleOps.SCHED_GROUP_BARRIER:
            return []
    return [Step(kind, (), source) for kind, count in plan.instructions(op) for _ in range(count)]


def _barrier(plan: Gated, source: str) -> list[Step]:
    if plan.document.protocol.barrier is BarrierKind.FENCING:
        return [Step("wait", (0, 0), source), Step("s_barrier", (), source)]
    return [Step("s_barrier", (), source)]


MAX_PATHS = 256
MAX_VISITS = 2

_KINDS = {
    "s_barrier": "s_barrier",
    "ds_read_b128": "ds_read",
    "ds_read_b64_tr_b16": "ds_read_tr",
    "ds_write_b128": "ds_write",
}
# Anything else that touches memory is shown under its own name: it belongs to no schedule.
_MEMORY = ("scratch_", "flat_", "global_", "ds_", "s_load", "s_buffer_load")


def observed_paths(assembly: Assembly) -> tuple[tuple[Step, ...], ...]:
    """The scheduled steps of every path through the kernel, setup code included."""
    blocks = blocks_of(assembly)
    paths: list[tuple[Step, ...]] = []
    stack: list[tuple[int, tuple[Step, ...], tuple[int, ...]]] = [(0, (), ())]
    while stack:
        start, steps, visited = stack.pop()
        if visited.count(start) >= MAX_VISITS:
            continue
        block = blocks[start]
        steps += block.steps
        if not block.successors:
            paths.append(join_waits(steps))
            if len(paths) > MAX_PATHS:
                raise BackendError(f"more than {MAX_PATHS} paths through the kernel")
            continue
        guarded = guarded_barrier(blocks, block)
        if guarded is not None:
            inner, after = guarded
            count = sum(s.kind == "s_barrier" for s in blocks[inner].steps)
            steps += (Step("guarded barrier", (), blocks[inner].steps[-1].source),) * count
            stack.append((after, steps, (*visited, start)))
            continue
        ways = [s for s in block.successors if not _beside(blocks, block, s)]
        stack += [(after, steps, (*visited, start)) for after in ways]
    return tuple(paths)


def scheduled_step(instruction: Instruction) -> Step | None:
    """The step an instruction stands for, or None for addressing and arithmetic."""
    name = instruction.mnemonic
    detail: tuple[int, ...] = ()
    if name == "s_waitcnt":
        kind, detail = "wait", instruction.waits()
    elif name == "s_setprio":
        kind, detail = name, (int(instruction.operands[0]),)
    elif name.startswith("v_mfma"):
        kind = "mfma"
    elif name.startswith("buffer_load"):
        kind = "dma" if "lds" in instruction.modifiers else "load"
    elif name.startswith(("buffer_store", "global_store")):
        kind = "store"
    elif name in _KINDS:
        kind = _KINDS[name]
    elif name.startswith(_MEMORY):
        kind = name
    else:
        return None
    return Step(kind, detail, f"line {instruction.line}: {instruction.text}")


@dataclass(frozen=True, slots=True)
class _Block:
    steps: tuple[Step, ...]
    successors: tuple[int, ...]


def blocks_of(assembly: Assembly) -> dict[int, _Block]:
    """Basic blocks by their first instruction."""
    code = assembly.instructions
    leaders = {0, *assembly.labels.values()}
    leaders |= {i + 1 for i, ins in enumerate(code) if _branches(ins)}
    starts = sorted(s for s in leaders if s < len(code))
    ends = [*starts[1:], len(code)]
    return {a: _block(assembly, a, b) for a, b in zip(starts, ends, strict=True)}


def _block(assembly: Assembly, start: int, end: int) -> _Block:
    body = assembly.instructions[start:end]
    steps = tuple(s for s in map(scheduled_step, body) if s is not None)
    last = body[-1]
    if last.mnemonic == "s_endpgm":
        return _Block(steps, ())
    if last.mnemonic == "s_branch":
        return _Block(steps, (assembly.branch_target(last),))
    if last.mnemonic.startswith("s_cbranch"):
        return _Block(steps, (end, assembly.branch_target(last)))
    return _Block(steps, (end,))


def _branches(instruction: Instruction) -> bool:
    return instruction.mnemonic.startswith(("s_branch", "s_cbranch", "s_endpgm"))


def _beside(blocks: dict[int, _Block], block: _Block, way: int) -> bool:
    """Whether one way of a branch only adds arithmetic to the other."""
    inner = blocks[way]
    others = set(block.successors) - {way}
    return not inner.steps and len(others) == 1 and set(inner.successors) == others


def guarded_barrier(blocks: dict[int, _Block], block: _Block) -> tuple[int, int] | None:
    """``(inner, after)`` when one way of a branch only adds barriers to the other."""
    if len(block.successors) != 2:
        return None
    for inner, after in (block.successors, block.successors[::-1]):
        kinds = {s.kind for s in blocks[inner].steps}
        only_barriers = "s_barrier" in kinds and kinds <= {"s_barrier", "wait"}
        if only_barriers and blocks[inner].successors == (after,):
            return inner, after
    return None


CONTEXT = 3
MAX_LINES = 40
WIDTH = 44


def side_by_side(want: tuple[Step, ...], got: tuple[Step, ...], trips: int) -> str:
    """Rows ``schedule | code``; ``<`` is lost, ``>`` added, ``!`` changed."""
    matcher = SequenceMatcher(None, [s.label() for s in want], [s.label() for s in got], False)
    lines = [f"with {trips} loop iteration(s):", f"  {'schedule':<{WIDTH}} | code"]
    for group in matcher.get_grouped_opcodes(CONTEXT):
        lines.append("  ...")
        for op, a0, a1, b0, b1 in group:
            lines += _rows(op, want[a0:a1], got[b0:b1])
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"  ... {len(lines) - MAX_LINES} more lines"]
    return "\n".join(lines)


def _rows(op: str, want: tuple[Step, ...], got: tuple[Step, ...]) -> list[str]:
    mark = {"equal": " ", "delete": "<", "insert": ">", "replace": "!"}[op]
    rows = []
    for i in range(max(len(want), len(got))):
        left = f"{want[i].label()}  {want[i].source}" if i < len(want) else ""
        right = got[i].source if i < len(got) else ""
        rows.append(f"{mark} {left:<{WIDTH}} | {right}")
    return rows
