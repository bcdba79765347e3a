"""What the documents of the schedules promise."""

from __future__ import annotations

from tests.compile.conformance_item import (
    DOC,
    GOLDEN,
    SINGLE,
    SYNC,
    UNIT,
    VALUES,
    WARN,
    better,
    deviation,
    same,
)

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
    better(
        "depth < 2: prologue and epilogue of any body",
        "compile_schedule",
        SINGLE + "test_prologue_and_epilogue_keep_all_loads_and_stores",
        "all loads and stores; the reference keeps the first of each, and so does "
        "SyncPolicy.REFERENCE",
    ),
    better(
        "bodies that are no matrix product",
        "PipelineBody",
        SINGLE + "test_a_single_buffer_body_is_proven_for_all_trip_counts",
        "ops may name their operands and results (takes, makes); a single buffer of any such body "
        "is derived and proven",
    ),
    better(
        "transform_kernel at depth >= 2, block hooks at depth < 2",
        "NoEffectWarning",
        WARN + "test_hooks_that_are_never_called_are_named",
        "never called, as documented; a warning by name",
    ),
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
    deviation(
        "IDENTITY keeps that order verbatim",
        FW,
        DOC + "test_four_wave_order_is_the_declared_one",
        "between mini-iterations; inside one the fragment goes before the load, as in the "
        "reference. global_before_frag=True gives load, fragment, MMA",
    ),
    deviation(
        "emission equals the hand-written body, waits aside",
        FW,
        DOC + "test_four_wave_emits_the_declared_order_on_request",
        "with global_before_frag=True; by default loads and fragments of a mini-iteration are "
        "exchanged, as in the reference",
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
        "the default config given is the one left out",
        FW,
        "errors/test_warnings::test_the_default_config_is_the_same_given_or_left_out",
    ),
    same(
        "both helpers live in pipeline.phase_derivation",
        "filter_spurious_cross_stage_flow",
        "compile/test_documented_modules::test_documented_modules_hold_what_the_package_exports",
    ),
    same(
        "invariants re-applied to the caller's config",
        FW,
        DOC + "test_four_wave_defaults_and_invariants",
    ),
    deviation(
        "config(): the pipeline config from the target profile",
        FW + ".config",
        DOC + "test_four_wave_config_is_the_targets_without_stagger",
        "a copy without stagger, with rotation and the geometry's lgkm counts, as in the reference",
    ),
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
