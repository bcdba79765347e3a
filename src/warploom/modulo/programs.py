"""What a schedule becomes as programs, and likely roles of its ops.

Two schedules whose programs are equal give the same kernel, whatever their issue times. A program
is the cyclic order of a role's *points*: its ops, and the ends of its reads of the rings it hands
back (where a slot is released). ``Space`` says which roles must run one program and which unit they
use in turns.

>>> Space(roles=(("producer",), ("consumer0", "consumer1")), rings=("K", "V"), unit="tensor").alike
('consumer0', 'consumer1')
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warploom.errors import SchedulingError
from warploom.modulo.model import ModuloProblem

Cell = tuple[
    str, int
]  # a point by name, and how many iterations it lags behind the role's first op
Pair = tuple[str, str, int]  # an op, the op after it in its turn, how many iterations later


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """An instant that has a place in a role's program: an op's issue, or ``late`` cycles after it
    the release of what it reads. ``rank`` decides between points of the same cycle.
    """

    name: str
    op: int
    late: int = 0
    rank: int = 0
    releases: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """What counts as one program.

    ``roles`` groups the schedule's roles: those of a group run one program. ``names`` gives equal
    ops of a group one name. ``rings`` are those whose slots a reader releases. Roles of the one
    group with several members use ``unit`` in turns, each handing over to the next.
    """

    roles: tuple[tuple[str, ...], ...]
    names: Mapping[str, str] = field(default_factory=dict)
    rings: tuple[str, ...] = ()
    unit: str | None = None

    @property
    def alike(self) -> tuple[str, ...]:
        """The roles that run one program and take turns; empty when all run their own."""
        return next((group for group in self.roles if len(group) > 1), ())

    def name(self, op: str) -> str:
        """The common name of an op."""
        return self.names.get(op, op)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Programs:
    """One program for each group of roles, and the pairs that stay together in a turn."""

    roles: tuple[tuple[Cell, ...], ...]
    turns: tuple[Pair, ...] = ()

    def text(self) -> str:
        """One line: points in order, with the lag of those that belong to an earlier iteration."""
        lines = [
            " ".join(name if not lag else f"{name}(-{lag})" for name, lag in program)
            for program in self.roles
        ]
        joined = ", ".join(f"{a}>{b}" for a, b, _ in self.turns)
        return "; ".join(lines) + (f"; together: {joined}" if joined else "")


def points_of(problem: ModuloProblem, space: Space, role: str, ii: int) -> tuple[Point, ...]:
    """The points of a role: its ops in the body's order, then the releases in ring order."""
    assigned = problem.fixed_roles()
    if assigned is None:
        raise SchedulingError("roles are still open", where=problem.name, fix="problem.with_roles")
    mine = [v for v in range(len(problem.ops)) if assigned[v] == role]
    points = [Point(name=space.name(problem.ops[v].name), op=v, rank=v) for v in mine]
    for i, ring in enumerate(r for r in problem.rings if r.name in space.rings):
        reads = [u for group in ring.readers for u in group if u.op in mine]
        if len(reads) > 1:
            raise SchedulingError(
                f"role {role!r} reads ring {ring.name!r} in {len(reads)} ops",
                where=f"body {problem.name!r}",
                why="which of them releases the slot depends on the schedule",
                fix="one reader a role",
            )
        points += [
            Point(
                name=f"release {ring.name}",
                op=u.op,
                late=u.hold + u.distance * ii,
                rank=len(problem.ops) + i,
                releases=True,
            )
            for u in reads
        ]
    return tuple(points)


def program_of(points: Sequence[Point], times: Sequence[int], ii: int) -> tuple[Cell, ...]:
    """A role's points in order of issue from its first op on, each with its lag."""
    if not points:
        return ()
    first = min(times[p.op] for p in points)
    at = [(times[p.op] + p.late - first, p) for p in points]
    order = sorted(at, key=lambda x: (x[0] % ii, x[1].rank))
    return tuple((p.name, t // ii) for t, p in order)


def turns_of(
    problem: ModuloProblem, space: Space, times: Sequence[int], ii: int
) -> tuple[Pair, ...] | None:
    """Which products of a role follow one another on the unit; None when turns are irregular.

    Regular turns are the same for every role, and each role hands over to the one after it.
    """
    members, assigned = space.alike, problem.fixed_roles()
    assert assigned is not None
    mine = [
        v
        for v, op in enumerate(problem.ops)
        if assigned[v] in members and space.unit in {h.unit for h in op.holds()}
    ]
    order = sorted(mine, key=lambda v: times[v] % ii)
    found: dict[str, set[Pair]] = {m: set() for m in members}
    for a, b in zip(order, order[1:] + order[:1], strict=True):
        step = members.index(assigned[b]) - members.index(assigned[a])
        if step % len(members) > 1:
            return None
        if step == 0:
            gap = (times[b] - times[a]) % ii or ii
            later = (times[a] + gap - times[b]) // ii
            names = space.name(problem.ops[a].name), space.name(problem.ops[b].name)
            found[assigned[a]].add((*names, later))
    own = [tuple(sorted(pairs)) for pairs in found.values()] or [()]
    return own[0] if all(pairs == own[0] for pairs in own) else None


def programs_of(
    problem: ModuloProblem, space: Space, times: Sequence[int], ii: int
) -> Programs | None:
    """The programs of a schedule; None when alike roles or their turns differ."""
    out = []
    for group in space.roles:
        first, *others = (
            program_of(points_of(problem, space, role, ii), times, ii) for role in group
        )
        if any(program != first for program in others):
            return None
        out.append(first)
    turns = turns_of(problem, space, times, ii)
    return None if turns is None else Programs(roles=tuple(out), turns=turns)


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
