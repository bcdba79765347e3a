"""Settings without effect, and settings a schedule forces, keep the documented result and warn."""

import warnings
from dataclasses import replace

import pytest

from warploom import (
    AMDScheduleHints,
    DeclarativeSchedule,
    ForcedSettingWarning,
    KernelGeometry,
    NoEffectWarning,
    OpRole,
    Pipeline4Wave,
    ScheduleConfig,
    ScheduleOps,
    SchedulingStrategy,
    SingleBufferSchedule,
    SyncPolicy,
    compile_schedule,
)
from warploom.pipeline.modulo.bridge import ModuloRequest

CSP = SchedulingStrategy.CSP


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"omit_mma_set_prio": True}, "omit_mma_set_prio"),
        ({"wait_lgkm_first": 3}, "wait_lgkm_first"),
        ({"wait_lgkm_first": 255}, "wait_lgkm_first"),
        ({"wait_vm_last": 3}, "wait_vm_last"),
        ({"auto_drain": True, "drain_lgkm_mask": 1}, "drain_lgkm_mask"),
        ({"auto_drain": True, "auto_waits": False}, "auto_drain"),
        ({"scheduling": SchedulingStrategy.GREEDY, "max_vgpr": 100}, "max_vgpr"),
        (
            {"scheduling": SchedulingStrategy.GREEDY, "lds_contention_penalty": 4},
            "lds_contention_penalty",
        ),
    ],
)
def test_no_effect(settings, named):
    config = ScheduleConfig(**({"scheduling": CSP} | settings))
    with pytest.warns(NoEffectWarning, match=named):
        compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4, config=config))


def test_no_effect_keeps_the_result():
    plain = compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4))
    config = ScheduleConfig(scheduling=CSP, wait_vm_last=3, omit_mma_set_prio=True)
    with pytest.warns(NoEffectWarning):
        other = compile_schedule(DeclarativeSchedule(lgkm_a=8, lgkm_b=4, config=config))
    assert other.kernel == plain.kernel


def test_four_wave_says_what_it_forces():
    geometry = KernelGeometry.four_wave((256, 256, 64))
    with pytest.warns(ForcedSettingWarning, match="scheduling, minimal_barriers"):
        schedule = Pipeline4Wave(geometry, ScheduleConfig(scheduling=CSP))
    assert schedule.schedule_config().minimal_barriers


FOUR_WAVE = KernelGeometry.four_wave((256, 256, 64))


