"""AMD MI300X (gfx942, CDNA 3): the figures in which it differs from MI355X.

Tile kernels compile for it. It has a smaller LDS, matrix instructions of half the depth, 8-bit
floats of another bias than OCP's, and no scaled ones. Nothing was timed on the chip.
"""

from warploom.dataclass import dataclass
from warploom.targets.figures import Origin, figure
from warploom.targets.mi355x import Mi355x


@dataclass(frozen=True, slots=True, kw_only=True)
class Mi300x(Mi355x):
    """The chip as numbers."""

    name: str = "mi300x"
    compute_units: int = figure(304, "", Origin.DOCUMENT, "product brief")
    clock_hz: float = figure(2.1e9, "Hz", Origin.DOCUMENT, "peak engine clock, product brief")
    flop_bf16: int = figure(
        512, "FLOP a cycle and SIMD", Origin.DERIVED, "1.3 PFLOP/s dense over all SIMDs"
    )
    flop_fp8: int = figure(1024, "FLOP a cycle and SIMD", Origin.DERIVED, "2.6 PFLOP/s dense")
    flop_fp4: int = figure(1024, "FLOP a cycle and SIMD", Origin.ASSUMED, "it has no 4-bit types")
    lds_bytes: int = figure(65_536, "bytes", Origin.DOCUMENT, "64 KB a workgroup")


def mi300x() -> Mi300x:
    """The chip."""
    return Mi300x()
