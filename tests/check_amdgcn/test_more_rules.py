"""Further rules: each right form is clean, the changed one is found."""

import numpy as np
import pytest

from warploom.report import Verdict

from .small import BUFFER, verdict_of

STORE = "\n\tglobal_store_dword v1, v4, s[6:7]\n"
M0 = "\ts_lshl_b32 s12, s3, 2\n\ts_mov_b32 m0, s12\n\ts_nop 0\n"

# name: (right form, the part that is changed, what it becomes, code of the finding)
RULES = {
    "the address of a load is itself in flight": (
        "\tglobal_load_dword v5, v1, s[4:5]\n\ts_waitcnt vmcnt(0)\n\tv_and_b32_e32 v5, 0xfc, v5\n"
        "\tglobal_load_dword v4, v5, s[4:5]\n\ts_waitcnt vmcnt(0)" + STORE,
        "\ts_waitcnt vmcnt(0)\n\tv_and_b32_e32 v5, 0xfc, v5\n", "", "register"),
    "the address of an LDS read comes from an LDS read": (
        "\tds_write_b32 v1, v1\n\tds_read_b32 v5, v1\n\ts_waitcnt lgkmcnt(0)\n"
        "\tds_read_b32 v4, v5\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_waitcnt lgkmcnt(0)\n\tds_read_b32 v4", "\tds_read_b32 v4", "register"),
    "data of an LDS write in flight": (
        "\tglobal_load_dword v4, v1, s[4:5]\n\ts_waitcnt vmcnt(0)\n\tds_write_b32 v1, v4" + STORE,
        "\ts_waitcnt vmcnt(0)\n", "", "register"),
    "an accumulation register in flight": (
        "\tglobal_load_dword a4, v1, s[4:5]\n\ts_waitcnt vmcnt(0)\n"
        "\tv_accvgpr_read_b32 v4, a4" + STORE,
        "\ts_waitcnt vmcnt(0)\n", "", "register"),
    "an accumulation register read from LDS": (
        "\tds_write_b32 v1, v1\n\tds_read_b32 a4, v1\n\ts_waitcnt lgkmcnt(0)\n"
        "\tv_accvgpr_read_b32 v4, a4" + STORE,
        "\ts_waitcnt lgkmcnt(0)\n", "", "register"),
    "a factor of a matrix instruction in flight": (
        "\tglobal_load_dwordx2 v[8:9], v1, s[4:5]\n\ts_waitcnt vmcnt(0)\n"
        "\tv_mfma_f32_16x16x16_f16 v[16:19], v[8:9], v[8:9], 0\n\ts_nop 15\n"
        "\tv_mov_b32_e32 v4, v16" + STORE,
        "\ts_waitcnt vmcnt(0)\n", "", "register"),
    "a matrix result over a register in flight": (
        "\tv_mov_b32_e32 v8, 0\n\tv_mov_b32_e32 v9, 0\n"
        "\tglobal_load_dwordx2 v[16:17], v1, s[4:5]\n\ts_waitcnt vmcnt(0)\n\ts_nop 1\n"
        "\tv_mfma_f32_16x16x16_f16 v[16:19], v[8:9], v[8:9], 0\n\ts_nop 15\n"
        "\tv_mov_b32_e32 v4, v16" + STORE,
        "\ts_waitcnt vmcnt(0)\n", "", "register"),
    "a flat load needs both counters": (
        "\tv_mov_b32_e32 v6, s4\n\tv_mov_b32_e32 v7, s5\n"
        "\tflat_load_dword v4, v[6:7]\n\ts_waitcnt vmcnt(0) lgkmcnt(0)" + STORE,
        "vmcnt(0) lgkmcnt(0)", "vmcnt(0)", "register"),
    "a flat load returns out of order": (
        "\tv_mov_b32_e32 v6, s4\n\tv_mov_b32_e32 v7, s5\n\tflat_load_dword v4, v[6:7]\n"
        "\tglobal_load_dword v5, v1, s[4:5]\n\ts_waitcnt vmcnt(0) lgkmcnt(0)" + STORE,
        "vmcnt(0) lgkmcnt(0)", "vmcnt(1) lgkmcnt(0)", "register"),
    "a store between counts as well": (
        "\tglobal_load_dword v4, v1, s[4:5]\n\tglobal_store_dword v1, v1, s[6:7] offset:1024\n"
        "\ts_waitcnt vmcnt(1)" + STORE,
        "vmcnt(1)", "vmcnt(2)", "register"),
    "the old value of an atomic": (
        "\tv_mov_b32_e32 v5, 1\n\tglobal_atomic_add v4, v1, v5, s[6:7] offset:2048 sc0\n"
        "\ts_waitcnt vmcnt(0)" + STORE,
        "\ts_waitcnt vmcnt(0)", "", "register"),
    "the old value of a buffer atomic": (
        BUFFER.replace("s4", "s6").replace("s5", "s7")
        + "\tv_mov_b32_e32 v4, 1\n\tbuffer_atomic_add v4, v1, s[8:11], 0 offen offset:2048 sc0\n"
        "\ts_waitcnt vmcnt(0)" + STORE,
        "\ts_waitcnt vmcnt(0)", "", "register"),
    "the old value of an LDS atomic": (
        "\tds_write_b32 v1, v1\n\tds_add_rtn_u32 v4, v1, v1\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_waitcnt lgkmcnt(0)", "", "register"),
    "a scalar load to vcc before a branch": (
        "\ts_load_dwordx2 vcc, s[4:5], 0x0\n\ts_waitcnt lgkmcnt(0)\n\ts_cbranch_vccz .Lend\n"
        "\tv_mov_b32_e32 v4, 0" + STORE + ".Lend:\n",
        "\ts_waitcnt lgkmcnt(0)\n\ts_cbranch", "\ts_cbranch", "register"),
    "a scalar register in flight is overwritten": (
        "\ts_load_dword s12, s[4:5], 0x0\n\ts_waitcnt lgkmcnt(0)\n\ts_mov_b32 s12, 0\n"
        "\tv_mov_b32_e32 v4, s12" + STORE,
        "\ts_waitcnt lgkmcnt(0)\n", "", "register"),
    "two scalar loads to one register": (
        "\ts_load_dword s12, s[4:5], 0x0\n\ts_waitcnt lgkmcnt(0)\n\ts_load_dword s12, s[4:5], 0x4\n"
        "\ts_waitcnt lgkmcnt(0)\n\tv_mov_b32_e32 v4, s12" + STORE,
        "\ts_waitcnt lgkmcnt(0)\n\ts_load_dword s12, s[4:5], 0x4",
        "\ts_load_dword s12, s[4:5], 0x4", "register"),
    "a buffer descriptor in flight": (
        "\ts_load_dwordx4 s[8:11], s[0:1], 0x0\n\ts_waitcnt lgkmcnt(0)\n"
        "\ts_and_b32 s9, s5, 0xffff\n\ts_mov_b32 s10, 0x4000\n\ts_mov_b32 s11, 0x27000\n"
        "\tbuffer_load_dword v4, v1, s[8:11], 0 offen\n\ts_waitcnt vmcnt(0)" + STORE,
        "\ts_waitcnt lgkmcnt(0)\n\ts_and_b32 s9, s5", "\ts_and_b32 s9, s5", "register"),
    "swizzle before use": (
        "\tds_swizzle_b32 v4, v1 offset:swizzle(SWAP,1)\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_waitcnt lgkmcnt(0)", "", "register"),
    "push between lanes before use": (
        "\tds_permute_b32 v4, v2, v1\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_waitcnt lgkmcnt(0)", "", "register"),
    "a private access before use": (
        "\tscratch_store_dword off, v1, off\n\tscratch_load_dword v4, off, off\n"
        "\ts_waitcnt vmcnt(0)" + STORE,
        "\ts_waitcnt vmcnt(0)", "", "register"),
    "an LDS atomic and a plain read": (
        "\tv_mov_b32_e32 v5, 0\n\tds_write_b32 v1, v5\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n"
        "\tds_add_u32 v2, v1\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32 v4, v1\n"
        "\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_barrier\n\tds_read_b32", "\tds_read_b32", "-LDS"),
    "paired LDS writes and reads": (
        "\tds_write2_b32 v1, v1, v2 offset0:0 offset1:128\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n"
        "\tds_read2st64_b32 v[4:5], v2 offset0:0 offset1:2\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_waitcnt lgkmcnt(0)\n\ts_barrier", "\ts_barrier", "RAW-LDS"),
    "bytes of LDS": (
        "\tds_write_b8 v0, v1\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tv_xor_b32_e32 v5, 0x40, v0\n"
        "\tds_read_u8 v4, v5\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_barrier\n", "", "-LDS"),
    "LDS-DMA through a global address": (
        M0 + "\tglobal_load_lds_dword v1, s[4:5]\n\ts_waitcnt vmcnt(0)\n\ts_barrier\n"
        "\tds_read_b32 v4, v2\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_waitcnt vmcnt(0)\n", "", "RAW-LDS"),
    "LDS-DMA over what another wave still reads": (
        BUFFER + M0 + "\tds_write_b32 v1, v1\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n"
        "\tds_read_b32 v4, v2\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n"
        "\tbuffer_load_dword v1, s[8:11], 0 offen lds\n\ts_waitcnt vmcnt(0)" + STORE,
        "\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tbuffer", "\ts_barrier\n\tbuffer", "WAR-LDS"),
    "a store to LDS behind an LDS-DMA to the same place": (
        BUFFER + M0 + "\tbuffer_load_dword v1, s[8:11], 0 offen lds\n\ts_waitcnt vmcnt(0)\n"
        "\tds_write_b32 v1, v1\n\tds_read_b32 v4, v1\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_waitcnt vmcnt(0)\n", "", "WAW-LDS"),
    "only one of two LDS-DMA loads is waited for": (
        BUFFER + M0 + "\tbuffer_load_dword v1, s[8:11], 0 offen lds\n"
        "\tbuffer_load_dword v1, s[8:11], 0 offen offset:1024 lds\n\ts_waitcnt vmcnt(0)\n"
        "\ts_barrier\n\tds_read_b32 v4, v2 offset:1024\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "vmcnt(0)", "vmcnt(1)", "RAW-LDS"),
    "a raw count": (
        "\tglobal_load_dword v4, v1, s[4:5]\n\tglobal_load_dword v5, v1, s[4:5] offset:4\n"
        "\ts_waitcnt 0xf71\n\tv_add_u32_e32 v4, 1, v4" + STORE,
        "0xf71", "0xf72", "register"),
    "a decimal raw count": (
        "\tds_write_b32 v1, v1\n\tds_read_b32 v4, v1\n\ts_waitcnt 49279" + STORE,
        "49279", "53119", "register"),
    "a scalar load of what the wave has stored": (
        "\tv_mov_b32_e32 v5, 0\n\tv_mov_b32_e32 v6, 7\n"
        "\tglobal_store_dword v5, v6, s[6:7] offset:1024\n"
        "\ts_waitcnt vmcnt(0)\n\ts_dcache_inv\n\ts_load_dword s12, s[6:7], 0x400\n"
        "\ts_waitcnt lgkmcnt(0)\n\tv_mov_b32_e32 v4, s12" + STORE,
        "\ts_waitcnt vmcnt(0)\n", "", "race-global"),
    "a loop that waits for the wrong iteration": (
        BUFFER + M0 + "\ts_mov_b32 s13, 0\n\tbuffer_load_dword v1, s[8:11], 0 offen lds\n"
        ".Lloop:\n\ts_waitcnt vmcnt(0)\n\ts_barrier\n\tds_read_b32 v4, v2\n"
        "\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tbuffer_load_dword v1, s[8:11], 0 offen lds\n"
        "\ts_add_i32 s13, s13, 1\n\ts_cmp_lt_u32 s13, 3\n\ts_cbranch_scc1 .Lloop\n"
        "\ts_waitcnt vmcnt(0)" + STORE,
        ".Lloop:\n\ts_waitcnt vmcnt(0)", ".Lloop:\n\ts_waitcnt vmcnt(1)", "RAW-LDS"),
}  # fmt: skip
PRIVATE = {"a private access before use"}
ALONE = {"a scalar load of what the wave has stored"}


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("name", RULES)
def test_the_right_form_is_clean_and_the_wrong_one_is_found(name, target):
    right, part, becomes, code = RULES[name]
    assert right.count(part) >= 1
    more = {"private": 16} if name in PRIVATE else {"threads": 64} if name in ALONE else {}
    report = verdict_of(right, target=target, **more)
    assert report.verdict is Verdict.CLEAN, str(report)
    report = verdict_of(right.replace(part, becomes, 1), target=target, **more)
    assert report.verdict is not Verdict.CLEAN
    assert not report.unsupported
    assert any(code in f.code for f in report.findings), str(report)


def test_transposed_reads_of_lds_are_reads():
    right = (
        "\tv_lshlrev_b32_e32 v5, 3, v0\n\tv_xor_b32_e32 v6, 0x200, v5\n\tds_write_b64 v5, v[2:3]\n"
        "\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b64_tr_b16 v[4:5], v6\n"
        "\ts_waitcnt lgkmcnt(0)" + STORE
    )
    assert verdict_of(right).verdict is Verdict.CLEAN
    for part in ("\ts_waitcnt lgkmcnt(0)\n\ts_barrier", "\ts_barrier\n"):
        assert verdict_of(right.replace(part, "\ts_nop 0\n", 1)).verdict is Verdict.RACE
    late = right.replace("\ts_waitcnt lgkmcnt(0)\n\tglobal", "\tglobal")
    assert verdict_of(late).verdict is Verdict.RACE


def test_a_wave_may_end_before_the_others_reach_a_barrier():
    body = (
        "\ts_cmp_eq_u32 s3, 0\n\ts_cbranch_scc0 .Lend\n\tds_write_b32 v1, v1\n"
        "\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32 v4, v1\n\ts_waitcnt lgkmcnt(0)"
        + STORE + ".Lend:\n"
    )  # fmt: skip
    report = verdict_of(body)
    assert report.verdict is Verdict.CLEAN
    assert any(a.startswith("exited_waves=on") for a in report.assumes)
    assert verdict_of(body, axioms={"exited_waves": False}).verdict is Verdict.DEADLOCK


def test_a_wave_that_goes_around_a_barrier_and_works_on_is_a_deadlock():
    body = (
        "\ts_cmp_eq_u32 s3, 0\n\ts_cbranch_scc1 .Lend\n\ts_barrier\n.Lend:\n"
        "\tv_mov_b32_e32 v4, 0" + STORE
    )
    assert verdict_of(body).verdict is Verdict.DEADLOCK


def test_an_ended_wave_orders_nothing_for_the_others():
    body = (
        "\ts_cmp_eq_u32 s3, 0\n\tds_write_b32 v1, v1\n\ts_waitcnt lgkmcnt(0)\n"
        "\ts_cbranch_scc0 .Lend\n\ts_barrier\n\tds_read_b32 v4, v2\n\ts_waitcnt lgkmcnt(0)"
        + STORE + ".Lend:\n"
    )  # fmt: skip
    assert verdict_of(body).verdict in (Verdict.RACE, Verdict.DEADLOCK)


def test_the_order_of_dma_is_named_wherever_there_is_dma():
    body = BUFFER + M0 + "\tbuffer_load_dword v1, s[8:11], 0 offen lds\n\ts_waitcnt vmcnt(0)\n"
    report = verdict_of(body)
    assert any(a.startswith("vm_order=on") for a in report.assumes)
    assert any("Turned off, the verdict is the same" in a for a in report.assumes)


def test_every_dword_of_a_buffer_access_has_its_own_range():
    """Ranges are checked dword by dword; half a dword behind the end is not guessed at."""
    load = "\tbuffer_load_dwordx4 v[4:7], v3, s[8:11], 0 offen\n\ts_waitcnt vmcnt(0)\n"
    wide = (
        BUFFER.replace("0x10000", "0x1fc") + load + ("\tglobal_store_dwordx4 v3, v[4:7], s[6:7]\n")
    )

    def expected(x, y):
        return np.where(np.arange(4096) < 127, x, 0)

    report = verdict_of(wide, against=expected)
    assert report.verdict is Verdict.CLEAN, str(report)
    assert report.figures["bytes read"] < 16 * 128
    to_y = BUFFER.replace("s4", "s6").replace("s5", "s7").replace("0x10000", "0x1fc")
    store = (
        "\tglobal_load_dwordx4 v[4:7], v3, s[4:5]\n\ts_waitcnt vmcnt(0)\n"
        + to_y
        + ("\tbuffer_store_dwordx4 v[4:7], v3, s[8:11], 0 offen\n")
    )
    assert verdict_of(store, against=expected).verdict is Verdict.CLEAN
    half = BUFFER.replace("0x10000", "0x1fd") + load.replace("dwordx4 v[4:7]", "dword v4")
    assert verdict_of(half + STORE).verdict is Verdict.CLEAN  # sixteen bytes apart: none straddles
    short = BUFFER.replace("0x10000", "0x1fe") + load.replace("dwordx4 v[4:7], v3", "dword v4, v1")
    assert verdict_of(short + STORE).verdict is Verdict.UNSUPPORTED


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("ds_read_b64_tr_b16 v[4:5], v1", "gfx942"),
        ("global_load_lds_dwordx4 v3, s[4:5]", "gfx942"),
        ("v_permlane32_swap_b32 v4, v5", "gfx942"),
        ("v_mfma_f32_16x16x32_bf16 v[16:19], v[8:11], v[8:11], 0", "gfx942"),
        ("v_mfma_f32_16x16x8_xf32 v[16:19], v[8:9], v[8:9], 0", "gfx950"),
    ],
)
def test_instructions_of_another_target_are_invalid(line, target):
    report = verdict_of(f"\ts_cbranch_execz .Lend\n\t{line}\n.Lend:\n", target=target)
    assert report.verdict is Verdict.INVALID
    assert any(f.code == "no-such-instruction" for f in report.findings)
    other = "gfx950" if target == "gfx942" else "gfx942"
    found = verdict_of(f"\ts_nop 1\n\t{line}\n", target=other)
    assert not any(f.code == "no-such-instruction" for f in found.findings)


