"""Arguments of a kernel: addresses, strides in elements, sizes of axes, scalars.

Argument names are numbers: an author's name may be one that assembly or its metadata cannot hold.
What each stands for is said beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from warploom.ir.tile import Access, Kernel, Tensor, Walk
from warploom.ir.waves import Argument, ArgumentKind, Operand

UNBOUNDED = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class Signature:
    """The arguments of a kernel."""

    kernel: Kernel

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """Axes whose size is an argument, in order of appearance."""
        known = self.fixed
        names = [a.name for t in self.kernel.tensors for a in t.axes]
        names += [v.axis for v in self.kernel.vars]
        return tuple(n for n in dict.fromkeys(names) if n not in known)

    @cached_property
    def fixed(self) -> dict[str, int]:
        """Axes whose size the kernel is made for."""
        return {v.axis: v.extent for v in self.kernel.vars if v.walk is Walk.WHOLE and v.extent}

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """All arguments in order."""
        tensors, kinds = self.kernel.tensors, ArgumentKind
        found = [
            Argument(name=f"%t{n}", what=kinds.TENSOR, of=t.name, kind="pointer")
            for n, t in enumerate(tensors)
        ]
        found += [
            Argument(name=f"%t{n}_stride{a}", what=kinds.STRIDE, of=t.name, axis=a, kind="i64")
            for n, t in enumerate(tensors)
            for a in range(len(t.axes) - 1)
        ]
        found += [
            Argument(name=f"%size{n}", what=kinds.SIZE, of=name)
            for n, name in enumerate(self.sizes)
        ]
        for n, parameter in enumerate(self.kernel.parameters):
            kind = "f32" if parameter.dtype.is_float else "i32"
            found.append(Argument(name=f"%p{n}", what=kinds.SCALAR, of=parameter.name, kind=kind))
        return tuple(found)

    def _named(self, what: ArgumentKind, of: str, axis: int = 0) -> str:
        return next(a.name for a in self.arguments if (a.what, a.of, a.axis) == (what, of, axis))

    def stride(self, tensor: str, axis: int) -> Operand:
        """The stride of an axis; that of the last is 1."""
        if axis == len(self.kernel.tensor(tensor).axes) - 1:
            return 1
        return self._named(ArgumentKind.STRIDE, tensor, axis)

    def size(self, axis: str) -> Operand:
        """How many elements an axis has."""
        if axis in self.fixed:
            return self.fixed[axis]
        return self._named(ArgumentKind.SIZE, axis)

    def tensor_size(self, tensor: Tensor, axis: int) -> Operand:
        """Elements of a tensor's axis, before blocks are counted; offsets have one more."""
        own = tensor.axes[axis]
        if tensor.access is Access.STARTS:
            return UNBOUNDED  # its indices are groups of the grid
        size = self.size(own.name)
        if own.per > 1 and isinstance(size, int):
            return -(-size // own.per)
        return size

    def scalar(self, parameter: str) -> str:
        """The argument with a scalar."""
        return self._named(ArgumentKind.SCALAR, parameter)
