"""A decoder layer as Hugging Face models have it, with warploom's attention and products.

Runs on a CPU as well, where the ops compute by torch: ``python examples/torch_model.py``.
"""

import logging

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 (its usual name)

import warploom.torch as wt


class Layer(nn.Module):
    """Attention and a gated MLP; nothing in it names warploom but the linear layers."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = Linear(width, 3 * width)
        self.out = Linear(width, width)
        self.norm = nn.RMSNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, s, w = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, s, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(b, s, w))


class Linear(nn.Linear):
    """A linear layer by ``wt.gemm``, gradients included."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.reshape(-1, x.shape[-1])
        return wt.gemm(rows, self.weight.T, self.bias).reshape(*x.shape[:-1], -1)


def patched() -> None:
    """Every model of this process calls warploom's attention; what it does not serve is torch's."""
    F.scaled_dot_product_attention = wt.scaled_dot_product_attention


def main() -> None:
    logging.basicConfig(level=logging.INFO)  # the logger warploom.torch says why torch's ran
    torch.manual_seed(0)
    layer = Layer(256, 4)
    x = torch.randn(2, 33, 256, requires_grad=True)
    before = layer(x)
    patched()
    after = layer(x)
    torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-4)
    after.square().mean().backward()
    assert x.grad is not None
    print("patched attention agrees; gradient", tuple(x.grad.shape))


if __name__ == "__main__":
    main()
