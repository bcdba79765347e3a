"""Each rule of counters, barriers, registers and LDS: wrong forms found, right ones clean."""

import numpy as np
import pytest

from warploom.report import Verdict

from .small import BUFFER, verdict_of

STORE = "\n\tglobal_store_dword v1, v4, s[6:7]\n"

# name: (right form, the line that is changed, what it becomes, code of the finding)
RULES = {
    "register of a global load": (
        "\tglobal_load_dword v4, v1, s[4:5]\n\ts_waitcnt vmcnt(0)\n\tv_add_u32_e32 v4, 1, v4"
        + STORE,
        "\ts_waitcnt vmcnt(0)\n",
        "",
        "register",
    ),
    "partial count for the older of two loads": (
        "\tglobal_load_dword v4, v1, s[4:5]\n\tglobal_load_dword v5, v1, s[4:5] offset:4\n"
        "\ts_waitcnt vmcnt(1)\n\tv_add_u32_e32 v4, 1, v4" + STORE,
        "vmcnt(1)",
        "vmcnt(2)",
        "register",
    ),
    "overwriting a register in flight": (
        "\tglobal_load_dword v4, v1, s[4:5]\n\ts_waitcnt vmcnt(0)\n\tv_mov_b32_e32 v4, 0" + STORE,
        "\ts_waitcnt vmcnt(0)\n",
        "",
        "register",
    ),
    "a store of a register in flight": (
        "\tglobal_load_dword v4, v1, s[4:5]\n\ts_waitcnt vmcnt(0)" + STORE,
        "\ts_waitcnt vmcnt(0)",
        "",
        "register",
    ),
    "scalar load": (
        "\ts_load_dword s12, s[4:5], 0x0\n\ts_waitcnt lgkmcnt(0)\n\tv_mov_b32_e32 v4, s12" + STORE,
        "\ts_waitcnt lgkmcnt(0)\n",
        "",
        "register",
    ),
    "scalar loads return out of order": (
        "\ts_load_dword s12, s[4:5], 0x0\n\ts_load_dword s13, s[4:5], 0x4\n"
        "\ts_waitcnt lgkmcnt(0)\n\tv_mov_b32_e32 v4, s12" + STORE,
        "lgkmcnt(0)",
        "lgkmcnt(1)",
        "register",
    ),
    "an LDS read beside a scalar load": (
        "\tds_write_b32 v1, v1\n\tds_read_b32 v4, v1\n\ts_load_dword s12, s[4:5], 0x0\n"
        "\ts_waitcnt lgkmcnt(0)\n\tv_add_u32_e32 v4, 1, v4" + STORE,
        "lgkmcnt(0)",
        "lgkmcnt(1)",
        "register",
    ),
    "LDS read before use": (
        "\tds_write_b32 v1, v1\n\tds_read_b32 v4, v1\n\ts_waitcnt lgkmcnt(0)\n"
        "\tv_add_u32_e32 v4, 1, v4" + STORE,
        "\ts_waitcnt lgkmcnt(0)\n",
        "",
        "register",
    ),
    "exchange of lanes before use": (
        "\tds_bpermute_b32 v4, v2, v1\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_waitcnt lgkmcnt(0)",
        "",
        "register",
    ),
    "written LDS: the wait before the barrier": (
        "\tds_write_b32 v1, v1\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32 v4, v2\n"
        "\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_waitcnt lgkmcnt(0)\n\ts_barrier",
        "\ts_barrier",
        "RAW-LDS",
    ),
    "written LDS: the barrier": (
        "\tds_write_b32 v1, v1\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32 v4, v2\n"
        "\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_barrier\n",
        "",
        "-LDS",
    ),
    "the wait behind the barrier is too late": (
        "\tds_write_b32 v1, v1\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32 v4, v2\n"
        "\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_waitcnt lgkmcnt(0)\n\ts_barrier",
        "\ts_barrier\n\ts_waitcnt lgkmcnt(0)",
        "RAW-LDS",
    ),
    "LDS to be overwritten: the readers' wait": (
        "\tds_write_b32 v1, v1\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32 v4, v2\n"
        "\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_write_b32 v1, v3\n\ts_nop 0\n"
        "\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_write_b32 v1, v3",
        "\ts_barrier\n\tds_write_b32 v1, v3",
        "WAR-LDS",
    ),
    "LDS-DMA: vmcnt before the barrier": (
        BUFFER + "\ts_lshl_b32 s12, s3, 2\n\ts_mov_b32 m0, s12\n\ts_nop 0\n"
        "\tbuffer_load_dword v1, s[8:11], 0 offen lds\n\ts_waitcnt vmcnt(0)\n\ts_barrier\n"
        "\tds_read_b32 v4, v2\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_waitcnt vmcnt(0)\n",
        "",
        "RAW-LDS",
    ),
    "LDS-DMA: lgkmcnt is the wrong counter": (
        BUFFER + "\ts_lshl_b32 s12, s3, 2\n\ts_mov_b32 m0, s12\n\ts_nop 0\n"
        "\tbuffer_load_dword v1, s[8:11], 0 offen lds\n\ts_waitcnt vmcnt(0)\n\ts_barrier\n"
        "\tds_read_b32 v4, v2\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "vmcnt(0)",
        "lgkmcnt(0)",
        "RAW-LDS",
    ),
    "LDS-DMA of the same wave is another queue": (
        BUFFER + "\ts_lshl_b32 s12, s3, 2\n\ts_mov_b32 m0, s12\n\ts_nop 0\n"
        "\tbuffer_load_dword v1, s[8:11], 0 offen lds\n\ts_waitcnt vmcnt(0)\n"
        "\tds_read_b32 v4, v1\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_waitcnt vmcnt(0)\n",
        "",
        "RAW-LDS",
    ),
    "an LDS read, then DMA over it": (
        BUFFER + "\tds_write_b32 v1, v1\n\tds_read_b32 v4, v1\n\ts_lshl_b32 s12, s3, 2\n"
        "\ts_mov_b32 m0, s12\n\ts_waitcnt lgkmcnt(0)\n"
        "\tbuffer_load_dword v1, s[8:11], 0 offen lds\n\ts_waitcnt vmcnt(0) lgkmcnt(0)" + STORE,
        "\ts_waitcnt lgkmcnt(0)\n\tbuffer",
        "\tbuffer",
        "WAR-LDS",
    ),
    "global_load_lds": (
        "\ts_lshl_b32 s12, s3, 4\n\ts_mov_b32 m0, s12\n\ts_nop 0\n"
        "\tglobal_load_lds_dwordx4 v3, s[4:5]\n\ts_waitcnt vmcnt(0)\n\ts_barrier\n"
        "\tds_read_b32 v4, v2\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_barrier\n",
        "",
        "-LDS",
    ),
    "two barriers where the data crosses one": (
        "\tds_write_b32 v1, v1\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32 v4, v2\n"
        "\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_write_b32 v1, v4\n\ts_waitcnt lgkmcnt(0)\n"
        "\ts_barrier\n\tds_read_b32 v4, v2\n\ts_waitcnt lgkmcnt(0)" + STORE,
        "\ts_barrier\n\tds_write_b32 v1, v4",
        "\tds_write_b32 v1, v4",
        "-LDS",
    ),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_the_right_form_is_clean_and_the_wrong_one_is_found(name, target):
    right, line, instead, code = RULES[name]
    if target == "gfx942" and "dwordx4" in right and "lds" in right:
        pytest.skip("LDS-DMA of 16 bytes a lane is gfx950's")
    report = verdict_of(right, target=target)
    assert report.verdict is Verdict.CLEAN, report.text()
    assert right.count(line) == 1
    wrong = verdict_of(right.replace(line, instead), target=target)
    assert wrong.verdict is Verdict.RACE, wrong.text()
    assert any(code in f.code for f in wrong.defects()), wrong.text()
    first = wrong.defects()[0]
    assert first.fix
    assert all(e.line > 0 for e in first.events)


def test_a_raw_wait_number_means_the_same():
    body = "\tglobal_load_dword v4, v1, s[4:5]\n\ts_waitcnt {}\n\tv_add_u32_e32 v4, 1, v4" + STORE
    assert verdict_of(body.format("0x0f70")).clean  # vmcnt(0)
    assert verdict_of(body.format("3952")).clean
    assert verdict_of(body.format("vmcnt(0) & expcnt(0)")).clean
    assert verdict_of(body.format("0xc07f")).verdict is Verdict.RACE  # lgkmcnt(0)
    assert verdict_of(body.format("0x0f71")).verdict is Verdict.RACE  # vmcnt(1)
    assert verdict_of(body.format("vmcnt(63)")).verdict is Verdict.RACE  # waits for nothing


def test_a_wait_count_that_cannot_be_encoded_is_refused():
    report = verdict_of("\ts_waitcnt vmcnt(64)")
    assert report.verdict is Verdict.MALFORMED
    assert "cannot be encoded" in report.error
    assert "vmcnt(62)" in report.error


def test_waves_that_skip_a_barrier_are_a_deadlock():
    body = "\ts_cmp_eq_u32 s3, 0\n\ts_cbranch_scc1 .Lend\n\ts_barrier\n.Lend:\n"
    report = verdict_of(body)
    assert report.verdict is Verdict.DEADLOCK
    (found,) = report.defects()
    assert "wave(s) 1 wait" in found.why
    assert "0 have ended" in found.why
    assert verdict_of(body.replace("\ts_cbranch_scc1 .Lend\n", "")).clean


def test_barriers_join_by_number_and_not_by_place():
    """Two arms of a branch with one barrier each meet."""
    body = (
        "\tds_write_b32 v1, v1\n\ts_waitcnt lgkmcnt(0)\n\ts_cmp_eq_u32 s3, 0\n"
        "\ts_cbranch_scc1 .Lother\n\ts_barrier\n\ts_branch .Lmeet\n.Lother:\n\ts_barrier\n.Lmeet:\n"
        "\tds_read_b32 v4, v2\n\ts_waitcnt lgkmcnt(0)" + STORE
    )
    assert verdict_of(body).clean


DMA_TWICE = (
    BUFFER
    + """	s_lshl_b32 s12, s3, 2
	s_mov_b32 m0, s12
	s_nop 0
	buffer_load_dword v1, s[8:11], 0 offen lds
	s_add_u32 m0, s12, 0x400
	s_nop 0
	buffer_load_dword v1, s[8:11], 0 offen offset:1024 lds
	s_waitcnt vmcnt({})
	s_barrier
	ds_read_b32 v4, v2
	s_waitcnt lgkmcnt(0)"""
    + STORE
)


def test_a_partial_vmcnt_on_dma_names_its_axiom_and_gives_both_verdicts():
    report = verdict_of(DMA_TWICE.format(1))
    assert report.clean, report.text()
    stated = [a for a in report.assumes if a.startswith("vm_order=on")]
    assert stated
    assert "the verdict is race" in stated[0]
    assert any(f.axiom.startswith("vm_order=off") for f in report.notes())
    off = verdict_of(DMA_TWICE.format(1), axioms={"vm_order": False})
    assert off.verdict is Verdict.RACE, off.text()
    whole = verdict_of(DMA_TWICE.format(0), axioms={"vm_order": False})
    assert whole.clean, whole.text()
    assert not any("race" in a for a in verdict_of(DMA_TWICE.format(0)).assumes)


def test_capacity_orders_only_where_the_axiom_says_so():
    loads = "".join(f"\tds_read_b32 v{4 + i}, v1\n" for i in range(16))
    body = (
        "\tds_write_b32 v1, v1\n"
        + loads
        + "\tv_add_u32_e32 v4, 1, v4\n\ts_waitcnt lgkmcnt(0)"
        + STORE
    )
    assert verdict_of(body, axioms={"counter_stall": False}).verdict is Verdict.RACE
    report = verdict_of(body, axioms={"counter_stall": True})
    assert report.clean, report.text()
    assert any(a.startswith("counter_stall=on") for a in report.assumes)


def test_equal_values_written_twice_are_a_note():
    body = "\tv_mov_b32_e32 v5, 0\n\tds_write_b32 v5, v5\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n"
    report = verdict_of(body)
    assert report.clean
    assert [f.code for f in report.notes()] == ["same-value"]
    different = verdict_of("\tv_mov_b32_e32 v5, 0\n\tv_mov_b32_e32 v6, s3\n\tds_write_b32 v5, v6\n")
    assert different.verdict is Verdict.RACE


def test_lanes_that_write_different_values_to_one_place():
    write = "\ts_nop 1\n\tv_mov_b32_e32 v5, s3\n\tds_write_b32 v5, v1\n"
    read = "\tds_read_b32 v6, v5\n\ts_waitcnt lgkmcnt(0)\n\tglobal_store_dword v1, v6, s[6:7]\n"
    report = verdict_of(write + read)
    assert report.verdict is Verdict.RACE
    assert "lanes" in {f.code for f in report.defects()}
    unread = verdict_of(write)
    assert unread.clean
    assert "lanes" in {f.code for f in unread.notes()}


def test_lanes_that_differ_by_rounding_only_are_a_note():
    """Reductions leave sums in all lanes, each added up in another order."""
    body = (
        "\ts_nop 1\n\tv_mov_b32_e32 v5, s3\n\tv_and_b32_e32 v6, 1, v0\n\tv_or_b32_e32 v6, {}, v6\n"
        "\tds_write_b32 v5, v6\n\tds_read_b32 v7, v5\n\ts_waitcnt lgkmcnt(0)\n"
        "\tglobal_store_dword v1, v7, s[6:7]\n"
    )
    near = verdict_of(body.format("0x3f800000"), dtype="f32")  # 1 and the next number
    assert near.clean
    assert "lanes" in {f.code for f in near.notes()}
    assert verdict_of(body.format("0x3f800000"), dtype="u32").verdict is Verdict.RACE


def test_a_racing_read_that_nothing_uses_is_a_note():
    body = "\tds_write_b32 v1, v1\n\tds_read_b32 v4, v2\n\ts_waitcnt lgkmcnt(0)\n"
    report = verdict_of(body)
    assert [f.code for f in report.notes()].count("dead-read") >= 1


OUT_OF_BOUNDS = {
    "LDS": ("\tv_add_u32_e32 v5, 0x2000, v1\n\tds_write_b32 v5, v1\n", "oob-lds"),
    "a tensor": ("\tglobal_load_dword v4, v1, s[4:5] offset:4092\n\tv_add_u32_e32 v5, 0x4000, v1\n"
                 "\tglobal_load_dword v4, v5, s[4:5]\n", "oob-global"),
    "a wild address": ("\tv_mov_b32_e32 v8, 0\n\tv_mov_b32_e32 v9, 5\n"
                       "\tglobal_load_dword v4, v[8:9], off\n", "oob-global"),
}  # fmt: skip


@pytest.mark.parametrize("name", OUT_OF_BOUNDS)
def test_accesses_outside_are_invalid(name):
    body, code = OUT_OF_BOUNDS[name]
    report = verdict_of(body)
    assert report.verdict is Verdict.INVALID
    assert [f.code for f in report.defects()] == [code]


def test_lanes_outside_a_buffer_read_zero():
    body = BUFFER + (
        "\ts_movk_i32 s10, 0x100\n\tbuffer_load_dword v4, v1, s[8:11], 0 offen\n"
        "\ts_waitcnt vmcnt(0)" + STORE
    )

    def want(x, y):
        kept = np.zeros_like(y)
        kept[:64] = x[:64]
        return kept

    assert verdict_of(body, against=want).clean


def test_wrong_results_are_found_against_a_function():
    body = (
        "\tglobal_load_dword v4, v1, s[4:5]\n\ts_waitcnt vmcnt(0)\n\tv_add_u32_e32 v4, 1, v4"
        + STORE
    )

    def want(x, y):
        kept = y.copy()
        kept[:128] = x[:128] + 1
        return kept

    assert verdict_of(body, against=want).clean
    report = verdict_of(body, against=lambda x, y: y)
    assert report.verdict is Verdict.WRONG
    assert "y differ" in report.defects()[0].why


MFMA = """
	v_mov_b32_e32 v4, 0
	v_mov_b32_e32 v5, 0
	v_mov_b32_e32 v6, 0
	v_mov_b32_e32 v7, 0
	s_nop 1
	v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[6:7], 0
	s_nop {}
	v_add_f32_e32 v4, v8, v8
"""


@pytest.mark.parametrize(("nops", "verdict"), [(6, Verdict.CLEAN), (5, Verdict.INVALID)])
def test_wait_states_behind_a_matrix_instruction(nops, verdict):
    report = verdict_of(MFMA.format(nops), target="gfx942")
    assert report.verdict is verdict, report.text()
    if verdict is Verdict.INVALID:
        (found,) = report.defects()
        assert found.code == "wait-states"
        assert "s_nop 0" in found.fix


def test_wait_states_before_a_matrix_instruction():
    wrong = MFMA.replace("\ts_nop 1\n", "").format(6)
    assert verdict_of(wrong, target="gfx942").verdict is Verdict.INVALID
    chained = MFMA.format(6).replace(
        "\ts_nop 6", "\tv_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[6:7], v[8:11]\n\ts_nop 6"
    )
    assert verdict_of(chained, target="gfx942").clean


PUBLISH = """
	s_cmp_lg_u32 s2, 0
	s_cbranch_scc1 .Lreader
	s_cmp_lg_u32 s3, 0
	s_cbranch_scc1 .Ldone
	v_mov_b32_e32 v4, 7
	v_mov_b32_e32 v5, 0
	v_mov_b32_e32 v6, 1
	global_store_dword v1, v4, s[6:7] offset:1024
	{release}
	s_mov_b64 exec, 1
	global_atomic_add v5, v6, s[6:7]
	s_branch .Ldone
.Lreader:
	s_cmp_lg_u32 s3, 0
	s_cbranch_scc1 .Ldone
	v_mov_b32_e32 v5, 0
.Lspin:
	global_load_dword v6, v5, s[6:7] sc1
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s12, v6
	s_cmp_eq_u32 s12, 0
	s_cbranch_scc1 .Lspin
	{acquire}
	global_load_dword v7, v1, s[6:7] offset:1024
	s_waitcnt vmcnt(0)
	global_store_dword v1, v7, s[6:7] offset:2048
.Ldone:
"""
RELEASE = "s_waitcnt vmcnt(0)\n\tbuffer_wbl2 sc1\n\ts_waitcnt vmcnt(0)"


@pytest.mark.parametrize(
    ("release", "acquire", "verdict"),
    [
        (RELEASE, "buffer_inv sc1", Verdict.CLEAN),
        ("buffer_wbl2 sc1", "buffer_inv sc1", Verdict.RACE),
        ("buffer_wbl2 sc1\n\ts_waitcnt vmcnt(0)", "buffer_inv sc1", Verdict.CLEAN),
        ("s_waitcnt vmcnt(0)\n\tbuffer_wbl2 sc1", "buffer_inv sc1", Verdict.RACE),
        ("s_waitcnt vmcnt(0)", "buffer_inv sc1", Verdict.RACE),
        (RELEASE, "", Verdict.RACE),
    ],
)
def test_a_flag_between_workgroups(release, acquire, verdict):
    report = verdict_of(PUBLISH.format(release=release, acquire=acquire), grid=2)
    assert report.verdict is verdict, report.text()


def test_polling_memory_that_nobody_changes_is_a_deadlock():
    body = PUBLISH.format(release=RELEASE, acquire="buffer_inv sc1").replace(
        "global_atomic_add v5, v6, s[6:7]", "s_nop 0"
    )
    report = verdict_of(body, grid=2)
    assert report.verdict is Verdict.DEADLOCK, report.text()


def test_workgroups_that_write_the_same_bytes():
    body = "\tv_mov_b32_e32 v4, s2\n" + STORE
    assert verdict_of(body).clean
    report = verdict_of(body, grid=2)
    assert report.verdict is Verdict.RACE
    assert report.defects()[0].code == "race-global"


def test_global_memory_between_the_waves_of_a_workgroup():
    body = (
        "\tglobal_store_dword v1, v1, s[6:7]\n\ts_barrier\n"
        "\tglobal_load_dword v4, v2, s[6:7]\n\ts_waitcnt vmcnt(0)\n"
        "\tglobal_store_dword v1, v4, s[6:7] offset:1024\n"
    )
    report = verdict_of(body)
    assert report.clean
    assert any(a.startswith("cu_order") for a in report.assumes)
    assert verdict_of(body.replace("\ts_barrier\n", "")).verdict is Verdict.RACE
