"""``AmdMachine``: what the passes have to know of a CDNA chip. A chip is a value, not a branch.

gfx942 has neither the matrix instructions of K 32 for 16-bit types nor OCP fp8: its 8-bit floats
have another bias, so tensors of e4m3 and e5m2 are refused there.
"""

from dataclasses import dataclass

from warploom.ir.tile import DType
from warploom.ir.waves import Kind, MatrixOp, Word
from warploom.targets.mi300x import mi300x
from warploom.targets.mi355x import mi355x

HALVES = {DType.BF16: Word.BF16, DType.F16: Word.F16}
BYTES = (DType.E4M3, DType.E5M2)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixInstruction:
    """One matrix instruction of 16 x 16, the registers of an operand, and its K.

    A lane reads ``reads`` pieces of K from LDS for one operand. ``cast``: the type its bits have
    in the instruction, where it is not the type they are read as.
    """

    op: MatrixOp
    operand: Kind
    k: int
    reads: int = 1
    cast: Kind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdMachine:
    """A chip: names, LDS of a workgroup, dies (XCDs) without a common L2, K of its instructions."""

    name: str
    cpu: str
    lds_bytes: int
    dies: int
    half_k: int
    byte_k: tuple[int, ...]
    swaps: bool = False  # rows of lanes are exchanged by vector instructions
    wide_dma: bool = False  # 16 bytes a lane from memory into LDS

    def k_unit(self, dtype: DType, extent: int) -> int:
        """What a step of K is filled up to: the largest instruction that it fills anyway."""
        if dtype in BYTES and self.byte_k:
            return next((k for k in self.byte_k if extent >= k), self.byte_k[-1])
        return self.half_k

    def instruction(self, left: DType, right: DType, k: int) -> MatrixInstruction | None:
        """The instruction for two element types and a step that is a multiple of ``k_unit``."""
        if left is right and left in HALVES:
            k = self.half_k
            narrow = k == 16 and left is DType.BF16  # an older instruction takes whole numbers
            return MatrixInstruction(
                op=MatrixOp(k, left, right),
                operand=Kind(HALVES[left], k // 4),
                k=k,
                cast=Kind(Word.I16, 4) if narrow else None,
            )
        if not (left in BYTES and right in BYTES and self.byte_k):
            return None
        if k % 128 == 0 and 128 in self.byte_k:
            op = MatrixOp(128, left, right)
            return MatrixInstruction(op=op, operand=Kind(Word.I32, 8), k=128, reads=2)
        return MatrixInstruction(op=MatrixOp(32, left, right), operand=Kind(Word.I64), k=32)


MI355X = AmdMachine(
    name="mi355x",
    cpu="gfx950",
    lds_bytes=mi355x().lds_bytes,
    dies=8,
    half_k=32,
    byte_k=(128, 32),
    swaps=True,
    wide_dma=True,
)
MI300X = AmdMachine(
    name="mi300x", cpu="gfx942", lds_bytes=mi300x().lds_bytes, dies=8, half_k=16, byte_k=()
)
MACHINES = {m.name: m for m in (MI355X, MI300X)}
