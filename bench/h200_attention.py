"""Flash-attention forward on the H200: correctness, repeatability, comparison with the libraries.

    python bench/h200_attention.py correct   shapes, types, causal and not, shared heads; float64
    python bench/h200_attention.py repeat    100 runs, bitwise equal
    python bench/h200_attention.py final     cuDNN twice, torch's flash backend, ours; the table
    python bench/h200_attention.py once      one launch of each (for ncu, sanitizers)

Results go to the folder named by ``--out``. Head dimensions 64 and 256 are not built: their cases
are listed in the results as such.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch
from protocol import compare, environment, geometric_mean
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

import warploom
from warploom.runtime.attention import AttentionCall, prepare_attention
from warploom.runtime.tensors import view_of
from warploom.schedules.hopper.attention import AttentionKernel

CASES = ((4, 32, 4096, 128), (2, 32, 8192, 128), (1, 32, 16384, 128))
NOT_BUILT = ((4, 32, 4096, 64), (2, 16, 8192, 256))
VARIANTS = {
    "margin 256": AttentionKernel(margin=256, q_registers=False),
    "margin 512": AttentionKernel(margin=512, q_registers=False),
    "margin 512, Q in registers": AttentionKernel(margin=512),
}
ERROR_LIMIT = {"bf16": 5e-3, "fp16": 1e-3}
TORCH = {"bf16": torch.bfloat16, "fp16": torch.float16}


def tensors(b, h, kv, sq, sk, dtype="bf16"):
    kind = TORCH[dtype]
    q = torch.randn(b, h, sq, 128, device="cuda", dtype=kind)
    k, v = (torch.randn(b, kv, sk, 128, device="cuda", dtype=kind) for _ in range(2))
    return q, k, v


def exact_rows(q, k, v, causal, scale, rows):
    """(head, float64 result) of sampled rows of one random head."""
    b, h = (int(torch.randint(0, n, (1,))) for n in q.shape[:2])
    kv = h // (q.shape[1] // k.shape[1])
    s = q[b, h, rows].double() @ k[b, kv].double().T * scale
    if causal:
        s.masked_fill_(torch.arange(k.shape[2], device="cuda") > rows[:, None], float("-inf"))
    return (b, h), torch.softmax(s, -1) @ v[b, kv].double()


def error_of(out, q, k, v, causal, scale=128**-0.5, count=128):
    rows = torch.randint(0, q.shape[2], (count,), device="cuda")
    rows[0], rows[1] = 0, q.shape[2] - 1
    worst = 0.0
    for _ in range(3):
        (b, h), exact = exact_rows(q, k, v, causal, scale, rows)
        found = out[b, h, rows].double()
        worst = max(worst, ((found - exact).norm() / exact.norm()).item())
    return worst


def correct(out_folder):
    rows, bad = [], 0
    shapes = (
        (1, 1, 1, 128, 128),
        (1, 2, 2, 256, 256),
        (2, 3, 3, 384, 384),
        (1, 8, 2, 1024, 1024),
        (3, 6, 1, 640, 640),
        (1, 4, 4, 128, 2048),
        (2, 4, 2, 1152, 256),
        (4, 32, 32, 4096, 4096),
        (1, 16, 16, 8192, 8192),
    )
    for b, h, kv, sq, sk in shapes:
        for dtype in ("bf16", "fp16"):
            for causal in (False, True) if sq == sk else (False,):
                for variant, kernel in VARIANTS.items():
                    for scale in (None, 0.3):
                        q, k, v = tensors(b, h, kv, sq, sk, dtype)
                        o = torch.full_like(q, float("nan"))
                        warploom.attention(q, k, v, causal, scale, out=o, kernel=kernel)
                        torch.cuda.synchronize()
                        error = error_of(o, q, k, v, causal, scale or 128**-0.5)
                        good = bool(torch.isfinite(o).all()) and error < ERROR_LIMIT[dtype]
                        bad += not good
                        row = (b, h, kv, sq, sk, dtype, causal, variant, scale)
                        rows.append({"case": row, "error": error, "good": good})
                        if not good:
                            print("WRONG", row, error, flush=True)
    for factor in (30.0, 1e-3):  # large and tiny logits
        q, k, v = tensors(1, 4, 4, 512, 512)
        q *= factor
        o = warploom.attention(q, k, v, causal=True)
        error = error_of(o, q, k, v, True)
        good = bool(torch.isfinite(o).all()) and error < 2 * ERROR_LIMIT["bf16"]
        bad += not good
        rows.append({"case": f"q times {factor}", "error": error, "good": good})
    print(f"correct: {len(rows) - bad} of {len(rows)}", flush=True)
    save(out_folder, "attention_correct.json", {"environment": environment(), "rows": rows})
    return bad


def repeat(runs=100):
    bad = 0
    for causal in (False, True):
        q, k, v = tensors(2, 32, 32, 4096, 4096)
        first = warploom.attention(q, k, v, causal)
        o = torch.empty_like(q)
        for _ in range(runs):
            o.fill_(float("nan"))
            warploom.attention(q, k, v, causal, out=o)
            bad += not torch.equal(o, first)
    print(f"repeat: {2 * runs} runs, {bad} differ", flush=True)
    return bad


def library(backend, sets, causal):
    def call(q, k, v):
        def run():
            with sdpa_kernel([backend]):
                return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

        return run

    return [call(q, k, v) for q, k, v in sets]


def ours(sets, causal, kernel):
    kernel = replace(kernel, causal=causal)
    stream = torch.cuda.current_stream().cuda_stream
    calls, keep = [], []
    for q, k, v in sets:
        o = torch.empty_like(q)
        views = [view_of(t, "tensor") for t in (q, k, v, o)]
        go = prepare_attention(AttentionCall.of(*views, 128**-0.5), kernel)
        calls.append(lambda go=go: go(stream))
        keep.append(o)
    return calls, keep


def final(out_folder, rounds, run_ms):
    table = []
    for causal in (False, True):
        for b, h, s, d in CASES:
            sets = [tensors(b, h, h, s, s) for _ in range(2)]
            contestants = {
                "cudnn": library(SDPBackend.CUDNN_ATTENTION, sets, causal),
                "cudnn again": library(SDPBackend.CUDNN_ATTENTION, sets, causal),
                "torch flash": library(SDPBackend.FLASH_ATTENTION, sets, causal),
            }
            errors = {"cudnn": error_of(contestants["cudnn"][0](), *sets[0], causal)}
            kept = []
            for variant, kernel in VARIANTS.items():
                name = f"warploom {variant}"
                contestants[name], outs = ours(sets, causal, kernel)
                contestants[name][0]()
                torch.cuda.synchronize()
                errors[name] = error_of(outs[0], *sets[0], causal)
                kept.append(outs)
            times = compare(contestants, rounds=rounds, run_ms=run_ms)
            flops = 4.0 * b * h * s * s * d / (2 if causal else 1)
            row = {"case": (b, h, s, d), "causal": causal, "ms": times, "error": errors}
            row["tflops"] = {n: flops / t / 1e9 for n, t in times.items()}
            row["ratio"] = {n: times["cudnn"] / t for n, t in times.items()}
            table.append(row)
            print((b, h, s, d), "causal" if causal else "full", flush=True)
            for name, ms in times.items():
                print(
                    f"   {name:36s} {flops / ms / 1e9:7.1f} x{times['cudnn'] / ms:.3f}"
                    f" {errors.get(name, float('nan')):.2e}",
                    flush=True,
                )
            save(out_folder, "attention_final.json", summary(table))
            del sets, contestants, kept
            torch.cuda.empty_cache()
    print(json.dumps(summary(table)["geometric_means"], indent=1), flush=True)


def summary(table):
    names = [n for n in table[0]["ratio"] if n != "cudnn"]
    groups = {"all": table}
    groups["full"] = [r for r in table if not r["causal"]]
    groups["causal"] = [r for r in table if r["causal"]]
    return {
        "script": "bench/h200_attention.py final",
        "environment": environment(),
        "not_built": [{"case": c, "why": "head dimension"} for c in NOT_BUILT],
        "geometric_means": {
            g: {n: geometric_mean(r["ratio"][n] for r in rows) for n in names}
            for g, rows in groups.items()
            if rows
        },
        "table": table,
    }


def once(shape, with_library=False):
    b, h, s = shape
    q, k, v = tensors(b, h, h, s, s)
    for causal in (False, True):
        if with_library:
            library(SDPBackend.CUDNN_ATTENTION, [(q, k, v)], causal)[0]()
        for variant, kernel in VARIANTS.items():
            o = warploom.attention(q, k, v, causal, kernel=kernel)
            torch.cuda.synchronize()
            print("once", causal, variant, error_of(o, q, k, v, causal), flush=True)


def save(folder, name, data):
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_text(json.dumps(data, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("correct", "repeat", "final", "once"))
    parser.add_argument("rest", nargs="*", type=int)
    parser.add_argument("--out", default="bench/results")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--run-ms", type=float, default=200.0)
    parser.add_argument("--library", action="store_true", help="cuDNN's kernel too (once)")
    args = parser.parse_args()
    torch.manual_seed(int(time.time()) & 0xFFFF)
    if args.mode == "correct":
        return correct(args.out)
    if args.mode == "repeat":
        return repeat()
    if args.mode == "final":
        final(args.out, args.rounds, args.run_ms)
    else:
        once(tuple(args.rest) or (1, 4, 512), args.library)
    return 0


if __name__ == "__main__":
    sys.exit(main())
