"""Listings, comparisons, graphs of roles and stamps: what pictures are made from."""

import json

import pytest

from warploom.cli.graph import graph_of
from warploom.cli.source import load
from warploom.errors import DocumentError
from warploom.ir.machine_costs import OpTiming
from warploom.viz.compare import aligned, compare
from warploom.viz.listing import legend, listing_text, sections
from warploom.viz.measured import measured_lanes, measured_text, read_stamps
from warploom.viz.recurrence import critical_recurrence, edge_cycles, role_graph


@pytest.fixture(scope="module")
def gemm():
    return load("gemm")


@pytest.fixture(scope="module")
def fourwave():
    return load("fourwave")


@pytest.mark.parametrize("name", ["gemm", "fourwave"])
def test_a_listing_has_every_entry_once(name, request):
    subject = request.getfixturevalue(name)
    parts = sections(subject.document, subject.reasons())
    listed = sum(len(part.lines) for part in parts)
    assert listed == sum(len(entries) for _, entries in subject.phases())


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_notes_wrap_and_lose_no_word(fourwave, width):
    parts = sections(fourwave.document, fourwave.reasons())
    text = listing_text(parts, width=width, details=True)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.replace(";", "").split())
    for line in (line for part in parts for line in part.lines if line.note):
        assert line.note.replace(";", "").split()[-1] in words


def test_the_legend_speaks_of_the_dialect(gemm, fourwave):
    assert any("WaitFull" in line for line in legend(gemm.document))
    assert any("K_PREV" in line for line in legend(fourwave.document))
    assert not any("WAIT_VM" in line for line in legend(gemm.document))


def test_aligned_rows_hold_both_lists_in_order():
    pairs = aligned(["a", "b", "c"], ["a", "x", "c", "d"])
    assert [p.left for p in pairs if p.left] == ["a", "b", "c"]
    assert [p.right for p in pairs if p.right] == ["a", "x", "c", "d"]
    assert [p.same for p in pairs] == [True, False, True, False]


def test_documents_of_different_dialects_can_be_compared(gemm, fourwave):
    rows = compare(gemm.document, fourwave.document)
    assert "kernel" in rows
    assert "consumer.kernel" in rows
    assert not any(p.same for p in rows["kernel"])


def test_a_role_graph_follows_slots_and_registers(gemm):
    timing = OpTiming(issue=1, occupancy=70, latency=100)
    nodes, edges = role_graph(gemm.document, lambda op: timing)
    names = [node.label() for node in nodes]
    mma = next(i for i, n in enumerate(names) if "mma" in n or "dot" in n)
    loads = [i for i, n in enumerate(names) if n.startswith("producer")]
    into = {(e.producer_idx, e.loop_distance) for e in edges if e.consumer_idx == mma}
    assert {(load, 0) for load in loads} <= into
    assert (mma, 1) in into  # the accumulator
    back = {(e.consumer_idx, e.loop_distance) for e in edges if e.producer_idx == mma}
    depth = gemm.document.rings[0].depth
    assert {(load, depth) for load in loads} <= back
    # A product waits for the one before it no longer than that one holds the tensor core.
    assert critical_recurrence(nodes, edges).interval == 70
    accumulate = next(e for e in edges if e.producer_idx == e.consumer_idx == mma)
    for i, node in enumerate(nodes):
        for edge in edges:
            if edge.producer_idx == i and edge != accumulate:
                assert edge_cycles(nodes, edge) == node.latency


@pytest.mark.parametrize("name", ["gemm", "swiglu", "attention"])
def test_no_recurrence_is_above_the_interval_of_the_order(name):
    subject = load(name).loops[0]
    interval = critical_recurrence(*graph_of(subject)).interval
    assert 0 < interval <= subject.pace().interval


CONSUMER = {"role": "consumer", "labels": ["a", "b"], "stamps": [[[0, 5], [10, 15], [20, 25]]]}
PRODUCER = {"role": "producer", "labels": ["load"], "stamps": [[[2], [12], [22]]]}


def stamps_file(**change):
    return json.dumps({"name": "gemm", "device": "a GPU", "roles": [PRODUCER, CONSUMER | change]})


def test_stamps_become_bars_of_their_row(gemm):
    stamps = read_stamps(stamps_file())
    assert stamps.interval == 10
    assert stamps.pacing.lengths() == [5, 5]
    assert "interval 10 cycles, predicted 8" in measured_text(stamps, 8)
    sim = gemm.simulate(8)
    lanes = measured_lanes(sim, stamps)
    row = next(i for i, r in enumerate(sim.rows) if r.role == "consumer 0")
    assert [(b.label, b.end - b.start, b.iteration) for b in lanes[row]] == [
        ("a", 5, 1),
        ("b", 5, 1),
        ("a", 5, 2),
        ("b", 5, 2),
    ]
    other = next(i for i, r in enumerate(sim.rows) if r.role == "producer")
    assert lanes[other][0].start - lanes[row][0].start == 2 - 5  # one clock, one shift


@pytest.mark.parametrize(
    "change",
    [
        {"stamps": []},
        {"stamps": [[[0, 1]]]},
        {"stamps": [[[0], [1]]]},
        {"labels": None},
        {"stamps": [[["x", 1], [2, 3]]]},
        {"stamps": [[[5, 1], [2, 3]]]},
    ],
)
def test_malformed_stamps_are_errors(change):
    with pytest.raises(DocumentError):
        read_stamps(stamps_file(**change))
