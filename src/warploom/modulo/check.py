"""Independent checker: replays the definition of a modulo schedule on an unrolled timeline.

It shares nothing with the solvers: no distances, no ring algebra, no lowered constraints. It adds
up what holds each unit, compares every edge by absolute times, fills ring copies by number, counts
live registers and charges roles for streams, hand-offs and registers.

>>> check_schedule(body, ii=8, times=(0, 10), depths=(), roles=("main", "main"))   # doctest: +SKIP
CheckReport(errors=(), smem=0, ...)
"""

from collections.abc import Sequence
from math import ceil

from warploom.dataclass import dataclass
from warploom.errors import SchedulingError
from warploom.modulo.model import MAIN_ROLE, ModuloProblem, Read, Ring, RingKind
from warploom.modulo.result import ModuloResult


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What the replay found: errors (empty: the schedule is valid) and measured facts.

    ``registers`` gives per role static + rings + most live values; ``live`` is the last part.
    """

    errors: tuple[str, ...]
    smem: int
    ring_registers: int
    registers: tuple[tuple[str, int], ...]
    live: int
    length: int
    cuts: int


_Claim = tuple[int, int, int]
"""From one cycle up to another, so much of something."""


@dataclass(frozen=True, slots=True)
class _Replay:
    problem: ModuloProblem
    ii: int
    times: Sequence[int]
    depths: Sequence[int]
    roles: Sequence[str]

    def at(self, op: int, iteration: int) -> int:
        return self.times[op] + iteration * self.ii


def check_result(result: ModuloResult) -> CheckReport:
    """Re-verify a result; raises ``SchedulingError`` when it is not a schedule of its problem."""
    report = check_schedule(
        result.problem, result.ii, result.times, result.depths, roles=result.roles
    )
    errors = list(report.errors)
    if result.proven and result.lower_bound != result.ii:
        errors.append(f"proven, but the bound is {result.lower_bound} and II is {result.ii}")
    if errors:
        raise SchedulingError(
            f"the schedule of {result.problem.name!r} at II {result.ii} is not valid",
            where=errors[0],
            why=f"{len(errors)} violation(s): {'; '.join(errors[:5])}",
        )
    return report


def check_schedule(
    problem: ModuloProblem,
    ii: int,
    times: Sequence[int],
    depths: Sequence[int],
    *,
    roles: Sequence[str] | None = None,
) -> CheckReport:
    """Replay a schedule and report everything that is wrong with it."""
    own = problem.roles[0].name if problem.roles else MAIN_ROLE
    played = roles if roles is not None else [op.role or own for op in problem.ops]
    shape = _check_shape(problem, ii, times, depths, played)
    if shape:
        return CheckReport(
            errors=tuple(shape),
            smem=0,
            ring_registers=0,
            registers=(),
            live=0,
            length=0,
            cuts=0,
        )
    replay = _Replay(problem, ii, times, depths, played)
    # The most registers of freely renamed values live at once, per role, in the steady state
    lives: dict[str, list[_Claim]] = {}
    for value in replay.problem.values:
        role = value.role or replay.roles[value.src]
        start = replay.at(value.src, 0) + value.late
        end = max((replay.at(u.op, u.distance) + u.hold for u in value.uses), default=start)
        lives.setdefault(role, []).append((start, end, value.size))
    live = {role: _most_at_once(claims, replay.ii)[0] for role, claims in lives.items()}
    totals = _register_totals(replay, live)
    errors = _check_units(replay) + _check_edges(replay) + _check_rings(replay)
    errors += _check_budgets(replay, totals) + _check_roles(replay) + _check_isolation(replay)
    spans = [max([h.cycles for h in op.holds()] or [1]) for op in problem.ops]
    return CheckReport(
        errors=tuple(errors),
        smem=_stored(replay, RingKind.SMEM),
        ring_registers=_stored(replay, RingKind.REG),
        registers=tuple(sorted(totals.items())),
        live=sum(live.values()),
        length=max(t + s for t, s in zip(times, spans, strict=True)) - min(times),
        cuts=len(_cuts(replay)),
    )


def _check_shape(
    problem: ModuloProblem,
    ii: int,
    times: Sequence[int],
    depths: Sequence[int],
    roles: Sequence[str],
) -> list[str]:
    errors = []
    if ii < 1:
        errors.append(f"II is {ii}")
    if len(times) != len(problem.ops) or len(roles) != len(problem.ops):
        errors.append("times and roles must have one entry per op")
    if len(depths) != len(problem.rings):
        errors.append("depths must have one entry per ring")
    if any(t < 0 for t in times):
        errors.append("an op issues before time 0")
    return errors


def _iterations(r: _Replay) -> int:
    """Enough iterations that every overlap of the steady state occurs."""
    span = max(r.times) + max([h.cycles for op in r.problem.ops for h in op.holds()] or [1])
    far = [e.distance for e in r.problem.edges] + list(r.depths)
    far += [u.distance for ring in r.problem.rings for reads in ring.readers for u in reads]
    return 2 * (span // r.ii + 2) + max(far, default=1)


def _check_units(r: _Replay) -> list[str]:
    """Count the holders of every unit in every cycle of one interval, folded modulo II."""
    held: dict[str, list[_Claim]] = {}
    for v, op in enumerate(r.problem.ops):
        claims = [(h.unit, h.cycles) for h in op.holds()]
        if issuing := _stream_time(r, v):
            claims.append((f"stream of role {r.roles[v]}", issuing))
        for unit, cycles in claims:
            held.setdefault(unit, []).append((r.times[v], r.times[v] + cycles, 1))
    declared = {u.name: u.capacity for u in r.problem.capacities}
    errors = []
    for unit, claimed in held.items():
        most, cycle = _most_at_once(claimed, r.ii)
        if most > declared.get(unit, 1):
            errors.append(f"unit {unit!r} is held {most} times in cycle {cycle}")
    return errors


def _most_at_once(claims: Sequence[_Claim], ii: int) -> tuple[int, int]:
    """The largest sum of what is claimed in one cycle of the interval, and the first such cycle.

    Claims of all iterations meet: whole intervals count everywhere, the rest from where it starts.
    """
    changes = {0: 0}

    def claim(first: int, end: int, size: int) -> None:
        for at, change in ((first, size), (end, -size)):
            changes[at] = changes.get(at, 0) + change

    for first, end, size in claims:
        whole, rest = divmod(max(end - first, 0), ii)
        claim(0, ii, whole * size)
        start = first % ii
        claim(start, min(start + rest, ii), size)
        claim(0, max(start + rest - ii, 0), size)
    level, best = 0, (0, 0)
    for at in sorted(changes):
        level += changes[at]
        if level > best[0]:
            best = level, at
    return best


def _stream_time(r: _Replay, v: int) -> int:
    """Replays the issue of an op's pieces on a free unit: one while the queue is not full."""
    op = r.problem.ops[v]
    queues = {u.name: u.queue for u in r.problem.capacities}
    depth = queues.get(op.unit or "")
    if depth is None or op.pieces <= depth:
        return op.issue
    done = [op.occupancy * (k + 1) / op.pieces for k in range(op.pieces)]
    accepted = done[op.pieces - depth - 1]  # the last piece enters when this one is finished
    return max(op.issue, ceil(accepted - 1e-9))


