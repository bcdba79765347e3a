"""How many registers an order needs when each value is freed by its last reader.

A value lives from the op that defines it to the last op that reads it (FLOW edges). One that is
read in a later iteration lives from the start of the loop body, and so does the one it replaces: an
accumulator is updated in place. A result nobody reads in the body is kept to its end if a COMPUTE
made it, and dies at once otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warploom.document.kinds import DepKind, OpRole
from warploom.seed.graph.loop_body import LoopBody


@dataclass(frozen=True, slots=True)
class _Value:
    """Registers that are live until every op of ``readers`` (a bit mask) has run."""

    size: int
    readers: int
    in_place: bool  # the reader that ends it writes its own result there


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The values of a body. What is live depends only on which ops have run."""

    defined: tuple[int, ...]  # per op: registers its result takes
    stays: tuple[bool, ...]  # per op: its result outlives it
    read: tuple[tuple[_Value, ...], ...]  # per op: the values it reads
    at_start: int  # registers live before the first op

    @classmethod
    def of(cls, body: LoopBody) -> Lifetimes:
        """Lifetimes by the FLOW edges of a body."""
        n = len(body.ops)
        now, later = [0] * n, [0] * n
        for edge in body.edges:
            if edge.dep_kind is DepKind.FLOW:
                masks = now if edge.loop_distance <= 0 else later
                masks[edge.producer_idx] |= 1 << edge.consumer_idx
        sizes = [node.op.vgpr_def for node in body.ops]
        computes = [node.op.role is OpRole.COMPUTE for node in body.ops]
        kept = tuple(bool(later[i]) or (computes[i] and not now[i]) for i in range(n))
        values = [_Value(sizes[i], now[i], computes[i]) for i in range(n) if not kept[i]]
        values += [_Value(sizes[i], later[i], computes[i]) for i in range(n) if later[i]]
        return cls(
            defined=tuple(sizes),
            stays=tuple(kept[i] or bool(now[i]) for i in range(n)),
            read=tuple(tuple(v for v in values if v.size and v.readers >> i & 1) for i in range(n)),
            at_start=sum(sizes[i] for i in range(n) if later[i]),
        )

    def need(self, op: int, placed: int) -> int:
        """Registers that must be free to run ``op`` after the ops of ``placed``."""
        return self.defined[op] - sum(
            v.size for v in self.read[op] if v.in_place and _ends(v, op, placed)
        )

    def change(self, op: int, placed: int) -> int:
        """By how much the live registers grow once ``op`` has run."""
        own = self.defined[op] if self.stays[op] else 0
        return own - sum(v.size for v in self.read[op] if _ends(v, op, placed))

    def peak(self, order: Sequence[int]) -> int:
        """The most registers live at once when the body runs in ``order``."""
        live = peak = self.at_start
        placed = 0
        for i in order:
            peak = max(peak, live + self.need(i, placed))
            live += self.change(i, placed)
            placed |= 1 << i
        return peak


def _ends(value: _Value, op: int, placed: int) -> bool:
    return value.readers & ~placed == 1 << op


def live_peak(body: LoopBody, order: Sequence[int]) -> int:
    """The most registers live at once when ``body`` runs in ``order``."""
    return Lifetimes.of(body).peak(order)
