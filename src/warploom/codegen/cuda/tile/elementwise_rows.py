"""Rows of kernels without a loop as CUDA source: where elements of a lane lie in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.tile.expressions import read_element, written_element
from warploom.codegen.cuda.tile.signature import Param, PointerParam, SizeParam, StrideParam
from warploom.ir.tile import Access, At, DType, Kernel, Op, Position, Store, Value, Var, Walk
from warploom.ir.types import refusal

LENGTHS = (64, 128, 256)


def whole_row(kernel: Kernel) -> Var:
    """The variable of the rows that lanes share; refuses rows they cannot."""
    whole = [v for v in kernel.vars if v.walk is Walk.WHOLE]
    extent = whole[0].extent if len(whole) == 1 else None
    if extent in LENGTHS:
        return whole[0]
    last = kernel.var(kernel.grid.vars[-1]).axis
    named = "several whole axes" if whole else "no whole axis"
    raise refusal(
        f"rows of {extent} elements in a kernel without a loop"
        if extent is not None
        else f"a kernel without a loop that has {named}",
        kernel.line,
        why="without a loop lanes of a warp share a whole row of 64, 128 or 256 elements",
        fix=f"pad axis '{whole[0].axis}', or walk it: for n in wl.steps(x.{whole[0].axis}):"
        if extent is not None
        else f'all of the last axis: m = wl.tile(out, whole="{last}") and x[m]',
    )


@dataclass
class Rows:
    """A kernel whose rows lanes share: its values, parameters and places."""

    kernel: Kernel
    params: dict[str, Param] = field(default_factory=dict)
    column: str = ""  # the variable along a row
    each: int = 0  # elements of a lane

    def _add(self, param: Param) -> str:
        self.params.setdefault(param.name, param)
        return param.name

    def _value(self, name: str) -> Op:
        return next(o for o in self.kernel.ops if not isinstance(o, Store) and made_of(o) == name)

    def _result(self, name: str) -> Value:
        found: Value = getattr(self._value(name), "result")  # noqa: B009
        return found

    def _along(self, value: Value) -> bool:
        """Whether a lane has several elements of a value: it extends along the row."""
        return self.column in value.vars

    def _dtype(self, name: str) -> DType:
        return self._result(name).dtype

    def _at(self, name: str) -> str:
        label = f"v_{name}"
        return f"{label}[j]" if self._along(self._result(name)) else label

    def _each(self, value: Value, text: str) -> list[str]:
        kind, label = scalar_type(value.dtype), f"v_{value.name}"
        if not self._along(value):
            return [f"const {kind} {label} = {text};"]
        return [
            f"{kind} {label}[{self.each}];",
            "#pragma unroll",
            f"for (int j = 0; j < {self.each}; ++j) {label}[j] = {text};",
        ]

    def _pointer(self, tensor: str) -> str:
        found = self.kernel.tensor(tensor)
        return self._add(
            PointerParam(
                name=f"ptr_{tensor}",
                tensor=tensor,
                dtype=found.dtype,
                written=found.access is Access.OUT,
            )
        )

    def _size(self, tensor: str, name: str) -> str:
        """The size of a tensor's axis; of blocks, how many there are."""
        size = self._add(SizeParam(name=f"len_{name}", axis=name))
        per = self.kernel.tensor(tensor).axis(name).per
        return size if per == 1 else f"(({size} + {per - 1}) / {per})"

    def _place(self, tensor: str, n: int, index: At, along: str = "part") -> str:
        """Where an index stands, in elements of its axis."""
        if index.value is not None:
            return f"v_{index.value}"
        place = along if index.var == self.column else f"pos_{index.var}"
        per = self.kernel.tensor(tensor).axes[n].per
        return f"({place}) / {per}" if per > 1 else place

    def _there(self, tensor: str, at: tuple[At, ...]) -> str:
        """Whether numbers among the indices lie on their axes; '' where all surely do."""
        axes, found = self.kernel.tensor(tensor).axes, []
        for index, axis in zip(at, axes, strict=True):
            if index.value is None:
                continue
            made = self._value(index.value)
            own = isinstance(made, Position) and self.kernel.var(made.var).axis == axis.name
            if not own or axis.per > 1:
                size = self._size(tensor, axis.name)
                found.append(f"(unsigned)v_{index.value} < (unsigned){size}")
        return " && ".join(found)

    def _is_line(self, tensor: str, at: tuple[At, ...]) -> bool:
        """Whether a lane's elements are neighbours in memory that begin at 16 bytes: rows of a
        tensor do, vectors may begin anywhere.
        """
        axes = self.kernel.tensor(tensor).axes
        alone = sum(index.var == self.column for index in at) == 1
        return alone and at[-1].var == self.column and len(at) > 1 and axes[-1].per == 1

    def _element(self, tensor: str, at: tuple[At, ...]) -> str:
        """The place of element ``j`` of a lane."""
        terms = []
        for n, index in enumerate(at):
            place = self._place(tensor, n, index, "part + j")
            if n < len(at) - 1:
                stride = StrideParam(name=f"stride_{tensor}_{n}", tensor=tensor, axis=n)
                place = f"({place}) * {self._add(stride)}"
            terms.append(place)
        return f"{self._pointer(tensor)}[{' + '.join(terms)}]"

    def _one(self, tensor: str, at: tuple[At, ...]) -> str:
        return f"*({self._address(tensor, at)})"

    def _address(
        self, tensor: str, at: tuple[At, ...], rank: int | None = None, along: str = "part"
    ) -> str:
        """An element's place; of fewer indices than the tensor's ``rank``, the rest at 0.

        ``along``: the first element of a lane along the row.
        """
        rank = rank or len(at)
        terms = []
        for n, index in enumerate(at):
            place = self._place(tensor, n, index, along)
            if n < rank - 1:
                stride = StrideParam(name=f"stride_{tensor}_{n}", tensor=tensor, axis=n)
                place = f"{place} * {self._add(stride)}"
            terms.append(place)
        return f"{self._pointer(tensor)} + {' + '.join(terms)}"

    def _read(self, dtype: DType, place: str) -> str:
        """An element of memory as a number."""
        if dtype in (DType.E4M3, DType.E5M2):
            unpack = device[f"unpack_{dtype}"]
            return f"{unpack}({place}, 0)"
        return read_element(dtype, place)

    def _written(self, dtype: DType, text: str) -> str:
        return text if dtype is DType.F32 else written_element(dtype, text)


def scalar_type(dtype: DType) -> str:
    """The type of a number in the text."""
    return {DType.I32: "int", DType.I8: "int", DType.BOOL: "bool"}.get(dtype, "float")


def made_of(op: Op) -> str:
    """The name of the value an op makes."""
    return str(getattr(op, "result").name)  # noqa: B009


def name_of(op: Op) -> str:
    """What it is called in the text."""
    return f"v_{made_of(op)}"
