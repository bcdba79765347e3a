"""Whether a kernel's value is well formed: what every rewrite of it must keep.

The reader makes only well-formed kernels; this judges values from anywhere, op by op, and shares
nothing with the reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from warploom.errors import KernelError
from warploom.ir.tile import (
    Access,
    At,
    Broadcast,
    Carried,
    Const,
    Dim,
    Dot,
    DType,
    Fn,
    Indices,
    Kernel,
    Load,
    Loop,
    Op,
    Pointwise,
    Position,
    Reduce,
    Scalar,
    Size,
    Store,
    Tensor,
    Transpose,
    Value,
    Walk,
    Whole,
    is_number,
    operands,
)
from warploom.ir.tile_listing import show

_ARITY = {Fn.WHERE: 3}
_ONE = {
    Fn.NEG, Fn.ABS, Fn.EXP, Fn.EXP2, Fn.LOG, Fn.LOG2, Fn.SQRT, Fn.RSQRT, Fn.TANH, Fn.ERF, Fn.SIN,
    Fn.COS, Fn.FLOOR, Fn.CAST, Fn.NOT,
}  # fmt: skip
_COMPARE = {Fn.EQ, Fn.NE, Fn.LT, Fn.LE, Fn.GT, Fn.GE}
_LOGIC = {Fn.AND, Fn.OR, Fn.NOT}
_INTEGER = {Fn.FLOORDIV, Fn.MOD, Fn.SHR, Fn.BITS}
_EITHER = {Fn.ADD, Fn.SUB, Fn.MUL, Fn.NEG, Fn.ABS, Fn.MIN, Fn.MAX, Fn.WHERE}
_FP8 = {DType.E4M3, DType.E5M2}


def check_kernel(kernel: Kernel) -> None:
    """Raise ``KernelError`` at the first op that cannot be."""
    _Check(kernel).scope(kernel.ops, {})


@dataclass(slots=True)
class _Check:
    kernel: Kernel
    names: set[str] = field(default_factory=set)
    loop: str | None = None

    def fail(self, op: Op, what: str) -> NoReturn:
        line = op.line if isinstance(op, Loop | Store) else op.result.line
        raise KernelError(
            f"malformed kernel '{self.kernel.name}': {what}",
            where=f"{line}: {show(op)}" if line else show(op),
            why="the value of a kernel must be well formed after every rewrite",
            fix="correct the rewrite, or whatever made this value",
        )

    def define(self, op: Op, value: Value) -> None:
        if value.name in self.names:
            self.fail(op, f"'{value.name}' is made twice")
        self.names.add(value.name)
        variables = [d.var for d in value.dims]
        if len(set(variables)) < len(variables) or len(variables) > 2:
            self.fail(op, f"'{value.name}' has the axes {', '.join(variables)}")
        for name in variables:
            self.walked(op, name, f"'{value.name}' extends over '{name}'")

    def walked(self, op: Op, name: str, what: str) -> None:
        """A variable must be there, and a step's only inside its loop."""
        var = next((v for v in self.kernel.vars if v.name == name), None)
        if var is None:
            self.fail(op, f"{what}, which is no variable")
        if var.walk is Walk.STEP and name != self.loop:
            self.fail(op, f"{what} outside its loop")

    def scope(self, ops: tuple[Op, ...], outer: Mapping[str, Value]) -> dict[str, Value]:
        known = dict(outer)
        for op in ops:
            for name in operands(op):
                if name not in known:
                    self.fail(op, f"'{name}' is read before it is made")
            if isinstance(op, Loop):
                known |= self.check_loop(op, known)
            elif isinstance(op, Store):
                self.check_store(op, known)
            else:
                self.define(op, op.result)
                self.check(op, known)
                known[op.result.name] = op.result
        return known

    def check_loop(self, op: Loop, known: Mapping[str, Value]) -> dict[str, Value]:
        if self.loop is not None:
            self.fail(op, "a loop stands in a loop")
        if self.kernel.var(op.var).walk is not Walk.STEP:
            self.fail(op, f"'{op.var}' does not walk by steps")
        for name in (op.start, op.until):
            if name and (known[name].dims or known[name].dtype is not DType.I32):
                self.fail(op, f"the bound '{name}' is no whole number")
        for c in op.carried:
            self.define(op, c.inside)
        self.loop = op.var
        inner = self.scope(op.body, {**known, **{c.inside.name: c.inside for c in op.carried}})
        self.loop = None
        for c in op.carried:
            self.check_carried(op, c, known, inner)
            self.define(op, c.result)
        return {c.result.name: c.result for c in op.carried}

    def check_carried(
        self, op: Loop, c: Carried, known: Mapping[str, Value], inner: Mapping[str, Value]
    ) -> None:
        if c.last not in inner:
            self.fail(op, f"'{c.last}', handed to the next step, is not made")
        forms = {(v.dims, v.dtype) for v in (c.inside, c.result, known[c.first], inner[c.last])}
        if len(forms) > 1:
            self.fail(op, f"'{c.inside.name}' changes its shape or type")

    def check(self, op: Op, known: Mapping[str, Value]) -> None:
        """One op's own rules: what it is given, and what it says it gives."""
        assert not isinstance(op, Loop | Store)
        wanted = self.wanted(op, known)
        if wanted is not None and wanted != (op.result.dims, op.result.dtype):
            self.fail(op, f"'{op.result.name}' does not have the shape and type it is given")

    def wanted(self, op: Op, known: Mapping[str, Value]) -> tuple[tuple[Dim, ...], DType] | None:
        match op:
            case Const():
                kind = op.result.dtype
                fits = bool if kind is DType.BOOL else float if kind.is_float else int
                if type(op.value) is not fits:
                    self.fail(op, f"{op.value!r} is no {kind}")
                return (), kind
            case Scalar():
                given = next((p for p in self.kernel.parameters if p.name == op.parameter), None)
                return ((), given.dtype) if given else self.fail(op, "no such parameter")
            case Size():
                if op.axis not in {a.name for a in self.kernel.tensor(op.tensor).axes}:
                    self.fail(op, f"'{op.tensor}' has no axis '{op.axis}'")
                return (), DType.I32
            case Position():
                self.walked(op, op.var, f"'{op.var}' is asked for")
                return (), DType.I32
            case Whole():
                self.walked(op, op.var, f"'{op.var}' is asked for")
                return (), DType.BOOL
            case Indices():
                self.walked(op, op.var, f"'{op.var}' is asked for")
                return (Dim(op.var),), DType.I32
            case Broadcast():
                arg = known[op.arg]
                if not set(arg.vars) <= set(op.result.vars):
                    self.fail(op, f"'{op.arg}' has axes that the result has not")
                return op.result.dims, arg.dtype
            case Transpose():
                return tuple(reversed(known[op.arg].dims)), known[op.arg].dtype
            case Load():
                tensor = self.kernel.tensor(op.tensor)
                if tensor.access is Access.OUT:
                    self.fail(op, f"'{op.tensor}' is an output")
                return self.places(op, tensor, op.at, known), tensor.dtype
            case Pointwise():
                return self.pointwise(op, [known[a] for a in op.args])
            case Reduce():
                arg = known[op.arg]
                if op.over not in arg.vars or op.fn not in (Fn.ADD, Fn.MAX, Fn.MIN):
                    self.fail(op, "no such reduction")
                return tuple(d for d in arg.dims if d.var != op.over), arg.dtype
            case Dot():
                return self.product(op, known)
            case _:
                return None

    def product(self, op: Dot, known: Mapping[str, Value]) -> tuple[tuple[Dim, ...], DType]:
        a, b = known[op.a], known[op.b]
        if len(a.dims) != 2 or len(b.dims) != 2 or a.dims[1] != b.dims[0]:
            self.fail(op, "the columns of one side are not the rows of the other")
        if a.dtype is not b.dtype and not {a.dtype, b.dtype} <= _FP8:
            self.fail(op, "the sides have different types")
        form = ((a.dims[0], b.dims[1]), DType.F32)
        if op.into and (known[op.into].dims, known[op.into].dtype) != form:
            self.fail(op, f"'{op.into}' does not have the product's shape and type")
        return form

    def pointwise(self, op: Pointwise, args: list[Value]) -> tuple[tuple[Dim, ...], DType]:
        arity = 1 if op.fn in _ONE else _ARITY.get(op.fn, 2)
        if len(args) != arity:
            self.fail(op, f"{op.fn} has {len(args)} operands")
        finest: dict[str, int] = {}
        for dim in (d for a in args for d in a.dims):
            finest[dim.var] = min(dim.per, finest.get(dim.var, dim.per))
        if {d.var: d.per for d in op.result.dims} != finest:
            self.fail(op, "the result does not extend over what the operands do")
        for arg in args:
            if len(arg.dims) == 2 and arg.vars != op.result.vars:
                self.fail(op, f"'{arg.name}' has its axes in another order")
        return op.result.dims, self.type_of(op, [a.dtype for a in args])

    def type_of(self, op: Pointwise, types: list[DType]) -> DType:
        if op.fn is Fn.CAST:
            return op.result.dtype
        if op.fn is Fn.WHERE and types.pop(0) is not DType.BOOL:
            self.fail(op, "the choice is made by no condition")
        if len(set(types)) > 1:
            self.fail(op, "the operands have different types")
        kind = types[0]
        allowed = {DType.F32}
        if op.fn in _LOGIC:
            allowed = {DType.BOOL}
        elif op.fn in _INTEGER:
            allowed = {DType.I32}
        elif op.fn in _EITHER | _COMPARE:
            allowed = {DType.F32, DType.I32}
        if op.fn in (Fn.EQ, Fn.NE, Fn.WHERE):
            allowed |= {DType.BOOL}
        if kind not in allowed:
            self.fail(op, f"{op.fn} of {kind}")
        return DType.BOOL if op.fn in _COMPARE else kind

    def places(
        self, op: Op, tensor: Tensor, at: tuple[At, ...], known: Mapping[str, Value]
    ) -> tuple[Dim, ...]:
        if len(at) != len(tensor.axes):
            self.fail(op, f"'{tensor.name}' has {len(tensor.axes)} axes")
        dims: list[Dim] = []
        for axis, place in zip(tensor.axes, at, strict=True):
            if place.value is not None:
                value = known[place.value]
                if value.dtype is not DType.I32 or len(value.dims) > 1:
                    self.fail(op, f"'{place.value}' is no index")
                dims += value.dims
                continue
            name = place.var or ""
            self.walked(op, name, f"'{name}' is an index")
            var = self.kernel.var(name)
            if var.axis != axis.name:
                self.fail(op, f"'{name}' does not walk axis '{axis.name}'")
            block = var.walk is Walk.STEP and axis.per > 1 and axis.per >= (var.extent or 0) > 0
            if not is_number(var) and not block:
                dims.append(Dim(name, axis.per))
        return tuple(dims)

    def check_store(self, op: Store, known: Mapping[str, Value]) -> None:
        tensor = self.kernel.tensor(op.tensor)
        if tensor.access is not Access.OUT:
            self.fail(op, f"'{op.tensor}' is no output")
        if known[op.value].dims != self.places(op, tensor, op.at, known):
            self.fail(op, f"'{op.value}' does not have the shape of the place")
