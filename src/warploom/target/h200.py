"""NVIDIA Hopper (H100, H200; sm_90a): what warp-specialised kernels cost there, and its limits.

Numbers are cycles, bytes and registers of one SM. ``source`` marks say where each came from:

- *measured*: microbenchmarks on an H200 (driver 580.159, CUDA 13.0, November 2026);
- *compiler*: seen from nvcc/ptxas 13.0.88 alone;
- *datasheet*: the vendor's documents, not measured here.

Dense kernels run at the board's power cap, so cycles alone do not rank them: ``EnergyModel`` holds
the second objective, joules per FLOP and per byte moved.

>>> h200().wgmma_interval(256)
128
>>> h200().group_latency(n=256, count=4)
574
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from warploom.errors import CostModelError

SMEM_BYTES_PER_CYCLE = 128
WGMMA_ROWS = 64
TENSOR_DRAIN = 62
PRODUCTS_AHEAD = 7.2  # products before a group's end at which its last one has been issued
KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncCosts:
    """Hand-over costs in cycles [measured]."""

    mbarrier_arrive: int = 8
    expect_tx: int = 9
    mbarrier_handoff: int = 156
    cluster_handoff: int = 250
    named_barrier_handoff: int = 43
    barrier_128: int = 20
    barrier_256: int = 28
    barrier_384: int = 36
    cluster_barrier: int = 462
    proxy_fence: int = 17
    tma_issue: int = 80
    full_wait: int = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one CTA of one SM may use [compiler and datasheet]."""

    sms: int = 132
    smem_per_block: int = 232_448
    registers_per_sm: int = 65_536
    setmaxnreg_step: int = 8
    setmaxnreg_low: int = 24
    setmaxnreg_high: int = 240
    named_barriers: int = 16
    tma_box_side: int = 256
    l2_bytes: int = 60 * 1024 * 1024
    clusters: tuple[tuple[int, int], ...] = ((1, 132), (2, 66), (4, 30))

    def resident_clusters(self, size: int) -> int:
        """How many clusters of ``size`` CTAs run at once, one CTA an SM [measured]."""
        found = dict(self.clusters).get(size)
        if found is None:
            known = ", ".join(str(s) for s, _ in self.clusters)
            raise CostModelError(
                f"no figure for clusters of {size} CTAs", where="cluster", fix=f"known: {known}"
            )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRates:
    """Operations per cycle and SM of the ordinary units [measured]."""

    ex2: float = 16.0
    fma: float = 120.0
    add: float = 124.0
    max: float = 60.0
    cvt_bf16x2: float = 62.7
    shuffle: float = 32.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyModel:
    """Joules: what sets the sustained rate of a kernel that runs at the power cap.

    Fitted to 104 sustained rates of 26 kernels on seven shapes in bf16 and fp8 (H200, November
    2026): 1.3 % rms within a shape. The split between the terms is a fit, not a measurement;
    ``tests/texts/test_choice.py`` holds the rates and repeats the comparison.
    """

    power_cap: float = 690.0
    idle_watts: float = 150.0
    capped_clock_hz: float = 1.40e9
    cycle_share: float = 0.56
    joules_per_flop_bf16: float = 0.467e-12
    joules_per_flop_fp8: float = 0.284e-12
    joules_per_operand_byte: float = 8.7e-12
    joules_per_landed_byte: float = 13.4e-12
    joules_per_dram_byte: float = 68.0e-12

    def seconds(self, *, cycles: float, joules: float) -> float:
        """Time of a dense kernel at the power cap.

        Voltage follows the clock, so a kernel that wastes cycles must run at a higher clock to
        keep up and pays for it in energy: time is a weighted geometric mean of both demands.
        """
        by_cycles = cycles / self.capped_clock_hz
        by_energy = joules / (self.power_cap - self.idle_watts)
        share = self.cycle_share
        return float(by_cycles**share * by_energy ** (1.0 - share))


