"""Hopper GEMM on the H200: correctness, a screen of configs, and the comparison with the libraries.

    python bench/h200_gemm.py final [--group G] [--dtype D] [--quick]   the public call, ratio table
    python bench/h200_gemm.py correct            odd shapes in every type, against float64
    python bench/h200_gemm.py public             epilogues, result types, other libraries' tensors
    python bench/h200_gemm.py screen [--group G] [--dtype D]   tiles of each shape beside the chosen
    python bench/h200_gemm.py tune               the autotuner
    python bench/h200_gemm.py once M N K          one launch (for ncu, sanitizers)

Groups of shapes: main (seven), large, skinny, fresh and further (nine each), all; of ``screen``
main, large, further, fitted (ten), all. ``final`` calls what
users call, ``warploom.gemm(a, b, out=c)`` against ``torch.matmul(a, b, out=c)``; fp8 against
``torch._scaled_mm``, both making their result. Results go to the folder named by ``--out``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import torch
from lib.protocol import compare, environment, geometric_mean, sets_for
from lib.shapes import GROUPS, ODD, SCREENED

import warploom
from warploom.errors import WarploomError
from warploom.kernels.gemm import gemm as text
from warploom.passes.heuristics import choose
from warploom.passes.tile_order import tiles_of
from warploom.runtime.gemm import CALLS, _options
from warploom.targets.h200 import h200

TORCH = {"bf16": torch.bfloat16, "fp16": torch.float16, "e4m3": torch.float8_e4m3fn}
ERROR_LIMIT = {"bf16": 4e-3, "fp16": 4e-3, "e4m3": 8e-3}
FAMILIES = (  # rows, columns, consumers, those in turn, CTAs of a cluster
    *((128, n, 1, 2, c) for n in (128, 144, 160, 176, 192, 208) for c in (1, 2)),
    *((128, n, 1, 2, 1) for n in (168, 184, 200)),
    *((128, 256, 2, 1, c) for c in (1, 2)),
    *((256, n, 2, 1, 1) for n in (160, 192, 200)),
)
MOST_AREA = 1.07  # of the least that waves of tiles cover
QUICK = {"rounds": 3, "run_ms": 60.0, "preheat_s": 0.3}


def inputs(m, n, k, dtype):
    """A [M, K] and B [K, N], the second stored transposed."""
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
    return a.to(TORCH[dtype]), b.to(TORCH[dtype]).T


def sampled_error(a, b, c, size=96):
    """Relative to float64, of sampled rows and columns; edges are among them."""
    rows = torch.randint(0, a.shape[0], (min(size, a.shape[0]),), device="cuda")
    columns = torch.randint(0, b.shape[1], (min(size, b.shape[1]),), device="cuda")
    rows[0], columns[0] = a.shape[0] - 1, b.shape[1] - 1
    exact = a[rows].double() @ b.T[columns].double().T
    found = c[rows][:, columns].double()
    return ((found - exact).norm() / exact.norm()).item()


def correct(out):
    """Odd shapes in every operand and result type."""
    rows = []
    for dtype in TORCH:
        for m, n, k in ODD:
            a, b = inputs(m, n, k, dtype)
            for kind in ("bf16", "fp32"):
                c = warploom.gemm(a, b, out_dtype=kind)
                torch.cuda.synchronize()
                error = sampled_error(a, b, c)
                good = bool(torch.isfinite(c).all()) and error < ERROR_LIMIT[dtype]
                row = {"dtype": dtype, "out": kind, "shape": (m, n, k), "error": error}
                rows.append({**row, "good": good})
                if not good:
                    print("WRONG", row, flush=True)
    bad = sum(not r["good"] for r in rows)
    print(f"correct: {len(rows) - bad} of {len(rows)}", flush=True)
    save(out, "h200_gemm_correct.json", {"environment": environment(), "rows": rows})
    return bad


def public(out):
    """``warploom.gemm`` with epilogues, the torch op, a compiled graph, CuPy."""
    import warploom.torch  # (defines the ops)

    a, b = inputs(512, 1024, 768, "bf16")
    bias = torch.randn(1024, device="cuda", dtype=torch.bfloat16)
    exact = a.double() @ b.double()
    both = exact + bias.double()
    op = torch.ops.warploom.gemm
    compiled = torch.compile(lambda x, y: op(x, y, None, 1.0, "none") + 1.0)
    pairs = {
        "plain": (warploom.gemm(a, b), exact),
        "fp32 out": (warploom.gemm(a, b, out_dtype="fp32"), exact),
        "fp16 out": (warploom.gemm(a, b, out_dtype="fp16", alpha=0.25), 0.25 * exact),
        "bias": (warploom.gemm(a, b, bias=bias), both),
        "alpha": (warploom.gemm(a, b, alpha=-0.5), -0.5 * exact),
        "torch op": (op(a, b, bias, 1.0, "relu"), both.relu()),
        "torch.compile": (compiled(a, b), exact + 1.0),
    }
    for name in ("relu", "gelu", "silu"):
        want = getattr(torch.nn.functional, name)(both)
        pairs[f"bias {name}"] = (warploom.gemm(a, b, bias=bias, activation=name), want)
    try:
        import cupy
    except ImportError:
        print("  cupy: not installed", flush=True)
    else:
        x = cupy.random.standard_normal((256, 512)).astype(cupy.float16)
        y = cupy.random.standard_normal((128, 512)).astype(cupy.float16)
        got = torch.from_dlpack(warploom.gemm(x, y.T))
        pairs["cupy"] = (got, torch.from_dlpack(x).double() @ torch.from_dlpack(y).double().T)
    errors = {n: ((g.double() - w).norm() / w.norm()).item() for n, (g, w) in pairs.items()}
    for name, error in errors.items():
        print(f"  {name}: {error:.2e}", flush=True)
    save(out, "h200_gemm_public.json", {"environment": environment(), "errors": errors})
    return sum(not e < 6e-3 for e in errors.values())


def problem(m, n, k, dtype):
    """Input sets over several times the L2, and the library's calls."""
    size = (m + n) * k * TORCH[dtype].itemsize + 2 * m * n
    kind = TORCH["bf16" if dtype == "e4m3" else dtype]
    sets = [
        (*inputs(m, n, k, dtype), torch.empty(m, n, device="cuda", dtype=kind))
        for _ in range(sets_for(size))
    ]
    if dtype == "e4m3":
        one = torch.tensor(1.0, device="cuda")
        library = [
            lambda a=a, b=b: torch._scaled_mm(
                a, b, one, one, out_dtype=torch.bfloat16, use_fast_accum=True
            )
            for a, b, _ in sets
        ]
    else:
        library = [lambda a=a, b=b, c=c: torch.matmul(a, b, out=c) for a, b, c in sets]
    return sets, library


