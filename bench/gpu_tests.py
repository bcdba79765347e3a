"""Tests that need a GPU: their kernels built ahead on a machine without one, then their results.

    WARPLOOM_CACHE=build/cache WARPLOOM_COMPILER=nvcc python bench/gpu_tests.py plan [--jobs 2]
    python bench/gpu_tests.py run [--jobs 8] [--out bench/results] [TEST ...]

``plan`` calls every test with tensors that are not on a GPU (``tests/runtime/planned.py``; it needs
torch, without CUDA will do) and fills the cache; ``run`` then compiles and solves nothing. ``run``
writes counts, failures, date and versions to ``gpu_tests.json``. Exit code 0: all passed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PYTEST = ("-p", "no:cacheprovider", "-p", "no:benchmark", "-q", "-m", "gpu", "-o", "addopts=")
UNTESTED = ("-m", "pytest", "-p", "tests.runtime.planned", "--assert=plain")


def gpu_tests():
    """Files with tests that need a GPU."""
    texts = ((p, p.read_text()) for p in sorted((ROOT / "tests").rglob("test_*.py")))
    return [str(p.relative_to(ROOT)) for p, text in texts if "NEEDS_HOPPER" in text]


def plan(tests, jobs):
    """Build every kernel the tests call; what they assert is not asked."""
    command = [sys.executable, *UNTESTED, *PYTEST, "-n", str(jobs), "-o", "filterwarnings=", *tests]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "PYTHONOPTIMIZE": "1"}
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


def run(tests, jobs, out):
    """Run them side by side and write down what came out."""
    from lib.protocol import environment

    with tempfile.TemporaryDirectory() as folder:
        xml = Path(folder) / "tests.xml"
        command = [sys.executable, "-m", "pytest", *PYTEST, "-n", str(jobs), f"--junitxml={xml}"]
        done = subprocess.run(
            [*command, "--tb=short", "--show-capture=no", *tests], cwd=ROOT, check=False
        )
        rows = read(xml)
    counts = Counter(r["outcome"] for r in rows)
    files = {r["file"]: Counter() for r in rows}
    for row in rows:
        files[row["file"]][row["outcome"]] += 1
    data = {
        "script": "bench/gpu_tests.py run",
        "environment": environment(),
        "counts": counts,
        "files": files,
        "failures": [r for r in rows if r["outcome"] in ("failed", "error")],
        "skipped": [r for r in rows if r["outcome"] == "skipped"],
    }
    Path(out).mkdir(parents=True, exist_ok=True)
    (Path(out) / "gpu_tests.json").write_text(json.dumps(data, indent=1) + "\n")
    print(dict(counts), flush=True)
    return done.returncode


def read(xml):
    """Name, file, outcome and the first line of what was said, of every test."""
    kinds = {"failure": "failed", "error": "error", "skipped": "skipped"}
    rows = []
    for case in ElementTree.parse(xml).iter("testcase"):
        found = next((c for c in case if c.tag in kinds), None)
        said = (found.get("message") or "").splitlines()[:1] if found is not None else []
        rows.append(
            {
                "file": case.get("classname", "").replace(".", "/") + ".py",
                "test": case.get("name"),
                "outcome": "passed" if found is None else kinds[found.tag],
                "said": said,
            }
        )
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("plan", "run"))
    parser.add_argument("tests", nargs="*", help="files; all that need a GPU without a name")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--out", default="bench/results")
    args = parser.parse_intermixed_args()
    tests = args.tests or gpu_tests()
    return plan(tests, args.jobs) if args.what == "plan" else run(tests, args.jobs, args.out)


if __name__ == "__main__":
    sys.exit(main())
