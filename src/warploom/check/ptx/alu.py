"""Arithmetic: a register-to-register instruction becomes a function of a group of lanes.

Registers are arrays of 32 lanes in the unsigned type of their size (predicates are booleans); an
operation views them as its own type. Values are computed for all lanes and stored for active ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.formats import (
    bf16_to_f32,
    e4m3_to_f32,
    e5m2_to_f32,
    f16_to_f32,
    f32_to_bf16,
    f32_to_bf16_zero,
    f32_to_e4m3,
    f32_to_e5m2,
    f32_to_f16,
    f32_to_tf32,
)
from warploom.check.ptx.parse import TYPE_BYTES, Imm, Instr, Not, Operand, Pair, Reg, Sink, Vec
from warploom.errors import UnsupportedCodeError

Array = NDArray[Any]
Run = Callable[[Any], Any]
LANES = 32

_U: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_TYPES: dict[str, Any] = {
    "b8": np.uint8, "u8": np.uint8, "s8": np.int8, "b16": np.uint16, "u16": np.uint16,
    "s16": np.int16, "b32": np.uint32, "u32": np.uint32, "s32": np.int32, "b64": np.uint64,
    "u64": np.uint64, "s64": np.int64, "f32": np.float32, "f64": np.float64, "f16": np.uint16,
    "bf16": np.uint16, "f16x2": np.uint32, "bf16x2": np.uint32, "tf32": np.uint32,
    "e4m3x2": np.uint16, "e5m2x2": np.uint16, "u16x2": np.uint32, "s16x2": np.uint32,
    "f32x2": np.uint64, "pred": np.bool_,
}  # fmt: skip
WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater,
    "hs": np.greater_equal,
}  # fmt: skip
_ROUNDS = ("rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi", "rs")


def refuse(instr: Instr, what: str = "") -> UnsupportedCodeError:
    """The refusal of an instruction that is not modelled."""
    return UnsupportedCodeError(
        f"{instr.op}{': ' + what if what else ''}", line=instr.line, where=f"line {instr.line}"
    )


def dtype_of(kind: str, instr: Instr) -> Any:  # noqa: ANN401 (a NumPy type)
    """The NumPy type in which values of a PTX type are computed or kept."""
    try:
        return _TYPES[kind]
    except KeyError:
        raise refuse(instr, f"type .{kind}") from None


def stored(kind: str) -> Any:  # noqa: ANN401 (a NumPy type)
    """The type of a register's array; 128-bit registers are pairs of words."""
    return np.bool_ if kind == "pred" else _U[min(TYPE_BYTES[kind], 8)]


def immediate(value: Imm, kind: str) -> Array:
    """A constant in all lanes."""
    dtype = _TYPES[kind]
    if kind == "pred":
        return np.full(LANES, bool(value.value))
    size = np.dtype(dtype).itemsize
    if value.bits == 32:
        bits = np.array([value.value], np.uint32)
        found = bits.view(np.float32)
        if kind == "f64":
            return np.full(LANES, found[0], np.float64)
        if size == 4:
            return np.full(LANES, bits.view(dtype)[0], dtype)
        return np.full(LANES, int(value.value) & ((1 << 8 * size) - 1)).astype(dtype)
    if value.bits == 64:
        wide = np.array([value.value], np.uint64).view(np.float64)
        if kind == "f32":
            return np.full(LANES, wide[0], np.float32)
        return np.full(LANES, np.array([value.value], np.uint64).view(dtype)[0], dtype)
    if value.bits == -1 or kind in ("f32", "f64"):
        number = float(value.value)
        if kind == "f64" or (kind == "b64" and value.bits == -1):
            return np.full(LANES, number, np.float64).view(dtype)
        if kind == "f16":
            return f32_to_f16(np.full(LANES, number, np.float32))
        if kind == "bf16":
            return f32_to_bf16(np.full(LANES, number, np.float32))
        return np.full(LANES, number, np.float32).view(dtype)
    bits = int(value.value) & ((1 << 8 * size) - 1)
    return np.full(LANES, np.array([bits], _U[size]).view(dtype)[0], dtype)


def getter(op: Operand, kind: str, instr: Instr) -> Callable[[Any], Array]:  # noqa: PLR0911
    """A function from a group to the operand's lanes as the type ``kind``."""
    if isinstance(op, Imm):
        constant = immediate(op, kind)
        return lambda g: constant
    if isinstance(op, Not):
        inner = getter(op.of, kind, instr)
        return lambda g: ~inner(g)
    if isinstance(op, Reg):
        slot = op.slot
        if kind == "pred":
            if op.type != "pred":
                raise refuse(instr, f"{op.name} is no predicate")
            return lambda g: g.R[slot]
        dtype = dtype_of(kind, instr)
        have = stored(op.type)
        if op.type in ("pred", "b128"):
            raise refuse(instr, f"register {op.name} of type .{op.type}")
        if have is dtype:
            return lambda g: g.R[slot]
        if np.dtype(have).itemsize == np.dtype(dtype).itemsize:
            return lambda g: g.R[slot].view(dtype)
        unsigned = _U[np.dtype(dtype).itemsize]
        return lambda g: g.R[slot].astype(unsigned).view(dtype)
    special = getattr(instr, "resolve", None)
    raise refuse(instr, f"operand {op!r:.60}" if special is None else "")


def put(g: Any, slot: int, value: Array) -> None:  # noqa: ANN401 (a group of lanes)
    """Store to active lanes."""
    g.R[slot] = value if g.full else np.where(g.mask, value, g.R[slot])


