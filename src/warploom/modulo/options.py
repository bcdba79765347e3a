"""How hard to try, in which order to minimise, and how to hear about it."""

from collections.abc import Callable
from enum import StrEnum

from warploom.dataclass import dataclass
from warploom.errors import ConfigError
from warploom.modulo.model import Goal


class ExactUse(StrEnum):
    """Whether CP-SAT takes part: when it is installed, never, or it must be there."""

    AUTO = "auto"
    NEVER = "never"
    REQUIRE = "require"


DEFAULT_GOALS = (Goal.SMEM, Goal.RING_REGISTERS, Goal.REGISTERS, Goal.LENGTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuloOptions:
    """Work limits and preferences of a solve.

    ``goals`` are minimised after II, in this order. ``tries`` bounds the heuristic (each try is a
    fixed number of placements); the ``*_work`` numbers are CP-SAT's deterministic time for one
    question: to find a schedule, to refute an II, to improve a goal; ``work`` bounds all questions
    together. None of them is wall-clock time, so equal inputs give equal results, on a loaded
    machine too. ``seconds`` is: the solve ends then with the best it has and the bound it proved,
    which may differ from run to run.

    ``gap``: a schedule whose II exceeds the bound by at most this share is good enough: after
    ``gap_work`` more for a better one, or a proof, it is taken; any other after twice as much. The
    result says the bound. Where an II says nothing of others, no more than ``gap_work`` goes into a
    proof interval by interval.

    ``explain``: where search refuted the II below, ask what blocks it, one relaxation after the
    other. That may cost more questions than the schedule itself; ``what_blocks`` asks later.
    """

    goals: tuple[Goal, ...] = DEFAULT_GOALS
    tries: int = 4
    find_work: float = 8.0
    prove_work: float = 30.0
    optimise_work: float = 8.0
    work: float | None = None
    gap: float = 0.0
    gap_work: float = 1.0
    explain: bool = True
    seed: int = 0
    exact: ExactUse = ExactUse.AUTO
    seconds: float | None = None

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "exact", ExactUse(self.exact))
            object.__setattr__(self, "goals", tuple(Goal(g) for g in self.goals))
        except ValueError as error:
            raise ConfigError(f"unknown setting: {error}", where="ModuloOptions") from None
        works = (self.find_work, self.prove_work, self.optimise_work, self.gap_work)
        if not 0 <= self.gap < 1:
            raise ConfigError(f"a gap of {self.gap}", where="ModuloOptions", fix="0 to 1, as 0.01")
        if self.tries < 1 or min(works) < 0:
            raise ConfigError("a work limit below zero, or no tries at all", where="ModuloOptions")
        if self.seconds is not None and not self.seconds > 0:
            raise ConfigError(f"a time limit of {self.seconds} seconds", where="ModuloOptions")
        if self.work is not None and not self.work > 0:
            raise ConfigError(f"a work limit of {self.work}", where="ModuloOptions")
        if len(set(self.goals)) < len(self.goals):
            raise ConfigError("a goal is named twice", where="ModuloOptions.goals")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One step of a solve: what was done, and the interval in which the least II lies now."""

    step: str
    low: int
    high: int | None


ProgressCallback = Callable[[Progress], None]
