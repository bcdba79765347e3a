"""Hunting the best order by measure: a machine whose costs the model does not know."""

import random
from dataclasses import replace
from math import inf

import pytest

from tests.modulo.bodies.gemm import gemm_body
from tests.modulo.random_bodies import RandomShape, random_body
from warploom.errors import ConfigError, SchedulingError
from warploom.modulo import ModuloEdge, ModuloOp, ModuloOptions, ModuloProblem, Role, solve_modulo
from warploom.modulo.check import check_result
from warploom.modulo.learn import OP, features, under
from warploom.modulo.local_search import Hunt, HuntOptions
from warploom.modulo.sequence import Program, as_result, downhill, moved, neighbours, program_of
from warploom.search_engine import Objective

II_ONLY = ModuloOptions(goals=())


def nine_ops(loads, vectors, matrix, wide):
    """Three chains of a load, vector work and a product that share one in-order stream."""
    names = ("load", "vec", "mma")
    ops, edges = [], []
    for chain in range(3):
        costs = (loads, vectors, matrix if chain else matrix + wide)
        for kind, cycles in zip(names, costs, strict=True):
            issue = {"load": 2, "vec": cycles, "mma": 1}[kind]
            ops.append(ModuloOp(name=f"{kind}{chain}", unit=kind, occupancy=cycles, issue=issue))
        base = 3 * chain
        edges.append(ModuloEdge(src=base, dst=base + 1, latency=4 * loads))
        edges.append(ModuloEdge(src=base + 1, dst=base + 2, latency=vectors + 2))
    edges.append(ModuloEdge(src=2, dst=4, latency=matrix + 3, distance=1))
    edges.append(ModuloEdge(src=5, dst=7, latency=matrix + 3))
    edges.append(ModuloEdge(src=8, dst=1, latency=matrix + 3, distance=1))
    return ModuloProblem(
        name="nine ops", ops=tuple(ops), edges=tuple(edges), roles=(Role(name="wave"),)
    )


MODEL = nine_ops(loads=2, vectors=3, matrix=8, wide=4)
HIDDEN = nine_ops(loads=4, vectors=8, matrix=6, wide=0)


def measured_on(machine):
    """Cycles an iteration of an order takes on a machine nobody knows."""

    def measure(task):
        found = as_result(machine, task.program)
        return inf if found is None else float(found.ii)

    return measure


hidden_machine = measured_on(HIDDEN)


def test_the_hidden_optimum_is_found_by_measure():
    bound = solve_modulo(HIDDEN, II_ONLY)
    assert bound.proven
    own = as_result(HIDDEN, program_of(solve_modulo(MODEL, II_ONLY)))
    assert own.ii > bound.ii
    options = HuntOptions(evaluations=24, goal=bound.ii)
    result = Hunt(MODEL, Objective(each=hidden_machine), options).run()
    assert result.best.score == bound.ii
    assert result.best.origin == "learnt"
    assert result.stopped == "goal reached"
    assert result.ranked[0].score <= result.ranked[-1].score


def hidden_family(seed):
    """A body, and the machine it really runs on: costs off by a factor of two and more."""
    rng = random.Random(seed)
    if seed % 2:
        costs = [rng.randint(2, 9) for _ in range(3)]
        body = nine_ops(*costs, rng.randint(0, 4))
    else:
        body = random_body(RandomShape(ops=9, rings=0, density=0.4, carried=0.3), seed)
    issues = [max(1, min(o.occupancy, rng.choice((1, 2, o.occupancy)))) for o in body.ops]
    ops = tuple(replace(o, issue=i) for o, i in zip(body.ops, issues, strict=True))
    body = replace(body, ops=ops, roles=(Role(name="wave"),))
    spread = {f: 0.2 if f[0] == OP else 0.6 for f in features(body)}
    return body, under(body, {f: rng.gauss(0.0, s) for f, s in spread.items()}, 2)


