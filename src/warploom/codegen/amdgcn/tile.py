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
from warploom.targets.mi355x import LANES, MICROSCALED, mi355x


class ElementType(Enum):
    """Element type of A and B. C is always fp32.

    The ``mx`` types are OCP's microscaling formats: every 32 elements along K share a scale, a
    power of two in a byte (e8m0), in a matrix of its own of K / 32 columns.
    """

    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    MXFP8 = "mxfp8"
    MXFP8_E5M2 = "mxfp8_e5m2"
    MXFP6 = "mxfp6"
    MXFP6_E3M2 = "mxfp6_e3m2"
    MXFP4 = "mxfp4"

    @property
    def bits(self) -> int:
        """Bits of one element."""
        return _ELEMENTS[self][0]

    @property
    def format(self) -> int:
        """Number of the format in an f8f6f4 instruction."""
        return _ELEMENTS[self][1]

    @property
    def scaled(self) -> bool:
        """Whether blocks of elements have scales."""
        return self.value.startswith("mx")

    @property
    def size(self) -> int:
        """Bytes of one element, of types of whole bytes."""
        return self.bits // 8

    def bytes_of(self, count: int) -> int:
        """Bytes of ``count`` packed elements."""
        return count * self.bits // 8


_ELEMENTS = {  # bits, number of the format
    ElementType.BF16: (16, 0),
    ElementType.FP16: (16, 0),
    ElementType.FP8: (8, 0),
    **{ElementType(name): (bits, at) for at, (name, bits) in enumerate(MICROSCALED.items())},
}
SCALE_BLOCK = 32  # elements along K that share a scale
SCALE_WORD = 4 * SCALE_BLOCK  # elements whose scales one lane moves at once: four bytes


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

    ``operand_ir`` is the LLVM type of an A or B operand, ``tail_ir`` the operands that follow the
    accumulator (with places for the scales of A and B, if it has some), ``cycles`` how long it
    keeps the matrix unit of its SIMD busy.
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
        return self.element.bytes_of(self.m * self.k // 64)

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
    small = element.bits <= 8
    count = element.bits if small else 8
    kinds = f"{name}.v{count}i32.v{count}i32" if small else name
    form = f"i32 {element.format}"
    scaled = f"{form}, {form}, i32 0, i32 {{scale_a}}, i32 0, i32 {{scale_b}}"
    return Mfma(
        element=element,
        m=m,
        n=m,
        k=k,
        mnemonic=f"v_mfma_{'scale_' if element.scaled else ''}f32_{m}x{m}x{k}_{name}",
        intrinsic=f"llvm.amdgcn.mfma{'.scale' if small else ''}.f32.{m}x{m}x{k}.{kinds}",
        operand_ir=f"<{count} x {ir}>",
        tail_ir=scaled if element.scaled else _UNSCALED if small else _IMM3,
        cycles=mi355x().mfma_cycles(m, m, k, element.value),
    )


MFMAS: tuple[Mfma, ...] = (
    _mfma(ElementType.BF16, 16, 32, "bf16", "bfloat"),
    _mfma(ElementType.BF16, 32, 16, "bf16", "bfloat"),
    _mfma(ElementType.FP16, 16, 32, "f16", "half"),
    _mfma(ElementType.FP16, 32, 16, "f16", "half"),
    *(
        _mfma(element, m, k, "f8f6f4", "i32")
        for element in ElementType
        if element.bits <= 8
        for m, k in ((16, 128), (32, 64))
    ),
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
        return self.element.bytes_of(self.block_k)

    @property
    def lds_row_bytes(self) -> int:
        """Bytes of such a row in LDS: a power of two, so that rows of 6-bit elements have a gap."""
        return 1 << (self.row_bytes - 1).bit_length()

    @property
    def chunks_per_row(self) -> int:
        """16-byte chunks of one row of a K-tile in LDS."""
        return self.lds_row_bytes // CHUNK

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
    def read_bytes(self) -> int:
        """Bytes of one LDS read of a lane; a block of 6-bit elements is no whole number of 16."""
        return CHUNK if self.mfma.operand_bytes % CHUNK == 0 else CHUNK // 2

    @property
    def reads_per_operand(self) -> int:
        """LDS reads that fill one A or B operand of a matrix instruction."""
        return self.mfma.operand_bytes // self.read_bytes

    @property
    def scale_words(self) -> int:
        """Dwords of scales of one row of a K-tile; 0 without scales."""
        return self.block_k // SCALE_WORD if self.element.scaled else 0

    @property
    def swizzle(self) -> tuple[int, int]:
        """``(shift, mask)``: chunk ``c`` of row ``r`` lies at ``c ^ ((r >> shift) & mask)``."""
        shift = max(1, BANK_ROW // self.lds_row_bytes).bit_length() - 1
        return shift, min(self.chunks_per_row, 8) - 1

    def loads(self, channel: int, subtiles: int) -> int:
        """16-byte loads a thread issues to fetch one sub-tile of an operand."""
        return -(-(self.operands[channel].rows // subtiles) // self.rows_per_step)

    def slot_bytes(self, channel: int, subtiles: int) -> int:
        """LDS bytes of one sub-tile of an operand, filled up to whole loads of all threads."""
        return self.loads(channel, subtiles) * self.rows_per_step * self.lds_row_bytes

    def scale_loads(self, channel: int, subtiles: int) -> int:
        """4-byte loads a thread issues to fetch the scales of one sub-tile."""
        return -(-(self.operands[channel].rows // subtiles * self.scale_words) // self.threads)

    def scale_slot_bytes(self, channel: int, subtiles: int) -> int:
        """LDS bytes of the scales of one sub-tile."""
        return self.scale_loads(channel, subtiles) * self.threads * 4

    def data_reads(self, channel: int, subtiles: int, k_steps: int) -> int:
        """LDS reads of the elements of one fragment load."""
        return self.operands[channel].tiles(subtiles) * k_steps * self.reads_per_operand

    def scale_reads(self, channel: int, subtiles: int, k_steps: int) -> int:
        """LDS reads of the scales of one fragment load."""
        return self.operands[channel].tiles(subtiles) * k_steps * self.element.scaled

    def fragment_registers(self, channel: int, subtiles: int, k_steps: int) -> int:
        """Registers that one fragment load fills."""
        reads = self.data_reads(channel, subtiles, k_steps) * self.read_bytes // 4
        return reads + self.scale_reads(channel, subtiles, k_steps)

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
    shape = mma or (16, 16, 128 if element.bits <= 8 else 32)
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
    """The tile of a kernel geometry, which does not say how the waves stand."""
    if geometry.element or element.scaled:
        if geometry.element != element.value:
            raise GeometryError(
                f"the geometry is of {geometry.element or 'plain elements'}, not {element.value}",
                fix=f"KernelGeometry.microscaled({element.value!r}, ...)",
            )
        shape = geometry.shape
        return gemm_tile(*shape.tile, element, mma=shape.mma, waves=waves)
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
    need = stages * sum(
        n * (tile.slot_bytes(c, n) + tile.scale_slot_bytes(c, n)) for c, n in enumerate(subtiles)
    )
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
    if tile.element.scaled and tile.block_k % SCALE_WORD:
        _refuse(
            tile,
            f"BK {tile.block_k} is no multiple of {SCALE_WORD}",
            f"a lane moves the scales of {SCALE_WORD} elements: use a multiple of {SCALE_WORD}",
        )
    if tile.lds_row_bytes not in (64, 128, 256):
        _refuse(
            tile,
            f"a K-tile row of {tile.row_bytes} bytes has no swizzle here",
            f"choose BK so that a row is 64, 128 or 256 bytes ({512 // tile.element.bits} to "
            f"{2048 // tile.element.bits} elements)",
        )
    if tile.threads % tile.chunks_per_row or tile.rows_per_step % 16:
        _refuse(
            tile,
            f"{tile.threads} threads cover {tile.threads / tile.chunks_per_row:g} rows a load",
            "one load of the workgroup must cover a multiple of 16 rows: use more waves",
        )


def _refuse(tile: GemmTile, what: str, fix: str) -> None:
    raise GeometryError(what, where=tile.label(), fix=fix)
