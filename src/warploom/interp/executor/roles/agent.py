"""The state of one agent, what it has in flight, and what a document means.

Each agent runs alone and in program order; a slot always holds the use an entry names, and
waits, fences and barriers do nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from warploom.interp.executor.roles import memory
from warploom.ir.mbarrier_dialect import BulkStore, Compute, Mma, RoleProgram, RolesDocument
from warploom.ir.rings import BufferCopy, SlotRead

_T = TypeVar("_T")

FIRST, SECOND = 0, 1  # strands: the threads that issue stores, and the others


@dataclass(slots=True, eq=False)
class Product:
    """A matrix product between issue and retirement, with what its slots held at issue."""

    mma: Mma
    slots: tuple[tuple[memory.SlotKey, int], ...]


@dataclass(slots=True, eq=False)
class Store:
    """A bulk store that has not read its staging copy yet."""

    step: memory.Step
    source: BufferCopy


@dataclass(slots=True, eq=False)
class Agent:
    """One instance of a role in one CTA.

    ``groups`` and ``store_groups`` hold what is unfinished of every closed group, oldest first;
    ``unsettled`` are registers whose last ordinary access matrix products may not see.
    """

    plan: memory.AgentPlan
    unsettled: set[str]
    at: int = 0
    strand_at: int = 0
    joined: tuple[tuple[int, str, int], int] | None = None
    registers: dict[str, int] = field(default_factory=dict)
    products: list[Product] = field(default_factory=list)
    groups: list[list[Product]] = field(default_factory=list)
    open: list[Product] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    store_groups: list[list[Store]] = field(default_factory=list)
    open_stores: list[Store] = field(default_factory=list)
    staging: dict[BufferCopy, memory.StagingCopy] = field(default_factory=dict)
    filled: dict[int, int] = field(default_factory=dict)

    @property
    def cta(self) -> int:
        """The CTA it runs in."""
        return self.plan.cta

    @property
    def program(self) -> RoleProgram:
        """The program it runs."""
        return self.plan.program

    @property
    def done(self) -> bool:
        """Both strands are at their end."""
        return self.at == len(self.plan.steps) and self.strand_at == len(self.plan.strand)

    @property
    def together(self) -> bool:
        """The second strand stands where the first does, or takes no part in anything."""
        if not self.plan.strand or self.strand_at == len(self.plan.strand):
            return True
        return self.plan.strand[self.strand_at] >= self.at

    def second_may_go(self) -> bool:
        """Whether the second strand has a step of its own: it runs ahead of no new register."""
        if self.strand_at == len(self.plan.strand):
            return False
        ahead = self.plan.steps[self.at : self.plan.strand[self.strand_at]]
        return not any(_makes_registers(s) for s in ahead)

    def copy(self, which: BufferCopy) -> memory.StagingCopy:
        """A staging copy."""
        return self.staging.setdefault(which, memory.StagingCopy())

    def touch(self, op: Compute) -> None:
        """An op uses its registers: no product may hold them."""
        for product in self.products:
            if product.mma.accumulator in (*op.reads, *op.writes):
                raise memory.Fault("an accumulator is touched in flight")
            if set(product.mma.registers) & set(op.writes):
                raise memory.Fault("an operand register is overwritten in flight")
        self.unsettled.update(op.reads, op.writes)

    def issue(self, product: Product) -> None:
        """A product starts: its registers are settled and nobody writes them."""
        mma = product.mma
        if self.unsettled & {mma.accumulator, *mma.registers}:
            raise memory.Fault("a product takes registers before ordinary accesses settled")
        if any(p.mma.accumulator in mma.registers for p in self.products):
            raise memory.Fault("a product reads an accumulator in flight")
        self.products.append(product)
        self.open.append(product)

    def retire(self) -> Product:
        """The oldest product is over."""
        product = self.products.pop(0)
        _leave(product, [*self.groups, self.open])
        return product

    def stored(self, store: Store) -> None:
        """A store has read its staging copy."""
        self.stores.remove(store)
        _leave(store, [*self.store_groups, self.open_stores])


def _makes_registers(step: memory.Step) -> bool:
    return isinstance(step.entry, Mma) or (
        isinstance(step.entry, Compute) and bool(step.entry.writes)
    )


def _leave(item: _T, groups: list[list[_T]]) -> None:
    for group in groups:
        if item in group:
            group.remove(item)


def over(groups: list[list[_T]], pending: int) -> bool:
    """Whether at most the ``pending`` newest groups are unfinished."""
    while groups and not groups[0]:
        groups.pop(0)
    return not any(groups[: max(0, len(groups) - pending)])


OutputKey = tuple[int, str, int, int, str, tuple[int, ...]]
"""CTA, role, instance, tile, op and its arguments (with the iteration, where it adds up)."""

Outputs = dict[OutputKey, int]


def meaning(document: RolesDocument, tiles: Sequence[int], values: memory.Values) -> Outputs:
    """The stored values of every agent."""
    out: Outputs = {}
    for cta in range(document.cluster):
        for program in document.programs:
            for instance in range(program.instances):
                one = _Alone(document, program, cta, values)
                for step in memory.steps_of(program, instance, tiles):
                    one.take(step, instance, out)
    return out


class _Alone:
    """One agent in program order."""

    def __init__(
        self, document: RolesDocument, program: RoleProgram, cta: int, values: memory.Values
    ) -> None:
        self.document, self.program, self.cta, self.values = document, program, cta, values
        self.registers: dict[str, int] = {}
        self.staging: dict[BufferCopy, int] = {}

    def take(self, step: memory.Step, instance: int, out: Outputs) -> None:
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
                staged = self.staging.get(entry.source, memory.GARBAGE)
                key = output_key(self.cta, self.program, instance, step)
                out[key] = self.values.of("stored", staged, staged)
            case _:
                pass

    def _slots(self, step: memory.Step, reads: Sequence[SlotRead]) -> tuple[int, ...]:
        return tuple(
            self.values.of("loaded", r.ring, r.part, step.content(self.document.ring(r.ring)))
            for r in reads
        )


def output_key(cta: int, program: RoleProgram, instance: int, step: memory.Step) -> OutputKey:
    """The place in global memory a store of this step writes."""
    entry = step.entry
    assert isinstance(entry, Compute | BulkStore)
    loops = any(getattr(e, "op", "") == entry.op for e in program.kernel)
    args = (*entry.args, step.index) if loops else entry.args  # once an iteration
    return cta, program.name, instance, step.tile, entry.op, args


def product_value(
    values: memory.Values, mma: Mma, slots: tuple[int, ...], registers: dict[str, int]
) -> int:
    """The accumulator after a product."""
    operands = tuple(registers.get(r, memory.GARBAGE) for r in mma.registers)
    old = registers.get(mma.accumulator, memory.GARBAGE) if mma.accumulate else None
    return values.of("product", mma.op, slots, operands, old)


def compute_values(
    values: memory.Values, op: Compute, slots: tuple[int, ...], registers: dict[str, int]
) -> dict[str, int]:
    """The registers an op writes."""
    taken = tuple(registers.get(r, memory.GARBAGE) for r in op.reads)
    return {name: values.of("op", op.op, op.args, name, slots, taken) for name in op.writes}


def fill_value(values: memory.Values, op: Compute, registers: dict[str, int]) -> int:
    """What an op writes to memory."""
    taken = tuple(registers.get(r, memory.GARBAGE) for r in op.reads)
    return values.of("fill", op.op, op.args, taken)