def test_more_reads_than_the_counter_counts_give_both_verdicts():
    reads = "".join(f"\tds_read_b32 v{20 + i}, v1\n" for i in range(16))
    body = "\tds_write_b32 v1, v1\n" + reads + "\tv_mov_b32_e32 v4, v20" + STORE
    report = verdict_of(body)
    assert report.verdict is Verdict.CLEAN
    assert any("counter_stall=on" in a and a.endswith("is race.") for a in report.assumes)
    assert verdict_of(body, axioms={"counter_stall": False}).verdict is Verdict.RACE
    assert verdict_of(body.replace("v4, v20", "v4, v21")).verdict is Verdict.RACE
    # fifteen in flight: the next one is held back before it reads its operand
    data = "\tds_write_b32 v1, v1\n\ts_waitcnt lgkmcnt(0)\n" + "".join(reads.splitlines(True)[:15])
    end = "\ts_waitcnt lgkmcnt(0)\n\tv_mov_b32_e32 v4, v20" + STORE
    assert verdict_of(data + "\tds_write_b32 v1, v20 offset:1024\n" + end).verdict is Verdict.CLEAN
    assert verdict_of(data + "\tds_write_b32 v1, v21 offset:1024\n" + end).verdict is Verdict.RACE
    # a scalar load among them: nobody knows which one has retired
    mixed = body.replace("\tds_read_b32 v21, v1\n", "\ts_load_dword s12, s[4:5], 0x0\n")
    assert verdict_of(mixed).verdict is Verdict.RACE


