"""Whether a step of a loop changes nothing when a condition is false for all its elements.

Then steps outside the reach of the condition need not be visited. The step is followed with the
condition put to false: what is known of each value is a number (all its elements), or that it
equals another value. All values are taken to be finite but for constants: a masked weight of 0
times an infinite element is not looked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from warploom.kernel.pointwise import FUNCTIONS
from warploom.kernel.values import (
    Const,
    Dot,
    DType,
    Fn,
    Kernel,
    Loop,
    Op,
    Pointwise,
    Reduce,
    Spread,
    Store,
    Transpose,
    walk,
)


@dataclass(frozen=True, slots=True)
class _Number:
    value: float | bool


@dataclass(frozen=True, slots=True)
class _Same:
    name: str


_Fact = _Number | _Same


def is_idle(kernel: Kernel, loop: Loop, condition: str) -> bool:
    """Whether steps for which the condition is false throughout leave everything as it was."""
    facts: dict[str, _Fact] = {
        op.result.name: _Number(op.value) for op in walk(kernel.ops) if isinstance(op, Const)
    }
    facts[condition] = _Number(value=False)
    for op in loop.body:
        if isinstance(op, Store):
            if not (op.add and facts.get(op.value) == _Number(0.0)):
                return False
        elif not isinstance(op, Loop | Const) and op.result.name != condition:
            facts[op.result.name] = _fact(op, facts)
    return all(
        facts.get(c.last, _Same(c.last)) == _Same(c.inside.name) or c.last == c.inside.name
        for c in loop.carried
    )


def idle_conditions(kernel: Kernel, loop: Loop) -> tuple[str, ...]:
    """The conditions over the loop's variable whose falsehood makes a step idle."""
    chosen = {op.args[0] for op in loop.body if isinstance(op, Pointwise) and op.fn is Fn.WHERE}
    made = [
        op.result.name
        for op in loop.body
        if isinstance(op, Pointwise)
        and op.result.dtype is DType.BOOL
        and op.result.name in chosen
        and loop.var in op.result.vars
    ]
    return tuple(name for name in made if is_idle(kernel, loop, name))


def _fact(op: Op, facts: dict[str, _Fact]) -> _Fact:
    def known(name: str) -> _Fact:
        return facts.get(name, _Same(name))

    assert not isinstance(op, Store | Loop)
    found: _Fact | None = None
    match op:
        case Pointwise():
            found = _pointwise(op, [known(a) for a in op.args])
        case Spread() | Transpose():
            arg = known(op.arg)
            found = arg if isinstance(arg, _Number) else None
        case Reduce():
            found = _reduced(op, known(op.arg))
        case Dot() if _Number(0.0) in (known(op.a), known(op.b)):
            found = known(op.into) if op.into else _Number(0.0)
    return found if found is not None else _Same(op.result.name)


def _reduced(op: Reduce, arg: _Fact) -> _Fact | None:
    """A sum of equal numbers is their count times one, which is known for 0 only."""
    if not isinstance(arg, _Number):
        return None
    return arg if op.fn is not Fn.ADD or arg.value == 0 else None


def _pointwise(op: Pointwise, args: list[_Fact]) -> _Fact | None:
    if op.fn is Fn.CAST:
        return args[0] if isinstance(args[0], _Number) else None
    if op.fn is Fn.WHERE:
        if isinstance(args[0], _Number):
            return args[1 if args[0].value else 2]
        return args[1] if args[1] == args[2] else None
    numbers = [a.value for a in args if isinstance(a, _Number)]
    if len(numbers) == len(args):
        with np.errstate(all="ignore"):
            made = FUNCTIONS[op.fn](*(np.asarray(n) for n in numbers)).item()
        return None if isinstance(made, float) and math.isnan(made) else _Number(made)
    return _with_one_known(op.fn, args)


def _with_one_known(fn: Fn, args: list[_Fact]) -> _Fact | None:
    """What two operands give when one of them is not known."""
    if len(args) != 2:
        return None
    one, two = (a.value if isinstance(a, _Number) else None for a in args)
    result: _Fact | None = None
    match fn, one, two:
        case ((Fn.ADD | Fn.SUB), _, 0):
            result = args[0]
        case ((Fn.MUL | Fn.DIV), _, 1):
            result = args[0]
        case (Fn.ADD, 0, _) | (Fn.MUL, 1, _):
            result = args[1]
        case (Fn.MUL, 0, _) | (Fn.MUL, _, 0) | (Fn.DIV, 0, _):
            result = _Number(0.0)
        case Fn.SUB, None, None if args[0] == args[1]:
            result = _Number(0.0)
        case ((Fn.MAX | Fn.MIN), None, None) if args[0] == args[1]:
            result = args[0]
        case ((Fn.MAX | Fn.MIN), _, _):
            result = _extreme(fn, args)
        case ((Fn.ADD | Fn.SUB), float() as number, _) if math.isinf(number):
            result = _Number(number)
    return result


def _extreme(fn: Fn, args: list[_Fact]) -> _Fact | None:
    nothing = -math.inf if fn is Fn.MAX else math.inf
    if _Number(nothing) in args:
        return next(a for a in args if a != _Number(nothing))
    return None
