"""Which kernels the package ships: by identity, never by name."""

from __future__ import annotations

import sys

from warploom.frontend.tile_kernel import TileKernel


def is_shipped(tile_kernel: TileKernel) -> bool:
    """Whether a kernel is one that the package ships."""
    module = sys.modules.get(tile_kernel.function.__module__)
    own = getattr(module, tile_kernel.function.__name__, None)
    shipped = getattr(module, "__package__", "") == "warploom.kernels"
    return shipped and isinstance(own, TileKernel) and own.function is tile_kernel.function
