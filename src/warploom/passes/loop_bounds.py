"""Which iterations of the loop a tile needs, and which of them hide nothing.

A condition that hides elements (``where(visible, x, -inf)``) is, where possible, a conjunction of
comparisons that are affine in indices: ``sign * t + slope * s + rest >= 0`` with the loop's index
t, the rows' index s, and a rest that is the same for the whole tile. Such a condition cuts the loop
to a range of iterations and splits it into a part where every element is seen and parts where some
are hidden. Other conditions cut nothing: what the affine ones leave is visited with its mask.
"""

from __future__ import annotations

from collections.abc import Iterator

from warploom.dataclass import dataclass
from warploom.ir.affine import Affine, apply_affine
from warploom.ir.dataflow import When
from warploom.ir.tile import (
    Access,
    Broadcast,
    Const,
    Dim,
    Fn,
    Indices,
    Load,
    Pointwise,
    Size,
    Store,
    Whole,
)
from warploom.ir.types import BLOCK_ROWS
from warploom.passes.body import Body
from warploom.passes.fuse import Step
from warploom.passes.layout import Layout
from warploom.passes.predication import leaves_no_trace

BEGIN = 4  # elements: copies of vectors begin at whole 16 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What hides elements of the loop: comparisons ``affine >= 0`` that all must hold.

    ``known`` false: something else hides elements too, so that no iteration hides nothing. Of a
    loop over lists of tiles no range is cut; ``known`` is then whether tiles listed as whole are.
    """

    row: str | None
    bounds: tuple[Affine, ...]
    known: bool

    @property
    def below(self) -> tuple[Affine, ...]:
        """Bounds that the loop's index must exceed."""
        return tuple(a for a in self.bounds if a.loop > 0)

    @property
    def above(self) -> tuple[Affine, ...]:
        """Bounds that it must stay under."""
        return tuple(a for a in self.bounds if a.loop < 0)


def cut_of(body: Body, steps: tuple[Step, ...]) -> Cut | None:
    """The conditions of all tiles of the loop that hide elements along it; None: none do."""
    found: list[tuple[str | None, list[Affine], bool]] = []
    listed = body.loop.lists
    for step in steps:
        if step.when is not When.LOOP:
            continue
        for op in step.ops:
            if isinstance(op, Pointwise) and op.fn is Fn.WHERE and moves(body, op.args[0]):
                hides = _hides(body, op) and step.cols == body.loop.var
                parts = list(comparisons(body, op.args[0], step.rows))
                known_parts = [b for b in parts if b is not None]
                exact = hides and len(known_parts) == len(parts)
                if listed:
                    exact = all(_holds_in_whole(body, n) for n in _conjuncts(body, op.args[0]))
                found.append((step.rows, known_parts if hides else [], exact))
    if not found:
        return None
    rows = {r for r, _, _ in found}
    cuts = len(rows) == 1 and _reduces(body, steps)
    bounds = tuple(a for _, b, _ in found for a in b)
    known = cuts and all(exact for _, _, exact in found)
    if any(t.access is Access.TURNS for t in body.kernel.tensors) and any(
        a.loop < 0 or a.rows > 0 for a in bounds
    ):  # in turn: who visits a part of the loop is known from where its tile begins
        bounds, known = tuple(a for a in bounds if a.loop > 0 and a.rows <= 0), False
    return Cut(row=next(iter(rows)), bounds=bounds if cuts and not listed else (), known=known)


def _holds_in_whole(body: Body, name: str) -> bool:
    """Whether a condition holds in tiles listed as whole that do not cross the end of their axis:
    it says so itself, or it is that end.
    """
    op = body.ops.get(name)
    if isinstance(op, Pointwise) and op.fn is Fn.OR:
        return any(isinstance(body.ops.get(a), Whole) for a in op.args)
    (part,) = comparisons(body, name, None)
    if part is None or (part.loop, part.rows, part.constant) != (-1, 0, -1):
        return False
    size = body.ops.get(part.rest[0][1]) if len(part.rest) == 1 else None
    axis = body.kernel.var(body.loop.var).axis
    return isinstance(size, Size) and size.axis == axis and part.rest[0][0] == 1


