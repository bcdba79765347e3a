"""``GemmTile``: what one workgroup computes, and every number that follows from it.

Lane layout, the same for all rows: lane ``l`` holds row ``l % m`` of A (column of B) and the
``l // m``-th share of the K elements; both operands use one order of K, so the order inside a
register does not change the product. Accumulator register ``r`` of lane ``l`` is row
``8 * (r // 4) + 4 * (l // n) + r % 4`` (32x32) or ``4 * (l // n) + r`` (16x16), column ``l % n``.

C[M, N] (fp32) = A[M, K] x B[N, K]^T. The workgroup owns a ``block_m x block_n`` tile of C, its
waves stand in a ``waves_m x waves_n`` grid. A and B are cut into two sub-tiles of rows; a wave's
quadrant ``i`` of A is its share of sub-tile ``i``, so that the rows of one LDS slot are contiguous
rows of the matrix.
"""

from dataclasses import dataclass
from enum import Enum

from warploom.errors import GeometryError
from warploom.pipeline.amd_target.geometry import KernelGeometry
from warploom.targets.mi355x import LANES, mi355x


class ElementType(Enum):
    """Element type of A and B. C is always fp32."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return 1 if self is ElementType.FP8 else 2


def element_type(name: str) -> ElementType:
    """The element type of that name."""
    try:
        return ElementType(name)
    except ValueError:
        known = ", ".join(t.value for t in ElementType)
        raise GeometryError(
            f"no element type {name!r}", fix=f"known element types: {known}"
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mfma:
    """One matrix instruction.

    ``operand_ir`` is the LLVM type of an A or B operand, ``tail_ir`` the immediate operands that
    follow the accumulator, ``cycles`` how long it keeps the matrix unit of its SIMD busy.
    """

    element: ElementType
    m: int
    n: int
    k: int
    mnemonic: str
    intrinsic: str
    operand_ir: str
    tail_ir: str
    cycles: int

    @property
    def accumulator_registers(self) -> int:
        """fp32 registers of one accumulator tile, per lane."""
        return self.m * self.n // 64

    @property
    def operand_bytes(self) -> int:
        """Bytes of one A or B operand, per lane."""
        return self.m * self.k // 64 * self.element.size

    @property
    def flops(self) -> int:
        """Floating-point operations of one instruction, for the whole wave."""
        return 2 * self.m * self.n * self.k

    def accumulator_row(self, lane_group: int, register: int) -> int:
        """Row inside the tile of ``register`` in the lanes ``l // n == lane_group``."""
        if self.m == 32:
            return 8 * (register // 4) + 4 * lane_group + register % 4
        return 4 * lane_group + register


_IMM3 = "i32 0, i32 0, i32 0"
# The scaled form with both scales constant 0 selects the instruction without scales.
_UNSCALED = "i32 0, i32 0, i32 0, i32 0, i32 0, i32 0"


def _mfma(element: ElementType, m: int, k: int, name: str, ir: str) -> Mfma:
    fp8 = element is ElementType.FP8
    scale, kinds = (".scale", f"{name}.v8i32.v8i32") if fp8 else ("", name)
    return Mfma(
        element=element,
        m=m,
        n=m,
        k=k,
        mnemonic=f"v_mfma_f32_{m}x{m}x{k}_{name}",
        intrinsic=f"llvm.amdgcn.mfma{scale}.f32.{m}x{m}x{k}.{kinds}",
        operand_ir=f"<8 x {ir}>",
        tail_ir=_UNSCALED if fp8 else _IMM3,
        cycles=mi355x().mfma_cycles(m, m, k, element.value),
    )


MFMAS: tuple[Mfma, ...] = (
    _mfma(ElementType.BF16, 16, 32, "bf16", "bfloat"),
    _mfma(ElementType.BF16, 32, 16, "bf16", "bfloat"),
    _mfma(ElementType.FP16, 16, 32, "f16", "half"),
    _mfma(ElementType.FP16, 32, 16, "f16", "half"),
    _mfma(ElementType.FP8, 16, 128, "f8f6f4", "i32"),
    _mfma(ElementType.FP8, 32, 64, "f8f6f4", "i32"),
)


def find_mfma(element: ElementType, m: int, n: int, k: int) -> Mfma:
    """The instruction of that shape. Raises ``GeometryError`` naming the shapes there are."""
    for row in MFMAS:
        if (row.element, row.m, row.n, row.k) == (element, m, n, k):
            return row
    shapes = ", ".join(f"{r.m}x{r.n}x{r.k}" for r in MFMAS if r.element is element)
    raise GeometryError(
        f"gfx950 has no {element.value} matrix instruction of shape {m}x{n}x{k}",
        fix=f"use one of {shapes}",
    )


CHUNK = 16  # bytes one lane moves with one instruction
LDS_LIMIT = mi355x().lds_bytes
BANK_ROW = 128  # bytes over which the LDS banks repeat for 16-byte accesses


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """A (channel 0) or B (channel 1): its rows in the tile and in a wave."""

    channel: int
    rows: int
    waves: int
    mma_rows: int

    @property
    def name(self) -> str:
        """``a`` or ``b``."""
        return "ab"[self.channel]

    def tiles(self, subtiles: int) -> int:
        """MMA tiles along this operand that one wave has in one sub-tile."""
        return self.rows // subtiles // self.waves // self.mma_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmTile:
    """A workgroup's tile: block and MMA shape, element type, wave grid."""

    block_m: int
    block_n: int
    block_k: int
    mfma: Mfma
    waves_m: int
    waves_n: int

    @property
    def waves(self) -> int:
        """Waves of the workgroup."""
        return self.waves_m * self.waves_n

    @property
    def threads(self) -> int:
        """Work items of the workgroup."""
        return self.waves * LANES

    @property
    def element(self) -> ElementType:
        """Element type of A and B."""
        return self.mfma.element

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of a K-tile."""
        return self.block_k * self.element.size

    @property
    def chunks_per_row(self) -> int:
        """16-byte chunks of one row of a K-tile."""
        return self.row_bytes // CHUNK

    @property
    def rows_per_step(self) -> int:
        """Rows that one 16-byte load of every thread covers."""
        return self.threads // self.chunks_per_row

    @property
    def operands(self) -> tuple[Operand, Operand]:
        """A and B."""
        return (
            Operand(channel=0, rows=self.block_m, waves=self.waves_m, mma_rows=self.mfma.m),
            Operand(channel=1, rows=self.block_n, waves=self.waves_n, mma_rows=self.mfma.n),
        )

    @property
    def k_steps(self) -> int:
        """Matrix instructions along K in one K-tile."""
        return self.block_k // self.mfma.k

    @property
    def reads_per_operand(self) -> int:
        """16-byte LDS reads that fill one A or B operand of a matrix instruction."""
        return self.mfma.operand_bytes // CHUNK

    @property
    def swizzle(self) -> tuple[int, int]:
        """``(shift, mask)``: chunk ``c`` of row ``r`` lies at ``c ^ ((r >> shift) & mask)``."""
        shift = max(1, BANK_ROW // self.row_bytes).bit_length() - 1
        return shift, min(self.chunks_per_row, 8) - 1

    def loads(self, channel: int, subtiles: int) -> int:
        """16-byte loads a thread issues to fetch one sub-tile of an operand."""
        return -(-(self.operands[channel].rows // subtiles) // self.rows_per_step)

    def slot_bytes(self, channel: int, subtiles: int) -> int:
        """LDS bytes of one sub-tile of an operand, filled up to whole loads of all threads."""
        return self.loads(channel, subtiles) * self.rows_per_step * self.row_bytes

    def fragment_reads(self, channel: int, subtiles: int, k_steps: int) -> int:
        """16-byte LDS reads of one fragment load."""
        return self.operands[channel].tiles(subtiles) * k_steps * self.reads_per_operand

    def label(self) -> str:
        """E.g. ``256x256x64 bf16, mfma 16x16x32, 2x4 waves``."""
        m = self.mfma
        return (
            f"{self.block_m}x{self.block_n}x{self.block_k} {self.element.value}, "
            f"mfma {m.m}x{m.n}x{m.k}, {self.waves_m}x{self.waves_n} waves"
        )


def gemm_tile(
    block_m: int,
    block_n: int,
    block_k: int,
    element: ElementType,
    *,
    mma: tuple[int, int, int] | None = None,
    waves: tuple[int, int] = (2, 4),
) -> GemmTile:
    """A checked tile. ``mma`` defaults to the 16x16 instruction of the element type."""
    shape = mma or (16, 16, 128 if element is ElementType.FP8 else 32)
    tile = GemmTile(
        block_m=block_m,
        block_n=block_n,
        block_k=block_k,
        mfma=find_mfma(element, *shape),
        waves_m=waves[0],
        waves_n=waves[1],
    )
    _check(tile)
    return tile


def waves_per_simd(tile: GemmTile) -> int:
    """Waves of one workgroup on each of the four SIMDs of a compute unit."""
    return max(1, -(-tile.waves // mi355x().simds))


def tile_of_geometry(
    geometry: KernelGeometry, element: ElementType, waves: tuple[int, int]
) -> GemmTile:
    """The tile of a kernel geometry, which does not say bf16 or fp16 nor how the waves stand."""
    if geometry.elem_bytes != element.size:
        raise GeometryError(
            f"{element.value} has {element.size} byte(s) an element, the geometry "
            f"{geometry.elem_bytes}",
            fix="build the geometry with the element size of the type",
        )
    return gemm_tile(
        geometry.BM,
        geometry.BN,
        geometry.BK,
        element,
        mma=(geometry.MMA_M, geometry.MMA_N, geometry.MMA_K),
        waves=waves,
    )


def check_subtiles(tile: GemmTile, subtiles: tuple[int, int], stages: int) -> None:
    """Check that the tile can be cut into ``subtiles`` and held in LDS ``stages`` times."""
    for operand, parts in zip(tile.operands, subtiles, strict=True):
        unit = operand.waves * operand.mma_rows
        if operand.rows % (parts * unit):
            _refuse(
                tile,
                f"{operand.rows} rows of {operand.name.upper()} do not split into {parts} "
                f"sub-tile(s) of {unit} rows a step",
                f"make the rows a multiple of {parts * unit}",
            )
    need = stages * sum(n * tile.slot_bytes(c, n) for c, n in enumerate(subtiles))
    if need > LDS_LIMIT:
        _refuse(
            tile,
            f"{stages} stage(s) need {need} bytes of LDS, a workgroup has {LDS_LIMIT}",
            "shrink the block or BK",
        )


def _check(tile: GemmTile) -> None:
    if min(tile.block_m, tile.block_n, tile.block_k, tile.waves_m, tile.waves_n) < 1:
        _refuse(tile, "a size is below 1", "give positive sizes")
    if tile.waves > 16:
        _refuse(tile, f"{tile.waves} waves do not fit one workgroup", "use at most 16 waves")
    if tile.block_k % tile.mfma.k:
        _refuse(
            tile,
            f"BK {tile.block_k} is no multiple of the matrix instruction's K {tile.mfma.k}",
            f"use a multiple of {tile.mfma.k}",
        )
    if tile.row_bytes not in (64, 128, 256):
        _refuse(
            tile,
            f"a K-tile row of {tile.row_bytes} bytes has no swizzle here",
            f"choose BK so that a row is 64, 128 or 256 bytes ({64 // tile.element.size} to "
            f"{256 // tile.element.size} elements)",
        )
    if tile.threads % tile.chunks_per_row or tile.rows_per_step % 16:
        _refuse(
            tile,
            f"{tile.threads} threads cover {tile.threads / tile.chunks_per_row:g} rows a load",
            "one load of the workgroup must cover a multiple of 16 rows: use more waves",
        )


def _refuse(tile: GemmTile, what: str, fix: str) -> None:
    raise GeometryError(what, where=tile.label(), fix=fix)
