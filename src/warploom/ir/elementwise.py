"""The table of elementwise functions: one row says everything the compiler knows about one.

A function is added here, and in ``warploom.interp.arithmetic``: the interpreter checks what the
compiler made, so it states on its own what a function computes. ``scripts/gen_stubs`` writes the
stubs that type checkers and editors read.

Parser, derivatives, constant folding, the NumPy reference, cost model and code generators read the
rows. Formulas (derivatives, gfx950 forms) build ops through a callable: ``op(Fn.MUL, a, 2.0)``.
NumPy is passed in where it is needed, so that reading a document does not import it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Protocol

from warploom.dataclass import dataclass


class Fn(StrEnum):
    """Elementwise functions. Comparisons give ``BOOL``; ``CAST`` converts to the result's type."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    NEG = "neg"
    FLOORDIV = "floordiv"
    MOD = "mod"
    SHR = "shr"
    BITS = "bits"
    BITOR = "bitor"
    XOR = "xor"
    SHL = "shl"
    MULHI = "mulhi"
    ABS = "abs"
    MIN = "min"
    MAX = "max"
    EXP = "exp"
    EXP2 = "exp2"
    LOG = "log"
    LOG2 = "log2"
    SQRT = "sqrt"
    RSQRT = "rsqrt"
    TANH = "tanh"
    ERF = "erf"
    SIN = "sin"
    COS = "cos"
    FLOOR = "floor"
    CAST = "cast"
    WHERE = "where"
    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    AND = "and"
    OR = "or"
    NOT = "not"
    INLINE = "inline"


class Domain(StrEnum):
    """What a function takes: numbers of any kind, floats (whole numbers are converted), whole
    numbers alone, or conditions.
    """

    ANY = "any"
    FLOAT = "float"
    INT = "int"
    BOOL = "bool"


class Build(Protocol):
    """Makes an op of values and numbers: ``op(Fn.MUL, x, 2.0)``."""

    def __call__(self, fn: Fn, *args: Any) -> Any:  # noqa: ANN401 (the builder's values, numbers)
        """The value of ``fn``."""


class LlvmBuild(Build, Protocol):
    """The same in a gfx950 form, where an LLVM intrinsic may be called by name."""

    def intrinsic(self, name: str, *args: Any) -> Any:  # noqa: ANN401
        """The value of ``@llvm.NAME`` of floats."""


@dataclass(frozen=True, slots=True)
class Routine:
    """A gfx950 form that is a routine of the code generator's own, by name."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Instructions of one element: multiply-adds, compares and moves, special functions."""

    fma: float = 0.0
    alu: float = 0.0
    mufu: float = 0.0


