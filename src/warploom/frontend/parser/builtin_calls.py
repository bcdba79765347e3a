"""What functions and methods of array libraries mean, written in the builtins of the language.

Score and mask functions of FlexAttention's users call them: each is read in place of the call.
"""

# ruff: noqa: ANN001, ANN201, D103 (texts that are read; names are the libraries')
# mypy: allow-untyped-defs, allow-untyped-calls

import math

from warploom.frontend import builtins as wl
from warploom.frontend.builtins import WORDS
from warploom.ir.tile import DType, Fn

LIBRARIES = ("torch", "numpy", "math")
ALIKE = {
    "absolute": "abs", "fabs": "abs", "logical_and": "&", "logical_or": "|", "logical_not": "~",
    "bitwise_and": "&", "bitwise_or": "|", "amax": "max", "amin": "min", "rint": "round",
    "around": "round", "dot": "@", "matmul": "@", "power": "pow",
    "float_power": "pow", "fix": "trunc",
}  # fmt: skip
NOT_ALIKE = ("tile", "steps", "zeros", "full", "index", "is_whole", "uniform", "philox", "topk")
LOGIC = {"&": Fn.AND, "|": Fn.OR, "~": Fn.NOT}
KINDS = {
    "float": DType.F32, "float32": DType.F32, "bfloat16": DType.BF16, "float16": DType.F16,
    "half": DType.F16, "int": DType.I32, "int32": DType.I32, "int64": DType.I32, "long": DType.I32,
}  # fmt: skip


def clamp(x, min=None, max=None):
    low = x if min is None else wl.maximum(x, min)
    return low if max is None else wl.minimum(low, max)


def clamp_min(x, min):
    return wl.maximum(x, min)


def clamp_max(x, max):
    return wl.minimum(x, max)


def square(x):
    return x * x


def sign(x):
    return wl.where(x > 0, 1, wl.where(x < 0, -1, 0)) + 0 * x


def reciprocal(x):
    return 1.0 / x


def log1p(x):
    return wl.log(1.0 + x)


def softplus(x):
    return wl.maximum(x, 0.0) + wl.log(1.0 + wl.exp(-wl.abs(x)))


def ceil(x):
    return -wl.floor(-x)


def masked_fill(x, mask, value):
    return wl.where(mask, value, x)


def zeros_like(x):
    return x.new_zeros(())


def ones_like(x):
    return x.new_ones(())


def full_like(x, fill_value):
    return x.new_zeros(()) + fill_value


def logical_xor(a, b):
    return a != b


def remainder(a, b):
    return a % b


def isnan(x):
    return x != x  # noqa: PLR0124 (NaN alone differs from itself)


def isinf(x):
    return wl.abs(x) == wl.inf


def isfinite(x):
    return wl.abs(x) < wl.inf


def round(x):
    """Halves go to the even neighbour, as in NumPy."""
    low = wl.floor(x)
    rest, odd = x - low, low - 2.0 * wl.floor(low * 0.5) != 0.0
    return low + wl.where((rest > 0.5) | ((rest == 0.5) & odd), 1.0, 0.0)


def trunc(x):
    return wl.where(x < 0, -wl.floor(-x), wl.floor(x))


def tan(x):
    return wl.sin(x) / wl.cos(x)


def sinh(x):
    return (wl.exp(x) - wl.exp(-x)) * 0.5


def cosh(x):
    return (wl.exp(x) + wl.exp(-x)) * 0.5


def erfc(x):
    return 1.0 - wl.erf(x)


def expm1(x):
    return wl.exp(x) - 1.0


def log10(x):
    return wl.log2(x) * 0.30102999566398120


def logaddexp(a, b):
    top = wl.maximum(a, b)
    return top + wl.log(1.0 + wl.exp(-wl.abs(a - b)))


def fma(a, b, c):
    return a * b + c


def cdiv(a, b):
    return (a + b - 1) // b


def pow(a, b):
    return a**b


def power(a, b):
    """``a ** b`` of floats as C has it: a negative number has powers by whole numbers alone."""
    size, whole = wl.exp2(b * wl.log2(wl.abs(a))), wl.floor(b) == b
    odd = wl.floor(b * 0.5) * 2.0 != b
    turned = wl.where(whole, wl.where(odd, -size, size), math.nan)
    return wl.where((b == 0.0) | (a == 1.0), 1.0, wl.where(a < 0.0, turned, size))


def leaky_relu(x, negative_slope=0.01):
    return wl.where(x < 0, x * negative_slope, x)


def elu(x, alpha=1.0):
    return wl.where(x < 0, alpha * (wl.exp(x) - 1.0), x)


def relu6(x):
    return wl.minimum(wl.relu(x), 6.0)


def hardswish(x):
    return x * wl.minimum(wl.maximum(x + 3.0, 0.0), 6.0) / 6.0


def mish(x):
    return x * wl.tanh(wl.softplus(x))


def softmax(x, axis=-1):
    e = wl.exp(x - x.max(axis))
    return e / e.sum(axis)


