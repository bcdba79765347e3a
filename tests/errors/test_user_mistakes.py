"""Each mistake a user can make raises a typed error that says what, where and how to fix it."""

from dataclasses import replace

import pytest

from warploom import (
    AMDScheduleHints,
    BlockSizing,
    ConfigError,
    CostModelError,
    DeclarativeSchedule,
    DepEdge,
    GeometryError,
    GraphError,
    InfeasibleError,
    KernelGeometry,
    KOffsetKind,
    OpCost,
    OpDesc,
    OpRole,
    PhaseError,
    PingPongOps,
    Pipeline4Wave,
    PipelineSchedule,
    ProgramError,
    ResourceKind,
    ScheduleConfig,
    SchedulingError,
    SchedulingStrategy,
    SingleBufferSchedule,
    StructureError,
    SyncPolicy,
    TargetCostModel,
    TargetProfile,
    VerificationError,
    annotate_ops,
    compile_schedule,
    mi355x_cost_model,
    mi355x_double_buffer,
    mi355x_target,
)
from warploom.pipeline.graph_builder.loop_body import LoopBody

GEOMETRY = KernelGeometry.four_wave((256, 256, 64))


class Given(PipelineSchedule):
    def __init__(self, body, config=None, sched=None, **hooks):
        self._body, self._config = body, config or mi355x_double_buffer()
        self._sched, self._hooks = sched or ScheduleConfig(), hooks

    def config(self):
        return self._config

    def build_body(self):
        return self._body

    def schedule_config(self):
        return self._sched

    def derive_edges(self, body):
        return self._hooks.get("edges", super().derive_edges(body))

    def build_explicit_blocks(self, body, program):
        return self._hooks.get("explicit", [])

    def bootstrap_frags(self):
        return self._hooks.get("bootstrap", [])


def pingpong_body():
    return DeclarativeSchedule().build_body()


def test_unknown_tag_names_the_op_and_the_known_ones():
    model = TargetCostModel({PingPongOps.LOAD_A: mi355x_cost_model().get_cost(0)})
    schedule = DeclarativeSchedule(target=TargetProfile(model, mi355x_double_buffer()))
    with pytest.raises(CostModelError) as caught:
        compile_schedule(schedule)
    assert "LOAD_B" in caught.value.what
    assert "LOAD_A" in caught.value.fix


@pytest.mark.parametrize("tag", [-1, 128, 255, 1000])
def test_infrastructure_tags_have_no_cost(tag):
    with pytest.raises(CostModelError):
        TargetCostModel().set_cost(tag, OpCost.none())


@pytest.mark.parametrize("field", ["latency", "vgpr_def", "vgpr_kill"])
def test_negative_costs(field):
    values = {"latency": 1, "vgpr_def": 0, "vgpr_kill": 0} | {field: -1}
    with pytest.raises(CostModelError, match=field):
        OpCost(ResourceKind.LDS, role=OpRole.FRAGMENT_LOAD, **values)


def test_cycle_is_named():
    edges = [DepEdge.flow(0, 1), DepEdge.flow(1, 0)]
    for strategy in (SchedulingStrategy.GREEDY, SchedulingStrategy.CSP):
        schedule = Given(pingpong_body(), sched=ScheduleConfig(scheduling=strategy), edges=edges)
        with pytest.raises((GraphError, SchedulingError)) as caught:
            compile_schedule(schedule)
        assert "MMA_LOAD_B" in str(caught.value)


@pytest.mark.parametrize("edge", [DepEdge.flow(0, 99), DepEdge.flow(-1, 0)])
def test_edges_that_join_no_ops(edge):
    with pytest.raises(GraphError):
        compile_schedule(Given(pingpong_body(), edges=[edge]))
    with pytest.raises(GraphError):
        LoopBody.of(pingpong_body(), [edge])


def test_missing_mma():
    body = pingpong_body()
    mmas = [i for i, op in enumerate(body) if op.role is OpRole.COMPUTE]
    del body[mmas[-1]]
    with pytest.raises(ProgramError, match="7 MMAs for 8 blocks"):
        compile_schedule(Given(body))


def test_leftover_ops():
    body = [*pingpong_body(), pingpong_body()[0]]
    with pytest.raises(ProgramError, match="left over") as caught:
        compile_schedule(Given(body))
    assert "MMA_LOAD_B" in caught.value.where


def test_op_without_a_place_in_a_block():
    body = [OpDesc.op(9, ResourceKind.VALU, 4, OpRole.VALU_COMPUTE), *pingpong_body()]
    with pytest.raises(ProgramError, match="no place"):
        compile_schedule(Given(body))


def test_reordering_never_loses_an_op():
    config = replace(mi355x_double_buffer(), block_sizing=BlockSizing(1, 1, 0))
    schedule = DeclarativeSchedule(hw_config=config, cost_model=mi355x_cost_model())
    assert len(schedule.build_body()) == 24
    model = mi355x_cost_model().with_cost(
        PingPongOps.LOAD_B, OpCost(ResourceKind.VALU, 4, OpRole.VALU_COMPUTE)
    )
    schedule = DeclarativeSchedule(target=TargetProfile(model, mi355x_double_buffer()))
    with pytest.raises(ProgramError, match="lose") as caught:
        compile_schedule(schedule)
    assert "LOAD_B" in caught.value.where


def test_contradictory_target_arguments():
    with pytest.raises(ConfigError, match="either target"):
        DeclarativeSchedule(target=mi355x_target(), hw_config=mi355x_double_buffer())


