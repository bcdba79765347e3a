"""Exhaustive search on tiny bodies; shares no code with the solver.

Cycles are enumerated with unit conflicts pruned, depths are enumerated, lags follow from the
difference constraints by plain Bellman-Ford. With register budgets all times are enumerated.
"""

from __future__ import annotations

from itertools import product


def _lags(n, arcs, ii, cycles):
    k = [0] * n
    for _ in range(n + 1):
        changed = False
        for a, b, latency, distance in arcs:
            need = k[a] - (-(latency - distance * ii + cycles[a] - cycles[b]) // ii)
            if k[b] < need:
                k[b] = need
                changed = True
        if not changed:
            return k
    return None


def _capacity(problem, unit):
    return {u.name: u.capacity for u in problem.capacities}.get(unit, 1)


def _cycles(problem, ii):
    n = len(problem.ops)
    used, cycles = {}, [0] * n

    def place(i):
        if i == n:
            yield cycles
            return
        op = problem.ops[i]
        for x in range(ii if i else 1):
            cells = [(h.unit, (x + c) % ii) for h in op.holds() for c in range(h.cycles)]
            for cell in cells:
                used[cell] = used.get(cell, 0) + 1
            if all(used[c] <= _capacity(problem, c[0]) for c in cells):
                cycles[i] = x
                yield from place(i + 1)
            for cell in cells:
                used[cell] -= 1

    yield from place(0)


def _cost(problem, depths):
    return sum(r.size * d for r, d in zip(problem.rings, depths, strict=True) if r.kind == "smem")


def _ring_arcs(problem, depths):
    out = []
    for ring, depth in zip(problem.rings, depths, strict=True):
        p = len(ring.writers)
        for k in range(p):
            for u in ring.readers[k]:
                later, w = divmod(k + depth, p)
                out.append((u.op, ring.writers[w], u.hold, later - u.distance))
            if p > 1:
                out.append((ring.writers[k], ring.writers[(k + 1) % p], 0, (k + 1) // p))
    return out


def least(problem, max_ii):
    """(least II, least shared memory there), or None when nothing fits up to ``max_ii``."""
    n = len(problem.ops)
    base = [(e.src, e.dst, e.latency, e.distance) for e in problem.edges]
    choices = [range(r.min_depth, r.max_depth + 1) for r in problem.rings]
    depths = sorted(product(*choices), key=lambda d: _cost(problem, d))
    if problem.smem_budget is not None:
        depths = [d for d in depths if _cost(problem, d) <= problem.smem_budget]
    arcs = {d: base + _ring_arcs(problem, d) for d in depths}
    for ii in range(1, max_ii + 1):
        best = None
        for cycles in _cycles(problem, ii):
            for d in depths:
                if best is not None and _cost(problem, d) >= best:
                    break
                if _lags(n, arcs[d], ii, cycles) is not None:
                    best = _cost(problem, d)
                    break
            if best is not None and best == _cost(problem, depths[0]):
                break
        if best is not None:
            return ii, best
    return None


def least_with_registers(problem, max_ii, overlap=3):
    """Least II under the register budget of the only role; every time is enumerated."""
    budget = problem.roles[0].register_budget
    n = len(problem.ops)
    for ii in range(1, max_ii + 1):
        for rest in product(range(ii * overlap), repeat=n - 1):
            for first in range(ii):
                times = (first, *rest)
                if _valid(problem, ii, times) and _pressure(problem, ii, times) <= budget:
                    return ii
    return None


def _valid(problem, ii, times):
    for e in problem.edges:
        if times[e.dst] + e.distance * ii < times[e.src] + e.latency:
            return False
    used = {}
    for op, t in zip(problem.ops, times, strict=True):
        for h in op.holds():
            for c in range(h.cycles):
                cell = (h.unit, (t + c) % ii)
                used[cell] = used.get(cell, 0) + 1
                if used[cell] > _capacity(problem, h.unit):
                    return False
    return True


def _pressure(problem, ii, times):
    live = [0] * ii
    for v in problem.values:
        end = max(times[u.op] + u.distance * ii + u.hold for u in v.uses)
        for c in range(times[v.src] + v.late, end):
            live[c % ii] += v.size
    return max(live)
