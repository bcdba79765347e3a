"""The documented promises that no golden record states, one by one."""

import inspect
import warnings
from dataclasses import fields, replace

import pytest

import warploom as w
from warploom import (
    BarrierStrategy,
    DeclarativeSchedule,
    KernelGeometry,
    LoadStrategy,
    OpDesc,
    OpRole,
    Phase,
    Pipeline4Wave,
    PipelineConfig,
    PipelineSchedule,
    ScheduleConfig,
    ScheduleOps,
    SchedulingStrategy,
    SyncPolicy,
    WaitStrategy,
    annotate_ops,
    compile_schedule,
    double_buffer_reorder,
    mi355x_cost_model,
    mi355x_double_buffer,
    mi355x_target,
)
from warploom.errors import ForcedSettingWarning, WarploomWarning

CSP = SchedulingStrategy.CSP
GEOMETRY = KernelGeometry.four_wave((256, 256, 64))


def letter(schedule):
    """Compiled by the documented rules, not judged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WarploomWarning)
        return compile_schedule(schedule, sync=SyncPolicy.REFERENCE, on_race="skip")


def pingpong(**knobs):
    config = ScheduleConfig(**{"scheduling": CSP, **knobs})
    return letter(DeclarativeSchedule(config, lgkm_a=8, lgkm_b=4))


def labels(entries):
    return [e.op.label() for e in entries]


# --- DeclarativeSchedule ----------------------------------------------------------------------


def test_declarative_defaults():
    schedule = DeclarativeSchedule()
    assert isinstance(schedule, PipelineSchedule)
    config = schedule.schedule_config()
    documented = (CSP, 85, True, 0, False, 0, 8, 6, 0, 0, False)
    assert tuple(getattr(config, f.name) for f in fields(config))[:11] == documented
    assert schedule.config() == mi355x_target(4, 4, 1).pipeline
    assert schedule.target.cost_model == mi355x_cost_model()


def test_declarative_forms():
    config, hw, model = ScheduleConfig(), mi355x_double_buffer(2, 2), mi355x_cost_model()
    assert DeclarativeSchedule(config).schedule_config() == config
    assert DeclarativeSchedule(config, mi355x_target(2, 2)).config() == hw
    assert DeclarativeSchedule(config, hw, model).config() == hw
    assert DeclarativeSchedule(config, hw, model).target.cost_model == model
    both = DeclarativeSchedule(True, 8, 4, config, mi355x_target(2, 2))
    assert (both.is_fp8, both.lgkm_a, both.lgkm_b) == (True, 8, 4)
    with pytest.raises(w.ConfigError, match="positional"):
        DeclarativeSchedule(config, hw, model, 1)
    with pytest.raises(w.ConfigError, match="twice"):
        DeclarativeSchedule(config, hw, model, hw_config=hw)


def test_declared_ops_are_logical():
    ops = DeclarativeSchedule().declare_ops()
    assert len(ops) == 24
    for op in ops:
        assert (op.resource, op.latency, op.role) == (w.ResourceKind.NONE, 0, OpRole.NONE)


def test_body_is_annotated_and_reordered():
    schedule = DeclarativeSchedule()
    priced = annotate_ops(schedule.declare_ops(), schedule.target.cost_model)
    assert schedule.build_body() == double_buffer_reorder(priced, schedule.config())


def test_lgkm_counts_come_from_the_parameters():
    config = DeclarativeSchedule(lgkm_a=8, lgkm_b=4).schedule_config()
    assert (config.lgkm_per_load_a, config.lgkm_per_load_b) == (8, 4)
    built = w.build_schedule(False, 8, 4)
    assert (built.lgkm_per_load_a, built.lgkm_per_load_b) == (8, 4)


def test_wait_counts_follow_from_the_order():
    compiled = pingpong()
    assert w.derive_wait_counts is w.derive_waits_from_blocks
    counts = w.derive_wait_counts(compiled.program.blocks, compiled.config, (8, 4))
    assert counts == (8, 12)


# --- PipelineSchedule -------------------------------------------------------------------------


class Least(PipelineSchedule):
    """The two required methods and nothing else."""

    def config(self):
        return mi355x_double_buffer()

    def build_body(self):
        return DeclarativeSchedule().build_body()


def test_two_methods_are_required():
    assert PipelineSchedule.__abstractmethods__ == {"config", "build_body"}
    with pytest.raises(TypeError):
        PipelineSchedule()
    schedule, body = Least(), Least().build_body()
    assert schedule.derive_edges(body) == w.derive_edges_from_ops(body, schedule.config())
    assert schedule.schedule_config() == ScheduleConfig()
    assert schedule.transform_kernel([], body) == []
    assert schedule.build_explicit_blocks(body, w.PipelineProgram()) == []
    assert schedule.bootstrap_frags() == []
    assert compile_schedule(schedule).report.verdict == "clean"


def test_single_buffer_kernel_is_transformed():
    class Marked(w.SingleBufferSchedule):
        def transform_kernel(self, ker, body):
            return [
                *ker,
                w.ScheduleEntry(op=OpDesc.set_prio(3), time_slot=len(ker), phase=Phase.KERNEL),
            ]

    hints = w.AMDScheduleHints(4, 4, 2, 16, 16, 2, 2)
    assert letter(Marked(2, hints)).kernel[-1].op == OpDesc.set_prio(3)


def test_phases_come_from_the_block_structure():
    compiled = pingpong()
    assert compiled.kernel == tuple(compiled.program.expand_to_list(Phase.KERNEL))
    by_block = [e for b in compiled.program.blocks for e in b.expand_to_list(Phase.KERNEL)]
    assert [e.op for e in by_block] == [e.op for e in compiled.kernel]


def test_explicit_blocks_are_verbatim_and_empty_ones_use_the_template():
    seen = []

    class Explicit(DeclarativeSchedule):
        def build_explicit_blocks(self, body, program):
            seen.append(program)
            first = program.blocks[0]
            mine = [OpDesc.set_prio(2), *first.fragments, *(op for op, _ in first.loads), first.mma]
            return [mine, *([] for _ in program.blocks[1:])]

    compiled = letter(Explicit(lgkm_a=8, lgkm_b=4))
    first = seen[0].blocks[0]
    assert first.mma.role is OpRole.COMPUTE
    assert first.pre_sync.tag == ScheduleOps.WAIT_LGKM  # blocks are populated, waits derived
    assert labels(compiled.kernel)[0] == "SET_PRIO(2)"
    plain = pingpong()
    assert labels(compiled.kernel)[-10:] == labels(plain.kernel)[-10:]


def test_bootstrap_fragments_follow_their_prefetch():
    prologue = letter(Pipeline4Wave(GEOMETRY)).prologue
    text = labels(prologue)
    assert text[8:] == [
        "WAIT_VM(28)",
        "BARRIER",
        "MMA_LOAD_A[0,0]",
        "WAIT_VM(24)",
        "BARRIER",
        "MMA_LOAD_B[0,0]",
    ]
    units = [e.op.vm_cost for e in prologue if e.op.role is OpRole.GLOBAL_LOAD]
    assert 24 == sum(units) - units[0] - units[1] == sum(units[2:])  # six loads stay in flight


def test_bootstrap_needs_a_partial_drain():
    class Booted(DeclarativeSchedule):
        def bootstrap_frags(self):
            return [OpDesc(tag=3, channel=0, role=OpRole.FRAGMENT_LOAD)]

    assert not [
        e for e in letter(Booted(lgkm_a=8, lgkm_b=4)).prologue if e.op.role is OpRole.FRAGMENT_LOAD
    ]


# --- Pipeline4Wave ----------------------------------------------------------------------------


def test_four_wave_defaults_and_invariants():
    schedule = Pipeline4Wave(GEOMETRY)
    assert schedule.target == mi355x_target(4, 4, 1)
    assert schedule.schedule_config() == Pipeline4Wave._default_schedule_config()
    with pytest.warns(ForcedSettingWarning):
        forced = Pipeline4Wave(GEOMETRY, ScheduleConfig(scheduling=CSP)).schedule_config()
    assert forced.scheduling is SchedulingStrategy.IDENTITY
    assert forced.minimal_barriers
    assert forced.partial_prologue_drain


def test_four_wave_order_is_the_declared_one():
    schedule = Pipeline4Wave(GEOMETRY)
    declared = schedule.declare_ops()
    assert len(declared) == 24
    assert [op.tag for op in schedule.build_body()] == [op.tag for op in declared]
    data = [e.op.label() for e in letter(schedule).kernel if e.op.role in DATA]
    per_block = [[op.label() for op in declared[i : i + 3]] for i in range(0, 24, 3)]
    assert data == [name for load, read, mma in per_block for name in (read, load, mma)]


DATA = (OpRole.GLOBAL_LOAD, OpRole.FRAGMENT_LOAD, OpRole.COMPUTE)


def test_four_wave_blocks_are_the_minimal_barrier_form():
    schedule = Pipeline4Wave(GEOMETRY)
    program = letter(schedule).program
    plain = replace(program, explicit_blocks=())
    made = schedule.build_explicit_blocks(schedule.build_body(), plain)
    assert len(made) == len(program.blocks)
    assert made == [w.emit_minimal_barrier_block(b, False) for b in program.blocks]
    for ops, block in zip(made, program.blocks, strict=True):
        waits = [op for op in ops if op.tag in (ScheduleOps.WAIT_VM, ScheduleOps.WAIT_LGKM)]
        assert waits == [
            op
            for op in (block.entry_wait, block.entry_wait_lgkm, block.pre_sync)
            if op.is_present()
        ]
        assert ops[-1].role is OpRole.COMPUTE


def test_four_wave_edges_are_filtered_and_rotated():
    schedule = Pipeline4Wave(GEOMETRY)
    body = schedule.build_body()
    default = w.derive_edges_from_ops(body, schedule.config())
    assert schedule.derive_edges(body) == [
        *w.filter_spurious_cross_stage_flow(default, body),
        *w.derive_cross_stage_rotation_edges(body),
    ]


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