def evaluations_to_the_best(seed, most):
    """How many orders were measured until the machine's best known one; and whether it was."""
    body, machine = hidden_family(seed)
    start = program_of(solve_modulo(body, II_ONLY))
    walks = [list(downhill(machine, start, 1, seed=k, steps=400)) for k in range(4)]
    goal = min(walk[-1].ii for walk in walks)
    options = HuntOptions(evaluations=most, goal=goal, seed=seed)
    found = Hunt(body, Objective(each=measured_on(machine)), options).run()
    return found.evaluations, found.best.score <= goal


@pytest.mark.parametrize("seed", [2, 5])
def test_the_best_of_other_hidden_machines_is_found_as_soon(seed):
    evaluations, found = evaluations_to_the_best(seed, most=28)
    assert found
    assert evaluations <= 28


@pytest.mark.slow
def test_hidden_machines_take_about_twenty_measurements():
    told = [evaluations_to_the_best(seed, most=60) for seed in range(40)]
    assert sum(found for _, found in told) >= 36
    assert sorted(n for n, _ in told)[20] <= 20


def test_hunts_are_deterministic():
    def run():
        options = HuntOptions(evaluations=6)
        hunt = Hunt(MODEL, Objective(each=hidden_machine), options)
        return [(f.score, f.program) for f in hunt.run().ranked]

    assert run() == run()


def test_an_interrupt_returns_what_was_found():
    seen = []

    def evaluate(task):
        seen.append(task)
        if len(seen) > 10:
            raise KeyboardInterrupt
        return hidden_machine(task)

    result = Hunt(MODEL, Objective(each=evaluate), HuntOptions(evaluations=100)).run()
    assert result.stopped == "interrupt"
    assert result.best.score > 0


def test_dear_efforts_are_spent_near_the_best():
    efforts = []

    def evaluate(task):
        efforts.append(task.effort)
        return hidden_machine(task)

    Hunt(MODEL, Objective(each=evaluate), HuntOptions(evaluations=14, efforts=(1, 16))).run()
    assert 0 < efforts.count(16) < efforts.count(1)


def test_no_usable_order_is_an_error():
    hunt = Hunt(MODEL, Objective(each=lambda task: inf), HuntOptions(evaluations=5, seconds=3))
    with pytest.raises(SchedulingError):
        hunt.run()
    with pytest.raises(ConfigError):
        HuntOptions(evaluations=0)


@pytest.mark.parametrize("seed", range(8))
def test_steps_keep_every_dependence(seed):
    body = random_body(RandomShape(ops=9, rings=2, density=0.5, carried=0.3), seed)
    at = program_of(solve_modulo(body, II_ONLY))
    rng = random.Random(seed)
    for _, (program, result) in zip(range(20), neighbours(body, at, rng), strict=False):
        check_result(replace(result, problem=body))
        assert program_of(result).depths == program.depths
        at = program


def test_a_sequence_keeps_its_order():
    body = replace(MODEL, rings=())
    program = program_of(solve_modulo(body, II_ONLY))
    result = as_result(body, program)
    assert program_of(result) == program
    backwards = Program(tuple(reversed(range(9))), ())
    again = as_result(body, backwards)
    assert again is None or program_of(again) == backwards.turned()


def test_depths_are_part_of_a_step():
    body = gemm_body(2, 2)
    start = program_of(solve_modulo(body, II_ONLY))
    rng = random.Random(3)
    assert any(moved(body, start, rng).depths != start.depths for _ in range(200))


def test_a_known_order_is_never_lost_and_walked_down_from():
    best = solve_modulo(MODEL, II_ONLY)
    start = Program(tuple(range(len(MODEL.ops))), best.depths).turned()
    walked = list(downhill(MODEL, start, best.ii))
    intervals = [r.ii for r in walked]
    assert intervals == sorted(set(intervals), reverse=True)
    lazy = ModuloOptions(goals=(), tries=1, find_work=0.0, prove_work=0.0, exact="never")
    assert solve_modulo(MODEL, lazy, starts=[program_of(best)]).ii == best.ii


def test_a_unit_with_one_op_is_held_once_a_turn():
    ops = (
        ModuloOp(name="long", unit="u", occupancy=9, issue=1),
        ModuloOp(name="short", unit="v", issue=1),
    )
    body = ModuloProblem(name="one each", ops=ops, roles=(Role(name="wave"),))
    assert as_result(body, Program((0, 1), ())).ii == 9
