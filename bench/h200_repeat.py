"""The same bits in every run, and right results from many threads, on the H200.

    python bench/h200_repeat.py [--runs 200] [--out FOLDER]
    WARPLOOM_CACHE=... WARPLOOM_COMPILER=nvcc python bench/h200_repeat.py warm

Public calls, each result over NaNs and compared with the first one's, bit by bit: products of few
tiles (split over CTAs, whose parts meet in memory or in a cluster), attention split over keys,
the deterministic backward pass, the scan, functions of attention, and fused products on their
measured tiles (those of ``tests/runtime/test_measured_gpu.py``). Then 10,000 calls of eight
threads on
four streams.
    python bench/h200_repeat.py fused                    the last three alone
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from itertools import chain, product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import warm
from lib.shapes import SKINNY

import warploom
from warploom.compiler.layout import Layout
from warploom.ir.tile import DType
from warploom.runtime import attention_grad as launch
from warploom.runtime.attention import CALLS as ATTENTION, _options as attention_options
from warploom.runtime.attention_checks import BACKWARD_DIMS
from warploom.runtime.gemm import CALLS as GEMM, PLAIN
from warploom.runtime.tensors import row_major

THREADS, STREAMS, CALLS = 8, 4, 10_000
# batch, heads, kv heads, queries, keys
FEW = ((1, 32, 8, 1, 131072), (16, 32, 8, 1, 8192), (2, 32, 4, 3, 5000), (1, 8, 8, 512, 512))
HEADS = (2, 8, 2048)
SCANNED = ((2, 16, 2048, 128, 64), (1, 4, 8192, 128, 128), (2, 8, 2048, 64, 64))
SMALL = ((128, 256, 64), (200, 512, 128), (64, 128, 256), (64, 256, 4096))
MASKS = (False, True)


def compiled():
    """All kernels of a run."""
    for shape, kind in product(SKINNY, (DType.BF16, DType.E4M3)):
        if kind is DType.BF16 or shape[2] % 16 == 0:
            yield f"gemm {shape} {kind.value}", lambda s=shape, k=kind: [warm.gemm(*s, dtype=k)]
    for shape in SMALL:
        yield f"gemm {shape}", lambda s=shape: [warm.gemm(*s)]
    for (b, h, g, s, t), d in product(FEW, (64, 128)):
        case = (b, h, s, d, False)
        yield f"attention {case} {t}", lambda c=case, g=g, t=t: [warm.attention(*c, kv=g, keys=t)]
    for d, mask in product(BACKWARD_DIMS, MASKS):
        yield f"backward {d} {mask}", lambda d=d, m=mask: backward(d, m)
    for case in ((1, 4, 200, 64, True), (1, 2, 333, 128, True)):
        yield f"attention {case}", lambda c=case: [warm.attention(*c)]


def backward(d, mask):
    shape = (*HEADS, d)
    q, sums = (Layout(shape, row_major(shape), t) for t in (DType.BF16, DType.F32))
    rows = Layout(HEADS, row_major(HEADS), DType.F32)
    made = [warm.attention(*HEADS, d, mask, lse=True)]
    for calls, tensors, options in launch.kernels_of(q, q, rows, sums, mask, deterministic=True):
        made.append(calls.compiled_for(tensors, options))
    return made


def prebuilt():
    for name, make in compiled():
        print(name, [m.built.config.name for m in make()], flush=True)


def drawn(*shape):
    import torch

    return torch.randn(*shape, device="cuda").bfloat16()


def cases():
    """Name, config, and a call that makes its results anew over NaNs."""
    import torch

    nan = float("nan")
    for (m, n, k), fp8 in product(SKINNY, (False, True)):
        if fp8 and k % 16:
            continue
        a, b = drawn(m, k), drawn(n, k)
        if fp8:
            a, b = (x.to(torch.float8_e4m3fn) for x in (a, b))
        out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        config = GEMM.compiled((a, b.T, out, None, None), PLAIN).config.name

        def run(a=a, b=b.T, out=out):
            return [warploom.gemm(a, b, out=out.fill_(nan))]

        yield f"gemm {m}x{n}x{k} {'e4m3' if fp8 else 'bf16'}", config, run
    for (b, h, g, s, t), d in product(FEW, (64, 128)):
        q, k, v, out = drawn(b, h, s, d), drawn(b, g, t, d), drawn(b, g, t, d), drawn(b, h, s, d)
        options = attention_options(False, False, None)
        config = ATTENTION.compiled((q, k, v, out, None, None), options).config.name

        def run(q=q, k=k, v=v, out=out):
            return [warploom.attention(q, k, v, out=out.fill_(nan))]

        yield f"attention {b}x{h}/{g} {s}x{t} d={d}", config, run
    for d, mask in product(BACKWARD_DIMS, MASKS):
        q, k, v, do = (drawn(*HEADS, d) for _ in range(4))
        out, lse = warploom.attention(q, k, v, mask, return_lse=True)

        def run(given=(do, q, k, v, out, lse, mask)):
            return warploom.attention_backward(*given, deterministic=True)

        yield f"backward d={d} {'causal' if mask else 'full'}", "deterministic", run


def fused_cases():
    """As `cases`: scans, functions of attention and fused products on their measured tiles."""
    import torch
    from tests.runtime.test_measured_gpu import CASES

    for (b, h, n, d, e), t in product(SCANNED, (64, 128)):
        if t > d:
            continue
        q, k, v = (drawn(b, h, n // t, t, x) * 0.1 for x in (d, d, e))
        gates = -torch.rand(b, h, n // t, t, device="cuda").cumsum(-1)
        yield f"scan {b}x{h} {n} d={d} by {t}", "", lambda g=(q, k, v, gates): warploom.scan(*g)
    for name, make in CASES.items():
        _, call, _ = make()
        yield name, "measured", lambda call=call: [call()]


def repeated(runs, cases):
    import torch

    rows = []
    for name, config, run in cases:
        first = [x.clone() for x in run()]
        differ = torch.zeros((), device="cuda", dtype=torch.int64)
        for _ in range(runs - 1):
            over = [torch.full_like(x, float("nan")) for x in first]
            del over  # the next results lie there
            for x, y in zip(run(), first, strict=True):
                differ += (x.view(torch.int16) != y.view(torch.int16)).any()
        right = all(bool(torch.isfinite(x).all()) for x in first)
        rows.append({"case": name, "config": config, "runs": runs, "differ": int(differ)})
        rows[-1]["finite"] = right
        print(f"  {name}, {config}: {runs} runs, {int(differ)} differ", flush=True)
        torch.cuda.empty_cache()
    return rows


def threaded():
    """Calls whose result was wrong, of all threads; half make it, half write one given."""
    import torch

    work = []
    for m, n, k in SMALL:
        a, b = drawn(m, k), drawn(n, k)
        work.append(lambda a=a, b=b.T, **o: warploom.gemm(a, b, **o))
    for h, s, d in ((4, 200, 64), (2, 333, 128)):
        given = [drawn(1, h, s, d) for _ in "qkv"]
        work.append(lambda given=given, **o: warploom.attention(*given, True, **o))
    wanted = [call() for call in work]
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(STREAMS)]
    wrong, raised = [0] * THREADS, []

    def run(thread):
        try:
            stream, outs = streams[thread % STREAMS], [torch.empty_like(w) for w in wanted]
            with torch.cuda.stream(stream):
                differ = torch.zeros((), device="cuda", dtype=torch.int64)
                for i in range(CALLS // THREADS):
                    at = (i * 7 + thread) % len(work)
                    found = work[at]() if i % 2 else work[at](out=outs[at])
                    differ += (found != wanted[at]).any()
            stream.synchronize()
            wrong[thread] = int(differ)
        except Exception as error:
            raised.append(repr(error))

    threads = [threading.Thread(target=run, args=(t,)) for t in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    said = {"calls": CALLS, "threads": THREADS, "streams": STREAMS, "wrong": sum(wrong)}
    print("threads:", said, raised[:2], flush=True)
    return said | {"raised": raised}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", nargs="?", choices=("warm", "run", "fused"), default="run")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("bench/results"))
    args = parser.parse_args()
    if args.mode == "warm":
        prebuilt()
        return 0
    from lib.protocol import environment

    alone = args.mode == "fused"
    threads = {"wrong": 0, "raised": []} if alone else threaded()
    rows = repeated(args.runs, fused_cases() if alone else chain(cases(), fused_cases()))
    bad = sum(r["differ"] > 0 or not r["finite"] for r in rows)
    print(f"repeat: {len(rows)} cases, {bad} bad", flush=True)
    data = {"script": "bench/h200_repeat.py", "environment": environment()}
    data |= {"threads": threads, "table": rows}
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / f"h200_repeat{'_fused' * alone}.json").write_text(json.dumps(data, indent=1) + "\n")
    return int(bad > 0 or threads["wrong"] > 0 or bool(threads["raised"]))


if __name__ == "__main__":
    sys.exit(main())
