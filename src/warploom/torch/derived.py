"""``torch.ops.warploom`` of functions that follow from declarations of kernels.

Schema, checks and shapes of results are those of the kernel's signature. On the CPU an op computes
by the kernel's NumPy reference. It has no gradient, and refuses where one is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from warploom.frontend.signature import MISSING, TensorText
from warploom.ir.tile import DType
from warploom.kernels.declaration import Shipped
from warploom.kernels.registry import functions
from warploom.runtime import functions as public
from warploom.torch import schema
from warploom.torch.fused import by_name, without_gradient
from warploom.torch.ops import LIBRARY

TYPES = {
    DType.BF16: torch.bfloat16,
    DType.F16: torch.float16,
    DType.F32: torch.float32,
    DType.E4M3: torch.float8_e4m3fn,
    DType.E5M2: torch.float8_e5m2,
    DType.I8: torch.int8,
    DType.I32: torch.int32,
}
KINDS = {kind: dtype for dtype, kind in TYPES.items()}


def schema_of(one: Shipped) -> str:
    """The op's schema: inputs, then by name scalars and choices that words name; results."""
    assert one.function is not None
    signature, words = one.kernel.signature, one.function.words
    inputs = sorted(signature.inputs, key=lambda t: t.optional)
    given = [f"Tensor? {t.name}=None" if t.optional else f"Tensor {t.name}" for t in inputs]
    named = []
    for name, dtype in signature.scalars.items():
        usual = signature.scalar_defaults.get(name)
        kind = "float" if dtype is DType.F32 else "int"
        named.append(f"{kind} {name}" + ("" if usual is None else f"={usual}"))
    for name, known in words.items():
        value = signature.choices[name]
        word = next((w for w, meaning in known.items() if meaning == value), None)
        assert word is not None or value is MISSING, f"no word for the usual {name}"
        named.append(f"str {name}" + ("" if word is None else f"='{word}'"))
    named.sort(key=lambda said: "=" in said)
    results = [f"Tensor {t.name}" for t in _results(one)]
    made = "Tensor" if len(results) == 1 else f"({', '.join(results)})"
    star = ["*"] if named else []
    return f"{one.function.name}({', '.join([*given, *star, *named])}) -> {made}"


def _results(one: Shipped) -> list[TensorText]:
    return [t for t in one.kernel.signature.outputs if not t.optional]


def _axes(one: Shipped, tensor: TensorText) -> list[tuple[str, int]]:
    """Axes as callers order them, with how many elements of each share one."""
    by_axis = {a.name: a.per for a in tensor.axes}
    return [(n, by_axis[n]) for n in one.caller_axes.get(tensor.name, tuple(by_axis))]


def _fake(one: Shipped) -> Callable[..., Any]:
    """Checks a call and says what its results look like."""
    assert one.function is not None
    op, inputs = one.function.name, sorted(one.kernel.signature.inputs, key=lambda t: t.optional)
    words = one.function.words

    def fake(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        tensors = dict(zip((t.name for t in inputs), given, strict=False))
        for name, known in words.items():
            word = named.get(name)
            said = f"warploom.{op}: unknown {name} {word!r}"
            schema.require(word is None or word in known, said)
        sizes: dict[str, Any] = {}
        usual: torch.dtype | None = None
        for t in inputs:
            x = tensors.get(t.name)
            if x is None:
                continue
            axes = _axes(one, t)
            names = ", ".join(f"{n}/{per}" if per > 1 else n for n, per in axes)
            schema.require(x.dim() == len(axes), f"warploom.{op}: {t.name} is [{names}]")
            kind = None if t.dtype is None else TYPES[t.dtype]
            says = f"warploom.{op}: {t.name} is {x.dtype}, not {kind or usual}"
            usual = x.dtype if usual is None and kind is None else usual
            schema.require(x.dtype == (kind or usual), says)
            for i, (axis, per) in enumerate(axes):
                if axis not in sizes and per == 1:
                    sizes[axis] = x.shape[i]
                elif axis in sizes:
                    says = f"warploom.{op}: {t.name} differs in {axis}"
                    schema.require(x.shape[i] == (sizes[axis] + per - 1) // per, says)
        like = next(x for x in given if x is not None)
        made = []
        for t in _results(one):
            shape = [(sizes[n] + per - 1) // per for n, per in _axes(one, t)]
            kind = TYPES[t.dtype] if t.dtype is not None else usual
            narrow = kind is not None and kind.itemsize == 1 and t.dtype is None
            made.append(like.new_empty(shape, dtype=torch.bfloat16 if narrow else kind))
        return made[0] if len(made) == 1 else tuple(made)

    return fake


def _reference(one: Shipped) -> Callable[..., Any]:
    """The op on the CPU: the kernel's NumPy reference in float64, rounded once."""
    assert one.function is not None
    inputs = sorted(one.kernel.signature.inputs, key=lambda t: t.optional)
    fake, words = _fake(one), one.function.words

    def run(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        tensors = {t.name: x for t, x in zip(inputs, given, strict=False) if x is not None}
        types = {n: KINDS[x.dtype] for n, x in tensors.items() if x.dtype in KINDS}
        arrays = {t.name: _as_written(one, t, tensors[t.name]) for t in inputs if t.name in tensors}
        chosen: dict[str, Any] = {n: words[n][v] if n in words else v for n, v in named.items()}
        like = fake(*given, **named)
        wanted = like if isinstance(like, tuple) else (like,)
        types |= {t.name: KINDS[x.dtype] for t, x in zip(_results(one), wanted, strict=True)}
        left_out = {t.name for t in one.kernel.signature.tensors if t.name not in types}
        found = one.kernel.reference(**arrays, types=types, without=left_out, exact=True, **chosen)
        found = found if isinstance(found, tuple) else (found,)
        made = tuple(
            torch.as_tensor(_as_called(one, t, x)).to(w.dtype)
            for t, x, w in zip(_results(one), found, wanted, strict=True)
        )
        return made[0] if len(made) == 1 else made

    return run


def _as_written(one: Shipped, tensor: TensorText, x: Tensor) -> Any:  # noqa: ANN401
    """A tensor of a caller as an array whose axes the kernel orders."""
    names = [n for n, _ in _axes(one, tensor)]
    order = [names.index(a.name) for a in tensor.axes]
    whole = x.double() if x.dtype.is_floating_point else x
    return whole.permute(order).numpy()


def _as_called(one: Shipped, tensor: TensorText, array: Any) -> Any:  # noqa: ANN401
    """An array of the kernel with the axes as callers order them."""
    names = [a.name for a in tensor.axes]
    return array.transpose([names.index(n) for n, _ in _axes(one, tensor)])


def define(one: Shipped) -> None:
    """The op of a kernel's derived function."""
    assert one.function is not None
    text = schema_of(one)
    call = getattr(public, one.function.name)
    schema.define(LIBRARY, text, by_name(call, text), _reference(one), _fake(one))
    LIBRARY.impl(one.function.name, without_gradient(text), "Autograd")


for _function, _kernels in functions().values():
    if _function.is_derived:
        define(_kernels[0])
