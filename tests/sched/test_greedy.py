"""Greedy orders and the pricing of orders."""

import pytest
from hypothesis import given, settings, strategies as st

from warploom.errors import CycleError, SchedulingError
from warploom.ir.schedule_ops import DepEdge, OpDesc, OpRole, ResourceKind
from warploom.pipeline.graph_builder.loop_body import LoopBody
from warploom.pipeline.scheduling.greedy import (
    greedy_schedule,
    partition_bounds,
    simple_greedy_schedule,
)
from warploom.pipeline.scheduling.result import (
    asap_lower_bound,
    evaluate_makespan,
    evaluate_schedule,
    partial_lower_bound,
)

from . import defining_scan as scan
from .random_bodies import bodies


def op(resource, latency, role=OpRole.NONE):
    return OpDesc.op(0, resource, latency, role)


def test_the_port_spaces_accesses_whatever_their_latency():
    graph = LoopBody.of(
        [
            op(ResourceKind.GLOBAL_MEM, 10),
            op(ResourceKind.GLOBAL_MEM, 10),
            op(ResourceKind.LDS, 20),
        ]
    )
    assert evaluate_makespan(graph, (0, 1, 2)) == 20
    assert evaluate_makespan(graph, (0, 1, 2), 15) == 50


def test_the_stated_bound_can_lie_above_the_optimum():
    graph = LoopBody.of([op(ResourceKind.LDS, 10)] * 4)
    assert asap_lower_bound(graph, 20) == 80
    assert evaluate_makespan(graph, range(4), 20) == 70


@settings(max_examples=50, deadline=None)
@given(bodies(), st.integers(0, 20), st.randoms(use_true_random=False))
def test_pricing_agrees_with_a_plain_reading_for_any_order(graph, penalty, shuffle):
    order = list(range(len(graph)))
    shuffle.shuffle(order)
    metrics = evaluate_schedule(graph, order, penalty)
    assert (metrics.makespan, metrics.vgpr_peak) == scan.price(graph, order, penalty)


@settings(max_examples=30, deadline=None)
@given(bodies(max_ops=6))
def test_the_partial_bound_holds_for_every_completion(graph):
    for order in list(scan.orders(graph))[:20]:
        for pos in range(len(order) + 1):
            placed = [i in order[:pos] for i in range(len(order))]
            assert partial_lower_bound(graph, order, placed, pos) <= scan.price(graph, order)[0]


@pytest.mark.parametrize("order", [(0, 1, 1), (0, 5), (-1,)])
def test_an_order_that_is_none_is_refused(order):
    with pytest.raises(SchedulingError):
        evaluate_schedule(LoopBody.of([op(ResourceKind.LDS, 1)] * 3), order)


@settings(max_examples=50, deadline=None)
@given(bodies())
def test_greedy_is_the_first_order(graph):
    assert simple_greedy_schedule(graph) == next(scan.orders(graph))
    assert greedy_schedule(graph) == next(scan.orders(graph, partitions=2))


def test_ops_after_the_last_compute_are_placed_too():
    ops = [op(ResourceKind.MMA_UNIT, 4, OpRole.COMPUTE)] * 4 + [op(ResourceKind.LDS, 2)]
    graph = LoopBody.of(ops * 3, [DepEdge.flow(0, 4), DepEdge.flow(3, 8)])
    assert sorted(greedy_schedule(graph, 3)) == list(range(15))


def test_partitions_differ_by_at_most_one_op():
    assert partition_bounds(24, 2) == (0, 12, 24)
    assert partition_bounds(5, 2) == (0, 2, 5)
    assert partition_bounds(7, 3) == (0, 2, 4, 7)
    assert partition_bounds(1, 3) == (0, 0, 0, 1)
    with pytest.raises(SchedulingError):
        partition_bounds(4, 0)


def test_an_edge_back_to_an_earlier_partition_is_named():
    ops = [op(ResourceKind.MMA_UNIT, 4, OpRole.COMPUTE)] * 4
    graph = LoopBody.of(ops, [DepEdge.flow(0, 1), DepEdge.anti(3, 1)])
    with pytest.raises(SchedulingError, match="waits for a later one") as caught:
        greedy_schedule(graph)
    assert "op 3" in caught.value.where
    assert "op 1" in caught.value.where
    assert simple_greedy_schedule(graph) == (0, 2, 3, 1)


def test_a_cycle_is_refused():
    ops = [op(ResourceKind.MMA_UNIT, 4)] * 2
    with pytest.raises(CycleError):
        simple_greedy_schedule(LoopBody.of(ops, [DepEdge.flow(0, 1), DepEdge.flow(1, 0)]))
