"""Hopper GEMM on the H200: correctness, a screen of kernels, and the comparison with the libraries.

    python bench/h200_gemm.py final [--group G] [--dtype D] [--quick]   the public call, ratio table
    python bench/h200_gemm.py correct            every kernel on odd shapes, against float64
    python bench/h200_gemm.py public             epilogues, result types, other libraries' tensors
    python bench/h200_gemm.py screen [--dtype D]  candidates and tile orders on the seven shapes
    python bench/h200_gemm.py variants           sustained rate of all kernels on 8192^3
    python bench/h200_gemm.py tune               the autotuner
    python bench/h200_gemm.py repeat             200 runs, bitwise equal
    python bench/h200_gemm.py once M N K          one launch of each kernel (for ncu, sanitizers)

Groups of shapes: main (seven), large and skinny (nine each), all. ``final`` calls what users call,
``warploom.gemm(a, b, out=c)`` against ``torch.matmul(a, b, out=c)``; fp8 against
``torch._scaled_mm``, both making their result. Results go to the folder named by ``--out``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch
from lib.kernels import GROUPS, ODD, SHAPES, screened
from lib.protocol import compare, environment, geometric_mean, sets_for

from warploom.errors import WarploomError
from warploom.hopper import Dtype
from warploom.hopper.energy import Shape
from warploom.launch.choose import choose, group_for
from warploom.launch.launch import Choice, GemmCall, prepare_gemm
from warploom.launch.shipped import SHIPPED
from warploom.launch.tensors import view_of

TORCH = {
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "e4m3": torch.float8_e4m3fn,
    "fp32": torch.float32,
}
ERROR_LIMIT = {"bf16": 4e-3, "fp16": 4e-3, "e4m3": 8e-3}  # results are bf16


def inputs(m, n, k, dtype):
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
    return a.to(TORCH[dtype]), b.to(TORCH[dtype])


def launcher(a, b, c, choice):
    views = [view_of(t, name) for t, name in ((a, "a"), (b.T, "b"), (c, "out"))]
    call = GemmCall(a=views[0], b=views[1], c=views[2])
    go = prepare_gemm(call, choice)
    stream = torch.cuda.current_stream().cuda_stream
    return lambda: go(stream)


def sampled_error(a, b, c, size=96):
    rows = torch.randint(0, a.shape[0], (min(size, a.shape[0]),), device="cuda")
    columns = torch.randint(0, b.shape[0], (min(size, b.shape[0]),), device="cuda")
    # the corners are where edges go wrong
    rows[0], columns[0] = a.shape[0] - 1, b.shape[0] - 1
    exact = a[rows].double() @ b[columns].double().T
    found = c[rows][:, columns].double()
    return ((found - exact).norm() / exact.norm()).item()


def typed(kernel, dtype):
    return replace(kernel, dtype=Dtype(dtype))


def check_kernels(out):
    """Every shipped kernel on odd shapes, in every operand type."""
    rows = []
    for dtype in ("bf16", "fp16", "e4m3"):
        for m, n, k in ODD:
            step = 16 if dtype == "e4m3" else 8
            k = -(-k // step) * step  # noqa: PLW2901 (rows of 16 bytes)
            a, b = inputs(m, n, k, dtype)
            kernels = SHIPPED if dtype == "bf16" else SHIPPED[::4]
            for kernel in kernels:
                kind = TORCH[kernel.out]
                c = torch.full((m, n), float("nan"), device="cuda", dtype=kind)
                launcher(a, b, c, Choice(kernel=typed(kernel, dtype)))()
                torch.cuda.synchronize()
                error = sampled_error(a, b, c)
                whole = bool(torch.isfinite(c).all())
                good = whole and error < ERROR_LIMIT[dtype]
                rows.append(
                    {
                        "dtype": dtype,
                        "shape": (m, n, k),
                        "kernel": kernel.name,
                        "error": error,
                        "good": good,
                    }
                )
                if not good:
                    print("WRONG", dtype, (m, n, k), kernel.name, error, whole, flush=True)
    bad = sum(not r["good"] for r in rows)
    print(f"correct: {len(rows) - bad} of {len(rows)}", flush=True)
    save(out, "correct.json", {"environment": environment(), "rows": rows})
    return bad


def check_public(out):
    """``warploom.gemm`` with epilogues, the torch op, and its errors."""
    import warploom.torch  # (defines the ops)

    a, b = inputs(512, 1024, 768, "bf16")
    bias = torch.randn(1024, device="cuda", dtype=torch.bfloat16)
    exact = a.double() @ b.double().T
    results = {}

    def note(name, value, want):
        error = ((value.double() - want).norm() / want.norm()).item()
        results[name] = error
        print(f"  {name}: {error:.2e}", flush=True)

    note("plain", warploom.gemm(a, b.T), exact)
    note("fp32 out", warploom.gemm(a, b.T, out_dtype="fp32"), exact)
    note("fp16 out", warploom.gemm(a, b.T, out_dtype="fp16", alpha=0.25), 0.25 * exact)
    both = exact + bias.double()
    note("bias", warploom.gemm(a, b.T, bias=bias), both)
    note("bias relu", warploom.gemm(a, b.T, bias=bias, activation="relu"), both.relu())
    gelu = torch.nn.functional.gelu(both)
    note("bias gelu", warploom.gemm(a, b.T, bias=bias, activation="gelu"), gelu)
    silu = torch.nn.functional.silu(both)
    note("bias silu", warploom.gemm(a, b.T, bias=bias, activation="silu"), silu)
    note("alpha", warploom.gemm(a, b.T, alpha=0.5), 0.5 * exact)
    note("torch op", torch.ops.warploom.gemm(a, b.T, bias, 1.0, "relu"), both.relu())
    compiled = torch.compile(lambda x, y: torch.ops.warploom.gemm(x, y, None, 1.0, "none") + 1.0)
    note("torch.compile", compiled(a, b.T), exact + 1.0)
    try:
        import cupy

        x = cupy.random.standard_normal((256, 512)).astype(cupy.float16)
        y = cupy.random.standard_normal((128, 512)).astype(cupy.float16)
        got = torch.from_dlpack(warploom.gemm(x, y.T))
        want = torch.from_dlpack(x).double() @ torch.from_dlpack(y).double().T
        note("cupy", got, want)
    except ImportError:
        print("  cupy: not installed", flush=True)
    save(out, "public.json", {"environment": environment(), "errors": results})
    return sum(not e < 6e-3 for e in results.values())


def problem(m, n, k, dtype):
    """Input sets over several times the L2, and the library's calls."""
    size = (m + n) * k * TORCH[dtype].itemsize + 2 * m * n
    sets = []
    for _ in range(sets_for(size)):
        a, b = inputs(m, n, k, dtype)
        kind = TORCH["bf16" if dtype == "e4m3" else dtype]
        sets.append((a, b, torch.empty(m, n, device="cuda", dtype=kind)))
    if dtype == "e4m3":
        one = torch.tensor(1.0, device="cuda")
        library = [
            lambda a=a, b=b.T: torch._scaled_mm(
                a, b, one, one, out_dtype=torch.bfloat16, use_fast_accum=True
            )
            for a, b, _ in sets
        ]
    else:
        turned = [(a, b.T, c) for a, b, c in sets]
        library = [lambda a=a, b=b, c=c: torch.matmul(a, b, out=c) for a, b, c in turned]
    return sets, library


