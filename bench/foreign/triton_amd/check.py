"""Check compiled cases: verdict, seconds, memory, first unsupported instruction.

    python check.py OUT [--table FILE] [--only PART]

Run it with the project's Python, on what ``compile.py`` or ``../clang_amd/compile.py`` wrote.
"""

import argparse
import json
import resource
import time
from pathlib import Path

import more_references
import references

from warploom.check import check


def _reference(name):
    return getattr(references, name, None) or getattr(more_references, name, None)


def check_one(path, **options):
    described = json.loads(path.read_text())
    began = time.perf_counter()
    report = check(
        path.parent / described.get("file", path.with_suffix(".s").name), described["launch"],
        against=_reference(described["reference"]),
        **({"tolerance": described["tolerance"]} if described["tolerance"] else {}), **options,
    )  # fmt: skip
    return described, report, time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--findings", action="store_true")
    given = parser.parse_args()
    rows = []
    for path in sorted(given.folder.glob("*.json")):
        if given.only not in path.stem:
            continue
        described, report, seconds = check_one(path)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        what = (
            report.unsupported
            or report.error
            or "; ".join(sorted({f.code for f in report.findings}))
        )
        verdict = str(report.verdict.value)
        rows.append((described["name"], described["target"], verdict,
                     report.figures.get("instructions", 0), seconds, memory, what))  # fmt: skip
        name, target, verdict, count, seconds, memory, what = rows[-1]
        figures = f"{count:8} {seconds:6.1f} s {memory:5} MB"
        print(f"{name:24} {target} {verdict:12} {figures} {what[:150]}", flush=True)
        if given.findings and verdict != "clean":
            print(str(report)[:3000])
    if given.table:
        lines = ["| kernel | target | verdict | wave instructions | seconds | notes |",
                 "|---|---|---|---|---|---|"]  # fmt: skip
        lines += [f"| {n} | {t} | {v} | {c} | {s:.1f} | {w} |" for n, t, v, c, s, _, w in rows]
        given.table.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
