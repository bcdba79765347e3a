"""The work of a kernel that its masks, bounds and groups leave: what ``bench`` counts.

A product counts the elements that exist in every tile and step; inside a loop whose elements a
condition hides (``where(visible, x, 0.0)``), it counts the share that is seen.
"""

from collections.abc import Iterator, Mapping
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from warploom.frontend.reference import STEP, Run, tiles_of
from warploom.ir import tile as ir
from warploom.ir.tile import Fn, Kernel, Op, Walk, is_number, operands, results, walk

UNITS = 64  # batches and heads that are looked at; more are taken to be like those


def visible_flop(kernel: Kernel, sizes: Mapping[str, int], numbers: Mapping[str, Any]) -> float:
    """Operations of all products of elements that are seen; ``numbers``: inputs that decide."""
    found = _Count(kernel, dict(numbers), dict(sizes), {}, True, {})
    moving = [n for n in kernel.grid.vars if found.matters(n)]
    alike = 1.0
    if kernel.grid.kind != "groups":
        others = [
            n for n in kernel.grid.vars if n not in moving and kernel.var(n).walk is Walk.UNIT
        ]
        alike = prod(sizes[kernel.var(n).axis] for n in others)
        found.lengths |= dict.fromkeys((kernel.var(n).axis for n in others), 1)
    tiles = list(tiles_of(found))
    looked_at = tiles[:: max(1, len(tiles) // UNITS)]
    for spans in looked_at:
        found.spans, found.values = spans, {}
        found.ops(kernel.ops)
    return found.total * alike * len(tiles) / max(1, len(looked_at))


class _Count(Run):
    """A run that computes only what decides which elements are seen, and counts products."""

    def __init__(self, *given: Any) -> None:  # noqa: ANN401
        super().__init__(*given)
        self.total = 0.0
        self.made = {v.name: op for op in walk(self.kernel.ops) for v in results(op)}
        values = [v for op in walk(self.kernel.ops) for v in results(op)]
        values += [c.inside for loop in self.kernel.loops for c in loop.carried]
        self.shapes = {v.name: v.dims for v in values}
        wanted = [b for loop in self.kernel.loops for b in (loop.start, loop.until) if b]
        wanted += [op.args[0] for loop in self.kernel.loops for op in self.masks(loop)]
        self.needed: set[str] = set()
        while wanted:
            name = wanted.pop()
            if name not in self.needed:
                self.needed.add(name)
                wanted += operands(self.made[name])

    def masks(self, loop: ir.Loop) -> Iterator[ir.Pointwise]:
        """Conditions on indices along the loop under which elements count."""
        for op in walk(loop.body):
            if isinstance(op, ir.Pointwise) and op.fn is Fn.WHERE and self._is_nothing(op.args[2]):
                leaves = list(self._leaves(op.args[0]))
                along = any(
                    isinstance(x, ir.Indices | ir.Position) and x.var == loop.var for x in leaves
                )
                if along and all(self._is_known(x) for x in leaves):
                    yield op

    def _is_nothing(self, name: str) -> bool:
        op = self.made.get(name)
        if isinstance(op, ir.Broadcast):
            return self._is_nothing(op.arg)
        return isinstance(op, ir.Const) and op.value in (0.0, float("-inf"))

    def _leaves(self, name: str) -> Iterator[Op | None]:
        op = self.made.get(name)
        if op is None or isinstance(op, ir.Load) or not operands(op):
            yield op
        for arg in operands(op) if op is not None else ():
            yield from self._leaves(arg)

    def _is_known(self, op: Op | None) -> bool:
        return op is not None and (not isinstance(op, ir.Load) or op.tensor in self.memory)

    def _rows(self, dims: tuple[ir.Dim, ...]) -> int:
        """How many grid variables a mask is of: scores have rows, operands of the loop none."""
        return sum(d.var in self.kernel.grid.vars for d in dims)

    def matters(self, var: str) -> bool:
        """Whether what is seen differs along a variable of the grid."""
        for name in self.needed:
            op = self.made[name]
            if isinstance(op, ir.Position | ir.Indices) and op.var == var:
                return True
            if isinstance(op, ir.Load) and any(at.var == var for at in op.at):
                return True
        return False

    def ops(self, ops: tuple[Op, ...]) -> None:
        """Count the products here and in loops."""
        self.decide(ops)
        self.count(ops, 1.0)
        for op in ops:
            if isinstance(op, ir.Loop):
                self.loop(op)

    def decide(self, ops: tuple[Op, ...]) -> None:
        """Compute what decides."""
        for op in ops:
            if not isinstance(op, ir.Loop | ir.Store) and op.result.name in self.needed:
                self.keep(op.result, self.compute(op))

    def count(self, ops: tuple[Op, ...], share: float) -> None:
        """Add the products."""
        for op in ops:
            if isinstance(op, ir.Dot):
                dims = {d.var: d for n in (op.a, op.b) for d in self.shapes[n]}
                self.total += 2.0 * share * prod(self.length(d) for d in dims.values())

    def loop(self, op: ir.Loop) -> None:
        """Its steps, each with the share of elements that its conditions leave."""
        masks = list(self.masks(op))
        if masks:  # scores are hidden once; an operand cleared beside them hides nothing more
            shape = max((m.result.dims for m in masks), key=self._rows)
            masks = [m for m in masks if m.result.dims == shape]
        var = self.kernel.var(op.var)
        first = max(0, int(self.values[op.start][1])) if op.start else 0
        end = self.lengths[var.axis]
        end = min(end, int(self.values[op.until][1])) if op.until else end
        step = var.extent or STEP  # products of steps that are numbers do not tell their number
        step = step if masks or is_number(var) else max(1, end - first)
        for at in range(first, end, step):
            self.spans[op.var] = (at, min(at + step, end))
            self.decide(op.body)
            self.count(op.body, self._share(masks))

    def _share(self, masks: list[ir.Pointwise]) -> float:
        """The share of elements that all conditions leave; each may have variables of its own."""
        order = list(dict.fromkeys(d.var for m in masks for d in m.result.dims))
        seen = []
        for mask in masks:
            own = np.asarray(self.over(mask.args[0], mask.result.dims))
            names = [d.var for d in mask.result.dims]
            lengths = dict(zip(names, own.shape, strict=True))
            by_order = own.transpose([names.index(v) for v in order if v in lengths])
            seen.append(by_order.reshape([lengths.get(v, 1) for v in order]))
        return float(np.mean(reduce(np.logical_and, seen))) if seen else 1.0
