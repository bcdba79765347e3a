"""``torch.ops.warploom.gemm`` and ``.attention``: torch custom ops that ``torch.compile`` accepts.

``register`` is called once; it needs torch. The GEMM takes (a, b, bias, alpha, activation),
attention (q, k, v, causal, scale) and gives contiguous (out, lse); both mean what ``warploom.gemm``
and ``warploom.attention`` do. Fake implementations let graphs trace without a GPU.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from warploom.errors import MissingExtraError
from warploom.launch.attention import attention
from warploom.launch.gemm import gemm

GEMM_SCHEMA = "(Tensor a, Tensor b, Tensor? bias, float alpha, str activation) -> Tensor"
ATTENTION_SCHEMA = (
    "(Tensor q, Tensor k, Tensor v, bool causal=False, float? scale=None)"
    " -> (Tensor out, Tensor lse)"
)


@cache
def register() -> Any:  # noqa: ANN401 (torch's own type)
    """Define the ops and return their namespace, ``torch.ops.warploom``."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise MissingExtraError("torch", "torch", "the torch op") from None
    for name, schema, run, fake in (
        ("warploom::gemm", GEMM_SCHEMA, _run_gemm, _fake_gemm(torch)),
        ("warploom::attention", ATTENTION_SCHEMA, _run_attention, _fake_attention(torch)),
    ):
        torch.library.define(name, schema)
        torch.library.impl(name, "CUDA")(run)
        torch.library.register_fake(name)(fake)
    return torch.ops.warploom


def _run_gemm(a: object, b: object, bias: object | None, alpha: float, activation: str) -> object:
    """The CUDA implementation of the GEMM."""
    scale = None if alpha == 1.0 else alpha
    result: object = gemm(a, b, bias=bias, alpha=scale, activation=activation)
    return result


def _run_attention(
    q: object, k: object, v: object, causal: bool = False, scale: float | None = None
) -> object:
    """The CUDA implementation of attention."""
    result: object = attention(q, k, v, causal, scale, return_lse=True)
    return result


def _fake_gemm(torch: Any) -> Any:  # noqa: ANN401
    """Shape and dtype of the product, without running anything."""

    def fake(a: Any, b: Any, bias: Any, alpha: float, activation: str) -> Any:  # noqa: ANN401
        torch._check(a.dim() == 2 and b.dim() == 2, lambda: "warploom.gemm takes matrices")
        torch._check(a.shape[1] == b.shape[0], lambda: "warploom.gemm: inner sizes differ")
        kind = torch.bfloat16 if a.dtype == torch.float8_e4m3fn else a.dtype
        return a.new_empty((a.shape[0], b.shape[1]), dtype=kind)

    return fake


def _fake_attention(torch: Any) -> Any:  # noqa: ANN401
    """Shapes and dtypes of out and lse, without running anything."""

    def fake(
        q: Any,  # noqa: ANN401
        k: Any,  # noqa: ANN401
        v: Any,  # noqa: ANN401
        causal: bool = False,
        scale: float | None = None,
    ) -> Any:  # noqa: ANN401
        say = "warploom.attention: "
        torch._check(
            q.dim() == 4 and k.dim() == 4 and v.dim() == 4,
            lambda: say + "q, k and v are [batch, heads, length, head dimension]",
        )
        torch._check(
            q.dtype == k.dtype and k.dtype == v.dtype, lambda: say + "q, k and v differ in dtype"
        )
        for i, (a, b) in enumerate(zip(k.shape, v.shape, strict=True)):
            torch._check(a == b, lambda i=i: say + f"k and v differ in dimension {i}")
        torch._check(q.shape[0] == k.shape[0], lambda: say + "batches of q and k differ")
        torch._check(q.shape[3] == k.shape[3], lambda: say + "head dimensions of q and k differ")
        torch._check(
            q.shape[1] % k.shape[1] == 0, lambda: say + "kv heads do not divide the heads of q"
        )
        return q.new_empty(q.shape), q.new_empty(q.shape[:3], dtype=torch.float32)

    return fake
