"""The parameters of an emitted kernel, in order: what a launch has to fill in.

Sizes are those of named axes; strides count elements. Every parameter is at most 8 bytes except
tensor maps.
"""

from __future__ import annotations

from warploom.dataclass import dataclass
from warploom.ir.tile import DType

COUNTER_BYTES = 1 << 16  # counters of tiles and consumers, at the start of the work memory
WRAP, WRAP_STRIDE = 1 << 30, 1 << 34  # elements and bytes: together once around the addresses


@dataclass(frozen=True, slots=True, kw_only=True)
class MapParam:
    """A tensor map: box sizes by axis of the tensor (outermost first).

    ``span``: bytes of a row that are swizzled among themselves; 0 for vectors, which are not.
    ``bounded``: the axis whose end a copy names itself. ``stacked``: so many blocks of
    the innermost axis, each as wide as the box, land one after the other.
    """

    name: str
    tensor: str
    box: tuple[int, ...]
    dtype: DType
    span: int = 128
    bounded: int | None = None
    stacked: int = 0

    @property
    def text(self) -> str:
        """The declaration."""
        return f"const __grid_constant__ TensorMap {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PointerParam:
    """The address of a tensor."""

    name: str
    tensor: str
    dtype: DType
    written: bool = False

    @property
    def text(self) -> str:
        """The declaration."""
        return f"{'' if self.written else 'const '}{C_TYPES[self.dtype]}* {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrideParam:
    """The stride of a tensor's axis, in elements."""

    name: str
    tensor: str
    axis: int

    @property
    def text(self) -> str:
        """The declaration."""
        return f"long long {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeParam:
    """The size of a named axis."""

    name: str
    axis: str

    @property
    def text(self) -> str:
        """The declaration."""
        return f"int {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarParam:
    """A scalar of the call."""

    name: str
    parameter: str
    dtype: DType

    @property
    def text(self) -> str:
        """The declaration."""
        return f"{'int' if self.dtype is DType.I32 else 'float'} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkParam:
    """Memory in which parts of a split loop meet: counters that are 0, then what they leave."""

    name: str

    @property
    def text(self) -> str:
        """The declaration."""
        return f"uint8_t* {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderParam:
    """The list of tiles every CTA visits (``lower.visits``)."""

    name: str

    @property
    def text(self) -> str:
        """The declaration."""
        return f"const int* {self.name}"


Param = MapParam | PointerParam | StrideParam | SizeParam | ScalarParam | WorkParam | OrderParam

C_TYPES = {
    DType.F32: "float",
    DType.BF16: "uint16_t",
    DType.F16: "uint16_t",
    DType.E4M3: "uint8_t",
    DType.E5M2: "uint8_t",
    DType.I32: "int",
    DType.I8: "signed char",
    DType.BOOL: "uint8_t",
}
