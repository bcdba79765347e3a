"""Types, tensors, variables and shapes: what the ops of a kernel speak of."""

from dataclasses import fields, is_dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import PurePath
from typing import TypeVar

from warploom.dataclass import dataclass
from warploom.errors import KernelError
from warploom.ir.elementwise import Fn as Fn  # noqa: PLC0414 (a name of this module, too)

BLOCK_ROWS, BLOCK_COLUMNS = 16, 8  # of tensors in blocks
T = TypeVar("T")

SYNONYMS = {
    **dict.fromkeys(("fp32", "float32", "float"), "f32"),
    **dict.fromkeys(("bfloat16",), "bf16"),
    **dict.fromkeys(("fp16", "float16", "half"), "f16"),
    **dict.fromkeys(("fp8", "fp8e4m3", "float8_e4m3fn", "e4m3fn"), "e4m3"),
    **dict.fromkeys(("fp8e5m2", "float8_e5m2"), "e5m2"),
    **dict.fromkeys(("int32", "s32"), "i32"),
    **dict.fromkeys(("int8", "s8"), "i8"),
    **dict.fromkeys(("int4", "s4"), "i4"),
    **dict.fromkeys(("uint32",), "u32"),
    **dict.fromkeys(("uint8",), "u8"),
}
"""Other usual names of element types."""


class DType(StrEnum):
    """Element types; products accumulate in ``F32``.

    ``U32``, ``U8`` and ``BOOL`` are types of tensors as an author declares them. In tensors of a
    kernel stand types of the same bits (see ``stored``); values are signed, or conditions.
    """

    F32 = "f32"
    BF16 = "bf16"
    F16 = "f16"
    E4M3 = "e4m3"
    E5M2 = "e5m2"
    I32 = "i32"
    I8 = "i8"
    I4 = "i4"
    U32 = "u32"
    U8 = "u8"
    BOOL = "bool"

    bits: int
    """Bits of one element in memory."""

    @classmethod
    def _missing_(cls, value: object) -> "DType | None":
        """The type under another of its usual names: ``float32``, ``fp16``, ``fp8``."""
        name = SYNONYMS.get(value.lower()) if isinstance(value, str) else None
        return None if name is None else cls(name)

    def __init__(self, name: str) -> None:
        self.bits = {"f32": 32, "i32": 32, "u32": 32, "bf16": 16, "f16": 16, "i4": 4}.get(name, 8)

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.value in {"f32", "bf16", "f16", "e4m3", "e5m2"}

    @property
    def is_unsigned(self) -> bool:
        """Whether it is a type of whole numbers without sign."""
        return self in (DType.U32, DType.U8)

    @property
    def stored(self) -> "DType":
        """The type that tensors of a kernel have in its place: one of the same bytes."""
        return {DType.U32: DType.I32, DType.U8: DType.I8, DType.BOOL: DType.I8}.get(self, self)


class Access(StrEnum):
    """What a kernel does with a tensor. ``STARTS``: offsets of groups, one more than groups.
    ``TURNS``: zeros before a launch, in which tiles count who has added to rows of these axes.
    """

    IN = "in"
    OUT = "out"
    STARTS = "starts"
    TURNS = "turns"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A place in the author's source."""

    file: str
    number: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"

    def __repr__(self) -> str:  # without the folder: what is kept for a kernel can be moved
        return f"Line({self.place} {self.text!r})"

    @property
    def place(self) -> str:
        """File and number without the folder, as documents and modules name it."""
        return f"{PurePath(self.file).name}:{self.number}"


def short(line: Line | None) -> Line | None:
    """A line without the folder of its file: modules do not name places of a machine."""
    return None if line is None else replace(line, file=PurePath(line.file).name)


def relative(value: T) -> T:
    """A value with every line in it relative to the author's file."""
    if isinstance(value, Line):
        return short(value)  # type: ignore[return-value]
    if isinstance(value, tuple):
        return tuple(relative(v) for v in value)  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: relative(getattr(value, f.name)) for f in fields(value)}
        return replace(value, **changed)
    return value


def refusal(what: str, line: Line | None, *, why: str = "", fix: str = "") -> KernelError:
    """An error at the author's line."""
    where = f"{line}: {line.text.strip()}" if line is not None and line.text else str(line or "")
    return KernelError(what, where=where, why=why, fix=fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A tensor axis: ``k``, or ``k/128`` with one element for 128 of k. ``size``: where known."""

    name: str
    per: int = 1
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor of the call. Strides are the caller's; the innermost is 1.

    ``blocked``: its last two axes lie in blocks of 16 rows and 8 columns, as the threads of a warp
    hold accumulators, so that a thread's four elements of a block are neighbours. Rows are rounded
    up to whole blocks.

    ``captured``: by a function given to the kernel; any index may stand for any of its axes.
    """

    name: str
    axes: tuple[Axis, ...]
    dtype: DType
    access: Access = Access.IN
    optional: bool = False
    blocked: bool = False
    captured: bool = False

    def axis(self, name: str) -> Axis:
        """The axis of that name."""
        return next(a for a in self.axes if a.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A scalar given with every call (``scale: float``)."""

    name: str
    dtype: DType


class Walk(StrEnum):
    """How a variable walks its axis."""

    UNIT = "unit"
    TILE = "tile"
    STEP = "step"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class Var:
    """A variable over the axis ``axis``. ``extent``: elements at a time, where the text says so
    (1 for units, the size of whole axes, the second argument of ``steps``).
    """

    name: str
    axis: str
    walk: Walk
    extent: int | None = None


def is_number(var: Var) -> bool:
    """Whether a variable stands for one element at a time: a unit, or a step of one."""
    return var.walk is Walk.UNIT or (var.walk is Walk.STEP and var.extent == 1)


@dataclass(frozen=True, slots=True)
class Dim:
    """One axis of a value's shape: a variable, by ``per`` elements of it each (block scales)."""

    var: str
    per: int = 1


@dataclass(frozen=True, kw_only=True)
class Value:
    """A result: its name (unique in the kernel), shape, type, and the line that made it."""

    name: str
    dims: tuple[Dim, ...]
    dtype: DType
    line: Line | None = None

    @cached_property
    def vars(self) -> tuple[str, ...]:
        """The variables of its shape."""
        return tuple(d.var for d in self.dims)
