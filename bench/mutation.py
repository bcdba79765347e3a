"""Mutation score of the verifier, with the numeric executor as ground truth.

Run: python bench/mutation.py   (about 15 minutes on one core; results in bench/results/)
"""

import json
import platform
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from warploom.mutation.__main__ import main

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
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "mutation.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report["totals"], indent=1))
    return status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
