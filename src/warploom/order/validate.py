"""Refusing bodies that mean nothing: each fault is a typed error that names its culprit."""

from __future__ import annotations

from collections.abc import Iterable

from warploom.errors import ConfigError, CostModelError, CycleError, GraphError, InfeasibleError
from warploom.order.model import ModuloProblem, Read, Ring, RingKind

MAX_OPS = 4096
MAX_CYCLES = 10**7


def validate(problem: ModuloProblem) -> None:
    """Raise the error that explains why ``problem`` cannot be scheduled at any II."""
    _check_names(problem)
    _check_ops(problem)
    _check_edges(problem)
    for ring in problem.rings:
        _check_ring(problem, ring)
    for value in problem.values:
        _check_indices(problem, f"value {value.name!r}", [value.src])
        _check_reads(problem, f"value {value.name!r}", value.uses)
        _require(value.size >= 0 and value.late >= 0, f"value {value.name!r}", "a negative size")
    _check_budgets(problem)
    _check_cycles(problem)
    _check_ties(problem)


def _check_names(problem: ModuloProblem) -> None:
    if not problem.ops:
        raise GraphError("the body has no ops", where=problem.name, fix="declare at least one op")
    if len(problem.ops) > MAX_OPS:
        raise GraphError(f"more than {MAX_OPS} ops", where=problem.name)
    for what, names in (
        ("op", [op.name for op in problem.ops]),
        ("ring", [r.name for r in problem.rings]),
        ("value", [v.name for v in problem.values]),
        ("role", [r.name for r in problem.roles]),
        ("unit", [u.name for u in problem.capacities]),
    ):
        twice = {n for n in names if names.count(n) > 1} if len(set(names)) < len(names) else None
        if twice:
            raise GraphError(
                f"two {what}s have the same name {min(twice)!r}",
                where=problem.name,
                fix="give each its own name: results are reported by name",
            )


def _check_ops(problem: ModuloProblem) -> None:
    for unit in problem.capacities:
        if unit.capacity < 1:
            raise ConfigError(
                f"unit {unit.name!r} has capacity {unit.capacity}",
                where=problem.name,
                why="no op that needs the unit could ever issue",
                fix="give it a capacity of at least 1, or remove the unit from the ops",
            )
        if unit.queue is not None and unit.queue < 1:
            raise ConfigError(
                f"unit {unit.name!r} has a queue of {unit.queue}",
                where=problem.name,
                why="no piece could ever be issued to it",
                fix="a queue of at least 1, or None for a unit that never blocks",
            )
    known = set(problem.role_names())
    for op in problem.ops:
        _check_number(f"op {op.name!r}: occupancy", op.occupancy)
        _check_number(f"op {op.name!r}: issue", op.issue)
        _check_number(f"op {op.name!r}: pieces", op.pieces)
        holds = [h.unit for h in op.holds()]
        for hold in op.also:
            _check_number(f"op {op.name!r}: cycles on {hold.unit!r}", hold.cycles)
        if len(set(holds)) < len(holds):
            raise CostModelError(f"op {op.name!r} holds one unit twice", where=problem.name)
        for role in (*op.may_run_on, *([op.role] if op.role is not None else [])):
            if role not in known:
                raise ConfigError(
                    f"op {op.name!r} runs on role {role!r}, which is not declared",
                    where=problem.name,
                    fix=f"declared roles: {', '.join(sorted(known))}",
                )
        if problem.isolate and op.partition is None:
            raise ConfigError(
                f"isolation is asked for, but op {op.name!r} has no partition",
                where=problem.name,
                fix="set ModuloOp.partition on every op",
            )


def _check_edges(problem: ModuloProblem) -> None:
    for edge in problem.edges:
        where = f"edge {edge.src} -> {edge.dst} ({edge.why})"
        _check_indices(problem, where, [edge.src, edge.dst])
        names = f"{problem.ops[edge.src].name} -> {problem.ops[edge.dst].name}"
        if edge.latency < 0 or (edge.handoff or 0) < 0:
            raise CostModelError(
                f"edge {names} has a negative latency",
                where=problem.name,
                why="with negative latencies a larger II may be infeasible where a smaller is not",
                fix="use 0, or state the order the other way round",
            )
        if edge.distance < 0:
            raise GraphError(
                f"edge {names} has loop distance {edge.distance}",
                where=problem.name,
                fix="a value flows to the same iteration (0) or a later one (1, 2, ...)",
            )
        _check_number(f"edge {names}: latency", edge.latency)
        _check_number(f"edge {names}: distance", edge.distance)
    _check_number("handoff", problem.handoff)
    _check_number("release", problem.release)


def _check_ring(problem: ModuloProblem, ring: Ring) -> None:
    where = f"ring {ring.name!r}"
    _check_indices(problem, where, ring.writers)
    if not ring.writers or len(ring.readers) != len(ring.writers):
        raise GraphError(
            f"{where} has {len(ring.writers)} writers and reads for {len(ring.readers)}",
            where=problem.name,
            fix="give one tuple of reads per writer, and at least one writer",
        )
    if len(set(ring.writers)) < len(ring.writers):
        raise GraphError(f"{where} names one writer twice", where=problem.name)
    for reads in ring.readers:
        _check_reads(problem, where, reads)
    if not 1 <= ring.min_depth <= ring.max_depth:
        raise ConfigError(
            f"{where} may have {ring.min_depth} to {ring.max_depth} copies",
            where=problem.name,
            fix="1 <= min_depth <= max_depth",
        )
    _require(ring.size >= 0, where, "a negative size")


