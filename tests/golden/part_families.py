"""Golden families of the compiler's parts: graphs, edge rules, transforms, blocks."""

from __future__ import annotations

import forms

from warploom.ir.schedule_ops import OpDesc, Phase
from warploom.pipeline.amd_target import cost as mi355x
from warploom.pipeline.amd_target.geometry import derive_safe_max_globals
from warploom.pipeline.block_expand.group import build_blocks
from warploom.pipeline.block_expand.program import PipelineProgram
from warploom.pipeline.block_expand.spec import emit_minimal_barrier_block
from warploom.pipeline.body import EntryBuilder, Pipe
from warploom.pipeline.config.schedule import (
    BarrierStrategy,
    LoadStrategy,
    ScheduleConfig,
    SchedulePolicy,
    WaitStrategy,
)
from warploom.pipeline.graph_builder.edges import (
    apply_edge_rules,
    derive_cross_stage_rotation_edges,
    derive_edges_from_ops,
    double_buffer_edge_rules,
    filter_spurious_cross_stage_flow,
    single_buffer_edge_rules,
)
from warploom.pipeline.graph_builder.loop_body import LoopBody
from warploom.pipeline.phase_derivation import program as phase_program
from warploom.pipeline.schedules.fourwave import Pipeline4Wave
from warploom.pipeline.scheduling.csp import (
    optimal_schedule,
    optimal_schedule_with_halves,
    optimize_within_barriers,
)
from warploom.pipeline.scheduling.greedy import (
    double_buffer_reorder,
    greedy_schedule,
    mma_block_interleave,
    mma_block_interleave_list,
    simple_greedy_schedule,
    single_buffer_reorder,
)
from warploom.pipeline.scheduling.result import asap_lower_bound, evaluate_schedule
from warploom.pipeline.sync.rules import (
    derive_drain_mask,
    derive_waits_from_blocks,
    guard_blocks,
    main_wait_vm,
)

plain = forms.plain


def derived_counts(config):
    return {
        name: getattr(config, name)()
        for name in (
            "mmas_per_partition",
            "globals_per_partition",
            "frags_per_partition",
            "ops_per_partition",
            "total_ops",
            "blocks_per_partition",
            "total_blocks",
            "total_edges",
        )
    }


def _order(body, order, penalty):
    with_penalty = evaluate_schedule(body, order, penalty).makespan
    metrics = evaluate_schedule(body, order)
    return {
        "order": list(order),
        "makespan": metrics.makespan,
        "vgpr_peak": metrics.vgpr_peak,
        "makespan_with_penalty": with_penalty,
    }


def graph(i, wanted):
    body = LoopBody.of(forms.ops(i["ops"]), forms.edges(i["edges"]))
    penalty, budget = i["lds_contention_penalty"], i["max_vgpr"]
    asap = body.compute_asap() if "asap" in wanted else ()
    makers = {
        "asap": lambda: list(asap),
        "alap": lambda: list(body.compute_alap(i.get("alap_makespan", 0))),
        "critical_path": lambda: max(
            (t + n.latency for t, n in zip(asap, body.ops, strict=True)), default=0
        ),
        "lower_bound": lambda: asap_lower_bound(body),
        "lower_bound_with_penalty": lambda: asap_lower_bound(body, penalty),
        "simple_greedy_schedule": lambda: _order(body, simple_greedy_schedule(body), penalty),
        "greedy_schedule": lambda: _order(body, greedy_schedule(body), penalty),
        "optimal_schedule": lambda: _order(body, optimal_schedule(body, budget).order, penalty),
        "optimal_schedule_with_halves": lambda: _order(
            body,
            optimal_schedule_with_halves(body, i["max_globals_per_block"], penalty, budget).order,
            penalty,
        ),
        "evaluate": lambda: forms.strategy(evaluate_schedule(body, i["order"], penalty)),
    }
    return {name: makers[name]() for name in wanted}


def edge_rules(i):
    config, body = forms.pipeline_config(i["pipeline_config"]), forms.ops(i["ops"])
    rules = [forms.edge_rule(r) for r in i["rules"]]
    return {
        "apply_edge_rules": plain(apply_edge_rules(body, config, rules)),
        "derive_edges_from_ops": plain(derive_edges_from_ops(body, config)),
    }


def cross_stage(i):
    body = forms.ops(i["ops"])
    return {
        "derive_cross_stage_rotation_edges": plain(derive_cross_stage_rotation_edges(body)),
        "filter_spurious_cross_stage_flow": plain(
            filter_spurious_cross_stage_flow(forms.edges(i["raw_edges"]), body)
        ),
    }


def transforms(i, wanted):
    config, body = forms.pipeline_config(i["pipeline_config"]), forms.ops(i["ops"])
    makers = {
        "mma_block_interleave_list": lambda: mma_block_interleave_list(body, config),
        "mma_block_interleave_pipe": lambda: mma_block_interleave(Pipe(tuple(body)), config).ops,
        "double_buffer_reorder": lambda: double_buffer_reorder(body, config),
        "single_buffer_reorder": lambda: single_buffer_reorder(body, config),
        "optimize_within_barriers": lambda: optimize_within_barriers(body, config),
        "edges": lambda: derive_edges_from_ops(body, config),
    }
    return {name: plain(makers[name]()) for name in wanted}


