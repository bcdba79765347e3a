"""Meet: how the parts of a split loop become the state one loop would have left.

Several CTAs each run a part of a tile's loop (``KernelConfig.split_k``). A carried sum is the sum
of what the parts left. Sums that are rescaled whenever a running maximum moves are brought to the
highest of the parts' maxima first: the factor is the one the text itself uses, and the rule of
charges says that results do not depend on the reference. Anything else carried cannot be split.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.errors import GeometryError
from warploom.ir.mbarrier_dialect import (
    BulkCommit,
    BulkStore,
    BulkWait,
    Compute,
    ProxyFence,
    RoleProgram,
    RolesDocument,
    ScopeSync,
)
from warploom.ir.tile import Carried, Dot, DType, Fn, Op, Pointwise, operands
from warploom.passes.body import Body, made_by, refusal
from warploom.passes.cost_terms import shift_is_harmless
from warploom.passes.layout import Array, Form, Layout
from warploom.passes.loop_bounds import cut_of
from warploom.passes.tile_order import differ

MEET = "meet"
OWN = Compute | BulkStore | BulkWait | BulkCommit | ProxyFence | ScopeSync
GROUP_THREADS = 128
QUAD_BYTES = 16
BARRIER_BYTES = 8
NEAR = (2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """``top``: the carried maximum, if there is one. ``sums``: (carried sum, whether rescaled)."""

    top: Carried | None
    sums: tuple[tuple[Carried, bool], ...]


def meeting_of(body: Body) -> Meeting:
    """How parts of the loop meet; refuses loops that do not come apart."""
    defined = {n: op for op in body.loop.body if (n := made_by(op)) is not None}
    for c in body.loop.carried:
        if c.inside.dtype is DType.I32:
            raise _apart(body, f"'{c.result.name}' is a whole number, and parts meet as floats")
    tops = [c for c in body.loop.carried if _is_maximum(defined, c)]
    top = tops[0] if tops else None
    if len(tops) > 1 or (top and not shift_is_harmless(body.kernel, body.loop, top)):
        raise _apart(body, "results depend on the running maximum itself")
    sums = []
    for c in body.loop.carried:
        if c is top:
            continue
        factors = _factors(body, defined, c)
        if factors is None or not body.is_zero(c.first):
            raise _apart(body, f"'{c.result.name}' is not a sum that begins at 0")
        if factors and not (top and len(factors) == 1 and _rescales(defined, factors[0], top)):
            raise _apart(body, f"'{c.result.name}' is multiplied by what no part knows")
        allowed = {top.inside.name} if top and factors else set()
        if _reached(body, defined, c.last) - allowed - {c.inside.name}:
            raise _apart(body, f"what '{c.result.name}' sums depends on the iterations before")
        sums.append((c, bool(factors)))
    return Meeting(top=top, sums=tuple(sums))


def _apart(body: Body, why: str) -> Exception:
    return refusal(
        "the loop cannot be split over CTAs", body.loop.line, why=why, fix="a config with split_k=1"
    )


def _is_maximum(defined: dict[str, Op], c: Carried) -> bool:
    """max(top, x), or a maximum that moves late: where(x > ..., x, top)."""
    op = defined.get(c.last)
    if not isinstance(op, Pointwise):
        return False
    return (op.fn is Fn.MAX and c.inside.name in op.args) or (
        op.fn is Fn.WHERE and op.args[2] == c.inside.name
    )


def _factors(body: Body, defined: dict[str, Op], c: Carried) -> tuple[str, ...] | None:
    """What a carried value is multiplied by before it is added to; None: it is no such sum."""

    def depends(name: str) -> bool:
        return c.inside.name in _reached(body, defined, name)

    def walk(name: str) -> tuple[str, ...] | None:
        if name == c.inside.name:
            return ()
        op = defined.get(name)
        if isinstance(op, Dot) and op.into is not None and not (depends(op.a) or depends(op.b)):
            return walk(op.into)
        if not isinstance(op, Pointwise) or op.fn not in (Fn.ADD, Fn.MUL):
            return None
        mine, others = ([a for a in op.args if depends(a) is one] for one in (True, False))
        if len(mine) != 1:
            return None
        inner = walk(mine[0])
        if inner is None or op.fn is Fn.ADD:
            return inner
        return (*inner, *others)

    return walk(c.last)


def _rescales(defined: dict[str, Op], name: str, top: Carried) -> bool:
    """Whether a factor is 2^(maximum before - maximum after)."""
    op = defined.get(name)
    if not (isinstance(op, Pointwise) and op.fn is Fn.EXP2):
        return False
    inner = defined.get(op.args[0])
    return (
        isinstance(inner, Pointwise)
        and inner.fn is Fn.SUB
        and inner.args == (top.inside.name, top.last)
    )


def _reached(body: Body, defined: dict[str, Op], name: str) -> set[str]:
    """Carried values that a value of the loop is made of, within one iteration."""
    result: set[str] = set()
    seen: set[str] = set()
    todo = [name]
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        if at in body.inside:
            result.add(at)
        if at in defined:
            todo += operands(defined[at])
    return result


def met_arrays(layout: Layout) -> tuple[Array, ...]:
    """Arrays of the state that parts of a split loop leave; refuses what cannot be split."""
    meeting_of(layout.body)
    homes = dict(layout.homes)
    names = {homes[c.result.name] for c in layout.body.loop.carried}
    result = tuple(a for a in layout.arrays if a.name in names)
    if any(a.by_columns or a.form is Form.PACKED for a in result):
        raise GeometryError(
            "sums that consumers share by columns",
            where=f"config {layout.config.name}",
            fix="split_k=1",
        )
    return result


def refuse_split(layout: Layout, document: RolesDocument) -> None:
    """What only the last part of a tile runs must be nobody else's business."""
    if layout.config.split_k == 1:
        return
    kernel = layout.body.kernel
    if kernel.grid.kind != "tiles" or differ(kernel, cut_of(layout.body, layout.steps)):
        raise _no_split(layout, "tiles of groups, and of different length, are handed out whole")
    for program in document.programs:
        ops = [e.op if isinstance(e, Compute) else "" for e in program.epilogue]
        after = program.epilogue[ops.index(MEET) + 1 :] if MEET in ops else ()
        for e in after:
            if not isinstance(e, OWN) or (isinstance(e, Compute) and (e.slots or e.fills_slots)):
                raise _no_split(layout, f"other roles would wait for {type(e).__name__}")


