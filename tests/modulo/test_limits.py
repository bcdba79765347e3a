"""Limits of time and of work: a schedule with its bound, or an error that says so."""

import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace

import pytest

from tests.modulo.bodies.attention import AttentionShape, attention_body
from tests.modulo.bodies.gemm import gemm_body
from tests.modulo.odd_bodies import odd_body
from tests.modulo.random_bodies import RandomShape, random_body
from tests.modulo.test_word import II_ONLY, far_use
from warploom.cli.kernels import kernel_named
from warploom.compiler.compiled import SOLVE
from warploom.errors import ConfigError, CycleError, InfeasibleError, SchedulingError
from warploom.modulo import (
    ModuloEdge,
    ModuloOp,
    ModuloOptions,
    ModuloProblem,
    Read,
    Role,
    Value,
    check_result,
    solve_modulo,
    what_blocks,
)
from warploom.passes.driver import lower

HARD = random_body(RandomShape(ops=40, occupancies=(3, 5, 8, 16), tight=0.97, rings=4), 3)


def test_a_time_limit_returns_the_best_with_its_bound():
    result = solve_modulo(HARD, ModuloOptions(seconds=0.5))
    assert result.lower_bound <= result.ii
    check_result(result)
    tiny = solve_modulo(attention_body(AttentionShape(chunks=4)), ModuloOptions(seconds=0.001))
    assert tiny.stopped == "time limit"
    assert not tiny.proven
    assert tiny.lower_bound <= 1282 <= tiny.ii


def test_what_search_refuted_is_explained_when_it_is_asked():
    seeds = (
        random_body(RandomShape(ops=9, occupancies=(3, 5, 8), tight=0.97, rings=2), s)
        for s in range(40)
    )
    explained = 0
    for body in seeds:
        quiet = solve_modulo(body, ModuloOptions(goals=(), explain=False))
        whole = solve_modulo(body, ModuloOptions(goals=()))
        assert what_blocks(quiet) == whole.limit
        explained += quiet.limit != whole.limit
        if explained == 2:
            return
    raise AssertionError("no body of these is refuted by search")


def chain(ops):
    return ModuloProblem(
        name="chain",
        ops=tuple(
            ModuloOp(name=f"o{i}", unit=f"u{i % 3}", occupancy=1 + i % 5) for i in range(ops)
        ),
        edges=tuple(ModuloEdge(src=i, dst=i + 1, latency=i % 7) for i in range(ops - 1)),
    )


def test_a_time_limit_ends_the_heuristic_and_the_distances_of_large_bodies():
    result = solve_modulo(chain(600), ModuloOptions(seconds=0.2))
    assert (result.stopped, result.proven) == ("time limit", False)
    check_result(result)


def test_a_late_value_far_away_is_not_scanned_for_ever():
    """Nothing is monotone here, and the interval that decides lies eleven million cycles away."""
    value = Value(name="v", size=1, src=0, uses=(Read(op=1, hold=10**7),), late=10**6)
    body = replace(far_use(0, budget=10), values=(value,))
    result = solve_modulo(body, replace(II_ONLY, prove_work=0.5))
    assert result.lower_bound <= result.ii
    check_result(result)


@pytest.mark.parametrize("limits", [{"seconds": 1e-6}, {"work": 1e-3}])
def test_the_smallest_limits_return_a_schedule_and_a_bound_that_hold(limits):
    """Or say that there is none in time; never a wrong refusal, never a wrong bound."""
    found = 0
    for seed in range(30):
        try:
            right = solve_modulo(odd_body(seed), II_ONLY)
        except (CycleError, InfeasibleError):
            continue
        try:
            brief = solve_modulo(odd_body(seed), replace(II_ONLY, **limits))
        except InfeasibleError:
            pytest.fail(f"{seed} is feasible")
        except SchedulingError:
            continue
        found += 1
        assert brief.lower_bound <= right.ii <= brief.ii, seed
    assert found >= 12


@contextmanager
def busy(processes):
    """Others want the cores too."""
    others = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)
    ]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_a_work_limit_ends_a_solve_at_the_same_place_however_loaded_the_machine_is():
    body = attention_body(AttentionShape(chunks=4))
    found = solve_modulo(body, ModuloOptions(work=0.1))
    assert found.stopped == "work limit"
    assert found.lower_bound <= 1282 <= found.ii
    with busy(2):
        assert solve_modulo(body, ModuloOptions(work=0.1)) == found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attention@d=128", "attention_grad@d=64", "int4_gemm"])
def test_a_compiled_order_does_not_depend_on_the_load(name):
    kernel = kernel_named(name)
    config = replace(kernel.config, schedule=())

    def order():
        made = lower(kernel.compiled.rewritten, config, target=kernel.target, options=SOLVE)
        return made.result

    found = order()
    with busy(6):
        assert order() == found


def test_a_limit_must_be_positive():
    for limit in ("seconds", "work"):
        with pytest.raises(ConfigError, match="limit of 0"):
            ModuloOptions(**{limit: 0})


def test_no_schedule_in_time_is_an_error_that_says_so():
    body = gemm_body(2, 2, smem_budget=8)
    budget = Role(name="main", register_budget=33, static_registers=0)
    tight = ModuloProblem(
        name="tight",
        ops=body.ops,
        edges=body.edges,
        rings=body.rings,
        values=tuple(
            Value(name=f"v{i}", size=3, src=i, uses=(Read(op=i, distance=1),)) for i in range(11)
        ),
        roles=(budget,),
    )
    with pytest.raises(SchedulingError):
        solve_modulo(tight, ModuloOptions(seconds=0.001))


def test_small_work_limits_are_not_worse_than_a_harder_variant():
    """What a body with less room reaches, the body with more room reaches too."""
    small = ModuloOptions(goals=(), tries=1, find_work=0.05, prove_work=0.05)
    for seed in range(3):
        shape = RandomShape(ops=26, occupancies=(3, 5, 8), tight=0.9, rings=5, ring_depth=3)
        roomy = random_body(shape, seed)
        harder = ModuloProblem(
            name="harder",
            ops=roomy.ops,
            edges=(*roomy.edges, ModuloEdge(src=0, dst=13, latency=1)),
            capacities=roomy.capacities,
            rings=roomy.rings,
        )
        easy, hard = solve_modulo(roomy, small), solve_modulo(harder, small)
        assert easy.ii <= hard.ii * 1.02
