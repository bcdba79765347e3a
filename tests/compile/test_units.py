"""Counter units have one source, and a verdict is for the units of its document."""

from dataclasses import replace

import pytest

from warploom import (
    ConfigError,
    DeclarativeSchedule,
    GeometryError,
    KernelGeometry,
    NoEffectWarning,
    Pipeline4Wave,
    ScheduleConfig,
    SyncPolicy,
    build_fourwave_schedule,
    compile_schedule,
    mi355x_cost_model,
    mi355x_double_buffer,
    mi355x_target,
    read_schedule,
    verify,
    write_schedule,
)

TILES = [(128, 128, 64), (64, 64, 32), (128, 256, 64), (256, 256, 64)]


@pytest.mark.parametrize("tile", TILES)
def test_four_wave_is_proven_in_the_units_of_its_geometry(tile):
    geometry = KernelGeometry.four_wave(tile)
    document = compile_schedule(Pipeline4Wave(geometry)).document()
    assert document.counters.vm_per_load == geometry.vm_per_load
    assert document.counters.lgkm_per_load == geometry.lgkm_per_load
    assert verify(document).verdict == "clean"


def test_waits_proven_in_other_units_would_race():
    """What the units are for: the waits of four units a load, run with two."""
    wide = compile_schedule(Pipeline4Wave(KernelGeometry.four_wave((256, 256, 64)))).document()
    narrow = compile_schedule(Pipeline4Wave(KernelGeometry.four_wave((128, 128, 64)))).document()
    assert verify(replace(wide, counters=narrow.counters)).verdict == "race"


@pytest.mark.parametrize("field", ["vm_per_load_a", "vm_per_load_b", "lgkm_per_load_a"])
def test_a_target_with_other_units_is_refused(field):
    geometry = KernelGeometry.four_wave((128, 128, 64))
    target = mi355x_target(2, 2)
    odd = replace(target, pipeline=replace(target.pipeline, **{field: 3}))
    with pytest.raises(ConfigError, match=f"{field} = 3") as caught:
        Pipeline4Wave(geometry, target=odd)
    assert "(128, 128, 64)" in caught.value.why
    with pytest.raises(ConfigError, match=field):
        DeclarativeSchedule(target=odd, geometry=geometry)


def test_arguments_that_contradict_the_geometry_are_refused():
    geometry = KernelGeometry.ping_pong((256, 256, 64))
    for odd in ({"is_fp8": True}, {"lgkm_a": 3}, {"lgkm_b": 3}):
        with pytest.raises(ConfigError, match=next(iter(odd))):
            DeclarativeSchedule(geometry=geometry, **odd)
    schedule = DeclarativeSchedule(geometry=geometry)
    assert (schedule.lgkm_a, schedule.lgkm_b) == geometry.lgkm_per_load
    assert schedule.config().vm_per_load_a == geometry.vm_per_load_a
    assert compile_schedule(schedule).report.verdict == "clean"


def test_the_document_carries_tile_and_element_type():
    geometry = KernelGeometry.ping_pong((256, 256, 128), (16, 16, 128), elem_bytes=1, is_fp8=True)
    document = compile_schedule(DeclarativeSchedule(geometry=geometry)).document()
    assert document.shape == geometry.shape
    again = read_schedule(write_schedule(document))
    assert again.shape == document.shape
    assert (again.shape.tile, again.shape.dtype) == ((256, 256, 128), "fp8")
    assert write_schedule(again) == write_schedule(document)


@pytest.mark.parametrize("tile", [(192, 256, 64), (256, 320, 64)])
def test_a_ping_pong_tile_with_half_a_load_step_is_refused(tile):
    with pytest.raises(GeometryError, match=r"would be \d\.\d"):
        KernelGeometry.ping_pong(tile)


def test_the_pipelines_lgkm_units_win():
    config = replace(mi355x_double_buffer(), lgkm_per_load_a=8, lgkm_per_load_b=8)
    schedule = DeclarativeSchedule(
        ScheduleConfig(lgkm_per_load_a=2, lgkm_per_load_b=2), config, mi355x_cost_model()
    )
    with pytest.warns(NoEffectWarning, match="lgkm_per_load"):
        compiled = compile_schedule(schedule, sync=SyncPolicy.REFERENCE, on_race="report")
    assert compiled.document().counters.lgkm_per_load == (8, 8)
    first = compiled.program.blocks[0].pre_sync
    assert first.label() == "WAIT_LGKM(8)"


def test_four_wave_units_do_not_pass_through_the_schedule_config():
    geometry = KernelGeometry.four_wave((128, 256, 64))
    schedule = Pipeline4Wave(geometry)
    sched = schedule.schedule_config()
    assert (sched.lgkm_per_load_a, sched.lgkm_per_load_b) == (0, 0)
    assert schedule.config().lgkm_per_load_b == geometry.lgkm_per_load_b
    compiled = build_fourwave_schedule(geometry)
    assert (compiled.lgkm_per_load_a, compiled.lgkm_per_load_b) == geometry.lgkm_per_load
