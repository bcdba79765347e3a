"""Compile time: CPU seconds, with child processes, of cold processes with a fresh cache.

    python bench/compile_time.py [--only WORDS] [--runs N] [--tree FOLDER] [--out FILE.json]
                                 [--triton PYTHON] [--markdown bench/results/compile_time.md]
    python bench/compile_time.py --table BEFORE.json AFTER.json   the table of two such files

Every case (``bench/lib/compile_cases.py``) is a process of its own, started at a low priority: on a
loaded machine wall time says nothing, CPU seconds little. The least of the runs counts. Bytecode of
all modules is there, as after any first use. ``--tree``: the sources of another checkout.
``--triton``: an interpreter with Triton, whose simple kernels are compiled beside (no GPU needed).
One run gives the whole table; what has a wanted figure is marked where it is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.lib.compile_cases import CASES, WANTED  # noqa: E402

LIMIT = 300
BELOW = "## What is behind it"
TRITON = {f"Triton, {name}": name for name in ("GEMM", "SwiGLU", "attention")}
EXPONENTS = {  # growth from the first case to the second, twice as many ops
    "ops of an epilogue": (
        "epilogue of 100 pointwise ops",
        "epilogue of 200 pointwise ops",
        "cpu_s",
    ),
    "ops in a loop": (
        "loop of 100 vector ops: fuse and layout",
        "loop of 200 vector ops: fuse and layout",
        "passes_s",
    ),
    "ops in a loop with maxima": (
        "loop of 100 ops with maxima of rows: fuse and layout",
        "loop of 200 ops with maxima of rows: fuse and layout",
        "passes_s",
    ),
}


def run(name, tree, cache, nice=5, triton=None):
    """CPU seconds and peak memory of one process, and what it printed."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(tree / "src"), "WARPLOOM_CACHE": cache, "WARPLOOM_QUIET": "1"}
    script, python = "compile_cases.py", sys.executable
    if name in TRITON:
        script, python, name = "triton_compile.py", triton, TRITON[name]
        environment["TRITON_CACHE_DIR"] = cache
    script = str(ROOT / "bench" / "lib" / script)
    command = ["nice", "-n", str(nice), python, script, name]
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
        until = time.monotonic() + LIMIT
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() > until:
                process.kill()
            time.sleep(0.01)
        process.returncode = status
        out.seek(0)
        said = out.read().decode()
    found = {"cpu_s": round(usage.ru_utime + usage.ru_stime, 3), "rss_mb": usage.ru_maxrss // 1024}
    try:
        return found | json.loads(said.splitlines()[-1])
    except (ValueError, IndexError):
        return found | {"failed": said.strip()[-300:]}


def measure(name, tree, runs, nice, triton=None):
    """The least of some runs; a case "from the cache" has one run before it that fills it."""
    best = None
    for _ in range(runs):
        cache = tempfile.mkdtemp()
        if name.endswith("from the cache"):
            run(name, tree, cache, nice)
        found = run(name, tree, cache, nice, triton)
        shutil.rmtree(cache, ignore_errors=True)
        if best is None or found["cpu_s"] < best["cpu_s"]:
            best = found
    return best


def about(tree):
    """Commit, versions and machine: figures mean little without."""
    commit = subprocess.run(
        ["git", "-C", str(tree), "describe", "--always", "--dirty", "--abbrev=12"],
        capture_output=True, text=True, check=False,
    ).stdout.strip()  # fmt: skip
    found = {"commit": commit, "python": platform.python_version(), "cpus": os.cpu_count()}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            found["machine"] = line.partition(":")[2].strip()
            break
    for package in ("numpy", "ortools", "nvidia-cuda-nvrtc", "cuda-bindings", "llvmlite", "typer"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found | {"date": time.strftime("%Y-%m-%d"), "load": round(os.getloadavg()[0], 1)}


def table(before, after):
    """Two result files side by side, in Markdown."""
    old, new = (json.loads(Path(p).read_text()) for p in (before, after))
    lines = ["| what | before | now | wanted | MB | found |", "|---|---|---|---|---|---|"]
    for name in CASES:
        one, two = old["cases"].get(name, {}), new["cases"].get(name)
        if two is None:
            continue
        known = (
            "config",
            "spilled",
            "registers",
            "ii",
            "bound",
            "proven",
            "page_bytes",
            "passes_s",
        )
        said = ", ".join(f"{k} {two[k]}" for k in known if k in two)
        said = said or ("failed" if "failed" in two else "")
        first = "failed" if "failed" in one else one.get("cpu_s", "")
        row = (name, first, two["cpu_s"], WANTED.get(name, ""), two["rss_mb"], said)
        lines.append("| " + " | ".join(map(str, row)) + " |")
    said = [
        f"{which}: " + ", ".join(f"{k} {v}" for k, v in found["about"].items())
        for which, found in (("before", old), ("now", new))
    ]
    return "\n".join([*said, "", *lines])


def markdown(found):
    """One run as a table."""
    cases = found["cases"]
    lines = ["# Compile time", ""]
    lines += [
        "CPU seconds with child processes, cold process, fresh cache, bytecode of all modules"
    ]
    lines += ["there; `python bench/compile_time.py`. No GPU.", ""]
    lines += ["* " + ", ".join(f"{k} {v}" for k, v in found["about"].items()), ""]
    lines += ["| what | CPU s | wanted | MB | found |", "|---|---|---|---|---|"]
    known = ("config", "spilled", "registers", "ii", "bound", "proven", "page_bytes", "passes_s")
    for name, row in cases.items():
        wanted = WANTED.get(name, "")
        beside = cases.get(f"Triton, {name}")
        wanted = f"Triton {beside['cpu_s']}" if beside else wanted
        missed = " (missed)" if WANTED.get(name, 1e9) < row["cpu_s"] else ""
        said = ", ".join(f"{k} {row[k]}" for k in (*known, "triton") if k in row)
        said = said or ("failed" if "failed" in row else "")
        lines.append(f"| {name} | {row['cpu_s']}{missed} | {wanted} | {row['rss_mb']} | {said} |")
    lines.append("")
    for what, (first, second, key) in EXPONENTS.items():
        if key in cases.get(first, {}) and key in cases.get(second, {}):
            ratio = max(cases[second][key], 1e-3) / max(cases[first][key], 1e-3)
            lines.append(f"* growth exponent, {what}: {math.log2(ratio):.2f}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="cases whose name contains one of these, by |")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--nice", type=int, default=5, help="priority of the processes")
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", nargs=2)
    parser.add_argument("--triton", help="an interpreter that has Triton")
    parser.add_argument("--markdown", type=Path)
    args = parser.parse_args()
    if args.table:
        print(table(*args.table))
        return
    words = [w.strip() for w in args.only.split("|") if w.strip()]
    found = {"about": about(args.tree), "cases": {}}
    if args.out and args.out.exists():  # resumed: what is there is not run again
        found["cases"] = json.loads(args.out.read_text())["cases"]
    for name in (*CASES, *(TRITON if args.triton else ())):
        if (words and not any(w in name for w in words)) or name in found["cases"]:
            continue
        found["cases"][name] = measure(name, args.tree, args.runs, args.nice, args.triton)
        print(f"{found['cases'][name]['cpu_s']:8.2f} s  {name}  {found['cases'][name]}", flush=True)
        if args.out:
            args.out.write_text(json.dumps(found, indent=1) + "\n")
    if args.markdown:  # what somebody wrote below the table stays
        old = args.markdown.read_text() if args.markdown.exists() else ""
        at = old.find(BELOW)
        args.markdown.write_text(markdown(found) + ("\n" + old[at:] if at >= 0 else ""))


if __name__ == "__main__":
    main()
