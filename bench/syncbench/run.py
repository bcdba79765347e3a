"""Run ``warploom check`` on every case and print the table of results.

python bench/syncbench/run.py [--json] [NAME...]
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from warploom.check import check

HERE = Path(__file__).parent


def cases() -> list[dict]:
    return json.loads((HERE / "cases.json").read_text())


def verdict(case: dict, form: str) -> tuple[str, str, float]:
    folder = HERE / "cases" / case["name"]
    file = next(folder.glob(f"{form}.*"))
    start = time.perf_counter()
    report = check(file, folder / "launch.json")
    codes = ", ".join(sorted({f.code for f in report.defects()}))
    return (
        report.verdict.value,
        codes or report.unsupported or report.error,
        time.perf_counter() - start,
    )


def main() -> None:
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    rows, wrong = [], 0
    for case in cases():
        if wanted and case["name"] not in wanted:
            continue
        for form in ("wrong", "fixed"):
            found, codes, seconds = verdict(case, form)
            right = found == "clean" if form == "fixed" else found in case["expected"]
            wrong += not right
            rows.append(
                {"case": case["name"], "form": form, "verdict": found, "codes": codes,
                 "seconds": round(seconds, 2), "as_expected": right}
            )  # fmt: skip
    if "--json" in sys.argv:
        print(json.dumps(rows, indent=1))
    else:
        for r in rows:
            mark = "" if r["as_expected"] else "   <-- not as expected"
            print(
                f"{r['case']:38} {r['form']:6} {r['verdict']:12} {r['seconds']:5.2f} s  "
                f"{r['codes']}{mark}"
            )
        print(f"{len(rows)} runs, {wrong} not as expected")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
