"""Order barriers: instances of a role that use one unit in turns, as the schedule found it.

A *turn* is a run of products of one instance with no other instance's product between them on the
unit. Two products follow one another in a turn exactly if they are neighbours there in the modulo
schedule. An instance waits for its barrier before a turn and arrives on its neighbour's after it;
the last instance gives the first one its first turn, and the first takes the last one back.

Instances that alternate have one turn a tile: from its first wait for a slot to its last product.
So whoever waits for a slot knows that the uses before it, which the others waited for, were full:
a parity tells two neighbouring laps apart and no more.
"""

from collections import defaultdict
from dataclasses import field, replace
from itertools import pairwise

from warploom.dataclass import dataclass
from warploom.errors import SchedulingError
from warploom.ir import mbarrier_dialect as roles
from warploom.ir.mbarrier_dialect import RoleEntry
from warploom.modulo import ModuloResult
from warploom.sync.mbarrier.expand import Lists, Position, Step, runs
from warploom.sync.mbarrier.plan import Plan, Product, RolePlan, Turns, Verbatim

_HELD = (roles.WaitFull, roles.WaitEmpty, roles.Mma)
Pair = tuple[str, str, int]  # op, the op after it, how many iterations later


@dataclass
class _Breaks:
    """For each product position: does a turn start in front of it, end after it?"""

    starts: dict[Position, set[bool]] = field(default_factory=lambda: defaultdict(set))
    ends: dict[Position, set[bool]] = field(default_factory=lambda: defaultdict(set))
    last: set[Position] = field(default_factory=set)  # positions that end a tile


