"""Lower bounds, each a proof without search: units, recurrences, buffer depths and budgets.

Take any schedule and keep its pattern: lags, the order of all issues, releases and ends of life
round the interval. Under that pattern every constraint compares two such events, with a constant of
the body (a latency, an occupancy, a hold) and a whole number of intervals. The least II of the
pattern is the largest ratio of a simple cycle of these, hence at most the sum of all constants.

A bound also carries its reason (``Limit``), so that a result can say what it is limited by.
"""

from collections.abc import Sequence

from warploom.errors import InfeasibleError
from warploom.modulo.bounds.paths import UNREACHED, Cycle, IntMatrix, Paths, distances, rec_mii
from warploom.modulo.bounds.system import Arc, RegisterFile, System
from warploom.modulo.model import ModuloProblem, Value
from warploom.modulo.result import Limit, LimitKind


def deciding_interval(system: System) -> int:
    """An II at which (or, without monotony, up to which) any feasible body can be scheduled."""
    problem = system.problem
    handoffs = [problem.handoff if e.handoff is None else e.handoff for e in problem.edges]
    total = sum(e.latency for e in problem.edges) + sum(handoffs)
    total += sum(h.cycles for op in problem.ops for h in op.holds())
    total += sum(op.issue for op in problem.ops)
    for ring in problem.rings:
        reads = [u for uses in ring.readers for u in uses]
        total += sum(u.hold + problem.release for u in reads)
    for value in problem.values:
        total += value.late + sum(u.hold for u in value.uses)
    return max(total, len(problem.ops), 2)


def is_monotone(problem: ModuloProblem) -> bool:
    """True when a schedule at one II gives one at every larger II.

    It does, by adding cycles at the end of the interval, unless a value starts to live later than
    its issue and counts against a budget: the start then moves against everything else.
    """
    limited = any(r.register_budget is not None for r in problem.roles)
    return not limited or all(v.late == 0 for v in problem.values)


