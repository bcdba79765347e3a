"""Classes of bugs between workgroups, of counters, halves of registers and LDS: right and wrong."""

import numpy as np
import pytest

from warploom.report import Verdict

from .small import BUFFER, verdict_of

BOTH = ("gfx942", "gfx950")
STORE = "\n\tglobal_store_dword v1, v4, s[6:7]\n"
CLEAN, RACE, DEADLOCK, INVALID = (
    Verdict.CLEAN, Verdict.RACE, Verdict.DEADLOCK, Verdict.INVALID,
)  # fmt: skip
WRITE_BACK = "buffer_wbl2 sc1\n\ts_waitcnt vmcnt(0)"
NOTHING = "s_nop 0"

# One workgroup stores and sets a flag, another polls it and loads.
FLAG = """
	v_mov_b32_e32 v5, 0
	v_mov_b32_e32 v6, 1
	s_cmp_eq_u32 s2, 0
	s_cbranch_scc0 .Lread
	global_store_dword v1, v1, s[6:7] offset:512{stored}
	{wait}
	s_barrier
	s_cmp_eq_u32 s3, 0
	s_cbranch_scc0 .Lend
	{release}
	global_store_dword v5, v6, s[6:7]{flag}
	s_branch .Lend
.Lread:
	global_load_dword v7, v5, s[6:7]{polled}
	{looked}
	{acquire}
	v_readfirstlane_b32 s12, v7
	s_cmp_eq_u32 s12, 0
	s_cbranch_scc1 .Lread
	global_load_dword v4, v2, s[6:7] offset:512{loaded}
	s_waitcnt vmcnt(0)
	global_store_dword v1, v4, s[6:7] offset:2048
.Lend:
"""
WAIT = "s_waitcnt vmcnt(0)"
FLAG_PARTS = {
    "stored": "", "wait": WAIT, "release": WRITE_BACK, "flag": " sc1", "polled": " sc1",
    "looked": WAIT, "acquire": "buffer_inv sc1", "loaded": "",
}  # fmt: skip
PAST_CACHES = {
    "stored": " sc0 sc1", "loaded": " sc0 sc1", "release": NOTHING, "acquire": NOTHING,
}  # fmt: skip
FLAGS = {
    "right": ({}, CLEAN),
    "not written back": ({"release": NOTHING}, RACE),
    "the write-back is not waited for": ({"release": "buffer_wbl2 sc1"}, RACE),
    "a write-back of a narrower scope": ({"release": WRITE_BACK.replace("sc1", "sc0")}, RACE),
    "not invalidated": ({"acquire": NOTHING}, RACE),
    "an invalidation of a narrower scope": ({"acquire": "buffer_inv sc0"}, RACE),
    "invalidated before the flag is back": (
        {"looked": "buffer_inv sc1", "acquire": WAIT}, RACE),
    "the flag is an ordinary store": ({"flag": ""}, RACE),
    "past the caches": (PAST_CACHES, CLEAN),
    "past the caches, not waited for": ({**PAST_CACHES, "wait": NOTHING}, RACE),
    "only the store goes past the caches": ({**PAST_CACHES, "loaded": ""}, RACE),
    "only the load goes past the caches": ({**PAST_CACHES, "stored": ""}, RACE),
}  # fmt: skip

# Workgroups store partial sums and draw a ticket; who draws the last one adds them up.
TICKET = """
	v_mov_b32_e32 v5, 0
	v_mov_b32_e32 v6, 1
	s_lshl_b32 s13, s2, 10
	v_add_u32_e32 v8, s13, v1
	global_store_dword v8, v1, s[6:7] offset:1024
	{wait}
	s_barrier
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[16:17], vcc
	s_cbranch_execz .Lno
	{release}
	global_atomic_add v9, v5, v6, s[6:7] sc0
	{drawn}
	{acquire}
	ds_write_b32 v5, v9
	{written}
.Lno:
	s_mov_b64 exec, s[16:17]
	{barrier}
	ds_read_b32 v10, v5
	s_waitcnt lgkmcnt(0)
	v_readfirstlane_b32 s18, v10
	s_cmp_eq_u32 s18, 1
	s_cbranch_scc0 .Lend
	{later}
	global_load_dword v11, v1, s[6:7] offset:1024
	global_load_dword v12, v1, s[6:7] offset:2048
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v4, v11, v12
	global_store_dword v1, v4, s[6:7] offset:3072
.Lend:
"""
TICKET_PARTS = {
    "wait": WAIT, "release": WRITE_BACK, "drawn": WAIT, "acquire": "buffer_inv sc1",
    "written": "s_waitcnt lgkmcnt(0)", "barrier": "s_barrier", "later": NOTHING,
}  # fmt: skip
TICKETS = {
    "right": ({}, CLEAN),
    "every wave invalidates": ({"acquire": NOTHING, "later": "buffer_inv sc1"}, CLEAN),
    "not invalidated": ({"acquire": NOTHING}, RACE),
    "not released": ({"release": NOTHING}, RACE),
    "the ticket is used in flight": ({"drawn": NOTHING}, RACE),
    "the ticket's LDS write is not waited for": ({"written": NOTHING}, RACE),
    "no barrier before the ticket is read": ({"barrier": NOTHING}, RACE),
}


