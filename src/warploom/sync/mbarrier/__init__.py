"""Guarding warp-specialised schedules: full/empty barriers, phase bits, counts, fences.

In: a ``ModuloResult`` (when, where, ring depths) and a ``Plan`` (what each op does). Out: a
``RolesDocument`` with one program per role. Nothing is chosen by pattern: a consumer waits on
``full`` in front of the first reader of a slot, ``wait_group`` counts follow from the order of
committed groups, a slot is released after the groups that read it, and arrival and byte counts
are sums over what the programs do.
"""

from collections.abc import Sequence
from dataclasses import replace

from warploom.errors import SchedulingError
from warploom.ir import mbarrier_dialect as roles
from warploom.ir.mbarrier_dialect import RoleEntry, RoleProgram, RolesDocument
from warploom.ir.rings import Part, Per, RoleRing, Scope
from warploom.modulo import ModuloResult
from warploom.sync.mbarrier.emit import entries, guards_of
from warploom.sync.mbarrier.expand import Lists, Step, expand_role
from warploom.sync.mbarrier.ordered_sequence import (
    first_turn,
    last_turn,
    take_turns,
    tile_turns,
    wait_before_turns,
)
from warploom.sync.mbarrier.plan import (
    Action,
    Copy,
    Plan,
    Product,
    Release,
    RingPlan,
    RolePlan,
    Store,
    Stores,
    Turns,
    Work,
    over_before,
)

WARP_THREADS = 32
ATOM = 1024  # bytes of eight rows under the widest swizzle, which repeat from there


def derive_roles(result: ModuloResult, plan: Plan) -> RolesDocument:
    """The synchronised programs of all roles."""
    expanded = {role.name: _expanded(result, plan, role) for role in plan.roles}
    rings = tuple(_ring(result, plan, ring, expanded) for ring in plan.rings)
    programs = (_program(result, plan, r, expanded[r.name]) for r in plan.roles)
    return RolesDocument(
        name=plan.name,
        target=plan.target,
        strategy="modulo",
        rings=rings,
        programs=tuple(_drained(p, rings) for p in programs),
        buffers=plan.buffers,
        barriers=plan.barriers,
        cluster=plan.cluster,
        proof=_proof(result),
    )


def _expanded(result: ModuloResult, plan: Plan, role: RolePlan) -> Lists:
    lists = expand_role(result, plan, role)
    if plan.turns is None or plan.turns.role != role.name or role.alternates:
        return lists
    return take_turns(result, plan, role, lists)


def _program(result: ModuloResult, plan: Plan, role: RolePlan, lists: Lists) -> RoleProgram:
    guards = guards_of(plan, lists, over_before(result, plan.aliases, role.members[0]))

    def listed(name: str, steps: tuple[Step, ...]) -> tuple[RoleEntry, ...]:
        made = entries(plan, guards, name, steps)
        return tile_turns(plan, name, made) if role.alternates else wait_before_turns(plan, made)

    prologue = listed("prologue", lists.prologue)
    return RoleProgram(
        name=role.name,
        instances=role.instances,
        threads=role.threads,
        peel=lists.peel,
        setup=role.setup + first_turn(plan, role),
        prologue=tuple(_started(e, plan) for e in prologue),
        kernel=listed("kernel", lists.kernel),
        epilogue=listed("epilogue", lists.epilogue),
        finish=_finish(plan, role),
        registers=role.registers,
        alternates=role.alternates,
    )


def _started(entry: RoleEntry, plan: Plan) -> RoleEntry:
    """The first product of a tile discards what the accumulator held."""
    action = plan.actions.get(entry.op) if isinstance(entry, roles.Mma) else None
    keeps = isinstance(action, Product) and action.keeps
    if isinstance(entry, roles.Mma) and entry.k == 0 and not keeps:
        return replace(entry, accumulate=False, reason="first product of the tile")
    return entry


