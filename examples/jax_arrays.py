"""JAX arrays through warploom's ops, without a copy, and a gradient for ``jax.grad``.

python examples/jax_arrays.py

On a Hopper GPU the kernels run; elsewhere the ops compute by torch, so that this runs anywhere.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import torch

import warploom.torch


def of_jax(array: jax.Array) -> torch.Tensor:
    """The same memory as a tensor; DLPack orders the two libraries' streams."""
    return torch.from_dlpack(array)


@jax.custom_vjp
def linear(x: jax.Array, w: jax.Array) -> jax.Array:
    """``x @ w.T``; x is [M, K], w is [N, K]."""
    return jax.dlpack.from_dlpack(warploom.torch.gemm(of_jax(x), of_jax(w).T))


def forward(x: jax.Array, w: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """The product, and what its gradient needs."""
    return linear(x, w), (x, w)


def backward(kept: tuple[jax.Array, jax.Array], grad: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Two more products; torch's strides say which operand is turned."""
    x, w = kept
    g = of_jax(grad)
    dx = warploom.torch.gemm(g, of_jax(w))
    dw = warploom.torch.gemm(g.T, of_jax(x))
    return jax.dlpack.from_dlpack(dx), jax.dlpack.from_dlpack(dw)


linear.defvjp(forward, backward)


def main() -> None:
    """Compare with JAX's own product and gradient."""
    x, w = (
        jax.random.normal(jax.random.key(i), shape, jnp.bfloat16)
        for i, shape in enumerate(((256, 512), (384, 512)))
    )
    found = (linear(x, w), *jax.grad(lambda *t: linear(*t).sum(), (0, 1))(x, w))
    wide = [t.astype(jnp.float32) for t in (x, w)]
    wanted = (wide[0] @ wide[1].T, *jax.grad(lambda a, b: (a @ b.T).sum(), (0, 1))(*wide))
    for name, ours, theirs in zip(("x @ w.T", "dx", "dw"), found, wanted, strict=True):
        far = jnp.linalg.norm(ours.astype(jnp.float32) - theirs) / jnp.linalg.norm(theirs)
        print(f"{name}: {ours.shape}, {float(far):.1e} from JAX's own")


if __name__ == "__main__":
    main()
