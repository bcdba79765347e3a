"""One table a target: every number has an origin, and everybody reads the same one."""

import json

import pytest

from tests.cli.runner import warploom
from warploom.codegen.amdgcn.tile import LDS_LIMIT, MFMAS
from warploom.ir.counter_dialect import KernelShape
from warploom.ir.schedule_ops import OpRole
from warploom.pipeline.amd_target.cost import mi355x_cost_model
from warploom.sim import mi355x_costs
from warploom.sim.chip import shape_costs
from warploom.sync.counters import CHIP
from warploom.targets.figures import Origin, figures_of
from warploom.targets.h200 import h100, h200
from warploom.targets.mi355x import mi355x
from warploom.targets.seed_model import seed_model

TARGETS = {"h200": h200, "h100": h100, "mi355x": mi355x, "seed": seed_model}


@pytest.mark.parametrize("name", TARGETS)
def test_every_number_has_an_origin(name):
    found = {f.name: f for f in figures_of(TARGETS[name]())}
    assert found
    assert all(f.origin in Origin for f in found.values())
    assumed = [f for f in found.values() if f.origin in (Origin.ASSUMED, Origin.FIT)]
    assert all(f.note or f.name.startswith("energy.") for f in assumed)


def test_nothing_of_mi355x_claims_to_be_measured():
    origins = {f.origin for f in figures_of(mi355x())}
    assert Origin.MEASURED not in origins
    assert Origin.FIT not in origins


def test_the_emitter_the_simulator_and_the_stall_model_read_one_table():
    chip = mi355x()
    for one in MFMAS:
        assert one.cycles == chip.mfma_cycles(one.m, one.n, one.k, one.element.value)
    assert LDS_LIMIT == chip.lds_bytes == mi355x_costs().storage
    assert (CHIP.vm_latency, CHIP.lgkm_latency) == (chip.memory_latency, chip.lds_latency)
    load = dict(mi355x_costs().by_role)[OpRole.GLOBAL_LOAD]
    assert load.latency == chip.memory_latency


@pytest.mark.parametrize(
    ("mma", "dtype", "waves", "cycles", "one"),
    [
        ((16, 16, 32), "16-bit", 4, 512, 16),
        ((32, 32, 16), "16-bit", 8, 256, 32),
        ((32, 32, 64), "fp8", 8, 128, 64),
    ],
)
def test_a_block_of_products_is_priced_by_its_shape(mma, dtype, waves, cycles, one):
    costs = shape_costs(KernelShape(tile=(256, 256, 64), mma=mma, dtype=dtype), waves, 4)
    timing = dict(costs.by_role)[OpRole.COMPUTE]
    assert timing.occupancy == cycles
    assert timing.issue == cycles - one + mi355x().issue


def test_the_seeds_prices_are_the_seeds():
    latencies = {cost.latency for cost in mi355x_cost_model().costs.values()}
    seed = seed_model()
    assert latencies == {seed.load, seed.fragment, seed.mma}


def test_the_command():
    done = warploom("costs", "mi355x")
    assert "memory_latency" in done.stdout
    assert "[assumed]" in done.stdout
    rows = json.loads(warploom("costs", "h200", "--json").stdout)
    assert {"name", "value", "unit", "origin", "note"} == set(rows[0])
    assert warploom("costs", "nothing").returncode == 2