@pytest.mark.parametrize("target", BOTH)
@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_between_workgroups(name, target):
    parts, verdict = FLAGS[name]
    body = FLAG.format(**{**FLAG_PARTS, **parts})
    report = verdict_of(body, grid=2, target=target)
    assert report.verdict is verdict, str(report)


@pytest.mark.parametrize("name", TICKETS)
def test_a_ticket_between_workgroups(name):
    parts, verdict = TICKETS[name]
    body = TICKET.format(**{**TICKET_PARTS, **parts})
    report = verdict_of(body, grid=2)
    assert report.verdict is verdict, str(report)


SCALAR_FLAG = """
	s_cmp_eq_u32 s2, 0
	s_cbranch_scc0 .Lread
	global_store_dword v1, v1, s[6:7] offset:512{stored}
	{wait}
	s_barrier
	s_cmp_eq_u32 s3, 0
	s_cbranch_scc0 .Lend
	s_mov_b32 s12, 1
	s_store_dword s12, s[6:7], 0x0 glc
	s_branch .Lend
.Lread:
	s_load_dword s12, s[6:7], 0x0 glc
	s_waitcnt lgkmcnt(0)
	s_cmp_eq_u32 s12, 1
	s_cbranch_scc0 .Lread
	global_load_dword v4, v2, s[6:7] offset:512{loaded}
	s_waitcnt vmcnt(0)
	global_store_dword v1, v4, s[6:7] offset:2048
.Lend:
"""


@pytest.mark.parametrize(
    ("stored", "wait", "loaded", "verdict"),
    [
        (" sc0 sc1", WAIT, " sc0 sc1", CLEAN),
        (" sc0 sc1", WAIT, "", RACE),
        ("", WAIT, " sc0 sc1", RACE),
        (" sc0 sc1", NOTHING, " sc0 sc1", RACE),
    ],
)
def test_a_flag_that_the_scalar_unit_sets_and_polls(stored, wait, loaded, verdict):
    body = SCALAR_FLAG.format(stored=stored, wait=wait, loaded=loaded)
    report = verdict_of(body, grid=2, axioms={"cu_order": False})
    assert report.verdict is verdict, str(report)


def test_an_atomic_without_a_result_acquires_nothing():
    """Nobody looked at a value, so nothing says that the other workgroup was there before."""
    body = FLAG.format(**{**FLAG_PARTS, "polled": " sc1"}).replace(
        "\tglobal_load_dword v7, v5, s[6:7] sc1\n\ts_waitcnt vmcnt(0)\n",
        "\tglobal_atomic_or v5, v5, s[6:7]\n\tv_mov_b32_e32 v7, 1\n\ts_waitcnt vmcnt(0)\n",
    )
    assert verdict_of(body, grid=2).verdict is RACE


def loads(count):
    return "".join(f"\tglobal_load_dword v{20 + i}, v1, s[4:5]\n" for i in range(count))


