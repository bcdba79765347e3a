"""What the reference does with recorded inputs, worked out from its documented rules alone.

Rows of the JSON files in, plain lists out; nothing of warploom is imported, so a deviation rule
that asks here cannot excuse a mistake of ours.
"""

from __future__ import annotations

import itertools

TAG, STAGE, SUB, K, RESOURCE, LATENCY, ROLE, CHANNEL, DEF, KILL = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
LOAD, READ, MMA, STORE, SYNC = (
    "GLOBAL_LOAD",
    "FRAGMENT_LOAD",
    "COMPUTE",
    "SHARED_STORE",
    "SYNC",
)
UNLIMITED = 999999
UNPRICED = ["NONE", 0, "NONE", 0, 0]


def row(tag, stage=0, sub=0, k="NONE", channel=-1):
    """A logical op."""
    return [tag, stage, sub, k, 0, 0, 0, "NONE", 0, "NONE", channel, 0, 0]


def pingpong_half(h):
    """The 12 declared ops of one half."""
    now, completion = ("K1", "K0") if h else ("K0", "K_PREV")
    loads = [row(0, 1 - h, 1, completion, 0), row(0, h, 0, now, 0)]
    loads += [row(1, h, s, now, 1) for s in (0, 1)]
    reads = [row(3, h, s, channel=0) for s in (0, 1)] + [row(4, h, s, channel=1) for s in (0, 1)]
    return loads + reads + [row(5, m, n) for m in (0, 1) for n in (0, 1)]


def annotated(ops, cost_rows):
    """Ops with unit, latency, role and registers of the cost model; unpriced ones get none."""
    model = {r[0]: r[1:] for r in cost_rows}
    out = []
    for op in ops:
        resource, latency, role, defined, killed = model.get(op[TAG], UNPRICED)
        out.append([*op[:RESOURCE], resource, latency, role, op[CHANNEL], defined, killed])
    return out


def interleaved(ops, config, *, capped=True):
    """One half in MMA-block order, with everything dropped that the reference drops."""
    sizing = config["block_sizing"]
    loads = [op for op in ops if op[ROLE] == LOAD]
    reads = [op for op in ops if op[ROLE] == READ]
    rows, columns, out, taken = set(), set(), [], 0
    for mma in (op for op in ops if op[ROLE] == MMA):
        new_m, new_n = mma[STAGE] not in rows, mma[SUB] not in columns
        rows.add(mma[STAGE])
        columns.add(mma[SUB])
        a = [r for r in reads if r[CHANNEL] == 0 and r[SUB] == mma[STAGE]][:1] if new_m else []
        b = [r for r in reads if r[CHANNEL] == 1 and r[SUB] == mma[SUB]][:1] if new_n else []
        out += b + a if config["frag_order"]["b_before_a"] else a + b
        quota = max((sizing["heavy"] if new_m else sizing["light"]) - new_m - new_n - 1, 0)
        if capped and sizing["max_globals"] > 0:
            quota = min(max(quota, 1), sizing["max_globals"])
        out += loads[taken : taken + quota]
        taken += quota
        out.append(mma)
    return out


def double_buffer_reorder(ops, config):
    """Each half on its own."""
    middle = len(ops) // 2
    return interleaved(ops[:middle], config) + interleaved(ops[middle:], config)


def single_buffer_loses(ops, config):
    """Whether the single-buffer order leaves out a declared op."""
    carried = config["loop_carried"]
    places = {READ, MMA, STORE, LOAD}
    for op in ops:
        if op[ROLE] in (SYNC, carried["role"]):
            continue
        if op[ROLE] not in places or (op[ROLE] == READ and op[SUB] == carried["selector"]):
            return True
    return False


