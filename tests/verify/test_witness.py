"""Every race can be shown: the executor runs its witness and gets wrong numbers."""

import pytest

from warploom.errors import ConfigError, DocumentError
from warploom.interp.executor import Scripted, execute
from warploom.ir import StepKind, witness_from_json, witness_to_json
from warploom.verify import Assumptions, Code, verify, witness

from .documents import document, golden_cases, golden_document, pingpong_named

ONLY_PROLOGUE_AND_EPILOGUE = range(1)


def shown(doc, trips=None):
    """Run the witness of every race; the codes that were shown."""
    report = verify(doc, trips=trips)
    for finding in report.races():
        run = execute(doc, timing=Scripted(witness(doc, finding)))
        assert not run.correct, finding.text()
    return {f.code for f in report.races()}


def test_the_fourwave_races_give_wrong_numbers():
    codes = shown(golden_document("fourwave", "geom0_default"))
    assert codes == {Code.RAW_LDS, Code.RAW_REG, Code.WAR_LDS}


def test_the_identity_pingpong_race_gives_wrong_numbers():
    assert shown(pingpong_named("IDENTITY", 1)) == {Code.WAR_LDS}


@pytest.mark.parametrize("family", ["pingpong", "fourwave", "single_buffer"])
def test_a_sample_of_all_golden_races_gives_wrong_numbers(family):
    for name in list(golden_cases(family))[::12]:
        try:
            shown(golden_document(family, name))
        except DocumentError:
            continue


@pytest.mark.slow
@pytest.mark.parametrize("family", ["pingpong", "fourwave", "single_buffer"])
def test_all_golden_races_give_wrong_numbers(family):
    for name in golden_cases(family):
        try:
            shown(golden_document(family, name))
        except DocumentError:
            continue


def test_a_witness_is_data_and_a_listing():
    doc = pingpong_named("IDENTITY", 1)
    found = witness(doc, verify(doc).findings[0])
    assert witness_from_json(witness_to_json(found)) == found
    assert [s.kind for s in found.steps][-1] is StepKind.READ
    assert "and finds the new tile" in found.text()


def test_wait_that_shares_its_place_with_a_protocol_barrier():
    """The holder stands after the barrier after the prologue and in front of its wait."""
    doc = document(
        "LA[0,0]0 LB[0,0]0",
        "",
        "W0 FA[0,0] FB[0,0] L0 M[0,0]",
        barrier_after_prologue=True,
    )
    assert shown(doc, ONLY_PROLOGUE_AND_EPILOGUE) == {Code.RAW_LDS}


def test_information_and_budgets_have_no_witness():
    doc = document("LA[0,0]0 W70", "", "")
    finding = next(f for f in verify(doc).findings if f.code is Code.ENCODING)
    with pytest.raises(ConfigError):
        witness(doc, finding)


def test_a_finding_of_another_document_is_refused():
    finding = verify(pingpong_named("IDENTITY", 1)).findings[0]
    with pytest.raises(ConfigError):
        witness(document("LA[0,0]0", "", ""), finding)


def test_a_timing_finding_has_a_witness_too():
    doc = document(
        "LA[0,0]0 LB[0,0]0 W0 FA[0,0] FB[0,0] LA[0,0]1 L0 M[0,0] W0 LB[0,0]1 W0",
        "",
        "FA[0,0] FB[0,0] L0 M[0,0]",
        waves_per_group=1,
        kernel_k_base=2,
    )
    (finding,) = verify(doc, trips=ONLY_PROLOGUE_AND_EPILOGUE).findings
    assert (finding.code, finding.severity.value) == (Code.WAR_LDS, "timing")
    assert "180 cycles of slack" in finding.why
    assert not execute(doc, timing=Scripted(witness(doc, finding)), trips=0).correct
    a4 = Assumptions(load_outlasts_read=True)
    held = verify(doc, trips=ONLY_PROLOGUE_AND_EPILOGUE, assumptions=a4)
    assert held.verdict == "clean"
    assert [f.severity.value for f in held.findings] == ["info"]
