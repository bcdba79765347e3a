"""Thread programs with one thing wrong: what the verifiers must find."""

from dataclasses import fields, is_dataclass, replace

from warploom.ir import threads as ir
from warploom.ir.expr import Binary, Const, Element, Op, Select
from warploom.ir.types import DType


def places(value, path=()):
    """Every node of a program with where it is, statements and terms."""
    if isinstance(value, tuple):
        for i, x in enumerate(value):
            yield from places(x, (*path, i))
    elif is_dataclass(value) and not isinstance(value, type):
        yield path, value
        for f in fields(value):
            yield from places(getattr(value, f.name), (*path, f.name))


def with_other(value, path, new):
    """A program with another node at a place; ``new`` is a tuple of what stands there in a body."""
    if not path:
        return new
    first, *rest = path
    if isinstance(value, tuple):
        if rest or not isinstance(new, tuple):
            return (*value[:first], with_other(value[first], rest, new), *value[first + 1 :])
        return (*value[:first], *new, *value[first + 1 :])
    return replace(value, **{first: with_other(getattr(value, first), rest, new)})


def mutants(module):
    """Modules that differ in one place, with what was done."""
    body = module.threads.body
    for path, node in places(body):
        for what, new in _changes(node, path):
            yield (
                f"{what} at {path}",
                replace(module, threads=replace(module.threads, body=with_other(body, path, new))),
            )


def _changes(node, path):
    inside = path and path[-1] != "body" and isinstance(path[-1], int)
    match node:
        case ir.Barrier():
            yield "barrier removed", ()
        case ir.ProxyFence():
            yield "proxy fence removed", ()
        case ir.MmaFence():
            yield "product fence removed", ()
        case ir.MmaCommit():
            yield "commit removed", ()
        case ir.MmaWait():
            yield "wait removed", ()
            yield "wait for one less", replace(node, pending=1)
        case ir.Mma():
            yield "product dropped", ()
            yield "product doubled", (node, node)
            yield "product with other rows", replace(node, a=_moved(node.a))
            yield "product with other columns", replace(node, b=_moved(node.b))
            yield "product with another part", replace(node, b=_later(node.b))
            yield "product into other registers", replace(node, index=node.index + 2)
        case ir.PutTile():
            yield "tile store dropped", ()
            yield "tile store one row further", replace(node, row=node.row + 1)
            yield "tile store one column further", replace(node, column=node.column + 1)
        case ir.PutChunk():
            yield "tile store dropped", ()
            yield "tile store one row further", replace(node, row=node.row + 1)
        case ir.ClearTile():
            yield "clear dropped", ()
        case ir.Address():
            for n, x in enumerate(node.at):
                at = (*node.at[:n], x + 1, *node.at[n + 1 :])
                yield f"address one further along axis {n}", replace(node, at=at)
        case ir.FetchNearby():
            yield "load dropped", ()
        case ir.Nearby():
            yield "load one further", ir.Nearby(node.address, node.axis, node.by + 1)
        case Select():
            yield "choice without its condition", node.then
        case ir.Write() | ir.Send():
            yield "store dropped", ()
            yield "store doubled", (node, node)
            for n, x in enumerate(node.at):
                at = (*node.at[:n], x + 1, *node.at[n + 1 :])
                yield f"store one further along axis {n}", replace(node, at=at)
        case ir.Merge():
            yield "sum dropped", ()
            yield "sum doubled", (node, node)
        case ir.Put():
            yield "shared store dropped", ()
            yield "shared store one further", replace(node, index=node.index + 1)
        case ir.Fetch():
            yield "load dropped", ()
            yield "load one register further", replace(node, index=node.index + 1)
        case Element() if inside is not None:
            for n, x in enumerate(node.at):
                at = (*node.at[:n], x + 1, *node.at[n + 1 :])
                yield f"load one further along axis {n}", Element(node.tensor, at)
        case ir.Shared():
            yield "shared load one further", ir.Shared(node.view, node.index + 1)
        case ir.Shuffle(how=ir.Exchange.XOR):
            yield "shuffle with another lane", ir.Shuffle(node.how, node.value, Const(0))
        case Binary(op=Op.LT):
            yield "< made <=", Binary(Op.LE, node.a, node.b)
            yield "condition dropped", Binary(Op.EQ, Const(0), Const(0))
        case Binary(op=Op.EQ):
            yield "condition dropped", Binary(Op.EQ, Const(0), Const(0))
        case ir.If():
            yield (
                "branch taken by all",
                replace(node, condition=ir.Number(True, DType.BOOL), otherwise=()),
            )
            yield "branch taken by none", replace(node, condition=ir.Number(False, DType.BOOL))
        case ir.Assign():
            yield "assignment dropped", ()
        case ir.For() if not node.unroll and isinstance(node.step, Const):
            yield "one turn less", replace(node, end=node.end - node.step.value)
            yield "one turn more", replace(node, end=node.end + node.step.value)
            if node.first is not None:
                first = node.first + node.step.value
                yield "first turn left out", replace(node, first=first)
        case ir.For() if node.unroll and isinstance(node.end, Const) and node.end.value > 1:
            yield "one turn less", replace(node, end=Const(node.end.value - 1))


def _moved(x):
    """An operand further along M or N."""
    return replace(x, first=x.first + (64 if x.turned else 8))


def _later(x):
    """An operand of the next part of K."""
    return replace(x, step=x.step + 1)
