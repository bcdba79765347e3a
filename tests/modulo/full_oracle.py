"""A second exhaustive judge, for everything at once: distances, values, budgets, roles, isolation.

It enumerates roles, cycles and depths. For each choice every budgeted value gets each lifetime it
could have without breaking the budget alone; pressure is counted cycle by cycle, and whether lags
exist is decided by Bellman-Ford over lower and upper differences. So no bound on lags is assumed.
Nothing of the solver is used.
"""

from __future__ import annotations

from itertools import product


def least_ii(problem, max_ii):
    """The least II up to ``max_ii``, or None."""
    return next((ii for ii in range(1, max_ii + 1) if fits(problem, ii)), None)


def least_registers(problem, ii, most):
    """The fewest live registers at ``ii`` of a body with one role and no budget."""
    return next((b for b in range(most + 1) if fits(problem, ii, live_budget=b)), None)


def fits(problem, ii, live_budget=None):
    """True when some schedule at ``ii`` exists (with at most ``live_budget`` live values)."""
    names = [r.name for r in problem.roles] or ["main"]
    allowed = [[op.role] if op.role else list(op.may_run_on) or names for op in problem.ops]
    for roles in product(*allowed):
        if any(e.tie and roles[e.src] != roles[e.dst] for e in problem.edges):
            continue
        for depths in product(*[range(r.min_depth, r.max_depth + 1) for r in problem.rings]):
            spare = _spare(problem, roles, depths)
            if spare is None:
                continue
            if live_budget is not None:
                spare = dict.fromkeys(names, live_budget)
            arcs = _arcs(problem, roles, depths)
            for cycles in _cycles(problem, ii, roles):
                if _lags_exist(problem, ii, roles, arcs, cycles, spare):
                    return True
    return False


def _spare(problem, roles, depths):
    """Registers left for live values per role (None: no limit); None when rings break a budget."""
    smem, used = 0, {r.name: r.static_registers for r in problem.roles}
    for ring, depth in zip(problem.rings, depths, strict=True):
        if ring.kind == "smem":
            smem += ring.size * depth
        else:
            reads = [u.op for uses in ring.readers for u in uses]
            owner = ring.role or roles[reads[0] if reads else ring.writers[0]]
            used[owner] = used.get(owner, 0) + ring.size * depth
    if problem.smem_budget is not None and smem > problem.smem_budget:
        return None
    spare = {
        r.name: None if r.register_budget is None else r.register_budget - used[r.name]
        for r in problem.roles
    }
    return None if any(s is not None and s < 0 for s in spare.values()) else spare


def _arcs(problem, roles, depths):
    out = []
    for e in problem.edges:
        cost = problem.handoff if e.handoff is None else e.handoff
        extra = cost if roles[e.src] != roles[e.dst] else 0
        out.append((e.src, e.dst, e.latency + extra, e.distance))
    for ring, depth in zip(problem.rings, depths, strict=True):
        p = len(ring.writers)
        for k, uses in enumerate(ring.readers):
            later, index = divmod(k + depth, p)
            writer = ring.writers[index]
            for u in uses:
                extra = problem.release if roles[u.op] != roles[writer] else 0
                out.append((u.op, writer, u.hold + extra, later - u.distance))
            if p > 1:
                wrap, nxt = divmod(k + 1, p)
                out.append((ring.writers[k], ring.writers[nxt], 0, wrap))
    return out


def _cycles(problem, ii, roles):
    capacity = {u.name: u.capacity for u in problem.capacities}
    n = len(problem.ops)
    for rest in product(range(ii), repeat=n - 1):
        cycles = (0, *rest)
        held = {}
        for v, op in enumerate(problem.ops):
            claims = [(h.unit, h.cycles) for h in op.holds()]
            if stream := _stream(problem, op):
                claims.append((("stream", roles[v]), stream))
            for unit, held_for in claims:
                for c in range(held_for):
                    cell = (unit, (cycles[v] + c) % ii)
                    held[cell] = held.get(cell, 0) + 1
        if any(count > capacity.get(unit, 1) for (unit, _), count in held.items()):
            continue
        if problem.isolate and not _isolated(problem, cycles):
            continue
        yield cycles


def _stream(problem, op):
    """How long the issuer stands: its last piece enters when the queue has taken one off."""
    queue = {u.name: u.queue for u in problem.capacities}.get(op.unit)
    over = op.pieces - queue if queue else 0
    if over <= 0:
        return op.issue
    cycle = op.issue
    while cycle * op.pieces < over * op.occupancy:  # so many pieces are done by this cycle
        cycle += 1
    return cycle


def _isolated(problem, cycles):
    """Some rotation walks through the partitions in order, each once."""
    issues = sorted((p, op.partition) for p, op in zip(cycles, problem.ops, strict=True))
    order = [part for _, part in issues]
    turns = [order[k:] + order[:k] for k in range(len(order))]
    return any(turn == sorted(order) for turn in turns)


def _lags_exist(problem, ii, roles, arcs, cycles, spare):
    values = [v for v in problem.values if spare.get(v.role or roles[v.src]) is not None]
    choices = [list(_lifetimes(v, ii, cycles, spare[v.role or roles[v.src]])) for v in values]
    for lives in product(*choices):
        if not _fit_registers(values, lives, ii, roles, cycles, spare):
            continue
        bounds = [
            (a, b, -((cycles[b] - cycles[a] + distance * ii - latency) // ii))
            for a, b, latency, distance in arcs
        ]
        for value, life in zip(values, lives, strict=True):
            for u in value.uses:
                # t_use + distance*ii + hold - (t_src + late) <= life
                slack = life - (cycles[u.op] + u.hold + u.distance * ii)
                slack += cycles[value.src] + value.late
                bounds.append((u.op, value.src, -(slack // ii)))
        if _solvable(len(problem.ops), bounds):
            return True
    return False


def _lifetimes(value, ii, cycles, spare):
    """Every length the value could live without breaking the budget by itself."""
    out = {0}
    most = (spare // value.size + 1) * ii if value.size else None
    for u in value.uses:
        rest = cycles[u.op] + u.hold - cycles[value.src] - value.late
        if most is None:
            out.add(64 * ii + rest)
            continue
        life = rest % ii
        while life <= most:
            out.add(life)
            life += ii
    return sorted(out)


def _fit_registers(values, lives, ii, roles, cycles, spare):
    rows = {}
    for value, life in zip(values, lives, strict=True):
        row = rows.setdefault(value.role or roles[value.src], [0] * ii)
        start = cycles[value.src] + value.late
        for c in range(start, start + (life if value.size else 0)):
            row[c % ii] += value.size
    return all(max(row) <= spare[role] for role, row in rows.items())


def _solvable(n, bounds):
    """``k[b] - k[a] >= w`` for all bounds has a solution."""
    k = [0] * n
    for _ in range(n + 1):
        changed = False
        for a, b, w in bounds:
            if k[b] < k[a] + w:
                k[b] = k[a] + w
                changed = True
        if not changed:
            return True
    return False
