"""The checker is not a rubber stamp: every kind of damage to a good schedule is found."""

from dataclasses import replace

import pytest

from tests.modulo.bodies.attention import AttentionShape, attention_body
from tests.modulo.bodies.gemm import Lds, gemm_body
from warploom.errors import SchedulingError
from warploom.modulo import (
    ModuloEdge,
    ModuloOp,
    ModuloOptions,
    ModuloProblem,
    Read,
    Ring,
    RingKind,
    Role,
    Value,
    check_result,
    check_schedule,
    solve_modulo,
)


@pytest.fixture(scope="module")
def gemm():
    return solve_modulo(gemm_body(2, 2, lds=Lds.RING), ModuloOptions(goals=()))


def errors(result, **changes):
    broken = replace(result, **changes)
    report = check_schedule(
        broken.problem, broken.ii, broken.times, broken.depths, roles=broken.roles
    )
    return " | ".join(report.errors)


def moved(result, op, by):
    return tuple(t + by if v == op else t for v, t in enumerate(result.times))


def test_a_good_schedule_passes(gemm):
    assert errors(gemm) == ""


def test_every_single_op_moved_far_is_noticed(gemm):
    for op in range(len(gemm.times)):
        assert errors(gemm, times=moved(gemm, op, 1000 * gemm.ii + 1))


def test_units_edges_rings_and_shape(gemm):
    mma = gemm.problem.index("MMA0.0.0")
    other = gemm.problem.index("MMA0.0.1")
    gap = gemm.times[other] - gemm.times[mma]
    assert "unit 'MMA'" in errors(gemm, times=moved(gemm, mma, gap))
    read = gemm.problem.index("READ_A0.0")
    assert "edge" in errors(gemm, times=moved(gemm, read, -1000 * gemm.ii + 1)) or "time 0" in (
        errors(gemm, times=moved(gemm, read, -1000 * gemm.ii + 1))
    )
    shallow = tuple(
        1 if r.kind == "smem" else d for r, d in zip(gemm.problem.rings, gemm.depths, strict=True)
    )
    assert "before" in errors(gemm, depths=shallow)
    assert "copies" in errors(gemm, depths=tuple(99 for _ in gemm.depths))
    assert "per ring" in errors(gemm, depths=())
    assert "per op" in errors(gemm, times=gemm.times[:-1])
    assert "II is 0" in errors(gemm, ii=0)


def test_ring_writers_must_keep_their_order():
    ops = tuple(ModuloOp(name=n, unit=None) for n in ("w0", "w1", "r0", "r1"))
    ring = Ring(
        name="pair",
        kind=RingKind.SMEM,
        size=1,
        writers=(0, 1),
        readers=((Read(op=2),), (Read(op=3),)),
        max_depth=4,
    )
    problem = ModuloProblem(name="order", ops=ops, rings=(ring,))
    report = check_schedule(problem, 4, (2, 1, 3, 3), (2,))
    assert any("overtakes" in e for e in report.errors)


def test_registers_are_counted_cycle_by_cycle():
    ops = (ModuloOp(name="a", unit=None), ModuloOp(name="b", unit=None))
    value = Value(name="v", size=3, src=0, uses=(Read(op=1),))
    problem = ModuloProblem(
        name="live",
        ops=ops,
        edges=(ModuloEdge(src=0, dst=1, latency=1),),
        values=(value,),
        roles=(Role(name="main", register_budget=5, static_registers=1),),
    )
    fits = check_schedule(problem, 4, (0, 4), ())
    assert fits.errors == ()
    assert dict(fits.registers) == {"main": 4}
    assert any("registers" in e for e in check_schedule(problem, 4, (0, 5), ()).errors)


def test_roles_streams_handoffs_and_releases():
    shape = AttentionShape(consumers=2, handoff=43, release=43)
    result = solve_modulo(attention_body(shape), ModuloOptions(goals=()))
    assert errors(result) == ""
    swapped = tuple("consumer0" if r == "consumer1" else r for r in result.roles)
    found = errors(result, roles=swapped)
    assert "may not run" in found
    assert "stream" in found
    free = replace(result.problem, handoff=400, release=400)
    assert "short" in errors(replace(result, problem=free))


def test_a_false_claim_of_proof_is_refused(gemm):
    with pytest.raises(SchedulingError, match="bound"):
        check_result(replace(gemm, lower_bound=gemm.ii - 1, proven=True))


def test_the_checker_imports_no_solver():
    import ast
    from pathlib import Path

    import warploom.modulo.check as module

    tree = ast.parse(Path(module.__file__).read_text())
    names = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    ours = {n for n in names if n and n.startswith("warploom")}
    assert ours == {
        "warploom.dataclass",
        "warploom.errors",
        "warploom.modulo.model",
        "warploom.modulo.result",
    }
