"""Memory instructions that are written seldom: their values, order and waits."""

import numpy as np
import pytest

from warploom.check.amdgcn import check_amdgcn, read_kernel
from warploom.check.amdgcn.timed import LATE, execute
from warploom.report import Verdict

from .small import BUFFER, SETUP, assembled, small_launch, verdict_of

STORE = "\tglobal_store_dword v1, v4, s[6:7]\n"
LGKM = "\ts_waitcnt lgkmcnt(0)\n"
VM = "\ts_waitcnt vmcnt(0)\n"


def results(body, *, threads=64, **frame):
    """Words of y after a launch of one workgroup, which must be clean."""
    text, launch = assembled(body, threads=threads, **frame), small_launch(threads=threads)
    report = check_amdgcn(text, launch)
    assert report.verdict is Verdict.CLEAN, report.text()
    done = execute(read_kernel(text), launch, timing=LATE)
    assert not done.faults
    return done.tensors["x"].view(np.uint32), done.tensors["y"].view(np.uint32)


@pytest.mark.parametrize(
    ("line", "first", "after"),
    [
        ("s_atomic_add s12, s[6:7], 0x0 glc", 5, 8),
        ("s_atomic_dec s12, s[6:7], 0x0 glc", 5, 3),
        ("s_atomic_umax s12, s[6:7], 0x0 glc", 5, 5),
        ("s_atomic_swap s12, s[6:7], 0x0 glc", 5, 3),
    ],
)
def test_scalar_atomics_return_what_was_there(line, first, after):
    body = (
        "\tv_mov_b32_e32 v5, 0\n\tv_mov_b32_e32 v6, 5\n\tglobal_store_dword v5, v6, s[6:7]\n" + VM
        + f"\ts_mov_b32 s12, 3\n\t{line}\n{LGKM}\tv_mov_b32_e32 v4, s12\n"
        + "\tglobal_store_dword v1, v4, s[6:7] offset:1024\n"
    )  # fmt: skip
    _, y = results(body)
    assert y[0] == after
    assert y[256] == first


def test_a_scalar_atomic_is_waited_for_and_carries_order():
    early = "\ts_mov_b32 s12, 3\n\ts_atomic_add s12, s[6:7], 0x0 glc\n\tv_mov_b32_e32 v4, s12\n"
    assert verdict_of(early + LGKM, threads=64).verdict is Verdict.RACE
    last = (
        "\tglobal_store_dword v{own}, v1, s[6:7] offset:1024\n{release}\ts_mov_b32 s12, 1\n"
        "\ts_atomic_add s12, s[6:7], 0x0 glc\n" + LGKM + "\ts_cmp_eq_u32 s12, 1\n"
        "\ts_cbranch_scc0 .Lend\n{acquire}\tglobal_load_dword v4, v1, s[6:7] offset:1024\n"
        + VM
        + "\tglobal_store_dword v1, v4, s[6:7] offset:2048\n.Lend:\n"
    )
    release, acquire = "\tbuffer_wbl2 sc1\n" + VM, "\tbuffer_inv sc1\n"
    lanes = "\ts_cmp_eq_u32 s2, 0\n\ts_cbranch_scc1 .Lgo\n\tv_add_u32_e32 v9, 0x200, v1\n.Lgo:\n"
    setup = SETUP + "\tv_mov_b32_e32 v9, v1\n" + lanes
    right = last.format(own=9, release=release, acquire=acquire)
    both = {"grid": 2, "threads": 64, "setup": setup}
    assert verdict_of(right, **both).verdict is Verdict.CLEAN
    for gone in (release, acquire):
        assert verdict_of(right.replace(gone, "", 1), **both).verdict is Verdict.RACE


FORMATS = {
    "[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT]": lambda x: x,
    "[BUF_DATA_FORMAT_16,BUF_NUM_FORMAT_UINT]": lambda x: x & 0xFFFF,
    "[BUF_DATA_FORMAT_8,BUF_NUM_FORMAT_SINT]": lambda x: (
        x.astype(np.uint8).view(np.int8).astype(np.int32).view(np.uint32)
    ),
    "[BUF_DATA_FORMAT_8,BUF_NUM_FORMAT_UNORM]": lambda x: (
        ((x & 0xFF) / 255).astype(np.float32).view(np.uint32)
    ),
}


@pytest.mark.parametrize("form", FORMATS)
def test_typed_buffers_convert(form):
    line = f"\ttbuffer_load_format_x v4, v1, s[8:11], 0 format:{form} offen\n"
    x, y = results(line + VM + STORE, setup=SETUP + BUFFER)
    assert np.array_equal(y[:64], FORMATS[form](x[:64]))
    early = verdict_of(line + STORE + VM, setup=SETUP + BUFFER, threads=64)
    assert early.verdict is Verdict.RACE


def test_typed_stores_round():
    line = "\ttbuffer_store_format_x v4, v1, s[12:15], 0 format:{} offen\n"
    resource = (
        "\ts_mov_b32 s12, s6\n\ts_and_b32 s13, s7, 0xffff\n\ts_mov_b32 s14, 0x1000\n"
        "\ts_mov_b32 s15, 0x27000\n\tv_mov_b32_e32 v4, 0.5\n"
    )
    _, y = results(resource + line.format("[BUF_DATA_FORMAT_16,BUF_NUM_FORMAT_FLOAT]"))
    assert y[0] == np.float16(0.5).view(np.uint16)


