"""A workbench for orders of one body, whole or of finer ops: price, synchronise, verify, score.

A body of a 2x2 grid of quadrants becomes one of a 4x4 grid of quarter quadrants when both channels
are split in two: twice the loads and fragments, each half as large, and four times the products,
each a quarter as long. Nothing else changes; what was one slot is two.

``Workbench`` is plain data, so that it can be sent to other processes. ``auto_order`` is the hunt
of ``SchedulingStrategy.AUTO``: a fixed number of evaluations, hence the same answer every time.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from math import inf

from warploom.dataclass import dataclass
from warploom.errors import ConfigError, ProgramError, WarploomError
from warploom.ir.counter_dialect import Counters, ScheduleDocument
from warploom.ir.machine_costs import MachineCosts, OpTiming
from warploom.ir.schedule_ops import DepEdge, OpDesc, OpRole
from warploom.modulo import ModuloResult, RingKind
from warploom.modulo.local_search import Hunt, HuntOptions, Step, Task
from warploom.modulo.sequence import Program, as_result
from warploom.modulo.starts import Start, solver_starts
from warploom.pipeline.compile.hooks import Hooks, priced, waves_of
from warploom.pipeline.compile.result import counters
from warploom.pipeline.modulo.bridge import BodyProblem, ModuloRequest, body_problem
from warploom.pipeline.modulo.entries import modulo_phases
from warploom.search_engine import Objective
from warploom.sim import interval_cost, steady_interval
from warploom.sync.counters import StallModel, guarded
from warploom.sync.counters.cost import Cost
from warploom.targets.mi355x import mi355x
from warploom.verify import verify

Split = tuple[int, int]
WHOLE: Split = (1, 1)


def refined(
    body: Sequence[OpDesc], units: Counters, split: Split
) -> tuple[tuple[OpDesc, ...], Counters, tuple[tuple[int, ...], ...]]:
    """The finer body, its counter units, and per old op the indices of its parts."""
    check_split(units, split)
    if any(op.role is OpRole.SHARED_STORE for op in body) and split != WHOLE:
        raise ProgramError(
            "a body that stages its tiles through registers cannot be split", fix="split=(1, 1)"
        )
    out: list[OpDesc] = []
    parts: list[tuple[int, ...]] = []
    for op in body:
        fine = _parts(op, split)
        parts.append(tuple(range(len(out), len(out) + len(fine))))
        out += fine
    return tuple(out), finer_units(units, split), tuple(parts)


def finer_units(units: Counters, split: Split) -> Counters:
    """Counter units of one part of a load or fragment."""
    a, b = split
    (vm_a, vm_b), (lgkm_a, lgkm_b) = units.vm_per_load, units.lgkm_per_load
    return Counters(vm_per_load=(vm_a // a, vm_b // b), lgkm_per_load=(lgkm_a // a, lgkm_b // b))


def check_split(units: Counters, split: Split) -> None:
    """Refuse a split that does not divide the instructions of a load or fragment."""
    for channel, (name, factor) in enumerate(zip("AB", split, strict=True)):
        for what, count in (
            ("loads", units.vm_per_load[channel]),
            ("fragment reads", units.lgkm_per_load[channel]),
        ):
            if factor < 1 or count % factor:
                raise ConfigError(
                    f"{count} {what} of {name} cannot be split in {factor} equal parts",
                    where="split",
                    fix="a divisor of every count of the channel",
                )


def _parts(op: OpDesc, split: Split) -> list[OpDesc]:
    a, b = split
    if op.role is OpRole.COMPUTE:
        latency = max(1, op.latency // (a * b))
        return [
            replace(op, stage=op.stage * a + i, subtile=op.subtile * b + j, latency=latency)
            for i in range(a)
            for j in range(b)
        ]
    if op.role in (OpRole.GLOBAL_LOAD, OpRole.FRAGMENT_LOAD) and op.channel in (0, 1):
        n = split[op.channel]
        return [
            replace(
                op,
                subtile=op.subtile * n + i,
                vm_cost=op.vm_cost // n,
                lgkm_cost=op.lgkm_cost // n,
                vgpr_def=-(-op.vgpr_def // n),
            )
            for i in range(n)
        ]
    return [op]


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
            protocol=phases.protocol(self.waves),
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


def simulate_task(bench: Workbench, task: Task) -> float:
    """One candidate's score; runs in any process."""
    return bench.simulated(task.program, task.effort)


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
    progress: Callable[[Step], None] | None = None,
) -> tuple[BodyProblem, ModuloResult]:
    """The best order of a fixed hunt, scored by the simulator; ``progress`` hears every score."""
    request = replace(request, max_depth=min(request.max_depth, AUTO_COPIES))
    bench, parts = workbench(
        schedule, body, edges, request=request, register_budget=register_budget
    )

    identity = body_order(bench, [i for group in parts for i in group], "identity")
    options = HuntOptions(evaluations=AUTO_EVALUATIONS, efforts=AUTO_EFFORTS)
    solved = solver_starts(bench.parts.problem, random.Random(0), known=[identity])
    starts = [identity, *islice(solved, AUTO_STARTS)]
    objective = Objective(each=partial(simulate_task, bench))
    found = Hunt(bench.parts.problem, objective, options, starts=starts, progress=progress).run()
    result = as_result(bench.parts.problem, found.best.program)
    assert result is not None
    return bench.parts, result
