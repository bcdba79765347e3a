"""What compiling takes: random public calls and random kernels, cold, one process each.

    python bench/survey.py FILE.jsonl [--calls 2000] [--kernels 500] [--first 0] [--jobs 1]
    python bench/survey.py FILE.jsonl --forked ...
    python bench/survey.py FILE.jsonl --report [--out bench/results/survey.md]

A line a seed: what was asked, CPU seconds with child processes (a fresh cache each), peak memory,
the configuration, spilled bytes, or the refusal. Seeds that FILE holds are left out, so that a
survey goes on where it was stopped. Needs neither a GPU nor torch; NVRTC compiles. ``--one`` runs a
single seed in this process.

``--forked``: every seed is the fork of a process that has imported the package and compiled
nothing. That leaves out the imports alone: their CPU seconds, which cold processes measure at the
start, are added to every line (``imports_s`` of the head).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

LIMIT = 120
SLOW, WORST = 5.0, 15.0


def layouts(*tensors):
    """Row-major layouts by shape and type; None stays."""
    from bench.lib.compile_cases import _layouts

    return _layouts(*tensors)


def turned(layout):
    from bench.lib.compile_cases import _transposed

    return _transposed(layout)


class Draw(random.Random):
    """Sizes as callers have them: powers of two, multiples of 8, a few odd ones."""

    def size(self, most=16384, least=1):
        way = self.random()
        if way < 0.45:
            return 2 ** self.randint(math.ceil(math.log2(max(least, 8))), int(math.log2(most)))
        n = int(math.exp(self.uniform(math.log(max(least, 8)), math.log(most))))
        return max(least, n // 8 * 8) if way < 0.85 else max(least, n)

    def even(self, most=16384):
        return max(8, self.size(most) // 8 * 8)


def gemm(draw):
    from warploom.runtime.gemm import ACTIVATIONS, CALLS, _options

    m, n, k = draw.size(), draw.even(), draw.even()
    kind = draw.choice(["bf16", "bf16", "f16", "e4m3"])
    k = max(16, k // 16 * 16) if kind == "e4m3" else k
    a, b = layouts((m, k, kind), (n, k, kind))
    whole = layouts((m, n, "bf16"))[0] if draw.random() < 0.2 and kind == "bf16" else None
    bias = layouts((n, "bf16"))[0] if draw.random() < 0.3 and kind == "bf16" else None
    activation = draw.choice(list(ACTIVATIONS)) if draw.random() < 0.4 else "none"
    if kind != "bf16":
        activation = "none"
    given = (a, turned(b), whole, bias, whole)
    said = f"gemm {kind} {m}x{n}x{k} {activation} bias={bias is not None} more={whole is not None}"
    return said, lambda: CALLS.compiled_for(given, _options(activation, None, True, None))


def heads(draw):
    h = draw.choice([1, 2, 4, 7, 8, 12, 16, 32, 40])
    g = draw.choice([n for n in (1, 2, 4, 8, 16, 32, h) if n <= h and h % n == 0])
    return draw.choice([1, 1, 2, 4, 16]), h, g, draw.choice([64, 128, 128, 192, 256])


def attention(draw):
    from warploom.runtime.attention import CALLS, _options

    b, h, g, d = heads(draw)
    s, t = draw.size(8192), draw.size(16384)
    causal, lse = draw.random() < 0.5, draw.random() < 0.5
    s = min(s, t) if causal else s
    q, k = layouts((b, h, s, d, "bf16"), (b, g, t, d, "bf16"))
    given = dict(zip(("q", "k", "v"), (q, k, k), strict=True))
    whole = tuple(given.get(name) for name in CALLS.names)
    said = f"attention {b}x{h}/{g}x{s}x{t}x{d} causal={causal} lse={lse}"
    return said, lambda: CALLS.compiled_for(whole, _options(causal, lse, None))


def tilted(x, b, h, i, j):
    return x * 0.5 + (j - i) * 0.01


def flexible(draw):
    """A score function of the caller."""
    from warploom.frontend.tile_kernel import TileKernel  # noqa: F401 (loaded first)
    from warploom.runtime.attention import CALLS, _options

    b, h, g, d = heads(draw)
    s = draw.size(8192)
    q, k = layouts((b, h, s, d, "bf16"), (b, g, s, d, "bf16"))
    given = dict(zip(("q", "k", "v"), (q, k, k), strict=True))
    whole = tuple(given.get(name) for name in CALLS.names)
    options = list(_options(draw.random() < 0.5, False, None))
    options[1] = (*options[1], ("score", tilted))
    said = f"flexible {b}x{h}/{g}x{s}x{d}"
    return said, lambda: CALLS.compiled_for(whole, tuple(options))


def packed(draw):
    from bench import warm

    b, h, g, d = heads(draw)
    rows, keys = draw.size(8192, 64), draw.size(8192, 64)
    causal = draw.random() < 0.5
    said = f"packed {rows}x{keys}x{h}/{g}x{d} causal={causal}"
    return said, lambda: warm.packed(rows, keys, h, g, b, d, causal)


def paged(draw):
    from bench import warm

    b, h, g, d = heads(draw)
    queries, page = draw.choice([1, 1, 1, 3, 8, 64]), draw.choice([64, 128])
    most = draw.choice([1, 4, 32, 100])
    said = f"paged {b}x{h}/{g}x{queries}x{most}x{page}x{d}"
    return said, lambda: warm.paged(b, h, g, queries, most, page, d, False)


def backward(draw):
    from bench import warm

    from warploom.ir.tile import DType

    b, h, g, d = heads(draw)
    d, kind = (128 if d == 192 else d), draw.choice(["bf16", "f16"])
    s, causal = draw.size(8192, 64), draw.random() < 0.5
    said = f"backward {b}x{h}/{g}x{s}x{d} causal={causal} {kind}"
    return said, lambda: warm.backward(b, h, g, s, s, d, causal, DType(kind))


def swiglu(draw):
    from warploom.runtime.fused import SWIGLU, _gated

    m, n, k = draw.size(), draw.even(), draw.even()
    given = layouts((m, k, "bf16"), (n, k, "bf16"), (n, k, "bf16"), None)
    gate = draw.choice(["silu", "gelu", "relu", "sigmoid"])
    return f"swiglu {m}x{n}x{k} {gate}", lambda: SWIGLU.compiled_for(given, _gated(gate))


def quantised(draw):
    from warploom.runtime.fused import FP8, INT4, PLAIN

    m, n, k = draw.size(8192), draw.even(), max(128, draw.even() // 128 * 128)
    four = draw.random() < 0.5
    weight = (n, k // 2, "i8") if four else (n, k, "e4m3")
    x, w, scale, out = layouts((m, k, "bf16"), weight, (k // 128, n, "f32"), None)
    given = (x, w, turned(scale), out)
    said = f"{'int4' if four else 'fp8'} weights {m}x{n}x{k}"
    return said, lambda: (INT4 if four else FP8).compiled_for(given, PLAIN)


def grouped(draw):
    from warploom.runtime import fused

    e, t, n, k = draw.choice([1, 4, 8, 64]), draw.size(16384), draw.even(), draw.even()
    x, w, starts = layouts((t, k, "bf16"), (e, n, k, "bf16"), (e + 1, "i32"))
    way = draw.choice(["plain", "input", "weights", "swiglu", "gathered", "scattered"])
    said = f"grouped {way} {e}x{t}x{n}x{k}"
    if way == "input":
        back = layouts((t, n, "bf16"), (e, n, k, "bf16"))
        return said, lambda: fused.GROUPED_INPUT.compiled_for((*back, starts, None), fused.PLAIN)
    if way == "weights":
        both = layouts((t, n, "bf16"), (t, k, "bf16"))
        return said, lambda: fused.GROUPED_WEIGHTS.compiled_for((*both, starts, None), fused.PLAIN)
    if way == "swiglu":
        given = (x, w, w, starts, None)
        return said, lambda: fused.GROUPED_SWIGLU.compiled_for(given, fused._gated("silu"))
    rows, factor, out = layouts((t, "i32"), (t, "f32"), (max(1, t // 2), n, "f32"))
    if way == "gathered":
        return said, lambda: fused.GATHERED.compiled_for((x, w, starts, rows, None), fused.PLAIN)
    if way == "scattered":
        given = (x, w, starts, rows, out, factor)
        return said, lambda: fused.SCATTERED.compiled_for(given, fused.PLAIN)
    return said, lambda: fused.GROUPED.compiled_for((x, w, starts, None), fused.PLAIN)


CALLS = (
    *(gemm, gemm, gemm, attention, attention, flexible, packed, paged, backward),
    *(swiglu, quantised, grouped, grouped),
)


def call(seed):
    """The public call of a seed, as what it compiles."""
    draw = Draw(seed)
    said, make = draw.choice(CALLS)(draw)
    return said, make


def kernel(seed):
    """The random kernel of a seed at sizes of its own, as its author would compile it."""
    from bench.random_kernels import drawn
    from tests.frontend.random_kernels import FORMS

    case, _ = drawn(seed, FORMS)
    text = case.text

    def make():
        from warploom.compiler.compiled import Compiled

        return Compiled(case.kernel, sizes=case.sizes, positive=case.scalars, warns=False)

    return text, make


def one(name):
    """One seed, in this process."""
    kind, _, seed = name.partition(":")
    if kind == "call":
        sys.path.insert(0, str(ROOT / "bench"))  # its folder of shapes
    said, make = {"call": call, "kernel": kernel}[kind](int(seed))
    from warploom.errors import WarploomError

    begun = os.times()
    line = {"of": name, "what": said}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = make()
            report = made.built.cubin.report
        line |= {
            "config": made.built.config.name,
            "kernel": made.kernel.name,
            "spilled": report.spill_bytes,
            "registers": report.registers,
            "serialised": report.serialised,
        }
    except WarploomError as error:
        line["refused"] = f"{type(error).__name__}: {error.what}"[:300]
    except Exception as error:
        line["raw"] = f"{type(error).__name__}: {error}"[:300]
    ended = os.times()
    line["own_s"] = round(sum(ended[:4]) - sum(begun[:4]), 3)  # without imports of the draw
    return line


def apart(name, nice):
    """One seed in a process of its own with a fresh cache."""
    cache = tempfile.mkdtemp()
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"WARPLOOM_CACHE": cache, "WARPLOOM_QUIET": "1"}
    command = ["nice", "-n", str(nice), sys.executable, __file__, "-", "--one", name]
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
        until = time.monotonic() + 10 * LIMIT
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() > until:
                process.kill()
            time.sleep(0.02)
        process.returncode = status
        out.seek(0)
        said = out.read().decode(errors="replace")
    shutil.rmtree(cache, ignore_errors=True)
    found = {"cpu_s": round(usage.ru_utime + usage.ru_stime, 2), "rss_mb": usage.ru_maxrss // 1024}
    try:
        return json.loads(said.splitlines()[-1]) | found
    except (ValueError, IndexError):
        return {"of": name, "raw": said.strip()[-300:] or f"status {status}"} | found


def preload():
    """Import what any seed may load; nothing of it is compiled, solved or kept in a cache."""
    import importlib
    import pkgutil

    import numpy as np  # noqa: F401 (loaded before the fork)

    import warploom
    from warploom.errors import WarploomError

    sys.path.insert(0, str(ROOT / "bench"))
    unwanted = ("torch", "hip", "rocm", "mcp", "notebook", "__main__", "mypy_plugin", "spread")
    for found in pkgutil.walk_packages(warploom.__path__, "warploom.", lambda _: None):
        if found.name.rpartition(".")[2] not in unwanted and ".torch." not in found.name:
            with contextlib.suppress(ImportError, WarploomError):
                importlib.import_module(found.name)
    importlib.import_module("warm")
    importlib.import_module("bench.random_kernels")
    importlib.import_module("bench.lib.compile_cases")
    importlib.import_module("tests.frontend.random_kernels")
    from warploom.compiler.cuda_driver import bindings

    bindings("nvrtc")


def imports_of_a_call():
    """CPU seconds that a cold compile has over a forked one: the least of three differences."""
    cold = min(apart("call:0", 0)["cpu_s"] for _ in range(3))
    warm = min(forked("call:0", 0)["own_s"] for _ in range(3))
    return round(cold - warm, 2)


def forked(name, nice, imports=0.0):
    """One seed in a fork of this process with a fresh cache, as ``apart`` without the imports."""
    cache = tempfile.mkdtemp()
    with tempfile.TemporaryFile() as out:
        child = os.fork()
        if not child:
            os.setpgid(0, 0)
            os.nice(nice)
            os.environ |= {"WARPLOOM_CACHE": cache, "WARPLOOM_QUIET": "1"}
            try:
                out.write(json.dumps(one(name)).encode())
                out.flush()
                from warploom.modulo.exact.process import shared_solver

                shared_solver().close()
            finally:
                os._exit(0)
        until = time.monotonic() + 10 * LIMIT
        while True:
            done, status, usage = os.wait4(child, os.WNOHANG)
            if done:
                break
            if time.monotonic() > until:
                os.killpg(child, signal.SIGKILL)
            time.sleep(0.02)
        out.seek(0)
        said = out.read().decode(errors="replace")
    shutil.rmtree(cache, ignore_errors=True)
    spent = usage.ru_utime + usage.ru_stime + imports
    found = {"cpu_s": round(spent, 2), "rss_mb": usage.ru_maxrss // 1024}
    try:
        return json.loads(said) | {"own_s": round(spent - imports, 3)} | found
    except ValueError:
        return {"of": name, "raw": said.strip()[-300:] or f"status {status}"} | found


def survey(path, names, jobs, nice, imports=None):
    """Run what is missing, a line each; ``imports``: in forks, which lack so many seconds."""
    lock = threading.Lock()

    def run(name):
        line = apart(name, nice) if imports is None else forked(name, nice, imports)
        with lock, path.open("a") as out:
            out.write(json.dumps(line) + "\n")
        with lock:
            print(json.dumps(line)[:220], flush=True)

    if imports is not None:  # a process with threads must not fork
        for name in names:
            run(name)
        return
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, names))


def report(path):
    """Shares and worst cases, in Markdown."""
    head, *rows = [json.loads(x) for x in path.read_text().splitlines()]
    lines = [f"* {', '.join(f'{k} {v}' for k, v in head.items())}", ""]
    lines += ["| | seeds | built | refused | raw errors | below 5 s | worst s | spilling |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for kind in ("call", "kernel"):
        mine = [r for r in rows if r["of"].startswith(kind)]
        built = [r for r in mine if "config" in r]
        quick = sum(r["cpu_s"] < SLOW for r in mine)
        lines.append(
            f"| {kind}s | {len(mine)} | {len(built)} | {sum('refused' in r for r in mine)}"
            f" | {sum('raw' in r for r in mine)} | {quick / max(1, len(mine)):.1%}"
            f" | {max((r['cpu_s'] for r in mine), default=0)}"
            f" | {sum(bool(r['spilled']) for r in built)} |"
        )
    bad = [r for r in rows if r["cpu_s"] >= SLOW or r.get("spilled") or "raw" in r]
    lines += ["", "Slow, spilling or failing:", ""]
    lines += [
        f"* {r['of']} {str(r.get('what', '')).splitlines()[0] if r.get('what') else ''}:"
        f" {r['cpu_s']} s, {r.get('config', r.get('refused', r.get('raw')))},"
        f" {r.get('spilled', 0)} bytes spilled"
        for r in sorted(bad, key=lambda r: -r["cpu_s"])
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--kernels", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--nice", type=int, default=15)
    parser.add_argument("--one")
    parser.add_argument("--forked", action="store_true", help="fork a loaded process for each seed")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(one(args.one)))
        return
    if args.report:
        text = "# A survey of compile times\n\n`python bench/survey.py`; no GPU.\n\n"
        text += report(args.file)
        print(text)
        if args.out:
            args.out.write_text(text)
        return
    from bench.compile_time import about

    imports = None
    if args.forked:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        preload()
    if not args.file.exists():
        head = about(ROOT)
        if args.forked:
            head["imports_s"] = imports_of_a_call()
        args.file.write_text(json.dumps(head) + "\n")
    if args.forked:
        imports = json.loads(args.file.read_text().splitlines()[0])["imports_s"]
    done = {json.loads(x).get("of") for x in args.file.read_text().splitlines()}
    wanted = [  # of both kinds in turn: what is there when it is stopped is a sample of all
        (seed / count, f"{kind}:{args.first + seed}")
        for kind, count in (("call", args.calls), ("kernel", args.kernels))
        for seed in range(count)
    ]
    missing = [name for _, name in sorted(wanted) if name not in done]
    survey(args.file, missing, args.jobs, args.nice, imports)
    print(report(args.file))


if __name__ == "__main__":
    main()
