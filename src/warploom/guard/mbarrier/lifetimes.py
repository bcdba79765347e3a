"""Where registers are short: products that must be over before an op takes new registers.

The scheduler counts the registers of a value until its last use is over. A product reads its
operands until it has retired, which only a wait makes known; so an op that starts a value waits for
the products whose operands' room the scheduler took for free by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from warploom.order import ModuloResult

Over = Mapping[str, tuple[tuple[str, int], ...]]
"""For each op: products, and how many iterations before its own they must be over."""


def over_before(result: ModuloResult, aliases: Mapping[str, str], member: str) -> Over:
    """What ops of one role rely on; empty where the problem counts no values."""
    names = [aliases.get(op.name, op.name) for op in result.problem.ops]
    uses = list(_uses(result, member))
    found: dict[str, tuple[tuple[str, int], ...]] = {}
    for src in {v.src for v in result.problem.values if result.roles[v.src] == member}:
        needs: dict[str, int] = {}
        for op, hold in uses:
            if op != src:
                gap = result.times[op] + hold - result.times[src]
                back = -(-gap // result.ii)
                needs[names[op]] = max(back, needs.get(names[op], back))
        found[names[src]] = tuple(sorted(needs.items()))
    return found


def _uses(result: ModuloResult, member: str) -> Iterator[tuple[int, int]]:
    for value in result.problem.values:
        for use in value.uses:
            if result.roles[use.op] == member:
                yield use.op, use.hold - use.distance * result.ii
