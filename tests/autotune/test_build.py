"""A search that asks the code generator: what cannot be built does not win."""

import pytest

import warploom
from warploom import KernelGeometry, Pipeline4Wave, SearchOptions, mi355x_target
from warploom.autotune.build import Builder, can_build
from warploom.autotune.subjects import finer_splits, machine_of
from warploom.errors import ConfigError, SchedulingError
from warploom.pipeline.compile import compile_schedule
from warploom.pipeline.schedules.pingpong import DeclarativeSchedule
from warploom.sim.chip import chip_costs

BRIEF = SearchOptions(evaluations=2, build=True)


def fourwave(tile=(64, 64, 32), mma=(16, 16, 32)):
    g = KernelGeometry.four_wave(tile, mma)
    return Pipeline4Wave(g, target=mi355x_target(g.vm_per_load_a, g.vm_per_load_b))


def test_a_schedule_without_a_shape_cannot_be_built():
    bare = DeclarativeSchedule(False, 8, 4)
    assert not can_build(bare)
    with pytest.raises(ConfigError, match="nobody knows"):
        warploom.search(bare, options=BRIEF)


def test_the_machine_is_that_of_every_command():
    document = compile_schedule(fourwave()).document()
    assert machine_of(fourwave()) == chip_costs(document)


def test_finer_cuts_are_those_that_divide():
    assert finer_splits(fourwave()) == ((1, 1),)
    assert (2, 1) in finer_splits(fourwave((256, 256, 64)))


def test_the_best_was_built():
    pytest.importorskip("llvmlite")
    found = warploom.search(fourwave(), options=BRIEF)
    assert Builder.of(fourwave()).builds(found.best)
    assert any(row.built for row in found.rows)
    assert "built" in found.table()


@pytest.mark.slow
def test_what_is_refused_does_not_win(monkeypatch):
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(Builder, "builds", lambda self, compiled: False)
    monkeypatch.setattr("warploom.search_engine.HOPELESS", 2)
    with pytest.raises(SchedulingError, match=r"can be built|usable"):
        warploom.search(fourwave(), options=BRIEF)
