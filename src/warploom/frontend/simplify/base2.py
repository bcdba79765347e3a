"""exp to exp2: hardware has powers of two only, so the factor log2(e) goes where it costs least.

``exp(x)`` is ``exp2(c x)`` with c = log2(e). The *scaled* values are those an exponent is made of,
followed backwards through sums, differences, maxima, choices, reductions and carried values, all of
which commute with a positive factor. It ends at a multiplication by a number (the factor goes into
the number), at a negation (which becomes a multiplication), at constants, and else at a value that
must be multiplied. Whoever reads a scaled value elsewhere gets it multiplied back.

It is done for a set of exponents that hang together if it needs fewer multiplications of tiles
than it saves: one for each exponential.
"""

import math
from collections.abc import Mapping
from dataclasses import field, replace

from warploom.dataclass import dataclass
from warploom.frontend.rewrite import definitions, fresh, values_of, with_operands
from warploom.ir import tile as ir
from warploom.ir.tile import DType, Fn, Kernel, Op, operands, walk

FACTOR = math.log2(math.e)
_THROUGH = {Fn.ADD, Fn.SUB, Fn.MIN, Fn.MAX}


def exp_to_exp2(kernel: Kernel) -> Kernel:
    """Every set of exponentials that hang together, where it pays."""
    done: set[str] = set()
    while True:
        plan = _next_plan(kernel, done)
        if plan is None:
            return kernel
        done |= plan.exponentials
        if plan.pays():
            kernel = _Rewrite(kernel, plan).kernel()


@dataclass(slots=True)
class _Plan:
    """Values to be scaled, and where the factor comes in."""

    values: Mapping[str, ir.Value]
    exponentials: set[str] = field(default_factory=set)
    scaled: set[str] = field(default_factory=set)  # made scaled by their own op
    absorb: dict[str, int] = field(default_factory=dict)  # product by a number -> its place
    multiply: set[str] = field(default_factory=set)  # multiplied where they are used
    restore: set[str] = field(default_factory=set)  # scaled, but read elsewhere as they were
    weights: dict[str, int] = field(default_factory=dict)

    def pays(self) -> bool:
        saved = sum(self.weights[e] for e in self.exponentials)
        return sum(self.weights[v] for v in self.multiply | self.restore) < saved


def _weights(kernel: Kernel, values: Mapping[str, ir.Value]) -> dict[str, int]:
    """What touching a value once costs, roughly: tiles and loops count most."""
    inside = {v.name for loop in kernel.loops for op in loop.body for v in _results(op)}
    inside |= {c.inside.name for loop in kernel.loops for c in loop.carried}
    sizes = {0: 0, 1: 1, 2: 64}
    return {n: sizes[len(v.dims)] * (8 if n in inside else 1) for n, v in values.items()}


def _results(op: Op) -> tuple[ir.Value, ...]:
    return () if isinstance(op, ir.Store | ir.Loop) else (op.result,)


def _next_plan(kernel: Kernel, done: set[str]) -> _Plan | None:
    """The exponentials that share scaled values with the first not yet looked at."""
    made, values = definitions(kernel.ops), values_of(kernel)
    all_exps = {
        op.result.name: op.args[0]
        for op in walk(kernel.ops)
        if isinstance(op, ir.Pointwise) and op.fn is Fn.EXP
    }
    first = next((e for e in all_exps if e not in done), None)
    if first is None:
        return None
    chosen = {first}
    while True:
        plan = _Plan(values=values, exponentials=set(chosen))
        for name in chosen:
            _scale(plan, made, all_exps[name])
        near = {
            e
            for e, arg in all_exps.items()
            if e not in chosen and e not in done and _reaches(made, arg, plan)
        }
        if not near:
            break
        chosen |= near
    plan.restore = _read_elsewhere(kernel, plan)
    plan.weights = _weights(kernel, values)
    return plan


def _reaches(made: Mapping[str, Op], arg: str, plan: _Plan) -> bool:
    """Whether an exponent is made of values the plan scales."""
    other = _Plan(values=plan.values)
    _scale(other, made, arg)
    return bool((other.scaled | other.multiply) & (plan.scaled | plan.multiply))


