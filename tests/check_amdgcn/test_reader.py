"""The reader of assembly: spellings, metadata, symbols, line tables; hostile files."""

import random

import pytest

from warploom.axioms import resolve
from warploom.check.amdgcn import AssemblyError, check_amdgcn, read_kernel
from warploom.check.amdgcn.reader import evaluate, read_waits
from warploom.report import Verdict

from .small import SETUP, assembled, small_launch, verdict_of


def read(body, **frame):
    return read_kernel(assembled(body, setup="", **frame))


def test_operands_and_modifiers():
    kernel = read(
        "\tbuffer_load_dwordx4 v[4:7], v1, s[8:11], 0 offen offset:16 sc0 nt\n"
        "\tv_fma_f32 v0, -v1, |v2|, -|v3| clamp mul:2\n"
        "\tv_pk_fma_f32 v[0:1], v[2:3], s[4:5], v[6:7] op_sel:[0, 1,0] op_sel_hi:[1,0,1]\n"
        "\tv_add_f32_dpp v0, v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1\n"
        "\tv_or_b32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 "
        "src1_sel:BYTE_0\n"
        "\tds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM, \"00p11\")\n"
    )  # fmt: skip
    load, fma, packed, dpp, sdwa, swizzle, *_ = kernel.instructions
    assert load.operands == ("v[4:7]", "v1", "s[8:11]", "0")
    assert load.modifiers == {"offen": "", "offset": "16", "sc0": "", "nt": ""}
    assert fma.operands == ("v0", "-v1", "|v2|", "-|v3|")
    assert packed.bits("op_sel", 3) == (0, 1, 0)
    assert packed.bits("op_sel_hi", 3, 1) == (1, 0, 1)
    assert dpp.mnemonic == "v_add_f32"
    assert dpp.form == "dpp"
    assert dpp.bits("quad_perm", 4) == (1, 0, 3, 2)
    assert sdwa.modifiers["src0_sel"] == "WORD_1"
    assert swizzle.modifiers["offset"].startswith("swizzle(BITMASK_PERM")


@pytest.mark.parametrize(
    ("spelled", "counts"),
    [
        ("vmcnt(0)", (0, 15, 7)),
        ("vmcnt(20) lgkmcnt(7)", (20, 7, 7)),
        ("vmcnt(1) & lgkmcnt(2) & expcnt(3)", (1, 2, 3)),
        ("vmcnt(1), lgkmcnt(2)", (1, 2, 7)),
        ("lgkmcnt( 0x3 )", (63, 3, 7)),
        ("0x0f74", (4, 15, 7)),
        ("0x4774", (20, 7, 7)),
        ("0", (0, 0, 0)),
        ("49279", (63, 0, 7)),
        ("vmcnt_sat(99)", (63, 15, 7)),
    ],
)
def test_spellings_of_waits(spelled, counts):
    waits = read_waits(read(f"\ts_waitcnt {spelled}").instructions[0])
    assert (waits.vm, waits.lgkm, waits.exp) == counts


def test_symbols_macros_and_register_expressions():
    kernel = read(
        ".set vBase, 4\n"
        "sTop = vBase * 2 + 1\n"
        ".macro twice to, from=v1\n\tv_mov_b32 \\to, \\from\n\tv_mov_b32 \\to, \\from\n.endm\n"
        "\tv_mov_b32 v[vBase+1], s[sTop]\n"
        "\tds_read_b64 v[vBase:vBase+1], v0 offset:8\n"
        "\ttwice v7, v8\n"
        "\ttwice v9\n"
        ".rept 2\n\ts_nop 0\n.endr\n"
        ".if vBase == 4\n\ts_nop 1\n.else\n\ts_nop 2\n.endif\n"
        "\ts_mov_b32 s0, vBase<<2\n"
    )
    got = [(i.mnemonic, i.operands) for i in kernel.instructions]
    assert got[0] == ("v_mov_b32", ("v5", "s9"))
    assert got[1] == ("ds_read_b64", ("v[4:5]", "v0"))
    assert got[2:6] == [("v_mov_b32", ("v7", "v8"))] * 2 + [("v_mov_b32", ("v9", "v1"))] * 2
    assert got[6:8] == [("s_nop", ("0",))] * 2
    assert got[8] == ("s_nop", ("1",))
    assert got[9] == ("s_mov_b32", ("s0", "16"))


def operands_of(text):
    return [i.operands[0] for i in read(text).instructions[:-1]]


