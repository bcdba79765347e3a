"""Run ``warploom check`` on every case and print the table of results.

python bench/syncbench/run.py [--json] [--page FILE] [NAME...]

``--page`` writes the page of the documentation.
"""

from __future__ import annotations

import json
import re
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


def page(rows: list[dict]) -> str:
    """The table of all cases in Markdown."""
    by_name = {(r["case"], r["form"]): r for r in rows}
    found = sum(r["as_expected"] for r in rows if r["form"] == "wrong")
    clean = sum(r["as_expected"] for r in rows if r["form"] == "fixed")
    lines = [
        "# SyncBench",
        "",
        "Small re-creations of synchronisation bugs, most of them public, each wrong and fixed: "
        "CUDA source",
        "(`bench/syncbench/nvidia`), the PTX that nvcc makes of it and a launch file "
        "(`bench/syncbench/cases`).",
        "Any tool that takes PTX can be run on them; `python bench/syncbench/run.py` runs "
        "`warploom check`.",
        "Cases for gfx942 and gfx950 are in `bench/syncbench/amd`.",
        "",
        f"`warploom check`: {found} of {len(rows) // 2} wrong forms found, {clean} of "
        f"{len(rows) // 2} fixed forms clean.",
        "",
        "| case | class | why it is wrong | public thread | wrong form | fixed form |",
        "|---|---|---|---|---|---|",
    ]
    for case in cases():
        wrong, fixed = by_name[case["name"], "wrong"], by_name[case["name"], "fixed"]
        thread = re.match(r"https://github.com/([^/]+/[^/]+)/(?:issues|pull)/(\d+)", case["thread"])
        link = f"[{thread[1]}#{thread[2]}]({case['thread']})" if thread else ""
        lines.append(
            f"| `{case['name']}` | {case['class']} | {case['why']} | {link} | "
            f"{wrong['verdict']}: {wrong['codes']} | {fixed['verdict']} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    given = sys.argv[1:]
    to = Path(given.pop(given.index("--page") + 1)) if "--page" in given else None
    wanted = [a for a in given if not a.startswith("-")]
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
    if to is not None:
        to.write_text(page(rows))
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
