"""One function per golden family: inputs -> outputs, through warploom's API."""

from __future__ import annotations

import forms

from warploom.document.ops import OpDesc, Phase
from warploom.seed.blocks.group import build_blocks
from warploom.seed.blocks.program import PipelineProgram
from warploom.seed.blocks.spec import emit_minimal_barrier_block
from warploom.seed.body import EntryBuilder, Pipe
from warploom.seed.compile import build_kernel_program, compile_schedule
from warploom.seed.config.schedule import (
    BarrierStrategy,
    LoadStrategy,
    ScheduleConfig,
    SchedulePolicy,
    WaitStrategy,
)
from warploom.seed.graph.edges import (
    apply_edge_rules,
    derive_cross_stage_rotation_edges,
    derive_edges_from_ops,
    double_buffer_edge_rules,
    filter_spurious_cross_stage_flow,
    single_buffer_edge_rules,
)
from warploom.seed.graph.loop_body import LoopBody
from warploom.seed.listing import WaitCounts
from warploom.seed.phases import program as phase_program
from warploom.seed.sched.csp import (
    optimal_schedule,
    optimal_schedule_with_halves,
    optimize_within_barriers,
)
from warploom.seed.sched.greedy import (
    double_buffer_reorder,
    greedy_schedule,
    mma_block_interleave,
    mma_block_interleave_list,
    simple_greedy_schedule,
    single_buffer_reorder,
)
from warploom.seed.sched.result import asap_lower_bound, evaluate_schedule
from warploom.seed.schedule import PipelineSchedule
from warploom.seed.schedules.fourwave import Pipeline4Wave
from warploom.seed.schedules.pingpong import DeclarativeSchedule
from warploom.seed.schedules.single_buffer import (
    SingleBufferSchedule,
    build_default_matmul_schedule,
)
from warploom.seed.sync.marks import SyncPolicy
from warploom.seed.sync.rules import (
    derive_drain_mask,
    derive_waits_from_blocks,
    guard_blocks,
    main_wait_vm,
)
from warploom.seed.target import cost as mi355x
from warploom.seed.target.cost import TargetProfile, annotate_ops
from warploom.seed.target.geometry import KernelGeometry, derive_safe_max_globals

plain = forms.plain


def compiled(schedule):
    """Compile as the reference does: its own sync rules, no judgement by the hazard model."""
    return compile_schedule(schedule, sync=SyncPolicy.REFERENCE, on_race="skip")


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


def common(result, lgkm=(0, 0)):
    out = {
        "config": plain(result.config),
        "derived_counts": derived_counts(result.config),
        "body": plain(result.body),
        "edges": plain(result.edges),
        "prologue": plain(result.prologue),
        "kernel": plain(result.kernel),
        "epilogue": plain(result.epilogue),
        "kernel_deps": plain(result.kernel_deps),
        "warp_stagger_index": result.warp_stagger_index,
        "lgkm_per_load_a": lgkm[0],
        "lgkm_per_load_b": lgkm[1],
        "wait_counts": {
            phase: forms.strategy(WaitCounts.of(getattr(result, phase)))
            for phase in ("prologue", "kernel", "epilogue")
        },
    }
    if result.program is not None:
        out["program"] = forms.program(result.program)
    return out


def derived(result, schedule):
    sched = schedule.schedule_config()
    fallback = (sched.lgkm_per_load_a, sched.lgkm_per_load_b)
    program = result.program or build_kernel_program(
        result.body, result.config, sched, result.edges
    )
    blocks = program.blocks
    return {
        "program": forms.program(program),
        "derived_waits": list(derive_waits_from_blocks(blocks, result.config, fallback)),
        "derived_drain_mask": derive_drain_mask(blocks),
    }


def pingpong_schedule(i):
    target = TargetProfile(
        forms.cost_model(i["cost_model"]), forms.pipeline_config(i["pipeline_config"])
    )
    config = None if i["use_default_config"] else forms.schedule_config(i["schedule_config"])
    return DeclarativeSchedule(i["is_fp8"], i["lgkm_a"], i["lgkm_b"], config, target)


def pingpong(i):
    schedule = pingpong_schedule(i)
    result = compiled(schedule)
    return {
        "declare_ops": plain(schedule.declare_ops()),
        "annotated_ops": plain(annotate_ops(schedule.declare_ops(), schedule.target.cost_model)),
        **common(result, (i["lgkm_a"], i["lgkm_b"])),
        "effective_schedule_config": plain(schedule.schedule_config()),
        **derived(result, schedule),
        "stagger_double_buffer": phase_program.default_warp_stagger_double_buffer(result.body),
    }


def fourwave_schedule(i):
    target = TargetProfile(
        forms.cost_model(i["cost_model"]), forms.pipeline_config(i["pipeline_config"])
    )
    geometry = KernelGeometry(**i["geometry"])
    config = None if i["use_default_config"] else forms.schedule_config(i["schedule_config"])
    return Pipeline4Wave(geometry, config, target)