def take_turns(result: ModuloResult, plan: Plan, role: RolePlan, lists: Lists) -> Lists:
    """The role's steps with the waits for its turns and the hand-overs after them."""
    turns = plan.turns
    assert turns is not None
    breaks = _breaks(lists, _neighbours(result, plan, role, turns))
    starts = {p for p in breaks.starts if _one(plan, breaks.starts[p])}
    mixed = {p for p, found in breaks.ends.items() if len(found) > 1}
    ends = {p for p, found in breaks.ends.items() if found == {True}}
    if mixed and (breaks.last != mixed or _has_products(lists.epilogue)):
        raise _irregular(plan)
    begin = Step("turn", Verbatim(entries=(_wait(turns),)), 0)
    end = Step("turn", Verbatim(entries=(_hand_over(turns),)), 0)

    def with_turns(name: str, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        out: list[Step] = []
        for i, step in enumerate(steps):
            at = (name, i)
            out += [begin] * (at in starts) + [step] + [end] * (at in ends)
        return tuple(out)

    epilogue = with_turns("epilogue", lists.epilogue)
    return replace(
        lists,
        prologue=with_turns("prologue", lists.prologue),
        kernel=with_turns("kernel", lists.kernel),
        epilogue=(end, *epilogue) if mixed else epilogue,
    )


def wait_before_turns(plan: Plan, entries: tuple[RoleEntry, ...]) -> tuple[RoleEntry, ...]:
    """The entries with every wait for data or groups in front of the turn it stands in.

    A turn that waits for a copy would keep the unit from everybody.
    """
    if plan.turns is None:
        return entries
    out = list(entries)
    for i in range(len(out) - 2, -1, -1):
        at, first = i, out[i]
        if not isinstance(first, roles.NamedSync) or first.barrier != plan.turns.barrier:
            continue
        while at + 1 < len(out) and isinstance(out[at + 1], roles.WaitFull | roles.WaitGroup):
            out[at], at = out[at + 1], at + 1
        out[at] = first
    return tuple(out)


def tile_turns(plan: Plan, name: str, entries: tuple[RoleEntry, ...]) -> tuple[RoleEntry, ...]:
    """A list of an instance that alternates, with the begin or the end of its turn."""
    assert plan.turns is not None
    begins = [i for i, e in enumerate(entries) if isinstance(e, (*_HELD, roles.MmaFence))]
    ends = [i + 1 for i, e in enumerate(entries) if isinstance(e, (*_HELD, roles.Commit))]
    if name == "prologue":
        at = begins[0] if begins else len(entries)
        return (*entries[:at], _wait(plan.turns), *entries[at:])
    if name == "epilogue":
        at = ends[-1] if ends else 0
        return (*entries[:at], _hand_over(plan.turns), *entries[at:])
    return entries


def first_turn(plan: Plan, role: RolePlan) -> tuple[RoleEntry, ...]:
    """The last instance hands the first turn to the first instance."""
    if plan.turns is None or plan.turns.role != role.name:
        return ()
    return (
        roles.NamedArrive(
            barrier=plan.turns.barrier,
            turn=1,
            instance=role.instances - 1,
            reason=f"instance 0 has the first turn on the {plan.turns.unit} unit",
        ),
    )


def last_turn(plan: Plan, role: RolePlan) -> tuple[RoleEntry, ...]:
    """The first instance takes the last hand-over, so that every arrival is waited for.

    Who would be next after the last tile depends on how many there are: there nobody waits.
    """
    if plan.turns is None or plan.turns.role != role.name or role.alternates:
        return ()
    return (
        roles.NamedSync(
            barrier=plan.turns.barrier, instance=0, reason="the last turn has come back"
        ),
    )


def _wait(turns: Turns) -> RoleEntry:
    why = f"its turn on the {turns.unit} unit: the other instance has issued"
    return roles.NamedSync(barrier=turns.barrier, reason=why)


def _hand_over(turns: Turns) -> RoleEntry:
    why = f"issued: the {turns.unit} unit is the next instance's"
    return roles.NamedArrive(barrier=turns.barrier, turn=1, reason=why)


def _neighbours(result: ModuloResult, plan: Plan, role: RolePlan, turns: Turns) -> frozenset[Pair]:
    """Products of one member that follow one another on the unit in the schedule."""
    ops = result.problem.ops
    order = [v for v in result.kernel_order() if turns.unit in {h.unit for h in ops[v].holds()}]
    names = [plan.aliases.get(ops[v].name, ops[v].name) for v in range(len(ops))]
    found: dict[str, set[Pair]] = {m: set() for m in role.members}
    for a, b in zip(order, order[1:] + order[:1], strict=True):
        if result.roles[a] == result.roles[b] and result.roles[a] in found:
            gap = (result.cycle(b) - result.cycle(a)) % result.ii or result.ii
            later = (result.times[a] + gap - result.times[b]) // result.ii
            found[result.roles[a]].add((names[a], names[b], later))
    first, *others = found.values()
    if any(pairs != first for pairs in others):
        raise _irregular(plan)
    return frozenset(first)


def _breaks(lists: Lists, joined: frozenset[Pair]) -> _Breaks:
    out = _Breaks()
    for run in runs(lists):
        products = [o for o in run if isinstance(o.step.action, Product)]
        out.starts[products[0].position].add(True)
        for a, b in pairwise(products):
            together = a.tile == b.tile and (a.step.op, b.step.op, b.use - a.use) in joined
            out.ends[a.position].add(not together)
            out.starts[b.position].add(not together)
            if a.tile != b.tile:
                out.last.add(a.position)
        out.ends[products[-1].position].add(True)
        out.last.add(products[-1].position)
    return out


def _has_products(steps: tuple[Step, ...]) -> bool:
    return any(isinstance(s.action, Product) for s in steps)


def _one(plan: Plan, found: set[bool]) -> bool:
    if len(found) > 1:
        raise _irregular(plan)
    return True in found


def _irregular(plan: Plan) -> SchedulingError:
    return SchedulingError(
        "the schedule's turns are not the same for every instance and iteration",
        where=f"plan {plan.name!r}",
        why="a barrier stands at a place in the program, not at an iteration",
        fix="make the schedule alike first (warploom.modulo.symmetry), or drop Plan.turns",
    )
