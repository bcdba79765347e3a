"""The kernel's barriers: which places, proven fewest, and how to look among equals.

A window between waves is an arc on the circle of the kernel's data operations; a place is the gap
in front of one of them (of its ``set_prio(1)``, if it has one).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from warploom.document.kinds import Phase
from warploom.guard.counters.stab import Arc, Stabbing, stab
from warploom.guard.counters.text import Act, Text
from warploom.guard.counters.waits import Instance, Windows

Chosen = tuple[int, ...]


class Ranked(Protocol):
    """Anything with a rank; the smallest wins."""

    @property
    def key(self) -> tuple[float, ...]:
        """The rank."""


R = TypeVar("R", bound=Ranked)


@dataclass(frozen=True, slots=True)
class KernelBarriers:
    """The barriers a kernel lacks. ``places`` are item indices; ``stabbing`` counts into them."""

    text: Text
    places: tuple[int, ...]
    arcs: tuple[Arc, ...]
    stabbing: Stabbing

    def applied(self, chosen: Chosen) -> Text:
        """The text with one set of barriers."""
        fronts = [self.text.front(Phase.KERNEL, self.places[c]) for c in chosen]
        return self.text.with_barriers(Phase.KERNEL, fronts)

    def neighbours(self, chosen: Chosen) -> Iterator[Chosen]:
        """Sets of equal size with one barrier moved to the next place before or behind."""
        size = len(self.places)
        for i in range(len(chosen)):
            for step in (-1, 1):
                moved = sorted((*chosen[:i], (chosen[i] + step) % size, *chosen[i + 1 :]))
                if all(sum(a.hits(c, size) for c in moved) >= a.demand for a in self.arcs):
                    yield tuple(moved)

    def best(self, build: Callable[[Text], R], limit: int) -> tuple[R, int]:
        """The best-ranked of at most ``limit`` sets, and how many were built.

        All, if they are so few; else a sample, and from its best one step by step downhill.
        """
        sets = self.stabbing.sets
        if not self.stabbing.complete:
            sets = sets[:: max(1, 2 * len(sets) // limit)]
        built = {chosen: build(self.applied(chosen)) for chosen in sets[:limit]}
        at = min(built, key=lambda c: built[c].key)
        while not self.stabbing.complete:
            before = at
            for chosen in self.neighbours(at):
                if chosen not in built and len(built) < limit:
                    built[chosen] = build(self.applied(chosen))
                if chosen in built and built[chosen].key < built[at].key:
                    at = chosen
            if at == before:
                break
        return built[at], len(built)


def kernel_barriers(windows: Windows, extra: int = 0, limit: int = 64) -> KernelBarriers:
    """The fewest barriers the kernel lacks (or ``extra`` more); sets are listed up to ``limit``."""
    kernel = windows.text.kernel
    places = [
        i
        for i, x in enumerate(kernel)
        if (x.queue is not None and x.act is not Act.WAIT) or x.act is Act.MMA
    ]
    arcs = []
    for i in windows.kernel:
        if i.need.cross:
            program, need = i.program, i.need
            have = program.barriers[need.consumer] - program.barriers[need.producer]
            arcs.append(arc_up_to(i, need.consumer, places, program.demand(need.consumer) - have))
    found = stab(arcs, len(places), extra=extra, limit=limit)
    assert found is not None, "a window ends in front of a data operation, which is a place"
    return KernelBarriers(windows.text, tuple(places), tuple(arcs), found)


def arc_up_to(instance: Instance, last: int, places: list[int], demand: int) -> Arc:
    """The places between a producer and gap ``last``, on the circle of the kernel."""
    program = instance.program
    ordinal = {index: k for k, index in enumerate(places)}
    inside = [
        ordinal[e.index]
        for e in program.elements[instance.need.producer + 1 : last + 1]
        if e.index in ordinal
    ]
    return Arc(inside[0] if inside else 0, len(inside), demand)
