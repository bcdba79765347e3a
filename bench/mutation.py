"""Mutation score of the verifier, with the numeric executor as ground truth.

    python bench/mutation.py [--jobs 8] [--documents FOLDER]     (about 15 minutes on one core)
    python -m tests.mutation --write FOLDER    the schedules, for a machine without solver

Results in bench/results/.
"""

import json
import platform
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.mutation.__main__ import main

RESULTS = Path(__file__).parent / "results"


def installed(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "source tree"


def totals(rows):
    keys = ("generated", "identical", "meaningless", "distinct", "defective", "harmless")
    keys += ("killed", "survived", "false_alarms")
    sums = {key: sum(row[key] for row in rows) for key in keys}
    for outcome in ("shown", "not shown"):
        sums[f"witnesses {outcome}"] = sum(row["witnesses"].get(outcome, 0) for row in rows)
    return sums


def run(arguments):
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scores.json"
        status = main(["--witnesses", "--explore", "1500", "--json", str(file), *arguments])
        rows = json.loads(file.read_text())
    report = {
        "script": "bench/mutation.py",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "warploom": installed("warploom"),
        "numpy": installed("numpy"),
        "seconds": round(time.perf_counter() - start),
        "totals": totals(rows),
        "subjects": rows,
    }
    publish(report)
    print(json.dumps(report["totals"], indent=1))
    return status


def publish(report):
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "mutation.json").write_text(json.dumps(report, indent=1) + "\n")
    (RESULTS / "mutation.md").write_text(page(report))


def page(report):
    columns = ("distinct", "defective", "killed", "survived", "harmless", "false_alarms")
    lines = [
        "# Mutation score of the verifier",
        "",
        f"Made by `bench/mutation.py` on {report['date']}, Python {report['python']}, NumPy "
        f"{report['numpy']}; details in `mutation.json`.",
        "",
        "Every distinct mutant is run by the numeric executor (adversarial timings, trip counts 0 "
        "to 3), which decides whether it is defective, and judged by the verifier. Mutants whose "
        "program equals the subject's or an earlier mutant's, of any subject, are not counted "
        "(the ping-pong programs with 2 globals a block are those with 0).",
        "",
        *([report["note"], ""] if report.get("note") else []),
        "| subject | " + " | ".join(c.replace("_", " ") for c in columns) + " | witnesses shown |",
        "|---|" + "---|" * (len(columns) + 1),
    ]
    for row in report["subjects"]:
        figures = [str(row[c]) for c in columns]
        lines.append(f"| {' | '.join([row['subject'], *figures, shown(row['witnesses'])])} |")
    sums = report["totals"]
    witnesses = {k: sums[f"witnesses {k}"] for k in ("shown", "not shown")}
    figures = [str(sums[c]) for c in columns]
    lines.append(f"| {' | '.join(['all', *figures, shown(witnesses)])} |")
    return "\n".join([*lines, ""])


def shown(witnesses):
    return f"{witnesses.get('shown', 0)} of {sum(witnesses.values())}"


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
