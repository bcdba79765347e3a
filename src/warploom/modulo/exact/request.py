"""Questions to and answers from the exact solver, as plain values that cross a process border."""

from enum import Enum

from warploom.dataclass import dataclass
from warploom.modulo.model import Goal, ModuloProblem


class CpStatus(Enum):
    """``UNKNOWN``: the work limit was hit, or the solver died."""

    FOUND = "found"
    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incumbent:
    """A known schedule: the starting point of an optimisation."""

    times: tuple[int, ...]
    depths: tuple[int, ...]
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CpRequest:
    """Find (or, with a goal, optimise) a schedule of ``problem`` at one II.

    ``grid`` g > 1 places ops on multiples of g with all costs rounded up: what it finds is valid,
    but that it finds nothing proves nothing. ``least_depths`` and ``most_depths`` bound the rings
    (equal: fixed). ``plain``: by the model of ``exact.plain``. ``at_most`` freezes earlier goals.
    ``work`` is CP-SAT's deterministic time; ``seconds`` stops it by the clock.
    """

    problem: ModuloProblem
    ii: int
    max_lag: int
    work: float
    grid: int = 1
    least_depths: tuple[int, ...] | None = None
    most_depths: tuple[int, ...] | None = None
    goal: Goal | None = None
    at_most: tuple[tuple[Goal, int], ...] = ()
    hint: Incumbent | None = None
    seed: int = 1
    light: bool = False
    plain: bool = False
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CpAnswer:
    """What the solver says; ``bound`` is a proven bound of the goal within the request's model."""

    status: CpStatus
    times: tuple[int, ...] = ()
    depths: tuple[int, ...] = ()
    roles: tuple[str, ...] = ()
    bound: int | None = None
    work: float = 0.0
    note: str = ""

    @property
    def solved(self) -> bool:
        """True when a schedule came back."""
        return self.status in (CpStatus.FOUND, CpStatus.OPTIMAL)

    @property
    def final(self) -> bool:
        """True when more work would answer the same."""
        return self.status in (CpStatus.OPTIMAL, CpStatus.INFEASIBLE) and not self.note


UNKNOWN = CpAnswer(status=CpStatus.UNKNOWN)
