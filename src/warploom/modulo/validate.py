"""Refusing bodies that mean nothing: each fault is a typed error that names its culprit."""

from collections.abc import Iterable

from warploom.errors import ConfigError, CostModelError, CycleError, GraphError, InfeasibleError
from warploom.modulo.bounds.paths import Cycle, Paths
from warploom.modulo.bounds.system import Arc
from warploom.modulo.model import ModuloProblem, Read, Ring, RingKind

MAX_OPS = 4096
MAX_CYCLES = 10**7
MAX_COUNT = 4096  # iterations between a value and its use, copies, servers, pieces
MAX_SIZE = 10**9  # bytes or registers


def validate(problem: ModuloProblem) -> None:
    """Raise the error that explains why ``problem`` cannot be scheduled at any II."""
    _check_names(problem)
    _check_ops(problem)
    for edge in problem.edges:
        where = f"edge {edge.src} -> {edge.dst} ({edge.why})"
        _check_indices(problem, where, [edge.src, edge.dst])
        names = f"{problem.ops[edge.src].name} -> {problem.ops[edge.dst].name}"
        _check_number(f"edge {names}: latency", edge.latency)
        _check_number(f"edge {names}: distance", edge.distance, MAX_COUNT)
        _check_number(f"edge {names}: hand-off", edge.handoff or 0)
    _check_number("handoff", problem.handoff)
    _check_number("release", problem.release)
    for ring in problem.rings:
        _check_ring(problem, ring)
    for value in problem.values:
        _check_indices(problem, f"value {value.name!r}", [value.src])
        _check_reads(problem, f"value {value.name!r}", value.uses)
        _check_number(f"value {value.name!r}: size", value.size, MAX_SIZE)
        _check_number(f"value {value.name!r}: late", value.late)
        _check_owner(problem, f"value {value.name!r}", value.role)
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
        _check_number(f"unit {unit.name!r}: capacity", unit.capacity, MAX_COUNT)
        _check_number(f"unit {unit.name!r}: queue", unit.queue or 0)
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
        _check_number(f"op {op.name!r}: pieces", op.pieces, MAX_COUNT)
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
    _check_number(f"{where}: copies", ring.min_depth, MAX_COUNT)
    _check_number(f"{where}: copies", ring.max_depth, MAX_COUNT)
    if not 1 <= ring.min_depth <= ring.max_depth:
        raise ConfigError(
            f"{where} may have {ring.min_depth} to {ring.max_depth} copies",
            where=problem.name,
            fix="1 <= min_depth <= max_depth",
        )
    _check_number(f"{where}: size", ring.size, MAX_SIZE)
    _check_owner(problem, where, ring.role)


def _check_budgets(problem: ModuloProblem) -> None:
    _check_number("smem_budget", problem.smem_budget or 0, MAX_SIZE)
    for role in problem.roles:
        _check_number(f"role {role.name!r}: register_budget", role.register_budget or 0, MAX_SIZE)
        _check_number(f"role {role.name!r}: static_registers", role.static_registers, MAX_SIZE)
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
    arcs = [Arc(e.src, e.dst, e.latency, 0, e.why) for e in problem.edges if e.distance == 0]
    found = Paths(len(problem.ops), arcs).at(0)
    if isinstance(found, Cycle):
        names = " -> ".join(problem.ops[v].name for v in (*(a.src for a in found), found[0].src))
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


def _check_reads(problem: ModuloProblem, where: str, reads: Iterable[Read]) -> None:
    for read in reads:
        _check_indices(problem, where, [read.op])
        _check_number(f"{where}: a read's hold", read.hold)
        _check_number(f"{where}: a read's distance", read.distance, MAX_COUNT)


def _check_indices(problem: ModuloProblem, where: str, indices: Iterable[int]) -> None:
    for i in indices:
        if not 0 <= i < len(problem.ops):
            raise GraphError(
                f"{where} names op {i}, but the body has ops 0..{len(problem.ops) - 1}",
                where=problem.name,
            )


def _check_owner(problem: ModuloProblem, where: str, role: str | None) -> None:
    if role is not None and role not in problem.role_names():
        raise ConfigError(
            f"{where} is in the registers of role {role!r}, which is not declared",
            where=problem.name,
            fix=f"declared roles: {', '.join(problem.role_names())}",
        )


def _check_number(what: str, value: int, most: int = MAX_CYCLES) -> None:
    if not isinstance(value, int) or not 0 <= value <= most:
        raise CostModelError(f"{what} is {value!r}", fix=f"use a whole number from 0 to {most}")
