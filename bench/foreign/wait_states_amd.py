"""Compare the wait states of ``check`` with LLVM's hazard recognizer, on random short programs.

    python wait_states_amd.py LLC [--programs 2000] [--seed 0] [--target gfx950]

``LLC`` is LLVM's ``llc`` (22 or later). Programs are written as machine IR; LLVM inserts the nops
it holds necessary. ``check`` must report nothing then, and must report every nop that is made
shorter, but where LLVM pads more than the hardware asks for (printed, to be argued).
"""

import argparse
import random
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from warploom.check.amdgcn.hazards import wait_state_hazards
from warploom.check.amdgcn.reader import read_kernel

FRAME = """\t.amdgcn_target "amdgcn-amd-amdhsa--{target}"
\t.text
k:
{body}
\ts_endpgm
.Lfunc_end0:
\t.amdhsa_kernel k
\t.end_amdhsa_kernel
"""
ON = "implicit $exec"
MODE = "implicit $mode, implicit $exec"


class Draw:
    """Random registers of a small pool, so that instructions meet."""

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def tuple(self, file, count, top):
        step = (2 if file != "sgpr" else count) if count > 1 else 1
        first = self.chance.randrange(0, top - count + 1, step)
        return "$" + "_".join(f"{file}{first + i}" for i in range(count))

    def v(self, count=1):
        return self.tuple("vgpr", count, max(24, count + 4))

    def s(self, count=1):
        return self.tuple("sgpr", count, 16)


def matrix(name, to, factor, tail="0, 0, 0"):
    def make(d):
        result = d.v(to)
        addend = result if d.chance.random() < 0.4 else d.v(to) if d.chance.random() < 0.7 else "0"
        return (
            f"{result} = {name}_vgprcd_e64 {d.v(factor)}, {d.v(factor)}, {addend}, {tail}, {MODE}"
        )

    return make


def sparse(name, to, factor):
    def make(d):
        result = d.v(to)
        return (f"{result} = {name}_e64 {d.v(factor)}, {d.v(2 * factor)}, {d.v()}, 0, 0, {result}, "
                f"{MODE}")  # fmt: skip

    return make


def tied(text):
    def make(d):
        register = d.v()
        return text.format(d=register, a=d.v(), b=d.v(), s=d.s())

    return make


PLAIN = [
    lambda d: f"{d.v()} = V_MOV_B32_e32 {d.chance.choice([d.v(), d.s()])}, {ON}",
    lambda d: f"{d.v()} = V_ADD_U32_e32 {d.v()}, {d.v()}, {ON}",
    lambda d: f"{d.v()} = V_EXP_F32_e32 {d.v()}, {MODE}",
    lambda d: f"V_CMP_EQ_U32_e32 {d.v()}, {d.v()}, implicit-def $vcc, {ON}",
    lambda d: f"{d.s(2)} = V_CMP_EQ_U32_e64 {d.v()}, {d.v()}, {ON}",
    lambda d: f"{d.v()} = V_CNDMASK_B32_e32 {d.v()}, {d.v()}, implicit $vcc, {ON}",
    lambda d: f"{d.s()} = V_READFIRSTLANE_B32 {d.v()}, {ON}",
    lambda d: f"{d.s()} = V_READLANE_B32 {d.v()}, {d.s()}, {ON}",
    tied("{d} = V_WRITELANE_B32 1, {s}, {d}, " + ON),
    tied("{d} = V_MOV_B32_dpp {d}, {a}, 0, 15, 15, 0, " + ON),
    tied("{d} = V_DOT2C_F32_F16_e32 {a}, {b}, {d}, " + MODE),
    lambda d: f"GLOBAL_STORE_DWORDX4_SADDR {d.v()}, {d.v(4)}, {d.s(2)}, 0, 0, {ON}",
    lambda d: f"{d.v()} = BUFFER_LOAD_DWORD_OFFEN {d.v()}, {d.s(4)}, {d.s()}, 0, 0, 0, {ON}",
    lambda d: f"DS_WRITE_B64_gfx9 {d.v()}, {d.v(2)}, 0, 0, {ON}",
    lambda d: f"{d.v(2)} = DS_READ_B64_gfx9 {d.v()}, 0, 0, {ON}",
    lambda d: f"$m0 = S_MOV_B32 {d.s()}",
    lambda d: f"GLOBAL_LOAD_LDS_DWORD_SADDR {d.s(2)}, {d.v()}, 0, 0, implicit $m0, {ON}",
    lambda d: f"{d.v(2)} = V_ADD_F64_e64 0, {d.v(2)}, 0, {d.v(2)}, 0, 0, {MODE}",
]
MATRIX = [
    matrix("V_MFMA_F32_16X16X16F16", 4, 2), matrix("V_MFMA_F32_32X32X8F16", 16, 2),
    matrix("V_MFMA_F32_4X4X4F16", 4, 2), matrix("V_MFMA_F32_32X32X2F32", 16, 1),
    matrix("V_MFMA_F32_16X16X32_FP8_FP8", 4, 2), matrix("V_MFMA_I32_32X32X16I8", 16, 2),
    matrix("V_MFMA_F64_16X16X4F64", 8, 2), matrix("V_MFMA_F64_4X4X4F64", 2, 2),
    sparse("V_SMFMAC_F32_16X16X32_F16", 4, 2), sparse("V_SMFMAC_F32_32X32X16_F16", 16, 2),
]  # fmt: skip
MATRIX_950 = [
    matrix("V_MFMA_F32_16X16X32_F16", 4, 4), matrix("V_MFMA_F32_32X32X16_BF16", 16, 4),
    matrix("V_MFMA_F32_16X16X128_F8F6F4_f8_f8", 4, 8, "0, 0"),
    sparse("V_SMFMAC_F32_16X16X64_F16", 4, 4),
]  # fmt: skip