def _scale(plan: _Plan, made: Mapping[str, Op], start: str) -> None:
    stack = [start]
    while stack:
        name = stack.pop()
        if name in plan.scaled or name in plan.multiply:
            continue
        op = made.get(name)
        through = _parts(plan, op, name)
        if through is None:
            plan.multiply.add(name)
            continue
        plan.scaled.add(name)
        stack += through


def _parts(plan: _Plan, op: Op | None, name: str) -> list[str] | None:  # noqa: PLR0911
    """The operands to scale so that this value is scaled; None: it cannot be, multiply it."""
    match op:
        case ir.Const():
            return []
        case ir.Pointwise() if op.fn in _THROUGH:
            return list(op.args)
        case ir.Pointwise(fn=Fn.WHERE):
            return list(op.args[1:])
        case ir.Pointwise(fn=Fn.NEG):
            return []
        case ir.Pointwise(fn=Fn.MUL | Fn.DIV):
            places = [i for i, a in enumerate(op.args) if not plan.values[a].dims]
            if not places or not op.result.dims:
                return None
            plan.absorb[name] = places[-1]
            return []
        case ir.Reduce() | ir.Broadcast():
            return [op.arg]
        case ir.Loop():
            c = next(c for c in op.carried if name in (c.inside.name, c.result.name))
            other = c.result.name if name == c.inside.name else c.inside.name
            return [c.first, c.last, other]
        case _:
            return None


def _read_elsewhere(kernel: Kernel, plan: _Plan) -> set[str]:
    """Scaled values that something reads which is neither scaled nor one of the exponentials."""
    found: set[str] = set()
    for op in walk(kernel.ops):
        if isinstance(op, ir.Loop):
            for c in op.carried:
                if c.inside.name not in plan.scaled:
                    found |= {c.first, c.last}
            found |= {b for b in (op.start, op.until) if b}
            continue
        name = None if isinstance(op, ir.Store) else op.result.name
        if name in plan.exponentials:
            continue
        reads = set(operands(op))
        if name in plan.scaled:
            reads = _unscaled_reads(op)
        found |= reads
    return {n for n in found & plan.scaled if not _is_number(kernel, plan, n)}


def _is_number(kernel: Kernel, plan: _Plan, name: str) -> bool:
    """Constants are made again where they are needed scaled."""
    return not plan.values[name].dims and isinstance(definitions(kernel.ops).get(name), ir.Const)


def _unscaled_reads(op: Op) -> set[str]:
    """What a scaled op reads as it is: conditions, and the factors of a product."""
    if isinstance(op, ir.Pointwise):
        if op.fn is Fn.WHERE:
            return {op.args[0]}
        if op.fn not in _THROUGH:
            return set(op.args)
    return set()


