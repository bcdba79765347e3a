"""Vector work beside products and on one pipe, and what a role's own stream takes."""

from dataclasses import replace

import pytest

from warploom.cli.kernels import kernel_named
from warploom.errors import DocumentError
from warploom.ir import read_schedule, write_schedule
from warploom.ir.mbarrier_dialect import Compute
from warploom.sim import OpTiming, RoleCosts, RoleOpCost, simulate, simulate_roles
from warploom.sim.roles import entry_label, lower_roles

from .test_role_documents import ordered


@pytest.fixture(scope="module")
def attention():
    return kernel_named("attention").lowered.document


def test_every_mechanism_costs_time(attention):
    costs = attention.costs
    alone = replace(costs, ops=tuple((n, replace(c, beside=0)) for n, c in costs.ops))
    others = replace(costs, own=1.0)
    mild = replace(others, step=0)
    found = [simulate_roles(attention, c, trips=12).ii for c in (alone, mild, others, costs)]
    assert found == sorted(found)
    assert len(set(found)) == 4


def test_the_interval_does_not_depend_on_the_iterations_asked_for(attention):
    assert len({simulate(attention, trips=n).ii for n in (6, 16, 64)}) == 1


def test_waits_for_products_come_before_exponentials_as_assembled(attention):
    """The program has the wait and the release of V after them."""
    role = attention.programs[1]
    labels = [entry_label(e) for e in role.kernel]
    workload = lower_roles(attention, attention.costs, 4)
    steps = [s.place for p in workload.programs for s in p.steps if p.row.name == "consumer 0"]
    run = [s.label for s in steps if s.phase == "kernel" and s.iteration == 2]
    assert labels.index("make_p") < labels.index("WaitGroup(0)")
    assert run.index("WaitGroup(0)") < run.index("Arrive(ring_v27)") < run.index("make_p")
    assert sorted(run) == sorted(x for x in labels if x in run)


def test_products_alone_are_not_slowed():
    document = kernel_named("gemm").lowered.document
    assert simulate(document, trips=16).ii == document.proof.ii


@pytest.mark.parametrize("instances", [2, 3])
def test_a_pipe_gives_each_role_its_share(instances):
    """Nobody waits for a pipe, and no loop is quicker than it."""
    document = ordered()
    role = document.programs[0]
    kernel = tuple(e for e in role.kernel if isinstance(e, Compute))
    free = replace(role, instances=instances, setup=(), kernel=kernel)
    timing = OpTiming(issue=50, occupancy=50, latency=50)
    work = RoleOpCost(unit="alu", timing=timing, beside=2)
    prices = RoleCosts(name="test", ops=(("work", work),), shared=("alu",))
    sim = simulate_roles(replace(document, programs=(free,), barriers=()), prices, trips=16)
    assert sim.ii == sim.bound.bound == 50 * instances
    assert not sim.stalls


def test_prices_are_written_and_read(attention):
    assert read_schedule(write_schedule(attention)) == attention
    text = write_schedule(attention)
    assert '"own": 3.5' in text
    for wrong in ("0", '"x"', "true", "null", "1e9", "-1"):
        with pytest.raises(DocumentError, match="own"):
            read_schedule(text.replace('"own": 3.5', f'"own": {wrong}'))
