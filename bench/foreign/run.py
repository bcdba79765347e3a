"""Check every compiled kernel of a folder; print and write a table of results.

    python bench/foreign/run.py FOLDER [--json results.json] [NAME...]

A kernel is a folder with ``kernel.ptx`` and ``launch.json``. Each runs in a process of its own, so
that processor time and peak memory are its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def one(folder: str, seconds: float) -> dict:
    """The result of one kernel."""
    from reference import reference_of

    from warploom.check import check

    path = Path(folder)
    began = time.process_time()
    report = check(path / "kernel.ptx", path / "launch.json", against=reference_of(path.name))
    return {
        "kernel": path.name,
        "verdict": report.verdict.value,
        "codes": sorted({f.code for f in report.findings}),
        "seconds": round(time.process_time() - began, 2),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "warp_instructions": report.figures.get("warp_instructions", 0),
        "never_run": len(report.never_run),
        "first_unsupported": report.unsupported or report.error,
    }


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("folder", type=Path)
    reader.add_argument("--json", type=Path)
    reader.add_argument("--timeout", type=float, default=240.0)
    reader.add_argument("names", nargs="*")
    given = reader.parse_args()
    rows = []
    for path in sorted(given.folder.iterdir()):
        if not (path / "kernel.ptx").exists() or (given.names and path.name not in given.names):
            continue
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            try:
                row = pool.apply_async(one, (str(path), given.timeout)).get(given.timeout)
            except multiprocessing.TimeoutError:
                row = {
                    "kernel": path.name,
                    "verdict": "timeout",
                    "codes": [],
                    "seconds": given.timeout,
                    "megabytes": 0,
                    "warp_instructions": 0,
                    "never_run": 0,
                    "first_unsupported": "",
                }
        rows.append(row)
        first = row["first_unsupported"].replace("\n", " ")[:90]
        print(
            f"{row['kernel']:28} {row['verdict']:12} "
            f"{row['seconds']:7.2f} s {row['megabytes']:5} MB "
            f"{row['warp_instructions']:8}  {', '.join(row['codes'])} {first}",
            flush=True,
        )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
