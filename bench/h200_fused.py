"""Kernels that libraries do not fuse, on the H200: right against float64, and how fast.

    python bench/h200_fused.py [PART ...] [--quick] [--cases N ...]
    WARPLOOM_CACHE=... WARPLOOM_COMPILER=nvcc python bench/h200_fused.py warm [PART ...]

Public calls, on the host too. Against: SwiGLU torch.compile, and the two cuBLAS products alone;
groups (forward, gradient of the weights) ``torch._grouped_mm``, with rows added by number
``index_add_`` after it under torch.compile; block scales ``torch._scaled_mm`` (few rows in
graphs). The first contestant enters twice; weights of 4 or 8 bits dequantising (one kernel, by
torch.compile) with cuBLAS, cuBLAS on weights dequantised before, and a copy's rate, all in graphs;
the scan Triton kernels in three forms (``lib/triton_scan.py``), the best of those that libraries
have first, in graphs too. ``warm`` compiles all kernels of the run and needs no GPU. Errors are
relative to float64, over sampled rows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path

from lib.fused_calls import (
    CALLS_OF,
    CHUNK,
    GROUPED,
    INT4,
    SCALED,
    SCAN,
    SWIGLU,
    chunk_of_ours,
    warm,
)

from warploom.kernels.grouped import grouped_gathered
from warploom.runtime import fused

try:
    import torch
except ImportError:  # compiling needs none
    torch = None

OURS = "warploom"
GRAPHED = 4  # times that each input set comes in a graph
FEW = 1024  # rows below which a product takes as long as a launch takes a host


def captured(calls):
    """One graph of several calls over all input sets: no host stands between short kernels."""
    for call in calls:
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(GRAPHED):
            for call in calls:
                call()
    return graph.replay


class Bench:
    """What needs torch."""

    def __init__(self, speed, chosen):
        from lib.protocol import compare, environment

        self.compare, self.environment = compare, environment
        self.speed, self.chosen, self.rows = speed, chosen, []
        torch.manual_seed(0)  # the same groups in every run

    def cases(self, every):
        return [c for i, c in enumerate(every) if not self.chosen or i in self.chosen]

    def randn(self, *shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

    def ours(self, call, contestants):
        """Enter a call for every set of inputs."""
        contestants[OURS] = [lambda s=s: call(*s) for s in self.sets]

    def measure(self, part, case, flops, contestants, exact, *, graphs=False):
        """Check and time; ``exact``: (index of rows, float64 values)."""
        errors = {}
        for name in list(contestants):
            try:
                out = contestants[name][0]()
                torch.cuda.synchronize()
                if name == "copy":
                    continue
                rows, wanted = exact
                found = out[rows].double()
                errors[name] = ((found - wanted).norm() / wanted.norm()).item()
            except Exception as error:  # one that cannot run is no contestant
                print(f"  no {name} for {part} {case}: {str(error)[:300]}", flush=True)
                del contestants[name]
        first = next(iter(contestants))
        contestants = {first: contestants[first], "again": contestants[first], **contestants}
        per = {n: GRAPHED * len(calls) if graphs else 1 for n, calls in contestants.items()}
        if graphs:
            contestants = {n: [captured(calls)] for n, calls in contestants.items()}
        times = {n: t / per[n] for n, t in self.compare(contestants, **self.speed).items()}
        base = (times[first] + times["again"]) / 2
        row = {
            "part": part,
            "case": case,
            "ms": times,
            "tflops": {n: flops / t / 1e9 for n, t in times.items()},
            "ratio": {n: base / t for n, t in times.items()},
            "error": errors,
        }
        self.rows.append(row)
        said = ", ".join(f"{n} {r:.3f}" for n, r in row["ratio"].items() if n != first)
        wrong = {n: f"{e:.1e}" for n, e in errors.items() if e > 6e-3}
        print(f"{part} {case!s:26} {first} {row['tflops'][first]:.0f} TFLOPS; {said}", flush=True)
        print(f"    errors {errors[first]:.2e} {errors.get(OURS, 9):.2e} {wrong}", flush=True)
        torch.cuda.empty_cache()

    def swiglu(self):
        silu = torch.nn.functional.silu

        def plain(x, gate, up):
            return silu(x @ gate.T) * (x @ up.T)

        compiled = torch.compile(plain, dynamic=False)
        for m, n, k in self.cases(SWIGLU):
            self.sets = [(self.randn(m, k), self.randn(n, k), self.randn(n, k)) for _ in range(2)]
            entries = {
                "torch.compile": [lambda s=s: compiled(*s) for s in self.sets],
                "eager": [lambda s=s: plain(*s) for s in self.sets],
            }
            self.ours(fused.swiglu, entries)
            rows = torch.randint(0, m, (64,), device="cuda")
            x, gate, up = self.sets[0]
            x = x[rows].double()
            wanted = plain(x, gate.double(), up.double())
            self.measure("swiglu", (m, n, k), 4.0 * m * n * k, entries, (rows, wanted))

    def groups(self, e, t):
        cuts = torch.randint(0, t + 1, (e - 1,), device="cuda").sort().values
        ends = torch.cat([cuts, torch.tensor([t], device="cuda")]).int()
        return torch.cat([torch.zeros(1, device="cuda", dtype=torch.int32), ends]), ends

    def weights(self):
        for e, t, n, k in self.cases(GROUPED):
            y, x = self.randn(t, n), self.randn(t, k)
            starts, ends = self.groups(e, t)
            self.sets = [(y, x, starts)]

            def library(y=y, x=x, ends=ends):
                return torch._grouped_mm(y.t(), x, offs=ends, out_dtype=torch.bfloat16)

            entries = {"_grouped_mm": [library]}
            self.ours(fused.grouped_gemm_weights, entries)
            largest = int((starts[1:] - starts[:-1]).argmax())
            rows = slice(int(starts[largest]), int(starts[largest + 1]))
            wanted = y[rows].double().T[:64] @ x[rows].double()
            exact = ((largest, slice(64)), wanted)
            self.measure("weights", (e, t, n, k), 2.0 * t * n * k, entries, exact)

    def scattered(self):
        def plain(x, w, _, rows, out, weight, ends):
            made = torch._grouped_mm(x, w.transpose(1, 2), offs=ends, out_dtype=torch.bfloat16)
            return out.zero_().index_add_(0, rows, made.float() * weight[:, None])

        def ours(x, w, starts, rows, out, weight, _):
            return fused.grouped_gemm(x, w, starts, rows=rows, weight=weight, out=out.zero_())

        compiled = torch.compile(plain, dynamic=False)
        for e, t, n, k in self.cases(GROUPED):
            x, w, out = self.randn(t, k), self.randn(e, n, k), torch.empty(t // 2, n, device="cuda")
            starts, ends = self.groups(e, t)
            rows = torch.randint(0, t // 2, (t,), device="cuda").int()
            weight = torch.rand(t, device="cuda")
            self.sets = [(x, w, starts, rows, out, weight, ends)]
            entries = {
                name: [lambda f=f, s=s: f(*s) for s in self.sets]
                for name, f in (("torch.compile", compiled), ("eager", plain))
                if name == "eager" or not self.speed  # in a quick run nothing is compiled
            }
            self.ours(ours, entries)
            some = rows[:8].long()
            wanted = torch.zeros(8, n, device="cuda", dtype=torch.float64)
            for i, row in enumerate(some.tolist()):
                for r in (rows == row).nonzero().flatten().tolist():
                    g = int(torch.searchsorted(ends, r, right=True))
                    wanted[i] += weight[r].double() * (w[g].double() @ x[r].double())
            self.measure("scattered", (e, t, n, k), 2.0 * t * n * k, entries, (some, wanted))

    def gathered(self):
        for e, t, n, k in self.cases(GROUPED):
            x, w = self.randn(t // 2, k), self.randn(e, n, k)
            starts, ends = self.groups(e, t)
            tokens = torch.randint(0, t // 2, (t,), device="cuda").int()
            self.sets = [(x, w, starts, tokens)]

            def library(x=x, w=w, ends=ends, tokens=tokens):
                rows = x.index_select(0, tokens)
                made = w.transpose(1, 2)
                return torch._grouped_mm(rows, made, offs=ends, out_dtype=torch.bfloat16)

            def before(x=x, w=w, starts=starts, tokens=tokens):
                return fused.grouped_gemm(x.index_select(0, tokens), w, starts)

            entries = {"index_select, _grouped_mm": [library], "gathered before": [before]}
            call = lambda s=self.sets[0]: fused.grouped_gemm(*s[:3], tokens=s[3])  # noqa: E731
            entries[OURS] = [call]
            entries["in one kernel"] = [lambda s=self.sets[0]: grouped_gathered(*s)]
            rows = torch.randint(0, t, (32,), device="cuda")
            mine = torch.searchsorted(ends, rows.int(), right=True)
            wanted = torch.stack(
                [w[g].double() @ x[tokens[r]].double() for r, g in zip(rows, mine, strict=True)]
            )
            self.measure("gathered", (e, t, n, k), 2.0 * t * n * k, entries, (rows, wanted))

    def grouped(self):
        for e, t, n, k in self.cases(GROUPED):
            x, w = self.randn(t, k), self.randn(e, n, k)
            starts, ends = self.groups(e, t)
            self.sets = [(x, w, starts)]
            entries = {
                "_grouped_mm": [
                    lambda x=x, w=w, ends=ends: torch._grouped_mm(
                        x, w.transpose(1, 2), offs=ends, out_dtype=torch.bfloat16
                    )
                ]
            }
            self.ours(fused.grouped_gemm, entries)
            rows = torch.randint(0, t, (32,), device="cuda")
            mine = torch.searchsorted(ends, rows.int(), right=True)
            wanted = torch.stack(
                [w[g].double() @ x[r].double() for r, g in zip(rows, mine, strict=True)]
            )
            self.measure("grouped", (e, t, n, k), 2.0 * t * n * k, entries, (rows, wanted))

    def scaled(self):
        for m, n, k in self.cases(SCALED):
            self.sets = []
            for _ in range(2):
                a, b = (self.randn(r, k).to(torch.float8_e4m3fn) for r in (m, n))
                sa = (torch.rand(k // 128, m, device="cuda") + 0.5).t()  # rows lie together
                sb = torch.rand(n // 128, k // 128, device="cuda") + 0.5
                self.sets.append((a, sa, b, sb))

            def library(a, sa, b, sb):
                return lambda: torch._scaled_mm(
                    a, b.t(), scale_a=sa, scale_b=sb.t(), out_dtype=torch.bfloat16
                )

            entries = {"_scaled_mm": [library(*s) for s in self.sets]}
            self.ours(fused.gemm_block_scaled, entries)
            rows = torch.randint(0, m, (32,), device="cuda")
            a, sa, b, sb = self.sets[0]
            left = a[rows].double() * sa[rows].double().repeat_interleave(128, 1)
            wide = sb.double().repeat_interleave(128, 0).repeat_interleave(128, 1)
            wanted = left @ (b.double() * wide).T
            exact = (rows, wanted)
            self.measure("scaled", (m, n, k), 2.0 * m * n * k, entries, exact, graphs=m < FEW)

    def int4(self):
        def whole(w, s):
            numbers = torch.stack([w & 15, w >> 4 & 15], -1).reshape(len(w), -1, 128) - 8
            return (numbers * s[:, :, None]).reshape(len(w), -1)

        def drawn(n, k):
            return torch.randint(-128, 128, (n, k // 2), device="cuda", dtype=torch.int8)

        self.quantised("int4", drawn, whole)

    def fp8(self):
        def whole(w, s):
            return (w.float().reshape(len(w), -1, 128) * s[:, :, None]).reshape(len(w), -1)

        def drawn(n, k):
            return self.randn(n, k).to(torch.float8_e4m3fn)

        self.quantised("fp8", drawn, whole)

    def quantised(self, part, drawn, whole):
        """Few bits against dequantising with cuBLAS, and against a copy's rate."""
        compiled = torch.compile(lambda x, w, s: x @ whole(w, s).bfloat16().T, dynamic=False)
        source = torch.empty(64 * 2**20, device="cuda", dtype=torch.uint8)
        copy = torch.empty_like(source)
        for m, n, k in self.cases(INT4):
            self.sets = [
                (self.randn(m, k), drawn(n, k), torch.rand(k // 128, n, device="cuda").t() * 0.02)
                for _ in range(4)
            ]
            before = [(x, whole(w, s).bfloat16()) for x, w, s in self.sets]
            entries = {
                "dequantise, cuBLAS": [lambda s=s: compiled(*s) for s in self.sets],
                "cuBLAS": [lambda x=x, w=w: x @ w.T for x, w in before],
                "copy": [lambda: copy.copy_(source)],
            }
            self.ours(fused.gemm_quantised, entries)
            x, w, s = self.sets[0]
            exact = (slice(None), x.double() @ whole(w, s).double().T)
            self.measure(part, (m, n, k), 2.0 * m * n * k, entries, exact, graphs=True)
            ms = self.rows[-1]["ms"]
            read = w.numel() * w.element_size() + 4 * s.numel() + 2 * m * (n + k)
            rate = {"copy": 2 * source.numel() / ms["copy"] / 1e6, OURS: read / ms[OURS] / 1e6}
            self.rows[-1]["gb_s"] = rate
            times = ", ".join(f"{name} {t * 1e3:.1f}" for name, t in ms.items())
            print(f"    us: {times}; GB/s {rate}", flush=True)

    def scan(self):
        from lib.protocol import milliseconds
        from lib.triton_scan import Scan

        for b, h, g, n, d, e in self.cases(SCAN):
            q, k, v = (self.randn(b, heads, n, x) for heads, x in ((g, d), (g, d), (h, e)))
            q, k = q * 0.1, k * 0.1
            gates = -torch.rand(b, h, n, device="cuda") * 0.1

            def chunked(t, q=q, k=k, v=v, gates=gates):
                rows = [x.unflatten(2, (-1, t)) for x in (q, k, v, gates)]
                return *rows[:3], rows[3].cumsum(-1)

            times, entries = {}, {}
            for form, t in itertools.product(("states", "passing", "fused"), (64, 128)):
                call, setting = Scan(*chunked(t)).best(form)
                entry = [lambda call=call, like=v: call()[0].view_as(like)]
                taken = milliseconds(entry, 8)
                print(f"  {form} {t}: {taken:.4f} ms, {setting}", flush=True)
                if taken < times.get(form, 1e9):
                    times[form], entries[form] = taken, entry
            order = sorted(("states", "passing"), key=times.get)
            entries = {form: entries[form] for form in (*order, "fused")}
            given = chunked(chunk_of_ours(b, h, d, e))
            entries[OURS] = [lambda given=given, like=v: fused.scan(*given)[0].view_as(like)]
            wanted = exact_scan(q[-1, -1], k[-1, -1], v[-1, -1], gates[-1, -1])
            flops = 2.0 * b * h * n * (CHUNK * d + CHUNK * e + 2 * d * e)
            case = (b, h, g, n, d, e)
            self.measure("scan", case, flops, entries, ((-1, -1), wanted), graphs=True)
            row = self.rows[-1]
            read = 2 * b * n * (2 * g * d + 2 * h * e) + 4 * b * h * n  # each byte once
            row["tb_s"] = {name: read / ms / 1e9 for name, ms in row["ms"].items()}
            print("    TB/s", {f: f"{x:.2f}" for f, x in row["tb_s"].items()}, flush=True)


def exact_scan(q, k, v, gates):
    """The recurrence of one head, step by step in float64."""
    q, k, v = (x.double().cpu() for x in (q, k, v))
    decay = gates.double().exp().cpu()
    state = torch.zeros(q.shape[1], v.shape[1], dtype=torch.float64)
    rows = []
    for i in range(len(q)):
        state = decay[i] * state + k[i, :, None] * v[i]
        rows.append(q[i] @ state)
    return torch.stack(rows).cuda()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--out", default="bench/results")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cases", type=int, nargs="*", help="numbers of cases, from 0")
    args = parser.parse_args()
    parts = [p for p in args.parts if p != "warm"] or list(CALLS_OF)
    if "warm" in args.parts:
        return warm(parts)
    speed = {"rounds": 5, "run_ms": 60.0, "preheat_s": 0.3} if args.quick else {}
    bench = Bench(speed, args.cases)
    for part in parts:
        try:
            getattr(bench, part)()
        except Exception as error:  # the other parts are to be seen all the same
            print(f"{part} stopped: {type(error).__name__} {str(error)[:500]}", flush=True)
        done = {
            "script": f"bench/h200_fused.py {part}",
            "environment": bench.environment(),
            "table": [r for r in bench.rows if r["part"] == part],
        }
        Path(args.out).mkdir(parents=True, exist_ok=True)
        Path(args.out, f"h200_fused_{part}.json").write_text(json.dumps(done, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