@pytest.mark.parametrize(
    ("text", "nops"),
    [
        (".set K, 2\n.if K == 1\n s_nop 1\n.elseif K == 2\n s_nop 2\n.else\n s_nop 3\n.endif\n",
         ["2"]),
        (".set K, 3\n.if K == 1\n s_nop 1\n.elseif K == 2\n s_nop 2\n.elseif K == 3\n s_nop 5\n"
         ".else\n s_nop 3\n.endif\n s_nop 9\n", ["5", "9"]),
        (".set K, 7\n.if K == 1\n s_nop 1\n.elseif K == 2\n s_nop 2\n.else\n s_nop 3\n.endif\n",
         ["3"]),
        (".set K, 2\n.ifeq K-2\n s_nop 1\n.else\n s_nop 2\n.endif\n", ["1"]),
        (".set K, 2\n.ifne K-2\n s_nop 1\n.else\n s_nop 2\n.endif\n", ["2"]),
        (".set K, 2\n.ifgt K-2\n s_nop 1\n.endif\n.ifge K-2\n s_nop 2\n.endif\n", ["2"]),
        (".ifc a, a\n s_nop 1\n.ifnc a, b\n s_nop 2\n.endif\n.endif\n", ["1", "2"]),
        (".irp n, 3, 4\n s_nop \\n\n.endr\n", ["3", "4"]),
        (".irp n, 3, 4\n.rept 2\n s_nop \\n\n.endr\n.endr\n", ["3", "3", "4", "4"]),
        (".equ Q, 6\n s_nop Q\n", ["6"]),
    ],
)  # fmt: skip
def test_conditions_and_repetitions(text, nops):
    assert operands_of(text) == nops


def test_an_unknown_condition_is_an_error():
    with pytest.raises(AssemblyError, match=r"\.ifeqs is not read"):
        read('.ifeqs "a", "b"\n s_nop 0\n.endif\n')


def test_counts_may_be_expressions():
    waits = [i for i in read(
        ".set N, 5\n s_waitcnt vmcnt(N-2) & lgkmcnt(N)\n s_waitcnt vmcnt(1), lgkmcnt(0)\n"
    ).instructions if i.mnemonic == "s_waitcnt"]  # fmt: skip
    assert [(w.vm, w.lgkm) for w in map(read_waits, waits)] == [(3, 5), (1, 0)]


def test_numbered_labels_are_the_nearest_ones():
    kernel = read("1:\n s_nop 0\n s_branch 1b\n s_branch 1f\n1:\n s_nop 1\n s_branch 1b\n")
    branches = [i for i in kernel.instructions if i.mnemonic == "s_branch"]
    assert [kernel.target_of(b) for b in branches] == [0, 3, 3]


def test_a_label_as_a_distance_behind_getpc():
    body = (
        "\ts_getpc_b64 s[12:13]\n\ts_add_i32 s14, label_far, 0x4\n\ts_add_u32 s12, s12, s14\n"
        "\ts_addc_u32 s13, s13, 0\n\ts_setpc_b64 s[12:13]\n\ts_trap 2\nlabel_far:\n"
    )
    assert verdict_of(body).verdict is Verdict.CLEAN
    apart = body.replace("\ts_add_i32 s14", "\ts_nop 0\n\ts_add_i32 s14")
    assert verdict_of(apart).verdict is Verdict.UNSUPPORTED


def test_comments_labels_and_line_tables():
    kernel = read(
        '\t.file 1 "dir" "name.py"\n'
        "\t.loc 1 17 3 ; name.py:17\n"
        "\ts_nop 0 // trailing\n"
        "/* a block\n of comments */\n"
        ".LBB0_1: s_nop 1\n"
        "\ts_branch .LBB0_1 ; back\n"
    )
    first, second, branch, _ = kernel.instructions
    assert first.source == ("name.py", 17)
    assert second.operands == ("1",)
    assert kernel.target_of(branch) == 1


def test_metadata_and_descriptor():
    kernel = read_kernel(assembled("\ts_nop 0"))
    assert kernel.target == "gfx950"
    assert [(a.offset, a.size, a.kind) for a in kernel.arguments] == [
        (0, 8, "global_buffer"),
        (8, 8, "global_buffer"),
    ]
    assert kernel.lds_bytes == 8192
    assert kernel.descriptor[".amdhsa_user_sgpr_count"] == 2


