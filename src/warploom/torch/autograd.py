"""Gradients: of the product through products, of attention through its op."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import functional

from warploom.errors import BackendError
from warploom.runtime.attention_checks import BACKWARD_DIMS
from warploom.runtime.attention_grad import attention_backward, attention_packed_backward
from warploom.torch.schema import cpu_packed

LOGGER = logging.getLogger("warploom.torch")
ROW = 8  # elements of 16 bits in the 16 bytes that rows must be multiples of
_SAID: set[str] = set()
# As it is on import: callers may put ours in its place.
torch_sdpa = functional.scaled_dot_product_attention


def has_attention_backward(q: Tensor) -> bool:
    """Whether a kernel computes attention's gradients for heads like these."""
    return q.shape[-1] in BACKWARD_DIMS and q.dtype in (torch.bfloat16, torch.float16)


def say_once(message: str) -> None:
    """Log a message the first time it occurs; never inside a graph being traced."""
    if not torch.compiler.is_compiling() and message not in _SAID and len(_SAID) < 1000:
        _SAID.add(message)
        LOGGER.info(message)


def needs_grad(*tensors: Tensor | None) -> bool:
    """Whether the result of a call has a gradient."""
    if torch.is_grad_enabled():
        for t in tensors:  # a generator would take longer than the question
            if t is not None and t.requires_grad:
                return True
    return False


def is_transformed(*tensors: Tensor | None) -> bool:
    """Whether a derivative is taken otherwise than by a backward pass: by a transform of
    ``torch.func``, or forward with the call. Torch's own ops serve such calls.
    """
    if torch._C._are_functorch_transforms_active():
        return True
    if forward_ad._current_level < 0:
        return False
    unpack: Callable[[Tensor], Any] = forward_ad.unpack_dual
    return any(t is not None and unpack(t).tangent is not None for t in tensors)


def is_deterministic() -> bool:
    """Whether the caller asks torch for the same bits in every run."""
    asked: bool = torch.are_deterministic_algorithms_enabled()
    return asked


def no_gradient(op: str, what: str = "a gradient") -> BackendError:
    """What is said where there is none."""
    return BackendError(
        f"{what} of warploom.{op} is asked for",
        where=f"torch.ops.warploom.{op}",
        why="it has none",
        fix="torch.no_grad(), or detached tensors; torch's own ops where gradients are needed",
    )


class Once(torch.autograd.Function):
    """Results that must not be differentiated: gradients themselves."""

    @staticmethod
    def forward(ctx: Any, op: str, call: Callable[..., Any], *given: Any) -> Any:  # noqa: ANN401
        """The call."""
        ctx.op = op
        return call(*given)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> None:  # noqa: ANN401
        """Refused."""
        raise no_gradient(ctx.op, "a second derivative")


class Gemm(torch.autograd.Function):
    """Products with a gradient; pre-activations are computed again rather than kept."""

    @staticmethod
    def forward(a: Tensor, b: Tensor, bias: Tensor | None, alpha: float, activation: str) -> Tensor:
        """The product."""
        result: Tensor = torch.ops.warploom.gemm.default(a, b, bias, alpha, activation)
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ANN401
        """Keep the operands, and of relu its result."""
        a, b, bias, ctx.alpha, ctx.activation = inputs
        ctx.has_bias = bias is not None
        if a.dtype == torch.float8_e4m3fn:
            raise TypeError("warploom.gemm has no gradient for float8 operands")
        ctx.save_for_backward(a, b, bias, output if ctx.activation == "relu" else None)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:  # noqa: ANN401
        """Gradients of a, b and bias."""
        a, b, bias, out = ctx.saved_tensors
        if ctx.activation == "relu":
            grad = torch.ops.aten.threshold_backward(grad, out, 0)
        elif ctx.activation != "none":
            inner = torch.ops.warploom.gemm.default(a, b, bias, ctx.alpha, "none")
            if ctx.activation == "silu" and torch.is_grad_enabled():  # aten's has no derivative
                gate = inner.sigmoid()
                grad = grad * (gate * (1 + inner * (1 - gate)))
            else:
                grad = getattr(torch.ops.aten, f"{ctx.activation}_backward")(grad, inner)
        wants_a, wants_b, wants_bias, *_ = ctx.needs_input_grad
        return (
            product(grad, b.T, ctx.alpha) if wants_a else None,
            product(grad.T, a, ctx.alpha).T if wants_b else None,
            grad.sum(0) if wants_bias and ctx.has_bias else None,
            None,
            None,
        )


