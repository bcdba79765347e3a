"""What type checkers and editors see of the language: functions with signatures and docstrings."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final

from warploom.ir.tile import Access, DType

__all__ = [
    "In",
    "Order",
    "Out",
    "Starts",
    "TensorNote",
    "Turns",
    "WORDS",
    "Word",
    "abs",
    "all",
    "any",
    "argmax",
    "argmin",
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "bf16",
    "blocked",
    "bool_",
    "cdiv",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "cummax",
    "cummin",
    "cumsum",
    "e4m3",
    "e5m2",
    "elu",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "f16",
    "f32",
    "floor",
    "fma",
    "full",
    "gelu",
    "grad",
    "hardswish",
    "i32",
    "i4",
    "i8",
    "index",
    "inf",
    "is_whole",
    "isfinite",
    "isinf",
    "isnan",
    "leaky_relu",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mish",
    "mulhi",
    "philox",
    "pow",
    "print",
    "relu",
    "relu6",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "sqrt",
    "square",
    "steps",
    "sum",
    "tan",
    "tanh",
    "tile",
    "topk",
    "trunc",
    "u32",
    "u8",
    "uniform",
    "where",
    "zeros",
]

f32: Final = DType.F32
"""32-bit floating point; arithmetic is done in it."""
bf16: Final = DType.BF16
"""bfloat16."""
f16: Final = DType.F16
"""IEEE half precision."""
e4m3: Final = DType.E4M3
"""8-bit float, 4 bits of exponent, largest 448; conversions saturate."""
e5m2: Final = DType.E5M2
"""8-bit float, 5 bits of exponent, largest 57344; conversions saturate."""
i32: Final = DType.I32
"""32-bit integer; sums and products wrap."""
i8: Final = DType.I8
"""8-bit integer; conversions saturate."""
u32: Final = DType.U32
"""32-bit integer without sign; sums and products wrap."""
u8: Final = DType.U8
"""Bytes of memory; what is loaded computes as i32."""
i4: Final = DType.I4
"""4-bit integer, two to a byte; loaded, never stored."""
bool_: Final = DType.BOOL
"""Conditions in memory: bytes, of which those that are not 0 hold."""
inf: Final[float]
"""Infinity."""

class Order(StrEnum):
    BLOCKED = "blocked"

blocked: Final = Order.BLOCKED
"""For sums of accumulators: blocks of 16 rows and 8 columns, as threads hold them."""

class Word:
    name: str
    usage: str
    def __init__(self, name: str, usage: str) -> None: ...
    def __call__(self, *args: Any, **given: Any) -> Any: ...

class TensorNote:
    access: Access
    items: tuple[object, ...]
    def __init__(self, access: Access, items: tuple[object, ...]) -> None: ...

# A tensor parameter's annotation holds names of axes, not types. Pyright takes a class with a
# subscript of its own for that. mypy, which sets MYPY, takes strings in Literal alone, and
# ``warploom.mypy_plugin`` makes Any of it.
MYPY: bool
if MYPY:
    from typing import Literal as In, Literal as Out, Literal as Starts, Literal as Turns
else:
    class _Tensor:
        def __class_getitem__(cls, axes: object) -> Any: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __getattr__(self, axis: str) -> Any: ...

    class In(_Tensor):
        """An input with named axes: ``x: wl.In["m", "k"]``; with a type ``wl.In["m", wl.f32]``,
        with an axis of blocks ``wl.In["m", "k/128"]``. ``= None``: it may be left out."""
        def __class_getitem__(cls, axes: object) -> Any: ...

    class Out(_Tensor):
        """An output with named axes; a call makes it, or takes it by name."""
        def __class_getitem__(cls, axes: object) -> Any: ...

    class Starts(_Tensor):
        """First rows of groups, one entry more than groups: ``starts: wl.Starts["e"]``."""
        def __class_getitem__(cls, axes: object) -> Any: ...

    class Turns(_Tensor):
        """Counters with which tiles add to memory in a fixed order."""
        def __class_getitem__(cls, axes: object) -> Any: ...

WORDS: dict[str, Word]

def tile(
    *tiled: Any,
    whole: Any = ...,
    groups: Any = ...,
    rows: int = ...,
    cols: int = ...,
    unit: Any = ...,
    order: Any = ...,
) -> Any:
    """The variables of one tile: ``m, n = wl.tile(out)``.

    The last two axes of the output are cut into tiles, axes before them are walked one element at a
    time. ``whole="d"``: all of an axis in each tile, which then has no variable. ``groups=starts``:
    rows of one group at a time, whose number comes first. Axes may be named: ``wl.tile("m", "n")``.
    ``unit="b"``: an axis of the last two that is walked one element at a time, too. ``rows=128``,
    ``cols=64``: the extents of a tile, where the text depends on them.
    """

def steps(
    size: Any,
    step: int = ...,
    *,
    start: Any = ...,
    until: Any = ...,
    part: Any = ...,
    some: Any = ...,
    whole: Any = ...,
) -> Iterator[Any]:
    """A loop along an axis: ``for k in wl.steps(x.k):``.

    ``step``: elements of a step. ``start``, ``until``: bounds. ``part=p``: the share of a tile.
    ``some=(tiles, counts)``: tiles that a list names.
    """

def zeros(*axes: Any, dtype: DType = ...) -> Any:
    """Zeros over variables or whole axes: ``wl.zeros(m, n)``, ``wl.zeros(s, q.d)``."""

def full(*axes_and_number: Any, dtype: DType = ...) -> Any:
    """A number over variables: ``wl.full(m, -wl.inf)``."""

def index(variable: Any) -> Any:
    """The element indices that a variable covers, i32."""

def is_whole(variable: Any) -> Any:
    """Whether the step at hand is from the list ``whole=`` of its loop."""

def where(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, else ``b``, element by element."""

