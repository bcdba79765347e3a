"""Problems that once were refused although they have a schedule."""

from dataclasses import replace

import pytest

from warploom import (
    BlockSizing,
    DeclarativeSchedule,
    InfeasibleError,
    KOffsetKind,
    OpRole,
    OverBudgetWarning,
    PingPongOps,
    PipelineBody,
    PipelineSchedule,
    ScheduleConfig,
    SchedulingStrategy,
    SyncPolicy,
    TargetProfile,
    WarpStaggerRule,
    annotate_ops,
    compile_schedule,
    mi355x_cost_model,
    mi355x_double_buffer,
    mi355x_target,
)
from warploom.pipeline.graph_builder.partitions import slot_edges

CSP, GREEDY, IDENTITY = (SchedulingStrategy[n] for n in ("CSP", "GREEDY", "IDENTITY"))


def costs(load_a, load_b, read_a, read_b, mma):
    model = mi355x_cost_model()
    for tag, latency in zip(
        ("LOAD_A", "LOAD_B", "MMA_LOAD_A", "MMA_LOAD_B", "MMA"),
        (load_a, load_b, read_a, read_b, mma),
        strict=True,
    ):
        model.set_cost(PingPongOps[tag], replace(model.get_cost(PingPongOps[tag]), latency=latency))
    return model


@pytest.mark.parametrize(
    ("latencies", "penalty"),
    [((50, 100, 40, 10, 16), 40), ((20, 60, 1, 60, 4), 20), ((200, 1, 20, 20, 64), 8)],
)
def test_a_partition_may_not_end_in_a_load(latencies, penalty):
    """The fastest order ends a partition in a load, which no block takes; another one fits."""
    config = ScheduleConfig(scheduling=CSP, lds_contention_penalty=penalty)
    target = TargetProfile(costs(*latencies), mi355x_double_buffer())
    schedule = DeclarativeSchedule(config, target, lgkm_a=8, lgkm_b=4)
    for sync in (None, SyncPolicy.PROVEN_WEAKEST):
        compiled = compile_schedule(schedule, sync=sync)
        assert compiled.report.verdict == "clean"
        assert [len(b.loads) for b in compiled.program.blocks] == [1] * 8


class Wide(PipelineSchedule):
    """A 4x2 grid over two buffers, read row by row, as its author wrote it down."""

    def __init__(self, strategy, cap):
        self.strategy, self.cap = strategy, cap

    def config(self):
        return replace(
            mi355x_double_buffer(),
            m_mmas=4,
            n_mmas=2,
            block_sizing=BlockSizing(4, 2, self.cap),
            warp_stagger=WarpStaggerRule.none(),
        )

    def schedule_config(self):
        return ScheduleConfig(scheduling=self.strategy, lgkm_per_load_a=2, lgkm_per_load_b=2)

    def build_body(self):
        with PipelineBody() as body:
            for p in (0, 1):
                k = KOffsetKind.ahead(p)
                for row in range(4):
                    body.frag(PingPongOps.MMA_LOAD_A, ch=0, stage=p, sub=row)
                    for column in range(2):
                        if row == 0:
                            body.frag(PingPongOps.MMA_LOAD_B, ch=1, stage=p, sub=column)
                        if (row, column) == (3, 1):
                            body.fan(4, PingPongOps.LOAD_A, ch=0, stage=p, k=k)
                            body.fan(2, PingPongOps.LOAD_B, ch=1, stage=p, k=k)
                        body.compute(PingPongOps.MMA, stage=row, sub=column)
        return annotate_ops(body.done(), mi355x_cost_model())


@pytest.mark.parametrize("strategy", [IDENTITY, GREEDY, CSP])
@pytest.mark.parametrize("cap", [1, 2])
def test_a_wide_grid_with_a_cap(strategy, cap):
    """Stage by stage no load has room before the last reads; slot by slot each has."""
    compiled = compile_schedule(Wide(strategy, cap))
    assert compiled.report.verdict == "clean"
    assert max(len(b.loads) for b in compiled.program.blocks) <= cap


def test_slot_edges_are_those_of_one_slot():
    body = Wide(IDENTITY, 1).build_body()
    for edge in slot_edges(body, Wide(IDENTITY, 1).config()):
        a, b = body[edge.producer_idx], body[edge.consumer_idx]
        if OpRole.GLOBAL_LOAD in (a.role, b.role):
            assert (a.channel, a.stage, a.subtile) == (b.channel, b.stage, b.subtile)


