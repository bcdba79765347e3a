"""The ops' schemas, their meaning on fake tensors, and a reference on the CPU."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from warploom.runtime.attention_checks import HEAD_DIMS
from warploom.runtime.interpreting import active

GEMM = (
    "gemm(Tensor a, Tensor b, Tensor? bias=None, float alpha=1.0, str activation='none') -> Tensor"
)
ATTENTION = (
    "attention(Tensor q, Tensor k, Tensor v, bool causal=False, float? scale=None,"
    " bool lower_right=False) -> (Tensor out, Tensor lse)"
)
PACKED = (
    "attention_packed(Tensor q, Tensor k, Tensor v, Tensor q_starts, Tensor k_starts,"
    " SymInt most_queries, SymInt most_keys, bool causal=False, float? scale=None,"
    " bool lower_right=False) -> (Tensor out, Tensor lse)"
)
BACKWARD = (
    "attention_backward(Tensor grad, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse,"
    " bool causal=False, float? scale=None, bool lower_right=False) -> (Tensor, Tensor, Tensor)"
)
PACKED_BACKWARD = (
    "attention_packed_backward(Tensor grad, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse,"
    " Tensor q_starts, Tensor k_starts, bool causal=False, float? scale=None,"
    " bool lower_right=False) -> (Tensor, Tensor, Tensor)"
)
ACTIVATIONS = {
    "none": lambda x: x,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
}


def define(library: torch.library.Library, text: str, cuda: Any, cpu: Any, fake: Any) -> str:  # noqa: ANN401
    """An op with its kernels, by name; strides are part of what a kernel takes.

    ``fake`` checks a call and says what its results look like, on the CPU as while tracing. Where
    calls are interpreted, the CPU executes the program of ``cuda``.
    """
    name: str = torch._C.parse_schema(text).name
    exact = getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)
    library.define(text, tags=(torch.Tag.pt2_compliant_tag, exact))
    library.impl(name, cuda, "CUDA")
    library.impl(name, _checked(cpu, fake, cuda), "CPU")
    torch.library.register_fake(f"warploom::{name}", fake, lib=library)
    return name


def _checked(cpu: Any, fake: Any, cuda: Any) -> Any:  # noqa: ANN401
    def run(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        fake(*given, **named)
        return cpu(*given, **named) if active() is None else cuda(*given, **named)

    return run


def check_axes(op: str, axes: str, *tensors: Tensor | None, empty: str = "") -> None:
    """Refuse tensors whose axes differ where their names agree; ``empty`` ones may have size 0.

    ``axes``: of each tensor its name and its axes, as in ``x t k, starts e+1 int32``: ``k/128`` is
    counted in blocks, ``e+1`` is one longer. A type ends the row of a tensor that has its own; the
    others share theirs.
    """
    sizes: dict[str, tuple[Any, str]] = {}
    first: Tensor | None = None
    for text, tensor in zip(axes.split(", "), tensors, strict=True):
        name, *names = text.split()
        if tensor is None:
            continue
        own = getattr(torch, names[-1], None) if names else None
        if isinstance(own, torch.dtype):
            del names[-1]
            require(tensor.dtype == own, f"warploom.{op}: {name} is {tensor.dtype}, not {own}")
        elif names[-1:] == ["any"]:
            del names[-1]
        else:
            first = tensor if first is None else first
            says = f"warploom.{op}: operands are {first.dtype} and {tensor.dtype}"
            require(tensor.dtype == first.dtype, says)
        require(tensor.dim() == len(names), f"warploom.{op}: {name} is [{', '.join(names)}]")
        for i, axis in enumerate(names):
            plain = axis.partition("/")[0].removesuffix("+1")
            size: Any = tensor.shape[i] - axis.endswith("+1")
            if plain not in empty.split() or axis != plain:
                says = f"warploom.{op}: {name} has no {plain}; kernels take no empty tensors"
                require(size > 0, says)
            if plain not in sizes:
                sizes[plain] = size, name
                continue
            (known, whose), per = sizes[plain], int(axis.partition("/")[2] or 1)
            says = f"warploom.{op}: {name} and {whose} differ in {plain}"
            require(size == (known + per - 1) // per, says)


def require(condition: Any, says: str) -> None:  # noqa: ANN401 (may be symbolic)
    """Refuse a call as torch's own ops do."""
    torch._check(condition, lambda: says)


def fake_gemm(
    a: Tensor, b: Tensor, bias: Tensor | None = None, alpha: float = 1.0, activation: str = "none"
) -> Tensor:
    """Shape and dtype of the product, without running anything."""
    require(a.dim() == 2 and b.dim() == 2, "warploom.gemm takes matrices")
    require(a.shape[1] == b.shape[0], "warploom.gemm: inner sizes differ")
    require(a.dtype == b.dtype, "warploom.gemm: operands differ in dtype")
    require(activation in ACTIVATIONS, f"warploom.gemm: unknown activation {activation!r}")
    if bias is not None:
        require(bias.dim() == 1, "warploom.gemm: bias is [n]")
        require(bias.shape[0] == b.shape[1], "warploom.gemm: bias and b differ in n")
    if a.is_cuda:
        types = (torch.bfloat16, torch.float16, torch.float8_e4m3fn)
        require(a.dtype in types, f"warploom.gemm: no kernel for {a.dtype}")
    kind = torch.bfloat16 if a.dtype == torch.float8_e4m3fn else a.dtype
    return a.new_empty((a.shape[0], b.shape[1]), dtype=kind)


