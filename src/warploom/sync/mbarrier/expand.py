"""From issue times to one role's prologue, kernel and epilogue, still without synchronisation.

A role's times are shifted so that its loop begins at 0 (``origin``): roles are coupled through
rings only, and how far one runs ahead of another is the rings' business. An op whose shifted time
lies in interval ``s`` runs ``s`` iterations late. Slot releases are steps of their own, at the
time the last reader is expected to be over: that time is what decides how many groups may stay in
flight.

Which wait a position needs depends on what came before it: on the first iteration after the
prologue, in the steady state, and across the seam between two tiles. All of these occur in two
tiles of every length from ``peel`` to a few more, so counting there decides the counts.
"""

from collections.abc import Iterator

from warploom.dataclass import dataclass
from warploom.errors import SchedulingError
from warploom.ir.rings import Per, SlotRead
from warploom.modulo import ModuloResult
from warploom.sync.mbarrier import plan as plans


@dataclass(frozen=True, slots=True)
class Step:
    """One op of the role, or the release of a ring's slot (``action`` None), for index ``k``."""

    op: str
    action: plans.Action | None
    k: int
    ring: str = ""
    once: bool = False  # a release of a slot that is used once a tile

    @property
    def is_release(self) -> bool:
        """True for the release of a slot."""
        return self.action is None


@dataclass(frozen=True, slots=True)
class Lists:
    """The three lists of a role and the iterations its prologue runs."""

    prologue: tuple[Step, ...]
    kernel: tuple[Step, ...]
    epilogue: tuple[Step, ...]
    peel: int


@dataclass(frozen=True, slots=True)
class _Placed:
    time: int
    rank: int
    step: Step


def expand_role(result: ModuloResult, plan: plans.Plan, role: plans.RolePlan) -> Lists:
    """The role's ops in order of issue, as prologue, kernel and epilogue."""
    first, *others = (_expand(result, plan, role, member) for member in role.members)
    if any(lists != first for lists in others):
        raise SchedulingError(
            f"the instances of {role.name} would run different programs",
            where=f"plan {plan.name!r}",
            why=f"the schedule orders the ops of {', '.join(role.members)} differently",
            fix="make the schedule alike first (warploom.modulo.symmetry), or one role each",
        )
    return first


