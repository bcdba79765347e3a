"""Alike roles: a schedule in which several roles run one program, each a while after the other.

The solver treats roles apart, so ops of no consequence may come out in another order on each. A
kernel wants one program for all consumers. ``make_alike`` gives every role the times of one of
them, shifted, and moves single ops where that makes roles collide. The interval and the ring depths
stay, so their proofs do; the independent checker judges the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from warploom.errors import SchedulingError
from warploom.modulo.check import check_schedule
from warploom.modulo.result import ModuloResult

PARTS = 32  # shifts and moves are tried in such parts of the interval
MOVES = 4  # how many ops may be moved


def make_alike(
    result: ModuloResult, roles: Sequence[str], names: Mapping[str, str]
) -> ModuloResult:
    """The schedule with one program for all ``roles``; ``names`` gives equal ops one name.

    Role number ``i`` runs ``i`` shifts behind the first; an even split of the interval is tried
    first. Raises ``SchedulingError`` when no pattern and shift passes the checker.
    """
    if len(roles) < 2:
        return result
    ops = {role: _ops(result, role, names) for role in roles}
    if any(set(found) != set(ops[roles[0]]) for found in ops.values()):
        raise SchedulingError(f"roles {', '.join(roles)} have different ops", where="make_alike")
    for shift in _shifts(result.ii, len(roles)):
        for i, role in enumerate(roles):
            times = {name: result.times[v] - i * shift for name, v in ops[role].items()}
            late = -min(0, *times.values())
            turns = -(-late // result.ii) * result.ii
            trial = _Trial(result, tuple(ops[r] for r in roles), shift)
            found = trial.settle({name: t + turns for name, t in times.items()})
            if found is not None:
                return replace(result, times=found)
    raise SchedulingError(
        f"no program serves all of {', '.join(roles)} at an interval of {result.ii} cycles",
        where=f"schedule {result.problem.name!r}",
        why="every shift of every role's program breaks a unit, an edge or a ring",
        fix="emit one program for each role",
    )


@dataclass(frozen=True, slots=True)
class _Trial:
    """One shift between the roles; a pattern of times for the first of them makes a schedule."""

    result: ModuloResult
    ops: tuple[dict[str, int], ...]
    shift: int

    def settle(self, pattern: dict[str, int]) -> tuple[int, ...] | None:
        """Times without errors: the pattern's, or with a few ops moved; None if there are none."""
        errors = self.errors(pattern)
        for _ in range(MOVES):
            if not errors:
                break
            moved = [(self.errors(p), i, p) for i, p in enumerate(self._moves(pattern))]
            fewest, _, best = min(moved, key=lambda m: m[:2])
            if fewest >= errors:
                return None
            errors, pattern = fewest, best
        return None if errors else self.times(pattern)

    def errors(self, pattern: Mapping[str, int]) -> int:
        """How many violations the checker finds."""
        r = self.result
        return len(
            check_schedule(r.problem, r.ii, self.times(pattern), r.depths, roles=r.roles).errors
        )

    def times(self, pattern: Mapping[str, int]) -> tuple[int, ...]:
        """Issue times of all ops."""
        out = list(self.result.times)
        for i, ops in enumerate(self.ops):
            for name, v in ops.items():
                out[v] = pattern[name] + i * self.shift
        return tuple(out)

    def _moves(self, pattern: dict[str, int]) -> Iterator[dict[str, int]]:
        step = max(1, self.result.ii // PARTS)
        for name, time in pattern.items():
            for parts in (1, -1, 2, -2, 3, -3, 4, -4, 6, -6, 8, -8):
                if time + parts * step >= 0:
                    yield {**pattern, name: time + parts * step}


def _ops(result: ModuloResult, role: str, names: Mapping[str, str]) -> dict[str, int]:
    ops = result.problem.ops
    mine = [v for v in range(len(ops)) if result.roles[v] == role]
    return {names.get(ops[v].name, ops[v].name): v for v in mine}


def _shifts(ii: int, count: int) -> Iterator[int]:
    """The even split, then the other multiples of a part of the interval."""
    even = ii // count
    yield even
    step = max(1, ii // (4 * count))
    yield from (s for s in range(step, ii, step) if s != even)
