"""Rows that a few neighbouring lanes share: which lane holds which element.

Kernels without a loop take whole rows of 64, 128 or 256 elements. A lane holds eight neighbours of
a row, so 8 to 32 lanes of a warp share one; the 256 threads of a CTA take several rows at a time.

Tensors in blocks of 16 rows and 8 columns (as accumulators of the tensor core lie) are read and
filled as the blocks lie. Two rows, eight apart, share bytes of a block: such a pair is one number.
"""

from __future__ import annotations

from collections.abc import Mapping

from warploom.ir.expr import Expr, IntExpr, Sym, SymKind, lift, product, size
from warploom.ir.operations import FragmentIndex, FragmentLayout
from warploom.ir.tile_schedule import TILE, TileSchedule

THREADS = 256
EACH = 8  # elements of a lane
LENGTHS = (64, 128, 256)
BLOCK_ROWS, PAIRS = 16, 8

ROW, COL = Sym(SymKind.ELEMENT, "row"), Sym(SymKind.ELEMENT, "col")
THREAD = Sym(SymKind.THREAD, "tid")
J, N, U, Q, UP = (Sym(SymKind.FRAGMENT, n) for n in ("j", "n", "u", "q", "up"))

IN_ROW = (FragmentIndex(name="j", extent=EACH),)
IN_PAIR = (FragmentIndex(name="up", extent=2), *IN_ROW)
IN_BLOCKS = tuple(FragmentIndex(name=n, extent=e) for n, e in (("n", 4), ("u", 2), ("q", 2)))


def position(var: str) -> str:
    """The value that holds where a row lies along a variable; no author's name has a dot."""
    return f"pos.{var}"


def row_counts(schedule: TileSchedule) -> Mapping[str, IntExpr]:
    """Numbers along every variable of the rows; of the last one pairs of rows, where blocks are."""
    result: dict[str, IntExpr] = {axis.var: size(axis.axis) for axis in schedule.units}
    if schedule.paired:
        last = schedule.units[-1].var
        result[last] = lift((result[last] + (BLOCK_ROWS - 1)) // BLOCK_ROWS * PAIRS)
    return result


def row_numbers(schedule: TileSchedule) -> Mapping[str, IntExpr]:
    """Which of its numbers a variable has in the row (or pair) at hand, the last one first."""
    counts = row_counts(schedule)
    rest: Expr = ROW
    result: dict[str, IntExpr] = {}
    for n, axis in reversed(list(enumerate(schedule.units))):
        result[axis.var] = lift(rest % counts[axis.var] if n else rest)
        rest = rest // counts[axis.var]
    return result


def row_exists(schedule: TileSchedule) -> IntExpr:
    """Whether there is such a row (or pair)."""
    return lift(product(list(row_counts(schedule).values())) > ROW)


def lanes_of(schedule: TileSchedule) -> int:
    """How many lanes share a row."""
    return THREADS // schedule.rows


def in_rows(schedule: TileSchedule) -> FragmentLayout:
    """Eight neighbours of a row, or of both rows of a pair."""
    lanes = lanes_of(schedule)
    indices = IN_PAIR if schedule.paired else IN_ROW
    return _layout(schedule, indices, THREAD % lanes * EACH + J)


def in_blocks(schedule: TileSchedule) -> FragmentLayout:
    """Elements of four blocks side by side, as accumulators lie in them."""
    lanes = lanes_of(schedule)
    here = _pair(schedule) % PAIRS * lanes + THREAD % lanes
    return _layout(schedule, IN_BLOCKS, (here // 32 * 4 + N) * 8 + THREAD % 32 % 4 * 2 + Q)


def along_blocks(schedule: TileSchedule) -> tuple[FragmentLayout, IntExpr]:
    """Blocks as they lie in memory, 16 bytes of a lane after those of the lane before it; and the
    row of an element.
    """
    lanes, pair = lanes_of(schedule), _pair(schedule)
    lane = THREAD % lanes
    offset = 4 * (PAIRS * lanes * N + pair % PAIRS * lanes + lane) + 2 * U + Q
    within = offset % 128
    col = offset // 128 * 8 + within // 4 % 4 * 2 + Q
    row = pair // PAIRS * BLOCK_ROWS + within // 4 // 4 + 8 * U
    return _layout(schedule, IN_BLOCKS, col), lift(row)


def last_position(schedule: TileSchedule, layout: FragmentLayout) -> IntExpr:
    """Where an element lies along the last variable."""
    pair = _pair(schedule)
    if layout.indices == IN_PAIR:
        return lift(pair // PAIRS * BLOCK_ROWS + pair % PAIRS + 8 * UP)
    if layout.indices == IN_BLOCKS:
        return lift(pair // PAIRS * BLOCK_ROWS + THREAD % 32 // 4 + 8 * U)
    return lift(pair)


def _pair(schedule: TileSchedule) -> IntExpr:
    return row_numbers(schedule)[schedule.units[-1].var]


def _layout(
    schedule: TileSchedule, indices: tuple[FragmentIndex, ...], col: Expr
) -> FragmentLayout:
    row = TILE * schedule.rows + THREAD // lanes_of(schedule)
    return FragmentLayout(indices=indices, register=lift(0), row=lift(row), col=lift(col))
