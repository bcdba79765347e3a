"""Arguments of a kernel: addresses, strides in elements, sizes of axes, scalars.

Argument names are numbers: an author's name may be one that assembly or its metadata cannot hold.
The sidecar says what each stands for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from warploom.ir.tile import Access, Kernel, Tensor, Walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument: what it is (``tensor``, ``stride``, ``size``, ``scalar``) and of what."""

    name: str
    what: str
    of: str
    axis: int = 0
    kind: str = "i32"

    @property
    def ir(self) -> str:
        """Its IR type."""
        pointer = "ptr addrspace(1) noalias"
        return {"pointer": pointer, "i64": "i64", "i32": "i32", "f32": "float"}[self.kind]

    @property
    def size(self) -> int:
        """Bytes."""
        return 8 if self.kind in ("pointer", "i64") else 4

    def to_json(self) -> dict[str, Any]:
        """As JSON-ready values."""
        own: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "what": self.what,
            "of": self.of,
        }
        return own | ({"axis": self.axis} if self.what == "stride" else {})


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
        found = []
        for n, tensor in enumerate(self.kernel.tensors):
            found.append(Argument(name=f"t{n}", what="tensor", of=tensor.name, kind="pointer"))
        for n, tensor in enumerate(self.kernel.tensors):
            for axis in range(len(tensor.axes) - 1):
                found.append(
                    Argument(
                        name=f"t{n}_stride{axis}",
                        what="stride",
                        of=tensor.name,
                        axis=axis,
                        kind="i64",
                    )
                )
        for n, axis_name in enumerate(self.sizes):
            found.append(Argument(name=f"size{n}", what="size", of=axis_name))
        for n, parameter in enumerate(self.kernel.parameters):
            kind = "f32" if parameter.dtype.is_float else "i32"
            found.append(Argument(name=f"p{n}", what="scalar", of=parameter.name, kind=kind))
        return tuple(found)

    def _named(self, what: str, of: str, axis: int = 0) -> str:
        return next(
            f"%{a.name}" for a in self.arguments if (a.what, a.of, a.axis) == (what, of, axis)
        )

    def pointer(self, tensor: str) -> str:
        """The argument with a tensor's address."""
        return self._named("tensor", tensor)

    def stride(self, tensor: str, axis: int) -> str:
        """The stride of an axis; that of the last is 1."""
        if axis == len(self.kernel.tensor(tensor).axes) - 1:
            return "1"
        return self._named("stride", tensor, axis)

    def size(self, axis: str) -> str:
        """How many elements an axis has."""
        if axis in self.fixed:
            return str(self.fixed[axis])
        return self._named("size", axis)

    def tensor_size(self, tensor: Tensor, axis: int) -> str:
        """Elements of a tensor's axis, before blocks are counted; offsets have one more."""
        own = tensor.axes[axis]
        if tensor.access is Access.STARTS:
            return "2147483647"  # its indices are groups of the grid
        size = self.size(own.name)
        if own.per > 1 and size.isdigit():
            return str(-(-int(size) // own.per))
        return size

    def scalar(self, parameter: str) -> str:
        """The argument with a scalar."""
        return self._named("scalar", parameter)