def setter(op: Operand, kind: str, instr: Instr) -> Callable[[Any, Array], None]:
    """A function that stores lanes of type ``kind``."""
    if isinstance(op, Sink):
        return lambda g, v: None
    if not isinstance(op, Reg):
        raise refuse(instr, "destination")
    slot, have = op.slot, stored(op.type)
    if kind == "pred":
        if op.type != "pred":
            raise refuse(instr, f"{op.name} is no predicate")

        def store_flag(g: Any, v: Array) -> None:  # noqa: ANN401
            g.R[slot] = v if g.full else np.where(g.mask, v, g.R[slot])

        return store_flag
    size = np.dtype(dtype_of(kind, instr)).itemsize
    if op.type in ("pred", "b128"):
        raise refuse(instr, f"register {op.name} of type .{op.type}")
    if np.dtype(have).itemsize == size:

        def store(g: Any, v: Array) -> None:  # noqa: ANN401
            v = v.view(have)
            g.R[slot] = v if g.full else np.where(g.mask, v, g.R[slot])

        return store
    signed = kind[0] == "s"

    def widen(g: Any, v: Array) -> None:  # noqa: ANN401
        wide = (
            v.view(f"i{size}").astype(f"i{np.dtype(have).itemsize}")
            if signed
            else v.view(_U[size]).astype(have)
        )
        put(g, slot, wide.view(have))

    return widen


def _shift_left(a: Array, b: Array, bits: int) -> Array:
    return np.where(b >= bits, a.dtype.type(0), a << (b.astype(a.dtype) & a.dtype.type(bits - 1)))


def _shift_right(a: Array, b: Array, bits: int) -> Array:
    n = np.minimum(b, bits - 1).astype(a.dtype)
    if a.dtype.kind == "i":
        return a >> n
    return np.where(b >= bits, a.dtype.type(0), a >> n)


def _divide(a: Array, b: Array) -> tuple[Array, Array]:
    """Quotient toward zero and remainder; a zero divisor gives all ones and the dividend."""
    safe = np.where(b == 0, b.dtype.type(1), b)
    if a.dtype.kind == "u":
        q, r = a // safe, a % safe
    else:
        q = a // safe
        r = a - q * safe
        fix = (r != 0) & ((r < 0) != (a < 0))
        q = q + fix.astype(a.dtype)
        r = a - q * safe
    return np.where(b == 0, ~np.zeros_like(a), q), np.where(b == 0, a, r)


def _mul_high(a: Array, b: Array) -> Array:
    if a.dtype.itemsize < 8:
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        return ((a.astype(wide) * b.astype(wide)) >> wide(8 * a.dtype.itemsize)).astype(a.dtype)
    mask = (1 << 64) - 1
    out = [((int(x) * int(y)) >> 64) & mask for x, y in zip(a, b, strict=True)]
    return np.array(out, np.uint64).view(a.dtype)


_INT2: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "div": lambda a, b: _divide(a, b)[0], "rem": lambda a, b: _divide(a, b)[1],
}  # fmt: skip


def _f_min(a: Array, b: Array) -> Array:
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), a, b), np.fmin(a, b))


def _f_max(a: Array, b: Array) -> Array:
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), b, a), np.fmax(a, b))


def _fma32(a: Array, b: Array, c: Array) -> Array:
    if a.dtype == np.float32:
        wide = np.float64
        return (a.astype(wide) * b.astype(wide) + c.astype(wide)).astype(np.float32)
    return a * b + c


_FLOAT2: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": _f_min,
    "max": _f_max, "copysign": lambda a, b: np.copysign(b, a),
}  # fmt: skip


def _lg2(a: Array) -> Array:
    return np.log2(a)


_FLOAT1: dict[str, Callable[[Array], Array]] = {
    "abs": np.abs, "neg": np.negative, "sqrt": np.sqrt, "rcp": lambda a: 1 / a,
    "rsqrt": lambda a: 1 / np.sqrt(a), "ex2": np.exp2, "lg2": _lg2, "sin": np.sin, "cos": np.cos,
    "tanh": np.tanh,
}  # fmt: skip


def _halves(a: Array) -> tuple[Array, Array]:
    return (a & np.uint32(0xFFFF)).astype(np.uint16), (a >> np.uint32(16)).astype(np.uint16)


def _whole(low: Array, high: Array) -> Array:
    return low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))


def as_float(kind: str) -> Callable[[Array], Array]:
    """Bits to numbers of a scalar float type."""
    return {"f16": f16_to_f32, "bf16": bf16_to_f32}.get(kind, lambda a: a)


def as_bits(kind: str) -> Callable[[Array], Array]:
    """Numbers to bits of a scalar float type."""
    return {"f16": f32_to_f16, "bf16": f32_to_bf16}.get(kind, lambda a: a)


FLOATS = ("f16", "bf16", "f16x2", "bf16x2", "f32", "f64", "f32x2")


