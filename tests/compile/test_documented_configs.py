"""What the documents of the configs promise, shown."""

import inspect
from dataclasses import fields, replace

import pytest

import warploom as w
from tests.compile.documented import CSP, GEOMETRY, labels, letter, pingpong
from warploom import (
    BarrierStrategy,
    DeclarativeSchedule,
    LoadStrategy,
    OpDesc,
    OpRole,
    Pipeline4Wave,
    PipelineConfig,
    ScheduleConfig,
    SchedulingStrategy,
    WaitStrategy,
    mi355x_cost_model,
    mi355x_double_buffer,
)

# --- PipelineConfig ---------------------------------------------------------------------------

PIPELINE_FIELDS = (
    "depth",
    "prefetch",
    "drain_passes",
    "prologue_fill",
    "loop_carried",
    "block_sizing",
    "frag_order",
    "m_mmas",
    "n_mmas",
    "num_partitions",
    "mma_serial",
    "mma_latency",
    "vm_per_load_a",
    "vm_per_load_b",
    "lgkm_per_load_a",
    "lgkm_per_load_b",
    "ch0_match_field",
    "ch1_match_field",
    "warp_stagger",
    "cross_stage_rotation",
)


def test_pipeline_config_fields():
    assert {f.name for f in fields(PipelineConfig)} == set(PIPELINE_FIELDS)
    optional = {"lgkm_per_load_a": 0, "lgkm_per_load_b": 0, "cross_stage_rotation": False}
    parameters = inspect.signature(PipelineConfig).parameters
    for name in PIPELINE_FIELDS:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        default = parameters[name].default
        assert default == optional.get(name, inspect.Parameter.empty)


def test_pipeline_config_counts():
    config = replace(mi355x_double_buffer(2, 3), m_mmas=3, n_mmas=2, lgkm_per_load_b=7)
    assert config.mmas_per_partition() == 6
    assert config.globals_per_partition() == config.frags_per_partition() == 5
    assert config.ops_per_partition() == 16
    assert (config.total_ops(), config.blocks_per_partition(), config.total_blocks()) == (32, 6, 12)
    assert (config.vm_per_channel(0), config.vm_per_channel(1)) == (2, 3)
    assert (config.lgkm_per_channel(0), config.lgkm_per_channel(1)) == (0, 7)
    mma = OpDesc.logical(5, stage=2, subtile=1)
    assert (config.compute_match_key(mma, 0), config.compute_match_key(mma, 1)) == (2, 1)
    assert mi355x_double_buffer().total_edges() == 54 == len(pingpong().edges)


def test_rotation_relaxes_the_stage_check():
    class Strict(Pipeline4Wave):
        def config(self):
            return replace(super().config(), cross_stage_rotation=False)

    with pytest.raises(w.StructureError) as caught:
        letter(Strict(GEOMETRY))
    assert caught.value.check == "stage_consistency"


@pytest.mark.parametrize("b_first", [True, False])
def test_fragment_order_and_block_sizing(b_first):
    hw = replace(mi355x_double_buffer(), frag_order=w.FragOrder(b_first))
    body = DeclarativeSchedule(ScheduleConfig(), hw, mi355x_cost_model()).build_body()
    assert [op.channel for op in body[:2]] == ([1, 0] if b_first else [0, 1])
    assert [len(b.loads) for b in pingpong().program.blocks] == [1] * 8


def test_match_fields_decide_who_reads_a_fragment():
    hw = replace(mi355x_double_buffer(), ch0_match_field=1, ch1_match_field=0)
    body = DeclarativeSchedule().build_body()
    swapped = w.derive_edges_from_ops(body, hw)
    assert swapped != w.derive_edges_from_ops(body, mi355x_double_buffer())


def test_loop_carried_ops_cross_the_boundary():
    compiled = letter(w.SingleBufferSchedule(3, w.AMDScheduleHints(4, 4, 2, 16, 16, 2, 2)))
    carried = [e for e in compiled.edges if e.loop_distance == 1]
    assert any(compiled.body[e.producer_idx].role is OpRole.FRAGMENT_LOAD for e in carried)


def test_warp_stagger_index():
    assert pingpong().warp_stagger_index == 4
    assert letter(Pipeline4Wave(GEOMETRY)).warp_stagger_index == 15


# --- ScheduleConfig ---------------------------------------------------------------------------

SCHEDULE_DEFAULTS = {
    "scheduling": SchedulingStrategy.IDENTITY,
    "sched_barrier_mask": 85,
    "auto_waits": True,
    "drain_lgkm_mask": 0,
    "auto_drain": False,
    "lds_contention_penalty": 0,
    "wait_lgkm_first": 8,
    "wait_vm_last": 6,
    "lgkm_per_load_a": 0,
    "lgkm_per_load_b": 0,
    "lgkm_after_last": False,
    "minimal_barriers": False,
    "omit_mma_set_prio": False,
    "max_vgpr": 999999,
    "global_before_frag": False,
    "barrier_before_pre_ops": False,
    "inter_block_lgkm_drain": False,
    "partial_prologue_drain": False,
    "wrap_waits_with_sched_barrier": False,
}


def test_schedule_config_fields_and_defaults():
    config = ScheduleConfig()
    assert {f.name: getattr(config, f.name) for f in fields(config)} == SCHEDULE_DEFAULTS
    for parameter in inspect.signature(ScheduleConfig).parameters.values():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY


