"""``wl.grad(y, x)``: how a value grows with another, element by element, from the ops between.

Derivatives of pointwise functions are mechanical. The ops they are made of stand in the kernel like
any others, so they mean, cost and are fused like what an author writes.
"""

import ast

from warploom.frontend.parser.arith import pointwise
from warploom.frontend.parser.state import Frame, Symbol, is_static
from warploom.ir import tile as ir
from warploom.ir.elementwise import ELEMENTWISE, functions
from warploom.ir.tile import DType, Fn, operands

LEAVES = ir.Const | ir.Scalar | ir.Size | ir.Position | ir.Indices | ir.Load
FLAT = functions(lambda row: row.flat)


def slope(frame: Frame, node: ast.AST, y: ir.Value, x: ir.Value) -> Symbol:
    """dy/dx; the number 0 or 1 where it is one."""
    return _Slope(frame, node, x).of(y.name)


class _Slope:
    def __init__(self, frame: Frame, node: ast.AST, x: ir.Value) -> None:
        self.frame, self.node, self.x = frame, node, x
        self.known: dict[str, Symbol] = {x.name: 1.0}

    def of(self, name: str) -> Symbol:
        if name not in self.known:
            self.known[name] = self._new(name)
        return self.known[name]

    def _new(self, name: str) -> Symbol:
        op = self.frame.build.made.get(name)
        if op is None or isinstance(op, LEAVES):
            return 0.0
        if isinstance(op, ir.Pointwise):
            if op.fn in FLAT:
                return 0.0
            slopes = [self.of(a) for a in op.args]
            return 0.0 if all(_is(s, 0) for s in slopes) else self._rule(op, slopes)
        if any(not _is(self.of(a), 0) for a in operands(op)) and not isinstance(op, ir.Broadcast):
            self.frame.wrong_type(
                self.node,
                "wl.grad of a value that other elements take part in",
                why="a product or a sum along an axis lies between the two",
                fix="pointwise functions of x only",
            )
        return self.of(op.arg) if isinstance(op, ir.Broadcast) else 0.0

    def _rule(self, op: ir.Pointwise, slopes: list[Symbol]) -> Symbol:  # noqa: PLR0911 (a rule a line)
        args = [self._value(a) for a in op.args]
        y, first = op.result, slopes[0]
        a = args[0]
        match op.fn:
            case Fn.ADD:
                return self._plus(slopes[0], slopes[1])
            case Fn.SUB:
                return self._plus(slopes[0], self._times(-1.0, slopes[1]))
            case Fn.MUL:
                return self._plus(self._times(first, args[1]), self._times(slopes[1], a))
            case Fn.DIV:
                top = self._plus(first, self._times(-1.0, self._times(slopes[1], y)))
                return self._op(Fn.DIV, top, args[1])
            case Fn.MIN | Fn.MAX:
                fn = Fn.LT if op.fn is Fn.MIN else Fn.GT
                return self._chosen(self._op(fn, a, args[1]), *slopes)
            case Fn.WHERE:
                return self._chosen(a, slopes[1], slopes[2])
            case Fn.CAST:
                return first if y.dtype.is_float else 0.0  # whole numbers: steps
        derivative = ELEMENTWISE[op.fn].derivative
        if derivative is None:
            self.frame.wrong_type(self.node, f"wl.grad through '{op.fn}'", fix="other functions")
        return self._times(first, derivative(self._op, a, y))

    def _value(self, name: str) -> ir.Value:
        if name == self.x.name:
            return self.x
        op = self.frame.build.made.get(name)
        if op is not None:
            return op.result  # type: ignore[union-attr]
        here = (v for v in self.frame.env.values() if isinstance(v, ir.Value) and v.name == name)
        result = next(here, None)  # what a loop gave has no op of its own
        if result is None:
            self.frame.wrong_type(
                self.node,
                "wl.grad through a value of a loop that has no name here",
                fix="give it as an argument, so that it has one",
            )
        return result

    def _op(self, fn: Fn, *args: Symbol) -> ir.Value:
        return pointwise(self.frame, self.node, fn, *args)

    def _plus(self, a: Symbol, b: Symbol) -> Symbol:
        if _is(a, 0) or _is(b, 0):
            return b if _is(a, 0) else a
        return a + b if is_static(a) and is_static(b) else self._op(Fn.ADD, a, b)

    def _times(self, a: Symbol, b: Symbol) -> Symbol:
        if _is(a, 0) or _is(b, 0):
            return 0.0
        if _is(a, 1) or _is(b, 1):
            return b if _is(a, 1) else a
        return a * b if is_static(a) and is_static(b) else self._op(Fn.MUL, a, b)

    def _chosen(self, condition: ir.Value, a: Symbol, b: Symbol) -> Symbol:
        if is_static(a) and is_static(b) and a == b:
            return a
        return self._op(Fn.WHERE, condition, a, b)


def _is(symbol: Symbol, number: float) -> bool:
    return is_static(symbol) and not isinstance(symbol, DType) and symbol == number
