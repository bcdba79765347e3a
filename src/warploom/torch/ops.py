"""``torch.ops.warploom``: defined once, on import, and the functions that call them.

Calls of ``gemm`` and ``attention`` go past torch's dispatcher where nothing would see the
difference: on plain CUDA tensors, eagerly, without a gradient. That saves a third of the host time.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import profiler

from warploom.launch.attention import (
    CALLS as ATTENTION,
    _options as attention_options,
    attention as _launch_attention,
    attention_packed as _launch_packed,
)
from warploom.launch.gemm import (
    CALLS as GEMM,
    NO_SCALARS,
    PLAIN,
    _options as gemm_options,
    gemm as _launch_gemm,
)
from warploom.launch.tensors import unwatched
from warploom.torch import schema
from warploom.torch.autograd import Attention, Gemm, attention_grads, needs_grad

_PLAIN = (Tensor, torch.nn.Parameter)
WITH_SUMS = tuple(attention_options(causal, True, None) for causal in (False, True))
_functions = torch._C._len_torch_function_stack
_gemms, _attentions = GEMM.runner.known.get, ATTENTION.runner.known.get
_OP = "op"  # of places: what is kept looks at more than layouts


def is_open(tensor: Tensor) -> bool:
    """A real tensor, and no mode of functions or profiler looks on: all that no guard tells."""
    return type(tensor) in _PLAIN and not _functions() and not profiler._is_profiler_enabled


def is_plain(tensor: Tensor) -> bool:
    """A real CUDA tensor that no tracer, mode, transform or profiler looks at."""
    return is_open(tensor) and tensor.is_cuda and unwatched()


def _is_alone(tensor: Tensor) -> bool:
    """The same, where no mode of functions or profiler looks on."""
    return type(tensor) in _PLAIN and tensor.is_cuda and unwatched()


def _run_gemm(
    a: Tensor, b: Tensor, bias: Tensor | None = None, alpha: float = 1.0, activation: str = "none"
) -> Tensor:
    """The CUDA kernel; operands that copies cannot read are copied first."""
    if alpha == 1.0 and activation == "none":  # what most calls are, without a call in between
        made: Tensor = GEMM.launch((a, b, None, bias, None), NO_SCALARS, PLAIN, None)[2]
        return made
    result: Tensor = _launch_gemm(
        a,
        b,
        bias=bias,
        alpha=None if alpha == 1.0 else alpha,
        activation=activation,
    )
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
    if scale is None and not lower_right:  # what most calls are, without calls in between
        done = ATTENTION.launch((q, k, v, None, None, None), None, WITH_SUMS[causal], None)
        return done[3], done[4]
    mask = _mask(causal, lower_right)
    out, lse = _launch_attention(q, k, v, mask, scale, return_lse=True)
    return out, lse


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
    if needs_grad(a, b, bias):
        made: Tensor = Gemm.apply(a, b, bias, alpha, activation)
        return made
    if is_plain(a):
        return _run_gemm(a, b, bias, alpha, activation)
    with torch._C._AutoDispatchBelowAutograd():
        made = torch.ops.warploom.gemm.default(a, b, bias, alpha, activation)
    return made


def _attention_autograd(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    causal: bool = False,
    scale: float | None = None,
    lower_right: bool = False,
) -> tuple[Tensor, Tensor]:
    if needs_grad(q, k, v):
        made: tuple[Tensor, Tensor] = Attention.apply(q, k, v, causal, scale, lower_right)
        return made
    if is_plain(q):
        return _run_attention(q, k, v, causal, scale, lower_right)
    with torch._C._AutoDispatchBelowAutograd():
        made = torch.ops.warploom.attention.default(q, k, v, causal, scale, lower_right)
    return made


def _define() -> torch.library.Library:
    """Every op with its kernels; strides are part of what a kernel takes."""
    library = torch.library.Library("warploom", "DEF")
    tags = [torch.Tag.pt2_compliant_tag]
    exact = getattr(torch.Tag, "needs_exact_strides", None)
    tags.append(exact if exact is not None else torch.Tag.needs_fixed_stride_order)
    kernels: tuple[tuple[str, Any, Any, Any, Any], ...] = (
        (schema.GEMM, _run_gemm, schema.cpu_gemm, schema.fake_gemm, _gemm_autograd),
        (
            schema.ATTENTION,
            _run_attention,
            schema.cpu_attention,
            schema.fake_attention,
            _attention_autograd,
        ),
        (schema.PACKED, _run_packed, schema.cpu_packed, schema.fake_packed, None),
        (schema.BACKWARD, attention_grads, attention_grads, schema.fake_backward, None),
    )
    for text, cuda, cpu, fake, autograd in kernels:
        name = text.partition("(")[0]
        library.define(text, tags=tuple(tags))
        library.impl(name, cuda, "CUDA")
        library.impl(name, cpu, "CPU")
        torch.library.register_fake(f"warploom::{name}", fake, lib=library)
        if autograd is not None:
            library.impl(name, autograd, "Autograd")
    return library


_LIBRARY = _define()  # the ops live as long as this


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
        made: Tensor
        place = None
        is_opened = is_open(b)
        if is_opened and alpha == 1.0:
            try:
                addresses = a.data_ptr(), b.data_ptr(), bias is None or bias.data_ptr()
                place = _OP, activation, addresses
                run = _gemms(place)
            except (AttributeError, TypeError, RuntimeError):
                run = None
            if run is not None:
                made = run(a, b) if bias is None else run(a, b, bias)
                if made is not None:
                    return made
        if is_opened and _is_alone(a) and not needs_grad(a, b, bias):
            made = _run_gemm(a, b, bias, alpha, activation)
            if place is not None and GEMM.runner.comes_again(place):
                tensors = a, b, None, bias, None
                options = gemm_options(activation, None, True, None)
                GEMM.runner.learn(place, tensors, NO_SCALARS, options, unseen=True)
            return made
        made = self._op(a, b, bias, alpha, activation)
        return made


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
        made: tuple[Tensor, Tensor]
        place = None
        is_opened = is_open(k)
        if is_opened and scale is None and not lower_right:
            try:
                place = _OP, causal, q.data_ptr(), k.data_ptr(), v.data_ptr()
                run = _attentions(place)
            except (AttributeError, TypeError, RuntimeError):
                run = None
            if run is not None:
                made = run(q, k, v)
                if made is not None:
                    return made
        if is_opened and _is_alone(q) and not needs_grad(q, k, v):
            if place is None:
                return _run_attention(q, k, v, causal, scale, lower_right)
            tensors, options = (q, k, v, None, None, None), WITH_SUMS[causal]
            done = ATTENTION.launch(tensors, None, options)
            if ATTENTION.runner.comes_again(place):
                ATTENTION.runner.learn(place, tensors, None, options, unseen=True)
            return done[3], done[4]
        made = self._op(q, k, v, causal, scale, lower_right)
        return made


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
    made: Tensor = torch.ops.warploom.gemm(a, b, bias, alpha, activation)
    return made


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
    made: tuple[Tensor, Tensor] = torch.ops.warploom.attention(q, k, v, causal, scale, lower_right)
    return made


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
    """Attention of packed sequences, as ``warploom.attention_packed``: (out, log-sum-exp).

    It has no gradient yet.
    """
    made: tuple[Tensor, Tensor] = torch.ops.warploom.attention_packed(
        q, k, v, q_starts, k_starts, most_queries, most_keys, causal, scale, lower_right
    )
    return made
