"""One function per golden family: inputs -> outputs, through warploom's API."""

from __future__ import annotations

import forms
from part_families import (
    block_expand,
    cross_stage,
    derived_counts,
    edge_rules,
    graph,
    misc,
    plain,
    program_from_order,
    recipes,
    transforms,
)

from warploom.pipeline.amd_target import cost as mi355x
from warploom.pipeline.amd_target.geometry import KernelGeometry
from warploom.pipeline.compile import build_kernel_program, compile_schedule
from warploom.pipeline.config.target import TargetProfile
from warploom.pipeline.cost_model import annotate_ops
from warploom.pipeline.graph_builder.edges import (
    derive_cross_stage_rotation_edges,
    derive_edges_from_ops,
    filter_spurious_cross_stage_flow,
)
from warploom.pipeline.graph_builder.loop_body import LoopBody
from warploom.pipeline.listing import WaitCounts
from warploom.pipeline.phase_derivation import program as phase_program
from warploom.pipeline.schedule import PipelineSchedule
from warploom.pipeline.schedules.fourwave import Pipeline4Wave
from warploom.pipeline.schedules.pingpong import DeclarativeSchedule
from warploom.pipeline.schedules.single_buffer import (
    SingleBufferSchedule,
    build_default_matmul_schedule,
)
from warploom.pipeline.scheduling.greedy import single_buffer_reorder
from warploom.pipeline.sync.marks import SyncPolicy
from warploom.pipeline.sync.rules import derive_drain_mask, derive_waits_from_blocks


def compiled(schedule):
    """Compile as the reference does: its own sync rules, no judgement by the hazard model."""
    return compile_schedule(schedule, sync=SyncPolicy.REFERENCE, on_race="skip")


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
    return {
        "program": forms.program(program),
        "derived_waits": list(derive_waits_from_blocks(program, result.config, *fallback)),
        "derived_drain_mask": derive_drain_mask(program, result.config),
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
