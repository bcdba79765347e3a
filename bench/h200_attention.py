"""Flash-attention forward on the H200: correctness, comparison with the libraries.

    python bench/h200_attention.py final [--group G] [--quick]   the public call; the table
    python bench/h200_attention.py decode [--quick]   one query, many keys, against a copy's rate
    python bench/h200_attention.py numerics  errors against float64 beside the libraries
    python bench/h200_attention.py correct   lengths, types, masks, shared heads, strides, packed
    python bench/h200_attention.py once      one small launch of each (for sanitizers)
    python bench/h200_attention.py profile   one launch of ours and of cuDNN (for ncu)

Groups of cases: main (five), small (short and few sequences), all. ``final`` calls what users call:
``warploom.attention(q, k, v, causal)`` against torch's SDPA with cuDNN, entered twice, and against
FlashAttention-3 where the package ``fa3-fwd`` is installed; every one makes its result. Results go
to the folder named by ``--out``. Errors are relative to float64.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import nullcontext
from itertools import product
from pathlib import Path

import torch
from lib.protocol import compare, environment, geometric_mean
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

import warploom

try:  # FlashAttention-3, forward only
    from fa3_fwd_interface import flash_attn_func
except ImportError as error:
    flash_attn_func = None
    print("no FlashAttention-3 in this run:", error, flush=True)

CASES = (
    (4, 32, 4096, 128),
    (2, 32, 8192, 128),
    (1, 32, 16384, 128),
    (4, 32, 4096, 64),
    (2, 16, 8192, 256),
)
SMALL = tuple(
    (b, h, s, d)
    for b, h, s in ((1, 8, 512), (1, 8, 3000), (4, 16, 512), (2, 32, 2048), (32, 16, 512))
    for d in (64, 128, 256)
)
GROUPS = {"main": CASES, "small": SMALL}
# batch, heads, kv heads, keys
DECODE = ((1, 32, 8, 131072), (4, 32, 8, 32768), (16, 32, 8, 8192), (64, 64, 8, 8192))
HEAD_DIMS = (64, 128, 256)
MASKS = (False, True, "lower_right")
ERROR_LIMIT = {"bf16": 5e-3, "fp16": 1e-3}
LSE_LIMIT = 2e-3
NO_WORSE = 1.005  # root mean square errors over cuDNN's
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
    """(right, case, error) of sequences packed after one another; some are empty."""
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


def sizes_right(rows):
    """The sizes of the benchmark."""
    for (b, h, s, d), causal in product(CASES, (False, True)):
        q, k, v = tensors(b, h, h, s, s, d)
        o = torch.full_like(q, float("nan"))
        warploom.attention(q, k, v, causal, out=o)
        error, _ = error_of(o, q, k, v, causal)
        good = error < ERROR_LIMIT["bf16"] and bool(torch.isfinite(o).all())
        add(rows, good, (b, h, s, d, causal), error)


def add(rows, good, case, error):
    rows.append({"case": case, "error": error, "good": bool(good)})
    if not good:
        print("WRONG", case, error, flush=True)


def correct(out_folder):
    rows = []
    for check in (lengths_right, layouts_right, logits_right, sizes_right):
        check(rows)
    bad = sum(not r["good"] for r in rows)
    print(f"correct: {len(rows) - bad} of {len(rows)}", flush=True)
    save(out_folder, "h200_attention_correct.json", {"environment": environment(), "rows": rows})
    return bad


def library(backend, sets, causal):
    """SDPA by one backend; the choice is made around a run of calls, not in each."""

    def call(q, k, v):
        return lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return Around(lambda: sdpa_kernel([backend]), [call(*s) for s in sets])


class Around(list):
    """Calls to be made inside what ``context()`` gives."""

    def __init__(self, context, calls):
        super().__init__(calls)
        self.context = context


def rows_first(t):
    """[batch, length, heads, head dim], which FlashAttention-3 takes."""
    return t.transpose(1, 2).contiguous()


def contestants_of(sets, causal, *, flash):
    """What runs against what, and the errors."""
    cudnn = SDPBackend.CUDNN_ATTENTION
    found = {"cudnn": library(cudnn, sets, causal), "cudnn again": library(cudnn, sets, causal)}
    found[OURS] = [lambda s=s: warploom.attention(*s, causal) for s in sets]
    if flash_attn_func is not None:
        turned = [[rows_first(t) for t in s] for s in sets]
        found["fa3"] = [lambda s=s: flash_attn_func(*s, causal=causal) for s in turned]
    if flash:
        found["torch flash"] = library(SDPBackend.FLASH_ATTENTION, sets, causal)
    errors = {}
    for name in list(found):
        try:
            torch.manual_seed(7)  # the same rows for everybody
            errors[name] = error_of(result_of(name, found[name]), *sets[0], causal)[0]
        except RuntimeError as error:
            print(f"no {name}:", str(error)[:100], flush=True)
            del found[name]
    return found, errors


def result_of(name, calls):
    with getattr(calls, "context", nullcontext)():
        out = calls[0]()
    out = out[0] if isinstance(out, tuple) else out
    return out.transpose(1, 2) if name == "fa3" else out


def final(out_folder, group, speed, *, flash):
    table = []
    groups = GROUPS if group == "all" else {group: GROUPS[group]}
    rows = [(g, case) for g, cases in groups.items() for case in cases]
    for causal, (name, (b, h, s, d)) in product((False, True), rows):
        sets = [tensors(b, h, h, s, s, d) for _ in range(2 if name == "main" else 4)]
        contestants, errors = contestants_of(sets, causal, flash=flash)
        if not {"cudnn", "cudnn again"} <= set(contestants):
            print("left out, there is nothing to compare with:", (b, h, s, d), causal, flush=True)
            continue
        times = compare(contestants, **speed)
        flops = 4.0 * b * h * s * s * d / (2 if causal else 1)
        base = (times["cudnn"] + times["cudnn again"]) / 2
        row = {"group": name, "case": (b, h, s, d), "causal": causal, "ms": times, "error": errors}
        row["tflops"] = {n: flops / t / 1e9 for n, t in times.items()}
        row["ratio"] = {n: base / t for n, t in times.items()}
        table.append(row)
        print(line_of(row), flush=True)
        save(out_folder, f"h200_attention_final_{group}.json", summary(table))
        del sets, contestants
        torch.cuda.empty_cache()
    print("public call: TFLOPS of cuDNN, ratios to the mean of its two entries")
    for row in table:
        print(line_of(row))
    for name, means in summary(table)["geometric_means"].items():
        print(f"  {name}: " + ", ".join(f"{k} {v:.3f}" for k, v in means.items()), flush=True)
    return sum(not r["error"][OURS] < ERROR_LIMIT["bf16"] for r in table)


def numerics(out_folder):
    """Largest and root mean square errors of the same rows, relative to cuDNN's."""
    table, short = [], [(1, 8, n, d) for n in (512, 2048) for d in HEAD_DIMS]
    for (b, h, s, d), causal in product((*CASES, *short), (False, True)):
        found = {}
        for draw in range(4):
            torch.manual_seed(draw)
            q, k, v = tensors(b, h, h, s, s, d)
            contestants, _ = contestants_of([(q, k, v)], causal, flash=False)
            rows, at = sample(q, min(s, 2048))
            exact, _ = exact_rows(q, k, v, causal, d**-0.5, rows, at)
            for name in contestants:
                gap = result_of(name, contestants[name])[(*at, rows)].double() - exact
                gap /= exact.pow(2).mean().sqrt()
                most, squares = found.get(name, (0.0, 0.0))
                found[name] = max(most, gap.abs().max().item()), squares + gap.pow(2).mean().item()
            del q, k, v, contestants, exact
        most, squares = found["cudnn"]
        row = {"case": (b, h, s, d), "causal": causal, "rms of cudnn": (squares / 4) ** 0.5}
        row |= {n: {"most": m / most, "rms": (q / squares) ** 0.5} for n, (m, q) in found.items()}
        table.append(row)
        who = [n for n in found if "cudnn" not in n]
        said = ", ".join(f"{n} {row[n]['most']:.3f} {row[n]['rms']:.4f}" for n in who)
        print(f"  {row['case']!s:22s} {'causal' if causal else 'full':6s} {said}", flush=True)
        data = {"script": "bench/h200_attention.py numerics", "environment": environment()}
        save(out_folder, "h200_attention_errors.json", {**data, "table": table})
        torch.cuda.empty_cache()
    return sum(not row[OURS]["rms"] < NO_WORSE for row in table)


