"""Which kernels the package ships: by identity, never by name."""

from __future__ import annotations

import sys

from warploom.frontend.tile_kernel import Text


def is_shipped(text: Text) -> bool:
    """Whether a kernel is one that the package ships."""
    module = sys.modules.get(text.function.__module__)
    own = getattr(module, text.function.__name__, None)
    shipped = getattr(module, "__package__", "") == "warploom.kernels"
    return shipped and isinstance(own, Text) and own.function is text.function
