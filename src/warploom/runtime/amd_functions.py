"""Public functions on MI355X: convolution as an implicit product, and products with a split K.

They take torch tensors of a ROCm build (or anything with DLPack and ``reshape``) and launch through
HIP; NumPy arrays are computed by executing the kernels' machine code on the CPU, for every timing.
Nothing has run on the chip.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from warploom.errors import ConfigError, KernelCallError
from warploom.frontend.tile_kernel import TileKernel
from warploom.kernels import conv2d as conv_kernels, split_k as split_kernels
from warploom.runtime.mi355x import CompiledMi355x, extents_of
from warploom.targets.amdgcn import MACHINES

Pins = Mapping[str, int]


def conv2d(
    x: Any,  # noqa: ANN401 (a tensor of any library)
    w: Any,  # noqa: ANN401
    *,
    residual: Any = None,  # noqa: ANN401
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    types: str = "bf16",
    config: Pins | None = None,
    target: str = "mi355x",
    stream: int | None = None,
) -> Any:  # noqa: ANN401
    """Convolution of pictures ``x [n, h, w, c]`` with filters ``w [o, r, s, c]`` (NHWC).

    Gives ``[n, h', w', o]`` with h' = (h + 2 padding - dilation (r - 1) - 1) // stride + 1, plus
    ``residual`` of that shape. No picture is unfolded: rows of the product are pixels that are
    gathered for each tap. ``types`` is the element type of NumPy arrays, which are rounded to it.
    """
    _check_numbers({"stride": (stride, 1), "padding": (padding, 0), "dilation": (dilation, 1)})
    (n, height, width, c), (o, r, s, channels) = _shape(x, 4, "x"), _shape(w, 4, "w")
    if channels != c:
        _fail(f"pictures of {c} channels, filters of {channels}", "equal numbers of channels")
    rows, columns = (
        (size + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
        for size, taps in ((height, r), (width, s))
    )
    if min(rows, columns, r, s, c) < 1:
        _fail(
            f"a filter of {r} x {s} taps does not fit {height} x {width} pixels",
            "more padding, or a smaller filter or dilation",
        )
    if n * height * width >= 2**31 or n * rows * columns >= 2**31:
        _fail("2^31 pixels or more", "several calls")
    given = {"x": x.reshape(-1, c), "w": w.reshape(o, r * s, c)}
    if residual is not None:
        wanted = (n, rows, columns, o)
        if _shape(residual, 4, "residual") != wanted:
            _fail(f"a residual of shape {tuple(residual.shape)}", f"shape {wanted}")
        given["residual"] = residual.reshape(-1, o)
    numbers = {
        "height": height, "width": width, "rows": rows, "columns": columns, "across": s,
        "stride": stride, "dilation": dilation, "padding": padding,
    }  # fmt: skip
    without = () if residual is not None else ("residual",)
    sizes = {"c": c, "q": n * rows * columns}
    out = _call(conv_kernels.conv2d, given, numbers, sizes, without, types, config, target, stream)
    return out.reshape(n, rows, columns, o)


def split_k_gemm(
    a: Any,  # noqa: ANN401 (a tensor of any library)
    b: Any,  # noqa: ANN401
    *,
    parts: int,
    types: str = "bf16",
    config: Pins | None = None,
    target: str = "mi355x",
    stream: int | None = None,
) -> Any:  # noqa: ANN401
    """``a [m, k] @ b [n, k].T`` with K split into ``parts``, for few tiles and a long K.

    Each part is summed by workgroups of its own; a second kernel adds the parts in the order of
    their numbers, so the result has the same bits in every run.
    """
    _check_numbers({"parts": (parts, 1)})
    (_, k), (_, other) = _shape(a, 2, "a"), _shape(b, 2, "b")
    if k != other:
        _fail(f"a has {k} columns, b {other}", "b as [n, k]")
    share = -(-max(k, 1) // parts)
    made = _call(
        split_kernels.split_product, {"a": a, "b": b}, {"share": share}, {"p": parts}, (), types,
        config, target, stream,
    )  # fmt: skip
    return _call(
        split_kernels.summed_parts, {"parts": made}, {}, {}, (), types, config, target, stream
    )


def _call(
    tile_kernel: TileKernel,
    given: Mapping[str, Any],
    scalars: Mapping[str, int],
    sizes: Mapping[str, int],
    without: tuple[str, ...],
    types: str,
    config: Pins | None,
    target: str,
    stream: int | None,
) -> Any:  # noqa: ANN401
    """One launch, on the device of the tensors or, of arrays, on the CPU."""
    first = next(iter(given.values()))
    host = isinstance(first, np.ndarray)
    kind = types if host else _kind_of(first)
    named = tile_kernel.whole_axes(tile_kernel.spell(kind, without), without=without)
    whole = tuple((n, s) for n, s in sizes.items() if n in named)
    made = _compiled(
        tile_kernel, kind, whole, without, tuple(sorted((config or {}).items())), target
    )
    if host:
        done = made.execute(given, dict(scalars), sizes=dict(sizes))
        outputs = tuple(done.outputs.values())
        return outputs[0] if len(outputs) == 1 else outputs
    return made.run(**given, **scalars, sizes=dict(sizes), stream=stream)


@lru_cache(maxsize=256)
def _compiled(
    tile_kernel: TileKernel,
    kind: str,
    whole: tuple[tuple[str, int], ...],
    without: tuple[str, ...],
    config: tuple[tuple[str, int], ...],
    target: str,
) -> CompiledMi355x:
    if target not in MACHINES:
        raise ConfigError(f"no AMD chip {target!r}", where="target", fix=" or ".join(MACHINES))
    left = frozenset(without)
    types = tile_kernel.spell(kind, left)
    kernel = tile_kernel.specialise(types, sizes=dict(whole), without=left)
    return CompiledMi355x(kernel, extents_of(kernel, dict(config)), MACHINES[target])


def _kind_of(tensor: object) -> str:
    """The element type of a torch tensor, as the language calls it."""
    names = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}
    word = str(getattr(tensor, "dtype", "")).removeprefix("torch.")
    if word not in names:
        _fail(f"tensors of {word or 'an unknown type'}", "bfloat16 or float16 tensors")
    return names[word]


def _shape(tensor: object, axes: int, name: str) -> tuple[int, ...]:
    shape = getattr(tensor, "shape", None)
    if shape is None or len(shape) != axes:
        _fail(f"'{name}' of shape {shape}", f"a tensor of {axes} axes")
    return tuple(int(size) for size in shape)


def _check_numbers(numbers: Mapping[str, tuple[int, int]]) -> None:
    for name, (value, least) in numbers.items():
        if type(value) is not int or value < least:
            _fail(f"{name} = {value!r}", f"a whole number of at least {least}")


def _fail(what: str, fix: str) -> NoReturn:
    raise KernelCallError(f"a call on MI355X: {what}", fix=fix)
