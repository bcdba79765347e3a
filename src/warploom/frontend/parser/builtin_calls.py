"""What functions and methods of array libraries mean, written in the builtins of the language.

Score and mask functions of FlexAttention's users call them: each is read in place of the call.
"""

# ruff: noqa: ANN001, ANN201, D103 (texts that are read; names are the libraries')
# mypy: allow-untyped-defs, allow-untyped-calls

from warploom.frontend import builtins as wl
from warploom.frontend.builtins import WORDS
from warploom.ir.tile import DType, Fn

LIBRARIES = ("torch", "numpy", "math")
ALIKE = {
    "absolute": "abs", "fabs": "abs", "logical_and": "&", "logical_or": "|", "logical_not": "~",
    "bitwise_and": "&", "bitwise_or": "|", "max": "maximum", "min": "minimum",
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


MEANT = {
    f.__name__: f
    for f in (
        *(clamp, clamp_min, clamp_max, square, sign, reciprocal, log1p, softplus, ceil),
        *(masked_fill, zeros_like, ones_like, full_like, logical_xor, remainder, isnan),
    )
} | {"clip": clamp}


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
    own = name in LOGIC or name in MEANT or (name in WORDS and name not in NOT_ALIKE)
    return name if own else None


def kind_of(given: object) -> DType | None:
    """The element type that a library's type stands for: ``torch.float32``, ``np.int64``."""
    return KINDS.get(str(getattr(given, "__name__", given)).rpartition(".")[2])
