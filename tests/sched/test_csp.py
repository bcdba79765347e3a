"""The exact order search against the definition taken literally, and its promises."""

from itertools import islice

import pytest
from hypothesis import given, settings, strategies as st

from warploom.errors import InfeasibleError, OverBudgetWarning, SchedulingError
from warploom.ir.schedule_ops import DepEdge, OpDesc, OpRole, ResourceKind
from warploom.pipeline.graph_builder.loop_body import LoopBody
from warploom.pipeline.scheduling.csp import (
    optimal_block_order,
    optimal_schedule,
    optimal_schedule_with_halves,
)
from warploom.pipeline.scheduling.greedy import greedy_schedule, simple_greedy_schedule
from warploom.pipeline.scheduling.result import asap_lower_bound, evaluate_schedule, live_peak

from . import defining_scan as scan
from .random_bodies import bodies

penalties = st.sampled_from((0, 0, 1, 5, 12, 30))
load_limits = st.sampled_from((0, 0, 1, 2))
budgets = st.sampled_from((None, None, 4, 8, 12, 16))


def budget_of(max_vgpr):
    return 10**9 if max_vgpr is None else max_vgpr


@settings(max_examples=125, deadline=None)
@given(bodies(max_ops=8), load_limits, penalties, budgets)
def test_partitioned_search_returns_the_order_of_the_definition(graph, loads, penalty, max_vgpr):
    limits = {"partitions": 2, "max_loads": loads, "budget": budget_of(max_vgpr)}
    seed = greedy_schedule(graph)
    bound = asap_lower_bound(graph, penalty)
    expected = scan.scan_halves(graph, seed, bound, penalty=penalty, **limits)
    if expected is None:
        with pytest.raises(InfeasibleError) as caught:
            optimal_schedule_with_halves(graph, loads, penalty, max_vgpr, insist=True)
        with pytest.warns(OverBudgetWarning):
            assert optimal_schedule_with_halves(graph, loads, penalty, max_vgpr).order == seed
        limits["budget"] = 10**9
        peaks = [scan.price(graph, o)[1] for o in (seed, *scan.orders(graph, **limits))]
        assert caught.value.smallest_feasible == min(peaks)
        return
    got = optimal_schedule_with_halves(graph, loads, penalty, max_vgpr)
    assert got.order == expected
    assert (got.makespan, got.vgpr_peak) == scan.price(graph, got.order, penalty)
    assert got.exact
    admissible = (got.order, *scan.orders(graph, **limits))
    assert got.lower_bound <= min(scan.price(graph, o, penalty)[0] for o in admissible)


@settings(max_examples=75, deadline=None)
@given(bodies(max_ops=7), budgets)
def test_whole_search_returns_the_first_fastest_order(graph, max_vgpr):
    expected = scan.scan_whole(graph, budget=budget_of(max_vgpr))
    if expected is None:
        with pytest.raises(InfeasibleError) as caught:
            optimal_schedule(graph, max_vgpr, insist=True)
        with pytest.warns(OverBudgetWarning):
            assert optimal_schedule(graph, max_vgpr).order == simple_greedy_schedule(graph)
        peaks = [scan.price(graph, o)[1] for o in scan.orders(graph)]
        assert caught.value.smallest_feasible == min(peaks)
        return
    got = optimal_schedule(graph, max_vgpr)
    assert got.order == expected
    assert got.proven
    assert got.lower_bound == got.makespan


