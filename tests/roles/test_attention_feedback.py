"""Predictions of candidates, traces, and feeding measurements back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from warploom.document.roles import Commit, Compute, Mma, WaitGroup
from warploom.errors import ConfigError
from warploom.hopper.attention import AttentionKernel
from warploom.hopper.attention_pricing import predict_attention, role_costs
from warploom.hopper.candidates import (
    attention_candidates,
    free_body,
    program_space,
)
from warploom.hopper.feedback import (
    Corrections,
    corrected,
    feed,
    model_of,
    rank_correlation,
)
from warploom.hopper.traces import (
    Trace,
    entry_times,
    op_durations,
    product_times,
    timeline,
)
from warploom.order import validate
from warploom.order.calibrate import duration, with_durations

KERNEL = AttentionKernel(q_registers=False)
BODY = free_body(KERNEL)


@pytest.fixture(scope="module")
def candidates():
    """Every twelfth program: enough to differ."""
    return attention_candidates(KERNEL, slacks=(0.0,)).found[::12]


@pytest.fixture(scope="module")
def model(candidates):
    return model_of(candidates[0], BODY)


def test_the_simulator_reaches_the_interval_with_the_bodys_prices(candidates, model):
    """In-order programs with real hand-offs: no candidate is faster than the proven interval."""
    found = [model.interval(c.document) for c in candidates]
    assert min(found) == 2048
    assert all(2048 <= x < 2300 for x in found)


def test_slower_vector_work_never_helps_and_tells_candidates_apart(candidates, model):
    slow = replace(model, corrections=Corrections(vector=1.5))
    before = [model.interval(c.document) for c in candidates]
    after = [slow.interval(c.document) for c in candidates]
    assert all(b >= a - 4 for a, b in zip(before, after, strict=True))
    assert max(after) - min(after) > 100


def test_a_few_rounds_bring_the_model_nearer(candidates, model):
    few = candidates[:4]
    planted = replace(model, corrections=Corrections(vector=1.4))
    measured = {c.name: planted.interval(c.document) for c in few}
    found = feed(few, measured, BODY, steps=2)
    assert found.fit.after < found.fit.before / 2
    assert found.fit.corrections.vector > 1


@pytest.mark.slow
def test_feed_finds_what_was_planted(candidates, model):
    truth = Corrections(vector=1.4, products=60.0, turns=0.0)
    planted = replace(model, corrections=truth)
    measured = {c.name: planted.interval(c.document) for c in candidates}
    found = feed(candidates, measured, BODY, steps=6)
    assert found.fit.after < found.fit.before / 4
    assert found.rank_after > 0.9 >= found.rank_before
    best = min(measured.values())
    assert measured[found.chosen] == best
    assert [r.measured for r in found.rows] == sorted(measured.values())
    assert found.fit == feed(candidates, measured, BODY, steps=6).fit


def test_the_choice_follows_the_measurement_not_the_model(candidates):
    measured = {c.name: 3000.0 + i for i, c in enumerate(candidates[:3])}
    measured[candidates[2].name] = 2100.0
    assert feed(candidates, measured, BODY, steps=1).chosen == candidates[2].name


def test_feed_needs_measurements(candidates):
    with pytest.raises(ConfigError, match="0 of"):
        feed(candidates, {"unknown": 1.0}, BODY)


def test_every_op_of_a_document_has_a_price(candidates):
    document = candidates[0].document
    costs = role_costs(BODY, program_space(KERNEL).names, document)
    ops = {e.op for p in document.programs for _, es in p.phases() for e in es if hasattr(e, "op")}
    assert ops == {name for name, _ in costs.ops}
    assert costs.of("exp").timing.latency == duration(BODY, BODY.index("EXP0"))
    time = predict_attention(document, costs)
    assert time.interval == pytest.approx(2048, rel=0.01)
    assert 0 < time.rest < 4000


def test_durations_replace_prices():
    longer = with_durations(BODY, {"EXP0": 700.0, "QK0": 600.0})
    validate(longer)
    exp, qk = BODY.index("EXP0"), BODY.index("QK0")
    assert duration(longer, exp) == 700
    assert duration(longer, qk) == 600
    grown = 700 - duration(BODY, exp)
    assert longer.ops[exp].issue == BODY.ops[exp].issue + grown
    assert longer.ops[exp].occupancy == BODY.ops[exp].occupancy
    assert longer.ops[qk].issue == BODY.ops[qk].issue
    assert with_durations(BODY, {}) == BODY
    assert corrected(BODY, Corrections()) == BODY
    with pytest.raises(ConfigError):
        with_durations(BODY, {"EXP9": 1.0})
    with pytest.raises(ConfigError):
        with_durations(BODY, {"EXP0": 0.0})


def test_rank_correlation():
    assert rank_correlation([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 1, 1], [3, 2, 1]) == 0
    assert rank_correlation([1, 1, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.9487, abs=1e-3)


LOOP = (
    Mma(op="qk", slots=(), accumulator="s"),
    Commit(),
    Mma(op="pv", slots=(), accumulator="o"),
    Commit(),
    WaitGroup(pending=1),
    Compute(op="exp", writes=("s",)),
    WaitGroup(pending=0),
)
LABELS = ("qk", "Commit", "pv", "Commit", "wait group 1", "exp", "wait group 0")
TIMES = (10, 5, 12, 5, 100, 500, 40)


def traced_loop(iterations=4, instances=2):
    out = []
    for instance in range(instances):
        now, lines = 300 * instance, []
        for _ in range(iterations):
            line = []
            for t in TIMES:
                now += t
                line.append(now)
            lines.append(tuple(line))
        out.append(tuple(lines))
    return Trace(labels=LABELS, stamps=tuple(out))


def test_a_trace_gives_back_its_times():
    trace = traced_loop()
    assert trace.interval == sum(TIMES)
    assert entry_times(trace) == TIMES
    assert op_durations(trace, LOOP) == {"exp": 500.0}
    # QK is over behind `wait group 1`, PV behind `wait group 0`; both count from their issue.
    assert product_times(trace, LOOP) == {"qk": sum(TIMES[:5]), "pv": sum(TIMES[2:])}


def test_a_timeline_shows_who_was_at_what():
    first, second = timeline(traced_loop(), column=32, intervals=1)
    assert first.count("e") == pytest.approx(500 / 32, abs=2)
    assert second.count("E") > 4
    assert len(first) == len(second) == round(sum(TIMES) / 32)


@pytest.mark.parametrize(
    ("labels", "stamps"), [((), ()), (("a",), (((1,),),)), (("a", "b"), (((1,), (2,)),))]
)
def test_a_broken_trace_is_refused(labels, stamps):
    with pytest.raises(ConfigError):
        Trace(labels=labels, stamps=stamps)
