"""What the assembly really does: the scheduled instructions along every path of the kernel.

The text is cut into basic blocks and walked from the entry. Every conditional branch is followed
both ways, loops up to two iterations; a block that holds a barrier and nothing else scheduled, and
that one wave group branches around, counts as one ``guarded barrier``.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.emit.gfx950.gate.expected import Step, join_waits
from warploom.emit.gfx950.isa.assembly import Assembly, Instruction
from warploom.errors import BackendError

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
    blocks = _blocks(assembly)
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
        guarded = _guarded(blocks, block)
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


def _blocks(assembly: Assembly) -> dict[int, _Block]:
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


def _guarded(blocks: dict[int, _Block], block: _Block) -> tuple[int, int] | None:
    """``(inner, after)`` when one way of a branch only adds barriers to the other."""
    if len(block.successors) != 2:
        return None
    for inner, after in (block.successors, block.successors[::-1]):
        kinds = {s.kind for s in blocks[inner].steps}
        only_barriers = "s_barrier" in kinds and kinds <= {"s_barrier", "wait"}
        if only_barriers and blocks[inner].successors == (after,):
            return inner, after
    return None
