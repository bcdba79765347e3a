"""Flash-attention forward on the H200: correctness, repeatability, comparison with the libraries.

    python bench/h200_attention.py correct   lengths, types, masks, shared heads, strides, packed
    python bench/h200_attention.py repeat    100 runs of each head dimension and mask, bitwise equal
    python bench/h200_attention.py final     cuDNN twice, torch's flash backend, ours; the table
    python bench/h200_attention.py once      one small launch of each (for sanitizers)
    python bench/h200_attention.py profile   one launch of each kernel and of cuDNN (for ncu)

Results go to the folder named by ``--out``. Errors are relative to float64.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

import torch
from lib.protocol import compare, environment, geometric_mean
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

import warploom
from warploom.launch.attention_launch import AttentionCall, prepare_attention
from warploom.launch.shipped import SHIPPED_ATTENTION, attention_kernel
from warploom.launch.tensors import view_of

CASES = (
    (4, 32, 4096, 128),
    (2, 32, 8192, 128),
    (1, 32, 16384, 128),
    (4, 32, 4096, 64),
    (2, 16, 8192, 256),
)
HEAD_DIMS = (64, 128, 256)
MASKS = (False, True, "lower_right")
ERROR_LIMIT = {"bf16": 5e-3, "fp16": 1e-3}
LSE_LIMIT = 2e-3
TORCH = {"bf16": torch.bfloat16, "fp16": torch.float16}
# batch, heads, kv heads, queries, keys
LENGTHS = (
    (1, 1, 1, 1, 1),
    (1, 1, 1, 128, 128),
    (1, 3, 3, 77, 130),
    (2, 4, 2, 384, 384),
    (1, 2, 2, 513, 511),
    (2, 4, 4, 200, 1000),
    (1, 2, 2, 1000, 200),
    (2, 8, 2, 1337, 1337),
    (3, 6, 1, 640, 641),
    (1, 8, 8, 2048, 2048),
)
PACKED = ((5, 9), (300, 300), (128, 1), (1, 700), (0, 4), (77, 0), (260, 129))
OURS = "warploom"


def tensors(b, h, kv, sq, sk, d, dtype="bf16"):
    kind = TORCH[dtype]
    q = torch.randn(b, h, sq, d, device="cuda", dtype=kind)
    k, v = (torch.randn(b, kv, sk, d, device="cuda", dtype=kind) for _ in range(2))
    return q, k, v


def exact_rows(q, k, v, causal, scale, rows, at):
    """Float64 results and log-sum-exps of some rows of one head; rows that see nothing are 0."""
    b, h = at
    kv = h // (q.shape[1] // k.shape[1])
    s = q[b, h, rows].double() @ k[b, kv].double().T * scale
    if causal:
        diagonal = k.shape[2] - q.shape[2] if causal == "lower_right" else 0
        keys = torch.arange(k.shape[2], device="cuda")
        s.masked_fill_(keys > rows[:, None] + diagonal, float("-inf"))
    return torch.nan_to_num(torch.softmax(s, -1)) @ v[b, kv].double(), torch.logsumexp(s, -1)


def sample(q, count):
    rows = torch.randint(0, q.shape[2], (count,), device="cuda")
    rows[0], rows[-1] = 0, q.shape[2] - 1
    return rows, tuple(int(torch.randint(0, n, (1,))) for n in q.shape[:2])


def error_of(out, q, k, v, causal, scale=None, count=128, lse=None):
    """The worst relative error of sampled rows, and of the log-sum-exps the worst difference."""
    scale = scale or q.shape[3] ** -0.5
    worst = far = 0.0
    for _ in range(3):
        rows, at = sample(q, count)
        exact, sums = exact_rows(q, k, v, causal, scale, rows, at)
        found = out[(*at, rows)].double()
        if not torch.isfinite(found).all():
            return float("inf"), float("inf")
        worst = max(worst, ((found - exact).norm() / exact.norm().clamp_min(1e-9)).item())
        if lse is not None:
            got = lse[(*at, rows)].double()
            none = torch.isneginf(sums)
            same = torch.equal(torch.isneginf(got), none)
            gap = (got - sums)[~none].abs().max().item() if (~none).any() else 0.0
            far = max(far, gap if same else float("inf"))
    return worst, far


def lengths_right(rows):
    for d, shape, dtype, causal, scale in product(
        HEAD_DIMS, LENGTHS, ("bf16", "fp16"), MASKS, (None, 0.3)
    ):
        q, k, v = tensors(*shape, d, dtype)
        o = torch.full_like(q, float("nan"))
        _, lse = warploom.attention(q, k, v, causal, scale, out=o, return_lse=True)
        torch.cuda.synchronize()
        error, far = error_of(o, q, k, v, causal, scale, lse=lse)
        good = error < ERROR_LIMIT[dtype] and far < LSE_LIMIT and bool(torch.isfinite(o).all())
        add(rows, good, (d, *shape, dtype, causal, scale), error)


def layouts_right(rows):
    for d, causal in product(HEAD_DIMS, MASKS):
        # [batch, length, heads, head dim] seen as [batch, heads, length, head dim]
        shape = (2, 300, 4, d)
        q, k, v, o = (torch.randn(*shape, device="cuda").bfloat16().transpose(1, 2) for _ in "qkvo")
        warploom.attention(q, k, v, causal, out=o)
        error, _ = error_of(o, q, k, v, causal)
        add(rows, error < ERROR_LIMIT["bf16"], ("transposed", d, causal), error)
        add(rows, *packed_right(d, causal))


def packed_right(d, causal):
    """(right, case, error) of sequences packed behind one another; some are empty."""
    starts = [
        torch.tensor([0, *(n[i] for n in PACKED)], device="cuda").cumsum(0).int() for i in (0, 1)
    ]
    rows = [int(s[-1]) for s in starts]
    q = torch.randn(rows[0], 4, d, device="cuda").bfloat16()
    k, v = (torch.randn(rows[1], 2, d, device="cuda").bfloat16() for _ in "kv")
    o = torch.full_like(q, float("nan"))
    most = [max(n[i] for n in PACKED) for i in (0, 1)]
    _, lse = warploom.attention_packed(q, k, v, *starts, *most, causal, out=o, return_lse=True)
    torch.cuda.synchronize()
    worst = 0.0
    for i, (queries, keys) in enumerate(PACKED):
        if queries == 0:
            continue
        mine, seen = (slice(int(s[i]), int(s[i + 1])) for s in starts)
        if keys == 0:
            worst = max(worst, o[mine].abs().max().item())
            continue
        parts = [t.transpose(0, 1)[None] for t in (o[mine], q[mine], k[seen], v[seen])]
        error, far = error_of(*parts, causal, lse=lse[:, mine][None])
        worst = max(worst, error, far)
    return worst < ERROR_LIMIT["bf16"], ("packed", d, causal), worst


def logits_right(rows):
    for d, factor in product(HEAD_DIMS, (30.0, 1e-3)):  # large and tiny logits
        q, k, v = tensors(1, 4, 4, 512, 512, d)
        q *= factor
        error, _ = error_of(warploom.attention(q, k, v, causal=True), q, k, v, True)
        add(rows, error < 2 * ERROR_LIMIT["bf16"], ("q times", factor, d), error)


def kernels_right(rows):
    """Every shipped kernel at the sizes of the benchmark."""
    for kernel, causal in product(SHIPPED_ATTENTION, (False, True)):
        b, h, s, d = next(c for c in CASES if c[3] == kernel.head_dim)
        q, k, v = tensors(b, h, h, s, s, d)
        o = torch.full_like(q, float("nan"))
        warploom.attention(q, k, v, causal, out=o, kernel=kernel)
        error, _ = error_of(o, q, k, v, causal)
        good = error < ERROR_LIMIT["bf16"] and bool(torch.isfinite(o).all())
        add(rows, good, (kernel.name, causal), error)


def add(rows, good, case, error):
    rows.append({"case": case, "error": error, "good": bool(good)})
    if not good:
        print("WRONG", case, error, flush=True)


def correct(out_folder):
    rows = []
    for check in (lengths_right, layouts_right, logits_right, kernels_right):
        check(rows)
    bad = sum(not r["good"] for r in rows)
    print(f"correct: {len(rows) - bad} of {len(rows)}", flush=True)
    save(out_folder, "attention_correct.json", {"environment": environment(), "rows": rows})
    return bad


def repeat(runs=100):
    bad = total = 0
    for d, causal in product(HEAD_DIMS, (False, True)):
        q, k, v = tensors(2, 16, 16, 2048 + 77, 2048 + 77, d)
        first = warploom.attention(q, k, v, causal)
        o = torch.empty_like(q)
        for _ in range(runs):
            o.fill_(float("nan"))
            warploom.attention(q, k, v, causal, out=o)
            bad += not torch.equal(o, first)
        total += runs
    print(f"repeat: {total} runs, {bad} differ", flush=True)
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
        a, b, c, out = (view_of(t, "tensor").placed() for t in (q, k, v, o))
        call = AttentionCall(q=a, k=b, v=c, out=out, scale=kernel.head_dim**-0.5)
        go = prepare_attention(call, kernel)
        calls.append(lambda go=go: go(stream))
        keep.append(o)
    return calls, keep


def contestants_of(sets, causal, d):
    """What runs against what, the errors, and the tensors they need."""
    cudnn = SDPBackend.CUDNN_ATTENTION
    found = {"cudnn": library(cudnn, sets, causal), "cudnn again": library(cudnn, sets, causal)}
    errors = {"cudnn": error_of(found["cudnn"][0](), *sets[0], causal)[0]}
    flash = library(SDPBackend.FLASH_ATTENTION, sets, causal)
    try:
        errors["torch flash"] = error_of(flash[0](), *sets[0], causal)[0]
        found["torch flash"] = flash
    except RuntimeError as error:
        print("no torch flash:", str(error)[:100], flush=True)
    chosen, kept = attention_kernel(d, causal=causal), []
    for kernel in (k for k in SHIPPED_ATTENTION if k.head_dim == d):
        best = replace(kernel, causal=causal) == chosen
        name = OURS if best else f"{OURS} {kernel.name}"
        found[name], outs = ours(sets, causal, kernel)
        found[name][0]()
        torch.cuda.synchronize()
        errors[name] = error_of(outs[0], *sets[0], causal)[0]
        kept.append(outs)
    return found, errors, kept


def final(out_folder, rounds, run_ms):
    table = []
    for causal, (b, h, s, d) in product((False, True), CASES):
        sets = [tensors(b, h, h, s, s, d) for _ in range(2)]
        contestants, errors, kept = contestants_of(sets, causal, d)
        times = compare(contestants, rounds=rounds, run_ms=run_ms)
        flops = 4.0 * b * h * s * s * d / (2 if causal else 1)
        row = {"case": (b, h, s, d), "causal": causal, "ms": times, "error": errors}
        row["tflops"] = {n: flops / t / 1e9 for n, t in times.items()}
        row["ratio"] = {n: times["cudnn"] / t for n, t in times.items()}
        table.append(row)
        print((b, h, s, d), "causal" if causal else "full", flush=True)
        for name, ms in times.items():
            print(
                f"   {name:40s} {flops / ms / 1e9:7.1f} x{times['cudnn'] / ms:.3f}"
                f" {errors.get(name, float('nan')):.2e}",
                flush=True,
            )
        save(out_folder, "attention_final.json", summary(table))
        del sets, contestants, kept
        torch.cuda.empty_cache()
    print(json.dumps(summary(table)["geometric_means"], indent=1), flush=True)


def summary(table):
    wanted = ("cudnn again", "torch flash", OURS)
    names = [n for n in wanted if all(n in r["ratio"] for r in table)]
    groups = {
        "all": table,
        "full": [r for r in table if not r["causal"]],
        "causal": [r for r in table if r["causal"]],
        **{f"head dim {d}": [r for r in table if r["case"][3] == d] for d in HEAD_DIMS},
    }
    means = {
        g: {n: geometric_mean(r["ratio"][n] for r in rows) for n in names}
        for g, rows in groups.items()
        if rows
    }
    for g, rows in groups.items():
        if rows:  # against the mean of both entries of the library
            fair = [r["ratio"][OURS] / r["ratio"]["cudnn again"] ** 0.5 for r in rows]
            means[g]["warploom / mean cudnn"] = geometric_mean(fair)
    return {
        "script": "bench/h200_attention.py final",
        "environment": environment(),
        "cudnn": torch.backends.cudnn.version(),
        "geometric_means": means,
        "table": table,
    }


def once(shape):
    """One launch for every head dimension and mask, ragged and with its log-sum-exp."""
    b, h, s = shape
    for d, causal in product(HEAD_DIMS, (False, True)):
        q, k, v = tensors(b, h, h, s, s + 33, d)
        o, lse = warploom.attention(q, k, v, causal, return_lse=True)
        torch.cuda.synchronize()
        print("once", d, causal, error_of(o, q, k, v, causal, lse=lse), flush=True)
    print("packed", packed_right(128, True), flush=True)


def profile():
    """One launch of every shipped kernel and of cuDNN, at the sizes of the benchmark."""
    for d, causal in product(HEAD_DIMS, (False, True)):
        b, h, s, _ = next(c for c in CASES if c[3] == d)
        q, k, v = tensors(b, h, h, s, s, d)
        for kernel in (found for found in SHIPPED_ATTENTION if found.head_dim == d):
            warploom.attention(q, k, v, causal, kernel=kernel)
            print("profile", kernel.name, causal, flush=True)
        library(SDPBackend.CUDNN_ATTENTION, [(q, k, v)], causal)[0]()
        torch.cuda.synchronize()


def save(folder, name, data):
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_text(json.dumps(data, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("correct", "repeat", "final", "once", "profile"))
    parser.add_argument("rest", nargs="*", type=int)
    parser.add_argument("--out", default="bench/results")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--run-ms", type=float, default=200.0)
    args = parser.parse_args()
    torch.manual_seed(int(time.time()) & 0xFFFF)
    if args.mode == "correct":
        return correct(args.out)
    if args.mode == "repeat":
        return repeat()
    if args.mode == "final":
        final(args.out, args.rounds, args.run_ms)
    elif args.mode == "profile":
        profile()
    else:
        once(tuple(args.rest) or (1, 2, 300))
    return 0


if __name__ == "__main__":
    sys.exit(main())
