"""The documented promises that no golden record states, one by one."""

from dataclasses import fields, replace

import pytest

import warploom as w
from tests.compile.documented import CSP, GEOMETRY, labels, letter, pingpong
from warploom import (
    DeclarativeSchedule,
    OpDesc,
    OpRole,
    Phase,
    Pipeline4Wave,
    PipelineSchedule,
    ScheduleConfig,
    ScheduleOps,
    SchedulingStrategy,
    annotate_ops,
    compile_schedule,
    double_buffer_reorder,
    mi355x_cost_model,
    mi355x_double_buffer,
    mi355x_target,
)
from warploom.errors import ForcedSettingWarning

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
    counts = w.derive_wait_counts(compiled.program, compiled.config, 8, 4)
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


def test_four_wave_emits_the_declared_order_on_request():
    config = replace(Pipeline4Wave._default_schedule_config(), global_before_frag=True)
    schedule = Pipeline4Wave(GEOMETRY, config)
    kernel = compile_schedule(schedule).kernel
    data = [e.op.label() for e in kernel if e.op.role in DATA]
    assert data == [op.label() for op in schedule.declare_ops()]


def test_four_wave_config_is_the_targets_without_stagger():
    schedule = Pipeline4Wave(GEOMETRY)
    own, given = schedule.config(), schedule.target.pipeline
    assert given.warp_stagger.enabled
    units = {f"lgkm_per_load_{c}": getattr(GEOMETRY, f"lgkm_per_load_{c}") for c in "ab"}
    rest = {"warp_stagger": w.WarpStaggerRule.none(), "cross_stage_rotation": True}
    assert own == replace(given, **units, **rest)


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
