"""SyncBench: every wrong form is found with its verdict, every fixed form is clean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warploom.axioms import resolve
from warploom.check import check
from warploom.check.launch import Launch
from warploom.check.ptx.repair import repair_ptx

BENCH = Path(__file__).parents[2] / "bench" / "syncbench"
CASES = [c for c in json.loads((BENCH / "cases.json").read_text()) if c["target"].startswith("sm_")]
NAMES = [c["name"] for c in CASES]


def report(case, form):
    folder = BENCH / "cases" / case["name"]
    return check(folder / f"{form}.ptx", folder / "launch.json")


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_wrong_form_is_found(case):
    found = report(case, "wrong")
    assert found.verdict.value in case["expected"], found.text()
    for finding in found.defects():
        assert finding.why
        assert all(e.line for e in finding.events)
    assert any(f.fix for f in found.defects())
    assert any("NAME.cu".replace("NAME", case["name"]) in e.source
               for f in found.defects() for e in f.events)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_fixed_form_is_clean(case):
    found = report(case, "fixed")
    assert found.clean, found.text()
    assert not found.notes(), found.text()


def test_there_are_enough_cases_and_each_says_what_it_is():
    assert len(CASES) >= 24
    assert len(set(NAMES)) == len(NAMES)
    for case in CASES:
        assert case["why"]
        assert case["class"]
        folder = BENCH / "cases" / case["name"]
        assert json.loads((folder / "launch.json").read_text()) == case["launch"]


def test_the_axiom_of_warps_decides_one_case():
    case = next(c for c in CASES if c["name"] == "warpgroup_released_by_one_warp")
    folder = BENCH / "cases" / case["name"]
    loose = check(folder / "wrong.ptx", folder / "launch.json", axioms={"wgmma_per_warp": False})
    assert "WAR-WGMMA" not in {f.code for f in loose.defects()}
    assert any(f.axiom == "wgmma_per_warp" for f in report(case, "wrong").defects())


REPAIRED = {
    "proxy_fence_before_bulk_store": "fence.proxy.async;",
    "conditional_write_read_without_sync": "bar.sync 0;",
    "a_registers_reused_in_flight": "wgmma.wait_group.sync.aligned 0;",
    "cp_async_wait_after_sync": "cp.async.wait_all;",
    "exit_before_bulk_store_read": "cp.async.bulk.wait_group.read 0;",
}


@pytest.mark.parametrize("name", list(REPAIRED))
def test_repair_inserts_one_instruction_and_the_file_is_clean(name):
    folder = BENCH / "cases" / name
    launch = Launch.read(folder / "launch.json")
    text = (folder / "wrong.ptx").read_text()
    found = repair_ptx(text, launch, axioms=resolve())
    assert found is not None
    assert [what for _, what in found.insertions] == [REPAIRED[name]]
    assert check(found.text, launch).clean
    (at, what) = found.insertions[0]
    assert found.text.split("\n")[at - 1].strip() == what
