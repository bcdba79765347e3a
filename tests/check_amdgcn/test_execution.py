"""What instructions compute: calls, constants, flat addresses, computed registers, rare ones."""

import numpy as np
import pytest

from warploom.check.amdgcn import check_amdgcn, read_kernel
from warploom.check.amdgcn.timed import EARLY, LATE, execute, timings
from warploom.errors import CheckError
from warploom.report import Verdict

from .small import SETUP, assembled, small_launch, verdict_of

STORE = "\tglobal_store_dword v1, v4, s[6:7]\n"


def assert_computes(body, expected, *, after="", dtype="u32", **frame):
    text = assembled(body + STORE, **frame) + after

    def against(x, y):
        wanted = np.array(y, np.float64)
        wanted[:128] = expected(x[:128].astype(np.int64) if dtype == "u32" else x[:128])
        return {"y": wanted}

    report = check_amdgcn(text, small_launch(dtype=dtype), against=against)
    assert report.verdict is Verdict.CLEAN, str(report)
    assert "error y" in report.figures


LOAD = "\tglobal_load_dword v4, v1, s[4:5]\n\ts_waitcnt vmcnt(0)\n"


def test_a_function_of_the_file_is_called():
    body = LOAD + (
        "\ts_getpc_b64 s[12:13]\n\ts_add_u32 s12, s12, twice@rel32@lo+4\n"
        "\ts_addc_u32 s13, s13, twice@rel32@hi+12\n\ts_swappc_b64 s[30:31], s[12:13]\n"
    )
    function = (
        "\n\t.text\ntwice:\n.Lfunc_begin7:\n\ts_cbranch_execz .LBB7_1\n"
        "\tv_add_u32_e32 v4, v4, v4\n.LBB7_1:\n\ts_setpc_b64 s[30:31]\n.Lfunc_end7:\n"
    )
    assert_computes(body, lambda x: 2 * x, after=function)


def test_a_jump_too_long_for_a_branch():
    body = LOAD + (
        "\ts_getpc_b64 s[12:13]\n.Lpost_getpc0:\n"
        "\ts_add_u32 s12, s12, (.LBB0_9-.Lpost_getpc0)&4294967295\n"
        "\ts_addc_u32 s13, s13, (.LBB0_9-.Lpost_getpc0)>>32\n\ts_setpc_b64 s[12:13]\n"
        "\tv_mov_b32_e32 v4, 0\n.LBB0_9:\n\tv_add_u32_e32 v4, 1, v4\n"
    )
    assert_computes(body, lambda x: x + 1)


@pytest.mark.parametrize("indirect", [False, True])
def test_constant_data_of_the_file(indirect):
    kind = "gotpcrel32" if indirect else "rel32"
    more = "\ts_load_dwordx2 s[12:13], s[12:13], 0x0\n\ts_waitcnt lgkmcnt(0)\n" if indirect else ""
    body = LOAD + (
        f"\ts_getpc_b64 s[12:13]\n\ts_add_u32 s12, s12, table@{kind}@lo+4\n"
        f"\ts_addc_u32 s13, s13, table@{kind}@hi+12\n{more}"
        "\ts_load_dword s14, s[12:13], 0x4\n\ts_waitcnt lgkmcnt(0)\n\tv_add_u32_e32 v4, s14, v4\n"
    )
    data = "\n\t.section\t.rodata.cst16\ntable:\n\t.long\t1\n\t.long\t77\n\t.zero\t8\n"
    assert_computes(body, lambda x: x + 77, after=data)


def test_a_call_out_of_the_file_is_unsupported():
    body = (
        "\ts_getpc_b64 s[12:13]\n\ts_add_u32 s12, s12, elsewhere@rel32@lo+4\n"
        "\ts_addc_u32 s13, s13, elsewhere@rel32@hi+12\n\ts_swappc_b64 s[30:31], s[12:13]\n"
    )
    assert verdict_of(body).verdict is Verdict.UNSUPPORTED


def test_flat_addresses_of_private_memory_and_lds():
    body = LOAD + (
        "\ts_mov_b64 s[12:13], src_private_base\n\tv_mov_b32_e32 v9, s13\n"
        "\tv_mov_b32_e32 v8, 4\n\tflat_store_dword v[8:9], v4\n"
        "\ts_waitcnt vmcnt(0) lgkmcnt(0)\n\tv_mov_b32_e32 v4, 0\n"
        "\tflat_load_dword v5, v[8:9]\n\ts_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "\ts_mov_b64 s[12:13], src_shared_base\n\tv_mov_b32_e32 v9, s13\n"
        "\tv_mov_b32_e32 v8, v1\n\tflat_store_dword v[8:9], v5\n\ts_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "\tds_read_b32 v4, v1\n\ts_waitcnt lgkmcnt(0)\n"
    )
    assert_computes(body, lambda x: x, private=16)