def _expand(result: ModuloResult, plan: plans.Plan, role: plans.RolePlan, member: str) -> Lists:
    placed = _placed_ops(result, plan, member)
    ii = result.ii
    lags = [p.time // ii for p in placed]
    most = max(lags, default=0)
    peel = max(most, _discards_first(placed, ii))
    order = sorted(zip(placed, lags, strict=True), key=lambda x: (x[0].time % ii, x[0].rank))
    at = [(p.step, s) for p, s in order]
    head = tuple(Step(op, action, 0) for op, action in role.head)
    tail = tuple(Step(op, action, 0) for op, action in role.tail)
    prologue = tuple(_moved(st, j - s) for j in range(peel) for st, s in at if s <= j)
    kernel = tuple(_moved(st, -s) for st, s in at)
    epilogue = tuple(_moved(st, j - s) for j in range(most) for st, s in at if s > j)
    early, late = _tile_releases(plan, role, placed)
    return Lists(
        prologue=head + early + prologue,
        kernel=kernel,
        epilogue=_after_readers(epilogue, late) + tail,
        peel=peel,
    )


def _moved(step: Step, k: int) -> Step:
    return Step(step.op, step.action, k, step.ring)


def _discards_first(placed: list[_Placed], ii: int) -> int:
    """A product that starts afresh on the first iteration needs that iteration apart."""
    starts = [0]
    for p in placed:
        action = p.step.action
        if isinstance(action, plans.Product) and not (action.fresh or action.keeps):
            starts.append(p.time // ii + 1)
    return max(starts)


def _placed_ops(result: ModuloResult, plan: plans.Plan, member: str) -> list[_Placed]:
    ops = [v for v in result.kernel_order() if result.roles[v] == member]
    first = plans.origin_of(result, plan, member)
    placed = []
    for rank, v in enumerate(ops):
        name = result.problem.ops[v].name
        name = plan.aliases.get(name, name)
        if name not in plan.actions:
            raise SchedulingError(
                f"the plan does not say what op {name!r} does",
                where=f"plan {plan.name!r}",
                fix=f"add it to actions; known: {', '.join(plan.actions)}",
            )
        placed.append(_Placed(result.times[v] - first, rank, Step(name, plan.actions[name], 0)))
    return placed + _releases(result, plan, member, first, len(ops))


def _releases(
    result: ModuloResult, plan: plans.Plan, member: str, first: int, rank: int
) -> list[_Placed]:
    out: list[_Placed] = []
    for ring in result.problem.rings:
        if ring.name not in {r.name for r in plan.rings if r.per is Per.ITERATION}:
            continue
        reads = [r for group in ring.readers for r in group if result.roles[r.op] == member]
        if not reads:
            continue
        own = {plan.aliases.get(n, n) for n in (result.problem.ops[w].name for w in ring.writers)}
        more = result.problem.release if own & {*_fillers(plan)} else 0  # part of the hold
        over = max(
            result.times[r.op] + r.distance * result.ii + max(r.hold - more, 0) for r in reads
        )
        over -= first  # never before the read itself, however short
        if plan.release is plans.Release.SAME_ITERATION:
            last = max(result.times[r.op] - first for r in reads)
            over = min(over, last // result.ii * result.ii + result.ii - 1)
        step = Step(f"release {ring.name}", None, 0, ring.name)
        out.append(_Placed(over, rank + len(out), step))
    return out


def _fillers(plan: plans.Plan) -> list[str]:
    """Ops that fill rings with ordinary instructions."""
    return [n for n, a in plan.actions.items() if isinstance(a, plans.Work) and a.fills]


def _tile_releases(
    plan: plans.Plan, role: plans.RolePlan, placed: list[_Placed]
) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """Releases of slots used once a tile: after the head if only it reads them, or at the end."""
    head = {s.ring for _, a in role.head for s in slots_of(a)}
    body = {s.ring for p in placed for s in slots_of(p.step.action)}
    rings = [r.name for r in plan.rings if r.per is Per.TILE]

    def release(name: str) -> Step:
        return Step(f"release {name}", None, 0, name, once=True)

    early = tuple(release(name) for name in rings if name in head - body)
    return early, tuple(release(name) for name in rings if name in body)


def _after_readers(steps: tuple[Step, ...], releases: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps with each release right after the last one that reads its ring."""
    out = list(steps)
    for release in releases:
        reads = [release.ring in {r.ring for r in slots_of(s.action)} for s in out]
        at = max((i + 1 for i, found in enumerate(reads) if found), default=0)
        out.insert(at, release)
    return tuple(out)


def slots_of(action: plans.Action | None) -> tuple[SlotRead, ...]:
    """The slots an action reads."""
    return action.slots if isinstance(action, plans.Product | plans.Work) else ()


Position = tuple[str, int]  # list name, index
REACH = 4


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One execution of a step: where it stands, and the iteration (over all tiles) it means."""

    position: Position
    step: Step
    tile: int
    use: int


def runs(lists: Lists) -> Iterator[list[Occurrence]]:
    """Executions of three tiles of ``peel`` .. ``peel + REACH`` iterations."""
    for trips in range(max(lists.peel, 1), lists.peel + REACH + 1):
        yield _run(lists, (trips,) * 3)


def _run(lists: Lists, tiles: tuple[int, ...]) -> list[Occurrence]:
    out: list[Occurrence] = []
    base = 0
    for tile, trips in enumerate(tiles):
        out += _occurrences("prologue", lists.prologue, tile, base)
        for i in range(lists.peel, trips):
            out += _occurrences("kernel", lists.kernel, tile, base + i)
        out += _occurrences("epilogue", lists.epilogue, tile, base + trips)
        base += trips
    return out


def _occurrences(name: str, steps: tuple[Step, ...], tile: int, at: int) -> list[Occurrence]:
    return [Occurrence((name, i), s, tile, at + s.k) for i, s in enumerate(steps)]


def store_waits(lists: Lists) -> dict[Position, int]:
    """For each store position, how many younger store groups may be unread when it fills."""
    out: dict[Position, int] = {}
    for run in runs(lists):
        last: dict[tuple[str, int], int] = {}
        committed = 0
        for occurrence in run:
            action = occurrence.step.action
            if not isinstance(action, plans.Store | plans.Stores):
                continue
            copies = (
                (action.copy,) if isinstance(action, plans.Store) else (n for n, _ in action.chunks)
            )
            for key in ((action.buffer, copy) for copy in copies):
                if key in last:
                    younger = committed - last[key] - 1
                    position = occurrence.position
                    out[position] = min(out.get(position, younger), younger)
                last[key] = committed
            committed += 1
    return out
