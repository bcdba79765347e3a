"""Shape-derived constants of a kernel, as documented."""

from warploom.pipeline.amd_target.geometry import (
    KernelGeometry,
)

__all__ = [
    "KernelGeometry",
]
