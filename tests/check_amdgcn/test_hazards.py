"""Wait states: every class with the least distance that is right and one state less."""

import pytest

from warploom.check.amdgcn import check_amdgcn, read_kernel
from warploom.check.amdgcn.hazards import wait_state_hazards
from warploom.report import Verdict

from .small import assembled, small_launch, verdict_of

BOTH = ("gfx942", "gfx950")
M16 = "v_mfma_f32_16x16x16_f16 v[16:19], v[8:9], v[10:11], v[16:19]"  # 4 passes
M32 = "v_mfma_f32_32x32x8_f16 v[16:31], v[8:9], v[10:11], v[16:31]"  # 8 passes
M4 = "v_mfma_f32_4x4x4_16b_f16 v[16:19], v[8:9], v[10:11], v[16:19]"  # 2 passes
S32 = "v_mfma_f32_32x32x2_f32 v[16:31], v8, v9, v[16:31]"  # 16 passes, single precision
SPARSE = "v_smfmac_f32_16x16x32_f16 v[16:19], v[8:9], v[12:15], v1"  # 4 passes
D16 = "v_mfma_f64_16x16x4_f64 v[16:23], v[8:9], v[10:11], v[16:23]"
D4 = "v_mfma_f64_4x4x4_4b_f64 v[16:17], v[8:9], v[10:11], v[16:17]"

