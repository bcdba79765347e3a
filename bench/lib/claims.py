# ruff: noqa: E501 (the table of claims is one line a claim)
"""The claims of README and results page, computed from files in ``bench/results``.

A claim names its file, what is compared with, who was in the run and who was not. ``recorded`` is the
commit that the file came with: the tree that was measured, or the one right after it.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

RESULTS = Path(__file__).resolve().parents[1] / "results"


@dataclass(frozen=True)
class Claim:
    work: str
    file: str
    against: str  # column of the file; two entries of it are averaged
    label: str
    recorded: str
    script: str
    missing: str = ""
    where: str = ""  # rows that count: "d<=128", "d=256"
    note: str = ""


CLAIMS = (
    Claim("GEMM bf16, 7 large shapes", "h200_gemm_final_bf16_main", "library", "cuBLAS", "3de04203", "h200_gemm.py", "quack (Triton and TileLang are in the run)"),
    Claim("GEMM bf16, 9 other large shapes", "h200_gemm_final_bf16_large", "library", "cuBLAS", "2d3cf9d9", "h200_gemm.py", "quack, TileLang, Triton"),
    Claim("GEMM bf16, few rows or odd sizes", "h200_gemm_final_bf16_skinny", "library", "cuBLAS", "47f50eeb", "h200_gemm.py", "quack, TileLang, Triton"),
    Claim("GEMM fp8, 7 large shapes", "h200_gemm_final_e4m3_main", "library", "cuBLASLt", "47f50eeb", "h200_gemm.py", "DeepGEMM, TileLang"),
    Claim("GEMM fp8, few rows or odd sizes", "h200_gemm_final_e4m3_skinny", "library", "cuBLASLt", "47f50eeb", "h200_gemm.py", "DeepGEMM, TileLang"),
    Claim("attention forward, 10 cases", "h200_attention_final", "cudnn", "cuDNN", "3de04203", "h200_attention.py", "FA4, TileLang"),
    Claim("attention forward, the same run", "h200_attention_final", "fa3", "FlashAttention-3", "3de04203", "h200_attention.py", "FA4, TileLang"),
    Claim("attention forward, short", "h200_attention_final_small", "cudnn", "cuDNN", "3de04203", "h200_attention.py", "FA4"),
    Claim("attention backward, head dim 64 and 128", "h200_attention_grad", "rows", "cuDNN", "99564d70", "h200_attention_grad.py", "FA3 (1.17 of cuDNN in `h200_peers.md`), FA4", "d<=128"),
    Claim("attention backward, head dim 256", "h200_attention_grad", "rows", "cuDNN", "99564d70", "h200_attention_grad.py", "FA3, FA4", "d=256"),
    Claim("decoding, one query", "h200_attention_decode", "sdpa", "torch SDPA", "3de04203", "h200_attention.py", "FlashInfer, FlashMLA"),
    Claim("attention with a score or mask function", "h200_flex", "flex", "FlexAttention", "3de04203", "h200_flex.py"),
    Claim("its backward pass", "h200_flex_grad", "flex", "FlexAttention", "de537527", "h200_flex_grad.py"),
    Claim("grouped GEMM", "h200_fused_grouped", "_grouped_mm", "`torch._grouped_mm`", "16d9c3ba", "h200_fused.py", "DeepGEMM"),
    Claim("SwiGLU in one kernel", "h200_fused_swiglu", "torch.compile", "`torch.compile`", "5508e63f", "h200_fused.py"),
    Claim("fp8 GEMM with block scales", "h200_fused_scaled", "_scaled_mm", "`torch._scaled_mm`", "5508e63f", "h200_fused.py", "DeepGEMM"),
    Claim("weights of 4 bits, 16 to 256 rows", "h200_fused_int4", "cuBLAS", "cuBLAS on bf16 weights", "de537527", "h200_fused.py", "Marlin", note="against dequantising first, then cuBLAS:"),
    Claim("weights of 8 bits (fp8), 16 to 256 rows", "h200_fused_fp8", "cuBLAS", "cuBLAS on bf16 weights", "7404d878", "h200_fused.py", "Marlin", note="against dequantising first, then cuBLAS:"),
    Claim("gated linear scan", "h200_fused_scan", "best", "the best of three Triton kernels of our own", "be9044c6", "h200_fused.py", "flash-linear-attention, Mamba-2 kernels"),
)  # fmt: skip
OURS = ("warploom", "again", "copy", "copy again")


def data(claim):
    return json.loads((RESULTS / f"{claim.file}.json").read_text())


def ratios(claim, against=None):
    """The speed of each row relative to ``against``: above 1 is faster."""
    found = data(claim)
    base = against or claim.against
    if base == "rows":
        wanted = (lambda d: d == 256) if claim.where == "d=256" else (lambda d: d <= 128)
        return [r["ratio"] for r in found["rows"] if wanted(r["case"][3])]
    return [_base(row["ms"], base) / row["ms"]["warploom"] for row in found["table"]]


def _base(ms, name):
    if name == "best":
        return min(t for n, t in ms.items() if n not in OURS)
    again = ms.get(f"{name} again", ms.get("again") if next(iter(ms)) == name else None)
    return ms[name] if again is None else (ms[name] + again) / 2


def row(claim):
    """What a table shows of a claim."""
    found = ratios(claim)
    lost = sum(r < 1 for r in found)
    text = f"{geometric_mean(found):.2f} ({min(found):.2f} to {max(found):.2f})"
    environment = data(claim)["environment"]
    return {
        "work": claim.work,
        "compared with": claim.label,
        "cases": str(len(found)),
        "warploom": text,
        "slower in": f"**{lost}**" if lost else "0",
        "measured": environment["date"][:10] + (STALE if is_stale(claim) else ""),
    }


STALE = " †"  # a run of an earlier day than the last: other rows are of a newer tree


def day(claim):
    return data(claim)["environment"]["date"][:10]


def is_stale(claim):
    """Whether others were measured again since."""
    return day(claim) < max(day(c) for c in CLAIMS)


def summary():
    """The table of the README."""
    rows = [row(c) for c in CLAIMS]
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return [*lines, *("| " + " | ".join(r.values()) + " |" for r in rows)]


def tree(claim):
    """The commit that was measured: as the run recorded it, else the one its file came with."""
    said = str(data(claim)["environment"].get("commit", "")).split()
    return (said[0][:8] if said else claim.recorded) + (STALE if is_stale(claim) else "")


def provenance():
    """File, tree and peers of every claim, for the results page."""
    lines = [
        "| work | file | script | tree | in the run | not in the run |",
        "|---|---|---|---|---|---|",
    ]
    for claim in CLAIMS:
        found = data(claim)
        rows = found.get("table")
        names = list(rows[0]["ms"]) if rows else ["cuDNN", "again", "warploom"]
        peers = ", ".join(n for n in names if n != "warploom" and "again" not in n)
        lines.append(
            f"| {claim.work} | `{claim.file}.json` | `bench/{claim.script}` | {tree(claim)} "
            f"| {peers} | {claim.missing or 'none known'} |"
        )
    notes = []
    for claim in CLAIMS:
        if claim.note:
            other = ratios(claim, "dequantise, cuBLAS")
            notes.append(f"- {claim.work}, {claim.note} {min(other):.2f} to {max(other):.2f}.")
    return [*lines, "", *notes]
