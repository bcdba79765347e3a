"""``GemmKernel``: a warp-specialised Hopper GEMM by its choices; all else is derived.

C[M, N] = epilogue(A[M, K] * B[N, K]^T). One producer warp copies tiles of A and B into a ring of
shared-memory stages, ``consumers`` warpgroups multiply them and store C.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from warploom.errors import GeometryError
from warploom.ir.tile import DType
from warploom.sync.mbarrier.plan import Release
from warploom.targets.h200 import HopperTarget, h200

ROW_BYTES = 128  # one row of a stage: a 128-byte swizzle atom is 8 rows of it
WGMMA_K_BYTES = 32
STAGING_BYTES = 8192  # 4 warps x 16 rows x 128 bytes, per copy and consumer
BARRIER_BYTES = 16
ALIGNMENT = 1024


class Dtype(StrEnum):
    """Element types. ``E4M3`` is an operand type only."""

    BF16 = "bf16"
    FP16 = "fp16"
    E4M3 = "e4m3"
    FP32 = "fp32"

    @property
    def bytes(self) -> int:
        """Bytes of one element."""
        return self.element.bits // 8

    @property
    def element(self) -> DType:
        """The same type as the tile language names it."""
        return DType(self.value.replace("fp", "f"))

    @classmethod
    def named(cls, element: DType) -> Dtype:
        """The type of an element type; ``ValueError`` where kernels have none."""
        return cls({"f16": "fp16", "f32": "fp32"}.get(element.value, element.value))


class Activation(StrEnum):
    """Applied to the result after scale and bias."""

    NONE = "none"
    RELU = "relu"
    GELU = "gelu"
    SILU = "silu"


class L2Hints(StrEnum):
    """Cache policy of the loads: none, or keep A's panel and let B stream by."""

    NONE = "none"
    KEEP_A = "keep_a"


@dataclass(frozen=True, slots=True, kw_only=True)
class Epilogue:
    """What happens to the accumulators before they are stored."""

    scale: bool = False
    bias: bool = False
    activation: Activation = Activation.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmKernel:
    """The choices of a Hopper GEMM. ``stages`` None: as many as shared memory holds.

    ``staging`` copies of a store chunk a consumer may have on their way out at once: with one for
    every chunk the stores of a tile run beside the next tile's products.
    ``cluster`` = (along M, along N): two CTAs along M share B by multicast, two along N share A.
    """

    tile_m: int = 128
    tile_n: int = 256
    dtype: Dtype = Dtype.BF16
    out: Dtype = Dtype.BF16
    consumers: int = 2
    cluster: tuple[int, int] = (1, 1)
    stages: int | None = None
    staging: int = 2
    hints: L2Hints = L2Hints.KEEP_A
    serpentine: bool = False
    release: Release = Release.WHEN_RETIRED
    epilogue: Epilogue = field(default_factory=Epilogue)

    def __post_init__(self) -> None:
        _check_tile(self)
        _check_cluster(self)
        target = h200()
        if self.stages is not None and not 1 <= self.stages <= self.stages_that_fit(target):
            raise GeometryError(
                f"{self.stages} stages do not fit",
                where=self.name,
                why=f"a stage takes {self.stage_bytes} bytes; {self.stages_that_fit(target)} fit",
                fix="stages=None takes as many as fit",
            )

    @property
    def name(self) -> str:
        """A name that tells schedules apart; operand type and epilogue do not change one."""
        cm, cn = self.cluster
        tags = [f"c{cm}x{cn}" if cm * cn > 1 else "", f"w{self.consumers}"]
        tags += [f"s{self.stages}" if self.stages else ""]
        tags += [f"o{self.staging}" if self.staging != 2 else ""]
        tags += ["fp32" if self.out is Dtype.FP32 else ""]
        tags += ["drain" if self.release is Release.SAME_ITERATION else ""]
        return "_".join([f"gemm_{self.tile_m}x{self.tile_n}", *(t for t in tags if t)])

    @property
    def block_k(self) -> int:
        """Elements of K in one stage."""
        return ROW_BYTES // self.dtype.bytes

    @property
    def k_steps(self) -> int:
        """Instructions along K in one stage."""
        return ROW_BYTES // WGMMA_K_BYTES

    @property
    def blocks_m(self) -> int:
        """64-row blocks of one consumer."""
        return self.tile_m // self.consumers // 64

    @property
    def a_bytes(self) -> int:
        """Bytes of A in one stage."""
        return self.tile_m * ROW_BYTES

    @property
    def b_bytes(self) -> int:
        """Bytes of B in one stage."""
        return self.tile_n * ROW_BYTES

    @property
    def stage_bytes(self) -> int:
        """Bytes of one stage."""
        return self.a_bytes + self.b_bytes

    @property
    def accumulators(self) -> int:
        """Accumulator registers of a consumer thread."""
        return self.blocks_m * self.tile_n // 2

    @property
    def threads(self) -> int:
        """Threads of the CTA: a producer warpgroup and the consumers."""
        return 128 * (self.consumers + 1)

    @property
    def chunk_columns(self) -> int:
        """Columns of C in one store: a 128-byte row of the output type."""
        return ROW_BYTES // self.out.bytes

    def chunks(self) -> tuple[tuple[int, int], ...]:
        """(64-row block, first column) of every store of a consumer, in order.

        When the width is no multiple of a chunk, the last one overlaps its neighbour and writes
        the same values again.
        """
        width = self.chunk_columns
        starts = [min(c, self.tile_n - width) for c in range(0, self.tile_n, width)]
        return tuple((i, c) for i in range(self.blocks_m) for c in starts)

    def stages_that_fit(self, target: HopperTarget) -> int:
        """How many stages shared memory holds beside the staging buffers."""
        staging = self.consumers * self.staging * STAGING_BYTES
        left = target.limits.smem_per_block - staging - ALIGNMENT
        return left // (self.stage_bytes + BARRIER_BYTES)

    def smem_bytes(self, depth: int) -> int:
        """Dynamic shared memory of the kernel with that many stages."""
        staging = self.consumers * self.staging * STAGING_BYTES
        return depth * (self.stage_bytes + BARRIER_BYTES) + staging + ALIGNMENT


