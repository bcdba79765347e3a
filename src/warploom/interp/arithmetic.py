"""Numbers of the interpreter: rounding to element types, pointwise functions, index arrays.

Stated here once more on purpose: it shares nothing with the passes, the verifier or the reference.
Floats are float32 arrays that hold values of their type exactly; whole numbers are int64 arrays
that wrap to 32 bits after every operation, as registers do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import numpy.typing as npt

from warploom.errors import InterpreterError
from warploom.ir.expr import Apply, Binary, Const, Element, IntExpr, Op, Select, Sym
from warploom.ir.types import DType, Fn

Array = npt.NDArray[Any]
WHOLE = (DType.I32, DType.I8, DType.I4)
OUTSIDE = -(2**31)


_UNROUNDED: ContextVar[bool] = ContextVar("warploom_unrounded", default=False)


@contextmanager
def unrounded() -> Iterator[None]:
    """Compute in float64 and round nothing: what a program computes over the real numbers."""
    token = _UNROUNDED.set(True)
    try:
        yield
    finally:
        _UNROUNDED.reset(token)


def floating() -> Any:  # noqa: ANN401 (a type of NumPy's)
    """The type that holds floats: float32, or float64 where nothing is rounded."""
    return np.float64 if _UNROUNDED.get() else np.float32


def round_to(array: Array, dtype: DType) -> Array:  # noqa: PLR0911 (one line a type)
    """The nearest values of a type, ties to even; fp8 saturates, other floats overflow to inf."""
    if dtype is DType.BOOL:
        truth: Array = np.asarray(array) != 0
        return truth
    if dtype in WHOLE:
        return _to_whole(array, dtype.bits)
    if _UNROUNDED.get():
        return np.asarray(array, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(array, np.float32)
        if dtype is DType.F32:
            return values
        if dtype is DType.F16:
            return values.astype(np.float16).astype(np.float32)
        if dtype is DType.BF16:
            return _to_bf16(values)
        return _to_fp8(values, *((3, -6, 448.0) if dtype is DType.E4M3 else (2, -14, 57344.0)))


def _to_bf16(values: Array) -> Array:
    """Round the lower half of the bits away."""
    bits = values.view(np.uint32) if values.flags.c_contiguous else values.copy().view(np.uint32)
    up = ((bits >> 16) & 1) + np.uint32(0x7FFF)
    near = ((bits + up) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isnan(values), values, near)


def _to_fp8(values: Array, fraction: int, least: int, largest: float) -> Array:
    """Round in units of the last place; past the largest number stay there."""
    size = np.abs(values.astype(np.float64))
    _, exponent = np.frexp(np.where(np.isfinite(size) & (size > 0), size, 1.0))
    unit = np.exp2(np.maximum(exponent - 1, least) - fraction)
    near = np.minimum(np.rint(size / unit) * unit, largest)
    return np.where(np.isnan(values), values, np.copysign(near, values)).astype(np.float32)


def _to_whole(array: Array, bits: int) -> Array:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    given = np.asarray(array)
    if given.dtype.kind in "iub":
        wide = given.astype(np.int64)
        return wrapped(wide) if bits == 32 else np.clip(wide, low, high)
    finite = np.nan_to_num(given.astype(np.float64), nan=0.0, posinf=high, neginf=low)
    return np.trunc(np.clip(finite, low, high)).astype(np.int64)


def wrapped(array: Array) -> Array:
    """Whole numbers as 32-bit registers hold them."""
    return np.asarray(array).astype(np.int64).astype(np.int32).astype(np.int64)


_erf = np.vectorize(math.erf, otypes=[np.float64])
_FLOAT: Mapping[Fn, Callable[..., Any]] = {
    Fn.ADD: lambda a, b: a + b,
    Fn.SUB: lambda a, b: a - b,
    Fn.MUL: lambda a, b: a * b,
    Fn.DIV: lambda a, b: a / b,
    Fn.NEG: lambda a: -a,
    Fn.ABS: np.abs,
    Fn.MIN: np.fmin,
    Fn.MAX: np.fmax,
    Fn.EXP: np.exp,
    Fn.EXP2: np.exp2,
    Fn.LOG: np.log,
    Fn.LOG2: np.log2,
    Fn.SQRT: np.sqrt,
    Fn.RSQRT: lambda a: np.float32(1) / np.sqrt(a),
    Fn.TANH: np.tanh,
    Fn.ERF: lambda a: _erf(a) if np.size(a) else np.asarray(a),
    Fn.SIN: np.sin,
    Fn.COS: np.cos,
    Fn.FLOOR: np.floor,
}
_COMPARE: Mapping[Fn, Callable[..., Any]] = {
    Fn.EQ: np.equal,
    Fn.NE: np.not_equal,
    Fn.LT: np.less,
    Fn.LE: np.less_equal,
    Fn.GT: np.greater,
    Fn.GE: np.greater_equal,
    Fn.AND: np.logical_and,
    Fn.OR: np.logical_or,
    Fn.NOT: np.logical_not,
}
_WHOLE: Mapping[Fn, Callable[..., Any]] = {
    Fn.ADD: lambda a, b: a + b,
    Fn.SUB: lambda a, b: a - b,
    Fn.MUL: lambda a, b: a * b,
    Fn.NEG: lambda a: -a,
    Fn.ABS: np.abs,
    Fn.MIN: np.minimum,
    Fn.MAX: np.maximum,
    Fn.FLOORDIV: lambda a, b: np.floor_divide(a, np.where(b == 0, 1, b)),
    Fn.MOD: lambda a, b: np.mod(a, np.where(b == 0, 1, b)),
    Fn.SHR: lambda a, b: a >> np.where((b < 0) | (b > 31), 31, b),
    Fn.SHL: lambda a, b: np.where((b < 0) | (b > 31), 0, a << np.where((b < 0) | (b > 31), 0, b)),
    Fn.BITS: lambda a, b: a & b,
    Fn.BITOR: lambda a, b: a | b,
    Fn.XOR: lambda a, b: a ^ b,
    Fn.MULHI: lambda a, b: (
        ((a & 0xFFFFFFFF).astype(np.uint64) * (b & 0xFFFFFFFF).astype(np.uint64)) >> np.uint64(32)
    ).astype(np.int64),
}


def pointwise(fn: Fn, args: list[Any], dtype: DType) -> Any:  # noqa: ANN401 (arrays, numbers)
    """A function of arrays: float32 arithmetic, or whole numbers of 32 bits."""
    with np.errstate(all="ignore"):
        if fn is Fn.CAST:
            return round_to(np.asarray(args[0]), dtype)
        if fn is Fn.WHERE:
            return np.where(args[0], args[1], args[2])
        if fn in _COMPARE:
            return _COMPARE[fn](*args)
        whole = all(np.asarray(a).dtype.kind in "iub" for a in args)
        if whole and fn in _WHOLE:
            return wrapped(_WHOLE[fn](*[np.asarray(a).astype(np.int64) for a in args]))
        if fn not in _FLOAT:
            raise InterpreterError(f"{fn} of floating-point numbers", fix="convert them to i32")
        made = _FLOAT[fn](*[np.asarray(a, floating()) for a in args])
        return round_to(np.asarray(made, floating()), dtype)


def index(
    expr: IntExpr, values: Mapping[Sym, Any], memory: Mapping[str, Array] | None = None
) -> Any:  # noqa: ANN401 (numbers or arrays)
    """An expression over arrays of indices; division truncates, as machines divide."""
    match expr:
        case Const():
            return expr.value
        case Sym():
            return values[expr]
        case Binary():
            return _binary(expr.op, index(expr.a, values, memory), index(expr.b, values, memory))
        case Select():
            taken = index(expr.condition, values, memory)
            if np.ndim(taken) == 0:
                return index(expr.then if taken else expr.otherwise, values, memory)
            return np.where(
                taken, index(expr.then, values, memory), index(expr.otherwise, values, memory)
            )
        case Element():
            at = tuple(np.asarray(index(x, values, memory)) for x in expr.at)
            return elements_of((memory or {})[expr.tensor], expr.tensor, at)
        case Apply():
            raise InterpreterError(f"the function {expr.function} is not bound here")


def elements_of(memory: Array, name: str, at: tuple[Array, ...]) -> Array:
    """Elements of a tensor of integers. Of arrays of indices, some may stand where a condition
    drops what was read: those outside read the least integer, which no index may be.
    """
    outside = np.zeros(np.broadcast_shapes(*(a.shape for a in at)), bool)
    for length, place in zip(memory.shape, at, strict=True):
        outside = outside | (place < 0) | (place >= length)
    if outside.ndim == 0 and outside:
        raise InterpreterError(
            f"'{name}' is read at {', '.join(str(int(a)) for a in at)}",
            where=f"of a tensor {memory.shape}",
            why="the access lies outside of its tensor",
            fix="the coordinate or the predicate of the operation in the module",
        )
    if memory.size == 0:
        return np.full(outside.shape, OUTSIDE, np.int64)
    found = memory[tuple(np.where(outside, 0, a) for a in at)]
    return np.where(outside, OUTSIDE, found).astype(np.int64)


def _binary(op: Op, a: Any, b: Any) -> Any:  # noqa: ANN401, PLR0911 (one line an operation)
    if op is Op.ADD:
        return a + b
    if op is Op.SUB:
        return a - b
    if op is Op.MUL:
        return a * b
    if op in (Op.DIV, Op.MOD, Op.FLOOR_DIV):
        if np.any(np.equal(b, 0)):
            raise InterpreterError("a division by zero in an index expression")
        if op is Op.FLOOR_DIV:
            return np.floor_divide(a, b)
        sign = np.where((np.asarray(a) < 0) != (np.asarray(b) < 0), -1, 1)
        quotient = sign * (np.abs(a) // np.abs(b))
        return quotient if op is Op.DIV else a - b * quotient
    if op is Op.XOR:
        return np.bitwise_xor(a, b)
    return _INDEX[op](a, b)


_INDEX: Mapping[Op, Callable[..., Any]] = {
    Op.MIN: np.minimum,
    Op.MAX: np.maximum,
    Op.LT: np.less,
    Op.LE: np.less_equal,
    Op.GE: np.greater_equal,
    Op.EQ: np.equal,
    Op.NE: np.not_equal,
    Op.AND: np.logical_and,
    Op.OR: np.logical_or,
}
