"""Repair: a file that ``check`` reports becomes clean by the least insertion."""

import json
from pathlib import Path

import pytest

from warploom.check.amdgcn.repair import repair
from warploom.check.launch import Launch

from .small import assembled, small_launch

FOLDER = Path(__file__).parents[2] / "bench" / "syncbench" / "amd"
CASES = [c["name"] for c in json.loads((FOLDER / "cases.json").read_text())]
# The code itself stands in the wrong place there: no insertion alone makes it right.
MOVED = {"store_sunk_below_the_barrier", "halves_of_one_register"}


@pytest.mark.parametrize("name", [c for c in CASES if c not in MOVED])
def test_every_bug_of_the_bench_is_repaired(name):
    text = (FOLDER / name / "wrong.s").read_text()
    found = repair(text, Launch.read(FOLDER / name / "launch.json"))
    assert found.clean, found.report.text()
    assert 1 <= len(found.inserted) <= 4
    assert all(
        t.startswith(("s_waitcnt", "s_barrier", "s_nop", "buffer_inv")) for _, t in found.inserted
    )
    kept = [line for line in found.text.split("\n") if line in text.split("\n")]
    assert len(kept) >= len(text.split("\n"))


def test_the_wait_has_the_largest_count_that_serves():
    body = (
        "\tglobal_load_dword v4, v1, s[4:5]\n\tglobal_load_dword v5, v1, s[4:5] offset:4\n"
        "\tv_add_u32_e32 v4, 1, v4\n\tglobal_store_dword v1, v4, s[6:7]\n"
    )
    found = repair(assembled(body), small_launch())
    assert found.clean
    assert [t for _, t in found.inserted] == ["s_waitcnt vmcnt(1)"]


def test_a_clean_file_is_left_alone():
    text = assembled("\tv_mov_b32_e32 v4, 0\n\tglobal_store_dword v1, v4, s[6:7]\n")
    found = repair(text, small_launch())
    assert (found.text, found.inserted) == (text, ())


def test_what_no_insertion_repairs_is_left_as_it_is():
    body = "\tv_mov_b32_e32 v5, 0\n\tv_mov_b32_e32 v4, v0\n\tglobal_store_dword v5, v4, s[6:7]\n"
    found = repair(assembled(body), small_launch())
    assert not found.clean
    assert found.inserted == ()