def _check_tile(k: GemmKernel) -> None:
    def refuse(what: str, fix: str, why: str = "") -> None:
        raise GeometryError(what, where=f"GemmKernel {k.tile_m}x{k.tile_n}", why=why, fix=fix)

    if k.consumers not in (1, 2, 3):
        refuse(f"{k.consumers} consumer warpgroups", "1, 2 or 3")
    if k.tile_m % (64 * k.consumers) or not 64 <= k.tile_m <= 256:
        refuse(
            f"tile_m = {k.tile_m} is not a multiple of 64 rows for each of {k.consumers} consumers",
            f"a multiple of {64 * k.consumers} up to 256",
            "wgmma multiplies 64 rows",
        )
    if k.tile_n % 8 or not k.chunk_columns <= k.tile_n <= 256:
        refuse(f"tile_n = {k.tile_n}", f"a multiple of 8 between {k.chunk_columns} and 256")
    if k.out is Dtype.E4M3 or k.dtype is Dtype.FP32:
        refuse(f"{k.dtype} operands with {k.out} results", "operands bf16, fp16, e4m3; no e4m3 out")
    if not 1 <= k.staging <= 8:
        refuse(f"{k.staging} staging copies", "1 to 8")
    limit = 208 if k.consumers <= 2 else 96
    if k.accumulators > limit:
        refuse(
            f"{k.accumulators} accumulator registers a thread",
            f"at most {limit} with {k.consumers} consumers: a smaller tile_n or tile_m",
            "ptxas serialises the products and spills beyond that",
        )


def _check_cluster(k: GemmKernel) -> None:
    cm, cn = k.cluster
    if k.cluster not in ((1, 1), (2, 1), (1, 2)):
        raise GeometryError(
            f"cluster {k.cluster}",
            where="GemmKernel.cluster",
            why="larger clusters leave SMs idle: only 30 clusters of 4 CTAs fit on 132 SMs",
            fix="(1, 1), (2, 1) or (1, 2)",
        )
    if k.tile_n % (8 * cm) or k.tile_m % (8 * cn):
        raise GeometryError(
            f"tile {k.tile_m}x{k.tile_n} cannot be shared by a cluster {k.cluster}",
            where="GemmKernel",
            why="each CTA loads an equal part of whole 8-row swizzle atoms",
            fix="tile sides that are multiples of 16",
        )
