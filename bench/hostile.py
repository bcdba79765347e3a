"""Hostile documents: the time and memory of a verdict or a refusal, each in a process of its own.

    python bench/hostile.py        a few minutes; writes bench/results/hostile.md

Documents are those of ``tests/verify/test_hostile_roles.py``: absurd depths, peels, instances and
clusters, thousands of equal entries, texts of 20 to 100 MB that are no document.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.verify import test_hostile_roles as hostile  # noqa: E402

OUT = ROOT / "bench" / "results" / "hostile.md"
SECONDS, MIB = 10, 2048
ONE = """
import resource, sys, time
from warploom.verify import verify_file
start = time.process_time()
verdict = verify_file(sys.argv[1]).to_json()["verdict"]
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(verdict, time.process_time() - start, used // 1024)
"""


def documents():
    """(name, text) of all of them, one after the other."""
    for name, change in hostile.HOSTILE.items():
        for base, data in (("named barriers", hostile.BASE), ("GEMM", hostile.GEMM)):
            yield f"{name}, {base}", json.dumps(hostile.changed(data, change))
    for n in (5, 2_000, 200_000):
        yield (
            f"kernel x {n}, GEMM",
            json.dumps(hostile.changed(hostile.GEMM, hostile.kernel_times(n))),
        )
    for kind in (*hostile.HEAVY, "many programs", "many entries", "many names"):
        yield kind, hostile.heavy(kind)


def judged(folder, text):
    """Verdict, CPU seconds and MiB of one document."""
    path = Path(folder) / "document.json"
    path.write_text(text)
    command = [sys.executable, "-c", ONE, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    verdict, seconds, mib = done.stdout.rsplit(maxsplit=2)
    return verdict.strip(), float(seconds), int(mib)


def main():
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in documents():
            rows.append((name, len(text), *judged(folder, text)))
            print(*rows[-1], flush=True)
    worst, most = max(r[3] for r in rows), max(r[4] for r in rows)
    lines = [
        "# Hostile documents",
        "",
        f"Made by `bench/hostile.py` on {datetime.now(UTC):%Y-%m-%d}, Python "
        f"{platform.python_version()}: `verify_file` of each in a process of its own.",
        "",
        f"**{len(rows)} documents, at most {worst:.1f} s of CPU and {most} MiB**; allowed are "
        f"{SECONDS} s and {MIB} MiB.",
        "",
        "| document | MB | verdict | CPU s | MiB |",
        "|---|---|---|---|---|",
        *(f"| {n} | {size / 1e6:.1f} | {v} | {s:.2f} | {m} |" for n, size, v, s, m in rows),
        "",
    ]
    OUT.write_text("\n".join(lines))
    return worst > SECONDS or most > MIB


if __name__ == "__main__":
    sys.exit(main())
