"""Wait counts of asynchronous groups: the weakest that still retire what is needed.

The products of one op are one group, committed at once. A step *demands* groups: a release, the
groups that read the slot; ordinary work, the groups that write what it touches or read what it
overwrites. With ``y`` groups committed after the newest demanded one, ``wait_group y`` is the
weakest count that proves it. A position takes the least count over all its executions, and a wait
that the others already cover is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from warploom.guard.mbarrier.expand import Lists, Step, slots_of
from warploom.guard.mbarrier.lifetimes import Over
from warploom.guard.mbarrier.plan import Product, Store, Stores, Work
from warploom.guard.mbarrier.unrolled import Occurrence, Position, runs


@dataclass(frozen=True, slots=True)
class Demand:
    """Before this execution, group number ``group`` must have retired; ``committed`` are out."""

    position: Position
    committed: int
    group: int
    why: str


Trace = list[tuple[Position, int, Demand | None]]


def group_waits(lists: Lists, over: Over | None = None) -> dict[Position, tuple[int, str]]:
    """The count and the reason of the wait in front of each position that needs one.

    ``over``: products that ops rely on to be over, beside what their operands demand.
    """
    traces = [_trace(run, over or {}) for run in runs(lists)]
    demands = [d for trace in traces for _, _, d in trace if d is not None]
    waits: dict[Position, tuple[int, str]] = {}
    for d in demands:
        count = d.committed - d.group - 1
        if d.position not in waits or count < waits[d.position][0]:
            waits[d.position] = (count, d.why)
    for position in sorted(waits, key=_removal_order):
        fewer = {p: w for p, w in waits.items() if p != position}
        if _covered(traces, fewer):
            waits = fewer
    return waits


def _removal_order(position: Position) -> tuple[int, int]:
    return ({"prologue": 0, "epilogue": 1, "kernel": 2}[position[0]], -position[1])


def _covered(traces: list[Trace], waits: dict[Position, tuple[int, str]]) -> bool:
    for trace in traces:
        retired = 0
        for position, committed, demand in trace:
            if position in waits:
                retired = max(retired, committed - waits[position][0])
            if demand is not None and demand.group >= retired:
                return False
    return True


def _trace(run: list[Occurrence], over: Over) -> Trace:
    groups: list[Occurrence] = []
    out: Trace = []
    for occurrence in run:
        wanted = [(g, why) for g, other in enumerate(groups) for why in _needs(occurrence, other)]
        wanted += [(g, w) for g, o in enumerate(groups) for w in _relies(occurrence, o, over)]
        demand = None
        if wanted:
            group, why = max(wanted)
            demand = Demand(occurrence.position, len(groups), group, why)
        out.append((occurrence.position, len(groups), demand))
        if isinstance(occurrence.step.action, Product):
            groups.append(occurrence)
    return out


def _needs(later: Occurrence, earlier: Occurrence) -> Iterator[str]:
    """Why ``later`` may not run while the group of ``earlier`` is in flight."""
    product = earlier.step.action
    assert isinstance(product, Product)
    step = later.step
    if step.is_release:
        read = [s.part for s in slots_of(product) if s.ring == step.ring]
        same = later.tile == earlier.tile if step.once else later.use == earlier.use
        if read and same:
            yield f"{earlier.step.op} must have read {'/'.join(read)} before the slot is released"
        return
    yield from _register_needs(step, product, earlier.step.op)


def _relies(later: Occurrence, earlier: Occurrence, over: Over) -> Iterator[str]:
    """Products whose registers the later op counts on."""
    for op, back in over.get(later.step.op, ()):
        if op == earlier.step.op and earlier.use <= later.use - back:
            yield f"{later.step.op} takes the registers {op} has read"


def _register_needs(step: Step, product: Product, op: str) -> Iterator[str]:
    action = step.action
    touched: set[str] = set()
    written: set[str] = set()
    if isinstance(action, Work):
        touched, written = {*action.reads, *action.writes}, {*action.writes}
    elif isinstance(action, Store | Stores):
        touched = {*action.reads}
    elif isinstance(action, Product):
        touched = {*action.registers}
    if product.accumulator in touched:
        yield f"{op} writes {product.accumulator}, which {step.op} uses"
    for name in sorted(written & {*product.registers}):
        yield f"{op} reads {name}, which {step.op} overwrites"
