"""The matrix instructions of gfx950 this back end knows: one row per element type and shape.

Lane layout, the same for all rows: lane ``l`` holds row ``l % m`` of A (column of B) and the
``l // m``-th share of the K elements; both operands use one order of K, so the order inside a
register does not change the product. Accumulator register ``r`` of lane ``l`` is row
``8 * (r // 4) + 4 * (l // n) + r % 4`` (32x32) or ``4 * (l // n) + r`` (16x16), column ``l % n``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from warploom.errors import GeometryError
from warploom.target.mi355x import mi355x


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


def _half(element: ElementType, ir: str, name: str, m: int, k: int) -> Mfma:
    return Mfma(
        element=element,
        m=m,
        n=m,
        k=k,
        mnemonic=f"v_mfma_f32_{m}x{m}x{k}_{name}",
        intrinsic=f"llvm.amdgcn.mfma.f32.{m}x{m}x{k}.{name}",
        operand_ir=f"<8 x {ir}>",
        tail_ir=_IMM3,
        cycles=mi355x().mfma_cycles(m, m, k, element.value),
    )


def _fp8(m: int, k: int) -> Mfma:
    return Mfma(
        element=ElementType.FP8,
        m=m,
        n=m,
        k=k,
        mnemonic=f"v_mfma_f32_{m}x{m}x{k}_f8f6f4",
        intrinsic=f"llvm.amdgcn.mfma.scale.f32.{m}x{m}x{k}.f8f6f4.v8i32.v8i32",
        operand_ir="<8 x i32>",
        tail_ir=_UNSCALED,
        cycles=mi355x().mfma_cycles(m, m, k, "fp8"),
    )


MFMAS: tuple[Mfma, ...] = (
    _half(ElementType.BF16, "bfloat", "bf16", 16, 32),
    _half(ElementType.BF16, "bfloat", "bf16", 32, 16),
    _half(ElementType.FP16, "half", "f16", 16, 32),
    _half(ElementType.FP16, "half", "f16", 32, 16),
    _fp8(16, 128),
    _fp8(32, 64),
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
