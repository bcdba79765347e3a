"""The search's own bounds: none may ever exclude an order that exists."""

from hypothesis import given, settings, strategies as st

from warploom.pipeline.scheduling.search.bound import UnitBound
from warploom.pipeline.scheduling.search.complete import Completer, WorkMeter, start_state
from warploom.pipeline.scheduling.search.problem import order_problem

from . import defining_scan as scan
from .random_bodies import bodies

penalties = st.sampled_from((0, 1, 5, 12, 30))
load_limits = st.sampled_from((0, 1, 2))


def start_times(problem, order):
    free = [0] * 4
    ready = [0] * problem.n
    starts = {}
    for i in order:
        starts[i] = max(ready[i], free[problem.unit[i]])
        if problem.unit[i] < 3:
            free[problem.unit[i]] = starts[i] + problem.hold[i]
        for k in problem.succs[i]:
            ready[k] = max(ready[k], starts[i] + problem.latency[i])
    return starts


@settings(max_examples=40, deadline=None)
@given(bodies(max_ops=7), load_limits, penalties)
def test_heads_tails_and_totals_hold_for_every_order(graph, loads, penalty):
    problem = order_problem(graph, partitions=2, max_loads=loads, penalty=penalty)
    for order in scan.orders(graph, partitions=2, max_loads=loads):
        makespan, peak = scan.price(graph, order, penalty)
        assert problem.least_makespan <= makespan <= problem.horizon()
        assert problem.least_registers <= peak
        for i, start in start_times(problem, order).items():
            assert problem.head[i] <= start
            assert problem.tail[i] <= makespan - start


@settings(max_examples=30, deadline=None)
@given(bodies(max_ops=6), load_limits, penalties)
def test_no_prefix_of_an_order_is_given_up(graph, loads, penalty):
    problem = order_problem(graph, partitions=2, max_loads=loads, penalty=penalty)
    for order in scan.orders(graph, partitions=2, max_loads=loads):
        makespan, peak = scan.price(graph, order, penalty)
        bound = UnitBound(problem, makespan)
        completer = Completer(problem, makespan, peak, WorkMeter(10**6))
        state = start_state(problem)
        for position, op in enumerate(order):
            part = problem.partition[min(set(range(len(graph))) - set(order[:position]))]
            assert bound.holds(state.placed, state.free, state.ready, state.loads, part)
            state = completer.place(state, op)
            assert state is not None


@settings(max_examples=40, deadline=None)
@given(bodies(max_ops=6), load_limits, penalties)
def test_a_prefix_is_completed_exactly_when_some_order_completes_it(graph, loads, penalty):
    """Every prefix, one memory: what failed once must not spoil what can be done."""
    problem = order_problem(graph, partitions=2, max_loads=loads, penalty=penalty)
    prices = {
        order: scan.price(graph, order, penalty)
        for order in scan.orders(graph, partitions=2, max_loads=loads)
    }
    if not prices:
        return
    makespan, peak = sorted(prices.values())[len(prices) // 3]
    within = {o for o, (m, p) in prices.items() if m <= makespan and p <= peak}
    completer = Completer(problem, makespan, peak, WorkMeter(10**7))
    for order in list(prices)[:40]:
        state = start_state(problem)
        for position, op in enumerate(order):
            rest = completer.complete(state)
            possible = any(o[:position] == order[:position] for o in within)
            assert (rest is not None) == possible
            if rest is None:
                break
            assert scan.price(graph, (*order[:position], *rest), penalty)[0] <= makespan
            state = completer.place(state, op)
            if state is None:
                break