def ours(sets, dtype, choice=None):
    """What users call, and the error of its result."""
    if dtype == "e4m3":
        calls = [lambda a=a, b=b: warploom.gemm(a, b, choice=choice) for a, b, _ in sets]
    else:
        calls = [
            lambda a=a, b=b, c=c: warploom.gemm(a, b, out=c, choice=choice) for a, b, c in sets
        ]
    sets[0][2].fill_(float("nan"))
    found = calls[0]()
    torch.cuda.synchronize()
    return calls, sampled_error(sets[0][0], sets[0][1], found)


def compiled_of(sets):
    a, b, c = sets[0]
    return CALLS.compiled((a, b, c, None, None), _options("none", None, True, None))


def final(out, dtype, group, speed, *, triton, tilelang):
    """The comparison: library twice, ours as users call it, Triton and TileLang where asked for."""
    table = []
    for name, shape in shapes_of(group):
        m, n, k = shape
        if dtype == "e4m3" and (k % 16 or n % 16):
            continue
        sets, library = problem(m, n, k, dtype)
        start = time.perf_counter()
        calls, error = ours(sets, dtype)
        first = time.perf_counter() - start
        contestants = {"library": library, "library again": library, "warploom": calls}
        if triton and dtype == "bf16":
            triton_calls = triton_contestant(sets)
            if triton_calls:
                contestants["triton"] = triton_calls
        if tilelang and dtype == "bf16":
            tilelang_calls = tilelang_contestant(sets)
            if tilelang_calls:
                contestants["tilelang"] = tilelang_calls
        times = compare(contestants, **speed)
        row = {"group": name, "shape": shape, "ms": times, "error": error, "first_s": first}
        row["ratio"] = ratios(times)
        row["tflops"] = {c: 2.0 * m * n * k / t / 1e9 for c, t in times.items()}
        row["config"] = compiled_of(sets).config.name
        row["right"] = error < ERROR_LIMIT[dtype]
        table.append(row)
        print(line_of(row), flush=True)
        save(out, f"h200_gemm_final_{dtype}_{group}.json", summary(dtype, table))
        del sets, library, contestants, calls
        torch.cuda.empty_cache()
    print(f"{dtype}, public call: TFLOPS of the library, ratios to the mean of its two entries")
    for row in table:
        print(line_of(row))
    for name, means in summary(dtype, table)["geometric_means"].items():
        print(f"  {name}: " + ", ".join(f"{k} {v:.3f}" for k, v in means.items()), flush=True)
    return sum(not r["right"] for r in table)


