"""Names of run-time facts in the emitted source, and the parameters they need.

A context collects parameters as they are asked for; printing stays a function of the module.
"""

from __future__ import annotations

from warploom.codegen.cuda.tile.expressions import read_element
from warploom.codegen.cuda.tile.loop_view import LoopView
from warploom.codegen.cuda.tile.signature import (
    MapParam,
    OrderParam,
    Param,
    PointerParam,
    ScalarParam,
    SizeParam,
    StrideParam,
    WorkParam,
)
from warploom.ir.module import KernelModule, TensorArg
from warploom.ir.types import Access

MOST_BOUNDED = 3  # axes of a tensor whose copies say where they end: two more are needed for that


class Context:
    """The loop being printed, and the parameters used so far."""

    def __init__(self, loop: LoopView, params: dict[str, Param] | None = None) -> None:
        self.loop = loop
        self.params: dict[str, Param] = {} if params is None else params

    @property
    def module(self) -> KernelModule:
        """What is printed."""
        return self.loop.module

    @property
    def number(self) -> int:
        """Which loop of a tile is printed."""
        return self.loop.number

    def _add(self, param: Param) -> str:
        self.params.setdefault(param.name, param)
        return param.name

    def size(self, axis: str, per: int = 1) -> str:
        """The size of a named axis; ``per``: of its blocks of so many elements."""
        whole = self._add(SizeParam(name=f"len_{axis}", axis=axis))
        return f"(({whole} + {per - 1}) / {per})" if per > 1 else whole

    def size_of(self, tensor: str, axis: str) -> str:
        """The size of a tensor's axis."""
        found = next(a for a in self.module.tensor(tensor).axes if a.name == axis)
        return self.size(axis, found.per)

    def scalar(self, parameter: str) -> str:
        """A scalar of the call."""
        found = next(p for p in self.module.scalars if p.name == parameter)
        return self._add(
            ScalarParam(name=f"arg_{parameter}", parameter=parameter, dtype=found.dtype)
        )

    def order(self) -> str:
        """The list of the tiles that CTAs visit."""
        return self._add(OrderParam(name="order"))

    def pointer(self, tensor: str) -> str:
        """The address of a tensor."""
        found = self.module.tensor(tensor)
        return self._add(
            PointerParam(
                name=f"ptr_{tensor}",
                tensor=tensor,
                dtype=found.dtype,
                written=Access(found.access) in (Access.OUT, Access.TURNS),
            )
        )

    def work(self) -> str:
        """Where parts of a split loop meet."""
        return self._add(WorkParam(name="work"))

    def stride(self, tensor: str, axis: int) -> str:
        """A stride; the innermost is 1."""
        if axis == len(self.module.tensor(tensor).axes) - 1:
            return "1"
        return self._add(StrideParam(name=f"stride_{tensor}_{axis}", tensor=tensor, axis=axis))

    def map_of(
        self,
        tensor: TensorArg,
        box: tuple[int, ...],
        *,
        span: int = 128,
        bounded: int | None = None,
        stacked: int = 0,
    ) -> str:
        """A tensor map with that box."""
        tag = "x".join(str(n) for n in box if n > 1) + ("" if bounded is None else "_bounded")
        tag += f"_stack{stacked}" if stacked else ""
        return self._add(
            MapParam(
                name=f"map_{tensor.name}_{tag}",
                tensor=tensor.name,
                box=box,
                dtype=tensor.dtype,
                span=span,
                bounded=bounded,
                stacked=stacked,
            )
        )

    def element(self, tensor: str, indices: list[str]) -> str:
        """One element of a tensor as a number."""
        return read_element(self.module.tensor(tensor).dtype, self.place(tensor, indices))

    def place(self, tensor: str, indices: list[str]) -> str:
        """Where an element of a tensor lies."""
        parts = [
            f"{i} * {s}" if (s := self.stride(tensor, n)) != "1" else i
            for n, i in enumerate(indices)
        ]
        return f"{self.pointer(tensor)}[{' + '.join(parts)}]"