def _finish(plan: Plan, role: RolePlan) -> tuple[RoleEntry, ...]:
    out: list[RoleEntry] = [*last_turn(plan, role)]
    actions = [a for _, a in role.tail]
    if role.instances > 1 or role.threads > 1:
        actions += plan.actions.values()
    if any(isinstance(a, Store | Stores) for a in actions):
        out.append(
            roles.BulkWait(pending=0, source_read=False, reason="stores end before the CTA does")
        )
    return tuple(out)


def _drained(program: RoleProgram, rings: Sequence[RoleRing]) -> RoleProgram:
    """No CTA leaves while others arrive here, or copy here: who casts waits for its last slots."""
    entries = [e for _, row in program.phases() for e in row]
    cast = {e.ring for e in entries if isinstance(e, roles.Load) and e.multicast > 1}
    waits = (
        roles.WaitEmpty(ring=r.name, k=k, reason="all CTAs have released it: nothing more comes")
        for r in rings
        if r.name in cast
        for k in range(r.depth)
    )
    return replace(program, finish=(*program.finish, *waits)) if cast else program


def _ring(result: ModuloResult, plan: Plan, ring: RingPlan, expanded: dict[str, Lists]) -> RoleRing:
    found = next((i for i, r in enumerate(result.problem.rings) if r.name == ring.name), None)
    least = result.depths[found] if found is not None else 1
    depth = ring.depth if ring.depth is not None else least
    if ring.per is Per.ITERATION and depth < least:
        raise SchedulingError(
            f"ring {ring.name} with {depth} slots cannot keep the interval of {result.ii} cycles",
            where=f"plan {plan.name!r}",
            why=f"the schedule needs {least} slots",
            fix="solve with that depth as the ring's max_depth, or allow more slots",
        )
    return RoleRing(
        name=ring.name,
        depth=depth,
        parts=ring.parts,
        full_arrivals=sum(_fills(plan, r, expanded[r.name], ring.name) for r in plan.roles),
        empty_arrivals=sum(_releases(plan, r, expanded[r.name], ring.name) for r in plan.roles),
        per=ring.per,
        stride=_stride(ring.parts),
    )


def _stride(parts: tuple[Part, ...]) -> int:
    """From slot to slot: whole atoms of the swizzle; 0 where slots are that already."""
    end = max((p.offset + p.bytes for p in parts), default=0)
    return -(-end // ATOM) * ATOM if end % ATOM else 0


def _fills(plan: Plan, role: RolePlan, lists: Lists, ring: str) -> int:
    """One arrival (the expected bytes) of a role that loads the ring; of one that writes it, one
    for every scope.
    """
    steps = (*lists.prologue, *lists.kernel)
    if any(isinstance(s.action, Work) and ring in {f.ring for f in s.action.fills} for s in steps):
        return role.together * _scopes(plan, role)
    return int(any(isinstance(s.action, tuple) and s.action[0].ring == ring for s in steps))


def _releases(plan: Plan, role: RolePlan, lists: Lists, ring: str) -> int:
    steps = (*lists.prologue, *lists.kernel, *lists.epilogue)
    if not any(s.is_release and s.ring == ring for s in steps):
        return 0
    return role.together * _scopes(plan, role) * plan.multicast(ring)


def _scopes(plan: Plan, role: RolePlan) -> int:
    """Arrivals of one instance."""
    warps = -(-role.threads // WARP_THREADS)
    return {Scope.THREAD: 1, Scope.WARP: warps, Scope.WARPGROUP: 1}[plan.scope]


def _proof(result: ModuloResult) -> roles.ProofRecord:
    depths = zip(result.problem.rings, result.depths, strict=True)
    return roles.ProofRecord(
        ii=result.ii,
        lower_bound=result.lower_bound,
        proven=result.proven,
        limit=result.limit.text,
        least_depths=tuple((r.name, d) for r, d in depths),
        solver="warploom.modulo",
    )
