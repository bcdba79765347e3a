"""The solver's word: proofs, refusals, interrupts and time limits."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.modulo.bodies.attention import AttentionShape, attention_body
from tests.modulo.bodies.gemm import gemm_body
from tests.modulo.mixed_bodies import mixed_body
from warploom.errors import InfeasibleError
from warploom.modulo import (
    Goal,
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
    check_result,
    solve_modulo,
)
from warploom.modulo.exact.process import ChildSolver, shared_solver
from warploom.modulo.exact.request import CpRequest, CpStatus, Incumbent
from warploom.modulo.sequence import tightened

II_ONLY = ModuloOptions(goals=())


def tied(**unit):
    return ModuloProblem(
        name="tied",
        ops=(
            ModuloOp(name="a", unit="u", occupancy=2),
            ModuloOp(name="b", unit="u", occupancy=3),
        ),
        edges=(ModuloEdge(src=0, dst=1, latency=0), ModuloEdge(src=1, dst=0, latency=0)),
        capacities=(Unit(name="u", **unit),),
    )


def test_tied_ops_on_one_unit_are_refused_by_name():
    with pytest.raises(InfeasibleError) as error:
        solve_modulo(tied())
    assert "a, b" in str(error.value)
    assert "'u'" in str(error.value)
    assert solve_modulo(tied(capacity=2)).ii == 3


def test_a_body_refuted_at_every_interval_ends():
    """Tied through a chain of loop distances that cancel: no plain check sees it."""
    body = ModuloProblem(
        name="tied far",
        ops=(ModuloOp(name="a", unit="u", occupancy=2), ModuloOp(name="b", unit="u", occupancy=1)),
        edges=(ModuloEdge(src=0, dst=1, latency=0),),
        rings=(
            Ring(
                name="one",
                kind=RingKind.REG,
                size=1,
                writers=(0,),
                readers=((Read(op=1, distance=1),),),
                max_depth=1,
            ),
        ),
    )
    with pytest.raises(InfeasibleError) as error:
        solve_modulo(body)
    assert "at no II" in str(error.value)


def far_use(distance, budget=None):
    """Two ops, and a value used ``distance`` iterations later."""
    return ModuloProblem(
        name="far use",
        ops=(ModuloOp(name="def", unit="u"), ModuloOp(name="use", unit="v")),
        values=(Value(name="x", size=1, src=0, uses=(Read(op=1, distance=distance),)),),
        roles=(Role(name="main", register_budget=budget),),
    )


@pytest.mark.parametrize("distance", [0, 1, 3, 4, 8, 40])
def test_the_loop_distance_of_a_use_counts_in_the_lags(distance):
    live = solve_modulo(far_use(distance)).goal(Goal.REGISTERS)
    assert (live.value, live.bound) == (0, 0)
    result = solve_modulo(far_use(distance, budget=1), II_ONLY)
    assert (result.ii, result.proven) == (1, True)


def test_budgets_refuted_at_every_interval_say_so():
    body = ModuloProblem(
        name="no room",
        ops=(ModuloOp(name="a", unit="u"), ModuloOp(name="b", unit="u", occupancy=2)),
        edges=(ModuloEdge(src=0, dst=1, latency=1),),
        values=(
            Value(name="x", size=1, src=0, uses=(Read(op=1, hold=1),)),
            Value(name="y", size=1, src=1, uses=(Read(op=0, distance=1, hold=1),)),
        ),
        roles=(Role(name="main", register_budget=1),),
    )
    with pytest.raises(InfeasibleError) as error:
        solve_modulo(body, II_ONLY)
    assert "at no II" in str(error.value)


def test_an_edges_own_hand_off_counts_in_the_lags():
    roles = (Role(name="p"), Role(name="q"))
    ops = tuple(ModuloOp(name=f"o{i}", issue=2) for i in range(3))
    edges = (
        ModuloEdge(src=0, dst=1, latency=0, handoff=40),
        ModuloEdge(src=1, dst=2, latency=0, handoff=40),
        ModuloEdge(src=2, dst=0, latency=0, distance=30),
    )
    body = ModuloProblem(name="hand-off", ops=ops, edges=edges, roles=roles)
    result = solve_modulo(body, II_ONLY)
    assert (result.ii, result.proven) == (4, True)


def test_open_roles_with_values_under_a_budget_are_decided():
    body = ModuloProblem(
        name="open roles",
        ops=(
            ModuloOp(name="a", issue=1),
            ModuloOp(name="b", issue=1),
            ModuloOp(name="c", issue=1),
        ),
        edges=(ModuloEdge(src=0, dst=1, latency=3), ModuloEdge(src=1, dst=2, latency=3)),
        values=(
            Value(name="x", size=2, src=0, uses=(Read(op=1),)),
            Value(name="y", size=2, src=1, uses=(Read(op=2),)),
        ),
        roles=(Role(name="p", register_budget=2), Role(name="q", register_budget=2)),
    )
    result = solve_modulo(body, II_ONLY)
    assert (result.ii, result.proven) == (4, True)


TWO_S = AttentionShape(s_copies=2)


class Interrupting:
    """Raises in the middle of the n-th answer, as a Ctrl-C would."""

    def __init__(self, inner, after):
        self.inner, self.after = inner, after

    def solve(self, request):
        self.after -= 1
        if self.after == 0:
            timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            try:
                answer = self.inner.solve(request)
                time.sleep(1)
            finally:
                timer.join()
            return answer
        return self.inner.solve(request)


def test_after_an_interrupt_the_next_answer_is_right():
    """In a process of its own: the signal must not reach those that run tests."""
    script = "from tests.modulo.test_word import interrupted_solves as run; run()"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2],
        timeout=300,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def interrupted_solves():
    for after in (1, 3):
        try:
            result = solve_modulo(
                attention_body(TWO_S), II_ONLY, solver=Interrupting(shared_solver(), after)
            )
        except KeyboardInterrupt:
            continue
        if result.stopped:
            assert result.stopped == "interrupt"
            assert result.lower_bound <= 1040 <= result.ii
            check_result(result)
    right = solve_modulo(attention_body(TWO_S), II_ONLY)
    assert (right.ii, right.proven, right.stopped) == (1040, True, "")


@pytest.mark.slow
def test_interrupts_at_random_times_leave_right_answers():
    rng = random.Random(7)
    bodies = [attention_body(TWO_S), attention_body(AttentionShape()), gemm_body(2, 2)]
    right = [1040, 1274, 128]
    for turn in range(30):
        body = bodies[turn % 3]
        timer = threading.Timer(rng.random() * 1.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            result = solve_modulo(body)
            assert result.lower_bound <= right[turn % 3] <= result.ii
            timer.join()
        except KeyboardInterrupt:
            pass
        finally:
            try:
                timer.join()
                time.sleep(0.01)
            except KeyboardInterrupt:
                pass
        other = (turn + 1) % 3
        after = solve_modulo(bodies[other], II_ONLY)
        assert (after.ii, after.proven) == (right[other], True)


def test_a_terminal_interrupt_does_not_reach_the_child():
    """A Ctrl-C goes to the whole foreground group; the child must not be in it."""
    script = (
        "import os, signal\n"
        "from warploom.modulo import solve_modulo, ModuloOptions\n"
        "from tests.modulo.bodies.attention import AttentionShape, attention_body\n"
        "body = attention_body(AttentionShape(s_copies=2))\n"
        "import threading\n"
        "threading.Timer(0.8, os.killpg, (0, signal.SIGINT)).start()\n"
        "try:\n"
        "    solve_modulo(body)\n"
        "    import time; time.sleep(2)\n"
        "except KeyboardInterrupt:\n"
        "    pass\n"
        "r = solve_modulo(body, ModuloOptions(goals=()))\n"
        "print(r.ii, r.proven)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert done.stdout.split() == ["1040", "True"], done.stderr


def test_files_of_the_users_folder_do_not_stand_in_for_pythons_own(tmp_path, monkeypatch):
    (tmp_path / "dis.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    solver = ChildSolver()
    request = CpRequest(problem=gemm_body(2, 2), ii=128, max_lag=4, work=4.0)
    assert solver.solve(request).status is not CpStatus.UNKNOWN
    solver.close()


def test_answers_carry_the_number_of_their_question():
    solver = ChildSolver()
    body = gemm_body(2, 2)
    request = CpRequest(problem=body, ii=128, max_lag=4, work=4.0)
    assert solver.solve(request).status is not CpStatus.UNKNOWN
    solver._asked += 5  # as if questions had been asked whose answers were never read
    assert solver.solve(request).status is not CpStatus.UNKNOWN
    solver.close()


def test_schedules_are_kept_at_the_least_interval_of_their_order():
    body = gemm_body(2, 2)
    best = solve_modulo(body, II_ONLY)
    loose = Incumbent(
        times=tuple(200 * best.lag(v) + best.cycle(v) for v in range(len(best.times))),
        depths=best.depths,
        roles=best.roles,
    )
    ii, found = tightened(body, 200, loose)
    assert ii == 128
    assert found.depths == best.depths


def test_a_value_that_starts_late_breaks_monotony_and_is_scanned():
    """Feasible at 5 alone above 1: the late value must land in the only free cycle."""
    body = ModuloProblem(
        name="late",
        ops=(
            ModuloOp(name="a", unit="u", occupancy=1),
            ModuloOp(name="c", unit="v", occupancy=2),
            ModuloOp(name="b"),
        ),
        edges=(
            ModuloEdge(src=0, dst=1, latency=0),
            ModuloEdge(src=1, dst=0, latency=0),
            ModuloEdge(src=0, dst=2, latency=6),
        ),
        values=(
            Value(name="short", size=1, src=0, uses=(Read(op=2),), late=5),
            Value(name="long", size=1, src=1, uses=(Read(op=1, distance=1),), late=1),
        ),
        roles=(Role(name="main", register_budget=1),),
    )
    result = solve_modulo(body, II_ONLY)
    assert (result.ii, result.proven) == (5, True)


def test_a_failing_presolve_is_asked_again():
    with pytest.raises(InfeasibleError):
        solve_modulo(mixed_body(1937), II_ONLY)