def test_a_failed_assertion_of_the_kernel_is_invalid():
    assert verdict_of("\ts_trap 2\n").verdict is Verdict.INVALID
    assert verdict_of("\ts_cbranch_execnz .Lend\n\ts_trap 2\n.Lend:\n").verdict is Verdict.CLEAN


def test_a_racing_read_of_global_memory_counts_when_a_result_depends_on_it():
    """Both waves load the same words, the first stores them back: the second's copy is spare."""
    spare = (
        "\tv_and_b32_e32 v5, 0xff, v1\n\tglobal_load_dword v4, v5, s[6:7]\n"
        "\ts_waitcnt vmcnt(0)\n\tv_add_u32_e32 v4, 1, v4\n\tv_cmp_gt_u32_e32 vcc, 64, v0\n"
        "\ts_and_saveexec_b64 s[12:13], vcc\n\tglobal_store_dword v5, v4, s[6:7]\n"
    )
    report = verdict_of(spare)
    assert report.verdict is Verdict.CLEAN, str(report)
    assert [f.code for f in report.findings] == ["dead-read"]
    used = spare + (
        "\ts_or_b64 exec, exec, s[12:13]\n\tglobal_store_dword v1, v4, s[6:7] offset:1024\n"
    )
    assert verdict_of(used).verdict is Verdict.RACE


