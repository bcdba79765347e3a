"""Names of run-time facts in the emitted source, and the parameters they need.

A context collects parameters as they are asked for; printing stays a function of the kernel.
"""

from __future__ import annotations

from functools import cached_property

from warploom.codegen.cuda.tile.expressions import number, pointwise, read_element
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
from warploom.ir.module import KernelModule
from warploom.ir.tile import (
    Access,
    At,
    Axis,
    Broadcast,
    Const,
    DType,
    Fn,
    Load,
    Pointwise,
    Position,
    Reduce,
    Scalar,
    Size,
    Store,
    Tensor,
    Walk,
    Whole,
)
from warploom.passes.body import refusal
from warploom.passes.layout import Layout
from warploom.passes.loop_bounds import cut_of
from warploom.passes.smem_layout import grouped_vars
from warploom.passes.tile_order import starts_early

MOST_BOUNDED = 3  # axes of a tensor whose copies say where they end: two more are needed for that


class Context:
    """The kernel being printed: its layout and the parameters used so far."""

    def __init__(self, layout: Layout, params: dict[str, Param] | None = None) -> None:
        self.layout = layout
        self.kernel = layout.body.kernel
        self.params: dict[str, Param] = {} if params is None else params
        self.module: KernelModule | None = None  # facts come from it
        self.number = 0  # which loop of a tile is printed

    def _add(self, param: Param) -> str:
        self.params.setdefault(param.name, param)
        return param.name

    def size(self, axis: str) -> str:
        """The size of a named axis; of ``k/128``, of its blocks."""
        name, _, per = axis.partition("/")
        whole = self._add(SizeParam(name=f"len_{name}", axis=name))
        return f"(({whole} + {int(per) - 1}) / {per})" if per else whole

    def size_of(self, tensor: str, axis: str) -> str:
        """The size of a tensor's axis."""
        found = self.kernel.tensor(tensor).axis(axis)
        return self.size(axis if found.per == 1 else f"{axis}/{found.per}")

    def limit(self, tensor: str, axis: str, var: str | None) -> str:
        """Where a tensor's elements end for a variable: at the end of its group, or of the axis."""
        grid = self.kernel.grid
        if grid.kind == "groups" and var == grouped_vars(self.kernel)[1]:
            return f"end_{var}"
        return self.size_of(tensor, axis)

    @cached_property
    def early(self) -> str | None:
        """The variable whose first tile may begin before the tensor does."""
        cut = cut_of(self.layout.body, self.layout.steps)
        body, config = self.layout.body, self.layout.config
        return cut.row if cut is not None and starts_early(body, cut, config) else None

    def inside(self, index: str, limit: str, var: str | None) -> str:
        """Whether an index of a variable lies in a tensor that ends at ``limit``."""
        if var is not None and var == self.early:
            return f"(unsigned)({index}) < (unsigned)({limit})"
        return f"{index} < {limit}"

    def within(self, op: Load | Store, indices: list[str]) -> list[str]:
        """Conditions under which computed numbers among the indices lie on their axes: outside of a
        tensor loads are 0 and nothing is stored. Variables are the business of whoever walks them.
        """
        axes = self.kernel.tensor(op.tensor).axes
        offsets = self.kernel.tensor(op.tensor).access is Access.STARTS  # one more than groups
        return [
            f"(unsigned)({text}) {'<=' if offsets else '<'}"
            f" (unsigned){self.size_of(op.tensor, axis.name)}"
            for text, at, axis in zip(indices, op.at, axes, strict=True)
            if self.may_lie_outside(op, at, axis)
        ]

    def may_lie_outside(self, op: Load | Store, at: At, axis: Axis) -> bool:
        """Whether an index is a number that is not known to lie on its axis."""
        if at.value is None or self.layout.body.values[at.value].dims:
            return False
        made = self.layout.body.ops.get(at.value)
        if self.kernel.tensor(op.tensor).access is Access.STARTS and isinstance(made, Pointwise):
            first, *more = (self.layout.body.ops.get(a) for a in made.args)
            if made.fn is Fn.ADD and isinstance(more[0], Const) and more[0].value == 1:
                made = first  # the end of a group
        if isinstance(made, Position):
            var = self.kernel.var(made.var)
            return var.walk is not Walk.UNIT or var.axis != axis.name or axis.per > 1
        return True

    def scalar(self, parameter: str) -> str:
        """A scalar of the call."""
        found = next(p for p in self.kernel.parameters if p.name == parameter)
        return self._add(
            ScalarParam(name=f"arg_{parameter}", parameter=parameter, dtype=found.dtype)
        )

    def order(self) -> str:
        """The list of the tiles that CTAs visit."""
        return self._add(OrderParam(name="order"))

    def pointer(self, tensor: str) -> str:
        """The address of a tensor."""
        found = self.kernel.tensor(tensor)
        return self._add(
            PointerParam(
                name=f"ptr_{tensor}",
                tensor=tensor,
                dtype=found.dtype,
                written=found.access in (Access.OUT, Access.TURNS),
            )
        )

    def work(self) -> str:
        """Where parts of a split loop meet."""
        return self._add(WorkParam(name="work"))

    def stride(self, tensor: str, axis: int) -> str:
        """A stride; the innermost is 1."""
        if axis == len(self.kernel.tensor(tensor).axes) - 1:
            return "1"
        return self._add(StrideParam(name=f"stride_{tensor}_{axis}", tensor=tensor, axis=axis))

    def map_of(
        self,
        tensor: Tensor,
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

    def position(self, var: str, iteration: str | None = None) -> str:
        """Where a variable stands; a loop's in the given iteration."""
        if var == self.layout.body.loop.var:
            if iteration is None:
                raise refusal(f"{var} is used outside its loop", self.layout.body.loop.line)
            return f"step_{var}({iteration})"
        return f"pos_{var}"

    def ends_early(self) -> bool:
        """Whether the loop ends before its axis may."""
        return self.layout.body.loop.until is not None

    def end_of(self, var: str) -> str:
        """The first element after those a variable covers."""
        if var == self.layout.body.loop.var and self.ends_early():
            return f"until_{var}"
        if self.kernel.grid.kind == "groups" and var == grouped_vars(self.kernel)[1]:
            return f"end_{var}"
        return self.size(self.kernel.var(var).axis)

    def uniform(  # noqa: PLR0911 (one line a kind of op)
        self, name: str, iteration: str | None = None
    ) -> str:
        """A scalar value as an expression."""
        op = self.layout.body.ops[name]
        match op:
            case Const():
                return number(op.value, op.result.dtype)
            case Scalar():
                return self.scalar(op.parameter)
            case Size():
                return self.size_of(op.tensor, op.axis)
            case Position():
                return self.position(op.var, iteration)
            case Whole():
                return f"({iteration} < whole_{op.var})"
            case Broadcast():
                return self.uniform(op.arg, iteration)
            case Load():
                return self.one_element(op, iteration)
            case Reduce() if self.layout.body.is_free(name):
                return self._extreme_index(op, iteration)
            case Pointwise():
                args = [self.uniform(a, iteration) for a in op.args]
                return pointwise(op.fn, args, op.result.dtype, self._dtypes(op), once=True)
            case _:
                raise refusal("this value is not a scalar", getattr(op, "line", None))

    def _extreme_index(self, op: Reduce, iteration: str | None) -> str:
        """The first or last element of a tile that exists."""
        first = self.position(op.over, iteration)
        if op.fn is Fn.MIN:
            return f"max({first}, 0)" if op.over == self.early else first
        last = f"{first} + {self.layout.extent(op.over)}"
        return f"(min({last}, {self.end_of(op.over)}) - 1)"

    def one_element(self, op: Load, iteration: str | None) -> str:
        """The one element a tile needs; iterations past the end of a loop read its last one, or 0
        where steps are single and may be missing.
        """
        indices, some = [], list[str]()
        for at, axis in zip(op.at, self.kernel.tensor(op.tensor).axes, strict=True):
            text = self.index(at, iteration) + self.later(op, at)
            if at.var is not None and axis.per > 1:
                text = f"({text}) / {axis.per}"
            if at.var == self.layout.body.loop.var:
                size = self.size_of(op.tensor, axis.name)
                if self.layout.extent(at.var) == 1:
                    some.append(f"{text} < {size}")
                text = f"min({text}, {size} - 1)"
            indices.append(text)
        some += self.within(op, indices)
        element = self.element_at(op, indices)
        zero = "0" if op.result.dtype is DType.I32 else "0.0f"
        return f"({' && '.join(some)} ? {element} : {zero})" if some else element

    def later(self, op: Load | Store, at: At) -> str:
        """How much later in an iteration of several steps an index stands."""
        step = op.step if isinstance(op, Load) and at.var == self.layout.body.loop.var else 0
        return f" + {step * self.layout.extent(at.var or '')}" if step else ""

    def _dtypes(self, op: Pointwise) -> list[DType]:
        return [self.layout.body.values[a].dtype for a in op.args]

    def index(self, at: At, iteration: str | None) -> str:
        """The first element an index covers."""
        if at.var is not None:
            return self.position(at.var, iteration)
        assert at.value is not None
        return self.uniform(at.value, iteration)

    def element_at(self, op: Load | Store, indices: list[str]) -> str:
        """One element of a tensor as a float (or int)."""
        return self.element(op.tensor, indices)

    def element(self, tensor: str, indices: list[str]) -> str:
        """One element of a tensor as a number."""
        return read_element(self.kernel.tensor(tensor).dtype, self.place(tensor, indices))

    def address(self, op: Load | Store, indices: list[str]) -> str:
        """The place of one element."""
        return self.place(op.tensor, indices)

    def place(self, tensor: str, indices: list[str]) -> str:
        """Where an element of a tensor lies."""
        parts = [
            f"{i} * {s}" if (s := self.stride(tensor, n)) != "1" else i
            for n, i in enumerate(indices)
        ]
        return f"{self.pointer(tensor)}[{' + '.join(parts)}]"