def test_strategy_bundles_spread_into_from_strategies():
    assert ScheduleConfig.from_strategies() == ScheduleConfig()
    spread = ScheduleConfig.from_strategies(
        scheduling=CSP,
        **BarrierStrategy.minimal_no_set_prio(3, True, True),
        **WaitStrategy.auto_with_inter_block_drain(True),
        **LoadStrategy.default(),
    )
    assert spread == ScheduleConfig(
        scheduling=CSP,
        minimal_barriers=True,
        omit_mma_set_prio=True,
        sched_barrier_mask=3,
        wrap_waits_with_sched_barrier=True,
        barrier_before_pre_ops=True,
        inter_block_lgkm_drain=True,
        partial_prologue_drain=True,
    )
    bundles = (BarrierStrategy.default(), WaitStrategy.default(), LoadStrategy.default())
    flat = {name: value for b in bundles for name, value in {**b}.items()}
    assert ScheduleConfig.from_strategies(**flat) == ScheduleConfig()


def test_strategies_of_order():
    orders = {
        s: pingpong(scheduling=s).order.order
        for s in (SchedulingStrategy.IDENTITY, SchedulingStrategy.GREEDY, CSP)
    }
    assert orders[SchedulingStrategy.IDENTITY] == tuple(range(24))
    assert orders[CSP] == orders[SchedulingStrategy.GREEDY] != tuple(range(24))


def fenced_blocks(compiled):
    return [i for i, b in enumerate(compiled.program.blocks) if b.trailing_sched_barrier]


def test_scheduler_fences_by_mask():
    assert fenced_blocks(pingpong()) == [0, 2, 4, 6]
    assert fenced_blocks(pingpong(sched_barrier_mask=0b10)) == [1]


def test_manual_counts_replace_derived_ones():
    text = labels(pingpong(auto_waits=False, wait_lgkm_first=5, wait_vm_last=3).kernel)
    assert text.count("WAIT_LGKM(5)") == 2
    assert text.count("WAIT_VM(3)") == 2
    derived = labels(pingpong().kernel)
    assert (derived.count("WAIT_LGKM(8)"), derived.count("WAIT_VM(12)")) == (2, 2)


def test_drains_by_mask_and_derived():
    masked = pingpong(drain_lgkm_mask=0b10)
    assert [b.drain_lgkm_before_loads for b in masked.program.blocks] == [False, True] + [False] * 6
    derived = [b.drain_lgkm_before_loads for b in pingpong(auto_drain=True).program.blocks]
    assert any(derived)
    assert pingpong().kernel != pingpong(auto_drain=True).kernel


def test_the_port_penalty_changes_the_order():
    assert pingpong(lds_contention_penalty=20).order.order != pingpong().order.order


def test_a_drain_behind_the_last_barrier():
    last = [pingpong(lgkm_after_last=flag).program.blocks[3] for flag in (False, True)]
    assert [b.post_barrier_lgkm for b in last] == [False, True]


def test_minimal_barriers_drop_priorities():
    blocks = pingpong(minimal_barriers=True).program.blocks
    assert not any(b.post_mma_barrier or b.post_mma_set_prio for b in blocks)
    assert any(b.pre_mma_set_prio for b in blocks)
    bare = pingpong(minimal_barriers=True, omit_mma_set_prio=True).program.blocks
    assert not any(b.pre_mma_set_prio for b in bare)


def test_layout_inside_a_block():
    default = labels(pingpong().kernel)
    swapped = labels(pingpong(global_before_frag=True).kernel)
    assert default.index("MMA_LOAD_B[0,0]") < default.index("LOAD_A[1,1] K_PREV")
    assert swapped.index("LOAD_A[1,1] K_PREV") < swapped.index("MMA_LOAD_B[0,0]")
    early = labels(pingpong(barrier_before_pre_ops=True).kernel)
    assert early.index("BARRIER") < early.index("MMA_LOAD_B[0,0]")
    assert default.index("BARRIER") > default.index("MMA_LOAD_B[0,0]")


def test_a_drain_between_blocks():
    blocks = pingpong(inter_block_lgkm_drain=True).program.blocks
    assert [b.entry_wait_lgkm.is_present() for b in blocks[:4]] == [False, True, True, False]


def test_fences_around_waits():
    plain, wrapped = pingpong(), pingpong(wrap_waits_with_sched_barrier=True)
    fences = [labels(c.kernel).count("SCHEDULE_BARRIER") for c in (plain, wrapped)]
    assert fences[1] == fences[0] + 2 * 8  # a sync group in each of eight blocks


def test_a_partial_prologue_drain():
    assert labels(pingpong().prologue).count("WAIT_VM(0)") == 2
    assert "WAIT_VM(0)" not in labels(pingpong(partial_prologue_drain=True).prologue)


def test_from_strategies_has_the_documented_signature():
    import inspect
    from dataclasses import fields

    documented = (
        "scheduling max_vgpr lds_contention_penalty minimal_barriers omit_mma_set_prio "
        "sched_barrier_mask wrap_waits_with_sched_barrier barrier_before_pre_ops auto_waits "
        "drain_lgkm_mask auto_drain wait_lgkm_first wait_vm_last lgkm_after_last "
        "inter_block_lgkm_drain partial_prologue_drain global_before_frag lgkm_per_load_a "
        "lgkm_per_load_b"
    )
    parameters = inspect.signature(ScheduleConfig.from_strategies).parameters
    assert list(parameters) == documented.split()
    usual = {f.name: (f.type, f.default) for f in fields(ScheduleConfig)}
    for name, parameter in parameters.items():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert (parameter.annotation, parameter.default) == usual[name]
    for name, (_, value) in usual.items():
        other = SchedulingStrategy.CSP if name == "scheduling" else value + 1 - 2 * (value is True)
        other = bool(other) if isinstance(value, bool) else other
        made = ScheduleConfig.from_strategies(**{name: other})
        assert made == ScheduleConfig(**{name: other})
        assert made != ScheduleConfig()
