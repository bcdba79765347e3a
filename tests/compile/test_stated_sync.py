"""What an author states is kept and proven; what is derived is derived; nothing vanishes."""

import itertools
import warnings
from dataclasses import replace

import pytest

from warploom import (
    DeclarativeSchedule,
    KernelGeometry,
    NoEffectWarning,
    OpDesc,
    OpRole,
    Phase,
    Pipeline4Wave,
    ScheduleConfig,
    SchedulingStrategy,
    SyncError,
    SyncPolicy,
    VerificationError,
    WarploomWarning,
    compile_schedule,
    mi355x_target,
)

CSP = SchedulingStrategy.CSP
PROVEN = (SyncPolicy.PROVEN_WEAKEST, SyncPolicy.PROVEN_FEWEST)
EVERY = (None, *PROVEN)


def pingpong(**knobs):
    return DeclarativeSchedule(ScheduleConfig(scheduling=CSP, **knobs), lgkm_a=8, lgkm_b=4)


def labels(compiled):
    return [e.op.label() for e in compiled.kernel]


@pytest.mark.parametrize("sync", EVERY)
def test_manual_counts_are_kept(sync):
    schedule = pingpong(auto_waits=False, wait_vm_last=3, wait_lgkm_first=1)
    compiled = compile_schedule(schedule, sync=sync)
    assert compiled.report.verdict == "clean"
    assert labels(compiled).count("WAIT_VM(3)") == 2
    assert labels(compiled).count("WAIT_LGKM(1)") == 2


def test_a_manual_count_that_is_too_weak_is_refused_or_strengthened():
    schedule = pingpong(auto_waits=False, wait_vm_last=16, wait_lgkm_first=0)
    with pytest.raises(VerificationError) as caught:
        compile_schedule(schedule)
    assert "strengthen=True" in caught.value.fix
    assert compile_schedule(schedule, on_race="report").report.verdict == "race"
    compiled = compile_schedule(schedule, strengthen=True)
    assert compiled.report.verdict == "clean"
    assert compiled.changes
    assert all(c.reason is not None for c in compiled.changes)


@pytest.mark.parametrize("sync", PROVEN)
def test_under_proof_what_is_missing_beside_manual_counts_is_derived(sync):
    schedule = pingpong(auto_waits=False, wait_vm_last=16, wait_lgkm_first=0)
    compiled = compile_schedule(schedule, sync=sync)
    assert compiled.report.verdict == "clean"
    assert labels(compiled).count("WAIT_VM(16)") == 2


class Loose(DeclarativeSchedule):
    """A wait of its own that is too weak for the barrier after it."""

    def build_explicit_blocks(self, body, program):
        blocks = [[e.op for e in b.expand_to_list(Phase.KERNEL)] for b in program.blocks]
        for block in (0, 4):
            at = next(i for i, op in enumerate(blocks[block]) if "WAIT_LGKM" in op.label())
            blocks[block][at] = OpDesc.wait_lgkm(12)
        return blocks


def test_a_stated_wait_is_never_tightened_unasked():
    schedule = Loose(lgkm_a=8, lgkm_b=4)
    for sync in EVERY:
        refusal = None
        try:
            compiled = compile_schedule(schedule, sync=sync)
        except (SyncError, VerificationError) as error:
            refusal = error
            compiled = compile_schedule(schedule, sync=sync, strengthen=True)
        if refusal is None:
            assert labels(compiled).count("WAIT_LGKM(12)") == 2
        else:
            assert "strengthen=True" in refusal.fix
        assert compiled.report.verdict == "clean"


@pytest.mark.parametrize("sync", EVERY)
def test_asked_for_drains_are_kept(sync):
    plain = compile_schedule(pingpong(), sync=sync)
    asked = compile_schedule(pingpong(drain_lgkm_mask=0b10010), sync=sync)
    assert asked.report.verdict == "clean"
    for block in (1, 4):
        assert asked.program.blocks[block].drain_lgkm_before_loads
    drains = [_drained_before_loads(c) for c in (plain, asked)]
    assert drains[1] >= drains[0] + 2


def _drained_before_loads(compiled):
    """Loads right after a full LDS drain."""
    ops = [e.op for e in compiled.kernel]
    return sum(
        before.label() == "WAIT_LGKM(0)" and op.role is OpRole.GLOBAL_LOAD
        for before, op in itertools.pairwise(ops)
    )


@pytest.mark.parametrize("sync", EVERY)
def test_drains_between_blocks_and_after_the_last_barrier_are_kept(sync):
    compiled = compile_schedule(pingpong(inter_block_lgkm_drain=True), sync=sync)
    assert compiled.report.verdict == "clean"
    assert labels(compiled).count("WAIT_LGKM(0)") >= 4
    after = compile_schedule(pingpong(lgkm_after_last=True), sync=sync)
    text = labels(after)
    ends = [i for i, name in enumerate(text) if name == "MMA[1,1]"]
    assert all("WAIT_LGKM(0)" in text[i - 4 : i] for i in ends)


class Explicit(DeclarativeSchedule):
    """Blocks written by hand: the framework's ops, a wait and a barrier of its own."""

    def build_explicit_blocks(self, body, program):
        blocks = [[e.op for e in b.expand_to_list(Phase.KERNEL)] for b in program.blocks]
        blocks[1] = [OpDesc.wait_lgkm(2), OpDesc.barrier(), *blocks[1]]
        return blocks