def program(d, target):
    matrices = MATRIX + (MATRIX_950 if target == "gfx950" else [])
    share = d.chance.choice([0.1, 0.5, 0.8])
    count = d.chance.choice([2, 2, 3, 4])
    pick = lambda: d.chance.choice(matrices if d.chance.random() < share else PLAIN)  # noqa: E731
    return [pick()(d) for _ in range(count)]


def compiled(llc, target, programs):
    """The bodies that LLVM prints, with its nops."""
    text = "".join(
        f"---\nname: f{i}\ntracksRegLiveness: false\nmachineFunctionInfo:\n"
        "  isEntryFunction: true\nbody: |\n  bb.0:\n"
        + "".join(f"    {line}\n" for line in lines) + "    S_ENDPGM 0\n...\n"
        for i, lines in enumerate(programs)
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "programs.mir"
        path.write_text(text)
        done = subprocess.run(
            [llc, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-x", "mir",
             "-start-before=post-RA-hazard-rec", "-verify-machineinstrs=0", str(path), "-o", "-"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    for body in re.findall(r"^f\d+:.*?\n(.*?)\ts_endpgm", done.stdout, re.S | re.M):
        lines = [re.sub(r"\s*;.*", "", line) for line in body.split("\n")]
        yield [x for x in lines if x.startswith("\t") and not x.strip().startswith((".", "%"))]


def hazards(lines, target):
    return wait_state_hazards(read_kernel(FRAME.format(target=target, body="\n".join(lines))))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("llc")
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", default="gfx950")
    given = parser.parse_args()
    d = Draw(given.seed)
    programs = [program(d, given.target) for _ in range(given.programs)]
    nops, silent, alarms = 0, Counter(), Counter()
    for lines in compiled(given.llc, given.target, programs):
        for h in hazards(lines, given.target):
            alarms[h.first.mnemonic, h.second.mnemonic, h.what] += 1
        for at, line in enumerate(lines):
            if not line.strip().startswith("s_nop"):
                continue
            nops += 1
            count = int(line.split()[1])
            less = [f"\ts_nop {count - 1}"] if count else []
            if not hazards([*lines[:at], *less, *lines[at + 1 :]], given.target):
                names = [x.split()[0] for x in lines if "s_nop" not in x]
                silent[tuple(names)] += 1
    print(f"{given.target}: {nops} nops, {sum(silent.values())} shortened and not reported, "
          f"{sum(alarms.values())} reported as LLVM wrote them")  # fmt: skip
    for what, found in (("not reported", silent), ("reported", alarms)):
        for key, count in found.most_common(20):
            print(what, count, *key)


if __name__ == "__main__":
    main()
