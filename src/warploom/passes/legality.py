"""Choices of a config that a kernel's meaning does not allow: refused, never taken silently."""

from __future__ import annotations

from warploom.ir.tile import Carried, Dot, DType, Fn, Given, Pointwise, Store, operands, results
from warploom.passes.body import Body, refusal
from warploom.passes.gather import check_gathered
from warploom.passes.layout import Layout
from warploom.passes.loop_bounds import cut_of, moves
from warploom.passes.multicast import check_cluster
from warploom.passes.smem_budget import COPIED, staged_stores
from warploom.passes.smem_layout import LINE_BYTES
from warploom.passes.split_k import check_near
from warploom.passes.tile_order import differ, takes_turns

SUMS = {Fn.ADD, Fn.MAX, Fn.MIN}


def check_allowed(layout: Layout) -> None:
    """Refuse a walk backwards where order counts, and copies out that would write too much."""
    body, config = layout.body, layout.config
    _check_ends(body)
    check_cluster(layout)
    check_near(layout)
    check_gathered(body, config, layout.rings)
    _check_alternate(layout)
    _check_turns(layout)
    _check_pace(layout)
    if config.serpentine and not any_order(body):
        raise refusal(
            "serpentine: every other tile would walk its loop backwards",
            body.loop.line,
            why="a carried value of this loop depends on the order of the iterations",
            fix="serpentine=False",
        )
    if config.split_k > 1 and (
        body.kernel.grid.kind != "tiles"
        or body.loop.lists
        or body.kernel.grid.order
        or differ(body.kernel, cut_of(body, layout.steps))
    ):
        raise refusal(
            f"the loop of a tile in {config.split_k} parts",
            body.loop.line,
            why="parts are numbered where all tiles exist and have equally many iterations",
            fix="split_k=1",
        )
    for op in staged_stores(layout):
        if body.kernel.grid.kind != "tiles" and not adds_zeros(body, op):
            raise refusal(
                f"copies of whole tiles to '{op.tensor}'",
                op.line,
                why="a tile may reach past the end of its group, where the next one's rows lie",
                fix="store_from_registers=True",
            )
        if is_narrow(layout, op.value, body.kernel.tensor(op.tensor).dtype.bits):
            raise refusal(
                f"copies of tiles narrower than {LINE_BYTES} bytes to '{op.tensor}'",
                op.line,
                why=f"copies out move {LINE_BYTES} bytes of a row",
                fix="store_from_registers=True, or more columns",
            )


def _check_alternate(layout: Layout) -> None:
    """Consumers that take whole tiles in turn share nothing of a tile, with CTAs neither."""
    config, body = layout.config, layout.body
    if config.pingpong == 1:
        return
    why = ""
    if config.consumer_warpgroups > 1:
        why = "a tile is one consumer's"
    elif config.split_k > 1 or takes_turns(body.kernel):
        why = "CTAs meet at a tile in an order that two consumers would not keep"
    elif any(isinstance(op, Given) for op in body.head) or not any(
        isinstance(op, Store) for _, op in body.placed
    ):
        why = "a tile of several loops has rings that only its own loop walks"
    if why:
        fix = "pingpong=1"
        what = f"{config.pingpong} consumers that take tiles in turn"
        raise refusal(what, body.loop.line, why=why, fix=fix)


def _check_turns(layout: Layout) -> None:
    """Consumers take turns at products."""
    body, config = layout.body, layout.config
    if not config.mma_turns or config.consumer_warpgroups == 1:
        return
    why = ""
    if not any(isinstance(op, Dot) for op in body.loop.body):
        why = "this loop has no product"
    elif any(ring.filled for ring in layout.rings):
        why = "a consumer waits for what others hand over, whose turn may be the next one"
    if why:
        what = f"{config.consumer_warpgroups} consumers that take turns on the tensor cores"
        raise refusal(what, body.loop.line, why=why, fix="mma_turns=False")


def _check_pace(layout: Layout) -> None:
    why = why_no_pace(layout) if layout.config.cta_sync_interval else ""
    if why:
        what = f"CTAs that wait for one another every {layout.config.cta_sync_interval} iterations"
        raise refusal(what, layout.body.loop.line, why=why, fix="cta_sync_interval=0")


