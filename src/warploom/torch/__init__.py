"""warploom for torch: ops with autograd that ``torch.compile`` keeps whole, registered on import.

``gemm``, ``attention`` and ``attention_packed`` are the functions to call; ``torch.ops.warploom``
holds the same as ops, ``grouped_gemm`` with gradients as well, ``swiglu``, ``gemm_block_scaled``,
``gemm_quantised`` and ``scan`` without. ``flex_attention`` and ``scaled_dot_product_attention``
have the signatures of torch's; the latter takes torch's own wherever warploom's kernels do not
apply. On the CPU the ops compute by torch, for tests of models.
"""

from warploom.errors import MissingExtraError

try:
    import torch as _torch
except ImportError:
    raise MissingExtraError("torch", "torch", "warploom.torch") from None

from warploom.torch import derived as _derived, fused as _fused
from warploom.torch.flex import flex_attention
from warploom.torch.ops import attention, attention_packed, gemm
from warploom.torch.sdpa import scaled_dot_product_attention

__all__ = [
    "attention",
    "attention_packed",
    "flex_attention",
    "gemm",
    "scaled_dot_product_attention",
]