class Alu:
    """Builds functions for arithmetic; ``resolve`` gives getters for symbols and specials."""

    def __init__(self, resolve: Callable[[Operand, str, Instr], Callable[[Any], Array]]) -> None:
        self.get = resolve
        self.known = {name[3:]: getattr(self, name) for name in dir(self) if name.startswith("op_")}

    def build(self, instr: Instr) -> Run | None:
        """The function of an instruction, or None where it is no arithmetic."""
        maker = self.known.get(instr.parts[0])
        return None if maker is None else maker(instr)

    # -- helpers

    def _one(self, instr: Instr, kind: str, op: Callable[[Array], Array], out: str = "") -> Run:
        d, a = instr.operands
        store, get = setter(d, out or kind, instr), self.get(a, kind, instr)
        return lambda g: store(g, op(get(g)))

    def _two(self, instr: Instr, kind: str, op: Callable[[Array, Array], Array]) -> Run:
        d, a, b = instr.operands
        store, x, y = setter(d, kind, instr), self.get(a, kind, instr), self.get(b, kind, instr)
        return lambda g: store(g, op(x(g), y(g)))

    def _three(self, instr: Instr, kind: str, op: Callable[..., Array]) -> Run:
        d, a, b, c = instr.operands
        store = setter(d, kind, instr)
        x, y, z = (self.get(o, kind, instr) for o in (a, b, c))
        return lambda g: store(g, op(x(g), y(g), z(g)))

    def _float(self, instr: Instr, op: Callable[..., Array], count: int) -> Run:
        """A float operation of any format, with ``.sat`` and ``.relu``."""
        parts = instr.parts
        kind = parts[-1]
        sat, relu = "sat" in parts, "relu" in parts
        if kind == "f32" and any(p in ("f16", "bf16") for p in parts):
            raise refuse(instr, "mixed types")

        def finish(value: Array) -> Array:
            if sat:
                value = np.where(np.isnan(value), 0, np.clip(value, 0, 1)).astype(value.dtype)
            if relu:
                value = np.where(value < 0, value.dtype.type(0), value)
            return value

        d, *rest = instr.operands
        if len(rest) != count:
            raise refuse(instr, "operands")
        gets = [self.get(o, kind, instr) for o in rest]
        store = setter(d, kind, instr)
        if kind in ("f32", "f64"):
            if not sat and not relu:
                if count == 1:
                    (x,) = gets
                    return lambda g: store(g, op(x(g)))
                if count == 2:
                    x, y = gets
                    return lambda g: store(g, op(x(g), y(g)))
            return lambda g: store(g, finish(op(*(x(g) for x in gets))))
        if kind == "f32x2":

            def pair(g: Any) -> None:  # noqa: ANN401
                given = [np.ascontiguousarray(x(g)).view(np.float32) for x in gets]
                value = np.ascontiguousarray(finish(op(*given)), np.float32)
                store(g, value.view(np.uint64))

            return pair
        load, keep = as_float(kind.removesuffix("x2")), as_bits(kind.removesuffix("x2"))
        if kind in ("f16", "bf16"):
            return lambda g: store(g, keep(finish(op(*(load(x(g)) for x in gets)))))

        def packed(g: Any) -> None:  # noqa: ANN401
            halves = [_halves(x(g)) for x in gets]
            low = keep(finish(op(*(load(h[0]) for h in halves))))
            high = keep(finish(op(*(load(h[1]) for h in halves))))
            store(g, _whole(low, high))

        return packed

    # -- integer and float

    def _arith(self, instr: Instr) -> Run:
        name = instr.parts[0]
        kind = next(p for p in reversed(instr.parts) if p != "relu")  # written on either side
        if "cc" in instr.parts:
            return self._carry(instr)
        if kind in FLOATS:
            op = _FLOAT2[name]
            if name in ("min", "max"):
                if "NaN" in instr.parts:
                    op = np.minimum if name == "min" else np.maximum
                if len(instr.operands) == 4:
                    inner = op
                    return self._float(instr, lambda a, b, c: inner(inner(a, b), c), 3)
                if "abs" in instr.parts:
                    plain = op
                    op = lambda a, b: np.copysign(  # noqa: E731
                        plain(np.abs(a), np.abs(b)),
                        np.where(np.signbit(a) != np.signbit(b), -1, 1).astype(a.dtype),
                    )
            return self._float(instr, op, 2)
        if kind in ("u16x2", "s16x2"):
            inner2 = _INT2[name]
            half = np.uint16 if kind[0] == "u" else np.int16
            least = half(0) if "relu" in instr.parts else np.iinfo(half).min

            def one(a: Array, b: Array) -> Array:
                found: Array = np.maximum(inner2(a.view(half), b.view(half)), half(least))
                return found.view(np.uint16)

            def two(a: Array, b: Array) -> Array:
                (al, ah), (bl, bh) = _halves(a), _halves(b)
                return _whole(one(al, bl), one(ah, bh))

            return self._two(instr, kind, two)
        if kind == "pred":
            return self._two(instr, "pred", _INT2[name])
        op = _INT2[name]
        if "relu" in instr.parts:
            plain2 = op
            op = lambda a, b: np.maximum(plain2(a, b), a.dtype.type(0))  # noqa: E731
        if "sat" in instr.parts and kind == "s32":
            sat = op

            def clipped(a: Array, b: Array) -> Array:
                wide = sat(a.astype(np.int64), b.astype(np.int64))
                return np.clip(wide, -(1 << 31), (1 << 31) - 1).astype(np.int32)

            return self._two(instr, kind, clipped)
        return self._two(instr, kind, op)

    op_add = op_sub = op_min = op_max = op_and = op_or = op_xor = op_rem = op_copysign = _arith

    def _carry(self, instr: Instr) -> Run:
        """``add.cc``, ``addc``, ``sub.cc``, ``subc``, ``mad.lo.cc`` and relatives."""
        name, kind = instr.parts[0], instr.parts[-1]
        bits = 8 * TYPE_BYTES[kind]
        unsigned = "u" + kind[1:]
        sets = "cc" in instr.parts
        d, *rest = instr.operands
        store = setter(d, unsigned, instr)
        gets = [self.get(o, unsigned, instr) for o in rest]
        base = name.removesuffix("c")
        takes = name.endswith("c")

        def run(g: Any) -> None:  # noqa: ANN401
            given = [[int(v) for v in x(g)] for x in gets]
            flag = g.warp.carry if takes else [0] * LANES
            out, carries = [], []
            for i in range(LANES):
                values = [v[i] for v in given]
                if base == "add":
                    total = values[0] + values[1] + int(flag[i])
                elif base == "sub":
                    total = values[0] - values[1] - int(flag[i])
                else:
                    product = values[0] * values[1]
                    part = product >> bits if "hi" in instr.parts else product & ((1 << bits) - 1)
                    total = part + values[2] + int(flag[i])
                out.append(total & ((1 << bits) - 1))
                carries.append(1 if total < 0 or total >> bits else 0)
            if sets:
                g.warp.carry = carries
            store(g, np.array(out, np.uint64).astype(dtype_of(unsigned, instr)))

        return run

    op_addc = op_subc = op_madc = _carry

    def op_mul(self, instr: Instr) -> Run:
        """``mul``."""
        kind = instr.parts[-1]
        if kind in FLOATS:
            return self._float(instr, np.multiply, 2)
        if "wide" in instr.parts:
            d, a, b = instr.operands
            wide = WIDER[kind]
            store, x, y = setter(d, wide, instr), self.get(a, kind, instr), self.get(b, kind, instr)
            dtype = dtype_of(wide, instr)
            return lambda g: store(g, x(g).astype(dtype) * y(g).astype(dtype))
        return self._two(instr, kind, _mul_high if "hi" in instr.parts else np.multiply)

    def op_mul24(self, instr: Instr) -> Run:
        """``mul24.lo``."""
        mask = 0xFFFFFF
        return self._two(instr, instr.parts[-1], lambda a, b: (a & mask) * (b & mask))

    def op_mad(self, instr: Instr) -> Run:
        """``mad``."""
        kind = instr.parts[-1]
        if kind in FLOATS:
            return self.op_fma(instr)
        if "cc" in instr.parts:
            return self._carry(instr)
        if "wide" in instr.parts:
            d, a, b, c = instr.operands
            wide = WIDER[kind]
            store, x, y = setter(d, wide, instr), self.get(a, kind, instr), self.get(b, kind, instr)
            z, dtype = self.get(c, wide, instr), dtype_of(wide, instr)
            return lambda g: store(g, x(g).astype(dtype) * y(g).astype(dtype) + z(g))
        if "hi" in instr.parts:
            return self._three(instr, kind, lambda a, b, c: _mul_high(a, b) + c)
        return self._three(instr, kind, lambda a, b, c: a * b + c)

    def op_fma(self, instr: Instr) -> Run:
        """``fma``."""
        return self._float(instr, _fma32, 3)

    def op_div(self, instr: Instr) -> Run:
        """``div``."""
        return self._arith(instr)

    def _unary(self, instr: Instr) -> Run:
        name, kind = instr.parts[0], instr.parts[-1]
        if kind in FLOATS:
            return self._float(instr, _FLOAT1[name], 1)
        if name == "neg":
            return self._one(instr, kind, lambda a: (0 - a).astype(a.dtype))
        if name == "abs":
            return self._one(instr, kind, np.abs)
        raise refuse(instr)

    op_neg = op_abs = op_sqrt = op_rcp = op_rsqrt = op_ex2 = op_lg2 = op_sin = op_cos = _unary
    op_tanh = _unary

    def op_not(self, instr: Instr) -> Run:
        """``not``."""
        return self._one(instr, instr.parts[-1], np.invert)

    def op_cnot(self, instr: Instr) -> Run:
        """``cnot``."""
        return self._one(instr, instr.parts[-1], lambda a: (a == 0).astype(a.dtype))

    def op_shl(self, instr: Instr) -> Run:
        """``shl``."""
        return self._shift(instr, _shift_left)

    def op_shr(self, instr: Instr) -> Run:
        """``shr``."""
        return self._shift(instr, _shift_right)

    def _shift(self, instr: Instr, op: Callable[[Array, Array, int], Array]) -> Run:
        kind = instr.parts[-1]
        d, a, b = instr.operands
        bits = 8 * TYPE_BYTES[kind]
        store, x = setter(d, kind, instr), self.get(a, kind, instr)
        if isinstance(b, Imm) and 0 <= int(b.value) < bits:
            n = dtype_of(kind, instr)(int(b.value))
            if op is _shift_left:
                return lambda g: store(g, x(g) << n)
            return lambda g: store(g, x(g) >> n)
        y = self.get(b, "u32", instr)
        return lambda g: store(g, op(x(g), y(g), bits))

    def op_shf(self, instr: Instr) -> Run:
        """``shf.l/r.wrap/clamp.b32``."""
        d, a, b, c = instr.operands
        store = setter(d, "b32", instr)
        x, y, z = (self.get(o, "u32", instr) for o in (a, b, c))
        left, wrap = "l" in instr.parts, "wrap" in instr.parts

        def run(g: Any) -> None:  # noqa: ANN401
            both = x(g).astype(np.uint64) | (y(g).astype(np.uint64) << np.uint64(32))
            n = (z(g) & np.uint32(31)) if wrap else np.minimum(z(g), np.uint32(32))
            n = n.astype(np.uint64)
            value = (both << n) >> np.uint64(32) if left else both >> n
            store(g, (value & np.uint64(0xFFFFFFFF)).astype(np.uint32))

        return run

    def op_bfe(self, instr: Instr) -> Run:
        """``bfe``."""
        kind = instr.parts[-1]
        d, a, b, c = instr.operands
        bits = 8 * TYPE_BYTES[kind]
        store, x = setter(d, kind, instr), self.get(a, kind, instr)
        y, z = self.get(b, "u32", instr), self.get(c, "u32", instr)
        dtype = dtype_of(kind, instr)

        def run(g: Any) -> None:  # noqa: ANN401
            out = []
            for value, at, n in zip(x(g), y(g) & 255, z(g) & 255, strict=True):
                whole, pos, size = int(value) & ((1 << bits) - 1), int(at), int(n)
                part = (whole >> pos) & ((1 << size) - 1) if size else 0
                if kind[0] == "s" and size:
                    sign = (whole >> min(pos + size - 1, bits - 1)) & 1
                    have = max(0, min(size, bits - pos))
                    if sign:
                        part |= ((1 << bits) - 1) ^ ((1 << have) - 1)
                out.append(part & ((1 << bits) - 1))
            store(g, np.array(out, np.uint64).astype(_U[bits // 8]).view(dtype))

        return run

    def op_bfi(self, instr: Instr) -> Run:
        """``bfi``."""
        kind = instr.parts[-1]
        f, a, b, c, d = instr.operands
        unsigned = dtype_of(kind, instr)
        store, x, y = setter(f, kind, instr), self.get(a, kind, instr), self.get(b, kind, instr)
        at, n = self.get(c, "u32", instr), self.get(d, "u32", instr)
        bits = 8 * TYPE_BYTES[kind]

        def run(g: Any) -> None:  # noqa: ANN401
            pos = (at(g) & 255).astype(np.uint64)
            size = (n(g) & 255).astype(np.uint64)
            full = np.uint64((1 << bits) - 1)
            field = np.where(
                size >= 64, ~np.uint64(0), (np.uint64(1) << (size & 63)) - np.uint64(1)
            )
            mask = np.where(pos >= 64, np.uint64(0), field << (pos & 63)) & full
            put_in = np.where(pos >= 64, np.uint64(0), x(g).astype(np.uint64) << (pos & 63))
            store(g, ((put_in & mask) | (y(g).astype(np.uint64) & ~mask & full)).astype(unsigned))

        return run

    def op_bmsk(self, instr: Instr) -> Run:
        """``bmsk``: a mask of ``b`` bits from bit ``a`` on."""
        wrap = "wrap" in instr.parts

        def mask(a: Array, b: Array) -> Array:
            a = a & np.uint32(31) if wrap else np.minimum(a, 32)
            b = b & np.uint32(31) if wrap else np.minimum(b, 32)
            ones = (np.uint64(1) << b.astype(np.uint64)) - np.uint64(1)
            return ((ones << a.astype(np.uint64)) & np.uint64(0xFFFFFFFF)).astype(np.uint32)

        return self._two(instr, "b32", mask)

    def op_szext(self, instr: Instr) -> Run:
        """``szext``: extend from bit ``b``."""
        kind = instr.parts[-1]

        def extend(a: Array, b: Array) -> Array:
            n = np.clip(b.astype(np.int64), 0, 32)
            low = a.astype(np.int64) & ((np.int64(1) << n) - 1)
            if kind == "s32":
                sign = np.where(n > 0, (low >> np.maximum(n - 1, 0)) & 1, 0)
                low = low - (sign << n)
            return low.astype(a.dtype)

        return self._two(instr, kind, extend)

    def op_popc(self, instr: Instr) -> Run:
        """``popc``."""
        return self._counts(instr, lambda v, _: v.bit_count())

    def op_clz(self, instr: Instr) -> Run:
        """``clz``."""
        return self._counts(instr, lambda v, bits: bits - v.bit_length())

    def _counts(self, instr: Instr, op: Callable[[int, int], int]) -> Run:
        kind = instr.parts[-1]
        d, a = instr.operands
        store, x = setter(d, "u32", instr), self.get(a, kind, instr)
        bits = 8 * TYPE_BYTES[kind]
        return lambda g: store(g, np.array([op(int(v), bits) for v in x(g)], np.uint32))

    def op_bfind(self, instr: Instr) -> Run:
        """``bfind``: the highest bit that differs from the sign."""
        kind, bits = instr.parts[-1], 8 * TYPE_BYTES[instr.parts[-1]]
        amount = "shiftamt" in instr.parts
        d, a = instr.operands
        store, x = setter(d, "u32", instr), self.get(a, kind, instr)

        def find(v: int) -> int:
            v = ~v if v < 0 else v
            if v == 0:
                return 0xFFFFFFFF
            high = v.bit_length() - 1
            return bits - 1 - high if amount else high

        return lambda g: store(g, np.array([find(int(v)) for v in x(g)], np.uint32))

    def op_brev(self, instr: Instr) -> Run:
        """``brev``."""
        kind, bits = instr.parts[-1], 8 * TYPE_BYTES[instr.parts[-1]]
        dtype = dtype_of(kind, instr)
        return self._one(
            instr,
            kind,
            lambda a: np.array([int(f"{int(v):0{bits}b}"[::-1], 2) for v in a], np.uint64).astype(
                dtype
            ),
        )

    def op_lop3(self, instr: Instr) -> Run:
        """``lop3.b32``."""
        d, a, b, c, table = instr.operands[:5]
        if len(instr.operands) != 5 or not isinstance(table, Imm):
            raise refuse(instr, "with a predicate")
        code = int(table.value)

        def op(x: Array, y: Array, z: Array) -> Array:
            out = np.zeros(LANES, np.uint32)
            for i in range(8):
                if code >> i & 1:
                    term = x if i & 4 else ~x
                    term = term & (y if i & 2 else ~y) & (z if i & 1 else ~z)
                    out = out | term
            return out

        store = setter(d, "b32", instr)
        gx, gy, gz = (self.get(o, "b32", instr) for o in (a, b, c))
        return lambda g: store(g, op(gx(g), gy(g), gz(g)))

    def op_prmt(self, instr: Instr) -> Run:
        """``prmt.b32`` in all modes."""
        d, a, b, c = instr.operands
        mode = instr.parts[-1] if instr.parts[-1] != "b32" else ""
        if mode == "" and len(instr.parts) > 2 and instr.parts[1] != "b32":
            mode = instr.parts[1]
        store = setter(d, "b32", instr)
        x, y, z = (self.get(o, "b32", instr) for o in (a, b, c))
        tables = {
            "f4e": lambda s: [s, s + 1, s + 2, s + 3],
            "b4e": lambda s: [s, (s - 1) % 8, (s - 2) % 8, (s - 3) % 8],
            "rc8": lambda s: [s] * 4,
            "ecl": lambda s: [max(i, s) for i in range(4)],
            "ecr": lambda s: [min(i, s) for i in range(4)],
            "rc16": lambda s: [(s & 1) * 2, (s & 1) * 2 + 1] * 2,
        }

        def run(g: Any) -> None:  # noqa: ANN401
            both = x(g).astype(np.uint64) | (y(g).astype(np.uint64) << np.uint64(32))
            sel = z(g)
            if mode:
                width = 3
                picks = np.array([tables[mode](int(s) & width) for s in sel], np.uint64)
                parts = [(both >> (picks[:, i] * np.uint64(8))) & np.uint64(255) for i in range(4)]
            else:
                parts = []
                for i in range(4):
                    nib = (sel >> np.uint32(4 * i)) & np.uint32(15)
                    byte = (both >> ((nib & 7).astype(np.uint64) * np.uint64(8))) & np.uint64(255)
                    spread = np.where(byte & np.uint64(128), np.uint64(255), np.uint64(0))
                    parts.append(np.where(nib & 8, spread, byte))
            out = sum(p << np.uint64(8 * i) for i, p in enumerate(parts))
            store(g, np.asarray(out).astype(np.uint32))

        return run

    def op_dp4a(self, instr: Instr) -> Run:
        """``dp4a``."""
        ka, kb = instr.parts[-2:]
        d, a, b, c = instr.operands
        store = setter(d, "s32", instr)
        x, y, z = self.get(a, "b32", instr), self.get(b, "b32", instr), self.get(c, "s32", instr)

        def run(g: Any) -> None:  # noqa: ANN401
            u = np.ascontiguousarray(x(g)).view(np.int8 if ka == "s32" else np.uint8).reshape(-1, 4)
            v = np.ascontiguousarray(y(g)).view(np.int8 if kb == "s32" else np.uint8).reshape(-1, 4)
            store(g, (u.astype(np.int32) * v.astype(np.int32)).sum(1, dtype=np.int32) + z(g))

        return run

    def op_sad(self, instr: Instr) -> Run:
        """``sad``."""
        return self._three(
            instr, instr.parts[-1], lambda a, b, c: np.maximum(a, b) - np.minimum(a, b) + c
        )

    # -- choice and comparison

    def op_selp(self, instr: Instr) -> Run:
        """``selp``."""
        kind = instr.parts[-1]
        d, a, b, p = instr.operands
        store, x, y = setter(d, kind, instr), self.get(a, kind, instr), self.get(b, kind, instr)
        flag = self.get(p, "pred", instr)
        return lambda g: store(g, np.where(flag(g), x(g), y(g)))

    def op_slct(self, instr: Instr) -> Run:
        """``slct``."""
        kind, by = instr.parts[-2:]
        d, a, b, c = instr.operands
        store, x, y = setter(d, kind, instr), self.get(a, kind, instr), self.get(b, kind, instr)
        z = self.get(c, by, instr)
        return lambda g: store(g, np.where(z(g) >= 0, x(g), y(g)))

    def _comparison(self, instr: Instr, kind: str) -> Callable[[Array, Array], Array]:
        name = instr.parts[1]
        if kind in ("f32", "f64", "f16", "bf16"):
            load = as_float(kind)
            if name in ("num", "nan"):
                wanted = name == "nan"
                return lambda a, b: (np.isnan(load(a)) | np.isnan(load(b))) == wanted
            base = name[:-1] if name.endswith("u") and name[:-1] in COMPARE else name
            op = COMPARE[base]
            if base != name:
                return lambda a, b: op(load(a), load(b)) | np.isnan(load(a)) | np.isnan(load(b))
            if name == "ne":
                return lambda a, b: (load(a) != load(b)) & ~(np.isnan(load(a)) | np.isnan(load(b)))
            return lambda a, b: op(load(a), load(b))
        return COMPARE[name]

    def op_setp(self, instr: Instr) -> Run:
        """``setp``, with a boolean operation and two results where asked for."""
        kind = instr.parts[-1]
        if kind.endswith("x2"):
            return self._setp_packed(instr, kind)
        d, a, b, *rest = instr.operands
        op = self._comparison(instr, kind)
        x, y = self.get(a, kind, instr), self.get(b, kind, instr)
        joined = next((p for p in instr.parts[2:-1] if p in ("and", "or", "xor")), None)
        third = self.get(rest[0], "pred", instr) if rest else None
        first, second = (d.first, d.second) if isinstance(d, Pair) else (d, None)
        store = setter(first, "pred", instr)
        other = setter(second, "pred", instr) if second is not None else None
        if joined is None and other is None:
            return lambda g: store(g, op(x(g), y(g)))
        combine = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}.get(
            joined or "", lambda p, q: p
        )

        def run(g: Any) -> None:  # noqa: ANN401
            value = op(x(g), y(g))
            extra = third(g) if third is not None else value
            if other is not None:
                other(g, combine(~value, extra) if joined else ~value)
            store(g, combine(value, extra) if joined else value)

        return run

    def _setp_packed(self, instr: Instr, kind: str) -> Run:
        d, a, b = instr.operands
        if not isinstance(d, Pair):
            raise refuse(instr)
        op = self._comparison(instr, kind.removesuffix("x2"))
        x, y = self.get(a, kind, instr), self.get(b, kind, instr)
        low, high = setter(d.first, "pred", instr), setter(d.second, "pred", instr)

        def run(g: Any) -> None:  # noqa: ANN401
            (al, ah), (bl, bh) = _halves(x(g)), _halves(y(g))
            low(g, op(al, bl))
            high(g, op(ah, bh))

        return run

    def op_set(self, instr: Instr) -> Run:
        """``set``: a comparison as a number or all ones."""
        out, kind = instr.parts[-2:]
        d, a, b, *rest = instr.operands
        if rest:
            return self._set_with(instr)
        if kind.endswith("x2"):
            half = kind.removesuffix("x2")
            op2 = self._comparison(instr, half)
            x, y = self.get(a, kind, instr), self.get(b, kind, instr)
            store = setter(d, out, instr)
            one = {"f16": 0x3C00, "bf16": 0x3F80}.get(out.removesuffix("x2"), 0xFFFF)

            def packed(g: Any) -> None:  # noqa: ANN401
                (al, ah), (bl, bh) = _halves(x(g)), _halves(y(g))
                low, high = (np.where(t, one, 0) for t in (op2(al, bl), op2(ah, bh)))
                store(g, _whole(low, high))

            return packed
        op = self._comparison(instr, kind)
        x, y = self.get(a, kind, instr), self.get(b, kind, instr)
        store, dtype = setter(d, out, instr), dtype_of(out, instr)
        bits = {"f16": 0x3C00, "bf16": 0x3F80}
        yes = np.float32(1.0) if out == "f32" else dtype(bits[out]) if out in bits else ~dtype(0)
        return lambda g: store(g, np.where(op(x(g), y(g)), yes, dtype(0)).astype(dtype))

    def _set_with(self, instr: Instr) -> Run:
        """``set`` of a comparison and a predicate."""
        *head, flag = instr.operands
        join = next((p for p in instr.parts if p in ("and", "or", "xor")), "")
        kept = tuple(p for p in instr.parts if p != join)
        out, kind = kept[-2:]
        plain = Instr(".".join(kept), kept, tuple(head), line=instr.line)
        given = self.get(flag, "pred", instr)
        if kind.endswith("x2") or join not in ("and", "or", "xor"):
            raise refuse(instr, "with a predicate")
        op = self._comparison(plain, kind)
        x, y = self.get(head[1], kind, instr), self.get(head[2], kind, instr)
        store, dtype = setter(head[0], out, instr), dtype_of(out, instr)
        bits = {"f16": 0x3C00, "bf16": 0x3F80}
        yes = np.float32(1.0) if out == "f32" else dtype(bits[out]) if out in bits else ~dtype(0)
        combine = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}[join]
        return lambda g: store(
            g, np.where(combine(op(x(g), y(g)), given(g)), yes, dtype(0)).astype(dtype)
        )

    def op_testp(self, instr: Instr) -> Run:
        """``testp``."""
        kind, name = instr.parts[-1], instr.parts[1]
        tests: dict[str, Callable[[Array], Array]] = {
            "finite": np.isfinite, "infinite": np.isinf, "number": lambda a: ~np.isnan(a),
            "notanumber": np.isnan,
            "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny),
            "normal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(a.dtype).tiny),
        }  # fmt: skip
        d, a = instr.operands
        store, x = setter(d, "pred", instr), self.get(a, kind, instr)
        return lambda g: store(g, tests[name](x(g)))

    # -- moves and conversions

    def op_mov(self, instr: Instr) -> Run:
        """``mov``, packing and unpacking of vectors included."""
        kind = instr.parts[-1]
        d, a = instr.operands
        if isinstance(d, Vec) and isinstance(a, Vec):
            raise refuse(instr)
        if isinstance(d, Vec):
            return self._unpack(instr, d, a, kind)
        if isinstance(a, Vec):
            return self._pack(instr, d, a, kind)
        if kind == "b128":
            raise refuse(instr)
        store, x = setter(d, kind, instr), self.get(a, kind, instr)
        return lambda g: store(g, x(g))

    def _unpack(self, instr: Instr, d: Vec, a: Operand, kind: str) -> Run:
        n = len(d.items)
        size = TYPE_BYTES[kind] // n
        part = f"b{8 * size}"
        stores = [setter(o, part, instr) for o in d.items]
        x, dtype = self.get(a, kind, instr), _U[size]

        def run(g: Any) -> None:  # noqa: ANN401
            pieces = np.ascontiguousarray(x(g)).view(dtype).reshape(LANES, n)
            for i, store in enumerate(stores):
                store(g, np.ascontiguousarray(pieces[:, i]))

        return run

    def _pack(self, instr: Instr, d: Operand, a: Vec, kind: str) -> Run:
        n = len(a.items)
        size = TYPE_BYTES[kind] // n
        gets = [self.get(o, f"b{8 * size}", instr) for o in a.items]
        store = setter(d, kind, instr)
        dtype, unsigned = _U[size], _U[TYPE_BYTES[kind]]

        def run(g: Any) -> None:  # noqa: ANN401
            pieces = np.empty((LANES, n), dtype)
            for i, x in enumerate(gets):
                pieces[:, i] = x(g)
            store(g, pieces.view(unsigned).reshape(LANES))

        return run

    def op_cvt(self, instr: Instr) -> Run:  # noqa: C901, PLR0911
        """``cvt`` between all types."""
        parts = [p for p in instr.parts[1:] if p not in ("ftz", "approx", "oob")]
        kinds = [p for p in parts if p in _TYPES or p in ("e4m3x2", "e5m2x2", "tf32")]
        rounding = next((p for p in parts if p in _ROUNDS), "")
        sat, relu, finite = "sat" in parts, "relu" in parts, "satfinite" in parts
        if parts and parts[0] == "pack":
            return self._cvt_pack(instr)
        if len(kinds) != 2 or rounding == "rs":
            raise refuse(instr)
        out, kind = kinds
        if out in ("f16x2", "bf16x2", "e4m3x2", "e5m2x2") and kind == "f32":
            return self._cvt_pair(instr, out, rounding, relu=relu, finite=finite)
        if kind in ("e4m3x2", "e5m2x2"):
            load = e4m3_to_f32 if kind == "e4m3x2" else e5m2_to_f32
            keep = f32_to_f16 if out == "f16x2" else f32_to_bf16

            def widen(a: Array) -> Array:
                low, high = load((a & 255).astype(np.uint8)), load((a >> 8).astype(np.uint8))
                if relu:
                    low, high = np.maximum(low, 0), np.maximum(high, 0)
                return _whole(keep(low), keep(high))

            return self._one(instr, kind, widen, out)
        if out in ("e4m3x2", "e5m2x2"):
            load16 = f16_to_f32 if kind == "f16x2" else bf16_to_f32
            keep8 = f32_to_e4m3 if out == "e4m3x2" else f32_to_e5m2

            def narrow(a: Array) -> Array:
                low, high = (load16(h) for h in _halves(a))
                if relu:
                    low, high = np.maximum(low, 0), np.maximum(high, 0)
                return keep8(low).astype(np.uint16) | (keep8(high).astype(np.uint16) << 8)

            return self._one(instr, kind, narrow, out)
        if out == "tf32":
            rna = rounding == "rna"

            def tf32(a: Array) -> Array:
                if rna:
                    return f32_to_tf32(a).view(np.uint32)
                bits = a.view(np.uint32)
                half = np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))
                return (bits + half) & np.uint32(0xFFFFE000)

            return self._one(instr, "f32", tf32, "b32")
        if out.endswith("x2") or kind.endswith("x2"):
            raise refuse(instr)
        return self._one(instr, kind, _converter(out, kind, rounding, sat, relu, instr), out)

    def _cvt_pair(self, instr: Instr, out: str, rounding: str, *, relu: bool, finite: bool) -> Run:
        """Two f32 to a packed pair: the first operand is the upper half."""
        d, a, b = instr.operands
        x, y = self.get(a, "f32", instr), self.get(b, "f32", instr)
        store = setter(d, out, instr)
        zero = rounding == "rz"
        if out == "f16x2":
            keep: Callable[[Array], Array] = _f16_zero if zero else f32_to_f16
        elif out == "bf16x2":
            keep = f32_to_bf16_zero if zero else f32_to_bf16
        else:
            keep = f32_to_e4m3 if out == "e4m3x2" else f32_to_e5m2

        def clip(v: Array) -> Array:
            v = np.where(v < 0, np.float32(0), v) if relu else v
            if finite and out in ("f16x2", "bf16x2"):
                top = np.float32(65504.0 if out == "f16x2" else 3.3895314e38)
                v = np.clip(v, -top, top)
            return v

        if out in ("f16x2", "bf16x2"):
            return lambda g: store(g, _whole(keep(clip(y(g))), keep(clip(x(g)))))
        return lambda g: store(
            g, keep(clip(y(g))).astype(np.uint16) | (keep(clip(x(g))).astype(np.uint16) << 8)
        )

    def _cvt_pack(self, instr: Instr) -> Run:
        """``cvt.pack.sat.s8.s32.b32 d, a, b, c``."""
        out = next(
            p for p in instr.parts if p in ("s8", "u8", "s16", "u16", "s4", "u4", "s2", "u2")
        )
        d, a, b, *rest = instr.operands
        low, high = {
            "s2": (-2, 1),
            "u2": (0, 3),
            "s4": (-8, 7),
            "u4": (0, 15),
            "s8": (-128, 127),
            "u8": (0, 255),
            "s16": (-(1 << 15), (1 << 15) - 1),
            "u16": (0, (1 << 16) - 1),
        }[out]
        x, y = self.get(a, "s32", instr), self.get(b, "s32", instr)
        z = self.get(rest[0], "b32", instr) if rest else None
        store = setter(d, "b32", instr)
        bits = int(out[1:])
        mask = (1 << bits) - 1

        def run(g: Any) -> None:  # noqa: ANN401
            one, two = (np.clip(v(g).astype(np.int64), low, high) & mask for v in (x, y))
            value = two | (one << bits)
            if z is not None:
                value = value | (z(g).astype(np.int64) << (2 * bits))
            store(g, (value & 0xFFFFFFFF).astype(np.uint32))

        return run


