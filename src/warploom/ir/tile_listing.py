"""A kernel as text that reads well: one op a line, the author's lines between them."""

import math
from collections.abc import Iterator

from warploom.ir import tile as ir
from warploom.ir.elementwise import ELEMENTWISE, REDUCTIONS
from warploom.ir.tile import Fn, Kernel, Line, Op, Walk

_INFIX = {fn: row.symbol for fn, row in ELEMENTWISE.items() if row.symbol}


def listing(kernel: Kernel) -> str:
    """The whole kernel."""
    lines = [f"kernel {kernel.name}"]
    for tensor in kernel.tensors:
        axes = ", ".join(_axis(a.name, a.per, a.size) for a in tensor.axes)
        lines.append(f"  {tensor.access:<6} {tensor.name}[{axes}] {tensor.dtype}")
    lines += [f"  scalar {p.name} {p.dtype}" for p in kernel.parameters]
    walks = ", ".join(_variable(v.name, v.walk, v.extent) for v in kernel.vars)
    lines.append(f"  vars   {walks}")
    of = f" by {', '.join(kernel.grid.starts)}" if kernel.grid.starts else ""
    named = f" of {kernel.grid.tensor}" if kernel.grid.tensor else ""
    lines.append(f"  grid   {kernel.grid.kind}{named}{of}: {', '.join(kernel.grid.vars)}")
    lines += _ops(kernel.ops, "  ", [None])
    return "\n".join(lines)


def _axis(name: str, per: int, size: int | None) -> str:
    text = name if per == 1 else f"{name}/{per}"
    return text if size is None else f"{text}={size}"


def _variable(name: str, how: Walk, extent: int | None) -> str:
    return f"{name} {how}" + (f" {extent}" if extent and how is not Walk.UNIT else "")


def _ops(ops: tuple[Op, ...], indent: str, last: list[Line | None]) -> Iterator[str]:
    for op in ops:
        line = op.line if isinstance(op, ir.Loop | ir.Store) else op.result.line
        if line is not None and line != last[0]:
            last[0] = line
            yield f"{indent}# {line.number}: {line.text}"
        if isinstance(op, ir.Loop):
            yield from _loop(op, indent, last)
        else:
            yield f"{indent}{show(op)}"


def _loop(loop: ir.Loop, indent: str, last: list[Line | None]) -> Iterator[str]:
    bounds = "".join(
        f" {word} {value}" for word, value in (("from", loop.start), ("until", loop.until)) if value
    )
    for tiles in loop.lists:
        bounds += f" of {tiles.tensor} up to {tiles.counts}{' (whole)' * tiles.whole}"
    bounds += f", part {loop.share[0]} of {loop.share[1]}" if loop.share else ""
    bounds += f", stops after {loop.stop}" if loop.stop else ""
    yield f"{indent}for {loop.var}{bounds}:"
    for c in loop.carried:
        yield f"{indent}  {_typed(c.inside)} = {c.first} first, then {c.last}"
    yield from _ops(loop.body, indent + "  ", last)
    for c in loop.carried:
        yield f"{indent}{_typed(c.result)} = {c.last} of the last step, or {c.first}"


def _typed(value: ir.Value) -> str:
    dims = ", ".join(_axis(d.var, d.per, None) for d in value.dims)
    return f"{value.name}: {value.dtype}" + (f"[{dims}]" if dims else "")


def _at(at: tuple[ir.At, ...]) -> str:
    return ", ".join(a.var or a.value or "?" for a in at)


def show(op: Op) -> str:
    """One op as a line."""
    match op:
        case ir.Store():
            sign = ("+=" if op.fn is Fn.ADD else f"{op.fn}=") if op.add else "="
            when = f" if {op.when}" if op.when else ""
            return f"{op.tensor}[{_at(op.at)}] {sign} {op.value}{when}"
        case ir.Loop():
            return f"for {op.var}"
        case _:
            return f"{_typed(op.result)} = {_right(op)}"


def _right(op: Op) -> str:  # noqa: C901, PLR0911, PLR0912 (one line a kind of op)
    match op:
        case ir.Const():
            return repr(op.value) if not math.isinf(op.value) else f"{op.value}"
        case ir.Scalar():
            return f"scalar {op.parameter}"
        case ir.Size():
            return f"size of {op.tensor}.{op.axis}"
        case ir.Position():
            return f"position of {op.var}"
        case ir.Indices():
            return f"index({op.var})"
        case ir.Whole():
            return f"{op.var} is whole"
        case ir.Broadcast():
            return f"broadcast({op.arg})"
        case ir.Load():
            past = ", 0 past the end" if op.bounded else f", 0 from {op.end}" if op.end else ""
            return f"{op.tensor}[{_at(op.at)}]{past}"
        case ir.Transpose():
            return f"{op.arg}.T"
        case ir.Reduce():
            word = REDUCTIONS[op.fn].name
            return f"{word}({op.arg}, over {op.over})"
        case ir.Scan():
            word = f"cum{REDUCTIONS[op.fn].name}"
            return f"{word}({op.arg}, over {op.over}{', from its end' * op.reverse})"
        case ir.Dot():
            return (f"{op.into} + " if op.into else "") + f"{op.a} @ {op.b}"
        case ir.Pointwise() if op.fn in _INFIX:
            return f" {_INFIX[op.fn]} ".join(op.args)
        case ir.Pointwise() if op.fn is Fn.CAST:
            return f"{op.args[0]} to {op.result.dtype}"
        case ir.Pointwise(code=ir.Inline(name=name)):
            return f"{name}({', '.join(op.args)})"
        case ir.Pointwise():
            return f"{op.fn}({', '.join(op.args)})"
        case ir.Given():
            return f"{op.of} of an earlier loop"
        case _:
            raise AssertionError(op)
