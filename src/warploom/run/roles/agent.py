"""The state of one agent, and what it has in flight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from warploom.document.rings import BufferCopy
from warploom.document.roles import Compute, Mma, RoleProgram
from warploom.run.roles.memory import Fault, SlotKey, StagingCopy
from warploom.run.roles.program import AgentPlan, Step

_T = TypeVar("_T")

FIRST, SECOND = 0, 1  # strands: the threads that issue stores, and the others


@dataclass(slots=True, eq=False)
class Product:
    """A matrix product between issue and retirement, with what its slots held at issue."""

    mma: Mma
    slots: tuple[tuple[SlotKey, int], ...]


@dataclass(slots=True, eq=False)
class Store:
    """A bulk store that has not read its staging copy yet."""

    step: Step
    source: BufferCopy


@dataclass(slots=True, eq=False)
class Agent:
    """One instance of a role in one CTA.

    ``groups`` and ``store_groups`` hold what is unfinished of every closed group, oldest first;
    ``unsettled`` are registers whose last ordinary access matrix products may not see.
    """

    plan: AgentPlan
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
    staging: dict[BufferCopy, StagingCopy] = field(default_factory=dict)
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

    def copy(self, which: BufferCopy) -> StagingCopy:
        """A staging copy."""
        return self.staging.setdefault(which, StagingCopy())

    def touch(self, op: Compute) -> None:
        """An op uses its registers: no product may hold them."""
        for product in self.products:
            if product.mma.accumulator in (*op.reads, *op.writes):
                raise Fault("an accumulator is touched in flight")
            if set(product.mma.registers) & set(op.writes):
                raise Fault("an operand register is overwritten in flight")
        self.unsettled.update(op.reads, op.writes)

    def issue(self, product: Product) -> None:
        """A product starts: its registers are settled and nobody writes them."""
        mma = product.mma
        if self.unsettled & {mma.accumulator, *mma.registers}:
            raise Fault("a product takes registers before ordinary accesses settled")
        if any(p.mma.accumulator in mma.registers for p in self.products):
            raise Fault("a product reads an accumulator in flight")
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


def _makes_registers(step: Step) -> bool:
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
