"""The counts this room promises: barriers, vm waits, lgkm waits per phase."""

import pytest

from tests.sync.minimal import check_minimal
from warploom.ir.schedule_ops import Phase
from warploom.sync.counters import CHIP, REFERENCE, count_sync, synthesise

from .golden_documents import fourwave, pingpong
from .naive_verifier import clean
from .verifiers import verified

PHASES = (Phase.PROLOGUE, Phase.KERNEL, Phase.EPILOGUE)
CSP1, CSP0 = "pingpong/strategy2_mg1", "pingpong/strategy0_mg0"
IDENTITY1, WAVE4 = "pingpong/strategy0_mg1", "fourwave/geom0_default"

TABLE = [
    # document, keep barriers, mode, counts, derived barriers
    (CSP1, True, "weakest", "1,1,0 / 16,6,8 / 13,5,6", 0),
    (CSP1, True, "fewest", "1,1,0 / 16,2,6 / 13,1,6", 0),
    (CSP0, True, "weakest", "1,1,0 / 16,6,6 / 13,5,6", 0),
    (CSP0, True, "fewest", "1,1,0 / 16,2,6 / 13,1,6", 0),
    (IDENTITY1, True, "weakest", "1,1,0 / 16,6,6 / 13,5,6", 0),
    (IDENTITY1, True, "fewest", "1,1,0 / 16,2,6 / 13,1,6", 0),
    (CSP1, False, "weakest", "0,1,0 / 6,3,7 / 2,1,6", 8),
    (CSP1, False, "fewest", "0,1,0 / 6,2,6 / 2,1,6", 8),
    (CSP0, False, "weakest", "0,1,0 / 4,2,6 / 2,1,6", 6),
    (CSP0, False, "fewest", "0,1,0 / 4,2,6 / 2,1,6", 6),
    (WAVE4, True, "weakest", "2,2,0 / 4,4,6 / 2,1,6", 1),
    (WAVE4, True, "fewest", "2,1,0 / 4,2,4 / 2,1,4", 1),
    (WAVE4, False, "weakest", "1,1,0 / 3,3,5 / 1,1,6", 5),
    (WAVE4, False, "fewest", "1,1,0 / 3,2,5 / 1,1,4", 5),
]


def document(name):
    family, case = name.split("/")
    return {"pingpong": pingpong, "fourwave": fourwave}[family](case)


@pytest.mark.parametrize(("name", "keep", "mode", "counts", "derived"), TABLE)
def test_counts_are_reached_clean_and_minimal(name, keep, mode, counts, derived):
    result = synthesise(document(name), keep_barriers=keep, mode=mode, barriers="fewest", cost=CHIP)
    assert " / ".join(str(result.counts(p)) for p in PHASES) == counts
    assert len(result.derived_barriers) == derived
    assert result.complete
    assert clean(result.document)
    loose = check_minimal(
        result.document, lambda d: clean(d, range(4)), barriers=result.derived_barriers
    )
    assert not loose


def test_reference_counts_for_comparison():
    pingpong_reference = [str(count_sync(document(CSP1), p)) for p in PHASES]
    assert pingpong_reference == ["1,2,0", "16,2,8", "13,4,12"]
    assert [str(count_sync(document(WAVE4), p)) for p in PHASES] == ["2,2,0", "4,6,6", "1,7,8"]


def test_stall_of_reference_weakest_and_fewest():
    doc = document(CSP1)
    weak, few = synthesise(doc, cost=CHIP), synthesise(doc, mode="fewest", cost=CHIP)
    chip = [CHIP(d) for d in (doc, weak.document, few.document)]
    assert chip == [3200, 3200, 3232]
    assert [REFERENCE(d) for d in (doc, weak.document, few.document)] == [480, 344, 480]
    wave = document(WAVE4)
    weak, few = synthesise(wave, cost=CHIP), synthesise(wave, mode="fewest", cost=CHIP)
    assert [CHIP(d) for d in (wave, weak.document, few.document)] == [2496, 2496, 2720]
    assert [round(REFERENCE(d)) for d in (wave, weak.document, few.document)] == [336, 325, 488]


def test_a_fourth_kernel_barrier_finds_the_hand_placed_positions():
    fewest = synthesise(document(WAVE4), keep_barriers=False, barriers="fewest", cost=CHIP)
    more = synthesise(document(WAVE4), keep_barriers=False, extra_barriers=1, cost=CHIP)
    assert " / ".join(str(more.counts(p)) for p in PHASES) == "1,1,0 / 4,4,6 / 1,1,6"
    assert fewest.cost == 2736
    assert more.cost == 2496
    assert not more.complete
    assert more.document.kernel == synthesise(document(WAVE4)).document.kernel


def test_stronger_kernel_waits_may_spare_the_epilogue_a_barrier():
    # The weakest kernel leaves so much in flight that the epilogue needs barriers; the kernel with
    # the fewest waits completes it, and the epilogue must not keep barriers for nothing.
    result = synthesise(pingpong("sizing_h5_l3_mg2_b0_s0"), mode="fewest", limit=8)
    assert {p for p, _ in result.derived_barriers} == {Phase.KERNEL}
    assert not check_minimal(result.document, verified, barriers=result.derived_barriers)