# first, second, states needed on gfx942, on gfx950
CASES = {
    "vector result in a matrix factor": ("v_mov_b32 v8, 0", M16, 2, 2),
    "vector result in a matrix addend": ("v_mov_b32 v17, 0", M16, 2, 2),
    "accumulator written before a matrix instruction": (
        "v_accvgpr_write_b32 a3, v1",
        "v_mfma_f32_16x16x16_f16 a[0:3], v[8:9], v[10:11], a[0:3]", 2, 2),
    "EXEC before a matrix instruction": ("v_cmpx_eq_u32 vcc, v0, v0", M16, 4, 4),
    "4 passes, result read": (M16, "v_add_f32 v1, v16, v16", 7, 8),
    "4 passes, result overwritten": (M16, "v_mov_b32 v18, 0", 7, 8),
    "4 passes, result stored": (M16, "ds_write_b32 v1, v16", 7, 8),
    "4 passes, result read from an accumulator": (
        "v_mfma_f32_16x16x16_f16 a[0:3], v[8:9], v[10:11], a[0:3]",
        "v_accvgpr_read_b32 v1, a2", 7, 8),
    "8 passes, result read": (M32, "v_add_f32 v1, v31, v31", 11, 12),
    "2 passes, result read": (M4, "v_add_f32 v1, v16, v16", 5, 5),
    "single precision, result read": (S32, "v_add_f32 v1, v16, v16", 18, 18),
    "result as a factor": (M16, "v_mfma_f32_16x16x16_f16 v[32:35], v[16:17], v[10:11], v[32:35]",
                           7, 8),
    "part of the result as the addend": (
        M32, "v_mfma_f32_16x16x16_f16 v[32:35], v[8:9], v[10:11], v[16:19]", 9, 10),
    "2 passes, the result as the addend": (M4, M4, 2, 2),
    "addend overwritten": (
        "v_mfma_f32_32x32x8_f16 v[32:47], v[8:9], v[10:11], v[16:31]", "v_mov_b32 v16, 0", 7, 7),
    "double precision, result read": (D16, "v_add_f64 v[0:1], v[16:17], v[16:17]", 11, 19),
    "double precision, result stored": (D16, "ds_write_b64 v1, v[16:17]", 18, 18),
    "double precision 4x4, result read": (D4, "v_add_f64 v[0:1], v[16:17], v[16:17]", 6, 6),
    "double precision 4x4, result stored": (D4, "ds_write_b64 v1, v[16:17]", 9, 9),
    "scalar result in a memory access": (
        "v_readfirstlane_b32 s12, v0", "buffer_load_dword v9, v1, s[8:11], s12 offen", 5, 5),
    "scalar result in a vector instruction": (
        "v_readfirstlane_b32 s12, v0", "v_add_u32 v9, s12, v1", 2, 2),
    "mask of a comparison": (
        "v_cmp_eq_u32 vcc, v0, v1", "v_cndmask_b32 v9, v1, v2, vcc", 2, 2),
    "carry in v_div_fmas": ("v_cmp_eq_u32 vcc, v0, v1", "v_div_fmas_f32 v9, v1, v2, v3", 4, 4),
    "lane number": ("v_readfirstlane_b32 s12, v0", "v_readlane_b32 s13, v1, s12", 4, 4),
    "vector result in a lane read": ("v_add_u32 v9, v1, v2", "v_readfirstlane_b32 s12, v9", 1, 1),
    "vector result through DPP": (
        "v_add_u32 v9, v1, v2",
        "v_mov_b32_dpp v10, v9 row_shr:1 row_mask:0xf bank_mask:0xf", 2, 2),
    "EXEC in DPP": (
        "v_cmpx_eq_u32 vcc, v0, v0",
        "v_mov_b32_dpp v10, v1 row_shr:1 row_mask:0xf bank_mask:0xf", 5, 5),
    "transcendental result": ("v_exp_f32 v9, v1", "v_add_f32 v10, v9, v9", 1, 1),
    "upper half written": (
        "v_add_f16_sdwa v9, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD "
        "src1_sel:DWORD", "v_add_f32 v10, v9, v9", 1, 1),
    "dot product used by another": (
        "v_dot2_f32_f16 v9, v1, v2, v3", "v_add_f32 v10, v9, v9", 3, 3),
    "data of a wide store": (
        "global_store_dwordx4 v3, v[8:11], s[6:7]", "v_mov_b32 v9, 0", 2, 2),
    "data of a wide buffer store": (
        "buffer_store_dwordx4 v[8:11], v1, s[8:11], 0 offen", "v_mov_b32 v9, 0", 2, 2),
    "data of a wide buffer store with an offset register": (
        "buffer_store_dwordx4 v[8:11], v1, s[8:11], s3 offen", "v_mov_b32 v9, 0", 1, 1),
    "dot product stored": (
        "v_dot2_f32_f16 v9, v1, v2, v3", "global_store_dword v1, v9, s[6:7]", 3, 3),
    "dot product overwritten by a load": (
        "v_dot2_f32_f16 v9, v1, v2, v3", "ds_read_b32 v9, v1", 3, 3),
    "dot product as a factor of the next": (
        "v_dot2c_f32_f16 v9, v1, v2", "v_dot2c_f32_f16 v10, v1, v9", 3, 3),
    "dot product as the addend of the next": (
        "v_dot2c_f32_f16 v9, v1, v2", "v_dot2c_f32_f16 v9, v1, v2", 0, 0),
    "double precision, result overwritten": (D16, "v_mov_b32 v16, 0", 11, 11),
    "double precision, index of a sparse product": (
        D16, "v_smfmac_f32_16x16x32_f16 v[32:35], v[8:9], v[12:15], v16", 11, 19),
    "2 passes, part of the result as the addend": (
        M4, "v_mfma_f32_32x32x8_f16 v[10:25], v[8:9], v[26:27], v[10:25]", 3, 4),
    "2 passes, part of the result as an addend of fp32": (
        M4, "v_mfma_f32_32x32x2_f32 v[10:25], v8, v9, v[10:25]", 3, 3),
    "vector result in what a sparse product adds to": ("v_mov_b32 v17, 0", SPARSE, 2, 2),
    "sparse product, result read": (SPARSE, "v_add_f32 v1, v16, v16", 7, 8),
    "part of a result in what a sparse product adds to": (
        M32, SPARSE, 9, 10),
    "result as a sparse product's index": (
        M4, "v_smfmac_f32_16x16x32_f16 v[32:35], v[8:9], v[12:15], v16", 5, 5),
    "index of a sparse product overwritten": (SPARSE, "v_mov_b32 v1, 0", 0, 0),
    "16 passes, result read": (
        "v_mfma_f32_32x32x4_2b_f16 v[64:95], v[8:9], v[10:11], v[64:95]",
        "v_add_f32 v1, v64, v64", 19, 20),
    "M0 before LDS-DMA": ("s_mov_b32 m0, 0", "buffer_load_dword v1, s[8:11], 0 offen lds", 1, 1),
    "lane swap": ("v_mov_b32 v9, 0", "v_permlane32_swap_b32 v9, v10", 0, 2),
}  # fmt: skip


def hazards(first, second, states, target):
    wait = f"\ts_nop {min(states, 16) - 1}\n" if states else ""
    wait += f"\ts_nop {states - 17}\n" if states > 16 else ""
    body = f"\t{first}\n{wait}\t{second}\n"
    return wait_state_hazards(read_kernel(assembled(body, target=target, setup="")))


