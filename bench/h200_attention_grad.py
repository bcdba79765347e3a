"""Attention backward on the H200: the public call against cuDNN's and against float64.

    python bench/h200_attention_grad.py correct [--quick]  lengths, masks, shared heads, types
    python bench/h200_attention_grad.py final [--quick]    twelve cases and head dimension 256
    python bench/h200_attention_grad.py numerics            errors, ours and cuDNN's, both passes
    python bench/h200_attention_grad.py parts [--quick]    the kernels of a call, one by one
    python bench/h200_attention_grad.py profile            one launch of ours and of cuDNN (for ncu)

``final`` calls ``warploom.attention_backward`` and torch's autograd of SDPA by cuDNN, entered
twice, in one rotation; each makes its gradients. Flops: 10 B H S^2 D, half of it if causal. What is
launched can be compiled ahead (``bench/warm.py backward``).
"""

from __future__ import annotations

import argparse
import json
import math
from itertools import product
from pathlib import Path

import torch
from lib.protocol import compare, environment, geometric_mean
from lib.shapes import BACKWARD_LENGTHS as LENGTHS, BACKWARD_TWELVE as TWELVE, BACKWARD_WIDE as WIDE
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import warploom
from warploom.ir.tile import DType
from warploom.runtime import attention_grad as launch
from warploom.runtime.attention_checks import BACKWARD_DIMS

MASKS = (False, True)
LIMIT = {torch.bfloat16: 8e-3, torch.float16: 1.5e-3}


def exact(q, k, v, do, mask, scale):
    """Result, log-sum-exp and gradients in float64."""
    wide = [x.double().requires_grad_() for x in (q, k, v)]
    keys, values = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in wide[1:])
    x = wide[0] @ keys.transpose(-1, -2) * scale
    if mask:
        rows, columns = (torch.arange(n, device="cuda") for n in x.shape[-2:])
        ahead = len(columns) - len(rows) if mask == "lower_right" else 0
        x = x.masked_fill(columns > rows[:, None] + ahead, float("-inf"))
    lse = x.logsumexp(-1)
    p = (x - lse.clamp(min=-1e300)[..., None]).exp()
    out = torch.where(torch.isneginf(lse)[..., None], 0.0, p) @ values
    return out.detach(), lse.detach(), torch.autograd.grad(out, wide, do.double())


def error(found, wanted):
    """Relative error in the 2-norm."""
    if not torch.isfinite(found).all():
        return float("inf")
    return ((found.double() - wanted).norm() / wanted.norm().clamp_min(1e-3)).item()


def correct(*, quick):
    """Errors against float64; gradients of keys and values are the same in every run."""
    bad = total = 0
    for d, kind, shape in product(BACKWARD_DIMS, LIMIT, LENGTHS):
        b, h, g, s, t, mask = shape
        if kind is torch.float16 and (quick or h > 4):
            continue
        torch.manual_seed(s + t)
        q, do = (torch.randn(b, h, s, d, device="cuda", dtype=kind) for _ in range(2))
        k, v = (torch.randn(b, g, t, d, device="cuda", dtype=kind) for _ in range(2))
        scale = 1 / math.sqrt(d)
        out, lse, wanted = exact(q, k, v, do, mask, scale)
        runs = [
            warploom.attention_backward(do, q, k, v, out.to(kind), lse.float(), mask)
            for _ in range(2)
        ]
        torch.cuda.synchronize()
        errors = [error(f, w) for f, w in zip(runs[0], wanted, strict=True)]
        same = all(torch.equal(x, y) for x, y in zip(runs[0][1:], runs[1][1:], strict=True))
        good = same and all(e < LIMIT[kind] for e in errors)
        bad, total = bad + (not good), total + 1
        if not good:
            print("BAD", d, kind, shape, *[f"{e:.1e}" for e in errors], same, flush=True)
    print(f"{total - bad} of {total} right", flush=True)
    return bad


def numerics():
    """Errors against float64, ours relative to cuDNN's: each pass of each, max and rms."""
    rows = []
    for d, mask, length in product(BACKWARD_DIMS, MASKS, (512, 2048)):
        wrong = {}  # (who, what) -> (max, sum of squares) over draws
        for seed in range(4):
            torch.manual_seed(seed)
            q, k, v, do = (torch.randn(1, 8, length, d, device="cuda").bfloat16() for _ in range(4))
            out, _, grads = exact(q, k, v, do, mask, d**-0.5)
            want = dict(zip(("out", "dq", "dk", "dv"), (out, *grads), strict=True))
            for who, found in passes(q, k, v, do, mask).items():
                for (what, x), f in zip(want.items(), found, strict=True):
                    gap = (f.double() - x) / x.pow(2).mean().sqrt()
                    most, squares = wrong.get((who, what), (0.0, 0.0))
                    most = max(most, gap.abs().max().item())
                    wrong[who, what] = most, squares + gap.pow(2).mean().item()
        row = {"d": d, "causal": mask, "length": length}
        row |= {f"{w} {x}": (most, math.sqrt(q / 4)) for (w, x), (most, q) in wrong.items()}
        rows.append(row)
        said = []
        for who, what in wrong:
            if who != "cudnn":
                (most, rms), (most_of, rms_of) = row[f"{who} {what}"], row[f"cudnn {what}"]
                said.append(f"{who} {what} {most / most_of:.3f} {rms / rms_of:.4f}")
        print(d, "causal" if mask else "full", length, "; ".join(said), flush=True)
    return {"environment": environment(), "rows": rows}


