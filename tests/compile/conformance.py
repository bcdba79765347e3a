"""Every documented item of the five interface documents: where it is and which test shows it.

``python tests/compile/conformance.py`` writes ``docs/reference/conformance.md``.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "conformance.md"
GOLDEN = "golden/test_replay::test_family_equals_the_reference"
DOC = "compile/test_documented::"
SYNC = "compile/test_stated_sync::"
UNIT = "compile/test_units::"
FEAS = "compile/test_feasible::"
VALUES = "errors/test_values::"
SAME, BETTER, DEVIATION = "same", "better", "deviation"


@dataclass(frozen=True, kw_only=True)
class Item:
    """One documented promise."""

    text: str
    where: str
    test: str
    verdict: str = SAME
    note: str = ""


def same(text: str, where: str, test: str) -> Item:
    return Item(text=text, where=where, test=test)


def better(text: str, where: str, test: str, note: str) -> Item:
    return Item(text=text, where=where, test=test, verdict=BETTER, note=note)


def deviation(text: str, where: str, test: str, note: str) -> Item:
    return Item(text=text, where=where, test=test, verdict=DEVIATION, note=note)


DS = "DeclarativeSchedule"
DECLARATIVE = [
    same("parameters is_fp8, lgkm_a, lgkm_b", DS, DOC + "test_declarative_forms"),
    same("implements PipelineSchedule", DS, DOC + "test_declarative_defaults"),
    same(
        "ops carry tag and buffer metadata only",
        DS + ".declare_ops",
        DOC + "test_declared_ops_are_logical",
    ),
    same(
        "a TargetProfile gives costs and structure",
        "TargetProfile",
        DOC + "test_declarative_defaults",
    ),
    same("one factory call gives everything", "mi355x_target", GOLDEN),
    better(
        "annotate_ops prices logical ops",
        "annotate_ops",
        GOLDEN,
        "an op without a price is an error, it does not vanish",
    ),
    better(
        "double_buffer_reorder interleaves by MMA block",
        "double_buffer_reorder",
        GOLDEN,
        "no op is dropped",
    ),
    better(
        "optimal_schedule_with_halves orders by CSP",
        "optimal_schedule_with_halves",
        GOLDEN,
        "answers where the reference does not finish, and proves what it says",
    ),
    same(
        "derive_wait_counts derives waits from the order",
        "derive_wait_counts",
        DOC + "test_wait_counts_follow_from_the_order",
    ),
    same(
        "build_schedule(is_fp8, lgkm_a, lgkm_b)",
        "build_schedule",
        DOC + "test_lgkm_counts_come_from_the_parameters",
    ),
    same("__init__(config, target)", DS, DOC + "test_declarative_forms"),
    same(
        "default config: CSP, 85, True, 0, False, 0, 8, 6, 0, 0, False",
        DS,
        DOC + "test_declarative_defaults",
    ),
    same("default target: mi355x_target(4, 4, 1)", DS, DOC + "test_declarative_defaults"),
    same("__init__(config, hw_config, cost_model)", DS, DOC + "test_declarative_forms"),
    same("config()", DS + ".config", GOLDEN),
    same("declare_ops(): 24 ops, 12 a half", DS + ".declare_ops", GOLDEN),
    same(
        "declare_ops(): no resource, latency or role",
        DS + ".declare_ops",
        DOC + "test_declared_ops_are_logical",
    ),
    same(
        "build_body(): annotate, then reorder",
        DS + ".build_body",
        DOC + "test_body_is_annotated_and_reordered",
    ),
    same(
        "schedule_config(): lgkm counts from the parameters",
        DS + ".schedule_config",
        DOC + "test_lgkm_counts_come_from_the_parameters",
    ),
]

PS = "PipelineSchedule"
PIPELINE_SCHEDULE = [
    same("two required methods: config, build_body", PS, DOC + "test_two_methods_are_required"),
    same(
        "derive_edges: inferred from ops and config",
        PS + ".derive_edges",
        DOC + "test_two_methods_are_required",
    ),
    same(
        "schedule_config: ScheduleConfig()",
        PS + ".schedule_config",
        DOC + "test_two_methods_are_required",
    ),
    same(
        "transform_kernel: identity",
        PS + ".transform_kernel",
        DOC + "test_two_methods_are_required",
    ),
    same(
        "transform_kernel: post-processes entries",
        PS + ".transform_kernel",
        DOC + "test_single_buffer_kernel_is_transformed",
    ),
    same("bootstrap_frags: empty", PS + ".bootstrap_frags", DOC + "test_two_methods_are_required"),
    same(
        "build_explicit_blocks: empty",
        PS + ".build_explicit_blocks",
        DOC + "test_two_methods_are_required",
    ),
    better(
        "hooks return values of their documented types",
        PS,
        VALUES + "test_what_a_hook_returns_is_judged",
        "anything else is a typed error naming the hook",
    ),
    same(
        "the framework derives prologue, kernel, epilogue, kernel deps", "compile_schedule", GOLDEN
    ),
    same("depth < 2: default functions and transform_kernel", "compile_schedule", GOLDEN),
    same(
        "depth >= 2: phases from a PipelineProgram",
        "PipelineProgram",
        DOC + "test_phases_come_from_the_block_structure",
    ),
    same(
        "explicit blocks: one list per block",
        PS + ".build_explicit_blocks",
        "errors/test_user_mistakes::test_explicit_blocks_of_the_wrong_length",
    ),
    same(
        "explicit blocks: empty lists fall back to the template",
        PS + ".build_explicit_blocks",
        DOC + "test_explicit_blocks_are_verbatim_and_empty_ones_use_the_template",
    ),
    same(
        "explicit blocks: emitted verbatim by expand_to_list",
        "PipelineProgram.expand_to_list",
        DOC + "test_explicit_blocks_are_verbatim_and_empty_ones_use_the_template",
    ),
    better(
        "explicit waits and barriers stand under every policy",
        "SyncPolicy",
        SYNC + "test_explicit_waits_and_barriers_are_kept",
        "kept and proven; tightened only on request",
    ),
    same(
        "explicit blocks: called after blocks are populated",
        PS + ".build_explicit_blocks",
        DOC + "test_explicit_blocks_are_verbatim_and_empty_ones_use_the_template",
    ),
    same(
        "they bypass MMABlockSpec.expand",
        "MMABlockSpec.expand",
        DOC + "test_phases_come_from_the_block_structure",
    ),
    same(
        "bootstrap fragment: wait_vm(N), barrier, fragment",
        PS + ".bootstrap_frags",
        DOC + "test_bootstrap_fragments_follow_their_prefetch",
    ),
    same(
        "the i-th bootstrap fragment drains to the i-th prefetch",
        PS + ".bootstrap_frags",
        DOC + "test_bootstrap_fragments_follow_their_prefetch",
    ),
    same(
        "bootstrap only with partial_prologue_drain",
        PS + ".bootstrap_frags",
        DOC + "test_bootstrap_needs_a_partial_drain",
    ),
    better(
        "no more bootstrap fragments than prefetches",
        PS + ".bootstrap_frags",
        "errors/test_user_mistakes::test_more_bootstrap_fragments_than_prefetches",
        "refused",
    ),
]

FW = "Pipeline4Wave"
FOUR_WAVE = [
    same(
        "its parameter is a KernelGeometry",
        FW,
        UNIT + "test_four_wave_is_proven_in_the_units_of_its_geometry",
    ),
    same("24 ops in mini-iteration order", FW + ".declare_ops", GOLDEN),
    same(
        "IDENTITY keeps that order verbatim", FW, DOC + "test_four_wave_order_is_the_declared_one"
    ),
    same(
        "emission equals the hand-written body, waits aside",
        FW,
        DOC + "test_four_wave_order_is_the_declared_one",
    ),
    deviation(
        "waits derived by derive_waits_from_blocks",
        FW + ".sync_policy",
        "sync/test_compile_policy::test_fourwave_is_proven_by_default_and_the_reference_races",
        "the documented waits race, so proven ones are the default; SyncPolicy.REFERENCE has them",
    ),
    same(
        "lgkm_per_load_* read from the geometry",
        FW + ".config",
        UNIT + "test_four_wave_units_do_not_pass_through_the_schedule_config",
    ),
    better(
        "vm units of geometry and target",
        FW,
        UNIT + "test_a_target_with_other_units_is_refused",
        "must agree; the default target takes the geometry's",
    ),
    same(
        "__init__(config, target) and their defaults",
        FW,
        DOC + "test_four_wave_defaults_and_invariants",
    ),
    same(
        "invariants re-applied to the caller's config",
        FW,
        DOC + "test_four_wave_defaults_and_invariants",
    ),
    same("config()", FW + ".config", GOLDEN),
    same("declare_ops()", FW + ".declare_ops", GOLDEN),
    same(
        "build_body(): annotates and does not reorder",
        FW + ".build_body",
        DOC + "test_four_wave_order_is_the_declared_one",
    ),
    same("bootstrap_frags(): A and B of sub-tile 0", FW + ".bootstrap_frags", GOLDEN),
    same(
        "each bootstrap fragment follows its own prefetch",
        FW + ".bootstrap_frags",
        DOC + "test_bootstrap_fragments_follow_their_prefetch",
    ),
    same(
        "six prefetches stay in flight",
        FW + ".bootstrap_frags",
        DOC + "test_bootstrap_fragments_follow_their_prefetch",
    ),
    same(
        "derive_edges(): default, filtered, rotated",
        FW + ".derive_edges",
        DOC + "test_four_wave_edges_are_filtered_and_rotated",
    ),
    same("the filter is reusable", "filter_spurious_cross_stage_flow", GOLDEN),
    same("the rotation edges are reusable", "derive_cross_stage_rotation_edges", GOLDEN),
    same("schedule_config()", FW + ".schedule_config", GOLDEN),
    same(
        "build_explicit_blocks(): by emit_minimal_barrier_block",
        "emit_minimal_barrier_block",
        DOC + "test_four_wave_blocks_are_the_minimal_barrier_form",
    ),
    same("entry waits, fragments and loads, sync group, MMA", "emit_minimal_barrier_block", GOLDEN),
    same(
        "wait values and flags come from program.blocks",
        FW + ".build_explicit_blocks",
        DOC + "test_four_wave_blocks_are_the_minimal_barrier_form",
    ),
    same(
        "one inner list per block",
        FW + ".build_explicit_blocks",
        DOC + "test_four_wave_blocks_are_the_minimal_barrier_form",
    ),
]

PC = "PipelineConfig"
_FIELDS = DOC + "test_pipeline_config_fields"
_COUNTS = DOC + "test_pipeline_config_counts"
PIPELINE_CONFIG = [
    same("constructor: keywords only", PC, _FIELDS),
    same(
        "immutable value, freely copied",
        PC,
        "test_public_surface::test_schedule_config_is_frozen_and_flat",
    ),
    same("platform factories", "mi355x_double_buffer", GOLDEN),
    *(
        same(f"field {name}", PC, _FIELDS)
        for name in (
            "depth",
            "prefetch",
            "drain_passes",
            "prologue_fill",
            "loop_carried",
            "block_sizing",
            "frag_order",
            "m_mmas",
            "n_mmas",
            "num_partitions",
            "mma_serial",
            "mma_latency",
            "vm_per_load_a",
            "vm_per_load_b",
            "ch0_match_field",
            "ch1_match_field",
            "warp_stagger",
        )
    ),
    same("field lgkm_per_load_a = 0", PC, _FIELDS),
    same("field lgkm_per_load_b = 0", PC, _FIELDS),
    same("field cross_stage_rotation = False", PC, _FIELDS),
    better(
        "depth: 1 single, 2 double",
        "mi355x_target",
        FEAS + "test_a_ring_of_any_depth_is_built_and_proven",
        "3 to 8 build a deeper ring",
    ),
    deviation(
        "prefetch: DRAM-prefetch distance",
        PC,
        SYNC + "test_a_description_that_does_not_fit_is_named",
        "always one iteration, as in the reference; another value warns",
    ),
    deviation(
        "drain_passes: epilogue drain iterations",
        PC,
        SYNC + "test_a_description_that_does_not_fit_is_named",
        "follows from the partitions, as in the reference; another value warns",
    ),
    deviation(
        "prologue_fill: extra prologue iterations",
        PC,
        SYNC + "test_a_description_that_does_not_fit_is_named",
        "follows from the depth, as in the reference; another value warns",
    ),
    same(
        "loop_carried: ops that cross the loop boundary",
        "LoopCarriedSpec",
        DOC + "test_loop_carried_ops_cross_the_boundary",
    ),
    same("block_sizing: ops a block takes", "BlockSizing", GOLDEN),
    better(
        "block_sizing.max_globals: loads a block takes",
        "BlockSizing",
        FEAS + "test_a_wide_grid_with_a_cap",
        "kept exactly; refused only if no order keeps it",
    ),
    same(
        "frag_order: fragments within a block",
        "FragOrder",
        DOC + "test_fragment_order_and_block_sizing",
    ),
    same("m_mmas, n_mmas: the MMA grid", PC, _COUNTS),
    same("num_partitions: K-partitions", PC, _COUNTS),
    better(
        "mma_serial: whether the unit is serial",
        PC,
        FEAS + "test_overlapping_matrix_units_shorten_the_order",
        "the reference ignores it",
    ),
    deviation(
        "mma_latency: MMA cycles",
        PC,
        SYNC + "test_a_description_that_does_not_fit_is_named",
        "the cost model prices the op, as in the reference; another value warns",
    ),
    same("vm_per_load_a/b: vmcnt units of a load", PC + ".vm_per_channel", _COUNTS),
    same("lgkm_per_load_a/b: 0 falls back to ScheduleConfig", PC, GOLDEN),
    same("lgkm_per_load_a/b: any other value wins", PC, UNIT + "test_the_pipelines_lgkm_units_win"),
    same(
        "ch0/ch1_match_field: who reads a fragment",
        PC + ".compute_match_key",
        DOC + "test_match_fields_decide_who_reads_a_fragment",
    ),
    same(
        "warp_stagger: where the second group falls behind",
        "WarpStaggerRule",
        DOC + "test_warp_stagger_index",
    ),
    better(
        "warp_stagger: fixed amounts",
        "WarpStaggerRule",
        VALUES + "test_a_stagger_outside_the_prologue",
        "outside the prologue refused",
    ),
    same(
        "cross_stage_rotation relaxes the stage check",
        PC,
        DOC + "test_rotation_relaxes_the_stage_check",
    ),
    *(
        same(f"{name}()", f"{PC}.{name}", _COUNTS)
        for name in (
            "mmas_per_partition",
            "globals_per_partition",
            "frags_per_partition",
            "ops_per_partition",
            "total_ops",
            "blocks_per_partition",
            "total_blocks",
        )
    ),
    same("compute_match_key(op, channel)", PC + ".compute_match_key", _COUNTS),
    same("vm_per_channel(channel)", PC + ".vm_per_channel", _COUNTS),
    same("lgkm_per_channel(channel), 0 if unset", PC + ".lgkm_per_channel", _COUNTS),
    same("total_edges(): four phases of edges", PC + ".total_edges", _COUNTS),
]

SC = "ScheduleConfig"
_DEFAULTS = DOC + "test_schedule_config_fields_and_defaults"
SCHEDULE_CONFIG = [
    same("constructor: keywords only", SC, _DEFAULTS),
    *(
        same(f"field {name} = {value}", SC, _DEFAULTS)
        for name, value in (
            ("scheduling", "IDENTITY"),
            ("sched_barrier_mask", 85),
            ("auto_waits", True),
            ("drain_lgkm_mask", 0),
            ("auto_drain", False),
            ("lds_contention_penalty", 0),
            ("wait_lgkm_first", 8),
            ("wait_vm_last", 6),
            ("lgkm_per_load_a", 0),
            ("lgkm_per_load_b", 0),
            ("lgkm_after_last", False),
            ("minimal_barriers", False),
            ("omit_mma_set_prio", False),
            ("max_vgpr", 999999),
            ("global_before_frag", False),
            ("barrier_before_pre_ops", False),
            ("inter_block_lgkm_drain", False),
            ("partial_prologue_drain", False),
            ("wrap_waits_with_sched_barrier", False),
        )
    ),
    same(
        "scheduling: IDENTITY, GREEDY, CSP", "SchedulingStrategy", DOC + "test_strategies_of_order"
    ),
    better(
        "scheduling: least interval",
        "SchedulingStrategy",
        "modulo/test_phases::test_any_depth_is_proven_and_computes_the_product",
        "MODULO is ours",
    ),
    better(
        "CSP: an order for every feasible problem",
        "compile_schedule",
        "compile/test_random_problems::test_a_sample_of_random_problems",
        "refusals are proven",
    ),
    same(
        "sched_barrier_mask: trailing fences of blocks 0, 2, 4, 6",
        SC,
        DOC + "test_scheduler_fences_by_mask",
    ),
    same("auto_waits derives counts from the program", SC, GOLDEN),
    better(
        "derived waits are correct",
        "SyncPolicy",
        SYNC + "test_a_documented_knob_does_not_end_in_a_race",
        "where the rules race, the fewest changes, each with its reason",
    ),
    same(
        "auto_waits=False uses the manual counts",
        SC,
        DOC + "test_manual_counts_replace_derived_ones",
    ),
    better(
        "manual counts are kept",
        "SyncPolicy",
        SYNC + "test_manual_counts_are_kept",
        "and proven; too weak ones are refused or strengthened on request",
    ),
    same("drain_lgkm_mask: drains before loads", SC, DOC + "test_drains_by_mask_and_derived"),
    same("auto_drain derives the mask", SC, DOC + "test_drains_by_mask_and_derived"),
    same(
        "lds_contention_penalty: LDS port overlap",
        SC,
        DOC + "test_the_port_penalty_changes_the_order",
    ),
    same(
        "wait_lgkm_first: manual wait_lgkm(N)", SC, DOC + "test_manual_counts_replace_derived_ones"
    ),
    same("wait_vm_last: manual wait_vm(N)", SC, DOC + "test_manual_counts_replace_derived_ones"),
    same("lgkm_per_load_a/b: units for wait derivation", SC, GOLDEN),
    same(
        "lgkm_after_last: wait_lgkm(0) after the last barrier",
        SC,
        DOC + "test_a_drain_behind_the_last_barrier",
    ),
    same(
        "minimal_barriers: no per-block barriers and priorities",
        SC,
        DOC + "test_minimal_barriers_drop_priorities",
    ),
    better(
        "minimal_barriers: a barrier at the top of each half",
        SC,
        SYNC + "test_minimal_barriers_stand_at_the_top_of_each_half",
        "the reference leaves it out without an entry wait; so does SyncPolicy.REFERENCE",
    ),
    same("minimal_barriers: a barrier at the first cross-stage block", SC, GOLDEN),
    same(
        "omit_mma_set_prio: no priority before the MMA",
        SC,
        DOC + "test_minimal_barriers_drop_priorities",
    ),
    same("max_vgpr: a hint", SC, FEAS + "test_a_register_budget_is_a_hint_unless_insisted_on"),
    better(
        "max_vgpr: kept where an order keeps it",
        "compile_schedule",
        FEAS + "test_a_register_budget_is_kept_where_it_can_be",
        "registers are freed by their last reader; insist_on_registers refuses the rest",
    ),
    same("global_before_frag: loads before fragments", SC, DOC + "test_layout_inside_a_block"),
    better(
        "global_before_frag for the 4-wave kernel",
        FW,
        SYNC + "test_four_wave_honours_global_before_frag",
        "the reference ignores it; SyncPolicy.REFERENCE does the same",
    ),
    same("barrier_before_pre_ops: sync section first", SC, DOC + "test_layout_inside_a_block"),
    same(
        "inter_block_lgkm_drain: wait_lgkm(0) between blocks",
        SC,
        DOC + "test_a_drain_between_blocks",
    ),
    same(
        "wrap_waits_with_sched_barrier: fences around waits", SC, DOC + "test_fences_around_waits"
    ),
    same(
        "partial_prologue_drain: prefetches stay in flight",
        SC,
        DOC + "test_a_partial_prologue_drain",
    ),
    same("from_strategies: the same keywords and defaults", SC + ".from_strategies", GOLDEN),
    same(
        "strategy bundles spread into from_strategies",
        "BarrierStrategy",
        DOC + "test_strategy_bundles_spread_into_from_strategies",
    ),
    same("BarrierStrategy.minimal_no_set_prio", "BarrierStrategy.minimal_no_set_prio", GOLDEN),
    same(
        "WaitStrategy and LoadStrategy bundles",
        "WaitStrategy",
        DOC + "test_strategy_bundles_spread_into_from_strategies",
    ),
    better(
        "values out of type or range",
        SC,
        VALUES + "test_a_thousand_wrong_values_name_their_field",
        "a typed error naming the field",
    ),
    better(
        "knobs without effect",
        "NoEffectWarning",
        SYNC + "test_every_idle_knob_of_the_modulo_path_is_named",
        "a warning by name",
    ),
]

DOCUMENTS = {
    "DeclarativeSchedule": DECLARATIVE,
    "PipelineSchedule": PIPELINE_SCHEDULE,
    "Pipeline4Wave": FOUR_WAVE,
    "PipelineConfig": PIPELINE_CONFIG,
    "ScheduleConfig": SCHEDULE_CONFIG,
}


def resolve(where: str) -> object:
    """The public object a row names."""
    found: object = import_module("warploom")
    for part in where.split("."):
        found = getattr(found, part)
    return found


def test_exists(test: str) -> bool:
    """Whether the test a row names is there."""
    place, _, name = test.partition("::")
    path = ROOT / "tests" / f"{place}.py"
    return path.exists() and re.search(rf"^def {name}\(", path.read_text(), re.M) is not None


test_exists.__test__ = False  # type: ignore[attr-defined]


def page(defaults: str) -> str:
    """The page, with the table of recorded inputs compiled by default."""
    items = [i for rows in DOCUMENTS.values() for i in rows]
    counts = Counter(i.verdict for i in items)
    lines = [
        "# Conformance",
        "",
        "Generated by `tests/compile/conformance.py`; a test keeps it true. Every item the five",
        "interface documents state, where it is, and the test that shows it.",
        "",
        f"{len(items)} items: {counts[SAME]} the same, {counts[BETTER]} better, "
        f"{counts[DEVIATION]} deviations with their reason, none missing.",
    ]
    for document, rows in DOCUMENTS.items():
        lines += [
            "",
            f"## {document}",
            "",
            "| item | where | test | verdict |",
            "|---|---|---|---|",
        ]
        for i in rows:
            verdict = f"{i.verdict}: {i.note}" if i.note else i.verdict
            lines.append(f"| {i.text} | `{i.where}` | `{i.test}` | {verdict} |")
    return "\n".join([*lines, "", defaults.strip(), ""])


def table_of_defaults(text: str) -> str:
    """The section on recorded inputs, as it stands in a page."""
    start = text.find("## Recorded inputs")
    return text[start:] if start >= 0 else ""


if __name__ == "__main__":
    old = PAGE.read_text() if PAGE.exists() else ""
    if "--defaults" in sys.argv:
        sys.path.insert(0, str(ROOT / "tests" / "golden"))
        section = import_module("defaults").section()
    else:
        section = table_of_defaults(old)
    PAGE.write_text(page(section))
    print(f"wrote {PAGE.relative_to(ROOT)}")
