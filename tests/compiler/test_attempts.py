"""Which configurations are built, and in which order, by what became of those before."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from warploom.compiler import compiled as module
from warploom.compiler.compiled import MOST_TRIED, Compiled
from warploom.compiler.cubin import BuildReport
from warploom.errors import SchedulingError
from warploom.kernels.attention import attention, paged
from warploom.passes import driver
from warploom.verify.roles import verify_roles


def compiled(d=256):
    return attention.compile("bf16", without=("lse", "lengths"), sizes={"d": d})


@pytest.fixture
def builds(monkeypatch):
    """Builds that are only said to be: ``said`` names what becomes of a configuration."""
    made = SimpleNamespace(order=[], said=lambda config: {})

    def build(self, config, **_):
        made.order.append(config)
        told = made.said(config)
        if told is None:
            raise SchedulingError("no schedule")
        report = BuildReport(
            registers=168, log="", spill_bytes=told.get("spilled", 0), messages=told.get("said", ())
        )
        return SimpleNamespace(config=config, cubin=SimpleNamespace(report=report))

    monkeypatch.setattr(Compiled, "build", build)
    return made


def free():
    """A kernel of no measured sizes, with more configurations than are tried."""
    found = compiled(224)
    found.__dict__["pins"] = {}
    assert len(found.choices) > 3
    return found


def test_what_puts_as_much_on_registers_as_one_that_spilled_waits(builds):
    kernel = free()
    first, *others = kernel.choices
    builds.said = lambda config: {"spilled": 160} if config == first.config else {}
    least = first.pressure - 10  # 160 bytes: ten registers are stored and loaded, or more
    found = kernel._build_pipelined()
    assert found.config == next(c.config for c in others if c.pressure <= least)
    assert len(builds.order) == 2


def test_where_all_spill_the_least_is_taken_and_no_more_than_a_few_are_built(builds):
    kernel = free()
    kernel.warns = False
    builds.said = lambda config: {"spilled": 1000 + config.extent("t")}
    found = kernel._build_pipelined()
    assert found.config.extent("t") == min(c.extent("t") for c in builds.order)
    assert len(builds.order) == len(set(builds.order)) <= MOST_TRIED + module.MOST_SMALL


def test_fewer_products_in_flight_where_a_little_is_spilled(builds):
    kernel = free()
    kernel.warns = False
    builds.said = lambda config: {} if config.drain_mma else {"spilled": 16}
    assert kernel._build_pipelined().config == replace(kernel.choices[0].config, drain_mma=True)


def test_fewer_products_in_flight_only_where_they_were_serialised(builds):
    kernel = free()
    kernel.warns = False
    bad = kernel.choices[0].config

    def said(config):
        if config.drain_mma:
            return {}
        return {"said": ("C7518: as if",)} if config == bad else None

    builds.said = said
    assert kernel._build_pipelined().config == replace(bad, drain_mma=True)
    assert sum(c.drain_mma for c in builds.order) == 1


def test_pins_that_spill_only_in_parts_that_nobody_measured_are_left(builds):
    kernel = free()
    pinned = {"s": 128, "consumer_warpgroups": 2}
    kernel.__dict__["pins"] = pinned
    whole = kernel.choices[0].config
    parts = SimpleNamespace(config=replace(whole, split_k=4), cubin=None)
    assert kernel._unmeasured(parts)
    assert not kernel._unmeasured(SimpleNamespace(config=whole, cubin=None))
    kernel.__dict__["pins"] = pinned | {"split_k": 4}
    assert not kernel._unmeasured(parts)


def test_a_tile_without_pages_runs_a_step_where_its_loop_reads_what_comes_once(monkeypatch):
    """A schedule that peels nothing: without a step nobody would wait for the queries."""
    honest = driver.in_source_order
    monkeypatch.setattr(
        driver,
        "in_source_order",
        lambda problem: replace(found := honest(problem), ii=2 * found.ii, proven=False),
    )
    text = paged.with_config(schedule="source", s=64, consumer_warpgroups=1, a_in_registers=False)
    kernel = text.compile("bf16", without=("lse",), sizes={"d": 128, "u": 128, "s": 1})
    document = kernel.lower(kernel.choices[0].config).document
    assert {p.peel for p in document.programs} == {0}
    assert document.least_trips == 1
    assert verify_roles(document).verdict == "clean"
