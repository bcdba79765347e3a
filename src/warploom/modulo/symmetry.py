"""Alike roles: a schedule in which several roles run one program, each a while after the other.

The solver treats roles apart, so ops of no consequence may come out in another order on each. A
kernel wants one program for all consumers. ``solve_alike`` says so in the problem: every op of a
role issues a fixed time after its fellow of the role before, an even share of the interval.

In edges: ``t1 >= t0 + shift`` and ``t0 + ii >= t1 + ii - shift``. The second holds the interval in
its latency, so the tie is exact at that interval only; the interval is raised until it is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from warploom.errors import SchedulingError
from warploom.modulo.check import check_result
from warploom.modulo.clock import Deadline
from warploom.modulo.model import ModuloEdge, ModuloProblem
from warploom.modulo.options import ModuloOptions
from warploom.modulo.result import ModuloResult
from warploom.modulo.search import schedule_at, solve_modulo

TRIES = 8
LEAST = 0.01  # seconds for any solve


def solve_alike(
    problem: ModuloProblem,
    roles: Sequence[str],
    names: Mapping[str, str],
    options: ModuloOptions | None = None,
    steps: int = 1,
) -> ModuloResult:
    """The schedule of least interval with one program for all ``roles``.

    ``names`` gives equal ops one name. An iteration has ``steps`` alike: where roles a share of the
    interval apart are not the least, a share of a step is tried too. ``proven`` means that no
    schedule of a smaller interval exists at all, alike or not. Raises ``SchedulingError`` when no
    interval tried keeps the tie.
    """
    if len(roles) < 2:
        return solve_modulo(problem, options)
    options = options or ModuloOptions()
    clock = Deadline(options.seconds)
    free = solve_modulo(problem, replace(options, goals=()))
    best: ModuloResult | None = None
    shares = list(dict.fromkeys((1, steps)))
    if len(shares) > 1:  # one that keeps the least interval needs no search for others
        shares.sort(key=lambda parts: not _keeps(problem, roles, names, free.ii, parts, options))
    for parts in shares:
        found = _apart(problem, roles, names, free, parts, options, clock)
        if found is not None and (best is None or found.ii < best.ii):
            best = found
        if best is not None and best.proven:
            break
    if best is not None:
        return best
    raise SchedulingError(
        f"no program serves all of {', '.join(roles)} at intervals from {free.lower_bound} on",
        where=f"problem {problem.name!r}",
        why="an even shift between the roles breaks a unit, an edge or a ring",
        fix="emit one program for each role",
    )


def _keeps(
    problem: ModuloProblem,
    roles: Sequence[str],
    names: Mapping[str, str],
    ii: int,
    parts: int,
    options: ModuloOptions,
) -> bool:
    """Whether roles so far apart have a schedule at the interval itself."""
    if ii < len(roles) * problem.handoff:
        return False
    return schedule_at(tied(problem, roles, names, ii, parts), ii, options) is not None


def _apart(
    problem: ModuloProblem,
    roles: Sequence[str],
    names: Mapping[str, str],
    free: ModuloResult,
    parts: int,
    options: ModuloOptions,
    clock: Deadline,
) -> ModuloResult | None:
    """The best schedule with roles a share of the interval's ``parts`` apart, if any was found."""
    quick, bound = replace(options, goals=()), free.lower_bound
    ii = max(free.ii, len(roles) * problem.handoff)  # a shorter one cannot hold all handoffs
    for _ in range(TRIES):
        there = tied(problem, roles, names, ii, parts)
        result = solve_modulo(there, _left(quick, clock))
        if result.ii == ii:
            result = solve_modulo(there, _left(options, clock)) if options.goals else result
            found = replace(result, problem=problem, lower_bound=bound, proven=ii == bound)
            found = replace(found, limit=free.limit) if found.proven else found
            check_result(found)
            return found
        ii = result.ii
    return None


def _left(options: ModuloOptions, clock: Deadline) -> ModuloOptions:
    """The time limit is one of all solves together; work is of each, so that none goes without."""
    left = clock.left()
    return options if left is None else replace(options, seconds=max(left, LEAST))


def tied(
    problem: ModuloProblem,
    roles: Sequence[str],
    names: Mapping[str, str],
    ii: int,
    parts: int = 1,
) -> ModuloProblem:
    """The problem with each role an even share of a part of ``ii`` after the one before."""
    ops = [_ops(problem, role, names) for role in roles]
    if any(set(found) != set(ops[0]) for found in ops):
        raise SchedulingError(f"roles {', '.join(roles)} have different ops", where="solve_alike")
    shift = ii // (len(roles) * parts)
    ties = []
    for first, second in pairwise(ops):
        for name, v in first.items():
            ties += [
                _tie(v, second[name], shift, 0),
                _tie(second[name], v, ii - shift, 1),
            ]
    return replace(problem, edges=(*problem.edges, *ties))


def _tie(src: int, dst: int, latency: int, distance: int) -> ModuloEdge:
    return ModuloEdge(
        src=src, dst=dst, latency=latency, distance=distance, handoff=0, why="alike roles"
    )


def _ops(problem: ModuloProblem, role: str, names: Mapping[str, str]) -> dict[str, int]:
    return {names.get(op.name, op.name): v for v, op in enumerate(problem.ops) if op.role == role}
