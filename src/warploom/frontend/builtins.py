"""The builtins of the tile language, as an author imports them.

They mean something only inside a kernel, whose text is read and never run; called anywhere else
they raise an error that says so.
"""

from __future__ import annotations

import ast
import math
from enum import StrEnum
from typing import Any, NoReturn

from warploom.dataclass import dataclass
from warploom.errors import KernelError
from warploom.ir.elementwise import BUILTINS as ELEMENTWISE, REDUCTIONS
from warploom.ir.tile import Access, DType

f32, bf16, f16 = DType.F32, DType.BF16, DType.F16
e4m3, e5m2 = DType.E4M3, DType.E5M2
inf = math.inf
i32, i8, i4 = DType.I32, DType.I8, DType.I4
u32, u8 = DType.U32, DType.U8
bool_ = DType.BOOL


class Order(StrEnum):
    """How a tensor's elements lie in memory, where that is not row by row."""

    BLOCKED = "blocked"


blocked = Order.BLOCKED


def _docstrings() -> dict[str, str]:
    """What editors show: of rows of the table from there, of the rest from the stub."""
    with open(__file__.removesuffix("c") + "i", encoding="utf-8") as stub:
        tree = ast.parse(stub.read())
    found = [f for f in tree.body if isinstance(f, ast.FunctionDef)]
    documented = {f.name: ast.get_docstring(f) or "" for f in found}
    scans = {
        f"cum{row.name}": f"The {row.noun} of each element and all before it along an axis."
        for row in REDUCTIONS.values()
    }
    return scans | documented | {name: row.doc for name, row in ELEMENTWISE.items()}


_DOCSTRINGS = _docstrings()


@dataclass(frozen=True)
class Word:
    """A function of the language."""

    name: str
    usage: str

    def __post_init__(self) -> None:
        """Its docstring, for ``help`` and for editors."""
        text = f"{_DOCSTRINGS[self.name]}\n\nIn a kernel: {self.usage}"
        object.__setattr__(self, "__doc__", text)
        object.__setattr__(self, "__name__", self.name)

    def __call__(self, *_: Any, **__: Any) -> NoReturn:  # noqa: ANN401 (any use is refused)
        """Refuse: a builtin is parsed, not run."""
        raise KernelError(
            f"warploom.{self.name} was called outside a kernel",
            why="builtins of the tile language are parsed from a kernel's source, they never run",
            fix=f"use it in a function under @warploom.kernel: {self.usage}",
        )


@dataclass(frozen=True, slots=True)
class TensorNote:
    """An annotation of a tensor, not yet checked: ``In["m", "k"]``, ``Out["m", "n", f32]``."""

    access: Access
    items: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Annotation:
    access: Access

    def __getitem__(self, items: object) -> TensorNote:
        return TensorNote(self.access, items if isinstance(items, tuple) else (items,))


# What type checkers see of these stands in the stub beside this file.
In: Any = _Annotation(Access.IN)
Out: Any = _Annotation(Access.OUT)
Starts: Any = _Annotation(Access.STARTS)
Turns: Any = _Annotation(Access.TURNS)

WORDS: dict[str, Word] = {}
"""The builtins by name."""


def _word(name: str, usage: str) -> Word:
    return WORDS.setdefault(name, Word(name, usage))


# wl.exp, wl.sin and the other functions of one tile: rows of the table, names of this module.
globals().update({name: _word(name, f"wl.{name}(x)") for name in ELEMENTWISE})
# wl.cumsum and the scans of the other reductions.
globals().update(
    {
        name: _word(name, f"wl.{name}(x, axis=1), or wl.{name}(x, axis=1, reverse=True)")
        for name in (f"cum{row.name}" for row in REDUCTIONS.values())
    }
)

