"""Products of element types that matrix instructions do not take, as products of those they take.

``f32``: each side is a bf16 number and a bf16 rest, and a product is the sum of three: high by
high, high by rest, rest by high. That keeps 16 bits of each factor (a relative error of about
2**-16); sums are in f32. An infinite element gives NaN, as infinity times a rest of 0 does.

``i8``: bf16 holds every number of 8 bits, and f32 every sum of up to 1024 such products, so a step
of K that is not longer is exact (operands of a longer one fit in no LDS); steps are added as whole
numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from warploom.frontend.rewrite import fresh, values_of
from warploom.ir.tile import Const, Dot, DType, Fn, Kernel, Loop, Op, Pointwise, Value, walk

Expand = Callable[["_Names", Dot], tuple[list[Op], Op]]


def split_f32_products(kernel: Kernel) -> Kernel:
    """Products of f32 tiles as three products of bf16 tiles."""
    return _expanded(kernel, DType.F32, _three)


def float_i8_products(kernel: Kernel) -> Kernel:
    """Products of i8 tiles as products of bf16 tiles, where no unit multiplies i8."""
    return _expanded(kernel, DType.I8, _exact)


def _expanded(kernel: Kernel, dtype: DType, expand: Expand) -> Kernel:
    values = values_of(kernel)

    def affected(op: Op) -> bool:
        return isinstance(op, Dot) and {values[op.a].dtype, values[op.b].dtype} == {dtype}

    if not any(affected(op) for op in walk(kernel.ops)):
        return kernel
    names = _Names(kernel, values)

    def scope(ops: tuple[Op, ...]) -> tuple[Op, ...]:
        made: list[Op] = []
        for op in ops:
            if isinstance(op, Loop):
                made.append(replace(op, body=scope(op.body)))
            elif isinstance(op, Dot) and affected(op):
                before, last = expand(names, op)
                made += [*before, last]
            else:
                made.append(op)
        return tuple(made)

    return replace(kernel, ops=scope(kernel.ops))


class _Names:
    def __init__(self, kernel: Kernel, values: dict[str, Value]) -> None:
        self.kernel, self.values = kernel, values
        self.taken: set[str] = set()

    def like(self, value: Value, hint: str, dtype: DType) -> Value:
        """A new value of the same shape."""
        return replace(value, name=fresh(self.kernel, self.taken, hint), dtype=dtype)


def _three(names: _Names, dot: Dot) -> tuple[list[Op], Op]:
    made: list[Op] = []
    sides: list[tuple[str, str]] = []
    for name in (dot.a, dot.b):
        value = names.values[name]
        line = dot.result.line
        high = names.like(value, f"{name}_high", DType.BF16)
        back = names.like(value, f"{name}_held", DType.F32)
        rest = names.like(value, f"{name}_rest", DType.F32)
        real = names.like(value, f"{name}_real", DType.BOOL)
        none = Value(
            name=fresh(names.kernel, names.taken, "none"), dims=(), dtype=DType.F32, line=line
        )
        kept = names.like(value, f"{name}_kept", DType.F32)
        low = names.like(value, f"{name}_low", DType.BF16)
        made += [
            Pointwise(result=high, fn=Fn.CAST, args=(name,)),
            Pointwise(result=back, fn=Fn.CAST, args=(high.name,)),
            Pointwise(result=rest, fn=Fn.SUB, args=(name, back.name)),
            Pointwise(result=real, fn=Fn.EQ, args=(rest.name, rest.name)),
            Const(result=none, value=0.0),
            Pointwise(result=kept, fn=Fn.WHERE, args=(real.name, rest.name, none.name)),
            Pointwise(result=low, fn=Fn.CAST, args=(kept.name,)),
        ]
        sides.append((high.name, low.name))
    (a, a_low), (b, b_low) = sides
    total = ""
    for left, right in ((a_low, b), (a, b_low), (a, b)):
        part = names.like(dot.result, f"{dot.result.name}_part", DType.F32)
        made.append(Dot(result=part, a=left, b=right))
        if total:
            both = names.like(dot.result, f"{dot.result.name}_sum", DType.F32)
            made.append(Pointwise(result=both, fn=Fn.ADD, args=(total, part.name)))
            total = both.name
        else:
            total = part.name
    last = made.pop()
    assert isinstance(last, Pointwise)
    return made, replace(last, result=dot.result)


def _exact(names: _Names, dot: Dot) -> tuple[list[Op], Op]:
    made: list[Op] = []
    sides = []
    for name in (dot.a, dot.b):
        held = names.like(names.values[name], f"{name}_float", DType.BF16)
        made.append(Pointwise(result=held, fn=Fn.CAST, args=(name,)))
        sides.append(held.name)
    part = names.like(dot.result, f"{dot.result.name}_float", DType.F32)
    made.append(Dot(result=part, a=sides[0], b=sides[1]))
    return made, Pointwise(result=dot.result, fn=Fn.CAST, args=(part.name,))