def shapes_of(group, every=GROUPS):
    groups = every if group == "all" else {group: every[group]}
    return [(g, s) for g, shapes in groups.items() for s in shapes]


def ratios(times):
    """Of each contestant to the mean of the library's two entries."""
    base = (times["library"] + times["library again"]) / 2
    return {name: base / ms for name, ms in times.items()}


def line_of(row):
    ratio, shape = row["ratio"], "x".join(map(str, row["shape"]))
    more = "".join(
        f"  {peer} {ratio[peer]:.3f}" for peer in ("triton", "tilelang") if peer in ratio
    )
    return (
        f"  {row['group']:7s}{shape:20s} {row['tflops']['library']:7.1f}"
        f"  again {ratio['library again']:.3f}  warploom {ratio['warploom']:.3f}{more}"
        f"  {row['config']}, first call {row['first_s']:.1f} s{'' if row['right'] else '  WRONG'}"
    )


def triton_contestant(sets):
    try:
        from lib import triton_matmul
    except ImportError as error:
        print("no triton:", error, flush=True)
        return None
    turned = [(a, b.T, c) for a, b, c in sets]
    config = triton_matmul.best(*turned[0])
    return [triton_matmul.prepare(*s, **config) for s in turned] if config else None


def tilelang_contestant(sets):
    try:
        from lib import tilelang_matmul
    except ImportError as error:
        print("no tilelang:", error, flush=True)
        return None
    turned = [(a, b.T, c) for a, b, c in sets]
    kernel = tilelang_matmul.best(*turned[0])
    return [lambda s=s: kernel(*s) for s in turned] if kernel else None


def summary(dtype, table):
    means = {}
    for group in dict.fromkeys(r["group"] for r in table):
        rows = [r["ratio"] for r in table if r["group"] == group]
        means[group] = {
            "warploom": geometric_mean(r["warploom"] for r in rows),
            "least": min(r["warploom"] for r in rows),
            "library again": geometric_mean(r["library again"] for r in rows),
        }
        for peer in ("triton", "tilelang"):
            if all(peer in r for r in rows):
                means[group][peer] = geometric_mean(r[peer] for r in rows)
    return {
        "script": "bench/h200_gemm.py final",
        "dtype": dtype,
        "environment": environment(),
        "geometric_means": means,
        "table": table,
    }


