"""Execute a schedule on matrices without a GPU, under chosen timings. The package is private."""

from warploom.interp.executor import (
    Early,
    Late,
    Random,
    Scripted,
    Timing,
    execute,
    sample_matrices,
)

__all__ = ["Early", "Late", "Random", "Scripted", "Timing", "execute", "sample_matrices"]