def maximum(a: Any, b: Any, *more: Any) -> Any:
    """The larger, element by element; of a NaN and a number the number."""

def minimum(a: Any, b: Any, *more: Any) -> Any:
    """The smaller, element by element; of a NaN and a number the number."""

# Written by scripts/gen_stubs from warploom.ir.elementwise: begin.
def exp(x: Any) -> Any:
    """e to the power of x."""

def exp2(x: Any) -> Any:
    """2 to the power of x."""

def log(x: Any) -> Any:
    """The natural logarithm."""

def log2(x: Any) -> Any:
    """The logarithm to base 2."""

def sqrt(x: Any) -> Any:
    """The square root."""

def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""

def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""

def erf(x: Any) -> Any:
    """The error function."""

def sin(x: Any) -> Any:
    """The sine."""

def cos(x: Any) -> Any:
    """The cosine."""

def floor(x: Any) -> Any:
    """The largest whole number not above x, as a float."""

def abs(x: Any) -> Any:
    """The absolute value."""

# end

def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""

def silu(x: Any) -> Any:
    """x * sigmoid(x)."""

def gelu(x: Any, *, approximate: str = ...) -> Any:
    """x times the normal distribution's share below x; ``approximate="tanh"`` near it."""

def relu(x: Any) -> Any:
    """x where it is not negative, else 0; NaN stays."""

def mulhi(a: Any, b: Any) -> Any:
    """The high 32 bits of the product of two whole numbers, taken without sign."""

def philox(seed: Any, c0: Any, c1: Any = ..., c2: Any = ..., c3: Any = ...) -> Any:
    """Four values of 32 random bits (i32): Philox4x32-10 of a counter, with the key (seed, 0)."""

def uniform(seed: Any, offset: Any) -> Any:
    """Random numbers in [0, 1): the first 24 bits of ``philox(seed, offset)``."""

def argmax(x: Any, axis: Any = ...) -> Any:
    """The first place of the largest element along an axis, i32; NaN does not count."""

def argmin(x: Any, axis: Any = ...) -> Any:
    """The first place of the least element along an axis, i32; NaN does not count."""

def cumsum(x: Any, axis: Any = ..., *, reverse: bool = ...) -> Any:
    """The sum of each element and all before it along an axis of the tile or step at hand.

    ``reverse=True``: of each element and all after it. A sum that goes on from step to step is
    carried: ``out[m, n] = before + wl.cumsum(v, axis=1)``, then ``before += v.sum(axis=1)``.
    """

def cummax(x: Any, axis: Any = ..., *, reverse: bool = ...) -> Any:
    """The largest of each element and all before it along an axis; NaN does not count."""

