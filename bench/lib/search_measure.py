"""Measuring the candidates of a store on an H200: correctness, cycles a key tile, time, traces."""

from __future__ import annotations

import json
import struct
import time
from dataclasses import replace

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from lib.protocol import compare, environment
from lib.search_store import HELD, WINDOW
from warploom.emit.cuda import layout_of
from warploom.emit.cuda.stamps import MOST_CTAS, SPAN_FIELDS, SPANS, STAMPS, labels
from warploom.errors import BackendError
from warploom.launch.attention_launch import AttentionCall, bind_attention, launcher_of
from warploom.launch.driver import ensure_context
from warploom.launch.plan import load as load_binary
from warploom.launch.tensors import view_of

CASES = {64: (4, 32, 4096), 128: (4, 32, 4096), 256: (2, 16, 8192)}
ERROR_LIMIT = 5e-3
FINALISTS = 6
SCREEN = {"rounds": 3, "run_ms": 24.0, "slice_ms": 8.0, "preheat_s": 0.5}
NEVER = (1 << 64) - 1


class Bench:
    """One kernel's inputs and outputs; all candidates write the same results."""

    def __init__(self, kernel, causal):
        self.kernel, self.causal = kernel, causal
        self.shape = b, h, s = CASES[kernel.head_dim]
        d = kernel.head_dim
        make = lambda: torch.randn(b, h, s, d, device="cuda", dtype=torch.bfloat16)  # noqa: E731
        self.sets = [tuple(make() for _ in range(3)) for _ in range(2)]
        self.outs = [torch.empty_like(q) for q, _, _ in self.sets]
        self.scale = d**-0.5
        self.flops = 4.0 * b * h * s * s * d / (2 if causal else 1)
        self.rows = torch.randint(0, s, (96,), device="cuda")
        self.rows[0], self.rows[1] = 0, s - 1
        self.heads = [
            (int(torch.randint(0, b, (1,))), int(torch.randint(0, h, (1,)))) for _ in "ab"
        ]
        self.exact = [self._exact(*at) for at in self.heads]

    def _exact(self, b, h):
        q, k, v = self.sets[0]
        scores = q[b, h, self.rows].double() @ k[b, h].double().T * self.scale
        if self.causal:
            keys = torch.arange(k.shape[2], device="cuda")
            scores.masked_fill_(keys > self.rows[:, None], float("-inf"))
        return torch.softmax(scores, -1) @ v[b, h].double()

    def error(self, out):
        """The largest relative error of the sampled rows."""
        found = [out[b, h, self.rows].double() for b, h in self.heads]
        pairs = zip(found, self.exact, strict=True)
        return max(((x - y).norm() / y.norm()).item() for x, y in pairs)

    def library(self):
        def call(q, k, v):
            def run():
                with sdpa_kernel([SDPBackend.CUDNN_ATTENTION]):
                    return functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)

            return run

        return [call(*s) for s in self.sets]

    def launchers(self, binary):
        stream = torch.cuda.current_stream().cuda_stream
        calls = []
        for (q, k, v), o in zip(self.sets, self.outs, strict=True):
            views = [view_of(t, "tensor") for t in (q, k, v, o)]
            call = AttentionCall(q=views[0], k=views[1], v=views[2], out=views[3], scale=self.scale)
            go = launcher_of(binary, call)
            calls.append(lambda go=go: go(stream))
        return calls


def load(store, name, variant):
    """The candidate as a binary; None where ptxas refused it."""
    data = store.cubin(name, variant)
    if data is None:
        return None
    kernel = replace(store.kernel, causal=variant == "causal")
    return bind_attention(data, layout_of(store.document(name)).bytes, kernel)


def span_cycles(binary, run):
    """Mean cycles a key tile over all CTAs of one launch."""
    loaded = load_binary(binary, 0)
    loaded.write(SPANS, struct.pack("<3Q", NEVER, 0, 0) * MOST_CTAS)
    run()
    torch.cuda.synchronize()
    words = struct.unpack(f"<{SPAN_FIELDS * MOST_CTAS}Q", loaded.read(SPANS))
    spans = [words[i : i + SPAN_FIELDS] for i in range(0, len(words), SPAN_FIELDS)]
    each = [(end - start) / tiles for start, end, tiles in spans if tiles]
    return sum(each) / len(each)


def checked(bench, loaded):
    """(launchers, row) of a candidate; the row says whether it is right."""
    runs = bench.launchers(loaded)
    bench.outs[0].fill_(float("nan"))
    runs[0]()
    torch.cuda.synchronize()
    error = bench.error(bench.outs[0])
    right = bool(torch.isfinite(bench.outs[0]).all()) and error < ERROR_LIMIT
    runs[0]()
    return runs, {"error": error, "right": right, "cycles": span_cycles(loaded, runs[0])}


