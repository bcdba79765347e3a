"""Derived waits, counts and releases of warp-specialised schedules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.mbarrier.gemm_kernel import Dtype, GemmKernel
from tests.mbarrier.gemm_plan import gemm_plan, gemm_problem, roles_of
from warploom.errors import CostModelError, GeometryError, SchedulingError
from warploom.ir.mbarrier_dialect import Arrive, Commit, Expect, Load, Mma, WaitFull, WaitGroup
from warploom.sync.mbarrier import Release, derive_roles
from warploom.targets.h200 import h100, h200
from warploom.verify.roles import verify_roles

from .samples import gemm_document, placed


def kinds(entries):
    return [type(e).__name__ for e in entries]


def test_a_slot_is_released_one_iteration_late_with_one_group_in_flight():
    consumer = gemm_document().program("consumer")
    assert kinds(consumer.kernel) == [
        "WaitFull",
        "MmaFence",
        "Mma",
        "Commit",
        "WaitGroup",
        "Arrive",
    ]
    assert consumer.kernel[4].pending == 1
    assert consumer.kernel[5].k == -1
    assert consumer.peel == 1
    assert [e.accumulate for e in consumer.prologue if isinstance(e, Mma)] == [False]
    assert [e.pending for e in consumer.epilogue if isinstance(e, WaitGroup)] == [0]


def test_release_in_the_same_iteration_drains_the_group():
    consumer = gemm_document(GemmKernel(release=Release.SAME_ITERATION)).program("consumer")
    assert consumer.kernel[4].pending == 0
    assert consumer.kernel[5].k == 0
    assert consumer.peel == 1, "the first product of a tile starts afresh"
    assert not any(isinstance(e, Arrive | WaitGroup) for e in consumer.epilogue)


def test_longer_products_leave_more_groups_in_flight():
    kernel = GemmKernel(tile_n=128, stages=6)
    problem = gemm_problem(kernel, h200())
    slow = replace(problem.rings[0].readers[0][0], hold=2 * problem.ops[1].occupancy + 62)
    problem = replace(problem, rings=(replace(problem.rings[0], readers=((slow,),)),))
    document = roles_of(placed(problem), kernel)
    consumer = document.program("consumer")
    assert [e.pending for e in consumer.kernel if isinstance(e, WaitGroup)] == [2]
    assert [e.k for e in consumer.kernel if isinstance(e, Arrive)] == [-2]
    assert consumer.peel == 2
    assert verify_roles(document).clean


@pytest.mark.parametrize(
    ("kernel", "empty", "expected"),
    [
        (GemmKernel(), 8, 49152),
        (GemmKernel(tile_m=256, tile_n=192), 8, 57344),
        (GemmKernel(cluster=(2, 1)), 16, 49152),
        (GemmKernel(cluster=(1, 2)), 16, 49152),
        (GemmKernel(tile_m=64, tile_n=128, consumers=1), 4, 24576),
        (GemmKernel(tile_m=192, tile_n=192, consumers=3), 12, 49152),
    ],
    ids=lambda v: getattr(v, "name", v),
)
def test_arrival_and_byte_counts(kernel, empty, expected):
    document = gemm_document(kernel)
    assert document.rings[0].full_arrivals == 1
    assert document.rings[0].empty_arrivals == empty
    producer = document.program("producer")
    assert [e.bytes for e in producer.kernel if isinstance(e, Expect)] == [expected]
    landed = sum(e.bytes * e.multicast for e in producer.kernel if isinstance(e, Load))
    assert landed == expected


def test_the_derived_group_count_is_the_weakest_that_is_clean():
    document = gemm_document()
    consumer = document.program("consumer")
    for phase in ("kernel", "epilogue"):
        weaker = tuple(
            replace(e, pending=e.pending + 1) if isinstance(e, WaitGroup) else e
            for e in getattr(consumer, phase)
        )
        mutant = replace(consumer, **{phase: weaker})
        programs = tuple(mutant if p.name == "consumer" else p for p in document.programs)
        assert not verify_roles(replace(document, programs=programs)).clean


def test_every_wait_says_why():
    for program in gemm_document().programs:
        for _, entries in program.phases():
            assert all(e.reason for e in entries if isinstance(e, WaitFull | WaitGroup | Commit))


def test_an_op_without_meaning_is_refused():
    kernel = GemmKernel()
    plan = gemm_plan(kernel, h200())
    plan = replace(plan, actions={"load": plan.actions["load"]})
    with pytest.raises(SchedulingError, match="'mma'"):
        derive_roles(placed(gemm_problem(kernel, h200())), plan)


def test_fewer_stages_than_the_interval_needs_are_refused():
    kernel = GemmKernel()
    plan = gemm_plan(kernel, h200())
    plan = replace(plan, rings=(replace(plan.rings[0], depth=1),))
    with pytest.raises(SchedulingError, match="cannot keep the interval"):
        derive_roles(placed(gemm_problem(kernel, h200())), plan)


@pytest.mark.parametrize(
    "fields",
    [
        {"tile_m": 100},
        {"tile_n": 260},
        {"tile_n": 100},
        {"tile_m": 256, "tile_n": 256},
        {"stages": 9},
        {"consumers": 4},
        {"cluster": (2, 2)},
        {"cluster": (2, 1), "tile_n": 200},
        {"out": Dtype.E4M3},
        {"dtype": Dtype.FP32},
    ],
    ids=str,
)
def test_impossible_kernels_are_refused_with_a_fix(fields):
    with pytest.raises(GeometryError) as error:
        GemmKernel(**fields)
    assert error.value.fix


def test_stages_follow_from_shared_memory():
    assert GemmKernel().stages_that_fit(h200()) == 4
    assert GemmKernel(tile_m=256, tile_n=192).stages_that_fit(h200()) == 3
    assert GemmKernel(tile_n=128).stages_that_fit(h200()) == 6
    assert GemmKernel().smem_bytes(4) == 230_464


def test_chunks_of_an_uneven_tile_overlap_and_cover():
    kernel = GemmKernel(tile_m=256, tile_n=200)
    columns = [c for block, c in kernel.chunks() if block == 0]
    assert columns == [0, 64, 128, 136]
    covered = {c + i for c in columns for i in range(64)}
    assert covered == set(range(200))


def test_hopper_costs():
    target = h200()
    assert [target.wgmma_interval(n) for n in (8, 32, 64, 128, 192, 256)] == [
        18,
        24,
        32,
        64,
        96,
        128,
    ]
    assert target.wgmma_interval(32, a_in_registers=True) == 16
    assert target.load_latency(1000) < target.load_latency(1000, from_dram=True)
    assert target.load_latency(64 * 1024) > target.load_latency(32 * 1024)
    assert target.register_split(2) == (24, 240)
    assert target.register_split(3) == (32, 160)
    assert target.register_split(1) is None
    assert h100().dram_bytes_per_s < target.dram_bytes_per_s
    with pytest.raises(CostModelError, match="n = 12"):
        target.wgmma_interval(12)
    with pytest.raises(CostModelError, match="clusters of 3"):
        target.limits.resident_clusters(3)
