"""NVIDIA Hopper (H100, H200; sm_90a): what warp-specialised kernels cost there, and its limits.

Numbers are cycles, bytes and registers of one SM, each with its origin; ``warploom costs h200``
lists them. Measured ones come from an H200 (driver 580.159, CUDA 13.0, November 2026), most by
``bench/h200_micro.py``; the compiler's are those of nvcc and ptxas 13.0.88.

Dense kernels run at the board's power cap, so cycles alone do not rank them: ``EnergyModel`` holds
the second objective, joules per FLOP and per byte moved.

>>> h200().wgmma_interval(256)
128
>>> h200().load_latency(16384)
472
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.errors import CostModelError
from warploom.targets.figures import Origin, figure

WGMMA_ROWS = 64
ROOMY_REGISTERS = 200  # of a thread's register tiles: more must not all live at once
CLUSTER_PRODUCER = 40  # registers of a producer thread whose copies reach other CTAs
KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncCosts:
    """Hand-over costs in cycles."""

    mbarrier_arrive: int = figure(8, "cycles", Origin.MEASURED)
    step: int = figure(
        20, "cycles", Origin.MEASURED, "a fence, commit, arrival or wait for a group (h200_stamps)"
    )
    mbarrier_handoff: int = figure(156, "cycles", Origin.MEASURED, "until data are used; 93 bare")
    mbarrier_ask: int = figure(
        102, "cycles", Origin.MEASURED, "a wait for a complete barrier (h200_micro, turn)"
    )
    named_barrier_handoff: int = figure(43, "cycles", Origin.MEASURED)
    proxy_fence: int = figure(17, "cycles", Origin.MEASURED)
    tma_issue: int = figure(80, "cycles", Origin.MEASURED, "one bulk tensor copy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one CTA of one SM may use."""

    sms: int = figure(132, "", Origin.DOCUMENT)
    smem_per_block: int = figure(232_448, "bytes", Origin.DOCUMENT)
    registers_per_sm: int = figure(65_536, "", Origin.DOCUMENT)
    setmaxnreg_step: int = figure(8, "registers", Origin.COMPILER)
    setmaxnreg_low: int = figure(24, "registers", Origin.COMPILER)
    setmaxnreg_high: int = figure(240, "registers", Origin.COMPILER)
    l2_bytes: int = figure(60 * 1024 * 1024, "bytes", Origin.DOCUMENT)
    clusters: tuple[tuple[int, int], ...] = figure(
        ((1, 132), (2, 66), (4, 30)), "size, resident at once", Origin.MEASURED
    )

    def resident_clusters(self, size: int) -> int:
        """How many clusters of ``size`` CTAs run at once, one CTA an SM; never more than fit."""
        found = dict(self.clusters).get(size)
        if found is None:
            known = ", ".join(str(s) for s, _ in self.clusters)
            raise CostModelError(
                f"no figure for clusters of {size} CTAs", where="cluster", fix=f"known: {known}"
            )
        return min(found, self.sms // size)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRates:
    """Operations per cycle and SM of the ordinary units."""

    lanes: int = figure(128, "a cycle", Origin.DOCUMENT, "values of the ordinary pipes")
    ex2: float = figure(16.0, "a cycle", Origin.MEASURED)
    fma: float = figure(120.0, "a cycle", Origin.MEASURED)
    add: float = figure(124.0, "a cycle", Origin.MEASURED)
    max: float = figure(60.0, "a cycle", Origin.MEASURED)
    shuffle: float = figure(32.0, "a cycle", Origin.MEASURED)
    alu_beside: float = figure(
        1.9, "times as long", Origin.MEASURED, "maxima and sums while products run"
    )
    row_answer: int = figure(
        94, "cycles", Origin.MEASURED, "shuffles of row maxima (h200_micro: 128 for 64 columns)"
    )
    scaled_by_ones: int = figure(
        60,
        "cycles",
        Origin.MEASURED,
        "a vote and a branch instead of rescaling (stamps: 68 to 120)",
    )
    mufu_beside: float = figure(
        1.5,
        "times as long",
        Origin.FIT,
        "exponentials while products run, to 12 programs with clocks; 1.33 by themselves",
    )
    own_beside: float = figure(
        2.5, "times more", Origin.FIT, "a warpgroup's own products, to 47 attention programs"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyModel:
    """Joules: what sets the sustained rate of a kernel that runs at the power cap.

    Fitted to 104 sustained rates of 26 kernels on seven shapes in bf16 and fp8 (H200, November
    2026): 1.6 % rms within a shape; the share of cycles and the clock to 204 times with the clocks
    they were made at. The split between the terms is a fit, not a measurement;
    ``tests/kernels/test_choice.py`` holds the rates and repeats the comparison.
    """

    power_cap: float = figure(690.0, "W", Origin.MEASURED)
    idle_watts: float = figure(150.0, "W", Origin.FIT)
    capped_clock_hz: float = figure(1.49e9, "Hz", Origin.FIT)
    cycle_share: float = figure(0.68, "", Origin.FIT)
    joules_per_flop_bf16: float = figure(0.467e-12, "J", Origin.FIT)
    joules_per_flop_fp8: float = figure(0.284e-12, "J", Origin.FIT)
    joules_per_operand_byte: float = figure(8.7e-12, "J", Origin.FIT)
    joules_per_landed_byte: float = figure(20.0e-12, "J", Origin.FIT)
    joules_per_dram_byte: float = figure(68.0e-12, "J", Origin.FIT)

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
class TileModel:
    """What whole tiles take beyond their units' work.

    Fitted by ``bench/h200_gemm_model.py fit`` to the cycles of a sweep of tiles and to older rates;
    ``judge`` compares draws that nothing was fitted to.
    """

    tensor: float = figure(1.115, "of the products' own cycles", Origin.FIT, "in a full loop")
    refill: float = figure(1200.0, "cycles", Origin.FIT, "from the release of a slot to its data")
    slots_held: float = figure(0.5, "slots", Origin.FIT, "that neither land nor are read")
    slots_flying: float = figure(0.3, "slots", Origin.FIT, "more, where products stay in flight")
    between: int = figure(1200, "cycles", Origin.FIT, "from one tile's loop to the next one's")
    store: int = figure(550, "cycles", Origin.FIT, "a chunk that waits for its staging copy")
    convert: int = figure(220, "cycles", Origin.FIT, "one that finds a free copy, or needs none")
    in_turn: float = figure(0.72, "", Origin.FIT, "of what landed bytes cost, of tiles in turn")
    beside: int = figure(915, "cycles", Origin.FIT, "a chunk, beside another tile's products")
    fill: int = figure(1500, "cycles", Origin.FIT, "first loads of a launch")
    cluster: int = figure(3500, "cycles", Origin.FIT, "of a launch more, until CTAs have met")
    head: int = figure(700, "cycles", Origin.FIT, "first loads of a tile, where none come ahead")
    ends: float = figure(0.7, "iterations", Origin.ASSUMED, "a tile's ends, where tiles are listed")
    step_tail: int = figure(20, "cycles", Origin.ASSUMED, "until a step's last result is usable")
    fence: int = figure(40, "cycles", Origin.ASSUMED, "until writes are there for other units")
    shuffle_tail: int = figure(40, "cycles", Origin.ASSUMED, "more, where threads share a row")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryModel:
    """What memory beyond the SM takes, for whole launches (``bench/results/h200_few_tiles.md``)."""

    dram_share: float = figure(0.85, "", Origin.FIT, "of the datasheet's rate that is reached")
    dram_parts: float = figure(
        0.94, "", Origin.MEASURED, "of that, where parts of a loop read in several places at once"
    )
    sm_rate: float = figure(24.0, "bytes a cycle", Origin.FIT, "that an SM alone draws")
    l2_share: float = figure(
        0.55, "", Origin.ASSUMED, "of the L2 that rows visited together fill and still stay there"
    )
    band_bytes: int = figure(
        16 * 1024 * 1024, "bytes", Origin.MEASURED, "loop operands of tiles visited together"
    )
    across_lines: float = figure(
        2.1, "times as long", Origin.MEASURED, "rows that do not start with a line"
    )
    together: float = figure(
        80.0, "bytes a cycle", Origin.FIT, "landing, where CTAs fetch for one another; 69 alone"
    )
    short_rows: float = figure(1.1, "times as long", Origin.FIT, "copies of rows of one line")
    outside_row: float = figure(
        7.4, "cycles", Origin.MEASURED, "of the copy engine, 128 bytes of a row outside a tensor"
    )
    meet: float = figure(
        8000.0, "cycles", Origin.MEASURED, "parts of a split loop: writes, a counter, first reads"
    )
    near_rate: float = figure(25.0, "bytes a cycle", Origin.FIT, "sent to a CTA of the cluster")
    meet_rate: float = figure(25.0, "bytes a cycle", Origin.FIT, "of what they leave in the L2")


@dataclass(frozen=True, slots=True, kw_only=True)
class HopperTarget:
    """A Hopper part: costs, limits and clocks."""

    name: str
    clock_hz: float = figure(1.98e9, "Hz", Origin.DOCUMENT)
    dram_bytes_per_s: float = figure(4.8e12, "bytes a second", Origin.DOCUMENT)
    limits: Limits = Limits()
    sync: SyncCosts = SyncCosts()
    vector: VectorRates = VectorRates()
    energy: EnergyModel = EnergyModel()
    tiles: TileModel = TileModel()
    memory: MemoryModel = MemoryModel()
    l2_load: tuple[tuple[int, int], ...] = figure(
        ((1 * KIB, 345), (4 * KIB, 376), (8 * KIB, 404), (16 * KIB, 472), (32 * KIB, 622)),
        "bytes, cycles",
        Origin.MEASURED,
        "a bulk tensor copy until its barrier is seen complete",
    )
    dram_load: tuple[tuple[int, int], ...] = figure(
        ((1 * KIB, 970), (4 * KIB, 1170), (8 * KIB, 1260), (16 * KIB, 1360), (32 * KIB, 1470)),
        "bytes, cycles",
        Origin.MEASURED,
    )
    wgmma_queue: int = figure(
        7, "products", Origin.MEASURED, "unfinished ones an SM takes while others may be issued"
    )
    products_ahead: float = figure(
        7.2, "products", Origin.MEASURED, "before a group's end at which its last was issued"
    )
    tensor_drain: int = figure(62, "cycles", Origin.MEASURED, "after a group's last product")
    issue_part: float = figure(
        4.75,
        "times",
        Origin.MEASURED,
        "a product's cycles over its issue while the queue is not full",
    )
    least_issue: int = figure(10, "cycles", Origin.MEASURED, "of a product, at the least")
    smem_rate: int = figure(128, "bytes a cycle", Origin.MEASURED, "loads, stores and operands")
    a_in_registers: float = figure(
        3.3, "cycles a product", Origin.MEASURED, "more, where a warpgroup is alone on the unit"
    )
    l2_bytes_per_cycle: float = figure(
        64.0, "bytes a cycle", Origin.MEASURED, "landing, when several SMs read the same tiles"
    )

    def wgmma_interval(self, n: int, *, a_in_registers: bool = False) -> int:
        """Cycles between two m64nNk16 (k32 in fp8) instructions of an SM.

        The larger of the tensor cores' time and of the operand reads from shared memory: A (64
        rows) and B (n rows) of 32 bytes; A in registers drops its part.
        """
        if n % 8 or not 8 <= n <= 256:
            raise CostModelError(
                f"wgmma has no n = {n}", where="wgmma n", fix="a multiple of 8 between 8 and 256"
            )
        rows = n if a_in_registers else n + WGMMA_ROWS
        return max(n // 2, -(-rows * 32 // self.smem_rate))

    def product_issue(self, piece: int) -> int:
        """Cycles a warpgroup takes to issue a product of so many while the queue is not full."""
        return max(self.least_issue, round(piece / self.issue_part))

    def load_latency(self, box_bytes: int, *, from_dram: bool = False) -> int:
        """Cycles from issue of a bulk tensor copy until its barrier is seen complete."""
        table = self.dram_load if from_dram else self.l2_load
        for size, cycles in table:
            if box_bytes <= size:
                return cycles
        size, cycles = table[-1]
        return cycles + int((box_bytes - size) / self.l2_bytes_per_cycle)

    def shared_by(self, ctas: int) -> HopperTarget:
        """The chip as one of so many CTAs on an SM sees it."""
        limits = self.limits
        smem = (limits.smem_per_block + KIB) // ctas - KIB  # each with a KiB of the system
        registers = limits.registers_per_sm // ctas
        return replace(
            self, limits=replace(limits, smem_per_block=smem, registers_per_sm=registers)
        )

    def entry_registers(self, threads: int) -> int:
        """Registers a thread has at entry of a kernel of that many threads."""
        step = self.limits.setmaxnreg_step
        return self.limits.registers_per_sm // threads // step * step

    def register_split(
        self, consumers: int, *, cluster: bool = False, producer: int = 0
    ) -> tuple[int, int] | None:
        """``setmaxnreg`` of (producer, consumer) for one producer warpgroup.

        They share what the CTA got at entry; more would wait for ever. None: entry is enough. In a
        cluster the producer has more: it addresses other CTAs.
        ``producer``: so many at least, where its other warps have work.
        """
        step = self.limits.setmaxnreg_step
        low = CLUSTER_PRODUCER if cluster else self.limits.setmaxnreg_low
        low = max(low, producer)
        entry = self.entry_registers(128 * (consumers + 1))
        total = entry * (consumers + 1)
        consumer = min((total - low) // consumers // step * step, self.limits.setmaxnreg_high)
        if consumer <= entry:
            return None
        return (total - consumers * consumer) // step * step, consumer


def h200() -> HopperTarget:
    """The H200 SXM: 132 SMs, 141 GB of HBM3e."""
    return HopperTarget(name="h200")


def h100() -> HopperTarget:
    """The H100 SXM: the same SMs; memory and L2 by the datasheet, latencies taken from the H200."""
    base = h200()
    return replace(
        base,
        name="h100",
        dram_bytes_per_s=3.35e12,
        limits=replace(base.limits, l2_bytes=50 * 1024 * 1024),
    )


HOPPER: dict[str, Callable[[], HopperTarget]] = {"h200": h200, "h100": h100}
"""The parts that commands and ``compile(target=...)`` know by name."""