def line_of(row):
    said = ", ".join(f"{n} {v:.3f}" for n, v in row["ratio"].items() if n != "cudnn")
    mask = "causal" if row["causal"] else "full"
    return f"  {row['case']!s:22s} {mask:6s} {row['tflops']['cudnn']:7.1f}  {said}"


def summary(table):
    groups = {
        **{g: [r for r in table if r["group"] == g] for g in GROUPS},
        "full": [r for r in table if not r["causal"]],
        "causal": [r for r in table if r["causal"]],
        **{f"head dim {d}": [r for r in table if r["case"][3] == d] for d in HEAD_DIMS},
    }
    means = {}
    for group, rows in groups.items():
        names = [n for n in ("cudnn again", "fa3", "torch flash", OURS) if rows]
        names = [n for n in names if all(n in r["ratio"] for r in rows)]
        if names:
            means[group] = {n: geometric_mean(r["ratio"][n] for r in rows) for n in names}
            means[group]["least"] = min(r["ratio"][OURS] for r in rows)
    return {
        "script": "bench/h200_attention.py final",
        "environment": environment(),
        "cudnn": torch.backends.cudnn.version(),
        "geometric_means": means,
        "table": table,
    }


def decode(out_folder, speed):
    """One query a sequence: the rate at which keys and values are read, against a copy's."""
    table = []
    for (b, h, kv, keys), d in product(DECODE, (64, 128)):
        q, k, v = tensors(b, h, kv, 1, keys, d)
        read = 2 * k.numel() * k.element_size()
        source = torch.empty(min(read, 2**31) // 2, device="cuda", dtype=torch.int16)
        copy = torch.empty_like(source)
        calls = {
            "copy": [lambda to=copy, of=source: to.copy_(of)],
            "copy again": [lambda to=copy, of=source: to.copy_(of)],
            "sdpa": [
                lambda q=q, k=k, v=v: functional.scaled_dot_product_attention(
                    q, k, v, enable_gqa=True
                )
            ],
            OURS: [lambda q=q, k=k, v=v: warploom.attention(q, k, v)],
        }
        if flash_attn_func is not None:
            turned = [rows_first(t) for t in (q, k, v)]
            calls["fa3"] = [lambda t=turned: flash_attn_func(*t, num_splits=0)]
        error = error_of(calls[OURS][0](), q, k, v, False, count=1)[0]
        times = compare(calls, **speed)
        rate = {n: read / t / 1e6 for n, t in times.items()}
        rate |= {n: 2 * source.numel() * 2 / times[n] / 1e6 for n in ("copy", "copy again")}
        table.append({"case": (b, h, kv, keys, d), "ms": times, "gb_s": rate, "error": error})
        save(
            out_folder, "h200_attention_decode.json", {"environment": environment(), "table": table}
        )
        del q, k, v, source, copy, calls
        torch.cuda.empty_cache()
    print("decoding: GB/s of keys and values read (a copy: read and written), and of the copy's")
    for row in table:
        said = ", ".join(f"{n} {v:.0f}" for n, v in row["gb_s"].items())
        part = row["gb_s"][OURS] / row["gb_s"]["copy"]
        print(f"  {row['case']!s:30s} {said}  warploom / copy {part:.3f}", flush=True)
    return sum(not r["error"] < ERROR_LIMIT["bf16"] for r in table)


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
    """One launch of ours and of cuDNN, at the sizes of the benchmark."""
    for d, causal in product(HEAD_DIMS, (False, True)):
        b, h, s, _ = next(c for c in CASES if c[3] == d)
        q, k, v = tensors(b, h, h, s, s, d)
        warploom.attention(q, k, v, causal)
        result_of("cudnn", library(SDPBackend.CUDNN_ATTENTION, [(q, k, v)], causal))
        torch.cuda.synchronize()
        print("profile", d, causal, flush=True)


def save(folder, name, data):
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_text(json.dumps(data, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser()
    modes = ("correct", "final", "numerics", "decode", "once", "profile")
    parser.add_argument("mode", choices=modes)
    parser.add_argument("rest", nargs="*", type=int)
    parser.add_argument("--out", default="bench/results")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--run-ms", type=float, default=200.0)
    parser.add_argument("--group", default="main", choices=(*GROUPS, "all"))
    parser.add_argument("--quick", action="store_true", help="a fifth of the time")
    parser.add_argument("--flash", action="store_true", help="torch's flash backend as well")
    args = parser.parse_args()
    speed = {"rounds": args.rounds, "run_ms": args.run_ms}
    if args.quick:
        speed = {"rounds": 3, "run_ms": 60.0, "preheat_s": 0.3}
    torch.manual_seed(int(time.time()) & 0xFFFF)
    if args.mode == "correct":
        return correct(args.out)
    if args.mode == "final":
        return final(args.out, args.group, speed, flash=args.flash)
    if args.mode == "numerics":
        return numerics(args.out)
    if args.mode == "decode":
        return decode(args.out, speed)
    if args.mode == "profile":
        profile()
    else:
        once(tuple(args.rest) or (1, 2, 300))
    return 0


if __name__ == "__main__":
    sys.exit(main())