def recipes(i):
    config, body = forms.pipeline_config(i["pipeline_config"]), forms.ops(i["ops"])
    return {
        "default_prologue": plain(phase_program.default_prologue(body, config)),
        "default_kernel": plain(phase_program.default_kernel(body)),
        "default_epilogue": plain(phase_program.default_epilogue(body, config)),
        "default_warp_stagger_double_buffer": phase_program.default_warp_stagger_double_buffer(
            body
        ),
    }


def program_from_order(i):
    config, body = forms.pipeline_config(i["pipeline_config"]), forms.ops(i["ops"])
    sched = forms.schedule_config(i["schedule_config"])
    policy = SchedulePolicy(sched)
    blocks = build_blocks(body, i["order"], config)
    program = PipelineProgram.of(guard_blocks(blocks, body, config, policy))
    kernel = program.expand_to_list(Phase.KERNEL)
    return {
        "program": forms.program(program),
        "main_wait_vm": main_wait_vm(body, config),
        "derive_waits_from_blocks": list(
            derive_waits_from_blocks(program, config, *policy.lgkm_fallback)
        ),
        "derive_drain_mask": derive_drain_mask(program, config),
        "prologue": plain(
            phase_program.derive_prologue_from_program(
                program,
                config,
                sched,
                forms.ops(i["bootstrap"]),
            )
        ),
        "kernel": plain(kernel),
        "epilogue": plain(phase_program.derive_epilogue_from_program(program, config)),
        "kernel_deps": plain(phase_program.default_kernel_deps_double_buffer(kernel, config)),
    }


def block_expand(i):
    block = forms.block(i["block"])
    out = EntryBuilder(Phase.KERNEL)
    block.expand(out)
    listed = PipelineProgram.of([block]).expand_to_list(Phase.KERNEL)
    return {
        "expand_to_list": plain(listed),
        "expand_equals_expand_to_list": listed == out.entries,
        "entry_count": block.entry_count(),
        "mma_position": block.mma_position(),
        "post_barrier_lgkm_position": block.post_barrier_lgkm_position(),
        "n_ops_before_barrier_section": block.n_ops_before_barrier_section(),
        "emit_minimal_barrier_block": {
            f"wrap{int(w)}_gbf{int(g)}": plain(emit_minimal_barrier_block(block, w, g))
            for w in (False, True)
            for g in (False, True)
        },
    }


def misc(i, wanted):
    if "num_k_mmas" in i:
        return {"derive_safe_max_globals": derive_safe_max_globals(i["num_k_mmas"])}
    if "pipeline_config" in i:
        return {"derived_counts": derived_counts(forms.pipeline_config(i["pipeline_config"]))}
    makers = {
        "ScheduleConfig()": ScheduleConfig,
        "ScheduleConfig.from_strategies()": ScheduleConfig.from_strategies,
        "Pipeline4Wave._default_schedule_config()": Pipeline4Wave._default_schedule_config,
        "mi355x_double_buffer()": mi355x.mi355x_double_buffer,
        "mi355x_double_buffer(2,8,0)": lambda: mi355x.mi355x_double_buffer(2, 8, 0),
        "mi355x_single_buffer()": mi355x.mi355x_single_buffer,
        "mi355x_target().pipeline": lambda: mi355x.mi355x_target().pipeline,
        "double_buffer_edge_rules()": double_buffer_edge_rules,
        "single_buffer_edge_rules()": single_buffer_edge_rules,
        "OpDesc.barrier()": OpDesc.barrier,
        "OpDesc.wait_vm_n(7)": lambda: OpDesc.wait_vm_n(7),
        "OpDesc.wait_lgkm_n(3)": lambda: OpDesc.wait_lgkm_n(3),
        "OpDesc.set_prio[1]()": lambda: OpDesc.set_prio(1),
        "OpDesc.schedule_barrier()": OpDesc.schedule_barrier,
        "OpDesc.sched_group_barrier[5,9]()": lambda: OpDesc.sched_group_barrier(5, 9),
        "BarrierStrategy.default()": BarrierStrategy.default,
        "BarrierStrategy.minimal_no_set_prio()": BarrierStrategy.minimal_no_set_prio,
        "BarrierStrategy.minimal_no_set_prio(255,True,True)": lambda: (
            BarrierStrategy.minimal_no_set_prio(255, True, True)
        ),
        "WaitStrategy.default()": WaitStrategy.default,
        "WaitStrategy.auto_with_inter_block_drain()": WaitStrategy.auto_with_inter_block_drain,
        "WaitStrategy.auto_with_inter_block_drain(True)": lambda: (
            WaitStrategy.auto_with_inter_block_drain(True)
        ),
        "LoadStrategy.default()": LoadStrategy.default,
    }
    out = {}
    for name in wanted:
        if name.endswith("cost_model()"):
            out[name] = forms.cost_rows(getattr(mi355x, name[:-2])(), range(8))
        elif name == "OpDesc.none()":
            none = OpDesc.none()
            out[name] = [plain(getattr(none, f)) for f in forms.OP_FIELDS]
        elif "Strategy." in name:
            out[name] = forms.strategy(makers[name]())
        else:
            out[name] = plain(makers[name]())
    return out