def res_mii(system: System) -> tuple[int, Limit]:
    """The busiest unit's demand per server."""
    best, limit = 1, Limit(kind=LimitKind.TRIVIAL, text="II cannot be less than one cycle")
    for unit in system.units:
        need = -(-unit.load() // unit.capacity)
        if need > best:
            best = need
            limit = Limit(
                kind=LimitKind.UNIT,
                text=f"unit {unit.name!r} is held {unit.load()} cycles an iteration"
                + (f" by {unit.capacity} servers" if unit.capacity > 1 else ""),
                culprits=(unit.name,),
            )
    return best, limit


def recurrence_limit(problem: ModuloProblem, cycle: Sequence[Arc]) -> Limit:
    """The sentence for a recurrence: its ops, latency and distance."""
    names = [problem.ops[a.src].name for a in cycle]
    latency, distance = sum(a.latency for a in cycle), sum(a.distance for a in cycle)
    rings = sorted({a.why for a in cycle if a.ring})
    through = f", through {', '.join(rings)}" if rings else ""
    return Limit(
        kind=LimitKind.RECURRENCE,
        text=f"recurrence {' > '.join([*names, names[0]])}: {latency} cycles over {distance} "
        f"iteration(s){through}",
        culprits=tuple(names),
    )


def body_rec_mii(system: System) -> tuple[int, Limit]:
    """RecMII with every ring at its largest depth."""
    rec, cycle = rec_mii(system.n, system.all_arcs(system.max_depths()))
    if rec == 0:
        limit = recurrence_limit(system.problem, cycle)
        raise InfeasibleError(
            f"body {system.problem.name!r} cannot be scheduled at any II",
            where=limit.text,
            why="the ring has fewer copies than the iterations its values must survive",
            fix="raise the ring's max_depth",
        )
    if not cycle:
        return max(rec, 1), Limit(kind=LimitKind.TRIVIAL, text="no recurrence")
    return rec, recurrence_limit(system.problem, cycle)


def depth_bounds(system: System, ii: int, d: IntMatrix) -> tuple[int, ...] | None:
    """Per ring the least depth that leaves no positive cycle, all others at their largest.

    ``d`` holds the distances at largest depths (or stronger ones). A single reuse arc decides for
    one writer; with several writers a cycle may pass the ring more than once, so the whole graph is
    tried. None: some ring has no feasible depth at this II.
    """
    out: list[int] = []
    largest = list(system.max_depths())
    for index, ring in enumerate(system.problem.rings):
        depth = ring.min_depth
        while depth <= ring.max_depth and _breaks(system.ring_arcs(index, depth), ii, d):
            depth += 1
        if len(ring.writers) > 1:
            while depth < ring.max_depth:
                trial = [*largest[:index], depth, *largest[index + 1 :]]
                if not isinstance(Paths(system.n, system.all_arcs(trial)).at(ii), Cycle):
                    break
                depth += 1
        if depth > ring.max_depth:
            return None
        out.append(depth)
    return tuple(out)


def _breaks(arcs: Sequence[Arc], ii: int, d: IntMatrix) -> bool:
    return any(
        d[a.dst, a.src] > UNREACHED and d[a.dst, a.src] + a.latency - a.distance * ii > 0
        for a in arcs
    )


def live_area(system: System, file: RegisterFile, ii: int, d: IntMatrix) -> int:
    """Register-cycles the values of a file need at least in one interval."""
    total = 0
    for index in file.values:
        value = system.problem.values[index]
        reach = [
            int(d[value.src, u.op]) + u.distance * ii + u.hold
            for u in value.uses
            if d[value.src, u.op] > UNREACHED
        ]
        total += value.size * max(0, max(reach, default=0) - value.late)
    return total


def register_bound(
    system: System, file: RegisterFile, ii: int, depths: Sequence[int], d: IntMatrix
) -> int:
    """Static registers, rings at these depths, and the average of what the values need."""
    return system.file_ring_registers(file, depths) - (-live_area(system, file, ii, d) // ii)


def budget_limit(
    system: System, ii: int, depths: Sequence[int] | None, d: IntMatrix
) -> Limit | None:
    """Why the budgets forbid this II even at the least depths; None when they do not."""
    problem = system.problem
    if depths is None:
        return Limit(kind=LimitKind.SEARCH, text=f"some ring has no feasible depth at II {ii}")
    need = system.smem(depths)
    if problem.smem_budget is not None and need > problem.smem_budget:
        return Limit(
            kind=LimitKind.SMEM,
            text=f"shared-memory budget {problem.smem_budget}: II {ii} needs {need}",
            culprits=_deep_rings(system, depths),
        )
    for file in system.files:
        if file.budget is None:
            continue
        need = register_bound(system, file, ii, depths, d)
        if need > file.budget:
            return Limit(
                kind=LimitKind.REGISTERS,
                text=f"register budget {file.budget} of role {file.role!r}: II {ii} needs {need}",
                culprits=(file.role,),
            )
    return None


def _deep_rings(system: System, depths: Sequence[int]) -> tuple[str, ...]:
    rings = system.problem.rings
    return tuple(r.name for r, x in zip(rings, depths, strict=True) if x > r.min_depth)


def peak_limit(system: System) -> Limit | None:
    """Why a register budget forbids every II: what surely lives while some op runs.

    Arcs of one iteration hold at any II, so a value whose definition they put before an op, and one
    of whose uses they put behind it, lives there in every schedule.
    """
    files = [f for f in system.files if f.budget is not None and f.values]
    inside = [a for a in system.arcs if a.distance == 0] if files else []
    d = distances(system.n, inside, 1) if files else None
    if d is None:
        return None
    for file in files:
        values = [system.problem.values[i] for i in file.values]
        need = max(
            sum(x.size for x in values if _lives(x, v, d)) for v in range(system.n)
        ) + system.file_ring_registers(file, [r.min_depth for r in system.problem.rings])
        if file.budget is not None and need > file.budget:
            return Limit(
                kind=LimitKind.REGISTERS,
                text=f"register budget {file.budget} of role {file.role!r}: {need} live at once",
                culprits=(file.role,),
            )
    return None


def _lives(value: Value, op: int, d: IntMatrix) -> bool:
    """Whether a value surely lives in the first cycle of an op, by arcs of one iteration."""
    begun = d[value.src, op] >= value.late
    return bool(begun) and any(d[op, u.op] + u.hold > 0 for u in value.uses if u.distance >= 0)


def plain_bound(system: System) -> tuple[int, Limit, int, int]:
    """(II, why not less, ResMII, RecMII) from units, recurrences and budgets together."""
    peak = peak_limit(system)
    if peak is not None:
        raise never(system.problem, peak)
    res, unit_limit = res_mii(system)
    rec, rec_limit = body_rec_mii(system)
    low, limit = (res, unit_limit) if res >= rec else (rec, rec_limit)
    if not is_monotone(system.problem) or budgets_block(system, low) is None:
        return low, limit, res, rec
    high, step, top = low, 1, max(low, deciding_interval(system))
    while (why := budgets_block(system, high)) is not None:
        if high >= top:
            raise never(system.problem, why)
        low, limit = high, why
        high, step = min(high + step, top), step * 2
    while low + 1 < high:
        mid = (low + high) // 2
        found = budgets_block(system, mid)
        if found is None:
            high = mid
        else:
            low, limit = mid, found
    return high, limit, res, rec


def budgets_block(system: System, ii: int) -> Limit | None:
    """The budget that forbids ``ii`` at the least depths, if any."""
    if not system.problem.rings and all(f.budget is None for f in system.files):
        return None
    d = distances(system.n, system.all_arcs(system.max_depths()), ii)
    if d is None:
        return Limit(kind=LimitKind.RECURRENCE, text=f"a recurrence forbids II {ii}")
    return budget_limit(system, ii, depth_bounds(system, ii, d), d)


def never(problem: ModuloProblem, why: Limit) -> InfeasibleError:
    """The proof that no II helps, as an error that names what stands in the way."""
    budget = why.kind in (LimitKind.SMEM, LimitKind.REGISTERS)
    what = "units and budgets together" if why.kind is LimitKind.SEARCH else "units"
    return InfeasibleError(
        f"body {problem.name!r} fits its {'budgets' if budget else what} at no II",
        where=", ".join(why.culprits),
        why=why.text,
        fix="raise the budget, or allow fewer copies to be demanded (min_depth)"
        if budget
        else "relax the ops named: another unit, a larger capacity, or an edge less",
    )