def _check_edges(r: _Replay) -> list[str]:
    errors = []
    for e in r.problem.edges:
        need = e.latency
        if r.roles[e.src] != r.roles[e.dst]:
            need += r.problem.handoff if e.handoff is None else e.handoff
        if r.at(e.dst, e.distance) < r.at(e.src, 0) + need:
            names = f"{r.problem.ops[e.src].name} -> {r.problem.ops[e.dst].name}"
            late = r.at(e.src, 0) + need - r.at(e.dst, e.distance)
            errors.append(f"edge {names} (distance {e.distance}) is {late} cycles short")
    return errors


def _check_rings(r: _Replay) -> list[str]:
    errors = []
    for ring, depth in zip(r.problem.rings, r.depths, strict=True):
        if not ring.min_depth <= depth <= ring.max_depth:
            errors.append(f"ring {ring.name!r} has {depth} copies")
        error = _replay_ring(r, ring, depth)
        if error:
            errors.append(error)
    return errors


def _replay_ring(r: _Replay, ring: Ring, depth: int) -> str | None:
    """Write copies by number; a copy may be written only when all reads of it are over."""
    busy: dict[int, list[tuple[int, int]]] = {}
    before = None
    for number in range(_iterations(r) * len(ring.writers)):
        iteration, k = divmod(number, len(ring.writers))
        writer = ring.writers[k]
        write = r.at(writer, iteration)
        if before is not None and write < before:
            return f"ring {ring.name!r}: write {number} overtakes write {number - 1}"
        before = write
        for reader, end in busy.get(number % depth, ()):
            cost = r.problem.release if r.roles[reader] != r.roles[writer] else 0
            if write < end + cost:
                name = r.problem.ops[reader].name
                return f"ring {ring.name!r}: write {number} at {write} before {name} is over"
        busy[number % depth] = _read_ends(r, ring.readers[k], iteration)
    return None


