"""Expressions of a module evaluated over arrays, for the verifier alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from warploom.ir.expr import (
    DIVISIONS,
    Apply,
    Binary,
    Const,
    Function,
    IntExpr,
    Op,
    Select,
    Sym,
    apply_op,
    inlined,
)

Symbols = Mapping[Sym, Any]


class NotFollowedError(Exception):
    """What sizes alone do not decide."""


def value_of(expr: IntExpr, symbols: Symbols, functions: Mapping[str, Function]) -> Any:  # noqa: ANN401
    """The value of an expression where symbols are numbers or arrays."""
    if isinstance(expr, Binary):
        return _binary(expr.op, *(value_of(x, symbols, functions) for x in (expr.a, expr.b)))
    if isinstance(expr, Const):
        return expr.value
    if isinstance(expr, Sym):
        return symbols[expr]
    if isinstance(expr, Apply):
        return value_of(inlined(expr, functions), symbols, functions)
    if isinstance(expr, Select):
        parts = [
            value_of(e, symbols, functions) for e in (expr.condition, expr.then, expr.otherwise)
        ]
        return np.where(*parts)
    raise NotFollowedError(f"an index that memory decides: {expr}")


def _binary(op: Op, a: Any, b: Any) -> Any:  # noqa: ANN401
    if type(a) is int and type(b) is int and (b or op not in DIVISIONS):
        return apply_op(op, a, b)  # numbers: an array's operations take ten times as long
    if op in DIVISIONS:
        divisor = np.where(np.equal(b, 0), 1, b)
        if op is Op.FLOOR_DIV:
            return np.floor_divide(a, divisor)
        quotient = (np.abs(a) // np.abs(divisor)) * np.sign(a) * np.sign(divisor)
        return quotient if op is Op.DIV else a - divisor * quotient
    return _OPERATIONS[op](a, b)


_OPERATIONS: Mapping[Op, Any] = {
    Op.ADD: np.add, Op.SUB: np.subtract, Op.MUL: np.multiply, Op.XOR: np.bitwise_xor,
    Op.MIN: np.minimum, Op.MAX: np.maximum, Op.LT: np.less, Op.LE: np.less_equal,
    Op.GE: np.greater_equal, Op.EQ: np.equal, Op.NE: np.not_equal,
    Op.AND: np.logical_and, Op.OR: np.logical_or,
}  # fmt: skip
