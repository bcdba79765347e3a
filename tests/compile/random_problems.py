"""Random problems of the double-buffer path, and independent judges of what is refused.

The judges know nothing of the compiler: they re-derive who must come before whom from channels,
stages and sub-tiles, and ask a constraint solver or try every order.
"""

from dataclasses import replace
from itertools import pairwise
from random import Random

from warploom import (
    AMDScheduleHints,
    BlockSizing,
    DeclarativeSchedule,
    KernelGeometry,
    KOffsetKind,
    OpRole,
    PingPongOps,
    Pipeline4Wave,
    PipelineBody,
    PipelineSchedule,
    ScheduleConfig,
    SchedulingStrategy,
    SingleBufferSchedule,
    SyncPolicy,
    TargetProfile,
    WarpStaggerRule,
    annotate_ops,
    mi355x_cost_model,
    mi355x_double_buffer,
    mi355x_single_buffer,
    mi355x_single_buffer_cost_model,
    mi355x_target,
)

LOAD, READ, MMA = OpRole.GLOBAL_LOAD, OpRole.FRAGMENT_LOAD, OpRole.COMPUTE
LATENCIES = (1, 4, 10, 20, 50, 100, 200)


def random_costs(rng):
    model = mi355x_cost_model()
    for tag in PingPongOps:
        cost = model.get_cost(tag)
        choices = (4, 8, 16, 32, 64) if cost.role is MMA else LATENCIES
        model.set_cost(tag, replace(cost, latency=rng.choice(choices)))
    return model


def random_config(rng, strategy):
    searched = strategy is SchedulingStrategy.CSP
    return ScheduleConfig(
        scheduling=strategy,
        lds_contention_penalty=rng.choice((0, 0, 4, 10, 20, 40)) if searched else 0,
        sched_barrier_mask=85,
        drain_lgkm_mask=rng.choice((0, 0, 0, rng.randrange(256))),
        global_before_frag=False,
        barrier_before_pre_ops=rng.random() < 0.2,
        inter_block_lgkm_drain=rng.random() < 0.2,
        lgkm_per_load_a=rng.randint(1, 8),
        lgkm_per_load_b=rng.randint(1, 8),
    )


class Grid(PipelineSchedule):
    """An m x n grid over ``partitions`` buffers; ops in a random order that loses no tile."""

    def __init__(self, rng, strategy, m, n, partitions, depth):
        self.strategy, self.m, self.n, self.partitions = strategy, m, n, partitions
        self._knobs = random_config(rng, strategy)
        self._config = replace(
            mi355x_double_buffer(rng.randint(1, 4), rng.randint(1, 4)),
            depth=depth,
            m_mmas=m,
            n_mmas=n,
            num_partitions=partitions,
            block_sizing=BlockSizing(4, 2, rng.choice((0, 1, 1, 2, 3))),
            warp_stagger=rng.choice((WarpStaggerRule.none(), WarpStaggerRule.auto())),
        )
        late = partitions > 1 and rng.random() < 0.5
        ops = []
        for p in range(partitions):
            ops += _shuffled(rng, self._half(p, late), strategy)
        self._body = annotate_ops(ops, random_costs(rng))

    def config(self):
        return self._config

    def schedule_config(self):
        return self._knobs

    def build_body(self):
        return self._body

    def _half(self, p, late):
        """Loads into buffer p (the last A tile one partition later if ``late``), reads, MMAs."""
        with PipelineBody() as body:
            for sub in range(self.m):
                moved = late and sub == self.m - 1
                body.load(
                    PingPongOps.LOAD_A,
                    ch=0,
                    stage=(p - 1) % self.partitions if moved else p,
                    sub=sub,
                    k=KOffsetKind.ahead(p - 1 if moved else p),
                )
            body.fan(self.n, PingPongOps.LOAD_B, ch=1, stage=p, k=KOffsetKind.ahead(p))
            body.fan(self.m, PingPongOps.MMA_LOAD_A, ch=0, stage=p)
            body.fan(self.n, PingPongOps.MMA_LOAD_B, ch=1, stage=p)
            body.grid(self.m, self.n, PingPongOps.MMA)
        return body.done()


_LOADS = (PingPongOps.LOAD_A, PingPongOps.LOAD_B)
_READS = (PingPongOps.MMA_LOAD_A, PingPongOps.MMA_LOAD_B)


def _shuffled(rng, ops, strategy):
    """Any order for a search; for IDENTITY one that reads before it overwrites or multiplies."""
    rng.shuffle(ops)
    if strategy is not SchedulingStrategy.IDENTITY:
        return ops
    done = []
    while ops:
        ready = [
            op for op in ops if not any(_before(other, op) for other in ops if other is not op)
        ]
        mmas = [op for op in ops if op.tag == PingPongOps.MMA]
        closing = len(mmas) == 1 and len(ops) > 1
        op = next(op for op in ready if not (closing and op.tag == PingPongOps.MMA))
        ops.remove(op)
        done.append(op)
    return done


