"""Settings without effect, and settings a schedule forces, keep the documented result and warn."""

import pytest

from warploom import (
    DeclarativeSchedule,
    ForcedSettingWarning,
    KernelGeometry,
    NoEffectWarning,
    Pipeline4Wave,
    ScheduleConfig,
    SchedulingStrategy,
    compile_schedule,
)

CSP = SchedulingStrategy.CSP


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"omit_mma_set_prio": True}, "omit_mma_set_prio"),
        ({"wait_lgkm_first": 3}, "wait_lgkm_first"),
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
