"""What a document means: the values it stores when every op just takes what it speaks of.

Each agent runs alone and in program order; a slot always holds the use an entry names, and
waits, fences and barriers do nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.document.rings import BufferCopy, SlotRead
from warploom.document.roles import BulkStore, Compute, Mma, RoleProgram, RolesDocument
from warploom.run.roles.memory import GARBAGE, Values
from warploom.run.roles.program import Step, steps_of

OutputKey = tuple[int, str, int, int, str, tuple[int, ...]]
"""CTA, role, instance, tile, op and its arguments (with the iteration, where it adds up)."""

Outputs = dict[OutputKey, int]


def meaning(document: RolesDocument, tiles: Sequence[int], values: Values) -> Outputs:
    """The stored values of every agent."""
    out: Outputs = {}
    for cta in range(document.cluster):
        for program in document.programs:
            for instance in range(program.instances):
                one = _Alone(document, program, cta, values)
                for step in steps_of(program, instance, tiles):
                    one.take(step, instance, out)
    return out


class _Alone:
    """One agent in program order."""

    def __init__(
        self, document: RolesDocument, program: RoleProgram, cta: int, values: Values
    ) -> None:
        self.document, self.program, self.cta, self.values = document, program, cta, values
        self.registers: dict[str, int] = {}
        self.staging: dict[BufferCopy, int] = {}

    def take(self, step: Step, instance: int, out: Outputs) -> None:
        entry = step.entry
        match entry:
            case Mma():
                slots = self._slots(step, entry.slots)
                self.registers[entry.accumulator] = product_value(
                    self.values, entry, slots, self.registers
                )
            case Compute():
                slots = self._slots(step, entry.slots)
                for copy in entry.fills:
                    staged = fill_value(self.values, entry, self.registers)
                    self.staging[copy] = staged
                if not entry.fills and not entry.writes:
                    key = output_key(self.cta, self.program, instance, step)
                    out[key] = fill_value(self.values, entry, self.registers)
                self.registers.update(compute_values(self.values, entry, slots, self.registers))
            case BulkStore():
                staged = self.staging.get(entry.source, GARBAGE)
                key = output_key(self.cta, self.program, instance, step)
                out[key] = self.values.of("stored", staged, staged)
            case _:
                pass

    def _slots(self, step: Step, reads: Sequence[SlotRead]) -> tuple[int, ...]:
        return tuple(
            self.values.of("loaded", r.ring, r.part, step.content(self.document.ring(r.ring)))
            for r in reads
        )


def output_key(cta: int, program: RoleProgram, instance: int, step: Step) -> OutputKey:
    """The place in global memory a store of this step writes."""
    entry = step.entry
    assert isinstance(entry, Compute | BulkStore)
    loops = any(getattr(e, "op", "") == entry.op for e in program.kernel)
    args = (*entry.args, step.index) if loops else entry.args  # once an iteration
    return cta, program.name, instance, step.tile, entry.op, args


def product_value(
    values: Values, mma: Mma, slots: tuple[int, ...], registers: dict[str, int]
) -> int:
    """The accumulator after a product."""
    operands = tuple(registers.get(r, GARBAGE) for r in mma.registers)
    old = registers.get(mma.accumulator, GARBAGE) if mma.accumulate else None
    return values.of("product", mma.op, slots, operands, old)


def compute_values(
    values: Values, op: Compute, slots: tuple[int, ...], registers: dict[str, int]
) -> dict[str, int]:
    """The registers an op writes."""
    taken = tuple(registers.get(r, GARBAGE) for r in op.reads)
    return {name: values.of("op", op.op, op.args, name, slots, taken) for name in op.writes}


def fill_value(values: Values, op: Compute, registers: dict[str, int]) -> int:
    """What an op writes to memory."""
    taken = tuple(registers.get(r, GARBAGE) for r in op.reads)
    return values.of("fill", op.op, op.args, taken)
