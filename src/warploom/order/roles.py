"""Warp roles: likely assignments to try before the exact solver chooses freely."""

from __future__ import annotations

from warploom.order.model import ModuloProblem


def candidate_assignments(problem: ModuloProblem) -> list[tuple[str, ...]]:
    """Complete assignments worth a try: the fixed one, or chains of ops spread over the roles.

    Ops that feed each other within an iteration stay together (a cut costs a hand-off); whole
    chains are dealt to the role with the least instruction time so far.
    """
    fixed = problem.fixed_roles()
    if fixed is not None:
        return [fixed]
    spread = _deal(problem, _chains(problem))
    gathered = tuple(problem.allowed_roles(v)[0] for v in range(len(problem.ops)))
    return list(dict.fromkeys([spread, gathered]))


def _chains(problem: ModuloProblem) -> list[list[int]]:
    """Connected groups of ops with the same choice of roles."""
    leader = list(range(len(problem.ops)))

    def find(v: int) -> int:
        while leader[v] != v:
            leader[v] = leader[leader[v]]
            v = leader[v]
        return v

    for e in problem.edges:
        same = problem.allowed_roles(e.src) == problem.allowed_roles(e.dst)
        if e.tie or (same and len(problem.allowed_roles(e.src)) > 1):
            leader[find(e.src)] = find(e.dst)
    groups: dict[int, list[int]] = {}
    for v in range(len(problem.ops)):
        groups.setdefault(find(v), []).append(v)
    return sorted(groups.values(), key=lambda g: g[0])


def _deal(problem: ModuloProblem, chains: list[list[int]]) -> tuple[str, ...]:
    busy = dict.fromkeys(problem.role_names(), 0)
    out = [""] * len(problem.ops)
    for chain in chains:
        allowed = set(problem.allowed_roles(chain[0]))
        for v in chain:
            allowed &= set(problem.allowed_roles(v))
        names = [r for r in problem.role_names() if r in allowed]
        role = min(names, key=lambda r: busy[r]) if names else problem.allowed_roles(chain[0])[0]
        busy[role] += sum(max(problem.ops[v].issue, 1) for v in chain)
        for v in chain:
            out[v] = role
    return tuple(out)
