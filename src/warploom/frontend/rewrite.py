"""Ops with other operands: what the reader and the rewrites share."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from warploom.ir import tile as ir
from warploom.ir.tile import Kernel, Op, operands, results, walk


def with_operands(op: Op, new: Callable[[str], str]) -> Op:  # noqa: PLR0911 (one a kind)
    """The op with each operand's name replaced (loops: throughout their bodies)."""

    def places(at: tuple[ir.At, ...]) -> tuple[ir.At, ...]:
        return tuple(replace(a, value=new(a.value)) if a.value else a for a in at)

    match op:
        case ir.Pointwise():
            return replace(op, args=tuple(map(new, op.args)))
        case ir.Broadcast() | ir.Transpose() | ir.Reduce() | ir.Scan():
            return replace(op, arg=new(op.arg))
        case ir.Dot():
            return replace(op, a=new(op.a), b=new(op.b), into=new(op.into) if op.into else None)
        case ir.Load():
            return replace(op, at=places(op.at), end=new(op.end) if op.end else None)
        case ir.Store():
            when = new(op.when) if op.when else None
            return replace(op, value=new(op.value), at=places(op.at), when=when)
        case ir.Loop():
            return _loop_with_operands(op, new)
        case _:
            return op


def _loop_with_operands(loop: ir.Loop, new: Callable[[str], str]) -> ir.Loop:
    def carried(c: ir.Carried) -> ir.Carried:
        return replace(c, first=new(c.first), last=new(c.last))

    return replace(
        loop,
        carried=tuple(map(carried, loop.carried)),
        body=tuple(with_operands(op, new) for op in loop.body),
        start=new(loop.start) if loop.start else None,
        until=new(loop.until) if loop.until else None,
        stop=new(loop.stop) if loop.stop else None,
        share=(new(loop.share[0]), new(loop.share[1])) if loop.share else None,
    )


Visit = Callable[[Op], "Op | str | None"]


def rebuild(
    ops: tuple[Op, ...], visit: Visit, names: dict[str, str] | None = None
) -> tuple[Op, ...]:
    """Ops in order, each replaced by what ``visit`` makes of it.

    It sees an op with its operands replaced already, and gives an op, the name of a value that
    stands for its result from here on, or None to drop it. Loops are seen after their bodies.
    """
    names = {} if names is None else names

    def now(name: str) -> str:
        return names.get(name, name)

    made: list[Op] = []
    for op in ops:
        if isinstance(op, ir.Loop):
            first = replace(
                op,
                carried=tuple(replace(c, first=now(c.first)) for c in op.carried),
                start=now(op.start) if op.start else None,
                until=now(op.until) if op.until else None,
                share=(now(op.share[0]), now(op.share[1])) if op.share else None,
            )
            body = rebuild(op.body, visit, names)
            carried = tuple(replace(c, last=now(c.last)) for c in first.carried)
            stop = now(op.stop) if op.stop else None
            new = visit(replace(first, body=body, carried=carried, stop=stop))
        else:
            new = visit(with_operands(op, now))
        if isinstance(new, str):
            assert not isinstance(op, ir.Loop | ir.Store)
            names[op.result.name] = new
        elif new is not None:
            made.append(new)
    return tuple(made)


def definitions(ops: tuple[Op, ...]) -> dict[str, Op]:
    """The op that makes each value (the loop, for carried ones)."""
    result: dict[str, Op] = {}
    for op in walk(ops):
        result |= {v.name: op for v in results(op)}
        if isinstance(op, ir.Loop):
            result |= {c.inside.name: op for c in op.carried}
    return result


def values_of(kernel: Kernel) -> dict[str, ir.Value]:
    """Every value by its name, carried ones included."""
    found = {v.name: v for op in walk(kernel.ops) for v in results(op)}
    loops = [op for op in walk(kernel.ops) if isinstance(op, ir.Loop)]
    return found | {c.inside.name: c.inside for loop in loops for c in loop.carried}


def uses(ops: tuple[Op, ...]) -> Counter[str]:
    """How often each value is read; what a loop hands to its next step counts."""
    result: Counter[str] = Counter()
    for op in walk(ops):
        result.update(operands(op))
        if isinstance(op, ir.Loop):
            result.update(c.last for c in op.carried)
            result.update([op.stop] if op.stop else [])
    return result


def fresh(kernel: Kernel, taken: set[str], hint: str) -> str:
    """A name that nothing in the kernel has; it is taken from then on."""
    if not taken:
        taken |= set(values_of(kernel)) | {v.name for v in kernel.vars}
        taken |= {t.name for t in kernel.tensors} | {p.name for p in kernel.parameters}
    name, n = hint, 0
    while name in taken:
        n += 1
        name = f"{hint}_{n}"
    taken.add(name)
    return name


def titled(op: Op, names: Mapping[str, str]) -> Op:
    """The op with results and operands renamed throughout."""
    op = renamed(op, names)
    if isinstance(op, ir.Loop):
        carried = tuple(
            replace(c, inside=_titled(c.inside, names), result=_titled(c.result, names))
            for c in op.carried
        )
        return replace(op, carried=carried, body=tuple(titled(o, names) for o in op.body))
    return op if isinstance(op, ir.Store) else replace(op, result=_titled(op.result, names))


def _titled(value: ir.Value, names: Mapping[str, str]) -> ir.Value:
    return replace(value, name=names.get(value.name, value.name))


def renamed(op: Op, names: Mapping[str, str]) -> Op:
    """The op with operands renamed; names not in the mapping stay."""
    return with_operands(op, lambda name: names.get(name, name))