def logsumexp(x, axis=-1):
    top = x.max(axis)
    safe = wl.where(top == -wl.inf, 0.0, top)  # of -inf alone the sum is -inf, not NaN
    return safe + wl.log(wl.exp(x - safe).sum(axis))


def log_softmax(x, axis=-1):
    return x - logsumexp(x, axis)


def philox(seed, c0, c1=0, c2=0, c3=0):
    """Philox4x32-10 (Salmon et al. 2011): the counter (c0, c1, c2, c3), the key (seed, 0)."""
    k0, k1 = seed, 0
    for _ in range(10):
        a, b = c0, c2
        c0, c1 = wl.mulhi(b, -0x326172A9) ^ c1 ^ k0, b * -0x326172A9
        c2, c3 = wl.mulhi(a, -0x2DAEE0AD) ^ c3 ^ k1, a * -0x2DAEE0AD
        k0, k1 = k0 + -0x61C88647, k1 + -0x4498517B
    return c0, c1, c2, c3


def uniform(seed, offset):
    """The first 24 bits of philox(seed, offset) as a fraction."""
    return ((philox(seed, offset)[0] >> 8) & 0xFFFFFF).to(wl.f32) * 2.0**-24


WRITTEN = (
    *(softplus, clamp, square, sign, ceil, log1p, isnan, isinf, isfinite, round, trunc, tan, sinh),
    *(cosh, erfc, expm1, log10, logaddexp, fma, cdiv, pow, leaky_relu, elu, relu6, hardswish, mish),
    *(softmax, logsumexp, log_softmax),
)
"""Words of the language that are written in others."""
OF_LIBRARIES = (clamp_min, clamp_max, reciprocal, masked_fill, zeros_like, ones_like, full_like,
                logical_xor, remainder)  # fmt: skip
MEANT = {f.__name__: f for f in (*WRITTEN, *OF_LIBRARIES)} | {"clip": clamp}


INSTEAD = {
    "load": "x[m, k]", "store": "out[m, n] = value", "dot": "a @ b", "matmul": "a @ b",
    "arange": "wl.index(m) of a variable, wl.index(x.n) of a whole axis",
    "program_id": "the variables that wl.tile gives", "range": "for k in wl.steps(x.k):",
    "logical_and": "a & b", "logical_or": "a | b", "logical_not": "~a",
    "clip": "wl.clamp(x, low, high)", "rand": "wl.uniform(seed, offset)",
    "randint": "wl.philox(seed, offset)", "dropout": "wl.where(wl.uniform(seed, i) >= p, x, 0.0)",
    "pi": "math.pi", "nan": "math.nan", "float32": "wl.f32", "float16": "wl.f16",
    "bfloat16": "wl.bf16", "int32": "wl.i32", "uint32": "wl.u32", "int8": "wl.i8",
    "fabs": "wl.abs(x)", "rint": "wl.round(x)", "trans": "x.T", "transpose": "x.T",
    "var": "d = x - x.mean(axis=1), then (d * d).mean(axis=1)",
    "std": "d = x - x.mean(axis=1), then wl.sqrt((d * d).mean(axis=1))",
    "norm": "wl.sqrt((x * x).sum(axis=1))",
    "prod": "wl.exp2(wl.log2(x).sum(axis=1)) of numbers > 0",
    "sort": "wl.topk(x, k) for up to 64 of an axis",
    "flip": "x[m, x.n - 1 - wl.index(n)], which loads it so",
    "cumprod": "a carried value: p = p * x[m, n] in a loop of steps of one element",
    "shape": "sizes belong to tensors, by the names of their axes: x.n",
    "size": "sizes belong to tensors, by the names of their axes: x.n",
    "reshape": "other variables: a tile has the axes that it is indexed with",
    "view": "other variables: a tile has the axes that it is indexed with",
    "unsqueeze": "leave it out: shapes go together by the names of their axes",
    "expand": "leave it out: shapes go together by the names of their axes",
    "item": "leave it out: a number that is loaded is used as it is",
    "gather": "x[m, places[m]], which loads what it names",
    "scatter": "out[places[m], n] = value",
}  # fmt: skip
"""What authors know by other words, and what the language has instead."""


def alike(function: object) -> str | None:
    """What a function of a library of arrays stands for, e.g. ``torch.tanh``."""
    home = getattr(function, "__module__", None) or getattr(
        getattr(function, "__self__", None), "__module__", None
    )
    if (isinstance(home, str) and home.partition(".")[0] in LIBRARIES) or type(
        function
    ).__module__.partition(".")[0] == "numpy":
        return meant(str(getattr(function, "__name__", "")))
    return None


def meant(name: str) -> str | None:
    """The builtin, the condition or the source that a name of a library stands for."""
    name = ALIKE.get(name, name)
    own = name == "@" or name in LOGIC or name in MEANT or (name in WORDS and name not in NOT_ALIKE)
    return name if own else None


def kind_of(given: object) -> DType | None:
    """The element type that a library's type stands for: ``torch.float32``, ``np.int64``."""
    return KINDS.get(str(getattr(given, "__name__", given)).rpartition(".")[2])