def fourwave(i):
    schedule = fourwave_schedule(i)
    geometry = schedule.geometry
    result = compiled(schedule)
    body = result.body
    default = derive_edges_from_ops(body, schedule.config())
    return {
        "declare_ops": plain(schedule.declare_ops()),
        **common(result, (geometry.lgkm_per_load_a, geometry.lgkm_per_load_b)),
        "effective_schedule_config": plain(schedule.schedule_config()),
        "default_rule_edges": plain(default),
        "filtered_edges": plain(filter_spurious_cross_stage_flow(default, body)),
        "cross_stage_edges": plain(derive_cross_stage_rotation_edges(body)),
        "bootstrap_frags": plain(schedule.bootstrap_frags()),
        **derived(result, schedule),
    }


def single_buffer_schedule(i):
    if "via" in i:
        tiles, *shape = (v for k, v in i.items() if k != "via")
        return SingleBufferSchedule(tiles, mi355x.AMDScheduleHints(*shape))
    target = TargetProfile(
        forms.cost_model(i["cost_model"]), forms.pipeline_config(i["pipeline_config"])
    )
    return SingleBufferSchedule(i["num_k_tiles"], mi355x.AMDScheduleHints(**i["hints"]), target)


def single_buffer(i):
    if "via" in i:
        return common(build_default_matmul_schedule(*(v for k, v in i.items() if k != "via")))
    schedule = single_buffer_schedule(i)
    annotated = annotate_ops(schedule.declare_ops(), schedule.target.cost_model)
    return {
        "declare_ops": plain(schedule.declare_ops()),
        "annotated_ops": plain(annotated),
        "reordered_ops": plain(single_buffer_reorder(annotated, schedule.config())),
        **common(compiled(schedule)),
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
            derive_waits_from_blocks(program.blocks, config, policy.lgkm_fallback)
        ),
        "derive_drain_mask": derive_drain_mask(program.blocks),
        "prologue": plain(
            phase_program.derive_prologue_from_program(
                program,
                config,
                partial_drain=policy.flags.partial_prologue_drain,
                bootstrap=forms.ops(i["bootstrap"]),
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


class Given(PipelineSchedule):
    """A schedule whose every part is given."""

    def __init__(self, i):
        self._body = forms.ops(i["body"] if "body" in i else i["ops"])
        explicit = i["explicit_edges"] if "explicit_edges" in i else i.get("edges")
        self._edges = None if explicit is None else forms.edges(explicit)
        self._config = forms.pipeline_config(i["pipeline_config"])
        self._sched = forms.schedule_config(i["schedule_config"])
        self._bootstrap = forms.ops(i["bootstrap"])

    def config(self):
        return self._config

    def build_body(self):
        return self._body

    def derive_edges(self, body):
        return super().derive_edges(body) if not self._edges else self._edges

    def schedule_config(self):
        return self._sched

    def bootstrap_frags(self):
        return self._bootstrap


def generic_compile(i):
    return common(compiled(Given(i)))


def verify_failures(i):
    return generic_compile(i) if "body" in i else pingpong(i)


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


WITH_WANTED = {
    "sched_bodies": graph,
    "graphs": graph,
    "halves_graphs": graph,
    "interleave": transforms,
    "reorder": transforms,
    "misc": misc,
}
BY_INPUT = {
    "pingpong": pingpong,
    "fourwave": fourwave,
    "single_buffer": single_buffer,
    "edge_rules": edge_rules,
    "cross_stage": cross_stage,
    "recipes": recipes,
    "program_from_order": program_from_order,
    "block_expand": block_expand,
    "generic_compile": generic_compile,
    "verify_failures": verify_failures,
}


def run(family, inputs, wanted):
    """The outputs of one case."""
    if family in WITH_WANTED:
        return WITH_WANTED[family](inputs, wanted)
    return BY_INPUT[family](inputs)


def schedule_of(family, inputs):
    """The schedule a recorded compilation is of, or None."""
    if family == "fourwave":
        return fourwave_schedule(inputs)
    if family == "single_buffer":
        return single_buffer_schedule(inputs)
    if "is_fp8" in inputs:
        return pingpong_schedule(inputs)
    if family in ("generic_compile", "verify_failures"):
        return Given(inputs)
    return None


def passes_verification(family, inputs, wanted):
    """Whether what warploom gives for inputs the reference rejects is sound; may raise."""
    schedule = schedule_of(family, inputs)
    if schedule is not None:
        return compile_schedule(schedule).report.verdict == "clean"
    if family in ("interleave", "reorder"):
        return True  # a transform that returns has lost no op
    if "edges" not in inputs or "functions_called" not in inputs:
        return False
    body = LoopBody.of(forms.ops(inputs["ops"]), forms.edges(inputs["edges"]))
    orders = [n for n in wanted if n.endswith(("schedule", "halves"))]
    for made in graph(inputs, orders).values():
        at = {i: p for p, i in enumerate(made["order"])}
        if sorted(at) != list(range(len(body))):
            return False
        if any(
            e.loop_distance == 0 and at[e.producer_idx] > at[e.consumer_idx] for e in body.edges
        ):
            return False
    return True
