"""The verifier and an exhaustive checker that shares nothing with it, on random role programs."""

from __future__ import annotations

import pytest

from warploom.ir.format1 import read_schedule
from warploom.verify.roles import verify_roles

from ..verify.test_defects import FOLDER
from .checker import UNDECIDED, check
from .compare import compare
from .programs import random_program

RUNS = ((1, 1), (2, 1), (2, 2))

# What every interleaving shows, found without the verifier.
TRUTHS = {
    "release_nobody_waits_for": None,
    "warp_then_warpgroup_sync_false_alarm": None,
    "bulkwait_full_without_sync": "a staging copy is overwritten while it is stored",
    "release_skipped_at_tile_end": "more arrivals than a lap takes",
    "attention_count_1_deadlock": "deadlock",
    "reader_restarts_positions": "a slot holds something else than is read",
    "waitgroup_pending_above_groups": "a register is touched in flight",
    "accumulator_overwrites_operand_in_flight": "products in flight share registers",
}


@pytest.mark.parametrize("name", TRUTHS)
def test_the_checker_finds_what_is_wrong_by_itself(name):
    document = read_schedule((FOLDER / f"{name}.json").read_text())
    found = [check(document, document, tiles) for tiles in RUNS]
    assert next((f for f in found if f), None) == TRUTHS[name]


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_generated_programs_are_clean(seed):
    report = verify_roles(random_program(seed))
    assert report.verdict in ("clean", "timing"), report.text()


def test_verdicts_agree_on_random_programs_and_edits():
    outcomes = [compare(seed, limit=600) for seed in range(60)]
    assert not [o for o in outcomes if o.missed]
    assert not [o for o in outcomes if o.false_alarm]
    wrong = [o for o in outcomes if o.truth not in (None, UNDECIDED)]
    assert len(wrong) > 15
    assert sum(o.verdict == "clean" for o in outcomes) > 22


def test_verdicts_agree_where_instances_take_tiles_in_turn():
    outcomes = [compare(seed, limit=600) for seed in range(1_000_000, 1_000_030)]
    assert not [o for o in outcomes if o.missed or o.false_alarm]
    assert not [o for o in outcomes[::2] if o.verdict not in ("clean", "timing")]
    assert sum(o.truth not in (None, UNDECIDED) for o in outcomes) > 8


@pytest.mark.parametrize(
    ("seed", "verdict", "truth"),
    [
        (1_010_499, "race", "deadlock"),  # in finish, before another's tile is over
        (1_080_279, "clean", None),  # all warps of the other have come to its hand-over
        (1_050_017, "timing", None),  # who fills a slot reads it, though there are two of them
    ],
)
def test_what_was_checked_otherwise_where_instances_take_turns(seed, verdict, truth):
    outcome = compare(seed, limit=4_000)
    assert (outcome.verdict, outcome.truth) == (verdict, truth)


def test_an_arrival_after_the_last_generation_may_not_come_before_it():
    """An edit that arrives once more in ``finish``: it can fill the generation others wait for."""
    outcome = compare(901_043, limit=8_000)
    assert (outcome.truth, outcome.verdict, outcome.codes) == ("deadlock", "race", ("BARRIER",))


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("start", [*range(10_000, 30_000, 2_000), 1_000_000])
def test_verdicts_agree_at_length(start):
    outcomes = [compare(seed) for seed in range(start, start + 2_000)]
    assert not [o for o in outcomes if o.missed or o.false_alarm]


@pytest.mark.parametrize("seed", [31_003_257])
def test_a_race_of_another_instance_is_not_hidden_by_a_finding_that_rests_on_latencies(seed):
    from .sequences import compare as compare_sequences

    assert not compare(seed, limit=1_000).missed
    assert compare_sequences(31_002_922) == ("wrong", "race")


def test_runs_with_a_step_held_back_may_begin_where_it_is_reached():
    from .attacks import drawn
    from .held_back import HeldBack

    judged = 0
    for seed in range(40):
        _, document = drawn(seed)
        tiles = (max(document.minimum_trips, 1),) * 2
        try:
            machine = HeldBack(document, tiles)
        except (KeyError, ValueError):
            continue
        if machine.run_with(None):
            continue
        states = machine.reached()
        for point in machine.points()[::7]:
            if point in states:
                assert machine.run_with(point, states[point]) == machine.run_with(point)
                judged += 1
    assert judged > 30
