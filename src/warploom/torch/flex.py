"""FlexAttention's call, with gradients: the derivative of a score follows from its text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import AuxOutput

from warploom.errors import BackendError
from warploom.runtime.attention import attention
from warploom.runtime.attention_grad import attention_backward
from warploom.runtime.flexible import captured
from warploom.torch.autograd import (
    Once,
    has_attention_backward,
    is_deterministic,
    is_transformed,
    needs_grad,
)


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Any] | None = None,
    block_mask: object | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: object | None = None,  # torch's tiles, not warploom's
    *,
    return_aux: Any | None = None,  # noqa: ANN401 (torch's AuxRequest)
) -> Any:  # noqa: ANN401 (a tensor, or two)
    """torch's ``flex_attention``, run by warploom, eagerly.

    ``score_mod`` and the mask function of ``block_mask`` are read from their Python text. The
    blocks of the mask are walked and no others, full ones without the function, by both passes.
    Gradients are those of query, key and value, for head dimensions 64, 128 and 256; captured
    tensors and the log-sum-exp have none, which is said where one is asked for. ``kernel_options``
    are torch's own and change nothing here; of ``return_aux`` there is the log-sum-exp.
    """
    if return_aux is not None:
        if getattr(return_aux, "max_scores", False):
            raise _wrong("the largest scores are asked for", "AuxRequest(lse=True)")
        asked = (query, key, value, score_mod, block_mask, scale, enable_gqa)
        out, lse = flex_attention(*asked, return_lse=True)
        return out, AuxOutput(lse=lse if getattr(return_aux, "lse", False) else None)
    for name, x in (("query", query), ("key", key), ("value", value)):
        if not isinstance(x, Tensor) or x.dim() != 4:
            said = list(x.shape) if isinstance(x, Tensor) else f"a {type(x).__name__}"
            raise _wrong(f"{name} is {said}", "tensors [batch, heads, length, head dim]")
    if not enable_gqa and query.shape[1] != key.shape[1]:
        raise _wrong(
            f"{query.shape[1]} heads of queries, {key.shape[1]} of keys", "enable_gqa=True"
        )
    if torch.is_grad_enabled() and any(
        getattr(t, "requires_grad", False) for t in captured(score_mod, block_mask)
    ):
        raise _wrong("a captured tensor needs a gradient", "torch's flex_attention, or detach it")
    if is_transformed(query, key, value):
        raise _wrong("a transform of torch.func, or a derivative taken forward", "torch's own")
    if not needs_grad(query, key, value):
        given: dict[str, Any] = {"scale": scale, "score": score_mod, "visible": block_mask}
        return attention(query, key, value, **given, return_lse=return_lse)
    if not has_attention_backward(query):
        raise _wrong(
            f"a gradient for heads of {query.shape[3]} elements of {query.dtype}",
            "torch.no_grad(), or 64, 128 or 256 of bf16 or fp16",
        )
    out, lse = _Flexible.apply(query, key, value, score_mod, block_mask, scale)
    return (out, lse) if return_lse else out


def _wrong(what: str, fix: str) -> BackendError:
    return BackendError(f"flex_attention: {what}", where="flex_attention", fix=fix)


class _Flexible(torch.autograd.Function):
    """Attention with functions of the caller, and gradients of q, k and v."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        q: Tensor,
        k: Tensor,
        v: Tensor,
        score: Callable[..., Any] | None,
        mask: object | None,
        scale: float | None,
    ) -> tuple[Tensor, Tensor]:
        """The result and its log-sum-exp."""
        out, lse = attention(q, k, v, scale=scale, score=score, visible=mask, return_lse=True)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.functions = score, mask, scale
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, of_lse: Tensor | None) -> tuple[Any, ...]:  # noqa: ANN401
        """Gradients of q, k and v."""
        if of_lse is not None:
            raise _wrong("a gradient of the log-sum-exp", "torch's flex_attention, or lse.detach()")
        score, mask, scale = ctx.functions
        q, k, v, out, lse = ctx.saved_tensors
        grad = torch.zeros_like(out) if grad is None else grad
        given: dict[str, Any] = {"scale": scale, "score": score, "visible": mask}
        given["deterministic"] = is_deterministic()
        run: Callable[..., tuple[Any, ...]] = partial(attention_backward, **given)
        tensors = grad.contiguous(), q, k, v, out, lse
        if needs_grad(*tensors):
            return (*Once.apply("flex_attention", run, *tensors), None, None, None)
        return (*run(*tensors), None, None, None)
