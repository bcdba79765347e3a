"""The definition of the optimal order, taken literally: price every order, one by one.

Shares nothing with the search: own evaluation, own readiness, own limits.
"""

from warploom.ir.schedule_ops import OpRole, ResourceKind

PORT = (ResourceKind.LDS, ResourceKind.GLOBAL_MEM)


def price(body, order, penalty=0):
    finish = {}
    unit = {ResourceKind.MMA_UNIT: 0, ResourceKind.VALU: 0}
    port = live = peak = 0
    for i in order:
        node = body.ops[i]
        start = 0
        for e in body.edges:
            if e.loop_distance <= 0 and e.consumer_idx == i:
                start = max(start, finish.get(e.producer_idx, 0))
        if node.resource in unit:
            start = max(start, unit[node.resource])
            unit[node.resource] = start + node.latency
        if penalty > 0 and node.resource in PORT:
            start = max(start, port)
            port = start + penalty
        finish[i] = start + node.latency
        live += node.op.vgpr_def
        peak = max(peak, live)
        live -= node.op.vgpr_kill
    return max(finish.values(), default=0), peak


def orders(body, *, partitions=1, max_loads=0, budget=10**9):
    """Every admissible order, in lexicographic order."""
    n = len(body.ops)
    part = [max(p for p in range(partitions) if p * n // partitions <= i) for i in range(n)]
    needs = [
        {e.producer_idx for e in body.edges if e.loop_distance <= 0 and e.consumer_idx == i}
        for i in range(n)
    ]

    def extend(prefix, live, loads):
        if len(prefix) == n:
            yield tuple(prefix)
            return
        current = min(part[i] for i in range(n) if i not in prefix)
        if prefix and part[prefix[-1]] != current:
            loads = 0
        for i in range(n):
            op = body.ops[i].op
            if i in prefix or part[i] != current or not needs[i] <= set(prefix):
                continue
            if live + op.vgpr_def > budget:
                continue
            is_load = op.role is OpRole.GLOBAL_LOAD
            if is_load and max_loads and loads >= max_loads:
                continue
            count = 0 if op.role is OpRole.COMPUTE else loads + is_load
            yield from extend([*prefix, i], live + op.vgpr_def - op.vgpr_kill, count)

    yield from extend([], 0, 0)


def scan_halves(body, seed, bound, *, penalty, stop=True, **limits):
    """The order the defining scan returns, or None when it never leaves an over-budget seed."""
    budget = limits.get("budget", 10**9)
    best, best_pair = seed, price(body, seed, penalty)
    fits = best_pair[1] <= budget
    if fits and best_pair[0] == bound:
        return best
    if not fits:
        best = None
        best_pair = (10**9, 0)
    may_stop = stop and price(body, seed, penalty) > (bound, 0)
    for order in orders(body, **limits):
        pair = price(body, order, penalty)
        if pair < best_pair:
            best, best_pair = order, pair
            if may_stop and pair == (bound, 0):
                break
    return best


def scan_whole(body, **limits):
    """The first order of least makespan, or None when no order fits."""
    best, least = None, 10**9
    for order in orders(body, **limits):
        makespan = price(body, order)[0]
        if makespan < least:
            best, least = order, makespan
    return best
