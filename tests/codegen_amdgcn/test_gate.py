"""The gate passes what carries the schedule and names what does not."""

from __future__ import annotations

import re

import pytest

from warploom.codegen.amdgcn import check_isa
from warploom.errors import BackendError

EXACT = ["pingpong", "pingpong-fp8", "fourwave", "fourwave-fp8", "fourwave-16x16", "single-buffer"]
MORE = [
    "pingpong-fp16",
    "pingpong-proven",
    "fourwave-fewest",
    "fourwave-small",
    "single-buffer-256",
]


@pytest.mark.parametrize("name", [*EXACT, *(pytest.param(n, marks=pytest.mark.slow) for n in MORE)])
def test_emitted_code_is_the_schedule(kernel, name):
    gate = kernel(name).gate
    assert gate.exact
    assert gate.resources.spills == 0
    assert gate.resources.scratch_bytes == 0


def test_the_loop_has_the_scheduled_number_of_instructions(kernel):
    # 8 MMAs of 16, 8 loads of 2, 4 + 4 fragment loads of 8 and 4, 26 waits and priorities,
    # 16 barriers: counted by hand from the listing.
    assert kernel("pingpong").gate.kernel_steps == 128 + 16 + 48 + 10 + 16 + 16


def test_the_accumulators_of_the_four_wave_kernel_are_never_copied(kernel):
    _, _, from_loop = kernel("fourwave").assembly.partition("s_cbranch")
    assert from_loop
    assert "v_accvgpr" not in from_loop
    assert kernel("fourwave").gate.resources.agprs == 256


@pytest.mark.parametrize("after", [False, True])
def test_products_that_are_not_waited_for_are_seen(kernel, after):
    """256x256 over four waves with 16x16 products written out: LLVM adds no wait states."""
    emitted = kernel("fourwave-16x16")
    assert emitted.gate.resources.agprs == 256
    assert "v_accvgpr" not in emitted.assembly.partition("s_cbranch")[2]
    product = re.search(r"\tv_mfma\S+ a\[(\d+):\S+ v\[(\d+):.*\n", emitted.assembly)
    early = (
        f"\tv_accvgpr_read_b32 v0, a{product[1]}\n" if after else f"\tv_mov_b32 v{product[2]}, 0\n"
    )
    at = product.end() if after else product.start()
    mutant = emitted.assembly[:at] + early + emitted.assembly[at:]
    report = check_isa(emitted.plan, mutant)
    assert any("wait states after" in d for d in report.differences)


def test_compiler_waits_are_counted_only_where_the_document_leaves_them(kernel):
    assert kernel("single-buffer").gate.compiler_waits > 0
    assert kernel("pingpong").gate.compiler_waits == 0


MUTANTS = {
    "a wait weakened": (r"vmcnt\(6\)", "vmcnt(7)"),
    "a wait strengthened": (r"vmcnt\(6\)", "vmcnt(5)"),
    "a wait dropped": (r"\ts_waitcnt lgkmcnt\(8\)\n", ""),
    "a barrier dropped": (r"\ts_barrier\n\ts_waitcnt", "\ts_waitcnt"),
    "a priority changed": (r"s_setprio 1", "s_setprio 2"),
    "a read lost": (r"\tds_read_b128 .*\n", ""),
    "a load lost": (r"\tbuffer_load_dwordx4 .* lds\n", ""),
    "a matrix instruction lost": (r"\tv_mfma.*\n", ""),
    "a wait added": (r"(\tv_mfma.*\n)", r"\ts_waitcnt vmcnt(3)\n\1"),
    "a spill": (r"(\tv_mfma.*\n)", r"\tscratch_store_dword off, v1, s0\n\1"),
    "spills in the metadata": (r"vgpr_spill_count: 0", "vgpr_spill_count: 3"),
}


@pytest.mark.parametrize("what", MUTANTS)
def test_the_gate_sees(kernel, what):
    emitted = kernel("pingpong")
    pattern, into = MUTANTS[what]
    found = [m.start() for m in re.finditer(pattern, emitted.assembly)]
    cut = found[len(found) // 2]  # somewhere in the middle
    mutant = emitted.assembly[:cut] + re.sub(pattern, into, emitted.assembly[cut:], count=1)
    assert mutant != emitted.assembly
    report = check_isa(emitted.plan, mutant)
    assert not report.exact
    assert report.differences


def test_two_reordered_instructions_are_seen(kernel):
    emitted = kernel("pingpong")
    lines = emitted.assembly.split("\n")
    at = next(i for i, s in enumerate(lines) if "s_setprio 1" in s and "v_mfma" in lines[i + 1])
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    assert not check_isa(emitted.plan, "\n".join(lines)).exact


def test_the_report_shows_both_sides(kernel):
    emitted = kernel("pingpong")
    mutant = emitted.assembly.replace("vmcnt(6)", "vmcnt(7)", 1)
    report = check_isa(emitted.plan, mutant)
    with pytest.raises(BackendError) as caught:
        report.require()
    text = str(caught.value)
    assert "WAIT_VM(6)" in text
    assert "s_waitcnt vmcnt(7)" in text
    assert re.search(r"! s_waitcnt vmcnt\(6\) .* \| line \d+: s_waitcnt vmcnt\(7\)", text)


def test_the_reference_four_wave_waits_do_not_reach_the_code_unchanged(kernel):
    # LLVM repairs the missing register wait by itself; only the comparison shows it.
    report = kernel("fourwave-reference").gate
    assert not report.exact
    assert any("MMA[0,0]" in d and "> " in d for d in report.differences)