def ends_in_compute(graph, order):
    n = len(graph)
    roles = [graph.ops[i].op.role for i in order]
    halves = (roles[: n // 2], roles[n // 2 :])
    return all(h[-1] is OpRole.COMPUTE for h in halves if OpRole.COMPUTE in h)


@settings(max_examples=75, deadline=None)
@given(bodies(max_ops=8), load_limits, penalties, budgets)
def test_blocks_can_be_asked_to_close(graph, loads, penalty, max_vgpr):
    limits = {"partitions": 2, "max_loads": loads, "budget": budget_of(max_vgpr)}
    admissible = [o for o in scan.orders(graph, **limits) if ends_in_compute(graph, o)]
    ask = (graph, loads, penalty, max_vgpr)
    if not admissible:
        with pytest.raises(InfeasibleError):
            optimal_schedule_with_halves(*ask, end_in_compute=True, insist=True)
        return
    got = optimal_schedule_with_halves(*ask, end_in_compute=True, insist=True)
    assert got.order in admissible
    best = min(scan.price(graph, o, penalty) for o in admissible)
    bound = asap_lower_bound(graph, penalty)
    assert got.makespan == best[0] or got.makespan == bound  # the seed may end the search early
    assert got.lower_bound <= best[0]
    order = optimal_block_order(*ask[:3]).order
    part = [int(i >= len(graph) // 2) for i in range(len(graph))]
    assert ends_in_compute(graph, order)
    assert not loads or most_loads_between_computes(graph, order, part) <= loads


def test_an_op_behind_the_last_compute_leaves_no_block_order():
    mma = OpDesc.op(5, ResourceKind.MMA_UNIT, 16, OpRole.COMPUTE)
    store = OpDesc.op(1, ResourceKind.LDS, 20, OpRole.SHARED_STORE)
    graph = LoopBody.of([mma, store], [DepEdge.flow(0, 1)])
    with pytest.raises(SchedulingError, match="end in its COMPUTE"):
        optimal_block_order(graph, partitions=1)


@settings(max_examples=30, deadline=None)
@given(bodies(max_ops=20), load_limits, penalties, st.sampled_from((1, 2, 3)))
def test_larger_bodies_keep_every_promise(graph, loads, penalty, partitions):
    try:
        seed = greedy_schedule(graph, partitions)
    except SchedulingError:
        return  # an edge leads back to an earlier partition
    got = optimal_schedule_with_halves(
        graph, loads, penalty, partitions=partitions, work_limit=4000
    )
    n = len(graph)
    part = [max(p for p in range(partitions) if p * n // partitions <= i) for i in range(n)]
    at = {i: position for position, i in enumerate(got.order)}
    assert sorted(at) == list(range(n))
    assert [part[i] for i in got.order] == sorted(part)
    for e in graph.edges:
        if e.loop_distance == 0:
            assert at[e.producer_idx] < at[e.consumer_idx]
    assert got.lower_bound <= got.makespan <= evaluate_schedule(graph, seed, penalty).makespan
    if got.order != seed and loads:
        assert most_loads_between_computes(graph, got.order, part) <= loads


def most_loads_between_computes(graph, order, part):
    count = worst = 0
    for previous, i in zip((None, *order), order, strict=False):
        role = graph.ops[i].op.role
        if role is OpRole.COMPUTE or (previous is not None and part[previous] != part[i]):
            count = 0
        if role is OpRole.GLOBAL_LOAD:
            count += 1
            worst = max(worst, count)
    return worst


@settings(max_examples=40, deadline=None)
@given(bodies(max_ops=16), st.integers(0, 40))
def test_a_starved_search_still_answers_truthfully(graph, work):
    got = optimal_schedule(graph, work_limit=work)
    seed = evaluate_schedule(graph, simple_greedy_schedule(graph))
    assert sorted(got.order) == list(range(len(graph)))
    assert got.lower_bound <= got.makespan <= seed.makespan
    assert got.work <= work
    again = optimal_schedule(graph, work_limit=work)
    assert again == got
    full = optimal_schedule(graph)
    if full.exact:
        assert got.lower_bound <= full.makespan
        assert not (got.exact and got.order != full.order)


def fragments_and_mmas(count, *, kill):
    """``count`` pairs: a fragment of 8 registers, then the MMA that frees ``kill`` of them."""
    ops, edges = [], []
    for _ in range(count):
        ops.append(OpDesc.op(3, ResourceKind.LDS, 20, OpRole.FRAGMENT_LOAD, vgpr_def=8))
    for i in range(count):
        ops.append(OpDesc.op(5, ResourceKind.MMA_UNIT, 16, OpRole.COMPUTE, vgpr_kill=kill))
        edges.append(DepEdge.flow(i, count + i))
    return LoopBody.of(ops, edges)


def test_a_budget_below_the_greedy_seed_finds_the_order_that_fits():
    graph = fragments_and_mmas(3, kill=8)
    assert evaluate_schedule(graph, simple_greedy_schedule(graph)).vgpr_peak == 24
    got = optimal_schedule(graph, 8)
    assert got.order == (0, 3, 1, 4, 2, 5)
    assert got.vgpr_peak == 8


def test_an_infeasible_budget_names_the_smallest_that_would_do():
    graph = fragments_and_mmas(3, kill=8)
    with pytest.raises(InfeasibleError, match="as few as 7") as caught:
        optimal_schedule(graph, 7, insist=True)
    assert caught.value.smallest_feasible == 8
    assert "at least 8" in caught.value.fix
    without = fragments_and_mmas(3, kill=0)
    with pytest.raises(InfeasibleError) as caught:
        optimal_schedule_with_halves(without, 0, 0, 23, insist=True)
    assert caught.value.smallest_feasible == 24


def test_an_undecided_budget_says_so():
    graph = fragments_and_mmas(3, kill=8)
    with pytest.raises(SchedulingError, match="before it found") as caught:
        optimal_schedule(graph, 8, work_limit=3, insist=True)
    assert not isinstance(caught.value, InfeasibleError)


def test_the_unlimited_budget_number_means_no_limit():
    graph = fragments_and_mmas(3, kill=8)
    assert optimal_schedule(graph, 999999) == optimal_schedule(graph, None)


def test_unit_bound_orders_by_what_follows_not_by_length():
    """A long op with nothing after it must not push a short one with a long tail back."""
    valu = [OpDesc.op(0, ResourceKind.VALU, lat, OpRole.VALU_COMPUTE) for lat in (1, 10, 24)]
    sync = OpDesc.op(0, ResourceKind.SCALAR, 16, OpRole.SYNC)
    graph = LoopBody.of([*valu, sync], [DepEdge.flow(0, 1), DepEdge.flow(1, 2), DepEdge.flow(1, 3)])
    got = optimal_schedule(graph)
    assert (got.makespan, got.lower_bound) == (35, 35)


def test_a_value_is_freed_by_its_last_reader():
    graph = fragments_and_mmas(3, kill=0)
    assert evaluate_schedule(graph, (0, 3, 1, 4, 2, 5)).vgpr_peak == 24
    assert live_peak(graph, (0, 3, 1, 4, 2, 5)) == 8
    assert live_peak(graph, (0, 1, 2, 3, 4, 5)) == 24
    got = optimal_schedule_with_halves(graph, 0, 0, 8, partitions=1, lifetimes=True, insist=True)
    assert got.registers == 8
    with pytest.raises(InfeasibleError) as caught:
        optimal_schedule_with_halves(graph, 0, 0, 7, partitions=1, lifetimes=True, insist=True)
    assert caught.value.smallest_feasible == 8


@settings(max_examples=60, deadline=None)
@given(bodies(max_ops=7), st.sampled_from((0, 4, 8, 12, 16, 20)))
def test_budgets_by_lifetime_are_those_of_a_scan(graph, budget):
    """Against every order there is: the least peak, and the least makespan within a budget."""
    priced = [
        (live_peak(graph, o), scan.price(graph, o)[0]) for o in scan.orders(graph, partitions=2)
    ]
    fitting = [makespan for peak, makespan in priced if peak <= budget]
    ask = {"lifetimes": True, "insist": True}
    if not fitting:
        with pytest.raises(InfeasibleError) as caught:
            optimal_schedule_with_halves(graph, 0, 0, budget, **ask)
        assert caught.value.smallest_feasible == min(peak for peak, _ in priced)
        return
    got = optimal_schedule_with_halves(graph, 0, 0, budget, **ask)
    assert got.registers <= budget
    assert got.makespan == min(fitting)


def reference_peak(graph, order):
    """Live registers by definition: between two ops, every value defined and still to be read."""
    reads_now = {i: set() for i in range(len(graph))}
    reads_later = {i: set() for i in range(len(graph))}
    for e in graph.edges:
        if e.dep_kind.name == "FLOW":
            (reads_now if e.loop_distance == 0 else reads_later)[e.producer_idx].add(e.consumer_idx)
    compute = [node.op.role is OpRole.COMPUTE for node in graph.ops]
    size = [node.op.vgpr_def for node in graph.ops]

    def live(done):
        total = 0
        for i in range(len(graph)):
            ends = bool(reads_later[i]) or (compute[i] and not reads_now[i])
            total += size[i] * bool(i in done and (ends or reads_now[i] - done))
            total += size[i] * bool(reads_later[i] - done)  # last iteration's value
        return total

    peak, done = live(set()), set()
    for i in order:
        before = live(done)
        freed = sum(
            size[j]
            for j in range(len(graph))
            if compute[j]
            and any(
                reads[j] and reads[j] - done == {i}
                for reads in (reads_later, *(() if reads_later[j] else (reads_now,)))
            )
            and (j in done or reads_later[j])
        )
        peak = max(peak, before + size[i] - freed)
        done = done | {i}
        peak = max(peak, live(done))
    return peak


@settings(max_examples=75, deadline=None)
@given(bodies(max_ops=8))
def test_live_registers_are_those_of_the_definition(graph):
    for order in islice(scan.orders(graph, partitions=2), 6):
        assert live_peak(graph, order) == reference_peak(graph, order)
