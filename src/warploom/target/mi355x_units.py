"""MI355X (gfx950) numbers for exact scheduling, in cycles of one SIMD or CU.

MFMA occupancies are passes * 4 cycles. They follow both from the documented peak (2.5 PFLOPS bf16,
5.0 fp8 dense at 2.4 GHz over 256 CUs = 4096 / 8192 FLOP a cycle and CU, a quarter of it per SIMD)
and from the compiler's scheduling tables. No MI355X was at hand: nothing was timed on the chip.
"""

from __future__ import annotations

from warploom.target.unit_costs import CostTable, Source, UnitCost, cost_table

LDS_BYTES = 163_840
"""LDS of one CU (160 KB)."""

LDS_BYTES_PER_CYCLE = 128
"""Documented LDS read bandwidth of a CU: 128 bytes a cycle (ds_read_b128 on gfx950)."""

VGPRS_PER_LANE = 512
"""Unified vector registers of a lane when one wave runs on a SIMD; 256 with two waves."""

FLOP_PER_CYCLE_SIMD = {"bf16": 1024, "fp8": 2048}
"""Dense matrix peak of one SIMD."""


def mfma(m: int, n: int, k: int, dtype: str) -> UnitCost:
    """An MFMA: 2 m n k FLOP at the SIMD's peak; the result is usable after a short drain."""
    held = max(4, 2 * m * n * k // FLOP_PER_CYCLE_SIMD[dtype])
    drain = 4 if m == 16 else 8
    return UnitCost(
        occupancy=held,
        latency=held + drain,
        source=Source.DERIVED,
        note=f"mfma {m}x{n}x{k} {dtype}",
    )


COSTS: CostTable = cost_table(
    {
        "mfma_16x16x32_bf16": mfma(16, 16, 32, "bf16"),
        "mfma_32x32x16_bf16": mfma(32, 32, 16, "bf16"),
        "mfma_16x16x128_fp8": mfma(16, 16, 128, "fp8"),
        "mfma_32x32x64_fp8": mfma(32, 32, 64, "fp8"),
        "ds_read_b128": UnitCost(
            occupancy=8,
            latency=128,
            source=Source.DERIVED,
            note="64 lanes * 16 B at 128 B/cycle; latency of an LDS access under load",
        ),
        "buffer_load_lds_b128": UnitCost(
            occupancy=8,
            latency=900,
            source=Source.DERIVED,
            note="64 lanes * 16 B into LDS; latency of a DRAM access (500 for an L2 hit)",
        ),
        "model_load": UnitCost(occupancy=8, latency=200, source=Source.MODEL),
        "model_fragment": UnitCost(occupancy=8, latency=20, source=Source.MODEL),
        "model_mma": UnitCost(occupancy=16, latency=16, source=Source.MODEL),
    }
)
"""``model_*`` are the relative prices of the shipped schedules (load 200, fragment 20, MMA 16)."""
