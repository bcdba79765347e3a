"""A workbench for orders of one body: price, expand, synchronise, judge and score any of them.

``Workbench`` is plain data, so that it can be sent to other processes. ``auto_order`` is the hunt
of ``SchedulingStrategy.AUTO``: a fixed number of evaluations, hence the same answer every time.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf

from warploom.document.counters import Counters, Protocol, ScheduleDocument
from warploom.document.kinds import OpRole
from warploom.document.machine import MachineCosts, OpTiming
from warploom.document.ops import DepEdge, OpDesc
from warploom.errors import WarploomError
from warploom.guard.counters import StallModel, guarded
from warploom.guard.counters.cost import Cost
from warploom.order import ModuloResult, RingKind
from warploom.order.hunt import Hunt, HuntOptions, Task
from warploom.order.sequence import Program, as_result
from warploom.order.starts import Start, solver_starts
from warploom.seed.compile.hooks import Hooks
from warploom.seed.compile.prices import priced, waves_of
from warploom.seed.compile.result import counters
from warploom.seed.modulo.bridge import BodyProblem, ModuloRequest, body_problem
from warploom.seed.modulo.entries import modulo_phases
from warploom.seed.modulo.refine import WHOLE, Split, refined
from warploom.sim import interval_cost, steady_interval
from warploom.target.mi355x import mi355x
from warploom.verify import verify

EFFORTS = (1, 12)
AUTO_EVALUATIONS = 24
AUTO_EFFORTS = (EFFORTS[0], 4)
AUTO_STARTS = 6
AUTO_COPIES = 2  # of a slot: with more of some, kernels are unrolled by their common multiple
TRIPS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """A body priced for a machine, and all that turns an order of it into a document.

    ``tiles`` K-tiles make one iteration of the body: scores are cycles for so many.
    """

    name: str
    target: str
    parts: BodyProblem
    units: Counters
    waves: int
    machine: MachineCosts

    @property
    def tiles(self) -> int:
        """K-tiles of one iteration of the body."""
        return self.parts.partitions

    def document(self, result: ModuloResult) -> ScheduleDocument:
        """The unsynchronised document of an order."""
        phases = modulo_phases(self.parts, result, vm_costs=self.units.vm_per_load)
        return ScheduleDocument(
            name=self.name,
            target=self.target,
            strategy="AUTO",
            protocol=Protocol(
                waves_per_group=self.waves,
                k_tiles_per_iteration=phases.k_tiles_per_iteration,
                kernel_k_base=phases.kernel_k_base,
            ),
            counters=self.units,
            prologue=phases.prologue,
            kernel=phases.kernel,
            epilogue=phases.epilogue,
        )

    def stalls(self) -> StallModel:
        """The machine as the one-wave stall model sees it: when data comes, at the least."""
        ops = self.parts.problem.ops

        def most(*roles: OpRole) -> int:
            mine = [v for v, op in enumerate(self.parts.ops) if op.role in roles]
            out = [e.latency for e in self.parts.problem.edges if e.src in mine]
            return max(out, default=1)

        mma = [o.occupancy for o, x in zip(ops, self.parts.ops, strict=True) if _is_mma(x)]
        return StallModel(
            mma=max(mma, default=1),
            vm_latency=most(OpRole.GLOBAL_LOAD),
            lgkm_latency=most(OpRole.FRAGMENT_LOAD, OpRole.SHARED_STORE),
            issue=max(1, dict(self.machine.by_role).get(OpRole.FRAGMENT_LOAD, _ONE).issue),
            barrier=self.machine.barrier,
        )

    def interval(self) -> Cost:
        """The simulated cycles of a document's loop, nearly: what waits and barriers are
        compared by."""
        rows = -(-self.waves // self.machine.simds)  # those of one SIMD stand for all
        waves = rows if self.waves % rows == 0 else None
        return interval_cost(self.machine, trips=TRIPS, waves=waves)

    def score(self, document: ScheduleDocument) -> float:
        """Simulated cycles for ``tiles`` K-tiles, of all waves, as every command reports them."""
        return self._for_tiles(document, steady_interval(document, self.machine))

    def _for_tiles(self, document: ScheduleDocument, interval: float) -> float:
        return interval * self.tiles / document.protocol.k_tiles_per_iteration

    def simulated(self, program: Program, effort: int) -> float:
        """The score of an order; infinite when it cannot be synchronised or is not clean.

        A first look is scored by what its waits were compared by, and not judged.
        """
        result = as_result(self.parts.problem, program)
        if result is None:
            return inf
        try:
            done, interval = guarded(self.document(result), self.interval(), self.stalls(), effort)
        except WarploomError:
            return inf
        if effort == EFFORTS[0]:
            return self._for_tiles(done, interval)
        return self.score(done) if verify(done).verdict == "clean" else inf


_ONE = OpTiming(issue=1, occupancy=1, latency=1)


def _is_mma(op: OpDesc) -> bool:
    return op.role is OpRole.COMPUTE


def workbench(
    schedule: Hooks,
    body: Sequence[OpDesc],
    edges: Sequence[DepEdge],
    *,
    machine: MachineCosts | None = None,
    request: ModuloRequest | None = None,
    split: Split = WHOLE,
    register_budget: int | None = None,
) -> tuple[Workbench, tuple[tuple[int, ...], ...]]:
    """The workbench of a schedule's body, and per op of the body its parts on the bench."""
    request = request or ModuloRequest()
    machine = machine or request.machine or MachineCosts()
    units = counters(schedule.config(), schedule.schedule_config())
    fine, units, parts = refined(body, units, split)
    if split != WHOLE:
        machine, edges = machine.with_finer_mmas(split[0] * split[1]), ()
    waves = waves_of(schedule)
    ops, prices = priced(fine, units, machine, waves)
    if request.smem_budget is None and schedule.shape is not None:
        request = replace(request, smem_budget=mi355x().lds_bytes)
    problem = _within_lds(ops, edges, schedule.name, replace(request, occupancies=prices))
    if register_budget is not None:
        roles = tuple(replace(r, register_budget=register_budget) for r in problem.problem.roles)
        problem = replace(problem, problem=replace(problem.problem, roles=roles))
    bench = Workbench(
        name=schedule.name,
        target=schedule.target_name,
        parts=replace(problem, ops=_own_prices(problem, fine)),
        units=units,
        waves=waves,
        machine=machine,
    )
    return bench, _kept(parts, fine)