def test_the_format_of_a_resource():
    body = (
        "\tbuffer_load_format_xyzw v[4:7], v3, s[8:11], 0 offen\n"
        + VM
        + ("\tglobal_store_dwordx4 v3, v[4:7], s[6:7]\n")
    )
    setup = SETUP + BUFFER.replace("0x27000", "0x74fac")  # 32_32_32_32, unsigned
    x, y = results(body, setup=setup)
    assert np.array_equal(x[:256], y[:256])


def test_columns_of_six_bits():
    """Each row of sixteen lanes holds the lane's number in all of its sixteen elements."""
    body = (
        "\tv_and_b32_e32 v5, 15, v0\n\tv_mul_u32_u24_e32 v7, 12, v0\n"
        + "\tv_lshlrev_b32_e32 v8, 6, v5\n\tv_or_b32_e32 v8, v8, v5\n"
        "\tv_lshlrev_b32_e32 v9, 12, v8\n\tv_or_b32_e32 v9, v9, v8\n"  # four elements
        "\tv_lshlrev_b32_e32 v10, 24, v9\n\tv_or_b32_e32 v16, v10, v9\n"
        "\tv_lshrrev_b32_e32 v10, 8, v9\n\tv_lshlrev_b32_e32 v11, 16, v9\n"
        "\tv_or_b32_e32 v17, v10, v11\n\tv_lshrrev_b32_e32 v10, 16, v9\n"
        "\tv_lshlrev_b32_e32 v11, 8, v9\n\tv_or_b32_e32 v18, v10, v11\n"
        "\tds_write_b96 v7, v[16:18]\n" + LGKM
        + "\tds_read_b96_tr_b6 v[20:22], v7\n" + LGKM
        + "\tglobal_store_dwordx3 v3, v[20:22], s[6:7]\n"
    )  # fmt: skip
    _, y = results(body)
    lane = np.ascontiguousarray(y[:4].view(np.uint8)[:12])
    bits = np.unpackbits(lane, bitorder="little").reshape(16, 6)
    assert (bits @ (1 << np.arange(6))).tolist() == list(range(16))


def test_lds_by_thread_number_and_counters():
    body = (
        "\ts_mov_b32 m0, 0\n\ts_nop 0\n\tds_write_addtid_b32 v2\n" + LGKM
        + "\tds_read_addtid_b32 v4\n" + LGKM + STORE + "\tv_mov_b32_e32 v5, 0\n"
        "\tv_mov_b32_e32 v6, 0x400\n\tds_write_b32 v6, v5\n\ts_mov_b32 m0, 0x400\n" + LGKM
        + "\tds_append v7\n\tds_append v8\n\tds_consume v9\n" + LGKM
        + "\tglobal_store_dword v1, v8, s[6:7] offset:1024\n"
        "\tglobal_store_dword v1, v9, s[6:7] offset:2048\n"
    )  # fmt: skip
    _, y = results(body)
    assert np.array_equal(y[:64], 4 * np.arange(64) ^ 0x100)
    assert y[256] == 64
    assert y[512] == 128


def test_atomics_of_two_values():
    body = (
        "\tv_mov_b32_e32 v5, 0xff\n\tds_write_b32 v1, v5\n\tv_mov_b32_e32 v6, 15\n"
        "\tv_mov_b32_e32 v7, 3\n" + LGKM + "\tds_mskor_rtn_b32 v4, v1, v6, v7\n"
        "\tds_wrap_rtn_b32 v8, v1, v6, v7\n\tds_read_b32 v9, v1\n" + LGKM + STORE
        + "\tglobal_store_dword v1, v8, s[6:7] offset:1024\n"
        "\tglobal_store_dword v1, v9, s[6:7] offset:2048\n"
    )  # fmt: skip
    _, y = results(body)
    assert y[0] == 0xFF
    assert y[256] == 0xF3
    assert y[512] == 0xF3 - 15


def test_parts_of_two_over_pi():
    body = (
        "\tv_mov_b32_e32 v8, 0\n\tv_mov_b32_e32 v9, 0x3ff00000\n"
        "\tv_trig_preop_f64 v[4:5], v[8:9], 0\n\tv_trig_preop_f64 v[6:7], v[8:9], 1\n"
        "\tglobal_store_dwordx4 v3, v[4:7], s[6:7]\n"
    )
    _, y = results(body)
    high, low = y[:4].view(np.float64)
    assert high == pytest.approx(2 / np.pi, rel=1e-15)
    assert high <= 2 / np.pi
    assert 0 < low < 2.0**-53


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("v_smfmac_f32_16x16x64_bf16 v[0:3], v[4:7], v[8:15], v16", "gfx942"),
        ("v_dot2c_f32_bf16 v1, v2, v3", "gfx942"),
        ("v_mad_mixhi_f16 v1, v2, v3, v4", "gfx950"),
    ],
)
def test_instructions_that_a_target_lacks(line, target):
    report = verdict_of(f"\t{line}\n", target=target)
    assert "no-such-instruction" in {f.code for f in report.defects()}
