"""``attention_tile_kernel``: a tile kernel of two products around vector work, as this back end
takes it.

The first product is ``q[s, d] @ k[t, d].T`` with q fetched once a tile, the second adds
``p[s, t] @ v[t, d]`` to a carried sum; between them stands any pointwise work and reductions over
t. The vector work comes as the steps every target schedules (``lower.fuse``). Anything else is
refused at the author's line.
"""

from dataclasses import dataclass
from typing import NoReturn

from warploom.codegen.amdgcn.tile import ElementType
from warploom.codegen.amdgcn.tile_kernel import ELEMENTS, NOT_LOWERED, STORED, refuse
from warploom.frontend.simplify import simplify
from warploom.ir import tile as ir
from warploom.ir.dataflow import When
from warploom.ir.tile import DType, Fn, Kernel, Line, Op, Walk, results
from warploom.passes.body import Body, body_of
from warploom.passes.fuse import Step, fuse
from warploom.passes.loop_bounds import Cut, cut_of

HEADS = (64, 128)
_FREE = (ir.Const, ir.Scalar, ir.Size, ir.Position, ir.Indices, ir.Broadcast, ir.Pointwise)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionTileKernel:
    """Two products and the steps between them.

    ``q``, ``k`` and ``v`` are the loads, ``row``, ``key`` and ``head`` the variables of queries,
    keys and the whole axis; ``cut`` what hides keys of a tile.
    """

    body: Body
    element: ElementType
    q: ir.Load
    k: ir.Load
    v: ir.Load
    scores: ir.Dot
    output: ir.Dot
    row: str
    key: str
    head: str
    steps: tuple[Step, ...]
    cut: Cut | None

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.body.kernel

    @property
    def width(self) -> int:
        """Elements of a row of q, k and v."""
        found = self.kernel.var(self.head).extent
        assert found is not None
        return found

    @property
    def stores(self) -> tuple[ir.Store, ...]:
        """The outputs, in the order they are written."""
        return tuple(op for op in self.body.tail if isinstance(op, ir.Store))

    @property
    def sizes(self) -> tuple[str, ...]:
        """Axes whose sizes are arguments, each once."""
        tensors = (self.q.tensor, self.k.tensor, *(s.tensor for s in self.stores))
        axes = (a.name for t in tensors for a in self.kernel.tensor(t).axes)
        asked = (op.axis for op in self.body.ops.values() if isinstance(op, ir.Size))
        whole = self.kernel.var(self.head).axis
        return tuple(dict.fromkeys(a for a in (*axes, *asked) if a != whole))

    @property
    def scalars(self) -> tuple[str, ...]:
        """The parameters that are used, each once."""
        ops = self.body.ops.values()
        return tuple(dict.fromkeys(op.parameter for op in ops if isinstance(op, ir.Scalar)))


def attention_tile_kernel(kernel: Kernel) -> AttentionTileKernel:
    """The kernel as two products and steps. Raises ``BackendError`` for any other kernel."""
    kernel = simplify(kernel)
    walks = [kernel.var(v).walk for v in kernel.grid.vars]
    if kernel.grid.kind != "tiles" or walks.count(Walk.TILE) != 1 or len(walks) > 3:
        _refuse(kernel.line, "a grid of anything but batches, heads and tiles of queries", "")
    if len(kernel.loops) != 1:
        _refuse(kernel.line, f"{len(kernel.loops)} loops in a tile", "one loop over the keys")
    body = body_of(kernel)
    steps = fuse(body)
    row = next(v for v in kernel.grid.vars if kernel.var(v).walk is Walk.TILE)
    dots = [op for op in body.loop.body if isinstance(op, ir.Dot)]
    carried = {c.last for c in body.loop.carried}
    if len(dots) != 2 or dots[0].into or dots[1].result.name not in carried:
        line = dots[-1].result.line if dots else body.loop.line
        _refuse(line, f"{len(dots)} product(s) in the loop", "q @ k.T, then o += p @ v")
    scores, output = dots[0], dots[1]
    q, k, v = _loads(body, scores, output)
    head = q.at[-1].var
    text = AttentionTileKernel(
        body=body,
        element=ELEMENTS[kernel.tensor(q.tensor).dtype],
        q=q,
        k=k,
        v=v,
        scores=scores,
        output=output,
        row=row,
        key=body.loop.var,
        head=head or "",
        steps=tuple(s for s in steps if s.when is When.LOOP),
        cut=cut_of(body, steps),
    )
    _check_shapes(text)
    _check_work(text, steps)
    return text


def _loads(body: Body, scores: ir.Dot, output: ir.Dot) -> tuple[ir.Load, ir.Load, ir.Load]:
    keys, turned = body.through(scores.b)
    found = (body.ops.get(scores.a), body.ops.get(keys), body.ops.get(output.b))
    q, k, v = found
    if (
        not (isinstance(q, ir.Load) and isinstance(k, ir.Load) and isinstance(v, ir.Load))
        or not turned
    ):
        _refuse(scores.result.line, "products of other tiles", "q[s, d] @ k[t, d].T, p @ v[t, d]")
    if body.sections[scores.a] is not When.HEAD:
        _refuse(q.result.line, "queries fetched inside the loop", "fetch them before it")
    for load in (k, v):
        if body.sections[load.result.name] is not When.LOOP:
            _refuse(load.result.line, f"{load.tensor} fetched before the loop", "")
    kinds = {body.kernel.tensor(op.tensor).dtype for op in (q, k, v)}
    if len(kinds) != 1 or not kinds <= {DType.BF16, DType.F16}:
        names = " and ".join(sorted(d.value for d in kinds))
        _refuse(scores.result.line, f"products of {names}", "bf16 or f16 for all three tensors")
    return q, k, v