@dataclass(frozen=True, slots=True, kw_only=True)
class HopperTarget:
    """A Hopper part: costs, limits and clocks."""

    name: str
    clock_hz: float
    dram_bytes_per_s: float
    limits: Limits = Limits()
    sync: SyncCosts = SyncCosts()
    vector: VectorRates = VectorRates()
    energy: EnergyModel = EnergyModel()
    l2_load: tuple[tuple[int, int], ...] = (
        (1 * KIB, 345),
        (4 * KIB, 376),
        (8 * KIB, 404),
        (16 * KIB, 472),
        (32 * KIB, 622),
    )
    dram_load: tuple[tuple[int, int], ...] = (
        (1 * KIB, 970),
        (4 * KIB, 1170),
        (8 * KIB, 1260),
        (16 * KIB, 1360),
        (32 * KIB, 1470),
    )
    wgmma_queue: int = 7  # unfinished products an SM takes while others may still be issued
    l2_bytes_per_cycle: float = 60.0  # landing, when several SMs read the same tiles

    def wgmma_interval(self, n: int, *, a_in_registers: bool = False) -> int:
        """Cycles between two m64nNk16 (k32 in fp8) instructions of an SM [measured].

        The larger of the tensor cores' time and of the operand reads from shared memory: A (64
        rows) and B (n rows) of 32 bytes; A in registers drops its part.
        """
        _check_n(n)
        rows = n if a_in_registers else n + WGMMA_ROWS
        return max(n // 2, -(-rows * 32 // SMEM_BYTES_PER_CYCLE))

    def wgmma_issue(self, n: int) -> int:
        """Cycles a warpgroup takes to issue one m64nNk16 while the queue has room [measured]."""
        _check_n(n)
        return max(10, round(n / 9.5))

    def issue_hold(self, n: int, count: int) -> int:
        """Cycles from the first of ``count`` products on a free unit until all are issued.

        The tensor cores take about eight unfinished products of all warpgroups together; beyond
        that issuing stands still [measured: 113 for 8 and 625 for 16 products of n = 128].
        """
        interval = self.wgmma_interval(n)
        end = count * interval + TENSOR_DRAIN
        return max(count * self.wgmma_issue(n), round(end - PRODUCTS_AHEAD * interval))

    def group_latency(self, *, n: int, count: int, a_in_registers: bool = False) -> int:
        """Cycles from issue of ``count`` wgmma in one group until it has retired [measured]."""
        return count * self.wgmma_interval(n, a_in_registers=a_in_registers) + TENSOR_DRAIN

    def load_latency(self, box_bytes: int, *, from_dram: bool = False) -> int:
        """Cycles from issue of a bulk tensor copy until its barrier is seen complete [measured]."""
        table = self.dram_load if from_dram else self.l2_load
        for size, cycles in table:
            if box_bytes <= size:
                return cycles
        size, cycles = table[-1]
        return cycles + int((box_bytes - size) / self.l2_bytes_per_cycle)

    def entry_registers(self, threads: int) -> int:
        """Registers a thread has at entry of a kernel of that many threads [compiler]."""
        step = self.limits.setmaxnreg_step
        return self.limits.registers_per_sm // threads // step * step

    def register_split(self, consumers: int) -> tuple[int, int] | None:
        """``setmaxnreg`` of (producer, consumer) for one producer warpgroup [compiler].

        They share what the CTA got at entry; more would wait for ever. None: entry is enough.
        """
        step, low = self.limits.setmaxnreg_step, self.limits.setmaxnreg_low
        entry = self.entry_registers(128 * (consumers + 1))
        total = entry * (consumers + 1)
        consumer = min((total - low) // consumers // step * step, self.limits.setmaxnreg_high)
        if consumer <= entry:
            return None
        return (total - consumers * consumer) // step * step, consumer


def h200() -> HopperTarget:
    """The H200 SXM: 132 SMs, 141 GB of HBM3e."""
    return HopperTarget(name="h200", clock_hz=1.98e9, dram_bytes_per_s=4.8e12)


def h100() -> HopperTarget:
    """The H100 SXM: the same SMs; memory and L2 by the datasheet, latencies taken from the H200."""
    base = h200()
    return replace(
        base,
        name="h100",
        dram_bytes_per_s=3.35e12,
        limits=replace(base.limits, l2_bytes=50 * 1024 * 1024),
    )


def hopper_target(name: str) -> HopperTarget:
    """The target of that name."""
    known = {"h200": h200, "h100": h100}
    if name not in known:
        raise CostModelError(
            f"unknown Hopper target {name!r}", where="target", fix=f"known: {', '.join(known)}"
        )
    return known[name]()


def _check_n(n: int) -> None:
    if n % 8 or not 8 <= n <= 256:
        raise CostModelError(
            f"wgmma has no n = {n}", where="wgmma n", fix="a multiple of 8 between 8 and 256"
        )