def _f16_zero(values: Array) -> Array:
    near = values.astype(np.float16)
    over = np.abs(near.astype(np.float32)) > np.abs(values)
    return np.where(over, np.nextafter(near, np.float16(0)), near).view(np.uint16)


def _rounded(values: Array, rounding: str) -> Array:
    if rounding in ("rni", "rn"):
        return np.rint(values)
    if rounding in ("rmi", "rm"):
        return np.floor(values)
    if rounding in ("rpi", "rp"):
        return np.ceil(values)
    return np.trunc(values)


def _converter(
    out: str, kind: str, rounding: str, sat: bool, relu: bool, instr: Instr
) -> Callable[[Array], Array]:
    """A conversion of scalars: bits or numbers in, bits or numbers out."""
    floats = ("f16", "bf16", "f32", "f64")
    if kind in floats and out in floats:
        load, keep = as_float(kind), as_bits(out)
        target = np.float64 if out == "f64" else np.float32
        integral = rounding.endswith("i")

        def between(a: Array) -> Array:
            v = load(a)
            if integral:
                v = _rounded(v, rounding)
            if sat:
                v = np.where(np.isnan(v), 0, np.clip(v, 0, 1)).astype(v.dtype)
            if relu:
                v = np.where(v < 0, v.dtype.type(0), v)
            if out == "bf16" and rounding == "rz":
                return f32_to_bf16_zero(v.astype(np.float32))
            if out == "f16" and rounding == "rz":
                return _f16_zero(v.astype(np.float32))
            if out == "f16" and kind == "f64":
                return v.astype(np.float16).view(np.uint16)
            return keep(v.astype(target))

        return between
    if kind in floats:
        load, dtype = as_float(kind), dtype_of(out, instr)
        info = np.iinfo(dtype)
        top = math.ldexp(1.0, 8 * np.dtype(dtype).itemsize - (info.min < 0))

        def to_int(a: Array) -> Array:
            v = _rounded(load(a).astype(np.float64), rounding)
            inside = np.where(
                np.isnan(v), 0, np.clip(v, float(info.min), top / 2 if top > 2**63 else top - 1)
            )
            low = np.where(v >= top, 0, inside)
            wide = low.astype(np.uint64 if info.min == 0 else np.int64)
            if top > 2**63:
                big = (v >= top / 2) & (v < top)
                wide = np.where(
                    big,
                    (np.where(big, v, 0) - top / 2).astype(np.uint64) + np.uint64(1 << 63),
                    wide,
                )
            found = wide.astype(dtype)
            return np.where(v >= top, info.max, found).astype(dtype)

        return to_int
    if out in floats:
        keep = as_bits(out)
        if out == "f64":
            return lambda a: a.astype(np.float64)
        if rounding == "rz":

            def toward_zero(a: Array) -> Array:
                exact = a.astype(np.float64)
                near = exact.astype(np.float32)
                over = np.abs(near.astype(np.float64)) > np.abs(exact)
                return keep(np.where(over, np.nextafter(near, np.float32(0)), near))

            return toward_zero
        return lambda a: keep(a.astype(np.float32))
    dtype, source = dtype_of(out, instr), dtype_of(kind, instr)
    if sat:
        info, own = np.iinfo(dtype), np.iinfo(source)
        low, high = max(info.min, own.min), min(info.max, own.max)
        return lambda a: np.clip(a, source(low), source(high)).astype(dtype)
    return lambda a: a.astype(dtype)