def _read_ends(r: _Replay, reads: tuple[Read, ...], iteration: int) -> list[tuple[int, int]]:
    return [(u.op, r.at(u.op, iteration + u.distance) + u.hold) for u in reads]


def _register_totals(r: _Replay, live: dict[str, int]) -> dict[str, int]:
    totals = {role.name: role.static_registers for role in r.problem.roles}
    for ring, depth in zip(r.problem.rings, r.depths, strict=True):
        if ring.kind is RingKind.REG:
            first = next((u.op for reads in ring.readers for u in reads), ring.writers[0])
            role = ring.role or r.roles[first]
            totals[role] = totals.get(role, 0) + ring.size * depth
    for role, count in live.items():
        totals[role] = totals.get(role, 0) + count
    return totals


def _stored(r: _Replay, kind: RingKind) -> int:
    pairs = zip(r.problem.rings, r.depths, strict=True)
    return sum(ring.size * depth for ring, depth in pairs if ring.kind is kind)


def _check_budgets(r: _Replay, totals: dict[str, int]) -> list[str]:
    errors = []
    smem = _stored(r, RingKind.SMEM)
    if r.problem.smem_budget is not None and smem > r.problem.smem_budget:
        errors.append(f"shared memory {smem} exceeds the budget {r.problem.smem_budget}")
    for role in r.problem.roles:
        used = totals.get(role.name, 0)
        if role.register_budget is not None and used > role.register_budget:
            errors.append(f"role {role.name!r} needs {used} registers of {role.register_budget}")
    return errors


def _check_roles(r: _Replay) -> list[str]:
    names = {role.name for role in r.problem.roles} or {MAIN_ROLE}
    errors = []
    for op, role in zip(r.problem.ops, r.roles, strict=True):
        wrong = role not in names or (op.role is not None and role != op.role)
        if wrong or (op.role is None and op.may_run_on and role not in op.may_run_on):
            errors.append(f"op {op.name!r} may not run on role {role!r}")
    for e in r.problem.edges:
        if e.tie and r.roles[e.src] != r.roles[e.dst]:
            errors.append(f"tied ops {e.src} and {e.dst} run on different roles")
    return errors


def _cuts(r: _Replay) -> set[tuple[int, int]]:
    """Pairs of ops that must synchronise across roles: flow edges and ring reuses."""
    pairs = {(e.src, e.dst) for e in r.problem.edges if r.roles[e.src] != r.roles[e.dst]}
    for ring in r.problem.rings:
        pairs |= {
            (u.op, w)
            for reads in ring.readers
            for u in reads
            for w in ring.writers
            if r.roles[u.op] != r.roles[w]
        }
    return pairs


def _check_isolation(r: _Replay) -> list[str]:
    """Partitions must own contiguous arcs of the interval that follow one another in order."""
    if not r.problem.isolate:
        return []
    issues = sorted(
        (r.times[v] % r.ii, op.partition or 0, op.name) for v, op in enumerate(r.problem.ops)
    )
    arcs: list[tuple[int, int, str]] = []
    for at, partition, name in issues:
        if not arcs or arcs[-1][1] != partition:
            arcs.append((at, partition, name))
    order = [p for _, p, _ in arcs]
    if len(order) > 1 and order[0] == order[-1]:
        order.pop()
    start = order.index(min(order))
    turned = order[start:] + order[:start]
    if turned != sorted(set(turned)):
        return [f"partitions are not isolated: they issue in the order {order}"]
    return []