def test_moves_between_computed_registers():
    body = LOAD + (
        "\tv_mov_b32_e32 v20, 5\n\tv_mov_b32_e32 v22, v4\n\ts_mov_b32 s12, 2\n"
        "\ts_set_gpr_idx_on s12, gpr_idx(SRC0)\n\tv_mov_b32_e32 v4, v20\n\ts_set_gpr_idx_off\n"
        "\ts_set_gpr_idx_on s12, gpr_idx(DST)\n\tv_mov_b32_e32 v30, v4\n\ts_set_gpr_idx_off\n"
        "\tv_add_u32_e32 v4, 1, v32\n"
    )
    assert_computes(body, lambda x: x + 1)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("v_sad_u8 v4, v4, 7, 1", lambda x: abs((x & 255) - 7) + (x >> 8 & 255) + 1),
        ("v_lerp_u8 v4, v4, 0, 0", lambda x: (x & 255) >> 1),
        ("v_mul_hi_i32_i24 v4, v4, v4", lambda x: 0 * x),
        ("v_min3_u16 v4, v4, 9, 200", lambda x: np.minimum(x, 9)),
        ("v_med3_i16 v4, v4, 9, 20", lambda x: np.clip(x, 9, 20)),
        ("v_cvt_f32_u32 v4, v4\n\tv_frexp_exp_i32_f32 v4, v4",
         lambda x: np.array([int(v).bit_length() for v in x])),
        ("v_cvt_f64_u32 v[8:9], v4\n\tv_cmp_class_f64 vcc, v[8:9], 0x40\n\ts_nop 1\n"
         "\tv_cndmask_b32_e64 v4, 5, 6, vcc", lambda x: np.where(x == 0, 6, 5)),
        ("ds_swizzle_b32 v4, v4 offset:swizzle(REVERSE,4)\n\ts_waitcnt lgkmcnt(0)",
         lambda x: x[np.arange(128) ^ 3]),
    ],
)  # fmt: skip
def test_rare_instructions(lines, expected):
    assert_computes(LOAD + f"\t{lines}\n", expected)


def test_lds_execution_is_the_same_under_every_timing():
    body = (
        LOAD + "\tds_write_b32 v1, v4\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32 v4, v2\n"
        "\ts_waitcnt lgkmcnt(0)\n" + STORE
    )
    kernel, launch = read_kernel(assembled(body)), small_launch()
    wanted = execute(kernel, launch, timing=EARLY).tensors
    for timing, order in timings():
        done = execute(kernel, launch, timing=timing, order=order)
        assert not done.faults
        assert all((done.tensors[n] == wanted[n]).all() for n in wanted)


@pytest.mark.parametrize(
    "wait", ["\ts_waitcnt vmcnt(0)\n", "\ts_waitcnt lgkmcnt(0)\n\ts_barrier", "\ts_barrier\n"]
)
def test_what_a_timing_shows_wrong_is_reported(wait):
    body = (
        LOAD + "\tds_write_b32 v1, v4\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32 v4, v2\n"
        "\ts_waitcnt lgkmcnt(0)\n" + STORE
    )
    launch = small_launch()
    wanted = execute(read_kernel(assembled(body)), launch, timing=EARLY).tensors
    kept = "\ts_barrier" if wait.startswith("\ts_waitcnt lgkmcnt") else ""
    wrong = assembled(body.replace(wait, kept, 1))
    kernel = read_kernel(wrong)
    results = [execute(kernel, launch, timing=t, order=o).tensors for t, o in timings()]
    assert any((r["y"] != wanted["y"]).any() for r in results)
    assert check_amdgcn(wrong, launch).verdict is Verdict.RACE


def test_scales_belong_to_32_elements_along_k():
    """Lane groups hold fp8 elements of both halves of K; a scale covers 32 in a row."""
    body = (
        "\tv_mov_b32_e32 v8, 0x38383838\n"
        + "".join(f"\tv_mov_b32_e32 v{r}, v8\n" for r in range(9, 16))
        + "\tv_lshrrev_b32_e32 v5, 4, v0\n\tv_and_b32_e32 v5, 3, v5\n\tv_add_u32_e32 v5, 127, v5\n"
        "\tv_mov_b32_e32 v6, 0x7f\n\tv_mov_b32_e32 v12, 0\n\tv_mov_b32_e32 v13, 0\n"
        "\tv_mov_b32_e32 v14, 0\n\tv_mov_b32_e32 v15, 0\n\ts_nop 1\n"
        "\tv_mfma_scale_f32_16x16x128_f8f6f4 v[16:19], v[8:15], v[8:15], 0, v5, v6\n\ts_nop 15\n"
        "\tv_cvt_u32_f32_e32 v4, v16\n"
    )
    # Only the first half of K holds ones: 32 elements of scale 1 and 32 of scale 2.
    assert_computes(body, lambda x: np.full(128, 32 * 1 + 32 * 2), setup=SETUP)


def _first(body, **how):
    """What lane 0 of wave 0 stored to y."""
    done = execute(read_kernel(assembled(body + STORE)), small_launch(), **how)
    return int(done.tensors["y"].view(np.uint32)[0])


def test_scalar_loads_need_a_full_wait():
    """They come back in any order: with one in flight, a count above 0 says nothing."""
    load = "\ts_load_dword s12, s[4:5], 0x0\n\ts_waitcnt lgkmcnt({})\n\tv_mov_b32_e32 v4, s12\n"
    waited = _first(load.format(0), timing=LATE)
    assert _first(load.format(1), timing=LATE) != waited
    assert _first(load.format(1), timing=EARLY) != waited


def test_accesses_retire_in_order():
    reads = (
        "\tglobal_load_dword v4, v1, s[4:5]\n\tglobal_load_dword v5, v1, s[4:5] offset:4\n"
        "\tglobal_load_dword v6, v1, s[4:5] offset:8\n\ts_waitcnt vmcnt({})\n"
        "\tv_add_u32_e32 v4, v4, v5\n"
    )
    right = _first(reads.format(0), timing=LATE)
    assert _first(reads.format(1), timing=LATE) == right
    assert _first(reads.format(2), timing=LATE) != right


def test_an_unknown_order_of_waves_is_refused():
    with pytest.raises(CheckError, match="sideways"):
        execute(read_kernel(assembled(LOAD)), small_launch(), order="sideways")


@pytest.mark.parametrize("order", ["forward", "reverse", "shuffled", "random", "starve1"])
def test_orders_of_waves(order):
    body = LOAD + STORE
    done = execute(read_kernel(assembled(body)), small_launch(), order=order)
    assert not done.faults
