"""``AmdMachine``: what the lowering has to know of a chip. A chip is a value, not a branch.

gfx942 has neither the matrix instructions of K 32 for 16-bit types nor OCP fp8: its 8-bit floats
have another bias, so tensors of e4m3 and e5m2 are refused there.
"""

from dataclasses import dataclass

from warploom.ir.tile import DType
from warploom.targets.mi300x import mi300x
from warploom.targets.mi355x import mi355x

HALVES = {DType.BF16: ("bfloat", "bf16"), DType.F16: ("half", "f16")}
BYTES = {DType.E4M3: "fp8", DType.E5M2: "bf8"}
_LAST = "i32 0, i32 0, i32 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixInstruction:
    """One matrix instruction of 16 x 16: intrinsic, operand type, last arguments, K.

    A lane reads ``reads`` pieces of K from LDS for one operand. ``cast``: the type its bits have
    in the call, where it is not the type they are read as.
    """

    intrinsic: str
    operand: str
    last: str
    k: int
    reads: int = 1
    cast: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdMachine:
    """A chip: names, LDS of a workgroup, dies that share no L2, K of its matrix instructions."""

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
            element, name = HALVES[left]
            if self.half_k == 32:
                return MatrixInstruction(
                    intrinsic=f"llvm.amdgcn.mfma.f32.16x16x32.{name}",
                    operand=f"<8 x {element}>",
                    last=_LAST,
                    k=32,
                )
            short = "bf16.1k" if left is DType.BF16 else "f16"
            return MatrixInstruction(
                intrinsic=f"llvm.amdgcn.mfma.f32.16x16x16{short}",
                operand=f"<4 x {element}>",
                last=_LAST,
                k=16,
                cast="<4 x i16>" if left is DType.BF16 else "",
            )
        if not (left in BYTES and right in BYTES and self.byte_k):
            return None
        if k % 128 == 0 and 128 in self.byte_k:
            forms = (int(t is DType.E5M2) for t in (left, right))
            formats = ", ".join(f"i32 {f}" for f in forms)
            return MatrixInstruction(
                intrinsic="llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4.v8i32.v8i32",
                operand="<8 x i32>",
                last=f"{formats}, i32 0, i32 0, i32 0, i32 0",  # both scales 0: none
                k=128,
                reads=2,
            )
        names = f"{BYTES[left]}.{BYTES[right]}"
        return MatrixInstruction(
            intrinsic=f"llvm.amdgcn.mfma.f32.16x16x32.{names}", operand="i64", last=_LAST, k=32
        )


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
