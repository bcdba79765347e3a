"""Findings of role programs have a run that shows them, and the run is the same every time."""

from __future__ import annotations

import pytest

from tests.cli.runner import warploom
from tests.mbarrier.samples import gemm_document
from tests.mutation.role_mutants import role_mutants
from tests.verify.test_defects import FOLDER
from warploom.interp.executor.roles import replay, role_witness
from warploom.ir.format1 import read_schedule
from warploom.verify.roles import verify_roles

GEMM = gemm_document()
WORDS = {
    "attention_count_1_deadlock": "deadlock",
    "release_skipped_at_tile_end": "",
    "reader_restarts_positions": "",
    "waitgroup_pending_above_groups": "touched in flight",
    "bulkwait_full_without_sync": "",
}


@pytest.mark.parametrize("name", WORDS)
def test_a_defect_is_shown_by_a_run(name):
    document = read_schedule((FOLDER / f"{name}.json").read_text())
    races = verify_roles(document).races()
    found = role_witness(document, [f.tiles for f in races if f.tiles and sum(f.tiles) < 24])
    assert found is not None
    assert WORDS[name] in found.fault
    assert replay(document, found) == found.fault
    assert found.steps
    assert "=> " in found.text()


def test_a_right_program_has_no_witness():
    assert role_witness(GEMM, [(1, 1), (3, 2)], seeds=range(20)) is None


def test_most_findings_of_dropped_waits_are_shown():
    dropped = [m for m in role_mutants(GEMM) if m.operator.startswith("drop Wait")]
    shown = 0
    for mutant in dropped:
        report = verify_roles(mutant.document)
        if report.clean:
            continue
        runs = [f.tiles for f in report.races() if f.tiles and sum(f.tiles) < 24]
        shown += role_witness(mutant.document, [*runs, (5, 4)], intended=GEMM) is not None
    assert shown >= len(dropped) - 2


def test_verify_prints_the_run():
    done = warploom("verify", FOLDER / "attention_count_1_deadlock.json", "--witness")
    assert done.returncode == 1
    assert "witness for" in done.stdout
    assert "=> deadlock" in done.stdout