def passes(q, k, v, do, mask):
    """Result and gradients, by whom; every one goes on with its own result."""
    inputs = [x.clone().requires_grad_() for x in (q, k, v)]
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out = scaled_dot_product_attention(*inputs, is_causal=mask)
    found = {"cudnn": (out.detach(), *torch.autograd.grad(out, inputs, do))}
    out, lse = warploom.attention(q, k, v, mask, return_lse=True)
    for name, fixed in (("warploom", False), ("in turn", True)):
        grads = warploom.attention_backward(do, q, k, v, out, lse, mask, deterministic=fixed)
        found[name] = (out, *grads)
    return found


def made(case, mask):
    """Inputs, the result, its log-sum-exp, and cuDNN's backward pass of it."""
    b, h, s, d = case
    q, k, v, do = (torch.randn(b, h, s, d, device="cuda").bfloat16() for _ in range(4))
    for x in (q, k, v):
        x.requires_grad_()
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out = scaled_dot_product_attention(q, k, v, is_causal=mask)
    ask = torch.ops.aten._scaled_dot_product_cudnn_attention
    lse = ask(q, k, v, None, True, 0.0, mask, False)[1].reshape(b, h, s).float().contiguous()
    given = [x.detach() for x in (do, q, k, v, out, lse)]
    return given, lambda: torch.autograd.grad(out, (q, k, v), do, retain_graph=True)


def final(*, quick):
    """The table."""
    rows = []
    for case, mask in product((*TWELVE, *WIDE), MASKS):
        given, library = made(case, mask)
        calls = {
            "cudnn": [library],
            "warploom": [lambda g=given, m=mask: warploom.attention_backward(*g, m)],
            "in turn": [
                lambda g=given, m=mask: warploom.attention_backward(*g, m, deterministic=True)
            ],
            "cudnn again": [library],
        }
        took = compare(calls, rounds=3 if quick else 5, run_ms=24 if quick else 200, preheat_s=0.1)
        mean = (took["cudnn"] + took["cudnn again"]) / 2
        flops = 10 * case[0] * case[1] * case[2] ** 2 * case[3] / (2 if mask else 1)
        row = {"case": case, "causal": mask, "ms": took, "ratio": mean / took["warploom"]}
        row |= {"again": mean / took["cudnn again"], "tflops": flops / took["warploom"] / 1e9}
        row["in turn"] = took["warploom"] / took["in turn"]
        rows.append(row)
        print(
            f"{case} {'causal' if mask else 'full':6} cudnn {flops / mean / 1e9:.0f}"
            f"  warploom {row['tflops']:.0f} ({row['ratio']:.3f}), again {row['again']:.3f},"
            f" deterministic {row['in turn']:.3f} of it",
            flush=True,
        )
    for name, some in (
        ("twelve", [r["ratio"] for r in rows if r["case"][3] != 256]),
        ("256", [r["ratio"] for r in rows if r["case"][3] == 256]),
    ):
        print(f"geometric mean, {name}: {geometric_mean(some):.3f}", flush=True)
    return {"environment": environment(), "rows": rows}


def parts(*, quick):
    """Milliseconds of each kernel of a call, alone."""
    for case, mask in product((TWELVE[0], TWELVE[3]), MASKS):
        (do, q, k, v, out, lse), _ = made(case, mask)
        sums, kind = launch._sums(q, None), DType.BF16
        before, options = launch.BEFORE, launch._options(mask, kind, False, False, None)[0]
        delta = launch.PREPARED.launch((do, out, None, sums), (), before, None)[2]
        dk, dv = torch.empty_like(k), torch.empty_like(v)
        calls = {
            "before": (launch.PREPARED, (do, out, delta, sums), (), before),
            "main": (launch.CALLS, (q, k, v, do, lse, delta, dk, sums, dv), (0.1,), options),
            "after": (launch.CONVERTED, (sums, torch.empty_like(q)), (0.1,), launch._made(kind)),
        }
        made_calls = {n: [lambda c=c: c[0].launch(*c[1:], None)] for n, c in calls.items()}
        took = compare(made_calls, rounds=3, run_ms=40 if quick else 100, preheat_s=0.2)
        text = "  ".join(f"{n} {t:.3f}" for n, t in took.items())
        print(f"{case} {'causal' if mask else 'full':6} {text} ms", flush=True)


def profile():
    """One launch of each."""
    for case, mask in product((TWELVE[0], TWELVE[3]), MASKS):
        given, library = made(case, mask)
        warploom.attention_backward(*given, mask)
        library()
    torch.cuda.synchronize()


def main():
    """The commands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("correct", "numerics", "final", "parts", "profile"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.command in ("final", "numerics"):
        table = final(quick=given.quick) if given.command == "final" else numerics()
        name = "h200_attention_grad" if given.command == "final" else "h200_attention_numerics"
        if given.out is not None:
            (given.out / f"{name}.json").write_text(json.dumps(table, indent=1))
    elif given.command == "parts":
        parts(quick=given.quick)
    elif given.command == "correct":
        raise SystemExit(correct(quick=given.quick))
    else:
        profile()


if __name__ == "__main__":
    main()