def ours(sets, choice):
    """Prepared calls, after a check of the result; None when it is wrong."""
    a, b, c = sets[0]
    calls = [launcher(*s, choice) for s in sets]
    c.fill_(float("nan"))
    calls[0]()
    torch.cuda.synchronize()
    error = sampled_error(a, b, c)
    return calls, error


def screen(out, dtype, wanted, rounds, run_ms):
    """Candidate kernels and tile orders on each shape."""
    table = []
    for m, n, k in SHAPES:
        if wanted and f"{m}x{n}x{k}" not in wanted:
            continue
        sets, library = problem(m, n, k, dtype)
        contestants = {"library": library, "library again": library}
        for name, choice in screened(m, n, k, dtype):
            try:
                calls, error = ours(sets, choice)
            except WarploomError as problem_found:
                print("FAIL", name, problem_found, flush=True)
                continue
            if error < ERROR_LIMIT[dtype]:
                contestants[name] = calls
            else:
                print("WRONG", name, (m, n, k), error, flush=True)
        times = compare(contestants, rounds=rounds, run_ms=run_ms)
        report((m, n, k), times)
        table.append({"shape": (m, n, k), "ms": times})
        save(out, f"screen_{dtype}.json", {"environment": environment(), "table": table})
        del sets, library, contestants
        torch.cuda.empty_cache()


