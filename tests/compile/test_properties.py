"""What must hold for every body: ops exactly once, edges kept, CSP between bound and greedy."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings, strategies as st

from warploom import (
    BlockSizing,
    DeclarativeSchedule,
    KOffsetKind,
    OpRole,
    PingPongOps,
    PipelineBody,
    PipelineSchedule,
    ProgramError,
    ScheduleConfig,
    SchedulingStrategy,
    SyncPolicy,
    WarpStaggerRule,
    annotate_ops,
    compile_schedule,
    mi355x_cost_model,
    mi355x_double_buffer,
    mi355x_target,
)
from warploom.pipeline.graph_builder.partitions import edge_choices

OFFSETS = (KOffsetKind.K0, KOffsetKind.K1, KOffsetKind.K_NEXT)
DATA = (OpRole.GLOBAL_LOAD, OpRole.FRAGMENT_LOAD, OpRole.COMPUTE)


class Grid(PipelineSchedule):
    """An m x n grid over any number of partitions and channels, ops in a given order."""

    def __init__(self, m, n, partitions, channels, strategy, shuffle):
        self.m, self.n, self.partitions, self.channels = m, n, partitions, channels
        self.strategy, self.shuffle = strategy, shuffle

    def config(self):
        return replace(
            mi355x_double_buffer(),
            m_mmas=self.m,
            n_mmas=self.n,
            num_partitions=self.partitions,
            block_sizing=BlockSizing(4, 2, 0),
            warp_stagger=WarpStaggerRule.none(),
            cross_stage_rotation=True,
        )

    def schedule_config(self):
        return ScheduleConfig(scheduling=self.strategy, auto_waits=False)

    def _half(self, p):
        with PipelineBody() as body:
            for sub in range(self.m):
                body.load(PingPongOps.LOAD_A, ch=0, stage=p, sub=sub, k=OFFSETS[p])
                body.frag(PingPongOps.MMA_LOAD_A, ch=0, stage=p, sub=sub)
            for channel in range(1, self.channels):
                for sub in range(self.n):
                    body.load(PingPongOps.LOAD_B, ch=channel, stage=p, sub=sub, k=OFFSETS[p])
                    body.frag(PingPongOps.MMA_LOAD_B, ch=channel, stage=p, sub=sub)
            body.grid(self.m, self.n, PingPongOps.MMA)
        ops = body.done()
        if self.shuffle is not None and self.strategy is not SchedulingStrategy.IDENTITY:
            self.shuffle.shuffle(ops)
            last = max(i for i, op in enumerate(ops) if op.tag == PingPongOps.MMA)
            ops.append(ops.pop(last))  # a partition ends with an MMA
        return ops

    def build_body(self):
        if not hasattr(self, "_body"):
            ops = [op for p in range(self.partitions) for op in self._half(p)]
            self._body = annotate_ops(ops, mi355x_cost_model())
        return self._body


GRIDS = st.builds(
    Grid,
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(1, 3),
    st.integers(2, 3),
    st.sampled_from([SchedulingStrategy.GREEDY, SchedulingStrategy.CSP]),
    st.randoms(use_true_random=False),
)


def compiled_if_possible(schedule):
    """A search may end a partition with a load, which no block holds: refused, not lost."""
    try:
        return compile_schedule(schedule, on_race="skip")
    except ProgramError as error:
        assume("left over" not in error.what)
        raise


@settings(max_examples=25, deadline=None)
@given(GRIDS)
def test_every_op_runs_once_an_iteration(schedule):
    compiled = compiled_if_possible(schedule)
    in_kernel = Counter(e.op for e in compiled.kernel if e.op.role in DATA)
    assert in_kernel == Counter(compiled.body)


@settings(max_examples=25, deadline=None)
@given(GRIDS)
def test_same_iteration_edges_are_kept(schedule):
    compiled = compiled_if_possible(schedule)
    edges = edge_choices(compiled.body, compiled.edges, compiled.config)[0]
    position = {i: at for at, i in enumerate(compiled.order.order)}
    for edge in edges:
        if edge.loop_distance == 0:
            assert position[edge.producer_idx] < position[edge.consumer_idx]
    # The kernel keeps the order except that a block reads its fragments before it loads.
    mmas = [e.op for e in compiled.kernel if e.op.role is OpRole.COMPUTE]
    ordered = [compiled.body[i] for i in compiled.order.order]
    assert mmas == [op for op in ordered if op.role is OpRole.COMPUTE]


@settings(max_examples=15, deadline=None)
@given(GRIDS)
def test_csp_is_between_bound_and_greedy(schedule):
    makespans = {}
    for strategy in (SchedulingStrategy.GREEDY, SchedulingStrategy.CSP):
        schedule.strategy = strategy
        makespans[strategy] = compiled_if_possible(schedule).order
    csp, greedy = makespans[SchedulingStrategy.CSP], makespans[SchedulingStrategy.GREEDY]
    assert csp.lower_bound <= csp.makespan <= greedy.makespan


@pytest.mark.parametrize("max_globals", [0, 1, 2])
@pytest.mark.parametrize("penalty", [1, 10, 40])
def test_every_port_penalty_compiles_with_proven_waits(penalty, max_globals):
    config = ScheduleConfig(scheduling=SchedulingStrategy.CSP, lds_contention_penalty=penalty)
    schedule = DeclarativeSchedule(
        lgkm_a=8, lgkm_b=4, config=config, target=mi355x_target(4, 4, max_globals)
    )
    compiled = compile_schedule(schedule, sync=SyncPolicy.PROVEN_WEAKEST)
    assert compiled.order.proven
    assert compiled.report.verdict == "clean"


def test_small_blocks_without_a_cap_lose_no_load():
    config = replace(mi355x_double_buffer(max_globals=0), block_sizing=BlockSizing(2, 2, 0))
    schedule = DeclarativeSchedule(
        lgkm_a=8, lgkm_b=4, hw_config=config, cost_model=mi355x_cost_model()
    )
    compiled = compile_schedule(schedule)
    assert [len(b.loads) for b in compiled.program.blocks] == [0, 0, 0, 4, 0, 0, 0, 4]