class _Rewrite:
    """The kernel with a plan carried out."""

    def __init__(self, kernel: Kernel, plan: _Plan) -> None:
        self.source, self.plan = kernel, plan
        self.taken: set[str] = set()
        self.made = definitions(kernel.ops)
        self.scope: list[Op] = []
        self.shared: list[dict[object, str]] = [{}]
        self.back: dict[str, str] = {}

    def kernel(self) -> Kernel:
        return replace(self.source, ops=self._ops(self.source.ops))

    def _ops(self, ops: tuple[Op, ...], first: tuple[ir.Carried, ...] = ()) -> tuple[Op, ...]:
        outer, self.scope = self.scope, []
        self.shared.append({})
        for c in first:
            self._restore(c.inside)
        for op in ops:
            self._op(op)
        self.shared.pop()
        result, self.scope = tuple(self.scope), outer
        return result

    def _op(self, op: Op) -> None:
        plan = self.plan
        if isinstance(op, ir.Loop):
            self._loop(op)
        elif isinstance(op, ir.Store):
            self.scope.append(with_operands(op, self._plain))
        elif op.result.name in plan.exponentials:
            assert isinstance(op, ir.Pointwise)
            args = (self._scaled(op.args[0], op),)
            self.scope.append(replace(op, fn=Fn.EXP2, args=args))
        elif op.result.name in plan.scaled and not isinstance(op, ir.Const):
            self.scope.append(self._scaled_op(op))
            self._restore(op.result)
        else:
            self.scope.append(with_operands(op, self._plain))

    def _loop(self, op: ir.Loop) -> None:
        plan = self.plan
        firsts = [
            self._scaled(c.first, op) if c.inside.name in plan.scaled else self._plain(c.first)
            for c in op.carried
        ]
        body = self._ops(op.body, op.carried)
        # What a step hands on is scaled in the body, where it is made.
        outer, self.scope = self.scope, list(body)
        self.shared.append({})
        lasts = [
            self._scaled(c.last, op) if c.inside.name in plan.scaled else self._plain(c.last)
            for c in op.carried
        ]
        self.shared.pop()
        body, self.scope = tuple(self.scope), outer
        carried = tuple(
            replace(c, first=f, last=x) for c, f, x in zip(op.carried, firsts, lasts, strict=True)
        )
        start, until = (self._plain(b) if b else None for b in (op.start, op.until))
        self.scope.append(replace(op, body=body, carried=carried, start=start, until=until))
        for c in op.carried:
            self._restore(c.result)

    def _scaled_op(self, op: Op) -> Op:
        match op:
            case ir.Pointwise(fn=Fn.WHERE):
                one, two = (self._scaled(a, op) for a in op.args[1:])
                return replace(op, args=(self._plain(op.args[0]), one, two))
            case ir.Pointwise(fn=Fn.NEG):
                factor = self._const(-FACTOR, op)
                return replace(op, fn=Fn.MUL, args=(self._plain(op.args[0]), factor))
            case ir.Pointwise(fn=Fn.MUL | Fn.DIV):
                at = self.plan.absorb[op.result.name]
                below = op.fn is Fn.DIV and at == 1
                new = self._times(op.args[at], op, 1 / FACTOR if below else FACTOR)
                args = tuple(new if i == at else self._plain(a) for i, a in enumerate(op.args))
                return replace(op, args=args)
            case ir.Pointwise():
                return replace(op, args=tuple(self._scaled(a, op) for a in op.args))
            case ir.Reduce() | ir.Broadcast():
                return replace(op, arg=self._scaled(op.arg, op))
            case _:
                raise AssertionError(op)

    def _plain(self, name: str) -> str:
        return self.back.get(name, name)

    def _scaled(self, name: str, user: Op) -> str:
        """The name of c times a value."""
        made = self.made.get(name)
        if isinstance(made, ir.Const):
            return self._const(float(made.value) * FACTOR, user)
        if name in self.plan.scaled:
            return name
        return self._times(name, user, FACTOR)

    def _times(self, name: str, user: Op, by: float) -> str:
        key = ("times", name, by)
        for scope in self.shared:
            if key in scope:
                return scope[key]
        made = self.made.get(name)
        if isinstance(made, ir.Const):
            return self._const(float(made.value) * by, user)
        factor = self._const(by, user)
        value = self.plan.values[name]
        new = replace(value, name=fresh(self.source, self.taken, f"{name}_scaled"))
        self.scope.append(ir.Pointwise(result=new, fn=Fn.MUL, args=(self._plain(name), factor)))
        self.shared[-1][key] = new.name
        return new.name

    def _restore(self, value: ir.Value) -> None:
        if value.name not in self.plan.restore:
            return
        factor = self._const(1 / FACTOR, None)
        new = replace(value, name=fresh(self.source, self.taken, f"{value.name}_plain"))
        self.scope.append(ir.Pointwise(result=new, fn=Fn.MUL, args=(value.name, factor)))
        self.back[value.name] = new.name

    def _const(self, number: float, user: Op | None) -> str:
        for scope in self.shared:
            if ("const", number) in scope:
                return scope["const", number]
        line = None
        if user is not None:
            line = user.line if isinstance(user, ir.Loop | ir.Store) else user.result.line
        name = fresh(self.source, self.taken, "factor")
        value = ir.Value(name=name, dims=(), dtype=DType.F32, line=line)
        self.scope.append(ir.Const(result=value, value=number))
        self.shared[-1]["const", number] = name
        return name
