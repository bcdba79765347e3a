"""What an exhaustive explorer calls wrong, ``check`` reports: mutants of small kernels.

The whole table is made by bench/foreign/mutants_amd.py.
"""

import json
from pathlib import Path

import pytest

from warploom.check.amdgcn import check_amdgcn, read_kernel
from warploom.check.amdgcn.timed import EARLY, execute
from warploom.check.formats import decode
from warploom.check.launch import Launch
from warploom.report import Verdict

from .explorer import explore
from .mutants import mutants
from .small import BUFFER, assembled, small_launch

FOLDER = Path(__file__).parents[2] / "bench" / "syncbench" / "amd"
CASES = {c["name"]: c for c in json.loads((FOLDER / "cases.json").read_text())}
# Wrong only by wait states, by what a cache holds, by halves of registers, or with other contents
# of memory: the refill brings the bytes that are there.
UNSEEN = {
    "refill_before_reads_are_done", "no_barrier_before_the_refill", "third_buffer_filled_too_early",
    "partial_sums_through_a_stale_cache",
}  # fmt: skip
RACES = [n for n, c in CASES.items() if c["expected"] == ["race"] and n not in UNSEEN]
DEFAULT = [
    "count_one_too_weak", "epilogue_reads_before_dma", "raw_barrier_between_clusters",
    "dma_with_no_alias_in_sight", "next_tile_over_a_slow_wave", "scalar_loads_counted_one_by_one",
]  # fmt: skip


def text_and_launch(name, form="fixed"):
    folder = FOLDER / name
    return (folder / f"{form}.s").read_text(), Launch.read(folder / "launch.json")


@pytest.mark.parametrize("name", RACES)
def test_the_explorer_shows_the_bug_and_its_fix(name):
    assert explore(*text_and_launch(name)).verdict == "right"
    assert explore(*text_and_launch(name, "wrong")).verdict == "wrong"


def assert_nothing_missed(text, launch):
    kernel = read_kernel(text, launch.entry or None)
    tensors = execute(kernel, launch, timing=EARLY).tensors
    outputs = {t.name: t for t in launch.tensors.values() if t.role != "in"}
    results = b"".join(tensors[n].tobytes() for n in outputs)
    wanted = {n: decode(tensors[n], t.dtype).reshape(t.shape) for n, t in outputs.items()}
    assert explore(text, launch, expected=results).verdict == "right"
    wrong = 0
    for mutant in mutants(text, launch.entry or None):
        if explore(mutant.text, launch, expected=results).verdict != "wrong":
            continue
        wrong += 1
        report = check_amdgcn(mutant.text, launch, against=lambda **_: wanted)
        assert report.verdict is not Verdict.CLEAN, (mutant.what, mutant.line)
    assert wrong >= 3


@pytest.mark.parametrize("name", DEFAULT)
def test_mutants_that_go_wrong_are_reported(name):
    assert_nothing_missed(*text_and_launch(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in CASES if n not in DEFAULT])
def test_mutants_of_other_cases_that_go_wrong_are_reported(name):
    assert_nothing_missed(*text_and_launch(name))


def test_a_flag_publishes_what_its_wave_waited_for_only():
    """Wave 1 does not wait for its store before the barrier; wave 0 sets the flag behind it."""
    text, launch = text_and_launch("partial_sums_through_a_stale_cache")
    pair = "\ts_waitcnt vmcnt(0)\n\ts_barrier\n"
    assert text.count(pair) == 1
    swapped = text.replace(pair, "\ts_barrier\n\ts_waitcnt vmcnt(0)\n")
    assert explore(swapped, launch).verdict == "wrong"
    assert check_amdgcn(swapped, launch).verdict is Verdict.RACE


def test_dma_in_any_order_is_explored_and_agrees_with_the_axiom():
    fill = "\ts_lshl_b32 s12, s3, 2\n\ts_mov_b32 m0, s12\n\ts_nop 0\n"
    body = BUFFER + fill + (
        "\tbuffer_load_dword v1, s[8:11], 0 offen lds\n"
        "\tbuffer_load_dword v1, s[8:11], 0 offen offset:1024 lds\n"
        "\ts_waitcnt vmcnt(1)\n\ts_barrier\n\tds_read_b32 v5, v2\n\ts_waitcnt lgkmcnt(0)\n"
        "\tglobal_store_dword v1, v5, s[6:7]\n\ts_waitcnt vmcnt(0)\n"
    )  # fmt: skip
    text, launch = assembled(body), small_launch()
    assert explore(text, launch).verdict == "right"
    assert explore(text, launch, dma_order=False).verdict == "wrong"
    assert check_amdgcn(text, launch).verdict is Verdict.CLEAN
    off = check_amdgcn(text, launch, axioms={"vm_order": False})
    assert off.verdict is Verdict.RACE