def edges_of(ops, config):
    """The documented double-buffer edges: (producer, consumer, distance)."""
    n, middle = len(ops), len(ops) // 2
    fields = (config["ch0_match_field"], config["ch1_match_field"])
    out = []
    for i in range(n):
        for j in range(n):
            p, c = ops[i], ops[j]
            half = (int(i >= middle), int(j >= middle))
            pair = (p[ROLE], c[ROLE])
            if i == j:
                continue
            if pair == (READ, MMA) and half[0] == half[1] and (p[STAGE] == 0) == (j < middle):
                key = fields[0 if p[CHANNEL] == 0 else 1]
                if (c[STAGE] if key == 0 else c[SUB]) == p[SUB]:
                    out.append((i, j, 0))
            same_cell = (p[STAGE], p[SUB]) == (c[STAGE], c[SUB])
            if pair == (MMA, MMA) and half[0] != half[1] and same_cell:
                out.append((i, j, half[0]))
            if (p[CHANNEL], p[STAGE]) != (c[CHANNEL], c[STAGE]):
                continue
            if pair == (LOAD, READ):
                out.append((i, j, 0 if p[K] == "K_PREV" else 1))
            if pair == (READ, LOAD) and c[K] != "K_PREV":
                out.append((i, j, 0))
    return out


def greedy(ops, edges, parts=2):
    """The lowest-numbered ready op, part by part; None where the reference finds no order."""
    n, placed, order = len(ops), set(), []
    before = [{p for p, c, d in edges if c == i and d <= 0} for i in range(n)]
    bounds = [p * n // parts for p in range(parts + 1)]
    for lo, hi in itertools.pairwise(bounds):
        left = list(range(lo, hi))
        while left:
            ready = next((i for i in left if before[i] <= placed), None)
            if ready is None:
                return None
            left.remove(ready)
            placed.add(ready)
            order.append(ready)
    return order


def price(ops, edges, order, penalty=0):
    """Makespan and register peak of an order."""
    finish, unit, port, live, peak = {}, {"MMA_UNIT": 0, "VALU": 0}, 0, 0, 0
    for i in order:
        start = max((finish.get(p, 0) for p, c, d in edges if c == i and d <= 0), default=0)
        resource = ops[i][RESOURCE]
        if resource in unit:
            start = max(start, unit[resource])
            unit[resource] = start + ops[i][LATENCY]
        if penalty > 0 and resource in ("LDS", "GLOBAL_MEM"):
            start = max(start, port)
            port = start + penalty
        finish[i] = start + ops[i][LATENCY]
        live += ops[i][DEF]
        peak = max(peak, live)
        live -= ops[i][KILL]
    return max(finish.values(), default=0), peak


def stated_bound(ops, edges, penalty=0):
    """The bound that ends the reference's search early."""
    n = len(ops)
    start = [0] * n
    for _ in range(n):
        for p, c, d in edges:
            if d <= 0:
                start[c] = max(start[c], start[p] + ops[p][LATENCY])
    bounds = [start[i] + ops[i][LATENCY] for i in range(n)]
    for unit in ("MMA_UNIT", "VALU"):
        mine = [i for i in range(n) if ops[i][RESOURCE] == unit]
        total = sum(ops[i][LATENCY] for i in mine)
        if total:
            bounds.append(min(start[i] for i in mine) + total)
    if penalty > 0:
        bounds.append(penalty * sum(op[RESOURCE] in ("LDS", "GLOBAL_MEM") for op in ops))
    return max(bounds, default=0)


def blocks_of(ops, order):
    """(reads, loads, MMA) as indices, cut after each MMA."""
    out, reads, loads = [], [], []
    for i in order:
        if ops[i][ROLE] == READ:
            reads.append(i)
        elif ops[i][ROLE] == LOAD:
            loads.append(i)
        elif ops[i][ROLE] == MMA:
            out.append((reads, loads, i))
            reads, loads = [], []
    return out


def redistributed(blocks):
    """Cap 1: where each surplus load goes, as {load: (block, block it came from)}."""
    kept = [list(loads[:2]) for _, loads, _ in blocks]
    pool = [(loads.pop(), b) for b, loads in enumerate(kept) if len(loads) > 1]
    moved = {}
    for b, loads in enumerate(kept):
        if pool and not loads:
            load, home = pool.pop(0)
            loads.append(load)
            moved[load] = (b, home)
    return moved