@pytest.mark.parametrize(
    "field", ["sched_barrier_mask", "wait_lgkm_first", "wait_vm_last", "max_vgpr"]
)
def test_out_of_range_schedule_config(field):
    with pytest.raises(ConfigError, match=field):
        ScheduleConfig(**{field: -1})


@pytest.mark.parametrize("field", ["depth", "m_mmas", "vm_per_load_a", "lgkm_per_load_b"])
def test_out_of_range_pipeline_config(field):
    with pytest.raises(ConfigError, match=field):
        replace(mi355x_double_buffer(), **{field: -1})


def test_match_field_names_a_field():
    with pytest.raises(ConfigError, match="ch0_match_field"):
        replace(mi355x_double_buffer(), ch0_match_field=2)


def test_unknown_setting_in_from_strategies():
    with pytest.raises(TypeError, match="barrier"):
        ScheduleConfig.from_strategies(barrier=True)


def test_infeasible_register_budget_names_the_smallest():
    sched = ScheduleConfig(scheduling=SchedulingStrategy.CSP, max_vgpr=30)
    schedule = DeclarativeSchedule(config=sched, lgkm_a=8, lgkm_b=4)
    with pytest.raises(InfeasibleError) as caught:
        compile_schedule(schedule, insist_on_registers=True)
    least = caught.value.smallest_feasible
    kept = replace(sched, max_vgpr=least)
    schedule = DeclarativeSchedule(config=kept, lgkm_a=8, lgkm_b=4)
    assert compile_schedule(schedule, insist_on_registers=True).order.registers == least


def test_explicit_blocks_of_the_wrong_length():
    with pytest.raises(ProgramError, match="1 explicit blocks for a program of 8"):
        compile_schedule(Given(pingpong_body(), explicit=[[OpDesc.barrier()]]))


def test_more_bootstrap_fragments_than_prefetches():
    fragments = [OpDesc(tag=3, role=OpRole.FRAGMENT_LOAD)] * 20
    sched = ScheduleConfig(partial_prologue_drain=True)
    with pytest.raises(PhaseError, match="20 bootstrap fragments"):
        compile_schedule(Given(pingpong_body(), sched=sched, bootstrap=fragments))


def test_no_prefetch_load():
    body = [
        replace(op, k_offset=KOffsetKind.K_PREV) if op.role is OpRole.GLOBAL_LOAD else op
        for op in pingpong_body()
    ]
    with pytest.raises(StructureError) as caught:
        compile_schedule(Given(body))
    assert caught.value.check == "prefetch_coverage"


def test_fragment_of_the_wrong_stage():
    body = pingpong_body()
    body[0] = replace(body[0], stage=1)
    with pytest.raises(StructureError) as caught:
        compile_schedule(Given(body))
    assert caught.value.check == "stage_consistency"
    assert "MMA_LOAD_B[1,0]" in caught.value.where


def test_partition_without_completion_load():
    body = [
        replace(op, stage=i // 12) if op.role is OpRole.GLOBAL_LOAD else op
        for i, op in enumerate(pingpong_body())
    ]
    with pytest.raises(StructureError) as caught:
        compile_schedule(Given(body), sync=SyncPolicy.REFERENCE)
    assert caught.value.check == "completion_coverage"
    with pytest.raises(VerificationError):
        compile_schedule(Given(body))  # the proof finds what is really wrong with it


def test_more_loads_than_all_blocks_take():
    body = pingpong_body()
    body[3:3] = [body[2]] * 3
    config = replace(mi355x_double_buffer(), block_sizing=BlockSizing(4, 2, 1))
    with pytest.raises(InfeasibleError, match="no block can take"):
        compile_schedule(Given(body, config))


@pytest.mark.parametrize(
    ("tile", "mma"),
    [
        ((256, 256, 60), (16, 16, 32)),
        ((256, 256, 64), (16, 16, 48)),
        ((16, 256, 64), (16, 16, 32)),
        ((1024, 1024, 64), (16, 16, 32)),
        ((0, 256, 64), (16, 16, 32)),
    ],
)
def test_impossible_geometry(tile, mma):
    with pytest.raises(GeometryError):
        KernelGeometry.four_wave(tile, mma)


def test_ping_pong_geometry_that_loads_nothing():
    with pytest.raises(GeometryError, match="vm_per_load_a would be 0"):
        KernelGeometry.ping_pong((64, 256, 32))


@pytest.mark.parametrize("k", [0, 64, 192, 300])
def test_k_not_a_multiple_of_the_iteration(k):
    protocol = compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4)).protocol
    with pytest.raises(ConfigError, match=f"K = {k}"):
        protocol.trip_count(k, 64)
    assert protocol.trip_count(128, 64) == 0
    assert protocol.trip_count(512, 64) == 3


def test_hints_without_reads():
    hints = AMDScheduleHints(0, 0, 1, 16, 16, 1, 1)
    with pytest.raises(ConfigError, match="hints"):
        compile_schedule(SingleBufferSchedule(1, hints))


def test_single_buffer_without_tiles():
    with pytest.raises(ConfigError, match="num_k_tiles"):
        SingleBufferSchedule(0, AMDScheduleHints(4, 4, 2, 16, 16, 2, 2))


def test_every_error_carries_its_four_parts():
    error = ProgramError("what", where="here", why="because", fix="do this")
    assert str(error) == "what\n  where here\n  why   because\n  fix   do this"
    assert annotate_ops([], mi355x_cost_model()) == []
    assert Pipeline4Wave(GEOMETRY).name == "fourwave"