def cummin(x: Any, axis: Any = ..., *, reverse: bool = ...) -> Any:
    """The least of each element and all before it along an axis; NaN does not count."""

def atomic_add(place: Any, x: Any) -> None:
    """Add to memory, the same as ``out[m] += x``; the order of additions is not defined."""

def atomic_max(place: Any, x: Any) -> None:
    """The larger of ``x`` and what memory holds, f32 and i32: ``wl.atomic_max(out[m], x)``.

    NaN counts for nothing, -0 as 0.
    """

def atomic_min(place: Any, x: Any) -> None:
    """The smaller of ``x`` and what memory holds, f32 and i32: ``wl.atomic_min(out[m], x)``."""

def sum(x: Any, axis: Any = ..., *, keepdims: bool = ...) -> Any:
    """The sum along an axis, or of all elements."""

def max(x: Any, axis: Any = ..., *, keepdims: bool = ...) -> Any:
    """The largest along an axis, or of all elements; of two values ``maximum``."""

def min(x: Any, axis: Any = ..., *, keepdims: bool = ...) -> Any:
    """The least along an axis, or of all elements; of two values ``minimum``."""

def mean(x: Any, axis: Any = ..., *, keepdims: bool = ...) -> Any:
    """The sum along an axis by the number of elements that exist."""

def any(x: Any, axis: Any = ..., *, keepdims: bool = ...) -> Any:
    """Whether a condition holds anywhere along an axis."""

def all(x: Any, axis: Any = ..., *, keepdims: bool = ...) -> Any:
    """Whether a condition holds everywhere along an axis."""

def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow."""

def clamp(x: Any, min: Any = ..., max: Any = ...) -> Any:
    """x held between two numbers."""

def square(x: Any) -> Any:
    """x * x."""

def sign(x: Any) -> Any:
    """1, -1 or 0; NaN stays."""

def ceil(x: Any) -> Any:
    """The least whole number not below x, as a float."""

def log1p(x: Any) -> Any:
    """log(1 + x)."""

def isnan(x: Any) -> Any:
    """Whether x is no number."""

def isinf(x: Any) -> Any:
    """Whether x is infinite."""

def isfinite(x: Any) -> Any:
    """Whether x is neither infinite nor NaN."""

def round(x: Any) -> Any:
    """The nearest whole number as a float; halves go to the even one."""

def trunc(x: Any) -> Any:
    """x without its fraction, as a float."""

def tan(x: Any) -> Any:
    """The tangent."""

def sinh(x: Any) -> Any:
    """The hyperbolic sine."""

def cosh(x: Any) -> Any:
    """The hyperbolic cosine."""

def erfc(x: Any) -> Any:
    """1 - erf(x)."""

def expm1(x: Any) -> Any:
    """exp(x) - 1."""

def log10(x: Any) -> Any:
    """The logarithm to base 10."""

def relu6(x: Any) -> Any:
    """x held between 0 and 6."""

def hardswish(x: Any) -> Any:
    """x * relu6(x + 3) / 6."""

def mish(x: Any) -> Any:
    """x * tanh(softplus(x))."""

def logaddexp(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)), without overflow."""

def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c."""

def cdiv(a: Any, b: Any) -> Any:
    """The quotient of whole numbers, rounded up."""

def pow(a: Any, b: Any) -> Any:
    """a ** b."""

def leaky_relu(x: Any, negative_slope: Any = ...) -> Any:
    """x, or ``negative_slope * x`` where it is negative."""

def elu(x: Any, alpha: Any = ...) -> Any:
    """x, or ``alpha * (exp(x) - 1)`` where it is negative."""

def softmax(x: Any, axis: Any = ...) -> Any:
    """exp(x) by its sum along an axis (the last), without overflow."""

def logsumexp(x: Any, axis: Any = ...) -> Any:
    """The logarithm of the sum of exp(x) along an axis (the last), without overflow."""

def log_softmax(x: Any, axis: Any = ...) -> Any:
    """x - logsumexp(x)."""

def topk(x: Any, k: int, axis: Any = ...) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The ``k`` largest elements along an axis and their places, the largest first."""

def print(x: Any) -> None:
    """Show the tile ``x`` where the kernel is interpreted; elsewhere nothing happens."""

def grad(y: Any, x: Any) -> Any:
    """The derivative of y by x, of what is computed between them element by element."""
