"""What one synchronising entry less breaks, and whether ``repair`` puts it back.

    python bench/role_repair.py [NAME ...] [--jobs 8] [--documents DIR] [--each 1] [--seconds 600]
        [--kinds KIND ...]

For every shipped kernel and each kind of entry (waits, fences, releases, turns, groups, syncs), the
first ``--each`` mutants that the verifier reports are repaired. Writes
bench/results/role_repair.md.
"""

import argparse
import platform
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from role_mutants import RESULTS, document_of, shipped
from tests.mutation.role_mutants import role_mutants

from warploom.interp.executor.roles import first_fault
from warploom.sync.mbarrier.repair import repair_roles
from warploom.verify.roles import verify_roles

KINDS = (
    *("WaitFull", "WaitEmpty", "Expect", "Arrive", "MmaFence", "Commit", "WaitGroup"),
    *(
        "ProxyFence",
        "ScopeSync",
        "BulkCommit",
        "BulkWait",
        "NamedSync",
        "NamedArrive",
        "ClusterSync",
    ),
)


def tried(job):
    """(kernel, kind, where, outcome) of one kind of entry in one kernel."""
    name, folder, kind, each, until = job
    document = document_of(name, folder)
    rows = []
    for m in role_mutants(document):
        if m.operator != f"drop {kind}" or len(rows) == each or time.time() > until:
            continue
        if not verify_roles(m.document).races():
            continue
        done = repair_roles(m.document, verify_roles)
        said = (
            "repaired" if done.done else "left: " + ", ".join(sorted({f.code for f in done.left}))
        )
        least = max(document.minimum_trips, 1)
        tiles = (least, least + 2, least)
        if done.done and first_fault(done.document, tiles, range(6), intended=document):
            said = "repaired, but runs wrong"
        rows.append((name, kind, m.where, said, done.changes))
    return rows


def page(rows):
    lines = ["| kernel | " + " | ".join(KINDS) + " |", "|---" * (len(KINDS) + 1) + "|"]
    cells = defaultdict(list)
    for name, kind, _, said, _ in rows:
        cells[name, kind].append(said == "repaired")
    for name in dict.fromkeys(r[0] for r in rows):
        row = [cells.get((name, k), []) for k in KINDS]
        lines.append(
            f"| {name} | " + " | ".join(f"{sum(c)}/{len(c)}" if c else "" for c in row) + " |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--documents", default="")
    parser.add_argument("--results", default=str(RESULTS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=86_400)
    given = parser.parse_args()
    until = time.time() + given.seconds
    names = given.names or shipped()
    jobs = [(n, given.documents, k, given.each, until) for k in given.kinds for n in names]
    rows = []
    with ProcessPoolExecutor(given.jobs) as pool:
        for found in pool.map(tried, jobs):
            rows += found
            for row in found:
                print(*row, flush=True)
    left = sum(r[3] != "repaired" for r in rows)
    head = [
        "# What repair puts back",
        "",
        f"Made by `bench/role_repair.py` on {datetime.now(UTC):%Y-%m-%d}, Python "
        f"{platform.python_version()}. One entry left out of a kernel's schedule, such that the "
        f"verifier reports it; repaired of tried, by kind of entry: **{len(rows) - left} of "
        f"{len(rows)}**. Repaired documents are clean and run right in random order.",
        "",
    ]
    Path(given.results).mkdir(exist_ok=True)
    (Path(given.results) / "role_repair.md").write_text("\n".join([*head, page(rows), ""]))
    print(page(rows))
    return any(r[3] != "repaired" for r in rows)


if __name__ == "__main__":
    sys.exit(main())