def one(store, causal, seconds):
    """All candidates of a store on one case."""
    bench = Bench(store.kernel, causal)
    variant = "causal" if causal else "full"
    library = bench.library()
    contestants = {"cudnn": library, "cudnn again": library}
    rows, keep = {}, []
    for name in store.rows:
        loaded = load(store, name, variant)
        if loaded is None:
            continue
        runs, rows[name] = checked(bench, loaded)
        if not rows[name]["right"]:
            print("WRONG", store.facts["name"], name, causal, rows[name], flush=True)
            continue
        contestants[name] = runs
        keep.append(loaded)
    screen = compare(contestants, **SCREEN)
    for name, ms in screen.items():
        rows.setdefault(name, {})["screen_ms"] = ms
    ranked = sorted((n for n in screen if n in store.rows), key=screen.get)
    if not ranked:
        raise SystemExit(f"no candidate of {store.facts['name']} gives right results")
    finalists = list(dict.fromkeys(["cudnn", "cudnn again", *ranked[:FINALISTS]]))
    shipped = store.facts["shipped"]
    finalists += [
        n for n in (shipped, f"{shipped}{HELD}") if n in set(contestants) - set(finalists)
    ]
    run_ms = max(40.0, 1000.0 * seconds / 5 / len(finalists))
    final = compare({n: contestants[n] for n in finalists}, rounds=5, run_ms=min(run_ms, 200.0))
    for name, ms in final.items():
        rows[name]["ms"] = ms
    best = min((n for n in final if n in store.rows), key=final.get)
    print(
        f"{store.facts['name']} {'causal' if causal else 'full'}: {len(ranked)} right, best {best}"
        f" {bench.flops / final[best] / 1e9:.0f} TFLOPS, cuDNN x"
        f" {final['cudnn'] / final[best]:.3f} (again {final['cudnn'] / final['cudnn again']:.3f}),"
        f" {rows[best]['cycles']:.0f} cycles a key tile",
        flush=True,
    )
    return {
        "case": bench.shape,
        "causal": causal,
        "flops": bench.flops,
        "error_of_library": bench.error(library[0]()),
        "rows": rows,
        "best": best,
    }


def trace(store, name):
    """Clock of every entry of the loop, both consumers, a few iterations of CTA 0's last tile."""
    loaded = load(store, name, "trace")
    if loaded is None:
        return None
    bench = Bench(store.kernel, False)
    run = bench.launchers(loaded)[0]
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    program = store.stamped(name).program("consumer")
    found = labels(program)
    data = load_binary(loaded, 0).read(STAMPS)
    words = struct.unpack(f"<{len(data) // 8}Q", data)
    size = len(found)
    lines = [words[i : i + size] for i in range(0, len(words), size)]
    base = min(line[0] for line in lines)
    instances = [
        [[t - base for t in line] for line in lines[i * WINDOW.count : (i + 1) * WINDOW.count]]
        for i in range(program.instances)
    ]
    return {"name": name, "labels": found, "first": WINDOW.first, "stamps": instances}


def measure(picked, out, seconds):
    """Measure all stores; results are written after every step."""
    torch.manual_seed(0)
    torch.zeros(1, device="cuda")
    ensure_context(torch.cuda.current_device())
    out.mkdir(parents=True, exist_ok=True)
    data = {"script": "bench/h200_attention_search.py measure", "environment": environment()}
    data["kernels"] = []
    bad = 0
    for store in picked:
        started = time.time()
        facts = {k: store.facts[k] for k in ("name", "claim", "complete", "shipped", "toolchain")}
        entry = {**facts, "runs": [], "traces": []}
        data["kernels"].append(entry)
        for causal in (False, True):
            entry["runs"].append(one(store, causal, seconds / 4))
            torch.cuda.empty_cache()
            bad += sum(not r.get("right", True) for r in entry["runs"][-1]["rows"].values())
            save(out, data)
        best = {entry["runs"][0]["best"], entry["runs"][1]["best"], store.facts["shipped"]}
        best = {f"{n.removesuffix(HELD)}{HELD}" for n in best if n}
        for name in sorted(best & set(store.rows)):
            try:
                entry["traces"].append(trace(store, name))
            except BackendError as error:
                print("no trace of", name, error, flush=True)
            torch.cuda.empty_cache()
        save(out, data)
        print(f"{store.facts['name']}: {time.time() - started:.0f} s", flush=True)
    print(f"{bad} wrong results", flush=True)
    return bad


def save(out, data):
    (out / "attention_search.json").write_text(json.dumps(data) + "\n")
