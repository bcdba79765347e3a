"""``torch.ops.warploom.gemm``: the GEMM as a torch custom op that ``torch.compile`` accepts.

``register`` is called once; it needs torch. The op takes (a, b, bias, alpha, activation) with the
meaning of ``gemm`` and has a fake implementation, so that graphs trace without a GPU.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from warploom.errors import MissingExtraError
from warploom.runtime.gemm import gemm

SCHEMA = "(Tensor a, Tensor b, Tensor? bias, float alpha, str activation) -> Tensor"


@cache
def register() -> Any:  # noqa: ANN401 (torch's own op type)
    """Define the op and return it."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise MissingExtraError("torch", "torch", "the torch op") from None
    library = torch.library
    library.define("warploom::gemm", SCHEMA)
    library.impl("warploom::gemm", "CUDA")(_run)
    library.register_fake("warploom::gemm")(_fake(torch))
    return torch.ops.warploom.gemm


def _run(a: object, b: object, bias: object | None, alpha: float, activation: str) -> object:
    """The CUDA implementation."""
    scale = None if alpha == 1.0 else alpha
    result: object = gemm(a, b, bias=bias, alpha=scale, activation=activation)
    return result


def _fake(torch: Any) -> Any:  # noqa: ANN401
    """Shape and dtype of the result, without running anything."""

    def fake(a: Any, b: Any, bias: Any, alpha: float, activation: str) -> Any:  # noqa: ANN401
        torch._check(a.dim() == 2 and b.dim() == 2, lambda: "warploom.gemm takes matrices")
        torch._check(a.shape[1] == b.shape[0], lambda: "warploom.gemm: inner sizes differ")
        kind = torch.bfloat16 if a.dtype == torch.float8_e4m3fn else a.dtype
        return a.new_empty((a.shape[0], b.shape[1]), dtype=kind)

    return fake
