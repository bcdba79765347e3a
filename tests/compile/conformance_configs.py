"""What the documents of the configs promise."""

from __future__ import annotations

from tests.compile.conformance_item import (
    CONFIG,
    FEAS,
    GOLDEN,
    SYNC,
    UNIT,
    VALUES,
    WARN,
    better,
    deviation,
    same,
)
from tests.compile.conformance_schedules import FW

PC = "PipelineConfig"
_FIELDS = CONFIG + "test_pipeline_config_fields"
_COUNTS = CONFIG + "test_pipeline_config_counts"
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
        CONFIG + "test_loop_carried_ops_cross_the_boundary",
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
        CONFIG + "test_fragment_order_and_block_sizing",
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
        CONFIG + "test_match_fields_decide_who_reads_a_fragment",
    ),
    same(
        "warp_stagger: where the second group falls behind",
        "WarpStaggerRule",
        CONFIG + "test_warp_stagger_index",
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
        CONFIG + "test_rotation_relaxes_the_stage_check",
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
_DEFAULTS = CONFIG + "test_schedule_config_fields_and_defaults"
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
        "scheduling: IDENTITY, GREEDY, CSP",
        "SchedulingStrategy",
        CONFIG + "test_strategies_of_order",
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
        CONFIG + "test_scheduler_fences_by_mask",
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
        CONFIG + "test_manual_counts_replace_derived_ones",
    ),
    better(
        "manual counts are kept",
        "SyncPolicy",
        SYNC + "test_manual_counts_are_kept",
        "and proven; too weak ones are refused or strengthened on request",
    ),
    same("drain_lgkm_mask: drains before loads", SC, CONFIG + "test_drains_by_mask_and_derived"),
    deviation(
        "drain_lgkm_mask for the 4-wave kernel",
        FW,
        WARN + "test_knobs_without_effect_on_the_four_wave_kernel_are_named",
        "its minimal-barrier blocks have no place for it, as in the reference; it warns",
    ),
    same("auto_drain derives the mask", SC, CONFIG + "test_drains_by_mask_and_derived"),
    same(
        "lds_contention_penalty: LDS port overlap",
        SC,
        CONFIG + "test_the_port_penalty_changes_the_order",
    ),
    same(
        "wait_lgkm_first: manual wait_lgkm(N)",
        SC,
        CONFIG + "test_manual_counts_replace_derived_ones",
    ),
    same("wait_vm_last: manual wait_vm(N)", SC, CONFIG + "test_manual_counts_replace_derived_ones"),
    same("lgkm_per_load_a/b: units for wait derivation", SC, GOLDEN),
    same(
        "lgkm_after_last: wait_lgkm(0) after the last barrier",
        SC,
        CONFIG + "test_a_drain_behind_the_last_barrier",
    ),
    same(
        "minimal_barriers: no per-block barriers and priorities",
        SC,
        CONFIG + "test_minimal_barriers_drop_priorities",
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
        CONFIG + "test_minimal_barriers_drop_priorities",
    ),
    same("max_vgpr: a hint", SC, FEAS + "test_a_register_budget_is_a_hint_unless_insisted_on"),
    better(
        "max_vgpr: kept where an order keeps it",
        "compile_schedule",
        FEAS + "test_a_register_budget_is_kept_where_it_can_be",
        "registers are freed by their last reader; insist_on_registers refuses the rest",
    ),
    same("global_before_frag: loads before fragments", SC, CONFIG + "test_layout_inside_a_block"),
    better(
        "global_before_frag for the 4-wave kernel",
        FW,
        SYNC + "test_four_wave_honours_global_before_frag",
        "the reference ignores it; SyncPolicy.REFERENCE does the same",
    ),
    same("barrier_before_pre_ops: sync section first", SC, CONFIG + "test_layout_inside_a_block"),
    deviation(
        "barrier_before_pre_ops for the 4-wave kernel",
        FW,
        WARN + "test_knobs_without_effect_on_the_four_wave_kernel_are_named",
        "has no effect where waits are proven, which is the default there, and warns; "
        "SyncPolicy.REFERENCE honours it",
    ),
    same(
        "inter_block_lgkm_drain: wait_lgkm(0) between blocks",
        SC,
        CONFIG + "test_a_drain_between_blocks",
    ),
    deviation(
        "inter_block_lgkm_drain of the 4-wave kernel",
        FW,
        WARN + "test_four_wave_drains_between_blocks_where_the_caller_says_so",
        "set by the schedule itself; where waits are proven the drain is emitted only if the "
        "caller's config asks for it",
    ),
    same(
        "wrap_waits_with_sched_barrier: fences around waits",
        SC,
        CONFIG + "test_fences_around_waits",
    ),
    same(
        "partial_prologue_drain: prefetches stay in flight",
        SC,
        CONFIG + "test_a_partial_prologue_drain",
    ),
    same(
        "from_strategies: the 19 typed keywords and their defaults",
        SC + ".from_strategies",
        CONFIG + "test_from_strategies_has_the_documented_signature",
    ),
    same(
        "strategy bundles spread into from_strategies",
        "BarrierStrategy",
        CONFIG + "test_strategy_bundles_spread_into_from_strategies",
    ),
    same(
        "the bundles live in pipeline.strategies",
        "BarrierStrategy",
        "compile/test_documented_modules::test_documented_modules_hold_what_the_package_exports",
    ),
    same("BarrierStrategy.minimal_no_set_prio", "BarrierStrategy.minimal_no_set_prio", GOLDEN),
    same(
        "WaitStrategy and LoadStrategy bundles",
        "WaitStrategy",
        CONFIG + "test_strategy_bundles_spread_into_from_strategies",
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
        "a warning by name; those of the layout are tried: the blocks come out the same without",
    ),
]