def _before(first, second):
    """Whether ``first`` must precede ``second`` inside a partition."""
    if first.tag in _READS and second.tag in _LOADS:
        return (first.channel, first.stage, first.subtile) == (
            second.channel,
            second.stage,
            second.subtile,
        )
    if first.tag in _READS and second.tag == PingPongOps.MMA:
        return first.subtile == (second.stage if first.channel == 0 else second.subtile)
    return False


def random_problem(seed, strategy):
    """A random schedule: mostly grids of 1x1 to 4x4, some of the shipped kernels.

    Small bodies are drawn more often, so that two thousand take minutes.
    """
    rng = Random(seed)
    kind = rng.random()
    depth = rng.randint(2, 4)
    if kind < 0.05:
        return _single(rng)
    if kind < 0.1:
        cap = rng.choice((0, 1, 2))
        target = TargetProfile(
            random_costs(rng),
            mi355x_double_buffer(rng.randint(1, 4), rng.randint(1, 4), cap, depth=depth),
        )
        config = replace(random_config(rng, strategy), lgkm_per_load_a=0, lgkm_per_load_b=0)
        return DeclarativeSchedule(config, target, lgkm_a=rng.randint(1, 8), lgkm_b=4)
    if kind < 0.15:
        geometry = KernelGeometry.four_wave(rng.choice(((64, 64, 32), (128, 64, 32))))
        return Pipeline4Wave(geometry, target=mi355x_target(*geometry.vm_per_load, depth=depth))
    sizes = (1, 1, 1, 1, 2, 2, 2, 3, 4)
    m, n = rng.choice(sizes), rng.choice(sizes)
    partitions = rng.randint(1, 4 if m * n <= 2 else 3 if m * n <= 4 else 2 if m * n <= 6 else 1)
    return Grid(rng, strategy, m, n, partitions, depth)


def _single(rng):
    """One buffer: the strategy does not enter."""
    tiles = rng.randint(1, 4)
    model = mi355x_single_buffer_cost_model()
    for tag, cost in dict(model.costs).items():
        model.set_cost(tag, replace(cost, latency=rng.choice(LATENCIES)))
    target = TargetProfile(model, mi355x_single_buffer())
    return SingleBufferSchedule(tiles, AMDScheduleHints(4, 4, 2, 16, 16, 2, 2), target)


# --- independent judges -----------------------------------------------------------------------


def _partitions(schedule):
    body, count = schedule.build_body(), schedule.config().num_partitions
    bounds = [p * len(body) // count for p in range(count + 1)]
    return [body[lo:hi] for lo, hi in pairwise(bounds)]


def blocks_exist(schedule, strategy):
    """Whether each partition can be cut into blocks within the cap, by a constraint solver.

    For a search the whole order is free; for IDENTITY reads and MMAs stay, loads may move to any
    block of the body.
    """
    cap = schedule.config().block_sizing.max_globals
    if strategy is SchedulingStrategy.IDENTITY:
        return _dealing_exists(schedule, cap)
    return all(_order_exists(part, cap) for part in _partitions(schedule))


def _order_exists(ops, cap):
    from ortools.sat.python import cp_model

    model, n = cp_model.CpModel(), len(ops)
    mmas = [i for i in range(n) if ops[i].role is MMA]
    loads = [i for i in range(n) if ops[i].role is LOAD]
    block = [model.new_int_var(0, len(mmas) - 1, f"b{i}") for i in range(n)]
    model.add_all_different(block[i] for i in mmas)
    for i in range(n):
        for j in range(n):
            if i != j and _before(ops[i], ops[j]):
                model.add(block[i] <= block[j])
    for b in range(len(mmas) if cap else 0):
        here = []
        for i in loads:
            inside = model.new_bool_var(f"in{i}_{b}")
            model.add(block[i] == b).only_enforce_if(inside)
            model.add(block[i] != b).only_enforce_if(~inside)
            here.append(inside)
        model.add(sum(here) <= cap)
    return cp_model.CpSolver().solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)


def _dealing_exists(schedule, cap):
    from ortools.sat.python import cp_model

    body = schedule.build_body()
    at, b = [], 0
    for op in body:
        at.append(b)
        b += op.role is MMA
    model, blocks = cp_model.CpModel(), b
    size = len(body) // schedule.config().num_partitions
    loads = [i for i, op in enumerate(body) if op.role is LOAD]
    place = {i: model.new_int_var(0, blocks - 1, f"p{i}") for i in loads}
    for i in loads:
        for j, read in enumerate(body):
            if read.role is READ and _slot(read) == _slot(body[i]):
                if body[i].k_offset is KOffsetKind.K_PREV:
                    model.add(place[i] < at[j])  # it completes what this iteration still reads
                elif j // size <= i // size:
                    model.add(place[i] >= at[j])
    for b in range(blocks if cap else 0):
        here = []
        for i in loads:
            inside = model.new_bool_var(f"in{i}_{b}")
            model.add(place[i] == b).only_enforce_if(inside)
            model.add(place[i] != b).only_enforce_if(~inside)
            here.append(inside)
        model.add(sum(here) <= cap)
    return cp_model.CpSolver().solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)


def _slot(op):
    return op.channel, op.stage, op.subtile


SYNC = (*(None,) * 6, SyncPolicy.PROVEN_WEAKEST, SyncPolicy.PROVEN_FEWEST)
