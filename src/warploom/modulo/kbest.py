"""K best: distinct schedules at the least II and slightly above it.

An optimal solver exploits every error of its cost model, so the model's best is one candidate among
several; searches score them by what the model does not know.
"""

import hashlib
import json
import warnings
from collections.abc import Iterator
from dataclasses import replace

from warploom.errors import ConfigError, WarploomWarning
from warploom.modulo.attempt import Attempter, as_incumbent
from warploom.modulo.bounds.system import build_system
from warploom.modulo.check import check_result, check_schedule
from warploom.modulo.exact import process
from warploom.modulo.exact.request import CpRequest, CpStatus, Incumbent
from warploom.modulo.goals import least_overlap
from warploom.modulo.model import RingKind
from warploom.modulo.options import ExactUse, ModuloOptions
from warploom.modulo.placement.heuristic import find_schedule
from warploom.modulo.result import ModuloResult

SEEDS_PER_SCHEDULE = 4
MOST_DEPTHS = 8

Signature = tuple[object, ...]


def signature(result: ModuloResult) -> Signature:
    """What makes two schedules different programs: roles, order of issue, lags, depths."""
    order = result.kernel_order()
    first = order.index(0)
    turned = order[first:] + order[:first]
    base = result.lag(0)
    lags = tuple(result.lag(v) - base for v in range(len(result.times)))
    return (result.ii, result.roles, turned, lags, result.depths)


def digest(result: ModuloResult) -> str:
    """A short stable name of a schedule, for files of measured times."""
    text = json.dumps(signature(result), default=list)
    return hashlib.sha256(f"{result.problem.name}|{text}".encode()).hexdigest()[:16]


class FewerSchedulesWarning(WarploomWarning):
    """``k_best`` found fewer distinct schedules than were asked for."""


def k_best(
    best: ModuloResult,
    k: int,
    *,
    slack: float = 0.0,
    options: ModuloOptions | None = None,
    solver: process.ExactSolver | None = None,
    quiet: bool = False,
) -> tuple[ModuloResult, ...]:
    """Up to ``k`` distinct schedules, the given one first, then by II and length.

    ``slack`` allows IIs up to ``(1 + slack) * best.ii``: they are spread over that range, and over
    ring depths within the budgets. Each is re-checked; deterministic. Fewer than ``k`` give a
    ``FewerSchedulesWarning`` unless ``quiet``.
    """
    if k < 1 or slack < 0:
        raise ConfigError("k must be at least 1 and slack not negative", where="k_best")
    options = options or ModuloOptions()
    found: dict[Signature, ModuloResult] = {signature(best): best}
    ceiling = int(best.ii * (1 + slack))
    iis = sorted({best.ii + (ceiling - best.ii) * i // max(k - 1, 1) for i in range(k)})
    cells = [(i + j, ii, d) for j, d in enumerate(_depth_choices(best)) for i, ii in enumerate(iis)]
    shares = [
        _variants(best, ii, depths, k * SEEDS_PER_SCHEDULE, options, solver)
        for _, ii, depths in sorted(cells)
    ]
    while shares and len(found) < k:
        for share in list(shares):
            candidate = next(share, None)
            if candidate is None:
                shares.remove(share)
                continue
            found.setdefault(signature(candidate), candidate)
            if len(found) >= k:
                break
    if len(found) < k and not quiet:
        warnings.warn(
            f"{len(found)} distinct schedules of {best.problem.name!r} instead of {k}; "
            "more slack or deeper rings would allow others",
            FewerSchedulesWarning,
            stacklevel=2,
        )
    others = [r for r in found.values() if r is not best]
    others.sort(key=lambda r: (r.ii, r.length, digest(r)))
    return (best, *others[: k - 1])


def _depth_choices(best: ModuloResult) -> list[tuple[int, ...]]:
    """The given depths, and each ring alone a copy deeper or shallower, within the budgets."""
    rings, out = best.problem.rings, [best.depths]
    for i, ring in enumerate(rings):
        for depth in (best.depths[i] + 1, best.depths[i] - 1):
            if ring.min_depth <= depth <= ring.max_depth:
                out.append((*best.depths[:i], depth, *best.depths[i + 1 :]))
    deeper = tuple(min(r.max_depth, d + 1) for r, d in zip(rings, best.depths, strict=True))
    budget = best.problem.smem_budget

    def fits(depths: tuple[int, ...]) -> bool:
        pairs = zip(rings, depths, strict=True)
        used = sum(r.size * d for r, d in pairs if r.kind is RingKind.SMEM)
        return budget is None or used <= budget

    return [d for d in dict.fromkeys([*out, deeper]) if fits(d)][:MOST_DEPTHS]


def _variants(
    best: ModuloResult,
    ii: int,
    depths: tuple[int, ...],
    count: int,
    options: ModuloOptions,
    solver: process.ExactSolver | None,
) -> Iterator[ModuloResult]:
    """Schedules at one II and these depths, from other seeds of the heuristic, then of CP-SAT."""
    fixed = best.problem.with_roles(best.roles) if best.problem.roles else best.problem
    system = build_system(fixed)
    for seed in range(1, count + 1):
        times = find_schedule(system, ii, depths, tries=1, seed=seed)
        if times is not None:
            yield from _checked(best, ii, Incumbent(times=times, depths=depths, roles=best.roles))
    if options.exact is ExactUse.NEVER or not (solver or process.exact_solver_available()):
        return
    attempter = Attempter(system, options, solver or process.shared_solver(), lambda step: None)
    for seed in range(2, 2 + count // SEEDS_PER_SCHEDULE):
        answer = attempter.ask(
            CpRequest(
                problem=fixed,
                ii=ii,
                max_lag=best.overlap + 1,
                work=options.find_work / 4,
                least_depths=depths,
                most_depths=depths,
                seed=seed,
                light=True,
            )
        )
        if answer.solved:
            yield from _checked(best, ii, as_incumbent(answer))
        elif answer.status is CpStatus.INFEASIBLE:
            return


def _checked(best: ModuloResult, ii: int, found: Incumbent) -> Iterator[ModuloResult]:
    times = least_overlap(found.times, ii)
    if check_schedule(best.problem, ii, times, found.depths, roles=best.roles).errors:
        return
    result = replace(
        best,
        ii=ii,
        times=times,
        depths=found.depths,
        proven=best.proven and ii == best.ii,
        goals=(),
        log=(),
    )
    check_result(result)
    yield result