FMA, ALU, MUFU = Cost(fma=1), Cost(alu=1), Cost(mufu=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Elementwise:
    """One function.

    ``doc``: what ``wl.NAME`` is documented with; without it authors write an operator, or a builtin
    that is parsed in a way of its own. ``symbol``: the infix operator, in listings and in CUDA.
    ``python``: the value for numbers that are known while parsing. ``numpy``: given NumPy, the
    function of arrays. ``derivative``: of ``op``, the argument and the result, how the result grows
    with the argument; None where that is 0 everywhere or a rule of more than one argument.
    ``cuda``: the expression, arguments in braces (``cuda_int``: of whole numbers); ``cuda_calls``:
    device functions that it calls. ``gfx950``: an LLVM intrinsic of floats, a formula over other
    functions, or a routine.

    ``finite``: finite numbers give finite numbers, never NaN. ``of_zero``: what 0 gives, exactly,
    also as emitted. Both are what a pass may rely on; a row that leaves them out is always safe.
    """

    fn: Fn
    doc: str = ""
    symbol: str = ""
    domain: Domain = Domain.ANY
    condition: bool = False
    python: Callable[[Any], Any] | None = None
    numpy: Callable[[Any], Callable[..., Any]] | None = None
    derivative: Callable[[Build, Any, Any], Any] | None = None
    flat: bool = False
    cost: Cost = FMA
    finite: bool = False
    of_zero: float | None = None
    cuda: str = ""
    cuda_int: str = ""
    cuda_calls: tuple[str, ...] = ()
    gfx950: str | Callable[[LlvmBuild, Any], Any] | Routine | None = None

    @property
    def is_builtin(self) -> bool:
        """Whether it is ``wl.NAME`` of one argument."""
        return bool(self.doc)


LOG2E = math.log2(math.e)


def _int64(np: Any, a: Any) -> Any:  # noqa: ANN401 (NumPy and its arrays, here and below)
    return np.asarray(a).astype(np.int64)


def _unsigned(np: Any, a: Any) -> Any:  # noqa: ANN401
    """The 32 bits of a whole number as one that is not negative."""
    return (_int64(np, a) & 0xFFFFFFFF).astype(np.uint64)


def _amount(np: Any, b: Any, most: int) -> Any:  # noqa: ANN401
    """How far bits are moved: those of a word are gone from 32 on, and for negative numbers."""
    b = _int64(np, b)
    return np.where((b < 0) | (b > most), most, b)


def _divisor(np: Any, b: Any) -> Any:  # noqa: ANN401
    """Division by 0 is division by 1, on every machine."""
    return np.where(b == 0, 1, b)


def _tanh_gfx950(op: LlvmBuild, x: Any) -> Any:  # noqa: ANN401
    grown = op(Fn.ADD, op(Fn.EXP2, op(Fn.MUL, x, 2.0 * LOG2E)), 1.0)
    return op(Fn.ADD, op(Fn.MUL, op.intrinsic("amdgcn.rcp.f32", grown), -2.0), 1.0)


def _erf_gfx950(op: LlvmBuild, x: Any) -> Any:  # noqa: ANN401
    """The rational approximation of Abramowitz and Stegun, 7.1.26, good to 1.5e-7."""
    size = op.intrinsic("fabs.f32", x)
    t = op.intrinsic("amdgcn.rcp.f32", op(Fn.ADD, op(Fn.MUL, size, 0.3275911), 1.0))
    series = 1.061405429
    for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = op(Fn.ADD, op(Fn.MUL, series, t), term)
    series = op(Fn.MUL, series, t)
    tail = op(Fn.MUL, series, op(Fn.EXP2, op(Fn.MUL, op(Fn.MUL, x, x), -LOG2E)))
    return op.intrinsic("copysign.f32", op(Fn.SUB, 1.0, tail), x)


# fmt: off
_FUNCTIONS = (  # of one argument, by name: wl.NAME(x)
    Elementwise(
        fn=Fn.EXP, doc="e to the power of x.", domain=Domain.FLOAT, cost=MUFU, of_zero=1.0,
        python=math.exp, numpy=lambda np: np.exp,
        derivative=lambda op, a, y: y,
        cuda="exp2_approx({} * 1.4426950408889634f)", cuda_calls=("exp2_approx",),
        gfx950=lambda op, x: op(Fn.EXP2, op(Fn.MUL, x, LOG2E)),
    ),
    Elementwise(
        fn=Fn.EXP2, doc="2 to the power of x.", domain=Domain.FLOAT, cost=MUFU, of_zero=1.0,
        python=lambda x: 2.0**x, numpy=lambda np: np.exp2,
        derivative=lambda op, a, y: op(Fn.MUL, y, math.log(2)),
        cuda="exp2_approx({})", cuda_calls=("exp2_approx",), gfx950="amdgcn.exp2.f32",
    ),
    Elementwise(
        fn=Fn.LOG, doc="The natural logarithm.", domain=Domain.FLOAT, cost=MUFU,
        python=math.log, numpy=lambda np: np.log,
        derivative=lambda op, a, y: op(Fn.DIV, 1.0, a),
        cuda="(log2_approx({}) * 0.6931471805599453f)", cuda_calls=("log2_approx",),
        gfx950=lambda op, x: op(Fn.MUL, op(Fn.LOG2, x), 1 / LOG2E),
    ),
    Elementwise(
        fn=Fn.LOG2, doc="The logarithm to base 2.", domain=Domain.FLOAT, cost=MUFU,
        python=math.log2, numpy=lambda np: np.log2,
        derivative=lambda op, a, y: op(Fn.DIV, 1 / math.log(2), a),
        cuda="log2_approx({})", cuda_calls=("log2_approx",), gfx950="amdgcn.log.f32",
    ),
    Elementwise(
        fn=Fn.SQRT, doc="The square root.", domain=Domain.FLOAT, cost=MUFU,
        python=math.sqrt, numpy=lambda np: np.sqrt,
        derivative=lambda op, a, y: op(Fn.DIV, 0.5, y),
        cuda="sqrtf({})", gfx950="amdgcn.sqrt.f32",
    ),
    Elementwise(
        fn=Fn.RSQRT, doc="1 / sqrt(x).", domain=Domain.FLOAT, cost=MUFU,
        python=lambda x: 1.0 / math.sqrt(x), numpy=lambda np: lambda x: 1.0 / np.sqrt(x),
        derivative=lambda op, a, y: op(Fn.MUL, -0.5, op(Fn.MUL, y, op(Fn.MUL, y, y))),
        cuda="rsqrtf({})", gfx950="amdgcn.rsq.f32",
    ),
    Elementwise(
        fn=Fn.TANH, doc="The hyperbolic tangent.", domain=Domain.FLOAT, cost=MUFU, finite=True,
        of_zero=0.0, python=math.tanh, numpy=lambda np: np.tanh,
        derivative=lambda op, a, y: op(Fn.SUB, 1.0, op(Fn.MUL, y, y)),
        cuda="tanh_approx({})", cuda_calls=("tanh_approx",), gfx950=_tanh_gfx950,
    ),
    Elementwise(
        fn=Fn.ERF, doc="The error function.", domain=Domain.FLOAT, cost=Cost(fma=13, mufu=1),
        finite=True, python=math.erf,
        numpy=lambda np: np.vectorize(math.erf, otypes=[np.float64]),
        derivative=lambda op, a, y: op(
            Fn.MUL, 2 / math.sqrt(math.pi), op(Fn.EXP, op(Fn.NEG, op(Fn.MUL, a, a)))
        ),
        cuda="erf_smooth({})", cuda_calls=("erf_smooth",), gfx950=_erf_gfx950,
    ),
    Elementwise(
        fn=Fn.SIN, doc="The sine.", domain=Domain.FLOAT, cost=MUFU, finite=True,
        python=math.sin, numpy=lambda np: np.sin,
        derivative=lambda op, a, y: op(Fn.COS, a),
        cuda="sinf({})", gfx950=Routine("sine"),
    ),
    Elementwise(
        fn=Fn.COS, doc="The cosine.", domain=Domain.FLOAT, cost=MUFU, finite=True,
        python=math.cos, numpy=lambda np: np.cos,
        derivative=lambda op, a, y: op(Fn.NEG, op(Fn.SIN, a)),
        cuda="cosf({})", gfx950=Routine("cosine"),
    ),
    Elementwise(
        fn=Fn.FLOOR, doc="The largest whole number not above x, as a float.", domain=Domain.FLOAT,
        cost=ALU, finite=True, flat=True,
        python=lambda x: float(math.floor(x)), numpy=lambda np: np.floor,
        cuda="floorf({})", gfx950="floor.f32",
    ),
    Elementwise(
        fn=Fn.ABS, doc="The absolute value.", cost=ALU, finite=True, of_zero=0.0,
        python=abs, numpy=lambda np: np.abs,
        derivative=lambda op, a, y: op(Fn.WHERE, op(Fn.LT, a, 0.0), -1.0, 1.0),
        cuda="fabsf({})", cuda_int="abs({})", gfx950="fabs.f32",
    ),
)
_OPERATORS = (
    Elementwise(fn=Fn.ADD, symbol="+", finite=True, numpy=lambda np: np.add),
    Elementwise(fn=Fn.SUB, symbol="-", finite=True, numpy=lambda np: np.subtract),
    Elementwise(fn=Fn.MUL, symbol="*", finite=True, numpy=lambda np: np.multiply),
    Elementwise(
        fn=Fn.DIV, symbol="/", domain=Domain.FLOAT, cost=Cost(fma=3, mufu=1),
        numpy=lambda np: np.true_divide, cuda="__fdividef({}, {})",
    ),
    Elementwise(
        fn=Fn.NEG, finite=True, of_zero=0.0, numpy=lambda np: np.negative,
        derivative=lambda op, a, y: -1.0, cuda="(-{})",
    ),
    Elementwise(
        fn=Fn.FLOORDIV, symbol="//", domain=Domain.INT, finite=True, flat=True,
        numpy=lambda np: lambda a, b: np.floor_divide(a, _divisor(np, b)),
    ),
    Elementwise(
        fn=Fn.MOD, symbol="%", domain=Domain.INT, finite=True, flat=True,
        numpy=lambda np: lambda a, b: np.mod(a, _divisor(np, b)),
    ),
    Elementwise(
        fn=Fn.SHR, symbol=">>", domain=Domain.INT, finite=True,
        numpy=lambda np: lambda a, b: np.right_shift(_int64(np, a), _amount(np, b, 31)),
    ),
    Elementwise(
        fn=Fn.SHL, symbol="<<", domain=Domain.INT, finite=True,
        numpy=lambda np: lambda a, b: np.left_shift(_int64(np, a), _amount(np, b, 32)),
        cuda="shifted_left({}, {})", cuda_calls=("shifted_left",),
    ),
    Elementwise(
        fn=Fn.BITS, symbol="&", domain=Domain.INT, finite=True,
        numpy=lambda np: lambda a, b: np.bitwise_and(_int64(np, a), _int64(np, b)),
    ),
    Elementwise(
        fn=Fn.BITOR, symbol="|", domain=Domain.INT, finite=True,
        numpy=lambda np: lambda a, b: np.bitwise_or(_int64(np, a), _int64(np, b)),
    ),
    Elementwise(
        fn=Fn.XOR, symbol="^", domain=Domain.INT, finite=True,
        numpy=lambda np: lambda a, b: np.bitwise_xor(_int64(np, a), _int64(np, b)),
    ),
    Elementwise(
        fn=Fn.MULHI, domain=Domain.INT, finite=True,
        numpy=lambda np: lambda a, b: _unsigned(np, a) * _unsigned(np, b) >> np.uint64(32),
        cuda="(int)__umulhi((unsigned)({}), (unsigned)({}))",
    ),
    Elementwise(
        fn=Fn.MIN, cost=ALU, finite=True, numpy=lambda np: np.fmin,
        cuda="fminf({}, {})", cuda_int="min({}, {})", gfx950="minnum.f32",
    ),
    Elementwise(
        fn=Fn.MAX, cost=ALU, finite=True, numpy=lambda np: np.fmax,
        cuda="fmaxf({}, {})", cuda_int="max({}, {})", gfx950="maxnum.f32",
    ),
    Elementwise(fn=Fn.CAST, cost=ALU, finite=True),
    Elementwise(fn=Fn.INLINE, cost=Cost(alu=4)),  # of the author: see ``ir.tile.Inline``
    Elementwise(
        fn=Fn.WHERE, cost=ALU, finite=True, numpy=lambda np: np.where, cuda="({} ? {} : {})",
    ),
    *(
        Elementwise(
            fn=fn, symbol=symbol, condition=True, finite=True, flat=True,
            numpy=operator.attrgetter(name),
        )
        for fn, symbol, name in (
            (Fn.EQ, "==", "equal"), (Fn.NE, "!=", "not_equal"), (Fn.LT, "<", "less"),
            (Fn.LE, "<=", "less_equal"), (Fn.GT, ">", "greater"), (Fn.GE, ">=", "greater_equal"),
        )
    ),
    *(
        Elementwise(
            fn=fn, symbol=symbol, domain=Domain.BOOL, condition=True, finite=True, flat=True,
            numpy=operator.attrgetter(name), cuda=cuda,
        )
        for fn, symbol, name, cuda in (
            (Fn.AND, "and", "logical_and", "({} && {})"), (Fn.OR, "or", "logical_or", "({} || {})"),
            (Fn.NOT, "", "logical_not", "(!{})"),
        )
    ),
)
# fmt: on

ELEMENTWISE: dict[Fn, Elementwise] = {row.fn: row for row in (*_FUNCTIONS, *_OPERATORS)}
assert set(ELEMENTWISE) == set(Fn), set(Fn) - set(ELEMENTWISE)
"""Every function by its member."""

BUILTINS: dict[str, Elementwise] = {r.fn.value: r for r in ELEMENTWISE.values() if r.is_builtin}
"""Those that authors call by name."""


def functions(where: Callable[[Elementwise], object]) -> frozenset[Fn]:
    """The functions whose row has a property."""
    return frozenset(fn for fn, row in ELEMENTWISE.items() if where(row))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """A function that joins the elements of an axis, two at a time in any order.

    ``name``: the method of tiles (``x.sum(axis=1)``; ``wl.cumsum`` is its scan), ``noun``: what a
    message calls its result. ``identity``: what joins without effect, of floats and of whole
    numbers. ``numpy``: given NumPy, the function that joins two arrays. ``cuda``: how two elements
    are joined. Gfx950 code joins them by the elementwise function.
    """

    name: str
    noun: str
    identity: float
    identity_int: int
    numpy: Callable[[Any], Any]
    cuda: str
    cuda_int: str


REDUCTIONS: dict[Fn, Reduction] = {
    Fn.ADD: Reduction(
        name="sum",
        noun="sum",
        identity=0.0,
        identity_int=0,
        numpy=lambda np: np.add,
        cuda="{0} + {1}",
        cuda_int="(int)((unsigned)({0}) + (unsigned)({1}))",
    ),
    Fn.MAX: Reduction(
        name="max",
        noun="maximum",
        identity=-math.inf,
        identity_int=-(2**31),
        numpy=lambda np: np.fmax,
        cuda="fmaxf({0}, {1})",
        cuda_int="max({0}, {1})",
    ),
    Fn.MIN: Reduction(
        name="min",
        noun="minimum",
        identity=math.inf,
        identity_int=2**31 - 1,
        numpy=lambda np: np.fmin,
        cuda="fminf({0}, {1})",
        cuda_int="min({0}, {1})",
    ),
}
"""What elements of an axis can be joined by."""
