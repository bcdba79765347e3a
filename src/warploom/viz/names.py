"""A schedule in the author's names, for pictures: ``k`` instead of ``ring_v11``.

A document names ops, rings and registers after values of the tile IR, and most of those have no
name in the source. ``source_names`` finds one for each: the variable it was assigned to, the tensor
it was loaded from, or the expression that made it. ``relabelled`` gives the document and its
costs under these names; nothing but names differs, so a run of it takes the same cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from warploom.ir import tile as ir
from warploom.ir.dataflow import FlowOp
from warploom.ir.machine_costs import RoleCosts
from warploom.ir.mbarrier_dialect import Load, Mma, RoleProgram, RolesDocument

LONGEST = 22  # characters of an expression
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNames:
    """Readable names by those of a document: its ops, its rings and the parts of their slots."""

    ops: Mapping[str, str]
    rings: Mapping[str, str]
    parts: Mapping[str, str]

    def op(self, name: str) -> str:
        """An op's name as it is shown."""
        return self.ops.get(name, name)


def source_names(
    document: RolesDocument,
    kernel: ir.Kernel,
    variables: Iterable[str],
    derived: Mapping[str, Any] | None = None,
    renamed: Mapping[str, str] | None = None,
) -> SourceNames:
    """Names from the tile IR ``kernel`` of a function with these local ``variables``.

    ``derived``: ops by result that passes added: unrolled copies, masks at the boundary.
    ``renamed``: values of the kernel by the names they have in this document.
    """
    defined = document.flow.ops if document.flow is not None else ()
    copied = {r: op.operands[0].value for op in defined for r in op.results if op.operands}
    title = _titles(kernel, frozenset(variables), derived or {}, copied, renamed or {})
    kinds: dict[str, type] = {}
    for program in document.programs:
        for _, entries in program.phases():
            kinds |= {e.op: type(e) for e in entries if hasattr(e, "op")}
    copies = frozenset(copied) - {*made_by(kernel), *(derived or {})}
    ops = _distinct({op.name: _op_title(op, kinds.get(op.name), title, copies) for op in defined})
    parts = _distinct({p.name: title(p.name) or p.name for r in document.rings for p in r.parts})
    rings = {r.name: ", ".join(parts[p.name] for p in r.parts) for r in document.rings}
    return SourceNames(ops=ops, rings=_distinct(rings), parts=parts)


def _op_title(
    op: FlowOp, kind: type | None, title: Callable[[str], str], copies: frozenset[str]
) -> str:
    if kind is Load:
        return f"load {', '.join(title(r) or r for r in op.results)}"
    if kind is Mma and len(op.operands) >= 2:
        factors = [title(o.value) or o.value for o in op.operands[:2]]
        return " @ ".join(factors)
    # A step that several values come from is named after those that the source names.
    found = [title(r) for r in op.results if r not in copies]
    named = list(dict.fromkeys(t for t in found if t.isidentifier()))
    short = [t for t in found if t and "..." not in t][:1]
    return ", ".join(named[:3] or short) or op.name


def made_by(kernel: ir.Kernel) -> dict[str, Any]:
    """The ops of a kernel by what they define."""
    return {v.name: op for op in ir.walk(kernel.ops) for v in ir.results(op)}


def _titles(
    kernel: ir.Kernel,
    variables: frozenset[str],
    derived: Mapping[str, Any],
    copied: Mapping[str, str],
    renamed: Mapping[str, str],
) -> Callable[[str], str]:
    """The name or expression of a value; empty for values that nothing is known of."""
    own = made_by(kernel)
    made = {**derived, **own}
    carried = {}
    for loop in kernel.loops:
        for c in loop.carried:
            for name in (c.inside.name, c.last, c.result.name):
                carried[name] = c.first

    def title(name: str, depth: int = 0) -> str:
        name = renamed.get(name, name)
        if name in variables:
            return name
        if name in carried and carried[name] in variables:
            return carried[name]
        op = made.get(name)
        if depth > 6:
            return ""
        if op is None:
            return title(copied[name], depth + 1) if name in copied else ""
        if name not in own and isinstance(op, ir.Pointwise) and op.fn is ir.Fn.WHERE:
            return title(op.args[1], depth + 1)  # a mask at the boundary
        text = _expression(op, lambda n: title(n, depth + 1))
        return text if len(text) <= LONGEST else _brief(op)

    return title


def _expression(op: Any, title: Callable[[str], str]) -> str:  # noqa: ANN401, PLR0911 (any op)
    match op:
        case ir.Load():
            return str(op.tensor)
        case ir.Dot():
            return f"{title(op.a)} @ {title(op.b)}"
        case ir.Scalar():
            return str(op.parameter)
        case ir.Const():
            return f"{op.value:g}" if isinstance(op.value, float) else str(op.value)
        case ir.Reduce():
            return f"{op.fn}({title(op.arg)})"
        case ir.Pointwise() if op.fn is ir.Fn.CAST:
            return title(op.args[0])
        case ir.Pointwise() if str(op.fn) in SIGNS and len(op.args) == 2:
            return f" {SIGNS[str(op.fn)]} ".join(title(a) or "?" for a in op.args)
        case ir.Pointwise():
            return f"{op.fn}({', '.join(title(a) or '?' for a in op.args)})"
        case ir.Transpose() | ir.Broadcast():
            return title(op.arg)
    return ""


def _brief(op: Any) -> str:  # noqa: ANN401 (an op of any kind)
    fn = getattr(op, "fn", None)
    return f"{fn}(...)" if fn is not None else ""


def _distinct(names: Mapping[str, str]) -> dict[str, str]:
    """The same with a number behind what would occur twice."""
    seen: dict[str, int] = {}
    out = {}
    for name, shown in names.items():
        seen[shown] = seen.get(shown, 0) + 1
        out[name] = shown if seen[shown] == 1 else f"{shown} ({seen[shown]})"
    return out


def relabelled(document: RolesDocument, names: SourceNames, title: str) -> RolesDocument:
    """The document under other names, for drawing; its flow, which is not drawn, is left out."""
    return replace(
        document,
        name=title,
        rings=tuple(
            replace(
                r,
                name=names.rings[r.name],
                parts=tuple(replace(p, name=names.parts[p.name]) for p in r.parts),
            )
            for r in document.rings
        ),
        programs=tuple(_program(p, names) for p in document.programs),
        costs=None if document.costs is None else relabelled_costs(document.costs, names),
        flow=None,
        exchanges=(),
    )


def relabelled_costs(costs: RoleCosts, names: SourceNames) -> RoleCosts:
    """Prices under the same names."""
    return replace(costs, ops=tuple((names.op(op), cost) for op, cost in costs.ops))


def _program(program: RoleProgram, names: SourceNames) -> RoleProgram:
    lists: dict[str, Any] = {
        phase: tuple(_entry(e, names) for e in entries) for phase, entries in program.phases()
    }
    return replace(program, **lists)


def _entry(entry: Any, names: SourceNames) -> Any:  # noqa: ANN401 (a role entry of any kind)
    changed: dict[str, Any] = {}
    if hasattr(entry, "op"):
        changed["op"] = names.op(entry.op)
    if hasattr(entry, "ring"):
        changed["ring"] = names.rings[entry.ring]
    if hasattr(entry, "part"):
        changed["part"] = names.parts[entry.part]
    for field in ("slots", "fills_slots"):
        if reads := getattr(entry, field, ()):
            changed[field] = tuple(
                replace(s, ring=names.rings[s.ring], part=names.parts[s.part]) for s in reads
            )
    return replace(entry, **changed) if changed else entry