def said(make):
    """The settings and hooks a compilation warns about, and where the warnings point."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        make()
    assert all(w.filename == __file__ for w in found)
    return {str(w.message).partition(" has no effect")[0] for w in found}


def four_wave(**settings):
    return Pipeline4Wave(FOUR_WAVE, replace(Pipeline4Wave._default_schedule_config(), **settings))


@pytest.mark.parametrize(
    ("settings", "sync", "named"),
    [
        ({"drain_lgkm_mask": 3}, None, "drain_lgkm_mask"),
        ({"drain_lgkm_mask": 3}, SyncPolicy.REFERENCE, "drain_lgkm_mask"),
        ({"barrier_before_pre_ops": True}, None, "barrier_before_pre_ops"),
        ({"barrier_before_pre_ops": True}, SyncPolicy.REFERENCE, None),
        ({"global_before_frag": True}, None, None),
        ({"global_before_frag": True}, SyncPolicy.REFERENCE, "global_before_frag"),
        ({"wrap_waits_with_sched_barrier": True}, None, None),
    ],
)
def test_knobs_without_effect_on_the_four_wave_kernel_are_named(settings, sync, named):
    schedule = four_wave(**settings)
    found = said(lambda: compile_schedule(schedule, sync=sync, on_race="skip"))
    assert found == ({f"ScheduleConfig.{named}"} if named else set())


@pytest.mark.parametrize("sync", [None, SyncPolicy.REFERENCE])
@pytest.mark.parametrize(
    "name",
    [
        "inter_block_lgkm_drain",
        "barrier_before_pre_ops",
        "global_before_frag",
        "wrap_waits_with_sched_barrier",
        "lgkm_after_last",
        "partial_prologue_drain",
        "minimal_barriers",
    ],
)
def test_a_knob_that_changes_the_blocks_does_not_warn(name, sync):
    def made(**settings):
        config = ScheduleConfig(scheduling=CSP, **settings)
        schedule = DeclarativeSchedule(config, lgkm_a=8, lgkm_b=4)
        return compile_schedule(schedule, sync=sync, on_race="skip")

    plain = made()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = made(**{name: True})
    assert (other.prologue, other.kernel) != (plain.prologue, plain.kernel)


def test_four_wave_drains_between_blocks_where_the_caller_says_so():
    def drains(schedule):
        compiled = compile_schedule(schedule)
        ops = [e.op for e in compiled.kernel]
        assert compiled.report.verdict == "clean"
        return sum(op.tag == ScheduleOps.WAIT_LGKM and op.wait_value == 0 for op in ops)

    asked = replace(ScheduleConfig(), inter_block_lgkm_drain=True)
    with pytest.warns(ForcedSettingWarning, match="minimal_barriers"):
        stated = Pipeline4Wave(FOUR_WAVE, asked)
    assert drains(stated) > drains(Pipeline4Wave(FOUR_WAVE))


def test_the_default_config_is_the_same_given_or_left_out():
    left_out, given = (compile_schedule(s) for s in (Pipeline4Wave(FOUR_WAVE), four_wave()))
    assert given.document() == left_out.document()


class Transformed(DeclarativeSchedule):
    def transform_kernel(self, ker, body):
        return list(ker)


class Blocks(SingleBufferSchedule):
    def build_explicit_blocks(self, body, program):
        return []

    def bootstrap_frags(self):
        return []


def test_hooks_that_are_never_called_are_named():
    assert said(lambda: compile_schedule(Transformed(lgkm_a=8, lgkm_b=4))) == {
        "Transformed.transform_kernel()"
    }
    hints = AMDScheduleHints(4, 4, 2, 16, 16, 2, 2)
    assert said(lambda: compile_schedule(Blocks(2, hints))) == {
        "Blocks.build_explicit_blocks()",
        "Blocks.bootstrap_frags()",
    }
    assert said(lambda: compile_schedule(SingleBufferSchedule(2, hints))) == set()
    assert said(lambda: compile_schedule(Pipeline4Wave(FOUR_WAVE))) == set()


class Bootstrapped(DeclarativeSchedule):
    def build_explicit_blocks(self, body, program):
        return []

    def bootstrap_frags(self):
        return [op for op in self.build_body() if op.role is OpRole.FRAGMENT_LOAD][:1]


def test_hooks_of_blocks_are_named_where_there_are_none():
    schedule = Bootstrapped(lgkm_a=8, lgkm_b=4)
    assert said(lambda: compile_schedule(schedule, modulo=ModuloRequest())) == {
        "Bootstrapped.build_explicit_blocks()",
        "Bootstrapped.bootstrap_frags()",
    }
    assert said(lambda: compile_schedule(Pipeline4Wave(FOUR_WAVE), modulo=ModuloRequest())) == set()


def test_fragments_for_a_prologue_that_is_drained_are_named():
    schedule = Bootstrapped(lgkm_a=8, lgkm_b=4)
    assert said(lambda: compile_schedule(schedule)) == {"Bootstrapped.bootstrap_frags()"}


def test_units_that_the_schedules_own_replace_are_named():
    with pytest.warns(NoEffectWarning, match="lgkm_per_load_a has no effect"):
        made = DeclarativeSchedule(ScheduleConfig(lgkm_per_load_a=3), lgkm_a=8, lgkm_b=4)
    assert made.schedule_config().lgkm_per_load_a == 8