@pytest.mark.parametrize("target", BOTH)
@pytest.mark.parametrize("name", CASES)
def test_the_least_distance(name, target):
    first, second, *needed = CASES[name]
    need = needed[BOTH.index(target)]
    assert not hazards(first, second, need, target)
    if need:
        (found,) = hazards(first, second, need - 1, target)
        assert (found.states, found.needed) == (need - 1, need)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("s_mov_b32 s12, 0", "buffer_load_dword v9, v1, s[8:11], s12 offen"),
        (M16, M16),
        ("v_exp_f32 v9, v1", "v_log_f32 v10, v9"),
        ("global_store_dwordx2 v3, v[8:9], s[6:7]", "v_mov_b32 v9, 0"),
        ("v_readfirstlane_b32 s12, v0", "s_add_u32 s12, s12, 4"),
        ("v_pk_add_f32 v[8:9], v[8:9], v[10:11]", "v_add_f32 v1, v8, v9"),
        ("v_add_u32 v9, v1, v2", "v_add_u32 v9, v9, v2"),
    ],
)
def test_pairs_that_need_no_distance(first, second):
    assert not hazards(first, second, 0, "gfx942")


def test_a_register_written_again_between_is_no_hazard():
    body = "\tv_readfirstlane_b32 s12, v0\n\ts_lshl_b32 s12, s12, 2\n"
    body += "\tbuffer_load_dword v9, v1, s[8:11], s12 offen\n"
    assert not wait_state_hazards(read_kernel(assembled(body, setup="")))


def test_the_distance_holds_on_every_path():
    body = f"\t{M32}\n\ts_cbranch_scc0 .Luse\n\ts_nop 15\n.Luse:\n\tv_add_f32 v1, v16, v16\n"
    (found,) = wait_state_hazards(read_kernel(assembled(body, setup="")))
    assert found.states == 1


def test_the_report_names_register_lines_and_repair():
    report = check_amdgcn(assembled(f"\t{M16}\n\tv_add_f32 v1, v16, v16\n"), small_launch())
    assert report.verdict is Verdict.INVALID
    (finding,) = [f for f in report.findings if f.code == "wait-states"]
    assert "v16" in finding.why
    assert finding.fix.startswith("s_nop 7 before line")


def test_the_axiom_turns_them_off():
    body = f"\t{M16}\n\tv_add_f32 v1, v16, v16\n"
    assert verdict_of(body, axioms={"mfma_interlock": True}).verdict is Verdict.CLEAN


@pytest.mark.parametrize(
    ("line", "needs"),
    [
        ("v_cvt_scalef32_pk_bf16_fp4 v5, v1, 1.0 op_sel:[1,0,0]", False),
        ("v_cvt_scalef32_pk_f32_fp8 v[4:5], v1, 1.0", False),
        ("v_cvt_scalef32_pk_fp8_f32 v5, v1, v1, 1.0", False),
        ("v_cvt_scalef32_pk_fp8_f32 v5, v1, v1, 1.0 op_sel:[0,0,0,1]", True),
        ("v_cvt_scalef32_pk_fp4_f32 v5, v1, v1, 1.0", False),
        ("v_cvt_scalef32_pk_fp4_f32 v5, v1, v1, 1.0 op_sel:[0,0,1,0]", True),
        ("v_cvt_scalef32_sr_pk_fp4_f32 v5, v[2:3], v1, 1.0", True),
        ("v_cvt_scalef32_sr_bf8_f16 v5, v1, v1, 1.0", False),
        ("v_cvt_scalef32_sr_bf8_f16 v5, v1, v1, 1.0 op_sel:[0,0,1,1]", True),
        ("v_cvt_scalef32_f16_fp8 v5, v1, 1.0", False),
        ("v_cvt_scalef32_f16_fp8 v5, v1, 1.0 op_sel:[0,0,1]", True),
    ],
)
def test_scaled_conversions_that_write_a_part_need_a_state(line, needs):
    """As LLVM 22 keeps them: a nop where the destination is chosen by op_sel, always for fp4 with
    stochastic rounding, and none where all of it is written."""
    found = list(
        wait_state_hazards(read_kernel(assembled(f"\t{line}\n\tv_mul_lo_u32 v6, v5, v1\n")))
    )
    assert bool(found) is needs
    waited = f"\t{line}\n\ts_nop 0\n\tv_mul_lo_u32 v6, v5, v1\n"
    assert not list(wait_state_hazards(read_kernel(assembled(waited))))