GENERIC = "\tv_mov_b32_e32 v6, s6\n\tv_mov_b32_e32 v7, s7\n\tv_mov_b32_e32 v5, 1\n"
READ = "\tds_write_b32 v1, v1\n\tds_read_b32 v4, v1\n"
M0 = "\ts_lshl_b32 s12, s3, 2\n\ts_mov_b32 m0, s12\n\ts_nop 0\n"
TO_LDS = "\tbuffer_load_dword v1, s[8:11], 0 offen lds\n"
BACK = "\ts_waitcnt vmcnt(0)\n\ts_barrier\n\tds_read_b32 v4, v2\n\ts_waitcnt lgkmcnt(0)" + STORE
BODIES = {
    "expcnt covers no load": (
        "\tglobal_load_dword v4, v1, s[4:5]\n\ts_waitcnt expcnt(0)" + STORE, RACE),
    "the largest count waits for nothing": (
        loads(70) + "\ts_waitcnt vmcnt(63)\n\tv_mov_b32_e32 v4, v27" + STORE, RACE),
    "62 of 70 in flight": (
        loads(70) + "\ts_waitcnt vmcnt(62)\n\tv_mov_b32_e32 v4, v27" + STORE, CLEAN),
    "62 of 70 in flight, one too early": (
        loads(70) + "\ts_waitcnt vmcnt(62)\n\tv_mov_b32_e32 v4, v28" + STORE, RACE),
    "a scalar load beside an LDS read": (
        READ + "\ts_load_dword s12, s[4:5], 0x0\n\ts_waitcnt lgkmcnt(1)" + STORE, RACE),
    "a scalar load behind the wait": (
        READ + "\ts_waitcnt lgkmcnt(0)\n\ts_load_dword s12, s[4:5], 0x0" + STORE, CLEAN),
    "a flat load beside an LDS read": (
        GENERIC + READ + "\tflat_load_dword v8, v[6:7]\n\ts_waitcnt lgkmcnt(1)" + STORE, RACE),
    "a flat atomic": (GENERIC + "\tflat_atomic_add v[6:7], v5\n", CLEAN),
    "the old value of a flat atomic": (
        GENERIC + "\tflat_atomic_add v4, v[6:7], v5 sc0\n\ts_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "\tglobal_store_dword v1, v4, s[6:7] offset:1024\n", CLEAN),
    "the old value of a flat atomic, one counter": (
        GENERIC + "\tflat_atomic_add v4, v[6:7], v5 sc0\n\ts_waitcnt vmcnt(0)\n"
        "\tglobal_store_dword v1, v4, s[6:7] offset:1024\n", RACE),
    "a flat atomic in LDS": (
        "\tv_mov_b32_e32 v5, 0\n\tds_write_b32 v1, v5\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n"
        "\ts_mov_b64 s[12:13], src_shared_base\n\tv_mov_b32_e32 v7, s13\n\tv_mov_b32_e32 v6, v2\n"
        "\tflat_atomic_add v[6:7], v1\n\ts_waitcnt vmcnt(0) lgkmcnt(0)\n\ts_barrier\n"
        "\tds_read_b32 v4, v1\n\ts_waitcnt lgkmcnt(0)" + STORE, CLEAN),
    "a flat atomic in LDS without a barrier": (
        "\tv_mov_b32_e32 v5, 0\n\tds_write_b32 v1, v5\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n"
        "\ts_mov_b64 s[12:13], src_shared_base\n\tv_mov_b32_e32 v7, s13\n\tv_mov_b32_e32 v6, v2\n"
        "\tflat_atomic_add v[6:7], v1\n\ts_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "\tds_read_b32 v4, v1\n\ts_waitcnt lgkmcnt(0)" + STORE, RACE),
    "M0 moves between two LDS-DMA": (
        BUFFER + M0 + TO_LDS + "\ts_add_i32 m0, m0, 0x400\n\ts_nop 0\n" + TO_LDS + BACK, CLEAN),
    "M0 moves right before an LDS-DMA": (
        BUFFER + M0 + TO_LDS + "\ts_add_i32 m0, m0, 0x400\n" + TO_LDS + BACK, INVALID),
    "two waves with one M0": (
        BUFFER + "\ts_mov_b32 m0, 0\n\ts_nop 0\n" + TO_LDS + BACK.replace("v2", "v1"), RACE),
    "an LDS read is overwritten in flight": (
        READ + "\tv_mov_b32_e32 v4, 0\n\ts_waitcnt lgkmcnt(0)" + STORE, RACE),
    "halves of two registers": (
        "\tglobal_load_short_d16 v4, v1, s[4:5]\n\tglobal_load_short_d16_hi v5, v1, s[4:5] "
        "offset:2\n\ts_waitcnt vmcnt(0)\n\tv_or_b32_e32 v4, v4, v5" + STORE, CLEAN),
    "both halves of one register": (
        "\tglobal_load_short_d16 v4, v1, s[4:5]\n\ts_waitcnt vmcnt(0)\n"
        "\tglobal_load_short_d16_hi v4, v1, s[4:5] offset:2\n\ts_waitcnt vmcnt(0)" + STORE,
        INVALID),
    "halves from LDS to one register": (
        "\tds_write_b32 v1, v1\n\tds_read_u16_d16 v4, v1\n\tds_read_u16_d16_hi v4, v1 offset:2\n"
        "\ts_waitcnt lgkmcnt(0)" + STORE, INVALID),
    "a wave ends before it has written its part": (
        "\ts_cmp_eq_u32 s3, 0\n\ts_cbranch_scc0 .Lend\n\tds_write_b32 v1, v1\n"
        "\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32 v4, v2\n\ts_waitcnt lgkmcnt(0)"
        + STORE + ".Lend:\n", INVALID),
}  # fmt: skip


@pytest.mark.parametrize("target", BOTH)
@pytest.mark.parametrize("name", BODIES)
def test_counters_halves_and_lds(name, target):
    body, verdict = BODIES[name]
    report = verdict_of(body, target=target)
    assert report.verdict is verdict, str(report)


def test_halves_are_kept_where_the_target_has_no_ecc():
    body, _ = BODIES["both halves of one register"]
    assert verdict_of(body, target="gfx942:sramecc-").verdict is CLEAN
    apart, _ = BODIES["halves of two registers"]
    copied = verdict_of(apart, against=lambda x, y: np.where(np.arange(4096) < 128, x, 0))
    assert copied.verdict is CLEAN, str(copied)


def test_lds_that_nobody_wrote_counts_where_a_result_depends_on_it():
    read = "\tds_read_b32 v4, v1\n\ts_waitcnt lgkmcnt(0)\n"
    assert verdict_of(read + "\tv_mov_b32_e32 v4, 0" + STORE).verdict is CLEAN
    report = verdict_of(read + STORE)
    assert report.verdict is INVALID
    assert [f.code for f in report.findings] == ["unwritten-LDS"]


SCALAR_STORE = """
	s_mov_b32 s12, 7
	s_store_dword s12, s[6:7], 0x400
	{back}
	{wait}
	v_mov_b32_e32 v5, 0
	global_load_dword v4, v5, s[6:7] offset:1024
	s_waitcnt vmcnt(0)
"""


@pytest.mark.parametrize(
    ("back", "wait", "verdict"),
    [
        ("s_dcache_wb", "s_waitcnt lgkmcnt(0)", CLEAN),
        ("s_dcache_wb", NOTHING, RACE),
        (NOTHING, "s_waitcnt lgkmcnt(0)", RACE),
    ],
)
def test_scalar_stores_go_to_a_cache_of_their_own(back, wait, verdict):
    body = SCALAR_STORE.format(back=back, wait=wait) + STORE
    report = verdict_of(body, threads=64, target="gfx942")
    assert report.verdict is verdict, str(report)
    left = "\ts_mov_b32 s12, 7\n\ts_store_dword s12, s[6:7], 0x400\n"
    assert verdict_of(left, threads=64).verdict is INVALID
    assert verdict_of(left + "\ts_dcache_wb\n", threads=64).verdict is CLEAN


@pytest.mark.parametrize(
    "line",
    [
        "s_waitcnt_vscnt null, 0x0", "s_wait_loadcnt 0x0", "s_waitcnt_depctr 0xfff",
        "s_barrier_signal -1", "ds_add_u32 v1, v1 gds",
    ],
)  # fmt: skip
def test_waits_of_other_generations_are_no_instructions_here(line):
    report = verdict_of(f"\t{line}\n", target="gfx942")
    assert report.verdict is INVALID
    assert any(f.code == "no-such-instruction" for f in report.findings)


def test_a_negative_base_of_lds_with_an_offset():
    """Compilers fold a constant into the offset of an address that counts down."""
    body = (
        "\tds_write_b32 v1, v1\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tv_sub_u32_e32 v5, 0, v1\n"
        "\tds_read_b32 v4, v5 offset:508\n\ts_waitcnt lgkmcnt(0)" + STORE
    )
    report = verdict_of(body)
    assert report.verdict is CLEAN, str(report)
    assert verdict_of(body.replace("offset:508", "offset:65532")).verdict is INVALID


def test_lanes_of_a_global_store_that_meet():
    body = "\tv_and_b32_e32 v5, -8, v1\n\tglobal_store_dword v5, {}, s[6:7]\n"
    report = verdict_of(body.format("v1"))
    assert report.verdict is RACE
    assert [f.code for f in report.defects()] == ["lanes"]
    assert verdict_of(body.format("v5")).verdict is CLEAN


LOCK = """
	v_mov_b32_e32 v5, 0
	v_mov_b32_e32 v6, 1
	v_mov_b32_e32 v7, 0
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[16:17], vcc
	s_cbranch_execz .Lend
.Lloop:
	global_atomic_cmpswap v8, v5, v[6:7], s[6:7] sc0
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s12, v8
	s_cmp_eq_u32 s12, 0
	s_cbranch_scc0 .Lloop
	buffer_inv sc1
	{}
.Lend:
"""


@pytest.mark.parametrize("target", BOTH)
def test_a_lock_that_nobody_frees_is_a_deadlock(target):
    """Who polls with an atomic that changes nothing is seen to poll, and lets others go first."""
    freed = "s_waitcnt vmcnt(0)\n\tglobal_atomic_swap v5, v7, s[6:7] sc1"
    given = {"target": target, "threads": 64, "grid": 2}
    assert verdict_of(LOCK.format(freed), **given).verdict is CLEAN
    report = verdict_of(LOCK.format("s_nop 0"), **given)
    assert report.verdict is DEADLOCK
    assert report.figures["instructions"] < 2000