def product(x: Tensor, y: Tensor, alpha: float) -> Tensor:
    """``alpha * x @ y`` by warploom where rows of all three are multiples of 16 bytes."""
    if x.shape[1] % ROW == 0 and y.shape[1] % ROW == 0:
        result: Tensor = torch.ops.warploom.gemm.default(
            x.contiguous(), y.T.contiguous().T, None, alpha, "none"
        )
        return result
    say_once(f"warploom.gemm backward: torch.matmul for {tuple(x.shape)} @ {tuple(y.shape)}")
    return torch.matmul(x, y) * alpha


class Attention(torch.autograd.Function):
    """Attention with gradients for q, k and v, of the result and of its log-sum-exp."""

    @staticmethod
    def forward(
        q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float | None, lower_right: bool
    ) -> tuple[Tensor, Tensor]:
        """The result and its log-sum-exp."""
        out, lse = torch.ops.warploom.attention.default(q, k, v, causal, scale, lower_right)
        return out, lse

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:  # noqa: ANN401
        """Keep what the backward pass reads."""
        q, k, v, ctx.causal, ctx.scale, ctx.lower_right = inputs
        ctx.set_materialize_grads(False)  # mostly nobody asks for that of the log-sum-exp
        ctx.save_for_backward(q, k, v, *output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, of_lse: Tensor | None) -> tuple[Any, ...]:  # noqa: ANN401
        """Gradients of q, k and v."""
        saved = ctx.saved_tensors  # asked for once: checkpoints unpack it
        q, k, _, out, lse = saved
        how = ctx.causal, ctx.scale, ctx.lower_right
        grad = torch.zeros_like(out) if grad is None else grad.contiguous()
        dq, dk, dv = torch.ops.warploom.attention_backward.default(grad, *saved, *how)
        if of_lse is not None:
            more_q, more_k = _lse_grads(of_lse, q, k, lse, *how)
            dq, dk = dq + more_q, dk + more_k
        return dq, dk, dv, None, None, None


