"""What a search takes and what it returns."""

from dataclasses import dataclass

from warploom.errors import ConfigError
from warploom.modulo import ModuloResult
from warploom.pipeline.compile import CompiledSchedule
from warploom.pipeline.modulo.auto import WHOLE, Split

EVALUATIONS = 120
ENDLESS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One candidate in the rank table: where it came from, on which ops, and its score.

    ``built``: it became a kernel (None: nobody tried).
    """

    origin: str
    score: float
    split: Split = WHOLE
    built: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The best candidate and how it compares.

    ``best`` is a compiled schedule (of a ``ModuloProblem``: a ``ModuloResult``); ``score`` cycles
    for one iteration of the body, or what the measure says. ``bound``: the busiest unit's own time,
    None for a measure, whose unit is not known.
    """

    best: CompiledSchedule | ModuloResult
    score: float
    bound: float | None
    rows: tuple[Row, ...]
    evaluations: int
    seconds: float
    stopped: str

    def table(self, limit: int = 12) -> str:
        """The rank table as text, best first."""
        lines = [f"{'score':>10}  {'split':5}  origin"]
        for row in self.rows[:limit]:
            built = {True: ", built", False: ", cannot be built", None: ""}[row.built]
            lines.append(f"{row.score:>10g}  {row.split[0]}x{row.split[1]}    {row.origin}{built}")
        bound = "" if self.bound is None else f", bound {self.bound:g}"
        lines.append(
            f"{self.evaluations} evaluations in {self.seconds:.0f} s ({self.stopped}){bound}"
        )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How long and how widely to look.

    ``evaluations`` counts scored candidates: equal bodies, seeds and numbers of workers then give
    equal results, however loaded the machine is. ``seconds`` is by the clock. With neither
    ``EVALUATIONS`` are scored, with ``seconds`` alone as many as fit in. Any limit returns the best
    so far with its bound.
    ``splits`` are the granularities tried, each for a short look, the best for the rest: (2, 2)
    cuts every sub-tile of A and B in two. ``workers`` processes score candidates, unless an
    ``executor`` is given; a measure is called in this process, one candidate at a time.
    ``lds_bytes`` bounds ring depths. ``goal`` ends the search early; so does the bound. ``build``:
    whatever would be the best is emitted for gfx950 first and counts only if it passes the gate
    without spills.
    """

    seconds: float | None = None
    evaluations: int | None = None
    splits: tuple[Split, ...] = (WHOLE,)
    workers: int = 1
    seed: int = 0
    goal: float = 0.0
    lds_bytes: int | None = None
    build: bool = False

    def __post_init__(self) -> None:
        if self.workers < 1 or not self.splits:
            raise ConfigError("at least one worker and one split", where="SearchOptions")
        if self.evaluations is not None and self.evaluations < 1:
            raise ConfigError("a search without evaluations", where="SearchOptions.evaluations")
        if self.seconds is not None and not self.seconds > 0:
            raise ConfigError(f"a limit of {self.seconds} s", where="SearchOptions.seconds")

    @property
    def most_evaluations(self) -> int:
        """How many candidates are scored at the most."""
        if self.evaluations is not None:
            return self.evaluations
        return EVALUATIONS if self.seconds is None else ENDLESS