def _own_prices(problem: BodyProblem, fine: Sequence[OpDesc]) -> tuple[OpDesc, ...]:
    """Documents carry the ops as their target priced them, not as the machine does."""
    kept = [op for op in fine if op.role not in (OpRole.SYNC, OpRole.FENCE)]
    assert len(kept) == len(problem.ops)
    return tuple(kept)


def _kept(parts: Sequence[tuple[int, ...]], fine: Sequence[OpDesc]) -> tuple[tuple[int, ...], ...]:
    """Indices of parts among the ops a problem keeps: sync ops are derived anew."""
    kept = [i for i, op in enumerate(fine) if op.role not in (OpRole.SYNC, OpRole.FENCE)]
    index = {old: new for new, old in enumerate(kept)}
    return tuple(tuple(index[i] for i in group if i in index) for group in parts)


def _within_lds(
    ops: Sequence[OpDesc], edges: Sequence[DepEdge], name: str, request: ModuloRequest
) -> BodyProblem:
    """The problem with as many copies of every slot as the LDS holds, at least one.

    Kernels lay all slots out alike, so a copy more of one is a copy more of all. Without a shape
    nobody knows how large a slot is, and depths are bounded by the request alone.
    """
    if request.smem_budget is None:
        return body_problem(ops, edges, name=name, request=request)
    free = replace(request, smem_budget=None, max_depth=1)
    rings = body_problem(ops, edges, name=name, request=free).problem.rings
    one = sum(r.size for r in rings if r.kind is RingKind.SMEM)
    most = max(1, min(request.max_depth, request.smem_budget // max(one, 1)))
    return body_problem(ops, edges, name=name, request=replace(free, max_depth=most))


def body_order(bench: Workbench, order: Sequence[int], name: str) -> Start:
    """An order of the bench's ops as a start, every ring at its least depth."""
    depths = tuple(r.min_depth for r in bench.parts.problem.rings)
    return name, Program(tuple(order), depths).turned()


def auto_order(
    schedule: Hooks,
    body: tuple[OpDesc, ...],
    edges: tuple[DepEdge, ...],
    request: ModuloRequest,
    register_budget: int | None,
) -> tuple[BodyProblem, ModuloResult]:
    """The best order of a fixed hunt, scored by the simulator."""
    request = replace(request, max_depth=min(request.max_depth, AUTO_COPIES))
    bench, parts = workbench(
        schedule, body, edges, request=request, register_budget=register_budget
    )

    def evaluate(tasks: Sequence[Task]) -> list[float]:
        return [bench.simulated(t.program, t.effort) for t in tasks]

    identity = body_order(bench, [i for group in parts for i in group], "identity")
    options = HuntOptions(evaluations=AUTO_EVALUATIONS, efforts=AUTO_EFFORTS)
    solved = solver_starts(bench.parts.problem, random.Random(0), known=[identity])
    starts = [identity, *islice(solved, AUTO_STARTS)]
    found = Hunt(bench.parts.problem, evaluate, options, starts=starts).run()
    result = as_result(bench.parts.problem, found.best.program)
    assert result is not None
    return bench.parts, result
