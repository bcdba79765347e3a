"""``scaled_dot_product_attention`` with torch's signature; torch's own where ours does not apply.

Why torch's was taken is logged once a reason, by the logger ``warploom.torch`` at level INFO.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.bias import CausalBias, CausalVariant

from warploom.runtime.attention import CALLS, HEADS_RANK, PLAIN
from warploom.runtime.attention_checks import HEAD_DIMS
from warploom.torch.autograd import (
    has_attention_backward,
    needs_grad,
    say_once,
    seen_mask,
    torch_sdpa,
)
from warploom.torch.ops import is_open, is_plain

ALIGNMENT = 16  # bytes
HOPPER = (9, 0)
_known = CALLS.runner.unseen


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator, unused-ignore]
def _is_hopper(device: int) -> bool:
    return _hopper(device)


@cache
def _hopper(device: int) -> bool:
    found: tuple[int, int] = torch.cuda.get_device_capability(device)
    return found == HOPPER


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``torch.nn.functional.scaled_dot_product_attention`` by warploom's kernel where it can be."""
    usual = attn_mask is None and dropout_p == 0.0 and (scale is None or 0.0 < scale < math.inf)
    usual = usual and not torch.compiler.is_compiling()
    tensors = query, key, value, None, None, None
    options = PLAIN[0][1 if is_causal else 0] if usual else None  # compilers see neither
    factor = None if scale is None else (scale,)
    if usual and is_open(key) and (enable_gqa or _same_heads(query, key)):
        done = _known.launch(tensors, factor, options)
        if done is not None:
            out: Tensor = done[3]
            return out
    lower_right = False
    mask: Any = attn_mask
    if isinstance(mask, CausalBias):
        fits = (mask.seq_len_q, mask.seq_len_kv) == (query.shape[-2], key.shape[-2])
        lower_right = mask.variant == CausalVariant.LOWER_RIGHT
        if fits and not is_causal:
            mask = None
    causal = is_causal or (attn_mask is not None and mask is None)
    reason = why_not(query, key, value, mask, dropout_p, scale, enable_gqa)
    if reason is None:
        if usual and is_plain(query) and not needs_grad(query, key, value):
            out = CALLS.runner.by_key(tensors, factor, options, known=_known)[3]
            return out
        out = torch.ops.warploom.attention(query, key, value, causal, scale, lower_right)[0]
        return out
    say_once(f"scaled_dot_product_attention: torch's own, because {reason}")
    if isinstance(attn_mask, CausalBias) and torch_sdpa is not _now():
        attn_mask = seen_mask(  # it knows torch's own by its name, which is ours now
            attn_mask.seq_len_q, attn_mask.seq_len_kv, query.device, lower_right=lower_right
        )
    theirs: Tensor = torch_sdpa(
        query,
        key,
        value,
        attn_mask=attn_mask,
        dropout_p=dropout_p,
        is_causal=is_causal,
        scale=scale,
        enable_gqa=enable_gqa,
    )
    return theirs


def _now() -> Any:  # noqa: ANN401
    return torch.nn.functional.scaled_dot_product_attention


def _same_heads(q: Tensor, k: Tensor) -> bool:
    return bool(q.dim() == HEADS_RANK == k.dim() and q.size(1) == k.size(1))


def why_not(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Any,  # noqa: ANN401
    dropout_p: float,
    scale: float | None,
    enable_gqa: bool,
) -> str | None:
    """Why warploom's kernel cannot serve a call; None when it can."""
    if mask is not None:
        return "a mask tensor is given"
    if dropout_p != 0.0:
        return "dropout is asked for"
    if scale is not None and not scale > 0.0:
        return "the scale is not positive"
    if torch.is_autocast_enabled():
        return "autocast chooses the types"
    reason = _why_not_tensors(q, k, v, enable_gqa)
    if reason is None and needs_grad(q, k, v) and not has_attention_backward(q):
        return "gradients are needed, for which there is no kernel"
    return reason


def _why_not_tensors(q: Tensor, k: Tensor, v: Tensor, enable_gqa: bool) -> str | None:
    if q.dim() != 4 or k.dim() != 4 or v.dim() != 4:
        return "tensors are not [batch, heads, length, head dim]"
    if q.dtype not in (torch.bfloat16, torch.float16) or not q.dtype == k.dtype == v.dtype:
        return f"types are {q.dtype}, {k.dtype}, {v.dtype}"
    if not (q.is_cuda and k.is_cuda and v.is_cuda) or not _is_hopper(q.get_device()):
        return "the tensors are not on a Hopper GPU"
    return _why_not_sizes(q, k, v, enable_gqa)


def _why_not_sizes(q: Tensor, k: Tensor, v: Tensor, enable_gqa: bool) -> str | None:
    if k.shape != v.shape or q.shape[3] != k.shape[3] or q.shape[3] not in HEAD_DIMS:
        return f"head dimensions are {q.shape[3]} and {v.shape[3]}"
    if q.shape[0] != k.shape[0] or q.numel() == 0 or k.numel() == 0:
        return "a tensor is empty, or batches differ"
    if q.shape[1] != k.shape[1] and (not enable_gqa or q.shape[1] % k.shape[1]):
        return "heads of queries and keys differ"
    return _why_not_memory(q, k, v)


def _why_not_memory(*tensors: Tensor) -> str | None:
    for t in tensors:
        steps = [s for n, s in zip(t.shape[:3], t.stride()[:3], strict=True) if n > 1]
        if t.stride(3) != 1 or any(s <= 0 or s * t.element_size() % ALIGNMENT for s in steps):
            return "strides are not multiples of 16 bytes with contiguous rows"
        if not torch.compiler.is_compiling() and t.data_ptr() % ALIGNMENT:
            return "an address is no multiple of 16 bytes"
    return None