@pytest.mark.parametrize("sync", EVERY)
def test_explicit_waits_and_barriers_are_kept(sync):
    compiled = compile_schedule(Explicit(lgkm_a=8, lgkm_b=4), sync=sync)
    assert compiled.report.verdict == "clean"
    text = labels(compiled)
    at = text.index("WAIT_LGKM(2)")
    assert text[at + 1] == "BARRIER"
    if sync is not None:  # what the framework derived for the same blocks is derived anew
        ruled = compile_schedule(Explicit(lgkm_a=8, lgkm_b=4), sync=SyncPolicy.REFERENCE)
        assert text != labels(ruled)


@pytest.mark.parametrize("penalty", [1, 3, 5, 8, 13, 17, 22, 29, 33, 40])
def test_a_documented_knob_does_not_end_in_a_race(penalty):
    compiled = compile_schedule(pingpong(lds_contention_penalty=penalty))
    assert compiled.report.verdict == "clean"
    for change in compiled.changes:
        assert change.reason is not None or change.why


def test_the_documented_waits_stand_where_they_are_clean():
    compiled = compile_schedule(pingpong())
    assert compiled.sync is SyncPolicy.REFERENCE
    assert compiled.changes == ()
    assert compiled.kernel == compile_schedule(pingpong(), sync=SyncPolicy.REFERENCE).kernel


@pytest.mark.parametrize("sync", EVERY)
def test_minimal_barriers_stand_at_the_top_of_each_half(sync):
    compiled = compile_schedule(pingpong(minimal_barriers=True), sync=sync)
    assert compiled.report.verdict == "clean"
    for top in (0, 4):
        assert compiled.program.blocks[top].pre_mma_barrier
        assert not compiled.program.blocks[top + 1].pre_mma_barrier
    letter = compile_schedule(
        pingpong(minimal_barriers=True), sync=SyncPolicy.REFERENCE, on_race="report"
    )
    assert "BARRIER" not in labels(letter)


def test_four_wave_honours_global_before_frag():
    geometry = KernelGeometry.four_wave((128, 128, 64))
    config = replace(Pipeline4Wave._default_schedule_config(), global_before_frag=True)
    compiled = compile_schedule(Pipeline4Wave(geometry, config))
    roles = [
        e.op.role
        for e in compiled.kernel
        if e.op.role in (OpRole.GLOBAL_LOAD, OpRole.FRAGMENT_LOAD)
    ]
    assert roles[0] is OpRole.GLOBAL_LOAD
    assert compiled.report.verdict == "clean"


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WarploomWarning)
        call()
    return {str(w.message).split()[0] for w in caught if issubclass(w.category, NoEffectWarning)}


def test_a_derived_mask_has_no_effect_under_proof():
    said = warned(lambda: compile_schedule(pingpong(auto_drain=True), sync=PROVEN[0]))
    assert said == {"ScheduleConfig.auto_drain"}


def test_every_idle_knob_of_the_modulo_path_is_named():
    config = ScheduleConfig(
        scheduling=SchedulingStrategy.MODULO,
        minimal_barriers=True,
        wait_vm_last=3,
        auto_waits=False,
        global_before_frag=True,
        sched_barrier_mask=0,
    )
    said = warned(lambda: compile_schedule(DeclarativeSchedule(config, lgkm_a=8, lgkm_b=4)))
    assert said == {
        f"ScheduleConfig.{name}"
        for name in (
            "minimal_barriers",
            "wait_vm_last",
            "auto_waits",
            "global_before_frag",
            "sched_barrier_mask",
        )
    }


def test_every_idle_knob_of_a_single_buffer_is_named():
    from dataclasses import fields

    from warploom import AMDScheduleHints, SingleBufferSchedule

    changed = {
        f.name: (not f.default if isinstance(f.default, bool) else 3)
        for f in fields(ScheduleConfig)
        if f.name != "scheduling"
    } | {"scheduling": CSP}

    class Tuned(SingleBufferSchedule):
        def schedule_config(self):
            return ScheduleConfig(**changed)

    hints = AMDScheduleHints(4, 4, 2, 16, 16, 2, 2)
    said = warned(lambda: compile_schedule(Tuned(2, hints)))
    units = ("lgkm_per_load_a", "lgkm_per_load_b")
    assert said == {f"ScheduleConfig.{name}" for name in changed if name not in units}


@pytest.mark.parametrize(
    ("field", "value"),
    [("prefetch", 2), ("drain_passes", 5), ("prologue_fill", 4), ("mma_latency", 99)],
)
def test_a_description_that_does_not_fit_is_named(field, value):
    target = mi355x_target()
    odd = replace(target, pipeline=replace(target.pipeline, **{field: value}))
    said = warned(lambda: compile_schedule(DeclarativeSchedule(target=odd, lgkm_a=8, lgkm_b=4)))
    assert said == {f"PipelineConfig.{field}"}


def test_the_shipped_schedules_warn_of_nothing():
    geometry = KernelGeometry.four_wave((128, 128, 64))
    assert not warned(lambda: compile_schedule(pingpong()))
    assert not warned(lambda: compile_schedule(Pipeline4Wave(geometry)))
    for depth in (3, 4):
        target = mi355x_target(2, 2, depth=depth)
        assert not warned(
            lambda target=target: compile_schedule(
                DeclarativeSchedule(target=target, lgkm_a=8, lgkm_b=4)
            )
        )