def fake_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    causal: bool = False,
    scale: float | None = None,
    lower_right: bool = False,
) -> tuple[Tensor, Tensor]:
    """Shapes and dtypes of out and lse."""
    say = "warploom.attention: "
    require(
        q.dim() == 4 and k.dim() == 4 and v.dim() == 4,
        say + "q, k and v are [batch, heads, length, head dimension]",
    )
    require(q.dtype == k.dtype and k.dtype == v.dtype, say + "q, k and v differ in dtype")
    for i in range(4):
        require(k.shape[i] == v.shape[i], say + f"k and v differ in dimension {i}")
    require(q.shape[0] == k.shape[0], say + "batches of q and k differ")
    require(q.shape[3] == k.shape[3], say + "head dimensions of q and k differ")
    _check_shared(say, q, k)
    _check_heads(say, q, scale)
    return q.new_empty(q.shape), q.new_empty(q.shape[:3], dtype=torch.float32)


def _check_shared(say: str, q: Tensor, k: Tensor) -> None:
    require(k.shape[1] > 0, say + "there are no kv heads")
    require(q.shape[1] % k.shape[1] == 0, say + "kv heads do not divide the heads of q")


def _check_heads(say: str, q: Tensor, scale: float | None) -> None:
    """What kernels take, on the GPU, and of scales anywhere."""
    positive = scale is None or 0.0 < scale < math.inf
    require(positive, say + f"scale is {scale}, not a positive number")
    if q.is_cuda:
        require(q.dtype in (torch.bfloat16, torch.float16), say + f"no kernel for {q.dtype}")
        require(q.shape[-1] in HEAD_DIMS, say + f"head dimensions are one of {HEAD_DIMS}")


def fake_packed(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    q_starts: Tensor,
    k_starts: Tensor,
    most_queries: Any = 1,  # noqa: ANN401 (may be symbolic)
    most_keys: Any = 1,  # noqa: ANN401
    causal: bool = False,
    scale: float | None = None,
    lower_right: bool = False,
) -> tuple[Tensor, Tensor]:
    """Shapes and dtypes of out and lse."""
    say = "warploom.attention_packed: "
    ranks = q.dim() == 3 and k.dim() == 3 and v.dim() == 3
    require(ranks, say + "q, k and v are [rows, heads, head dimension]")
    require(q.dtype == k.dtype and k.dtype == v.dtype, say + "q, k and v differ in dtype")
    for i in range(3):
        require(k.shape[i] == v.shape[i], say + f"k and v differ in dimension {i}")
    require(q.shape[2] == k.shape[2], say + "head dimensions of q and k differ")
    _check_shared(say, q, k)
    for name, starts in (("q_starts", q_starts), ("k_starts", k_starts)):
        fits = starts.dim() == 1 and starts.dtype == torch.int32
        require(fits, say + f"{name} is int32, one entry more than sequences")
    require(q_starts.shape[0] == k_starts.shape[0], say + "q_starts and k_starts differ in length")
    _check_heads(say, q, scale)
    return q.new_empty(q.shape), q.new_empty((q.shape[1], q.shape[0]), dtype=torch.float32)


def fake_backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, *_: object
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients are contiguous and like q, k and v."""
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


def wide(x: Tensor) -> Tensor:
    """As ops compute on the CPU: in float32, or float64."""
    return x if x.dtype == torch.float64 else x.float()


def cpu_gemm(
    a: Tensor, b: Tensor, bias: Tensor | None = None, alpha: float = 1.0, activation: str = "none"
) -> Tensor:
    """The product in float32 (float64 of operands that are), rounded once."""
    kind = torch.bfloat16 if a.dtype == torch.float8_e4m3fn else a.dtype
    made = alpha * (wide(a) @ wide(b))
    if bias is not None:
        made = made + wide(bias)
    result: Tensor = ACTIVATIONS[activation](made).to(kind)
    return result


def cpu_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    causal: bool = False,
    scale: float | None = None,
    lower_right: bool = False,
) -> tuple[Tensor, Tensor]:
    """Attention in float32, or float64; rows that see no key are zeros."""
    share = q.shape[1] // k.shape[1]
    keys, values = (wide(t).repeat_interleave(share, 1) for t in (k, v))
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = wide(q) @ keys.transpose(-1, -2) * factor
    if not k.shape[2]:
        lse = q.new_full(q.shape[:3], float("-inf"), dtype=torch.float32)
        return torch.zeros_like(q, memory_format=torch.contiguous_format), lse
    if causal:
        first = k.shape[2] - q.shape[2] if lower_right else 0
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril(first)
        scores = scores.masked_fill(~seen, float("-inf"))
        some = seen.any(-1, keepdim=True)
        weights = scores.masked_fill(~some, 0.0).softmax(-1) * some
    else:
        weights = scores.softmax(-1)
    return (weights @ values).to(q.dtype).contiguous(), scores.logsumexp(-1).float()


def cpu_packed(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    q_starts: Tensor,
    k_starts: Tensor,
    most_queries: int,
    most_keys: int,
    causal: bool = False,
    scale: float | None = None,
    lower_right: bool = False,
) -> tuple[Tensor, Tensor]:
    """One sequence after another; rows of none are zeros."""
    outs, sums, end = [], [], 0
    ends = list(zip(q_starts.tolist(), k_starts.tolist(), strict=True))
    for (q0, k0), (q1, k1) in pairwise(ends):
        a, b, c = (t.transpose(0, 1)[None] for t in (q[q0:q1], k[k0:k1], v[k0:k1]))
        found, rows = cpu_attention(a, b, c, causal, scale, lower_right)
        outs.append(found[0].transpose(0, 1))
        sums.append(rows[0])
        end = q1
    outs.append(torch.zeros_like(q[end:]))
    sums.append(q.new_full((q.shape[1], q.shape[0] - end), float("-inf"), dtype=torch.float32))
    return torch.cat(outs).contiguous(), torch.cat(sums, 1)