def _lse_grads(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    lse: Tensor,
    causal: bool,
    scale: float | None,
    lower_right: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of a log-sum-exp [.., heads, queries] by q and k, by torch."""
    say_once("warploom.attention backward: torch for the gradient of the log-sum-exp")
    wide = torch.promote_types(q.dtype, torch.float32)
    groups, share = k.shape[-3], q.shape[-3] // k.shape[-3]
    queries, keys = q.to(wide), k.to(wide).repeat_interleave(share, -3)
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    x = queries @ keys.mT * factor
    if causal:
        seen = seen_mask(q.shape[-2], k.shape[-2], q.device, lower_right=lower_right)
        x = x.masked_fill(~seen, -torch.inf)
    nothing = torch.isneginf(lse)[..., None]  # a query that sees no key
    p = x.softmax(-1).masked_fill(nothing, 0.0) * grad.to(wide)[..., None] * factor
    each = p.mT @ queries
    dk = each.reshape(*each.shape[:-3], groups, share, *each.shape[-2:]).sum(-3)
    return (p @ keys).to(q.dtype), dk.to(k.dtype)


def attention_grads(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    causal: bool = False,
    scale: float | None = None,
    lower_right: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients by a kernel where there is one, else by torch's attention run again."""
    if q.is_cuda and has_attention_backward(q):
        mask = "lower_right" if causal and lower_right else causal
        same = is_deterministic()
        return attention_backward(grad, q, k, v, out, lse, mask, scale, deterministic=same)
    say_once("warploom.attention backward: no kernel; torch's attention runs again")
    again = partial(torch_attention, causal=causal, scale=scale, lower_right=lower_right)
    return _grads_of(again, grad, q, k, v)


@contextmanager
def _recording() -> Iterator[None]:
    """Ops inside are recorded, also where an op's own kernel runs below autograd."""
    keys = torch._C.DispatchKey
    with torch._C._PreserveDispatchKeyGuard():
        for key in (keys.AutogradFunctionality, keys.AutogradOther):
            torch._C._dispatch_tls_set_dispatch_key_excluded(key, False)
        with torch.enable_grad():
            yield


def _grads_of(
    call: Callable[..., Tensor], grad: Tensor, *tensors: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of a call of torch for q, k and v, which is run again."""
    with _recording():
        inputs = [t.detach().requires_grad_() for t in tensors]
        dq, dk, dv = torch.autograd.grad(call(*inputs), inputs, grad)
    return dq.contiguous(), dk.contiguous(), dv.contiguous()


class Packed(torch.autograd.Function):
    """Packed attention with gradients for q, k and v, of the result and its log-sum-exp."""

    @staticmethod
    def forward(*given: Any) -> tuple[Tensor, Tensor]:  # noqa: ANN401
        """The result and its log-sum-exp."""
        out, lse = torch.ops.warploom.attention_packed.default(*given)
        return out, lse

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:  # noqa: ANN401
        """Keep what the backward pass reads."""
        q, k, v, q_starts, k_starts, _, _, ctx.causal, ctx.scale, ctx.lower_right = inputs
        ctx.set_materialize_grads(False)  # mostly nobody asks for that of the log-sum-exp
        ctx.save_for_backward(q, k, v, *output, q_starts, k_starts)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, of_lse: Tensor | None) -> tuple[Any, ...]:  # noqa: ANN401
        """Gradients of q, k and v."""
        saved = ctx.saved_tensors
        q, k, _, out, lse, q_starts, k_starts = saved
        how = ctx.causal, ctx.scale, ctx.lower_right
        grad = torch.zeros_like(out) if grad is None else grad.contiguous()
        dq, dk, dv = torch.ops.warploom.attention_packed_backward.default(grad, *saved, *how)
        if of_lse is not None:
            dq, dk = dq.clone(), dk.clone()
            pairs = zip(pairwise(q_starts.tolist()), pairwise(k_starts.tolist()), strict=True)
            for (a, b), (c, d) in pairs:
                lie = q[a:b].transpose(0, 1), k[c:d].transpose(0, 1), lse[:, a:b]
                more_q, more_k = _lse_grads(of_lse[:, a:b], *lie, *how)
                dq[a:b] += more_q.transpose(0, 1)
                dk[c:d] += more_k.transpose(0, 1)
        return (dq, dk, dv, *[None] * 7)


def packed_grads(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    q_starts: Tensor,
    k_starts: Tensor,
    causal: bool = False,
    scale: float | None = None,
    lower_right: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients by a kernel where there is one, else by torch, one sequence after another."""
    if q.is_cuda and has_attention_backward(q) and not is_deterministic():
        mask = "lower_right" if causal and lower_right else causal
        starts = q_starts, k_starts
        return attention_packed_backward(grad, q, k, v, out, lse, *starts, mask, scale)
    say_once("warploom.attention_packed backward: no kernel; torch's attention runs again")

    def again(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return cpu_packed(q, k, v, q_starts, k_starts, 0, 0, causal, scale, lower_right)[0]

    return _grads_of(again, grad, q, k, v)


def seen_mask(queries: int, keys: int, device: Any, *, lower_right: bool) -> Tensor:  # noqa: ANN401
    """Which keys a query sees under a causal mask."""
    whole = torch.ones(queries, keys, dtype=torch.bool, device=device)
    return whole.tril(keys - queries if lower_right else 0)


def torch_attention(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool, scale: float | None, lower_right: bool
) -> Tensor:
    """What ``attention`` computes, by torch's own."""
    mask = None
    if causal and lower_right and q.shape[2] != k.shape[2]:
        mask = seen_mask(q.shape[2], k.shape[2], q.device, lower_right=True)
    result: Tensor = torch_sdpa(
        q,
        k,
        v,
        attn_mask=mask,
        is_causal=causal and mask is None,
        scale=scale,
        enable_gqa=q.shape[1] != k.shape[1],
    )
    return result