def test_loads_that_only_fit_when_dealt_out_anew():
    """Two loads stand in one block, and only the one that is no surplus may move."""
    from warploom.ir.schedule_ops import DepEdge

    class Stated(Wide):
        def config(self):
            grid = {"m_mmas": 1, "n_mmas": 2, "num_partitions": 1}
            return replace(super().config(), **grid, depth=2)

        def build_body(self):
            with PipelineBody() as body:
                body.frag(PingPongOps.MMA_LOAD_A, ch=0)
                body.fan(2, PingPongOps.MMA_LOAD_B, ch=1)
                body.load(PingPongOps.LOAD_B, ch=1, sub=0, k=KOffsetKind.K0)
                body.compute(PingPongOps.MMA, sub=0)
                body.load(PingPongOps.LOAD_A, ch=0, sub=0, k=KOffsetKind.K0)
                body.load(PingPongOps.LOAD_B, ch=1, sub=1, k=KOffsetKind.K0)
                body.compute(PingPongOps.MMA, sub=1)
            return annotate_ops(body.done(), mi355x_cost_model())

        def derive_edges(self, body):
            return [DepEdge.anti(4, 6), DepEdge.flow(0, 4), DepEdge.flow(1, 4), DepEdge.flow(2, 7)]

    with pytest.raises(InfeasibleError, match="no block can take"):
        compile_schedule(Stated(IDENTITY, 1))  # three loads, two blocks
    assert compile_schedule(Stated(IDENTITY, 2)).report.verdict == "clean"


@pytest.mark.parametrize("strategy", [IDENTITY, GREEDY, CSP])
def test_a_cap_that_is_too_small_says_which_would_do(strategy):
    class Tight(Wide):
        def config(self):
            return replace(super().config(), m_mmas=1, n_mmas=1)

        def build_body(self):
            with PipelineBody() as body:
                for p in (0, 1):
                    body.frag(PingPongOps.MMA_LOAD_A, ch=0, stage=p)
                    body.frag(PingPongOps.MMA_LOAD_B, ch=1, stage=p)
                    body.load(PingPongOps.LOAD_A, ch=0, stage=p, k=KOffsetKind.ahead(p))
                    body.load(PingPongOps.LOAD_B, ch=1, stage=p, k=KOffsetKind.ahead(p))
                    body.compute(PingPongOps.MMA)
            return annotate_ops(body.done(), mi355x_cost_model())

    with pytest.raises(InfeasibleError, match="at most 1") as caught:
        compile_schedule(Tight(strategy, 1))
    assert "max_globals" in caught.value.fix
    assert compile_schedule(Tight(strategy, 2)).report.verdict == "clean"


def test_a_register_budget_is_kept_where_it_can_be():
    """The documented peak is always 96; what is live at once is what an order decides."""
    plain = compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4)).order
    assert plain.vgpr_peak == 96
    assert plain.registers < 96
    for budget in (64, plain.registers):
        config = ScheduleConfig(scheduling=CSP, max_vgpr=budget)
        schedule = DeclarativeSchedule(config, lgkm_a=8, lgkm_b=4)
        compiled = compile_schedule(schedule, insist_on_registers=True)
        assert compiled.order.registers <= budget
        assert compiled.report.verdict == "clean"


@pytest.mark.parametrize("strategy", [CSP, SchedulingStrategy.MODULO])
def test_a_register_budget_is_a_hint_unless_insisted_on(strategy):
    config = ScheduleConfig(scheduling=strategy, max_vgpr=4)
    schedule = DeclarativeSchedule(config, lgkm_a=8, lgkm_b=4)
    with pytest.warns(OverBudgetWarning, match="4"):
        compiled = compile_schedule(schedule)
    assert compiled.report.verdict == "clean"
    with pytest.raises(InfeasibleError):
        compile_schedule(schedule, insist_on_registers=True)


def test_overlapping_matrix_units_shorten_the_order():
    serial, model = mi355x_double_buffer(), costs(200, 200, 20, 20, 100)
    makespans = [
        compile_schedule(
            DeclarativeSchedule(ScheduleConfig(scheduling=CSP), config, model, lgkm_a=8, lgkm_b=4)
        ).order.makespan
        for config in (serial, replace(serial, mma_serial=False))
    ]
    assert makespans[1] < makespans[0]


@pytest.mark.parametrize("depth", [2, 3, 4, 8])
@pytest.mark.parametrize("strategy", [IDENTITY, GREEDY, CSP])
def test_a_ring_of_any_depth_is_built_and_proven(depth, strategy):
    config = ScheduleConfig(scheduling=strategy)
    schedule = DeclarativeSchedule(config, mi355x_target(2, 2, depth=depth), lgkm_a=8, lgkm_b=4)
    compiled = compile_schedule(schedule)
    assert compiled.report.verdict == "clean"
    stages = {e.op.stage for e in compiled.kernel if e.op.role is OpRole.GLOBAL_LOAD}
    assert stages == set(range(depth))
    assert compiled.protocol.k_tiles_per_iteration == depth


def test_a_load_never_crowds_into_the_block_that_reads_it():
    """A completion load at the end of a half may not slip past the reads of the next."""
    from .test_random_problems import outcome

    for strategy in (GREEDY, CSP):
        assert outcome(188, strategy) == "clean"
