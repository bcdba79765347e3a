"""Impossible inputs raise typed errors that name the culprit."""

from dataclasses import replace

import pytest

from tests.modulo.bodies.attention import AttentionShape, attention_body
from tests.modulo.bodies.gemm import gemm_body
from warploom.errors import (
    ConfigError,
    CostModelError,
    CycleError,
    GraphError,
    InfeasibleError,
    MissingExtraError,
)
from warploom.modulo import (
    ModuloEdge,
    ModuloOp,
    ModuloOptions,
    ModuloProblem,
    Read,
    Ring,
    RingKind,
    Role,
    Unit,
    Value,
    solve_modulo,
)
from warploom.modulo.exact import process


def body(**changes):
    base = ModuloProblem(
        name="two ops",
        ops=(ModuloOp(name="load", unit="mem", occupancy=4), ModuloOp(name="use", unit="alu")),
        edges=(ModuloEdge(src=0, dst=1, latency=10),),
    )
    return replace(base, **changes)


def ring(**changes):
    base = Ring(
        name="slot", kind=RingKind.SMEM, size=4, writers=(0,), readers=((Read(op=1, hold=2),),)
    )
    return replace(base, **changes)


CASES = [
    (body(ops=()), GraphError, "no ops"),
    (body(capacities=(Unit(name="mem", capacity=0),)), ConfigError, "'mem'"),
    (body(ops=(ModuloOp(name="load"), ModuloOp(name="load"))), GraphError, "'load'"),
    (body(ops=(ModuloOp(name="load", unit="mem", occupancy=-1),) * 1), CostModelError, "load"),
    (body(edges=(ModuloEdge(src=0, dst=7, latency=1),)), GraphError, "op 7"),
    (body(edges=(ModuloEdge(src=0, dst=1, latency=-1),)), CostModelError, "load -> use"),
    (
        body(edges=(ModuloEdge(src=0, dst=1, latency=1, distance=-1),)),
        CostModelError,
        "distance is -1",
    ),
    (
        body(edges=(ModuloEdge(src=0, dst=1, latency=1), ModuloEdge(src=1, dst=0, latency=1))),
        CycleError,
        "load",
    ),
    (body(edges=(ModuloEdge(src=0, dst=0, latency=1),)), CycleError, "load"),
    (body(rings=(ring(),), smem_budget=3), InfeasibleError, "'slot'"),
    (body(rings=(ring(min_depth=0),)), ConfigError, "'slot'"),
    (body(rings=(ring(min_depth=4, max_depth=2),)), ConfigError, "'slot'"),
    (body(rings=(ring(readers=()),)), GraphError, "'slot'"),
    (body(rings=(ring(writers=(9,)),)), GraphError, "op 9"),
    (body(rings=(ring(readers=((Read(op=1, hold=-1),),)),)), CostModelError, "hold"),
    (body(rings=(ring(max_depth=10**9),)), CostModelError, "copies is 1000000000"),
    (body(rings=(ring(readers=((Read(op=1, distance=10**9),),)),)), CostModelError, "distance is"),
    (body(rings=(ring(kind=RingKind.REG, role="ghost"),)), ConfigError, "'ghost'"),
    (body(values=(Value(name="v", size=1, src=5, uses=()),)), GraphError, "op 5"),
    (body(values=(Value(name="v", size=10**30, src=0, uses=()),)), CostModelError, "size is 1000"),
    (body(values=(Value(name="v", size=1, src=0, uses=(), role="x"),)), ConfigError, "'x'"),
    (body(edges=(ModuloEdge(src=0, dst=1, latency=2.5),)), CostModelError, "2.5"),
    (body(capacities=(Unit(name="mem", capacity=10**9),)), CostModelError, "capacity is"),
    (body(smem_budget=-3), CostModelError, "smem_budget is -3"),
    (body(roles=(Role(name="main", static_registers=-5),)), CostModelError, "'main'"),
    (body(ops=(ModuloOp(name="a", role="ghost"),), edges=()), ConfigError, "'ghost'"),
    (body(isolate=True), ConfigError, "partition"),
    (
        body(
            roles=(Role(name="main", register_budget=3),),
            rings=(ring(kind=RingKind.REG, role="main"),),
        ),
        InfeasibleError,
        "'main'",
    ),
]


@pytest.mark.parametrize(("problem", "error", "text"), CASES)
def test_bad_input_is_refused(problem, error, text):
    with pytest.raises(error) as caught:
        solve_modulo(problem)
    assert text in str(caught.value)


def test_a_budget_below_one_buffer_names_the_least_that_fits():
    with pytest.raises(InfeasibleError) as caught:
        solve_modulo(gemm_body(2, 2, smem_budget=7))
    assert caught.value.smallest_feasible == 8


def test_a_register_budget_that_no_ii_meets():
    values = (Value(name="v", size=8, src=0, uses=(Read(op=1),)),)
    problem = body(values=values, roles=(Role(name="main", register_budget=0),))
    with pytest.raises(InfeasibleError, match="no II"):
        solve_modulo(problem)


def test_a_ring_too_shallow_for_its_reads_at_any_ii():
    late = ring(readers=((Read(op=1, distance=3),),), max_depth=2)
    edges = (ModuloEdge(src=0, dst=1, latency=1), ModuloEdge(src=1, dst=0, latency=0, distance=1))
    with pytest.raises(InfeasibleError, match="max_depth"):
        solve_modulo(body(rings=(late,), edges=edges))


def test_unknown_names_offer_the_nearest():
    problem = gemm_body(1, 1, partitions=1)
    with pytest.raises(GraphError, match="did you mean"):
        problem.index("MMA0.0.1")
    with pytest.raises(GraphError, match="rings:"):
        solve_modulo(problem, ModuloOptions(goals=())).depth("nothing")


def test_bad_shapes_and_options():
    with pytest.raises(ConfigError):
        gemm_body(0, 2)
    with pytest.raises(ConfigError):
        attention_body(AttentionShape(consumers=0))
    with pytest.raises(ConfigError):
        ModuloOptions(tries=0)


def test_without_ortools_bounds_and_heuristic_still_work(monkeypatch):
    monkeypatch.setattr(process, "exact_solver_available", lambda: False)
    result = solve_modulo(gemm_body(2, 2))
    assert (result.ii, result.proven) == (128, True)
    assert "not installed" in result.log[0]
    with pytest.raises(MissingExtraError, match=r"pip install ortools.*\[solver\]"):
        solve_modulo(gemm_body(2, 2), ModuloOptions(exact="require"))
