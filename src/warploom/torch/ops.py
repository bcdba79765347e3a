"""``torch.ops.warploom``: defined once, on import, and the functions that call them.

Calls of ``gemm`` and ``attention`` go past torch's dispatcher where nothing would see the
difference: on plain CUDA tensors, eagerly, without a gradient. That saves a third of the host time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad, profiler

from warploom.runtime.attention import (
    CALLS as ATTENTION,
    PLAIN as PLAIN_ATTENTION,
    asked as asked_attention,
    attention_packed as _launch_packed,
)
from warploom.runtime.gemm import CALLS as GEMM, NO_SCALARS, PLAIN, asked as asked_gemm
from warploom.runtime.tensors import unwatched
from warploom.torch import schema
from warploom.torch.autograd import (
    Attention,
    Gemm,
    Once,
    Packed,
    attention_grads,
    is_transformed,
    needs_grad,
    no_gradient,
    packed_grads,
)

_PLAIN = (Tensor, torch.nn.Parameter)
WITH_SUMS = PLAIN_ATTENTION[True]
_functions = torch._C._len_torch_function_stack
_known_gemm, _known_attention = GEMM.runner.unseen, ATTENTION.runner.unseen


def is_open(tensor: Tensor) -> bool:
    """A real tensor, and no mode of functions, profiler or derivative taken forward looks on: all
    that no guard tells.
    """
    if forward_ad._current_level >= 0:
        return False
    return type(tensor) in _PLAIN and not _functions() and not profiler._is_profiler_enabled


def is_plain(tensor: Tensor) -> bool:
    """A real CUDA tensor that no tracer, mode, transform or profiler looks at."""
    return is_open(tensor) and tensor.is_cuda and unwatched()


def _run_gemm(
    a: Tensor, b: Tensor, bias: Tensor | None = None, alpha: float = 1.0, activation: str = "none"
) -> Tensor:
    """The CUDA kernel; operands that copies cannot read are copied first."""
    options, scalars = asked_gemm(alpha, activation)
    result: Tensor = GEMM.launch((a, b, None, bias, None), scalars, options)[2]
    return result


def _mask(causal: bool, lower_right: bool) -> bool | str:
    return "lower_right" if causal and lower_right else causal


def _run_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    causal: bool = False,
    scale: float | None = None,
    lower_right: bool = False,
) -> tuple[Tensor, Tensor]:
    """The CUDA kernel."""
    options, factor = asked_attention(q, _mask(causal, lower_right), scale, True)
    done = ATTENTION.launch((q, k, v, None, None, None), factor, options)
    return done[3], done[4]


def _run_packed(
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
    """The CUDA kernel."""
    out, lse = _launch_packed(
        q,
        k,
        v,
        q_starts,
        k_starts,
        most_queries,
        most_keys,
        _mask(causal, lower_right),
        scale,
        return_lse=True,
    )
    return out, lse


def _gemm_autograd(
    a: Tensor, b: Tensor, bias: Tensor | None = None, alpha: float = 1.0, activation: str = "none"
) -> Tensor:
    if is_transformed(a, b, bias):
        schema.fake_gemm(a, b, bias, alpha, activation)
        return schema.cpu_gemm(a, b, bias, alpha, activation)
    if needs_grad(a, b, bias):
        result: Tensor = Gemm.apply(a, b, bias, alpha, activation)
        return result
    if is_plain(a):
        return _run_gemm(a, b, bias, alpha, activation)
    with torch._C._AutoDispatchBelowAutograd():
        result = torch.ops.warploom.gemm.default(a, b, bias, alpha, activation)
    return result


def _attention_autograd(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    causal: bool = False,
    scale: float | None = None,
    lower_right: bool = False,
) -> tuple[Tensor, Tensor]:
    if is_transformed(q, k, v):
        schema.fake_attention(q, k, v, causal, scale, lower_right)
        return schema.cpu_attention(q, k, v, causal, scale, lower_right)
    if needs_grad(q, k, v):
        result: tuple[Tensor, Tensor] = Attention.apply(q, k, v, causal, scale, lower_right)
        return result
    if is_plain(q):
        return _run_attention(q, k, v, causal, scale, lower_right)
    with torch._C._AutoDispatchBelowAutograd():
        result = torch.ops.warploom.attention.default(q, k, v, causal, scale, lower_right)
    return result


def _packed_autograd(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:  # noqa: ANN401
    given = (*rest, *(False, None, False)[len(rest) - 4 :])
    result: tuple[Tensor, Tensor]
    if is_transformed(q, k, v):
        schema.fake_packed(q, k, v, *given)
        return schema.cpu_packed(q, k, v, *given)
    if needs_grad(q, k, v):
        result = Packed.apply(q, k, v, *given)
        return result
    with torch._C._AutoDispatchBelowAutograd():
        result = torch.ops.warploom.attention_packed.default(q, k, v, *given)
    return result


def _once(op: str) -> Callable[..., Any]:
    """Gradients are not differentiated again: that is refused where it is asked for."""
    call = getattr(torch.ops.warploom, op).default

    def below(*given: Any) -> Any:  # noqa: ANN401
        with torch._C._AutoDispatchBelowAutograd():
            return call(*given)

    def kernel(*given: Any) -> Any:  # noqa: ANN401
        tensors = [x for x in given if isinstance(x, Tensor)]
        if is_transformed(*tensors):
            raise no_gradient(op)
        return Once.apply(op, below, *given) if needs_grad(*tensors) else below(*given)

    return kernel


LIBRARY = torch.library.Library("warploom", "DEF")  # the ops live as long as this
for _op in (
    (schema.GEMM, _run_gemm, schema.cpu_gemm, schema.fake_gemm),
    (schema.ATTENTION, _run_attention, schema.cpu_attention, schema.fake_attention),
    (schema.PACKED, _run_packed, schema.cpu_packed, schema.fake_packed),
    (schema.BACKWARD, attention_grads, attention_grads, schema.fake_backward),
    (schema.PACKED_BACKWARD, packed_grads, packed_grads, schema.fake_backward),
):
    schema.define(LIBRARY, *_op)
LIBRARY.impl("gemm", _gemm_autograd, "Autograd")
LIBRARY.impl("attention", _attention_autograd, "Autograd")
LIBRARY.impl("attention_packed", _packed_autograd, "Autograd")
for _name in ("attention_backward", "attention_packed_backward"):
    LIBRARY.impl(_name, _once(_name), "Autograd")


class _Gemm(torch._ops.OpOverloadPacket):
    """``torch.ops.warploom.gemm``."""

    def __call__(
        self,
        a: Tensor,
        b: Tensor,
        bias: Tensor | None = None,
        alpha: float = 1.0,
        activation: str = "none",
    ) -> Tensor:
        if is_open(b):
            tensors, options, scalars = (a, b, None, bias, None), PLAIN, NO_SCALARS
            if alpha != 1.0 or activation != "none":
                options, scalars = asked_gemm(alpha, activation)
            done = _known_gemm.launch(tensors, scalars, options)
            if done is None and a.is_cuda and unwatched() and not needs_grad(a, b, bias):
                done = GEMM.runner.by_key(tensors, scalars, options, known=_known_gemm)
            if done is not None:
                return done[2]
        result: Tensor = self._op(a, b, bias, alpha, activation)
        return result


class _Attention(torch._ops.OpOverloadPacket):
    """``torch.ops.warploom.attention``."""

    def __call__(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        causal: bool = False,
        scale: float | None = None,
        lower_right: bool = False,
    ) -> tuple[Tensor, Tensor]:
        if is_open(k):
            tensors, options, factor = (q, k, v, None, None, None), WITH_SUMS[causal], None
            if scale is not None or lower_right:
                options, factor = asked_attention(q, _mask(causal, lower_right), scale, True)
            done = _known_attention.launch(tensors, factor, options)
            if done is None and q.is_cuda and unwatched() and not needs_grad(q, k, v):
                done = ATTENTION.runner.by_key(tensors, factor, options, known=_known_attention)
            if done is not None:
                return done[3], done[4]
        result: tuple[Tensor, Tensor] = self._op(q, k, v, causal, scale, lower_right)
        return result


torch.ops.warploom.gemm.__class__ = _Gemm
torch.ops.warploom.attention.__class__ = _Attention


def gemm(
    a: Tensor,
    b: Tensor,
    bias: Tensor | None = None,
    alpha: float = 1.0,
    activation: str = "none",
) -> Tensor:
    """``act(alpha * a @ b + bias)`` with gradients; ``a`` is [M, K], ``b`` is [K, N].

    Quickest with ``b`` stored transposed (``weight.T``); other strides are copied first.
    Activations: none, relu, gelu, silu.
    """
    result: Tensor = torch.ops.warploom.gemm(a, b, bias, alpha, activation)
    return result


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    causal: bool = False,
    scale: float | None = None,
    lower_right: bool = False,
) -> tuple[Tensor, Tensor]:
    """Attention of [batch, heads, length, head dim] with gradients: (out, log-sum-exp).

    ``causal``: query i sees keys 0..i; ``lower_right`` as well: the last query sees the last key.
    """
    result: tuple[Tensor, Tensor] = torch.ops.warploom.attention(
        q, k, v, causal, scale, lower_right
    )
    return result


def attention_packed(
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
    """Attention of packed sequences, as ``warploom.attention_packed``, with gradients for q, k
    and v: (out, log-sum-exp).
    """
    result: tuple[Tensor, Tensor] = torch.ops.warploom.attention_packed(
        q, k, v, q_starts, k_starts, most_queries, most_keys, causal, scale, lower_right
    )
    return result