def _reduces(body: Body, steps: tuple[Step, ...]) -> bool:
    """Whether a hidden element leaves no trace: no carried tile lives along the loop's index."""
    return all(Dim(body.loop.var) not in c.inside.dims for c in body.loop.carried) and bool(steps)


def begins_at(body: Body, extent: int) -> int:
    """The elements at whose multiples a loop with tiles of ``extent`` may begin.

    Copies of vectors begin at whole 16 bytes, and sums in blocks lie in whole blocks of rows. Loads
    by blocks of elements and sums added in turn, which are counted by tile, need whole tiles.
    """
    loop, kernel = body.loop.var, body.kernel
    loads = (op for op in body.loop.body if isinstance(op, Load))
    if any(d.per > 1 for op in loads for d in op.result.dims if d.var == loop):
        return extent
    if any(t.access is Access.TURNS for t in kernel.tensors):
        return extent
    sums = (op for op in body.loop.body if isinstance(op, Store))
    return BLOCK_ROWS if any(kernel.tensor(op.tensor).blocked for op in sums) else BEGIN


def moves(body: Body, name: str) -> bool:
    """Whether a condition depends on the loop's index."""
    op = body.ops.get(name)
    if isinstance(op, Indices | Whole):
        return op.var == body.loop.var
    if isinstance(op, Load):
        along = any(at.var == body.loop.var for at in op.at)
        return along or any(moves(body, at.value) for at in op.at if at.value is not None)
    args = op.args if isinstance(op, Pointwise) else (op.arg,) if isinstance(op, Broadcast) else ()
    return any(moves(body, a) for a in args)


def _hides(body: Body, op: Pointwise) -> bool:
    """Whether elements that fail a condition count for nothing."""
    if body.is_zero(op.args[2]):
        return leaves_no_trace(body, op.result.name)
    return body.is_lowest(op.args[2])


def _conjuncts(body: Body, name: str) -> Iterator[str]:
    """The conditions that all must hold."""
    op = body.ops.get(name)
    if isinstance(op, Pointwise) and op.fn is Fn.AND:
        for arg in op.args:
            yield from _conjuncts(body, arg)
    else:
        yield name


def comparisons(body: Body, name: str, rows: str | None) -> Iterator[Affine | None]:
    """The comparisons of a conjunction; None for one that is not affine."""
    for part in _conjuncts(body, name):
        yield _comparison(body, part, rows)


def _comparison(body: Body, name: str, rows: str | None) -> Affine | None:
    op = body.ops.get(name)
    if not isinstance(op, Pointwise) or op.fn not in (Fn.LT, Fn.LE, Fn.GT, Fn.GE):
        return None
    left, right = (_affine(body, a, rows) for a in op.args)
    if left is None or right is None:
        return None
    less = op.fn in (Fn.LT, Fn.LE)
    gap = right.plus(left, -1) if less else left.plus(right, -1)
    strict = op.fn in (Fn.LT, Fn.GT)
    gap = gap.plus(Affine(constant=1), -1) if strict else gap
    return gap if abs(gap.loop) <= 1 else None


def _affine(body: Body, name: str, rows: str | None) -> Affine | None:  # noqa: PLR0911
    op = body.ops.get(name)
    value = body.values[name]
    if isinstance(op, Indices):
        if op.var == body.loop.var:
            return Affine(loop=1)
        return Affine(rows=1) if op.var == rows else None
    if isinstance(op, Const) and isinstance(op.value, int):
        return Affine(constant=op.value)
    if isinstance(op, Broadcast):
        return _affine(body, op.arg, rows)
    if not value.dims and body.is_free(name):
        return Affine(rest=((1, name),))
    if not isinstance(op, Pointwise):
        return None
    args = [_affine(body, a, rows) for a in op.args]
    if any(a is None for a in args):
        return None
    known = [a for a in args if a is not None]
    return apply_affine(op.fn, known)


def fewest_trips(layout: Layout) -> int:
    """The fewest iterations that the code runs for a tile, whatever the sizes.

    Steps of one element up to a bound may be none. All other loops run one step at least; where a
    tile has none of its own, that step lies past the end and takes no part in anything.
    """
    loop = layout.body.loop
    single = layout.extent(loop.var) * loop.times == 1
    return 0 if single and loop.until and not loop.lists else 1
