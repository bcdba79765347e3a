"""The judge on the reference's own schedules: what is known about them, it finds."""

import time

import pytest

from warploom.errors import ConfigError, DocumentError
from warploom.ir.schedule_ops import Phase
from warploom.verify import Code, Severity, verify

from .documents import golden_cases, golden_document, pingpong_named


@pytest.mark.parametrize(
    "case",
    [("CSP", 0), ("CSP", 1), ("GREEDY", 0), ("GREEDY", 1, (4, 4)), ("IDENTITY", 0)],
)
def test_pingpong_defaults_have_no_finding(case):
    report = verify(pingpong_named(*case))
    assert report.findings == ()
    assert report.trips_proven == "all"
    assert (report.depth, report.trips_checked) == (1, (0, 1, 2))


def test_identity_with_one_global_a_block_overwrites_what_group_1_still_reads():
    report = verify(pingpong_named("IDENTITY", 1))
    assert {f.code for f in report.findings} == {Code.WAR_LDS}
    first = report.findings[0]
    assert first.slot == "A[0,0]"
    assert [w.group for w in first.waves] == [1, 0]
    assert [e.phase for e in first.where] == [Phase.KERNEL, Phase.KERNEL]
    assert first.fix == "lower WAIT_LGKM(8) (kernel[3] of iteration 0) to 0"


def test_two_globals_a_block_lose_loads():
    assert {f.code for f in verify(pingpong_named("CSP", 2)).races()} == {Code.TOKEN}


def test_fourwave_races_in_kernel_epilogue_and_without_iterations():
    report = verify(golden_document("fourwave", "geom0_default"))
    found = {(f.code, f.where[0].phase, f.where[1].phase) for f in report.races()}
    assert (Code.WAR_LDS, Phase.KERNEL, Phase.KERNEL) in found
    assert (Code.RAW_REG, Phase.KERNEL, Phase.KERNEL) in found
    assert (Code.RAW_LDS, Phase.KERNEL, Phase.EPILOGUE) in found
    n0 = [f for f in report.races() if f.trip_count == 0]
    assert {f.code for f in n0} == {Code.RAW_LDS}
    assert all(f.where[0].phase is Phase.PROLOGUE for f in n0)


def test_every_fourwave_case_of_the_reference_races():
    for name in golden_cases("fourwave"):
        assert verify(golden_document("fourwave", name)).verdict == "race", name


def test_single_buffer_is_clean_unless_the_loop_carried_fragment_is_lost():
    racy = {
        name
        for name in golden_cases("single_buffer")
        if verify(golden_document("single_buffer", name)).verdict != "clean"
    }
    assert racy == {"lc_sel0_role255_T3", "lc_sel0_role3_T3"}


def test_every_pingpong_case_is_checked_or_malformed():
    verdicts = {}
    for name in golden_cases("pingpong"):
        try:
            verdicts[name] = verify(golden_document("pingpong", name)).verdict
        except (ConfigError, DocumentError):
            verdicts[name] = "malformed"
    counts = {v: list(verdicts.values()).count(v) for v in set(verdicts.values())}
    assert counts == {"clean": 72, "race": 83, "malformed": 1}


def test_three_golden_documents_are_racy_only_as_the_hardware_counts():
    """Counts above 62 and 14 do not wait: documents that literally would be clean, race."""
    found = {}
    for name in golden_cases("pingpong"):
        try:
            report = verify(golden_document("pingpong", name))
        except (ConfigError, DocumentError):
            continue
        encodings = [f for f in report.races() if f.code is Code.ENCODING]
        if encodings:
            found[name] = report
    assert len(found) == 3
    for report in found.values():
        assert all("relies on it" in f.why for f in report.races() if f.code is Code.ENCODING)


def test_verdicts_for_all_trip_counts_are_fast():
    documents = [pingpong_named("CSP", 1), golden_document("fourwave", "geom0_default")]
    for document in documents:
        start = time.perf_counter()
        verify(document)
        assert time.perf_counter() - start < 0.5


def test_the_deciding_trip_counts_really_decide():
    """No golden schedule that is clean up to depth + 1 has a finding at a higher count."""
    for family in ("pingpong", "fourwave", "single_buffer"):
        for name in list(golden_cases(family))[::3]:
            try:
                report = verify(golden_document(family, name))
            except (ConfigError, DocumentError):
                continue
            if report.verdict == "clean":
                for n in range(report.depth + 2, report.depth + 5):
                    longer = verify_exactly(golden_document(family, name), n)
                    assert not longer, (name, n)


def verify_exactly(document, n):
    """Race and timing findings of one trip count, without the argument for all of them."""
    from warploom.verify.counter_schedules import _Court
    from warploom.verify.events import read_text
    from warploom.verify.findings import Assumptions, Limits

    court = _Court(text=read_text(document), assumptions=Assumptions())
    court.try_all(range(n, n + 1), Limits())
    found, _ = court.verdict()
    return [f for f in found if f.severity is not Severity.INFO]
