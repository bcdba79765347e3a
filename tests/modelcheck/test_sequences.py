"""Deep rings and long sequences of tiles; the runs that judge them against every interleaving."""

from __future__ import annotations

import pytest

from .checker import UNDECIDED, check
from .compare import compare as compare_role
from .edits import edited
from .held_back import first_fault
from .programs import MIXED, random_program
from .sequences import compare


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_holding_back_a_step_shows_what_every_interleaving_shows(first):
    decided = 0
    for seed in range(MIXED + first, MIXED + first + 10):
        intended = random_program(seed)
        document = edited(intended, seed) if seed % 2 else intended
        for tiles in ((2, 1), (1, 1, 1)):
            found = check(document, intended, tiles, 1_000)
            if found != UNDECIDED:
                decided += 1
                assert (found is None) == (first_fault(document, intended, tiles) is None), seed
    assert decided > 4


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_no_sequence_of_tiles_on_a_deep_ring_is_missed(first):
    found = [(seed, *compare(seed)) for seed in range(first, first + 20)]
    assert not [row for row in found if row[1] == "missed"]
    assert {"wrong", "right"} <= {row[1] for row in found}


def test_deep_rings_that_named_barriers_order_are_proven():
    assert compare(0) == ("right", "clean")


@pytest.mark.parametrize("seed", range(MIXED, MIXED + 12))
def test_programs_of_all_families(seed):
    found = compare_role(seed, limit=500)
    assert not found.missed
    assert not found.false_alarm