tile = _word("tile", 'm, n = wl.tile(out), or b, h, s = wl.tile(out, whole="d")')
steps = _word("steps", "for k in wl.steps(x.k)")
zeros = _word("zeros", "acc = wl.zeros(m, n)")
full = _word("full", "top = wl.full(m, -wl.inf)")
index = _word("index", "wl.index(m)")
is_whole = _word("is_whole", "wl.is_whole(t), in a loop with whole=(tiles, counts)")
where = _word("where", "wl.where(condition, a, b)")
maximum = _word("maximum", "wl.maximum(a, b)")
minimum = _word("minimum", "wl.minimum(a, b)")
sigmoid = _word("sigmoid", "wl.sigmoid(x)")
silu = _word("silu", "wl.silu(x)")
gelu = _word("gelu", 'wl.gelu(x), or wl.gelu(x, approximate="tanh")')
relu = _word("relu", "wl.relu(x)")
mulhi = _word("mulhi", "wl.mulhi(a, b), the high 32 bits of an unsigned product")
philox = _word("philox", "a, b, c, d = wl.philox(seed, offset), 4 x 32 random bits")
uniform = _word("uniform", "wl.uniform(seed, offset), in [0, 1)")
argmax = _word("argmax", "wl.argmax(x, axis=1), or x.argmax(axis=1)")
argmin = _word("argmin", "wl.argmin(x, axis=1), or x.argmin(axis=1)")
atomic_add = _word("atomic_add", "wl.atomic_add(out[m], x), the same as out[m] += x")
atomic_max = _word("atomic_max", "wl.atomic_max(out[m], x)")
atomic_min = _word("atomic_min", "wl.atomic_min(out[m], x)")
any = _word("any", "wl.any(x > 0, axis=1), or (x > 0).any(axis=1)")
all = _word("all", "wl.all(x > 0, axis=1), or (x > 0).all(axis=1)")
sum = _word("sum", "wl.sum(x, axis=1), or x.sum(axis=1)")
max = _word("max", "wl.max(x, axis=1), or x.max(axis=1); of two values wl.maximum(a, b)")
min = _word("min", "wl.min(x, axis=1), or x.min(axis=1); of two values wl.minimum(a, b)")
mean = _word("mean", "wl.mean(x, axis=1), or x.mean(axis=1)")
softplus = _word("softplus", "wl.softplus(x)")
clamp = _word("clamp", "wl.clamp(x, -1.0, 1.0)")
square = _word("square", "wl.square(x)")
sign = _word("sign", "wl.sign(x)")
ceil = _word("ceil", "wl.ceil(x)")
log1p = _word("log1p", "wl.log1p(x)")
isnan = _word("isnan", "wl.isnan(x)")
isinf = _word("isinf", "wl.isinf(x)")
isfinite = _word("isfinite", "wl.isfinite(x)")
round = _word("round", "wl.round(x)")
trunc = _word("trunc", "wl.trunc(x)")
tan = _word("tan", "wl.tan(x)")
sinh = _word("sinh", "wl.sinh(x)")
cosh = _word("cosh", "wl.cosh(x)")
erfc = _word("erfc", "wl.erfc(x)")
expm1 = _word("expm1", "wl.expm1(x)")
log10 = _word("log10", "wl.log10(x)")
logaddexp = _word("logaddexp", "wl.logaddexp(a, b)")
fma = _word("fma", "wl.fma(a, b, c)")
cdiv = _word("cdiv", "wl.cdiv(x.n, 64)")
pow = _word("pow", "wl.pow(x, 1.5)")
leaky_relu = _word("leaky_relu", "wl.leaky_relu(x, 0.01)")
elu = _word("elu", "wl.elu(x, 1.0)")
relu6 = _word("relu6", "wl.relu6(x)")
hardswish = _word("hardswish", "wl.hardswish(x)")
mish = _word("mish", "wl.mish(x)")
softmax = _word("softmax", "wl.softmax(x, axis=1)")
logsumexp = _word("logsumexp", "wl.logsumexp(x, axis=1)")
log_softmax = _word("log_softmax", "wl.log_softmax(x, axis=1)")
topk = _word("topk", "values, indices = wl.topk(x, 2, axis=1)")
print = _word("print", "wl.print(x), which shows the tile x where the kernel is interpreted")
grad = _word("grad", "wl.grad(y, x), of y computed from x element by element")
