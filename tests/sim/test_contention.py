"""Vector work beside products, and what a role's own stream takes."""

import pytest

from warploom.cli.kernels import kernel_named
from warploom.launch.pricing import contended
from warploom.sim import simulate_roles
from warploom.sim.contention import Contention, simulate_contended


@pytest.fixture(scope="module")
def attention():
    return kernel_named("attention").lowered


def interval(lowered, contention, costs):
    return simulate_contended(lowered.document, costs, contention, trips=12).ii


def test_without_contention_it_is_the_plain_simulation(attention):
    costs, _ = contended(attention)
    free = Contention(step=0, slowed=())
    plain = simulate_roles(attention.document, costs, trips=12).ii
    assert interval(attention, free, costs) == plain


def test_every_mechanism_costs_time(attention):
    costs, met = contended(attention)
    none = Contention(step=0, slowed=met.slowed)
    streams = Contention(step=met.step, slowed=met.slowed)
    lengths = [interval(attention, c, costs) for c in (none, streams, met)]
    assert lengths == sorted(lengths)
    assert len(set(lengths)) == 3


def test_products_alone_are_not_slowed():
    gemm = kernel_named("gemm").lowered
    costs, met = contended(gemm)
    assert not met.slowed
    assert interval(gemm, met, costs) <= 1.02 * 1024
