"""Bounds on the makespan, as the reference defines them.

``asap_lower_bound`` decides whether the greedy order is good enough to skip the search. With a
penalty it is not a true bound (the last access may be shorter than the interval it reserves);
proofs of optimality use ``warploom.seed.sched.search`` instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.seed.graph.loop_body import LoopBody
from warploom.seed.sched.evaluate import PORT_RESOURCES, SERIAL_RESOURCES, simulate


def asap_lower_bound(body: LoopBody, lds_contention_penalty: int = 0) -> int:
    """Largest of critical path, load of each serial unit, and port interval times accesses."""
    asap = body.compute_asap()
    bounds = [a + node.latency for a, node in zip(asap, body.ops, strict=True)]
    for unit in SERIAL_RESOURCES:
        members = [i for i, node in enumerate(body.ops) if node.resource is unit]
        total = sum(body.ops[i].latency for i in members)
        if total > 0:
            bounds.append(min(asap[i] for i in members) + total)
    if lds_contention_penalty > 0:
        accesses = sum(node.resource in PORT_RESOURCES for node in body.ops)
        bounds.append(lds_contention_penalty * accesses)
    return max(bounds, default=0)


def partial_lower_bound(
    body: LoopBody, order: Sequence[int], placed: Sequence[bool], pos: int
) -> int:
    """Bound on every completion of the first ``pos`` ops of ``order``, without the port."""
    finish, unit_free = simulate(body, tuple(order)[:pos])
    bounds = [max(finish, default=0)]
    for unit in SERIAL_RESOURCES:
        left = (
            node.latency
            for node, done in zip(body.ops, placed, strict=True)
            if node.resource is unit and not done
        )
        bounds.append(unit_free[unit] + sum(left))
    return max(bounds)