def variants(out, rounds, run_ms):
    """Sustained rate of every shipped 16-bit kernel, for the comparison with the simulator."""
    table = []
    for m, n, k in ((8192, 8192, 8192),):
        sets, library = problem(m, n, k, "bf16")
        contestants = {"library": library}
        for kernel in SHIPPED:
            if kernel.out is Dtype.BF16:
                choice = Choice(kernel=kernel, group=group_for(kernel))
                contestants[kernel.name] = ours(sets, choice)[0]
        times = compare(contestants, rounds=rounds, run_ms=run_ms)
        report((m, n, k), times)
        table.append({"shape": (m, n, k), "ms": times})
        save(out, "variants.json", {"environment": environment(), "table": table})


def check_tuner():
    """The measuring choice, and that it is remembered."""
    import warploom

    a, b = inputs(2048, 3072, 2048, "bf16")
    first = warploom.gemm(a, b.T, tune=True)
    again = warploom.gemm(a, b.T)
    print("tuned:", torch.equal(first, again), sampled_error(a, b, again), flush=True)


def final(out, dtype, group, speed, *, triton):
    """The comparison: library twice, ours as users call it, and Triton where asked for."""
    table = []
    groups = GROUPS if group == "all" else {group: GROUPS[group]}
    for name, shape in ((g, s) for g, shapes in groups.items() for s in shapes):
        m, n, k = shape
        if dtype == "e4m3" and (k % 16 or n % 16):
            continue
        sets, library = problem(m, n, k, dtype)
        calls, error = public(sets, dtype)
        contestants = {"library": library, "library again": library, "warploom": calls}
        if triton and dtype == "bf16":
            triton_calls = triton_contestant(sets)
            if triton_calls:
                contestants["triton"] = triton_calls
        times = compare(contestants, **speed)
        report(shape, times)
        choice = choose(Shape(m=m, n=n, k=k, dtype=Dtype(dtype)))
        row = {"group": name, "shape": shape, "ms": times, "error": error}
        row["ratio"] = ratios(times)
        row["tflops"] = {c: 2.0 * m * n * k / t / 1e9 for c, t in times.items()}
        row["kernel"] = f"{choice.kernel.name} group {choice.group}"
        row["right"] = error < ERROR_LIMIT[dtype]
        table.append(row)
        save(out, f"final_{dtype}_{group}.json", summary(dtype, table))
        del sets, library, contestants, calls
        torch.cuda.empty_cache()
    print_table(dtype, table)
    return sum(not r["right"] for r in table)


def public(sets, dtype):
    """What users call, and the error of its result."""
    import warploom

    turned = [(a, b.T, c) for a, b, c in sets]
    if dtype == "e4m3":
        calls = [lambda a=a, b=b: warploom.gemm(a, b) for a, b, _ in turned]
    else:
        calls = [lambda a=a, b=b, c=c: warploom.gemm(a, b, out=c) for a, b, c in turned]
    sets[0][2].fill_(float("nan"))
    found = calls[0]()
    torch.cuda.synchronize()
    return calls, sampled_error(sets[0][0], sets[0][1], found)


def ratios(times):
    """Of each contestant to the mean of the library's two entries."""
    base = (times["library"] + times["library again"]) / 2
    return {name: base / ms for name, ms in times.items()}


def print_table(dtype, table):
    print(f"{dtype}, public call: TFLOPS of the library, ratios to the mean of its two entries")
    for row in table:
        ratio, shape = row["ratio"], "x".join(map(str, row["shape"]))
        more = f"  triton {ratio['triton']:.3f}" if "triton" in ratio else ""
        print(
            f"  {row['group']:7s}{shape:20s} {row['tflops']['library']:7.1f}"
            f"  again {ratio['library again']:.3f}  warploom {ratio['warploom']:.3f}{more}"
            f"  {row['kernel']}{'' if row['right'] else '  WRONG'}"
        )
    for name, means in summary(dtype, table)["geometric_means"].items():
        print(f"  {name}: " + ", ".join(f"{k} {v:.3f}" for k, v in means.items()), flush=True)


