"""Modules and functions that the documents name are found under those names, and take what they
document."""

import subprocess
import sys
from importlib import import_module

import pytest

import warploom as w
from warploom.pipeline.program_builder import (
    build_double_buffer_program,
    build_kernel_program,
    derive_drain_mask,
    derive_waits_from_blocks,
    verify_schedule,
)

NAMED = {
    "amd_target": "AMDScheduleHints KernelGeometry TargetProfile append_amd_hints mi355x_cost_model"
    " mi355x_double_buffer mi355x_single_buffer mi355x_single_buffer_target mi355x_target",
    "compiler": "PipelineSchedule ScheduleCompiler compile_schedule",
    "config": "BlockSizing FragOrder LoopCarriedSpec PipelineConfig ScheduleConfig"
    " SchedulingStrategy TargetProfile WarpStaggerRule",
    "dependency_graph": "LoopBody OpNode",
    "geometry": "KernelGeometry",
    "phase_derivation": "PhaseAction apply_edge_rules apply_phase_recipe partition_edges"
    " derive_cross_stage_rotation_edges derive_edges_from_ops derive_epilogue_from_program"
    " derive_prologue_from_program double_buffer_edge_rules filter_spurious_cross_stage_flow"
    " rotation_edges single_buffer_edge_rules single_buffer_epilogue_recipe"
    " single_buffer_prologue_recipe",
    "pipeline_dsl": "EntryBuilder Pipe PipelineBody ScheduleEntry pipe",
    "program": "MMABlockSpec PipelineProgram emit_minimal_barrier_block",
    "program_builder": "build_double_buffer_program build_kernel_program derive_drain_mask"
    " derive_safe_max_globals derive_wait_counts derive_waits_from_blocks double_buffer_reorder"
    " mma_block_interleave mma_block_interleave_list optimize_within_barriers partition_reorder"
    " single_buffer_reorder verify_schedule",
    "schedulers": "asap_lower_bound evaluate_makespan evaluate_schedule greedy_schedule"
    " optimal_schedule optimal_schedule_with_halves simple_greedy_schedule",
    "strategies": "BarrierStrategy LoadStrategy WaitStrategy",
    "types": "DepEdge DepKind EdgeRule KOffsetKind OpCost OpDesc OpRole Phase ResourceKind"
    " ScheduleEntry ScheduleOps TargetCostModel annotate_ops",
}


@pytest.mark.parametrize("module", NAMED)
def test_documented_modules_hold_what_the_package_exports(module):
    found = import_module(f"warploom.pipeline.{module}")
    names = NAMED[module].split()
    assert set(names) <= set(found.__all__)
    for name in found.__all__:
        made = getattr(found, name)
        assert made.__doc__
        assert getattr(w, name, made) is made


def test_each_documented_module_can_be_imported_first():
    """No order of imports is needed: each alone in a fresh interpreter."""
    code = (
        "import sys\n"
        "for name in sys.argv[1:]:\n"
        "    kept = [m for m in sys.modules if m.startswith('warploom')]\n"
        "    for m in kept: del sys.modules[m]\n"
        "    __import__('warploom.pipeline.' + name)\n"
    )
    subprocess.run([sys.executable, "-c", code, *NAMED], check=True)


PINGPONG = w.DeclarativeSchedule(lgkm_a=8, lgkm_b=4)


def test_programs_are_built_from_orders_as_documented():
    body, config, sched = PINGPONG.build_body(), PINGPONG.config(), PINGPONG.schedule_config()
    edges = PINGPONG.derive_edges(body)
    graph = w.LoopBody.of(body, edges)
    program = build_kernel_program(body, config, sched, edges)
    order = w.optimal_schedule_with_halves(graph, config.block_sizing.max_globals).order
    assert build_double_buffer_program(graph, order, config, sched) == program
    verify_schedule(program, config, 8, 4, 8, 4)
    verify_schedule(program.blocks, config)
    with pytest.raises(w.StructureError, match="outstanding"):
        verify_schedule(program, config, 8, 4, wait_lgkm_first=200)
    assert derive_waits_from_blocks(program, config, 8, 4) == (8, 12)
    assert derive_waits_from_blocks(program.blocks, config, 8, 4) == (8, 12)
    assert 0 <= derive_drain_mask(program, config) < 1 << config.total_blocks()


def test_prologue_and_epilogue_follow_from_a_program_as_documented():
    phases = import_module("warploom.pipeline.phase_derivation")
    schedule = w.Pipeline4Wave(w.KernelGeometry.four_wave((256, 256, 64)))
    made = w.compile_schedule(schedule, sync=w.SyncPolicy.REFERENCE, on_race="skip")
    prologue = phases.derive_prologue_from_program(
        made.program, made.config, schedule.schedule_config(), schedule.bootstrap_frags()
    )
    assert prologue == list(made.prologue)
    assert phases.derive_epilogue_from_program(made.program, made.config) == list(made.epilogue)
    whole = phases.derive_prologue_from_program(made.program, made.config)
    assert len(whole) == 8 + 3  # two drains and a barrier, nothing in flight
