"""Known answers: GEMM grids, buffer depth as part of the answer, attention forward."""

from dataclasses import replace

import pytest

from tests.modulo.bodies.attention import AttentionShape, attention_body
from tests.modulo.bodies.attention_costs import MI355X_ATTENTION
from tests.modulo.bodies.gemm import Fragments, Lds, gemm_body
from warploom.errors import SchedulingError
from warploom.modulo import (
    Goal,
    LimitKind,
    ModuloEdge,
    ModuloOp,
    ModuloOptions,
    ModuloProblem,
    RingKind,
    check_result,
    solve_modulo,
)

II_ONLY = ModuloOptions(goals=())


@pytest.mark.parametrize(
    ("m", "n", "ii", "smem", "registers", "length"),
    [(2, 2, 128, 16, 32, 356), (2, 4, 256, 12, 48, 484), (4, 4, 512, 16, 64, 740)],
)
def test_gemm_grids_reach_the_mma_bound_with_least_storage(m, n, ii, smem, registers, length):
    result = solve_modulo(gemm_body(m, n))
    assert (result.ii, result.proven, result.res_mii) == (ii, True, ii)
    assert result.limit.kind is LimitKind.UNIT
    assert result.limit.culprits == ("MMA",)
    goals = {g.goal: (g.value, g.bound) for g in result.goals}
    assert goals[Goal.SMEM] == (smem, smem)
    assert goals[Goal.RING_REGISTERS] == (registers, registers)
    assert goals[Goal.LENGTH] == (length, length)
    check_result(result)


@pytest.mark.parametrize(("m", "n"), [(4, 8), (6, 8)])
def test_large_grids_are_packed_by_the_heuristic_alone(m, n):
    result = solve_modulo(gemm_body(m, n), ModuloOptions(goals=(), exact="never"))
    assert (result.ii, result.proven) == (m * n * 2 * 16, True)


@pytest.mark.parametrize("fragments", list(Fragments))
@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_any_number_of_partitions(partitions, fragments):
    body = gemm_body(2, 3, partitions=partitions, fragments=fragments)
    result = solve_modulo(body, II_ONLY)
    assert result.proven
    assert result.ii >= partitions * 6 * 16


@pytest.mark.parametrize(
    ("lds", "budget", "ii", "copies"),
    [
        (Lds.SLOT, 8, 220, 8),
        (Lds.SLOT, 15, 220, 8),
        (Lds.SLOT, 16, 128, 16),
        (Lds.RING, 4, 440, 4),
        (Lds.RING, 11, 220, 8),
        (Lds.RING, 12, 147, 12),
        (Lds.RING, 16, 128, 16),
    ],
)
def test_buffer_depth_is_part_of_the_answer(lds, budget, ii, copies):
    body = gemm_body(2, 2, lds=lds, smem_budget=budget)
    result = solve_modulo(body, ModuloOptions(goals=(Goal.SMEM,)))
    assert (result.ii, result.proven) == (ii, True)
    assert result.storage(RingKind.SMEM) == copies
    if ii > 128:
        assert result.limit.kind is LimitKind.SMEM
        assert "needs" in result.limit.text


@pytest.mark.parametrize(
    ("shape", "ii", "limit"),
    [
        ({"in_order": True}, 1996, LimitKind.ENERGY),
        ({}, 1274, LimitKind.RECURRENCE),
        ({"s_copies": 2}, 1040, LimitKind.UNIT),
        ({"consumers": 2}, 2048, LimitKind.UNIT),
    ],
)
def test_attention_on_hopper_costs(shape, ii, limit):
    result = solve_modulo(attention_body(AttentionShape(**shape)), II_ONLY)
    assert (result.ii, result.lower_bound, result.proven) == (ii, ii, True)
    assert result.limit.kind is limit


def test_one_consumer_with_two_s_runs_the_next_product_before_softmax_ends():
    result = solve_modulo(attention_body(AttentionShape(s_copies=2)), II_ONLY)
    at = {op.name: t for op, t in zip(result.problem.ops, result.times, strict=True)}
    assert at["QK0"] + result.ii < at["EXP0"] + 512
    assert result.depth("S0") == 2


def test_two_consumers_find_ping_pong_as_the_shortest_schedule():
    result = solve_modulo(attention_body(AttentionShape(consumers=2)))
    length = result.goal(Goal.LENGTH)
    assert (length.value, length.bound) == (4072, 4072)
    names = [result.problem.ops[v].name for v in result.kernel_order()]
    products = [n for n in names if n[:2] in ("QK", "PV")]
    first = products.index("PV0")
    assert products[first:] + products[:first] in (
        ["PV0", "QK0", "PV1", "QK1"],
        ["PV0", "QK1", "PV1", "QK0"],
    )


def test_attention_on_mi355x_costs():
    ones = [AttentionShape(), AttentionShape(s_copies=2), AttentionShape(consumers=2)]
    found = [solve_modulo(attention_body(s, MI355X_ATTENTION), II_ONLY) for s in ones]
    assert [r.ii for r in found] == [1312, 1216, 2048]
    assert all(r.proven for r in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "ii"),
    [
        ({"chunks": 4}, 1282),
        ({"chunks": 4, "s_copies": 2}, 1032),
        ({"consumers": 2, "in_order": True}, 2172),
    ],
)
def test_attention_chunks_and_in_order_consumers(shape, ii):
    result = solve_modulo(attention_body(AttentionShape(**shape)), II_ONLY)
    assert (result.ii, result.proven) == (ii, True)


def test_isolated_partitions_cost_cycles():
    ops = tuple(
        ModuloOp(name=f"{n}{h}", unit="U", occupancy=2, partition=h) for h in (0, 1) for n in "ab"
    )
    pairs = [(0, 1, 0), (1, 0, 1), (2, 3, 0), (3, 2, 1)]
    edges = tuple(ModuloEdge(src=a, dst=b, latency=4, distance=d) for a, b, d in pairs)
    body = ModuloProblem(name="two rings of two", ops=ops, edges=edges)
    free = solve_modulo(body, II_ONLY)
    result = solve_modulo(replace(body, isolate=True), II_ONLY)
    assert (free.ii, free.proven, result.proven) == (8, True, True)
    assert result.ii > 8
    assert "isolation" in result.limit.text
    check_result(result)
    broken = replace(result, times=free.times, ii=free.ii, lower_bound=free.ii)
    with pytest.raises(SchedulingError, match="isolated"):
        check_result(broken)
