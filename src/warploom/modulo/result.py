"""What a modulo scheduler answers: a schedule, its bounds, and what stands in the way of less."""

from dataclasses import field
from enum import StrEnum

from warploom.dataclass import dataclass
from warploom.errors import GraphError
from warploom.modulo.model import Goal, ModuloProblem, RingKind


class LimitKind(StrEnum):
    """What keeps II from being smaller."""

    UNIT = "unit"
    RECURRENCE = "recurrence"
    SMEM = "smem"
    REGISTERS = "registers"
    ENERGY = "energy"
    SEARCH = "search"
    WORK = "work limit"
    TRIVIAL = "trivial"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Why II - 1 is impossible: its kind, the culprits by name, and a sentence.

    ``WORK`` means that nothing was proven: the search ended at its work limit.
    """

    kind: LimitKind
    text: str
    culprits: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalValue:
    """A secondary objective: the value reached and a proven lower bound (equal: optimal)."""

    goal: Goal
    value: int
    bound: int

    @property
    def proven(self) -> bool:
        """True when the value is proven least, given the goals before it."""
        return self.value <= self.bound


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuloResult:
    """A schedule of ``problem`` at initiation interval ``ii``.

    ``proven``: every smaller II is proven infeasible (``lower_bound == ii``). ``times[v]`` is the
    issue time of op v in iteration 0, ``depths[r]`` the copies of ring r, ``roles[v]`` the role op
    v runs on. ``rec_mii`` is taken with every ring at its largest depth, ``rec_mii_at_depths`` at
    the depths chosen. ``stopped`` is ``"time limit"`` or ``"interrupt"`` when the solve ended
    early: the schedule is the best found until then.
    """

    problem: ModuloProblem
    ii: int
    lower_bound: int
    proven: bool
    times: tuple[int, ...]
    depths: tuple[int, ...]
    roles: tuple[str, ...]
    limit: Limit
    res_mii: int
    rec_mii: int
    rec_mii_at_depths: int
    goals: tuple[GoalValue, ...] = ()
    log: tuple[str, ...] = ()
    stopped: str = ""
    seconds: float = field(default=0.0, compare=False)
    seconds_to_ii: float = field(default=0.0, compare=False)

    def __str__(self) -> str:
        """When each op issues, role by role."""
        least = "the least" if self.proven else f"at least {self.lower_bound}"
        lines = [
            f"at {self.ii} in the ordering model ({least}), {self.overlap} iterations at once",
            f"limited by {self.limit}",
        ]
        for role in dict.fromkeys(self.roles):
            mine = sorted((self.times[v], v) for v, r in enumerate(self.roles) if r == role)
            lines.append(f"{role}: cycle, iterations back, op, units it holds")
            for _, v in mine:
                op = self.problem.ops[v]
                held = ", ".join(f"{h.unit} {h.cycles}" for h in op.holds())
                back = f"-{self.lag(v)}" if self.lag(v) else ""
                lines.append(f"  {self.cycle(v):>6} {back:>3}  {op.name}  {held}".rstrip())
        return "\n".join(lines)

    def lag(self, op: int) -> int:
        """How many iterations an op runs after the first op of its interval."""
        return self.times[op] // self.ii

    def cycle(self, op: int) -> int:
        """The cycle of the interval in which an op issues."""
        return self.times[op] % self.ii

    @property
    def overlap(self) -> int:
        """How many iterations are in flight."""
        return max((t // self.ii for t in self.times), default=0) + 1

    @property
    def length(self) -> int:
        """Cycles from the first issue to the end of the last occupancy of one iteration."""
        if not self.times:
            return 0
        end = max(
            t + max((h.cycles for h in op.holds()), default=1)
            for t, op in zip(self.times, self.problem.ops, strict=True)
        )
        return end - min(self.times)

    def kernel_order(self) -> tuple[int, ...]:
        """Ops in order of issue within one interval."""
        return tuple(sorted(range(len(self.times)), key=lambda v: (self.cycle(v), -self.lag(v), v)))

    def depth(self, ring: str) -> int:
        """The copies of the ring of that name."""
        found = {r.name: d for r, d in zip(self.problem.rings, self.depths, strict=True)}
        if ring not in found:
            raise GraphError(f"no ring is called {ring!r}", fix=f"rings: {', '.join(found)}")
        return found[ring]

    def storage(self, kind: RingKind) -> int:
        """Total size of the rings of one kind at the depths chosen."""
        pairs = zip(self.problem.rings, self.depths, strict=True)
        return sum(r.size * d for r, d in pairs if r.kind is kind)

    def goal(self, goal: Goal) -> GoalValue | None:
        """Value and bound of one secondary objective, None when it was not asked for."""
        return next((g for g in self.goals if g.goal is goal), None)
