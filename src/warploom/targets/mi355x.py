"""AMD MI355X (gfx950, CDNA 4): the one table of its numbers, in cycles, bytes and registers.

The simulator, the schedulers, the search, the emitter and its estimate all read it. No MI355X was
at hand: nothing here was timed on the chip, and ``docs/explain/gfx950.md`` says how far results of
this table stand from published ones.

>>> mi355x().mfma_cycles(32, 32, 16, "bf16")
32
"""

from warploom.dataclass import dataclass
from warploom.targets.figures import Origin, figure

LANES = 64
MICROSCALED = {"mxfp8": 8, "mxfp8_e5m2": 8, "mxfp6": 6, "mxfp6_e3m2": 6, "mxfp4": 4}
"""Bits of an element of OCP's microscaling types; 32 elements along K share a scale of a byte."""
WAVE_BYTES = 1024  # what one memory instruction of a wave moves: 64 lanes of 16 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Mi355x:
    """The chip as numbers; rates and latencies are of one compute unit or one SIMD of it."""

    name: str = "mi355x"
    compute_units: int = figure(256, "", Origin.DOCUMENT, "product brief")
    simds: int = figure(4, "a compute unit", Origin.DOCUMENT, "CDNA 4 white paper")
    clock_hz: float = figure(2.4e9, "Hz", Origin.DOCUMENT, "peak engine clock, product brief")
    flop_bf16: int = figure(
        1024,
        "FLOP a cycle and SIMD",
        Origin.DERIVED,
        "2.5 PFLOP/s dense over all SIMDs; LLVM's tables of passes agree",
    )
    flop_fp8: int = figure(2048, "FLOP a cycle and SIMD", Origin.DERIVED, "5.0 PFLOP/s dense")
    flop_fp4: int = figure(
        4096, "FLOP a cycle and SIMD", Origin.DERIVED, "10 PFLOP/s dense in MXFP4 and MXFP6"
    )
    issue: int = figure(4, "cycles an instruction", Origin.DOCUMENT, "a wave of 64 on 16 lanes")
    transcendental: int = figure(
        16, "cycles an instruction", Origin.ASSUMED, "exp, log, rcp at a quarter of the rate"
    )
    barrier: int = figure(16, "cycles", Origin.ASSUMED, "from the last arrival to the release")
    lds_bytes: int = figure(163_840, "bytes", Origin.DOCUMENT, "160 KB a workgroup")
    lds_rate: int = figure(
        128, "bytes a cycle", Origin.DOCUMENT, "white paper; other accounts of the chip name 256"
    )
    lds_latency: int = figure(128, "cycles", Origin.ASSUMED, "an LDS access under load")
    memory_rate: int = figure(64, "bytes a cycle", Origin.ASSUMED, "caches into a compute unit")
    memory_latency: int = figure(900, "cycles", Origin.ASSUMED, "a loaded memory system")
    registers: int = figure(512, "a SIMD lane", Origin.DOCUMENT, "of all its waves, AGPRs too")
    vm_limit: int = figure(63, "units in flight", Origin.DOCUMENT, "vmcnt has 6 bits")
    lgkm_limit: int = figure(15, "units in flight", Origin.DOCUMENT, "lgkmcnt has 4 bits")

    def mfma_cycles(self, m: int, n: int, k: int, dtype: str) -> int:
        """Cycles one matrix instruction keeps the matrix unit of its SIMD busy."""
        return max(self.issue, 2 * m * n * k // self.flops(dtype))

    def flops(self, dtype: str) -> int:
        """FLOP a cycle and SIMD of an element type."""
        bits = 8 if dtype == "fp8" else MICROSCALED.get(dtype, 16)
        return {4: self.flop_fp4, 6: self.flop_fp4, 8: self.flop_fp8}.get(bits, self.flop_bf16)

    def usual_mfma(self, dtype: str) -> tuple[int, int, int]:
        """The matrix instruction of a kernel that does not say which one it takes."""
        return (16, 16, 128) if dtype == "fp8" or dtype in MICROSCALED else (16, 16, 32)


def mi355x() -> Mi355x:
    """The chip."""
    return Mi355x()
