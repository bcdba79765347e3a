"""Every result file records the commit it was taken at, or is listed as one that does not."""

from __future__ import annotations

import re
from pathlib import Path

RECORDED = re.compile(r"\bcommit\b|\bat [0-9a-f]{7,40}\b", re.I)
RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results"


def test_results_record_their_commit_or_say_that_they_do_not():
    listed = set(re.findall(r"^\* `(.+)`$", (RESULTS / "README.md").read_text(), re.M))
    files = {p for p in RESULTS.iterdir() if p.suffix in (".md", ".json", ".jsonl")}
    silent = {p.name for p in files if p.name != "README.md" and not RECORDED.search(p.read_text())}
    assert silent <= listed, "record commit, versions and machine (bench.compile_time.about)"
