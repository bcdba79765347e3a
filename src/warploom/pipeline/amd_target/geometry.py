"""``KernelGeometry``: tile and MMA shape, and their counter units, which have one source.

A wave has 64 lanes and moves 16 bytes a lane; the counts below are how many such transactions
one load of a half tile (vm) and one fragment quadrant (lgkm) take.
"""

from __future__ import annotations

from collections.abc import Container

from warploom.dataclass import dataclass
from warploom.errors import ConfigError, GeometryError
from warploom.ir.counter_dialect import KernelShape
from warploom.ir.validation import boolean, check_fields, instance, integer
from warploom.pipeline.amd_target.cost import mi355x_target
from warploom.pipeline.config.target import TargetProfile
from warploom.targets.mi355x import MICROSCALED

_STATED_ELSEWHERE = dict.fromkeys(("lgkm_per_load_a", "lgkm_per_load_b"), (0, None))
WAVE_LANES = 64
LDS_BYTES = 160 * 1024
PLAIN = {"bf16": 16, "fp16": 16, "fp8": 8}
"""Bits of an element of the types without scales."""
_SCALED = 128  # elements whose scales one lane loads at once, four bytes


@dataclass(frozen=True, slots=True)
class KernelGeometry:
    """Constants of one kernel shape. Build it with ``four_wave``, ``ping_pong``, ``microscaled``.

    ``lgkm_per_load_a/b`` of 0 mean that the schedule's configuration states them. ``element`` names
    the type, where it is known; of a microscaling type sizes along K are bytes.
    """

    BM: int
    BN: int
    BK: int
    MMA_M: int
    MMA_N: int
    MMA_K: int
    elem_bytes: int
    simd_width: int
    is_fp8: bool
    vm_per_load_a: int
    vm_per_load_b: int
    lgkm_per_load_a: int
    lgkm_per_load_b: int
    element: str = ""

    def __post_init__(self) -> None:
        check_fields(self, least=1, bounds=_STATED_ELSEWHERE, error=GeometryError)
        where = f"tile {self.tile}, MMA {self.mma}, {self.elem_bytes} bytes an element"
        _require(
            self.simd_width * self.elem_bytes == 16,
            f"simd_width = {self.simd_width} elements of elem_bytes = {self.elem_bytes} are no "
            "16-byte transaction",
            where,
        )
        if self.element and self.element not in MICROSCALED:
            bits = PLAIN.get(self.element)
            _require(bits is not None, f"no element type {self.element!r}", where)
            same = bits == 8 * self.elem_bytes and self.is_fp8 == (self.element == "fp8")
            _require(same, f"element = {self.element!r} has other bytes", where)
        for size, part in (("BM", "MMA_M"), ("BN", "MMA_N"), ("BK", "MMA_K")):
            whole, one = getattr(self, size), getattr(self, part)
            _require(whole % one == 0, f"{size} = {whole} is no multiple of {part} = {one}", where)
        _check_lds(self.tile, self.elem_bytes, 2, where)

    @property
    def tile(self) -> tuple[int, int, int]:
        """(BM, BN, BK)."""
        return self.BM, self.BN, self.BK

    @property
    def mma(self) -> tuple[int, int, int]:
        """(MMA_M, MMA_N, MMA_K)."""
        return self.MMA_M, self.MMA_N, self.MMA_K

    @property
    def shape(self) -> KernelShape:
        """Tile, matrix instruction and element type, as documents carry them."""
        if self.element in MICROSCALED:
            m, n, k, mm, mn, mk = *self.tile, *self.mma
            k, mk = (8 * size // MICROSCALED[self.element] for size in (k, mk))
            return KernelShape(tile=(m, n, k), mma=(mm, mn, mk), dtype=self.element)
        dtype = self.element or ("fp8" if self.is_fp8 else f"{8 * self.elem_bytes}-bit")
        return KernelShape(tile=self.tile, mma=self.mma, dtype=dtype)

    @property
    def vm_per_load(self) -> tuple[int, int]:
        """vmcnt units of a load, per channel."""
        return self.vm_per_load_a, self.vm_per_load_b

    @property
    def lgkm_per_load(self) -> tuple[int, int]:
        """lgkmcnt units of a fragment load, per channel; 0 where the geometry states none."""
        return self.lgkm_per_load_a, self.lgkm_per_load_b

    def require_depth(self, depth: int) -> None:
        """Refuse a ring of more buffers than the shared memory holds."""
        _check_lds(self.tile, self.elem_bytes, depth, f"tile {self.tile}, depth {depth}")

    @classmethod
    def four_wave(
        cls,
        tile: tuple[int, int, int],
        mma: tuple[int, int, int] = (16, 16, 32),
        *,
        elem_bytes: int = 2,
        is_fp8: bool = False,
        element: str = "",
    ) -> KernelGeometry:
        """Geometry of the 4-wave kernel: four waves in a 2x2 grid over the tile.

        A last load step that covers only a part of the rows still counts: lanes are masked.
        ``element``: "bf16", "fp16" or "fp8", where documents should say which.
        """
        shape = _Shape.of(tile, mma, elem_bytes, is_fp8, waves=4)
        vm = _ceil(tile[0] // 2, shape.rows), _ceil(tile[1] // 2, shape.rows)
        return shape.geometry((tile[0] // 2, tile[1] // 2), vm, element)

    @classmethod
    def ping_pong(
        cls,
        tile: tuple[int, int, int],
        mma: tuple[int, int, int] = (16, 16, 32),
        *,
        wave_n: int | None = None,
        elem_bytes: int = 2,
        is_fp8: bool = False,
        element: str = "",
    ) -> KernelGeometry:
        """Geometry of the ping-pong kernel: eight waves, two along M, ``wave_n`` columns each.

        Its loads have no masked lanes, so half a tile must be a whole number of load steps.
        ``element`` as for ``four_wave``.
        """
        if wave_n is not None:
            integer(wave_n, "wave_n", "KernelGeometry.ping_pong", least=1, error=GeometryError)
        shape = _Shape.of(tile, mma, elem_bytes, is_fp8, waves=8)
        wm, wn = tile[0] // 2, tile[1] // 4 if wave_n is None else wave_n
        if wn <= 0 or tile[1] % wn or tile[1] // wn != 4:
            raise GeometryError(
                f"wave_n = {wn} does not give four waves along N",
                where=f"tile {tile}",
                why="the ping-pong kernel has eight waves, two of them along M",
                fix=f"wave_n = {tile[1] // 4}",
            )
        for name, half in (("vm_per_load_a", wm), ("vm_per_load_b", tile[1] // 2)):
            _require(
                half < shape.rows or half % shape.rows == 0,
                f"{name} would be {half / shape.rows:g}: half a tile of {half} rows is no whole "
                f"number of load steps of {shape.rows} rows",
                f"tile {tile}",
            )
        vm = wm // shape.rows, (tile[1] // 2) // shape.rows
        return shape.geometry((wm, wn), vm, element)

    @classmethod
    def microscaled(
        cls,
        element: str,
        tile: tuple[int, int, int],
        mma: tuple[int, int, int] = (16, 16, 128),
        *,
        waves: tuple[int, int] = (2, 2),
    ) -> KernelGeometry:
        """Geometry of a product of microscaling types, such as ``"mxfp4"``; four or eight waves.

        A load fetches a sub-tile and the scales of its rows, a fragment load reads elements and a
        scale a lane for each matrix instruction.
        """
        if element not in MICROSCALED:
            raise GeometryError(
                f"no microscaling type {element!r}", fix=f"one of {', '.join(MICROSCALED)}"
            )
        _check_triple(tile, "tile")
        _check_triple(mma, "mma")
        _check_triple((*waves, 1), "waves")
        bits, where = MICROSCALED[element], f"tile {tile}, MMA {mma}, {element}"
        _require(tile[2] % _SCALED == 0, f"BK must be a multiple of {_SCALED}", where)
        _require(tile[2] % mma[2] == 0, f"BK must be a multiple of MMA_K = {mma[2]}", where)
        row = tile[2] * bits // 8
        chunks = max(1, (1 << (row - 1).bit_length()) // 16)  # rows of 6 bits have a gap in LDS
        threads = waves[0] * waves[1] * WAVE_LANES
        held = mma[0] * mma[2] // WAVE_LANES * bits // 8
        reads = held // (16 if held % 16 == 0 else 8) + 1
        vm, lgkm = [], []
        for rows, size, count in zip(tile[:2], mma[:2], waves, strict=True):
            half = rows // 2
            _require(
                rows % (2 * size * count) == 0,
                f"{rows} rows are no even number of MMAs of {size} for {count} waves",
                where,
            )
            vm.append(_ceil(half, threads // chunks) + _ceil(half * (tile[2] // _SCALED), threads))
            lgkm.append(half // count // size * (tile[2] // mma[2]) * reads)
        return cls(
            BM=tile[0],
            BN=tile[1],
            BK=row,
            MMA_M=mma[0],
            MMA_N=mma[1],
            MMA_K=mma[2] * bits // 8,
            elem_bytes=1,
            simd_width=16,
            is_fp8=True,
            vm_per_load_a=vm[0],
            vm_per_load_b=vm[1],
            lgkm_per_load_a=lgkm[0],
            lgkm_per_load_b=lgkm[1],
            element=element,
        )

    def max_globals(self, *, wave: tuple[int, int] | None = None) -> int:
        """Global loads per block both shipped kernels ask for: 0 (no cap) for small tiles."""
        wm, wn = wave or (self.BM // 2, self.BN // 2)
        num_k = self.BK // self.MMA_K
        quadrants = (wm // self.MMA_M // 2) * (wn // self.MMA_N // 2)
        return 0 if num_k * quadrants < 8 else derive_safe_max_globals(num_k)


def derive_safe_max_globals(num_k_mmas: int) -> int:
    """1 if a block's MMAs outlast an LDS write (two or more k-steps), else 0 (no cap)."""
    integer(num_k_mmas, "num_k_mmas", "derive_safe_max_globals", least=0)
    return 1 if num_k_mmas >= 2 else 0


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True, slots=True)
class _Shape:
    """Validated tile and MMA shape with the transaction sizes common to both kernels."""

    tile: tuple[int, int, int]
    mma: tuple[int, int, int]
    elem_bytes: int
    is_fp8: bool
    simd_width: int
    rows: int  # tile rows that all waves together load in one step
    reads_per_mma: int  # LDS reads per MMA operand

    @classmethod
    def of(
        cls,
        tile: tuple[int, int, int],
        mma: tuple[int, int, int],
        elem_bytes: int,
        is_fp8: bool,
        waves: int,
    ) -> _Shape:
        _check_triple(tile, "tile")
        _check_triple(mma, "mma")
        boolean(is_fp8, "is_fp8", "KernelGeometry", error=GeometryError)
        integer(elem_bytes, "elem_bytes", "KernelGeometry", least=1, error=GeometryError)
        where = f"tile {tile}, MMA {mma}, {elem_bytes} bytes an element"
        if elem_bytes not in (1, 2, 4, 8, 16):
            raise GeometryError(
                f"elem_bytes = {elem_bytes} does not divide a 16-byte transaction",
                where=where,
                fix="1, 2, 4, 8 or 16 bytes an element",
            )
        simd_width = 16 // elem_bytes
        _require(tile[2] % simd_width == 0, f"BK must be a multiple of {simd_width}", where)
        _require(tile[2] % mma[2] == 0, f"BK must be a multiple of MMA_K = {mma[2]}", where)
        _check_lds(tile, elem_bytes, 2, where)
        frag_w = mma[0] * mma[2] // WAVE_LANES
        _require(frag_w >= 1, "an MMA operand must give every lane an element", where)
        lds_w = 16 if is_fp8 and mma[0] == 16 and mma[2] == 128 else frag_w
        _require(frag_w // lds_w >= 1, "an LDS read must not be wider than the fragment", where)
        rows = waves * WAVE_LANES // (tile[2] // simd_width)
        _require(rows >= 1, "BK is too long for one load step of all waves", where)
        return cls(
            tile=tile,
            mma=mma,
            elem_bytes=elem_bytes,
            is_fp8=is_fp8,
            simd_width=simd_width,
            rows=rows,
            reads_per_mma=(frag_w // lds_w) * _ceil(lds_w * elem_bytes, 16),
        )

    def geometry(self, wave: tuple[int, int], vm: tuple[int, int], element: str) -> KernelGeometry:
        where = f"tile {self.tile}, MMA {self.mma}, wave tile {wave}"
        num_k = self.tile[2] // self.mma[2]
        quadrants = []
        for axis, (part, size) in enumerate(zip(wave, self.mma[:2], strict=True)):
            tiles = part // size
            _require(
                self.tile[axis] % 2 == 0 and part % size == 0 and tiles >= 2 and tiles % 2 == 0,
                f"a wave covers {part} of {'MN'[axis]}, which is not an even number of MMAs "
                f"of {size}",
                where,
            )
            quadrants.append(tiles // 2)
        for name, value in zip(("vm_per_load_a", "vm_per_load_b"), vm, strict=True):
            _require(
                value >= 1,
                f"{name} would be 0: half a tile is smaller than one load step of "
                f"{self.rows} rows, so nothing would be loaded",
                where,
            )
        return KernelGeometry(
            *self.tile,
            *self.mma,
            self.elem_bytes,
            self.simd_width,
            self.is_fp8,
            vm[0],
            vm[1],
            quadrants[0] * num_k * self.reads_per_mma,
            quadrants[1] * num_k * self.reads_per_mma,
            element,
        )


def _check_triple(value: object, name: str) -> None:
    owner = "KernelGeometry"
    instance(value, (tuple, list), name, owner, error=GeometryError)
    assert isinstance(value, tuple | list)
    _require(len(value) == 3, f"{name} = {value!r} is not three sizes (m, n, k)", owner)
    for i, size in enumerate(value):
        integer(size, f"{name}[{i}]", owner, least=1, error=GeometryError)


def _check_lds(tile: tuple[int, int, int], elem_bytes: int, depth: int, where: str) -> None:
    lds = depth * (tile[0] + tile[1]) * tile[2] * elem_bytes
    _require(
        lds <= LDS_BYTES,
        f"{depth} buffers need {lds} bytes of LDS, the chip has {LDS_BYTES}",
        where,
    )


def _require(condition: bool, what: str, where: str) -> None:
    if not condition:
        raise GeometryError(what, where=where, fix="choose another tile or MMA shape")


def agreeing_target(
    owner: str, geometry: KernelGeometry, target: TargetProfile | None, max_globals: int
) -> TargetProfile:
    """The given target if its units are the geometry's, else the chip's with these units."""
    if target is None:
        return mi355x_target(*geometry.vm_per_load, max_globals)
    pipeline = target.pipeline
    for name in ("vm_per_load_a", "vm_per_load_b"):
        _agree(owner, name, getattr(geometry, name), getattr(pipeline, name), geometry)
    for name in ("lgkm_per_load_a", "lgkm_per_load_b"):
        if getattr(pipeline, name) and getattr(geometry, name):
            _agree(owner, name, getattr(geometry, name), getattr(pipeline, name), geometry)
    return target


def agreeing_units(
    owner: str,
    geometry: KernelGeometry,
    is_fp8: bool,
    lgkm: tuple[int, int],
    stated: Container[str],
) -> tuple[bool, tuple[int, int]]:
    """Element type and lgkm units of the geometry, refused where an argument says otherwise."""
    if (is_fp8 or "is_fp8" in stated) and is_fp8 != geometry.is_fp8:
        _agree(owner, "is_fp8", geometry.is_fp8, is_fp8, geometry)
    for name, given, own in zip(("lgkm_a", "lgkm_b"), lgkm, geometry.lgkm_per_load, strict=True):
        if given and own:
            _agree(owner, name, own, given, geometry)
    return geometry.is_fp8, (
        geometry.lgkm_per_load_a or lgkm[0],
        geometry.lgkm_per_load_b or lgkm[1],
    )


def _agree(owner: str, name: str, own: object, given: object, geometry: KernelGeometry) -> None:
    if own == given:
        return
    raise ConfigError(
        f"{name} = {given}, but the geometry has {own}",
        where=f"{owner}.{name}",
        why=f"waits for the tile {geometry.tile} are proven in the units its loads really take",
        fix=f"{name} = {own}, or leave it to the geometry",
    )