def drained(document: RolesDocument) -> RolesDocument:
    """The document in which the loop's own copies out are over before its parts meet.

    What follows the meeting is the last part's alone. Its groups of copies would be missing in the
    counts of the others, who go on with the next tile.
    """
    return replace(document, programs=tuple(map(_drained, document.programs)))


def _drained(program: RoleProgram) -> RoleProgram:
    rows = program.epilogue
    at = next((i for i, e in enumerate(rows) if isinstance(e, Compute) and e.op == MEET), None)
    if at is None:
        return program
    earlier = (*program.prologue, *program.kernel, *rows[:at])
    if not any(isinstance(e, BulkCommit) for e in earlier):
        return program
    wait = BulkWait(pending=0, reason="parts that end here count no more copies")
    return replace(program, epilogue=(*rows[:at], wait, *rows[at:]))


def _no_split(layout: Layout, why: str) -> GeometryError:
    split = layout.config.split_k
    return GeometryError(
        f"a loop shared by {split} CTAs",
        where=f"config {layout.config.name}",
        why=why,
        fix="split_k=1",
    )


def quads_of(array: Array) -> int:
    """Groups of four floats a thread has of an array."""
    return array.blocks * (array.cols // 8 if array.form is Form.TILE else 1)


def part_bytes(layout: Layout) -> int:
    """Memory one part of a tile takes."""
    quads = sum(quads_of(a) for a in met_arrays(layout))
    return layout.config.consumer_warpgroups * quads * GROUP_THREADS * QUAD_BYTES


def check_near(layout: Layout) -> None:
    """Refuse parts that do not meet in shared memory."""
    config, body = layout.config, layout.body
    if not config.split_k_in_cluster:
        return
    why = ""
    if config.split_k not in NEAR:
        why = f"{' or '.join(map(str, NEAR))} parts are a cluster"
    elif config.cluster > 1:
        why = "the cluster fetches rows together already"
    elif meeting_of(body).top is not None:
        why = "sums that depend on a maximum meet in memory"
    if why:
        raise refusal(
            f"{config.split_k} parts that meet in shared memory",
            body.loop.line,
            why=why,
            fix="split_k_in_cluster=False",
        )


def owned(layout: Layout) -> int:
    """Consumers of a CTA whose sums it finishes, where parts meet in shared memory."""
    return -(-layout.config.consumer_warpgroups // layout.config.split_k)


def inbox_bytes(layout: Layout) -> int:
    """Shared memory for what the other parts of a tile send."""
    if not layout.config.split_k_in_cluster:
        return 0
    each = part_bytes(layout) // layout.config.consumer_warpgroups
    barriers = 2 * BARRIER_BYTES * layout.config.consumer_warpgroups
    return owned(layout) * (layout.config.split_k - 1) * each + barriers
