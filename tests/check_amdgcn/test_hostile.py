"""Files that are no kernels: a typed answer for every one, and an end in bounded steps."""

import json
import random
from pathlib import Path

import pytest

from warploom.check.amdgcn import check, check_amdgcn
from warploom.check.launch import Launch
from warploom.report import Verdict

from .small import assembled, small_launch, verdict_of

FOLDER = Path(__file__).parents[2] / "bench" / "syncbench" / "amd"
CASES = [c["name"] for c in json.loads((FOLDER / "cases.json").read_text())]
WORDS = [
    "s[0:3]", "v[255:256]", "v999", "s[3:1]", "v[", "exec", "m0", "off", "-1", "0xffffffff",
    "99999999999999999999", "1e400", "offset:99999", "op_sel:[9]", "quad_perm:[7,7,7,7]",
    "s_waitcnt", "s_endpgm", "s_branch .L1", ".rept 100000000", ".macro x", "lds", "v[0:31]",
    "(", "[", ",", ":", ".set a, a+1", "dst_sel:BYTE_9", "format:[X]", "s_setpc_b64 s[0:1]",
    "hwreg(77)", "@rel32@lo+4", "\0", "\u00e9",
]  # fmt: skip
NUMBERS = [0, 1, 63, 64, 255, 256, 4095, 1 << 31, 1 << 64]


def damaged(text, rng):
    """A text with a few random changes."""
    for _ in range(rng.randint(1, 4)):
        lines = text.split("\n")
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        kind = rng.randrange(7)
        if kind == 0:
            return text[: rng.randrange(len(text) + 1)]
        if kind == 1:
            del lines[i]
        elif kind == 2:
            lines[i], lines[j] = lines[j], lines[i]
        elif kind == 3:
            lines.insert(i, "\t" + rng.choice(WORDS))
        elif kind == 4:
            words = lines[i].split() or [""]
            words[rng.randrange(len(words))] = rng.choice(WORDS)
            lines[i] = "\t" + " ".join(words)
        elif kind == 5:
            digits = [n for n, c in enumerate(lines[i]) if c.isdigit()]
            if digits:
                at = rng.choice(digits)
                lines[i] = lines[i][:at] + str(rng.choice(NUMBERS)) + lines[i][at + 1 :]
        else:
            words = lines[i].split() or [""]
            words[0] = (lines[j].split() or ["x"])[0]
            lines[i] = "\t" + " ".join(words)
        text = "\n".join(lines)
    return text


@pytest.mark.parametrize("seed", range(8))
def test_damaged_files_get_a_verdict(seed):
    rng = random.Random(seed)
    for _ in range(20):
        name = rng.choice(CASES)
        text = damaged((FOLDER / name / "fixed.s").read_text(), rng)
        launch = Launch.read(FOLDER / name / "launch.json")
        report = check_amdgcn(text, launch, max_steps=20_000)
        assert report.verdict in Verdict


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (".amdhsa_user_sgpr_count 2", ".amdhsa_user_sgpr_count 200"),
        (".amdhsa_user_sgpr_count 2", ".amdhsa_user_sgpr_count 18446744073709551616"),
        (".private_segment_fixed_size: 0", ".private_segment_fixed_size: 18446744073709551616"),
    ],
)
def test_sizes_that_no_chip_has_are_refused(old, new):
    text = assembled("")
    assert old in text
    report = check_amdgcn(text.replace(old, new), small_launch())
    assert report.verdict is Verdict.MALFORMED
    assert report.error


def test_preloaded_arguments_behind_the_end_read_zero():
    more = (
        ".amdhsa_user_sgpr_count 4\n\t\t.amdhsa_user_sgpr_kernarg_preload_length 2\n"
        "\t\t.amdhsa_user_sgpr_kernarg_preload_offset 2147483648"
    )
    text = assembled("").replace(".amdhsa_user_sgpr_count 2", more)
    assert check_amdgcn(text, small_launch()).verdict is Verdict.CLEAN


@pytest.mark.parametrize(
    "loop",
    [
        "\ts_branch .Lx\n",
        "\ts_add_u32 s12, s12, 1\n\ts_branch .Lx\n",
        "\tds_write_b32 v1, v1\n\ts_branch .Lx\n",
        "\tglobal_store_dword v1, v1, s[6:7]\n\ts_branch .Lx\n",
    ],
)
def test_endless_loops_are_given_up(loop, monkeypatch):
    """In steps, or in accesses: each access to memory is kept until the end."""
    monkeypatch.setattr(check, "MAX_ACCESSES", 2_000)
    text = assembled("\ts_mov_b32 s12, 0\n.Lx:\n" + loop)
    report = check_amdgcn(text, small_launch(), max_steps=10_000)
    assert report.verdict in (Verdict.UNSUPPORTED, Verdict.DEADLOCK)
    assert report.figures["instructions"] < 50_000


@pytest.mark.parametrize("number", ["18446744073709551616", "-99999999999999999999"])
def test_modifiers_beyond_reason(number):
    line = f"\tv_mov_b32_dpp v4, v4 row_shr:{number} row_mask:0xf bank_mask:0xf\n"
    report = verdict_of(line)
    assert report.verdict is Verdict.MALFORMED
    assert "is no number" in report.error
