"""``scaled_dot_product_attention`` with torch's signature; torch's own where ours does not apply.

Why torch's was taken is logged once a reason, by the logger ``warploom.torch`` at level INFO.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention.bias import CausalBias, CausalVariant

from warploom.launch.attention import _NUMBERS, CALLS, _options
from warploom.launch.attention_checks import HEAD_DIMS
from warploom.torch.autograd import has_attention_backward, needs_grad, say_once
from warploom.torch.ops import is_open, is_plain

ALIGNMENT = 16  # bytes
HOPPER = (9, 0)
ALONE = tuple(_options(causal, False, None) for causal in (False, True))  # without sums
_known = CALLS.runner.known.get


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
    place = None
    if usual and is_open(key):
        try:
            addresses = query.data_ptr(), key.data_ptr(), value.data_ptr()
            place = enable_gqa, is_causal, scale, addresses
            run = _known(place)
        except (AttributeError, TypeError, RuntimeError):
            run = None
        if run is not None:
            found: Tensor | None = run(query, key, value)
            if found is not None:
                return found
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
            return _served(query, key, value, is_causal, scale, place)
        out: Tensor = torch.ops.warploom.attention(query, key, value, causal, scale, lower_right)[0]
        return out
    say_once(f"scaled_dot_product_attention: torch's own, because {reason}")
    theirs: Tensor = functional.scaled_dot_product_attention(
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


def _served(
    q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float | None, place: Hashable
) -> Tensor:
    """Without the dispatcher, now and when such tensors come again: nobody would see it."""
    tensors, options = (q, k, v, None, None, None), ALONE[1 if causal else 0]
    factor = None if scale is None else (float(scale),)
    out: Tensor = CALLS.launch(tensors, factor, options)[3]
    if place is not None and CALLS.runner.comes_again(place) and type(scale) in _NUMBERS:
        CALLS.runner.learn(place, tensors, factor, options, unseen=True)
    return out


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
