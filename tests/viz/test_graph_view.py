"""The dependence graph: DOT, SVG and the critical recurrence against brute force."""

from fractions import Fraction
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings, strategies as st

from tests.recorded import recorded as golden
from warploom.errors import CycleError, GraphError
from warploom.ir.schedule_ops import DepEdge
from warploom.viz import critical_recurrence, graph_dot, graph_svg, recurrence_text

from ..sim.documents import load, mma

SVG = "{http://www.w3.org/2000/svg}"
PINGPONG = ("pingpong", "pingpong/grid_mg0_vm1x1_lgkm4x4_s0")
FOURWAVE = ("fourwave", "fourwave/geom0_default")


def simple_cycles(count, edges):
    """All elementary cycles as lists of edge indices, by plain search."""
    found = []

    def walk(first, node, path, seen):
        for i, edge in enumerate(edges):
            if edge.producer_idx != node:
                continue
            if edge.consumer_idx == first:
                found.append([*path, i])
            elif edge.consumer_idx > first and edge.consumer_idx not in seen:
                walk(first, edge.consumer_idx, [*path, i], seen | {edge.consumer_idx})

    for start in range(count):
        walk(start, start, [], {start})
    return found


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 5))
    body = [mma(latency=draw(st.integers(0, 20))) for _ in range(count)]
    node = st.integers(0, count - 1)
    edges = draw(st.lists(st.builds(DepEdge.flow, node, node, st.integers(1, 3)), max_size=9))
    return body, edges


@given(graphs())
@settings(max_examples=200, deadline=None)
def test_critical_recurrence_is_the_worst_of_all_cycles(graph):
    body, edges = graph
    ratios = [
        Fraction(
            sum(body[edges[i].producer_idx].latency for i in cycle),
            sum(edges[i].loop_distance for i in cycle),
        )
        for cycle in simple_cycles(len(body), edges)
    ]
    critical = critical_recurrence(body, edges)
    assert (None if critical is None else critical.interval) == max(ratios, default=None)
    if critical is not None:
        chain = [edges[i] for i in critical.edges]
        assert all(
            a.consumer_idx == b.producer_idx
            for a, b in zip(chain, [*chain[1:], chain[0]], strict=True)
        )


def test_one_buffer_a_slot_forces_a_known_interval():
    doc = golden(*PINGPONG)
    assert critical_recurrence(doc.body, doc.edges).interval == 220
    assert "220 cycles over 1 iteration(s)" in recurrence_text(doc.body, doc.edges)


def test_pictures_match_their_golden_form(compare):
    for family, name in (PINGPONG, FOURWAVE):
        doc = golden(family, name)
        compare(f"graph_{family}.svg", graph_svg(doc.body, doc.edges, name=name))
        compare(f"graph_{family}.dot", graph_dot(doc.body, doc.edges, name=name))


def test_every_op_and_edge_is_there_once():
    doc = golden(*FOURWAVE)
    root = ET.fromstring(graph_svg(doc.body, doc.edges))
    nodes = [r for r in root.iter(f"{SVG}rect") if r.get("class") in ("node", "hotnode")]
    assert len(nodes) == len(doc.body)
    places = {(r.get("x"), r.get("y")) for r in nodes}
    assert len(places) == len(nodes)
    edges = [p for p in root.iter(f"{SVG}path") if p.get("class", "").startswith("edge")]
    assert len(edges) == len(doc.edges)
    hot = [p for p in edges if "hot" in p.get("class")]
    assert len(hot) == len(critical_recurrence(doc.body, doc.edges).edges)
    dot = graph_dot(doc.body, doc.edges)
    assert dot.count("->") == len(doc.edges)
    assert dot.count("label=") == len(doc.body) + sum(e.loop_distance > 0 for e in doc.edges)


def test_layers_go_forward_along_same_iteration_edges():
    from warploom.viz.graph import layered_layout

    doc = golden(*PINGPONG)
    places = layered_layout(len(doc.body), doc.edges)
    for edge in doc.edges:
        if edge.loop_distance == 0:
            assert places[edge.producer_idx].layer < places[edge.consumer_idx].layer


def test_a_graph_without_cycle_says_so():
    assert critical_recurrence([load(), mma()], [DepEdge.flow(0, 1)]) is None
    assert "no recurrence" in recurrence_text([load(), mma()], [DepEdge.flow(0, 1)])
    ET.fromstring(graph_svg([], []))


@pytest.mark.parametrize("view", [graph_dot, graph_svg])
def test_broken_graphs_are_refused(view):
    with pytest.raises(GraphError, match="edge 0 joins 0 and 7"):
        view([mma()], [DepEdge.flow(0, 7)])
    with pytest.raises(CycleError, match="form a cycle"):
        view([mma(), mma(0, 1)], [DepEdge.flow(0, 1), DepEdge.flow(1, 0)])
