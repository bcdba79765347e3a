"""The loop-body graph: what it refuses, and its ASAP and ALAP times."""

from itertools import pairwise

import pytest
from hypothesis import given, settings

from tests.sched.random_bodies import bodies
from warploom.errors import CycleError, GraphError
from warploom.ir.schedule_ops import DepEdge, OpDesc, OpRole, ResourceKind
from warploom.pipeline.graph_builder.loop_body import LoopBody, OpNode


def mma(latency=16):
    return OpDesc.op(5, ResourceKind.MMA_UNIT, latency, OpRole.COMPUTE)


def body(n, *edges):
    return LoopBody.of([mma(10 * (i + 1)) for i in range(n)], edges)


def test_a_node_takes_the_ops_latency_unless_reported():
    assert OpNode(mma(16)).latency == 16
    assert OpNode(mma(16), 0).latency == 0
    assert OpNode(mma(16), 7).latency == 7
    assert OpNode(mma(16)).resource is ResourceKind.MMA_UNIT


@pytest.mark.parametrize(("producer", "consumer"), [(0, 3), (3, 0), (-1, 0), (0, -1)])
def test_an_edge_to_no_op_is_refused(producer, consumer):
    with pytest.raises(GraphError, match="does not exist") as caught:
        body(3, DepEdge.flow(producer, consumer))
    assert f"{producer} -> {consumer}" in caught.value.where


def test_an_op_may_feed_itself_only_across_iterations():
    body(2, DepEdge.flow(1, 1, 1)).validate()
    with pytest.raises(GraphError, match="depends on itself"):
        body(2, DepEdge.flow(1, 1))


def test_a_cycle_is_named_op_by_op_in_edge_direction():
    graph = body(5, DepEdge.flow(0, 1), DepEdge.flow(1, 3), DepEdge.anti(3, 2), DepEdge.flow(2, 1))
    with pytest.raises(CycleError) as caught:
        graph.validate()
    named = [int(part.split()[1]) for part in caught.value.where.split(" -> ")]
    assert sorted(set(named)) == [1, 2, 3]
    bound = {(e.producer_idx, e.consumer_idx) for e in graph.edges}
    assert all(pair in bound for pair in pairwise(named))
    for analysis in (graph.compute_asap, lambda: graph.compute_alap(100)):
        with pytest.raises(CycleError):
            analysis()


def test_a_carried_edge_closes_no_cycle():
    graph = body(2, DepEdge.flow(0, 1), DepEdge.flow(1, 0, 1))
    graph.validate()
    assert graph.compute_asap() == (0, 10)


def test_times_by_hand():
    graph = body(4, DepEdge.flow(0, 2), DepEdge.flow(1, 2), DepEdge.anti(2, 3))
    assert graph.compute_asap() == (0, 0, 20, 50)
    assert graph.compute_alap(90) == (10, 0, 20, 50)


def test_an_empty_body_has_no_times():
    assert LoopBody().compute_asap() == ()
    assert LoopBody().compute_alap(10) == ()


@settings(max_examples=150, deadline=None)
@given(bodies(max_ops=12))
def test_asap_and_alap_are_fixed_points_and_frame_every_op(graph):
    asap = graph.compute_asap()
    makespan = max((a + node.latency for a, node in zip(asap, graph.ops, strict=True)), default=0)
    alap = graph.compute_alap(makespan)
    for i, node in enumerate(graph.ops):
        into = [e for e in graph.edges if e.consumer_idx == i and e.loop_distance == 0]
        out = [e for e in graph.edges if e.producer_idx == i and e.loop_distance == 0]
        assert asap[i] == max(
            [0, *(asap[e.producer_idx] + graph.ops[e.producer_idx].latency for e in into)]
        )
        assert alap[i] + node.latency == min([makespan, *(alap[e.consumer_idx] for e in out)])
        assert asap[i] <= alap[i]