def triton_contestant(sets):
    try:
        from lib import triton_matmul
    except ImportError as error:
        print("no triton:", error, flush=True)
        return None
    config = triton_matmul.best(*sets[0])
    return [triton_matmul.prepare(*s, **config) for s in sets] if config else None


def summary(dtype, table):
    means = {}
    for group in dict.fromkeys(r["group"] for r in table):
        rows = [r["ratio"] for r in table if r["group"] == group]
        means[group] = {
            "warploom": geometric_mean(r["warploom"] for r in rows),
            "least": min(r["warploom"] for r in rows),
            "library again": geometric_mean(r["library again"] for r in rows),
        }
        if all("triton" in r for r in rows):
            means[group]["triton"] = geometric_mean(r["triton"] for r in rows)
    return {
        "script": "bench/h200_gemm.py final",
        "dtype": dtype,
        "environment": environment(),
        "geometric_means": means,
        "table": table,
    }


def report(shape, times):
    flops = 2.0 * shape[0] * shape[1] * shape[2]
    base = times["library"]
    print(f"== {'x'.join(map(str, shape))}  library {flops / base / 1e9:.0f} TFLOPS", flush=True)
    for name, ms in times.items():
        if name != "library":
            print(f"   {name:34s} {flops / ms / 1e9:7.1f}  x{base / ms:.3f}", flush=True)


def repeat(runs=200):
    """The same inputs give the same bits."""
    bad = 0
    for m, n, k in ((4096, 4096, 4096), (1000, 1496, 776), (512, 8192, 8192)):
        a, b = inputs(m, n, k, "bf16")
        c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        call = launcher(a, b, c, choose(Shape(m=m, n=n, k=k)))
        call()
        torch.cuda.synchronize()
        first = c.clone()
        for _ in range(runs):
            c.fill_(float("nan"))
            call()
            bad += not torch.equal(c, first)
        print(f"repeat {m}x{n}x{k}: {runs} runs, {bad} differ", flush=True)
    return bad


def once(m, n, k, names):
    """One launch of each shipped kernel, for profilers and sanitizers."""
    a, b = inputs(m, n, k, "bf16")
    c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    if "library" in names:
        torch.matmul(a, b.T, out=c)
    for kernel in SHIPPED:
        if kernel.out is Dtype.BF16 and (not names or kernel.name in names):
            launcher(a, b, c, Choice(kernel=kernel, group=group_for(kernel)))()
    torch.cuda.synchronize()
    print("once: done", sampled_error(a, b, c), flush=True)


def save(out, name, data):
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(data, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "mode",
        choices=("correct", "public", "screen", "final", "variants", "tune", "repeat", "once"),
    )
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--out", default="bench/results")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--run-ms", type=float, default=200.0)
    parser.add_argument("--group", default="main", choices=(*GROUPS, "all"))
    parser.add_argument("--quick", action="store_true", help="final in a fifth of the time")
    parser.add_argument("--triton", action="store_true", help="Triton as a contestant of final")
    args = parser.parse_args()
    torch.manual_seed(int(time.time()) & 0xFFFF)
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    if args.mode == "correct":
        return check_kernels(args.out)
    if args.mode == "public":
        return check_public(args.out)
    if args.mode == "screen":
        screen(args.out, args.dtype, args.rest, args.rounds, args.run_ms)
    elif args.mode == "final":
        speed = {"rounds": args.rounds, "run_ms": args.run_ms}
        if args.quick:
            speed = {"rounds": 3, "run_ms": 60.0, "preheat_s": 0.3}
        return final(args.out, args.dtype, args.group, speed, triton=args.triton)
    elif args.mode == "variants":
        variants(args.out, args.rounds, args.run_ms)
    elif args.mode == "tune":
        check_tuner()
    elif args.mode == "repeat":
        return repeat()
    else:
        once(*map(int, args.rest[:3]), args.rest[3:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