def screened(shape, dtype):
    """The choice, then tiles in turn and shared ones whose last wave is about as full."""
    kernel = text.compile({"a": dtype, "b": dtype, "out": "bf16"}, without=("bias", "residual"))
    sizes, found = dict(zip("mnk", shape, strict=True)), []
    for tile in FAMILIES:
        pins = dict(
            zip(("m", "n", "consumer_warpgroups", "pingpong", "cluster"), tile, strict=True)
        )
        try:
            found.append(choose(kernel.rewritten, sizes, pins=pins | {"split_k": 1})[0].config)
        except WarploomError:  # no place on the chip
            continue

    def area(config):
        tiles = tiles_of(kernel.rewritten, config, sizes)  # a cluster's as one
        waves = -(-tiles // (h200().limits.sms // config.cluster))
        return waves * config.extent("m") * config.extent("n")

    least = min(map(area, found))
    first = choose(kernel.rewritten, sizes)[0].config
    return [first, *(t for t in found if area(t) <= MOST_AREA * least and t != first)]


def screen(out, dtype, group, speed):
    """Tiles of each shape against the one that is chosen."""
    table = []
    for _, (m, n, k) in shapes_of(group, SCREENED):
        sets, library = problem(m, n, k, dtype)
        contestants = {"library": library, "library again": library}
        for config in screened((m, n, k), dtype):
            name = f"{config.name}/g{config.raster_group}"
            try:
                calls, error = ours(sets, dtype, config)
            except WarploomError as found:
                print("FAIL", name, found, flush=True)
                continue
            if error < ERROR_LIMIT[dtype]:
                contestants[name] = calls
            else:
                print("WRONG", name, (m, n, k), error, flush=True)
        times = compare(contestants, **speed)
        said = ", ".join(f"{c} {r:.3f}" for c, r in ratios(times).items())
        print(f"  {m}x{n}x{k}: {said}", flush=True)
        table.append({"shape": (m, n, k), "ms": times})
        save(out, f"h200_gemm_screen_{dtype}.json", {"environment": environment(), "table": table})
        del sets, library, contestants
        torch.cuda.empty_cache()


def tune():
    """The measuring choice, and that it is remembered."""
    a, b = inputs(2048, 3072, 2048, "bf16")
    first = warploom.gemm(a, b, tune=True)
    again = warploom.gemm(a, b)
    error = sampled_error(a, b, again)
    print("tuned:", torch.equal(first, again), f"{error:.2e}", flush=True)
    return int(not error < ERROR_LIMIT["bf16"])


def once(m, n, k):
    """One launch, for profilers and sanitizers."""
    a, b = inputs(m, n, k, "bf16")
    c = warploom.gemm(a, b)
    torch.cuda.synchronize()
    print("once: done", sampled_error(a, b, c), flush=True)


def save(out, name, data):
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(data, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser()
    modes = ("final", "correct", "public", "screen", "tune", "once")
    parser.add_argument("mode", choices=modes)
    parser.add_argument("rest", nargs="*", type=int)
    parser.add_argument("--dtype", default="bf16", choices=TORCH)
    parser.add_argument("--out", default="bench/results")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--run-ms", type=float, default=200.0)
    parser.add_argument("--group", default="main", choices=(*GROUPS, "fitted", "all"))
    parser.add_argument("--quick", action="store_true", help="a fifth of the time")
    parser.add_argument("--triton", action="store_true", help="Triton as a contestant of final")
    parser.add_argument("--tilelang", action="store_true", help="TileLang as a contestant of final")
    args = parser.parse_args()
    speed = QUICK if args.quick else {"rounds": args.rounds, "run_ms": args.run_ms}
    torch.manual_seed(int(time.time()) & 0xFFFF)
    torch.zeros(1, device="cuda")
    match args.mode:
        case "final":
            return final(
                args.out, args.dtype, args.group, speed, triton=args.triton, tilelang=args.tilelang
            )
        case "screen":
            return screen(args.out, args.dtype, args.group, speed) or 0
        case "once":
            return once(*(args.rest or (512, 512, 512))) or 0
        case "correct" | "public":
            return {"correct": correct, "public": public}[args.mode](args.out)
    return tune()


if __name__ == "__main__":
    sys.exit(main())
