"""Documents that were called clean and are not, or the other way round; each with its verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warploom.verify import verify_file

FOLDER = Path(__file__).parent / "defects"

VERDICTS = {
    "attention_without_rescale_flow_edited_along": ("clean", None),
    "deep_ring_block_heuristic": ("race", "WAR-SLOT"),
    "fill_handed_over_by_other_ring_lanes_lag": ("race", "RAW-SLOT"),
    "peel_1e9_hangs_verify": ("malformed", "1000000000 iterations"),
    "register_array_named_like_a_slot": ("race", "FLOW"),
    "setup_waitempty_before_first_use_deadlock": ("race", "DEADLOCK"),
    "threads_not_whole_warps_48_arrivals_1": ("race", "ARRIVALS"),
    "tile_of_zero_iterations_deadlock": ("race", "DEADLOCK"),
    "accumulator_overwrites_operand_in_flight": ("race", "WAR-REG"),
    "attention_count_1_deadlock": ("race", "BARRIER"),
    "buffer_of_other_role": ("malformed", "buffer 'c' of role 'producer'"),
    "bulkwait_full_without_sync": ("race", "STAGING"),
    "cluster_sync_in_loop_emits_nothing": ("clean", None),
    "multicast_without_cluster": ("malformed", "2 CTAs of a cluster of 1"),
    "named_ids_collide": ("malformed", "share id 1"),
    "no_product_at_all": ("race", "FLOW"),
    "parts_overlap": ("malformed", "overlap"),
    "reader_restarts_positions": ("race", "PHASE"),
    "release_nobody_waits_for": ("clean", None),
    "release_skipped_at_tile_end": ("race", "PHASE"),
    "staging_equal_tile_false_alarm": ("clean", None),
    "trip_bound_duplicate_load": ("race", "RAW-LDS"),
    "waitgroup_pending_above_groups": ("race", "RAW-REG"),
    "warp_then_warpgroup_sync_false_alarm": ("clean", None),
}


def test_every_document_has_a_verdict():
    assert {p.stem for p in FOLDER.glob("*.json")} == set(VERDICTS)


@pytest.mark.parametrize("name", VERDICTS)
def test_the_verdict_is_right(name):
    verdict, sign = VERDICTS[name]
    found = verify_file(FOLDER / f"{name}.json")
    plain = found.to_json()
    assert plain["verdict"] == verdict, found.text()
    if verdict == "race":
        assert sign in {f["code"] for f in plain["findings"] if f["severity"] == "race"}
        assert all(f["why"] and f["fix"] for f in plain["findings"])
    if verdict == "malformed":
        assert sign in found.error
    assert json.dumps(plain)


@pytest.mark.parametrize(
    "name", ["release_nobody_waits_for", "warp_then_warpgroup_sync_false_alarm"]
)
def test_given_trip_counts_are_checked_and_said(name):
    plain = verify_file(FOLDER / f"{name}.json", range(1, 5)).to_json()
    assert (plain["verdict"], plain["trips_proven"]) == ("clean", "1..4")


def test_a_flow_that_nothing_ties_to_a_kernel_is_an_assumption():
    found = verify_file(FOLDER / "attention_without_rescale_flow_edited_along.json")
    assert found.to_json()["assumes"] == ["flow as declared"]
    assert "assumes: flow as declared" in found.text()