def test_preloaded_arguments_stand_in_registers():
    text = assembled(
        "\tv_lshlrev_b32_e32 v1, 2, v0\n\tglobal_store_dword v1, v1, s[4:5]\n", setup=""
    ).replace(
        ".amdhsa_user_sgpr_count 2",
        ".amdhsa_user_sgpr_count 6\n\t\t.amdhsa_user_sgpr_kernarg_preload_length 4",
    )
    report = check_amdgcn(text, small_launch(), axioms=resolve(None))
    assert report.clean, report.text()
    assert report.figures["bytes written"] == 512


def test_a_block_of_two_dimensions_packs_its_thread_numbers():
    from warploom.check.launch import Launch

    launch = small_launch().to_json() | {"block": [16, 8, 1]}
    body = (
        "\tv_and_b32_e32 v4, 0x3ff, v0\n\tv_bfe_u32 v5, v0, 10, 10\n"
        "\tv_lshl_add_u32 v6, v5, 4, v4\n\tv_lshlrev_b32_e32 v7, 2, v6\n"
        "\tglobal_store_dword v7, v6, s[6:7]\n"
    )

    def want(x, y):
        kept = y.copy()
        kept[:128] = range(128)
        return kept

    report = check_amdgcn(
        assembled(body), Launch.from_json(launch), axioms=resolve(None), against=want
    )
    assert report.clean, report.text()


REFUSED = {
    "empty": "",
    "binary": "\x7fELF\0\0",
    "no kernel": ".text\n",
    "prose": "this is not assembly at all\n",
    "endless macro": ".macro m\n\tm\n.endm\n" + assembled("\tm"),
    "open macro": ".macro m\n" + assembled(""),
    "huge repetition": assembled(".rept 99999999\n\ts_nop 0\n.endr"),
    "deep expression": assembled("\ts_mov_b32 s0, " + "(" * 400 + "1" + ")" * 400),
    "unknown label": assembled("\ts_branch .Lnowhere"),
    "odd line": assembled("\t@@@ ???"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_an_error_of_its_own(name):
    report = check_amdgcn(REFUSED[name], small_launch(), axioms=resolve(None))
    assert report.verdict in (Verdict.MALFORMED, Verdict.UNSUPPORTED), report.text()
    assert report.error or report.unsupported


def test_unsupported_names_the_first_instruction_and_its_line():
    report = verdict_of("\ts_nop 0\n\tv_cubeid_f32 v0, v1, v2, v3\n")
    assert report.verdict is Verdict.UNSUPPORTED
    assert "v_cubeid_f32" in report.unsupported
    assert "line 16" in report.unsupported


def test_other_targets_are_not_guessed_at():
    report = verdict_of("\ts_nop 0", target="gfx1100")
    assert report.verdict is Verdict.UNSUPPORTED
    assert "gfx1100" in report.unsupported


def test_an_endless_loop_ends():
    launch = small_launch()
    text = assembled(".Lagain:\n\tv_add_u32_e32 v4, 1, v4\n\ts_branch .Lagain")
    report = check_amdgcn(text, launch, axioms=resolve(None), max_steps=20_000)
    assert report.verdict is Verdict.UNSUPPORTED
    still = assembled(".Lagain:\n\ts_nop 0\n\ts_branch .Lagain")
    assert check_amdgcn(still, launch, axioms=resolve(None)).verdict is Verdict.DEADLOCK


def test_code_that_runs_off_its_end():
    text = assembled("\ts_nop 0").replace("\ts_endpgm\n", "")
    assert check_amdgcn(text, small_launch(), axioms=resolve(None)).unsupported


def test_damaged_text_never_raises():
    whole = assembled(
        "\tds_write_b128 v3, v[4:7]\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n"
        "\tds_read_b128 v[8:11], v3\n\ts_waitcnt lgkmcnt(0)\n"
        "\tglobal_store_dwordx4 v3, v[8:11], s[6:7]\n" + SETUP
    )
    rng = random.Random(5)
    for _ in range(150):
        data = bytearray(whole.encode())
        for _ in range(rng.randrange(1, 12)):
            data[rng.randrange(len(data))] = rng.randrange(32, 127)
        text = data.decode()
        if rng.random() < 0.3:
            text = text[: rng.randrange(len(text))]
        report = check_amdgcn(text, small_launch(), axioms=resolve(None), max_steps=5_000)
        assert report.verdict in Verdict


def test_expressions():
    assert evaluate("a*2+(b<<1)-0x10", {"a": 5, "b": 3}, 1) == 0
    for bad in ("1+", "unknown", "__import__('os')", "2**99", "1 if 2 else 3"):
        with pytest.raises(AssemblyError):
            evaluate(bad, {}, 1)