def _check_shapes(text: AttentionTileKernel) -> None:
    wanted = ((text.q, text.row), (text.k, text.key), (text.v, text.key))
    for load, var in wanted:
        if tuple(at.var for at in load.at[-2:]) != (var, text.head):
            what = f"{load.tensor} read by another index than [.., {var}, {text.head or 'd'}]"
            _refuse(load.result.line, what, "")
        for at in load.at[:-2]:
            moves = at.value is not None and text.body.values[at.value].dims
            if moves or (at.value is not None and not text.body.is_free(at.value)):
                _refuse(load.result.line, f"rows of {load.tensor} gathered by a table", "")
    if text.kernel.var(text.head).extent not in HEADS:
        what = f"rows of {text.kernel.var(text.head).extent} elements"
        _refuse(text.q.result.line, what, f"heads of {' or '.join(map(str, HEADS))}")
    _check_walks(text)
    loop = text.body.loop
    bound = loop.start or loop.until or loop.stop
    if loop.start or loop.stop or (loop.until and not _of_sizes(text, loop.until)):
        _refuse(loop.line, f"a loop bounded by {bound}", "all keys, or a bound made of sizes")
    weights = text.body.ops.get(text.output.a)
    cast = isinstance(weights, ir.Pointwise) and weights.fn is Fn.CAST
    if not cast or _vars(text, text.output.a) != (text.row, text.key):
        _refuse(text.output.result.line, "a left side that is no converted tile of scores", "")


def _check_walks(text: AttentionTileKernel) -> None:
    """Nothing is listed, and every tensor has an element for each place."""
    loop = text.body.loop
    if loop.lists:
        _refuse(loop.line, "a loop over a list of tiles (some=)", "a loop over all keys")
    for load in (text.q, text.k, text.v):
        if any(axis.per > 1 for axis in text.kernel.tensor(load.tensor).axes):
            _refuse(load.result.line, f"blocks of '{load.tensor}'", "an element for each place")


def _of_sizes(text: AttentionTileKernel, name: str) -> bool:
    """Whether a number is made of sizes alone: no memory is read for it."""
    op = text.body.ops.get(name)
    if isinstance(op, ir.Pointwise):
        return all(_of_sizes(text, a) for a in op.args)
    return isinstance(op, ir.Size | ir.Const)


def _check_work(text: AttentionTileKernel, steps: tuple[Step, ...]) -> None:
    body = text.body
    known = (text.q, text.k, text.v, text.scores, text.output)
    for op in (*body.head, *body.loop.body, *body.tail):
        line = next((v.line for v in results(op)), getattr(op, "line", None))
        if isinstance(op, ir.Pointwise) and op.fn in NOT_LOWERED and op.fn is not Fn.FLOORDIV:
            _refuse(line, f"{op.fn.value}", "another function")
        if isinstance(op, ir.Store):
            _check_store(text, op)
        elif op not in known and not isinstance(op, (*_FREE, ir.Transpose, ir.Reduce)):
            _refuse(line, f"{type(op).__name__.lower()} of {results(op)[0].name}", "")
        elif isinstance(op, ir.Reduce) and (op.over != text.key or op.fn is Fn.MIN):
            _refuse(line, f"a {op.fn.value} over {op.over}", f"max or sum over {text.key}")
    for step in steps:
        fits = step.rows in (text.row, None) and step.cols in (text.key, text.head, None)
        if not fits or step.when is When.HEAD:
            line = _line(step.ops[0])
            _refuse(line, "vector work on other tiles, or before the loop", "rows and scores only")
    for carried in body.loop.carried:
        if not body.is_free(carried.first):
            _refuse(carried.inside.line, "a carried value that starts from loaded data", "")


def _check_store(text: AttentionTileKernel, op: ir.Store) -> None:
    tensor = text.kernel.tensor(op.tensor)
    unit = text.kernel.grid.vars
    ends = ((*unit, text.head), unit)
    if any(axis.per > 1 for axis in tensor.axes):
        _refuse(op.line, f"a store to blocks of '{op.tensor}'", "an element for each place")
    if tuple(a.var for a in op.at) not in ends or op.add or tensor.dtype not in STORED[:3]:
        _refuse(op.line, f"a store to {op.tensor} by other indices or of another type", "")


def _vars(text: AttentionTileKernel, name: str) -> tuple[str, ...]:
    return tuple(d.var for d in text.body.values[name].dims)


def _line(op: Op) -> Line | None:
    return next((v.line for v in results(op)), None)


def _refuse(line: Line | None, what: str, fix: str) -> NoReturn:
    why = "besides products with a tail it emits two products around vector work: attention"
    refuse(line, what, fix, why)
