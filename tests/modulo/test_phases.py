"""Phases from the schedule: every trip count, every depth, judged by the verifier."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.modulo.bodies.gemm import Lds
from tests.modulo.random_bodies import RandomShape, random_body
from tests.modulo.samples import document, matmul_ops
from warploom.errors import CostModelError, PhaseError, ProgramError
from warploom.interp.executor import execute
from warploom.ir.schedule_ops import KOffsetKind, OpDesc
from warploom.modulo import (
    ModuloEdge,
    ModuloOp,
    ModuloOptions,
    ModuloProblem,
    Read,
    Ring,
    RingKind,
    Value,
    solve_modulo,
)
from warploom.modulo.expand import copy_index, expand, unroll_factor
from warploom.pipeline.amd_target.cost import AMDScheduleHints
from warploom.pipeline.amd_target.geometry import KernelGeometry
from warploom.pipeline.compile import compile_schedule
from warploom.pipeline.config.pipeline import SchedulingStrategy
from warploom.pipeline.config.schedule import ScheduleConfig
from warploom.pipeline.modulo.bridge import ModuloRequest, body_problem
from warploom.pipeline.modulo.entries import modulo_phases
from warploom.pipeline.schedules.fourwave import Pipeline4Wave
from warploom.pipeline.schedules.pingpong import DeclarativeSchedule
from warploom.pipeline.schedules.single_buffer import SingleBufferSchedule
from warploom.sync.counters import synthesise
from warploom.targets.occupancy import OccupancyModel
from warploom.verify import verify

II_ONLY = ModuloOptions(goals=())


def solved(m=1, n=1, partitions=1, **request):
    body = body_problem(matmul_ops(m, n, partitions), request=ModuloRequest(**request))
    return body, solve_modulo(body.problem)


def judged(phases):
    done = synthesise(document(phases)).document
    assert verify(done).verdict == "clean"
    return done


@pytest.mark.parametrize(("partitions", "depth"), [(1, 1), (1, 3), (2, 1), (2, 2)])
def test_any_depth_is_proven_and_computes_the_product(depth, partitions):
    body, result = solved(partitions=partitions, max_depth=depth)
    assert result.proven
    phases = modulo_phases(body, result)
    assert phases.unroll == unroll_factor(result)
    done = judged(phases)
    for trips in (0, 1, 3):
        assert execute(done, trips=trips).correct


def test_one_ring_over_three_partitions():
    body, result = solved(partitions=3, lds=Lds.RING, max_depth=1)
    judged(modulo_phases(body, result))


def test_left_over_iterations_are_peeled_into_the_prologue():
    body, result = solved(max_depth=3)
    unroll = unroll_factor(result)
    assert unroll == 3
    bases = []
    for peeled in range(unroll):
        phases = modulo_phases(body, result, peeled=peeled)
        bases.append(phases.kernel_k_base)
        judged(phases)
    assert bases == [bases[0] + p for p in range(unroll)]


def test_offsets_are_named_where_they_suffice():
    body, result = solved(partitions=2, max_depth=1)
    phases = modulo_phases(body, result)
    offsets = {e.op.k_offset for e in phases.kernel if e.op.name.startswith("LOAD")}
    assert phases.named_tiles == (KOffsetKind.NONE not in offsets)
    deep, deeper = solved(max_depth=5)
    assert not modulo_phases(deep, deeper).named_tiles


def order_holds(result, instances):
    """Program order respects every edge between instances that are not concurrent."""
    position = {x: i for i, x in enumerate(instances)}
    for e in result.problem.edges:
        for (op, i), at in position.items():
            if op == e.src and (e.dst, i + e.distance) in position and e.latency > 0:
                assert at < position[e.dst, i + e.distance]


def test_expansion_runs_every_op_of_every_iteration_once():
    for seed in range(12):
        shape = RandomShape(ops=7, rings=2, two_writer_rings=1, values=2)
        result = solve_modulo(random_body(shape, seed), II_ONLY)
        for iterations in range(3 * result.overlap + 2):
            program = expand(result, iterations)
            counts = Counter(tuple(x) for x in program.issued())
            wanted = {(v, i) for v in range(7) for i in range(iterations)}
            assert counts == Counter(wanted)
            order_holds(result, [tuple(x) for x in program.issued()])


def test_expansion_refuses_negative_counts():
    result = solve_modulo(random_body(RandomShape(ops=3), 1), II_ONLY)
    with pytest.raises(PhaseError):
        expand(result, -1)


def two_rings():
    """A producer whose results live in rings of depth 2 and 3."""
    ops = tuple(ModuloOp(name=n, unit=n, occupancy=4) for n in ("load", "near", "far"))
    edges = (ModuloEdge(src=0, dst=1, latency=6), ModuloEdge(src=0, dst=2, latency=10))
    rings = tuple(
        Ring(
            name=name,
            kind=RingKind.SMEM,
            size=1,
            writers=(0,),
            readers=((Read(op=op),),),
            max_depth=3,
        )
        for name, op in (("two", 1), ("three", 2))
    )
    return ModuloProblem(name="two rings", ops=ops, edges=edges, rings=rings)


def test_rings_of_different_depth_do_not_share_a_counter():
    result = solve_modulo(two_rings())
    assert (result.ii, result.depths) == (4, (2, 3))
    assert unroll_factor(result) == 6
    for ring, depth in enumerate(result.depths):
        used = [copy_index(result, ring, 0, i) for i in range(12)]
        assert used == [i % depth for i in range(12)]


def test_the_copy_of_a_reuse_is_never_constant():
    result = solve_modulo(two_rings())
    kernel = expand(result, 20).kernel
    writes = Counter(copy_index(result, 1, 0, x.iteration) for x in kernel if x.op == 0)
    assert writes == {0: 2, 1: 2, 2: 2}


def test_values_that_live_longer_than_ii_are_expanded():
    ops = (ModuloOp(name="a", unit="u", occupancy=2), ModuloOp(name="b", unit="w", occupancy=2))
    value = Value(name="v", size=1, src=0, uses=(Read(op=1),))
    edge = ModuloEdge(src=0, dst=1, latency=5)
    problem = ModuloProblem(name="long life", ops=ops, edges=(edge,), values=(value,))
    result = solve_modulo(problem)
    assert result.ii == 2
    assert unroll_factor(result) == 3


def test_a_loop_carried_read_keeps_its_copy():
    carried = replace(
        two_rings(),
        rings=(
            Ring(
                name="carried",
                kind=RingKind.SMEM,
                size=1,
                writers=(0,),
                readers=((Read(op=1, distance=1),),),
                max_depth=3,
            ),
        ),
        edges=(ModuloEdge(src=0, dst=1, latency=6, distance=1),),
    )
    result = solve_modulo(carried)
    from warploom.modulo import check_schedule

    times = list(result.times)
    times[0] -= min(times[0], 0)
    late = [t + result.ii * (v == 1) * 3 for v, t in enumerate(times)]
    report = check_schedule(carried, result.ii, late, result.depths)
    assert any("carried" in e for e in report.errors)


def test_a_lag_change_needs_new_copies():
    body, result = solved(max_depth=3)
    from warploom.modulo import check_schedule

    load = next(v for v, op in enumerate(body.ops) if op.name.startswith("LOAD"))
    times = [t + result.ii for t in result.times]
    times[load] -= result.ii
    report = check_schedule(body.problem, result.ii, times, result.depths)
    assert any("ring" in e for e in report.errors)


def test_merging_two_buffers_is_a_race():
    body, result = solved(max_depth=2)
    done = judged(modulo_phases(body, result))

    def merged(entry):
        touches_lds = entry.op.name.startswith(("LOAD", "MMA_LOAD"))
        return replace(entry, op=replace(entry.op, stage=0)) if touches_lds else entry

    broken = replace(
        done,
        prologue=tuple(merged(e) for e in done.prologue),
        kernel=tuple(merged(e) for e in done.kernel),
        epilogue=tuple(merged(e) for e in done.epilogue),
    )
    assert verify(broken).verdict == "race"


@pytest.mark.parametrize(
    ("schedule", "ii", "costs"),
    [
        (DeclarativeSchedule(False, 8, 4), 220, "seed"),
        (Pipeline4Wave(KernelGeometry.four_wave((256, 256, 64))), 4384, "mi355x"),
        (SingleBufferSchedule(2, AMDScheduleHints(2, 2, 2, 16, 16, 4, 4)), 220, "seed"),
    ],
)
def test_shipped_schedules_compile_with_the_modulo_strategy(schedule, ii, costs):
    compiled = compile_schedule(schedule, modulo=ModuloRequest(smem_budget=8))
    assert (compiled.modulo.ii, compiled.modulo.proven) == (ii, True)
    assert compiled.ordered_in == costs
    assert compiled.report.verdict == "clean"
    assert compiled.document().strategy == "MODULO"
    assert compiled.reasons


@pytest.mark.slow
@pytest.mark.parametrize(
    "schedule",
    [
        DeclarativeSchedule(
            False, 8, 4, config=ScheduleConfig(scheduling=SchedulingStrategy.MODULO)
        ),
        Pipeline4Wave(KernelGeometry.four_wave((256, 256, 64))),
    ],
)
def test_double_buffered_kernels_reach_the_mma_bound(schedule):
    seed = OccupancyModel()
    for request in (
        ModuloRequest(occupancies=seed),
        ModuloRequest(lds=Lds.RING, smem_budget=12, occupancies=seed),
    ):
        compiled = compile_schedule(schedule, modulo=request)
        assert compiled.modulo.ii == (128 if request.smem_budget is None else 147)
        assert compiled.report.verdict == "clean"


def test_bodies_that_are_no_whole_partitions_are_refused():
    ops = matmul_ops(1, 1, 2)
    with pytest.raises(ProgramError, match="partition"):
        body_problem(ops[:-1])
    with pytest.raises(ProgramError, match="nothing writes"):
        body_problem([op for op in ops if op.name != "LOAD_A"])
    with pytest.raises(CostModelError, match="role"):
        body_problem([OpDesc.logical(3)])


def test_a_register_budget_reaches_the_problem():
    body = body_problem(matmul_ops(2, 2, 1), register_budget=64)
    assert body.problem.roles[0].static_registers == 16
    assert solve_modulo(body.problem, II_ONLY).proven