def _check_budgets(problem: ModuloProblem) -> None:
    smem = [r for r in problem.rings if r.kind is RingKind.SMEM]
    least = sum(r.size * r.min_depth for r in smem)
    if problem.smem_budget is not None and least > problem.smem_budget:
        biggest = max(smem, key=lambda r: r.size * r.min_depth)
        raise InfeasibleError(
            f"the shared-memory budget {problem.smem_budget} is below one buffer of each ring",
            where=problem.name,
            why=f"the least depths need {least}, of which ring {biggest.name!r} takes "
            f"{biggest.size * biggest.min_depth}",
            fix=f"raise smem_budget to at least {least}, or shrink the tiles",
            smallest_feasible=least,
        )
    for role in problem.roles:
        own = [r for r in problem.rings if r.kind is RingKind.REG and r.role == role.name]
        least = role.static_registers + sum(r.size * r.min_depth for r in own)
        if role.register_budget is not None and least > role.register_budget:
            raise InfeasibleError(
                f"the register budget {role.register_budget} of role {role.name!r} is too small",
                where=problem.name,
                why=f"its accumulators and one copy of each register ring need {least}",
                fix=f"raise register_budget to at least {least}",
                smallest_feasible=least,
            )


def _check_cycles(problem: ModuloProblem) -> None:
    """Distance-0 edges must admit an order; a cycle of latency 0 only ties its ops together."""
    found = _zero_cycle(problem)
    if found:
        names = " -> ".join(problem.ops[v].name for v in found)
        raise CycleError(
            "edges of loop distance 0 form a cycle",
            where=names,
            why="each op of the cycle would have to wait for itself in the same iteration",
            fix="one of these edges must carry a loop distance of at least 1",
        )


def _check_ties(problem: ModuloProblem) -> None:
    """Tied ops need a role in common; those tied to one cycle must fit their units together."""
    for group in _role_groups(problem):
        if not set.intersection(*(set(problem.allowed_roles(v)) for v in group)):
            raise InfeasibleError(
                "tied ops have no role in common",
                where=", ".join(problem.ops[v].name for v in group),
                why="a tie keeps both ends of an edge on one role",
                fix="drop the tie, or allow the ops a common role",
            )
    for group in _tied_groups(problem):
        for unit in problem.units():
            held = [v for v in group if any(h.unit == unit for h in problem.ops[v].holds())]
            if len(held) > problem.capacity(unit):
                names = ", ".join(problem.ops[v].name for v in held)
                raise InfeasibleError(
                    f"tied ops need unit {unit!r} in the same cycle",
                    where=names,
                    why=f"edges of latency 0 both ways make them issue together, and the unit "
                    f"serves {problem.capacity(unit)} at once",
                    fix="drop one of the edges, or raise the unit's capacity",
                )


def _role_groups(problem: ModuloProblem) -> list[list[int]]:
    """Ops that ties keep on one role."""
    group = list(range(len(problem.ops)))
    for e in (e for e in problem.edges if e.tie):
        a, b = group[e.src], group[e.dst]
        group = [a if g == b else g for g in group]
    members: dict[int, list[int]] = {}
    for v, g in enumerate(group):
        members.setdefault(g, []).append(v)
    return [m for m in members.values() if len(m) > 1]


def _tied_groups(problem: ModuloProblem) -> list[list[int]]:
    """Classes of ops that reach each other through distance-0 edges (all of latency 0 then)."""
    n = len(problem.ops)
    after: list[set[int]] = [set() for _ in range(n)]
    for e in problem.edges:
        if e.distance == 0 and e.latency == 0 and e.src != e.dst:
            after[e.src].add(e.dst)
    reach: list[set[int]] = []
    for v in range(n):
        seen, todo = set[int](), [v] if after[v] else []
        while todo:
            for w in after[todo.pop()] - seen:
                seen.add(w)
                todo.append(w)
        reach.append(seen)
    groups = {frozenset([v, *(w for w in reach[v] if v in reach[w])]) for v in range(n)}
    return sorted(sorted(g) for g in groups if len(g) > 1)


def _zero_cycle(problem: ModuloProblem) -> list[int] | None:
    n = len(problem.ops)
    edges = [e for e in problem.edges if e.distance == 0]
    dist, parent = [0] * n, [-1] * n
    last = -1
    for _ in range(n + 1):
        last = -1
        for e in edges:
            if dist[e.src] + e.latency > dist[e.dst]:
                dist[e.dst] = dist[e.src] + e.latency
                parent[e.dst] = e.src
                last = e.dst
        if last < 0:
            return None
    for _ in range(n):
        last = parent[last]
    cycle, at = [last], parent[last]
    while at != last:
        cycle.append(at)
        at = parent[at]
    return [*reversed(cycle), cycle[-1]]


def _check_reads(problem: ModuloProblem, where: str, reads: Iterable[Read]) -> None:
    for read in reads:
        _check_indices(problem, where, [read.op])
        _require(read.hold >= 0, where, "a read with a negative hold")
        _require(read.distance >= 0, where, "a read of an earlier iteration's future")


def _check_indices(problem: ModuloProblem, where: str, indices: Iterable[int]) -> None:
    for i in indices:
        if not 0 <= i < len(problem.ops):
            raise GraphError(
                f"{where} names op {i}, but the body has ops 0..{len(problem.ops) - 1}",
                where=problem.name,
            )


def _check_number(what: str, value: int) -> None:
    if not 0 <= value <= MAX_CYCLES:
        raise CostModelError(f"{what} is {value}", fix=f"use a number from 0 to {MAX_CYCLES}")


def _require(condition: bool, where: str, what: str) -> None:
    if not condition:
        raise GraphError(f"{where} has {what}")
