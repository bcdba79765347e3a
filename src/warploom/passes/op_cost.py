"""Price: what each op of the loop takes on the chip.

Products are priced by the tensor cores' rate, copies by measured latencies, steps by counting the
instructions of one element on the pipe that runs them.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.ir.elementwise import ELEMENTWISE
from warploom.ir.tile import Dot, DType, Fn, Pointwise, Reduce
from warploom.passes.fuse import Step
from warploom.passes.layout import Layout
from warploom.passes.loop_bounds import cut_of, moves
from warploom.passes.smem_layout import SlotRing
from warploom.targets.h200 import WGMMA_ROWS, HopperTarget

UNPACKED = 2.0  # instructions for an element that comes out of a byte


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cycles: on the unit, until the result is usable, and on the warps' own stream.

    ``pieces``: instructions of a group of products, of all consumers, each of ``piece`` cycles.
    """

    unit: str
    occupancy: int
    latency: int
    issue: int
    also: tuple[tuple[str, int], ...] = ()
    pieces: int = 0
    piece: int = 0


def beside_products(cost: Cost, target: HopperTarget) -> float:
    """How many times as long vector work takes while another warpgroup's products run.

    Both want the registers' ports: maxima and sums lose most, exponentials least.
    """
    busy, rates = dict([(cost.unit, cost.occupancy), *cost.also]), target.vector
    alu, mufu = busy.get("alu", 0), busy.get("mufu", 0)
    if cost.unit not in ("alu", "mufu") or not max(alu, mufu):
        return 1.0
    return (alu * rates.alu_beside + mufu * rates.mufu_beside) / max(alu, mufu)


def slowed(cost: Cost, target: HopperTarget) -> Cost:
    """The same op beside another warpgroup's products: its warps take longer, its unit does not."""
    factor = beside_products(cost, target)
    more = round(cost.issue * (factor - 1.0))
    return replace(cost, issue=cost.issue + more, latency=cost.latency + more)


def unqueued(cost: Cost) -> Cost:
    """The same where issuing products takes nobody's time."""
    return replace(cost, issue=0) if cost.pieces else cost


def product_cost(layout: Layout, op: Dot, target: HopperTarget, consumers: int) -> Cost:
    """The products of ``consumers`` warpgroups."""
    body = layout.body
    a, _ = body.through(op.a)
    bits = body.values[a].dtype.bits
    depth = layout.extent(body.values[op.a].dims[1].var) * bits // 256
    blocks = layout.array_of(op.result.name).blocks
    n = layout.array_of(op.result.name).cols
    held = in_registers(layout, op)
    piece, own = target.wgmma_interval(n, a_in_registers=held), blocks * depth
    busy = consumers * own * piece
    return Cost(
        unit="tensor",
        occupancy=busy,
        latency=busy + target.tensor_drain,
        issue=own * target.product_issue(piece),
        pieces=consumers * own,
        piece=piece,
    )


def in_registers(layout: Layout, op: Dot) -> bool:
    """Whether a product's left operand is in registers."""
    return layout.left_in_registers(op)


def step_cost(layout: Layout, step: Step, target: HopperTarget, consumers: int) -> Cost:
    """The vector work of ``consumers`` warpgroups."""
    rates = target.vector
    cols = layout.extent(step.cols) if step.cols else 4
    share = (
        layout.extent(step.rows) // layout.config.consumer_warpgroups if step.rows else WGMMA_ROWS
    )
    elements = consumers * share * cols
    muls, compares, exps = _count(step)
    muls += UNPACKED * sum(layout.body.values[v].dtype.bits == 8 for v in step.loads)
    mufu = round(elements * exps / rates.ex2)
    alu = round(elements * (compares / rates.max + muls / rates.fma))
    reduces = any(isinstance(op, Reduce) and op.fn is not Fn.ADD for op in step.ops)
    tail = target.tiles.step_tail + target.tiles.shuffle_tail * reduces
    busy, unit, other = max((mufu, "mufu", alu), (alu, "alu", mufu))
    also = ((("alu" if unit == "mufu" else "mufu"), other),) if other else ()
    own = -(-busy // consumers)
    return Cost(unit=unit, occupancy=max(busy, 1), latency=busy + tail, issue=own, also=also)


def usual_cost(layout: Layout, step: Step, target: HopperTarget) -> Cost:
    """The vector work of one warpgroup in most iterations, which hide no element by a mask and
    find factors of 1: schedules are made for the others, too. Row maxima stand still until all of
    a row have answered.
    """
    if scaled_rows(layout, step) is not None:
        tail, asked = target.tiles.step_tail, target.vector.scaled_by_ones
        return Cost(unit="alu", occupancy=0, latency=asked + tail, issue=asked)
    cut = cut_of(layout.body, layout.steps)
    plain = cut is None or cut.known
    ops = tuple(op for op in step.ops if not plain or not _hides(layout, op))
    cost = step_cost(layout, replace(step, ops=ops), target, 1)
    if not any(isinstance(op, Reduce) and op.fn is not Fn.ADD for op in ops):
        return cost
    more = target.vector.row_answer
    return replace(
        cost,
        occupancy=cost.occupancy + more,
        issue=cost.issue + more,
        latency=cost.latency + more,
    )


def scaled_rows(layout: Layout, step: Step) -> tuple[str, str] | None:
    """The tile that a step does nothing but multiply in its place, and the factors of its rows."""
    homes, op = dict(layout.homes), next(iter(step.ops), None)
    if len(step.ops) != 1 or not isinstance(op, Pointwise) or op.fn is not Fn.MUL:
        return None
    kept = [(a, len(layout.body.values[a].dims)) for a in op.args if a in homes]
    rows = [a for a, axes in kept if axes == 1]
    tiles = [a for a, axes in kept if axes == 2 and homes[a] == homes.get(op.result.name)]
    return (homes[tiles[0]], homes[rows[0]]) if len(rows) == len(tiles) == 1 else None


def _hides(layout: Layout, op: object) -> bool:
    """Whether an op belongs to a mask along the loop."""
    if not isinstance(op, Pointwise):
        return False
    mask = op.args[0] if op.fn is Fn.WHERE else op.result.name
    return (op.fn is Fn.WHERE or op.result.dtype is DType.BOOL) and moves(layout.body, mask)


def _count(step: Step) -> tuple[float, float, float]:
    """Multiply-adds, compares and exponentials of one element."""
    muls = compares = exps = 0.0
    for op in step.ops:
        if isinstance(op, Reduce):
            compares += {Fn.MAX: 0.5, Fn.MIN: 1.0}.get(op.fn, 0.0)  # two maxima an instruction
            muls += op.fn is Fn.ADD
        elif isinstance(op, Pointwise) and len(op.result.dims) == 2:
            cost = ELEMENTWISE[op.fn].cost
            packs = op.fn is Fn.CAST and op.result.dtype is not DType.F32
            muls, exps = muls + cost.fma, exps + cost.mufu
            compares += 0.5 if packs else cost.alu
    return muls, compares, exps


def load_cost(ring: SlotRing, target: HopperTarget, fetched: int) -> Cost:
    """The copies that fill one slot; ``fetched``: bytes of them that this CTA asks for."""
    box = max(t.bytes for t in ring.tiles)
    return Cost(
        unit="copy engine",
        occupancy=int(fetched / target.l2_bytes_per_cycle),
        latency=target.load_latency(box),
        issue=len(ring.tiles) * target.sync.tma_issue,
    )