def why_no_pace(layout: Layout) -> str:
    """CTAs that wait for one another count iterations, which all of them must have alike."""
    body = layout.body
    if layout.config.split_k > 1:
        return "parts of a loop count in the same memory"
    if body.loop.until or body.loop.start or body.loop.lists:
        return "loops of tiles may differ in length"
    if cut_of(body, layout.steps) is not None or any(isinstance(op, Given) for op in body.head):
        return "loops of tiles may differ in length, or come one after another"
    return ""


def _check_scatter(body: Body, op: Store) -> None:
    """Threads know where their rows go one by one; columns go where a variable says."""
    walked = body.values[op.value].vars
    for at in op.at:
        made = body.values[at.value] if at.value is not None else None
        if made is not None and made.dims and made.vars != walked[:1]:
            raise refusal(
                f"'{op.tensor}' is stored by an index computed for every '{made.vars[0]}'",
                op.line,
                why="a thread stores neighbouring columns of a row: only rows may be scattered",
                fix=f"an axis more for what lies between: {op.tensor}: "
                f"wl.Out[..., '{made.vars[0]}', 'u'] and {op.tensor}[..., {made.vars[0]}, 1] = ...",
            )
        if made is not None and made.dims and op in body.loop.body:
            raise refusal(
                f"rows of '{op.tensor}' are scattered inside the loop",
                op.line,
                why="steps of a loop store tiles that lie together; rows are scattered after it",
                fix="store them after the loop",
            )


def _check_ends(body: Body) -> None:
    """Stores have types that threads write."""
    for op in (*body.loop.body, *body.tail):
        if not isinstance(op, Store):
            continue
        kind, dims = body.kernel.tensor(op.tensor).dtype, len(body.values[op.value].dims)
        others = kind in (DType.I32, DType.I8, DType.E4M3, DType.E5M2) and not op.add
        if kind not in COPIED and not (others and (dims == 1 or op in body.tail)):
            raise refusal(
                f"'{op.tensor}' of type {kind} is stored",
                op.line,
                why="loops write tiles of f32, bf16 and f16; i32, i8 and fp8 are written after",
                fix="store it after the loop, or as one of these types",
            )
        _check_scatter(body, op)
        if op.add and dims == 1 and kind is not DType.F32:
            raise refusal(
                f"a vector is added to '{op.tensor}' of type {kind}",
                op.line,
                why="elements of vectors are added one by one, in f32",
                fix="an output of type f32",
            )


def is_narrow(layout: Layout, value: str, bits: int) -> bool:
    """Whether a tile's rows are shorter than what a copy out moves."""
    return layout.extent(layout.body.values[value].dims[1].var) * bits < 8 * LINE_BYTES


def any_order(body: Body) -> bool:
    """Whether iterations may run in any order: carried values are sums, maxima or minima of what
    iterations compute by themselves, and none is stored on the way.
    """
    bound = {c.inside.name for c in body.loop.carried}
    for op in body.loop.body:
        if set(operands(op)) & bound:
            if isinstance(op, Store):
                return False
            bound |= {v.name for v in results(op)}
    return all(_gathers(body, c, bound) for c in body.loop.carried)


def _gathers(body: Body, c: Carried, bound: set[str]) -> bool:
    """Whether all that is done to a carried value is one kind of sum, step after step."""
    name, kinds = c.last, set[Fn]()
    while name != c.inside.name:
        op = body.ops.get(name)
        if isinstance(op, Dot) and op.into in bound:
            rest, kind = {op.a, op.b}, Fn.ADD
            name = op.into
        elif isinstance(op, Pointwise) and op.fn in SUMS and len(set(op.args)) == 2:
            kind, mine = op.fn, [a for a in op.args if a in bound]
            rest, name = set(op.args) - set(mine[:1]), (mine or [""])[0]
        else:
            return False
        kinds.add(kind)
        if rest & bound or len(kinds) > 1:
            return False
    return True


def adds_zeros(body: Body, op: Store) -> bool:
    """Whether a sum adds nothing past the end of its rows: products of what is hidden there."""
    dot = body.ops.get(op.value)
    if not op.add or not isinstance(dot, Dot) or dot.result.vars[0] != body.loop.var:
        return False
    left = body.ops.get(body.through(dot.a)[0])
    return (
        isinstance(left, Pointwise)
        and left.fn is Fn.WHERE
        and body.is_zero(left.args[2])
        and moves(body, left.args[0])
    )