LOCKED = """
	v_mov_b32_e32 v5, 0
	v_mov_b32_e32 v6, 1
	global_store_dword v1, v1, s[6:7] offset:512
	{wait}
	s_barrier
	s_cmp_eq_u32 s3, 0
	s_cbranch_scc0 .Lwait
	s_cmp_eq_u32 s2, 0
	s_cbranch_scc0 .Lread
	{release}
	global_atomic_add v5, v6, s[6:7]
	s_branch .Lwait
.Lread:
	global_load_dword v7, v5, s[6:7] sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc1
	v_readfirstlane_b32 s12, v7
	s_cmp_eq_u32 s12, 0
	s_cbranch_scc1 .Lread
	global_load_dword v4, v2, s[6:7] offset:512
	s_waitcnt vmcnt(0)
	global_store_dword v1, v4, s[6:7] offset:2048
.Lwait:
"""
WRITE_BACK = "buffer_wbl2 sc1\n\ts_waitcnt vmcnt(0)"


@pytest.mark.parametrize(
    ("wait", "release", "order", "verdict"),
    [
        ("s_waitcnt vmcnt(0)", WRITE_BACK, False, Verdict.CLEAN),
        ("s_nop 0", WRITE_BACK, True, Verdict.CLEAN),
        ("s_nop 0", WRITE_BACK, False, Verdict.RACE),
        ("s_waitcnt vmcnt(0)", "s_nop 0", True, Verdict.RACE),
    ],
)
def test_one_wave_releases_what_the_others_stored(wait, release, order, verdict):
    body = LOCKED.format(wait=wait, release=release)
    body = body.replace(
        "\tglobal_store_dword v1, v1, s[6:7] offset:512\n",
        "\ts_cmp_eq_u32 s2, 0\n\ts_cbranch_scc0 .Lskip\n"
        "\tglobal_store_dword v1, v1, s[6:7] offset:512\n.Lskip:\n",
    )
    report = verdict_of(body, grid=2, axioms={"cu_order": order})
    assert report.verdict is verdict, str(report)


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("\ts_dcache_inv\n", Verdict.CLEAN),
        ("", Verdict.RACE),
    ],
)
def test_a_scalar_load_of_a_line_that_its_cache_may_still_hold(between, expected):
    """The first load brings the line in; the store does not change it there."""
    load = "\ts_load_dword s{}, s[6:7], 0x0\n\ts_waitcnt lgkmcnt(0)\n"
    body = (
        load.format(12) + "\tv_mov_b32_e32 v9, 0\n\tv_mov_b32_e32 v4, 7\n"
        "\tglobal_store_dword v9, v4, s[6:7]\n\ts_waitcnt vmcnt(0)\n" + between + load.format(13)
        + "\tv_mov_b32_e32 v4, s13\n\tglobal_store_dword v1, v4, s[6:7] offset:1024\n"
    )  # fmt: skip
    report = verdict_of(body, threads=64)
    assert report.verdict is expected, report.text()
    without = body.replace(load.format(12), "", 1).replace(between, "", 1)
    assert verdict_of(without, threads=64).verdict is Verdict.CLEAN  # nothing is in the cache
