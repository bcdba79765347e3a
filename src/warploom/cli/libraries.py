"""What torch and the libraries under it offer for the shipped kernels, as their users call it.

Each takes torch tensors by name and the problem's scalars and choices, and gives a call that
computes the same. Kernels that no single call computes are made of the calls a user would make.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import pairwise
from typing import Any

from warploom.kernel import words
from warploom.launch.attention import attention
from warploom.launch.attention_grad import attention_backward

Call = Callable[[], Any]
Tensors = Mapping[str, Any]


def library_for(name: str, tensors: Tensors, settings: Mapping[str, Any]) -> Call | None:
    """The library's call for a shipped kernel; None where there is none."""
    make = _KNOWN.get(name)
    return None if make is None else make(import_module("torch"), dict(tensors), dict(settings))


def whole_call(name: str, tensors: Tensors, settings: Mapping[str, Any]) -> Call | None:
    """Our public call that computes what the library's does, where one kernel is a part of it."""
    if name != "attention_grad":
        return None
    q, k, v, grad = (tensors[n] for n in ("q", "k", "v", "do"))
    given = {n: settings[n] for n in ("causal", "scale", "score", "visible")}
    given["causal"] = "lower_right" if given["causal"] == "end" else given["causal"]
    out, lse = attention(q, k, v, return_lse=True, **given)
    return lambda: attention_backward(grad, q, k, v, out, lse, **given)


def _gemm(torch: Any, x: dict[str, Any], given: dict[str, Any]) -> Call | None:  # noqa: ANN401
    a, b, alpha = x["a"], x["b"], given["alpha"]
    if given["activation"] is not None:
        return None
    if a.dtype == torch.float8_e4m3fn:
        one = torch.ones((), device=a.device)
        return lambda: torch._scaled_mm(a, b.T, one, one, out_dtype=torch.bfloat16)
    return (lambda: a @ b.T) if alpha == 1 else lambda: alpha * (a @ b.T)


def _attention(torch: Any, x: dict[str, Any], given: dict[str, Any]) -> Call | None:  # noqa: ANN401
    if given["score"] is not None or given["visible"] is not None or given["causal"] == "end":
        return None
    q, k, v = x["q"], x["k"], x["v"]
    shared = q.shape[1] != k.shape[1]
    attend = torch.nn.functional.scaled_dot_product_attention
    return lambda: attend(
        q, k, v, is_causal=bool(given["causal"]), scale=given["scale"], enable_gqa=shared
    )


def _packed(torch: Any, x: dict[str, Any], given: dict[str, Any]) -> Call | None:  # noqa: ANN401
    """One call a sequence."""
    if given["causal"] == "end":
        return None
    attend = torch.nn.functional.scaled_dot_product_attention
    qs, ks = x["q_starts"].tolist(), x["k_starts"].tolist()
    spans = [
        (slice(a, b), slice(c, d))
        for (a, b), (c, d) in zip(pairwise(qs), pairwise(ks), strict=True)
        if b > a and d > c
    ]
    parts = [(x["q"][None, :, s], x["k"][None, :, t], x["v"][None, :, t]) for s, t in spans]
    causal, scale = bool(given["causal"]), given["scale"]
    return lambda: [attend(*p, is_causal=causal, scale=scale) for p in parts]


def _attention_grad(torch: Any, x: dict[str, Any], given: dict[str, Any]) -> Call | None:  # noqa: ANN401
    """The whole backward pass of the forward call."""
    if given["causal"] == "end" or given["score"] is not None or given["visible"] is not None:
        return None
    leaves = [x[n].detach().requires_grad_() for n in "qkv"]
    attend = torch.nn.functional.scaled_dot_product_attention
    out = attend(*leaves, is_causal=bool(given["causal"]), scale=given["scale"])
    return lambda: torch.autograd.grad(out, leaves, x["do"], retain_graph=True)


def _swiglu(torch: Any, x: dict[str, Any], given: dict[str, Any]) -> Call | None:  # noqa: ANN401
    if given["activation"] is not words.silu:
        return None
    silu = torch.nn.functional.silu
    return lambda: silu(x["x"] @ x["gate"].T) * (x["x"] @ x["up"].T)


def _rms_gemm(torch: Any, x: dict[str, Any], given: dict[str, Any]) -> Call:  # noqa: ANN401
    norm, rows = torch.nn.functional.rms_norm, x["x"]
    return lambda: norm(rows, (rows.shape[-1],), eps=given["eps"]) @ x["w"].T


def _grouped(torch: Any, x: dict[str, Any], given: dict[str, Any]) -> Call:  # noqa: ANN401
    """One call for all groups where torch has it, else one a group."""
    rows, weights, starts = x["x"], x["w"], x["starts"]
    whole = getattr(torch, "_grouped_mm", None)
    if whole is not None:
        turned, ends = weights.transpose(1, 2), starts[1:].contiguous()
        return lambda: whole(rows, turned, offs=ends)
    bounds = starts.tolist()
    spans = list(pairwise(bounds))
    return lambda: [rows[a:b] @ weights[e].T for e, (a, b) in enumerate(spans)]


_KNOWN: dict[str, Callable[[Any, dict[str, Any], dict[str, Any]], Call | None]] = {
    "gemm": _gemm,
    "turned": _gemm,
    "attention": _attention,
    "packed": _packed,
    "attention_grad": _attention_grad,
    "swiglu": _swiglu,
    "rms_gemm": _rms_gemm,
    "grouped": _grouped,
}
