"""Clusters: CTAs with neighbouring rows of tiles fetch what they share once.

``KernelConfig.cluster`` CTAs take tiles one below the other. A tile of the loop that does not
depend on
the rows is the same for all of them: each fetches a share of its rows into the shared memory of
every CTA, so the copy engine of an SM makes that many times fewer requests.
"""

from __future__ import annotations

from warploom.ir.tile import Kernel, Load, Walk
from warploom.passes.body import refusal
from warploom.passes.layout import Layout
from warploom.passes.loop_bounds import cut_of
from warploom.passes.smem_layout import SlotTile

SHARE_ROWS = 8  # rows after which the swizzle of a tile begins anew
SIZES = (1, 2, 4)


def row_variable(kernel: Kernel) -> str | None:
    """The rows of tiles that lie in a plane; None where tiles do not."""
    tiled = [n for n in kernel.grid.vars if kernel.var(n).walk is Walk.TILE]
    return tiled[0] if kernel.grid.kind == "tiles" and len(tiled) == 2 else None


def sharers(layout: Layout, tile: SlotTile) -> int:
    """How many CTAs fetch a tile of a slot together."""
    op = layout.body.ops.get(tile.value)
    if layout.config.cluster == 1 or not isinstance(op, Load) or tile.vector:
        return 1
    if op not in layout.body.loop.body:
        return 1
    walked = {a.var for a in op.at} | set(op.result.vars)
    return 1 if row_variable(layout.body.kernel) in walked else layout.config.cluster


def check_cluster(layout: Layout) -> None:
    """Refuse clusters where CTAs do not walk together, or share nothing."""
    size, body = layout.config.cluster, layout.body
    if size == 1:
        return
    why = ""
    tiles = [t for r in layout.rings for t in r.tiles if sharers(layout, t) > 1]
    if size not in SIZES:
        why = f"clusters have {', '.join(map(str, SIZES))} CTAs"
    elif row_variable(body.kernel) is None:
        why = "CTAs of a cluster take tiles of a plane, one below the other"
    elif body.loop.until or body.loop.start or cut_of(body, layout.steps) is not None:
        why = "their loops may differ in length"
    elif not tiles:
        why = "no tile of the loop is the same for all rows"
    elif any(t.narrow or t.rows % (SHARE_ROWS * size) for t in tiles):
        why = f"shares of a tile are multiples of {SHARE_ROWS} whole rows"
    if why:
        raise refusal(f"clusters of {size} CTAs", body.loop.line, why=why, fix="cluster=1")
